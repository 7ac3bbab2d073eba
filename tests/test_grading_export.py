"""Marks as CSV: read back with Python's csv module, which knows nothing of how they were written."""

import codecs
import csv
import io
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from attention_grading import export as module
from attention_grading.classroom import Classroom, Problem, Student, read_table
from attention_grading.export import export

OF = {"q1": 1.5, "q2": 3, "q3": 5}
NAMES = {  # as in the roster: as in the file
    "王, 小明": "王, 小明", "=1+1": "'=1+1", 'O"Neil': 'O"Neil', "two\r\nlines\tor\0more": "two lines or more", "": "",
    "محمد علي": "محمد علي", "＝SUM(A1)": "'＝SUM(A1)", "-2": "'-2", "@here": "'@here", "a;=1+1": "a;'=1+1",
    " +1": "'+1",
}  # fmt: skip
IDS = ["00123", "1E5", "=7", "@zhang", "-5", "12345678901234567890", "a b", "3-4", "x", "y", "z"]


def standing(student, status="graded", points=(1.5, 0.1 + 0.2, 4), late=False):
    points = dict(zip(OF, points, strict=True))
    total = sum(points.values()) if None not in points.values() else None
    return SimpleNamespace(student=student, status=status, late=late, points=points, of=OF, total=total)


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Export these standings.   -> the file's bytes, the remarks"""
    (tmp_path / "roster.csv").write_text("student_id\nnobody\n")

    def written(everybody, lms):
        monkeypatch.setattr(module, "standing", lambda classroom, name: everybody)
        path, remarks = export(Classroom(tmp_path), "a1", lms)
        assert Path(path) == tmp_path / "a1" / f"marks-{lms}.csv"
        return Path(path).read_bytes(), remarks

    return written


def rows(data):
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True))


AWKWARD = [standing(Student(i, name, lms_id=f"l{i}", email=f"e{i}")) for i, name in zip(IDS, NAMES, strict=True)]
KINDS = [
    standing(Student("a"), points=(0, 0, 0)),
    standing(Student("b"), "missing", (None, None, None)),
    standing(Student("c"), "failed", (None, None, None), late=True),
    standing(Student("d"), "needs marking", (1.5, 3, None)),
    standing(Student("e"), "not graded", (None, None, None)),
]


@pytest.mark.parametrize(
    "lms, name, ids",
    [
        ("canvas", "Student", {"SIS User ID": ""}),
        ("moodle", "Full name", {"ID number": "", "Username": "l", "Email address": "e"}),
        ("generic", "name", {"student_id": "", "lms_id": "l", "email": "e"}),
    ],
)
def test_names_are_harmless_and_ids_are_untouched(write, lms, name, ids):
    data, _ = write(AWKWARD, lms)
    assert data.startswith(codecs.BOM_UTF8) and not data.startswith(2 * codecs.BOM_UTF8)
    assert data.count(b"\n") == data.count(b"\r\n")
    table = [row for row in rows(data) if "Points Possible" not in row[name]]
    assert [row[name] for row in table] == list(NAMES.values())
    for column, before in ids.items():
        assert [row[column] for row in table] == [before + i for i in IDS]
    assert all(None not in row and None not in row.values() for row in table), "rows of one length"


def test_a_name_in_the_middle_of_which_a_sign_stands_is_left_alone(write):
    names = ["Anna-Maria O'Neil", "a=b", "me@home", "1 + 1", "李-王, 明"]
    data, _ = write([standing(Student("1", name)) for name in names], "generic")
    assert [row["name"] for row in rows(data)] == names


@pytest.mark.parametrize("lms, total, empty", [("canvas", "a1", ""), ("moodle", "a1", "-"), ("generic", "total", "")])
def test_no_mark_is_never_a_0_and_a_0_is_a_mark(write, lms, total, empty):
    data, remarks = write(KINDS, lms)
    table = rows(data)[-5:]
    assert [row[total] for row in table] == ["0", empty, empty, empty, empty]
    assert remarks == [
        "4 of 5 students have no total (1 missing, 1 failed, 1 needs marking, 1 not graded): "
        "their mark is left empty, not 0."
    ]
    if lms != "canvas":
        assert [row["status"] for row in table] == ["graded", "missing", "failed", "needs marking", "not graded"]
        assert [row["late"] for row in table] == ["", "", "late", "", ""]
        assert [table[3][key] for key in OF] == ["1.5", "3", empty]


def test_numbers_have_a_point_and_no_rounding_dust(write):
    [row] = rows(write([standing(Student("a"))], "generic")[0])
    assert [row[key] for key in (*OF, "total", "of")] == ["1.5", "0.3", "4", "5.8", "9.5"]
    [row] = rows(write([standing(Student("a"), points=(1000.125, 2, 1e6))], "generic")[0])
    assert [row[key] for key in OF] == ["1000.125", "2", "1000000"]


def test_canvas_gets_its_own_columns_and_nothing_that_it_would_make_an_assignment_of(write):
    students = [Student("s1", "A", lms_id="4711"), Student("s2", "B", lms_id="b.login"), Student("s3", "C")]
    data, _ = write([standing(s) for s in students], "canvas")
    assert data[3:].startswith(b"Student,ID,"), "Canvas looks into the first cell: no quotes between the BOM and it"
    assert list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))[1:] == [
        ["    Points Possible", "", "", "", "", "9.5"],
        ["A", "4711", "s1", "s1", "", "5.8"],
        ["B", "", "s2", "b.login", "", "5.8"],
        ["C", "", "s3", "s3", "", "5.8"],
    ]


def test_ids_that_a_spreadsheet_program_spoils_are_named(write):
    _, remarks = write([standing(Student(i)) for i in IDS], "generic")
    formula, changed = remarks
    assert formula.startswith("=7, @zhang, -5 would be a formula")
    assert "ids such as 00123, 1E5, 12345678901234567890 and 1 more" in changed
    assert write([standing(Student("s2026001", email="a@example.org"))], "generic")[1] == []


def test_our_own_reader_reads_it(write, tmp_path):
    write(AWKWARD, "generic")
    assert [row["student_id"] for row in read_table(tmp_path / "a1" / "marks-generic.csv")] == IDS


def test_an_unknown_format_and_a_file_that_cannot_be_written_are_said(write, tmp_path):
    with pytest.raises(Problem, match="choose one of canvas, moodle, generic"):
        write(KINDS, "blackboard")
    (tmp_path / "a1" / "marks-generic.csv").mkdir(parents=True)
    with pytest.raises(Problem, match="open in another program"):
        write(KINDS, "generic")
    assert [p.name for p in (tmp_path / "a1").iterdir()] == ["marks-generic.csv"], "no half of a file stays"


def test_the_locale_does_not_matter(tmp_path):
    name, number = ascii("王, 小明"), ascii("学号1")
    script = f"""
from attention_grading import export as module
from attention_grading.classroom import Classroom, Student
from types import SimpleNamespace as S
marks = dict(status="graded", late=False, points={{"q1": 1.5}}, of={{"q1": 2}}, total=1.5)
one = S(student=Student({number}, {name}), **marks)
module.standing = lambda classroom, name: [one]
open({str(tmp_path / "roster.csv")!r}, "w").write("student_id\\n")
module.export(Classroom({str(tmp_path)!r}), "a1", "moodle")
"""
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "PYTHONUTF8"))}
    subprocess.run([sys.executable, "-c", script], env=plain | {"LC_ALL": "C", "PYTHONUTF8": "0"}, check=True)
    [row] = rows((tmp_path / "a1" / "marks-moodle.csv").read_bytes())
    assert (row["ID number"], row["Full name"], row["q1"]) == ("学号1", "王, 小明", "1.5")
