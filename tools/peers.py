"""PyTorch and the course's attention on the same cases: outputs, weights and gradients, and where conventions differ.

`python3 make.py peers` runs this: PyTorch answers anew, and its answers are compared with those in tests/peers.npz and
with ours.  tests/test_peers.py compares ours with the file alone, without PyTorch.  With --write the file is replaced:

    .venv/bin/python tools/peers.py --write

A case is a few sizes and a seed; nothing of its input is stored.  What the two sides say differently is turned here:

- a boolean mask says True = may attend to us and to scaled_dot_product_attention, True = blocked to MultiheadAttention;
- our projections are X W; PyTorch stores Wᵀ, and those of Q, K and V below each other in one matrix;
- our functions have no biases: X gets a column of ones and W its bias as one more row, which is the same product; the
  bias of the output is added outside.  A new module has biases of 0, which no comparison would notice: ours are random.
"""

import functools
import inspect
import json
import sys
import warnings
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

import attention_mechanism as am

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "tests" / "peers.npz"
DTYPES = "float64", "float32"
TOLERANCES = {  # of outputs and weights, of gradients: relative to the largest number of an array, if that is above 1
    "float64": (1e-12, 1e-12),
    "float32": (2e-6, 1e-5),
}


def numbers(name, dtype):
    """A function of shapes that draws numbers between -2 and 2, the same for a name on every machine and in each dtype.

    RandomState's stream is frozen, that of default_rng is not; and uniform numbers need no function of the system's.
    """
    random = np.random.RandomState(zlib.crc32(name.encode()))
    return lambda *shape: (4 * random.random_sample(shape) - 2).astype(dtype)


# ----------------------------------------------------------------------------------------------------------- masks


class Mask(NamedTuple):
    """Who may attend to whom, in parts, which each function takes in its own way; a key must pass all of them."""

    pairs: np.ndarray | None = None  # boolean, True = may attend, or float; (…, n_q, n_k)
    lengths: np.ndarray | None = None  # real keys of each sequence in the batch
    causal: bool = False

    def joined(self, n_q, n_k):
        """One mask of all parts, as our functions take it."""
        parts = [] if self.pairs is None else [self.pairs]
        parts += [] if self.lengths is None else [am.padding_mask(self.lengths, n_k)]
        parts += [am.causal_mask(n_q, n_k)] if self.causal else []
        return functools.reduce(np.logical_and, parts) if len(parts) > 1 else parts[0] if parts else None


def boolean(draw, *shape):
    keep = draw(*shape) > -0.4
    keep[..., 0] = True
    return keep


def with_empty_row(keep):
    keep[..., 1, :] = False
    return keep


def only_where(keep, bias):
    return np.where(keep, bias, -np.inf)  # of the bias's dtype


def lengths(batch, n_k):
    """Lengths from n_k down to 1, one for each of the batch."""
    return n_k - np.arange(int(np.prod(batch))).reshape(batch) % n_k


MASKS = {  # each a function of draw, batch, n_q, n_k
    "no mask": lambda draw, batch, n_q, n_k: Mask(),
    "boolean": lambda draw, batch, n_q, n_k: Mask(boolean(draw, n_q, n_k)),
    "boolean for each of the batch": lambda draw, batch, n_q, n_k: Mask(boolean(draw, *batch, n_q, n_k)),
    "float, 0 and −∞": lambda draw, batch, n_q, n_k: Mask(only_where(boolean(draw, n_q, n_k), 0 * draw(1))),
    "float, finite": lambda draw, batch, n_q, n_k: Mask(draw(n_q, n_k)),
    "float, finite and −∞": lambda draw, batch, n_q, n_k: Mask(only_where(boolean(draw, n_q, n_k), draw(n_q, n_k))),
    "causal": lambda draw, batch, n_q, n_k: Mask(causal=True),
    "padding": lambda draw, batch, n_q, n_k: Mask(lengths=lengths(batch, n_k)),
    "causal and padding": lambda draw, batch, n_q, n_k: Mask(lengths=lengths(batch, n_k), causal=True),
    "boolean and padding": lambda draw, batch, n_q, n_k: Mask(boolean(draw, n_q, n_k), lengths(batch, n_k)),
    "a row fully masked": lambda draw, batch, n_q, n_k: Mask(with_empty_row(boolean(draw, n_q, n_k))),
    "a row fully masked, by −∞": lambda draw, batch, n_q, n_k: Mask(
        only_where(with_empty_row(boolean(draw, n_q, n_k)), 0 * draw(1))
    ),
    "all masked": lambda draw, batch, n_q, n_k: Mask(np.zeros((n_q, n_k), dtype=bool)),
}


# ----------------------------------------------------------------------------------------------------------- cases


class Attention(NamedTuple):
    """A case for scaled_dot_product_attention, attention_by_rows and the backward pass.

    Q is (*batch, *heads, n_q, d_k); `shared` heads of K and V serve all of Q's.
    """

    about: str
    mask: str = "no mask"
    batch: tuple = (2,)
    heads: tuple = (3,)
    n_q: int = 3
    n_k: int = 4
    d_k: int = 3
    d_v: int = 2
    shared: bool = False
    change: object = lambda Q, K: None  # writes special numbers into Q and K

    @property
    def name(self):
        return f"attention, {self.about}, {self.mask}"

    def operands(self, dtype):
        draw = numbers(self.name, dtype)
        kv = tuple(1 for _ in self.heads) if self.shared else self.heads
        Q, G = (draw(*self.batch, *self.heads, self.n_q, d) for d in (self.d_k, self.d_v))
        K, V = (draw(*self.batch, *kv, self.n_k, d) for d in (self.d_k, self.d_v))
        self.change(Q, K)
        mask = MASKS[self.mask](draw, self.batch, self.n_q, self.n_k)
        joined = mask.joined(self.n_q, self.n_k)
        if self.heads and joined is not None and joined.ndim > 2:
            joined = joined[..., None, :, :]
        return Q, K, V, G, joined, mask.causal and mask.lengths is None

    def ours(self, dtype):
        """Pairs of a name and our answer; the output twice, since two functions compute it."""
        Q, K, V, G, mask, causal = self.operands(dtype)
        Z, A = am.scaled_dot_product_attention(Q, K, V, mask)
        dQ, dK, dV = am.scaled_dot_product_attention_backward(G, Q, K, V, A)
        by_rows = am.attention_by_rows(Q, K, V, None if causal else mask, causal)
        return [("Z", Z), ("Z", by_rows), ("dQ", dQ), ("dK", dK), ("dV", dV)]

    def theirs(self, torch, dtype):
        """PyTorch's answers by name."""
        *arrays, G, mask, causal = self.operands(dtype)
        Q, K, V = (torch.tensor(x, requires_grad=True) for x in arrays)
        mask = None if mask is None or causal else torch.tensor(mask)
        Z = torch.nn.functional.scaled_dot_product_attention(Q, K, V, attn_mask=mask, is_causal=causal)
        Z.backward(torch.tensor(G))
        return {"Z": Z, "dQ": Q.grad, "dK": K.grad, "dV": V.grad}


class Heads(NamedTuple):
    """A case for multi_head_attention and its backward pass.  Self-attention without `n_k`."""

    about: str
    mask: str = "no mask"
    batch: tuple = (2,)
    n_q: int = 3
    n_k: int | None = 4
    d_model: int = 4
    d_source: int = 4
    n_head: int = 2
    batch_first: bool = True
    need_weights: bool = True
    equal_keys: bool = False

    @property
    def name(self):
        return f"heads, {self.about}, {self.mask}"

    def operands(self, dtype):
        draw, d = numbers(self.name, dtype), self.d_model
        n_k = self.n_q if self.n_k is None else self.n_k
        X_q, G = draw(*self.batch, self.n_q, d), draw(*self.batch, self.n_q, d)
        X_s = X_q if self.n_k is None else draw(*self.batch, n_k, self.d_source)
        if self.equal_keys:
            X_s[...] = X_s[..., :1, :]
        W = [draw(d, d), *(draw(X_s.shape[-1], d) for _ in "KV"), draw(d, d)]
        b = [draw(d) for _ in W]
        return X_q, X_s, W, b, G, MASKS[self.mask](draw, self.batch, self.n_q, n_k)

    def ours(self, dtype):
        """Pairs of a name and our answer."""
        X_q, X_s, (*W, W_O), (*b, b_O), G, mask = self.operands(dtype)
        operands = with_ones(X_q), with_ones(X_s), *map(with_bias, W, b), W_O, self.n_head
        mask = mask.joined(self.n_q, X_s.shape[-2])
        Y, A = am.multi_head_attention(*operands, mask)
        dX_q, dX_s, *dW, dW_O = am.multi_head_attention_backward(G, *operands, mask)
        dX_q, dX_s = dX_q[..., :-1], dX_s[..., :-1]
        weights = [("A", A)] if self.need_weights else []
        inputs = [("dX", dX_q + dX_s)] if X_q is X_s else [("dX_q", dX_q), ("dX_s", dX_s)]
        return [("Y", Y + b_O), *weights, *inputs, *zip(("dW_Q", "dW_K", "dW_V"), dW, strict=True), ("dW_O", dW_O)]

    def theirs(self, torch, dtype):
        """PyTorch's answers by name, the bias of each projection as the last row of its gradient."""
        X_q, X_s, W, b, G, mask = self.operands(dtype)
        module = torch_module(torch, self.n_head, W, b, batch_first=self.batch_first)
        q = torch.tensor(X_q, requires_grad=True)
        s = q if X_q is X_s else torch.tensor(X_s, requires_grad=True)
        turn = (lambda x: x) if self.batch_first or not self.batch else (lambda x: x.transpose(0, 1))
        options = {"need_weights": self.need_weights, "average_attn_weights": False}
        options |= torch_masks(torch, mask, self.n_q, X_s.shape[-2], self.n_head)
        Y, A = module(turn(q), turn(s), turn(s), **options)
        turn(Y).backward(torch.tensor(G))
        weights = {"A": A} if self.need_weights else {}
        inputs = {"dX": q.grad} if q is s else {"dX_q": q.grad, "dX_s": s.grad}
        if module.in_proj_weight is None:
            stored = [w.grad for w in (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)]
        else:
            stored = module.in_proj_weight.grad.chunk(3)
        rows = zip(("dW_Q", "dW_K", "dW_V"), stored, module.in_proj_bias.grad.chunk(3), strict=True)
        dW = {name: torch.cat([w.T, db[None]]) for name, w, db in rows}
        return {"Y": turn(Y), **weights, **inputs, **dW, "dW_O": module.out_proj.weight.grad.T}


def with_ones(X):
    return np.concatenate([X, np.ones_like(X[..., :1])], axis=-1)


def with_bias(W, b):
    return np.concatenate([W, b[None]])


def torch_module(torch, n_head, W, b, **options):
    """MultiheadAttention with our W_Q, W_K, W_V, W_O and their biases."""
    d_model, d_source = len(W[0]), len(W[1])
    options |= {"kdim": d_source, "vdim": d_source, "dtype": getattr(torch, W[0].dtype.name)}
    module = torch.nn.MultiheadAttention(d_model, n_head, **options)
    *stored, stored_O = (torch.tensor(w.T) for w in W)
    with torch.no_grad():
        if module.in_proj_weight is None:  # d_source is not d_model
            for parameter, w in zip(
                (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight), stored, strict=True
            ):
                parameter.copy_(w)
        else:
            module.in_proj_weight.copy_(torch.cat(stored))
        module.in_proj_bias.copy_(torch.tensor(np.concatenate(b[:-1])))
        module.out_proj.weight.copy_(stored_O)
        module.out_proj.bias.copy_(torch.tensor(b[-1]))
    return module


def torch_masks(torch, mask, n_q, n_k, n_head):
    """The mask's parts as MultiheadAttention takes them: True = blocked, and a batch of masks once for each head."""
    options = {}
    if mask.causal:
        options["attn_mask"] = torch.ones(n_q, n_k, dtype=bool).triu(1)
    if mask.pairs is not None:
        pairs = torch.tensor(~mask.pairs if mask.pairs.dtype == bool else mask.pairs)
        options["attn_mask"] = pairs.repeat_interleave(n_head, dim=0) if pairs.ndim > 2 else pairs
    if mask.lengths is not None:
        options["key_padding_mask"] = torch.arange(n_k) >= torch.tensor(mask.lengths)[..., None]
    return options


def equal_keys(Q, K):
    K[...] = K[..., :1, :]


def large_scores(Q, K):
    """Scaled scores of 10,000 and a little, exact in float32: (40000 + 4 j k) / √16."""
    Q[...], K[...] = 0, 0
    Q[..., 0], K[..., 0] = 40000, 1
    Q[..., 1] = 4 * np.arange(Q.shape[-2])
    K[..., 1] = np.arange(K.shape[-2]) / 4


CASES = {
    "attention: masks": [Attention("2 × 3 heads", mask) for mask in MASKS],
    "attention: shapes": [
        Attention("one matrix", "boolean", batch=(), heads=()),
        Attention("batch alone", "boolean for each of the batch", heads=()),
        Attention("square", n_k=3),
        Attention("square", "causal", n_k=3),
        Attention("wide values", "boolean", d_k=2, d_v=5),
        Attention("one head of keys for three", "boolean", shared=True),
        Attention("more queries than keys", "causal", n_q=5, n_k=2),
    ],
    "attention: edges": [
        Attention("one key", n_k=1),
        Attention("one query", "padding", n_q=1),
        Attention("no keys", n_k=0),
        Attention("no queries", n_q=0),
        Attention("empty batch", batch=(0,)),
        Attention("equal scores", change=equal_keys),
        Attention("scores of 10,000", d_k=16, change=large_scores),
    ],
    "heads: masks": [
        *(Heads("cross", mask, need_weights="masked" not in mask) for mask in MASKS),
        *(Heads("self", mask, n_k=None) for mask in ("no mask", "causal", "padding", "causal and padding")),
    ],
    "heads: shapes": [
        Heads("no batch", "boolean and padding", batch=()),
        Heads("one head", "boolean", n_head=1),
        Heads("three heads, sequence first", "causal", n_k=None, d_model=6, n_head=3, batch_first=False),
        Heads("sequence first", "boolean for each of the batch", batch_first=False),
        Heads("a wider source", "boolean and padding", d_source=5),
    ],
    "heads: edges": [
        Heads("one key", n_k=1),
        Heads("no keys", n_k=0),
        Heads("equal keys", equal_keys=True),
    ],
}
ALL_CASES = [case for cases in CASES.values() for case in cases]


def difference(ours, theirs):
    """The largest, relative to the largest number of theirs if that is above 1; infinite if form or dtype differ."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return np.inf
    largest = np.abs(ours - theirs).max(initial=0) / max(1, np.abs(theirs).max(initial=0))
    return np.inf if np.isnan(largest) else largest


def differences(ours, theirs):
    """The largest of the outputs and weights, and that of the gradients; `ours` may have several answers to a name."""
    assert {name for name, _ in ours} == set(theirs)
    kinds = [("d" if name.startswith("d") else "", difference(x, theirs[name])) for name, x in ours]
    return tuple(max(x for kind, x in kinds if kind == wanted) for wanted in ("", "d"))


def too_far(found, dtype):
    return any(x > allowed for x, allowed in zip(found, TOLERANCES[dtype], strict=True))


# ----------------------------------------------------------------------------------------------------- conventions
# A table of chapter 6 says where these differ.  Each function below finds out by trial what the words and the code in
# one column of it must be, cell by cell; what is refused is found by asking for it.

SIZES = {  # no two are equal, so that a size tells its name
    "batch": 2, "n_head": 3, "n_q": 4, "n_k": 5, "batch·n_head": 6, "d_k": 9,
    "d_model": 21, "n_head·d_k": 27, "3·d_model": 63,
}  # fmt: skip
DTYPES_OF_MASKS = "bool", "float32", "float64", "int64"  # with operands of float32
SHAPES_OF_MASKS = "n_q n_k", "batch n_q n_k", "batch 1 n_q n_k", "batch·n_head n_q n_k"


def shape(names):
    return tuple(SIZES.get(name, 1) for name in names.split())


def code(lengths):
    """A shape as the table writes it."""
    names = {size: name for name, size in SIZES.items()}
    return f"`({', '.join(names.get(n, '1') for n in lengths)})`"


def taken(choices, attempt):
    """Those of the choices that a function does not refuse."""
    found = []
    for choice in choices:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is merely deprecated is taken
            try:
                attempt(choice)
            except (TypeError, ValueError, IndexError, RuntimeError, AssertionError):
                continue
        found.append(choice)
    return found


def true_means(A):
    """What True says, from the weights under a mask that is True for key 1 alone."""
    return "blocked" if (A[..., 1] == 0).all() else "may attend"


def value(x):
    return "nan" if (x != x).any() else "0" if (x == 0).all() else "other"


def our_conventions():
    """multi_head_attention, and causal_mask."""
    draw, n_head = numbers("conventions", "float32"), SIZES["n_head"]
    X_q, X_s = draw(*shape("batch n_q d_model")), draw(*shape("batch n_k d_model"))
    W = [*(draw(*shape("d_model n_head·d_k")) for _ in "QKV"), draw(*shape("n_head·d_k d_model"))]
    nothing = np.zeros(shape("n_q n_k"), dtype=bool)

    def heads(mask=None):
        return am.multi_head_attention(X_q, X_s, *W, n_head, mask)

    A = heads()[1]
    parameters = inspect.signature(am.multi_head_attention).parameters
    later = [str(am.causal_mask(2, 4, offset)[0].sum()) for offset in (0, 1)]
    return {
        "True": [true_means(heads(nothing | (np.arange(SIZES["n_k"]) == 1))[1])],
        "dtypes": [f"`{d}`" for d in taken(DTYPES_OF_MASKS, lambda d: heads(np.zeros_like(nothing, d)))],
        "shapes": [code(shape(s)) for s in taken(SHAPES_OF_MASKS, lambda s: heads(~np.zeros(shape(s), dtype=bool)))],
        "empty": [value(heads(nothing)[0])],
        "causal": [later[0], "`offset=1`", later[1]],
        "inputs": [code(X_q.shape)],
        "weights": [code(A.shape)],
        "projections": ["`X @ W`", code(W[0].shape)],
        "biases": ["none"] if not [name for name in parameters if "b" in name] else [],
    }


def attention_conventions(torch):
    """torch.nn.functional.scaled_dot_product_attention."""
    draw = numbers("conventions", "float32")
    Q, K = (torch.tensor(draw(*shape(f"batch n_head {n} d_k"))) for n in ("n_q", "n_k"))
    nothing = torch.zeros(shape("n_q n_k"), dtype=bool)

    def weights(mask=None, Q=Q, K=K, **options):
        """Values of which each has a column to itself turn the output into the weights, which are not returned."""
        V = torch.eye(K.shape[-2]).expand(*K.shape[:-2], -1, -1)
        return torch.nn.functional.scaled_dot_product_attention(Q, K, V, mask, **options)

    def of_axes(names):
        return weights(None, torch.zeros(shape(names)), torch.zeros(shape(names.replace("n_q", "n_k"))))

    causal = weights(None, torch.zeros(2, 1), torch.zeros(4, 1), is_causal=True)
    axes = "batch n_head n_q d_k", "batch n_q n_head d_k"
    return {
        "True": [true_means(weights(nothing | (torch.arange(SIZES["n_k"]) == 1)))],
        "dtypes": [f"`{d}`" for d in taken(DTYPES_OF_MASKS, lambda d: weights(nothing.to(getattr(torch, d))))],
        "shapes": [code(shape(s)) for s in taken(SHAPES_OF_MASKS, lambda s: weights(torch.ones(shape(s), dtype=bool)))],
        "empty": [value(weights(nothing))],
        "causal": ["`is_causal=True`", str(int((causal[0] > 0).sum()))],
        "inputs": [code(shape(s)) for s in taken(axes, of_axes)],
        "weights": ["none"] if isinstance(causal, torch.Tensor) else [],
        "projections": ["none"],
        "biases": ["none"],
    }


def heads_conventions(torch):
    """torch.nn.MultiheadAttention."""
    draw = numbers("conventions", "float32")
    X_q, X_s = (torch.tensor(draw(*shape(f"batch {n} d_model"))) for n in ("n_q", "n_k"))
    widths = SIZES["d_model"], SIZES["n_head"]
    module = torch.nn.MultiheadAttention(*widths, batch_first=True)

    def heads(mask=None, **options):
        return module(X_q, X_s, X_s, attn_mask=mask, **options)

    def of_axes(names):
        q, s = torch.zeros(shape(names)), torch.zeros(shape(names.replace("n_q", "n_k")))
        return torch.nn.MultiheadAttention(*widths)(q, s, s)

    (Y, A), (_, A_each), (_, no_A) = heads(), heads(average_attn_weights=False), heads(need_weights=False)
    biases = {name: p for name, p in module.named_parameters() if "bias" in name}
    return heads_and_masks(torch, heads) | {
        "inputs": [
            *(code(shape(s)) for s in taken(("batch n_q d_model", "n_q batch d_model"), of_axes)),
            "`batch_first=True`",
            code(Y.shape),
        ],
        "weights": [
            *(["mean"] if torch.allclose(A, A_each.mean(1)) else []),
            code(A.shape),
            "`average_attn_weights=False`",
            code(A_each.shape),
            "`need_weights=False`",
            *(["none"] if no_A is None else []),
        ],
        "projections": [*stored_form(torch), "`in_proj_weight`", code(module.in_proj_weight.shape)],
        "biases": [*(f"`{name}`" for name in biases), *{value(p) for p in biases.values()}],
    }


def heads_and_masks(torch, heads):
    """What heads(mask, **options) -> Y, A, a MultiheadAttention on a batch, makes of masks."""
    everything = torch.ones(shape("n_q n_k"), dtype=bool)
    only_key_1 = (torch.arange(SIZES["n_k"]) == 1).expand(SIZES["batch"], -1)
    trues = {
        true_means(heads(only_key_1[:1] & everything)[1]),
        true_means(heads(key_padding_mask=only_key_1)[1]),
    }
    without = {"need_weights": False}
    hinted, causal = heads(~everything, is_causal=True, **without)[0], heads(everything.triu(1), **without)[0]

    def inferred(dtype=bool, **options):  # on the path for inference: self-attention with an even number of heads
        X, nothing = torch.ones(3, 3, 8), torch.full((3, 3), 1 if dtype is bool else -torch.inf, dtype=dtype)
        with torch.no_grad():
            return value(torch.nn.MultiheadAttention(8, 2, **options).eval()(X, X, X, attn_mask=nothing, **without)[0])

    others = {"`batch_first=True`": inferred(), "`bool`": inferred(torch.float32, batch_first=True)}
    return {
        "True": [*trues, "`attn_mask`", "`key_padding_mask`"],
        "dtypes": [f"`{d}`" for d in taken(DTYPES_OF_MASKS, lambda d: heads((~everything).to(getattr(torch, d))))],
        "shapes": [code(shape(s)) for s in taken(SHAPES_OF_MASKS, lambda s: heads(torch.zeros(shape(s), dtype=bool)))],
        "empty": [
            value(heads(everything)[0]),
            "`need_weights=False`",
            value(heads(everything, **without)[0]),
            *(condition for condition, Y in others.items() if inferred(batch_first=True) != Y),
            "`eval()`",
            "`no_grad()`",
            inferred(batch_first=True),
        ],
        "causal": [
            "`is_causal=True`",
            *(["error"] if not taken([True], lambda hint: heads(is_causal=hint)) else []),
            "`attn_mask`",
            "`need_weights=False`",
            *(["ignored"] if torch.equal(hinted, causal) else []),
        ],
    }


def stored_form(torch):
    """How a stored W_V multiplies X: seen where W_O = 1, the biases are 0 and there is one key, of weight 1."""
    d = SIZES["d_model"]
    X = torch.tensor(numbers("conventions", "float32")(1, d))
    module = torch.nn.MultiheadAttention(d, SIZES["n_head"])
    with torch.no_grad():
        module.out_proj.weight.copy_(torch.eye(d))
        Y, W_V = module(X, X, X)[0], module.in_proj_weight[-d:]
    forms = {"`X @ W`": X @ W_V, "`X @ W.T`": X @ W_V.T}
    return [form for form, product in forms.items() if torch.allclose(Y, product, atol=1e-5)]


# ---------------------------------------------------------------------------------------------------------- record


class Record(NamedTuple):
    """What tests/peers.npz holds."""

    about: dict  # versions, and the command
    conventions: dict  # of PyTorch's two functions
    answers: dict  # (name of a case, dtype) -> name of an array -> array


def load_torch():
    """PyTorch where `make.py peers` puts it."""
    sys.path.insert(0, str(ROOT / "book" / "_build" / "peers"))
    try:
        import torch
    except ImportError as error:
        sys.exit(f"PyTorch cannot be imported ({error}): `python3 make.py peers` installs it.")
    return torch


def ask(torch):
    """A record of all that PyTorch says."""
    answers = {}
    for case in ALL_CASES:
        for dtype in DTYPES:
            found = case.theirs(torch, dtype)
            answers[case.name, dtype] = {name: x.detach().numpy() for name, x in found.items()}
    about = {"torch": torch.__version__, "numpy": np.__version__, "command": ".venv/bin/python tools/peers.py --write"}
    found = {"attention": attention_conventions(torch), "heads": heads_conventions(torch)}
    return Record(about, found, answers)


def write(record, path=RECORD):
    """All numbers of a dtype stand in one array, one after the other; the index says what they are."""
    index = [[case.name, {k: x.shape for k, x in record.answers[case.name, DTYPES[0]].items()}] for case in ALL_CASES]
    texts = {"about": record.about, "conventions": record.conventions, "index": index}
    flat = {
        dtype: np.concatenate([x.ravel() for case in ALL_CASES for x in record.answers[case.name, dtype].values()])
        for dtype in DTYPES
    }
    np.savez_compressed(path, **{k: json.dumps(text, ensure_ascii=False) for k, text in texts.items()}, **flat)


def read(path=RECORD):
    with np.load(path, allow_pickle=False) as file:
        about, found, index = (json.loads(str(file[key])) for key in ("about", "conventions", "index"))
        answers = {}
        for dtype in DTYPES:
            flat, used = file[dtype], 0
            for name, shapes in index:
                answers[name, dtype] = {}
                for key, form in shapes.items():
                    size = int(np.prod(form))
                    answers[name, dtype][key] = flat[used : used + size].reshape(form)
                    used += size
    return Record(about, found, answers)


def rows(live, kept):
    """The lines of the table, and with each who is too far from what PyTorch answers now: our functions, the file."""
    for group, cases in CASES.items():
        for dtype in DTYPES:
            names = [(case.name, dtype) for case in cases]
            ours = [differences(case.ours(dtype), live.answers[name]) for case, name in zip(cases, names, strict=True)]
            file = [differences(kept.answers[name].items(), live.answers[name]) for name in names]
            found = {"our functions": largest(ours), "the file": largest(file)}
            digits = "  ".join(f"{x:9.0e}" for pair in found.values() for x in pair)
            yield f"{group:18}{dtype}{len(cases):7}  {digits}", [who for who, x in found.items() if too_far(x, dtype)]


def largest(pairs):
    return tuple(map(max, zip(*pairs, strict=True)))


def main(arguments):
    if arguments not in ([], ["--write"]):
        sys.exit(__doc__)
    live = ask(load_torch())
    if arguments:
        write(live)
        print(f"▸ {RECORD.relative_to(ROOT)} is written, {RECORD.stat().st_size / 1000:.0f} kB")
    kept, failures = read(), []
    if kept.answers.keys() != live.answers.keys():
        sys.exit("tests/peers.npz holds other cases than tools/peers.py: write it anew with --write.")
    print(f"PyTorch {live.about['torch']}; the file is of PyTorch {kept.about['torch']}, NumPy {kept.about['numpy']}.")
    print("Largest difference from what PyTorch answers now:\n")
    print(f"{'':31}  {'ours':>20}  {'the file':>20}")
    print(f"{'':18}{'dtype':7}{'cases':>6}  " + "  ".join(["  outputs", "gradients"] * 2))
    for line, wrong in rows(live, kept):
        print(line)
        failures += [f"{who}: {line}" for who in wrong]
    for name, found in live.conventions.items():
        other = [row for row in found if found[row] != kept.conventions[name][row]]
        failures += [f"{name}, {row}: now {found[row]}" for row in other]
    if failures:
        sys.exit("\nFurther from PyTorch than allowed, or another convention:\n" + "\n".join(failures))


if __name__ == "__main__":
    main(sys.argv[1:])
