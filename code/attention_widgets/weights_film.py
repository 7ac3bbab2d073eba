"""The film of the weights: how attention weights change from step to step of a training."""

from collections.abc import Mapping

import numpy as np
import traitlets as t

from .base import Misfit, Whole, Widget, as_names, as_numbers, still_frame, still_table

MOST = 8  # queries or keys that fit side by side on a phone


def as_film(name, frames, steps):
    """Frames (n_steps, n_q, n_k) as the module takes them, checked."""
    film = np.array(as_numbers(f"film {name}", frames, 3))
    if not film.size:
        raise Misfit(f"film {name} is empty; give a matrix of weights for each step")
    if len(film) != len(steps):
        raise Misfit(f"film {name} has {len(film)} matrices, but there are {len(steps)} steps; give one for each step")
    if not 1 <= min(film.shape[1:]) <= max(film.shape[1:]) <= MOST:
        raise Misfit(f"film {name} has {film.shape[1]} queries and {film.shape[2]} keys; it shows 1 to {MOST} of each")
    if not (np.isfinite(film).all() and film.min() >= 0 and film.max() <= 1 + 1e-6):
        raise Misfit(f"film {name} holds numbers that are no weights; give numbers from 0 to 1")
    return film


class WeightsFilm(Widget):
    """Weights, one step at a time: `films` maps a name to an array (n_steps, n_q, n_k), `steps` are their numbers.

    Two films are shown side by side.  A name serves both languages, so it is best a symbol.  `queries` and `keys` name
    rows and columns (else they are numbered); `frame` says which step is shown, counted from 0.  Raises ValueError for
    what does not fit.
    """

    frame = Whole(0).tag(sync=True)
    _reel = t.Dict().tag(sync=True)

    def __init__(self, films, steps, queries=None, keys=None, frame=0):
        if not isinstance(films, Mapping):
            raise Misfit(f"films must map names to arrays, as {{'A': film}}, but it is {films!r}")
        steps = as_numbers("steps", steps, 1)
        if not all(step.is_integer() for step in steps):  # refuses nan too
            raise Misfit(f"the steps are {steps}; each must be a whole number")
        steps = [int(step) for step in steps]
        films = {str(name): as_film(name, frames, steps) for name, frames in films.items()}
        shapes = {film.shape[1:] for film in films.values()}
        if len(shapes) != 1 or not steps:
            raise Misfit(f"give at least one film and one step, all films of one size; the sizes are {sorted(shapes)}")
        n_q, n_k = shapes.pop()
        named = ("queries", queries, n_q), ("keys", keys, n_k)
        names = [list(range(n)) if given is None else as_names(name, given) for name, given, n in named]
        if [len(part) for part in names] != [n_q, n_k]:
            raise Misfit(f"the films have {n_q} queries and {n_k} keys; give as many names, or none")
        queries, keys = ([str(name) for name in part] for part in names)
        reel = {"names": list(films), "films": [film.round(4).tolist() for film in films.values()]}
        super().__init__(_reel=reel | {"steps": steps, "queries": queries, "keys": keys}, frame=frame)

    @t.validate("frame")
    def _validate_frame(self, proposal):
        n = len(self._reel["steps"])
        if not 0 <= proposal.value < n:
            raise Misfit(f"frame {proposal.value} was asked for, but there are {n}, counted from 0")
        return proposal.value

    @t.default("still")
    def _still(self):
        """The last frame of each film."""
        reel, wide, parts, x = self._reel, 52, [], 60
        for name, film in zip(reel["names"], reel["films"], strict=True):
            parts.append(still_table(x, name, reel["queries"], reel["keys"], film[-1], wide))
            x += wide * len(reel["keys"]) + 60
        title = f"训练到第 {reel['steps'][-1]} 步的注意力权重 | Attention weights after step {reel['steps'][-1]}"
        return still_frame(title, x - 60, 56 + 24 * len(reel["queries"]), "".join(parts))

    def __repr__(self):
        return f"WeightsFilm(step={self._reel['steps'][self.frame]}, films={self._reel['names']})"
