"""The head explorer: its weights are those of the file, its averages those of tools/models; Python, JavaScript and the
page agree."""

import itertools
import re
import xml.etree.ElementTree as ET
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from attention_widgets import HeadExplorer, Misfit
from attention_widgets.head_explorer import COPY, KINDS, MODELS, SENTENCES, by_distance, rounded
from conftest import PHONE, ROOT, run
from models import patterns, texts

ESM = HeadExplorer._esm
CHAPTER = "09_real_heads.html"
HAN = re.compile("[\u3400-\u9fff]")
FILE = dict(np.load(ROOT / "book" / "data" / "real_heads.npz"))
TEXTS = HeadExplorer(FILE)._texts
EVERY = [(text, k) for text in TEXTS for k in range(len(text["heads"]))]


def of(text, k):
    """The explorer at head k of a text."""
    return HeadExplorer(FILE, text["model"], text["name"], text["heads"][k], text["word"])


def computed():
    """What Python computes at every head."""
    explorer = HeadExplorer(FILE)
    for text, k in EVERY:
        state = {"model": text["model"], "sentence": text["name"], "head": text["heads"][k], "word": text["word"]}
        explorer.set_state(state)
        names = "weights", "row", "shares", "distance"
        yield SimpleNamespace(**{name: getattr(explorer, name) for name in names})


ALL = list(computed())


# ---------------------------------------------------------------- what it carries
def kept(text, k):
    """The weights of a head as the file has them, looked up by what it was chosen for, and their rounding error."""
    model, language, n = text["model"], text["language"], len(text["tokens"])
    if text["name"] == "copy":
        return FILE["smollm_copy_A"] / 65535, 1 / 510
    if not text["jobs"][k]:
        return FILE["minilm_all"][tuple(text["heads"][k])] / 255, 0
    i, job = list(SENTENCES[language]).index(text["name"]), text["jobs"][k][0]
    roles = FILE[f"{model}_roles"].tolist()
    if job in roles:
        return FILE[f"{model}_{language}_A"][i, roles.index(job), :n, :n] / 255, 0
    r = FILE["relations"].tolist().index(job)
    return FILE[f"{model}_{language}_syntax_A"][i, r, :n, :n] / 255, 0


def test_the_weights_of_every_head_are_those_of_the_file():
    assert len(EVERY) == 72 + 2 * 8 + 3 * 5 + 1 + 6 * 10
    for (text, k), explorer in zip(EVERY, ALL, strict=True):
        A, error = kept(text, k)
        np.testing.assert_allclose(explorer.weights, A, atol=error + 1e-12)
        np.testing.assert_array_equal(explorer.row, explorer.weights[text["word"]])
        np.testing.assert_allclose(A.sum(axis=1), 1, atol=0.02)


def test_each_head_is_called_by_what_the_file_chose_it_for():
    for text, k in EVERY:
        model, head = text["model"], text["heads"][k]
        wanted = [
            str(job)
            for job, other in zip(FILE[f"{model}_roles"], FILE[f"{model}_heads"], strict=True)
            if [*other] == head
        ]
        wanted += [
            str(job)
            for job, other in zip(FILE["relations"], FILE[f"{model}_syntax_head"], strict=True)
            if [*other] == head
        ]
        if text["name"] == "copy":
            wanted = ["induction"]
            assert head == FILE["smollm_induction_head"].tolist()
        assert text["jobs"][k] == wanted
    assert sum(len(text["jobs"][k]) == 0 for text, k in EVERY) == 64, "only MiniLM’s, for “tired”"


def test_the_sentences_are_those_that_the_models_read():
    assert list(SENTENCES["en"].values()) == [texts.EN[0], texts.WIDE, texts.EN[1]]
    assert list(SENTENCES["zh"].values()) == [texts.ZH[0], texts.WIDE_ZH, texts.ZH[1]]
    bare = partial(re.sub, r"[\s▁Ġ]", "")
    for text in TEXTS:
        tokens = text["tokens"] if text["causal"] else text["tokens"][1:-1]
        read, said = bare("".join(tokens)), bare(text["sentence"])
        assert read.replace(",", "，") == said or read == said or read == said.lower()
    assert [text["sentence"] for text in TEXTS if text["name"] == "copy"] == [COPY]
    first, second = [text["tokens"] for text in TEXTS if text["name"] in ("tired", "wide") and text["model"] == "e5"]
    assert [(a, b) for a, b in zip(first, second, strict=True) if a != b] == [("▁tired", "▁wide")], "one word differs"


def test_what_ten_other_sentences_say_is_the_second_half_of_the_file():
    for text, k in EVERY:
        table = FILE[text["model"] + ("_shares_zh" if text["language"] == "zh" else "_shares")][1] / 65535
        layer, head = text["heads"][k]
        np.testing.assert_allclose(text["held"][k], table[:, layer, head], atol=5.1e-6)
        np.testing.assert_allclose(text["mean"], [kind.mean() for kind in table], atol=5.1e-6)
    assert round(TEXTS[0]["held"][0][0], 4) == 0.9997 and round(TEXTS[0]["mean"][0], 3) == 0.071
    assert list(KINDS) == FILE["share_names"].tolist()


# ---------------------------------------------------------------- what is counted
def test_shares_are_those_of_the_file_s_makers():
    for (text, _), explorer in zip(EVERY, ALL, strict=True):
        expected = patterns.shares([(text["tokens"], explorer.weights[None, None])], 0 if text["causal"] else 1)
        np.testing.assert_allclose([explorer.shares[kind] for kind in KINDS], expected[:, 0, 0], atol=1e-12)


def test_a_mean_at_a_distance_is_that_of_a_diagonal():
    for (text, _), explorer in zip(EVERY, ALL, strict=True):
        inner = explorer.weights[1:, 1:] if text["causal"] else explorer.weights[1:-1, 1:-1]
        m = len(inner)
        expected = {far: inner.diagonal(far).mean() for far in range(1 - m, m) if m - abs(far) >= m / 2}
        means = by_distance(text["tokens"], explorer.weights, text["causal"])
        assert means == pytest.approx(expected, abs=1e-12)
        assert explorer.distance[1] == pytest.approx(max(expected.values()), abs=1e-12)
        assert means[explorer.distance[0]] == explorer.distance[1]


def test_the_chosen_heads_do_on_the_shown_sentences_what_they_are_called():
    at = {"previous": -1, "next": 1, "itself": 0}
    for (text, k), explorer in zip(EVERY, ALL, strict=True):
        for job in text["jobs"][k]:
            if job in at:
                assert explorer.distance[0] == at[job] and explorer.distance[1] == pytest.approx(explorer.shares[job])
    assert of(TEXTS[0], 0).distance == (-1, 1), "every weight is at least 1 − 1/510"


def test_javascript_counts_what_python_counts():
    each = "m.decode(text).map((A) => [m.shares(text, A), m.peak(text, A), A.map((row) => [...row])])"
    got = run(ESM, f"given.map((text) => {each})", TEXTS)
    for explorer, (found, peak, A) in zip(ALL, itertools.chain(*got), strict=True):
        np.testing.assert_array_equal(np.array(A) / 255, explorer.weights)
        np.testing.assert_allclose(found, [explorer.shares[kind] for kind in KINDS], atol=1e-12)
        assert (peak["far"], pytest.approx(peak["mean"])) == explorer.distance


def test_javascript_finds_the_largest_weight_of_every_word():
    results = "m.decode(text).map((A) => A.map((_, i) => m.results(text, A, i)))"
    got = run(
        ESM, f"given.map((text) => {results}.map((head) => head.map(({{j, a, target}}) => [j, a, target])))", TEXTS
    )
    for (text, _), explorer, rows in zip(EVERY, ALL, itertools.chain(*got), strict=True):
        most = explorer.weights.argmax(axis=1)
        assert [j for j, *_ in rows] == most.tolist() and [target for *_, target in rows] == [
            text["tokens"][j] for j in most
        ]
        np.testing.assert_allclose([a for _, a, _ in rows], explorer.weights.max(axis=1), atol=1e-15)


def test_a_rounded_weight_claims_no_more_than_is_known():
    every = np.arange(256) / 255
    assert run(ESM, "given.map(m.rounded)", every.tolist()) == [rounded(a) for a in every]
    for byte, said in {0: "<.01", 1: "<.01", 2: "0.01", 128: "0.50", 253: "0.99", 254: ">.99", 255: ">.99"}.items():
        assert rounded(byte / 255) == said


def test_both_languages_of_the_code_name_the_same():
    named = run(ESM, "[m.KINDS, Object.entries(m.MODELS).map(([key, [name, bits]]) => [key, name, bits])]")
    assert named[0] == list(KINDS)
    assert {key: name + (f" ({bits}-bit)" if bits else "") for key, name, bits in named[1]} == MODELS
    assert [key for key, _, bits in named[1] if bits] == ["smollm", "e5"], "those that the file has from 4 bits"


def test_the_sentence_says_where_the_word_looks():
    k = TEXTS[0]["heads"].index([3, 1])
    zh, en = run(ESM, "m.verdict(m.results(given[0], m.decode(given[0])[given[1]], 10))", [TEXTS[0], k])
    explorer = of(TEXTS[0], k)
    far, mean = explorer.distance
    assert explorer.row[2] == pytest.approx(FILE["minilm_A3"][10, 2] / 65535, abs=1 / 510)
    numbers = f"{far:+d}".replace("-", "−"), rounded(mean), rounded(explorer.shares["first"])
    assert zh.startswith("“it”看得最多的是“animal”（距离 −8）：0.68。")
    assert en.startswith("“it” looks most at “animal” (distance −8): 0.68. ")
    assert zh.endswith("这个头看得最多的距离是 {}：{}；第一个词元“[CLS]”得到 {}。".format(*numbers))
    assert en.endswith("looks most at distance {}: {}; the first token, “[CLS]”, gets {}.".format(*numbers))


def states():
    return [
        {"model": text["model"], "sentence": text["name"], "head": head, "word": len(text["tokens"]) - 1}
        for text in TEXTS for head in text["heads"][:9]
    ]  # fmt: skip


def test_another_text_keeps_what_it_has():
    changes = [{"model": model} for model in MODELS] + [{"sentence": text["name"]} for text in TEXTS] + [{"word": 0}]
    given = [[state, change] for state in states() for change in changes]
    places = {(text["model"], text["name"]): text for text in TEXTS}
    got = run(ESM, "given[1].map((g) => m.follow(given[0], ...g))", [TEXTS, given])
    for (state, change), after in zip(given, got, strict=True):
        text, before = places[after["model"], after["sentence"]], places[state["model"], state["sentence"]]
        wanted = (state | change)["model"], (state | change)["sentence"]
        assert after["model"] == wanted[0] and (after["sentence"] == wanted[1] or wanted not in places)
        assert after["head"] == (state["head"] if state["head"] in text["heads"] else text["heads"][0])
        stays = len(text["tokens"]) == len(before["tokens"])
        assert after["word"] == ((state | change)["word"] if stays else text["word"])


# ---------------------------------------------------------------- the traits
def test_it_begins_with_the_previous_token_head_in_the_language_of_the_page():
    explorer = HeadExplorer(FILE)
    assert repr(explorer) == "HeadExplorer(model='minilm', sentence='tired', head=(0, 2), word=10)"
    assert explorer.tokens[10] == "it"
    zh = HeadExplorer(FILE, **explorer._starts["zh"])
    assert zh.sentence == "累" and HAN.search(zh.tokens[zh.word]) and zh.distance[0] == -1
    own = HeadExplorer(FILE, head=FILE["minilm_heads"][1])
    assert own.head == [1, 8] and own._starts["zh"] == own._starts["en"], "what is asked for is shown to everybody"


def test_the_page_moves_python():
    explorer = HeadExplorer(FILE)
    explorer.set_state({"model": "e5", "sentence": "宽", "head": [2, 6], "word": 3, "_begun": True})  # as it sends them
    assert repr(explorer) == "HeadExplorer(model='e5', sentence='宽', head=(2, 6), word=3)"
    assert explorer.distance[0] == 1


def test_python_chooses_a_text_and_the_rest_follows():
    explorer = HeadExplorer(FILE, sentence="keys", head=(3, 1))
    explorer.model = "smollm"
    assert repr(explorer) == "HeadExplorer(model='smollm', sentence='keys', head=(16, 0), word=7)"
    explorer.sentence = "copy"
    assert explorer.head == [18, 6] and explorer.word == 7
    explorer.word = 18
    explorer.model = "e5"
    assert repr(explorer) == "HeadExplorer(model='e5', sentence='tired', head=(0, 2), word=10)"
    explorer.sentence = "累"
    explorer.set_state({"model": "minilm"})
    assert repr(explorer) == "HeadExplorer(model='minilm', sentence='tired', head=(0, 2), word=10)"


@pytest.mark.parametrize("given, words", [
    ({"model": "bert"}, "model is 'bert'; it must be one of 'minilm', 'smollm', 'e5'"),
    ({"sentence": "copy"}, "sentence is 'copy'; with model 'minilm' it must be one of 'tired', 'wide', 'keys'$"),
    ({"model": "smollm", "head": (0, 2)}, r"head is \(0, 2\); for 'tired' in 'smollm' there are .* \(16, 0\), "),
    ({"head": 5}, "'head' trait .* expected a list, not the int 5"),
    ({"head": (6, 0)}, r"head is \(6, 0\); .*, …$"),
    ({"word": 16}, "word 16 was asked for, but there are 16 tokens, counted from 0"),
    ({"word": -1}, "word -1 was asked for"),
    ({"word": True}, "word is True; it must be a whole number"),
    ({"real_heads": {}}, r"not the course's file \('minilm_roles'\); give np.load\(\"data/real_heads.npz\"\)"),
    ({"real_heads": "data/real_heads.npz"}, "not the course's file"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        HeadExplorer(**{"real_heads": FILE} | given)


@pytest.mark.parametrize("name, value", [("model", "bert"), ("sentence", "累"), ("head", [9, 9]), ("word", 16)])
def test_a_change_that_does_not_fit_is_taken_back(name, value):
    explorer = HeadExplorer(FILE)
    before = repr(explorer)
    with pytest.raises(Misfit, match=name):
        setattr(explorer, name, value)
    assert repr(explorer) == before


def test_still_says_it_without_javascript():
    explorer = HeadExplorer(FILE, model="e5", head=(5, 7))
    root = ET.fromstring(explorer.still)
    space = "{http://www.w3.org/2000/svg}"
    zh, en = root.find(f"{space}title").text.split(" | ")
    assert HAN.search(zh) and not HAN.search(en) and "(5, 7)" in en
    said = [text.text for text in root.iter(f"{space}text")]
    assert said[0] == "multilingual-e5-small (4-bit) (5, 7)" and not HAN.search("".join(said))
    assert [f"{i} {token}" for i, token in enumerate(explorer.tokens)] == [text for text in said if " " in text][1:]
    numbers = [f"{a:.2f}" for a in explorer.weights.ravel() if 0.1 <= a < 0.995]
    assert sorted(text for text in said if re.fullmatch(r"0\.\d\d", text)) == sorted(numbers) and numbers


# ---------------------------------------------------------------- the page
@pytest.fixture
def explorer(open_widget):
    """explorer(view, **context options) -> the page and its head explorer."""
    return partial(open_widget, CHAPTER, ".attn-head-explorer")


SEEN = """(widget) => {
  const all = (selector, where = widget) => [...where.querySelectorAll(selector)];
  const texts = (selector, where) => all(selector, where).map((e) => e.textContent);
  const number = (node, name) => Number(node.getAttribute(name));
  const [lines, matrix] = all("svg"), ring = matrix.querySelector(".attn-frame");
  const rows = all("g g", matrix).map((row) => all(".attn-a", row).map((box) => Number(box.style.fillOpacity)));
  const middle = number(ring, "y") + number(ring, "height") / 2;
  const line = (name) => all("line").map((e) => number(e, name));
  return {
    words: texts(".attn-tokens button"), keys: texts(".attn-look th"), numbers: texts(".attn-look td"),
    chosen: all(".attn-tokens button").map((e) => e.getAttribute("aria-checked")).indexOf("true"),
    from: line("y1"), to: line("y2"), wide: line("stroke-width"),
    rows, ring: (middle - 18) / ((346 - 88 - 2) / rows.length) - 0.5,
    averages: all(".attn-column tbody tr").map((row) => texts("td", row)),
  };
}"""


def known(a):
    """Four decimals, as the page writes what the file knows to 0.00001."""
    return "<0.0001" if 0 < a < 5e-5 else ">0.9999" if 1 - 5e-5 <= a < 1 else f"{a:.4f}"


def assert_shows(widget, expected, over=None):
    """Words, lines, matrix, tables and sentence say what this HeadExplorer computes; the mouse is over a word."""
    seen, text, i = widget.evaluate(SEEN), expected._text, expected.word if over is None else over
    names = [f"{j} {token}" for j, token in enumerate(expected.tokens)]
    assert seen["words"] == seen["keys"] == names and seen["chosen"] == expected.word
    row, n = expected.weights[i], len(names)
    hidden = [text["causal"] and j > i for j in range(n)]
    assert seen["numbers"] == ["—" if no else rounded(a) for a, no in zip(row, hidden, strict=True)]
    assert seen["from"] == [i + 0.5] * n and seen["to"] == [j + 0.5 for j in range(n)]
    np.testing.assert_allclose(seen["wide"], [1 + 9 * a if a > 1.5 / 255 else 0 for a in row], atol=0.006)
    assert seen["ring"] == pytest.approx(i, abs=1e-6)
    for k, opacities in enumerate(seen["rows"]):
        assert len(opacities) == (k + 1 if text["causal"] else n)
        np.testing.assert_allclose(opacities, expected.weights[k, : len(opacities)], atol=6e-4)
    k = text["heads"].index(expected.head)
    here = [rounded(expected.shares[kind]) for kind in KINDS]
    wanted = [list(line) for line in zip(here, map(known, text["held"][k]), map(known, text["mean"]), strict=True)]
    if text["causal"]:
        wanted[1] = wanted[4] = ["—"] * 3
    assert seen["averages"] == wanted
    far, mean = expected.distance
    sentence = widget.locator("> .attn-verdict").text_content()
    assert f"“{expected.tokens[i]}” looks most at “{expected.tokens[row.argmax()]}”" in sentence
    assert f"most at distance {f'{far:+d}'.replace('-', '−') if far else 0}: {rounded(mean)};" in sentence
    assert sentence.endswith(f"gets {rounded(expected.shares['first'])}.")


def test_lists_slider_words_and_mouse_show_what_python_computes(explorer):
    page, widget = explorer()
    model, sentence, head = widget.locator("select").all()
    expected = HeadExplorer(FILE)
    assert_shows(widget, expected)
    head.select_option(label="(3, 1) · determiner → noun · verb → object")
    expected.head = [3, 1]
    assert_shows(widget, expected)
    sentence.select_option("wide")  # the control
    expected.sentence = "wide"
    assert_shows(widget, expected)
    widget.get_by_role("radio", name="13 wide").click()
    expected.word = 13
    assert_shows(widget, expected)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    expected.word = 14
    assert_shows(widget, expected)
    widget.get_by_role("radio", name="2 animal").hover()
    assert_shows(widget, expected, over=2)
    page.mouse.move(0, 0)
    assert_shows(widget, expected)
    sentence.select_option("tired")
    expected.sentence = "tired"
    slider = widget.get_by_role("slider")
    slider.press("Home")
    expected.head = [0, 0]
    assert_shows(widget, expected)
    assert head.locator("option:checked").text_content() == "another head"
    slider.press("ArrowRight")
    expected.head = [0, 1]
    assert_shows(widget, expected)
    slider.fill("14")
    expected.head = [1, 2]
    assert_shows(widget, expected)
    for k, name in enumerate(("smollm", "e5")):
        model.select_option(name)
        expected = HeadExplorer(FILE, name)
        expected.word = 8 if name == "smollm" else 10
        assert_shows(widget, expected)
        sentence.select_option(["copy", "累"][k])
        expected.sentence = ["copy", "累"][k]
        expected.word = expected._text["word"]
        assert_shows(widget, expected)
        assert slider.is_disabled() == (name == "smollm")
    widget.get_by_role("button", name="Reset").click()
    assert_shows(widget, HeadExplorer(FILE))
    assert page.log.console == []


def test_it_begins_in_the_language_of_the_page_and_keeps_what_was_chosen(explorer):
    page, widget = explorer("zh")
    sentence = widget.locator("select").nth(1)
    assert sentence.input_value() == "累" and "“因为它”看得最多的是" in widget.locator("> .attn-verdict").text_content()

    def go(view):
        page.locator(f'.lang-switch a[data-lang="{view}"]').first.click()
        page.wait_for_url(f"**/{view}/**")
        page.wait_for_function("() => document.documentElement.dataset.widgets === 'ready'")

    go("en")
    assert sentence.input_value() == "tired"
    sentence.select_option("keys")
    widget.get_by_role("radio", name="6 cabinet").click()
    go("zh")
    assert sentence.input_value() == "keys" and widget.locator("[aria-checked=true]").text_content() == "6 cabinet"
    widget.get_by_role("button", name="重置").click()
    assert sentence.input_value() == "累"


def test_a_word_is_left_by_tab_and_found_again(explorer):
    page, widget = explorer()
    widget.get_by_role("radio", name="10 it").focus()
    for key in ("Home", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.textContent") == "1 the"
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.textContent") == "1 the"
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent") == "15 [SEP]"
    assert widget.locator('.attn-tokens [tabindex="0"]').count() == 1


STEP = """(widget) => {
  const buttons = widget.querySelectorAll(".attn-tokens button"), watch = new MutationObserver(() => {});
  buttons[1].click();
  const all = { subtree: true, childList: true, attributeOldValue: true, characterDataOldValue: true };
  watch.observe(widget, all);
  buttons[2].click();
  const said = ({ target }) => (target.closest ? target : target.parentElement).closest(".attn-told, desc");
  const drawn = watch.takeRecords().filter((record) => !said(record)); // what a screen reader hears is written anew
  const now = ({ type, target: e, attributeName: name }) => (type === "attributes" ? e.getAttribute(name) : e.data);
  return {
    most: drawn.length, built: drawn.filter((record) => record.type === "childList").length,
    idle: drawn.filter((record) => record.oldValue === now(record)).length,
  };
}"""


def test_a_step_to_the_next_word_writes_only_what_differs(explorer):
    _, widget = explorer("both")
    seen = widget.evaluate(STEP)
    assert seen["built"] == seen["idle"] == 0 and 0 < seen["most"] <= 80


DESK, NARROW = {"viewport": {"width": 1300, "height": 900}}, {"viewport": {"width": 320, "height": 640}}


@pytest.mark.parametrize(
    "view, options", [("zh", DESK), ("en", PHONE), ("both", NARROW)], ids=["zh-desk", "en-phone", "both-narrow"]
)
def test_it_stays_in_place_and_speaks_the_language_of_the_page(explorer, view, options):
    page, widget = explorer(view, **options)
    model, sentence, head = widget.locator("select").all()
    fit = (ROOT / "tests" / "seen_to_fit.js").read_text("utf-8")
    heights, words = {widget.bounding_box()["height"]}, ""
    for name, text in (("minilm", "wide"), ("smollm", "copy"), ("e5", "keys"), ("smollm", "tired")):
        model.select_option(name)
        sentence.select_option(text)
        head.select_option(index=0)
        widget.get_by_role("radio").nth(6).click()
        heights.add(widget.bounding_box()["height"])
        words += widget.inner_text() + "".join(widget.locator("svg title, svg desc, .attn-told").all_text_contents())
        seen = widget.evaluate(fit)
        assert seen["out"] == [] and seen["least"] >= 24
        assert page.evaluate("document.documentElement.scrollWidth") == options["viewport"]["width"]
    assert len(heights) == 1, "the page moves under the reader's hand"
    words = re.sub("|".join(SENTENCES["zh"].values()), "", words)  # options say that they are Chinese
    assert bool(HAN.search(words)) == (view != "en")
    assert ("4-bit" in words) == (view != "zh") and ("4 比特" in words) == (view != "en")


def test_changes_are_told_and_pictures_described(explorer):
    page, widget = explorer()
    widget.locator("select").nth(2).select_option(label="(3, 1) · determiner → noun · verb → object")
    assert widget.locator(".attn-told").text_content() == widget.locator("> .attn-verdict").text_content()
    lines, matrix = (
        page.locator("#" + svg.get_attribute("aria-describedby")).text_content() for svg in widget.locator("svg").all()
    )
    assert "animal 0.68, " in lines and "10 it → 2 animal 0.68; " in matrix
    assert widget.locator(".attn-look table").get_attribute("aria-label") == "weights that “it” gives to each token"
    for control in widget.locator("input, select").all():
        assert page.locator(f'label[for="{control.get_attribute("id")}"]').text_content()


@pytest.mark.parametrize("view", ["zh", "en", "both"])
def test_without_javascript_there_is_a_still_picture(open_page, site_url, view):
    page = open_page(java_script_enabled=False)
    page.goto(f"{site_url}/{view}/{CHAPTER}")
    still = page.locator(".widget-still svg", has_text="all-MiniLM-L6-v2 (0, 2)").first
    assert still.is_visible() and "10 it" in still.text_content()
    assert bool(HAN.search(still.locator("title").text_content())) == (view != "en")
