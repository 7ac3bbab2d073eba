"""The cost explorer: what one layer of self-attention costs, in multiply–adds and in memory, as n grows."""

import traitlets as t

from attention_mechanism import ROWS_PER_BLOCK

from .base import Among, Misfit, Widget, still_bars, still_frame, svg_text

# cost_explorer.js holds the same lists
LENGTHS = tuple(2**p for p in range(5, 18))
WIDTHS = (128, 256, 512, 768, 1024, 2048, 4096, 8192, 12288)
HEADS = (1, 2, 4, 8, 12, 16, 32, 64, 96)
BYTES = {"float32": 4, "float16": 2}


def work(n, d, output_projection=True):
    """Multiply–adds of the projections, and of QKᵀ and AV together, whatever the number of heads."""
    return (4 if output_projection else 3) * n * d**2, 2 * n**2 * d


def crossing(d, output_projection=True):
    """The length n at which both parts of `work` are equal."""
    return (2 if output_projection else 1.5) * d


def memory(n, d, n_head, bytes_each, output_projection=True, block=None):
    """Bytes of the weights A; of Q, K, V and the output; of the parameters.

    With a `block`, so many rows of one head's weights are held at a time, as attention_by_rows does.
    """
    weights = n_head * n * n if block is None else min(block, n) * n
    return tuple(bytes_each * count for count in (weights, 4 * n * d, (4 if output_projection else 3) * d**2))


def size(count):
    """A number of bytes with at most three digits and its binary unit."""
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while count >= 999.5 and len(units) > 1:  # 999.5 would be rounded to four digits
        count, units = count / 1024, units[1:]
    return f"{count * (1 + 1e-12):.3g} {units[0]}"  # half goes up, as in JavaScript


class CostExplorer(Widget):
    """Multiply–adds and memory of one layer of self-attention: move its length n, its width d_model, what is counted.

    n is a power of 2 from 32 to 131072, d_model one of nine widths from 128 to 12288, n_head one of 1, 2, 4, 8, 12, 16,
    32, 64, 96 that divides it, dtype "float32" or "float16".  `output_projection` counts W_O, `by_rows` holds one block
    of one head's weights at a time instead of all.  Raises ValueError for what does not fit.
    """

    n = Among(LENGTHS, 512).tag(sync=True)
    d_model = Among(WIDTHS, 512).tag(sync=True)
    n_head = Among(HEADS, 8).tag(sync=True)
    dtype = t.Unicode("float32").tag(sync=True)
    output_projection = t.Bool(True).tag(sync=True)
    by_rows = t.Bool(False).tag(sync=True)
    _block = t.Int(ROWS_PER_BLOCK).tag(sync=True)

    def __init__(self, n=512, d_model=512, n_head=8, dtype="float32", output_projection=True, by_rows=False):
        given = {"n": n, "d_model": d_model, "n_head": n_head, "dtype": dtype}
        super().__init__(**given, output_projection=output_projection, by_rows=by_rows)

    @t.validate("dtype")
    def _validate_dtype(self, proposal):
        if proposal.value not in BYTES:
            raise Misfit(f"dtype is {proposal.value!r}; it must be {' or '.join(map(repr, BYTES))}")
        return proposal.value

    @t.validate("d_model", "n_head")
    def _validate_heads(self, proposal):
        sizes = {"d_model": self.d_model, "n_head": self.n_head} | {proposal.trait.name: proposal.value}
        if sizes["d_model"] % sizes["n_head"]:
            fitting = ", ".join(str(heads) for heads in HEADS if sizes["d_model"] % heads == 0)
            raise Misfit(
                f"n_head = {sizes['n_head']} does not divide d_model = {sizes['d_model']}; n_head may be {fitting}"
            )
        return proposal.value

    @property
    def work(self):
        """Multiply–adds of the projections, and of QKᵀ and AV together."""
        return work(self.n, self.d_model, self.output_projection)

    @property
    def crossing(self):
        """The length n at which both parts are equal."""
        return crossing(self.d_model, self.output_projection)

    @property
    def memory(self):
        """Bytes of the weights A; of Q, K, V and the output; of the parameters."""
        return self._memory(self.n)

    def _memory(self, n):
        block = self._block if self.by_rows else None
        return memory(n, self.d_model, self.n_head, BYTES[self.dtype], self.output_projection, block)

    @t.default("still")
    def _still(self):
        shown, d = LENGTHS[::2], self.d_model
        heads = f"{self.n_head} head{'s' * (self.n_head > 1)}"
        title = f"QKᵀ 和 AV 占乘加的多少，以及权重 A 的内存：d = {d}，{self.n_head} 个头，{self.dtype}"
        title += " | Share of QKᵀ and AV in the multiply–adds, and memory of the weights A: "
        title += f"d = {d}, {heads}, {self.dtype}"
        parts = [work(n, d, self.output_projection) for n in shown]
        shares = [attention / (projections + attention) for projections, attention in parts]
        bars = still_bars(10, "(QKᵀ + AV) / Σ", "plain", [f"n={n}" for n in shown], shares)
        sizes = [svg_text(385, 44 + 28 * row, size(self._memory(n)[0]), "end") for row, n in enumerate(shown)]
        return still_frame(title, 400, 34 + 28 * len(shown), bars + svg_text(385, 16, "A", "end") + "".join(sizes))

    def __repr__(self):
        names = ("n", "d_model", "n_head", "dtype", "output_projection", "by_rows")
        return f"CostExplorer({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"
