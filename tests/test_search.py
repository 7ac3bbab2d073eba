"""The search page in a real browser: what is found, how it is shown, and that no input does harm."""

import re

import pytest
from bs4 import BeautifulSoup
from test_attention_colours import contrast

from conftest import SITE, STORAGE_DENIED
from section_search import formula, sections
from typeset_math import typeset

D, S, M, H = "02_derivation.html#", "03_scaling_variance.html#", "05_masks.html#", "06_multi_head.html#"
J, G, R = "04_softmax_gradient.html#", "glossary.html#", "references.html#"
N, C, L = "07_rnn_to_attention.html#", "08_cost_and_memory.html#", "10_limits_and_next.html#"
QUERIES = {  # query: the section that must be among the first three hits
    "zh": {
        "权重": D + "step-3-weights",
        "分数": G + "score",
        "缩放分数": D + "step-2-scaled-scores",
        "键": G + "key",
        "核": G + "kernel",
        "头": G + "head",
        "凸组合": G + "convex-combination",
        "热力图": D + "reading-the-heatmap",
        "怎样读热力图": D + "reading-the-heatmap",
        "行和": D + "the-row-sum-check",
        "softmax 之前": G + "score",
        "d_k 缩放": S + "step-5-scale",
        "dk缩放": S + "step-5-scale",
        "softmax方向": D + "the-row-sum-check",
        "忘了开方": D + "going-deeper-tracing-a-wrong-number",
        "不能拿去和前两张比": D + "reading-the-heatmap",
        "词元自己": D + "step-4-output",
        "者合在一": D + "the-formula-and-its-symbols",
        "数都减": D + "reading-the-heatmap",
        "０．４５１９": D + "step-3-weights",
        "45.2％": D + "step-4-output",
        "什么是凸组合": G + "convex-combination",
        "三个词元": D + "derivation-three-tokens-step-by-step",
        "“分数都高”": D + "third-example-three-queries-at-once",
        "ＳＯＦＴＭＡＸ　逐行": D + "the-row-sum-check",
        "投影矩阵 W_Q": G + "projection-matrix",
        "多头": H + "multi-head-attention-reading-several-places-at-once",
        "方差": S + "scaling-and-variance-why-a-square-root",
        "因果掩码": M + "the-causal-mask-hiding-the-future",
        "有限差分": G + "finite-difference",
        "泄漏": M + "a-test-that-finds-leaks",
        "循环网络": N + "from-recurrent-networks-to-attention",
        "local-p": N + "the-whole-sentence-or-a-window",
        "路径长度": G + "path-length",
        "乘加": C + "count-the-work",
        "打乱": L + "shuffle-the-tokens",
        "勘误": "errata.html#errata-errors-you-will-meet-elsewhere",
    },
    "en": {
        "weight": D + "step-3-weights",
        "Weights": D + "step-3-weights",
        "queries": G + "query",
        "scaling": S + "scaling-and-variance-why-a-square-root",
        "heat": D + "reading-the-heatmap",
        "convex comb": D + "step-4-output",
        "what is a convex combination": G + "convex-combination",
        "row sum": D + "the-row-sum-check",
        "row-sum": D + "the-row-sum-check",
        "square root": D + "step-2-scaled-scores",
        "wrong axis": D + "the-row-sum-check",
        '"High scores all round"': D + "third-example-three-queries-at-once",
        "head’s importance": H + "turning-a-head-off",
        "0.4519": D + "step-3-weights",
        "54.8%": D + "step-4-output",
        "√d_k": S + "why-the-root",
        r"\sqrt{d_k}": S + "why-the-root",
        "S = QK^T": G + "score",
        "softmx": G + "softmax",
        "multi head attention": G + "multi-head-attention",
        "masked": G + "mask",
        "kobayashi": R + "kobayashi-et-al-2020",
        "calculator": D + "the-calculator",
        "assert_allclose": D + "the-row-sum-check",
        "jacobian": G + "jacobian",
        "covariance": J + "going-deeper-the-gradient-is-a-covariance",
        "standard error": S + "the-same-by-simulation",
        "leak": M + "a-test-that-finds-leaks",
        "split heads": H + "splitting-and-merging",
        "exponentials": "refresher.html#exponential-and-logarithm",
        "Bahdanau": N + "bahdanau-a-new-context-at-every-step",
        "input feeding": N + "luong-first-the-state-then-the-context",
        "FlashAttention": C + "going-deeper-keys-in-blocks-too",
        "sequential steps": G + "sequential-steps",
        "encoder block": L + "one-encoder-block-assembled",
        "mixed practice": "practice.html#mixed-practice-the-whole-course",
        "0.39": "errata.html#the-weights-0-39-and-0-30",
    },
    "both": {
        "热力图": D + "reading-the-heatmap",
        "heatmap": D + "reading-the-heatmap",
        "行和 row": D + "the-row-sum-check",
        "凸组合": D + "step-4-output",
        "0.3417": D + "third-example-three-queries-at-once",
        "encoder": G + "encoder",
    },
}
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
        self.told = page.get_by_role("status")
        self.links = page.locator("#search-results li a")

    def ask(self, query):
        self.told.evaluate("told => told.replaceChildren('…')")
        self.field.fill(query)
        self.field.press("Enter")
        self.page.wait_for_function("() => document.querySelector('[role=status]').textContent !== '…'")
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
            page.get_by_role("status").locator("span").first.wait_for()
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
@pytest.mark.parametrize("view, query, wanted", [(v, q, w) for v, asked in QUERIES.items() for q, w in asked.items()])
def test_the_section_is_among_the_first_three(ask, view, query, wanted):
    assert wanted in ask(view, query)[:3]


@pytest.mark.parametrize(
    "view, query, parts",
    [
        ("zh", "softmax方向", ["softmax", "方向"]),
        ("zh", "之前 权重", ["之前", "权重"]),
        ("zh", "缩放分数", ["缩放分数"]),
        ("zh", "0.2741 分数", ["0.2741", "分数"]),
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
      const region = document.querySelector("[role=status]");
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
    page.get_by_role("status").get_by_text(re.compile("[。：]$")).first.wait_for()
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
    page.wait_for_url("**/both/02_derivation.html#reading-the-heatmap")
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
        (r"Z_{i,:}", "Z_(i, :)"),
        (r"\sum_{j=1}^{n} \hat x_j", "∑_(j = 1)^n x̂_j"),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", "(1, 2; 3, 4)"),
        (r"\mathbb R^{n\times d}", "R^(n×d)"),
    ],
)
def test_a_formula_becomes_a_readable_line(tex, text):
    assert formula(BeautifulSoup(typeset(tex, False), "html.parser").math).strip() == text


def test_a_section_is_read_without_its_subsections_scripts_and_repeated_formulas():
    html = f"""<article><section id="a">
    <h1><span class="lang-zh">甲</span> <span class="lang-en">A</span><a class="headerlink">#</a></h1>
    <p>one
    line {typeset("x_1", False)}.</p><script>no</script><div class="widget-still"><svg><text>no</text></svg></div>
    <table><tr><th><p>p</p></th><td>q</td></tr></table><pre>first
second</pre><section id="b"><h2>B</h2><p>below</p></section></section></article>"""
    assert sections("p.html", html) == [
        {"href": "p.html#a", "path": [["甲", "A"]], "text": "one line x_1.\np · q\nfirst\nsecond"},
        {"href": "p.html#b", "path": [["甲", "A"], ["B"]], "text": "below"},
    ]
