"""What the trimming of the site refuses and what it may not spoil; its result is looked at in test_site.py."""

import io
import subprocess

import numpy as np
import pytest
from PIL import Image

import attention_plots
from conftest import node
from trim_site import drop_icon_rules, few_colours, gather_scripts, gather_style, used_icons


@pytest.mark.parametrize(
    "css",
    [
        "@import url(https://example.org/a.css);",
        '@import "https://example.org/a.css";',
        "@import '//example.org/a.css';",
        "a { background: url( 'http://example.org/a.png' ) }",
    ],
)
def test_a_style_that_asks_another_site_is_refused(tmp_path, css):
    style = tmp_path / "course.css"
    style.write_text(css)
    with pytest.raises(ValueError, match=r"course\.css loads (https?:)?//example\.org/a"):
        gather_style([style], tmp_path, frozenset(), set())


def test_a_style_keeps_its_imports_in_place_and_its_files(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "first.css").write_text('@import "../base.css"; b{background:url("dot 1.png")} i{mask:url(#m)}')
    (tmp_path / "base.css").write_text("a{color:red}")
    (tmp_path / "a" / "dot 1.png").write_bytes(b"picture")
    css = gather_style([tmp_path / "a" / "first.css"], tmp_path, frozenset(), set())
    assert css.startswith("a{color:red} b{background:url(files/dot") and "url(#m)" in css
    assert [path.read_bytes() for path in (tmp_path / "files").iterdir()] == [b"picture"]


def test_icons_that_are_shown_keep_rule_and_glyph():
    css = '.fa-list:before{content:"\\f03a"}.fa-a:before,.fa-b:before{content:"\\f111"}.x{--pst-icon-copy: "\\f0c5"}'
    kept = drop_icon_rules(css, {"fa-b"})
    assert "fa-list" not in kept and "fa-b" in kept and "--pst-icon-copy" in kept
    assert used_icons(css, {"fa-b"}) == {0xF111, 0xF0C5}


def test_a_script_that_fails_does_not_stop_the_others(tmp_path):
    paths = [tmp_path / "a.js", tmp_path / "b.js", tmp_path / "c.js"]
    texts = ["null.storage", '"use strict";\nconst b = 1', "let c = b + 1\n//# sourceMappingURL=c.js.map"]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    program = gather_scripts(paths) + "\nconsole.log(b, c)"
    done = subprocess.run([node(), "-e", program], capture_output=True, encoding="utf-8", timeout=60)
    assert done.stdout == "1 2\n" and "TypeError" in done.stderr and "sourceMappingURL" not in program


def test_a_palette_keeps_the_colours_of_a_heat_map_and_its_transparency():
    drawn, kept = io.BytesIO(), io.BytesIO()
    attention_plots.weights(np.linspace(0, 1, 64).reshape(8, 8)).figure.savefig(drawn, format="png")
    picture = Image.open(drawn).convert("RGBA")
    few_colours(picture).save(kept, format="png", optimize=True)
    before, after = (np.asarray(p.convert("RGBA")).astype(int) for p in (picture, Image.open(kept)))
    numbers = before @ [1, 256, 256**2, 256**3]
    colours, count = np.unique(numbers, return_counts=True)
    flat = np.isin(numbers, colours[np.argsort(-count)[:65]])  # the cells, the ground
    assert flat.mean() > 0.9 and (before[flat] == after[flat]).all()
    assert np.abs(before - after).max() < 24 and len(kept.getvalue()) < 0.6 * len(drawn.getvalue())
