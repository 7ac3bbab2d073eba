"""A notebook in its process: what it answers, what may be in it, and what is said of it."""

import platform
import re
import sys
import time

import numpy as np
import pytest

from attention_grading import Problem
from attention_grading.session import NOTES, REASONS, Session

NUMPY = (None, "import numpy as np")
LOOP = "def loop(*x):\n    while True: pass\n"


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


def test_what_a_process_repeats_costs_the_grader_nothing(monkeypatch):
    heard, loading = [], Session.loading
    monkeypatch.setattr(Session, "loading", lambda self, message: heard.append(message) or loading(self, message))
    flood = 'import os, sys\nfor _ in range(70): os.write(int(sys.argv[1]), b\'{"type": "Odd"}\\n\')'
    assert loaded(flood) == [{"zh": "Odd。", "en": "Odd."}]
    assert len(heard) == NOTES


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
        ("def f(): raise NotImplementedError  # ✎", "Not answered."),
        ("def f(): 1", "It returned nothing (None): is a return missing?"),
        ("def f(): return 1, None", "It returned nothing (None): is a return missing?"),
        ("def f(): return '0.5'", "It returned text; the question asks for numbers."),
        ("def f(): return np.array(['0.5'])", "It returned text; the question asks for numbers."),
        ("def f(): return 1j", "It returned complex numbers; the question asks for real ones."),
        ("def f(): return [[1, 2], [3]]", REASONS["ragged"][1]),
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
        (
            "def f():\n x = np.arange(3)\n x -= 0.5",
            "It raised UFuncTypeError in the cell of q1, line 3, “x -= 0.5”.",
        ),
        ("import os\ndef f(): os._exit(0)", REASONS["ended"][1]),
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


def test_windows_is_told_what_to_do(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(platform, "system", lambda: "Windows")
    with pytest.raises(Problem, match="WSL2"):
        Session([])
