"""The practice problems of chapters 5 and 6 as learners solve them, see practice_1_2.py."""

import math

import numpy as np

import attention_mechanism as am
from practice_1_2 import (
    BAD_NUMBERS,
    BETWEEN_THE_STEPS,
    DTYPES,
    MISFITS,
    NOT_ASKED,
    OTHER_AXES,
    READY_MADE,
    RIGHT_SCORES,
    SCORES,
    WEIGHTS,
    attention_by_loops,
    softmax_by_moveaxis,
    softmax_of_axis,
)

# --------------------------------------------------------------------------------- right, and written in another way


def causal_by_loops(n_q, n_k, offset):
    keep = np.zeros((n_q, n_k), dtype=bool)
    for i in range(n_q):
        keep[i, : i + offset + 1] = True
    return keep


def padding_by_loops(lengths, n_k):
    keep = np.full((len(lengths), 1, n_k), False)
    for b, length in enumerate(lengths):
        keep[b, :, :length] = True
    return keep


def additive_by_assignment(keep):
    M = np.zeros(keep.shape, dtype=np.float32)
    M[~keep] = -np.inf
    return M


def masked_by_rows(Q, K, V, keep):
    """Attention over the visible keys alone, a row at a time."""
    A = np.zeros(keep.shape)
    for i in range(len(Q)):
        if keep[i].any():
            A[i, keep[i]] = attention_by_loops(Q[i : i + 1], K[keep[i]], V[keep[i]])[1][0]
    return A @ V, A


def masked_with_infinity(Q, K, V, keep):
    S = Q @ K.T / np.sqrt(K.shape[1]) + np.where(keep, 0, -np.inf)
    e = np.nan_to_num(np.exp(S - S.max(axis=-1, keepdims=True)))
    A = np.nan_to_num(e / e.sum(axis=-1, keepdims=True))
    return [A @ V, A]


def masked_in_float32(Q, K, V, keep):
    S = np.where(keep, RIGHT_SCORES(np.float32(Q), np.float32(K)), np.float32(-1e30))
    A = softmax_by_moveaxis(S) * keep
    return A @ np.float32(V), A


def one_head(X, W_Q, W_K, W_V, part_k, part_v):
    return attention_by_loops(X @ W_Q[:, part_k], X @ W_K[:, part_k], X @ W_V[:, part_v])[0]


def multi_head_by_slices(X, W_Q, W_K, W_V, W_O, n_head):
    d_k, d_v = W_Q.shape[1] // n_head, W_V.shape[1] // n_head
    Z = [
        one_head(X, W_Q, W_K, W_V, slice(r * d_k, r * d_k + d_k), slice(r * d_v, r * d_v + d_v)) for r in range(n_head)
    ]
    return np.hstack(Z) @ W_O


def multi_head_by_einsum(X, W_Q, W_K, W_V, W_O, n_head):
    Q, K, V = (np.einsum("nm,mrd->rnd", X, W.reshape(len(W), n_head, -1)) for W in (W_Q, W_K, W_V))
    A = softmax_by_moveaxis(np.einsum("rid,rjd->rij", Q, K) / math.sqrt(K.shape[2]))
    return np.einsum("rij,rjd,rdm->im", A, V, W_O.reshape(n_head, -1, W_O.shape[1]))


def multi_head_by_course(X, W_Q, W_K, W_V, W_O, n_head):
    return am.multi_head_attention(X, X, W_Q, W_K, W_V, W_O, n_head)[0]


ALTERNATIVES = {
    "causal": [
        causal_by_loops,
        lambda n_q, n_k, offset: np.tril(np.ones((n_q, n_k), dtype=bool), k=offset),
        lambda n_q, n_k, offset: ~np.triu(np.ones((n_q, n_k), dtype=bool), k=offset + 1),
        lambda n_q, n_k, offset: [[j <= i + offset for j in range(n_k)] for i in range(n_q)],
        am.causal_mask,
    ],
    "padding": [
        padding_by_loops,
        lambda lengths, n_k: (np.arange(n_k)[None, :] < lengths[:, None])[:, None, :],
        lambda lengths, n_k: [[[j < n for j in range(n_k)]] for n in lengths],
        am.padding_mask,
    ],
    "to_additive": [
        additive_by_assignment,
        lambda keep: np.log(keep),
        lambda keep: np.where(keep, 0, -math.inf).tolist(),
        lambda keep: am.to_additive(keep, np.float16),
    ],
    "masked_attention": [
        masked_by_rows,
        masked_with_infinity,
        masked_in_float32,
        am.scaled_dot_product_attention,
    ],
    "split": [
        lambda X, n_head: np.stack(np.split(X, n_head, axis=1)),
        lambda X, n_head: np.array(
            [X[:, r : r + len(X[0]) // n_head] for r in range(0, len(X[0]), len(X[0]) // n_head)]
        ),
        lambda X, n_head: np.moveaxis(X.reshape(X.shape[0], n_head, X.shape[1] // n_head), 1, 0),
        am.split_heads,
    ],
    "merge": [
        lambda Z: np.concatenate(list(Z), axis=1),
        lambda Z: [np.ravel(Z[:, i]) for i in range(Z.shape[1])],
        lambda Z: np.einsum("rnd->nrd", Z).reshape(Z.shape[1], Z.shape[0] * Z.shape[2]),
        am.merge_heads,
    ],
    "head_contributions": [
        lambda Z, W_O: np.array([z @ w for z, w in zip(Z, np.split(W_O, len(Z)), strict=True)]),
        lambda Z, W_O: np.einsum("rnd,rdm->rnm", Z, W_O.reshape(len(Z), -1, W_O.shape[1])),
        lambda Z, W_O: [z @ W_O[r * len(z[0]) : (r + 1) * len(z[0])] for r, z in enumerate(Z)],
        lambda Z, W_O: [
            am.merge_heads(np.where(np.arange(len(Z))[:, None, None] == r, Z, 0)) @ W_O for r in range(len(Z))
        ],
    ],
    "multi_head": [multi_head_by_slices, multi_head_by_einsum, multi_head_by_course],
}

# ------------------------------------------------------------------------ known mistakes, as a learner would write them


def causal_if(seen):
    """The causal mask of seen(i, j, n_q, n_k, offset)."""
    return lambda n_q, n_k, offset: np.array(
        [[bool(seen(i, j, n_q, n_k, offset)) for j in range(n_k)] for i in range(n_q)]
    )


def padding_if(real):
    """The padding mask of real(j, length, n_k)."""
    return lambda lengths, n_k: np.array([[[bool(real(j, n, n_k)) for j in range(n_k)]] for n in lengths])


def additive(blocked, visible=0.0):
    def to_additive(keep):
        M = np.full(keep.shape, visible)
        M[~keep] = blocked
        return M

    return to_additive


def masked_by(change=None, weights=softmax_by_moveaxis, scores=RIGHT_SCORES, after=None):
    """Masked attention: change(S, keep) before the softmax, after(A, keep) behind it."""

    def masked_attention(Q, K, V, keep):
        S = scores(Q, K)
        A = weights(change(S, keep) if change else S)
        A = after(A, keep) if after else A
        return np.dot(A, V), A

    return masked_attention


def infinite(S, keep):
    return S + np.where(keep, 0, -np.inf)


def empty_rows_0(A, keep):
    A = np.array(A)
    A[~keep.any(axis=1)] = 0
    return A


def renormalized(A, keep):
    A = np.where(keep, A, 0)
    total = A.sum(axis=1)[:, None]
    return np.divide(A, total, out=np.zeros(A.shape), where=total > 0)


def with_mask(change):
    return lambda Q, K, V, keep: masked_by_rows(Q, K, V, change(keep))


def softmax_axis_0(x):
    e = np.exp(x - np.max(x, axis=0))
    return e / np.sum(e, axis=0)


def heads_in_turn(X, n_head):
    return np.array([X[:, r::n_head] for r in range(n_head)])


def contributions(block):
    """Contributions with block(W_O, r, n_head, d_v) as the block of head r."""
    return lambda Z, W_O: np.array([z @ block(W_O, r, len(Z), Z.shape[2]) for r, z in enumerate(Z)])


def heads_of(cut=am.split_heads, join=am.merge_heads, score=None, weights=softmax_by_moveaxis, mix=np.matmul):
    """Multi-head attention with another step; score(q, k, n_head, d_model) of two rows."""
    score = score or (lambda q, k, n_head, d_model: q @ k / len(k) ** 0.5)

    def multi_head(X, W_Q, W_K, W_V, W_O, n_head):
        Q, K, V = cut(X @ W_Q, n_head), cut(X @ W_K, n_head), cut(X @ W_V, n_head)
        S = np.array(
            [[[score(q, k, n_head, len(X[0])) for k in K_r] for q in Q_r] for Q_r, K_r in zip(Q, K, strict=True)]
        )
        return np.dot(join(mix(weights(S), V)), W_O)

    return multi_head


def not_transposed(X, W_Q, W_K, W_V, W_O, n_head):
    Q, K, V = (am.split_heads(X @ W, n_head) for W in (W_Q, W_K, W_V))
    return am.merge_heads(softmax_by_moveaxis(Q @ K / K.shape[2] ** 0.5) @ V) @ W_O


def by_root_n(X, W_Q, W_K, W_V, W_O, n_head):
    return heads_of(score=lambda q, k, n_head, d_model: q @ k / len(X) ** 0.5)(X, W_Q, W_K, W_V, W_O, n_head)


def cut_by_reshape(X, n_head):
    return np.reshape(X, (n_head, X.shape[0], X.shape[1] // n_head))


def join_by_reshape(Z):
    return np.reshape(Z, (Z.shape[1], Z.shape[0] * Z.shape[2]))


def interleaved(Z):
    return np.dstack(list(Z)).reshape(Z.shape[1], -1)


def multi_head_with(change):
    """The right multi-head attention of change(X, W_Q, W_K, W_V, W_O, n_head), other arguments."""
    return lambda *arguments: multi_head_by_slices(*change(*arguments))


WRONG = {
    "causal": {
        "diagonal blocked": causal_if(lambda i, j, n_q, n_k, offset: j < i + offset),
        "one ahead": causal_if(lambda i, j, n_q, n_k, offset: j <= i + offset + 1),
        "offset unused": causal_if(lambda i, j, n_q, n_k, offset: j <= i),
        "bottom right": causal_if(lambda i, j, n_q, n_k, offset: n_k - j >= n_q - i),
        "offset backwards": causal_if(lambda i, j, n_q, n_k, offset: j + offset <= i),
        "flipped": lambda n_q, n_k, offset: np.triu(np.ones((n_q, n_k)), offset + 1) == 1,
        "future": lambda n_q, n_k, offset: np.triu(np.ones((n_q, n_k)), offset) == 1,
        "transposed": lambda n_q, n_k, offset: np.array([[j <= i + offset for i in range(n_q)] for j in range(n_k)]),
        "nothing blocked": causal_if(lambda *_: True),
        "last key only": lambda n_q, n_k, offset: np.eye(n_q, n_k, offset, dtype=bool),
    },
    "padding": {
        "flipped": padding_if(lambda j, length, n_k: j >= length),
        "on the queries": lambda lengths, n_k: np.swapaxes(padding_by_loops(lengths, n_k), 1, 2),
        "no query axis": lambda lengths, n_k: np.arange(n_k) < lengths[:, None],
        "one padded key": padding_if(lambda j, length, n_k: j <= length),
        "last real key": padding_if(lambda j, length, n_k: j + 1 < length),
        "never empty": padding_if(lambda j, length, n_k: j < max(length, 1)),
        "on the left": padding_if(lambda j, length, n_k: j >= n_k - length),
        "nothing blocked": padding_if(lambda *_: True),
        "first length": lambda lengths, n_k: padding_by_loops([lengths[0]] * len(lengths), n_k),
    },
    "to_additive": {
        "-1e9": additive(-1e9),
        "-1e-9": lambda keep: ~keep * -1e-9,
        "smallest float": additive(np.finfo(np.float64).min),
        "smallest float16": additive(float(np.finfo(np.float16).min)),
        "flipped": lambda keep: np.log(~keep),
        "0 times infinity": lambda keep: (1 - keep) * -np.inf,
        "plus infinity": additive(math.inf),
        "ones": lambda keep: 1.0 * keep,
        "1 where visible": additive(-math.inf, visible=1.0),
        "ones for blocked": lambda keep: keep - 1.0,
    },
    "masked_attention": {
        "mask unused": lambda Q, K, V, keep: attention_by_loops(Q, K, V),
        "flipped": with_mask(lambda keep: ~keep),
        "rows for keys": with_mask(lambda keep: keep.T),
        "NaN row": masked_by(infinite),
        "uniform row": masked_by(lambda S, keep: np.where(keep, S, np.finfo(float).min)),
        "-1e4": masked_by(lambda S, keep: np.where(keep, S, -1e4), after=empty_rows_0),
        "-1e9 added": masked_by(lambda S, keep: S - 1e9 * ~keep),
        "ones added": masked_by(np.add),
        "zero scores": masked_by(np.multiply),
        "zeroed after": masked_by(after=lambda A, keep: np.where(keep, A, 0)),
        "renormalized": masked_by(after=renormalized),
        "clipped": masked_by(
            lambda S, keep: np.where(keep, np.minimum(np.maximum(S, -700), 700), -np.inf), after=empty_rows_0
        ),
        "order": lambda Q, K, V, keep: masked_by_rows(Q, K, V, keep)[::-1],
        "K for V": lambda Q, K, V, keep: masked_by_rows(Q, K, K, keep),
        **{
            key: masked_by(infinite, scores=scores, after=empty_rows_0)
            for key, scores in SCORES.items()
            if key not in ("Q twice", "K twice")
        },
        "axis 0": masked_by(infinite, softmax_axis_0, after=empty_rows_0),
        "all at once": masked_by(infinite, WEIGHTS["all at once"], after=empty_rows_0),
        "overflow": masked_by(infinite, WEIGHTS["overflow"], after=empty_rows_0),
        "largest of all": masked_by(infinite, WEIGHTS["largest of all"], after=empty_rows_0),
    },
    "split": {
        "split by reshape": cut_by_reshape,
        "split in turn": heads_in_turn,
        "heads not first": lambda X, n_head: np.reshape(X, (X.shape[0], n_head, X.shape[1] // n_head)),
        "positions last": lambda X, n_head: np.array([part.T for part in np.split(X, n_head, axis=1)]),
        "heads reversed": lambda X, n_head: np.array(np.split(X, n_head, axis=1)[::-1]),
        "heads alike": lambda X, n_head: np.array([X[:, : X.shape[1] // n_head]] * n_head),
    },
    "merge": {
        "merged by reshape": join_by_reshape,
        "interleaved": interleaved,
        "summed over heads": lambda Z: sum(Z),
        "averaged over heads": lambda Z: sum(Z) / len(Z),
        "on top": lambda Z: np.vstack(list(Z)),
        "heads reversed": lambda Z: np.hstack(list(Z)[::-1]),
        "transposed": lambda Z: np.vstack([z.T for z in Z]),
    },
    "head_contributions": {
        "first block": contributions(lambda W_O, r, n_head, d_v: W_O[:d_v]),
        "rows in turn": contributions(lambda W_O, r, n_head, d_v: W_O.reshape(d_v, n_head, -1)[:, r]),
        "blocks reversed": contributions(lambda W_O, r, n_head, d_v: np.split(W_O, n_head)[-1 - r]),
        "blocks transposed": contributions(lambda W_O, r, n_head, d_v: W_O[r * d_v : (r + 1) * d_v].T),
        "contributions summed": lambda Z, W_O: np.hstack(list(Z)) @ W_O,
        "contributions averaged": lambda Z, W_O: [
            z @ w / len(Z) for z, w in zip(Z, np.split(W_O, len(Z)), strict=True)
        ],
        "no W_O": lambda Z, W_O: np.array(Z),
        "merged by reshape": lambda Z, W_O: np.dot(join_by_reshape(Z), W_O),
    },
    "multi_head": {
        "unscaled": heads_of(score=lambda q, k, n_head, d_model: q @ k),
        "by d_k": heads_of(score=lambda q, k, n_head, d_model: q @ k / len(k)),
        "times root": heads_of(score=lambda q, k, n_head, d_model: q @ k * len(k) ** 0.5),
        "by root n_head": heads_of(score=lambda q, k, n_head, d_model: q @ k / n_head**0.5),
        "by root of all columns": heads_of(score=lambda q, k, n_head, d_model: q @ k / (n_head * len(k)) ** 0.5),
        "by root n": by_root_n,
        "by root d_model": heads_of(score=lambda q, k, n_head, d_model: q @ k / d_model**0.5),
        "not transposed": not_transposed,
        "one wide head": multi_head_with(lambda *x: (*x[:5], 1)),
        "split by reshape": heads_of(cut=cut_by_reshape),
        "merged by reshape": heads_of(join=join_by_reshape),
        "both by reshape": heads_of(cut=cut_by_reshape, join=join_by_reshape),
        "split in turn": heads_of(cut=heads_in_turn),
        "interleaved": heads_of(join=interleaved),
        "heads reversed": heads_of(join=lambda Z: np.hstack(list(Z)[::-1])),
        "no W_O": lambda X, W_Q, W_K, W_V, W_O, n_head: am.merge_heads(
            [
                attention_by_loops(*heads)[0]
                for heads in zip(*(am.split_heads(X @ W, n_head) for W in (W_Q, W_K, W_V)), strict=True)
            ]
        ),
        "W_O transposed": multi_head_with(lambda X, W_Q, W_K, W_V, W_O, n_head: (X, W_Q, W_K, W_V, W_O.T, n_head)),
        "W_Q twice": multi_head_with(lambda X, W_Q, W_K, W_V, W_O, n_head: (X, W_Q, W_Q, W_V, W_O, n_head)),
        "W_K twice": multi_head_with(lambda X, W_Q, W_K, W_V, W_O, n_head: (X, W_K, W_K, W_V, W_O, n_head)),
        "W exchanged": multi_head_with(lambda X, W_Q, W_K, W_V, W_O, n_head: (X, W_K, W_Q, W_V, W_O, n_head)),
        "W_K for values": multi_head_with(lambda X, W_Q, W_K, W_V, W_O, n_head: (X, W_Q, W_K, W_K, W_O, n_head)),
        "weights averaged": heads_of(mix=lambda A, V: np.matmul(sum(A) / len(A), V)),
        "A transposed": heads_of(mix=lambda A, V: np.einsum("rji,rjd->rid", A, V)),
        "axis 0": heads_of(weights=WEIGHTS["axis 0"]),
        "over queries": heads_of(weights=softmax_of_axis(1)),
        "all at once": heads_of(weights=WEIGHTS["all at once"]),
        "no softmax": heads_of(weights=lambda S: S),
    },
}

# -------------------------------------------------------------------------------------- the mutants of the field

ADAPTERS = {
    "causal": (lambda n_q, n_k, offset: am.causal_mask(n_q, n_k, offset), {"causal_mask"}),
    "padding": (lambda lengths, n_k: am.padding_mask(lengths, n_k), {"padding_mask"}),
    "to_additive": (lambda keep: am.to_additive(keep), {"to_additive"}),
    "masked_attention": (
        lambda Q, K, V, keep: am.scaled_dot_product_attention(Q, K, V, keep),
        {"scaled_dot_product_attention", "scaled_scores", "dot_scores", "softmax"},
    ),
    "split": (lambda X, n_head: am.split_heads(X, n_head), {"split_heads"}),
    "merge": (lambda Z: am.merge_heads(Z), {"merge_heads"}),
    "head_contributions": (
        lambda Z, W_O: [
            am.merge_heads(np.where(np.arange(len(Z))[:, None, None] == r, Z, 0)) @ W_O for r in range(len(Z))
        ],
        {"merge_heads"},
    ),
    "multi_head": (
        multi_head_by_course,
        {
            "multi_head_attention",
            "split_heads",
            "merge_heads",
            "scaled_dot_product_attention",
            "scaled_scores",
            "dot_scores",
            "softmax",
        },
    ),
}
SURVIVORS = {
    "causal": MISFITS  # n_k is always given, and all are Python's own numbers
    | {"without n_k the cache is forgotten", "a small NumPy integer overflows in i + offset"},
    "padding": MISFITS | {"lengths and n_k are exchanged where there is one length"},
    "to_additive": MISFITS | {"the additive mask is always float64"},
    "masked_attention": DTYPES
    | BAD_NUMBERS
    | MISFITS
    | OTHER_AXES
    | BETWEEN_THE_STEPS
    | {  # the mask is boolean and fits, nothing has axes in front, and there is at least one key
        "softmax along the first axis, batch or heads",
        "a float mask only blocks, its finite values are lost",
        "a float mask is divided by √d_k with the scores",
        "the first axis of the mask is used for all of the batch",
        "an integer mask is added as a bias",
        "a mask for shorter sequences is cut or filled to fit",
        "NaN at a key that no query may attend to reaches the output",
        "a float64 mask widens float32",
        "without keys the output is NaN",
        "a finite bias overflows to -inf in float32",
        "a query that sees nothing is NaN if another query reads NaN",
    },
    "split": MISFITS | OTHER_AXES,
    "merge": set(),
    "head_contributions": set(),
    "multi_head": NOT_ASKED
    | BETWEEN_THE_STEPS
    | READY_MADE
    | {  # one input, no mask, and the weights are not returned
        "the mask has no axis for the heads put in",
        "the mask is for the first head alone",
        "the sum runs over the rows, not along them, where there are as many",
        "the queries come from the source",
        "cross-attention reads its own input",
        "the weights are averaged over the heads",
    },
}
