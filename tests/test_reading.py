"""Reading: what can be copied, progress in the browser, a page without its script, enlarged text, words around it."""

import re

import nbformat
import pytest

from attention_colours import DARK, LIGHT
from conftest import READY, ROOT
from test_site import CHAPTER, HAN, VIEWS

NOTEBOOK = nbformat.read(ROOT / "book" / "02_derivation.ipynb", as_version=4)
CODE = [c.source for c in NOTEBOOK.cells if c.cell_type == "code" and "jupyter-only" not in c.metadata.get("tags", [])]
FORMULAS = [c.source.strip("$\n ") for c in NOTEBOOK.cells if c.cell_type == "markdown" and c.source.startswith("$$")]
SHIFTS = """async () => { // of the layout, since the page was opened
  const seen = [], observer = new PerformanceObserver((list) => seen.push(...list.getEntries()));
  observer.observe({ type: "layout-shift", buffered: true });
  for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
  return [...seen, ...observer.takeRecords()].map((entry) => entry.value);
}"""
CUT = """() => { // buttons of the top row that do not lie in it
  const row = document.querySelector(".bd-header-article"), { bottom } = row.getBoundingClientRect();
  return [...row.querySelectorAll("a, button")].filter((e) => e.checkVisibility()).map((e) => e.getBoundingClientRect())
    .filter((e) => e.left < 0 || e.right > innerWidth || e.bottom > bottom);
}"""
NAMES = """() => ["bd-header-article", "bd-sidebar-primary", "prev-next-footer", "bd-article"]
  .flatMap((part) => [...document.querySelectorAll(`.${part} :is(button, .headerlink, nav, section, .btn)`)])
  .filter((e) => !e.closest(".afm-view, .question-form, .lang-switch"))
  .map((e) => e.getAttribute("aria-label") ?? e.title).filter(Boolean)"""


@pytest.fixture
def reader(open_page, site_url):
    """reader(page name, **context options) -> an open page whose clipboard may be read."""

    def open_(name, **options):
        page = open_page(permissions=["clipboard-read", "clipboard-write"], **options)
        page.goto(f"{site_url}/{name}")
        return page

    return open_


def clipboard(page):
    return page.evaluate("navigator.clipboard.readText()")


def test_a_button_copies_the_code_of_its_cell_and_says_so(reader):
    page = reader(f"en/{CHAPTER}")
    assert page.locator(".cell_input").get_by_role("button", name="Copy", exact=True).count() == len(CODE)
    buttons = page.locator(".copy-code")
    for i in (0, len(CODE) // 2, len(CODE) - 1):
        page.evaluate("navigator.clipboard.writeText('')")
        buttons.nth(i).press("Enter")
        buttons.nth(i).filter(has_text="Copied").wait_for()
        assert page.get_by_role("status").filter(has_text="Copied").count() == 1
        assert clipboard(page) == CODE[i]
        assert page.evaluate("document.activeElement.closest('.cell_input') !== null"), "the keyboard lost its place"
    assert page.log.console == []


def test_without_the_clipboard_interface_the_button_still_copies(open_page, site_url):
    page = open_page()
    page.add_init_script("Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined })")
    page.goto(f"{site_url}/zh/{CHAPTER}")
    page.locator(".cell_input").get_by_role("button", name="复制").nth(1).click()
    page.get_by_role("status").filter(has_text="已复制").wait_for(state="attached")
    page.evaluate("document.body.prepend(Object.assign(document.createElement('textarea'), { id: 'pasted' }))")
    page.locator("#pasted").press("Control+v")
    assert page.locator("#pasted").input_value() == CODE[1]


def test_one_formula_is_copied_as_tex_by_key_and_by_a_double_click(reader):
    page = reader(f"both/{CHAPTER}")
    page.locator(".math-scroll").first.focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "复制 TeX Copy TeX"
    page.keyboard.press("Enter")
    page.get_by_role("status").filter(has_text="Copied").wait_for(state="attached")
    assert clipboard(page) == FORMULAS[0]
    assert page.locator(".copy-tex").count() == 1
    inline = page.locator("p .katex", has_text="X").first
    tex = inline.locator("annotation").text_content()
    inline.locator(".katex-html").dblclick()
    assert page.evaluate("getSelection().getRangeAt(0).cloneContents().querySelector('annotation')?.textContent") == tex
    page.keyboard.press("Control+c")
    assert clipboard(page).strip() == f"${tex}$"


TO_THE_FOOT = """() => {  // again and again, since fonts that arrive make the page longer
  document.querySelector(".prev-next").scrollIntoView();
  return document.querySelector(".bd-links .read-mark");
}"""


def test_progress_is_kept_shown_in_all_views_and_cleared(reader):
    page = reader(f"en/{CHAPTER}")
    page.wait_for_function(READY)  # widgets make the page longer
    mark = page.locator('.bd-links a.current [role="img"]')
    page.locator("#the-row-sum-check").evaluate("e => e.scrollIntoView()")
    assert mark.count() == 0 and page.locator(".progress-told button:visible").count() == 0
    page.wait_for_function(TO_THE_FOOT)
    assert mark.get_attribute("aria-label") == "read"
    told = page.locator(".progress-told")
    assert "1 of 10 chapters" in told.inner_text() and "sent nowhere" in told.inner_text()
    told.get_by_role("button", name="Mark as unread").click()
    assert mark.count() == 0 and page.evaluate("document.activeElement.rel") == "next"

    page.reload()
    page.wait_for_function(READY)
    page.wait_for_function(TO_THE_FOOT)
    page.locator("#the-row-sum-check").evaluate("e => e.scrollIntoView()")
    page.goto(page.url.replace(f"en/{CHAPTER}", "zh/index.html"))
    assert page.locator(f'.bd-links a[href="{CHAPTER}"] [aria-label="已读"]').count() == 1
    go_on = page.locator(".continue a")
    assert go_on.get_attribute("href") == f"{CHAPTER}#the-row-sum-check" and "推导" in go_on.inner_text()
    assert sum(page.evaluate(SHIFTS)) == 0, "the page moved under the reader"
    page.goto(page.url.replace("/zh/", "/en/"))
    assert "row-sum" in go_on.inner_text()
    page.get_by_role("button", name="Clear progress").click()
    assert page.locator(".read-mark").count() == 0 and not go_on.is_visible()
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.includes('course'))") == []


def test_a_chapter_is_read_when_a_busy_browser_tells_two_changes_at_once(open_page, site_url):
    page = open_page()
    page.add_init_script("""
      const Real = IntersectionObserver;
      window.IntersectionObserver = class extends Real {
        constructor(tell, options) {
          super((changes, self) => tell([{ isIntersecting: false }, ...changes], self), options);
        }
      };""")
    page.goto(f"{site_url}/en/{CHAPTER}")
    page.wait_for_function(TO_THE_FOOT)


def test_sections_far_away_are_not_laid_out_and_a_jump_to_one_is_exact(open_page, site_url):
    page = open_page(viewport={"width": 1300, "height": 720})
    page.goto(f"{site_url}/both/04_softmax_gradient.html")
    far = "article > section > section:last-of-type"
    assert not page.locator(far).locator("h2").evaluate("e => e.checkVisibility({ contentVisibilityAuto: true })")
    ids = page.evaluate("[...document.querySelectorAll('article > section section[id]')].map((e) => e.id)")[::8]
    padding = page.evaluate("parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop)")
    for section in ids:
        page.goto("about:blank")
        page.goto(f"{site_url}/both/04_softmax_gradient.html#{section}")
        assert (
            abs(page.locator(f"#{section}").evaluate("e => e.firstElementChild.getBoundingClientRect().y") - padding)
            < 2
        )


def test_the_page_is_light_without_a_script_and_dark_before_the_script(open_page, site_url):
    page = open_page(java_script_enabled=False, color_scheme="dark")
    page.goto(f"{site_url}/zh/index.html")
    assert page.locator('html[data-theme="light"]').count() == 1
    assert not page.locator(".theme-switch-button").is_visible() and page.locator(".lang-switch").is_visible()
    page = open_page(color_scheme="dark")
    page.route("**/*.js", lambda route: route.abort())
    page.goto(f"{site_url}/zh/index.html")
    assert page.locator('html[data-theme="dark"]').count() == 1
    assert page.locator('meta[name="color-scheme"]').get_attribute("content") == "dark"


def test_text_of_twice_the_size_needs_no_sideways_scroll(open_page, site_url):
    page = open_page()
    for name in (f"both/{CHAPTER}", "en/index.html", "zh/assignments/a3_gradients.html"):
        page.goto(f"{site_url}/{name}")
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        for width in (360, 320):
            page.set_viewport_size({"width": width, "height": 640})
            assert page.evaluate("document.documentElement.scrollWidth") == width, name
            assert page.evaluate(CUT) == [], name
    row = "getComputedStyle(document.querySelector('.bd-header-article')).position"
    assert page.evaluate(row) == "sticky"
    page.set_viewport_size(
        {"width": 300, "height": 640}
    )  # as many em as 600 px have where the reader's text is twice as large
    assert page.evaluate(row) == "static", "three lines of buttons would stand over the text"


@pytest.mark.parametrize("view", VIEWS)
def test_names_around_the_text_are_in_the_language_of_the_page(open_page, site_url, view):
    page = open_page()
    page.goto(f"{site_url}/{view}/{CHAPTER}")
    names = set(page.evaluate(NAMES))
    assert len(names) > 6
    for name in names:
        assert bool(HAN.search(name)) == (view != "en"), name
        assert view != "both" or re.search("[A-Za-z]{4}", name), name
    page.evaluate("window.print = () => { window.printed = true; }")
    page.locator(".print-page").click()
    assert page.evaluate("window.printed") is True


@pytest.mark.parametrize("scheme, colours", [("light", LIGHT), ("dark", DARK)])
def test_letters_of_formulas_have_the_colours_of_their_roles(open_page, site_url, scheme, colours):
    page = open_page(color_scheme=scheme)
    page.goto(f"{site_url}/en/{CHAPTER}")
    for letter, role in zip("QKVAZ", "qkvaz", strict=True):
        found = page.locator(".bd-article .katex-html .mathnormal").get_by_text(letter, exact=True).first
        r, g, b = re.findall(r"\d+", found.evaluate("e => getComputedStyle(e).color"))
        assert f"#{int(r):02x}{int(g):02x}{int(b):02x}" == colours[role], letter
