"""The counters that ``tc -s`` prints below a queue.

Of queues whose law is read each line is a template of tc's own: words, and names in braces for the
numbers. Lines that begin like none of them are passed over; one that begins so and goes on
otherwise is refused. Those of other queues are read in `pi2_fluid.tc.strangers`.
"""

from __future__ import annotations

import math
from typing import Any, Final

from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.tc.numbers import as_fraction, as_share, as_time, as_whole
from pi2_fluid.tc.tins import TIN_NAMES

#: What holds at the moment that tc prints it; all else is counted, but for a largest value.
MOMENTARY: Final = frozenset(
    {"backlog", "qlen", "prob", "delay", "delay_c", "delay_l", "avg_dq_rate", "maxq", "credit"}
    | {"memory_used", "max_memory_used", "memory_limit", "maxpacket", "ldelay"}
    | {"new_flows_len", "old_flows_len", "tins", "capacity_estimate", *TIN_NAMES}
)

#: What tc prints of every queue.
COMMON: Final = (
    "Sent {bytes} bytes {packets} pkt dropped {drops} overlimits {overlimits} requeues {requeues}",
    "backlog {backlog:size} {qlen:packets} requeues {requeues}",
)
# Source: iproute2 7.3 and that of the L4S team, the functions print_xstats.
_LINES: Final = {
    "pie": (
        "prob {prob:share} delay {delay:time}",
        "prob {prob:share} delay {delay:time} avg_dq_rate {avg_dq_rate}",
        "pkts_in {pkts_in} overlimit {overlimit} dropped {dropped} maxq {maxq} ecn_mark {ecn_mark}",
    ),
    "fq_pie": (
        (
            "pkts_in {pkts_in} overlimit {overlimit} overmemory {overmemory} dropped {dropped}"
            " ecn_mark {ecn_mark}"
        ),
        (
            "new_flow_count {new_flow_count} new_flows_len {new_flows_len}"
            " old_flows_len {old_flows_len} memory_used {memory_used}"
        ),
    ),
    "dualpi2": (
        "prob {prob:share} delay_c {delay_c:time} delay_l {delay_l:time}",
        "pkts_in_c {pkts_in_c} pkts_in_l {pkts_in_l} maxq {maxq}",
        "ecn_mark {ecn_mark} step_mark {step_mark}",
        "ecn_mark {ecn_mark} step_marks {step_mark}",  # of the L4S team
        "credit {credit:signed} {:any}",
        "memory_used {memory_used} max {max_memory_used} of memory limit {memory_limit}",
    ),
}


def _slots(kind: str) -> dict[str, str]:
    """Return the names of a kind's counters and how they are printed."""
    found = {}
    for template in (*COMMON, *_LINES[kind]):
        for word in template.split():
            if word.startswith("{"):
                name, _, form = word.strip("{}").partition(":")
                found[name] = form
    found.pop("", None)
    return found


def from_line(kind: str, words: list[str], queue: str) -> dict[str, Any]:
    """Read a line of text, given as its words; nothing from lines that are none of tc's.

    Raises
    ------
    QuantityError
        If it begins like one of tc's and cannot be read.
    """
    return from_templates((*COMMON, *_LINES[kind]), words, queue)


def from_templates(known: tuple[str, ...], words: list[str], queue: str) -> dict[str, Any]:
    """Read a line by the template that it fits; nothing of one that begins like none of them.

    Raises
    ------
    QuantityError
        If it begins like one and does not fit.
    """
    words = " ".join(words).translate(str.maketrans("(),", "   ")).split()
    if words[:1] == ["rate"] and "backlog" in words:  # of an estimator
        words = words[words.index("backlog") :]
    templates = [template.split() for template in known if words[:1] == template.split()[:1]]
    if not templates:
        return {}
    for template in templates:
        fits = len(template) == len(words) and all(
            expected.startswith("{") or expected == word
            for expected, word in zip(template, words, strict=True)
        )
        if fits:
            return _read(template, words, queue)
    raise QuantityError(
        f"the statistics {show_value(' '.join(words))} of {queue} cannot be read: give the output"
        " of `tc -s qdisc show` as printed."
    )


def _read(template: list[str], words: list[str], queue: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for slot, word in zip(template, words, strict=True):
        name, _, form = slot.strip("{}").partition(":")
        if not slot.startswith("{") or not name:
            continue
        called = f"{name} of {queue}"
        if form == "share":
            values[name] = as_share(as_fraction(word, called), called)
        elif form == "time":
            values[name] = as_time(word, called) / 1e6
        elif form == "signed":
            values[name] = as_whole(word, called, low=-(2**31))
        else:
            values[name] = as_whole(word, called, form or "count")
    return values


def from_json(kind: str, entry: dict[str, Any], queue: str) -> dict[str, Any] | None:
    """Read what ``-s`` adds to the object of a queue; None if there is nothing.

    Raises
    ------
    QuantityError
        Naming a counter that is no number.
    """
    values: dict[str, Any] = {}
    for name, form in _slots(kind).items():
        key = name if name in entry else name.replace("_", "-")
        if key not in entry:
            continue
        value = entry[key]
        good = isinstance(value, (int, float) if form == "share" else int)
        if isinstance(value, bool) or not good or abs(value) > 2**64 or math.isnan(value):
            raise QuantityError(
                f"{key} of {queue} = {show_value(value)} cannot be read: give the output of"
                " `tc -j -s qdisc show` as printed."
            )
        if form == "share":
            value = as_share(value, f"{key} of {queue}")
        values[name] = value / 1e6 if form == "time" else value
    return values or None
