"""A class with the tiny assignment, for the tests of grading."""

from pathlib import Path

from attention_grading import Classroom

TINY = Path(__file__).parent / "tiny_assignment" / "tiny"


def make_class(folder, roster):
    """A class folder with a roster: its text, with the line of the columns."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "roster.csv").write_text(roster, "utf-8")
    return Classroom(folder)
