"""The marks as a CSV file that a learning management system or a spreadsheet program reads.

canvas   the five columns of Canvas's own gradebook file, then one column with the total, named as the assignment, and
         the row “Points Possible”.  Nothing else: Canvas offers each column that it does not know as a new assignment.
         lms_id, where it is a number, is Canvas's own (column ID, also the number in the names of downloaded files);
         student_id is the SIS id.  An empty cell is “no mark”, and clears a mark that Canvas had: it shows this first.
moodle   four columns to know the student by (ID number, Username, Email address; the name is for people), the total,
         status, and one column a question; the person who imports says which column is which.  No mark is “-”: Moodle
         makes a 0 of an empty cell when the column is imported as a new grade item.
generic  everything, for a spreadsheet program or a script.  No mark is an empty cell.

All: UTF-8 with BOM, commas, CRLF, quotes only where needed, numbers with a point.  A name is one line, and has an
apostrophe before what a spreadsheet program would take for a formula.  An id or an email address is never altered.
"""

import csv
import io
import re
import unicodedata
from collections import Counter

from attention_grading.classroom import SIGNS, Problem, write
from attention_grading.standing import standing

# A formula begins a cell; a comma or a semicolon begins one too, where the program takes it for the separator.
BEGINNING = re.compile(rf"(^|[,;])\s*(?=[{SIGNS}])")
CHANGED = re.compile(r"0\d|\d{12}|\d+[eE][+-]?\d+$|\d+[-/.:]\d+")  # taken for a number, a date or a time


def export(classroom, name, lms, path=None):
    """Write the marks of an assignment.   -> the path, [what the person should know]"""
    if lms not in FORMATS:
        raise Problem(f"There is no format {lms}: choose one of {', '.join(FORMATS)}.")
    everybody = standing(classroom, name)
    path = path or classroom.of(name, f"marks-{lms}.csv")
    text = io.StringIO(newline="")
    csv.writer(text).writerows(FORMATS[lms](name, everybody))
    try:
        write(path, text.getvalue().encode("utf-8-sig"))
    except OSError as error:
        raise Problem(f"{path} cannot be written ({error.strerror}): is it open in another program?") from None
    return path, remarks(everybody)


def canvas(name, everybody):
    yield ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", name]
    yield ["    Points Possible", "", "", "", "", number(sum(everybody[0].of.values()))]
    for one in everybody:
        student = one.student
        own = student.lms_id.isascii() and student.lms_id.isdecimal()
        ids = [student.lms_id if own else "", student.id, student.id if own else student.lms_id or student.id]
        yield [plain(student.name), *ids, "", number(one.total)]


def moodle(name, everybody):
    yield ["Full name", "ID number", "Username", "Email address", name, "status", "late", *everybody[0].of]
    for one in everybody:
        student = one.student
        marks = [number(one.points[key]) or "-" for key in one.of]
        who = [plain(student.name), student.id, student.lms_id, student.email]
        yield [*who, number(one.total) or "-", one.status, late(one), *marks]


def generic(name, everybody):
    yield ["student_id", "name", "email", "lms_id", "status", "late", *everybody[0].of, "total", "of"]
    for one in everybody:
        student = one.student
        marks = [number(one.points[key]) for key in one.of]
        who = [student.id, plain(student.name), student.email, student.lms_id]
        yield [*who, one.status, late(one), *marks, number(one.total), number(sum(one.of.values()))]


FORMATS = {"canvas": canvas, "moodle": moodle, "generic": generic}


def late(one):
    return "late" if one.late else ""


def number(value):
    """A mark as text, without what binary fractions add to it; None is no mark."""
    return "" if value is None else f"{value:.10g}"


def plain(text):
    """A name on one line and, with an apostrophe before each sign that could begin a formula, nothing but a name."""
    text = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in text)
    return BEGINNING.sub(r"\1'", " ".join(text.split()))


def remarks(everybody):
    """What the file cannot say, and what could happen to it.   -> [sentence, …]"""
    without = Counter(one.status for one in everybody if one.total is None)
    ids = [i for one in everybody for i in (one.student.id, one.student.lms_id, one.student.email)]
    formulas, changed = [i for i in ids if BEGINNING.match(i)], [i for i in ids if CHANGED.match(i)]
    found = []
    if without:
        each = ", ".join(f"{n} {status}" for status, n in without.items())
        many = f"{without.total()} of {len(everybody)} students"
        found.append(f"{many} have no total ({each}): their mark is left empty, not 0.")
    if formulas:
        found.append(
            f"{some(formulas)} would be a formula in a spreadsheet program, and an id is not altered: "
            "give this file to the LMS without opening it."
        )
    if changed:
        found.append(
            f"A spreadsheet program that opens this file and saves it changes ids such as {some(changed)}: "
            "give it to the LMS unopened, or import it into the spreadsheet with these columns as text."
        )
    return found


def some(ids):
    return ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
