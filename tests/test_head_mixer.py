"""The head mixer: real multi-head attention, contributions that sum to Y; Python, JavaScript and the page agree."""

import itertools
import math
import re
import xml.etree.ElementTree as ET
from functools import partial

import numpy as np
import pytest

import attention_mechanism as am
from attention_widgets import HeadMixer, Misfit
from attention_widgets.head_mixer import HEADS, SENTENCE, attend, by_hand
from conftest import run

ESM = HeadMixer._esm
CHAPTER = "06_multi_head.html"
PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
HAN = re.compile("[\u3400-\u9fff]")
SENTENCES = [SENTENCE, ("a", "b"), ("x", "x", "x"), ("to", "be", "or", "not", "to", "be", "?")]
SWITCHES = [list(on) for on in itertools.product([True, False], repeat=4)]


# ---------------------------------------------------------------- the heads
def wanted(tokens, head, query):
    """The positions that a head is to look at."""
    return {
        "previous token": [max(query - 1, 0)],
        "first token": [0],
        "same word": [j for j, token in enumerate(tokens) if token == tokens[query]],
        "broad average": [],
    }[head]


@pytest.mark.parametrize("tokens", SENTENCES)
def test_each_head_does_its_job(tokens):
    A, _ = attend(tokens)
    for r, head in enumerate(HEADS):
        for query in range(len(tokens)):
            powers = [math.exp(4) if j in wanted(tokens, head, query) else 1 for j in range(len(tokens))]
            np.testing.assert_allclose(A[r, query], [power / sum(powers) for power in powers], atol=1e-12)


@pytest.mark.parametrize("tokens", SENTENCES)
def test_the_contributions_sum_to_multi_head_attention(tokens):
    X, *W = by_hand(tokens)
    Y, A = am.multi_head_attention(X, X, *W, len(HEADS))
    weights, contributions = attend(tokens)
    np.testing.assert_allclose(contributions.sum(axis=0), Y, atol=1e-12)
    np.testing.assert_array_equal(weights, A)
    for query in range(len(tokens)):
        mixer = HeadMixer(tokens, query)
        np.testing.assert_allclose(mixer.output, Y[query], atol=1e-12)
        np.testing.assert_allclose(mixer.weights, A[:, query], atol=1e-15)


@pytest.mark.parametrize("tokens", SENTENCES)
def test_a_head_adds_what_its_weights_read(tokens):
    """Words in the first components of the output, positions in the others."""
    words, n = list(dict.fromkeys(tokens)), len(tokens)
    A, contributions = attend(tokens)
    for r, query in itertools.product(range(4), range(n)):
        expected = [0.0] * (len(words) + n)
        for j, a in enumerate(A[r, query]):
            expected[len(words) + j if HEADS[r] == "same word" else words.index(tokens[j])] += a
        np.testing.assert_allclose(contributions[r, query], expected, atol=1e-12)


def test_a_head_that_is_off_is_a_head_whose_output_rows_are_zero():
    X, *W, W_O = by_hand(SENTENCE)
    mixer = HeadMixer(query=4)
    for on in SWITCHES:
        blocks = W_O.reshape(4, 6, 11) * np.array(on)[:, None, None]
        Y, _ = am.multi_head_attention(X, X, *W, blocks.reshape(24, 11), 4)
        mixer.heads = on
        np.testing.assert_allclose(mixer.output, Y[4], atol=1e-12)


# ---------------------------------------------------------------- JavaScript
def test_javascript_sums_what_python_sums():
    parts = np.random.default_rng(6).normal(size=(40, 4, 11))
    given = [[part.tolist(), SWITCHES[i % 16]] for i, part in enumerate(parts)]
    got = run(ESM, "given.map((g) => m.mixture(...g))", given)
    for (_, on), part, y in zip(given, parts, got, strict=True):
        np.testing.assert_allclose(y, part[np.array(on)].sum(axis=0), atol=1e-14)


def test_distance_is_the_length_of_the_difference():
    a, b = np.random.default_rng(7).normal(size=(2, 30, 11))
    got = run(ESM, "given[0].map((a, i) => m.distance(a, given[1][i]))", [a.tolist(), b.tolist()])
    np.testing.assert_allclose(got, [math.sqrt(sum((x - y) ** 2)) for x, y in zip(a, b, strict=True)], atol=1e-14)


def test_both_languages_of_the_code_name_the_same_heads():
    assert [en for _, en in run(ESM, "m.HEADS")] == list(HEADS)


def test_the_sentence_says_what_moved():
    zh, en = run(ESM, "m.verdict('“the”', [true, false, true, false], 0.5)")
    assert zh == "关掉 2 个头（第一个词元、全句平均）：“the”的输出移动了 0.5000。"
    assert en == "2 off (first token, broad average): the output of “the” moved by 0.5000."
    assert "sum of four" in run(ESM, "m.verdict('“the”', [true, true, true, true], 0)")[1]


# ---------------------------------------------------------------- the traits
def test_the_page_moves_python():
    mixer = HeadMixer()
    assert mixer.query == 4 and mixer.moved == 0
    mixer.set_state({"query": 2, "heads": [False, True, True, True]})
    assert mixer.moved == pytest.approx(np.linalg.norm(attend(SENTENCE)[1][0, 2]))
    mixer.heads = [False] * 4
    assert not mixer.output.any()


@pytest.mark.parametrize("given, words", [
    ({"tokens": ["one"]}, "there are 1 tokens; the head mixer shows 2 to 7"),
    ({"tokens": list("abcdefgh")}, "there are 8 tokens"),
    ({"tokens": "the cat"}, "tokens must be a list of names, but it is 'the cat'"),
    ({"tokens": 5}, "tokens must be a list of names, but it is 5"),
    ({"tokens": ["a", 3]}, "3 is no token; give words of 1 to 8 letters"),
    ({"tokens": ["a", "incomprehensible"]}, "'incomprehensible' is no token"),
    ({"query": 6}, "query 6 was asked for, but there are 6 tokens, counted from 0"),
    ({"query": -1}, "query -1 was asked for"),
    ({"query": True}, "query is True; it must be a whole number"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        HeadMixer(**given)


def test_a_change_that_does_not_fit_is_taken_back():
    mixer = HeadMixer()
    before = repr(mixer)
    with pytest.raises(Misfit, match="there are 4 heads, but 3 switches; give one for each head"):
        mixer.heads = [True] * 3
    with pytest.raises(Misfit, match="query 9"):
        mixer.query = 9
    assert repr(mixer) == before


def test_repr_is_stable():
    mixer = HeadMixer(["a", "b"])
    e = math.exp(4) / (math.exp(4) + 1)  # the first token looks at itself in three heads
    output = [round(x, 4) for x in (2 * e + 0.5, 2 * (1 - e) + 0.5, e, 1 - e)]
    expected = f"HeadMixer(query=0, heads=[True, True, True, True], output={output})"
    assert repr(mixer) == repr(HeadMixer(["a", "b"])) == expected


def test_still_says_it_without_javascript():
    root = ET.fromstring(HeadMixer(["<b>", "x&y", "<b>"], query=2).still)
    space = "{http://www.w3.org/2000/svg}"
    zh, en = root.find(f"{space}title").text.split(" | ")
    assert HAN.search(zh) and not HAN.search(en) and "<b>" in en
    texts = [text.text for text in root.iter(f"{space}text")]
    assert texts.count("<b>") == 2 and "2 same word" in texts and not HAN.search("".join(texts))
    assert texts.count("0.3333") == 3 and texts.count(f"{math.exp(4) / (math.exp(4) + 2):.4f}") == 2


# ---------------------------------------------------------------- the page
@pytest.fixture
def mixer(open_widget):
    """mixer(view, **context options) -> the page and its head mixer."""
    return partial(open_widget, CHAPTER, ".attn-head-mixer")


SEEN = """(widget) => {
  const [attended, output, ...small] = widget.querySelectorAll("svg");
  const number = (node, name) => Number(node.getAttribute(name));
  const texts = (group) => [...group.querySelectorAll("text")].map((t) => t.textContent);
  const bars = [...output.querySelectorAll("rect.attn-line-z")].filter((rect) => number(rect, "height") > 14);
  const ticks = [...output.querySelectorAll(".attn-tick")].map((t) => [number(t, "x"), Number(t.textContent)]);
  const [[x0, v0], [x1, v1]] = [ticks[0], ticks.at(-1)], value = (x) => v0 + ((x - x0) / (x1 - x0)) * (v1 - v0);
  const tip = (pin) => value(Number(pin.getAttribute("d").match(/M([-.\\d]+)/)[1]) + 5);
  const shades = (group) => [...group.querySelectorAll("rect.attn-a")].map((rect) => Number(rect.style.fillOpacity));
  return {
    weights: [...attended.querySelectorAll("g")].map((group) => texts(group).slice(1).map(Number)),
    shades: [...attended.querySelectorAll("g")].map(shades),
    numbers: [...output.querySelectorAll("text[x='346']")].map((t) => Number(t.textContent)),
    pieces: bars.map((rect) => [number(rect, "x"), number(rect, "x") + number(rect, "width")].map(value)),
    pins: [...output.querySelectorAll("path.attn-plain[d*='h10']")].map(tip),
    small: small.map((svg) => [...svg.querySelectorAll("g")].map(shades)),
    framed: small.map((svg) => number(svg.querySelector(".attn-frame"), "y")),
    strokes: [...widget.querySelectorAll(".attn-frame")].map((ring) => getComputedStyle(ring).stroke)
      .concat(getComputedStyle(widget.querySelector("label .attn-text-q")).color),
    on: [...attended.querySelectorAll("g")].map((group) => !group.classList.contains("attn-off")),
  };
}"""


def assert_shows(widget, expected):
    """Pictures and sentence say what this HeadMixer computes."""
    seen, on = widget.evaluate(SEEN), np.array(expected.heads)
    assert seen["on"] == expected.heads
    np.testing.assert_allclose(seen["weights"], expected.weights, atol=5.1e-5)
    np.testing.assert_allclose(np.array(seen["shades"]) / 0.4, expected.weights, atol=1e-5)
    np.testing.assert_allclose(seen["numbers"], expected.output, atol=5.1e-5)
    np.testing.assert_allclose(seen["pins"], expected.contributions.sum(axis=0), atol=1e-6)
    parts = (expected.contributions * on[:, None]).T  # (components, heads)
    ends = parts.cumsum(axis=1)
    np.testing.assert_allclose(np.reshape(seen["pieces"], (-1, 4, 2)), np.stack([ends - parts, ends], -1), atol=1e-6)
    np.testing.assert_allclose(seen["small"], attend(SENTENCE)[0], atol=1e-5)
    size = (164 - 46 - 2) / 6
    np.testing.assert_allclose(seen["framed"], 2 + size * expected.query, atol=1e-6)
    assert len(set(seen["strokes"])) == 1, "the frames have the colour of q"
    sentence = widget.locator(".attn-verdict").inner_text()
    assert ("All four heads on" in sentence) if on.all() else (f"moved by {expected.moved:.4f}." in sentence)


def test_switches_and_queries_show_what_python_computes(mixer):
    page, widget = mixer()
    switches, expected = widget.get_by_role("checkbox").all(), HeadMixer()
    assert_shows(widget, expected)
    for r in (0, 2, 3, 1):
        switches[r].focus()
        page.keyboard.press(" ")
        expected.heads = [on and k != r for k, on in enumerate(expected.heads)]
        assert_shows(widget, expected)
    switches[2].check()
    expected.heads = [False, False, True, False]
    for query in range(6):
        widget.locator("select").select_option(str(query))
        expected.query = query
        assert_shows(widget, expected)
    widget.get_by_role("button", name="Reset").click()
    assert_shows(widget, HeadMixer())
    assert widget.locator("select").input_value() == "4" and page.log.console == []


@pytest.mark.parametrize("view", ["zh", "en", "both"])
@pytest.mark.parametrize("options", [PHONE, {"viewport": {"width": 1300, "height": 900}}], ids=["phone", "desk"])
def test_it_stays_in_place_and_speaks_the_language_of_the_page(mixer, view, options):
    page, widget = mixer(view, **options)
    heights = {widget.bounding_box()["height"]}
    for switch in widget.get_by_role("checkbox").all():
        (switch.tap if "has_touch" in options else switch.click)()
        heights.add(widget.bounding_box()["height"])
    assert len(heights) == 1, "the page moves under the reader's hand"
    assert page.evaluate("document.documentElement.scrollWidth") == options["viewport"]["width"]
    words = widget.inner_text() + "".join(widget.locator("svg title, svg desc, .attn-told").all_text_contents())
    assert bool(HAN.search(words)) == (view != "en")
    assert ("not trained" in words) == (view != "zh") and ("不是训练出来的" in words) == (view != "en")
    sizes = [e.bounding_box() for e in widget.locator("input, select, button").all()]
    assert min(min(size["width"], size["height"]) for size in sizes) >= 24
    assert (
        widget.evaluate("""(widget) => [...widget.querySelectorAll("label, figcaption, svg text")].filter((e) => {
      const range = document.createRange(), home = widget.getBoundingClientRect();
      range.selectNodeContents(e);
      const text = range.getBoundingClientRect();
      return text.width && (text.right > home.right + 1 || text.left < home.left - 1);
    }).map((e) => e.textContent)""")
        == []
    )


def test_changes_are_told_and_pictures_described(mixer):
    page, widget = mixer()
    widget.get_by_role("checkbox").nth(2).uncheck()
    assert widget.locator(".attn-told").text_content() == widget.locator(".attn-verdict").inner_text()
    titles, descriptions = (
        [page.locator("#" + svg.get_attribute(f"aria-{kind}")).text_content() for svg in widget.locator("svg").all()]
        for kind in ("labelledby", "describedby")
    )
    assert titles[2:] == list(HEADS) and descriptions[2].startswith("the: 0.0168, 0.0168, 0.0168, 0.9161")
    assert (
        descriptions[0].startswith("previous token: the 0.0168, cat 0.0168") and "position 0 0.0000" in descriptions[1]
    )
    for control in widget.locator("input, select").all():
        assert page.locator(f'label[for="{control.get_attribute("id")}"]').inner_text()


@pytest.mark.parametrize("view", ["zh", "en", "both"])
def test_without_javascript_there_is_a_still_picture(open_page, site_url, view):
    page = open_page(java_script_enabled=False)
    page.goto(f"{site_url}/{view}/{CHAPTER}")
    still = page.locator(".widget-still svg", has_text="2 same word").first
    assert still.is_visible() and f"{HeadMixer().weights[0, 3]:.4f}" in still.text_content()
    assert bool(HAN.search(still.locator("title").text_content())) == (view != "en")
