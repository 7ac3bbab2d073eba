"""The instructor's side of the course: release, collect, grade, mark, feedback, export, status.

Each step is a command (`attn grade …`) and a function of the same name; an assignment is described with Question,
Part, Mistake and Written.
"""

import sys

IRI = (
    "rfc3987_syntax"  # where it is installed, jsonschema (for nbformat) makes its parser, which takes 2 s, for nothing
)
sys.modules.setdefault(IRI, None)

from attention_grading.assignment import Assignment, Mistake, Part, Question, Written  # noqa: E402
from attention_grading.classroom import Classroom, Problem  # noqa: E402

if sys.modules[IRI] is None:
    del sys.modules[IRI]

__all__ = ["Assignment", "Classroom", "Mistake", "Part", "Problem", "Question", "Written"]
