"""Figures show the matrix they were given, readable on light and dark pages."""

import re

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.text import Text

import attention_plots as ap
from attention_colours import LIGHT, PAGE_DARK, PAGE_LIGHT

matplotlib.use("Agg")
SIGNED = np.linspace(-5, 5, 12).reshape(3, 4)
SHARES = np.linspace(0, 1, 12).reshape(3, 4)
HEAT_MAPS = [(ap.scores, SIGNED), (ap.scores, np.abs(SIGNED)), (ap.weights, SHARES)]


@pytest.fixture(autouse=True)
def no_figure_left():
    plt.close("all")
    yield
    plt.close("all")


def numbers(ax):
    """The numbers in the cells, by row and column."""
    places = {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in ax.texts}
    n_q, n_k = np.max(list(places), axis=0) + 1
    assert len(ax.texts) == len(places) == n_q * n_k
    return np.array([[float(places[i, j].replace("−", "-")) for j in range(n_k)] for i in range(n_q)])


def dark_site(rgb):
    """Filter Effects Module 1: invert(1), then hue-rotate(180deg), on sRGB from 0 to 1."""
    matrix = [[-0.574, 1.430, 0.144], [0.426, 0.430, 0.144], [0.426, 1.430, -0.856]]
    return np.clip(matrix @ (1 - np.asarray(rgb)), 0, 1)


def contrast(one, other):
    """WCAG 2.2, of two sRGB colours from 0 to 1."""
    linear = (np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) for c in np.array([one, other]))
    low, high = sorted(c @ [0.2126, 0.7152, 0.0722] for c in linear)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("draw, M", HEAT_MAPS)
def test_draws_on_the_given_axes_and_nowhere_else(draw, M):
    given, current = plt.figure().subplots(), plt.figure()
    assert draw(M, given) is given
    assert plt.gcf() is current and len(plt.get_fignums()) == 2 and not current.axes


@pytest.mark.parametrize("draw, M", HEAT_MAPS)
def test_without_axes_it_makes_a_figure_and_leaves_the_current_one_alone(draw, M):
    before = plt.figure()
    ax = draw(M)
    assert isinstance(ax, Axes) and ax.figure is not before and not before.axes and len(plt.get_fignums()) == 2


@pytest.mark.parametrize("draw, M", HEAT_MAPS)
def test_cells_hold_the_numbers_of_the_matrix(draw, M):
    ax = draw(M)
    np.testing.assert_allclose(numbers(ax), M, atol=0.0005)
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("query", "key")
    assert ax.yaxis_inverted()  # query 0 on top, as in the printed matrix


def test_blocked_scores_and_zeros_without_a_sign():
    ax = ap.scores([[-np.inf, -0.0001], [2.0, -np.inf]])
    assert [t.get_text() for t in ax.texts] == ["−∞", "0.000", "2.000", "−∞"]


@pytest.mark.parametrize("draw, M", HEAT_MAPS)
def test_numbers_are_readable_on_their_cells_on_both_pages(draw, M):
    ax = draw(M)
    ax.figure.canvas.draw()
    pixels = np.asarray(ax.figure.canvas.buffer_rgba()) / 255
    for text in ax.texts:
        j, i = text.get_position()
        x, y = ax.transData.transform((j - 0.42, i - 0.42)).astype(int)  # a corner of the cell, clear of the number
        cell, ink = pixels[pixels.shape[0] - 1 - y, x], matplotlib.colors.to_rgb(text.get_color())
        assert cell[3] == 1
        assert contrast(ink, cell[:3]) >= 4.5, (i, j)
        assert contrast(dark_site(ink), dark_site(cell[:3])) >= 4.5, (i, j)


def test_words_beside_the_cells_are_readable_on_both_pages():
    axes = ap.three_panels(SIGNED, SIGNED / 2, SHARES)
    for text in axes[0].figure.findobj(Text):
        ink = np.array(matplotlib.colors.to_rgb(text.get_color()))
        assert contrast(ink, [1, 1, 1]) >= 4.5
        assert contrast(dark_site(ink), [0x14 / 255, 0x18 / 255, 0x1E / 255]) >= 4.5


@pytest.mark.parametrize("role", "qkvaz")
def test_lines_and_marks_stand_out_from_both_pages(role):
    """WCAG 2.2, 1.4.11: what is drawn in a role's colour, as it is and behind the filter of the dark page."""
    colour = matplotlib.colors.to_rgb(LIGHT[role])
    assert contrast(colour, matplotlib.colors.to_rgb(PAGE_LIGHT)) >= 3
    assert contrast(dark_site(colour), matplotlib.colors.to_rgb(PAGE_DARK)) >= 3


def test_larger_is_darker_and_signs_differ_in_hue():
    light = [sum(ap.WEIGHTS(x)[:3]) for x in SHARES.ravel()]
    assert np.all(np.diff(light) < 0)
    negative, zero, positive = ap.SCORES([0.0, 0.5, 1.0])[:, :3]
    assert negative[0] > negative[2] and positive[0] < positive[2]  # warm, cool
    assert zero.sum() > max(negative.sum(), positive.sum())


def test_three_panels():
    S = np.array([[1.07, 0.33, 0.85]])
    axes = ap.three_panels(S, S / 2, np.array([[0.387, 0.267, 0.346]]), tokens=["a", "b", "c"])
    assert axes.shape == (3,)
    titles = ["Raw scores $S$", r"Scaled scores $\tilde{S}$", "Weights $A$"]
    assert [ax.get_title() for ax in axes] == titles
    for ax, M in zip(axes, (S, S / 2, [[0.387, 0.267, 0.346]]), strict=True):
        np.testing.assert_allclose(numbers(ax), M, atol=0.0005)
        assert [t.get_text() for t in ax.get_xticklabels()] == ["a", "b", "c"]
    raw, scaled, _ = (ax.images[0].get_clim() for ax in axes)
    assert raw == scaled == (-1.07, 1.07)


def test_tokens_name_rows_and_columns():
    axes = ap.three_panels(np.eye(3), np.eye(3) / 2, np.eye(3), ["I", "love", "NN"])
    assert [t.get_text() for t in axes[0].get_yticklabels()] == ["I", "love", "NN"]


def test_heads_are_cells_by_layer_and_number():
    ax = ap.by_head(SHARES)
    np.testing.assert_allclose(numbers(ax), SHARES, atol=0.0005)
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("layer", "head")
    given = plt.figure().subplots()
    assert ap.by_head(SHARES, given) is given


def test_a_whole_sentence_is_drawn_in_the_colours_of_its_weights():
    A, tokens = np.array([[0.8, 0.1, 0.1], [0.6, 0.25, 0.15], [0.2, 0.3, 0.5]]), ["the", "small", "cat"]
    ax = ap.sentence_map(A, tokens)
    [image] = ax.images
    np.testing.assert_array_equal(image.get_array(), A)
    assert image.get_cmap() is ap.WEIGHTS and image.get_clim() == (0, 1) and ax.yaxis_inverted() and not ax.texts
    assert [[t.get_text() for t in axis.get_ticklabels()] for axis in (ax.yaxis, ax.xaxis)] == [tokens, tokens]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("query", "key")
    given = plt.figure().subplots()
    assert ap.sentence_map(A, tokens, given) is given
    with pytest.raises(ValueError, match=r"2 tokens need weights \(2, 2\), got \(3, 3\)"):
        ap.sentence_map(A, tokens[:2])


def test_figure_text_is_english_and_the_figure_transparent():
    fig = ap.three_panels(SIGNED, SIGNED / 2, SHARES)[0].figure
    assert not re.search(r"[\u3000-\u9fff\uff00-\uffef]", "".join(t.get_text() for t in fig.findobj(Text)))
    assert fig.get_facecolor()[3] == 0


@pytest.mark.parametrize("bad, words", [
    ({"S": np.zeros((2, 3, 3))}, "choose one head"),
    ({"S": np.eye(3), "keys": ["a", "b"]}, "3 keys, but 2 names"),
    ({"S": np.eye(3), "queries": ["a"]}, "3 queries, but 1 names"),
])  # fmt: skip
def test_misfits_are_told(bad, words):
    with pytest.raises(ValueError, match=words):
        ap.scores(**bad)


@pytest.mark.parametrize("n_frames", [1, 2, 3])
def test_weights_by_step(n_frames):
    frames = [np.full((2, 2), 0.1 * i) for i in range(n_frames)]
    axes = ap.weights_by_step(frames, [f"step {i}" for i in range(n_frames)], ["a", "b"])
    shown = [ax for ax in axes.flat if ax.axison]
    assert [ax.get_title() for ax in shown] == [f"step {i}" for i in range(n_frames)]
    for ax, A in zip(shown, frames, strict=True):
        np.testing.assert_allclose(numbers(ax), A, atol=0.0005)
        assert [t.get_text() for t in ax.get_xticklabels()] == ["a", "b"]


def test_weights_by_step_need_a_title_each():
    with pytest.raises(ValueError, match="there are 2 matrices and 1 titles"):
        ap.weights_by_step([np.eye(2)] * 2, ["step 0"], ["a", "b"])
    with pytest.raises(ValueError, match="there are 0 matrices and 0 titles"):
        ap.weights_by_step([], [], ["a", "b"])


def test_arrows_end_at_the_vectors_and_say_the_scores():
    given = plt.figure().subplots()
    ax = ap.arrows([2, -1], [[1, 0.5], [-2, 2]], given)
    assert ax is given
    (drawn,) = [c for c in ax.collections if hasattr(c, "U")]
    np.testing.assert_allclose(np.stack([drawn.U, drawn.V], axis=1), [[2, -1], [1, 0.5], [-2, 2]])
    assert (drawn.scale, drawn.angles, drawn.scale_units) == (1, "xy", "xy")  # an arrow is as long as its vector
    assert [t.get_text() for t in ax.texts] == ["$q$", "$k_0$: score 1.500", "$k_1$: score −6.000"]
    assert ap.to_rgb(drawn.get_facecolor()[0]) != ap.to_rgb(drawn.get_facecolor()[1])
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert left < -2 and right > 2 and bottom < -1 and top > 2


@pytest.mark.parametrize("q, K", [([1, 2, 3], np.eye(3)), ([1, 2], [1, 2]), ([1, 2], np.eye(3))])
def test_arrows_need_a_plane(q, K):
    with pytest.raises(ValueError, match="plane"):
        ap.arrows(q, K)


def test_curves_are_named_at_their_ends_and_told_apart_without_colour():
    x = np.linspace(-1, 1, 5)
    given = plt.figure().subplots()
    ax = ap.curves(x[:, None], {"up": x[:, None], "down": -x}, "query", "output", given)
    assert ax is given
    lines = [line for line in ax.lines if len(line.get_xdata()) == 5]
    for line, y in zip(lines, (x, -x), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), y)
    assert len({line.get_linestyle() for line in lines}) == 2
    assert [(t.get_text(), t.xy) for t in ax.texts] == [("up", (1, 1)), ("down", (1, -1))]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("query", "output")


def test_a_fifth_curve_is_refused_not_dropped():
    with pytest.raises(ValueError, match="5 lines .* give four at most"):
        ap.curves([0, 1], {str(i): [i, i] for i in range(5)})


def test_what_is_counted_has_ticks_at_whole_numbers():
    ticks = ap.curves(np.arange(3), {"layers": np.ones(3)}).get_xticks()
    assert len(ticks) > 2 and all(tick == round(tick) for tick in ticks)
    assert any(tick != round(tick) for tick in ap.curves(np.linspace(0, 1), {"x": np.ones(50)}).get_xticks())


def test_measured_points_have_error_bars_beside_the_curves_of_theory():
    x, up, down = np.array([1, 2, 4]), np.array([1.0, 1.5, 2.0]), np.array([1.0, 0.5, 0.25])
    given = plt.figure().subplots()
    ax = ap.measured(x, {"up": np.c_[up, up / 10], "down": np.c_[down, down / 5]}, [x**0.5], "width", "size", given)
    assert ax is given and (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    for bars, y, error in zip(ax.containers, (up, down), (up / 10, down / 5), strict=True):
        points, _, (bar,) = bars.lines
        np.testing.assert_array_equal(points.get_ydata(), y)
        np.testing.assert_allclose(
            [[low, high] for (_, low), (_, high) in bar.get_segments()], np.c_[y - error, y + error]
        )
    assert len({bars.lines[0].get_marker() for bars in ax.containers}) == 2
    (curve,) = [line for line in ax.lines if line.get_linestyle() == "--"]
    np.testing.assert_array_equal(curve.get_ydata(), x**0.5)
    assert [(t.get_text(), t.xy) for t in ax.texts] == [("up", (4, 2)), ("down", (4, 0.25))]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "size")


def test_a_short_logarithmic_axis_is_labelled_with_plain_numbers():
    ax = ap.measured([1, 10, 1000], {"a": [(0.4, 0), (2, 0), (7, 0)]})
    low, high = ax.get_ylim()
    labels = [*ax.get_yticklabels(), *ax.get_yticklabels(minor=True)]
    assert [t.get_text() for t in labels if t.get_text() and low < t.get_position()[1] < high] == ["0.5", "1", "2", "5"]
    assert "10^{3}" in "".join(text.get_text() for text in ax.get_xticklabels())


def test_what_was_not_measured_is_not_drawn_and_the_name_stands_above_the_last_point():
    ax = ap.measured([1, 2, 4], {"stops": [(3, 0), (5, 0), (np.nan, np.nan)], "goes on": [(1, 0), (2, 0), (4, 0)]})
    assert [bars.lines[0].get_xydata().tolist() for bars in ax.containers] == [
        [[1, 3], [2, 5]],
        [[1, 1], [2, 2], [4, 4]],
    ]
    assert [(t.get_text(), t.xy, t.get_va()) for t in ax.texts] == [
        ("stops", (2, 5), "bottom"),
        ("goes on", (4, 4), "center"),
    ]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_names_of_points_that_end_close_together_do_not_overlap(order):
    last = {"plain": 0.416, "by rows": 0.274}
    points = {name: [(1e-4, 0), (last[name], 0)] for name in np.array(list(last))[list(order)]}
    ax = ap.measured([64, 8192], points)
    ax.figure.draw_without_rendering()
    one, other = (name.get_window_extent() for name in ax.texts)
    assert not one.overlaps(other)


def test_a_fourth_set_of_points_is_refused_not_dropped():
    with pytest.raises(ValueError, match="4 sets of points .* give three at most"):
        ap.measured([1, 2], {str(i): [(1, 0), (2, 0)] for i in range(4)})


@pytest.mark.parametrize("x, pairs, words", [
    ([1, 2, 4], [(1, 0.1), (2, 0.1)], r"for each x, \(3, 2\), but has \(2, 2\)"),
    ([1, 2], [1, 2], r"but has \(2,\)"),
    ([0, 2], [(1, 0.1), (2, 0.1)], "positive numbers only"),
    ([1, 2], [(1, 0.1), (-2, 0.1)], "positive numbers only"),
    ([1, 2], [(1, 0.1), (np.nan, 0.1)], "positive numbers only"),
    ([1, 2], [(np.nan, np.nan)] * 2, "positive numbers only, and a or x has none"),
])  # fmt: skip
def test_points_that_would_be_missing_from_the_picture_are_refused(x, pairs, words):
    with pytest.raises(ValueError, match=words):
        ap.measured(x, {"a": pairs})


@pytest.mark.parametrize("draw", [
    lambda: ap.arrows([1, 0], [[1, 1]]),
    lambda: ap.curves([0, 1], {"a": [0, 1]}, xlabel="x"),
    lambda: ap.measured([1, 2], {"a": [(1, 0.1), (2, 0.1)]}, xlabel="x"),
])  # fmt: skip
def test_words_of_the_plain_figures_are_readable_on_both_pages(draw):
    for text in draw().figure.findobj(Text):
        ink = np.array(matplotlib.colors.to_rgb(text.get_color()))
        assert contrast(ink, [1, 1, 1]) >= 4.5 and contrast(dark_site(ink), [0x14 / 255, 0x18 / 255, 0x1E / 255]) >= 4.5


def test_a_sentence_tells_the_row_of_its_query():
    A = np.array([[0.9, 0.1, 0.0], [0.25, 0.5, 0.25], [0.0, 1.0, 0.0]])
    shown = ap.Sentence(A, np.array(["<s>", "old", "keys"]), 1, lang="zh-Hans")
    assert repr(shown) == "old → <s> 0.25, old 0.50, keys 0.25"
    html = shown._repr_html_()
    assert html.startswith('<div lang="zh-Hans">') and "<s>" not in html
    assert re.findall(r"background:rgba\([\d,]+,([\d.]+)\)\">(.*?)<br>", html) == [
        ("0.125", "&lt;s&gt;"), ("0.250", "<u>old</u>"), ("0.125", "keys"),
    ]  # fmt: skip
    with pytest.raises(ValueError, match="2 tokens"):
        ap.Sentence(A, ["a", "b"], 0)


@pytest.mark.parametrize("page, ink", [((1, 1, 1), ap.INK), ((0.07, 0.07, 0.07), "#ced6dd")])
def test_shaded_words_are_readable_on_both_pages(page, ink):
    html = ap.Sentence(np.ones((1, 1)), ["keys"], 0)._repr_html_()
    *rgb, alpha = (float(x) for x in re.search(r"rgba\((.*?)\)", html)[1].split(","))
    shade = alpha * np.array(rgb) / 255 + (1 - alpha) * np.array(page)
    assert contrast(matplotlib.colors.to_rgb(ink), shade) >= 4.5


# ---------------------------------------------------------------- the split into heads
CODED = 10 * np.arange(3)[:, None] + np.arange(4)  # tens: row, units: column


def drawn(ax):
    """{line: numbers from left to right} of a panel, and the shade behind each number."""
    shades = {(p.get_x() + 0.5, p.get_y() + 0.5): p.get_facecolor() for p in ax.patches}
    cells = sorted((t.get_position()[1], t.get_position()[0], float(t.get_text())) for t in ax.texts)
    lines = {}
    for y, _, x in cells:
        lines.setdefault(y, []).append(x)
    return list(lines.values()), {x: shades[column, y] for y, column, x in cells}


def test_the_split_shows_each_head_its_own_columns_and_the_bare_reshape_others():
    whole, heads, wrong = (drawn(ax)[0] for ax in ap.head_split(CODED, 2))
    assert whole == [[0, 1, 2, 3], [10, 11, 12, 13], [20, 21, 22, 23]]
    assert heads == [[0, 1], [10, 11], [20, 21], [2, 3], [12, 13], [22, 23]]
    assert wrong == [[0, 1], [2, 3], [10, 11], [12, 13], [20, 21], [22, 23]]


def test_a_number_keeps_the_shade_of_its_column_and_heads_differ():
    for ax in ap.head_split(CODED, 2):
        shades = drawn(ax)[1]
        first, second = ({shades[x] for x in shades if (x % 10 < 2) is low} for low in (True, False))
        assert len(first) == len(second) == 1 and first != second
        assert all(contrast(shade[:3], (0, 0, 0)) > 4.5 for shade in first | second)


@pytest.mark.parametrize("X, n_head", [(CODED, 3), (CODED, 0), (CODED[0], 2), (CODED[:0], 2), (CODED[:, :0], 2)])
def test_the_split_refuses_what_does_not_fit(X, n_head):
    with pytest.raises(ValueError, match="n_head"):
        ap.head_split(X, n_head)
