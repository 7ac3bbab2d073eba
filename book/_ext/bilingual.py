"""Sphinx extension: one bilingual source, three views (zh, en, both).

Cells tagged lang-zh / lang-en are chosen or merged on `source-read`, before MyST-NB parses the notebook;
the rest are ordinary transforms of the parsed page.
"""

from __future__ import annotations

import copy
import json
import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

LANGS = {"zh": "zh-Hans", "en": "en"}
FENCE = re.compile(r"^\s*(```+|~~~+|:::+)")
HEAD = re.compile(r"^(#{1,6})\s+(.*?)\s*$")
TARGET = re.compile(r"^\([^)\n]+\)=\s*$")


# ---------------------------------------------------------------- pure part
def cell_lang(cell):
    """'zh', 'en' or None (shared)."""
    tags = cell.get("metadata", {}).get("tags", [])
    return next((lang for lang in LANGS if f"lang-{lang}" in tags), None)


def text(cell):
    """The cell's source as one string."""
    s = cell["source"]
    return "".join(s) if isinstance(s, list) else s


def inline_pair(value, key=""):
    """{"zh": .., "en": ..} in cell metadata -> one bilingual string, the same in
    every mode (so jupyter-cache hits); DropOther trims it after parsing."""
    if isinstance(value, dict):
        if set(value) == set(LANGS):
            if key == "alt":
                return f"{value['zh']} | {value['en']}"
            return " ".join(f"[{value[lang]}]{{.lang-{lang} .language-{tag}}}" for lang, tag in LANGS.items())
        return {k: inline_pair(v, k) for k, v in value.items()}
    return value


def segments(src):
    """Split a cell at ATX headings -> [(targets, level, title, body)]"""
    segs, cur, fence, pending = [], ["", 0, "", []], None, []
    for line in src.split("\n"):
        m = FENCE.match(line)
        if m:
            if fence is None:
                fence = m.group(1)
            elif m.group(1).startswith(fence) and line.strip() == m.group(1):
                fence = None
        h = HEAD.match(line) if fence is None else None
        if h:
            segs.append(cur)
            cur = ["\n".join(pending), len(h.group(1)), h.group(2), []]
            pending = []
        elif fence is None and TARGET.match(line):
            pending.append(line)
        else:
            cur[3] += pending + [line]
            pending = []
    segs.append(cur)
    out = [(targets, level, title, "\n".join(body).strip("\n")) for targets, level, title, body in segs]
    return out if any(out[0]) else out[1:]


def trim_pair(value, mode):
    """'中文 | English' -> the part for this view."""
    parts = value.split(" | ")
    return value if mode == "both" or len(parts) != 2 else parts[list(LANGS).index(mode)]


def headings(nb, lang):
    """All headings of one language, in order."""
    return [
        h
        for c in nb["cells"]
        if c["cell_type"] == "markdown" and cell_lang(c) in (lang, None)
        for _, level, h, _ in segments(text(c))
        if level
    ]


def slug_of(heading):
    """The address of a section with this English heading; a name in code is its own."""
    return heading if heading.isidentifier() and "_" in heading else nodes.make_id(heading)


def unlabel(src):
    """Second-language twin in the both view: labels may exist only once."""
    src = re.sub(r"(?m)^(\$\$) *\([\w:-]+\) *$", r"\1", src)
    return re.sub(r"(?m)^:name: .*\n", "", src)


def with_label(cell):
    """What MyST needs and Jupyter would show raw is kept in metadata: the label of a formula; exercise, solution
    and question, which become boxes titled by their first line."""
    meta, src = cell.get("metadata", {}), text(cell).strip()
    kind = next((k for k in ("exercise", "solution", "question") if k in meta.get("tags", [])), None)
    if kind:
        title, _, body = src.partition("\n")
        name = f":name: {meta['label']}\n" if "label" in meta else ""
        cell["source"] = (
            f"`````{{admonition}} {title.strip().strip('*')}\n:class: {kind}\n{name}\n{body.strip()}\n`````"
        )
    elif "label" in meta:
        if not (src.startswith("$$") and src.endswith("$$")):
            raise ValueError(f"the cell labelled {meta['label']} is no formula, exercise or question:\n{src[:60]}")
        cell["source"] = f"{src} ({meta['label']})"


def merge(zh, en):
    """One cell for the both view: one heading per pair, bodies between marker comments."""
    a, b = segments(zh), segments(en)
    if [s[1] for s in a] != [s[1] for s in b]:
        raise ValueError(f"heading structure differs:\n{zh[:60]}\n{en[:60]}")
    out = []
    for (target, level, hz, bz), (_, _, he, be) in zip(a, b, strict=True):
        if level:
            title = f"[{hz}]{{.lang-zh .language-zh-Hans}} [{he}]{{.lang-en .language-en}}" if hz != he else he
            out += [target, f"{'#' * level} {title}", ""]
        out += ["% bilingual:zh", "", bz, "", "% bilingual:en", "", unlabel(be), "", "% bilingual:end", ""]
    return "\n".join(out).strip("\n")


def select(nb, mode):
    """The notebook as one view sees it: without the other language, and without what only a kernel can answer."""
    nb, cells = copy.deepcopy(nb), []
    for c in nb["cells"]:
        if "jupyter-only" in c["metadata"].get("tags", []):
            continue
        lang = cell_lang(c)
        if c["cell_type"] == "markdown":
            with_label(c)
        c["metadata"] = inline_pair(c.get("metadata", {}))
        if mode != "both":
            if lang in (mode, None):
                cells.append(c)
        elif lang == "en" and cells and cell_lang(cells[-1]) == "zh":
            cells[-1]["source"] = merge(text(cells[-1]), text(c))
            cells[-1]["metadata"]["tags"] = []
        else:
            cells.append(c)
    nb["cells"] = cells
    return nb


def of_language(value, lang):
    """Metadata with each {"zh": .., "en": ..} replaced by the part of one language."""
    if isinstance(value, dict):
        return value[lang] if set(value) == set(LANGS) else {k: of_language(v, lang) for k, v in value.items()}
    return value


def single(nb, lang):
    """The notebook for Jupyter in one language: plain Markdown as in the source, less the cells of the other."""
    nb = copy.deepcopy(nb)
    nb["cells"] = [c for c in nb["cells"] if cell_lang(c) in (lang, None)]
    for c in nb["cells"]:
        c["metadata"] = of_language(c.get("metadata", {}), lang)
        if "tags" in c["metadata"]:
            c["metadata"]["tags"] = [tag for tag in c["metadata"]["tags"] if tag != f"lang-{lang}"]
    return nb


# -------------------------------------------------------------- Sphinx part
def load(docname, source):
    """The notebook in a string."""
    try:
        return json.loads(source)
    except json.JSONDecodeError as error:
        raise ExtensionError(f"{docname}.ipynb is no notebook: {error}") from None


def write_single(source, target, lang):
    """Write the notebook of the file `source` in one language to the file `target`."""
    nb = single(load(source.stem, source.read_text("utf-8")), lang)
    target.write_text(json.dumps(nb, ensure_ascii=False, indent=1) + "\n", "utf-8")


def source_read(app, docname, source):
    """Filter the raw notebook and remember its English headings."""
    if not app.env.doc2path(docname).endswith(".ipynb"):
        return
    nb = load(docname, source[0])
    slugs = [slug_of(h) for h in headings(select(nb, "en"), "en")]
    app.env.temp_data["bilingual_slugs"] = slugs
    source[0] = json.dumps(select(nb, app.config.bilingual_mode))


class StableAnchors(SphinxTransform):
    """Same ASCII anchors in every language: slug of the English heading."""

    default_priority = 500

    def apply(self):
        slugs, seen, table = self.env.temp_data.pop("bilingual_slugs", []), set(self.document.ids), {}
        secs = [
            s for s in self.document.findall(nodes.section) if isinstance(s.parent, (nodes.section, nodes.document))
        ]
        if len(secs) != len(slugs):
            return  # the lint reports unequal heading structure
        for sec, slug in zip(secs, slugs, strict=True):
            if slug in sec["ids"]:
                sec["ids"].remove(slug)
            elif slug in seen or not slug:
                continue
            seen.add(slug)
            sec["ids"].insert(0, slug)
            self.document.ids[slug] = sec
            table[slug] = (sec.line or 0, slug, sec[0].astext())
        # so that the plain Markdown link [text](other.ipynb#slug) is checked and resolved
        self.document.myst_slugs = self.env.metadata[self.env.docname]["myst_slugs"] = table


class DropOther(SphinxTransform):
    """Single-language views: trim [..]{.lang-xx} spans and "zh | en" alt texts."""

    default_priority = 20

    def apply(self):
        mode = self.config.bilingual_mode
        for img in self.document.findall(nodes.image):
            img["alt"] = trim_pair(img.get("alt", ""), mode)
        if mode == "both":
            return
        drop = {f"lang-{lang}" for lang in LANGS if lang != mode}
        for n in [n for n in self.document.findall(nodes.inline) if drop & set(n["classes"])]:
            i = n.parent.index(n)
            sib = n.parent[i - 1] if i else None
            if isinstance(sib, nodes.Text):
                n.parent[i - 1] = nodes.Text(sib.rstrip())
            n.parent.remove(n)


class PairBlocks(SphinxTransform):
    """Between marker comments, wrap siblings in <div class=lang-zh lang=zh-Hans>."""

    default_priority = 10

    def apply(self):
        for start in [c for c in self.document.findall(nodes.comment) if c.astext() == "bilingual:zh"]:
            parent, pair, cur = start.parent, nodes.container(classes=["lang-pair"]), None
            i = parent.index(start)
            for node in parent.children[i:]:
                mark = node.astext() if isinstance(node, nodes.comment) else ""
                parent.remove(node)
                if mark == "bilingual:end":
                    break
                if mark.startswith("bilingual:"):
                    lang = mark.split(":")[1]
                    cur = nodes.container(classes=[f"lang-{lang}", f"language-{LANGS[lang]}"])
                    pair += cur
                else:
                    cur += node
            pair.children = [c for c in pair.children if c.children]
            if pair.children:
                parent.insert(i, pair)


CALLOUTS = {
    "note": ("注意", "Note"),
    "tip": ("提示", "Tip"),
    "important": ("重要", "Important"),
    "warning": ("警告", "Warning"),
    "predict": ("先猜", "Predict"),
    "misconception": ("你也许以为", "You might think"),
}


class Callouts(SphinxTransform):
    """> **提示：** ...  /  > **Tip.** ...   (a plain quote in Jupyter)  ->  a box titled with these words."""

    default_priority = 15

    def apply(self):
        kinds = {word.lower(): kind for kind, pair in CALLOUTS.items() for word in pair}
        for quote in list(self.document.findall(nodes.block_quote)):
            para = quote.children[0] if quote.children else None
            kids = [k for k in para.children if k.astext()] if isinstance(para, nodes.paragraph) else []
            word = kids[0].astext().strip("：:.。 ") if kids and isinstance(kids[0], nodes.strong) else ""
            if word.lower() in kinds:
                para.children = kids[1:]
                if para.children and isinstance(para.children[0], nodes.Text):
                    para.replace(para.children[0], nodes.Text(para.children[0].lstrip("：: \n")))
                body = quote.children if para.children else quote.children[1:]
                quote.replace_self(
                    nodes.admonition("", nodes.title("", word), *body, classes=["admonition", kinds[word.lower()]])
                )


class Solutions(SphinxTransform):
    """Solutions fold: <details> needs no script."""

    default_priority = 40

    def apply(self):
        for box in list(self.document.findall(nodes.admonition)):
            if "solution" in box["classes"]:
                title, *body = box.children
                start = '<details class="admonition solution"><summary class="admonition-title">'
                at = box.parent.index(box)  # not replace_self, which would wrap the first node for the box's classes
                box.parent[at : at + 1] = [
                    nodes.raw("", start, format="html"),
                    nodes.inline("", "", *title.children),
                    nodes.raw("", "</summary>", format="html"),
                    *body,
                    nodes.raw("", "</details>", format="html"),
                ]


HAN = "\u3400-\u9fff\u3000-\u303f\uff00-\uffef\u2018-\u201d\u2014\u2026"
CLOSE = "，。、；：！？）」』”’》】,.;:!?)"


def place(node):
    """Where a node stands in its parent: docutils' own index() finds the first text that is equal."""
    return next(i for i, child in enumerate(node.parent) if child is node)


def is_short(node):
    """Whether a formula or code takes little room, TeX commands counted as one sign."""
    return len(re.sub(r"\\[a-zA-Z]+|[\\{}^_,; ]", "", node.astext())) <= 20


class ChineseText(SphinxTransform):
    """No space for a line break between Chinese characters; in both languages no punctuation at the start of
    a line after inline math or code (browsers may break around an inline-block)."""

    default_priority = 30

    def apply(self):
        for t in list(self.document.findall(nodes.Text)):
            if isinstance(t.parent, (nodes.FixedTextElement, nodes.literal, nodes.math)):
                continue
            par, i = t.parent, place(t)
            before, after = par[i - 1] if i else None, par[i + 1] if i + 1 < len(par) else None
            if t == "\n":  # MyST keeps a soft line break as its own text node
                joins = before and after and re.search(f"[{HAN}]$", before.astext())
                if joins and re.match(f"[{HAN}]", after.astext()):
                    del par[i]
                continue
            closing = re.match(f"[{CLOSE}]+", t)
            if closing and isinstance(before, (nodes.math, nodes.literal)) and is_short(before):
                kept = nodes.inline("", "", before, nodes.Text(closing.group()), classes=["nobr"])
                par[i - 1 : i + 1] = [kept, nodes.Text(t[closing.end() :])]


def description(doctree, pagename):
    """What a page says of itself to search engines: its first paragraph; an assignment, whose first paragraph is that
    of all, names its title and its questions instead."""
    if pagename.startswith("assignments/"):
        titles = [node[0] for node in doctree.findall(nodes.section)]
        words = [next(iter(title.findall(nodes.inline)), title).astext() for title in titles]  # of two languages, one
        return f"{words[0]} | {' · '.join(re.sub(r'^[0-9. ]+|（.*?）| [(].*?[)]', '', word) for word in words[1:])}"
    first = next(doctree.findall(nodes.paragraph), None)
    return re.sub(r"\\sqrt\{(.*?)\}", r"√\1", first.astext()) if first else ""


PHRASE = re.compile(r"[A-Za-z][\w’'-]*(?:[,;:]? [A-Za-z][\w’'-]*){3,}[.?!]?")

NOT_PROSE = {"lang-en", "language-en", nodes.literal, nodes.literal_block, nodes.math, nodes.comment, nodes.raw}


class EnglishPhrases(SphinxTransform):
    """Four English words or more in a Chinese text, such as a sentence or the title of a paper, are marked as English:
    a screen reader changes its voice, a browser its font.  Fewer words are a term."""

    default_priority = 35  # when ChineseText has looked at the ends of texts

    def apply(self):
        mode = self.config.bilingual_mode
        for text in list(self.document.findall(nodes.Text)) if mode != "en" else []:
            around, node = set(), text.parent
            while node is not None:
                around |= set(node.get("classes", [])) | {type(node)}
                node = node.parent
            if NOT_PROSE & around or (mode == "both" and "lang-zh" not in around):
                continue
            parts, end = [], 0
            for found in PHRASE.finditer(text):
                parts += [nodes.Text(text[end : found.start()])] if found.start() > end else []
                parts.append(nodes.inline("", found.group(), classes=[f"language-{LANGS['en']}"]))
                end = found.end()
            if parts:
                i = place(text)
                text.parent[i : i + 1] = parts + ([nodes.Text(text[end:])] if text[end:] else [])


def mark_captions(app, pagename, templatename, context, doctree):
    """On the view in both languages, the captions of the contents, "中文 · English", say which part is which."""
    draw = context.get("generate_toctree_html")
    if draw and app.config.bilingual_mode == "both":
        zh, en = (f'<span class="lang-{lang}" lang="{tag}">' for lang, tag in LANGS.items())
        part = rf"\1{zh}\2</span> {en}\3</span>\4"
        caption = re.compile(r'(<span class="caption-text">)([^<]+) · ([^<]+)(</span>)')
        context["generate_toctree_html"] = lambda **options: caption.sub(part, str(draw(**options)))


def page_context(app, pagename, templatename, context, doctree):
    """Name the view for the templates, part the languages of a title, describe the page."""
    context["bilingual_mode"] = app.config.bilingual_mode
    context["has_sibling_views"] = bool(app.config.shared_url)  # a plain `jupyter-book build` has none
    context["title"] = re.sub(r'(?<=</span>) (?=<span class="lang-en")', " · ", context.get("title", ""))
    told = description(doctree, pagename) if doctree else ""
    if told:
        context["metatags"] = context.get("metatags", "") + f'<meta name="description" content="{escape(told)}" />\n'


def downloads(app, exception):
    """Behind the download button of a single-language page is the notebook in that language."""
    if not exception and app.config.bilingual_mode in LANGS:
        for path in (Path(app.outdir) / "_sources").rglob("*.ipynb"):
            write_single(path, path, app.config.bilingual_mode)


def setup(app):
    app.add_config_value("bilingual_mode", "both", "env")
    app.connect("source-read", source_read)
    app.connect("html-page-context", page_context)
    app.connect("html-page-context", mark_captions, priority=900)  # after the theme has put its functions there
    app.connect("build-finished", downloads)
    app.add_transform(StableAnchors)
    app.add_transform(DropOther)
    app.add_transform(Callouts)
    app.add_transform(Solutions)
    app.add_transform(ChineseText)
    app.add_transform(EnglishPhrases)
    app.add_transform(PairBlocks)
    return {"version": "0.1", "parallel_read_safe": True, "parallel_write_safe": True}
