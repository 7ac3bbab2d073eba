"""From a master to what students get: the text in their language with their variant, stubs where solutions stood."""

import contextlib
import copy
import functools
import re
import shutil
from types import SimpleNamespace

import jinja2
import nbformat
import numpy as np
from tqdm import tqdm

from attention_grading.assignment import Assignment, seed
from attention_grading.classroom import Problem, fingerprint, read_json, write, write_json
from attention_grading.judge import arrays, copies, here, judge_all

STUB = "raise NotImplementedError  # ✎"
YOURS = {"lang-zh": "在此作答", "lang-en": "Your answer here"}
PLACEHOLDER = "✎ " + " · ".join(YOURS.values())  # the same in each language, so that an untouched answer is known
PUBLIC = b"the public page"  # no secret at all: everybody may see this variant
EXAMPLE = {
    "lang-zh": "这一页是个例子：同样的题可以有许多种条件，这里是其中一种。"
    "你自己的笔记本由任课教师发给你，条件可能与这里不同。这一页不收作业，也不评分。",
    "lang-en": "This page is an example: the same questions come with many different conditions, and this is one "
    "choice of them. Your instructor gives you a notebook of your own, whose conditions may be others. Nothing is "
    "handed in or marked on this page.",
}
SOLUTION = re.compile(r"^([ \t]*)### BEGIN SOLUTION\n.*?^[ \t]*### END SOLUTION[ \t]*$", re.M | re.S)
TEMPLATE = jinja2.Environment(
    block_start_string="<%", block_end_string="%>", variable_start_string="<<", variable_end_string=">>",
    comment_start_string="<#", comment_end_string="#>", undefined=jinja2.StrictUndefined,
    trim_blocks=True, keep_trailing_newline=True, autoescape=False,
)  # fmt: skip


def release(classroom, master, language="both", same_for_all=False, replace=False, progress=False):
    """Write the notebooks of an assignment into the class.   -> (how many were written, the assignment's folder)

    Where the same master was released before, only who has no notebook yet gets one.
    """
    assignment = Assignment(master)
    complain_of(assignment)
    students, secret = classroom.roster(), classroom.secret()
    folder = classroom.of(assignment.name)
    before = read_json(folder / "release.json")
    new = {
        "master": assignment.digest,
        "same_for_all": same_for_all,
        "language": language,
        "secret": fingerprint(secret),  # a class folder that got another secret would have other variants
    }
    if before and before != new and not replace:
        raise Problem(
            f"{assignment.name} was released before, from other files or in another way, and students may have it. "
            "Use --replace to write the new notebooks over the old ones. "
            f"Students who join later get the old ones from {folder / 'master' / assignment.notebook.name}."
        )
    path_of = {student.id: folder / "students" / f"{student.file}.ipynb" for student in students}
    again = before and not replace  # then only who has none yet
    getting = [student for student in students if not again or not path_of[student.id].exists()]
    for whose in tqdm({"" if same_for_all else s.id for s in getting}, "checking the solutions", disable=not progress):
        self_test(assignment, secret, whose)
    made = (
        (path_of[s.id], student_notebook(assignment, secret, "" if same_for_all else s.id, s.language or language, s))
        for s in tqdm(getting, "writing the notebooks", disable=not progress)
    )
    if again:
        for path, notebook in made:
            write(path, nbformat.writes(notebook) + "\n")
    else:
        write_all(folder, assignment, made, new)
    return len(getting), folder


def write_all(folder, assignment, made, about):
    """Everything of a release in a folder of its own first, so that no half release is ever seen.

    release.json goes first and comes last: without it nothing was released, and the same command does all again.
    """
    part = folder / ".releasing"
    shutil.rmtree(part, ignore_errors=True)
    try:
        for file in (assignment.notebook, assignment.module):
            write(part / "master" / file.name, file.read_bytes())
        write(part / "page" / f"{assignment.name}.ipynb", nbformat.writes(page(assignment)) + "\n")
        for path, notebook in made:
            write(part / "students" / path.name, nbformat.writes(notebook) + "\n")
        write_json(part / "release.json", about)
        (folder / "release.json").unlink(missing_ok=True)
        for name in ("master", "page", "students", "release.json"):
            if (folder / name).exists():
                (folder / name).rename(part / f"old-{name}")
            (part / name).rename(folder / name)
    finally:
        shutil.rmtree(part, ignore_errors=True)
        with contextlib.suppress(OSError):  # not empty: the usual case
            folder.rmdir()


def complain_of(assignment):
    """What is wrong with a master before any variant is drawn."""
    keys = [cell.metadata.nbgrader.get("grade_id") for cell in assignment.cells if "nbgrader" in cell.metadata]
    for key in assignment.questions:
        if keys.count(key) != 1:
            raise Problem(
                f"{assignment.notebook}: {keys.count(key)} cells have the grade_id {key} of QUESTIONS; one must."
            )
    for key in keys:
        if key not in assignment.questions:
            raise Problem(f"{assignment.notebook}: a cell has the grade_id {key}, which QUESTIONS lacks.")


def released(classroom, name):
    """-> the assignment as it was released, and whether all have the same variant"""
    about = read_json(classroom.of(name, "release.json"))
    if about is None:
        raise Problem(f"{name} was not released in {classroom.folder}: run attn release first.")
    if not isinstance(about, dict) or not {"same_for_all", "language"} <= about.keys():
        raise Problem(f"{classroom.of(name, 'release.json')} is damaged: bring it back from a copy.")
    return Assignment(classroom.of(name, "master", f"{name}.ipynb")), about["same_for_all"]


def student_notebook(assignment, secret, whose, language, student=None):
    """The notebook with the variant of `whose` (the empty name: of everybody).   -> notebook"""
    variant = assignment.variant(secret, whose)
    words = words_of(assignment, variant)
    cells = []
    for cell in assignment.cells:
        tags = cell.metadata.get("tags", [])
        if {"variant", "marking"} & set(tags) or not in_language(tags, language):
            continue
        key = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell = stripped(cell, assignment, words)
        cells.append(cell)
        if key in assignment.automatic:
            cells.append(check_cell(assignment, key, variant[key], secret, whose))
    about = {"assignment": assignment.name, "student": student.id if student else whose, "language": language}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL, "attn": about})


KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def in_language(tags, language):
    other = {"zh": "lang-en", "en": "lang-zh", "both": None}[language]
    return other not in tags


def points(assignment, key):
    return assignment.questions[key].points


def words_of(assignment, variant):
    """What may stand between << and >>: of each question what was drawn, and its points."""
    return {key: SimpleNamespace(**vars(v), points=points(assignment, key)) for key, v in variant.items()}


def stripped(cell, assignment, words):
    """A master's cell as students see it."""
    cell = copy.deepcopy(cell)
    where = f"{assignment.notebook}, cell {cell.id}"
    key = cell.metadata.get("nbgrader", {}).get("grade_id")
    if cell.cell_type == "code":
        cell.outputs, cell.execution_count = [], None
    if key and cell.cell_type == "markdown":
        cell.source = PLACEHOLDER
        cell.pop("attachments", None)  # pictures of the solution
    else:
        cell.source = SOLUTION.sub(lambda found: found[1] + STUB, cell.source)
        if re.search(r"SOLUTION|(begin|end) +solution", cell.source):
            raise Problem(f"{where}: ### BEGIN SOLUTION and ### END SOLUTION do not pair up.")
        if key in assignment.automatic and STUB not in cell.source:
            raise Problem(f"{where}: the solution has no ### BEGIN SOLUTION and ### END SOLUTION around it.")
        cell.source = rendered(cell.source, words, assignment.notebook.name, cell.id)
    if key:
        written = key in assignment.written
        cell.metadata.nbgrader = nbgrader(key, solution=True, grade=written, points=points(assignment, key))
        if not written:
            del cell.metadata.nbgrader["points"]
    return cell


def nbgrader(key, solution, grade, points):
    return nbformat.from_dict(
        {"schema_version": 3, "grade_id": key, "solution": solution, "grade": grade, "locked": not solution,
         "task": False, "points": points}
    )  # fmt: skip


template = functools.lru_cache(1000)(TEMPLATE.from_string)


def rendered(source, words, where, cell):
    try:
        return template(source).render(**words)
    except Exception as error:  # a template may do anything wrong
        raise Problem(f"{where}, cell {cell}: {error}. Between << and >> stands what a question lets vary.") from None


def check_cell(assignment, key, v, secret, whose):
    """The locked cell after an answer: one example and its right result."""
    question = assignment.questions[key]
    rng = np.random.default_rng(seed(secret, whose, assignment.name, key, "example"))
    try:
        arguments = question.example(rng, v)
        right = arrays(question.reference(v, *copies(arguments)))
    except Exception as error:
        raise Problem(
            f"{assignment.module}: the example of {key} fails with {type(error).__name__}: {error}. "
            f"The variant: {vars(v)}."
        ) from error
    names = ", ".join(f"x{i}" for i in range(len(arguments)))
    wants = [f"want{i}" for i in range(len(right))] if len(right) > 1 else ["want"]
    gots = [w.replace("want", "got") for w in wants]
    lines = ["# One example with its right result. Marks are given on other inputs."]
    lines += [f"x{i} = {literal(a)}" for i, a in enumerate(arguments)]
    lines += [f"{w} = {literal(np.round(value, 6))}" for w, value in zip(wants, right, strict=True)]
    lines += [f"{', '.join(gots)} = {question.function}({names})"]
    lines += [f"np.testing.assert_allclose({g}, {w}, rtol=0, atol=2e-6)" for g, w in zip(gots, wants, strict=True)]
    cell = nbformat.v4.new_code_cell("\n".join(lines), id=f"{key}-check")
    cell.metadata.nbgrader = nbgrader(f"{key}_check", solution=False, grade=True, points=question.points)
    return cell


def literal(value):
    """An argument as Python source."""
    if isinstance(value, np.ndarray):
        return f"np.array({value.tolist()})" if value.size else f"np.zeros({value.shape})"
    return repr(value.item() if isinstance(value, np.generic) else value)


def self_test(assignment, secret, student):
    """Every point must be got by the master's own solution, with this student's variant."""
    variant = assignment.variant(secret, student)
    names = run_master(assignment, variant)
    try:
        results = judge_all(assignment, secret, student, here(names))
    except Exception as error:
        raise Problem(
            f"{assignment.module}: trying the solution failed with {type(error).__name__}: {error}. "
            f"The variant: { {key: vars(v) for key, v in variant.items()} }. Nothing was released."
        ) from error
    for key, result in results.items():
        for part in result["parts"]:
            if part["why"]:
                raise Problem(
                    f"{assignment.notebook}: the solution of {key} fails “{part['en']}”: {part['why']['en']} "
                    f"The variant: {vars(variant[key])}. Nothing was released."
                )


def run_master(assignment, variant):
    """What the master's code cells define, with the variant in place of the one that the notebook shows."""
    names = dict(variant)
    for cell in assignment.cells:
        if cell.cell_type == "code" and "variant" not in cell.metadata.get("tags", []):
            where = f"{assignment.notebook.name}, cell {cell.id}"
            try:
                exec(compile(cell.source, where, "exec"), names)
            except Exception as error:
                raise Problem(
                    f"{where} does not run: {type(error).__name__}: {error}. Nothing was released."
                ) from error
    return names


def page(assignment):
    """The public page: an example of the variants, in both languages, text only.   -> notebook"""
    cells = []
    for cell in student_notebook(assignment, PUBLIC, "", "both").cells:
        cell.metadata.pop("nbgrader", None)
        if cell.cell_type == "code":
            cell = nbformat.v4.new_markdown_cell(f"```python\n{cell.source}\n```", id=cell.id)
        if cell.source == PLACEHOLDER:
            cells += [text_of(tag, f"✎ {words}", f"{cell.id}-{tag}") for tag, words in YOURS.items()]
        else:
            cells.append(cell)
    for tag, sentence in EXAMPLE.items():
        first = next((cell for cell in cells if tag in cell.metadata.get("tags", [])), None)
        if first:  # below its heading
            heading = re.match(r"(# .*\n+)?", first.source)[0]
            first.source = f"{heading}{sentence}\n\n{first.source.removeprefix(heading)}"
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})


def text_of(tag, source, id):
    return nbformat.v4.new_markdown_cell(source, id=id, metadata={"tags": [tag]})


def write_page(master, path):
    """The public page alone, of a master whose solution is right."""
    assignment = Assignment(master)
    complain_of(assignment)
    self_test(assignment, PUBLIC, "")
    write(path, nbformat.writes(page(assignment)) + "\n")
