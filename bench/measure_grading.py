"""How long a class takes to grade, here and, beside it in the same run, with nbgrader; prints a Markdown table.

The class is invented; a fifth of it each answers right, partly, wrong, not at all, and right with warnings.  Both
graders are run as a command from a cold start, on the same notebooks.  nbgrader puts one student's check cells into
all of them, so that its points mean nothing here, where everybody has a variant: only its time does.
"""

import argparse
import hashlib
import itertools
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat

from attention_grading import Assignment, Classroom
from attention_grading.classroom import read_json, write, write_json
from attention_grading.release import release, student_notebook

ROOT = Path(__file__).parents[1]
KINDS = ("right", "partly", "wrong", "blank", "warnings")
MARKERS = re.compile(r"^[ \t]*### (BEGIN|END) SOLUTION\n?", re.M)
MEMORY = """
import atexit, pathlib, re, sys
def peak():  # of this process alone
    found = re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())
    pathlib.Path(sys.argv[1]).write_text(found[1])
atexit.register(peak)
"""
OURS = """
from attention_grading import Classroom
from attention_grading.grade import grade
print(grade(Classroom(sys.argv[2]), sys.argv[3], jobs=int(sys.argv[4]), again=True))
"""
NBGRADER = """
from nbgrader.apps import NbGraderApp
NbGraderApp.launch_instance(["autograde", sys.argv[2], "--log-level=ERROR"])
"""


def a_class(folder, master, students):
    """A class in which the assignment was released and collected.   -> Classroom"""
    ids = [f"s{n:04}" for n in range(students)]
    write(folder / "roster.csv", "student_id,name\n" + "".join(f"{id},Student {id}\n" for id in ids))
    classroom = Classroom(folder)
    release(classroom, master)
    assignment, entries = Assignment(master), {}
    for id, kind in zip(ids, itertools.cycle(KINDS), strict=False):
        given = answers(assignment, assignment.variant(classroom.secret(), id), kind)
        notebook = student_notebook(assignment, classroom.secret(), id, "both")
        for cell in notebook.cells:
            key = cell.metadata.get("nbgrader", {}).get("grade_id")
            cell.source = given.get(key, cell.source)
        text = nbformat.writes(notebook)
        write(classroom.of(assignment.name, "submissions", f"{id}.ipynb"), text)
        blank = [key for key in assignment.questions if key not in given]
        sha = hashlib.sha256(text.encode()).hexdigest()
        entries[id] = {"file": f"{id}.ipynb", "sha": sha, "time": None, "late": False, "readable": True, "blank": blank}
        entries[id] |= {"repaired": [], "look": []}
    write_json(classroom.of(assignment.name, "collected.json"), {"students": entries, "unmatched": []})
    return classroom


def answers(assignment, variant, kind):
    """What a student of this kind answers.   -> {question: source}"""
    cells = {c.metadata.get("nbgrader", {}).get("grade_id"): c for c in nbformat.read(assignment.notebook, 4).cells}
    automatic = list(assignment.automatic)
    wanted = {"blank": [], "partly": automatic[: -len(automatic) // 2]}.get(kind, automatic)
    given = {}
    for key in wanted:
        names = ", ".join(f"{name}={value!r}" for name, value in vars(variant[key]).items())
        own = f"from types import SimpleNamespace as Variant\n{key} = Variant({names})\n"
        given[key] = own + MARKERS.sub("", cells[key].source)
        if kind == "wrong":
            given[key] = f"def {assignment.questions[key].function}(*arguments):\n    return arguments[0]\n"
        if kind == "warnings":
            given[key] += "\nimport warnings\nwarnings.warn('a hint')\n"
    return given


def measured(code, *words, folder):
    """Run a program of Python's.   -> (seconds, MiB that its own process held at most)"""
    memory = folder / "memory.txt"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in ("grading", "code"))}
    env["PYTHONWARNINGS"] = "ignore"  # nbgrader's database has many
    command = [sys.executable, "-c", MEMORY + code, memory, *map(str, words)]
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start, int(memory.read_text()) / 1024


def ours(classroom, name, jobs, folder):
    result = measured(OURS, classroom.folder, name, jobs, folder=folder)
    records = [read_json(path) for path in sorted(classroom.of(name, "grades").iterdir())]
    for record, kind in zip(records, itertools.cycle(KINDS), strict=False):
        points = [q["points"] for q in record["questions"].values()]
        of = [q["of"] for q in record["questions"].values()]
        right = {"right": points == of, "warnings": points == of, "partly": 0 < sum(points) < sum(of)}
        if record["status"] != "graded" or not right.get(kind, sum(points) == 0):
            sys.exit(f"{record['student']} ({kind}) has {points} of {of}: {record}")
    return result


def nbgraders(classroom, name, folder):
    """nbgrader's own autograde on the same notebooks."""
    course = folder / "course"
    assignment = Assignment(classroom.of(name, "master", f"{name}.ipynb"))
    source = student_notebook(assignment, classroom.secret(), "", "both")
    write(course / "source" / name / f"{name}.ipynb", nbformat.writes(source))
    write(course / "nbgrader_config.py", "c = get_config()\nc.CourseDirectory.course_id = 'course'\n")
    submissions = sorted(classroom.of(name, "submissions").iterdir())
    for path in submissions:
        write(course / "submitted" / path.stem / name / f"{name}.ipynb", path.read_bytes())
    command = [sys.executable, "-m", "nbgrader", "generate_assignment", name, "--log-level=ERROR"]
    subprocess.run(command, cwd=course, check=True)
    result = measured(NBGRADER, name, folder=course)
    graded = len(list((course / "autograded").glob(f"*/{name}/{name}.ipynb")))
    if graded != len(submissions):
        sys.exit(f"nbgrader graded {graded} of {len(submissions)}")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    default = ROOT / "tests" / "tiny_assignment" / "tiny.ipynb"
    parser.add_argument("master", nargs="?", type=Path, default=default, help="the master of an assignment")
    parser.add_argument("--students", type=int, default=200)
    parser.add_argument("--without-nbgrader", action="store_true")
    options = parser.parse_args()
    name, students = options.master.stem, options.students
    if len(Assignment(options.master).automatic) < 2:
        parser.error("with fewer than two automatic questions nobody answers partly")
    print("| grader | workers | submissions | seconds | seconds each | MiB of its own process |")
    print("|---|--:|--:|--:|--:|--:|", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        classroom = a_class(folder / "class", options.master, students)
        runs = [("attn grade", jobs, lambda jobs=jobs: ours(classroom, name, jobs, folder)) for jobs in (1, 2)]
        if not options.without_nbgrader:
            runs.append(("nbgrader autograde", 1, lambda: nbgraders(classroom, name, folder)))
        for grader, workers, run in runs:
            seconds, mib = run()
            row = f"| {grader} | {workers} | {students} | {seconds:.1f} | {seconds / students:.3f} | {mib:.0f} |"
            print(row, flush=True)
    print(f"\nLoad average over the last minute: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
