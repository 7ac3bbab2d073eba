"""Assignment 3, gradients: what is asked, what is right, and the mistakes that people make.  canary-a3-module

No reference derives anything: each runs the forward computation on complex numbers and reads the derivative off the
imaginary part.  The formulas stand in the notebook's solutions, and here, each with one thing wrong, as mistakes.
"""

import math
from types import SimpleNamespace

import numpy as np

from attention_grading import Mistake, Part, Question, Written

EXACT = {"rtol": 1e-11, "atol": 3e-12}  # a formula is that exact, a finite difference is not
OTHER = {"row": "column", "column": "row", "root": "width", "width": "root"}

ONLY_ITSELF = (
    "每个分数只从自己的权重得到了梯度，从别的权重传来的没有加上。",
    "Each score gets its gradient only through its own weight; what comes through the other weights is left out.",
)
NO_TEMPERATURE = (
    "算权重时除以了温度，梯度里却少了它带来的因子。",
    "The weights use the temperature, but the factor that it brings into the gradient is missing.",
)
NO_SCALE = (
    "算分数时缩放了，梯度里却少了缩放带来的因子。",
    "The scores are scaled, but the factor that the scaling brings into the gradient is missing.",
)
NOT_TRANSPOSED = (
    "键的梯度里，分数的梯度没有真正转置：形状对，数却不在自己的位置上。",
    "In the gradient of the keys, the gradient of the scores is not truly transposed: right shape, wrong places.",
)


def gradient(f, x):
    """The derivative of f at x: Im f(x + ih)/h subtracts nothing and so loses no digits.   f: a stack of arrays -> a
    stack of results   -> the shape of a result + the shape of x"""
    steps = 1e-20j * np.eye(x.size).reshape(x.size, *x.shape)
    slopes = f(x + steps).imag / 1e-20
    return np.moveaxis(slopes, 0, -1).reshape(slopes.shape[1:] + x.shape)


def softmax(x, keep=True, axis=-1):
    """The weights of what is kept; where nothing is kept, 0."""
    top = np.where(keep, x.real, -np.inf).max(axis, keepdims=True)
    e = np.where(keep, np.exp(np.where(keep, x - np.where(np.isfinite(top), top, 0), 0)), 0)
    total = e.sum(axis, keepdims=True)
    return e / np.where(total == 0, 1, total)


def back(A, dA):
    return A * (dA - (A * dA).sum(-1, keepdims=True))


def only_itself(A, dA):
    return A * (1 - A) * dA


def turned_over(x):
    """The shape of the transpose, the numbers out of place."""
    return x.reshape(x.shape[::-1])


def but(v, **values):
    return SimpleNamespace(**{**vars(v), **values})


def normal(rng, *shapes):
    return [rng.normal(size=shape).round(3) for shape in shapes]


def far_from_zero(S, factor):
    """Each row shifted up or down in turn, as far as a thousand once it is multiplied by the factor."""
    return S + round(1000 / factor) * (-1.0) ** np.arange(len(S))[:, None]


# ------------------------------------------------------------------------------------------------------ 1 the Jacobian


def log_weights(v, x):
    x = x * (math.log(v.base) / v.tau)
    top = x.real.max(-1, keepdims=True)
    top = np.maximum(top, 0) if v.one else top
    return x - top - np.log(np.exp(x - top).sum(-1, keepdims=True) + (np.exp(-top) if v.one else 0))


def jacobian(v, S):
    def f(x):
        return log_weights(v, x) if v.log else np.exp(log_weights(v, x))

    return np.stack([gradient(f, row) for row in (S if v.query == "row" else S.T)])


def scores(n_q, n_k, far=False):
    def draw(rng, v):
        S = normal(rng, (n_q, n_k))[0]
        S = far_from_zero(S, math.log(v.base) / v.tau) if far else S
        return (S if v.query == "row" else S.T.copy(),)

    return draw


Q1 = Question(
    function="jacobian",
    choices={"base": (2, 3, 5, 10), "tau": (0.5, 0.8, 1.25, 1.6, 2.5), "query": ("row", "column"),
             "one": (False, True), "log": (False, True)},
    reference=jacobian,
    example=scores(2, 3),
    parts=(
        Part(1, "一个查询", "one query", scores(1, 4)),
        Part(1, "查询与键不一样多", "different numbers of queries and keys", scores(3, 5)),
        Part(1, "查询与键一样多", "as many queries as keys", scores(4, 4)),
        Part(1, "分数离 0 很远", "scores far from 0", scores(4, 3, far=True)),
    ),
    mistakes=(
        Mistake("只有对角线上有数：一个分数变了，别的键的权重却没有跟着变。",
                "Only the diagonal is filled in: when one score changes, the weights of the other keys do not respond.",
                lambda v, S: jacobian(v, S) * np.eye(jacobian(v, S).shape[1])),
        Mistake("权重算对了，导数却少了一个常数因子：要对分数求导，不是对整个指数求导。",
                "The weights are right, but the derivative lacks a constant factor: differentiate with respect to the "
                "scores, not to the whole exponent.",
                lambda v, S: jacobian(v, S) * v.tau / math.log(v.base)),
        Mistake("导数里有温度，却没有幂的底带来的因子。",
                "The derivative accounts for the temperature, but not for the base of the powers.",
                lambda v, S: jacobian(v, S) / math.log(v.base)),
        Mistake("幂取了 e 为底，题目给的底是别的数。",
                "The powers here have base e; the question gives another base.",
                lambda v, S: jacobian(but(v, base=math.e), S)),
        Mistake("softmax 沿错了轴：这是在查询之间归一化，而不是在键之间。",
                "The softmax runs along the wrong axis: it normalizes over the queries, not over the keys.",
                lambda v, S: jacobian(but(v, query=OTHER[v.query]), S)),
        Mistake("权重的分母与题目不同：再看一看，分母里加了哪些项。",
                "The denominator of the weights is not the one in the question: look again at which terms it adds up.",
                lambda v, S: jacobian(but(v, one=not v.one), S)),
    ),
    **EXACT,
)  # fmt: skip

# -------------------------------------------------------------------------------- 2 back through softmax, mask and cap


def inside(v, S):
    """What the tanh of the cap is taken of."""
    return S / v.cap if v.first == "cap" else S / v.tau / v.cap


def capped(v, S):
    return np.tanh(inside(v, S)) * (v.cap / v.tau if v.first == "cap" else v.cap)


def scores_gradient(v, S, mask, dA):
    keep = mask != v.blocks
    return gradient(lambda s: (softmax(capped(v, s), keep, v.axis - 3) * dA).sum((1, 2, 3)), S)


def by_steps(v, S, mask, dA, steps):
    """steps(capped scores, what may be attended to, dA, the derivative of the cap), all with the keys last"""
    some = capped(v, S), mask != v.blocks, dA, (1 - np.tanh(inside(v, S)) ** 2) / v.tau
    return np.moveaxis(steps(*(np.moveaxis(x, v.axis, -1) for x in some)), -1, v.axis)


def batch(*shape, blocked=0, empty=False):
    """Scores, mask, upstream gradient; the shape has the keys last.   blocked: the share of the other keys that are;
    empty: one query may attend to nothing."""

    def draw(rng, v):
        S, dA = normal(rng, shape, shape)
        keep = rng.random(shape) >= blocked
        keep[..., :2] = True
        keep[..., -1] = blocked == 0
        if empty:
            keep[1, 0] = False
        return tuple(np.moveaxis(x, -1, v.axis).copy() for x in ((3 * S).round(3), keep != v.blocks, dA))

    return draw


Q2 = Question(
    function="scores_gradient",
    choices={"axis": (0, 1, 2), "blocks": (False, True), "first": ("cap", "tau"), "cap": (2, 3, 5),
             "tau": (0.5, 0.8, 1.25, 1.6, 2.0)},
    reference=scores_gradient,
    example=batch(2, 2, 4, blocked=0.5),
    parts=(
        Part(1, "没有屏蔽，三个轴不一样长", "nothing blocked, three axes of different lengths", batch(3, 5, 4)),
        Part(1, "没有屏蔽，三个轴一样长", "nothing blocked, three axes of the same length", batch(4, 4, 4)),
        Part(1, "屏蔽了一些键", "some keys blocked", batch(4, 3, 5, blocked=0.3)),
        Part(1, "有一个查询的键全屏蔽", "one row fully masked", batch(3, 4, 4, blocked=0.3, empty=True)),
    ),
    mistakes=(
        Mistake(*ONLY_ITSELF, lambda *given: by_steps(
            *given, lambda x, keep, dA, slope: only_itself(softmax(x, keep), dA) * slope)),
        Mistake("算权重时压缩了分数，反向传播时却漏了这一步。",
                "The scores are capped on the way to the weights, but the way back leaves the cap out.",
                lambda v, *given: by_steps(v, *given, lambda x, keep, dA, _: back(softmax(x, keep), dA) / v.tau)),
        Mistake(*NO_TEMPERATURE, lambda v, *given: v.tau * scores_gradient(v, *given)),
        Mistake("softmax 沿错了轴。",
                "The softmax runs along the wrong axis.",
                lambda v, *given: scores_gradient(but(v, axis=(v.axis + 1) % 3), *given)),
        Mistake("掩码读反了：True 与 False 的意思正好颠倒。",
                "These numbers come from reading the mask the wrong way round, with True and False swapped.",
                lambda v, *given: scores_gradient(but(v, blocks=not v.blocks), *given)),
        Mistake("掩码用在了 softmax 之后：被屏蔽的键仍然占着分母的一份。",
                "The mask is applied after the softmax: blocked keys still have a share of the denominator.",
                lambda *given: by_steps(*given, lambda x, keep, dA, slope: back(softmax(x) * keep, dA) * slope)),
    ),
    **EXACT,
)  # fmt: skip

# --------------------------------------------------------------------------------------------- 3 a loss on the weights


def goal(v, target, n_k):
    return np.array([[v.eps / n_k + (1 - v.eps) * (j == t) for j in range(n_k)] for t in target])


def share(v, target):
    """What the loss of each query is multiplied by."""
    counted = target >= 0
    return counted / {"sum": 1, "all": len(target), "counted": counted.sum()}[v.over]


def loss_gradient(v, S, target):
    Y, factor = goal(v, target, S.shape[1]), share(v, target)

    def loss(s):
        x = s / v.tau - (s.real / v.tau).max(-1, keepdims=True)
        log_A = x - np.log(np.exp(x).sum(-1, keepdims=True))
        each = -(Y * log_A).sum(-1) if v.loss == "cross" else ((np.exp(log_A) - Y) ** 2).sum(-1) / 2
        return (factor * each).sum(-1)

    return gradient(loss, S)


def by_weights(v, S, target, step):
    """step(A, dL/dA)"""
    A, Y = softmax(S / v.tau), goal(v, target, S.shape[1])
    return step(A, (-Y / A if v.loss == "cross" else A - Y) * share(v, target)[:, None])


def targets(n_q, n_k, uncounted=(), far=False):
    def draw(rng, v):
        S, target = normal(rng, (n_q, n_k))[0], rng.integers(n_k, size=n_q)
        target[list(uncounted)] = -1
        return far_from_zero(S, 1 / v.tau) if far else S, target

    return draw


Q3 = Question(
    function="loss_gradient",
    choices={"loss": ("cross", "square"), "over": ("sum", "all", "counted"), "eps": (0.05, 0.1, 0.15, 0.2, 0.3),
             "tau": (0.5, 0.8, 1.25, 1.6, 2.0, 2.5)},
    reference=loss_gradient,
    example=targets(3, 4, uncounted=[1]),
    parts=(
        Part(1, "每个查询都有目标", "every query counts", targets(3, 5)),
        Part(1, "有的查询没有目标", "some queries do not count", targets(5, 4, uncounted=[1, 3])),
        Part(1, "分数离 0 很远", "scores far from 0", targets(4, 3, far=True)),
        Part(1, "多数查询没有目标", "most queries do not count", targets(5, 4, uncounted=[0, 2, 3])),
    ),
    mistakes=(
        Mistake("这是损失对权重的梯度，还没有经过 softmax 传回分数。",
                "This is the gradient with respect to the weights; the step back through the softmax is missing.",
                lambda *given: by_weights(*given, lambda A, dA: dA)),
        Mistake(*ONLY_ITSELF, lambda v, *given: by_weights(v, *given, only_itself) / v.tau),
        Mistake(*NO_TEMPERATURE, lambda v, *given: v.tau * loss_gradient(v, *given)),
        Mistake("各个查询的损失合成一个数的办法与题目不同：求和还是平均，对多少个查询平均？",
                "The losses of the queries are not combined as asked: a sum or a mean, and over how many queries?",
                lambda v, *given: loss_gradient(but(v, over="sum" if v.over == "all" else "all"), *given)),
        Mistake("目标没有平滑：这里目标键的份额是 1，别的键是 0。",
                "The target is not smoothed: the target key has share 1 here and every other key 0.",
                lambda v, *given: loss_gradient(but(v, eps=0), *given)),
        Mistake("没有目标的查询也得到了梯度，好像它的目标是最后一个键。",
                "A query that does not count gets a gradient, as if its target were the last key.",
                lambda v, S, target: loss_gradient(v, S, target % S.shape[1])),
    ),
    **EXACT,
)  # fmt: skip

# ----------------------------------------------------------------------------------- 4 back through windowed attention


def divisor(v, d):
    return v.tau * {"root": math.sqrt(d), "width": d}[v.scale]


def attention_loss(Q, K, V, G, divisor, keep):
    return (softmax(Q @ K.mT / divisor, keep) @ V * G).sum((-2, -1))


def attention_back(Q, K, V, G, divisor, keep, back=back, turn=np.transpose, factor=None):
    """dQ, dK, dV by the formulas, with another step back, another transpose or another factor."""
    A = softmax(Q @ K.T / divisor, keep)
    D = back(A, G @ V.T) * (factor or 1 / divisor)
    return D @ K, turn(D) @ Q, A.T @ G


def window(v, n_q, n_k):
    """What may be attended to."""
    first, last = {"past": (-v.w, 0), "both": (-v.w, v.w), "future": (0, v.w)}[v.side]
    return np.array([[first <= j - i <= last for j in range(n_k)] for i in range(n_q)])


def in_layout(v, *arrays):
    """From vectors in rows to the variant's layout, or back."""
    return tuple(x if v.layout == "rows" else x.T for x in arrays)


def attention_gradients(v, *given):
    Q, K, V, G = in_layout(v, *given)
    how = G, divisor(v, Q.shape[1]), window(v, len(Q), len(K))
    dQ = gradient(lambda q: attention_loss(q, K, V, *how), Q)
    dK = gradient(lambda k: attention_loss(Q, k, V, *how), K)
    return in_layout(v, dQ, dK, gradient(lambda values: attention_loss(Q, K, values, *how), V))


def by_formula(v, *given, **wrong):
    Q, K, V, G = in_layout(v, *given)
    return in_layout(v, *attention_back(Q, K, V, G, divisor(v, Q.shape[1]), window(v, len(Q), len(K)), **wrong))


def vectors(n_q, n_k, d_k, d_v, one_value=False):
    def draw(rng, v):
        Q, K, V, G = normal(rng, (n_q, d_k), (n_k, d_k), (n_k, d_v), (n_q, d_v))
        V = V[[0] * n_k] if one_value else V
        return tuple(x.copy() for x in in_layout(v, (2 * Q).round(3), K, V, G))

    return draw


Q4 = Question(
    function="attention_gradients",
    choices={"layout": ("rows", "columns"), "side": ("past", "future", "both"), "w": (1, 2, 3),
             "scale": ("root", "width"), "tau": (0.8, 1.25, 1.6, 2.0, 2.5)},
    reference=attention_gradients,
    example=vectors(3, 4, 2, 3),
    parts=(
        Part(1, "各个长度都相等", "all sizes equal", vectors(5, 5, 5, 5)),
        Part(1, "各个长度都不相等", "all sizes different", vectors(5, 6, 3, 2)),
        Part(1, "有的查询一个键也看不到", "some queries see no key", vectors(7, 3, 5, 2)),
        Part(1, "所有的值都相同", "all values the same", vectors(4, 6, 3, 2, one_value=True)),
    ),
    mistakes=(
        Mistake(*ONLY_ITSELF, lambda *given: by_formula(*given, back=only_itself)),
        Mistake(*NO_SCALE, lambda *given: by_formula(*given, factor=1)),
        Mistake("缩放的规则与题目不同：再看一看分数除以的是什么。",
                "The scores are not scaled as the question says: look again at what they are divided by.",
                lambda v, *given: attention_gradients(but(v, scale=OTHER[v.scale]), *given)),
        Mistake(*NOT_TRANSPOSED, lambda *given: by_formula(*given, turn=turned_over)),
        Mistake("窗口以外的键也得到了权重。",
                "Keys outside the window get weights too.",
                lambda v, *given: attention_gradients(but(v, side="both", w=99), *given)),
    ),
    **EXACT,
)  # fmt: skip

# ----------------------------------------------------------------------------------- 5 one product for several purposes

SHARED = {"qk": (True, True, False), "kv": (False, True, True), "qkv": (True, True, True)}


def allowed(v, n):
    every = np.ones((n, n), bool)
    return {"past": np.tril(every), "future": np.triu(every), "all": every}[v.sees]


def input_gradients(v, X, W, G):
    def loss(x, w):
        three = (x @ w if projected else x for projected in SHARED[v.shared])
        return attention_loss(*three, G, divisor(v, len(W)), allowed(v, len(X))) + v.residual * (x * G).sum((-2, -1))

    return gradient(lambda x: loss(x, W), X), gradient(lambda w: loss(X, w), W)


def by_paths(v, X, W, G, paths=3, turn_W=np.transpose, **wrong):
    """By the formulas, with only so many of the paths through XW, or something else wrong."""
    three = (X @ W if projected else X for projected in SHARED[v.shared])
    three = attention_back(*three, G, divisor(v, len(W)), allowed(v, len(X)), **wrong)
    through = sum([d for d, projected in zip(three, SHARED[v.shared], strict=True) if projected][:paths])
    direct = sum(d for d, projected in zip(three, SHARED[v.shared], strict=True) if not projected)
    return through @ turn_W(W) + direct + v.residual * G, X.T @ through


def tokens(n, d):
    return lambda rng, v: tuple(normal(rng, (n, d), (d, d), (n, d)))


Q5 = Question(
    function="input_gradients",
    choices={"shared": ("qk", "kv", "qkv"), "residual": (False, True), "sees": ("past", "future", "all"),
             "scale": ("root", "width"), "tau": (0.8, 1.25, 1.6, 2.0, 2.5)},
    reference=input_gradients,
    example=tokens(3, 2),
    parts=(
        Part(2, "词元比分量多", "more tokens than components", tokens(5, 3)),
        Part(1, "词元与分量一样多", "as many tokens as components", tokens(5, 5)),
        Part(1, "词元比分量少", "fewer tokens than components", tokens(2, 3)),
    ),
    mistakes=(
        Mistake("乘积 XW 用在不止一处，只有一处的梯度传了回来。",
                "The product XW is used in more than one place, but only one of these places passes its gradient back.",
                lambda *given: by_paths(*given, paths=1)),
        Mistake(*NO_SCALE, lambda *given: by_paths(*given, factor=1)),
        Mistake("从 XW 传回 X 时，W 没有转置；W 是方阵，所以没有报错。",
                "On the way back from XW to X, W is not transposed; W is square, so no error was raised.",
                lambda *given: by_paths(*given, turn_W=turned_over)),
        Mistake(*NOT_TRANSPOSED, lambda *given: by_paths(*given, turn=turned_over)),
        Mistake("掩码与题目不同：再看一看哪些词元可以看哪些。",
                "The mask is not the one in the question: look again at which tokens may attend to which.",
                lambda v, *given: input_gradients(but(v, sees="past" if v.sees == "all" else "all"), *given)),
        Mistake("残差连接与题目不同：它那一项少了，或者多了。",
                "The residual connection is not as the question says: its term is missing, or should not be there.",
                lambda v, *given: input_gradients(but(v, residual=not v.residual), *given)),
    ),
    **EXACT,
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------- written

Q6 = Written(
    points=5,
    choices={
        "kind": ("plain", "two", "three", "one"),
        "base": (2, 3),
        "tau": (2, 3, 4, 5),
        "p": (1, 2, 3),
        "q": (1, 2),
    },
)

QUESTIONS = {"q1": Q1, "q2": Q2, "q3": Q3, "q4": Q4, "q5": Q5, "q6": Q6}
