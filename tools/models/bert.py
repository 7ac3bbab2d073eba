"""The encoder that MiniLM and e5 share (BERT: Devlin et al. 2019), on the attention functions of the course.

What the course's functions do not know stays here: biases, positions, normalisation, the feed-forward part.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from attention_mechanism import merge_heads, padding_mask, scaled_dot_product_attention, split_heads


class Bert(NamedTuple):
    """Weights in the convention of the course: X W + b with vectors as rows."""

    word: Callable  # token ids -> their vectors
    position: np.ndarray  # (n_max, d_model)
    kind: np.ndarray  # (d_model,): BERT tells two kinds of segment apart; here all tokens are of the first
    norm: tuple  # gain and bias of the first normalisation
    layers: list  # of dicts: Q, K, V, O, up, down -> (W, b); norm_1, norm_2 -> (gain, bias)
    n_head: int
    eps: float


def run(model, ids, lengths):
    """The input of each layer and the weights of all its heads, for a batch of sentences padded to n tokens.

    (batch, n), (batch,) -> (n_layer, batch, n, d_model), (n_layer, batch, n_head, n, n)
    """
    n = ids.shape[1]
    keep = padding_mask(lengths, n)[:, None]  # (batch, 1, 1, n): the same for all heads and queries
    X = normalise(model.word(ids) + model.position[:n] + model.kind, model.norm, model.eps)
    inputs, weights = [], []
    for layer in model.layers:
        inputs.append(X)
        Q, K, V = (split_heads(affine(X, layer[name]), model.n_head) for name in "QKV")
        Z, A = scaled_dot_product_attention(Q, K, V, keep)
        weights.append(A)
        X = normalise(X + affine(merge_heads(Z), layer["O"]), layer["norm_1"], model.eps)
        X = normalise(X + affine(gelu(affine(X, layer["up"])), layer["down"]), layer["norm_2"], model.eps)
    return np.stack(inputs), np.stack(weights)


def affine(X, weights):
    W, b = weights
    return rows_times(X, W) + b


def rows_times(X, W):
    """X W as one product of all rows; as a product for each sentence it would take much longer."""
    return (X.reshape(-1, X.shape[-1]) @ W).reshape(*X.shape[:-1], W.shape[-1])


def normalise(X, weights, eps):
    """Rows of mean 0 and variance 1, times a gain, plus a bias."""
    gain, bias = weights
    centred = X - X.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + X.dtype.type(eps)) * gain + bias


def gelu(x):
    """x Φ(x), with the normal distribution Φ through erf, which NumPy lacks: Abramowitz & Stegun 7.1.26, to 1.5e-7."""
    y = np.abs(x) * x.dtype.type(2**-0.5)
    t = 1 / (1 + 0.3275911 * y)
    tail = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
    return 0.5 * x * (1 + np.sign(x) * (1 - tail * np.exp(-y * y)))
