"""The mathematics of the course, in the order of the derivation: NumPy only, pure functions, the names of the formulas.

Vectors are rows.  "…" stands for any leading axes (batch, heads); they broadcast.  Everywhere:

- float32 stays float32, float16 is computed in float32 and returned as float16, integers and lists become float64;
- inputs are never written to;
- what does not fit is refused before any arithmetic: `ValueError` for shapes and ranges, `TypeError` for dtypes;
- a boolean mask says True = may attend; a float mask is added to the scores (0 or −∞, or any finite bias).
"""

import math
import warnings

import numpy as np

ROWS_PER_BLOCK = 128  # queries that attention_by_rows treats at a time: large enough for fast products, small in memory

# ---------------------------------------------------------------------------------------------- scores and weights


def dot_scores(Q, K):
    """Scores S = Q Kᵀ: one dot product for each query and key.

    (…, n_q, d_k), (…, n_k, d_k) -> (…, n_q, n_k)

    Raises ValueError if d_k differs.  Source: Luong et al. 2015, §3.1 ("dot").

    >>> dot_scores([[2, 0]], [[2, 0], [0, 2], [1, 1]])  # chapter 1: a query, and the keys of three titles
    array([[4., 0., 2.]])
    """
    (Q, K), _, dtype = _check("Q … n_q d_k, K … n_k d_k", Q, K)
    return (Q @ K.mT).astype(dtype, copy=False)


def scaled_scores(Q, K):
    """Scaled scores S̃ = Q Kᵀ / √d_k, of variance 1 when all components of q and k are
    independent of each other, with mean 0 and variance 1.

    (…, n_q, d_k), (…, n_k, d_k) -> (…, n_q, n_k)

    Raises ValueError if d_k differs.  Source: Vaswani et al. 2017, eq. 1 and §3.2.1.

    >>> scaled_scores([[2, 0, 0, 0]], [[2, 0, 0, 0], [0, 2, 0, 0], [1, 1, 0, 0]])  # divided by √4
    array([[2., 0., 1.]])
    """
    (Q, K), _, dtype = _check("Q … n_q d_k, K … n_k d_k", Q, K)
    return (dot_scores(Q, K) / _root(K)).astype(dtype, copy=False)


def softmax(x, axis=-1):
    """Weights exp(x_j − μ) / Σ_j' exp(x_j' − μ) along `axis`, with μ = max_j x_j so that exp cannot overflow.

    (…, n) -> (…, n)

    −∞ gets weight 0, and a row of nothing but −∞ is 0 all over.  A row that holds NaN or +∞ has no softmax: it comes
    out as NaN, and the other rows are not touched.  Source: Vaswani et al. 2017, eq. 1; the shift by μ is the
    usual safeguard against overflow, exact because softmax(x + c) = softmax(x).

    >>> softmax(np.log([2, 1, 1]))
    array([0.5 , 0.25, 0.25])
    >>> softmax([1000, 1000, -np.inf])
    array([0.5, 0.5, 0. ])
    """
    (x,), _, dtype = _check("x … n", x)
    e, total = _shifted_exp(x, axis)
    return (e / total).astype(dtype, copy=False)


def scaled_dot_product_attention(Q, K, V, mask=None):
    """Z = A V with the weights A = softmax(Q Kᵀ / √d_k + M): each output row is a weighted mean of the value rows.

    (…, n_q, d_k), (…, n_k, d_k), (…, n_k, d_v) -> (…, n_q, d_v), (…, n_q, n_k)

    `mask` broadcasts to (…, n_q, n_k).  Boolean: True = may attend.  Float: M itself; finite values shift a score, only
    −∞ blocks.  A query that may attend to no key (or n_k = 0) has weights and output exactly 0.  A key that no query
    may attend to, and a query that may attend to no key, may hold NaN or infinities: they reach nothing.

    Raises ValueError if d_k, n_k, the leading axes or the mask do not fit, or if a float mask holds NaN or +∞;
    TypeError for any other mask dtype.  Warns (UserWarning) on a float mask that holds ones and otherwise only zeros: a
    boolean was meant.  (All zeros is a mask that blocks nothing.)
    Source: Vaswani et al. 2017, eq. 1; masks: ibid., §3.2.3.

    >>> Q, K, V = [[2, 0]], [[2, 0], [0, 2], [1, 1]], [[20, 2], [0, 12], [6, 8]]  # chapter 1
    >>> Z, A = scaled_dot_product_attention(Q, K, V)
    >>> A.round(4), Z.round(2)
    (array([[0.7679, 0.0454, 0.1867]]), array([[16.48,  3.57]]))
    """
    (Q, K, V), mask, dtype = _check("Q … n_q d_k, K … n_k d_k, V … n_k d_v", Q, K, V, mask=mask)
    Q, K, V = _clean(mask, (Q,), (K, V))
    S_scaled = _masked(scaled_scores(Q, K), mask)  # (…, n_q, n_k)
    A = softmax(S_scaled)
    Z = A @ V  # (…, n_q, d_v)
    if mask is not None:
        Z = np.where(
            A.any(axis=-1, keepdims=True), Z, 0
        )  # 0 × NaN: what other queries read must not reach an empty row
    return Z.astype(dtype, copy=False), A.astype(dtype, copy=False)


# ------------------------------------------------------------------------------------------------------- gradients


def softmax_jacobian(a):
    """J = diag(a) − aᵀa for a row of weights a = softmax(x): entry (j, j') is ∂a_j / ∂x_j' = a_j (δ_jj' − a_j').

    (…, n) -> (…, n, n)

    Source: the quotient rule.

    >>> softmax_jacobian([0.5, 0.5])
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    (a,), _, dtype = _check("a … n", a)
    J = a[..., :, None] * (np.eye(a.shape[-1], dtype=a.dtype) - a[..., None, :])  # (…, n, n)
    return J.astype(dtype, copy=False)


def softmax_backward(a, da):
    """D = da J without building J: a ⊙ (da − Σ_j a_j da_j).

    This turns the gradient with respect to the weights into that with respect to what the softmax was given: in
    attention, the scaled scores.

    (…, n), (…, n) -> (…, n)

    Raises ValueError if n differs.  Source: the product with diag(a) − aᵀa, multiplied
    out: the row sum comes from aᵀa, whose diagonal belongs to it.

    >>> softmax_backward([0.5, 0.5], [1, 0])
    array([ 0.25, -0.25])
    >>> softmax_backward([0.5, 0.5], [1, 1])  # a shift of all scores changes nothing
    array([0., 0.])
    """
    (a, da), _, dtype = _check("a … n, da … n", a, da)
    D = a * (da - (a * da).sum(axis=-1, keepdims=True))
    return D.astype(dtype, copy=False)


def scaled_dot_product_attention_backward(G, Q, K, V, A):
    """Gradients of a loss L with respect to Q, K and V, from G = ∂L/∂Z and the weights A of the forward pass.

    (…, n_q, d_v), (…, n_q, d_k), (…, n_k, d_k), (…, n_k, d_v), (…, n_q, n_k)
    -> dQ, dK, dV in the shapes of Q, K, V: the gradient of a broadcast operand is summed back

    The mask is not needed: where it blocks, A is 0 and so is D.  Positions whose weights are all 0 get gradient 0 and
    give none, even if they hold NaN or infinities.

    Raises ValueError if shapes do not fit, or G has not the shape of Z.  Source: the chain rule on Vaswani et al. 2017,
    eq. 1.

    >>> Q, K, V, A = [[2]], [[1], [1]], [[8], [0]], [[0.5, 0.5]]  # equal keys: half the weight each
    >>> dQ, dK, dV = scaled_dot_product_attention_backward([[1]], Q, K, V, A)
    >>> dQ, dK.T, dV.T
    (array([[0.]]), array([[ 4., -4.]]), array([[0.5, 0.5]]))
    """
    spec = "Q … n_q d_k, K … n_k d_k, V … n_k d_v, A … n_q n_k, G = n_q d_v"
    (Q, K, V, A, G), _, dtype = _check(spec, Q, K, V, A, G)
    shapes = Q.shape, K.shape, V.shape
    Q, G, K, V = _clean(A != 0, (Q, G), (K, V))
    dV = A.mT @ G  # (…, n_k, d_v)
    dA = G @ V.mT  # (…, n_q, n_k)
    D = softmax_backward(A, dA)
    dQ = D @ K / _root(K)  # (…, n_q, d_k)
    dK = D.mT @ Q / _root(K)  # (…, n_k, d_k)
    return tuple(_sum_to(g, s).astype(dtype, copy=False) for g, s in zip((dQ, dK, dV), shapes, strict=True))


# ----------------------------------------------------------------------------------------------------------- masks


def causal_mask(n_q, n_k=None, offset=0):
    """Boolean mask, True = may attend: query i sees the keys j ≤ i + offset, itself included.

    -> (n_q, n_k)

    `offset` counts the earlier keys in a cache: query i stands at position i + offset.  Without `n_k` there are
    n_q + offset keys.  Raises ValueError unless all are whole numbers from 0 up.  Source: Vaswani et al. 2017, §3.2.3.

    >>> causal_mask(3).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    """
    _check("", n_q=(n_q, 0, math.inf), offset=(offset, 0, math.inf))
    n_q, offset = int(n_q), int(offset)  # NumPy's small integers would overflow
    n_k = n_q + offset if n_k is None else n_k
    _check("", n_k=(n_k, 0, math.inf))
    return np.arange(n_k) <= np.arange(n_q)[:, None] + min(offset, int(n_k))


def padding_mask(lengths, n_k):
    """Boolean mask, True = may attend: in a batch padded to n_k keys, the first `lengths` keys of each are real.

    (…) -> (…, 1, n_k), ready to broadcast over the queries

    Raises ValueError unless the lengths are whole numbers from 0 to n_k.

    >>> padding_mask([3, 2], 3).astype(int).tolist()
    [[[1, 1, 1]], [[1, 1, 0]]]
    """
    _check("", n_k=(n_k, 0, math.inf))
    _check("", lengths=(lengths, 0, n_k))
    return np.arange(n_k) < np.asarray(lengths)[..., None, None]


def to_additive(keep, dtype=float):
    """The float mask M that says the same as a boolean mask: 0 where True (may attend), −∞ where False.

    Any shape -> the same shape.  Raises TypeError if `keep` is not boolean or `dtype` is not a float type.

    >>> to_additive([True, False])
    array([  0., -inf])
    """
    _, keep, _ = _check("", mask=_array("the mask", keep), mask_kinds="b")
    if np.dtype(dtype).kind != "f":
        raise TypeError(f"{np.dtype(dtype)} cannot hold -inf: give a float dtype")
    return np.where(keep, 0, -np.inf).astype(dtype, copy=False)


def to_boolean(M):
    """The boolean mask that says the same as a float mask: True (may attend) where M is 0, False where it is −∞.

    Any shape -> the same shape.  Raises TypeError if M is not float, and ValueError if it holds a finite bias, NaN or
    +∞: no boolean says the same.

    >>> to_boolean([0.0, -np.inf])
    array([ True, False])
    """
    _, M, _ = _check("", mask=_array("the mask", M), mask_kinds="f")
    if (np.isfinite(M) & (M != 0)).any():
        raise ValueError("M holds a finite bias that is not 0, which a boolean mask cannot say: use M as it is")
    return M == 0


# ------------------------------------------------------------------------------------------------------- many heads


def split_heads(X, n_head):
    """Cut the columns into n_head equal parts, one for each head.

    (…, n, n_head·d) -> (…, n_head, n, d)

    Raises ValueError if n_head does not divide the columns.  Source: Vaswani et al. 2017, §3.2.2.

    >>> split_heads([[1, 2, 3, 4], [5, 6, 7, 8]], 2).tolist()
    [[[1.0, 2.0], [5.0, 6.0]], [[3.0, 4.0], [7.0, 8.0]]]
    """
    (X,), _, dtype = _check("X … n n_head·d", X, n_head=(n_head, 1, math.inf))
    *lead, n, columns = X.shape
    X = X.reshape(*lead, n, n_head, columns // n_head)  # (…, n, n_head, d): a bare reshape would mix positions
    return X.swapaxes(-3, -2).astype(dtype, copy=False)


def merge_heads(X):
    """Put the heads side by side again, the inverse of split_heads.

    (…, n_head, n, d) -> (…, n, n_head·d)

    Raises ValueError with fewer than three axes.  Source: Vaswani et al. 2017, §3.2.2 ("Concat").

    >>> merge_heads([[[1, 2], [5, 6]], [[3, 4], [7, 8]]])
    array([[1., 2., 3., 4.],
           [5., 6., 7., 8.]])
    """
    (X,), _, dtype = _check("X … n_head n d", X)
    *lead, n_head, n, d = X.shape
    return X.swapaxes(-3, -2).reshape(*lead, n, n_head * d).astype(dtype, copy=False)


_MULTI_HEAD = (  # the axes of X_q, X_s, W_Q, W_K, W_V, W_O; the widths of X_q and X_s may differ in cross-attention
    "X_q … n_q d_model, X_s … n_k d_source, W_Q | d_model n_head·d_k, W_K | d_source n_head·d_k, "
    "W_V | d_source n_head·d_v, W_O | n_head·d_v d_out"
)


def multi_head_attention(X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None):
    """Y = [Z_0 … Z_(n_head−1)] W_O: each head attends on its part of the projections.  Self-attention has X_s = X_q.

    (…, n_q, d_model), (…, n_k, d_model), (d_model, n_head·d_k) twice, (d_model, n_head·d_v), (n_head·d_v, d_model)
    -> (…, n_q, d_model), (…, n_head, n_q, n_k)

    One `mask` serves all heads and broadcasts to (…, n_q, n_k): the head axis is put in here.  A mask with two axes is
    always (n_q, n_k); for a mask of the keys alone use padding_mask.  Unreachable positions as in
    scaled_dot_product_attention.

    Raises ValueError if shapes do not fit, n_head does not divide a projection's columns, or the mask has a head axis;
    TypeError as above.  Source: Vaswani et al. 2017, §3.2.2.

    >>> I = np.eye(2)  # each head has a column of its own
    >>> Y, A = multi_head_attention([[np.log(3), 0]], I, I, I, I, I, n_head=2)
    >>> Y.round(2), A.round(2).tolist()
    (array([[0.75, 0.5 ]]), [[[0.75, 0.25]], [[0.5, 0.5]]])
    """
    operands = X_q, X_s, W_Q, W_K, W_V, W_O
    (X_q, X_s, *W, W_O), mask, dtype = _check(_MULTI_HEAD, *operands, mask=mask, n_head=(n_head, 1, math.inf))
    X_q, X_s = _clean(mask, (X_q,), (X_s,))
    Z, A = scaled_dot_product_attention(*_project(X_q, X_s, *W, n_head), _for_heads(mask))
    Y = merge_heads(Z) @ W_O  # (…, n_head, n_q, d_v) -> (…, n_q, n_head·d_v) -> (…, n_q, d_model)
    return Y.astype(dtype, copy=False), A.astype(dtype, copy=False)


def multi_head_attention_backward(G, X_q, X_s, W_Q, W_K, W_V, W_O, n_head, mask=None):
    """Gradients of a loss L with respect to the inputs and parameters of multi_head_attention, from G = ∂L/∂Y.

    (…, n_q, d_model) and the arguments of multi_head_attention
    -> dX_q, dX_s, dW_Q, dW_K, dW_V, dW_O in the shapes of their operands: parameters are summed over the batch

    In self-attention the input fills both places, and its gradient is dX_q + dX_s.

    Raises as multi_head_attention, and ValueError if G has not the shape of Y.  Source: the chain rule on
    multi_head_attention.

    >>> I = np.eye(2)
    >>> dX_q, dX_s, *dW = multi_head_attention_backward([[1, 1]], [[0, 0]], I, I, I, I, I, n_head=2)
    >>> dX_q, dX_s.tolist()
    (array([[0.25, 0.25]]), [[0.5, 0.5], [0.5, 0.5]])
    """
    operands = X_q, X_s, W_Q, W_K, W_V, W_O, G
    spec = _MULTI_HEAD + ", G = n_q d_out"
    operands, mask, dtype = _check(spec, *operands, mask=mask, n_head=(n_head, 1, math.inf))
    shapes = [X.shape for X in operands[:-1]]
    X_q, X_s, W_Q, W_K, W_V, W_O, G = operands
    X_q, X_s, G = _clean(mask, (X_q,), (X_s,)) + _clean(mask, (G,), ())
    Q, K, V = _project(X_q, X_s, W_Q, W_K, W_V, n_head)
    Z, A = scaled_dot_product_attention(Q, K, V, _for_heads(mask))
    dZ = split_heads(G @ W_O.T, n_head)  # (…, n_q, n_head·d_v) -> (…, n_head, n_q, d_v)
    dQ, dK, dV = (merge_heads(g) for g in scaled_dot_product_attention_backward(dZ, Q, K, V, A))
    gradients = (
        dQ @ W_Q.T,
        dK @ W_K.T + dV @ W_V.T,  # the source feeds the keys and the values
        X_q.mT @ dQ,
        X_s.mT @ dK,
        X_s.mT @ dV,
        merge_heads(Z).mT @ G,
    )
    return tuple(_sum_to(g, s).astype(dtype, copy=False) for g, s in zip(gradients, shapes, strict=True))


def _project(X_q, X_s, W_Q, W_K, W_V, n_head):
    """Q, K and V of all heads.   -> (…, n_head, n_q, d_k), (…, n_head, n_k, d_k), (…, n_head, n_k, d_v)"""
    return split_heads(X_q @ W_Q, n_head), split_heads(X_s @ W_K, n_head), split_heads(X_s @ W_V, n_head)


def _for_heads(mask):
    """The mask with an axis for the heads.   (…, n_q, n_k) -> (…, 1, n_q, n_k); two axes or fewer broadcast as is"""
    return mask if mask is None or mask.ndim < 3 else mask[..., None, :, :]


# ------------------------------------------------------------------------------------------------- history and cost


def general_scores(s, h, W):
    """Scores s W hᵀ of decoder states s and encoder states h; the dot score is W = I.

    (…, n_q, d_s), (…, n_k, d_h), (d_s, d_h) -> (…, n_q, n_k)

    Raises ValueError if a width differs.  Source: Luong et al. 2015, §3.1 ("general").

    >>> general_scores([[1, 2]], [[3], [4]], [[10], [1]])  # 1 · 10 + 2 · 1 = 12, times 3 and 4
    array([[36., 48.]])
    """
    (s, h, W), _, dtype = _check("s … n_q d_s, h … n_k d_h, W | d_s d_h", s, h, W)
    return (s @ W @ h.mT).astype(dtype, copy=False)


def additive_scores(s, h, W_1, W_2, v):
    """Scores tanh(s W_1 + h W_2) vᵀ: a network with one hidden layer of width d_a for each pair.

    (…, n_q, d_s), (…, n_k, d_h), (d_s, d_a), (d_h, d_a), (d_a,) -> (…, n_q, n_k)

    Raises ValueError if a width differs.  Source: Bahdanau et al. 2015, app. A.1.2, with s the previous decoder state.

    >>> additive_scores([[1]], [[-1], [99]], [[1]], [[1]], [2])  # tanh 0 = 0; no score goes past the sum of |v|
    array([[0., 2.]])
    """
    spec = "s … n_q d_s, h … n_k d_h, W_1 | d_s d_a, W_2 | d_h d_a, v | d_a"
    (s, h, W_1, W_2, v), _, dtype = _check(spec, s, h, W_1, W_2, v)
    hidden = np.tanh((s @ W_1)[..., :, None, :] + (h @ W_2)[..., None, :, :])  # (…, n_q, n_k, d_a)
    return (hidden @ v).astype(dtype, copy=False)


def attention_by_rows(Q, K, V, mask=None, causal=False, offset=0):
    """The output of scaled_dot_product_attention without ever holding all weights: a block of query rows at a time.

    (…, n_q, d_k), (…, n_k, d_k), (…, n_k, d_v) -> (…, n_q, d_v); extra memory O(ROWS_PER_BLOCK · n_k)

    `causal=True` means causal_mask(n_q, n_k, offset), on top of `mask` if there is one, and a block then computes only
    the keys it can see.  Unreachable positions as in scaled_dot_product_attention.

    Raises as scaled_dot_product_attention, and ValueError for an offset without causal=True.  Source: the rows of A are
    independent of each other, so no online softmax is needed; Rabe & Staats 2021 chunk the queries, and the keys too.

    >>> attention_by_rows([[0], [0]], [[1], [2]], [[4], [8]], causal=True)  # the first query sees one key
    array([[4.],
           [6.]])
    """
    spec = "Q … n_q d_k, K … n_k d_k, V … n_k d_v"
    whole = {"offset": (offset, 0, math.inf)} if causal else {"offset without causal=True": (offset, 0, 0)}
    (Q, K, V), mask, dtype = _check(spec, Q, K, V, mask=mask, **whole)
    offset = min(int(offset), K.shape[-2])  # beyond that every key is seen; NumPy's small integers would overflow
    lead, n_q, n_k = np.broadcast_shapes(Q.shape[:-2], K.shape[:-2], V.shape[:-2]), Q.shape[-2], K.shape[-2]
    largest = max(V.max(initial=0), -V.min(initial=0))  # n_k of these, summed before they are divided, may overflow:
    part = 1.0 if largest <= np.finfo(V.dtype).max / max(n_k, 1) else 2.0 ** -n_k.bit_length()  # exact, below 1 / n_k
    Q, K, V = (np.broadcast_to(X, lead + X.shape[-2:]) for X in (Q, K, V))  # views, not copies
    mask = None if mask is None else np.broadcast_to(mask, (*lead, n_q, n_k))
    Z = np.empty((*lead, n_q, V.shape[-1]), Q.dtype)
    if causal and mask is None:  # what the queries of a block hide from each other: made once, for making it is dear
        rows = min(ROWS_PER_BLOCK, n_q)
        future = ~causal_mask(rows, rows)
    for b in np.ndindex(*lead):
        V_b = V[b] if part == 1 else V[b] * part
        K_T = np.ascontiguousarray(K[b].T)  # (d_k, n_k), once: every block's product reads it row by row
        for i in range(0, n_q, ROWS_PER_BLOCK):
            j = min(i + ROWS_PER_BLOCK, n_q)
            seen = min(j + offset, n_k) if causal else n_k
            M = None if mask is None else mask[b][i:j, :seen]
            if causal and mask is not None:
                M = np.where(causal_mask(j - i, seen, i + offset), M, False if M.dtype == bool else -np.inf)
            q, k_T, v = Q[b][i:j], K_T[:, :seen], V_b[:seen]
            if M is not None:
                q, k, v = _clean(M, (q,), (k_T.T, v))
                k_T = k.T
            S = _masked(q / _root(K) @ k_T, M)  # (j - i, seen)
            if causal and mask is None:  # only the corner behind the block's first query can be hidden
                corner = S[:, i + offset :]
                np.copyto(corner, -np.inf, where=future[: j - i, : corner.shape[1]])
            e, total = _shifted_exp(S, out=S)
            np.divide(e @ v, total * part, out=Z[b][i:j])
            if M is not None:
                Z[b][i:j][~e.any(axis=-1)] = 0
    return Z.astype(dtype, copy=False)


# ------------------------------------------------------------------------------------------------- the small print


def _root(K):
    """√d_k as a Python float, which leaves float32 arrays float32 (np.sqrt would not).  With d_k = 0 every S is 0."""
    return math.sqrt(K.shape[-1] or 1)


def _masked(S, mask):
    """S + M, (…, n_q, n_k) twice: −∞ where the mask blocks, whatever S holds there (NaN + −∞ would be NaN)."""
    if mask is None:
        return S
    if mask.dtype == bool:
        return np.where(mask, S, -np.inf)
    largest = np.finfo(S.dtype).max
    with np.errstate(over="ignore"):  # what is finite in the mask stays so in a narrower dtype
        S = S + np.clip(mask.astype(S.dtype, copy=False), -largest, largest)
    np.copyto(S, -np.inf, where=np.isneginf(mask))
    return S


def _shifted_exp(x, axis=-1, out=None):
    """exp(x − max x) along `axis`, and its sum; where all is −∞, or nothing is there, 0 and the sum 1."""
    mu = x.max(axis=axis, keepdims=True, initial=-np.inf)
    with np.errstate(over="ignore", under="ignore"):  # x − μ below the smallest float: exp gives 0, as it should
        e = np.subtract(x, np.where(np.isneginf(mu), 0, mu), out=out)
        np.exp(e, out=e)
    total = e.sum(axis=axis, keepdims=True)
    return e, np.where(total == 0, 1, total)


def _sum_to(g, shape):
    """A gradient summed over the axes along which an operand of `shape` was broadcast."""
    if g.shape == shape:
        return g
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    return g.sum(axis=tuple(i for i, n in enumerate(shape) if n < g.shape[i]), keepdims=True)


def _clean(mask, queries, keys):
    """The arrays with 0 in place of queries that may attend to no key, and of keys that no query may attend to.

    A weight of 0 is not enough: 0 × NaN and 0 × ∞ are NaN, in the output as in the gradients.  A position that some
    query may attend to is left as it is.
    """
    if mask is None:
        return [*queries, *keys]
    mask, cleaned = np.atleast_2d(mask), []
    for axis, arrays in (-1, queries), (-2, keys):
        reached = mask.any(axis) if mask.dtype == bool else mask.max(axis, initial=-np.inf) > -np.inf
        cleaned += [X if reached.all() else np.where(reached[..., None], X, 0) for X in arrays]
    return cleaned


def _check(spec, *operands, mask=None, mask_kinds="bf", **whole):
    """Refuse what does not fit.   -> (operands as float32 or float64 arrays, mask as an array, dtype of the result)

    `spec` names the axes of each operand, "Q … n_q d_k, W | d_s d_h, G = n_q d_v".  An axis has one length wherever its
    name stands.  In front of them, … allows axes that broadcast, | none, and = wants all that the operands before have.
    `whole` names whole numbers: name=(numbers, lowest, highest).
    """
    for name, (numbers, low, high) in whole.items():
        n, several = _array(name, numbers), name == "lengths"
        if n.dtype.kind not in "iu" or (n.ndim and not several) or (n < low).any() or (n > high).any():
            wanted = f"whole numbers from {low} to n_k = {high}" if several else f"a whole number from {low} up"
            raise ValueError(f"{name} must be {wanted if low < high else low}, not {numbers!r}")
    n_head = whole["n_head"][0] if "n_head" in whole else None

    arrays, lengths, lead, before = [], {}, (), []
    for item, x in zip(filter(None, spec.split(", ")), operands, strict=True):
        name, front, *axes = item.split()
        x = _array(name, x)
        if x.dtype.kind not in "fiu":
            raise TypeError(f"{name} holds {x.dtype}, not real numbers; convert it, for example with .astype(float)")
        label, n_front = f"{name} {x.shape}", x.ndim - len(axes)
        if n_front < 0 or (n_front and front == "|"):
            raise ValueError(f"{label} must have the axes ({', '.join(axes if front == '|' else ['…', *axes])})")
        for axis, n in zip(axes, x.shape[n_front:], strict=True):
            first, n_first = lengths.setdefault(axis, (label, n))
            if n != n_first:
                raise ValueError(f"{first} and {label} must agree in {axis}, but {n_first} is not {n}")
            if axis.startswith("n_head·") and n % n_head:
                raise ValueError(f"n_head = {n_head} must divide {axis} = {n} of {label}: the heads get equal parts")
        joint = _joint_shape(lead, x.shape[:n_front])
        if joint is None or (front == "=" and x.shape[:n_front] != lead):
            wanted = f"be {lead} as" if front == "=" else "broadcast with those"
            raise ValueError(f"the axes in front of {label} must {wanted} in front of {', '.join(before)}")
        arrays, before, lead = [*arrays, x], [*before, label], joint

    if mask is not None:
        mask = _array("the mask", mask)
        if mask.dtype.kind not in mask_kinds:
            raise TypeError(
                f"the mask holds {mask.dtype}; a mask is boolean, True = may attend (mask.astype(bool) if 1 means so),"
                " or float, 0 and -inf to be added to the scores; to_additive and to_boolean turn one into the other"
            )
        scores = (*lead, lengths["n_q"][1], lengths["n_k"][1]) if operands else mask.shape
        if _joint_shape(mask.shape, scores) != scores:
            note = "" if n_head is None else "; it serves all heads and has no axis for them"
            raise ValueError(
                f"mask {mask.shape} does not broadcast to the scores (…, n_q, n_k) = {scores}{note}; for a mask of the"
                " keys alone padding_mask makes (…, 1, n_k)"
            )
        if mask.dtype.kind == "f" and mask.size:
            if not mask.max() < math.inf:  # NaN is not below either
                raise ValueError("the float mask holds NaN or +inf; let to_additive make it from a boolean one")
            if operands and n_head is None and mask.max() == 1 and mask.min() >= 0 and np.isin(mask, (0, 1)).all():
                note = "was a boolean meant (mask.astype(bool), True = may attend)?"
                warnings.warn(
                    f"a float mask of 0 and 1 is added to the scores and blocks nothing; {note}", stacklevel=3
                )

    dtype = np.result_type(*(x.dtype if x.dtype.kind == "f" else float for x in arrays)) if arrays else None
    return [x.astype(np.float32 if dtype == np.float16 else dtype, copy=False) for x in arrays], mask, dtype


def _array(name, x):
    try:
        return np.asarray(x)
    except ValueError:
        raise ValueError(f"{name} is not an array: its rows differ in length; pad them to the longest") from None


def _joint_shape(*shapes):
    """The shape that all broadcast to, or None if there is none."""
    several = {*shapes} - {()}
    if len(several) < 2:  # as almost always, and a training asks thousands of times: NumPy takes six times as long
        return several.pop() if several else ()
    try:
        return np.broadcast_shapes(*several)
    except ValueError:
        return None


if __name__ == "__main__":
    import attention_trace

    raise SystemExit(attention_trace.main())
