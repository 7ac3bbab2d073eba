"""Whose file is it, which of several, late or not: the names that Canvas, Moodle and people make, and hostile ones."""

import io
import json
import os
import struct
import zipfile
from datetime import datetime

import nbformat
import pytest

from attention_grading import Problem
from attention_grading import download as download_module
from attention_grading.classroom import Student
from attention_grading.collect import MOST_LINES, collect, collected
from attention_grading.release import release
from attention_grading.whose import Whose
from grading_class import TINY, make_class

ROSTER = """student_id,name,language,lms_id,email
20230001,张三,zh,501,zs@x.edu
20230002,李四,en,502,
20230003,"García López, Ana",both,503,
20230004,王伟,,504,
20230005,王伟,,505,
2023,Zhang San Feng,,506,
s-1,O'Brien Tim,,507,
s-1-b,欧阳 娜娜,,508,
7,Lee An,,509,
"""
DAY = (2026, 11, 20, 12, 0, 0)


@pytest.fixture
def course(tmp_path):
    course = make_class(tmp_path / "class", ROSTER)
    release(course, TINY)
    return course


def answered(course, student, softmax="return x", essay="因为。"):
    """The bytes of a student's notebook with answers."""
    path = course.of("tiny", "students", f"{student}.ipynb")
    notebook = nbformat.read(path, 4)
    for cell in notebook.cells:
        if cell.id == "q1":
            cell.source = f"def softmax(x):\n    {softmax}"
        if cell.id == "q3":
            cell.source = essay
    return nbformat.writes(notebook).encode()


def anonymous(data):
    """A notebook that does not say whose it is."""
    notebook = json.loads(data)
    notebook["metadata"] = {}
    return json.dumps(notebook).encode()


def packed(path, entries, time=DAY):
    """A zip of {name: bytes} or [(name, bytes, time)]."""
    entries = [(*one, time) for one in entries.items()] if isinstance(entries, dict) else entries
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data, when in entries:
            info = zipfile.ZipInfo(name, when)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return path


def zipped(entries):
    buffer = io.BytesIO()
    packed(buffer, entries)
    return buffer.getvalue()


def records(course):
    return json.loads(course.of("tiny", "collected.json").read_text("utf-8"))["students"]


def english(notes):
    return " ".join(one["en"] for one in notes)


def clean(course, student):
    return course.of("tiny", "submissions", f"{student}.ipynb").read_text("utf-8")


MINE = {
    "canvas": "zhangsan_501_7001_tiny.ipynb",
    "canvas late": "zhangsan_LATE_501_7001_tiny-1.ipynb",
    "canvas, lower case": "garcíalópezana_late_99_7001_my_hw.ipynb",
    "canvas without a known number": "obrientim_99_7001_tiny.ipynb",
    "canvas, anonymous": "502_7001_tiny.ipynb",
    "moodle": "Ana García López_123_assignsubmission_file_/tiny.ipynb",
    "moodle, new": "Ana García López_123_assignsubmission_file/tiny.ipynb",
    "moodle, one folder": "Ana García López_123_assignsubmission_file_tiny.ipynb",
    "moodle with groups": "Group A-张三_123_assignsubmission_file_/tiny.ipynb",
    "moodle, blind": "Participant_502_assignsubmission_file_/tiny.ipynb",
    "id": "20230002.ipynb",
    "id and more": "hw1_20230002(1).ipynb",
    "id beside a name": "作业张三20230001.ipynb",
    "folder": "submissions/20230002/deep/er/hw.ipynb",
    "name": "第一次作业-张三.ipynb",
    "name of two words": "欧阳娜娜 (1).ipynb",
    "accents taken away": "Ana Garcia Lopez hw.ipynb",
    "decomposed": "Ana Garci\u0301a Lo\u0301pez.ipynb",
    "full width": "２０２３０００２＿作业.ipynb",
    "e-mail": "zs@x.edu hw.ipynb",
    "a longer id": "s-1-b.ipynb",
    "a short id": "7.ipynb",
    "two namesakes and an id": "王伟_20230005.ipynb",
    "moodle, and a student who plays Moodle": "张三_1_assignsubmission_file_x_2_assignsubmission_file_y.ipynb",
    "txt": "20230002.ipynb.txt",
    "zip": "20230002.zip/hw.ipynb",
}
WHOSE = {
    "canvas": "20230001", "canvas late": "20230001", "canvas, lower case": "20230003",
    "canvas without a known number": "s-1", "canvas, anonymous": "20230002", "moodle": "20230003",
    "moodle, new": "20230003", "moodle, one folder": "20230003", "moodle with groups": "20230001",
    "moodle, blind": "20230002", "id": "20230002", "id and more": "20230002", "id beside a name": "20230001",
    "folder": "20230002", "name": "20230001", "name of two words": "s-1-b", "accents taken away": "20230003",
    "decomposed": "20230003", "full width": "20230002", "e-mail": "20230001", "a longer id": "s-1-b",
    "moodle, and a student who plays Moodle": "20230001",
    "a short id": "7", "two namesakes and an id": "20230005", "txt": "20230002", "zip": "20230002",
}  # fmt: skip


@pytest.mark.parametrize("kind", MINE)
def test_whose_a_file_is(course, kind):
    found = Whose(course.roster()).of((MINE[kind],))
    assert (found.student, found.look) == (WHOSE[kind], [])
    assert found.late == (None if "canvas" not in kind else "late" in kind or "lower" in kind)


def test_an_id_or_name_within_another_is_not_meant():
    whose = Whose([Student("2023-1", "Li Wei"), Student("2023-1-b", "Li Wei Min")])
    assert whose.of(("2023-1-b_hw.ipynb",)).student == "2023-1-b"
    assert whose.of(("2023-1_hw.ipynb",)).student == "2023-1"
    assert whose.of(("Li Wei Min hw.ipynb",)).student == "2023-1-b"


NOBODYS = [
    "hw.ipynb", "tiny (1).ipynb", "hw (7).ipynb", "hw1202300011.ipynb", "2023000.ipynb", "王伟.ipynb",
    "作业张三丰.ipynb", "张三_20230002.ipynb", "20230001_20230002.ipynb", "lisi_8_9_tiny.ipynb",
    "李四_501_7001_tiny.ipynb", "王伟_9_8_a.ipynb", "Wang Wei_12_assignsubmission_file_/a.ipynb",
]  # fmt: skip


@pytest.mark.parametrize("name", NOBODYS)
def test_what_is_not_certain_is_nobodys(course, name):
    found = Whose(course.roster()).of((name,))
    assert found.student is None and found.why


@pytest.mark.parametrize("name, words", [
    ("zhangsan_501_7001_20230002.ipynb", "names another student: 20230002"),
    ("张三/李四.ipynb", "names another student: 20230002"),
    ("王伟_3_assignsubmission_file_/20230004.ipynb", "the file's name decided"),
    ("somebody_3_assignsubmission_file_/20230004.ipynb", "not in the roster"),
    ("somebody_20230004_7001_tiny.ipynb", "Only the number"),
])  # fmt: skip
def test_doubts_are_for_a_human(course, name, words):
    found = Whose(course.roster()).of((name,))
    assert found.student and words in english(found.look)


def test_a_class_from_canvas(course, tmp_path):
    path = packed(tmp_path / "submissions.zip", {
        "zhangsan_501_7001_tiny.ipynb": answered(course, "20230001"),
        "lisi_LATE_502_7002_tiny-1.ipynb": answered(course, "20230002", "return 2 * x"),
        "wangwei_504_7003_report.pdf": b"%PDF-1.7",
        "obrientim_507_text.html": b"<html>my answer</html>",
    })  # fmt: skip
    result = collect(course, "tiny", path, deadline="2026-11-01")
    found = records(course)
    assert list(found) == ["20230001", "20230002", "20230004", "s-1"]
    assert [found[s]["late"] for s in found] == [False, True, False, False], "the mark, not the time of the zip"
    assert [found[s]["readable"] for s in found] == [True, True, False, False]
    assert "a file .pdf" in english(found["20230004"]["look"]) and "a file .html" in english(found["s-1"]["look"])
    assert "return 2 * x" in clean(course, "20230002") and found["20230001"]["blank"] == ["q2"]
    assert result.missing == ["20230003", "20230005", "2023", "s-1-b", "7"] and result.late == ["20230002"]
    assert course.of("tiny", "received", "20230001.ipynb").read_bytes() == answered(course, "20230001")
    assert "4 of 9 students" in str(result) and "Late: 1." in str(result)


@pytest.mark.parametrize("encoding", ["gbk", "utf-8"])
def test_chinese_names_in_a_zip_that_does_not_tell_its_encoding(course, tmp_path, encoding):
    raw = "张三_第一次.ipynb".encode(encoding)
    path = packed(tmp_path / "d.zip", {"?" * len(raw): anonymous(answered(course, "20230001"))})
    path.write_bytes(path.read_bytes().replace(b"?" * len(raw), raw))
    collect(course, "tiny", path)
    assert records(course)["20230001"]["file"] == "张三_第一次.ipynb"


def test_a_name_from_a_western_windows(course, tmp_path):
    raw = "Ana García López.ipynb".encode("cp437")
    path = packed(tmp_path / "d.zip", {"?" * len(raw): anonymous(answered(course, "20230003"))})
    path.write_bytes(path.read_bytes().replace(b"?" * len(raw), raw))
    collect(course, "tiny", path)
    assert list(records(course)) == ["20230003"]


def test_a_folder_is_as_good_as_a_zip(course, tmp_path):
    folder = tmp_path / "d" / "20230001"
    folder.mkdir(parents=True)
    (folder / "a.ipynb").write_bytes(answered(course, "20230001"))
    (tmp_path / "d" / "20230002.zip").write_bytes(zipped({"x/hw.ipynb": answered(course, "20230002")}))
    collect(course, "tiny", tmp_path / "d")
    assert {s: r["file"] for s, r in records(course).items()} == {
        "20230001": "20230001/a.ipynb",
        "20230002": "20230002.zip/x/hw.ipynb",
    }


def test_what_the_notebook_itself_says_is_for_a_human(course, tmp_path):
    path = packed(tmp_path / "d.zip", {"tiny.ipynb": answered(course, "20230001")})
    result = collect(course, "tiny", path)
    assert "anybody can write that" in english(records(course)["20230001"]["look"]) and result.unmatched == []


def test_a_notebook_cannot_take_another_s_place(course, tmp_path):
    entries = {"20230001.ipynb": answered(course, "20230001"), "x.ipynb": answered(course, "20230001", "return 0")}
    result = collect(course, "tiny", packed(tmp_path / "d.zip", entries))
    assert "return x" in clean(course, "20230001")
    assert [one["file"] for one in result.unmatched] == ["x.ipynb"]
    two = {"x.ipynb": answered(course, "20230002"), "y.ipynb": answered(course, "20230002", "return 0")}
    result = collect(course, "tiny", packed(tmp_path / "e.zip", two))
    assert sorted(one["file"] for one in result.unmatched) == ["x.ipynb", "y.ipynb"]
    assert list(records(course)) == ["20230001"]


def test_somebody_else_s_notebook_is_his_by_the_lms_and_told(course, tmp_path):
    path = packed(tmp_path / "d.zip", {"lisi_502_7001_tiny.ipynb": answered(course, "20230001")})
    collect(course, "tiny", path)
    found = records(course)
    assert list(found) == ["20230002"]
    assert "handed out to 20230001 张三" in english(found["20230002"]["look"])
    assert "20230001" not in clean(course, "20230002")


def test_an_id_that_was_changed_after_the_release_is_told(course, tmp_path):
    path = packed(tmp_path / "d.zip", {"张三/tiny.ipynb": answered(course, "20230001")})
    (course.folder / "roster.csv").write_text(ROSTER.replace("20230001", "20239999"), "utf-8")
    collect(course, "tiny", path)
    assert "handed out to 20230001, who is not in the roster" in english(records(course)["20239999"]["look"])


@pytest.mark.parametrize("top", ["李四老师的班", "20230002 marks/2026"])
def test_the_folder_that_everything_lies_in_says_nothing(course, tmp_path, top):
    entries = {f"{top}/{name}": answered(course, "20230001") for name in ("20230001.ipynb", "张伟_9_7_tiny.ipynb")}
    entries[f"{top}/20230003.ipynb"] = answered(course, "20230003")
    collect(course, "tiny", packed(tmp_path / "d.zip", entries))
    assert list(records(course)) == ["20230001", "20230003"]


def test_a_match_moves_a_file_and_lasts(course, tmp_path):
    """The student whose file it was not keeps none of it, and the next run without the table decides the same."""
    path = packed(tmp_path / "d.zip", {"20230001.ipynb": answered(course, "20230002"), "x.ipynb": b"{}"})
    collect(course, "tiny", path)
    assert list(records(course)) == ["20230001"]
    table = tmp_path / "m.csv"
    table.write_text("file,student_id\n20230001.ipynb,20230002\n")
    result = collect(course, "tiny", path, matches=table)
    assert list(records(course)) == ["20230002"]
    assert "20230001: 20230001.ipynb is 20230002's and was taken back." in str(result)
    found = course.of("tiny", "collected.json").read_bytes()
    collect(course, "tiny", path)
    assert course.of("tiny", "collected.json").read_bytes() == found
    other = packed(tmp_path / "e.zip", {"20230001.ipynb": answered(course, "20230001"), "x.ipynb": b"{}"})
    collect(course, "tiny", other)
    assert list(records(course)) == ["20230001", "20230002"], "another file of that name is another matter"
    table.write_text("file,student_id\nx.ipynb,20230002\nx.ipynb,20230001\n")
    with pytest.raises(Problem, match="gives x.ipynb to 20230002 and to 20230001"):
        collect(course, "tiny", path, matches=table)


def test_the_deadline_is_remembered(course, tmp_path):
    late = packed(tmp_path / "d.zip", {"20230001.ipynb": answered(course, "20230001")})
    collect(course, "tiny", packed(tmp_path / "e.zip", {"20230002.ipynb": b"{}"}), deadline="2026-11-19")
    assert "The deadline was 2026-11-19 23:59:59" in str(collect(course, "tiny", late))
    assert records(course)["20230001"]["late"] is True


def test_a_second_collection_that_was_interrupted_is_told_until_it_is_done_again(course, tmp_path, monkeypatch):
    collect(course, "tiny", packed(tmp_path / "d.zip", {"20230001.ipynb": answered(course, "20230001")}))
    path = packed(
        tmp_path / "e.zip", {"20230001.ipynb": answered(course, "20230001", "return 2")}, (2026, 11, 21, 0, 0, 0)
    )

    def keep(*args):
        real(*args)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        from attention_grading.collect import keep as real

        patch.setattr("attention_grading.collect.keep", keep)
        with pytest.raises(KeyboardInterrupt):
            collect(course, "tiny", path)
    assert "return 2" in clean(course, "20230001")
    with pytest.raises(Problem, match="interrupted: run the same attn collect once more"):
        collected(course, "tiny")
    assert collect(course, "tiny", path).replaced == ["20230001"]
    assert collected(course, "tiny")["students"].keys() == {"20230001"}


@pytest.mark.parametrize("value", ["[]", "3", "{}", '{"students": []}', '{"students": {"1": 3}}'])
def test_damaged_records_are_a_sentence(course, tmp_path, value):
    course.of("tiny", "collected.json").write_text(value)
    with pytest.raises(Problem, match="collected.json is damaged"):
        collect(course, "tiny", packed(tmp_path / "d.zip", {"20230001.ipynb": b"{}"}), replace=True)


def test_the_instructor_decides(course, tmp_path):
    path = packed(tmp_path / "d.zip", {"王伟.ipynb": anonymous(answered(course, "20230004")), "a,b.ipynb": b"{}"})
    result = collect(course, "tiny", path)
    assert [one["file"] for one in result.unmatched] == ["王伟.ipynb", "a,b.ipynb"]
    assert "20230004" in result.unmatched[0]["why"] and "20230005" in result.unmatched[0]["why"]
    printed = str(result)
    table = tmp_path / "m.csv"
    table.write_text(printed[printed.index("file,student_id") :].replace('"a,b.ipynb",', '"a,b.ipynb",').replace(
        "王伟.ipynb,", "王伟.ipynb,20230004"), "utf-8")  # fmt: skip
    result = collect(course, "tiny", path, matches=table)
    assert list(records(course)) == ["20230004"] and [one["file"] for one in result.unmatched] == ["a,b.ipynb"]
    table.write_text("file,student_id\ngone.ipynb,20230001\n")
    assert "gone.ipynb, which is not in the download" in str(collect(course, "tiny", path, matches=table))
    for text, words in {
        "file,id\na,b\n": "needs the columns",
        "file,student_id\na,nobody\n": "not in the roster",
    }.items():
        table.write_text(text)
        with pytest.raises(Problem, match=words):
            collect(course, "tiny", path, matches=table)
    with pytest.raises(Problem, match="is not there"):
        collect(course, "tiny", path, matches=tmp_path / "none.csv")


# Several, late


def local(*time):
    return datetime(*time).astimezone()


def test_the_last_before_the_deadline_counts(course, tmp_path):
    first, second, third = (answered(course, "20230001", f"return {n}") for n in (1, 2, 3))
    entries = [
        ("20230001/a.ipynb", third, (2026, 11, 22, 0, 0, 0)),
        ("20230001/b.ipynb", first, (2026, 11, 18, 0, 0, 0)),
        ("20230001/c.ipynb", second, (2026, 11, 20, 0, 0, 0)),
    ]
    path = packed(tmp_path / "d.zip", entries)
    collect(course, "tiny", path, deadline="2026-11-21 12:00")
    found = records(course)["20230001"]
    assert (found["file"], found["late"], found["look"]) == ("20230001/c.ipynb", False, [])
    assert datetime.fromisoformat(found["time"]) == local(2026, 11, 20)
    assert "3 notebooks came" in english(found["repaired"]) and "return 2" in clean(course, "20230001")


def test_of_late_ones_the_last_counts(course, tmp_path):
    entries = [
        ("20230001/a.ipynb", answered(course, "20230001", "return 1"), (2026, 11, 22, 0, 0, 0)),
        ("20230001/b.ipynb", answered(course, "20230001", "return 2"), (2026, 11, 23, 0, 0, 0)),
    ]
    collect(course, "tiny", packed(tmp_path / "d.zip", entries), deadline="2026-11-21")
    found = records(course)["20230001"]
    assert (found["file"], found["late"]) == ("20230001/b.ipynb", True)


@pytest.mark.parametrize("deadline, late", [
    ("2026-11-20", False), ("2026-11-19", True), ("2026-11-20T12:00", False), ("2026-11-20 11:59", True),
])  # fmt: skip
def test_the_deadline(course, tmp_path, deadline, late):
    path = packed(tmp_path / "d.zip", {"20230001.ipynb": answered(course, "20230001")})
    collect(course, "tiny", path, deadline=deadline)
    assert records(course)["20230001"]["late"] is late


def test_a_zone_counts_where_the_time_is_known(course, tmp_path):
    (tmp_path / "d").mkdir()
    file = tmp_path / "d" / "20230001.ipynb"
    file.write_bytes(answered(course, "20230001"))
    moment = datetime.fromisoformat("2026-11-20T12:00:00+00:00").timestamp()
    os.utime(file, (moment, moment))
    for deadline, late in {
        "2026-11-20T20:00+08:00": False,
        "2026-11-20T19:59+08:00": True,
        "2026-11-20T12:00Z": False,
    }.items():
        collect(course, "tiny", tmp_path / "d", deadline=deadline)
        assert records(course)["20230001"]["late"] is late


def test_the_time_with_a_zone_in_a_zip(course, tmp_path):
    moment = int(datetime.fromisoformat("2026-11-20T12:00:00+00:00").timestamp())
    info = zipfile.ZipInfo("20230001.ipynb", (2030, 1, 1, 0, 0, 0))
    info.extra = struct.pack("<HHBL", 0x5455, 5, 1, moment)
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
        archive.writestr(info, answered(course, "20230001"))
    collect(course, "tiny", tmp_path / "d.zip")
    assert datetime.fromisoformat(records(course)["20230001"]["time"]).timestamp() == moment


def test_a_time_that_the_student_could_set_does_not_count(course, tmp_path):
    inner = io.BytesIO()
    packed(inner, [("hw.ipynb", answered(course, "20230001"), (2020, 1, 1, 0, 0, 0))])
    path = packed(tmp_path / "d.zip", {"20230001.zip": inner.getvalue()})
    collect(course, "tiny", path, deadline="2026-11-19")
    assert records(course)["20230001"]["late"] is True


@pytest.mark.parametrize("text", ["tomorrow", "20.11.2026", "2026-13-01", "23:59", "2026年11月20日"])
def test_a_deadline_that_is_none(course, tmp_path, text):
    with pytest.raises(Problem, match="is no time"):
        collect(course, "tiny", packed(tmp_path / "d.zip", {"20230001.ipynb": b""}), deadline=text)


def test_numbers_that_only_look_like_canvas_s(course, tmp_path):
    entries = {
        f"{name}_{id}_2026_hw.ipynb": answered(course, id) for name, id in (("张三", "20230001"), ("李四", "20230002"))
    }
    collect(course, "tiny", packed(tmp_path / "d.zip", entries), deadline="2026-11-01")
    assert [one["late"] for one in records(course).values()] == [True, True]


@pytest.mark.parametrize("name", ["20230001/hw_1_2_final.ipynb", "张三_1_2_hw.ipynb"])
def test_a_student_cannot_be_in_time_by_the_name_of_his_file(course, tmp_path, name):
    entries = {name: answered(course, "20230001"), "20230002.ipynb": answered(course, "20230002")}
    collect(course, "tiny", packed(tmp_path / "d.zip", entries), deadline="2026-11-01")
    assert records(course)["20230001"]["late"] is True


def test_two_notebooks_in_one_zip_from_canvas(course, tmp_path):
    data = zipped({"hw.ipynb": answered(course, "20230001"), "other.ipynb": b"{}"})
    path = packed(tmp_path / "d.zip", {"zhangsan_501_7001_a.zip": data, "lisi_LATE_502_7002_a.ipynb": b"{}"})
    collect(course, "tiny", path, deadline="2026-11-01")
    assert [one["late"] for one in records(course).values()] == [False, True]


def test_which_of_two_notebooks(course, tmp_path):
    blank = course.of("tiny", "students", "20230001.ipynb").read_bytes()
    other = nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")])).encode()
    mine = answered(course, "20230001")
    for number, wrong in enumerate((blank, other, b"{", b"%PDF")):
        later = {"20230001/a.ipynb": mine, "20230001/z.ipynb": wrong}
        collect(course, "tiny", packed(tmp_path / f"{number}.zip", later), replace=True)
        found = records(course)["20230001"]
        assert (found["file"], found["look"]) == ("20230001/a.ipynb", [])
    undecided = {"20230001/a.ipynb": mine, "20230001/z.ipynb": answered(course, "20230001", "return 7")}
    collect(course, "tiny", packed(tmp_path / "d.zip", undecided))
    assert "nothing says which is the last" in english(records(course)["20230001"]["look"])
    second = {"20230001/hw.ipynb": mine, "20230001/hw (2).ipynb": answered(course, "20230001", "return 8")}
    collect(course, "tiny", packed(tmp_path / "e.zip", second))
    found = records(course)["20230001"]
    assert (found["file"], found["look"]) == ("20230001/hw (2).ipynb", [])


def test_of_canvas_s_files_the_higher_number_is_the_later(course, tmp_path):
    entries = {f"zhangsan_501_{n}_tiny.ipynb": answered(course, "20230001", f"return {n}") for n in (900, 1001, 1000)}
    collect(course, "tiny", packed(tmp_path / "d.zip", entries))
    assert "return 1001" in clean(course, "20230001")


def test_two_files_of_one_name_are_two(course, tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = packed(tmp_path / "d.zip", [("hw.ipynb", b"{}", DAY), ("hw.ipynb", b"{ }", DAY)])
    assert [one["file"] for one in collect(course, "tiny", path).unmatched] == ["hw.ipynb", "hw.ipynb#2"]


# Again


def test_the_same_again_changes_nothing(course, tmp_path):
    path = packed(tmp_path / "d.zip", {"20230001.ipynb": answered(course, "20230001"), "x.ipynb": b"{}"})
    collect(course, "tiny", path)
    before = {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in course.of("tiny", "submissions").iterdir()}
    found = course.of("tiny", "collected.json").read_bytes()
    result = collect(course, "tiny", path)
    assert before == {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in course.of("tiny", "submissions").iterdir()}
    assert course.of("tiny", "collected.json").read_bytes() == found and result.same == ["20230001"]


def test_a_second_download(course, tmp_path):
    first = {
        "20230001.ipynb": answered(course, "20230001"),
        "20230002.ipynb": answered(course, "20230002"),
        "x.ipynb": b'{"a": 1}',
        "y.ipynb": b'{"a": 2}',
    }
    collect(course, "tiny", packed(tmp_path / "d.zip", first))
    course.of("tiny", "marked.json").write_text('{"20230001": {"q3": {"points": 3, "comment": ""}}}')
    second = {
        "20230001.ipynb": answered(course, "20230001", "return 2"),
        "20230003.ipynb": answered(course, "20230003"),
        "20230004.ipynb": b'{"a": 1}',
    }
    result = collect(course, "tiny", packed(tmp_path / "e.zip", second, (2026, 11, 27, 0, 0, 0)))
    assert list(records(course)) == ["20230001", "20230002", "20230003", "20230004"]
    assert "return 2" in clean(course, "20230001") and "return x" in clean(course, "20230002")
    assert "20230001: 20230001.ipynb replaces 20230001.ipynb. It was marked by hand" in str(result)
    assert [one["file"] for one in result.unmatched] == ["y.ipynb"], "x came again, with a name"


@pytest.mark.parametrize("time, data, words", [
    ((2026, 11, 28, 0, 0, 0), None, "which is late"),
    ((2026, 11, 1, 0, 0, 0), None, "which is older"),
    ((2026, 11, 21, 0, 0, 0), b"%PDF", "which cannot be read"),
])  # fmt: skip
def test_what_does_not_replace(course, tmp_path, time, data, words):
    data = data or answered(course, "20230001", "return 2")
    collect(course, "tiny", packed(tmp_path / "d.zip", {"20230001.ipynb": answered(course, "20230001")}))
    later = packed(tmp_path / "e.zip", {"20230001.ipynb": data}, time)
    for _ in range(2):
        result = collect(course, "tiny", later, deadline="2026-11-25")
        assert words in str(result) and "return x" in clean(course, "20230001")
        assert len(records(course)["20230001"]["look"]) == 1
    result = collect(course, "tiny", later, deadline="2026-11-25", replace=True)
    assert result.replaced == ["20230001"] and "return x" not in clean(course, "20230001")


def test_another_deadline_changes_who_is_late(course, tmp_path):
    path = packed(tmp_path / "d.zip", {"20230001.ipynb": answered(course, "20230001")})
    for deadline, late in {"2026-11-19": True, "2026-11-21": False, "2026-11-18": True}.items():
        collect(course, "tiny", path, deadline=deadline)
        assert records(course)["20230001"]["late"] is late


def test_whoever_left_the_roster_is_not_lost(course, tmp_path):
    collect(course, "tiny", packed(tmp_path / "d.zip", {"20230001.ipynb": answered(course, "20230001")}))
    (course.folder / "roster.csv").write_text("student_id,name\n20230002,李四\n")
    collect(course, "tiny", packed(tmp_path / "e.zip", {"20230002.ipynb": answered(course, "20230002")}))
    assert list(records(course)) == ["20230002", "20230001"]


def test_a_language_changed_in_the_roster_since(course, tmp_path):
    data = answered(course, "20230001")
    (course.folder / "roster.csv").write_text(ROSTER.replace("张三,zh", "张三,en"))
    collect(course, "tiny", packed(tmp_path / "d.zip", {"20230001.ipynb": data}))
    found = records(course)["20230001"]
    assert (found["repaired"], found["look"], found["blank"]) == ([], [], ["q2"])


def test_an_interrupted_collection_is_mended_by_the_next(course, tmp_path, monkeypatch):
    path = packed(tmp_path / "d.zip", {f"2023000{n}.ipynb": answered(course, f"2023000{n}") for n in (1, 2, 3)})
    done = []

    def stop(*args):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(args)
        write(*args)

    from attention_grading.collect import write

    with monkeypatch.context() as patch:
        patch.setattr("attention_grading.collect.write", stop)
        with pytest.raises(KeyboardInterrupt):
            collect(course, "tiny", path)
    assert not course.of("tiny", "collected.json").exists()
    for file in course.of("tiny", "submissions").iterdir():
        nbformat.validate(nbformat.read(file, 4))
    collect(course, "tiny", path)
    assert list(records(course)) == ["20230001", "20230002", "20230003"]


# Hostile


def outside(tmp_path):
    return {p for p in tmp_path.rglob("*") if "class" not in p.parts}


@pytest.mark.parametrize("name", [
    "../../20230001.ipynb", "/etc/20230001.ipynb", "..\\..\\20230001.ipynb", "C:\\x\\20230001.ipynb",
    "a\n20230001.ipynb", "\u202e20230001.ipynb", "\x1b[31m/20230001.ipynb", "20230001" + "/x" * 2000 + ".ipynb",
    "20230001/" + "x" * 60_000 + ".ipynb",
])  # fmt: skip
def test_names_that_would_lead_elsewhere(course, tmp_path, name):
    path = packed(tmp_path / "d.zip", {name: answered(course, "20230001")})
    before = outside(tmp_path)
    result = collect(course, "tiny", path)
    found = records(course)["20230001"]
    assert outside(tmp_path) == before
    assert ".." not in found["file"].split("/") and not set("\n\x1b\u202e") & set(
        found["file"] + str(result).replace("\n", "")
    )


def of_a_student(course, tmp_path, data, name="20230001.zip"):
    """What collecting says of one bad file, beside an honest one that must come through."""
    path = packed(tmp_path / "d.zip", {name: data, "20230002.ipynb": answered(course, "20230002")})
    collect(course, "tiny", path)
    found = records(course)
    assert found["20230002"]["readable"] and found["20230002"]["look"] == []
    return found["20230001"]


def with_flag(data, flag):
    """A zip whose entries have a flag set, in both places."""
    data = bytearray(data)
    for mark, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        at = data.find(mark)
        data[at + offset] |= flag
    return bytes(data)


def test_an_encrypted_zip(course, tmp_path):
    data = with_flag(zipped({"hw.ipynb": answered(course, "20230001")}), 1)
    assert "has a password" in english(of_a_student(course, tmp_path, data)["look"])


@pytest.mark.parametrize("damage", [
    lambda d: d[:-30], lambda d: b"", lambda d: d.replace(b"PK\1\2", b"PK\1\3"), lambda d: b"Rar!",
])  # fmt: skip
def test_a_damaged_zip(course, tmp_path, damage):
    data = damage(zipped({"hw.ipynb": answered(course, "20230001")}))
    found = of_a_student(course, tmp_path, data)
    assert not found["readable"] and "The zip is damaged" in english(found["look"])


def test_damaged_bytes_in_a_zip(course, tmp_path):
    data = bytearray(zipped({"hw.ipynb": answered(course, "20230001")}))
    data[200:240] = bytes(40)
    assert "damaged" in english(of_a_student(course, tmp_path, bytes(data))["look"])


def test_a_bomb_of_one_file(course, tmp_path):
    found = of_a_student(course, tmp_path, zipped({"hw.ipynb": b" " * (download_module.LARGEST + 1)}))
    assert not found["readable"] and "too large" in english(found["look"])


@pytest.mark.parametrize("limit, value", [("LARGEST_ZIP", 5000), ("MOST_FILES", 3), ("MOST_NAMES", 500)])
def test_a_zip_that_holds_too_much(course, tmp_path, monkeypatch, limit, value):
    monkeypatch.setattr(download_module, limit, value)
    if limit == "MOST_FILES":
        monkeypatch.setattr(download_module.Room.__init__, "__defaults__", (value,))
    data = zipped({f"{n}.ipynb": os.urandom(1000) for n in range(10)})
    found = of_a_student(course, tmp_path, data)
    assert not found["readable"]
    assert "holds too much" in english(found["look"]) or "too large" in english(found["look"])


@pytest.mark.parametrize("depth, readable", [(1, True), (3, True), (4, False)])
def test_zips_in_zips(course, tmp_path, depth, readable):
    data = zipped({"hw.ipynb": answered(course, "20230001")})
    for _ in range(depth - 1):
        data = zipped({"a.zip": data})
    found = of_a_student(course, tmp_path, data)
    assert found["readable"] is readable and ("too many zips" in english(found["look"])) is not readable


def test_links_are_not_followed(course, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("canary-secret")
    info = zipfile.ZipInfo("20230001.ipynb", DAY)
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
        archive.writestr(info, str(secret))
    collect(course, "tiny", tmp_path / "d.zip")
    assert "a link" in english(records(course)["20230001"]["look"])
    folder = tmp_path / "d"
    folder.mkdir()
    (folder / "20230002.ipynb").symlink_to(secret)
    (folder / "20230003").symlink_to(tmp_path)
    collect(course, "tiny", folder)
    assert "a link" in english(records(course)["20230002"]["look"])
    assert not any(b"canary-secret" in p.read_bytes() for p in course.folder.rglob("*") if p.is_file())


def test_what_systems_leave_behind_is_passed_over(course, tmp_path):
    mine = answered(course, "20230001")
    path = packed(tmp_path / "d.zip", {
        "20230001/hw.ipynb": mine, "__MACOSX/20230001/._hw.ipynb": b"\0", "20230001/.DS_Store": b"\0",
        "20230001/.ipynb_checkpoints/hw-checkpoint.ipynb": answered(course, "20230001", "return 0"), "20230001/": b"",
    })  # fmt: skip
    result = collect(course, "tiny", path)
    assert (records(course)["20230001"]["look"], result.unmatched) == ([], [])


def test_files_beside_a_notebook_are_no_one_s_concern_but_lone_ones_are_told(course, tmp_path):
    entries = {f"d/who/venv/{n}.py": b"" for n in range(300)}
    entries |= {"d/x/hw.ipynb": b"{}", "d/x/data.csv": b"", "d/lone.pdf": b"%PDF", "d/20230001/hw.docx": b"PK"}
    result = collect(course, "tiny", packed(tmp_path / "d.zip", entries))
    assert sorted(one["file"] for one in result.unmatched) == ["d/lone.pdf", "d/who/venv/0.py", "d/x/hw.ipynb"]
    assert "a file .docx" in english(records(course)["20230001"]["look"])


def test_many_notebooks_of_one_student(course, tmp_path):
    entries = {f"20230001/{n}.ipynb": answered(course, "20230001", f"return {n}") for n in range(60)}
    collect(course, "tiny", packed(tmp_path / "d.zip", entries))
    assert "60 notebooks came" in english(records(course)["20230001"]["look"])


@pytest.mark.parametrize("make, words", [
    (lambda p: None, "is not there"),
    (lambda p: p.write_bytes(b"PK\3\4"), "damaged"),
    (lambda p: packed(p, {}), "holds no notebook"),
    (lambda p: packed(p, {"20230001.pdf": b"", "a.pdf": b""}), "2 × .pdf"),
    (lambda p: p.mkdir(), "holds nothing|it holds nothing"),
])  # fmt: skip
def test_a_download_that_is_none(course, tmp_path, make, words):
    make(tmp_path / "d.zip")
    with pytest.raises(Problem, match=words):
        collect(course, "tiny", tmp_path / "d.zip")
    assert not course.of("tiny", "collected.json").exists()


def test_an_archive_of_another_kind(course, tmp_path):
    (tmp_path / "d.rar").write_bytes(b"Rar!")
    with pytest.raises(Problem, match="unpack it first"):
        collect(course, "tiny", tmp_path / "d.rar")


def test_an_assignment_that_was_not_released(course, tmp_path):
    with pytest.raises(Problem, match="was not released"):
        collect(course, "other", tmp_path)


def test_a_fault_of_ours_in_one_file_stops_nobody(course, tmp_path, monkeypatch):
    from attention_grading.collect import put

    def faulty(released, submission):
        if submission.claims.get("student") == "20230001":
            raise ZeroDivisionError
        return put(released, submission)

    monkeypatch.setattr("attention_grading.collect.put", faulty)
    entries = {f"{id}.ipynb": answered(course, id) for id in ("20230001", "20230002")}
    entries["20230001.ipynb"] = entries["20230001.ipynb"]
    collect(course, "tiny", packed(tmp_path / "d.zip", entries))
    found = records(course)
    assert "ZeroDivisionError" in english(found["20230001"]["look"]) and found["20230002"]["readable"]


def test_a_large_class_fits_on_a_page(tmp_path):
    roster = "student_id,name\n" + "".join(f"{n},学生{n}\n" for n in range(1000, 1060))
    course = make_class(tmp_path / "class", roster)
    release(course, TINY, same_for_all=True)
    entries = {f"{n}.ipynb": b"%PDF" for n in range(1000, 1030)} | {f"x{n}.ipynb": b"" for n in range(30)}
    result = collect(course, "tiny", packed(tmp_path / "d.zip", entries))
    assert len(result.missing) == 30 and len(result.unmatched) == 30
    assert len(str(result).splitlines()) < 5 * MOST_LINES and "… and 10 more" in str(result)
