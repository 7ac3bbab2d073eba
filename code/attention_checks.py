"""check(fn): does a practice function do what its problem asks?  If not, it says what is wrong, in Chinese and English.

The problems stand in attention_problems/; one is known by its function's name.  The function is called on fixed
inputs, the smallest first, and its answers are compared with those of plain loops, up to the first wrong one.  If a
known mistake gives the same answers, that mistake is named.

The inputs are copies, so a function that writes into them is found out.  Where a problem asks for little memory, that
is measured once all answers are right.  A warning costs nothing, and neither does
float32; but what should be True and False must be boolean, for a mask of 0 and 1 would be added to the scores.  An
endless loop is not noticed: interrupt the cell.  The function runs in the reader's own process, and the right answers
stand beside it: this is for learning, not for marks.
"""

import contextlib
import math
import numbers
import traceback
import tracemalloc
import warnings
from html import escape
from typing import Any, NamedTuple

import numpy as np

from attention_problems import MISTAKES, PROBLEMS

NUMBERS_SHOWN = 20  # an example with more numbers than these is described by its shapes
TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}  # coarser than float32, finer than a mistake


class Verdict:
    """What check found: true if all is right; its text in both languages."""

    def __init__(self, passed, zh, en):
        self.passed, self.zh, self.en = passed, zh, en

    def __bool__(self):
        return self.passed

    def __repr__(self):
        return f"{self.zh}\n{self.en}"

    def _repr_html_(self):
        zh, en = (f'<div lang="{lang}">{escape(s)}</div>' for lang, s in (("zh-Hans", self.zh), ("en", self.en)))
        return f'<div class="attn-check">{zh}\n{en}</div>'


def check(fn):
    """Try `fn` on the cases of the problem that has its name.   -> Verdict"""
    if not callable(fn):
        return Verdict(False, *(f"✗ {text}" for text in no_function(fn)))
    name = str(getattr(fn, "__name__", type(fn).__name__))
    if name not in PROBLEMS:
        return Verdict(False, *(f"✗ {text}" for text in unknown_name(name)))
    problem, trials = PROBLEMS[name], []
    for case in problem.cases:
        trials.append(tried(problem, fn, case))
        wrong = complaint(problem, fn, trials)
        if wrong:
            mark, (zh, en) = "○" if wrong is UNSOLVED else "✗", wrong
            return Verdict(False, f"{mark} {name}：{zh}", f"{mark} {name}: {en}")
    if problem.memory:
        arguments, too_much = problem.memory
        bytes_held = held(problem, fn, arguments)
        if bytes_held >= too_much:
            zh, en = holds_too_much(bytes_held, too_much, *given(problem, arguments, shapes_only=True))
            return Verdict(False, f"✗ {name}：{zh}", f"✗ {name}: {en}")
    n = len(problem.cases)
    return Verdict(True, f"✓ {name}：{n} 项检查全部通过。", f"✓ {name}: all {n} checks passed.")


# -------------------------------------------------------------------------------------------------- one function tried


class Trial(NamedTuple):
    value: Any = None  # what the function returned
    error: BaseException | None = None  # what it raised
    changed: tuple = ()  # names of the arguments that it wrote into


def complaint(problem, fn, trials):
    """What is wrong with the last of the trials, in both languages, or None."""
    trial, case = trials[-1], problem.cases[len(trials) - 1]
    if isinstance(trial.error, NotImplementedError) or (len(trials) == 1 and is_stub(trial)):
        return UNSOLVED
    if trial.error is not None:
        return raised(trial.error, fn, *given(problem, case, shapes_only=True))
    if trial.changed:
        return writes(trial.changed)
    values = results(problem, trial.value)
    if values is None:
        return wrong_count(problem.parts, trial.value, *given(problem, case))
    for part, value, want in zip(problem.parts, values, wanted(problem, case), strict=True):
        result = as_numbers(value)
        if result is None or (result.dtype == bool) != (want.dtype == bool):
            said = not_boolean if want.dtype == bool else wrong_type
            return said(part, value, *given(problem, case))
        if not same(result, want):
            mistake = known_mistake(problem, fn, trials)
            if mistake:
                return known(*MISTAKES[mistake])
            return wrong_numbers(part, result, want, kind(value), *given(problem, case))
    return None


def names(problem):
    return [item.split()[0] for item in problem.axes.split(", ")]


def results(problem, value):
    """What was returned, one by one; None if it is not as many as there should be."""
    if len(problem.parts) == 1:
        return [value]
    several = isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and value.ndim == 1)
    return value if several and len(value) == len(problem.parts) else None


def wanted(problem, case):
    value = problem.right(*(x.tolist() if isinstance(x, np.ndarray) else x for x in case))
    arrays = map(np.asarray, results(problem, value))
    return [array if array.dtype == bool else array.astype(float) for array in arrays]


def known_mistake(problem, fn, trials):
    """The key of the mistake that gives what `fn` gave so far and in most of the cases to come, or None.

    Most, not all: a function may hold two mistakes.  But where it is right, the mistake must be right too: what
    divides by int(√d_k) agrees with what does not divide, until d_k is 4.  If several fit, the one that agrees most
    often.
    """
    to_come = [tried(problem, fn, case) for case in problem.cases[len(trials) :]]
    answers = [answer(problem, trial) for trial in [*trials, *to_come]]
    right = [all(map(same, a, wanted(problem, case))) for a, case in zip(answers, problem.cases, strict=True)]
    agreed = {}
    for key, gives in problem.mistakes.items():
        wrong = [answer(problem, tried(problem, gives, case)) for case in problem.cases]
        agree = [all(map(same, a, w)) for a, w in zip(answers, wrong, strict=True)]
        fits = all(agree[: len(trials)]) and not any(ok and not a for ok, a in zip(right, agree, strict=True))
        if fits and 2 * sum(agree) > len(agree):
            agreed[key] = sum(agree)
    return max(agreed, key=agreed.get, default=None)


def answer(problem, trial):
    """An array, or None, for each part of the result."""
    values = results(problem, trial.value) if trial.error is None else None
    return [None] * len(problem.parts) if values is None else [as_numbers(value) for value in values]


def tried(problem, fn, case):
    """Call `fn` on copies of the case's arguments.   -> Trial"""
    arguments = [x.copy() if isinstance(x, np.ndarray) else x for x in case]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = fn(*arguments)
        except (Exception, SystemExit) as error:
            return Trial(error=error)
    triples = zip(names(problem), arguments, case, strict=True)
    return Trial(value, changed=tuple(name for name, now, before in triples if not np.array_equal(now, before)))


def held(problem, fn, arguments):
    """The most bytes that `fn` holds at one time, as far as Python and NumPy count them."""
    traced = tracemalloc.is_tracing()  # by the reader, who wants to go on
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        tried(problem, fn, arguments)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        if not traced:
            tracemalloc.stop()


def is_stub(trial):
    return trial.error is None and (trial.value is None or trial.value is ...)


def as_numbers(value):
    """The value as an array, or None if it holds anything but real numbers, or True and False."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):  # a fraction, SymPy's, or of any size
        try:
            return np.asarray(float(value))
        except OverflowError:
            return np.asarray(math.inf if value > 0 else -math.inf)
    try:
        array = np.asarray(value)
        return array if array.dtype.kind in "fiub" else None
    except Exception:  # rows of different lengths; objects that only look like arrays
        return None


def same(a, b):
    """Whether two arrays hold the same numbers, as far as float32 can say.  No array is the same as no array."""
    if a is None or b is None or a.shape != b.shape:
        return a is b
    return np.allclose(a, b, **TOLERANCE, equal_nan=True)


# -------------------------------------------------------------------------------------------------------- what is said
# Each function returns the sentence in Chinese and in English.

UNSOLVED = (
    "还没做。把 ... 换成你的代码，再运行这一格；若已写好，看看是不是忘了 return。",
    "not solved yet. Replace ... with your code and run the cell again; if you have, is a return missing?",
)


def kind(value):
    if value is None:
        return "None"
    return f"ndarray ({value.dtype})" if isinstance(value, np.ndarray) else type(value).__name__


def no_function(value):
    return (
        f"check 要的是函数本身，这里得到的是 {kind(value)}：写 check(f)，不写 check(f(…))。",
        f"check takes the function itself and got {kind(value)}: write check(f), not check(f(…)).",
    )


def unknown_name(name):
    names = ", ".join(PROBLEMS)
    return (
        f"没有叫 {name} 的题。check 按函数名认题，也就是 def 后面的名字；它认得 {names}。",
        f"no problem is called {name}. check goes by the name after def, and knows {names}.",
    )


def given(problem, case, shapes_only=False):
    """The case as the beginning of a sentence: its numbers, or its shapes if the numbers are many."""
    shapes_only |= sum(map(np.size, case)) > NUMBERS_SHOWN
    items = [
        f"{name} {np.shape(x)}" if shapes_only and np.ndim(x) else f"{name} = {shown(x)}"
        for name, x in zip(names(problem), case, strict=True)
    ]
    zh, en = "，".join(items), ", ".join(items)
    if not shapes_only:
        return f"{zh} 时，", f"for {en}, "
    if all(x.dtype.kind in "iu" for x in case if isinstance(x, np.ndarray)):  # they cannot be seen to be integers
        return f"输入是整数数组，形状为 {zh} 时，", f"for integer inputs of the shapes {en}, "
    return f"输入的形状为 {zh} 时，", f"for inputs of the shapes {en}, "


def raised(error, fn, zh_given, en_given):
    what = type(error).__name__
    with contextlib.suppress(Exception):  # an error that cannot be printed
        what += "".join(f": {line.strip()[:200]}" for line in str(error).splitlines()[:1])
    file = getattr(getattr(fn, "__code__", None), "co_filename", None)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    zh, en = "", ""
    if frames:
        number, line = frames[-1].lineno, frames[-1].line
        zh, en = f"，在第 {number} 行：{line}", f", in line {number}: {line}"
    return (
        f"{zh_given}运行出错。{what}{zh}。",
        f"{en_given}it raised {what}{en}.",
    )


def writes(changed):
    names = ", ".join(changed)
    return (
        f"改动了输入 {names}。请另建数组：+=、-=、*=、/= 和给元素赋值，改的都是原来的数组。",
        f"it changes its input {names}. Make a new array: +=, -=, *=, /= and assigning to entries change the old one.",
    )


def holds_too_much(held, limit, zh_given, en_given):
    return (
        f"结果都对，但一次占用的内存太多：{zh_given}多占了 {held:,} 字节；单是一个 n×n 的布尔数组就有 {limit:,} 字节。"
        "哪里造出了 n×n 的数组？分数、权重、掩码都要一块一块地算。",
        f"the results are right, but it holds too much at once: {en_given}{held:,} bytes, and an array of n × n, even "
        f"one of True and False, has {limit:,}. Where is one made? Scores, weights and the mask are to be computed "
        "block by block.",
    )


def wrong_count(parts, value, zh_given, en_given):
    wanted = ", ".join(parts)
    return (
        f"{zh_given}应返回 {len(parts)} 个结果：{wanted}。得到的是 {kind(value)}。",
        f"{en_given}it must return {len(parts)} results, {wanted}, and returns {kind(value)}.",
    )


def what_for_what(part, value):
    """The beginning and the end of a sentence about a value that is no array of the right kind."""
    zh, en = (f"{part} 应是", f"{part} must be") if part else ("应返回", "it must return")
    mixed = isinstance(value, (tuple, list)) and as_numbers(value) is None
    zh_end, en_end = ("，其中各项的形状不同，或者不全是数", ", whose items differ in shape or are no numbers")
    return zh, en, kind(value) + zh_end * mixed, kind(value) + en_end * mixed


def wrong_type(part, value, zh_given, en_given):
    zh, en, zh_got, en_got = what_for_what(part, value)
    return (
        f"{zh_given}{zh}实数（一个，或一个数组），得到的是 {zh_got}。",
        f"{en_given}{en} real numbers, one or an array of them, not {en_got}.",
    )


def not_boolean(part, value, zh_given, en_given):
    zh, en, zh_got, en_got = what_for_what(part, value)
    return (
        f"{zh_given}{zh}布尔数组，只含 True 和 False，得到的是 {zh_got}。比较（<、<= 等）的结果就是布尔数组；"
        "0 和 1 不行，当掩码用时它们会被加到分数上。",
        f"{en_given}{en} a boolean array, of True and False, not {en_got}. A comparison (<, <= …) gives one; 0 and 1 "
        "will not do: used as a mask, they are added to the scores.",
    )


def too_narrow(dtype, want):
    """What an array of this type cannot hold, if it is asked to."""
    if dtype.kind in "iu" and not np.array_equal(want, np.round(want)):
        return (
            f"类型 {dtype} 装不下小数：zeros_like 照搬所给数组的类型，zeros(形状) 则是浮点数。",
            f" An array of {dtype} holds no fractions: zeros_like takes the type of its model, zeros(shape) is of "
            "floats.",
        )
    if dtype == np.float16:
        return "float16 只有大约三位有效数字，float32 就够了。", " float16 has about three digits; float32 is enough."
    return "", ""


def known(zh, en):
    return f"结果不对，和这样算出来的一模一样：{zh}。", f"not right. The result is exactly what you get by {en}."


def wrong_numbers(part, got, want, returned, zh_given, en_given):
    """The shape, else NaN and infinity, else the numbers; of many numbers, the first wrong one."""
    zh, en = zh_given + (f"{part} " if part else "结果"), en_given + (part or "the result")
    if got.shape != want.shape:
        zh_shape, en_shape = (want.shape,) * 2 if want.ndim else ("()（一个数）", "() (one number)")
        return (
            f"形状不对。{zh}应是 {zh_shape}，得到的是 {got.shape}，类型 {returned}。",
            f"wrong shape: {en} must be {en_shape}, and yours is {got.shape}, of type {returned}.",
        )
    if np.isfinite(want).all() and not np.isfinite(got).all():
        return (
            f"{zh}里有不该有的 NaN 或无穷大。是 exp 上溢了，还是除以了 0，或者算了 0·∞、∞ − ∞？",
            f"{en} holds NaN or infinity where it should not. Did exp overflow, or was there a division by 0, "
            "0 · ∞ or ∞ − ∞?",
        )
    zh_narrow, en_narrow = too_narrow(got.dtype, want)
    if want.ndim and (want.size > NUMBERS_SHOWN or "=" not in zh_given):
        at = tuple(np.argwhere(~np.isclose(got, want, **TOLERANCE))[0])
        got, want = got[at], want[at]
        where = ", ".join(map(str, at))
        zh, en = f"{zh}的 [{where}] 处", f"{en} at [{where}]"
    digits = next((d for d in (4, 8) if shown(got, d) != shown(want, d)), 12)
    return (
        f"数不对。{zh}应是 {shown(want, digits)}，得到的是 {shown(got, digits)}。{zh_narrow}",
        f"wrong numbers: {en} must be {shown(want, digits)}, and yours is {shown(got, digits)}.{en_narrow}",
    )


def shown(x, digits=4):
    """Numbers as one would write them: [[1, 0.5], [0, -2]]."""
    if np.ndim(x):
        return f"[{', '.join(shown(row, digits) for row in x)}]"
    if isinstance(x, (bool, np.bool_)):
        return str(bool(x))
    return str(int(x)) if float(x).is_integer() and abs(float(x)) < 1e7 else f"{x:.{digits}g}"
