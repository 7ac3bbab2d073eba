"""A class whose students have handed in, made by hand: what attn collect and attn grade leave behind."""

import csv
import hashlib
from pathlib import Path

import nbformat

from attention_grading.classroom import Classroom, read_json, write_json
from attention_grading.judge import here, judge_all
from attention_grading.release import release, released

TINY = Path(__file__).with_name("tiny_assignment") / "tiny.ipynb"
WRONG = "def softmax(x):\n    return np.ones((2, 2))"


def class_of(folder, *students, language="both"):
    """A class with this roster [(id, name, language), …] to which tiny was released."""
    with open(folder / "roster.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("student_id", "name", "language"), *students])
    (folder / "secret.key").write_text(bytes(range(32)).hex())  # the same variants each time
    classroom = Classroom(folder)
    release(classroom, TINY, language)
    write_json(classroom.of("tiny", "collected.json"), {"students": {}, "unmatched": []})
    return classroom


def hand_in(classroom, student_id, essay=None, extra=(), softmax=None, graded=True, notes=(), **about):
    """A student's notebook: his essay and cells after it [(kind, source), …], his softmax or the right one."""
    assignment, _ = released(classroom, "tiny")
    student = next(s for s in classroom.roster() if s.id == student_id)
    notebook = nbformat.read(classroom.of("tiny", "students", f"{student.file}.ipynb"), as_version=4)
    cells = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in notebook.cells}
    variant = assignment.variant(classroom.secret(), student_id)
    cells["q1"].source = softmax or solution(assignment, "q1", variant)
    cells["q2"].source = solution(assignment, "q2", variant)
    if essay is not None:
        cells["q3"].source = essay
    place = notebook.cells.index(cells["q3"]) + 1
    make = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell}
    notebook.cells[place:place] = [make[kind](source) for kind, source in extra]
    text = nbformat.writes(notebook)
    path = classroom.of("tiny", "submissions", f"{student.file}.ipynb")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    sha = hashlib.sha256(text.encode()).hexdigest()
    entry = {
        "file": f"{student.id}.ipynb", "sha": sha, "time": None, "late": False, "readable": True,
        "blank": ["q3"] if essay is None else [], "repaired": [], "look": [],
    } | about  # fmt: skip
    collected = read_json(classroom.of("tiny", "collected.json"))
    collected["students"][student_id] = entry
    write_json(classroom.of("tiny", "collected.json"), collected)
    if graded:
        names = {}
        for source in ("import numpy as np", cells["q1"].source, cells["q2"].source):
            exec(source, names)
        record = {
            "student": student_id, "status": "graded", "submission": sha, "master": assignment.digest, "task": None,
            "questions": judge_all(assignment, classroom.secret(), student_id, here(names)), "notes": list(notes),
        }  # fmt: skip
        write_json(classroom.of("tiny", "grades", f"{student.file}.json"), record)
    return variant


def solution(assignment, key, variant):
    """The master's solution as a student would have written it."""
    cell = next(c for c in nbformat.read(assignment.notebook, as_version=4).cells if c.id == key)
    lines = [line for line in cell.source.splitlines() if "###" not in line and "canary" not in line]
    drawn = f"from types import SimpleNamespace\n{key} = SimpleNamespace(**{vars(variant[key])})\n"
    return drawn + "\n".join(lines)
