"""House rules of the tree."""

import ast
import graphlib
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
GRADING = ROOT / "grading" / "attention_grading"


def imports(path):
    """Top-level names of the modules that a file imports anywhere."""
    yield from imports_of(ast.walk(ast.parse(path.read_text("utf-8"))))


def imports_of(nodes):
    for node in nodes:
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


def test_grading_imports_run_one_way():
    """Among its own modules; none needs the command line; the course and it do without each other; what is imported
    at the top comes with the extra `grading`, and what runs in the sandbox needs NumPy alone."""
    needs, top = {}, {}
    for path in GRADING.glob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        whole = [alias.name for node in froms if node.module == "attention_grading" for alias in node.names]
        parts = [node.module.split(".")[1] for node in froms if node.module.startswith("attention_grading.")]
        needs[path.stem] = {*whole, *parts} & {p.stem for p in GRADING.glob("*.py")} - {path.stem}
        first = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        top[path.stem] = set(imports_of(first)) - set(sys.stdlib_module_names) - {"attention_grading"}
    assert len(needs) > 15 and list(graphlib.TopologicalSorter(needs).static_order())  # a circle is an error
    assert not [name for name, wanted in needs.items() if "cli" in wanted]
    assert needs["child"] == set() and top["child"] <= {"numpy"}
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]["grading"]
    allowed = {pin.partition("==")[0].replace("-", "_") for pin in extra} | {"markdown_it", "markupsafe"}
    assert not {name: wanted for name, wanted in top.items() if wanted - allowed}
    course = {path.stem for path in CODE.glob("attention_*")}
    assert not course & {name for path in GRADING.glob("*.py") for name in imports(path)}
    assert not [path for path in CODE.rglob("*.py") if "attention_grading" in imports(path)]


def test_no_class_is_in_the_repository():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, encoding="utf-8").stdout.split("\n")
    private = {"secret.key", "roster.csv", "marked.json", "collected.json", "download.zip"}
    assert not [name for name in tracked if Path(name).name in private]
    ignored = (ROOT / ".gitignore").read_text("utf-8").split("\n")
    assert private <= set(ignored)


def test_data_lies_where_the_build_looks_for_changes():
    """A cell may read book/data; a change anywhere else would not run it again."""
    assert {p.suffix for p in (ROOT / "book").iterdir() if p.is_file()} <= {".ipynb", ".yml"}


def test_data_names_its_source():
    """Each file of book/data is described there, and each array of the .npz files by its key."""
    data = ROOT / "book" / "data"
    told = (data / "README.md").read_text("utf-8")
    assert not [path.name for path in data.iterdir() if path.name not in told + "README.md"]
    keys = {re.sub(r"\d+$", "0", key) for key in np.load(data / "tour.npz").files}
    keys |= set(np.load(data / "real_heads.npz").files)
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
