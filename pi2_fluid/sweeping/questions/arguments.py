"""Arguments of a call by their paths: their dimensions, and others in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pi2_fluid.errors import ScenarioError, show_value, suggest
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.flows import class_names
from pi2_fluid.records.paths import dimension_at, replace_path
from pi2_fluid.records.record import Record


def dimension_in(arguments: Mapping[str, Any], path: str, allowed: Sequence[str]) -> str:
    """Return the dimension of a number in one of the `allowed` arguments."""
    return dimension_at(*_part_of(arguments, path, allowed))


def replaced(arguments: Mapping[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return arguments with another value of one, or of a number in one."""
    if "." not in path:
        return {**arguments, path: value}
    head, _, rest = path.partition(".")
    record, inside = _part_of(arguments, path, (head,))
    changed: Any = replace_path(record, inside, value)
    if arguments[head] is not record:
        parts = list(arguments[head])
        parts[_place(parts, rest.partition(".")[0], path)] = changed
        changed = tuple(parts)
    return {**arguments, head: changed}


def _part_of(arguments: Mapping[str, Any], path: str, allowed: Sequence[str]) -> tuple[Any, str]:
    """Return the record among arguments that a path begins with, and the rest of the path."""
    head, _, rest = path.partition(".")
    value = arguments.get(head) if head in allowed else None
    if isinstance(value, Sequence) and not isinstance(value, str):
        place, _, rest = rest.partition(".")
        value = value[_place(value, place, path)]
    if not isinstance(value, Record) or not rest:
        raise ScenarioError(
            f"over varies {show_value(path)}, which base has not: give"
            f' {suggest(path, list(arguments))}, or a path such as "aqm.alpha".'
        )
    return value, rest


def _place(parts: Sequence[Any], place: str, path: str) -> int:
    names = [] if any(isinstance(part, Sender) for part in parts) else list(class_names(parts))
    if place in names:
        return names.index(place)
    if not place.isdecimal() or int(place) >= len(parts):
        raise ScenarioError(
            f"the path {show_value(path)} has {place!r} where a place from 0 to {len(parts) - 1}"
            " belongs."
        )
    return int(place)
