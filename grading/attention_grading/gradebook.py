"""The marks of an assignment in a gradebook of nbgrader, for who goes on working with nbgrader."""

import os
import re
import sys
import warnings
from typing import NamedTuple

from attention_grading.classroom import Problem, lacking
from attention_grading.collect import collected
from attention_grading.release import released
from attention_grading.standing import standing

DOUBLE = {  # Chinese family names of two characters
    "欧阳", "司马", "上官", "诸葛", "夏侯", "东方", "皇甫", "尉迟", "公孙",
    "慕容", "令狐", "司徒", "长孙", "宇文", "轩辕", "端木",
    "歐陽", "司馬", "諸葛", "東方", "尉遲", "公孫", "長孫", "軒轅",
}  # fmt: skip
EASTERN = re.compile("^[\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]")  # Chinese characters and Hangul


class Entered(NamedTuple):
    written: int
    without: list  # [(Student, why nothing is written for him), …]


def to_gradebook(classroom, name, database):
    """Write points and comments into an nbgrader database, which is made if it is missing.   -> Entered

    What it holds about other assignments and students stays, and so does what was marked in nbgrader itself.
    """
    assignment, _ = released(classroom, name)
    everybody = standing(classroom, name)
    entries = collected(classroom, name)["students"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of nbgrader's libraries: none is about the marks
        try:
            from nbgrader import api
            from sqlalchemy import URL
            from sqlalchemy.exc import SQLAlchemyError
        except ImportError:
            raise lacking("nbgrader", "gradebook") from None
        # For a new gradebook nbgrader starts the program alembic, which lies beside Python, also off the path.
        os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
        try:
            with api.Gradebook(URL.create("sqlite", database=os.path.abspath(database))) as gradebook:
                return enter(api, gradebook, assignment, everybody, entries)
        except SQLAlchemyError as error:
            raise Problem(
                f"{database} is not a gradebook that nbgrader 0.9 can write ({str(error).splitlines()[0]}): "
                "name another file or, for one of an older nbgrader, run nbgrader db upgrade."
            ) from None


def enter(api, gradebook, assignment, everybody, entries):
    """All students or, where the database refuses one, none."""
    notebook = outline(api, gradebook, assignment)
    result = Entered(0, [])
    for one in everybody:
        student = of_student(api, gradebook, one.student)
        if one.status not in ("needs marking", "graded"):
            result.without.append((one.student, one.status))
            continue
        submission = of_submission(api, gradebook, notebook, student)
        time = entries.get(one.student.id, {}).get("time")  # who was marked by hand need not have handed in
        submission.assignment.timestamp = time and api.utils.parse_utc(time)
        fill_in(submission, one, {graded(assignment, key): key for key in assignment.questions})
        result = result._replace(written=result.written + 1)
    gradebook.db.commit()
    return result


def outline(api, gradebook, assignment):
    """The assignment and its cells in the database.   -> its notebook there"""
    name = assignment.name
    gradebook.update_or_create_assignment(name)
    notebook = gradebook.update_or_create_notebook(name, name)
    strange = {cell.name for cell in notebook.grade_cells} - {graded(assignment, key) for key in assignment.questions}
    if strange:
        raise Problem(
            f"The gradebook knows {name} with other questions ({', '.join(sorted(strange))}): "
            f"remove it with nbgrader db assignment remove {name} --force, or name another database."
        )
    for key, question in assignment.questions.items():
        kind = "markdown" if key in assignment.written else "code"
        cell = {"max_score": question.points, "cell_type": kind}
        gradebook.update_or_create_grade_cell(graded(assignment, key), name, name, **cell)
        gradebook.update_or_create_solution_cell(key, name, name)
    return notebook


def graded(assignment, key):
    """The cell that has the points: as in the notebooks that were released."""
    return key if key in assignment.written else f"{key}_check"


def of_student(api, gradebook, student):
    entry = gradebook.db.get(api.Student, student.id)
    if entry is None:
        entry = api.Student(id=student.id)
        gradebook.db.add(entry)
    entry.first_name, entry.last_name = first_and_last(student.name)
    entry.email, entry.lms_user_id = student.email or None, student.lms_id or None
    return entry


def of_submission(api, gradebook, notebook, student):
    """A student's notebook in the database, with a place for each grade and each comment."""
    handed = next((s for s in student.submissions if s.assignment is notebook.assignment), None)
    handed = handed or api.SubmittedAssignment(assignment=notebook.assignment, student=student)
    mine = next((n for n in handed.notebooks if n.notebook is notebook), None)
    mine = mine or api.SubmittedNotebook(notebook=notebook, assignment=handed)
    for cells, places, make in (
        (notebook.grade_cells, mine.grades, api.Grade),
        (notebook.solution_cells, mine.comments, api.Comment),
    ):
        there = {place.cell_id for place in places}
        for cell in cells:
            if cell.id not in there:
                make(cell=cell, notebook=mine)
    gradebook.db.add(handed)  # and with it all that is new below it
    return mine


def fill_in(submission, one, keys):
    comments = {comment.cell.name: comment for comment in submission.comments}
    for grade in submission.grades:
        key = keys[grade.cell.name]
        points = one.points[key]
        grade.needs_manual_grade = points is None
        if grade.cell.cell_type == "code":
            grade.auto_score = points
        elif points is not None:
            grade.manual_score, comments[key].manual_comment = points, one.comments.get(key) or None


def first_and_last(name):
    """A name in two, as nbgrader keeps it: “last, first” where it says so, else as is usual in its script."""
    if "," in name or "，" in name:
        last, _, first = name.replace("，", ",").partition(",")
    elif not EASTERN.search(name):
        first, _, last = name.rpartition(" ")
    elif " " in name:
        last, _, first = name.partition(" ")
    else:
        n = 2 if name[:2] in DOUBLE and len(name) > 2 else 1
        last, first = name[:n], name[n:]
    return first.strip(), last.strip()
