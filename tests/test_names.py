"""Names that one can search for: few variables that live long are called after no thing.

`found` may stand for a crossing, a file or a margin, and a search for it shows a thousand lines.
Where it lives for a line or two, what it is stands beside it. The bar may only fall.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "pi2_fluid"

#: Words that say that there is something, but not what. `place` is none: it is a `Place`.
VAGUE = {
    "asked",
    "each",
    "found",
    "given",
    "kept",
    "made",
    "mine",
    "one",
    "own",
    "part",
    "said",
    "there",
    "told",
}
#: From the line that binds a name to the last that has it.
LONGEST = 10
#: How many may live longer: 61 did when this was counted last. Whoever renames some lowers it.
BAR = 65

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def bound_by(node: ast.AST) -> set[str]:
    """The names that a function or a comprehension has for itself."""
    if isinstance(node, FUNCTIONS):
        arguments = node.args
        return {
            argument.arg
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        }
    if isinstance(node, COMPREHENSIONS):
        targets = [name for loop in node.generators for name in ast.walk(loop.target)]
        return {name.id for name in targets if isinstance(name, ast.Name)}
    return set()


def uses(node: ast.AST, hidden: frozenset[str] = frozenset()) -> Iterator[ast.Name]:
    """Each place that means a variable of the node itself, not one of the same name inside it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Name):
            if child.id in VAGUE and child.id not in hidden:
                yield child
        else:
            yield from uses(child, hidden | bound_by(child))


def lives(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, int]]:
    """Yield each vague name of a function and for how many lines it lives.

    What only loops bind begins anew with each of them.
    """
    lines: dict[str, list[ast.Name]] = {}
    for use in uses(function):
        lines.setdefault(use.id, []).append(use)
    arguments = bound_by(function)
    loops = [node for node in ast.walk(function) if isinstance(node, (ast.For, ast.AsyncFor))]
    for name, names in lines.items():
        last = max(use.lineno for use in names)
        if name in arguments:
            yield name, last - function.lineno
            continue
        bound = [use.lineno for use in names if isinstance(use.ctx, ast.Store)]
        if not bound:
            continue
        within = [
            [use.lineno for use in uses(loop) if use.id == name]
            for loop in loops
            if any(isinstance(x, ast.Name) and x.id == name for x in ast.walk(loop.target))
        ]
        if sum(map(len, within)) >= len(names):
            yield name, max(max(lines) - min(lines) for lines in within)
        else:
            yield name, last - min(bound)


def long_lives(source: str) -> list[tuple[str, str, int]]:
    """Function, name and lines of each vague name that lives too long."""
    functions = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    return [
        (function.name, name, life)
        for function in functions
        for name, life in lives(function)
        if life > LONGEST
    ]


@pytest.mark.slow
def test_few_vague_names_live_long() -> None:
    files = sorted(PACKAGE.rglob("*.py"))
    counted = [
        (str(file.relative_to(PACKAGE)), *life)
        for file in files
        for life in long_lives(file.read_text(encoding="utf-8"))
    ]
    longest = "\n".join(map(str, sorted(counted, key=lambda entry: -entry[-1])[:20]))
    assert len(counted) <= BAR, f"{len(counted)} vague names live long; the longest:\n{longest}"


def filled(life: int, code: str) -> str:
    """A function in which `life` lines pass between the first and the last line of a code."""
    first, last = code.split("\n")
    return "def f(x):\n" + f"    {first}\n" + "    pass\n" * (life - 1) + f"    {last}\n"


@pytest.mark.parametrize(
    ("code", "is_long"),
    [
        ("found = x\nreturn found", True),
        ("crossings = x\nreturn crossings", False),
        ("found = x\nreturn [found for found in x]", False),
        ("y = [one for one in x]\nreturn [one for one in y]", False),
        ("for one in x: pass\nfor one in x: pass", False),
        ("y = lambda one: one\nreturn lambda one: one", False),
        ("found = x\nreturn [y for y in x if y in found]", True),
    ],
)
def test_lives_are_counted(code: str, is_long: bool) -> None:
    assert bool(long_lives(filled(LONGEST + 1, code))) == is_long
    assert not long_lives(filled(LONGEST, code))


def test_an_argument_lives_from_the_first_line() -> None:
    body = "    pass\n" * LONGEST
    assert long_lives(f"def f(found):\n{body}    return found\n") == [("f", "found", LONGEST + 1)]
