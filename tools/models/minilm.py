"""all-MiniLM-L6-v2, an English encoder (6 layers of 12 heads, d_model 384): its file and its tokens."""

import json
import struct
import unicodedata

import numpy as np

from models.bert import Bert

N_HEAD, EPS = 12, 1e-12
SPECIAL = 1  # tokens without a word at each end
PARTS = {
    "Q": "attention.self.query",
    "K": "attention.self.key",
    "V": "attention.self.value",
    "O": "attention.output.dense",
    "up": "intermediate.dense",
    "down": "output.dense",
}
NORMS = {"norm_1": "attention.output.LayerNorm", "norm_2": "output.LayerNorm"}


def read(path):
    """The model in a safetensors file: a length, a JSON header of that length, then the numbers."""
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    kinds = {"F32": "<f4", "I64": "<i8"}

    def tensor(name):
        about = header[name]
        count, start = int(np.prod(about["shape"])), 8 + size + about["data_offsets"][0]
        return np.frombuffer(data, kinds[about["dtype"]], count, start).reshape(about["shape"])

    def norm(name):
        return tensor(name + ".weight"), tensor(name + ".bias")

    layers = []
    for k in range(sum(name.endswith("self.query.bias") for name in header)):
        at = f"encoder.layer.{k}."
        layer = {key: (tensor(f"{at}{name}.weight").T, tensor(f"{at}{name}.bias")) for key, name in PARTS.items()}
        layers.append(layer | {key: norm(at + name) for key, name in NORMS.items()})
    at = "embeddings."
    return Bert(
        word=tensor(at + "word_embeddings.weight").__getitem__,
        position=tensor(at + "position_embeddings.weight"),
        kind=tensor(at + "token_type_embeddings.weight")[0],
        norm=norm(at + "LayerNorm"),
        layers=layers,
        n_head=N_HEAD,
        eps=EPS,
    )


class WordPiece:
    """Lower case without accents; words and signs apart; a word is cut into the longest pieces that are known."""

    def __init__(self, path):
        self.tokens = path.read_text("utf-8").splitlines()
        self.ids = {token: i for i, token in enumerate(self.tokens)}

    def __call__(self, text):
        """The tokens of a text and their numbers."""
        words = self.words(text)
        tokens = ["[CLS]", *(piece for word in words for piece in self.pieces(word)), "[SEP]"]
        return tokens, [self.ids[token] for token in tokens]

    def words(self, text):
        text = "".join(f" {c} " if is_han(c) else c for c in text)
        text = unicodedata.normalize("NFD", text.lower())
        text = "".join(c for c in text if unicodedata.category(c) != "Mn")
        return "".join(f" {c} " if is_sign(c) else c for c in text).split()

    def pieces(self, word):
        pieces, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self.ids:
                    break
            else:
                return ["[UNK]"]
            pieces.append(piece)
            start = end
        return pieces


def is_han(c):
    return "\u4e00" <= c <= "\u9fff"


def is_sign(c):
    """Punctuation, and like BERT the ASCII symbols too."""
    return unicodedata.category(c).startswith("P") or c in "$+<=>^`|~"
