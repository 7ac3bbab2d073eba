"""What every assignment of exercises/ must hold."""

from pathlib import Path

import pytest

import exercise_checks as checks
from attention_grading.assignment import Assignment
from attention_grading.judge import here, judge
from exercises_by_course import BY_COURSE

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


def course_gets_every_point(which):
    """Whether the right answer made of the course's functions does, in the first and in the last fitting variant."""
    (assignment, key), (fits, fn, _) = which.split(), BY_COURSE[which]
    [question] = [q for (name, k), q in QUESTIONS.items() if name.startswith(assignment) and k == key]
    fitting = [v for v in checks.every_variant(question.choices) if fits(v)]
    calls = [(v, here({question.function: lambda *given, v=v: fn(v, *given)})) for v in (fitting[0], fitting[-1])]
    return all(result["points"] == result["of"] for v, call in calls for result in [judge(question, v, 1, call)])


@pytest.mark.parametrize("which", BY_COURSE)
def test_the_courses_own_functions_get_every_point(which):
    assert course_gets_every_point(which)


@each_assignment
def test_no_solution_leaks(assignment):
    checks.check_canaries(assignment)


@pytest.mark.parametrize("assignment", ASSIGNMENTS[:2], ids=lambda assignment: assignment.name)
def test_the_steps_of_the_marking_guide_sum_to_the_points(assignment):
    """Of those whose guides are lists with the points in front."""
    checks.check_marking(assignment)
