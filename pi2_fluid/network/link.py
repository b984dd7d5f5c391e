"""`Link`: the bottleneck."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pi2_fluid.errors import QuantityError
from pi2_fluid.ops import Number
from pi2_fluid.records.record import Parameter, Record, choice, quantity
from pi2_fluid.units import LONG_WAIT, parse_quantity, validate_quantity

__all__ = ["Link"]

_BUFFER = quantity("40000 packets", "packets")


@dataclass(frozen=True, eq=False)
class Link(Record):
    """The bottleneck.

    Parameters
    ----------
    capacity : float or str
        Rate at which it serves (bit/s).
    buffer : float or str, default "40000 packets"
        Packets that the queue holds at most; or as a time, such as ``"250ms"``, for which it holds
        them at `capacity`, rounded up to whole packets.
    packet_size : float or str, default "1500B"
        Size of a full packet as the queue counts it (bytes): one segment.
    kind : {"wire", "htb"}
        How packets leave (packets only): one after the other, or as under a token bucket that lets
        a packet go at once when the link is idle.
    delay_on : {"return", "forward", "split"}
        On which way the round-trip time of the path lies (packets only). Of several links, that
        which hops leave, of the classes that cross this link last.
    ack_jitter : float or str, default "1us"
        Largest random delay of an acknowledgement, without reordering (s, packets only); of the
        same classes.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, as a rate without one, or a word that it does not know.
    DomainError
        If a number is outside its range.

    Notes
    -----
    *The default* is the limit of the PI2 paper's experiments, which an AQM never reaches. It takes
    0.48 s to drain at 1 Gbit/s, 12 s at 40 Mbit/s and 96 s at 5 Mbit/s: behind `TailDrop`, or under
    overload, give what the device has. Linux's queues hold 1,000 packets by default (pfifo at an
    Ethernet device, pie), DualPI2's 10,000 (net/sched).

    Examples
    --------
    >>> Link("10Mbit/s").capacity
    10000000.0
    >>> Link("10Mbit/s", buffer="250ms").buffer
    209.0
    """

    capacity: Parameter = quantity(None, "rate")
    buffer: Parameter = field(
        default=_BUFFER.default, metadata={**_BUFFER.metadata, "or_as": "time"}
    )
    packet_size: Parameter = quantity("1500B", "size")
    kind: str = choice("wire", ("wire", "htb"))
    delay_on: str = choice("return", ("return", "forward", "split"))
    ack_jitter: Parameter = quantity("1us", "time", usual=LONG_WAIT, closed=True)

    def __post_init__(self) -> None:
        held = _seconds(self.buffer)
        if held is None:
            super().__post_init__()
            return
        object.__setattr__(self, "buffer", 1.0)  # until the capacity is a number
        super().__post_init__()
        packets: Number = np.ceil(self.capacity * held / (8.0 * self.packet_size))
        object.__setattr__(self, "buffer", packets if np.ndim(packets) else float(packets))
        super().__post_init__()


def _seconds(buffer: object) -> float | None:
    """Return the time in which a text says how much a buffer holds; None of packets."""
    if not isinstance(buffer, str):
        return None
    try:
        parse_quantity(buffer, "time")
    except QuantityError:
        return None  # which is said of packets
    return float(validate_quantity(buffer, "time", "Link buffer"))
