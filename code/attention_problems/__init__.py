"""The practice problems that attention_checks knows: for each the right answer in plain loops, the inputs on which a
function is tried, and the mistakes that people make, as functions that make them.

To add a problem, write an entry of its chapters' PROBLEMS; a mistake that is new also needs its words in mistakes.py.
"""

from . import chapters_1_2, chapters_3_4, chapters_5_6
from .mistakes import MISTAKES

__all__ = ["MISTAKES", "PROBLEMS"]

PROBLEMS = chapters_1_2.PROBLEMS | chapters_3_4.PROBLEMS | chapters_5_6.PROBLEMS
