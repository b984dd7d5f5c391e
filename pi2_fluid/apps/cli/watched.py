"""What `pi2-fluid watch` says of an instant as a block of text, and at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pi2_fluid.deployment.watching import Instant, Row
from pi2_fluid.deployment.watching.changes import last_of
from pi2_fluid.deployment.watching.wording import (
    time_said,
    waiting_said,
)

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

    from pi2_fluid.deployment.watching.bottleneck import Bottleneck
    from pi2_fluid.deployment.watching.rows import Counted

#: Above the columns, but for the names.
_TITLES: Final = ("out", "in", "at most", "waiting", "ms delay", "% p", "drops/s", "marks/s")
_PREFIXES: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_BIT: Final = ("bit/s", 1.0)
_LONG: Final = 1000.0  # from there on no digits behind the point, and no powers of ten
_LAST_RATE: Final = 2  # of the columns
_KEPT: Final = 5  # changes that the end names


def block_of(instant: Instant, warnings: Sequence[str] = ()) -> Group:
    """Return the tree, the bottleneck and the last change, to be printed."""
    from rich.console import Group
    from rich.text import Text

    from pi2_fluid.apps.cli.output import make_grid

    unit, size = _unit(instant.rows)
    rows = [_cells(row, size) for row in instant.rows]
    used = [at for at in range(len(_TITLES)) if any(row[1 + at] for row in rows)]
    grid = make_grid("left", *("right" for _ in used))
    grid.columns[0].no_wrap = True
    grid.add_row(
        f"rates in {unit}" if min(used, default=99) <= _LAST_RATE else "",
        *(_TITLES[at] for at in used),
    )
    for row in rows:
        grid.add_row(row[0], *(row[1 + at] for at in used))
    step = "" if instant.interval is None else f", rates over {instant.interval:.3g} s"
    where = instant.device or "a device without a name"
    parts: list[RenderableType] = [
        Text(f"{where}, {time_said(instant.time, instant.number)}{step}"),
        grid,
        Text(f"bottleneck: {bottleneck_said(instant.bottleneck)}"),
    ]
    if (last := last_of(instant.changes)) is not None:
        parts.append(Text(f"last change: {time_said(last.time, last.output)}, {last.what}"))
    parts += [Text(f"note: {sentence}") for sentence in (*warnings, *instant.warnings)]
    return Group(*parts)


def _unit(rows: Sequence[Row]) -> tuple[str, float]:
    """Return the unit that all rates are told in, and how large it is (bit/s)."""
    rates = [rate for row in rows for rate in (row.rate_out, row.rate_in, row.limit)]
    largest = max((rate for rate in rates if rate is not None), default=0.0)
    return next(((f"{prefix}bit/s", size) for size, prefix in _PREFIXES if largest >= size), _BIT)


def _cells(row: Row, size: float) -> tuple[str, ...]:
    name = row.band or (f"class {row.handle}" if row.is_class else row.name)
    return (
        "  " * row.depth + name,
        _number(row.rate_out, size),
        _number(row.rate_in, size),
        _number(row.limit, size),
        waiting_said(row.qlen, row.backlog),
        ("~" if row.delay_from == "backlog" and row.delay else "") + _number(row.delay, 1e-3),
        _number(row.p, 1e-2),
        _number(row.drops),
        _number(row.marks),
    )


def _number(value: float | None, size: float = 1.0) -> str:
    if value is None:
        return ""
    scaled = value / size
    return f"{scaled:.0f}" if abs(scaled) >= _LONG else f"{scaled:.3g}"


def bottleneck_said(found: Bottleneck) -> str:
    """Return who is the bottleneck, in a line."""
    if found.queue is not None:
        return f"{found.queue} ({found.evidence})"
    if found.verdict == "none here":
        return f"none on this device ({found.evidence})"
    return f"{found.verdict} ({found.evidence})"


@dataclass
class Total:
    """What is said of a device at the end."""

    first: Instant | None = None
    last: Instant | None = None
    starts: Mapping[object, Counted] = field(default_factory=dict)

    def add(self, instant: Instant, starts: Mapping[object, Counted]) -> None:
        """Take the next instant, and the counters that each row had first."""
        self.first = self.first or instant
        self.last = instant
        self.starts = starts


def lines_of_end(total: Total) -> list[str]:
    """Return the last words: how long, what left, was dropped and marked, and what it says."""
    first, last = total.first, total.last
    if first is None or last is None:
        return []
    times = (first.time, last.time)
    length = None if None in times else times[1] - times[0]  # type: ignore[operator]
    span = f" in {length:.3g} s" if length else ""
    where = last.device or "a device without a name"
    said = [f"{where}: {last.number} output{'s' * (last.number > 1)}{span}."]
    for row in last.rows:
        if row.depth == 0 and not row.is_class and last.number > 1:
            said.append(_over_all(row, total.starts.get(row.key)))
    said.append(f"Bottleneck: {bottleneck_said(last.bottleneck)}.")
    for change in last.changes[-_KEPT:]:
        said.append(f"Change: {time_said(change.time, change.output)}, {change.what.rstrip(':')}.")
    for name, sentences in last.says.items():
        said.append(f"{name.rstrip(':')}: {sentences[0]}")
    return [line for line in said if line]


def _over_all(row: Row, start: Counted | None) -> str:
    if start is None:
        return ""
    gained = {
        name: row.totals[name] - start.counts.get(name, 0.0)
        for name in ("bytes", "packets", "drops", "ecn_mark")
        if name in row.totals
    }
    if "packets" not in gained:
        return ""
    parts = [f"{gained['packets']:.0f} packets left"]
    parts += [f"{gained['drops']:.0f} dropped"] if "drops" in gained else []
    parts += [f"{gained['ecn_mark']:.0f} marked"] if "ecn_mark" in gained else []
    return f"{row.name} {', '.join(parts)}."
