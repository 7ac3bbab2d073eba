"""The built site in a real browser.  The tests share the visits to each page of each view (conftest.py)."""

import json
import re
from html import unescape

import nbformat
import numpy as np
import pytest
from fontTools.ttLib import TTFont

from attention_mechanism import softmax
from attention_widgets import AttentionCalculator
from bilingual import LANGS, cell_lang, headings
from build_site import SOURCES, digest
from conftest import LAID_OUT, PHONE, READY, ROOT, SITE, STORAGE_DENIED
from trim_site import pages

VIEWS = ["zh", "en", "both"]
PAGES = sorted(p.relative_to(SITE).as_posix() for p in pages(SITE))
BOOK = ROOT / "book"
NOTEBOOKS = sorted(p.relative_to(BOOK) for folder in (BOOK, BOOK / "assignments") for p in folder.glob("*.ipynb"))
CHAPTER = "02_derivation.html"
SECTION = "first-example-three-unit-vectors"
HAN = re.compile("[\u3400-\u9fff]")
LOADS = re.compile(r'<(?:script|img|iframe|source|link rel="(?:stylesheet|preload|icon)")\b[^>]*>')

IN_THE_CALCULATOR = (ROOT / "tests" / "seen_in_the_calculator.js").read_text("utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_page_asks_nobody_and_says_nothing(visit, name):
    assert visit(name, "desk")["log"] == visit(name, "phone")["log"] == ([], [], [])


@pytest.mark.parametrize("name", [p for p in PAGES if p.startswith("en/")])
def test_english_pages_show_no_chinese_outside_what_is_marked_as_such(visit, name):
    seen = visit(name, "desk")
    text = seen["text"]
    for piece in seen["marked"]:
        text = text.replace(piece, "", 1)
    assert not HAN.findall(text) and not HAN.findall(seen["title"])


@pytest.mark.parametrize("name", [p for p in PAGES if p.startswith("zh/")])
def test_chinese_pages_speak_chinese_around_the_text_too(visit, name):
    around = visit(name, "desk")["around"].replace("English", "", 1)  # the switch names it so
    found = [zh for path in NOTEBOOKS for zh in headings(nbformat.read(BOOK / path, as_version=4), "zh")]
    for heading in sorted(found, key=len, reverse=True):  # in the contents: an author or a softmax may stand in them
        around = around.replace(heading, "")
    assert HAN.search(around) and not re.findall(r"[A-Za-z]{3,}", around.replace("Ctrl", "").replace("MIT", ""))


@pytest.mark.parametrize("name", PAGES)
def test_formulas_are_typeset_and_marks_rendered(visit, name):
    seen = visit(name, "desk")
    assert seen["formulas"] == seen["typeset"] == seen["readable"]
    assert seen["stars"] is None


@pytest.mark.parametrize("name", PAGES)
def test_page_is_well_formed(visit, name):
    seen = visit(name, "desk")
    assert seen["duplicates"] == [] and seen["unsized"] == [] and seen["unnamed"] == []
    levels = seen["headings"]
    assert levels[:1] == [1] and levels.count(1) == 1
    assert all(deeper <= level + 1 for level, deeper in zip(levels, levels[1:], strict=False))


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("place", ["phone", "light phone"])
def test_small_phone_needs_no_sideways_scroll_and_text_is_readable(visit, name, place):
    seen = visit(name, place)
    assert seen["widths"] == [360, 360]
    assert seen["theme"] == ("dark" if place == "phone" else "light")
    assert seen["faint"] == []


@pytest.mark.parametrize("name", [p for p in PAGES if "search" not in p])
def test_page_describes_itself_in_its_language(visit, name):
    description = visit(name, "desk")["description"]
    assert len(description) > 20 and bool(HAN.search(description)) == (not name.startswith("en/"))


@pytest.mark.parametrize("view", VIEWS)
def test_the_smallest_phone_needs_no_sideways_scroll(open_page, site_url, view):
    page = open_page(viewport={"width": 320, "height": 600}, is_mobile=True)
    for name in ("index.html", CHAPTER):
        page.goto(f"{site_url}/{view}/{name}")
        assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_a_browser_that_denies_storage_still_switches(open_page, site_url):
    page = open_page()
    page.add_init_script(STORAGE_DENIED)
    page.goto(f"{site_url}/zh/{CHAPTER}?lang=en")
    page.wait_for_url(f"**/en/{CHAPTER}")


@pytest.mark.parametrize("stem", sorted({p.split("/", 1)[1] for p in PAGES}))
def test_all_views_have_the_same_sections(visit, stem):
    zh, en, both = (visit(f"{view}/{stem}", "desk")["sections"] for view in VIEWS)
    assert zh == en == both
    assert SECTION in zh or stem != CHAPTER


def test_the_site_is_built_from_what_is_here():
    assert (SITE / "built-from.txt").read_text() == digest(*SOURCES)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda p: p.stem)
def test_the_page_shows_what_the_notebook_prints(view, notebook):
    html = (SITE / view / notebook.with_suffix(".html")).read_text("utf-8")
    shown = unescape(re.sub(r"<[^>]+>", "", html))
    for cell in json.loads((BOOK / notebook).read_text("utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            text = "".join(output.get("text", data.get("text/html", data.get("text/plain", ""))))
            text = unescape(re.sub(r"<[^>]+>", "", text)) if "text/html" in data else text
            if not re.match(r"<Figure|\w+\(\w+=", text):  # a picture or a widget stands in its place
                assert text.strip() in shown


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda p: p.stem)
def test_behind_the_download_button_is_the_notebook_in_the_language_of_the_page(view, notebook):
    address = f"_sources/{notebook.as_posix()}"
    html = (SITE / view / notebook.with_suffix(".html")).read_text("utf-8")
    assert f'href="{"../" * len(notebook.parts[1:])}{address}"' in html
    source, given = (nbformat.read(path, as_version=4) for path in (BOOK / notebook, SITE / view / address))
    nbformat.validate(given)
    other = {"zh": "en", "en": "zh"}.get(view, "no other")
    assert [c.source for c in given.cells] == [c.source for c in source.cells if cell_lang(c) != other]
    written = [[c.source, c.metadata] for c in given.cells]  # what a cell prints may be data, or in both languages
    assert view != "en" or not HAN.search(json.dumps(written, ensure_ascii=False))


def test_nothing_in_a_page_points_a_script_style_or_picture_elsewhere():
    for name in PAGES:
        html = (SITE / name).read_text("utf-8")
        assert not [tag for tag in LOADS.findall(html) if re.search(r'(?:src|href)="(?:https?:)?//', tag)]


def test_pages_load_one_style_one_script_and_nothing_twice():
    for name in PAGES:
        html = (SITE / name).read_text("utf-8")
        scripts = re.findall(r'<script[^>]* src="([^"]+)"', html)
        assert len(re.findall(r'rel="stylesheet"', html)) == 1 and len(scripts) == len(set(scripts))
        assert not re.search(r"<script(?![^>]*defer)[^>]* src=", html), "a script that holds up the first paint"


def test_every_local_link_and_picture_is_there():
    ids = {p: set(re.findall(r'\bid="([^"]+)"', (SITE / p).read_text("utf-8"))) for p in PAGES}
    for name in PAGES:
        for address in re.findall(r'\b(?:href|src)="([^"]+)"', (SITE / name).read_text("utf-8")):
            if re.match(r"[a-z]+:", address):
                continue
            path, _, anchor = address.partition("#")
            path = path.partition("?")[0]
            target = ((SITE / name).parent / path).resolve() if path else SITE / name
            assert target.exists(), (name, address)
            page = target.relative_to(SITE).as_posix()
            assert not anchor or page not in ids or anchor in ids[page], (name, address)


# ---------------------------------------------------------------- widgets
@pytest.fixture(scope="session")
def numbers():
    """Text -> the decimal numbers in it."""
    return lambda text: [float(x.replace("−", "-")) for x in re.findall(r"[-−]?\d+\.\d+", text)]


@pytest.mark.parametrize("view", VIEWS)
def test_sliders_move_the_picture_by_key_and_by_drag(open_page, site_url, view):
    page = open_page()
    page.goto(f"{site_url}/{view}/{CHAPTER}")
    page.wait_for_function(READY)
    widget = page.locator(".afm-view").first
    sliders, picture = widget.locator("input[type=range]"), widget.locator("svg").first
    assert sliders.count() >= 3
    for i in range(sliders.count()):
        slider, seen = sliders.nth(i), {picture.inner_html()}
        slider.focus()
        spoken = slider.get_attribute("aria-valuetext")
        page.keyboard.press("ArrowRight")
        seen.add(picture.inner_html())
        assert slider.get_attribute("aria-valuetext") != spoken
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x - box["width"] / 4, y, steps=5)
        page.mouse.up()
        seen.add(picture.inner_html())
        assert len(seen) == 3, f"slider {i}"
    assert page.log.console == []


def test_picture_tells_a_screen_reader_the_weights_that_it_shows(open_page, site_url, numbers):
    page = open_page()
    page.goto(f"{site_url}/en/{CHAPTER}")
    page.wait_for_function(READY)
    widget = page.locator(".afm-view").first
    widget.locator("input[type=range]").first.focus()
    page.keyboard.press("ArrowRight")
    svg = widget.locator("svg").first
    described = page.locator("#" + svg.get_attribute("aria-describedby")).text_content()
    shown = [n for text in svg.locator("text.attn-number").all_text_contents() for n in numbers(text)]
    assert shown and abs(sum(shown) - 1) < 1e-3
    assert numbers(described) == shown


@pytest.mark.parametrize("view, has_zh, has_en", [("zh", True, False), ("en", False, True), ("both", True, True)])
def test_widget_speaks_the_language_of_the_page(open_page, site_url, view, has_zh, has_en):
    page = open_page()
    page.goto(f"{site_url}/{view}/{CHAPTER}")
    page.wait_for_function(READY)
    page.evaluate(LAID_OUT)  # a browser gives no text for what it has not laid out
    widget = page.locator(".afm-view").first
    words = widget.inner_text() + "".join(widget.locator("svg title, svg desc").all_text_contents())
    assert bool(HAN.search(words)) == has_zh
    assert bool(re.search("weight", words)) == has_en
    for label in widget.locator("label, legend, th, button, figcaption").all():
        for node in label.locator("[lang]").all():
            assert bool(HAN.search(node.inner_text())) == (node.get_attribute("lang") == LANGS["zh"])


@pytest.fixture
def calculator(open_page, site_url):
    """calculator(**context options) -> the page and its first widget, in English."""

    def open_(**options):
        page = open_page(**options)
        page.goto(f"{site_url}/en/{CHAPTER}")
        page.wait_for_function(READY)
        page.evaluate(LAID_OUT)
        return page, page.locator(".afm-view").first

    return open_


def last_column(widget):
    """The weights in the table, without the sum below them."""
    return [float(x) for x in widget.locator("tbody td:last-child").all_text_contents()]


def test_each_example_shows_what_python_computes(calculator):
    page, widget = calculator()
    for i in range(len(AttentionCalculator().examples)):
        widget.locator("select").first.select_option(index=i)
        expected = AttentionCalculator(example=i)
        np.testing.assert_allclose(last_column(widget), expected.weights, atol=5.1e-5)
        z = widget.locator("svg").nth(1).locator("text").all_text_contents()
        assert [f"{x:.4f}" for x in expected.output] == [text for text in z if re.fullmatch(r"-?\d\.\d{4}", text)]


def test_bars_are_as_long_and_marks_stand_where_their_numbers_say(calculator):
    page, widget = calculator()
    widget.locator("select").first.select_option(index=2)
    widget.locator("input[type=number]").nth(2).fill("-3")
    V = np.array(AttentionCalculator(example=2).values)
    V[1, 0] = -3
    weights = AttentionCalculator(example=2).weights
    seen = widget.evaluate(IN_THE_CALCULATOR)
    np.testing.assert_allclose(seen["bars"], [[0, a] for a in weights], atol=1e-3)
    np.testing.assert_allclose(seen["marks"], weights @ V, atol=1e-2)
    parts = (weights[:, None] * V).T  # the parts of a component, stacked from zero: one way for each sign
    expected = []
    for row in parts:
        ends = {True: 0, False: 0}
        for part in row:
            start = ends[part < 0]
            ends[part < 0] += part
            expected.append(sorted([start, start + part]))
    np.testing.assert_allclose(seen["pieces"], expected, atol=1e-2)


def test_the_scaling_switch_d_k_tokens_and_reset(calculator):
    page, widget = calculator()
    at_first = last_column(widget)
    widget.get_by_role("checkbox").uncheck()
    np.testing.assert_allclose(last_column(widget), softmax([1, 0, 0]), atol=5.1e-5)
    widget.get_by_role("checkbox").check()
    widget.locator("select").nth(1).select_option("16")
    np.testing.assert_allclose(last_column(widget), softmax([1 / 4, 0, 0]), atol=5.1e-5)
    widget.get_by_role("button", name="Add token").click()
    assert len(last_column(widget)) == 4
    for _ in range(2):
        widget.get_by_role("button", name="Remove token").click()
    np.testing.assert_allclose(last_column(widget), softmax([1 / 4, 0]), atol=5.1e-5)
    assert widget.get_by_role("button", name="Remove token").is_disabled()
    widget.get_by_role("button", name="Reset").click()
    assert last_column(widget) == at_first


def test_arrow_keys_keep_exact_gaps_and_tiny_weights_are_not_zero(calculator):
    """log 3 is no multiple of the slider's step: three steps up on both scores must leave 3/4 and 1/4."""
    page, widget = calculator()
    widget.locator("select").first.select_option(index=len(AttentionCalculator().examples) - 1)
    sliders = widget.locator("input[type=range]")
    for i in range(2):
        sliders.nth(i).focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
    assert last_column(widget) == [0.75, 0.25]
    sliders.nth(0).press("Home")
    sliders.nth(1).press("End")
    assert widget.locator("tbody td:last-child").all_text_contents() == ["<0.0001", ">0.9999"]


def test_a_number_that_is_none_is_named_and_the_picture_stays(calculator):
    page, widget = calculator()
    picture = widget.locator("svg").nth(1)
    field, before = widget.locator("input[type=number]").first, picture.inner_html()
    for bad in ("", "1e9"):
        field.fill(bad)
        assert "Enter a number" in widget.locator(".attn-warned").inner_text()
        assert field.get_attribute("aria-invalid") == "true" and picture.inner_html() == before
    field.fill("-2.5")
    assert widget.locator(".attn-warned").inner_text() == "" and field.get_attribute("aria-invalid") == "false"
    z = -2.5 * AttentionCalculator().weights[0]
    assert f"−{-z:.4f}" in picture.text_content()


def test_a_movement_is_announced_once_when_it_is_finished(calculator):
    page, widget = calculator()
    height = widget.bounding_box()["height"]
    page.evaluate("""() => {
      window.told = [];
      const region = document.querySelector(".afm-view .attn-told");
      new MutationObserver(() => told.push(region.textContent)).observe(region, { childList: true, subtree: true });
    }""")
    slider = widget.locator("input[type=range]").first
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] / 2, steps=8)
    assert page.evaluate("told.length") == 0
    page.mouse.up()
    assert page.evaluate("told.length") == 1 and "attention weights" in page.evaluate("told[0]")
    assert widget.bounding_box()["height"] == height, "the page moves under the reader's hand"


def test_a_finger_moves_a_slider_and_targets_are_large_enough(calculator):
    page, widget = calculator(**PHONE)
    slider = widget.locator("input[type=range]").first
    slider.scroll_into_view_if_needed()
    box, before = slider.bounding_box(), last_column(widget)
    page.touchscreen.tap(box["x"] + box["width"] * 0.9, box["y"] + box["height"] / 2)
    assert last_column(widget)[0] > before[0]
    sizes = [e.bounding_box() for e in widget.locator("input, select, button").all()]
    assert min(min(size["width"], size["height"]) for size in sizes) >= 24


@pytest.mark.parametrize("view", VIEWS)
def test_without_javascript_the_page_is_complete(open_page, site_url, view):
    page = open_page(java_script_enabled=False)
    page.goto(f"{site_url}/{view}/{CHAPTER}")
    still = page.locator(".widget-still svg").first
    assert still.is_visible() and "0.4519" in still.text_content()
    title = still.locator("title").first.text_content()
    assert bool(HAN.search(title)) == (view != "en") and bool(re.search("[A-Za-z]{4}", title)) == (view != "zh")
    assert page.locator(".math .katex-html").first.is_visible()
    page.locator("details.solution summary").first.click()
    assert page.locator("details.solution p, details.solution li").first.is_visible()
    page.locator('.lang-switch a[data-lang="both"], .lang-switch a[data-lang="zh"]').last.click()
    page.wait_for_url("**/both/**")


def test_a_widget_that_cannot_start_leaves_its_still_picture(open_page, site_url):
    page = open_page()
    page.route(
        f"**/{CHAPTER}",
        lambda route: route.fulfill(
            body=(SITE / "en" / CHAPTER).read_text("utf-8").replace("function render(", "function renders("),
            content_type="text/html",
        ),
    )
    page.goto(f"{site_url}/en/{CHAPTER}")
    page.wait_for_function(READY)
    assert page.locator(".widget-still svg").first.is_visible()
    assert [line for line in page.log.console if "widget" in line]


def models(view):
    """The widget models in the chapter's page."""
    text = (SITE / view / CHAPTER).read_text("utf-8")
    return json.loads(re.search(r'widget-state\+json">(.*?)</script>', text, re.S)[1])["state"]


@pytest.mark.parametrize("path", sorted((SITE / "both").glob("0*.html")), ids=lambda p: p.stem)
def test_what_the_widgets_of_a_page_share_is_in_it_once(path):
    text = path.read_text("utf-8")
    assert "widget-view+json" in text
    for file, line in ("core.js", "Shared by all widgets"), ("core.css", "--attn-border: var("):
        assert line in (ROOT / "code" / "attention_widgets" / file).read_text("utf-8") and text.count(line) == 1


def test_state_is_the_same_in_all_views():
    """Executed once: the same widget models in every view."""

    assert sorted(models("zh")) == sorted(models("en")) == sorted(models("both"))


def test_widgets_of_a_page_bring_their_common_style_once():
    states = [model["state"] for model in models("en").values() if "_esm" in model["state"]]
    assert len(states) == 2 and sum("_css" in state for state in states) == 1


# ---------------------------------------------------------------- languages, copying
def switch(page, lang):
    """Click a language where the page stands: Playwright's own click would scroll first, as the row is sticky."""
    page.locator(f'.lang-switch a[data-lang="{lang}"]').evaluate("link => link.click()")


def test_language_switch_keeps_the_section_and_the_root_remembers(open_page, site_url):
    page = open_page(locale="en-US")
    page.goto(f"{site_url}/zh/{CHAPTER}#{SECTION}")
    switch(page, "en")
    page.wait_for_url(f"**/en/{CHAPTER}#{SECTION}")
    switch(page, "both")
    page.wait_for_url(f"**/both/{CHAPTER}#{SECTION}")
    page.goto(f"{site_url}/")
    page.wait_for_url("**/both/index.html")


def test_language_switch_keeps_the_section_that_was_scrolled_to(open_page, site_url):
    page = open_page()
    page.goto(f"{site_url}/zh/{CHAPTER}")
    page.evaluate(LAID_OUT)  # a script that scrolls far would come to where the section was guessed to be
    page.evaluate("document.getElementById('the-row-sum-check').scrollIntoView()")
    switch(page, "en")
    page.wait_for_url(f"**/en/{CHAPTER}#the-row-sum-check")
    page.evaluate("scrollTo(0, 0)")
    switch(page, "zh")
    page.wait_for_url(f"**/zh/{CHAPTER}")


@pytest.mark.parametrize("locale, view", [("en-US", "en"), ("zh-CN", "zh"), ("zh-TW", "zh"), ("fr-FR", "en")])
def test_root_follows_the_browser(open_page, site_url, locale, view):
    page = open_page(locale=locale)
    page.goto(f"{site_url}/")
    page.wait_for_url(f"**/{view}/index.html")


def test_root_without_javascript_offers_the_three_views(open_page, site_url):
    page = open_page(java_script_enabled=False)
    page.goto(f"{site_url}/")
    for view in VIEWS:
        assert page.locator(f'a[href="{view}/index.html"]').is_visible()


def test_lang_in_the_address(open_page, site_url):
    page = open_page()
    page.goto(f"{site_url}/zh/{CHAPTER}?lang=en#{SECTION}")
    page.wait_for_url(f"**/en/{CHAPTER}#{SECTION}")


def test_a_formula_is_copied_as_tex(open_page, site_url):
    page = open_page()
    page.goto(f"{site_url}/en/{CHAPTER}")
    copied = page.evaluate("""() => {
      const formula = document.querySelector("div.math .katex"), range = document.createRange();
      range.setStart(formula.querySelector(".katex-html").lastChild, 0); // part of it is enough
      range.setEndAfter(formula);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      const event = new ClipboardEvent("copy", { clipboardData: new DataTransfer(), bubbles: true, cancelable: true });
      document.dispatchEvent(event);
      return event.clipboardData.getData("text/plain");
    }""")
    assert copied.strip() == r"$$Q = X W_Q, \qquad K = X W_K, \qquad V = X W_V$$"


def test_opens_from_the_disk(open_page):
    page = open_page(locale="zh-CN")
    page.goto((SITE / "index.html").as_uri())
    page.wait_for_url("**/zh/index.html")
    page.goto((SITE / "zh" / CHAPTER).as_uri())
    page.wait_for_function(READY)
    page.get_by_role("link", name="English", exact=True).click()
    page.wait_for_url(f"**/en/{CHAPTER}")
    assert (page.log.external, page.log.failed, page.log.console) == ([], [], [])


def test_cut_fonts_do_not_bear_reserved_names_and_keep_their_licence():
    fonts = list((SITE / "shared" / "files").glob("*.woff2"))
    assert len(fonts) >= 8
    for path in fonts:
        names = {record.nameID: str(record) for record in TTFont(path)["name"].names}
        assert set(names) <= {0, 13, 14} and "Copyright" in names[0], path.name
