"""What all widgets keep to in a page: a step of a slider does little, and a change of language loses nothing."""

import re

import pytest

from conftest import READY, ROOT

# Each page with sliders, and the most records of changes that one step of any of its sliders may leave.
PAGES = {
    "01_qkv_intuition": 90,
    "02_derivation": 130,
    "03_scaling_variance": 40,
    "04_softmax_gradient": 110,
    "05_masks": 150,
    "07_rnn_to_attention": 90,
    "08_cost_and_memory": 40,
    "09_real_heads": 330,
}
OBSERVED = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"  # what is in sight is known
STEP = (ROOT / "tests" / "seen_in_a_step.js").read_text("utf-8")


@pytest.mark.parametrize("chapter", PAGES)
def test_a_step_of_a_slider_changes_what_differs_and_reads_no_layout(open_widget, chapter):
    high = {"width": 1300, "height": 3000}  # all of a widget is in sight
    page, widgets = open_widget(f"{chapter}.html", ".attn-widget:has(input[type=range])", "both", viewport=high)
    assert widgets.count() >= 1
    for widget in widgets.all():
        widget.scroll_into_view_if_needed()
        page.evaluate(OBSERVED)
        seen = widget.evaluate(STEP)
        assert seen["reads"] == [], "a layout that is read after a change is computed at once"
        assert len(seen["timers"]) <= 1, "one timer waits for the end of a movement, not one for each step"
        assert seen["built"] == [], "elements stay, only their texts and attributes change"
        assert seen["idle"] == [], "what stays the same is not written again"
        assert 0 < seen["most"] <= PAGES[chapter]
    assert page.log.console == []


TRACED = """(widget) => ({
  pictures: [...widget.querySelectorAll("figure")].map((figure) =>
    [...figure.querySelectorAll("polygon")].map((e) => e.getAttribute("points")).join()),
  table: widget.querySelector("table").textContent,
})"""
MOVED = f"""(widget) => {{
  const input = widget.querySelector("input[type=range]");
  input.stepUp();
  input.dispatchEvent(new Event("input", {{ bubbles: true }}));
  return ({TRACED})(widget); // at once: a while after its last step the movement ends by itself
}}"""


def test_what_is_out_of_sight_is_drawn_when_the_movement_ends_or_when_it_comes_near(open_widget):
    page, widget = open_widget("02_derivation.html", ".attn-tracer", viewport={"width": 1300, "height": 700})
    slider, table = widget.get_by_role("slider").first, widget.locator("table")
    slider.evaluate("(e) => scrollTo(0, e.getBoundingClientRect().top + scrollY - 100)")
    page.evaluate(OBSERVED)
    first = widget.evaluate(TRACED)
    moving = widget.evaluate(MOVED)
    assert moving["pictures"][0] != first["pictures"][0] and moving["table"] == first["table"]
    page.wait_for_function("([table, old]) => table.textContent !== old", arg=[table.element_handle(), first["table"]])

    rested = widget.evaluate(TRACED)
    assert rested["pictures"][:2] == moving["pictures"][:2] and rested["pictures"][5] != moving["pictures"][5]
    assert widget.evaluate(MOVED)["table"] == rested["table"]
    slider.dispatch_event("change")
    ended = widget.evaluate(TRACED)
    assert ended["table"] != rested["table"] and ended["pictures"][5] != rested["pictures"][5]

    table.scroll_into_view_if_needed()
    page.evaluate(OBSERVED)
    assert widget.evaluate(MOVED)["table"] != ended["table"], "now it is in sight"


def test_a_moved_widget_is_found_as_it_was_in_the_other_language(open_widget):
    page, widget = open_widget("08_cost_and_memory.html", ".attn-cost", "en")
    n, told = widget.get_by_role("slider"), ".attn-verdict"
    first = n.input_value()
    n.press("End")
    widget.get_by_label(re.compile("by rows")).check()
    for view, words in (("zh", "一次只存一个头"), ("both", "By rows"), ("en", "By rows")):
        page.locator(f'.lang-switch a[data-lang="{view}"]').first.click()
        page.wait_for_url(f"**/{view}/**")
        page.wait_for_function(READY)
        assert n.get_attribute("aria-valuetext") == "131072"
        assert words in widget.locator(told).inner_text()
    widget.get_by_role("button", name="Reset").click()
    assert n.input_value() == first, "where the page began, not where the language was changed"
    n.press("End")
    page.reload()
    page.wait_for_function(READY)
    assert n.input_value() == first, "who loads the page again begins again"
    assert page.log.console == []
