"""Draw tools/social-card.png, the picture beside a link to the course, and tools/icon.png, for the screens of phones.

    .venv/bin/python tools/social_card.py      after a change of the title or of the colours

Both are kept in the repository: the letters need the font Noto Sans CJK, which not every machine has.
"""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle
from PIL import Image

import attention_mechanism as am
import attention_plots
from attention_colours import LIGHT
from attention_trace import TOKENS, X

HERE = Path(__file__).parent
TEAL = "#0a7d91"  # the ground of book/_static/favicon.svg
FONTS = ["Noto Sans CJK SC", "DejaVu Sans"]


def card():
    """1200 × 630 with the weights of the course's three-token example; what must be read keeps off the edges."""
    with plt.rc_context({"font.family": FONTS, "font.size": 24, "axes.labelsize": 24, "mathtext.fontset": "cm"}):
        figure = plt.figure(figsize=(12, 6.3), dpi=100, facecolor="white", layout="none")
        figure.add_artist(Rectangle((0, 0), 0.02, 1, color=TEAL))
        figure.text(0.07, 0.70, "注意力机制", size=58, weight="bold")
        figure.text(0.07, 0.57, "The Attention Mechanism", size=30)
        figure.text(0.07, 0.37, r"$\mathrm{softmax}\left(QK^\top\!/\sqrt{d_k}\right)V$", size=36, color=LIGHT["a"])
        figure.text(0.07, 0.20, "中英双语互动课程", size=22)
        figure.text(0.07, 0.13, "an interactive course in Chinese and English", size=19)
        A = am.scaled_dot_product_attention(X, X, X)[1]
        attention_plots.weights(A, figure.add_axes((0.66, 0.25, 0.29, 0.55)), TOKENS, TOKENS)
        figure.savefig(HERE / "social-card.png", metadata={"Software": None})
    picture = Image.open(HERE / "social-card.png").convert("RGB").quantize(64)
    picture.save(HERE / "social-card.png", optimize=True)


def icon():
    """The bars of favicon.svg, 180 × 180 to the edge: phones round the corners themselves."""
    figure = plt.figure(figsize=(1.8, 1.8), dpi=100, facecolor=TEAL, layout="none")
    ax = figure.add_axes((0, 0, 1, 1), xlim=(0, 16), ylim=(0, 16))
    ax.axis("off")
    for x, height in ((3, 4), (7, 10), (11, 7)):
        ax.add_patch(Rectangle((x, 3), 2, height, color="white"))
    figure.savefig(HERE / "icon.png", metadata={"Software": None})


if __name__ == "__main__":
    card()
    icon()
