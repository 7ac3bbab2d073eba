"""Markdown that nobody vouches for, as HTML that does nothing: no link, picture, style or script of its own."""

import functools
import html
import re
from xml.etree import ElementTree

from latex2mathml.converter import Converter
from markdown_it import MarkdownIt
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

LONGEST = 20_000  # characters that are rendered; what is longer is shown as it was typed
LONGEST_FORMULA = 2_000
DEEPEST_FORMULA = 40
ELEMENTS = {
    "math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt", "mroot", "mstyle", "mpadded", "mphantom",
    "menclose", "msub", "msup", "msubsup", "munder", "mover", "munderover", "mmultiscripts", "mtable", "mtr", "mtd",
}  # fmt: skip
ATTRIBUTES = {
    "xmlns", "display", "mathvariant", "stretchy", "fence", "form", "lspace", "rspace", "minsize", "maxsize",
    "displaystyle", "scriptlevel", "linethickness", "accent", "accentunder", "movablelimits", "width", "height",
    "depth", "columnalign", "columnlines", "rowlines", "notation", "separator",
}  # fmt: skip
CHILDREN = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}
BRACKETED = re.compile(r"\\{1,2}\((.{1,2000}?)\\{1,2}\)|\\{1,2}\[(.{1,2000}?)\\{1,2}\]", re.S)
MACRO = re.compile(r"\\(def|\w*command|\w*environment|DeclareMath)")  # a few short ones can grow beyond any measure
UNREADABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def readable(text):
    """A text as it may stand in a file: what no text can hold is replaced, and lines end in one way."""
    return UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n").replace("\r", "\n"))


@functools.lru_cache(1024)  # many students have the same question
def to_html(text):
    """Markdown -> HTML"""
    text = readable(text)
    if len(text) <= LONGEST:
        try:
            return PARSER.render(text)
        except (RecursionError, IndexError, ValueError):  # what no parser was made for
            pass
    return f"<pre>{html.escape(text)}</pre>"


def formula(latex, display=False):
    """LaTeX -> MathML; what cannot be typeset is shown as it was typed"""
    # Converter.convert() would undo the escaping of what stands in \text{…}, so the tree is written out here.
    try:
        if len(latex) > LONGEST_FORMULA or MACRO.search(latex):
            raise ValueError(latex)
        tree = Converter(display="block" if display else "inline").convert_to_element(latex)
        inert(tree)
        return ElementTree.tostring(tree, encoding="unicode")
    except Exception:  # the converter raises many things, among them IndexError and KeyError
        return f'<code class="latex">{html.escape(latex.strip())}</code>'


def inert(element, depth=0):
    """Leave only what draws; raise ValueError where there is anything else."""
    if element.tag not in ELEMENTS or depth > DEEPEST_FORMULA or len(element) < CHILDREN.get(element.tag, 0):
        raise ValueError(element.tag)
    for name in set(element.attrib) - ATTRIBUTES:
        del element.attrib[name]
    element.text = element.text and html.unescape(element.text)
    for child in element:
        inert(child, depth + 1)


def parser():
    md = MarkdownIt("commonmark", {"html": False}).enable("table")
    md.disable(["link", "image", "autolink", "reference", "entity"])  # they stay as they were typed
    dollarmath_plugin(md, allow_labels=False, double_inline=True)
    md.inline.ruler.before("escape", "bracketed", bracketed)
    amsmath_plugin(md)
    for rule in ("math_inline", "math_inline_double", "math_block", "amsmath"):
        md.add_render_rule(rule, math)
    md.add_render_rule("heading_open", lambda *_: '<p class="heading">')  # the headings of the page are ours
    md.add_render_rule("heading_close", lambda *_: "</p>\n")
    return md


def bracketed(state, silent):
    """The rule for \\(…\\) and \\[…\\]."""
    found = BRACKETED.match(state.src, state.pos)
    if found and not silent:
        state.push("math_inline" if found[1] else "math_inline_double", "math", 0).content = found[1] or found[2]
    state.pos = found.end() if found else state.pos
    return bool(found)


def math(self, tokens, index, options, env):
    token = tokens[index]
    typeset = formula(token.content, display=token.type != "math_inline")
    return f"<p>{typeset}</p>\n" if token.block else typeset


PARSER = parser()
