"""What every assignment of the course must hold; test_exercises.py calls these with each."""

import itertools
import os
import re
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import nbformat
import numpy as np

from attention_grading.assignment import drawn, variants
from attention_grading.judge import arrays, copies, here, judge
from attention_grading.release import (
    SOLUTION,
    TEMPLATE,
    check_cell,
    page,
    points,
    run_master,
    self_test,
    student_notebook,
)
from test_notebooks import HAN, facts, unrendered

SECRET = b"the secret of a course that only the tests give"
LEFT_OVER = r"<<|>>|<%|%>|<#|#>|canary|SOLUTION|Undefined|None"
UNTIDY = {
    "zh": r"[，。；：、][，。；：、]|[，。；、] |\n{3}|[（“]\s|\s[）”]|" + f"{HAN}  |  {HAN}",
    "en": r"\S {2,}\S| [,.;:)](?=\s|$)|\(\s|\n{3}|[，。；：、（）]" + f"|{HAN}",
}


def every_variant(choices, at_most=600):
    """All variants of a question, or so many of them drawn at random."""
    if variants(choices) > at_most:
        rng = np.random.default_rng(1)
        return [drawn(choices, int(rng.integers(2**62))) for _ in range(at_most)]
    every = itertools.product(*choices.values())
    return [SimpleNamespace(**dict(zip(choices, values, strict=True))) for values in every]


def some_variants(choices):
    """So few variants that any two values of two choices meet in one; all if EVERY_VARIANT is set (a minute more)."""
    every = every_variant(choices)
    if os.environ.get("EVERY_VARIANT"):
        return every
    pairs = [set(itertools.combinations(((name, repr(value)) for name, value in vars(v).items()), 2)) for v in every]
    some, left = [], set().union(*pairs)
    while left:
        best = max(range(len(every)), key=lambda i: len(pairs[i] & left))
        some.append(every[best])
        left -= pairs[best]
    return some


def check_solutions(assignment, students=200):
    """The master's own solution gets every point, and the example in each notebook holds for it."""
    for student in range(students):
        self_test(assignment, SECRET, str(student))
    for student in range(20):
        variant = assignment.variant(SECRET, str(student))
        names = run_master(assignment, variant)
        for key in assignment.automatic:
            exec(check_cell(assignment, key, variant[key], SECRET, str(student)).source, names)


def check_examples(question):
    """For every variant the right result of the example is finite and not the same number throughout."""
    for number, v in enumerate(every_variant(question.choices)):
        arguments = question.example(np.random.default_rng(number), v)
        right = arrays(question.reference(v, *copies(arguments)))
        assert all(np.isfinite(value).all() for value in right), vars(v)
        assert len(np.unique(np.concatenate([value.ravel() for value in right]).round(6))) > 1, vars(v)


def check_copies(assignment, students=1000, at_most=0.01):
    """Of all pairs of students, how many get every point of a question with the other's right function.

    -> {question: share}
    """
    variant = [assignment.variant(SECRET, str(student)) for student in range(students)]
    shares = {}
    for key, question in assignment.automatic.items():
        different = {repr(v[key]): v[key] for v in variant}
        whose = [list(different).index(repr(v[key])) for v in variant]
        passes = passing(question, list(different.values()))[np.ix_(whose, whose)]
        assert passes.diagonal().all(), key
        shares[key] = (passes.sum() - students) / (students * (students - 1))
        assert shares[key] < at_most, f"{key}: another's right function passes in {shares[key]:.2%} of the pairs"
    return shares


def passing(question, everybody):
    """-> [i, j]: does the right function of the j-th variant get every point where the i-th is asked?"""
    passes = np.zeros((len(everybody), len(everybody)), bool)
    for arguments, asked in by_arguments(question, everybody):
        given = {}  # the shapes of the results -> the variants that give such, and their numbers, one row each
        for j, v in enumerate(everybody):
            shapes, numbers = results(question, v, arguments)
            given.setdefault(shapes, ([], []))
            given[shapes][0].append(j)
            given[shapes][1].append(numbers)
        for columns, rows in given.values():
            rows = np.array(rows)
            for i in set(asked) & set(columns):
                right = rows[columns.index(i)]
                close = np.abs(rows - right) <= question.atol + question.rtol * np.abs(right)
                passes[i, columns] = (close | (rows == right)).all(axis=1)
    return passes


def by_arguments(question, everybody, number=7):
    """The arguments of all parts, each with the variants that draw them from the same seed."""
    groups = {}
    for i, v in enumerate(everybody):
        arguments = [part.draw(np.random.default_rng([number, p]), v) for p, part in enumerate(question.parts)]
        mark = repr([[(np.shape(a), np.asarray(a).tolist()) for a in some] for some in arguments])
        groups.setdefault(mark, (arguments, []))[1].append(i)
    return groups.values()


def results(question, v, arguments):
    """What the right function of a variant gives in all parts.   -> (shapes, numbers in a row)"""
    values = []
    with np.errstate(all="ignore"):
        for some in arguments:
            try:
                values += arrays(question.reference(v, *copies(some)))
            except (ValueError, IndexError, ZeroDivisionError):  # made for other shapes
                return "no result", np.zeros(0)
    return repr([value.shape for value in values]), np.concatenate([value.ravel() for value in values])


def check_mistakes(question):
    """For these variants each known mistake loses points and is named in at least one part, and whoever makes none of
    them is told so: none of them breaks down on the arguments of any part."""
    for number, v in enumerate(some_variants(question.choices)):
        mistakes = tuple(replace(mistake, gives=remembered(mistake.gives)) for mistake in question.mistakes)
        asked = replace(question, reference=remembered(question.reference), mistakes=mistakes)
        call = here({question.function: lambda *given, v=v, asked=asked: unknown(asked.reference(v, *given))})
        assert [part["points"] for part in judge(asked, v, number, call)["parts"]] == [0] * len(question.parts)
        for mistake in mistakes:
            call = here({question.function: lambda *arguments, v=v, gives=mistake.gives: gives(v, *arguments)})
            whys = [part["why"] for part in judge(asked, v, number, call)["parts"] if part["why"]]
            assert mistake.en in [why["en"] for why in whys], (mistake.en, vars(v), whys)
            assert mistake.zh in [why["zh"] for why in whys]


def unknown(result):
    """A wrong result of the right shape that comes from no known mistake."""
    return tuple(value + 12345.678 for value in arrays(result))


def remembered(function):
    """The function of one variant, which computes nothing twice."""
    known = {}

    def same(v, *arguments):
        key = repr([(np.shape(a), np.asarray(a).tolist()) for a in arguments])
        if key not in known:
            known[key] = function(v, *arguments)
        return known[key]

    return same


def check_texts(assignment):
    """Every variant of every question reads well in both languages: the twins say the same, no two variants have the
    same text, nothing is left over."""
    cells = [c for c in nbformat.read(assignment.notebook, as_version=4).cells if "marking" not in tags(c)]
    first = {key: words(assignment, key, every_variant(q.choices)[0]) for key, q in assignment.questions.items()}
    for key, question in assignment.questions.items():
        about = {lang: [c for c in cells if f"lang-{lang}" in tags(c) and f"{key}." in c.source] for lang in UNTIDY}
        shared = [TEMPLATE.from_string(SOLUTION.sub("", c.source)) for c in cells if is_shared(c) and key in c.source]
        templates = {lang: [TEMPLATE.from_string(c.source) for c in of] for lang, of in about.items()}
        texts = {lang: set() for lang in UNTIDY}
        asked = every_variant(question.choices)
        for v in asked:
            given = first | {key: words(assignment, key, v)}
            read = {lang: [template.render(**given) for template in of] for lang, of in templates.items()}
            formulas = [template.render(**given) for template in shared]
            assert not re.search(LEFT_OVER, "\n\n".join(formulas)), formulas
            for lang, sources in read.items():
                texts[lang].add("\n\n".join(sources + formulas))
                for source in sources:
                    tidy(source, lang)
            for zh, en in zip(read["zh"], read["en"], strict=True):
                differ = [(fact, said, twins(en)[fact]) for fact, said in twins(zh).items() if said != twins(en)[fact]]
                assert not differ, f"{differ}\n\n{zh}\n\n{en}"
        for lang, different in texts.items():
            assert len(different) == len({repr(v) for v in asked}), f"{key}: two variants have the same {lang} text"


def check_cells(assignment):
    """Twins stand one after the other; what they share holds no Chinese; what no template varies reads well too."""
    cells = nbformat.read(assignment.notebook, as_version=4).cells
    for cell, after in zip(cells, [*cells[1:], None], strict=True):
        if "lang-zh" in tags(cell):
            assert "lang-en" in tags(after), cell.source
            assert re.search("<<|<%", cell.source) or twins(cell.source) == twins(after.source), cell.source
        elif "nbgrader" not in cell.metadata or cell.cell_type == "code":
            assert "lang-en" in tags(cell) or not re.search(HAN, cell.source), cell.source
        if cell.cell_type == "markdown" and not re.search("<<|<%", cell.source) and "nbgrader" not in cell.metadata:
            for lang in UNTIDY:
                if f"lang-{lang}" in tags(cell):
                    tidy(cell.source.replace("canary", ""), lang)
    for student, language in itertools.product(range(5), ("zh", "en")):
        for cell in student_notebook(assignment, SECRET, str(student), language).cells:
            assert not re.search(r"<<|>>|<%|%>", cell.source), cell.source


@cache
def tidy(source, lang):
    assert not re.search(LEFT_OVER, source), source
    prose = re.sub(r"(?s)\$[^$]*\$|`[^`]*`|```.*?```", "x", source)
    prose = re.sub(r"(?m)^( *[-*>|]| *\d+\.) +|^\|.*", "", prose)
    found = re.search(UNTIDY[lang], prose)
    assert not found, f"{found[0]!r} in: {source}"
    assert not list(unrendered(source)), source


@cache
def twins(source):
    return facts(nbformat.v4.new_markdown_cell(source))


def is_shared(cell):
    """A formula, or a code cell that students get."""
    return not {"lang-zh", "lang-en", "variant"} & set(tags(cell)) and (
        cell.cell_type == "code" or "nbgrader" not in cell.metadata
    )


def tags(cell):
    return cell.metadata.get("tags", []) if cell else []


def words(assignment, key, v):
    return SimpleNamespace(**vars(v), points=points(assignment, key))


def check_canaries(assignment):
    """Every solution, model answer and marking guide holds a word by which a leak is found; students get none of it."""
    name = assignment.name.partition("_")[0]
    assert f"canary-{name}-module" in assignment.source
    guides = {"zh": "", "en": ""}
    for cell in nbformat.read(assignment.notebook, as_version=4).cells:
        key = cell.metadata.get("nbgrader", {}).get("grade_id")
        if key and cell.cell_type == "markdown" or "marking" in tags(cell):
            assert f"canary-{name}-" in cell.source, cell.id
        for region in SOLUTION.finditer(cell.source):
            assert f"canary-{name}-{key}" in region[0], cell.id
        for lang in guides:
            if {"marking", f"lang-{lang}"} <= set(tags(cell)):
                guides[lang] += cell.source
    for lang, guide in guides.items():
        assert all(f"canary-{name}-{key}" in guide for key in assignment.written), f"no marking guide in {lang}"
    for notebook in [page(assignment), *(student_notebook(assignment, SECRET, "1", x) for x in ("zh", "en", "both"))]:
        assert "canary" not in nbformat.writes(notebook)


def check_marking(assignment):
    """The steps of each marking guide, which begin like "- 2 points" or "- 2 分", sum to the points of the question."""
    for cell in nbformat.read(assignment.notebook, as_version=4).cells:
        if "marking" in tags(cell):
            [key] = set(re.findall(r"canary-\w+-(q\d+)", cell.source))
            steps = re.findall(r"(?m)^- ([\d.]+) (?:points?|分)", cell.source)
            assert sum(map(float, steps)) == assignment.written[key].points, cell.source
