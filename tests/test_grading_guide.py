"""The commands of the instructors' page print what the page says that they print."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import nbformat
import pytest

from attention_grading.cli import main, parser

ROOT = Path(__file__).resolve().parents[1]
GUIDE = nbformat.read(ROOT / "book" / "instructors.ipynb", as_version=4)
LEFT_OUT = "…"


def walk():
    """The cells of the first walk, each as its commands and the lines that it shows."""
    for cell in GUIDE.cells:
        if found := re.fullmatch(r"```bash\n(.+?)\n```\n\n```text\n(.+?)\n```", cell.source, re.S):
            yield found[1].splitlines(), found[2].splitlines()


def said(command):
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    words = [word.replace("../course", str(ROOT)) for word in shlex.split(command)]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), contextlib.suppress(SystemExit):
        main(words[1:])
    out.seek(0)
    return out.read()


def fill_in(sheet):
    """5 points in each row, as the page proposes."""
    sheet.write_text(re.sub(r",,(\d+),", r",5,\1,", sheet.read_text("utf-8")), "utf-8")


def test_the_first_walk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = list(walk())
    assert len(cells) == 7
    for commands, shown in cells:
        printed = ""
        for command in commands:
            if command.startswith("cd "):
                monkeypatch.chdir(command[3:])
            elif command.startswith("attn "):
                if "--import" in command:
                    fill_in(Path(shlex.split(command)[-1]))
                printed += said(command)
        for line in shown:
            assert line == LEFT_OUT or line.removesuffix(LEFT_OUT) in printed, f"{commands}\n{line}\n\n{printed}"


@pytest.mark.parametrize("commands", [c.source for c in GUIDE.cells if c.source.startswith("```bash")])
def test_every_command_of_the_page_is_understood(commands):
    for line in re.findall(r"(?m)^attn (.+)$", commands):
        parser().parse_args(shlex.split(line))
