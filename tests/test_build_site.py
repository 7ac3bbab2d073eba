"""Building a small copy of the course, in a folder whose name has a space and Chinese characters."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from nbformat import v4, write

from conftest import copy_course

VIEWS = ("zh", "en", "both")
PAIR = [("zh", "# 一页"), ("en", "# A page")]


def notebook(*code):
    prose = [v4.new_markdown_cell(text, metadata={"tags": [f"lang-{lang}"]}) for lang, text in PAIR]
    return v4.new_notebook(cells=prose + [v4.new_code_cell(text) for text in code])


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A copy with one small page, and build() that runs the builder on it."""
    root = tmp_path_factory.mktemp("a") / "课程 copy (1)"
    build = copy_course(root)
    (root / "book" / "data" / "factor.txt").write_text("1")
    reads = '(am.softmax([0, 0, 0]) * int(open("data/factor.txt").read())).round(4)'
    write(notebook("import attention_mechanism as am", reads), root / "book" / "index.ipynb")
    return root, build


def shown(root):
    """What the page of each view prints."""
    pages = [(root / "book/_build/site" / view / "index.html").read_text("utf-8") for view in VIEWS]
    return [re.findall(r"array\(\[[^\]]*\]\)", re.sub(r"<[^>]+>", "", page)) for page in pages]


def test_a_build_shows_the_outputs_in_all_views_and_a_second_has_nothing_to_do(course):
    root, build = course
    (root / "book" / "Untitled.ipynb").write_text("a learner's own, half written")
    first = build()
    assert first.returncode == 0, first.stderr
    assert "since book/_toc.yml does not name it: book/Untitled.ipynb\n" in first.stdout
    assert shown(root) == [["array([0.3333, 0.3333, 0.3333])"]] * 3
    second = build()
    assert second.returncode == 0 and second.stdout == "▸ the site is up to date\n"


ON_BINDER = re.compile(r'<a [^>]*href="(https://mybinder[^"]*)"[^>]*>(.*?)</a>', re.S)
WORDS = {"zh": "在 Binder 里运行", "en": "Run on Binder", "both": "在 Binder 里运行 Run on Binder"}


@pytest.mark.parametrize("view", VIEWS)
def test_a_page_leads_to_its_notebook_on_binder(course, view):
    root, _ = course
    html = (root / "book/_build/site" / view / "index.html").read_text("utf-8")
    [(address, inside)] = ON_BINDER.findall(html)
    assert address == "https://mybinder.org/v2/gh/someone/course/HEAD?urlpath=lab/tree/book/index.ipynb"
    assert re.sub(r"<[^>]+>", "", inside) == WORDS[view]


@pytest.mark.parametrize(
    "name, old, new",
    [
        ("code/attention_mechanism.py", "return (e / total)", "return (2 * e / total)"),
        ("book/data/factor.txt", "1", "2"),
    ],
)
def test_a_change_in_code_or_in_data_shows_in_all_views(course, name, old, new):
    root, build = course
    text = (root / name).read_text("utf-8")
    (root / name).write_text(text.replace(old, new), "utf-8")
    assert build(repository="").returncode == 0
    assert shown(root) == [["array([0.6667, 0.6667, 0.6667])"]] * 3
    pages = (root / "book/_build/site").rglob("*.html")
    assert not [page for page in pages if "mybinder" in page.read_text("utf-8")], "of no known repository"
    (root / name).write_text(text, "utf-8")


def test_a_cell_runs_once_whatever_stands_around_it(course, tmp_path):
    root, build = course
    runs = tmp_path / "runs.txt"
    page = notebook("import math", f"print('ran', file=open({str(runs)!r}, 'a'))")
    names = {"zh": "一条线", "en": "A line"}
    alike = v4.new_code_cell("math.pi", metadata={"mystnb": {"image": {"alt": names}, "figure": {"caption": names}}})
    page.cells += [v4.new_code_cell("1 / 0", metadata={"tags": ["jupyter-only"]}), alike]
    write(page, root / "book" / "index.ipynb")
    assert (done := build()).returncode == 0, done.stderr
    assert runs.read_text() == "ran\n"
    page.cells.append(v4.new_markdown_cell("$x$"))
    write(page, root / "book" / "index.ipynb")
    assert build().returncode == 0 and runs.read_text() == "ran\n"


@pytest.mark.parametrize(
    "cell, says",
    [
        ("1 / 0", "division by zero"),
        ("import warnings; warnings.warn('careful')", "stderr was found"),
    ],
)
def test_a_cell_that_fails_or_warns_leaves_no_site_however_often(course, cell, says):
    root, build = course
    write(notebook("import math", cell), root / "book" / "index.ipynb")
    for _ in range(2):
        failed = build()
        assert failed.returncode != 0 and failed.stderr.count(says) == 1, failed.stderr
        assert "index.ipynb" in failed.stderr and "Traceback" not in failed.stderr.partition(cell)[0]
        assert not (root / "book/_build/site").exists()


@pytest.mark.skipif(os.name == "nt", reason="Ctrl+C reaches a group of processes otherwise there")
def test_an_interrupted_build_leaves_neither_site_nor_kernel(course, tmp_path):
    root, _ = course
    (started := tmp_path / "started").mkdir()
    cell = f"__import__('pathlib').Path({str(started)!r}, str(__import__('os').getpid())).touch()"
    write(notebook(f"{cell}; __import__('time').sleep(100)"), root / "book" / "index.ipynb")
    env = os.environ | {"PYTHONPATH": str(root / "code")}
    building = subprocess.Popen([sys.executable, "tools/build_site.py"], cwd=root, env=env, start_new_session=True)
    while not (found := list(started.iterdir())):
        assert building.poll() is None
        time.sleep(0.1)
    kernel = psutil.Process(int(found[0].name))  # psutil comes with ipykernel
    os.killpg(building.pid, signal.SIGINT)
    assert building.wait() == 130 and not (root / "book/_build/site").exists()
    kernel.wait(30)


def test_a_formula_that_cannot_be_read_is_named(course):
    root, build = course
    page = notebook()
    page.cells.append(v4.new_markdown_cell(r"$\frac{a$"))
    write(page, root / "book" / "index.ipynb")
    failed = build()
    assert failed.returncode != 0 and r"\frac{a" in failed.stderr and "index.ipynb" in failed.stderr
    assert len(failed.stderr) < 5000, "KaTeX's whole source is no message"


def test_jupyter_book_alone_gives_both_languages_from_its_own_files(course, tmp_path):
    root, _ = course
    page = notebook("import attention_widgets", "attention_widgets.AttentionCalculator()")
    page.cells.append(v4.new_markdown_cell("$$\nx^2\n$$"))
    write(page, root / "book" / "index.ipynb")
    env = os.environ | {"PYTHONPATH": str(root / "code")}
    jupyter_book = Path(sys.executable).with_name("jupyter-book")
    command = [jupyter_book, "build", "book", "--all", "-W", "--path-output", tmp_path]
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    site = tmp_path / "_build" / "html"
    html = (site / "index.html").read_text("utf-8")
    assert 'data-bilingual="both"' in html and "一页" in html and "A page" in html and "katex-html" in html
    assert "lang-switch" not in html  # there is nothing to switch to
    for address in re.findall(r'<(?:script|link rel="stylesheet")[^>]*(?:src|href)="([^"]+)"', html):
        assert (site / address.partition("?")[0]).is_file(), address
