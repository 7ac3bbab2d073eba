"""Assignment 2, scaled attention: what is asked, the right results, known mistakes.   canary-a2-module

The right results come from plain loops, on purpose another way than in the notebook's solutions.
"""

import math

import numpy as np

from attention_grading import Mistake, Part, Question, Written

NEXT = {  # of what a question lets vary: what people take instead
    "rows": "columns", "columns": "rows", "root": "width", "width": "root", "scores": "scaled", "scaled": "scores",
    "may": "blocked", "blocked": "may", "back": "ahead", "ahead": "back", "start": "end", "end": "start",
    "first": "last", "last": "first", "absolute": "square", "square": "log", "log": "absolute",
    True: False, False: True, "oldest": "lowest", "second": "oldest", "lowest": "longest", "longest": "second",
}  # fmt: skip


def changed(v, **other):
    return type(v)(**{**vars(v), **other})


def another(right, name, to=NEXT.get):
    """The right function of another variant, in which one thing is different: many mistakes are such."""
    return lambda v, *given: right(changed(v, **{name: to(getattr(v, name))}), *given)


def array(rng, *shape, spread=1.0, decimals=3):
    """One drawn array; without decimals, of whole numbers."""
    x = (spread * rng.normal(size=shape)).round(decimals)
    return x if decimals else x.astype(int)


def dot(q, k):
    return math.fsum(float(x) * float(y) for x, y in zip(q, k, strict=True))


def softmax(x):
    """Of plain numbers, of which some may be -infinity."""
    e = [math.exp(number - max(x)) for number in x]
    return [number / math.fsum(e) for number in e]


def mixture(a, V):
    return [math.fsum(w * float(x) for w, x in zip(a, column, strict=True)) for column in np.transpose(V)]


def factor(v, d_k, n_k=1):
    return {"root": 1 / math.sqrt(d_k), "width": 1 / d_k, "log": math.log(n_k) / math.sqrt(d_k)}[v.scale]


# ------------------------------------------------------------------------------------------------ 1: capped scores


def capped(v, Q, K, V):
    if Q.ndim > 2:
        batches = [capped(v, *batch) for batch in zip(Q, K, V, strict=True)]
        return np.array(batches) if v.returns == "Z" else tuple(np.array(x) for x in zip(*batches, strict=True))
    K, V = K if v.keys == "rows" else K.T, V if v.values == "rows" else V.T
    by = factor(v, len(K[0]), len(K))
    A = np.array([softmax([limited(v, dot(q, k), by) for k in K]) for q in Q])
    Z = np.array([mixture(a, V) for a in A])
    return {"Z": Z, "Z, A": (Z, A), "A, Z": (A, Z)}[v.returns]


def limited(v, score, by):
    return v.cap * math.tanh(score / v.cap) * by if v.at == "scores" else v.cap * math.tanh(score * by / v.cap)


def qkv(n_q, n_k, d_k, d_v, *batch, **how):
    """Q, K and V in the layouts of the variant."""

    def draw(rng, v):
        Q, K, V = (array(rng, *batch, *shape, **how) for shape in ((n_q, d_k), (n_k, d_k), (n_k, d_v)))
        return Q, K if v.keys == "rows" else K.swapaxes(-1, -2), V if v.values == "rows" else V.swapaxes(-1, -2)

    return draw


def confused(name, at):
    """Rows and columns of one argument are exchanged, where its shape does not show it."""

    def gives(v, *given):
        n, m = given[at].shape[-2:]
        return (another(capped, name) if n == m else capped)(v, *given)

    return gives


CAPPED = Question(
    function="capped_attention", reference=capped, example=qkv(2, 3, 2, 2),
    choices={
        "keys": ("rows", "columns"), "values": ("rows", "columns"), "scale": ("root", "width", "log"),
        "cap": (2, 3, 5, 8), "at": ("scores", "scaled"), "returns": ("Z", "Z, A", "A, Z"),
    },
    parts=(
        Part(1, "各个长度都相等", "all sizes equal", qkv(4, 4, 4, 4, spread=2)),
        Part(1, "各个长度都不相等", "all sizes different", qkv(3, 6, 5, 2, spread=2)),
        Part(1, "前面还有一个轴", "one more axis in front", qkv(3, 4, 6, 5, 2, spread=2)),
        Part(1, "输入是整数", "whole numbers", qkv(4, 5, 3, 2, spread=3, decimals=0)),
        Part(1, "分数很大", "large scores", qkv(2, 4, 7, 3, spread=50)),
    ),
    mistakes=(
        Mistake("分数没有封顶。", "The scores are not capped.", another(capped, "cap", lambda cap: 1e9)),
        Mistake("封顶与缩放的先后不对。", "Capping and scaling are in the wrong order.", another(capped, "at")),
        Mistake("缩放的算法与题目不同。", "The scores are not scaled as asked.",
                another(capped, "scale", lambda scale: "width" if scale == "root" else "root")),
        Mistake("数组 K 的行与列弄反了。", "The rows and columns of the array K are mixed up.", confused("keys", 1)),
        Mistake("数组 V 的行与列弄反了。", "The rows and columns of the array V are mixed up.", confused("values", 2)),
    ),
)  # fmt: skip


# ------------------------------------------------------------------------------------------------------- 2: a mask


def mask(v, n_q, n_k, n_pad):
    offset = n_k - n_q if v.align == "end" else 0
    may = [[visible(v, i + offset, j) and not padded(v, j, n_k, n_pad) for j in range(n_k)] for i in range(n_q)]
    return np.array([[x == (v.true == "may") for x in row] for row in may])


def visible(v, t, j):
    rule, size = v.rule
    if rule == "prefix" and j < size:
        return True
    if (t < j) if v.time == "back" else (j < t):
        return False
    return {
        "window": abs(t - j) < size,
        "prefix": True,
        "blocks": math.floor(t / size) == math.floor(j / size),
        "every": abs(t - j) % size == 0,
    }[rule]


def padded(v, j, n_k, n_pad):
    return j < n_pad if v.pad == "first" else j >= n_k - n_pad


def own_blocked(v, n_q, n_k, n_pad):
    """The right mask, but no query sees the key at its own position."""
    keep = mask(changed(v, true="may"), n_q, n_k, n_pad)
    offset = n_k - n_q if v.align == "end" else 0
    keep &= np.arange(n_k) != np.arange(n_q)[:, None] + offset
    return keep if v.true == "may" else ~keep


def sizes(n_q, n_k, n_pad=0):
    """Whole numbers a little above these."""
    return lambda rng, v: (n_q + int(rng.integers(2)), n_k + int(rng.integers(2)), n_pad)


def square(rng, v):
    n = int(rng.integers(7, 10))
    return n, n, 0


MASK = Question(
    function="mask", reference=mask, example=lambda rng, v: (3, 5, 1),
    choices={
        "rule": tuple((rule, size) for rule in ("window", "prefix", "blocks", "every") for size in (2, 3, 4)),
        "time": ("back", "ahead"), "align": ("start", "end"), "pad": ("first", "last"), "true": ("may", "blocked"),
    },
    parts=(
        Part(1, "查询和键一样多", "as many queries as keys", square),
        Part(2, "查询比键少", "fewer queries than keys", sizes(6, 9)),
        Part(1, "查询比键多", "more queries than keys", sizes(9, 6)),
        Part(2, "有填充", "with padding", sizes(6, 8, n_pad=3)),
    ),
    mistakes=(
        Mistake("True 和 False 弄反了。", "True and False are swapped.", another(mask, "true")),
        Mistake("时间的方向弄反了。", "Time runs in the wrong direction.", another(mask, "time")),
        Mistake("查询的位置算错了。", "The positions of the queries are wrong.", another(mask, "align")),
        Mistake("填充的键找错了一头。", "The padding is taken to be at the wrong end.", another(mask, "pad")),
        Mistake("查询看不到自己位置上的键。", "No query sees the key at its own position.", own_blocked),
        Mistake("题目给的那个大小差了 1。", "The size given in the question is off by one here.",
                another(mask, "rule", lambda rule: (rule[0], rule[1] + 1))),
    ),
)  # fmt: skip


# --------------------------------------------------------------------------------------------- 3: near and visible


def biased(v, Q, K, V, mask):
    may = np.asarray(mask) == (v.true == "may")
    return np.array([read(v, i, q, K, V, may[i]) for i, q in enumerate(Q)])


def read(v, i, q, K, V, may):
    """The output of one query, from the keys that it may see."""
    seen = [j for j in range(len(K)) if may[j]]
    if not seen:
        return {"zeros": [0.0] * len(V[0]), "mean": mixture([1 / len(V)] * len(V), V), "first": V[0]}[v.empty]
    return mixture(softmax([dot(q, K[j]) * factor(v, len(q)) - v.slope * far(v, i, j) for j in seen]), V[seen])


def far(v, i, j):
    return {"absolute": abs(i - j), "square": (i - j) ** 2, "log": math.log1p(abs(i - j))}[v.distance]


def masked_late(v, Q, K, V, mask):
    """Weights are set to 0 after the softmax, and nothing is done about their sum."""
    everywhere = np.full(np.shape(mask), v.true == "may")
    A = biased(v, Q, K, np.eye(len(K)), everywhere) * (np.asarray(mask) == (v.true == "may"))
    return np.where((A > 0).any(axis=1, keepdims=True), A @ V, biased(v, Q, K, V, ~everywhere))


def with_mask(n_q, n_k, d_k, d_v, blind=(), top=True, **how):
    """Q, K, V and a mask: each query sees a key, those in `blind` none; without `top` never that with the top score."""

    def draw(rng, v):
        Q, K, V = (array(rng, *shape, **how) for shape in ((n_q, d_k), (n_k, d_k), (n_k, d_v)))
        may = rng.random((n_q, n_k)) < 0.6
        may[range(n_q), np.argmax(Q @ K.T, axis=1)] &= top
        may[range(n_q), np.argmin(Q @ K.T, axis=1)] = True
        may[list(blind)] = False
        return Q, K, V, may if v.true == "may" else ~may

    return draw


BIASED = Question(
    function="biased_attention", reference=biased, example=with_mask(2, 3, 2, 2),
    choices={
        "true": ("may", "blocked"), "empty": ("zeros", "mean", "first"), "scale": ("root", "width"),
        "distance": ("absolute", "square", "log"), "slope": (0.1, 0.2, 0.3, 0.5, 0.8),
    },
    parts=(
        Part(2, "一般的掩码", "an ordinary mask", with_mask(3, 6, 5, 2)),
        Part(2, "有的查询一个键也看不到", "some queries see no key", with_mask(5, 6, 3, 4, blind=(1, 3))),
        Part(1, "分数很大，最高的被屏蔽", "large scores, of which the highest are blocked",
             with_mask(5, 8, 4, 3, top=False, spread=40)),
        Part(1, "输入是整数", "whole numbers", with_mask(3, 4, 6, 3, spread=2, decimals=0)),
    ),
    mistakes=(
        Mistake("True 和 False 弄反了。", "True and False are swapped.", another(biased, "true")),
        Mistake("偏置的符号反了。", "The bias has the wrong sign.", another(biased, "slope", lambda slope: -slope)),
        Mistake("距离的算法与题目不同。", "The distance is not measured as asked.", another(biased, "distance")),
        Mistake("缩放的算法与题目不同。", "The scores are not scaled as asked.", another(biased, "scale")),
        Mistake("掩码用在了 softmax 之后，权重之和不再是 1。",
                "The mask is applied after the softmax, so the weights no longer sum to 1.", masked_late),
        Mistake("一个键也看不到的查询，输出与题目的规定不同。",
                "The output of a query that sees no key does not follow the convention.",
                another(biased, "empty", {"zeros": "mean", "mean": "zeros", "first": "zeros"}.get)),
    ),
)  # fmt: skip


# ------------------------------------------------------------------------------------------------ 4: a short cache


def stream(v, Q, K, V):
    cache, Z = [], []
    for t, q in enumerate(Q):
        read = [*cache, t] if v.own else list(cache)
        score = {j: dot(q, K[j]) * factor(v, len(q)) for j in read}
        Z.append(mixture(softmax([*score.values()]), V[read]) if read else [0.0] * len(V[0]))
        cache.append(t)
        if len(cache) > v.limit:
            cache.remove(leaving(v.leaves, cache[:-1], score, K))
    kept = np.array([t in cache for t in range(len(Q))])
    return (np.array(Z), kept) if v.returns == "Z, kept" else np.array(Z)


def leaving(rule, older, score, K):
    """Which of the older tokens leaves; min and max find the oldest of equal ones."""
    return {
        "oldest": older[0],
        "second": older[min(1, len(older) - 1)],
        "lowest": min(older, key=lambda j: score[j]),
        "longest": max(older, key=lambda j: dot(K[j], K[j])),
    }[rule]


def tokens(n, d_k, d_v, more=0, **how):
    """A stream of n tokens; where n is None, of as many as the cache holds, and `more`."""
    return lambda rng, v: tuple(array(rng, n or v.limit + more, d, **how) for d in (d_k, d_k, d_v))


STREAM = Question(
    function="stream", reference=stream, example=tokens(None, 2, 2, more=2),
    choices={
        "limit": (2, 3, 4, 5, 6), "leaves": ("oldest", "second", "lowest", "longest"), "own": (True, False),
        "scale": ("root", "width"), "returns": ("Z", "Z, kept"),
    },
    parts=(
        Part(1, "缓存装得下", "everything fits", tokens(None, 4, 2)),
        Part(3, "12 个词元", "12 tokens", tokens(12, 5, 3)),
        Part(1, "分数很大", "large scores", tokens(10, 3, 2, spread=40)),
        Part(1, "输入是整数，有相等的分数", "whole numbers, equal scores", tokens(11, 2, 2, decimals=0)),
    ),
    mistakes=(
        Mistake("同一步该不该读到自己的键，弄反了。", "Whether a step reads its own key is the wrong way round.",
                another(stream, "own")),
        Mistake("缓存里多留了一个。", "The cache holds one too many.", another(stream, "limit", lambda n: n + 1)),
        Mistake("什么也没有离开缓存。", "Nothing ever leaves the cache.", another(stream, "limit", lambda n: 10**9)),
        Mistake("离开的不是该离开的。", "The wrong token leaves the cache.", another(stream, "leaves")),
        Mistake("缩放的算法与题目不同。", "The scores are not scaled as asked.", another(stream, "scale")),
    ),
)  # fmt: skip

DERIVATION = Written(
    points=7,
    choices={"empty": (1, 2, 3, 5), "base": ("e", 2), "times": (2, 3, 4, 8), "sum": ((1, 2), (1, 3), (1, 4), (3, 4))},
)

QUESTIONS = {"q1": CAPPED, "q2": MASK, "q3": BIASED, "q4": STREAM, "q5": DERIVATION}
