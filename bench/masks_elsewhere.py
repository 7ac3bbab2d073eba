"""What chapter 5 records of other libraries: its PyTorch listing, and a fully masked row in each function of its table.

Run it in an environment of its own that has torch, keras and jax; the course needs none of them.
"""

import json
import os
import re
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"  # before keras is imported

import jax
import keras
import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

CHAPTER = Path(__file__).resolve().parents[1] / "book" / "05_masks.ipynb"
Q = np.array([[1.0, 0.0, 0.5, 0.2], [0.0, 1.0, 0.0, 0.5], [0.5, 0.5, 0.0, 1.0]])
K = np.array([[0.8, 0.1, 0.3, 0.6], [0.2, 0.9, 0.1, 0.4], [0.5, 0.5, 0.5, 0.5]])
V = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
WIDE = np.pad(V, ((0, 0), (0, 2)))  # for functions that want values as wide as keys
G = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])  # any gradient of the output that reaches all rows
CAUSAL = np.tril(np.ones((3, 3), dtype=bool))
EMPTY = CAUSAL & [[False], [True], [True]]  # query 0 may attend to nothing
MASKS = {"none": np.ones((3, 3), dtype=bool), "causal": CAUSAL, "padding": np.array([[True, True, False]] * 3)}


def with_gradients(attend, keep):
    """Output and gradients of a PyTorch function of Q, K, V and a boolean mask."""
    operands = [torch.tensor(x, requires_grad=True) for x in (Q, K, V)]
    Z = attend(*operands, torch.tensor(keep))
    (torch.tensor(G) * Z).sum().backward()
    return [Z.detach().numpy(), *(x.grad.numpy() for x in operands)]


def fused(Q, K, V, keep):
    return scaled_dot_product_attention(Q[None], K[None], V[None], attn_mask=keep)[0]


def listing():
    """The function of the page, as it stands there."""
    cells = {c["id"]: "".join(c["source"]) for c in json.loads(CHAPTER.read_text("utf-8"))["cells"]}
    scope = {}
    exec(re.search(r"```python\n(.*?)```", cells["torch-en"], re.S)[1], scope)
    return scope["attention"]


def torch_module(keep, **options):
    """nn.MultiheadAttention with one head and identity projections."""
    module = torch.nn.MultiheadAttention(4, 1, bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.eye(4).repeat(3, 1))
        module.out_proj.weight.copy_(torch.eye(4))
    q, k, v = (torch.tensor(x)[None] for x in (Q, K, WIDE))
    return module(q, k, v, attn_mask=torch.tensor(keep), **options)[0].detach().numpy()[0, :, :2]


def keras_layer(keep, **options):
    """keras.layers.MultiHeadAttention in the same way."""
    layer = keras.layers.MultiHeadAttention(1, 4, use_bias=False)
    layer.build((1, 3, 4), (1, 3, 4), (1, 3, 4))
    for w in layer.weights:
        w.assign(np.eye(4).reshape(w.shape))
    result = layer(Q[None], WIDE[None], K[None], attention_mask=keep[None], **options)
    return (result[0] if options else result).detach().numpy()[0, :, :2]


def jax_function(keep):
    """jax.nn.dot_product_attention: its axes are (positions, heads, width)."""
    operands = [jax.numpy.asarray(x)[:, None] for x in (Q, K, WIDE)]
    return np.asarray(jax.nn.dot_product_attention(*operands, mask=keep[None]))[:, 0, :2]


if __name__ == "__main__":
    print(f"torch {torch.__version__}, keras {keras.__version__}, jax {jax.__version__}")
    attention = listing()
    for name, keep in (MASKS | {"causal, query 0 fully masked": EMPTY}).items():
        ours = with_gradients(lambda *operands: attention(*operands)[0], keep)
        theirs = with_gradients(fused, keep)
        differ = max(np.abs(x - y).max() for x, y in zip(ours, theirs, strict=True))
        print(f"{name}: {ours[0].round(4).tolist()}, scaled_dot_product_attention differs by {differ:.0e}")
    print("\nquery 0 fully masked, its output:")
    for name, output in {
        "nn.MultiheadAttention": torch_module(~EMPTY),
        "nn.MultiheadAttention, need_weights=False": torch_module(~EMPTY, need_weights=False),
        "keras MultiHeadAttention": keras_layer(EMPTY),
        "keras MultiHeadAttention, return_attention_scores=True": keras_layer(EMPTY, return_attention_scores=True),
        "jax.nn.dot_product_attention": jax_function(EMPTY),
    }.items():
        print(f"{name}: {output[0].round(4)}")
    print(f"\ncausal keep-mask given to nn.MultiheadAttention: {torch_module(CAUSAL).round(4).tolist()}")
