"""`Link`: the bottleneck."""

from __future__ import annotations

from dataclasses import dataclass

from pi2_fluid.records.record import Parameter, Record, choice, quantity
from pi2_fluid.units import LONG_WAIT

__all__ = ["Link"]


@dataclass(frozen=True, eq=False)
class Link(Record):
    """The bottleneck.

    Parameters
    ----------
    capacity : float or str
        Rate at which it serves (bit/s).
    buffer : float or str, default "40000 packets"
        Packets that the queue holds at most.
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

    Examples
    --------
    >>> Link("10Mbit/s").capacity
    10000000.0
    """

    capacity: Parameter = quantity(None, "rate")
    buffer: Parameter = quantity("40000 packets", "packets")
    packet_size: Parameter = quantity("1500B", "size")
    kind: str = choice("wire", ("wire", "htb"))
    delay_on: str = choice("return", ("return", "forward", "split"))
    ack_jitter: Parameter = quantity("1us", "time", usual=LONG_WAIT, closed=True)
