"""Right answers to the assignments made of the course's own functions, for mutants to go through: for each question
that can be answered so, of which variants, how, and which of those functions it runs through.

bench/kill_table.py says which wrong versions of them lose points."""

import math

import numpy as np

import attention_mechanism as am
from practice_1_2 import ATTENTION

BACKWARD = {"scaled_dot_product_attention_backward", "softmax_backward"}


def rows_if(layout, *arrays):
    return [X if layout == "rows" else X.mT for X in arrays]


# ------------------------------------------------------------------------------------------- 1: scores and softmax


def scores(v, Q, K):
    (Q,), (K,) = rows_if(v.queries, Q), rows_if(v.keys, K)
    K = K - K.mean(axis=0) if v.centred else K
    S = am.dot_scores(Q, K)
    if v.alike == "cosine":
        norms = np.linalg.norm(Q, axis=1)[:, None] * np.linalg.norm(K, axis=1)
        S = S / np.where(norms == 0, 1, norms)
    if v.alike == "distance":
        S = 2 * S - (Q**2).sum(axis=1)[:, None] - (K**2).sum(axis=1)
    S = S / {"root": math.sqrt(K.shape[1]), "width": K.shape[1]}.get(v.divisor, v.divisor)
    return S if v.result == "queries" else S.T


def weights(v, S):
    """The extra keys of the denominator are keys of score 0 that are then left out."""
    x = np.moveaxis(S * (math.log(v.base) / v.T), v.axis, -1)
    A = am.softmax(np.concatenate([x, np.zeros((*x.shape[:-1], v.extra))], axis=-1))[..., : x.shape[-1]]
    return np.moveaxis(A, -1, v.axis)


def select(v, S):
    x = np.moveaxis(S, v.axis, -1)
    order = np.argsort(-x, axis=-1, kind="stable")
    kept = np.argsort(order, axis=-1, kind="stable") < v.keep[1]
    return np.moveaxis(am.softmax(np.where(kept, x, -np.inf)), -1, v.axis)


# -------------------------------------------------------------------------------------------- 2: scaled attention


def factor(v, d_k, n_k):
    return {"root": 1 / math.sqrt(d_k), "width": 1 / d_k, "log": math.log(n_k) / math.sqrt(d_k)}[v.scale]


def capped(v, Q, K, V):
    (K,), (V,) = rows_if(v.keys, K), rows_if(v.values, V)
    S, by = am.dot_scores(Q, K), factor(v, K.shape[-1], K.shape[-2])
    A = am.softmax(v.cap * np.tanh(S / v.cap) * by if v.at == "scores" else v.cap * np.tanh(S * by / v.cap))
    return {"Z": A @ V, "Z, A": (A @ V, A), "A, Z": (A, A @ V)}[v.returns]


def mask(v, n_q, n_k, n_pad):
    return (am.causal_mask(n_q, n_k) | (np.arange(n_k) < v.rule[1])) & am.padding_mask(n_k - n_pad, n_k)


def biased(v, Q, K, V, mask):
    far = abs(np.arange(len(Q))[:, None] - np.arange(len(K)))
    bias = v.slope * {"absolute": far, "square": far**2, "log": np.log1p(far)}[v.distance]
    return am.scaled_dot_product_attention(Q, K, V, am.to_additive(mask == (v.true == "may")) - bias)[0]


def stream(v, Q, K, V):
    near = np.arange(len(Q))[:, None] - np.arange(len(K)) <= v.limit
    return am.attention_by_rows(Q, K, V, near, causal=True)


# --------------------------------------------------------------------------------------------------- 3: gradients


def jacobian(v, S):
    by = math.log(v.base) / v.tau
    return by * am.softmax_jacobian(am.softmax(by * (S if v.query == "row" else S.T)))


def scores_gradient(v, S, mask, dA):
    S, keep, dA = (np.moveaxis(x, v.axis, -1) for x in (S, mask != v.blocks, dA))
    inside = S / v.cap if v.first == "cap" else S / v.tau / v.cap
    x = np.tanh(inside) * (v.cap / v.tau if v.first == "cap" else v.cap)
    D = am.softmax_backward(am.softmax(np.where(keep, x, -np.inf)), dA)
    return np.moveaxis(D * (1 - np.tanh(inside) ** 2) / v.tau, -1, v.axis)


def loss_gradient(v, S, target):
    A, counted = am.softmax(S / v.tau), target >= 0
    Y = v.eps / S.shape[1] + (1 - v.eps) * (np.arange(S.shape[1]) == target[:, None])
    dA = (-Y / A if v.loss == "cross" else A - Y) * counted[:, None]
    return am.softmax_backward(A, dA) / v.tau / {"sum": 1, "all": len(S), "counted": counted.sum()}[v.over]


def gradients(Q, K, V, G, divisor, keep):
    """Of attention whose scores are divided by another number than √d_k."""
    by = math.sqrt(Q.shape[1]) / divisor
    A = am.scaled_dot_product_attention(by * Q, K, V, keep)[1]
    dQ, dK, dV = am.scaled_dot_product_attention_backward(G, by * Q, K, V, A)
    return by * dQ, dK, dV


def attention_gradients(v, *given):
    Q, K, V, G = given if v.layout == "rows" else [x.T for x in given]
    steps = np.arange(len(K)) - np.arange(len(Q))[:, None]
    keep = (steps >= (0 if v.side == "future" else -v.w)) & (steps <= (0 if v.side == "past" else v.w))
    three = gradients(Q, K, V, G, v.tau * {"root": math.sqrt(Q.shape[1]), "width": Q.shape[1]}[v.scale], keep)
    return three if v.layout == "rows" else tuple(g.T for g in three)


def input_gradients(v, X, W, G):
    keep = {"past": am.causal_mask(len(X)), "future": am.causal_mask(len(X)).T, "all": np.ones((len(X),) * 2, bool)}[
        v.sees
    ]
    projected = [letter in v.shared for letter in "qkv"]
    three = [X @ W if p else X for p in projected]
    three = gradients(*three, G, v.tau * {"root": math.sqrt(len(W)), "width": len(W)}[v.scale], keep)
    through = sum(g for g, p in zip(three, projected, strict=True) if p)
    direct = sum(g for g, p in zip(three, projected, strict=True) if not p)
    return through @ W.T + direct + v.residual * G, X.T @ through


# --------------------------------------------------------------------------------------------------- 4: many heads


def split_fused(v, P):
    found = dict(zip(v.order, np.split(P, 3, axis=-1), strict=True))
    Q, K, V = (am.split_heads(found[name], v.n_head) for name in "QKV")
    return Q, K.mT if v.keys == "across" else K, V


def head_weights(v, Q, K):
    r = np.arange(len(Q))[:, None, None]
    steps = np.arange(Q.shape[1])[:, None] + v.offset - np.arange(K.shape[1])
    slope = {"halving": v.c / 2.0**r, "growing": v.c * (r + 1), "dividing": v.c / (r + 1)}[v.slope]
    penalty = {"linear": abs(steps), "square": steps**2, "log": np.log1p(abs(steps))}[v.penalty]
    back = {"even": r % 2 == 0, "odd": r % 2 == 1, "first": r == 0, "rest": r > 0}[v.back]
    M = np.where(np.where(back, steps >= 0, steps <= 0), -slope * penalty, -np.inf)
    return am.scaled_dot_product_attention(Q, K, K, M)[1]


def shared_heads(v, Q, K, V, lengths):
    K, V = (np.repeat(X, Q.shape[1] // K.shape[1], axis=1) for X in (K, V))
    real = am.padding_mask(lengths[:, None], K.shape[2])
    return am.merge_heads(am.scaled_dot_product_attention(Q / v.temperature, K, V, real)[0])


def gated_layer(v, X, W_Q, W_K, W_V, W_G, W_O):
    if v.vectors == "columns":
        X, W_Q, W_K, W_V, W_G, W_O = (M.T for M in (X, W_Q, W_K, W_V, W_G, W_O))
    Q, K, V = (am.split_heads(X @ W, v.n_head) for W in (W_Q, W_K, W_V))
    gate = {"sigmoid": lambda x: 1 / (1 + np.exp(-x)), "tanh": np.tanh, "1 + tanh": lambda x: 1 + np.tanh(x)}[v.gate]
    g = gate(X @ W_G).T[..., None]
    near = np.arange(len(X))[:, None] - np.arange(len(X)) < v.window
    Z = am.scaled_dot_product_attention(Q, K, g * V if v.gated == "values" else V, am.causal_mask(len(X)) & near)[0]
    Y = am.merge_heads(Z if v.gated == "values" else g * Z) @ W_O + v.residual * X
    return Y if v.vectors == "rows" else Y.T


def every(v):
    return True


BY_COURSE = {  # assignment and question -> of which variants, the function, what of the course it runs through
    "a1 q1": (every, scores, {"dot_scores"}),
    "a1 q2": (lambda v: v.returns == "weights", weights, {"softmax"}),
    "a1 q4": (
        lambda v: (v.keep[0], v.rest, v.returns) == ("count", "shared", "weights"),
        select,
        {"softmax"},
    ),
    "a2 q1": (every, capped, {"dot_scores", "softmax"}),
    "a2 q2": (
        lambda v: (v.rule[0], v.time, v.align, v.pad, v.true) == ("prefix", "back", "start", "last", "may"),
        mask,
        {"causal_mask", "padding_mask"},
    ),
    "a2 q3": (lambda v: (v.scale, v.empty) == ("root", "zeros"), biased, ATTENTION | {"to_additive"}),
    "a2 q4": (
        lambda v: (v.scale, v.leaves, v.own, v.returns) == ("root", "oldest", True, "Z"),
        stream,
        {"attention_by_rows"},
    ),
    "a3 q1": (lambda v: not v.one and not v.log, jacobian, {"softmax_jacobian", "softmax"}),
    "a3 q2": (every, scores_gradient, {"softmax", "softmax_backward"}),
    "a3 q3": (every, loss_gradient, {"softmax", "softmax_backward"}),
    "a3 q4": (every, attention_gradients, ATTENTION | BACKWARD),
    "a3 q5": (every, input_gradients, ATTENTION | BACKWARD | {"causal_mask"}),
    "a4 q1": (lambda v: v.nesting == "matrix head component", split_fused, {"split_heads"}),
    "a4 q2": (every, head_weights, ATTENTION),
    "a4 q3": (
        lambda v: (v.groups, v.real, v.layout) == ("blocks", "first", "side by side"),
        shared_heads,
        ATTENTION | {"padding_mask", "merge_heads"},
    ),
    "a4 q4": (
        lambda v: v.columns == "blocks",
        gated_layer,
        ATTENTION | {"split_heads", "merge_heads", "causal_mask"},
    ),
}
