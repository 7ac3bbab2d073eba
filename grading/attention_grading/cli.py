"""The command attn: it reads the command line, calls the step, and says what happened."""

import argparse
import os
import sys
from importlib.metadata import version

from attention_grading.classroom import LANGUAGES, Classroom, Problem, lacking

UNPROTECTED = "--without-sandbox-my-machine-is-unprotected"
ABOUT = """\
Assign the exercises of the attention course: hand them out, collect, grade, mark by hand, give feedback, export.

In the class folder, where roster.csv is:

  attn release ../course/exercises/a2_scaled_attention.ipynb
  attn collect a2_scaled_attention download.zip
  attn grade a2_scaled_attention -j 2
  attn mark a2_scaled_attention
  attn feedback a2_scaled_attention
  attn export a2_scaled_attention --lms canvas

“attn demo myclass” makes a class to practise on; “attn STEP --help” says more about a step.
"""


def main(words=None):
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # names in any script, whatever the terminal's locale
    options = parser().parse_args(words)
    try:
        options.step(options)
        sys.stdout.flush()
    except Problem as problem:
        sys.exit(f"✗ {problem}")
    except KeyboardInterrupt:
        sys.exit("\nStopped. What was finished is kept; run the same command again to go on.")
    except ModuleNotFoundError as error:
        sys.exit(f"✗ {lacking(error.name, 'grading')}")
    except BrokenPipeError:  # who reads along has read enough: attn status | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        sys.exit(f"✗ {error.strerror or error}: {error.filename or ''}")


def parser():
    top = argparse.ArgumentParser(
        "attn", description=ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    top.add_argument("--version", action="version", version=version("attention-course"))
    steps = top.add_subparsers(title="steps", metavar="STEP", required=True)

    def step(name, run, help, assignment=True):
        one = steps.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.", allow_abbrev=False)
        one.set_defaults(step=run)
        one.add_argument("--class", dest="folder", default=".", metavar="FOLDER", help="the class (default: here)")
        if assignment:
            one.add_argument("name", type=folder, metavar="NAME", help="the assignment, as in NAME.ipynb")
        return one

    one = step("demo", demo, "make a class of invented students, and play them", assignment=False)
    one.add_argument("new", nargs="?", metavar="FOLDER", help="the class folder to make; it must not exist yet")
    one.add_argument("--students", type=int, default=30, metavar="N", help="how many students (default: 30)")
    one.add_argument("--play", metavar="NAME", help="play the students: write download.zip, what they hand in")

    one = step("release", release, "check the master and write the students' notebooks", assignment=False)
    one.add_argument("master", metavar="MASTER", help="the master notebook, with its .py file beside it")
    one.add_argument(
        "--lang", choices=LANGUAGES, default="both", help="where the roster has no language (default: both)"
    )
    one.add_argument("--same-for-all", action="store_true", help="give everybody the same variant")
    one.add_argument("--replace", action="store_true", help="write over notebooks that were released before")
    one.add_argument("--page", metavar="FILE", help="write only the public page, to this file; needs no class")

    one = step("collect", collect, "take in what students handed in, from the download of an LMS")
    one.add_argument("download", metavar="DOWNLOAD", help="the zip file or folder that the LMS gives")
    one.add_argument("--deadline", metavar="TIME", help="for example 2026-12-01T23:59 or 2026-12-01T23:59+08:00")
    one.add_argument("--matches", metavar="FILE", help="a CSV file that says whose file is whose: file,student_id")
    one.add_argument("--replace", action="store_true", help="take these files even where newer ones were collected")

    one = step("grade", grade, "run the students' code in a sandbox and give points", assignment=False)
    one.add_argument("name", nargs="?", type=folder, metavar="NAME", help="the assignment")
    one.add_argument("--check", action="store_true", help="only say which protections work on this machine")
    one.add_argument("-j", dest="jobs", type=int, default=1, metavar="N", help="how many at a time (default: 1)")
    one.add_argument("--student", action="append", metavar="ID", help="grade only this student; may be repeated")
    one.add_argument("--again", action="store_true", help="grade again what is already graded")
    one.add_argument("--scheduler", metavar="ADDRESS", help="a dask scheduler, for example tcp://10.0.0.1:8786")
    one.add_argument(
        UNPROTECTED, dest="unsafe", action="store_true",
        help="grade without a sandbox: a student's code can then do whatever you can do here, to files and marks too",
    )  # fmt: skip

    one = step("mark", mark, "write a sheet of the answers to mark by hand, or read the marks from it")
    one.add_argument("--import", dest="sheet", metavar="FILE", help="read the points and comments of this sheet")
    one.add_argument("--anonymous", action="store_true", help="leave out the names, for blind marking")
    one.add_argument("--gradebook", metavar="FILE", help="write all marks into an nbgrader gradebook")

    one = step("feedback", feedback, "write a feedback page for each student")
    one.add_argument(
        "--lang", choices=LANGUAGES, default="both", help="where the roster has no language (default: both)"
    )

    one = step("export", export, "write the marks as a CSV file for an LMS")
    one.add_argument("--lms", choices=("canvas", "moodle", "generic"), required=True, help="which LMS the file is for")
    one.add_argument("--to", metavar="FILE", help="the file to write (default: in the assignment's folder)")

    one = step("status", status, "show where the class stands", assignment=False)
    one.add_argument("name", nargs="?", type=folder, metavar="NAME", help="the assignment (default: all)")
    return top


def folder(name):
    """The name of an assignment, to which a shell that completes it adds a stroke."""
    name = name.rstrip("/\\")
    if not name or "/" in name or "\\" in name or name in (".", ".."):
        raise argparse.ArgumentTypeError("name the assignment, as in NAME.ipynb, and the class with --class")
    return name


# --------------------------------------------------------------------------- the steps; each imports what it needs


def demo(options):
    from attention_grading import demo as step

    if options.play:
        path = step.submissions(Classroom(options.folder), options.play)
        print(f"▸ {path} is what the students hand in. Next: attn collect {options.play} {path}")
    elif options.new:
        step.demo(options.new, options.students)
        print(f"▸ {options.new} is a class of {options.students} invented students. Next: cd {options.new}")
    else:
        raise Problem("Name the folder to make (attn demo myclass) or the assignment to play (attn demo --play NAME).")


def release(options):
    from attention_grading import release as step

    if options.page:
        step.write_page(options.master, options.page)
        return print(f"▸ the public page is in {options.page}")
    classroom = Classroom(options.folder)
    how = options.lang, options.same_for_all, options.replace
    with classroom.alone():
        count, folder = step.release(classroom, options.master, *how, progress=watched())
    print(f"▸ {count} notebooks are in {folder / 'students'}, the public page in {folder / 'page'}")


def collect(options):
    from attention_grading.collect import collect as step

    classroom = Classroom(options.folder)
    how = options.download, options.deadline, options.matches, options.replace
    with classroom.alone():
        print(step(classroom, options.name, *how, progress=watched()))


def grade(options):
    from attention_grading import grade as step
    from attention_grading.protections import protections

    if options.check:
        found = protections()
        for protection in found:
            print(f"{'✓' if protection.works else '✗'} {protection.name}")
        for remedy in dict.fromkeys(protection.remedy for protection in found if not protection.works):
            print(f"  {remedy}")
        sys.exit(0 if all(protection.works for protection in found) else 1)
    if not options.name:
        raise Problem("Name the assignment to grade: attn grade NAME. (attn grade --check tries the sandbox.)")
    print(
        step.grade(
            Classroom(options.folder), options.name, options.jobs, not options.unsafe, options.again, options.student,
            options.scheduler, progress=watched(),
        )
    )  # fmt: skip


def mark(options):
    from attention_grading import gradebook
    from attention_grading import mark as step

    classroom, name = Classroom(options.folder), options.name
    if options.sheet:
        with classroom.alone():
            done = step.import_marks(classroom, name, options.sheet)
        print(f"▸ marked: {done.marked}, still open: {done.open}")
    if options.gradebook:
        entered = gradebook.to_gradebook(classroom, name, options.gradebook)
        print(f"▸ {options.gradebook} holds the marks of {entered.written} students")
        print_those("nothing for:", entered.without)
    if not options.sheet and not options.gradebook:
        found = step.export_answers(classroom, name, options.anonymous, progress=watched())
        print(f"▸ to mark: {found.open}, marked already: {found.marked}")
        print(f"  read {classroom.of(name, 'marking.html')}, fill in {classroom.of(name, 'marking.csv')}, then:")
        print(f"  attn mark {name} --import {classroom.of(name, 'marking.csv')}")


def feedback(options):
    from attention_grading.feedback import feedback as step

    classroom = Classroom(options.folder)
    pages = step(classroom, options.name, options.lang, progress=watched())
    print(f"▸ {pages.written} pages are in {classroom.of(options.name, 'feedback')}")
    print_those("an answer is still to be marked:", [(student, "") for student in pages.open])
    print_those("no page for:", pages.without)


def export(options):
    from attention_grading.export import export as step

    path, remarks = step(Classroom(options.folder), options.name, options.lms, options.to)
    print("\n  ".join([f"▸ the marks are in {path}", *remarks]))


def status(options):
    from attention_grading.standing import status as step

    print(step(Classroom(options.folder), options.name))


def print_those(title, those, most=5):
    """The students of a list, each with a reason; of many, how many more."""
    if those:
        print(f"  {title}")
    for student, why in those[:most]:
        print(f"    {student.id} {student.name}" + (f": {why}" if why else ""))
    if len(those) > most:
        print(f"    and {len(those) - most} more")


def watched():
    """Whether somebody looks on, to whom progress may be shown."""
    return sys.stderr.isatty()
