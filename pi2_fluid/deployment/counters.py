"""What the counters of a queue say in words: of its place, of its load, and of who sends.

They change no verdict, which is of the law and not of a moment.

Source: Linux 6.18, net/sched/sch_pie.c, sch_fq_pie.c, sch_dualpi2.c, sch_codel.c, sch_fq_codel.c,
sch_red.c; iproute2 7.3, the functions print_xstats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pi2_fluid.tc.observing import Series
from pi2_fluid.tc.options import KINDS
from pi2_fluid.tc.statistics import MOMENTARY, STRANGERS

__all__ = ["ONE_INSTANT", "Heard", "heard_of", "observed_of", "words_of"]

ONE_INSTANT: Final = (
    "Counters run since the queue was made; p, delay and backlog are of one instant. Two outputs of"
    " `tc -s`, some seconds apart, show what happens now."
)
#: At this p a window of Reno is two segments, below which flows can hardly go.
_SATURATED: Final = 0.5
_MARKED_UP_TO: Final = 0.1  # of PIE, by Linux
_FEW: Final = 2  # packets: that many wait in any queue that hands them on at once


@dataclass(frozen=True, kw_only=True)
class Heard:
    """The counters of one queue, over all its time or between two snapshots.

    Parameters
    ----------
    kind : str
    totals : mapping
        What was counted, by tc's names.
    now : sequence of mapping
        What held at each snapshot: p, delays, backlog.
    between : bool
        Whether `totals` are those between two snapshots.
    marks : bool
        Whether it marks packets that can be marked.
    k : float
        The coupling factor of dualpi2.
    """

    kind: str
    totals: Mapping[str, Any]
    now: Sequence[Mapping[str, Any]]
    between: bool = False
    marks: bool = True
    k: float = 2.0

    @property
    def sent(self) -> int:
        """How many packets have left."""
        return int(self.totals.get("packets", 0))

    @property
    def at_the_limit(self) -> int:
        """How many were dropped as the queue was full: of its packets or of its memory."""
        names = {
            "pie": ("overlimit",),
            "fq_pie": ("overlimit", "overmemory"),
            "dualpi2": ("overlimits",),
            "codel": ("drop_overlimit",),
            "fq_codel": ("drop_overlimit", "drop_overmemory"),
            "red": ("pdrop",),
        }[self.kind]
        return sum(int(self.totals.get(name, 0)) for name in names)

    @property
    def dropped(self) -> int:
        """How many were dropped, for whatever cause."""
        return int(self.totals.get("drops", 0))

    @property
    def marked(self) -> int:
        """How many were marked."""
        return int(self.totals.get("marked" if self.kind == "red" else "ecn_mark", 0))

    def most(self, name: str) -> float:
        """Return the largest value at a snapshot; 0 where it is not shown."""
        return max((float(one.get(name, 0.0)) for one in self.now), default=0.0)


def observed_of(series: Series) -> tuple[str, ...]:
    """Return what the counters of a queue say, see `words_of`; nothing where there are none."""
    shown, block = series.statistics, series.last
    if not shown or block.kind not in {*KINDS, *STRANGERS} or "packets" not in shown[-1]:
        return ()
    options = block.options if block.ours else block.words
    marks = block.kind == "dualpi2" or bool(options.get("ecn", 0) != 0)
    k = float(block.options.get("coupling_factor", 2.0))
    return words_of(heard_of(block.kind, shown, marks=marks, k=k))


def heard_of(
    kind: str, snapshots: Sequence[Mapping[str, Any]], *, marks: bool = True, k: float = 2.0
) -> Heard:
    """Return what the counters of one queue say, from its snapshots in order.

    Of several it is what was counted from the first to the last, unless the queue was made anew in
    between.
    """
    last = snapshots[-1]
    counted = {name: value for name, value in last.items() if name not in MOMENTARY}
    between = len(snapshots) > 1
    if between:
        first = snapshots[0]
        since = {name: value - first.get(name, 0) for name, value in counted.items()}
        between = all(value >= 0 for value in since.values())
        counted = since if between else counted
    now = snapshots if between else snapshots[-1:]
    return Heard(kind=kind, totals=counted, now=now, between=between, marks=marks, k=k)


def words_of(heard: Heard) -> tuple[str, ...]:
    """Return what there is to say, a sentence each; the most telling first.

    Examples
    --------
    >>> counters = {"packets": 9000, "drops": 0, "ecn_mark": 0, "maxq": 1, "prob": 0.0, "qlen": 0}
    >>> words_of(heard_of("pie", [counters]))[0]
    'not the bottleneck: none of 9000 packets sent has found more than 1 waiting.'
    """
    when = "between the snapshots" if heard.between else "since it was made"
    if heard.sent == 0:
        return (f"no packet has left {when}.",)
    said = (
        _place(heard, when),
        _load(heard),
        _tail(heard, when),
        _who(heard, when),
        _classes(heard, when),
    )
    return tuple(filter(None, said))


def _place(heard: Heard, when: str) -> str:
    """Say whether it is the bottleneck, as far as can be seen."""
    largest = heard.now[-1].get("maxq")
    if largest is not None and largest <= _FEW:
        return (
            f"not the bottleneck: none of {heard.sent} packets sent has found more than"
            f" {largest} waiting."
        )
    if heard.dropped or heard.marked:
        if heard.most("qlen") <= 1 and "prob" in heard.now[-1] and heard.most("prob") == 0.0:
            return "not the bottleneck now: nothing waits, and p is 0."
        return ""
    if heard.most("prob") > 0.0:
        return ""
    return f"not the bottleneck: of {heard.sent} packets sent {when} none was marked or dropped."


def _load(heard: Heard) -> str:
    """Say whether p is beyond what flows can answer."""
    p = heard.most("prob")
    if heard.kind == "dualpi2" and p * heard.k >= 1.0:
        return (
            f"overloaded: p' is {p:.2g}, where all L4S packets are marked (1/{heard.k:g}) and drops"
            " begin: too many flows, or traffic that does not answer."
        )
    if heard.kind == "pie" and p >= _SATURATED:
        return (
            f"overloaded: p is {p:.2g}, where a Reno flow has two segments under way: too many"
            " flows, or traffic that does not answer."
        )
    if heard.kind == "pie" and p > _MARKED_UP_TO and heard.marks:
        return f"p is {p:.2g}: above 10 % PIE drops what it could mark."
    return ""


def _tail(heard: Heard, when: str) -> str:
    full = heard.at_the_limit
    if full == 0:
        return ""
    of = f" of {heard.dropped}" if heard.dropped >= full else ""
    return (
        f"its buffer was full: {full}{of} drops {when} were at the limit, not by the controller."
        " The limit is too small, or the queue is overloaded."
    )


def _who(heard: Heard, when: str) -> str:
    """Say whether anything that was signalled could have been marked."""
    early = heard.dropped - heard.at_the_limit
    if heard.kind == "dualpi2" or heard.marked > 0 or early <= 0 or not heard.marks:
        return ""
    above = " while p was below 10 %" if heard.kind in {"pie", "fq_pie"} else ""
    return (
        f"no ECN-capable packet seen{above}: all {early} signals {when} were drops, though it marks"
        " where it can."
    )


def _classes(heard: Heard, when: str) -> str:
    """Say which of the two queues of dualpi2 are used."""
    if heard.kind != "dualpi2":
        return ""
    if heard.totals.get("pkts_in_l") == 0:
        no_marks = heard.dropped > 0 and heard.marked == 0
        more = ", and what was signalled was not ECN-capable either" * no_marks
        return f"no L4S packet (ECT(1), or CE) seen {when}{more}: no sender asks for it."
    if heard.totals.get("pkts_in_c") == 0:
        return f"no Classic packet seen {when}: p' stays at 0, and only the step marks."
    return ""
