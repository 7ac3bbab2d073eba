"""What all widgets share: where their module and style come from, how bad input is refused, still pictures."""

import html
import numbers
import re
from pathlib import Path

import anywidget
import numpy as np
import traitlets as t

import attention_colours

HERE = Path(__file__).parent
IMPORT = 'from "./core.js";'
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")  # no picture in XML may hold them


def source(name):
    """core.js in front of a module, whose one import line goes: an ES module that imports nothing."""
    first, rest = (HERE / f"{name}.js").read_text("utf-8").split("\n", 1)
    if not first.endswith(IMPORT):
        raise ValueError(f"line 1 of {name}.js must be its import {IMPORT}")
    return (HERE / "core.js").read_text("utf-8") + rest


class Misfit(t.TraitError, ValueError):
    """Input that does not fit; a TraitError too, so that traitlets takes the change back."""


def is_whole(value):
    """Whether this is a whole number; True and False are none."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


class Whole(t.Int):
    """A whole number."""

    def validate(self, obj, value):
        if not is_whole(value):
            raise Misfit(f"{self.name} is {value!r}; it must be a whole number")
        return int(value)


class Among(t.Int):
    """One of a few whole numbers, those of a slider's steps."""

    def __init__(self, steps, default):
        super().__init__(default)
        self.steps = steps

    def validate(self, obj, value):
        if not is_whole(value) or value not in self.steps:
            raise Misfit(f"{self.name} is {value!r}; it must be one of {', '.join(map(str, self.steps))}")
        return int(value)


class Widget(anywidget.AnyWidget):
    """What all have in common: their module and style, and a still picture for readers without JavaScript."""

    _css = attention_colours.css() + (HERE / "core.css").read_text("utf-8")
    still = t.Unicode().tag(sync=True)

    def __init_subclass__(cls, **options):
        if "_esm" not in cls.__dict__:  # each instance has a class of its own, where it is a trait already
            cls._esm = source(re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower())
        super().__init_subclass__(**options)

    def __init__(self, **traits):
        try:
            super().__init__(**traits)
        except t.TraitError as error:  # of a trait's type: the sentence stands, but it is no ValueError
            raise error if isinstance(error, Misfit) else Misfit(str(error)) from None


def as_numbers(name, given, axes):
    """`given` as a float (0 axes), a list (1), rows of equal length (2) or matrices of one size (3); else Misfit."""
    try:
        found = None if np.asarray(given).dtype.kind in "bcSU" else np.asarray(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        found = None
    if found is None or found.ndim != axes:
        rows = "a list of rows of numbers, all of the same length"
        wanted = ("one number", "a list of numbers", rows, "a list of matrices of numbers, all of one size")[axes]
        raise Misfit(f"{name} must be {wanted}, but it is {given!r}")
    return found.tolist()


def listed(given):
    """What is given one by one, as a list; None if it is no such thing, or text."""
    try:
        return None if isinstance(given, (str, bytes)) else list(given)
    except TypeError:
        return None


def as_names(name, given):
    """`given` as a list, Misfit unless it is one or may become one; a string is one name, not one a letter."""
    names = listed(given)
    if names is None:
        raise Misfit(f"{name} must be a list of names, but it is {given!r}")
    if bad := [each for each in names if UNPRINTABLE.search(str(each))]:
        raise Misfit(f"{name} must be of letters that can be shown, but {bad[0]!r} has others: leave them out")
    return names


def short(row):
    """Numbers with four decimals at most."""
    return "[" + ", ".join(f"{round(x, 4) + 0.0:g}" for x in row) + "]"  # + 0.0: never −0


def svg_text(x, y, text, anchor="start"):
    """A line of text in a still picture."""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{html.escape(str(text))}</text>'


def still_bars(x, heading, role, names, numbers):
    """Horizontal bars from zero with names and numbers; x is where the group starts, 300 wide."""
    low, high = min(0, *numbers), max(1, *numbers)
    unit, zero = 150 / (high - low), x + 70 - low * 150 / (high - low)
    fill = (
        f"fill:var(--attn-{role},{attention_colours.LIGHT.get(role, 'currentColor')})"  # where no style sheet reaches
    )
    parts = [svg_text(x + 70, 16, heading)]
    for y, name, number in zip(range(26, 999, 28), names, numbers, strict=False):
        start, width = zero + min(number, 0) * unit, abs(number) * unit
        parts.append(svg_text(x + 62, y + 18, name, "end"))
        parts.append(f'<rect x="{start:.1f}" y="{y + 4}" width="{width:.1f}" height="20" style="{fill}"/>')
        parts.append(svg_text(round(start + width + 6, 1), y + 18, f"{number:.4f}".replace("-", "−")))
    return "".join(parts)


def still_matrix(x, y, heading, role, M):
    """A matrix of numbers under its heading, 60 by 28 each; positive ones are filled in the colour of their role."""
    fill = f"fill:var(--attn-{role},{attention_colours.LIGHT.get(role, 'currentColor')})"
    parts = [svg_text(x, y + 14, heading)]
    for i, row in enumerate(np.asarray(M)):
        for j, number in enumerate(row):
            left, top = x + 60 * j, y + 22 + 28 * i
            opacity = 0.3 if number > 0 else 0
            parts.append(
                f'<rect x="{left}" y="{top}" width="58" height="26" stroke="currentColor" stroke-opacity="0.3" '
                f'fill-opacity="{opacity}" style="{fill}"/>'
            )
            text = f"{round(number, 3) + 0.0:.3f}".replace("-", "−")
            parts.append(svg_text(left + 29, top + 18, text, "middle"))
    return "".join(parts)


def still(title, *groups):
    """A still picture of groups of bars (heading, role, names, numbers) side by side."""
    width, height = 300 * len(groups), 34 + 28 * max(len(names) for _, _, names, _ in groups)
    return still_frame(title, width, height, "".join(still_bars(300 * g, *group) for g, group in enumerate(groups)))


def still_table(x, heading, names, columns, rows, wide):
    """Numbers in rows with names to their left, under columns with names; x is where the first column starts.

    They have four decimals, none where all are whole.
    """
    parts, digits = [svg_text(x, 16, heading)], 4 if np.mod(np.array(rows, dtype=float), 1).any() else 0
    parts += [svg_text(x + wide * (j + 0.5), 40, column, "middle") for j, column in enumerate(columns)]
    for y, name, row in zip(range(64, 999, 24), names, rows, strict=False):
        parts.append(svg_text(x - 8, y, name, "end"))
        texts = (f"{round(float(number), 4) + 0.0:.{digits}f}".replace("-", "−") for number in row)
        parts += [svg_text(x + wide * (j + 0.5), y, text, "middle") for j, text in enumerate(texts)]
    return "".join(parts)


def still_frame(title, width, height, content):
    """A still SVG around what is drawn in it; the title is "中文 | English".

    A group, not an img: a screen reader says the numbers in a group, and nothing of an img but its title.  Its letters
    are never smaller than 10.6 pixels: on a phone it is wider than the page, which lets it scroll.
    """
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="group" fill="currentColor" '
        f'font-size="13" font-family="system-ui, sans-serif" '
        f'style="width:100%;min-width:{0.82 * width:.0f}px;max-width:{width}px;height:auto">'
        f'<title class="nohighlight">{html.escape(title)}</title>{content}</svg>'
    )
