"""The score functions: NumPy's numbers, what the lesson says of them; Python, JavaScript and the page agree."""

import math
import re
import xml.etree.ElementTree as ET
from functools import partial

import numpy as np
import pytest

import attention_mechanism as am
from attention_widgets import Misfit, ScoreFunctions
from attention_widgets.score_functions import FUNCTIONS, LONGEST
from bilingual import LANGS
from conftest import ROOT, run

CHAPTER = "07_rnn_to_attention.html"
HAN = re.compile("[\u3400-\u9fff]")
FIT = (ROOT / "tests" / "seen_to_fit.js").read_text("utf-8")
ESM = ScoreFunctions._esm
LAYER = {"W_1": [[1, 0], [0, 1]], "W_2": [[1, 0], [0, 1]], "v": [1, -2]}


def random_widgets(n=60):
    """Widgets with random parameters, d_a from 1 to 5, in random places."""
    rng = np.random.default_rng(7)
    for _ in range(n):
        d_a, draw = int(rng.integers(1, 6)), partial(rng.uniform, -3, 3)
        layer = {"W_1": draw((2, d_a)), "W_2": draw((2, d_a)), "v": draw(d_a)}
        widget = ScoreFunctions(draw(2), draw((3, 2)), draw((2, 2)), **layer)
        widget.factor, widget.direction = float(rng.uniform(0, LONGEST)), float(rng.uniform(0, 360))
        widget.identity = bool(rng.integers(2))
        yield widget


def state(widget):
    """What the page gets."""
    return [widget._start, {name: getattr(widget, name) for name in ("factor", "direction", "identity")}]


def by_loops(widget):
    """The scores, one component at a time."""
    s, given, rows = [float(x) for x in widget.s], widget._start, []
    for h in given["h"]:
        dot = s[0] * h[0] + s[1] * h[1]
        W = [[1, 0], [0, 1]] if widget.identity else given["W"]
        general = sum(s[r] * W[r][c] * h[c] for r in (0, 1) for c in (0, 1))
        hidden = [
            math.tanh(sum(s[r] * given["W_1"][r][a] + h[r] * given["W_2"][r][a] for r in (0, 1)))
            for a in range(len(given["v"]))
        ]
        rows.append([dot, dot / 2**0.5, general, sum(x * y for x, y in zip(hidden, given["v"], strict=True))])
    return np.transpose(rows)


# ---------------------------------------------------------------- mathematics
def test_javascript_and_python_compute_what_loops_compute():
    widgets = list(random_widgets())
    seen = run(ESM, "given.map((g) => m.compare(...g))", [state(widget) for widget in widgets])
    for widget, got in zip(widgets, seen, strict=True):
        expected = by_loops(widget)
        np.testing.assert_allclose(widget.scores, expected, atol=1e-12)
        np.testing.assert_allclose(got["s"], widget.s, atol=1e-13)
        np.testing.assert_allclose(got["scores"], expected, atol=1e-12)
        np.testing.assert_allclose(got["weights"], am.softmax(widget.scores), atol=1e-12)


def test_the_four_functions_are_those_of_the_course():
    rng = np.random.default_rng(8)
    s, h, W = rng.normal(size=(1, 4)), rng.normal(size=(5, 3)), rng.normal(size=(4, 3))  # d_s and d_h differ
    W_1, W_2, v = rng.normal(size=(4, 6)), rng.normal(size=(3, 6)), rng.normal(size=6)
    near = partial(np.testing.assert_allclose, atol=1e-14)
    given = [x.tolist() for x in (s[0], h, W, W_1, W_2, v)]
    near(run(ESM, "m.generalScores(...given)", given[:3]), am.general_scores(s, h, W)[0])
    near(run(ESM, "m.additiveScores(...given)", given[:2] + given[3:]), am.additive_scores(s, h, W_1, W_2, v)[0])
    pair = [s[0, :3].tolist(), h.tolist()]
    near(run(ESM, "m.dotScores(...given)", pair), am.dot_scores(s[:, :3], h)[0])
    near(run(ESM, "m.scaledScores(...given)", pair), am.scaled_scores(s[:, :3], h)[0])


def test_no_additive_score_passes_the_bound_and_long_queries_come_close():
    widgets = list(random_widgets())
    bounds = run(ESM, "given.map((v) => m.bound(v))", [widget._start["v"] for widget in widgets])
    for widget, bound in zip(widgets, bounds, strict=True):
        assert np.abs(widget.scores[3]).max() <= widget.bound == pytest.approx(bound, abs=1e-14)
    widget = ScoreFunctions([3, 3], [[3, 3]] * 3, W_1=[[3], [3]], W_2=[[3], [3]], v=[-2])
    np.testing.assert_allclose(widget.scores[3], -2, atol=1e-9)


@pytest.mark.parametrize("x, end", [
    (0, 1), (1, 1), (1.01, 2), (3.5, 4), (4.2, 5), (5.5, 6), (6.1, 8), (9, 10), (10, 10), (10.1, 20), (29, 30),
    (700, 800),
])  # fmt: skip
def test_a_scale_ends_at_a_round_number(x, end):
    assert run(ESM, "m.roundUp(given)", x) == end


# ---------------------------------------------------------------- the lesson of the defaults
def test_products_become_one_hot_and_additive_weights_come_to_rest():
    widget = ScoreFunctions()
    largest = []
    for factor in (0, 1, 2, 5, 10):
        widget.factor = factor
        largest.append(widget.weights.max(axis=1))
    assert (np.diff(largest, axis=0)[:, :3] > 0).all() and (largest[-1][:3] > 0.999).all()
    before, s = widget.weights[3], 20 * np.array([[0.8, 0.6]])
    layer = [widget._start[name] for name in ("W_1", "W_2", "v")]
    after = am.softmax(am.additive_scores(s, widget._start["h"], *layer))[0]
    np.testing.assert_allclose(after, before, atol=5e-4)
    np.testing.assert_allclose(after, 1 / 3, atol=1e-6)  # each tanh is at ±1, whatever the key


def test_at_length_0_the_products_are_uniform_and_the_additive_score_is_not():
    widget = ScoreFunctions()
    widget.factor = 0
    np.testing.assert_allclose(widget.weights[:3], 1 / 3, atol=1e-15)
    assert widget.weights[3].argmax() == 2 and widget.weights[3].max() > 0.5


def test_all_agree_at_the_start_and_three_favour_different_keys_after_a_turn():
    widget = ScoreFunctions()
    assert widget.weights.argmax(axis=1).tolist() == [0, 0, 0, 0]
    widget.direction = 0
    assert widget.weights.argmax(axis=1).tolist() == [0, 0, 1, 2]
    for widget.direction in range(360):
        dot, scaled = np.argsort(widget.scores[:2])
        assert dot.tolist() == scaled.tolist()
    widget.identity = True
    np.testing.assert_allclose(widget.scores[2], widget.scores[0], atol=1e-15)


@pytest.mark.parametrize("changes, zh, en", [
    ({}, "点积 h₀ 0.7533，缩放 h₀ 0.6547，一般形式 h₀ 0.6594，加性 h₀ 0.5287。四种分数看重同一个键",
     "additive h₀ 0.5287. All four favour the same key. The dot scores differ by up to 2.900, the"),
    ({"direction": 0}, "并不都看重同一个键", "general h₁ 0.5741, additive h₂ 0.5320. They do not all favour"),
    ({"direction": 15}, "一般形式 h₀ 0.4787，加性 h₂ 0.4729。四种分数并不都看重",  # two keys in all, and a near tie
     "general h₀ 0.4787, additive h₂ 0.4729. They do not all favour"),
    ({"identity": True}, "W = I：一般形式与点积完全相同", "W = I: general and dot are the same"),
    ({"factor": 0}, "s 的长度为 0：.*都是 0.3333。.*权重最大的是 h₂ 0.5203。点积分数相差 0，加性分数最多相差 1.330",
     "s has length 0: .*weight is 0.3333.*: h₂ 0.5203. The dot scores differ by 0, the additive ones by up to 1.330"),
    ({"factor": 10}, "加性 h₀ ≈ h₁ ≈ h₂ 0.3334。.*加性分数相差不到 0.001，后者不会超出 ±3.5。",
     "dot h₀ >0.9999, .*ones by less than 0.001; these cannot leave ±3.5"),
])  # fmt: skip
def test_the_sentence(changes, zh, en):
    widget = ScoreFunctions()
    widget.set_state(changes)
    said = run(ESM, "m.verdict(...given, m.compare(...given))", state(widget))
    assert re.search(zh, said[0]) and re.search(en, said[1])


# ---------------------------------------------------------------- the traits
def test_the_page_moves_python():
    widget = ScoreFunctions([2, 0])
    widget.set_state({"factor": 1.5, "direction": 90, "identity": True})
    np.testing.assert_allclose(widget.s, [0, 3], atol=1e-15)
    np.testing.assert_allclose(widget.scores[0], [1.5, 3, -3], atol=1e-15)


def test_the_start_is_the_given_query():
    for s in ([0.8, 0.6], [-1, 2], [-3, -0.1], [0, -2], [1e-9, -1e-9]):
        np.testing.assert_allclose(ScoreFunctions(s).s, s, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("given, words", [
    ({"s": [1, 2, 3]}, r"s must be 2 numbers: shape \(2,\), but it has shape \(3,\)"),
    ({"s": [[1, 2]]}, "s must be a list of numbers"),
    ({"s": [0, 0]}, "s is zero and has no direction"),
    ({"s": [4, 0]}, "s is .*must lie from −3 to 3"),
    ({"h": [[1, 2]] * 2}, r"h must be 3 keys of 2 numbers each: shape \(3, 2\), but it has shape \(2, 2\)"),
    ({"h": [[1, 2], [3], [1, 2]]}, "h must be a list of rows"),
    ({"h": [[1, 2], [math.nan, 1], [1, 2]]}, "h is .*must lie from −3 to 3"),
    ({"W": [[1, 2]]}, r"W must be 2 rows of 2 numbers: shape \(2, 2\), but it has shape \(1, 2\)"),
    ({"W_1": [[1, 2], [1, 2]]}, r"W_1 must be 2 rows of 3 numbers, as many as v has: shape \(2, 3\)"),
    (LAYER | {"W_2": [[1], [1]]}, r"W_2 must be 2 rows of 2 numbers, as many as v has: .*\(2, 1\)"),
    ({"v": []}, "v is empty; give it at least one number"),
    ({"v": "abc"}, "v must be a list of numbers, but it is 'abc'"),
    ({"s": ["1", "2"]}, r"s must be a list of numbers, but it is \['1', '2'\]"),
    ({"v": [10**400]}, "v must be a list of numbers, but it is"),
    ({"keys": np.array("abc")}, "keys must be a list of names"),
    ({"keys": "abc"}, "keys must be a list of names"),
    ({"keys": ["a", "b"]}, "keys must be 3 names, one for each row of h"),
    ({"keys": ["a", "b", ""]}, "keys must be 3 names"),
    ({"keys": [1, 2, 3]}, "keys must be 3 names"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        ScoreFunctions(**given)


@pytest.mark.parametrize("name, value", [("factor", -0.1), ("factor", 10.1), ("factor", math.nan), ("direction", 361)])
def test_a_change_that_does_not_fit_is_taken_back(name, value):
    widget = ScoreFunctions()
    before = repr(widget)
    with pytest.raises(Misfit, match=f"{name} is .*; it must lie from 0 to"):
        setattr(widget, name, value)
    assert repr(widget) == before


def test_repr_is_stable():
    expected = "ScoreFunctions(s=[0.8, 0.6], identity=False, dot=[0.7533, 0.2053, 0.0414], scaled=[0.6547, 0.2611, "
    assert repr(ScoreFunctions()) == repr(ScoreFunctions()) and repr(ScoreFunctions()).startswith(expected)


def test_still_says_it_without_javascript():
    widget = ScoreFunctions(**LAYER, keys=["<b>", "x&y", "z"])
    root = ET.fromstring(widget.still)
    space = "{http://www.w3.org/2000/svg}"
    zh, en = root.find(f"{space}title").text.split(" | ")
    assert HAN.search(zh) and not HAN.search(en)
    texts = [text.text for text in root.iter(f"{space}text")]
    assert {"<b>", "x&y", "s W hᵀ", *(f"{a:.4f}" for a in widget.weights.flat)} <= set(texts)
    assert not HAN.search("".join(texts))


# ---------------------------------------------------------------- the page
@pytest.fixture
def scores(open_widget):
    """scores(view, **context options) -> the page and the widget in it."""
    return partial(open_widget, CHAPTER, ".attn-scores")


SEEN = """(widget) => {
  const [disc, ...panels] = widget.querySelectorAll("svg"), at = (node, name) => Number(node.getAttribute(name));
  const number = (node) => Number(node.textContent.replace("−", "-").replace(/[<>]/, ""));
  const all = (svg, selector) => [...svg.querySelectorAll(selector)];
  const column = (svg, x) => all(svg, `text[x="${x}"]:not(.attn-tick)`).map(number);
  const along = ([x0, v0], [x1, v1]) => (x) => v0 + ((x - x0) / (x1 - x0)) * (v1 - v0);
  const ends = (rect) => [at(rect, "x"), at(rect, "x") + at(rect, "width")];
  const panel = (svg) => {
    const ticks = all(svg, ".attn-tick").filter((t) => at(t, "y") > 100).map((t) => [at(t, "x"), number(t)]);
    const [low, zero, high, none, one] = ticks.sort(([a], [b]) => a - b);
    return {
      scores: column(svg, 214), weights: column(svg, 345), zero: zero[1],
      bars: all(svg, "rect.attn-plain").map((rect) => ends(rect).map(along(low, high))),
      shares: all(svg, "rect.attn-a").map((rect) => ends(rect).map(along(none, one))),
      walls: all(svg, ".attn-line-plain").map((line) => along(low, high)(at(line, "x1"))),
      scale: [low[1], high[1]],
    };
  };
  const arrow = (path) => {
    const [length, head] = path.getAttribute("d").match(/H(.*)m(\\S*) /).slice(1).map(Number);
    return [length, Number(path.getAttribute("transform").match(/rotate\\((.*)\\)/)[1]), head];
  };
  return {
    panels: panels.map(panel), rim: at(disc.querySelector("circle"), "r"),
    query: arrow(disc.querySelector(".attn-line-q")), keys: all(disc, ".attn-line-k").map(arrow),
  };
}"""


def assert_shows(widget, expected):
    """Numbers, bars, scales and arrows are those of this ScoreFunctions."""
    seen = widget.evaluate(SEEN)
    for panel, e, a in zip(seen["panels"], expected.scores, expected.weights, strict=True):
        np.testing.assert_allclose(panel["scores"], e, atol=5.01e-4)
        np.testing.assert_allclose(panel["weights"], a, atol=1.01e-4)
        np.testing.assert_allclose(panel["bars"], [sorted((0, x)) for x in e], atol=1e-9)
        np.testing.assert_allclose(panel["shares"], [(0, x) for x in a], atol=1e-9)
        assert panel["scale"] == seen["panels"][0]["scale"] and panel["zero"] == 0
        assert panel["scale"][1] == -panel["scale"][0] >= max(expected.bound, np.abs(expected.scores).max())
    walls = [panel["walls"] for panel in seen["panels"]]
    assert walls[:3] == [[], [], []]
    np.testing.assert_allclose(walls[3], [-expected.bound, expected.bound], atol=1e-9)
    keys = np.array(expected._start["h"])
    unit = seen["keys"][0][0] / np.hypot(*keys[0])
    for (length, turn, _), (x, y) in zip([*seen["keys"], seen["query"]], [*keys, expected.s], strict=True):
        far = np.hypot(x, y) * unit
        assert length == pytest.approx(min(far, seen["rim"]), abs=1e-6)
        assert not far or np.cos(np.radians(turn)) * far == pytest.approx(x * unit, abs=1e-6)
        assert not far or -np.sin(np.radians(turn)) * far == pytest.approx(y * unit, abs=1e-6)
    headless = not expected.factor or seen["query"][0] == seen["rim"]  # a query that runs on is cut off
    assert (seen["query"][2] == 0) == headless


def test_sliders_and_switch_show_what_numpy_computes(scores):
    page, widget = scores()
    factor, direction = widget.locator("input[type=range]").all()
    expected = ScoreFunctions()
    assert_shows(widget, expected)
    for expected.factor, expected.direction in ((1, 0), (0, 0), (0.3, 100), (2.5, 233), (10, 315), (7.7, 360)):
        factor.fill(str(expected.factor))
        direction.fill(str(expected.direction))
        assert_shows(widget, expected)
    widget.get_by_role("checkbox").check()
    expected.identity = True
    assert_shows(widget, expected)
    assert "W = I" in widget.inner_text() and "W = [[0, 1], [1, 0]]" not in widget.inner_text()
    widget.get_by_role("button", name="Reset").click()
    assert_shows(widget, ScoreFunctions())
    assert "W = [[0, 1], [1, 0]]" in widget.inner_text() and page.log.console == []


def test_keys_and_the_mouse_move_the_sliders(scores):
    page, widget = scores(viewport={"width": 1300, "height": 900})
    factor, direction = widget.locator("input[type=range]").all()
    expected = ScoreFunctions()
    factor.press("ArrowRight")
    direction.press("ArrowLeft")
    expected.factor, expected.direction = 1.1, 36
    assert_shows(widget, expected)
    assert (factor.get_attribute("aria-valuetext"), direction.get_attribute("aria-valuetext")) == ("× 1.1", "36°")
    box = factor.bounding_box()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    expected.factor = 5
    assert_shows(widget, expected)
    factor.press("End")
    told = widget.locator(".attn-told").text_content()
    assert "less than 0.001" in told and told == widget.locator(".attn-verdict").text_content().strip()


def test_pictures_tell_a_screen_reader_what_they_show(scores):
    page, widget = scores()
    widget.locator("input[type=range]").nth(1).fill("0")
    titles, descriptions = (
        [page.locator("#" + svg.get_attribute(f"aria-{kind}")).text_content() for svg in widget.locator("svg").all()]
        for kind in ("labelledby", "describedby")
    )
    assert titles == ["query and keys", *(f"{name} score" for name in FUNCTIONS)]
    assert descriptions[0].startswith("s = (1.00, 0.00); |s| = 1.00; h₀ = (1.50, 0.50)")
    assert descriptions[1].startswith("h₀: score 1.500, weight 0.8214; h₁: score −0.500")
    for control in widget.locator("input").all():
        assert page.locator(f'label[for="{control.get_attribute("id")}"]').inner_text()
        assert control.get_attribute("data-lm-suppress-shortcuts") == "true"


@pytest.mark.parametrize("view", ["zh", "en", "both"])
@pytest.mark.parametrize("width", [320, 360, 1300])
def test_it_fits_and_the_page_stays(scores, view, width):
    page, widget = scores(view, viewport={"width": width, "height": 740}, has_touch=width < 500)
    factor, direction = widget.locator("input[type=range]").all()
    heights = {widget.bounding_box()["height"]}
    for turn in ("0", "37", "233"):
        direction.fill(turn)
        for length in ("0", "0.1", "1", "10"):
            factor.fill(length)
            heights.add(widget.bounding_box()["height"])
    switch = widget.get_by_role("checkbox")
    (switch.tap if width < 500 else switch.click)()
    heights.add(widget.bounding_box()["height"])
    assert len(heights) == 1, "the page moves under the reader's hand"
    assert page.evaluate("document.documentElement.scrollWidth") == width
    fit = widget.evaluate(FIT)
    assert fit["out"] == [] and fit["least"] >= 24
    words = widget.inner_text() + "".join(widget.locator("svg title, svg desc, .attn-told").all_text_contents())
    assert bool(HAN.search(words)) == (view != "en") and ("differ" in words) == (view != "zh")
    for node in widget.locator("[lang]").all():
        assert bool(HAN.search(node.text_content())) == (node.get_attribute("lang") == LANGS["zh"])


@pytest.mark.parametrize("view", ["zh", "en", "both"])
def test_without_javascript_there_is_a_still_picture(open_page, site_url, view):
    page = open_page(java_script_enabled=False)
    page.goto(f"{site_url}/{view}/{CHAPTER}")
    still = page.locator(".widget-still svg", has_text="s W hᵀ")
    assert still.is_visible() and "0.5287" in still.text_content()
    title = still.locator("title").text_content()
    assert bool(HAN.search(title)) == (view != "en") and ("four score functions" in title) == (view != "zh")
