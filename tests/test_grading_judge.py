"""The comparison: what is right, what costs points, and every sentence that says why."""

import numpy as np
import pytest

from attention_grading import Assignment, Mistake, Part, Question
from attention_grading.judge import Answer, here, judge, judge_all
from attention_grading.release import run_master
from grading_class import TINY
from test_grading_assignment import SECRET


def question(reference=lambda v, x: 2 * x, mistakes=(), **tolerance):
    part = Part(2, "普通", "ordinary", lambda rng, v: (rng.normal(size=(2, 3)),))
    return Question("f", {}, reference, (part,), example=None, mistakes=mistakes, **tolerance)


def judged(asked, f):
    """The one part's points and reason, for a function that is called on the spot."""
    result = judge(asked, None, 7, here({"f": f}))
    assert result["of"] == 2 and result["points"] == result["parts"][0]["points"]
    return result["points"], result["parts"][0]["why"]


def why(asked, f):
    points, why = judged(asked, f)
    assert points == 0
    return why["en"], why["zh"]


def test_right_is_all_points_and_no_reason():
    assert judged(question(), lambda x: x + x) == (2, None)


def test_an_exception_is_told():
    assert why(question(), lambda x: 1 / 0) == (
        "It raised ZeroDivisionError: division by zero.",
        "出错：ZeroDivisionError: division by zero",
    )
    result = judge(question(), None, 7, here({}))  # not defined at all
    assert "KeyError: 'f'" in result["parts"][0]["why"]["en"]


def test_the_number_of_results_is_told():
    assert why(question(), lambda x: (2 * x, x)) == (
        "It returned 2 result(s) instead of 1.",
        "返回了 2 个结果，应为 1 个。",
    )
    two = question(lambda v, x: (2 * x, x.sum()))
    assert why(two, lambda x: 2 * x)[0] == "It returned 1 result(s) instead of 2."
    assert judged(two, lambda x: (2 * x, x.sum())) == (2, None)
    assert judged(two, lambda x: [2 * x, x.sum()])[0] == 0  # a list is one array, here as in the sandbox
    assert why(two, lambda x: (2 * x, x.sum() + 1))[0] == "The shape is right, but the numbers are not."
    assert why(two, lambda x: (x.sum(), 2 * x))[0].startswith("The result has shape ()")


@pytest.mark.parametrize("f, shape", [(np.transpose, "(3, 2)"), (np.sum, "()"), (lambda x: x[None], "(1, 2, 3)")])
def test_the_shape_is_told_and_nothing_is_broadcast(f, shape):
    assert why(question(), lambda x: f(2 * x)) == (
        f"The result has shape {shape}; it should have shape (2, 3).",
        f"结果的形状是 {shape}，应为 (2, 3)。",
    )
    flat = question(lambda v, x: np.ones((2, 3)))
    assert judged(flat, lambda x: np.ones(3))[0] == 0  # equal, were it broadcast


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_told(bad):
    def f(x):
        return np.where(x == x[0, 0], bad, 2 * x)

    assert why(question(), f) == ("The result contains NaN or infinity.", "结果里有 NaN 或无穷大。")


def test_an_infinity_may_be_right_and_nan_never_is():
    masked = question(lambda v, x: np.where(x > 0, x, -np.inf))
    assert judged(masked, lambda x: np.where(x > 0, x, -np.inf)) == (2, None)
    assert judged(masked, lambda x: np.where(x > 0, x, np.inf))[0] == 0
    assert judged(question(lambda v, x: x * np.nan), lambda x: x * np.nan)[0] == 0


def test_otherwise_the_numbers_are_wrong_and_not_told():
    assert why(question(), lambda x: 3 * x) == ("The shape is right, but the numbers are not.", "形状对，数值不对。")


@pytest.mark.parametrize("off, points", [(0.9e-3, 2), (1.1e-3, 0), (-0.9e-3, 2), (-1.1e-3, 0)])
def test_the_relative_tolerance_is_of_the_right_number(off, points):
    assert judged(question(rtol=1e-3, atol=0), lambda x: 2 * x * (1 + off))[0] == points


@pytest.mark.parametrize("off, points", [(0.9e-3, 2), (1.1e-3, 0), (-1.1e-3, 0)])
def test_the_absolute_tolerance_holds_at_zero(off, points):
    assert judged(question(lambda v, x: 0 * x, rtol=0, atol=1e-3), lambda x: 0 * x + off)[0] == points


def test_one_wrong_number_is_enough():
    def f(x):
        x = 2 * x
        x[-1, -1] += 1e-3
        return x

    assert judged(question(), f)[0] == 0


def test_a_known_mistake_is_named_the_first_that_fits():
    mistakes = (
        Mistake("四倍。", "Four times.", lambda v, x: 4 * x),
        Mistake("三倍。", "Three times.", lambda v, x: 3 * x),
        Mistake("也是三倍。", "Three times too.", lambda v, x: 3 * x),
    )
    assert why(question(mistakes=mistakes), lambda x: 3 * x) == ("Three times.", "三倍。")
    assert why(question(mistakes=mistakes), lambda x: 5 * x)[0] == "The shape is right, but the numbers are not."


def test_a_mistake_that_happens_to_be_right_costs_nothing():
    harmless = Mistake("错。", "Wrong.", lambda v, x: 2 * np.abs(x) * np.sign(x))
    assert judged(question(mistakes=(harmless,)), lambda x: 2 * x) == (2, None)


def test_a_mistake_may_have_another_shape_or_overflow():
    """A warning is an error in this test."""
    mistakes = (
        Mistake("转置。", "Transposed.", lambda v, x: 2 * x.T),
        Mistake("溢出。", "Overflow.", lambda v, x: np.exp(1e6 * x)),
        Mistake("三倍。", "Three times.", lambda v, x: 3 * x),
    )
    assert why(question(mistakes=mistakes), lambda x: 3 * x)[0] == "Three times."


def test_whatever_happens_to_the_arguments_changes_no_verdict():
    """Neither an answer, nor the reference, nor a mistake that writes into its arguments."""

    def doubled(v, x):
        x *= 2
        return x

    def fivefold(v, x):
        x *= 5
        return x

    def in_place(x):
        x *= 3
        return x

    mistakes = (Mistake("五倍。", "Five times.", fivefold), Mistake("三倍。", "Three times.", lambda v, x: 3 * x))
    asked = question(doubled, mistakes)
    assert why(asked, in_place)[0] == "Three times."
    assert judged(asked, lambda x: doubled(None, x)) == (2, None)


def test_the_arguments_follow_the_number_and_the_part():
    """Each part has its own draw, the same every time."""

    def draw(rng, v):
        return (rng.normal(size=2),)

    parts = (Part(1, "一", "one", draw), Part(1, "二", "two", draw))
    asked = Question("f", {}, lambda v, x: x, parts, example=None)
    seen = []

    def call(function, arguments):
        seen.append((function, *arguments[0].tolist()))
        return Answer(arguments)

    for number in (7, 7, 8):
        assert judge(asked, None, number, call)["points"] == 2
    assert seen[:2] == seen[2:4] and len(set(seen)) == 4 and {f for f, *_ in seen} == {"f"}


def test_parts_are_judged_one_by_one():
    tiny = Assignment(TINY)
    v = tiny.variant(SECRET, "2024001")["q1"]

    def unstable(x):
        e = np.exp(x / v.temperature)
        return e / e.sum(v.axis, keepdims=True)

    with np.errstate(all="ignore"):
        result = judge(tiny.questions["q1"], v, 1, here({"softmax": unstable}))
    assert [(p["points"], p["of"], p["zh"], p["en"]) for p in result["parts"]] == [
        (1, 1, "一般输入", "ordinary input"),
        (0, 0.5, "大分数", "large scores"),
    ]
    assert (result["points"], result["of"]) == (1, 1.5)
    assert result["parts"][1]["why"]["en"] == "The result contains NaN or infinity."


def test_only_one_s_own_variant_has_all_points():
    """The master's solution with every variant of q1: all points where it is the student's, and only there."""
    tiny = Assignment(TINY)
    own = tiny.variant(SECRET, "2024001")
    for temperature in (0.5, 0.8, 1.25, 2.0):
        for axis in (0, -1):
            other = own | {"q1": type(own["q1"])(temperature=temperature, axis=axis)}
            result = judge_all(tiny, SECRET, "2024001", here(run_master(tiny, other)))
            assert (result["q1"]["points"] == 1.5) == (other["q1"] == own["q1"])
            assert result["q2"]["points"] == 3


def test_written_questions_are_not_judged():
    tiny = Assignment(TINY)
    names = run_master(tiny, tiny.variant(SECRET, "x"))
    assert list(judge_all(tiny, SECRET, "x", here(names))) == ["q1", "q2"]
