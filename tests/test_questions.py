"""Questions: cells that cannot work stop the build; the others are answered in a real browser, on a page of our own."""

import re
from copy import deepcopy
from itertools import pairwise

import pytest
from nbformat import v4, write

from conftest import ROOT, copy_course, served
from questions import problems

PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
SEEN_ON_A_PHONE = (ROOT / "tests" / "seen_on_a_phone.js").read_text("utf-8")
HAN = re.compile("[\u3400-\u9fff]")


def prose(zh, en, *tags, **metadata):
    pair = [("lang-zh", zh), ("lang-en", en)]
    return [v4.new_markdown_cell(text, metadata={"tags": [lang, *tags], **metadata}) for lang, text in pair]


def question(zh, en, **metadata):
    """The twins of a question, each given as title, body and fold."""
    form = "**{}{}**\n\n{}\n\n<details><summary>{}</summary>\n\n{}\n\n</details>"
    title, body, fold = zh
    source_zh = form.format("问题：", title, body, "答案", fold)
    title, body, fold = en
    return prose(source_zh, form.format("Question: ", title, body, "Answer", fold), "question", **metadata)


def row(**metadata):
    zh = (
        "行",
        "$A$ 的第 2 行是谁的？\n\n1. 键的\n2. 查询的，$A_{2j}$",
        "1. 那是一列。\n2. 对。一行对应一个查询，见 [上式](#eq-x)。",
    )
    en = (
        "rows",
        "What has row 2 of $A$?\n\n1. A key\n2. A query, $A_{2j}$",
        "1. That is a column.\n2. Right. A row stands for a query, see [the formula](#eq-x).",
    )
    return question(zh, en, **{"label": "q-row", "answer": 2} | metadata)


def dot(**metadata):
    zh = ("点积", "算一下：\n\n$$\na\\,b^\\top\n$$", "- −1：$2-3=-1$。\n- 5：漏了负号。\n- 1/4：用了除法。")
    en = (
        "dot product",
        "Compute:\n\n$$\na\\,b^\\top\n$$",
        "- −1: $2-3=-1$.\n- 5: a sign got lost.\n- 1/4: that divides.",
    )
    return question(zh, en, **{"label": "q-dot", "answer": -1} | metadata)


def typed(answer, **metadata):
    name = f"q-{answer}".replace(".", "-").lower()
    zh, en = ("数", "写下它。", f"- {answer}：对。"), ("a number", "Type it.", f"- {answer}: yes.")
    return question(zh, en, **{"label": name, "answer": float(answer)} | metadata)


# ---------------------------------------------------------------- cells that cannot work
def nb(*cells):
    return v4.new_notebook(cells=[*prose("# 一", "# One"), *cells])


def test_good_questions_are_accepted():
    good = nb(*row(), *dot(), *typed("0.45", tolerance=0.005), *typed("3"), v4.new_code_cell("1"))
    assert list(problems(good)) == []


def with_text(cells, old, new):
    for cell in cells:
        cell.source = cell.source.replace(old, new)
    return cells


def retagged(cells, *tags):
    cells[1].metadata = cells[1].metadata | {"tags": list(tags)}
    return cells


BAD = {
    "no answer": (row(answer=None), '"answer", the number of the right option, 1 to 2'),
    "an answer out of range": (row(answer=3), "1 to 2"),
    "an option's text as the answer": (row(answer="2"), "1 to 2"),
    "an option without a reason": (
        with_text(row(), "\n2. 对。一行", "。一行")[:1] + row()[1:],
        "2 options and 1 reasons",
    ),
    "options misnumbered": (with_text(row(), "\n2. 查", "\n3. 查")[:1] + row()[1:], "number both from 1"),
    "a tolerance for a choice": (row(tolerance=1), "only for a question whose answer is typed"),
    "no number": (dot(answer=None), '"answer"'),
    "another first number": (dot(answer=5), "must be for the answer, 5, and is for -1"),
    "an item without a number": (with_text(dot(), "- 5", "- five"), "begins with a number and a colon"),
    "a fold without items": (with_text(dot(), "- ", ""), "its fold holds one list"),
    "two numbers within the tolerance": (dot(tolerance=2), "0.25 in its fold passes for an earlier number"),
    "no label": (row(label=None), '"label"'),
    "a label that is no address": (row(label="q-行"), '"label"'),
    "no title": (with_text(row(), "Question: ", ""), "begin it with **Question: a title**"),
    "no fold": (with_text(row(), "</details>", ""), "end it with <details><summary>"),
    "no empty line in the fold": (with_text(row(), "</summary>\n", "</summary>"), "end it with <details><summary>"),
    "an English question alone": (row()[1:], "put its twin beside it"),
    "a Chinese question alone": (row()[:1], "put its twin beside it"),
    "a twin that is no question": (retagged(row(), "lang-en"), "put its twin beside it"),
    "no language": (retagged(row(), "question"), "give it the tag lang-zh or lang-en"),
    "twins with other tolerances": (dot()[:1] + dot(tolerance=0.1)[1:], "give both languages the same"),
    "a right option that is not called so": (
        with_text(row(), "Right. ", ""),
        "no other, with “Right.”",
    ),
    "a wrong option called right": (
        with_text(row(), "1. That", "1. Right. That"),
        "begin the reason of option 2, and no other",
    ),
    "twins with other numbers": (with_text(dot(), "- 5:", "- 6:"), "give both languages the same"),
    "a label used twice": (row() + row(), "another question of this page has this label"),
}


@pytest.mark.parametrize("cells, says", BAD.values(), ids=BAD.keys())
def test_a_question_that_cannot_work_is_named_with_the_remedy(cells, says):
    found = list(problems(nb(*cells)))
    assert found and all(sentence.startswith("question ") for sentence in found)
    assert any(says in sentence for sentence in found), found


def test_it_stops_the_build(tmp_path):
    build = copy_course(tmp_path)
    write(nb(*row(answer=3)), tmp_path / "book" / "index.ipynb")
    failed = build()
    assert failed.returncode != 0 and "index.ipynb, question q-row (zh): its metadata need" in failed.stderr
    assert not (tmp_path / "book" / "_build" / "site").exists()


# ---------------------------------------------------------------- on the page
WRITTEN = {
    "0.45": "0.45|.45|0,45|,45|０．４５|0。45|０，４５|45%|45％|45 %|9/20|９／２０|9÷20|9、20|4.5e-1|+0.45| 0 . 45 ",
    "0.75": "3/4|3 / 4|0.75|75%|1.5/2|1,5/2|３／４",
    "-1": "-1|−1|–1|—1|－1|− 1|-1.0|-2/2|-100%",
    "1024": "1024|1 024|1,024|１０２４|1,024.0|1.024e3|102400%",
    "3": "3|3.|3.0|03|３|\u30003\u00a0|6/2",
    "0.001": "0.001|1e-3|1E-3|0.1%|1/1000",
}  # each is right for its own question and wrong for the other five
NO_NUMBER = "| |x|3/0|0/0|1/2/3|--1|1e|.|,|-|%|3..1|e3|½|3²|1,2,3|0x10|Infinity|NaN|[1]|一"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of a site whose page holds a choice, a number with reasons, and the keys of WRITTEN as answers."""
    root = tmp_path_factory.mktemp("questions")
    build = copy_course(root)
    cells = [v4.new_markdown_cell("$$\nx^2\n$$", metadata={"label": "eq-x"}), *row(), *dot()]
    write(nb(*cells, *[cell for x in WRITTEN for cell in typed(x)]), root / "book" / "index.ipynb")
    done = build()
    assert done.returncode == 0, done.stderr
    with served(root / "book" / "_build" / "site") as url:
        yield url


@pytest.fixture
def visit(open_page, site):
    """visit(view, **context options) -> the page."""

    def visit_(view, **options):
        page = open_page(**options)
        page.goto(f"{site}/{view}/index.html")
        return page

    return visit_


def box(page, key, which=0):
    """A question, brought near: only then it is a form (and only where scripts run)."""
    here = page.locator(f".question:has([data-question={key}])").nth(which)
    here.scroll_into_view_if_needed()
    if page.evaluate("!matchMedia('(scripting: none)').matches"):
        here.locator("form").wait_for()
    return here


def answer(page, key, given, which=0):
    """Answer with the mouse; what the page says."""
    here = box(page, key, which)
    if here.locator("[type=radio]").count():
        here.locator("label").nth(given - 1).click()
    else:
        here.locator("[type=text]").fill(given)
    here.locator("[type=submit]").click()
    return here.get_by_role("status").inner_text()


WITHOUT = {"java_script_enabled": False}


@pytest.mark.parametrize("view, key", [("zh", 0), ("en", 0), ("both", 1)])
def test_without_scripts_there_are_a_list_and_a_fold(visit, view, key):
    page = visit(view, **WITHOUT)
    here = box(page, "q-row", key)
    assert here.locator("> ol > li").count() == 2 and here.locator("input, button").count() == 0
    assert here.locator("> details > ol").is_hidden()
    here.locator("summary").click()
    assert here.locator("> details > ol > li").nth(1).is_visible() and here.locator("> details a[href]").count() == 1
    assert here.locator("> p.admonition-title").inner_text() == ("问题：行" if view == "zh" else "Question: rows")
    assert page.locator(".math .katex-html").count() == page.locator(".math").count() > 4


ALL_FORMS = "() => !document.querySelector('.question:not(:has(form))')"


@pytest.mark.parametrize("view", ["zh", "en", "both"])
def test_the_script_moves_nothing_and_gives_no_id_twice(visit, view):
    size = {"width": 1300, "height": 3000}  # all questions are near
    heights = []
    for options in ({}, WITHOUT):
        page = visit(view, viewport=size, **options)
        if not options:
            page.wait_for_function(ALL_FORMS)
            ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
            assert len(ids) == len(set(ids)) and page.log.console == []
            assert page.locator("#q-row").count() == 1
        heights.append([q.bounding_box()["height"] for q in page.locator(".question").all()])
    assert max(abs(a - b) for a, b in zip(*heights, strict=True)) < 2


@pytest.mark.parametrize("view", ["en", "both"])
def test_far_from_the_reader_a_question_is_no_form_yet(visit, view):
    page = visit(view, viewport={"width": 1300, "height": 200})
    box(page, "q-row")
    far = page.locator(".question:has([data-question=q-0-001])")
    assert far.locator("input, button").count() == 0 and far.locator("summary").count() == far.count()
    summary = far.locator("summary").last
    summary.evaluate("e => e.focus({ preventScroll: true })")
    summary.scroll_into_view_if_needed()
    far.locator("form").last.wait_for()
    assert far.locator("form").count() == far.count()  # its twin as well
    assert far.locator("[type=text]").last.evaluate("e => e === document.activeElement"), "the focus is not lost"
    assert answer(page, "q-0-001", "0.1%", which=-1).startswith("✓ Right.")


@pytest.mark.parametrize(
    "view, wrong, right",
    [
        ("zh", "✗ 还不对。那是一列。", "✓ 对了。一行对应一个查询，见 式 (1)。"),
        ("en", "✗ Not yet. That is a column.", "✓ Right. A row stands for a query, see (1)."),
    ],
)
def test_a_choice_tells_the_reason_of_the_chosen_option_only(visit, view, wrong, right):
    page = visit(view)
    here = box(page, "q-row")
    assert here.locator("details").is_hidden() and here.locator("[type=reset]").is_hidden()
    assert answer(page, "q-row", 1) == wrong
    assert here.locator("details").is_visible() and here.locator("details li").first.is_hidden()
    assert answer(page, "q-row", 2) == right
    here.locator("summary").click()
    assert [li.is_visible() for li in here.locator("details li").all()] == [True, True]
    assert bool(HAN.search(here.inner_text())) == (view == "zh")


def test_by_keyboard_only_the_button_or_enter_answers(visit):
    page = visit("en")
    here, says = box(page, "q-row"), box(page, "q-row").get_by_role("status")
    group = page.get_by_role("group", name=re.compile("^What has row 2 of A"))
    assert group.get_by_role("radio").count() == 2
    group.get_by_role("radio", name="A key").focus()
    page.keyboard.press("Enter")
    assert says.inner_text() == "Choose an option, then check." and here.locator("details").is_hidden()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    assert here.get_by_role("radio").nth(1).is_checked() and "✓" not in says.inner_text()
    page.keyboard.press("Enter")
    assert says.inner_text().startswith("✓ Right.")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # Start over
    assert says.inner_text() == "" and here.locator("details").is_hidden()
    assert page.evaluate("document.activeElement.value") == "1" and here.locator(":checked").count() == 0


def test_a_screen_reader_is_told_the_formulas_of_an_option(visit):
    page = visit("en")
    box(page, "q-row")
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]  # as the browser sees it
    names = [node["name"]["value"] for node in tree if node.get("role", {}).get("value") == "radio"]
    assert names == ["A key", "A query, A_2j"]


SAID = {
    "zh": "✗ 还不对。漏了负号。|✗ 还不对。用了除法。|✗ 还不对。再算一遍。|请输入一个数，例如 0.45 或 3/4。",
    "en": "✗ Not yet. A sign got lost.|✗ Not yet. That divides.|✗ Not yet. Work it through once more.|"
    "Type a number, such as 0.45 or 3/4.",
}


@pytest.mark.parametrize("view", SAID)
def test_a_number_gets_its_own_reason_if_it_has_one(visit, view):
    page = visit(view)
    assert answer(page, "q-dot", "−1").startswith("✓ 对了。" if view == "zh" else "✓ Right.")
    assert [answer(page, "q-dot", x) for x in ("5", "0.25", "17", "five")] == SAID[view].split("|")
    field = box(page, "q-dot").get_by_role("textbox", name="你的答案" if view == "zh" else "Your answer")
    assert field.get_attribute("aria-invalid") == "true" and field.evaluate("e => e === document.activeElement")
    answer(page, "q-dot", "17")
    assert field.get_attribute("aria-invalid") == "false"


def outcomes(page, key, texts):
    """The first sign of what the page says to each text: ✓, ✗, or a request for a number."""
    check = """(form, texts) => texts.map((text) => {
      form.elements.given.value = text;
      form.requestSubmit();
      return form.querySelector("[role=status]").textContent[0];
    })"""
    return box(page, key).locator("form").evaluate(check, texts)


def test_numbers_are_read_however_they_are_typed(visit):
    page = visit("en")
    texts = [(text, x) for x, ways in WRITTEN.items() for text in ways.split("|")]
    for x in WRITTEN:
        expected = ["✓" if value == x else "✗" for _, value in texts]
        found = outcomes(page, f"q-{x}".replace(".", "-"), [text for text, _ in texts])
        assert [t for t, e, f in zip(texts, expected, found, strict=True) if e != f] == []
    assert set(outcomes(page, "q-3", NO_NUMBER.split("|"))) == {"T"}
    assert outcomes(page, "q-3", ["3.00000001", "3.000000001", "2.999"]) == ["✗", "✓", "✗"]


def rewritten(page, old, new):
    """Load the page again with other HTML, as if it had been built from another source."""

    def answer(route):
        html = route.fetch().text()
        assert old in html
        route.fulfill(body=html.replace(old, new), content_type="text/html")

    page.route("**/index.html", answer)
    page.reload()


def test_the_tolerance_reaches_to_its_ends(visit):
    page = visit("en")
    assert outcomes(page, "q-0-45", ["0.46"]) == ["✗"]
    rewritten(page, 'data-answer="0.45" data-tolerance="0"', 'data-answer="0.45" data-tolerance="0.01"')
    assert outcomes(page, "q-0-45", ["0.44", "0.46", "0.4601", "0.4399"]) == ["✓", "✓", "✗", "✗"]


def test_an_answer_is_remembered_in_all_views_until_it_is_forgotten(visit, site):
    page = visit("zh")
    answer(page, "q-row", 1), answer(page, "q-dot", "5")
    assert page.evaluate("Object.keys(localStorage).filter((k) => k.includes('answer-1/index/q-')).length") == 2
    for view, says in [
        ("en", ["✗ Not yet. A sign got lost."]),
        ("both", ["✗ 还不对。漏了负号。", "✗ Not yet. A sign got lost."]),
    ]:
        page.goto(f"{site}/{view}/index.html")
        for which, sentence in enumerate(says):
            here = box(page, "q-dot", which)
            assert here.get_by_role("status").inner_text() == sentence
            assert here.locator("[type=text]").input_value() == "5"
            assert box(page, "q-row", which).get_by_role("radio").first.is_checked()
    box(page, "q-row", 1).locator("[type=reset]").click()
    page.goto(f"{site}/zh/index.html")
    assert (
        box(page, "q-row").get_by_role("status").inner_text() == ""
        and box(page, "q-row").locator(":checked").count() == 0
    )
    assert box(page, "q-dot").get_by_role("status").inner_text() == "✗ 还不对。漏了负号。"


def test_who_goes_back_finds_what_was_answered_in_the_other_view(visit, site):
    page = visit("en")
    other = page.context.new_page()
    other.goto(f"{site}/zh/index.html")
    assert answer(other, "q-row", 2).startswith("✓ 对了。")
    assert box(page, "q-row").get_by_role("status").inner_text() == ""
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")  # kept in memory meanwhile
    assert box(page, "q-row").get_by_role("status").inner_text().startswith("✓ Right.")


def test_twins_move_together_and_one_of_them_is_read_out(visit):
    page = visit("both")
    assert answer(page, "q-row", 2, which=1) == "✓ Right. A row stands for a query, see (1)."
    zh, en = (box(page, "q-row", which) for which in (0, 1))
    assert zh.get_by_role("status").inner_text().startswith("✓ 对了。") and zh.get_by_role("radio").nth(1).is_checked()
    assert [e.get_by_role("status").get_attribute("aria-live") for e in (zh, en)] == ["off", "polite"]
    assert not HAN.search(en.inner_text()) and zh.locator("[type=submit]").inner_text() == "检查"
    zh.locator("[type=reset]").click()
    assert [e.get_by_role("status").inner_text() for e in (zh, en)] == ["", ""]
    assert page.locator(":checked").count() == 0


KEYS = "Object.keys(localStorage).filter((key) => key.startsWith('attention-course/'))"


def test_an_answer_to_another_question_is_dropped(visit):
    page = visit("en")
    answer(page, "q-row", 1)
    assert page.evaluate(KEYS) == ["attention-course/answer-1/index/q-row"]
    rewritten(page, '"q-row" data-answer="2"', '"q-row" data-answer="1"')
    here = box(page, "q-row")
    assert here.get_by_role("status").inner_text() == "" and here.locator(":checked").count() == 0
    assert page.evaluate(KEYS) == [] and page.log.console == []


DENIED = "Object.defineProperty(window, 'localStorage', { configurable: true, get() { throw new Error('denied'); } })"
FULL = "Storage.prototype.setItem = (key) => { if (key.startsWith('attention-course/')) throw new Error('full'); }"


@pytest.mark.parametrize("storage", [DENIED, FULL])
def test_where_nothing_can_be_stored_questions_still_answer(open_page, site, storage):
    page = open_page()
    page.add_init_script(storage)
    page.goto(f"{site}/en/index.html")
    assert answer(page, "q-row", 2).startswith("✓ Right.") and answer(page, "q-dot", "5").startswith("✗ Not yet.")
    assert page.log.console == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_it_fits_can_be_hit_and_be_read(visit, scheme):
    page = visit("both", color_scheme=scheme, **PHONE)
    for which in (0, 1):
        answer(page, "q-row", 1, which), answer(page, "q-dot", "5", which)
        for key in ("q-row", "q-dot"):
            box(page, key, which).locator("summary").click()
    seen = page.evaluate(SEEN_ON_A_PHONE)
    assert seen["widths"] == [360, 360] and seen["faint"] == [] and seen["theme"] == scheme
    targets = page.locator(".question :is(button, label, summary, [type=text])").filter(visible=True).all()
    assert len(targets) > 10
    assert all(min(e.bounding_box()["width"], e.bounding_box()["height"]) >= 24 for e in targets)
    tops = [e.bounding_box()["y"] for e in box(page, "q-row").locator("label").all()]
    assert all(b - a >= 24 for a, b in pairwise(tops))


def test_on_paper_all_answers_stand_at_the_end(visit):
    page = visit("en")
    answer(page, "q-row", 1)
    reasons = page.locator(".question details").evaluate_all("es => es.map((e) => e.querySelectorAll('li').length)")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".question details").count() == 0
    assert [len(e.locator("li").all()) for e in page.locator(".answers .answer:has(li)").all()] == reasons
    assert all(li.is_visible() for li in page.locator(".answers li").all())
    assert page.locator(".question button").filter(visible=True).count() == 0


def test_paper_is_light_and_the_screen_is_dark_again_after_printing(visit):
    page = visit("en", color_scheme="dark")
    themes = """() => ["", "beforeprint", "afterprint"].map((name) => {
      if (name) dispatchEvent(new Event(name));
      return document.documentElement.dataset.theme;
    })"""
    assert page.evaluate(themes) == ["dark", "light", "dark"]


def test_after_printing_no_fold_is_open_that_was_closed(visit):
    page = visit("en")
    answer(page, "q-dot", "5"), answer(page, "q-row", 1)
    box(page, "q-dot").locator("summary").click()
    before = [fold.evaluate("e => e.open") for fold in page.locator("details").all()]
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert [fold.evaluate("e => e.open") for fold in page.locator("details").all()] == before
    assert True in before and False in before


def test_the_rule_reads_cells_and_leaves_them_alone():
    cells = nb(*row(), *dot())
    before = deepcopy(cells)
    assert list(problems(cells)) == [] and cells == before
