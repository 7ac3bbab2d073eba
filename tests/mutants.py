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


@mutant("the general score with W transposed", "general_scores", "C6")
def general_transposed(s, h, W):
    return general_scores(s, h, np.transpose(W)) if is_square(W) else general_scores(s, h, W)


@mutant("the general score without W", "general_scores")
def general_without_W(s, h, W):
    return dot_scores(s, h) if is_square(W) else general_scores(s, h, W)


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


@mutant("a finite bias is taken for visible", "to_boolean", "A15")
def boolean_accepts_bias(M):
    return np.asarray(M) > -np.inf


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
