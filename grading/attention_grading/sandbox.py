"""The command that runs a program which sees Python, NumPy and itself, and nothing else.

On Linux bubblewrap keeps it from files, network, other processes and more than its share of memory.
"""

import functools
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

from attention_grading import child
from attention_grading.classroom import Problem
from attention_grading.machine import machine, remedy

ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "LC_ALL": "C.UTF-8", "HOME": "/tmp", "PATH": "/usr/bin"}  # nothing of ours
INSIDE = "/child.py"


def python(descriptor, seconds, folder, program):
    """Python without site-packages, without our environment, and without bytecode to write."""
    return [executable(), "-I", "-S", "-B", "-X", "utf8", program, str(descriptor), str(folder), str(seconds)]


def executable():
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def child_file():
    return os.path.realpath(child.__file__)


def packages():
    """The folder that NumPy lies in."""
    return Path(np.__file__).resolve().parent.parent


def numpy_parts():
    return [path for path in (packages() / "numpy", packages() / "numpy.libs") if path.is_dir()]


def numpy_alone(folder):
    """Let a folder hold NumPy and no other package."""
    for path in numpy_parts():
        (Path(folder) / path.name).symlink_to(path)
    return folder


@functools.cache
def readable():
    """What the student's code can read, besides child.py.   -> the system's libraries and Python, NumPy"""
    roots = [Path(root) / name for root in ("/", "/usr", sys.base_prefix) for name in ("lib", "lib32", "lib64")]
    libraries = [path for path in roots if path.is_dir() and not path.is_symlink()]
    more = [path for path in map(Path, (executable(), "/etc/ld.so.cache", "/etc/alternatives")) if path.exists()]
    return list(dict.fromkeys(libraries + more)), numpy_parts()


@functools.cache
def covered():
    """The folders of packages in there, which are made to look empty: they may hold this package, or anybody's."""
    kinds = ("site-packages", "dist-packages")
    return [found for path in readable()[0] for kind in kinds for found in sorted(path.glob(f"python*/{kind}"))]


@functools.cache
def no_user_namespaces():
    """bubblewrap's own way to switch off more user namespaces, where it works; the filter refuses them everywhere."""
    option = ["--unshare-user", "--disable-userns"]
    command = [bubblewrap(), *option, "--ro-bind", "/", "/", executable(), "-I", "-S", "-c", ""]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    return option if done.returncode == 0 else option[:1]


def bubblewrap():
    path = shutil.which("bwrap")
    if not path:
        raise Problem("There is no sandbox here. " + remedy(machine(), ""))
    return path


def sandboxed(command, tell=None, rules=None):
    """A command in the sandbox.  tell, rules: descriptors for the number of the process inside, and of the filter."""
    first, last = readable()
    shut = ["--unshare-all", *no_user_namespaces(), "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    mounts = ["--dir", "/tmp"]  # there, but as little to be written as the rest: files are memory that no limit counts
    mounts += [word for path in first for word in ("--ro-bind", path, path)]
    mounts += [word for path in covered() for word in ("--tmpfs", path)]
    mounts += [word for path in last for word in ("--ro-bind", path, path)]
    mounts += [word for path in covered() for word in ("--remount-ro", path)]
    mounts += ["--ro-bind", child_file(), INSIDE]
    for path in map(Path, ("/lib", "/lib32", "/lib64")):
        mounts += ["--symlink", os.readlink(path), path] if path.is_symlink() else []
    for name in ("null", "zero", "random", "urandom"):
        mounts += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    mounts += ["--remount-ro", "/", "--chdir", "/tmp"]
    given = [word for pair in (("--info-fd", tell), ("--seccomp", rules)) if pair[1] is not None for word in pair]
    shut += ["--hostname", "sandbox"]  # and not the machine's
    words = [bubblewrap(), *shut, "--uid", 65534, "--gid", 65534, *mounts, *given, "--", *command]
    return [str(word) for word in words]


# What the system refuses to the student's code: new processes and threads, so that the bound on memory bounds all of
# it; memory that this bound does not count; sockets; doors into the kernel that have been broken; the modes and times
# of files, which the owner of a device may change even here, and the owner is root where root grades; watching others.
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # as the kernel's audit names them
REFUSED = {  # the number of each call on these two
    "clone": (56, 220), "clone3": (435, 435), "fork": (57, None), "vfork": (58, None),
    "unshare": (272, 97), "setns": (308, 268),
    "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    "socket": (41, 198), "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "userfaultfd": (323, 282), "bpf": (321, 280), "perf_event_open": (298, 241),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "vmsplice": (278, 75), "io_setup": (206, 0), "syslog": (103, 116), "pidfd_getfd": (438, 438),
    "inotify_init": (253, None), "inotify_init1": (294, 26), "fanotify_init": (300, 262),
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "lchown": (94, None), "fchown": (93, 55), "fchownat": (260, 54),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16), "removexattrat": (466, 466),
    "file_setattr": (469, 469),
}  # fmt: skip
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # instructions of the kernel's filter machine
MMAP, FCNTL = (9, 222), (72, 25)
REFUSED_WITH = (  # a call's numbers; which of its arguments, what holds of it
    (MMAP, 3, ANY_BIT, 1),  # MAP_SHARED: it stays in memory when all of it but a page is unmapped and counts no more
    (FCNTL, 1, EQUAL, 1024),  # F_SETLEASE: who opens the file, such as a module of Python's, would have to wait
    (FCNTL, 1, EQUAL, 1026),  # F_NOTIFY: what happens in a folder
    (FCNTL, 1, EQUAL, 1031),  # F_SETPIPE_SZ: more memory in the kernel
)
ALLOW, REFUSE = 0x7FFF0000, 0x00050001  # the latter gives EPERM
X32 = 0x40000000  # with this bit the numbers of x86_64 are those of x32: the same calls by another name


def seccomp(architecture):
    """The filter as the kernel reads it, or None for an architecture whose numbers are not listed.

    A step is (instruction, operand, how many steps to jump over if it holds, if it does not); the last one refuses.
    """
    if architecture not in ARCHITECTURES:
        return None
    column = list(ARCHITECTURES).index(architecture)
    last = -1
    steps = [(LOAD, 4, 0, 0), (EQUAL, ARCHITECTURES[architecture], 0, last)]
    steps += [(LOAD, 0, 0, 0), (AT_LEAST, X32, last, 0)]
    steps += [(EQUAL, calls[column], last, 0) for calls in REFUSED.values() if calls[column] is not None]
    for calls, argument, test, operand in REFUSED_WITH:
        steps += [(LOAD, 0, 0, 0), (EQUAL, calls[column], 0, 2)]
        steps += [(LOAD, 16 + 8 * argument, 0, 0), (test, operand, last, 0)]  # its lower half, which is all that counts
    steps += [(RETURN, ALLOW, 0, 0), (RETURN, REFUSE, 0, 0)]
    return b"".join(
        struct.pack("<HBBI", code, *(len(steps) - 2 - i if jump == last else jump for jump in jumps), operand)
        for i, (code, operand, *jumps) in enumerate(steps)
    )
