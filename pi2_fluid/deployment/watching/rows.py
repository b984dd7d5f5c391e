"""A row of the tree: what one queue, class, band or tin did since the output before.

Source: Linux 6.18, net/sched/sch_generic.c, gen_stats; the man pages of tc for the counters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pi2_fluid.tc.observing.following import Shown

_BITS: Final = 8.0
#: What a queue says of its delay, the first that is there.
_DELAYS: Final = ("delay", "ldelay", "avg_delay")
_MARKS: Final = ("ecn_mark", "ce_mark", "marked")
#: Queues that hold packets on purpose: what waits in them is no sign of a full link.
HOLDING: Final = frozenset({"netem", "fq", "etf", "taprio"})


@dataclass(frozen=True, kw_only=True)
class Counted:
    """The counters of a row at one time (s, None where nothing says it)."""

    time: float | None
    counts: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One queue, class, band or tin at one instant.

    Rates are those since the output before, None where there is none, or no time.

    Parameters
    ----------
    name : str
        Such as "pie 110:", "class htb 1:10", "dualpi2 1: L".
    depth : int
        How many stand above it.
    kind, handle, parent, band : str
        As tc has them; a class has its name as handle; "" of a band is the whole.
    is_class : bool
    rate_in, rate_out : float or None
        What came and what left (bit/s). What came is what left, with what the backlog grew by and
        what was dropped, the latter at the mean size of what left.
    packets_out, drops, marks, overlimits : float or None
        Of each so many a second.
    backlog, qlen : float or None
        Bytes and packets that wait.
    delay : float or None
        How long packets wait (s).
    delay_from : str
        "tc" where the queue shows it, "backlog" where it is the backlog at the rate out, else "".
    p : float or None
        Probability of a signal.
    limit : float or None
        The most that it lets through (bit/s).
    totals : mapping of str to float
        Its counters as tc shows them, since it was made.
    """

    name: str
    depth: int
    kind: str
    handle: str
    parent: str | None
    band: str = ""
    is_class: bool = False
    rate_in: float | None = None
    rate_out: float | None = None
    packets_out: float | None = None
    drops: float | None = None
    marks: float | None = None
    overlimits: float | None = None
    backlog: float | None = None
    qlen: float | None = None
    delay: float | None = None
    delay_from: str = ""
    p: float | None = None
    limit: float | None = None
    totals: Mapping[str, float]

    @property
    def key(self) -> tuple[bool, str | None, str, str, str]:
        """What tells it from the others of a device."""
        return self.is_class, self.parent, self.kind, self.handle, self.band


def row_of(
    shown: Shown,
    band: str,
    now: Counted,
    before: Counted | None,
    *,
    depth: int,
    limit: float | None,
) -> Row:
    """Return the row of a queue or one of its bands, from its counters now and before."""
    counts = now.counts
    rates = _rates(now, before)
    backlog, qlen = counts.get("backlog"), counts.get("qlen")
    out, packets = rates.get("bytes"), rates.get("packets")
    drops, grown = rates.get("drops"), rates.get("backlog")
    came: float | None = None
    if out is not None:
        size = out / packets if packets else 0.0
        came = max(0.0, _BITS * (out + (grown or 0.0) + size * (drops or 0.0)))
    delay, source = _delay(counts, None if out is None else _BITS * out)
    marks = [rates[name] for name in _MARKS if name in rates]
    return Row(
        name=f"{shown.name} {band}".strip(),
        depth=depth,
        kind=shown.kind,
        handle=shown.handle,
        parent=shown.parent,
        band=band,
        is_class=shown.is_class,
        rate_in=came,
        rate_out=None if out is None else _BITS * out,
        packets_out=packets,
        drops=drops,
        marks=sum(marks) if marks else None,
        overlimits=rates.get("overlimits"),
        backlog=backlog,
        qlen=qlen,
        delay=delay,
        delay_from=source,
        p=counts.get("prob"),
        limit=limit,
        totals=counts,
    )


def _rates(now: Counted, before: Counted | None) -> dict[str, float]:
    """Return what each counter gained a second; nothing where time stands still or is not known.

    What fell is left out: the queue was made anew.
    """
    if before is None or now.time is None or before.time is None or now.time <= before.time:
        return {}
    step = now.time - before.time
    gained = {
        name: (value - before.counts[name]) / step
        for name, value in now.counts.items()
        if name in before.counts
    }
    return {name: rate for name, rate in gained.items() if rate >= 0 or name == "backlog"}


def _delay(counts: Mapping[str, float], out: float | None) -> tuple[float | None, str]:
    for name in _DELAYS:
        if name in counts:
            return counts[name], "tc"
    backlog = counts.get("backlog")
    if backlog is None or out is None:
        return None, ""
    if backlog == 0:
        return 0.0, "backlog"
    return (_BITS * backlog / out, "backlog") if out > 0 else (None, "")
