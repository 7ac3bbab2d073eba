"""What only the instructor may know is nowhere else: not in what students get, not on the site, in no record or log."""

import contextlib
import io
import json
import re
import zipfile

import nbformat
import numpy as np
import pytest

from attention_grading import Assignment, Classroom
from attention_grading.assignment import seed
from attention_grading.classroom import write
from attention_grading.cli import main
from attention_grading.judge import arrays, copies
from conftest import ROOT, SITE

MASTERS = sorted((ROOT / "exercises").glob("*.ipynb"))
SECRET = "c0ffee5ec2e7" + "5e" * 26
PURPOSES = ("variant", "example", "arguments")
CANARY = re.compile(rb"canary[-\w]*", re.I)
DECIMAL = re.compile(r"-?\d+\.\d+")
FOR_THE_MARKER = "marking.html"  # it holds the marking guide
TATTLER = """
def {function}(*arguments):
    print(arguments)
    raise ValueError(repr(arguments))
"""


@pytest.fixture(scope="module", params=MASTERS, ids=lambda path: path.stem)
def course(request, tmp_path_factory):
    """A small class that went all the way, and all that the commands said, in log.txt.   -> Classroom"""
    folder, name = tmp_path_factory.mktemp("secrets") / "class", request.param.stem
    said = []

    def attn(*words):
        out = io.TextIOWrapper(io.BytesIO(), "utf-8")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            main([*map(str, words), *(["--class", str(folder)] if words[1:2] != (folder,) else [])])
        out.seek(0)
        said.append(out.read())

    attn("demo", folder, "--students", 7)
    (folder / "secret.key").write_text(SECRET)
    attn("release", request.param)
    attn("demo", "--play", name)
    attn("collect", name, with_a_tattler(folder, request.param))
    attn("grade", name, "-j", 2)
    attn("mark", name)
    sheet = folder / name / "marking.csv"
    sheet.write_text(re.sub(r",,(\d+),", r",1,\1,", sheet.read_text("utf-8")), "utf-8")
    attn("mark", name, "--import", sheet)
    if request.param == MASTERS[0]:  # it takes long to import
        attn("mark", name, "--gradebook", folder / "gradebook.db")
    attn("feedback", name)
    for lms in ("canvas", "moodle", "generic"):
        attn("export", name, "--lms", lms)
    attn("status", name)
    attn("status")
    write(folder / "log.txt", "\n".join(said))
    return Classroom(folder)


def with_a_tattler(folder, master):
    """The download, in which whoever had left everything open now tells the inputs in each way there is."""
    with zipfile.ZipFile(folder / "download.zip") as archive:
        archive.extractall(folder / "download")
    students = json.loads((folder / "truth.json").read_text("utf-8"))["students"]
    lms_id = next(s.lms_id for s in Classroom(folder).roster() if students[s.id]["kind"] == "blank")
    [path] = (folder / "download").glob(f"*_{lms_id}_*")
    notebook = nbformat.read(path, as_version=4)
    for key, question in Assignment(master).automatic.items():
        cell = next(c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == key)
        cell.source = TATTLER.format(function=question.function)
    nbformat.write(notebook, path)
    return folder / "download"


def produced(course):
    """What the commands made, less the master itself, the secret and what is for the marker."""
    for path in sorted(course.folder.rglob("*")):
        if path.is_file() and "master" not in path.parts and path.name not in ("secret.key", FOR_THE_MARKER):
            yield path


def assignment_of(course):
    [master] = course.folder.glob("*/master/*.ipynb")
    return Assignment(master)


def canaries(paths):
    return [(path.name, word) for path in paths for word in CANARY.findall(path.read_bytes())]


def keys(course):
    """The secret, and each number that was made of it, as text."""
    assignment, students = assignment_of(course), [student.id for student in course.roster()]
    numbers = [
        seed(course.secret(), student, assignment.name, key, purpose)
        for student in students
        for key in assignment.questions
        for purpose in PURPOSES
    ]
    return [SECRET, *(text for number in numbers for text in (str(number), f"{number:x}"))]


def told_keys(course, paths):
    kept = [key.encode() for key in keys(course)] + [course.secret()]
    return [(path.name, key) for path in paths for key in kept if key in path.read_bytes().lower()]


def triples(numbers):
    """Every three neighbouring numbers that are no whole ones, to three decimals."""
    found = [round(float(number), 3) for number in numbers]
    rows = zip(found, found[1:], found[2:], strict=False)
    return {row for row in rows if len(set(row)) == 3 and not any(number.is_integer() for number in row)}


def hidden(course):
    """The inputs on which marks are given, and the right results, in triples."""
    assignment, found = assignment_of(course), set()
    for student in course.roster():
        variant = assignment.variant(course.secret(), student.id)
        for key, question in assignment.automatic.items():
            number = seed(course.secret(), student.id, assignment.name, key, "arguments")
            for index, part in enumerate(question.parts):
                given = part.draw(np.random.default_rng([number, index]), variant[key])
                with np.errstate(all="ignore"):
                    right = arrays(question.reference(variant[key], *copies(given)))
                for value in (*given, *right):
                    if isinstance(value, np.ndarray):
                        found |= triples(value.ravel().astype(float))
    assert len(found) > 500
    return found


def told_numbers(course, paths):
    kept = hidden(course)
    return [
        (path.name, row)
        for path in paths
        for row in triples(DECIMAL.findall(path.read_bytes().decode("utf-8", "ignore"))) & kept
    ]


def test_the_class_went_all_the_way(course):
    name = assignment_of(course).name
    made = {path.parent.name for path in produced(course)}
    assert {"students", "page", "received", "submissions", "grades", "feedback"} <= made
    status = (course.folder / "log.txt").read_text("utf-8").rpartition("assignment")[2]
    assert re.search(rf"{name} +1 +0 +0 +0 +6 ", status)  # one has handed in nothing, six have all their points
    assert "ValueError" in "".join(path.read_text("utf-8") for path in course.of(name, "grades").iterdir())
    assert CANARY.search(course.of(name, FOR_THE_MARKER).read_bytes())


def test_no_solution_no_model_answer_no_guide_and_no_module_is_told(course):
    assert canaries(produced(course)) == []


def test_nobody_can_compute_anybody_s_variant_or_inputs(course):
    assert told_keys(course, produced(course)) == []


def test_no_input_on_which_marks_are_given_and_no_right_result_is_told(course):
    assert told_numbers(course, produced(course)) == []


def test_the_site_and_all_that_it_ships_tell_nothing():
    paths = [path for path in SITE.rglob("*") if path.is_file()]
    found = {path.relative_to(SITE).parts[1] for path in paths if len(path.relative_to(SITE).parts) > 1}
    assert {"assignments", "_sources", "sections.js"} <= found
    assert canaries(paths) == []


def test_the_search_finds_each_kind_of_secret(course, tmp_path):
    """So that an empty list means something."""
    assignment, student = assignment_of(course), course.roster()[0].id
    key, question = next(iter(assignment.automatic.items()))
    number = seed(course.secret(), student, assignment.name, key, "arguments")
    given = question.parts[0].draw(
        np.random.default_rng([number, 0]), assignment.variant(course.secret(), student)[key]
    )
    whole = next(value for value in given if isinstance(value, np.ndarray) and value.size > 3)
    plants = {  # texts in which they would be told
        "canary": assignment.source, "seed": json.dumps({"seeds": {key: number}}), "secret": f"secret: {SECRET}",
        "list": json.dumps(whole.tolist()), "printed": repr(whole),
    }  # fmt: skip
    for name, text in plants.items():
        write(tmp_path / name, text)
    paths = [tmp_path / name for name in plants]
    assert {name for name, _ in canaries(paths)} == {"canary"}
    assert {name for name, _ in told_keys(course, paths)} == {"seed", "secret"}
    assert {name for name, _ in told_numbers(course, paths)} == {"list", "printed"}
