"""The practice problems of chapters 3 and 4 as learners solve them, see practice_1_2.py."""

import math
import statistics

import numpy as np

import attention_mechanism as am
from practice_1_2 import (
    BAD_NUMBERS,
    BETWEEN_THE_STEPS,
    DTYPES,
    MISFITS,
    NOTHING_THERE,
    OTHER_AXES,
    RIGHT_SCORES,
    SCORES,
    WEIGHTS,
    softmax_by_moveaxis,
    softmax_by_rows,
    softmax_by_scipy_formula,
)

# --------------------------------------------------------------------------------- right, and written in another way


def pairs(Q, K):
    return [sum(a * b for a, b in zip(q, k, strict=True)) for q, k in zip(Q.tolist(), K.tolist(), strict=True)]


def share_by_loop(S, limit):
    rows = 0
    for row in S:
        if np.exp(row - row.max()).sum() < 1 / limit:  # the largest weight is 1 over this sum
            rows += 1
    return rows / len(S)


def jacobian_by_loops(a):
    J = np.zeros((len(a), len(a)))
    for j in range(len(a)):
        for m in range(len(a)):
            J[j, m] = a[j] * (1 - a[j]) if j == m else -a[j] * a[m]
    return J


def backward_by_jacobians(a, da):
    J = np.eye(a.shape[-1]) * a[..., None, :] - a[..., :, None] * a[..., None, :]
    return (da[..., None, :] @ J)[..., 0, :]


def gradient_by_differences(loss, X, h=1e-5):
    """Central differences of a number that depends on an array."""
    X, dX = np.array(X, dtype=float), np.zeros(np.shape(X))
    for at in np.ndindex(X.shape):
        step = np.zeros(X.shape)
        step[at] = h
        dX[at] = (loss(X + step) - loss(X - step)) / (2 * h)
    return dX


def attention_by_differences(G, Q, K, V):
    def loss(Q, K, V):
        return np.sum(G * (softmax_by_rows(RIGHT_SCORES(Q, K)) @ V))

    return (
        gradient_by_differences(lambda X: loss(X, K, V), Q),
        gradient_by_differences(lambda X: loss(Q, X, V), K),
        gradient_by_differences(lambda X: loss(Q, K, X), V),
    )


def attention_backward_by_loops(G, Q, K, V):
    r, A = math.sqrt(K.shape[1]), softmax_by_rows(RIGHT_SCORES(Q, K))
    dQ, dK, dV = np.zeros(Q.shape), np.zeros(K.shape), np.zeros(V.shape)
    for i in range(len(Q)):
        dA = [G[i] @ V[j] for j in range(len(K))]
        mean = sum(A[i, j] * dA[j] for j in range(len(K)))
        for j in range(len(K)):
            dV[j] += A[i, j] * G[i]
            dQ[i] += A[i, j] * (dA[j] - mean) * K[j] / r
            dK[j] += A[i, j] * (dA[j] - mean) * Q[i] / r
    return dQ, dK, dV


def attention_backward_by_course(G, Q, K, V):
    return am.scaled_dot_product_attention_backward(G, Q, K, V, am.scaled_dot_product_attention(Q, K, V)[1])


ALTERNATIVES = {
    "gap_ratio": [
        lambda gap, d_k: np.exp([gap, gap / np.sqrt(d_k)]),
        lambda gap, d_k: (math.e**gap, (math.e**gap) ** (1 / d_k**0.5)),
        lambda gap, d_k: [np.divide(*softmax_by_rows([x, 0.0])) for x in (gap, gap * d_k**-0.5)],
    ],
    "score_moments": [
        lambda Q, K: (np.mean(pairs(Q, K)), np.var(pairs(Q, K))),
        lambda Q, K: (statistics.fmean(pairs(Q, K)), statistics.pvariance(pairs(Q, K))),
        lambda Q, K: (np.trace(Q @ K.T) / len(Q), np.var(np.diag(Q @ K.T))),
        lambda Q, K: ((s := np.einsum("il,il->i", Q, K)).mean(), (s**2).mean() - s.mean() ** 2),
        lambda Q, K: [f(np.float32(Q * K).sum(1)) for f in (np.mean, np.var)],
    ],
    "score_variance": [
        lambda d_k, mu_q, mu_k: d_k + d_k * mu_q**2 + d_k * mu_k**2,
        lambda d_k, mu_q, mu_k: sum(1 + mu_q * mu_q + mu_k * mu_k for _ in range(d_k)),
        lambda d_k, mu_q, mu_k: d_k * ((1 + mu_q**2) * (1 + mu_k**2) - (mu_q * mu_k) ** 2),
        lambda d_k, mu_q, mu_k: np.float64(d_k) * (1 + np.square([mu_q, mu_k]).sum()),
    ],
    "saturated_share": [
        share_by_loop,
        lambda S, limit: np.mean(softmax_by_moveaxis(S).max(-1) > limit),
        lambda S, limit: sum(max(row) > limit for row in softmax_by_rows(S)) / len(S),
        lambda S, limit: np.any(softmax_by_scipy_formula(S) > limit, axis=1).sum() / len(S),
    ],
    "jacobian": [
        jacobian_by_loops,
        lambda a: np.diagflat(a) - a[:, None] * a,
        lambda a: a[:, None] * (np.eye(len(a)) - a),
        lambda a: (np.eye(len(a), dtype=np.float32) - a.astype(np.float32)) * a.astype(np.float32)[:, None],
        am.softmax_jacobian,
    ],
    "softmax_backward": [
        backward_by_jacobians,
        lambda a, da: a * da - a * np.einsum("...j,...j->...", a, da)[..., None],
        lambda a, da: a * (da - np.vecdot(a, da)[..., None]),
        am.softmax_backward,
    ],
    "projection_gradients": [
        lambda dQ, X, W_Q: (np.einsum("nm,nk->mk", X, dQ), np.einsum("nk,mk->nm", dQ, W_Q)),
        lambda dQ, X, W_Q: (sum(np.outer(x, dq) for x, dq in zip(X, dQ, strict=True)), [W_Q @ dq for dq in dQ]),
        lambda dQ, X, W_Q: [(dQ.T @ X).T, (W_Q @ dQ.T).T],
        lambda dQ, X, W_Q: (
            gradient_by_differences(lambda W: np.sum(dQ * (X @ W)), W_Q),
            gradient_by_differences(lambda Y: np.sum(dQ * (Y @ W_Q)), X),
        ),
    ],
    "attention_backward": [
        attention_backward_by_loops,
        attention_by_differences,
        attention_backward_by_course,
    ],
}

# ------------------------------------------------------------------------ known mistakes, as a learner would write them


def share_of(weights):
    return lambda S, limit: sum(row.max() > limit for row in np.asarray(weights(S))) / len(S)


def per_row(rule):
    """rule(a, da) for each row alone."""

    def backward(a, da):
        out = [rule(x, dx) for x, dx in zip(a.reshape(-1, a.shape[-1]), da.reshape(-1, a.shape[-1]), strict=True)]
        return np.reshape(out, a.shape)

    return backward


def over_queries(a, da):
    return a * da - a * np.expand_dims(np.sum(a * da, -2), -2)


def no_keepdims(a, da):
    s = np.sum(a * da, axis=-1)
    return a * (da - s)


BACK = {
    "diagonal only": per_row(lambda a, da: [x * (1 - x) * dx for x, dx in zip(a, da, strict=True)]),
    "no row sum": lambda a, da: np.multiply(a, da),
    "sum of da": per_row(lambda a, da: a * (da - sum(da))),
    "sum over queries": over_queries,
    "sum no keepdims": no_keepdims,
    "sum of all": lambda a, da: a * da - a * np.vdot(a, da),
    "mean for sum": per_row(lambda a, da: a * (da - np.mean(a * da))),
    "sum added": per_row(lambda a, da: a * (da + np.dot(a, da))),
    "no factor a": per_row(lambda a, da: da - np.dot(a, da)),
    "sum without a": per_row(lambda a, da: a * da - np.dot(a, da)),
}
RIGHT_BACK = per_row(lambda a, da: a * (da - np.dot(a, da)))


def going_back(scores=RIGHT_SCORES, weights=softmax_by_rows, back=RIGHT_BACK, last=None):
    """The backward pass with another step; last(A, D, G, Q, K, √d_k) gives the gradients."""

    def backward(G, Q, K, V):
        A = np.asarray(weights(scores(Q, K)))
        D = back(A, np.einsum("ic,jc->ij", G, V))
        right = np.dot(D, K) / len(K[0]) ** 0.5, np.dot(D.T, Q) / len(K[0]) ** 0.5, np.dot(A.T, G)
        return last(*right, A, D, G, Q, K) if last else right

    return backward


def times(dQ=lambda d: 1, dK=lambda d: 1, dV=lambda d: 1):
    """The right gradients, each times a factor of d_k."""
    return lambda *x: (x[0] * dQ(len(x[7][0])), x[1] * dK(len(x[7][0])), x[2] * dV(len(x[7][0])))


def root(d):
    return d**0.5


def with_V_as_it_is(G, Q, K, V):
    A = softmax_by_rows(RIGHT_SCORES(Q, K))
    D = RIGHT_BACK(A, G @ V)
    return D @ K / K.shape[1] ** 0.5, D.T @ Q / K.shape[1] ** 0.5, A.T @ G


WRONG = {
    "gap_ratio": {
        "unscaled": lambda gap, d_k: [np.exp(gap)] * 2,
        "by d_k": lambda gap, d_k: np.exp([gap, gap / d_k]).tolist(),
        "times root": lambda gap, d_k: np.exp([gap, gap * d_k**0.5]).tolist(),
        "scaled after exp": lambda gap, d_k: [np.exp(gap), np.exp(gap) * d_k**-0.5],
        "no exponential": lambda gap, d_k: [gap, gap * d_k**-0.5],
        "upside down": lambda gap, d_k: [1 / np.exp(gap), 1 / np.exp(gap / d_k**0.5)],
        "weight for ratio": lambda gap, d_k: [softmax_by_rows([x, 0])[0] for x in (gap, gap / d_k**0.5)],
        "after first": lambda gap, d_k: [np.exp(gap / d_k**0.5), np.exp(gap)],
    },
    "score_moments": {
        "variance first": lambda Q, K: (np.var(pairs(Q, K)), np.mean(pairs(Q, K))),
        "by n minus 1": lambda Q, K: (np.mean(pairs(Q, K)), np.var(pairs(Q, K), ddof=1)),
        "deviation": lambda Q, K: (np.mean(pairs(Q, K)), statistics.pstdev(pairs(Q, K))),
        "mean not subtracted": lambda Q, K: (np.mean(pairs(Q, K)), np.dot(pairs(Q, K), pairs(Q, K)) / len(Q)),
        "variance not averaged": lambda Q, K: (
            np.mean(pairs(Q, K)),
            sum((s - np.mean(pairs(Q, K))) ** 2 for s in pairs(Q, K)),
        ),
        "all pairs": lambda Q, K: (np.mean([q @ k for q in Q for k in K]), np.var([q @ k for q in Q for k in K])),
        "each product": lambda Q, K: (np.mean(np.multiply(Q, K)), np.var(np.multiply(Q, K))),
        "over draws": lambda Q, K: (np.mean(pairs(Q.T, K.T)), np.var(pairs(Q.T, K.T))),
        "mean": lambda Q, K: (np.mean(np.mean(Q * K, axis=1)), np.var(np.mean(Q * K, axis=1))),
        "scaled": lambda Q, K: (np.mean(pairs(Q, K)) / len(Q[0]) ** 0.5, np.var(pairs(Q, K)) / len(Q[0])),
        "Q twice": lambda Q, K: (np.mean(pairs(Q, Q)), np.var(pairs(Q, Q))),
    },
    "score_variance": {
        "no means": lambda d_k, mu_q, mu_k: float(d_k),
        "means multiplied": lambda d_k, mu_q, mu_k: d_k + d_k * (mu_q * mu_k) ** 2,
        "means not squared": lambda d_k, mu_q, mu_k: d_k + d_k * mu_q + d_k * mu_k,
        "means added first": lambda d_k, mu_q, mu_k: d_k + d_k * (mu_q + mu_k) ** 2,
        "only mu_q": lambda d_k, mu_q, mu_k: d_k + d_k * mu_q**2,
        "only mu_k": lambda d_k, mu_q, mu_k: d_k + d_k * mu_k**2,
        "means outside": lambda d_k, mu_q, mu_k: sum([d_k, mu_q**2, mu_k**2]),
        "second moments": lambda d_k, mu_q, mu_k: d_k * (1 + mu_q**2 + mu_k**2 + (mu_q * mu_k) ** 2),
        "expectation": lambda d_k, mu_q, mu_k: sum(mu_q * mu_k for _ in range(d_k)),
        "variance after scaling": lambda d_k, mu_q, mu_k: d_k * (1 + mu_q**2 + mu_k**2) / d_k,
        "deviation": lambda d_k, mu_q, mu_k: (d_k * (1 + mu_q**2 + mu_k**2)) ** 0.5,
        "root d_k": lambda d_k, mu_q, mu_k: d_k**0.5 * (1 + mu_q**2 + mu_k**2),
        "d_k squared": lambda d_k, mu_q, mu_k: d_k * d_k * (1 + mu_q**2 + mu_k**2),
    },
    "saturated_share": {
        **{key: share_of(WEIGHTS[key]) for key in ("overflow", "largest of all", "all at once", "axis 0")},
        "no softmax": share_of(lambda S: S),
        "count": lambda S, limit: sum(max(row) > limit for row in softmax_by_rows(S)),
        "percentage": lambda S, limit: share_by_loop(S, limit) * 100,
        "below": lambda S, limit: 1 - share_by_loop(S, limit),
        "at the limit": lambda S, limit: sum(max(row) >= limit for row in softmax_by_rows(S)) / len(S),
        "weights, not rows": lambda S, limit: np.count_nonzero(softmax_by_rows(S) > limit) / S.size,
        "once for each weight": lambda S, limit: np.count_nonzero(softmax_by_rows(S) > limit) / len(S),
        "columns counted": lambda S, limit: np.mean([max(column) > limit for column in softmax_by_rows(S).T]),
        "mean weight": lambda S, limit: sum(max(row) for row in softmax_by_rows(S)) / len(S),
        "each row": lambda S, limit: [int(max(row) > limit) for row in softmax_by_rows(S)],
    },
    "jacobian": {
        "diagonal only": lambda a: np.eye(len(a)) * (a - a**2),
        "diagonal as row": lambda a: [x * (1 - x) for x in a],
        "outer added": lambda a: np.diag(a) + a[:, None] * a[None, :],
        "inner product": lambda a: np.diag(a) - np.dot(a, a.T),
        "no diagonal": lambda a: [[-x * y for y in a] for x in a],
        "identity": lambda a: np.identity(len(a)) - a[:, None] * a,
        "one everywhere": lambda a: [[x * (1 - y) for y in a] for x in a],
        "a on all rows": lambda a: [[y - x * y for y in a] for x in a],
        "signs": lambda a: -jacobian_by_loops(a),
        "softmax": lambda a: jacobian_by_loops(softmax_by_rows(a)),
    },
    "softmax_backward": {
        **BACK,
        "a and da exchanged": lambda a, da: RIGHT_BACK(da, a),
        "softmax": lambda a, da: RIGHT_BACK(softmax_by_moveaxis(a), da),
    },
    "projection_gradients": {
        "X not transposed": lambda dQ, X, W_Q: (np.dot(X, dQ), np.dot(dQ, W_Q.T)),
        "W_Q not transposed": lambda dQ, X, W_Q: (np.dot(X.T, dQ), np.dot(dQ, W_Q)),
        "neither transposed": lambda dQ, X, W_Q: (np.dot(X, dQ), np.dot(dQ, W_Q)),
        "reshapes": lambda dQ, X, W_Q: (
            np.reshape(X, (X.shape[1], -1)) @ dQ,
            dQ @ np.reshape(W_Q, (W_Q.shape[1], -1)),
        ),
        "dW_Q transposed": lambda dQ, X, W_Q: (np.einsum("nk,nm->km", dQ, X), np.dot(dQ, W_Q.T)),
        "dX first": lambda dQ, X, W_Q: (np.dot(dQ, W_Q.T), np.dot(X.T, dQ)),
        "dW_Q averaged": lambda dQ, X, W_Q: (
            np.mean([np.outer(x, dq) for x, dq in zip(X, dQ, strict=True)], axis=0),
            np.dot(dQ, W_Q.T),
        ),
        "summed first": lambda dQ, X, W_Q: (np.outer(sum(X), sum(dQ)), np.dot(dQ, W_Q.T)),
        "Q for dQ": lambda dQ, X, W_Q: (np.dot(X.T, np.dot(X, W_Q)), np.dot(np.dot(X, W_Q), W_Q.T)),
    },
    "attention_backward": {
        **{key: going_back(back=wrong) for key, wrong in BACK.items() if key != "sum no keepdims"},
        "dQ unscaled": going_back(last=times(dQ=root)),
        "dK unscaled": going_back(last=times(dK=root)),
        "dQ and dK unscaled": going_back(last=times(root, root)),
        "dQ and dK by d_k": going_back(last=times(lambda d: d**-0.5, lambda d: d**-0.5)),
        "dV scaled": going_back(last=times(dV=lambda d: d**-0.5)),
        "D not transposed": going_back(last=lambda dQ, dK, dV, A, D, G, Q, K: (dQ, D @ Q / root(Q.shape[1]), dV)),
        "A not transposed": going_back(last=lambda dQ, dK, dV, A, D, G, Q, K: (dQ, dK, np.dot(A, G))),
        "dQ and dK exchanged": going_back(last=lambda *x: (x[1], x[0], x[2])),
        "dV first": going_back(last=lambda *x: (x[2], x[0], x[1])),
        "softmax left out": going_back(back=lambda a, da: 1 * da),
        "V not transposed": with_V_as_it_is,
        "K for V": lambda G, Q, K, V: attention_backward_by_loops(G, Q, K, K),
        "unscaled": going_back(SCORES["unscaled"], last=times(root, root)),
        "weights unscaled": going_back(SCORES["unscaled"]),
        "axis 0": going_back(weights=WEIGHTS["axis 0"]),
        "overflow": going_back(weights=WEIGHTS["overflow"]),
    },
}

# -------------------------------------------------------------------------------------- the mutants of the field

ADAPTERS = {
    "jacobian": (lambda a: am.softmax_jacobian(a), {"softmax_jacobian"}),
    "softmax_backward": (lambda a, da: am.softmax_backward(a, da), {"softmax_backward"}),
    "attention_backward": (
        attention_backward_by_course,
        {"scaled_dot_product_attention_backward", "softmax_backward", "scaled_scores", "dot_scores", "softmax"},
    ),
}
SURVIVORS = {
    "jacobian": set(),
    "softmax_backward": set(),
    "attention_backward": DTYPES
    | BAD_NUMBERS
    | MISFITS
    | NOTHING_THERE
    | OTHER_AXES
    | BETWEEN_THE_STEPS
    | {  # there are no masks and no axes in front
        "softmax along the first axis, batch or heads",
        "an empty row makes the gradients NaN",
        "NaN at a key that no query may attend to reaches the gradients",
        "the gradient of a broadcast operand is not summed back",
        "the gradient of a broadcast operand is averaged, not summed",
    },
}
