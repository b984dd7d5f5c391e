"""Scenarios written as TOML text, as `text` reads them.

What has its default is left out, and every number is written so that it reads back as the same
float.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, Field
from functools import cache
from typing import Any, Final, SupportsFloat, TypeVar

from pi2_fluid.errors import ScenarioError, UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.registry import kind_of
from pi2_fluid.laws.sines import Sines
from pi2_fluid.network.changes import Change
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.link import Link
from pi2_fluid.network.sizes import Sizes
from pi2_fluid.network.text import BARE_KEY, keys_of
from pi2_fluid.records.record import Record, default_of, keys_beside, map_leaves
from pi2_fluid.units import format_quantity

# Written as plain numbers: nobody gives alpha as "0.3125Hz".
_UNITLESS: Final = frozenset({"number", "frequency"})
# Integers beyond this are no longer exact in every TOML reader, and no counts.
_WHOLE: Final = 1e15
# Changes of one capacity that are written as rows.
_MANY: Final = 20

T = TypeVar("T", bound=Record)


def format_tables(
    scenario: Record, link: Link, aqm: Aqm, flows: Sequence[Flows], changes: Sequence[Change]
) -> str:
    """Return a scenario, whose own fields are the first table, as text; see `Scenario.to_toml`."""
    return joined(scenario_blocks(scenario, link, aqm, flows, changes))


def scenario_blocks(
    scenario: Record,
    link: Link,
    aqm: Aqm | None,
    flows: Sequence[Flows],
    changes: Sequence[Change],
    under: str = "",
) -> list[list[str]]:
    """Return the tables of a scenario, the first its own fields without a head.

    Parameters
    ----------
    aqm : Aqm or None
        None: without a table of it.
    under : str
        What stands before the name of each table, as ``"cells."``.
    """
    classes = _class_blocks(flows, under)
    link = _plain(link)
    blocks = [_lines(_plain(scenario), {"link", "aqm", "flows", "changes"})]
    blocks.append([f"[{under}link]", *_lines(link)])
    if aqm is not None:
        blocks += _aqm_blocks(f"{under}aqm", _plain(aqm))
    return blocks + classes + _change_blocks(changes, under)


def format_nodes(
    nodes: Sequence[tuple[str, Link, Aqm]],
    flows: Sequence[Flows],
    network: Record,
    scenario: Record | None = None,
    changes: Sequence[Change] = (),
) -> str:
    """Return a network, each node its name, its link and its queue, as text.

    Its own fields are the first table; if it is that of a `scenario`, with those of this one.
    """
    own = _lines(_plain(scenario), {"network", "changes"}) if scenario else []
    own += _lines(network, {"nodes", "flows"})
    blocks = [own] if own else []
    for name, link, aqm in nodes:
        blocks.append(["[[node]]", f"name = {text_value(name)}", *_lines(_plain(link))])
        blocks += _aqm_blocks("node.aqm", _plain(aqm))
    return joined(blocks + _class_blocks(flows) + _change_blocks(changes))


def _change_blocks(changes: Sequence[Change], under: str = "") -> list[list[str]]:
    """Return a table for each change; many of one capacity alone are rows of one table."""
    plain = [_plain(change) for change in changes]
    times = Counter(change.at for change in plain)
    rows: dict[str | None, list[Change]] = {}
    for change in plain:
        if (
            change.capacity is not None
            and len(_lines(change)) == 2 + (change.link is not None)
            and times[change.at] == 1
        ):
            rows.setdefault(change.link, []).append(change)
    rows = {link: row for link, row in rows.items() if len(row) >= _MANY}
    traced = {id(change) for row in rows.values() for change in row}
    blocks = [
        [f"[[{under}changes]]", *_lines(change)] for change in plain if id(change) not in traced
    ]
    for link, row in rows.items():
        blocks.append(
            [
                f"[[{under}traces]]",
                *([] if link is None else [f"link = {text_value(link)}"]),
                f"times = [{', '.join(_number(change.at) for change in row)}]",
                f"capacities = [{', '.join(_number(change.capacity or 0.0) for change in row)}]",
            ]
        )
    return blocks


def joined(blocks: Sequence[Sequence[str]]) -> str:
    """Return tables as one text, an empty line between each and the next."""
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _class_blocks(flows: Sequence[Flows], under: str = "") -> list[list[str]]:
    """Return the table of each class of flows."""
    blocks = []
    kinds = [_kind_in_text(each.sender) for each in flows]
    for kind, each in zip(kinds, map(_plain, flows), strict=True):
        # 0 is what a sender of constant rate has without being given.
        free = each.sender.constant_rate is not None and each.base_rtt == 0.0
        lines = _lines(each, {"sender", "base_rtt"} if free else {"sender"})
        blocks.append(
            [f"[[{under}flows]]", f"sender = {text_value(kind)}", *_lines(each.sender), *lines]
        )
    return blocks


def _aqm_blocks(name: str, aqm: Aqm) -> list[list[str]]:
    """Return the table of a queue, and those of the queues that it consists of."""
    kind = _kind_in_text(aqm)
    parts = {
        key: part
        for key, field in keys_of(type(aqm)).items()
        if isinstance(part := getattr(aqm, field.name), Aqm) and not _is_default(field, part)
    }
    blocks = [[f"[{name}]", f"kind = {text_value(kind)}", *_lines(aqm, parts)]]
    for key, part in parts.items():
        blocks += _aqm_blocks(f"{name}.{key}", part)
    return blocks


def _plain(record: T) -> T:
    """Return a record with floats in the place of what `jax.jit` or `tree.map` returned."""
    try:
        plain: T = map_leaves(lambda number, _: float(number), record)
    except TypeError:
        raise UnsupportedError(
            "the scenario holds arrays, or numbers that JAX is tracing, and TOML text describes one"
            " run: give one number for each."
        ) from None
    return plain


def _kind_in_text(law: Any) -> str:
    kind = kind_of(law)
    if kind is None:
        raise UnsupportedError(
            f"{type(law).__name__} is a law of your own, which TOML text cannot name: pickle the"
            " scenario, or use a law of the package."
        )
    return kind


def _lines(record: Record, skip: Collection[str] = ()) -> list[str]:
    """Return `key = value` for every field that differs from its default."""
    lines = []
    for key, field in keys_of(type(record)).items():
        value = getattr(record, field.name)
        if key not in skip and not _is_default(field, value):
            lines.append(f"{key} = {_value(value, field)}")
    for key, (field, value) in keys_beside(record).items():
        if value is not None:
            lines.append(f"{key} = {_value(value, field)}")
    return lines


def _is_default(field: Field[Any], value: object) -> bool:
    default = _default(field)
    if value is None or default is None or default is MISSING:
        return value is None
    return bool(value == default)


_default = cache(default_of)


def _value(value: Any, field: Field[Any]) -> str:
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {_number(count)}" for key, count in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, Sizes):
        return f"{{ {', '.join([f'kind = {text_value(value.kind)}', *_lines(value)])} }}"
    if isinstance(value, tuple):
        return f"[{', '.join(_value(item, field) for item in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return text_value(value)
    if isinstance(value, Sines):
        return text_value(str(value))
    if callable(value):
        raise UnsupportedError(
            f"{field.name} = {show_value(value)} is a function, which TOML text cannot hold:"
            " pickle the scenario, or give a number or Sines."
        )
    rule = field.metadata.get("quantity") or field.metadata.get("quantities") or {}
    dimension = rule.get("dimension", "number")
    if dimension in _UNITLESS:
        return _number(value)
    return f'"{format_quantity(value, dimension)}"'


def _number(value: SupportsFloat) -> str:
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < _WHOLE else repr(number)


def _key(key: str) -> str:
    return key if BARE_KEY.fullmatch(key) else text_value(key)


def text_value(text: str) -> str:
    """Return a text as TOML has it, in quotes."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ScenarioError(
            f"{show_value(text)} has a character that no text file holds: use another name."
        ) from None
    # JSON's strings are TOML's, but for one control character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
