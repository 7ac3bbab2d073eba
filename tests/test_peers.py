"""The course's attention against what PyTorch answered (tests/peers.npz), without PyTorch: see tools/peers.py."""

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import attention_mechanism as am
import mutants
import peers

ROOT = Path(__file__).resolve().parents[1]
KEPT = peers.read()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

# Mistakes that the cases must show.  Each case must show at least one of them: with float32, since the last is a dtype.
SHOWN = [
    "not scaled",
    "divided by d_k, not √d_k",
    "softmax along the queries",
    "softmax along the first axis, batch or heads",
    "the maximum is not subtracted",
    "an empty row is NaN",
    "an empty row is uniform",
    "a boolean mask is read as True = drop",
    "a float mask only blocks, its finite values are lost",
    "one future token leaks",
    "aligned bottom right whatever the offset",
    "padding on the left",
    "without keys the output is NaN",
    "dK has lost 1/√d_k",
    "D without the row sum",
    "the gradient of a broadcast operand is averaged, not summed",
    "heads are split and merged by bare reshapes, which undo each other",
    "the weights are averaged over the heads",
    "W_O is transposed",
    "dW_Q and dW_K are exchanged",
    "the gradients of the parameters are those of the first in the batch",
    "the backward pass does not know the mask",
    "by rows: each block gets the mask of the first",
    "by rows: the result is float64",
]


@pytest.fixture(autouse=True)
def blocks_of_two_rows(monkeypatch):
    """The cases are small, and attention_by_rows is to have several blocks."""
    monkeypatch.setattr(am, "ROWS_PER_BLOCK", 2)


def differ(case, dtype):
    """Whether our answer to a case is further from PyTorch's than allowed."""
    with np.errstate(all="ignore"):  # a wrong function may overflow
        return peers.too_far(peers.differences(case.ours(dtype), KEPT.answers[case.name, dtype]), dtype)


def showing(cases, dtype="float32"):
    """The names of the cases that differ, or that cannot be computed."""
    names = set()
    for case in cases:
        try:
            if differ(case, dtype):
                names.add(case.name)
        except (ValueError, TypeError, IndexError):  # shapes that a wrong function left unfit
            names.add(case.name)
    return names


@pytest.mark.parametrize("dtype", peers.DTYPES)
@pytest.mark.parametrize("case", peers.ALL_CASES, ids=lambda case: case.name)
def test_ours_is_pytorchs_answer(case, dtype):
    found = peers.differences(case.ours(dtype), KEPT.answers[case.name, dtype])
    assert not peers.too_far(found, dtype), found


def test_the_file_is_small_and_says_what_it_is():
    assert peers.RECORD.stat().st_size < 150_000
    [torch] = [pin for pin in PROJECT["optional-dependencies"]["peers"] if pin.startswith("torch==")]
    assert torch == f"torch=={KEPT.about['torch'].partition('+')[0]}"
    assert re.fullmatch(r"[\d.]+", KEPT.about["numpy"]) and KEPT.about["command"] in peers.__doc__


def test_the_file_holds_every_case_once_and_only_finite_numbers():
    names = [case.name for case in peers.ALL_CASES]
    assert len(names) == len(set(names)) and KEPT.answers.keys() == {(n, d) for n in names for d in peers.DTYPES}
    for (_, dtype), arrays in KEPT.answers.items():
        assert {x.dtype for x in arrays.values()} == {np.dtype(dtype)}
        assert all(np.isfinite(x).all() for x in arrays.values())


def test_what_is_written_is_read(tmp_path):
    peers.write(KEPT, tmp_path / "again.npz")
    again = peers.read(tmp_path / "again.npz")
    assert again[:2] == KEPT[:2] and again.answers.keys() == KEPT.answers.keys()
    for key, arrays in again.answers.items():
        assert arrays.keys() == KEPT.answers[key].keys()
        assert all(np.array_equal(x, KEPT.answers[key][name]) for name, x in arrays.items())


# --------------------------------------------------------------------------------------- the comparison can fail


@pytest.fixture(scope="module")
def shown():
    """For each mistake, the cases that show it."""
    found = {}
    for sentence in SHOWN:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(am, "ROWS_PER_BLOCK", 2)
            for function, wrong in mutants.MUTANTS[sentence].functions.items():
                patch.setattr(am, function, wrong)
            found[sentence] = showing(peers.ALL_CASES)
    return found


def test_every_mistake_is_shown_by_a_case(shown):
    assert not [sentence for sentence, names in shown.items() if not names]


def test_every_case_shows_a_mistake(shown):
    assert {case.name for case in peers.ALL_CASES} == set().union(*shown.values())


HEADS = [case for case in peers.ALL_CASES if isinstance(case, peers.Heads)]


@pytest.mark.parametrize("i", range(4), ids=["b_Q", "b_K", "b_V", "b_O"])
def test_a_bias_left_out_is_shown_but_for_that_of_the_keys(i, monkeypatch):
    """That one adds the same to all scores of a query, which changes no weight and no gradient."""
    operands = peers.Heads.operands

    def without(case, dtype):
        X_q, X_s, W, b, G, mask = operands(case, dtype)
        return X_q, X_s, W, [np.zeros_like(x) if j == i else x for j, x in enumerate(b)], G, mask

    monkeypatch.setattr(peers.Heads, "operands", without)
    names = showing(HEADS, "float64")
    assert (not names) if i == 1 else len(names) > len(HEADS) / 2


def test_the_comparison_sees_form_dtype_and_nan():
    x = np.array([1.0, 1000.0])
    assert peers.difference(x, x) == 0 and peers.difference(x + [0, 1], x) == 1 / 1000
    for other in (x[None], x.astype(np.float32), x * [np.nan, 1]):
        assert peers.difference(other, x) == np.inf
    assert peers.too_far((0, 1.1e-5), "float32") and not peers.too_far((1.9e-6, 0.9e-5), "float32")
    assert peers.too_far((2.1e-6, 0), "float32") and peers.too_far((1.1e-12, 0), "float64")


# ------------------------------------------------------------------------------------- the command, without PyTorch


def test_without_pytorch_the_command_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(peers.sys.modules, "torch", None)
    monkeypatch.setattr(peers.sys, "path", [*peers.sys.path])
    with pytest.raises(SystemExit, match="`python3 make.py peers` installs it"):
        peers.main([])


def test_an_unknown_word_gets_the_description():
    with pytest.raises(SystemExit, match="With --write the file is replaced"):
        peers.main(["--rewrite"])


def changed():
    """A record that another PyTorch might give."""
    answers = {key: {name: x.copy() for name, x in arrays.items()} for key, arrays in KEPT.answers.items()}
    answers["heads, one head, boolean", "float64"]["Y"][0, 0, 0] += 1e-9
    found = json.loads(json.dumps(KEPT.conventions))
    found["heads"]["biases"][-1] = "other"
    return KEPT._replace(answers=answers, conventions=found)


def test_the_command_compares_and_names_what_differs(monkeypatch, capsys):
    monkeypatch.setattr(peers, "load_torch", lambda: None)
    monkeypatch.setattr(peers, "ask", lambda torch: KEPT)
    peers.main([])
    assert capsys.readouterr().out.count("float") == 2 * len(peers.CASES)
    monkeypatch.setattr(peers, "ask", lambda torch: changed())
    with pytest.raises(SystemExit) as failed:
        peers.main([])
    ours, file, convention = failed.value.code.splitlines()[-3:]
    assert ours.startswith("our functions: heads: shapes") and file.startswith("the file: heads: shapes")
    assert "float64" in ours and convention == "heads, biases: now ['`in_proj_bias`', '`out_proj.bias`', 'other']"


# ------------------------------------------------------------------------------------------ the table of chapter 6

WORDS = {
    "may attend": "可看",
    "blocked": "屏蔽",
    "error": "报错",
    "ignored": "不起作用",
    "mean": "平均",
    "none": "没有",
}


def section(language):
    cells = json.loads((ROOT / "book" / "06_multi_head.ipynb").read_text("utf-8"))["cells"]
    return next("".join(c["source"]) for c in cells if c["id"] == f"conventions-{language}")


def told(language):
    """The rows of the table, and of each cell but the first the words, the code and the numbers, in their order."""
    words = WORDS.values() if language == "zh" else WORDS
    pattern = "|".join(["`[^`]+`", *words, r"\bnan\b", r"(?<![\w])\d+(?!\w)"])
    rows = re.findall(r"(?m)^\| *(.*?) *\|$", section(language))[2:]
    return [[re.findall(pattern, cell) for cell in re.split(r" *\| *", row)[1:]] for row in rows]


def known(language):
    """What these must be: ours by calling it now, PyTorch's as recorded."""
    columns = peers.our_conventions(), KEPT.conventions["attention"], KEPT.conventions["heads"]
    translated = WORDS if language == "zh" else {}
    return [[[translated.get(x, x) for x in column[row]] for column in columns] for row in columns[0]]


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_table_says_what_the_functions_do(language):
    assert told(language) == known(language)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_section_names_the_version_the_cases_and_the_bound(language):
    text = section(language)
    assert f"[PyTorch {KEPT.about['torch'].partition('+')[0]}]" in text
    assert re.search(r"(\d+) (?:种情形|cases)", text)[1] == str(len(peers.ALL_CASES))
    assert set(peers.TOLERANCES["float64"]) == {1e-12} and "$10^{-12}$" in text


def test_chapter_5_says_the_same_of_true_and_of_a_fully_masked_row():
    cells = json.loads((ROOT / "book" / "05_masks.ipynb").read_text("utf-8"))["cells"]
    text = next("".join(c["source"]) for c in cells if c["id"] == "libraries-en")
    heads, attention = KEPT.conventions["heads"], KEPT.conventions["attention"]
    for name, found, empty in (
        ("scaled_dot_product_attention", attention, attention["empty"][0]),
        ("MultiheadAttention", heads, "{}; with {}, {}".format(*heads["empty"][:3])),
    ):
        row = re.search(rf"(?m)^\| PyTorch \[`{name}`\].*$", text)[0]
        assert found["True"][0] in row and all(x in row for x in found["True"][1:]) and row.endswith(f"| {empty} |")
