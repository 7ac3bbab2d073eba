"""The comparison, in the instructor's own process: the student's code only ever sees arguments, never right answers.

`call(function, arguments)` is where that code runs; it gives an Answer.  In a test, or for the master's own solution,
`here(names)` calls it on the spot; for a submission it is a process in the sandbox.
"""

import contextlib
from typing import NamedTuple

import numpy as np

from attention_grading.assignment import seed


class Answer(NamedTuple):
    """What came back: the arrays returned, or what went wrong, in both languages."""

    values: tuple | None = None
    zh: str = ""
    en: str = ""


def here(names):
    """A `call` for code that is trusted."""

    def call(function, arguments):
        try:
            result = names[function](*copies(arguments))
            results = result if isinstance(result, tuple) else (result,)
            return Answer(tuple(np.asarray(value, dtype=float) for value in results))
        except Exception as error:
            return Answer(None, f"出错：{type(error).__name__}: {error}", f"It raised {type(error).__name__}: {error}.")

    return call


@np.errstate(all="ignore")  # a mistake may overflow, a reference may mask with -inf
def judge(question, v, number, call):
    """The points of one question.   -> {"points", "of", "parts": [{"points", "of", "zh", "en", "why"}, …]}

    v is the student's variant, `number` the seed of the arguments, the same whenever this submission is graded.
    """
    parts = []
    for index, part in enumerate(question.parts):
        arguments = part.draw(np.random.default_rng([number, index]), v)
        with np.errstate(all="ignore"):  # a known mistake may overflow
            right = arrays(question.reference(v, *copies(arguments)))
            answer = call(question.function, arguments)
            why = complaint(question, v, arguments, answer, right)
        parts.append({"points": 0 if why else part.points, "of": part.points, "zh": part.zh, "en": part.en, "why": why})
    return {"points": sum(p["points"] for p in parts), "of": question.points, "parts": parts}


def complaint(question, v, arguments, answer, right):
    """None if the answer is right; else why not, in both languages and without the right numbers."""
    if answer.values is None:
        return {"zh": answer.zh, "en": answer.en}
    if len(answer.values) != len(right):
        n, m = len(answer.values), len(right)
        return {"zh": f"返回了 {n} 个结果，应为 {m} 个。", "en": f"It returned {n} result(s) instead of {m}."}
    for value, want in zip(answer.values, right, strict=True):
        if value.shape != want.shape:
            return {
                "zh": f"结果的形状是 {value.shape}，应为 {want.shape}。",
                "en": f"The result has shape {value.shape}; it should have shape {want.shape}.",
            }
    if same(question, answer.values, right):
        return None
    for mistake in question.mistakes:
        with contextlib.suppress(Exception):  # it need not work on every input; then it is not this mistake
            if same(question, answer.values, arrays(mistake.gives(v, *copies(arguments)))):
                return {"zh": mistake.zh, "en": mistake.en}
    if not all(np.isfinite(value).all() for value in answer.values):
        return {"zh": "结果里有 NaN 或无穷大。", "en": "The result contains NaN or infinity."}
    return {"zh": "形状对，数值不对。", "en": "The shape is right, but the numbers are not."}


def same(question, values, right):
    return len(values) == len(right) and all(
        a.shape == b.shape and np.allclose(a, b, rtol=question.rtol, atol=question.atol)
        for a, b in zip(values, right, strict=True)
    )


def arrays(result):
    """The results of a reference as a tuple of arrays of floats."""
    return tuple(np.asarray(value, dtype=float) for value in (result if isinstance(result, tuple) else (result,)))


def copies(arguments):
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in arguments)


def judge_all(assignment, secret, student, call):
    """Every automatic question of one student.   -> {question: what judge gives}"""
    variant = assignment.variant(secret, student)
    return {
        key: judge(question, variant[key], seed(secret, student, assignment.name, key, "arguments"), call)
        for key, question in assignment.automatic.items()
    }
