"""The filter of system calls."""

import re
from pathlib import Path

import pytest

from attention_grading import sandbox


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_the_filter_decides_as_its_list_says(architecture):
    program = sandbox.seccomp(architecture)
    column = list(sandbox.ARCHITECTURES).index(architecture)
    refused = {numbers[column] for numbers in sandbox.REFUSED.values()}
    for number in range(600):
        assert decided(program, sandbox.ARCHITECTURES[architecture], number) == (number not in refused)
        assert not decided(program, 0x40000003, number)  # the 32-bit calls of x86
        assert not decided(program, sandbox.ARCHITECTURES[architecture], number | 0x40000000)
    assert sandbox.seccomp("riscv64") is None


def decided(program, architecture, number):
    """Whether a filter lets a call through: what the kernel does with these four instructions."""
    steps = [(int.from_bytes(s[:2], "little"), s[2], s[3], int.from_bytes(s[4:], "little")) for s in
             (program[i : i + 8] for i in range(0, len(program), 8))]  # fmt: skip
    at, value = 0, None
    while True:
        code, yes, no, operand = steps[at]
        if code == 0x06:
            return operand == 0x7FFF0000
        if code == 0x20:
            value = {0: number, 4: architecture}[operand]
        at += 1 + {0x20: 0, 0x15: yes if value == operand else no, 0x35: yes if (value or 0) >= operand else no}[code]


HEADERS = {"x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "aarch64": "/usr/include/asm-generic/unistd.h"}


@pytest.mark.parametrize("architecture", HEADERS)
def test_the_numbers_are_the_kernels(architecture):
    header = Path(HEADERS[architecture])
    if not header.exists():
        pytest.skip(f"{header} is not installed")
    numbers = dict(re.findall(r"^#define __NR_(\w+)\s+(\d+)", header.read_text(), re.M))
    column = list(sandbox.ARCHITECTURES).index(architecture)
    ours = {name: str(calls[column]) for name, calls in sandbox.REFUSED.items() if calls[column] is not None}
    assert {name: numbers.get(name) for name in ours} == ours
