"""The film of the weights: frames as they were given, bad ones refused; the page shows what the chapter computes."""

import json
import re
import xml.etree.ElementTree as ET
from functools import partial

import numpy as np
import pytest

import attention_mechanism as am
from attention_widgets import WeightsFilm
from bilingual import LANGS
from conftest import ROOT, run

CHAPTER = "04_softmax_gradient.html"
HAN = re.compile("[\u3400-\u9fff]")
FIT = (ROOT / "tests" / "seen_to_fit.js").read_text("utf-8")
FILM = am.softmax(np.arange(24.0).reshape(2, 3, 4) % 5)


def test_frames_are_kept_as_given():
    film = WeightsFilm({"A": FILM}, [0, 50], queries=["a", "b", "c"])
    np.testing.assert_allclose(film._reel["films"][0], FILM, atol=5e-5)
    assert film._reel["queries"] == ["a", "b", "c"] and film._reel["keys"] == ["0", "1", "2", "3"]
    assert repr(film) == "WeightsFilm(step=0, films=['A'])"
    film.frame = 1
    assert repr(film) == "WeightsFilm(step=50, films=['A'])"


@pytest.mark.parametrize(
    "given, words",
    [
        (({"A": FILM[0]}, [0]), "film A must be a list of matrices of numbers, all of one size, but it is"),
        (({"A": [[[1.0], [0.5, 0.5]]]}, [0]), "all of one size"),
        (({"A": FILM + 1j}, [0, 1]), "matrices of numbers"),
        (({"A": FILM}, [0]), "film A has 2 matrices, but there are 1 steps; give one for each step"),
        (({"A": FILM[:0]}, []), "film A is empty"),
        ((FILM, [0, 1]), "films must map names to arrays"),
        (({"A": FILM}, 5), "steps must be a list of numbers, but it is 5"),
        (({"A": FILM}, ["first", "last"]), "steps must be a list of numbers"),
        (({"A": FILM}, [0, 0.5]), r"the steps are \[0.0, 0.5\]; each must be a whole number"),
        (({"A": FILM}, [0, np.nan]), "each must be a whole number"),
        (({"A": FILM}, [0, 1], "abc"), "queries must be a list of names, but it is 'abc'"),
        (({"A": FILM}, [0, 1], None, 4), "keys must be a list of names, but it is 4"),
        (({"A": FILM}, [0, 1], None, None, True), "frame is True; it must be a whole number"),
        (({"A": FILM, "B": FILM[:, :2]}, [0, 1]), "all films of one size"),
        (({}, [0]), "at least one film"),
        (({"A": -FILM}, [0, 1]), "no weights"),
        (({"A": FILM * np.nan}, [0, 1]), "no weights"),
        (({"A": np.ones((1, 2, 9))}, [0]), "shows 1 to 8"),
        (({"A": FILM}, [0, 1], ["a"]), "3 queries and 4 keys; give as many names"),
        (({"A": FILM}, [0, 1], None, None, 2), "frame 2 was asked for, but there are 2"),
    ],
)
def test_what_does_not_fit_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        WeightsFilm(*given)


def test_cells_never_round_a_weight_to_an_end():
    given = [0, 0.0001, 0.004999, 0.005, 0.5, 0.994, 0.995, 0.99999, 1]
    expected = ["0.00", "<.01", "<.01", "0.01", "0.50", "0.99", ">.99", ">.99", "1.00"]
    assert run(WeightsFilm._esm, "given.map(m.cell)", given) == expected


def test_a_screen_reader_hears_where_each_query_looks():
    given = [["A", "B"], [[[0.2, 0.8]], [[1, 0]]], ["q"], ["k", "l"]]
    assert run(WeightsFilm._esm, "m.summary(...given)", given) == "A: q → l 0.80; B: q → k 1.00"
    given = [["A"], [[[0, 0], [1, 0]]], ["q", "r"], ["k", "l"]]  # q sees no key
    assert run(WeightsFilm._esm, "m.summary(...given)", given) == "A: q → 0.00, r → k 1.00"


def test_still_shows_the_last_frame():
    film = WeightsFilm({"<A>": FILM, "B": FILM[::-1]}, [0, 50])
    texts = [text.text for text in ET.fromstring(film.still).iter("{http://www.w3.org/2000/svg}text")]
    last = [f"{a:.4f}" for film in (FILM[1], FILM[0]) for a in film.ravel()]
    assert [text for text in texts if "." in text] == last and {"<A>", "B"} <= set(texts)


# ---------------------------------------------------------------- the page
@pytest.fixture
def film(open_widget):
    """film(view, **context options) -> the page and the film in it."""
    return partial(open_widget, CHAPTER, ".attn-weights-film")


def reel_of(page):
    """What Python gave the page."""
    state = page.locator("script[type='application/vnd.jupyter.widget-state+json']").text_content()
    models = (model["state"] for model in json.loads(state)["state"].values())
    return next(model["_reel"] for model in models if "_reel" in model)


def assert_shows(widget, A):
    """Numbers and shades of the table are these weights."""
    cells = widget.locator("tbody td")
    texts = np.reshape(cells.all_text_contents(), A.shape)
    low, high = texts == "<.01", texts == ">.99"
    assert ((A[low] > 0) & (A[low] < 0.005)).all() and ((A[high] < 1) & (A[high] >= 0.995)).all()
    np.testing.assert_allclose(texts[~low & ~high].astype(float), A[~low & ~high], atol=5.1e-3)
    shades = cells.evaluate_all("(all) => all.map((td) => parseFloat(td.style.getPropertyValue('--attn-weight')))")
    np.testing.assert_allclose(np.reshape(shades, A.shape), 50 * A, atol=0.051)


def test_the_slider_shows_every_frame(film):
    page, widget = film()
    reel, slider = reel_of(page), widget.get_by_role("slider")
    (weights,) = np.array(reel["films"])
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=4e-4)
    assert slider.get_attribute("max") == str(len(reel["steps"]) - 1) and slider.input_value() == "0"
    for frame, A in enumerate(weights):
        slider.fill(str(frame))
        assert widget.locator("output").text_content() == str(reel["steps"][frame])
        assert slider.get_attribute("aria-valuetext") == f"step {reel['steps'][frame]}"
        assert_shows(widget, A)
    assert page.log.console == []


def test_the_page_shows_what_the_chapter_prints(film):
    """Cells of the chapter print what each row gives to the place before (row 0: to itself) after some steps."""
    page, widget = film()
    printed = re.findall(r"^step +(\d+) \[([\d. ]+)\]$", page.locator("article").inner_text(), re.M)
    assert len(printed) >= 3
    for step, numbers in printed:
        widget.get_by_role("slider").fill(str(reel_of(page)["steps"].index(int(step))))
        texts = np.reshape(widget.locator("tbody td").all_text_contents(), (6, 6))
        shown = [float(texts[i, max(i - 1, 0)]) for i in range(6)]
        np.testing.assert_allclose(shown, np.fromstring(numbers, sep=" "), atol=0.0101)  # rounded once more


def test_keys_move_the_film_and_a_screen_reader_hears_where_it_looks(film):
    page, widget = film()
    reel, slider = reel_of(page), widget.get_by_role("slider")
    slider.focus()
    for key, frame in [("ArrowRight", 1), ("ArrowUp", 2), ("ArrowLeft", 1), ("End", len(reel["steps"]) - 1)]:
        page.keyboard.press(key)
        assert_shows(widget, np.array(reel["films"][0][frame]))
    told, last = widget.locator(".attn-told").text_content(), np.array(reel["films"][0][-1])
    assert told.startswith(f"step {reel['steps'][-1]}. A: ")
    for query, row in zip(reel["queries"], last, strict=True):
        assert f"{query} → {reel['keys'][row.argmax()]} {row.max():.2f}" in told
    page.keyboard.press("Home")
    assert_shows(widget, np.array(reel["films"][0][0]))
    assert page.locator(f'label[for="{slider.get_attribute("id")}"]').inner_text() == "step"
    assert slider.get_attribute("data-lm-suppress-shortcuts") == "true"
    outline = slider.evaluate("(input) => getComputedStyle(input).outlineStyle")
    assert outline == "solid", "the focus must be seen"


def test_rows_and_columns_are_named(film):
    page, widget = film()
    reel = reel_of(page)
    assert widget.locator("caption").all_text_contents() == reel["names"]
    assert widget.locator("thead th[scope=col]").all_text_contents()[-6:] == reel["keys"]
    assert widget.locator("tbody th[scope=row]").all_text_contents() == reel["queries"]


@pytest.mark.parametrize("view", ["zh", "en", "both"])
@pytest.mark.parametrize("width", [360, 1300])
def test_it_fits_stays_and_speaks_the_language_of_the_page(film, view, width):
    page, widget = film(view, viewport={"width": width, "height": 740})
    heights, slider = {widget.bounding_box()["height"]}, widget.get_by_role("slider")
    for frame in range(len(reel_of(page)["steps"])):
        slider.fill(str(frame))
        slider.dispatch_event("change")
        heights.add(widget.bounding_box()["height"])
    assert len(heights) == 1 and page.evaluate("document.documentElement.scrollWidth") == width
    last = {"zh": "第 300 步", "en": "step 300", "both": "第 300 步 · step 300"}[view]
    assert slider.get_attribute("aria-valuetext") == last
    assert widget.locator(".attn-told").text_content().startswith(f"{last}. A: ")
    fit = widget.evaluate(FIT)
    assert fit["out"] == [] and fit["least"] >= 24
    words = (
        f"{widget.inner_text()} {widget.locator('.attn-told').text_content()} {slider.get_attribute('aria-valuetext')}"
    )
    assert bool(HAN.search(words)) == (view != "en") and ("step" in words) == (view != "zh")
    for node in widget.locator("[lang]").all():
        assert bool(HAN.search(node.text_content())) == (node.get_attribute("lang") == LANGS["zh"])


@pytest.mark.parametrize("view", ["zh", "en", "both"])
def test_without_javascript_there_is_a_still_picture(open_page, site_url, view):
    page = open_page(java_script_enabled=False)
    page.goto(f"{site_url}/{view}/{CHAPTER}")
    title = ("训练到第 300 步", "after step 300")[view == "en"]
    still = page.locator(".widget-still svg", has=page.locator("title", has_text=title))
    last = np.array(reel_of(page)["films"][0][-1])
    assert still.is_visible() and f"{last[0, 0]:.4f}" in still.text_content()
    assert bool(HAN.search(still.locator("title").text_content())) == (view != "en")
