"""SmolLM2-135M-Instruct, a causal decoder (30 layers of 9 query heads on 3 key heads, d_model 576), in 4 bits (Q4_1).

Its heads run on the attention functions of the course; rotary positions (Su et al. 2021) and grouped keys (Ainslie et
al. 2023) are put around them.
"""

import re
from typing import NamedTuple

import numpy as np

from attention_mechanism import causal_mask, merge_heads, scaled_dot_product_attention, split_heads
from models.bert import rows_times
from models.e5 import Reader

SPECIAL = 0  # no tokens without a word
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
Q8_0 = np.dtype([("scale", "<f2"), ("q", "i1", 32)])
Q4_1 = np.dtype([("scale", "<f2"), ("least", "<f2"), ("nibbles", "u1", 16)])


class Decoder(NamedTuple):
    w: dict
    n_layer: int
    n_head: int
    n_group: int  # heads of keys and values
    base: float  # of the rotary angles
    eps: float


def read(path):
    """The model and its tokenizer, from a GGUF file: facts, then a list of tensors, then their numbers."""
    data = path.read_bytes()
    take = Reader(data, 8)
    n_tensor, n_fact = take("QQ")
    facts = {}
    for _ in range(n_fact):
        name = text(take)
        facts[name] = value(take, take("I"))
    listed = []
    for _ in range(n_tensor):
        name, n_axis = text(take), take("I")
        shape = [take("Q") for _ in range(n_axis)][::-1]
        listed.append((name, shape, take("I"), take("Q")))
    start = -(-take.at // 32) * 32  # the numbers begin at the next multiple of 32
    w = {name: tensor(data, shape, kind, start + at) for name, shape, kind, at in listed}
    names = "block_count", "attention.head_count", "attention.head_count_kv", "rope.freq_base"
    facts_of = [facts["llama." + name] for name in (*names, "attention.layer_norm_rms_epsilon")]
    return Decoder(w, *facts_of), Bytes(facts["tokenizer.ggml.tokens"], facts["tokenizer.ggml.merges"])


def text(take):
    return take.bytes(take("Q")).decode("utf-8", "replace")


def value(take, kind):
    if kind == 8:
        return text(take)
    if kind == 9:
        kind, n = take("I"), take("Q")
        return [value(take, kind) for _ in range(n)]
    return take(NUMBERS[kind])


def tensor(data, shape, kind, start):
    """float32 from one of the three ways of storing numbers that the file uses."""
    n = int(np.prod(shape))
    if kind == 0:
        return np.frombuffer(data, "<f4", n, start).reshape(shape)
    blocks = np.frombuffer(data, {8: Q8_0, 3: Q4_1}[kind], n // 32, start)
    if kind == 8:
        q = blocks["q"].astype("f4") * blocks["scale"].astype("f4")[:, None]
    else:
        q = np.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], axis=1).astype("f4")
        q = q * blocks["scale"].astype("f4")[:, None] + blocks["least"].astype("f4")[:, None]
    return q.reshape(shape)


def run(model, ids):
    """The weights of all heads and the scores of the next token, for a batch of sentences of n tokens, padded behind.

    (batch, n) -> (n_layer, batch, n_head, n, n), (batch, n, n_vocabulary)

    The mask alone keeps the padding out: it comes later than every real token.
    """
    w, n = model.w, ids.shape[1]
    X, keep, weights = w["token_embd.weight"][ids], causal_mask(n), []
    for k in range(model.n_layer):
        layer = {name.removeprefix(f"blk.{k}."): W.T for name, W in w.items() if name.startswith(f"blk.{k}.")}
        Y = normalise(X, layer["attn_norm.weight"], model.eps)
        Q = rotate(split_heads(rows_times(Y, layer["attn_q.weight"]), model.n_head), model.base)
        K = rotate(split_heads(rows_times(Y, layer["attn_k.weight"]), model.n_group), model.base)
        V = split_heads(rows_times(Y, layer["attn_v.weight"]), model.n_group)
        Q = Q.reshape(len(ids), model.n_group, -1, *Q.shape[-2:])  # each group of queries shares a head of keys
        Z, A = scaled_dot_product_attention(Q, K[:, :, None], V[:, :, None], keep)
        weights.append(A.reshape(len(ids), model.n_head, n, n))
        Z = merge_heads(Z.reshape(len(ids), model.n_head, n, -1))
        X = X + rows_times(Z, layer["attn_output.weight"])
        Y = normalise(X, layer["ffn_norm.weight"], model.eps)
        gate, up = (rows_times(Y, layer[f"ffn_{name}.weight"]) for name in ("gate", "up"))
        X = X + rows_times(gate / (1 + np.exp(-gate)) * up, layer["ffn_down.weight"])
    X = normalise(X, w["output_norm.weight"], model.eps)
    return np.stack(weights), rows_times(X, w["token_embd.weight"].T)


def normalise(X, gain, eps):
    """Rows of mean square 1, times a gain."""
    return X / np.sqrt((X * X).mean(axis=-1, keepdims=True) + X.dtype.type(eps)) * gain


def rotate(X, base):
    """Turn each pair of components (2i, 2i + 1) by an angle that grows with the position.   (…, n, d) -> (…, n, d)"""
    n, d = X.shape[-2:]
    angle = np.arange(n)[:, None] * base ** (-np.arange(0, d, 2) / d)
    cos, sin = np.cos(angle).astype(X.dtype), np.sin(angle).astype(X.dtype)
    even, odd = X[..., 0::2], X[..., 1::2]
    return np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1).reshape(X.shape)


class Bytes:
    """Bytes, shown as one character each, and the pairs of neighbours that are merged, the earliest learnt first."""

    WORD = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")

    def __init__(self, tokens, merges):
        self.tokens, self.ids = tokens, {token: i for i, token in enumerate(tokens)}
        self.rank = {tuple(merge.split(" ")): i for i, merge in enumerate(merges)}
        shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
        hidden = [b for b in range(256) if b not in shown]
        self.sign = {b: chr(b) for b in shown} | {b: chr(256 + i) for i, b in enumerate(hidden)}

    def __call__(self, text):
        """The tokens of a text and their numbers."""
        tokens = []
        for part in re.split(r"(\d)", text):  # digits stand alone
            for word in self.WORD.findall(part):
                tokens += self.merge([self.sign[b] for b in word.encode("utf-8")])
        return tokens, [self.ids[token] for token in tokens]

    def merge(self, word):
        while len(word) > 1:
            rank, i = min((self.rank.get(pair, np.inf), i) for i, pair in enumerate(zip(word, word[1:], strict=False)))
            if rank == np.inf:
                break
            word[i : i + 2] = [word[i] + word[i + 1]]
        return word
