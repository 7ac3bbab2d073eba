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
STEP = (ROOT / "tests" / "seen_in_a_step.js").read_text("utf-8")


@pytest.mark.parametrize("chapter", PAGES)
def test_a_step_of_a_slider_changes_what_differs_and_reads_no_layout(open_widget, chapter):
    page, widgets = open_widget(f"{chapter}.html", ".attn-widget:has(input[type=range])", "both")
    assert widgets.count() >= 1
    for widget in widgets.all():
        seen = widget.evaluate(STEP)
        assert seen["reads"] == [], "a layout that is read after a change is computed at once"
        assert len(seen["timers"]) <= 1, "one timer waits for the end of a movement, not one for each step"
        assert seen["built"] == [], "elements stay, only their texts and attributes change"
        assert seen["idle"] == [], "what stays the same is not written again"
        assert 0 < seen["most"] <= PAGES[chapter]
    assert page.log.console == []


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
