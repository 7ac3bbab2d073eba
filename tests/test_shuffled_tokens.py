"""Shuffled tokens: output rows travel with their tokens, until positions or a mask tell places apart; Python,
JavaScript and the page agree."""

import itertools
import math
import re
import xml.etree.ElementTree as ET
from functools import partial

import numpy as np
import pytest

import attention_mechanism as am
from attention_widgets import Misfit, ShuffledTokens
from attention_widgets.shuffled_tokens import TOLERANCE, first_example, sinusoidal
from conftest import run

ESM = ShuffledTokens._esm
CHAPTER = "10_limits_and_next.html"
PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
SMALLEST = PHONE | {"viewport": {"width": 320, "height": 740}}
DESK = {"viewport": {"width": 1400, "height": 900}}
HAN = re.compile("[\u3400-\u9fff]")
ORDERS = [list(order) for order in itertools.permutations(range(4))]
SWITCHES = list(itertools.product([False, True], repeat=2))
SMALL = {"tokens": ["<a>", "b&"], "X": [[1, 0], [0, 2]], "W_Q": np.eye(2), "W_K": np.eye(2), "W_V": [[1], [-1]]}


def states(orders=ORDERS):
    return [
        {"order": order, "positions": positions, "causal": causal} for order in orders for positions, causal in SWITCHES
    ]


def random_start(seed):
    """What a widget may be made with, numbers drawn at random."""
    rng = np.random.default_rng(seed)
    n, d_model, d_k, d_v = (int(x) for x in rng.integers([2, 1, 1, 1], [5, 7, 5, 3]))
    shapes = {"X": (n, d_model), "W_Q": (d_model, d_k), "W_K": (d_model, d_k), "W_V": (d_model, d_v), "P": (n, d_model)}
    matrices = {name: rng.uniform(-2, 2, shape).round(3).tolist() for name, shape in shapes.items()}
    return {"tokens": [f"t{j}" for j in range(n)]} | matrices


def rows_by_loops(start, order, positions, causal):
    """Output rows (n, d_v): sums over the tokens that a place sees, one number after the other."""
    X = [[x + positions * p for x, p in zip(start["X"][token], start["P"][i], strict=True)]
         for i, token in enumerate(order)]  # fmt: skip
    project = lambda row, W: [sum(x * W[k][c] for k, x in enumerate(row)) for c in range(len(W[0]))]  # noqa: E731
    Q, K, V = ([project(row, start[name]) for row in X] for name in ("W_Q", "W_K", "W_V"))
    for i, q in enumerate(Q):
        seen = range(i + 1) if causal else range(len(X))
        powers = [math.exp(sum(a * b for a, b in zip(q, K[j], strict=True)) / math.sqrt(len(q))) for j in seen]
        yield [sum(p * V[j][c] for j, p in zip(seen, powers, strict=True)) / sum(powers) for c in range(len(V[0]))]


# ---------------------------------------------------------------- the lesson, in Python
def test_rows_travel_with_their_tokens_in_all_orders():
    shuffled = ShuffledTokens()
    Z, A = shuffled.output, shuffled.weights
    for order in ORDERS:
        shuffled.order = order
        np.testing.assert_allclose(shuffled.output, Z[order], atol=1e-15)
        np.testing.assert_allclose(shuffled.weights, A[np.ix_(order, order)], atol=1e-15)
        assert not shuffled.noticed


@pytest.mark.parametrize("switch", [{"positions": True}, {"causal": True}, {"positions": True, "causal": True}])
def test_with_positions_or_a_mask_every_other_order_is_noticed(switch):
    """And so much that two decimals show it."""
    shuffled = ShuffledTokens(**switch)
    assert not shuffled.noticed
    for order in ORDERS[1:]:
        shuffled.order = order
        assert shuffled.noticed and shuffled.moved.max() > 0.05


def test_under_the_mask_alone_the_rows_that_see_the_same_tokens_stay():
    shuffled = ShuffledTokens(causal=True)
    V = np.array(first_example()["X"]) @ first_example()["W_V"]
    for order in ORDERS:
        shuffled.order = order
        same = [set(order[: i + 1]) == set(range(token + 1)) for i, token in enumerate(order)]
        assert (shuffled.moved <= TOLERANCE).tolist() == same
        np.testing.assert_array_equal(shuffled.output[0], V[order[0]])  # the first sees only itself


def test_python_attends_as_loops_do():
    for seed in range(20):
        start = random_start(seed)
        n = len(start["tokens"])
        for state in states([list(range(n)), list(range(n))[::-1]]):
            shuffled = ShuffledTokens(**start, **state)
            np.testing.assert_allclose(shuffled.output, list(rows_by_loops(start, **state)), atol=1e-12)


@pytest.mark.parametrize("n, d_model", [(4, 4), (3, 5), (2, 1), (4, 16)])
def test_the_encoding_is_that_of_section_3_5(n, d_model):
    expected = [[0.0] * d_model for _ in range(n)]
    for position, i in itertools.product(range(n), range((d_model + 1) // 2)):
        angle = position / math.pow(10000, 2 * i / d_model)
        expected[position][2 * i] = math.sin(angle)
        if 2 * i + 1 < d_model:
            expected[position][2 * i + 1] = math.cos(angle)
    np.testing.assert_allclose(sinusoidal(n, d_model), expected, atol=1e-15)


def test_without_an_encoding_of_their_own_tokens_get_the_sinusoidal_one():
    own = np.arange(4.0).reshape(2, 2)
    X = np.array(SMALL["X"])
    for P, given in ((sinusoidal(2, 2), None), (own, own)):
        Z, _ = am.scaled_dot_product_attention(X[::-1] + P, X[::-1] + P, (X[::-1] + P) @ SMALL["W_V"])
        shuffled = ShuffledTokens(**SMALL, P=given, order=[1, 0], positions=True)
        np.testing.assert_allclose(shuffled.output, Z, atol=1e-14)


# ---------------------------------------------------------------- the mathematics in JavaScript
def test_javascript_attends_as_numpy_does_in_all_orders():
    given = [(ShuffledTokens()._start, state) for state in states()]
    for seed in range(60):
        start = random_start(seed)
        given += [(start, state) for state in states(list(itertools.permutations(range(len(start["tokens"]))))[-2:])]
    found = run(ESM, "given.map(([start, state]) => m.results(start, state))", given)
    for (start, state), got in zip(given, found, strict=True):
        X, P, W_Q, W_K, W_V = (np.array(start[name]) for name in ("X", "P", "W_Q", "W_K", "W_V"))
        order, n, rows = list(state["order"]), len(X), {}
        for name, present in ("before", list(range(n))), ("after", order):
            x = X[present] + (P if state["positions"] else 0)
            mask = am.causal_mask(n) if state["causal"] else None
            Z, A = am.scaled_dot_product_attention(x @ W_Q, x @ W_K, x @ W_V, mask)
            np.testing.assert_allclose([row["z"] for row in got[name]], Z, atol=1e-12)
            np.testing.assert_allclose([row["a"] for row in got[name]], A, atol=1e-13)
            rows[name] = Z
        np.testing.assert_allclose(got["moved"], np.abs(rows["after"] - rows["before"][order]).max(axis=1), atol=1e-12)
        shuffled = ShuffledTokens(**start, **state)
        np.testing.assert_allclose(got["moved"], shuffled.moved, atol=1e-12)


def test_javascript_notices_what_python_notices():
    given = states()
    expression = "given[1].map((state) => m.results(given[0], state).moved.some((x) => x > m.TOLERANCE))"
    found = run(ESM, expression, [ShuffledTokens()._start, given])
    for state, noticed in zip(given, found, strict=True):
        assert noticed == ShuffledTokens(**state).noticed
        assert noticed == (state["order"] != ORDERS[0] and (state["positions"] or state["causal"])), state


def test_both_languages_of_the_code_have_one_tolerance():
    assert run(ESM, "m.TOLERANCE") == TOLERANCE == 1e-9


def test_a_button_exchanges_two_neighbours():
    given = [[order, i] for order in ORDERS for i in range(3)]
    for (order, i), got in zip(given, run(ESM, "given.map((g) => m.swapped(...g))", given), strict=True):
        assert got == [*order[:i], order[i + 1], order[i], *order[i + 2 :]]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_another_order_goes_through_all_of_them_from_the_end(n):
    """The first is the sentence backwards, the last is the original order again."""
    backwards = [list(order) for order in itertools.permutations(range(n))][::-1]
    steps = "given.reduce((orders) => [...orders, m.otherOrder(orders.at(-1))], [given.at(-1)])"
    assert run(ESM, steps, backwards) == [backwards[-1], *backwards]


def test_differences_never_round_to_nothing():
    given = [0, 1e-16, 1e-9, 2e-9, 0.0049, 0.005, 0.3149, 12.345]
    expected = ["0.00", "0.00", "0.00", "<0.01", "<0.01", "0.01", "0.31", "12.35"]
    assert run(ESM, "given.map(m.difference)", given) == expected


NAMES = ["dog", "bites", "man", "incomprehensible"]


@pytest.mark.parametrize("state, moved, zh, en", [
    ({"order": [0, 1, 2, 3]}, [0] * 4, "^词元仍是原来的次序：没有一行变了。$",
     "in their original order: no row has changed.$"),
    ({"order": [2, 1, 0, 3]}, [1e-16, 0, 1e-10, 0], "^还是那几行，只是换了次序：什么也没察觉（最大的差 0.00）。$",
     r"^The same rows in another order: attention noticed nothing \(largest difference 0.00\).$"),
    ({"order": [2, 1, 0, 3], "positions": True}, [0.1, 2e-9, 0.314, 0.2],
     "^察觉到了：4 行里变了 4 行，“dog”的那一行变得最多，差 0.31。$",
     "^Noticed: 4 of 4 rows changed; the row of “dog” changed most, by 0.31.$"),
    ({"order": [0, 2, 1, 3], "causal": True}, [0, 0.5, 0.1, 0],
     "4 行里变了 2 行，“man”的.*没变的：“dog”（仍然只看到自己）、“incomp.…”（看到的词元与原来相同）。$",
     r"2 of 4 rows .*: “dog” \(still sees only itself\), “incomp.…” \(sees the same tokens as before\).$"),
    ({"order": [0, 2, 1, 3], "causal": True, "positions": True}, [0, 0.5, 0.1, 0],  # if it stays, that is not why
     "没变的：“dog”（仍然只看到自己）、“incomp.…”。$", r"Unchanged: “dog” \(still sees only itself\), “incomp.…”.$"),
    ({"order": [1, 0, 2, 3], "positions": True}, [0.002, 0, 0, 0],
     "变得最多，差 <0.01。没变的：“dog”、“man”、“incomp.…”。$",
     "1 of 4 rows changed; the row of “bites” changed most, by <0.01. Unchanged: “dog”, “man”, “incomp.…”.$"),
])  # fmt: skip
def test_the_sentence_says_what_has_changed(state, moved, zh, en):
    state = {"positions": False, "causal": False} | state
    said = run(ESM, "m.verdict(...given)", [NAMES, state, moved])
    assert re.search(zh, said[0]) and re.search(en, said[1]), said


# ---------------------------------------------------------------- the traits
def test_the_page_moves_python():
    shuffled = ShuffledTokens()
    shuffled.set_state({"order": [2, 1, 0, 3], "causal": True})
    assert shuffled.sentence == ["man", "bites", "dog", "now"] and shuffled.noticed
    shuffled.set_state({"causal": False})
    assert not shuffled.noticed and shuffled.get_state()["order"] == [2, 1, 0, 3]


@pytest.mark.parametrize("order", [(1, 0), np.array([1, 0]), range(1, -1, -1)])
def test_an_order_may_be_anything_that_holds_the_numbers(order):
    shuffled = ShuffledTokens(**SMALL)
    shuffled.order = order
    assert shuffled.order == [1, 0] and all(type(token) is int for token in shuffled.order)


@pytest.mark.parametrize("given, words", [
    ({"W_K": None}, "belong together: give W_K too, or none of them"),
    ({"tokens": ["a"]}, "there are 1 tokens; this widget shows 2 to 4"),
    ({"tokens": list("abcde")}, "there are 5 tokens"),
    ({"tokens": "ab"}, "tokens must be a list of names, but it is 'ab'"),
    ({"tokens": b"ab"}, "tokens must be a list of names, but it is b'ab'"),
    ({"tokens": np.array("ab")}, "tokens must be a list of names, but it is array"),
    ({"tokens": ["a", ""]}, r"tokens is \['a', ''\]; give each token a name that is not empty"),
    ({"X": [["1", "0"], ["0", "1"]]}, r"X must be a list of rows of numbers, .*, but it is \[\['1', '0'\]"),
    ({"X": [[1, 10**400], [0, 1]]}, "X must be a list of rows of numbers"),
    ({"X": [[1, 0]]}, r"X has shape \(1, 2\); give 2 rows, one for each token"),
    ({"X": [[], []]}, "rows of X have 0 numbers; this widget takes 1 to 16"),
    ({"X": [[1, 2], [3]]}, "X must be a list of rows of numbers, all of the same length"),
    ({"X": [[1, float("nan")], [0, 1]]}, "X holds a number that is not between −9 and 9; give smaller ones"),
    ({"W_Q": np.eye(3)}, r"W_Q has shape \(3, 3\); give 2 rows, one for each column of X"),
    ({"W_K": [[1], [1]]}, "W_Q has 2 columns and W_K 1; both need the same d_k"),
    ({"W_V": np.ones((2, 3))}, "W_V has 3 columns; this widget takes 1 to 2"),
    ({"W_V": [[9], [9]], "X": [[9, 0], [0, 1]]}, "values v reach 93.4; this widget shows up to 40"),
    ({"W_V": [[9], [9]], "P": [[0, 0], [0, 9]]}, "values v reach 99.0"),
    ({"P": np.zeros((2, 3))}, r"P has shape \(2, 3\); give 2 rows, one for each token, of 2 numbers"),
    ({"P": np.zeros((3, 2))}, r"P has shape \(3, 2\)"),
    ({"order": [0, 0]}, r"order is \[0, 0\]; it must hold each of the numbers 0 to 1 once"),
    ({"order": "01"}, "order is '01'"),
    ({"causal": "yes"}, "'causal' trait .* expected a boolean, not the str 'yes'"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        ShuffledTokens(**SMALL | given)


@pytest.mark.parametrize(
    "order",
    [[0, 0, 1, 2], [0, 1, 2], [0, 1, 2, 4], [True, 0, 2, 3], [0.0, 1, 2, 3], 5, None, "0123", np.array(3), b"\0\1\2\3"],
)
def test_an_order_that_is_none_is_taken_back(order):
    shuffled = ShuffledTokens(order=[1, 0, 3, 2])
    with pytest.raises(Misfit, match="it must hold each of the numbers 0 to 3 once"):
        shuffled.order = order
    assert shuffled.order == [1, 0, 3, 2]


def test_repr_is_stable():
    expected = "ShuffledTokens(order=[3, 2, 1, 0], positions=False, causal=False, moved=[0, 0, 0, 0])"
    assert repr(ShuffledTokens(order=ORDERS[-1])) == repr(ShuffledTokens(order=ORDERS[-1])) == expected
    assert "moved=[0.7343, " in repr(ShuffledTokens(order=[1, 2, 0, 3], causal=True))


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_still_says_it_without_javascript(order):
    """In the original order, and in another; backwards if there was none."""
    root = ET.fromstring(ShuffledTokens(**SMALL, order=order).still)
    space = "{http://www.w3.org/2000/svg}"
    zh, en = root.find(f"{space}title").text.split(" | ")
    assert HAN.search(zh) and not HAN.search(en)
    drawn = [[text.text for text in group.iter(f"{space}text")] for group in root.iter(f"{space}g")]
    assert [[text for text in texts if text in SMALL["tokens"]] for texts in drawn] == [
        ["<a>", "b&"] * 3, ["b&", "<a>"] * 3,
    ]  # fmt: skip
    power, powers = math.exp(1 / math.sqrt(2)), math.exp(4 / math.sqrt(2))
    a, b = power / (power + 1), powers / (powers + 1)
    for texts, numbers in zip(drawn, ((a, 1 - a, 1 - b, b), (b, 1 - b, 1 - a, a)), strict=True):
        assert [text for text in texts if re.match(r"[01]\.", text)][:4] == [f"{x:.4f}" for x in numbers]
        assert {f"{a - 2 * (1 - a):.4f}", f"{1 - b - 2 * b:.4f}".replace("-", "−")} <= set(texts)
    assert not HAN.search("".join(sum(drawn, [])))


# ---------------------------------------------------------------- the page
@pytest.fixture
def shuffled(open_widget):
    """shuffled(view, **context options) -> the page and the widget in it."""
    return partial(open_widget, CHAPTER, ".attn-shuffled-tokens")


SEEN = """(widget) => [...widget.querySelectorAll("svg")].map((svg) => {
  const groups = [...svg.querySelectorAll("g")], n = groups.length / 2;
  const texts = (group) => [...group.querySelectorAll("text")].map((t) => t.textContent);
  const filled = (group) => [...group.querySelectorAll(".attn-z")].map((box) => box.style.fillOpacity > 0);
  const plain = [...svg.children].filter((e) => e.tagName === "text").map((e) => e.textContent);
  return {
    names: groups.slice(0, n).map((group) => texts(group)[0]),
    weights: groups.slice(0, n).map((group) => texts(group).slice(1)),
    hatched: groups.slice(0, n).map((group) => group.querySelectorAll(".attn-hatched").length),
    output: groups.slice(n).map((group) => texts(group).slice(1)),
    filled: groups.slice(n).map(filled),
    changes: plain.filter((text) => /^[=≠] /.test(text)), delta: plain.includes("Δ"),
    heads: plain.filter((text) => text && groups.some((group) => texts(group)[0] === text)),
  };
})"""


def number(text):
    return {"<.01": 0.0025, ">.99": 0.9975}.get(text) or float(text.replace("−", "-"))


def assert_shows(widget, expected):
    """Pictures, names and sentence say what this ShuffledTokens computes."""
    before = ShuffledTokens(positions=expected.positions, causal=expected.causal)
    pictures = widget.evaluate(SEEN)
    for seen, wanted in zip(pictures, (before, expected), strict=True):
        assert seen["names"] == seen["heads"] == wanted.sentence
        for kind in "weights", "output":
            found = [[number(text) for text in row] for row in seen[kind]]
            np.testing.assert_allclose(found, getattr(wanted, kind), atol=0.0051)
        assert seen["hatched"] == ([3, 2, 1, 0] if wanted.causal else [0] * 4)
    changed = (expected.moved > TOLERANCE).tolist()
    assert not pictures[0]["delta"] and not pictures[0]["changes"] and not np.any(pictures[0]["filled"])
    assert pictures[1]["filled"] == [[yes, yes] for yes in changed] and pictures[1]["delta"]
    signs = [f"{'≠' if yes else '='} {far:.2f}" for yes, far in zip(changed, expected.moved, strict=True)]
    assert pictures[1]["changes"] == signs
    assert widget.locator(".attn-swaps .attn-name").all_text_contents() == expected.sentence
    said = widget.locator(".attn-verdict").inner_text()
    if expected.order == ORDERS[0]:
        assert "no row has changed" in said
    elif expected.noticed:
        most = expected.sentence[int(expected.moved.argmax())]
        assert (
            f"{sum(changed)} of 4 rows changed; the row of “{most}” changed most, by {expected.moved.max():.2f}" in said
        )
    else:
        assert said == "The same rows in another order: attention noticed nothing (largest difference 0.00)."


def test_buttons_and_switches_show_what_python_computes(shuffled):
    page, widget = shuffled()
    expected, (positions, causal) = ShuffledTokens(), widget.get_by_role("checkbox").all()
    assert_shows(widget, expected)
    for order in ORDERS[:-4:-1]:
        widget.get_by_role("button", name="another order").click()
        expected.order = order
        assert_shows(widget, expected)
    positions.check()
    expected.positions = True
    assert_shows(widget, expected)
    causal.check()
    expected.causal = True
    assert_shows(widget, expected)
    widget.get_by_role("button", name="back in order").click()
    expected.order = ORDERS[0]
    assert_shows(widget, expected)
    widget.get_by_role("button", name="swap dog and bites").click()
    expected.order = [1, 0, 2, 3]
    assert_shows(widget, expected)
    positions.uncheck()
    expected.positions = False
    assert_shows(widget, expected)
    assert "Unchanged: “man” (sees the same tokens as before), “now”" in widget.locator(".attn-verdict").inner_text()
    assert page.log.console == []


def test_keys_press_the_buttons_and_the_focus_stays(shuffled):
    page, widget = shuffled()
    focused, expected = "document.activeElement.ariaLabel || document.activeElement.textContent", ShuffledTokens()
    widget.locator("button").first.focus()
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "swap bites and man"
    page.keyboard.press("Enter")
    expected.order = [0, 2, 1, 3]
    assert_shows(widget, expected)
    assert page.evaluate(focused) == "swap man and bites"
    page.keyboard.press(" ")
    assert_shows(widget, ShuffledTokens())
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "swap man and now"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate(focused) == "another order"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate(focused) == "back in order"
    assert_shows(widget, ShuffledTokens())
    page.keyboard.press("Tab")
    page.keyboard.press(" ")
    page.keyboard.press("Tab")
    page.keyboard.press(" ")
    assert_shows(widget, ShuffledTokens(positions=True, causal=True))


@pytest.mark.parametrize("view", ["zh", "en", "both"])
@pytest.mark.parametrize("options", [SMALLEST, PHONE, DESK], ids=["smallest", "phone", "desk"])
def test_it_stays_in_place_and_speaks_the_language_of_the_page(shuffled, view, options):
    page, widget = shuffled(view, **options)
    press = "tap" if "has_touch" in options else "click"
    buttons, places = widget.locator("button"), set()
    for switch in [None, *widget.get_by_role("checkbox").all(), None]:
        if switch:
            getattr(switch, press)()
        for k in (1, 3, 3, 0, 2, 4):
            getattr(buttons.nth(k), press)()
            boxes = [widget.bounding_box(), *(buttons.nth(j).bounding_box() for j in range(5))]
            places.add(str([widget.evaluate("(w) => w.offsetHeight"), *(box["x"] for box in boxes)]))
    assert len(places) == 1, "the page moves under the reader's hand"
    assert page.evaluate("document.documentElement.scrollWidth") == options["viewport"]["width"]
    sizes = [e.bounding_box() for e in widget.locator("input, button").all()]
    assert min(min(size["width"], size["height"]) for size in sizes) >= 24
    getattr(buttons.nth(1), press)()
    words = widget.inner_text() + "".join(widget.locator("svg title, svg desc, .attn-told").all_text_contents())
    words += buttons.first.get_attribute("aria-label")
    assert bool(HAN.search(words)) == (view != "en") and ("Noticed" in words) == (view != "zh")
    assert (
        widget.evaluate("""(widget) => [...widget.querySelectorAll("label, legend, span, svg text")].filter((e) => {
      const range = document.createRange(), home = widget.getBoundingClientRect();
      range.selectNodeContents(e);
      const text = range.getBoundingClientRect();
      return text.width && (text.right > home.right + 1 || text.left < home.left - 1);
    }).map((e) => e.textContent)""")
        == []
    )


def test_changes_are_told_and_pictures_described(shuffled):
    page, widget = shuffled()
    widget.get_by_role("checkbox").last.check()
    widget.get_by_role("button", name="swap bites and man").click()
    told = widget.locator(".attn-told").text_content()
    assert told == f"dog man bites now. {widget.locator('.attn-verdict').inner_text()}"
    assert "2 of 4 rows changed; the row of “man” changed most, by 0.73" in told
    titles, descriptions = (
        [page.locator("#" + svg.get_attribute(f"aria-{kind}")).text_content() for svg in widget.locator("svg").all()]
        for kind in ("labelledby", "describedby")
    )
    assert titles == ["original order", "current order"]
    assert descriptions[0].startswith("dog: a 1.00, 0.00, 0.00, 0.00, z 1.25, 0.00; bites: a 0.59, 0.41, ")
    assert "man: a 0.49, 0.51, 0.00, 0.00, z 1.04, 0.26, changed by 0.73; bites: " in descriptions[1]
    assert descriptions[1].startswith("dog: a 1.00, 0.00, 0.00, 0.00, z 1.25, 0.00, unchanged; ")
    for control in widget.locator("input").all():
        assert page.locator(f'label[for="{control.get_attribute("id")}"]').inner_text()
    names = [button.get_attribute("title") for button in widget.locator(".attn-swaps button").all()]
    assert names == ["swap dog and man", "swap man and bites", "swap bites and now"]


@pytest.mark.parametrize("view", ["zh", "en", "both"])
def test_without_javascript_there_is_a_still_picture(open_page, site_url, view):
    page = open_page(java_script_enabled=False)
    page.goto(f"{site_url}/{view}/{CHAPTER}")
    still = page.locator(".widget-still svg", has_text="bites").first
    assert still.is_visible() and still.text_content().count(f"{ShuffledTokens().weights[0, 0]:.4f}") == 2
    assert bool(HAN.search(still.locator("title").text_content())) == (view != "en")
