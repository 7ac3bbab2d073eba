"""The practice problems that attention_checks knows: for each the right answer in plain loops, the inputs on which a
function is tried, and the mistakes that people make, as functions that make them.

To add a problem, write an entry of its chapters' PROBLEMS; a mistake that is new also needs its words in mistakes.py.
"""

from . import chapter_9, chapter_10, chapters_1_2, chapters_3_4, chapters_5_6, chapters_7_8
from .mistakes import MISTAKES

__all__ = ["MISTAKES", "PROBLEMS"]

CHAPTERS = (chapters_1_2, chapters_3_4, chapters_5_6, chapters_7_8, chapter_9, chapter_10)
PROBLEMS = {name: problem for chapters in CHAPTERS for name, problem in chapters.PROBLEMS.items()}
