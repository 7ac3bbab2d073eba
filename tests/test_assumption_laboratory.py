"""The assumption laboratory: its predictions are SymPy's, its simulation is NumPy's, and the page shows both."""

import itertools
import re
import xml.etree.ElementTree as ET
from functools import partial

import numpy as np
import pytest
import sympy as sp

import attention_widgets as aw
from attention_widgets.assumption_laboratory import WIDTHS, predict
from bilingual import LANGS
from conftest import ROOT, run

CHAPTER = "03_scaling_variance.html"
SEEN = (ROOT / "tests" / "seen_in_the_assumption_laboratory.js").read_text("utf-8")
HAN = re.compile("[\u3400-\u9fff]")
ESM = aw.AssumptionLaboratory._esm
NAMES = ("rho", "mu_q", "mu_k", "d_k", "tied", "repeated")
STATES = [
    dict(zip(NAMES, values, strict=True))
    for values in itertools.product((0, -0.7, 1), (0, 0.6), (0, -0.8), (4, 64, 256), (False, True), (False, True))
]


# ---------------------------------------------------------------- mathematics
def expectation(polynomial, letters):
    """Mean of a polynomial in independent standard normal letters: E[x^n] = 1·3·5·…·(n−1), 0 for odd n."""
    total = 0
    for powers, factor in sp.Poly(sp.expand(polynomial), *letters).terms():
        total += factor * sp.prod(0 if n % 2 else sp.factorial2(n - 1) if n else 1 for n in powers)
    return sp.simplify(total)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("repeated", [False, True])
def test_predictions_are_those_of_sympy(d, tied, repeated):
    rho, mu_q, mu_k = sp.symbols("rho mu_q mu_k", real=True)
    a, b = sp.symbols(f"a:{d}"), sp.symbols(f"b:{d}")
    if repeated:
        a, b = a[:1] * d, b[:1] * d
    q = [x + mu_q for x in a]
    k = q if tied else [rho * x + sp.sqrt(1 - rho**2) * y + mu_k for x, y in zip(a, b, strict=True)]
    score, letters = sum(x * y for x, y in zip(q, k, strict=True)), sorted({*a, *b}, key=str)
    mean = expectation(score, letters)
    variance = expectation(sp.expand(score**2), letters) - mean**2
    predicted = predict(rho, mu_q, mu_k, d, tied, repeated)
    assert [sp.simplify(x - y) for x, y in zip(predicted, (mean, variance), strict=True)] == [0, 0]


def test_the_known_cases():
    assert predict(0, 0, 0, 64) == (0, 64)
    assert predict(0, 0, 0, 64, tied=True) == (64, 128)
    assert predict(0.5, 0, 0, 64) == (32, 80)
    assert predict(0, 1, 0.5, 64) == (32, 144)
    assert predict(0, 0, 0, 64, repeated=True) == (0, 64**2)


def test_the_variance_is_d_k_only_if_all_assumptions_hold():
    """The sentence on the page says “not d_k” whenever one fails."""
    for rho, mu_q, mu_k in itertools.product(np.linspace(-1, 1, 41), repeat=3):
        assert (predict(rho, mu_q, mu_k, 4)[1] > 4 + 1e-9) == (abs(rho) + abs(mu_q) + abs(mu_k) > 1e-9)


def test_javascript_predicts_what_python_predicts():
    for state, seen in zip(STATES, run(ESM, "given.map(m.predict)", STATES), strict=True):
        np.testing.assert_allclose([seen["mean"], seen["variance"]], predict(**state), atol=1e-9)
    assert run(ESM, "m.WIDTHS") == list(WIDTHS)


# ---------------------------------------------------------------- the simulation
def uniform(count, seed):
    """mulberry32 by its definition; each state is the one before plus 0x6D2B79F5, so all of them are known at once."""
    x = (np.uint32(seed) + np.arange(1, count + 1, dtype=np.uint64) * 0x6D2B79F5).astype(np.uint32)
    t = (x ^ (x >> np.uint32(15))) * (x | np.uint32(1))
    t ^= t + (t ^ (t >> np.uint32(7))) * (t | np.uint32(61))
    return (t ^ (t >> np.uint32(14))) / 2**32


def vectors(count, seed):
    """Components a and b (count, 256): Box and Muller's two numbers from each two uniform ones."""
    u, v = uniform(2 * count * max(WIDTHS), seed).reshape(-1, 2).T
    radius, angle = np.sqrt(-2 * np.log(1 - u)), 2 * np.pi * v
    return (radius * np.cos(angle)).reshape(count, -1), (radius * np.sin(angle)).reshape(count, -1)


def simulate(a, b, rho, mu_q, mu_k, d_k, tied, repeated):
    """Scores of whole vectors q and k, built component by component."""
    a, b = (np.repeat(x[:, :1], d_k, axis=1) if repeated else x[:, :d_k] for x in (a, b))
    q = a + mu_q
    k = q if tied else rho * a + np.sqrt(1 - rho**2) * b + mu_k
    return (q * k).sum(axis=1)


@pytest.fixture(scope="module")
def drawn():
    return vectors(1000, 1)


def test_the_generator_is_uniform_and_known():
    # the first three numbers of the published generator for the seed 1, times 2³²
    np.testing.assert_array_equal(uniform(3, 1) * 2**32, [2693262067, 11749833, 2265367787])


def test_javascript_simulates_what_numpy_simulates(drawn):
    expression = "(() => { const rows = m.sums(m.SAMPLES, 1); return given.map((s) => m.scores(s, rows)); })()"
    for state, seen in zip(STATES, run(ESM, expression, STATES), strict=True):
        expected = simulate(*drawn, **state)
        np.testing.assert_allclose(seen, expected, rtol=1e-9, atol=1e-9 * max(1, np.abs(expected).max()))


def test_moments_and_their_errors():
    numbers = np.random.default_rng(0).gamma(2, size=(20, 50))
    for x, seen in zip(numbers, run(ESM, "given.map((x) => m.moments(x))", numbers.tolist()), strict=True):
        assert seen["mean"] == pytest.approx(x.mean()) and seen["variance"] == pytest.approx(x.var(ddof=1))
        assert seen["meanError"] == pytest.approx(x.std(ddof=1) / np.sqrt(50))
    many = np.random.default_rng(1).uniform(size=(4000, 200))  # the spread of the estimates themselves
    errors = run(ESM, "given.map((x) => m.moments(x).varianceError)", many[:400].round(6).tolist())
    assert np.mean(errors) == pytest.approx(many.var(axis=1).std(), rel=0.1)


def test_prediction_and_simulation_agree():
    """By the first seeds the page draws, in each state: within 4.5 standard errors, and typically within one."""
    expression = (
        "[1, 2, 3].map((seed) => m.sums(m.SAMPLES, seed)).map((rows) => given.map((s) => m.moments(m.scores(s, rows))))"
    )
    deviations = []
    for seen in run(ESM, expression, STATES):
        for state, found in zip(STATES, seen, strict=True):
            mean, variance = predict(**state)
            deviations.append((found["mean"] - mean) / found["meanError"])
            deviations.append((found["variance"] - variance) / found["varianceError"])
    assert np.abs(deviations).max() < 4.5 and 0.4 < np.std(deviations) < 1.5


def test_histogram_counts_what_lies_inside():
    numbers = np.random.default_rng(2).normal(scale=3, size=500)
    expected = np.histogram(numbers, bins=np.linspace(-4, 4, 17))[0].tolist()
    assert run(ESM, "m.histogram(given, 4, 16)", numbers.tolist()) == expected
    assert sum(expected) < 500 and run(ESM, "m.histogram([-4, 4, NaN], 4, 2)") == [1, 0]


# ---------------------------------------------------------------- numbers and sentences
def plain(texts):
    return [text.replace("\u202f", " ").replace("−", "-") for text in texts]


def test_numbers_as_text():
    given = [[1.25, 4, 0], [-0.0, 4, 0], [393216, 1, 0], [1234.5, 2], [-1, 0]]
    assert plain(run(ESM, "given.map((x) => m.number(...x))", given)) == ["1.25", "0", "393 216", "1 234.50", "-1"]
    pairs = [[63.123, 2.94], [1.0312, 0.0451], [408410, 33560], [-115.8, 0.63], [1595.4, 131], [0.00012, 0.0123]]
    assert plain(run(ESM, "given.map((x) => m.measured(...x))", pairs)) == [
        "63.1 ± 2.9", "1.031 ± 0.045", "408 000 ± 34 000", "-115.80 ± 0.63", "1 600 ± 130", "0.000 ± 0.012",
    ]  # fmt: skip


def test_the_axis_reaches_in_powers_of_two():
    assert run(ESM, "[[0, 1], [4, 1], [-4, 1.2], [32, 39.2], [0.5, 1]].map((x) => m.reachOf(...x))") == [
        4,
        8,
        16,
        256,
        4,
    ]


@pytest.mark.parametrize("change, zh, en", [
    ({}, "假设都成立：均值是 0，方差是 d_k = 64，如定理所说",
     "All assumptions hold: the mean is 0 and the variance d_k = 64, as the theorem"),
    ({"rho": 0.5}, "q 与 k 不独立（ρ = 0.5）。方差是 80，不是 d_k = 64。.*均值是 4，与 √d_k 成正比；方差是 1.25，",
     "The theorem does not apply: q and k are not independent .ρ = 0.5.. The variance is 80, not d_k = 64. .* "
     "mean is 4, proportional to √d_k; the variance is 1.25, whatever d_k is"),
    ({"mu_k": -0.5}, "均值不是 0（μ_k = -0.5）。.*均值是 0；方差是 1.25",
     "the means are not 0 .μ_k = -0.5.. .* the mean is 0;"),
    ({"tied": True, "rho": -1, "mu_k": 1}, "q 与 k 不独立（q = k）。方差是 128，.*均值是 8，",
     "independent .q = k.. The variance is 128"),
    ({"repeated": True}, "各自的分量相关（全都相等）。方差是 4 096，.*方差是 64，与 d_k 成正比",
     "components within q and k are correlated .all are equal.. .* the variance is 64, proportional to d_k"),
    ({"tied": True, "mu_q": 0.5, "repeated": True}, "（q = k）；均值不是 0（μ_q = 0.5，μ_k = 0.5）；各自的分量",
     "q = k.; the means are not 0 .μ_q = 0.5, μ_k = 0.5.; the components"),
])  # fmt: skip
def test_the_sentence_says_which_condition_fails(change, zh, en):
    said = plain(run(ESM, "m.verdict(given)", dict(zip(NAMES, (0, 0, 0, 64, False, False), strict=True)) | change))
    assert re.search(zh, said[0]) and re.search(en, said[1])


# ---------------------------------------------------------------- the traits
def test_the_page_moves_python():
    laboratory = aw.AssumptionLaboratory()
    laboratory.set_state({"rho": 0.5, "d_k": 16})
    assert (laboratory.mean, laboratory.variance) == (8, 20)
    laboratory.set_state({"tied": True})
    assert (laboratory.mean, laboratory.variance, laboratory.rho) == (16, 32, 0.5)


@pytest.mark.parametrize("name, value, words", [
    *(("rho", value, "rho is .*; it must be a number from −1 to 1") for value in (1.01, float("nan"), "0", None, True)),
    ("mu_q", np.ones(2), "mu_q is .* a number from −1 to 1"),
    ("mu_k", -1.5, "mu_k is -1.5; it must be a number from −1 to 1"),
    *(("d_k", value, "d_k is .*; it must be one of 4, 16, 64, 256") for value in (8, 0, 4.0, "4", None)),
])  # fmt: skip
def test_what_does_not_fit_is_named_and_taken_back(name, value, words):
    laboratory = aw.AssumptionLaboratory()
    before = repr(laboratory)
    with pytest.raises(aw.Misfit, match=words):
        setattr(laboratory, name, value)
    assert repr(laboratory) == before
    with pytest.raises(ValueError, match=words):
        aw.AssumptionLaboratory(**{name: value})


def test_repr_is_stable():
    expected = "AssumptionLaboratory(rho=0.5, mu_q=1.0, mu_k=0.0, d_k=16, tied=False, repeated=True)"
    assert repr(aw.AssumptionLaboratory(np.float64(0.5), 1, d_k=np.int64(16), repeated=True)) == expected


def test_still_says_it_without_javascript():
    root = ET.fromstring(aw.AssumptionLaboratory(0.9, d_k=16).still)
    space = "{http://www.w3.org/2000/svg}"
    zh, en = root.find(f"{space}title").text.split(" | ")
    assert HAN.search(zh) and not HAN.search(en) and "dₖ = 16" in en
    texts = [text.text for text in root.iter(f"{space}text")]
    names = ["ρ=μ=0", "ρ=0.5", "μ=0.5", "q=k", "q₀=q₁=…"]
    for heading, numbers in (("E", [0, 2, 1, 4, 0]), ("Var", [1, 1.25, 1.5, 2, 16])):
        at = texts.index(f"{heading}(q kᵀ / √dₖ)")
        pairs = [x for name, number in zip(names, numbers, strict=True) for x in (name, f"{number:.4f}")]
        assert texts[at + 1 : at + 11] == pairs
    assert not HAN.search("".join(texts))


# ---------------------------------------------------------------- the page
@pytest.fixture
def laboratory(open_widget):
    """laboratory(view, **context options) -> the page and the widget in it."""
    return partial(open_widget, CHAPTER, ".attn-assumptions")


def move(widget, rho, mu_q, mu_k, d_k, tied, repeated):
    for box, on in zip(widget.get_by_role("checkbox").all(), (False, repeated), strict=True):
        box.set_checked(on)
    for slider, value in zip(widget.get_by_role("slider").all(), (WIDTHS.index(d_k), mu_q, mu_k, rho), strict=True):
        slider.fill(str(value))
    widget.get_by_role("checkbox").first.set_checked(tied)


def numbers(widget):
    """The table: theorem, prediction, simulation, its error."""
    rows = []
    for line in widget.locator("tbody tr").all():
        cells = [cell.replace("\u202f", "").replace("−", "-") for cell in line.locator("td").all_inner_texts()]
        rows.append([float(x) for cell in cells for x in cell.split(" ± ")])
    return np.array(rows)


def test_table_and_picture_show_prediction_and_simulation(laboratory, drawn):
    page, widget = laboratory()
    heights = set()
    for state in (STATES[0], *STATES[7::23], dict(zip(NAMES, (0.4, 1, 0.9, 256, True, True), strict=True))):
        move(widget, **state)
        root, (mean, variance), scores = state["d_k"] ** 0.5, predict(**state), simulate(*drawn, **state)
        found, table, seen = (scores.mean(), scores.var(ddof=1)), numbers(widget), widget.evaluate(SEEN)
        np.testing.assert_array_equal(table[:, 0], [0, state["d_k"], 0, 1])
        predicted = np.array([mean, variance, mean / root, variance / root**2])
        np.testing.assert_allclose(table[:, 1], predicted, rtol=1e-4, atol=5.1e-5)
        simulated = np.array([found[0], found[1], found[0] / root, found[1] / root**2])
        assert (np.abs(table[:, 2] - simulated) <= 0.06 * table[:, 3] + 1e-12).all()  # the error has two digits
        intervals = [(0, 1), (mean / root, variance**0.5 / root), (found[0] / root, found[1] ** 0.5 / root)]
        reach = seen["reach"]
        np.testing.assert_allclose(seen["intervals"], [[m - s, m + s] for m, s in intervals], atol=reach * 1e-4)
        assert seen["above"] == pytest.approx(reach * root)
        counts = np.histogram(scores / root, bins=np.linspace(-reach, reach, 65))[0]
        np.testing.assert_allclose(seen["heights"], counts / counts.max(), atol=0.012)
        assert seen["outside"] == 1000 - counts.sum()
        heights.add(widget.bounding_box()["height"])
    assert len(heights) == 1 and page.log.console == []


def test_switches_keys_and_reset(laboratory):
    page, widget = laboratory()
    d_k, mu_q, mu_k, rho = widget.get_by_role("slider").all()
    before = widget.locator("table").inner_text()
    mu_q.press("ArrowRight")
    rho.press("ArrowLeft")
    assert (mu_q.get_attribute("aria-valuetext"), rho.get_attribute("aria-valuetext")) == ("0.05", "−0.05")
    told = widget.locator(".attn-told").text_content()
    assert told.startswith(
        "The theorem does not apply: q and k are not independent (ρ = −0.05); the means are not 0 (μ q = 0.05)."
    )
    widget.get_by_role("checkbox").first.check()
    assert mu_k.is_disabled() and rho.is_disabled() and not mu_q.is_disabled()
    assert (mu_k.get_attribute("aria-valuetext"), rho.get_attribute("aria-valuetext")) == ("0.05", "1.00")
    widget.get_by_role("checkbox").first.uncheck()
    assert (mu_k.get_attribute("aria-valuetext"), rho.get_attribute("aria-valuetext")) == ("0.00", "−0.05")
    widget.get_by_role("button", name="Reset").click()
    assert widget.locator("table").inner_text() == before
    widget.get_by_role("button", name="Draw again").click()
    again = widget.locator("table").inner_text()
    assert again != before and d_k.get_attribute("aria-valuetext") == "64"
    widget.get_by_role("button", name="Reset").click()
    assert widget.locator("table").inner_text() == before
    for control in widget.locator("input").all():
        assert control.get_attribute("data-lm-suppress-shortcuts") == "true"
        assert page.locator(f'label[for="{control.get_attribute("id")}"]').inner_text()
    assert widget.locator("desc").text_content().startswith("q kᵀ / √dₖ: mean 0, simulated ")


@pytest.mark.parametrize("view, has_zh, has_en", [("zh", True, False), ("en", False, True), ("both", True, True)])
@pytest.mark.parametrize("width", [360, 1300])
def test_it_speaks_the_page_s_language_and_its_height_stays(laboratory, view, has_zh, has_en, width):
    page, widget = laboratory(view, viewport={"width": width, "height": 740})
    heights = set()
    for values in ((0, 0, 0, 4, False, False), (-0.95, -0.95, 0.95, 64, False, True), (0, 0.85, 0, 256, True, True)):
        move(widget, *values)
        heights.add(widget.bounding_box()["height"])
    assert len(heights) == 1 and page.evaluate("document.documentElement.scrollWidth") == width
    words = widget.inner_text() + "".join(widget.locator("svg title, svg desc, .attn-told").all_text_contents())
    assert bool(HAN.search(words)) == has_zh and bool(re.search("variance", words)) == has_en
    for node in widget.locator("[lang]").all():
        assert bool(HAN.search(node.text_content())) == (node.get_attribute("lang") == LANGS["zh"])
    for control in widget.locator("input, button").all():
        assert min(control.bounding_box()["width"], control.bounding_box()["height"]) >= 24


@pytest.mark.parametrize("view", ["zh", "en", "both"])
def test_without_javascript_mean_and_variance_are_there(open_page, site_url, view):
    page = open_page(java_script_enabled=False)
    page.goto(f"{site_url}/{view}/{CHAPTER}")
    still = page.locator(".widget-still svg", has_text="Var(q kᵀ / √dₖ)")
    assert still.is_visible() and "64.0000" in still.text_content()
    assert bool(HAN.search(still.locator("title").text_content())) == (view != "en")
