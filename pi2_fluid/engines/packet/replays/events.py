"""Whole queue disciplines fed event by event: packets that arrive, departures, updates.

What comes in and goes out has the names of the columns in the traces of Linux under tests/data, and
their units, so that a trace can be held against a replay row by row.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid import _core
from pi2_fluid.engines.packet.columns import LATEST, MOST_BYTES, as_array, read_rolls, read_row
from pi2_fluid.errors import DomainError, QuantityError, show_value
from pi2_fluid.network.link import Link, with_buffer
from pi2_fluid.results import Column

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pi2_fluid.values import IntArray

#: A full Ethernet frame as Linux counts it, and the limit of sch_dualpi2.
ETHERNET: Final = Link("10Mbit/s", "10000 packets", "1514B")
_OPERATIONS: Final = {"D": 0, "E": 1, "T": 2}
# Columns of the kernel's answer, in the order of native/binding/replay_queues.cpp
_ANSWER: Final = (
    *("id", "bytes", "ecn", "n_rolls", "ce_set_here", "qlen_C", "qlen_L", "backlog_bytes"),
    *("sojourn", "own0", "own1", "own2", "own3"),
)
# Units and meaning of those that say the same of every discipline.
_MEANING: Final = {
    "id": ("1", "number of the packet, in order of arrival; -1: none"),
    "bytes": ("B", "size of the packet"),
    "ecn": ("1", "ECN field of the packet"),
    "n_rolls": ("1", "random numbers consumed"),
    "result": ("1", "what became of the arrival, or which packets were dropped"),
    "ce_set_here": ("1", "1 if this queue marked the packet"),
    "qlen_C": ("packets", "Classic packets waiting"),
    "qlen_L": ("packets", "L4S packets waiting"),
    "backlog_bytes": ("B", "bytes waiting"),
}


class EventLog(NamedTuple):
    """What happens to a queue, event by event; size and ECN field count where a packet arrives."""

    t_us: Any
    op: Any
    bytes: Any
    ecn: Any


def run_events(
    discipline: tuple[str, dict[str, float]],
    link: Link,
    log: EventLog,
    rolls: ArrayLike = (),
    held: int | None = None,
    timer: bool = False,
) -> dict[str, Any]:
    """Return the columns of the kernel's answer; `own0` to `own3` are the discipline's own.

    Parameters
    ----------
    discipline : tuple of str and dict of str to float
        As `discipline_of` gives it: "dualpi2" or "codel".
    link : Link
        Its packet_size and its buffer.
    log : EventLog
        Columns as callers gave them.
    rolls : array of int
        The 32-bit random numbers that are consumed, in order.
    held : int, optional
        Of "dualpi2": p' (1/(2^32 - 1)) until the first update.
    timer : bool
        Whether the log has updates, by a timer, beside packets.

    Raises
    ------
    QuantityError, DomainError
        If a column is none of numbers, of another length or out of range, or `rolls` are too few.
    """
    events = _read(log, "DET" if timer else "DE")
    given = read_rolls(rolls, "rolls")
    answer = np.zeros((len(events), len(_ANSWER)), np.int64)
    limit = math.floor(with_buffer(link).buffer)
    lost = _core.replay_queue(
        *discipline, round(float(link.packet_size)), limit, held, events, given, answer
    )
    found: dict[str, Any] = {name: answer[:, j] for j, name in enumerate(_ANSWER)}
    if found["n_rolls"].sum() > len(given):
        raise DomainError(
            f"rolls = {show_value(rolls)} are {len(given)} random numbers, and the events consume"
            " more: give more of them (three for each packet always suffice)."
        )
    return found | {"result": _results(events[:, 1], lost)}


def _results(operations: IntArray, lost: list[tuple[int, int, int]]) -> list[str]:
    dropped: list[list[int]] = [[] for _ in operations]
    for event, packet, _ in lost:
        dropped[event].append(packet)
    arrives = _OPERATIONS["E"]
    return [
        ("DROP" if ids else "QUEUE") if kind == arrives else (";".join(map(str, ids)) or "-")
        for kind, ids in zip(operations, dropped, strict=True)
    ]


def event_columns(found: dict[str, Any], *names: str) -> dict[str, Column]:
    """Return columns that say the same of every discipline."""
    return {name: Column(("ev",), found[name], *_MEANING[name]) for name in names}


def _read(log: EventLog, operations: str) -> IntArray:
    texts = [str(text) for text in np.ravel(as_array(log.op, "op"))]
    for text in texts:
        if text not in operations or len(text) != 1:
            known = ", ".join(repr(known) for known in operations)
            raise QuantityError(f"op = {show_value(text)} is unknown: give one of {known}.")
    count = len(texts)
    events = np.zeros((count, 4), np.int64)
    events[:, 0] = 1000 * read_row(log.t_us, "t_us", 0, LATEST, count)
    events[:, 1] = [_OPERATIONS[text] for text in texts]
    arrives = events[:, 1] == _OPERATIONS["E"]
    if np.any(np.diff(events[:, 0]) < 0):
        raise DomainError("t_us falls, and time does not: give the events in the order of t_us.")
    for column, values, name, most in ((2, log.bytes, "bytes", 65535), (3, log.ecn, "ecn", 3)):
        read = read_row(values, name, 0, MOST_BYTES, count)
        events[arrives, column] = read_row(read[arrives], name, 0, most)
    return events
