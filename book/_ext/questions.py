"""Sphinx extension: questions that answer at once.

A cell tagged `question` is plain Markdown, which Jupyter and GitHub show as it is: a bold title, the question, options
and a fold with the reasons.  Here it is checked, and its answer, from the metadata, goes into the fold's opening tag,
where _static/questions.js finds it.  bilingual.py makes it a box.
"""

import json
import re

from sphinx.errors import ExtensionError

from bilingual import cell_lang, load, text

TITLE = {"zh": "问题：", "en": "Question: "}
FOLD = {"zh": "<details><summary>答案</summary>", "en": "<details><summary>Answer</summary>"}
RIGHT = {
    "zh": "对。",
    "en": "Right. ",
}  # begins the reason of the right option; the script drops it
NUMBERED = re.compile(r"(?m)^(\d+)\. +\S")
VALUED = re.compile(r"- ([-−]?(?:\d+\.?\d*|\.\d+)(?:/\d+)?) ?[:：] *\S")


def number(written):
    """The value of a number or fraction."""
    above, _, below = written.replace("−", "-").partition("/")
    return float(above) / float(below or 1)


def close(x, y, tolerance):
    """Whether x passes for y: as in questions.js."""
    return abs(x - y) <= tolerance + 1e-9 * max(1, abs(y))


def is_question(cell):
    return cell["cell_type"] == "markdown" and "question" in cell.get("metadata", {}).get("tags", [])


def parts(cell):
    """The question with its options, and the fold's inside; a ValueError says how a cell is written."""
    lang = cell_lang(cell)
    if not lang:
        raise ValueError("give it the tag lang-zh or lang-en")
    head, fold, rest = text(cell).strip().partition(f"\n\n{FOLD[lang]}\n\n")
    inside, end, after = rest.partition("\n\n</details>")
    if not fold or not end or after:
        raise ValueError(f"end it with {FOLD[lang]}, the reasons and </details>, an empty line between each two")
    if not re.match(rf"\*\*{TITLE[lang]}[^\n]+\*\*\n\n(?!\d+\. )\S", head):
        raise ValueError(f"begin it with **{TITLE[lang]}a title**, an empty line and the question")
    if loose := [line for line in inside.splitlines() if not re.match(r"\d+\. |- |$", line)]:
        raise ValueError(f"its fold holds one list, each item on one line, so move this: {loose[0].strip()}")
    return head, inside


def check_choice(options, reasons, answer):
    """A choice: options and reasons are numbered alike, and the answer is one of the numbers."""
    right_numbers = [str(i) for i in range(1, len(options) + 1)]
    if options != right_numbers or reasons != right_numbers:
        raise ValueError(
            f"it has {len(options)} options and {len(reasons)} reasons: number both from 1, a reason for each option"
        )
    if type(answer) is not int or not 1 <= answer <= len(options):
        raise ValueError(f'its metadata need "answer", the number of the right option, 1 to {len(options)}')


def check_right(lines, answer, word):
    """The fold alone, where no script runs, says which option is right."""
    begun = [i for i, line in enumerate(lines, start=1) if line.startswith(f"{i}. {word}")]
    if begun != [answer]:
        raise ValueError(f"begin the reason of option {answer}, and no other, with “{word.strip()}”")


def check_typed(values, answer, tolerance):
    """A number to type: the fold's first number is the answer, and no reason hides behind another."""
    if type(answer) not in (int, float):
        raise ValueError('its metadata need "answer": the number of the right option, or the right number')
    if not close(values[0], answer, tolerance):
        raise ValueError(f"the first item of its fold must be for the answer, {answer:g}, and is for {values[0]:g}")
    for i, x in enumerate(values):
        if any(close(x, y, tolerance) for y in values[:i]):
            raise ValueError(f"{x:g} in its fold passes for an earlier number: drop it, or lower the tolerance")


def facts(cell):
    """What twins share: metadata, the options' numbers, the fold's numbers; a ValueError names fault and remedy."""
    head, inside = parts(cell)
    meta, items = cell["metadata"], [line for line in inside.splitlines() if line.startswith("- ")]
    options, reasons = NUMBERED.findall(head), NUMBERED.findall(inside)
    answer, tolerance = meta.get("answer"), meta.get("tolerance", 0)
    values = []
    if not re.fullmatch(r"q-[a-z0-9-]+", str(meta.get("label"))):
        raise ValueError('its metadata need "label": q- and lower-case letters, digits, hyphens')
    if type(tolerance) not in (int, float) or tolerance < 0 or (options and tolerance):
        raise ValueError('"tolerance" is a positive number, and only for a question whose answer is typed')
    if options or reasons:
        check_choice(options, reasons, answer)
        check_right(inside.splitlines(), answer, RIGHT[cell_lang(cell)])
    else:
        found = [VALUED.match(item) for item in items]
        if not found or not all(found):
            raise ValueError("each item of its fold begins with a number and a colon, as in `- 3/4: why`")
        values = [number(match[1]) for match in found]
        check_typed(values, answer, tolerance)
    return meta["label"], answer, tolerance, options, values


def problems(nb):
    """Sentences on the question cells of a notebook that cannot work, each with the remedy."""
    cells, read, labels, nothing = nb["cells"], {}, set(), {"cell_type": ""}
    twins = {"zh": [*cells[1:], nothing], "en": [nothing, *cells[:-1]], None: cells}
    for i, cell in enumerate(cells):
        if not is_question(cell):
            continue
        label, lang = cell["metadata"].get("label", cell.get("id")), cell_lang(cell)
        try:
            found = read[i] = facts(cell)
            if not is_question(twins[lang][i]) or {lang, cell_lang(twins[lang][i])} != set(TITLE):
                raise ValueError("put its twin beside it, Chinese first, both with the tag question")
            if lang == "en" and read.get(i - 1, found) != found:
                raise ValueError("give both languages the same metadata, options and numbers in the fold")
            if (label, lang) in labels:
                raise ValueError("another question of this page has this label: choose a new one")
            labels.add((label, lang))
        except ValueError as error:
            yield f"question {label} ({lang}): {error}"


def source_read(app, docname, source):
    """Check the questions of a notebook, and put what the script needs into their folds."""
    if '"question"' not in source[0] or not app.env.doc2path(docname).endswith(".ipynb"):
        return
    nb = load(docname, source[0])
    if wrong := list(problems(nb)):
        raise ExtensionError("\n".join(f"{docname}.ipynb, {sentence}" for sentence in wrong))
    for cell in filter(is_question, nb["cells"]):
        label, answer, tolerance, *_ = facts(cell)
        data = f'data-question="{label}" data-answer="{answer}" data-tolerance="{tolerance}"'
        cell["source"] = text(cell).replace("<details>", f"<details {data}>", 1)
    source[0] = json.dumps(nb)


def setup(app):
    app.connect("source-read", source_read, priority=400)  # before bilingual.py chooses or merges the twins
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
