"""The practice problems that attention_checks knows: for each the right answer in plain loops, the inputs on which a
function is tried, and the mistakes that people make, as functions that make them.

To add a problem, write an entry of PROBLEMS; a mistake that is new also needs its words in MISTAKES.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Problem:
    axes: str  # the arguments and their axes: "q d_k, K n_k d_k"
    right: Any  # function: the arguments as lists -> the right answer
    cases: tuple  # tuples of arguments; the first is small and square, so that most mistakes give numbers there
    mistakes: dict  # key of MISTAKES -> function: the arguments -> the wrong answer; may raise where shapes do not fit
    parts: tuple = ("",)  # names of the results, if there are several


# ------------------------------------------------------------------------------------ the right answers, in plain loops


def dot(u, v):
    return sum(a * b for a, b in zip(u, v, strict=True))


def product(X, W):
    return [[dot(x, column) for column in zip(*W, strict=True)] for x in X]


def softmax_of_rows(x):
    if isinstance(x[0], list):
        return [softmax_of_rows(row) for row in x]
    largest = max(x)
    e = [math.exp(t - largest) for t in x]
    return [t / sum(e) for t in e]


def right_scaled(Q, K):
    return [[dot(q, k) / math.sqrt(len(k)) for k in K] for q in Q]


def right_attention(Q, K, V):
    A = softmax_of_rows(right_scaled(Q, K))
    return product(A, V), A


def right_cross_attention(X_q, X_s, W_Q, W_K, W_V):
    return right_attention(product(X_q, W_Q), product(X_s, W_K), product(X_s, W_V))[0]


def right_multiplications(n_q, n_k, d_k, d_v):
    scores = sum(d_k for _ in range(n_q) for _ in range(n_k))
    return scores + sum(n_k for _ in range(n_q) for _ in range(d_v))


# --------------------------------------------------------------------------------------------------------------- cases

AXES = ("n_q", "n_k", "d_k", "d_v", "d_model")
SIZES = ((3, 5, 4, 2, 6), (4, 2, 3, 5, 7), (1, 1, 1, 1, 1), (1, 4, 3, 2, 5), (4, 1, 5, 3, 2))
WHOLE = (2, 3, 4, 5, 3)  # the sizes of the case that holds integers


def drawn(axes):
    """Random arguments: all sizes different, in two orders; one of everything; one query; one key; integers."""
    rng = np.random.default_rng(2017)
    cases = []
    for numbers in (*SIZES, WHOLE):
        sizes = dict(zip(AXES, numbers, strict=True))
        shapes = [[sizes[axis] for axis in item.split()[1:]] for item in axes.split(", ")]
        cases.append(tuple(rng.integers(-3, 4, s) if numbers is WHOLE else rng.normal(size=s) for s in shapes))
    return tuple(cases)


def arrays(*lists):
    return tuple(np.array(x, dtype=float) for x in lists)


def with_weights(cases):
    """The cases of mix: the first argument becomes weights, in integers 1 for one key and 0 for the others."""
    for a, V in cases:
        yield (softmax(a) if a.dtype == float else np.eye(len(a), dtype=int)[-1]), V


# ------------------------------------------------------------------------------------------------------- known mistakes

MISTAKES = {  # key -> what fills "exactly what you get by …", in both languages
    # scores
    "unscaled": ("忘了除以 √d_k", "not dividing by √d_k"),
    "by d_k": ("除以了 d_k，忘了开方", "dividing by d_k, not by its root"),
    "times root": ("乘以了 √d_k，没有除", "multiplying by √d_k, not dividing"),
    "by root n_k": ("除以了 √n_k，用的是键的个数", "dividing by √n_k, the root of the number of keys"),
    "by root n_q": ("除以了 √n_q，用的是查询的个数", "dividing by √n_q, the root of the number of queries"),
    "by root d_model": ("除以了 √d_model", "dividing by √d_model"),
    "scaled": ("多除了一个 √d_k，这道题不用缩放", "dividing by √d_k; this problem asks for no scaling"),
    "mean": ("取了各个乘积的平均，而不是总和", "taking the mean of the products, not their sum"),
    "not transposed": ("没有转置 K，乘到了 K 的列上", "not transposing K, so that queries meet its columns"),
    "reshaped": ("用 reshape 代替了转置", "reshaping K where it should be transposed"),
    "cosine": ("用余弦代替了点积，除掉了长度", "taking the cosine, a dot product divided by the lengths"),
    "cosine, scaled": ("用余弦代替了点积，又除以了 √d_k", "taking the cosine, and dividing it by √d_k"),
    "distance": ("算了距离，而不是点积", "taking distances, not dot products"),
    "Q twice": ("两边都用了 Q", "using Q on both sides"),
    "K twice": ("两边都用了 K", "using K on both sides"),
    "transposed": ("结果转置了，行和列对调", "returning the transpose: rows and columns are exchanged"),
    # weights
    "overflow": ("没有先减去最大值，exp 上溢", "not subtracting the maximum first: exp overflows"),
    "largest of all": (
        "减去了整个数组的最大值，而不是每行自己的（别的行下溢，成了 0/0）",
        "subtracting the maximum of the whole array, not each row's own: other rows underflow to 0/0",
    ),
    "no keepdims": (
        "除以各行之和时没有 keepdims，除错了方向",
        "dividing by the row sums without keepdims, the wrong way",
    ),
    "max no keepdims": (
        "减去各行最大值时没有 keepdims，减错了方向",
        "subtracting the row maxima without keepdims, the wrong way",
    ),
    "never keepdims": (
        "取最大值与求和都没有 keepdims，都弄错了方向",
        "taking maxima and sums without keepdims, both the wrong way",
    ),
    "all at once": (
        "对所有的数一起做了 softmax，没有逐行做",
        "taking one softmax over all numbers, not one for each row",
    ),
    "axis 0": ("沿第一个轴做了 softmax（axis=0）", "taking the softmax along the first axis (axis=0)"),
    "axis 1": ("沿 axis=1 做了 softmax，而不是最后一个轴", "taking the softmax along axis=1, not along the last axis"),
    "by largest": ("除以了最大的一个，而不是总和", "dividing by the largest, not by the sum"),
    "no exp": ("没有取 exp，直接除以了总和", "dividing by the sum without taking exp"),
    "not normalized": ("取了 exp，却没有除以总和", "taking exp without dividing by the sum"),
    "log": ("返回了权重的对数", "returning the logarithms of the weights"),
    "clipped": ("把大数截断后再取 exp", "clipping large numbers before exp"),
    "softmax": ("多做了一次 softmax", "taking one softmax too many"),
    "no softmax": ("没有做 softmax", "leaving out the softmax"),
    "scaled after": ("先做 softmax，后缩放", "scaling after the softmax, not before"),
    # the mixture
    "columns": ("权重乘在了 V 的列上，不是行上", "putting the weights on the columns of V, not on its rows"),
    "plain mean": ("没有用权重，取了值的平均", "ignoring the weights: the plain mean of the values"),
    "plain sum": ("没有用权重，取了值的总和", "ignoring the weights: the plain sum of the values"),
    "over keys too": ("加权求和之后，又除以了键的个数", "dividing the weighted sum by the number of keys as well"),
    "winner": ("只取了权重最大的那个值", "taking only the value with the largest weight"),
    "A transposed": ("先转置了 A，再乘 V", "transposing A before it meets V"),
    # sums and shapes
    "not summed": ("算出了各个乘积，没有相加", "leaving the products unsummed"),
    "summed wrongly": ("沿错了轴求和", "summing along the wrong axis"),
    "one number": ("把所有乘积加成了一个数", "adding up all products to one number"),
    "row": ("多了一个轴，结果成了只有一行的矩阵", "keeping one axis too many: a matrix with one row"),
    "column": ("多了一个轴，结果成了只有一列的矩阵", "keeping one axis too many: a matrix with one column"),
    "outer": ("求了外积，每个分量都和每个分量相乘", "taking the outer product, every component with every other"),
    # who asks and who answers
    "exchanged": ("对调了 i 和 j，成了 x_j 去问，x_i 作答", "exchanging i and j: x_j asks and x_i answers"),
    "W_Q twice": ("键也用了 W_Q", "using W_Q for the keys too"),
    "W_K twice": ("查询也用了 W_K", "using W_K for the queries too"),
    "W exchanged": ("对调了 W_Q 和 W_K", "exchanging W_Q and W_K"),
    "W transposed": ("两个投影矩阵都转置了", "transposing both projection matrices"),
    "no projection": ("没有投影，直接用了嵌入", "leaving out the projections"),
    "only x_i": ("两边都用了 x_i", "using x_i on both sides"),
    "only x_j": ("两边都用了 x_j", "using x_j on both sides"),
    "keys from X_q": ("键取自 X_q，应取自 X_s", "taking the keys from X_q, not from X_s"),
    "values from X_q": ("值取自 X_q，应取自 X_s", "taking the values from X_q, not from X_s"),
    "only X_q": ("键和值都取自 X_q，成了自注意力", "taking keys and values from X_q: that is self-attention"),
    "only X_s": ("查询也取自 X_s，成了自注意力", "taking the queries from X_s too: that is self-attention"),
    "X exchanged": ("对调了 X_q 和 X_s", "exchanging X_q and X_s"),
    "W_K for values": ("值用了 W_K，应是 W_V", "using W_K for the values, not W_V"),
    "values unprojected": ("值没有经过 W_V 投影", "not projecting the values by W_V"),
    "K and V exchanged": ("对调了 K 和 V", "exchanging K and V"),
    "K for V": ("用 K 代替了 V", "using K in place of V"),
    "Q for V": ("用 Q 代替了 V", "using Q in place of V"),
    "A for Z": ("返回了权重，而不是输出", "returning the weights, not the output"),
    "order": ("返回的次序反了，应先 Z 后 A", "returning the results in the wrong order: Z comes first, then A"),
    "scores for A": ("把缩放分数当作权重返回", "returning the scaled scores as weights"),
    # counting
    "only scores": ("只数了 QKᵀ", "counting QKᵀ alone"),
    "only output": ("只数了 AV", "counting AV alone"),
    "n_q squared": ("用了 n_q²，没有用 n_q·n_k", "using n_q², not n_q·n_k"),
    "n_k squared": ("用了 n_k²，没有用 n_q·n_k", "using n_k², not n_q·n_k"),
    "d_k for both": ("AV 也用了 d_k，应是 d_v", "using d_k for AV too, not d_v"),
    "additions": ("把加法也数了进去", "counting additions too"),
    "doubled": ("每次乘法都数了两遍", "counting each multiplication twice"),
    "scaling": ("把缩放的除法也数了进去", "counting the divisions of the scaling too"),
    "entries": ("只数了结果有多少个数", "counting the numbers in the results, not what each one costs"),
    "product": ("把两步的次数相乘了，应相加", "multiplying the counts of the two steps, not adding them"),
}


def softmax(S, axis=-1):
    e = np.exp(S - S.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def normalized(e):
    return e / e.sum(axis=-1, keepdims=True)


def cosine(Q, K):
    return Q @ K.T / (np.linalg.norm(Q, axis=-1)[..., None] * np.linalg.norm(K, axis=-1))


def root(K):
    return math.sqrt(K.shape[-1])


def scores(Q, K):
    return Q @ K.T / root(K)


WRONG_SCORES = {  # of Q and K
    "unscaled": lambda Q, K: Q @ K.T,
    "by d_k": lambda Q, K: Q @ K.T / K.shape[-1],
    "times root": lambda Q, K: Q @ K.T * root(K),
    "by root n_k": lambda Q, K: Q @ K.T / math.sqrt(len(K)),
    "by root n_q": lambda Q, K: Q @ K.T / math.sqrt(len(Q)),
    "not transposed": lambda Q, K: Q @ K / root(K),
    "reshaped": lambda Q, K: Q @ K.reshape(K.shape[::-1]) / root(K),
    "cosine": cosine,
    "cosine, scaled": lambda Q, K: cosine(Q, K) / root(K),
    "Q twice": lambda Q, K: scores(Q, Q),
    "K twice": lambda Q, K: scores(K, K),
}
WRONG_WEIGHTS = {  # of the scores
    "overflow": lambda S: normalized(np.exp(S)),
    "largest of all": lambda S: normalized(np.exp(S - S.max())),
    "no keepdims": lambda S: (e := np.exp(S - S.max(axis=-1, keepdims=True))) / e.sum(axis=-1),
    "max no keepdims": lambda S: normalized(np.exp(S - S.max(axis=-1))),
    "never keepdims": lambda S: (e := np.exp(S - S.max(axis=-1))) / e.sum(axis=-1),
    "all at once": lambda S: softmax(S.ravel()).reshape(S.shape),
    "axis 0": lambda S: softmax(S, axis=0),
    "by largest": lambda S: np.exp(S - S.max(axis=-1, keepdims=True)),
}
WRONG_AT_ANY_SIZE = [key for key in WRONG_WEIGHTS if key not in ("overflow", "largest of all")]


def attending(scores=scores, weights=softmax):
    """Attention that gets its scores or its weights in another way.   -> function of Q, K, V that returns (Z, A)"""

    def attention(Q, K, V):
        A = weights(scores(Q, K))
        return A @ V, A

    return attention


attend = attending()


def changing(change):
    """Attention whose right results are then changed: change(Z, A, V, S_scaled)."""
    return lambda Q, K, V: change(*attend(Q, K, V), V, scores(Q, K))


def crossing(query="qQ", key="sK", value="sV", attention=attend):
    """Cross-attention that takes queries, keys or values from another input or matrix: "sK" is X_s W_K, "s" is X_s."""

    def cross_attention(X_q, X_s, W_Q, W_K, W_V):
        X, W = {"q": X_q, "s": X_s}, {"Q": W_Q, "K": W_K, "V": W_V}
        return attention(*(X[way[0]] @ W[way[1]] if way[1:] else X[way] for way in (query, key, value)))[0]

    return cross_attention


# ------------------------------------------------------------------------------------------------------------ problems

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
    cases=(arrays([0.25, 0.75], [[4, 0], [8, 4]]), *with_weights(drawn("a n_k, V n_k d_v"))),
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
        arrays([[1000, 0], [0, 0]], [[1, 2], [3, 4]], [[1, 0], [0, 1]]),
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
