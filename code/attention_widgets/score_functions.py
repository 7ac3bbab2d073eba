"""Score functions: dot, scaled, general and additive scores of one query and three keys, side by side."""

import math

import numpy as np
import traitlets as t

import attention_mechanism as am

from .base import Misfit, Widget, as_names, as_numbers, short, still_frame, still_table

FUNCTIONS = ("dot", "scaled", "general", "additive")
FORMULAS = ("s hᵀ", "s hᵀ / √d", "s W hᵀ", "tanh(s W₁ + h W₂) vᵀ")
LONGEST, REACH = 10, 3  # how many times as long s may become, and how large a given number may be
QUERY = (0.8, 0.6)
KEYS = ((1.5, 0.5), (-0.5, 1.0), (-1.0, -1.0))
SWAP = ((0, 1), (1, 0))  # s W hᵀ multiplies the first component of s by the second of h, and the second by the first
LAYER = {"W_1": ((0, -1, -1), (1, 0, -1)), "W_2": ((0.5, -0.5, -1), (-1, -1, -0.5)), "v": (1.5, -1, 1)}


def check(given):
    """Raise Misfit, with the remedy, unless these are one query, three keys and parameters that fit them."""
    d_a = len(given["v"])
    if not d_a:
        raise Misfit("v is empty; give it at least one number")
    layer = f"2 rows of {d_a} numbers, as many as v has"
    wanted = {
        "s": ((2,), "2 numbers"),
        "h": ((3, 2), "3 keys of 2 numbers each"),
        "W": ((2, 2), "2 rows of 2 numbers"),
        "W_1": ((2, d_a), layer),
        "W_2": ((2, d_a), layer),
        "v": ((d_a,), ""),
    }
    for name, (shape, words) in wanted.items():
        found = np.array(given[name])
        if found.shape != shape:
            raise Misfit(f"{name} must be {words}: shape {shape}, but it has shape {found.shape}")
        if not (np.abs(found) <= REACH).all():  # refuses nan too
            raise Misfit(f"{name} is {given[name]}; its numbers must lie from −{REACH} to {REACH}")
    if not any(given["s"]):
        raise Misfit("s is zero and has no direction to start from; give another, and shorten it by the slider")


def check_names(keys):
    """The names of the keys as a list; Misfit unless they are three."""
    names = as_names("keys", keys)
    if len(names) != 3 or not all(isinstance(name, str) and name for name in names):
        raise Misfit(f"keys must be 3 names, one for each row of h, but it is {names}")
    return names


class ScoreFunctions(Widget):
    """Four score functions on one query s and three keys h: make s longer or shorter, and turn it.

    `s` has 2 numbers, `h` 3 rows of 2; `W` (2, 2) is the parameter of the general score, `W_1` (2, d_a), `W_2` (2, d_a)
    and `v` (d_a,) those of the additive one; all numbers from −3 to 3.  `keys` names the keys.  `factor`, 0 to 10, is
    how many times as long as the given s the query is now, `direction` its angle in degrees; with `identity` on, the
    general score takes W = I.  Raises ValueError for what does not fit.
    """

    factor = t.Float(1.0).tag(sync=True)
    direction = t.Float(0.0).tag(sync=True)
    identity = t.Bool(False).tag(sync=True)
    _start = t.Dict().tag(sync=True)  # what it was made with

    def __init__(
        self, s=QUERY, h=KEYS, W=SWAP, W_1=LAYER["W_1"], W_2=LAYER["W_2"], v=LAYER["v"], keys=("h₀", "h₁", "h₂")
    ):
        arrays = {"s": (s, 1), "h": (h, 2), "W": (W, 2), "W_1": (W_1, 2), "W_2": (W_2, 2), "v": (v, 1)}
        start = {name: as_numbers(name, given, axes) for name, (given, axes) in arrays.items()}
        check(start)
        x, y = start["s"]
        direction = math.degrees(math.atan2(y, x)) % 360
        super().__init__(_start=start | {"names": check_names(keys), "direction": direction}, direction=direction)

    @t.validate("factor", "direction")
    def _validate_place(self, proposal):
        name, most = proposal.trait.name, {"factor": LONGEST, "direction": 360}[proposal.trait.name]
        if not 0 <= proposal.value <= most:  # refuses nan too
            raise Misfit(f"{name} is {proposal.value:g}; it must lie from 0 to {most}")
        return proposal.value

    @t.default("still")
    def _still(self):
        zh = "一个查询、三个键：四种打分函数给出的注意力权重"
        title = f"{zh} | One query, three keys: the attention weights that four score functions give"
        table = still_table(160, "α", FORMULAS, self.names, self.weights, 64)
        return still_frame(title, 360, 150, table)

    @property
    def names(self):
        """Names of the keys."""
        return self._start["names"]

    @property
    def s(self):
        """The query (2,) as it is now."""
        angle = math.radians(self.direction)
        return self.factor * math.hypot(*self._start["s"]) * np.array([math.cos(angle), math.sin(angle)])

    @property
    def scores(self):
        """Scores (4, 3) of the keys: dot, scaled, general, additive."""
        s, h, W, *layer = ([self.s], *(np.array(self._start[name]) for name in ("h", "W", "W_1", "W_2", "v")))
        general = am.general_scores(s, h, np.eye(2) if self.identity else W)
        return np.concatenate([am.dot_scores(s, h), am.scaled_scores(s, h), general, am.additive_scores(s, h, *layer)])

    @property
    def weights(self):
        """Attention weights (4, 3) that these scores give."""
        return am.softmax(self.scores)

    @property
    def bound(self):
        """‖v‖₁: no additive score is farther from 0."""
        return math.fsum(map(abs, self._start["v"]))

    def __repr__(self):
        weights = ", ".join(f"{name}={short(row)}" for name, row in zip(FUNCTIONS, self.weights, strict=True))
        return f"ScoreFunctions(s={short(self.s)}, identity={self.identity}, {weights})"
