"""The line to a process that lies, and the process itself: it ends whatever happens, and leaves nothing behind."""

import concurrent.futures
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from attention_grading import process as module
from attention_grading.process import Failure, Process
from attention_grading.session import Session

GRADING = Path(module.__file__).parents[1]


@pytest.fixture
def liar():
    """-> the parent's side of a process that is played by the test, the test's end of the line"""
    process = object.__new__(Process)
    process.line, end = socket.socketpair()
    process.buffer = b""
    yield process, end
    process.line.close()
    end.close()


@pytest.mark.parametrize(
    "line",
    [
        b"", b"[]", b"3", b"null", b'"x"', b"{", b"\xff\xfe", b"{}{}", b"[" * 8000, b"{" * 8000, b'{"a":' * 1300,
        b'{"a": ' + b"9" * 5000 + b"}", b"x" * 8193, b'{"a": "' + b"x" * 9000 + b'"}',
    ],
    ids=lambda line: repr(line[:12]),
)  # fmt: skip
def test_a_line_that_is_no_message(liar, line):
    process, end = liar
    end.sendall(line + b"\n")
    with pytest.raises(Failure, match="unreadable"):
        process.message(time.monotonic() + 5)


@pytest.mark.parametrize(
    "shapes",
    [
        None, 3, "33", {"a": 1}, [3], [None], ["33"], [[-1]], [[True]], [[1.0]], [["3"]], [[None]], [[[]]],
        [[2**18 + 1]], [[2**9, 2**10]], [[2**18], [1]], [[2**62, 4]], [[0, 2**40]], [[0, 2**18, 2**18]], [[1] * 33],
        [[]] * 65, [[float("nan")]], [[10**400]],
    ],
    ids=lambda shapes: repr(shapes)[:20],
)  # fmt: skip
def test_shapes_that_are_none(liar, shapes):
    process, end = liar
    end.sendall(bytes(64))
    with pytest.raises(Failure, match="unreadable"):
        process.arrays(shapes, time.monotonic() + 5)


def test_shapes_that_are_odd_but_right(liar):
    process, end = liar
    end.sendall(np.arange(7.0).tobytes() + b"rest")
    values = process.arrays([[], [0, 5], [2, 3], [1, 0, 1]], time.monotonic() + 5)
    assert [v.shape for v in values] == [(), (0, 5), (2, 3), (1, 0, 1)]
    assert values[2].tolist() == [[1, 2, 3], [4, 5, 6]] and process.buffer == b"rest"


def test_a_line_without_end_stops_at_its_bound(liar):
    process, end = liar
    end.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            end.send(b"x" * 4096)
    with pytest.raises(Failure, match="unreadable"):
        process.message(time.monotonic() + 5)
    assert len(process.buffer) < module.LINE + 2**17


def test_a_process_that_does_not_listen_blocks_nobody(liar):
    process, _ = liar
    with pytest.raises(Failure, match="late"):
        process.send({"x": "x" * 10**7}, time.monotonic() + 0.2)


def test_a_process_that_has_gone(liar):
    process, end = liar
    end.close()
    with pytest.raises(Failure, match="ended"):
        process.message(time.monotonic() + 5)
    with pytest.raises(Failure, match="ended"):
        process.send({"x": 1}, time.monotonic() + 5)


@pytest.mark.parametrize(
    "message",
    [
        {}, {"type": 3}, {"type": ["x"]}, {"type": "x" * 200, "cell": True, "line": 1}, {"wrong": ["none"]},
        {"wrong": {"a": 1}}, {"wrong": "late {seconds.__class__}"}, {"type": "ValueError", "cell": 10**30, "line": 1},
        {"type": "ValueError", "cell": 0, "line": -1}, {"type": "ValueError", "cell": 0, "line": 1.0}, {"shapes": 3},
        {"type": "NameError", "name": {"a": 1}}, {"type": "import os; x"}, {"message": "x", "missing": "os; x"},
    ],
    ids=repr,
)  # fmt: skip
def test_an_answer_that_lies_in_words(liar, message):
    process, end = liar
    session = Session([("q1", "pass")], safe=False)
    session.process, session.starts = process, 99
    process.close = lambda: None

    def answer():
        request = json.loads(end.makefile("rb").readline())
        end.sendall(json.dumps({**message, "token": request["token"]}).encode() + b"\n")

    thread = threading.Thread(target=answer)
    thread.start()
    answer = session.call("f", [])
    thread.join()
    assert answer.values is None and len(answer.en) < 120
    assert not {"import os; x", "x" * 200, "class"} & set(answer.en.split())


# The parent


def descriptors():
    return sorted(os.listdir("/proc/self/fd"))


def children():
    """Also those that have ended and that nobody has waited for."""
    return {path.name for path in Path("/proc").glob("[0-9]*") if module.parent(path.name) == os.getpid()}


def test_many_at_once_and_nothing_is_left(works):
    def one(number):
        with Session([("q1", "def f(x): return x + 1\n")], seconds=30) as session:
            return float(session.call("f", [number]).values[0])

    one(0)
    before = descriptors(), children()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(40))) == list(range(1, 41))
    assert (descriptors(), children()) == before


PARENT = """
import time
from attention_grading.session import Session
with Session([("q1", "def f():\\n    while True: pass")]) as session:
    session.process.send({"function": "f", "arguments": [], "token": ""}, time.monotonic() + 60)
    print(session.process.inner, flush=True)
    session.process.message(time.monotonic() + 60)
"""


ORPHAN = """
from attention_grading import sandbox
whole = sandbox.sandboxed
sandbox.sandboxed = lambda *a: [word for word in whole(*a) if word != "--die-with-parent"]
"""


def ends(script, number):
    """Whether the process ends when its parent gets a signal."""
    parent = subprocess.Popen(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(GRADING)}, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    with parent:
        inner = os.pidfd_open(int(parent.stdout.readline()))
        parent.send_signal(number)
        parent.wait()
        ended = bool(select.select([inner], [], [], 1 if script.startswith(ORPHAN) else 20)[0])
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(inner, signal.SIGKILL)
        os.close(inner)
    return ended


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_when_the_parent_is_stopped_so_is_the_process(works, number):
    assert ends(PARENT, number)


def test_a_process_that_outlives_its_parent_is_seen(works):
    assert not ends(ORPHAN + PARENT, signal.SIGKILL)


HOSTILE_REPLIES = """
from attention_grading.session import Session
def highest():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
before = highest()
for body in ("os.write(line, b'[' * 10**7)", "os.write(line, b'x' * 10**8)", "return np.zeros(2**18)",
             "os.write(line, b'{}\\\\n' * 10**6)", "return [[0.5] * 10**3] * 10**3"):
    source = "import os, sys, numpy as np\\nline = int(sys.argv[1])\\ndef f():\\n    " + body
    with Session([("q1", source)], safe=False) as session:
        session.call("f", [])
print(highest() - before)
"""


def test_the_parent_stays_small():
    done = subprocess.run(
        [sys.executable, "-c", HOSTILE_REPLIES], env={**os.environ, "PYTHONPATH": str(GRADING)}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert int(done.stdout) < 20 * 1024  # in KiB: what was added to Python and the packages
