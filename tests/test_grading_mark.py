"""Marking by hand: the sheet and the page, what comes back from a spreadsheet program, and answers that mean harm."""

import csv
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_grading.classroom import Problem, read_json, read_table, write
from attention_grading.mark import (
    COLUMNS,
    current_marks,
    export_answers,
    import_marks,
    plain,
    safe,
    same_id,
)
from attention_grading.markdown import formula, to_html
from attention_grading.standing import standing
from grading_class import hand_in, tiny_class

FORMULA = tuple("=+-@\t\r\n＝＋－＠")
ROSTER = [
    ("s01", "李明", "zh"),
    ("s02", "Lovelace, Ada", "en"),
    ("s03", "Évariste", ""),
    ("s04", "王小明", "zh"),
]


@pytest.fixture
def classroom(tmp_path):
    """s01 and s02 answered, s03 left the question blank, s04 handed in nothing."""
    classroom = tiny_class(tmp_path, ROSTER)
    hand_in(classroom, "s01", "方差是 $d$，因为各项独立。")
    hand_in(classroom, "s02", "It is $d$.\n\n- a list, =1+1;=2+2")
    hand_in(classroom, "s03")
    return classroom


def sheet(classroom):
    """The rows of marking.csv, read by nothing of ours.   -> {student or code: {column: text}}"""
    text = classroom.of("tiny", "marking.csv").read_bytes().decode("utf-8-sig")
    return {row["student_id"] or row["answer_code"]: row for row in csv.DictReader(io.StringIO(text, newline=""))}


def saved(classroom, rows, columns=COLUMNS, encoding="utf-8-sig", **dialect):
    """A sheet as a spreadsheet program saves it."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, extrasaction="ignore", **dialect)
    writer.writeheader()
    for row in rows:
        writer.writerow(row)
    path = classroom.folder / "from a spreadsheet.csv"
    path.write_bytes(text.getvalue().encode(encoding))
    return path


def marks(classroom):
    """{student: (points, comment)}"""
    found = read_json(classroom.of("tiny", "marked.json")) or {}
    return {student: (of["q3"]["points"], of["q3"]["comment"]) for student, of in found.items()}


def complaints(classroom, rows, **saving):
    before = classroom.of("tiny", "marked.json").exists() and classroom.of("tiny", "marked.json").read_bytes()
    with pytest.raises(Problem) as problem:
        import_marks(classroom, "tiny", saved(classroom, rows, **saving))
    after = classroom.of("tiny", "marked.json").exists() and classroom.of("tiny", "marked.json").read_bytes()
    assert after == before, "something was imported all the same"
    return str(problem.value).split("\n  ")[1:]


def test_marks_go_out_and_come_back(classroom):
    assert export_answers(classroom, "tiny") == (0, 2)
    rows = sheet(classroom)
    assert list(rows["s01"]) == list(COLUMNS) and set(rows) == {"s01", "s02"}, "a blank answer needs no marking"
    assert rows["s02"]["name"] == "Lovelace, Ada" and rows["s01"]["answer"] == "方差是 $d$，因为各项独立。"
    assert {row["of"] for row in rows.values()} == {"5"}
    rows["s02"] |= {"points": "3.5", "comment": "“Why?”, she said;\nand more"}
    assert import_marks(classroom, "tiny", saved(classroom, rows.values())) == (1, 1)
    assert marks(classroom) == {"s02": (3.5, "“Why?”, she said;\nand more")}
    assert export_answers(classroom, "tiny") == (1, 1)
    assert sheet(classroom) == rows, "what was marked is filled in when the sheet is exported again"


def test_the_order_tells_nothing_and_stays(tmp_path):
    ids = [f"s{i:02}" for i in range(30)]
    classroom = tiny_class(tmp_path, [(i, i, "") for i in ids])
    for i in ids:
        hand_in(classroom, i, f"the answer of {i}", graded=False)
    export_answers(classroom, "tiny")
    order = list(sheet(classroom))
    assert order != ids and sorted(order) == ids
    export_answers(classroom, "tiny")
    assert list(sheet(classroom)) == order
    html = classroom.of("tiny", "marking.html").read_text("utf-8")
    assert re.findall(r"<p>the answer of (s\d\d)</p>", html) == order, "the page and the sheet have one order"


SPREADSHEETS = {
    "Excel, CSV UTF-8": {},
    "Excel in Germany": {"delimiter": ";", "encoding": "utf-8-sig"},
    "Excel, Unicode text": {"delimiter": "\t", "encoding": "utf-16"},
    "Excel in China, CSV": {"encoding": "gb18030"},
    "LibreOffice": {"quoting": csv.QUOTE_ALL, "encoding": "utf-8", "lineterminator": "\n"},
    "an old Mac": {"lineterminator": "\r"},
    "columns moved": {"columns": ("comment", "checked by", "answer_code", "points", "student_id")},
    "as little as possible": {"columns": ("answer_code", "points")},
}


@pytest.mark.parametrize("program", SPREADSHEETS)
def test_any_spreadsheet_program_may_have_saved_the_sheet(classroom, program):
    export_answers(classroom, "tiny")
    rows = sheet(classroom)
    rows["s01"] |= {"points": "２，5", "comment": "很好，再写清楚“独立”", "checked by": "me"}
    rows["s02"] |= {"points": " 4,0 ", "comment": "'=right"}
    saving = SPREADSHEETS[program]
    path = saved(classroom, [{}, rows["s01"], {}, {}, rows["s02"], {}], **saving)
    assert import_marks(classroom, "tiny", path) == (2, 0)
    commented = "comment" in saving.get("columns", COLUMNS)
    assert marks(classroom) == {
        "s01": (2.5, "很好，再写清楚“独立”" if commented else ""),
        "s02": (4, "=right" if commented else ""),
    }


def test_the_row_of_a_complaint_is_the_one_that_the_spreadsheet_program_shows(classroom):
    export_answers(classroom, "tiny")
    path = saved(classroom, [{}, sheet(classroom)["s01"] | {"points": "6"}], encoding="utf-8", delimiter=";")
    path.write_bytes(b"\r\n\r\n" + path.read_bytes())
    with pytest.raises(Problem, match="row 5, s01 李明 q3, column points: 6 is above the maximum 5"):
        import_marks(classroom, "tiny", path)


def test_every_complaint_at_once_and_nothing_imported(tmp_path):
    bad = {"a": "5.5", "b": "-1", "c": "NaN", "d": "2-May", "e": "1e0", "f": "inf", "g": "1_0", "h": "3", "i": "x"}
    classroom = tiny_class(tmp_path, [(i, f"name of {i}", "") for i in bad])
    for i in bad:
        hand_in(classroom, i, f"the answer of {i}", graded=False)
    export_answers(classroom, "tiny")
    rows = sheet(classroom)
    rows = [rows[i] | {"points": points} for i, points in bad.items()]
    rows[8]["question"] = "q9"
    rows[8]["answer_code"] = "a1"
    rows += [rows[7] | {"points": "2"}, rows[7], rows[7] | {"student_id": "nobody", "answer_code": "a2"}, {}]
    rows += [rows[7] | {"answer_code": "", "student_id": ""}, rows[0] | {"points": "", "comment": "look again"}]
    found = complaints(classroom, rows)
    wanted = [
        (2, "a name of a q3", "points", "above the maximum 5"), (3, "b", "points", "below 0"),
        (4, "c", "points", "not a number"), (5, "d", "points", "“2-May” is not a number"),
        (6, "e", "points", "not a number"), (7, "f", "points", "not a number"), (8, "g", "points", "not a number"),
        (10, "i", "question", "q9 is none of q1, q2, q3"), (11, "h", "points", "differently"),
        (13, "nobody", "student_id", "no such student"), (15, "name of h", "answer_code", "empty"),
        (16, "a", "points", "a comment and no points"),
    ]  # fmt: skip
    assert len(found) == len(wanted)
    for text, (line, who, column, why) in zip(found, wanted, strict=True):
        assert text.startswith(f"row {line}, {who}") and f"column {column}: " in text and why in text, text


def test_rows_that_were_torn_apart_are_noticed(classroom):
    """One column was sorted and the others were not."""
    export_answers(classroom, "tiny")
    one, two = sheet(classroom).values()
    one["answer_code"], two["answer_code"] = two["answer_code"], one["answer_code"]
    found = complaints(classroom, [one | {"points": "1"}, two | {"points": "2"}])
    assert len(found) == 2 and all("sort whole rows" in text for text in found)


def test_points_that_count_whatever_was_handed_in(tmp_path):
    """A row without an answer's code: for an automatic question, and for a student who handed in nothing."""
    classroom = tiny_class(tmp_path, [("s01", "One", "en"), ("s02", "Two", "en")])
    hand_in(classroom, "s01", "The variance is $d$.")
    rows = [
        {"student_id": "s01", "question": "q1", "points": "0,5", "comment": "copied"},
        {"student_id": "s02", "question": "q2", "points": "2", "comment": "told me in person"},
    ]
    import_marks(classroom, "tiny", saved(classroom, rows))
    one, two = standing(classroom, "tiny")
    assert one.points == {"q1": 0.5, "q2": 3, "q3": None} and one.comments == {"q1": "copied"}
    assert two.points == {"q1": None, "q2": 2, "q3": None} and two.status == "missing"
    assert export_answers(classroom, "tiny") == (0, 1)
    again = {(row["student_id"], row["question"]): row for row in read_table(classroom.of("tiny", "marking.csv"))}
    assert again["s02", "q2"]["comment"] == "told me in person" and again["s01", "q1"]["points"] == "0.5"
    again["s02", "q2"]["points"] = "9"
    [text] = complaints(classroom, again.values())
    assert "s02" in text and "above the maximum 3" in text
    again["s02", "q2"]["points"] = "1"
    save = classroom.of("tiny", "marking.csv")
    write(save, saved(classroom, again.values()).read_bytes())
    with pytest.raises(Problem, match="has a mark that was not imported"):
        export_answers(classroom, "tiny")


@pytest.mark.parametrize("anonymous", [False, True])
def test_a_sheet_with_points_whatever_was_handed_in_comes_back(tmp_path, anonymous):
    """Those of an answer that is handed in have but one row; where no names may stand, no row but an answer's."""
    classroom = tiny_class(tmp_path, [("s01", "One", "en"), ("s02", "Two", "en")])
    hand_in(classroom, "s01", "The variance is $d$.")
    rows = [{"student_id": s, "question": q, "points": p} for s, q, p in (("s01", "q3", 4), ("s02", "q2", 2))]
    import_marks(classroom, "tiny", saved(classroom, rows))
    for _ in range(2):
        export_answers(classroom, "tiny", anonymous)
        path = classroom.of("tiny", "marking.csv")
        assert [row["points"] for row in read_table(path)] == (["4"] if anonymous else ["4", "2"])
        assert import_marks(classroom, "tiny", path) == (1, 0)
    hand_in(classroom, "s01", "Another answer.")
    one, two = standing(classroom, "tiny")
    assert (one.points["q3"], two.points["q2"]) == (4, 2)
    rows = [row | {"points": "1"} for row in read_table(path)][:1]
    rows[0]["answer_code"] = ""
    if not anonymous:
        import_marks(classroom, "tiny", saved(classroom, rows))
        assert standing(classroom, "tiny")[0].points["q3"] == 1


def test_a_mark_above_what_the_question_now_gives_does_not_count(classroom):
    """The master was released anew, with fewer points."""
    export_answers(classroom, "tiny")
    rows = sheet(classroom)
    import_marks(classroom, "tiny", saved(classroom, [rows["s01"] | {"points": "5"}, rows["s02"] | {"points": "4"}]))
    module = classroom.of("tiny", "master", "tiny.py")
    module.write_text(module.read_text("utf-8").replace("Written(points=5", "Written(points=4"), "utf-8")
    assert current_marks(classroom, "tiny").keys() == {"s02"}


def test_a_mark_does_not_pass_to_another_answer(classroom):
    export_answers(classroom, "tiny")
    rows = {student: row | {"points": "4", "comment": "good"} for student, row in sheet(classroom).items()}
    import_marks(classroom, "tiny", saved(classroom, rows.values()))
    assert current_marks(classroom, "tiny").keys() == {"s01", "s02"}
    hand_in(classroom, "s01", "方差是 $d^2$。")
    assert current_marks(classroom, "tiny").keys() == {"s02"}
    [text] = complaints(classroom, rows.values())
    assert "s01" in text and "not the answer that is handed in now" in text
    assert export_answers(classroom, "tiny") == (1, 1)
    again = sheet(classroom)
    assert (again["s01"]["points"], again["s02"]["points"]) == ("", "4")


def test_the_same_answer_with_other_code_cells_keeps_its_mark(classroom):
    export_answers(classroom, "tiny")
    import_marks(classroom, "tiny", saved(classroom, [sheet(classroom)["s02"] | {"points": "4"}]))
    hand_in(classroom, "s02", "It is $d$.\n\n- a list, =1+1;=2+2", softmax="def softmax(x):\n    return x")
    assert current_marks(classroom, "tiny").keys() == {"s02"}


def test_empty_points_keep_what_was_there(classroom):
    export_answers(classroom, "tiny")
    row = sheet(classroom)["s01"]
    import_marks(classroom, "tiny", saved(classroom, [row | {"points": "4", "comment": "good"}]))
    for kept in ({"points": "", "comment": ""}, {"points": "", "comment": "good"}):
        assert import_marks(classroom, "tiny", saved(classroom, [row | kept])) == (1, 1)
    assert marks(classroom) == {"s01": (4, "good")}
    assert import_marks(classroom, "tiny", saved(classroom, [row | {"points": "0"}])) == (1, 1)
    assert marks(classroom) == {"s01": (0, "")}


def test_a_sheet_with_marks_is_not_written_over(classroom):
    export_answers(classroom, "tiny")
    rows, path = sheet(classroom), classroom.of("tiny", "marking.csv")
    rows["s01"]["points"] = "2,5"
    path.write_bytes(saved(classroom, rows.values()).read_bytes())
    with pytest.raises(Problem, match="import the sheet first"):
        export_answers(classroom, "tiny")
    assert sheet(classroom) == rows
    import_marks(classroom, "tiny", path)
    assert export_answers(classroom, "tiny") == (1, 1)
    rows = sheet(classroom)
    rows["s02"]["comment"] = "to think over"
    path.write_bytes(saved(classroom, rows.values()).read_bytes())
    with pytest.raises(Problem, match="import the sheet first"):
        export_answers(classroom, "tiny")


def test_what_is_there_to_mark(tmp_path):
    classroom = tiny_class(tmp_path, [(i, i, "") for i in ("blank", "below", "code", "unread", "none")])
    hand_in(classroom, "blank")
    hand_in(classroom, "below", None, [("markdown", "I wrote it here: $d$")])
    hand_in(classroom, "code", None, [("code", "1 + 1")])
    hand_in(classroom, "unread", "cannot be trusted", readable=False)
    assert export_answers(classroom, "tiny") == (0, 1)
    assert "I wrote it here: $d$" in sheet(classroom)["below"]["answer"]
    html = classroom.of("tiny", "marking.html").read_text("utf-8")
    assert "<p>I wrote it here: <math" in html and "在此作答" not in html


def test_marking_without_names(classroom):
    export_answers(classroom, "tiny", anonymous=True)
    files = [classroom.of("tiny", f"marking.{kind}").read_text("utf-8-sig") for kind in ("csv", "html")]
    for student, name, _ in ROSTER:
        assert not any(student in text or name in text for text in files)
    [row] = [row for row in sheet(classroom).values() if "list" in row["answer"]]
    [text] = complaints(classroom, [row | {"points": "9"}])
    assert row["answer_code"] in text and "s02" not in text and "Ada" not in text
    assert import_marks(classroom, "tiny", saved(classroom, [row | {"points": "3"}])) == (1, 1)
    assert marks(classroom) == {"s02": (3, "")}


@pytest.mark.parametrize("student, as_saved", [
    ("202312345678", "2.02312E+11"), ("202312345678", "2,02312E+11"), ("007123", "7123"), ("S-ab", "s-AB"),
    ("202312345678901234", "202312345678901000"), ("202312345678901234", "2.02312E+17"), ("12", "12"),
])  # fmt: skip
def test_an_id_that_a_spreadsheet_program_changed(student, as_saved):
    assert same_id(as_saved, student)


@pytest.mark.parametrize("student, other", [
    ("202312345678", "2.02412E+11"), ("202312345678", "202312345679"), ("007123", "71230"), ("S-ab", "S-ac"),
    ("s1", "1"), ("12", "1.2"),
])  # fmt: skip
def test_another_id(student, other):
    assert not same_id(other, student)


@given(st.text() | st.from_regex(r"[='+@\-\t\r\n＝]{1,3}x"))
def test_no_field_is_a_formula_and_each_comes_back(text):
    assert not safe(text).startswith(FORMULA) and plain(safe(text)) == text


def test_no_cell_of_the_sheet_is_a_formula(tmp_path):
    """Also where a program takes the semicolon or the tab for the separator, and so sees other cells."""
    names = ["=cmd|' /C calc'!A0", "@SUM(A1)", "+1", "-1", "＝1+1", "\t=1", "a;=1+1"]
    classroom = tiny_class(tmp_path, [(f"={i}", name, "") for i, name in enumerate(names)])
    for i, name in enumerate(names):
        hand_in(classroom, f"={i}", f"{name}\n=2+2\n\n- x;=3,  @y\t+4\n{name}", graded=False)
    export_answers(classroom, "tiny")
    text = classroom.of("tiny", "marking.csv").read_bytes().decode("utf-8-sig")
    assert all(not c.lstrip(" ").startswith(FORMULA) for row in csv.reader(io.StringIO(text, newline="")) for c in row)
    answers = "".join(row["answer"] + "\n" for row in sheet(classroom).values())
    cells = [cell for line in answers.split("\n") for cell in re.split("[;,\t]", line)]
    assert not [cell for cell in cells if cell.strip(" ").startswith(FORMULA)]
    rows = [row | {"points": "1", "comment": row["student_id"]} for row in sheet(classroom).values()]
    import_marks(classroom, "tiny", saved(classroom, rows))
    assert marks(classroom) == {f"={i}": (1, f"={i}") for i in range(len(names))}


def test_text_that_no_file_can_hold_and_answers_without_end(tmp_path):
    classroom = tiny_class(tmp_path, [("s1", "a", ""), ("s2", "b", "")])
    hand_in(classroom, "s1", "x")
    hand_in(classroom, "s2", "y" * 200_000 + " the end")
    path = classroom.of("tiny", "submissions", "s1.ipynb")
    notebook = json.loads(path.read_text("utf-8"))
    [cell] = [cell for cell in notebook["cells"] if cell["metadata"].get("nbgrader", {}).get("grade_id") == "q3"]
    cell["source"] = "a\ud800b\0c\rd\r\ne\x1bf"
    path.write_text(json.dumps(notebook), "utf-8")
    export_answers(classroom, "tiny")
    rows = sheet(classroom)
    assert rows["s1"]["answer"] == "a\ufffdb\ufffdc\nd\ne\ufffdf"
    assert 30_000 <= len(rows["s2"]["answer"]) < 32_767
    assert "y the end" in classroom.of("tiny", "marking.html").read_text("utf-8")


def test_before_anything_was_released_or_collected(tmp_path):
    classroom = tiny_class(tmp_path, [("s1", "a", "")])
    with pytest.raises(Problem, match="was not released"):
        export_answers(classroom, "other")
    with pytest.raises(Problem, match="attn collect"):
        export_answers(classroom, "tiny")
    assert current_marks(classroom, "tiny") == {}


@pytest.mark.parametrize("file", ["tiny.ipynb", "tiny.py"])
def test_a_damaged_master_is_a_sentence(classroom, file):
    classroom.of("tiny", "master", file).write_bytes(b"\xff\xfe\0")
    with pytest.raises(Problem, match=file):
        export_answers(classroom, "tiny")


def test_a_sheet_without_its_columns(classroom):
    export_answers(classroom, "tiny")
    with pytest.raises(Problem, match="no column answer_code"):
        import_marks(classroom, "tiny", saved(classroom, sheet(classroom).values(), ("student_id", "points")))


def test_the_page_shows_each_student_his_own_question(classroom):
    variants = {i: hand_in(classroom, i, f"answer of {i}")["q3"].d for i in ("s01", "s02", "s03")}
    export_answers(classroom, "tiny")
    html = classroom.of("tiny", "marking.html").read_text("utf-8")
    for article in re.findall("<article.*?</article>", html, re.S):
        student = re.search(r"answer of (s\d\d)", article)[1]
        assert f"d = {variants.pop(student)} ·" in article
    assert not variants
    assert html.count("结论 2 分，独立性 3 分") == html.count("2 points for the result") == 1


@pytest.mark.parametrize("text, wanted", [
    ("方差是$d_k$。", "<msub><mi>d</mi><mi>k</mi></msub>"),
    ("$$\n\\frac{1}{2}\n$$", '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">'),
    (r"so \(x^2\) and \[ y^2 \]", "<msup><mi>y</mi><mn>2</mn></msup>"),
    (r"so \\(x^2\\)", "<msup><mi>x</mi><mn>2</mn></msup>"),
    ("\\begin{align}a&=b\\\\c&=d\\end{align}", "<mtable"),
    (r"$\frac{1}$", r'<code class="latex">\frac{1}</code>'),
    (r"$\text{<b>}\notacommand{$", r"\notacommand{</code>"),
    ("**bold** `code` \n\n|a|b|\n|-|-|\n|1|2|", "<td>2</td>"),
    ("# A heading", '<p class="heading">A heading</p>'),
    ("[a](http://b.c)", "<p>[a](http://b.c)</p>"),
])  # fmt: skip
def test_an_answer_is_typeset(text, wanted):
    assert wanted in to_html(text)


def test_formulas_that_would_grow_or_nest_without_measure_stay_as_they_were_typed():
    names = "abcdefghijklmn"
    for command in ("newcommand", "renewcommand", "DeclareMathOperator"):
        bomb = rf"\{command}{{\a}}{{xx}}" + "".join(
            rf"\{command}{{\{b}}}{{\{a}\{a}\{a}}}" for a, b in zip(names, names[1:], strict=False)
        )
        assert formula(bomb + r"\n").startswith("<code")
    assert formula(r"\sqrt{" * 100 + "x" + "}" * 100).startswith("<code")
    assert formula("x" * 5000).startswith("<code")
    assert formula(r"\sqrt{" * 5 + "x" + "}" * 5).startswith("<math")


HIT = "window.hit=1"
HOSTILE = [
    f"<script>{HIT}</script>",
    f'<img src="https://example.org/x.png" onerror="{HIT}">',
    f"[link](javascript:{HIT}) <javascript:{HIT}> [a]: javascript:{HIT}",
    "![picture](https://example.org/y.png) ![p](attachment:z.png)\n\n[r]\n\n[r]: https://example.org",
    "</pre></details></article></section></main><h1>Marking</h1><style>*{display:none}</style>",
    '<div style="position:fixed;inset:0">all over</div>',
    rf"$\text{{<img src=x onerror={HIT}>}}$ and $\text{{&lt;script&gt;{HIT}&lt;/script&gt;}}$",
    rf"$\href{{javascript:{HIT}}}{{x}}$ $\style{{position:fixed;inset:0}}{{y}}$ $\class{{total}}{{z}}$",
    r"$\unicode{x3c}script\unicode{x3e}$ $\text{</math><script>" + HIT + r"</script>}$",
    r"$\hspace{99999em}x$ $\rule{9999em}{9999em}$",
    "\u202e right to left \u2067 and \u202e more",
    ">" * 5000 + " deep",
    "- " * 3000 + "deep",
    "x" * 30_000 + f"</pre><script>{HIT}</script>",
    "W" * 5000,
    f'```html\n<script>{HIT}</script>\n```\n\n~~~" onmouseover="{HIT}\nx\n~~~',
    f'|a|\n|-|\n|<svg onload="{HIT}">|',
    "\n".join("#" * (1 + i % 6) + f" heading {i}" for i in range(50)),
    "&lt;script&gt;" + HIT + "&lt;/script&gt; {{ 7 * 7 }} {% raw %} << q3.d >>",
]
NAME = f'\u202e</title></h3><script>{HIT}</script>" onload="{HIT}'
OURS = re.compile(
    "html|head|meta|title|style|body|main|section|article|details|summary|h[123]|p|div|span|bdi|strong|em|code|pre|ul|ol|li"
    "|hr|br|blockquote|table|thead|tbody|tr|th|td"
)


def test_hostile_answers_do_nothing_in_a_browser(tmp_path, open_page):
    """Without the policy that the page carries, so that the page itself has to hold."""
    classroom = tiny_class(tmp_path, [(f"s{i:02}", NAME, "") for i in range(len(HOSTILE))])
    for i, text in enumerate(HOSTILE):
        look = [{"zh": text[:50], "en": text[:50]}]
        hand_in(classroom, f"s{i:02}", text, [("code", text), ("markdown", text)], graded=False, look=look)
    export_answers(classroom, "tiny")
    rows = [row | {"points": "1", "comment": row["answer"][:99]} for row in sheet(classroom).values()]
    import_marks(classroom, "tiny", saved(classroom, rows))
    classroom.of("tiny", "marking.csv").unlink()
    export_answers(classroom, "tiny")
    page, requests = open_page(bypass_csp=True, viewport={"width": 360, "height": 740}), []
    page.on("request", lambda request: requests.append(request.url))
    page.on("dialog", lambda dialog: requests.append(dialog.message))
    address = classroom.of("tiny", "marking.html").as_uri()
    page.goto(address)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert requests == [address] and not page.log.external and not page.log.console
    assert page.evaluate("window.hit") is None and page.title() == "Marking · tiny"
    everything = """[...document.querySelectorAll("*")].filter(e => !e.closest("math"))"""
    assert all(map(OURS.fullmatch, page.evaluate(f"{everything}.map(e => e.localName)")))
    attributes = set(page.evaluate('[...document.querySelectorAll("*")].flatMap(e => e.getAttributeNames())'))
    assert not {a for a in attributes if a.startswith("on")} | (
        attributes & {"style", "href", "src", "srcset", "action"}
    )
    assert page.locator("body > *").count() == page.locator("main > h1").count() == page.locator("h1").count() == 1
    assert page.locator("main > section > article").count() == page.locator("article").count() == len(HOSTILE)
    assert page.locator("article > .box").count() == 3 * len(HOSTILE)
    outside = """boxes => boxes.filter(b => {
      const [i, o] = [b, b.closest("article")].map(e => e.getBoundingClientRect());
      return i.left < o.left || i.right > o.right + 1 || i.top < o.top || i.bottom > o.bottom + 1; }).length"""
    assert page.locator(".box").evaluate_all(outside) == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator("article h3 bdi").first.text_content() == NAME
    raw = page.locator("article > details:last-child pre:first-of-type").all_text_contents()
    assert sorted(text.strip() for text in raw) == sorted(text.strip() for text in HOSTILE)


def test_a_sheet_without_names_can_be_imported_where_points_were_set_by_hand(classroom):
    path = saved(classroom, [{"student_id": "s04", "question": "q1", "points": "1"}])
    import_marks(classroom, "tiny", path)
    export_answers(classroom, "tiny", anonymous=True)
    assert all(row["answer_code"] and not row["student_id"] for row in sheet(classroom).values())
    before = read_json(classroom.of("tiny", "marked.json"))
    import_marks(classroom, "tiny", classroom.of("tiny", "marking.csv"))
    assert read_json(classroom.of("tiny", "marked.json")) == before
