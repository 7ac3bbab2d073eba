"""`make.py notebooks`: a learner's notebooks in one language run, and what he writes into them is kept."""

import nbformat
import pytest
from nbclient import NotebookClient

import single_language
from bilingual import LANGS

CHAPTER = "02_derivation.ipynb"


@pytest.fixture
def written(tmp_path, monkeypatch):
    """The folder where the notebooks were written."""
    monkeypatch.setattr(single_language, "OUT", tmp_path)
    for lang in LANGS:
        assert single_language.write(lang) == []
    return tmp_path


@pytest.mark.parametrize("lang", LANGS)
def test_a_chapter_runs_from_top_to_bottom(written, lang):
    nb = nbformat.read(written / lang / CHAPTER, as_version=4)
    NotebookClient(nb, resources={"metadata": {"path": str(written / lang)}}).execute()
    code = [c for c in nb.cells if c.cell_type == "code"]
    assert code and [c.execution_count for c in code] == list(range(1, len(code) + 1))


def test_all_notebooks_and_their_data_are_there(written):
    names = {path.name for path in single_language.BOOK.glob("*.ipynb")}
    for lang in LANGS:
        assert {path.name for path in (written / lang).glob("*.ipynb")} == names
        kept = {path.name: path.read_bytes() for path in (single_language.BOOK / "data").iterdir()}
        assert {path.name: path.read_bytes() for path in (written / lang / "data").iterdir()} == kept != {}


def test_a_changed_notebook_is_left_alone_and_the_others_are_renewed(written, monkeypatch):
    mine, other = written / "zh" / CHAPTER, written / "zh" / "index.ipynb"
    mine.write_text(mine.read_text("utf-8") + "\n", "utf-8")
    before = mine.read_bytes()
    newer = written / "book"
    newer.mkdir()
    (newer / "data").mkdir()
    for name in (CHAPTER, "index.ipynb"):
        nb = nbformat.read(single_language.BOOK / name, as_version=4)
        nb.cells[0].source = "# 新的"
        nbformat.write(nb, newer / name)
    monkeypatch.setattr(single_language, "BOOK", newer)
    assert single_language.write("zh") == [CHAPTER] and mine.read_bytes() == before
    assert "# 新的" in other.read_text("utf-8")
