"""Bring docs/reference/parameters.md up to date: python tools/write_parameters.py."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pi2_fluid.laws.kernel.qdiscs import QDISCS
from pi2_fluid.laws.registry import AQMS, SENDERS, aqm_class, sender_class
from pi2_fluid.records.record import is_needed
from pi2_fluid.saving import save_text
from pi2_fluid.units import si_unit

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "parameters.md"
BEGIN = "<!-- parameters: begin -->"
END = "<!-- parameters: end -->"
OPTIONS_BEGIN = "<!-- options: begin -->"
OPTIONS_END = "<!-- options: end -->"


def rows(kind: str, cls: Any) -> Iterator[str]:
    """Yield a row for each parameter of a law: what its field declares."""
    for field in dataclasses.fields(cls):
        if not field.init:
            continue
        rule: dict[str, Any] = field.metadata.get("quantity", {})
        allowed = taken(field)
        if "beside" in field.metadata:
            continue
        key = field.metadata.get("key", field.name)
        where = "packets" if field.name in cls.packets_only else cls.only_in or "all"
        tc = tc_word(field, rule) if kind in AQMS and AQMS[kind].tc else ""
        yield f"| {kind} | `{key}` | {allowed} | {default(field)} | {where} | {tc} |"


def taken(field: dataclasses.Field[Any]) -> str:
    """Return what a field may be."""
    rule: dict[str, Any] = field.metadata.get("quantity", {})
    if rule:
        low, high = "[" if rule["closed"] else "(", "]" if rule["high"] < float("inf") else ")"
        span = f"{low}{rule['low']:.10g}, {rule['high']:.10g}{high} {si_unit(rule['dimension'])}"
        return span.strip()
    if "allowed" in field.metadata:
        return str(field.metadata["allowed"])
    return ", ".join(word(value) for value in field.metadata["choice"])


def tc_word(field: dataclasses.Field[Any], rule: dict[str, Any]) -> str:
    """Return tc's word for a field, and what it counts in; "" if it has none."""
    word, unit = field.metadata.get("tc"), field.metadata.get("kernel")
    if word is None or unit is None:
        return ""
    part = f"1/{unit.per_si} {si_unit(rule['dimension'])}" if unit.per_si > 1 else ""
    part = {"1/1000000 s": "us", "1/100 ": "%"}.get(part, part)
    return f"`{word}`{', ' if part else ''}{part}"


def default(field: dataclasses.Field[Any]) -> str:
    """Return a default as text has it, "needed" where there is none, "-" for None."""
    return "needed" if is_needed(field) else word(field.default)


def word(value: Any) -> str:
    """Return a value as TOML has it."""
    if value is None:
        return "-"
    return str(value).lower() if isinstance(value, bool) else f"{value}"


def table() -> str:
    """Return the table in Markdown."""
    lines = [
        "| kind | parameter | allowed | default | heeded by | tc |",
        "|---|---|---|---|---|---|",
    ]
    for kinds, find in ((SENDERS, sender_class), (AQMS, aqm_class)):
        for kind in kinds:
            lines += rows(kind, find(kind))
    return "\n".join(lines)


def options() -> str:
    """Return the table of what queue disciplines of the kernel's own can be told."""
    lines = ["| qdisc | option | allowed | what it is |", "|---|---|---|---|"]
    for name, known in QDISCS.items():
        for option, (field, said) in known.items():
            allowed = taken(field).removeprefix("-, ")
            lines.append(f"| {name} | `{option}` | {allowed} | {said} |")
    return "\n".join(lines)


def page(text: str) -> str:
    """Return the page with the tables of today between the marks."""
    for begin, made, end in ((BEGIN, table(), END), (OPTIONS_BEGIN, options(), OPTIONS_END)):
        head, _, rest = text.partition(begin)
        text = f"{head}{begin}\n{made}\n{end}{rest.partition(end)[2]}"
    return text


if __name__ == "__main__":
    save_text(PAGE, page(PAGE.read_text(encoding="utf-8")))
