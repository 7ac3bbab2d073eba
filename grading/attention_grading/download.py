"""The files in what an LMS gives for download: a zip or a folder, with zips in it.

Whatever was packed, nothing is written but numbered files in a scratch folder, and not too much of it.
"""

import itertools
import os
import re
import stat
import struct
import unicodedata
import zipfile
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from attention_grading.classroom import Problem
from attention_grading.transplant import ASK, LARGEST, note

LARGEST_ZIP = 100_000_000  # bytes that the zips in one submission may unpack to
LARGEST_DOWNLOAD = 4_000_000_000
MOST_FILES = 20_000  # in the zips of one submission
MOST_NAMES = 4_000_000  # bytes of the table of contents of a zip in a submission
LONGEST = 2_000  # characters of a path
DEEPEST = 3  # zips in zips
JUNK = re.compile(
    r"(^|/)(__MACOSX|__pycache__|node_modules|\.[^/]+)/|(^|/)(\._[^/]*|\.DS_Store|Thumbs\.db|desktop\.ini)$"
)


@dataclass(frozen=True)
class File:
    names: tuple  # its path; where the encoding of a zip's names is not told there are several readings
    time: datetime | None = None
    zoned: bool = True  # False: the time is from a zip, which has no time zone; it was taken for this computer's
    path: Path | None = None  # where its bytes are; None: not a notebook, or `fault`
    fault: dict | None = None  # why it cannot be read

    @property
    def name(self):
        return shown(self.names[0])


def shown(name):
    """A name without what would change the line that it is printed in."""
    name = unicodedata.normalize("NFC", name)
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") else c for c in name)


@dataclass
class Room:
    """How much may still be unpacked."""

    size: int
    files: int = MOST_FILES


@dataclass
class Scratch:
    folder: Path
    left: int = LARGEST_DOWNLOAD
    number: itertools.count = field(default_factory=itertools.count)

    def keep(self, data):
        self.left -= len(data)
        path = self.folder / f"{next(self.number)}"
        path.write_bytes(data)
        return path


class Fault(Exception):
    """Holds the note that says why a file cannot be read."""


LINK = note(f"这是指向别处的链接，不是文件本身。{ASK['zh']}", f"This is a link, not the file itself. {ASK['en']}")
LOCKED = note("压缩包加了密码。请学生交不加密码的文件。", "The zip has a password. Ask the student for one without.")
DAMAGED = note(f"压缩包坏了。{ASK['zh']}", f"The zip is damaged. {ASK['en']}")
UNUSUAL = note(
    "压缩包的压缩方式不常见，请手动解压，再收一次。",
    "The zip is packed in an unusual way: unpack it by hand and collect again.",
)
TOO_LARGE = note(
    "文件太大。请学生清除输出后再交。", "The file is too large. Ask the student to clear the outputs first."
)
TOO_MUCH = note(f"压缩包里的东西太多。{ASK['zh']}", f"The zip holds too much. {ASK['en']}")
TOO_DEEP = note(f"压缩包套了太多层。{ASK['zh']}", f"There are too many zips inside zips. {ASK['en']}")


def files(download, scratch):
    """Everything that could be somebody's work.   -> [File, …], no two with the same name"""
    download, scratch = Path(download), Scratch(Path(scratch))
    if download.is_dir():
        found = list(in_folder(download, scratch))
    elif not download.is_file():
        raise Problem(f"{download} is not there: name the zip that the LMS gave, or the folder with the submissions.")
    elif zipfile.is_zipfile(download):
        try:
            found = list(in_zip(download, (), None, scratch))
        except Fault as fault:
            raise Problem(f"{download}: {fault.args[0]['en']} Download it once more.") from None
    elif is_notebook(download.name):
        found = [File((download.name,), modified(download.stat()), path=download)]
    elif download.suffix.casefold() == ".zip":
        raise Problem(f"{download} is no zip, or a damaged one: download it once more.")
    else:
        raise Problem(f"{download} is no zip: unpack it first and name the folder.")
    if not any(file.path or file.fault for file in found):
        kinds = Counter(Path(file.name).suffix.casefold() or "without an ending" for file in found)
        what = ", ".join(f"{count} × {kind}" for kind, count in kinds.most_common(5)) or "nothing"
        raise Problem(f"{download} holds no notebook (.ipynb); it holds {what}.")
    seen, single = Counter(), []
    for file in found:
        seen[file.name] += 1
        more = seen[file.name] - 1
        single.append(replace(file, names=tuple(f"{name}#{more + 1}" for name in file.names)) if more else file)
    return single


def is_notebook(name):
    """Whether a file could be a notebook: browsers add .txt or .json, or take the ending away."""
    name = name.casefold().rpartition("/")[2]
    return ".ipynb" in name or name.endswith(".json") or "." not in name


def modified(status):
    return datetime.fromtimestamp(status.st_mtime, UTC)


def in_folder(folder, scratch):
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in [*(f for f in folders if os.path.islink(os.path.join(root, f))), *sorted(names)]:
            path = Path(root, name)
            inside = readings(os.fsencode(path.relative_to(folder).as_posix()))
            if JUNK.search(inside[0]):
                continue
            status = path.lstat()
            file = File(inside, modified(status))
            if not stat.S_ISREG(status.st_mode):
                yield replace(file, fault=LINK)
            elif name.casefold().endswith(".zip"):
                yield from zip_of_a_student(path, file, scratch, Room(LARGEST_ZIP), 1)
            elif not is_notebook(name):
                yield file
            elif status.st_size > LARGEST:
                yield replace(file, fault=TOO_LARGE)
            else:
                yield replace(file, path=path)


def readings(name):
    """The texts that the bytes of a name can stand for, the likeliest first."""
    texts = []
    for encoding in ("utf-8", "gb18030", "cp437"):
        try:
            texts.append(name.decode(encoding))
        except UnicodeDecodeError:
            continue
        if encoding == "utf-8":  # no other text looks like it by chance
            break
    return tuple(inside(text) for text in texts)


def inside(name):
    """A path that goes nowhere but down."""
    return "/".join(part for part in name[:LONGEST].replace("\\", "/").split("/") if part not in ("", ".", "..")) or "?"


def zip_of_a_student(path, file, scratch, room, depth):
    """The files of a zip in a submission, or the zip itself with what is wrong with it."""
    try:
        if depth > DEEPEST:
            raise Fault(TOO_DEEP)
        yield from list(in_zip(path, file.names, file, scratch, room, depth))
    except Fault as fault:
        yield replace(file, fault=fault.args[0])


def in_zip(path, outside, outer, scratch, room=None, depth=0):
    """outside: the names of the zip itself; outer: the File that it came in, whose time counts."""
    try:
        if depth and contents_size(path) > MOST_NAMES:
            raise Fault(TOO_MUCH)
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, struct.error):
        raise Fault(DAMAGED) from None
    with archive:
        for entry in archive.infolist():
            names = entry_names(entry, outside)
            if entry.orig_filename.endswith(("/", "\\")) or JUNK.search(names[0]):
                continue
            file = outer or File(names, *entry_time(entry))
            yield from in_entry(archive, entry, replace(file, names=names), scratch, room or Room(LARGEST_ZIP), depth)


def in_entry(archive, entry, file, scratch, room, depth):
    room.files -= 1
    if room.files < 0:
        raise Fault(TOO_MUCH)
    a_zip = entry.filename.casefold().endswith(".zip")
    if stat.S_ISLNK(entry.external_attr >> 16):
        yield replace(file, fault=LINK)
    elif not a_zip and not any(is_notebook(name) for name in file.names):
        yield file
    else:
        try:
            path = scratch.keep(unpacked(archive, entry, LARGEST_ZIP if a_zip else LARGEST, scratch, room))
        except Fault as fault:
            yield replace(file, fault=fault.args[0])
        else:
            if a_zip:
                yield from zip_of_a_student(path, file, scratch, room, depth + 1)
            else:
                yield replace(file, path=path)


def unpacked(archive, entry, most, scratch, room):
    """The bytes of an entry; raises Fault.  What the entry says about its size is not believed."""
    if entry.flag_bits & 1:
        raise Fault(LOCKED)
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Fault(UNUSUAL)
    try:
        with archive.open(entry) as stream:
            data = stream.read(min(most, room.size, scratch.left) + 1)
    except Exception:  # whatever a forged entry makes the library raise
        raise Fault(DAMAGED) from None
    if len(data) > most:
        raise Fault(TOO_LARGE)
    if len(data) > min(room.size, scratch.left):
        raise Fault(TOO_MUCH)
    room.size -= len(data)
    return data


def contents_size(path):
    """The size of a zip's table of contents: reading a huge one would fill the memory."""
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - 65_600))
        tail = file.read()
    at = len(tail) - 22 if tail[-22:-18] == b"PK\5\6" else tail.rfind(b"PK\5\6")
    return struct.unpack_from("<L", tail, at + 12)[0] if at >= 0 else 0


def entry_names(entry, outside):
    """The readings of an entry's path, each after the reading of the path of the zip that it is in."""
    utf8 = entry.flag_bits & 0x800
    names = (inside(entry.orig_filename),) if utf8 else readings(entry.orig_filename.encode("cp437", "replace"))
    if not outside:
        return names
    count = max(len(outside), len(names))
    return tuple(f"{outside[min(i, len(outside) - 1)]}/{names[min(i, len(names) - 1)]}" for i in range(count))


def entry_time(entry):
    """-> (time or None, whether its zone is known)"""
    extra = entry.extra
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        if kind == 0x5455 and size >= 5 and len(extra) >= 9 and extra[4] & 1:  # “extended timestamp”
            return datetime.fromtimestamp(struct.unpack_from("<L", extra, 5)[0], UTC), True
        extra = extra[4 + size :]
    try:
        time = datetime(*entry.date_time)
    except ValueError:
        return None, False
    return (time.astimezone(), False) if time.year > 1980 else (None, False)
