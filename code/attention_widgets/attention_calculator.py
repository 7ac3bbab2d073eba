"""The attention calculator: one query, scores by slider, values to overwrite."""

import math

import numpy as np
import traitlets as t

import attention_mechanism as am

from .base import Misfit, Widget, as_names, is_whole, still


def first_examples():
    """The examples of chapter 2, as AttentionCalculator takes them."""
    X = np.eye(3, 4)
    Q = [[1.0, 0.0, 0.5, 0.2], [0.0, 1.0, 0.0, 0.5], [0.5, 0.5, 0.0, 1.0]]
    K = [[0.8, 0.1, 0.3, 0.6], [0.2, 0.9, 0.1, 0.4], [0.5, 0.5, 0.5, 0.5]]
    V = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    identity = {"tokens": ["I", "love", "NN"], "q": X[0], "K": X, "V": X}
    running = [{"tokens": ["0", "1", "2"], "q": q, "K": K, "V": V} for q in Q]
    # Its source gives scores that are scaled already: with d_k = 1 the division by 1 leaves them as they are.
    mixing = {"tokens": ["0", "1"], "q": [1.0], "K": [[math.log(3)], [0.0]], "V": [[2.0, 0.0], [0.0, 4.0]]}
    return [
        {"zh": "I love NN，查询 I", "en": "I love NN, query I"} | identity,
        *({"zh": f"三个键，查询 {i}", "en": f"three keys, query {i}"} | rest for i, rest in enumerate(running)),
        {"zh": "两个键，分数 [log 3, 0]（dₖ = 1）", "en": "two keys, scores [log 3, 0] (dₖ = 1)"} | mixing,
    ]


def as_sliders(zh, en, tokens, q, K, V):
    """An example as the sliders hold it: the scores q Kᵀ, not yet scaled, in place of q and K."""
    q = np.asarray(q, dtype=float)
    if q.ndim != 1:
        raise ValueError(f"q is one query, a row of d_k numbers, but its shape is {q.shape}; give one row of Q")
    scores, values = am.dot_scores(q[None], K)[0], np.asarray(V, dtype=float)
    if values.ndim != 2:
        raise ValueError(f"V needs a row of d_v numbers for each key, but its shape is {values.shape}")
    parts = {
        "tokens": as_names("tokens", tokens),
        "scores": scores.tolist(),
        "values": values.tolist(),
        "d_k": len(q),
        "scaled": True,
    }
    return {"zh": zh, "en": en, **parts}


def parts_of(examples, index):
    """What the example at this place gives the traits."""
    if not is_whole(index) or not 0 <= index < len(examples):
        raise Misfit(f"example {index!r} was asked for, but there are {len(examples)}, counted from 0")
    return {name: value for name, value in examples[index].items() if name not in ("zh", "en")}


def check_fit(tokens, scores, values, d_k):
    """Raise Misfit, with the remedy, unless these make a picture together."""
    n, widths = len(as_names("tokens", tokens)), {len(np.atleast_1d(v)) for v in values}
    if not 2 <= n <= 6:
        raise Misfit(f"there are {n} tokens; the calculator shows 2 to 6")
    if not len(scores) == len(values) == n:
        raise Misfit(
            f"{n} tokens need {n} scores and {n} rows of values, but there are {len(scores)} and {len(values)}; "
            "change them together, inside `with calculator.hold_trait_notifications():`"
        )
    if len(widths) != 1 or not widths <= {1, 2, 3, 4}:
        raise Misfit(f"the rows of values have widths {sorted(widths)}; all need the same d_v, from 1 to 4")
    if not (np.isfinite(scores).all() and np.isfinite(values).all()):
        raise Misfit("scores and values must be finite numbers; replace nan and inf")
    if d_k < 1:
        raise Misfit(f"d_k is {d_k}, but a key has at least one component")


class AttentionCalculator(Widget):
    """One query against n keys: move the scores, see the scaled scores, the weights and the output z = Σ a_j v_j.

    `examples` is a list of dicts with "zh" and "en" (its name), "tokens" (n names), "q" (d_k), "K" (n, d_k) and
    "V" (n, d_v); n from 2 to 6, d_v from 1 to 4.  Without it: `first_examples()`.  `example` counts from 0: the one
    that is shown first.  Raises ValueError for what does not fit.
    """

    examples = t.List(t.Dict()).tag(sync=True)
    example = t.Int(0).tag(sync=True)
    tokens = t.List(t.Unicode()).tag(sync=True)
    scores = t.List(t.Float()).tag(sync=True)
    values = t.List(t.List(t.Float())).tag(sync=True)
    d_k = t.Int(1).tag(sync=True)
    scaled = t.Bool(True).tag(sync=True)

    def __init__(self, examples=None, example=0):
        rows = [as_sliders(**given) for given in (first_examples() if examples is None else examples)]
        for row in rows:
            check_fit(row["tokens"], row["scores"], row["values"], row["d_k"])
        super().__init__(examples=rows, example=example, **parts_of(rows, example))

    @t.validate("tokens", "scores", "values", "d_k")
    def _validate_fit(self, proposal):
        now = {name: getattr(self, name) for name in ("tokens", "scores", "values", "d_k")}
        check_fit(**now | {proposal.trait.name: proposal.value})
        return proposal.value

    @t.validate("example")
    def _validate_example(self, proposal):
        parts_of(self.examples, proposal.value)  # raises where there is none
        return proposal.value

    @t.observe("example")
    def _show_example(self, change):
        with self.hold_trait_notifications():
            for name, value in parts_of(self.examples, change.new).items():
                self.set_trait(name, value)

    @t.default("still")
    def _still(self):
        title = "一个查询的注意力权重与输出 | Attention weights and output of one query"
        components = [f"z[{c}]" for c in range(len(self.output))]
        return still(title, ("a", "a", self.tokens, self.weights), ("z = Σ aⱼ vⱼ", "z", components, self.output))

    @property
    def weights(self):
        """Attention weights (n,) of the sliders' present scores."""
        return am.softmax(np.array(self.scores) / (math.sqrt(self.d_k) if self.scaled else 1))

    @property
    def output(self):
        """Output z (d_v,): the values mixed by the weights."""
        return self.weights @ np.array(self.values)

    def __repr__(self):
        scores = ", ".join(f"{s:.4g}" for s in self.scores)
        return f"AttentionCalculator(tokens={self.tokens}, scores=[{scores}], d_k={self.d_k}, scaled={self.scaled})"
