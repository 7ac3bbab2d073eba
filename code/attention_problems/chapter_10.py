"""What surrounds attention, and what its weights do not tell: the practice problems of chapter 10."""

import math
from functools import partial

import numpy as np

from .problem import Problem, arrays, drawn, in_float32, product, softmax, softmax_of_rows

# ------------------------------------------------------------------------------------ the right answers, in plain loops


def right_sinusoids(n, d_model):
    """Column by column in pairs, a sine and then a cosine of the same angle."""
    P = [[] for _ in range(n)]
    for i, row in enumerate(P):
        for m in range(d_model // 2):
            angle = i / 10000 ** (2 * m / d_model)
            row += [math.sin(angle), math.cos(angle)]
    return P


def right_layer_normalization(X, gamma, beta, eps):
    result = []
    for row in X:
        mean = sum(row) / len(row)
        variance = sum((x - mean) ** 2 for x in row) / len(row)
        entries = zip(row, gamma, beta, strict=True)
        result.append([g * (x - mean) / math.sqrt(variance + eps) + b for x, g, b in entries])
    return result


def plus(X, b):
    return [[x + y for x, y in zip(row, b, strict=True)] for row in X]


def right_sublayer(X, W_1, b_1, W_2, b_2, eps):
    width = len(X[0])
    normalized = right_layer_normalization(X, [1] * width, [0] * width, eps)
    hidden = [[max(0.0, x) for x in row] for row in plus(product(normalized, W_1), b_1)]
    added = plus(product(hidden, W_2), b_2)
    return [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(X, added, strict=True)]


def without(items, j):
    return items[:j] + items[j + 1 :]


def right_leave_one_out(S, V):
    """The output of each row with all keys, and again with the keys that are left."""
    Z, result = product(softmax_of_rows(S), V), []
    for row, z in zip(S, Z, strict=True):
        left = [product(softmax_of_rows([without(row, j)]), without(V, j))[0] for j in range(len(V))]
        result.append([math.dist(z, z_left) for z_left in left])
    return result


# --------------------------------------------------------------------------------------------------------------- cases

ROWS = drawn("X n_q d_model, gamma d_model, beta d_model")
FEED = drawn("X n_q d_model, W_1 d_model d_k, b_1 d_k, W_2 d_k d_model, b_2 d_model")  # d_ff is drawn as d_k
SEVERAL_KEYS = [case for case in drawn("S n_q n_k, V n_k d_v") if len(case[1]) > 1]


# ------------------------------------------------------------------------------------------------------ known mistakes


def encoded(exponent=lambda column, d_model: 2 * (column // 2) / d_model, first=0, base=10000, even=np.sin, odd=np.cos):
    """Sinusoids with another exponent for each column, another first position, base or pair of functions."""

    def sinusoids(n, d_model):
        column = np.arange(d_model)
        angle = (first + np.arange(n)[:, None]) / base ** exponent(column, d_model)
        return np.where(column % 2 == 0, even(angle), odd(angle))

    return sinusoids


def in_halves(n, d_model):
    P = encoded()(n, d_model)
    return np.hstack([P[:, ::2], P[:, 1::2]])


def normed(mean=True, spread=None, axis=-1, last=lambda x, gamma, beta: gamma * x + beta):
    """Layer normalization with another mean, another divisor spread(X, variance, eps), or another last step."""
    spread = spread or (lambda X, variance, eps: np.sqrt(variance + eps))

    def layer_normalization(X, gamma, beta, eps):
        centred = X - X.mean(axis=axis, keepdims=True) if mean else X
        return last(centred / spread(X, X.var(axis=axis, keepdims=True), eps), gamma, beta)

    return layer_normalization


def norm_no_keepdims(X, gamma, beta, eps):
    return gamma * (X - X.mean(axis=-1)) / np.sqrt(X.var(axis=-1) + eps) + beta


def relu(x):
    return np.maximum(x, 0)


def unit(X, eps, **how):
    """Normalized rows, without gain and bias."""
    return normed(**how)(X, 1, 0, eps)


def fed(x, W_1, b_1, W_2, b_2, middle=relu):
    return middle(x @ W_1 + b_1) @ W_2 + b_2


def in_sublayer(compose):
    """compose(X, norm, feed) with norm(x, axis=-1) and feed(x, middle=relu)."""

    def sublayer(X, W_1, b_1, W_2, b_2, eps):
        return compose(X, partial(unit, eps=eps), partial(fed, W_1=W_1, b_1=b_1, W_2=W_2, b_2=b_2))

    return sublayer


def outputs_without(S, V, blocked=-np.inf, weights=softmax):
    """Outputs Z[i], and without key j Z_left[i, j].   -> (n_q, 1, d_v), (n_q, n_k, d_v)"""
    left = np.where(np.eye(S.shape[1], dtype=bool), blocked, S[:, None])
    return (softmax(S) @ V)[:, None], weights(left) @ V


def change(S, V, **how):
    Z, Z_left = outputs_without(S, V, **how)
    return Z - Z_left


def length(x):
    return np.linalg.norm(x, axis=-1)


def renormalized_after(S, V):
    left = np.where(np.eye(S.shape[1], dtype=bool), 0, softmax(S)[:, None])
    return length((softmax(S) @ V)[:, None] - left / left.sum(axis=-1, keepdims=True) @ V)


def share_over_rest(A, V):
    """a_j / (1 − a_j) times the distance from the output to v_j: right until a weight rounds to 1."""
    return A / (1 - A) * length((A @ V)[:, None] - V)


# ------------------------------------------------------------------------------------------------------------ problems

SINUSOIDS = Problem(
    axes="n, d_model",
    right=right_sinusoids,
    cases=((2, 2), (3, 4), (4, 4), (5, 2), (1, 8), (7, 10), (50, 6), (2, 16)),
    mistakes={
        "halves": in_halves,
        "exponent not doubled": encoded(lambda column, d_model: column // 2 / d_model),
        "cosine of its own": encoded(lambda column, d_model: column / d_model),
        "exponent doubled twice": encoded(lambda column, d_model: 2 * column / d_model),
        "whole division": encoded(lambda column, d_model: column // 2 * 2 // d_model),
        "angle multiplied": encoded(lambda column, d_model: -(column // 2) * 2 / d_model),
        "base 1000": encoded(base=1000),
        "positions from 1": encoded(first=1),
        "cosine first": encoded(even=np.cos, odd=np.sin),
        "only sines": encoded(odd=np.sin),
        "transposed": lambda n, d_model: encoded()(n, d_model).T,
    },
)

LAYER_NORMALIZATION = Problem(
    axes="X n d_model, gamma d_model, beta d_model, eps",
    right=right_layer_normalization,
    cases=(
        (*arrays([[1, 3], [4, 0]], [2, 1], [0, 1]), 0.25),
        *((*case, eps) for case, eps in zip(ROWS, (1e-5, 0.5, 1e-5, 2.0, 1e-3, 1.0), strict=True)),
        (*arrays([[3, 3, 3], [1, 2, 6]], [1, 2, -1], [0.5, 0, 1]), 1e-5),  # a row without spread
        (*arrays([[100, 102, 104]], [1, 1, 1], [0, 0, 0]), 1e-5),
        (*in_float32(ROWS[1]), 0.1),
        (*arrays([[2**22 - 1, 2**22, 2**22 + 1]], [1, 1, 1], [0, 0, 0]), 1e-5),  # in float32 exact, its squares not
    ),
    mistakes={
        "by columns": normed(axis=0),
        "whole array": normed(axis=None),
        "norm no keepdims": norm_no_keepdims,
        "by d_model minus 1": normed(
            spread=lambda X, variance, eps: np.sqrt(X.var(axis=-1, ddof=1, keepdims=True) + eps)
        ),
        "eps left out": normed(spread=lambda X, variance, eps: np.sqrt(variance)),
        "eps outside": normed(spread=lambda X, variance, eps: np.sqrt(variance) + eps),
        "by variance": normed(spread=lambda X, variance, eps: variance + eps),
        "only centred": normed(spread=lambda X, variance, eps: 1),
        "mean left in": normed(mean=False),
        "squares cancel": normed(
            spread=lambda X, variance, eps: np.sqrt(
                (X**2).mean(axis=-1, keepdims=True) - X.mean(axis=-1, keepdims=True) ** 2 + eps
            )
        ),
        "root mean square": normed(
            mean=False, spread=lambda X, variance, eps: np.sqrt((X**2).mean(axis=-1, keepdims=True) + eps)
        ),
        "gamma left out": normed(last=lambda x, gamma, beta: x + beta),
        "beta left out": normed(last=lambda x, gamma, beta: gamma * x),
        "beta before gamma": normed(last=lambda x, gamma, beta: gamma * (x + beta)),
        "gamma and beta left out": normed(last=lambda x, gamma, beta: x),
        "gamma and beta exchanged": normed(last=lambda x, gamma, beta: beta * x + gamma),
    },
)

SUBLAYER = Problem(
    axes="X n d_model, W_1 d_model d_ff, b_1 d_ff, W_2 d_ff d_model, b_2 d_model, eps",
    right=right_sublayer,
    cases=(
        (*arrays([[3, -1], [0, 2]], [[1, -2], [0, 1]], [0, 1], [[1, 3], [2, -1]], [1, 0.5]), 0.5),
        *((*case, eps) for case, eps in zip(FEED, (1e-5, 0.5, 1.0, 1e-3, 2.0, 0.1), strict=True)),
        (*in_float32(FEED[0]), 0.1),
    ),
    mistakes={
        "post-norm": in_sublayer(lambda X, norm, feed: norm(X + feed(X))),
        "norm after": in_sublayer(lambda X, norm, feed: X + norm(feed(X))),
        "norm left out": in_sublayer(lambda X, norm, feed: X + feed(X)),
        "normed again": in_sublayer(lambda X, norm, feed: norm(X + feed(norm(X)))),
        "residual left out": in_sublayer(lambda X, norm, feed: feed(norm(X))),
        "residual of the normed": in_sublayer(lambda X, norm, feed: norm(X) + feed(norm(X))),
        "by columns": in_sublayer(lambda X, norm, feed: X + feed(norm(X, axis=0))),
        "whole array": in_sublayer(lambda X, norm, feed: X + feed(norm(X, axis=None))),
        "no maximum": in_sublayer(lambda X, norm, feed: X + feed(norm(X), middle=lambda x: x)),
        "maximum last": in_sublayer(lambda X, norm, feed: X + relu(feed(norm(X), middle=lambda x: x))),
        "maximum of all": in_sublayer(lambda X, norm, feed: relu(X + feed(norm(X)))),
        "minimum": in_sublayer(lambda X, norm, feed: X + feed(norm(X), middle=lambda x: np.minimum(x, 0))),
        "b_1 after": lambda X, W_1, b_1, W_2, b_2, eps: X + (relu(unit(X, eps) @ W_1) + b_1) @ W_2 + b_2,
        "no b_1": lambda X, W_1, b_1, W_2, b_2, eps: X + fed(unit(X, eps), W_1, 0, W_2, b_2),
        "no b_2": lambda X, W_1, b_1, W_2, b_2, eps: X + fed(unit(X, eps), W_1, b_1, W_2, 0),
    },
)

LEAVE_ONE_OUT = Problem(
    axes="S n_q n_k, V n_k d_v",
    right=right_leave_one_out,
    cases=(
        arrays([[0, 1], [2, 0]], [[3, 0], [0, 4]]),
        *SEVERAL_KEYS,
        arrays([[0, 2, 1]], [[1, 2], [1, 2], [1, 2]]),  # values alike: no key matters, whatever its weight
        arrays([[40, 0, 1], [0, 1, -40]], [[1, 2], [3, 0], [0, 4]]),  # the first weight rounds to 1
        arrays([[900, 0, 1], [0, 1, -900]], [[1, 2], [3, 0], [0, 4]]),
        arrays([[0, -1e5, -1e5 - 1]], [[1, 2], [3, 0], [0, 4]]),  # what is left lies below any fill but −∞
        in_float32(SEVERAL_KEYS[0]),
    ),
    mistakes={
        "zeroed after": lambda S, V: softmax(S) * length(V),
        "renormalized": renormalized_after,
        "zero scores": lambda S, V: length(change(S, V, blocked=0)),
        "-1e4": lambda S, V: length(change(S, V, blocked=-1e4)),
        "share over rest": lambda S, V: share_over_rest(softmax(S), V),
        "weights themselves": lambda S, V: softmax(S),
        "not normed": change,
        "norm squared": lambda S, V: length(change(S, V)) ** 2,
        "absolute sum": lambda S, V: abs(change(S, V)).sum(axis=-1),
        "norm of what is left": lambda S, V: length(outputs_without(S, V)[1]),
        "difference of norms": lambda S, V: abs(np.subtract(*map(length, outputs_without(S, V)))),
        "distance to the value": lambda S, V: length((softmax(S) @ V)[:, None] - V),
        "transposed": lambda S, V: length(change(S, V)).T,
    },
)

PROBLEMS = {
    "sinusoids": SINUSOIDS,
    "layer_normalization": LAYER_NORMALIZATION,
    "sublayer": SUBLAYER,
    "leave_one_out": LEAVE_ONE_OUT,
}
