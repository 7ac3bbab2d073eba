"""Assignment 3: no two variants are alike; only a formula is exact enough; the numbers of the marking guide."""

import re
from pathlib import Path

import nbformat
import numpy as np
import pytest

import exercise_checks as checks
from attention_grading.assignment import Assignment, variants
from attention_grading.judge import arrays, here, judge

PATH = Path(__file__).resolve().parents[1] / "exercises" / "a3_gradients"
ASSIGNMENT = Assignment(PATH)
QUESTIONS = ASSIGNMENT.questions
each_question = pytest.mark.parametrize("key", ASSIGNMENT.automatic)


@each_question
def test_another_students_right_function_passes_only_with_the_same_variant(key):
    """Of all pairs, then, that is one in as many as there are variants."""
    everybody = checks.every_variant(QUESTIONS[key].choices)
    assert len(everybody) == variants(QUESTIONS[key].choices) > 150
    assert (checks.passing(QUESTIONS[key], everybody) == np.eye(len(everybody))).all()


@each_question
@pytest.mark.parametrize("eps", [1e-4, 1e-5, 1e-6])
def test_a_finite_difference_is_no_answer(key, eps):
    """Of the right forward computation, with which the reference takes its complex steps."""

    def gradient(f, x):
        steps = eps * np.eye(x.size).reshape(x.size, *x.shape)
        slopes = (f(x + steps) - f(x - steps)) / (2 * eps)
        return np.moveaxis(slopes, 0, -1).reshape(slopes.shape[1:] + x.shape)

    measured = Assignment(PATH).questions[key].reference
    measured.__globals__["gradient"] = gradient  # of this copy of the module
    shares = []
    for number, v in enumerate(checks.every_variant(QUESTIONS[key].choices)[::4]):
        call = here({QUESTIONS[key].function: lambda *arguments, v=v: measured(v, *arguments)})
        result = judge(QUESTIONS[key], v, number, call)
        assert result["points"] < result["of"], vars(v)
        shares.append(result["points"] / result["of"])
        example = QUESTIONS[key].example(np.random.default_rng(number), v)
        for got, want in zip(arrays(measured(v, *example)), arrays(QUESTIONS[key].reference(v, *example)), strict=True):
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-6)  # exact enough to check with
    assert np.mean(shares) < 0.4


def test_the_marking_guide_computes_the_numbers_of_every_variant():
    guides = [c.source for c in nbformat.read(ASSIGNMENT.notebook, 4).cells if "marking" in c.metadata.get("tags", [])]
    chinese, english = (re.search("```python\n(.*?)```", guide, re.S)[1] for guide in guides)
    assert chinese == english
    head, recipe = english.split("\n", 1)
    for v in checks.every_variant(QUESTIONS["q6"].choices):
        m, one = {"plain": (1, 0), "two": (2, 0), "three": (3, 0), "one": (1, 1)}[v.kind]
        names = {"np": np, "m": m, "b": v.base, "tau": v.tau, "p": v.p, "q": v.q, "one": one}
        assert all(name in head for name in names if name != "np")
        exec(recipe, names)
        np.testing.assert_allclose(names["J"], slopes(v, [v.p * v.tau, v.q * v.tau, 0]), rtol=1e-6, atol=1e-9)
        if one:
            assert (names["J"].sum(axis=1) > 0).all()
        else:
            np.testing.assert_allclose(names["J"].sum(axis=1), 0, rtol=0, atol=1e-15)
        assert np.abs(slopes(v, [names["gap"], 0])).max() <= 1e-3 + 1e-9


def slopes(v, s, eps=1e-5):
    """The Jacobian, measured on the definition in the question."""

    def weights(s):
        powers = [v.base ** (x / v.tau) for x in s]
        powers[0] *= {"two": 2, "three": 3}.get(v.kind, 1)
        return np.array(powers) / (sum(powers) + (v.kind == "one"))

    nudges = eps * np.eye(len(s))
    return np.transpose([(weights(s + nudge) - weights(s - nudge)) / (2 * eps) for nudge in nudges])
