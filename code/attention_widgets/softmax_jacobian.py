"""The softmax Jacobian: scores and temperature by slider, and how every weight answers when one score is raised."""

import math

import numpy as np
import traitlets as t

import attention_mechanism as am

from .base import Misfit, Whole, Widget, as_numbers, short, still_bars, still_frame, still_matrix

REACH, COLDEST, HOTTEST = 6, 0.1, 10  # the ends of the sliders; softmax_jacobian.js holds the same


def check_scores(scores, n=None):
    """Raise Misfit, with the remedy, unless these are the scores of n keys, of 2 to 6 where n is None."""
    if n is None and not 2 <= len(scores) <= 6:
        raise Misfit(f"there are {len(scores)} scores; give 2 to 6")
    if n is not None and len(scores) != n:
        raise Misfit(f"there are {len(scores)} scores, but {n} keys; for another number make a new SoftmaxJacobian")
    if not all(abs(s) <= REACH for s in scores):  # refuses nan too
        raise Misfit(f"the scores {scores} must lie from −{REACH} to {REACH}")


class SoftmaxJacobian(Widget):
    """Weights a = softmax(s / τ) of 2 to 6 scores s, and J = diag(a) − aᵀa, their derivative by s / τ (not by s).

    `raised` is the key whose score is raised a little to see how each weight answers.  Raises ValueError for what does
    not fit.
    """

    scores = t.List(t.Float()).tag(sync=True)
    temperature = t.Float(1.0).tag(sync=True)
    raised = Whole(0).tag(sync=True)
    _start = t.Dict().tag(sync=True)  # what it was made with

    def __init__(self, scores=(2, 1, 0, -1), temperature=1):
        start = {"scores": as_numbers("scores", scores, 1), "temperature": as_numbers("temperature", temperature, 0)}
        check_scores(start["scores"])
        super().__init__(**start, _start=start | {"raised": 0})

    @t.validate("scores")
    def _validate_scores(self, proposal):
        check_scores(proposal.value, len(self._start["scores"]))
        return proposal.value

    @t.validate("temperature")
    def _validate_temperature(self, proposal):
        if not COLDEST <= proposal.value <= HOTTEST:
            raise Misfit(f"temperature is {proposal.value:g}; it must lie from {COLDEST} to {HOTTEST}")
        return proposal.value

    @t.validate("raised")
    def _validate_raised(self, proposal):
        if not 0 <= proposal.value < len(self.scores):
            raise Misfit(f"there is no score {proposal.value}; the {len(self.scores)} scores are counted from 0")
        return proposal.value

    @t.default("still")
    def _still(self):
        names = [f"a[{j}]" for j in range(len(self.scores))]
        parts = still_bars(0, "a = softmax(s/τ)", "a", names, self.weights)
        top = 40 + 28 * len(names)
        parts += still_matrix(0, top, "J = diag(a) − aᵀa", "a", self.jacobian)
        title = "softmax 的权重与雅可比矩阵 | Weights of a softmax, and their Jacobian"
        return still_frame(title, max(300, 62 * len(names)), top + 28 * len(names) + 26, parts)

    @property
    def weights(self):
        """Attention weights (n,)."""
        return am.softmax(np.array(self.scores) / self.temperature)

    @property
    def jacobian(self):
        """J (n, n): entry (j, j') is the derivative of weight j by score j' over the temperature."""
        return am.softmax_jacobian(self.weights)

    @property
    def size(self):
        """Frobenius norm of J: from 0 (one weight is 1) to 1/2 (two weights are 1/2)."""
        return math.sqrt((self.jacobian**2).sum())

    def __repr__(self):
        scores, tau, weights = short(self.scores), round(self.temperature, 4), short(self.weights)
        return f"SoftmaxJacobian(scores={scores}, temperature={tau:g}, weights={weights})"
