"""CoDel's rules of thumb as verdicts on codel, fq_codel and cake, and the line that keeps them.

Interval: about the longest round-trip time, so that senders can answer before the next drop; 100 ms
does excellently from 10 to 300 ms.
Target: 5 to 10 % of the interval, but no less than one packet takes at the rate, as there never is
less delay than that. Where that is more, cake and SQM's scripts lengthen the interval by as much.

Source: RFC 8289, sections 4.2 to 4.4; RFC 8290, sections 5.2.1 and 5.2.2; Linux 6.18,
net/sched/sch_cake.c (cake_set_rate).
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pi2_fluid.deployment.flow_counters import in_ms
from pi2_fluid.tc.block import Block
from pi2_fluid.tc.flow_queues import codel_line, law_and_buffer
from pi2_fluid.units import rate_in_words

#: Bytes of a full packet, with the header of Ethernet.
FRAME: Final = 1514.0
_LOW: Final = 0.05
_HIGH: Final = 0.10
_SLACK: Final = 1.02  # of what tc rounds
#: An interval of 100 ms does excellently from 10 to 300 ms: these times the interval are too much.
_LATE: Final = 10.0
_EARLY: Final = 3.0
_STEP: Final = 1e-4  # s, to which a target is rounded up


class Rule(NamedTuple):
    """A rule of thumb, and whether a queue keeps it.

    Attributes
    ----------
    name : str
        In a few words.
    kept : bool or None
        None where it takes something that is not known.
    text : str
        What there is, and what it ought to be, in a sentence.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> line = "tc qdisc replace dev dsl0 root fq_codel target 5ms interval 100ms"
    >>> (other,) = pf.check(line, rate="500kbit/s").others
    >>> print(other.rules[0].kept, other.rules[0].text)
    False target 5 ms is less than one packet takes at 500 kbit/s, 24.2 ms: CoDel then drops of
    queues that hold hardly anything (RFC 8290, 5.2.2).
    >>> print(*other.lines)
    tc qdisc replace dev dsl0 root fq_codel target 24300us interval 119300us
    """

    name: str
    kept: bool | None
    text: str


def codel_rules(
    kind: str, numbers: Mapping[str, Any], rate: float | None, rtt: float | None
) -> tuple[Rule, ...]:
    """Return CoDel's rules as they stand for a queue of `codel_numbers`.

    Parameters
    ----------
    kind : {"codel", "fq_codel", "cake"}
    numbers : mapping
        Of `codel_numbers`.
    rate : float or None
        Of the link or shaper (bit/s), where it is known.
    rtt : float or None
        The longest round-trip time (s) that was given; None where none was.
    """
    if kind == "cake":
        shapes = numbers["bandwidth"] is not None  # it then minds the packet by itself
        packet = () if shapes or rate is None else (_one_packet(numbers["target"], rate),)
        return (*packet, _interval("rtt", numbers["rtt"], rtt))
    target, interval = numbers["target"], numbers["interval"]
    return (
        _one_packet(target, rate),
        _interval("interval", interval, rtt),
        _part(target, interval, rate),
    )


def _one_packet(target: float, rate: float | None) -> Rule:
    name = "target above one packet"
    if rate is None:
        least = rate_in_words(8.0 * FRAME / target, 3)
        text = f"target {in_ms(target)} is more than one packet takes on links above {least}: give"
        return Rule(name, None, f"{text} rate (that of the link).")
    packet, there = 8.0 * FRAME / rate, rate_in_words(rate, 3)
    if target * _SLACK >= packet:
        text = f"target {in_ms(target)} is more than one packet takes at {there}, {in_ms(packet)}."
        return Rule(name, True, text)
    return Rule(
        name,
        False,
        f"target {in_ms(target)} is less than one packet takes at {there}, {in_ms(packet)}: CoDel"
        " then drops of queues that hold hardly anything (RFC 8290, 5.2.2).",
    )


def _interval(word: str, interval: float, rtt: float | None) -> Rule:
    name = f"{word} as the longest round trip"
    has = f"{word} {in_ms(interval)}"
    if rtt is None:
        span = f"{in_ms(interval / _LATE)} to {in_ms(_EARLY * interval)}"
        return Rule(name, None, f"{has} suits round trips of {span}: give rtt (your longest).")
    longest = in_ms(rtt)
    if _EARLY * interval * _SLACK < rtt:
        text = f"{has} is less than a third of the longest round trip, {longest}: it drops before"
        return Rule(
            name, False, f"{text} senders can answer, which costs them throughput (RFC 8289, 4.3)."
        )
    if interval >= _LATE * rtt:
        text = f"{has} is {interval / rtt:.2g} times the longest round trip, {longest}: a queue"
        return Rule(name, False, f"{text} that stands is answered late (RFC 8289, 4.3).")
    return Rule(name, True, f"{has} suits the longest round trip, {longest}.")


def _part(target: float, interval: float, rate: float | None) -> Rule:
    name, part = "target 5 to 10 % of the interval", target / interval
    has = f"target is {100.0 * part:.2g} % of the interval"
    if part * _SLACK < _LOW:
        text = f"{has}, less than 5 %: it gives up rate for a delay that nobody would notice"
        return Rule(name, False, f"{text} (RFC 8289, 4.4).")
    if part <= _HIGH * _SLACK:
        return Rule(name, True, f"{has}, of 5 to 10.")
    slow = 2.0 * 8.0 * FRAME / target  # bit/s, on which one packet takes half of it
    if rate is None:
        text = f"{has}, above 10 %, which is for links below {rate_in_words(slow, 3)}, where one"
        return Rule(name, None, f"{text} packet takes so long: give rate (that of the link).")
    if rate <= slow:
        return Rule(name, True, f"{has}, above 10 %, as one packet takes so long at this rate.")
    text = f"{has}, above 10 %: it adds delay and hardly any rate"
    return Rule(name, False, f"{text} (RFC 8289, 4.4).")


def codel_tc(
    block: Block, numbers: Mapping[str, Any], rate: float | None, rtt: float | None
) -> str | None:
    """Return the line for tc that keeps all rules; None where one cannot be written.

    Without `rtt` the interval stays what it is.
    """
    if block.kind == "cake":
        line = (
            f"{tc_of(block)} qdisc change {placed(block)} cake rtt {_time(rtt or numbers['rtt'])}"
        )
        return None if _unnamed(block) else line
    interval = rtt or float(numbers["interval"])
    target = float(numbers["target"])
    if not _LOW <= target * _SLACK / interval <= _HIGH * _SLACK**2:
        target = _LOW * interval
    packet = 0.0 if rate is None else 8.0 * FRAME / rate
    target = max(target, packet)
    if target > 10.0 * _STEP:
        target = math.ceil(target / _STEP - _STEP) * _STEP
    if target > _HIGH * interval:
        interval += target - _LOW * interval
    if _unnamed(block):
        return None
    if not block.proposed:
        verb = "replace" if block.handle == "0:" else "change"
        words = f"target {_time(target)} interval {_time(interval)}"
        return f"{tc_of(block)} qdisc {verb} {placed(block)} {block.kind} {words}"
    law, limit = law_and_buffer(block)
    record: Any = law
    line = codel_line(replace(record, target=target, interval=interval), block.kind, "DEV", limit)
    there = f"{tc_of(block)} qdisc replace {placed(block)}"
    return line.replace("tc qdisc replace dev DEV root", there, 1)


def _unnamed(block: Block) -> bool:
    """Say whether tc cannot reach it: a default queue below one without a handle."""
    return (block.parent or "").startswith(":")


def placed(block: Block) -> str:
    """Return the words for tc that say where a queue is, with its handle where it has one."""
    dev = shlex.quote(block.dev or "DEV")
    parent = block.parent or "root"
    place = parent if parent == "root" else f"parent {shlex.quote(parent)}"
    handle = block.handle if block.handle not in {"", "0:"} else ""
    return " ".join(["dev", dev, place, *(["handle", shlex.quote(handle)] if handle else [])])


def tc_of(block: Block) -> str:
    """Return the command, in the namespace of a queue."""
    return "tc" if block.namespace is None else f"tc -n {shlex.quote(block.namespace)}"


def _time(seconds: float) -> str:
    us = round(1e6 * seconds)
    return f"{us // 1000}ms" if us % 1000 == 0 else f"{us}us"
