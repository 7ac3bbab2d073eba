"""One bilingual notebook becomes three."""

import json
from copy import deepcopy
from types import SimpleNamespace

import pytest
from nbformat import v4, validate

from bilingual import inline_pair, merge, segments, select, single, source_read, trim_pair, unlabel, with_label


def markdown(source, *tags, **metadata):
    return v4.new_markdown_cell(source, metadata={"tags": list(tags), **metadata})


@pytest.fixture
def nb():
    cells = [
        markdown("# 标题\n\n正文", "lang-zh"),
        markdown("# Title\n\nText", "lang-en"),
        markdown("$$\nx\n$$ (eq-x)"),
        v4.new_code_cell("1 + 1", metadata={"mystnb": {"image": {"alt": {"zh": "图", "en": "picture"}}}}),
    ]
    return v4.new_notebook(cells=cells)


def sources(nb):
    return [c["source"] for c in nb["cells"]]


def test_a_view_keeps_its_language_and_what_is_shared(nb):
    assert sources(select(nb, "zh")) == ["# 标题\n\n正文", "$$\nx\n$$ (eq-x)", "1 + 1"]
    assert sources(select(nb, "en")) == ["# Title\n\nText", "$$\nx\n$$ (eq-x)", "1 + 1"]


def test_both_has_one_heading_for_the_pair_and_both_texts(nb):
    first, *rest = sources(select(nb, "both"))
    assert first.count("# ") == 1 and first.index("标题") < first.index("Title") < first.index("正文") < first.index(
        "Text"
    )
    assert rest == ["$$\nx\n$$ (eq-x)", "1 + 1"]


def test_code_cells_are_the_same_in_all_views_so_that_they_run_once(nb):
    assert (
        len({str([c for c in select(nb, mode)["cells"] if c["cell_type"] == "code"]) for mode in ("zh", "en", "both")})
        == 1
    )


@pytest.mark.parametrize("mode", ["zh", "en", "both"])
def test_what_needs_a_kernel_is_in_the_notebook_and_not_on_the_site(nb, mode):
    before = sources(select(nb, mode))
    only = v4.new_code_cell("interact(f, d_k=(1, 9))", metadata={"tags": ["jupyter-only", "nbval-ignore-output"]})
    nb.cells += [markdown("动手", "lang-zh", "jupyter-only"), markdown("Move", "lang-en", "jupyter-only"), only]
    assert sources(select(nb, mode)) == before
    assert "interact(f, d_k=(1, 9))" in sources(single(nb, "en")) and "Move" in sources(single(nb, "en"))


@pytest.mark.parametrize("mode", ["zh", "en", "both"])
def test_a_heading_that_needs_a_kernel_leaves_the_others_their_addresses(nb, mode):
    nb.cells += [markdown("## 滑块", "lang-zh", "jupyter-only"), markdown("## Slider", "lang-en", "jupyter-only")]
    nb.cells += [markdown("## 完", "lang-zh"), markdown("## The end", "lang-en")]
    env = SimpleNamespace(doc2path=lambda name: f"{name}.ipynb", temp_data={})
    source_read(SimpleNamespace(env=env, config=SimpleNamespace(bilingual_mode=mode)), "page", [json.dumps(nb)])
    assert env.temp_data["bilingual_slugs"] == ["title", "the-end"]


@pytest.mark.parametrize("lang, prose, alt", [("zh", "# 标题\n\n正文", "图"), ("en", "# Title\n\nText", "picture")])
def test_a_notebook_in_one_language_is_plain_and_valid(nb, lang, prose, alt):
    nb.cells.append(markdown("**A title**\n\nno directive", f"lang-{lang}", "exercise"))
    before = deepcopy(nb)
    one = single(nb, lang)
    validate(one)
    assert sources(one) == [prose, "$$\nx\n$$ (eq-x)", "1 + 1", nb.cells[-1].source]
    assert one.cells[2].metadata == {"mystnb": {"image": {"alt": alt}}} and one.cells[3].metadata.tags == ["exercise"]
    assert nb == before and single(one, lang) == one


def test_selecting_leaves_the_notebook_alone(nb):
    before = str(nb)
    select(nb, "zh"), select(nb, "both")
    assert str(nb) == before


def test_twins_with_other_headings_are_refused():
    with pytest.raises(ValueError, match="heading structure differs"):
        merge("## 一", "### One")


def test_a_heading_inside_a_code_block_is_none():
    assert [level for _, level, _, _ in segments("# A\n\n```\n# no\n```\n\n## B")] == [1, 2]


def test_labels_of_the_second_twin_go():
    assert unlabel("$$\nx\n$$ (eq-x)") == "$$\nx\n$$"
    assert (
        unlabel("`````{admonition} T\n:class: exercise\n:name: ex-a\n\nbody\n`````")
        == "`````{admonition} T\n:class: exercise\n\nbody\n`````"
    )


@pytest.mark.parametrize("mode, text", [("zh", "图"), ("en", "picture"), ("both", "图 | picture")])
def test_pairs_are_trimmed(mode, text):
    assert trim_pair(inline_pair({"zh": "图", "en": "picture"}, "alt"), mode) == text
    assert trim_pair("a | b | c", mode) == "a | b | c"


def test_an_exercise_is_titled_by_its_first_line():
    cell = markdown("**练习：填空**\n\n一加一？", "lang-zh", "exercise", label="ex-one")
    with_label(cell)
    assert cell["source"] == "`````{admonition} 练习：填空\n:class: exercise\n:name: ex-one\n\n一加一？\n`````"


def test_a_formula_is_labelled_for_the_site_only():
    cell = markdown("$$\nx\n$$\n", label="eq-x")
    with_label(cell)
    assert cell["source"] == "$$\nx\n$$ (eq-x)"


def test_a_label_on_anything_else_is_refused():
    with pytest.raises(ValueError, match="eq-x is no formula, exercise or question"):
        with_label(markdown("Some text.", label="eq-x"))
