"""Shuffled tokens: the same sentence in another order, and whether self-attention notices."""

import numpy as np
import traitlets as t

import attention_mechanism as am

from .base import Misfit, Widget, as_names, as_numbers, is_whole, listed, short, still_frame, still_table

LARGEST = 9  # of a given number
LARGEST_VALUE = 40  # of a component of v, so that every output fits its cell
TOLERANCE = 1e-9  # a row has changed if a number in it moved by more: less is rounding; in shuffled_tokens.js too


def sinusoidal(n, d_model):
    """Positional encoding (n, d_model) of Vaswani et al. (2017), section 3.5: sines in even columns, cosines in odd."""
    position, column = np.arange(n)[:, None], np.arange(d_model)
    angle = position / 10000 ** (2 * (column // 2) / d_model)
    return np.where(column % 2, np.cos(angle), np.sin(angle))


def first_example():
    """A sentence whose order matters, embeddings and projections written by hand."""
    return {
        "tokens": ["dog", "bites", "man", "now"],
        "X": [[1, 0, 0.5, 0], [0, 1, 0, 0.5], [0.8, 0, 0.1, 1], [0, 0.2, 1.5, 0]],
        "W_Q": [[1, 0], [0, 2], [0, 0], [1, 1]],
        "W_K": [[0, 1], [2, 0], [1, 0], [0, 1]],
        "W_V": [[1, 0], [0, 1], [0.5, 0], [0, 0.5]],
    }


def as_example(tokens, P, **matrices):
    """Names, rows of numbers and an encoding for each position, as the widget holds them; Misfit if they do not fit."""
    names = [str(name) for name in as_names("tokens", tokens)]
    if not 2 <= len(names) <= 4:
        raise Misfit(f"there are {len(names)} tokens; this widget shows 2 to 4")
    if "" in names:
        raise Misfit(f"tokens is {names}; give each token a name that is not empty")
    found = {name: as_numbers(name, M, 2) for name, M in matrices.items()}
    d_model = len(found["X"][0]) if found["X"] else 0
    if not 1 <= d_model <= 16:
        raise Misfit(f"rows of X have {d_model} numbers; this widget takes 1 to 16")
    found["P"] = as_numbers("P", sinusoidal(len(names), d_model) if P is None else P, 2)
    check_numbers(len(names), d_model, found)
    return {"tokens": names} | found


def check_numbers(n, d_model, matrices):
    """Raise Misfit, with the remedy, unless the matrices fit n tokens, each other and the page."""
    most = {"W_Q": 16, "W_K": 16, "W_V": 2}
    for name, M in matrices.items():
        rows, shape = (d_model if name in most else n), np.shape(M)
        if len(M) != rows or (name == "P" and shape[1] != d_model):
            wanted = f"{rows} rows, one for each {'column of X' if name in most else 'token'}"
            raise Misfit(f"{name} has shape {shape}; give {wanted}{f', of {d_model} numbers' if name == 'P' else ''}")
        if name in most and not 1 <= shape[1] <= most[name]:
            raise Misfit(f"{name} has {shape[1]} columns; this widget takes 1 to {most[name]}")
        if not (np.abs(M) <= LARGEST).all():  # refuses nan too
            raise Misfit(f"{name} holds a number that is not between −{LARGEST} and {LARGEST}; give smaller ones")
    X, P, W_Q, W_K, W_V = (np.array(matrices[name]) for name in ("X", "P", "W_Q", "W_K", "W_V"))
    if W_Q.shape != W_K.shape:
        raise Misfit(f"W_Q has {W_Q.shape[1]} columns and W_K {W_K.shape[1]}; both need the same d_k")
    farthest = max(np.abs(X @ W_V).max(), np.abs((X[:, None] + P) @ W_V).max())  # each token in each place
    if farthest > LARGEST_VALUE:
        raise Misfit(
            f"values v reach {farthest:.1f}; this widget shows up to {LARGEST_VALUE}: make X, P or W_V smaller"
        )


class ShuffledTokens(Widget):
    """Self-attention on a sentence in its original and in another order: which output rows have changed?

    `tokens` are 2 to 4 names, X (n, d_model) has a row for each, W_Q and W_K (d_model, d_k) and W_V (d_model, 1 or 2)
    project them; all five or none: `first_example()`.  P (n, d_model) has a row for each position, `sinusoidal` if left
    out.  `order` says which token stands in each place now, counted from 0 in the original order; with `positions` on,
    P is added to the tokens as they stand; `causal` lets each see itself and those before it.  Raises ValueError for
    what does not fit.
    """

    order = t.TraitType().tag(sync=True)
    positions = t.Bool(False).tag(sync=True)
    causal = t.Bool(False).tag(sync=True)
    _start = t.Dict().tag(sync=True)  # what the widget was made with

    def __init__(
        self, tokens=None, X=None, W_Q=None, W_K=None, W_V=None, P=None, order=None, positions=False, causal=False
    ):
        given = {"tokens": tokens, "X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V}
        missing = [name for name, part in given.items() if part is None]
        if len(missing) not in (0, 5):
            raise Misfit(
                f"tokens, X, W_Q, W_K and W_V belong together: give {' and '.join(missing)} too, or none of them"
            )
        start = as_example(P=P, **(first_example() if missing else given))
        order = range(len(start["tokens"])) if order is None else order
        super().__init__(_start=start, order=order, positions=positions, causal=causal)

    @t.validate("order")
    def _validate_order(self, proposal):
        order, n = proposal.value, len(self.tokens)
        found = listed(order) or []
        if not all(map(is_whole, found)) or sorted(found) != list(range(n)):
            raise Misfit(f"order is {order!r}; it must hold each of the numbers 0 to {n - 1} once")
        return [int(token) for token in found]

    @t.default("still")
    def _still(self):
        """Both orders below each other; a sentence that was not shuffled, backwards."""
        n, columns = len(self.tokens), [f"z[{c}]" for c in range(len(self._start["W_V"][0]))]
        before, after = list(range(n)), self.order
        after = before[::-1] if after == before else after
        parts = []
        for top, order in (0, before), (70 + 24 * n, after):
            Z, A = self._attend(order)
            names = [self.tokens[token] for token in order]
            tables = still_table(80, "A", names, names, A, 64) + still_table(160 + 64 * n, "Z", names, columns, Z, 64)
            parts.append(f'<g transform="translate(0 {top})">{tables}</g>')
        title = "词元换次序前后的注意力权重与输出 | Attention weights and output in the original and in another order"
        return still_frame(title, 160 + 64 * (n + len(columns)), 126 + 48 * n, "".join(parts))

    @property
    def tokens(self):
        """The tokens' names in the original order."""
        return self._start["tokens"]

    @property
    def sentence(self):
        """The tokens' names in the current order."""
        return [self.tokens[token] for token in self.order]

    @property
    def weights(self):
        """Attention weights (n, n) in the current order."""
        return self._attend(self.order)[1]

    @property
    def output(self):
        """Output (n, d_v) in the current order."""
        return self._attend(self.order)[0]

    @property
    def moved(self):
        """For each place of the current order, how far its row is from the same token's row in the original order.

        It is the largest difference between two numbers of these rows.
        """
        before, _ = self._attend(range(len(self.tokens)))
        return np.abs(self.output - before[self.order]).max(axis=1)

    @property
    def noticed(self):
        """Whether a row has changed, which is more than another place among the rows."""
        return bool((self.moved > TOLERANCE).any())

    def _attend(self, order):
        X, P, W_Q, W_K, W_V = (np.array(self._start[name]) for name in ("X", "P", "W_Q", "W_K", "W_V"))
        X = X[list(order)] + self.positions * P
        mask = am.causal_mask(len(X)) if self.causal else None
        return am.scaled_dot_product_attention(X @ W_Q, X @ W_K, X @ W_V, mask)

    def __repr__(self):
        state = f"order={self.order}, positions={self.positions}, causal={self.causal}"
        return f"ShuffledTokens({state}, moved={short(self.moved)})"
