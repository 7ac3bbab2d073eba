"""The JavaScript of a widget computes what NumPy computes; its source stands alone; Python and the page agree."""

import json
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import attention_mechanism as am
import attention_widgets as aw
from conftest import node, run

WIDGETS = aw.Widget.__subclasses__()
Q = [[1.0, 0.0, 0.5, 0.2], [0.0, 1.0, 0.0, 0.5], [0.5, 0.5, 0.0, 1.0]]
K = [[0.8, 0.1, 0.3, 0.6], [0.2, 0.9, 0.1, 0.4], [0.5, 0.5, 0.5, 0.5]]
V = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
MINE = {"zh": "我的", "en": "mine", "tokens": ["a", "b", "c"], "q": Q[0], "K": K, "V": V}


# What every widget keeps to


@pytest.mark.parametrize("widget", WIDGETS)
def test_source_imports_nothing_and_renders(widget):
    assert not re.search(r"^\s*import\b", widget._esm, re.M)
    assert run(widget._esm, "typeof m.default.render") == "function"


@pytest.mark.parametrize("widget", WIDGETS)
def test_the_file_itself_is_a_module(widget):
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", widget.__name__).lower()
    path = Path(aw.__file__).with_name(f"{name}.js")
    load = f"await import({json.dumps(path.as_uri())}); console.log('ok')"
    # node takes a .js without package.json for a script unless it is told to look
    flags = ["--experimental-detect-module", "--no-warnings", "--input-type=module"]
    out = subprocess.run([node(), *flags, "-e", load], capture_output=True, encoding="utf-8", timeout=60)
    assert out.stdout == "ok\n", out.stderr


@pytest.mark.parametrize(
    "view, words", [("zh", "分数"), ("en", "score"), ("both", "分数 · score"), (None, "分数 · score")]
)
def test_words_follow_the_body(view, words):
    body = {"dataset": {"bilingual": view} if view else {}}
    page = f"globalThis.document = {json.dumps({'body': body})}"
    assert run(aw.AttentionCalculator._esm, f"({page}, m.say('分数', 'score'))") == words


def test_numbers_as_text():
    given = [0, -0.00001, -1.5, 0.45186, 12]
    assert run(aw.AttentionCalculator._esm, "given.map((x) => m.fixed(x))", given) == [
        "0.0000", "0.0000", "−1.5000", "0.4519", "12.0000",
    ]  # fmt: skip


@pytest.mark.parametrize("widget", WIDGETS)
def test_style_holds_the_role_colours_of_both_themes(widget):
    for role in "qkvaz":
        assert len(re.findall(rf"--attn-{role}:#", widget._css)) == 2
        assert f".attn-{role} {{ fill: var(--attn-{role})" in widget._css


def test_no_widget_restyles_what_another_has_styled():
    """All share one style sheet: a selector that stands in it twice, media queries apart, is a clash."""
    style = (Path(aw.__file__).parent / "core.css").read_text("utf-8")
    style = re.sub(r"/\*.*?\*/|^@media [^\n]*\{\n.*?^\}|^@media [^\n]*", "", style, flags=re.S | re.M)
    selectors = re.findall(r"^ *([^{}\n]+?) \{", style, re.M)
    assert len(selectors) > 100 and len(selectors) == len(set(selectors))


# The attention calculator


def test_softmax_matches_numpy():
    scores = np.random.default_rng(0).normal(scale=8, size=(500, 5)).round(3)
    scores[0] = [700, 710, -710, 0, 709.5]  # overflows without the subtraction
    got = run(aw.AttentionCalculator._esm, "given.map((s) => m.softmax(s))", scores.tolist())
    np.testing.assert_allclose(got, am.softmax(scores), atol=1e-14)


@pytest.mark.parametrize("d_k", [1, 4, 7, 64])
def test_attend_matches_numpy(d_k):
    rng = np.random.default_rng(d_k)
    q, k, v = rng.normal(size=(200, 1, d_k)), rng.normal(size=(200, 6, d_k)), rng.normal(size=(200, 6, 3))
    z, a = am.scaled_dot_product_attention(q, k, v)
    given = {"s": am.dot_scores(q, k)[:, 0].tolist(), "v": v.tolist(), "d": d_k}
    got = run(aw.AttentionCalculator._esm, "given.s.map((s, i) => m.attend(s, given.v[i], given.d))", given)
    np.testing.assert_allclose([g["a"] for g in got], a[:, 0], atol=1e-14)
    np.testing.assert_allclose([g["z"] for g in got], z[:, 0], atol=1e-14)
    np.testing.assert_allclose([g["seen"] for g in got], am.scaled_scores(q, k)[:, 0], atol=1e-14)
    np.testing.assert_allclose([g["parts"] for g in got], a[:, 0, :, None] * v, atol=1e-14)


def test_attend_without_scaling():
    got = run(aw.AttentionCalculator._esm, "m.attend([1, 0, 0], [[1], [0], [0]], 4, false)")
    np.testing.assert_allclose(got["a"], [0.576117, 0.211942, 0.211942], atol=5e-7)  # e and 1 over e + 2
    assert got["seen"] == [1, 0, 0]


# Raw scores, d_k, weights and output of the five examples, to six decimals.
KNOWN = [
    ([1, 0, 0], 4, [0.451863, 0.274069, 0.274069], [0.451863, 0.274069, 0.274069, 0]),
    ([1.07, 0.33, 0.85], 4, [0.386613, 0.267047, 0.346341], [0.559783, 0.440217]),
    ([0.40, 1.10, 0.75], 4, [0.276984, 0.393059, 0.329956], [0.441962, 0.558038]),
    ([1.05, 0.95, 1.00], 4, [0.341701, 0.325036, 0.333264], [0.508332, 0.491668]),
    ([1.098612, 0], 1, [0.75, 0.25], [1.5, 1.0]),
]


@pytest.mark.parametrize("index", range(5))
def test_examples_have_the_known_values(index):
    scores, d_k, weights, output = KNOWN[index]
    calculator = aw.AttentionCalculator(example=index)
    assert len(calculator.examples) == 5 and calculator.d_k == d_k and calculator.scaled
    np.testing.assert_allclose(calculator.scores, scores, atol=5e-7)
    np.testing.assert_allclose(calculator.weights, weights, atol=1e-6)
    np.testing.assert_allclose(calculator.output, output, atol=1e-6)


def test_own_matrices():
    calculator = aw.AttentionCalculator([MINE])
    assert calculator.tokens == ["a", "b", "c"] and calculator.values == V
    np.testing.assert_allclose(calculator.output, [0.559783, 0.440217], atol=1e-6)


def test_the_page_moves_python():
    calculator = aw.AttentionCalculator(example=1)
    calculator.set_state({"scores": [0, 0, 0], "scaled": False})
    np.testing.assert_allclose(calculator.weights, [1 / 3] * 3)
    calculator.set_state({"tokens": ["a", "b"], "scores": [0, 0], "values": [[2], [4]]})  # as a button sends them
    np.testing.assert_allclose(calculator.output, [3])


def test_python_moves_the_page():
    calculator = aw.AttentionCalculator()
    calculator.example = 4
    calculator.d_k = 4
    state = calculator.get_state()
    assert (state["tokens"], state["values"], state["d_k"]) == (["0", "1"], [[2, 0], [0, 4]], 4)
    root3 = 3**0.5  # exp(log 3 / 2)
    np.testing.assert_allclose(calculator.weights, [root3 / (root3 + 1), 1 / (root3 + 1)])


@pytest.mark.parametrize("change, words", [
    ({"tokens": ["a"], "K": K[:1], "V": V[:1]}, "1 tokens; the calculator shows 2 to 6"),
    ({"V": V[:2]}, "3 tokens need 3 scores and 3 rows of values, but there are 3 and 2"),
    ({"tokens": ["a", "b"]}, "2 tokens need 2 scores"),
    ({"V": [[1], [float("nan")], [2]]}, "finite"),
    ({"V": np.zeros((3, 5))}, "from 1 to 4"),
    ({"V": [1, 2, 3]}, "row of d_v numbers"),
    ({"q": [1.0, 2.0]}, "agree in d_k"),
    ({"q": Q}, "give one row of Q"),
])  # fmt: skip
def test_examples_that_do_not_fit(change, words):
    with pytest.raises(ValueError, match=words):
        aw.AttentionCalculator([MINE | change])


def test_a_change_that_does_not_fit_is_taken_back():
    calculator = aw.AttentionCalculator()
    before = repr(calculator)
    for name, value in {"scores": [1.0], "values": [[1.0]] * 3 + [[2.0]], "d_k": 0, "example": 5}.items():
        with pytest.raises(ValueError):
            setattr(calculator, name, value)
    with pytest.raises(ValueError, match="finite"):
        calculator.scores = [0, float("inf"), 0]
    with pytest.raises(ValueError, match="4 tokens"), calculator.hold_trait_notifications():
        calculator.tokens = ["a", "b", "c", "d"]
        calculator.scores = [0, 0, 0, 0]
    assert repr(calculator) == before


def test_no_example_of_that_number():
    with pytest.raises(ValueError, match="example 7 was asked for, but there are 5"):
        aw.AttentionCalculator(example=7)


def test_repr_is_stable():
    expected = "AttentionCalculator(tokens=['0', '1', '2'], scores=[1.07, 0.33, 0.85], d_k=4, scaled=True)"
    assert repr(aw.AttentionCalculator(example=1)) == repr(aw.AttentionCalculator(example=1)) == expected


def test_still_says_it_without_javascript():
    calculator = aw.AttentionCalculator([MINE | {"tokens": ["<b>", "x&y", "c"], "V": [[1, -2], [0, 0], [0, 0]]}])
    root = ET.fromstring(calculator.still)
    space = "{http://www.w3.org/2000/svg}"
    zh, en = root.find(f"{space}title").text.split(" | ")
    assert re.search(r"[\u4e00-\u9fff]", zh) and not re.search(r"[\u4e00-\u9fff]", en)
    texts = [t.text for t in root.iter(f"{space}text")]
    assert {"<b>", "x&y", "c", "0.3866", "0.2670", "0.3463", "z[0]", "z[1]", "−0.7732"} <= set(texts)
    assert not re.search(r"[\u3000-\u9fff]", "".join(texts))  # the title alone is trimmed to the page's language
    assert root.get("role") == "group" and not re.search(r'\bid="', calculator.still)
    assert all(float(r.get("width")) >= 0 for r in root.iter(f"{space}rect"))


def test_an_example_that_is_not_there_changes_nothing():
    widget = aw.AttentionCalculator()
    with pytest.raises(ValueError, match="example 9 was asked for"):
        widget.example = 9
    assert widget.example == 0 and widget.tokens == ["I", "love", "NN"]


@pytest.mark.parametrize("bad", ["a\x07", "two\nlines", "\ud800"])
def test_a_name_that_no_picture_can_hold_is_refused(bad):
    with pytest.raises(ValueError, match="tokens must be of letters that can be shown"):
        aw.HeadMixer(["a", bad, "a"])
    calculator = aw.AttentionCalculator()
    with pytest.raises(ValueError, match="tokens must be of letters that can be shown"):
        calculator.tokens = ["a", bad, "b"]
    assert calculator.tokens == ["I", "love", "NN"]


def test_one_word_is_no_list_of_tokens():
    given = {"zh": "词", "en": "word", "tokens": "ab", "q": [1.0], "K": [[1.0], [2.0]], "V": [[1.0], [2.0]]}
    with pytest.raises(ValueError, match="tokens must be a list of names, but it is 'ab'"):
        aw.AttentionCalculator([given])


@pytest.mark.parametrize("bad", ["first", None, True, 1.0])
def test_an_example_is_asked_for_by_a_whole_number(bad):
    with pytest.raises(ValueError, match="was asked for, but there are 5, counted from 0"):
        aw.AttentionCalculator(example=bad)


def test_true_is_no_number():
    with pytest.raises(ValueError, match="scores must be a list of numbers"):
        aw.SoftmaxJacobian([True, False])
