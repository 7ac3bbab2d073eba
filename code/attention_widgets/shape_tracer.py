"""The shape tracer: the sizes by slider, every matrix of the formula in proportion, and what each step costs."""

import re
from fractions import Fraction

import traitlets as t

import attention_colours

from .base import Misfit, Widget, still_frame, svg_text

LONGEST, WIDEST = 4096, 1024  # the ends of the sliders
PRODUCTS = {  # result: (left, right), in the order of the computation
    "Q": ("X_q", "W_Q"),
    "K": ("X_s", "W_K"),
    "V": ("X_s", "W_V"),
    "S": ("Q", "Kᵀ"),
    "Z": ("A", "V"),
    "Y": ("Z", "W_O"),
}


def shapes(n_q, n_k, d_model, d_k, d_v, output_projection=False):
    """{name: (rows, columns)} of every matrix of one attention head; W_O and Y with the output projection only."""
    found = {
        "X_q": (n_q, d_model), "X_s": (n_k, d_model),
        "W_Q": (d_model, d_k), "W_K": (d_model, d_k), "W_V": (d_model, d_v),
        "Q": (n_q, d_k), "K": (n_k, d_k), "V": (n_k, d_v),
        "Kᵀ": (d_k, n_k), "S": (n_q, n_k), "S̃": (n_q, n_k), "A": (n_q, n_k), "Z": (n_q, d_v),
    }  # fmt: skip
    return found | ({"W_O": (d_v, d_model), "Y": (n_q, d_model)} if output_projection else {})


def multiplications(n_q, n_k, d_model, d_k, d_v, output_projection=False):
    """{result: m·p·n} of each product (m×p)(p×n); additions, the scaling and the softmax are not in it."""
    shape = shapes(n_q, n_k, d_model, d_k, d_v, output_projection)
    steps = {result: (left, right) for result, (left, right) in PRODUCTS.items() if result in shape}
    return {result: shape[left][0] * shape[left][1] * shape[right][1] for result, (left, right) in steps.items()}


class Size(t.Int):
    """A whole number from 1 to `most`."""

    def __init__(self, default, most):
        super().__init__(default)
        self.most = most

    def validate(self, obj, value):
        if isinstance(value, bool) or not hasattr(value, "__index__") or not 1 <= value <= self.most:
            raise Misfit(f"{self.name} is {value!r}; it must be a whole number from 1 to {self.most}")
        return int(value)


class ShapeTracer(Widget):
    """Move the sizes of one attention head: every matrix drawn in proportion, every product with its multiplications.

    n_k defaults to n_q, and then it is self-attention: a change of n_q or n_k moves the other too.  Give both, or
    `self_attention=False`, for cross-attention.  `output_projection` adds Y = Z W_O.  Raises ValueError for what
    does not fit.
    """

    n_q = Size(3, LONGEST).tag(sync=True)
    n_k = Size(3, LONGEST).tag(sync=True)
    d_model = Size(4, WIDEST).tag(sync=True)
    d_k = Size(4, WIDEST).tag(sync=True)
    d_v = Size(2, WIDEST).tag(sync=True)
    self_attention = t.Bool(True).tag(sync=True)
    output_projection = t.Bool(False).tag(sync=True)

    def __init__(self, n_q=3, n_k=None, d_model=4, d_k=4, d_v=2, self_attention=None, output_projection=False):
        n_k = n_q if n_k is None else n_k
        same = bool(n_q == n_k) if self_attention is None else self_attention
        if same and n_q != n_k:
            raise Misfit(f"self-attention needs n_q = n_k, but they are {n_q} and {n_k}; leave out one of the two")
        widths = {"d_model": d_model, "d_k": d_k, "d_v": d_v}
        super().__init__(n_q=n_q, n_k=n_k, **widths, self_attention=same, output_projection=output_projection)

    @t.observe("n_q", "n_k", "self_attention")
    def _keep_equal(self, change):
        if self.self_attention:
            self.n_q = self.n_k = self.n_k if change.name == "n_k" else self.n_q

    @t.default("still")
    def _still(self):
        title = "每一步的形状与乘法次数 | Shapes and multiplications of each step"
        rows, shape, counts = [], self.shapes, self.multiplications
        for y, (result, count) in zip(range(16, 999, 44), counts.items(), strict=False):
            left, right = PRODUCTS[result]
            (m, p), (_, n) = shape[left], shape[right]
            formula = svg_text(0, y, f"{result} = {left} {right}:  ({m}×{p})({p}×{n}) → {m}×{n}")
            formula = re.sub("(?<=X)_." if self.self_attention else "$^", "", formula)  # there is one X
            rows.append(re.sub("_(.)", r'<tspan baseline-shift="sub" font-size="9">\1</tspan>', formula))
            colour = attention_colours.LIGHT.get(result.lower(), "currentColor")
            fill = f"fill:var(--attn-{result.lower()},{colour})"  # the second where no style sheet reaches it
            width = 150 * count / max(counts.values())
            rows.append(f'<rect x="0" y="{y + 6}" width="{width:.1f}" height="16" style="{fill}"/>')
            product = f"{m}·{p}·{n} = {count:,}".replace(",", "\u202f")
            rows.append(svg_text(round(width + 6, 1), y + 19, product))
        return still_frame(title, 340, 44 * len(counts), "".join(rows))

    @property
    def sizes(self):
        """The arguments of `shapes` and `multiplications`."""
        names = ("n_q", "n_k", "d_model", "d_k", "d_v", "output_projection")
        return {name: getattr(self, name) for name in names}

    @property
    def shapes(self):
        """{name: (rows, columns)} of every matrix."""
        return shapes(**self.sizes)

    @property
    def multiplications(self):
        """{result: number} for each product."""
        return multiplications(**self.sizes)

    @property
    def ratio(self):
        """Multiplications of scores and weighted sums (S, Z), over those of the projections."""
        counts = self.multiplications
        mixing = counts["S"] + counts["Z"]
        return mixing / (sum(counts.values()) - mixing)

    @property
    def equal_at(self):
        """The n (self-attention) or n_k (cross-attention) at which the ratio is 1, the other sizes being as they are.

        Exact, as a Fraction; None where n_q ≤ d_model in cross-attention: there the projections stay larger.
        """
        per_query = self.d_model * (self.d_k + self.d_v * self.output_projection)
        if self.self_attention:  # n (per_query + d_model (d_k + d_v)) = n² (d_k + d_v)
            return Fraction(per_query, self.d_k + self.d_v) + self.d_model
        if self.n_q <= self.d_model:  # n_q per_query + n_k d_model (d_k + d_v) = n_q n_k (d_k + d_v)
            return None
        return Fraction(self.n_q * per_query, (self.d_k + self.d_v) * (self.n_q - self.d_model))

    def __repr__(self):
        sizes = ", ".join(f"{name}={value}" for name, value in self.sizes.items())
        return f"ShapeTracer({sizes}, self_attention={self.self_attention})"
