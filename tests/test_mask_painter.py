"""The mask painter: masks and outputs are NumPy's, leaks are what moves; Python, JavaScript and the page agree."""

import re
import xml.etree.ElementTree as ET
from functools import partial

import numpy as np
import pytest

import attention_mechanism as am
from attention_widgets import MaskPainter, Misfit
from attention_widgets.mask_painter import CHANGE, first_example
from conftest import run

ESM = MaskPainter._esm
CHAPTER = "05_masks.html"
PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
HAN = re.compile("[\u3400-\u9fff]")
SMALL = {"tokens": ["<a>", "b&", "c"], "Q": [[1, 0], [0, 1], [1, 1]], "K": np.eye(3, 2), "V": [[1.0], [-2.0], [3.0]]}


def random_cases(n_cases=150):
    """Matrices and a state each, as the page may hold them."""
    rng = np.random.default_rng(5)
    for _ in range(n_cases):
        n, d_k, d_v = (int(x) for x in rng.integers([2, 1, 1], [7, 5, 4]))
        matrices = {
            name: rng.uniform(-3, 3, (n, d)).round(3).tolist() for name, d in zip("QKV", (d_k, d_k, d_v), strict=True)
        }
        offset = int(rng.integers(0, n))
        keep = rng.random((n - offset, n)) < rng.choice([0.2, 0.5, 0.9])
        switches = {"causal": bool(rng.integers(2)), "n_real": int(rng.integers(0, n + 1)), "offset": offset}
        yield n, matrices, switches | {"mask": keep.tolist(), "changed": bool(rng.integers(2))}


# ---------------------------------------------------------------- the mathematics in JavaScript
def test_causal_mask_is_the_module_s():
    sizes = [(n_q, n_k, offset) for n_q in range(5) for n_k in range(7) for offset in range(7)]
    for size, rows in zip(sizes, run(ESM, "given.map((s) => m.causalMask(...s))", sizes), strict=True):
        np.testing.assert_array_equal(np.array(rows, dtype=bool).reshape(size[:2]), am.causal_mask(*size))


def test_the_switches_set_the_mask_that_loops_set():
    cases = list(random_cases())
    given = [(state, n) for n, _, state in cases]
    for (state, n), rows in zip(given, run(ESM, "given.map((s) => m.maskByRule(...s))", given), strict=True):
        causal, offset = state["causal"], state["offset"]
        expected = [
            [j < state["n_real"] and (not causal or j <= position) for j in range(n)] for position in range(offset, n)
        ]
        switches = {name: state[name] for name in ("causal", "n_real", "offset")}
        assert rows == expected == MaskPainter._by_rule(n, **switches)


def test_javascript_attends_as_numpy_does():
    cases = list(random_cases())
    given = [[matrices, state] for _, matrices, state in cases]
    for (_, matrices, state), got in zip(cases, run(ESM, "given.map((g) => m.results(...g))", given), strict=True):
        Q, K, V = (np.array(matrices[name]) for name in "QKV")
        Q, mask = Q[state["offset"] :], np.array(state["mask"])
        other_K, other_V = K.copy(), V.copy()
        other_K[-1] += 1
        other_V[-1] += 1
        before, after = (am.scaled_dot_product_attention(Q, *pair, mask) for pair in ((K, V), (other_K, other_V)))
        Z, A = after if state["changed"] else before
        scaled = am.scaled_scores(Q, other_K if state["changed"] else K)
        np.testing.assert_allclose([row["z"] for row in got["rows"]], Z, atol=1e-13)
        np.testing.assert_allclose([row["a"] for row in got["rows"]], A, atol=1e-14)
        for row, seen, keep in zip(got["rows"], scaled, mask, strict=True):  # JSON writes −∞ as null
            assert [x is None for x in row["seen"]] == (~keep).tolist()
            np.testing.assert_allclose([x for x in row["seen"] if x is not None], seen[keep], atol=1e-13)
        np.testing.assert_allclose(got["moved"], np.sqrt(((after[0] - before[0]) ** 2).sum(axis=1)), atol=1e-13)


def test_the_outputs_that_move_are_those_of_rows_that_see_the_last_token():
    cases = list(random_cases())
    seen_by_js = run(ESM, "given.map((s) => m.laterSeen(s.mask, s.offset))", [state for _, _, state in cases])
    for (n, matrices, state), seen in zip(cases, seen_by_js, strict=True):
        painter = MaskPainter([str(j) for j in range(n)], **matrices, offset=state["offset"])
        painter.mask = state["mask"]
        last = np.array(state["mask"])[:, -1]
        assert (painter.moved[last] > 0).all() and (painter.moved[~last] == 0).all()
        later = [[j for j in range(n) if row[j] and j > i + state["offset"]] for i, row in enumerate(state["mask"])]
        assert seen == later and painter.leaks == {i: js for i, js in enumerate(later) if js}


def test_no_padding_key_leaks():
    for causal in (False, True):
        for offset in range(5):
            assert not MaskPainter(causal=causal, n_real=4, offset=offset).moved.any()


def test_both_languages_of_the_code_change_the_same():
    assert run(ESM, "m.CHANGE") == CHANGE


SEEN_IN_ROW_1 = [[True, False, False], [True, True, True], [True, True, True]]


@pytest.mark.parametrize("state, zh, en", [
    ({"mask": [[True] * 3] * 3}, "掩码：无。第 0、1 行能看到后来的词元。$",
     "^Mask: none. Rows 0, 1 can see later tokens.$"),
    ({"mask": SEEN_IN_ROW_1, "causal": True}, "因果掩码 \\+ 手工涂了 1 格。第 1 行能看到词元 2。$",
     "causal \\+ 1 painted by hand. Row 1 can see token 2.$"),
    ({"mask": [[True] * 3, [False] * 3, [False] * 3]}, "第 0 行能看到词元 1、2。",
     "Row 0 can see tokens 1, 2. Rows 1, 2 are"),
    ({"mask": [[False] * 3] * 3, "n_real": 0, "changed": True},
     "填充掩码。没有一行能看到.*第 0、1、2 行全屏蔽：权重和输出都是 0（本课程的规定）。改动.*没有一行的输出移动。",
     "padding. No row can see a later token. Rows 0, 1, 2 are fully masked: .* moved no output."),
    ({"mask": [[True, True, False], [True, True, True]], "offset": 1, "causal": True, "changed": True},
     "改动最后一个词元，第 2 行的输出移动。", "^Mask: causal. No row .* moved the output of row 2.$"),
])  # fmt: skip
def test_the_sentence_says_what_the_mask_is_and_does(state, zh, en):
    state = {"causal": False, "n_real": 3, "offset": 0, "changed": False} | state
    example = {name: np.array(SMALL[name], dtype=float).tolist() for name in "QKV"}
    expression = "m.verdict(given[1], m.results(...given), ['0', '1', '2'])"
    said = run(ESM, expression, [example, state])
    assert re.search(zh, said[0]) and re.search(en, said[1]), said


# ---------------------------------------------------------------- the traits
def test_the_first_three_rows_are_the_running_example():
    causal = MaskPainter(causal=True)
    A = [[1, 0, 0], [0.413382, 0.586618, 0], [0.341701, 0.325036, 0.333264]]
    np.testing.assert_allclose(causal.weights[:3, :3], A, atol=1e-6)
    np.testing.assert_allclose(causal.output[:3], [[1, 0], [0.413382, 0.586618], [0.508332, 0.491668]], atol=1e-6)
    padded = MaskPainter(n_real=2).weights
    known = [[0.591459, 0.408541], [0.413382, 0.586618], [0.512497, 0.487503]]
    np.testing.assert_allclose(padded[:3], np.pad(known, [(0, 0), (0, 3)]), atol=1e-6)
    plain = [[0.386613, 0.267047, 0.346341], [0.276984, 0.393059, 0.329956], [0.341701, 0.325036, 0.333264]]
    np.testing.assert_allclose(MaskPainter(n_real=3).weights[:3, :3], plain, atol=1e-6)


def test_a_switch_sets_the_whole_mask_and_a_cell_changes_one():
    painter = MaskPainter()
    assert np.array(painter.mask).all()
    painter.causal = True
    np.testing.assert_array_equal(painter.mask, am.causal_mask(5))
    painter.mask = [[False] * 5, *painter.mask[1:]]
    assert (painter.weights[0] == 0).all() and (painter.output[0] == 0).all()
    painter.n_real = 4
    np.testing.assert_array_equal(painter.mask, am.causal_mask(5) & am.padding_mask(4, 5))
    painter.offset = 3
    np.testing.assert_array_equal(painter.mask, am.causal_mask(2, 5, 3) & am.padding_mask(4, 5))


def test_with_a_cache_the_last_rows_are_those_of_the_whole_sequence():
    whole = MaskPainter(causal=True)
    for offset in range(5):
        painter = MaskPainter(causal=True, offset=offset)
        np.testing.assert_allclose(painter.output, whole.output[offset:], atol=1e-15)
        np.testing.assert_allclose(painter.weights, whole.weights[offset:], atol=1e-15)


def test_the_page_moves_python():
    painter, mask = MaskPainter(), am.causal_mask(3, 5, 2).tolist()
    painter.set_state({"causal": True, "offset": 2, "mask": mask})  # as a switch sends them
    assert painter.mask == mask and painter.output.shape == (3, 2)
    mask[0][4] = True
    painter.set_state({"mask": mask, "changed": True})  # as a cell does
    assert painter.leaks == {0: [4]} and painter.causal


def test_own_matrices():
    painter = MaskPainter(**SMALL, causal=True)
    assert MaskPainter(**SMALL | {"tokens": [7, 8, 9]}).tokens == ["7", "8", "9"], "the page cuts names short"
    assert painter.tokens == SMALL["tokens"] and painter.output[0] == [1.0] and type(painter.mask[0][0]) is bool


@pytest.mark.parametrize("given, words", [
    ({"Q": None}, "belong together: give Q too, or none of them"),
    ({"tokens": ["a"], "Q": [[1]], "K": [[1]], "V": [[1]]}, "there are 1 tokens; the mask painter shows 2 to 6"),
    ({"Q": [[1, 0], [0, 1]]}, r"Q has 2 rows of widths \[2\]; give 3 rows of one width"),
    ({"V": np.zeros((3, 4))}, r"V has 3 rows of widths \[4\]; give 3 rows of one width, from 1 to 3"),
    ({"K": np.eye(3)}, "rows of Q have 2 numbers and rows of K 3"),
    ({"V": [[1.0], [float("nan")], [2.0]]}, "V holds a number that is not between −9 and 9"),
    ({"offset": 3}, "offset is 3; with 3 tokens it must be a whole number from 0 to 2"),
    ({"n_real": -1}, "n_real is -1; with 3 tokens it must be a whole number from 0 to 3"),
    ({"n_real": 2.5}, "n_real is 2.5; with 3 tokens"),
    ({"n_real": "two"}, "n_real is 'two'; with 3 tokens"),
    ({"causal": "yes"}, "'causal' trait .* expected a boolean, not the str 'yes'"),
    ({"tokens": 3}, "tokens must be a list of names, but it is 3"),
    ({"tokens": "abc"}, "tokens must be a list of names, but it is 'abc'"),
    ({"Q": [1, 2, 3]}, "Q must be a list of rows of numbers, all of the same length, but it is"),
    ({"K": [[1], [1, 2], [1]]}, "K must be a list of rows of numbers"),
    ({"V": [["x"], ["y"], ["z"]]}, "V must be a list of rows of numbers"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        MaskPainter(**SMALL | given)


@pytest.mark.parametrize("name, value, words", [
    ("offset", 5, "offset is 5; with 5 tokens it must be a whole number from 0 to 4"),
    ("n_real", 6, "n_real is 6"),
    ("n_real", True, "n_real is True; it must be a whole number"),
    ("mask", [[True] * 5] * 4, r"the mask has 4 rows of widths \[5\]; give 5 rows of 5"),
    ("mask", [[True] * 4] * 5, r"the mask has 5 rows of widths \[4\]"),
])  # fmt: skip
def test_a_change_that_does_not_fit_is_taken_back(name, value, words):
    painter = MaskPainter()
    before = repr(painter)
    with pytest.raises(Misfit, match=words):
        setattr(painter, name, value)
    assert repr(painter) == before


def test_repr_is_stable():
    expected = "MaskPainter(causal=True, n_real=5, offset=3, mask=11110/11111)"
    assert repr(MaskPainter(causal=True, offset=3)) == repr(MaskPainter(causal=True, offset=3)) == expected


def test_still_says_it_without_javascript():
    root = ET.fromstring(MaskPainter(**SMALL, causal=True).still)
    space = "{http://www.w3.org/2000/svg}"
    zh, en = root.find(f"{space}title").text.split(" | ")
    assert HAN.search(zh) and not HAN.search(en)
    texts = [text.text for text in root.iter(f"{space}text")]
    expected = MaskPainter(**SMALL, causal=True)
    assert {"<a>", "b&", "A", "z[0]"} <= set(texts) and not HAN.search("".join(texts))
    numbers = [
        f"{x:.4f}".replace("-", "−") for x in (*expected.weights.ravel().round(4), *expected.output.ravel().round(4))
    ]
    for number in set(numbers):
        assert texts.count(number) == numbers.count(number)
    assert texts.count("1") == 6 and texts.count("0") == 3, "the mask"


# ---------------------------------------------------------------- the page
@pytest.fixture
def painter(open_widget):
    """painter(view, **context options) -> the page and its mask painter."""
    return partial(open_widget, CHAPTER, ".attn-mask-painter")


def number(text):
    return float({"−∞": "-inf"}.get(text, text.replace("−", "-")))


def matrix(widget, k):
    """The numbers in picture k: 0 scaled scores, 1 weights, 2 output."""
    rows = widget.locator("svg").nth(k).locator("g").all()
    texts = [row.locator("text").all_text_contents()[1:] for row in rows if row.is_visible()]
    return [[number(text) for text in row] for row in texts]


def cell(widget, query, key):
    return widget.get_by_role("button", name=f"query {query} may attend to key {key}", exact=True)


def assert_shows(widget, expected):
    """Buttons, pictures and table say what this MaskPainter computes."""
    pressed = widget.locator(".attn-mask button").all()
    shown = [node.get_attribute("aria-pressed") == "true" for node in pressed if node.is_visible()]
    assert shown == sum(expected.mask, [])
    keep = np.array(expected.mask)
    A, scaled = np.array(matrix(widget, 1)), np.array(matrix(widget, 0))
    np.testing.assert_array_equal(np.isneginf(scaled), ~keep)
    hatched = [len(row.locator(".attn-hatched").all()) for row in widget.locator("svg").first.locator("g").all()]
    assert hatched[expected.offset :] == (~keep).sum(axis=1).tolist()
    np.testing.assert_allclose(A, expected.weights, atol=5.1e-5)
    np.testing.assert_allclose(matrix(widget, 2), expected.output, atol=5.1e-5)
    shaded = (
        widget.locator("svg")
        .nth(2)
        .locator("g")
        .evaluate_all(
            "(rows) => rows.map((row) => [...row.querySelectorAll('.attn-z')].map((box) => box.style.fillOpacity > 0))"
        )
    )
    assert shaded[expected.offset :] == [[expected.changed and far > 0] * 2 for far in expected.moved.tolist()]
    K = np.array(first_example()["K"])
    K[-1] += expected.changed
    S = am.scaled_scores(np.array(first_example()["Q"])[expected.offset :], K)
    np.testing.assert_allclose(scaled[keep], S[keep], atol=5.1e-5)
    for p, line in enumerate(widget.locator(".attn-leaks tbody tr").all()):
        i, (head, seen, moved) = p - expected.offset, line.locator("th, td").all_inner_texts()
        assert head == expected.tokens[p]
        if i < 0:
            assert (seen, moved) == ("in the cache", "")
            continue
        later = ", ".join(map(str, expected.leaks.get(i, []))) or ("none" if keep[i].any() else "fully masked")
        assert seen == later and moved == (f"{expected.moved[i]:.4f}" if expected.changed else "—")


def test_switches_cells_and_buttons_show_what_python_computes(painter):
    page, widget = painter()
    causal, changed = widget.get_by_role("checkbox").all()
    real, offset = widget.locator("input[type=range]").all()
    expected = MaskPainter()
    assert_shows(widget, expected)
    causal.check()
    expected.causal = True
    assert_shows(widget, expected)
    cell(widget, 1, 3).click()
    expected.mask = [row if i != 1 else [True, True, False, True, False] for i, row in enumerate(expected.mask)]
    assert_shows(widget, expected)
    assert "1 painted by hand. Row 1 can see token 3." in widget.locator(".attn-verdict").inner_text()
    assert widget.locator(".attn-painted").count() == 1
    changed.check()
    expected.changed = True
    assert_shows(widget, expected)
    real.press("ArrowLeft")
    expected.n_real = 4
    assert widget.locator(".attn-painted").count() == 0, "a switch sets the whole mask"
    assert_shows(widget, expected)
    offset.press("End")
    expected.offset = 4
    assert_shows(widget, expected)
    real.press("Home")
    expected.n_real = 0
    assert_shows(widget, expected)
    assert "Row 4 is fully masked" in widget.locator(".attn-verdict").inner_text()
    widget.get_by_role("button", name="Clear mask").click()
    expected.causal, expected.n_real = False, 5
    assert_shows(widget, expected)
    assert not causal.is_checked() and real.input_value() == "5" and offset.input_value() == "4"
    widget.get_by_role("button", name="Reset").click()
    assert_shows(widget, MaskPainter())
    assert not changed.is_checked() and page.log.console == []


def test_arrows_move_and_space_toggles(painter):
    page, widget = painter()
    assert widget.locator('.attn-mask button[tabindex="0"]').count() == 1
    cell(widget, 0, 0).focus()
    for key in ("ArrowUp", "ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    focused = "document.activeElement.ariaLabel"
    assert page.evaluate(focused) == "query 1 may attend to key 2"
    page.keyboard.press(" ")
    assert cell(widget, 1, 2).get_attribute("aria-pressed") == "false" and matrix(widget, 0)[1][2] == -np.inf
    page.keyboard.press("Enter")
    assert cell(widget, 1, 2).get_attribute("aria-pressed") == "true"
    for key in ["ArrowRight"] * 5 + ["ArrowDown"] * 5:
        page.keyboard.press(key)
    assert page.evaluate(focused) == "query 4 may attend to key 4"
    assert widget.locator('.attn-mask button[tabindex="0"]').count() == 1
    cell(widget, 1, 0).focus()
    widget.locator("input[type=range]").nth(1).press("ArrowRight")
    widget.locator("input[type=range]").nth(1).press("ArrowRight")
    page.keyboard.press("Shift+Tab")  # to the slider before
    assert widget.locator('.attn-mask button[tabindex="0"]').get_attribute("aria-label").startswith("query 2 ")
    cell(widget, 2, 0).focus()
    page.keyboard.press("ArrowUp")  # rows in the cache have no query
    assert page.evaluate(focused) == "query 2 may attend to key 0"


@pytest.mark.parametrize("view", ["zh", "en", "both"])
@pytest.mark.parametrize("options", [PHONE, {"viewport": {"width": 1300, "height": 900}}], ids=["phone", "desk"])
def test_it_stays_in_place_and_speaks_the_language_of_the_page(painter, view, options):
    page, widget = painter(view, **options)
    boxes, sliders = widget.locator("input[type=checkbox]"), widget.locator("input[type=range]")
    heights = {widget.bounding_box()["height"]}
    sizes = [e.bounding_box() for e in widget.locator("input, select, button").all()]
    assert min(min(size["width"], size["height"]) for size in sizes) >= 24
    boxes.nth(0).check()
    boxes.nth(1).check()
    sliders.nth(0).press("ArrowLeft")
    heights.add(widget.bounding_box()["height"])
    (
        widget.locator(".attn-mask button").nth(3).tap
        if "has_touch" in options
        else widget.locator(".attn-mask button").nth(3).click
    )()
    for j in range(3):
        widget.locator(".attn-mask button").nth(10 + j).click()
    heights.add(widget.bounding_box()["height"])
    words = widget.inner_text() + "".join(widget.locator("svg title, svg desc, .attn-told").all_text_contents())
    words += widget.locator(".attn-mask button").first.get_attribute("aria-label")
    sliders.nth(1).press("ArrowRight")
    heights.add(widget.bounding_box()["height"])
    assert len(heights) == 1, "the page moves under the reader's hand"
    assert page.evaluate("document.documentElement.scrollWidth") == options["viewport"]["width"]
    assert bool(HAN.search(words)) == (view != "en") and ("painted by hand" in words) == (view != "zh")
    assert (
        widget.evaluate("""(widget) => [...widget.querySelectorAll("th, td, label, svg text")].filter((e) => {
      const range = document.createRange();
      range.selectNodeContents(e);
      const outside = range.getBoundingClientRect().right > widget.getBoundingClientRect().right + 1;
      return outside || (!e.closest("svg") && e.scrollWidth > e.clientWidth + 1);
    }).map((e) => e.textContent)""")
        == []
    )


def test_changes_are_told_and_pictures_described(painter):
    page, widget = painter()
    widget.get_by_role("checkbox").first.check()
    cell(widget, 0, 2).click()
    expected = "Mask: causal + 1 painted by hand. Row 0 can see token 2."
    assert widget.locator(".attn-told").text_content() == expected == widget.locator(".attn-verdict").inner_text()
    scores, weights, output = (
        page.locator("#" + svg.get_attribute("aria-describedby")).text_content() for svg in widget.locator("svg").all()
    )
    assert scores.startswith("0: 0.5350, −∞, 0.4250, −∞, −∞; 1: ")
    assert weights.endswith("0.2289, 0.1629, 0.2050, 0.2092, 0.1941") and output.startswith("0: 0.")
    for control in widget.locator("input").all():
        assert page.locator(f'label[for="{control.get_attribute("id")}"]').inner_text()


@pytest.mark.parametrize("view", ["zh", "en", "both"])
def test_without_javascript_there_is_a_still_picture(open_page, site_url, view):
    page = open_page(java_script_enabled=False)
    page.goto(f"{site_url}/{view}/{CHAPTER}")
    still = page.locator(".widget-still svg", has_text="Z = A V").first
    assert still.is_visible() and f"{MaskPainter().weights[0, 0]:.4f}" in still.text_content()
    assert bool(HAN.search(still.locator("title").text_content())) == (view != "en")
