"""What the counters of CoDel's queues say: codel, fq_codel, and each tin of cake.

Source: Linux 6.18, include/net/codel_impl.h, net/sched/sch_codel.c, sch_fq_codel.c; RFC 8290,
sections 4.1 and 5.2.
"""

from __future__ import annotations

import math
from typing import Final

from pi2_fluid.deployment.heard import Heard

#: Of all that came: at this part a window of Reno is 5.5 segments, and losses begin to time out.
MOST_DROPPED: Final = 0.05
_FEW_MARKS: Final = 0.1  # of all signals
_FRAME: Final = 1514  # bytes
_SPARSE: Final = 0.1  # of all packets
_DENSE: Final = 0.01


def of_codel(heard: Heard) -> tuple[str, ...]:
    """Return what there is to say of codel or fq_codel beside where it stands."""
    said = (
        overloaded(heard.dropped, heard.sent, heard.when),
        who_marks(heard.dropped - heard.at_the_limit, heard.marked, heard.when)
        if heard.marks
        else "",
        _waits(heard),
        _sparse(heard),
        _aggregates(heard),
    )
    return tuple(filter(None, said))


def overloaded(dropped: float, sent: float, when: str) -> str:
    """Say that more is dropped than windows can answer; "" if it is not."""
    came = dropped + sent
    if not came or dropped / came < MOST_DROPPED:
        return ""
    part = dropped / came
    window = math.sqrt(1.5 / part)
    return (
        f"overloaded: {100.0 * part:.2g} % of the packets that came {when} were dropped"
        f" ({dropped:.0f} of {came:.0f}). A Reno flow then has some {window:.2g} packets under way:"
        " too many flows for this rate, or traffic that does not answer."
    )


def who_marks(drops: float, marks: float, when: str) -> str:
    """Say that nearly all signals were drops, though the queue marks where it can."""
    if drops <= 0 or marks <= 0 or marks / (drops + marks) >= _FEW_MARKS:
        return ""
    return (
        f"hardly any sender uses ECN: it marks what can be marked, {marks:.0f} packets {when},"
        f" beside {drops:.0f} drops."
    )


def _waits(heard: Heard) -> str:
    """Say how long the last packet of codel has waited, if that is above its target."""
    delay, target = heard.now[-1].get("ldelay"), heard.options.get("target")
    if delay is None or target is None or delay <= target:
        return ""
    return f"the last packet waited {in_ms(delay)}, target {in_ms(target)}."


def _sparse(heard: Heard) -> str:
    """Say how much of the traffic is of flows that keep no queue."""
    fresh = heard.totals.get("new_flow_count")
    if fresh is None or heard.sent == 0 or not heard.dropped + heard.marked:
        return ""
    part = min(fresh / heard.sent, 1.0)
    count = f"{100.0 * part:.2g} % of the packets ({fresh} of {heard.sent})"
    if part >= _SPARSE:
        return (
            f"{count} found no other of their flow, and went before flows that keep a queue: they"
            " are of sparse or short flows."
        )
    if part < _DENSE:
        return f"{count} found no other of their flow: nearly all are of flows that keep a queue."
    return ""


def _aggregates(heard: Heard) -> str:
    """Say that packets are aggregates, which are served whole."""
    largest = int(heard.most("maxpacket"))
    if largest <= 2 * _FRAME:
        return ""
    quantum = heard.options.get("quantum")
    turns = f", {math.ceil(largest / quantum)} turns of its quantum" if quantum else ""
    takes = f", {in_ms(8.0 * largest / heard.rate)} at this rate" if heard.rate else ""
    return (
        f"its largest packet had {largest} bytes{turns}{takes}: offloads (GSO, TSO, GRO) join"
        " packets, and others wait for them. cake splits them; `ethtool -K DEV tso off gso off gro"
        " off` avoids them."
    )


def in_ms(seconds: float) -> str:
    """Return a time as text, in the unit that suits it.

    Examples
    --------
    >>> in_ms(4e-6), in_ms(0.0154), in_ms(1.0)
    ('4 us', '15.4 ms', '1 s')
    """
    if seconds >= 1.0:
        return f"{seconds:.3g} s"
    return f"{1e6 * seconds:.3g} us" if seconds < 1e-3 else f"{1e3 * seconds:.3g} ms"
