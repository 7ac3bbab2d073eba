"""Figures of the book: each draws on `ax`, or on a figure of its own, and returns it.  Text is English and symbols.
A row of weights over a sentence in any language is text instead (`Sentence`).

One picture serves light and dark pages.  The figure is transparent with dark text, and the site's dark theme applies
`filter: invert(1) hue-rotate(180deg)`.  So no cell is darker than its black number can bear, before and after that
filter.  A file that any viewer should show needs a background: `fig.savefig(path, facecolor="white")`.
"""

from html import escape

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.ticker import LogLocator, NullFormatter

from attention_colours import LIGHT

INK, PALE, SLATE, TAUPE = "#16191d", "#ebedf0", "#8197ac", "#b39a80"
WEIGHT = [0.45 + 0.55 * x for x in to_rgb(LIGHT["a"])]  # the colour of the weights, lightened

# Scores have a sign and their zero means something (orthogonal vectors): two hues that part at zero, neither of
# them the colour of a role.  Weights run from 0 to 1: one hue.
SCORES = LinearSegmentedColormap.from_list("scores", [TAUPE, PALE, SLATE])
WEIGHTS = LinearSegmentedColormap.from_list("weights", [PALE, WEIGHT])

plt.rcParams.update({
    "figure.dpi": 144,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelpad": 6,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
})  # fmt: skip


def number(x):
    """Three decimals and a true minus sign; −∞ for a blocked score."""
    if np.isinf(x):
        return "−∞" if x < 0 else "∞"
    return f"{round(float(x), 3) + 0.0:.3f}".replace("-", "−")


def heat_map(M, cmap, low, high, ax, queries, keys):
    """The cells of M (n_q, n_k) with their numbers; rows are queries, columns are keys."""
    M = np.asarray(M, dtype=float)
    if M.ndim != 2:
        raise ValueError(f"a heat map needs a matrix (n_q, n_k), but the shape is {M.shape}; choose one head or batch")
    names = {"queries": (queries, M.shape[0]), "keys": (keys, M.shape[1])}
    for axis, (given, n) in names.items():
        if given is not None and len(given) != n:
            raise ValueError(f"the matrix has {n} {axis}, but {len(given)} names were given for them")
    if ax is None:
        ax = plt.subplots(figsize=(1.0 + 0.68 * M.shape[1], 0.7 + 0.5 * M.shape[0]))[1]
    ax.imshow(np.ma.masked_invalid(M), cmap=cmap, vmin=low, vmax=high, aspect="auto")
    for (i, j), x in np.ndenumerate(M):
        ax.text(j, i, number(x), ha="center", va="center", color="black")
    ax.set_yticks(range(M.shape[0]), queries)
    ax.set_xticks(range(M.shape[1]), keys)
    ax.set(xlabel="key", ylabel="query")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def scores(S, ax=None, queries=None, keys=None, limit=None):
    """Heat map of scores S (n_q, n_k), raw or scaled -> Axes.

    `queries` and `keys` name the rows and columns.  The colours reach from −limit to limit; give two pictures the
    same limit and their colours compare.  Without it, the largest finite |score|.  Raises ValueError if S is not a
    matrix or the names do not fit.
    """
    if limit is None:
        S = np.asarray(S, dtype=float)
        limit = np.max(np.abs(S), where=np.isfinite(S), initial=0) or 1
    return heat_map(S, SCORES, -limit, limit, ax, queries, keys)


def weights(A, ax=None, queries=None, keys=None):
    """Heat map of attention weights A (n_q, n_k), colours from 0 to 1 -> Axes.  Raises as `scores` does."""
    return heat_map(A, WEIGHTS, 0, 1, ax, queries, keys)


def by_head(share, ax=None):
    """Heat map of a number from 0 to 1 for each head (n_layer, n_head) -> Axes.  Raises as `scores` does."""
    ax = heat_map(share, WEIGHTS, 0, 1, ax, None, None)
    ax.set(xlabel="head", ylabel="layer")
    return ax


def sentence_map(A, tokens, ax=None):
    """Heat map of weights A (n, n) over a whole sentence, its tokens on both sides, without numbers -> Axes.

    Raises ValueError if A is not a matrix with a row and a column for each token.
    """
    A, n = np.asarray(A, dtype=float), len(tokens)
    if A.shape != (n, n):
        raise ValueError(f"{n} tokens need weights ({n}, {n}), got {A.shape}")
    if ax is None:
        ax = plt.subplots(figsize=(1.2 + 0.27 * n, 1.0 + 0.27 * n))[1]
    ax.imshow(A, cmap=WEIGHTS, vmin=0, vmax=1)
    ax.set_yticks(range(n), tokens)
    ax.set_xticks(range(n), tokens, rotation=90)
    ax.set(xlabel="key", ylabel="query")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def three_panels(S, S_scaled, A, tokens=None):
    """Raw scores, scaled scores and weights, each (n_q, n_k), side by side -> array of three Axes.

    The first two share their colours, so that the scaling shows.  `tokens` names the keys, and the queries if there
    are as many.  Raises as `scores` does.
    """
    S, S_scaled, A = (np.asarray(M, dtype=float) for M in (S, S_scaled, A))
    n_q, n_k = A.shape
    limit = np.max(np.abs([S, S_scaled]), where=np.isfinite([S, S_scaled]), initial=0) or 1
    names = {"queries": tokens if n_q == n_k else None, "keys": tokens}
    axes = plt.subplots(1, 3, figsize=(1.6 + 1.95 * n_k, 1.0 + 0.5 * n_q), sharey=True)[1]
    scores(S, axes[0], limit=limit, **names).set_title(r"Raw scores $S$")
    scores(S_scaled, axes[1], limit=limit, **names).set_title(r"Scaled scores $\tilde{S}$")
    weights(A, axes[2], **names).set_title("Weights $A$")
    for ax in axes[1:]:
        ax.set_ylabel("")
    return axes


def weights_by_step(frames, titles, tokens):
    """Weights (n, n) at several moments, two heat maps to a line, each under its title -> array of Axes.

    `tokens` names the queries and the keys.  Raises ValueError if there are no frames or not as many titles, and as
    `scores` does.
    """
    if not len(titles) or len(frames) != len(titles):
        raise ValueError(f"give a title for each matrix; there are {len(frames)} matrices and {len(titles)} titles")
    n, lines = len(tokens), -(-len(frames) // 2)
    axes = plt.subplots(lines, 2, figsize=(1.6 + 1.2 * n, lines * (0.8 + 0.44 * n)), squeeze=False)[1]
    for ax, A, title in zip(axes.flat, frames, titles, strict=False):
        weights(A, ax, tokens, tokens).set_title(title)
    for ax in axes.flat[len(frames) :]:
        ax.set_axis_off()
    return axes


def head_split(X, n_head):
    """Where the numbers of X (n, n_head·d) go: X itself, its heads, and a bare reshape to the same shape -> three Axes.

    A cell's shade is the head to which its column of X belongs; heads stand below one another.  Raises ValueError if
    X is not a matrix whose columns n_head divides, or is empty.
    """
    X = np.asarray(X)
    if X.ndim != 2 or not X.size or n_head < 1 or X.shape[1] % n_head:
        raise ValueError(f"X must be a matrix (n, n_head·d), but the shape is {X.shape} and n_head = {n_head}")
    n, width = X.shape
    shade = np.broadcast_to(np.arange(width) * n_head // width, X.shape)
    panels = {
        "$X$": lambda M: M[None],
        "split into heads": lambda M: M.reshape(n, n_head, -1).swapaxes(0, 1),
        "bare reshape": lambda M: M.reshape(n_head, n, -1),
    }
    ratios = [n_head, 1, 1]
    size = (2.6 + 0.42 * width * (n_head + 2) / n_head, 0.6 + 0.34 * n_head * (n + 1))
    axes = plt.subplots(1, 3, figsize=size, width_ratios=ratios)[1]
    for ax, (title, cut) in zip(axes, panels.items(), strict=True):
        blocks, names = cut(X), []
        for r, (block, shades) in enumerate(zip(blocks, cut(shade), strict=True)):
            top = r * (n + 1)  # an empty line between the heads
            for (i, c), x in np.ndenumerate(block):
                ax.add_patch(plt.Rectangle((c - 0.5, top + i - 0.5), 1, 1, color=SCORES(1 - shades[i, c] / n_head)))
                ax.text(c, top + i, f"{x:g}", ha="center", va="center", color="black")
            names += [(top + i, f"head {r}, row {i}" if len(blocks) > 1 else f"row {i}") for i in range(n)]
        ax.set_yticks(*zip(*names, strict=True))
        ax.set(xlim=(-0.5, blocks.shape[-1] - 0.5), ylim=(n_head * (n + 1) - 1.5, -0.5), title=title, xticks=[])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
    return axes


def arrows(q, K, ax=None):
    """A query q (2,) and keys K (n_k, 2) as arrows from the origin, each key with its score q·k -> Axes.

    Raises ValueError if a vector has not two components.
    """
    q, K = np.asarray(q, dtype=float), np.asarray(K, dtype=float)
    if q.shape != (2,) or K.ndim != 2 or K.shape[1] != 2:
        raise ValueError(f"arrows lie in a plane: q must be (2,) and K (n_k, 2), but they are {q.shape} and {K.shape}")
    if ax is None:
        ax = plt.subplots(figsize=(3.4, 2.5))[1]
    tips = np.vstack([q, K])
    labels = ["$q$"] + [f"$k_{j}$: score {number(q @ k)}" for j, k in enumerate(K)]
    colours = [LIGHT["q"]] + [LIGHT["k"]] * len(K)
    ax.quiver(*np.zeros_like(tips).T, *tips.T, color=colours, angles="xy", scale_units="xy", scale=1)
    for label, tip in zip(labels, tips, strict=True):
        ax.annotate(label, tip, (6, 3), textcoords="offset points")
    low, high = np.minimum(tips.min(axis=0), 0), np.maximum(tips.max(axis=0), 0)
    ax.set(xlim=(low[0] - 0.2, high[0] + 1.2), ylim=(low[1] - 0.2, high[1] + 0.4), aspect="equal")
    ax.set(xlabel="component 0", ylabel="component 1")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def curves(x, ys, xlabel="", ylabel="", ax=None):
    """Lines over x (n,): `ys` maps the name that stands at a line's right end to its values (n,) -> Axes.

    Columns (n, 1), as queries and outputs of width 1 are, will do as well.  Raises ValueError if there are more than
    four lines: more could not be told apart without colour.
    """
    if len(ys) > 4:
        raise ValueError(f"{len(ys)} lines cannot be told apart without colour; give four at most")
    if ax is None:
        ax = plt.subplots(figsize=(3.4, 2.3))[1]
    x = np.ravel(x)
    for (name, y), style in zip(ys.items(), ["solid", "dashed", "dotted", "dashdot"], strict=False):
        y = np.ravel(y)
        ax.plot(x, y, color=LIGHT["z"], linestyle=style, linewidth=2)
        ax.annotate(name, (x[-1], y[-1]), (6, 0), textcoords="offset points", va="center")
    ax.axhline(0, color=INK, linewidth=0.6)
    ax.axvline(0, color=INK, linewidth=0.6)
    if np.issubdtype(x.dtype, np.integer):  # layers and lengths are counted: no tick at 2.5
        ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def measured(x, points, curves=(), xlabel="", ylabel="", ax=None):
    """Measured points with error bars over x (n,), and the curves that theory draws, on logarithmic axes -> Axes.

    `points` maps the name that stands at the last point to pairs of a value and its error, (n, 2); both are NaN where
    nothing was measured.  `curves` are rows of values (n,), drawn as dashed lines.  Raises ValueError if there are more
    than three sets of points, for more could not be told apart without colour; if they are not as many as x; or if
    anything is not positive, which would be missing from the picture.
    """
    if len(points) > 3:
        raise ValueError(f"{len(points)} sets of points cannot be told apart without colour; give three at most")
    if ax is None:
        ax = plt.subplots(figsize=(3.4, 2.5))[1]
    for (name, pairs), marker in zip(points.items(), "os^", strict=False):
        pairs = np.asarray(pairs, dtype=float)
        if pairs.shape != (len(x), 2):
            raise ValueError(f"{name} needs a value and an error for each x, ({len(x)}, 2), but has {pairs.shape}")
        there = ~np.isnan(pairs).all(axis=1)
        (y, error), at = pairs[there].T, np.asarray(x)[there]
        if not (there.any() and np.min(x) > 0 and np.min(y) > 0):
            raise ValueError(f"logarithmic axes show positive numbers only, and {name} or x has none or others")
        ax.errorbar(at, y, error, color=LIGHT["z"], marker=marker, markersize=4, linestyle="none", capsize=2)
        stops = at[-1] != x[-1]  # its name then stands above, for other points go on beside it
        where = {"va": "bottom", "ha": "center"} if stops else {"va": "center"}
        ax.annotate(name, (at[-1], y[-1]), (0, 6) if stops else (8, 0), textcoords="offset points", **where)
    names = sorted((name for name in ax.texts if name.xy[0] == x[-1]), key=lambda name: name.xy[1])
    if len(names) > 1:  # two that end close together would lie upon each other
        names[0].set_va("top")
        names[-1].set_va("bottom")
    for y in curves:
        ax.plot(x, y, color=INK, linestyle="dashed", linewidth=0.8)
    ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
    for axis in (ax.xaxis, ax.yaxis):
        low, high = axis.get_view_interval()
        if high < 100 * low:  # a short axis would have labels like 6×10⁰
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter(NullFormatter())
    ax.spines[["top", "right"]].set_visible(False)
    return ax


class Sentence:
    """The tokens of a sentence, shaded with the weights that one query gives them: row `query` of A (n, n).

    Text and no picture, for the fonts of figures have no Chinese; `lang` tells browsers and screen readers the
    sentence's language.  The query's own token is underlined.
    """

    def __init__(self, A, tokens, query, lang="en"):
        if np.shape(A) != (len(tokens), len(tokens)):
            raise ValueError(f"{len(tokens)} tokens need weights ({len(tokens)}, {len(tokens)}), got {np.shape(A)}")
        self.weights, self.tokens, self.query, self.lang = A[query], [str(t) for t in tokens], query, lang

    def __repr__(self):
        pairs = zip(self.tokens, self.weights, strict=True)
        return f"{self.tokens[self.query]} → " + ", ".join(f"{token} {w:.2f}" for token, w in pairs)

    def _repr_html_(self):
        r, g, b = (round(255 * x) for x in to_rgb(LIGHT["a"]))
        words = [escape(token) for token in self.tokens]
        words[self.query] = f"<u>{words[self.query]}</u>"
        boxes = [
            f'<span style="display:inline-block;text-align:center;padding:.1em .4em;margin:.15em;border-radius:.3em;'
            f'background:rgba({r},{g},{b},{w / 2:.3f})">{word}<br><small>{w:.2f}</small></span>'
            for word, w in zip(words, self.weights, strict=True)
        ]
        return f'<div lang="{escape(self.lang)}"><b>{escape(self.tokens[self.query])}</b> → {" ".join(boxes)}</div>'
