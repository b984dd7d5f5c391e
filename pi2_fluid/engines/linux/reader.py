"""The guest's log as arrays: what became of each packet, and what qdisc and flows said.

Three files of records without a head, little-endian:

=============  ====================================================================
``out.pkt``    a packet of data or control that came to the queue, 16 bytes
``out.q``      what the kernel counts at the queue, at a time, 112 bytes
``out.tcp``    what a flow of TCP says of itself, at a time, 32 bytes
=============  ====================================================================

Source: Linux 7.2, include/uapi/linux/gen_stats.h, pkt_sched.h, tcp.h.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.errors import SolverError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pi2_fluid.values import FloatArray, IntArray

#: In the place of a packet's ECN bits when it left: it was dropped, or it is not known whether.
DROPPED: Final = 255
#: It has not been seen to leave when the log ends.
QUEUED: Final = 254

#: t (us) when it came, flow, ECN bits as it came and left, sojourn (ns) in two parts, bytes.
PACKET: Final = np.dtype(
    [
        ("t", "<u4"),
        ("flow", "<u2"),
        ("ecn_in", "u1"),
        ("ecn_out", "u1"),
        ("sojourn", "<u4"),
        ("bytes", "<u2"),
        ("sojourn_high", "<u2"),
    ]
)
#: t (s), struct gnet_stats_queue, and as many bytes of the qdisc's own counters as `said`.
QUEUE: Final = np.dtype(
    [
        ("t", "<f8"),
        ("packets_waiting", "<u4"),
        ("bytes_waiting", "<u4"),
        ("drops", "<u4"),
        ("requeues", "<u4"),
        ("overlimits", "<u4"),
        ("records", "<u4"),
        ("bytes", "<u8"),
        ("packets", "<u4"),
        ("said", "<u4"),
        ("own", "u1", 64),
    ]
)
#: t (s), flow, window (segments), smoothed RTT (us), totals of retransmissions, timeouts and bytes.
FLOW: Final = np.dtype(
    [
        ("t", "<f4"),
        ("flow", "<u4"),
        ("window", "<u4"),
        ("srtt", "<u4"),
        ("retransmissions", "<u4"),
        ("timeouts", "<u4"),
        ("acknowledged", "<u8"),
    ]
)

_FILES: Final = {
    "packets": ("out.pkt", PACKET),
    "queue": ("out.q", QUEUE),
    "flows": ("out.tcp", FLOW),
}
#: Of each qdisc, how its own counters begin: type of the probability, and what stands for 1.
_PROBABILITY: Final = {"pie": ("<u8", 2.0**64), "dualpi2": ("<u4", 2.0**32)}


class Log(NamedTuple):
    """What a guest has written."""

    packets: NDArray[Any]
    """Of type `PACKET`, in the order in which their fate was known."""
    queue: NDArray[Any]
    """Of type `QUEUE`, in time."""
    flows: NDArray[Any]
    """Of type `FLOW`, in time."""


def read_log(folder: Path) -> Log:
    """Return the log that a guest has left in a folder.

    Raises
    ------
    SolverError
        If a file is missing or ends within a record: the guest ended before its time.
    """
    return Log(**{name: _read(folder / file, kind) for name, (file, kind) in _FILES.items()})


def _read(path: Path, kind: np.dtype[Any]) -> NDArray[Any]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise SolverError(
            f"the guest left no {path.name}, so that it ended before its run: run it again."
        ) from None
    if len(data) % kind.itemsize:
        raise SolverError(
            f"{path.name} has {len(data)} bytes, and its records {kind.itemsize} each, so that the"
            " guest ended while it wrote: run it again, with more room on the disk."
        )
    return np.frombuffer(data, kind)


def fates(packets: NDArray[Any], band: IntArray) -> IntArray:
    """Return the ECN bits with which each packet left, or `DROPPED`, or `QUEUED`.

    A packet that has not been seen to leave is dropped if one that came later to the same band of
    the queue has left.

    Parameters
    ----------
    packets : array of PACKET
        As the log has them.
    band : array of int, shape (packets,)
        In which of the queue's bands each one waits.
    """
    found = packets["ecn_out"].astype(np.int64)
    left = found < QUEUED
    for one in np.unique(band):
        here = band == one
        latest = packets["t"][here & left].max(initial=0)
        found[here & (found == QUEUED) & (packets["t"] < latest)] = DROPPED
    return found


def sojourns(packets: NDArray[Any]) -> IntArray:
    """Return how long each packet that left was in the queue (ns)."""
    found: IntArray = packets["sojourn_high"].astype(np.int64) << 32 | packets["sojourn"]
    return found


def controller(kind: str, queue: NDArray[Any]) -> FloatArray:
    """Return the probability that a qdisc says it computes with, at each record.

    Parameters
    ----------
    kind : str
        Of the qdisc: that of "pie" is p, that of "dualpi2" p'; others have none, NaN.
    queue : array of QUEUE
        As the log has them.
    """
    if kind not in _PROBABILITY:
        return np.full(len(queue), np.nan)
    type_, one = _PROBABILITY[kind]
    first = np.ascontiguousarray(queue["own"][:, : np.dtype(type_).itemsize])
    return first.view(type_)[:, 0] / one
