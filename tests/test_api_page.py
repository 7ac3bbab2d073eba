"""The page that lists the functions of the module, against the module itself."""

import inspect
import json
import re
from collections import Counter
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup

import attention_mechanism
from bilingual import cell_lang, segments, text
from conftest import ROOT, SITE
from docstrings import blocks
from section_search import formula
from test_weight import KIB, loads, packed
from typeset_math import typeset

VIEWS = ["zh", "en", "both"]
SOURCE = (ROOT / "code" / "attention_mechanism.py").read_text("utf-8")
NAMES = re.findall(r"(?m)^def ([a-z]\w*)", SOURCE)
EACH_FUNCTION = pytest.mark.parametrize("name", NAMES)


def cells(path):
    return [c for c in json.loads(path.read_text("utf-8"))["cells"] if c["cell_type"] == "markdown"]


def articles(page):
    """{view: the article of a built page}"""
    built = {view: (SITE / view / page).read_text("utf-8") for view in VIEWS}
    return {view: BeautifulSoup(html, "html.parser").article for view, html in built.items()}


@pytest.fixture(scope="module")
def pages():
    return articles("api.html")


@pytest.fixture(scope="module")
def references():
    return articles("references.html")


@pytest.fixture(scope="module")
def sentences():
    """{language: {name: what the notebook says of the function}}"""
    found = {"zh": {}, "en": {}}
    for cell in cells(ROOT / "book" / "api.ipynb"):
        found[cell_lang(cell)] |= {title: body for _, level, title, body in segments(text(cell)) if level == 3}
    return found


def squeezed(said):
    """A text less what may differ: how its lines break."""
    return " ".join(said.split())


@pytest.mark.parametrize("view", VIEWS)
def test_every_function_is_there_in_the_modules_order_and_under_its_headings(pages, view):
    parts = re.split(r"(?m)^# -{20,} (.+)$", SOURCE)
    wanted = [
        (title, names)
        for title, code in zip(parts[1::2], parts[2::2], strict=True)
        if (names := re.findall(r"(?m)^def ([a-z]\w*)", code))
    ]
    found = [(s.h2, [h.parent["id"] for h in s.find_all("h3")]) for s in pages[view].find_all("section") if s.h2]
    found = [((h2.select_one(".lang-en") or h2).find(string=True).lower(), names) for h2, names in found if names]
    assert [names for _, names in found[1:]] == [names for _, names in wanted]  # the first is the whole page
    assert view == "zh" or [title for title, _ in found[1:]] == [title for title, _ in wanted]
    assert len(NAMES) == sum(len(names) for _, names in wanted) > 15


@pytest.mark.parametrize("view", VIEWS)
@EACH_FUNCTION
def test_an_entry_says_what_the_module_says(pages, view, name):
    function, entry = getattr(attention_mechanism, name), pages[view].find("section", id=name)
    called = re.fullmatch(rf"am\.{name}\((.*)\)", entry.select_one(".signature").get_text().strip())
    assert inspect.signature(eval(f"lambda {called[1]}: 0")) == inspect.signature(function)
    (box,) = entry.select(".docstring")
    written = inspect.getdoc(function)
    assert squeezed(box.get_text()) == squeezed(written.replace("`", ""))
    assert box["lang"] == "en"
    lines = {line for pre in box.find_all("pre") for line in pre.get_text().splitlines()}
    shapes = [line.split("  Raises")[0] for line in written.splitlines() if re.search(r"(^|\s)-> ", line)]
    assert len(shapes) == 1 and shapes[0] in lines
    assert lines >= {line for line in written.splitlines() if line.startswith((">>> ", "... "))}


@pytest.mark.parametrize("view", VIEWS)
@EACH_FUNCTION
def test_an_entry_leads_to_its_chapter_and_to_the_papers_that_it_names(pages, references, view, name):
    """That these addresses exist is seen by test_site.py."""
    entry = pages[view].find("section", id=name)
    targets = [link["href"] for link in entry.select("a.reference")]
    assert [target for target in targets if re.fullmatch(r"\d\d_\w+\.html#[\w-]+", target)]
    named = re.findall(r"([A-Z]\w+) (?:et al\.|& \w+) (\d{4})", getattr(attention_mechanism, name).__doc__)
    for author, year in named:
        (target,) = {link["href"] for link in entry.select(f'a[href^="references.html#{author.lower()}-"]')}
        assert year in references[view].find("section", id=target.partition("#")[2]).get_text()


def test_the_modules_own_docstring_opens_the_page(pages):
    for page in pages.values():
        said = page.find("section", id="attention_mechanism").select_one('.docstring[lang="en"]').get_text()
        assert squeezed(said) == squeezed(re.sub(r"(?m)^- |`", "", attention_mechanism.__doc__))


def as_compared(line):
    """A formula as it is compared, however it is spaced and bracketed."""
    return re.sub(r"[\s()]", "", line.replace("′", "'").replace("∑", "Σ"))


@pytest.mark.parametrize("lang", ["zh", "en"])
@EACH_FUNCTION
def test_the_sentence_on_a_function_agrees_with_its_docstring(sentences, lang, name):
    sentence, function = sentences[lang][name], getattr(attention_mechanism, name)
    assert re.fullmatch(r"[^\n]+[。.]", sentence) and (lang == "en" or re.search("[\u3400-\u9fff]{4}", sentence))
    known = {*inspect.signature(function).parameters, *re.findall(r"\w+", function.__doc__), *NAMES}
    assert set(re.findall("`([^`]+)`", sentence)) <= known
    for tex in re.findall(r"\$([^$]+)\$", sentence):
        read = formula(ElementTree.fromstring(typeset(tex, False)).find(".//{*}math"))
        assert as_compared(read) in as_compared(function.__doc__), read


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_chapters_link_to_each_function_once_and_to_the_page_where_they_name_the_module(lang):
    found, chapters = Counter(), sorted((ROOT / "book").glob("[01]*.ipynb"))
    for path in chapters:
        said = "\n".join(text(cell) for cell in cells(path) if cell_lang(cell) == lang)
        found.update(re.findall(r"\[`am\.(\w+)`\]\(api\.ipynb#\1\)", said))
        assert said.count("](api.ipynb)") == (path.name[:2] != "01"), path.name
    assert found == dict.fromkeys(NAMES, 1)


@pytest.mark.parametrize("view", VIEWS)
def test_the_page_is_light(view):
    assert sum(map(packed, loads(SITE / view / "api.html"))) <= 1024 * KIB[view]


def test_the_parts_of_a_docstring_are_told_apart():
    docstring = """Adds `a` to b_c.

(…, n), (n,)
-> (…, n)

- one, as add_up;
- two.

Any b.  Raises TypeError if not.  Warns never.
Source: Luong et al. 2015, and Nobody et al. 1900.

>>> add(1, 2)  # a -> b
3"""
    papers = {"Luong et al.": "references.html#luong"}
    shapes, example = "(…, n), (n,)\n-> (…, n)", ">>> add(1, 2)  # a -> b\n3"
    found = [(node.tagname, node.astext()) for node in blocks(docstring, ["add_up"], papers)]
    assert found == [
        ("paragraph", "Adds a to b_c."),
        ("literal_block", shapes),
        ("bullet_list", "one, as add_up;\n\ntwo."),
        ("paragraph", "Any b."),
        ("paragraph", "Raises TypeError if not."),
        ("paragraph", "Warns never."),
        ("paragraph", "Source: Luong et al. 2015, and Nobody et al. 1900."),
        ("literal_block", example),
    ]
    links = [
        ref["refuri"] for node in blocks(docstring, ["add_up"], papers) for ref in node.findall() if "refuri" in ref
    ]
    assert links == ["#add_up", "references.html#luong"]
