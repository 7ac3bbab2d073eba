"""Marks by hand: a sheet to fill in and a page to read for whoever marks, and back again what was typed into the sheet.

NAME/marking.csv   a row for each answer; points and comment are to be filled in
NAME/marking.html  the same answers in the same order, with their questions and the marking guide
NAME/marked.json   {student: {question: {"points", "comment", "answer"}}}, where answer is the code of what was marked

A row of the sheet that names a student and any question, and has no answer_code, sets these points whatever was handed
in and whatever the grader gave: after a talk with the student, say, or for a file that could not be read.
"""

import csv
import io
import json
import math
import re
import unicodedata
from typing import NamedTuple

from tqdm import tqdm

from attention_grading.assignment import seed
from attention_grading.classroom import SIGNS, Problem, Student, numbered_rows, read_json, write, write_json
from attention_grading.collect import collected, something_collected
from attention_grading.reading import Master, number, page
from attention_grading.release import PLACEHOLDER, released, words_of

COLUMNS = ("student_id", "name", "question", "answer", "points", "of", "comment", "answer_code")
LONGEST_IN_A_SHEET = 30_000  # characters; Excel takes 32,767
FORMULA = re.compile(rf"'*[{SIGNS}\t\r\n]")  # what begins so may be computed; an apostrophe makes it text
WITHIN = re.compile(rf"(?<=[\n,;\t])(?=[ ]*[{SIGNS}])")  # begins a cell where a program takes another separator
NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)")
A_NUMBER = re.compile(r"\d+(?:\.(\d+))?(e\+\d+)?")


class Handed(NamedTuple):
    """An answer that a person marks."""

    student: Student
    question: str
    cells: list  # [(cell type, source), …]
    code: str  # another answer, another code; without the secret nobody can tell whose it is


class Marking(NamedTuple):
    marked: int
    open: int


def export_answers(classroom, name, anonymous=False, progress=False):
    """Write marking.csv and marking.html, with the marks that are known already.   -> how many there are"""
    assignment, same_for_all = released(classroom, name)
    something_collected(classroom, name)
    sheet, marks, handed = classroom.of(name, "marking.csv"), known(classroom, name), answers(classroom, name)
    refuse_to_lose(sheet, marks, handed)
    html = reading_page(classroom, assignment, same_for_all, handed, marks, anonymous, progress)
    by_hand = [] if anonymous else set_by_hand(classroom, marks, handed)  # such a row needs its student
    rows = [row(assignment, one, mark_of(one, marks), anonymous) for one in [*handed, *by_hand]]
    write(classroom.of(name, "marking.html"), html)
    write(sheet, table(COLUMNS, rows))
    return summary(handed, marks)


def import_marks(classroom, name, path):
    """Take over the points and comments of a sheet: all, or none where a row is wrong.   -> how many there are"""
    assignment, _ = released(classroom, name)
    marks, handed = known(classroom, name), {one.code: one for one in answers(classroom, name)}
    roster = classroom.roster()
    new, complaints = {}, []
    for line, fields in filled_rows(path):
        try:
            one = meant(fields, handed, roster, assignment)
            points = points_of(fields["points"], assignment.questions[one.question].points)
            mark = {"points": points, "comment": fields["comment"]} | ({"answer": one.code} if one.code else {})
            key, before = (one.student.id, one.question), mark_of(one, marks)
            if before and (points, fields["comment"]) == (before["points"], before["comment"]):
                mark = before  # points that count whatever was handed in go on doing so
            if points is None:
                if mark["comment"] and (before is None or mark["comment"] != before["comment"]):
                    raise ValueError("column points: there is a comment and no points; type the points.")
            elif new.setdefault(key, mark) != mark:
                raise ValueError("column points: another row marks the same answer differently; leave one of the two.")
        except ValueError as error:
            complaints.append(f"row {line}, {who(fields)}, {error}")
    if complaints:
        raise Problem("\n  ".join([f"{path}: nothing was imported, because of", *complaints]))
    for (student, question), mark in new.items():
        marks.setdefault(student, {})[question] = mark
    write_json(classroom.of(name, "marked.json"), marks)
    return summary(handed.values(), marks)


def answers(classroom, name):
    """What was handed in for a person to mark, by question, then in an order that tells nothing.   -> [Handed, …]"""
    assignment, _ = released(classroom, name)
    master, secret, handed = Master(assignment), classroom.secret(), []
    entries = collected(classroom, name)["students"]
    for student in classroom.roster():
        about = entries.get(student.id)
        if about is None or not about["readable"]:
            continue
        cells = master.handed_in(classroom, student, about)
        for key in assignment.written:
            if not cells.get(key) or (key in about["blank"] and not text_after(cells[key])):
                continue
            code = f"a{seed(secret, student.id, name, key, json.dumps(cells[key])):016x}"
            handed.append(Handed(student, key, cells[key], code))
    order = list(assignment.written)
    return sorted(handed, key=lambda one: (order.index(one.question), one.code))


def text_after(cells):
    """Whether an answer whose own cell is blank may stand in a cell below."""
    return any(kind == "markdown" and source.strip() for kind, source in cells[1:])


def known(classroom, name):
    path = classroom.of(name, "marked.json")
    marks = read_json(path) or {}
    try:
        points = [mark["points"] + 0 for of_student in marks.values() for mark in of_student.values()]
    except (AttributeError, TypeError, LookupError):
        points = [math.nan]
    if not all(map(math.isfinite, points)):
        raise Problem(f"{path}, which holds the marks by hand, is damaged: bring it back from a copy.")
    return marks


def mark_of(one, marks):
    """The mark of an answer, or None; one that was given to another answer of the same student does not count."""
    mark = marks.get(one.student.id, {}).get(one.question)
    return mark if mark and mark.get("answer", one.code) == one.code else None


def current_marks(classroom, name):
    """The marks that count: one of an answer does not pass to another answer.   -> {student: {question: mark}}"""
    marks, (assignment, _) = known(classroom, name), released(classroom, name)
    most = {key: question.points for key, question in assignment.questions.items()}  # it may have been more before
    codes = {(one.student.id, one.question): one.code for one in answers(classroom, name)} if marks else {}
    current = {}
    for student, of in marks.items():
        for key, mark in of.items():
            if mark.get("answer") in (None, codes.get((student, key))) and mark["points"] <= most.get(key, 0):
                current.setdefault(student, {})[key] = mark
    return current


def set_by_hand(classroom, marks, handed):
    """The points that count whatever was handed in, but for answers that have a row of their own.   -> [Handed, …]"""
    roster, there = {student.id: student for student in classroom.roster()}, {one[:2] for one in handed}
    return [
        Handed(roster[student], key, [], "")
        for student, of in marks.items()
        if student in roster
        for key, mark in of.items()
        if "answer" not in mark and (roster[student], key) not in there
    ]


def summary(handed, marks):
    marked = sum(mark_of(one, marks) is not None for one in handed)
    return Marking(marked, len(handed) - marked)


# Writing


def row(assignment, one, mark, anonymous):
    text = "\n\n".join(source for _, source in one.cells)
    if len(text) > LONGEST_IN_A_SHEET:
        text = text[:LONGEST_IN_A_SHEET] + " … (the rest is in marking.html)"
    student = ("", "") if anonymous else (one.student.id, one.student.name)
    points, comment = (f"{mark['points']:.10g}", mark["comment"]) if mark else ("", "")
    of = number(assignment.questions[one.question].points)
    return (*map(safe, student), one.question, safe(WITHIN.sub("'", text)), points, of, safe(comment), one.code)


def table(columns, rows):
    """A CSV file that spreadsheet programs read as UTF-8."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([columns, *rows])
    return text.getvalue().encode("utf-8-sig")


def safe(text):
    """A field that no spreadsheet program takes for a formula; plain(safe(text)) == text"""
    return "'" + text if FORMULA.match(text) else text


def plain(text):
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def refuse_to_lose(sheet, marks, handed):
    """Whoever marks may have typed into the sheet that is about to be written over."""
    if not sheet.exists():
        return
    kept = {}
    for student, of in marks.items():
        for key, mark in of.items():
            kept[mark.get("answer", f"{student} {key}")] = mark
    kept |= {one.code: mark for one in handed if (mark := mark_of(one, marks))}
    for line, fields in filled_rows(sheet):
        code = fields["answer_code"] or f"{fields['student_id']} {fields['question']}"
        if not same_mark(fields, kept.get(code)):
            raise Problem(
                f"{sheet}, row {line} has a mark that was not imported: import the sheet first, or move it away."
            )


def same_mark(fields, mark):
    try:
        points = points_of(fields["points"], math.inf)
    except ValueError:
        return False
    return mark is not None and points in (None, mark["points"]) and fields["comment"] in ("", mark["comment"])


def reading_page(classroom, assignment, same_for_all, handed, marks, anonymous, progress):
    """The page for whoever marks.   -> HTML"""
    master, secret = Master(assignment), classroom.secret()
    entries, questions = collected(classroom, assignment.name)["students"], {}
    for one in tqdm(handed, "typesetting the answers", disable=not progress):
        variant = assignment.variant(secret, "" if same_for_all else one.student.id)
        words = words_of(assignment, variant)
        questions.setdefault(one.question, []).append(
            {
                "one": one,
                "mark": mark_of(one, marks),
                "variant": vars(variant[one.question]),
                "question": master.question(one.question, words),
                "guide": master.guide(one.question, words),
                "cells": [(kind, source) for kind, source in one.cells if source.strip() != PLACEHOLDER],
                "look": [] if anonymous else entries[one.student.id]["look"],
            }
        )
    return page("marking.html", assignment=assignment, questions=questions, anonymous=anonymous)


# Reading


def filled_rows(path):
    """The rows of a sheet with points or a comment.   -> (the row's number, {column: text})"""
    rows = numbered_rows(path)
    lacking = {"points", "answer_code"} - set(rows[0][1]) if rows else ()
    if lacking:
        raise Problem(f"{path} has no column {' and no column '.join(sorted(lacking))}: export the sheet again.")
    for line, fields in rows:
        fields = {name: plain(fields.get(name, "").strip()) for name in COLUMNS}
        fields["comment"] = fields["comment"].replace("\r\n", "\n").replace("\r", "\n")
        if fields["points"] or fields["comment"]:
            yield line, fields


def who(fields):
    """A row's student as the sheet names him: where it names none, nobody is given away."""
    named = f"{fields['student_id']} {fields['name']}".strip()
    return f"{named or fields['answer_code']} {fields['question']}".strip()


def meant(fields, handed, roster, assignment):
    """The answer that a row marks."""
    one = handed.get(fields["answer_code"])
    student, question = fields["student_id"], fields["question"]
    if one and (not student or same_id(student, one.student.id)) and question in ("", one.question):
        return one
    if one:
        raise ValueError("column answer_code: it belongs to another answer; sort whole rows or export the sheet again.")
    named = [one for one in roster if same_id(student, one.id)]
    if student and len(named) != 1:
        raise ValueError("column student_id: the roster has no such student; correct it, or take the row out.")
    if question and question not in assignment.questions:
        raise ValueError(f"column question: {question} is none of {', '.join(assignment.questions)}; correct it.")
    if not fields["answer_code"] and named and question:
        return Handed(named[0], question, [], "")
    if not fields["answer_code"]:
        raise ValueError("column answer_code: it is empty, and no student_id and question say whose points these are.")
    raise ValueError(
        "column answer_code: this is not the answer that is handed in now; take the row out, "
        "import the rest, and export the sheet again to mark the new answer."
    )


def same_id(text, student_id):
    """Whether a field is this id, also after a spreadsheet program took it for a number."""
    text = unicodedata.normalize("NFC", text).casefold()
    if text == student_id.casefold():
        return True
    as_number = A_NUMBER.fullmatch(text.replace(",", "."))
    if not as_number or not student_id.isdecimal():
        return False
    places = len(as_number[1] or "") if as_number[2] else 14  # 2.0231E+11; else a program keeps 15 digits
    return f"{float(as_number[0]):.{places}e}" == f"{float(student_id):.{places}e}"


def points_of(text, most):
    """-> a number from 0 to `most`, or None where nothing was typed"""
    text = unicodedata.normalize("NFKC", text).replace(" ", "")
    if not text:
        return None
    if not NUMBER.fullmatch(text):
        raise ValueError(f"column points: “{text}” is not a number; type one from 0 to {number(most)}.")
    points = float(text.replace(",", "."))
    if not 0 <= points <= most:
        side = "below 0" if points < 0 else f"above the maximum {number(most)}"
        raise ValueError(f"column points: {text} is {side}; type a number from 0 to {number(most)}.")
    return int(points) if points.is_integer() else points
