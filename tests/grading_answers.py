"""A class that has handed in the tiny assignment, without the steps before grading."""

import hashlib
import json
from pathlib import Path

import nbformat

from attention_grading import Assignment, Classroom
from attention_grading.classroom import write, write_json
from attention_grading.judge import here
from attention_grading.release import release, student_notebook

TINY = Path(__file__).parent / "tiny_assignment" / "tiny.ipynb"


class Here:
    """In place of the sandbox: the cells run on the spot."""

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


def a_class(folder, ids, same_for_all=False):
    """A class that was given the tiny assignment.   ids: {id: name}   -> Classroom"""
    folder.mkdir(exist_ok=True)
    rows = "".join(f'{id},"{name}"\n' for id, name in ids.items())
    (folder / "roster.csv").write_text("student_id,name\n" + rows, "utf-8")
    (folder / "secret.key").write_text(bytes(range(32)).hex() + "\n")
    classroom = Classroom(folder)
    release(classroom, TINY, same_for_all=same_for_all)
    return classroom


def hand_in(classroom, answers, **entry):
    """Put answers where collecting puts them.   answers: {id: {question: source or, untouched, None; "own": own cell}}

    entry: what collected.json says of them besides.
    """
    tiny = Assignment(classroom.of("tiny", "master", "tiny.ipynb"))
    students = {student.id: student for student in classroom.roster()}
    path = classroom.of("tiny", "collected.json")
    kept = {"students": {}, "unmatched": []} if not path.exists() else json.loads(path.read_text("utf-8"))
    for id, given in answers.items():
        notebook = student_notebook(tiny, classroom.secret(), id, "both")
        cells = []
        for cell in notebook.cells:
            key = cell.metadata.get("nbgrader", {}).get("grade_id")
            cell.source = given.get(key) or cell.source
            cells.append(cell)
            if key == "q2" and "own" in given:
                cells.append(nbformat.v4.new_code_cell(given["own"]))
        notebook.cells = cells
        text = nbformat.writes(notebook)
        file = students[id].file if id in students else id
        write(classroom.of("tiny", "submissions", f"{file}.ipynb"), text)
        about = {"file": f"{id}.ipynb", "sha": hashlib.sha256(text.encode()).hexdigest(), "time": None, "late": False}
        about |= {"readable": True, "blank": [key for key in tiny.questions if not given.get(key)]}
        kept["students"][id] = about | {"repaired": [], "look": []} | entry
    write_json(path, kept)


def right(classroom, id):
    """Answers with all points, written by the words of the questions."""
    v = Assignment(TINY).variant(classroom.secret(), id)
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


def unstable(classroom, id):
    """The same, but a softmax that overflows."""
    answers = right(classroom, id)
    q1 = Assignment(TINY).variant(classroom.secret(), id)["q1"]
    answers["q1"] = (
        "def softmax(x):\n"
        "    with np.errstate(all='ignore'):\n"
        f"        e = np.exp(x / {q1.temperature})\n"
        f"        return e / e.sum({q1.axis}, keepdims=True)\n"
    )
    return answers
