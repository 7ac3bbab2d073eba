"""Answers out of whatever came back into the student's own notebook, made anew.  Nothing of the student's is executed.

An answer is known by its grade_id, else by its cell's id, else by the name of the function (code) or by its place after
the question's text (written).  Everything else of the notebook is the released one; what the student added stays, as
cells without metadata.  What was put right is `repaired`; what a human must see is `look`; both are in both languages.
"""

import copy
import json
import re
from dataclasses import dataclass, field
from typing import NamedTuple

import nbformat

from attention_grading.release import PLACEHOLDER

LARGEST = 20_000_000  # bytes of a file that is read: outputs with pictures are large, and are dropped
MOST_TEXT = 5_000_000  # characters of source and pasted pictures that are taken over
MOST_CELLS = 5_000


class Cell(NamedTuple):
    """A cell as it came, with nothing in it that could surprise."""

    kind: str  # code, markdown or raw
    source: str
    grade_id: str | None
    id: str | None
    grader: dict
    pictures: dict


@dataclass
class Submission:
    """What could be read of a file."""

    readable: bool = True
    cells: list = field(default_factory=list)
    claims: dict = field(default_factory=dict)  # whose and what the notebook says it is: anybody can write that
    repaired: list = field(default_factory=list)
    look: list = field(default_factory=list)


@dataclass
class Report:
    readable: bool
    found: int = 0  # how many answers of this assignment were recognised
    blank: list = field(default_factory=list)
    repaired: list = field(default_factory=list)
    look: list = field(default_factory=list)


class Unreadable(Exception):
    """Holds the note that says what came instead of a notebook and what to ask for."""


def transplant(released, data):
    """-> (clean notebook, Report)"""
    return put(released, read(data))


def note(zh, en):
    return {"zh": zh, "en": en}


# Reading


def read(data):
    """The cells of a file that should be a notebook.   -> Submission"""
    submission = Submission()
    try:
        value = parsed(data, submission)
        cells = cells_of(value, submission)
    except Unreadable as unreadable:
        return Submission(readable=False, look=[unreadable.args[0]])
    left = MOST_TEXT
    for cell in cells[:MOST_CELLS]:
        if not isinstance(cell, dict):
            submission.repaired.append(note("略去了一个损坏的单元格。", "A damaged cell was left out."))
            continue
        cell = plain(cell)
        left -= len(cell.source) + sum(len(picture) for kinds in cell.pictures.values() for picture in kinds.values())
        if left < 0:
            break
        submission.cells.append(cell)
    if left < 0 or len(cells) > MOST_CELLS:
        submission.look.append(
            note(
                "笔记本太长，后面的单元格没有收入；原文件在 received 文件夹里。",
                "The notebook is too long: its last cells were left out. The original file is in received.",
            )
        )
    if any(re.search(r"^(<{7}|>{7}) ", cell.source, re.M) for cell in submission.cells):
        submission.look.append(
            note("笔记本里有合并冲突的记号（<<<<<<<）。", "The notebook contains merge conflict markers (<<<<<<<).")
        )
    return submission


ASK = note(
    "请学生交 .ipynb 文件本身（JupyterLab：File → Download）。",
    "Ask the student for the .ipynb file itself (JupyterLab: File → Download).",
)


def instead(zh, en):
    return note(f"交来的不是笔记本，是{zh}。{ASK['zh']}", f"This is not a notebook but {en}. {ASK['en']}")


BEGINNINGS = {
    b"%PDF": ("PDF 文件", "a PDF file"),
    b"Rar!": ("RAR 压缩包", "a RAR archive"),
    b"7z\xbc\xaf": ("7z 压缩包", "a 7z archive"),
    b"\x1f\x8b": ("gzip 压缩包", "a gzip archive"),
    b"\xd0\xcf\x11\xe0": ("旧版 Office 文件", "an old Office file"),
    b"\x89PNG": ("图片", "a picture"),
    b"\xff\xd8\xff": ("图片", "a picture"),
    b"{\\rtf": ("RTF 文件", "an RTF file"),
}


def parsed(data, submission):
    """The JSON of the file; raises Unreadable."""
    if not data.strip(b"\0 \t\r\n"):
        raise Unreadable(note(f"文件是空的。{ASK['zh']}", f"The file is empty. {ASK['en']}"))
    if len(data) > LARGEST:
        raise Unreadable(
            note(
                f"文件太大（{len(data) // 1_000_000} MB）。请学生清除输出后再交。",
                f"The file is too large ({len(data) // 1_000_000} MB). Ask the student to clear the outputs first.",
            )
        )
    for beginning, words in BEGINNINGS.items():
        if data.startswith(beginning):
            raise Unreadable(instead(*words))
    if data.startswith(b"PK\x03\x04"):
        word = b"word/" in data
        raise Unreadable(instead("Word 文件" if word else "zip 压缩包", "a Word file" if word else "a zip archive"))
    text = decoded(data, submission).strip("\ufeff\0 \t\r\n")
    try:
        return json.loads(text, strict=False)
    except RecursionError:
        raise Unreadable(
            note(
                f"文件的层次太深，不是笔记本。{ASK['zh']}",
                f"The file is nested too deeply to be a notebook. {ASK['en']}",
            )
        ) from None
    except ValueError as error:
        raise Unreadable(no_json(text, getattr(error, "pos", 0))) from None


def decoded(data, submission):
    """The text of a file in UTF-8, UTF-16 or GBK."""
    encoding = json.detect_encoding(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace")
    else:
        if not encoding.startswith("utf-8"):
            submission.repaired.append(
                note(f"文件不是 UTF-8，按 {encoding} 读取。", f"The file is not UTF-8; it was read as {encoding}.")
            )
        return text
    foreign = len(data.translate(None, bytes(range(128))))
    if text.count("\ufffd") * 10 > foreign:  # in text that is UTF-8 but for a few bytes, few characters are lost
        try:
            text = data.decode("gb18030")
        except UnicodeDecodeError:
            pass
        else:
            submission.repaired.append(
                note("文件不是 UTF-8，按 GBK 读取。", "The file is not UTF-8; it was read as GBK.")
            )
            return text
    submission.look.append(
        note("有些字符的编码坏了，已用 � 代替。", "Some characters are damaged; they were replaced by �.")
    )
    return text


def no_json(text, position):
    """What a text is that is no JSON."""
    head = text[:2000].casefold()
    if re.search(r"^(<{7}|={7}|>{7})", text, re.M) and text.startswith("{"):
        what = note("文件里有合并冲突的记号（<<<<<<<）", "The file contains merge conflict markers (<<<<<<<)")
    elif "<html" in head or "<!doctype html" in head:
        return instead("网页（HTML）", "a web page (HTML)")
    elif not text.startswith(("{", "[")):
        python = re.search(r"^(import |from |def |# In\[|#!.*python)", text, re.M)
        return instead(
            "Python 文件（.py）" if python else "文本文件", "a Python file (.py)" if python else "a text file"
        )
    elif position >= len(text) - 2 or not text.endswith(("}", "]")):
        what = note("文件不完整，后面断了", "The file is incomplete: it breaks off before its end")
    else:
        line = text.count("\n", 0, position) + 1
        what = note(f"文件坏了（第 {line} 行）", f"The file is damaged (line {line})")
    return note(f"{what['zh']}。{ASK['zh']}", f"{what['en']}. {ASK['en']}")


def cells_of(value, submission):
    """The cells of a notebook of any version; what it says about itself goes into the claims."""
    about = value if isinstance(value, dict) else {}
    cells = about.get("cells")
    if not isinstance(cells, list):
        sheets = about.get("worksheets")
        if not isinstance(sheets, list):
            raise Unreadable(instead("别的 JSON 文件", "some other JSON file"))
        cells = [
            cell
            for sheet in sheets
            if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)
            for cell in sheet["cells"]
        ]
        submission.repaired.append(note("笔记本是旧格式（3）。", "The notebook is in an old format (3)."))
    claims = inner(inner(about, "metadata"), "attn")
    submission.claims = {
        key: text for key in ("student", "assignment", "language") if isinstance(text := claims.get(key), str)
    }
    return cells


def inner(value, key):
    """A dict in a dict, whatever really stands there."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def plain(cell):
    metadata = inner(cell, "metadata")
    grader = inner(metadata, "nbgrader")
    kind = cell.get("cell_type")
    source = text_of(cell.get("source", cell.get("input")))  # input: format 3
    if kind == "heading":
        kind, source = "markdown", f"# {source}"
    names = [grader.get("grade_id"), cell.get("id"), metadata.get("id")]  # the last one is Colab's
    grade_id, *ids = [name if isinstance(name, str) else None for name in names]
    return Cell(
        kind if kind in ("code", "markdown") else "raw", source, grade_id, ids[0] or ids[1], grader, pictures_of(cell)
    )


def text_of(value):
    """A source is a text or a list of lines; some programs leave out the ends of the lines."""
    if isinstance(value, list):
        lines = [line for line in value if isinstance(line, str)]
        lost = len(lines) > 1 and not any(line.endswith("\n") for line in lines)
        value = ("\n" if lost else "").join(lines)
    if isinstance(value, (int, float)):
        value = str(value)
    if not isinstance(value, str):
        return ""
    value = value.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").removeprefix("\ufeff")
    return value.encode("utf-8", "replace").decode("utf-8")  # a half of a surrogate pair is no character


def pictures_of(cell):
    """The pictures pasted into a cell.   -> {name: {type: base64}}"""
    found = {}
    for name, kinds in inner(cell, "attachments").items():
        for kind, picture in (kinds if isinstance(kinds, dict) else {}).items():
            picture = "".join(picture) if isinstance(picture, list) and all_text(picture) else picture
            if kind.startswith("image/") and isinstance(picture, str) and re.fullmatch(r"[A-Za-z0-9+/=\s]+", picture):
                found.setdefault(text_of(name), {})[text_of(kind)] = picture
    return found


def all_text(values):
    return all(isinstance(value, str) for value in values)


# Putting the answers in


def put(released, submission):
    """-> (clean notebook, Report)"""
    return Transplant(released, submission).result()


class Transplant:
    """released: the student's notebook.  For each cell that came: which released cell it is (its slot), after which one
    it stands, and which answers it could be.
    """

    def __init__(self, released, submission):
        self.notebook = copy.deepcopy(released)
        self.slots = self.notebook.cells
        self.cells = submission.cells
        self.reading = submission.look[:]
        self.report = Report(submission.readable, repaired=submission.repaired[:], look=submission.look[:])
        self.answers = {}  # index of the slot -> the question's key
        for index, slot in enumerate(self.slots):
            if slot.metadata.get("nbgrader", {}).get("solution"):
                self.answers[index] = slot.metadata.nbgrader.grade_id
        self.original = [slot.source for slot in self.slots]
        self.functions = {
            name: index
            for index in self.answers
            if self.slots[index].cell_type == "code"
            for name in defined(self.original[index])[:1]
        }
        self.extra = {}  # position of a cell that came -> the slot after which it stands, -1 at the top
        self.own = {index: [] for index in self.answers}  # positions of the cells that are this answer
        self.named = {index: [] for index in self.answers}  # … that define its function elsewhere
        self.before = {}  # position of an answer -> the slot after which it stands

    def result(self):
        self.recognise()
        for index in self.answers:
            if self.slots[index].cell_type == "code":
                self.code_answer(index)
            else:
                self.written_answer(index)
        self.report.found = sum(bool(self.own[index] or self.named[index]) for index in self.answers)
        if self.report.readable and not self.report.found:
            self.report.look[:] = self.reading + [
                note(
                    f"这次作业的答案一个也没有找到，也许是另一份笔记本。{ASK['zh']}",
                    f"None of this assignment's answers was found: it may be another notebook. {ASK['en']}",
                )
            ]
        self.assemble()
        for notes in (self.report.repaired, self.report.look):
            notes[:] = {one["en"]: one for one in notes}.values()
        return self.notebook, self.report

    def repaired(self, zh, en):
        self.report.repaired.append(note(zh, en))

    def look(self, zh, en):
        self.report.look.append(note(zh, en))

    def recognise(self):
        """Which cell is which."""
        by_grade, by_id, by_text = {}, {}, {}
        for index, slot in enumerate(self.slots):
            grade_id = slot.metadata.get("nbgrader", {}).get("grade_id")
            if grade_id:
                by_grade[grade_id] = index
            by_id[slot.id] = index
            if slot.source != PLACEHOLDER:
                by_text.setdefault(squeezed(slot.source), index)
        last = -1
        for position, cell in enumerate(self.cells):
            index = by_grade.get(cell.grade_id, by_id.get(cell.id, by_text.get(squeezed(cell.source))))
            if index is None and cell.source.strip() == PLACEHOLDER:
                index = next((i for i in self.answers if i > last and self.slots[i].cell_type == "markdown"), None)
            defines = {self.functions[name] for name in defined(cell.source) if name in self.functions}
            if index in self.answers and defines and index not in defines and self.slots[index].cell_type == "code":
                index = None  # the cell of one question, copied for the answer to another
            for other in defines - {index}:
                self.named[other].append(position)
            if index is None:
                self.extra[position] = last
                continue
            self.tampered(index, cell)
            if index in self.answers:
                self.own[index].append(position)
                self.before[position] = last
            elif squeezed(cell.source) != squeezed(self.original[index]):
                self.changed(index, position)
            last = index

    def tampered(self, index, cell):
        want = self.slots[index].metadata.get("nbgrader", {})
        if cell.grader and any(cell.grader.get(key) != value for key, value in want.items() if key != "grade_id"):
            self.repaired(
                "有些单元格的评分信息被改过；以发下来的为准。",
                "The grading information of some cells was changed; that of the released notebook counts.",
            )

    def changed(self, index, position):
        """A released cell that is no answer came back with another text: the released one counts."""
        cell, slot = self.cells[position], self.slots[index]
        key = slot.metadata.get("nbgrader", {}).get("grade_id")
        if key:  # a check cell is never run, so nothing is kept of it
            self.repaired(
                f"{key}：例子所在的单元格被改过，已换回原来的。",
                f"{key}: the check cell was changed; it has been restored.",
            )
            if set(defined(cell.source)) - set(defined(self.original[index])):
                self.look(
                    f"{key}：例子所在的单元格里，学生另有定义。", f"{key}: the check cell holds definitions of its own."
                )
            return
        added = cell.source.strip().removeprefix(self.original[index].strip())
        self.cells[position] = cell._replace(source=added.strip("\n"))
        self.extra[position] = index

    def code_answer(self, index):
        key, stub = self.answers[index], squeezed(self.original[index])
        filled = [p for p in self.own[index] if squeezed(self.cells[p].source) not in ("", stub)]
        named = [p for p in self.named[index] if squeezed(self.cells[p].source) != stub]
        if filled:
            chosen = self.last(key, index, filled)
            function = next(name for name, i in self.functions.items() if i == index)
            if any(squeezed(self.cells[p].source) != squeezed(self.cells[chosen].source) for p in named):
                self.look(
                    f"{key}：函数 {function} 在别的单元格里又定义了一次；最后运行的一份算数。",
                    f"{key}: the function {function} is also defined in another cell; the one that runs last counts.",
                )
            elif function not in defined(self.cells[chosen].source):
                self.look(f"{key}：答案里没有函数 {function}。", f"{key}: the answer has no function {function}.")
        elif named:
            chosen = named[-1]
            self.extra.pop(chosen, None)
            self.repaired(
                f"{key}：答案在别的单元格里，按函数名找到。",
                f"{key}: the answer was in another cell; it was found by the name of the function.",
            )
            if len({squeezed(self.cells[p].source) for p in named}) > 1:
                self.look(
                    f"{key}：有几份不同的答案，取最后一份。",
                    f"{key}: there are several different answers; the last one counts.",
                )
        else:
            self.no_answer(index)
            return
        cell = self.cells[chosen]
        source = cell.source
        if cell.kind != "code":
            source = unfenced(source)
            self.repaired(
                f"{key}：答案的单元格不是代码类型，已改回代码。",
                f"{key}: the answer cell was not a code cell; now it is.",
            )
        self.slots[index].source = source

    def last(self, key, index, filled):
        """Of several copies of an answer the last one counts; the others stay where they stood."""
        chosen = filled[-1]
        different = [p for p in filled if squeezed(self.cells[p].source) != squeezed(self.cells[chosen].source)]
        for position in different:
            self.extra[position] = self.before[position] if self.before[position] != index else index - 1
        if different:
            self.look(
                f"{key}：答案的单元格有几份，内容不同；取最后一份。",
                f"{key}: there are several copies of the cell with different answers; the last one counts.",
            )
        elif len(self.own[index]) > 1:
            self.repaired(
                f"{key}：答案的单元格有几份，内容相同；只留一份。",
                f"{key}: the cell was there more than once; one was kept.",
            )
        return chosen

    def no_answer(self, index):
        key = self.answers[index]
        self.report.blank.append(key)
        if not self.own[index] and self.report.readable:
            self.look(f"{key}：没有找到答案的单元格。", f"{key}: the answer cell was not found.")

    def written_answer(self, index):
        key = self.answers[index]
        filled = [p for p in self.own[index] if wording(self.cells[p].source)]
        near = self.near(index)
        after = [p for p in near if self.extra[p] == index and self.cells[p].kind != "code"]
        if filled:
            parts = [self.last(key, index, filled), *after]
            if after:
                self.repaired(
                    f"{key}：答案分在几个单元格里，已合在一起。",
                    f"{key}: the answer was in several cells; they were joined.",
                )
            if self.cells[parts[0]].kind != "markdown":
                self.repaired(
                    f"{key}：答案的单元格不是文字类型，已改回文字。",
                    f"{key}: the answer cell was not a text cell; now it is.",
                )
        else:
            parts = [p for p in near if self.cells[p].kind != "code"] or near
            if not parts:
                self.no_answer(index)
                return
            self.repaired(
                f"{key}：答案写在旁边的单元格里，已移入。",
                f"{key}: the answer was in a cell beside its own; it was moved.",
            )
            self.look(f"{key}：请看移入的是不是答案。", f"{key}: check that what was moved is the answer.")
        for position in parts:
            self.extra.pop(position, None)
        slot = self.slots[index]
        slot.source = "\n\n".join(wording(self.cells[p].source) for p in parts)
        pictures = {name: kinds for p in parts for name, kinds in self.cells[p].pictures.items()}
        if pictures:
            slot.attachments = nbformat.from_dict(pictures)
        if pictures or "data:image/" in slot.source:
            self.look(
                f"{key}：答案里有图片，请打开笔记本看。",
                f"{key}: the answer holds pictures; open the notebook to see them.",
            )

    def near(self, index):
        """The positions of what the student added between a written question's text and the next released cell."""
        first = index
        while first and self.slots[first - 1].cell_type == "markdown" and first - 1 not in self.answers:
            first -= 1
        return [p for p, slot in sorted(self.extra.items()) if first <= slot <= index and wording(self.cells[p].source)]

    def assemble(self):
        """The slots, with what the student added between them."""
        added = {}
        for position, slot in sorted(self.extra.items()):
            added.setdefault(slot, []).append(self.cells[position])
        cells, taken = [], {slot.id for slot in self.slots}
        names = (name for number in range(1, 2 * MOST_CELLS) if (name := f"added-{number}") not in taken)
        make = {
            "code": nbformat.v4.new_code_cell,
            "markdown": nbformat.v4.new_markdown_cell,
            "raw": nbformat.v4.new_raw_cell,
        }
        for index in range(-1, len(self.slots)):
            if index >= 0:
                cells.append(self.slots[index])
            for cell in added.get(index, []):
                if cell.source.strip():
                    cells.append(make[cell.kind](cell.source, id=next(names)))
        self.notebook.cells = cells


def squeezed(source):
    """A source without its spaces: what two sources are compared by."""
    return "".join(source.split())


def defined(source):
    """The functions and other names that a source defines at its top level, in order.

    As far as one sees without parsing: a parser can be brought down by what a student hands in.
    """
    return [name or other for name, other in re.findall(r"^(?:async +)?def +(\w+)|^(\w+) *=(?!=)", source, re.M)]


def unfenced(source):
    """The code of a text that is one fenced block."""
    lines = source.strip().split("\n")
    fence = lines[0][:3]
    if len(lines) > 2 and fence in ("```", "~~~") and lines[-1].strip() == fence:
        return "\n".join(lines[1:-1])
    return source


def wording(source):
    """A written answer without the words that stood in its place."""
    return "\n".join(line for line in source.split("\n") if line.strip() != PLACEHOLDER).strip()
