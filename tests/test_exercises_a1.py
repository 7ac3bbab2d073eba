"""Assignment 1 holds what every assignment must."""

from pathlib import Path

import exercise_checks as checks
import pytest

from attention_grading.assignment import Assignment

A1 = Assignment(Path(__file__).resolve().parents[1] / "exercises" / "a1_scores_and_softmax.ipynb")


def test_the_solutions_get_every_point():
    checks.check_solutions(A1)


def test_a_neighbours_right_function_gets_no_full_points():
    checks.check_copies(A1)


@pytest.mark.parametrize("question", A1.automatic.values(), ids=A1.automatic)
def test_each_mistake_loses_points_and_is_named(question):
    checks.check_mistakes(question)


@pytest.mark.parametrize("question", A1.automatic.values(), ids=A1.automatic)
def test_no_example_is_degenerate(question):
    checks.check_examples(question)


def test_every_variant_reads_well_in_both_languages():
    checks.check_cells(A1)
    checks.check_texts(A1)


def test_no_solution_leaks():
    checks.check_canaries(A1)


def test_the_steps_of_the_marking_guide_sum_to_the_points():
    checks.check_marking(A1)
