"""The search page in a real browser: what is found, how it is shown, and that no input does harm."""

import csv
import json
import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup

from conftest import SITE, STORAGE_DENIED, run
from section_search import add_twins, formula, names, sections, traditional
from test_attention_colours import contrast
from typeset_math import typeset

D, R = "02_derivation.html#", "references.html#"
with (Path(__file__).parent / "queries.csv").open(encoding="utf-8", newline="") as file:
    QUERIES = [query | {"right": query["right"].split()} for query in csv.DictReader(file)]
VIEWS = ("zh", "en", "both")
TOLD = "#search-told[role=status]"
# What is met of each set in each view: right at first, among three. All were used to tune the ranking: new queries are
# met less often, 80 in 100 at first and 90 among three when the last of `fresh` were written.
MET = {"first": (0.95, 1), "second": (0.75, 0.85), "held": (0.7, 0.85), "fresh": (0.85, 0.95), "earlier": (0.8, 1)}
# A sentence more or less in every section, put into the text before it is searched.
CHANGES = {
    "none": "",
    "more": r"""
const firsts = SECTIONS.map(({ text }) => text.split(/(?<=[。\n]|[.?!] )/)[0]);
SECTIONS.forEach((section, i) => { section.text += `\n${firsts[(i + 1) % firsts.length]}`; });""",
    "less": r"""
SECTIONS.forEach((section) => { section.text = section.text.split(/(?<=[。\n]|[.?!] )/).slice(0, -1).join(""); });""",
}
SEARCH = """
import { readFileSync } from "node:fs";
import { createContext, runInContext } from "node:vm";
export const search = (site, asked, change) => Object.fromEntries(Object.entries(asked).map(([view, queries]) => {
  const context = createContext({});
  const read = (name) => readFileSync(`${site}/${view}/${name}.js`, "utf8");
  for (const code of [read("sections"), `{${change}}`, read("section_search")]) runInContext(code, context);
  const hits = (query) => context.search(query).hits.map(({ href }) => href);
  return [view, Object.fromEntries(queries.map((query) => [query, hits(query)]))];
}));
"""
HARMLESS = [
    "constructor", "__proto__", "toString valueOf", "<b>bold</b>", "<img src=x onerror=alert(1)>", '"', "'", "\\", "(",
    "[a-", ".*", "a|b", "?!…。，", "%", "   ", "x" * 5000, "注意力" * 2000, "🙂", "\u202e\u0301", "^_^", "√", "=", "+",
    "|", "-1", "1e999", "\\u{110000}",
]  # fmt: skip
SPEAKS = {"zh": "找到 {} 节。", "en": "{} sections found."}


class Search:
    """A search page, opened once, with what a reader sees of it."""

    def __init__(self, page):
        self.page = page
        self.field = page.locator(".bd-search-container input[name=q]")
        self.told = page.locator(TOLD)
        self.links = page.locator("#search-results li a")

    def ask(self, query):
        self.told.evaluate("told => told.replaceChildren('…')")
        self.field.fill(query)
        self.field.press("Enter")
        self.page.wait_for_function("() => document.querySelector('#search-told').textContent !== '…'")
        return [link.get_attribute("href") for link in self.links.all()]

    def ask_for_all(self, query):
        self.ask(query)
        more = self.page.get_by_role("button", name=re.compile("再看|more"))
        if more.count():
            more.press("Enter")
        return [link.get_attribute("href") for link in self.links.all()]

    @property
    def sentence(self):
        return self.told.inner_text().strip()


@pytest.fixture(scope="module")
def search(new_page, site_url):
    """search(view) -> its search page, opened once for all tests of this file that ask there."""
    opened = {}

    def search_(view):
        if view not in opened:
            page = new_page()
            page.goto(f"{site_url}/{view}/search.html")
            page.locator(TOLD).locator("span").first.wait_for()
            opened[view] = Search(page)
        return opened[view]

    yield search_
    for found in opened.values():
        assert (found.page.log.external, found.page.log.console, found.page.log.failed) == ([], [], [])
        found.page.context.close()


@pytest.fixture
def ask(search):
    """ask(view, query) -> the addresses of the hits."""
    return lambda view, query: search(view).ask(query)


def said_in_sections(view, page):
    """{address: what the section says}, read from the built page without the code that makes the index."""
    soup = BeautifulSoup((SITE / view / page).read_text("utf-8"), "html.parser")
    for unread in soup.select("script, .widget-still"):
        unread.decompose()
    said = {}
    for section in reversed(soup.select("article section[id]")):  # the innermost first
        said[f"{page}#{section['id']}"] = section.extract().get_text().lower()
    return said


# ---------------------------------------------------------------- what is found
@pytest.fixture(scope="module")
def hits():
    """{view: {query: addresses, the best first}} for all queries of the file, each also asked in the view of both."""
    return searched({view: [q["query"] for q in QUERIES if view in (*q["view"].split(), "both")] for view in VIEWS})


def searched(asked, change="none"):
    ask = f"m.search({json.dumps(str(SITE))}, given, {json.dumps(CHANGES[change])})"
    return {view: run(SEARCH, ask, {view: queries})[view] for view, queries in asked.items()}


def address(place):
    """02_derivation#step-1 → 02_derivation.html#step-1"""
    return re.sub(r"(?=#)|$", ".html", place, count=1)


def rank(right, found):
    """At which place (1, 2, …) stands the first hit that is right: a section of a right page, or a right section."""
    wanted = set(map(address, right))
    return next((n for n, hit in enumerate(found, 1) if {hit, hit.split("#")[0]} & wanted), len(found) + 9)


def test_every_right_answer_is_in_the_book():
    places = set()
    for page in (SITE / "en").rglob("*.html"):
        ids = re.findall(r'<section[^>]* id="([^"]+)"', page.read_text("utf-8"))
        name = page.relative_to(SITE / "en").as_posix()
        places |= {name, *(f"{name}#{one}" for one in ids)}
    assert not [place for query in QUERIES for place in query["right"] if address(place) not in places]
    assert {query["set"] for query in QUERIES} == set(MET)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", MET)
def test_the_right_page_is_first_or_among_three(hits, name, view):
    asked = [q for q in QUERIES if q["set"] == name and view in (*q["view"].split(), "both")]
    places = {q["query"]: rank(q["right"], hits[view][q["query"]]) for q in asked}
    missed = {query: n for query, n in places.items() if n > 3}
    shares = [sum(n <= most for n in places.values()) / len(places) for most in (1, 3)]
    assert shares[0] >= MET[name][0] and shares[1] >= MET[name][1], f"{shares}, not among three: {missed}"


@pytest.mark.parametrize("change", ["more", "less"])
def test_a_sentence_more_or_less_everywhere_keeps_the_right_page_among_three(change):
    asked = {view: [q for q in QUERIES if q["set"] == "first" and view in q["view"].split()] for view in ("zh", "en")}
    found = searched({view: [q["query"] for q in queries] for view, queries in asked.items()}, change)
    assert not [q["query"] for view in asked for q in asked[view] if rank(q["right"], found[view][q["query"]]) > 3]


def test_no_name_stands_for_two_things():
    known = [re.sub(r"[\s-]", "", name.lower()) for line in names() for name in line]
    assert len(known) > 200 and not {name for name in known if known.count(name) > 1}


@pytest.mark.parametrize("view", ["zh", "en"])
def test_what_is_found_in_other_words_is_what_the_books_word_finds(ask, view):
    for other, own in (("look-ahead mask", "causal mask"), ("雅各比", "Jacobian"), ("多頭注意力", "多头注意力")):
        assert ask(view, other)[0] == ask(view, own)[0]


@pytest.mark.parametrize(
    "view, query, parts",
    [
        ("zh", "softmax方向", ["softmax", "方向"]),
        ("zh", "之前 权重", ["之前", "权重"]),
        ("zh", "缩放分数", ["缩放分数"]),
        ("zh", "差距 权重", ["差距", "权重"]),
        ("en", "row weights", ["row", "weight"]),
        ("en", "query keys value", ["quer", "key", "value"]),
    ],
)
def test_just_the_sections_that_hold_every_word_are_found(search, view, query, parts):
    said = said_in_sections(view, "02_derivation.html")
    holding = {name for name in said if all(re.search(rf"(?<![a-z]){part}", said[name]) for part in parts)}
    assert holding and {hit for hit in search(view).ask_for_all(query) if hit in said} == holding


@pytest.mark.parametrize("query", ["row", "5", "sum", "key"])
def test_a_word_is_not_found_inside_another(search, query):
    page = search("en")
    assert page.ask(query)
    before = page.page.locator("#search-results mark").evaluate_all(
        "marks => marks.map((mark) => mark.previousSibling?.textContent.slice(-2) ?? '')"
    )
    assert len(before) > 3 and not [text for text in before if re.search(r"[A-Za-z0-9]$|\d\.$", text)]


@pytest.mark.parametrize(
    "view, whole, begun", [("en", "weights", "weigh"), ("zh", "0.4519", "0.45"), ("zh", "softmax", "sof")]
)
def test_the_beginning_of_a_word_or_decimal_is_enough(ask, view, whole, begun):
    assert ask(view, begun)[0] in ask(view, whole)[:5]


def test_where_hardly_any_section_holds_all_words_those_with_some_follow(search):
    for view, said in (("zh", "含有全部的词的只有 1 节"), ("en", "Only 1 of these")):
        page = search(view)
        hits = page.ask("Kobayashi transformer")
        assert said in page.sentence and len(hits) > 3 and hits[0] == R + "kobayashi-et-al-2020"


def test_where_no_section_holds_all_words_the_page_says_so(search):
    for view, said in (("zh", "没有哪一节含有全部的词"), ("en", "No section holds all the words")):
        page = search(view)
        hits = page.ask("assert_allclose Kobayashi")
        assert said in page.sentence
        assert D + "the-row-sum-check" in hits and R + "kobayashi-et-al-2020" in hits


def test_what_is_looked_up_instead_is_said(search):
    page = search("en")
    hits = page.ask_for_all("softmx")
    assert "“softmax”" in page.sentence
    assert hits == page.ask_for_all("softmax") and page.sentence == SPEAKS["en"].format(len(hits))
    page = search("zh")
    page.ask("什么是凸组合")
    assert "“凸组合”" in page.sentence
    assert page.ask("分数和权重的区别") and "“" in page.sentence


# ---------------------------------------------------------------- how it is shown
def test_a_hit_names_page_and_section_marks_the_words_and_opens_there(open_page, site_url):
    page = open_page()
    page.goto(f"{site_url}/zh/search.html?q=54.8%25")
    link = page.locator("#search-results li a").first
    assert link.inner_text() == "推导：三个词元，从头算到底 › 第 4 步：输出"
    assert page.locator("#search-results li").first.locator("p mark").first.inner_text() == "54.8%"
    link.click()
    page.wait_for_url("**/02_derivation.html#step-4-output")
    assert 0 <= page.locator("#step-4-output h3").bounding_box()["y"] < 200
    assert page.log.console == []


@pytest.mark.parametrize(
    "view, query", [("zh", "的"), ("zh", "softmax"), ("en", "the"), ("en", "d_k"), ("both", "权重"), ("both", "√")]
)
def test_excerpts_are_short_marked_and_free_of_tex(search, view, query):
    page = search(view)
    page.ask(query)
    texts = page.page.locator("#search-results li").all_inner_texts()
    assert texts and not [text for text in texts if re.search(r"\\[a-z]+|\$|\\[({]", text) or len(text) > 450]
    marks = set(page.page.locator("#search-results mark").all_inner_texts())
    assert {mark.lower().replace("_", "") for mark in marks} == {query.replace("_", "")}


@pytest.mark.parametrize("view", ["zh", "en"])
def test_the_number_of_hits_is_announced_once_typing_rests(search, view):
    page = search(view)
    found = len(page.ask_for_all("softmax"))
    page.ask("")
    page.page.evaluate("""() => {
      window.heard = [];
      const region = document.querySelector("#search-told");
      new MutationObserver(() => heard.push(region.innerText)).observe(region, { childList: true });
    }""")
    page.field.press_sequentially("softmax", delay=20)
    page.page.wait_for_function("() => heard.length > 0")
    assert [text.strip() for text in page.page.evaluate("heard")] == [SPEAKS[view].format(found)]
    assert page.page.url.endswith("search.html?q=softmax")
    assert page.page.locator(".lang-switch a").first.get_attribute("href").endswith("search.html?q=softmax")


def test_letters_of_an_input_method_are_not_looked_up_before_the_word_is_chosen(search):
    page = search("zh")
    page.ask("凸组合")
    before = page.sentence
    page.field.fill("")
    typing = page.page.context.new_cdp_session(page.page)
    typing.send("Input.imeSetComposition", {"text": "re li tu", "selectionStart": 8, "selectionEnd": 8})
    page.page.wait_for_timeout(400)
    assert page.field.input_value() == "re li tu" and page.sentence == before
    typing.send("Input.insertText", {"text": "热力图"})
    page.page.locator('#search-results a[href$="#reading-the-heatmap"]').wait_for()


def test_many_hits_come_in_two_portions(search):
    page = search("zh")
    page.ask("的")
    found = int(re.search(r"\d+", page.sentence)[0])
    assert page.links.count() == 20 < found
    page.page.get_by_role("button", name=f"再看 {found - 20} 节").press("Enter")
    assert page.links.count() == found
    assert page.page.evaluate("document.activeElement.closest('li')?.previousElementSibling?.matches(':nth-child(20)')")


def test_arrows_go_through_the_hits_and_escape_goes_back(search):
    page = search("en")
    page.ask("softmax")
    at = "[...document.querySelectorAll('#search-results li a')].indexOf(document.activeElement)"
    seen = []
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp", "ArrowDown", "Escape"):
        page.page.keyboard.press(key)
        seen.append(page.page.evaluate(at))
    assert seen == [0, 1, 0, -1, 0, -1] and page.field.evaluate("field => field === document.activeElement")


@pytest.mark.parametrize(
    "view, query, words", [("en", "heatmap", "the familiar heatmap"), ("zh", "热力图", "常见的热力图")]
)
def test_the_words_are_marked_on_the_page_that_opens(open_page, site_url, view, query, words):
    page = open_page()
    page.goto(f"{site_url}/{view}/search.html?q={query}")
    link = page.locator("#search-results li a[href$='#reading-the-heatmap']")
    link.click()
    page.wait_for_url("**/02_derivation.html#reading-the-heatmap:~:text=*")
    assert words in unquote(page.url)
    assert page.evaluate("location.hash") == "#reading-the-heatmap"  # nothing on the page sees the rest
    assert 0 <= page.locator("#reading-the-heatmap h2").bounding_box()["y"] < 720
    page.go_back()
    link.wait_for()
    assert link.get_attribute("href") == "02_derivation.html#reading-the-heatmap"


def test_dialog_and_keys_alone_lead_to_the_section(open_page, site_url):
    page = open_page()
    page.goto(f"{site_url}/en/index.html", wait_until="load")
    page.keyboard.press("Control+k")
    page.keyboard.type("row sum")
    page.keyboard.press("Enter")
    page.wait_for_url("**/en/search.html?q=row+sum")
    page.locator("#search-results li a").first.wait_for()
    page.keyboard.press("Control+k")  # here it goes to the field and out of it
    page.keyboard.press("Control+k")
    assert page.evaluate("document.activeElement.value") == "row sum"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/en/02_derivation.html#the-row-sum-check")
    page.go_back()
    page.locator("#search-results li a").first.wait_for()
    assert page.log.console == []


# ---------------------------------------------------------------- any input, any place
@pytest.mark.parametrize("view", ["zh", "en"])
@pytest.mark.parametrize("query", HARMLESS, ids=lambda query: ascii(query)[:20])
def test_any_input_is_answered_by_a_sentence_and_does_nothing(search, view, query):
    page = search(view)
    page.page.evaluate("() => { window.alert = () => { document.title = 'harm'; }; }")
    page.ask(query)
    assert re.search(r"[.。：:]$", page.sentence) and page.page.title() != "harm"
    assert page.page.locator("#search-results :is(img, b, script)").count() == 0
    assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("address", ["?q=%E0%A4%A", "?q=%00", "?q", "?q=<b>&q=2", "?p=1", "?q=" + "%E6%B3%A8" * 3000])
def test_any_address_is_answered_by_a_sentence(open_page, site_url, address):
    page = open_page()
    page.goto(f"{site_url}/zh/search.html{address}")
    page.locator(TOLD).get_by_text(re.compile("[。：]$")).first.wait_for()
    assert page.log.console == []


def test_half_an_emoji_does_not_stop_the_search(open_page, site_url):
    page = open_page()
    page.goto(f"{site_url}/en/search.html?q={'a' * 199}😀")  # of its two halves, the field holds one
    field = page.get_by_role("searchbox").filter(visible=True)
    page.get_by_text("No section holds this").wait_for()
    field.press("End")
    field.press("Enter")
    assert page.log.console == [] and "q=aaa" in page.locator(".lang-switch a").first.get_attribute("href")


def test_no_word_and_no_hit_offer_the_glossary(search):
    for view, no_word, no_hit in (
        ("zh", "输入一个词", "一节也没有找到"),
        ("en", "Type a word", "No section holds this"),
    ):
        page = search(view)
        for query, said in (("", no_word), ("qqqqq", no_hit)):
            assert page.ask(query) == [] and said in page.sentence
        assert page.page.locator('#search-elsewhere a[href="glossary.html"]').is_visible()


def test_it_searches_from_the_disk_and_where_storage_is_denied(open_page):
    page = open_page()
    page.add_init_script(STORAGE_DENIED)
    page.goto((SITE / "both" / "search.html").as_uri() + "?q=热力图")
    page.locator("#search-results li a").first.wait_for()
    page.locator(".bd-search-container input").fill("heatmap")
    page.keyboard.press("Enter")
    page.locator("#search-results mark", has_text="heatmap").first.wait_for()
    page.locator("#search-results li a").first.click()
    page.wait_for_url("**/both/02_derivation.html#reading-the-heatmap*")
    assert (page.log.external, page.log.failed, page.log.console) == ([], [], [])


@pytest.mark.parametrize("view", ["zh", "en", "both"])
def test_without_javascript_glossary_and_contents_are_linked(open_page, site_url, view):
    page = open_page(java_script_enabled=False)
    page.goto(f"{site_url}/{view}/search.html?q=a")
    main = page.locator("main")
    assert "JavaScript" in main.inner_text() and not main.locator("input").is_visible()
    for name in ("glossary", "index", "02_derivation"):
        assert main.locator(f'noscript a[href="{name}.html"]').first.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_button_for_more_hits_can_be_read(open_page, site_url, scheme):
    page = open_page(color_scheme=scheme)
    page.goto(f"{site_url}/en/search.html?q=a")
    page.locator("#search-results button").wait_for()
    shown = page.evaluate("""() => [["#search-results button", "color"], ["body", "backgroundColor"]].map(
      ([where, part]) => getComputedStyle(document.querySelector(where))[part])""")
    assert contrast(*("#" + bytes(map(int, re.findall(r"\d+", rgb)[:3])).hex() for rgb in shown)) >= 4.5


def test_only_the_search_page_loads_the_text_and_nothing_of_the_old_search_is_left():
    for page in SITE.glob("*/*.html"):
        assert ("sections.js" in page.read_text("utf-8")) == (page.name == "search.html")
    old = re.compile("searchindex|searchtools|language_data|doctools|sphinx_highlight")
    assert not [path for path in SITE.rglob("*") if old.search(path.name)]
    assert not [path for path in SITE.glob("*/*.html") if old.search(path.read_text("utf-8"))]


# ---------------------------------------------------------------- how pages are read
@pytest.mark.parametrize(
    "tex, text",
    [
        (r"\tilde S=S/\sqrt{d_k}", "S̃ = S/√d_k"),
        (r"\frac{QK^\top}{\sqrt{d_k}}", "QKᵀ/√d_k"),
        (r"A=\operatorname{softmax}_{\mathrm{row}}\!\left(\tilde S\right)", "A = softmax_row (S̃)"),
        (r"S_{ij} = q_i k_j^\top = \sum_{\ell} q_{i\ell}\, k_{j\ell}", "S_ij = q_i k_jᵀ = ∑_ℓ q_iℓ k_jℓ"),
        (r"e^{-3}=1/e^3", "e^(−3) = 1/e^3"),
        (r"\frac{a+b}{2}", "(a+b)/2"),
        (r"\sqrt3/(3+\sqrt3)", "√3/(3+√3)"),
        (r"2\log 2, \sqrt{a+b}", "2log 2, √(a+b)"),
        (r"n_q\times d_{model}", "n_q×d_model"),
        (r"Q=XW_Q", "Q = X W_Q"),
        (r"Z_{i,:}", "Z_(i, :)"),
        (r"\sum_{j=1}^{n} \hat x_j", "∑_(j = 1)^n x̂_j"),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", "(1, 2; 3, 4)"),
        (r"\mathbb R^{n\times d}", "R^(n×d)"),
    ],
)
def test_a_formula_becomes_a_readable_line(tex, text):
    assert formula(ElementTree.fromstring(typeset(tex, False)).find(".//{*}math")).strip() == text


def test_a_section_is_read_without_its_subsections_scripts_and_repeated_formulas():
    drawn = typeset(r"x_1\text{<b>}", False)
    html = f"""<article><section id="a">
    <h1><span class="lang-zh">甲</span> <span class="lang-en">A</span><a class="headerlink">#</a></h1>
    <p>one
    line {drawn}.</p><script>no</script><div class="widget-still"><svg><text>no</text></svg></div>
    <table><tr><th><p>p</p></th><td>q</td></tr></table><pre><span class="mi">1</span> &lt; x
second</pre><section id="b"><h2>B</h2><p>below</p></section></section></article>"""
    assert sections("p.html", html) == [
        {"href": "p.html#a", "path": [["甲", "A"]], "text": "one line x_1<b>.\np · q\n1 < x\nsecond"},
        {"href": "p.html#b", "path": [["甲", "A"], ["B"]], "text": "below"},
    ]


def test_sections_have_their_titles_in_the_other_language_where_it_is_not_shown():
    cells = [("lang-zh", "# 甲\n## 乙 $n^2$"), ("lang-en", "# A\n## B $n^2$"), (None, "## GPT")]
    kind = {"cell_type": "markdown"}
    notebook = {"cells": [kind | {"metadata": {"tags": [tag] if tag else []}, "source": text} for tag, text in cells]}
    for view, twins in (("zh", ["A", "B n^2", None]), ("en", ["甲", "乙 n^2", None]), ("both", [None] * 3)):
        found = [{"path": [[title]]} for title in ("?", "?", "GPT")]
        assert [section.get("twin") for section in add_twins(found, notebook, view)] == twins


def test_traditional_characters_are_read_as_those_of_the_book():
    table = traditional()
    simple = dict(zip(table[::2], table[1::2], strict=True))
    assert "".join(simple.get(sign, sign) for sign in "多頭注意力的權重與編碼器") == "多头注意力的权重与编码器"
    written = set((SITE / "zh" / "sections.js").read_text("utf-8").split("\n")[0])
    assert not written & set(simple) and set(simple.values()) <= written
