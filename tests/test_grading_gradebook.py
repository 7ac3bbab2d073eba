"""nbgrader itself accepts what was released, and reads the marks that were entered into its gradebook."""

import contextlib
import csv
import json
import os
import sqlite3
import subprocess
import sys

import nbformat
import pytest

from attention_grading.classroom import Problem, write_json
from attention_grading.gradebook import first_and_last, to_gradebook
from grading_class import hand_in, tiny_class

ROSTER = [
    ("s01", "李明", "zh"), ("s02", "Lovelace, Ada", "en"), ("s03", "欧阳修", "both"), ("s04", "Alan Turing", "en"),
    ("s05", "Plato", ""), ("s06", "김철수", ""),
]  # fmt: skip
READ = """
import json
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db") as book:
    print(json.dumps({
        "students": {s.id: [s.first_name, s.last_name] for s in book.students},
        "assignments": {a.name: a.max_score for a in book.assignments},
        "submissions": {a.name: {s.student.id: {
            "score": s.score, "max": s.max_score, "open": s.needs_manual_grade,
            "time": s.timestamp and s.timestamp.isoformat(),
            "grades": {g.name: [g.auto_score, g.manual_score, g.max_score] for n in s.notebooks for g in n.grades},
            "comments": {c.name: c.comment for n in s.notebooks for c in n.comments if c.comment},
        } for s in a.submissions} for a in book.assignments},
    }))
"""
MAKE = """
import glob, sys
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from nbgrader.nbgraderformat import read
from nbgrader.validator import Validator
api = NbGraderAPI()
for done in (api.generate_assignment("tiny", create=True), api.autograde("tiny", "s01", create=True)):
    print("done" if done["success"] else "failed", done)
Validator().validate_and_print(sys.argv[1])
with Gradebook("sqlite:///gradebook.db") as book:
    book.add_student("z99", first_name="Not in", last_name="our roster")
    book.add_assignment("other"); book.add_notebook("n", "other")
    book.add_grade_cell("g", "n", "other", max_score=7, cell_type="code")
    book.add_submission("other", "z99")
    book.find_grade("g", "n", "other", "z99").auto_score = 6
    book.db.commit()
for path in glob.glob("../tiny/students/*.ipynb"):
    with open(path, encoding="utf-8") as file:
        cells = [cell for cell in read(file, as_version=4).cells if "nbgrader" in cell.metadata]
    print("accepted", *[cell.metadata.nbgrader.grade_id for cell in cells])
"""
EXPORT = """
from nbgrader.apps import ExportApp
ExportApp.launch_instance(["--to", "out.csv"])
"""


class Course:
    """A folder in which nbgrader works, in processes of its own: what it imports warns."""

    def __init__(self, folder):
        self.folder = folder
        own = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
        path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])  # it starts the program alembic
        self.env = os.environ | {name: str(folder / "jupyter") for name in own}
        self.env |= {"PATH": path, "PYTHONPATH": "", "PYTHONUTF8": "1"}

    def python(self, *arguments):
        command = [sys.executable, "-W", "ignore", *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=self.env, capture_output=True, encoding="utf-8", timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stderr + done.stdout

    def read(self):
        return json.loads(self.python("-c", EXPORT + READ).splitlines()[-1])


@pytest.fixture(scope="module")
def classroom(tmp_path_factory):
    """s01 and s03 are marked, s02 is not, s04 left q3 blank, s05 handed in nothing, s06 is not graded."""
    classroom = tiny_class(tmp_path_factory.mktemp("class"), ROSTER)
    hand_in(classroom, "s01", "方差是 $d$。", late=True, time="2026-03-01T20:00:00+08:00")
    hand_in(classroom, "s02", "It is $d$.")
    hand_in(classroom, "s03", "$d$", softmax="def softmax(x):\n    return x")
    hand_in(classroom, "s04")
    hand_in(classroom, "s06", "$d$", graded=False)
    marked = {"s01": {"q3": {"points": 4.5, "comment": "很好 & <gut>"}}, "s03": {"q3": {"points": 2, "comment": ""}}}
    write_json(classroom.of("tiny", "marked.json"), marked)
    return classroom


@pytest.fixture(scope="module")
def course(classroom):
    """What nbgrader made of the notebook of s01: its own assignment, its own grading of what s01 handed in."""
    folder = classroom.folder / "course"
    for path, file in (("source/tiny", "students/s01.ipynb"), ("submitted/s01/tiny", "submissions/s01.ipynb")):
        (folder / path).mkdir(parents=True)
        (folder / path / "tiny.ipynb").write_bytes(classroom.of("tiny", file).read_bytes())
    course = Course(folder)
    course.said = course.python("-c", MAKE + READ, str(classroom.of("tiny", "submissions", "s02.ipynb").resolve()))
    return course


def test_nbgrader_accepts_what_was_released(course):
    """The metadata of the notebooks in each language; and it grades one that a student solved."""
    *_, book = lines = course.said.splitlines()
    assert [line for line in lines if line.startswith("accepted")] == ["accepted q1 q1_check q2 q2_check q3"] * len(
        ROSTER
    )
    assert [line.split()[0] for line in lines if line.startswith(("done", "failed"))] == ["done", "done"]
    assert "ERROR" not in course.said and "does not exist" not in course.said
    one = json.loads(book)["submissions"]["tiny"]["s01"]
    assert one["grades"] == {"q1_check": [1.5, None, 1.5], "q2_check": [3, None, 3], "q3": [None, None, 5]}
    assert one["max"] == 9.5 and one["open"]
    graded = nbformat.read(course.folder / "autograded" / "s01" / "tiny" / "tiny.ipynb", as_version=4)
    assert "方差是 $d$。" in [cell.source for cell in graded.cells]


def test_the_button_validate(course):
    assert "Success! Your notebook passes all the tests." in course.said


def test_the_marks_are_in_the_gradebook(classroom, course):
    database = course.folder / "gradebook.db"
    written, without = to_gradebook(classroom, "tiny", database)
    assert written == 4
    assert {student.id: why for student, why in without} == {"s05": "missing", "s06": "not graded"}
    book = course.read()
    assert book["assignments"] == {"tiny": 9.5, "other": 7}
    assert book["submissions"]["other"]["z99"]["score"] == 6, "another assignment is left alone"
    assert book["students"] == {
        "s01": ["明", "李"], "s02": ["Ada", "Lovelace"], "s03": ["修", "欧阳"], "s04": ["Alan", "Turing"],
        "s05": ["", "Plato"], "s06": ["철수", "김"], "z99": ["Not in", "our roster"],
    }  # fmt: skip
    of = book["submissions"]["tiny"]
    assert of.keys() == {"s01", "s02", "s03", "s04"}, "who handed in nothing has no 0"
    assert of["s01"]["grades"] == {"q1_check": [1.5, None, 1.5], "q2_check": [3, None, 3], "q3": [None, 4.5, 5]}
    assert of["s01"]["comments"] == {"q3": "很好 & <gut>"} and of["s01"]["time"] == "2026-03-01T12:00:00"
    assert of["s02"]["grades"]["q3"] == [None, None, 5] and of["s02"]["open"]
    assert of["s03"]["grades"] == {"q1_check": [0, None, 1.5], "q2_check": [3, None, 3], "q3": [None, 2, 5]}
    assert of["s04"]["grades"]["q3"] == [None, 0, 5] and not of["s04"]["open"]
    assert [one["score"] for one in of.values()] == [9, 4.5, 5, 4.5]
    before = dump(database)
    to_gradebook(classroom, "tiny", database)
    assert dump(database) == before, "the second time nothing changes"
    with open(course.folder / "out.csv", encoding="utf-8", newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file) if row["assignment"] == "tiny"}
    assert {i: float(rows[i]["score"]) for i in of} == {i: one["score"] for i, one in of.items()}
    assert {row["max_score"] for row in rows.values()} == {"9.5"} and rows["s01"]["last_name"] == "李"


def dump(database):
    with contextlib.closing(sqlite3.connect(database)) as connection:
        return sorted(connection.iterdump())


def test_a_new_gradebook(classroom, tmp_path, monkeypatch):
    """Also where the programs beside Python are not on the path."""
    monkeypatch.setenv("PATH", os.defpath)
    to_gradebook(classroom, "tiny", tmp_path / "gradebook.db")
    with contextlib.closing(sqlite3.connect(tmp_path / "gradebook.db")) as connection:
        [[total]] = connection.execute("select sum(coalesce(auto_score, 0) + coalesce(manual_score, 0)) from grade")
    assert total == 9 + 4.5 + 5 + 4.5


def test_other_questions_under_the_same_name(classroom, course, tmp_path):
    database = tmp_path / "gradebook.db"
    database.write_bytes((course.folder / "gradebook.db").read_bytes())
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("update base_cell set name = 'q7_check' where name = 'q1_check'")
        connection.commit()
    before = dump(database)
    with pytest.raises(Problem, match="other questions .q7_check"):
        to_gradebook(classroom, "tiny", database)
    assert dump(database) == before


def test_a_gradebook_that_cannot_be_written(classroom, tmp_path):
    (tmp_path / "gradebook.db").write_text("this is no database, and it is long enough to be taken for one" * 20)
    with pytest.raises(Problem, match="name another file"):
        to_gradebook(classroom, "tiny", tmp_path / "gradebook.db")
    with pytest.raises(Problem, match="name another file"):
        to_gradebook(classroom, "tiny", tmp_path / "no such folder" / "gradebook.db")


def test_without_nbgrader(classroom, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "nbgrader", None)
    with pytest.raises(Problem, match="pip install nbgrader=="):
        to_gradebook(classroom, "tiny", tmp_path / "gradebook.db")


@pytest.mark.parametrize("name, first, last", [
    ("Ludwig van Beethoven", "Ludwig van", "Beethoven"), ("Beethoven, Ludwig van", "Ludwig van", "Beethoven"),
    ("李，明", "明", "李"), ("李 明", "明", "李"), ("欧阳修", "修", "欧阳"), ("欧阳", "阳", "欧"), ("", "", ""),
    ("Алан Тьюринг", "Алан", "Тьюринг"), ("李", "", "李"), ("司馬 懿", "懿", "司馬"),
])  # fmt: skip
def test_a_name_in_two(name, first, last):
    assert first_and_last(name) == (first, last)
