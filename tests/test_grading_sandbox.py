"""The process of a notebook: what it answers, what it survives, what is said of it; and whether the sandbox holds."""

import concurrent.futures
import contextlib
import json
import os
import platform
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import hostile
import numpy as np
import pytest

from attention_grading import Problem, sandbox
from attention_grading.sandbox import Failure, Machine, Process, Session, machine, protections, remedy, require

GRADING = Path(sandbox.__file__).parents[1]
NUMPY = (None, "import numpy as np")
LOOP = "def loop(*x):\n    while True: pass\n"


@pytest.fixture(scope="session")
def works():
    """A working sandbox."""
    hostile.need_sandbox()


@pytest.fixture(params=[True, False], ids=["sandbox", "no sandbox"])
def safe(request):
    if request.param:
        request.getfixturevalue("works")
    return request.param


def asked(source, *arguments, safe=False, function="f", seconds=10):
    with Session([NUMPY, ("q1", source)], safe, seconds) as session:
        return session.call(function, arguments)


def loaded(*sources, safe=False, seconds=10):
    with Session([("q1", source) for source in sources], safe, seconds) as session:
        return session.notes


# What comes back


@pytest.mark.parametrize(
    "argument",
    [
        np.arange(6.0).reshape(2, 3),
        np.arange(6).reshape(3, 2).T,
        np.array([True, False]),
        np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324]),
        np.zeros((0, 3)),
        np.float64(0.1),
        np.array(7, np.int8),
        1.5,
        2**40,
        True,
    ],
    ids=repr,
)
def test_numbers_go_there_and_back_unchanged(safe, argument):
    (value,) = asked("def f(x): return x", argument, safe=safe).values
    assert value.dtype == float and value.shape == np.shape(argument)
    np.testing.assert_array_equal(value, np.asarray(argument, float))
    np.testing.assert_array_equal(np.signbit(value), np.signbit(np.asarray(argument, float)))


def test_arguments_arrive_as_what_they_are():
    source = """def f(*x):
    a, i, b, n, t, l, s = x
    return (a.dtype == np.int32, a.flags.writeable, type(i) is int, b is True, n is None, type(t) is tuple,
            type(t[1]) is np.ndarray, type(l) is list, s == "因果")"""
    answer = asked(source, np.array([1], np.int32), np.int64(3), True, None, (1, np.ones(2)), [1.5], "因果")
    assert [float(value) for value in answer.values] == [1] * 9


@pytest.mark.parametrize("argument", [object(), {1: 2}, np.array(["a"]), np.array([None])], ids=repr)
def test_an_argument_that_cannot_be_sent_is_the_assignments_fault(argument):
    with pytest.raises(Problem, match="use numbers, text or arrays"):
        asked("def f(x): return x", argument)


def test_a_tuple_is_several_results_and_a_list_is_one_array():
    assert [v.shape for v in asked("def f(): return np.ones(3), [[1, 2]]").values] == [(3,), (1, 2)]
    assert [v.shape for v in asked("def f(): return [np.ones(3), np.ones(3)]").values] == [(2, 3)]
    assert asked("def f(): return ()").values == ()


def test_a_call_leaves_no_trace_in_the_arguments_of_the_next():
    argument = np.ones(3)
    with Session([("q1", "def f(x):\n    x += 1\n    return x")], safe=False) as session:
        assert [session.call("f", [argument]).values[0].tolist() for _ in range(2)] == [[2, 2, 2]] * 2
    assert argument.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("source", "en"),
    [
        ("def g(): return 1", "The function f is not defined."),
        ("f = 3", "The function f is not defined."),
        ("def f(): raise NotImplementedError  # ✎", "Not answered yet."),
        ("def f(): 1", "It returned nothing (None): is a return missing?"),
        ("def f(): return 1, None", "It returned nothing (None): is a return missing?"),
        ("def f(): return '0.5'", "It returned text; the question asks for numbers."),
        ("def f(): return np.array(['0.5'])", "It returned text; the question asks for numbers."),
        ("def f(): return 1j", "It returned complex numbers; the question asks for real ones."),
        ("def f(): return [[1, 2], [3]]", sandbox.REASONS["ragged"][1]),
        ("def f(): return {1: 2}", "It returned something that is not an array of numbers."),
        ("def f(): return (i for i in range(3))", "It returned something that is not an array of numbers."),
        ("def f(): return np.datetime64('2020')", "It returned something that is not an array of numbers."),
        ("def f(): return [10**400]", "It returned something that is not an array of numbers."),
        ("async def f(): return 1", "It returned something that is not an array of numbers."),
        ("def f(): return np.zeros(2**18 + 1)", "It returned too many numbers; the limit is 262144."),
        ("def f(): return 1 / 0", "It raised ZeroDivisionError in the cell of q1, line 1, “def f(): return 1 / 0”."),
        ("import sys\ndef f():\n  sys.exit()", "It raised SystemExit in the cell of q1, line 3, “sys.exit()”."),
        ("def f():\n  return mat.exp(1)", "It raised NameError (mat) in the cell of q1, line 2, “return mat.exp(1)”."),
        ("class Odd(Exception): pass\ndef f():\n raise Odd", "It raised Odd in the cell of q1, line 3, “raise Odd”."),
        (
            "def f():\n np.linalg.inv(np.ones((2, 2)))",
            "It raised LinAlgError in the cell of q1, line 2, “np.linalg.inv(np.ones((2, 2)))”.",
        ),
        ("import os\ndef f(): os._exit(0)", sandbox.REASONS["ended"][1]),
    ],
)  # fmt: skip
def test_what_is_said_of_an_answer(source, en):
    answer = asked(source)
    assert answer.values is None and answer.en == en and answer.zh


def test_the_largest_answer_is_let_through(safe):
    assert asked("def f(): return np.arange(2**18)", safe=safe).values[0].sum() == (2**18 - 1) * 2**17


@pytest.mark.parametrize(
    "leak",
    [
        "raise ValueError(str(x))",
        "raise type('E' + str(x).replace('.', '_'), (Exception,), {})",
        "raise NameError(name='n' + str(x).replace('.', '_'))",
        "exec(compile('1/0', '<cell 1>' + str(x), 'exec'))",
        "return str(x)",
    ],
)
def test_no_hidden_argument_comes_back_in_words(leak):
    answer = asked(f"def f(x):\n    {leak}", 1234.5678)
    assert answer.values is None and not re.search("1234|5678", answer.zh + answer.en)


# Loading


@pytest.mark.parametrize(
    "source",
    [
        "%matplotlib inline\ny = 1",
        "!ls\nfiles = !ls\ny = 1",
        "%%time\ny = 1",
        "def g(x):\n    %timeit x\n    return x\n?g\ng?\ny = 1",
        "get_ipython().run_line_magic('matplotlib', 'inline')\ndisplay(3)\ny = 1",
        "import asyncio\nawait asyncio.sleep(0)\ny = 1",
        "import warnings\nwarnings.warn('a hint')\nnp.log(np.zeros(1))\ny = 1",
        "print('x' * 10**6)\ny = 1",
        "if __name__ == '__main__':\n    y = 1",
        "text = '''\n%not a magic\n!nor this'''\nassert '%not' in text\ny = 1",
        "from __future__ import annotations\ndef g(x: nothing): pass\ny = 1",
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    b: 'int' = 1\ny = A().b",
        "y = 1\r\n",
    ],
)
def test_what_a_notebook_may_do_costs_nothing(safe, source):
    with Session([NUMPY, ("q1", source), ("q2", "def f(): return y")], safe) as session:
        assert session.notes == []
        assert session.call("f", []).values == (1,)


@pytest.mark.parametrize("module", ["matplotlib.pyplot as plt", "torch, numpy as np", "pandas"])
def test_a_module_that_is_not_there_costs_its_line_alone(safe, module):
    source = f"import {module}\nfrom sklearn.metrics import roc_curve\nimport numpy as np\ndef f(): return np.ones(1)"
    with Session([("q1", source)], safe) as session:
        first, second = session.notes
        assert session.call("f", []).values == (1,)
    assert first["en"].startswith(f"Left out the import of {re.split('[ ,]', module)[0]} in the cell of q1, line 1")
    assert second["en"].startswith("Left out the import of sklearn.metrics") and "NumPy" in second["zh"]


@pytest.mark.parametrize(
    ("source", "en"),
    [
        ("y = 1\nz = 1 / 0", "ZeroDivisionError: division by zero in the cell of q1, line 2, “z = 1 / 0”."),
        ("y = (", "SyntaxError: '(' was never closed in the cell of q1, line 1, “y = (”."),
        ("y = input()", "EOFError: EOF when reading a line in the cell of q1, line 1, “y = input()”. Nobody answers"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt in the cell of q1, line 1"),
        ("import sys; sys.exit('done')", "SystemExit: done in the cell of q1, line 1"),
        ("import os; os._exit(0)", "Left out the cell of q1: The program ended before"),
        ("raise ValueError('\\x1b[31m\\n\\u202e' + 'x' * 999)", "ValueError:  [31m  x"),
        ("x = '\x00'", "SyntaxError"),
    ],
)
def test_what_is_said_of_a_cell_that_fails(source, en):
    (note,) = loaded(source)
    assert note["en"].startswith(en) and note["zh"]
    assert len(note["en"]) < 500 and note["en"].isprintable()


def test_a_cell_that_fails_keeps_what_it_defined_and_does_not_stop_the_next(safe):
    with Session([("q1", "def f(): return 1\n1 / 0\ndef g(): return 2"), ("q2", "def h(): return 3")], safe) as session:
        assert [session.call(name, []).values for name in "fgh"] == [(1,), None, (3,)]


def test_what_never_ends_costs_itself_alone(safe):
    cells = [("q1", "def f(): return 1"), ("q2", LOOP), (None, "while True: pass"), ("q3", "def g(): return 2")]
    with Session(cells, safe, seconds=1) as session:
        assert session.call("f", []).values == (1,)
        assert session.call("loop", [1]).en == "No result within 1 s: is there an endless loop?"
        began = time.monotonic()
        assert session.call("loop", [2]).values is None and time.monotonic() - began < 0.5  # not tried again
        assert session.call("g", []).values == (2,)
    assert [note["en"] for note in session.notes] == [
        "Left out an extra cell: No result within 1 s: is there an endless loop?"
    ]


def test_a_submission_has_its_share_of_time_and_no_more():
    cells = [("q1", "".join(f"def f{i}():\n    while True: pass\n" for i in range(9)))]
    with Session(cells, safe=False, seconds=0.5) as session:
        words = [session.call(f"f{i}", []).en for i in range(9)]
    assert words[0].startswith("No result") and words[-1].startswith("Not tried")
    assert session.total < 3 * 0.5 + 0.2


def test_a_submission_is_started_five_times_and_no_more():
    cells = [("q1", "import os\n" + "".join(f"def f{i}(): os._exit(0)\n" for i in range(9)))]
    with Session(cells, safe=False) as session:
        words = [session.call(f"f{i}", []).en.split()[0] for i in range(9)]
    assert words == ["The"] * 5 + ["Not"] * 4


# What comes along the line from a process that lies


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
    assert len(process.buffer) < sandbox.LINE + 2**17


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


def test_many_at_once_and_nothing_is_left(works):
    def one(number):
        with Session([("q1", "def f(x): return x + 1\n")], seconds=30) as session:
            return float(session.call("f", [number]).values[0])

    one(0)
    before, threads = descriptors(), 8
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        assert list(pool.map(one, range(40))) == list(range(1, 41))
    assert descriptors() == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)  # not even a zombie


PARENT = """
import time
from attention_grading.sandbox import Session
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
from attention_grading.sandbox import Session
for body in ("os.write(line, b'[' * 10**7)", "os.write(line, b'x' * 10**8)", "return np.zeros(2**18)",
             "os.write(line, b'{}\\\\n' * 10**6)", "return [[0.5] * 10**3] * 10**3"):
    source = "import os, sys, numpy as np\\nline = int(sys.argv[1])\\ndef f():\\n    " + body
    with Session([("q1", source)], safe=False) as session:
        session.call("f", [])
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


def test_the_parent_stays_small():
    done = subprocess.run(
        [sys.executable, "-c", HOSTILE_REPLIES], env={**os.environ, "PYTHONPATH": str(GRADING)}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert int(done.stdout) < 60 * 1024  # in KiB, at its highest


# Whether it holds


def test_every_protection_holds_here(works):
    assert [p for p in protections() if not p.works or p.remedy] == []


@pytest.fixture
def weakened(monkeypatch):
    whole = sandbox.sandboxed
    yield lambda change: monkeypatch.setattr(sandbox, "sandboxed", lambda *a: change(whole(*a)))


WEAKER = {
    "the code cannot read your files": lambda words: hostile.with_first(words, "--ro-bind", "/tmp", "/tmp"),
    "the code cannot change a file": lambda words: hostile.without(words, "--remount-ro"),
    "the code cannot become another user": lambda words: hostile.without(
        [word for word in words if word != "--disable-userns"], "--seccomp"
    ),
}


@pytest.mark.parametrize("name", WEAKER)
def test_a_protection_that_does_not_hold_is_reported(works, weakened, name):
    weakened(WEAKER[name])
    failing = {protection.name: protection.remedy for protection in protections() if not protection.works}
    assert "do not grade on this machine" in failing[name]


def test_no_bubblewrap(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not any(p.works for p in protections())
    with pytest.raises(Problem, match="Install bubblewrap"):
        require()
    with pytest.raises(Problem, match="Install bubblewrap"), Session([]):
        pass


def test_a_class_where_the_code_could_read_it(works, tmp_path):
    require(tmp_path)
    for path in (np.__path__[0], Path(sys.base_prefix) / "lib" / "class"):
        with pytest.raises(Problem, match="move it elsewhere"):
            require(tmp_path, path)


REPORT = """
import json
from attention_grading.sandbox import Session, protections
try:
    with Session([("q1", "def f(x): return x * 2")], seconds=30) as session:
        answer = session.call("f", [3]).values[0].tolist()
except Exception as error:
    answer = str(error)
print(json.dumps([answer, [list(p) for p in protections()]]))
"""


def test_without_user_namespaces(works):
    """In a namespace where there may be no further one."""
    if os.getuid():
        pytest.skip("only root can switch them off for a try")
    script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" -c "$1"'
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", script, sys.executable, REPORT], capture_output=True,
        env={**os.environ, "PYTHONPATH": str(GRADING)}, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer, found = json.loads(done.stdout)
    assert "attn grade --check" in answer
    assert not any(works for _, works, _ in found)
    assert {remedy for _, _, remedy in found} == {
        "User namespaces are switched off: sudo sysctl user.max_user_namespaces=10000."
    }


def test_an_ordinary_user(works):
    """Root tries as nobody, with a copy of NumPy and of this package that nobody can read."""
    if os.getuid():
        pytest.skip("all tests run as one")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    programs = [sandbox.executable(), f"/usr/bin/{version}", f"/usr/local/bin/{version}"]
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for path in [*sandbox.numpy_parts(), GRADING / "attention_grading"]:
            shutil.copytree(path, Path(folder) / path.name)
        for program in programs:
            with contextlib.suppress(OSError):
                done = subprocess.run(
                    [program, "-I", "-S", "-c", f"import sys; sys.path.append({folder!r})\n{REPORT}"], cwd="/",
                    capture_output=True, user=65534, group=65534, extra_groups=[], text=True,
                )  # fmt: skip
                break
        else:
            pytest.skip(f"nobody may not run any {version} of this machine")
    assert done.returncode == 0, done.stderr
    answer, found = json.loads(done.stdout)
    assert answer == 6
    assert all(works for _, works, _ in found), found


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_the_filter_decides_as_its_list_says(architecture):
    program = sandbox.seccomp(architecture)
    column = list(sandbox.ARCHITECTURES).index(architecture)
    refused = {numbers[column] for numbers in sandbox.REFUSED.values()}
    for number in range(600):
        assert decided(program, sandbox.ARCHITECTURES[architecture], number) == (number not in refused)
        assert not decided(program, 0x40000003, number)  # the 32-bit calls of x86
        assert not decided(program, sandbox.ARCHITECTURES[architecture], number | 0x40000000)
    assert sandbox.seccomp("riscv64") is None


def decided(program, architecture, number):
    """Whether a filter lets a call through: what the kernel does with these four instructions."""
    steps = [(int.from_bytes(s[:2], "little"), s[2], s[3], int.from_bytes(s[4:], "little")) for s in
             (program[i : i + 8] for i in range(0, len(program), 8))]  # fmt: skip
    at, value = 0, None
    while True:
        code, yes, no, operand = steps[at]
        if code == 0x06:
            return operand == 0x7FFF0000
        if code == 0x20:
            value = {0: number, 4: architecture}[operand]
        at += 1 + {0x20: 0, 0x15: yes if value == operand else no, 0x35: yes if (value or 0) >= operand else no}[code]


HEADERS = {"x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "aarch64": "/usr/include/asm-generic/unistd.h"}


@pytest.mark.parametrize("architecture", HEADERS)
def test_the_numbers_are_the_kernels(architecture):
    header = Path(HEADERS[architecture])
    if not header.exists():
        pytest.skip(f"{header} is not installed")
    numbers = dict(re.findall(r"^#define __NR_(\w+)\s+(\d+)", header.read_text(), re.M))
    column = list(sandbox.ARCHITECTURES).index(architecture)
    ours = {name: str(calls[column]) for name, calls in sandbox.REFUSED.items() if calls[column] is not None}
    assert {name: numbers.get(name) for name in ours} == ours


LINUX = Machine("Linux", "debian", namespaces="63000")


@pytest.mark.parametrize(
    ("here", "symptom", "says"),
    [
        (Machine("Darwin"), "", "Lima"),
        (Machine("Windows"), "", "wsl --install"),
        (LINUX._replace(bubblewrap=False), "", "sudo apt install bubblewrap."),
        (LINUX._replace(bubblewrap=False, family="ubuntu debian"), "", "sudo apt install bubblewrap."),
        (LINUX._replace(bubblewrap=False, family="fedora"), "", "sudo dnf install bubblewrap."),
        (LINUX._replace(bubblewrap=False, family="almalinux rhel centos fedora"), "", "sudo dnf install bubblewrap."),
        (LINUX._replace(bubblewrap=False, family="arch"), "", "sudo pacman -S bubblewrap."),
        (LINUX._replace(bubblewrap=False, family="nixos"), "", "a package of the system"),
        (LINUX._replace(namespaces="0"), "bwrap: …: No space left on device", "sysctl user.max_user_namespaces"),
        (LINUX._replace(clone="0"), "bwrap: No permissions to create new namespace", "unprivileged_userns_clone=1"),
        (LINUX._replace(clone="1", apparmor="1"), "bwrap: setting up uid map: …", "/etc/apparmor.d/bwrap"),
        (LINUX._replace(apparmor="1", container=True), "bwrap: …: Operation not permitted", "seccomp=unconfined"),
        (LINUX, "bwrap: something new", "bwrap: something new"),
    ],
    ids=lambda value: str(value)[:60],
)  # fmt: skip
def test_a_remedy_for_each_system(here, symptom, says):
    assert says in remedy(here, symptom)


def test_this_machine_is_known():
    here = machine()
    assert here.system == platform.system()
    if here.system == "Linux":
        assert here.family and here.bubblewrap == bool(shutil.which("bwrap"))


def test_windows_is_told_what_to_do(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(platform, "system", lambda: "Windows")
    with pytest.raises(Problem, match="WSL2"):
        Session([])
