"""What people read when they mark and in feedback: a question as a student has it, what he handed in, and the page."""

import json
import re
from pathlib import Path

import jinja2
from markupsafe import Markup

from attention_grading.classroom import Problem
from attention_grading.markdown import readable, to_html
from attention_grading.release import in_language, rendered

PAGES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("pages")),
    autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
)  # fmt: skip
LANG = {"lang-zh": "zh-CN", "lang-en": "en"}  # a cell's tag -> the attribute of its text


def page(template, **given):
    """A page from its template; nothing on it runs, nothing is fetched, and all that is put in is escaped.   -> HTML"""
    return PAGES.get_template(template).render(markdown=lambda text: Markup(to_html(text)), number=number, **given)


def number(points):
    """2 and not 2.0, 0.33 and not 0.333333"""
    return f"{round(points, 2):g}"


class Master:
    """The cells of a released assignment."""

    def __init__(self, assignment):
        self.assignment = assignment
        self.cells = assignment.cells
        self.ids = {cell.id for cell in self.cells} | {f"{key}-check" for key in assignment.automatic}

    def title(self):
        """The notebook's first heading in each language; where it has none, the file's name.   -> (zh, en)"""
        found = {}
        for cell in self.cells:
            heading = re.match(r"# (.+)", cell.source) if cell.cell_type == "markdown" else None
            for tag in set(tags(cell)) & set(LANG) if heading else ():
                found.setdefault(tag, heading[1])
        return tuple(found.get(tag, self.assignment.name) for tag in LANG)

    def question(self, key, words, language="both"):
        """The texts that ask a question, with what was drawn.   -> ((lang, Markdown), …)"""
        texts = []
        for cell in reversed(self.cells[: self.place(key)]):
            if cell.cell_type != "markdown" or "nbgrader" in cell.metadata:
                break
            if "marking" not in tags(cell) and in_language(tags(cell), language):
                texts.insert(0, self.text(cell, words))
        return tuple(texts)

    def guide(self, key, words):
        """The texts that say how it is marked.   -> ((lang, Markdown), …)"""
        texts = []
        for cell in self.cells[self.place(key) + 1 :]:
            if "nbgrader" in cell.metadata:
                break
            if "marking" in tags(cell):
                texts.append(self.text(cell, words))
        return tuple(texts)

    def place(self, key):
        return next(i for i, cell in enumerate(self.cells) if grade_id(cell) == key)

    def text(self, cell, words):
        lang = next((LANG[tag] for tag in tags(cell) if tag in LANG), "")
        return lang, rendered(cell.source, words, self.assignment.notebook.name, cell.id)

    def handed_in(self, classroom, student, entry):
        """Each answer, and the cells that the student put after it.   -> {question: [(cell type, source), …]}

        entry: what was collected of the student, or None
        """
        path = classroom.of(self.assignment.name, "submissions", f"{student.file}.ipynb")
        if not entry or not entry["readable"] or not path.exists():
            return {}
        try:
            return self.answers(json.loads(path.read_text("utf-8"))["cells"])
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise Problem(f"{path} is damaged: collect {self.assignment.name} again, which makes it anew.") from None

    def answers(self, cells):
        answers, current = {}, None
        for cell in cells:
            if grade_id(cell) in self.assignment.questions:
                current = answers.setdefault(grade_id(cell), [])
            elif cell.get("id") in self.ids:
                current = None
            if current is not None:
                current.append((cell["cell_type"], readable("".join(cell["source"]))))
        return answers


def tags(cell):
    return cell["metadata"].get("tags", [])


def grade_id(cell):
    return cell["metadata"].get("nbgrader", {}).get("grade_id")
