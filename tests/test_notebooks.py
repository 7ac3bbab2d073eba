"""House rules of the notebooks, so that no review has to repeat them."""

import ast
import json
import re
from copy import deepcopy
from pathlib import Path
from statistics import median

import nbformat
import pytest
from ipywidgets import interactive
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser
from nbformat import v4

from bilingual import CALLOUTS, cell_lang, headings, segments
from questions import is_question, problems
from tidy_notebooks import tidy

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))
BANNED_CODE = ["sys.path", "import *", "%matplotlib", "rcParams", "np.random.seed", "plt."]
HAN = "[\u3400-\u9fff]"
NUMBER = r"(?<![\w.])[-−]?\d+(?:\.\d+)?%?|(?<![\w.])[-−]?\.\d+"
MYST = create_md_parser(
    MdParserConfig(enable_extensions={"dollarmath", "amsmath", "attrs_inline", "colon_fence", "deflist"}), RendererHTML
)


@pytest.fixture(params=NOTEBOOKS, ids=lambda p: p.stem)
def nb(request):
    return nbformat.read(request.param, as_version=4)


def code(nb):
    return [c for c in nb.cells if c.cell_type == "code"]


def prose(nb):
    return [c for c in nb.cells if c.cell_type == "markdown"]


def facts(cell):
    """What twins must share."""
    src = cell.source
    plain = re.sub(r"\$[^$]*\$|`[^`]*`|\]\([^)]*\)", " ", src)
    return {
        "headings": [level for _, level, _, _ in segments(src) if level],
        "labels": sorted(re.findall(r"(?m)^(?:\$\$ *)?\(([\w:-]+)\)=?", src)),
        "links": sorted(re.findall(r"\]\(([^)]+)\)|\{(?:eq|ref|numref|doc|cite\w*)\}`([^`]+)`", src)),
        "equations": src.count("$$") // 2,
        "inline maths": sorted(re.findall(r"(?<!\$)\$([^$\n]+)\$(?!\$)", src)),
        "code spans": sorted(re.findall(r"`([^`\n]+)`", src)),
        "numbers": sorted(re.findall(r"\d+(?:\.\d+)?%?", plain)),
        "list items": len(re.findall(r"(?m)^(?:> *)?(?:[-*]|\d+\.) ", src)),
        "table rows": len(re.findall(r"(?m)^\|", src)),
        "boxes": sorted(kind for kind, pair in CALLOUTS.items() for word in pair if re.search(rf"> \*\*{word}", src)),
        "metadata": {k: v for k, v in cell.metadata.items() if k != "tags"},
        "tags": sorted(t for t in cell.metadata.get("tags", []) if not t.startswith("lang-")),
    }


def unrendered(src):
    """Emphasis marks that Markdown leaves as text, and line breaks inside Chinese paragraphs."""
    for token in MYST.parse(src):
        children = token.children or []
        yield from (c.content for c in children if c.type == "text" and re.search(r"\*|(?<!\w)__|~~", c.content))
        for before, at, after in zip(children, children[1:], children[2:], strict=False):
            if (
                at.type == "softbreak"
                and re.search(HAN + "|[，。；：、]", before.content[-1:])
                and re.match(HAN, after.content)
            ):
                yield before.content[-8:] + "⏎" + after.content[:8]


def outputs(nb):
    """All text that the notebook prints, and the numbers that its asserts hold."""
    texts = [out.get("text", "") or out.get("data", {}).get("text/plain", "") for c in code(nb) for out in c.outputs]
    return "\n".join(texts + [c.source for c in code(nb) if "assert" in c.source])


def number(text):
    """The value of a number as it is written in prose or printed."""
    return float(text.rstrip("%").replace("−", "-"))


def claims(cell):
    """A cell's text less what it does not vouch for: a question's wrong options, the wrong numbers in its fold, and the
    texts of links out, which are titles or numbers of papers."""
    src = re.sub(r"\[[^\]]*\]\(https?:[^)]*\)", " ", cell.source)
    if not is_question(cell):
        return src
    head, _, fold = src.partition("<details>")
    right = str(cell.metadata["answer"])
    head = re.sub(r"(?m)^(\d+)\. .*", lambda option: option[0] if option[1] == right else "", head)
    items = re.split(r"(?m)^- ", fold)
    return "\n".join([head, *items[:2], *(re.sub("^[^:：]*", "", item) for item in items[2:])])


def unfounded(nb):
    """Numbers with a decimal point or % in prose that are no rounding of a number which the notebook prints."""
    printed = [(number(x), x[-1] == "%") for x in re.findall(NUMBER, outputs(nb))]
    for cell in prose(nb):
        for text in re.findall(NUMBER, claims(cell)):
            if not re.search(r"[.%]", text) or "version-numbers" in cell.metadata.get("tags", []):
                continue
            value, digits = number(text), len(text.rstrip("%").partition(".")[2])
            if not any(abs(round(x, digits) - value) < 1e-9 for x, percent in printed if percent == (text[-1] == "%")):
                yield text


def test_is_tidy(nb):
    assert nb == tidy(deepcopy(nb)), "run: python3 make.py tidy"
    streams = [[out.name for out in c.outputs if out.output_type == "stream"] for c in code(nb)]
    assert all(len(names) == len(set(names)) for names in streams), "printed lines in pieces: run python3 make.py tidy"


def test_runs_top_to_bottom_and_every_cell_was_run(nb):
    assert [c.execution_count for c in code(nb)] == list(range(1, len(code(nb)) + 1))


def test_first_code_cell_imports_and_the_others_do_not(nb):
    if code(nb):
        first, *rest = code(nb)
        assert first.source.startswith(("import", "from"))
        assert not [c.source for c in rest if re.search(r"(?m)^(import|from) ", c.source)]


def test_cells_are_short_and_keep_the_house_rules(nb):
    lengths = [len([line for line in c.source.splitlines() if line.strip()]) for c in code(nb)]
    assert (
        max(lengths[1:], default=0) <= 8 and median(lengths or [0]) <= 3
    )  # the first cell imports, as much as it needs
    for cell in code(nb):
        assert max(map(len, cell.source.splitlines())) <= 80, "wider than the page"
        assert not cell.source.rstrip().endswith(";"), "nbval ignores a trailing semicolon"
        assert not [word for word in BANNED_CODE if word in cell.source]
        assert not re.search(HAN, cell.source), "code is shared by both languages"
        assert not [t for t in cell.metadata.get("tags", []) if t.startswith(("hide", "remove"))], "nothing is hidden"
        calls = [n for n in ast.walk(ast.parse(cell.source)) if isinstance(n, ast.Call)]
        prints = [call for call in calls if getattr(call.func, "id", "") == "print"]
        assert all(len(call.args) == 1 for call in prints), "a busy kernel may send the arguments of a print one by one"


def test_figures_have_captions_and_alternatives_in_both_languages(nb):
    for cell in code(nb):
        for about in (cell.metadata.get("mystnb", {}).get(part, {}) for part in ("figure", "image")):
            for pair in (about[key] for key in ("caption", "alt") if key in about):
                assert set(pair) == {"zh", "en"} and re.search(HAN, pair["zh"]) and not re.search(HAN, pair["en"])


def test_every_chinese_cell_is_followed_by_its_english_twin(nb):
    langs = [cell_lang(c) for c in nb.cells]
    for i, lang in enumerate(langs):
        if lang == "zh":
            assert langs[i + 1 : i + 2] == ["en"], nb.cells[i].source
            assert facts(nb.cells[i]) == facts(nb.cells[i + 1])
        if lang == "en":
            assert langs[i - 1] == "zh", nb.cells[i].source


def settings(fn, controls):
    """For each control, the arguments with which it can call fn at its ends, the others as they stand."""
    widgets = {w._kwarg: w for w in interactive(fn, **controls).kwargs_widgets}
    start = {name: w.get_interact_value() for name, w in widgets.items()}
    for name, w in widgets.items():
        ends = [w.min, w.max] if hasattr(w, "min") else getattr(w, "options", [False, True])
        yield name, [start | {name: end} for end in ends]


def asked(fn, controls):
    """What fn answers there, as text."""
    answers = []
    for name, cases in settings(fn, controls):
        there = [repr(fn(**given)) for given in cases]
        assert len(set(there)) > 1 or "Axes" in there[0], f"the control {name} changes nothing"
        answers += there
    return answers


def under_control(imports, cell):
    """The functions above which the cell writes @interact, each with its controls; it needs nothing but the imports."""
    found, names = [], {}
    exec(imports, names)
    names["interact"] = lambda **controls: lambda fn: found.append((fn, controls))
    exec(cell, names)
    return found


def test_controls_that_python_answers(nb):
    """They are in Jupyter alone.  An error in a callback is shown there and fails nothing, so it is called here."""
    for cell in code(nb):
        has_tag = "jupyter-only" in cell.metadata.get("tags", [])
        assert has_tag == bool(re.search(r"\binteract(ive)?\(", cell.source)), (
            "controls, and they alone, are jupyter-only"
        )
        if has_tag:
            assert "nbval-ignore-output" in cell.metadata.tags, "nbval sees the answer twice, and cannot compare it"
            [(fn, controls)] = under_control(code(nb)[0].source, cell.source)
            assert asked(fn, controls)


def test_languages_stay_in_their_cells(nb):
    for cell in prose(nb):
        if cell_lang(cell) != "zh":
            assert not re.search(HAN, cell.source), cell.source
        if cell_lang(cell) is None:
            assert not re.search(r"(?m)^#", cell.source), cell.source


def test_one_section_has_one_address(nb):
    slugs = [
        re.sub(r"\W+", "-", h.lower())
        for c in prose(nb)
        if cell_lang(c) == "en"
        for _, level, h, _ in segments(c.source)
        if level
    ]
    assert len(slugs) == len(set(slugs)) and not [s for s in slugs if not re.search("[a-z]", s)]


def test_headings_are_the_ones_that_were_agreed_on():
    """An English heading is an address, and links to it must not break; a Chinese one says the same.  Whoever changes
    one changes its twin and the table together."""
    table = json.loads((ROOT / "tests" / "headings.json").read_text("utf-8"))
    found = {}
    for path in NOTEBOOKS:
        nb = nbformat.read(path, as_version=4)
        found[path.stem] = [list(pair) for pair in zip(headings(nb, "zh"), headings(nb, "en"), strict=True)]
    assert found == table


def test_emphasis_renders(nb):
    assert not [text for c in prose(nb) for text in unrendered(c.source)]


def test_formulas_stand_apart(nb):
    for cell in prose(nb):
        assert "$$$" not in cell.source
        for row in re.findall(r"(?m)^\|.*", cell.source):
            assert not [tex for tex in row.split("$")[1::2] if "|" in tex], "| ends a table's cell: write \\lvert"


def test_every_number_in_prose_is_printed_on_the_page(nb):
    assert not list(unfounded(nb))


def test_questions_can_be_answered(nb):
    assert not list(problems(nb))


def test_cells_excepted_from_the_number_rule_are_these():
    cells = [c for path in NOTEBOOKS for c in nbformat.read(path, as_version=4).cells]
    excepted = [c.id for c in cells if "version-numbers" in c.metadata.get("tags", [])]
    assert excepted == ["running-zh", "running-en"]


# ------------------------------------------------------------------ the rules themselves can fail
def test_the_controls_rule_calls_both_ends_and_finds_controls_without_effect():
    assert asked(lambda n, on: n if on else -n, {"n": (1, 4), "on": True}) == ["1", "4", "-2", "2"]
    with pytest.raises(ZeroDivisionError):
        asked(lambda n: 1 // n, {"n": (0, 4)})
    with pytest.raises(AssertionError, match="control n changes nothing"):
        asked(lambda n: 7, {"n": (0, 4)})
    with pytest.raises(AssertionError, match="control m changes nothing"):
        asked(lambda n, m: n, {"n": (0, 4), "m": (0, 4)})


@pytest.mark.parametrize("tags", [[], ["jupyter-only"]])
def test_the_controls_rule_finds_a_tag_that_is_missing_or_too_many(tags):
    source = "x = 1" if tags else "interact(f, n=(1, 4))"
    with pytest.raises(AssertionError, match="they alone"):
        test_controls_that_python_answers(
            v4.new_notebook(cells=[v4.new_code_cell(source, metadata={"tags": [*tags, "nbval-ignore-output"]})])
        )


@pytest.mark.parametrize(
    "bad", ["**“注意力”**是", "**重点。**然后", "**$d_k$**很大", "__重点__内容", "第一行，\n第二行"]
)
def test_the_emphasis_rule_finds(bad):
    assert list(unrendered(bad))


def page(text, printed="0.4519 45.2%"):
    cell = v4.new_code_cell("A", outputs=[v4.new_output("stream", text=printed)])
    return v4.new_notebook(cells=[v4.new_markdown_cell(text), cell])


@pytest.mark.parametrize(
    "good",
    ["the weight is 0.45", "0.4519", "45%", "45.2%", "3 keys", "[arXiv:1706.03762](https://arxiv.org/abs/1706.03762)"],
)
def test_the_number_rule_accepts(good):
    assert not list(unfounded(page(good)))


@pytest.mark.parametrize("bad", ["0.39", "the weight is 0.46", "$A_{00}=0.4518$", "39%", "0.4519%", "−0.4519"])
def test_the_number_rule_finds(bad):
    assert list(unfounded(page(bad)))


def test_the_number_rule_leaves_wrong_answers_alone_and_holds_the_right_one():
    fold = "\n\n<details><summary>Answer</summary>\n\n- {}: half is 45%.\n- 0.7: no.\n\n</details>"
    for right, found in [("0.45", []), ("0.46", ["0.46"])]:
        nb = page(f"Which? {fold.format(right)}")
        nb.cells[0].metadata = {"tags": ["question"], "answer": float(right)}
        assert list(unfounded(nb)) == found
        nb = page(f"Which?\n\n1. 0.7\n2. {right}{fold.format(0.45)}")
        nb.cells[0].metadata = {"tags": ["question"], "answer": 2}
        assert list(unfounded(nb)) == found


@pytest.mark.parametrize(
    "zh, en",
    [
        ("## 标题", "### Title"),
        ("数是 3", "the number is 4"),
        ("$a$", "$b$"),
        ("- 一\n- 二", "- one"),
        ("> **先猜：** 几", "> **Note.** how"),
        ("`a`", "`b`"),
    ],
)
def test_the_twin_rule_finds(zh, en):
    assert facts(v4.new_markdown_cell(zh)) != facts(v4.new_markdown_cell(en))
