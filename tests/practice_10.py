"""The practice problems of chapter 10 as learners solve them, see practice_1_2.py."""

import math

import numpy as np

import attention_mechanism as am
from practice_1_2 import BAD_NUMBERS, MISFITS, NOTHING_THERE, OTHER_AXES, softmax_by_moveaxis, softmax_by_rows

# --------------------------------------------------------------------------------- right, and written in another way


def sinusoids_by_strides(n, d_model):
    P = np.zeros((n, d_model))
    angle = np.arange(n)[:, None] * 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    P[:, 0::2], P[:, 1::2] = np.sin(angle), np.cos(angle)
    return P


def sinusoids_by_rotation(n, d_model):
    """Every pair of columns turns by a fixed angle from one position to the next."""
    turn = np.exp(-1j / np.exp(np.log(10000) * np.arange(d_model // 2) * 2 / d_model))
    rows = [np.full(d_model // 2, 1j)]  # the sine is the real part, the cosine the imaginary one
    for _ in range(n - 1):
        rows.append(rows[-1] * turn)
    return np.array(rows).view(float)[:n]


def norm_by_loops(X, gamma, beta, eps):
    out = np.zeros(X.shape)
    for i, x in enumerate(X):
        mean = sum(x) / len(x)
        variance = sum((x - mean) ** 2) / len(x)
        for m in range(len(x)):
            out[i, m] = (x[m] - mean) / math.sqrt(variance + eps) * gamma[m] + beta[m]
    return out


def norm_in_float32(X, gamma, beta, eps):
    X = X.astype(np.float32)
    centred = X - X.mean(axis=1)[:, None]
    return centred / (np.square(centred).mean(axis=1)[:, None] + np.float32(eps)) ** 0.5 * gamma + beta


def sublayer_by_rows(X, W_1, b_1, W_2, b_2, eps):
    out = []
    for x in X:
        y = (x - np.mean(x)) / math.sqrt(np.var(x) + eps)
        out.append(x + np.clip(y @ W_1 + b_1, 0, None) @ W_2 + b_2)
    return out


def sublayer_with_a_column_of_ones(X, W_1, b_1, W_2, b_2, eps):
    ones = np.ones(len(X))
    hidden = np.c_[norm_by_loops(X, ones[:1].repeat(X.shape[1]), np.zeros(X.shape[1]), eps), ones] @ np.vstack(
        [W_1, b_1]
    )
    return X + np.c_[hidden * (hidden > 0), ones] @ np.vstack([W_2, b_2])


def sublayer_in_float32(X, *parameters):
    X, W_1, b_1, W_2, b_2, eps = map(np.float32, (X, *parameters))
    y = norm_in_float32(X, np.float32(1), np.float32(0), eps) @ W_1 + b_1
    return ((abs(y) + y) / 2 @ W_2 + b_2) + X


def less_one_by_deletion(S, V):
    Z = softmax_by_rows(S) @ V
    result = np.zeros(S.shape)
    for j in range(len(V)):
        left = softmax_by_rows(np.delete(S, j, axis=1)) @ np.delete(V, j, axis=0)
        result[:, j] = np.sqrt(((Z - left) ** 2).sum(axis=1))
    return result


def less_one_by_mask(S, V):
    Z, result = am.softmax(S) @ V, []
    for j in range(V.shape[0]):
        keep = np.arange(V.shape[0]) != j
        result.append(np.linalg.norm(am.softmax(S + am.to_additive(keep)) @ V - Z, axis=1))
    return np.transpose(result)


def less_one_by_formula(S, V):
    """Z − Z_left = a_j (v_j − Z_left), with Z_left from the other keys alone."""
    A, result = softmax_by_moveaxis(S), np.empty(S.shape)
    for i, j in np.ndindex(*S.shape):
        others = [m for m in range(len(V)) if m != j]
        left = np.average(V[others], axis=0, weights=softmax_by_rows(S[i, others]))
        result[i, j] = A[i, j] * math.dist(V[j], left)
    return result


ALTERNATIVES = {
    "sinusoids": [
        sinusoids_by_strides,
        sinusoids_by_rotation,
        lambda n, d_model: [
            [(math.cos if m % 2 else math.sin)(i / 10000 ** ((m - m % 2) / d_model)) for m in range(d_model)]
            for i in range(n)
        ],
    ],
    "layer_normalization": [
        norm_by_loops,
        norm_in_float32,
        lambda X, gamma, beta, eps: (gamma * ((X.T - X.mean(1)) / np.sqrt(X.var(1) + eps)).T + beta).tolist(),
    ],
    "sublayer": [sublayer_by_rows, sublayer_with_a_column_of_ones, sublayer_in_float32],
    "leave_one_out": [less_one_by_deletion, less_one_by_mask, less_one_by_formula],
}

# ------------------------------------------------------------------------ known mistakes, as a learner would write them


def encoded(angle, of_pair=(math.sin, math.cos)):
    """Sinusoids of angle(i, m, column, d_model), m counting pairs of columns."""
    return lambda n, d_model: np.array(
        [[of_pair[c % 2](angle(i, c // 2, c, d_model)) for c in range(d_model)] for i in range(n)]
    )


def right_angle(i, m, column, d_model):
    return i / 10000 ** (2 * m / d_model)


def halves(n, d_model):
    angle = np.arange(n)[:, None] / 10000 ** (np.arange(0, d_model, 2) / d_model)
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1)


def each_row(norm):
    """norm(x, gamma, beta, eps) of every row x."""
    return lambda X, gamma, beta, eps: np.array([norm(x, gamma, beta, eps) for x in X])


def standard(x, eps):
    return (x - np.mean(x)) / np.sqrt(np.var(x) + eps)


def columns_normed(X, gamma, beta, eps):
    return (X - np.mean(X, 0)) / (np.var(X, 0) + eps) ** 0.5 * gamma + beta


def no_keepdims(X, gamma, beta, eps):
    mean, variance = X.mean(axis=1), X.var(axis=1)
    return (X - mean) / np.sqrt(variance + eps) * gamma + beta


def all_in_one(X, gamma, beta, eps):
    return np.reshape(standard(X.ravel(), eps), X.shape) * gamma + beta


def rectified(x):
    return x * (x > 0)


def row_by_row(layer):
    """layer(x, norm, feed) of every row x; feed(x, middle=rectified)."""

    def sublayer(X, W_1, b_1, W_2, b_2, eps):
        def feed(x, middle=rectified):
            return middle(x @ W_1 + b_1) @ W_2 + b_2

        return np.array([layer(x, lambda y: standard(y, eps), feed) for x in X])

    return sublayer


def sublayer_with(norm):
    """norm(X, gamma, beta, eps) in front of the right feed-forward network."""

    def sublayer(X, W_1, b_1, W_2, b_2, eps):
        return X + np.maximum(norm(X, 1, 0, eps) @ W_1 + b_1, 0) @ W_2 + b_2

    return sublayer


def sublayer_of(change):
    """The right sublayer with change(W_1, b_1, W_2, b_2) for its parameters."""
    return lambda X, *rest: np.array(sublayer_by_rows(X, *change(*rest[:4]), rest[4]))


def b_1_after(X, W_1, b_1, W_2, b_2, eps):
    hidden = [rectified(standard(x, eps) @ W_1) + b_1 for x in X]
    return np.add(X, np.dot(hidden, W_2) + b_2)


def for_each_key(effect):
    """effect(A_i, S_i, V, j) of every query i and key j."""
    return lambda S, V: np.array([[effect(softmax_by_rows(row), row, V, j) for j in range(len(V))] for row in S])


def left(row, V, j):
    return softmax_by_rows(np.delete(row, j)) @ np.delete(V, j, axis=0)


def zeroed(a, row, V, j):
    a_left = a.copy()
    a_left[j] = 0
    return np.linalg.norm(a @ V - a_left @ V)


def zeroed_and_normalized(a, row, V, j):
    a_left = np.where(np.arange(len(a)) == j, 0, a)
    return np.linalg.norm(a @ V - a_left / a_left.sum() @ V)


def score_0(a, row, V, j):
    row = row.copy()
    row[j] = 0
    return np.linalg.norm(a @ V - softmax_by_rows(row) @ V)


def less_one_filled(S, V, fill):
    """Each score in turn is overwritten by a number."""
    Z, result = softmax_by_rows(S) @ V, []
    for j in range(len(V)):
        left = S.astype(float)
        left[:, j] = fill
        result.append(np.linalg.norm(softmax_by_rows(left) @ V - Z, axis=1))
    return np.transpose(result)


WRONG = {
    "sinusoids": {
        "halves": halves,
        "exponent not doubled": encoded(lambda i, m, column, d_model: i / 10000 ** (m / d_model)),
        "cosine of its own": encoded(lambda i, m, column, d_model: i / 10000 ** (column / d_model)),
        "exponent doubled twice": encoded(lambda i, m, column, d_model: i / 10000 ** (2 * column / d_model)),
        "whole division": encoded(lambda i, m, column, d_model: i / 10000 ** (2 * m // d_model)),
        "angle multiplied": encoded(lambda i, m, column, d_model: i * 10000 ** (2 * m / d_model)),
        "base 1000": encoded(lambda i, m, column, d_model: i / 1000 ** (2 * m / d_model)),
        "positions from 1": encoded(lambda i, m, column, d_model: right_angle(i + 1, m, column, d_model)),
        "cosine first": encoded(right_angle, (math.cos, math.sin)),
        "only sines": encoded(right_angle, (math.sin, math.sin)),
        "transposed": lambda n, d_model: np.transpose(sinusoids_by_strides(n, d_model)),
    },
    "layer_normalization": {
        "by columns": columns_normed,
        "whole array": all_in_one,
        "norm no keepdims": no_keepdims,
        "by d_model minus 1": each_row(
            lambda x, gamma, beta, eps: gamma * (x - x.mean()) / (x.var(ddof=1) + eps) ** 0.5 + beta
        ),
        "eps left out": each_row(lambda x, gamma, beta, eps: gamma * (x - x.mean()) / x.std() + beta),
        "eps outside": each_row(lambda x, gamma, beta, eps: gamma * (x - x.mean()) / (x.std() + eps) + beta),
        "by variance": each_row(lambda x, gamma, beta, eps: gamma * (x - x.mean()) / (x.std() ** 2 + eps) + beta),
        "only centred": each_row(lambda x, gamma, beta, eps: gamma * (x - x.mean()) + beta),
        "mean left in": each_row(lambda x, gamma, beta, eps: gamma * x / (x.std() ** 2 + eps) ** 0.5 + beta),
        "squares cancel": each_row(
            lambda x, gamma, beta, eps: (
                gamma * (x - x.mean()) / math.sqrt(abs(np.mean(x * x) - np.mean(x) ** 2) + eps) + beta
            )
        ),
        "root mean square": each_row(lambda x, gamma, beta, eps: gamma * x / (x @ x / len(x) + eps) ** 0.5 + beta),
        "gamma left out": each_row(lambda x, gamma, beta, eps: standard(x, eps) + beta),
        "beta left out": each_row(lambda x, gamma, beta, eps: standard(x, eps) * gamma),
        "beta before gamma": each_row(lambda x, gamma, beta, eps: (standard(x, eps) + beta) * gamma),
        "gamma and beta left out": each_row(lambda x, gamma, beta, eps: standard(x, eps)),
        "gamma and beta exchanged": each_row(lambda x, gamma, beta, eps: standard(x, eps) * beta + gamma),
    },
    "sublayer": {
        "post-norm": row_by_row(lambda x, norm, feed: norm(x + feed(x))),
        "norm after": row_by_row(lambda x, norm, feed: x + norm(feed(x))),
        "norm left out": row_by_row(lambda x, norm, feed: x + feed(x)),
        "normed again": row_by_row(lambda x, norm, feed: norm(x + feed(norm(x)))),
        "residual left out": row_by_row(lambda x, norm, feed: feed(norm(x))),
        "residual of the normed": row_by_row(lambda x, norm, feed: norm(x) + feed(norm(x))),
        "by columns": sublayer_with(columns_normed),
        "whole array": sublayer_with(all_in_one),
        "no maximum": row_by_row(lambda x, norm, feed: x + feed(norm(x), lambda y: y)),
        "maximum last": row_by_row(lambda x, norm, feed: x + rectified(feed(norm(x), lambda y: y))),
        "maximum of all": row_by_row(lambda x, norm, feed: rectified(x + feed(norm(x)))),
        "minimum": row_by_row(lambda x, norm, feed: x + feed(norm(x), lambda y: y * (y < 0))),
        "b_1 after": b_1_after,
        "no b_1": sublayer_of(lambda W_1, b_1, W_2, b_2: (W_1, 0, W_2, b_2)),
        "no b_2": sublayer_of(lambda W_1, b_1, W_2, b_2: (W_1, b_1, W_2, 0)),
    },
    "leave_one_out": {
        "zeroed after": for_each_key(zeroed),
        "renormalized": for_each_key(zeroed_and_normalized),
        "zero scores": for_each_key(score_0),
        "-1e4": lambda S, V: less_one_filled(S, V, -1e4),
        "share over rest": for_each_key(lambda a, row, V, j: a[j] / (1 - a[j]) * math.dist(a @ V, V[j])),
        "weights themselves": for_each_key(lambda a, row, V, j: a[j]),
        "not normed": for_each_key(lambda a, row, V, j: a @ V - left(row, V, j)),
        "norm squared": for_each_key(lambda a, row, V, j: sum((a @ V - left(row, V, j)) ** 2)),
        "absolute sum": for_each_key(lambda a, row, V, j: sum(np.abs(a @ V - left(row, V, j)))),
        "norm of what is left": for_each_key(lambda a, row, V, j: math.hypot(*left(row, V, j))),
        "difference of norms": for_each_key(
            lambda a, row, V, j: abs(math.hypot(*(a @ V)) - math.hypot(*left(row, V, j)))
        ),
        "distance to the value": for_each_key(lambda a, row, V, j: math.dist(a @ V, V[j])),
        "transposed": lambda S, V: np.transpose(less_one_by_deletion(S, V)),
    },
}

# -------------------------------------------------------------------------------------- the mutants of the field

ADAPTERS = {"leave_one_out": (less_one_by_mask, {"softmax", "to_additive"})}
SURVIVORS = {
    "leave_one_out": BAD_NUMBERS
    | MISFITS
    | NOTHING_THERE
    | OTHER_AXES
    | {  # the scores have two axes, and a key is always left, with a score far above -1e9
        "softmax along the first axis, batch or heads",
        "softmax always returns float64",
        "the additive mask is -1e9",
        "the additive mask is always float64",
        "the additive mask is 1 where visible",  # a shift
    }
}
