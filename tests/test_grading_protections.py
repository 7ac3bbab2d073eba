"""Whether the sandbox holds is found out, and what to do where it does not is said."""

import contextlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import hostile
from attention_grading import Problem, sandbox
from attention_grading.machine import Machine, machine, remedy
from attention_grading.protections import protections, require
from attention_grading.session import Session

GRADING = Path(sandbox.__file__).parents[1]


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
from attention_grading.protections import protections
from attention_grading.session import Session
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
        "User namespaces are switched off: sysctl user.max_user_namespaces=10000"
    }


def test_an_ordinary_user(works):
    """Root tries as nobody, with a copy of NumPy and of this package that he can read, all without nbformat."""
    if os.getuid():
        pytest.skip("all tests run as one")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    programs = [sandbox.executable(), f"/usr/bin/{version}", f"/usr/local/bin/{version}"]
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for path in [*sandbox.numpy_parts(), GRADING / "attention_grading"]:
            shutil.copytree(path, Path(folder) / path.name)
        code = f"import sys; sys.path.append({folder!r}); sys.modules['nbformat'] = ''\n{REPORT}"
        for program in programs:
            with contextlib.suppress(OSError):
                done = subprocess.run(
                    [program, "-I", "-S", "-c", code], cwd="/", capture_output=True, user=65534, group=65534,
                    extra_groups=[], text=True,
                )  # fmt: skip
                break
        else:
            pytest.skip(f"nobody may not run any {version} of this machine")
    assert done.returncode == 0, done.stderr
    answer, found = json.loads(done.stdout)
    assert answer == 6
    assert all(works for _, works, _ in found), found


LINUX = Machine("Linux", "debian", namespaces="63000")


@pytest.mark.parametrize(
    ("here", "symptom", "says"),
    [
        (Machine("Darwin"), "", "Lima"),
        (Machine("Windows"), "", "wsl --install"),
        (LINUX._replace(bubblewrap=False), "", ": sudo apt update && sudo apt install bubblewrap$"),
        (LINUX._replace(bubblewrap=False, root=True), "", ": apt update && apt install bubblewrap$"),
        (LINUX._replace(bubblewrap=False, family="ubuntu debian"), "", "sudo apt install bubblewrap$"),
        (LINUX._replace(bubblewrap=False, family="fedora"), "", ": sudo dnf install bubblewrap$"),
        (LINUX._replace(bubblewrap=False, family="almalinux rhel centos fedora"), "", "sudo dnf install bubblewrap$"),
        (LINUX._replace(bubblewrap=False, family="arch"), "", "sudo pacman -S bubblewrap$"),
        (LINUX._replace(bubblewrap=False, family="nixos"), "", "a package of the system"),
        (LINUX._replace(namespaces="0"), "bwrap: …: No space left on device", "sysctl user.max_user_namespaces=10000$"),
        (LINUX._replace(clone="0"), "bwrap: No permissions to create new namespace", "unprivileged_userns_clone=1$"),
        (LINUX._replace(clone="1", apparmor="1"), "bwrap: setting up uid map: …", "/etc/apparmor.d/bwrap"),
        (LINUX._replace(apparmor="1", container=True), "bwrap: …: Operation not permitted", "seccomp=unconfined"),
        (LINUX, "bwrap: something new", "bwrap: something new"),
    ],
    ids=lambda value: str(value)[:60],
)  # fmt: skip
def test_a_remedy_for_each_system(here, symptom, says):
    assert re.search(says, remedy(here, symptom))


def test_this_machine_is_known():
    here = machine()
    assert here.system == platform.system()
    if here.system == "Linux":
        assert here.family and here.bubblewrap == bool(shutil.which("bwrap"))
