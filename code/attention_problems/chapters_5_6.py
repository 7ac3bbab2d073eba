"""Masks and many heads: the practice problems of chapters 5 and 6."""

import math

import numpy as np

from .problem import (
    WRONG_SCORES,
    WRONG_WEIGHTS,
    Problem,
    arrays,
    drawn,
    in_float32,
    product,
    right_attention,
    right_scaled,
    root,
    scores,
    softmax,
    softmax_of_rows,
)

# ------------------------------------------------------------------------------------ the right answers, in plain loops


def right_causal(n_q, n_k, offset):
    return [[j <= i + offset for j in range(n_k)] for i in range(n_q)]


def right_padding(lengths, n_k):
    return [[[j < length for j in range(n_k)]] for length in lengths]


def right_to_additive(keep):
    if isinstance(keep, list):
        return [right_to_additive(row) for row in keep]
    return 0.0 if keep else -math.inf


def right_masked_attention(Q, K, V, keep):
    """Each row over its visible keys alone."""
    A = []
    for row, seen in zip(right_scaled(Q, K), keep, strict=True):
        visible = [x for x, see in zip(row, seen, strict=True) if see]
        weights = iter(softmax_of_rows(visible) if visible else [])
        A.append([next(weights) if see else 0.0 for see in seen])
    return product(A, V), A


def part(X, r, n_head):
    """The columns of head r."""
    d = len(X[0]) // n_head
    return [row[r * d : (r + 1) * d] for row in X]


def right_split(X, n_head):
    return [part(X, r, n_head) for r in range(n_head)]


def right_merge(X):
    return [[x for head in X for x in head[i]] for i in range(len(X[0]))]


def right_head_contributions(Z, W_O):
    d_v = len(Z[0][0])
    return [product(Z_r, W_O[r * d_v : (r + 1) * d_v]) for r, Z_r in enumerate(Z)]


def right_multi_head(X, W_Q, W_K, W_V, W_O, n_head):
    """Every head on its own columns of the parameters."""
    of_heads = [right_attention(*(product(X, part(W, r, n_head)) for W in (W_Q, W_K, W_V)))[0] for r in range(n_head)]
    return product(right_merge(of_heads), W_O)


# --------------------------------------------------------------------------------------------------------------- cases


def visible(shape, hide=()):
    """A drawn mask in which each row sees at least one key, but the rows of `hide` see none."""
    rng = np.random.default_rng(2017)
    keep = rng.random(shape) < 0.6
    keep[np.arange(shape[0]), rng.integers(0, shape[1], shape[0])] = True
    keep[list(hide)] = False
    return keep


def masked(case, hide=()):
    Q, K, V = case
    return Q, K, V, visible((len(Q), len(K)), hide)


QKV = drawn("Q n_q d_k, K n_k d_k, V n_k d_v")
LARGE = arrays([[2e5, 0], [0, 2e5]], [[1, 0], [-1, 1]], [[1, 2], [3, 4]])  # scaled scores beyond ±65504
FAR = arrays([[1000, 0], [0, -1000]], [[1, 2], [3, 4]], [[1, 0], [0, 1]])  # exp of these scores overflows
HEADS = ((2, 3, 4, 6, 5), (3, 4, 2, 5, 7), (1, 2, 3, 5, 4), (4, 1, 2, 3, 3), (1, 1, 1, 1, 1))


def of_heads(shapes, numbers=HEADS):
    """Drawn arrays of shapes(n_head, n, d_k, d_v, d_model), for each of these numbers.   -> (n_head, arrays)"""
    rng = np.random.default_rng(2017)
    return [(sizes[0], tuple(rng.normal(size=shape) for shape in shapes(*sizes))) for sizes in numbers]


def self_attention(n_head, n, d_k, d_v, d_model):
    keys, values = (d_model, n_head * d_k), (d_model, n_head * d_v)
    return (n, d_model), keys, keys, values, (values[1], d_model)


def counted(*shape):
    return np.arange(math.prod(shape)).reshape(shape)


# ------------------------------------------------------------------------------------------------------ known mistakes


def triangle(shift):
    """The mask whose query i sees the keys up to i + shift(n_q, n_k, offset)."""
    return lambda n_q, n_k, offset: np.tril(np.ones((n_q, n_k), bool), shift(n_q, n_k, offset))


def up_to(lengths, n_k):
    return np.arange(n_k) < lengths[:, None, None]


def filled(blocked, visible=0.0):
    return lambda keep: np.where(keep, visible, blocked)


def blocking(S, keep):
    """Weights over the visible keys; a row without any is 0."""
    return np.where(keep.any(axis=-1, keepdims=True), softmax(np.where(keep, S, -np.inf)), 0)


def masking(weights=blocking, scores=scores):
    """Masked attention that gets its weights or its scores in another way.   weights(S, keep)"""

    def masked_attention(Q, K, V, keep):
        A = weights(scores(Q, K), keep)
        return A @ V, A

    return masked_attention


def renormalized(S, keep):
    kept = softmax(S) * keep
    total = kept.sum(axis=-1, keepdims=True)
    return kept / np.where(total == 0, 1, total)


def blocking_by(weights):
    """Weights of another softmax, with the rows that see nothing put right."""
    return lambda S, keep: np.where(keep.any(axis=-1, keepdims=True), weights(np.where(keep, S, -np.inf)), 0)


def split(X, n_head):
    return X.reshape(len(X), n_head, -1).swapaxes(0, 1)


def split_by_reshape(X, n_head):
    return X.reshape(n_head, len(X), -1)


def split_in_turn(X, n_head):
    return X.reshape(len(X), -1, n_head).transpose(2, 0, 1)


def merge(Z):
    return Z.swapaxes(0, 1).reshape(Z.shape[1], -1)


def merge_by_reshape(Z):
    return Z.reshape(Z.shape[1], -1)


def blocks(W_O, n_head):
    return W_O.reshape(n_head, -1, W_O.shape[1])


def heads(split=split, merge=merge, scores=lambda Q, K: Q @ K.mT / root(K), weights=softmax, mixed=None):
    """Multi-head attention with another step.   mixed(A, V) gives the outputs of the heads"""
    mixed = mixed or (lambda A, V: A @ V)

    def multi_head(X, W_Q, W_K, W_V, W_O, n_head):
        Q, K, V = (split(X @ W, n_head) for W in (W_Q, W_K, W_V))
        return merge(mixed(weights(scores(Q, K)), V)) @ W_O

    return multi_head


WRONG_FACTORS = {  # of the keys of all heads: what the scores are multiplied by
    "unscaled": lambda K: 1,
    "by d_k": lambda K: 1 / K.shape[-1],
    "times root": root,
    "by root n_head": lambda K: 1 / math.sqrt(len(K)),
    "by root of all columns": lambda K: 1 / math.sqrt(len(K) * K.shape[-1]),
    "by root n": lambda K: 1 / math.sqrt(K.shape[1]),
}


def with_parameters(change):
    """Multi-head attention that mixes up its parameters: change(W_Q, W_K, W_V, W_O)."""
    return lambda X, W_Q, W_K, W_V, W_O, n_head: heads()(X, *change(W_Q, W_K, W_V, W_O), n_head)


# ------------------------------------------------------------------------------------------------------------ problems

CAUSAL = Problem(
    axes="n_q, n_k, offset",
    right=right_causal,
    cases=(
        (2, 2, 0),
        (3, 3, 0),
        (2, 5, 3),
        (3, 4, 1),
        (1, 4, 3),
        (1, 4, 0),
        (5, 2, 0),
        (4, 6, 0),
        (1, 1, 0),
        (2, 3, 7),
    ),
    mistakes={
        "diagonal blocked": triangle(lambda n_q, n_k, offset: offset - 1),
        "one ahead": triangle(lambda n_q, n_k, offset: offset + 1),
        "offset unused": triangle(lambda n_q, n_k, offset: 0),
        "bottom right": triangle(lambda n_q, n_k, offset: n_k - n_q),
        "offset backwards": triangle(lambda n_q, n_k, offset: -offset),
        "flipped": lambda n_q, n_k, offset: np.arange(n_k) > np.arange(n_q)[:, None] + offset,
        "future": lambda n_q, n_k, offset: np.arange(n_k) >= np.arange(n_q)[:, None] + offset,
        "transposed": lambda n_q, n_k, offset: (np.arange(n_k) <= np.arange(n_q)[:, None] + offset).T,
        "nothing blocked": lambda n_q, n_k, offset: np.ones((n_q, n_k), bool),
        "last key only": lambda n_q, n_k, offset: np.arange(n_k) == np.arange(n_q)[:, None] + offset,
    },
)

PADDING = Problem(
    axes="lengths batch, n_k",
    right=right_padding,
    cases=tuple(
        (np.array(lengths), n_k)
        for lengths, n_k in (
            ([1, 2], 2),
            ([2, 1, 3], 4),
            ([0, 3], 3),
            ([4, 1, 2, 3, 0], 6),
            ([2], 3),
            ([5, 5], 5),
            ([1], 1),
        )
    ),
    mistakes={
        "flipped": lambda lengths, n_k: ~up_to(lengths, n_k),
        "on the queries": lambda lengths, n_k: up_to(lengths, n_k).mT,
        "no query axis": lambda lengths, n_k: up_to(lengths, n_k)[:, 0],
        "one padded key": lambda lengths, n_k: np.arange(n_k) <= lengths[:, None, None],
        "last real key": lambda lengths, n_k: np.arange(n_k) < lengths[:, None, None] - 1,
        "never empty": lambda lengths, n_k: up_to(np.maximum(lengths, 1), n_k),
        "on the left": lambda lengths, n_k: up_to(lengths, n_k)[..., ::-1],
        "nothing blocked": lambda lengths, n_k: np.ones((len(lengths), 1, n_k), bool),
        "first length": lambda lengths, n_k: up_to(0 * lengths + lengths[0], n_k),
    },
)

TO_ADDITIVE = Problem(
    axes="keep …",
    right=right_to_additive,
    cases=tuple(
        (np.array(keep),)
        for keep in (
            [[True, False], [True, True]],
            [[True, False, False], [False, True, True]],
            [[False, False], [False, False]],
            [True],
            [False, True, True],
            [[[True, False]], [[False, True]]],
            [[True], [True]],
        )
    ),
    mistakes={
        "-1e9": filled(-1e9),
        "-1e-9": filled(-1e-9),
        "smallest float": filled(np.finfo(float).min),
        "smallest float16": filled(-65504.0),
        "flipped": lambda keep: filled(-np.inf)(~keep),
        "0 times infinity": filled(-np.inf, visible=np.nan),
        "plus infinity": filled(np.inf),
        "ones": lambda keep: keep.astype(float),
        "1 where visible": filled(-np.inf, visible=1.0),
        "ones for blocked": filled(-1.0),
    },
)

MASKED_ATTENTION = Problem(
    axes="Q n_q d_k, K n_k d_k, V n_k d_v, keep n_q n_k",
    right=right_masked_attention,
    cases=(
        (*arrays([[2, 0], [0, 1]], [[1, 0], [2, 3]], [[8, 0], [0, 4]]), np.array([[True, False], [True, True]])),
        *(masked(case) for case in QKV),
        masked(QKV[0], hide=[1]),
        masked(QKV[1], hide=[0, 1, 2, 3]),
        (*QKV[0], np.ones((3, 5), bool)),
        (*LARGE, np.array([[False, True], [True, False]])),  # the largest score of each row is blocked
        (*LARGE, np.array([[False, False], [True, True]])),
        (*FAR, np.array([[True, True], [True, True]])),
        in_float32(masked(QKV[0], hide=[2])),
    ),
    mistakes={
        "mask unused": masking(lambda S, keep: softmax(S)),
        "flipped": masking(lambda S, keep: blocking(S, ~keep)),
        "rows for keys": masking(lambda S, keep: blocking(S, keep.T)),
        "NaN row": masking(lambda S, keep: softmax(np.where(keep, S, -np.inf))),
        "uniform row": masking(lambda S, keep: softmax(np.where(keep, S, -1e9))),
        "-1e4": masking(
            lambda S, keep: np.where(keep.any(axis=-1, keepdims=True), softmax(np.where(keep, S, -1e4)), 0)
        ),
        "-1e9 added": masking(lambda S, keep: softmax(S + np.where(keep, 0, -1e9))),
        "ones added": masking(lambda S, keep: softmax(S + keep)),
        "zero scores": masking(lambda S, keep: softmax(S * keep)),
        "zeroed after": masking(lambda S, keep: softmax(S) * keep),
        "renormalized": masking(renormalized),
        "clipped": masking(lambda S, keep: blocking(np.clip(S, -700, 700), keep)),
        "order": lambda Q, K, V, keep: masking()(Q, K, V, keep)[::-1],
        "K for V": lambda Q, K, V, keep: masking()(Q, K, K, keep),
        **{key: masking(scores=wrong) for key, wrong in WRONG_SCORES.items() if "twice" not in key},
        **{
            key: masking(blocking_by(WRONG_WEIGHTS[key]))
            for key in ("axis 0", "all at once", "overflow", "largest of all")
        },
    },
    parts=("Z", "A"),
)

SPLIT = Problem(
    axes="X n n_head·d, n_head",
    right=right_split,
    cases=(
        (counted(2, 4), 2),
        *((X, n_head) for n_head, (X,) in of_heads(lambda n_head, n, d_k, d_v, d_model: [(n, n_head * d_k)])),
        in_float32((np.eye(6), 3)),
    ),
    mistakes={
        "split by reshape": split_by_reshape,
        "split in turn": split_in_turn,
        "heads not first": lambda X, n_head: X.reshape(len(X), n_head, -1),
        "positions last": lambda X, n_head: split(X, n_head).mT,
        "heads reversed": lambda X, n_head: split(X, n_head)[::-1],
        "heads alike": lambda X, n_head: np.repeat(split(X, n_head)[:1], n_head, axis=0),
    },
)

MERGE = Problem(
    axes="Z n_head n d",
    right=right_merge,
    cases=(
        (counted(2, 2, 2),),
        *(case for _, case in of_heads(lambda n_head, n, d_k, d_v, d_model: [(n_head, n, d_v)])),
        in_float32((counted(3, 2, 4) / 8,)),
    ),
    mistakes={
        "merged by reshape": merge_by_reshape,
        "interleaved": lambda Z: Z.transpose(1, 2, 0).reshape(Z.shape[1], -1),
        "summed over heads": lambda Z: Z.sum(axis=0),
        "averaged over heads": lambda Z: Z.mean(axis=0),
        "on top": lambda Z: Z.reshape(-1, Z.shape[-1]),
        "heads reversed": lambda Z: merge(Z[::-1]),
        "transposed": lambda Z: merge(Z).T,
    },
)

HEAD_CONTRIBUTIONS = Problem(
    axes="Z n_head n d_v, W_O n_head·d_v d_model",
    right=right_head_contributions,
    cases=(
        arrays([[[1, 0], [2, 1]], [[0, 3], [1, -1]]], [[1, 2], [0, 1], [3, -1], [1, 1]]),
        *(
            case
            for _, case in of_heads(lambda n_head, n, d_k, d_v, d_model: [(n_head, n, d_v), (n_head * d_v, d_model)])
        ),
        in_float32((counted(3, 2, 2) / 4, np.eye(6))),
    ),
    mistakes={
        "first block": lambda Z, W_O: Z @ blocks(W_O, len(Z))[0],
        "rows in turn": lambda Z, W_O: np.array([Z_r @ W_O[r :: len(Z)] for r, Z_r in enumerate(Z)]),
        "blocks reversed": lambda Z, W_O: Z @ blocks(W_O, len(Z))[::-1],
        "blocks transposed": lambda Z, W_O: Z @ blocks(W_O, len(Z)).mT,
        "contributions summed": lambda Z, W_O: merge(Z) @ W_O,
        "contributions averaged": lambda Z, W_O: Z @ blocks(W_O, len(Z)) / len(Z),
        "no W_O": lambda Z, W_O: Z,
        "merged by reshape": lambda Z, W_O: merge_by_reshape(Z) @ W_O,
    },
)

MULTI_HEAD = Problem(
    axes="X n d_model, W_Q d_model n_head·d_k, W_K d_model n_head·d_k, W_V d_model n_head·d_v, "
    "W_O n_head·d_v d_model, n_head",
    right=right_multi_head,
    cases=(
        *((*case, n_head) for n_head, case in of_heads(self_attention, ((2, 2, 2, 2, 4), *HEADS))),
        (*in_float32(of_heads(self_attention)[0][1]), 2),
        (np.eye(3, 4, dtype=int), *(counted(4, 4) % 3 - 1,) * 3, counted(4, 4), 2),
    ),
    mistakes={
        **{key: heads(scores=lambda Q, K, by=by: Q @ K.mT * by(K)) for key, by in WRONG_FACTORS.items()},
        "by root d_model": lambda X, *rest: heads(scores=lambda Q, K: Q @ K.mT / root(X))(X, *rest),
        "not transposed": heads(scores=lambda Q, K: Q @ K / root(K)),
        "one wide head": lambda X, W_Q, W_K, W_V, W_O, n_head: heads()(X, W_Q, W_K, W_V, W_O, 1),
        "split by reshape": heads(split=split_by_reshape),
        "merged by reshape": heads(merge=merge_by_reshape),
        "both by reshape": heads(split=split_by_reshape, merge=merge_by_reshape),
        "split in turn": heads(split=split_in_turn),
        "interleaved": heads(merge=lambda Z: Z.transpose(1, 2, 0).reshape(Z.shape[1], -1)),
        "heads reversed": heads(merge=lambda Z: merge(Z[::-1])),
        "no W_O": with_parameters(lambda W_Q, W_K, W_V, W_O: (W_Q, W_K, W_V, np.eye(len(W_O)))),
        "W_O transposed": with_parameters(lambda W_Q, W_K, W_V, W_O: (W_Q, W_K, W_V, W_O.T)),
        "W_Q twice": with_parameters(lambda W_Q, W_K, W_V, W_O: (W_Q, W_Q, W_V, W_O)),
        "W_K twice": with_parameters(lambda W_Q, W_K, W_V, W_O: (W_K, W_K, W_V, W_O)),
        "W exchanged": with_parameters(lambda W_Q, W_K, W_V, W_O: (W_K, W_Q, W_V, W_O)),
        "W_K for values": with_parameters(lambda W_Q, W_K, W_V, W_O: (W_Q, W_K, W_K, W_O)),
        "weights averaged": heads(mixed=lambda A, V: A.mean(axis=0) @ V),
        "A transposed": heads(mixed=lambda A, V: A.mT @ V),
        "axis 0": heads(weights=WRONG_WEIGHTS["axis 0"]),
        "over queries": heads(weights=lambda S: softmax(S, axis=-2)),
        "all at once": heads(weights=WRONG_WEIGHTS["all at once"]),
        "no softmax": heads(weights=lambda S: S),
    },
)

PROBLEMS = {
    "causal": CAUSAL,
    "padding": PADDING,
    "to_additive": TO_ADDITIVE,
    "masked_attention": MASKED_ATTENTION,
    "split": SPLIT,
    "merge": MERGE,
    "head_contributions": HEAD_CONTRIBUTIONS,
    "multi_head": MULTI_HEAD,
}
