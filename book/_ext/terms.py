"""Sphinx extension: a link to an entry of the glossary shows the entry's meaning where it stands.

Each page carries one card (a native popover, hidden) for each term that it links to.  The card is made from the
glossary's own page, and added to the HTML, not to the doctree: the words of cards are in no page's search index.
The link stays a link, which _static/terms.js makes open the card; without the script it leads to the entry.
"""

import json
import re
from functools import cache
from html import escape

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.transforms import SphinxTransform

from bilingual import LANGS, headings, trim_pair

GLOSSARY = "glossary"
ENTRY = re.compile(rf"^{GLOSSARY}\.html#(.+)")
IPA = re.compile(r"(/[^/\s][^/]*/) ")
BRACKET = re.compile("（[^）]*）")  # 词元（token）
MORE = "到术语表看整条 | Open in the glossary"


def read_names(app, docname, source):
    """Remember the entries' Chinese names before bilingual.py drops them from the English view."""
    if docname == GLOSSARY:
        nb = json.loads(source[0])
        pairs = zip(headings(nb, "en"), headings(nb, "zh"), strict=True)
        app.env.temp_data["chinese_names"] = {en: BRACKET.sub("", zh) for en, zh in pairs}


def entries(doctree):
    """The sections of the third level."""
    return [s for s in doctree.findall(nodes.section) if isinstance(s.parent.parent, nodes.section)]


def blocks(section):
    """Where an entry's text stands: one part for each language in the both view, else the section itself."""
    parts = [c for c in section.findall(nodes.container) if {"lang-zh", "lang-en"} & set(c["classes"])]
    return parts or [section]


def first_paragraphs(block):
    """The line with the names, if there is one, and the meaning."""
    paragraphs = [c for c in block.children if isinstance(c, nodes.paragraph)]
    return paragraphs[: 1 + ("term-names" in paragraphs[0]["classes"])]


class Names(SphinxTransform):
    """In the glossary, a line below each heading: the Chinese name (English view), then the IPA."""

    default_priority = 25

    def apply(self):
        if self.env.docname != GLOSSARY:
            return
        names, mode = self.env.temp_data.pop("chinese_names"), self.config.bilingual_mode
        for section in entries(self.document):
            if mode == "both":  # the heading has the English name beside the Chinese one
                for text in section[0].findall(nodes.Text):
                    text.parent.replace(text, nodes.Text(BRACKET.sub("", text)))
            twin = names[section[0].astext()] if mode == "en" else ""
            for block in blocks(section):
                self.add_line(block, twin if twin != section[0].astext() else "")

    def add_line(self, block, twin):
        (meaning,) = first_paragraphs(block)
        ipa = IPA.match(meaning[0].astext())
        line = nodes.paragraph(classes=["term-names"])
        if twin:
            line += [nodes.inline("", twin, classes=[f"language-{LANGS['zh']}"]), nodes.Text(" ")]
        if ipa:
            line += nodes.inline("", ipa[1], classes=["language-en"])
            meaning.replace(meaning[0], nodes.Text(meaning[0][ipa.end() :]))
        if line.children:
            block.insert(block.index(meaning), line)


def note_dependency(app, doctree):
    """A page with cards is made again when the glossary changes."""
    if any(ref["reftarget"] == GLOSSARY for ref in doctree.findall(pending_xref)):
        app.env.note_dependency(app.env.doc2path(GLOSSARY))


def mark_terms(app, doctree, docname):
    """Name the links to entries for the style and the script."""
    if docname != GLOSSARY:
        for ref in doctree.findall(nodes.reference):
            if ENTRY.match(ref.get("refuri", "")):
                ref["classes"].append("term")


@cache
def glossary(app):
    """{address: section} of the glossary, links resolved."""
    doctree = app.env.get_and_resolve_doctree(GLOSSARY, app.builder)
    return {section["ids"][0]: section for section in entries(doctree)}


@cache
def card(app, slug):
    """HTML of an entry's card: names, IPA, meaning (the first paragraph), a link to the whole entry."""
    section = glossary(app)[slug]
    head, meanings = nodes.paragraph("", "", nodes.strong("", "", *section[0].deepcopy().children)), []
    for block in blocks(section):
        *line, meaning = first_paragraphs(block)
        if line and not meanings:
            head += [nodes.Text(" "), *line[0].deepcopy().children]
        meanings.append(nodes.paragraph("", "", *meaning.deepcopy().children, classes=block["classes"]))
    more = trim_pair(MORE, app.config.bilingual_mode)
    if app.config.bilingual_mode == "both":
        parts = zip(LANGS.values(), more.split(" | "), strict=True)
        more = " · ".join(f'<span lang="{tag}">{part}</span>' for tag, part in parts)
    text = "".join(app.builder.render_partial(p)["fragment"] for p in [head, *meanings])
    return (
        f'<div popover class="term-card" id="term-{slug}" role="dialog" tabindex="-1" '
        f'aria-label="{escape(section[0].astext())}">{text}<p><a href="{GLOSSARY}.html#{slug}">{more}</a></p></div>'
    )


def add_cards(app, pagename, templatename, context, doctree):
    """Put the cards of a page's terms at the end of its article."""
    if doctree:
        refs = [ref for ref in doctree.findall(nodes.reference) if "term" in ref["classes"]]
        slugs = dict.fromkeys(ENTRY.match(ref["refuri"])[1] for ref in refs)
        context["body"] += "".join(card(app, slug) for slug in slugs)


def setup(app):
    app.connect("source-read", read_names, priority=400)  # before bilingual.py
    app.connect("doctree-read", note_dependency)
    app.connect("doctree-resolved", mark_terms)
    app.connect("html-page-context", add_cards)
    app.add_transform(Names)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
