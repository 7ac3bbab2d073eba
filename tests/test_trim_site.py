"""What the trimming of the site refuses and what it may not spoil; its result is looked at in test_site.py."""

import io
import re
import subprocess

import numpy as np
import pytest
from PIL import Image

import attention_plots
from conftest import node
from trim_site import fit_style, gather_scripts, gather_style, height, small_picture, used_icons, with_heights
from used_style import Vocabulary, used_style


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
        gather_style([style])


def test_a_style_keeps_its_imports_in_place_and_its_files(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "first.css").write_text('@import "../base.css"; b{background:url("dot 1.png")} i{mask:url(#m)}')
    (tmp_path / "base.css").write_text("a{color:red}")
    (tmp_path / "a" / "dot 1.png").write_bytes(b"picture")
    css = fit_style(*gather_style([tmp_path / "a" / "first.css"]), tmp_path, Vocabulary(["<a><b><i>"], []), {})
    assert css.startswith("a{color:red}b{background:url(files/dot") and "url(#m)" in css
    assert [path.read_bytes() for path in (tmp_path / "files").iterdir()] == [b"picture"]


def test_icons_that_are_shown_keep_rule_and_glyph():
    css = '.fa-list:before{content:"\\f03a"}.fa-a:before,.fa-b:before{content:"\\f111"}'
    css += '.x{--pst-icon-copy: "\\f0c5"}.x:after{content:var(--pst-icon-copy)}'
    kept = used_style(css, Vocabulary(['<i class="x fa-b"></i>'], []))
    assert "fa-list" not in kept and "fa-b" in kept and used_icons(kept) == {0xF111, 0xF0C5}


@pytest.mark.parametrize(
    "selector, stays",
    [
        (".shown", True),
        (".hidden", False),
        ("p.shown > i", True),
        ("p.shown > b", False),  # no such element
        ("#begin", True),
        ("#end", False),
        ("tbody tr", True),  # the first is the browser's
        (".hidden, .shown", True),
        (":not(.hidden)", True),
        (":is(.hidden, .shown)", True),
        (":is(.hidden, .gone)", False),
        ("p:has(> .hidden)", False),
        ('[data-kind="a"]', True),
        ('[data-kind="b"]', False),
        ('[data-kind^="b"]', True),  # of such values nothing is said
        ("[data-set-by-script]", True),
        (".made-up-7", True),  # by a script from made- and another part
        (".shown-by-script", True),
        (".hidden-by-script", False),
        ("p:hover::before", True),
        (".hidden:hover::before", False),
    ],
)
def test_a_rule_goes_if_nothing_on_a_page_can_match_it(selector, stays):
    page = '<table><tr id="begin"><p class="shown" data-kind="a" title="not hidden"><i>hidden</i></p></tr></table>'
    script = "e.dataset.setByScript = 1; e.className = `made-${x}`; e.id = x + '-by-script'"
    for css in ("%s{color:red}", "@media print{%s{color:red}}"):
        kept = used_style(css % selector, Vocabulary([page], [script]))
        assert ("color:red" in kept) == stays


def test_what_nothing_names_goes_and_what_something_names_stays():
    css = """
      :root { --used: 1px; --chain: var(--end); --end: 2px; --dead: var(--deader); --deader: 3px; --script: 4px }
      @font-face { font-family: "Used Font"; src: url(a) } @font-face { font-family: Unused; src: url(b) }
      @keyframes turn { to { rotate: 1turn } } @keyframes spin { to { rotate: 1turn } }
      p { margin: var(--used) var(--chain); font-family: "Used Font"; animation: turn 1s; color: red !important }
      @media print { b { color: red } } @page { margin: 1cm }
      p { color: red; & b { color: blue } }"""
    kept = used_style(css, Vocabulary(["<p>"], ["style.getPropertyValue('--script')"]))
    for word in (
        "--used:1px",
        "--end:2px",
        "--script:4px",
        "Used Font",
        "keyframes turn",
        "!important",
        "@page",
        "& b",
    ):
        assert word in kept, word
    for word in ("dead", "Unused", "spin", "@media"):
        assert word not in kept, word


def test_a_script_that_fails_does_not_stop_the_others(tmp_path):
    paths = [tmp_path / "a.js", tmp_path / "b.js", tmp_path / "c.js"]
    texts = ["null.storage", '"use strict";\nconst b = 1', "let c = b + 1\n//# sourceMappingURL=c.js.map"]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    program = gather_scripts(paths) + "\nconsole.log(b, c)"
    done = subprocess.run([node(), "-e", program], capture_output=True, encoding="utf-8", timeout=60)
    assert done.stdout == "1 2\n" and "TypeError" in done.stderr and "sourceMappingURL" not in program


def test_a_palette_keeps_the_colours_of_a_heat_map_and_its_transparency():
    drawn = io.BytesIO()
    attention_plots.weights(np.linspace(0, 1, 64).reshape(8, 8)).figure.savefig(drawn, format="png")
    picture = Image.open(drawn).convert("RGBA")
    small = small_picture(drawn.getvalue())
    before, after = (np.asarray(p.convert("RGBA")).astype(int) for p in (picture, Image.open(io.BytesIO(small))))
    numbers = before @ [1, 256, 256**2, 256**3]
    colours, count = np.unique(numbers, return_counts=True)
    flat = np.isin(numbers, colours[np.argsort(-count)[:65]])  # the cells, the ground
    assert flat.mean() > 0.9 and (before[flat] == after[flat]).all()
    assert np.abs(before - after).max() < 24 and len(small) < 0.45 * len(drawn.getvalue())


def test_each_section_of_a_chapter_gets_a_guess_of_its_height_and_no_other_does():
    inner = ' id="a"><h2>A</h2><section id="b">text</section>'
    html = f'<section id="page"><h1>P</h1><section{inner}</section><section id="c"></section></section>'
    for section in (inner, ' id="c">'):
        html = html.replace(section, f' style="--height: {height(section)}px"{section}', 1)
    plain = re.sub(r' style="[^"]*"', "", html)
    assert with_heights(plain) == html and html.count("--height") == 2


def test_more_to_read_is_a_greater_height_and_what_is_folded_or_not_shown_is_none():
    assert height("<p>字字</p>") == height("<p>four</p>") > height("<p>two</p>")
    assert height("<details><p>folded</p></details><script>x</script><p>two</p>") == height("<p>two</p>")
    for more in ("<pre>a\nb\n</pre>", '<img src="a.webp">', '<div class="widget-still"></div>'):
        assert height(f"<p>two</p>{more}") > height("<p>two</p>") + 40
