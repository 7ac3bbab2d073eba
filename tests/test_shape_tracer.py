"""The shape tracer: its shapes are NumPy's, its counts those of loops, and Python, JavaScript and the page agree."""

import re
import xml.etree.ElementTree as ET
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import attention_mechanism as am
import attention_widgets as aw
from attention_widgets.shape_tracer import multiplications, shapes
from bilingual import LANGS
from conftest import run

CHAPTER = "02_derivation.html"
WIDGET = ".afm-view:has(.attn-tracer)"
HAN = re.compile("[\u3400-\u9fff]")
NAMES = ("n_q", "n_k", "d_model", "d_k", "d_v")
PROJECTIONS, MIXING = {"Q", "K", "V", "Y"}, {"S", "Z"}


def sizes(*numbers, **more):
    return dict(zip(NAMES, numbers, strict=True)) | more


def random_states(n=200):
    """States as the page may hold them."""
    rng = np.random.default_rng(39)
    for _ in range(n):
        n_q, n_k, *widths = (int(x) for x in 2 ** rng.uniform(0, [12, 12, 10, 10, 10]))
        same, project = (bool(x) for x in rng.integers(0, 2, 2))
        yield sizes(n_q, n_q if same else n_k, *widths, self_attention=same, output_projection=project)


# ---------------------------------------------------------------- mathematics
def run_numpy(n_q, n_k, d_model, d_k, d_v):
    """Every matrix of one head, computed."""
    rng = np.random.default_rng(0)
    M = {"X_q": rng.normal(size=(n_q, d_model)), "X_s": rng.normal(size=(n_k, d_model))}
    M |= {"W_Q": rng.normal(size=(d_model, d_k)), "W_K": rng.normal(size=(d_model, d_k))}
    M |= {"W_V": rng.normal(size=(d_model, d_v)), "W_O": rng.normal(size=(d_v, d_model))}
    M |= {"Q": M["X_q"] @ M["W_Q"], "K": M["X_s"] @ M["W_K"], "V": M["X_s"] @ M["W_V"]}
    M |= {"Kᵀ": M["K"].T, "S": am.dot_scores(M["Q"], M["K"]), "S̃": am.scaled_scores(M["Q"], M["K"])}
    M["Z"], M["A"] = am.scaled_dot_product_attention(M["Q"], M["K"], M["V"])
    M["Y"] = M["Z"] @ M["W_O"]
    return M


@pytest.mark.parametrize("numbers", [(3, 3, 4, 4, 2), (1, 3, 4, 4, 2), (5, 9, 8, 4, 6), (7, 1, 2, 3, 5)])
def test_shapes_are_those_of_the_arrays(numbers):
    computed = {name: M.shape for name, M in run_numpy(*numbers).items()}
    assert shapes(*numbers, output_projection=True) == computed
    assert shapes(*numbers) == {name: shape for name, shape in computed.items() if name not in ("W_O", "Y")}


def loops(left, right):
    """The multiplications of a product, counted one by one."""
    count = 0
    for row in left:
        for column in right.T:
            for _ in zip(row, column, strict=True):
                count += 1
    return count


@pytest.mark.parametrize("numbers", [(3, 3, 4, 4, 2), (1, 3, 4, 4, 2), (5, 9, 8, 4, 6), (7, 1, 2, 3, 5)])
def test_multiplications_are_those_of_loops(numbers):
    M = run_numpy(*numbers)
    pairs = [("X_q", "W_Q"), ("X_s", "W_K"), ("X_s", "W_V"), ("Q", "Kᵀ"), ("A", "V"), ("Z", "W_O")]
    counted = {result: loops(M[left], M[right]) for result, (left, right) in zip("QKVSZY", pairs, strict=True)}
    assert multiplications(*numbers, output_projection=True) == counted
    assert list(multiplications(*numbers)) == list("QKVSZ")


@pytest.mark.parametrize("n, ratio", [(128, 0.125), (512, 0.5), (1024, 1.0), (4096, 4.0)])
def test_the_known_ratios_of_a_head_of_width_512(n, ratio):
    tracer = aw.ShapeTracer(n, d_model=512, d_k=512, d_v=512, output_projection=True)
    assert tracer.ratio == ratio and tracer.equal_at == 1024
    assert aw.ShapeTracer(n, d_model=512, d_k=512, d_v=512).equal_at == 768


def costs(state):
    """Projections, and scores with weighted sums."""
    counts = multiplications(**{name: value for name, value in state.items() if name != "self_attention"})
    return tuple(sum(counts[name] for name in part & set(counts)) for part in (PROJECTIONS, MIXING))


def test_both_parts_cost_the_same_where_it_says_so_and_nowhere_else():
    never = 0
    for state in random_states():
        at = aw.ShapeTracer(**state).equal_at
        there = {"n_q": at, "n_k": at} if state["self_attention"] else {"n_k": at}
        if at is not None:
            projections, mixing = costs(state | there)  # exact: `at` is a Fraction
            assert isinstance(at, Fraction) and projections == mixing
            projections, mixing = costs(state | dict.fromkeys(there, at + 1))
            assert mixing > projections
        else:
            never += 1
            projections, mixing = costs(state | {"n_k": 10**9})
            assert not state["self_attention"] and projections > mixing
    assert never > 10


def test_javascript_counts_what_python_counts():
    states = list(random_states())
    given = "given.map((s) => [m.shapes(s), m.multiplications(s), m.totals(s), m.equalAt(s)])"
    for state, (js_shapes, counts, totals, at) in zip(states, run(aw.ShapeTracer._esm, given, states), strict=True):
        tracer = aw.ShapeTracer(**state)
        assert {name: tuple(shape) for name, shape in js_shapes.items()} == tracer.shapes
        assert counts == tracer.multiplications
        assert totals["total"] == sum(tracer.multiplications.values()) == totals["projections"] + totals["mixing"]
        assert totals["ratio"] == tracer.ratio and totals["stored"] == tracer.n_q * tracer.n_k
        assert at == (None if tracer.equal_at is None else float(tracer.equal_at))


def test_numbers_are_written_out_with_thin_spaces():
    given = [0, 48, 1024, 34359738368, 20 / 3, 0.125, 1 / 1536, 0.00001, 2730.666]
    written = [x.replace("\u202f", " ") for x in run(aw.ShapeTracer._esm, "given.map(m.grouped)", given)]
    assert written == ["0", "48", "1 024", "34 359 738 368", "6.67", "0.125", "0.000651", "0.00001", "2 730.67"]
    assert run(aw.ShapeTracer._esm, "[0.00049, 0.0005, 0.9996, 1].map(m.percent)") == [
        "<0.1%",
        "0.1%",
        ">99.9%",
        "100.0%",
    ]


@pytest.mark.parametrize("state, zh, en", [
    (sizes(3, 3, 4, 4, 2, self_attention=True), "比值 0.45：投影较多。其他大小不变，n ≈ 6.67 时",
     "take 54 multiplications, the projections 120, a ratio of 0.45: the projections cost more. .* at n ≈ 6.67;"),
    (sizes(1024, 1024, 512, 512, 512, self_attention=True, output_projection=True), "比值 1：一样多。.*n = 1 024 时",
     "a ratio of 1: both cost the same. .* at n = 1 024;"),
    (sizes(4096, 4096, 512, 512, 512, self_attention=True, output_projection=True), "比值 4：投影较少",
     "a ratio of 4: the projections cost less"),
    (sizes(5, 9, 8, 4, 6), "只要 n_q ≤ d_model，键再多，也是投影较多", "however many keys"),
    (sizes(16, 9, 8, 4, 4), "n_k = 8 时", "equal at n_k = 8;"),
])  # fmt: skip
def test_the_sentence_says_which_part_is_larger_and_where_both_are_equal(state, zh, en):
    said = [
        text.replace("\u00a0", " ").replace("\u202f", " ")
        for text in run(aw.ShapeTracer._esm, "m.verdict(given)", state)
    ]
    assert re.search(zh, said[0]) and re.search(en, said[1])


# ---------------------------------------------------------------- the traits
def test_self_attention_keeps_both_lengths_equal():
    tracer = aw.ShapeTracer()
    tracer.n_k = 7
    assert tracer.n_q == 7
    tracer.n_q = 5
    assert tracer.n_k == 5
    tracer.self_attention = False
    tracer.n_k = 9
    assert (tracer.n_q, tracer.n_k) == (5, 9)
    tracer.self_attention = True
    assert (tracer.n_q, tracer.n_k) == (5, 5)


def test_the_page_moves_python():
    tracer = aw.ShapeTracer()
    tracer.set_state({"n_q": 8, "n_k": 8})  # as a slider sends them
    assert tracer.shapes["S"] == (8, 8) and tracer.multiplications["S"] == 256
    tracer.set_state(sizes(5, 9, 8, 4, 6, self_attention=False, output_projection=True))  # as a preset does
    assert tracer.shapes["S"] == (5, 9) and tracer.shapes["Y"] == (5, 8)


def test_two_lengths_mean_cross_attention():
    assert aw.ShapeTracer(4).self_attention and aw.ShapeTracer(4).n_k == 4
    assert not aw.ShapeTracer(5, 9).self_attention
    assert not aw.ShapeTracer(4, self_attention=False).self_attention


@pytest.mark.parametrize("value", [0, -1, 4097, 2.5, 3.0, "3", None, True, float("nan")])
def test_a_size_that_is_none_is_named_and_taken_back(value):
    tracer = aw.ShapeTracer()
    with pytest.raises(aw.Misfit, match=r"n_q is .*; it must be a whole number from 1 to 4096"):
        tracer.n_q = value
    assert tracer.n_q == tracer.n_k == 3


def test_what_does_not_fit_at_the_start():
    with pytest.raises(ValueError, match="d_k is 1025; it must be a whole number from 1 to 1024"):
        aw.ShapeTracer(d_k=1025)
    with pytest.raises(ValueError, match="self-attention needs n_q = n_k, but they are 3 and 4"):
        aw.ShapeTracer(3, 4, self_attention=True)
    assert type(aw.ShapeTracer(np.int64(6)).n_q) is int


def test_repr_is_stable():
    expected = "n_q=3, n_k=3, d_model=4, d_k=4, d_v=2, output_projection=False, self_attention=True"
    assert repr(aw.ShapeTracer()) == repr(aw.ShapeTracer()) == f"ShapeTracer({expected})"


def test_still_says_it_without_javascript():
    root = ET.fromstring(aw.ShapeTracer(5, 9, 8, 4, 6, output_projection=True).still)
    space = "{http://www.w3.org/2000/svg}"
    zh, en = root.find(f"{space}title").text.split(" | ")
    assert HAN.search(zh) and not HAN.search(en)
    texts = ["".join(text.itertext()) for text in root.iter(f"{space}text")]
    assert "S = Q Kᵀ:  (5×4)(4×9) → 5×9" in texts and "5·4·9 = 180" in texts and "Y = Z WO:  (5×6)(6×8) → 5×8" in texts
    assert not HAN.search("".join(texts))
    widths = [float(bar.get("width")) for bar in root.iter(f"{space}rect")]
    np.testing.assert_allclose(widths, np.array([160, 288, 432, 180, 270, 240]) * 150 / 432, atol=0.06)
    one = "".join(ET.fromstring(aw.ShapeTracer().still).itertext())
    assert "Q = X WQ" in one and "Xq" not in one and "Y =" not in one


# ---------------------------------------------------------------- the page
@pytest.fixture
def tracer(open_widget):
    """tracer(view, **context options) -> the page and the widget in it."""
    return partial(open_widget, CHAPTER, WIDGET)


def rows(widget):
    """The table as it is seen: first cell without its formula -> the other cells."""
    found = {}
    for line in widget.locator("tbody tr, tfoot tr").all():
        if line.is_visible():
            head, *cells = (re.sub(r"\s+", " ", text).strip() for text in line.locator("th, td").all_inner_texts())
            found[head.split(" = ")[0]] = cells
    return found


def integer(text):
    return int("".join(re.findall(r"\d", text)))


def test_every_preset_shows_what_python_counts(tracer):
    page, widget = tracer()
    options = widget.locator("select option").all_text_contents()[:-1]
    assert len(options) == 7
    known = [sizes(3, 3, 4, 4, 2), sizes(1, 3, 4, 4, 2), sizes(5, 9, 8, 4, 6)]
    known += [sizes(n, n, 512, 512, 512, output_projection=True) for n in (128, 512, 1024, 4096)]
    for i, state in enumerate(known):
        widget.locator("select").select_option(index=i)
        expected, seen = aw.ShapeTracer(**state), rows(widget)
        total = sum(expected.multiplications.values())
        for result, count in expected.multiplications.items():
            shown, multiplied, share = seen[result]
            assert integer(multiplied) == count and share == f"{100 * count / total:.1f}%"
            assert shown.endswith("→ {}×{}".format(*expected.shapes[result]))
        assert integer(seen["S̃"][1]) == integer(seen["A"][1]) == expected.n_q * expected.n_k
        assert ("Y" in seen) == expected.output_projection
        assert integer(seen["total"][0]) == total and seen["total"][1] == "100.0%"
        assert integer(seen["numbers to store in S, and in A"][0]) == expected.n_q * expected.n_k


def test_sides_are_in_proportion_or_marked(tracer):
    page, widget = tracer()
    for preset in ("0", "2", "3", "6"):
        widget.locator("select").select_option(preset)
        check_proportions(widget)
    widget.locator("select").select_option("6")
    widget.locator("input[type=range]").nth(3).press("Home")  # d_k = 1 beside n = 4096
    assert check_proportions(widget) >= 4


def test_the_bar_behind_a_share_is_as_long_as_its_number_says(tracer):
    page, widget = tracer()
    for preset in ("0", "2", "6"):
        widget.locator("select").select_option(preset)
        cells = widget.locator("tbody td:last-child").filter(visible=True, has_text="%").all()
        pairs = [(td.inner_text(), td.evaluate("e => e.style.getPropertyValue('--attn-share')")) for td in cells]
        assert len(pairs) >= 5
        assert all(abs(float(text.strip("%")) - float(bar.strip("%"))) <= 0.05 for text, bar in pairs), pairs


def check_proportions(widget):
    """Compare each rectangle with its printed shape; the number of sides that are marked as drawn thicker."""
    seen = widget.evaluate("""(widget) => [...widget.querySelectorAll("figure:not([hidden]) svg")].map((svg) => ({
      boxes: [...svg.querySelectorAll(".attn-matrix")].map((e) => e.getBBox()).map((box) => [box.width, box.height]),
      texts: [...svg.querySelectorAll("text")].map((t) => t.textContent),
    }))""")
    pairs, marks, thin = [], 0, 0
    for svg in seen:
        shown = [tuple(map(int, text.split("×"))) for text in svg["texts"] if re.fullmatch(r"\d+×\d+", text)]
        assert len(shown) == len(svg["boxes"]) == 3
        for (rows, columns), (width, height) in zip(shown, svg["boxes"], strict=True):
            pairs += [(rows, height), (columns, width)]
        marks += sum(text.endswith("*") for text in svg["texts"])
    unit = 64 / max(size for size, _ in pairs)
    for size, length in pairs:
        thin += size * unit < 3
        assert length == pytest.approx(max(3, size * unit), rel=1e-5)  # a box of the browser has single precision
    assert marks == thin
    return thin


def test_inner_sides_agree_and_bear_brackets_of_one_length(tracer):
    page, widget = tracer()
    widget.locator("select").select_option("2")
    for svg in widget.locator("svg").all()[:6]:
        letters = svg.locator("text.attn-tick.attn-strong").all_text_contents()
        brackets = svg.locator(".attn-bracket")
        lengths = brackets.evaluate_all("(all) => all.map((e) => Math.max(e.getBBox().width, e.getBBox().height))")
        lengths = [length for length in lengths if length]
        assert len(letters) == len(lengths) in (0, 2)
        if letters:
            assert letters[0] == letters[1] and lengths[0] == pytest.approx(lengths[1])


@pytest.mark.parametrize("view", ["zh", "en", "both"])
def test_sliders_move_picture_and_table_and_the_page_stays(tracer, view):
    page, widget = tracer(view)
    height = widget.bounding_box()["height"]
    sliders = widget.locator("input[type=range]")
    assert sliders.count() == 5
    for i in range(5):
        pictures, table = widget.locator(".attn-panes").nth(1), widget.locator("table")
        before = pictures.inner_html(), table.inner_text(), sliders.nth(i).get_attribute("aria-valuetext")
        sliders.nth(i).press("ArrowRight")
        after = pictures.inner_html(), table.inner_text(), sliders.nth(i).get_attribute("aria-valuetext")
        assert all(old != new for old, new in zip(before, after, strict=True))
        sliders.nth(i).press("End")
        assert widget.bounding_box()["height"] == height
        widget.locator("button").click()  # reset
    assert page.log.console == []


@pytest.mark.parametrize("view", ["zh", "en", "both"])
@pytest.mark.parametrize("width", [360, 1300])
def test_the_height_stays_and_nothing_is_cut_off(tracer, view, width):
    page, widget = tracer(view, viewport={"width": width, "height": 740})
    heights = set()
    for i in ("3", "5", "6"):
        widget.locator("select").select_option(i)
        heights.add(widget.bounding_box()["height"])
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert (
            widget.evaluate("""(widget) => [...widget.querySelectorAll("th, td, svg text")].filter((e) => {
          const range = document.createRange();
          range.selectNodeContents(e);
          const text = range.getBoundingClientRect(), home = widget.getBoundingClientRect();
          const cell = e.closest("svg") ? home : e.getBoundingClientRect();
          return text.width && (text.right > Math.min(cell.right, home.right) + 1 || text.left < home.left - 1);
        }).map((e) => e.textContent)""")
            == []
        )
    assert len(heights) == 1
    for control in widget.locator("input, select, button").all():
        box = control.bounding_box()
        assert min(box["width"], box["height"]) >= 24


def test_the_switches_and_reset(tracer):
    page, widget = tracer()
    sliders, switches = widget.locator("input[type=range]"), widget.locator("input[type=checkbox]")
    at_first = rows(widget)
    sliders.nth(1).press("ArrowRight")
    assert rows(widget)["S"][0] == "4×4 · 4×4 → 4×4"  # self-attention: n_q moves too
    assert widget.locator("select").input_value() == "-1"  # no preset any more
    switches.nth(0).uncheck()
    sliders.nth(0).press("Home")
    assert rows(widget)["S"][0] == "1×4 · 4×4 → 1×4"
    assert "Xq" in widget.locator("tbody").inner_text()
    switches.nth(1).check()
    assert rows(widget)["Y"][:2] == ["1×2 · 2×4 → 1×4", "8"]
    switches.nth(0).check()
    assert rows(widget)["S"][0] == "1×4 · 4×1 → 1×1" and "Xq" not in widget.locator("tbody").inner_text()
    widget.get_by_role("button", name="Reset").click()
    assert rows(widget) == at_first and not switches.nth(1).is_checked()


def test_a_movement_is_told_once_when_it_is_finished(tracer):
    page, widget = tracer()
    told, slider = widget.locator(".attn-told"), widget.locator("input[type=range]").first
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2, steps=5)
    assert told.text_content() == ""
    page.mouse.up()
    assert told.text_content() == widget.locator(".attn-verdict").text_content().strip()


@pytest.mark.parametrize("view, has_zh, has_en", [("zh", True, False), ("en", False, True), ("both", True, True)])
def test_it_speaks_the_language_of_the_page(tracer, view, has_zh, has_en):
    page, widget = tracer(view)
    widget.locator("input[type=range]").first.press("ArrowRight")  # so that something is told
    words = widget.inner_text() + "".join(widget.locator("svg title, svg desc, .attn-told").all_text_contents())
    assert bool(HAN.search(words)) == has_zh and bool(re.search("multiplications", words)) == has_en
    for node in widget.locator("[lang]").all():
        assert bool(HAN.search(node.text_content())) == (node.get_attribute("lang") == LANGS["zh"])


def test_each_picture_has_a_name_and_says_its_shapes(tracer):
    page, widget = tracer()
    widget.locator("select").select_option("2")
    first = widget.locator("svg").first
    title, desc = (
        page.locator("#" + first.get_attribute(f"aria-{kind}")).text_content() for kind in ("labelledby", "describedby")
    )
    assert title == "queries" and desc == "X_q 5×8, W_Q 8×4, Q 5×4"


@pytest.mark.parametrize("view", ["zh", "en", "both"])
def test_without_javascript_the_counts_are_there(open_page, site_url, view):
    page = open_page(java_script_enabled=False)
    page.goto(f"{site_url}/{view}/{CHAPTER}")
    still = page.locator(".widget-still svg", has_text="3·4·3 = 36")
    assert still.is_visible()
    assert bool(HAN.search(still.locator("title").text_content())) == (view != "en")
