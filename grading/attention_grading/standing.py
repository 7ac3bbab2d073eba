"""Where every student stands: here and nowhere else are roster, answers, records and marks by hand put together."""

import math
import shlex
import statistics
import unicodedata
from collections import Counter, defaultdict
from typing import NamedTuple

from attention_grading.classroom import Student
from attention_grading.collect import collected
from attention_grading.grade import record
from attention_grading.mark import current_marks
from attention_grading.release import released

STATUSES = ("missing", "not graded", "failed", "needs marking", "graded")
LINES = 3  # at most so many in each list of `status`


class Standing(NamedTuple):
    student: Student
    status: str  # one of STATUSES
    late: bool
    points: dict  # question -> number, or None: not known yet, and never a silent 0
    of: dict  # question -> number
    total: float | None  # None unless every question has its points
    record: dict | None  # what the grader wrote of these answers by this master
    comments: dict  # question -> text by hand
    look: list  # what a person must look at: [{"zh", "en"}, …]


def standing(classroom, name):
    """-> [Standing, …] in the roster's order"""
    assignment, _ = released(classroom, name)
    entries, marks = collected(classroom, name)["students"], current_marks(classroom, name)
    return [
        of_student(
            assignment, student, entries.get(student.id), marks.get(student.id, {}), record(classroom, name, student)
        )
        for student in classroom.roster()
    ]


def of_student(assignment, student, entry, marks, kept):
    """Points by hand come before the grader's, for any question and even where nothing was handed in."""
    of = {key: question.points for key, question in assignment.questions.items()}
    points = dict.fromkeys(of)
    current = entry and kept and (kept["submission"], kept["master"]) == (entry["sha"], assignment.digest)
    kept = kept if current else None
    if entry and entry["readable"]:
        points |= {key: 0 for key in assignment.written if key in entry["blank"]}
    if kept:
        points |= {key: marks["points"] for key, marks in kept["questions"].items()}
    points |= {key: mark["points"] for key, mark in marks.items() if key in of}
    complete = None not in points.values()
    if complete:
        status = "graded"
    elif not entry:
        status = "missing"
    elif not entry["readable"] or kept and kept["status"] == "failed":
        status = "failed"
    else:
        status = "needs marking" if kept else "not graded"
    return Standing(
        student, status, bool(entry and entry.get("late")), points, of,
        round(math.fsum(points.values()), 6) if complete else None, kept,
        {key: mark["comment"] for key, mark in marks.items() if mark.get("comment")},
        entry["look"] if entry else [],
    )  # fmt: skip


def status(classroom, name=None):
    """How an assignment stands and what to do next, at a glance; without a name, one line for each.   -> text"""
    if name:
        return at_a_glance(classroom, name, standing(classroom, name))
    names = sorted(path.parent.name for path in classroom.folder.glob("*/release.json"))
    if not names:
        return f"Nothing has been released yet. Next: {command(classroom, 'release', 'MASTER.ipynb')}"
    rows = [["assignment", *STATUSES, "median", "of", "next"]]
    for name in names:
        all_ = standing(classroom, name)
        counts, totals = Counter(s.status for s in all_), [s.total for s in all_ if s.status == "graded"]
        median = f"{statistics.median(totals):g}" if totals else "–"
        of = f"{math.fsum(all_[0].of.values()):g}"
        rows.append([name, *(f"{counts[s]}" for s in STATUSES), median, of, next_step(classroom, name, all_)])
    return "\n".join(table(rows, right=range(1, len(STATUSES) + 3)))


def at_a_glance(classroom, name, all_):
    of = math.fsum(all_[0].of.values())
    lines = [f"{name}: {len(all_)} students, {of:g} points", ""]
    rows = [["status", "students", "late", "who"]]
    for status in STATUSES:
        these = [s for s in all_ if s.status == status]
        who = "" if status == "graded" else shortened(", ".join(s.student.id for s in these), 60)
        rows.append([status, f"{len(these)}", f"{sum(s.late for s in these)}", who])
    lines += table(rows, right=(1, 2))
    totals = [s.total for s in all_ if s.status == "graded"]
    if totals:
        mean, median = statistics.fmean(totals), statistics.median(totals)
        lines += ["", f"Of the graded: mean {mean:.2f}, median {median:g}, from {min(totals):g} to {max(totals):g}."]
    lines += block("Points lost most often", lost(all_), right=(1,))
    lines += block("Look at these", looks(all_))
    return "\n".join([*lines, "", f"Next: {next_step(classroom, name, all_)}"])


def lost(all_):
    """The parts that most students lost, and the commonest reason.   -> rows"""
    why, tried = defaultdict(Counter), Counter()
    for s in all_:
        for key, marks in (s.record or {"questions": {}})["questions"].items():
            for part in marks["parts"]:
                tried[key, part["en"]] += 1
                if part["why"]:
                    why[key, part["en"]][part["why"]["en"]] += 1
    most = sorted(why, key=lambda part: -why[part].total())
    return [
        [f"{key}, {shortened(en, 30)}", f"{why[key, en].total()} of {tried[key, en]}",
         shortened(why[key, en].most_common(1)[0][0], 60)]
        for key, en in most
    ]  # fmt: skip


def looks(all_):
    """Who needs a person's look, and why.   -> rows"""
    rows = []
    for s in all_:
        reasons = [look["en"] for look in s.look]
        if s.status == "failed" and s.record:
            why = s.record.get("reason", "")
            reasons = [why] + [reason for reason in reasons if reason not in why]
        elif s.status == "failed":
            reasons = reasons or ["What was handed in cannot be read as a notebook."]
        if reasons:
            reason = reasons[0] + (f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else "")
            rows.append([shortened(s.student.id, 20), shortened(s.student.name, 20), shortened(reason, 78)])
    return rows


def block(title, rows, right=()):
    if not rows:
        return []
    more = [f"  and {len(rows) - LINES} more"] if len(rows) > LINES else []
    return ["", f"{title}:", *(f"  {line}" for line in table(rows[:LINES], right)), *more]


def next_step(classroom, name, all_):
    """The command that comes next."""
    counts = Counter(s.status for s in all_)
    if counts["missing"] == len(all_):
        return command(classroom, "collect", name, "DOWNLOAD")
    if counts["not graded"]:
        return command(classroom, "grade", name)
    if counts["needs marking"]:
        return command(classroom, "mark", name)
    if counts["failed"]:
        return f"{command(classroom, 'grade', name)}, once the failures are fixed"
    export = command(classroom, "export", name, "--lms", "canvas")
    return f"{command(classroom, 'feedback', name)}, then {export} (or moodle, generic)"


def command(classroom, *words):
    where = ["--class", str(classroom.folder)] if str(classroom.folder) != "." else []
    return shlex.join(["attn", *words, *where])


def table(rows, right=()):
    """Lines with columns that stand one below the other, whatever the script.   -> [text, …]"""
    rows = [[printable(text) for text in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        gaps = [" " * (w - width(text)) for text, w in zip(row, widths, strict=True)]
        columns = [
            gap + text if i in right else text + gap for i, (text, gap) in enumerate(zip(row, gaps, strict=True))
        ]
        lines.append("  ".join(columns).rstrip())
    return lines


def width(text):
    """How many columns of a terminal a text takes."""
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def printable(text):
    """Without what could steer the terminal: names and reasons come from others.  Some scripts need joiners."""
    return "".join(c if c.isprintable() or c in "\u200c\u200d" else "�" for c in text)


def shortened(text, columns):
    """The beginning of a text that takes at most so many columns."""
    text = text[: 4 * columns]  # enough, unless most of it takes no room
    if width(text) <= columns:
        return text
    while width(text) > columns - 1:
        text = text[:-1]
    return text + "…"
