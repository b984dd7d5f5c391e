"""The tins of cake: classes of traffic, each with its own queues, as tc prints them in columns.

Source: tc-cake(8); iproute2 7.3, tc/q_cake.c; Linux 6.18, net/sched/sch_cake.c.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pi2_fluid.tc.numbers import as_time, as_whole

#: The rows of the table: what tc calls them in text and in JSON, and what they count.
_ROWS: Final = (
    ("target", "target_us", "time"),
    ("interval", "interval_us", "time"),
    ("pk_delay", "peak_delay_us", "time"),
    ("av_delay", "avg_delay_us", "time"),
    ("sp_delay", "base_delay_us", "time"),
    ("backlog", "backlog_bytes", "size"),
    ("pkts", "sent_packets", "count"),
    ("bytes", "sent_bytes", "count"),
    ("drops", "drops", "count"),
    ("marks", "ecn_mark", "count"),
    ("ack_drop", "ack_drops", "count"),
    ("sp_flows", "sparse_flows", "count"),
    ("bk_flows", "bulk_flows", "count"),
    ("un_flows", "unresponsive_flows", "count"),
    ("max_len", "max_pkt_len", "count"),
)
_FORMS: Final = {word: form for word, _, form in _ROWS}
#: What statistics call a row: a tuple with a number for each tin.
TIN_NAMES: Final = frozenset(f"tin_{word}" for word, _, _ in _ROWS)
#: The columns by how many there are, where cake names them.
_COLUMNS: Final = {
    1: ("Tin 0",),
    3: ("Bulk", "Best Effort", "Voice"),
    4: ("Bulk", "Best Effort", "Video", "Voice"),
}


def tins_from_line(words: Sequence[str], queue: str) -> dict[str, Any]:
    """Read a row of the table; nothing of what is none.

    Raises
    ------
    QuantityError
        If a number of it cannot be read.

    Examples
    --------
    >>> tins_from_line("av_delay 1.18ms 15.4ms 263us".split(), "cake 1:")["tin_av_delay"]
    (0.00118, 0.0154, 0.000263)
    """
    form = _FORMS.get(words[0]) if len(words) > 1 and "requeues" not in words else None
    if form is None:
        return {}
    name = f"{words[0]} of {queue}"
    if form == "time":
        values: tuple[float, ...] = tuple(as_time(word, name) / 1e6 for word in words[1:])
    else:
        values = tuple(as_whole(word, name, form) for word in words[1:])
    return {f"tin_{words[0]}": values, "tins": _names(len(values))}


def tins_from_json(entry: dict[str, Any]) -> dict[str, Any]:
    """Read the tins of an object that tc prints; nothing where there are none, or no numbers."""
    given = entry.get("tins")
    tins = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    found: dict[str, Any] = {"tins": _names(len(tins))} if tins else {}
    for word, key, form in _ROWS:
        values = [value for one in tins if type(value := one.get(key)) is int]
        if tins and len(values) == len(tins):
            found[f"tin_{word}"] = tuple(
                value / 1e6 if form == "time" else value for value in values
            )
    return found


def _names(count: int) -> tuple[str, ...]:
    return _COLUMNS.get(count) or tuple(f"Tin {number}" for number in range(count))
