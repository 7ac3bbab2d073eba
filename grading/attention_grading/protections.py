"""Whether the sandbox holds on this machine: each protection is tried."""

import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from attention_grading import child, sandbox
from attention_grading.classroom import Problem
from attention_grading.machine import machine, remedy
from attention_grading.session import Session, printable


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
import ctypes, mmap, os, socket, threading

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
    return manages(lambda: bytearray(size)) + manages(lambda: mmap.mmap(-1, 4096))

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
            "bubblewrap starts, but this does not hold: do not grade on this machine. "
            "All of it holds on processors of the kinds x86_64 and aarch64 alone."
        )
    return [
        Protection(name, holds.get(key, False), "" if holds.get(key) else advice) for key, name in PROTECTIONS.items()
    ]


def trials():
    """-> {trial: whether it came to nothing}"""
    with (
        Session([(None, TRIALS)]) as session,
        tempfile.NamedTemporaryFile() as secret,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        places = [*map(Path, ("/", "/dev", "/tmp")), *sandbox.readable()[0], *sandbox.readable()[1], *sandbox.covered()]
        arguments = {
            "read": [secret.name],
            "write": [[str(path) for path in places if path.is_dir()]],
            "connect": [server.getsockname()[1]],
            "grow": [child.MEMORY + 1],
        }
        answers = {key: session.call(key, arguments.get(key, [])) for key in PROTECTIONS if key != "forever"}
        holds = {key: bool(a.values) and not a.values[0].any() for key, a in answers.items()}
        session.seconds = 0.1  # as long as this one's time may be, it is used up
        session.call("forever", [])
        return {**holds, "forever": session.lost.get("forever") == "late"}


def require(*private):
    """Say so, and what to do, where there is no sandbox, or where the student's code could read what is private."""
    for path in private:
        for place in [*sandbox.readable()[0], *sandbox.readable()[1]]:
            if Path(path).resolve().is_relative_to(place.resolve()):
                raise Problem(f"{path} lies in {place}, which the students' code can read: move it elsewhere.")
    for protection in protections():
        if not protection.works:
            raise Problem(f"There is no sandbox here: “{protection.name}” does not hold. {protection.remedy}")


def symptom():
    """What bubblewrap says when it cannot start."""
    if not shutil.which("bwrap"):
        return ""
    command = sandbox.sandboxed([sandbox.executable(), "-I", "-S", "-c", ""])
    done = subprocess.run(command, env=sandbox.ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True)
    return printable(done.stderr.decode("utf-8", "replace").strip(), 300) or f"it exits with code {done.returncode}"
