"""What every assignment of exercises/ must hold."""

from pathlib import Path

import pytest

import exercise_checks as checks
from attention_grading.assignment import Assignment

ASSIGNMENTS = [Assignment(path) for path in sorted((Path(__file__).parents[1] / "exercises").glob("*.ipynb"))]
QUESTIONS = {(a.name, key): question for a in ASSIGNMENTS for key, question in a.automatic.items()}
ONE_NUMBER = {("a4_multi_head", "q5")}  # its right result is a single number, of which no two can be compared

each_assignment = pytest.mark.parametrize("assignment", ASSIGNMENTS, ids=lambda assignment: assignment.name)


def each_question(*without):
    kept = [which for which in QUESTIONS if which not in without]
    return pytest.mark.parametrize("question", [QUESTIONS[which] for which in kept], ids=["-".join(w) for w in kept])


def test_the_four_are_here():
    assert len(ASSIGNMENTS) == 4


@each_assignment
def test_the_solutions_get_every_point(assignment):
    checks.check_solutions(assignment)


@each_assignment
def test_a_neighbours_right_function_gets_no_full_points(assignment):
    checks.check_copies(assignment)


@each_question()
def test_each_mistake_loses_points_and_is_named(question):
    checks.check_mistakes(question)


@each_question(*ONE_NUMBER)
def test_no_example_is_degenerate(question):
    checks.check_examples(question)


@each_assignment
def test_every_variant_reads_well_in_both_languages(assignment):
    checks.check_cells(assignment)
    checks.check_texts(assignment)


@each_assignment
def test_no_solution_leaks(assignment):
    checks.check_canaries(assignment)


@pytest.mark.parametrize("assignment", ASSIGNMENTS[:2], ids=lambda assignment: assignment.name)
def test_the_steps_of_the_marking_guide_sum_to_the_points(assignment):
    """Of those whose guides are lists with the points in front."""
    checks.check_marking(assignment)
