"""The scaling and the gradients: the practice problems of chapters 3 and 4."""

import math

import numpy as np

from .problem import (
    WRONG_WEIGHTS,
    Problem,
    arrays,
    as_weights,
    dot,
    drawn,
    in_float32,
    product,
    right_attention,
    root,
    scores,
    softmax,
    softmax_of_rows,
)

# ------------------------------------------------------------------------------------ the right answers, in plain loops


def right_gap_ratio(gap, d_k):
    return math.exp(gap), math.exp(gap / math.sqrt(d_k))


def right_score_moments(Q, K):
    s = [dot(q, k) for q, k in zip(Q, K, strict=True)]
    mean = sum(s) / len(s)
    return mean, sum((x - mean) ** 2 for x in s) / len(s)


def right_saturated_share(S, limit):
    return sum(max(a) > limit for a in softmax_of_rows(S)) / len(S)


def right_jacobian(a):
    return [[a[j] * ((j == m) - a[m]) for m in range(len(a))] for j in range(len(a))]


def right_softmax_backward(a, da):
    """By the whole Jacobian, row by row."""
    if isinstance(a[0], list):
        return [right_softmax_backward(x, dx) for x, dx in zip(a, da, strict=True)]
    return product([da], right_jacobian(a))[0]


def transposed(X):
    return [list(column) for column in zip(*X, strict=True)]


def right_projection_gradients(dQ, X, W_Q):
    return product(transposed(X), dQ), product(dQ, transposed(W_Q))


def right_attention_backward(G, Q, K, V):
    A = right_attention(Q, K, V)[1]
    D = right_softmax_backward(A, product(G, transposed(V)))
    D = [[x / math.sqrt(len(K[0])) for x in row] for row in D]
    return product(D, K), product(transposed(D), Q), product(transposed(A), G)


# ------------------------------------------------------------------------------------------------------ known mistakes


def of_pairs(Q, K):
    return (Q * K).sum(axis=-1)


def moments(s, variance=np.var):
    return s.mean(), variance(s)


def share(weights):
    """The share of rows from weights that are computed in another way."""
    return lambda S, limit: (weights(S).max(axis=-1) > limit).mean()


WRONG_BACK = {  # of a and da
    "diagonal only": lambda a, da: a * (1 - a) * da,
    "no row sum": lambda a, da: a * da,
    "sum of da": lambda a, da: a * (da - da.sum(axis=-1, keepdims=True)),
    "sum over queries": lambda a, da: a * (da - (a * da).sum(axis=-2, keepdims=True)),
    "sum no keepdims": lambda a, da: a * (da - (a * da).sum(axis=-1)),
    "sum of all": lambda a, da: a * (da - (a * da).sum()),
    "mean for sum": lambda a, da: a * (da - (a * da).mean(axis=-1, keepdims=True)),
    "sum added": lambda a, da: a * (da + (a * da).sum(axis=-1, keepdims=True)),
    "no factor a": lambda a, da: da - (a * da).sum(axis=-1, keepdims=True),
    "sum without a": lambda a, da: a * da - (a * da).sum(axis=-1, keepdims=True),
}


def back(a, da):
    return a * (da - (a * da).sum(axis=-1, keepdims=True))


def going_back(scores=scores, weights=softmax, back=back, gradients=None):
    """The gradients of attention with another step.  gradients(A, D, G, Q, K, r), where r is √d_k, gives the last."""
    gradients = gradients or (lambda A, D, G, Q, K, r: (D @ K / r, D.T @ Q / r, A.T @ G))

    def backward(G, Q, K, V):
        A = weights(scores(Q, K))
        return gradients(A, back(A, G @ V.T), G, Q, K, root(K))

    return backward


def unscaled(A, D, G, Q, K, r):
    return D @ K, D.T @ Q, A.T @ G


# ------------------------------------------------------------------------------------------------------------ problems

FAR_FROM_ZERO = [  # where exp goes wrong without the row's own maximum; each way of it leaves another share
    [-1000.0, -1000.0, -1001.0],  # not saturated
    [1000.0, 0.0, -1000.0],
    *[[-1001.0, -1020.0, -1030.0]] * 2,
    *[[0.0, -40.0, -45.0]] * 2,
]

GAP_RATIO = Problem(
    axes="gap, d_k",
    right=right_gap_ratio,
    cases=((2, 4), (3.0, 9), (1.5, 64), (0, 5), (-2.0, 3), (2.5, 1), (20.0, 128)),
    mistakes={
        "unscaled": lambda gap, d_k: (math.exp(gap), math.exp(gap)),
        "by d_k": lambda gap, d_k: (math.exp(gap), math.exp(gap / d_k)),
        "times root": lambda gap, d_k: (math.exp(gap), math.exp(gap * math.sqrt(d_k))),
        "scaled after exp": lambda gap, d_k: (math.exp(gap), math.exp(gap) / math.sqrt(d_k)),
        "no exponential": lambda gap, d_k: (gap, gap / math.sqrt(d_k)),
        "upside down": lambda gap, d_k: (math.exp(-gap), math.exp(-gap / math.sqrt(d_k))),
        "weight for ratio": lambda gap, d_k: tuple(1 / (1 + math.exp(-x)) for x in (gap, gap / math.sqrt(d_k))),
        "after first": lambda gap, d_k: right_gap_ratio(gap, d_k)[::-1],
    },
    parts=("before", "after"),
)

SCORE_MOMENTS = Problem(
    axes="Q n d_k, K n d_k",
    right=right_score_moments,
    cases=(
        arrays([[2, 0], [0, 1]], [[1, 0], [2, 6]]),
        *drawn("Q n_q d_k, K n_q d_k"),
        in_float32(drawn("Q d_model d_k, K d_model d_k")[1]),
    ),
    mistakes={
        "variance first": lambda Q, K: moments(of_pairs(Q, K))[::-1],
        "by n minus 1": lambda Q, K: moments(of_pairs(Q, K), lambda s: s.var(ddof=1)),
        "deviation": lambda Q, K: moments(of_pairs(Q, K), np.std),
        "mean not subtracted": lambda Q, K: moments(of_pairs(Q, K), lambda s: (s**2).mean()),
        "variance not averaged": lambda Q, K: moments(of_pairs(Q, K), lambda s: len(s) * s.var()),
        "all pairs": lambda Q, K: moments(Q @ K.T),
        "each product": lambda Q, K: moments(Q * K),
        "over draws": lambda Q, K: moments((Q * K).sum(axis=0)),
        "mean": lambda Q, K: moments((Q * K).mean(axis=-1)),
        "scaled": lambda Q, K: moments(of_pairs(Q, K) / root(K)),
        "Q twice": lambda Q, K: moments(of_pairs(Q, Q)),
    },
    parts=("mean", "variance"),
)

SCORE_VARIANCE = Problem(
    axes="d_k, mu_q, mu_k",
    right=lambda d_k, mu_q, mu_k: d_k * (1 + mu_q * mu_q + mu_k * mu_k),
    cases=((2, 1, 2), (3, 2, 1), (64, 0, 0), (1, 3, 0), (1, 0, 3), (128, 0.5, -0.25), (5, -1.5, 2.0)),
    mistakes={
        "no means": lambda d_k, mu_q, mu_k: d_k,
        "means multiplied": lambda d_k, mu_q, mu_k: d_k * (1 + mu_q**2 * mu_k**2),
        "means not squared": lambda d_k, mu_q, mu_k: d_k * (1 + mu_q + mu_k),
        "means added first": lambda d_k, mu_q, mu_k: d_k * (1 + (mu_q + mu_k) ** 2),
        "only mu_q": lambda d_k, mu_q, mu_k: d_k * (1 + mu_q**2),
        "only mu_k": lambda d_k, mu_q, mu_k: d_k * (1 + mu_k**2),
        "means outside": lambda d_k, mu_q, mu_k: d_k + mu_q**2 + mu_k**2,
        "second moments": lambda d_k, mu_q, mu_k: d_k * (1 + mu_q**2) * (1 + mu_k**2),
        "expectation": lambda d_k, mu_q, mu_k: d_k * mu_q * mu_k,
        "variance after scaling": lambda d_k, mu_q, mu_k: 1 + mu_q**2 + mu_k**2,
        "deviation": lambda d_k, mu_q, mu_k: math.sqrt(d_k * (1 + mu_q**2 + mu_k**2)),
        "root d_k": lambda d_k, mu_q, mu_k: math.sqrt(d_k) * (1 + mu_q**2 + mu_k**2),
        "d_k squared": lambda d_k, mu_q, mu_k: d_k**2 * (1 + mu_q**2 + mu_k**2),
    },
)

SATURATED_SHARE = Problem(
    axes="S n_q n_k, limit",
    right=right_saturated_share,
    cases=(
        (np.array([[3.0, 0.0], [0.5, 1.0]]), 0.7),
        *((3 * S, limit) for (S,), limit in zip(drawn("S n_q n_k"), (0.6, 0.3, 0.99, 0.7, 0.5, 0.9), strict=True)),
        *((3 * S, 0.25) for (S,) in drawn("S d_model n_k")[:2]),
        (np.array(FAR_FROM_ZERO), 0.99),
        (np.array([[2.0], [-1.0]]), 1),  # each weight is 1: it does not exceed the limit
        in_float32((2 * drawn("S d_model d_k")[0][0], 0.5)),
    ),
    mistakes={
        **{key: share(wrong) for key, wrong in WRONG_WEIGHTS.items() if "keepdims" not in key and key != "by largest"},
        "no softmax": share(lambda S: S),
        "count": lambda S, limit: (softmax(S).max(axis=-1) > limit).sum(),
        "percentage": lambda S, limit: 100 * (softmax(S).max(axis=-1) > limit).mean(),
        "below": lambda S, limit: (softmax(S).max(axis=-1) <= limit).mean(),
        "at the limit": lambda S, limit: (softmax(S).max(axis=-1) >= limit).mean(),
        "weights, not rows": lambda S, limit: (softmax(S) > limit).mean(),
        "once for each weight": lambda S, limit: (softmax(S) > limit).sum() / len(S),
        "columns counted": lambda S, limit: (softmax(S).max(axis=0) > limit).mean(),
        "mean weight": lambda S, limit: softmax(S).max(axis=-1).mean(),
        "each row": lambda S, limit: (softmax(S).max(axis=-1) > limit) * 1,
    },
)

JACOBIAN = Problem(
    axes="a n",
    right=right_jacobian,
    cases=(
        arrays([0.25, 0.75]),
        *((as_weights(a),) for (a,) in drawn("a n_k")),
        arrays([1, 0, 0]),
        in_float32((as_weights(drawn("a d_model")[0][0]),)),
    ),
    mistakes={
        "diagonal only": lambda a: np.diag(a * (1 - a)),
        "diagonal as row": lambda a: a * (1 - a),
        "outer added": lambda a: np.diag(a) + np.outer(a, a),
        "inner product": lambda a: np.diag(a) - a @ a,
        "no diagonal": lambda a: -np.outer(a, a),
        "identity": lambda a: np.eye(len(a)) - np.outer(a, a),
        "one everywhere": lambda a: np.outer(a, 1 - a),
        "a on all rows": lambda a: a - np.outer(a, a),
        "signs": lambda a: np.outer(a, a) - np.diag(a),
        "softmax": lambda a: np.diag(softmax(a)) - np.outer(softmax(a), softmax(a)),
    },
)

SOFTMAX_BACKWARD = Problem(
    axes="a … n, da … n",
    right=right_softmax_backward,
    cases=(
        arrays([[0.25, 0.75], [0.5, 0.5]], [[4, 0], [1, 3]]),
        *(
            (as_weights(a), da)
            for axes in ("a n_q n_k, da n_q n_k", "a d_k n_q n_k, da d_k n_q n_k")
            for a, da in drawn(axes)
        ),
        (np.array([0.25, 0.25, 0.5]), np.array([1, 2, 4])),  # what is made like da holds no fractions
        arrays([1], [3]),
        arrays([[1, 0], [0.5, 0.5]], [[1000, -1000], [1000, 1000]]),
        in_float32((as_weights(drawn("a n_q d_v")[0][0]), drawn("a n_q d_v")[0][0])),
    ),
    mistakes={
        **WRONG_BACK,
        "a and da exchanged": lambda a, da: back(da, a),
        "softmax": lambda a, da: back(softmax(a), da),
    },
)

PROJECTION_GRADIENTS = Problem(
    axes="dQ n d_k, X n d_model, W_Q d_model d_k",
    right=right_projection_gradients,
    cases=(
        arrays([[1, 0], [2, -1]], [[1, 3], [0, 2]], [[1, 2], [-1, 4]]),
        *drawn("dQ n_q d_k, X n_q d_model, W_Q d_model d_k"),
        in_float32(drawn("dQ n_k d_k, X n_k d_model, W_Q d_model d_k")[0]),
    ),
    mistakes={
        "X not transposed": lambda dQ, X, W_Q: (X @ dQ, dQ @ W_Q.T),
        "W_Q not transposed": lambda dQ, X, W_Q: (X.T @ dQ, dQ @ W_Q),
        "neither transposed": lambda dQ, X, W_Q: (X @ dQ, dQ @ W_Q),
        "reshapes": lambda dQ, X, W_Q: (X.reshape(X.shape[::-1]) @ dQ, dQ @ W_Q.reshape(W_Q.shape[::-1])),
        "dW_Q transposed": lambda dQ, X, W_Q: (dQ.T @ X, dQ @ W_Q.T),
        "dX first": lambda dQ, X, W_Q: (dQ @ W_Q.T, X.T @ dQ),
        "dW_Q averaged": lambda dQ, X, W_Q: (X.T @ dQ / len(X), dQ @ W_Q.T),
        "summed first": lambda dQ, X, W_Q: (np.outer(X.sum(axis=0), dQ.sum(axis=0)), dQ @ W_Q.T),
        "Q for dQ": lambda dQ, X, W_Q: (X.T @ (X @ W_Q), X @ W_Q @ W_Q.T),
    },
    parts=("dW_Q", "dX"),
)

ATTENTION_BACKWARD = Problem(
    axes="G n_q d_v, Q n_q d_k, K n_k d_k, V n_k d_v",
    right=right_attention_backward,
    cases=(
        arrays([[1, 0], [0, 2]], [[2, 0], [0, 1]], [[1, 0], [2, 3]], [[8, 0], [1, 4]]),
        *drawn("G n_q d_v, Q n_q d_k, K n_k d_k, V n_k d_v"),
        arrays([[1, 2], [3, -1]], [[1000, 0], [0, 1]], [[1, 2], [5, 4]], [[1, 0], [0, 1]]),
        in_float32(drawn("G n_q d_v, Q n_q d_k, K n_k d_k, V n_k d_v")[0]),
    ),
    mistakes={
        **{key: going_back(back=WRONG_BACK[key]) for key in WRONG_BACK if key != "sum no keepdims"},
        "dQ unscaled": going_back(gradients=lambda A, D, G, Q, K, r: (D @ K, D.T @ Q / r, A.T @ G)),
        "dK unscaled": going_back(gradients=lambda A, D, G, Q, K, r: (D @ K / r, D.T @ Q, A.T @ G)),
        "dQ and dK unscaled": going_back(gradients=unscaled),
        "dQ and dK by d_k": going_back(gradients=lambda A, D, G, Q, K, r: (D @ K / r**2, D.T @ Q / r**2, A.T @ G)),
        "dV scaled": going_back(gradients=lambda A, D, G, Q, K, r: (D @ K / r, D.T @ Q / r, A.T @ G / r)),
        "D not transposed": going_back(gradients=lambda A, D, G, Q, K, r: (D @ K / r, D @ Q / r, A.T @ G)),
        "A not transposed": going_back(gradients=lambda A, D, G, Q, K, r: (D @ K / r, D.T @ Q / r, A @ G)),
        "dQ and dK exchanged": going_back(gradients=lambda A, D, G, Q, K, r: (D.T @ Q / r, D @ K / r, A.T @ G)),
        "dV first": going_back(gradients=lambda A, D, G, Q, K, r: (A.T @ G, D @ K / r, D.T @ Q / r)),
        "softmax left out": going_back(back=lambda a, da: da),
        "V not transposed": lambda G, Q, K, V: going_back()(G, Q, K, V.T),
        "K for V": lambda G, Q, K, V: going_back()(G, Q, K, K),
        "unscaled": going_back(lambda Q, K: Q @ K.T, gradients=unscaled),
        "weights unscaled": going_back(lambda Q, K: Q @ K.T),
        "axis 0": going_back(weights=WRONG_WEIGHTS["axis 0"]),
        "overflow": going_back(weights=WRONG_WEIGHTS["overflow"]),
    },
    parts=("dQ", "dK", "dV"),
)

PROBLEMS = {
    "gap_ratio": GAP_RATIO,
    "score_moments": SCORE_MOMENTS,
    "score_variance": SCORE_VARIANCE,
    "saturated_share": SATURATED_SHARE,
    "jacobian": JACOBIAN,
    "softmax_backward": SOFTMAX_BACKWARD,
    "projection_gradients": PROJECTION_GRADIENTS,
    "attention_backward": ATTENTION_BACKWARD,
}
