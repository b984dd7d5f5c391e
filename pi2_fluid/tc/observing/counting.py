"""Every number that ``tc -s`` prints of a queue or a class, by the bands or tins it is of.

Names are tc's: those of its JSON where text has others. Times are in s, rates in bit/s.

Source: iproute2 7.3, tc/tc_qdisc.c, tc_util.c, q_cake.c, q_codel.c, q_htb.c, the functions
print_xstats.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from pi2_fluid.errors import QuantityError
from pi2_fluid.tc.options import KINDS
from pi2_fluid.tc.statistics import from_json
from pi2_fluid.tc.strangers import strange_line

#: What was counted, by band: "" is the whole, "L" and "C" are dualpi2's, "tin NAME" is of cake.
Counts: TypeAlias = dict[str, dict[str, float]]

_NO_COUNTER: Final = frozenset({"refcnt", "prio", "level", "rate", "ceil", "quantum"})
_BITS: Final = 8.0
_LARGEST: Final = 2**64
#: Of cake, in JSON: a size or number that all tins call otherwise than other queues do.
_OF_TIN: Final = {"sent_bytes": "bytes", "sent_packets": "packets", "backlog_bytes": "backlog"}
_RATES: Final = frozenset({"threshold_rate", "capacity_estimate"})
#: Times that JSON has in us without saying so.
_MICROSECONDS: Final = frozenset({"ldelay", "drop_next"})
#: The rows of cake's table, by the names that they have in JSON.
_ROWS: Final = {
    "thresh": "threshold_rate",
    "target": "target",
    "interval": "interval",
    "pk_delay": "peak_delay",
    "av_delay": "avg_delay",
    "sp_delay": "base_delay",
    "backlog": "backlog",
    "pkts": "packets",
    "bytes": "bytes",
    "way_inds": "way_indirect_hits",
    "way_miss": "way_misses",
    "way_cols": "way_collisions",
    "drops": "drops",
    "marks": "ecn_mark",
    "ack_drop": "ack_drops",
    "sp_flows": "sparse_flows",
    "bk_flows": "bulk_flows",
    "un_flows": "unresponsive_flows",
    "max_len": "max_pkt_len",
    "quantum": "flow_quantum",
}
_TINS: Final = {
    3: ("Bulk", "Best Effort", "Voice"),
    4: ("Bulk", "Best Effort", "Video", "Voice"),
}
_PAIR: Final = re.compile(r"(?<![\w.])([a-z_]\w*):? (-?\d{1,19}(?:\.\d+)?)([a-zA-Z]*)(?![\w./:-])")
_VALUE: Final = re.compile(r"(-?\d{1,19}(?:\.\d+)?)([a-zA-Z]*)")
_SCALES: Final = {
    "": 1.0,
    "p": 1.0,
    "b": 1.0,
    "Kb": 1024.0,
    "Mb": 1048576.0,
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "bit": 1.0,
    "Kbit": 1e3,
    "Mbit": 1e6,
    "Gbit": 1e9,
}
#: Words before numbers that are no counters, or stand for several.
_NOISE: Final = frozenset({"rate", "memory", "limit", "of", "min", "max", "used"})


def tin_names(count: int) -> tuple[str, ...]:
    """Return what cake calls so many tins.

    Examples
    --------
    >>> tin_names(3), tin_names(1)
    (('Bulk', 'Best Effort', 'Voice'), ('0',))
    """
    return _TINS.get(count) or tuple(map(str, range(count)))


def by_class(values: Mapping[str, float]) -> Counts:
    """Return counters of dualpi2 by its two queues: ``delay_l`` is the delay of L.

    Examples
    --------
    >>> by_class({"prob": 0.1, "delay_c": 0.015, "delay_l": 0.001})
    {'': {'prob': 0.1}, 'C': {'delay': 0.015}, 'L': {'delay': 0.001}}
    """
    found: Counts = {"": {}}
    for name, value in values.items():
        end = name[-2:]
        band = end[1:].upper() if end in {"_c", "_l"} else ""
        found.setdefault(band, {})[name.removesuffix(end) if band else name] = value
    return found


def counts_of_entry(entry: Mapping[str, Any]) -> Counts:
    """Return the numbers in an object that ``tc -s -j`` prints.

    Raises
    ------
    QuantityError
        Naming a counter of a queue whose law is known here that is no number.

    Examples
    --------
    >>> counts_of_entry({"kind": "codel", "packets": 5, "ldelay": 1500})
    {'': {'packets': 5, 'ldelay': 0.0015}}
    """
    kind = entry.get("kind")
    if isinstance(kind, str) and kind in KINDS:
        read = from_json(kind, dict(entry), f"{kind} {entry.get('handle', '')}") or {}
        return by_class(read)
    found: Counts = {"": _numbers(entry)}
    if isinstance(stats := entry.get("stats"), dict):
        found[""] |= _numbers(stats)
    if isinstance(tins := entry.get("tins"), list):
        for name, tin in zip(tin_names(len(tins)), tins, strict=True):
            if isinstance(tin, dict):
                found[f"tin {name}"] = _numbers(tin)
    return found


def _numbers(entry: Mapping[str, Any]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for key, value in entry.items():
        if type(value) not in {int, float} or key in _NO_COUNTER or not abs(value) <= _LARGEST:
            continue
        name = key.replace("-", "_")
        name = _OF_TIN.get(name, name)
        if name.endswith("_us"):
            numbers[name.removesuffix("_us")] = value / 1e6
        elif name in _MICROSECONDS:
            numbers[name] = value / 1e6
        else:
            numbers[name] = _BITS * value if name in _RATES else value
    return numbers


def counts_of_lines(kind: str, lines: Sequence[Sequence[str]]) -> Counts:
    """Return the numbers in the lines that tc prints below a queue or class, given as words.

    Of queues whose law is known here `pi2_fluid.tc.blocks.add_line` reads them instead.

    Examples
    --------
    >>> counts_of_lines("htb", [["lended:", "5", "borrowed:", "0", "giants:", "0"]])
    {'': {'lended': 5, 'borrowed': 0, 'giants': 0}}
    """
    counts: Counts = {"": {}}
    tins: tuple[str, ...] = ()
    for words in lines:
        if kind == "cake":
            tins = tins or _heading(words)
            if tins and words[0] in _ROWS and len(words) == len(tins) + 1:
                for tin, word in zip(tins, words[1:], strict=True):
                    if (value := _value(word)) is not None:
                        counts.setdefault(f"tin {tin}", {})[_ROWS[words[0]]] = value
                continue
        counts[""] |= _of_line(kind, words)
    return counts


def _heading(words: Sequence[str]) -> tuple[str, ...]:
    """Return the tins that the first row of cake's table names; none of other lines."""
    for names in _TINS.values():
        if list(words) == " ".join(names).split():
            return names
    if words[:1] == ["Tin"] and len(words) % 2 == 0 and set(words[::2]) == {"Tin"}:
        return tuple(words[1::2])
    return ()


def _of_line(kind: str, words: Sequence[str]) -> dict[str, float]:
    try:
        common = strange_line(kind, list(words), kind)
    except QuantityError:
        common = {}
    # "backlog 0b" of a line that is cut looks like a row of cake's tins, which has several
    common = {name: value for name, value in common.items() if isinstance(value, int | float)}
    if common and words[:1] in (["Sent"], ["backlog"], ["rate"]):
        return common
    line = " ".join(words)
    if words[:2] == ["memory", "used:"] and len(words) > 4:
        sizes = {"memory_used": _value(words[2]), "memory_limit": _value(words[4])}
        return {name: size for name, size in sizes.items() if size is not None}
    found: dict[str, float] = {}
    for name, number, unit in _PAIR.findall(line.replace("(", " ").replace(")", " ")):
        if unit in _SCALES and name not in _NOISE:
            found[name] = _scaled(number, unit)
    return found


def _value(word: str) -> float | None:
    match = _VALUE.fullmatch(word)
    return _scaled(*match.groups()) if match and match[2] in _SCALES else None


def _scaled(number: str, unit: str) -> float:
    if unit in {"", "p", "b"} and "." not in number:
        return int(number)
    value = float(number) * _SCALES[unit]
    return round(value, 12) if unit in {"us", "ns", "ms"} else value
