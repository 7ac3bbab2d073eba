"""A page of feedback for each student: what was graded, the points, and the reason for each point that was lost."""

from typing import NamedTuple

from tqdm import tqdm

from attention_grading.classroom import LANGUAGES, Problem, write
from attention_grading.collect import collected
from attention_grading.reading import Master, page
from attention_grading.release import released, words_of
from attention_grading.standing import standing

NOTHING_TO_SAY = ("missing", "not graded", "failed")  # the standings that get no page
LONGEST = 50_000  # characters of an answer that are shown


class Pages(NamedTuple):
    written: int
    open: list  # [Student, …] whose page says that an answer is still to be marked
    without: list  # [(Student, why he has no page), …]


def feedback(classroom, name, language="both", progress=False):
    """Write the pages into NAME/feedback/, in each student's language, else in this one.   -> Pages"""
    if language not in LANGUAGES:
        raise Problem(f"There is no language {language}: choose one of {', '.join(LANGUAGES)}.")
    assignment, same_for_all = released(classroom, name)
    master, secret = Master(assignment), classroom.secret()
    entries = collected(classroom, name)["students"]
    result = Pages(0, [], [])
    for one in tqdm(standing(classroom, name), "writing feedback", disable=not progress):
        student = one.student
        path = classroom.of(name, "feedback", f"{student.file}.html")
        if one.status in NOTHING_TO_SAY:
            path.unlink(missing_ok=True)  # a page about an earlier notebook would mislead
            result.without.append((student, one.status))
            continue
        words = words_of(assignment, assignment.variant(secret, "" if same_for_all else student.id))
        about = entries.get(student.id, {"blank": [], "repaired": []})
        chosen, record = student.language or language, one.record or {}  # none where all was marked by hand
        questions = [
            question(one, key, record, about, master.question(key, words, chosen), cells)
            for key, cells in in_order(master, classroom, student, entries.get(student.id))
        ]
        notes = about["repaired"] + record.get("notes", [])
        given = {"name": name, "heading": master.title(), "one": one, "notes": notes, "questions": questions}
        write(path, page("feedback.html", language=chosen, **given))
        result = result._replace(written=result.written + 1)
        if one.total is None:
            result.open.append(student)
    return result


def in_order(master, classroom, student, entry):
    """-> (question, the cells handed in) in the order of the notebook"""
    cells = master.handed_in(classroom, student, entry)
    return [(key, cells.get(key, [])) for key in sorted(master.assignment.questions, key=master.place)]


def question(one, key, record, about, texts, cells):
    """What a page says about a question."""
    return {
        "key": key,  # by which notes name it
        "texts": texts,
        "parts": record.get("questions", {}).get(key, {}).get("parts", []),
        "points": one.points[key],
        "of": one.of[key],
        "comment": one.comments.get(key, ""),
        "blank": key in about["blank"],
        "cells": [(kind, source[:LONGEST], len(source) > LONGEST) for kind, source in cells],
    }
