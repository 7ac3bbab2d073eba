"""The cost explorer: its counts are those of loops, its bytes those of real arrays, and the page shows both."""

import itertools
import re
import xml.etree.ElementTree as ET
from functools import partial

import numpy as np
import pytest

import attention_mechanism as am
import attention_widgets as aw
from attention_widgets.cost_explorer import BYTES, HEADS, LENGTHS, WIDTHS, crossing, memory, size, work
from bilingual import LANGS
from conftest import ROOT, run

CHAPTER = "08_cost_and_memory.html"
SEEN = (ROOT / "tests" / "seen_in_the_cost_explorer.js").read_text("utf-8")
HAN = re.compile("[\u3400-\u9fff]")
ESM = aw.CostExplorer._esm
NAMES = ("n", "d_model", "n_head", "dtype", "output_projection", "by_rows")
START = dict(zip(NAMES, (512, 512, 8, "float32", True, False), strict=True))
STATES = [
    dict(zip(NAMES, values, strict=True))
    for values in itertools.product((32, 256, 1024, 131072), WIDTHS, HEADS, BYTES, (True, False), (True, False))
    if values[1] % values[2] == 0
]
FEW = [START, *STATES[1::57], STATES[-1]]


# ---------------------------------------------------------------- counts
def multiply_adds_of_a_product(rows, inner, columns):
    """Counted one by one: each cell of (rows, inner)(inner, columns) takes one multiply–add for each inner index."""
    return sum(1 for _ in itertools.product(range(rows), range(columns), range(inner)))


@pytest.mark.parametrize("n, d", [(3, 4), (8, 4), (5, 8)])
@pytest.mark.parametrize("output_projection", [True, False])
def test_counts_are_those_of_loops_whatever_the_number_of_heads(n, d, output_projection):
    projections = sum(multiply_adds_of_a_product(n, d, d) for _ in range(4 if output_projection else 3))
    for n_head in (1, 2, 4):
        d_k = d // n_head
        one = multiply_adds_of_a_product(n, d_k, n) + multiply_adds_of_a_product(n, n, d_k)  # QKᵀ, then AV
        assert work(n, d, output_projection) == (projections, n_head * one)


def test_the_known_ratios():
    """Of the ledger of this course: with W_O, the n² part over the projections is n / 2d."""
    for n, ratio in ((128, 0.125), (512, 0.5), (1024, 1), (4096, 4)):
        projections, attention = work(n, 512)
        assert attention / projections == ratio


@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("output_projection", [True, False])
def test_the_n2_part_rules_beyond_the_crossing_and_nowhere_before(d, output_projection):
    at = crossing(d, output_projection)
    for n in (*LENGTHS, at - 1, at, at + 1):
        projections, attention = work(n, d, output_projection)
        assert np.sign(attention - projections) == np.sign(n - at)


# ---------------------------------------------------------------- bytes
@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("n, d, n_head", [(5, 4, 1), (7, 8, 2), (3, 8, 8)])
def test_bytes_are_those_of_arrays(dtype, n, d, n_head):
    rng = np.random.default_rng(0)
    X, *W = (rng.normal(size=(rows, d)).astype(dtype) for rows in (n, d, d, d, d))
    Y, A = am.multi_head_attention(X, X, *W, n_head)
    vectors = sum((X @ projection).nbytes for projection in W[:3]) + Y.nbytes
    assert memory(n, d, n_head, BYTES[dtype]) == (A.nbytes, vectors, sum(matrix.nbytes for matrix in W))
    assert memory(n, d, n_head, BYTES[dtype], False)[2] == sum(matrix.nbytes for matrix in W[:3])


@pytest.mark.parametrize("n", [50, 128, 300])
def test_by_rows_holds_one_block_of_one_head_and_does_the_same_work(monkeypatch, n):
    blocks, masked = [], am._masked
    monkeypatch.setattr(am, "_masked", lambda S, mask: (blocks.append(S), masked(S, mask))[1])
    Q, K, V = np.random.default_rng(0).normal(size=(3, 4, n, 2)).astype(np.float32)  # four heads
    am.attention_by_rows(Q, K, V)
    block = aw.CostExplorer()._block
    assert max(S.nbytes for S in blocks) == memory(n, 8, 4, 4, block=block)[0]
    assert sum(S.size for S in blocks) * 4 == memory(n, 8, 4, 4)[0]


def test_javascript_counts_what_python_counts():
    lists = run(ESM, "[m.LENGTHS, m.WIDTHS, m.HEADS, m.BYTES]")
    assert lists == [list(LENGTHS), list(WIDTHS), list(HEADS), BYTES]
    parts = "m.work(s.n, s.d_model, s.output_projection), m.crossing(s.d_model, s.output_projection), m.memory(s, 128)"
    expression = f"given.map((s) => [{parts}])"
    for state, (parts, at, bytes_) in zip(STATES, run(ESM, expression, STATES), strict=True):
        explorer = aw.CostExplorer(**state)
        assert (parts["projections"], parts["attention"]) == explorer.work and at == explorer.crossing
        assert (bytes_["held"], bytes_["vectors"], bytes_["parameters"]) == explorer.memory
        assert bytes_["all"] == aw.CostExplorer(**state | {"by_rows": False}).memory[0]


def test_a_width_keeps_as_many_heads_as_divide_it():
    given = [[8, 128], [96, 128], [96, 512], [12, 1024], [12, 768], [96, 768], [1, 128]]
    assert run(ESM, "given.map((x) => m.fitting(...x))", given) == [8, 64, 64, 8, 12, 96, 1]


# ---------------------------------------------------------------- numbers and sentences
@pytest.mark.parametrize("count, text", [
    (0, "0 B"), (1, "1 B"), (999, "999 B"), (1000, "0.977 KiB"), (1023, "0.999 KiB"), (1024, "1 KiB"),
    (1023 * 2**10, "0.999 MiB"), (1023.6 * 2**10, "1 MiB"), (999.4 * 2**20, "999 MiB"), (999.5 * 2**20, "0.976 GiB"),
    (2**30, "1 GiB"), (2.25 * 2**30, "2.25 GiB"), (6 * 2**40, "6 TiB"), (96 * 131072**2 * 4, "6 TiB"), (2**43, "8 TiB"),
    (1.125 * 2**30, "1.13 GiB"),
])  # fmt: skip
def test_bytes_as_text(count, text):
    assert size(count) == run(ESM, "m.size(given)", count) == text


def test_counts_and_shares_as_text():
    given = [7, 999, 999.5, 1000, 268435456, 999499999, 999500000, 1.2345e12, 4.2e14]
    assert run(ESM, "given.map(m.count)", given) == [
        "7", "999", "1 k", "1 k", "268 M", "999 M", "1 G", "1.23 T", "420 T",
    ]  # fmt: skip
    assert run(ESM, "[0.5, 1 / 3, 32 / 24608, 512 / 513].map(m.percent)") == ["50%", "33.3%", "0.13%", "99.8%"]


def test_no_number_has_more_than_three_digits():
    expression = """given.flatMap((s) => {
      const w = Object.values(m.work(s.n, s.d_model, s.output_projection)), bytes = Object.values(m.memory(s, 128));
      return [...w.map(m.count), ...w.map((x) => m.percent(x / (w[0] + w[1]))), ...bytes.map(m.size)];
    })"""
    for text in set(run(ESM, expression, STATES)):
        digits = re.fullmatch(r"(\d+(?:\.\d+)?)( [kMGT]| [KMGT]iB|%)", text)[1]
        assert len(digits.replace(".", "").lstrip("0")) <= 3 and digits not in ("0", "100")


@pytest.mark.parametrize("change, zh, en", [
    ({}, "n = 512 < 2d = 1024：投影占乘加的 66.7%；n 超过 2d，QKᵀ 和 AV（n²）才更多。8 个头的权重共占 8 MiB。",
     "n = 512 < 2d = 1024: the projections take 66.7% of the multiply–adds; only beyond 2d do QKᵀ and AV (n²) take "
     "more. The weights of 8 heads take 8 MiB."),
    ({"n": 1024, "n_head": 1, "dtype": "float16"},
     "n = 1024 = 2d：投影占乘加的 50%，QKᵀ 和 AV（n²）也占 50%。1 个头的权重共占 2 MiB。",
     "n = 1024 = 2d: the projections take 50% of the multiply–adds, QKᵀ and AV (n²) the other 50%. The weights of 1 "
     "head take 2 MiB."),
    ({"n": 4096, "output_projection": False, "by_rows": True},
     "n = 4096 > 1.5d = 768：QKᵀ 和 AV（n²）占乘加的 84.2%。按行分块，一次只存一个头的 128 行权重：2 MiB，"
     "而不是 512 MiB；乘加次数不变。",
     "n = 4096 > 1.5d = 768: QKᵀ and AV (n²) take 84.2% of the multiply–adds. By rows, 128 rows of one head's weights "
     "are held: 2 MiB, not 512 MiB; the work is the same."),
    ({"n": 32, "n_head": 1, "by_rows": True}, "32 行权重：4 KiB，与全部一样多；",
     "32 rows of one head's weights are held: 4 KiB, as much as all of them;"),
])  # fmt: skip
def test_the_sentence_says_which_part_rules_and_what_the_weights_take(change, zh, en):
    said = run(ESM, "m.verdict(given, 128)", START | change)
    assert zh in said[0] and en in said[1]
    assert not HAN.search(said[1])


# ---------------------------------------------------------------- the traits
def test_the_page_moves_python():
    explorer = aw.CostExplorer()
    explorer.set_state({"d_model": 768, "n_head": 12})
    explorer.set_state({"n": 128, "by_rows": True, "dtype": "float16"})
    assert explorer.memory == (2 * 128 * 128, 2 * 4 * 128 * 768, 2 * 4 * 768**2)


@pytest.mark.parametrize("name, value, words", [
    *(("n", n, "n is .*; it must be one of 32, 64, .*, 131072") for n in (31, 48, 262144, 64.0, "64", None, True)),
    ("d_model", 500, "d_model is 500; it must be one of 128, .*, 12288"),
    ("d_model", np.ones(1), "d_model is .*; it must be one of"),
    ("n_head", 3, "n_head is 3; it must be one of 1, 2, 4, 8, 12, 16, 32, 64, 96"),
    ("n_head", 12, "n_head = 12 does not divide d_model = 512; n_head may be 1, 2, 4, 8, 16, 32, 64$"),
    ("dtype", "float64", "dtype is 'float64'; it must be 'float32' or 'float16'"),
])  # fmt: skip
def test_what_does_not_fit_is_named_and_taken_back(name, value, words):
    explorer = aw.CostExplorer()
    before = repr(explorer)
    with pytest.raises(aw.Misfit, match=words):
        setattr(explorer, name, value)
    assert repr(explorer) == before
    with pytest.raises(ValueError, match=words):
        aw.CostExplorer(**{name: value})


def test_heads_that_divide_no_more_are_refused_from_either_side():
    explorer = aw.CostExplorer(d_model=768, n_head=12)
    with pytest.raises(aw.Misfit, match="n_head = 12 does not divide d_model = 1024"):
        explorer.d_model = 1024
    with pytest.raises(aw.Misfit, match="n_head = 12 does not divide d_model = 128"):
        explorer.set_state({"d_model": 128})
    assert (explorer.d_model, explorer.n_head) == (768, 12)


def test_repr_is_stable():
    expected = "CostExplorer(n=64, d_model=768, n_head=12, dtype='float16', output_projection=False, by_rows=True)"
    assert repr(aw.CostExplorer(np.int64(64), 768, 12, "float16", False, True)) == expected


@pytest.mark.parametrize("by_rows, weights", [
    (False, {"32 KiB", "2 GiB", "512 GiB"}), (True, {"4 KiB", "4 MiB", "64 MiB"}),
])  # fmt: skip
def test_still_says_it_without_javascript(by_rows, weights):
    root = ET.fromstring(aw.CostExplorer(by_rows=by_rows).still)
    space = "{http://www.w3.org/2000/svg}"
    zh, en = root.find(f"{space}title").text.split(" | ")
    assert HAN.search(zh) and not HAN.search(en) and "d = 512, 8 heads, float32" in en
    texts = [text.text for text in root.iter(f"{space}text")]
    rows = dict(zip(texts[1:15:2], texts[2:15:2], strict=True))
    assert rows["n=32"] == f"{32 / (32 + 1024):.4f}" and rows["n=131072"] == f"{128 / 129:.4f}"
    assert weights <= set(texts[15:]) and not HAN.search("".join(texts))


# ---------------------------------------------------------------- the page
@pytest.fixture
def explorer(open_widget):
    """explorer(view, **context options) -> the page and the widget in it."""
    return partial(open_widget, CHAPTER, ".attn-cost")


def move(widget, n, d_model, n_head, dtype, output_projection, by_rows):
    """As a reader would: the width before the heads, which it may change."""
    widget.get_by_role("slider").fill(str(LENGTHS.index(n)))
    for menu, value in zip(widget.get_by_role("combobox").all(), (d_model, n_head, dtype), strict=True):
        menu.select_option(str(value))
    for box, on in zip(widget.get_by_role("checkbox").all(), (output_projection, by_rows), strict=True):
        box.set_checked(on)


def three_digits(count):
    """A bare number of the page, as Python writes it."""
    for unit in ("", " k", " M", " G", " T"):
        if float(f"{count:.3g}") < 1000:
            return f"{count:.3g}{unit}"
        count /= 1000


def test_pictures_and_sentence_show_what_python_computes(explorer):
    page, widget = explorer()
    heights = set()
    for state in FEW:
        move(widget, **state)
        expected, seen = aw.CostExplorer(**state), widget.evaluate(SEEN)
        d, output = state["d_model"], state["output_projection"]
        parts = np.array([work(n, d, output) for n in LENGTHS])
        for line, counts in zip(seen["lines"], (parts.sum(axis=1), *parts.T), strict=True):
            np.testing.assert_allclose(line, np.transpose([LENGTHS, counts]), rtol=2e-3)  # a hundredth of a pixel
        at, count = seen["crossing"]
        assert at == pytest.approx(expected.crossing)
        np.testing.assert_allclose(work(expected.crossing, d, output), count, rtol=1e-6)
        assert seen["n"] == pytest.approx(state["n"])
        np.testing.assert_allclose(seen["shares"], np.array(expected.work) / sum(expected.work), atol=1e-6)
        assert seen["joined"] == pytest.approx(0, abs=1e-6)
        np.testing.assert_allclose(seen["memory"], expected.memory, rtol=1e-6)
        np.testing.assert_allclose(seen["stems"], expected.memory, rtol=1e-6)
        whole = aw.CostExplorer(**state | {"by_rows": False}).memory[0]
        assert seen["all"] == pytest.approx(whole)
        held, vectors, parameters = map(size, expected.memory)
        numbers = {f"{held} (○ {size(whole)})" if state["by_rows"] else held, vectors, parameters}
        numbers |= {f"n = {state['n']}", f"n = {2 if output else 1.5}d = {expected.crossing:.0f}"}
        numbers |= {three_digits(count) for count in (*expected.work, sum(expected.work))}
        numbers |= {"4nd²", "Q, K, V, Y"} if output else {"3nd²", "Q, K, V, Z"}
        assert numbers <= set(seen["texts"])
        heights.add(widget.bounding_box()["height"])
    assert len(heights) == 1 and page.log.console == []


def test_keys_menus_and_reset(explorer):
    page, widget = explorer()
    n, (d, heads, dtype) = widget.get_by_role("slider"), widget.get_by_role("combobox").all()
    before = widget.locator(".attn-verdict").inner_text()
    n.press("ArrowRight")
    assert n.get_attribute("aria-valuetext") == "1024"
    told = widget.locator(".attn-told")
    assert told.text_content() == widget.locator(".attn-verdict").inner_text()
    assert told.text_content().startswith("n = 1024 = 2d: the projections take 50% of the multiply–adds, QKᵀ")
    n.press("End")
    assert n.get_attribute("aria-valuetext") == "131072"
    d.select_option("768")
    heads.select_option("96")
    d.select_option("1024")
    assert heads.input_value() == "64" and "The weights of 64 heads take 4 TiB." in told.text_content()
    off = heads.locator("option:disabled").all_inner_texts()
    assert off == ["12", "96"]
    widget.get_by_role("checkbox").last.focus()
    page.keyboard.press(" ")
    assert "held: 64 MiB, not 4 TiB; the work is the same." in told.text_content()
    dtype.select_option("float16")
    assert "held: 32 MiB, not 2 TiB;" in told.text_content()
    titles, descriptions = (widget.locator(f"svg {kind}").all_text_contents() for kind in ("title", "desc"))
    assert titles[2] == "memory (logarithmic, each step 32-fold)"
    assert descriptions[0] == "n = 131072, d = 1024: projections 550 G, QKᵀ + AV 35.2 T; equal at n = 2048"
    assert descriptions[1] == "projections 550 G, 1.54%; QKᵀ + AV 35.2 T, 98.5%; sum 35.7 T, 100%"
    assert descriptions[2] == "weights A 32 MiB (○ 2 TiB); Q, K, V, Y 1 GiB; parameters W 8 MiB"
    widget.get_by_role("button", name="Reset").click()
    assert told.text_content() == before == widget.locator(".attn-verdict").inner_text()
    assert n.get_attribute("aria-valuetext") == "512"
    assert [menu.input_value() for menu in (d, heads, dtype)] == ["512", "8", "float32"]
    for control in widget.locator("input, select").all():
        assert control.get_attribute("data-lm-suppress-shortcuts") == "true"
        assert page.locator(f'label[for="{control.get_attribute("id")}"]').inner_text()


FIT = (ROOT / "tests" / "seen_to_fit.js").read_text("utf-8")
LONG = [
    START,
    START | {"n": 16384, "d_model": 12288, "n_head": 96, "by_rows": True},
    START | {"n": 131072, "d_model": 12288, "n_head": 32, "output_projection": False, "by_rows": True},
]


@pytest.mark.parametrize("view, has_zh, has_en", [("zh", True, False), ("en", False, True), ("both", True, True)])
@pytest.mark.parametrize("width", [320, 360, 620, 1400])
def test_it_speaks_the_page_s_language_and_stays_in_place(explorer, view, has_zh, has_en, width):
    page, widget = explorer(view, viewport={"width": width, "height": 740})
    heights = set()
    for state in LONG:
        move(widget, **state)
        heights.add(widget.bounding_box()["height"])
        fit = widget.evaluate(FIT)
        assert fit["out"] == [] and fit["least"] >= 24
    assert len(heights) == 1 and page.evaluate("document.documentElement.scrollWidth") == width
    words = widget.inner_text() + "".join(widget.locator("svg title, svg desc, .attn-told").all_text_contents())
    assert bool(HAN.search(words)) == has_zh and bool(re.search("multiply–adds", words)) == has_en
    for node in widget.locator("[lang]").all():
        assert bool(HAN.search(node.text_content())) == (node.get_attribute("lang") == LANGS["zh"])


def test_by_touch(explorer):
    page, widget = explorer(viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    n = widget.get_by_role("slider")
    box = n.bounding_box()
    n.tap(position={"x": box["width"] - 4, "y": box["height"] / 2})
    widget.get_by_role("checkbox").last.tap()
    assert n.get_attribute("aria-valuetext") == "131072"
    assert "not 512 GiB" in widget.locator(".attn-verdict").inner_text()


@pytest.mark.parametrize("view", ["zh", "en", "both"])
def test_without_javascript_shares_and_memory_are_there(open_page, site_url, view):
    page = open_page(java_script_enabled=False)
    page.goto(f"{site_url}/{view}/{CHAPTER}")
    still = page.locator(".widget-still svg", has_text="(QKᵀ + AV) / Σ")
    assert still.is_visible() and "0.3333" in still.text_content() and "512 GiB" in still.text_content()
    assert bool(HAN.search(still.locator("title").text_content())) == (view != "en")
