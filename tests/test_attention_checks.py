"""check() of the practice problems: right functions pass however they are written; wrong ones are rejected, and each
known mistake, written here as a learner would write it, is called by its name."""

import inspect
import json
import math
import re
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import attention_mechanism as am
import mutants
import practice_1_2
import practice_3_4
import practice_5_6
import practice_7_8
import practice_9
import practice_10
from attention_checks import check, names
from attention_problems import MISTAKES, PROBLEMS
from conftest import ROOT
from practice_1_2 import SCORES, WEIGHTS, attention_by_loops, attention_of

HAN = re.compile("[\u3400-\u9fff]")


def called(name, fn):
    """A function of that name that does what fn does."""

    def practice(*arguments):
        return fn(*arguments)

    practice.__name__ = name
    return practice


def solutions():
    """The functions of book/solutions.ipynb, and their source."""
    cells = json.loads((ROOT / "book" / "solutions.ipynb").read_text("utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    sources, found = [source for source in sources if "check" in source], {}  # the others use what these define
    for source in sources:
        exec(source, found)
    return {name: found[name] for name in PROBLEMS}, "\n".join(sources)


SOLUTIONS, SOLUTION_TEXT = solutions()


def stubs():
    """The first docstring line of each problem's stub in its chapter."""
    sources = [
        "".join(cell["source"])
        for path in sorted((ROOT / "book").glob("[0-9]*.ipynb"))
        for cell in json.loads(path.read_text("utf-8"))["cells"]
    ]
    found = [re.match(r'def (\w+)\(.*\n    """(.*)', source) for source in sources]
    return {stub[1]: stub[2] for stub in found if stub}


STUBS = stubs()

PRACTICE = (practice_1_2, practice_3_4, practice_5_6, practice_7_8, practice_9, practice_10)
ALTERNATIVES = {name: fns for chapters in PRACTICE for name, fns in chapters.ALTERNATIVES.items()}
WRONG = {name: fns for chapters in PRACTICE for name, fns in chapters.WRONG.items()}
ADAPTERS = {name: adapter for chapters in PRACTICE for name, adapter in chapters.ADAPTERS.items()}
SURVIVORS = {name: sentences for chapters in PRACTICE for name, sentences in chapters.SURVIVORS.items()}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_solution_passes(name):
    verdict = check(SOLUTIONS[name])
    assert verdict and verdict.passed, verdict
    n = len(PROBLEMS[name].cases)
    assert repr(verdict) == f"✓ {name}：{n} 项检查全部通过。\n✓ {name}: all {n} checks passed."


@pytest.mark.parametrize("name", PROBLEMS)
def test_right_functions_pass_however_they_are_written(name):
    assert len(ALTERNATIVES[name]) >= 3
    for fn in ALTERNATIVES[name]:
        assert check(called(name, fn)), check(called(name, fn))


CASES = [(name, key) for name in WRONG for key in WRONG[name]]


def test_every_known_mistake_is_written_here():
    assert {name: set(WRONG[name]) for name in WRONG} == {name: set(PROBLEMS[name].mistakes) for name in PROBLEMS}
    assert set(MISTAKES) == {key for problem in PROBLEMS.values() for key in problem.mistakes}
    for words in zip(*MISTAKES.values(), strict=True):
        assert len(set(words)) == len(words), "two mistakes have the same words"


@pytest.mark.parametrize("name, key", CASES)
def test_a_known_mistake_is_rejected_and_called_by_its_name(name, key):
    verdict = check(called(name, WRONG[name][key]))
    zh, en = MISTAKES[key]
    assert not verdict and f"：{zh}。" in verdict.zh and f"by {en}." in verdict.en, verdict


def test_a_mistake_is_not_named_where_it_agrees_by_chance():
    """In the first case there are 2 keys of 2 components, so that d_k, n_k and 2 are the same."""
    assert "exactly" not in check(called("scaled", lambda Q, K: Q @ K.T / 2)).en
    assert "exactly" not in check(called("scaled", lambda Q, K: Q @ K.T / len(K))).en


def test_of_two_mistakes_the_first_is_named_first():
    both = check(called("attention", attention_of(SCORES["unscaled"], WEIGHTS["overflow"])))
    assert MISTAKES["unscaled"][1] in both.en
    one_left = check(called("attention", attention_of(weights=WEIGHTS["overflow"])))
    assert MISTAKES["overflow"][1] in one_left.en


# -------------------------------------------------------------------------------------- the mutants of the field

MUTATED = [
    (name, sentence)
    for name, (_, through) in ADAPTERS.items()
    for sentence, mutant in mutants.MUTANTS.items()
    if set(mutant.functions) <= through
]


@pytest.mark.parametrize("name", ADAPTERS)
def test_the_courses_own_functions_pass(name):
    assert check(called(name, ADAPTERS[name][0]))


@pytest.mark.parametrize("name, sentence", MUTATED)
def test_a_mutant_is_rejected_unless_it_is_right_on_all_that_is_asked(name, sentence, monkeypatch):
    for function, wrong in mutants.MUTANTS[sentence].functions.items():
        monkeypatch.setattr(am, function, wrong)
    assert bool(check(called(name, ADAPTERS[name][0]))) == (sentence in SURVIVORS[name])


def mask_of_everything(Q, K, V, block):
    """Blocks of weights, but a mask of n × n for all of them."""
    keep = np.tri(len(Q), dtype=bool)
    blocks = [slice(i, i + block) for i in range(0, len(Q), block)]
    return np.vstack([am.scaled_dot_product_attention(Q[rows], K, V, keep[rows])[0] for rows in blocks])


@pytest.mark.parametrize("everything", [practice_7_8.rows_at_once, mask_of_everything])
@pytest.mark.parametrize("traced", [False, True])
def test_an_array_of_n_times_n_is_found_by_its_size(everything, traced):
    """And whoever measures memory themselves can go on."""
    if traced:
        tracemalloc.start()
    try:
        verdict = check(called("causal_by_rows", everything))
        assert tracemalloc.is_tracing() == traced
    finally:
        tracemalloc.stop()
    assert not verdict and "the results are right, but it holds too much at once" in verdict.en
    assert "Q (512, 1), K (512, 1), V (512, 1), block = 4" in verdict.en and "has 262,144" in verdict.en
    assert "结果都对" in verdict.zh and "262,144" in verdict.zh


@pytest.mark.parametrize("name", PROBLEMS)
def test_one_part_in_five_thousand_is_too_much(name):
    def slightly_off(part):
        return 1.0002 * part + 0.0002 * (part == 0)

    def off(*arguments):
        value = SOLUTIONS[name](*arguments)
        return list(map(slightly_off, value)) if isinstance(value, tuple) else slightly_off(value)

    assert not check(called(name, off))


@pytest.mark.parametrize("place", [0, -1])
def test_a_softmax_less_another_entry_than_the_largest_is_rejected(place):
    verdict = check(called("stable_softmax", lambda x: (e := np.exp(x - x[..., [place]])) / e.sum(-1, keepdims=True)))
    assert not verdict and "NaN or infinity" in verdict.en


def clipped(x):
    return am.softmax(np.clip(x, -50, 50))


def less_the_mean(x):
    e = np.exp(x - x.mean(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("weights", [clipped, less_the_mean])
def test_of_mistakes_that_leave_one_number_none_is_taken_for_another(weights):
    verdict = check(called("saturated_share", lambda S, limit: (weights(S).max(axis=-1) > limit).mean()))
    assert not verdict and "exactly" not in verdict.en


def test_the_root_of_d_v_is_not_taken_for_another_root():
    def multi_head(X, W_Q, W_K, W_V, W_O, n_head):
        d_k, d_v = W_K.shape[1] / n_head, W_V.shape[1] / n_head
        return SOLUTIONS["multi_head"](X, W_Q * np.sqrt(d_k / d_v), W_K, W_V, W_O, n_head)

    verdict = check(multi_head)
    assert not verdict and "exactly" not in verdict.en


def test_keys_read_one_by_one_give_the_output_of_the_row():
    rng = np.random.default_rng(2017)
    scores, V = 500 * rng.normal(size=7), rng.normal(size=(7, 3))
    state = -np.inf, 0.0, np.zeros(3)
    for score, value in zip(scores, V, strict=True):
        state = PROBLEMS["online"].right(*state, score, value)
    np.testing.assert_allclose(state[2], am.softmax(scores) @ V, atol=1e-12)


@pytest.mark.parametrize("fill", [-50, -100, -65504])
def test_a_key_that_is_filled_over_with_a_finite_number_is_not_gone(fill):
    verdict = check(called("leave_one_out", lambda S, V: practice_10.less_one_filled(S, V, fill)))
    assert MISTAKES["-1e4"][1] in verdict.en


@pytest.mark.parametrize("fill", [-30, -100, -1e4, -65504])
def test_any_finite_number_that_is_not_low_enough_has_one_name(fill):
    wrong = practice_5_6.masked_by(lambda S, keep: np.where(keep, S, fill), after=practice_5_6.empty_rows_0)
    assert MISTAKES["-1e4"][1] in check(called("masked_attention", wrong)).en


@pytest.mark.parametrize("wrong_root", [lambda Q, K: math.isqrt(K.shape[1]), lambda Q, K: max(K.shape) ** 0.5])
def test_a_mistake_is_not_named_that_is_wrong_where_the_function_is_right(wrong_root):
    verdict = check(called("scaled", lambda Q, K: Q @ K.T / wrong_root(Q, K)))
    assert not verdict and "wrong numbers" in verdict.en


# ------------------------------------------------------------------------------------------------------ what is said
def test_an_unsolved_stub_is_told_so_calmly():
    def scaled(Q, K):
        """S_scaled"""
        ...

    verdict = check(scaled)
    assert not verdict and "还没做" in verdict.zh and "not solved yet" in verdict.en and "○" in verdict.en

    def attention(Q, K, V):
        raise NotImplementedError

    assert repr(check(attention)) == repr(verdict).replace("scaled", "attention")


def test_an_exception_is_told_with_its_line_and_the_shapes():
    def match_all(q, K):
        scores = K @ q
        return scores.foo

    en = check(match_all).en
    line = match_all.__code__.co_firstlineno + 2
    assert "for inputs of the shapes q (2,), K (2, 2), it raised AttributeError: " in en
    assert f", in line {line}: return scores.foo." in en

    def scaled(Q):
        return Q

    assert "it raised TypeError: " in check(scaled).en
    assert "it raised SystemExit: 3" in check(called("mix", lambda a, V: exec("raise SystemExit(3)"))).en


@pytest.mark.parametrize("name", PROBLEMS)
def test_arguments_and_results_are_called_as_in_the_chapter(name):
    assert names(PROBLEMS[name]) == list(inspect.signature(SOLUTIONS[name]).parameters)
    parts = PROBLEMS[name].parts
    if len(parts) > 1:
        promised = re.split(r"->", STUBS[name])[-1]
        places = [re.search(rf"\b{part}\b", promised) for part in parts]
        assert None not in places and sorted(places, key=lambda found: found.start()) == places


def test_the_first_key_of_all_and_blocks_of_more_queries_than_keys_are_tried():
    def online(mu, total, z, score, value):
        result = PROBLEMS["online"].right(mu, total, z, score, value)
        return result if total else (score, 1.0, z)

    assert not check(online)

    def by_rows(Q, K, V, block):
        return np.concatenate([am.attention_by_rows(Q[i : i + block], K, V) for i in range(0, len(K), block)])

    assert not check(by_rows)


def test_integers_are_told_where_only_shapes_are_shown():
    def leave_one_out(S, V):
        result = []
        for j in range(len(V)):
            left = S.copy()
            left[:, j] = -np.inf
            result.append(np.linalg.norm(am.softmax(left) @ V - am.softmax(S) @ V, axis=1))
        return np.transpose(result)

    verdict = check(leave_one_out)
    assert "for integer inputs of the shapes S (2, 3), V (3, 5), it raised OverflowError" in verdict.en
    assert "输入是整数数组，形状为 S (2, 3)，V (3, 5) 时，运行出错" in verdict.zh


@pytest.mark.parametrize("shrink", [lambda z, by: z.__imul__(by), lambda z, by: z.__setitem__(0, z[0] * by)])
def test_a_mean_that_is_changed_in_place_is_called_so(shrink):
    def online(mu, total, z, score, value):
        largest, *_ = result = PROBLEMS["online"].right(mu, total, z, score, value)
        shrink(z, np.exp(mu - largest) / 2)
        return result

    assert "it changes its input z." in check(online).en


def test_a_tanh_that_overflows_is_rejected():
    def tanh(x):
        return (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x))

    additive = check(called("additive", lambda s, h, W_1, W_2, v: tanh((s @ W_1)[:, None] + h @ W_2) @ v))
    attentional = check(called("attentional", lambda c, s, W_c: tanh(np.c_[c, s] @ W_c)))
    assert "NaN or infinity" in additive.en and "NaN or infinity" in attentional.en


@pytest.mark.parametrize("weights", [lambda S: am.softmax(np.clip(S, -700, 700)), lambda S: less_the_mean(S)])
@pytest.mark.parametrize("name", ["context", "by_rows"])
def test_large_scores_are_neither_clipped_nor_shifted_by_the_mean(name, weights):
    fn = {
        "context": lambda e, h: weights(e) @ h,
        "by_rows": lambda Q, K, V, block: weights(am.scaled_scores(Q, K)) @ V,
    }[name]
    assert not check(called(name, fn))


def test_a_window_may_hold_no_key():
    def local_mask(p, n_k, D):
        distance = abs(np.arange(n_k) - p[:, None])
        return distance <= np.maximum(D, distance.min(axis=1, keepdims=True))

    en = check(local_mask).en
    assert "D = 0, the result must be [[False, False, False, False], [False, False, True, False]]" in en


def test_shape_and_type_are_told_apart_from_numbers():
    assert check(called("scaled", lambda Q, K: Q[:1] @ K.T)).en == (
        "✗ scaled: wrong shape: for Q = [[2, 0], [0, 1]], K = [[1, 0], [2, 3]], the result must be (2, 2), "
        "and yours is (1, 2), of type ndarray (float64)."
    )
    assert "must be () (one number)" in check(called("bilinear_score", lambda *x: [1.0, 2.0])).en
    assert (
        "must return 2 results, Z, A, and returns ndarray (float64)" in check(called("attention", lambda Q, K, V: V)).en
    )
    assert (
        "A must be real numbers, one or an array of them, not str"
        in check(called("attention", lambda Q, K, V: (attention_by_loops(Q, K, V)[0], "A"))).en
    )
    assert "not ndarray (complex128)" in check(called("scaled", lambda Q, K: Q @ K.T + 0j)).en


def test_a_value_of_the_wrong_kind_is_told_with_the_input_that_led_to_it():
    assert check(called("score_variance", lambda d_k, a, b: d_k * (1 + a * a + b * b) if a else None)).en == (
        "✗ score_variance: for d_k = 64, mu_q = 0, mu_k = 0, it must return real numbers, one or an array of them, "
        "not None."
    )
    verdict = check(called("causal", lambda n_q, n_k, offset: am.causal_mask(n_q, n_k, offset) if n_q > 1 else None))
    assert "for n_q = 1, n_k = 4, offset = 3, it must return a boolean array" in verdict.en
    assert "n_q = 1，n_k = 4，offset = 3 时，应返回布尔数组" in verdict.zh
    verdict = check(called("gap_ratio", lambda gap, d_k: SOLUTIONS["gap_ratio"](gap, d_k) if gap > 0 else None))
    assert "for gap = 0, d_k = 5, it must return 2 results, before, after, and returns None." in verdict.en
    verdict = check(called("padding", lambda lengths, n_k: [[True] * n for n in lengths]))
    assert "not list, whose items differ in shape or are no numbers." in verdict.en and "形状不同" in verdict.zh


def test_a_type_that_cannot_hold_the_numbers_is_told():
    def made_like(model):
        def softmax_backward(a, da):
            D = np.zeros_like(model(a, da))
            D[...] = am.softmax_backward(a, da)
            return D

        return check(softmax_backward)

    assert made_like(lambda a, da: 1.0 * da)
    verdict = made_like(lambda a, da: da)
    assert "An array of int64 holds no fractions: zeros_like takes" in verdict.en and "装不下小数" in verdict.zh
    assert "holds no fractions" not in check(called("split", lambda X, n_head: X.reshape(n_head, len(X), -1) + 1)).en
    assert (
        "float16 has about three digits" in check(called("scaled", lambda Q, K: np.float16(am.scaled_scores(Q, K)))).en
    )


def test_numbers_of_any_exact_kind_are_numbers():
    def exactly(number):
        return check(called("score_variance", lambda d_k, *mu: number(d_k * (1 + sum(m * m for m in mu)))))

    assert exactly(Fraction) and exactly(sp.sympify) and exactly(np.float32)
    assert not exactly(lambda x: sp.sympify(x) + 1) and not exactly(lambda x: Fraction(x) / 2)


def test_a_mask_must_be_boolean_and_numbers_must_not():
    verdict = check(called("causal", lambda *x: np.tril(np.ones(x[:2], dtype=int), x[2])))
    assert "must return a boolean array, of True and False, not ndarray (int64)." in verdict.en
    assert "布尔数组" in verdict.zh and "added to the scores" in verdict.en
    assert (
        "not ndarray (float64)"
        in check(called("padding", lambda n, n_k: practice_5_6.padding_by_loops(n, n_k) * 1.0)).en
    )
    assert check(called("causal", lambda *x: SOLUTIONS["causal"](*x).tolist()))
    assert "must be (2, 2), and yours is (), of type bool" in check(called("causal", lambda *x: True)).en
    assert "must be real numbers" in check(called("score_moments", lambda Q, K: (True, 0.0))).en
    assert (
        "must return real numbers, one or an array of them, not ndarray (bool)"
        in check(called("to_additive", np.invert)).en
    )
    assert check(called("causal", lambda *x: np.zeros(x[:2], dtype=bool))).en == (
        "✗ causal: wrong numbers: for n_q = 2, n_k = 2, offset = 0, the result must be [[True, False], [True, True]], "
        "and yours is [[False, False], [False, False]]."
    )


def test_infinity_is_right_where_it_is_asked_for_and_nowhere_else():
    assert (
        "must be [[0, -inf], [0, 0]], and yours is [[-inf, -inf], [-inf, -inf]]"
        in check(called("to_additive", lambda keep: np.full(keep.shape, -np.inf))).en
    )
    assert "yours is [[0, -1e+30], [0, 0]]" in check(called("to_additive", lambda keep: np.where(keep, 0, -1e30))).en
    assert "NaN or infinity where it should not" in check(called("scaled", lambda Q, K: Q @ K.T - np.inf)).en
    assert (
        "must be [[0, -inf], [0, 0]], and yours is [[0, -5], [0, 0]]"
        in check(called("to_additive", lambda keep: 5.0 * keep - 5)).en
    )


def test_wrong_numbers_come_with_the_smallest_example_or_the_first_entry():
    assert check(called("match_all", lambda q, K: K @ q + 1)).en == (
        "✗ match_all: wrong numbers: for q = [1, 2], K = [[3, 1], [0, 2]], the result must be [5, 4], "
        "and yours is [6, 5]."
    )
    first_two = check(called("match_all", lambda q, K: K[:, :2] @ q[:2]))
    assert re.search(r"shapes q \(4,\), K \(5, 4\), the result at \[0\] must be -?\d\.\d+, and yours is", first_two.en)
    rounded = check(called("mix", lambda a, V: (a @ V).round(3))).en
    must, yours = re.search(r"must be (.+), and yours is (.+)\.", rounded).groups()
    assert must != yours
    assert "Z holds NaN or infinity" in check(called("attention", lambda Q, K, V: (Q * np.nan, Q @ K.T))).en


def test_writing_into_the_inputs_is_found_out():
    def scaled(Q, K):
        Q /= np.sqrt(Q.shape[-1])
        return Q @ K.T

    assert "changes its input Q." in check(scaled).en

    def stable_softmax(x):
        x = np.asarray(x)
        x[...] = am.softmax(x)
        return x

    assert "changes its input x." in check(stable_softmax).en


def test_warnings_cost_nothing():
    import warnings

    def scaled(Q, K):
        warnings.warn("a hint", stacklevel=1)
        np.log(0.0)
        return Q @ K.T / np.sqrt(K.shape[-1])

    assert check(scaled)


@pytest.mark.parametrize("thing", [None, 3, "scaled", [1], np.eye(2), print, np.sin, np.linalg, object, lambda Q, K: 0])
def test_anything_but_a_known_function_gets_a_sentence(thing):
    verdict = check(thing)
    assert not verdict and verdict.en.startswith("✗ ")
    if callable(thing):
        assert all(name in verdict.en and name in verdict.zh for name in PROBLEMS)
    else:
        assert "check(f)" in verdict.en and "check(f)" in verdict.zh


def test_both_languages_say_it_and_neither_shows_the_solution():
    verdicts = [check(called(name, WRONG[name][key])) for name, key in CASES]
    verdicts += [
        check(called(name, fn)) for name in PROBLEMS for fn in (lambda *x: 1.5, lambda *x: x[9], lambda *x: None)
    ]
    lines = {line.strip() for line in SOLUTION_TEXT.splitlines() if re.search("[=@*]|return", line)}
    pieces = lines | {line.removeprefix("return ") for line in lines} | {".T", " @ ", "np.", "am."}
    assert len(pieces) > 15
    for verdict in verdicts:
        assert HAN.search(verdict.zh) and not HAN.search(verdict.en)
        own = re.sub(r"(在第 \d+ 行：|in line \d+: ).*", "", repr(verdict))  # the reader's own line may be shown
        assert not [piece for piece in pieces if piece in own]
        assert "\n" not in verdict.zh + verdict.en and repr(verdict) == f"{verdict.zh}\n{verdict.en}"


def test_html_keeps_the_languages_apart_and_escapes():
    def scaled(Q, K):
        raise ValueError("<b>&")

    html = check(scaled)._repr_html_()
    assert "<b>" not in html and "&lt;b&gt;&amp;" in html
    assert re.fullmatch(
        r'<div class="attn-check"><div lang="zh-Hans">[^\n]+</div>\n<div lang="en">[^\n]+</div></div>', html
    )
    assert not HAN.search(html.split("\n")[1])


def test_verdicts_are_the_same_every_time():
    for name, key in CASES[::7]:
        assert len({repr(check(called(name, WRONG[name][key]))) for _ in range(3)}) == 1


# ------------------------------------------------------------------------------------------ any return value
class Odd:
    def __array__(self, *args, **kwargs):
        raise RuntimeError("no array")

    def __repr__(self):
        raise RuntimeError("no text")


class OddError(Exception):
    def __str__(self):
        raise RuntimeError("no text")


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers()
GARBAGE = (
    st.recursive(
        scalars, lambda x: st.lists(x, max_size=4) | st.tuples(x, x) | st.dictionaries(st.text(), x, max_size=2)
    )
    | st.builds(lambda: (i for i in range(3)))
    | st.builds(Odd)
    | st.builds(np.broadcast_to, st.sampled_from([1, 1.5]), st.sampled_from([(10**6, 10**6), (0,), (2, 0), (1,) * 30]))
    | st.sampled_from(
        [np.array([None, "a"]), np.array([1, [2]], dtype=object), np.array("x"), np.datetime64("2017"), ...]
    )
    | st.sampled_from([np.nan, np.inf, np.ma.masked, np.zeros(2, "i,f"), object, print, 10**400])
)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(name=st.sampled_from(sorted(PROBLEMS)), value=GARBAGE)
def test_no_return_value_breaks_check(name, value):
    verdict = check(called(name, lambda *arguments: value))
    assert verdict.passed is False and len(repr(verdict).splitlines()) == 2 and verdict._repr_html_()


@pytest.mark.parametrize("error", [OddError(), ValueError(), RecursionError("deep"), MemoryError(), StopIteration(3)])
def test_no_exception_breaks_check(error):
    def mix(a, V):
        raise error

    assert f"it raised {type(error).__name__}" in check(mix).en


def test_an_interrupt_is_the_readers_and_gets_through():
    def mix(a, V):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check(mix)
