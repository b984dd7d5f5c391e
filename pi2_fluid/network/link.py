"""`Link`: the bottleneck."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from pi2_fluid.errors import QuantityError
from pi2_fluid.ops import Number, maximum, namespace
from pi2_fluid.records.record import Parameter, Record, choice, quantity
from pi2_fluid.units import LONG_WAIT, SLOW_LINK, parse_quantity, validate_quantity

__all__ = ["Link", "with_buffer"]

_BUFFER = quantity(None, "packets", optional=True)
_USUAL: Final = 0.25  # s, at the largest capacity: the rule of thumb for routers
_LEAST: Final = 20.0  # packets, which two initial windows of TCP fill


@dataclass(frozen=True, eq=False)
class Link(Record):
    """The bottleneck link, with its capacity and its buffer.

    Parameters
    ----------
    capacity : float or str
        Rate at which it serves (bit/s).
    buffer : float or str, optional
        Packets that the queue holds at most; or as a time, such as ``"250ms"``, for which it holds
        them at `capacity`, rounded up to whole packets. Default: 250 ms at the largest capacity
        that the schedule gives this link, but at least 20 packets.
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
    *The default* is the rule of thumb for routers, a round trip of 250 ms (Appenzeller, Keslassy,
    McKeown, SIGCOMM 2004). A link alone does not know its schedule: `buffer` stays None, and
    ``scenario.as_run`` has the number. Behind `TailDrop`, or under overload, give what the device
    has. Linux's queues hold 1,000 packets by default (pfifo at an Ethernet device, pie), DualPI2's
    10,000 (net/sched); the PI2 paper's testbed held 40,000.

    Examples
    --------
    >>> Link("10Mbit/s").capacity
    10000000.0
    >>> Link("10Mbit/s", buffer="100ms").buffer
    84.0
    """

    capacity: Parameter = quantity(None, "rate", usual_from=SLOW_LINK)
    # None only until it is run, and nobody who runs it meets that: so not an OptionalParameter.
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
        object.__setattr__(self, "buffer", None)  # until the capacity is a number
        super().__post_init__()
        object.__setattr__(self, "buffer", _packets(held, self.capacity, self.packet_size))
        super().__post_init__()


def with_buffer(link: Link, capacities: Iterable[Number] = ()) -> Link:
    """Return a link whose buffer is a number: the default, where none is given.

    Parameters
    ----------
    link : Link
        Of which an equal one is returned if its buffer is given.
    capacities : iterable of float or array
        To which a schedule changes its capacity (bit/s).

    Examples
    --------
    >>> with_buffer(Link("5Mbit/s")).buffer, with_buffer(Link("5Mbit/s"), [50e6]).buffer
    (105.0, 1042.0)
    """
    given: object = link.buffer
    if given is not None:
        return link
    largest = link.capacity
    for capacity in capacities:
        largest = maximum(largest, capacity)
    return replace(link, buffer=maximum(_packets(_USUAL, largest, link.packet_size), _LEAST))


def _packets(seconds: float, capacity: Number, packet_size: Number) -> Number:
    """Return how many packets leave in a time, rounded up."""
    packets: Number = namespace(capacity).ceil(capacity * seconds / (8.0 * packet_size))
    return float(packets) if isinstance(packets, np.floating) else packets


def _seconds(buffer: object) -> float | None:
    """Return the time in which a text says how much a buffer holds; None of packets."""
    if not isinstance(buffer, str):
        return None
    try:
        parse_quantity(buffer, "time")
    except QuantityError:
        return None  # which is said of packets
    return float(validate_quantity(buffer, "time", "Link buffer"))
