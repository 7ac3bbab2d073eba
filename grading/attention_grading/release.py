"""From a master to what students get: the text in their language with their variant, stubs where solutions stood."""

import copy
import re
from types import SimpleNamespace

import jinja2
import nbformat
import numpy as np
from tqdm import tqdm

from attention_grading.assignment import Assignment, seed
from attention_grading.classroom import Problem, read_json, write, write_json
from attention_grading.judge import arrays, copies, here, judge_all

STUB = "raise NotImplementedError  # ✎"
PLACEHOLDER = "✎ 在此作答 · Your answer here"  # the same in each language, so that an untouched answer is known
SOLUTION = re.compile(r"^([ \t]*)### BEGIN SOLUTION\n.*?^[ \t]*### END SOLUTION[ \t]*$", re.M | re.S)
TEMPLATE = jinja2.Environment(
    block_start_string="<%", block_end_string="%>", variable_start_string="<<", variable_end_string=">>",
    comment_start_string="<#", comment_end_string="#>", undefined=jinja2.StrictUndefined,
    trim_blocks=True, keep_trailing_newline=True, autoescape=False,
)  # fmt: skip


def release(classroom, master, language="both", same_for_all=False, replace=False, progress=False):
    """Write the notebooks of an assignment into the class.   -> how many were written

    Where the same master was released before, only who has no notebook yet gets one.
    """
    assignment = Assignment(master)
    here_before = read_json(classroom.of(assignment.name, "release.json"))
    new = {"master": assignment.digest, "same_for_all": same_for_all, "language": language}
    if here_before and here_before != new and not replace:
        raise Problem(
            f"{assignment.name} was released before, from other files or in another way, and students may have it. "
            "With --replace the new notebooks are written over the old ones."
        )
    students, secret = classroom.roster(), classroom.secret()
    written = {}
    for student in tqdm(students, "checking the solutions", disable=not progress):
        whose = "" if same_for_all else student.id
        if whose not in written:
            self_test(assignment, secret, whose)
            written[whose] = None
    count = 0
    folder = classroom.of(assignment.name)
    for file in (assignment.notebook, assignment.module):
        write(folder / "master" / file.name, file.read_bytes())
    for student in tqdm(students, "writing the notebooks", disable=not progress):
        whose = "" if same_for_all else student.id
        path = folder / "students" / f"{student.file}.ipynb"
        if replace or not path.exists():
            notebook = student_notebook(assignment, secret, whose, student.language or language, student)
            write(path, nbformat.writes(notebook) + "\n")
            count += 1
    write(folder / "page" / f"{assignment.name}.ipynb", nbformat.writes(page(assignment)) + "\n")
    write_json(folder / "release.json", new)
    return count


def student_notebook(assignment, secret, whose, language, student=None):
    """The notebook with the variant of `whose` (the empty name: of everybody).   -> notebook"""
    master = nbformat.read(assignment.notebook, as_version=4)
    variant = assignment.variant(secret, whose)
    words = {key: SimpleNamespace(**vars(v), points=points(assignment, key)) for key, v in variant.items()}
    cells = []
    for cell in master.cells:
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


def stripped(cell, assignment, words):
    """A master's cell as students see it."""
    cell = copy.deepcopy(cell)
    grader = cell.metadata.get("nbgrader")
    key = grader and grader["grade_id"]
    if cell.cell_type == "code":
        cell.outputs, cell.execution_count = [], None
    if grader and cell.cell_type == "markdown":
        cell.source = PLACEHOLDER
    else:
        cell.source = SOLUTION.sub(lambda found: found[1] + STUB, cell.source)
        cell.source = rendered(cell.source, words, assignment.notebook.name, cell.id)
    if "SOLUTION" in cell.source:
        raise Problem(f"{assignment.notebook}, cell {cell.id}: ### BEGIN SOLUTION and ### END SOLUTION do not pair up.")
    if grader:
        written = key in assignment.written
        if key not in assignment.questions:
            raise Problem(f"{assignment.notebook}: QUESTIONS has no {key}, which a cell of the notebook asks.")
        cell.metadata.nbgrader = nbgrader(key, solution=True, grade=written, points=points(assignment, key))
        if not written:
            del cell.metadata.nbgrader["points"]
    return cell


def nbgrader(key, solution, grade, points):
    return nbformat.from_dict(
        {"schema_version": 3, "grade_id": key, "solution": solution, "grade": grade, "locked": not solution,
         "task": False, "points": points}
    )  # fmt: skip


def rendered(source, words, where, cell):
    try:
        return TEMPLATE.from_string(source).render(**words)
    except jinja2.TemplateError as error:
        raise Problem(f"{where}, cell {cell}: {error}. Between << and >> stands what a question lets vary.") from None


def check_cell(assignment, key, v, secret, whose):
    """The locked cell after an answer: one example and its right result."""
    question = assignment.questions[key]
    rng = np.random.default_rng(seed(secret, whose, assignment.name, key, "example"))
    arguments = question.example(rng, v)
    right = arrays(question.reference(v, *copies(arguments)))
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
    names = run_master(assignment, assignment.variant(secret, student))
    for key, result in judge_all(assignment, secret, student, here(names)).items():
        for part in result["parts"]:
            if part["why"]:
                raise Problem(
                    f"{assignment.notebook}: the solution of {key} fails “{part['en']}”: {part['why']['en']} "
                    f"The variant: {vars(assignment.variant(secret, student)[key])}. Nothing was released."
                )


def run_master(assignment, variant):
    """What the master's code cells define, with the variant in place of the one that the notebook shows."""
    names = dict(variant)
    for cell in nbformat.read(assignment.notebook, as_version=4).cells:
        if cell.cell_type == "code" and "variant" not in cell.metadata.get("tags", []):
            exec(compile(cell.source, f"{assignment.notebook.name}, cell {cell.id}", "exec"), names)
    return names


def page(assignment):
    """The public page: an example of the variants, in both languages, text only.   -> notebook"""
    secret, cells = b"the public page", []  # no secret at all: everybody may see this variant
    for cell in student_notebook(assignment, secret, "", "both").cells:
        cell.metadata.pop("nbgrader", None)
        if cell.cell_type == "code":
            cell = nbformat.v4.new_markdown_cell(f"```python\n{cell.source}\n```", id=cell.id)
        cells.append(cell)
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})
