"""The counters that ``tc -s`` prints below queues whose law is not read: some are picked out.

Source: iproute2 7.3, the functions print_xstats of tc/q_codel.c, q_fq_codel.c, q_fq.c, q_red.c and
q_cake.c.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

from pi2_fluid.errors import QuantityError
from pi2_fluid.tc.numbers import as_time, as_whole
from pi2_fluid.tc.statistics import COMMON, from_templates
from pi2_fluid.tc.tins import tins_from_json, tins_from_line

#: The counters that tc prints as a word and a whole number, beside those that all queues have.
STRANGERS: Final[dict[str, tuple[str, ...]]] = {
    "codel": ("maxpacket", "ecn_mark", "drop_overlimit", "ce_mark"),
    "fq_codel": (
        *("maxpacket", "drop_overlimit", "new_flow_count", "ecn_mark", "ce_mark", "memory_used"),
        *("drop_overmemory", "new_flows_len", "old_flows_len"),
    ),
    "red": ("marked", "early", "pdrop", "other"),
    "cake": (),
    "fq": ("throttled", "flows_plimit", "ce_mark"),
    **dict.fromkeys(("netem", "htb", "tbf", "mq", "pfifo", "bfifo", "pfifo_fast", "sfq"), ()),
}
_COMMON_KEYS: Final = (
    *("bytes", "packets", "drops", "overlimits", "requeues", "backlog", "qlen"),
    *("memory_used", "memory_limit"),
)


def strange_line(kind: str, words: list[str], queue: str) -> dict[str, Any]:
    """Read a line below a queue whose law is not read; nothing of what is not known."""
    try:
        if kind == "cake" and (found := _of_cake(words, queue)):
            return found
        found = from_templates(COMMON, words, queue)
        if kind == "codel" and "ldelay" in words[:-1]:
            text = words[words.index("ldelay") + 1]
            found["ldelay"] = as_time(text, f"ldelay of {queue}") / 1e6
    except QuantityError:
        return {}
    names = STRANGERS.get(kind, ())
    return found | {
        name: int(text) for name, text in pairwise(words) if name in names and text.isdecimal()
    }


def _of_cake(words: list[str], queue: str) -> dict[str, Any]:
    """Read what cake has beside others.

    Raises
    ------
    QuantityError
        If a number of it cannot be read.
    """
    match words:
        case ["memory", "used:", used, "of", limit]:
            name = f"memory of {queue}"
            return {
                "memory_used": as_whole(used, name, "size"),
                "memory_limit": as_whole(limit, name, "size"),
            }
        case ["capacity", "estimate:", rate]:
            return {"capacity_estimate": rate}
    return tins_from_line(words, queue)


def strange_json(kind: str, entry: dict[str, Any]) -> dict[str, Any] | None:
    """Read what ``-s`` adds to the object of a queue whose law is not read; None if nothing."""
    found = {name: entry.get(name) for name in (*_COMMON_KEYS, *STRANGERS.get(kind, ()))}
    counted: dict[str, Any] = {name: value for name, value in found.items() if type(value) is int}
    if kind == "codel" and type(entry.get("ldelay")) is int:
        counted["ldelay"] = entry["ldelay"] / 1e6
    if kind == "cake":
        counted |= tins_from_json(entry)
        if type(entry.get("capacity_estimate")) is int:
            counted["capacity_estimate"] = entry["capacity_estimate"]
    return counted if "packets" in counted else None
