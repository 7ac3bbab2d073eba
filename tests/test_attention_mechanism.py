"""attention_mechanism against oracles of its own: plain Python loops, finite differences, SymPy, and worked values.

test_mutants.py runs these tests on every wrong version in mutants.py, so they take no fixtures.
"""

import doctest
import functools
import inspect
import itertools
import math
import tracemalloc

import numpy as np
import pytest
import sympy as sp

import attention_mechanism as am

FLOAT64, FLOAT32, FLOAT32_GRADIENT, FLOAT16 = 1e-12, 2e-6, 1e-5, 3e-3  # the tolerances of the course
DIFFERENCE = 1e-8  # a central difference of step 1e-5 is this close in float64
SIX = 5.1e-7  # a value written with six decimals


def close(x, wanted, tolerance=FLOAT64):
    """Equal shapes, and no difference above the tolerance, times the largest number wanted if that is above 1."""
    x, wanted = np.asarray(x, float), np.asarray(wanted, float)
    assert x.shape == wanted.shape
    np.testing.assert_allclose(x, wanted, rtol=0, atol=tolerance * max(1, abs(wanted).max(initial=0)))


def frozen(*arrays):
    """The arrays, read-only: what tests share, a wrong function under test must not change for the next one."""
    for X in arrays:
        X.flags.writeable = False
    return arrays


def draw(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape) for shape in shapes]


# --------------------------------------------------------------------------------------- oracles: loops, no arrays


def rows_times_columns(X, Y):
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*Y, strict=True)] for row in X]


def loops(Q, K, V, keep, bias):
    """Z and A of one sequence, from the formulas, in Python numbers."""
    Z, A = [], []
    for i, q in enumerate(Q):
        score = {}
        for j, k in enumerate(K):
            if keep[i][j]:
                score[j] = sum(q[c] * k[c] for c in range(len(q))) / (len(q) or 1) ** 0.5 + bias[i][j]
        top = max(score.values(), default=0.0)
        e = {j: math.exp(s - top) for j, s in score.items()}
        a = [e.get(j, 0.0) / sum(e.values()) if e else 0.0 for j in range(len(K))]
        A.append(a)
        Z.append([sum(a[j] * V[j][c] for j in range(len(K)) if a[j]) for c in range(V.shape[1])])
    return Z, A


def attention(Q, K, V, mask=None):
    """The loops for each element of the batch."""
    Q, K, V = (np.asarray(X, float) for X in (Q, K, V))
    lead = np.broadcast_shapes(Q.shape[:-2], K.shape[:-2], V.shape[:-2])
    n_q, n_k = Q.shape[-2], K.shape[-2]
    mask = np.broadcast_to(True if mask is None else mask, (*lead, n_q, n_k))
    keep = mask if mask.dtype == bool else mask > -np.inf
    bias = np.zeros(mask.shape) if mask.dtype == bool else mask
    Q, K, V = (np.broadcast_to(X, lead + X.shape[-2:]) for X in (Q, K, V))
    Z, A = np.zeros((*lead, n_q, V.shape[-1])), np.zeros((*lead, n_q, n_k))
    for b in np.ndindex(*lead):
        Z_b, A_b = loops(Q[b], K[b], V[b], keep[b], bias[b])
        Z[b], A[b] = np.reshape(Z_b, Z[b].shape), np.reshape(A_b, A[b].shape)  # without rows a list has no columns
    return Z, A


def heads(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None):
    """Multi-head attention as a loop over heads, each with its own columns of the projections."""
    d_k, d_v = W_Q.shape[1] // n_head, W_V.shape[1] // n_head
    parts, weights = [], []
    for r in range(n_head):
        k, v = slice(r * d_k, (r + 1) * d_k), slice(r * d_v, (r + 1) * d_v)
        Q, K, V = (
            np.einsum("...nd,de->...ne", X, W) for X, W in ((X_q, W_Q[:, k]), (X_s, W_K[:, k]), (X_s, W_V[:, v]))
        )
        Z, A = attention(Q, K, V, mask)
        parts.append(np.einsum("...nd,de->...ne", Z, W_O[v]))  # a sum over heads is the product with all of W_O
        weights.append(A)
    return sum(parts), np.stack(weights, axis=-3)


def differences(f, operands, G, h=1e-5):
    """Central differences of L = Σ G ⊙ f(operands) by every entry of every operand."""
    gradients = [np.zeros(X.shape) for X in operands]
    for X, dX in zip(operands, gradients, strict=True):
        for at in np.ndindex(*X.shape):
            here = X[at]
            X[at] = here + h
            up = (G * f(*operands)).sum()
            X[at] = here - h
            dX[at] = (up - (G * f(*operands)).sum()) / (2 * h)
            X[at] = here
    return gradients


def bias_mask(n_q, n_k):
    M = np.linspace(-2, 2, n_q * n_k).reshape(n_q, n_k)
    M[:, -1] = -np.inf
    return M


MASKS = {
    "none": lambda n_q, n_k: None,
    "causal": lambda n_q, n_k: np.tri(n_q, n_k, dtype=bool),
    "causal, bottom right": lambda n_q, n_k: np.tri(n_q, n_k, n_k - n_q, dtype=bool),  # empty rows if n_q > n_k
    "last key is padding": lambda n_q, n_k: np.arange(n_k) < n_k - 1,
    "causal and padding": lambda n_q, n_k: np.tri(n_q, n_k, dtype=bool) & (np.arange(n_k) < n_k - 1),
    "one row empty": lambda n_q, n_k: np.arange(n_q)[:, None] * np.ones(n_k) > 0,
    "all rows empty": lambda n_q, n_k: np.zeros((n_q, n_k), bool),
    "first key only": lambda n_q, n_k: np.arange(n_k)[None] == 0,
    "a query blocked": lambda n_q, n_k: np.arange(n_q)[:, None] < n_q - 1,
    "zeros": lambda n_q, n_k: np.zeros((n_q, n_k)),
    "minus infinity": lambda n_q, n_k: np.where(np.tri(n_q, n_k, dtype=bool), 0, -np.inf),
    "all minus infinity": lambda n_q, n_k: np.full((n_q, n_k), -np.inf),
    "bias": bias_mask,
}
SHAPES = {  # lead of Q, K, V; n_q, n_k, d_k, d_v
    "one": ((), (), (), 3, 5, 4, 2),
    "square": ((), (), (), 4, 4, 4, 4),
    "batch": ((2,), (2,), (2,), 5, 3, 2, 6),
    "batch and heads": ((2, 3), (2, 3), (2, 3), 5, 4, 3, 2),
    "K and V shared": ((2, 3), (2, 1), (), 4, 3, 2, 3),
    "V alone has a batch": ((), (), (2,), 3, 4, 2, 2),
    "single": ((), (), (), 1, 1, 1, 1),
}
every_mask = pytest.mark.parametrize("mask", MASKS)
every_shape = pytest.mark.parametrize("shape", SHAPES)


def operands(shape, seed=0):
    q, k, v, n_q, n_k, d_k, d_v = SHAPES[shape]
    return draw((*q, n_q, d_k), (*k, n_k, d_k), (*v, n_k, d_v), seed=seed)


# ------------------------------------------------------------------------------------------------- worked values


X_1 = np.eye(3, 4)  # three tokens with identity projections
Q_8 = np.array([[1.0, 0.0, 0.5, 0.2], [0.0, 1.0, 0.0, 0.5], [0.5, 0.5, 0.0, 1.0]])  # the running example
K_8 = np.array([[0.8, 0.1, 0.3, 0.6], [0.2, 0.9, 0.1, 0.4], [0.5, 0.5, 0.5, 0.5]])
V_8 = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
frozen(X_1, Q_8, K_8, V_8)
A_8 = [[0.386613, 0.267047, 0.346341], [0.276984, 0.393059, 0.329956], [0.341701, 0.325036, 0.333264]]
Z_8 = [[0.559783, 0.440217], [0.441962, 0.558038], [0.508332, 0.491668]]


def test_first_look():
    a, b = 0.451862761878, 0.274068619061
    Z, A = am.scaled_dot_product_attention(X_1, X_1, X_1)
    close(am.dot_scores(X_1, X_1), np.eye(3))
    close(am.scaled_scores(X_1, X_1), np.eye(3) / 2)
    close(A, [[a, b, b], [b, a, b], [b, b, a]])
    close(Z, [[a, b, b, 0], [b, a, b, 0], [b, b, a, 0]])
    J = [[0.247683, -0.123841, -0.123841], [-0.123841, 0.198955, -0.075114], [-0.123841, -0.075114, 0.198955]]
    close(am.softmax_jacobian(A[0]), J, SIX)
    causal = am.scaled_dot_product_attention(X_1, X_1, X_1, am.causal_mask(3))[1]
    close(causal, [[1, 0, 0], [0.377541, 0.622459, 0], [0.274069, 0.274069, 0.451863]], SIX)


def test_running_example():
    Z, A = am.scaled_dot_product_attention(Q_8, K_8, V_8)
    close(am.dot_scores(Q_8, K_8), [[1.07, 0.33, 0.85], [0.40, 1.10, 0.75], [1.05, 0.95, 1.00]])
    close(am.scaled_scores(Q_8, K_8), [[0.535, 0.165, 0.425], [0.200, 0.550, 0.375], [0.525, 0.475, 0.500]])
    close(A, A_8, SIX)
    close(Z, Z_8, SIX)
    J = [[0.237143, -0.103244, -0.133900], [-0.103244, 0.195733, -0.092489], [-0.133900, -0.092489, 0.226389]]
    close(am.softmax_jacobian(A[0]), J, SIX)


def test_running_example_masked():
    Z, A = am.scaled_dot_product_attention(Q_8, K_8, V_8, am.causal_mask(3))
    close(A, [[1, 0, 0], [0.413382, 0.586618, 0], [0.341701, 0.325036, 0.333264]], SIX)
    close(Z, [[1, 0], [0.413382, 0.586618], [0.508332, 0.491668]], SIX)
    Z, A = am.scaled_dot_product_attention(Q_8, K_8, V_8, am.padding_mask(2, 3))
    close(A, [[0.591459, 0.408541, 0], [0.413382, 0.586618, 0], [0.512497, 0.487503, 0]], SIX)
    close(Z, A[:, :2])


def test_running_example_gradients():
    G = np.array([[1.0, 0], [0, 1], [0, 0]])
    A = am.scaled_dot_product_attention(Q_8, K_8, V_8)[1]
    dQ, dK, dV = am.scaled_dot_product_attention_backward(G, Q_8, K_8, V_8, A)
    D = [[0.170193, -0.149488, -0.020705], [-0.154568, 0.173717, -0.019150], [0, 0, 0]]
    close(am.softmax_backward(A, [[1, 0, 0.5], [0, 1, 0.5], [0, 0, 0]]), D, SIX)
    close(dV, [[0.386613, 0.276984], [0.267047, 0.393059], [0.346341, 0.329956]], SIX)
    wanted = [[0.047952, -0.063936, 0.012878, 0.015984], [-0.049243, 0.065657, -0.019287, -0.016414], [0, 0, 0, 0]]
    close(dQ, wanted, SIX)
    wanted = [
        [0.085097, -0.077284, 0.042548, -0.021623],
        [-0.074744, 0.086859, -0.037372, 0.028481],
        [-0.010353, -0.009575, -0.005176, -0.006858],
    ]
    close(dK, wanted, SIX)


def test_running_example_two_heads():
    Q, K, V = (am.split_heads(X, 2) for X in (Q_8, K_8, V_8))
    close(Q[0], [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    Z, A = am.scaled_dot_product_attention(Q, K, V)
    head_0 = [[0.405991, 0.265620, 0.328389], [0.244645, 0.430736, 0.324619], [0.321620, 0.345185, 0.333194]]
    head_1 = [[0.337388, 0.305588, 0.357024], [0.345185, 0.321620, 0.333194], [0.357161, 0.310060, 0.332778]]
    close(A, [head_0, head_1], SIX)
    close(am.merge_heads(Z), [[0.570185, 0.484100], [0.406955, 0.488217], [0.488217, 0.476449]], SIX)


def test_worked_gradient_check():
    Q, K, V, G = draw((2, 4), (3, 4), (3, 2), (2, 2))
    Z, A = am.scaled_dot_product_attention(Q, K, V)
    close((G * Z).sum(), -0.821825, SIX)
    dQ, dK, dV = am.scaled_dot_product_attention_backward(G, Q, K, V, A)
    close(dQ, [[-0.153785, 0.082773, -0.074332, -0.087889], [-0.079578, -0.038875, -0.114082, -0.117325]], SIX)
    close(dV, [[-0.327300, -0.261244], [-0.233685, -0.165171], [-0.640240, -0.275116]], SIX)
    close([(Q * dQ).sum(), (K * dK).sum()], [-0.318403, -0.318403], SIX)


def test_small_scalars():
    close(am.dot_scores([[0.1, 0.2, 0.3, 0.4]], [[0.1, 0.2, 0.3, 0.4]]), [[0.3]])
    a = am.softmax([math.log(3), 0])
    close(a, [0.75, 0.25])
    close(am.softmax_jacobian(a), [[0.1875, -0.1875], [-0.1875, 0.1875]])


# --------------------------------------------------------------------------------------------------------- scores


@every_shape
def test_scores_are_loops(shape):
    Q, K, _ = operands(shape)
    S, S_scaled = am.dot_scores(Q, K), am.scaled_scores(Q, K)
    lead = np.broadcast_shapes(Q.shape[:-2], K.shape[:-2])
    assert S.shape == S_scaled.shape == (*lead, Q.shape[-2], K.shape[-2])
    q, k = (np.broadcast_to(X, lead + X.shape[-2:]) for X in (Q, K))
    for *b, i, j in np.ndindex(*S.shape):
        s = sum(x * y for x, y in zip(q[(*b, i)], k[(*b, j)], strict=True))
        close(S[(*b, i, j)], s)
        close(S_scaled[(*b, i, j)], s / Q.shape[-1] ** 0.5)


def test_scaling_in_any_place_is_the_same():
    Q, K = draw((3, 7), (5, 7))
    S_scaled = am.scaled_scores(Q, K)
    close(am.dot_scores(Q * 7**-0.5, K), S_scaled)
    close(am.dot_scores(Q * 7**-0.25, K * 7**-0.25), S_scaled)


def test_scaled_scores_have_variance_1():
    """20 000 independent pairs: the standard deviation is 1 ± 0.03 (its own standard error is 0.005)."""
    Q, K = draw((20_000, 1, 64), (20_000, 1, 64))
    close(am.scaled_scores(Q, K).std(), 1, 0.03)


@pytest.mark.parametrize("n_q, d_s, d_h", [(4, 3, 3), (3, 2, 4)])
def test_general_and_additive_scores_are_loops(n_q, d_s, d_h):
    s, h, W, W_1, W_2, v = draw((2, n_q, d_s), (2, 4, d_h), (d_s, d_h), (d_s, 5), (d_h, 5), (5,))
    general, additive = am.general_scores(s, h, W), am.additive_scores(s, h, W_1, W_2, v)
    assert general.shape == additive.shape == (2, n_q, 4)
    for b, i, j in np.ndindex(2, n_q, 4):
        pairs = itertools.product(range(d_s), range(d_h))
        close(general[b, i, j], sum(s[b, i, x] * W[x, y] * h[b, j, y] for x, y in pairs))
        hidden = [
            math.tanh(sum(s[b, i, x] * W_1[x, c] for x in range(d_s)) + sum(h[b, j, y] * W_2[y, c] for y in range(d_h)))
            for c in range(5)
        ]
        close(additive[b, i, j], sum(hidden[c] * v[c] for c in range(5)))
    assert (abs(am.additive_scores(1e3 * s, 1e3 * h, W_1, W_2, v)) <= abs(v).sum() + FLOAT64).all()


# -------------------------------------------------------------------------------------------------------- softmax


@pytest.mark.parametrize("axis", [-1, 0, 1, 2, 3])
def test_softmax_is_the_loop(axis):
    (x,) = draw((2, 3, 5, 4))
    a = am.softmax(x) if axis == -1 else am.softmax(x, axis)
    for at in np.ndindex(*x.shape):
        line = list(at)
        line[axis] = slice(None)
        close(a[at], math.exp(x[at]) / sum(math.exp(s) for s in x[tuple(line)]))


@pytest.mark.parametrize(
    "x, wanted",
    [
        ([1000, 0], [1, 0]),
        ([1000, 1000], [0.5, 0.5]),
        ([-1000, -1000], [0.5, 0.5]),
        ([1e308, -1e308], [1, 0]),
        ([1e308, 1e308], [0.5, 0.5]),
        ([[0.0, 0.0], [5000, 5000]], [[0.5, 0.5], [0.5, 0.5]]),
        ([0, -np.inf], [1, 0]),
        ([-np.inf, -np.inf], [0, 0]),
        ([[-np.inf, -np.inf], [-1e4, -1e4]], [[0, 0], [0.5, 0.5]]),
        ([7], [1]),
        ([3, 3, 3, 3], [0.25, 0.25, 0.25, 0.25]),
    ],
)
def test_softmax_at_the_edges(x, wanted):
    close(am.softmax(x), wanted, 0)
    with np.errstate(all="raise"):
        close(am.softmax(x), wanted, 0)


def test_softmax_of_nothing():
    assert am.softmax(np.zeros((2, 0))).shape == (2, 0)
    assert am.softmax(np.zeros((0, 2))).shape == (0, 2)


def test_a_bad_row_of_softmax_is_nan_and_alone():
    a = am.softmax([[np.nan, 0.0], [1.0, 1.0]])
    assert np.isnan(a[0]).all() and (a[1] == 0.5).all()
    with np.errstate(invalid="ignore"):
        a = am.softmax([[np.inf, 0.0], [1.0, 1.0]])
    assert np.isnan(a[0]).all() and (a[1] == 0.5).all()


# ------------------------------------------------------------------------------------------- the whole of attention


@every_shape
@every_mask
def test_attention_is_the_loops(shape, mask):
    Q, K, V = operands(shape)
    M = MASKS[mask](Q.shape[-2], K.shape[-2])
    Z, A = am.scaled_dot_product_attention(Q, K, V, M)
    Z_loops, A_loops = attention(Q, K, V, M)
    assert Z.shape == Z_loops.shape
    close(Z, Z_loops)
    close(np.broadcast_to(A, A_loops.shape), A_loops)  # V may have a batch of its own, which A does not need
    close(am.attention_by_rows(Q, K, V, M), Z_loops)


@pytest.mark.parametrize("mask_shape", [(4,), (1, 4), (5, 1), (2, 1, 5, 4), (3, 1, 4), (2, 1, 1, 4), (1, 1, 1), ()])
def test_a_mask_broadcasts(mask_shape):
    Q, K, V = operands("batch and heads")
    M = np.random.default_rng(3).random(mask_shape) < 0.6
    for mask in (M, np.where(M, 0.5, -np.inf)):
        Z, A = am.scaled_dot_product_attention(Q, K, V, mask)
        close(Z, attention(Q, K, V, mask)[0])
        close(A, attention(Q, K, V, mask)[1])
        close(am.attention_by_rows(Q, K, V, mask), attention(Q, K, V, mask)[0])


def test_the_output_is_linear_in_V_and_the_weights_do_not_see_it():
    Q, K, V, W = draw((4, 4), (4, 4), (4, 4), (4, 4))
    (Z_V, A_V), (Z_W, A_W) = (am.scaled_dot_product_attention(Q, K, X) for X in (V, W))
    assert (A_V == A_W).all()
    close(am.scaled_dot_product_attention(Q, K, V + 2 * W)[0], Z_V + 2 * Z_W)


def test_a_cached_step_is_the_last_row():
    Q, K, V = draw((6, 3), (6, 3), (6, 2))
    Z = am.scaled_dot_product_attention(Q, K, V, am.causal_mask(6))[0]
    close(am.scaled_dot_product_attention(Q[4:], K, V, am.causal_mask(2, offset=4))[0], Z[4:])
    close(am.attention_by_rows(Q[4:], K, V, causal=True, offset=4), Z[4:])


@pytest.mark.parametrize("n_q, n_k, d_k, d_v", [(0, 3, 2, 2), (3, 0, 2, 2), (0, 0, 2, 2), (3, 2, 2, 0), (3, 2, 0, 2)])
def test_nothing_there(n_q, n_k, d_k, d_v):
    """Equal scores: uniform weights and the mean of V, also with d_k = 0; without keys, output 0."""
    Q, (K, V) = np.zeros((n_q, d_k)), draw((n_k, d_k), (n_k, d_v))
    for mask in (None, np.ones((n_q, n_k), bool), np.zeros((n_q, n_k))):
        Z, A = am.scaled_dot_product_attention(Q, K, V, mask)
        assert Z.shape == (n_q, d_v) and A.shape == (n_q, n_k)
        close(A, np.full((n_q, n_k), 1 / max(n_k, 1)))
        close(Z, np.broadcast_to(sum(V, np.zeros(d_v)) / max(n_k, 1), (n_q, d_v)))
        close(am.attention_by_rows(Q, K, V, mask), Z)
        gradients = am.scaled_dot_product_attention_backward(np.ones_like(Z), Q, K, V, A)
        assert [g.shape for g in gradients] == [Q.shape, K.shape, V.shape]
        assert all(np.isfinite(g).all() for g in gradients)


def test_an_empty_batch():
    Q, K, V = np.zeros((0, 3, 2)), np.ones((4, 2)), np.ones((4, 5))
    Z, A = am.scaled_dot_product_attention(Q, K, V)
    assert Z.shape == am.attention_by_rows(Q, K, V).shape == (0, 3, 5) and A.shape == (0, 3, 4)
    dQ, dK, dV = am.scaled_dot_product_attention_backward(Z, Q, K, V, A)
    assert dQ.shape == Q.shape and (dK == np.zeros((4, 2))).all() and (dV == np.zeros((4, 5))).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("additive", [False, True])
def test_bad_numbers_nobody_may_attend_to_reach_nothing(bad, additive):
    keep = np.tri(5, 6, dtype=bool) & (np.arange(6) < 4) & (np.arange(5) != 1)[:, None]  # keys 4, 5 and query 1 are out
    Q, K, V, G = draw((5, 3), (6, 3), (6, 2), (5, 2))
    mask = np.where(keep, 0, -np.inf) if additive else keep
    clean = [X.copy() for X in (Q, K, V, G)]
    Q[1], K[4:], V[4:], G[1] = bad, bad, bad, bad
    Z, A = am.scaled_dot_product_attention(Q, K, V, mask)
    Z_clean, A_clean = attention(*clean[:3], keep)
    close(Z, Z_clean)
    close(A, A_clean)
    close(am.attention_by_rows(Q, K, V, mask), Z_clean)
    close(am.attention_by_rows(Q, K, V, (np.arange(6) < 4) & (np.arange(5) != 1)[:, None], causal=True), Z_clean)
    gradients = am.scaled_dot_product_attention_backward(G, Q, K, V, A)
    wanted = am.scaled_dot_product_attention_backward(clean[3], *clean[:3], A_clean)
    for g, w in zip(gradients, wanted, strict=True):
        close(g, w)


def test_mask_and_causal_together_hide_a_key():
    """The mask leaves key 2 to query 1 alone, and causality takes it from that one."""
    Q, K, V = draw((3, 2), (3, 2), (3, 2))
    K[2] = V[2] = np.nan
    mask = np.array([[True, True, False], [True, True, True], [True, True, False]])
    close(am.attention_by_rows(Q, K, V, mask, causal=True), attention(Q, K, V, mask & np.tri(3, dtype=bool))[0])


def test_what_another_query_reads_leaves_an_empty_row_exactly_zero():
    Q, K, V = draw((2, 3), (3, 3), (3, 2))
    V[2] = np.nan
    keep = np.array([[False, False, False], [True, True, True]])
    for mask in keep, np.where(keep, 0, -np.inf):
        Z, A = am.scaled_dot_product_attention(Q, K, V, mask)
        assert (A[0] == 0).all() and (Z[0] == 0).all() and np.isnan(Z[1]).all()
        assert (am.attention_by_rows(Q, K, V, mask)[0] == 0).all()


def test_a_blocked_bad_score_leaves_its_row_alone():
    """Key 2 holds NaN and may be seen by query 2 only: the weights of the others are as if it were not there."""
    Q, K, V = draw((3, 2), (3, 2), (3, 2))
    K[2] = np.nan
    for mask in (np.tri(3, dtype=bool), np.where(np.tri(3, dtype=bool), 0, -np.inf)):
        A = am.scaled_dot_product_attention(Q, K, V, mask)[1]
        close(A[:2], attention(Q[:2], K, V, np.tri(2, 3, dtype=bool))[1])
        assert np.isnan(A[2]).all()


def test_large_scores():
    Q, K, V = np.array([[1e4, 0.0]]), np.array([[1e4, 0], [-1e4, 0], [9e3, 0]]), np.eye(3)
    close(am.scaled_dot_product_attention(Q, K, V)[0], [[1, 0, 0]], 0)
    close(am.attention_by_rows(Q, K, V), [[1, 0, 0]], 0)
    apart = np.array([[1.0], [3000.0], [1.0]])  # each row has a maximum of its own
    close(am.attention_by_rows(apart, K[:, :1], V), [[1, 0, 0]] * 3, 0)
    K[0] = -2e9  # a visible score far below any finite fill, beside a blocked one
    mask = [[True, False, False]]
    close(am.scaled_dot_product_attention(Q, K, V, mask)[0], [[1, 0, 0]], 0)


# ------------------------------------------------------------------------------------------------------ gradients


@functools.cache
def exact_gradients():
    """dQ, dK, dV of the running example's two first queries and keys with last key blocked from query 0, by SymPy."""
    n_q, n_k, d_k, d_v = 2, 3, 2, 2
    shapes = (n_q, d_k), (n_k, d_k), (n_k, d_v)
    symbols = [sp.Matrix(*s, lambda i, j, name=name: sp.Symbol(f"{name}{i}{j}")) for name, s in zip("qkv", shapes)]  # noqa: B905
    numbers = [sp.Matrix(*s, lambda i, j, c=c: sp.Rational(3 * i - 2 * j + c, 4)) for c, s in enumerate(shapes)]
    G = sp.Matrix([[1, -2], [3, 1]])
    q, k, v = symbols
    blocked = {(0, 2)}
    L = 0
    for i in range(n_q):
        e = [0 if (i, j) in blocked else sp.exp((q[i, :] * k[j, :].T)[0] / sp.sqrt(d_k)) for j in range(n_k)]
        L += sum(G[i, c] * sum(e[j] * v[j, c] for j in range(n_k)) / sum(e) for c in range(d_v))
    at = {s: n for S, N in zip(symbols, numbers, strict=True) for s, n in zip(S, N, strict=True)}
    gradients = [[[float(L.diff(x).subs(at).evalf(30)) for x in S.row(i)] for i in range(S.rows)] for S in symbols]
    return frozen(*(np.array(N.tolist(), float) for N in (*numbers, G))), gradients


def test_gradients_are_sympys():
    (Q, K, V, G), wanted = exact_gradients()
    A = am.scaled_dot_product_attention(Q, K, V, np.array([[True, True, False], [True, True, True]]))[1]
    for g, w in zip(am.scaled_dot_product_attention_backward(G, Q, K, V, A), wanted, strict=True):
        close(g, w)


@functools.cache
def attention_differences(shape, mask):
    Q, K, V = operands(shape, seed=7)
    M = MASKS[mask](Q.shape[-2], K.shape[-2])
    Z, A = attention(Q, K, V, M)
    (G,) = draw(Z.shape, seed=8)
    wanted = differences(lambda *X: attention(*X, M)[0], [Q, K, V], G)
    return frozen(G, Q, K, V, A), frozen(*wanted)


@every_shape
@pytest.mark.parametrize("mask", ["none", "one row empty", "causal and padding", "bias"])
def test_gradients_are_differences(shape, mask):
    arguments, wanted = attention_differences(shape, mask)
    for g, w in zip(am.scaled_dot_product_attention_backward(*arguments), wanted, strict=True):
        assert g.shape == w.shape
        close(g, w, DIFFERENCE)


def test_gradients_with_the_weights_as_returned():
    """A without the batch that only V has goes straight from forward to backward."""
    Q, K, V = operands("V alone has a batch", seed=7)
    Z, A = am.scaled_dot_product_attention(Q, K, V)
    (G, *_), wanted = attention_differences("V alone has a batch", "none")
    for g, w in zip(am.scaled_dot_product_attention_backward(G, Q, K, V, A), wanted, strict=True):
        close(g, w, DIFFERENCE)


def test_an_empty_row_has_no_gradient():
    (G, Q, K, V, A), _ = attention_differences("one", "one row empty")
    dQ, dK, dV = am.scaled_dot_product_attention_backward(G, Q, K, V, A)
    assert (dQ[0] == 0).all()
    without = am.scaled_dot_product_attention_backward(G[1:], Q[1:], K, V, A[1:])
    for g, w in zip((dQ[1:], dK, dV), without, strict=True):
        close(g, w)


def test_softmax_gradients():
    (x, da) = draw((2, 3, 4), (2, 3, 4))
    a = am.softmax(x)
    J, D = am.softmax_jacobian(a), am.softmax_backward(a, da)
    assert J.shape == (2, 3, 4, 4) and D.shape == (2, 3, 4)
    for b, i, j, c in np.ndindex(*J.shape):
        close(J[b, i, j, c], a[b, i, j] * ((j == c) - a[b, i, c]))
        up, down = x[b, i].copy(), x[b, i].copy()
        up[c], down[c] = up[c] + 1e-5, down[c] - 1e-5
        e_up, e_down = ([math.exp(s) for s in row] for row in (up, down))
        close(J[b, i, j, c], (e_up[j] / sum(e_up) - e_down[j] / sum(e_down)) / 2e-5, DIFFERENCE)
        close(D[b, i, c], sum(da[b, i, k] * J[b, i, k, c] for k in range(4)))
    close(J.sum(-1), np.zeros((2, 3, 4)))
    close(am.softmax_backward(a, np.ones(4)), np.zeros((2, 3, 4)))


def test_softmax_gradients_of_one_row():
    a = [0.09003057317038046, 0.24472847105479764, 0.6652409557748218]  # softmax of [1, 2, 3]
    close(am.softmax_backward(a, [1, 0, 0]), [a[0] * (1 - a[0]), -a[0] * a[1], -a[0] * a[2]])
    close(am.softmax_backward(a, [1, 1, 1]), [0, 0, 0])
    close(am.softmax_jacobian([0, 1, 0]), np.zeros((3, 3)), 0)


# ---------------------------------------------------------------------------------------------------------- masks


@pytest.mark.parametrize("n_q, n_k, offset", [(3, None, 0), (2, 5, 3), (2, 5, 0), (5, 2, 0), (2, None, 3), (0, 0, 0)])
def test_causal_mask(n_q, n_k, offset):
    keep = am.causal_mask(n_q, n_k, offset)
    assert keep.dtype == bool
    assert keep.tolist() == [[j <= i + offset for j in range(n_q + offset if n_k is None else n_k)] for i in range(n_q)]


def test_causal_mask_by_eye():
    assert am.causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert am.causal_mask(2, 5, offset=3).sum(-1).tolist() == [4, 5]


def test_padding_mask():
    keep = am.padding_mask([2, 0, 4], 4)
    assert keep.dtype == bool and keep.shape == (3, 1, 4)
    assert keep[:, 0].astype(int).tolist() == [[1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]]
    assert am.padding_mask(1, 3).tolist() == [[True, False, False]]
    assert am.padding_mask([[1], [2]], 3).shape == (2, 1, 1, 3)
    assert am.padding_mask(np.zeros(0, int), 3).shape == (0, 1, 3)
    assert am.padding_mask([3, 3], np.int64(3)).all()


def test_padding_hides_the_keys_from_all_queries():
    """ids [5, 7, 0, 0] with 0 for padding, and an empty sequence beside it."""
    Q, K, V = draw((2, 4, 3), (2, 4, 3), (2, 4, 2))
    mask = am.padding_mask([2, 0], 4)
    Z, A = am.scaled_dot_product_attention(Q, K, V, mask)
    assert (A[0, :, 2:] == 0).all() and (A[1] == 0).all() and (Z[1] == 0).all()
    close(Z[0], attention(Q[0], K[0, :2], V[0, :2])[0])
    V[:, 2:] += 100
    assert (am.scaled_dot_product_attention(Q, K, V, mask)[0] == Z).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_masks_convert(dtype):
    keep = np.array([[True, False], [False, True]])
    M = am.to_additive(keep, dtype)
    assert M.dtype == dtype and M.tolist() == [[0, -np.inf], [-np.inf, 0]]
    assert am.to_boolean(M).dtype == bool and am.to_boolean(M).tolist() == keep.tolist()
    assert am.to_additive(keep).dtype == np.float64


def test_a_blocked_weight_is_exactly_0():
    M = am.to_additive(np.array([[True, False, False]]))
    close(am.softmax(np.array([[1.0, 2, 3]]) + M), [[1, 0, 0]], 0)
    everything = am.to_additive(np.zeros((1, 3), bool))
    close(am.scaled_dot_product_attention(Q_8[:1], K_8, V_8, everything)[1], [[0, 0, 0]], 0)


@pytest.mark.parametrize("score", [-32.0, 32.0])
def test_float16_masks_block(score):
    """The smallest float16 plus a score of -32 is -inf, and -1e9 does not exist: only -inf means blocked."""
    Q, K, V = np.float16([[score]]), np.float16([[1], [1], [0]]), np.float16([[1, 0], [0, 1], [4, 4]])
    keep = np.array([[True, False, False]])
    for mask in (keep, am.to_additive(keep, np.float16)):
        Z, A = am.scaled_dot_product_attention(Q, K, V, mask)
        close(A, [[1, 0, 0]], 0)
        close(Z, [[1, 0]], 0)
    assert (am.scaled_dot_product_attention(Q, K, V, ~keep & keep)[0] == 0).all()


def test_a_finite_bias_is_a_bias():
    """Even the smallest float is no mask: shifting all scores of a row by it changes nothing."""
    M = np.full((3, 3), -60000.0)
    close(am.scaled_dot_product_attention(Q_8, K_8, V_8, M)[1], A_8, SIX)


ZEROS_AND_ONES = pytest.mark.parametrize("mask", frozen(np.eye(3), np.ones((3, 3)), np.tri(3, dtype=np.float32)))


@ZEROS_AND_ONES
def test_a_float_mask_of_0_and_1_warns(mask):
    with pytest.warns(UserWarning, match=r"float mask of 0 and 1.*mask.astype\(bool\)"):
        am.scaled_dot_product_attention(Q_8, K_8, V_8, mask)
    with pytest.warns(UserWarning, match="float mask of 0 and 1"):
        am.attention_by_rows(Q_8, K_8, V_8, mask)
    with pytest.warns(UserWarning, match="float mask of 0 and 1"):
        am.multi_head_attention(Q_8, K_8, *[np.eye(4)] * 4, 2, mask)


@ZEROS_AND_ONES
def test_the_warning_comes_once_and_points_at_the_caller(mask):
    for f in (am.scaled_dot_product_attention, am.attention_by_rows):
        with pytest.warns(UserWarning) as caught:
            f(Q_8, K_8, V_8, mask)
        assert [w.filename for w in caught] == [__file__]
    with pytest.warns(UserWarning) as caught:
        am.multi_head_attention(Q_8, K_8, *[np.eye(4)] * 4, 2, mask)
    assert len(caught) == 1


@pytest.mark.parametrize(
    "mask", frozen(np.zeros((3, 3)), np.diag([0.5, 1, 1]), np.where(np.eye(3), 1, -np.inf), -np.eye(3))
)
def test_other_float_masks_do_not_warn(mask):
    close(am.scaled_dot_product_attention(Q_8, K_8, V_8, mask)[0], attention(Q_8, K_8, V_8, mask)[0])


# ------------------------------------------------------------------------------------------------------------ heads


def test_split_and_merge():
    X = np.arange(8).reshape(1, 2, 4)
    assert am.split_heads(X, 2).tolist() == [[[[0, 1], [4, 5]], [[2, 3], [6, 7]]]]
    (X,) = draw((2, 5, 12))
    for n_head in (1, 2, 3, 4, 6, 12):
        H, d = am.split_heads(X, n_head), 12 // n_head
        assert H.shape == (2, n_head, 5, d)
        for r in range(n_head):
            assert (H[:, r] == X[..., r * d : (r + 1) * d]).all()
        assert (am.merge_heads(H) == X).all()
    assert am.split_heads(np.zeros((0, 4)), 2).shape == (2, 0, 2)
    assert am.merge_heads(np.arange(6).reshape(3, 1, 2)).tolist() == [[0, 1, 2, 3, 4, 5]]
    assert am.merge_heads(np.arange(12).reshape(2, 3, 2)).tolist() == [[0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11]]


HEADS = {  # shape of X_q, X_s; widths of W_Q, W_V, W_O; n_head
    "one sequence": ((5, 6), (4, 6), 4, 6, 6, 2),
    "square": ((2, 4, 4), (2, 4, 4), 4, 4, 4, 2),
    "wide keys": ((2, 3, 4), (2, 5, 3), 9, 6, 4, 3),
    "source shared": ((2, 3, 4), (4, 4), 4, 4, 5, 4),
    "no batch in X_q": ((3, 4), (2, 4, 4), 4, 4, 4, 1),
}
every_head = pytest.mark.parametrize("case", HEADS)
HEAD_MASKS = {
    "none": lambda batch, n_q, n_k: None,
    "causal": lambda batch, n_q, n_k: np.tri(n_q, n_k, dtype=bool),
    "padding": lambda batch, n_q, n_k: np.arange(n_k) < np.arange(1, math.prod(batch) + 1).reshape(*batch, 1, 1),
    "batch": lambda batch, n_q, n_k: np.random.default_rng(4).random((*batch, n_q, n_k)) < 0.5,
    "bias": lambda batch, n_q, n_k: bias_mask(n_q, n_k),
}


def head_operands(case, mask, seed=0):
    q, s, d_k, d_v, d_out, n_head = HEADS[case]
    batch = np.broadcast_shapes(q[:-2], s[:-2])
    M = HEAD_MASKS[mask](batch, q[-2], s[-2])
    return draw(q, s, (q[-1], d_k), (s[-1], d_k), (s[-1], d_v), (d_v, d_out), seed=seed), n_head, M


@every_head
@pytest.mark.parametrize("mask", HEAD_MASKS)
def test_multi_head_attention_is_a_loop_over_heads(case, mask):
    X, n_head, M = head_operands(case, mask)
    Y, A = am.multi_head_attention(*X, n_head, M)
    Y_loops, A_loops = heads(*X, n_head, M)
    assert Y.shape == Y_loops.shape and A.shape == A_loops.shape
    close(Y, Y_loops)
    close(A, A_loops)


@functools.cache
def head_differences(case, mask):
    X, n_head, M = head_operands(case, mask, seed=9)
    (G,) = draw(heads(*X, n_head, M)[0].shape, seed=10)
    X = [x / 2 for x in X]
    wanted = differences(lambda *X: heads(*X, n_head, M)[0], [x.copy() for x in X], G)
    M = M if M is None else frozen(M)[0]
    return (*frozen(G, *X), n_head, M), frozen(*wanted)


@every_head
@pytest.mark.parametrize("mask", ["none", "padding", "batch"])
def test_multi_head_gradients_are_differences(case, mask):
    arguments, wanted = head_differences(case, mask)
    for g, w in zip(am.multi_head_attention_backward(*arguments), wanted, strict=True):
        assert g.shape == w.shape
        close(g, w, DIFFERENCE)


def test_self_attention_adds_both_gradients():
    (G, X, _, *W, n_head, _), _ = head_differences("square", "none")
    dX_q, dX_s, *_ = am.multi_head_attention_backward(G, X, X, *W, n_head)
    (wanted,) = differences(lambda X: heads(X, X, *W, n_head)[0], [X.copy()], G)
    close(dX_q + dX_s, wanted, DIFFERENCE)


def test_weights_depend_on_W_Q_and_W_K_alone():
    X, n_head, _ = head_operands("square", "none")
    A = am.multi_head_attention(*X, n_head)[1]
    for at, matters in ((2, True), (3, True), (4, False), (5, False)):
        changed = [x + 0.5 * np.diag(range(4)) if i == at else x for i, x in enumerate(X)]
        assert np.array_equal(am.multi_head_attention(*changed, n_head)[1], A) is not matters


def test_bad_padding_reaches_no_gradient():
    (G, X_q, X_s, *W, n_head, _), _ = head_differences("square", "none")
    mask = am.padding_mask([2, 3], 4) & (np.arange(4) != 1)[:, None]  # and query 1 sees nothing
    clean = am.multi_head_attention_backward(G, X_q, X_s, *W, n_head, mask)
    Y_clean, _ = heads(X_q, X_s, *W, n_head, mask)
    X_q, X_s = X_q.copy(), X_s.copy()
    G = G.copy()
    G[:, 1], X_q[:, 1], X_s[0, 2:], X_s[1, 3:] = np.nan, np.nan, np.inf, np.nan
    close(am.multi_head_attention(X_q, X_s, *W, n_head, mask)[0], Y_clean)
    for g, w in zip(am.multi_head_attention_backward(G, X_q, X_s, *W, n_head, mask), clean, strict=True):
        close(g, w)


# ---------------------------------------------------------------------------------------------------- rows in blocks


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 7, 128])
@pytest.mark.parametrize("n_q, n_k, offset", [(7, 7, 0), (7, 10, 3), (7, 4, 0), (3, 10, 7), (7, 5, 6), (1, 1, 0)])
@pytest.mark.parametrize("mask", ["none", "last key is padding", "one row empty", "causal, bottom right", "bias"])
def test_blocks_of_rows_are_the_loops(rows, n_q, n_k, offset, mask):
    Q, K, V = draw((n_q, 3), (n_k, 3), (n_k, 2))
    M = MASKS[mask](n_q, n_k)
    hidden = np.arange(n_k) > np.arange(n_q)[:, None] + offset
    both = ~hidden if M is None else np.where(hidden, False if M.dtype == bool else -np.inf, M)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(am, "ROWS_PER_BLOCK", rows)
        close(am.attention_by_rows(Q, K, V, M), attention(Q, K, V, M)[0])
        close(am.attention_by_rows(Q, K, V, M, causal=True, offset=offset), attention(Q, K, V, both)[0])


def test_more_than_one_block_of_the_real_size():
    n = 2 * am.ROWS_PER_BLOCK + 1
    Q, K, V = draw((2, n, 2), (n, 2), (2, n, 1))
    for causal in (False, True):
        mask = np.tri(n, dtype=bool) if causal else None
        close(am.attention_by_rows(Q, K, V, causal=causal), am.scaled_dot_product_attention(Q, K, V, mask)[0])


@pytest.mark.parametrize("kind", ["full", "causal", "boolean", "float", "other float"])
def test_blocks_of_rows_use_little_memory(kind):
    """Five arrays of the size of a block, and the result; all scores at once would be 16 such arrays."""
    rows, n = 64, 16 * 64
    Q, K, V = (X.astype(np.float32) for X in draw((n, 4), (n, 4), (n, 4)))
    keep = np.tri(n, dtype=bool)
    dtype = {"float": np.float32, "other float": np.float64}.get(kind)
    mask = {"boolean": keep}.get(kind) if dtype is None else np.where(keep, 0, -np.inf).astype(dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(am, "ROWS_PER_BLOCK", rows)
        tracemalloc.start()
        try:
            Z = am.attention_by_rows(Q, K, V, mask, causal=kind == "causal")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 5 * rows * n * Q.itemsize + Z.nbytes
    assert Z.dtype == np.float32


# ------------------------------------------------------------------------------------------- dtypes, inputs, refusals


def two_diagonals(X):
    """A matrix of parameters (4, 4) of the same kind as X."""
    W = np.eye(4) + np.eye(4, k=1)
    return W.astype(int).tolist() if isinstance(X, list) else W.astype(X.dtype)


def every_call(Q, K, V, mask=None):
    """Every function of the module on operands of one kind, all of shape (3, 4): name -> results."""
    A = am.scaled_dot_product_attention(Q, K, V, mask)[1]
    backward = am.scaled_dot_product_attention_backward
    return {
        "softmax": (am.softmax(Q),),
        "softmax_jacobian": (am.softmax_jacobian(A),),
        "softmax_backward": (am.softmax_backward(Q, K),),
        "dot_scores": (am.dot_scores(Q, K),),
        "scaled_scores": (am.scaled_scores(Q, K),),
        "general_scores": (am.general_scores(Q, K, two_diagonals(Q)),),
        "additive_scores": (am.additive_scores(Q, K, two_diagonals(Q), two_diagonals(Q), two_diagonals(Q)[0]),),
        "split_heads": (am.split_heads(Q, 2),),
        "merge_heads": (am.merge_heads([Q, K]),),
        "scaled_dot_product_attention": am.scaled_dot_product_attention(Q, K, V, mask),
        "attention_by_rows": (am.attention_by_rows(Q, K, V, mask),),
        "scaled_dot_product_attention_backward": backward(V, Q, K, V, A),
        "multi_head_attention": am.multi_head_attention(Q, K, *[two_diagonals(Q)] * 4, 2, mask),
        "multi_head_attention_backward": am.multi_head_attention_backward(V, Q, K, *[two_diagonals(Q)] * 4, 2, mask),
    }


WHOLE = np.array([[2, 0, 1, 0], [0, 1, -1, 1], [1, 1, 0, -2]]), np.array([[1, 0, 1, 2], [0, 2, 0, 1], [1, 1, 1, 0]])
WHOLE = frozen(*WHOLE, np.array([[1, 0, 2, 0], [0, 1, 0, 3], [4, 0, 0, 1]]))


@pytest.mark.parametrize(
    "dtype, result, tolerance",
    [
        (np.float64, np.float64, FLOAT64),
        (np.float32, np.float32, FLOAT32_GRADIENT),
        (np.float16, np.float16, FLOAT16),
        (int, np.float64, FLOAT64),
        (np.int8, np.float64, FLOAT64),
        (np.uint8, np.float64, FLOAT64),
        (list, np.float64, FLOAT64),
    ],
)
@pytest.mark.parametrize("mask", ["none", "causal", "minus infinity"])  # the last is float64
def test_dtypes(dtype, result, tolerance, mask):
    M = MASKS[mask](3, 3)
    if dtype is list:
        Q, K, V = (X.tolist() for X in WHOLE)
        M = M if M is None else M.tolist()
    else:
        Q, K, V = (abs(X).astype(dtype) if dtype is np.uint8 else X.astype(dtype) for X in WHOLE)
    got = every_call(Q, K, V, M)
    wanted = every_call(*(np.asarray(X, float) for X in (Q, K, V)), MASKS[mask](3, 3))
    for name, results in got.items():
        for x, w in zip(results, wanted[name], strict=True):
            assert x.dtype == result, name
            close(x, w, tolerance)


def test_numbers_of_each_dtype_against_the_loops():
    Q, K, V = draw((3, 40, 16), (3, 50, 16), (3, 50, 8))
    for dtype, tolerance in ((np.float32, FLOAT32), (np.float16, FLOAT16)):
        q, k, v = (X.astype(dtype) for X in (Q, K, V))
        Z, A = am.scaled_dot_product_attention(q, k, v)
        Z_loops, A_loops = attention(q, k, v)
        assert Z.dtype == A.dtype == am.attention_by_rows(q, k, v).dtype == dtype
        close(Z, Z_loops, tolerance)
        close(A, A_loops, tolerance)
        close(am.attention_by_rows(q, k, v), Z_loops, tolerance)


def test_float16_is_computed_in_float32():
    """Q Kᵀ = 360 000 does not exist in float16, whose largest number is 65 504."""
    Q, K, V = np.full((1, 4), 300, np.float16), np.float16([[300] * 4, [299] * 4]), np.float16([[1, 2], [3, 4]])
    assert am.scaled_dot_product_attention(Q, K, V)[0].tolist() == [[1, 2]]
    assert am.attention_by_rows(Q, K, V).tolist() == [[1, 2]]
    half = np.full((1, 4), 100, np.float16)  # Q Kᵀ = 120 000
    assert am.scaled_scores(half, K[:1]).tolist() == [[60000]]


def test_the_widest_dtype_wins():
    Q, K, V = (X.astype(np.float32) for X in (Q_8, K_8, V_8))
    assert am.scaled_dot_product_attention(Q.astype(np.float16), K, V)[0].dtype == np.float32
    assert am.scaled_dot_product_attention(Q, K, V_8)[0].dtype == np.float64
    assert am.scaled_dot_product_attention(Q, K, V_8.astype(int))[0].dtype == np.float64


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def strided(X):
    """The same numbers with gaps between rows and columns, and columns stored backwards."""
    Y = np.zeros((2 * X.shape[0], 3 * X.shape[1]))
    Y[::2, ::3] = X[:, ::-1]
    return Y[::2, ::3][:, ::-1]


@pytest.mark.parametrize("form", [read_only, strided, np.asfortranarray])
@every_mask
def test_inputs_of_any_form_are_left_alone(form, mask):
    before = [X.astype(float) for X in WHOLE]
    M = MASKS[mask](3, 3)
    M_before = None if M is None else M.copy()
    arrays = [form(X) for X in before]
    plain = [X.copy() for X in before]
    for operands in (arrays, plain):
        results = every_call(*operands, M)
        for name, wanted in every_call(*(X.copy() for X in before), M_before).items():
            for x, w in zip(results[name], wanted, strict=True):
                close(x, w)
        assert all((X == B).all() for X, B in zip(operands, before, strict=True))
        assert M is None or (M_before == M).all()


def test_softmax_leaves_its_input_alone():
    for dtype in (np.float64, np.float32):
        x = np.array([[1, 2], [3, 5]], dtype)
        am.softmax(x)
        assert x.tolist() == [[1, 2], [3, 5]]


# What does not fit: for each function arguments that do, of which each kind of mistake spoils one or two.  The axes of
# the operands are read off the module's own `spec`, so that a new function, or a new operand, is asked about them all.

SHAPE = {"Q": (3, 4), "K": (5, 4), "V": (5, 2), "A": (3, 5), "G": (3, 2), "s": (3, 4), "h": (5, 2)}
LAYER = {"X_q": (3, 6), "X_s": (5, 7), "W_Q": (6, 8), "W_K": (7, 8), "W_V": (7, 4), "W_O": (4, 9), "n_head": 2}
FITS = {  # function -> its arguments; a tuple stands for zeros of that shape
    "dot_scores": {"Q": SHAPE["Q"], "K": SHAPE["K"]},
    "scaled_scores": {"Q": SHAPE["Q"], "K": SHAPE["K"]},
    "softmax": {"x": (3,), "axis": -1},
    "scaled_dot_product_attention": {**{name: SHAPE[name] for name in "QKV"}, "mask": None},
    "softmax_jacobian": {"a": (3,)},
    "softmax_backward": {"a": (3,), "da": (3,)},
    "scaled_dot_product_attention_backward": {name: SHAPE[name] for name in "GQKVA"},
    "causal_mask": {"n_q": 3, "n_k": 5, "offset": 2},
    "padding_mask": {"lengths": [2, 5], "n_k": 5},
    "to_additive": {"keep": [True, False], "dtype": float},
    "to_boolean": {"M": [0.0, -np.inf]},
    "split_heads": {"X": (3, 8), "n_head": 2},
    "merge_heads": {"X": (2, 3, 4)},
    "multi_head_attention": {**LAYER, "mask": None},
    "multi_head_attention_backward": {"G": (3, 9), **LAYER, "mask": None},
    "general_scores": {"s": SHAPE["s"], "h": SHAPE["h"], "W": (4, 2)},
    "additive_scores": {"s": SHAPE["s"], "h": SHAPE["h"], "W_1": (4, 6), "W_2": (2, 6), "v": (6,)},
    "attention_by_rows": {**{name: SHAPE[name] for name in "QKV"}, "mask": None, "causal": True, "offset": 2},
}


def fitting(name):
    return {key: np.zeros(x) if isinstance(x, tuple) else x for key, x in FITS[name].items()}


def spec_of(name):
    """What the function tells _check about its operands.   -> [(operand, what stands in front, axes)]"""
    specs, check = [], am._check
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(am, "_check", lambda spec, *X, **more: (specs.append(spec), check(spec, *X, **more))[1])
        getattr(am, name)(**fitting(name))
    items = [item.split() for item in specs[0].split(", ") if item]
    return [(operand, front, axes) for operand, front, *axes in items]


SPECS = {name: spec_of(name) for name in FITS}  # of the right functions: a mutant may have none
RAGGED = [[1.0, 2.0], [3.0]]


def bad_operands(name):
    """Each operand of each wrong kind.   -> (kind, arguments, error, words of its message)"""
    fits, spec = fitting(name), SPECS[name]
    for operand, front, axes in spec:
        x = fits[operand]
        for y in [x[0]] + [x[None]] * (front == "|"):
            yield "rank", {operand: y}, ValueError, [f"{operand} {y.shape}", "must have the axes", *axes]
        for y in (x * 1j, x.astype(str), x > 0, x.astype(object)):
            yield str(y.dtype), {operand: y}, TypeError, [operand, str(y.dtype), "convert", ".astype(float)"]
        yield "ragged", {operand: RAGGED}, ValueError, [operand, "rows differ in length", "pad"]
        for at, axis in enumerate(axes):
            others = [f"{other} {fits[other].shape}" for other, _, its in spec if axis in its and other != operand]
            longer = x.shape[at] + fits.get("n_head", 1)  # still divisible
            for n in [longer] + [1] * ("n_head·" not in axis) if others else []:  # 1 would broadcast
                y = np.zeros((*x.shape[:at], n, *x.shape[at + 1 :]))
                message = [f"{operand} {y.shape}", others[0], f"agree in {axis}"]
                yield f"{axis} = {n}", {operand: y}, ValueError, message
    free = [operand for operand, front, _ in spec if front != "|"]
    for one, other in itertools.pairwise(free):
        pair = {one: np.zeros((2, *fits[one].shape)), other: np.zeros((3, *fits[other].shape))}
        message = [f"{one} {pair[one].shape}", f"{other} {pair[other].shape}", "axes in front"]
        yield "batches of 2 and 3", pair, ValueError, message
    for operand in [operand for operand, front, _ in spec if front == "="]:
        y = fits[operand][None]
        yield "G of another shape", {operand: y}, ValueError, [f"{operand} {y.shape}", "must be () as", free[0]]


def bad_masks(name):
    scores = (3, 5)
    for shape in ((2, 5), (5, 3), (3, 4), (8, 8), (2, 3, 5)):
        yield "mask shape", {"mask": np.ones(shape, bool)}, ValueError, [f"mask {shape}", f"= {scores}", "padding_mask"]
    for dtype in (int, np.uint8, complex, object, str):
        y = np.ones(scores, dtype)
        yield "mask dtype", {"mask": y}, TypeError, [str(y.dtype), "boolean, True = may attend", "mask.astype(bool)"]
    for bad in (np.nan, np.inf):
        yield f"{bad} in the mask", {"mask": np.full(5, bad)}, ValueError, ["NaN or +inf", "to_additive"]
    yield "ragged mask", {"mask": [[True], [True, False]]}, ValueError, ["the mask", "rows differ in length", "pad"]
    if "n_head" in FITS[name]:
        yield "a head axis", {"mask": np.ones((1, 3, 5), bool)}, ValueError, ["(1, 3, 5)", f"= {scores}", "heads"]


def bad_numbers(argument, low, optional=False):
    for x in [low - 1, 0.5, 2.0, True, "3", [2], np.float32(1)] + [None] * (not optional):
        yield (
            f"{argument} = {x!r}",
            {argument: x},
            ValueError,
            [f"{argument} must be a whole number from {low} up", repr(x)],
        )


def bad_heads(name):
    yield from bad_numbers("n_head", 1)
    for n_head in (3, 16):
        first = "X (3, 8)" if name == "split_heads" else "W_Q (6, 8)"
        yield "not dividing", {"n_head": n_head}, ValueError, [f"n_head = {n_head} must divide", f"= 8 of {first}"]
    if "W_V" in FITS[name]:
        odd = {"W_V": np.zeros((7, 5)), "W_O": np.zeros((5, 9))}
        yield "values not dividing", odd, ValueError, ["n_head = 2 must divide n_head·d_v = 5 of W_V (7, 5)"]


def bad_offsets(name):
    yield from bad_numbers("offset", 0)
    if name == "attention_by_rows":
        yield "offset alone", {"causal": False}, ValueError, ["offset without causal=True", "must be 0", "2"]


def bad_lengths(name):
    for x in ([2, 6], [-1], [2.0], [True, False], "3", None):
        yield "lengths", {"lengths": x}, ValueError, ["lengths", "whole numbers from 0 to n_k = 5", repr(x)]
    yield "ragged lengths", {"lengths": RAGGED}, ValueError, ["lengths", "rows differ in length"]


def bad_masks_to_convert(argument, dtypes):
    for dtype in dtypes:
        y = np.ones(2, dtype)
        yield "mask dtype", {argument: y}, TypeError, [str(y.dtype), "boolean", "float", "to_additive and to_boolean"]
    yield "nothing", {argument: None}, TypeError, ["mask", "object"]
    yield "ragged", {argument: RAGGED}, ValueError, ["the mask", "rows differ in length"]


def bad_keep(name):
    yield from bad_masks_to_convert("keep", (int, np.uint8, float, complex, str))


def bad_M(name):
    yield from bad_masks_to_convert("M", (int, bool, complex, str))
    for bad in (-1e9, 1.0, -1e-9):
        yield "a finite bias", {"M": [0.0, bad]}, ValueError, ["M", "finite bias", "use M as it is"]
    for bad in (np.nan, np.inf):
        yield f"{bad} in the mask", {"M": [0.0, bad]}, ValueError, ["NaN or +inf", "to_additive"]


KINDS = {  # argument that is no operand -> what can be wrong with it
    "mask": bad_masks,
    "n_head": bad_heads,
    "offset": bad_offsets,
    "n_q": lambda name: bad_numbers("n_q", 0),
    "n_k": lambda name: bad_numbers("n_k", 0, optional=name == "causal_mask"),
    "lengths": bad_lengths,
    "keep": bad_keep,
    "M": bad_M,
    "dtype": lambda name: [("no float", {"dtype": int}, TypeError, ["int64", "-inf", "give a float dtype"])],
    "axis": lambda name: [("no such axis", {"axis": 1}, np.exceptions.AxisError, ["axis 1", "dimension 1"])],
    "causal": lambda name: [],  # together with the offset
}


def test_each_argument_of_each_function_is_asked_about():
    assert set(FITS) == set(public_functions())
    for name, f in public_functions().items():
        assert set(FITS[name]) == set(inspect.signature(f).parameters), name
        operands = {argument for argument, fit in FITS[name].items() if isinstance(fit, tuple)}
        assert operands == {operand for operand, _, _ in SPECS[name]}, name
        assert set(FITS[name]) - operands <= set(KINDS), name


def refusals(name):
    yield from bad_operands(name)
    for argument in FITS[name].keys() & KINDS.keys():
        yield from KINDS[argument](name)


def refused(f, arguments, error, words):
    """Whether f raises just this error, with all the words; any other exception goes through."""
    try:
        f(**arguments)
    except error as caught:
        return type(caught) is error and all(word in str(caught) for word in words)
    return False


@pytest.mark.parametrize("name", FITS)
def test_what_does_not_fit_is_refused(name):
    """With the right exception, whose message names the operands, their shapes or numbers, and what to do."""
    f, fits, crashes, passed = getattr(am, name), fitting(name), [], []
    f(**fits)
    for kind, wrong, error, words in refusals(name):
        try:
            passed += [] if refused(f, fits | wrong, error, words) else [(kind, words)]
        except Exception as crash:
            crashes.append(crash)
    assert not passed, "accepted, or refused in other words"
    for crash in crashes:
        raise crash


def test_results_are_the_same_every_time():
    Q, K, V = operands("batch and heads")
    first, second = (am.scaled_dot_product_attention(Q, K, V) for _ in range(2))
    assert all((x == y).all() for x, y in zip(first, second, strict=True))


# -------------------------------------------------------------------------------------------------------- the module


SIGNATURES = """
softmax(x, axis=-1)
softmax_jacobian(a)
softmax_backward(a, da)
dot_scores(Q, K)
scaled_scores(Q, K)
general_scores(s, h, W)
additive_scores(s, h, W_1, W_2, v)
causal_mask(n_q, n_k=None, offset=0)
padding_mask(lengths, n_k)
to_additive(keep, dtype=<class 'float'>)
to_boolean(M)
scaled_dot_product_attention(Q, K, V, mask=None)
scaled_dot_product_attention_backward(G, Q, K, V, A)
split_heads(X, n_head)
merge_heads(X)
multi_head_attention(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None)
multi_head_attention_backward(G, X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None)
attention_by_rows(Q, K, V, mask=None, causal=False, offset=0)
"""


def public_functions():
    return {name: f for name, f in vars(am).items() if inspect.isfunction(f) and not name.startswith("_")}


def test_the_public_functions():
    source = inspect.getsource(am)
    for line in SIGNATURES.split("\n")[1:-1]:
        name = line.split("(")[0]
        assert f"def {line.replace(chr(60) + 'class ' + repr('float') + chr(62), 'float')}:" in source, name
    assert {line.split("(")[0] for line in SIGNATURES.split()} >= set(public_functions())


def test_docstrings_give_shapes_and_say_what_is_raised():
    for name, f in public_functions().items():
        assert "->" in f.__doc__, name
        assert "Source" in f.__doc__ or name in {"padding_mask", "to_additive", "to_boolean"}, name


def test_every_docstring_ends_with_an_example_that_runs():
    for name, f in public_functions().items():
        text, _, example = inspect.getdoc(f).rpartition("\n\n")
        assert example.startswith(">>> ") and len(example.splitlines()) <= 4 and ">>>" not in text, name
        test = doctest.DocTestParser().get_doctest(example, dict(vars(am)), name, None, None)
        assert test.examples and doctest.DocTestRunner().run(test).failed == 0, name


def test_small_numpy_integers_do_not_overflow():
    assert (am.causal_mask(np.uint8(200), None, np.uint8(100)) == am.causal_mask(200, None, 100)).all()
    assert am.causal_mask(3, 3, 2**62).all()
    Q, K, V = draw((3, 2), (200, 2), (200, 2))
    close(
        am.attention_by_rows(Q, K, V, causal=True, offset=np.int8(127)),
        attention(Q, K, V, am.causal_mask(3, 200, 127))[0],
    )


def test_a_finite_bias_never_blocks_in_a_narrower_dtype():
    Q, K, V = (X.astype(np.float32) for X in draw((2, 3), (3, 3), (3, 2)))
    for bias in np.finfo(float).min, -1e300:
        A = am.scaled_dot_product_attention(Q, K, V, np.full((2, 3), bias))[1]
        close(A, np.full((2, 3), 1 / 3), 2e-6)


@pytest.mark.parametrize("convert", [am.to_additive, am.to_boolean])
def test_nothing_is_no_mask_to_convert(convert):
    with pytest.raises(TypeError, match="mask"):
        convert(None)
