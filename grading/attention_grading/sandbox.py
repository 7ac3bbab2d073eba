"""Where the student's code runs: a process that sees Python, NumPy and its own notebook, and nothing else.

It gets arguments and gives numbers back, so that nothing it does to itself can change a comparison.  On Linux
bubblewrap keeps it from files, network, other processes and more than its share of memory.
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
START = 60  # seconds in which a process must be there, before any of the student's code
LINE = 8192  # bytes of one message
NOTES = 20  # on one submission


class Failure(Exception):
    """Why a process gave no answer: late, ended or unreadable."""


class Session:
    """A student's notebook, loaded into a process of its own, that answers calls.

    cells: [(key or None, source), …].  Loading may take `seconds`, and so may all calls of one function together; one
    submission may take three times that in all.  A cell that never ends, or that ends the process, costs this cell
    alone, such a call this function alone: the process is started anew without it, four times at most.  `notes` say to
    the student what went wrong while loading.  The process ends with the thread that entered the session.

    safe=False: no sandbox.  The comparison stays honest, but the code may read and do what its caller may.
    """

    def __init__(self, cells, safe=True, seconds=10):
        if sys.platform == "win32":
            raise Problem("Submissions cannot be run on Windows itself: " + remedy(machine(), ""))
        self.cells, self.safe, self.seconds = list(cells), safe, seconds
        self.notes, self.left_out, self.process, self.starts = [], set(), None, 0
        self.lost = {}  # function -> why it is not called again
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
        if self.process:
            self.process.close()
            self.process = None

    def running(self):
        """Whether the notebook is loaded, if need be into a new process."""
        while not self.process and self.starts <= RESTARTS and self.total < SHARES * self.seconds:
            self.starts += 1
            self.process = Process(self.safe, ceil(SHARES * self.seconds))
            self.load()
        return self.process is not None

    @contextlib.contextmanager
    def deadline(self, spent=0.0):
        """The moment when the time is up; what is used until then counts."""
        began = time.monotonic()
        try:
            yield began + min(self.seconds - spent, SHARES * self.seconds - self.total)
        finally:
            self.total += time.monotonic() - began

    def load(self):
        cells = [(i, source) for i, (_, source) in enumerate(self.cells) if i not in self.left_out]
        begun = None
        try:
            with self.deadline() as deadline:
                self.process.send({"cells": cells}, deadline)
                for _ in range(4 * NOTES + 4 * len(cells)):
                    message = self.process.message(deadline)
                    if "loaded" in message:
                        return
                    if "begin" in message:
                        begun = self.index(message["begin"])
                    else:
                        self.note(*self.loading(message))
                raise Failure("unreadable")
        except Failure as failure:
            self.stop()
            if begun is None:
                raise Problem("The process for the student's code ended too soon: run attn grade --check.") from None
            self.left_out.add(begun)
            (zh, en), (cell_zh, cell_en) = self.why(str(failure)), self.cell(begun)
            self.note(f"略过了{cell_zh}：{zh}", f"Left out {cell_en}: {en}")

    def call(self, function, arguments):
        """What a function of the student's gives.   -> Answer"""
        request = {"function": function, "arguments": [written(a) for a in arguments], "token": secrets.token_hex(8)}
        if function in self.lost or not self.running():
            return Answer(None, *self.why(self.lost.get(function, "used up")))
        with self.deadline(self.spent[function]) as deadline:
            began = time.monotonic()
            try:
                return self.answer(function, request, deadline)
            except Failure as failure:
                self.stop()
                self.lost[function] = str(failure)
                return Answer(None, *self.why(str(failure)))
            finally:
                self.spent[function] += time.monotonic() - began

    def answer(self, function, request, deadline):
        self.process.send(request, deadline)
        message = self.process.message(deadline)
        if message.get("token") != request["token"]:
            raise Failure("unreadable")
        if "shapes" in message:
            return Answer(self.process.arrays(message["shapes"], deadline))
        if "wrong" in message:
            return Answer(None, *self.why(message["wrong"], function))
        name, (zh, en) = self.kind(message), self.place(message)
        return Answer(None, f"出错：{name}{zh}。", f"It raised {name}{en}.")

    # What is said to the student.  Once a call has sent hidden arguments, no word of the process is passed on: an
    # error's name must be one of Python's or stand in the student's source, and its place must be a line there.

    def why(self, word, function=""):
        zh, en = REASONS.get(word if isinstance(word, str) else "", REASONS["unreadable"])
        facts = {"function": function, "seconds": f"{self.seconds:g}", "largest": child.LARGEST}
        return zh.format(**facts), en.format(**facts)

    def kind(self, message):
        name, subject = message.get("type"), message.get("name")
        if not isinstance(name, str) or not (name in ERRORS or self.word(name)):
            return "Exception"
        return f"{name} ({subject})" if name == "NameError" and self.word(subject) else name

    def word(self, text):
        """Whether a text is a name that stands in the student's source."""
        name = isinstance(text, str) and len(text) <= 60 and text.isidentifier()
        return name and any(re.search(rf"\b{text}\b", source) for _, source in self.cells)

    def index(self, number):
        if type(number) is not int or not 0 <= number < len(self.cells):
            raise Failure("unreadable")
        return number

    def cell(self, index):
        key = self.cells[index][0]
        return (f" {key} 的单元格", f"the cell of {key}") if key else ("一个额外的单元格", "an extra cell")

    def place(self, message):
        """Where in the student's notebook, in words; or nothing."""
        index, line = message.get("cell"), message.get("line")
        if type(index) is not int or type(line) is not int or not 0 <= index < len(self.cells):
            return "", ""
        lines = self.cells[index][1].split("\n")
        if not 1 <= line <= len(lines):
            return "", ""
        (zh, en), text = self.cell(index), printable(lines[line - 1].strip(), 80)
        return f"，在{zh}第 {line} 行“{text}”", f" in {en}, line {line}, “{text}”"

    def loading(self, message):
        """What went wrong before any argument was sent: here the error's own words may be told."""
        module, text, (zh, en) = message.get("missing"), message.get("message"), self.place(message)
        if isinstance(module, str) and re.fullmatch(r"[\w.]{1,60}", module):
            return (
                f"略过了 import {module}{zh}。评分时只有 NumPy 和 Python 自带的库。",
                f"Left out the import of {module}{en}. Grading has only NumPy and Python's standard library.",
            )
        name = self.kind(message)
        told = f"{name}: {printable(text, child.TEXT)}" if isinstance(text, str) and text else name
        hint_zh, hint_en = HINTS.get(name, ("", ""))
        return f"{told}{zh}。{hint_zh}", f"{told}{en}. {hint_en}".strip()

    def note(self, zh, en):
        note = {"zh": zh, "en": en}
        if note not in self.notes and len(self.notes) < NOTES:
            self.notes.append(note)


ERRORS = {name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)}
ERRORS |= {"LinAlgError", "AxisError"}
HINTS = {
    "EOFError": ("评分时没有人回答 input()。", "Nobody answers input() during grading."),
    "OSError": ("评分时不能写文件，也不能联网。", "No file can be written during grading, and there is no network."),
}
REASONS = {  # the process's words, and ours, for why there is no answer
    "missing": ("没有定义函数 {function}。", "The function {function} is not defined."),
    "unanswered": ("还没有作答。", "Not answered yet."),
    "none": ("没有返回结果（None）：是否少了 return？", "It returned nothing (None): is a return missing?"),
    "text": ("返回的是文字，应为数。", "It returned text; the question asks for numbers."),
    "complex": ("返回的是复数，应为实数。", "It returned complex numbers; the question asks for real ones."),
    "ragged": (
        "返回的列表各行长度不同，不成数组；要返回几个结果，请写 return a, b。",
        "It returned a list whose rows differ in length. For several results, write return a, b.",
    ),
    "other": ("返回的不是由数组成的数组。", "It returned something that is not an array of numbers."),
    "large": ("返回的数太多，最多 {largest} 个。", "It returned too many numbers; the limit is {largest}."),
    "late": ("{seconds} 秒内没有结果：是否有死循环？", "No result within {seconds} s: is there an endless loop?"),
    "ended": (
        "还没有结果，程序就结束了：是退出、崩溃，还是内存用尽？",
        "The program ended before it gave a result: did it exit, crash, or run out of memory?",
    ),
    "unreadable": ("程序给出的回答读不懂。", "The answer of the program cannot be read."),
    "used up": (
        "这份作业的运行时间或重启次数已用完，没有再试。",
        "Not tried: this notebook has used up its running time or its restarts.",
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
    raise Problem(f"The assignment draws an argument of type {type(argument).__name__}: use numbers, text or arrays.")


class Process:
    """The process of one notebook, and the line to it.  Whatever comes along the line is bounded and distrusted."""

    def __init__(self, safe, seconds):
        self.inner, self.buffer = None, b""
        with contextlib.ExitStack() as undo:
            self.line, theirs = socket.socketpair()
            undo.callback(self.line.close)
            folder = None if safe else undo.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            with theirs, contextlib.ExitStack() as ends:
                about, tell = pipe(ends)  # along which bubblewrap tells the number of the process inside
                rules = filter_pipe(ends) if safe else None
                run = functools.partial(python, theirs.fileno(), seconds)
                if safe:
                    command = sandboxed(run(packages(), INSIDE), tell, rules)
                else:
                    command = run(numpy_alone(folder), child_file())
                self.start(command, folder or "/", [fd for fd in (theirs.fileno(), tell, rules) if fd is not None])
                undo.callback(self.kill)
                theirs.close()
                try:
                    ready = self.message(time.monotonic() + START).get("ready") is True
                    self.inner = json.loads(os.read(about, LINE))["child-pid"] if safe and ready else None
                except Failure:
                    ready = False
            if not ready:
                raise Problem("The process for the student's code did not start: attn grade --check says why.")
            self.undo = undo.pop_all()

    def start(self, command, folder, descriptors):
        nothing = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        try:
            self.process = subprocess.Popen(
                command, cwd=folder, env=ENVIRONMENT, pass_fds=descriptors, start_new_session=True, **nothing
            )
        except OSError as error:
            raise Problem(f"No process could be started for the student's code: {error}.") from None

    def close(self):
        self.undo.close()

    def kill(self):
        """End it.  Of bubblewrap's two processes the inner one is killed: the outer one waits for it and ends."""
        with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended; macOS says the second
            if self.inner and parent(self.inner) == self.process.pid:
                os.kill(self.inner, signal.SIGKILL)
            else:
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def send(self, message, deadline):
        with self.until(deadline):
            self.line.sendall(json.dumps(message).encode() + b"\n")

    def message(self, deadline):
        """A line of JSON.   -> dict"""
        while b"\n" not in self.buffer:
            if len(self.buffer) > LINE:
                raise Failure("unreadable")
            self.receive(deadline)
        line, _, self.buffer = self.buffer.partition(b"\n")
        try:
            message = json.loads(line) if len(line) <= LINE else None
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            raise Failure("unreadable")
        return message

    def arrays(self, shapes, deadline):
        """The numbers that follow a message, in the shapes that it announced.   -> (array, …)"""
        if not isinstance(shapes, list) or len(shapes) > child.MOST or not all(map(is_shape, shapes)):
            raise Failure("unreadable")
        counts = [prod(shape) for shape in shapes]
        size = 8 * sum(counts)
        if sum(counts) > child.LARGEST:
            raise Failure("unreadable")
        while len(self.buffer) < size:
            self.receive(deadline)
        numbers, self.buffer = np.frombuffer(self.buffer[:size], "<f8").astype(float), self.buffer[size:]
        parts = np.split(numbers, np.cumsum(counts)[:-1]) if counts else []
        return tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))

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
    """Whether it is one, of an array that is not too large even without its lengths of zero."""
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


def pipe(ends):
    """The two ends of a pipe; `ends` closes them."""
    both = os.pipe()
    for end in both:
        ends.callback(os.close, end)
    return both


def filter_pipe(ends):
    """A descriptor from which bubblewrap can read the filter, if there is one."""
    rules = seccomp(platform.machine())
    if rules is None:
        return None
    out, into = os.pipe()
    ends.callback(os.close, out)
    os.write(into, rules)
    os.close(into)
    return out


# The command

ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "LC_ALL": "C.UTF-8", "HOME": "/tmp", "PATH": "/usr/bin"}  # nothing of ours


INSIDE = "/child.py"


def python(descriptor, seconds, folder, program):
    """Python without site-packages, without our environment, and without bytecode to write."""
    return [executable(), "-I", "-S", "-B", "-X", "utf8", program, str(descriptor), str(folder), str(seconds)]


def executable():
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def child_file():
    return os.path.realpath(child.__file__)


def packages():
    """The folder that NumPy lies in."""
    return Path(np.__file__).resolve().parent.parent


def numpy_parts():
    return [path for path in (packages() / "numpy", packages() / "numpy.libs") if path.is_dir()]


def numpy_alone(folder):
    """Let a folder hold NumPy and no other package."""
    for path in numpy_parts():
        (Path(folder) / path.name).symlink_to(path)
    return folder


@functools.cache
def readable():
    """What the student's code can read, besides child.py.   -> the system's libraries and Python, NumPy"""
    roots = [Path(root) / name for root in ("/", "/usr", sys.base_prefix) for name in ("lib", "lib32", "lib64")]
    libraries = [path for path in roots if path.is_dir() and not path.is_symlink()]
    more = [path for path in map(Path, (executable(), "/etc/ld.so.cache", "/etc/alternatives")) if path.exists()]
    return list(dict.fromkeys(libraries + more)), numpy_parts()


@functools.cache
def covered():
    """The folders of packages in there, which are made to look empty: they may hold this package, or anybody's."""
    kinds = ("site-packages", "dist-packages")
    return [found for path in readable()[0] for kind in kinds for found in sorted(path.glob(f"python*/{kind}"))]


@functools.cache
def no_user_namespaces():
    """bubblewrap's own way to switch off more user namespaces, where it works; the filter refuses them everywhere."""
    option = ["--unshare-user", "--disable-userns"]
    command = [bubblewrap(), *option, "--ro-bind", "/", "/", executable(), "-I", "-S", "-c", ""]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    return option if done.returncode == 0 else option[:1]


def bubblewrap():
    path = shutil.which("bwrap")
    if not path:
        raise Problem("There is no sandbox here. " + remedy(machine(), ""))
    return path


def sandboxed(command, tell=None, rules=None):
    """A command in the sandbox.  tell, rules: descriptors for the number of the process inside, and of the filter."""
    first, last = readable()
    shut = ["--unshare-all", *no_user_namespaces(), "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    mounts = ["--dir", "/tmp"]  # there, but as little to be written as the rest: files are memory that no limit counts
    mounts += [word for path in first for word in ("--ro-bind", path, path)]
    mounts += [word for path in covered() for word in ("--tmpfs", path)]
    mounts += [word for path in last for word in ("--ro-bind", path, path)]
    mounts += [word for path in covered() for word in ("--remount-ro", path)]
    mounts += ["--ro-bind", child_file(), INSIDE]
    for path in map(Path, ("/lib", "/lib32", "/lib64")):
        mounts += ["--symlink", os.readlink(path), path] if path.is_symlink() else []
    for name in ("null", "zero", "random", "urandom"):
        mounts += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    mounts += ["--remount-ro", "/", "--chdir", "/tmp"]
    given = [word for pair in (("--info-fd", tell), ("--seccomp", rules)) if pair[1] is not None for word in pair]
    words = [bubblewrap(), *shut, "--uid", 65534, "--gid", 65534, *mounts, *given, "--", *command]
    return [str(word) for word in words]


# What the system refuses to the student's code: new processes and threads, so that the bound on memory bounds all of
# it; memory that this bound does not count; sockets; doors into the kernel that have been broken.
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # as the kernel's audit names them
REFUSED = {  # the number of each call on these two
    "clone": (56, 220), "clone3": (435, 435), "fork": (57, None), "vfork": (58, None),
    "unshare": (272, 97), "setns": (308, 268),
    "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    "socket": (41, 198), "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "userfaultfd": (323, 282), "bpf": (321, 280), "perf_event_open": (298, 241),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
}  # fmt: skip
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # instructions of the kernel's filter machine
ALLOW, REFUSE = 0x7FFF0000, 0x00050001  # the latter gives EPERM
X32 = 0x40000000  # with this bit the numbers of x86_64 are those of x32: the same calls by another name


def seccomp(architecture):
    """The filter as the kernel reads it, or None for an architecture whose numbers are not listed.

    A step is (instruction, steps to jump over if it holds, if it does not, operand); the last one refuses.
    """
    if architecture not in ARCHITECTURES:
        return None
    column = list(ARCHITECTURES).index(architecture)
    numbers = [calls[column] for calls in REFUSED.values() if calls[column] is not None]
    n = len(numbers)
    steps = [(LOAD, 0, 0, 4), (EQUAL, 0, n + 3, ARCHITECTURES[architecture])]
    steps += [(LOAD, 0, 0, 0), (AT_LEAST, n + 1, 0, X32)]
    steps += [(EQUAL, n - i, 0, number) for i, number in enumerate(numbers)]
    steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    return b"".join(struct.pack("<HBBI", *step) for step in steps)


# Whether it holds


class Protection(NamedTuple):
    name: str
    works: bool
    remedy: str  # what to do on this system where it does not work, else empty


PROTECTIONS = {  # function of TRIALS -> what must keep it from its aim
    "read": "the code cannot read your files",
    "write": "the code cannot change a file",
    "connect": "the code has no network",
    "fork": "the code cannot start processes",
    "grow": "the code has at most 2 GiB of memory",
    "namespace": "the code cannot become another user",
    "forever": "the code is stopped when its time is up",
}
TRIALS = """
import ctypes, os, socket, threading

def manages(action):
    try:
        action()
    except (OSError, MemoryError, RuntimeError):
        return 0
    return 1

def read(path):
    return manages(lambda: open(path, "rb").close())

def write(folders):
    def leave(path):
        open(path, "wb").close()
        os.remove(path)
    return sum(manages(lambda: leave(folder + "/attn-trial")) for folder in folders)

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
    try:
        holds = trials()
    except Problem:
        holds, advice = {}, remedy(machine(), symptom())
    else:
        advice = (
            "bubblewrap starts, but this protection does not hold: do not grade on this machine. "
            "On a processor other than x86_64 or aarch64, run attn as an ordinary user, not as root."
        )
    return [
        Protection(name, holds.get(key, False), "" if holds.get(key) else advice) for key, name in PROTECTIONS.items()
    ]


def trials():
    """-> {trial: whether it came to nothing}"""
    with (
        Session([(None, TRIALS)], seconds=2) as session,
        tempfile.NamedTemporaryFile() as secret,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        places = [*map(Path, ("/", "/dev", "/tmp")), *readable()[0], *readable()[1], *covered()]
        arguments = {
            "read": [secret.name],
            "write": [[str(path) for path in places if path.is_dir()]],
            "connect": [server.getsockname()[1]],
            "grow": [child.MEMORY + 1],
        }
        answers = {key: session.call(key, arguments.get(key, [])) for key in PROTECTIONS}
        holds = {key: bool(a.values) and not a.values[0].any() for key, a in answers.items()}
        return {**holds, "forever": "forever" in session.lost}


def require(*private):
    """Say so, and what to do, where there is no sandbox, or where the student's code could read what is private."""
    for path in private:
        for place in [*readable()[0], *readable()[1]]:
            if Path(path).resolve().is_relative_to(place.resolve()):
                raise Problem(f"{path} lies in {place}, which the students' code can read: move it elsewhere.")
    for protection in protections():
        if not protection.works:
            raise Problem(f"There is no sandbox here: “{protection.name}” does not hold. {protection.remedy}")


def symptom():
    """What bubblewrap says when it cannot start."""
    if not shutil.which("bwrap"):
        return ""
    command = sandboxed([executable(), "-I", "-S", "-c", ""])
    done = subprocess.run(command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True)
    return printable(done.stderr.decode("utf-8", "replace").strip(), 300) or f"it exits with code {done.returncode}"


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
    return Machine(
        platform.system(),
        " ".join(re.findall(r"^ID(?:_LIKE)?=\"?([^\"\n]*)", content("/etc/os-release"), re.M)),
        any(map(os.path.exists, ("/.dockerenv", "/run/.containerenv"))),
        bool(shutil.which("bwrap")),
        content("/proc/sys/user/max_user_namespaces"),
        content("/proc/sys/kernel/unprivileged_userns_clone"),
        content("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
    )


def content(path):
    try:
        return Path(path).read_text("utf-8", "replace").strip()
    except OSError:
        return ""


INSTALL = {"debian": "apt install", "fedora": "dnf install", "rhel": "dnf install", "arch": "pacman -S"}
APPARMOR = (
    r"printf 'abi <abi/4.0>,\ninclude <tunables/global>\nprofile bwrap /usr/bin/bwrap flags=(unconfined) {\n"
    r"  userns,\n}\n' | sudo tee /etc/apparmor.d/bwrap && sudo systemctl reload apparmor"
)


def remedy(machine, symptom):
    """What to do on this machine; symptom: what bubblewrap said."""
    if machine.system == "Darwin":
        return (
            "macOS has no bubblewrap: run attn on a Linux server or in a Linux virtual machine "
            "(Lima: brew install lima, limactl start; or UTM, or Multipass)."
        )
    if machine.system == "Windows":
        return "Run attn inside WSL2 (wsl --install, then its Linux terminal)."
    if not machine.bubblewrap:
        install = next((INSTALL[name] for name in machine.family.split() if name in INSTALL), None)
        return "Install bubblewrap: " + (
            f"sudo {install} bubblewrap." if install else "it is a package of the system."
        )
    if machine.namespaces == "0":
        return "User namespaces are switched off: sudo sysctl user.max_user_namespaces=10000."
    if machine.clone == "0":
        return "User namespaces are reserved for root: sudo sysctl kernel.unprivileged_userns_clone=1."
    if machine.container:
        return (
            f"This is a container that keeps bubblewrap from working ({symptom}): start it with --security-opt "
            "seccomp=unconfined --security-opt apparmor=unconfined, and if that is not enough with --cap-add "
            "SYS_ADMIN, or run attn outside."
        )
    if machine.apparmor == "1":
        return f"AppArmor denies bubblewrap user namespaces; this allows them to bubblewrap alone: {APPARMOR}"
    return f"bubblewrap does not work here: {symptom}."
