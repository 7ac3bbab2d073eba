"""The role colours are readable as text on both pages, and stay apart for colour-blind readers."""

import itertools
import re

import numpy as np
import pytest

import attention_colours as ac

THEMES = {"light": (ac.LIGHT, ac.PAGE_LIGHT), "dark": (ac.DARK, ac.PAGE_DARK)}

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
# Stone, Szafir and Setlur 2014: the step in L*, a* or b* that half the observers notice between marks 1/3° wide, the
# smallest they tested (about the width of a letter).
NOTICED = 0.5 * (np.array([10.16, 10.68, 10.70]) + np.array([1.50, 3.08, 5.74]) / (1 / 3))


def linear(colour):
    """#rrggbb -> linear RGB (3,), by the sRGB standard."""
    c = np.array(list(bytes.fromhex(colour[1:]))) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """WCAG 2.2, "contrast ratio"."""
    low, high = sorted(np.array([0.2126, 0.7152, 0.0722]) @ linear(c) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(rgb):
    """Linear RGB (3,) -> CIELAB (3,), white D65."""
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    t = to_xyz @ np.clip(rgb, 0, 1) / [0.95047, 1, 1.08883]
    x, y, z = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_the_measures_themselves():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    np.testing.assert_allclose(lab(linear("#ff0000")), [53.24, 80.09, 67.20], atol=0.02)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("role", "qkvaz")
def test_readable_as_text(theme, role):
    colours, page = THEMES[theme]
    assert contrast(colours[role], page) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("vision", VISION)
def test_any_two_stay_apart(theme, vision):
    seen = {role: lab(VISION[vision] @ linear(colour)) for role, colour in THEMES[theme][0].items()}
    for one, other in itertools.combinations(seen, 2):
        assert (np.abs(seen[one] - seen[other]) / NOTICED).max() >= 1, (one, other)


def test_css_says_the_same():
    light, dark = re.findall(r"([^{}\n]+)\{([^}]*)\}", ac.css())
    assert light[0] == ":root"
    assert dark[0].split(",") == ['html[data-theme="dark"]', '[data-jp-theme-light="false"]']
    for (_, block), theme in ((light, ac.LIGHT), (dark, ac.DARK)):
        assert dict(re.findall(r"--attn-(\w):(#[0-9a-f]{6});", block)) == theme
