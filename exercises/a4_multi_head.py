"""Assignment 4, multi-head attention: what is varied, what is right, what is tried, which mistakes are known.

canary-a4-module.  The right results come from plain loops over heads, queries and keys; the solutions in the notebook
are written with reshape, masks and whole products, so each checks the other.
"""

import math
from types import SimpleNamespace

import numpy as np

from attention_grading import Mistake, Part, Question, Written


def changed(v, **choices):
    return SimpleNamespace(**{**vars(v), **choices})


def weights(scores, seen):
    """The softmax of the scores that are seen; the others, and all if none is seen, weigh 0."""
    largest = max((s for s, ok in zip(scores, seen, strict=True) if ok), default=0)
    e = [math.exp(s - largest) if ok else 0.0 for s, ok in zip(scores, seen, strict=True)]
    return np.array(e) / (sum(e) or 1)


# ------------------------------------------------------------------------- q1: one product that holds Q, K and V


def split_fused(v, P):
    """Column by column: matrix `order[w]`, head r, component m stand in the column that `nesting` numbers."""
    *lead, n, columns = P.shape
    d = columns // (3 * v.n_head)
    found = {name: np.zeros((*lead, v.n_head, n, d)) for name in v.order}
    for w, r, m in np.ndindex(3, v.n_head, d):
        column = 0
        for axis in v.nesting.split():
            number, count = {"matrix": (w, 3), "head": (r, v.n_head), "component": (m, d)}[axis]
            column = column * count + number
        found[v.order[w]][..., r, :, m] = P[..., column]
    if v.keys == "across":
        found["K"] = found["K"].swapaxes(-1, -2)
    return found["Q"], found["K"], found["V"]


def exchanged(v, one, other):
    """The variant whose nesting has two of its words exchanged."""
    words = [{one: other, other: one}.get(word, word) for word in v.nesting.split()]
    return changed(v, nesting=" ".join(words))


def only_reshaped(v, P):
    """The right columns for each head, but the axis of the heads brought to the front by reshape."""
    Q, K, V = (X.swapaxes(-3, -2).reshape(X.shape) for X in split_fused(changed(v, keys="down"), P))
    return Q, K.swapaxes(-1, -2) if v.keys == "across" else K, V


# ------------------------------------------------------------------------- q2: heads with a distance of their own

SLOPES = {
    "halving": lambda c, r: c / 2**r,
    "growing": lambda c, r: c * (r + 1),
    "dividing": lambda c, r: c / (r + 1),
    "same": lambda c, r: c,  # no variant: a mistake
}
PENALTIES = {"linear": lambda x: x, "square": lambda x: x * x, "log": lambda x: math.log(1 + x)}
LOOKS_BACK = {
    "even": lambda r: r % 2 == 0,
    "odd": lambda r: r % 2 == 1,
    "first": lambda r: r == 0,
    "rest": lambda r: r > 0,
    "all": lambda r: True,  # no variant: a mistake
}
AHEAD = {"even": "odd", "odd": "even", "first": "rest", "rest": "first"}


def head_weights(v, Q, K, empty=0.0):
    (n_head, n_q, d_k), n_k = Q.shape, K.shape[1]
    A = np.zeros((n_head, n_q, n_k))
    for r, i in np.ndindex(n_head, n_q):
        steps = [i + v.offset - j for j in range(n_k)]  # how far behind the query each key is
        seen = [x >= 0 if LOOKS_BACK[v.back](r) else x <= 0 for x in steps]
        slope, penalty = SLOPES[v.slope](v.c, r), PENALTIES[v.penalty]
        scores = [Q[r, i] @ K[r, j] / math.sqrt(d_k) - slope * penalty(abs(x)) for j, x in enumerate(steps)]
        A[r, i] = weights(scores, seen) if any(seen) else empty
    return A


# ------------------------------------------------------------------------- q3: query heads that share key heads


def key_head(v, r, n_head, n_kv):
    size, (lap, place) = n_head // n_kv, divmod(r, n_kv)
    return {
        "blocks": r // size,
        "blocks reversed": n_kv - 1 - r // size,
        "turn": place,
        "turn reversed": n_kv - 1 - place,
        "back and forth": place if lap % 2 == 0 else n_kv - 1 - place,
    }[v.groups]


def is_real(v, j, length, n_k):
    return j < length if v.real == "first" else j >= n_k - length


def shared_heads(v, Q, K, V, lengths, empty_is_mean=False, join=None):
    (batch, n_head, n_q, d_k), (n_kv, n_k, d_v) = Q.shape, V.shape[1:]
    Z = np.zeros((batch, n_head, n_q, d_v))
    for b, r in np.ndindex(batch, n_head):
        g = key_head(v, r, n_head, n_kv)
        seen = [is_real(v, j, lengths[b], n_k) for j in range(n_k)]
        for i in range(n_q):
            scores = [Q[b, r, i] @ k / (v.temperature * math.sqrt(d_k)) for k in K[b, g]]
            a = np.full(n_k, 1 / n_k) if empty_is_mean and not any(seen) else weights(scores, seen)
            Z[b, r, i] = a @ V[b, g]
    return (join or joined)(v, Z)


def joined(v, Z):
    """Head after head, each put where its numbers belong."""
    batch, n_head, n_q, d_v = Z.shape
    shapes = {"stacked": (n_head, d_v), "stacked last": (d_v, n_head)}
    Y = np.zeros((batch, n_q, *shapes.get(v.layout, (n_head * d_v,))))
    for r in range(n_head):
        places = {
            "side by side": np.s_[..., r * d_v : (r + 1) * d_v],
            "turn": np.s_[..., r::n_head],
            "stacked": np.s_[..., r, :],
            "stacked last": np.s_[..., r],
        }
        Y[places[v.layout]] = Z[:, r]
    return Y


OTHER_GROUPS = {"turn": "blocks", "blocks reversed": "blocks"}  # else "turn"


def queries_hidden(v, Q, K, V, lengths):
    """The padding taken for a matter of queries: all keys are read, and the results in padded places are 0."""
    Y = shared_heads(v, Q, K, V, np.full(len(Q), K.shape[2]))
    for b, i in np.ndindex(*Y.shape[:2]):
        Y[b, i] *= is_real(v, i, lengths[b], Y.shape[1])
    return Y


# ------------------------------------------------------------------------- q4: a whole layer with gates

GATES = {
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "tanh": math.tanh,
    "1 + tanh": lambda x: 1 + math.tanh(x),
}


def own(columns, count, n_head, r):
    """The columns of head r, out of count."""
    return range(r, count, n_head) if columns == "turn" else range(r * count // n_head, (r + 1) * count // n_head)


def own_columns(v, M):
    return [M[:, own(v.columns, M.shape[1], v.n_head, r)] for r in range(v.n_head)]


def gated_layer(v, X, W_Q, W_K, W_V, W_G, W_O, cut=own_columns, merge=None):
    if v.vectors == "columns":
        W = (M.T for M in (W_Q, W_K, W_V, W_G, W_O))
        return gated_layer(changed(v, vectors="rows"), X.T, *W, cut=cut, merge=merge).T
    Y = X.copy() if v.residual else np.zeros((len(X), W_O.shape[1]))
    projected = [cut(v, X @ W) for W in (W_Q, W_K, W_V)]
    for r, (Q, K, V) in enumerate(zip(*projected, strict=True)):
        g = np.array([GATES[v.gate](x) for x in X @ W_G[:, r]])
        W_O_r = W_O[own(merge or v.columns, len(W_O), v.n_head, r)]
        for i in range(len(X)):
            seen = [i - v.window < j <= i for j in range(len(X))]
            a = weights([Q[i] @ k / math.sqrt(len(k)) for k in K], seen)
            Y[i] += (a * (g if v.gated == "values" else g[i])) @ V @ W_O_r
    return Y


def reshape_alone(v):
    """A cut that takes the projected numbers as they lie in memory, without moving an axis."""
    return lambda rows, M: (M.T if v.vectors == "columns" else M).reshape(rows.n_head, len(M), -1)


def head_width(v, W_Q):
    return W_Q.shape[v.vectors == "rows"] // v.n_head


def other(value, one, two):
    return two if value == one else one


# ------------------------------------------------------------------------- q5: counting


def count(v, what, n, d_model, n_head, d, without_W_O=False):
    """From a list of the matrices of one layer: rows, columns, whether a bias goes with it."""
    n_kv = n_head // v.group
    makes = v.bias in ("inner", "all")
    matrices = [(d_model, n_head * d, makes)] + [(d_model, n_kv * d, makes)] * (1 if v.tied else 2)
    matrices += [] if without_W_O else [(n_head * d, d_model, v.bias == "all")]
    matrices += {"none": [], "heads": [(d_model, n_head, False)], "columns": [(d_model, n_head * d, False)]}[v.gate]
    numbers = {
        "parameters": sum(a * b + bias * b for a, b, bias in matrices),
        "multiply-adds": sum(a * b for a, b, _ in matrices) + sum(2 * n * d for head in range(n_head)),
        "cache": v.bytes * sum(n * d for _ in range(n_kv)) * (1 if v.tied else 2),
    }
    return v.layers * numbers[what]


# ------------------------------------------------------------------------- what the functions are tried on


def normal(rng, *shapes, by=1.0):
    return tuple((by * rng.normal(size=shape)).round(3) for shape in shapes)


def q1_inputs(*shape, d=None):
    """P of this shape, or, with d, of columns enough for the variant's heads."""
    return lambda rng, v: normal(rng, (*shape, 3 * v.n_head * d) if d else shape)


def q2_inputs(n_head, n_q, n_k, d_k, by=1.0):
    return lambda rng, v: normal(rng, (n_head, n_q, d_k), (n_head, n_k, d_k), by=by)


def q3_inputs(n_head, n_kv, n_q, n_k, d_k, d_v, lengths):
    def draw(rng, v):
        batch = len(lengths)
        shapes = (batch, n_head, n_q, d_k), (batch, n_kv, n_k, d_k), (batch, n_kv, n_k, d_v)
        return (*normal(rng, *shapes), np.array(lengths))

    return draw


def q4_inputs(n, d_model, d_k_all, d_v_all):
    """draw for a layer of these sizes; d_k_all = n_head·d_k.  Numbers are divided so that no gate is shut."""

    def draw(rng, v):
        widths = (d_model, d_k_all), (d_model, d_k_all), (d_model, d_v_all), (d_model, v.n_head), (d_v_all, d_model)
        arrays = normal(rng, (n, d_model)) + normal(rng, *widths, by=1.5 / math.sqrt(d_model))
        return tuple(M.T.copy() for M in arrays) if v.vectors == "columns" else arrays

    return draw


def q5_inputs(what):
    def draw(rng, v):
        n, d_model, d = (int(rng.integers(*ends)) for ends in ((30, 60), (200, 300), (7, 16)))
        return what, n, d_model, 60, d  # 60 divides into groups of any variant; d is never d_model/60

    return draw


# ------------------------------------------------------------------------- the questions

TOO_WIDE = (
    "点积除以的是所有头合起来的宽度的平方根，不是一个头的。",
    "The dot products are divided by the square root of the width of all heads together, not of one head.",
)

# fmt: off
QUESTIONS = {
    "q1": Question(
        function="split_fused",
        choices={
            "n_head": (2, 3, 4),
            "nesting": (
                "matrix head component", "head matrix component", "matrix component head",
                "head component matrix", "component matrix head", "component head matrix",
            ),
            "order": ("QVK", "KQV", "KVQ", "VQK", "VKQ"),  # never QKV: taking that order for granted is a mistake
            "keys": ("down", "across"),
        },
        reference=split_fused,
        example=q1_inputs(2, d=2),
        parts=(
            Part(1, "只有一个位置", "a single position", q1_inputs(1, 36)),
            Part(2, "多个位置", "several positions", q1_inputs(5, 36)),
            Part(1, "前面还有两个轴", "two more axes in front", q1_inputs(2, 3, 4, 36)),
        ),
        mistakes=(
            Mistake("三个矩阵各自都拆对了，但名字认错了：按 Q、K、V 的次序取的，题目是另一种次序。",
                    "The matrices are split correctly but named wrongly: they are taken in the order Q, K, V.",
                    lambda v, P: split_fused(changed(v, order="QKV"), P)),
            Mistake("列号里，头的编号与分量的编号弄反了。",
                    "In the column number, the head number and the component number are swapped.",
                    lambda v, P: split_fused(exchanged(v, "head", "component"), P)),
            Mistake("列号里，矩阵的编号与头的编号弄反了。",
                    "In the column number, the matrix number and the head number are swapped.",
                    lambda v, P: split_fused(exchanged(v, "matrix", "head"), P)),
            Mistake("位置与头混在一起了：光用 reshape 换不了轴的次序。",
                    "Positions and heads are mixed up: a reshape alone does not reorder axes.",
                    only_reshaped),
        ),
    ),
    "q2": Question(
        function="head_weights",
        choices={
            "offset": (1, 2, 3),
            "back": ("even", "odd", "first", "rest"),
            "penalty": ("linear", "square", "log"),
            "slope": ("halving", "growing", "dividing"),
            "c": (0.1, 0.2, 0.4),
        },
        reference=head_weights,
        example=lambda rng, v: q2_inputs(3, 2, v.offset + 3, 2)(rng, v),
        parts=(
            Part(1, "只有一个头", "a single head", q2_inputs(1, 3, 7, 4)),
            Part(2, "许多头，每个查询至少看得到两个键", "many heads, at least two keys in view", q2_inputs(4, 3, 7, 5)),
            Part(1, "很大的分数", "very large scores", q2_inputs(3, 2, 6, 3, by=100)),
            Part(1, "有的查询一个键也看不到", "some queries see no key", q2_inputs(4, 4, 3, 2)),
        ),
        mistakes=(
            Mistake("查询的位置没有加上 p。",
                    "The positions of the queries leave out p.",
                    lambda v, Q, K: head_weights(changed(v, offset=0), Q, K)),
            Mistake("每个头都只看了前文。",
                    "Every head looks back.",
                    lambda v, Q, K: head_weights(changed(v, back="all"), Q, K)),
            Mistake("只看前文的头与只看后文的头弄反了。",
                    "The heads that look back and the heads that look ahead are swapped.",
                    lambda v, Q, K: head_weights(changed(v, back=AHEAD[v.back]), Q, K)),
            Mistake("每个头都用了同一个斜率 c。",
                    "Every head has the same slope c.",
                    lambda v, Q, K: head_weights(changed(v, slope="same"), Q, K)),
            Mistake(*TOO_WIDE, lambda v, Q, K: head_weights(v, Q / math.sqrt(len(Q)), K)),
            Mistake("一个键也看不到的查询，权重成了处处相等；题目另有规定。",
                    "A query that sees no key has equal weights for all keys; the question asks for something else.",
                    lambda v, Q, K: head_weights(v, Q, K, empty=1 / K.shape[1])),
        ),
    ),
    "q3": Question(
        function="shared_heads",
        choices={
            "groups": ("blocks", "turn", "blocks reversed", "turn reversed", "back and forth"),
            "real": ("first", "last"),
            "temperature": (0.5, 0.8, 1.25, 1.6, 2.0),
            "layout": ("side by side", "turn", "stacked", "stacked last"),
        },
        reference=shared_heads,
        example=q3_inputs(4, 2, 1, 3, 2, 1, (2,)),
        parts=(
            Part(1, "一个序列，没有填充", "one sequence without padding", q3_inputs(4, 2, 3, 4, 3, 2, (4,))),
            Part(2, "一批长短不一的序列", "sequences of different lengths", q3_inputs(6, 3, 4, 4, 2, 3, (2, 4, 1))),
            Part(1, "各个长度都不相等", "no two sizes alike", q3_inputs(8, 2, 3, 5, 6, 4, (3, 1))),
            Part(1, "有一个序列长度为 0", "a sequence of length 0", q3_inputs(4, 2, 3, 4, 3, 2, (0, 3))),
        ),
        mistakes=(
            Mistake("有的查询头读了不该它读的键头。",
                    "Some query heads read a key head that is not theirs.",
                    lambda v, *given: shared_heads(changed(v, groups=OTHER_GROUPS.get(v.groups, "turn")), *given)),
            Mistake("真实的键取错了一头：填充在另一头。",
                    "The real keys are taken from the wrong end: that is where the padding is.",
                    lambda v, *given: shared_heads(changed(v, real=other(v.real, "first", "last")), *given)),
            Mistake("掩码放到了查询上：填充的键还是被读到了。",
                    "The mask is applied to queries, so padding keys are still read.",
                    queries_hidden),
            Mistake(*TOO_WIDE, lambda v, Q, *rest: shared_heads(v, Q / math.sqrt(Q.shape[1]), *rest)),
            Mistake("结果排错了：头与位置混在一起，光用 reshape 换不了轴的次序。",
                    "The result mixes up heads and positions: a reshape alone does not reorder axes.",
                    lambda v, *given: shared_heads(v, *given, join=lambda v, Z: Z.reshape(joined(v, Z).shape))),
            Mistake("长度为 0 的序列得到的是值的平均；题目另有规定。",
                    "A sequence of length 0 gets the mean of the values; the question asks for something else.",
                    lambda v, *given: shared_heads(v, *given, empty_is_mean=True)),
        ),
    ),
    "q4": Question(
        function="gated_layer",
        choices={
            "vectors": ("rows", "columns"),
            "n_head": (2, 3),
            "columns": ("blocks", "turn"),
            "window": (2, 3, 4),
            "gate": ("sigmoid", "tanh", "1 + tanh"),
            "gated": ("values", "outputs"),
            "residual": (True, False),
        },
        reference=gated_layer,
        example=lambda rng, v: q4_inputs(3, 2, 2 * v.n_head, v.n_head)(rng, v),
        parts=(
            Part(1, "只有一个位置", "a single position", q4_inputs(1, 5, 12, 6)),
            Part(2, "两个位置，各个宽度相等", "two positions, all widths equal", q4_inputs(2, 12, 12, 12)),
            Part(2, "比窗口长的序列", "a sequence longer than the window", q4_inputs(7, 12, 12, 12)),
            Part(1, "各个宽度都不相等", "no two widths alike", q4_inputs(6, 5, 24, 6)),
        ),
        mistakes=(
            Mistake("门用错了地方：该乘值的乘了输出，或者反过来。",
                    "The gates act in the wrong place: on outputs instead of values, or the other way round.",
                    lambda v, *given: gated_layer(changed(v, gated=other(v.gated, "values", "outputs")), *given)),
            Mistake("各头的输出合并的次序，与拆分时的不一致。",
                    "The outputs of the heads are merged in a different arrangement from the one used to split them.",
                    lambda v, *given: gated_layer(v, *given, merge=other(v.columns, "blocks", "turn"))),
            Mistake("拆分头的时候，位置与头混在一起了：光用 reshape 换不了轴的次序。",
                    "Splitting the heads mixes up positions and heads: a reshape alone does not reorder axes.",
                    lambda v, *given: gated_layer(v, *given, cut=reshape_alone(v))),
            Mistake("窗口多放进了一个键。",
                    "The window lets in one key too many.",
                    lambda v, *given: gated_layer(changed(v, window=v.window + 1), *given)),
            Mistake(*TOO_WIDE, lambda v, X, W_Q, *rest: gated_layer(v, X, W_Q / math.sqrt(v.n_head), *rest)),
            Mistake("点积除以的是头数的平方根。",
                    "The dot products are divided by the square root of the number of heads.",
                    lambda v, X, W_Q, *rest: gated_layer(v, X, W_Q * math.sqrt(head_width(v, W_Q) / v.n_head), *rest)),
        ),
    ),
    "q5": Question(
        function="count",
        choices={
            "layers": (4, 6, 12),
            "group": (3, 4, 5),  # not 6: untied groups of 6 count like tied groups of 3,
            "tied": (True, False),
            "gate": ("none", "heads", "columns"),
            "bias": ("none", "inner", "all"),
            "bytes": (2, 4),
        },
        reference=count,
        example=lambda rng, v: ("parameters", 5, 7, 2 * v.group, 3),
        parts=(
            Part(2, "参数", "parameters", q5_inputs("parameters")),
            Part(1, "乘加", "multiply-adds", q5_inputs("multiply-adds")),
            Part(1, "缓存", "cache", q5_inputs("cache")),
        ),
        mistakes=(
            Mistake("数的是缓存里有几个数，题目问的是字节。",
                    "This counts the numbers in the cache, not the bytes.",
                    lambda v, *given: count(changed(v, bytes=1), *given)),
            Mistake("键头数得和查询头一样多，没有算上共用。",
                    "This counts as many key heads as query heads, as if none were shared.",
                    lambda v, *given: count(changed(v, group=1), *given)),
            Mistake("只数了一层。",
                    "This counts only one layer.",
                    lambda v, *given: count(changed(v, layers=1), *given)),
            Mistake("漏了 W_O。",
                    "W_O is left out.",
                    lambda v, *given: count(v, *given, without_W_O=True)),
            Mistake("没有用给出的 d：头的宽度取成了 d_model/n_head。",
                    "The given d is not used: the width of a head is taken to be d_model/n_head.",
                    lambda v, what, n, d_model, n_head, d: count(v, what, n, d_model, n_head, d_model // n_head)),
            Mistake("值数得不对：再看题目，值与键是不是同一份。",
                    "The values are not counted as the question says: are they the same as the keys, or separate?",
                    lambda v, *given: count(changed(v, tied=not v.tied), *given)),
        ),
        rtol=0,
        atol=0.5,
    ),
    "q6": Written(
        points=6,
        choices={
            "n_head": (6, 12),
            "n_kv": (2, 3),
            "groups": ("blocks", "turn"),
            "head": (0, 1, 2, 3, 4, 5),
            "d_model": (48, 64, 96),
            "d": (8, 10, 16),
        },
    ),
}
# fmt: on
