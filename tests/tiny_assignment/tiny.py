"""The smallest assignment with everything in it, for the tests of grading."""

import numpy as np

from attention_grading import Mistake, Part, Question, Written


def softmax(v, x):
    e = np.exp((x - x.max(v.axis, keepdims=True)) / v.temperature)
    return e / e.sum(v.axis, keepdims=True)


def attention(v, Q, K, V):
    keep = np.tri(len(Q), len(K), dtype=bool) if v.causal else np.ones((len(Q), len(K)), bool)
    A = np.exp(np.where(keep, Q @ K.T / divisor(v, Q), -np.inf))
    return A / A.sum(-1, keepdims=True) @ V


def divisor(v, Q):
    return Q.shape[-1] ** {"sqrt": 0.5, "d": 1}[v.scale]


def normal(*shapes):
    return lambda rng, v: tuple(rng.normal(size=shape).round(3) for shape in shapes)


QUESTIONS = {
    "q1": Question(
        function="softmax",
        choices={"temperature": (0.5, 0.8, 1.25, 2.0), "axis": (0, -1)},
        reference=softmax,
        example=normal((2, 3)),
        parts=(
            Part(1, "一般输入", "ordinary input", normal((3, 5))),
            Part(0.5, "大分数", "large scores", lambda rng, v: (1000 * rng.normal(size=(3, 3)),)),
        ),
        mistakes=(
            Mistake(
                "得数是没有除以温度的 softmax。",
                "This is the softmax without the temperature.",
                lambda v, x: softmax(type(v)(axis=v.axis, temperature=1), x),
            ),
        ),
    ),
    "q2": Question(
        function="attention",
        choices={"scale": ("sqrt", "d"), "causal": (True, False)},
        reference=attention,
        example=normal((2, 2), (2, 2), (2, 2)),
        parts=(
            Part(2, "方形", "square", normal((4, 8), (4, 8), (4, 8))),
            Part(1, "查询少于键", "fewer queries than keys", normal((3, 4), (5, 4), (5, 2))),
        ),
    ),
    "q3": Written(points=5, choices={"d": (16, 64, 256)}),
}
