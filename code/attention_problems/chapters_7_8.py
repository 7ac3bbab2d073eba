"""From recurrent networks to attention, cost and memory: the practice problems of chapters 7 and 8."""

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
    scores,
    softmax,
    softmax_of_rows,
)

# ------------------------------------------------------------------------------------ the right answers, in plain loops


def right_context(e, h):
    return product(softmax_of_rows(e), h)


def right_additive(s, h, W_1, W_2, v):
    asking, read = product(s, W_1), product(h, W_2)
    return [[sum(c * math.tanh(a + b) for a, b, c in zip(x, y, v, strict=True)) for y in read] for x in asking]


def right_attentional(c, s, W_c):
    side_by_side = [c_t + s_t for c_t, s_t in zip(c, s, strict=True)]
    return [[math.tanh(x) for x in row] for row in product(side_by_side, W_c)]


def right_local_mask(p, n_k, D):
    return [[abs(j - center) <= D for j in range(n_k)] for center in p]


def right_weight_bytes(batch, n_head, n_q, n_k, size):
    return sum(n_q * n_k * size for _ in range(batch) for _ in range(n_head))


def right_layer_multiplications(n_q, n_k, d_model, d_k, n_head):
    """Head by head: its columns of W_Q, W_K and W_V, its rows of W_O, its scores and its mixtures."""
    projections = attention = 0
    for _ in range(n_head):
        projections += n_q * d_model * d_k + n_k * d_model * d_k + n_k * d_model * d_k + n_q * d_k * d_model
        attention += n_q * n_k * d_k + n_q * d_k * n_k
    return projections, attention


def right_causal_by_rows(Q, K, V, block):
    """Each row over itself and the rows before it alone."""
    return [right_attention([q], K[: i + 1], V[: i + 1])[0][0] for i, q in enumerate(Q)]


def right_online(mu, total, z, score, value):
    largest = max(mu, score)
    old, new = total * math.exp(mu - largest), math.exp(score - largest)
    return largest, old + new, [(old * a + new * b) / (old + new) for a, b in zip(z, value, strict=True)]


# --------------------------------------------------------------------------------------------------------------- cases
# Widths are drawn under other names: d_s as d_k, d_h as d_v, d_a as d_model.

STATES = drawn("s n_q d_k, h n_k d_v, W_1 d_k d_model, W_2 d_v d_model, v d_model")
CONTEXTS = drawn("c n_q d_v, s n_q d_k, upper d_v d_model, lower d_k d_model")
QKV = drawn("Q n_q d_k, K n_q d_k, V n_q d_v")


def read_so_far(mu, total, z, score, value):
    return float(mu), float(total), np.array(z), float(score), np.array(value)


# ------------------------------------------------------------------------------------------------------ known mistakes


def mixing(weights):
    """Contexts with other weights."""
    return lambda e, h: weights(e) @ h


def pairs(s, h, W_1, W_2):
    """s_t W_1 + h_j W_2 for every t and j.   -> (n_q, n_k, d_a)"""
    return (s @ W_1)[:, None] + h @ W_2


def additive(s, h, W_1, W_2, v):
    return np.tanh(pairs(s, h, W_1, W_2)) @ v


def joined(change=lambda c, s: (c, s), last=np.tanh):
    """The attentional state of other things side by side, or with another last step."""
    return lambda c, s, W_c: last(np.hstack(change(c, s)) @ W_c)


def upper_and_lower(c, s, W_c):
    """The parts of [c, s] W_c that come from c and from s."""
    return c @ W_c[: c.shape[1]], s @ W_c[c.shape[1] :]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def window(seen):
    """The mask of seen(distance, D), key j being at the distance j − p[t] from the centre."""
    return lambda p, n_k, D: seen(np.arange(n_k) - p[:, None], D)


def window_by_slices(p, n_k, D):
    keep = np.zeros((len(p), n_k), bool)
    for row, center in zip(keep, p, strict=True):
        row[center - D : center + D + 1] = True
    return keep


def layer(projections=None, attention=None):
    """The two counts, one of them wrong; each a function of all the numbers."""

    def layer_multiplications(n_q, n_k, d_model, d_k, n_head):
        numbers = (n_q, n_k, d_model, d_k, n_head)
        right = (2 * (n_q + n_k) * d_model * n_head * d_k, 2 * n_q * n_k * n_head * d_k)
        return tuple(
            wrong(*numbers) if wrong else count for wrong, count in zip((projections, attention), right, strict=True)
        )

    return layer_multiplications


def up_to_itself(i, m, n):
    """Which of n keys the queries i to i + m − 1 see.   -> (m, n)"""
    return np.arange(n) <= np.arange(i, i + m)[:, None]


def weights_of_seen(S, keep):
    return softmax(np.where(keep, S, -np.inf))


def in_blocks(scores=scores, seen=up_to_itself, weights=weights_of_seen):
    """Causal attention, a block of queries at a time, with other scores, masks or weights."""

    def causal_by_rows(Q, K, V, block):
        Z = []
        for i in range(0, len(Q), block):
            q = Q[i : i + block]
            Z.append(weights(scores(q, K), seen(i, len(q), len(K))) @ V)
        return np.vstack(Z)

    return causal_by_rows


def blocking_by(weights):
    return lambda S, keep: weights(np.where(keep, S, -np.inf))


def whole_blocks_only(Q, K, V, block):
    return in_blocks()(Q, K, V, block)[: len(Q) // block * block]


def short_block_zero(Q, K, V, block):
    Z = in_blocks()(Q, K, V, block)
    Z[len(Q) // block * block :] = 0
    return Z


def mean_of_both(old, new, total, z, value):
    return (old * z + new * value) / (old + new)


def shrunk(x, largest):
    return np.exp(x - largest)


def one_more(old=shrunk, new=shrunk, largest=max, mixed=mean_of_both):
    """One more key: the factor of what was read, the share of the new key, the maximum or the mean another."""

    def online(mu, total, z, score, value):
        mu_new = largest(mu, score)
        kept, added = total * old(mu, mu_new), new(score, mu_new)
        return mu_new, kept + added, mixed(kept, added, total, z, value)

    return online


def shrunk_too_late(x, largest):
    return np.exp(x) / np.exp(largest)


# ------------------------------------------------------------------------------------------------------------ problems

CONTEXT = Problem(
    axes="e n_q n_k, h n_k d_h",
    right=right_context,
    cases=(
        arrays([[0, 1], [2, 0]], [[4, 0], [0, 8]]),
        *drawn("e n_q n_k, h n_k d_v"),
        arrays([[1000, 0], [0, -1000]], [[1, 2], [3, 4]]),
        arrays([[800, 0], [0, 1]], [[1, 2], [3, 4]]),
        arrays([[3000, 2999, 0], [0, -1, 1]], [[1, 2], [3, 4], [5, 0]]),  # no clipping, no mean in place of the maximum
        in_float32(drawn("e n_q n_k, h n_k d_model")[0]),
    ),
    mistakes={
        **{key: mixing(wrong) for key, wrong in WRONG_WEIGHTS.items()},
        "not normalized": mixing(np.exp),
        "no softmax": mixing(lambda e: e),
        "weights transposed": mixing(lambda e: softmax(e).T),
        "softmax": mixing(lambda e: softmax(softmax(e))),
        "clipped": mixing(lambda e: softmax(np.clip(e, -700, 700))),
        "plain mean": mixing(lambda e: np.full(e.shape, 1 / e.shape[1])),
        "winner": lambda e, h: h[e.argmax(axis=-1)],
        "last state": lambda e, h: np.tile(h[-1], (len(e), 1)),
        "over keys too": lambda e, h: softmax(e) @ h / len(h),
        "A for Z": lambda e, h: softmax(e),
    },
)

ADDITIVE = Problem(
    axes="s n_q d_s, h n_k d_h, W_1 d_s d_a, W_2 d_h d_a, v d_a",
    right=right_additive,
    cases=(
        arrays([[1, 0], [0, 2]], [[1, 1], [0, 1]], [[1, 0], [0, -1]], [[0, 1], [1, 1]], [2, 1]),
        *STATES,
        arrays([[500, -400], [1, 0]], [[0, 300], [1, 1]], [[1, 0], [0, -1]], [[0, 1], [1, 1]], [2, 1]),
        in_float32(STATES[1]),
    ),
    mistakes={
        "tanh outside": lambda s, h, W_1, W_2, v: np.tanh(pairs(s, h, W_1, W_2) @ v),
        "no tanh": lambda s, h, W_1, W_2, v: pairs(s, h, W_1, W_2) @ v,
        "tanh of each": lambda s, h, W_1, W_2, v: (np.tanh(s @ W_1)[:, None] + np.tanh(h @ W_2)) @ v,
        "sigmoid": lambda s, h, W_1, W_2, v: sigmoid(pairs(s, h, W_1, W_2)) @ v,
        "no v": lambda s, h, W_1, W_2, v: np.tanh(pairs(s, h, W_1, W_2)).sum(axis=-1),
        "not summed": lambda s, h, W_1, W_2, v: np.tanh(pairs(s, h, W_1, W_2)) * v,
        "summed wrongly": lambda s, h, W_1, W_2, v: (np.tanh(pairs(s, h, W_1, W_2)) * v).sum(axis=1),
        "mean": lambda s, h, W_1, W_2, v: additive(s, h, W_1, W_2, v) / len(v),
        "same rows only": lambda s, h, W_1, W_2, v: np.tanh(s @ W_1 + h @ W_2) @ v,
        "transposed": lambda *x: additive(*x).T,
        "W_1 and W_2 exchanged": lambda s, h, W_1, W_2, v: additive(s, h, W_2, W_1, v),
        "states exchanged": lambda s, h, W_1, W_2, v: additive(h, s, W_1, W_2, v),
        "softmax": lambda *x: softmax(additive(*x)),
    },
)

ATTENTIONAL = Problem(
    axes="c n_q d_h, s n_q d_s, W_c d_h+d_s d_out",
    right=right_attentional,
    cases=(
        arrays([[1], [-1]], [[2], [0]], [[1, -1], [0.5, 0]]),
        *((c, s, np.vstack(blocks)) for c, s, *blocks in CONTEXTS),
        arrays([[500], [-500]], [[300], [0]], [[1, -1], [1, 0.5]]),
        in_float32((CONTEXTS[0][0], CONTEXTS[0][1], np.vstack(CONTEXTS[0][2:]))),
    ),
    mistakes={
        "s first": joined(lambda c, s: (s, c)),
        "no tanh": joined(last=lambda x: x),
        "tanh first": joined(lambda c, s: (np.tanh(c), np.tanh(s)), last=lambda x: x),
        "tanh of each": lambda *x: sum(map(np.tanh, upper_and_lower(*x))),
        "sigmoid": joined(last=sigmoid),
        "softmax": joined(last=lambda x: softmax(np.tanh(x))),
        "softmax for tanh": joined(last=softmax),
        "only c": lambda *x: np.tanh(upper_and_lower(*x)[0]),
        "only s": lambda *x: np.tanh(upper_and_lower(*x)[1]),
        "W_c transposed": lambda c, s, W_c: joined()(c, s, W_c.T),
    },
)

LOCAL_MASK = Problem(
    axes="p n_q, n_k, D",
    right=right_local_mask,
    cases=tuple(
        (np.array(p), n_k, D)
        for p, n_k, D in (
            ([1, 0], 2, 0),
            ([3, 1, 2], 5, 1),
            ([1, 4], 7, 2),
            ([5, 2, 0, 3], 6, 1),
            ([0, 1, 2, 3, 4], 5, 1),
            ([0, 6], 8, 3),
            ([0.5, 2.25, 3.9], 5, 1),
            ([2.5, 0.0, 6.0], 6, 2),
            ([1.5, 2.0], 4, 0),  # the first window holds no key
            ([0], 1, 3),
        )
    ),
    mistakes={
        "edges blocked": window(lambda distance, D: abs(distance) < D),
        "before only": window(lambda distance, D: (distance <= 0) & (distance >= -D)),
        "after only": window(lambda distance, D: (distance >= 0) & (distance <= D)),
        "no absolute value": window(lambda distance, D: distance <= D),
        "half as wide": window(lambda distance, D: abs(distance) <= D / 2),
        "around t": lambda p, n_k, D: window(lambda d, D: abs(d) <= D)(np.arange(len(p)), n_k, D),
        "p cut": lambda p, n_k, D: window(lambda d, D: abs(d) <= D)(p.astype(int), n_k, D),
        "flipped": window(lambda distance, D: abs(distance) > D),
        "transposed": lambda *x: window(lambda distance, D: abs(distance) <= D)(*x).T,
        "nothing blocked": window(lambda distance, D: distance == distance),
        "negative slice": window_by_slices,
    },
)

WEIGHT_BYTES = Problem(
    axes="batch, n_head, n_q, n_k, size",
    right=right_weight_bytes,
    cases=(
        (2, 3, 2, 2, 4),
        (3, 4, 5, 7, 2),
        (1, 2, 6, 3, 8),
        (4, 1, 1, 9, 4),
        (1, 1, 1, 1, 1),
        (1, 12, 1024, 1024, 4),
        (8, 16, 4096, 2048, 2),
    ),
    mistakes={
        "one sequence": lambda batch, n_head, n_q, n_k, size: n_head * n_q * n_k * size,
        "weights of one head": lambda batch, n_head, n_q, n_k, size: batch * n_q * n_k * size,
        "heads share": lambda batch, n_head, n_q, n_k, size: batch * n_q * n_k * size / n_head,
        "numbers, not bytes": lambda batch, n_head, n_q, n_k, size: batch * n_head * n_q * n_k,
        "bits": lambda *x: 8 * math.prod(x),
        "mebibytes": lambda *x: math.prod(x) / 2**20,
        "megabytes": lambda *x: math.prod(x) / 1e6,
        "lengths added": lambda batch, n_head, n_q, n_k, size: batch * n_head * (n_q + n_k) * size,
        "n_q squared": lambda batch, n_head, n_q, n_k, size: batch * n_head * n_q**2 * size,
        "n_k squared": lambda batch, n_head, n_q, n_k, size: batch * n_head * n_k**2 * size,
        "scores too": lambda *x: 2 * math.prod(x),
    },
)

LAYER_MULTIPLICATIONS = Problem(
    axes="n_q, n_k, d_model, d_k, n_head",
    right=right_layer_multiplications,
    cases=(
        (2, 2, 4, 2, 2),
        (3, 5, 7, 2, 4),
        (5, 3, 6, 4, 3),
        (1, 9, 8, 3, 2),
        (4, 1, 5, 2, 3),
        (6, 6, 9, 5, 1),
        (1, 1, 1, 1, 1),
        (1024, 1024, 768, 64, 12),
    ),
    mistakes={
        "one head": lambda n_q, n_k, d_model, d_k, n_head: layer()(n_q, n_k, d_model, d_k, 1),
        "one head in projections": layer(lambda n_q, n_k, d_model, d_k, n_head: 2 * (n_q + n_k) * d_model * d_k),
        "one head in attention": layer(None, lambda n_q, n_k, d_model, d_k, n_head: 2 * n_q * n_k * d_k),
        "heads twice in projections": layer(
            lambda n_q, n_k, d_model, d_k, n_head: 2 * (n_q + n_k) * d_model * n_head**2 * d_k
        ),
        "heads twice in attention": layer(None, lambda n_q, n_k, d_model, d_k, n_head: 2 * n_q * n_k * n_head**2 * d_k),
        "W_O not counted": layer(lambda n_q, n_k, d_model, d_k, n_head: (n_q + 2 * n_k) * d_model * n_head * d_k),
        "n_q for keys": layer(lambda n_q, n_k, d_model, d_k, n_head: 4 * n_q * d_model * n_head * d_k),
        "projections of pairs": layer(lambda n_q, n_k, d_model, d_k, n_head: 4 * n_q * n_k * d_model * n_head * d_k),
        "d_model squared": layer(lambda n_q, n_k, d_model, d_k, n_head: 2 * (n_q + n_k) * d_model**2),
        "d_model in attention": layer(None, lambda n_q, n_k, d_model, d_k, n_head: 2 * n_q * n_k * n_head * d_model),
        "only scores": layer(None, lambda n_q, n_k, d_model, d_k, n_head: n_q * n_k * n_head * d_k),
        "scaling": layer(None, lambda n_q, n_k, d_model, d_k, n_head: n_head * n_q * n_k * (2 * d_k + 1)),
        "doubled": lambda *x: tuple(2 * count for count in layer()(*x)),
        "attention first": lambda *x: layer()(*x)[::-1],
    },
    parts=("projections", "attention"),
)

CAUSAL_BY_ROWS = Problem(
    axes="Q n d_k, K n d_k, V n d_v, block",
    right=right_causal_by_rows,
    cases=(
        (*arrays([[2, 0], [0, 1]], [[1, 0], [2, 3]], [[8, 0], [0, 4]]), 2),
        *((*case, block) for case, block in zip(QKV, (2, 3, 1, 4, 2, 1), strict=True)),
        *((*case, 3) for case in drawn("Q d_model d_k, K d_model d_k, V d_model d_v")[:2]),
        (*arrays([[0, 1], [2000, 0]], [[1, 0], [0, 1]], [[8, 0], [0, 4]]), 2),
        (*in_float32(QKV[1]), 2),
        (*arrays([[1], [3000], [1]], [[1], [1023 / 1024], [0]], [[8, 0], [0, 4], [2, 2]]), 2),  # exact in float32
    ),
    memory=((*np.random.default_rng(2017).normal(size=(3, 512, 1)), 4), 512**2),  # n × n of True and False
    mistakes={
        "short block left out": whole_blocks_only,
        "short block zero": short_block_zero,
        "own keys only": in_blocks(seen=lambda i, m, n: up_to_itself(i, m, n) & (np.arange(n) >= i)),
        "leak in block": in_blocks(seen=lambda i, m, n: np.arange(n) < np.full((m, 1), i + m)),
        "mask of the first": in_blocks(seen=lambda i, m, n: up_to_itself(0, m, n)),
        "mask unused": in_blocks(seen=lambda i, m, n: np.ones((m, n), bool)),
        "diagonal blocked": in_blocks(seen=lambda i, m, n: up_to_itself(i - 1, m, n)),
        "zeroed after": in_blocks(weights=lambda S, keep: softmax(S) * keep),
        "over queries": in_blocks(weights=blocking_by(WRONG_WEIGHTS["axis 0"])),
        "K for V": lambda Q, K, V, block: in_blocks()(Q, K, K, block),
        "A for Z": lambda Q, K, V, block: in_blocks()(Q, K, np.eye(len(K)), block),
        **{
            key: in_blocks(scores=wrong)
            for key, wrong in WRONG_SCORES.items()
            if key not in ("by root n_q", "Q twice", "K twice")
        },
        **{key: in_blocks(weights=blocking_by(WRONG_WEIGHTS[key])) for key in ("overflow", "largest of all")},
    },
)

ONLINE = Problem(
    axes="mu, total, z d_v, score, value d_v",
    right=right_online,
    cases=tuple(
        read_so_far(*case)
        for case in (
            (0, 1, [4.0, 0.0], 1, [0.0, 8.0]),
            (2, 1.5, [1, -1, 3], -1, [2, 0.5, 1]),
            (0.5, 1.25, [1, 0.5], 2, [-1, 2]),
            (-1, 2.5, [1, 2, 3, 4], -1, [4, 3, 2, 1]),
            (-math.inf, 0, [0, 0, 0], 3, [1, -2, 5]),
            (1000, 2.5, [1, 0], 1002, [0, 1]),
            (1000, 2.5, [1, 0], -5, [0, 1]),
            (-2000, 3, [0.5], -1999, [2]),
            (-800, 1.5, [1, 2], 900, [3, 5]),
        )
    ),
    mistakes={
        "old sum kept": one_more(old=lambda mu, largest: 1.0),
        "old mean kept": one_more(mixed=lambda old, new, total, z, value: z + new * value / (old + new)),
        "z by the old sum": one_more(
            mixed=lambda old, new, total, z, value: (total * z + new * value) / (old + new),
        ),
        "shrunk upside down": one_more(old=lambda mu, largest: np.exp(largest - mu)),
        "maximum kept": one_more(largest=lambda mu, score: mu),
        "score for maximum": one_more(largest=lambda mu, score: score),
        "new key not shifted": one_more(new=lambda score, largest: np.exp(score)),
        "overflow": one_more(old=shrunk_too_late, new=shrunk_too_late),
        "value unweighted": one_more(mixed=lambda old, new, total, z, value: (old * z + value) / (old + new)),
        "sum for mean": one_more(mixed=lambda old, new, total, z, value: old * z + new * value),
        "sum plus one": one_more(new=lambda score, largest: 1.0),
    },
    parts=("mu", "total", "z"),
)

PROBLEMS = {
    "context": CONTEXT,
    "additive": ADDITIVE,
    "attentional": ATTENTIONAL,
    "local_mask": LOCAL_MASK,
    "weight_bytes": WEIGHT_BYTES,
    "layer_multiplications": LAYER_MULTIPLICATIONS,
    "causal_by_rows": CAUSAL_BY_ROWS,
    "online": ONLINE,
}
