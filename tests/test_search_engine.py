"""The search engine computes what NumPy computes, in Python and in JavaScript; bad input is refused with a remedy."""

import itertools
import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import attention_mechanism as am
from attention_widgets import Misfit, SearchEngine, search_engine
from conftest import run

ESM = SearchEngine._esm
PAGES = [
    {"zh": "甲", "en": "<one>", "key": [1, 0], "value": [0, -2]},
    {"zh": "乙", "en": "two & three", "key": (0, 1), "value": np.array([2.0, 2.0])},
]


# The mathematics in JavaScript


@pytest.mark.parametrize("size", [1e-6, 1, 3, 1e4])
def test_search_matches_numpy(size):
    rng = np.random.default_rng(int(size))
    q, K, V = rng.normal(size=(200, 1, 2)) * size, rng.normal(size=(200, 6, 2)) * size, rng.normal(size=(200, 6, 2))
    q[0], K[1] = 0, 0
    z, a = am.scaled_dot_product_attention(q, K, V)
    given = {"q": q[:, 0].tolist(), "K": K.tolist(), "V": V.tolist()}
    got = run(ESM, "given.q.map((q, i) => m.search(q, given.K[i], given.V[i]))", given)
    expected = {"scores": am.dot_scores(q, K)[:, 0], "seen": am.scaled_scores(q, K)[:, 0], "a": a[:, 0], "z": z[:, 0]}
    for name, numbers in expected.items():
        np.testing.assert_allclose([g[name] for g in got], numbers, rtol=1e-12, atol=1e-8 * (size > 3) + 1e-14)


def corners(points):
    """The ends of the lines through two points that leave all others on one side."""
    found = set()
    for (a, b), (c, d) in itertools.permutations(points, 2):
        if all((c - a) * (f - b) - (d - b) * (e - a) >= 0 for e, f in points):
            found |= {(a, b), (c, d)}
    return found


def test_hull_has_the_outer_points_in_order():
    points = np.random.default_rng(0).normal(size=(300, 6, 2)).round(3).tolist()
    for given, got in zip(points, run(ESM, "given.map((p) => m.hull(p))", points), strict=True):
        assert {tuple(p) for p in got} == corners([tuple(p) for p in given]) and len(got) == len({*map(tuple, got)})
        (x, y), (u, v) = np.array(got).T, np.roll(np.array(got), -1, axis=0).T
        assert (x * v - u * y).sum() > 0  # the area, so they go around once, the same way


@pytest.mark.parametrize("points, expected", [
    ([[1, 1], [1, 1]], {(1, 1)}),
    ([[0, 0], [1, 2], [2, 4], [1, 2]], {(0, 0), (2, 4)}),
    ([[0, 0], [2, 0], [2, 2], [0, 2], [1, 1], [1, 0]], {(0, 0), (2, 0), (2, 2), (0, 2)}),
])  # fmt: skip
def test_hull_of_points_that_coincide_or_lie_in_a_line(points, expected):
    assert {tuple(p) for p in run(ESM, "m.hull(given)", points)} == expected


def test_foot_is_on_the_line_and_at_a_right_angle():
    q, k = np.random.default_rng(1).normal(size=(2, 100, 2))
    feet = np.array(run(ESM, "given[0].map((q, i) => m.foot(q, given[1][i]))", [q.tolist(), k.tolist()]))
    np.testing.assert_allclose(((k - feet) * q).sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(feet[:, 0] * q[:, 1], feet[:, 1] * q[:, 0], atol=1e-12)
    assert run(ESM, "m.foot([0, 0], [1, 2])") is None


def test_both_languages_of_the_code_agree_on_the_plane():
    assert run(ESM, "[m.REACH, m.LETTERS.join('')]") == [search_engine.REACH, search_engine.LETTERS]


# The Python side


def test_first_query_by_hand():
    engine = SearchEngine()
    np.testing.assert_allclose(engine.scores, [1.5 * 2, 1.5 * 0.4, 1.5 * 1.5, 1.5 * 2])
    powers = [math.exp(s / math.sqrt(2)) for s in (3, 0.6, 2.25, 3)]
    np.testing.assert_allclose(engine.weights, [p / sum(powers) for p in powers])
    z = [sum(p * v[c] for p, v in zip(powers, engine.V, strict=True)) / sum(powers) for c in range(2)]
    np.testing.assert_allclose(engine.output, z)


def test_what_the_first_queries_show():
    """Chapter 1 tells these apart."""
    engine, weights = SearchEngine(), []
    for query in search_engine.first_queries():
        engine.query = query["query"]
        weights.append(engine.weights)
    first, cooking, half, longer, reversed_, zero = weights
    assert first[0] == first[3] > first[2] > first[1] and cooking.argmax() == 1 and half.argmax() == 2
    assert longer.max() > first.max() and longer.min() < first.min()
    assert reversed_.argmax() == 1 and reversed_.sum() == pytest.approx(1)
    np.testing.assert_array_equal(zero, [0.25] * 4)
    assert engine.K[0] == engine.K[3] and engine.V[0] != engine.V[3]


def test_a_key_moves_weights_and_output_a_value_the_output_alone():
    engine = SearchEngine()
    weights, output = engine.weights, engine.output
    engine.V = [[0.0, 0.0], *engine.V[1:]]
    np.testing.assert_array_equal(engine.weights, weights)
    np.testing.assert_allclose(engine.output, output - weights[0] * np.array([-1.5, 1.5]))
    engine.K = [[0.0, 0.0], *engine.K[1:]]
    assert (engine.weights != weights).all()


@pytest.mark.parametrize("seed", range(20))
def test_with_keys_as_values_the_output_never_scores_below_the_mean(seed):
    engine, (query, *K) = SearchEngine(), np.random.default_rng(seed).uniform(-3, 3, size=(5, 2))
    engine.tied, engine.query, engine.K = True, query.tolist(), [k.tolist() for k in K]
    np.testing.assert_allclose(engine.output, engine.weights @ np.array(K))
    assert query @ engine.output >= engine.scores.mean()


def test_the_page_moves_python():
    engine = SearchEngine()
    engine.set_state({"query": [0, 0], "tied": True})
    np.testing.assert_allclose(engine.output, np.mean(engine.K, axis=0))


def test_own_pages_queries_and_axes():
    topics = [{"zh": "猫", "en": "cats"}, {"zh": "狗", "en": "dogs"}]
    engine = SearchEngine(PAGES, [{"zh": "都行", "en": "either", "query": [2, 2]}], topics=topics)
    assert engine.names == ["<one>", "two & three"] and engine._start["topics"] == topics
    np.testing.assert_allclose(engine.output, [1, 0])


@pytest.mark.parametrize("given, words", [
    ({"pages": PAGES[:1]}, "there are 1 pages; the search engine shows 2 to 6"),
    ({"pages": [PAGES[0] | {"key": [1, 2, 3]}, PAGES[1]]}, "has 3 components; give 2"),
    ({"pages": [PAGES[0], PAGES[1] | {"value": [0, float("nan")]}]}, "value .* give two numbers from −3 to 3"),
    ({"queries": [{"zh": "远", "en": "far", "query": [0, 4]}]}, r"query \[0.0, 4.0\] is off the plane"),
    ({"queries": []}, "give at least one query"),
    ({"topics": [{"zh": "一", "en": "one"}]}, "two names each"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        SearchEngine(**given)


@pytest.mark.parametrize("name, value, words", [
    ("query", [1.0], "query .* has 1 components"),
    ("query", [0.0, 3.5], "off the plane"),
    ("K", [[0.0, 0.0]] * 3, "4 pages need 4 rows of K, but there are 3"),
    ("K", [[0.0, 0.0]] * 3 + [[math.inf, 0.0]], "key .* off the plane"),
    ("V", [[0.0, 0.0]] * 3 + [[1.0]], "value .* has 1 components"),
])  # fmt: skip
def test_a_change_that_does_not_fit_is_taken_back(name, value, words):
    engine = SearchEngine()
    before = getattr(engine, name)
    with pytest.raises(Misfit, match=words):
        setattr(engine, name, value)
    assert getattr(engine, name) == before


def test_two_engines_do_not_share_their_pages():
    one, other = SearchEngine(), SearchEngine()
    one.K = [[0.0, 0.0]] * 4
    assert repr(other) == repr(SearchEngine())


def test_repr_is_stable():
    expected = "SearchEngine(query=[1.5, 0], weights=[0.3608, 0.0661, 0.2123, 0.3608], output=[-0.4183, -0.0354])"
    assert repr(SearchEngine()) == repr(SearchEngine()) == expected
    engine = SearchEngine()
    engine.query = [-0.00001, 0]
    assert "query=[0, 0]" in repr(engine)


def test_still_says_it_without_javascript():
    engine = SearchEngine(PAGES, [{"zh": "问", "en": "ask", "query": [1, 1]}])
    root = ET.fromstring(engine.still)
    space = "{http://www.w3.org/2000/svg}"
    zh, en = root.find(f"{space}title").text.split(" | ")
    assert "甲" in zh and "<one>" in en and not re.search(r"[\u4e00-\u9fff]", en)
    texts = [t.text for t in root.iter(f"{space}text")]
    assert {"A", "B", "0.5000", "z[0]", "1.0000"} <= set(texts) and "C" not in texts
    assert not re.search(r"[\u3000-\u9fff]", "".join(texts))
