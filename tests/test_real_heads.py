"""What book/data/real_heads.npz says of itself, recomputed from what it holds; each kind of fault in it is found."""

import functools
import re
from pathlib import Path

import numpy as np
import pytest

from attention_mechanism import scaled_dot_product_attention
from models.fetch import SOURCES

DATA = Path(__file__).resolve().parents[1] / "book" / "data"
MODELS = {"minilm": 1, "smollm": 0, "e5": 1}  # special tokens at each end
HALF = {np.dtype("u1"): 1 / 510, np.dtype("u2"): 1 / 131070}  # the rounding error of numbers stored as whole numbers
READER = {"A": 5e-4, "Z": 2e-3}  # weights and outputs computed from inputs and matrices rounded to float16
KEPT = dict(np.load(DATA / "real_heads.npz", allow_pickle=False))


def numbers(array):
    """What an array of whole numbers from 0 to 255 or 65535 stands for."""
    return array / np.iinfo(array.dtype).max


def sentences(z):
    """(key of the weights, tokens without padding, weights of some heads) of every sentence."""
    for key in (key for key in z if re.search(r"_A$", key)):
        tokens = z[key.removesuffix("A") + "tok"]
        for k in np.ndindex(tokens.shape[:-1]):
            own = [token for token in tokens[k] if token]
            yield key, own, numbers(z[key][k])


# ------------------------------------------------------------------------------------------- what must hold in it


def rows_of_weights_sum_to_one(z):
    for key, tokens, A in sentences(z):
        n = len(tokens)
        sums = A.sum(axis=-1)
        shown = sums.reshape(-1, A.shape[-2]).any(axis=1) if "syntax" in key else slice(None)  # a head may be missing
        sums = sums.reshape(-1, A.shape[-2])[shown]
        assert np.abs(sums[:, :n] - 1).max() <= n * HALF[z[key].dtype], key
        assert not A[..., n:, :].any() and not A[..., n:].any(), key
    for key in ("minilm_A0", "minilm_A1", "minilm_A3", "minilm_A3_wide", "minilm_A3_keys", "minilm_all", "e5_all"):
        n = z[key].shape[-1]
        assert np.abs(numbers(z[key]).sum(axis=-1) - 1).max() <= n * HALF[z[key].dtype], key


def the_decoder_sees_no_later_token(z):
    for key, _, A in sentences(z):
        if key.startswith("smollm"):
            assert not np.triu(A, 1).any(), key
    assert (z["smollm_it"][:, 0] == z["smollm_it"][:, 1]).all()  # “it” comes before the word that differs


def the_reader_gets_the_weights_of_the_model(z):
    for (layer, _), *W in zip(z["minilm_reader_heads"], z["minilm_W_Q"], z["minilm_W_K"], z["minilm_W_V"], strict=True):
        for which in ("", "_wide", "_keys") if layer == 3 else ("",):
            X = z[f"minilm_X{layer}{which}"].astype("f4")
            assert (X[:, -1] == 1).all() and len(X) == len(z[f"minilm_tok{which}"])
            Z, A = scaled_dot_product_attention(*(X @ w.astype("f4") for w in W))
            assert np.abs(A - numbers(z[f"minilm_A{layer}{which}"])).max() < READER["A"]
            assert np.abs(Z - z[f"minilm_Z{layer}{which}"]).max() < READER["Z"]


def the_heads_of_the_reader_are_those_of_the_model(z):
    """The same weights stand in the picture of all heads, and in the table of coreference."""
    for layer, head in z["minilm_reader_heads"]:
        apart = numbers(z[f"minilm_A{layer}"]) - numbers(z["minilm_all"][layer, head])
        assert np.abs(apart).max() <= 1 / 510 + 1 / 131070
    for version, which in enumerate(("", "_wide")):
        tokens = z[f"minilm_tok{which}"].tolist()
        for noun, word in enumerate(z["coreference"][z["minilm_pairs"][0], 1:3]):
            same = z[f"minilm_A3{which}"][tokens.index("it"), tokens.index(word)]
            assert z["minilm_it"][0, version, noun, 3, 1] in (same - 1, same, same + 1)  # computed in another batch


def words_and_positions_make_the_first_input(z):
    gain, bias = z["minilm_norm"].astype(float)
    for vector, position, x in zip(z["minilm_word"], z["minilm_position"], z["minilm_X0"], strict=True):
        e = vector.astype(float) + position
        assert np.allclose((e - e.mean()) / e.std() * gain + bias, x[:-1], atol=0.004)


def without_positions_the_head_is_blind(z):
    gain, bias = z["minilm_norm"].astype(float)
    E = z["minilm_word"].astype(float)
    X = (E - E.mean(axis=1, keepdims=True)) / E.std(axis=1, keepdims=True) * gain + bias
    X = np.hstack([X, np.ones((len(X), 1))])
    _, A = scaled_dot_product_attention(*(X @ z[f"minilm_W_{name}"][0].astype(float) for name in "QKV"))
    before = [A[i, i - 1] for i in range(2, len(A) - 1)]
    assert np.mean(before) < 0.2 < 0.99 < np.mean([numbers(z["minilm_A0"])[i, i - 1] for i in range(2, len(A) - 1)])
    assert numbers(z["minilm_previous_held"])[0] > 0.99 and numbers(z["minilm_previous_held"])[1] < 0.2
    role = z["minilm_shares"][1, 0, 0, 2]
    assert z["minilm_previous_held"][0] in (role - 1, role, role + 1)


def share_by_loops(role, tokens, A, special):
    """All weights that one head gives in one sentence to what the role names, a query at a time."""
    n, found = len(tokens), []
    words = range(1, n - special)
    for i in words:
        if role == "previous" and i - 1 in words:
            found.append(A[i, i - 1])
        elif role == "next" and i + 1 in words:
            found.append(A[i, i + 1])
        elif role == "itself":
            found.append(A[i, i])
        elif role == "first" and (special or i >= 4):
            found.append(A[i, 0])
        elif role == "last":
            found.append(A[i, n - 1])
        elif role == "punctuation":
            found.append(sum(A[i, j] for j in range(n) if tokens[j].strip("▁Ġ") in set(".,;'’?!:。，；")))
    return found


def shares_follow_from_the_weights(z):
    """Of each head that is shown for a role, on the ten held-out sentences, which stand behind three others."""
    for model, special in MODELS.items():
        for language in ("en", "zh") if model == "e5" else ("en",):
            table = z[f"{model}_shares{'_zh' if language == 'zh' else ''}"]
            for k, (role, (layer, head)) in enumerate(zip(z[f"{model}_roles"], z[f"{model}_heads"], strict=True)):
                found = []
                for tokens, A in list(zip(z[f"{model}_{language}_tok"], z[f"{model}_{language}_A"], strict=True))[3:]:
                    tokens = [token for token in tokens if token]
                    found += share_by_loops(role, tokens, numbers(A[k]), special)
                stated = numbers(table)[1, z["share_names"].tolist().index(role), layer, head]
                keys = 3 if role == "punctuation" else 1  # so many rounded weights are added at most
                assert abs(np.mean(found) - stated) <= keys / 510 + 1 / 131070, (model, language, role)


def heads_are_chosen_on_the_first_half(z):
    for model in MODELS:
        names = z["share_names"].tolist()
        assert set(z[f"{model}_roles"]) <= set(names)
        for role, table in zip(names, z[f"{model}_shares"][0], strict=True):
            if table.max() > 0.3 * 65535:
                k = z[f"{model}_roles"].tolist().index(role)
                assert table[*z[f"{model}_heads"][k]] == table.max(), (model, role)
    assert z["smollm_induction"][0][*z["smollm_induction_head"]] == z["smollm_induction"][0].max()


def syntax_follows_from_the_rows(z):
    """Cases, hits of the head, hits of the best fixed offset, mean weight: a case at a time."""
    for model, special in MODELS.items():
        for name in ("templates", "marked", "templates_zh"):
            if f"{model}_{name}_row" not in z:
                assert name == "templates_zh" and model != "e5"
                continue
            rows, cases = numbers(z[f"{model}_{name}_row"]), z[f"{model}_{name}_case"]
            for relation, stated in enumerate(z[f"{model}_{name}_score"]):
                hits, offsets, weight = 0, [], 0
                for row, (r, query, target, n) in zip(rows, cases, strict=True):
                    if r == relation:
                        others = [j for j in range(special, n - special) if j != query]
                        hits += max(others, key=lambda j: row[j]) == target
                        offsets.append(target - query)
                        weight += row[target]
                count = len(offsets)
                offset = max(map(offsets.count, offsets)) if offsets else 0
                wanted = np.array([count, hits / max(count, 1), offset / max(count, 1), weight / max(count, 1)])
                assert np.abs(stated - wanted).max() < 2e-5, (model, name, z["relations"][relation])


def induction_follows_from_the_weights(z):
    share = []
    for tokens, A in zip(z["smollm_repeat_tok"], numbers(z["smollm_repeat_A"]), strict=True):
        T = len(tokens) // 2
        assert (tokens[:T] == tokens[T:]).all()
        share.append([A[i, i - T + 1] for i in range(T, 2 * T - 1)])
    assert abs(np.mean(share) - numbers(z["smollm_induction"])[1][*z["smollm_induction_head"]]) <= 2 / 131070
    last = z["smollm_copy_A"][-1].argmax()
    assert z["smollm_copy_tok"][last - 1] == z["smollm_copy_tok"][-1]  # what stood before is what stands here
    assert z["smollm_copy_tok"][last] == z["smollm_copy_next"][0]


def chinese_is_counted_right(z):
    assert (z["minilm_zh_tok"] == "[UNK]").sum() == 11 and "".join(z["smollm_zh_tok"]).count("[UNK]") == 0
    assert (z["chinese_tokens"][:, 0] >= z["chinese_tokens"][:, 1]).all() and z["chinese_tokens"][2, 1] == 0


CHECKS = [
    rows_of_weights_sum_to_one,
    the_decoder_sees_no_later_token,
    the_reader_gets_the_weights_of_the_model,
    the_heads_of_the_reader_are_those_of_the_model,
    words_and_positions_make_the_first_input,
    without_positions_the_head_is_blind,
    shares_follow_from_the_weights,
    heads_are_chosen_on_the_first_half,
    syntax_follows_from_the_rows,
    induction_follows_from_the_weights,
    chinese_is_counted_right,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_says_what_it_holds(check):
    check(KEPT)


# ------------------------------------------------------------------------------------------------ faults, planted


def change(key, how):
    """A copy of the artefact in which one array is another."""
    return KEPT | {key: how(KEPT[key].copy())}


def put(array, place, value):
    array[place] = value
    return array


FAULTS = {
    "weights before the softmax's last digit: a row off by one part in a thousand": change(
        "minilm_A3", lambda A: put(A, (10, 2), A[10, 2] - 65)
    ),
    "queries and keys exchanged": KEPT | {"minilm_W_Q": KEPT["minilm_W_K"], "minilm_W_K": KEPT["minilm_W_Q"]},
    "a bias lost": change("minilm_W_Q", lambda W: put(W, (slice(None), -1), 0)),
    "values of another head": change("minilm_W_V", lambda W: W[[1, 0, 2]]),
    "another head's keys": change("minilm_W_K", lambda W: W[[1, 0, 2]]),
    "inputs of another layer": KEPT | {"minilm_X1": KEPT["minilm_X0"]},
    "weights transposed": change("minilm_A0", lambda A: A.T),
    "sentences of the reader exchanged": KEPT | {"minilm_X3_wide": KEPT["minilm_X3"]},
    "positions in another order": change("minilm_position", lambda P: P[::-1]),
    "positions left in the words": change("minilm_word", lambda E: E + KEPT["minilm_position"]),
    "all heads, layers first": change("minilm_all", lambda A: A[::-1]),
    "a head named that was not recorded": change("minilm_heads", lambda h: put(h, (0, 1), 3)),
    "shares of the wrong half": change("minilm_shares", lambda s: s[::-1]),
    "shares with heads and layers exchanged": change("e5_shares_zh", lambda s: s.swapaxes(-1, -2)),
    "roles out of order": change("e5_roles", lambda roles: roles[::-1]),
    "tokens shifted against the weights": change("e5_zh_tok", lambda t: np.roll(t, 1, axis=0)),
    "a score better than its rows": change("smollm_templates_score", lambda s: put(s, (2, 1), 1.0)),
    "a target one token on": change("minilm_marked_case", lambda c: put(c, (0, 2), c[0, 2] + 1)),
    "the query counted among the others": change("e5_templates_zh_row", lambda r: put(r, (slice(None), 1), 65535)),
    "a decoder that sees what comes": change("smollm_en_A", lambda A: put(A, (0, 0, 1, 2), 1)),
    "“it” moved by the word after it": change("smollm_it", lambda w: put(w, (0, 1, 0, 13, 8), w[0, 1, 0, 13, 8] + 9)),
    "nouns exchanged": change("minilm_it", lambda w: w[:, :, ::-1]),
    "the token of last time instead of the one after it": change("smollm_repeat_A", lambda A: np.roll(A, -1, axis=-1)),
    "tokens and unknown tokens exchanged": change("chinese_tokens", lambda counts: counts[:, ::-1]),
    "another head of induction": change("smollm_induction_head", lambda h: h - 1),
}


@functools.cache
def found(fault):
    """The checks that fail on a fault."""
    names = []
    for check in CHECKS:
        try:
            check(FAULTS[fault])
        except AssertionError:
            names.append(check.__name__)
    return names


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault):
    assert found(fault)


def test_each_check_finds_a_fault():
    assert {name for fault in FAULTS for name in found(fault)} == {check.__name__ for check in CHECKS}


# ----------------------------------------------------------------------------------------------- the file around it


def test_it_is_small_and_holds_plain_arrays():
    assert (DATA / "real_heads.npz").stat().st_size <= 450_000
    assert {array.dtype.kind for array in KEPT.values()} <= set("uifU")  # no objects, which would need pickle


def test_weights_of_models_come_with_their_licence():
    licence = (DATA / "LICENSE-Apache-2.0.txt").read_text("utf-8")
    assert "Version 2.0, January 2004" in licence and all(f"\n   {k}. " in licence for k in range(1, 10))
    told = (DATA / "README.md").read_text("utf-8").partition("## `real_heads.npz`")[2]
    for source in SOURCES.values():
        assert source.package.replace("==", " ") in told and source.sha256 in told
    matrices = [key for key in KEPT if re.search(r"_W_|_X\d|_word|_position|_norm", key)]
    assert matrices and all(key.startswith("minilm_") for key in matrices)  # of MiniLM alone are there weights
