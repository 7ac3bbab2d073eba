"""The checks of assignments find what they are for."""

from dataclasses import replace
from types import SimpleNamespace

import exercise_checks as checks
import grading_class
import pytest

from attention_grading import Mistake
from attention_grading.assignment import Assignment

TINY = Assignment(grading_class.TINY)
SOFTMAX = TINY.questions["q1"]


def test_a_question_with_few_variants_is_found():
    with pytest.raises(AssertionError, match="another's right function passes"):
        checks.check_copies(TINY)


def test_the_share_of_neighbours_who_pass_is_exact():
    v = [SimpleNamespace(temperature=t, axis=axis) for t, axis in ((2.0, 0), (2.0, -1), (0.5, 0), (2.0, 0))]
    same = [[True, False, False, True], [False, True, False, False], [False, False, True, False]]
    assert checks.passing(SOFTMAX, v).tolist() == [*same, same[0]]


def test_a_mistake_that_costs_nothing_is_found():
    none = Mistake("没有错。", "Nothing is wrong.", SOFTMAX.reference)
    with pytest.raises(AssertionError, match="Nothing is wrong"):
        checks.check_mistakes(replace(SOFTMAX, mistakes=(none,)))


def test_an_example_that_tells_nothing_is_found():
    with pytest.raises(AssertionError):
        checks.check_examples(replace(SOFTMAX, example=lambda rng, v: (rng.normal(size=(1, 1)),)))


def test_a_solution_without_its_word_is_found():
    with pytest.raises(AssertionError):
        checks.check_canaries(TINY)


@pytest.mark.parametrize(
    "text, lang", [("两个，，逗号", "zh"), ("一行\n\n\n又一行", "zh"), ("two  blanks", "en"), ("a full stop .", "en"),
                   ("<< q1.T >>", "en"), ("canary", "zh"), ("**重点。**然后", "zh")]
)  # fmt: skip
def test_untidy_text_is_found(text, lang):
    with pytest.raises(AssertionError):
        checks.tidy(text, lang)
