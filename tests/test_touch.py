"""The site under a finger, in Chromium: taps, drags and swipes as a touch screen sends them."""

import re

import pytest
from test_firefox import CONTROL, FIRST, PICTURE

from conftest import READY, SITE

PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
CHAPTERS = [p.name for p in sorted((SITE / "both").glob("*.html")) if "widget-still" in p.read_text("utf-8")]
SMALL = """() => [...document.querySelectorAll(".afm-view :is(input, select, button, summary, a)")]
  .map((e) => [e.outerHTML.slice(0, 80), e.getBoundingClientRect()])
  .filter(([, { width, height }]) => width && Math.min(width, height) < 24)
  .map(([html]) => html)"""
MIDDLE = """element => {
  element.scrollIntoView({ block: "center", behavior: "instant" });
  const { x, y, width, height } = element.getBoundingClientRect();
  return [x, y + height / 2, width];
}"""


def drag(page, y, start, end):
    """A finger put down at x = start, moved to x = end, and lifted."""
    cdp = page.context.new_cdp_session(page)
    for kind, x in ("touchStart", start), ("touchMove", (start + end) / 2), ("touchMove", end), ("touchEnd", None):
        points = [] if x is None else [{"x": x, "y": y}]
        cdp.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    cdp.detach()


def swipe(page, element):
    """How far the page moves when a finger strokes up from the middle of an element."""
    x, y, width = element.evaluate(MIDDLE)
    before = page.evaluate("scrollY")
    cdp = page.context.new_cdp_session(page)
    stroke = {"x": x + width / 2, "y": y, "yDistance": -150, "speed": 3000, "gestureSourceType": "touch"}
    cdp.send("Input.synthesizeScrollGesture", stroke)
    cdp.detach()
    return page.evaluate("scrollY") - before


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_finger_moves_each_widget_and_is_not_caught_in_it(open_page, site_url, chapter):
    page = open_page(**PHONE)
    page.goto(f"{site_url}/both/{chapter}")
    page.wait_for_function(READY)
    for i in range(page.locator(".afm-view").count()):
        kind, _, _ = page.evaluate(f"([i, control]) => ({FIRST})(i, control)", [i, CONTROL])
        control = page.locator("[data-tried]")
        x, y, width = control.evaluate(MIDDLE)
        seen = [page.evaluate(PICTURE)]
        page.touchscreen.tap(x + width * (0.5 if kind == "checkbox" else 0.8), y)
        seen.append(page.evaluate(PICTURE))
        if kind == "range":
            drag(page, y, x + width * 0.8, x + width * 0.3)
        else:
            page.touchscreen.tap(x + width / 2, y)
        seen.append(page.evaluate(PICTURE))
        assert seen[0] != seen[1] != seen[2], f"widget {i}"
        picture = page.locator(".afm-view").nth(i).locator("svg, table").first
        assert swipe(page, picture) > 100 and swipe(page, control) > 100, f"widget {i} holds the page"
    assert page.evaluate(SMALL) == [] == page.log.console


def test_a_question_is_answered_by_tapping(open_page, site_url):
    page = open_page(**PHONE)
    page.goto(f"{site_url}/both/02_derivation.html")
    question = page.locator(".question:has([type=radio])").first
    right = int(question.locator("[data-answer]").get_attribute("data-answer"))
    question.locator("label").nth(right - 1).tap()
    question.locator("[type=submit]").tap()
    assert re.match("✓ (对了。|Right.)", question.get_by_role("status").inner_text())


def test_the_sidebars_open_and_close_by_tapping(open_page, site_url):
    page = open_page(**PHONE)
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
