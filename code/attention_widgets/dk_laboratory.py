"""The d_k laboratory: how scores spread as q and k grow longer, with and without the division by √d_k."""

import functools

import numpy as np
import traitlets as t

import attention_mechanism as am

from .base import Among, Misfit, Widget, is_whole, still

WIDTHS = tuple(2**i for i in range(11))  # of q and k
COUNTS = tuple(2**i for i in range(1, 8))  # of keys
ROWS = 400  # queries, each with keys of its own
REACH = 96  # of the histograms; three standard deviations at the largest width
SATURATED = 0.99  # a row whose largest weight is above this


def draw_scores(seed):
    """Scores (width, row, key) of normal q and k; a smaller width takes their first components."""
    rng, scores = np.random.default_rng(seed), np.empty((len(WIDTHS), ROWS, max(COUNTS)))
    for row in range(ROWS):
        q, K = rng.standard_normal((1, max(WIDTHS))), rng.standard_normal((max(COUNTS), max(WIDTHS)))
        for i, d in enumerate(WIDTHS):
            scores[i, row] = am.dot_scores(q[:, :d], K[:, :d])[0]
    return scores


def histogram(scores):
    """How many of them round to −m, …, 0, …, m; m is as large as it must be, but not above REACH."""
    m = min(REACH, round(np.abs(scores).max()))
    return np.histogram(scores, bins=np.arange(-m - 0.5, m + 1))[0].tolist()


def count_saturated(scores):
    """For each number of keys: in how many rows the largest weight is above SATURATED."""
    return [int((am.softmax(scores[:, :n]).max(axis=1) > SATURATED).sum()) for n in COUNTS]


@functools.lru_cache(maxsize=8)
def frames(seed):
    """All that the page shows, for each width: unscaled and scaled side by side, and the scores of one row."""
    unscaled = draw_scores(seed)
    both = [(s, s / np.sqrt(d)) for s, d in zip(unscaled, WIDTHS, strict=True)]
    return {
        "widths": list(WIDTHS),
        "counts": list(COUNTS),
        "rows": ROWS,
        "reach": REACH,
        "spread": [[round(float(s.std()), 4) for s in pair] for pair in both],
        "histogram": [[histogram(s) for s in pair] for pair in both],
        "saturated": [[count_saturated(s) for s in pair] for pair in both],
        "scores": unscaled[:, 0].round(4).tolist(),
    }


class DkLaboratory(Widget):
    """Scores and weights of random q and k: move the key width d_k and the number of keys n_k.

    d_k is a power of 2 from 1 to 1024, n_k one from 2 to 128.  The components are drawn from the standard normal
    distribution by `np.random.default_rng(seed)`, once, for 400 queries with 128 keys each; the sliders take the first
    d_k components and the first n_k keys of them.  Raises ValueError for what does not fit.
    """

    d_k = Among(WIDTHS, 64).tag(sync=True)
    n_k = Among(COUNTS, 8).tag(sync=True)
    _frames = t.Dict().tag(sync=True)

    def __init__(self, d_k=64, n_k=8, seed=0):
        if not is_whole(seed) or seed < 0:
            raise Misfit(f"seed is {seed!r}; it must be a whole number, 0 or more")
        self.seed = int(seed)
        super().__init__(d_k=d_k, n_k=n_k, _frames=frames(self.seed))

    def _frame(self, name):
        return self._frames[name][WIDTHS.index(self.d_k)]

    @property
    def scores(self):
        """Scores (n_k,) of the row that is shown, not scaled."""
        return np.array(self._frame("scores")[: self.n_k])

    @property
    def weights(self):
        """Its attention weights (2, n_k): from the scores, and from the scaled scores."""
        return am.softmax(self.scores / np.array([[1], [np.sqrt(self.d_k)]]))

    @property
    def spread(self):
        """Standard deviations of all scores, and of all scaled scores."""
        return tuple(self._frame("spread"))

    @property
    def saturated(self):
        """In how many of the 400 rows the largest weight is above 0.99: without scaling, and with it."""
        return tuple(counts[COUNTS.index(self.n_k)] for counts in self._frame("saturated"))

    @t.default("still")
    def _still(self):
        n, shown = COUNTS.index(self.n_k), WIDTHS[::2]
        title = f"最大权重超过 0.99 的行占多少：{self.n_k} 个键，不缩放与缩放"
        title += f" | Share of rows whose largest weight is above 0.99: {self.n_k} keys, unscaled and scaled"
        groups = []
        for side, symbol in enumerate(("s", "s / √dₖ")):
            shares = [self._frames["saturated"][WIDTHS.index(d)][side][n] / ROWS for d in shown]
            groups.append((f"P(max a > {SATURATED}),  {symbol}", "a", [f"dₖ={d}" for d in shown], shares))
        return still(title, *groups)

    def __repr__(self):
        return f"DkLaboratory(d_k={self.d_k}, n_k={self.n_k}, seed={self.seed})"
