"""What students are asked: the values drawn for each, and what a module may hold."""

import hashlib
import itertools
import shutil
from collections import Counter

import pytest

from attention_grading import Assignment, Problem
from attention_grading.assignment import drawn, questions, seed, variants
from grading_class import TINY

SECRET = bytes(range(32))
HEAD = "from attention_grading import Question, Written\n"


def test_an_assignment_is_two_files(tmp_path):
    with pytest.raises(Problem, match="tiny.ipynb is missing"):
        Assignment(tmp_path / "tiny.ipynb")
    shutil.copy(TINY, tmp_path)
    with pytest.raises(Problem, match=r"tiny.py is missing.*side by side"):
        Assignment(tmp_path / "tiny.ipynb")


def test_questions_are_automatic_or_written():
    tiny = Assignment(TINY)
    assert (tiny.name, list(tiny.automatic), list(tiny.written)) == ("tiny", ["q1", "q2"], ["q3"])
    assert [question.points for question in tiny.questions.values()] == [1.5, 3, 5]


@pytest.mark.parametrize("name", ["tiny.ipynb", "tiny.py"])
def test_the_digest_follows_both_files(tmp_path, name):
    for file in (TINY, TINY.with_suffix(".py")):
        shutil.copy(file, tmp_path)
    before = Assignment(tmp_path / "tiny.ipynb").digest
    assert before == Assignment(TINY).digest
    with (tmp_path / name).open("a") as file:
        file.write("\n")
    assert Assignment(tmp_path / "tiny.ipynb").digest != before


def test_the_seed_is_an_hmac():
    """By the definition of HMAC, from the hash alone."""
    words = ("2024001", "tiny", "q1", "variant")
    message = b"2024001\0tiny\0q1\0variant"
    key = SECRET + bytes(32)
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in key) + message).digest()
    digest = hashlib.sha256(bytes(b ^ 0x5C for b in key) + inner).digest()
    assert seed(SECRET, *words) == int.from_bytes(digest[:8], "big")


def test_variants_are_counted():
    assert [variants(q.choices) for q in Assignment(TINY).questions.values()] == [8, 4, 3]


def test_every_variant_is_drawn_about_equally_often():
    tiny = Assignment(TINY)
    students = [f"{n:04}" for n in range(4000)]
    for key, question in tiny.questions.items():
        seen = Counter(tuple(vars(tiny.variant(SECRET, student)[key]).values()) for student in students)
        assert set(seen) == set(itertools.product(*question.choices.values()))
        expected = len(students) / len(seen)
        chi2 = sum((count - expected) ** 2 / expected for count in seen.values())
        assert chi2 < 30  # for 7 degrees of freedom less than 1 in 10,000


def test_neighbours_and_questions_are_independent():
    """Whoever knows one draw knows nothing about another: pairs agree as often as chance has it."""
    tiny = Assignment(TINY)
    draws = [tiny.variant(SECRET, f"{n:04}") for n in range(2000)]
    assert abs(sum(a["q1"] == b["q1"] for a, b in itertools.pairwise(draws)) / 2000 - 1 / 8) < 0.03
    together = Counter((d["q1"].temperature, d["q3"].d) for d in draws)
    assert len(together) == 12 and max(together.values()) < 1.4 * 2000 / 12


def test_the_draw_follows_secret_student_assignment_and_question():
    base = (SECRET, "2024001", "tiny", "q1", "variant")
    others = [
        (bytes(32), *base[1:]),
        (SECRET, "2024002", *base[2:]),
        (SECRET, "2024001", "other", *base[3:]),
        (SECRET, "2024001", "tiny", "q2", "variant"),
        (SECRET, "2024001", "tiny", "q1", "arguments"),
    ]
    assert seed(*base) == seed(*base)
    assert seed(*base) not in {seed(*other) for other in others}


def test_a_draw_stays_what_it_was():
    """Students have their notebooks: a change here would give everybody another variant."""
    choices = {"temperature": (0.5, 0.8, 1.25, 2.0), "axis": (0, -1)}
    assert [tuple(vars(drawn(choices, n)).values()) for n in (0, 1, 6, 2**64 - 1)] == [
        (0.5, 0),
        (0.8, 0),
        (1.25, -1),
        (2.0, -1),
    ]


@pytest.mark.parametrize(
    "source, complaint",
    [
        ("", "m.py has no QUESTIONS"),
        ("QUESTIONS = [1]", "m.py has no QUESTIONS"),
        ("QUESTIONS = {", r"m.py does not run: SyntaxError: .*line 1"),
        ("import no_such_module", "m.py does not run: ModuleNotFoundError: No module named 'no_such_module'"),
        (HEAD + "QUESTIONS = {'q1': Written(1, {'d': ()})}", "m.py, q1: d needs one or more plain numbers"),
        (HEAD + "QUESTIONS = {'q1': Written(1, {'d': (len,)})}", "m.py, q1: d needs one or more plain numbers"),
    ],
)
def test_a_module_that_will_not_do_is_a_sentence(source, complaint):
    with pytest.raises(Problem, match=complaint):
        questions(source, "m.py")
