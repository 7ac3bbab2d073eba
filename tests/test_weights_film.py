"""The film of the weights: frames as they were given, bad ones refused; its page is tested with the chapter."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import attention_mechanism as am
from attention_widgets import WeightsFilm
from conftest import run

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


def test_still_shows_the_last_frame():
    film = WeightsFilm({"<A>": FILM, "B": FILM[::-1]}, [0, 50])
    texts = [text.text for text in ET.fromstring(film.still).iter("{http://www.w3.org/2000/svg}text")]
    last = [f"{a:.4f}".rstrip("0") for film in (FILM[1], FILM[0]) for a in film.ravel()]
    assert [text for text in texts if "." in text] == last and {"<A>", "B"} <= set(texts)
