"""The demo class, and the whole way of its submissions: what comes out is what each student did."""

import csv
import functools
import io
import json
import shutil
import zipfile
from collections import Counter
from pathlib import Path

import nbformat
import pytest

from attention_grading import grade
from attention_grading.classroom import Classroom, Problem, read_roster
from attention_grading.collect import collect
from attention_grading.demo import KINDS, MARK, demo, submissions
from attention_grading.export import export
from attention_grading.release import PLACEHOLDER, STUB, release
from grading_class import TINY

ROOT = Path(__file__).resolve().parents[1]
MASTERS = [TINY, *sorted((ROOT / "exercises").glob("*.ipynb"))]
OF = {"q1": 1.5, "q2": 3, "q3": 5}
NO_MARK = dict.fromkeys(OF)


def made(folder, students=30):
    """A demo class whose secret is always the same: what a copy is worth depends on it."""
    room = demo(folder, students)
    (folder / "secret.key").write_text("5e" * 32)
    return room


@pytest.fixture
def classroom(tmp_path):
    room = made(tmp_path / "class")
    release(room, TINY)
    return room


def truth(classroom):
    return json.loads((classroom.folder / "truth.json").read_text("utf-8"))["students"]


def files(path):
    """What is in a download.   -> {student: [(name, bytes), …]} by the LMS's number, as Canvas names files"""
    found = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            lms_id = name.replace("_LATE_", "_").split("_")[1]
            found.setdefault(lms_id, []).append((name, archive.read(name)))
    return found


def test_the_class_is_awkward_enough_and_always_the_same(tmp_path):
    students = demo(tmp_path / "a").roster()
    names = [student.name for student in students]
    assert len(students) == 30 and read_roster(tmp_path / "a" / "roster.csv") == students
    assert {"王, 小明", "=1+1", "Siobhán O'Neil", "محمد علي", 'Zoë "Zo" Brontë'} < set(names)
    assert [name for name, count in Counter(names).items() if count > 1] == ["张伟"]
    assert {student.language for student in students} == {"zh", "en", "both", ""}
    assert any(student.id.startswith("0") for student in students)
    assert demo(tmp_path / "b").roster() == students and demo(tmp_path / "c", 5).roster() == students[:5]
    assert len({student.name for student in demo(tmp_path / "d", 1000).roster()}) > 500


def test_a_folder_in_which_something_is_stays_as_it_is(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    for folder in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(Problem, match="is not empty"):
            demo(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(Problem, match="at least one"):
        demo(tmp_path / "new", 0)


def test_real_people_are_not_played(classroom):
    (classroom.folder / MARK).unlink()
    with pytest.raises(Problem, match="real people"):
        submissions(classroom, "tiny")
    assert not (classroom.folder / "download.zip").exists()


def test_what_was_not_released_is_said(classroom):
    with pytest.raises(Problem, match="other was not released"):
        submissions(classroom, "other")
    (classroom.folder / "tiny" / "students" / "20260004.ipynb").unlink()
    with pytest.raises(Problem, match="20260004.ipynb is missing"):
        submissions(classroom, "tiny")


def test_each_kind_of_submission_is_there_and_about_half_are_right(classroom):
    path = submissions(classroom, "tiny")
    told, download = truth(classroom), files(path)
    assert {student["kind"] for student in told.values()} == set(KINDS)
    full = [s for s in told.values() if (s["points"]["q1"], s["points"]["q2"]) == (1.5, 3)]
    assert 12 <= len(full) <= 18
    for student in classroom.roster():
        mine, kind = download.get(student.lms_id, []), told[student.id]["kind"]
        assert len(mine) == {"missing": 0, "resubmitted": 2}.get(kind, 1)
        assert all(("_LATE_" in name) == told[student.id]["late"] for name, _ in mine)
        for _, data in mine:
            if kind == "corrupt":
                with pytest.raises(ValueError):
                    json.loads(data)
            else:
                nbformat.validate(nbformat.reads(data.decode(), as_version=4))


def test_what_is_certain_is_what_the_truth_says(classroom):
    submissions(classroom, "tiny")
    automatic = {
        "right": (1.5, 3), "late": (1.5, 3), "renamed": (1.5, 3), "resubmitted": (1.5, 3), "noisy": (1.5, 3),
        "duplicate cells": (1.5, 3), "partly": (1.5, 0), "syntax error": (1.5, 0), "endless loop": (1.5, 0),
        "deleted cell": (1.5, 0), "blank": (0, 0), "missing": (None, None), "corrupt": (None, None),
    }  # fmt: skip
    for student in truth(classroom).values():
        points = student["points"]
        if student["kind"] in automatic:
            assert (points["q1"], points["q2"]) == automatic[student["kind"]], student
        else:
            assert student["kind"] in ("naive", "copied") and points["q1"] + points["q2"] < 4.5
            assert student["kind"] == "naive" or points["q3"] is None
        waiting = student["status"] == "needs marking"
        assert points["q3"] == (0 if student["status"] == "graded" else None)
        assert waiting <= (student["kind"] not in ("partly", "blank", "missing", "corrupt"))


def test_the_notebooks_are_what_the_students_did(classroom):
    download, told = files(submissions(classroom, "tiny")), truth(classroom)
    for student in classroom.roster():
        if told[student.id]["kind"] in ("missing", "corrupt"):
            continue
        notebook = nbformat.reads(download[student.lms_id][-1][1].decode(), as_version=4)
        answers = [c.source for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") in OF]
        stubs = sum(STUB in source for source in answers)
        kind = told[student.id]["kind"]
        assert stubs == {"blank": 2, "partly": 1, "syntax error": 1}.get(kind, 0), kind
        assert len(answers) == {"duplicate cells": 5, "deleted cell": 2}.get(kind, 3)
        assert (answers[-1] == PLACEHOLDER) == (told[student.id]["points"]["q3"] == 0)
        assert not any("SOLUTION" in source for source in answers)


def test_the_copy_is_another_students_and_a_class_with_one_notebook_may_copy(tmp_path, classroom):
    submissions(classroom, "tiny")
    [copy] = [s for s in truth(classroom).values() if s["kind"] == "copied"]
    assert copy["points"]["q1"] + copy["points"]["q2"] < 4.5
    same = made(tmp_path / "same")
    release(same, TINY, same_for_all=True)
    submissions(same, "tiny")
    [copy] = [s for s in truth(same).values() if s["kind"] == "copied"]
    assert (copy["points"]["q1"], copy["points"]["q2"]) == (1.5, 3)


def test_the_same_class_plays_the_same_and_another_seed_another_way(classroom):
    first, told = submissions(classroom, "tiny").read_bytes(), truth(classroom)
    assert submissions(classroom, "tiny").read_bytes() == first and truth(classroom) == told
    submissions(classroom, "tiny", seed=1)
    assert truth(classroom) != told


@pytest.mark.parametrize("size", [1, 2, 9, 40])
def test_a_class_of_any_size_can_be_played(tmp_path, size):
    room = made(tmp_path / "class", size)
    release(room, TINY)
    submissions(room, "tiny")
    assert len(truth(room)) == size


@pytest.mark.parametrize("master", MASTERS, ids=lambda path: path.stem)
def test_the_whole_way_gives_what_each_student_did(works, tmp_path, monkeypatch, master):
    """Released, played, collected, graded and exported: the CSV file says what truth.json says."""
    room = made(tmp_path / "class", len(KINDS))
    release(room, master)
    collect(room, master.stem, submissions(room, master.stem), deadline="2027-01-15 23:59")
    monkeypatch.setattr(grade, "Session", functools.partial(grade.Session, seconds=3))  # one has an endless loop
    grade.grade(room, master.stem, jobs=2)
    path, _ = export(room, master.stem, "generic")
    rows = {row["student_id"]: row for row in csv.DictReader(io.StringIO(path.read_text("utf-8-sig")))}
    assert list(rows) == [student.id for student in room.roster()]
    for student, told in truth(room).items():
        row = rows[student]
        got = {key: float(row[key]) if row[key] else None for key in told["points"]}
        assert (row["status"], row["late"] == "late", got) == (told["status"], told["late"], told["points"]), told


def test_a_class_that_was_copied_to_another_folder_is_the_same_class(tmp_path, classroom):
    first = submissions(classroom, "tiny").read_bytes()
    shutil.copytree(classroom.folder, tmp_path / "moved")
    assert submissions(Classroom(tmp_path / "moved"), "tiny").read_bytes() == first


def test_the_example_on_the_page_for_instructors_is_a_whole_assignment(tmp_path):
    page = {c.id: c.source for c in nbformat.read(ROOT / "book" / "instructors.ipynb", as_version=4).cells}
    text = {id: source.split("\n", 1)[1].rsplit("\n", 1)[0] for id, source in page.items() if "```" in source}
    (tmp_path / "mine.py").write_text(text["own-module"])
    v4, grader = nbformat.v4, {"nbgrader": {"grade_id": "q1", "solution": True}}
    cells = [
        v4.new_code_cell(text["own-variant"], metadata={"tags": ["variant"]}),
        v4.new_code_cell(text["own-imports"]),
        v4.new_markdown_cell(text["own-question"], metadata={"tags": ["lang-en"]}),
        v4.new_code_cell(text["own-answer"], metadata=grader),
        v4.new_markdown_cell("Because.", metadata={"nbgrader": {"grade_id": "q2", "solution": True}}),
    ]
    nbformat.write(v4.new_notebook(cells=cells), tmp_path / "mine.ipynb")
    room = made(tmp_path / "class", 40)
    assert release(room, tmp_path / "mine.ipynb", language="en")[0] == 40
    submissions(room, "mine")
    assert {student["points"]["q1"] for student in truth(room).values()} > {0, 3, None}
