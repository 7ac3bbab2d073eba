"""The command line: what people type, and what it says."""

import pytest

from attention_grading.cli import main
from attention_grading.release import release
from grading_class import TINY, make_class


@pytest.fixture
def course(tmp_path):
    course = make_class(tmp_path / "一 class", "student_id,name\ns1,张三\n")
    release(course, TINY)
    return course


def test_a_name_as_the_shell_completes_it(course, capsys):
    for name in ("tiny", "tiny/"):
        main(["status", name, "--class", str(course.folder)])
        assert "missing               1" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["", "/", ".", "..", "../一 class/tiny"])
def test_a_path_is_no_name(course, capsys, name):
    with pytest.raises(SystemExit):
        main(["status", name, "--class", str(course.folder)])
    assert "name the assignment" in capsys.readouterr().err


def test_two_who_change_a_class_at_once(course, capsys):
    """Of two who import marks at the same time, one's would be lost."""
    words = ["collect", "tiny", str(course.of("tiny", "students")), "--class", str(course.folder)]
    with course.alone(), pytest.raises(SystemExit, match="Another attn is changing"):
        main(words)
    main(words)
    assert "1 of 1 students have handed in" in capsys.readouterr().out
