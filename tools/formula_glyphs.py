"""Which characters the formulas of some pages set in which of KaTeX's faces, read as a browser would read it: from the
classes of the spans, and what KaTeX's own style says of these."""

import re
from functools import cache
from html import unescape

import tinycss2

NORMAL = ("KaTeX_Main", "normal", "400")  # of .katex: family, style, weight
ASPECTS = ("font-family", "font-style", "font-weight")
NAMES = {("normal", "400"): "Regular", ("normal", "700"): "Bold", ("italic", "400"): "Italic"}
NAMES |= {("italic", "700"): "BoldItalic"}
PIECE = re.compile(r'<span(?: class="([^"]*)")?[^>]*>|(</span>)|<[^>]*>|([^<]+)')
BEGIN = '<span class="katex-html"'


def font_rules(css):
    """[(classes that an element must have, {aspect: value})] of KaTeX's style, the stronger ones last."""
    found = []
    for rule in tinycss2.parse_stylesheet(css, True, True):
        said = {}
        if rule.type == "qualified-rule":
            parts = tinycss2.parse_blocks_contents(rule.content, True, True)
            said = {part.name: tinycss2.serialize(part.value) for part in parts if part.name in ASPECTS}
        for selector in tinycss2.serialize(rule.prelude).split(",") if said else []:
            if classes := re.search(r"^\.katex .*?((?:\.[\w-]+)+)(?:>span)?$", selector):
                found.append((set(classes[1].split(".")[1:]), said))
    return sorted(found, key=lambda one: len(one[0]))  # stable: of equals the later wins


def glyphs(pages, css, faces):
    """{face: its characters} for `faces`, the names of KaTeX's font files less their ending."""
    rules, used = font_rules(css), {face: set() for face in faces}

    @cache
    def inside(classes, outer):
        """The font in a span of these classes."""
        font, own = dict(zip(ASPECTS, outer, strict=True)), set(classes.split())
        for needed, said in rules:
            if needed <= own:
                font |= said
        return tuple(font.values())

    @cache
    def face(family, style, weight):
        """The file of the font, or the one that a browser takes for it: the style counts more than the weight."""
        nearest = [(style, weight), (style, "400"), ("normal", weight), ("normal", "400")]
        return next(name for one in nearest if (name := f"{family}-{NAMES[one]}") in used)

    for html in pages:
        for start in re.finditer(BEGIN, html):
            fonts = [NORMAL]
            for piece in PIECE.finditer(html, start.start()):
                classes, end, text = piece.groups()
                if text:
                    used[face(*fonts[-1])].update(unescape(text))
                elif end:
                    fonts.pop()
                elif piece[0].startswith("<span"):
                    fonts.append(inside(classes or "", fonts[-1]))
                if len(fonts) == 1:
                    break
    return {name: frozenset(map(ord, characters)) for name, characters in used.items()}
