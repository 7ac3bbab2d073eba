"""Whose a file is, from its path: the LMS's part of the name before the student's own.

Canvas: lastfirst_LATE_12345_67890_hw-1.ipynb (the user's number, the file's; without a name where grading is
anonymous).  Moodle: First Last_12345_assignsubmission_file_/hw.ipynb, or the same without the stroke.  Any other: a
folder or file with the student's id, LMS id, e-mail or name in it.
"""

import re
import unicodedata
from dataclasses import dataclass, field

from attention_grading.download import shown
from attention_grading.transplant import note

CANVAS = re.compile(
    r"(?:(?P<name>.+?)_)??(?P<late>late_)?(?P<user>\d+)_(?:(?P<file>\d+)_(?P<own>.+)|(?:text|link)\.html)", re.I
)
MOODLE = re.compile(r"(?P<name>.+?)_(?P<user>\d+)_assignsubmission_[a-z]+_?(?P<own>.*)", re.I)
HAN = "\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
WORD = re.compile(rf"[{HAN}]+|(?:(?![{HAN}])[^\W_])+")
MOST_WORDS = 60  # of a name that are looked at
WINDOW = 10  # words that an id or name may have


@dataclass
class Found:
    student: str | None = None
    why: str = ""  # if nobody: why
    look: list = field(default_factory=list)
    late: bool | None = None  # what Canvas says; None: it does not
    order: int | None = None  # Canvas's number of the file: a later file has a larger one
    part: str = ""  # the part of the path that Canvas named


def fold(text):
    return unicodedata.normalize("NFKC", text).casefold().strip()


def bare(text):
    """Without accents."""
    text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
    return unicodedata.normalize("NFC", text)


class Whose:
    def __init__(self, students):
        self.students = {student.id: student for student in students}
        self.ids, self.lms, self.names, self.bare = {}, {}, {}, {}
        self.short = {}  # ids and names that stand in other words by chance: they must be the whole of a part
        for student in students:
            for text in {student.id, student.file, student.email, student.lms_id} - {""}:
                self.add(self.ids if len(text) > 3 else self.short, fold(text), student)
            if student.lms_id:
                self.add(self.lms, fold(student.lms_id), student)
            for form in forms(student.name):
                long = len(form) > (3 if form.isascii() else 1)
                self.add(self.names if long else self.short, form, student)
                if long:
                    self.add(self.bare, bare(form), student)

    def add(self, where, text, student):
        where.setdefault(text, set()).add(student.id)

    def hits(self, text):
        """The sets of students, one for each id or name that stands in a text."""
        text = fold(text)
        if text in self.short:
            return [self.short[text]]
        words = list(WORD.finditer(text))[:MOST_WORDS]
        found = []
        for first in range(len(words)):
            joined = ""
            for word in words[first : first + WINDOW]:
                joined += word[0]
                start, end = words[first].start(), word.end()
                who = self.ids.get(text[start:end]) or self.names.get(joined) or self.bare.get(bare(joined))
                if who:
                    found.append((start, end, who))
        return [
            who
            for start, end, who in found
            if not any(a <= start and end <= b and (a, b) != (start, end) for a, b, _ in found)
        ]

    def of(self, names):
        """names: the readings of one path.   -> Found"""
        results = [self.of_path(name) for name in names]
        return next((found for found in results if found.student), results[0])

    def of_path(self, path):
        found, chosen, unknown = Found(), None, False
        for part in re.sub(r"\.zip(?=/)", "", path, flags=re.I).split("/"):
            own_word = unknown or chosen is not None  # below the LMS's part a student may call things as he likes
            hits, own, lms = (self.hits(stem(part)), "", False) if own_word else self.of_part(part, found)
            unknown = unknown or (lms and not hits)
            for sets in (hits, self.hits(own)):
                if sets:
                    chosen = self.weighed(chosen, sets, part, found)
        if chosen and unknown:
            found.look.append(
                note(
                    "只有学生自己的文件名说明这是谁的；教学平台给的名字不在名单里。",
                    "Only the student's own file name says whose this is; the LMS's name is not in the roster.",
                )
            )
        if chosen and len(chosen) == 1:
            (found.student,) = chosen
        elif chosen:
            found.why = f"it could be any of {self.list(chosen)}"
        elif chosen is None:
            found.why = "its name holds neither an id nor a name from the roster"
        else:
            found.why = found.why or "its name names several students"
        return found

    def of_part(self, part, found):
        """-> (who the LMS, or the part itself, says; what remains as the student's own name; whether it is an LMS's)"""
        canvas, moodle = CANVAS.fullmatch(part), MOODLE.fullmatch(part)
        if canvas and not canvas["name"] and canvas["user"] in self.ids:
            canvas = None  # a student's own name for the file that begins with the id
        match = moodle or canvas
        if not match:
            return self.hits(stem(part)), "", False
        named = self.hits(match["name"] or "")
        numbered = self.lms.get(match["user"])
        if match is canvas:
            found.late, found.order, found.part = bool(canvas["late"]), int(canvas["file"] or 0), part
        if moodle:  # its number is of the submission, unless names are hidden
            sets = named or ([numbered] if numbered else [])
        else:
            sets = named + ([numbered] if numbered else [])
            same = self.ids.get(match["user"])
            if same and same != numbered:
                sets.append(same)
                if not named and not numbered:
                    found.look.append(
                        note(
                            f"只凭文件名里的数 {match['user']} 认出学生。",
                            f"Only the number {match['user']} in the file's name says whose this is.",
                        )
                    )
        return sets, stem(match["own"] or ""), True

    def weighed(self, chosen, sets, part, found):
        """Who remains after one more part of the path; an empty set: it contradicts itself."""
        said = set.intersection(*sets)
        if chosen is None:
            if not said:
                found.why = f"its name names several students: {self.list(set.union(*sets))}"
            return said
        if len(chosen) == 1 and not chosen & said:
            other = self.list(set.union(*sets))
            found.look.append(
                note(
                    f"“{shown(part)}”里写的是另一个学生：{other}。", f"“{shown(part)}” names another student: {other}."
                )
            )
        elif len(chosen) > 1 and chosen & said:
            found.look.append(
                note(
                    f"几个学生同名（{self.list(chosen)}）；以文件名为准。",
                    f"Several students have this name ({self.list(chosen)}); the file's name decided.",
                )
            )
            return chosen & said
        return chosen

    def list(self, ids):
        ids = sorted(ids)
        words = [f"{i} {self.students[i].name}".strip() for i in ids[:4]]
        return ", ".join(words + (["…"] if len(ids) > 4 else []))


def stem(part):
    """A name without its endings."""
    return re.sub(r"(\.[A-Za-z]\w{0,5})+$", "", part)


def forms(name):
    """The ways in which an LMS or a student may write a name, without what stands between its words."""
    found = set()
    for piece in [name, *re.split(r"[()（）\[\]]", name)]:
        words = WORD.findall(fold(piece))
        found |= {"".join(words[i:] + words[:i]) for i in range(len(words))}
    return found
