"""A class with the tiny assignment, and what attn collect and attn grade leave behind of its students."""

import csv
import hashlib
import io
from pathlib import Path

import nbformat

from attention_grading import Classroom
from attention_grading.classroom import read_json, write, write_json
from attention_grading.judge import here, judge_all
from attention_grading.release import release, released, student_notebook

TINY = Path(__file__).parent / "tiny_assignment" / "tiny.ipynb"
WRONG = "def softmax(x):\n    return np.ones((2, 2))"


class Here:
    """In place of the sandbox's session: the cells run on the spot."""

    def __init__(self, cells, safe=True, seconds=10):
        self.cells, self.notes = cells, []

    def __enter__(self):
        names = {}
        for _, source in self.cells:
            try:
                exec(source, names)
            except Exception as error:
                self.notes.append({"zh": f"加载：{error}", "en": f"On loading: {error}"})
        self.call = here(names)
        return self

    def __exit__(self, *error):
        pass


def make_class(folder, roster):
    """A class folder with a roster, its text with the line of the columns, and the same variants each time."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "roster.csv").write_text(roster, "utf-8")
    (folder / "secret.key").write_text(bytes(range(32)).hex())
    return Classroom(folder)


def tiny_class(folder, students, **how):
    """A class to which the tiny assignment was released.   students: [(id, name, language), …]; how: for release"""
    roster = io.StringIO()
    csv.writer(roster).writerows([("student_id", "name", "language"), *students])
    classroom = make_class(folder, roster.getvalue())
    release(classroom, TINY, **how)
    return classroom


def collect(classroom, student_id, answers, extra=(), **about):
    """As if attn collect had found these answers {question: source} and, after them, cells [(kind, source), …].

    about: what collected.json says besides.   -> its entry
    """
    assignment, _ = released(classroom, "tiny")
    notebook = student_notebook(assignment, classroom.secret(), student_id, "both")
    make = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell}
    for cell in notebook.cells:
        cell.source = answers.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
    after = 1 + [cell.id for cell in notebook.cells].index("q3")
    notebook.cells[after:after] = [make[kind](source) for kind, source in extra]
    text = nbformat.writes(notebook)
    write(classroom.of("tiny", "submissions", f"{file_of(classroom, student_id)}.ipynb"), text)
    entry = {
        "file": f"{student_id}.ipynb", "sha": hashlib.sha256(text.encode()).hexdigest(), "time": None, "late": False,
        "readable": True, "blank": [key for key in assignment.questions if key not in answers], "repaired": [],
        "look": [],
    } | about  # fmt: skip
    path = classroom.of("tiny", "collected.json")
    kept = read_json(path) or {"students": {}, "unmatched": []}
    kept["students"][student_id] = entry
    write_json(path, kept)
    return entry


def hand_in(classroom, student_id, essay=None, extra=(), softmax=None, graded=True, notes=(), **about):
    """The same, with an essay or none, and a softmax or the right one; and as if it had been graded.   -> variant"""
    answers = right(classroom, student_id) | {"q3": essay}
    if softmax:
        answers["q1"] = softmax
    if essay is None:
        del answers["q3"]
    entry = collect(classroom, student_id, answers, extra, **about)
    assignment, _ = released(classroom, "tiny")
    if graded:
        names = {}
        for source in ("import numpy as np", answers["q1"], answers["q2"]):
            exec(source, names)
        record = {
            "student": student_id, "status": "graded", "submission": entry["sha"], "master": assignment.digest,
            "task": None, "notes": list(notes),
            "questions": judge_all(assignment, classroom.secret(), student_id, here(names)),
        }  # fmt: skip
        write_json(classroom.of("tiny", "grades", f"{file_of(classroom, student_id)}.json"), record)
    return assignment.variant(classroom.secret(), student_id)


def file_of(classroom, student_id):
    """Also of one who has left the class."""
    return next((student.file for student in classroom.roster() if student.id == student_id), student_id)


def right(classroom, student_id):
    """Answers with all points, written by the words of the questions."""
    v = released(classroom, "tiny")[0].variant(classroom.secret(), student_id)
    q1, q2 = v["q1"], v["q2"]
    return {
        "q1": "def softmax(x):\n"
        f"    x = (x - np.max(x, axis={q1.axis}, keepdims=True)) / {q1.temperature}\n"
        f"    return np.exp(x) / np.sum(np.exp(x), axis={q1.axis}, keepdims=True)\n",
        "q2": "def attention(Q, K, V):\n"
        "    out = []\n"
        "    for i, q in enumerate(Q):\n"
        f"        n = {'i + 1' if q2.causal else 'len(K)'}\n"
        f"        w = np.exp(K[:n] @ q / len(q) ** {0.5 if q2.scale == 'sqrt' else 1})\n"
        "        out.append(w / w.sum() @ V[:n])\n"
        "    return np.array(out)\n",
        "q3": "方差是 d。The variance is d.",
    }


def unstable(classroom, student_id):
    """The same, but a softmax that overflows."""
    answers = right(classroom, student_id)
    q1 = released(classroom, "tiny")[0].variant(classroom.secret(), student_id)["q1"]
    answers["q1"] = (
        "def softmax(x):\n"
        "    with np.errstate(all='ignore'):\n"
        f"        e = np.exp(x / {q1.temperature})\n"
        f"        return e / e.sum({q1.axis}, keepdims=True)\n"
    )
    return answers
