"""Answers are found in whatever comes back; whatever comes back, a valid notebook and words come out."""

import base64
import copy
import json
import random
from pathlib import Path

import nbformat
import pytest

from attention_grading.assignment import Assignment
from attention_grading.release import PLACEHOLDER, student_notebook
from attention_grading.transplant import LARGEST, MOST_TEXT, transplant

MASTER = Assignment(Path(__file__).parent / "tiny_assignment" / "tiny")
RELEASED = student_notebook(MASTER, b"s" * 32, "s1", "both")
SOFTMAX = "def softmax(x):\n    return x  # 我的"
ATTENTION = "def attention(Q, K, V):\n    return V"
ESSAY = "方差是 $d$，因为……"


def handed_in(**answers):
    """The released notebook with answers, as a dict."""
    notebook = json.loads(nbformat.writes(RELEASED, split_lines=False))
    for key, source in ({"q1": SOFTMAX, "q2": ATTENTION, "q3": ESSAY} | answers).items():
        if source is not None:
            cell(notebook, key)["source"] = source
    return notebook


def cell(notebook, name):
    return next(c for c in notebook["cells"] if c["id"] == name)


def place(notebook, name):
    return next(i for i, c in enumerate(notebook["cells"]) if c["id"] == name)


def extra(kind, source):
    return {"cell_type": kind, "id": "x", "metadata": {"a": 1}, "source": source}


def put(notebook):
    """Transplant, and what must always hold."""
    data = notebook if isinstance(notebook, bytes) else json.dumps(notebook).encode()
    clean, report = transplant(RELEASED, data)
    nbformat.validate(clean)
    assert nbformat.reads(nbformat.writes(clean), 4) == clean
    released = {c.id: c for c in RELEASED.cells}
    assert [c.id for c in clean.cells if c.id in released] == [c.id for c in RELEASED.cells]
    for c in clean.cells:
        if c.id not in released:
            assert c.metadata == {}
        elif c.id not in ("q1", "q2", "q3"):
            assert c == released[c.id]
        else:
            assert c.metadata == released[c.id].metadata and c.cell_type == released[c.id].cell_type
        assert not c.get("outputs")
    for one in report.repaired + report.look:
        assert set(one) == {"zh", "en"} and all(one.values())
    return clean, report


def answers(clean):
    return {name: cell(clean, name)["source"] for name in ("q1", "q2", "q3")}


WHOLE = {"q1": SOFTMAX, "q2": ATTENTION, "q3": ESSAY}


def english(notes):
    return " ".join(one["en"] for one in notes)


def test_an_ordinary_submission_needs_no_words():
    clean, report = put(handed_in())
    assert answers(clean) == WHOLE
    assert (report.readable, report.blank, report.repaired, report.look, report.found) == (True, [], [], [], 3)
    assert len(clean.cells) == len(RELEASED.cells)


def test_an_untouched_notebook_is_blank_and_nothing_else():
    clean, report = put(handed_in(q1=None, q2=None, q3=None))
    assert clean == RELEASED
    assert (report.blank, report.repaired, report.look) == (["q1", "q2", "q3"], [], [])


def test_the_released_notebook_is_not_changed():
    before = copy.deepcopy(RELEASED)
    put(handed_in())
    assert before == RELEASED


def without_metadata(notebook):
    for c in notebook["cells"]:
        c["metadata"] = {}


def without_metadata_and_ids(notebook):
    notebook["nbformat_minor"] = 4
    for c in notebook["cells"]:
        c["metadata"] = {}
        del c["id"]


def other_grade_id(notebook):
    cell(notebook, "q1")["metadata"]["nbgrader"]["grade_id"] = "q9"


def other_ids(notebook):
    for number, c in enumerate(notebook["cells"]):
        c["id"] = f"n{number}"


def colab(notebook):
    notebook["nbformat_minor"] = 0
    notebook["metadata"] |= {"colab": {"provenance": []}, "accelerator": "GPU"}
    for c in notebook["cells"]:
        c["metadata"] = {"id": c.pop("id"), "outputId": "5f", "colab": {"base_uri": "https://localhost:8080/"}}


def kaggle(notebook):
    notebook["metadata"]["kaggle"] = {"accelerator": "none"}
    for c in notebook["cells"]:
        c.pop("id")
        c["metadata"] = {"_uuid": "0f", "trusted": True, "execution": {"iopub.status.busy": "2026-01-01T00:00:00Z"}}


def vs_code(notebook):
    for c in notebook["cells"]:
        c["metadata"]["vscode"] = {"languageId": "python"}
        c["source"] = c["source"].splitlines(keepends=True)


def lines_without_ends(notebook):
    for c in notebook["cells"]:
        c["source"] = c["source"].split("\n")


def windows_lines(notebook):
    for c in notebook["cells"]:
        c["source"] = c["source"].replace("\n", "\r\n")


def format_3(notebook):
    sheet = [
        {"cell_type": "code", "language": "python", "input": c["source"], "outputs": []}
        if c["cell_type"] == "code"
        else {"cell_type": "markdown", "source": c["source"]}
        for c in notebook["cells"]
    ]
    notebook.clear()
    notebook.update(nbformat=3, nbformat_minor=0, metadata={}, worksheets=[{"cells": sheet}])


def format_5(notebook):
    notebook.update(nbformat=5, nbformat_minor=0, comments=[])


def other_kernel(notebook):
    notebook["metadata"]["kernelspec"] = {"name": "my-conda-env", "display_name": "x", "language": "R"}


def outputs(notebook):
    cell(notebook, "q1")["outputs"] = [
        {"output_type": "display_data", "data": {"image/png": "A" * 7_000_000}, "metadata": {}}
    ]


def odd_cells(notebook):
    notebook["cells"][1:1] = [None, 7, "text", [], {}, {"cell_type": 3, "source": {"a": 1}, "metadata": []}]


def more_points(notebook):
    cell(notebook, "q1-check")["metadata"]["nbgrader"]["points"] = 300


def check_edited(notebook):
    cell(notebook, "q1-check")["source"] = "assert True"


def check_twice(notebook):
    notebook["cells"].insert(place(notebook, "q1-check"), {**cell(notebook, "q1-check"), "source": "pass"})


def check_as_text(notebook):
    cell(notebook, "q1-check")["cell_type"] = "markdown"


def no_check(notebook):
    del notebook["cells"][place(notebook, "q1-check")]


def no_question_text(notebook):
    notebook["cells"] = [c for c in notebook["cells"] if not c["id"].endswith(("-zh", "-en"))]


def code_as_text(notebook):
    cell(notebook, "q1").update(cell_type="markdown", source=f"```python\n{SOFTMAX}\n```")


def code_as_raw(notebook):
    cell(notebook, "q1")["cell_type"] = "raw"


def text_as_code(notebook):
    cell(notebook, "q3")["cell_type"] = "code"


def same_answer_twice(notebook):
    notebook["cells"].insert(place(notebook, "q1"), copy.deepcopy(cell(notebook, "q1")))


def stub_after_the_answer(notebook):
    stub = copy.deepcopy(cell(handed_in(q1=None), "q1"))
    notebook["cells"].insert(place(notebook, "q1") + 1, stub)


def written_below_the_placeholder(notebook):
    cell(notebook, "q3")["source"] = PLACEHOLDER + "\n\n" + ESSAY


def shuffled(notebook):
    notebook["cells"].reverse()


def metadata_of_wrong_types(notebook):
    notebook["metadata"] = [1]
    cell(notebook, "q1")["metadata"] = {"nbgrader": ["q1"]}
    cell(notebook, "q2")["metadata"] = {"nbgrader": {"grade_id": {"a": []}}}


SILENT = {  # nothing that the student need know of
    without_metadata, other_grade_id, other_ids, colab, vs_code, lines_without_ends, windows_lines, format_5,
    other_kernel, outputs, check_as_text, no_check, no_question_text, written_below_the_placeholder, shuffled,
}  # fmt: skip


@pytest.mark.parametrize("change", [
    without_metadata, without_metadata_and_ids, other_grade_id, other_ids, colab, kaggle, vs_code, lines_without_ends,
    windows_lines, format_3, format_5, other_kernel, outputs, odd_cells, more_points, check_edited, check_twice,
    check_as_text, no_check, no_question_text, code_as_text, code_as_raw, text_as_code, same_answer_twice,
    stub_after_the_answer, written_below_the_placeholder, shuffled, metadata_of_wrong_types,
])  # fmt: skip
def test_no_answer_is_lost(change):
    notebook = handed_in()
    change(notebook)
    clean, report = put(notebook)
    assert answers(clean) == WHOLE
    assert report.readable and report.blank == []
    assert bool(report.repaired) == (change not in SILENT)


@pytest.mark.parametrize("change", [without_metadata, without_metadata_and_ids, colab, kaggle, format_3])
def test_an_untouched_notebook_stays_blank_in_any_program(change):
    notebook = handed_in(q1=None, q2=None, q3=None)
    change(notebook)
    clean, report = put(notebook)
    assert report.blank == ["q1", "q2", "q3"]
    assert clean == RELEASED


@pytest.mark.parametrize("encode", [
    lambda text: b"\xef\xbb\xbf" + text.encode(), lambda text: text.encode("utf-16"), lambda text: text.encode("gbk"),
    lambda text: text.encode("utf-16-le"), lambda text: text.encode("utf-32"), lambda text: text.encode() + b"\0" * 512,
    lambda text: text.replace("\n", "\r\n").encode(),
])  # fmt: skip
def test_any_encoding(encode):
    notebook = handed_in(q1="def softmax(x):\n    return x  # 中文")
    text = json.dumps(notebook, ensure_ascii=False, indent=1).replace("✎", "V").replace("·", "-")
    clean, report = put(encode(text))
    assert answers(clean) == WHOLE | {"q1": "def softmax(x):\n    return x  # 中文"}
    assert report.blank == []


def test_one_damaged_byte_is_no_other_encoding():
    data = json.dumps(handed_in(), ensure_ascii=False).encode()
    at = data.index("方差是 $d$，因为".encode())
    clean, report = put(data[:at] + b"\xff" + data[at + 1 :])
    assert answers(clean)["q1"] == SOFTMAX
    assert "因为" in answers(clean)["q3"] and "�" in answers(clean)["q3"]
    assert "damaged" in english(report.look)


UNREADABLE = {
    "empty": (b"", "empty"),
    "nothing but zeros": (b"\0" * 1000, "empty"),
    "truncated": (json.dumps(handed_in()).encode()[:-700], "breaks off"),
    "corrupt": (b'{"cells": [,]}', "damaged (line 1)"),
    "no notebook": (b'{"name": "package", "version": 1}', "some other JSON"),
    "a list": (b"[1, 2]", "some other JSON"),
    "a number": (b"7", "some other JSON"),
    "python": (b"# coding\nimport numpy as np\n\ndef softmax(x): pass\n", "a Python file"),
    "pdf": (b"%PDF-1.7 ...", "a PDF"),
    "word": (b"PK\x03\x04...word/document.xml", "a Word file"),
    "zip": (b"PK\x03\x04...hw.ipynb", "a zip"),
    "rar": (b"Rar!\x1a\x07", "a RAR"),
    "web page": (b"<!DOCTYPE html>\n<html><body>", "a web page"),
    "words": ("我不会做。".encode(), "a text file"),
    "deep": (b'{"cells":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deep"),
    "a huge number": (b'{"cells": ' + b"9" * 5000 + b"}", "damaged"),
    "conflict": (b'{\n<<<<<<< HEAD\n "cells": []\n=======\n "cells": [1]\n>>>>>>> a\n}', "merge conflict"),
    "too large": (b" " * LARGEST + b"{}", "too large"),
    "random": (bytes(range(256)) * 40, "."),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_no_notebook_is_named(name):
    data, words = UNREADABLE[name]
    clean, report = put(data)
    assert clean == RELEASED
    assert not report.readable and report.blank == ["q1", "q2", "q3"] and report.found == 0
    assert words in english(report.look) and len(report.look) == 1


def test_of_several_copies_the_last_that_differs_from_the_stub_counts():
    notebook = handed_in()
    first = cell(notebook, "q1") | {"source": "def softmax(x):\n    return 0"}
    notebook["cells"].insert(place(notebook, "q1"), first)
    clean, report = put(notebook)
    assert answers(clean) == WHOLE
    assert "q1: there are several copies" in english(report.look)
    sources = [c.source for c in clean.cells]
    assert sources.index("def softmax(x):\n    return 0") < sources.index(SOFTMAX), "else the first would run last"


def test_an_answer_moved_into_another_cell_and_its_helpers():
    notebook = handed_in(q1=None)
    at = place(notebook, "q1-check") + 1
    notebook["cells"][at:at] = [extra("code", "def helper(x):\n    return x"), extra("code", SOFTMAX)]
    clean, report = put(notebook)
    assert answers(clean) == WHOLE
    assert [c.source for c in clean.cells if c.id.startswith("added")] == ["def helper(x):\n    return x"]
    assert "q1: the answer was in another cell" in english(report.repaired) and report.blank == []


def test_all_functions_in_one_cell():
    both = f"{SOFTMAX}\n\n\n{ATTENTION}"
    clean, report = put(handed_in(q1=both, q2=None))
    assert answers(clean) == {"q1": both, "q2": both, "q3": ESSAY}, "else the stub would run last"
    assert report.blank == []


def test_a_cell_copied_for_another_answer_keeps_the_first_one_s_grade_id():
    notebook = handed_in(q2=None)
    copied = copy.deepcopy(cell(notebook, "q1")) | {"source": ATTENTION, "id": "copied"}
    notebook["cells"][place(notebook, "q2")] = copied
    clean, report = put(notebook)
    assert answers(clean) == WHOLE and report.blank == []


def test_a_function_defined_again_elsewhere_is_for_a_human():
    notebook = handed_in()
    notebook["cells"].append(extra("code", "def softmax(x):\n    return 1"))
    clean, report = put(notebook)
    assert clean.cells[-1].source == "def softmax(x):\n    return 1" and answers(clean)["q1"] == SOFTMAX
    assert "q1: the function softmax is also defined in another cell" in english(report.look)


def test_a_renamed_function_is_for_a_human():
    _, report = put(handed_in(q1="def Softmax(x):\n    return x"))
    assert "q1: the answer has no function softmax" in english(report.look) and report.blank == []


def test_a_deleted_answer_is_for_a_human():
    notebook = handed_in()
    del notebook["cells"][place(notebook, "q1")]
    clean, report = put(notebook)
    assert report.blank == ["q1"] and "q1: the answer cell was not found" in english(report.look)
    assert answers(clean) == WHOLE | {"q1": cell(RELEASED, "q1")["source"]}


@pytest.mark.parametrize("kind", ["markdown", "raw", "code"])
def test_a_written_answer_beside_its_cell(kind):
    notebook = handed_in(q3=None)
    notebook["cells"].append(extra(kind, ESSAY))
    clean, report = put(notebook)
    assert answers(clean) == WHOLE and report.blank == []
    assert "q3" in english(report.look) and "q3" in english(report.repaired)


def test_a_written_answer_in_the_question_s_own_cell():
    notebook = handed_in(q3=None)
    cell(notebook, "q3-en")["source"] += "\n\n" + ESSAY
    clean, report = put(notebook)
    assert answers(clean) == WHOLE and "q3" in english(report.look)


def test_a_written_answer_in_several_cells_is_joined():
    notebook = handed_in()
    notebook["cells"].append(extra("markdown", "第二段。"))
    clean, report = put(notebook)
    assert answers(clean)["q3"] == f"{ESSAY}\n\n第二段。" and report.look == []
    assert "q3: the answer was in several cells" in english(report.repaired)


def test_an_import_added_to_a_released_cell_is_kept():
    notebook = handed_in()
    cell(notebook, "imports")["source"] += "\nimport math"
    clean, report = put(notebook)
    sources = [c.source for c in clean.cells]
    assert sources[sources.index("import numpy as np") + 1] == "import math"
    assert (report.repaired, report.look) == ([], [])


def test_functions_in_a_check_are_for_a_human():
    notebook = handed_in(q1=None)
    cell(notebook, "q1-check")["source"] = SOFTMAX
    clean, report = put(notebook)
    assert answers(clean) == WHOLE
    assert "q1_check: the check cell holds definitions" in english(report.look)


def test_pictures_in_an_answer_stay_and_are_for_a_human():
    notebook = handed_in()
    picture = base64.b64encode(b"picture" * 100).decode()
    cell(notebook, "q3")["attachments"] = {
        "a.png": {"image/png": picture, "text/html": "<script>"},
        "b": 7,
        "c.png": {"image/png": "<script>"},
    }
    clean, report = put(notebook)
    assert cell(clean, "q3")["attachments"] == {"a.png": {"image/png": picture}}
    assert "pictures" in english(report.look)


def test_too_much_text_is_left_out_and_told():
    notebook = handed_in()
    notebook["cells"].append(extra("code", "x" * MOST_TEXT))
    clean, report = put(notebook)
    assert answers(clean) == WHOLE and len(nbformat.writes(clean)) < 100_000
    assert "too long" in english(report.look)


def test_characters_that_are_none():
    clean, _ = put(handed_in(q1=SOFTMAX + "\0 \ud800", q3="\ufeff" + ESSAY))
    assert answers(clean) == WHOLE | {"q1": SOFTMAX + " ?"}


def test_a_source_that_is_a_number():
    clean, _ = put(handed_in(q1=7, q3=3.5))
    assert answers(clean)["q1"] == "7" and answers(clean)["q3"] == "3.5"


def test_conflict_marks_in_an_answer_are_for_a_human():
    _, report = put(handed_in(q1=f"<<<<<<< HEAD\n{SOFTMAX}\n=======\n>>>>>>> other"))
    assert "merge conflict" in english(report.look)


def test_a_variant_of_another_student_changes_nothing_but_is_seen():
    other = json.loads(nbformat.writes(student_notebook(MASTER, b"s" * 32, "s7", "both")))
    clean, report = put(other)
    assert "q1_check: the check cell was changed" in english(report.repaired)


ODD = [
    None, 0, -1, 1.5, True, "", "x", SOFTMAX, "\ud800", "\0", [], {}, [[]], [1, "a"], {"a": {}}, "q1", "q3", "code",
    "markdown", "raw", {"nbgrader": {"grade_id": "q1"}}, {"a.png": {"image/png": "AA=="}},
]  # fmt: skip


def nodes(value, path=()):
    """The paths to everything in a value."""
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from nodes(value[key], (*path, key))


@pytest.mark.parametrize("seed", range(100))
def test_a_notebook_changed_at_random(seed):
    chance, notebook = random.Random(seed), handed_in()
    for _ in range(chance.randint(1, 8)):
        *path, key = chance.choice([path for path in nodes(notebook) if path] or [("metadata",)])
        there = notebook
        for step in path:
            there = there[step]
        there[key] = copy.deepcopy(chance.choice(ODD))
        if isinstance(there, list):
            there.insert(chance.randint(0, len(there)), copy.deepcopy(chance.choice([*there, *ODD])))
        elif chance.random() < 0.5:
            there[chance.choice(["attachments", "id", "source", "cell_type", "metadata"])] = chance.choice(ODD)
    put(notebook)


def test_nothing_is_executed(tmp_path):
    trap = tmp_path / "trap"
    put(handed_in(q1=f"open({str(trap)!r}, 'w')\n{SOFTMAX}"))
    assert not trap.exists()
