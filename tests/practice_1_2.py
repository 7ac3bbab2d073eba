"""The practice problems of chapters 1 and 2 as learners solve them: right in several ways, wrong in the known ones; and
made of the course's own functions, for mutants to go through."""

import math

import numpy as np

import attention_mechanism as am

# --------------------------------------------------------------------------------- right, and written in another way


def softmax_by_scipy_formula(x):
    return np.exp(x - np.logaddexp.reduce(x, axis=-1, keepdims=True))


def softmax_by_rows(x):
    rows = np.asarray(x, float).reshape(-1, np.shape(x)[-1])
    out = []
    for row in rows:
        m = max(row)
        e = [math.exp(t - m) for t in row]
        out.append([t / sum(e) for t in e])
    return np.array(out).reshape(np.shape(x))


def softmax_by_moveaxis(x):
    y = np.moveaxis(x, -1, 0)
    e = np.exp(y - y.max(0))
    return np.moveaxis(e / e.sum(0), 0, -1)


def softmax_32(x):
    x = x.astype(np.float32)
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention_by_loops(Q, K, V):
    A = np.zeros((len(Q), len(K)))
    Z = np.zeros((len(Q), V.shape[1]))
    for i in range(len(Q)):
        s = [sum(Q[i, m] * K[j, m] for m in range(Q.shape[1])) / math.sqrt(Q.shape[1]) for j in range(len(K))]
        A[i] = softmax_by_rows(s)
        for j in range(len(K)):
            Z[i] += A[i, j] * V[j]
    return Z, A


def attention_by_einsum(Q, K, V):
    A = softmax_by_moveaxis(np.einsum("il,jl->ij", Q / K.shape[-1] ** 0.5, K))
    return [np.einsum("ij,jc->ic", A, V), A]


def count_by_loops(n_q, n_k, d_k, d_v):
    return sum(1 for i in range(n_q) for j in range(n_k) for _ in range(d_k + d_v))


ALTERNATIVES = {
    "match_all": [
        lambda q, K: np.einsum("l,jl->j", q, K),
        lambda q, K: [sum(a * b for a, b in zip(q, k, strict=True)) for k in K],
        lambda q, K: (q * K).sum(axis=1),
        lambda q, K: q @ K.T,
        lambda q, K: tuple(K.astype(np.float32) @ q.astype(np.float32)),
    ],
    "mix": [
        lambda a, V: np.einsum("j,jc->c", a, V),
        lambda a, V: sum(w * v for w, v in zip(a, V, strict=True)),
        lambda a, V: (a[:, None] * V).sum(axis=0),
        lambda a, V: V.T @ a,
        lambda a, V: np.average(V, axis=0, weights=a),
        lambda a, V: [float(np.dot(a, column)) for column in V.T],
    ],
    "bilinear_score": [
        lambda x_i, x_j, W_Q, W_K: x_i @ W_Q @ W_K.T @ x_j,
        lambda x_i, x_j, W_Q, W_K: np.einsum("m,ml,nl,n->", x_i, W_Q, W_K, x_j),
        lambda x_i, x_j, W_Q, W_K: float(np.dot(W_Q.T @ x_i, W_K.T @ x_j)),
        lambda x_i, x_j, W_Q, W_K: sum(
            x_i[m] * W_Q[m, r] * W_K[n, r] * x_j[n]
            for m in range(len(x_i))
            for n in range(len(x_j))
            for r in range(W_Q.shape[1])
        ),
    ],
    "cross_attention": [
        lambda X_q, X_s, W_Q, W_K, W_V: attention_by_loops(X_q @ W_Q, X_s @ W_K, X_s @ W_V)[0],
        lambda X_q, X_s, W_Q, W_K, W_V: am.scaled_dot_product_attention(X_q @ W_Q, X_s @ W_K, X_s @ W_V)[0],
        lambda X_q, X_s, W_Q, W_K, W_V: (
            softmax_32(X_q @ W_Q @ W_K.T @ X_s.T / math.sqrt(W_K.shape[1])) @ X_s @ W_V
        ).tolist(),
    ],
    "stable_softmax": [softmax_by_scipy_formula, softmax_by_rows, softmax_by_moveaxis, softmax_32, am.softmax],
    "scaled": [
        lambda Q, K: np.einsum("il,jl->ij", Q, K) * K.shape[1] ** -0.5,
        lambda Q, K: [[np.dot(q, k) / math.sqrt(len(k)) for k in K] for q in Q],
        lambda Q, K: (Q / Q.shape[1] ** 0.25) @ (K / K.shape[1] ** 0.25).T,
        lambda Q, K: (K @ Q.T).T / np.sqrt(Q.shape[-1]),
        lambda Q, K: Q.astype(np.float32) @ K.astype(np.float32).T / np.sqrt(np.float32(Q.shape[-1])),
    ],
    "attention": [attention_by_loops, attention_by_einsum, am.scaled_dot_product_attention],
    "multiplications": [
        count_by_loops,
        lambda n_q, n_k, d_k, d_v: n_q * n_k * d_k + n_q * d_v * n_k,
        lambda n_q, n_k, d_k, d_v: np.prod([n_q, n_k, d_k + d_v]),
        lambda n_q, n_k, d_k, d_v: n_q * n_k * (d_k + d_v) / 1,
    ],
}


# ------------------------------------------------------------------------ known mistakes, as a learner would write them


def for_each_pair(score):
    return lambda Q, K: np.array([[score(q, k, Q, K) for k in K] for q in Q])


SCORES = {
    "unscaled": for_each_pair(lambda q, k, Q, K: q @ k),
    "by d_k": for_each_pair(lambda q, k, Q, K: q @ k / len(k)),
    "times root": for_each_pair(lambda q, k, Q, K: q @ k * len(k) ** 0.5),
    "by root n_k": for_each_pair(lambda q, k, Q, K: q @ k / len(K) ** 0.5),
    "by root n_q": for_each_pair(lambda q, k, Q, K: q @ k / len(Q) ** 0.5),
    "not transposed": lambda Q, K: np.matmul(Q, K) / K.shape[1] ** 0.5,
    "reshaped": lambda Q, K: np.matmul(Q, np.reshape(K, (K.shape[1], K.shape[0]))) / K.shape[1] ** 0.5,
    "cosine": for_each_pair(lambda q, k, Q, K: q @ k / (q @ q) ** 0.5 / (k @ k) ** 0.5),
    "cosine, scaled": for_each_pair(lambda q, k, Q, K: q @ k / math.hypot(*q) / math.hypot(*k) / len(k) ** 0.5),
    "Q twice": lambda Q, K: np.einsum("il,jl->ij", Q, Q) / K.shape[1] ** 0.5,
    "K twice": lambda Q, K: np.einsum("il,jl->ij", K, K) / K.shape[1] ** 0.5,
}
RIGHT_SCORES = for_each_pair(lambda q, k, Q, K: q @ k / len(k) ** 0.5)


def softmax_of_axis(axis):
    def softmax(x):
        e = np.exp(x - np.max(x, axis=axis, keepdims=True))
        return e / np.sum(e, axis=axis, keepdims=True)

    return softmax


def no_keepdims(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1)


def max_no_keepdims(x):
    e = np.exp(x - np.max(x, axis=-1))
    return e / np.sum(e, axis=-1, keepdims=True)


def never_keepdims(x):
    e = np.exp(x - np.max(x, axis=-1))
    return e / np.sum(e, axis=-1)


WEIGHTS = {
    "overflow": lambda x: np.exp(x) / np.sum(np.exp(x), axis=-1, keepdims=True),
    "largest of all": lambda x: np.exp(x - np.max(x)) / np.sum(np.exp(x - np.max(x)), axis=-1, keepdims=True),
    "no keepdims": no_keepdims,
    "max no keepdims": max_no_keepdims,
    "never keepdims": never_keepdims,
    "all at once": lambda x: np.exp(x) / np.sum(np.exp(x)),
    "axis 0": softmax_of_axis(0),
    "by largest": lambda x: np.exp(x) / np.max(np.exp(x), axis=-1, keepdims=True),
}
AT_LARGE_SCORES = {
    "overflow",
    "largest of all",
}  # cross_attention, which comes before the problem of the softmax, is not tried there


def attention_of(scores=RIGHT_SCORES, weights=softmax_by_rows):
    def attention(Q, K, V):
        A = weights(scores(Q, K))
        return np.dot(A, V), A

    return attention


def output_of(**parts):
    return lambda Q, K, V: attention_of(**parts)(Q, K, V)[0]


def crossed(project, output=None):
    """Cross-attention with project(X_q, X_s, W_Q, W_K, W_V) -> Q, K, V."""
    return lambda *arguments: (output or output_of())(*project(*arguments))


def projections(X_q, X_s, W_Q, W_K, W_V):
    return X_q @ W_Q, X_s @ W_K, X_s @ W_V


def by_root_d_model(X_q, X_s, W_Q, W_K, W_V):
    Q, K, V = projections(X_q, X_s, W_Q, W_K, W_V)
    return softmax_by_rows(Q @ K.T / X_q.shape[1] ** 0.5) @ V


A_T = "A transposed"
WRONG = {
    "match_all": {
        "not transposed": lambda q, K: np.dot(q, K),
        "reshaped": lambda q, K: np.dot(q, K.reshape(len(q), -1)),
        "not summed": lambda q, K: np.array([q * k for k in K]),
        "summed wrongly": lambda q, K: sum(q * k for k in K),
        "one number": lambda q, K: sum(np.dot(q, k) for k in K),
        "mean": lambda q, K: [np.mean(q * k) for k in K],
        "scaled": lambda q, K: np.array([q @ k for k in K]) / len(q) ** 0.5,
        "cosine": lambda q, K: [q @ k / np.sqrt((q @ q) * (k @ k)) for k in K],
        "distance": lambda q, K: [math.dist(q, k) for k in K],
        "softmax": lambda q, K: softmax_by_rows([q @ k for k in K]),
        "row": lambda q, K: q.reshape(1, -1) @ K.T,
        "column": lambda q, K: K @ q.reshape(-1, 1),
    },
    "mix": {
        "columns": lambda a, V: np.dot(V, a),
        "not summed": lambda a, V: [w * v for w, v in zip(a, V, strict=True)],
        "summed wrongly": lambda a, V: [sum(w * v) for w, v in zip(a, V, strict=True)],
        "one number": lambda a, V: sum(sum(w * v) for w, v in zip(a, V, strict=True)),
        "plain mean": lambda a, V: sum(V) / len(V),
        "plain sum": lambda a, V: sum(V),
        "over keys too": lambda a, V: sum(w * v for w, v in zip(a, V, strict=True)) / len(a),
        "winner": lambda a, V: V[np.argmax(a)],
        "softmax": lambda a, V: np.dot(softmax_by_rows(a), V),
        "row": lambda a, V: np.matmul(a.reshape(1, -1), V),
        "column": lambda a, V: V.T @ a.reshape(-1, 1),
    },
    "bilinear_score": {
        "exchanged": lambda x_i, x_j, W_Q, W_K: x_i @ W_K @ W_Q.T @ x_j,
        "W_Q twice": lambda x_i, x_j, W_Q, W_K: np.dot(x_i @ W_Q, x_j @ W_Q),
        "W_K twice": lambda x_i, x_j, W_Q, W_K: np.dot(x_i @ W_K, x_j @ W_K),
        "W transposed": lambda x_i, x_j, W_Q, W_K: x_i @ W_Q.T @ W_K @ x_j,
        "no projection": lambda x_i, x_j, W_Q, W_K: np.dot(x_i, x_j),
        "only x_i": lambda x_i, x_j, W_Q, W_K: np.dot(x_i @ W_Q, x_i @ W_K),
        "only x_j": lambda x_i, x_j, W_Q, W_K: np.dot(x_j @ W_Q, x_j @ W_K),
        "not summed": lambda x_i, x_j, W_Q, W_K: [a * b for a, b in zip(x_i @ W_Q, x_j @ W_K, strict=True)],
        "outer": lambda x_i, x_j, W_Q, W_K: [[a * b for b in x_j @ W_K] for a in x_i @ W_Q],
        "scaled": lambda x_i, x_j, W_Q, W_K: np.dot(x_i @ W_Q, x_j @ W_K) / W_K.shape[1] ** 0.5,
        "cosine": lambda x_i, x_j, W_Q, W_K: (
            np.dot(x_i @ W_Q, x_j @ W_K) / np.linalg.norm(x_i @ W_Q) / np.linalg.norm(x_j @ W_K)
        ),
        "row": lambda x_i, x_j, W_Q, W_K: x_i.reshape(1, -1) @ W_Q @ W_K.T @ x_j.reshape(-1, 1),
    },
    "cross_attention": {
        "values from X_q": crossed(lambda X_q, X_s, W_Q, W_K, W_V: (X_q @ W_Q, X_s @ W_K, X_q @ W_V)),
        "keys from X_q": crossed(lambda X_q, X_s, W_Q, W_K, W_V: (X_q @ W_Q, X_q @ W_K, X_s @ W_V)),
        "only X_q": crossed(lambda X_q, X_s, W_Q, W_K, W_V: projections(X_q, X_q, W_Q, W_K, W_V)),
        "only X_s": crossed(lambda X_q, X_s, W_Q, W_K, W_V: projections(X_s, X_s, W_Q, W_K, W_V)),
        "X exchanged": crossed(lambda X_q, X_s, W_Q, W_K, W_V: projections(X_s, X_q, W_Q, W_K, W_V)),
        "W_K for values": crossed(lambda X_q, X_s, W_Q, W_K, W_V: (X_q @ W_Q, X_s @ W_K, X_s @ W_K)),
        "values unprojected": crossed(lambda X_q, X_s, W_Q, W_K, W_V: (X_q @ W_Q, X_s @ W_K, X_s)),
        "W_Q twice": crossed(lambda X_q, X_s, W_Q, W_K, W_V: projections(X_q, X_s, W_Q, W_Q, W_V)),
        "W_K twice": crossed(lambda X_q, X_s, W_Q, W_K, W_V: projections(X_q, X_s, W_K, W_K, W_V)),
        "W exchanged": crossed(lambda X_q, X_s, W_Q, W_K, W_V: projections(X_q, X_s, W_K, W_Q, W_V)),
        "no projection": crossed(lambda X_q, X_s, W_Q, W_K, W_V: (X_q, X_s, X_s)),
        **{key: crossed(projections, output_of(scores=scores)) for key, scores in SCORES.items()},
        **{key: crossed(projections, output_of(weights=WEIGHTS[key])) for key in WEIGHTS if key not in AT_LARGE_SCORES},
        "by root d_model": by_root_d_model,
        "no softmax": crossed(projections, lambda Q, K, V: RIGHT_SCORES(Q, K) @ V),
        A_T: crossed(projections, lambda Q, K, V: softmax_by_rows(RIGHT_SCORES(Q, K)).T @ V),
        "scaled after": crossed(projections, lambda Q, K, V: softmax_by_rows(Q @ K.T) @ V / K.shape[1] ** 0.5),
        "A for Z": crossed(projections, lambda Q, K, V: softmax_by_rows(RIGHT_SCORES(Q, K))),
    },
    "stable_softmax": {
        **WEIGHTS,
        "axis 1": softmax_of_axis(1),
        "no exp": lambda x: x / np.sum(x, axis=-1, keepdims=True),
        "not normalized": lambda x: math.e**x,
        "log": lambda x: x - np.logaddexp.reduce(x, axis=-1, keepdims=True),
        "clipped": lambda x: softmax_by_rows(np.maximum(-700, np.minimum(x, 700))),
        "softmax": lambda x: softmax_by_rows(softmax_by_rows(x)),
    },
    "scaled": {
        **SCORES,
        "transposed": lambda Q, K: np.matmul(K, Q.T) / Q.shape[1] ** 0.5,
        "softmax": lambda Q, K: softmax_by_rows(RIGHT_SCORES(Q, K)),
        "not summed": lambda Q, K: np.multiply(Q, K) / Q.shape[1] ** 0.5,
        "one number": lambda Q, K: np.vdot(Q, K) / Q.shape[1] ** 0.5,
    },
    "attention": {
        **{key: attention_of(scores=scores) for key, scores in SCORES.items()},
        **{key: attention_of(weights=weights) for key, weights in WEIGHTS.items()},
        "no softmax": attention_of(weights=lambda S: S),
        "scaled after": lambda Q, K, V: tuple(X / len(K[0]) ** 0.5 for X in attention_of(SCORES["unscaled"])(Q, K, V)),
        "K and V exchanged": lambda Q, K, V: attention_by_loops(Q, V, K),
        "K for V": lambda Q, K, V: attention_by_loops(Q, K, K),
        "Q for V": lambda Q, K, V: attention_by_loops(Q, K, Q),
        A_T: lambda Q, K, V: (attention_by_loops(Q, K, V)[1].T @ V, attention_by_loops(Q, K, V)[1]),
        "transposed": lambda Q, K, V: (attention_by_loops(Q, K, V)[0], attention_by_loops(Q, K, V)[1].T),
        "order": lambda Q, K, V: attention_by_loops(Q, K, V)[::-1],
        "scores for A": lambda Q, K, V: (attention_by_loops(Q, K, V)[0], Q @ K.T / K.shape[1] ** 0.5),
        "plain mean": lambda Q, K, V: (
            np.array([sum(V) / len(V) for _ in Q]),
            attention_by_loops(Q, K, V)[1],
        ),
    },
    "multiplications": {
        "only scores": lambda n_q, n_k, d_k, d_v: d_k * n_k * n_q,
        "only output": lambda n_q, n_k, d_k, d_v: n_q * d_v * n_k,
        "n_q squared": lambda n_q, n_k, d_k, d_v: n_q * n_q * d_k + n_q * n_q * d_v,
        "n_k squared": lambda n_q, n_k, d_k, d_v: n_k * n_k * d_k + n_k * n_k * d_v,
        "d_k for both": lambda n_q, n_k, d_k, d_v: n_q * n_k * (d_k + d_k),
        "additions": lambda n_q, n_k, d_k, d_v: n_q * n_k * (d_k + d_k - 1) + n_q * d_v * (n_k + n_k - 1),
        "doubled": lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * d_k + 2 * n_q * n_k * d_v,
        "scaling": lambda n_q, n_k, d_k, d_v: n_q * n_k * d_k + n_q * n_k + n_q * n_k * d_v,
        "entries": lambda n_q, n_k, d_k, d_v: n_q * (n_k + d_v),
        "product": lambda n_q, n_k, d_k, d_v: (n_q * n_k * d_k) * (n_q * d_v * n_k),
    },
}

# -------------------------------------------------------------------------------------- the mutants of the field


def cross_by_heads(X_q, X_s, W_Q, W_K, W_V):
    return am.multi_head_attention(X_q, X_s, W_Q, W_K, W_V, np.eye(W_V.shape[1]), 1)[0]


HEADS = {"multi_head_attention", "split_heads", "merge_heads"}
ATTENTION = {"scaled_dot_product_attention", "scaled_scores", "dot_scores", "softmax"}
ADAPTERS = {  # a right function made of the course's own, and which of those it runs through
    "match_all": (lambda q, K: am.dot_scores(q[None], K)[0], {"dot_scores"}),
    "bilinear_score": (
        lambda x_i, x_j, W_Q, W_K: am.general_scores([x_i], [x_j], W_Q @ W_K.T).item(),
        {"general_scores"},
    ),
    "cross_attention": (cross_by_heads, HEADS | ATTENTION),
    "stable_softmax": (lambda x: am.softmax(x), {"softmax"}),
    "scaled": (lambda Q, K: am.scaled_scores(Q, K), {"scaled_scores", "dot_scores"}),
    "attention": (lambda Q, K, V: am.scaled_dot_product_attention(Q, K, V), ATTENTION),
}


# What the problems do not ask about, so that these mutants give right answers there.
MASKS = {
    "the mask is not used",
    "a boolean mask is read as True = drop",
    "blocked scores get -1e9",
    "blocked scores get -1e-9",
    "blocked scores get the smallest float16",
    "padding is put on the queries",
    "a float mask only blocks, its finite values are lost",
    "a float mask is divided by √d_k with the scores",
    "the first axis of the mask is used for all of the batch",
    "an integer mask is added as a bias",
    "a mask for shorter sequences is cut or filled to fit",
    "weights are zeroed after the softmax and not renormalised",
    "NaN at a key that no query may attend to reaches the output",
    "attention writes into the mask",
    "a float64 mask widens float32",
    "a finite bias overflows to -inf in float32",
    "a query that sees nothing is NaN if another query reads NaN",
}
DTYPES = {
    "np.sqrt of an array widens float32 to float64",
    "softmax always returns float64",
    "scores are computed in float16",
    "dQ, dK, dV are float64 whatever they were",
}
BAD_NUMBERS = {"NaN among the scores counts as weight 0", "NaN in one row reaches all rows"}
NOTHING_THERE = {"an empty row is NaN", "an empty row is uniform", "without keys the output is NaN"}
MISFITS = {  # what the course's functions refuse, and no learner is given
    "the longer of K and V is cut without a word",
    "columns that do not divide are dropped",
    "2.0 counts as 2 heads, and True as 1",
    "one query without its axis is taken for a row",
    "the imaginary part of the queries is dropped",
    "text is read as numbers",
    "booleans are taken for numbers",
    "integers are taken for a boolean mask",
    "a mask with an axis for the heads is accepted",
    "NaN in a float mask is taken for blocked",
    "G that only broadcasts to the shape of Z is accepted",
    "a negative offset is accepted",
    "a length beyond n_k is cut without a word",
    "lengths that are no whole numbers are rounded",
    "by rows: the longer of K and V is cut without a word",
    "by rows: an offset without causal=True is ignored without a word",
}
OTHER_AXES = {"softmax ignores its axis", "the axis of the heads comes before the batch"}
BETWEEN_THE_STEPS = {  # what only an array inside the function meets
    "softmax writes into its input",
    "weights of integer scores are cut to integers",
}
READY_MADE = {  # where the learner need not write the softmax, no weights are returned, and V is the function's own
    "the maximum is not subtracted",
    "the maximum of everything is subtracted, not that of the row",
    "the mean is subtracted, not the maximum",
    "large scores are clipped before exp",
    "attention returns the scaled scores as weights",
    "attention writes into V",
}
ONE_HEAD = {
    "heads are split by a bare reshape",
    "heads are merged by a bare reshape",
    "heads are merged in reverse order",
    "heads are merged in turn, column by column",
    "heads are averaged, each copied into the place of all",
    "heads are split and merged by bare reshapes, which undo each other",
    "columns are dealt out to the heads in turn",
    "scaled by √d_model, not √d_k",  # with one head of this function, d_model means n_head·d_k
    "the mask has no axis for the heads put in",
    "W_O is left out",
    "W_O is transposed",
    "the weights are averaged over the heads",
    "the mask is for the first head alone",
    "the heads are put together in reverse order",
    "one wide head in place of many",
}
NOT_ASKED = MASKS | DTYPES | BAD_NUMBERS | NOTHING_THERE | MISFITS | OTHER_AXES
SURVIVORS = {
    "match_all": MISFITS
    | {"scores are transposed: keys in rows, queries in columns"},  # of one query, a row: they are not
    "bilinear_score": {"the general score transposed: encoder states in rows"},  # of one pair: a single number
    "cross_attention": {
        "the sum runs over the rows, not along them, where there are as many"
    }  # heads have an axis more
    | NOT_ASKED
    | BETWEEN_THE_STEPS
    | ONE_HEAD
    | READY_MADE,
    "stable_softmax": NOT_ASKED,
    "scaled": NOT_ASKED,
    "attention": NOT_ASKED | BETWEEN_THE_STEPS | {"softmax along the first axis, batch or heads"},
}
