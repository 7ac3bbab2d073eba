"""What students get: their language, their variant, no solution; and what is wrong with a master is said."""

import itertools
import json
import re
import shutil
from pathlib import Path

import nbformat
import pytest

from attention_grading import Problem
from attention_grading.assignment import Assignment
from attention_grading.release import PLACEHOLDER, STUB, release, released, run_master, write_page
from grading_class import TINY, make_class

ROSTER = "student_id,name,language\ns1,张三,zh\ns2,Li,en\ns3,王五,both\ns4,Mia,\n"


@pytest.fixture
def course(tmp_path):
    return make_class(tmp_path / "class", ROSTER)


def notebook(course, student):
    return nbformat.read(course.of("tiny", "students", f"{student}.ipynb"), 4)


def everything(course):
    folder = course.of("tiny")
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def changed(tmp_path, module=lambda text: text, cells=lambda cells: None):
    """The tiny assignment with something changed."""
    master = tmp_path / "master" / "tiny"
    master.parent.mkdir(exist_ok=True)
    text = TINY.with_suffix(".py").read_text("utf-8")
    assert module is changed.__defaults__[0] or module(text) != text
    master.with_suffix(".py").write_text(module(text), "utf-8")
    copied = nbformat.read(TINY.with_suffix(".ipynb"), 4)
    cells({cell.id: cell for cell in copied.cells})
    nbformat.write(copied, master.with_suffix(".ipynb"))
    return master


def test_everybody_gets_a_valid_notebook_in_his_language(course):
    assert release(course, TINY, language="en") == (4, course.of("tiny"))
    tags = {"s1": "lang-zh", "s2": "lang-en", "s3": None, "s4": "lang-en"}
    for student, only in tags.items():
        made = notebook(course, student)
        nbformat.validate(made)
        found = {tag for cell in made.cells for tag in cell.metadata.get("tags", [])}
        assert found == ({only} if only else {"lang-zh", "lang-en"})
        assert made.metadata.attn["student"] == student and made.metadata.kernelspec.name == "python3"
        assert [c.metadata.nbgrader.grade_id for c in made.cells if "nbgrader" in c.metadata] == [
            "q1", "q1_check", "q2", "q2_check", "q3"
        ]  # fmt: skip
        by_id = {cell.id: cell for cell in made.cells}
        assert by_id["q3"].source == PLACEHOLDER and STUB in by_id["q1"].source
        assert by_id["q1"].source.startswith("def softmax(x):\n") and len(by_id["q1"].source.splitlines()) == 3
    assert "variant" not in {cell.id for cell in notebook(course, "s3").cells}


def test_both_languages_ask_the_same(course, tmp_path):
    release(course, TINY)
    codes = [[c.source for c in notebook(course, "s3").cells if c.cell_type == "code"]]
    (course.folder / "roster.csv").write_text(ROSTER.replace("王五,both", "王五,zh"), "utf-8")
    release(course, TINY, replace=True)
    codes.append([c.source for c in notebook(course, "s3").cells if c.cell_type == "code"])
    assert codes[0] == codes[1]


def test_nobody_who_gets_a_file_sees_a_solution(course, tmp_path):
    def with_outputs(cells):
        cells["q1"].outputs = [nbformat.v4.new_output("stream", text="canary-output")]
        cells["q3"].attachments = {"a.png": {"image/png": "canaryattachment"}}

    release(course, changed(tmp_path, cells=with_outputs))
    for file, data in everything(course).items():
        secret = re.findall(rb"canary[-\w]*|SOLUTION|marking", data)
        assert bool(secret) == (file.as_posix() == "master/tiny.ipynb"), file
    hidden = course.secret().hex().encode()
    assert not any(hidden in data for data in everything(course).values())


def test_the_example_in_the_notebook_is_right_for_its_variant(course):
    release(course, TINY)
    assignment = Assignment(TINY)
    for student in ("s1", "s2", "s3", "s4"):
        names = run_master(assignment, assignment.variant(course.secret(), student))
        checks = [c.source for c in notebook(course, student).cells if c.id.endswith("-check")]
        assert len(checks) == 2
        for check in checks:
            exec(check, names)
            wrong = dict(names) | {"softmax": lambda x: x, "attention": lambda Q, K, V: V * 0}
            with pytest.raises(AssertionError):
                exec(check, wrong)


def test_variants_differ(tmp_path):
    course = make_class(tmp_path, "student_id\n" + "".join(f"{n}\n" for n in range(40)))
    release(course, TINY, language="en")
    texts = ["".join(c.source for c in notebook(course, n).cells if c.id.endswith("-en")) for n in range(40)]
    assert len(set(texts)) > 15  # of 4·2·2·2·3 = 96 variants, 40 draws hit about 33
    checks = ["".join(c.source for c in notebook(course, n).cells if c.id.endswith("-check")) for n in range(40)]
    assert len(set(checks)) == 40


def test_the_same_for_all(course):
    release(course, TINY, language="both", same_for_all=True)
    pairs = itertools.combinations([{c.id: c.source for c in notebook(course, s).cells} for s in ("s1", "s2", "s3")], 2)
    for one, other in pairs:
        assert all(one[id] == other[id] for id in one.keys() & other.keys())
    assert notebook(course, "s1").metadata.attn["student"] == "s1"


def test_who_comes_late_gets_his_and_nobody_s_is_touched(course):
    assert release(course, TINY)[0] == 4
    mine = course.of("tiny", "students", "s1.ipynb")
    mine.write_text("touched by hand")
    before = everything(course)
    (course.folder / "roster.csv").write_text(ROSTER + "s5,Late,zh\n", "utf-8")
    assert release(course, TINY)[0] == 1
    after = everything(course)
    assert {file.name for file in after.keys() - before.keys()} == {"s5.ipynb"}
    assert all(after[file] == data for file, data in before.items())
    assert release(course, TINY)[0] == 0


def test_another_release_refuses_without_replace(course, tmp_path):
    release(course, TINY)
    before = everything(course)
    other = changed(tmp_path, cells=lambda cells: cells["title-en"].update(source="# Another"))
    for again in (
        lambda **more: release(course, other, **more),
        lambda **more: release(course, TINY, language="zh", **more),
        lambda **more: release(course, TINY, same_for_all=True, **more),
    ):
        with pytest.raises(Problem, match="--replace"):
            again()
        assert everything(course) == before
    course.of("tiny", "submissions").mkdir()
    course.of("tiny", "submissions", "s1.ipynb").write_text("handed in")
    assert release(course, other, replace=True)[0] == 4
    assert "# Another" in notebook(course, "s3").cells[1].source
    assert course.of("tiny", "submissions", "s1.ipynb").read_text() == "handed in"
    assert release(course, other)[0] == 0


def test_the_same_secret_makes_the_same_notebooks(course):
    release(course, TINY)
    before = everything(course)
    shutil.rmtree(course.of("tiny"))
    release(course, TINY)
    assert everything(course) == before


@pytest.mark.parametrize("stop_at", range(1, 8))
def test_an_interrupted_release_leaves_nothing_half(course, monkeypatch, stop_at):
    from attention_grading import release as module

    calls = []

    def stopped(path, text):
        calls.append(path)
        if len(calls) == stop_at:
            raise KeyboardInterrupt
        write(path, text)

    write = module.write
    with monkeypatch.context() as patch:
        patch.setattr(module, "write", stopped)
        with pytest.raises(KeyboardInterrupt):
            release(course, TINY)
    assert not course.of("tiny").exists()
    assert release(course, TINY)[0] == 4


def test_an_interrupted_replacement_leaves_the_old_release(course, tmp_path, monkeypatch):
    from attention_grading import release as module

    release(course, TINY)
    before, write = everything(course), module.write

    def stopped(path, text):
        if path.name == "s3.ipynb":
            raise KeyboardInterrupt
        write(path, text)

    monkeypatch.setattr(module, "write", stopped)
    other = changed(tmp_path, cells=lambda cells: cells["title-en"].update(source="# Another"))
    with pytest.raises(KeyboardInterrupt):
        release(course, other, replace=True)
    assert everything(course) == before


@pytest.mark.parametrize("stop_at", range(1, 8))
def test_a_replacement_killed_halfway_is_no_release_and_is_done_again(course, monkeypatch, stop_at):
    """With the settings of one release and the notebooks of another, answers would be graded by a wrong variant."""
    release(course, TINY)
    calls, rename = [], Path.rename

    def stopped(path, to):
        calls.append(path)
        if len(calls) == stop_at:
            raise SystemExit
        return rename(path, to)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", stopped)
        patch.setattr(shutil, "rmtree", lambda *path, **how: None)  # who is killed does not tidy up
        with pytest.raises(SystemExit):
            release(course, TINY, same_for_all=True, replace=True)
    with pytest.raises(Problem, match="was not released"):
        released(course, "tiny")
    assert release(course, TINY, same_for_all=True)[0] == 4
    assert released(course, "tiny")[1]
    checks = {next(c.source for c in notebook(course, s).cells if c.id == "q1-check") for s in ("s1", "s2", "s3")}
    assert len(checks) == 1 and not course.of("tiny", ".releasing").exists()


@pytest.mark.parametrize("text", ["[]", "{}", "3"])
def test_a_damaged_release(course, text):
    release(course, TINY)
    course.of("tiny", "release.json").write_text(text)
    with pytest.raises(Problem, match="release.json is damaged"):
        released(course, "tiny")


def replaced(old, new):
    return lambda text: text.replace(old, new)


def source(cell, old, new):
    def change(cells):
        assert old in cells[cell].source
        cells[cell].source = cells[cell].source.replace(old, new)

    return change


def twice(cells):
    cells["imports"].metadata["nbgrader"] = {"grade_id": "q1", "solution": True}


def unknown(cells):
    cells["imports"].metadata["nbgrader"] = {"grade_id": "q9", "solution": True}


def unasked(cells):
    del cells["q2"].metadata["nbgrader"]


@pytest.mark.parametrize("module, cells, words", [
    (None, source("q1", "- x.max(q1.axis, keepdims=True)", ""), r"q1 fails “large scores”.*The variant: \{'temp"),
    (replaced('"sqrt": 0.5, "d": 1', '"sqrt": 1, "d": 2'), None, "solution of q2 fails “square”"),
    (None, source("q1-en", "<< q1.axis >>", "<< q1.axes >>"), "cell q1-en: .*axes.*Between << and >>"),
    (None, source("q1-en", "<< q1.axis >>", "<< q7.axis >>"), "cell q1-en: 'q7' is undefined"),
    (None, source("q1-en", "<< q1.axis >>", "<< q1.axis"), "cell q1-en"),
    (None, source("q2-zh", "<% endif %>", ""), "cell q2-zh"),
    (None, source("q1-en", "<< q1.axis >>", "<< 1 // 0 >>"), "cell q1-en"),
    (None, source("q1", "    ### END SOLUTION", ""), "cell q1: ### BEGIN SOLUTION and"),
    (None, source("q1", "### BEGIN SOLUTION", ""), "cell q1: ### BEGIN SOLUTION and"),
    (None, source("q1", "### BEGIN SOLUTION", "# begin solution"), "cell q1: ### BEGIN SOLUTION and"),
    (None, source("imports", "np", "np\n### BEGIN SOLUTION"), "cell imports: ### BEGIN SOLUTION and"),
    (None, source("q2", "S = Q", "S = = Q"), "cell q2 does not run: SyntaxError"),
    (None, source("imports", "numpy", "numpyy"), "cell imports does not run: ModuleNotFoundError"),
    (None, source("q1", "np.exp", "np.epx"), "solution of q1 fails “ordinary input”: It raised AttributeError"),
    (replaced("np.exp((x", "np.epx((x"), None, "fail.* AttributeError"),
    (replaced("QUESTIONS = {", "QUESTIONS = [}"), None, "tiny.py does not run: SyntaxError"),
    (replaced("QUESTIONS", "QUESTION"), None, "has no QUESTIONS"),
    (None, twice, "2 cells have the grade_id q1"),
    (None, unasked, "0 cells have the grade_id q2"),
    (None, unknown, "grade_id q9, which QUESTIONS lacks"),
])  # fmt: skip
def test_what_is_wrong_with_a_master_is_said_and_nothing_is_written(course, tmp_path, module, cells, words):
    master = changed(tmp_path, **({"module": module} if module else {}), **({"cells": cells} if cells else {}))
    with pytest.raises(Problem, match=words):
        release(course, master)
    assert not course.of("tiny").exists()


def test_a_solution_without_markers_is_not_released(course, tmp_path):
    unmarked = lambda cells: cells["q1"].update(source=re.sub(" *###.*\n?", "", cells["q1"].source))  # noqa: E731
    with pytest.raises(Problem, match="cell q1: the solution has no ### BEGIN SOLUTION"):
        release(course, changed(tmp_path, cells=unmarked))
    assert not course.of("tiny").exists()


def test_a_master_that_is_none(course, tmp_path):
    with pytest.raises(Problem, match="is missing: an assignment is two files"):
        release(course, tmp_path / "tiny")
    master = changed(tmp_path)
    master.with_suffix(".ipynb").write_text("{")
    with pytest.raises(Problem, match="is not a notebook"):
        release(course, master)
    old = json.loads(TINY.with_suffix(".ipynb").read_text("utf-8")) | {"nbformat_minor": 4}
    for cell in old["cells"]:
        del cell["id"]
    master.with_suffix(".ipynb").write_text(json.dumps(old))
    with pytest.raises(Problem, match="without ids"):
        release(course, master)


def test_the_page_is_text_in_both_languages_and_nobody_s_variant(course):
    release(course, TINY)
    page = nbformat.read(course.of("tiny", "page", "tiny.ipynb"), 4)
    nbformat.validate(page)
    assert {cell.cell_type for cell in page.cells} == {"markdown"}
    assert {"lang-zh", "lang-en"} <= {tag for cell in page.cells for tag in cell.metadata.get("tags", [])}
    first = course.of("tiny", "page", "tiny.ipynb").read_bytes()
    shutil.rmtree(course.of("tiny"))
    (course.folder / "secret.key").unlink()
    release(course, TINY)
    assert course.of("tiny", "page", "tiny.ipynb").read_bytes() == first


def test_the_page_alone_needs_no_class(course, tmp_path):
    release(course, TINY)
    write_page(TINY, tmp_path / "deep" / "page.ipynb")
    assert (tmp_path / "deep" / "page.ipynb").read_bytes() == course.of("tiny", "page", "tiny.ipynb").read_bytes()
    with pytest.raises(Problem, match="solution of q1 fails"):
        write_page(changed(tmp_path, cells=source("q1", "np.exp", "np.sin")), tmp_path / "other.ipynb")
    assert not (tmp_path / "other.ipynb").exists()
