"""A student's notebook, loaded and asked, within its share of time; and what is said of it to the student.

Its process gets arguments and gives numbers back, so that nothing it does to itself can change a comparison.
"""

import base64
import builtins
import collections
import contextlib
import re
import secrets
import sys
import time
from math import ceil

import numpy as np

from attention_grading import child
from attention_grading.classroom import Problem
from attention_grading.judge import Answer
from attention_grading.machine import machine, remedy
from attention_grading.process import Failure, Process

RESTARTS = 4  # of one submission's process
SHARES = 3  # of `seconds`: what one submission may take in all
NOTES = 20  # on one submission


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
        begun, told = None, 0
        try:
            with self.deadline() as deadline:
                self.process.send({"cells": cells}, deadline)
                for _ in range(4 * NOTES + 4 * len(cells)):
                    message = self.process.message(deadline)
                    if "loaded" in message:
                        return
                    if "begin" in message:
                        begun = self.index(message["begin"])
                    elif told < NOTES:  # more would be our own time, and that of the submissions beside this one
                        told += 1
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
        return name and any(text in source for _, source in self.cells)  # as part of a longer one too: that is fast

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
ERRORS |= {"LinAlgError", "AxisError", "UFuncTypeError"}  # NumPy's own
HINTS = {
    "EOFError": ("评分时没有人回应 input()。", "Nobody answers input() during grading."),
    "OSError": ("评分时不能写文件，也不能联网。", "No file can be written during grading, and there is no network."),
}
REASONS = {  # the process's words, and ours, for why there is no answer
    "missing": ("没有定义函数 {function}。", "The function {function} is not defined."),
    "unanswered": ("没有作答。", "Not answered."),
    "none": ("没有返回结果（None），是不是少了 return？", "It returned nothing (None): is a return missing?"),
    "text": ("返回的是文字，题目要的是数。", "It returned text; the question asks for numbers."),
    "complex": ("返回的是复数，题目要的是实数。", "It returned complex numbers; the question asks for real ones."),
    "ragged": (
        "返回的列表各行长度不同，不成数组；要返回几个结果，请写 return a, b。",
        "It returned a list whose rows differ in length. For several results, write return a, b.",
    ),
    "other": ("返回的不是数值数组。", "It returned something that is not an array of numbers."),
    "large": ("返回的数太多，最多 {largest} 个。", "It returned too many numbers; the limit is {largest}."),
    "late": ("{seconds} 秒内没有结果，是不是有死循环？", "No result within {seconds} s: is there an endless loop?"),
    "ended": (
        "程序没有给出结果就结束了，可能是退出、崩溃，也可能是内存用尽。",
        "The program ended before it gave a result: did it exit, crash, or run out of memory?",
    ),
    "unreadable": ("程序给出的结果无法读取。", "The answer of the program cannot be read."),
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
