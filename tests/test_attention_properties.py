"""What must hold for any input, on inputs drawn by Hypothesis: shapes from 0 up, batches that broadcast, masks, dtypes,
arrays of any form, values from 0 to the largest.  The oracles are those of test_attention_mechanism.py.

The same inputs are drawn every time.  They are so small that no failure needs shrinking.
"""

from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import attention_mechanism as am
from test_attention_mechanism import (
    DIFFERENCE,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    MASKS,
    attention,
    close,
    differences,
    heads,
    read_only,
)

any_input = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    report_multiple_bugs=False,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],  # other work on the machine is no fault of ours
)
TOLERANCE = {np.float64: FLOAT64, np.float32: FLOAT32, np.float16: FLOAT16, int: FLOAT64}
LARGEST = {np.float64: 1e308, np.float32: 1e38, np.float16: 6e4, int: 10**6}
SIZES = st.sampled_from([3, 2, 4, 3, 2, 4, 5, 1, 0])  # what comes first is drawn most often
WIDTHS = st.sampled_from([3, 2, 1, 4])
SEEDS = st.integers(0, 99)
LEADS = st.sampled_from([(2,), (), (3, 2), (0,)])
MASK_KINDS = st.sampled_from(["scattered", "padding of the batch", *reversed(MASKS)])
FORMS = [np.asarray, read_only, np.asfortranarray, lambda X: np.flip(np.flip(X).copy())]  # the last: negative strides


def units(shape):
    """One 1 in each row, as far as there are columns."""
    return np.zeros(shape) + np.eye(*shape[-2:])


VALUES = {  # rng, the shapes of Q, K and V, a number almost as large as the dtype has -> Q, K, V
    "normal": lambda rng, q, k, v, large: [rng.standard_normal(shape) for shape in (q, k, v)],
    "zeros": lambda rng, q, k, v, large: [np.zeros(q), np.zeros(k), np.zeros(v)],
    "thousands": lambda rng, q, k, v, large: [rng.choice([-1000.0, 1000.0], shape) for shape in (q, k, v)],
    "equal scores": lambda rng, q, k, v, large: [rng.standard_normal(q), np.ones(k), rng.standard_normal(v)],
    "one-hot": lambda rng, q, k, v, large: [units(q), units(k), units(v)],
    "large": lambda rng, q, k, v, large: [
        large * units(q),
        rng.integers(-1, 2, k) * 1.0,
        rng.choice([large, -large, 0], v),
    ],
}


class Inputs(NamedTuple):
    Q: Any
    K: Any
    V: Any
    mask: Any
    keep: Any  # the mask as True = may attend, for all of the batch
    dtype: Any


@st.composite
def inputs(draw, values=tuple(VALUES), dtypes=tuple(TOLERANCE), leads=LEADS):
    lead, (n_q, n_k, d_k, d_v) = draw(leads), [draw(SIZES) for _ in range(4)]
    q, k, v = ([draw(st.sampled_from([n, 1])) for n in lead[draw(st.integers(0, len(lead))) :]] for _ in range(3))
    dtype, form, rng = draw(st.sampled_from(dtypes)), draw(st.sampled_from(FORMS)), np.random.default_rng(draw(SEEDS))
    make = VALUES[draw(st.sampled_from(values))]
    Q, K, V = make(rng, (*q, n_q, d_k), (*k, n_k, d_k), (*v, n_k, d_v), LARGEST[dtype])
    batch = np.broadcast_shapes(q, k)
    mask = drawn_mask(draw(MASK_KINDS), rng, batch, n_q, n_k)
    keep = True if mask is None else mask if mask.dtype == bool else mask > -np.inf
    keep = np.broadcast_to(keep, (*np.broadcast_shapes(batch, v), n_q, n_k))
    return Inputs(*(form(X.astype(dtype)) for X in (Q, K, V)), mask, keep, dtype)


def drawn_mask(kind, rng, batch, n_q, n_k):
    if kind == "padding of the batch":
        return np.arange(n_k) < rng.integers(0, n_k + 1, batch)[..., None, None]
    if kind == "scattered":
        return np.where(rng.random((*batch, n_q, n_k)) < 0.5, 0.0, -np.inf)
    return MASKS[kind](n_q, n_k) if n_k else None


def by_rows(block, *arguments, **more):
    """attention_by_rows with so many rows to a block."""
    with mock.patch.object(am, "ROWS_PER_BLOCK", block):
        return am.attention_by_rows(*arguments, **more)


BLOCKS = st.sampled_from([1, 2, 3, 128])
COMPARED = [name for name in VALUES if name != "large"]  # with those, one rounding decides which key gets all
SMALL = ["normal", "equal scores", "one-hot"]


def rounding(Q, K):
    """What a weight may be off by: scores are rounded, the larger the coarser."""
    scores = abs(Q.astype(float)).max(initial=0) * abs(K.astype(float)).max(initial=0) * K.shape[-1]
    return FLOAT64 * max(1, scores)


# ------------------------------------------------------------------------------------------------ one attention


@any_input
@given(inputs(values=COMPARED, dtypes=[np.float64, int]), BLOCKS, st.integers(0, 4))
def test_any_attention_is_the_loops(x, block, offset):
    Z, A = am.scaled_dot_product_attention(x.Q, x.K, x.V, x.mask)
    Z_loops, A_loops = attention(x.Q, x.K, x.V, x.mask)
    assert Z.shape == Z_loops.shape
    close(Z, Z_loops, rounding(x.Q, x.K))
    close(np.broadcast_to(A, A_loops.shape), A_loops, rounding(x.Q, x.K))
    close(by_rows(block, x.Q, x.K, x.V, x.mask), Z_loops, rounding(x.Q, x.K))
    seen = np.tri(*x.keep.shape[-2:], offset, dtype=bool)
    both = seen if x.mask is None else seen & x.mask if x.mask.dtype == bool else np.where(seen, x.mask, -np.inf)
    Z_causal = by_rows(block, x.Q, x.K, x.V, x.mask, causal=True, offset=offset)
    close(Z_causal, attention(x.Q, x.K, x.V, both)[0], rounding(x.Q, x.K))


@any_input
@given(inputs(), BLOCKS)
def test_rows_sum_to_1_or_0_and_outputs_stay_among_the_values(x, block):
    """The dtype stays as well, blocked weights are exactly 0, and so is the output of a query that sees nothing."""
    Z, A = am.scaled_dot_product_attention(x.Q, x.K, x.V, x.mask)
    Z_rows = by_rows(block, x.Q, x.K, x.V, x.mask)
    assert Z.dtype == A.dtype == Z_rows.dtype == (float if x.dtype is int else x.dtype)
    weights = np.broadcast_to(A, x.keep.shape)
    close(weights.sum(-1, dtype=float), x.keep.any(-1), TOLERANCE[x.dtype])
    assert (weights >= 0).all() and (weights[~x.keep] == 0).all()
    V = np.broadcast_to(x.V, x.keep.shape[:-2] + x.V.shape[-2:]).astype(float)
    slack = TOLERANCE[x.dtype] * abs(V).max(initial=0)
    for *b, i in np.ndindex(x.keep.shape[:-1]):
        values = V[tuple(b)][x.keep[(*b, i)]] if x.keep[(*b, i)].any() else np.zeros((1, V.shape[-1]))
        for z in Z[(*b, i)], Z_rows[(*b, i)]:
            assert (z >= values.min(0) - slack).all() and (z <= values.max(0) + slack).all()


@any_input
@given(inputs(), BLOCKS)
def test_inputs_are_left_alone_and_results_are_the_same_every_time(x, block):
    Q, K, V = (np.array(X) for X in x[:3])
    mask = None if x.mask is None else x.mask.copy()
    for f in am.scaled_dot_product_attention, lambda *X: [by_rows(block, *X)]:
        first, second = f(Q, K, V, mask), f(*x[:4])
        assert all(np.array_equal(one, other) for one, other in zip(first, f(Q, K, V, mask), strict=True))
        for one, other in zip(first, second, strict=True):  # the same numbers stored in another way
            close(one / LARGEST[x.dtype], other / LARGEST[x.dtype], TOLERANCE[x.dtype])
    assert all(np.array_equal(X, before) for X, before in zip((Q, K, V), x[:3], strict=True))
    assert mask is None or np.array_equal(mask, x.mask)


@any_input
@given(inputs(values=COMPARED, dtypes=[np.float64]), BLOCKS)
def test_a_batch_is_a_loop(x, block):
    """Each of a batch comes out as if it were alone."""
    Z, A = am.scaled_dot_product_attention(x.Q, x.K, x.V, x.mask)
    Z_rows, lead = by_rows(block, x.Q, x.K, x.V, x.mask), x.keep.shape[:-2]
    Q, K, V = (np.broadcast_to(X, lead + X.shape[-2:]) for X in (x.Q, x.K, x.V))
    mask = None if x.mask is None else np.broadcast_to(x.mask, x.keep.shape)
    A = np.broadcast_to(A, x.keep.shape)
    for b in np.ndindex(*lead):
        Z_alone, A_alone = am.scaled_dot_product_attention(Q[b], K[b], V[b], None if mask is None else mask[b])
        close(A[b], A_alone, rounding(x.Q, x.K))
        for Z_b in Z[b], Z_rows[b]:
            close(Z_b, Z_alone, rounding(x.Q, x.K))


@any_input
@given(inputs(values=SMALL, dtypes=[np.float64]), BLOCKS, SEEDS)
def test_keys_and_queries_may_be_permuted(x, block, seed):
    """Keys together with their values, without effect; queries, and so do their rows."""
    rng, keep = np.random.default_rng(seed), x.keep if x.mask is None else np.broadcast_to(x.mask, x.keep.shape)
    queries, keys = rng.permutation(x.Q.shape[-2]), rng.permutation(x.K.shape[-2])
    Q, K, V = x.Q[..., queries, :], x.K[..., keys, :], x.V[..., keys, :]
    mask = keep[..., queries, :][..., keys]
    Z, A = am.scaled_dot_product_attention(x.Q, x.K, x.V, x.mask)
    Z_moved, A_moved = am.scaled_dot_product_attention(Q, K, V, mask)
    close(A_moved, np.broadcast_to(A, x.keep.shape)[..., queries, :][..., keys])
    close(Z_moved, Z[..., queries, :])
    close(by_rows(block, Q, K, V, mask), Z[..., queries, :])


@any_input
@given(inputs(values=SMALL, dtypes=[np.float64]), BLOCKS, SEEDS)
def test_a_shift_of_all_scores_of_a_query_changes_nothing(x, block, seed):
    """All keys moved by one vector; a number added to a row of the mask."""
    rng, (Z, A) = np.random.default_rng(seed), am.scaled_dot_product_attention(x.Q, x.K, x.V, x.mask)
    K = x.K + rng.standard_normal(x.K.shape[-1])
    M = np.where(x.keep, 0, -np.inf) if x.mask is None or x.mask.dtype == bool else x.mask
    M = M + rng.choice([-500.0, 3.0, 500.0], (x.Q.shape[-2], 1))
    for moved, mask in (K, x.mask), (x.K, M):
        Z_moved, A_moved = am.scaled_dot_product_attention(x.Q, moved, x.V, mask)
        close(A_moved, np.broadcast_to(A, A_moved.shape), 1e3 * FLOAT64)  # 500 and a score have three digits less
        close(Z_moved, Z, 1e3 * FLOAT64)
        close(by_rows(block, x.Q, moved, x.V, mask), Z, 1e3 * FLOAT64)


@any_input
@given(SIZES, SIZES, SIZES, st.integers(0, 4), st.sampled_from([100.0, -1e3, 1e308]), BLOCKS, SEEDS)
def test_the_future_does_not_change_the_past(n_q, n_k, i, offset, large, block, seed):
    """Keys and values that query i does not see become others, large ones too: the rows up to i stay the same."""
    rng = np.random.default_rng(seed)
    Q, K, V = (rng.standard_normal((n, 3)) for n in (n_q, n_k, n_k))
    K_2, V_2, mask = K.copy(), V.copy(), am.causal_mask(n_q, n_k, offset)
    K_2[i + offset + 1 :] *= 100
    V_2[i + offset + 1 :] = large
    for f in (
        lambda K, V: am.scaled_dot_product_attention(Q, K, V, mask)[0],
        lambda K, V: am.scaled_dot_product_attention(Q, K, V, am.to_additive(mask))[0],
        lambda K, V: by_rows(block, Q, K, V, mask),
        lambda K, V: by_rows(block, Q, K, V, causal=True, offset=offset),
        lambda K, V: by_rows(block, Q, K, V, np.ones((n_q, n_k), bool), causal=True, offset=offset),
        lambda K, V: am.multi_head_attention(Q, K + V / 1e308, *[np.eye(3)] * 4, 3, mask)[0],
    ):
        close(f(K_2, V_2)[: i + 1], f(K, V)[: i + 1])


@any_input
@given(
    inputs(values=["normal", "thousands"], dtypes=[np.float64, np.float32]),
    BLOCKS,
    st.sampled_from([np.nan, np.inf, -np.inf, 1e38]),
)
def test_what_nobody_may_see_reaches_nothing(x, block, bad):
    """Keys that no query may attend to, values at the same places, and queries that may attend to no key."""
    reached = [x.keep.any(axis) for axis in (-1, -2)]
    Q, K, V = (np.broadcast_to(X, x.keep.shape[:-2] + X.shape[-2:]) for X in (x.Q, x.K, x.V))
    G = np.ones_like(V, shape=(*Q.shape[:-1], V.shape[-1]))
    clean, spoilt = (
        [
            np.where(r[..., None], X, fill).astype(x.dtype)
            for r, X in zip((*reached, reached[1], reached[0]), (Q, K, V, G), strict=True)
        ]
        for fill in (0, bad)
    )
    for Q, K, V, G in clean, spoilt:
        Z, A = am.scaled_dot_product_attention(Q, K, V, x.mask)
        results = [Z, A, by_rows(block, Q, K, V, x.mask), *am.scaled_dot_product_attention_backward(G, Q, K, V, A)]
        if Q is clean[0]:
            wanted = results
    for result, right in zip(results, wanted, strict=True):
        assert np.isfinite(result).all()
        close(result, right, 0)


# ------------------------------------------------------------------------------------------ many heads, gradients


@st.composite
def layers(draw, sizes=SIZES, widths=WIDTHS, leads=LEADS):
    """X_q, X_s, W_Q, W_K, W_V, W_O, n_head and a mask."""
    lead, rng, n_head = draw(leads), np.random.default_rng(draw(SEEDS)), draw(st.integers(1, 3))
    n_q, n_k = (draw(sizes) for _ in range(2))
    d_model, d_source, d_k, d_v, d_out = (draw(widths) for _ in range(5))
    q, s = (lead[draw(st.integers(0, len(lead))) :] for _ in range(2))
    shapes = (*q, n_q, d_model), (*s, n_k, d_source), (d_model, n_head * d_k), (d_source, n_head * d_k)
    shapes += (d_source, n_head * d_v), (n_head * d_v, d_out)
    mask = drawn_mask(draw(MASK_KINDS), rng, np.broadcast_shapes(q, s), n_q, n_k)
    return [rng.standard_normal(shape) for shape in shapes], n_head, mask


@any_input
@given(layers())
def test_heads_are_a_loop(layer):
    X, n_head, mask = layer
    Y, A = am.multi_head_attention(*X, n_head, mask)
    Y_loops, A_loops = heads(*X, n_head, mask)
    assert Y.shape == Y_loops.shape and A.shape == A_loops.shape
    close(Y, Y_loops)
    close(A, A_loops)
    joint = np.broadcast_shapes(X[0].shape[:-2], X[1].shape[:-2])
    for b in np.ndindex(*joint):  # and a batch is a loop
        X_q, X_s = (np.broadcast_to(x, joint + x.shape[-2:])[b] for x in X[:2])
        M = None if mask is None else np.broadcast_to(mask, (*joint, X_q.shape[-2], X_s.shape[-2]))[b]
        close(am.multi_head_attention(X_q, X_s, *X[2:], n_head, M)[0], Y[b])


@any_input
@given(layers(), SEEDS)
def test_heads_and_their_parameters_may_be_permuted(layer, seed):
    """Heads put into another order, with their columns and rows of the parameters, give the same output."""
    (X_q, X_s, W_Q, W_K, W_V, W_O), n_head, mask = layer
    order = np.random.default_rng(seed).permutation(n_head)
    moved = [am.merge_heads(am.split_heads(W, n_head)[order]) for W in (W_Q, W_K, W_V)]
    moved.append(am.merge_heads(am.split_heads(W_O.T, n_head)[order]).T)
    Y, A = am.multi_head_attention(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask)
    Y_moved, A_moved = am.multi_head_attention(X_q, X_s, *moved, n_head, mask)
    close(Y_moved, Y)
    close(A_moved, A[..., order, :, :])


FEW, ONE_LEAD = st.sampled_from([2, 3, 1]), st.sampled_from([(2,), ()])


@settings(any_input, max_examples=25)
@given(inputs(values=SMALL, dtypes=[np.float64], leads=ONE_LEAD), SEEDS)
def test_any_gradients_are_differences(x, seed):
    Z, A = am.scaled_dot_product_attention(x.Q, x.K, x.V, x.mask)
    G = np.random.default_rng(seed).standard_normal(Z.shape)
    operands = [np.array(X) for X in (x.Q, x.K, x.V)]
    wanted = differences(lambda *X: attention(*X, x.mask)[0], operands, G)
    for g, w in zip(am.scaled_dot_product_attention_backward(G, *operands, A), wanted, strict=True):
        assert g.shape == w.shape
        close(g, w, DIFFERENCE)


@settings(any_input, max_examples=15)
@given(layers(sizes=FEW, widths=FEW, leads=ONE_LEAD), SEEDS)
def test_any_gradients_of_heads_are_differences(layer, seed):
    X, n_head, mask = layer
    X = [x / 2 for x in X]
    G = np.random.default_rng(seed).standard_normal(heads(*X, n_head, mask)[0].shape)
    wanted = differences(lambda *X: heads(*X, n_head, mask)[0], [x.copy() for x in X], G)
    for g, w in zip(am.multi_head_attention_backward(G, *X, n_head, mask), wanted, strict=True):
        assert g.shape == w.shape
        close(g, w, DIFFERENCE)


# ------------------------------------------------------------------------------------------------- the small parts


@any_input
@given(st.lists(SIZES, min_size=1, max_size=3), st.sampled_from([1.0, 1000.0, 1e307]), SEEDS)
def test_any_softmax_is_a_share_that_no_shift_changes(shape, size, seed):
    rng = np.random.default_rng(seed)
    x = size * rng.integers(-9, 9, shape)  # whole numbers: a shift by one more rounds nothing
    x[rng.random(shape) < 0.3] = -np.inf
    for axis in range(len(shape)):
        with np.errstate(all="raise"):
            a = am.softmax(x, axis)
        close(a.sum(axis), np.isfinite(x).any(axis))
        assert (a >= 0).all() and (a[np.isneginf(x)] == 0).all()
        close(am.softmax(x + 3 * size, axis), a)


@any_input
@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 8), st.lists(st.integers(0, 6), max_size=4))
def test_any_mask_is_its_definition_and_converts_there_and_back(n_q, n_k, offset, lengths):
    causal, padding = am.causal_mask(n_q, n_k, offset), am.padding_mask(np.array(lengths, int) % (n_k + 1), n_k)
    assert causal.tolist() == [[j <= i + offset for j in range(n_k)] for i in range(n_q)]
    assert padding.tolist() == [[[j < n % (n_k + 1) for j in range(n_k)]] for n in lengths]
    for keep in causal, padding:
        assert np.array_equal(am.to_boolean(am.to_additive(keep, np.float32)), keep)


@any_input
@given(st.lists(SIZES, max_size=2), SIZES, st.integers(1, 4), SIZES)
def test_any_split_is_undone_by_merging(lead, n, n_head, d):
    X = np.arange(np.prod([*lead, n, n_head * d])).reshape(*lead, n, n_head * d)
    H = am.split_heads(X, n_head)
    assert H.shape == (*lead, n_head, n, d) and np.array_equal(am.merge_heads(H), X)
    for r in range(n_head):
        assert np.array_equal(H[..., r, :, :], X[..., r * d : (r + 1) * d])
