"""Where students stand: their status and points, and what an instructor sees at a glance."""

import itertools
import json
import math
import shutil

import pytest

from attention_grading import Assignment, Classroom, Problem
from attention_grading import grade as grading
from attention_grading.classroom import read_json, write, write_json
from attention_grading.grade import grade
from attention_grading.release import release
from attention_grading.standing import STATUSES, standing, status, table, width
from grading_class import TINY, Here, collect, right, tiny_class, unstable

IDS = {"2024001": "王小明", "2024002": "Zoë O’Neill", "a/b": "=1+1", "２０": "欧阳娜娜", "e": "Ali", "f": "Bo"}


@pytest.fixture
def classroom(tmp_path, monkeypatch):
    """Six students: all right; overflowing and late; only q1, and wrong; blank; e missing; f unreadable."""
    monkeypatch.setattr(grading, "Session", Here)
    monkeypatch.setattr(grading, "require", lambda *private: None)
    classroom = tiny_class(tmp_path / "class", [(id, name, "") for id, name in IDS.items()])
    collect(classroom, "2024001", right(classroom, "2024001"))
    collect(classroom, "２０", {})
    collect(classroom, "2024002", unstable(classroom, "2024002"), late=True)
    collect(classroom, "a/b", {"q1": "def softmax(x):\n    return x\n"})
    collect(classroom, "f", {}, readable=False, look=[{"zh": "是 PDF。", "en": "It is a PDF."}])
    return classroom


def mark(classroom, **marks):
    """By hand.   marks: id with _ for / = {question: points}"""
    path = classroom.of("tiny", "marked.json")
    kept = read_json(path) or {}
    for id, of in marks.items():
        kept[id] = {key: {"points": number, "comment": f"on {key}"} for key, number in of.items()}
    write_json(path, kept)


def by_id(classroom):
    return {s.student.id: s for s in standing(classroom, "tiny")}


def statuses(classroom):
    return {id: s.status for id, s in by_id(classroom).items()}


def test_before_anything_is_graded(classroom):
    found = standing(classroom, "tiny")
    assert [s.student.id for s in found] == list(IDS)
    assert [s.status for s in found] == ["not graded"] * 4 + ["missing", "failed"]
    assert all(s.of == {"q1": 1.5, "q2": 3, "q3": 5} and s.record is None for s in found)
    assert [s.late for s in found] == [False, True, False, False, False, False]
    assert [s.points["q1"] for s in found] == [None] * 6 == [s.total for s in found]


def test_after_grading_and_before_marking(classroom):
    grade(classroom, "tiny")
    found = by_id(classroom)
    assert [s.status for s in found.values()] == [
        "needs marking", "needs marking", "graded", "graded", "missing", "failed",
    ]  # fmt: skip
    nothing = {"q1": None, "q2": None, "q3": None}
    assert [s.points for s in found.values()] == [
        {"q1": 1.5, "q2": 3, "q3": None},
        {"q1": 1, "q2": 3, "q3": None},
        {"q1": 0, "q2": 0, "q3": 0},  # the written question is blank
        {"q1": 0, "q2": 0, "q3": 0},
        nothing,
        nothing,
    ]
    assert [s.total for s in found.values()] == [None, None, 0, 0, None, None]
    assert found["2024002"].record["questions"]["q1"]["points"] == 1
    assert found["f"].record["reason"].startswith("It is a PDF. The file is in ")
    assert found["f"].look == [{"zh": "是 PDF。", "en": "It is a PDF."}]


def test_marks_by_hand_complete_the_total(classroom):
    grade(classroom, "tiny")
    mark(classroom, **{"2024001": {"q3": 4.5}, "2024002": {"q3": 0}, "a/b": {"q3": 0.5}})
    found = by_id(classroom)
    assert {id: s.total for id, s in found.items() if s.status == "graded"} == {
        "2024001": 9, "2024002": 4, "a/b": 0.5, "２０": 0,
    }  # fmt: skip
    assert found["2024001"].comments == {"q3": "on q3"} and found["２０"].comments == {}


def test_a_person_overrules_the_grader(classroom):
    """For a question that was graded, a submission that failed, or one that came on paper."""
    grade(classroom, "tiny")
    mark(classroom, **{"a/b": {"q1": 1}, "e": {"q1": 1, "q2": 2, "q3": 3}, "f": {"q1": 1, "q3": 5}})
    found = by_id(classroom)
    assert found["a/b"].points == {"q1": 1, "q2": 0, "q3": 0} and found["a/b"].total == 1
    assert (found["e"].status, found["e"].total) == ("graded", 6)
    assert found["f"].points == {"q1": 1, "q2": None, "q3": 5}
    assert (found["f"].status, found["f"].total) == ("failed", None)


def test_marks_of_nobody_and_of_no_question_are_nothing(classroom):
    grade(classroom, "tiny")
    before = by_id(classroom)
    mark(classroom, nobody={"q1": 1}, e={"q9": 1})
    assert {id: s.points for id, s in by_id(classroom).items()} == {id: s.points for id, s in before.items()}


def test_grading_again_leaves_the_marks_alone(classroom):
    mark(classroom, **{"2024001": {"q3": 4.5}})
    path = classroom.of("tiny", "marked.json")
    before = path.read_bytes()
    grade(classroom, "tiny")
    grade(classroom, "tiny", again=True)
    assert path.read_bytes() == before and by_id(classroom)["2024001"].total == 9


def test_a_record_of_other_answers_or_another_master_does_not_count(classroom):
    grade(classroom, "tiny")
    collect(classroom, "2024001", unstable(classroom, "2024001"))
    found = by_id(classroom)["2024001"]
    assert (found.status, found.record, found.points) == ("not graded", None, {"q1": None, "q2": None, "q3": None})
    with classroom.of("tiny", "master", "tiny.py").open("a") as master:
        master.write("\n")
    assert list(statuses(classroom).values()) == ["not graded"] * 4 + ["missing", "failed"]
    grade(classroom, "tiny")
    assert by_id(classroom)["2024001"].points["q1"] == 1


@pytest.mark.parametrize("text", ["", "[1]", "{}"])
def test_a_damaged_record_is_none(classroom, text):
    grade(classroom, "tiny")
    classroom.of("tiny", "grades", "２０.json").write_text(text)
    assert statuses(classroom)["２０"] == "not graded" and statuses(classroom)["a/b"] == "graded"


@pytest.mark.parametrize(
    "text", ["", "[1]", '{"e": 3}', '{"e": {"q1": 3}}', '{"e": {"q1": {}}}', '{"e": {"q1": {"points": "3"}}}',
             '{"e": {"q1": {"points": NaN}}}', '{"e": {"q1": {"points": null}}}'],
)  # fmt: skip
def test_damaged_marks_by_hand_are_a_sentence(classroom, text):
    classroom.of("tiny", "marked.json").write_text(text)
    with pytest.raises(Problem, match=r"marked.json.* is damaged: bring it back from a copy"):
        standing(classroom, "tiny")


def test_no_points_out_of_nothing_whatever_is_there(classroom):
    """Every mixture of what came, what the grader said and what a person said."""
    student = classroom.roster()[0]
    assignment = Assignment(classroom.of("tiny", "master", "tiny.ipynb"))
    about = {"student": student.id, "submission": "now", "master": assignment.digest, "task": "t", "notes": []}
    automatic = {"q1": {"points": 1, "of": 1.5, "parts": []}, "q2": {"points": 2, "of": 3, "parts": []}}
    records = {
        "none": None,
        "graded": about | {"status": "graded", "questions": automatic},
        "failed": about | {"status": "failed", "questions": {}, "reason": "why"},
        "of other answers": about | {"status": "graded", "questions": automatic, "submission": "before"},
        "by another master": about | {"status": "graded", "questions": automatic, "master": "other"},
    }
    marks = {"none": {}, "written": {"q3": 4}, "all": {"q1": 0.5, "q2": 1, "q3": 4}}
    seen = set()
    for came, record, marked, blank in itertools.product(("no", "unreadable", "yes"), records, marks, (True, False)):
        entry = {"sha": "now", "readable": came == "yes", "blank": ["q3"] if blank else [], "look": []}
        entry |= {"file": "a.ipynb", "time": None, "late": False, "repaired": []}
        write_json(classroom.of("tiny", "collected.json"), {"students": {student.id: entry} if came != "no" else {}})
        if records[record]:
            write_json(classroom.of("tiny", "grades", f"{student.file}.json"), records[record])
        else:
            classroom.of("tiny", "grades", f"{student.file}.json").unlink(missing_ok=True)
        mark(classroom, **{student.id: marks[marked]})
        s = standing(classroom, "tiny")[0]
        seen.add(s.status)
        usable = came != "no" and record == "graded"
        for key in ("q1", "q2"):
            assert s.points[key] == marks[marked].get(key, automatic[key]["points"] if usable else None)
        assert s.points["q3"] == marks[marked].get("q3", 0 if came == "yes" and blank else None)
        complete = None not in s.points.values()
        assert s.total == (sum(s.points.values()) if complete else None)
        assert (s.status == "graded") == complete
        if not complete and came != "yes":
            assert s.status == ("missing" if came == "no" else "failed")
        if not complete and came == "yes":
            expected = {"graded": "needs marking", "failed": "failed"}
            assert s.status == expected.get(record, "not graded")
    assert seen == set(STATUSES)


# At a glance


def test_status_of_one_assignment(classroom, monkeypatch):
    monkeypatch.chdir(classroom.folder)
    classroom = Classroom()
    grade(classroom, "tiny")
    assert status(classroom, "tiny") == (
        "tiny: 6 students, 9.5 points\n"
        "\n"
        "status         students  late  who\n"
        "missing               1     0  e\n"
        "not graded            0     0\n"
        "failed                1     0  f\n"
        "needs marking         2     1  2024001, 2024002\n"
        "graded                2     0\n"
        "\n"
        "Of the graded: mean 0.00, median 0, from 0 to 0.\n"
        "\n"
        "Points lost most often:\n"
        "  q1, large scores    3 of 4  The result contains NaN or infinity.\n"
        "  q1, ordinary input  2 of 4  The shape is right, but the numbers are not.\n"
        "  q2, square          2 of 4  Not answered.\n"
        "  and 1 more\n"
        "\n"
        "Look at these:\n"
        "  f  Bo  It is a PDF. The file is in tiny/received: ask for another, or give the point…\n"
        "\n"
        "Next: attn mark tiny"
    )


def test_what_to_do_next(classroom):
    where = f" --class {classroom.folder}"

    def next_line():
        return status(classroom, "tiny").splitlines()[-1].removeprefix("Next: ")

    assert next_line() == "attn grade tiny" + where
    grade(classroom, "tiny")
    assert next_line() == "attn mark tiny" + where
    mark(classroom, **{"2024001": {"q3": 4.5}, "2024002": {"q3": 0}})
    assert next_line() == f"attn grade tiny{where}, once the failures are fixed"
    mark(classroom, f={"q1": 0, "q2": 0, "q3": 0})
    assert next_line().startswith(f"attn feedback tiny{where}, then attn export tiny --lms canvas{where}")
    classroom.of("tiny", "collected.json").unlink()
    classroom.of("tiny", "marked.json").unlink()
    assert next_line() == "attn collect tiny DOWNLOAD" + where


def test_status_of_all_assignments(classroom, tmp_path):
    for file in (TINY, TINY.with_suffix(".py")):
        shutil.copy(file, tmp_path / f"作业 二{file.suffix}")
    release(classroom, tmp_path / "作业 二.ipynb")
    grade(classroom, "tiny")
    head, tiny, other = status(classroom).splitlines()
    assert head.split()[:3] == ["assignment", "missing", "not"]
    assert tiny.split()[:8] == ["tiny", "1", "0", "1", "2", "2", "0", "9.5"] and "attn mark tiny" in tiny
    assert other.split()[:9] == ["作业", "二", "6", "0", "0", "0", "0", "–", "9.5"]
    assert f"attn collect '作业 二' DOWNLOAD --class {classroom.folder}" in other
    # 作业 二 takes 7 columns of a terminal and 4 places of a text
    assert tiny.index("attn") == head.index("next") == other.index("attn") + 3


def test_nothing_released(tmp_path):
    (tmp_path / "roster.csv").write_text("student_id\n1\n")
    assert status(Classroom(tmp_path)).startswith("Nothing has been released yet. Next: attn release MASTER.ipynb")
    with pytest.raises(Problem, match="tiny was not released"):
        status(Classroom(tmp_path), "tiny")


def test_a_thousand_students_at_a_glance(classroom):
    """At most 25 lines of at most 120 columns, with everything that can be said."""
    ids = [f"学号{n:04}" for n in range(1000)]
    write(classroom.folder / "roster.csv", "id,name\n" + "".join(f"{id},{'诸葛' * 9}\n" for id in ids))
    digest = Assignment(classroom.of("tiny", "master", "tiny.ipynb")).digest
    entries, grades = {}, classroom.of("tiny", "grades")
    grades.mkdir()
    for n, id in enumerate(ids[200:], start=200):
        look = [{"zh": "看", "en": "Look " * 50}] * 2
        entries[id] = {"sha": "s", "readable": n % 7 > 0, "blank": [], "late": n % 2 > 0, "look": look}
        entries[id] |= {"file": "a.ipynb", "time": None, "repaired": []}
        why = {"zh": "错", "en": f"Wrong {n % 3} " * 20}
        parts = [{"points": 0, "of": 1, "zh": "部分", "en": f"part {i} " * 20, "why": why} for i in range(8)]
        questions = {key: {"points": 0, "of": 3, "parts": parts} for key in ("q1", "q2")}
        kept = {"student": id, "status": "graded", "submission": "s", "master": digest, "task": "t", "notes": []}
        if n > 400:
            (grades / f"{id}.json").write_text(json.dumps(kept | {"questions": questions}))
    write_json(classroom.of("tiny", "collected.json"), {"students": entries})
    mark(classroom, **{id: {"q3": 3} for id in ids[700:]})
    text = status(classroom, "tiny")
    lines = text.splitlines()
    assert lines[0] == "tiny: 1000 students, 9.5 points"
    counts = [int(next(word for word in line.split() if word.isdigit())) for line in lines[3:8]]
    assert sum(counts) == 1000 and all(counts)
    assert len(lines) <= 25 and max(map(width, lines)) <= 120
    assert "Points lost" in text and "Look at these" in text and "and 13 more" in text and "mean 3.00" in text


def test_columns_stand_one_below_the_other_in_any_script():
    rows = [["王小明", "|"], ["Zoë", "|"], ["Zoe\u0308", "|"], ["ｶﾅ", "|"], ["＝１", "|"], ["नमस्ते", "|"], ["", "|"]]
    columns = {"王小明": 6, "Zoë": 3, "Zoe\u0308": 3, "ｶﾅ": 2, "＝１": 4, "नमस्ते": 4, "": 0}
    for (text, _), line in zip(rows, table(rows), strict=True):
        assert line == text + " " * (6 - columns[text]) + "  |"
    assert table([["王", "1"], ["a", "10"]], right=(1,)) == ["王   1", "a   10"]


def test_names_cannot_steer_the_terminal(classroom):
    write(classroom.folder / "roster.csv", "id,name\nf,\x1b[2J\u202eevil\u200d\n")
    text = status(classroom, "tiny")
    assert "�[2J�evil\u200d" in text and not set(text) & set("\x1b\u202e")


def test_totals_are_decimal(classroom):
    """0.1 + 0.2 is 0.3 on a list of marks."""
    mark(classroom, e={"q1": 0.1, "q2": 0.2, "q3": 0})
    assert by_id(classroom)["e"].total == 0.3 != math.nextafter(0.3, 1)


def test_why_somebody_failed_is_said_once(classroom):
    """Before grading by who collected; after it by the grader, in whose reason that stands."""
    for grading_ in (lambda: None, lambda: grade(classroom, "tiny")):
        grading_()
        line = next(line for line in status(classroom, "tiny").splitlines() if "Bo" in line)
        assert line.count("It is a PDF.") == 1 and "more)" not in line
    collect(classroom, "f", {}, readable=False)
    classroom.of("tiny", "grades", "f.json").unlink()
    assert "What was handed in cannot be read as a notebook." in status(classroom, "tiny")
