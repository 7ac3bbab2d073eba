"""The site under a finger, in Chromium: taps, drags and swipes as a touch screen sends them."""

import re

import pytest

from conftest import PHONE, READY, SITE
from test_firefox import CONTROL, FIRST, PICTURE

CHAPTERS = [p.name for p in sorted((SITE / "both").glob("*.html")) if "widget-still" in p.read_text("utf-8")]
PATIENCE = 120_000  # milliseconds: a busy machine draws a page rarely
SMALL = """() => [...document.querySelectorAll(".afm-view :is(input, select, button, summary, a)")]
  .map((e) => [e.outerHTML.slice(0, 80), e.getBoundingClientRect()])
  .filter(([, { width, height }]) => width && Math.min(width, height) < 24)
  .map(([html]) => html)"""
MIDDLE = """element => {
  element.scrollIntoView({ block: "center", behavior: "instant" });
  const { x, y, width, height } = element.getBoundingClientRect();
  return [x, y + height / 2, width];
}"""


def drag(page, *places, end="touchEnd"):
    """A finger put down at the first place, moved through the others, and lifted."""
    cdp = page.context.new_cdp_session(page)
    for i, (x, y) in enumerate(places):
        kind = "touchMove" if i else "touchStart"
        cdp.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    cdp.send("Input.dispatchTouchEvent", {"type": end, "touchPoints": []})
    cdp.detach()


def stroke(page, element):
    """Stroke up from the middle of an element, and wait until the page has followed the finger."""
    x, y, width = element.evaluate(MIDDLE)
    before = page.evaluate("scrollY")
    drag(page, *((x + width / 2, y - up) for up in (0, 20, 60, 100, 150)), end="touchCancel")  # no momentum
    page.wait_for_function("before => scrollY > before + 50", arg=before)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_finger_moves_each_widget_and_is_not_caught_in_it(open_page, site_url, chapter):
    page = open_page(**PHONE)
    page.set_default_timeout(PATIENCE)
    page.goto(f"{site_url}/both/{chapter}")
    page.wait_for_function(READY)
    widgets = page.locator(".afm-view")
    for i in range(widgets.count()):
        kind, at_its_end, _ = page.evaluate(f"([i, control]) => ({FIRST})(i, control)", [i, CONTROL])
        control = page.locator("[data-tried]")
        x, y, width = control.evaluate(MIDDLE)
        before = page.evaluate(PICTURE)
        place, other = (0.5, 0.5) if kind == "checkbox" else (0.05, 0.95) if at_its_end else (0.95, 0.05)
        page.touchscreen.tap(x + width * place, y)
        page.wait_for_function(f"before => ({PICTURE})() !== before", arg=before)
        before = page.evaluate(PICTURE)
        if kind == "range":
            drag(page, *((x + width * part, y) for part in (place, 0.5, other)))
        else:
            page.touchscreen.tap(x + width / 2, y)
        page.wait_for_function(f"before => ({PICTURE})() !== before", arg=before)
        stroke(page, control)
    assert page.evaluate(SMALL) == [] == page.log.console


def test_a_question_is_answered_by_tapping(open_page, site_url):
    page = open_page(**PHONE)
    page.set_default_timeout(PATIENCE)
    page.goto(f"{site_url}/both/02_derivation.html")
    page.locator(".question > ol").first.scroll_into_view_if_needed()  # only then it is a form
    question = page.locator(".question:has([type=radio])").first
    right = int(question.locator("[data-answer]").get_attribute("data-answer"))
    question.locator("label").nth(right - 1).tap()
    question.locator("[type=submit]").tap()
    question.get_by_role("status").filter(has_text=re.compile(r"^✓ (对了。|Right\.)")).wait_for()


def test_the_sidebars_open_and_close_by_tapping(open_page, site_url):
    page = open_page(**PHONE)
    page.set_default_timeout(PATIENCE)
    page.goto(f"{site_url}/en/02_derivation.html")
    for opens, sidebar in (
        (".primary-toggle", "#pst-primary-sidebar-modal"),
        (".secondary-toggle", "#pst-secondary-sidebar-modal"),
    ):
        dialog = page.locator(sidebar)
        assert not dialog.is_visible()
        page.locator(f"button{opens}").filter(visible=True).first.tap()
        dialog.wait_for(state="visible")
        page.touchscreen.tap(358 if "primary" in opens else 2, 400)  # beside it
        dialog.wait_for(state="hidden")
