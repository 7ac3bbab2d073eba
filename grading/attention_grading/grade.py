"""Grading what was collected: one record a student, on this machine or on a cluster.

A task holds all that one submission needs, but not the secret; grade_one, a pure function, turns it into marks.
"""

import functools
import hashlib
import json
import logging
import os
import socket
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

from tqdm import tqdm

from attention_grading.assignment import Question, questions, seed
from attention_grading.classroom import Problem, lacking, read_json, write_json
from attention_grading.collect import something_collected
from attention_grading.judge import Answer, judge
from attention_grading.protections import require
from attention_grading.release import released
from attention_grading.session import REASONS, Session

LARGEST = 20_000_000  # bytes of a submission; it holds no outputs, but pictures may be pasted into its text
PATIENCE = 5  # seconds for a scheduler to answer
UNANSWERED = Answer(None, *REASONS["unanswered"])


def grade(classroom, name, jobs=1, safe=True, again=False, students=None, scheduler=None, progress=False):
    """Grade what was collected.   -> sentences on what was done, one a line

    Who has a record of the same answers, master, variant and arguments is skipped, unless `again`.
    """
    assignment, same_for_all = released(classroom, name)
    entries = something_collected(classroom, name)
    roster, secret = classroom.roster(), classroom.secret()
    report, jobs = affordable(jobs)
    strangers = entries.keys() - {student.id for student in roster}
    if strangers:
        report.append(f"Not in the roster, so not graded: {', '.join(sorted(strangers))}.")
    tasks, about, counts = {}, {}, {"graded": 0, "failed": 0, "unchanged": 0}
    for student in chosen(roster, students):
        entry = entries.get(student.id)
        if not entry:
            continue
        about[student] = {"student": student.id, "submission": entry["sha"], "master": assignment.digest, "task": None}
        try:
            task = task_of(classroom, assignment, secret, student, same_for_all, entry, safe)
        except Problem as problem:
            counts[keep(classroom, name, student, about[student], problem)] += 1
            continue
        about[student]["task"] = fingerprint(task)
        before = record(classroom, name, student)
        if before and not again and before["status"] == "graded" and about[student].items() <= before.items():
            counts["unchanged"] += 1
        else:
            tasks[student] = task
    done = 0
    try:
        with closing(outcomes(tasks, jobs, safe, scheduler, classroom.folder)) as results:
            for student, outcome in tqdm(results, "grading", total=len(tasks), disable=not progress):
                counts[keep(classroom, name, student, about[student], outcome)] += 1
                done += 1
    except KeyboardInterrupt:
        raise Problem(
            f"Stopped: {done} of {len(tasks)} are graded and kept; run the same command again for the rest."
        ) from None
    report.append(f"{name}: " + ", ".join(f"{count} {what}" for what, count in counts.items()) + ".")
    return "\n".join(report)


def keep(classroom, name, student, about, outcome):
    """Write the record of marks or of an exception.   -> its status"""
    status = "failed" if isinstance(outcome, Exception) else "graded"
    if status == "failed":
        reason = str(outcome) if isinstance(outcome, Problem) else f"{type(outcome).__name__}: {outcome}"
        outcome = {"questions": {}, "notes": [], "reason": reason}
    write_json(classroom.of(name, "grades", f"{student.file}.json"), about | {"status": status} | outcome)
    return status


def affordable(jobs):
    """-> (what to say about it, how many tasks at a time)"""
    if jobs < 1:
        raise Problem("At least one submission is graded at a time: -j 1.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if jobs <= cores:
        return [], jobs
    return [f"Graded {cores} at a time, one per core: with more, honest answers would run out of time."], cores


def chosen(roster, ids):
    """The students whose ids are given, or all."""
    unknown = set(ids or ()) - {student.id for student in roster}
    if unknown:
        raise Problem(f"The roster does not list {', '.join(sorted(unknown))}.")
    return [student for student in roster if not ids or student.id in ids]


def record(classroom, name, student):
    """A student's record, or None where there is none that can be used: grading makes it again."""
    try:
        kept = read_json(classroom.of(name, "grades", f"{student.file}.json"))
    except Problem:
        return None
    needed = {"student", "status", "submission", "master", "task", "questions", "notes"}
    usable = isinstance(kept, dict) and needed <= kept.keys() and isinstance(kept["questions"], dict)
    marks = kept["questions"].values() if usable else ()
    return kept if usable and all(isinstance(m, dict) and {"points", "parts"} <= m.keys() for m in marks) else None


def task_of(classroom, assignment, secret, student, same_for_all, entry, safe):
    """All that grade_one needs."""
    if not entry["readable"]:
        why = " ".join(look["en"] for look in entry["look"]) or "What was handed in cannot be read as a notebook."
        came = classroom.of(assignment.name, "received")
        raise Problem(f"{why} The file is in {came}: ask for another, or give the points by hand.")
    whose = "" if same_for_all else student.id
    return {
        "student": student.id,
        "assignment": assignment.name,
        "source": assignment.source,
        "variant": {key: vars(v) for key, v in assignment.variant(secret, whose).items()},
        "seeds": {key: seed(secret, whose, assignment.name, key, "arguments") for key in assignment.automatic},
        "cells": cells(classroom.of(assignment.name, "submissions", f"{student.file}.ipynb"), entry["blank"]),
        "safe": safe,
    }


def cells(path, blank):
    """What is run of a submission: all code but locked cells and untouched answers.   -> [[key or None, source], …]"""
    found = []
    try:
        if path.stat().st_size > LARGEST:
            raise Problem(f"{path} is larger than {LARGEST // 1_000_000} MB: look at it, and give the points by hand.")
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            answer = cell["metadata"].get("nbgrader", {"grade_id": None, "solution": True})
            if cell["cell_type"] == "code" and answer["solution"] and answer["grade_id"] not in blank:
                found.append([answer["grade_id"], "".join(cell["source"])])
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise Problem(f"{path} is missing or damaged: collect it again with --replace.") from None
    return found


def fingerprint(task):
    """Other answers, questions, values drawn or arguments: another fingerprint."""
    return hashlib.sha256(json.dumps(task | {"safe": None}, sort_keys=True).encode()).hexdigest()[:16]


def grade_one(task):
    """The marks of one submission.   -> {"questions": {question: what judge gives}, "notes": [{"zh", "en"}, …]}"""
    asked = questions(task["source"], f"{task['assignment']}.py")
    answered = {key for key, _ in task["cells"]}
    marks = {}
    with Session(task["cells"], safe=task["safe"]) as session:

        def call_unanswered(function, arguments):
            """Who wrote the function in a cell of one's own has answered after all."""
            answer = session.call(function, arguments)
            return UNANSWERED if answer.values is None else answer

        for key, question in asked.items():
            if isinstance(question, Question):
                v, call = SimpleNamespace(**task["variant"][key]), session.call if key in answered else call_unanswered
                marks[key] = judge(question, v, task["seeds"][key], call)
        return {"questions": marks, "notes": list(session.notes)}


def outcomes(tasks, jobs, safe, scheduler, folder):
    """-> yields (student, marks or exception), as they come"""
    if tasks and scheduler:
        yield from on_cluster(tasks, scheduler, safe)
    elif tasks:
        if safe:
            require(folder)
        yield from in_threads(tasks, jobs)


def in_threads(tasks, jobs):
    """Each task waits for a process of its own, so threads are enough."""
    pool = ThreadPoolExecutor(jobs)
    try:
        futures = {pool.submit(grade_one, task): student for student, task in tasks.items()}
        for future in as_completed(futures):
            yield futures[future], future.exception() or future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def on_cluster(tasks, address, safe):
    """The same on the workers of a dask scheduler."""
    try:
        from distributed import CancelledError, Client, as_completed
        from distributed.comm import CommClosedError, get_address_host_port
    except ImportError:
        raise lacking("distributed", "cluster") from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # its reports of a lost scheduler; ours is below
    try:
        socket.create_connection(get_address_host_port(address), timeout=PATIENCE).close()  # a refusal is known at once
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise Problem(f"No dask scheduler answers at {address} ({error}): give the address that it prints.") from None
    with client:
        check_workers(client, safe)
        futures = client.map(grade_one, list(tasks.values()), retries=2, pure=False, batch_size=100)
        student = dict(zip((future.key for future in futures), tasks, strict=True))
        try:
            for future in as_completed(futures):
                yield student[future.key], future.exception() if future.status == "error" else future.result()
        except (CancelledError, CommClosedError):
            raise Problem(
                "The scheduler is gone: what is graded is kept; run the same command again for the rest."
            ) from None


def check_workers(client, safe):
    """Every worker must have this very package and, unless told otherwise, a sandbox."""

    def found():  # a function in a function travels as it is: a worker without the package can run it too
        from attention_grading.grade import equipment

        return equipment(safe)

    workers = client.run(found, on_error="return")
    if not workers:
        raise Problem("The scheduler has no workers: start some, such as `dask worker ADDRESS --nthreads 1`.")
    for worker, has in workers.items():
        if isinstance(has, Exception):
            raise Problem(f"The worker {worker} cannot grade: install the course there as you did here ({has}).")
        digest, remedy = has
        if digest != package_digest():
            raise Problem(f"The worker {worker} has another version of attention_grading: install the same one there.")
        if remedy:
            raise Problem(f"The worker {worker}: {remedy}")


def equipment(safe):
    """What a worker has.   -> (digest of the package, None or why its sandbox does not work)"""
    try:
        if safe:
            require()
    except Problem as problem:
        return package_digest(), str(problem)
    return package_digest(), None


@functools.cache  # the source as it was loaded
def package_digest():
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:16]
