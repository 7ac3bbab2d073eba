"""The instructor's side of the course: release, collect, grade, mark, feedback, export, status.

Each step is a command (`attn grade …`) and a function of the same name; an assignment is described with Question,
Part, Mistake and Written.
"""

from attention_grading.assignment import Assignment, Mistake, Part, Question, Written
from attention_grading.classroom import Classroom, Problem

__all__ = ["Assignment", "Classroom", "Mistake", "Part", "Problem", "Question", "Written"]
