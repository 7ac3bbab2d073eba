"""What catches each wrong version of attention in tests/mutants.py, as a Markdown table.

    python bench/kill_table.py               all of them: some minutes
    python bench/kill_table.py "rows"        those whose sentence or function holds the word

The columns: how many tests of test_attention_mechanism.py fail, and the first; which practice problems' `check` rejects
a right function made of the course's own with the mutant in it; which questions of the assignments take points off it.
— where no such function runs through what the mutant replaces; "right on all that is asked" where one does, but the
mistake gives no wrong answer there.
"""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / folder) for folder in ("tools", "book/_ext", "tests")]  # as for the tests

import attention_mechanism as am  # noqa: E402
import mutants  # noqa: E402
import test_attention_checks as practice  # noqa: E402
import test_exercises as exercises  # noqa: E402
import test_mutants as suite  # noqa: E402

HEAD = "| wrong version | replaces | bugs | tests: how many, and the first | practice | assignments |"


def killing_tests(tests=suite.TESTS):
    """The names of the tests that fail with the mutant that is in the module now."""
    return [
        test.__name__
        for test in tests
        if any(suite.is_verdict(suite.failure(test, arguments)) for arguments in suite.parametrizations(test))
    ]


def of_tests():
    names = killing_tests() or killing_tests([test for test, _ in suite.PROPERTIES])
    return f"{len(names)}: `{names[0]}`" if names else "**none**"


def rejecting(asked, rejects):
    """Of the right functions that run through what is replaced, those that are rejected now."""
    found = [name for name in asked if rejects(name)]
    return ", ".join(found) if found else "right on all that is asked" if asked else "—"


def row(sentence):
    functions, bugs = mutants.MUTANTS[sentence]
    checks = [name for name, (_, through) in practice.ADAPTERS.items() if functions.keys() <= through]
    questions = [key for key, (*_, through) in exercises.BY_COURSE.items() if functions.keys() <= through]
    with pytest.MonkeyPatch.context() as patch:
        for name, wrong in functions.items():
            patch.setattr(am, name, wrong)
        rejected = rejecting(checks, lambda name: not practice.check(practice.called(name, practice.ADAPTERS[name][0])))
        marked = rejecting(questions, lambda key: not exercises.course_gets_every_point(key))
        cells = sentence, ", ".join(functions), " ".join(bugs), of_tests(), rejected, marked
    return f"| {' | '.join(cells)} |"


def main(word=""):
    print(HEAD + "\n|---|---|---|---|---|---|")
    for sentence, mutant in mutants.MUTANTS.items():
        if word in sentence or any(word in name for name in mutant.functions):
            print(row(sentence), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
