"""Reads book/data/real_heads.npz, heads of trained models, for chapter 9; book/data/README.md explains the keys."""

import numpy as np


def load(path):
    """Every array of the file -> dict of arrays, ready for arithmetic.

    The file keeps numbers from 0 to 1 as whole numbers without a sign, where a minus would wrap round; they come back
    as floats.  float16, in which NumPy rounds each product, comes back as float64.
    """
    with np.load(path) as kept:
        arrays = {key: kept[key] for key in kept.files}
    for key, array in arrays.items():
        if array.dtype.kind == "u":
            arrays[key] = array / np.iinfo(array.dtype).max
        elif array.dtype == np.float16:
            arrays[key] = array.astype(float)
    return arrays


def sentence(arrays, name, k):
    """Sentence k of `name`_tok and `name`_A without padding -> tokens (n,), weights (n_head, n, n).

    Raises KeyError if there are no such arrays, IndexError if there is no such sentence.
    """
    tokens = [str(token) for token in arrays[f"{name}_tok"][k] if token]
    n = len(tokens)
    return tokens, arrays[f"{name}_A"][k][..., :n, :n]
