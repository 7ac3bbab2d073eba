"""Sphinx extension: search for sections, in place of Sphinx's search for pages.

`sections.js` holds what each section of this view says, read from the finished pages: formulas as a line of text,
code, outputs, tables and captions; also their titles in the other language, so that either language finds them, the
other names of search_names.txt and the traditional characters of search_traditional.txt.  Only search.html loads it,
section_search.js, which finds, and section_search_page.js, which shows.
"""

import json
import re
import shutil
from functools import cache
from html import escape
from pathlib import Path
from xml.etree import ElementTree

from bs4 import BeautifulSoup, Comment, NavigableString, SoupStrainer

from bilingual import headings

HERE = Path(__file__).parent
SCRIPTS = [HERE / "section_search.js", HERE / "section_search_page.js"]
OTHER = {"zh": "en", "en": "zh"}
DEAD = re.compile(r"doctools|sphinx_highlight|translations")  # of no use but to Sphinx's own search
LINES = {"p", "li", "pre", "div", "tr", "dt", "dd", "summary", "figcaption", "caption", "table", "ul", "ol"}
HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"]
UNREAD = {"script", "style", "annotation", "mphantom", "svg", "button"}
UNREAD_CLASSES = {"headerlink", "widget-still"}
ARTICLE = SoupStrainer("article")
DRAWN, SPAN = re.compile('<span class="katex-html"'), re.compile(r"<span\b|</span>")
MATH = re.compile('<span class="katex"><span class="katex-mathml">(<math.*?</math>)</span></span>', re.S)
TOKEN = re.compile(r'<span class="[a-z]{1,2}\d?">([^<]*)</span>')  # what Pygments colours
ACCENTS = {"~": "\u0303", "˜": "\u0303", "^": "\u0302", "ˆ": "\u0302", "ˉ": "\u0304", "¯": "\u0304", "⃗": "\u20d7"}
SPACED = set("=≈≠≡≤≥<>∈→⇒∼∝")


# ---------------------------------------------------------------- formulas
def whole(text):
    """The text in brackets, unless nothing could be torn from it: x_i, √2, exp(x), [1, 2]."""
    return text if re.fullmatch(r"√?[\w\u0300-\u036f,.′⊤]*(\([^()]*\)|\[[^][]*\])?", text) else f"({text})"


def raised(text):
    return {"⊤": "ᵀ", "′": "′"}.get(text, f"^{whole(text)}")


def named(node):
    """What a MathML element is: its name without the namespace."""
    return node.tag.rpartition("}")[2]


def formula(node):
    """A MathML element as a line of text: S̃ = S/√d_k."""
    kids = [re.sub(r"\s+", " ", re.sub("[\u2062-\u2064]", "", node.text))] if node.text else []
    kids += [formula(kid) for kid in node if named(kid) not in UNREAD]
    match named(node), kids:
        case "mo", [sign]:
            return {"\u2061": "", ",": ", "}.get(sign, f" {sign} " if sign in SPACED else sign)
        case "mspace", _:
            return " "
        case "mfrac", [over, under]:
            return f"{whole(over)}/{whole(under)}"
        case "msqrt", _:
            return f"√{whole(side_by_side(kids))}"
        case "mover", [base, sign]:
            return base + (ACCENTS.get(sign) or raised(sign))
        case "msup", [base, high]:
            return base + raised(high)
        case "msub" | "munder", [base, low]:
            return f"{base}_{whole(low)}"
        case "msubsup" | "munderover", [base, low, high]:
            return f"{base}_{whole(low)}{raised(high)}"
        case "mtr", _:
            return ", ".join(kids)
        case "mtable", _:
            return "; ".join(kids)
    return side_by_side(kids)


def side_by_side(parts):
    """Factors, with a space where they would run into one word: log a, q_i k_j, X W_Q, but QK."""
    out, before = "", ""
    for part in filter(None, parts):
        runs_on = re.search(r"[_^]\S+$|[^\W\d_]{2,}$", before) and re.match(r"[^\W_]|√", part)
        runs_on = runs_on or (re.search(r"[^\W\d_]$", before) and re.match(r"[^\W\d_]_", part))
        out += " " + part if runs_on else part
        before = part
    return re.sub(r" {2,}", " ", out)


# ---------------------------------------------------------------- sections
def without_drawn(html):
    """The page less what KaTeX draws, which is half of its elements: the formula is read from the MathML beside it."""
    kept, end = [], 0
    for start in DRAWN.finditer(html):
        kept.append(html[end : start.start()])
        depth = 0
        for tag in SPAN.finditer(html, start.start()):
            depth += -1 if tag[0].startswith("</") else 1
            if depth == 0:
                break
        end = tag.end()
    return "".join([*kept, html[end:]])


@cache
def spelt(math):
    """A MathML element, as a page has it, as a line of text."""
    return escape(formula(ElementTree.fromstring(math)).strip(), quote=False)


def less_to_parse(html):
    """The page with formulas and coloured words of code as the text that they say: few elements are left."""
    return TOKEN.sub(r"\1", MATH.sub(lambda m: spelt(m[1]), without_drawn(html)))


def is_line(node):
    return node.name in LINES


def read(node):
    """What an element says: a line of text for each paragraph, row or formula; code keeps its lines."""
    if isinstance(node, NavigableString):
        return "" if isinstance(node, Comment) else str(node)
    classes = set(node.get("class", []))
    if node.name in UNREAD or UNREAD_CLASSES & classes:
        return ""
    inner = "".join(map(read, node.children))
    if node.name in ("td", "th"):
        return f"{' '.join(inner.split())} · "
    if node.name == "tr" or "math" in classes or (node.name != "pre" and not any(map(is_line, node.descendants))):
        inner = re.sub(r"\s+", " ", inner)
    return f"\n{inner}\n" if node.name in LINES else inner


def lines(section):
    """The lines of a section without its heading and its subsections."""
    text = "".join(read(part) for part in section.children if part.name not in ("section", *HEADINGS))
    return [line for line in (" ".join(raw.split()).strip(" ·") for raw in text.split("\n")) if line]


def title(section):
    """A section's heading: a list of one text, or of one for each language."""
    head = section.find(HEADINGS, recursive=False)
    return [" ".join(read(part).split()) for part in head.select(".lang-zh, .lang-en") or [head]]


def sections(page, html):
    """[{href, path: the titles from the page's down to its own, text}] of a finished page."""
    found, titles = [], {}
    for section in BeautifulSoup(less_to_parse(html), "html.parser", parse_only=ARTICLE).find_all("section", id=True):
        name = section["id"]
        titles[name] = title(section)
        path = [titles[parent["id"]] for parent in reversed(section.find_parents("section"))] + [titles[name]]
        found.append({"href": f"{page}#{name}", "path": path, "text": "\n".join(lines(section))})
    return found


def add_twins(found, notebook, view):
    """Give the sections of a page their titles in the language that this view does not show."""
    if view in OTHER:
        for section, twin in zip(found, headings(notebook, OTHER[view]), strict=True):
            twin = re.sub(r"[$`*\\]", "", twin)
            if twin != section["path"][-1][0]:
                section["twin"] = twin
    return found


# ---------------------------------------------------------------- words beside the book's
def names():
    """The lines of search_names.txt, each a list of names for one thing."""
    lines = (HERE / "search_names.txt").read_text("utf-8").splitlines()
    return [line.split(" | ") for line in lines if line and not line.startswith("#")]


def traditional():
    """Traditional characters, each followed by the one that this book writes."""
    lines = (HERE / "search_traditional.txt").read_text("utf-8").splitlines()
    return "".join(line for line in lines if not line.startswith("#"))


# ---------------------------------------------------------------- Sphinx
def own_search(app):
    """Leave out Sphinx's index; its page is made from our template."""
    if app.builder.format == "html":
        app.builder.search = False
        app.config.html_additional_pages["search"] = "search.html"


def drop_dead(app, pagename, templatename, context, doctree):
    context["script_files"] = [f for f in context["script_files"] if not DEAD.search(str(f))]


def write(app, exception):
    if exception or app.builder.format != "html":
        return
    out, found = Path(app.outdir), []
    for name in sorted(app.env.found_docs):
        page = sections(f"{name}.html", (out / f"{name}.html").read_text("utf-8"))
        notebook = json.loads(Path(app.env.doc2path(name)).read_text("utf-8"))
        found += add_twins(page, notebook, app.config.bilingual_mode)
    data = {"SECTIONS": found, "NAMES": names(), "TRADITIONAL": traditional()}
    lines = [
        f"var {key} = {json.dumps(value, ensure_ascii=False, separators=(',', ':'))};\n" for key, value in data.items()
    ]
    (out / "sections.js").write_text("".join(lines), "utf-8")
    for script in SCRIPTS:
        shutil.copy(script, out)


def setup(app):
    app.connect("builder-inited", own_search)
    app.connect("html-page-context", drop_dead)
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
