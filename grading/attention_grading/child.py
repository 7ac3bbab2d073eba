"""Runs the student's code in a process of its own.  Nothing in here is secret, and nothing that it says is believed.

Arguments: the descriptor to talk over, the folder with NumPy, the seconds of processor time.  Each message is a line of
JSON; after the line that announces an answer come its numbers, as they lie in memory.
"""

import sys

LARGEST = 2**18  # numbers in one answer
MOST = 64  # arrays in one answer
MEMORY = 2 << 30
TEXT = 200  # letters of an error's own message


def main(descriptor, packages, seconds):
    limit(seconds)
    sys.path.append(packages)
    channel = Channel(descriptor)
    student = Student()
    channel.say({"ready": True})
    for index, source in channel.hear()["cells"]:
        channel.say({"begin": index})
        for note in student.run(index, source):
            channel.say(note)
    channel.say({"loaded": True})
    while request := channel.hear():
        channel.say(*student.answer(request["function"], request["arguments"], request["token"]))


def limit(seconds):
    """What is too much is refused by the system, also where there is no sandbox."""
    import contextlib
    import resource

    for name, most in {
        "RLIMIT_AS": MEMORY,
        "RLIMIT_CPU": seconds,
        "RLIMIT_FSIZE": 8 << 20,
        "RLIMIT_NOFILE": 64,
        "RLIMIT_NPROC": 1,
        "RLIMIT_CORE": 0,
    }.items():
        with contextlib.suppress(AttributeError, ValueError, OSError):  # macOS does not know them all
            resource.setrlimit(getattr(resource, name), (most, most))


class Channel:
    def __init__(self, descriptor):
        import json

        self.dumps, self.loads = json.dumps, json.loads
        self.incoming = open(descriptor, "rb", closefd=False)  # noqa: SIM115
        self.outgoing = open(descriptor, "wb", closefd=False)  # noqa: SIM115

    def hear(self):
        line = self.incoming.readline()
        return self.loads(line) if line else None

    def say(self, message, numbers=b""):
        self.outgoing.write(self.dumps(message).encode() + b"\n" + numbers)
        self.outgoing.flush()


class Wrong(Exception):
    """An answer that is no array of numbers; the text is a word that the grader knows."""


class Student:
    """The student's notebook: its names, and what they answer."""

    def __init__(self):
        import builtins
        import types

        import numpy

        self.np = numpy
        notebook = sys.modules["__main__"] = types.ModuleType("__main__")
        self.names = notebook.__dict__
        builtins.get_ipython = Nothing()
        builtins.display = Nothing()

    def run(self, index, source):
        """Run a cell.   -> what went wrong, notes for the grader"""
        import ast

        notes, name = [], f"<cell {index}>"
        try:
            tree = ast.parse(python(source))
            notes += [{"cell": index, "line": line, "missing": module} for line, module in without_missing(tree)]
            code = compile(tree, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
            result = eval(code, self.names)
            if result is not None:  # a cell with `await` in it
                import asyncio

                asyncio.run(result)
        except BaseException as error:
            notes.append({"cell": index, "message": message(error), **where(error, index)})
        return notes

    def answer(self, function, arguments, token):
        """Call a function.   -> the message, the numbers"""
        arrays, about = [], {}
        try:
            call = self.names.get(function)
            if not callable(call):
                raise Wrong("missing")
            result = call(*[self.value(argument) for argument in arguments])
            results = result if isinstance(result, tuple) else (result,)
            if len(results) > MOST:
                raise Wrong("large")
            arrays = [self.numbers(value) for value in results]
            if sum(a.size for a in arrays) > LARGEST:
                raise Wrong("large")
            numbers = b"".join(a.tobytes() for a in arrays)
            return {"token": token, "shapes": [a.shape for a in arrays]}, numbers
        except Wrong as wrong:
            about = {"wrong": str(wrong)}
        except NotImplementedError:
            about = {"wrong": "unanswered"}
        except BaseException as error:
            about = where(error)
        return {"token": token, **about}, b""

    def value(self, argument):
        """An argument, from how the grader writes it."""
        if not isinstance(argument, dict):
            return argument
        if "tuple" in argument:
            return tuple(self.value(item) for item in argument["tuple"])
        if "list" in argument:
            return [self.value(item) for item in argument["list"]]
        import base64

        data = bytearray(base64.b64decode(argument["data"]))
        return self.np.ndarray(argument["shape"], argument["dtype"], data)

    def numbers(self, value):
        """One result as an array of floats."""
        if value is None:
            raise Wrong("none")
        if isinstance(value, str | bytes):
            raise Wrong("text")
        try:
            array = self.np.asarray(value)
        except ValueError:
            raise Wrong("ragged") from None
        if array.size > LARGEST:
            raise Wrong("large")
        if array.dtype.kind == "c":
            raise Wrong("complex")
        if array.dtype.kind not in "biufO":
            raise Wrong("text" if array.dtype.kind in "US" else "other")
        try:
            return array.astype("<f8")
        except (TypeError, ValueError, OverflowError):
            raise Wrong("other") from None


class Nothing:
    """Stands for what only a notebook has, such as get_ipython(): takes everything, does nothing."""

    def __getattr__(self, name):
        return self

    def __call__(self, *arguments, **options):
        return self


def python(source):
    """A cell without what only a notebook understands: magics, shell commands, questions for help."""
    import ast
    import re

    try:
        ast.parse(source)
        return source
    except SyntaxError:
        pass
    cell = re.match(r"\s*%%(\w*).*", source)
    if cell and cell[1] not in ("time", "timeit", "capture", "prun"):
        return ""  # another language
    source = re.sub(r"\A(\s*)%%.*", r"\1", source)
    return re.sub(r"(?m)^([ \t]*)(?:(?:[\w, ]+=[ ]*)?[%!?].*|[%]?[\w.]+\?\??[ \t]*)$", r"\1pass", source)


def without_missing(tree):
    """Take the imports of what is not here out of a cell, whose rest may do without.   -> [(line, module), …]"""
    import ast

    missing = []
    for node in list(tree.body):
        if isinstance(node, ast.Import):
            gone = [alias for alias in node.names if not there(alias.name)]
            node.names = [alias for alias in node.names if alias not in gone]
            missing += [(node.lineno, alias.name) for alias in gone]
            if not node.names:
                tree.body.remove(node)
        elif isinstance(node, ast.ImportFrom) and not node.level and not there(node.module):
            missing.append((node.lineno, node.module))
            tree.body.remove(node)
    return missing


def there(module):
    from importlib.util import find_spec

    try:
        return find_spec(module.partition(".")[0]) is not None
    except (ImportError, ValueError):
        return True  # in doubt, let the import itself say what is wrong


def message(error):
    try:
        text = str(error.msg if isinstance(error, SyntaxError) else error)
        return text[:TEXT]
    except BaseException:
        return ""


def where(error, cell=None):
    """An error's kind and the student's line that it comes from."""
    try:
        about = {"type": type(error).__name__[:TEXT], "name": str(getattr(error, "name", ""))[:TEXT]}
        if cell is not None and isinstance(error, SyntaxError) and error.filename in ("<unknown>", f"<cell {cell}>"):
            return {**about, "cell": cell, "line": error.lineno}
        trace = error.__traceback__
        while trace:
            name = trace.tb_frame.f_code.co_filename
            if name.startswith("<cell "):
                about.update(cell=int(name[6:-1]), line=trace.tb_lineno)
            trace = trace.tb_next
        return about
    except BaseException:
        return {"type": "Exception"}


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
