"""DualPI2, RED and CoDel fed event by event, with random numbers that are given.

What comes in and goes out has the names of the columns in the traces of Linux under tests/data, and
their units, so that a trace can be held against a replay row by row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import xarray as xr

from pi2_fluid import _core
from pi2_fluid.errors import DomainError, QuantityError, show_value
from pi2_fluid.model.aqms.codel import CoDel
from pi2_fluid.model.aqms.dualpi2 import DualPi2
from pi2_fluid.model.aqms.red import Red
from pi2_fluid.model.scenario import Link
from pi2_fluid.packet.codel_parameters import codel_parameters
from pi2_fluid.packet.dualpi2_parameters import dualpi2_parameters
from pi2_fluid.packet.red_parameters import red_parameters
from pi2_fluid.result import Column, make_dataset
from pi2_fluid.units import validate_quantity

__all__ = [
    "codel_law",
    "replay_codel",
    "replay_dualpi2",
    "replay_red",
    "replay_red_adaptation",
]

#: A full Ethernet frame as Linux counts it, and the limit of sch_dualpi2.
_LINK: Final = Link("10Mbit/s", "10000 packets", "1514B")
#: One packet of 1000 bytes per ms.
_RED_LINK: Final = Link("8Mbit/s", "10000 packets", "1000B")
_OPERATIONS: Final = {"D": 0, "E": 1, "T": 2}
_ACTIONS: Final = np.array(["PASS", "PROB", "HARD"])
_FULL: Final = 2**32 - 1
_WORD: Final = 32  # a roll is the upper half of a draw
_LATEST: Final = 10**15  # us: 30 years
# Columns of the kernel's answer, in the order of binding_replay_queues.cpp
_COLUMNS: Final = (
    *("id", "bytes", "ecn", "n_rolls", "ce_set_here", "qlen_C", "qlen_L", "backlog_bytes"),
    *("sojourn", "own0", "own1", "own2", "own3"),
)


def replay_dualpi2(
    *,
    t_us: Any,
    op: Sequence[str],
    bytes: Any,
    ecn: Any,
    rolls: Any,
    p_base: float | None = None,
    law: DualPi2 | None = None,
    link: Link = _LINK,
) -> xr.Dataset:
    """Run packets through DualPI2's queues, one event after the other.

    Parameters
    ----------
    t_us : array of int, shape (ev,)
        When each event happens (us), not falling.
    op : sequence of {"E", "D", "T"}, shape (ev,)
        A packet arrives, the link takes one, or the controller updates.
    bytes, ecn : array of int, shape (ev,)
        Size and ECN field (0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE) of packets that arrive; not read
        of other events.
    rolls : array of int
        The 32-bit random numbers that are consumed, in order; a roll succeeds at or below the
        probability. More than needed do no harm.
    p_base : float, optional
        p', held until the first "T"; None begins at 0.
    law : DualPi2, optional
        Linux's defaults in Linux's integers if None.
    link : Link
        Its packet_size, of which two are the least backlog that is signalled, and its buffer.

    Returns
    -------
    xarray.Dataset
        Along `ev`: id (packets are numbered as they arrive; -1: none), bytes, ecn (as it arrived,
        or as it leaves), n_rolls, result (of arrivals QUEUE or DROP; of departures the ids dropped
        before, or -), ce_set_here (1 if marked here), qlen_C, qlen_L (packets), credit (bytes times
        percent), p_base (p'), the last four after the event.

    Raises
    ------
    QuantityError, DomainError
        If an array is none of numbers, of another length or out of range, or `rolls` are too few.

    Source: Linux 6.18, sch_dualpi2; RFC 9332, Appendix A.

    Examples
    --------
    >>> events = {"t_us": [0, 5000], "op": ["E", "D"], "bytes": [1500, 0], "ecn": [1, 0]}
    >>> replay_dualpi2(**events, rolls=[], p_base=0.1).ecn.values  # marked: 5 ms are above the step
    array([1, 3])
    """
    law = DualPi2(arithmetic="fixed") if law is None else law
    held = None if p_base is None else _fraction(p_base)
    parameters = dualpi2_parameters(law, link)
    found, result = _run("dualpi2", parameters, link, (t_us, op, bytes, ecn), rolls, held)
    names = ("id", "bytes", "ecn", "n_rolls", "ce_set_here", "qlen_C", "qlen_L")
    variables = {name: _column("ev", name, found[name]) for name in names}
    variables |= {
        "result": _column("ev", "result", result),
        "credit": _column("ev", "credit", found["own0"]),
        "p_base": _column("ev", "p_base", found["own1"] / _FULL),
    }
    return make_dataset(variables, {}, {"engine": "replay", "law": repr(law)})


def replay_codel(
    *,
    t_us: Any,
    op: Sequence[str],
    bytes: Any,
    ecn: Any,
    law: CoDel | None = None,
    link: Link = _LINK,
) -> xr.Dataset:
    """Run packets through CoDel's queue, one event after the other.

    Parameters
    ----------
    t_us, op, bytes, ecn
        As of `replay_dualpi2`, without "T".
    law : CoDel, optional
        Linux's defaults in Linux's integers if None.
    link : Link
        Its packet_size, up to which a backlog is not signalled, and its buffer.

    Returns
    -------
    xarray.Dataset
        Along `ev`: id, bytes, ecn, result, ce_set_here as of `replay_dualpi2`; sojourn_us (whole us
        of the last packet taken), count, lastcount, dropping (CoDel's own), backlog_bytes.

    Raises
    ------
    QuantityError, DomainError
        As `replay_dualpi2`.

    Source: Linux 6.18, codel_impl.h; RFC 8289.

    Examples
    --------
    >>> events = {"t_us": [0, 2000], "op": ["E", "D"], "bytes": [1500, 0], "ecn": [0, 0]}
    >>> replay_codel(**events).sojourn_us.values
    array([   0, 1999])
    """
    law = CoDel(arithmetic="fixed") if law is None else law
    found, result = _run("codel", codel_parameters(law, link), link, (t_us, op, bytes, ecn), [])
    names = ("id", "bytes", "ecn", "ce_set_here", "backlog_bytes")
    variables = {name: _column("ev", name, found[name]) for name in names}
    variables |= {
        "result": _column("ev", "result", result),
        "sojourn_us": _column("ev", "sojourn_us", found["own3"] // 1000),
        "count": _column("ev", "count", found["own0"]),
        "lastcount": _column("ev", "lastcount", found["own1"]),
        "dropping": _column("ev", "dropping", found["own2"]),
    }
    return make_dataset(variables, {}, {"engine": "replay", "law": repr(law)})


def codel_law(count: int, *, interval: float | str = "100ms") -> xr.Dataset:
    """Return the gaps between CoDel's signals in Linux's integers, beside the exact ones.

    Parameters
    ----------
    count : int
        How many signals, 1 to 1e6.
    interval : float or str
        CoDel's interval (s), 10 us to 1000 s.

    Returns
    -------
    xarray.Dataset
        Along `count` = 1, 2 ...: rec_inv_sqrt (1/sqrt(count) in 1/2^16), step_1024ns (the gap in
        units of 1.024 us), step_us, exact_us (interval / sqrt(count)).

    Raises
    ------
    QuantityError, DomainError
        If count or interval are no numbers, or out of range.

    Source: Linux 6.18, codel_impl.h.

    Examples
    --------
    >>> codel_law(3).step_1024ns.values
    array([97654, 48829, 54931])
    """
    seconds = validate_quantity(interval, "time", "interval")
    if not 1e-5 <= seconds <= 1e3:
        raise DomainError(
            f"interval = {show_value(interval)} is outside [1e-05, 1000] s: give a time such as"
            ' "100ms".'
        )
    number = int(_integers([count], "count", 1, 10**6)[0])
    found = np.empty((number, 2), np.int64)
    _core.codel_law(round(seconds * 1e9) >> 10, found)
    counts = np.arange(1, number + 1)
    variables = {
        "rec_inv_sqrt": _column("count", "rec_inv_sqrt", found[:, 0]),
        "step_1024ns": _column("count", "step_1024ns", found[:, 1]),
        "step_us": _column("count", "step_us", 1.024 * found[:, 1]),
        "exact_us": _column("count", "exact_us", 1e6 * seconds / np.sqrt(counts)),
    }
    coords = {"count": _column("count", "count", counts)}
    return make_dataset(variables, coords, {"engine": "replay", "interval": seconds})


def replay_red(
    *,
    law: Red,
    backlog_bytes: Any,
    rnd: Any,
    idle_us: Any = None,
    adapt_every: int = 0,
    link: Link = _RED_LINK,
) -> xr.Dataset:
    """Show RED packet after packet, each finding a backlog that is given.

    Parameters
    ----------
    law : Red
        Thresholds in packets of the link's packet_size.
    backlog_bytes : array of int, shape (i,)
        Bytes waiting when each packet arrives.
    rnd : array of int, shape (i,)
        The 32-bit random number for each packet, should it draw one.
    idle_us : array of int, shape (i,), optional
        For how long the link has been idle (us); heeded if the law has `idle_decay`.
    adapt_every : int
        Packets from one adaptation of max_p to the next; 0: none.
    link : Link
        Its packet_size and, for the decay on an idle link, its capacity.

    Returns
    -------
    xarray.Dataset
        Along `i`, after the packet: avg_bytes, Pb (the profile's probability), qcount (packets
        since the last signal; -1: none is counted), action (PASS, PROB by chance, HARD above the
        profile), max_p.

    Raises
    ------
    QuantityError, DomainError
        If an array is none of numbers, of another length or out of range.

    Source: Linux 6.18, red.h; Floyd, Jacobson (1993).

    Examples
    --------
    >>> law = Red(min=20, max=60, max_p=0.02, weight=2**-9, gentle=False, arithmetic="fixed")
    >>> replay_red(law=law, backlog_bytes=[2276, 3691], rnd=[0, 0]).avg_bytes.values.round(3)
    array([ 4.445, 11.646])
    """
    backlog = _integers(backlog_bytes, "backlog_bytes", 0, 10**9)
    size = len(backlog)
    draws = _integers(rnd, "rnd", 0, _FULL, size).astype(np.uint64) << np.uint64(_WORD)
    given = np.zeros(size) if idle_us is None else idle_us
    idle = 1000 * _integers(given, "idle_us", 0, _LATEST, size)
    every = int(_integers([adapt_every], "adapt_every", 0, 10**9)[0])
    found = np.empty((size, 5))
    _core.replay_red(*_red(law, link), backlog, idle, draws, every, found)
    names = ("avg_bytes", "Pb", "max_p")
    variables = {name: _column("i", name, found[:, j]) for j, name in enumerate(names)}
    variables["qcount"] = _column("i", "qcount", found[:, 3].astype(np.int64))
    variables["action"] = _column("i", "action", _ACTIONS[found[:, 4].astype(np.int64)])
    return make_dataset(variables, {}, {"engine": "replay", "law": repr(law)})


def replay_red_adaptation(*, law: Red, avg_bytes: Any, link: Link = _RED_LINK) -> xr.Dataset:
    """Show what the adaptation of max_p makes of averages that are given.

    Parameters
    ----------
    law : Red
        With ``adaptive=True``; thresholds in packets of the link's packet_size.
    avg_bytes : array of float, shape (i,)
        The average queue (bytes) at each adaptation, below 1e9.
    link : Link
        Its packet_size.

    Returns
    -------
    xarray.Dataset
        Along `i`: max_p after each adaptation.

    Raises
    ------
    QuantityError, DomainError
        If the averages are no numbers or out of range, or the law is not adaptive.

    Source: Floyd, Gummadi, Shenker, "Adaptive RED" (2001); Linux 6.18, red.h.

    Examples
    --------
    >>> law = Red(min=20, max=60, adaptive=True)
    >>> replay_red_adaptation(law=law, avg_bytes=[50e3, 30e3]).max_p.values
    array([0.11 , 0.099])
    """
    if not law.adaptive:
        raise DomainError(
            "Red adaptive = False leaves max_p as it is: give a law with adaptive = True."
        )
    average = np.atleast_1d(validate_quantity(avg_bytes, "number", "avg_bytes", closed=True))
    if average.ndim > 1 or not np.all(average < 1e9):
        raise DomainError(
            f"avg_bytes = {show_value(avg_bytes)} is outside a row of [0, 1e9) bytes: give one"
            " average for each adaptation."
        )
    found = np.empty(len(average))
    _core.replay_red_adaptation(*_red(law, link), average, found)
    variables = {"max_p": _column("i", "max_p", found)}
    return make_dataset(variables, {}, {"engine": "replay", "law": repr(law)})


# The way to the kernel and back


def _run(
    name: str,
    parameters: list[float],
    link: Link,
    columns: tuple[Any, Any, Any, Any],
    rolls: Any,
    held: int | None = None,
) -> tuple[dict[str, Any], list[str]]:
    """Return the columns of the kernel's answer, and the column `result`."""
    operations = "DET" if name == "dualpi2" else "DE"
    events = _events(columns, operations)
    given = _integers(rolls, "rolls", 0, _FULL).astype(np.uint64) << np.uint64(_WORD)
    answer = np.zeros((len(events), len(_COLUMNS)), np.int64)
    limit = math.floor(link.buffer)
    lost = _core.replay_queue(
        name, parameters, round(link.packet_size), limit, held, events, given, answer
    )
    found = {name: answer[:, j] for j, name in enumerate(_COLUMNS)}
    if found["n_rolls"].sum() > len(given):
        raise DomainError(
            f"rolls = {show_value(rolls)} are {len(given)} random numbers, and the events consume"
            " more: give more of them (three for each packet always suffice)."
        )
    return found, _results(events[:, 1], lost)


def _results(operations: Any, lost: list[tuple[int, int, int]]) -> list[str]:
    dropped: list[list[int]] = [[] for _ in operations]
    for event, packet, _ in lost:
        dropped[event].append(packet)
    arrives = _OPERATIONS["E"]
    return [
        ("DROP" if ids else "QUEUE") if kind == arrives else (";".join(map(str, ids)) or "-")
        for kind, ids in zip(operations, dropped, strict=True)
    ]


def _events(columns: tuple[Any, Any, Any, Any], operations: str) -> Any:
    time, op, size, ecn = columns
    texts = [str(text) for text in np.ravel(np.asarray(op))]
    for text in texts:
        if text not in operations or len(text) != 1:
            known = ", ".join(repr(known) for known in operations)
            raise QuantityError(f"op = {show_value(text)} is unknown: give one of {known}.")
    count = len(texts)
    events = np.zeros((count, 4), np.int64)
    events[:, 0] = 1000 * _integers(time, "t_us", 0, _LATEST, count)
    events[:, 1] = [_OPERATIONS[text] for text in texts]
    arrives = events[:, 1] == _OPERATIONS["E"]
    if np.any(np.diff(events[:, 0]) < 0):
        raise DomainError("t_us falls, and time does not: give the events in the order of t_us.")
    for column, values, name, most in ((2, size, "bytes", 65535), (3, ecn, "ecn", 3)):
        read = _integers(values, name, 0, 10**9, count)
        events[arrives, column] = _integers(read[arrives], name, 0, most)
    return events


def _integers(values: Any, name: str, low: int, high: int, count: int | None = None) -> Any:
    """Return whole numbers of a row as int64, or refuse them."""
    array = np.asarray(values)
    wanted = f"give whole numbers from {low} to {high}"
    if array.size and array.dtype.kind not in "iuf":
        raise QuantityError(f"{name} = {show_value(values)} is no row of numbers: {wanted}.")
    if array.ndim != 1 or (count is not None and len(array) != count):
        length = "a row" if count is None else f"a row of {count}, as many as there are others"
        raise QuantityError(f"{name} has the shape {array.shape} instead of {length}: {wanted}.")
    bad = ~((array >= low) & (array <= high) & (array == np.floor(array)))
    if bad.any():
        raise DomainError(
            f"{name} = {array[bad][0].item()!r} is outside the whole numbers [{low}, {high}]:"
            f" {wanted}."
        )
    return np.ascontiguousarray(array, dtype=np.int64)


def _fraction(p_base: Any) -> int:
    value = validate_quantity(p_base, "number", "p_base", high=1.0, closed=True)
    if np.ndim(value):
        raise QuantityError(f"p_base = {show_value(p_base)} is an array: give one number.")
    return int(value * _FULL)


def _red(law: Red, link: Link) -> tuple[list[float], int, float]:
    return red_parameters(law, link), round(link.packet_size), float(link.capacity)


# Units and names of what comes out
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
    "credit": ("B percent", "credit of the Classic queue"),
    "p_base": ("1", "the controller's own variable"),
    "sojourn_us": ("us", "time in the queue of the last packet taken"),
    "count": ("1", "signals since the dropping state began"),
    "lastcount": ("1", "count with which the dropping state began"),
    "dropping": ("1", "1 in the dropping state"),
    "rec_inv_sqrt": ("2^-16", "reciprocal square root of count"),
    "step_1024ns": ("1.024 us", "gap to the next signal"),
    "step_us": ("us", "gap to the next signal"),
    "exact_us": ("us", "interval over the square root of count"),
    "avg_bytes": ("B", "average queue"),
    "Pb": ("1", "probability by the profile"),
    "max_p": ("1", "probability at the upper threshold"),
    "qcount": ("packets", "packets since the last signal"),
    "action": ("1", "what becomes of the packet"),
}


def _column(dim: str, name: str, values: Any) -> Column:
    return Column((dim,), values, *_MEANING[name])
