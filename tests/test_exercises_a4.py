"""Assignment 4, multi-head attention: what only this one asks."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import attention_mechanism as am
from attention_grading.assignment import Assignment, variants
from attention_grading.judge import here, judge
from attention_grading.release import run_master
from exercise_checks import every_variant

A4 = Assignment(Path(__file__).resolve().parents[1] / "exercises" / "a4_multi_head")


@pytest.mark.parametrize("key", A4.questions)
def test_there_are_enough_variants(key):
    assert variants(A4.questions[key].choices) >= 150


# ----------------------------------------------------------- special cases for which the course's functions are right


def solution(key, **choices):
    """The master's function for one question, with these choices."""
    question = A4.questions[key]
    v = SimpleNamespace(**{**vars(every_variant(question.choices)[0]), **choices})
    return run_master(A4, {key: v})[question.function]


def drawn(*shapes):
    rng = np.random.default_rng(4)
    return [rng.normal(size=shape) for shape in shapes]


def test_distance_is_a_bias_added_to_the_scores():
    Q, K = drawn((3, 4, 5), (3, 7, 5))
    steps = np.arange(4)[:, None] + 2 - np.arange(7)
    bias = [-0.4 / (r + 1) * steps**2 + np.where((steps if r else -steps) >= 0, 0, -np.inf) for r in range(3)]
    _, A = am.scaled_dot_product_attention(Q, K, K, np.array(bias))
    ours = solution("q2", offset=2, back="rest", penalty="square", slope="dividing", c=0.4)
    np.testing.assert_allclose(ours(Q, K), A, atol=1e-12)


def test_shared_heads_are_copied_heads():
    Q, K, V = drawn((2, 6, 3, 4), (2, 3, 5, 4), (2, 3, 5, 2))
    repeated = [np.repeat(X, 2, axis=1) for X in (K, V)]
    real = am.padding_mask([[3], [0]], 5)
    Z, _ = am.scaled_dot_product_attention(Q / 0.8, *repeated, real)
    ours = solution("q3", groups="blocks", real="first", temperature=0.8, layout="side by side")
    np.testing.assert_allclose(ours(Q, K, V, np.array([3, 0])), am.merge_heads(Z), atol=1e-12)


@pytest.mark.parametrize("gated", ["values", "outputs"])
@pytest.mark.parametrize("vectors", ["rows", "columns"])
def test_open_gates_and_a_wide_window_leave_causal_attention(gated, vectors):
    X, W_Q, W_K, W_V, W_G, W_O = drawn((4, 5), (5, 8), (5, 8), (5, 6), (5, 2), (6, 5))
    Y, _ = am.multi_head_attention(X, X, W_Q, W_K, W_V, W_O, 2, am.causal_mask(4))
    ours = solution("q4", vectors=vectors, gated=gated, n_head=2, columns="blocks", window=4, gate="1 + tanh")
    given = (X, W_Q, W_K, W_V, 0 * W_G, W_O)
    got = ours(*given) if vectors == "rows" else ours(*(M.T for M in given)).T
    np.testing.assert_allclose(got, X + Y, atol=1e-12)


def test_one_plain_layer_counts_as_in_the_book():
    ours = solution("q5", layers=1, group=1, tied=False, gate="none", bias="none", bytes=2)
    n, d_model = 10, 24
    assert ours("parameters", n, d_model, 4, 6) == 4 * d_model**2
    assert ours("multiply-adds", n, d_model, 4, 6) == 4 * d_model**2 + 2 * n * d_model
    assert ours("cache", n, d_model, 4, 6) == 2 * 2 * n * d_model


# ------------------------------------------------------------------------------------ what is half right gets points


def nothing_hidden(v, Q, K):
    """Head weights by somebody who did not think of rows in which nothing is seen."""
    A = A4.questions["q2"].reference(v, Q, K)
    return np.where(A.any(axis=-1, keepdims=True), A, np.nan)


HALF_RIGHT = {
    "q1": (4, lambda v, P: A4.questions["q1"].mistakes[-1].gives(v, P), 1),
    "q2": (5, nothing_hidden, 4),
    "q3": (5, lambda v, Q, K, V, n: A4.questions["q3"].reference(v, Q, K, V, np.full(len(Q), K.shape[2])), 1),
    "q4": (6, lambda v, *given: A4.questions["q4"].reference(windowless(v), *given), 3),
}


def windowless(v):
    return SimpleNamespace(**{**vars(v), "window": 99})


@pytest.mark.parametrize("key", HALF_RIGHT)
def test_what_is_half_right_gets_its_share(key):
    question, (of, wrong, points) = A4.questions[key], HALF_RIGHT[key]
    for number, v in enumerate(every_variant(question.choices)[::7]):
        call = here({question.function: lambda *given, v=v: wrong(v, *given)})
        result = judge(question, v, number, call)
        assert (result["points"], result["of"]) == (points, of), (vars(v), result)


# ---------------------------------------------------------------------------------- what the marking guide says is true


def reads(v):
    """The key head of each query head."""
    size = v.n_head // v.n_kv
    return [r // size if v.groups == "blocks" else r % v.n_kv for r in range(v.n_head)]


def layer(v, X, W_Q, W_K, W_V, W_O):
    """The layer of the written question, with a stack of matrices for each W.   -> Y"""
    heads = zip(W_Q, W_K[reads(v)], W_V[reads(v)], W_O, strict=True)
    return sum(am.scaled_dot_product_attention(X @ q, X @ k, X @ value)[0] @ o for q, k, value, o in heads)


def group(v):
    """The heads that the guide puts into one group with v.head."""
    size = v.n_head // v.n_kv
    neighbours = range(v.head // size * size, (v.head // size + 1) * size)
    return set(neighbours if v.groups == "blocks" else range(v.head % v.n_kv, v.n_head, v.n_kv))


def exchanged(W, a, b):
    places = np.arange(len(W))
    places[[a, b]] = b, a
    return W[places]


@pytest.mark.parametrize("v", every_variant(A4.questions["q6"].choices)[::7], ids=lambda v: str(list(vars(v).values())))
def test_the_guide_to_the_written_question_is_true(v):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(5, v.d_model))
    W_Q, W_K, W_V = (rng.normal(size=(n, v.d_model, v.d)) / 8 for n in (v.n_head, v.n_kv, v.n_kv))
    W_O = rng.normal(size=(v.n_head, v.d, v.d_model))
    Y = layer(v, X, W_Q, W_K, W_V, W_O)

    E = np.zeros((v.n_kv * v.d, v.n_head * v.d))
    for r, k in enumerate(reads(v)):
        E[k * v.d : (k + 1) * v.d, r * v.d : (r + 1) * v.d] = np.eye(v.d)
    side_by_side = (np.concatenate(W, axis=1) for W in (W_Q, W_K, W_V))
    ordinary = [*(W if n == 0 else W @ E for n, W in enumerate(side_by_side)), np.concatenate(W_O)]
    np.testing.assert_allclose(am.multi_head_attention(X, X, *ordinary, v.n_head)[0], Y, atol=1e-9)
    more = sum(W.size for W in ordinary) - sum(W.size for W in (W_Q, W_K, W_V, W_O))
    assert more == 2 * v.d_model * v.d * (v.n_head - v.n_kv)

    others = set(range(v.n_head)) - {v.head}
    moved = {b: (exchanged(W_Q, v.head, b), W_K, W_V, exchanged(W_O, v.head, b)) for b in others}
    same = {b for b in others if np.allclose(layer(v, X, *moved[b]), Y)}
    assert same == group(v) - {v.head} and len(same) == v.n_head // v.n_kv - 1

    X = np.tile(np.eye(1, v.d_model), (5, 1))
    W_V, W_O = 0 * W_V, 0 * W_O
    W_V[reads(v)[v.head], 0, 0] = W_O[v.head, 0, 0] = 1
    assert (layer(v, X, 0 * W_Q, W_K, W_V, W_O) == np.eye(1, v.d_model)).all()
    for b in others - same:
        assert not layer(v, X, 0 * W_Q, W_K, W_V, exchanged(W_O, v.head, b)).any()
