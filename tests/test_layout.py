"""House rules of the tree."""

import ast
import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
CODE = ROOT / "code"


def imports(path):
    """Top-level names of the modules that a file imports anywhere."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]


def test_code_is_no_package_so_that_the_standard_library_keeps_its_name():
    assert not (CODE / "__init__.py").exists()
    found = subprocess.run(
        [sys.executable, "-c", "import code; print(code.__file__)"], cwd=ROOT, capture_output=True, text=True
    )
    assert Path(found.stdout.strip()).parent == Path(sysconfig.get_path("stdlib"))


def test_the_mathematics_needs_numpy_alone():
    assert set(imports(CODE / "attention_mechanism.py")) - set(sys.stdlib_module_names) == {"numpy", "attention_trace"}


def test_imports_run_one_way():
    ours = {p.stem: [p] for p in CODE.glob("*.py")} | {p.name: list(p.glob("*.py")) for p in CODE.glob("attention_*/")}
    needs = {name: {top for p in paths for top in imports(p)} & set(ours) for name, paths in ours.items()}
    assert not any(name.endswith("utils") for name in ours)
    assert not [name for name, wanted in needs.items() if "attention_widgets" in wanted]
    assert needs["attention_problems"] == set() and needs["attention_checks"] == {"attention_problems"}
    assert needs["attention_colours"] == set() and needs["attention_plots"] <= {
        "attention_mechanism",
        "attention_colours",
    }


def test_data_lies_where_the_build_looks_for_changes():
    """A cell may read book/data; a change anywhere else would not run it again."""
    assert {p.suffix for p in (ROOT / "book").iterdir() if p.is_file()} <= {".ipynb", ".yml"}


def test_data_names_its_source():
    """Each file of book/data is described there, and each array of tour.npz by its key."""
    data = ROOT / "book" / "data"
    told = (data / "README.md").read_text("utf-8")
    assert not [path.name for path in data.iterdir() if path.name not in told + "README.md"]
    keys = {re.sub(r"\d+$", "0", key) for key in np.load(data / "tour.npz").files}
    assert not [key for key in keys if f"`{key}" not in told]


def test_pins_are_exact():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wanted = (ROOT / "requirements.txt").read_text("utf-8").splitlines() + project["build-system"]["requires"]
    wanted += [pin for extra in project["project"]["optional-dependencies"].values() for pin in extra]
    assert not [pin for pin in wanted if not re.fullmatch(r"#.*|-e \.|[\w-]+==[\w.]+", pin)]


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]])
def test_ruff_is_content(command):
    run = subprocess.run(
        [sys.executable, "-m", "ruff", *command, "--quiet", "."], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
