"""The practice problems of chapters 7 and 8 as learners solve them, see practice_1_2.py."""

import math
from unittest import mock

import numpy as np

import attention_mechanism as am
from practice_1_2 import (
    BAD_NUMBERS,
    DTYPES,
    MISFITS,
    NOTHING_THERE,
    OTHER_AXES,
    RIGHT_SCORES,
    SCORES,
    WEIGHTS,
    attention_by_loops,
    softmax_32,
    softmax_by_moveaxis,
    softmax_by_rows,
)

# --------------------------------------------------------------------------------- right, and written in another way


def additive_by_loops(s, h, W_1, W_2, v):
    e = np.zeros((len(s), len(h)))
    for t in range(len(s)):
        for j in range(len(h)):
            e[t, j] = np.tanh(s[t] @ W_1 + h[j] @ W_2) @ v
    return e


def additive_stacked(s, h, W_1, W_2, v):
    """Luong's form: one matrix for s_t and h_j side by side."""
    W = np.vstack([W_1, W_2])
    return [[float(np.dot(np.tanh(np.concatenate([x, y]) @ W), v)) for y in h] for x in s]


def local_by_assignment(p, n_k, D):
    keep = np.zeros((len(p), n_k), dtype=bool)
    for i in range(len(p)):
        keep[i, max(0, math.ceil(p[i] - D)) : math.floor(p[i] + D) + 1] = True
    return keep


def layer_of_shapes(n_q, n_k, d_model, d_k, n_head):
    """n · m · l for each product of an n × m matrix and an m × l matrix."""
    projections = [(n_q, d_model, n_head * d_k), *[(n_k, d_model, n_head * d_k)] * 2, (n_q, n_head * d_k, d_model)]
    attention = [(n_q, d_k, n_k), (n_q, n_k, d_k)] * n_head
    return sum(map(math.prod, projections)), sum(map(math.prod, attention))


def rows_seen_only(Q, K, V, block):
    """A block computes only the keys it can see, and takes each of its rows on its own."""
    Z = np.empty((len(Q), V.shape[1]))
    for i in range(0, len(Q), block):
        k, v = K[: i + block], V[: i + block]
        for j in range(i, min(i + block, len(Q))):
            Z[j] = attention_by_loops(Q[j : j + 1], k[: j + 1], v[: j + 1])[0][0]
    return Z


def rows_in_a_list(Q, K, V, block):
    Z, start = [], 0
    while start < len(Q):
        S = Q[start : start + block] @ K.T / K.shape[1] ** 0.5
        S[np.triu_indices(len(S), start + 1, len(K))] = -np.inf
        Z += list(softmax_by_moveaxis(S) @ V)
        start += block
    return Z


def rows_in_float32(Q, K, V, block):
    Z = []
    for part in np.array_split(np.arange(len(Q)), range(block, len(Q), block)):
        S = np.float32(Q[part]) @ np.float32(K).T / K.shape[1] ** 0.5
        S += np.triu(np.full(S.shape, -1e9, np.float32), part[0] + 1)
        Z.append(softmax_32(S) @ np.float32(V))
    return np.concatenate(Z)


def rows_by_course(Q, K, V, block):
    with mock.patch.object(am, "ROWS_PER_BLOCK", block):
        return am.attention_by_rows(Q, K, V, causal=True)


def rows_at_once(Q, K, V, block):
    """Right, but it holds n × n weights."""
    return am.scaled_dot_product_attention(Q, K, V, am.causal_mask(len(Q)))[0]


def online_by_cases(mu, total, z, score, value):
    if score <= mu:
        share = math.exp(score - mu)
    else:
        total, share, mu = total * np.exp(mu - score), 1.0, score
    new_total = total + share
    return mu, new_total, z * (total / new_total) + value * (share / new_total)


def online_by_a_pseudo_key(mu, total, z, score, value):
    """All keys read so far count as one with the score mu + log(total) and the value z."""
    both = np.array([mu + np.log(total), score])
    largest = max(mu, score)
    return largest, np.exp(np.logaddexp(*both) - largest), softmax_by_rows(both) @ np.array([z, value])


def online_towards_the_value(mu, total, z, score, value):
    m = np.maximum(mu, score)
    new = np.exp(score - m)
    total = np.exp(mu - m) * total + new
    return [m, total, [a + new / total * (b - a) for a, b in zip(z, value, strict=True)]]


ALTERNATIVES = {
    "context": [
        lambda e, h: softmax_by_rows(e) @ h,
        lambda e, h: np.einsum("tj,jd->td", softmax_by_moveaxis(e), h),
        lambda e, h: [sum(a * x for a, x in zip(row, h, strict=True)) for row in softmax_32(e)],
        lambda e, h: am.softmax(e) @ h,
    ],
    "additive": [
        additive_by_loops,
        additive_stacked,
        lambda s, h, W_1, W_2, v: np.einsum("tja,a->tj", np.tanh((s @ W_1)[:, None, :] + (h @ W_2)[None]), v),
        am.additive_scores,
    ],
    "attentional": [
        lambda c, s, W_c: np.tanh(np.concatenate([c, s], axis=1) @ W_c),
        lambda c, s, W_c: np.tanh(c @ W_c[: c.shape[1]] + s @ W_c[c.shape[1] :]),
        lambda c, s, W_c: [[math.tanh(x) for x in np.append(a, b) @ W_c] for a, b in zip(c, s, strict=True)],
        lambda c, s, W_c: 2 / (1 + np.exp(-2 * (np.c_[c, s] @ W_c))) - 1,
    ],
    "local_mask": [
        local_by_assignment,
        lambda p, n_k, D: [[bool(-D <= j - x <= D) for j in range(n_k)] for x in p],
        lambda p, n_k, D: (np.arange(n_k) >= p[:, None] - D) & (np.arange(n_k) <= p[:, None] + D),
        lambda p, n_k, D: ~(np.abs(np.subtract.outer(p, np.arange(n_k))) > D),
    ],
    "layer_multiplications": [
        layer_of_shapes,
        lambda n_q, n_k, d_model, d_k, n_head: [
            2 * d_model * n_head * d_k * (n_q + n_k),
            2 * n_head * n_q * n_k * d_k,
        ],
        lambda n_q, n_k, d_model, d_k, n_head: (
            np.array([d_model * (n_q + n_k + n_k + n_q), n_q * (n_k + n_k)], dtype=float) * (n_head * d_k)
        ),
    ],
    "weight_bytes": [
        lambda *x: math.prod(x),
        lambda batch, n_head, n_q, n_k, size: np.broadcast_to(np.int8(0), (batch, n_head, n_q, n_k)).size * size,
        lambda batch, n_head, n_q, n_k, size: float(batch) * n_head * n_q * n_k * 8 * size / 8,
    ],
    "causal_by_rows": [rows_seen_only, rows_in_a_list, rows_in_float32, rows_by_course],
    "online": [online_by_cases, online_by_a_pseudo_key, online_towards_the_value],
}

# ------------------------------------------------------------------------ known mistakes, as a learner would write them


def for_each_pair(score):
    """Scores of score(s_t, h_j, W_1, W_2, v)."""
    return lambda s, h, *W: np.array([[score(x, y, *W) for y in h] for x in s])


def sigmoid(x):
    return np.exp(x) / (np.exp(x) + 1)


def wrong_axis(s, h, W_1, W_2, v):
    return np.tanh((s @ W_1)[None, :, :] + (h @ W_2)[:, None, :]) @ v


def side_by_side(fn):
    """fn(x, W_c) of the rows [c_t, s_t]."""
    return lambda c, s, W_c: fn(np.c_[c, s], W_c)


def seen_if(seen):
    """The mask of seen(j, p_i, D, i)."""
    return lambda p, n_k, D: np.array([[bool(seen(j, x, D, i)) for j in range(n_k)] for i, x in enumerate(p)])


def by_slices(p, n_k, D):
    keep = np.full((len(p), n_k), False)
    for i in range(len(p)):
        keep[i, p[i] - D : p[i] + D + 1] = True
    return keep


def matrices(rows=None, columns=None, heads=1, with_W_O=True):
    """The count of the projections, with another number of rows or columns of W_K and W_V, or heads more."""

    def count(n_q, n_k, d_model, d_k, n_head):
        rows_s = rows(n_q, n_k) if rows else n_k
        width = columns(d_model, d_k, n_head) if columns else n_head * d_k
        total = n_q * d_model * width + 2 * rows_s * d_model * width
        total += n_q * width * d_model * with_W_O
        return total * (n_head if heads == 2 else 1)

    return count


def all_heads(one_head):
    """The count of attention, from that of one head."""
    return lambda n_q, n_k, d_model, d_k, n_head: sum(one_head(n_q, n_k, d_model, d_k, n_head) for _ in range(n_head))


RIGHT_PROJECTIONS = matrices()
RIGHT_ATTENTION = all_heads(lambda n_q, n_k, d_model, d_k, n_head: 2 * n_q * n_k * d_k)


def counting(projections=RIGHT_PROJECTIONS, attention=RIGHT_ATTENTION):
    return lambda *numbers: (projections(*numbers), attention(*numbers))


def blocked(keep=lambda j, i, start, end: j <= i, scores=RIGHT_SCORES, weights=softmax_by_moveaxis, after=None):
    """Blocks written into an array; keep(j, i, start, end) says whether query i of the block start…end sees key j."""

    def causal_by_rows(Q, K, V, block):
        Z = np.zeros((len(Q), V.shape[1]))
        for start in range(0, len(Q), block):
            end = min(start + block, len(Q))
            seen = np.array([[keep(j, i, start, end) for j in range(len(K))] for i in range(start, end)])
            S = scores(Q[start:end], K)
            A = after(weights(S), seen) if after else weights(np.where(seen, S, -math.inf))
            Z[start:end] = np.dot(A, V)
        return Z

    return causal_by_rows


def whole_blocks(Q, K, V, block):
    return blocked()(Q, K, V, block)[: block * (len(Q) // block)]


def whole_blocks_into_zeros(Q, K, V, block):
    Z = np.zeros((len(Q), V.shape[1]))
    done = whole_blocks(Q, K, V, block)
    Z[: len(done)] = done
    return Z


def blocks_of_everything(Q, K, V, block):
    Z = []
    for i in range(0, len(Q), block):
        j = i + block
        S = RIGHT_SCORES(Q[i:j], K[i:j]) + np.triu(np.full((len(Q[i:j]),) * 2, -np.inf), 1)
        Z.extend(softmax_by_moveaxis(S) @ V[i:j])
    return np.array(Z)


def weights_returned(Q, K, V, block):
    return np.vstack(
        [
            np.append(attention_by_loops(Q[i : i + 1], K[: i + 1], V[: i + 1])[1], np.zeros(len(Q) - i - 1))
            for i in range(len(Q))
        ]
    )


def softmax_axis_0(x):
    e = np.exp(x - np.max(x, axis=0))
    return e / np.sum(e, axis=0)


def no_rescaling(mu, total, z, score, value):
    m = max(mu, score)
    e = np.exp(score - m)
    return m, total + e, (total * z + e * value) / (total + e)


def z_not_rescaled(mu, total, z, score, value):
    m = max(mu, score)
    e = np.exp(score - m)
    new_total = total * np.exp(mu - m) + e
    return m, new_total, (z * total + value * e) / new_total


def mean_not_shrunk(mu, total, z, score, value):
    m, new_total, _ = online_by_cases(mu, total, z, score, value)
    return m, new_total, z + np.exp(score - m) / new_total * value


def upside_down(mu, total, z, score, value):
    m = max(mu, score)
    kept, e = total / np.exp(mu - m), np.exp(score - m)
    return m, kept + e, (z * kept + value * e) / (kept + e)


def with_the_maximum(m, mu, total, z, score, value):
    kept, e = total * np.exp(mu - m), np.exp(score - m)
    return m, kept + e, (kept * z + e * value) / (kept + e)


def no_shift_of_the_new(mu, total, z, score, value):
    m = max(mu, score)
    kept, e = total * np.exp(mu - m), np.exp(score)
    return m, kept + e, (kept * z + e * value) / (kept + e)


def without_any_shift(mu, total, z, score, value):
    """The plain sum of exponentials, brought into the form that is asked for at the end."""
    m = max(mu, score)
    old, new = total * np.exp(mu), np.exp(score)
    return m, (old + new) / np.exp(m), (old / np.exp(m) * z + new / np.exp(m) * value) / ((old + new) / np.exp(m))


def value_bare(mu, total, z, score, value):
    m, new_total, _ = online_by_cases(mu, total, z, score, value)
    return m, new_total, (total * np.exp(mu - m) * z + value) / new_total


def undivided(mu, total, z, score, value):
    m, new_total, mean = online_by_cases(mu, total, z, score, value)
    return m, new_total, new_total * mean


def plus_one(mu, total, z, score, value):
    m = max(mu, score)
    kept = total * np.exp(mu - m)
    return m, kept + 1, (kept * z + value) / (kept + 1)


WRONG = {
    "context": {
        **{key: lambda e, h, weights=weights: np.dot(weights(e), h) for key, weights in WEIGHTS.items()},
        "not normalized": lambda e, h: np.dot(math.e**e, h),
        "no softmax": lambda e, h: np.dot(e, h),
        "weights transposed": lambda e, h: np.einsum("jt,jd->td", softmax_by_rows(e), h),
        "softmax": lambda e, h: np.dot(softmax_by_rows(softmax_by_rows(e)), h),
        "clipped": lambda e, h: np.dot(softmax_by_rows(np.minimum(e, 500)), h),
        "plain mean": lambda e, h: np.array([sum(h) / len(h) for _ in e]),
        "winner": lambda e, h: [h[np.argmax(row)] for row in e],
        "last state": lambda e, h: np.array([h[len(h) - 1]] * len(e)),
        "over keys too": lambda e, h: np.array([np.mean(a[:, None] * h, axis=0) for a in softmax_by_rows(e)]),
        "A for Z": lambda e, h: softmax_by_rows(e),
    },
    "additive": {
        "tanh outside": for_each_pair(lambda x, y, W_1, W_2, v: math.tanh((x @ W_1 + y @ W_2) @ v)),
        "no tanh": for_each_pair(lambda x, y, W_1, W_2, v: v @ (x @ W_1 + y @ W_2)),
        "tanh of each": for_each_pair(lambda x, y, W_1, W_2, v: v @ (np.tanh(x @ W_1) + np.tanh(y @ W_2))),
        "sigmoid": for_each_pair(lambda x, y, W_1, W_2, v: v @ sigmoid(x @ W_1 + y @ W_2)),
        "no v": for_each_pair(lambda x, y, W_1, W_2, v: sum(np.tanh(x @ W_1 + y @ W_2))),
        "not summed": for_each_pair(lambda x, y, W_1, W_2, v: v * np.tanh(x @ W_1 + y @ W_2)),
        "summed wrongly": lambda s, h, W_1, W_2, v: sum(np.tanh(s @ W_1 + y @ W_2) * v for y in h),
        "mean": for_each_pair(lambda x, y, W_1, W_2, v: np.mean(v * np.tanh(x @ W_1 + y @ W_2))),
        "same rows only": lambda s, h, W_1, W_2, v: np.dot(np.tanh(np.add(s @ W_1, h @ W_2)), v),
        "transposed": wrong_axis,
        "W_1 and W_2 exchanged": for_each_pair(lambda x, y, W_1, W_2, v: v @ np.tanh(x @ W_2 + y @ W_1)),
        "states exchanged": lambda s, h, *W: additive_by_loops(h, s, *W),
        "softmax": lambda *x: softmax_by_rows(additive_by_loops(*x)),
    },
    "attentional": {
        "s first": lambda c, s, W_c: np.tanh(np.concatenate((s, c), axis=-1) @ W_c),
        "no tanh": side_by_side(np.dot),
        "tanh first": side_by_side(lambda x, W_c: np.dot(np.tanh(x), W_c)),
        "tanh of each": lambda c, s, W_c: np.tanh(c @ W_c[: len(c[0])]) + np.tanh(s @ W_c[len(c[0]) :]),
        "sigmoid": side_by_side(lambda x, W_c: sigmoid(x @ W_c)),
        "softmax": side_by_side(lambda x, W_c: softmax_by_rows(np.tanh(x @ W_c))),
        "softmax for tanh": side_by_side(lambda x, W_c: softmax_by_rows(x @ W_c)),
        "only c": lambda c, s, W_c: np.tanh(np.c_[c, 0 * s] @ W_c),
        "only s": lambda c, s, W_c: np.tanh(np.c_[0 * c, s] @ W_c),
        "W_c transposed": side_by_side(lambda x, W_c: np.tanh((W_c @ x.T).T)),
    },
    "local_mask": {
        "edges blocked": seen_if(lambda j, x, D, i: -D < j - x < D),
        "before only": seen_if(lambda j, x, D, i: x - D <= j <= x),
        "after only": seen_if(lambda j, x, D, i: x <= j <= x + D),
        "no absolute value": seen_if(lambda j, x, D, i: j <= x + D),
        "half as wide": seen_if(lambda j, x, D, i: 2 * abs(j - x) <= D),
        "around t": seen_if(lambda j, x, D, i: abs(j - i) <= D),
        "p cut": seen_if(lambda j, x, D, i: abs(j - int(x)) <= D),
        "flipped": seen_if(lambda j, x, D, i: j < x - D or j > x + D),
        "transposed": lambda p, n_k, D: np.array([[bool(abs(j - x) <= D) for x in p] for j in range(n_k)]),
        "nothing blocked": seen_if(lambda *_: True),
        "negative slice": by_slices,
    },
    "layer_multiplications": {
        "one head": counting(
            matrices(columns=lambda d_model, d_k, n_head: d_k),
            lambda n_q, n_k, d_model, d_k, n_head: n_q * n_k * d_k + n_q * n_k * d_k,
        ),
        "one head in projections": counting(matrices(columns=lambda d_model, d_k, n_head: d_k)),
        "one head in attention": counting(attention=lambda n_q, n_k, d_model, d_k, n_head: 2 * n_q * n_k * d_k),
        "heads twice in projections": counting(matrices(heads=2)),
        "heads twice in attention": counting(
            attention=all_heads(lambda n_q, n_k, d_model, d_k, n_head: 2 * n_q * n_k * (n_head * d_k))
        ),
        "W_O not counted": counting(matrices(with_W_O=False)),
        "n_q for keys": counting(matrices(rows=lambda n_q, n_k: n_q)),
        "projections of pairs": counting(lambda n_q, n_k, d_model, d_k, n_head: 4 * n_q * n_k * d_model * d_k * n_head),
        "d_model squared": counting(matrices(columns=lambda d_model, d_k, n_head: d_model)),
        "d_model in attention": counting(
            attention=all_heads(lambda n_q, n_k, d_model, d_k, n_head: 2 * n_q * n_k * d_model)
        ),
        "only scores": counting(attention=all_heads(lambda n_q, n_k, d_model, d_k, n_head: n_q * n_k * d_k)),
        "scaling": counting(attention=all_heads(lambda n_q, n_k, d_model, d_k, n_head: n_q * n_k * (d_k + 1 + d_k))),
        "doubled": lambda *x: [2 * RIGHT_PROJECTIONS(*x), 2 * RIGHT_ATTENTION(*x)],
        "attention first": lambda *x: (RIGHT_ATTENTION(*x), RIGHT_PROJECTIONS(*x)),
    },
    "weight_bytes": {
        "one sequence": lambda batch, n_head, n_q, n_k, size: math.prod((n_head, n_q, n_k, size)),
        "weights of one head": lambda batch, n_head, n_q, n_k, size: math.prod((batch, n_q, n_k, size)),
        "heads share": lambda batch, n_head, n_q, n_k, size: batch * n_q * n_k / n_head * size,
        "numbers, not bytes": lambda batch, n_head, n_q, n_k, size: n_q * n_k * n_head * batch,
        "bits": lambda batch, n_head, n_q, n_k, size: batch * n_head * n_q * n_k * size * 8,
        "mebibytes": lambda *x: np.prod(x, dtype=float) / 1024 / 1024,
        "megabytes": lambda *x: np.prod(x, dtype=float) / 10**6,
        "lengths added": lambda batch, n_head, n_q, n_k, size: sum([n_q, n_k]) * batch * n_head * size,
        "n_q squared": lambda batch, n_head, n_q, n_k, size: batch * n_head * n_q * n_q * size,
        "n_k squared": lambda batch, n_head, n_q, n_k, size: batch * n_head * n_k * n_k * size,
        "scores too": lambda *x: math.prod(x) + math.prod(x),
    },
    "causal_by_rows": {
        "short block left out": whole_blocks,
        "short block zero": whole_blocks_into_zeros,
        "own keys only": blocks_of_everything,
        "leak in block": blocked(lambda j, i, start, end: j < end),
        "mask of the first": blocked(lambda j, i, start, end: j <= i - start),
        "mask unused": lambda Q, K, V, block: attention_by_loops(Q, K, V)[0],
        "diagonal blocked": blocked(lambda j, i, start, end: j < i),
        "zeroed after": blocked(after=np.multiply),
        "over queries": blocked(weights=softmax_axis_0),
        "K for V": lambda Q, K, V, block: rows_at_once(Q, K, K, block),
        "A for Z": weights_returned,
        **{
            key: blocked(scores=scores)
            for key, scores in SCORES.items()
            if key not in ("by root n_q", "Q twice", "K twice")
        },
        **{key: blocked(weights=WEIGHTS[key]) for key in ("overflow", "largest of all")},
    },
    "online": {
        "old sum kept": no_rescaling,
        "old mean kept": mean_not_shrunk,
        "z by the old sum": z_not_rescaled,
        "shrunk upside down": upside_down,
        "maximum kept": lambda mu, *rest: with_the_maximum(mu, mu, *rest),
        "score for maximum": lambda mu, total, z, score, value: with_the_maximum(score, mu, total, z, score, value),
        "new key not shifted": no_shift_of_the_new,
        "overflow": without_any_shift,
        "value unweighted": value_bare,
        "sum for mean": undivided,
        "sum plus one": plus_one,
    },
}

# -------------------------------------------------------------------------------------- the mutants of the field

ADAPTERS = {
    "context": (lambda e, h: am.softmax(e) @ h, {"softmax"}),
    "additive": (lambda *x: am.additive_scores(*x), {"additive_scores"}),
    "causal_by_rows": (rows_by_course, {"attention_by_rows"}),
}
SURVIVORS = {
    "context": DTYPES | BAD_NUMBERS | NOTHING_THERE | OTHER_AXES | {"softmax along the first axis, batch or heads"},
    "additive": set(),
    "causal_by_rows": MISFITS
    | {  # no mask but the causal one, no axes in front, no bad numbers, values of a common size
        "by rows: causality is ignored when there is a mask",
        "by rows: a boolean mask is read as True = drop",
        "by rows: finite values of a float mask are lost",
        "by rows: the first of the batch stands for all",
        "by rows: NaN at a key that no query may attend to reaches the output",
        "by rows: values are summed before they are divided, and overflow",
        "by rows: computed in float16 where the inputs are",
        "by rows: the offset is ignored",
        "by rows: the mask is ignored when causal",
        "by rows: each block gets the mask of the first",
        "by rows: an empty row is NaN",
        "by rows: the result is float64",
    },
}
