"""The public pages of the assignments are what `attn release MASTER --page` writes, and hold no solution."""

import json
import re
from pathlib import Path

import nbformat
import pytest

from attention_grading import Assignment
from attention_grading.release import EXAMPLE, SOLUTION, write_page

ROOT = Path(__file__).resolve().parents[1]
MASTERS = sorted((ROOT / "exercises").glob("*.ipynb"))
PAGES = ROOT / "book" / "assignments"


@pytest.fixture(params=MASTERS, ids=lambda path: path.stem)
def master(request):
    return request.param


def test_each_master_has_a_page_and_each_page_a_master():
    assert [path.name for path in sorted(PAGES.iterdir())] == [path.name for path in MASTERS]
    assert len(MASTERS) == 4


def test_the_page_is_what_the_command_writes(master, tmp_path):
    write_page(master, tmp_path / "page.ipynb")
    same = (tmp_path / "page.ipynb").read_text("utf-8") == (PAGES / master.name).read_text("utf-8")
    assert same, f"run: attn release exercises/{master.name} --page book/assignments/{master.name}"


def test_the_page_says_first_that_it_is_an_example(master):
    cells = nbformat.read(PAGES / master.name, as_version=4).cells
    for tag, sentence in EXAMPLE.items():
        first = next(cell for cell in cells if tag in cell.metadata.get("tags", []))
        assert re.match(r"# .+\n\n" + re.escape(sentence) + "\n\n", first.source)


def test_nothing_runs_and_nothing_of_a_solution_or_a_guide_is_there(master):
    page = (PAGES / master.name).read_text("utf-8")
    read = nbformat.reads(page, as_version=4)
    assert {cell.cell_type for cell in read.cells} == {"markdown"}
    assert not re.search(r"canary|SOLUTION|nbgrader|marking|<<|>>|<%|%>", page)
    text = "\n".join(cell.source for cell in read.cells)
    assert [line for line in secret_lines(master) if line in text] == []


def secret_lines(master):
    """Each line of the solutions, model answers and guides that says enough to be known again."""
    for cell in Assignment(master).cells:
        if "marking" in cell.metadata.get("tags", []) or (cell.cell_type == "markdown" and "nbgrader" in cell.metadata):
            texts = [cell.source]
        else:
            texts = [found[0] for found in SOLUTION.finditer(cell.source)]
        yield from (line.strip() for text in texts for line in text.splitlines() if len(line.strip()) > 30)


def test_enough_lines_are_looked_for(master):
    assert len(set(secret_lines(master))) > 40


def test_both_languages_have_the_place_for_the_written_answer(master):
    cells = json.loads((PAGES / master.name).read_text("utf-8"))["cells"]
    places = [
        ("".join(cell["source"]), cell["metadata"]["tags"]) for cell in cells if "".join(cell["source"])[0] == "✎"
    ]
    assert places == [("✎ 在此作答", ["lang-zh"]), ("✎ Your answer here", ["lang-en"])]
