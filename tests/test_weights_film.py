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
        (({"A": FILM[0]}, [0]), r"must be \(1, n_q, n_k\)"),
        (({"A": FILM}, [0]), r"must be \(1, n_q, n_k\), one matrix for each step, but it is \(2, 3, 4\)"),
        (({"A": FILM, "B": FILM[:, :2]}, [0, 1]), "all films of one size"),
        (({}, [0]), "at least one film"),
        (({"A": FILM[:0]}, []), "no steps"),
        (({"A": FILM}, [0, 0.5]), r"steps must be whole numbers, one for each frame, but they are \[0, 0.5\]"),
        (({"A": FILM}, 2), "steps must be whole numbers"),
        (({"A": "x"}, [0]), "film A must be an array of numbers"),
        (({"A": [[[1, 0], [1]]]}, [0]), "film A must be an array of numbers"),
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
    last = [f"{a:.4f}".rstrip("0") for film in (FILM[1], FILM[0]) for a in film.ravel()]
    assert [text for text in texts if "." in text] == last and {"<A>", "B"} <= set(texts)
