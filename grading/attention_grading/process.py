"""The process of one notebook, and the line to it.  Whatever comes along the line is bounded and distrusted."""

import contextlib
import functools
import json
import os
import platform
import signal
import socket
import subprocess
import tempfile
import time
from math import prod
from pathlib import Path

import numpy as np

from attention_grading import child, sandbox
from attention_grading.classroom import Problem

START = 60  # seconds in which a process must be there, before any of the student's code
LINE = 8192  # bytes of one message


class Failure(Exception):
    """Why a process gave no answer: late, ended or unreadable."""


class Process:
    """One process, in the sandbox or not."""

    def __init__(self, safe, seconds):
        self.inner, self.buffer = None, b""
        with contextlib.ExitStack() as undo:
            self.line, theirs = socket.socketpair()
            undo.callback(self.line.close)
            folder = None if safe else undo.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            with theirs, contextlib.ExitStack() as ends:
                about, tell = pipe(ends)  # along which bubblewrap tells the number of the process inside
                rules = filter_pipe(ends) if safe else None
                run = functools.partial(sandbox.python, theirs.fileno(), seconds)
                if safe:
                    command = sandbox.sandboxed(run(sandbox.packages(), sandbox.INSIDE), tell, rules)
                else:
                    command = run(sandbox.numpy_alone(folder), sandbox.child_file())
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
                command, cwd=folder, env=sandbox.ENVIRONMENT, pass_fds=descriptors, start_new_session=True, **nothing
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
    rules = sandbox.seccomp(platform.machine())
    if rules is None:
        return None
    out, into = os.pipe()
    ends.callback(os.close, out)
    os.write(into, rules)
    os.close(into)
    return out
