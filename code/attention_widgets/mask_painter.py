"""The mask painter: a mask from switches and single cells, what attention makes of it, and what leaks."""

import numpy as np
import traitlets as t

import attention_mechanism as am

from .base import Misfit, Whole, Widget, as_names, as_numbers, is_whole, still_frame, still_table

LARGEST = 9  # of a number in Q, K or V, so that every score fits its cell
CHANGE = 1  # what "change the last token" adds to its key and to its value; mask_painter.js holds the same


def first_example():
    """The running example of chapters 2 to 6, with two more tokens."""
    return {
        "tokens": ["0", "1", "2", "3", "4"],
        "Q": [[1.0, 0.0, 0.5, 0.2], [0.0, 1.0, 0.0, 0.5], [0.5, 0.5, 0.0, 1.0],
              [0.2, 0.8, 0.6, 0.0], [0.9, 0.1, 0.4, 0.7]],
        "K": [[0.8, 0.1, 0.3, 0.6], [0.2, 0.9, 0.1, 0.4], [0.5, 0.5, 0.5, 0.5],
              [0.6, 0.2, 0.8, 0.3], [0.1, 0.6, 0.4, 0.9]],
        "V": [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.2, 0.9], [0.9, 0.4]],
    }  # fmt: skip


def as_example(tokens, **matrices):
    """Names and rows of numbers, as the painter holds them."""
    names = [str(name) for name in as_names("tokens", tokens)]
    return {"tokens": names} | {name: as_numbers(name, M, 2) for name, M in matrices.items()}


def check_example(tokens, Q, K, V):
    """Raise Misfit, with the remedy, unless these are a row of Q, K and V for each of 2 to 6 tokens."""
    n = len(tokens)
    if not 2 <= n <= 6:
        raise Misfit(f"there are {n} tokens; the mask painter shows 2 to 6")
    for name, rows, most in ("Q", Q, 64), ("K", K, 64), ("V", V, 3):
        widths = sorted({len(row) for row in rows})
        if len(rows) != n or len(widths) != 1 or not 1 <= widths[0] <= most:
            raise Misfit(
                f"{name} has {len(rows)} rows of widths {widths}; give {n} rows of one width, from 1 to {most}"
            )
        if not all(abs(x) <= LARGEST for row in rows for x in row):  # refuses nan too
            raise Misfit(f"{name} holds a number that is not between −{LARGEST} and {LARGEST}; give smaller ones")
    if len(Q[0]) != len(K[0]):
        raise Misfit(f"rows of Q have {len(Q[0])} numbers and rows of K {len(K[0])}; both need the same d_k")


class MaskPainter(Widget):
    """A mask (n_q, n_k), True = may attend, by switches and by hand: scaled scores, weights, outputs and leaks.

    `tokens` are 2 to 6 names, and Q, K (n, d_k) and V (n, d_v), d_v from 1 to 3, hold a row for each; all four or none:
    `first_example()`.  `causal`, `n_real` (how many keys are no padding; all if left out) and `offset` (how many of the
    keys are earlier ones, from a cache: the queries are the last n − offset) set the whole mask, here and whenever one
    of them changes.  `mask` is what counts, and may be painted over cell by cell; with `changed` on, the last token has
    another key and value.  Raises ValueError for what does not fit.
    """

    causal = t.Bool(False).tag(sync=True)
    n_real = Whole(0).tag(sync=True)
    offset = Whole(0).tag(sync=True)
    mask = t.List(t.List(t.Bool())).tag(sync=True)
    changed = t.Bool(False).tag(sync=True)
    _start = t.Dict().tag(sync=True)  # what the painter was made with

    def __init__(self, tokens=None, Q=None, K=None, V=None, causal=False, n_real=None, offset=0):
        given = {"tokens": tokens, "Q": Q, "K": K, "V": V}
        missing = [name for name, part in given.items() if part is None]
        if len(missing) not in (0, 4):
            raise Misfit(f"tokens, Q, K and V belong together: give {' and '.join(missing)} too, or none of them")
        example = first_example() if missing else as_example(**given)
        check_example(**example)
        n_real = len(example["tokens"]) if n_real is None else n_real
        switches = {"causal": causal, "n_real": n_real, "offset": offset}
        super().__init__(_start=example | switches, **switches, mask=self._by_rule(len(example["tokens"]), **switches))

    @staticmethod
    def _by_rule(n, causal, n_real, offset):
        """The mask that the switches set, as the trait holds it."""
        for name, value, most in ("n_real", n_real, n), ("offset", offset, n - 1):
            if not is_whole(value) or not 0 <= value <= most:
                raise Misfit(f"{name} is {value!r}; with {n} tokens it must be a whole number from 0 to {most}")
        keep = am.padding_mask(n_real, n) & np.ones((n - offset, n), dtype=bool)
        return (keep & am.causal_mask(n - offset, n, offset) if causal else keep).tolist()

    @t.validate("n_real", "offset")
    def _validate_switch(self, proposal):
        self._by_rule(self.n, **self.switches | {proposal.trait.name: proposal.value})
        return proposal.value

    @t.validate("mask")
    def _validate_mask(self, proposal):
        n_q, n_k, rows = self.n - self.offset, self.n, proposal.value
        if [len(row) for row in rows] != [n_k] * n_q:
            widths = sorted({len(row) for row in rows})
            raise Misfit(f"the mask has {len(rows)} rows of widths {widths}; give {n_q} rows of {n_k}")
        return rows

    @t.observe("causal", "n_real", "offset")
    def _set_mask(self, change):
        self.mask = self._by_rule(self.n, **self.switches)

    @t.default("still")
    def _still(self):
        title = "掩码、注意力权重与输出 | Mask, attention weights and output"
        queries, components = self.tokens[self.offset :], [f"z[{c}]" for c in range(len(self._start["V"][0]))]
        parts, x = [], 60
        matrices = ("B", self.tokens, self.mask, 30), ("A", self.tokens, self.weights, 60)
        for heading, columns, rows, wide in (*matrices, ("Z = A V", components, self.output, 60)):
            parts.append(still_table(x, heading, queries, columns, rows, wide))
            x += wide * len(columns) + 60
        return still_frame(title, x - 60, 56 + 24 * self.n, "".join(parts))

    @property
    def tokens(self):
        """The tokens' names."""
        return self._start["tokens"]

    @property
    def n(self):
        """How many tokens there are, keys from the cache included."""
        return len(self.tokens)

    @property
    def switches(self):
        """{name: value} of what sets the whole mask."""
        return {"causal": self.causal, "n_real": self.n_real, "offset": self.offset}

    @property
    def weights(self):
        """Attention weights (n_q, n_k)."""
        return self._attend(self.changed)[1]

    @property
    def output(self):
        """Output (n_q, d_v)."""
        return self._attend(self.changed)[0]

    @property
    def moved(self):
        """How far another last token moves each output (n_q,), under the present mask."""
        return np.linalg.norm(self._attend(True)[0] - self._attend(False)[0], axis=-1)

    @property
    def leaks(self):
        """{row of the mask: the later positions that it may attend to}, of rows that have any."""
        later = {i: [j for j in range(i + self.offset + 1, self.n) if row[j]] for i, row in enumerate(self.mask)}
        return {i: seen for i, seen in later.items() if seen}

    def _attend(self, changed):
        Q, K, V = (np.array(self._start[name]) for name in "QKV")
        K[-1] += CHANGE * changed
        V[-1] += CHANGE * changed
        return am.scaled_dot_product_attention(Q[self.offset :], K, V, np.array(self.mask))

    def __repr__(self):
        rows = "/".join("".join(map(str, np.array(row, dtype=int))) for row in self.mask)
        switches = ", ".join(f"{name}={value}" for name, value in self.switches.items())
        return f"MaskPainter({switches}, mask={rows})"
