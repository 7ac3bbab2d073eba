"""What an assignment is: a master notebook, NAME.ipynb, and beside it NAME.py, whose QUESTIONS say what is asked.

Every student gets a variant: of each thing that a question lets vary one value is drawn, from the secret of the course,
the student, the assignment and the question.  Whoever does not know the secret can tell nobody's variant.
"""

import functools
import hashlib
import hmac
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from attention_grading.classroom import Problem


@dataclass(frozen=True)
class Part:
    """One thing that is tried, and its points.  draw(rng, v) -> the arguments; zh and en say what is tried."""

    points: float
    zh: str
    en: str
    draw: Callable


@dataclass(frozen=True)
class Mistake:
    """A known mistake.  gives(v, *arguments) -> what comes out of it; zh and en say so, as a whole sentence."""

    zh: str
    en: str
    gives: Callable


@dataclass(frozen=True)
class Question:
    """A function that the student writes and the grader calls.

    choices: name -> the values of which one is drawn.  reference(v, *arguments) -> the right result, an array or a
    tuple of arrays, where v.name is the value drawn.  example(rng, v) -> the arguments of the example in the notebook.
    """

    function: str
    choices: dict
    reference: Callable
    parts: tuple
    example: Callable
    mistakes: tuple = ()
    rtol: float = 1e-6
    atol: float = 1e-8

    @property
    def points(self):
        return sum(part.points for part in self.parts)


@dataclass(frozen=True)
class Written:
    """A question that a person marks."""

    points: float
    choices: dict


class Assignment:
    """The master of an assignment, read from its two files."""

    def __init__(self, path):
        self.notebook = Path(path).with_suffix(".ipynb")
        self.module = self.notebook.with_suffix(".py")
        for file in (self.notebook, self.module):
            if not file.is_file():
                raise Problem(f"{file} is missing: an assignment is two files, NAME.ipynb and NAME.py, side by side.")
        self.name = self.notebook.stem
        try:
            self.source = self.module.read_text("utf-8")
        except UnicodeDecodeError:
            raise Problem(f"{self.module} is no text in UTF-8: bring it back from a copy.") from None
        self.questions = questions(self.source, str(self.module))

    @property
    def automatic(self):
        return {key: question for key, question in self.questions.items() if isinstance(question, Question)}

    @property
    def written(self):
        return {key: question for key, question in self.questions.items() if isinstance(question, Written)}

    @functools.cached_property
    def cells(self):
        """The notebook's cells; nobody may change them."""
        import nbformat  # here, so that the command can say that it is missing

        try:
            cells = nbformat.read(self.notebook, as_version=4).cells
        except Exception as error:  # nbformat raises what it likes
            raise Problem(f"{self.notebook} is not a notebook: {error}") from None
        if not all("id" in cell for cell in cells):
            raise Problem(f"{self.notebook} has cells without ids: open it in JupyterLab, change it and save it.")
        return cells

    @property
    def digest(self):
        """What this master is known by: other files, another digest."""
        return hashlib.sha256(self.notebook.read_bytes() + b"\0" + self.module.read_bytes()).hexdigest()[:16]

    def variant(self, secret, student):
        """What was drawn for a student.   -> {question: SimpleNamespace}"""
        return {
            key: drawn(question.choices, seed(secret, student, self.name, key, "variant"))
            for key, question in self.questions.items()
        }


def questions(source, where):
    """The QUESTIONS of a module, from its source: a worker on another machine has no file."""
    names = {"__name__": "attention_assignment", "__file__": where}
    try:
        exec(compile(source, where, "exec"), names)
    except Exception as error:
        raise Problem(f"{where} does not run: {type(error).__name__}: {error}.") from error
    if not isinstance(names.get("QUESTIONS"), dict):
        raise Problem(
            f"{where} has no QUESTIONS: it is a dict from a question's name, as in the notebook, to a Question."
        )
    for key, question in names["QUESTIONS"].items():
        for name, values in question.choices.items():
            if not values or not is_json(values):
                raise Problem(
                    f"{where}, {key}: {name} needs one or more plain numbers, texts, True or False to draw from."
                )
    return names["QUESTIONS"]


def is_json(value):
    """Whether a worker on another machine can be told it."""
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


def seed(secret, *words):
    """A whole number below 2**64 that only the secret's owner can compute."""
    message = "\0".join(words).encode()
    return int.from_bytes(hmac.new(secret, message, hashlib.sha256).digest()[:8], "big")


def drawn(choices, number):
    """One value of each, by arithmetic alone: no other version of a library may draw another variant."""
    values = {}
    for name, among in choices.items():
        number, index = divmod(number, len(among))
        values[name] = among[index]
    return SimpleNamespace(**values)


def variants(choices):
    """How many variants there are."""
    return math.prod(len(values) for values in choices.values())
