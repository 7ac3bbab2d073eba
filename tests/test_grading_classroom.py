"""The roster as spreadsheet programs save it, files whole or not at all, and the secret."""

import os
import shlex
import stat
import subprocess
import sys
import threading

import pytest

from attention_grading import Classroom, Problem
from attention_grading.classroom import Student, read_json, read_roster, read_table, write, write_json
from attention_grading.release import release
from grading_class import TINY, make_class

NAMES = 'student_id,name\r\n001,"王, 小明"\r\n=1+1,"O\'Brien ""Bob"""\r\n003,José\r\n'
WANT = [("001", "王, 小明"), ("=1+1", 'O\'Brien "Bob"'), ("003", "José")]


def semicolons(text, to=";"):
    return text.replace(",name", f"{to}name").replace('1,"', f'1{to}"').replace("3,", f"3{to}")


@pytest.mark.parametrize("encode", [
    lambda t: t.encode(), lambda t: b"\xef\xbb\xbf" + t.encode(), lambda t: t.encode("utf-16"),
    lambda t: t.encode("gb18030"), lambda t: t.replace("\r\n", "\n").encode(),
    lambda t: t.replace("\r\n", "\r").encode(), lambda t: semicolons(t).encode(),
    lambda t: b"\xff\xfe" + semicolons(t, "\t").encode("utf-16-le"),
    lambda t: ("sep=,\r\n" + t).encode(), lambda t: (t + ",\r\n\r\n , \r\n").encode(),
    lambda t: t.replace("\r\n", ",,\r\n").encode(), lambda t: ("\n\n" + t).encode(),
    lambda t: t.replace("student_id", " Student ID ").replace("name", "NAME").encode(),
    lambda t: t.replace("student_id", "学号").replace("name", "姓名").encode(),
])  # fmt: skip
def test_a_roster_from_any_spreadsheet_program(tmp_path, encode):
    path = tmp_path / "roster.csv"
    path.write_bytes(encode(NAMES))
    assert [(s.id, s.name) for s in read_roster(path)] == WANT


def test_every_column(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("email,other,lms_id,language,name,student_id\na@b.c,x,501,en, 张  三 ,s1\n,,,,,s2\n", "utf-8")
    assert read_roster(path) == [Student("s1", "张 三", "en", "a@b.c", "501"), Student("s2")]


def test_names_are_composed(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("student_id,name\ne\u0301,Jose\u0301\n", "utf-8")
    assert read_roster(path) == [Student("é", "José")]


@pytest.mark.parametrize("data, words", [
    (b"", "lists nobody"),
    (b"student_id,name\n", "lists nobody"),
    (b"number,name\n1,a\n", "no column student_id"),
    (b"student_id,name\n,a\n", "student 1 has no student_id"),
    (b"student_id,name\ns1,a\nS1,b\n", "S1 twice"),
    ("student_id\ne\u0301\né\n".encode(), "é twice"),
    (b"student_id,lms_id\n1,5\n2,5\n", "the lms_id 5 twice"),
    (b"student_id,language\n1,de\n", "zh, en or both, not de"),
    (b"student_id,name\n2.023E+09,a\n", "format the column as text"),
    (b"student_id,name,name\n1,a,b\n", "two columns name"),
    (b"student_id,name\n1,a,b\n", "row 2 has 3 fields"),
    (b'student_id,name\n1,"a\n', "is not a CSV file"),
    (b'student_id,name\n1,"a"b\n', "is not a CSV file"),
    (b"PK\3\4 xlsx", "is a spreadsheet"),
    (b"\xd0\xcf\x11\xe0 xls", "is a spreadsheet"),
    (b"\xff\xfe\xff", "is not a text file"),
    (b"student_id\n\x81\xff\xff\n", "is not a text file"),
    (b"student_id\n" + b"x" * 300 + b"\n", "too long"),
    ("student_id\n" + "学" * 100 + "\n", "too long"),
])  # fmt: skip
def test_what_is_wrong_with_a_roster_is_said(tmp_path, data, words):
    path = tmp_path / "roster.csv"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(Problem, match=words):
        read_roster(path)


def test_a_table_that_is_not_there(tmp_path):
    with pytest.raises(Problem, match="cannot be read"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(Problem, match="roster.csv is missing"):
        Classroom(tmp_path)


AWKWARD = [
    "a",
    "A-1_b@c.d",
    "..",
    ".",
    "a/b",
    "a\\b",
    "%2F",
    "/",
    "/1",
    "\u02f1",
    "学号",
    "é",
    "a b",
    "CON:",
    "x\ty",
    "😀",
    "%",
]


def test_any_id_is_a_safe_name_for_a_file_and_no_two_are_the_same(tmp_path):
    files = [Student(id).file for id in AWKWARD]
    assert len(set(files)) == len(files)
    for file in files:
        write(tmp_path / f"{file}.ipynb", file)
        assert not set('/\\:*?"<>| \t.') & set(file)
    assert {p.name for p in tmp_path.iterdir()} == {f"{file}.ipynb" for file in files}


def test_a_file_is_whole_or_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "a.json"
    write_json(path, {"名": 1})
    assert read_json(path) == {"名": 1} and stat.S_IMODE(path.stat().st_mode) == 0o644

    def fail(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        write(path, "other")
    assert read_json(path) == {"名": 1} and os.listdir(path.parent) == ["a.json"]
    with pytest.raises(UnicodeEncodeError):
        write(path, "\ud800")
    assert os.listdir(path.parent) == ["a.json"]


def stopped_at(step, path):
    """Write to path and press Ctrl-C before one step of Python's own.   -> whether there was such a step"""
    steps = 0

    def each_step(frame, event, arg):
        nonlocal steps
        frame.f_trace_opcodes = True
        steps += event == "opcode"
        if steps == step:
            sys.settrace(None)
            raise KeyboardInterrupt
        return each_step

    before = sys.gettrace()
    sys.settrace(lambda frame, event, arg: each_step if frame.f_code is write.__code__ else None)
    try:
        write(path, "other")
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_ctrl_c_at_no_moment_leaves_a_half_behind(tmp_path):
    path = tmp_path / "a.json"
    write(path, "some")
    found, step = set(), 1
    while stopped_at(step, path):
        found.add(path.read_text())
        assert os.listdir(tmp_path) == ["a.json"], step
        step += 1
    assert found == {"some", "other"}, "it was to be stopped before and after the renaming"


def test_a_damaged_record(tmp_path):
    assert read_json(tmp_path / "none.json") is None
    for data in (b"{", b"\xff"):
        (tmp_path / "a.json").write_bytes(data)
        with pytest.raises(Problem, match="is damaged"):
            read_json(tmp_path / "a.json")


def without_secret(folder):
    """A class whose secret nobody asked for yet."""
    course = make_class(folder, "student_id\n1\n")
    (folder / "secret.key").unlink()
    return course


def test_the_secret_is_made_once_and_nobody_else_reads_it(tmp_path):
    course = without_secret(tmp_path)
    secret = course.secret()
    assert len(secret) == 32 and Classroom(tmp_path).secret() == secret
    assert stat.S_IMODE((tmp_path / "secret.key").stat().st_mode) == 0o600
    assert without_secret(tmp_path / "other").secret() != secret


def test_two_that_ask_for_the_first_secret_get_the_same(tmp_path):
    for number in range(20):
        course, got, start = without_secret(tmp_path / str(number)), [], threading.Barrier(4)

        def ask(course=course, got=got, start=start):
            start.wait()
            got.append(course.secret())

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(got) == 4 and len(set(got)) == 1


@pytest.mark.parametrize("text", ["", "abc", "zz" * 32, "ab" * 16, "é" * 64])
def test_a_secret_that_is_none(tmp_path, text):
    course = make_class(tmp_path, "student_id\n1\n")
    (tmp_path / "secret.key").write_text(text, "utf-8")
    with pytest.raises(Problem, match="does not hold a secret"):
        course.secret()
    assert (tmp_path / "secret.key").read_text("utf-8") == text


def test_another_class_s_secret_is_not_used(tmp_path):
    course = make_class(tmp_path, "student_id\n1\n")
    release(course, TINY)
    right = (tmp_path / "secret.key").read_text()
    (tmp_path / "secret.key").write_text("ab" * 32)
    with pytest.raises(Problem, match="not the secret that tiny was released with"):
        course.secret()
    (tmp_path / "secret.key").write_text(right)
    (tmp_path / "other").mkdir()
    for damaged in ("{", "[]", "null", "{}"):
        (tmp_path / "other" / "release.json").write_text(damaged)
        assert course.secret() == bytes.fromhex(right)


def test_a_lost_secret_is_not_replaced_in_silence(tmp_path):
    course = make_class(tmp_path, "student_id\n1\n")
    release(course, TINY)
    (tmp_path / "secret.key").unlink()
    with pytest.raises(Problem, match="bring it back from a copy"):
        course.secret()
    assert not (tmp_path / "secret.key").exists()


def test_a_step_without_the_packages_of_the_extra_says_what_installs_them(tmp_path):
    code = "import sys; sys.modules['nbformat'] = None; from attention_grading.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, "demo", "class"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("✗ nbformat is missing (it belongs to the extra grading); this installs it: ")
    assert f"{shlex.quote(sys.executable)} -m pip install " in done.stderr and " nbformat==" in done.stderr
    assert not list(tmp_path.iterdir())


def test_who_reads_only_the_beginning_is_not_complained_to(tmp_path):
    read, write_end = os.pipe()
    os.close(read)
    code = "from attention_grading.cli import main; main(['status'])"
    make_class(tmp_path, "student_id\n1\n")
    with os.fdopen(write_end, "wb") as gone:
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, stdout=gone, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, b"")
