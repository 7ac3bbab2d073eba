"""A class on disk: one folder with the roster, the secret, and a folder for each assignment.

roster.csv  secret.key
NAME/master/        the two files of the assignment as they were released
NAME/students/      a notebook for each student, or one for all
NAME/page/          the public page
NAME/received/      the files as they came
NAME/submissions/   the answers of each student in a clean notebook
NAME/collected.json what came: whose, when, what was repaired, what a human must look at
NAME/grades/        one record a student
NAME/feedback/      one page a student
"""

import contextlib
import csv
import hashlib
import io
import json
import os
import re
import secrets
import shlex
import sys
import tempfile
import unicodedata
from importlib.metadata import requires
from pathlib import Path
from typing import NamedTuple

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

LANGUAGES = ("zh", "en", "both")
SIGNS = r"=+\-@＝＋－＠"  # of these signs, for a regular expression, one begins what a spreadsheet program computes
COLUMNS = {  # of roster.csv: what they may be called
    "id": ("student_id", "id", "学号"),
    "name": ("name", "姓名"),
    "language": ("language", "语言"),
    "email": ("email", "邮箱"),
    "lms_id": ("lms_id", "lms"),
}


class Problem(Exception):
    """What is wrong and what to do about it, in one sentence for the person at the keyboard."""


def lacking(module, extra):
    """What to do where a module is missing.   -> Problem; it names packages, for the course itself is in no index"""
    needs = [need.partition(";") for need in requires("attention-course")]
    packages = [package.strip() for package, _, when in needs if f"'{extra}'" in when.replace('"', "'")]
    command = shlex.join([sys.executable, "-m", "pip", "install", *packages])
    return Problem(f"{module} is missing (it belongs to the extra {extra}); this installs it: {command}")


class Student(NamedTuple):
    id: str
    name: str = ""
    language: str = ""  # zh, en or both; empty: what the command says
    email: str = ""
    lms_id: str = ""  # the number or name by which the LMS knows the student

    @property
    def file(self):
        """The student's name for files: any id is a safe one, and no two are the same."""
        return "".join(
            c if c.isalnum() or c in "-_@" else "".join(f"%{byte:02X}" for byte in c.encode()) for c in self.id
        )


class Classroom:
    def __init__(self, folder="."):
        self.folder = Path(folder)
        if not (self.folder / "roster.csv").is_file():
            raise Problem(
                f"{self.folder / 'roster.csv'} is missing: go to the folder of the class or name it with --class; "
                "a roster is a CSV file with the columns student_id and name."
            )

    def roster(self):
        """-> [Student, …] in the roster's order"""
        return read_roster(self.folder / "roster.csv")

    def secret(self):
        """The secret of the course; the first time, a new one."""
        path = self.folder / "secret.key"
        if not path.exists() and any(self.folder.glob("*/release.json")):
            raise Problem(
                f"{path} is missing, and with it which student has which variant: bring it back from a copy. "
                "Without it what was released cannot be graded."
            )
        if not path.exists():
            handle, part = tempfile.mkstemp(dir=self.folder, prefix=".writing-")  # only its owner reads it
            with os.fdopen(handle, "w") as file:
                file.write(secrets.token_hex(32) + "\n")
            try:
                os.link(part, path)  # unlike a renaming it never replaces what another process just made
            except FileExistsError:
                pass
            except OSError:  # a file system without links
                os.rename(part, path)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part)
        try:
            secret = bytes.fromhex(path.read_text("ascii").strip())
        except ValueError:
            secret = b""
        if len(secret) < 32:
            raise Problem(
                f"{path} does not hold a secret (64 hexadecimal digits): bring it back from a copy. "
                "Without it nobody can tell which student has which variant."
            )
        for about in self.folder.glob("*/release.json"):
            if released_with(about) not in (None, fingerprint(secret)):
                raise Problem(
                    f"{path} is not the secret that {about.parent.name} was released with: "
                    "bring the right one back from a copy."
                )
        return secret

    @contextlib.contextmanager
    def alone(self):
        """Nobody else changes the class meanwhile: of two who add to the same record, one's additions would be lost."""
        if fcntl is None:
            yield
            return
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            with contextlib.suppress(OSError):  # a file system without locks
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise Problem(
                        f"Another attn is changing {self.folder} right now: run this again when it is done."
                    ) from None
            yield
        finally:
            os.close(handle)  # and so does the system for who is killed

    def of(self, name, *folders):
        """A folder or file of an assignment."""
        return self.folder.joinpath(name, *folders)


def fingerprint(secret):
    """What a secret is known by, and which gives nothing of it away."""
    return hashlib.sha256(b"fingerprint" + secret).hexdigest()[:16]


def released_with(path):
    """The fingerprint in a release.json; None if there is none: of a damaged one, the step that needs it complains."""
    try:
        return read_json(path)["secret"]
    except (Problem, LookupError, TypeError):
        return None


def read_roster(path):
    rows = read_table(path)
    if not rows:
        raise Problem(f"{path} lists nobody: it needs a line with the column names, then one line per student.")
    heads = {head.casefold().replace(" ", "_"): head for head in rows[0]}
    found = {key: next((heads[n] for n in names if n in heads), None) for key, names in COLUMNS.items()}
    if not found["id"]:
        raise Problem(f"{path} has no column student_id (or 学号); its columns are {', '.join(rows[0])}.")
    students, seen = [], {}
    for number, row in enumerate(rows, start=1):
        student = Student(
            **{key: " ".join(unicodedata.normalize("NFC", row[head]).split()) for key, head in found.items() if head}
        )
        complain_of(student, f"{path}, student {number}")
        for column, value in (("student_id", student.id), ("lms_id", student.lms_id)):
            if value and seen.setdefault((column, value.casefold()), number) != number:
                raise Problem(
                    f"{path} has the {column} {value} twice (capitals make no difference): give each student one line."
                )
        students.append(student)
    return students


def complain_of(student, where):
    if not student.id:
        raise Problem(f"{where} has no student_id.")
    if re.fullmatch(r"\d([.,]\d+)?E\+?\d+", student.id, re.I):
        raise Problem(f"{where}: {student.id} is a number that a spreadsheet program cut: format the column as text.")
    if len(student.file.encode()) > 200:
        raise Problem(f"{where}: the student_id is too long for a file name.")
    if student.language not in ("", *LANGUAGES):
        raise Problem(f"{where}, {student.id}: the language is zh, en or both, not {student.language}.")


def read_table(path):
    """The rows of a CSV file as a spreadsheet program may have saved it.   -> [{column: text}, …]"""
    return [row for _, row in numbered_rows(path)]


def numbered_rows(path):
    """The same, each with the number that a spreadsheet program shows beside it.   -> [(number, {column: text}), …]"""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise Problem(f"{path} cannot be read: {error.strerror}.") from None
    if data.startswith((b"PK\3\4", b"\xd0\xcf\x11\xe0")):
        raise Problem(f"{path} is a spreadsheet: save it as “CSV UTF-8”.")
    for encoding in ("utf-16",) if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "gb18030"):
        with contextlib.suppress(UnicodeDecodeError):
            text = data.decode(encoding)
            break
    else:
        raise Problem(f"{path} is not a text file: save it as “CSV UTF-8”.")
    text = re.sub(r"\Asep=.\r?\n", "", text)  # a line for Excel
    first = re.split("[\r\n]", text.lstrip(), maxsplit=1)[0]
    delimiter = max(",;\t", key=first.count)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise Problem(f"{path} is not a CSV file: {error}.") from None
    numbered = [(n, row) for n, row in enumerate(lines, start=1) if any(field.strip() for field in row)]
    (_, head), *rows = numbered or [(0, [])]
    head = [name.strip() for name in head]
    for name in filter(None, head):
        if head.count(name) > 1:
            raise Problem(f"{path} has two columns {name}: remove the wrong one.")
    for number, row in rows:
        if any(field.strip() for field in row[len(head) :]):
            raise Problem(f"{path}, row {number} has {len(row)} fields where there are {len(head)} columns.")
    return [(n, dict(zip(head, row + [""] * (len(head) - len(row)), strict=False))) for n, row in rows]


def write(path, text):
    """Write a file whole or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text if isinstance(text, bytes) else text.encode("utf-8")
    part = path.with_name(f".writing-{secrets.token_hex(8)}")  # named first, so that Ctrl-C never leaves one behind
    try:
        part.write_bytes(data)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_json(path, value):
    write(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def read_json(path):
    """A record, or None if there is none."""
    try:
        return json.loads(Path(path).read_text("utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        raise Problem(
            f"{path} is damaged: bring it back from a copy, or delete it and run the step that makes it again."
        ) from None
