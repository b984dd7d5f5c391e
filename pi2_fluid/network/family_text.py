"""Families of traffic as TOML text: one table ``[[cells]]`` for each scenario.

A cell's table has a scenario's keys, and `why` and `source`. Its ``[cells.aqm]`` may be left out:
Linux's default of DualPI2 stands there, which candidates then replace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from pi2_fluid.errors import (
    DomainError,
    QuantityError,
    ScenarioError,
    UnsupportedError,
    show_value,
)
from pi2_fluid.laws.presets import linux_dualpi2
from pi2_fluid.network.scenario import Scenario, read_scenario
from pi2_fluid.network.text import check_keys, check_values, parse_toml, tables_of
from pi2_fluid.network.writing import joined, scenario_blocks, text_value

_HEAD: Final = ("name", "title", "note")
_ABOUT: Final = ("why", "source")
# Where a scenario's errors say that something is to be.
_TABLES: Final = re.compile(r"\[(?=(?:link|aqm|flows|changes|node)\b)")
_TYPED: Final = (QuantityError, DomainError, ScenarioError, UnsupportedError)

#: A scenario, why it is there, and who measured it.
CellParts = tuple[Scenario, str, str]


def is_family(text: str) -> bool:
    """Return whether a TOML text has what only a family has."""
    return not parse_toml(text).keys().isdisjoint(("cells", "title", "note"))


def read_family(text: str) -> tuple[dict[str, str], list[CellParts]]:
    """Return a family's own words, and the parts of each of its cells; see `Traffic.from_toml`."""
    data = parse_toml(text)
    check_keys(data, (*_HEAD, "cells"), "")
    head: dict[str, str] = {key: _word(data, key, "") for key in _HEAD if key in data}
    return head, [_read_cell(number, table) for number, table in tables_of(data, "cells")]


def format_family(head: dict[str, str], cells: Sequence[CellParts]) -> str:
    """Return a family as TOML text, from which `read_family` makes the same."""
    blocks = [[f"{key} = {text_value(word)}" for key, word in head.items() if word]]
    for scenario, why, source in cells:
        aqm = None if scenario.aqm == linux_dualpi2() else scenario.aqm
        own, *tables = scenario_blocks(
            scenario, scenario.link, aqm, scenario.flows, scenario.changes, "cells."
        )
        about = [
            f"{key} = {text_value(word)}"
            for key, word in zip(_ABOUT, (why, source), strict=True)
            if word
        ]
        blocks += [["[[cells]]", *own, *about], *tables]
    return joined([block for block in blocks if block])


@contextmanager
def in_cell(name: str) -> Iterator[None]:
    """Name the cell in errors about its scenario."""
    try:
        yield
    except _TYPED as error:
        raise type(error)(f"cell {show_value(name)}: {error}") from None


def _read_cell(number: int, table: dict[str, Any]) -> CellParts:
    name = table.get("name")
    place = f"[[cells]] {number}" + (f" ({show_value(name)}):" if name else ":")
    why, source = (_word(table, key, place) for key in _ABOUT)
    if not name:
        raise ScenarioError(f"{place} name is missing: give each cell one, as results call it.")
    try:
        return read_scenario(table, linux_dualpi2(), _ABOUT), why, source
    except _TYPED as error:
        raise type(error)(f"{place} {_TABLES.sub('[cells.', str(error))}") from None


def _word(table: dict[str, Any], key: str, place: str) -> str:
    check_values({key: table.get(key, "")}, place)
    word = table.get(key, "")
    if not isinstance(word, str):
        raise ScenarioError(f"{place} {key} = {show_value(word)} is no text: give text.".lstrip())
    return word
