"""The checks of assignments find what they are for."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import pytest

import exercise_checks as checks
import grading_class
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


def test_any_two_values_meet_in_some_variant(monkeypatch):
    monkeypatch.delenv("EVERY_VARIANT", raising=False)
    choices = {"a": (1, 2, 3), "b": (False, True), "c": ("x", "y", "z", "w"), "d": (0.5, 2)}
    some = checks.some_variants(choices)
    assert 12 <= len(some) <= 16 < len(checks.every_variant(choices)) == 48
    for (one, values), (other, others) in itertools.combinations(choices.items(), 2):
        met = {(getattr(v, one), getattr(v, other)) for v in some}
        assert met == set(itertools.product(values, others))
    monkeypatch.setenv("EVERY_VARIANT", "1")
    assert len(checks.some_variants(choices)) == 48


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
