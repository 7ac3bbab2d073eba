"""The built site in Firefox: what the tests of Chromium hold in detail, held again where browsers differ."""

import os
import re
import shutil

import pytest

from conftest import LAID_OUT, READY, SITE, STORAGE_DENIED
from firefox import Firefox

NAMES = ("firefox-esr", "firefox")
NO_FIREFOX = "No Firefox was found: install Firefox, or put its path into the variable COURSE_FIREFOX."
CHAPTER, SECTION = "02_derivation.html", "first-example-three-unit-vectors"
PAGES = [p.relative_to(SITE).as_posix() for p in sorted((SITE / "both").rglob("*.html")) if "_static" not in p.parts]
PAGES += [f"zh/{CHAPTER}", f"en/{CHAPTER}"]
HAN = re.compile("[\u3400-\u9fff]")
CONTROL = "input[type=range], .afm-view:not(:has([type=range])) input[type=checkbox]"
HALF = """() => Object.entries({ msub: 2, msup: 2, mfrac: 2, mover: 2, munder: 2, msubsup: 3, munderover: 3 })
  .flatMap(([tag, parts]) => [...document.querySelectorAll(tag)].filter((e) => e.children.length !== parts))
  .map((e) => e.outerHTML)"""
FIRST = """(i, control) => {  // gives the first control of a widget a name, and the focus
  document.querySelector("[data-tried]")?.removeAttribute("data-tried");
  const widget = document.querySelectorAll(".afm-view")[i], input = widget.querySelector(control);
  input.dataset.tried = "";
  input.focus();
  return [input.type, 2 * input.value > Number(input.min) + Number(input.max), widget.innerText];
}"""
PICTURE = """() => {
  const widget = document.querySelector("[data-tried]").closest(".afm-view");
  return [...widget.querySelectorAll("svg, td")].map((e) => e.outerHTML).join("");
}"""


@pytest.fixture(scope="module")
def firefox():
    """Firefox, or a skip that says how to get it; where CI is set, its absence is a failure."""
    names = [os.environ["COURSE_FIREFOX"]] if os.environ.get("COURSE_FIREFOX") else NAMES
    program = next(filter(None, map(shutil.which, names)), None)
    if not program:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(NO_FIREFOX)
    with Firefox(program) as firefox:
        yield firefox


@pytest.fixture(scope="module")
def tab(firefox):
    """One tab for the visits that leave nothing behind."""
    with firefox.page() as page:
        yield page


@pytest.mark.parametrize("name", PAGES)
def test_page_is_quiet_and_its_widgets_answer_key_and_mouse(tab, site_url, name):
    tab.goto(f"{site_url}/{name}")
    if tab.run("() => document.querySelector('.widget-still') !== null"):
        tab.until(f"({READY})()")
    stills, widgets = tab.run("() => ['.widget-still', '.afm-view'].map((s) => document.querySelectorAll(s).length)")
    assert stills == widgets
    for i in range(widgets):
        kind, is_high, words = tab.run(FIRST, i, CONTROL)
        assert bool(HAN.search(words)) == (not name.startswith("en/"))
        before = tab.run(PICTURE)
        tab.press(" " if kind == "checkbox" else "ArrowLeft" if is_high else "ArrowRight")
        tab.until(f"({PICTURE})() !== args[0]", before)
        before = tab.run(PICTURE)
        x, y, width, height = tab.box("[data-tried]")
        ways = (0.5,) if kind == "checkbox" else (0.6, 0.4, 0.05) if is_high else (0.4, 0.6, 0.95)  # far away
        tab.point(*((x + width * part, y + height / 2) for part in ways))
        tab.until(f"({PICTURE})() !== args[0]", before)
    assert tab.complaints == [] == tab.run(HALF)


def test_the_chooser_follows_browser_and_choice_and_the_switch_keeps_the_section(firefox, site_url):
    with firefox.page(locale="zh-CN") as page:
        page.goto(f"{site_url}/", arrives="/zh/index.html")
        page.goto(f"{site_url}/zh/{CHAPTER}#{SECTION}")
        page.click('.lang-switch a[data-lang="en"]')
        page.arrives(f"/en/{CHAPTER}#{SECTION}")
        assert 0 <= page.run("(id) => document.getElementById(id).getBoundingClientRect().top", SECTION) < 120
        page.goto(f"{site_url}/", arrives="/en/index.html")
        assert page.complaints == []


def test_search_finds_and_leads_there(tab, site_url):
    tab.goto(f"{site_url}/zh/search.html?q=行和")
    tab.until("document.querySelector('#search-results li a')")
    assert f"{CHAPTER}#the-row-sum-check" in tab.run(
        "() => [...document.querySelectorAll('#search-results li a')].slice(0, 3).map((a) => a.getAttribute('href'))"
    )
    tab.click(f"#search-results a[href='{CHAPTER}#the-row-sum-check']")
    tab.arrives(f"/zh/{CHAPTER}#the-row-sum-check")
    assert tab.complaints == []


def test_a_term_opens_its_card_by_mouse_and_by_key(tab, site_url):
    shown = "document.querySelector('.term-card:popover-open')"
    term = 'article a[href="glossary.html#score"]'
    tab.goto(f"{site_url}/both/notation.html")
    x, y, width, height = tab.box(term)
    tab.point((x + width / 2, y + height / 2))
    tab.until(shown)
    card_x, card_y = tab.run(f"() => {{ const {{ x, y }} = {shown}.getBoundingClientRect(); return [x, y]; }}")
    assert 0 < card_y - y - height < 20 and abs(card_x - x) < 20
    tab.press("Escape")
    tab.until(f"!{shown} && document.activeElement.matches('a.term')")
    tab.press("Enter")
    tab.until(f"{shown} === document.activeElement")
    assert "分数" in tab.run(f"() => {shown}.innerText") and tab.complaints == []


MARK_THE_RIGHT_ONE = """(question) => {
  const box = document.querySelector(question), { answer } = box.querySelector("[data-answer]").dataset;
  box.querySelectorAll("[type=radio]")[answer - 1].closest("label").dataset.right = "";
}"""


@pytest.mark.parametrize("storage", ["allowed", "denied"])
def test_a_question_answers_wherever_storage_is_denied_too(firefox, site_url, storage):
    with firefox.page(before=STORAGE_DENIED if storage == "denied" else None) as page:
        page.goto(f"{site_url}/zh/{CHAPTER}?lang=en", arrives=f"/en/{CHAPTER}")
        page.run("() => document.querySelector('.question > ol').scrollIntoView({ behavior: 'instant' })")
        question = ".question:has([type=radio])"  # which it becomes when the reader is near
        page.until(f"document.querySelector('{question}')")
        page.run(MARK_THE_RIGHT_ONE, question)
        page.click("[data-right]")
        page.click(f"{question} [type=submit]")
        page.until(f"document.querySelector('{question} [role=status]').innerText.startsWith('✓ Right.')")
        assert page.complaints == []


FORMULAS = """async () => {
  await document.fonts.ready;
  const size = (e) => { const { width, height } = e.getBoundingClientRect(); return [width, height]; };
  return [...document.querySelectorAll(".bd-article .katex-html .katex-base")].map(size);
}"""


def test_formulas_are_laid_out_as_in_chromium(tab, open_page, site_url):
    page = open_page(viewport={"width": 1300, "height": 1000})
    page.goto(f"{site_url}/en/{CHAPTER}")
    tab.goto(f"{site_url}/en/{CHAPTER}")
    assert tab.run(LAID_OUT) and page.evaluate(LAID_OUT)
    ours, theirs = tab.run(FORMULAS), page.evaluate(FORMULAS)
    assert len(ours) == len(theirs) > 200
    apart = [abs(a - b) for mine, other in zip(ours, theirs, strict=True) for a, b in zip(mine, other, strict=True)]
    assert max(apart) < 1.5, "pixels"


def test_a_formula_is_copied_as_tex(tab, site_url):
    tab.goto(f"{site_url}/en/{CHAPTER}")
    tab.run("""() => {
      const formula = document.querySelector("div.math .katex"), range = document.createRange();
      range.selectNodeContents(formula.querySelector(".katex-html"));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      addEventListener("copy", (event) => (window.copied = event.clipboardData.getData("text/plain")));
    }""")
    tab.press("Control+c")
    tab.until("window.copied !== undefined")
    assert tab.run("() => copied.trim()") == r"$$Q = X W_Q, \qquad K = X W_K, \qquad V = X W_V$$"


def test_opens_from_the_disk(tab):
    tab.goto((SITE / "index.html").as_uri(), arrives="/en/index.html")
    tab.goto((SITE / "zh" / CHAPTER).as_uri())
    tab.until(f"({READY})()")
    assert tab.run("() => document.querySelectorAll('.afm-view svg').length") > 0
    tab.click('.lang-switch a[data-lang="en"]')
    tab.arrives(f"/en/{CHAPTER}")
    tab.goto(f"{(SITE / 'en' / 'search.html').as_uri()}?q=row+sum")
    tab.until("document.querySelector('#search-results li a')")
    assert tab.complaints == []
