"""One name for each term in each language: in the glossary, in the links to it, on the site."""

import re

import nbformat
import pytest
from nbformat import v4

from bilingual import cell_lang, segments
from conftest import LAID_OUT, ROOT
from test_notebooks import NOTEBOOKS, prose

CHAPTERS = [p for p in NOTEBOOKS if re.match(r"\d\d_", p.name)]
LINK = re.compile(r"\[([^\]]+)\]\(glossary\.ipynb#([\w-]+)\)")
IPA = re.compile(r"/([^/\s][^/]*)/ ")
SOUNDS = set("ˈˌː æɑəɛɜɪɔʊʌabdefghijklmnoprstuvwzðŋɡʃʒθ")  # General American: no ɒ
TEN = ["attention", "Transformer", "softmax", "kernel", "embedding"]  # the words that the course's sources gave IPA for
TEN += ["gradient", "encoder", "decoder", "classification", "normalization"]
SHORT = {  # other names that a link may have
    "attention-weight": ("权重", "weight"),
    "cache": ("缓存", "KV cache"),
    "independent-and-identically-distributed": ("i.i.d.", "i.i.d."),
    "recurrent-neural-network": ("RNN", "RNN"),
}
ORDINARY = {  # terms whose Chinese name is also, or is part of, an ordinary word: links to them are left to the author
    "classification": "分类讨论",
    "head": "从头、开头",
    "kernel": "核对、核心",
    "key": "关键",
    "output": "代码的输出",
    "parameter": "函数的参数",
    "sequence": "一列数",
    "uncorrelated": "毫不相关的两件事",
    "value": "均值、数值、取值",
}
ORDINARY_ENGLISH = {"memory"}  # "from memory"
# Forms that the course does not use; the errata page will quote some.  分数 for a weight needs a reader.
BANNED = [
    "问询", "关键字", "钥匙", "得分", "权重矩阵", "语境向量", "令牌", "标记",
    "嵌套", "点乘", "内积", "按比例", "累加", "通用", "软最大", "标准偏差",
    "倾斜", "雅各比", "后向传播", "遮罩", "掩膜", "蒙版", "补齐掩码", "空行",
    "自我注意", "互注意力", "译码器", "隐藏层状态", "递归神经网络", "变压器", "变形金刚", "正规化",
    "排列等变", "剩余", "水槽", "感应头", "同指", "存储器",
]  # fmt: skip


def read(path):
    return nbformat.read(path, as_version=4)


def entries(lang):
    """(heading, text) of the glossary's entries in one language."""
    cells = [c.source for c in read(ROOT / "book" / "glossary.ipynb").cells if cell_lang(c) == lang]
    return [(title, body) for source in cells for _, level, title, body in segments(source) if level == 3]


def bare(name):
    """A Chinese name without the English in brackets."""
    return re.sub("（[^）]*）", "", name)


def forms(name):
    """A pattern of an English name, singular or plural, in any case."""
    stem = re.sub(r"(?<=quer)y$", "(?:y|ies)", re.sub("matrix$", "matri(?:x|ces)", re.escape(name)))
    return rf"\b{stem}(?:s|es|['’]s)?\b"


SLUGS = [re.sub(r"\W+", "-", en.lower()) for en, _ in entries("en")]
NAMES = {  # language -> {address: pattern of the term's name}
    "zh": dict(zip(SLUGS, (re.escape(bare(zh)) for zh, _ in entries("zh")), strict=True)),
    "en": dict(zip(SLUGS, (forms(en) for en, _ in entries("en")), strict=True)),
}


def plain(cell):
    """Where a term's first use is looked for: a cell without its headings, code, formulas, other links, references."""
    passed_over = r"^## (?:参考文献|References)$.*|^#.*?$|<details>.*?</details>|\$\$?[^$]*\$\$?|```.*?```|`[^`\n]*`"
    src = re.sub(passed_over, " ", cell.source, flags=re.M | re.S)
    return re.sub(r"\[[^\]]*\]\((?!glossary\.ipynb#)[^)]*\)", " ", src)


def unlinked(nb, lang):
    """(term, words around it) of each first use of a term that is no link to its entry."""
    names = sorted(NAMES[lang].items(), key=lambda item: -len(item[1]))  # the longest name that fits
    words = "|".join(f"(?P<{slug.replace('-', '_')}>{name})" for slug, name in names)
    pattern, linked = re.compile(f"{LINK.pattern}|{words}", re.I if lang == "en" else 0), set()
    skipped = set(ORDINARY) | (ORDINARY_ENGLISH if lang == "en" else set())
    for cell in prose(nb):
        if cell_lang(cell) == lang and not {"question", "exercise", "solution"} & set(cell.metadata.get("tags", [])):
            text = plain(cell)
            for match in pattern.finditer(text):
                slug = match[2] or match.lastgroup.replace("_", "-")
                if not match[2] and slug not in linked | skipped:
                    yield slug, text[max(0, match.start() - 12) : match.end() + 12].replace("\n", " ")
                linked.add(slug)


def misnamed(nb):
    """Links to the glossary that name no entry, or an entry by another name."""
    for cell in prose(nb):
        lang = cell_lang(cell)
        for text, slug in LINK.findall(cell.source):
            short = SHORT.get(slug, ("", ""))[lang == "en"]
            allowed = [NAMES[lang].get(slug, "no such entry"), forms(short) if lang == "en" else re.escape(short)]
            if not any(re.fullmatch(name, bare(text), re.I) for name in allowed):
                yield f"{lang}: [{text}] → {slug}"


# ---------------------------------------------------------------- the glossary
def test_names_are_unique_and_say_the_same():
    zh, en = ([title for title, _ in entries(lang)] for lang in ("zh", "en"))
    assert len({bare(title) for title in zh}) == len(zh) == len(set(SLUGS)) > 50
    for chinese, english in zip(zh, en, strict=True):
        named = re.search("（(.*)）", chinese)
        assert english.startswith(named[1]) if named else chinese == english, "词元（token） beside token"


def test_pronunciation_stands_in_both_languages_and_is_american():
    said = {}
    for (title, zh), (_, en) in zip(entries("en"), entries("zh"), strict=True):
        first, second = IPA.match(zh), IPA.match(en)
        assert (first and first[1]) == (second and second[1]), title
        said[title] = first and first[1]
    assert all(said[word] for word in TEN)
    assert not set("".join(filter(None, said.values()))) - SOUNDS


def test_a_meaning_is_short_and_holds_no_link():
    """It is shown in the chapters, where a link would lead on before the reader has read it."""
    for lang, longest in (("zh", 130), ("en", 280)):
        for title, body in entries(lang):
            meaning = re.sub(r"\$[^$]*\$", "x", body.split("\n\n")[0])
            assert "](" not in meaning and 10 < len(meaning) < longest, title


# ---------------------------------------------------------------- the chapters
@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda p: p.stem)
def test_a_term_is_linked_where_it_is_first_used(chapter, lang):
    assert not list(unlinked(read(chapter), lang))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_links_to_the_glossary_name_their_entry(path):
    assert not list(misnamed(read(path)))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_banned_chinese_is_absent(path):
    text = "\n".join(c.source for c in prose(read(path)) if cell_lang(c) == "zh")
    assert not [word for word in BANNED if word in text]


# ---------------------------------------------------------------- the site
PAGE = "notation.html"
PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}


@pytest.fixture
def at_term(open_page, site_url):
    """at_term(view, address of an entry, **context options) -> page, the first link to the entry, its card."""

    def open_(view, slug, **options):
        page = open_page(**options)
        page.goto(f"{site_url}/{view}/{PAGE}")
        if options.get("java_script_enabled", True):  # without it no frame is asked for
            page.evaluate(LAID_OUT)  # as where a reader has come by reading: nothing above the term changes its height
        return page, page.locator(f'article a[href="glossary.html#{slug}"]').first, page.locator(f"#term-{slug}")

    return open_


@pytest.mark.parametrize("view", ["zh", "en", "both"])
def test_a_card_opens_where_the_term_stands_and_says_its_meaning(at_term, view):
    page, link, card = at_term(view, "score")
    assert not card.is_visible()
    link.click()
    shown = card.text_content()
    assert "/skɔːr/" in shown and "分数" in shown and "score" in shown
    assert ("可正可负" in shown) == (view != "en") and ("either sign" in shown) == (view != "zh")
    assert card.locator(".math .katex-html").count() == card.locator(".math math").count() > 2
    term, box = link.bounding_box(), card.bounding_box()
    assert 0 < box["y"] - term["y"] - term["height"] < 20 and abs(box["x"] - term["x"]) < 20
    link.click()
    assert not card.is_visible()
    link.click()
    card.get_by_role("link").click()
    page.wait_for_url("**/glossary.html#score")
    assert page.log.console == []


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_a_card_is_opened_read_and_closed_by_key(at_term, key):
    page, link, card = at_term("en", "query")
    link.focus()
    page.keyboard.press(key)
    assert card.evaluate("card => card === document.activeElement && card.matches('[role=dialog][aria-label=query]')")
    assert link.get_attribute("aria-expanded") == "true"
    page.keyboard.press("Tab")
    assert card.get_by_role("link").evaluate("link => link === document.activeElement")
    page.keyboard.press("Escape")
    assert not card.is_visible() and link.evaluate("link => link === document.activeElement")
    page.wait_for_function("() => document.querySelector('a.term').ariaExpanded === 'false'")


def test_a_key_opens_a_card_that_the_mouse_has_closed(at_term):
    page, link, card = at_term("en", "query")
    link.click()
    page.get_by_role("heading", level=1).click(position={"x": 2, "y": 2})
    assert not card.is_visible()
    link.evaluate("link => link.focus({preventScroll: true})")
    page.keyboard.press("Enter")
    assert card.is_visible()


def test_an_open_card_is_not_printed(at_term):
    page, link, card = at_term("en", "query")
    link.click()
    page.emulate_media(media="print")
    assert not card.is_visible() and link.is_visible()


def test_on_a_phone_the_card_is_a_sheet_at_the_foot(at_term):
    page, link, card = at_term("both", "attention-weight", **PHONE)
    link.tap()
    box = card.bounding_box()
    assert box["x"] == 0 and box["width"] == 360 and round(box["y"] + box["height"]) == 740 and box["y"] > 740 / 3
    page.touchscreen.tap(180, 100)
    assert not card.is_visible()


def test_a_long_term_breaks_between_lines_like_text(at_term):
    _, link, _ = at_term("en", "projection-matrix")
    lines = """link => {
      const column = document.createElement("p");
      column.style.width = "6em";
      link.before(column);
      column.append(link);
      return link.getClientRects().length;
    }"""
    assert link.evaluate(lines) == 2


def test_without_a_script_a_term_leads_to_its_entry(at_term):
    page, link, card = at_term("en", "score", java_script_enabled=False)
    assert not card.is_visible()
    link.click()
    page.wait_for_url("**/en/glossary.html#score")


def test_words_of_a_card_are_not_found_in_the_page_that_holds_it(open_page, site_url):
    page = open_page()
    page.goto(f"{site_url}/en/search.html?q=roughly")  # in the meaning of token, which the notation page links to
    page.locator("#search-results li a").first.wait_for()
    found = [link.get_attribute("href") for link in page.locator("#search-results li a").all()]
    assert "glossary.html#token" in found and not any("notation" in href for href in found)


def test_the_glossary_names_each_term_in_the_other_language(open_page, site_url):
    page = open_page()
    page.goto(f"{site_url}/en/glossary.html")
    shown = page.locator("h3 + .term-names > [lang=zh-Hans]").all_text_contents()
    assert shown == [bare(zh) for (zh, _), (en, _) in zip(entries("zh"), entries("en"), strict=True) if zh != en]
    assert page.locator(".term-card, a.term").count() == 0


# ---------------------------------------------------------------- the rules themselves can fail
def notebook(*sources, lang="zh", tags=()):
    return v4.new_notebook(cells=[v4.new_markdown_cell(s, metadata={"tags": [f"lang-{lang}", *tags]}) for s in sources])


@pytest.mark.parametrize(
    "lang, text, found",
    [
        ("zh", "一个词元就是一行。", ["token"]),
        ("zh", "词元，[词元](glossary.ipynb#token)", ["token"]),
        ("zh", "[注意力](glossary.ipynb#attention)的注意力权重", ["attention-weight"]),
        ("en", "Two Tokens.", ["token"]),
        ("en", "All [queries](glossary.ipynb#query) and projection matrices.", ["projection-matrix"]),
    ],
)
def test_the_rule_of_first_use_finds(lang, text, found):
    assert [slug for slug, _ in unlinked(notebook(text, lang=lang), lang)] == found


@pytest.mark.parametrize(
    "lang, text",
    [
        ("zh", "[词元](glossary.ipynb#token)（token），词元"),
        ("zh", "## 词元\n\n`词元` $词元$ [看词元](other.ipynb)"),
        ("zh", "[注意力权重](glossary.ipynb#attention-weight)"),
        ("zh", "均值很关键，从头核对。"),
        ("zh", "## 参考文献\n\n- Transformer"),
        ("en", "[Tokens](glossary.ipynb#token) and a tokenizer; a token."),
    ],
)
def test_the_rule_of_first_use_accepts(lang, text):
    assert not list(unlinked(notebook(text, lang=lang), lang))


def test_a_question_may_use_a_term_before_the_text_does():
    assert not list(unlinked(notebook("词元是什么？", tags=["question"]), "zh"))


@pytest.mark.parametrize(
    "lang, good",
    [
        ("zh", "[注意力权重](glossary.ipynb#attention-weight)"),
        ("zh", "[权重](glossary.ipynb#attention-weight)"),
        ("zh", "[词元（token）](glossary.ipynb#token)"),
        ("en", "[Queries](glossary.ipynb#query) and [projection matrices](glossary.ipynb#projection-matrix)"),
    ],
)
def test_the_rule_of_names_accepts(lang, good):
    assert not list(misnamed(notebook(good, lang=lang)))


@pytest.mark.parametrize(
    "lang, bad",
    [
        ("zh", "[这里](glossary.ipynb#token)"),
        ("zh", "[词元](glossary.ipynb#no-such-term)"),
        ("zh", "[分数](glossary.ipynb#attention-weight)"),
        ("en", "[tokenizer](glossary.ipynb#token)"),
    ],
)
def test_the_rule_of_names_finds(lang, bad):
    assert list(misnamed(notebook(bad, lang=lang)))
