"""Scores, weights and the mixture: the practice problems of chapters 1 and 2."""

import numpy as np

from .problem import (
    WRONG_AT_ANY_SIZE,
    WRONG_SCORES,
    WRONG_WEIGHTS,
    Problem,
    arrays,
    as_weights,
    attend,
    attending,
    changing,
    cosine,
    dot,
    drawn,
    normalized,
    product,
    right_attention,
    right_scaled,
    root,
    scores,
    softmax,
    softmax_of_rows,
)


def right_cross_attention(X_q, X_s, W_Q, W_K, W_V):
    return right_attention(product(X_q, W_Q), product(X_s, W_K), product(X_s, W_V))[0]


def right_multiplications(n_q, n_k, d_k, d_v):
    scores = sum(d_k for _ in range(n_q) for _ in range(n_k))
    return scores + sum(n_k for _ in range(n_q) for _ in range(d_v))


def crossing(query="qQ", key="sK", value="sV", attention=attend):
    """Cross-attention that takes queries, keys or values from another input or matrix: "sK" is X_s W_K, "s" is X_s."""

    def cross_attention(X_q, X_s, W_Q, W_K, W_V):
        X, W = {"q": X_q, "s": X_s}, {"Q": W_Q, "K": W_K, "V": W_V}
        return attention(*(X[way[0]] @ W[way[1]] if way[1:] else X[way] for way in (query, key, value)))[0]

    return cross_attention


MATCH_ALL = Problem(
    axes="q d_k, K n_k d_k",
    right=lambda q, K: [dot(q, k) for k in K],
    cases=(arrays([1, 2], [[3, 1], [0, 2]]), *drawn("q d_k, K n_k d_k")),
    mistakes={
        "not transposed": lambda q, K: q @ K,
        "reshaped": lambda q, K: q @ K.reshape(K.shape[::-1]),
        "not summed": lambda q, K: q * K,
        "summed wrongly": lambda q, K: (q * K).sum(axis=0),
        "one number": lambda q, K: (q * K).sum(),
        "mean": lambda q, K: (q * K).mean(axis=-1),
        "scaled": lambda q, K: K @ q / root(K),
        "cosine": lambda q, K: cosine(q[None], K)[0],
        "distance": lambda q, K: np.linalg.norm(K - q, axis=-1),
        "softmax": lambda q, K: softmax(K @ q),
        "row": lambda q, K: (K @ q)[None],
        "column": lambda q, K: (K @ q)[:, None],
    },
)

MIX = Problem(
    axes="a n_k, V n_k d_v",
    right=lambda a, V: product([a], V)[0],
    cases=(arrays([0.25, 0.75], [[4, 0], [8, 4]]), *((as_weights(a), V) for a, V in drawn("a n_k, V n_k d_v"))),
    mistakes={
        "columns": lambda a, V: V @ a,
        "not summed": lambda a, V: a[:, None] * V,
        "summed wrongly": lambda a, V: (a[:, None] * V).sum(axis=-1),
        "one number": lambda a, V: (a[:, None] * V).sum(),
        "plain mean": lambda a, V: V.mean(axis=0),
        "plain sum": lambda a, V: V.sum(axis=0),
        "over keys too": lambda a, V: (a[:, None] * V).mean(axis=0),
        "winner": lambda a, V: V[a.argmax()],
        "softmax": lambda a, V: softmax(a) @ V,
        "row": lambda a, V: (a @ V)[None],
        "column": lambda a, V: (a @ V)[:, None],
    },
)

BILINEAR_SCORE = Problem(
    axes="x_i d_model, x_j d_model, W_Q d_model d_k, W_K d_model d_k",
    right=lambda x_i, x_j, W_Q, W_K: dot(product([x_i], W_Q)[0], product([x_j], W_K)[0]),
    cases=(
        arrays([1, 0], [2, 1], [[1, 2], [0, 1]], [[1, 0], [1, 3]]),
        *drawn("x_i d_model, x_j d_model, W_Q d_model d_k, W_K d_model d_k"),
    ),
    mistakes={
        "exchanged": lambda x_i, x_j, W_Q, W_K: x_j @ W_Q @ (x_i @ W_K),
        "W_Q twice": lambda x_i, x_j, W_Q, W_K: x_i @ W_Q @ (x_j @ W_Q),
        "W_K twice": lambda x_i, x_j, W_Q, W_K: x_i @ W_K @ (x_j @ W_K),
        "W transposed": lambda x_i, x_j, W_Q, W_K: W_Q @ x_i @ (W_K @ x_j),
        "no projection": lambda x_i, x_j, W_Q, W_K: x_i @ x_j,
        "only x_i": lambda x_i, x_j, W_Q, W_K: x_i @ W_Q @ (x_i @ W_K),
        "only x_j": lambda x_i, x_j, W_Q, W_K: x_j @ W_Q @ (x_j @ W_K),
        "not summed": lambda x_i, x_j, W_Q, W_K: x_i @ W_Q * (x_j @ W_K),
        "outer": lambda x_i, x_j, W_Q, W_K: np.outer(x_i @ W_Q, x_j @ W_K),
        "scaled": lambda x_i, x_j, W_Q, W_K: x_i @ W_Q @ (x_j @ W_K) / root(W_K),
        "cosine": lambda x_i, x_j, W_Q, W_K: cosine(x_i[None] @ W_Q, x_j[None] @ W_K)[0, 0],
        "row": lambda x_i, x_j, W_Q, W_K: x_i[None] @ W_Q @ (x_j[None] @ W_K).T,
    },
)

CROSS_ATTENTION = Problem(
    axes="X_q n_q d_model, X_s n_k d_model, W_Q d_model d_k, W_K d_model d_k, W_V d_model d_v",
    right=right_cross_attention,
    cases=(
        arrays([[1, 0], [0, 2]], [[1, 1], [2, 0]], [[1, 0], [1, 1]], [[0, 1], [1, 2]], [[4, 0], [1, 2]]),
        *drawn("X_q n_q d_model, X_s n_k d_model, W_Q d_model d_k, W_K d_model d_k, W_V d_model d_v"),
    ),
    mistakes={
        "values from X_q": crossing(value="qV"),
        "keys from X_q": crossing(key="qK"),
        "only X_q": crossing(key="qK", value="qV"),
        "only X_s": crossing(query="sQ"),
        "X exchanged": crossing("sQ", "qK", "qV"),
        "W_K for values": crossing(value="sK"),
        "values unprojected": crossing(value="s"),
        "W_Q twice": crossing(key="sQ"),
        "W_K twice": crossing(query="qK"),
        "W exchanged": crossing("qK", "sQ"),
        "no projection": crossing("q", "s", "s"),
        **{key: crossing(attention=attending(scores=wrong)) for key, wrong in WRONG_SCORES.items()},
        **{key: crossing(attention=attending(weights=WRONG_WEIGHTS[key])) for key in WRONG_AT_ANY_SIZE},
        "by root d_model": lambda X_q, X_s, W_Q, W_K, W_V: crossing(
            attention=attending(lambda Q, K: Q @ K.T / root(X_s))
        )(X_q, X_s, W_Q, W_K, W_V),
        "no softmax": crossing(attention=attending(weights=lambda S: S)),
        "A transposed": crossing(attention=changing(lambda Z, A, V, S: (A.T @ V, A))),
        "scaled after": crossing(attention=lambda Q, K, V: (softmax(Q @ K.T) / root(K) @ V, None)),
        "A for Z": crossing(attention=changing(lambda Z, A, V, S: (A, A))),
    },
)

STABLE_SOFTMAX = Problem(
    axes="x … n",
    right=softmax_of_rows,
    cases=(
        arrays([[0, 1], [3, 0]]),
        *drawn("x n_q n_k") + drawn("x d_k n_q n_k") + drawn("x d_v d_k n_q n_k"),
        *((x,) for x in arrays([1, 2, 3], [5], [-1000, 1000, 0])),  # neither the first nor the last is the largest
        *((x,) for x in arrays([[-1000, -1001], [1000, 999]], [[1000, 1000], [-1000, -1000]])),
    ),
    mistakes={
        **WRONG_WEIGHTS,
        "axis 1": lambda x: softmax(x, axis=1),
        "no exp": lambda x: x / x.sum(axis=-1, keepdims=True),
        "not normalized": np.exp,
        "log": lambda x: np.log(softmax(x)),
        "clipped": lambda x: normalized(np.exp(np.clip(x, -700, 700))),
        "softmax": lambda x: softmax(softmax(x)),
    },
)

SCALED = Problem(
    axes="Q n_q d_k, K n_k d_k",
    right=right_scaled,
    cases=(arrays([[2, 0], [0, 1]], [[1, 0], [2, 3]]), *drawn("Q n_q d_k, K n_k d_k")),
    mistakes={
        **WRONG_SCORES,
        "transposed": lambda Q, K: scores(K, Q),
        "softmax": lambda Q, K: softmax(scores(Q, K)),
        "not summed": lambda Q, K: Q * K / root(K),
        "one number": lambda Q, K: (Q * K).sum() / root(K),
    },
)

ATTENTION = Problem(
    axes="Q n_q d_k, K n_k d_k, V n_k d_v",
    right=right_attention,
    cases=(
        arrays([[2, 0], [0, 1]], [[1, 0], [2, 3]], [[8, 0], [0, 4]]),
        *drawn("Q n_q d_k, K n_k d_k, V n_k d_v"),
        arrays([[1000, 0], [0, -1000]], [[1, 2], [3, 4]], [[1, 0], [0, 1]]),
        arrays([[1000, 0], [0, 0]], [[1, 2], [5, 4]], [[1, 0], [0, 1]]),  # far above the mean of their row, too
    ),
    mistakes={
        **{key: attending(scores=wrong) for key, wrong in WRONG_SCORES.items()},
        **{key: attending(weights=wrong) for key, wrong in WRONG_WEIGHTS.items()},
        "no softmax": attending(weights=lambda S: S),
        "scaled after": lambda Q, K, V: tuple(X / root(K) for X in attending(lambda Q, K: Q @ K.T)(Q, K, V)),
        "K and V exchanged": lambda Q, K, V: attend(Q, V, K),
        "K for V": lambda Q, K, V: attend(Q, K, K),
        "Q for V": lambda Q, K, V: attend(Q, K, Q),
        "A transposed": changing(lambda Z, A, V, S: (A.T @ V, A)),
        "transposed": changing(lambda Z, A, V, S: (Z, A.T)),
        "order": changing(lambda Z, A, V, S: (A, Z)),
        "scores for A": changing(lambda Z, A, V, S: (Z, S)),
        "plain mean": changing(lambda Z, A, V, S: (np.full_like(Z, V.mean(axis=0)), A)),
    },
    parts=("Z", "A"),
)

MULTIPLICATIONS = Problem(
    axes="n_q, n_k, d_k, d_v",
    right=right_multiplications,
    cases=((2, 3, 4, 5), (3, 2, 5, 4), (1, 1, 1, 1), (1, 7, 2, 3), (6, 1, 2, 3), (128, 96, 64, 32)),
    mistakes={
        "only scores": lambda n_q, n_k, d_k, d_v: n_q * n_k * d_k,
        "only output": lambda n_q, n_k, d_k, d_v: n_q * n_k * d_v,
        "n_q squared": lambda n_q, n_k, d_k, d_v: n_q**2 * (d_k + d_v),
        "n_k squared": lambda n_q, n_k, d_k, d_v: n_k**2 * (d_k + d_v),
        "d_k for both": lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * d_k,
        "additions": lambda n_q, n_k, d_k, d_v: n_q * n_k * (2 * d_k - 1) + n_q * d_v * (2 * n_k - 1),
        "doubled": lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * (d_k + d_v),
        "scaling": lambda n_q, n_k, d_k, d_v: n_q * n_k * (d_k + d_v + 1),
        "entries": lambda n_q, n_k, d_k, d_v: n_q * n_k + n_q * d_v,
        "product": lambda n_q, n_k, d_k, d_v: n_q * n_k * d_k * n_q * n_k * d_v,
    },
)

PROBLEMS = {
    "match_all": MATCH_ALL,
    "mix": MIX,
    "bilinear_score": BILINEAR_SCORE,
    "cross_attention": CROSS_ATTENTION,
    "stable_softmax": STABLE_SOFTMAX,
    "scaled": SCALED,
    "attention": ATTENTION,
    "multiplications": MULTIPLICATIONS,
}
