"""A class of invented people, and students who hand in what students hand in: to try every step before it matters.

demo() makes the class.  submissions() plays its students for an assignment that was released in it: download.zip, with
file names as Canvas gives them, and beside it truth.json, which says what each one did and what it must be worth.
"""

import csv
import io
import re
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, cycle, islice
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import nbformat
import numpy as np

from attention_grading.assignment import Assignment
from attention_grading.classroom import Classroom, Problem, read_json, write, write_json
from attention_grading.judge import here, judge_all
from attention_grading.release import rendered, words_of

PEOPLE = (  # names that software stumbles over; two of them have the same
    ("王, 小明", "zh"), ("Siobhán O'Neil", "en"), ("=1+1", "en"), ("محمد علي", "en"), ("张伟", "zh"), ("张伟", "both"),
    ("José Ñíguez-Müller", "en"), ('Zoë "Zo" Brontë', "both"), ("欧阳娜娜", "zh"), ("Nguyễn Thị Hương", "en"),
    ("Łukasz Żółć", "en"), ("דניאל כהן", "en"), ("司马光远", ""), ("Søren Ægir Øst", "en"), ("@lex", ""),
    ("Ελένη Παππά", "en"), ("김서연", "both"), ("Мария Петрова", "en"), ("佐藤 さくら", "zh"), ("यश शर्मा", "en"),
)  # fmt: skip
CHINESE = "赵钱孙李周吴郑冯陈褚卫蒋沈韩", "明华丽静强军洋艳杰娟涛超霞平刚桂敏辉"
ENGLISH = (
    ("Adams", "Baker", "Clarke", "Dixon", "Evans", "Fisher", "Green", "Harris", "Irving", "Jones", "Kelly", "Lewis"),
    ("Amy", "Ben", "Chloe", "Daniel", "Emma", "Finn", "Grace", "Henry", "Ivy", "Jack", "Kate", "Liam", "Mia", "Noah"),
)
MARK = "demo.txt"  # a class without it may be one of real people
MARKER = re.compile(r"(?m)^[ \t]*### (BEGIN|END) SOLUTION[ \t]*\n?")
CANARY = re.compile(r"(?m)^[ \t]*# canary.*\n?|[ \t]*[（(]?\bcanary[-\w]*[）)]?")  # the words that show a leak


def demo(folder, students=30):
    """Make a class of invented people in an empty folder.   -> Classroom"""
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Problem(f"{folder} is not empty: name a folder that does not exist yet.")
    if students < 1:
        raise Problem("A class has at least one student.")
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(["student_id", "name", "language", "email", "lms_id"])
    for i, (name, language) in enumerate(people(students), start=1):
        number = f"00{i:05}" if i % 10 == 7 else f"2026{i:04}"
        table.writerow([number, name, language, f"student{i}@example.org", 48000 + 7 * i])
    write(folder / "roster.csv", text.getvalue().encode("utf-8-sig"))
    write(folder / MARK, "The people of this class are invented: attn demo made it, and attn demo --play plays them.\n")
    return Classroom(folder)


def people(count):
    """Invented names, each with a language."""
    yield from PEOPLE[:count]
    for i in range(count - len(PEOPLE)):
        (family, given), n = (CHINESE, ENGLISH)[i % 2], i // 2
        last, first = family[n % len(family)], given[(n + n // len(family)) % len(given)]
        middle = given[(n + n // 7 + 5) % len(given)]
        yield (
            (last + first + middle, "zh")
            if i % 2 == 0
            else (f"{first} {middle[0]}. {last}", ("en", "both")[i % 5 == 1])
        )


# ------------------------------------------------------------------ what a student does
@dataclass
class Desk:
    """A released notebook, right answers to it, and wrong ones: right if one thing that varies were different."""

    notebook: object
    functions: dict  # question -> the function that it asks for
    right: dict  # question -> source
    wrong: dict
    written: dict

    @property
    def last(self):
        return list(self.functions)[-1]

    def answer(self, answers):
        for key, source in answers.items():
            self.cell(key).source = source

    def cell(self, key):
        return next(cell for cell in self.notebook.cells if key_of(cell) == key)

    def leave_open(self):
        self.cell(self.last).source += "\n\nprint(("

    def never_return(self):
        self.cell(self.last).source = f"def {self.functions[self.last]}(*arguments):\n    while True:\n        pass"

    def delete_cells(self):
        gone = self.last, f"{self.last}_check"
        self.notebook.cells = [cell for cell in self.notebook.cells if key_of(cell) not in gone]

    def duplicate_cells(self):
        for key in self.functions:
            cell = self.cell(key)
            twin = nbformat.from_dict(cell | {"id": f"{cell.id[:50]}-copy"})
            self.notebook.cells.insert(self.notebook.cells.index(cell), twin)

    def make_noise(self):
        for key in self.functions:
            self.cell(key).source += '\n\nimport warnings\nprint("好了 · done")\nwarnings.warn("提示 · a hint")'

    def answer_wrong(self):
        self.answer(self.wrong)


def key_of(cell):
    return cell.metadata.get("nbgrader", {}).get("grade_id")


class Kind(NamedTuple):
    """What a student does: which automatic questions are answered right, and what else is done to the notebook."""

    did: str
    right: slice = slice(None)
    other: Callable = lambda desk: None
    writes: bool = True  # the written answers too
    judged: bool = False  # what it is worth depends on the variant: it is found out


KINDS = {
    "right": Kind("answers everything right"),
    "partly": Kind("answers the first question right and leaves the others", slice(1), writes=False),
    "missing": Kind("hands in nothing"),
    "blank": Kind("hands in the notebook as it came", slice(0), writes=False),
    "late": Kind("answers everything right, a day late"),
    "naive": Kind("overlooks one thing that varies", slice(0), Desk.answer_wrong, judged=True),
    "syntax error": Kind("leaves a bracket open in the last automatic question", slice(-1), Desk.leave_open),
    "corrupt": Kind("answers everything right; half of the file is lost"),
    "endless loop": Kind("never returns in the last automatic question", slice(-1), Desk.never_return),
    "copied": Kind("hands in the notebook of a neighbour who has everything right", judged=True),
    "duplicate cells": Kind("has each automatic answer twice, as after copy and paste", other=Desk.duplicate_cells),
    "deleted cell": Kind("has deleted the last automatic answer with its check", slice(-1), Desk.delete_cells),
    "renamed": Kind("answers everything right and gives the file another name"),
    "resubmitted": Kind("hands in the empty notebook, then one in which everything is right"),
    "noisy": Kind("answers everything right, with prints and warnings", other=Desk.make_noise),
}
OFTEN = "right", "right", "partly", "right", "naive", "right", "late", "right", "missing", "right"
TEXTS = (  # written answers; {own} is the master's own text, the empty text no answer
    "{own}", "{own}", "因为方差变大了。Because the variance grows.", "不清楚，见课本。I do not know; see the book.",
    "<script>alert('marks')</script><img src=x onerror=alert(1)> $\\frac{1}{0$ **=1+1**", "",
)  # fmt: skip
EARLIER, IN_TIME, TOO_LATE = (2027, 1, 13, 8, 0, 0), (2027, 1, 14, 20, 15, 0), (2027, 1, 16, 9, 30, 0)


# ------------------------------------------------------------------ the class
def submissions(classroom, name, seed=0):
    """Play the students of a demo class.   -> the path of download.zip"""
    if not (classroom.folder / MARK).is_file():
        raise Problem(f"{classroom.folder} may be a class of real people: only a class that attn demo made is played.")
    released = read_json(classroom.of(name, "release.json"))
    if not released:
        raise Problem(f"{name} was not released in this class: run attn release first.")
    assignment = Assignment(classroom.of(name, "master", f"{name}.ipynb"))
    roster, secret, rng = classroom.roster(), classroom.secret(), np.random.default_rng([seed, *name.encode()])
    kinds = list(islice(chain(KINDS, cycle(OFTEN)), len(roster)))  # one of each, then again and again the common ones
    rng.shuffle(kinds)
    texts = [TEXTS[i] for i in rng.integers(len(TEXTS), size=len(roster))]
    neighbour = kinds.index("right")
    texts[neighbour] = "{own}"
    whose = ["" if released["same_for_all"] else student.id for student in roster]
    files, truth = [], {}
    for number, (student, kind) in enumerate(zip(roster, kinds, strict=True)):
        owner = neighbour if kind == "copied" else number
        desk = desk_of(classroom, assignment, secret, roster[owner], whose[owner], rng)
        untouched = nbformat.writes(desk.notebook)
        play(KINDS[kind], desk, texts[owner])
        files += handed_in(student, kind, untouched, nbformat.writes(desk.notebook))
        points = worth(kind, desk, texts[owner], assignment, secret, whose[number])
        truth[student.id] = {"kind": kind, "did": KINDS[kind].did, "late": kind == "late"} | points
    write_json(classroom.folder / "truth.json", {"assignment": name, "students": truth})
    write(classroom.folder / "download.zip", zipped(files))
    return classroom.folder / "download.zip"


def desk_of(classroom, assignment, secret, student, whose, rng):
    path = classroom.of(assignment.name, "students", f"{student.file}.ipynb")
    if not path.is_file():
        raise Problem(f"{path} is missing: run attn release again, which writes the notebooks that are not there.")
    variant = assignment.variant(secret, whose)
    other = {key: misread(v, assignment.questions[key].choices, rng) for key, v in variant.items()}
    answers = sources(assignment, variant)
    return Desk(
        notebook=nbformat.read(path, as_version=4),
        functions={key: question.function for key, question in assignment.automatic.items()},
        right={key: with_values(answers[key], variant) for key in assignment.automatic},
        wrong={key: with_values(answers[key], other) for key in assignment.automatic},
        written={key: answers[key] for key in assignment.written},
    )


def sources(assignment, variant):
    """The master's own answers, without the words by which a leak of the master is known.   -> {question: source}"""
    words, found = words_of(assignment, variant), {}
    for cell in filter(key_of, nbformat.read(assignment.notebook, as_version=4).cells):
        source = rendered(cell.source, words, assignment.notebook.name, cell.id)
        found[key_of(cell)] = CANARY.sub("", MARKER.sub("", source)).strip()
    return found


def with_values(source, variant):
    """A solution as a student writes it, who has but one variant."""
    values = {
        key: ", ".join(f"{name}={value!r}" for name, value in vars(v).items())
        for key, v in variant.items()
        if re.search(rf"\b{key}\.", source)
    }
    lines = [f"{key} = SimpleNamespace({text})" for key, text in values.items()]
    return "\n".join(["from types import SimpleNamespace", "", *lines, "", "", source])


def misread(v, choices, rng):
    """A variant with another value of one thing that varies."""
    names = [name for name, values in choices.items() if len(values) > 1]
    if not names:
        return v
    name = names[rng.integers(len(names))]
    values = list(choices[name])
    return SimpleNamespace(**vars(v) | {name: values[values.index(getattr(v, name)) - 1]})


def play(kind, desk, text):
    desk.answer({key: desk.right[key] for key in list(desk.right)[kind.right]})
    if kind.writes and text:
        desk.answer({key: text.replace("{own}", own) for key, own in desk.written.items()})
    kind.other(desk)


def worth(kind, desk, text, assignment, secret, whose):
    """What must come out.   -> {"status", "points": {question: number, or None where there is no mark yet}}"""
    if kind in ("missing", "corrupt"):
        return {
            "status": {"missing": "missing", "corrupt": "failed"}[kind],
            "points": dict.fromkeys(assignment.questions),
        }
    if KINDS[kind].judged:
        points = judged(desk.notebook, assignment, secret, whose)
    else:
        got = list(desk.right)[KINDS[kind].right]
        points = {key: question.points * (key in got) for key, question in assignment.automatic.items()}
    points |= dict.fromkeys(assignment.written, None if KINDS[kind].writes and text else 0)
    return {"status": "needs marking" if None in points.values() else "graded", "points": points}


def judged(notebook, assignment, secret, whose):
    """The points of a notebook that is known to do no harm: its code runs here."""
    names = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for cell in notebook.cells:
            if cell.cell_type == "code" and not cell.metadata.get("nbgrader", {}).get("locked"):
                exec(compile(cell.source, cell.id, "exec"), names)
        return {key: result["points"] for key, result in judge_all(assignment, secret, whose, here(names)).items()}


def handed_in(student, kind, untouched, notebook):
    """The student's files in the download.   -> [(name, bytes, time), …]"""
    who = "".join(c for c in student.name.lower() if c.isalnum()) + "_LATE" * (kind == "late")
    number, data, time = int(student.lms_id) + 900000, notebook.encode(), TOO_LATE if kind == "late" else IN_TIME
    own = {"renamed": "Untitled (2) 副本", "resubmitted": f"{student.file}-1"}.get(kind, student.file)
    files = [
        (f"{who}_{student.lms_id}_{number}_{own}.ipynb", data[: len(data) // 2] if kind == "corrupt" else data, time)
    ]
    if kind == "resubmitted":
        files.insert(0, (f"{who}_{student.lms_id}_{number - 50000}_{student.file}.ipynb", untouched.encode(), EARLIER))
    return [] if kind == "missing" else files


def zipped(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content, time in files:
            archive.writestr(zipfile.ZipInfo(name, time), content, zipfile.ZIP_DEFLATED)
    return data.getvalue()
