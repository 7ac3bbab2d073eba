"""The search engine in its chapter, in a real browser."""

import re
from functools import partial

import numpy as np
import pytest

from attention_widgets import SearchEngine
from attention_widgets.search_engine import first_queries
from conftest import ROOT

CHAPTER = "01_qkv_intuition.html"
SEEN = (ROOT / "tests" / "seen_in_the_search_engine.js").read_text("utf-8")
PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
HAN = re.compile("[\u3400-\u9fff]")


@pytest.fixture
def engine(open_widget):
    """engine(view, **context options) -> the page and its search engine."""
    return partial(open_widget, CHAPTER, ".attn-search-engine")


def column(widget, number):
    """Numbers in a column of the table: 1 score, 2 scaled score, 3 weight."""
    texts = widget.locator(f"tbody td:nth-of-type({number})").all_text_contents()
    return [float(text.replace("−", "-")) for text in texts]


def output(widget):
    """The output as a screen reader is told it."""
    told = widget.locator("svg desc").nth(2).text_content()
    return [float(x.replace("−", "-")) for x in re.search(r"z = \[(.*?), (.*?)\]", told).groups()]


def assert_shows(widget, expected):
    """Table, bars, arrows and marks say what this SearchEngine computes."""
    np.testing.assert_allclose(column(widget, 1), expected.scores, atol=5.1e-5)
    np.testing.assert_allclose(column(widget, 2), expected.scores / np.sqrt(2), atol=5.1e-5)
    np.testing.assert_allclose(column(widget, 3), expected.weights, atol=5.1e-5)
    np.testing.assert_allclose(output(widget), expected.output, atol=5.1e-5)
    seen, q, K = widget.evaluate(SEEN), np.array(expected.query), np.array(expected.K)
    np.testing.assert_allclose(seen["keys"], K, atol=1e-6)
    np.testing.assert_allclose(seen["handle"], q, atol=1e-6)
    if q.any():
        np.testing.assert_allclose(seen["query"], q, atol=1e-6)
        np.testing.assert_allclose(seen["starts"], np.zeros((len(K) + 1, 2)), atol=1e-6)
        np.testing.assert_allclose(seen["feet"], np.outer(K @ q / (q @ q), q), atol=1e-6)
    else:
        assert seen["query"] == "" and seen["feet"] == []
    np.testing.assert_allclose(seen["bars"], [[0, a] for a in expected.weights], atol=1e-6)
    V = expected.K if expected.tied else expected.V
    np.testing.assert_allclose(seen["values"], V, atol=1e-6)
    np.testing.assert_allclose(seen["output"], expected.output, atol=1e-6)
    widths, ends = zip(*seen["bands"], strict=True)
    np.testing.assert_allclose(np.array(widths) / sum(widths), expected.weights, atol=1e-6)
    np.testing.assert_allclose(ends, [[expected.output, v] for v in V], atol=1e-6)


def drag(page, widget, to):
    """Drag the query's handle to a point of the plane."""
    svg, handle = widget.locator("svg").first, widget.locator(".attn-handle")
    svg.scroll_into_view_if_needed()
    unit = svg.bounding_box()["width"] / 346 * 50
    box, (x, y) = handle.bounding_box(), widget.evaluate(SEEN)["handle"]
    left, top = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(left + 6, top + 4)  # not taken in the middle
    page.mouse.down()
    page.mouse.move(left + 6 + (to[0] - x) * unit, top + 4 - (to[1] - y) * unit, steps=8)
    page.mouse.up()


def test_each_query_shows_what_python_computes(engine):
    page, widget = engine()
    for i, query in enumerate(first_queries()):
        widget.locator("select").first.select_option(index=i)
        expected = SearchEngine()
        expected.query = query["query"]
        assert_shows(widget, expected)
    assert page.log.console == []


def test_a_drag_of_the_arrow_head_moves_sliders_weights_and_output(engine):
    page, widget = engine()
    before = widget.locator(".attn-handle").bounding_box()
    drag(page, widget, (-1.2, 2.05))
    after = widget.locator(".attn-handle").bounding_box()
    assert after["x"] < before["x"] and after["y"] < before["y"], "to the left and up"
    expected = SearchEngine()
    expected.query = [-1.2, 2.05]
    assert_shows(widget, expected)
    assert [float(s.input_value()) for s in widget.locator("input[type=range]").all()[:2]] == [-1.2, 2.05]
    assert widget.locator("select").first.evaluate("s => s.selectedOptions[0].textContent") == "moved by you"
    drag(page, widget, (0, 0))
    expected.query = [0, 0]
    assert_shows(widget, expected)
    drag(page, widget, (9, -9))  # it stays in the plane
    expected.query = [3, -3]
    assert_shows(widget, expected)


def test_a_drag_elsewhere_moves_nothing(engine):
    page, widget = engine()
    svg, before = widget.locator("svg").first, widget.inner_html()
    svg.scroll_into_view_if_needed()
    box = svg.bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 250)
    page.mouse.down()
    page.mouse.move(box["x"] + 160, box["y"] + 150, steps=4)
    page.mouse.up()
    assert widget.inner_html() == before


def test_a_finger_drags_the_arrow_head_and_scrolls_beside_it(engine):
    page, widget = engine(**PHONE)
    touch = page.context.new_cdp_session(page)
    widget.locator("svg").first.scroll_into_view_if_needed()

    def swipe(x, y, dx, dy):
        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        for step in range(1, 11):
            point = {"x": x + dx * step / 10, "y": y + dy * step / 10}
            touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    box, scrolled = widget.locator(".attn-handle").bounding_box(), page.evaluate("scrollY")
    assert min(box["width"], box["height"]) >= 24
    swipe(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, -40, -60)
    x, y = widget.evaluate(SEEN)["handle"]
    assert x < 1 and y > 1 and page.evaluate("scrollY") == scrolled
    box = widget.locator("svg").first.bounding_box()
    swipe(box["x"] + 60, box["y"] + box["height"] - 90, 0, -80)
    page.wait_for_function(f"() => scrollY > {scrolled}")
    assert widget.evaluate(SEEN)["handle"] == [x, y]


def test_a_key_moves_weights_and_output_a_value_the_output_alone(engine):
    page, widget = engine()
    widget.locator("select").first.select_option(index=2)  # a query about both topics
    widget.locator("select").nth(1).select_option(index=3)
    expected, sliders = SearchEngine(), widget.locator("input[type=range]")
    expected.query = first_queries()[2]["query"]
    for i, shift in ((2, -0.1), (3, 0.1), (4, 0.1), (5, -0.1)):  # two of the key, two of the value
        weights, z = column(widget, 3), output(widget)
        sliders.nth(i).focus()
        page.keyboard.press("ArrowRight" if shift > 0 else "ArrowLeft")
        rows = [list(row) for row in (expected.K if i < 4 else expected.V)]
        rows[3][i % 2] = round(rows[3][i % 2] + shift, 9)
        setattr(expected, "K" if i < 4 else "V", rows)
        assert_shows(widget, expected)
        assert (column(widget, 3) != weights) == (i < 4) and output(widget) != z


def test_keys_as_values_and_reset(engine):
    page, widget = engine()
    page_list, switch, values = (
        widget.locator("select").nth(1),
        widget.get_by_role("checkbox"),
        widget.locator("fieldset").nth(2),
    )
    before = widget.inner_html()
    page_list.select_option(index=1)
    switch.check()
    expected = SearchEngine()
    expected.tied = True
    assert_shows(widget, expected)
    read = widget.locator("svg").nth(2)
    assert "cooking" in read.text_content() and "difficulty" not in read.text_content()
    assert all(slider.is_disabled() for slider in values.locator("input").all())
    widget.locator("input[type=range]").nth(2).press("End")  # a key moves the output too
    expected.K = [expected.K[0], [3, expected.K[1][1]], *expected.K[2:]]
    assert_shows(widget, expected)
    page_list.select_option(index=0)
    widget.get_by_role("button", name="Reset").click()
    assert_shows(widget, SearchEngine())
    told = re.compile(r'<p class="attn-told".*')
    assert not switch.is_checked() and told.sub("", widget.inner_html()) == told.sub("", before)


def test_hull_is_drawn_around_the_values(engine):
    page, widget = engine()
    assert {tuple(np.round(p, 6)) for p in widget.evaluate(SEEN)["hull"]} == {tuple(v) for v in SearchEngine().V}
    for i, x in ((4, "1"), (5, "0")):  # the value of A goes to a place among the others
        widget.locator("input[type=range]").nth(i).fill(x)
    assert len(widget.evaluate(SEEN)["hull"]) == 3


def test_a_movement_is_announced_once_when_it_is_finished(engine):
    page, widget = engine()
    height = widget.bounding_box()["height"]
    page.evaluate("""() => {
      window.told = [];
      const region = document.querySelector(".attn-search-engine .attn-told");
      new MutationObserver(() => told.push(region.textContent)).observe(region, { childList: true, subtree: true });
    }""")
    drag(page, widget, (0.5, -1))
    expected = SearchEngine()
    expected.query = [0.5, -1]
    (told,) = page.evaluate("told")
    assert f"A {expected.weights[0]:.4f}" in told and "output: z = [" in told
    widget.locator("input[type=range]").first.press("ArrowRight")
    assert len(page.evaluate("told")) == 2
    assert widget.bounding_box()["height"] == height, "the page moves under the reader's hand"


def test_pictures_tell_a_screen_reader_what_they_show(engine):
    page, widget = engine()
    widget.locator("input[type=range]").nth(1).press("Home")
    match, weights, read = (
        page.locator("#" + svg.get_attribute("aria-describedby")).text_content() for svg in widget.locator("svg").all()
    )
    assert match.startswith("q = [1.5000, −3.0000]; A [2.0000, 0.4000], B [")
    assert re.fullmatch(r"A \d\.\d{4}, B <0\.0001|A .*, B .*, C .*, D .*", weights)
    assert read.startswith("z = [") and "; A [−1.5000, 1.5000]" in read
    for control in widget.locator("input, select").all():
        assert page.locator(f'label[for="{control.get_attribute("id")}"]').inner_text()


@pytest.mark.parametrize("view, has_zh, has_en", [("zh", True, False), ("en", False, True), ("both", True, True)])
def test_it_speaks_the_language_of_the_page(engine, view, has_zh, has_en):
    page, widget = engine(view)
    words = widget.text_content()
    assert bool(HAN.search(words)) == has_zh
    assert bool(re.search("weight|cooking|tutorial", words)) == has_en


def test_controls_are_large_enough_for_a_finger(engine):
    page, widget = engine(**PHONE)
    sizes = [e.bounding_box() for e in widget.locator("input, select, button").all()]
    assert min(min(size["width"], size["height"]) for size in sizes) >= 24


@pytest.mark.parametrize("view", ["zh", "en", "both"])
def test_without_javascript_there_is_a_still_picture(open_page, site_url, view):
    page = open_page(java_script_enabled=False)
    page.goto(f"{site_url}/{view}/{CHAPTER}")
    still = page.locator(".widget-still", has_text="Σ aⱼ vⱼ").first
    title = still.locator("title").text_content()
    assert still.is_visible() and f"{SearchEngine().weights[0]:.4f}" in still.text_content()
    assert bool(HAN.search(title)) == (view != "en") and ("recipes" in title) == (view != "zh")
