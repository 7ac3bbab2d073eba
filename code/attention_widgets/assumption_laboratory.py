"""The assumption laboratory: what the score's mean and variance become when a condition of the theorem fails."""

import math
import numbers

import traitlets as t

from .base import Among, Misfit, Widget, still

WIDTHS = (4, 16, 64, 256)  # assumption_laboratory.js holds the same
NO_CONDITION_FAILS = {"rho": 0, "mu_q": 0, "mu_k": 0}
CASES = {  # of the still picture
    "ρ=μ=0": {},
    "ρ=0.5": {"rho": 0.5},
    "μ=0.5": {"mu_q": 0.5, "mu_k": 0.5},
    "q=k": {"tied": True},
    "q₀=q₁=…": {"repeated": True},
}


def predict(rho, mu_q, mu_k, d_k, tied=False, repeated=False):
    """Mean and variance of the score q kᵀ, for jointly normal components of variance 1.

    Matching components of q and k have correlation rho and means mu_q and mu_k; with `tied`, k = q.  Components at
    different places are independent; with `repeated`, all are equal, within q and within k.
    """
    if tied:
        rho, mu_k = 1, mu_q
    mean = rho + mu_q * mu_k  # of one product
    variance = 1 + rho**2 + mu_q**2 + mu_k**2 + 2 * rho * mu_q * mu_k
    return d_k * mean, (d_k**2 if repeated else d_k) * variance


class Reach(t.Float):
    """A number from −1 to 1."""

    def validate(self, obj, value):
        number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not number or not -1 <= value <= 1:  # refuses nan too
            raise Misfit(f"{self.name} is {value!r}; it must be a number from −1 to 1")
        return float(value)


class AssumptionLaboratory(Widget):
    """Mean and variance of the score q kᵀ, predicted and simulated, when the assumptions of the theorem hold or fail.

    rho is the correlation of matching components of q and k, mu_q and mu_k are their means, all from −1 to 1; d_k is
    4, 16, 64 or 256.  With `tied`, k = q: then rho counts as 1 and mu_k as mu_q.  With `repeated`, all components of q
    are equal, and all of k.  Raises ValueError for what does not fit.
    """

    rho = Reach(0.0).tag(sync=True)
    mu_q = Reach(0.0).tag(sync=True)
    mu_k = Reach(0.0).tag(sync=True)
    d_k = Among(WIDTHS, 64).tag(sync=True)
    tied = t.Bool(False).tag(sync=True)
    repeated = t.Bool(False).tag(sync=True)

    def __init__(self, rho=0.0, mu_q=0.0, mu_k=0.0, d_k=64, tied=False, repeated=False):
        super().__init__(rho=rho, mu_q=mu_q, mu_k=mu_k, d_k=d_k, tied=tied, repeated=repeated)

    @property
    def conditions(self):
        """The arguments of `predict`."""
        return {name: getattr(self, name) for name in ("rho", "mu_q", "mu_k", "d_k", "tied", "repeated")}

    @property
    def mean(self):
        """Predicted mean of the score; that of the scaled score is mean / √d_k."""
        return predict(**self.conditions)[0]

    @property
    def variance(self):
        """Predicted variance of the score; that of the scaled score is variance / d_k."""
        return predict(**self.conditions)[1]

    @t.default("still")
    def _still(self):
        title = f"五种情形下缩放分数的均值与方差（预测，dₖ = {self.d_k}）"
        title += f" | Predicted mean and variance of the scaled score in five cases, dₖ = {self.d_k}"
        found = [predict(**NO_CONDITION_FAILS | case, d_k=self.d_k) for case in CASES.values()]
        means = [mean / math.sqrt(self.d_k) for mean, _ in found]
        variances = [variance / self.d_k for _, variance in found]
        groups = (("E(q kᵀ / √dₖ)", means), ("Var(q kᵀ / √dₖ)", variances))
        return still(title, *((heading, "plain", CASES, numbers) for heading, numbers in groups))

    def __repr__(self):
        return f"AssumptionLaboratory({', '.join(f'{name}={value}' for name, value in self.conditions.items())})"
