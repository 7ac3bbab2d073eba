"""What the LMS gives for download, sorted: whose, which of several, late or not; the answers in clean notebooks."""

import copy
import dataclasses
import hashlib
import os
import re
import tempfile
import unicodedata
from dataclasses import dataclass, field
from datetime import datetime, time
from pathlib import Path, PurePosixPath

import nbformat
from tqdm import tqdm

from attention_grading.classroom import LANGUAGES, Problem, Student, read_json, read_table, write, write_json
from attention_grading.download import File, files, shown
from attention_grading.release import released, student_notebook
from attention_grading.transplant import Submission, instead, note, put, read
from attention_grading.whose import Found, Whose

MOST_NOTEBOOKS = 50  # of one student that are read
MOST_LINES = 20  # of each kind that are printed


def collect(classroom, name, download, deadline=None, matches=None, replace=False, progress=False):
    """Sort a download into the class; once more for a later one.   -> Collected

    deadline: a time as text; later is `late`.  matches: a CSV file with the columns file and student_id, where names do
    not say whose a file is.  A later file replaces an earlier one; one that is late, older or cannot be read only does
    with replace.
    """
    master = Master(classroom, name)
    due, due_is_local = deadline_of(deadline)
    before, path = collected(classroom, name, unfinished=True), classroom.of(name, "collected.json")
    if not deadline and before.get("deadline"):
        due, due_is_local = datetime.fromisoformat(before["deadline"]), before["due_is_local"]
    marked = read_json(classroom.of(name, "marked.json")) or {}
    result = Collected(name, master.students, due, due_is_local)
    with tempfile.TemporaryDirectory(prefix="attn-") as scratch:
        found = files(download, scratch)
        decided = decided_before(before, found, master) | matches_of(matches, master, found, result)
        theirs, unmatched = sorted_out(found, master, decided)
        students = taken_back(classroom, name, before["students"], theirs, result)
        if path.exists():  # whoever is stopped from here on has new files and old records
            write_json(path, before | {"unfinished": True})
        for student in tqdm(
            [s for s in master.students.values() if s.id in theirs], "collecting", disable=not progress
        ):
            attempt = master.submission(student, theirs[student.id], due)
            old = students.get(student.id)
            record = settle(attempt, old, due, replace, student, marked, result)
            if record is not old:
                students[student.id] = record
            if record["sha"] == attempt.sha:
                keep(classroom, name, student, attempt)
        result.unmatched = unmatched + still_unmatched(before["unmatched"], found)
        decisions = before.get("matches", {}) | {
            file.name: {"bytes": digest(file), "student_id": decided[file.name]}
            for file in found
            if file.name in decided
        }
    result.records = {id: students[id] for id in [*master.students, *students] if id in students}
    about = {"students": result.records, "unmatched": result.unmatched, "matches": decisions}
    if due:
        about |= {"deadline": due.isoformat(), "due_is_local": due_is_local}
    write_json(path, about)
    return result


def collected(classroom, name, unfinished=False):
    """What was collected of an assignment so far.   -> what collected.json holds"""
    path = classroom.of(name, "collected.json")
    kept = read_json(path)
    if kept is None:
        return {"students": {}, "unmatched": []}
    needed = {"file", "sha", "time", "late", "readable", "blank", "repaired", "look"}
    try:
        whole = all(needed <= entry.keys() for entry in kept["students"].values())
    except (TypeError, LookupError, AttributeError):
        whole = False
    if not whole:
        raise Problem(f"{path} is damaged: bring it back from a copy, or delete it and collect all downloads again.")
    if kept.get("unfinished") and not unfinished:
        raise Problem(f"Collecting {name} was interrupted: run the same attn collect once more.")
    return {"unmatched": []} | kept


def something_collected(classroom, name):
    """What was found of each student, if there is anything.   -> {id: its entry in collected.json}"""
    entries = collected(classroom, name)["students"]
    if not entries:
        raise Problem(f"Nothing has been collected for {name} yet: run attn collect {name} DOWNLOAD.")
    return entries


def deadline_of(text):
    """-> (time or None, whether the text had no time zone: it is taken for this computer's)"""
    if not text:
        return None, False
    try:
        due = datetime.fromisoformat(str(text).strip())
    except ValueError:
        raise Problem(
            f"{text} is no time: write the deadline as 2026-12-01T23:59 (the time of this computer) or, with a time "
            "zone, as 2026-12-01T23:59+08:00."
        ) from None
    if len(str(text).strip()) <= 10:  # a day: all of it
        due = datetime.combine(due, time(23, 59, 59))
    return (due, False) if due.tzinfo else (due.astimezone(), True)


class Master:
    """What was released, and the notebook of each student made anew from it."""

    def __init__(self, classroom, name):
        self.assignment, self.same_for_all = released(classroom, name)
        self.language = read_json(classroom.of(name, "release.json"))["language"]
        self.secret = classroom.secret()
        self.students = {student.id: student for student in classroom.roster()}

    def submission(self, student, those, due):
        """The one of a student's files that counts.   those: [(File, Found), …]   -> Attempt"""
        notebooks = [one for one in those if one[0].path]
        faulty = [one for one in those if one[0].fault]
        blanks = {}
        attempts = [
            self.attempt(student, file, found, due, blanks)
            for file, found in (notebooks or faulty or those)[:MOST_NOTEBOOKS]
        ]
        chosen = choose(attempts, self.assignment.name)
        if len(notebooks) > MOST_NOTEBOOKS:
            chosen.report.look.append(
                note(
                    f"交来 {len(notebooks)} 份笔记本，只读了前 {MOST_NOTEBOOKS} 份。",
                    f"{len(notebooks)} notebooks came; only the first {MOST_NOTEBOOKS} were read.",
                )
            )
        for file, _ in faulty[:MOST_NOTEBOOKS]:
            if file is not chosen.file:
                chosen.report.look.append(
                    note(f"还有 {file.name}：{file.fault['zh']}", f"Also {file.name}: {file.fault['en']}")
                )
        return chosen

    def attempt(self, student, file, found, due, blanks):
        """A file as the submission of a student.   blanks: language -> his notebook, kept for his next file"""
        submission = submission_of(file)
        language = submission.claims.get("language")  # the roster's may have been changed since
        if language not in LANGUAGES:
            language = student.language or self.language
        if language not in blanks:
            whose = "" if self.same_for_all else student.id
            blanks[language] = student_notebook(self.assignment, self.secret, whose, language, student)
        try:
            clean, report = put(blanks[language], submission)
        except Exception as error:  # nothing that one student hands in may stop the others
            clean, report = put(blanks[language], Submission(readable=False, look=[broken(error)]))
        report.look = found.look + self.disagreements(student, submission) + report.look
        late = bool(found.late)
        when = file.time if found.late is None else None  # Canvas's zip has the time when it was packed
        if due and when:
            late = when > due
        elif due and found.late is None:
            report.look.append(note("交来的时间不明。", "It is not known when this was handed in."))
        text = nbformat.writes(clean) + "\n"
        sha = hashlib.sha256(text.encode()).hexdigest()[:16]
        return Attempt(file, found, text, sha, report, when, late, submission.claims)

    def disagreements(self, student, submission):
        """What the notebook says about itself proves nothing, but a human should know."""
        claims, notes = submission.claims, []
        whose = claims.get("student")
        if whose and whose != student.id and whose in self.students:
            other = f"{whose} {self.students[whose].name}".strip()
            notes.append(
                note(
                    f"这份笔记本是发给 {other} 的，也许是抄来的。",
                    f"This notebook was handed out to {other}: it may have been copied.",
                )
            )
        elif whose and whose != student.id:
            whose = shown(whose[:60])
            notes.append(
                note(
                    f"这份笔记本是发给 {whose} 的，名单里没有这个学号。学号若是发题以后改的，变式也就变了："
                    "请在 roster.csv 里改回来，再收一次。",
                    f"The notebook was handed out to {whose}, who is not in the roster. If an id was changed after the "
                    "release, so was the variant: change it back in roster.csv and collect again.",
                )
            )
        if claims.get("assignment", self.assignment.name) != self.assignment.name:
            notes.append(
                note("笔记本自己说，它是另一次作业的。", "This notebook says that it belongs to another assignment."),
            )
        return notes


@dataclass
class Attempt:
    """A file as somebody's submission."""

    file: File
    found: Found
    text: str
    sha: str
    report: object
    time: datetime | None
    late: bool
    claims: dict

    @property
    def record(self):
        return {
            "file": self.file.name,
            "sha": self.sha,
            "time": self.time and self.time.isoformat(),
            "late": self.late,
            "readable": self.report.readable,
            "blank": self.report.blank,
            "repaired": self.report.repaired,
            "look": self.report.look,
        }


def submission_of(file):
    """What can be read of a file."""
    if file.fault or not file.path:
        return Submission(readable=False, look=[file.fault or instead(*kind_of(file.name))])
    try:
        return read(file.path.read_bytes())
    except Exception as error:  # as above
        return Submission(readable=False, look=[broken(error)])


def broken(error):
    words = f"{type(error).__name__}: {error}"[:200]
    return note(f"文件读不了（{words}）。", f"The file cannot be read ({words}).")


def kind_of(name):
    ending = Path(name).suffix.casefold()
    return (f"{ending} 文件", f"a file {ending}") if ending else ("没有扩展名的文件", "a file without an ending")


def decided_before(before, found, master):
    """What the instructor decided for these very files in earlier runs.   -> {file: student_id}"""
    matches = before.get("matches", {})
    return {
        file.name: matches[file.name]["student_id"]
        for file in found
        if file.name in matches
        and matches[file.name]["bytes"] == digest(file)
        and matches[file.name]["student_id"] in master.students
    }


def taken_back(classroom, name, before, theirs, result):
    """The records without those of a file that now turns out to be somebody else's.   -> {id: record}"""
    now = {file.name: (id, digest(file)) for id, those in theirs.items() for file, _ in those}
    kept = {}
    for id, record in before.items():
        whose, data = now.get(record["file"], (id, None))
        received = classroom.of(name, "received", f"{Student(id).file}.ipynb")
        if whose != id and digest(File((record["file"],), path=received)) == data:
            result.lines.append(f"{id}: {record['file']} is {whose}'s and was taken back.")
        else:
            kept[id] = record
    return kept


def matches_of(path, master, found, result):
    """What the instructor decided.   -> {file: student_id}"""
    if not path:
        return {}
    if not Path(path).is_file():
        raise Problem(f"{path} is not there: a CSV file with the columns file and student_id.")
    decided, names = {}, {file.name.strip() for file in found}
    for row in read_table(path):
        if not {"file", "student_id"} <= set(row):
            raise Problem(f"{path} needs the columns file and student_id; it has {', '.join(row)}.")
        file = unicodedata.normalize("NFC", row["file"]).strip()
        student = unicodedata.normalize("NFC", row["student_id"]).strip()
        if student and student not in master.students:
            raise Problem(f"{path}: {student} is not in the roster.")
        if student and file not in names:
            result.lines.append(f"{path} names {file}, which is not in the download.")
        if student and decided.setdefault(file, student) != student:
            raise Problem(f"{path} gives {file} to {decided[file]} and to {student}: take out one of the two rows.")
    return decided


def sorted_out(found, master, decided):
    """-> ({student: [(File, Found), …]}, unmatched)"""
    whose, theirs, nobodys = Whose(master.students.values()), {}, []
    pairs = [(file, whose.of(names)) for file, names in zip(found, without_top(found), strict=True)]
    if len({who.student for _, who in pairs} - {None}) < 2:  # then the folder may say whose all this is
        pairs = [(file, whose.of(file.names)) for file in found]
    if not from_canvas(pairs):
        pairs = [(file, dataclasses.replace(who, late=None, order=None)) for file, who in pairs]
    for file, who in pairs:
        if file.name.strip() in decided:
            who = dataclasses.replace(who, student=decided[file.name.strip()], look=[])
        if who.student:
            theirs.setdefault(who.student, []).append((file, who))
        else:
            nobodys.append((file, who))
    unmatched = by_their_own_word([one for one in nobodys if one[0].path], theirs, master)
    unmatched += [entry(file, file.fault["en"]) for file, _ in nobodys if file.fault]
    plain = [one for one in nobodys if not one[0].path and not one[0].fault]
    return theirs, unmatched + alone(plain, [file for file in found if file.path or file.fault])


def without_top(found):
    """The names without the folders that all files lie in: of the course, the date, the teacher.   -> [names, …]"""
    same = len(os.path.commonprefix([file.names[0].split("/")[:-1] for file in found]))
    return [tuple("/".join(name.split("/")[same:]) for name in file.names) for file in found]


def from_canvas(pairs):
    """Whether a download is Canvas's, whose mark LATE can be believed: some students call their files like that.

    Canvas names every file, and gives each a number of its own.
    """
    orders = {who.part: who.order for _, who in pairs if who.order}
    named = sum(who.late is not None for _, who in pairs)
    return 2 * named > len(pairs) and len(set(orders.values())) == len(orders)


def by_their_own_word(nobodys, theirs, master):
    """Notebooks that only say themselves whose they are.   -> those that stay unmatched"""
    claimed, unmatched = {}, []
    for file, who in nobodys:
        claims = submission_of(file).claims
        if claims.get("student") in master.students:
            claimed.setdefault(claims["student"], []).append((file, who))
        else:
            unmatched.append(entry(file, who.why))
    for student, those in claimed.items():
        if student in theirs or len({digest(file) for file, _ in those}) > 1:
            why = f"the notebook says that it is {student}'s, but another file is theirs or says so too"
            unmatched += [entry(file, f"{who.why}; {why}") for file, who in those]
            continue
        file, who = those[0]
        who.look.append(
            note(
                "只有笔记本自己说它是这个学生的，谁都可以这样写。",
                "Only the notebook itself says whose it is, and anybody can write that.",
            )
        )
        theirs[student] = [(file, who)]
    return unmatched


def alone(plain, others):
    """Of the files that are no notebooks and nobody's, those that do not lie beside or below something else."""
    names = [file.name for file in others] + [file.name for file, _ in plain]
    root = os.path.commonpath([f"/{name}" for name in names]) if len(names) > 1 else "/"
    covered = {str(PurePosixPath("/", file.name).parent) for file in others} - {root}
    listed = []
    for file, who in sorted(plain, key=lambda one: one[0].name.count("/")):
        folders = [str(folder) for folder in PurePosixPath("/", file.name).parents]
        if covered.isdisjoint(folders):
            listed.append(entry(file, f"it is not a notebook, and {who.why}"))
            covered |= {folders[0]} - {root}
    return listed


def entry(file, why):
    return {"file": file.name, "why": why, "bytes": digest(file)}


def digest(file):
    """What the bytes of a file are known by."""
    try:
        return hashlib.sha256(file.path.read_bytes()).hexdigest()[:16] if file.path else None
    except OSError:
        return None


def still_unmatched(before, found):
    """The files of earlier downloads that are nobody's yet and did not come again."""
    if not before:
        return []
    names, contents = {file.name for file in found}, {digest(file) for file in found} - {None}
    return [one for one in before if one["file"] not in names and one.get("bytes") not in contents]


def choose(attempts, name):
    """Which of a student's files counts: the last in time that holds answers; else the last."""
    left = attempts
    for good in (
        lambda a: a.report.readable,
        lambda a: a.report.found,
        lambda a: a.claims.get("assignment", name) == name,
        lambda a: len(a.report.blank) < a.report.found,
        lambda a: not a.late,
    ):
        left = [a for a in left if good(a)] or left
    if len({a.sha for a in left}) > 1:
        left = latest(left, name)
    chosen = left[-1]
    if len({a.sha for a in left}) > 1:
        chosen.report.look.append(
            note(
                f"交来几份不同的笔记本，分不清哪份最新；取了 {chosen.file.name}。",
                f"Several different notebooks came and nothing says which is the last; {chosen.file.name} was taken.",
            )
        )
    elif len({a.sha for a in attempts}) > 1:
        chosen.report.repaired.append(
            note(
                f"交来 {len(attempts)} 份笔记本；算数的是 {chosen.file.name}。",
                f"{len(attempts)} notebooks came; the one that counts is {chosen.file.name}.",
            )
        )
    return chosen


def latest(attempts, name):
    """The last ones: by Canvas's number, else by time, by name, by the number that a second copy gets."""
    for key in (
        lambda a: a.found.order or 0,
        lambda a: a.time.timestamp() if a.time else 0,
        lambda a: name.casefold() in a.file.name.casefold(),
        lambda a: int((re.search(r"[-( （](\d{1,3})[)）]?\.ipynb$", a.file.name) or [0, 0])[1]),
    ):
        most = max(map(key, attempts))
        attempts = [a for a in attempts if key(a) == most]
    return attempts


def settle(attempt, old, due, replace, student, marked, result):
    """The record that holds from now on: the new one or the old one."""
    new = attempt.record
    if not old:
        result.new.append(student.id)
        return new
    was = datetime.fromisoformat(old["time"]) if old["time"] else None
    old = copy.deepcopy(old)
    if due and was:
        old["late"] = was > due
    if old["sha"] == new["sha"] and old["readable"] == new["readable"]:
        result.same.append(student.id)
        old["late"] = old["late"] and new["late"]
        return old
    why = None if replace else reason_to_keep(old, was, attempt)
    if why:
        result.lines.append(f"{student.id}: {attempt.file.name} was not taken, {why}; {old['file']} stays.")
        told = note(
            f"另有一份没有收入：{attempt.file.name}。", f"Another file was not taken, {why}: {attempt.file.name}."
        )
        old["look"] = [one for one in old["look"] if one != told] + [told]
        return old
    by_hand = " It was marked by hand: see whether the marks still hold." if student.id in marked else ""
    result.lines.append(f"{student.id}: {attempt.file.name} replaces {old['file']}.{by_hand}")
    result.replaced.append(student.id)
    return new


def reason_to_keep(old, was, attempt):
    if old["readable"] and not attempt.report.readable:
        return "which cannot be read"
    if attempt.late and not old["late"]:
        return "which is late"
    if was and attempt.time and attempt.time < was:
        return "which is older"
    return None


def keep(classroom, name, student, attempt):
    """Write what changed."""
    pairs = [(classroom.of(name, "submissions", f"{student.file}.ipynb"), attempt.text.encode())]
    if attempt.file.path:
        pairs.insert(0, (classroom.of(name, "received", f"{student.file}.ipynb"), attempt.file.path.read_bytes()))
    for path, data in pairs:
        if not path.is_file() or path.read_bytes() != data:
            write(path, data)


@dataclass
class Collected:
    """What was collected, for the instructor: str() of it is a page at most."""

    name: str
    students: dict
    due: datetime | None
    due_is_local: bool
    records: dict = field(default_factory=dict)
    unmatched: list = field(default_factory=list)
    new: list = field(default_factory=list)
    same: list = field(default_factory=list)
    replaced: list = field(default_factory=list)
    lines: list = field(default_factory=list)

    @property
    def missing(self):
        return [id for id in self.students if id not in self.records]

    @property
    def late(self):
        return [id for id in self.students if id in self.records and self.records[id]["late"]]

    def notes(self, kind):
        """repaired or look: one line a student"""
        return [
            f"{id} {self.students[id].name}".strip() + ": " + " ".join(one["en"] for one in self.records[id][kind])
            for id in self.students
            if id in self.records and self.records[id][kind]
        ]

    def __str__(self):
        there = len(self.students) - len(self.missing)
        lines = [
            f"{self.name}: {there} of {len(self.students)} students have handed in, {len(self.missing)} are missing.",
            f"This download: {len(self.new)} new, {len(self.replaced)} replaced, {len(self.same)} unchanged.",
        ]
        if self.due:
            zone = ", this computer's time" if self.due_is_local else ""
            lines += [
                f"Late: {len(self.late)}. The deadline was {self.due:%Y-%m-%d %H:%M:%S%z}{zone}.",
                "Where the names are Canvas's its mark LATE decides, else the time of the file; times in a zip often "
                "have no zone: then they are taken for this computer's.",
            ]
        elif self.late:
            lines += [f"Late by Canvas's mark: {len(self.late)}."]
        lines += self.some("Changed", self.lines)
        lines += self.some("Missing", self.missing)
        lines += self.some("Late", self.late)
        lines += self.some("Repaired", self.notes("repaired"))
        lines += self.some("A human must look", self.notes("look"))
        lines += self.some("Nobody's", [f"{one['file']}: {one['why']}" for one in self.unmatched])
        if self.unmatched:
            lines += ["To say whose they are, write the ids into a CSV file, and collect again with --matches FILE:"]
            lines += ["file,student_id", *(f"{quoted(one['file'])}," for one in self.unmatched[:MOST_LINES])]
        return "\n".join(lines)

    def some(self, title, lines):
        if not lines:
            return []
        more = len(lines) - MOST_LINES
        rest = [f"  … and {more} more: see {self.name}/collected.json"] if more > 0 else []
        return [f"{title} ({len(lines)}):", *(f"  {shortened(line)}" for line in lines[:MOST_LINES]), *rest]


def shortened(line):
    return line if len(line) <= 300 else line[:299] + "…"


def quoted(text):
    """A field of a CSV file."""
    return '"' + text.replace('"', '""') + '"' if re.search('[",;\t]', text) else text
