"""The softmax Jacobian: its numbers are derivatives and NumPy's, and Python, JavaScript and the page agree."""

import math
import re
import xml.etree.ElementTree as ET
from functools import partial

import numpy as np
import pytest

import attention_mechanism as am
from attention_widgets import Misfit, SoftmaxJacobian, softmax_jacobian
from bilingual import LANGS
from conftest import ROOT, run

CHAPTER = "04_softmax_gradient.html"
HAN = re.compile("[\u3400-\u9fff]")
FIT = (ROOT / "tests" / "seen_to_fit.js").read_text("utf-8")
ESM = SoftmaxJacobian._esm
FIRST = [2.0, 1.0, 0.0, -1.0]


def random_states(n=200):
    """Scores, a temperature and the key whose score is raised."""
    rng = np.random.default_rng(4)
    for _ in range(n):
        keys = int(rng.integers(2, 7))
        scores = rng.uniform(-6, 6, keys).round(2)
        yield scores.tolist(), float(10 ** rng.uniform(-1, 1)), int(rng.integers(keys))


# ---------------------------------------------------------------- mathematics
def test_javascript_computes_what_numpy_computes():
    states = list(random_states())
    script = "given.map(([s, T, j]) => [m.weigh(s, T), m.jacobian(m.weigh(s, T)), m.norm(m.jacobian(m.weigh(s, T)))])"
    for (scores, T, _), (a, J, norm) in zip(states, run(ESM, script, states), strict=True):
        expected = am.softmax(np.array(scores) / T)
        np.testing.assert_allclose(a, expected, atol=1e-15)
        np.testing.assert_allclose(J, am.softmax_jacobian(expected), atol=1e-15)
        assert norm == pytest.approx(np.linalg.norm(am.softmax_jacobian(expected)), abs=1e-15)


@pytest.mark.parametrize("T", [0.5, 1, 4])
def test_it_is_the_derivative_by_score_over_temperature(T):
    scores, h = np.array(FIRST), 1e-6
    J = np.array(run(ESM, "m.jacobian(m.weigh(...given))", [FIRST, T]))
    for j, unit in enumerate(np.eye(4)):
        by_input = (am.softmax(scores / T + h * unit) - am.softmax(scores / T - h * unit)) / (2 * h)
        by_score = (am.softmax((scores + h * unit) / T) - am.softmax((scores - h * unit) / T)) / (2 * h)
        np.testing.assert_allclose(J[:, j], by_input, atol=1e-9)
        np.testing.assert_allclose(J[:, j] / T, by_score, atol=1e-9)
    np.testing.assert_allclose(SoftmaxJacobian(FIRST, T).jacobian, J, atol=1e-15)


def test_the_answer_to_a_raised_score():
    states = list(random_states())
    for (scores, T, j), got in zip(states, run(ESM, "given.map((g) => m.respond(...g))", states), strict=True):
        raised = np.array(scores)
        before = am.softmax(raised / T)
        raised[j] += 0.1
        np.testing.assert_allclose(got["real"], am.softmax(raised / T) - before, atol=1e-14)
        np.testing.assert_allclose(got["expected"], am.softmax_jacobian(before)[:, j] * 0.1 / T, atol=1e-14)


@pytest.mark.parametrize("n", range(2, 7))
def test_size_is_between_0_and_one_half(n):
    """The sum of a² is at most the root of that of a³, so ‖J‖² ≤ x − x² with x = Σ a², at most 1/4."""
    equal, hot, halves = [0.0] * n, [6.0] + [-6.0] * (n - 1), [6.0, 6.0] + [-6.0] * (n - 2)
    assert SoftmaxJacobian(equal).size == pytest.approx(math.sqrt(n - 1) / n)
    assert SoftmaxJacobian(hot, 0.1).size == pytest.approx(0, abs=1e-12)
    assert SoftmaxJacobian(halves, 0.1).size == pytest.approx(0.5)
    rows = np.random.default_rng(n).dirichlet(np.full(n, 0.5), size=2000)
    sizes = run(ESM, "given.map((a) => m.norm(m.jacobian(a)))", rows.tolist())
    assert 0.45 < max(sizes) <= 0.5
    entries = np.abs(am.softmax_jacobian(rows))
    assert entries.max() <= 0.25, "the scale of colours and arrows"


def test_both_languages_of_the_code_agree_on_the_ends():
    reach, temperatures, rise = run(ESM, "[m.REACH, m.TEMPERATURES, m.RISE]")
    assert reach == softmax_jacobian.REACH and rise == 0.1
    assert temperatures[0] == softmax_jacobian.COLDEST and temperatures[-1] == softmax_jacobian.HOTTEST
    steps = np.diff(np.log(temperatures))
    assert 1 in temperatures and steps.max() < 0.26 and steps.min() > 0.2, "even on a logarithmic scale"


@pytest.mark.parametrize("state, zh, en", [
    ([FIRST, 1, 0], "把 s₀ 提高 0.1：.*约变化 .0.0229，实际变化 .0.0226", "Raise s₀ by 0.1: .* .0.0229; .* .0.0226"),
    ([FIRST, 2, 3], "把 s₃ 提高 0.1：.*约变化 .0.0046，", "Raise s₃ by 0.1: .* about .0.0046;"),
    ([[6, -6], 0.1, 1], "约变化 0.0000，实际变化 0.0000", "about 0.0000; .* by 0.0000\\."),
])  # fmt: skip
def test_the_sentence(state, zh, en):
    said = run(ESM, "m.verdict({ scores: given[0], temperature: given[1], raised: given[2] })", state)
    assert re.search(zh, said[0]) and re.search(en, said[1])


# ---------------------------------------------------------------- the traits
def test_the_page_moves_python():
    widget = SoftmaxJacobian()
    widget.set_state({"scores": [0, 0, 0, 0], "temperature": 2, "raised": 3})
    np.testing.assert_allclose(widget.weights, [0.25] * 4)
    np.testing.assert_allclose(widget.jacobian, np.eye(4) / 4 - 1 / 16)


@pytest.mark.parametrize("given, words", [
    ({"scores": [1]}, "there are 1 scores; give 2 to 6"),
    ({"scores": [0] * 7}, "there are 7 scores"),
    ({"scores": [1, 6.5]}, "from −6 to 6"),
    ({"scores": [1, math.nan]}, "from −6 to 6"),
    ({"scores": [[1, 2]]}, "scores must be a list of numbers"),
    ({"scores": "ab"}, "scores must be a list of numbers, but it is 'ab'"),
    ({"scores": None}, "scores must be a list of numbers"),
    ({"temperature": 0}, "temperature is 0; it must lie from 0.1 to 10"),
    ({"temperature": math.nan}, "it must lie from 0.1 to 10"),
    ({"temperature": [1]}, "temperature must be one number"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(given, words):
    with pytest.raises(Misfit, match=words):
        SoftmaxJacobian(**given)


@pytest.mark.parametrize("name, value, words", [
    ("scores", [1.0, 2.0], "there are 2 scores, but 4 keys"),
    ("scores", [1.0, 2.0, 3.0, 7.0], "from −6 to 6"),
    ("temperature", 11, "it must lie"),
    ("raised", 4, "no score 4; the 4 scores are counted from 0"),
    ("raised", -1, "no score -1"),
])  # fmt: skip
def test_a_change_that_does_not_fit_is_taken_back(name, value, words):
    widget = SoftmaxJacobian()
    before = repr(widget), widget.raised
    with pytest.raises(Misfit, match=words):
        setattr(widget, name, value)
    assert (repr(widget), widget.raised) == before


def test_repr_is_stable():
    expected = "SoftmaxJacobian(scores=[2, 1, 0, -1], temperature=1, weights=[0.6439, 0.2369, 0.0871, 0.0321])"
    assert repr(SoftmaxJacobian()) == repr(SoftmaxJacobian()) == expected


def test_still_says_it_without_javascript():
    root = ET.fromstring(SoftmaxJacobian([1, 0], 2).still)
    space = "{http://www.w3.org/2000/svg}"
    zh, en = root.find(f"{space}title").text.split(" | ")
    assert HAN.search(zh) and not HAN.search(en)
    texts = [text.text for text in root.iter(f"{space}text")]
    assert {"a[0]", "0.6225", "a[1]", "0.3775", "0.235", "−0.235"} <= set(texts)  # 1 over 1 + 1/√e, and a product
    assert not HAN.search("".join(texts))


# ---------------------------------------------------------------- the page
@pytest.fixture
def jacobian(open_widget):
    """jacobian(view, **context options) -> the page and the widget in it."""
    return partial(open_widget, CHAPTER, ".attn-jacobian")


def numbers(texts):
    ends = {"<0.0001": 0, ">0.9999": 1}
    return [float(ends.get(text, text.replace("−", "-"))) for text in texts]


SEEN = """(widget) => {
  const [weights, matrix, arrows] = widget.querySelectorAll("svg"), n = widget.querySelectorAll("tbody tr").length;
  const at = (node, name) => Number(node.getAttribute(name));
  const all = (svg, selector) => [...svg.querySelectorAll(selector)];
  const along = (svg) => {
    const ticks = all(svg, ".attn-grid + .attn-tick").map((t) => [at(t, "x"), Number(t.textContent)]);
    const [[x0, v0], [x1, v1]] = [ticks[0], ticks.at(-1)];
    return (x) => v0 + ((x - x0) / (x1 - x0)) * (v1 - v0);
  };
  const bar = (svg, rect) => [at(rect, "x"), at(rect, "x") + at(rect, "width")].map(along(svg));
  const lines = all(arrows, "line").map((line) => at(line, "y1")), unit = (lines[0] - lines[2]) / 0.5;
  const tip = (d) => { // the head's foremost point: the stem's length and the head's, along the first two moves
    const [, start, stem, head] = d.match(/^M[-.\\d]+ ([-.\\d]+)v([-.\\de]+)h-5l9 ([-.\\de]+)/).map(Number);
    return (start + stem + head - lines[1]) / unit;
  };
  const cells = all(matrix, ".attn-cell"), frame = matrix.querySelector(".attn-frame");
  return {
    weights: all(weights, "rect").map((rect) => bar(weights, rect)),
    entries: all(matrix, ".attn-picked text").map((text) => text.textContent),
    solid: cells.map((cell) => cell.classList.contains("attn-a")),
    strength: cells.map((cell) => at(cell, "fill-opacity")),
    sums: all(matrix, ".attn-tick[text-anchor=end]").map((t) => t.textContent).filter((t) => /^\\d/.test(t)),
    framed: cells.map((cell) => at(cell, "x") > at(frame, "x") && at(cell, "x") < at(frame, "x") + at(frame, "width")),
    norm: [...bar(matrix, all(matrix, "rect.attn-a").at(-1)), Number(matrix.querySelector(".attn-number").textContent)],
    arrows: all(arrows, "path").map((path) => tip(path.getAttribute("d"))),
  };
}"""


def assert_shows(widget, scores, T, j):
    """Table, bars, matrix and arrows say what NumPy computes."""
    a = am.softmax(np.array(scores) / T)
    J, n = am.softmax_jacobian(a), len(scores)
    raised = am.softmax((np.array(scores) + 0.1 * np.eye(n)[j]) / T)
    columns = [a, J[:, j], J[:, j] * 0.1 / T, raised - a]
    for k, expected in enumerate(columns, 1):
        shown = numbers(widget.locator(f"tbody td:nth-of-type({k})").all_text_contents())
        np.testing.assert_allclose(shown, expected, atol=5.1e-5)
    assert widget.locator("tfoot td").all_text_contents() == ["1.0000", "0.0000", "0.0000", "0.0000"]
    seen = widget.evaluate(SEEN)
    np.testing.assert_allclose(seen["weights"], [[0, x] for x in a], atol=1e-6)
    np.testing.assert_allclose(numbers(seen["entries"]), J.ravel(), atol=5.1e-4)
    assert seen["solid"] == (J > 0).ravel().tolist() and seen["sums"] == ["0.000"] * n
    np.testing.assert_allclose(seen["strength"], 0.35 * abs(J.ravel()) / 0.25, atol=1e-3)
    assert seen["framed"] == [column == j for _ in range(n) for column in range(n)]
    np.testing.assert_allclose(seen["norm"], [0, np.linalg.norm(J), np.linalg.norm(J)], atol=5.1e-5)
    np.testing.assert_allclose(seen["arrows"], -J[:, j], atol=1e-6)  # down the screen


def test_sliders_list_and_click_show_what_numpy_computes(jacobian):
    page, widget = jacobian()
    sliders = widget.locator("input[type=range]")
    assert_shows(widget, FIRST, 1, 0)
    sliders.nth(3).fill("1.37")
    sliders.nth(0).fill("-0.5")
    assert_shows(widget, [-0.5, 1, 0, 1.37], 1, 0)
    sliders.nth(4).press("ArrowRight")
    assert_shows(widget, [-0.5, 1, 0, 1.37], 1.25, 0)
    sliders.nth(4).press("End")
    assert sliders.nth(4).get_attribute("aria-valuetext") == "10"
    assert_shows(widget, [-0.5, 1, 0, 1.37], 10, 0)
    widget.get_by_role("combobox").select_option("2")
    assert_shows(widget, [-0.5, 1, 0, 1.37], 10, 2)
    widget.locator(".attn-picked").nth(4 + 3).click()  # second row, last column
    assert_shows(widget, [-0.5, 1, 0, 1.37], 10, 3)
    assert widget.get_by_role("combobox").input_value() == "3"
    told = widget.locator(".attn-told").text_content()
    assert told.startswith("Raise s₃ by 0.1") and told == widget.locator(".attn-verdict").text_content().strip()
    sliders.nth(4).press("Home")
    assert_shows(widget, [-0.5, 1, 0, 1.37], 0.1, 3)
    widget.get_by_role("button", name="Reset").click()
    assert_shows(widget, FIRST, 1, 0)
    assert page.log.console == []


def test_pictures_tell_a_screen_reader_what_they_show(jacobian):
    page, widget = jacobian()
    widget.locator("input[type=range]").nth(0).fill("1")
    weights, matrix, arrows = (
        page.locator("#" + svg.get_attribute("aria-describedby")).text_content() for svg in widget.locator("svg").all()
    )
    assert weights == "a₀ 0.3995, a₁ 0.3995, a₂ 0.1470, a₃ 0.0541"
    assert matrix.startswith("a₀: 0.240, −0.160, −0.059, −0.022; a₁: −0.160, 0.240")
    assert matrix.endswith(f"‖J‖ = {SoftmaxJacobian([1, 1, 0, -1]).size:.4f}")
    assert arrows == "s₀: a₀ +0.240, a₁ −0.160, a₂ −0.059, a₃ −0.022"
    for control in widget.locator("input, select").all():
        assert page.locator(f'label[for="{control.get_attribute("id")}"]').inner_text()
        assert control.get_attribute("data-lm-suppress-shortcuts") == "true"


@pytest.mark.parametrize("view", ["zh", "en", "both"])
@pytest.mark.parametrize("width", [360, 1300])
def test_it_fits_and_the_page_stays(jacobian, view, width):
    page, widget = jacobian(view, viewport={"width": width, "height": 740})
    heights = {widget.bounding_box()["height"]}
    for slider in widget.locator("input[type=range]").all():
        for key in ("Home", "End"):
            slider.press(key)
            heights.add(widget.bounding_box()["height"])
    assert len(heights) == 1 and page.evaluate("document.documentElement.scrollWidth") == width
    fit = widget.evaluate(FIT)
    assert fit["out"] == [] and fit["least"] >= 24
    words = widget.inner_text() + "".join(widget.locator("svg title, svg desc, .attn-told").all_text_contents())
    assert bool(HAN.search(words)) == (view != "en") and ("derivative" in words) == (view != "zh")
    for node in widget.locator("[lang]").all():
        assert bool(HAN.search(node.text_content())) == (node.get_attribute("lang") == LANGS["zh"])


@pytest.mark.parametrize("view", ["zh", "en", "both"])
def test_without_javascript_there_is_a_still_picture(open_page, site_url, view):
    page = open_page(java_script_enabled=False)
    page.goto(f"{site_url}/{view}/{CHAPTER}")
    still = page.locator(".widget-still svg", has_text="diag(a)")
    assert still.is_visible() and "0.229" in still.text_content()
    title = still.locator("title").text_content()
    assert bool(HAN.search(title)) == (view != "en") and ("Jacobian" in title) == (view != "zh")
