"""The d_k laboratory: its frames agree with another simulation; Python, JavaScript and the page with each other."""

import json
import re
import xml.etree.ElementTree as ET
from functools import partial

import numpy as np
import pytest

import attention_widgets as aw
from attention_widgets.dk_laboratory import COUNTS, REACH, ROWS, WIDTHS, histogram
from conftest import ROOT, run

CHAPTER = "03_scaling_variance.html"
WIDGET = ".afm-view:has(.attn-laboratory):not(:has(.attn-assumptions))"
SEEN = (ROOT / "tests" / "seen_in_the_dk_laboratory.js").read_text("utf-8")
HAN = re.compile("[\u3400-\u9fff]")
FRAMES = aw.DkLaboratory()._frames


def softmax_loop(scores):
    powers = [np.exp(s - max(scores)) for s in scores]
    return [p / sum(powers) for p in powers]


# ---------------------------------------------------------------- the frames
def test_spread_is_the_root_of_the_width_and_one_after_scaling():
    for d, (unscaled, scaled) in zip(WIDTHS, FRAMES["spread"], strict=True):
        error = np.sqrt(
            1 / (2 * ROWS * d) + 2 / (ROWS * max(COUNTS))
        )  # of the queries' lengths, and of the keys; relative
        assert abs(unscaled / np.sqrt(d) - 1) < 4 * error
        assert scaled == pytest.approx(unscaled / np.sqrt(d), abs=1e-4)


def test_shares_of_saturated_rows_agree_with_another_simulation():
    """Given q, scores are independent and normal with variance |q|², which is chi-squared: no q or k is drawn."""
    rng, rows, deviations = np.random.default_rng(7), 4000, []
    for d, frames in zip(WIDTHS, FRAMES["saturated"], strict=True):
        scores = np.sqrt(rng.chisquare(d, size=(rows, 1))) * rng.standard_normal((rows, max(COUNTS)))
        for by, counts in zip((1, np.sqrt(d)), frames, strict=True):
            for n, count in zip(COUNTS, counts, strict=True):
                powers = np.exp((scores[:, :n] - scores[:, :n].max(axis=1, keepdims=True)) / by)
                share = (1 / powers.sum(axis=1) > 0.99).mean()  # the largest power is 1
                pooled = (share * rows + count + 1) / (rows + ROWS + 2)
                deviations.append((count / ROWS - share) / np.sqrt(pooled * (1 - pooled) * (1 / rows + 1 / ROWS)))
    assert np.abs(deviations).max() < 4 and np.square(deviations).mean() < 1.5


def test_histograms_hold_the_scores():
    for d, pair in zip(WIDTHS, FRAMES["histogram"], strict=True):
        for counts, deviation in zip(pair, (np.sqrt(d), 1), strict=True):
            m = len(counts) // 2
            assert len(counts) == 2 * m + 1 <= 2 * REACH + 1
            at, total = np.arange(-m, m + 1), sum(counts)
            assert 0.995 * ROWS * max(COUNTS) < total <= ROWS * max(COUNTS)
            assert np.sqrt(at**2 @ np.array(counts) / total) == pytest.approx(np.sqrt(deviation**2 + 1 / 12), rel=0.06)


def test_histogram_by_hand():
    assert histogram(np.array([0.4, -0.4, 0.6, -1.6, 2.2, 2.4])) == [1, 0, 2, 1, 2]
    assert histogram(np.array([0.1, 0.2])) == [2]
    assert sum(histogram(np.array([0.0, 200.0, -97.0]))) == 1


def test_a_smaller_width_and_fewer_keys_are_part_of_the_larger():
    scores = np.array(FRAMES["scores"])
    assert scores.shape == (len(WIDTHS), max(COUNTS))
    one, two = aw.DkLaboratory(d_k=16, n_k=4), aw.DkLaboratory(d_k=16, n_k=16)
    np.testing.assert_array_equal(one.scores, two.scores[:4])
    added = np.square(np.diff(scores[-5:], axis=0)).mean(axis=1)  # of scores drawn anew it would be three times as much
    np.testing.assert_allclose(added, np.diff(WIDTHS[-5:]), rtol=0.5)


@pytest.mark.parametrize("d_k, n_k", [(1, 2), (64, 8), (1024, 128)])
def test_weights_are_those_of_a_loop(d_k, n_k):
    laboratory = aw.DkLaboratory(d_k, n_k)
    for by, a in zip((1, d_k**0.5), laboratory.weights, strict=True):
        np.testing.assert_allclose(a, softmax_loop(laboratory.scores / by), atol=1e-14)


def test_javascript_shows_what_python_shows():
    given = {"frames": FRAMES, "pairs": [[d, n] for d in WIDTHS for n in COUNTS]}
    seen = run(aw.DkLaboratory._esm, "given.pairs.map(([d, n]) => m.frame(given.frames, d, n))", given)
    for (d, n), frame in zip(given["pairs"], seen, strict=True):
        laboratory = aw.DkLaboratory(d, n)
        for side in (0, 1):
            np.testing.assert_allclose(frame["weights"][side], laboratory.weights[side], atol=1e-14)
        np.testing.assert_allclose(frame["largest"], laboratory.weights.max(axis=1), atol=1e-14)
        assert tuple(frame["saturated"]) == laboratory.saturated and tuple(frame["spread"]) == laboratory.spread
        assert frame["histogram"] == FRAMES["histogram"][WIDTHS.index(d)]


def test_a_share_has_its_standard_error():
    given = [[100, 400], [1, 400], [0, 400], [400, 400]]
    seen = run(aw.DkLaboratory._esm, "given.map(([count, rows]) => m.percent(count, rows))", given)
    assert seen == ["25.0% ± 2.2%", "0.3% ± 0.2%", "", ""]  # sqrt(0.25·0.75/400) = 0.02165


def test_outline_and_interval_of_a_histogram():
    where = {"left": 10, "wide": 2, "base": 100, "high": 80}
    path = run(aw.DkLaboratory._esm, "m.outline([1, 4, 0], given)", where)
    assert path == "M10 100V80.00h2V20.00h2V100.00h2V100Z"
    assert run(aw.DkLaboratory._esm, "m.interval(10, 30, 7)") == "M10.00 2v10M20.00 2v10M30.00 2v10M10.00 7H30.00"
    assert run(aw.DkLaboratory._esm, "m.interval(10, 14, 7)") == "M10.00 2v10M14.00 2v10M10.00 7H14.00"


def test_the_page_is_sent_little():
    assert len(json.dumps(FRAMES)) < 30_000


# ---------------------------------------------------------------- the traits
def test_the_page_moves_python():
    laboratory = aw.DkLaboratory()
    laboratory.set_state({"d_k": 1024, "n_k": 2})
    assert len(laboratory.scores) == 2 and laboratory.spread[0] > 30


@pytest.mark.parametrize("name, value", [
    ("d_k", 3), ("d_k", 0), ("d_k", 2048), ("d_k", "4"), ("d_k", None), ("d_k", 4.0), ("d_k", np.ones(1)),
    ("n_k", True), ("n_k", 1),
])  # fmt: skip
def test_a_step_that_is_none_is_named_and_taken_back(name, value):
    laboratory, words = aw.DkLaboratory(), rf"{name} is .*; it must be one of .*, 64, 128"
    with pytest.raises(aw.Misfit, match=words):
        setattr(laboratory, name, value)
    assert (laboratory.d_k, laboratory.n_k) == (64, 8)
    with pytest.raises(ValueError, match=words):
        aw.DkLaboratory(**{name: value})


def test_another_seed_draws_anew_and_a_bad_one_is_refused():
    assert (aw.DkLaboratory(seed=1).scores != aw.DkLaboratory().scores).all()
    assert type(aw.DkLaboratory(d_k=np.int64(16), seed=np.int64(1)).d_k) is int
    for seed in (-1, 1.5, None, True):
        with pytest.raises(aw.Misfit, match="seed is .*; it must be a whole number, 0 or more"):
            aw.DkLaboratory(seed=seed)


def test_repr_is_stable():
    assert repr(aw.DkLaboratory()) == repr(aw.DkLaboratory()) == "DkLaboratory(d_k=64, n_k=8, seed=0)"


def test_still_says_it_without_javascript():
    laboratory = aw.DkLaboratory(n_k=16)
    root = ET.fromstring(laboratory.still)
    space = "{http://www.w3.org/2000/svg}"
    zh, en = root.find(f"{space}title").text.split(" | ")
    assert HAN.search(zh) and not HAN.search(en) and "16 keys" in en
    texts = [text.text for text in root.iter(f"{space}text")]
    shares = [aw.DkLaboratory(d, 16).saturated[0] / ROWS for d in (1, 64, 1024)]
    assert {"dₖ=1", "dₖ=1024", *(f"{share:.4f}" for share in shares)} <= set(texts)
    assert not HAN.search("".join(texts)) and len(list(root.iter(f"{space}rect"))) == 12


# ---------------------------------------------------------------- the page
@pytest.fixture
def laboratory(open_widget):
    """laboratory(view, **context options) -> the page and the widget in it."""
    return partial(open_widget, CHAPTER, WIDGET)


def move(widget, d_k, n_k):
    for slider, value, steps in zip(
        widget.locator("input[type=range]").all(), (d_k, n_k), (WIDTHS, COUNTS), strict=True
    ):
        slider.fill(str(steps.index(value)))


def test_table_and_pictures_show_what_python_computes(laboratory):
    page, widget = laboratory()
    heights = set()
    for d_k, n_k in ((1, 2), (4, 4), (64, 8), (256, 32), (1024, 128)):
        move(widget, d_k, n_k)
        expected = aw.DkLaboratory(d_k, n_k)
        lines = [line.locator("td").all_inner_texts() for line in widget.locator("tbody tr").all()]
        np.testing.assert_allclose(np.array(lines[0], float), expected.spread, atol=0.0051)
        np.testing.assert_allclose(np.array(lines[1], float), [d_k**0.5, 1], atol=0.0051)
        largest = [float(text.strip("<>")) for text in lines[2]]
        np.testing.assert_allclose(largest, expected.weights.max(axis=1), atol=1.1e-4)
        assert lines[3] == [f"{count} / 400" for count in expected.saturated]
        for count, text in zip(expected.saturated, lines[4], strict=True):
            shown = float(text.split("%")[0]) if 0 < count < 400 else {"—": count / 4}[text]
            assert shown == pytest.approx(count / 4, abs=0.051)
        seen = widget.evaluate(SEEN)
        np.testing.assert_allclose(seen["intervals"], [[-s, s] for s in expected.spread], atol=0.01)
        for counts, drawn in zip(FRAMES["histogram"][WIDTHS.index(d_k)], seen["histograms"], strict=True):
            m = len(counts) // 2
            assert drawn["left"] == pytest.approx(-m - 0.5, abs=0.02)
            np.testing.assert_allclose(drawn["heights"], np.array(counts) / max(counts), atol=1e-4)
        for a, drawn in zip(expected.weights, seen["bars"], strict=True):
            np.testing.assert_allclose(drawn, a, atol=1e-4)
        heights.add(widget.bounding_box()["height"])
    assert len(heights) == 1 and page.log.console == []


def test_keys_move_the_sliders_and_reset_brings_them_back(laboratory):
    page, widget = laboratory()
    d_k, n_k = widget.locator("input[type=range]").all()
    before = widget.locator("table").inner_text()
    d_k.press("ArrowRight")
    n_k.press("End")
    assert (d_k.get_attribute("aria-valuetext"), n_k.get_attribute("aria-valuetext")) == ("128", "128")
    expected = aw.DkLaboratory(128, 128)
    told = widget.locator(".attn-told").text_content()
    assert (
        told.startswith("Unscaled: largest weight ")
        and f" {expected.saturated[0]} of 400 rows saturated; scaled" in told
    )
    titles, descriptions = (widget.locator(f"svg {kind}").all_text_contents() for kind in ("title", "desc"))
    assert titles[:2] == ["distribution of the scores", "distribution of the scaled scores"]
    assert descriptions[0] == f"standard deviation {expected.spread[0]:.2f}"
    assert descriptions[3] == f"largest weight {expected.weights[1].max():.4f}"
    widget.get_by_role("button", name="Reset").click()
    assert widget.locator("table").inner_text() == before and d_k.get_attribute("aria-valuetext") == "64"
    assert all(control.get_attribute("data-lm-suppress-shortcuts") == "true" for control in (d_k, n_k))


@pytest.mark.parametrize("view, has_zh, has_en", [("zh", True, False), ("en", False, True), ("both", True, True)])
def test_on_a_phone_it_speaks_the_page_s_language_and_fits(laboratory, view, has_zh, has_en):
    page, widget = laboratory(view, viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    heights = set()
    for at in ((1, 2), (64, 8), (1024, 128)):
        move(widget, *at)
        heights.add(widget.bounding_box()["height"])
    assert len(heights) == 1 and page.evaluate("document.documentElement.scrollWidth") == 360
    words = widget.inner_text() + "".join(widget.locator("svg title, svg desc, .attn-told").all_text_contents())
    assert bool(HAN.search(words)) == has_zh and bool(re.search("saturated", words)) == has_en
    for control in widget.locator("input, button").all():
        assert min(control.bounding_box()["width"], control.bounding_box()["height"]) >= 24


@pytest.mark.parametrize("view", ["zh", "en", "both"])
def test_without_javascript_the_shares_are_there(open_page, site_url, view):
    page = open_page(java_script_enabled=False)
    page.goto(f"{site_url}/{view}/{CHAPTER}")
    still = page.locator(".widget-still svg", has_text="max a > 0.99")
    assert still.is_visible() and bool(HAN.search(still.locator("title").text_content())) == (view != "en")
