"""Gradient paths: the gradients are those of finite differences and of NumPy; Python, JavaScript and the page agree."""

import math
import re
import xml.etree.ElementTree as ET
from functools import partial

import numpy as np
import pytest

import attention_mechanism as am
from attention_widgets import GradientPaths, Misfit, gradient_paths
from bilingual import LANGS
from conftest import ROOT, run

CHAPTER = "04_softmax_gradient.html"
HAN = re.compile("[\u3400-\u9fff]")
FIT = (ROOT / "tests" / "seen_to_fit.js").read_text("utf-8")
ESM = GradientPaths._esm
BACK = "m.backward(given.G, given, m.forward(given).A)"
EYE = [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
KNOWN = {  # of the running example with ones on the diagonal of G
    "dV": [[0.386613, 0.276984], [0.267047, 0.393059], [0.346341, 0.329956]],
    "dA": [[1, 0, 0.5], [0, 1, 0.5], [0, 0, 0]],
    "D": [[0.170193, -0.149488, -0.020705], [-0.154568, 0.173717, -0.019150], [0, 0, 0]],
    "dQ": [[0.047952, -0.063936, 0.012878, 0.015984], [-0.049243, 0.065657, -0.019287, -0.016414], [0, 0, 0, 0]],
    "dK": [
        [0.085097, -0.077284, 0.042548, -0.021623],
        [-0.074744, 0.086859, -0.037372, 0.028481],
        [-0.010353, -0.009575, -0.005176, -0.006858],
    ],
}


def random_states(n=60):
    """Matrices of all sizes, with a G."""
    rng = np.random.default_rng(44)
    for _ in range(n):
        n_q, n_k, d_k, d_v = (int(x) for x in rng.integers(1, 5, 4))
        M = {
            "Q": rng.uniform(-2, 2, (n_q, d_k)),
            "K": rng.uniform(-2, 2, (n_k, d_k)),
            "V": rng.uniform(-2, 2, (n_k, d_v)),
        }
        M["G"] = rng.integers(-1, 2, (n_q, d_v)).astype(float)
        yield {name: m.round(2) for name, m in M.items()}


def as_lists(state):
    return {name: m.tolist() for name, m in state.items()}


def loss(Q, K, V, G):
    return float((G * am.scaled_dot_product_attention(Q, K, V)[0]).sum())


# ---------------------------------------------------------------- mathematics
def test_the_running_example_has_the_known_gradients():
    got = run(ESM, BACK, gradient_paths.FIRST | {"G": EYE})
    for name, expected in KNOWN.items():
        np.testing.assert_allclose(got[name], expected, atol=6e-7)


def test_javascript_computes_what_numpy_computes():
    states = list(random_states())
    script = "given.map((given) => [m.forward(given), " + BACK + "])"
    for state, (forward, back) in zip(states, run(ESM, script, [as_lists(s) for s in states]), strict=True):
        Q, K, V, G = (state[name] for name in "QKVG")
        Z, A = am.scaled_dot_product_attention(Q, K, V)
        np.testing.assert_allclose(forward["A"], A, atol=1e-14)
        np.testing.assert_allclose(forward["Z"], Z, atol=1e-14)
        for name, expected in zip(
            ("dQ", "dK", "dV"), am.scaled_dot_product_attention_backward(G, Q, K, V, A), strict=True
        ):
            np.testing.assert_allclose(back[name], expected, atol=1e-13)
        np.testing.assert_allclose(back["D"], am.softmax_backward(A, np.array(back["dA"])), atol=1e-13)
        np.testing.assert_allclose(np.sum(back["D"], axis=1), 0, atol=1e-13)


def test_gradients_are_those_of_finite_differences():
    h = 1e-6
    states = list(random_states(8))
    for state, back in zip(
        states, run(ESM, f"given.map((given) => {BACK})", [as_lists(s) for s in states]), strict=True
    ):
        for name in "QKV":
            for place in np.ndindex(state[name].shape):
                up, down = ({n: m.copy() for n, m in state.items()} for _ in range(2))
                up[name][place] += h
                down[name][place] -= h
                assert np.array(back[f"d{name}"])[place] == pytest.approx(
                    (loss(**up) - loss(**down)) / (2 * h), abs=1e-8
                )


def test_a_query_that_nobody_pulls_has_rows_of_zeros():
    states = [as_lists(state | {"G": np.vstack([0 * state["G"][:1], state["G"][1:]])}) for state in random_states(20)]
    for back in run(ESM, f"given.map((given) => {BACK})", states):
        assert all(x == 0 for name in ("dA", "D", "dQ") for x in back[name][0])


def test_a_step_against_the_gradient():
    states = [(as_lists(s), float(eta)) for s, eta in zip(random_states(), np.linspace(0, 1, 60), strict=True)]
    script = """given.map(([g, eta]) => {
      const back = m.backward(g.G, g, m.forward(g).A), after = m.descend(g, back, eta);
      return [m.loss(g.G, m.forward(g).Z), m.squared(back), m.loss(g.G, m.forward(after).Z)];
    })"""
    for (state, eta), (before, squared, after) in zip(states, run(ESM, script, states), strict=True):
        G = state.pop("G")
        widget = GradientPaths(**state)
        widget.G, widget.step = G, eta
        assert widget.loss == pytest.approx(before, abs=1e-12)
        assert widget.predicted == pytest.approx(before - eta * squared, abs=1e-12)
        assert widget.real == pytest.approx(after, abs=1e-12)
        widget.step = 1e-5  # so small that only the first order counts
        assert widget.real - before == pytest.approx(-1e-5 * squared, rel=1e-2, abs=1e-9)


def test_the_arithmetic_of_every_entry_gives_that_entry():
    state = gradient_paths.FIRST | {"G": [[1.0, 0.0], [0.0, -1.0], [1.0, 1.0]]}
    entry = "[name, i, j, x, m.terms(name, i, j, all), m.explain(name, i, j, all)]"
    entries = f"Object.entries(back).flatMap(([name, M]) => M.flatMap((row, i) => row.map((x, j) => {entry})))"
    found = run(ESM, f"((back, all) => {entries})({BACK}, {{ ...given, A: m.forward(given).A, ...{BACK} }})", state)
    assert len(found) == 6 + 9 + 9 + 12 + 12
    for name, i, j, x, terms, explained in found:
        assert re.fullmatch(r"[\d.()+−·/ ]+", terms)
        value = eval(terms.replace("−", "-").replace("·", "*"))  # nothing but arithmetic, see above
        assert value == pytest.approx(x, abs=3e-3)
        assert explained["sum"].startswith(f"{name}[{i},{j}] = ") and terms in explained["sum"]
        shown = re.search(r"= (−?[\d.]+)$", explained["sum"])[1].replace("−", "-")
        assert float(shown) == pytest.approx(x, abs=5.1e-4)
        zh, en = explained["meaning"]
        assert HAN.search(zh) and not HAN.search(en) and not re.search(r"\b[xy]\b", zh + en + explained["sum"])


@pytest.mark.parametrize("G, zh, en", [
    (EYE, "查询 2 的输出不影响 L：dA、D、dQ 中相应的行恰好为 0", "not depend on the output of query 2: .* exactly 0"),
    ([[0, 0], [0, -1], [0, 0]], "查询 0、2 的输出不影响 L", "query 0 or 2: "),
    ([[0, 0]] * 3, "每个梯度都恰好为 0", "every gradient is exactly 0"),
    ([[1, 0]] * 3, "每个查询的输出都影响 L", "L depends on every query's output"),
])  # fmt: skip
def test_the_sentence_names_the_queries_that_get_nothing(G, zh, en):
    said = run(ESM, "m.silence(given)", G)
    assert re.search(zh, said[0]) and re.search(en, said[1])


# ---------------------------------------------------------------- the traits
def test_the_page_moves_python():
    widget = GradientPaths()
    widget.set_state({"G": [[0, 0], [0, 0], [0, -1]], "step": 1})
    dQ, dK, dV = widget.gradients
    assert not dQ[:2].any() and dQ[2].any() and not dV[:, 0].any() and (dV[:, 1] < 0).all()
    assert widget.real < widget.loss


@pytest.mark.parametrize("given, words", [
    ({"Q": [[1, 2], [3]]}, "Q must be a list of rows of numbers"),
    ({"Q": [1, 2]}, "Q must be a list of rows"),
    ({"V": "abc"}, "V must be a list of rows"),
    ({"Q": np.zeros((5, 4))}, "Q is 5 by 4; give 1 to 4"),
    ({"Q": np.zeros((0, 4))}, "Q is 0 by 0"),
    ({"Q": [[]]}, "Q is 1 by 0"),
    ({"K": np.full((3, 4), 2.5)}, "K must lie from −2 to 2"),
    ({"V": [[0, 0], [0, math.nan], [0, 0]]}, "V must lie from −2 to 2"),
    ({"Q": [[1, 2]]}, "agree in d_k"),
    ({"V": [[1, 2]]}, "agree in n_k"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        GradientPaths(**given)


@pytest.mark.parametrize("name, value, words", [
    ("G", [[1.0, 0.0]], "3 rows of 2 numbers"),
    ("G", [[1.0, 0.0], [0.5, 0.0], [0.0, 0.0]], "must be −1, 0 or 1"),
    ("step", 1.5, "step is 1.5; it must lie from 0 to 1"),
    ("step", math.nan, "it must lie from 0 to 1"),
])  # fmt: skip
def test_a_change_that_does_not_fit_is_taken_back(name, value, words):
    widget = GradientPaths()
    before = repr(widget)
    with pytest.raises(Misfit, match=words):
        setattr(widget, name, value)
    assert repr(widget) == before


def test_repr_is_stable():
    expected = "GradientPaths(G=[[1, 0], [0, 1], [0, 0]], step=0.5, loss=1.1178)"
    assert repr(GradientPaths()) == repr(GradientPaths()) == expected


def test_still_says_it_without_javascript():
    root = ET.fromstring(GradientPaths().still)
    space = "{http://www.w3.org/2000/svg}"
    zh, en = root.find(f"{space}title").text.split(" | ")
    assert HAN.search(zh) and not HAN.search(en)
    texts = [text.text for text in root.iter(f"{space}text")]
    shown = [float(text.replace("−", "-")) for text in texts if re.fullmatch(r"−?[\d.]+", text)]
    np.testing.assert_allclose(shown, np.concatenate([np.ravel(M) for M in (EYE, *KNOWN.values())]), atol=5.1e-4)
    assert not HAN.search("".join(texts))
    assert max(float(rect.get("x")) + 58 for rect in root.iter(f"{space}rect")) <= 300


# ---------------------------------------------------------------- the page
@pytest.fixture
def paths(open_widget):
    """paths(view, **context options) -> the page and the widget in it."""
    return partial(open_widget, CHAPTER, ".attn-paths")


SEEN = """(widget) => {
  const at = (node, name) => Number(node.getAttribute(name));
  const number = (text) => Number(text.replace("−", "-"));
  const [dV, dA, D, dQ, dK, curve] = widget.querySelectorAll("svg");
  const matrix = (svg) => [...svg.querySelectorAll(".attn-picked")].map((cell) => {
    const [area, text] = cell.children, stripes = getComputedStyle(area).fill.startsWith("url(");
    const kind = area.classList.contains("attn-zero") ? 0 : stripes ? -1 : 1;
    return [number(text.textContent), kind, at(area, "fill-opacity")];
  });
  const [high, low] = [...curve.querySelectorAll(".attn-tick[text-anchor=end]")].map((t) => number(t.textContent));
  const line = curve.querySelector(".attn-foot").getAttribute("d").match(/[-.\\de]+/g).map(Number);
  const path = curve.querySelector("path.attn-line-plain").getAttribute("d").match(/[-.\\de]+/g).map(Number);
  return {
    matrices: Object.fromEntries(Object.entries({ dV, dA, D, dQ, dK }).map(([name, svg]) => [name, matrix(svg)])),
    framed: [...widget.querySelectorAll(".attn-frame")].map((frame) => at(frame, "width") > 0),
    ends: [high, low], line, path,
    marks: [...curve.querySelectorAll("circle")].map((circle) => [at(circle, "cx"), at(circle, "cy")]),
    table: [...widget.querySelectorAll("tbody td")].map((td) => td.textContent).filter((t) => t !== "—").map(number),
  };
}"""


HEIGHTS = """(widget) => [...widget.querySelectorAll(".attn-formula option")].map((option) => {
  option.parentNode.value = option.value;
  option.parentNode.dispatchEvent(new Event("change", { bubbles: true }));
  return widget.getBoundingClientRect().height;
})"""  # with each entry explained


def assert_shows(widget, G, step):
    """Matrices, table and curve say what this GradientPaths computes."""
    expected = GradientPaths()
    expected.G, expected.step = G, step
    dQ, dK, dV = expected.gradients
    seen = widget.evaluate(SEEN)
    for name, M in {"dQ": dQ, "dK": dK, "dV": dV}.items():
        shown, kinds, strength = np.transpose(seen["matrices"][name])
        np.testing.assert_allclose(shown, M.ravel(), atol=5.1e-4)
        assert kinds.tolist() == np.sign(np.where(abs(M) < 1e-12, 0, M)).ravel().tolist(), "colour, stripes, dashes"
        np.testing.assert_allclose(strength, 0.35 * abs(M.ravel()) / (abs(M).max() or 1), atol=1e-3)
    L, predicted, real = expected.loss, expected.predicted, expected.real
    np.testing.assert_allclose(seen["table"], [L, predicted, predicted - L, real, real - L], atol=5.1e-4)
    check_curve(seen, expected)


def check_curve(seen, expected):
    """The dashed line, the solid curve and the marks on them, read back through the two numbers of the axis."""
    (high, low), ys = seen["ends"], seen["line"][1::2] + seen["path"][1::2]
    top, bottom = min(ys), max(ys)
    if top == bottom:
        assert expected.loss == expected.real == 0
        return
    (x0, _, x1, _), value = seen["line"], lambda y: high + (y - top) / (bottom - top) * (low - high)
    etas, losses = (np.array(seen["path"][0::2]) - x0) / (x1 - x0), [value(y) for y in seen["path"][1::2]]
    step = expected.step
    for mark, wanted in zip(seen["marks"], (expected.predicted, expected.real), strict=True):
        assert (mark[0] - x0) / (x1 - x0) == pytest.approx(step)
        assert value(mark[1]) == pytest.approx(wanted, abs=1.1e-3)
    for eta, L in list(zip(etas, losses, strict=True))[::5]:
        expected.step = float(np.clip(eta, 0, 1))
        assert pytest.approx(expected.real, abs=1.1e-3) == L
    assert len(etas) > 20 and etas[0] == 0 and etas[-1] == pytest.approx(1)


def pull(widget, i, c, x):
    widget.locator(".attn-values select").nth(2 * i + c).select_option(str(x))


def test_lists_and_slider_show_what_python_computes(paths):
    page, widget = paths()
    assert_shows(widget, EYE, 0.5)
    pull(widget, 2, 1, -1)
    assert_shows(widget, [[1, 0], [0, 1], [0, -1]], 0.5)
    assert "every query" in widget.locator(".attn-verdict").text_content()
    pull(widget, 0, 1, 1)  # both components of one query: its values sum to the same, so its D is 0
    assert_shows(widget, [[1, 1], [0, 1], [0, -1]], 0.5)
    assert [kind for _, kind, _ in widget.evaluate(SEEN)["matrices"]["D"]][:3] == [0, 0, 0]
    slider = widget.locator("input[type=range]")
    for key, step in (("End", 1), ("ArrowLeft", 0.95), ("Home", 0)):
        slider.press(key)
        assert_shows(widget, [[1, 1], [0, 1], [0, -1]], step)
    for i, c in ((0, 0), (0, 1), (1, 1), (2, 1)):
        pull(widget, i, c, 0)
    slider.fill("0.3")
    assert_shows(widget, [[0, 0]] * 3, 0.3)
    widget.get_by_role("button", name="Reset").click()
    assert_shows(widget, EYE, 0.5)
    for name, M in KNOWN.items():
        shown = [number for number, *_ in widget.evaluate(SEEN)["matrices"][name]]
        np.testing.assert_allclose(shown, np.ravel(M), atol=5.1e-4)
    assert page.log.console == []


def test_an_entry_is_explained_by_list_or_click_and_changes_are_told(paths):
    page, widget = paths()
    entry, formula, told = (
        widget.get_by_label("How it is computed"),
        widget.locator(".attn-formula p").first,
        widget.locator(".attn-told"),
    )
    assert formula.text_content() == "dV[0,0] = A[:,0]·G[:,0] = 0.387·1 + 0.277·0 + 0.342·0 = 0.387"
    entry.select_option("dK[1,3]")
    assert formula.text_content().startswith(
        "dK[1,3] = D[:,1]·Q[:,3] / √dₖ = ((−0.149)·0.200 + 0.174·0.500 + 0·1) / 2 ="
    )
    assert told.text_content().startswith("dK[1,3]") and widget.evaluate(SEEN)["framed"] == [False] * 4 + [True]
    widget.locator("svg").nth(2).locator(".attn-picked").nth(1).click()
    assert entry.input_value() == "D[0,1]" and widget.evaluate(SEEN)["framed"] == [False, False, True, False, False]
    assert formula.text_content() == "D[0,1] = A[0,1]·(dA[0,1] − A[0,:]·dA[0,:]) = 0.267·(0 − 0.560) = −0.149"
    assert told.text_content().startswith("D[0,1]")
    pull(widget, 0, 0, -1)
    assert "0.560" in formula.text_content()
    assert told.text_content().startswith("L does not depend on the output of query 2")
    widget.locator("input[type=range]").press("ArrowRight")
    assert told.text_content().startswith("Loss ")
    for svg in widget.locator("svg").all():
        described = page.locator("#" + svg.get_attribute("aria-describedby")).text_content()
        assert re.match(r"\[|η = 0\.55, L: ", described)
    for control in widget.locator("input, select").all():
        label = page.locator(f'label[for="{control.get_attribute("id")}"]')
        assert control.get_attribute("aria-label") or label.inner_text()
        assert control.get_attribute("data-lm-suppress-shortcuts") == "true"


@pytest.mark.parametrize("view", ["zh", "en", "both"])
@pytest.mark.parametrize("width", [360, 1300])
def test_it_fits_and_the_page_stays(paths, view, width):
    page, widget = paths(view, viewport={"width": width, "height": 740})
    heights = set(widget.evaluate(HEIGHTS))
    assert widget.locator(".attn-formula p").first.text_content().startswith("dK[2,3]")
    for i in range(3):
        pull(widget, i, 0, -1)
        pull(widget, i, 1, 0)
        heights.add(widget.bounding_box()["height"])
    widget.locator("input[type=range]").press("End")
    heights.add(widget.bounding_box()["height"])
    assert len(heights) == 1 and page.evaluate("document.documentElement.scrollWidth") == width
    fit = widget.evaluate(FIT)
    assert fit["out"] == [] and fit["least"] >= 24
    words = widget.inner_text() + "".join(widget.locator("svg title, svg desc, .attn-told").all_text_contents())
    assert bool(HAN.search(words)) == (view != "en") and ("gradient of the values" in words) == (view != "zh")
    for node in widget.locator("[lang]").all():
        assert bool(HAN.search(node.text_content())) == (node.get_attribute("lang") == LANGS["zh"])


@pytest.mark.parametrize("view", ["zh", "en", "both"])
def test_without_javascript_there_is_a_still_picture(open_page, site_url, view):
    page = open_page(java_script_enabled=False)
    page.goto(f"{site_url}/{view}/{CHAPTER}")
    still = page.locator(".widget-still svg", has_text="dV = AᵀG")
    assert still.is_visible() and "−0.149" in still.text_content()
    title = still.locator("title").text_content()
    assert bool(HAN.search(title)) == (view != "en") and ("Gradients" in title) == (view != "zh")
