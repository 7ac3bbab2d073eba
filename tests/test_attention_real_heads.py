"""The record of real heads comes back as numbers that can be added and subtracted, and sentences without padding."""

import numpy as np
import pytest

import attention_real_heads as real
from conftest import ROOT

RECORD = ROOT / "book" / "data" / "real_heads.npz"


@pytest.fixture(scope="module")
def arrays():
    return real.load(RECORD)


def test_whole_numbers_come_back_as_the_numbers_they_stand_for(tmp_path):
    kept = {
        "bytes": np.array([0, 51, 255], np.uint8),
        "pairs": np.array([[0, 13107], [26214, 65535]], np.uint16),
        "places": np.array([-1, 3], np.int8),
        "half": np.array([0.5, -2], np.float16),
        "single": np.array([0.1], np.float32),
        "words": np.array(["[CLS]", "the"]),
    }
    np.savez(tmp_path / "kept.npz", **kept)
    found = real.load(tmp_path / "kept.npz")
    assert set(found) == set(kept)
    np.testing.assert_allclose(found["bytes"], [0, 1 / 5, 1], rtol=1e-15)
    np.testing.assert_allclose(found["pairs"], [[0, 1 / 5], [2 / 5, 1]], rtol=1e-15)
    assert found["places"].tolist() == [-1, 3] and found["words"].tolist() == ["[CLS]", "the"]
    assert found["half"].dtype == float and found["half"].tolist() == [0.5, -2] and found["single"].dtype == np.float32
    assert (found["bytes"][0] - found["bytes"][1], -found["pairs"][1, 1]) == (-1 / 5, -1)  # nothing wraps round


def test_a_sentence_has_no_padding():
    A = np.zeros((2, 3, 4, 4))
    A[1, :, :2, :2] = [[1, 0], [0.5, 0.5]]
    arrays = {"x_tok": np.array([["a", "b", "c", "d"], ["e", "f", "", ""]]), "x_A": A}
    tokens, weights = real.sentence(arrays, "x", 1)
    assert tokens == ["e", "f"] and weights.tolist() == [[[1, 0], [0.5, 0.5]]] * 3
    with pytest.raises(KeyError):
        real.sentence(arrays, "y", 0)
    with pytest.raises(IndexError):
        real.sentence(arrays, "x", 2)


@pytest.mark.parametrize("name, heads", [("minilm_en", 4), ("smollm_en", 3), ("e5_en", 5), ("e5_zh", 5)])
def test_every_recorded_sentence_has_rows_that_sum_to_one(arrays, name, heads):
    for k in range(13):
        tokens, A = real.sentence(arrays, name, k)
        n = len(tokens)
        assert A.shape == (heads, n, n) and all(tokens)
        assert np.abs(A.sum(axis=-1) - 1).max() <= n / 510
