"""The site for readers who do not see it, see it badly, or use no mouse: axe-core, and what axe cannot know."""

import json
import re
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from attention_widgets import AttentionCalculator
from conftest import READY, ROOT, SITE, axe
from trim_site import pages

VIEWS = ["zh", "en", "both"]
PAGES = sorted(p.relative_to(SITE).as_posix() for p in pages(SITE))
CHAPTER = "02_derivation.html"
HAN = re.compile("[\u3400-\u9fff]")
PLACES = pytest.mark.parametrize("place", ["desk", "phone"])  # light at the desk, dark on the phone
EVERY_PAGE = pytest.mark.parametrize("name", PAGES)


@EVERY_PAGE
@PLACES
def test_axe_finds_nothing(visit, name, place):
    assert visit(name, place)["axe"] == []


@EVERY_PAGE
@PLACES
def test_every_kind_of_text_stands_out_from_its_ground(visit, name, place):
    assert visit(name, place)["faint"] == []


@EVERY_PAGE
@PLACES
def test_what_scrolls_sideways_can_be_scrolled_by_key(visit, name, place):
    assert visit(name, place)["stuck"] == []


@EVERY_PAGE
def test_text_in_another_language_says_which(visit, name):
    assert visit(name, "desk")["foreign"] == []


@pytest.mark.parametrize("name", [p for p in PAGES if not p.startswith("both/")])
def test_controls_have_names_in_the_language_of_the_page(visit, name):
    for said, lang in visit(name, "desk")["names"]:
        if lang.startswith("zh"):
            assert HAN.search(said) or not re.search("[A-Za-z]{4}", said), said
        else:
            assert not HAN.search(said), said


@pytest.mark.parametrize("name", [p for p in PAGES if re.search(r"/\d\d_", p)])
def test_pictures_of_widgets_say_their_numbers_and_say_others_when_moved(visit, name):
    widgets = visit(name, "desk")["widgets"]
    assert widgets
    for widget in widgets:
        assert widget["silent"] == [] and widget["numbers"] and widget["moved"], widget["kind"]


# ---------------------------------------------------------------- pictures
def test_both_languages_of_an_alternative_text_say_the_same_numbers_and_at_least_two():
    found = 0
    for path in sorted((ROOT / "book").rglob("*.ipynb")):
        if "_build" in path.parts:
            continue
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            alt = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt")
            if alt:
                zh, en = (sorted(re.findall(r"\d+(?:\.\d+)?", alt[lang])) for lang in ("zh", "en"))
                assert zh == en and len(zh) >= 2, (path.stem, alt)
                found += 1
    assert found >= 20


def test_a_still_picture_is_no_img_whose_numbers_nobody_hears():
    """WAI-ARIA 1.2: what stands in an img is presentational, so that its title is all that is said."""
    still = ElementTree.fromstring(AttentionCalculator().still)
    assert still.get("role") == "group" and "0.4519" in "".join(still.itertext())


# ---------------------------------------------------------------- keyboard
@pytest.fixture
def chapter(open_page, site_url):
    """chapter(view, **context options) -> the chapter's page, its widgets live."""

    def open_(view, **options):
        page = open_page(**options)
        page.goto(f"{site_url}/{view}/{CHAPTER}")
        page.wait_for_function(READY)
        return page

    return open_


PARTS = ["#pst-skip-link", ".bd-sidebar-primary", ".lang-switch", "article"]  # in the order of the keyboard
FOCUSED = """(parts) => {
  const e = document.activeElement, box = e.getBoundingClientRect();
  const seen = e.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && box.width > 0
    && box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight;
  return seen && { part: parts.find((part) => e.closest(part)) };
}"""


@pytest.mark.parametrize("view", VIEWS)
def test_tab_goes_from_the_skip_link_over_the_contents_and_languages_to_the_text(chapter, view):
    page, passed = chapter(view), []
    while "article" not in passed and len(passed) < 60:
        page.keyboard.press("Tab")
        passed.append(page.wait_for_function(FOCUSED, arg=PARTS).json_value().get("part"))
    assert list(dict.fromkeys(filter(None, passed))) == PARTS


def test_the_skip_link_leads_past_the_contents(chapter):
    page = chapter("en")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.getElementById('main-content').contains(document.activeElement)")


READERS = {"light": {"color_scheme": "light"}, "dark": {"color_scheme": "dark"}, "forced": {"forced_colors": "active"}}


@pytest.mark.parametrize("reader", READERS)
def test_whatever_takes_the_focus_shows_it(chapter, reader):
    page = chapter("both", viewport={"width": 1300, "height": 1000}, reduced_motion="reduce", **READERS[reader])
    script = (ROOT / "tests" / "seen_by_keyboard.js").read_text("utf-8")
    assert page.evaluate(script, reader == "forced") == []


MOVING = """() => [...new Set([...document.querySelectorAll("*")].filter((e) => {
  const style = getComputedStyle(e), lasts = style.transitionDuration.split(",").some((time) => parseFloat(time) > 0);
  return lasts || style.scrollBehavior === "smooth" || style.animationName !== "none";
}).map((e) => `${e.tagName} ${e.className}`))]"""


def test_nothing_moves_for_who_wants_less_motion(chapter):
    assert chapter("en", reduced_motion="reduce").evaluate(MOVING) == []


# ---------------------------------------------------------------- text spacing, what opens, other pages
SPACED = """() => {
  const sheet = new CSSStyleSheet(), lines = "line-height: 1.5 !important; letter-spacing: .12em !important;";
  sheet.replaceSync(`* { ${lines} word-spacing: .16em !important; } p { margin-bottom: 2em !important; }`);
  document.adoptedStyleSheets = [sheet];
  const cut = [...document.querySelectorAll("article *, .bd-header-article *")].filter((e) => {
    const style = getComputedStyle(e), hides = (way) => /hidden|clip/.test(way);
    const wide = hides(style.overflowX) && e.scrollWidth > e.clientWidth + 1;
    const high = hides(style.overflowY) && e.scrollHeight > e.clientHeight + 1;
    return (wide || high) && e.clientWidth > 1 && e.checkVisibility() && !e.closest(".math, svg");
  });
  return { wide: document.documentElement.scrollWidth, cut: cut.map((e) => e.outerHTML.slice(0, 100)) };
}"""


@pytest.mark.parametrize("view", VIEWS)
def test_wider_spacing_of_letters_and_lines_loses_nothing(chapter, view):
    """WCAG 2.2, 1.4.12, and 1.4.10: 320 CSS pixels are a desk's window at 400 % zoom."""
    page = chapter(view, viewport={"width": 320, "height": 640})
    assert page.evaluate(SPACED) == {"wide": 320, "cut": []}


OPENED = """async (part) => {
  const found = await axe.run(part, { rules: { "target-size": { enabled: true } } });
  return found.violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
}"""
OPENERS = [(".primary-toggle", "#pst-primary-sidebar-modal"), (".search-button", "#pst-search-dialog")]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_what_opens(open_page, site_url, theme):
    page = open_page(color_scheme=theme, viewport={"width": 360, "height": 740}, reduced_motion="reduce")
    page.goto(f"{site_url}/both/assignments/a1_scores_and_softmax.html")
    page.evaluate(axe())
    for opener, part in OPENERS:
        page.locator(opener).last.click()
        assert page.locator(part).is_visible() and page.evaluate(OPENED, part) == []
        page.keyboard.press("Escape")
        expect(page.locator(opener).last).to_be_focused()
    page.goto(f"{site_url}/both/refresher.html")
    page.evaluate(axe())
    page.locator("a.term").first.press("Enter")
    assert page.evaluate(OPENED, ".term-card:popover-open") == []


@pytest.mark.parametrize("name", sorted(p.name for p in SITE.glob("*.html")))
def test_axe_finds_nothing_beside_the_views(open_page, site_url, name):
    page, html = open_page(), (SITE / name).read_text("utf-8")
    still = re.sub(r"<script\b.*?</script>", "", html, flags=re.S)  # which would go on to a view
    page.route(f"**/{name}", lambda route: route.fulfill(body=still, content_type="text/html; charset=utf-8"))
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.goto(f"{site_url}/{name}")
        page.evaluate(axe())
        assert page.evaluate(OPENED, "html") == []
