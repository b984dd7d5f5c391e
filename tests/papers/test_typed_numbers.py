"""No number that a scenario has is typed by hand where a picture shows it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pi2_fluid.papers import registry
from pi2_fluid.papers.recipe import Recipe
from pi2_fluid.papers.registry import FIGURES, recipe_of

_UNITS = (
    "ms|s|µs|min|Gbit/s|Mbit/s|kbit/s|Mb/s|KB|MB|B|bytes|dB|Hz|degrees|packets?|segments?|flows?"
    "|seeds?|senders?|Reno|TCP|UDP|NewReno|Cubic|DCTCP|runs?"
)
_TYPED = re.compile(rf"(?<![\w.′'])\d[\d.,:]*(?:\s(?:{_UNITS})(?!\w)|\s?[%°])")


def typed_numbers(text: str) -> list[str]:
    return _TYPED.findall(text)


def exempt(node: ast.AST) -> bool:
    """Whether words have their place in the code: of the paper, of a claim, or in an error."""
    if isinstance(node, ast.Raise):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # docstrings
    if isinstance(node, ast.FunctionDef) and node.returns is not None:
        return "Claim" in ast.unparse(node.returns)
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        return called == "Claim" or called.endswith(".as_printed")
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "message"


def drawn_words(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of every string in a module of figures that a picture may show."""
    tree = ast.parse(source)
    left_out = {id(part) for node in ast.walk(tree) if exempt(node) for part in ast.walk(node)}
    for node in ast.walk(tree):
        # The title, which a changed figure goes without.
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Caption" and node.args:
            left_out |= {id(part) for part in ast.walk(node.args[0])}
    for node in ast.walk(tree):
        if id(node) in left_out or not isinstance(node, ast.Constant):
            continue
        if isinstance(node.value, str):
            yield node.lineno, node.value


def prose_of(recipe: Recipe) -> list[str]:
    """Return what a recipe says of the paper's figure on its page, none of which is drawn."""
    return [recipe.caption, *recipe.decisions, *recipe.why.values(), *recipe.conditions.values()]


def test_no_figure_has_a_number_that_is_typed_by_hand() -> None:
    prose = "\n".join(text for name in FIGURES for text in prose_of(recipe_of(name)))
    folder = Path(registry.__file__).parent
    found = [
        f"{path.relative_to(folder)}:{line}: {text!r}"
        for path in sorted(folder.glob("*/*.py"))
        for line, text in drawn_words(path.read_text(encoding="utf-8"))
        if typed_numbers(text)
        # What the paper states is its own; it is drawn beside nothing else.
        and "stated" not in text
        and "The paper's" not in text
        and text.strip() not in prose
    ]
    assert found == []


def test_numbers_typed_by_hand_are_found() -> None:
    module = (
        '"""Of 20 flows."""\n'
        '_TITLE = "20 Reno flows, target 5 ms"\n'
        "def draw(case):\n"
        '    """Over 5 ms."""\n'
        '    label(f"RTT 100 ms; {1}", case.as_printed("at 3 s"))\n'
        '    return Caption("PIE holds 20 ms", note="means over 1 s", setting=f"{5:g} ms")\n'
    )
    assert [text for _, text in drawn_words(module) if typed_numbers(text)] == [
        "20 Reno flows, target 5 ms",
        "RTT 100 ms; ",
        "means over 1 s",
    ]


@pytest.mark.parametrize("name", FIGURES)
def test_the_title_of_a_changed_figure_has_no_number_of_its_set_up(name: str) -> None:
    recipe = recipe_of(name)
    if not (recipe.parameters or (recipe.scenarios() and recipe.changeable != ())):
        return  # of ours, which are as they are
    for title in (recipe.title, *(page.shows for page in recipe.pages.values())):
        assert not typed_numbers(title), title
