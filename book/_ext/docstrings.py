"""Sphinx extension: the page api.ipynb says what code/attention_mechanism.py says of itself.

Its headings of the third level are the names of the functions, and the notebook has a sentence for each in both
languages.  Here the signature comes below such a heading and the docstring below the sentence, both read from the
module whenever the site is built.
"""

import ast
import inspect
import re
from pathlib import Path

from docutils import nodes
from sphinx.transforms import SphinxTransform

import attention_mechanism
from bilingual import headings, load

PAGE, PAPERS = "api", "references"
REMARK = re.compile(r"\s+(?=(?:Raises|Warns|Source:) )")  # each begins a line of its own
CODE = r"`(?P<code>[^`]+)`"
PAPER = r"(?P<authors>[A-Z]\w+(?: et al\.| & [A-Z]\w+)) \d{4}"


def functions(module):
    """{name: function} of the public functions that a module defines, in its order."""
    ours = {name: f for name, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == module.__name__}
    return {name: f for name, f in ours.items() if not name.startswith("_")}


def signature(function):
    """How it is called, as its source has it: inspect would write dtype=<class 'float'>."""
    return f"am.{function.__name__}({ast.unparse(ast.parse(inspect.getsource(function)).body[0].args)})"


def papers(srcdir):
    """{authors: address of their entry in the references}"""
    path = Path(srcdir, f"{PAPERS}.ipynb")
    entries = [re.fullmatch(r"(.+) \(\d{4}\)", h) for h in headings(load(PAPERS, path.read_text("utf-8")), "en")]
    return {entry[1]: f"{PAPERS}.html#{nodes.make_id(entry[0])}" for entry in entries if entry}


def code_block(text, language, *classes):
    return nodes.literal_block(text, text, language=language, classes=list(classes))


def line(text, names, entries):
    """The nodes of a line of prose: `code`, names of other functions and papers, which are links, and text."""
    pattern = re.compile(rf"{CODE}|\b(?P<name>{'|'.join(names)})\b|{PAPER}" if names else f"{CODE}|{PAPER}")
    found, end = [], 0
    for match in pattern.finditer(text):
        where = f"#{match['name']}" if match["name"] else entries.get((match["authors"] or "").replace("&", "and"))
        if match["code"]:
            node = nodes.literal(match["code"], match["code"])
        elif where:
            node = nodes.reference("", match[0], refuri=where, internal=True)
        else:
            continue
        found += [nodes.Text(text[end : match.start()]), node]
        end = match.end()
    return [*found, nodes.Text(text[end:])]


def blocks(docstring, names, entries):
    """The nodes of a docstring: examples in a console, shapes as they are written, lists, and lines of prose."""
    for part in docstring.split("\n\n"):
        if part.startswith(">>> "):
            yield code_block(part, "pycon")
        elif part.startswith("- "):
            items = [nodes.paragraph("", "", *line(item, names, entries)) for item in re.split(r"\n?- ", part)[1:]]
            yield nodes.bullet_list("", *(nodes.list_item("", item) for item in items))
        else:
            for text in REMARK.split(part):
                is_shape = re.search(r"(^|\s)-> ", text)
                yield code_block(text, "text") if is_shape else nodes.paragraph("", "", *line(text, names, entries))


class Docstrings(SphinxTransform):
    """What the module says, below the headings of its names."""

    default_priority = 760  # StableAnchors has named the sections; quotation marks, and with them j', stay as they are

    def apply(self):
        if self.env.docname != PAGE:
            return
        self.env.note_dependency(attention_mechanism.__file__)
        known, entries = functions(attention_mechanism), papers(self.env.srcdir)
        calls = {name: signature(f) for name, f in known.items()}
        calls[attention_mechanism.__name__] = f"import {attention_mechanism.__name__} as am"
        for section in list(self.document.findall(nodes.section)):
            name = section["ids"][0]
            if name in calls:
                docstring = inspect.getdoc(known.get(name, attention_mechanism))
                others = [other for other in known if "_" in other and other != name]  # softmax is in formulas, too
                said = blocks(docstring, others, entries)
                section.insert(1, code_block(calls[name], "python", "signature"))
                section += nodes.container("", *said, classes=["docstring", "language-en"])


def setup(app):
    app.add_transform(Docstrings)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
