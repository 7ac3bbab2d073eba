"""The mistakes people make with attention, each as a wrong function that is right in everything else.

MUTANTS maps a sentence to a Mutant: the functions of attention_mechanism that it replaces, and the bug reports that it
stands for.  Tests, practice checks and grading must reject every one.  Importing this module changes nothing.
"""

import math
from typing import NamedTuple

import numpy as np

import attention_mechanism as am

# The right functions under names of their own: a test that puts a mutant into the module must not reach them.
from attention_mechanism import (
    additive_scores,
    attention_by_rows,
    causal_mask,
    dot_scores,
    general_scores,
    merge_heads,
    multi_head_attention,
    multi_head_attention_backward,
    padding_mask,
    scaled_dot_product_attention,
    scaled_dot_product_attention_backward,
    scaled_scores,
    softmax,
    softmax_backward,
    softmax_jacobian,
    split_heads,
    to_additive,
    to_boolean,
)


class Mutant(NamedTuple):
    functions: dict  # name in attention_mechanism -> the wrong function
    bugs: tuple  # ids of the bug reports


MUTANTS = {}


def mutant(sentence, name, *bugs):
    """Enter the decorated function into MUTANTS as a wrong version of `name`."""

    def enter(wrong):
        assert sentence not in MUTANTS
        MUTANTS[sentence] = Mutant({name: wrong}, bugs)
        return wrong

    return enter


def alike(result, x):
    """`result` in the dtype the right function would return for `x`."""
    x = np.asarray(x)
    return result.astype(x.dtype if x.dtype.kind == "f" else float)


def floats(x):
    x = np.asarray(x)
    return x if x.dtype.kind == "f" and x.itemsize > 2 else x.astype(np.float32 if x.dtype.kind == "f" else float)


def is_square(X):
    return np.shape(X)[-1] == np.shape(X)[-2]


# ---------------------------------------------------------------------------------------------------------- scores


@mutant("K is reshaped where it should be transposed", "dot_scores", "C6")
def scores_reshape(Q, K):
    dot_scores(Q, K)  # the same complaints about shapes
    Q, K = floats(Q), floats(K)
    return Q @ K.reshape(*K.shape[:-2], K.shape[-1], K.shape[-2])


@mutant("scores are transposed: keys in rows, queries in columns", "dot_scores", "C6")
def scores_transposed(Q, K):
    S = dot_scores(Q, K)
    return S.mT if is_square(S) else S


@mutant("Q times K without a transpose, where the shapes happen to fit", "dot_scores", "C6")
def scores_without_transpose(Q, K):
    S = dot_scores(Q, K)
    return floats(Q) @ floats(K) if is_square(K) else S


@mutant("the cosine in place of the dot product", "dot_scores")
def scores_cosine(Q, K):
    Q, K = floats(Q), floats(K)
    norms = np.linalg.norm(Q, axis=-1)[..., :, None] * np.linalg.norm(K, axis=-1)[..., None, :]
    return dot_scores(Q, K) / np.where(norms == 0, 1, norms)


@mutant("divided by d_k, not √d_k", "scaled_scores", "C7")
def scale_d_k(Q, K):
    return dot_scores(Q, K) / (np.shape(K)[-1] or 1)


@mutant("not scaled", "scaled_scores", "C7")
def scale_none(Q, K):
    return dot_scores(Q, K)


@mutant("multiplied by √d_k", "scaled_scores", "C7")
def scale_multiplies(Q, K):
    return dot_scores(Q, K) * math.sqrt(np.shape(K)[-1])


@mutant("divided by the root of the number of keys", "scaled_scores", "A21")
def scale_n_k(Q, K):
    return dot_scores(Q, K) / math.sqrt(np.shape(K)[-2] or 1)


@mutant("np.sqrt of an array widens float32 to float64", "scaled_scores", "A15")
def scale_widens(Q, K):
    return scaled_scores(Q, K) / np.sqrt(np.array([1.0]))


@mutant("K is taken for its own transpose where it is square, and Q K is scaled", "scaled_scores", "C6")
def scale_without_transpose(Q, K):
    S = scaled_scores(Q, K)
    return floats(Q) @ floats(K) / math.sqrt(np.shape(K)[-1]) if is_square(K) else S


@mutant("divided by the root of the number of queries", "scaled_scores", "A21")
def scale_n_q(Q, K):
    return dot_scores(Q, K) / math.sqrt(np.shape(Q)[-2] or 1)


@mutant("the keys are normalised before the dot product", "scaled_scores")
def scale_unit_keys(Q, K):
    norms = np.linalg.norm(floats(K), axis=-1)[..., None, :]
    return scaled_scores(Q, K) / np.where(norms == 0, 1, norms)


@mutant("the imaginary part of the queries is dropped", "dot_scores")
def scores_real(Q, K):
    return dot_scores(np.real(Q), K)


@mutant("text is read as numbers", "dot_scores")
def scores_of_text(Q, K):
    return dot_scores(*(np.asarray(X).astype(float) if np.asarray(X).dtype.kind in "US" else X for X in (Q, K)))


@mutant("one query without its axis is taken for a row", "dot_scores")
def scores_of_one(Q, K):
    return dot_scores(np.atleast_2d(Q) if np.ndim(Q) == 1 else Q, K)


@mutant("the general score with W transposed", "general_scores", "C6")
def general_transposed(s, h, W):
    return general_scores(s, h, np.transpose(W)) if is_square(W) else general_scores(s, h, W)


@mutant("the general score without W", "general_scores")
def general_without_W(s, h, W):
    return dot_scores(s, h) if is_square(W) else general_scores(s, h, W)


@mutant("the general score transposed: encoder states in rows", "general_scores", "C6")
def general_in_columns(s, h, W):
    S = general_scores(s, h, W)
    return S.mT if is_square(S) else S


@mutant("the additive score transposed: encoder states in rows", "additive_scores", "C6")
def additive_in_columns(s, h, W_1, W_2, v):
    S = additive_scores(s, h, W_1, W_2, v)
    return S.mT if is_square(S) else S


@mutant("the additive score with tanh of each state on its own", "additive_scores")
def additive_tanh_of_each(s, h, W_1, W_2, v):
    right = additive_scores(s, h, W_1, W_2, v)
    each = (np.tanh(floats(s) @ W_1) @ v)[..., :, None] + (np.tanh(floats(h) @ W_2) @ v)[..., None, :]
    return alike(each, right)


@mutant("the additive score without v: the hidden layer is summed", "additive_scores")
def additive_without_v(s, h, W_1, W_2, v):
    return additive_scores(s, h, W_1, W_2, np.ones_like(v))


@mutant("the additive score with W_1 and W_2 exchanged", "additive_scores", "C6")
def additive_exchanged(s, h, W_1, W_2, v):
    if np.shape(W_1) == np.shape(W_2):
        W_1, W_2 = W_2, W_1
    return additive_scores(s, h, W_1, W_2, v)


@mutant("the additive score without tanh", "additive_scores")
def additive_linear(s, h, W_1, W_2, v):
    return (floats(s) @ W_1 @ v)[..., :, None] + (floats(h) @ W_2 @ v)[..., None, :]


@mutant("the additive score with tanh outside", "additive_scores")
def additive_tanh_outside(s, h, W_1, W_2, v):
    return np.tanh(additive_linear(s, h, W_1, W_2, v))


# --------------------------------------------------------------------------------------------------------- softmax


def softmax_from(shift=None, empty=0.0, add=0.0):
    """A softmax with another shift, another value for empty rows, or a larger denominator."""

    def wrong(x, axis=-1):
        y = floats(x)
        mu = np.asarray(y.max(axis=axis, keepdims=True, initial=-np.inf) if shift is None else shift(y))
        with np.errstate(invalid="ignore", over="ignore"):
            e = np.exp(y - np.where(np.isneginf(mu), 0, mu).astype(y.dtype))
            total = e.sum(axis=axis, keepdims=True) + y.dtype.type(add)
            return alike(np.where(total == 0, empty, e / total), x)

    return wrong


mutant("the maximum is not subtracted", "softmax", "A25")(softmax_from(shift=lambda y: 0.0))
mutant("the maximum of everything is subtracted, not that of the row", "softmax", "A25")(
    softmax_from(shift=lambda y: y.max(initial=-np.inf))
)
mutant("an empty row is NaN", "softmax", "A1")(softmax_from(empty=np.nan))
mutant("the shifted softmax with a plain 1 added to the denominator", "softmax", "A26")(softmax_from(add=1.0))


mutant("the mean is subtracted, not the maximum", "softmax", "A25")(
    softmax_from(shift=lambda y: np.mean(y, axis=-1, keepdims=True) if y.shape[-1] else 0.0)
)


@mutant("large scores are clipped before exp", "softmax", "A25")
def softmax_clipped(x, axis=-1):
    return alike(softmax(np.where(np.isneginf(x), -np.inf, np.clip(floats(x), -700, 700)), axis), x)


@mutant("the sum runs over the rows, not along them, where there are as many", "softmax", "A6")
def softmax_without_keepdims(x, axis=-1):
    a = softmax(x, axis)
    if np.ndim(x) != 2 or not is_square(x) or axis != -1 or np.isnan(a).any() or not a.size:
        return a
    mu = floats(x).max(-1, keepdims=True)
    e = np.exp(floats(x) - np.where(np.isneginf(mu), 0, mu))
    return alike(e / np.where(e.sum(-1) == 0, 1, e.sum(-1)), x)


@mutant("exp is left out", "softmax")
def softmax_without_exp(x, axis=-1):
    a, y = softmax(x, axis), floats(x)
    total = y.sum(axis=axis, keepdims=True)
    return alike(y / np.where(total == 0, 1, total), x) if np.isfinite(y).all() and (total != 0).all() else a


@mutant("NaN among the scores counts as weight 0", "softmax")
def softmax_hides_nan(x, axis=-1):
    return softmax(np.where(np.isnan(floats(x)), -np.inf, x), axis)


@mutant("NaN in one row reaches all rows", "softmax")
def softmax_spreads_nan(x, axis=-1):
    a = softmax(x, axis)
    return np.where(np.isnan(a).any(), np.nan, a).astype(a.dtype)


@mutant("an empty row is uniform", "softmax", "A1")
def softmax_uniform(x, axis=-1):
    a = softmax(x, axis)
    return np.where(a.sum(axis=axis, keepdims=True) == 0, 1 / max(a.shape[axis], 1), a).astype(a.dtype)


@mutant("softmax along the queries", "softmax", "A6")
def softmax_queries(x, axis=-1):
    return softmax(x, -2 if axis == -1 and np.ndim(x) > 1 else axis)


@mutant("softmax along the first axis, batch or heads", "softmax", "A6")
def softmax_first(x, axis=-1):
    return softmax(x, 0 if axis == -1 and np.ndim(x) > 2 else axis)


@mutant("softmax over all scores at once", "softmax", "A6")
def softmax_everything(x, axis=-1):
    return softmax(np.reshape(x, -1)).reshape(np.shape(x))


@mutant("softmax ignores its axis", "softmax", "A6")
def softmax_ignores_axis(x, axis=-1):
    return softmax(x)


@mutant("softmax writes into its input", "softmax", "E")
def softmax_in_place(x, axis=-1):
    a = softmax(x, axis)
    if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.flags.writeable:
        x[...] = a
    return a


@mutant("weights of integer scores are cut to integers", "softmax", "A29")
def softmax_integer(x, axis=-1):
    a = softmax(x, axis)
    return a.astype(np.asarray(x).dtype) if np.asarray(x).dtype.kind in "iu" else a


@mutant("softmax always returns float64", "softmax", "A15")
def softmax_widens(x, axis=-1):
    return softmax(x, axis).astype(float)


@mutant("the largest weight is 1, not the sum", "softmax")
def softmax_by_largest(x, axis=-1):
    a = softmax(x, axis)
    top = a.max(axis=axis, keepdims=True, initial=0)
    return (a / np.where(top == 0, 1, top)).astype(a.dtype)


# ------------------------------------------------------------------------------------------------------- gradients


@mutant("only the diagonal of the Jacobian", "softmax_jacobian", "A32")
def jacobian_diagonal(a):
    a = floats(a)
    return (a * (1 - a))[..., None] * np.eye(a.shape[-1], dtype=a.dtype)


@mutant("diag(a) plus the outer product", "softmax_jacobian", "A32")
def jacobian_plus(a):
    a = floats(a)
    return softmax_jacobian(a) + 2 * a[..., :, None] * a[..., None, :]


@mutant("diag(a) minus the inner product a aᵀ of a row", "softmax_jacobian", "C6")
def jacobian_inner(a):
    a = floats(a)
    return a[..., None] * np.eye(a.shape[-1], dtype=a.dtype) - (a * a).sum(-1)[..., None, None]


@mutant("the Jacobian with δ = 1 everywhere", "softmax_jacobian", "A32")
def jacobian_one_everywhere(a):
    a = floats(a)
    return a[..., :, None] * (1 - a[..., None, :])


@mutant("the Jacobian with the signs reversed", "softmax_jacobian", "A32")
def jacobian_signs(a):
    return -softmax_jacobian(a)


@mutant("the Jacobian without diag(a)", "softmax_jacobian", "A32")
def jacobian_without_diagonal(a):
    a = floats(a)
    return -a[..., :, None] * a[..., None, :]


@mutant("D from the diagonal of the Jacobian alone", "softmax_backward", "A32")
def backward_diagonal(a, da):
    a = floats(a)
    return alike(a * (1 - a) * da, a)


@mutant("D without the row sum", "softmax_backward", "A32")
def backward_without_sum(a, da):
    return floats(a) * floats(da)


@mutant("D with the row sum of dA, not of A ⊙ dA", "softmax_backward", "A32")
def backward_wrong_sum(a, da):
    a, da = floats(a), floats(da)
    return a * (da - da.sum(-1, keepdims=True))


@mutant("D with the sum over the queries", "softmax_backward", "A6", "A32")
def backward_sum_over_queries(a, da):
    if np.ndim(a) < 2:
        return softmax_backward(a, da)
    a, da = floats(a), floats(da)
    return a * (da - (a * da).sum(-2, keepdims=True))


@mutant("D with one sum over everything", "softmax_backward", "A6", "A32")
def backward_one_sum(a, da):
    a, da = floats(a), floats(da)
    return a * (da - (a * da).sum())


@mutant("D with the mean in place of the row sum", "softmax_backward", "A32")
def backward_mean(a, da):
    a, da = floats(a), floats(da)
    return a * (da - (a * da).mean(-1, keepdims=True)) if a.size and da.size else softmax_backward(a, da)


@mutant("D with the row sum added", "softmax_backward", "A32")
def backward_sum_added(a, da):
    a, da = floats(a), floats(da)
    return a * (da + (a * da).sum(-1, keepdims=True))


@mutant("D without the factor a in front", "softmax_backward", "A32")
def backward_without_factor(a, da):
    a, da = floats(a), floats(da)
    return np.ones_like(a) * (da - (a * da).sum(-1, keepdims=True))


@mutant("D with a and dA exchanged", "softmax_backward")
def backward_exchanged(a, da):
    return softmax_backward(da, a)


def wrong_gradients(change):
    """A backward pass whose right dQ, dK, dV then go through change(dQ, dK, dV, G, Q, K, V, A)."""

    def wrong(G, Q, K, V, A):
        gradients = scaled_dot_product_attention_backward(G, Q, K, V, A)
        return tuple(change(*gradients, G, Q, K, V, A))

    return wrong


def backward_mutant(sentence, *bugs):
    def enter(change):
        mutant(sentence, "scaled_dot_product_attention_backward", *bugs)(wrong_gradients(change))
        return change

    return enter


@backward_mutant("dQ has lost 1/√d_k", "A33")
def dQ_unscaled(dQ, dK, dV, G, Q, K, V, A):
    return dQ * math.sqrt(np.shape(K)[-1]), dK, dV


@backward_mutant("dK has lost 1/√d_k", "A33")
def dK_unscaled(dQ, dK, dV, G, Q, K, V, A):
    return dQ, dK * math.sqrt(np.shape(K)[-1]), dV


@backward_mutant("dV is scaled too", "A33")
def dV_scaled(dQ, dK, dV, G, Q, K, V, A):
    return dQ, dK, dV / math.sqrt(np.shape(K)[-1])


@backward_mutant("dQ and dK are divided by d_k, not by its root", "A33")
def gradients_by_d_k(dQ, dK, dV, G, Q, K, V, A):
    root = math.sqrt(np.shape(K)[-1] or 1)
    return dQ / root, dK / root, dV


@backward_mutant("dV comes first", "A34")
def dV_first(dQ, dK, dV, G, Q, K, V, A):
    return dV, dQ, dK


@backward_mutant("dV without the weights: every value gets all of G", "A33")
def dV_unweighted(dQ, dK, dV, G, Q, K, V, A):
    seen = np.asarray(A).any(axis=-2)[..., None] * np.ones(np.shape(V)[-1])
    total = np.where(np.isfinite(G), G, 0).sum(axis=-2, keepdims=True)
    wrong = seen * total
    return dQ, dK, alike(wrong, dV) if wrong.shape == dV.shape else dV


@backward_mutant("dQ from Q, not from K", "A33")
def dQ_from_Q(dQ, dK, dV, G, Q, K, V, A):
    if np.shape(Q) != np.shape(K) or not is_square(A):
        return dQ, dK, dV
    D = softmax_backward(A, floats(G) @ floats(V).mT)
    return alike(D @ floats(Q) / math.sqrt(np.shape(K)[-1]), dQ), dK, dV


@backward_mutant("dQ, dK, dV are float64 whatever they were", "A15")
def gradients_widened(dQ, dK, dV, G, Q, K, V, A):
    return dQ.astype(float), dK.astype(float), dV.astype(float)


@mutant("G that only broadcasts to the shape of Z is accepted", "scaled_dot_product_attention_backward")
def G_broadcast(G, Q, K, V, A):
    if np.ndim(G) == np.ndim(Q) == 2 and np.ndim(V) == 2 and np.shape(G)[0] == 1:
        G = np.broadcast_to(G, (np.shape(Q)[0], np.shape(G)[1]))
    return scaled_dot_product_attention_backward(G, Q, K, V, A)


@mutant("the backward pass writes into G", "scaled_dot_product_attention_backward", "E")
def writes_into_G(G, Q, K, V, A):
    gradients = scaled_dot_product_attention_backward(G, Q, K, V, A)
    if isinstance(G, np.ndarray) and G.flags.writeable and G.dtype.kind == "f":
        G *= 2
    return gradients


@backward_mutant("dK uses D, not Dᵀ", "A33")
def dK_without_transpose(dQ, dK, dV, G, Q, K, V, A):
    if not is_square(A) or np.shape(Q) != np.shape(K):
        return dQ, dK, dV
    D = softmax_backward(A, floats(G) @ floats(V).mT)
    return dQ, alike(D @ floats(Q) / math.sqrt(np.shape(K)[-1]), dK), dV


@backward_mutant("dV uses A, not Aᵀ", "A33")
def dV_without_transpose(dQ, dK, dV, G, Q, K, V, A):
    return dQ, dK, alike(floats(A) @ floats(G), dV) if is_square(A) and np.shape(G) == np.shape(V) else dV


@backward_mutant("dQ and dK are exchanged", "A34")
def dQ_dK_exchanged(dQ, dK, dV, G, Q, K, V, A):
    return (dK, dQ, dV) if dQ.shape == dK.shape else (dQ, dK, dV)


@backward_mutant("the softmax is left out of the chain rule", "A32")
def without_softmax(dQ, dK, dV, G, Q, K, V, A):
    if np.ndim(A) > 2 or not (np.isfinite(K).all() and np.isfinite(V).all()):
        return dQ, dK, dV
    dA, root = floats(G) @ floats(V).mT, math.sqrt(np.shape(K)[-1])
    return alike(dA @ floats(K) / root, dQ), alike(dA.mT @ floats(Q) / root, dK), dV


@backward_mutant("an empty row makes the gradients NaN", "A2")
def gradient_of_empty_row(dQ, dK, dV, G, Q, K, V, A):
    empty = (np.asarray(A) == 0).all(-1)
    return (np.where(empty.any(), np.nan, g).astype(g.dtype) for g in (dQ, dK, dV))


@backward_mutant("NaN at a key that no query may attend to reaches the gradients", "A2")
def gradient_of_hidden_nan(dQ, dK, dV, G, Q, K, V, A):
    bad = not (np.isfinite(K).all() and np.isfinite(V).all())
    return (np.where(bad, np.nan, g).astype(g.dtype) for g in (dQ, dK, dV))


@backward_mutant("the gradient of a broadcast operand is not summed back", "E")
def not_summed_back(dQ, dK, dV, G, Q, K, V, A):
    lead = np.shape(G)[:-2]
    return (np.broadcast_to(g, lead + g.shape[-2:]) for g in (dQ, dK, dV))


@backward_mutant("the gradient of a broadcast operand is averaged, not summed", "E")
def averaged_back(dQ, dK, dV, G, Q, K, V, A):
    size = np.size(G) / max(1, math.prod(np.shape(G)[-2:]))
    stretched = [size / max(1, math.prod(g.shape[:-2])) for g in (dQ, dK, dV)]
    return (g / (n or 1) for g, n in zip((dQ, dK, dV), stretched, strict=True))


# ----------------------------------------------------------------------------------------------------------- masks


def triangle(n_q, n_k, k):
    return np.tril(np.ones((n_q, n_k), dtype=bool), k)


@mutant("the diagonal is masked, and the first row empty", "causal_mask", "A11")
def causal_without_self(n_q, n_k=None, offset=0):
    return triangle(*causal_mask(n_q, n_k, offset).shape, offset - 1)


@mutant("one future token leaks", "causal_mask", "A11")
def causal_leaks(n_q, n_k=None, offset=0):
    return triangle(*causal_mask(n_q, n_k, offset).shape, offset + 1)


@mutant("the offset is ignored: aligned top left", "causal_mask", "A10")
def causal_top_left(n_q, n_k=None, offset=0):
    return triangle(*causal_mask(n_q, n_k, offset).shape, 0)


@mutant("aligned bottom right whatever the offset", "causal_mask", "A10")
def causal_bottom_right(n_q, n_k=None, offset=0):
    keep = causal_mask(n_q, n_k, offset)
    return triangle(*keep.shape, keep.shape[1] - keep.shape[0])


@mutant("the offset is counted backwards", "causal_mask", "A10")
def causal_offset_backwards(n_q, n_k=None, offset=0):
    return triangle(*causal_mask(n_q, n_k, offset).shape, -offset)


@mutant("without n_k the cache is forgotten", "causal_mask", "A10")
def causal_forgets_cache(n_q, n_k=None, offset=0):
    return causal_mask(n_q, n_q if n_k is None else n_k, offset)


@mutant("the causal mask says True = drop", "causal_mask", "A13")
def causal_flipped(n_q, n_k=None, offset=0):
    return ~causal_mask(n_q, n_k, offset)


@mutant("the causal mask shows the future, not the past", "causal_mask", "A13")
def causal_future(n_q, n_k=None, offset=0):
    return np.triu(np.ones(causal_mask(n_q, n_k, offset).shape, dtype=bool), offset)


@mutant("the causal mask is made of integers", "causal_mask", "A15")
def causal_integers(n_q, n_k=None, offset=0):
    return causal_mask(n_q, n_k, offset).astype(int)


@mutant("only the last visible key is visible", "causal_mask", "A11")
def causal_last_only(n_q, n_k=None, offset=0):
    keep = causal_mask(n_q, n_k, offset)
    return keep & (np.arange(keep.shape[1]) == np.arange(len(keep))[:, None] + min(offset, keep.shape[1]))


@mutant("the causal mask lets everything through", "causal_mask", "A5")
def causal_open(n_q, n_k=None, offset=0):
    return np.ones_like(causal_mask(n_q, n_k, offset))


@mutant("n_q and n_k are exchanged", "causal_mask", "A10")
def causal_exchanged(n_q, n_k=None, offset=0):
    return causal_mask(n_q, n_k, offset) if n_k is None else causal_mask(n_k, n_q, offset)


@mutant("the causal mask has float zeros and ones", "causal_mask", "A15")
def causal_floats(n_q, n_k=None, offset=0):
    return causal_mask(n_q, n_k, offset).astype(float)


@mutant("a small NumPy integer overflows in i + offset", "causal_mask")
def causal_overflows(n_q, n_k=None, offset=0):
    keep = causal_mask(n_q, n_k, offset)
    if not isinstance(offset, np.integer):
        return keep
    with np.errstate(over="ignore"):
        return np.arange(keep.shape[1]) <= np.arange(len(keep)).astype(offset.dtype)[:, None] + offset


@mutant("a negative offset is accepted", "causal_mask", "A10")
def causal_negative(n_q, n_k=None, offset=0):
    negative = isinstance(offset, int) and offset < 0 and isinstance(n_q, int)
    return triangle(n_q, n_k or n_q, offset) if negative else causal_mask(n_q, n_k, offset)


@mutant("padding on the axis of the queries", "padding_mask", "A8")
def padding_queries(lengths, n_k):
    return padding_mask(lengths, n_k).mT


@mutant("padding without an axis for the queries", "padding_mask", "A8")
def padding_flat(lengths, n_k):
    return padding_mask(lengths, n_k)[..., 0, :]


@mutant("one padded key is visible", "padding_mask", "A8")
def padding_one_more(lengths, n_k):
    return padding_mask(np.minimum(np.asarray(lengths) + 1, n_k), n_k)


@mutant("length 0 counts as 1", "padding_mask", "A30")
def padding_never_empty(lengths, n_k):
    return padding_mask(np.minimum(np.maximum(lengths, 1), n_k), n_k)


@mutant("the last real key is padded too", "padding_mask", "A8")
def padding_one_less(lengths, n_k):
    return padding_mask(lengths, n_k) & padding_mask(np.maximum(np.asarray(lengths) - 1, 0), n_k)


@mutant("lengths and n_k are exchanged where there is one length", "padding_mask", "A8")
def padding_exchanged(lengths, n_k):
    keep = padding_mask(lengths, n_k)
    return np.arange(int(lengths))[None] < n_k if np.ndim(lengths) == 0 else keep


@mutant("every sequence gets the first length", "padding_mask", "A8")
def padding_first_length(lengths, n_k):
    return np.broadcast_to(padding_mask(np.ravel(lengths)[:1], n_k)[0], padding_mask(lengths, n_k).shape)


@mutant("a length beyond n_k is cut without a word", "padding_mask", "A12")
def padding_cut(lengths, n_k):
    numbers = np.asarray(lengths)
    return padding_mask(
        np.minimum(numbers, n_k) if numbers.dtype.kind == "i" and isinstance(n_k, int) else lengths, n_k
    )


@mutant("lengths that are no whole numbers are rounded", "padding_mask")
def padding_rounded(lengths, n_k):
    numbers = np.asarray(lengths)
    return padding_mask(numbers.astype(int) if numbers.dtype.kind == "f" else lengths, n_k)


@mutant("the padding mask says True = drop", "padding_mask", "A13")
def padding_flipped(lengths, n_k):
    return ~padding_mask(lengths, n_k)


@mutant("padding on the left", "padding_mask", "A8")
def padding_left(lengths, n_k):
    return padding_mask(lengths, n_k)[..., ::-1]


def additive_with(fill):
    return lambda keep, dtype=float: np.where(np.isneginf(to_additive(keep, dtype)), fill, 0).astype(dtype)


mutant("the additive mask is -1e9", "to_additive", "A1", "A3")(additive_with(-1e9))
mutant("the additive mask is -1e-9", "to_additive", "A4")(additive_with(-1e-9))
mutant("the additive mask is the smallest float16", "to_additive", "A3")(additive_with(-65504.0))


@mutant("the additive mask has 0 and -inf exchanged", "to_additive", "A13")
def additive_flipped(keep, dtype=float):
    to_additive(keep, dtype)
    return to_additive(~np.asarray(keep), dtype)


@mutant("the additive mask is (1 - keep) times -inf: NaN where visible", "to_additive", "A2")
def additive_nan(keep, dtype=float):
    return np.where(np.isneginf(to_additive(keep, dtype)), -np.inf, np.nan).astype(dtype)


@mutant("the additive mask is always float64", "to_additive", "A15")
def additive_widens(keep, dtype=float):
    return to_additive(keep, dtype).astype(float)


mutant("the additive mask is +inf", "to_additive", "A13")(additive_with(np.inf))


@mutant("the additive mask is 1 where visible", "to_additive", "A15")
def additive_ones(keep, dtype=float):
    return np.where(to_additive(keep, dtype) == 0, 1, -np.inf).astype(dtype)


@mutant("the additive mask is the boolean one as 0 and 1", "to_additive", "A15")
def additive_is_boolean(keep, dtype=float):
    return (to_additive(keep, dtype) == 0).astype(dtype)


@mutant("integers are taken for a boolean mask", "to_additive", "A15")
def additive_of_integers(keep, dtype=float):
    return to_additive(np.asarray(keep) != 0 if np.asarray(keep).dtype.kind in "iu" else keep, dtype)


@mutant("a finite bias is taken for visible", "to_boolean", "A15")
def boolean_accepts_bias(M):
    return np.asarray(M) > -np.inf


@mutant("-1e9 is taken for blocked", "to_boolean", "A1")
def boolean_of_large(M):
    M = np.asarray(M)
    return to_boolean(np.where(M <= -1e9, -np.inf, M) if M.dtype.kind == "f" else M)


@mutant("1 is taken for visible", "to_boolean", "A15")
def boolean_of_ones(M):
    M = np.asarray(M)
    return M == 1 if M.dtype.kind == "f" and M.size and np.isin(M, (0, 1)).all() and M.any() else to_boolean(M)


@mutant("a boolean mask goes through as if it were float", "to_boolean", "A13")
def boolean_of_boolean(M):
    return np.asarray(M) if np.asarray(M).dtype == bool else to_boolean(M)


@mutant("NaN in a mask is taken for blocked", "to_boolean")
def boolean_of_nan(M):
    M = np.asarray(M)
    return to_boolean(np.where(np.isnan(M), -np.inf, M) if M.dtype.kind == "f" else M)


@mutant("0 is taken for blocked", "to_boolean", "A13")
def boolean_flipped(M):
    return ~to_boolean(M)


# ------------------------------------------------------------------------------------------------------- attention


def attention_with(change_mask):
    """Attention that first changes the mask, which is an array of a right dtype, or None."""

    def wrong(Q, K, V, mask=None):
        if mask is None or np.asarray(mask).dtype.kind not in "bf":
            return scaled_dot_product_attention(Q, K, V, mask)
        return scaled_dot_product_attention(Q, K, V, change_mask(np.asarray(mask)))

    return wrong


def with_fill(fill):
    """Blocked scores are `fill`, as a float mask."""
    return attention_with(
        lambda m: np.where(m if m.dtype == bool else ~np.isneginf(m), 0 if m.dtype == bool else m, fill)
    )


ATTENTION = "scaled_dot_product_attention"
mutant("the mask is not used", ATTENTION, "A5")(attention_with(lambda m: None))
mutant("a boolean mask is read as True = drop", ATTENTION, "A13")(
    attention_with(lambda m: ~m if m.dtype == bool else m)
)
mutant("blocked scores get -1e9", ATTENTION, "A1", "A3")(with_fill(-1e9))
mutant("blocked scores get -1e-9", ATTENTION, "A4")(with_fill(-1e-9))
mutant("blocked scores get the smallest float16", ATTENTION, "A3")(with_fill(-65504.0))
mutant("padding is put on the queries", ATTENTION, "A8")(
    attention_with(lambda m: m.mT if m.ndim > 1 and is_square(m) else m)
)
mutant("a float mask only blocks, its finite values are lost", ATTENTION, "A15")(
    attention_with(lambda m: m if m.dtype == bool else np.isfinite(m))
)
mutant("a float mask is divided by √d_k with the scores", ATTENTION, "A15")(
    attention_with(lambda m: m if m.dtype == bool else m / 2)
)
mutant("the first axis of the mask is used for all of the batch", ATTENTION, "A8")(
    attention_with(lambda m: m[:1] if m.ndim > 2 else m)
)


mutant("NaN in a float mask is taken for blocked", ATTENTION, "E")(
    attention_with(lambda m: m if m.dtype == bool else np.where(np.isnan(m), -np.inf, m))
)
mutant("a finite bias overflows to -inf in float32", ATTENTION, "A3")(
    attention_with(lambda m: m if m.dtype == bool else np.where(m < np.finfo(np.float32).min, -np.inf, m))
)


@mutant("an integer mask is added as a bias", ATTENTION, "A15")
def integer_mask_added(Q, K, V, mask=None):
    integers = mask is not None and np.asarray(mask).dtype.kind in "iu"
    return scaled_dot_product_attention(Q, K, V, np.asarray(mask) * 1.0 if integers else mask)


@mutant("a mask for shorter sequences is cut or filled to fit", ATTENTION, "A12")
def short_mask_filled(Q, K, V, mask=None):
    if mask is None or np.ndim(mask) != 2:
        return scaled_dot_product_attention(Q, K, V, mask)
    n_q, n_k = np.shape(Q)[-2], np.shape(K)[-2]
    rows, columns = (1 if n == 1 else wanted for n, wanted in zip(np.shape(mask), (n_q, n_k), strict=True))
    fitted = np.resize(mask, (rows, columns)) if np.shape(mask) != (rows, columns) and np.size(mask) else mask
    return scaled_dot_product_attention(Q, K, V, fitted)


@mutant("the longer of K and V is cut without a word", ATTENTION, "A18")
def lengths_cut(Q, K, V, mask=None):
    n = min(np.shape(K)[-2], np.shape(V)[-2])
    return scaled_dot_product_attention(Q, np.asarray(K)[..., :n, :], np.asarray(V)[..., :n, :], mask)


@mutant("weights are zeroed after the softmax and not renormalised", ATTENTION, "A39")
def zeroed_after(Q, K, V, mask=None):
    Z, A = scaled_dot_product_attention(Q, K, V, mask)
    if mask is None or not (np.isfinite(K).all() and np.isfinite(V).all()):
        return Z, A
    free = scaled_dot_product_attention(Q, K, V)[1]
    A = np.where(A == 0, 0, free).astype(A.dtype)
    return alike(floats(A) @ floats(V), Z), A


@mutant("K and V are exchanged", ATTENTION, "A34")
def keys_and_values_exchanged(Q, K, V, mask=None):
    if np.shape(K) == np.shape(V):
        K, V = V, K
    return scaled_dot_product_attention(Q, K, V, mask)


@mutant("Q is used for K where the shapes fit", ATTENTION, "A34")
def queries_for_keys(Q, K, V, mask=None):
    return scaled_dot_product_attention(Q, Q if np.shape(Q) == np.shape(K) else K, V, mask)


@mutant("the output is Aᵀ V", ATTENTION, "C6")
def output_transposed(Q, K, V, mask=None):
    Z, A = scaled_dot_product_attention(Q, K, V, mask)
    return (alike(floats(A).mT @ floats(V), Z), A) if is_square(A) and np.isfinite(V).all() else (Z, A)


@mutant("attention returns the scaled scores as weights", ATTENTION)
def returns_scores(Q, K, V, mask=None):
    return scaled_dot_product_attention(Q, K, V, mask)[0], scaled_scores(Q, K)


@mutant("attention is scaled twice", ATTENTION, "C7")
def scaled_twice(Q, K, V, mask=None):
    Z, A = scaled_dot_product_attention(floats(Q) / math.sqrt(np.shape(Q)[-1] or 1), K, V, mask)
    return alike(Z, V), alike(A, Q)


@mutant("NaN at a key that no query may attend to reaches the output", ATTENTION, "E")
def hidden_nan_leaks(Q, K, V, mask=None):
    Z, A = scaled_dot_product_attention(Q, K, V, mask)
    return np.where(np.isfinite(V).all() and np.isfinite(K).all(), Z, np.nan).astype(Z.dtype), A


@mutant("scores are computed in float16", ATTENTION, "A3")
def in_float16(Q, K, V, mask=None):
    if np.asarray(Q).dtype == np.float16:
        with np.errstate(over="ignore"):  # Q Kᵀ before the scaling is past 65504
            S = dot_scores(Q, K)
        if not np.isfinite(S).all():
            return np.full_like(V, np.nan, shape=(*S.shape[:-1], np.shape(V)[-1])), np.full_like(S, np.nan)
    return scaled_dot_product_attention(Q, K, V, mask)


@mutant("a query that sees nothing is NaN if another query reads NaN", ATTENTION, "A1")
def empty_row_of_nan(Q, K, V, mask=None):
    Z, A = scaled_dot_product_attention(Q, K, V, mask)
    return np.where(np.isnan(Z).any() & (A == 0).all(-1, keepdims=True), np.nan, Z).astype(Z.dtype), A


@mutant("the output and the weights are returned in the wrong order", ATTENTION)
def order_exchanged(Q, K, V, mask=None):
    return scaled_dot_product_attention(Q, K, V, mask)[::-1]


@mutant("booleans are taken for numbers", ATTENTION)
def boolean_values(Q, K, V, mask=None):
    return scaled_dot_product_attention(Q, K, np.asarray(V) * 1.0 if np.asarray(V).dtype == bool else V, mask)


@mutant("a float64 mask widens float32", ATTENTION, "A15")
def mask_widens(Q, K, V, mask=None):
    Z, A = scaled_dot_product_attention(Q, K, V, mask)
    wide = float if mask is not None and np.asarray(mask).dtype == float else Z.dtype
    return Z.astype(wide), A.astype(wide)


@mutant("without keys the output is NaN", ATTENTION, "A30")
def no_keys_nan(Q, K, V, mask=None):
    Z, A = scaled_dot_product_attention(Q, K, V, mask)
    return (Z, A) if A.shape[-1] else (np.full_like(Z, np.nan), A)


@mutant("attention writes into V", ATTENTION, "E")
def writes_into_V(Q, K, V, mask=None):
    Z, A = scaled_dot_product_attention(Q, K, V, mask)
    if isinstance(V, np.ndarray) and V.flags.writeable and V.dtype.kind == "f":
        V *= 2
    return Z, A


@mutant("attention writes into the mask", ATTENTION, "E")
def writes_into_mask(Q, K, V, mask=None):
    Z, A = scaled_dot_product_attention(Q, K, V, mask)
    if isinstance(mask, np.ndarray) and mask.flags.writeable:
        mask[...] = True
    return Z, A


# ------------------------------------------------------------------------------------------------------ many heads


def split_reshape(X, n_head):
    n, columns = split_heads(X, n_head).shape[-2], np.shape(X)[-1]
    return np.reshape(X, (*np.shape(X)[:-2], n_head, n, columns // n_head))


def merge_reshape(X):
    merge_heads(X)
    *lead, n_head, n, d = np.shape(X)
    return np.reshape(X, (*lead, n, n_head * d))


mutant("heads are split by a bare reshape", "split_heads", "A19")(split_reshape)
mutant("heads are merged by a bare reshape", "merge_heads", "A19")(merge_reshape)
MUTANTS["heads are split and merged by bare reshapes, which undo each other"] = Mutant(
    {"split_heads": split_reshape, "merge_heads": merge_reshape}, ("A19",)
)


@mutant("columns are dealt out to the heads in turn", "split_heads", "A19")
def split_in_turn(X, n_head):
    split_heads(X, n_head)
    X = np.asarray(X)
    return np.moveaxis(X.reshape(*X.shape[:-1], X.shape[-1] // n_head, n_head), -1, -3)


@mutant("columns that do not divide are dropped", "split_heads", "A24")
def split_drops(X, n_head):
    columns = np.shape(X)[-1]
    whole = columns - columns % n_head if isinstance(n_head, int) and 0 < n_head <= columns else columns
    return split_heads(np.asarray(X)[..., :whole], n_head)


@mutant("the axis of the heads comes before the batch", "split_heads", "A19")
def split_before_batch(X, n_head):
    H = split_heads(X, n_head)
    return np.moveaxis(H, -3, 0) if H.ndim > 3 else H


@mutant("2.0 counts as 2 heads, and True as 1", "split_heads", "A24")
def split_any_number(X, n_head):
    return split_heads(X, int(n_head) if isinstance(n_head, (float, bool)) else n_head)


@mutant("heads are merged in turn, column by column", "merge_heads", "A19")
def merge_in_turn(X):
    merge_heads(X)
    X = np.asarray(X)
    return np.moveaxis(X, -3, -1).reshape(*X.shape[:-3], X.shape[-2], -1) if X.size else merge_heads(X)


@mutant("heads are merged in reverse order", "merge_heads", "A19")
def merge_reversed(X):
    merge_heads(X)
    return merge_heads(np.asarray(X)[..., ::-1, :, :])


@mutant("heads are averaged, each copied into the place of all", "merge_heads", "A19")
def merge_averaged(X):
    merge_heads(X)
    X = np.asarray(X)
    return merge_heads(np.broadcast_to(X.mean(-3, keepdims=True), X.shape)) if X.size else merge_heads(X)


HEADS = "multi_head_attention"


@mutant("scaled by √d_model, not √d_k", HEADS, "A21")
def heads_scaled_by_model(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None):
    factor = math.sqrt(n_head) if isinstance(n_head, int) and n_head > 0 else 1
    return multi_head_attention(X_q, X_s, np.asarray(W_Q) / factor, W_K, W_V, W_O, n_head, mask)


@mutant("scaled by the root of the number of heads", HEADS, "A21")
def heads_scaled_by_heads(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None):
    factor = math.sqrt(np.shape(W_Q)[-1] / n_head / n_head) if isinstance(n_head, int) and n_head > 0 else 1
    return multi_head_attention(X_q, X_s, np.asarray(W_Q) * factor, W_K, W_V, W_O, n_head, mask)


@mutant("the mask has no axis for the heads put in", HEADS, "A8")
def heads_mask_misread(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None):
    Y, A = multi_head_attention(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask)
    if mask is None or np.ndim(mask) != 3 or np.shape(mask)[0] != n_head:
        return Y, A
    Q, K, V = (split_heads(X @ W, n_head) for X, W in ((X_q, W_Q), (X_s, W_K), (X_s, W_V)))
    Z, A = scaled_dot_product_attention(Q, K, V, mask)
    return merge_heads(Z) @ W_O, A


@mutant("the mask is for the first head alone", HEADS, "A8")
def heads_mask_for_first(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None):
    Y, A = multi_head_attention(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask)
    if mask is None or not (np.isfinite(X_q).all() and np.isfinite(X_s).all()):
        return Y, A
    free = multi_head_attention(X_q, X_s, W_Q, W_K, W_V, W_O, n_head)[1]
    return Y, np.where(np.arange(n_head)[:, None, None] == 0, A, free).astype(A.dtype)


@mutant("a mask with an axis for the heads is accepted", HEADS, "A8")
def heads_mask_with_heads(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None):
    if mask is not None and np.ndim(mask) == np.ndim(X_q) + 1 and np.shape(mask)[-3] == 1:
        mask = np.asarray(mask)[..., 0, :, :]
    return multi_head_attention(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask)


@mutant("the queries come from the source", HEADS, "A34")
def heads_ask_the_source(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None):
    return multi_head_attention(X_s if np.shape(X_q) == np.shape(X_s) else X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask)


@mutant("the values are not projected by a square W_V", HEADS, "A34")
def heads_values_bare(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None):
    W_V = np.eye(len(W_V), dtype=np.asarray(W_V).dtype) if is_square(W_V) else W_V
    return multi_head_attention(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask)


@mutant("W_O is left out", HEADS)
def heads_without_W_O(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None):
    multi_head_attention(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask)
    W_O = np.eye(np.shape(W_O)[0], dtype=np.asarray(W_O).dtype)
    return multi_head_attention(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask)


@mutant("W_O is transposed", HEADS, "C6")
def heads_W_O_transposed(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None):
    W_O = np.transpose(W_O) if is_square(W_O) else W_O
    return multi_head_attention(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask)


@mutant("the keys use W_Q", HEADS, "A34")
def heads_W_Q_for_keys(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None):
    W_K = W_Q if np.shape(W_Q) == np.shape(W_K) else W_K
    return multi_head_attention(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask)


@mutant("the values use W_K", HEADS, "A34")
def heads_W_K_for_values(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None):
    W_V = W_K if np.shape(W_K) == np.shape(W_V) else W_V
    return multi_head_attention(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask)


@mutant("cross-attention reads its own input", HEADS, "A34")
def heads_read_themselves(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None):
    return multi_head_attention(X_q, X_q if np.shape(X_q) == np.shape(X_s) else X_s, W_Q, W_K, W_V, W_O, n_head, mask)


@mutant("the weights are averaged over the heads", HEADS)
def heads_averaged(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None):
    Y, A = multi_head_attention(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask)
    return Y, np.broadcast_to(A.mean(-3, keepdims=True), A.shape)


@mutant("the heads are put together in reverse order", HEADS, "A19")
def heads_reversed(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None):
    Y, A = multi_head_attention(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask)
    W_O = np.asarray(W_O).reshape(n_head, -1, np.shape(W_O)[-1])[::-1].reshape(np.shape(W_O))
    return multi_head_attention(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask)[0], A


@mutant("one wide head in place of many", HEADS)
def heads_as_one(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None):
    A = multi_head_attention(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask)[1]
    Y, one = multi_head_attention(X_q, X_s, W_Q, W_K, W_V, W_O, 1, mask)
    return Y, np.broadcast_to(one, A.shape)


def heads_backward_mutant(sentence, *bugs):
    """Enter a wrong backward pass: the right gradients, then changed by the decorated function."""

    def enter(change):
        def wrong(G, X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None):
            arguments = G, X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask
            return tuple(change(list(multi_head_attention_backward(*arguments)), *arguments))

        mutant(sentence, "multi_head_attention_backward", *bugs)(wrong)
        return change

    return enter


@heads_backward_mutant("dX_s without the way through the values", "A34")
def dX_s_without_values(gradients, G, X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask):
    Q, K, V = (split_heads(floats(X) @ W, n_head) for X, W in ((X_q, W_Q), (X_s, W_K), (X_s, W_V)))
    A = multi_head_attention(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask)[1]
    dV = scaled_dot_product_attention_backward(split_heads(floats(G) @ np.transpose(W_O), n_head), Q, K, V, A)[2]
    dX_q, dX_s, *rest = gradients
    return dX_q, dX_s - alike(merge_heads(dV) @ np.transpose(W_V), dX_s), *rest


@heads_backward_mutant("dX_s without the way through the keys", "A34")
def dX_s_without_keys(gradients, G, X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask):
    way = multi_head_attention_backward(G, X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask)[1]
    dX_q, dX_s, *rest = gradients
    without = dX_s_without_values([dX_q, way, *rest], G, X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask)[1]
    return dX_q, dX_s - without, *rest


@heads_backward_mutant("dX_q and dX_s are exchanged", "A34")
def dX_exchanged(gradients, G, X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask):
    dX_q, dX_s, *rest = gradients
    return (dX_s, dX_q, *rest) if dX_q.shape == dX_s.shape else gradients


@heads_backward_mutant("dX_q uses W_Q, not its transpose", "A33")
def dX_q_without_transpose(gradients, G, X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask):
    dX_q, *rest = gradients
    if not is_square(W_Q) or np.linalg.matrix_rank(floats(W_Q)) < len(W_Q):
        return gradients
    dQ = floats(dX_q) @ np.linalg.inv(floats(W_Q).T)
    return alike(dQ @ floats(W_Q), dX_q), *rest


@heads_backward_mutant("dW_O is transposed", "A33")
def dW_O_transposed(gradients, G, X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask):
    *rest, dW_O = gradients
    return (*rest, dW_O.T) if is_square(dW_O) else gradients


@heads_backward_mutant("dW_K and dW_V are exchanged", "A34")
def dW_K_dW_V_exchanged(gradients, G, X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask):
    *rest, dW_K, dW_V, dW_O = gradients
    return (*rest, dW_V, dW_K, dW_O) if dW_K.shape == dW_V.shape else gradients


@heads_backward_mutant("the gradients of the parameters are averaged over the batch", "E")
def dW_averaged(gradients, G, X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask):
    batch = math.prod(np.shape(G)[:-2]) or 1
    return [*gradients[:2], *(g / batch for g in gradients[2:])]


@heads_backward_mutant("NaN at a key that no query may attend to reaches all gradients", "A2")
def heads_gradient_of_hidden_nan(gradients, G, X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask):
    return [np.where(np.isfinite(X_s).all(), g, np.nan).astype(g.dtype) for g in gradients]


@heads_backward_mutant("the gradients of the parameters are those of the first in the batch", "E")
def dW_of_first(gradients, G, X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask):
    if np.ndim(X_q) != 3 or np.ndim(X_s) != 3 or np.ndim(mask) > 2:
        return gradients
    first = multi_head_attention_backward(G[:1], X_q[:1], X_s[:1], W_Q, W_K, W_V, W_O, n_head, mask)
    return [*gradients[:2], *first[2:]]


@heads_backward_mutant("dX_q holds dX_s too", "E")
def dX_added(gradients, G, X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask):
    dX_q, dX_s, *rest = gradients
    return dX_q + dX_s if dX_q.shape == dX_s.shape else dX_q, dX_s, *rest


@heads_backward_mutant("dW_Q and dW_K are exchanged", "A34")
def dW_exchanged(gradients, G, X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask):
    dX_q, dX_s, dW_Q, dW_K, *rest = gradients
    return (dX_q, dX_s, dW_K, dW_Q, *rest) if dW_Q.shape == dW_K.shape else gradients


@heads_backward_mutant("the backward pass does not know the mask", "A5")
def backward_without_mask(gradients, G, X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask):
    if mask is None or not np.isfinite(X_s).all():
        return gradients
    return multi_head_attention_backward(G, X_q, X_s, W_Q, W_K, W_V, W_O, n_head)


@heads_backward_mutant("dW_Q and dW_K have lost 1/√d_k", "A33")
def dW_unscaled(gradients, G, X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask):
    root = math.sqrt(np.shape(W_Q)[-1] / n_head)
    dX_q, dX_s, dW_Q, dW_K, *rest = gradients
    return dX_q, dX_s, dW_Q * root, dW_K * root, *rest


# ------------------------------------------------------------------------------------------------ rows in blocks

ROWS = "attention_by_rows"


@mutant("by rows: the offset is ignored", ROWS, "A10")
def rows_without_offset(Q, K, V, mask=None, causal=False, offset=0):
    attention_by_rows(Q, K, V, mask, causal, offset)
    return attention_by_rows(Q, K, V, mask, causal)


@mutant("by rows: the mask is ignored when causal", ROWS, "A5")
def rows_causal_or_mask(Q, K, V, mask=None, causal=False, offset=0):
    attention_by_rows(Q, K, V, mask, causal, offset)
    return attention_by_rows(Q, K, V, None if causal else mask, causal, offset)


@mutant("by rows: a block sees all keys up to its last row", ROWS, "A11")
def rows_leak_in_block(Q, K, V, mask=None, causal=False, offset=0):
    Z = attention_by_rows(Q, K, V, mask, causal, offset)
    if not causal or mask is not None:
        return Z
    n_q, n_k = np.shape(Q)[-2], np.shape(K)[-2]
    last = np.minimum((np.arange(n_q) // am.ROWS_PER_BLOCK + 1) * am.ROWS_PER_BLOCK, n_q) - 1
    return attention_by_rows(Q, K, V, np.arange(n_k) <= last[:, None] + offset)


@mutant("by rows: each block gets the mask of the first", ROWS, "A12")
def rows_first_mask(Q, K, V, mask=None, causal=False, offset=0):
    Z, n = attention_by_rows(Q, K, V, mask, causal, offset), am.ROWS_PER_BLOCK
    if mask is None or np.ndim(mask) < 2 or np.shape(mask)[-2] <= n:
        return Z
    repeated = np.take(mask, np.arange(np.shape(mask)[-2]) % n, axis=-2)
    return attention_by_rows(Q, K, V, repeated, causal, offset)


@mutant("by rows: an empty row is NaN", ROWS, "A1")
def rows_empty_nan(Q, K, V, mask=None, causal=False, offset=0):
    Z = attention_by_rows(Q, K, V, mask, causal, offset)
    return np.where((Z == 0).all(-1, keepdims=True), np.nan, Z).astype(Z.dtype)


@mutant("by rows: all weights are held at once", ROWS, "E")
def rows_hold_all(Q, K, V, mask=None, causal=False, offset=0):
    Z = attention_by_rows(Q, K, V, mask, causal, offset)
    S = scaled_scores(Q, K)
    return Z if S.size >= 0 else S


@mutant("by rows: the result is float64", ROWS, "A15")
def rows_widen(Q, K, V, mask=None, causal=False, offset=0):
    return attention_by_rows(Q, K, V, mask, causal, offset).astype(float)


@mutant("by rows: the last, shorter block is left out", ROWS, "E")
def rows_last_block(Q, K, V, mask=None, causal=False, offset=0):
    Z = attention_by_rows(Q, K, V, mask, causal, offset).copy()
    n_q = Z.shape[-2]
    Z[..., n_q - n_q % am.ROWS_PER_BLOCK :, :] = 0
    return Z


def both(mask, keep):
    """A mask, or none, that also hides what is not to be kept."""
    if mask is None:
        return keep
    mask = np.asarray(mask)
    return mask & keep if mask.dtype == bool else np.where(keep, mask, -np.inf)


def of_block(n_q):
    """The first row of each row's block."""
    return np.arange(n_q)[:, None] // am.ROWS_PER_BLOCK * am.ROWS_PER_BLOCK


@mutant("by rows: causality is ignored when there is a mask", ROWS, "A5")
def rows_mask_or_causal(Q, K, V, mask=None, causal=False, offset=0):
    attention_by_rows(Q, K, V, mask, causal, offset)
    return attention_by_rows(Q, K, V, mask, causal, offset) if mask is None else attention_by_rows(Q, K, V, mask)


@mutant("by rows: each block counts its queries from 0", ROWS, "A10")
def rows_restart(Q, K, V, mask=None, causal=False, offset=0):
    Z, n_q = attention_by_rows(Q, K, V, mask, causal, offset), np.shape(Q)[-2]
    rows = np.arange(n_q)[:, None] - of_block(n_q)
    return attention_by_rows(Q, K, V, both(mask, np.arange(np.shape(K)[-2]) <= rows + offset)) if causal else Z


@mutant("by rows: a block computes no key beyond its first row", ROWS, "A11")
def rows_cut_keys(Q, K, V, mask=None, causal=False, offset=0):
    Z, n_q = attention_by_rows(Q, K, V, mask, causal, offset), np.shape(Q)[-2]
    return attention_by_rows(Q, K, V, both(mask, np.arange(np.shape(K)[-2]) <= of_block(n_q) + offset)) if causal else Z


@mutant("by rows: a block ends one row early", ROWS, "E")
def rows_border(Q, K, V, mask=None, causal=False, offset=0):
    Z = attention_by_rows(Q, K, V, mask, causal, offset).copy()
    Z[..., am.ROWS_PER_BLOCK - 1 :: am.ROWS_PER_BLOCK, :] = 0
    return Z


@mutant("by rows: the second block is skipped", ROWS, "E")
def rows_skipped_block(Q, K, V, mask=None, causal=False, offset=0):
    Z = attention_by_rows(Q, K, V, mask, causal, offset).copy()
    Z[..., am.ROWS_PER_BLOCK : 2 * am.ROWS_PER_BLOCK, :] = 0
    return Z


@mutant("by rows: the maximum of the block is subtracted, not that of the row", ROWS, "A25")
def rows_block_maximum(Q, K, V, mask=None, causal=False, offset=0):
    Z = attention_by_rows(Q, K, V, mask, causal, offset).copy()
    if mask is not None or not Z.size or not np.size(K) or not np.isfinite(scaled_scores(Q, K)).all():
        return Z
    S = np.broadcast_to(scaled_scores(Q, K), (*Z.shape[:-1], np.shape(K)[-2]))
    S = np.where(causal_mask(*S.shape[-2:], offset), S, -np.inf) if causal else S
    for i in range(0, S.shape[-2], am.ROWS_PER_BLOCK):
        block = S[..., i : i + am.ROWS_PER_BLOCK, :]
        lost = np.exp(block - block.max(axis=(-2, -1), keepdims=True)).sum(-1) == 0
        Z[..., i : i + am.ROWS_PER_BLOCK, :][lost] = 0
    return Z


@mutant("by rows: values are summed before they are divided, and overflow", ROWS, "E")
def rows_sum_overflows(Q, K, V, mask=None, causal=False, offset=0):
    Z = attention_by_rows(Q, K, V, mask, causal, offset)
    with np.errstate(over="ignore"):
        return np.where(np.isinf(Z * Z.dtype.type(2)) & (np.shape(K)[-2] > 1), np.inf, Z).astype(Z.dtype)


@mutant("by rows: not scaled", ROWS, "C7")
def rows_unscaled(Q, K, V, mask=None, causal=False, offset=0):
    Z = attention_by_rows(Q, K, V, mask, causal, offset)
    return alike(attention_by_rows(floats(Q) * math.sqrt(np.shape(K)[-1]), K, V, mask, causal, offset), Z)


@mutant("by rows: a boolean mask is read as True = drop", ROWS, "A13")
def rows_mask_flipped(Q, K, V, mask=None, causal=False, offset=0):
    flipped = mask is not None and np.asarray(mask).dtype == bool
    return attention_by_rows(Q, K, V, ~np.asarray(mask) if flipped else mask, causal, offset)


@mutant("by rows: finite values of a float mask are lost", ROWS, "A15")
def rows_bias_lost(Q, K, V, mask=None, causal=False, offset=0):
    finite = mask is not None and np.asarray(mask).dtype.kind == "f"
    return attention_by_rows(Q, K, V, np.isfinite(mask) if finite else mask, causal, offset)


@mutant("by rows: the first of the batch stands for all", ROWS, "E")
def rows_first_of_batch(Q, K, V, mask=None, causal=False, offset=0):
    Z = attention_by_rows(Q, K, V, mask, causal, offset)
    return np.broadcast_to(Z[:1], Z.shape) if Z.ndim > 2 else Z


@mutant("by rows: NaN at a key that no query may attend to reaches the output", ROWS, "E")
def rows_hidden_nan(Q, K, V, mask=None, causal=False, offset=0):
    Z = attention_by_rows(Q, K, V, mask, causal, offset)
    return np.where(np.isfinite(V).all() and np.isfinite(K).all(), Z, np.nan).astype(Z.dtype)


@mutant("by rows: the longer of K and V is cut without a word", ROWS, "A18")
def rows_lengths_cut(Q, K, V, mask=None, causal=False, offset=0):
    n = min(np.shape(K)[-2], np.shape(V)[-2])
    return attention_by_rows(Q, np.asarray(K)[..., :n, :], np.asarray(V)[..., :n, :], mask, causal, offset)


@mutant("by rows: an offset without causal=True is ignored without a word", ROWS, "A10")
def rows_offset_alone(Q, K, V, mask=None, causal=False, offset=0):
    return attention_by_rows(Q, K, V, mask, causal, offset if causal else 0)


@mutant("by rows: Q is scaled in place", ROWS, "E")
def rows_write_into_Q(Q, K, V, mask=None, causal=False, offset=0):
    Z = attention_by_rows(Q, K, V, mask, causal, offset)
    if isinstance(Q, np.ndarray) and Q.flags.writeable and Q.dtype.kind == "f":
        Q /= 2
    return Z


@mutant("by rows: computed in float16 where the inputs are", ROWS, "A3")
def rows_in_float16(Q, K, V, mask=None, causal=False, offset=0):
    Z = attention_by_rows(Q, K, V, mask, causal, offset)
    if Z.dtype != np.float16:
        return Z
    with np.errstate(over="ignore"):
        return Z if np.isfinite(dot_scores(Q, K)).all() else np.full_like(Z, np.nan)
