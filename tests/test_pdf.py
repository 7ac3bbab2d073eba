"""The course on paper: parts of the real document, read back by pdfium and pypdf; and a page printed from the site."""

import re
from io import BytesIO
from types import SimpleNamespace

import pypdf
import pypdfium2
import pytest
from bs4 import BeautifulSoup

import make_pdf
from conftest import SITE
from typeset_math import typeset

PARTS = {"en": ["index", "01_qkv_intuition", "references"], "zh": ["refresher", "notation", "api"]}
MM = 72 / 25.4  # a millimetre in points
LEFT_OVER = {
    "Copy",
    "复制",
    "Check",
    "检查",
    "Show code",
    "Hide code",
    "显示代码",
    "隐藏代码",
    "#",
    "Answer",
    "000",
    "?",
}
RADICAL = re.compile("[\u2e80-\u2fdf]")


def plain(text):
    """Text less what a line's end may change."""
    return re.sub(r"[\s\x02\u00ad\u2010\u200b\ufffe-]", "", text)


def article(view, name):
    """The page as the site has it, less formulas and what only a screen needs."""
    found = BeautifulSoup((SITE / view / f"{name}.html").read_text("utf-8"), "html.parser").find("article")
    for e in found.select(".headerlink, .term-card, .toctree-wrapper, script"):
        e.decompose()
    return found


def words(tag):
    """A tag's text, less formulas."""
    return plain("".join(s for s in tag.strings if not s.find_parent(class_="katex")))


def read(pdf):
    """A PDF as two independent libraries read it."""
    reader, document = pypdf.PdfReader(BytesIO(pdf)), pypdfium2.PdfDocument(pdf)
    body = (0, 20 * MM, 210 * MM, 277 * MM)  # less the heads and feet of pages
    texts = [plain(page.get_textpage().get_text_bounded(*body)) for page in document]
    numbers = {page.indirect_reference.idnum: i for i, page in enumerate(reader.pages)}
    named = reader.named_destinations.items()
    places = {name.lstrip("/"): numbers[place.raw_get("/Page").idnum] for name, place in named}
    return SimpleNamespace(reader=reader, document=document, texts=texts, text="".join(texts), places=places)


@pytest.fixture(scope="module", params=PARTS)
def printed(request, browser):
    view = request.param
    wanted = [page for page in make_pdf.pages(view) if page["name"] in PARTS[view]]
    found = read(make_pdf.make(browser, view, wanted, "https://example.org/course/"))
    found.view, found.articles = view, {page["name"]: article(view, page["name"]) for page in wanted}
    return found


def flat(outline):
    for item in outline:
        yield from flat(item) if isinstance(item, list) else [item]


def headings(reader):
    """The titles of the bookmarks, and the pages that they lead to."""
    return [(plain(item.title), reader.get_destination_page_number(item)) for item in flat(reader.outline)]


def ink(page):
    """Where a page is not white, at one dot for a point."""
    return page.render(scale=1).to_numpy().min(axis=2) < 200


def assert_margins(document, left, right):
    """No page is blank, and no letter lies outside the text: paper would cut it (in millimetres, from the left)."""
    for number, page in enumerate(document, start=1):
        assert ink(page).any(), f"page {number} is blank"
        text = page.get_textpage()
        for i in range(text.count_chars()):
            (start, _, end, _), letter = text.get_charbox(i), text.get_text_range(i, 1)
            inside = start > (left - 1) * MM and end < (right + 1) * MM
            assert inside or not letter.strip(), f"page {number} cuts {text.get_text_range(max(0, i - 20), 40)!r}"


def test_every_heading_has_a_bookmark_that_leads_to_it(printed):
    wanted = [words(h) for a in printed.articles.values() for h in a.find_all(["h1", "h2", "h3"])]
    assert len(wanted) > 15
    places = iter(headings(printed.reader))
    for heading in wanted:  # in order; between them the title, the contents and the answers
        page = next(page for title, page in places if heading in title)
        assert heading in printed.texts[page]


def test_no_heading_is_the_last_line_of_a_page(printed):
    assert [title for title, page in headings(printed.reader) if printed.texts[page].endswith(title)] == []


def test_the_contents_name_the_page_of_each_section(printed):
    contents = "".join(printed.texts[1 : printed.places[next(iter(printed.articles))]])
    for name, found in printed.articles.items():
        for section in found.select("section:has(> h2)"):
            title, page = words(section.h2), printed.places[f"{name}--{section['id']}"]
            assert f"{title}{page + 1}" in contents and title in printed.texts[page]


def test_every_inner_link_leads_into_the_document(printed):
    links = []
    for page in printed.reader.pages:
        links += [a.get_object() for a in page.get("/Annots", [])]
    inner = [link["/Dest"] for link in links if "/Dest" in link]
    outer = [link["/A"]["/URI"] for link in links if "/A" in link]
    to_site = [u for u in outer if u.startswith("https://example.org/course/")]
    outer = [u for u in outer if u not in to_site]
    assert len(inner) > 20 and {name.lstrip("/") for name in inner} <= set(printed.places)
    assert to_site and outer and not [u for u in outer if not u.startswith("https://") or "course.invalid" in u]
    told = {u: plain(u.removeprefix("https://").rstrip("/")) for u in outer}
    assert [u for u, address in told.items() if address not in printed.text] == []


def test_paragraphs_are_text_in_their_order(printed):
    texts = [p for a in printed.articles.values() for p in a.find_all("p") if not p.select("a, .katex, svg")]
    texts = [words(p) for p in texts if not p.find_parent("details")]
    assert len(texts) > 20 and [t for t in texts if t not in printed.text] == []
    at = [printed.text.index(t, 0) for t in texts if len(t) > 15 and printed.text.count(t) == 1]
    assert at == sorted(at) and len(at) > 5


def test_a_formula_stands_in_its_sentence(printed):
    """What stands before it and behind it are not farther apart than its letters."""
    seen = 0
    for tag in [p for a in printed.articles.values() for p in a.find_all("p") if len(p.select(".katex")) == 1]:
        if tag.select("a, code"):
            continue
        before, _, after = tag.decode().partition(str(tag.select_one(".math")))
        before, after = (words(BeautifulSoup(part, "html.parser")) for part in (before, after))
        seen += 1
        assert re.search(f"{re.escape(before[-12:])}.{{1,60}}{re.escape(after[:12])}", printed.text), (before, after)
    assert seen > 10


def test_chinese_is_found_by_its_own_characters(printed):
    assert not RADICAL.search("".join(page.extract_text() for page in printed.reader.pages[2:4]))


def test_answers_come_after_the_questions(printed):
    for name, found in printed.articles.items():
        reasons = [words(li) for li in found.select("details li") if not li.select(".katex")]
        if not found.select("details"):
            continue
        start = printed.places[f"{name}--answer-1"]
        before, after = "".join(printed.texts[:start]), "".join(printed.texts[start:])
        assert reasons and [r for r in reasons if r not in after or (len(r) > 15 and r in before)] == []


def lines(document):
    return {line.strip() for page in document for line in page.get_textpage().get_text_range().splitlines()}


def test_no_line_of_code_is_broken(printed):
    cells = [pre for a in printed.articles.values() for pre in a.select(".cell_input pre")]
    code = {plain(line) for pre in cells for line in pre.text.splitlines()}
    assert code and code - {"", *map(plain, lines(printed.document))} == set()


def test_a_page_number_in_the_text_is_as_wide_as_it_is(printed):
    gaps = []
    for page in map(pypdfium2.PdfPage.get_textpage, printed.document):
        for found in re.finditer(r"(?:第 |p\. )\d(?= ?[^\s\d])", page.get_text_range()):
            after = found.end() + (page.get_text_range(found.end(), 1) == " ")
            gaps.append(page.get_charbox(after)[0] - page.get_charbox(found.end() - 1)[2])
    assert gaps and max(gaps) < 6, "points, a space among them"


def test_nothing_is_left_of_what_only_a_screen_needs(printed):
    assert lines(printed.document) & LEFT_OVER == set()


def test_no_page_is_blank_or_has_anything_in_its_margins(printed):
    assert_margins(printed.document, left=22, right=188)


def test_fonts_are_in_the_file_and_it_says_what_it_is(printed):
    for page in printed.reader.pages:
        for font in (page["/Resources"].get("/Font") or {}).values():
            font = font.get_object()
            inside = font.get("/DescendantFonts", [font])[0].get_object()
            files = inside.get("/FontDescriptor", {}).keys() & {"/FontFile", "/FontFile2", "/FontFile3"}
            assert files or font["/Subtype"] == "/Type3"
    root, about = printed.reader.trailer["/Root"], printed.reader.metadata
    assert about.title and about.author and root["/MarkInfo"]["/Marked"]
    assert root["/Lang"] == {"zh": "zh-Hans", "en": "en"}[printed.view]


def matrix(columns):
    return typeset(r"\begin{pmatrix}" + "&".join(["0.1234"] * columns) + r"\end{pmatrix}", True)


@pytest.mark.parametrize("columns, fits", [(13, True), (40, False)])
def test_a_formula_that_is_wider_than_the_paper_is_made_smaller_or_named(browser, monkeypatch, columns, fits):
    def planted(route):
        if not route.request.url.endswith("/refresher.html"):
            return make_pdf_answer(route)
        formula = f'<h1>Planted</h1><div class="math"><div class="math-scroll">{matrix(columns)}</div></div>'
        return route.fulfill(body=f'<article class="bd-article">{formula}</article>', content_type="text/html")

    make_pdf_answer = make_pdf.answer
    monkeypatch.setattr(make_pdf, "answer", planted)
    wanted = [{"name": "refresher", "number": None, "part": None}]
    if fits:
        found = read(make_pdf.make(browser, "en", wanted, ""))
        assert found.text.count("0.1234") == columns
        assert_margins(found.document, left=22, right=188)
    else:
        with pytest.raises(make_pdf.Unfit, match="refresher: .*0.1234"):
            make_pdf.make(browser, "en", wanted, "")


def test_a_page_printed_from_the_site_is_the_article_alone(open_page, site_url):
    page = open_page(color_scheme="dark", locale="en-US")
    page.goto(f"{site_url}/en/refresher.html")
    before = page.locator("article").inner_html()
    found = read(page.pdf(format="A4", prefer_css_page_size=True, print_background=True))
    source = article("en", "refresher")
    paragraphs = [words(p) for p in source.find_all("p") if not p.select("a, .katex") and not p.find_parent("details")]
    assert [t for t in [words(h) for h in source.find_all(["h1", "h2"])] + paragraphs if t not in found.text] == []
    whole = "".join(plain(p.get_textpage().get_text_range()) for p in found.document)
    assert whole.count(words(source.h1)) == 1 and "Contents" not in whole and "中文" not in whole
    reason = words(source.select_one("details li"))
    assert found.text.index("Answers") < found.text.index(reason)
    assert_margins(found.document, left=20, right=190)
    assert lines(found.document) & LEFT_OVER == set()
    assert page.locator("article").inner_html() == before and page.locator("html").get_attribute("data-theme") == "dark"
