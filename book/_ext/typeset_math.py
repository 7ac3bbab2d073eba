"""Sphinx extension: formulas are typeset while the site is built, by KaTeX, as HTML with MathML beside it.

The reader's browser runs no script for them; a screen reader, and whoever copies, meets the MathML and its TeX.
KaTeX (katex/, MIT) runs in mini-racer.  A formula that KaTeX cannot read is a warning, hence an error here.
"""

import re
from functools import cache
from pathlib import Path

from docutils import nodes
from py_mini_racer import JSEvalException, MiniRacer
from sphinx.locale import _
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

# Q, K, V, the weights A and the output Z mean the same in every formula: the style gives each its one colour
ROLE = re.compile(r'(<span class="mord mathnormal)((?: mtight)?"[^>]*>([QKVAZ])</span>)')
KATEX = Path(__file__).parent / "katex"
logger = logging.getLogger(__name__)


@cache
def engine():
    """KaTeX, loaded once for each process."""
    context = MiniRacer()
    context.eval((KATEX / "katex.min.js").read_text("utf-8"))
    return context


@cache
def typeset(tex, display):
    """HTML of a formula; raises JSEvalException with KaTeX's own words."""
    options = {"displayMode": display, "strict": "error", "throwOnError": True}  # strict: no Chinese outside \text
    html = engine().call("katex.renderToString", tex, options)
    return ROLE.sub(lambda m: f"{m[1]} role-{m[3].lower()}{m[2]}", html)


def formula(node, display):
    """HTML of a node's formula, or its TeX and a warning that names the place."""
    try:
        return typeset(node.astext().strip(), display)
    except JSEvalException as error:
        reason = re.search(r"ParseError: (?:KaTeX parse error: )?(.*)", str(error))  # the rest is KaTeX's own source
        logger.warning("%s in the formula %s", reason[1] if reason else "an error", node.astext(), location=node)
        return f"<code>{nodes.make_id(node.astext())}</code>"


def visit_inline(self, node):
    self.body.append(f'<span class="math notranslate">{formula(node, False)}</span>')
    raise nodes.SkipNode


def visit_display(self, node):
    """The formula scrolls by itself where it is wider than the page, so it can be reached by keyboard."""
    self.body.append(self.starttag(node, "div", CLASS="math notranslate"))
    self.body.append(f'<div class="math-scroll" tabindex="0">{formula(node, True)}</div>')
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, _("Link to this equation"))
        self.body.append("</span>")
    self.body.append("</div>")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("katex", (visit_inline, None), (visit_display, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
