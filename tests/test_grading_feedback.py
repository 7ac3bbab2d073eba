"""The page of feedback: what it says, in which language, and all that it must not say or do."""

import re

import numpy as np
import pytest

from attention_grading.assignment import seed
from attention_grading.classroom import Problem, read_json, write_json
from attention_grading.feedback import feedback
from attention_grading.release import released
from grading_class import WRONG, hand_in, tiny_class

ROSTER = [("s01", "李明", "zh"), ("s02", "Ada Lovelace", "en"), ("s03", "Évariste", "both"), ("s04", "王小明", ""),
          ("s05", "Nobody", ""), ("s06", "Unread", ""), ("s07", "Ungraded", "")]  # fmt: skip
NOTE = {"zh": "第 2 格出错：NameError。", "en": "Cell 2 raised NameError."}
REPAIRED = {"zh": "q1 有两份，取了最后一份。", "en": "q1 was there twice; the last copy was used."}
UNSCALED = (
    "def softmax(x):\n    e = np.exp(x - x.max(q1axis, keepdims=True))\n    return e / e.sum(q1axis, keepdims=True)"
)


@pytest.fixture
def classroom(tmp_path):
    classroom = tiny_class(tmp_path, ROSTER)
    variant = hand_in(classroom, "s01", "方差是 $d$，因为各项独立。")["q1"]
    unscaled = UNSCALED.replace("q1axis", str(variant.axis))
    about = {"late": True, "repaired": [REPAIRED], "look": [{"zh": "只给老师看", "en": "for the teacher only"}]}
    hand_in(classroom, "s01", "方差是 $d$，因为各项独立。", softmax=unscaled, notes=[NOTE], **about)
    hand_in(classroom, "s02", "It is $d$.", softmax=WRONG)
    hand_in(classroom, "s03")
    hand_in(classroom, "s04", "$d$")
    hand_in(classroom, "s06", "$d$", readable=False)
    hand_in(classroom, "s07", "$d$", graded=False)
    marked = {
        "s01": {"q3": {"points": 4.5, "comment": "很好。\n再想想独立性。"}},
        "s04": {"q3": {"points": 1, "comment": ""}},
    }
    write_json(classroom.of("tiny", "marked.json"), marked)
    return classroom


def html(classroom, student):
    return classroom.of("tiny", "feedback", f"{student}.html").read_text("utf-8")


def words(classroom, student):
    """What a page says, without the question and the answer that it repeats."""
    page = re.sub(
        r"<style.*?</style>|<details.*?</details>|<(pre|div) class=\"box\".*?</\1>",
        "",
        html(classroom, student),
        flags=re.S,
    )
    return " ".join(re.sub("<[^>]*>", " ", page[page.index("<main>") :]).split())


def test_who_gets_a_page(classroom):
    pages = feedback(classroom, "tiny")
    assert pages.written == 4 and [student.id for student in pages.open] == ["s02"]
    assert {student.id: why for student, why in pages.without} == {
        "s05": "missing", "s06": "failed", "s07": "not graded"
    }  # fmt: skip
    assert {path.name for path in classroom.of("tiny", "feedback").iterdir()} == {f"s0{i}.html" for i in (1, 2, 3, 4)}


def test_what_a_page_says(classroom):
    feedback(classroom, "tiny", "en")
    first = words(classroom, "s01")
    assert first.startswith("反馈 小作业 李明 s01 总分 得 8 分，共 9.5 分 这份作业在截止时间之后提交。")
    assert REPAIRED["zh"] in first and NOTE["zh"] in first and "只给老师看" not in first
    assert "第 1 题 q1 得 0.5 分，共 1.5 分" in first
    assert "一般输入 得 0 分，共 1 分 得数是没有除以温度的 softmax。" in first
    assert "第 3 题 q3 得 4.5 分，共 5 分 评语 很好。 再想想独立性。" in first
    second = words(classroom, "s02")
    assert second.startswith(
        "Feedback A small assignment Ada Lovelace s02 So far 3 of 9.5 points Some answers are still to be marked"
    )
    assert "Question 1 q1 0 of 1.5 points ✗ ordinary input 0 of 1 point The result has shape (2, 2)" in second
    assert "Question 2 q2 3 of 3 points ✓ square 2 of 2 points" in second and "deadline" not in second
    assert "Question 3 q3 still to be marked, out of 5" in second
    third = words(classroom, "s03")
    assert "总分 · Total 得 4.5 分，共 9.5 分 · 4.5 of 9.5 points" in third
    assert "这道题没有作答。 This question was not answered." in third
    assert words(classroom, "s04").startswith("Feedback A small assignment 王小明 s04 Total 5.5 of 9.5 points"), (
        "as the command said"
    )


def test_the_answer_and_the_question_are_the_students_own(classroom):
    feedback(classroom, "tiny")
    page = html(classroom, "s02")
    assert "def softmax(x):\n    return np.ones((2, 2))</pre>" in page and "<p>It is <math" in page
    assignment, _ = released(classroom, "tiny")
    for student in ("s01", "s02", "s03"):
        temperature = assignment.variant(classroom.secret(), student)["q1"].temperature
        shown = re.search(r"<mi>T</mi><mo>=</mo><mn>([\d.]+)</mn>", html(classroom, student))[1]
        assert float(shown) == temperature


@pytest.mark.parametrize("student, there, not_there", [
    ("s01", ["zh-CN"], r"\b(is|was|the|of|points?)\b"), ("s02", ["en"], "[\u4e00-\u9fff]"),
    ("s03", ["en", "zh-CN"], "undefined|None"),
])  # fmt: skip
def test_each_language_is_marked_and_no_other_is_there(classroom, student, there, not_there):
    feedback(classroom, "tiny")
    page = html(classroom, student)
    assert sorted(set(re.findall(r'lang="([^"]*)"', page))) == there
    assert not re.search(not_there, words(classroom, student).replace("tiny", ""))


def test_a_page_of_an_earlier_notebook_does_not_stay(classroom):
    feedback(classroom, "tiny")
    hand_in(classroom, "s01", "a new answer", graded=False)
    assert "s01" in {student.id for student, _ in feedback(classroom, "tiny").without}
    assert not classroom.of("tiny", "feedback", "s01.html").exists()


def test_nothing_that_students_must_not_know(classroom):
    """No hidden input, no right result, no seed, no secret, nothing of another student, nothing of the master."""
    feedback(classroom, "tiny", "both")
    assignment, _ = released(classroom, "tiny")
    secret = classroom.secret()
    for student in ("s01", "s02", "s03", "s04"):
        page = re.sub("<style.*?</style>", "", html(classroom, student), flags=re.S)
        variant, numbers = assignment.variant(secret, student), set(re.findall(r"\d+\.\d{3,}|\d{5,}", page))
        for key, question in assignment.automatic.items():
            number = seed(secret, student, "tiny", key, "arguments")
            assert str(number) not in page and f"{number:x}" not in page
            for i, part in enumerate(question.parts):
                arguments = part.draw(np.random.default_rng([number, i]), variant[key])
                hidden = [*arguments, question.reference(variant[key], *arguments)]
                assert not numbers & {f"{abs(x):.{d}f}" for a in hidden for x in np.ravel(a) for d in (3, 4, 6, 8)}
        assert secret.hex() not in page and assignment.digest not in page and "canary-tiny" not in page
        others = [word for row in ROSTER if row[0] != student for word in row[:2]]
        assert not [word for word in others if word in page]


HIT = "window.hit=1"
ATTACK = f'\u202e</title></style></pre></main><script>{HIT}</script><img src=//a.org/x onerror="{HIT}">\' onload="{HIT}'


@pytest.mark.parametrize("language", ["zh", "en", "both"])
def test_hostile_words_do_nothing_in_a_browser(tmp_path, open_page, language):
    """In the name, the id, the answers, the comment, the reasons and the notes; without the page's own policy."""
    name = f"<script>{HIT}</script>"  # an id may be no longer than a file's name
    classroom = tiny_class(tmp_path, [(name, ATTACK, language)])
    both = {"zh": ATTACK, "en": ATTACK}
    code = "def softmax(x):\n    return x\n# " + ATTACK
    hand_in(
        classroom, name, ATTACK, [("code", ATTACK), ("markdown", ATTACK)], softmax=code, notes=[both], repaired=[both]
    )
    write_json(classroom.of("tiny", "marked.json"), {name: {"q3": {"points": 1, "comment": ATTACK}}})
    [student] = classroom.roster()
    record = read_json(classroom.of("tiny", "grades", f"{student.file}.json"))
    record["questions"]["q1"]["parts"][0] |= {"why": both}
    write_json(classroom.of("tiny", "grades", f"{student.file}.json"), record)
    feedback(classroom, "tiny")
    page, requests = open_page(bypass_csp=True, viewport={"width": 360, "height": 740}), []
    page.on("request", lambda request: requests.append(request.url))
    address = classroom.of("tiny", "feedback", f"{student.file}.html").as_uri()
    page.goto(address)
    assert requests == [address] and not page.log.external and not page.log.console
    assert page.evaluate("window.hit") is None and ATTACK in page.title()
    assert page.locator("body > *").count() == page.locator("main > h1").count() == page.locator("h1").count() == 1
    assert page.locator("main > section").count() == 4 and page.locator("script, img, a, iframe, link").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    said = page.locator("main").text_content()
    assert said.count(ATTACK) == {"zh": 9, "en": 9, "both": 12}[language] == said.count(name) - 1


def test_a_page_needs_nothing_but_itself(classroom, open_page):
    """With its policy in force, light and dark, the words can be read and nothing is fetched."""
    feedback(classroom, "tiny")
    for scheme in ("light", "dark"):
        page = open_page(color_scheme=scheme)
        page.goto(classroom.of("tiny", "feedback", "s03.html").as_uri())
        assert not page.log.external and not page.log.console
        ink, paper = page.evaluate("[getComputedStyle(document.body)].flatMap(s => [s.color, s.backgroundColor])")
        assert sum(map(int, re.findall(r"\d+", ink))) > 600 if scheme == "dark" else paper == "rgb(255, 255, 255)"
        assert page.locator("math").count()


def test_a_language_that_there_is_not(classroom):
    with pytest.raises(Problem, match="zh, en, both"):
        feedback(classroom, "tiny", "fr")
