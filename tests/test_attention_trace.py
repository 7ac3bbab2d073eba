"""`python3 code/attention_mechanism.py` as a process of its own: what it prints, saves, and says when it cannot."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

import attention_mechanism as am
import attention_trace

SCRIPT = Path(__file__).resolve().parents[1] / "code" / "attention_mechanism.py"

# Both blocks as the source prints them.
BLOCK_1 = """\
=================================================================
STEP 0: Input embeddings (3 tokens, d_model=4)
=================================================================
X shape: (3, 4)
  Token 0: [1. 0. 0. 0.]
  Token 1: [0. 1. 0. 0.]
  Token 2: [0. 0. 1. 0.]

=================================================================
STEP 1: Linear projections Q, K, V
=================================================================
Q shape: (3, 4)
K shape: (3, 4)
V shape: (3, 4)

Q (Query) matrix:
[[1. 0. 0. 0.]
 [0. 1. 0. 0.]
 [0. 0. 1. 0.]]
"""
BLOCK_2 = """\
=================================================================
STEP 4: Attention weights  A = softmax(S_scaled, axis=-1)
=================================================================
Attention weight matrix (row = query, col = key):
[[0.4519 0.2741 0.2741]
 [0.2741 0.4519 0.2741]
 [0.2741 0.2741 0.4519]]

Row sums (should all be 1.0):
[1. 1. 1.]
  ✓ All rows sum to 1 — each query distributes 100% attention across keys.

=================================================================
DETAILED TRACE: Query 0 ('I')
=================================================================
  Attention weights for Query 0:
    → Key 0 (I): weight = 0.4519 (45.2%)
    → Key 1 (love): weight = 0.2741 (27.4%)
    → Key 2 (NN): weight = 0.2741 (27.4%)

  Context vector Z[0] = Σ_j A[0,j] * V[j]:
    = 0.4519 × [1. 0. 0. 0.] +
      0.2741 × [0. 1. 0. 0.] +
      0.2741 × [0. 0. 1. 0.]
    = [0.4519 0.2741 0.2741 0.    ]
"""
TITLES = ["STEP 0", "STEP 1", "STEP 2", "STEP 3", "STEP 4", "DETAILED TRACE", "STEP 5", "saved "]


def run(*arguments, cwd, **variables):
    """The script in a fresh process, with the environment of a plain terminal.   -> code, stdout, stderr"""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LC_", "LANG", "MPL"))}
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, env=kept | variables, capture_output=True, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def size(picture):
    """Width and height in a PNG's header."""
    head = picture.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", head[16:])


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"MPLBACKEND": "TkAgg"},
    ],
    ids=str,
)
def test_the_printout(tmp_path, variables):
    folder = tmp_path / "my 文件夹"
    folder.mkdir()
    code, out, err = run(cwd=folder, **variables)
    assert (code, err) == (0, "")
    assert out.replace("\r\n", "\n").startswith(BLOCK_1)
    assert BLOCK_2 in out.replace("\r\n", "\n")
    places = [out.index(title) for title in TITLES]
    assert places == sorted(places)
    assert out.splitlines()[-1] == f"saved {folder / 'attention_heatmap.png'}"
    assert all(line == line.rstrip() for line in out.splitlines())
    width, height = size(folder / "attention_heatmap.png")
    assert width > 2 * height > 0  # three panels side by side
    assert [p.name for p in folder.iterdir()] == ["attention_heatmap.png"]


@pytest.mark.parametrize(
    "out, file", [("here", "here/attention_heatmap.png"), ("new/图.png", "new/图.png"), ("a.PNG", "a.PNG")]
)
def test_out(tmp_path, out, file):
    (tmp_path / "here").mkdir()
    code, printed, err = run("--out", out, cwd=tmp_path)
    assert (code, err) == (0, "")
    assert size(tmp_path / file)[0] > 0
    assert printed.endswith(f"saved {tmp_path / file}{os.linesep}")


@pytest.mark.parametrize("out", ["file/picture.png", "file/folder"])
def test_a_place_that_cannot_be_written(tmp_path, out):
    (tmp_path / "file").write_text("in the way")
    code, printed, err = run("--out", out, cwd=tmp_path)
    assert code == 1
    assert BLOCK_2 in printed.replace("\r\n", "\n") and "saved" not in printed
    assert err.startswith(f"cannot write {tmp_path / 'file'}") and "--out" in err and len(err.splitlines()) == 1


def test_another_kind_of_file(tmp_path):
    code, printed, err = run("--out", "picture.pdf", cwd=tmp_path)
    assert (code, printed) == (2, "")
    assert "--out takes a folder or a .png file, and picture.pdf is neither" in err


def test_without_matplotlib(tmp_path):
    (tmp_path / "matplotlib").mkdir()
    (tmp_path / "matplotlib" / "__init__.py").write_text("raise ImportError('not installed')")
    code, out, err = run(cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert (code, err) == (0, "")
    assert BLOCK_2 in out.replace("\r\n", "\n") and "STEP 5" in out and "saved" not in out
    assert "pip install matplotlib" in out.splitlines()[-1]


def test_the_tick_is_earned(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(am, "softmax", lambda x, axis=-1: np.exp(x) / np.exp(x).sum())
    assert attention_trace.main(["--out", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "✓" not in printed and "✗ Some row does not sum to 1" in printed and "STEP 5" in printed


def test_what_a_notebook_had_stays(tmp_path, capsys):
    backend, options, figures = plt.get_backend(), np.get_printoptions(), plt.get_fignums()
    assert attention_trace.main(["--out", str(tmp_path)]) == 0
    assert (plt.get_backend(), np.get_printoptions(), plt.get_fignums()) == (backend, options, figures)
    assert BLOCK_1 in capsys.readouterr().out


def test_importing_does_nothing():
    program = "import sys, attention_trace; assert 'matplotlib' not in sys.modules; print('quiet')"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=SCRIPT.parent, capture_output=True, text=True, check=True
    )
    assert done.stdout == "quiet\n"
