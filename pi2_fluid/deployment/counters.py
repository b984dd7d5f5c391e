"""What the counters of a queue say in words: of its place, of its load, and of who sends.

They change no verdict, which is of the law and not of a moment.

Source: Linux 6.18, net/sched/sch_pie.c, sch_fq_pie.c, sch_dualpi2.c, sch_codel.c, sch_fq_codel.c,
sch_red.c; iproute2 7.3, the functions print_xstats.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from pi2_fluid.deployment.cake_counters import of_cake
from pi2_fluid.deployment.flow_counters import of_codel
from pi2_fluid.deployment.heard import Heard, heard_of
from pi2_fluid.deployment.other_counters import OTHERS, of_others
from pi2_fluid.errors import QuantityError
from pi2_fluid.tc.codel import codel_numbers
from pi2_fluid.tc.observing import Series
from pi2_fluid.tc.options import KINDS
from pi2_fluid.tc.strangers import STRANGERS

ONE_INSTANT: Final = (
    "Counters run since the queue was made; p, delay and backlog are of one instant. Two outputs of"
    " `tc -s`, some seconds apart, show what happens now."
)
#: At this p a window of Reno is two segments, below which flows can hardly go.
_SATURATED: Final = 0.5
_MARKED_UP_TO: Final = 0.1  # of PIE, by Linux
_FEW: Final = 2  # packets: that many wait in any queue that hands them on at once


def observed_of(series: Series, rate: float | None = None) -> tuple[str, ...]:
    """Return what the counters of a queue say, see `words_of`; nothing where there are none.

    `rate` is that (bit/s) of the link or shaper that is above it, where it is known.
    """
    shown, block = series.statistics, series.last
    if not shown or block.kind not in {*KINDS, *STRANGERS} or "packets" not in shown[-1]:
        return ()
    options = block.options if block.ours else block.words
    marks = block.kind in {"dualpi2", "cake"} or bool(options.get("ecn", 0) != 0)
    k = float(block.options.get("coupling_factor", 2.0))
    numbers: dict[str, Any] = {}
    with suppress(QuantityError):  # of what is cut off nothing is known
        numbers = codel_numbers(block)
    return words_of(heard_of(block.kind, shown, marks=marks, k=k, options=numbers, rate=rate))


def words_of(heard: Heard) -> tuple[str, ...]:
    """Return what there is to say, a sentence each; the most telling first.

    Examples
    --------
    >>> counters = {"packets": 9000, "drops": 0, "ecn_mark": 0, "maxq": 1, "prob": 0.0, "qlen": 0}
    >>> words_of(heard_of("pie", [counters]))[0]
    'not the bottleneck: none of 9000 packets sent has found more than 1 waiting.'
    """
    when = heard.when
    if heard.sent == 0:
        return (f"no packet has left {when}.",)
    if heard.kind in OTHERS:
        return of_others(heard)
    if heard.kind == "cake":
        found = (_place(heard, when), *of_cake(heard), _who(heard, when))
        return tuple(filter(None, found))
    beside = of_codel(heard) if heard.kind in {"codel", "fq_codel"} else ()
    said = (
        _place(heard, when),
        _load(heard),
        _tail(heard, when),
        _who(heard, when),
        _classes(heard, when),
        *beside,
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
    early = heard.dropped - heard.at_the_limit  # of cake also those of BLUE, and for memory
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
