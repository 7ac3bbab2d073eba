"""What a chapter's page weighs with all that it loads, computed from the files; that no rule or glyph is missing that
it needs, seen in a browser.  Times are measured in bench/."""

import gzip
import re
from fnmatch import fnmatch

import pytest

from conftest import LAID_OUT, READY, ROOT, SITE

CHAPTERS = sorted(page.relative_to(SITE).as_posix() for page in SITE.glob("*/[01]*.html"))
LOADED = re.compile(
    r'<(?:script\b[^>]*\bsrc|img\b[^>]*\bsrc|link\b[^>]*\brel="(?:stylesheet|icon|preload)"[^>]*\bhref)="([^"?#]+)'
)
FACE = re.compile(r"@font-face\s*\{[^}]*\}")
# A page in both languages holds a second text: that of the longest chapter weighs 40 KiB more than in one language.
KIB = {"zh": 250, "en": 250, "both": 290}
REQUESTS = 20


def packed(path):
    """Bytes that a host sends for a file: text with gzip, at the level that most of them use."""
    data = path.read_bytes()
    return len(gzip.compress(data, 6)) if path.suffix in {".html", ".css", ".js", ".svg"} else len(data)


def loads(page):
    """A page and all that it can load when it is read to its end, with every font of its style."""
    files = {page} | {(page.parent / address).resolve() for address in LOADED.findall(page.read_text("utf-8"))}
    for style in [path for path in files if path.suffix == ".css"]:
        files |= {(style.parent / name).resolve() for name in re.findall(r"url\((files/[^)]*woff2)", style.read_text())}
    return files


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_is_light(name):
    files = loads(SITE / name)
    assert {path.suffix for path in files} >= {".html", ".css", ".js", ".woff2", ".webp"}
    kib = sum(map(packed, files)) / 1024
    assert kib <= KIB[name.split("/")[0]] and len(files) <= REQUESTS, f"{kib:.0f} KiB in {len(files)} requests"


def test_what_is_named_by_content_may_be_kept_for_ever_and_nothing_else():
    """Others know the icon of a home screen and the card of shared links by these addresses, so they keep them."""
    paths = {path.relative_to(SITE).as_posix() for path in (SITE / "shared").rglob("*") if path.is_file()}
    named = {path for path in paths if re.search(r"-[0-9a-f]{10}\.\w+$", path)}
    assert paths - named == {"shared/icon.png", "shared/social-card.png"}
    kept = re.findall(r"^/(\S+)\n  Cache-Control: .*immutable$", (SITE / "_headers").read_text("utf-8"), re.M)
    assert {path for path in paths for pattern in kept if fnmatch(path, pattern)} == named


def test_every_picture_font_and_style_is_there_once():
    kinds = {".webp", ".png", ".woff2", ".css"}
    contents = [path.read_bytes() for path in SITE.rglob("*.*") if path.suffix in kinds]
    assert len(contents) == len(set(contents)) > 20


def whole_style():
    """The style before rules were left out of it, with the site's own fonts."""
    (style,) = (SITE / "shared").glob("course-*.css")
    faces = "".join(FACE.findall(style.read_text("utf-8"))).replace("url(files/", "url(../shared/files/")
    return faces + FACE.sub("", (SITE.parent / "whole-style.css").read_text("utf-8"))


@pytest.mark.parametrize(
    "name, options",
    [
        ("en/02_derivation.html", {"viewport": {"width": 1300, "height": 1000}, "color_scheme": "dark"}),
        ("both/01_qkv_intuition.html", {"viewport": {"width": 360, "height": 740}, "is_mobile": True}),
    ],
)
def test_nothing_looks_different_for_the_rules_that_were_left_out(open_page, site_url, name, options):
    whole, script = whole_style(), (ROOT / "tests" / "same_style.js").read_text("utf-8")
    page = open_page(bypass_csp=True, **options)  # the policy refuses a style that is put into the page
    page.goto(f"{site_url}/{name}")
    page.wait_for_function(READY)
    page.evaluate(LAID_OUT)
    assert page.evaluate(script, whole) == []
    page.emulate_media(media="print")
    assert page.evaluate(script, whole) == []
    page.emulate_media(media="screen")
    page.locator("details").evaluate_all("folds => folds.forEach((fold) => (fold.open = true))")
    page.locator(".primary-toggle").click()  # at a desk the sidebar goes, on a phone it comes
    page.mouse.move(1, 1)  # where nothing changes its colour with the mouse
    assert page.evaluate(script, whole) == []


SET = """() => {
  const chosen = new Map();
  for (const formula of document.querySelectorAll(".katex-html")) {
    const walker = document.createTreeWalker(formula, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { parentElement: e, data } = walker.currentNode;
      const { fontFamily, fontStyle, fontWeight } = getComputedStyle(e);
      const family = fontFamily.split(",")[0];
      if (data.trim() && !/[\u2e80-\uffef]/.test(data)) chosen.set([family, fontStyle, fontWeight, data].join("|"), e);
    }
  }
  [...chosen.values()].forEach((e) => e.setAttribute("data-chosen", ""));
  const face = ({ family, style, weight }) => [family, style, weight === "normal" ? "400" : weight].join("|");
  return {
    wanted: [...new Set([...chosen.keys()].map((key) => key.split("|").slice(0, 3).join("|")))],
    loaded: [...document.fonts].filter((font) => font.status === "loaded").map(face),
  };
}"""


@pytest.mark.parametrize("name", ["en/02_derivation.html", "zh/04_softmax_gradient.html", "both/notation.html"])
def test_every_character_of_every_formula_is_drawn_by_its_own_face(open_page, site_url, name):
    page = open_page()
    page.goto(f"{site_url}/{name}", wait_until="networkidle")
    page.evaluate(LAID_OUT)
    seen = page.evaluate(SET)
    assert len(seen["wanted"]) >= 4 and set(seen["wanted"]) <= set(seen["loaded"])
    session = page.context.new_cdp_session(page)
    session.send("DOM.enable")
    session.send("CSS.enable")
    root = session.send("DOM.getDocument")["root"]["nodeId"]
    chosen = session.send("DOM.querySelectorAll", {"nodeId": root, "selector": "[data-chosen]"})["nodeIds"]
    drawn = [session.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"] for node in chosen]
    strange = {font["familyName"] for fonts in drawn for font in fonts if not font["isCustomFont"]}
    assert len(chosen) > 50 and strange == set()
