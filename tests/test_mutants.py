"""Every wrong version of attention in mutants.py fails a test of test_attention_mechanism.py or
test_attention_properties.py; the right one passes all.

The tests are called directly, in this process, with a mutant in the module's place: that takes seconds, not minutes.
"""

import inspect
import itertools
import warnings

import pytest

import attention_mechanism as am
import mutants
import test_attention_mechanism as tests
import test_attention_properties as properties

# Bug reports of the field: implementations (A…), shape conventions (C6), √d or d (C7), and all kinds of inputs (E).
# The sentence of each mutant says what goes wrong.
BUGS = {
    "A1", "A2", "A3", "A4", "A5", "A6", "A8", "A10", "A11", "A12", "A13", "A15", "A18",
    "A19", "A21", "A24", "A25", "A26", "A29", "A30", "A32", "A33", "A34", "A39", "C6", "C7", "E",
}  # fmt: skip


def parametrizations(test):
    """All keyword arguments that the test's parametrize marks ask for."""
    choices = []
    for mark in getattr(test, "pytestmark", []):
        names, values = mark.args[0].replace(",", " ").split(), mark.args[1]
        choices.append([dict(zip(names, v if len(names) > 1 else [v], strict=True)) for v in values])
    return [dict(itertools.chain.from_iterable(d.items() for d in choice)) for choice in itertools.product(*choices)]


# These look at the module's own text and frames, where any replacement shows: that would convict a mutant of nothing.
ABOUT_FORM = {
    tests.test_the_public_functions,
    tests.test_docstrings_give_shapes_and_say_what_is_raised,
    tests.test_every_docstring_ends_with_an_example_that_runs,
    tests.test_the_warning_comes_once_and_points_at_the_caller,
}
TESTS = [test for name, test in vars(tests).items() if name.startswith("test_") and test not in ABOUT_FORM]
# The first case of every test, then the second of every test …: most mutants die in the first round.
ROUNDS = itertools.zip_longest(*([(test, arguments) for arguments in parametrizations(test)] for test in TESTS))
CASES = [case for cases in ROUNDS for case in cases if case]
PROPERTIES = [(test, {}) for name, test in vars(properties).items() if name.startswith("test_")]  # slow, and so last


def failure(test, arguments):
    """None if the test passes, or the exception that ended it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            test(**arguments)
        except (Exception, pytest.fail.Exception) as exception:
            return exception
    return None


def is_verdict(exception):
    """A comparison that failed, a refusal that did not come, or a warning: a crash of the mutant's own is none."""
    return isinstance(exception, (AssertionError, pytest.fail.Exception, Warning))


def test_the_tests_take_no_fixtures():
    for test, arguments in CASES:
        assert set(inspect.signature(test).parameters) == set(arguments), test.__name__


def test_the_right_module_passes():
    for test, arguments in CASES:
        assert failure(test, arguments) is None, test.__name__


@pytest.mark.parametrize("name", mutants.MUTANTS)
def test_a_mutant_is_caught(name, monkeypatch):
    for function, wrong in mutants.MUTANTS[name].functions.items():
        right = getattr(am, function)
        assert inspect.signature(wrong).parameters.keys() == inspect.signature(right).parameters.keys()
        monkeypatch.setattr(am, function, wrong)
    assert any(is_verdict(failure(*case)) for case in CASES + PROPERTIES), f"no test catches: {name}"


def test_every_bug_report_has_a_mutant():
    assert {bug for mutant in mutants.MUTANTS.values() for bug in mutant.bugs} == BUGS


def test_the_right_module_still_passes():
    """No mutant has changed what the tests share, which would convict every later one."""
    test_the_right_module_passes()
