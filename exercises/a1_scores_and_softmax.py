"""Assignment 1, scores and softmax: what is asked, the right results, known mistakes.   canary-a1-module

The right results come from plain loops, on purpose another way than in the notebook's solutions.
"""

import math
from functools import reduce

import numpy as np

from attention_grading import Mistake, Part, Question, Written

NEXT = {  # of what a question lets vary: what people take instead
    -1: -2, -2: -1, 2: math.e, math.e: 2, False: True, True: False, "root": "width", "width": "root",
    "dot": "cosine", "cosine": "distance", "distance": "dot", "shared": "lost", "lost": "best", "best": "shared",
}  # fmt: skip


def another(right, name, to=NEXT.get):
    """The right function of another variant, in which one thing is different: many mistakes are such."""
    return lambda v, *given: right(type(v)(**{**vars(v), name: to(getattr(v, name))}), *given)


def one(value):
    return 1


def array(*shape, around=0, spread=1.5, decimals=3):
    """One drawn array; without decimals, of whole numbers."""

    def draw(rng, v=None):
        x = (around + spread * rng.normal(size=shape)).round(decimals)
        return (x if decimals else x.astype(int),)

    return draw


def along(axis, function, S):
    """What the function makes of the numbers of one query, for every query."""
    return np.apply_along_axis(function, axis, np.asarray(S, dtype=float))


def divisor(v, d_k):
    return {"root": math.sqrt(d_k), "width": d_k}.get(v.divisor, v.divisor)


def scores(v, Q, K):
    queries, keys = (X if layout == "rows" else X.T for X, layout in ((Q, v.queries), (K, v.keys)))
    if v.centred:
        mean = [math.fsum(component) / len(keys) for component in keys.T]
        keys = [[x - m for x, m in zip(k, mean, strict=True)] for k in keys]
    S = np.array([[alike(v, q, k) / divisor(v, len(q)) for k in keys] for q in queries])
    return S if v.result == "queries" else S.T


def alike(v, q, k):
    if v.alike == "distance":
        return -sum((x - y) ** 2 for x, y in zip(q, k, strict=True))
    dot = sum(x * y for x, y in zip(q, k, strict=True))
    return dot / math.hypot(*q) / math.hypot(*k) if v.alike == "cosine" and dot else dot


def vectors(n_q, n_k, d_k, decimals=3, zeros=0):
    """Q and K in the layouts of the variant; the first queries are zeros."""

    def draw(rng, v):
        [Q], [K] = (array(n, d_k, decimals=decimals)(rng) for n in (n_q, n_k))
        Q[:zeros] = 0
        return Q if v.queries == "rows" else Q.T.copy(), K if v.keys == "rows" else K.T.copy()

    return draw


SCORES = Question(
    function="scores", reference=scores, example=vectors(2, 3, 2),
    choices={
        "queries": ("rows", "columns"), "keys": ("rows", "columns"), "result": ("queries", "keys"),
        "centred": (False, True), "alike": ("dot", "cosine", "distance"), "divisor": ("root", "width", 3, 8),
    },
    parts=(
        Part(1, "查询、键、分量的个数都相等", "as many queries as keys and components", vectors(4, 4, 4)),
        Part(2, "查询、键、分量的个数各不相等", "queries, keys and components in different numbers", vectors(3, 6, 5)),
        Part(1, "输入是整数", "whole numbers", vectors(5, 3, 7, decimals=0)),
        Part(1, "有一个查询全是 0", "a query that is all zeros", vectors(3, 4, 6, zeros=1)),
    ),
    mistakes=(
        Mistake("分数没有除以题目给的数。",
                "The scores are not divided by the number in the question.", another(scores, "divisor", one)),
        Mistake("匹配程度的算法与题目不同。",
                "Queries and keys are not compared in the way asked for.", another(scores, "alike")),
        Mistake("键要不要先减去平均，与题目相反。",
                "Keys are centred where they should not be, or the other way round.",
                another(scores, "centred")),
        Mistake("结果的行与列对调了。", "The result is transposed.", lambda v, *given: scores(v, *given).T),
        Mistake("数组 K 的行与列弄反了。", "The rows and columns of the array K are mixed up.",
                lambda v, Q, K: scores(v, Q, K.T if K.shape[0] == K.shape[1] else K)),
    ),
)  # fmt: skip


def weights(v, S):
    x = np.asarray(S, dtype=float) / v.T * math.log(v.base)
    logs = along(v.axis, lambda x: [number - log_total(v, x) for number in x], x)
    A = logs if v.returns == "logs" else np.exp(logs)
    return (A, along(v.axis, lambda x: log_total(v, x), x)) if v.returns == "both" else A


def log_total(v, x):
    """The logarithm of the denominator, term by term."""
    return reduce(np.logaddexp, [*x, *[0.0] * v.extra])


def other_total(v, S):
    """The extra keys are not shifted with the others, or there is one where none is asked for."""
    x = np.asarray(S, dtype=float) / v.T * math.log(v.base)
    shift = x.max(axis=v.axis, keepdims=True)
    log_total = np.log(np.exp(x - shift).sum(axis=v.axis, keepdims=True) + (v.extra or 1))
    logs = x - shift - log_total
    A = logs if v.returns == "logs" else np.exp(logs)
    return (A, (log_total + shift).squeeze(v.axis)) if v.returns == "both" else A


def far_below(rng, v):
    """The scores of all queries but the first; of all, and where there are extra keys, every weight would be 0."""
    [S] = array(4, 4)(rng)
    S.swapaxes(v.axis, -1)[1:] -= 5000
    return (S,)


WEIGHTS = Question(
    function="weights", reference=weights, example=array(2, 3),
    choices={
        "axis": (-1, -2), "base": (math.e, 2), "T": (0.3, 0.7, 1.6, 2.2, 3.0), "extra": (0, 1, 4),
        "returns": ("weights", "logs", "both"),
    },
    parts=(
        Part(1, "查询和键一样多", "as many queries as keys", array(4, 4)),
        Part(1, "前面还有一个轴", "one more axis in front", array(2, 3, 5)),
        Part(1, "分数都在 5000 左右", "all scores near 5000", array(3, 4, around=5000)),
        Part(1, "有的查询，分数都在 −5000 左右", "queries whose scores are all near −5000", far_below),
        Part(1, "差距有几千", "gaps of thousands", array(3, 4, spread=5000)),
        Part(1, "输入是整数", "whole numbers", array(4, 6, decimals=0)),
    ),
    mistakes=(
        Mistake("没有用温度。", "The temperature is not used.", another(weights, "T", one)),
        Mistake("温度用反了。", "The temperature is used the wrong way round.", another(weights, "T", lambda T: 1 / T)),
        Mistake("指数的底与题目不同。",
                "The base of the exponentials is not the one asked for.", another(weights, "base")),
        Mistake("归一化用错了轴。", "The normalization runs along the wrong axis.", another(weights, "axis")),
        Mistake("分母与公式不同，或者减去最大值时有一项没有跟着变。",
                "The denominator is not the one in the formula, or it was not adjusted when a maximum was subtracted.",
                other_total),
    ),
)  # fmt: skip


def undo(v, A, d_k):
    return along(v.axis, lambda a: recovered(v, a, v.T * divisor(v, d_k)), A)


def recovered(v, a, unit):
    """Each ratio of two weights fixes one gap."""
    if v.zero == "mean":
        return [sum(unit * math.log(x / y, v.base) for y in a) / len(a) for x in a]
    to = {"largest": max(a), "smallest": min(a), "first": a[0], "last": a[-1]}[v.zero]
    return [unit * math.log(x / to, v.base) for x in a]


UNDO = Question(
    function="undo", reference=undo, example=lambda rng, v: (rng.uniform(0.05, 1, (2, 3)).round(3), 16),
    choices={
        "axis": (-1, -2), "base": (math.e, 2), "divisor": ("root", "width"), "T": (0.4, 0.6, 1.5, 4),
        "zero": ("largest", "smallest", "mean", "first", "last"),
    },
    parts=(
        Part(1, "查询和键一样多", "as many queries as keys", lambda rng, v: (rng.uniform(0.05, 1, (4, 4)).round(3), 9)),
        Part(2, "查询比键少", "fewer queries than keys", lambda rng, v: (rng.uniform(0.05, 1, (3, 6)).round(3), 5)),
        Part(1, "很小的权重", "tiny weights", lambda rng, v: (10.0 ** -rng.integers(1, 300, (3, 4)), 12)),
        Part(1, "整数的计数", "counts, which are whole numbers", lambda rng, v: (rng.integers(1, 10, (4, 5)), 20)),
    ),
    mistakes=(
        Mistake("对数的底与题目不同。", "The base of the logarithm is not the right one.", another(undo, "base")),
        Mistake("温度用反了。", "The temperature is used the wrong way round.", another(undo, "T", lambda T: 1 / T)),
        Mistake("没有还原缩放。", "The scaling is not undone.", another(undo, "divisor", one)),
        Mistake("还原缩放用错了除数。",
                "The scaling that is undone is not the one in the question.", another(undo, "divisor")),
        Mistake("一起平移的，不是同一个查询的分数。", "The shift runs along the wrong axis.", another(undo, "axis")),
        Mistake("差距对，但没有平移：再看题目规定零点在哪里。",
                "The gaps are right, but the shift is missing: the question says what must be 0.",
                lambda v, A, d_k: np.log(A) / math.log(v.base) * v.T * divisor(v, d_k)),
    ),
)  # fmt: skip


def select(v, S, more=0):
    A, counts = (along(v.axis, lambda x, i=i: selected(v, x, more)[i], S) for i in (0, 1))
    return (A, counts) if v.returns == "both" else A


def selected(v, x, more):
    """The weights of one query, and how many keys it keeps (a known mistake keeps more)."""
    order = sorted(range(len(x)), key=lambda j: (-x[j], j))
    total = math.fsum(math.exp(number - max(x)) for number in x)
    full = [math.exp(number - max(x)) / total for number in x]
    kept = order[: how_many(v, [x[j] for j in order], [full[j] for j in order]) + more]
    left = math.fsum(full[j] for j in kept)
    a = [full[j] / (left if v.rest == "shared" else 1) if j in kept else 0.0 for j in range(len(x))]
    a[order[0]] += 1 - left if v.rest == "best" else 0
    return a, len(kept)


def how_many(v, x, full):
    """Of scores and weights from the largest to the smallest, how many stay."""
    rule, level = v.keep
    if rule == "count":
        return min(level, len(x))
    if rule == "gap":
        return sum(x[0] - number <= level for number in x)
    if rule == "ratio":
        return sum(number >= level * full[0] for number in full)
    return next(m for m in range(1, len(x) + 1) if math.fsum(full[:m]) >= level)


def zeros_for_dropped(v, S):
    kept = another(select, "returns", lambda both: "weights")(v, S) > 0
    A = np.exp(np.where(kept, S, 0)) / np.exp(np.where(kept, S, 0)).sum(axis=v.axis, keepdims=True)
    return (A, kept.sum(axis=v.axis)) if v.returns == "both" else A


LEVELS = {
    "count": (2, 3, 4, 5), "ratio": (0.8, 0.5, 0.25, 0.1), "mass": (0.55, 0.65, 0.77, 0.88),
    "gap": (0.405, 1.005, 1.805, 2.605),  # scores with two decimals never lie at the limit
}  # fmt: skip

SELECT = Question(
    function="select", reference=select, example=array(3, 4, decimals=2),
    choices={
        "axis": (-1, -2), "keep": tuple((rule, level) for rule, levels in LEVELS.items() for level in levels),
        "rest": ("shared", "lost", "best"), "returns": ("weights", "both"),
    },
    parts=(
        Part(2, "12 个查询，12 个键", "12 queries, 12 keys", array(12, 12, decimals=2)),
        Part(2, "分数都在 1000 左右", "all scores near 1000", array(8, 9, around=1000, decimals=2)),
        Part(1, "只有 2 个键", "only 2 keys", array(2, 2, decimals=2)),
        Part(2, "有相等的分数，都是整数", "equal scores, all whole numbers", array(8, 10, decimals=0)),
    ),
    mistakes=(
        Mistake("挑选用错了轴：没有在一个查询的键里挑。",
                "The keys are selected along the wrong axis.", another(select, "axis")),
        Mistake("去掉的权重没有照题目处理。",
                "The weight of the dropped keys is not handled as asked.", another(select, "rest")),
        Mistake("每个查询都多留了一个键。", "Every query keeps one key too many.", lambda v, S: select(v, S, more=1)),
        Mistake("去掉的键成了分数为 0 的键，照样分走了权重。",
                "Dropped keys are treated as keys with score 0, so they still take a share of the weight.",
                zeros_for_dropped),
    ),
)  # fmt: skip

DERIVATION = Written(
    points=7,
    choices={
        "d": (16, 36, 64, 100), "of_q": (1, 4, 9), "of_k": (2, 3, 5),
        "twist": (("mean k", 1), ("mean k", 2), ("mean q", 1), ("mean q", 3), ("zeros", 4), ("zeros", 3), ("pairs", 2)),
    },
)  # fmt: skip

QUESTIONS = {"q1": SCORES, "q2": WEIGHTS, "q3": UNDO, "q4": SELECT, "q5": DERIVATION}
