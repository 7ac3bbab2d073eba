"""make.py as a newcomer meets it."""

import ast
import os
import re
import signal
import socket
import subprocess
import sys
import sysconfig
import tomllib
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def run(code, **options):
    """Run Python code that has make.py as the module `make`."""
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", **options)


def test_an_old_python_gets_a_sentence():
    ast.parse((ROOT / "make.py").read_text("utf-8"), feature_version=(3, 7))
    tried = run("import sys; sys.version_info = (3, 9, 2, 'final', 0); import make")
    assert tried.returncode == 1
    assert tried.stderr == "This course needs Python 3.11 or newer, and this is 3.9: start make.py with a newer one.\n"


@pytest.mark.parametrize("missing", ["venv", "ensurepip"])
def test_a_python_without_venv_gets_the_remedy(missing):
    lose = f"make.importlib.util.find_spec = lambda name: None if name == '{missing}' else find(name)"
    tried = run(f"import make; find = make.importlib.util.find_spec; {lose}; make.install()")
    assert tried.returncode == 1 and "sudo apt install python3-venv" in tried.stderr


@pytest.mark.parametrize("words", [[], ["boook"], ["build", "test"]])
def test_unknown_words_get_the_list_of_commands(words):
    tried = subprocess.run([sys.executable, "make.py", *words], cwd=ROOT, capture_output=True, encoding="utf-8")
    assert tried.returncode == 1
    assert not words or tried.stderr.startswith(f"`{' '.join(words)}` is no command.")
    assert re.findall(r"make\.py (\w+) ", tried.stderr) == [
        "book", "build", "test", "tidy", "notebooks", "pdf", "zip", "peers", "models"
    ]  # fmt: skip


def test_the_commands_named_are_the_commands():
    tried = run("import make, re; print(re.findall(r'make\\.py (\\w+) ', make.__doc__) == list(make.COMMANDS))")
    assert tried.stdout == "True\n"


@pytest.mark.skipif(os.name == "nt", reason="SIGINT cannot be sent to one child on Windows")
def test_serving_takes_the_next_free_port_and_stops_quietly():
    with socket.socket() as taken:
        try:
            taken.bind(("127.0.0.1", 8000))
            taken.listen()
        except OSError:
            pass  # somebody else's, which serves the purpose
        server = subprocess.Popen(
            [sys.executable, "-c", "import make; make.serve()"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=os.environ | {"PYTHONUTF8": "1"},
        )
        address = re.search(r"http://127\.0\.0\.1:(\d+)/", server.stdout.readline())
        assert 8000 < int(address[1]) < 8100
        assert "注意力机制" in urllib.request.urlopen(address[0]).read().decode()
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=20)
    assert server.returncode == 0 and errors == ""


def test_a_failed_step_ends_with_what_to_do(tmp_path):
    tried = run(
        "import make, sys; make.PYTHON = sys.executable; make.python('-c', 'raise SystemExit(3)', failed='Do this.')"
    )
    assert tried.returncode == 1 and tried.stderr.endswith("✗ Do this.\n")


def test_packages_that_cannot_be_installed_end_with_what_to_do():
    tried = run("import make, sys; make.PYTHON = sys.executable; make.pip('--no-index', 'no-such-package')")
    assert tried.returncode == 1 and tried.stderr.rstrip().endswith("then try again.")


def peers(tmp_path, code, **options):
    """Run code that has make.py as `make`, whose peers() installs nothing into .venv and PyTorch into tmp_path."""
    here = f"make.PEERS = make.Path({str(tmp_path / 'peers')!r})"
    return run(f"import make, sys; {here}; make.install = lambda: 0; make.PYTHON = sys.executable\n{code}", **options)


def test_a_pytorch_that_pip_does_not_find_ends_with_where_to_look(tmp_path):
    nowhere = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
    tried = peers(tmp_path, "make.peers()", env=os.environ | nowhere)
    assert tried.returncode == 1 and "in the variable PIP_EXTRA_INDEX_URL: then try again." in tried.stderr


@pytest.mark.parametrize("platform, mark", [("linux", "+cpu"), ("darwin", "")])
def test_pytorch_is_installed_once_with_its_pins_alone(tmp_path, platform, mark):
    code = f"""
make.sys.platform = {platform!r}
make.pip = lambda *args, failed: (make.PEERS.mkdir(), print([str(arg) for arg in args]))
make.python = lambda *args, failed: print(*args)
make.peers()
make.peers()
"""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    torch, *others = project["optional-dependencies"]["peers"]
    said, installed, *runs = peers(tmp_path, code).stdout.splitlines()
    assert torch.startswith("torch==") and runs == ["tools/peers.py"] * 2
    assert ast.literal_eval(installed) == ["--no-deps", "--target", str(tmp_path / "peers"), torch + mark, *others]


def test_the_environment_can_start_in_any_locale_and_folder():
    """Python reads .pth files in the locale's encoding, so that of the course must not name a folder."""
    for path in Path(sysconfig.get_path("purelib")).glob("_editable_impl_attention_course.pth"):
        assert path.read_bytes().isascii() and not Path(path.read_text("ascii").strip()).is_absolute()


def test_ctrl_c_stops_with_a_word():
    start = "import runpy, sys; sys.argv[1:] = ['book']; import subprocess, venv"
    interrupt = "def stop(*args, **options): raise KeyboardInterrupt\nsubprocess.run = venv.create = stop"
    tried = run(f"{start}\n{interrupt}\nrunpy.run_path('make.py', run_name='__main__')")
    assert tried.returncode == 1 and tried.stderr == "\nStopped.\n"
