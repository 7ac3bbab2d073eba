"""The one colour of each role, for text and for areas: queries, keys, values, weights and output.

The hues follow Okabe and Ito (2008): blue, vermilion, green, purple, orange.  Their lightness was moved until each is
readable as text on its page (contrast of at least 4.5, WCAG 2.2 §1.4.3) and any two stay apart for readers with
deuteranopia or protanopia.  Colour never stands alone: a letter, a label or a pattern says the same.
"""

PAGE_LIGHT, PAGE_DARK = "#ffffff", "#121212"  # the site's page in its two themes

LIGHT = {"q": "#0a68d9", "k": "#851702", "v": "#2e7a61", "a": "#961f74", "z": "#a26501"}
DARK = {"q": "#4c9dfa", "k": "#e4672f", "v": "#35c99a", "a": "#f3a6d6", "z": "#f0cf6b"}


def css():
    """The custom properties --attn-q … --attn-z as CSS: light, and dark on the site and in JupyterLab."""
    light, dark = ("".join(f"--attn-{role}:{colour};" for role, colour in theme.items()) for theme in (LIGHT, DARK))
    return f':root{{{light}}}\nhtml[data-theme="dark"],[data-jp-theme-light="false"]{{{dark}}}\n'
