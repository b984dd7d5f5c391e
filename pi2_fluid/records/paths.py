"""Paths: one number of a scenario, named as in its TOML file, read and replaced."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, SupportsFloat, TypeVar

from pi2_fluid.errors import ScenarioError, show_value, suggest
from pi2_fluid.records.record import Record, keys_beside

R = TypeVar("R", bound=Record)


def read_path(record: object, path: str) -> SupportsFloat:
    """Return the number at `path`, e.g. ``"aqm.alpha"`` or ``"flows.0.count"``.

    Parameters
    ----------
    record : Record
        A scenario, or a network.
    path : str
        Fields and places, joined by dots: ``"link.capacity"``, ``"flows.1.sender.decrease"`` (or
        by the name of the class, ``"flows.reno2.count"``), ``"changes.0.at"``,
        ``"changes.0.counts.reno"``; of a network ``"nodes.0.link.capacity"`` (or by the name of the
        node), ``"flows.0.hops.1"``; of a scenario of several nodes
        ``"network.nodes.0.link.capacity"``.

    Raises
    ------
    ScenarioError
        If there is no such thing, or it is no number.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> scenario = pf.named_scenario("pi2_fig13_pi2")
    >>> read_path(scenario, "flows.1.count"), read_path(scenario, "aqm.beta")
    (20.0, 3.125)
    """
    value: Any = record
    for part in _parts(record, path):
        value = _step(value, part, path)
    if isinstance(value, (Record, Mapping, tuple, str, bool)):
        raise ScenarioError(
            f"the path {show_value(path)} leads to {show_value(value)}, which is no number: name a"
            ' number, e.g. "aqm.alpha".'
        )
    number: SupportsFloat = value
    return number


def replace_path(record: R, path: str, value: object) -> R:
    """Return a copy of a scenario with another number at `path`, checked like a new one."""
    read_path(record, path)
    changed: R = _replace(record, _parts(record, path), value, path)
    return changed


def dimension_at(record: object, path: str) -> str:
    """Return the dimension of the number at `path`, as `pi2_fluid.units` calls it.

    Raises
    ------
    ScenarioError
        As `read_path`.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> dimension_at(pf.named_scenario("pi2_fig13_pi2"), "link.capacity")
    'rate'
    """
    read_path(record, path)
    value: Any = record
    rule: Mapping[str, Any] = {}
    for part in _parts(record, path):
        if isinstance(value, Record):
            about = _about(value, part).metadata
            rule = about.get("quantity") or about.get("quantities") or {}
        value = _step(value, part, path)
    return str(rule.get("dimension", "number"))


def _parts(record: object, path: object) -> list[str]:
    if not isinstance(path, str) or not path:
        raise ScenarioError(
            f'the path {show_value(path)} names nothing: give e.g. "aqm.alpha" or "flows.0.count".'
        )
    parts = path.split(".")
    called = {"flows": "class_names", "nodes": "node_names"}
    first = 1 if parts[0] == "network" else 0  # which has names of its own
    if len(parts) > first + 1:
        owner = getattr(record, "network", None) if first else record
        names = list(getattr(owner, called.get(parts[first], ""), ()))
        if parts[first + 1] in names:
            parts[first + 1] = str(names.index(parts[first + 1]))
    return parts


def _step(value: object, name: str, path: str) -> object:
    if isinstance(value, tuple):
        if name.isdecimal() and int(name) < len(value):
            return value[int(name)]
        raise ScenarioError(
            f"the path {show_value(path)} has {name!r} where a place from 0 to {len(value) - 1}"
            ' belongs: give e.g. "flows.0.count".'
        )
    names = list(value) if isinstance(value, Mapping) else list(_names(value))
    if name not in names:
        raise ScenarioError(
            f"the path {show_value(path)} has {name!r}, which {type(value).__name__} does not have:"
            f" give {suggest(name, names) if names else 'a shorter path'}."
        )
    if isinstance(value, Mapping):
        return value[name]
    assert isinstance(value, Record)
    beside = keys_beside(value)
    return beside[name][1] if name in beside else getattr(value, _names(value)[name])


def _about(record: Record, part: str) -> dataclasses.Field[Any]:
    """What declares a field, or a key that is one of its items."""
    beside = keys_beside(record)
    return beside[part][0] if part in beside else record.__dataclass_fields__[_names(record)[part]]


def _replace(value: Any, parts: list[str], new: Any, path: str) -> Any:
    if not parts:
        return new
    changed = _replace(_step(value, parts[0], path), parts[1:], new, path)
    if isinstance(value, tuple):
        place = int(parts[0])
        return (*value[:place], changed, *value[place + 1 :])
    if isinstance(value, Mapping):
        return {**value, parts[0]: changed}
    return dataclasses.replace(value, **{_names(value)[parts[0]]: changed})


def _names(value: object) -> dict[str, str]:
    """The fields of a record by their names in text."""
    if not isinstance(value, Record):
        return {}
    own = (f for f in dataclasses.fields(value) if f.init and "beside" not in f.metadata)
    return {f.metadata.get("key", f.name): f.name for f in own} | {k: k for k in keys_beside(value)}
