"""What Binder builds from the files at the root is enough for the notebooks, and no more than they need."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from urllib.parse import parse_qs, urlsplit

import nbformat
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from conftest import ROOT
from launch import address
from test_layout import imports, imports_of

NOTEBOOKS = sorted((ROOT / "book").rglob("[!_]*.ipynb"))
NOTEBOOKS = [path for path in NOTEBOOKS if not {"_build", ".ipynb_checkpoints"} & set(path.parts)]
OURS = {path.stem for path in (ROOT / "code").glob("attention_*")}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def named(lines):
    return {canonicalize_name(Requirement(line).name) for line in lines if not line.startswith(("#", "-e"))}


REQUIRED = named((ROOT / "requirements.txt").read_text("utf-8").splitlines())
TEST = named(PROJECT["optional-dependencies"]["test"])


def of_notebook(path):
    """The modules that the code cells of a notebook import; magics are no Python."""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            source = re.sub(r"(?m)^[%!].*", "", cell.source)
            yield from imports_of(ast.walk(ast.parse(source)))


def wanted():
    """The modules from elsewhere that a learner's notebooks and the course's code import."""
    found = {name for path in NOTEBOOKS for name in of_notebook(path)}
    found |= {name for path in (ROOT / "code").rglob("*.py") for name in imports(path)}
    return found - OURS - set(sys.stdlib_module_names)


def test_requirements_name_what_the_notebooks_import_and_nothing_of_the_tests():
    homes = packages_distributions()
    found = {name: {canonicalize_name(home) for home in homes.get(name, [])} for name in wanted()}
    assert {"numpy", "matplotlib", "ipywidgets"} <= set(found)
    allowed = REQUIRED | {"ipython", "traitlets"}  # come with ipywidgets, as its own interface
    assert not {name: home for name, home in found.items() if not home & allowed}
    assert not REQUIRED & (TEST | {"pytest", "playwright", "hypothesis"})


def test_the_course_is_imported_where_nothing_of_the_tests_is_installed():
    modules = {name for name, homes in packages_distributions().items() if TEST & set(map(canonicalize_name, homes))}
    assert {"pytest", "playwright"} <= modules
    program = (
        "import importlib, json, sys\n"
        "blocked, ours = json.loads(sys.stdin.read())\n"
        "sys.modules.update(dict.fromkeys(blocked))\n"  # an import of these now fails
        "for name in ours: importlib.import_module(name)\n"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT / "code"), "MPLBACKEND": "agg"}
    run = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps([sorted(modules), sorted(OURS)]),
        env=env, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr


def test_binder_takes_the_files_at_the_root_and_a_python_that_the_course_allows():
    """As repo2docker reads them: https://repo2docker.readthedocs.io, "Configuration files"."""
    others = ["binder", ".binder", "environment.yml", "Dockerfile", "setup.py", "Pipfile", "Pipfile.lock", "apt.txt"]
    assert not [name for name in others if (ROOT / name).exists()], "repo2docker would read this instead, or besides"
    version = re.fullmatch(r"python-(3\.\d+)", (ROOT / "runtime.txt").read_text("utf-8").strip())[1]
    assert version in SpecifierSet(PROJECT["requires-python"])
    for readme_says in re.findall(r"Python (3\.\d+)", (ROOT / "README.md").read_text("utf-8")):
        assert readme_says == version
    assert "-e ." in (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    mode = subprocess.run(["git", "ls-files", "-s", "postBuild"], cwd=ROOT, capture_output=True, text=True).stdout
    assert mode.startswith("100755"), "Binder runs postBuild as a program: git update-index --chmod=+x postBuild"
    assert "pip install --quiet --no-deps --editable ." in (ROOT / "postBuild").read_text("utf-8")


@pytest.mark.parametrize(
    "repository, place",
    [
        ("https://github.com/someone/course", "/v2/gh/someone/course/HEAD"),
        ("https://github.com/someone/course.git", "/v2/gh/someone/course/HEAD"),
        ("https://gitee.com/someone/course/", "/v2/git/https%3A%2F%2Fgitee.com%2Fsomeone%2Fcourse/HEAD"),
    ],
)
def test_the_address_on_binder_names_the_repository_and_a_notebook_that_is_there(repository, place):
    for path in NOTEBOOKS:
        parts = urlsplit(address(repository, path.relative_to(ROOT / "book").as_posix()))
        assert (parts.scheme, parts.hostname, parts.path) == ("https", "mybinder.org", place)
        [opened] = parse_qs(parts.query)["urlpath"]
        assert ROOT / opened.removeprefix("lab/tree/") == path
