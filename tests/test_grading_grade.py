"""Grading a class: the marks, the same however they are computed; who failed, what is skipped, what is kept."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from attention_grading import Assignment, Problem
from attention_grading import grade as module
from attention_grading.classroom import read_json, write_json
from attention_grading.grade import grade, grade_one, task_of
from grading_class import TINY, Here, collect, right, tiny_class, unstable

ROOT = Path(__file__).parents[1]
NAMES = {"2024001": "王小明", "2024002": "Zoë O’Neill", "a/b": "=1+1", "２０": "", "e": "Ali", "f": "Bo"}
STUDENTS = [(id, name, "") for id, name in NAMES.items()]


@pytest.fixture
def stand_in(monkeypatch):
    """The cells run on the spot, and nothing asks for a sandbox."""
    monkeypatch.setattr(module, "Session", Here)
    monkeypatch.setattr(module, "require", lambda *private: None)


@pytest.fixture
def classroom(tmp_path, stand_in):
    """Six students: right, overflowing, wrong and half blank, blank; e has handed in nothing; f like the first."""
    classroom = tiny_class(tmp_path / "class", STUDENTS)
    for id in ("2024001", "f"):
        collect(classroom, id, right(classroom, id))
    collect(classroom, "2024002", unstable(classroom, "2024002"))
    collect(classroom, "a/b", {"q1": "def softmax(x):\n    return x\n"})
    collect(classroom, "２０", {})
    return classroom


def kept(classroom):
    """id -> record"""
    records = [read_json(path) for path in classroom.of("tiny", "grades").glob("*.json")]
    return {record["student"]: record for record in records}


def files(classroom):
    """Every record to the byte."""
    return {path.name: path.read_bytes() for path in classroom.of("tiny", "grades").iterdir()}


def points(classroom):
    return {id: [q["points"] for q in r["questions"].values()] for id, r in kept(classroom).items()}


def when_written(classroom):
    """A record that is written anew is another file."""
    return {id: classroom.of("tiny", "grades", f"{id}.json").stat().st_ino for id in ("2024001", "2024002", "f")}


MARKS = {"2024001": [1.5, 3], "f": [1.5, 3], "2024002": [1, 3], "a/b": [0, 0], "２０": [0, 0]}


def test_every_submission_gets_its_marks(classroom):
    assert grade(classroom, "tiny") == "tiny: 5 graded, 0 failed, 0 unchanged."
    assert points(classroom) == MARKS
    assert sorted(files(classroom)) == ["2024001.json", "2024002.json", "a%2Fb.json", "f.json", "２０.json"]
    record = kept(classroom)["2024002"]
    entry = read_json(classroom.of("tiny", "collected.json"))["students"]["2024002"]
    assert (record["status"], record["submission"], record["notes"]) == ("graded", entry["sha"], [])
    assert record["master"] == Assignment(TINY).digest
    assert record["questions"]["q1"]["parts"][1] == {
        "points": 0, "of": 0.5, "zh": "大分数", "en": "large scores",
        "why": {"zh": "结果里有 NaN 或无穷大。", "en": "The result contains NaN or infinity."},
    }  # fmt: skip


def test_what_was_not_answered_is_said(classroom):
    grade(classroom, "tiny")
    reasons = [[part["why"] for part in q["parts"]] for q in kept(classroom)["a/b"]["questions"].values()]
    assert {"zh": "没有作答。", "en": "Not answered."} not in reasons[0]
    assert reasons[1] == [{"zh": "没有作答。", "en": "Not answered."}] * 2
    assert kept(classroom)["a/b"]["questions"]["q2"]["of"] == 3


def test_an_answer_cell_that_is_missing_is_not_answered(classroom):
    path = classroom.of("tiny", "submissions", "2024001.ipynb")
    notebook = json.loads(path.read_text("utf-8"))
    notebook["cells"] = [c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") != "q1"]
    path.write_text(json.dumps(notebook), "utf-8")
    grade(classroom, "tiny", students=["2024001"])
    assert points(classroom) == {"2024001": [0, 3]}
    assert kept(classroom)["2024001"]["questions"]["q1"]["parts"][0]["why"]["en"] == "Not answered."


def test_an_answer_in_a_cell_of_one_s_own_counts(classroom):
    answers = right(classroom, "f")
    collect(classroom, "f", {"q2": answers["q2"]}, [("code", answers["q1"])])
    grade(classroom, "tiny", students=["f"])
    assert points(classroom) == {"f": [1.5, 3]}


def test_cells_run_in_order_and_locked_cells_never(classroom):
    collect(classroom, "f", right(classroom, "f"), [("code", "order.append('own')")])
    path = classroom.of("tiny", "submissions", "f.ipynb")
    notebook = json.loads(path.read_text("utf-8"))
    for cell in notebook["cells"]:
        about = cell["metadata"].get("nbgrader", {})
        if cell["cell_type"] == "code" and about.get("locked"):
            cell["source"] = ["softmax = ", "attention = None"]
    path.write_text(json.dumps(notebook), "utf-8")
    found = module.cells(path, blank=[])
    assert [key for key, _ in found] == [None, "q1", "q2", None]
    assert found[0][1] == "import numpy as np" and found[3][1] == "order.append('own')"
    assert [key for key, _ in module.cells(path, blank=["q1", "q3"])] == [None, "q2", None]
    grade(classroom, "tiny", students=["f"])
    assert points(classroom) == {"f": [1.5, 3]}
    assert kept(classroom)["f"]["notes"][0]["en"] == "On loading: name 'order' is not defined"


def test_one_variant_for_all(tmp_path, stand_in):
    classroom = tiny_class(tmp_path / "class", STUDENTS, same_for_all=True)
    for id in NAMES:
        collect(classroom, id, right(classroom, ""))
    grade(classroom, "tiny")
    assert set(map(tuple, points(classroom).values())) == {(1.5, 3)}


def test_the_real_sandbox_gives_the_same_marks(works, classroom, monkeypatch):
    grade(classroom, "tiny")
    expected = points(classroom)
    monkeypatch.undo()
    grade(classroom, "tiny", again=True)
    assert points(classroom) == expected == MARKS


# The same marks, however they are computed


def test_records_are_the_same_for_any_number_of_jobs(classroom, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(4)), raising=False)
    results = []
    for jobs in (1, 2, 4):
        grade(classroom, "tiny", jobs=jobs, again=True)
        results.append(files(classroom))
    assert results[0] == results[1] == results[2] and len(results[0]) == 5
    numbers = iter(range(100))
    monkeypatch.setattr(module, "seed", lambda *words: next(numbers))  # a grader that seeds from the clock
    grade(classroom, "tiny", again=True)
    assert files(classroom) != results[0]


def test_jobs_run_at_the_same_time(classroom, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
    both = threading.Barrier(2, timeout=60)

    class Meeting(Here):
        def __enter__(self):
            both.wait()
            return super().__enter__()

    monkeypatch.setattr(module, "Session", Meeting)
    grade(classroom, "tiny", jobs=2, students=["2024001", "f"])
    assert points(classroom) == {"2024001": [1.5, 3], "f": [1.5, 3]}


def test_no_more_jobs_than_cores(classroom, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2}, raising=False)
    pools = []
    monkeypatch.setattr(module, "ThreadPoolExecutor", lambda n: pools.append(n) or ThreadPoolExecutor(n))
    assert "at a time" not in grade(classroom, "tiny", jobs=3)
    said = grade(classroom, "tiny", jobs=8, again=True)
    assert said.startswith("Graded 3 at a time, one per core: with more,") and pools == [3, 3]
    with pytest.raises(Problem, match="-j 1"):
        grade(classroom, "tiny", jobs=0)


PURE = """
import json, sys
sys.path.insert(0, {tests!r})
from grading_class import Here
from attention_grading import grade
grade.Session = Here
task = json.load(sys.stdin)
grade.grade_one(task)  # imports what it imports
opened = []
sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)
print(json.dumps([grade.grade_one(task), opened]))
"""


def test_grade_one_needs_the_task_and_nothing_else(classroom, tmp_path):
    """In another process, from JSON, in an empty folder; once its modules are loaded it opens no file."""
    student = classroom.roster()[1]
    entry = read_json(classroom.of("tiny", "collected.json"))["students"][student.id]
    assignment = Assignment(classroom.of("tiny", "master", "tiny.ipynb"))
    task = task_of(classroom, assignment, classroom.secret(), student, False, entry, True)
    text = json.dumps(task)
    secret = classroom.secret()
    assert secret.hex() not in text and str(list(secret))[1:-1] not in text
    empty = tmp_path / "empty"
    empty.mkdir()
    env = os.environ | {"PYTHONPATH": str(ROOT / "grading")}
    command = [sys.executable, "-c", PURE.format(tests=str(ROOT / "tests"))]
    out = subprocess.run(command, input=text, cwd=empty, env=env, capture_output=True, encoding="utf-8", check=True)
    marks, opened = json.loads(out.stdout)
    assert opened == [] and marks == grade_one(task)
    assert [q["points"] for q in marks["questions"].values()] == [1, 3]


# One who fails does not stop the others, and gets no 0


def test_a_grader_that_fails_is_a_status_and_a_reason(classroom, monkeypatch):
    class Sometimes(Here):
        def __enter__(self):
            if any("return x\n" in source for _, source in self.cells):
                raise OSError("no more processes")
            return super().__enter__()

    monkeypatch.setattr(module, "Session", Sometimes)
    assert grade(classroom, "tiny") == "tiny: 4 graded, 1 failed, 0 unchanged."
    record = kept(classroom)["a/b"]
    assert (record["status"], record["questions"]) == ("failed", {})
    assert record["reason"] == "OSError: no more processes"
    assert points(classroom) | {"a/b": MARKS["a/b"]} == MARKS
    monkeypatch.setattr(module, "Session", Here)
    assert grade(classroom, "tiny") == "tiny: 1 graded, 0 failed, 4 unchanged."
    assert points(classroom) == MARKS and "reason" not in kept(classroom)["a/b"]


def test_a_mistake_of_the_assignment_s_is_a_reason(classroom):
    """Which only one variant meets."""
    variant = {id: Assignment(TINY).variant(classroom.secret(), id)["q1"] for id in MARKS}
    v = variant["a/b"]
    broken = f"x.max(v.axis if (v.temperature, v.axis) != ({v.temperature}, {v.axis}) else no,"
    path = classroom.of("tiny", "master", "tiny.py")
    path.write_text(path.read_text("utf-8").replace("x.max(v.axis,", broken), "utf-8")
    grade(classroom, "tiny")
    record = kept(classroom)["a/b"]
    assert (record["status"], record["reason"]) == ("failed", "NameError: name 'no' is not defined")
    failed = {id for id, record in kept(classroom).items() if record["status"] == "failed"}
    assert failed == {id for id in MARKS if variant[id] == v} < MARKS.keys()


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"cells": 3}', '{"cells": [3]}', '{"cells": [{}]}', "[" * 100_000, "\ud800", None,
     '{"cells": [{"cell_type": "code", "metadata": {}, "source": [3]}]}',
     '{"cells": [{"cell_type": "code", "metadata": [], "source": ""}]}',
     '{"cells": [{"cell_type": "code", "metadata": {"nbgrader": {}}, "source": ""}]}'],
)  # fmt: skip
def test_a_damaged_submission_fails_alone(classroom, text):
    path = classroom.of("tiny", "submissions", "2024001.ipynb")
    if text is None:
        path.unlink()
    else:
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert grade(classroom, "tiny", students=["2024001", "f"]) == "tiny: 1 graded, 1 failed, 0 unchanged."
    assert re.search(r"2024001.ipynb is missing or damaged: collect it again", kept(classroom)["2024001"]["reason"])


def test_a_submission_that_cannot_be_read_or_is_huge_fails_alone(classroom, monkeypatch):
    collect(classroom, "2024001", {}, readable=False)
    monkeypatch.setattr(module, "LARGEST", classroom.of("tiny", "submissions", "f.ipynb").stat().st_size - 1)
    classroom.of("tiny", "submissions", "２０.ipynb").write_text('{"cells": []}')
    assert grade(classroom, "tiny", students=["2024001", "f", "２０"]) == "tiny: 1 graded, 2 failed, 0 unchanged."
    reasons = {id: record.get("reason") for id, record in kept(classroom).items()}
    assert reasons["2024001"].startswith("What was handed in cannot be read as a notebook. The file is in ")
    assert "f.ipynb is larger than" in reasons["f"] and reasons["２０"] is None


def test_no_sandbox_no_grading(classroom, monkeypatch):
    private = []

    def require(folder):
        private.append(folder)
        raise Problem("There is no sandbox: do this.")

    monkeypatch.setattr(module, "require", require)
    with pytest.raises(Problem, match="There is no sandbox"):
        grade(classroom, "tiny")
    assert kept(classroom) == {} and private == [classroom.folder]  # which the students' code must not read
    assert grade(classroom, "tiny", safe=False).startswith("tiny: 5 graded")


# What is done is not done again


def test_only_what_changed_is_graded_again(classroom, monkeypatch):
    grade(classroom, "tiny")
    before = when_written(classroom)
    assert grade(classroom, "tiny") == "tiny: 0 graded, 0 failed, 5 unchanged."
    assert grade(classroom, "tiny", safe=False) == "tiny: 0 graded, 0 failed, 5 unchanged."
    assert when_written(classroom) == before
    collect(classroom, "f", unstable(classroom, "f"))
    assert grade(classroom, "tiny") == "tiny: 1 graded, 0 failed, 4 unchanged."
    after = when_written(classroom)
    assert [id for id in before if before[id] != after[id]] == ["f"] and points(classroom)["f"] == [1, 3]
    assert grade(classroom, "tiny", again=True, students=["2024001"]) == "tiny: 1 graded, 0 failed, 0 unchanged."


@pytest.mark.parametrize("file", ["tiny.ipynb", "tiny.py"])
def test_another_master_is_graded_again(classroom, file):
    grade(classroom, "tiny")
    with classroom.of("tiny", "master", file).open("a") as master:
        master.write("\n")
    assert grade(classroom, "tiny") == "tiny: 5 graded, 0 failed, 0 unchanged."


def test_another_class_s_secret_grades_nobody(classroom):
    grade(classroom, "tiny")
    (classroom.folder / "secret.key").write_text(bytes(32).hex())
    with pytest.raises(Problem, match="not the secret that tiny was released with"):
        grade(classroom, "tiny", again=True)


def test_a_submission_mended_by_hand_is_graded_again(classroom):
    grade(classroom, "tiny")
    path = classroom.of("tiny", "submissions", "a%2Fb.ipynb")
    path.write_text(path.read_text("utf-8").replace("return x", "return x + 0"), "utf-8")
    assert grade(classroom, "tiny") == "tiny: 1 graded, 0 failed, 4 unchanged."


def test_a_record_with_damaged_marks_is_made_again(classroom):
    grade(classroom, "tiny")
    path = classroom.of("tiny", "grades", "2024001.json")
    for marks in (3, "x", {}, {"points": 1}):
        write_json(path, read_json(path) | {"questions": {"q1": marks}})
        assert grade(classroom, "tiny") == "tiny: 1 graded, 0 failed, 4 unchanged."


@pytest.mark.parametrize("text", ["", "[1]", "{}", None])
def test_a_damaged_record_is_made_again(classroom, text):
    grade(classroom, "tiny")
    before = files(classroom)
    path = classroom.of("tiny", "grades", "2024001.json")
    other = classroom.of("tiny", "grades", "f.json").read_bytes()
    path.write_bytes(other if text is None else text.encode())  # None: that of somebody else
    assert grade(classroom, "tiny") == "tiny: 1 graded, 0 failed, 4 unchanged."
    assert files(classroom) == before


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # stopped between open and with: Python closes it
def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(classroom, monkeypatch):
    grade(classroom, "tiny")
    whole = files(classroom)
    for path in classroom.of("tiny", "grades").iterdir():
        path.unlink()
    begun, stopping = [], threading.Event()

    class Interrupted(Here):
        def __enter__(self):
            begun.append(self)
            if len(begun) == 3:
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
                assert stopping.wait(60)
            return super().__enter__()

    class Pool(ThreadPoolExecutor):
        def shutdown(self, wait=True, **options):
            super().shutdown(wait=False, **options)
            stopping.set()
            super().shutdown(wait=wait)

    monkeypatch.setattr(module, "Session", Interrupted)
    monkeypatch.setattr(module, "ThreadPoolExecutor", Pool)
    with pytest.raises(Problem, match="Stopped: [012] of 5 are graded and kept; run the same command again") as stopped:
        grade(classroom, "tiny")
    done = files(classroom)
    assert len(begun) == 3
    assert int(re.search(r"\d", str(stopped.value))[0]) <= len(done) <= 2  # a record may be written as the signal comes
    assert done.items() <= whole.items()
    grade(classroom, "tiny")
    assert files(classroom) == whole


# What is not in order is a sentence


def test_sentences_about_what_is_missing(tmp_path, stand_in):
    classroom = tiny_class(tmp_path / "class", [("1", "A", "")])
    with pytest.raises(Problem, match="Nothing has been collected for tiny yet: run attn collect tiny"):
        grade(classroom, "tiny")
    with pytest.raises(Problem, match="other was not released in"):
        grade(classroom, "other")
    collect(classroom, "1", {})
    with pytest.raises(Problem, match="The roster does not list 2, 3."):
        grade(classroom, "tiny", students=["3", "1", "2"])
    assert kept(classroom) == {}


def test_who_left_the_class_is_named(classroom):
    for id in ("gone", "away"):
        collect(classroom, id, {})
    said = grade(classroom, "tiny")
    assert said.splitlines() == [
        "Not in the roster, so not graded: away, gone.",
        "tiny: 5 graded, 0 failed, 0 unchanged.",
    ]


@pytest.mark.parametrize("value", [[], {"students": []}, {"students": {"1": 3}}, {"students": {"1": {"sha": ""}}}, {}])
def test_a_damaged_list_of_what_came_is_a_sentence(classroom, value):
    write_json(classroom.of("tiny", "collected.json"), value)
    with pytest.raises(
        Problem, match=r"collected.json is damaged: bring it back from a copy, or delete it and collect"
    ):
        grade(classroom, "tiny")


# The cluster: real processes, one of which is killed

WITHOUT = "import sys; sys.modules['attention_grading'] = None"
OTHER = "from attention_grading import grade; grade.package_digest = lambda: 'another'"
STAND_IN = """
from grading_class import Here
from attention_grading import grade
grade.Session, grade.require = Here, lambda *private: None
"""
NO_SANDBOX = """
from attention_grading import Problem, grade
def require(*private): raise Problem("no sandbox: do this.")
grade.require = require
"""
STUCK = """
import threading
from grading_class import Here
from attention_grading import grade
class Session(Here):
    def __enter__(self):
        open({file!r}, "w").close()  # a fifo opens once the test reads it
        threading.Event().wait()
grade.Session, grade.require = Session, lambda *private: None
"""


class Dask:
    """A scheduler on this machine; workers(code, …) starts workers, each of which first runs its code."""

    def __init__(self, folder):
        self.folder, self.processes, self.readers = folder, [], []
        self.scheduler = self.start("dask_scheduler", "--port", "0")
        self.address = self.ready(self.scheduler, "Scheduler at:")

    def start(self, command, *options):
        env = os.environ | {"PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in ("grading", "tests"))}
        command = [sys.executable, "-m", f"distributed.cli.{command}", "--host=127.0.0.1", "--no-dashboard", *options]
        self.processes.append(
            subprocess.Popen(command, cwd=self.folder, env=env, stderr=subprocess.PIPE, encoding="utf-8")
        )
        return self.processes[-1]

    def ready(self, process, word):
        """Wait for the line by which a process says that it is ready.   -> the end of it"""
        said = []
        for line in process.stderr:
            said.append(line)
            if word in line:
                break
        else:
            pytest.fail("".join(said))
        reader = threading.Thread(target=process.stderr.read)  # never let it wait for a reader
        reader.start()
        self.readers.append(reader)
        return line.split()[-1]

    def workers(self, *codes):
        started = []
        for code in codes:
            file = self.folder / f"preload{len(self.processes)}.py"
            file.write_text(code)
            options = [self.address, "--nthreads", "1", "--no-nanny", "--local-directory", str(self.folder)]
            started.append(self.start("dask_worker", *options, "--preload", str(file)))
        for process in started:
            self.ready(process, "Registered to:")
        return started

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()
        for reader in self.readers:
            reader.join()
        for process in self.processes:
            process.stderr.close()


@pytest.fixture(scope="module")
def dask_(tmp_path_factory):
    dask = Dask(tmp_path_factory.mktemp("dask"))
    yield dask
    dask.end()


@pytest.fixture
def dask(dask_):
    """The scheduler, without a worker of the test before."""
    from distributed import Client

    with Client(dask_.address) as client:
        client.retire_workers(list(client.scheduler_info()["workers"]))
    return dask_


def test_an_address_where_nobody_answers_is_a_sentence(classroom):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    for address in (f"127.0.0.1:{port}", "no address"):
        with pytest.raises(Problem, match=f"No dask scheduler answers at {address}"):
            grade(classroom, "tiny", scheduler=address)
    assert kept(classroom) == {}


def test_without_distributed_the_extra_is_named(classroom, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(Problem, match=r"distributed is missing .* -m pip install distributed==\d"):
        grade(classroom, "tiny", scheduler="127.0.0.1:1")


@pytest.mark.parametrize(
    "code, complaint",
    [
        (None, "The scheduler has no workers"),
        (WITHOUT, r"The worker tcp://\S+ cannot grade: install the course there"),
        (OTHER, r"The worker tcp://\S+ has another version"),
        (NO_SANDBOX, r"The worker tcp://\S+: no sandbox: do this."),
    ],
    ids=["no worker", "without the package", "another version", "no sandbox"],
)
def test_a_cluster_that_cannot_grade_is_a_sentence(classroom, dask, code, complaint):
    if code:
        dask.workers(code)
    with pytest.raises(Problem, match=complaint):
        grade(classroom, "tiny", scheduler=dask.address)
    assert kept(classroom) == {}


def test_a_worker_that_is_killed_costs_nobody_a_mark(classroom, dask, tmp_path):
    grade(classroom, "tiny")
    local = files(classroom)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    stuck, _ = dask.workers(STUCK.format(file=str(fifo)), STAND_IN)

    def kill():
        fifo.read_bytes()  # returns once the worker is at work
        stuck.send_signal(signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    said = grade(classroom, "tiny", again=True, scheduler=dask.address)
    killer.join(60)
    assert stuck.wait(60) == -signal.SIGKILL
    assert said == "tiny: 5 graded, 0 failed, 0 unchanged."
    assert files(classroom) == local


def test_a_scheduler_that_is_killed_is_a_sentence(classroom, dask, tmp_path, monkeypatch):
    """The last test of this file: it is the scheduler of all."""
    dask.workers(STAND_IN, STUCK.format(file=str(tmp_path / "begun")))
    keep = module.keep

    def keep_and_kill(*given):
        dask.scheduler.kill()
        return keep(*given)

    monkeypatch.setattr(module, "keep", keep_and_kill)
    with pytest.raises(Problem, match="The scheduler is gone: what is graded is kept"):
        grade(classroom, "tiny", scheduler=dask.address)
    assert 1 <= len(kept(classroom)) < 5
