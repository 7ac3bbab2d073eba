"""The filter of system calls."""

import functools
import re
from pathlib import Path

import pytest

from attention_grading import sandbox


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_the_filter_decides_as_its_list_says(architecture):
    program = sandbox.seccomp(architecture)
    column = list(sandbox.ARCHITECTURES).index(architecture)
    refused = {numbers[column] for numbers in sandbox.REFUSED.values()}
    decide = functools.partial(decided, program, sandbox.ARCHITECTURES[architecture])
    for number in range(600):
        assert decide(number) == (number not in refused)
        assert not decided(program, 0x40000003, number)  # the 32-bit calls of x86
        assert not decided(program, sandbox.ARCHITECTURES[architecture], number | 0x40000000)
    mmap, fcntl = ({"x86_64": 9, "aarch64": 222}[architecture], {"x86_64": 72, "aarch64": 25}[architecture])
    private, shared, validated, anonymous, top = 2, 1, 3, 0x20, 1 << 32
    for kind in (private, shared, validated, shared + top):
        assert decide(mmap, (0, 4096, 3, kind | anonymous)) == (kind == private)
    for command in range(1100):  # 1024: a lease, 1026: a folder watched, 1031: the size of a pipe
        assert decide(fcntl, (0, command)) == (command not in (1024, 1026, 1031))
    assert decide(fcntl, (1024, 0, 1024))
    assert decide(599, (1, 1024, 3, 1))  # another call with the same arguments
    assert sandbox.seccomp("riscv64") is None


def decided(program, architecture, number, arguments=()):
    """Whether a filter lets a call through: what the kernel does with these five instructions."""
    words = {0: number, 4: architecture}
    words |= {16 + 8 * i: arguments[i] % 2**32 if i < len(arguments) else 0 for i in range(6)}
    steps = [(int.from_bytes(s[:2], "little"), s[2], s[3], int.from_bytes(s[4:], "little")) for s in
             (program[i : i + 8] for i in range(0, len(program), 8))]  # fmt: skip
    at, value = 0, None
    while True:
        code, yes, no, operand = steps[at]
        if code == 0x06:
            return operand == 0x7FFF0000
        if code == 0x20:
            value = words[operand]
        holds = {0x20: False, 0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[code]
        at += 1 + (yes if holds else no)


HEADERS = {"x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "aarch64": "/usr/include/asm-generic/unistd.h"}


@pytest.mark.parametrize("architecture", HEADERS)
def test_the_numbers_are_the_kernels(architecture):
    header = Path(HEADERS[architecture])
    if not header.exists():
        pytest.skip(f"{header} is not installed")
    numbers = dict(re.findall(r"^#define __NR_(\w+)\s+(\d+)", header.read_text(), re.M))
    column = list(sandbox.ARCHITECTURES).index(architecture)
    ours = {name: str(calls[column]) for name, calls in sandbox.REFUSED.items() if calls[column] is not None}
    for new in {"fchmodat2", "setxattrat", "removexattrat", "file_setattr"} - numbers.keys():
        del ours[new]  # of kernels younger than the header
    assert {name: numbers.get(name) for name in ours} == ours
    assert [str(calls[column]) for calls in (sandbox.MMAP, sandbox.FCNTL)] == [
        numbers.get("mmap", "222"), numbers.get("fcntl", "25")  # the second header has them by another name
    ]  # fmt: skip
