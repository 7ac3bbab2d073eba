"""Gradient paths: what a loss on the output asks of queries, keys and values, step by step back through attention."""

import numpy as np
import traitlets as t

import attention_mechanism as am

from .base import Misfit, Widget, as_numbers, still_frame, still_matrix

LIMIT, LONGEST = 2, 4  # of the numbers in Q, K and V, and of their sides
FIRST = {  # the running example of the course
    "Q": [[1.0, 0.0, 0.5, 0.2], [0.0, 1.0, 0.0, 0.5], [0.5, 0.5, 0.0, 1.0]],
    "K": [[0.8, 0.1, 0.3, 0.6], [0.2, 0.9, 0.1, 0.4], [0.5, 0.5, 0.5, 0.5]],
    "V": [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]],
}


def as_matrix(name, given):
    """A matrix that can be shown, as rows."""
    rows = as_numbers(name, given, 2)
    if not (1 <= len(rows) <= LONGEST and 1 <= len(rows[0]) <= LONGEST):
        raise Misfit(f"{name} is {len(rows)} by {len(rows[0]) if rows else 0}; give 1 to {LONGEST} rows and columns")
    if not all(abs(x) <= LIMIT for row in rows for x in row):  # refuses nan too
        raise Misfit(f"the numbers in {name} must lie from −{LIMIT} to {LIMIT}")
    return rows


class GradientPaths(Widget):
    """Choose G = ∂L/∂Z by its entries −1, 0 or 1; see dV, dA, D, dQ, dK, and what a step against them does to L.

    Q (n_q, d_k), K (n_k, d_k) and V (n_k, d_v) with sides of at most 4 and numbers from −2 to 2, by default the running
    example; L = Σ G⊙Z, and G starts with ones on its diagonal.  `step` is the step size, from 0 to 1.  Raises
    ValueError for what does not fit.
    """

    G = t.List(t.List(t.Float())).tag(sync=True)
    step = t.Float(0.5).tag(sync=True)
    _start = t.Dict().tag(sync=True)  # what it was made with

    def __init__(self, Q=None, K=None, V=None):
        given = {"Q": Q, "K": K, "V": V}
        start = {name: as_matrix(name, FIRST[name] if M is None else M) for name, M in given.items()}
        Z, _ = am.scaled_dot_product_attention(start["Q"], start["K"], start["V"])  # raises where they do not fit
        G = np.eye(*Z.shape).tolist()
        super().__init__(_start=start | {"G": G, "step": 0.5}, G=G)

    @t.validate("G")
    def _validate_G(self, proposal):
        n_q, d_v = len(self._start["Q"]), len(self._start["V"][0])
        if [len(row) for row in proposal.value] != [d_v] * n_q:
            raise Misfit(f"G must have the shape of Z, {n_q} rows of {d_v} numbers, but it is {proposal.value}")
        if not all(x in (-1, 0, 1) for row in proposal.value for x in row):
            raise Misfit(f"the entries of G must be −1, 0 or 1, but it is {proposal.value}")
        return proposal.value

    @t.validate("step")
    def _validate_step(self, proposal):
        if not 0 <= proposal.value <= 1:
            raise Misfit(f"step is {proposal.value:g}; it must lie from 0 to 1")
        return proposal.value

    @t.default("still")
    def _still(self):
        dQ, dK, dV = self.gradients
        A = self._attend()[1]
        dA = np.array(self.G) @ np.array(self._start["V"]).T
        D = am.softmax_backward(A, dA)
        parts = [("G = ∂L/∂Z", "z", self.G), ("dV = AᵀG", "v", dV), ("dA = GVᵀ", "a", dA)]
        parts += [("D = ∂L/∂S̃", "plain", D), ("dQ = DK / √dₖ", "q", dQ), ("dK = DᵀQ / √dₖ", "k", dK)]
        drawn, y = [], 0
        for heading, role, M in parts:
            drawn.append(still_matrix(0, y, heading, role, M))
            y += 28 * len(M) + 36
        title = "梯度从输出回到值、键、查询 | Gradients from the output back to values, keys and queries"
        return still_frame(title, 300, y, "".join(drawn))

    def _attend(self, step=0):
        """Z and A, after a step of this size."""
        moves = dict(zip("QKV", self.gradients, strict=True)) if step else {}
        moved = {name: np.array(self._start[name]) - step * moves.get(name, 0) for name in "QKV"}
        return am.scaled_dot_product_attention(**moved)

    @property
    def gradients(self):
        """dQ, dK, dV for the present G."""
        A = self._attend()[1]
        return am.scaled_dot_product_attention_backward(self.G, *(self._start[name] for name in "QKV"), A)

    @property
    def loss(self):
        """L = Σ G⊙Z before the step."""
        return float((self.G * self._attend()[0]).sum())

    @property
    def predicted(self):
        """L after the step as the gradient predicts it: L − step · (square of the gradient's length)."""
        return self.loss - self.step * float(sum((d**2).sum() for d in self.gradients))

    @property
    def real(self):
        """L after the step."""
        return float((self.G * self._attend(self.step)[0]).sum())

    def __repr__(self):
        G = [[int(x) for x in row] for row in self.G]
        return f"GradientPaths(G={G}, step={self.step:g}, loss={self.loss:.4f})"
