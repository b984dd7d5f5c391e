"""The numbers of codel, fq_codel and cake, as tc shows them or as a line asks for them, in SI.

The kernel counts the times of CoDel in units of 1.024 us, and tells whole microseconds: 5 ms is
shown as 5ms in text and as 4999 in JSON.

Source: iproute2 7.3, tc/q_codel.c, q_fq_codel.c, q_cake.c; Linux 6.18, include/net/codel.h,
net/sched/sch_codel.c, sch_fq_codel.c, sch_cake.c.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pi2_fluid.errors import QuantityError
from pi2_fluid.tc.block import Block
from pi2_fluid.tc.kernel import time_text
from pi2_fluid.tc.numbers import as_time, as_whole
from pi2_fluid.tc.observing.rates import as_rate

#: The kinds that run CoDel.
CODEL_KINDS: Final = ("codel", "fq_codel", "cake")
#: What Qualcomm's network processor (NSS) calls its own queues begins so.
NETWORK_PROCESSOR: Final = "nss"
#: By kind, the form of each word, and what the kernel takes where nothing is asked.
_KNOWN: Final[dict[str, dict[str, tuple[str, Any]]]] = {
    "codel": {
        "target": ("time", 0.005),
        "interval": ("time", 0.1),
        "ce_threshold": ("time", None),
        "limit": ("packets", 1000),
    },
    "fq_codel": {
        "target": ("time", 0.005),
        "interval": ("time", 0.1),
        "ce_threshold": ("time", None),
        "limit": ("packets", 10240),
        "flows": ("count", 1024),
        "quantum": ("count", 1514),
        "memory_limit": ("size", 32 << 20),
        "drop_batch": ("count", 64),
    },
    "cake": {"rtt": ("time", 0.1)},
}
_ECN: Final = {"codel": False, "fq_codel": True}
#: The names that cake has for a round-trip time (s).
_ROUND_TRIPS: Final = {
    "datacentre": 1e-4,
    "lan": 1e-3,
    "metro": 0.01,
    "regional": 0.03,
    "internet": 0.1,
    "oceanic": 0.3,
    "satellite": 1.0,
    "interplanetary": 1000.0,
}
_TWENTIETH: Final = 20.0  # of the round-trip time, cake's target
_FRAMES: Final = 1.5  # at the rate, below which cake sets no target
_FRAME: Final = 1514.0  # bytes
_PAIR: Final = 256
_ECT1: Final = 1


def codel_numbers(block: Block) -> dict[str, Any]:
    """Return what a queue is configured with: times (s), packets, bytes, rates (bit/s), switches.

    Of cake `target` and `interval` are those of its tin of all the bandwidth. Of other kinds there
    is nothing.

    Raises
    ------
    QuantityError
        If a number cannot be read.

    Examples
    --------
    >>> from pi2_fluid.tc.observing import observe
    >>> text = "qdisc codel 1: dev eth0 root refcnt 2 limit 1000p target 20ms interval 200ms"
    >>> (block,) = observe(text).blocks
    >>> codel_numbers(block)["target"], codel_numbers(block)["ecn"]
    (0.02, False)
    """
    kind = block.kind.removeprefix(NETWORK_PROCESSOR)
    if kind not in _KNOWN:
        return {}
    words = block.words
    numbers: dict[str, Any] = {}
    for word, (form, default) in _KNOWN[kind].items():
        numbers[word] = default
        if word in words:
            numbers[word] = _number(words[word], form, f"{word} of {block.name}", block)
    if kind in _ECN:
        # In text its word is there where it is on; a line asks for it, or leaves it out.
        asked = words.get("ecn", _ECN[kind] if block.proposed else False)
        numbers["ecn"] = asked is not False and asked != 0
        selector = words.get("ce_threshold_selector")
        numbers["ect1_alone"] = type(selector) is int and selector // _PAIR == _ECT1
        return numbers
    return numbers | _of_cake(words, float(numbers["rtt"]))


def _number(value: object, form: str, name: str, block: Block) -> float:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise QuantityError(f"{name} cannot be read: give the output of `tc qdisc show`.")
    if form == "time":
        us = float(value) if isinstance(value, int) else as_time(value, name)
        return (us if block.proposed or block.kind == "cake" else _asked(us, value)) / 1e6
    if isinstance(value, int):
        return value
    return as_whole(value, name, form)


def _asked(us: float, shown: int | str) -> float:
    """Return the least time (us) that is shown so: as a whole number, or as three digits."""
    for one in (us, us + 1.0):
        told = _told(one)
        if shown == (time_text(told) if isinstance(shown, str) else told):
            return one
    return us


def _told(us: float) -> int:
    return ((int(1000.0 * us) >> 10) << 10) // 1000


def _of_cake(words: Mapping[str, Any], rtt: float) -> dict[str, Any]:
    named = next((_ROUND_TRIPS[word] for word in _ROUND_TRIPS if word in words), None)
    if named is not None and "rtt" not in words:
        rtt = named
    bandwidth = as_rate(words.get("bandwidth", ""))
    least = rtt / _TWENTIETH
    frames = 8.0 * _FRAMES * _FRAME / bandwidth if bandwidth else 0.0
    target = max(least, frames)
    autorate = "autorate-ingress" in words or words.get("autorate") is True
    return {
        "rtt": rtt,
        "target": target,
        "interval": max(rtt + target - least, 2.0 * target),
        "bandwidth": bandwidth,
        "autorate": autorate,
    }
