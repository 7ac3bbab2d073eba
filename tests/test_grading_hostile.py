"""Every hostile submission: no points, no harm, honest ones unharmed.  And sandboxes with a hole, to see the harm."""

import hashlib
import json
import os
import platform
import shutil
import socket
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

import hostile
from attention_grading import Assignment, sandbox
from attention_grading.judge import judge_all
from attention_grading.session import Session
from grading_class import TINY

SECRET = b"s" * 32
RIGHT = """import numpy as np
def softmax(x):
    e = np.exp((x - x.max({axis}, keepdims=True)) / {temperature})
    return e / e.sum({axis}, keepdims=True)
def attention(Q, K, V):
    S = Q @ K.T / Q.shape[-1] ** {power}
    S = np.where(np.tri(*S.shape, dtype=bool) | (not {causal}), S, -np.inf)
    A = np.exp(S - S.max(-1, keepdims=True))
    return A / A.sum(-1, keepdims=True) @ V
"""


@pytest.fixture(scope="module")
def assignment():
    return Assignment(TINY)


@pytest.fixture
def world(tmp_path, monkeypatch):
    """What attacks are after: a class, a home, an environment, two listeners, and this process."""
    classroom, home = tmp_path / "class", tmp_path / "home"
    for name in ("master", "submissions", "grades"):
        (classroom / "tiny" / name).mkdir(parents=True)
    shutil.copy(TINY, classroom / "tiny" / "master")
    for name in (
        "roster.csv",
        "secret.key",
        "gradebook.db",
        "tiny/submissions/victim.ipynb",
        "tiny/grades/victim.json",
    ):
        (classroom / name).write_text(f"canary {name}")
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id").write_text("canary")
    monkeypatch.setenv("ATTN_CANARY", "canary")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(classroom)
    copy = tmp_path / "child.py"  # so that our processes are known by their command
    shutil.copy(sandbox.child.__file__, copy)
    monkeypatch.setattr(sandbox, "child_file", lambda: str(copy))
    knocks, name = [], f"attn-{os.getpid()}-{tmp_path.name}"
    tcp = socket.create_server(("127.0.0.1", 0))
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0" + name)
    abstract.listen()
    for listener in (tcp, abstract):
        threading.Thread(target=listen, args=(listener, knocks), daemon=True).start()
    places = {"CLASS": classroom, "HOME": home, "PORT": tcp.getsockname()[1], "NAME": name, "PARENT": os.getpid()}
    places["MACHINE"] = socket.gethostname()
    yield SimpleNamespace(places=places, knocks=knocks, copy=copy, state=lambda: state(tmp_path))
    for listener in (tcp, abstract):
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def listen(listener, knocks):
    while True:
        try:
            listener.accept()[0].close()
        except OSError:
            return
        knocks.append(1)


def state(folder):
    """Every file with its contents, mode and place."""
    return {
        str(path): (path.lstat().st_mode, hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "")
        for path in sorted(folder.rglob("*"))
    }


def processes(world):
    """Those of the submissions, and zombies of ours."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            kind, parent = (folder / "stat").read_text("latin-1").rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if str(world.copy).encode() in command or (kind == "Z" and int(parent) == os.getpid()):
            found.append((folder.name, kind, command))
    return found


def graded(assignment, cells, seconds=10, safe=True):
    """-> points, what the attack managed, all that is said"""
    with Session(cells, safe, seconds) as session:
        result = judge_all(assignment, SECRET, "student", session.call)
        managed = session.call("managed", ()).values if cells[0][1] == hostile.PRELUDE else ()
    words = json.dumps([result, session.notes], ensure_ascii=False)
    return sum(question["points"] for question in result.values()), int(managed[0]) if managed else 0, words


def honest(assignment):
    variant = assignment.variant(SECRET, "student")
    power = {"sqrt": 0.5, "d": 1}[variant["q2"].scale]
    return [("q1", RIGHT.format(**vars(variant["q1"]), power=power, causal=variant["q2"].causal))]


def skip_other_numbers(attack):
    if "system(" in attack.before and platform.machine() != "x86_64":
        pytest.skip("the numbers of its calls are those of x86_64")


def victim_keeps(assignment, safe=True):
    assert graded(assignment, honest(assignment), safe=safe)[0] == 4.5


@pytest.mark.parametrize("name", hostile.ATTACKS)
def test_an_attack_comes_to_nothing(works, assignment, world, name):
    attack = hostile.ATTACKS[name]
    skip_other_numbers(attack)
    before = world.state()
    points, managed, words = graded(assignment, attack.cells(**world.places), attack.seconds)
    assert points == 0
    assert managed == 0
    assert world.state() == before
    assert not world.knocks
    assert not processes(world)
    assert "canary" not in words


@pytest.mark.parametrize("name", [name for name, attack in hostile.ATTACKS.items() if attack.harmless])
def test_no_points_without_a_sandbox_either(assignment, world, name):
    attack = hostile.ATTACKS[name]
    before = world.state()
    assert graded(assignment, attack.cells(**world.places), attack.seconds, safe=False)[0] == 0
    assert world.state() == before
    assert not processes(world)


@pytest.mark.parametrize("safe", [True, False])
def test_victims_keep_their_points(request, assignment, world, safe):
    if safe:
        request.getfixturevalue("works")
    victim_keeps(assignment, safe)
    for name in ("patched comparison", "patched process", "every cell ends the process", "deaf to signals"):
        attack = hostile.ATTACKS[name]
        graded(assignment, attack.cells(**world.places), min(attack.seconds, 2), safe)
    victim_keeps(assignment, safe)


# Sandboxes with a hole: the harm must be seen, or the tests above could not fail


def unfiltered(words, world):
    return hostile.without(words, "--seccomp")


def shared_network(words, world):
    index = words.index("--unshare-all")
    return hostile.without(
        [*words[:index], "--unshare-pid", "--unshare-ipc", "--unshare-uts", *words[index + 1 :]], "--seccomp"
    )


def bound(option):
    """The class folder is there."""

    def weaken(words, world):
        folder = str(world.places["CLASS"])
        return hostile.with_first(words, option, folder, folder)

    return weaken


def uncovered(words, world):
    covers = {str(path) for path in sandbox.covered()}
    drop = {i for i, w in enumerate(words) if w in covers and words[i - 1] in ("--tmpfs", "--remount-ro")}
    return [word for i, word in enumerate(words) if i not in drop and i + 1 not in drop]


def unlimited(words, world):
    source = world.copy.read_text("utf-8")
    world.copy.write_text(source.replace("    limit(seconds)\n", ""), "utf-8")
    return words


HOLES = {
    "no filter": (unfiltered, "memory that is not counted"),
    "no filter for shared memory": (unfiltered, "memory that is shared with nobody"),
    "no filter for leases": (unfiltered, "files that others wait for"),
    "no filter for devices": (unfiltered, "the modes of devices"),
    "no filter for watches": (unfiltered, "watching the machine"),
    "no filter for processes": (unfiltered, "processes by number"),
    "no filter for 32 bits": (unfiltered, "calls by other numbers"),
    "network": (shared_network, "network"),
    "abstract addresses": (shared_network, "an abstract address"),
    "a class that can be read": (bound("--ro-bind"), "read the others"),
    "a class that can be written": (bound("--bind"), "write into the gradebook"),
    "packages in sight": (uncovered, "other people's packages"),
    "files without bound": (lambda words, world: hostile.without(words, "--remount-ro"), "fill what can be written"),
    "no limits": (unlimited, "memory"),
}


@pytest.mark.parametrize("hole", HOLES)
def test_through_a_hole_the_harm_is_seen(works, assignment, world, monkeypatch, hole):
    weaken, name = HOLES[hole]
    attack = hostile.ATTACKS[name]
    skip_other_numbers(attack)
    if hole in ("no filter for processes", "no filter for 32 bits") and os.getuid():
        pytest.skip("for an ordinary user RLIMIT_NPROC keeps this hole shut")
    before, whole = world.state(), sandbox.sandboxed
    monkeypatch.setattr(sandbox, "sandboxed", lambda *a: weaken(whole(*a), world))
    _, managed, _ = graded(assignment, attack.cells(**world.places), attack.seconds)
    assert managed
    if weaken is shared_network:
        assert world.knocks
    if hole == "a class that can be written":
        assert world.state() != before


def test_an_environment_that_is_handed_on_is_seen(works, assignment, world, monkeypatch):
    monkeypatch.setattr(sandbox, "ENVIRONMENT", {**sandbox.ENVIRONMENT, "ATTN_CANARY": "canary"})
    assert graded(assignment, hostile.ATTACKS["environment"].cells(**world.places))[1]
