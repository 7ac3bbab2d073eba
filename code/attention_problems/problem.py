"""What practice problems are made of: their form, plain loops, inputs, and the mistakes that return in many of them."""

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
    memory: tuple = ()  # if it is to be saved: arguments, and as many bytes as the function must not hold on them


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


def as_weights(x):
    """Rows of weights in place of random numbers; in place of integers, 1 for the last key and 0 for the others."""
    n = x.shape[-1]
    return softmax(x) if x.dtype == float else np.broadcast_to(np.arange(n) == n - 1, x.shape).astype(int)


def in_float32(case):
    """The same case in the narrower floats that networks are computed in."""
    return tuple(x.astype(np.float32) if isinstance(x, np.ndarray) and x.dtype == float else x for x in case)


# ------------------------------------------------------------------------------------------------------ known mistakes


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
