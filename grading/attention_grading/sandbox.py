"""Where the student's code runs: a process that sees Python, NumPy and its own notebook, and nothing else.

It gets arguments and gives numbers back, so that nothing it does to itself can change a comparison.  On Linux bubblewrap
keeps it from files, network, other processes and more than its share of memory and time.
"""

import base64
import builtins
import collections
import contextlib
import functools
import json
import os
import platform
import re
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from math import ceil, prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attention_grading import child
from attention_grading.classroom import Problem
from attention_grading.judge import Answer

RESTARTS = 4  # of one submission's process
SHARES = 3  # of `seconds`: what one submission may take in all
START = 60  # seconds in which the process must be there, before any of the student's code
LINE = 8192  # bytes of one message
NOTES = 20  # of one submission


class Failure(Exception):
    """Why there is no answer: late, ended or unreadable."""


class Session:
    """A student's notebook, loaded into a process of its own, that answers calls.

    cells: [(key or None, source), …].  Loading may take `seconds`, and so may all calls of one function together; one
    submission may take three times that in all.  A cell or call that never ends, or that ends the process, costs this
    cell or call alone: the process is started anew, four times at most, without the cell.  `notes` say to the student
    what went wrong while loading.  The process ends with the thread that entered the session.

    safe=False: no sandbox.  The comparison stays honest, but the code may do and read what its caller may.
    """

    def __init__(self, cells, safe=True, seconds=10):
        if sys.platform == "win32":
            raise Problem("Submissions cannot be run on Windows itself: " + remedy(machine(), ""))
        self.cells, self.safe, self.seconds = list(cells), safe, seconds
        self.notes, self.left_out, self.child, self.starts = [], set(), None, 0
        self.spent, self.total = collections.Counter(), 0.0

    def __enter__(self):
        try:
            self.running()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *error):
        self.stop()

    def stop(self):
        if self.child:
            self.child.close()
            self.child = None

    def running(self):
        """Whether the notebook is loaded, if need be into a new process."""
        while not self.child and self.starts <= RESTARTS and self.total < SHARES * self.seconds:
            self.starts += 1
            self.child = Process(self.safe, ceil(SHARES * self.seconds))
            self.load()
        return self.child is not None

    def load(self):
        cells = [(i, source) for i, (_, source) in enumerate(self.cells) if i not in self.left_out]
        begun, began = None, time.monotonic()
        deadline = began + min(self.seconds, SHARES * self.seconds - self.total)
        try:
            self.child.send({"cells": cells}, deadline)
            for _ in range(4 * NOTES + 4 * len(cells)):
                message = self.child.message(deadline)
                if message.get("loaded") is True:
                    return
                if "begin" in message:
                    begun = self.index(message["begin"])
                else:
                    self.note(self.loading(message))
            raise Failure("unreadable")
        except Failure as failure:
            self.stop()
            if begun is None:
                raise Problem(
                    "The process for the student's code ended before it began: run attn grade --check."
                ) from None
            self.left_out.add(begun)
            zh, en = self.why(str(failure))
            cell = self.cell(begun)
            self.note((f"略过了{cell[0]}：{zh}", f"Left out {cell[1]}: {en}"))
        finally:
            self.total += time.monotonic() - began

    def call(self, function, arguments):
        """What a function of the student's gives.   -> Answer"""
        request = {"function": function, "arguments": [written(a) for a in arguments], "token": secrets.token_hex(8)}
        if self.spent[function] >= self.seconds:
            return Answer(None, *self.why("late"))
        if not self.running():
            return Answer(None, *self.why("used up"))
        began = time.monotonic()
        left = min(self.seconds - self.spent[function], SHARES * self.seconds - self.total)
        try:
            return self.answer(function, request, began + left)
        except Failure as failure:
            self.stop()
            return Answer(None, *self.why(str(failure)))
        finally:
            took = time.monotonic() - began
            self.spent[function] += took
            self.total += took

    def answer(self, function, request, deadline):
        self.child.send(request, deadline)
        message = self.child.message(deadline)
        if message.get("token") != request["token"]:
            raise Failure("unreadable")
        if "shapes" in message:
            return Answer(self.child.arrays(message["shapes"], deadline))
        if "wrong" in message:
            return Answer(None, *self.why(message["wrong"], function))
        name, at = self.kind(message), self.place(message)
        return Answer(None, f"出错：{name}{at[0]}。", f"It raised {name}{at[1]}.")

    # What is said to the student.  Once a call has sent hidden arguments, no word of the process is passed on: the
    # error's name must be one of Python's or stand in the student's source, and so must the place.

    def why(self, word, function=""):
        zh, en = REASONS.get(word if isinstance(word, str) else "", REASONS["unreadable"])
        facts = {"function": function, "seconds": f"{self.seconds:g}", "largest": child.LARGEST}
        return zh.format(**facts), en.format(**facts)

    def kind(self, message):
        name, subject = message.get("type"), message.get("name")
        if not self.word(name) and name not in ERRORS:
            return "Exception"
        return f"{name} ({subject})" if name == "NameError" and self.word(subject) else name

    def word(self, text):
        """Whether a text is a name that stands in the student's source."""
        return (
            isinstance(text, str)
            and len(text) <= 60
            and text.isidentifier()
            and any(re.search(rf"\b{text}\b", source) for _, source in self.cells)
        )

    def index(self, number):
        if type(number) is not int or not 0 <= number < len(self.cells) or number in self.left_out:
            raise Failure("unreadable")
        return number

    def cell(self, index):
        key = self.cells[index][0]
        return (f" {key} 的单元格", f"the cell of {key}") if key else ("一个额外的单元格", "an extra cell")

    def place(self, message):
        """Where in the student's notebook, or nothing."""
        index, line = message.get("cell"), message.get("line")
        if type(index) is not int or type(line) is not int or not 0 <= index < len(self.cells):
            return "", ""
        lines = self.cells[index][1].split("\n")
        if not 1 <= line <= len(lines):
            return "", ""
        zh, en = self.cell(index)
        text = printable(lines[line - 1].strip(), 80)
        return f"，在{zh}第 {line} 行：{text}", f", in {en}, line {line}: {text}"

    def loading(self, message):
        """A note on what went wrong before any argument was sent: here the error's own words may be told."""
        module, text, at = message.get("missing"), message.get("message"), self.place(message)
        if isinstance(module, str) and re.fullmatch(r"[\w.]{1,60}", module):
            return (
                f"略过了 import {module}{at[0]}。评分时只有 NumPy 和 Python 自带的库。",
                f"Left out the import of {module}{at[1]}. For grading there is NumPy and Python's own library alone.",
            )
        name = self.kind(message)
        told = f": {printable(text, child.TEXT)}" if isinstance(text, str) and text else ""
        hint = HINTS.get(name, ("", ""))
        return f"{name}{told}{at[0]}。{hint[0]}", f"{name}{told}{at[1]}. {hint[1]}".strip()

    def note(self, note):
        note = {"zh": note[0], "en": note[1]}
        if note not in self.notes and len(self.notes) < NOTES:
            self.notes.append(note)


ERRORS = {
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
}
ERRORS |= {"LinAlgError", "AxisError"}
HINTS = {"EOFError": ("评分时没有人回答 input()。", "Nobody answers input() while this is graded.")}
REASONS = {  # the child's words, and ours, for why there is no answer
    "missing": ("没有定义函数 {function}。", "There is no function {function}."),
    "unanswered": ("还没有作答。", "Not answered yet."),
    "none": ("没有返回结果（None）：是否少了 return？", "It returned nothing (None): is a return missing?"),
    "text": ("返回的是文字，应为数。", "It returned text where numbers are asked for."),
    "complex": ("返回的是复数，应为实数。", "It returned complex numbers where real ones are asked for."),
    "ragged": (
        "返回的列表各行长度不同，不成数组；要返回几个结果，请写 return a, b。",
        "It returned a list whose rows differ in length, which is no array; several results are returned by return a, b.",
    ),
    "other": ("返回的不是由数组成的数组。", "It returned something that is no array of numbers."),
    "large": ("返回的数太多，最多 {largest} 个。", "It returned too many numbers; {largest} is the most."),
    "late": ("{seconds} 秒内没有结果：是否有死循环？", "No result within {seconds} s: is there an endless loop?"),
    "ended": (
        "还没有结果，程序就结束了：是退出、崩溃，还是内存用尽？",
        "The program ended before there was a result: by an exit, a crash, or for want of memory?",
    ),
    "unreadable": ("程序给出的回答读不懂。", "What the program answered cannot be read."),
    "used up": (
        "这份作业的运行时间或重启次数已用完，没有再试。",
        "This notebook has used up its time or its restarts; this was not tried.",
    ),
}


def printable(text, most):
    """A student's text for a page or a terminal: one line, no control characters."""
    return "".join(c if c.isprintable() else " " for c in text[:most])


def written(argument):
    """An argument as JSON."""
    if isinstance(argument, np.ndarray) and argument.dtype.kind in "biufc":
        data = base64.b64encode(argument.tobytes()).decode()
        return {"data": data, "dtype": argument.dtype.str, "shape": argument.shape}
    if isinstance(argument, np.generic):
        return written(argument.item())
    if isinstance(argument, tuple | list):
        return {type(argument).__name__: [written(item) for item in argument]}
    if argument is None or isinstance(argument, bool | int | float | str):
        return argument
    raise Problem(f"An argument that the assignment draws is a {type(argument).__name__}: use numbers, text or arrays.")


class Process:
    """The process of one notebook, and the line to it.  Whatever comes along the line is bounded and distrusted."""

    def __init__(self, safe, seconds):
        self.safe, self.inner, self.buffer = safe, None, b""
        self.folder = None if safe else tempfile.TemporaryDirectory(prefix="attn-")
        self.line, theirs = socket.socketpair()
        about, tell = os.pipe()  # where bubblewrap tells the number of the process inside
        rules = pipe_with(seccomp(platform.machine())) if safe else None
        given = [end for end in (theirs.fileno(), tell, rules) if end is not None]
        try:
            if safe:
                command = sandboxed(python(theirs.fileno(), packages(), seconds), tell, rules)
            else:
                command = python(theirs.fileno(), numpy_alone(self.folder.name), seconds)
            self.process = subprocess.Popen(
                command, cwd=self.folder.name if self.folder else "/", env=ENVIRONMENT, pass_fds=given,
                start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except BaseException as error:
            self.line.close()
            os.close(about)
            raise Problem(f"No process could be started for the student's code: {error}.") from error
        finally:
            theirs.close()
            for end in given[1:]:
                os.close(end)
        try:
            if self.message(time.monotonic() + START).get("ready") is not True:
                raise Failure("unreadable")
            if safe:
                self.inner = json.loads(os.read(about, LINE))["child-pid"]
        except (Failure, ValueError, KeyError):
            self.close()
            raise Problem("The process for the student's code did not start: attn grade --check says why.") from None
        except BaseException:
            self.close()
            raise
        finally:
            os.close(about)

    def close(self):
        """End it.  Of bubblewrap's two processes the inner one is ended, so that the outer one can wait for it."""
        self.line.close()
        if self.inner and parent(self.inner) == self.process.pid:
            os.kill(self.inner, signal.SIGKILL)
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended; macOS says so by the second
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.folder:
            self.folder.cleanup()

    def send(self, message, deadline):
        with self.until(deadline):
            self.line.sendall(json.dumps(message).encode() + b"\n")

    def message(self, deadline):
        """A line of JSON.   -> dict"""
        while b"\n" not in self.buffer:
            if len(self.buffer) > LINE:
                raise Failure("unreadable")
            self.receive(deadline)
        line, self.buffer = self.buffer.split(b"\n", 1)
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            raise Failure("unreadable") from None
        if len(line) > LINE or not isinstance(message, dict):
            raise Failure("unreadable")
        return message

    def arrays(self, shapes, deadline):
        """The numbers that follow a message, of the shapes that it announced.   -> (array, …)"""
        if not isinstance(shapes, list) or len(shapes) > child.MOST or not all(map(is_shape, shapes)):
            raise Failure("unreadable")
        counts = [prod(shape) for shape in shapes]
        if sum(counts) > child.LARGEST:
            raise Failure("unreadable")
        while len(self.buffer) < 8 * sum(counts):
            self.receive(deadline)
        numbers = np.frombuffer(self.buffer[: 8 * sum(counts)], "<f8").astype(float)
        self.buffer = self.buffer[8 * sum(counts) :]
        ends = np.cumsum(counts)
        return tuple(numbers[e - n : e].reshape(shape) for e, n, shape in zip(ends, counts, shapes, strict=True))

    def receive(self, deadline):
        with self.until(deadline):
            data = self.line.recv(65536)
        if not data:
            raise Failure("ended")
        self.buffer += data

    @contextlib.contextmanager
    def until(self, deadline):
        left = deadline - time.monotonic()
        if left <= 0:
            raise Failure("late")
        self.line.settimeout(left)
        try:
            yield
        except TimeoutError:
            raise Failure("late") from None
        except OSError:
            raise Failure("ended") from None


def is_shape(shape):
    return (
        isinstance(shape, list)
        and len(shape) <= 32
        and all(type(length) is int and 0 <= length <= child.LARGEST for length in shape)
        and prod(length or 1 for length in shape) <= child.LARGEST
    )


def parent(pid):
    """The process that started a process, or None."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text("latin-1").rpartition(")")[2].split()[1])
    except OSError:
        return None


# The command

ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "LC_ALL": "C.UTF-8", "HOME": "/tmp", "PATH": "/usr/bin"}  # of ours, nothing


def python(descriptor, folder, seconds):
    """Python without site-packages, environment and bytecode to write."""
    name = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    return [name, "-I", "-S", "-B", "-X", "utf8", child_file(), str(descriptor), str(folder), str(seconds)]


def child_file():
    return os.path.realpath(child.__file__)


def packages():
    """The folder that NumPy lies in."""
    return Path(np.__file__).resolve().parent.parent


def numpy_parts():
    return [path for path in (packages() / "numpy", packages() / "numpy.libs") if path.is_dir()]


def numpy_alone(folder):
    """Make a folder that holds NumPy and no other package."""
    for path in numpy_parts():
        (Path(folder) / path.name).symlink_to(path)
    return folder


@functools.cache
def readable():
    """What the student's code can read: the system's libraries, Python, NumPy, and the code that runs it."""
    libraries = [
        path
        for root in ("/", "/usr", sys.base_prefix)
        for path in sorted(Path(root).glob("lib*"))
        if path.is_dir() and not path.is_symlink() and path.name in ("lib", "lib32", "lib64")
    ]
    executable = Path(python(0, "", 0)[0])
    extra = [path for path in map(Path, ("/etc/ld.so.cache", "/etc/alternatives")) if path.exists()]
    return list(dict.fromkeys([*libraries, executable, *extra])), [*numpy_parts(), Path(child_file())]


def covered():
    """The folders of packages among these: other people's code, and this package."""
    kinds = ("site-packages", "dist-packages")
    return [found for path in readable()[0] for kind in kinds for found in sorted(path.glob(f"python*/{kind}"))]


@functools.cache
def no_user_namespaces():
    """bubblewrap's own way to switch off further user namespaces; not every container lets it.  The filter comes on top."""
    option = ["--unshare-user", "--disable-userns"]
    command = [bubblewrap(), *option, "--ro-bind", "/", "/", sys.executable, "-I", "-S", "-c", ""]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    return option if done.returncode == 0 else option[:1]


def bubblewrap():
    return shutil.which("bwrap") or "bwrap"


def sandboxed(command, tell, rules):
    """A command inside the sandbox.  tell, rules: descriptors for the inner process's number, of the filter."""
    first, last = readable()
    mounts = ["--size", 64 << 20, "--tmpfs", "/tmp"]  # all that can be written
    for path in first:
        mounts += ["--ro-bind", path, path]
    for path in covered():
        mounts += ["--tmpfs", path]
    for path in last:
        mounts += ["--ro-bind", path, path]
    for path in covered():
        mounts += ["--remount-ro", path]
    for path in (path for path in sorted(Path("/").glob("lib*")) if path.is_symlink()):
        mounts += ["--symlink", os.readlink(path), path]
    for name in ("null", "zero", "random", "urandom"):
        mounts += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    mounts += ["--remount-ro", "/", "--chdir", "/tmp"]
    shut = ["--unshare-all", *no_user_namespaces(), "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    who = ["--uid", 65534, "--gid", 65534, "--info-fd", tell]
    filtered = ["--seccomp", rules] if rules is not None else []
    return [str(word) for word in [bubblewrap(), *shut, *who, *mounts, *filtered, "--", *command]]


# What the system refuses to the student's code: new processes and threads, so that the bound on memory bounds all of it;
# memory that this bound does not count; sockets; and doors into the kernel that have been broken before.
REFUSED = {
    "x86_64": {
        "clone": 56, "fork": 57, "vfork": 58, "clone3": 435, "unshare": 272, "setns": 308,
        "memfd_create": 319, "memfd_secret": 447, "shmget": 29, "msgget": 68, "semget": 64, "mq_open": 240,
        "socket": 41, "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311,
        "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "userfaultfd": 323, "bpf": 321,
        "perf_event_open": 298, "add_key": 248, "request_key": 249, "keyctl": 250,
    },
    "aarch64": {
        "clone": 220, "clone3": 435, "unshare": 97, "setns": 268,
        "memfd_create": 279, "memfd_secret": 447, "shmget": 194, "msgget": 186, "semget": 190, "mq_open": 180,
        "socket": 198, "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271,
        "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "userfaultfd": 282, "bpf": 280,
        "perf_event_open": 241, "add_key": 217, "request_key": 218, "keyctl": 219,
    },
}  # fmt: skip
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # as the kernel's audit names them
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # instructions of the kernel's filter machine
ALLOW, REFUSE = 0x7FFF0000, 0x00050001  # the latter gives EPERM
X32 = 0x40000000  # calls with this bit are another set of numbers for the same ones


def seccomp(architecture):
    """The filter as the kernel reads it, or None for an architecture whose numbers are not listed."""
    if architecture not in REFUSED:
        return None
    numbers = sorted(REFUSED[architecture].values())
    steps = [(LOAD, 0, 0, 4), (EQUAL, 0, len(numbers) + 3, ARCHITECTURES[architecture]), (LOAD, 0, 0, 0)]
    steps += [(AT_LEAST, len(numbers) + 1, 0, X32)]
    steps += [(EQUAL, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
    steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    return b"".join(struct.pack("<HBBI", *step) for step in steps)


def pipe_with(data):
    """A descriptor from which these few bytes can be read."""
    if data is None:
        return None
    end, begin = os.pipe()
    os.write(begin, data)
    os.close(begin)
    return end


# Whether it holds


class Protection(NamedTuple):
    name: str
    works: bool
    remedy: str  # what to do on this system where it does not work, else empty


TRIALS = """
import ctypes, os, socket, threading

def manages(action):
    try:
        action()
    except BaseException:
        return 0
    return 1

def read(path):
    return manages(lambda: open(path, "rb").close())

def write(folders):
    return sum(manages(lambda: open(folder + "/attn-trial", "wb").close()) for folder in folders)

def connect(port):
    return manages(lambda: socket.create_connection(("127.0.0.1", port), 1))

def fork():
    def child():
        if os.fork() == 0:
            os._exit(0)
    return manages(child) + manages(lambda: threading.Thread(target=int).start())

def grow(size):
    return manages(lambda: bytearray(size))

def namespace():
    return 1 + ctypes.CDLL(None).unshare(0x10000000)

def forever():
    while True:
        pass
"""


def protections():
    """Try each protection on this machine.   -> [Protection, …]"""
    names = {
        "files": "the code cannot read your files",
        "writing": "the code cannot change a file",
        "network": "the code has no network",
        "processes": "the code cannot start processes",
        "memory": "the code has at most 2 GiB of memory",
        "namespaces": "the code cannot become another user",
        "time": "the code is stopped when its time is up",
    }
    try:
        holds = trials()
    except Problem:
        holds, symptom = {}, why_not()
    else:
        symptom = "" if all(holds.values()) else "bubblewrap works, but this does not hold."
    return [
        Protection(text, holds.get(key, False), "" if holds.get(key) else remedy(machine(), symptom))
        for key, text in names.items()
    ]


def trials():
    with (
        Session([(None, TRIALS)], seconds=2) as session,
        tempfile.NamedTemporaryFile() as secret,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):

        def gives_zero(function, *arguments):
            values = session.call(function, arguments).values
            return values is not None and float(values[0]) == 0

        folders = [str(path) for path in [Path("/"), Path("/dev"), *readable()[0], *readable()[1], *covered()]]
        return {
            "files": gives_zero("read", secret.name),
            "writing": gives_zero("write", folders),
            "network": gives_zero("connect", server.getsockname()[1]),
            "processes": gives_zero("fork"),
            "memory": gives_zero("grow", child.MEMORY + 1),
            "namespaces": gives_zero("namespace"),
            "time": session.call("forever", ()).values is None,
        }


def require(*private):
    """Say so, and what to do, where there is no sandbox, or where the student's code could read what is private."""
    for path in private:
        for place in [*readable()[0], *readable()[1]]:
            if Path(path).resolve().is_relative_to(place.resolve()):
                raise Problem(f"{path} lies in {place}, which the students' code can read: move it elsewhere.")
    for protection in protections():
        if not protection.works:
            raise Problem(
                f"There is no sandbox for the students' code here ({protection.name}: no). {protection.remedy}"
            )


def why_not():
    """What bubblewrap says when it cannot start, or nothing where there is none."""
    if not shutil.which("bwrap"):
        return ""
    end, tell = os.pipe()
    rules = pipe_with(seccomp(platform.machine()))
    try:
        command = sandboxed(python(0, "", 0)[:4] + ["-c", ""], tell, rules)
        done = subprocess.run(
            command, env=ENVIRONMENT, pass_fds=[fd for fd in (tell, rules) if fd is not None], capture_output=True,
            stdin=subprocess.DEVNULL, text=True, errors="replace",
        )  # fmt: skip
        return done.stderr.strip() or f"bwrap ended with {done.returncode}."
    finally:
        for fd in (end, tell, rules):
            if fd is not None:
                os.close(fd)


class Machine(NamedTuple):
    """What the remedy depends on."""

    system: str  # Linux, Darwin, Windows
    family: str = ""  # what /etc/os-release says: its ID and the IDs it is like
    container: bool = False
    bubblewrap: bool = True
    namespaces: str = ""  # /proc/sys/user/max_user_namespaces
    clone: str = ""  # /proc/sys/kernel/unprivileged_userns_clone
    apparmor: str = ""  # /proc/sys/kernel/apparmor_restrict_unprivileged_userns


def machine():
    def text(path):
        try:
            return Path(path).read_text("utf-8", "replace").strip()
        except OSError:
            return ""

    return Machine(
        platform.system(),
        " ".join(re.findall(r"^ID(?:_LIKE)?=\"?([^\"\n]*)", text("/etc/os-release"), re.M)),
        any(map(os.path.exists, ("/.dockerenv", "/run/.containerenv"))),
        bool(shutil.which("bwrap")),
        *(text(f"/proc/sys/{name}") for name in (
            "user/max_user_namespaces",
            "kernel/unprivileged_userns_clone",
            "kernel/apparmor_restrict_unprivileged_userns",
        )),
    )  # fmt: skip


INSTALL = {"debian": "apt install", "fedora": "dnf install", "rhel": "dnf install", "arch": "pacman -S"}
APPARMOR = (
    r"printf 'abi <abi/4.0>,\ninclude <tunables/global>\nprofile bwrap /usr/bin/bwrap flags=(unconfined) {\n  userns,\n}\n' "
    "| sudo tee /etc/apparmor.d/bwrap && sudo systemctl reload apparmor"
)


def remedy(machine, symptom):
    """What to do on this machine; symptom: what bubblewrap said."""
    if machine.system == "Darwin":
        return (
            "macOS has no bubblewrap: run attn on a Linux server or in a Linux virtual machine (Lima: brew install lima, "
            "limactl start; or UTM, or Multipass)."
        )
    if machine.system == "Windows":
        return "run attn inside WSL2 (wsl --install, then a Linux terminal)."
    if not machine.bubblewrap:
        install = next((INSTALL[name] for name in machine.family.split() if name in INSTALL), None)
        return "Install bubblewrap: " + (
            f"sudo {install} bubblewrap." if install else "it is a package of your system."
        )
    if "nknown option" in symptom:
        return f"This bubblewrap is too old ({symptom}): 0.8 or newer is needed, as in Debian 12 and Ubuntu 24.04."
    if machine.namespaces == "0":
        return "User namespaces are switched off: sudo sysctl user.max_user_namespaces=10000."
    if machine.clone == "0":
        return "User namespaces are kept to root: sudo sysctl kernel.unprivileged_userns_clone=1."
    if machine.container:
        return (
            f"This is a container that keeps bubblewrap from working ({symptom}): start it with --security-opt "
            "seccomp=unconfined --security-opt apparmor=unconfined, and if that is not enough with --cap-add SYS_ADMIN, "
            "or run attn outside."
        )
    if machine.apparmor == "1":
        return f"AppArmor keeps bubblewrap from user namespaces; this gives it, and no other program, leave: {APPARMOR}"
    return f"bubblewrap does not work here: {symptom}"
