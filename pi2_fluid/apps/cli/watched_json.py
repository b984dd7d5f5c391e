"""What `pi2-fluid watch --json` prints of an instant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pi2_fluid.deployment.watching import Instant, Row

#: What a line of `--json` has.
EXPLAINED: Final = {
    "device": 'its name; "" where nothing says it',
    "time": "s since 1970, or since midnight where the log has no date; null where it has no time",
    "number": "how many outputs of the device there were, with this",
    "interval": "s since the output before; null of the first, or without times",
    "queues": (
        "a list: each queue, class, band and tin, behind what it stands below. Rates are those"
        " since the output before, null without one"
    ),
    "queues.name": 'such as "pie 110:", "class htb 1:10" or "cake 1: tin Voice"',
    "queues.kind": "as tc calls it",
    "queues.handle": 'as tc has it; of a class its name, such as "1:10"',
    "queues.parent": 'where it hangs; "root" at the top',
    "queues.band": 'C or L of dualpi2, "tin NAME" of cake, "" of a whole queue',
    "queues.class": "whether it is a class",
    "queues.depth": "how many stand above it",
    "queues.rate_in": "bit/s that came: what left, what the backlog grew by, and what was dropped",
    "queues.rate_out": "bit/s that left",
    "queues.packets_out": "packets per second that left",
    "queues.drops": "packets per second",
    "queues.marks": "packets per second",
    "queues.overlimits": "times per second that a rate or a limit held a packet",
    "queues.backlog": "bytes that wait",
    "queues.qlen": "packets that wait",
    "queues.delay": "s that packets wait",
    "queues.delay_from": '"tc" if the queue shows it, "backlog" if it is that at the rate out',
    "queues.p": "probability of a signal, where the queue shows it",
    "queues.limit": "bit/s that it lets through at most",
    "queues.totals": "an object: its counters, by tc's names, since it was made",
    "queues.says": "a list: what its counters say, a sentence each",
    "bottleneck": "who it is",
    "bottleneck.verdict": '"found", "none here" or "cannot be told"',
    "bottleneck.queue": "its name, or null",
    "bottleneck.evidence": "what says so",
    "last_change": "what changed last, or null",
    "last_change.time": "s, as time above",
    "last_change.number": "at which output",
    "last_change.what": "in words",
    "warnings": "a list: what could not be read, or is not known",
}


def to_dict(instant: Instant, warnings: Sequence[str] = ()) -> dict[str, Any]:
    """Return what JSON has of an instant, see `EXPLAINED`."""
    from pi2_fluid.deployment.watching.changes import last_of

    change = last_of(instant.changes)
    return {
        "device": instant.device,
        "time": instant.time,
        "number": instant.number,
        "interval": instant.interval,
        "queues": [_row_dict(row, instant.says) for row in instant.rows],
        "bottleneck": instant.bottleneck._asdict(),
        "last_change": None
        if change is None
        else {"time": change.time, "number": change.output, "what": change.what},
        "warnings": [*warnings, *instant.warnings],
    }


def _row_dict(row: Row, says: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    return {
        "name": row.name,
        "kind": row.kind,
        "handle": row.handle,
        "parent": row.parent,
        "band": row.band,
        "class": row.is_class,
        "depth": row.depth,
        "rate_in": row.rate_in,
        "rate_out": row.rate_out,
        "packets_out": row.packets_out,
        "drops": row.drops,
        "marks": row.marks,
        "overlimits": row.overlimits,
        "backlog": row.backlog,
        "qlen": row.qlen,
        "delay": row.delay,
        "delay_from": row.delay_from,
        "p": row.p,
        "limit": row.limit,
        "totals": dict(row.totals),
        "says": list(says.get(row.name, ())),
    }
