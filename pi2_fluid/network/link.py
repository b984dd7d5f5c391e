"""`Link`: the bottleneck."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from pi2_fluid.errors import QuantityError, ScenarioError, show_value
from pi2_fluid.ops import Number, maximum, namespace
from pi2_fluid.records.record import OptionalParameter, Parameter, Record, choice, quantity
from pi2_fluid.units import (
    LONG_WAIT,
    SLOW_LINK,
    is_traced,
    parse_quantity,
    validate_quantity,
)

_BUFFER = quantity(None, "packets", optional=True)
_USUAL: Final = 0.25  # s, at the largest capacity: the rule of thumb for routers
_MOST_LOSS: Final = 0.99  # beyond, next to nothing arrives
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
    loss : float or str, default 0
        Part of all packets that is lost at random behind the link, as on a radio (packets only).
    loss_burst : float or str, optional
        How many packets are lost in a row in the mean, by Gilbert's chain of two states. None: each
        is lost by itself, whatever happened to others.
    aggregate : float or str, optional
        Packets that a wire sends as one, at most: they leave the queue together and arrive
        together, as the frames of Wi-Fi (packets only). None: one, or as `aggregate_time` allows.
    aggregate_time : float or str, optional
        How long such packets take together at most (s). One packet always goes.
    ring : float or str, optional
        Packets that a ring of the device holds between queue and wire, the one in service among
        them (packets only). The queue hands it packets while it has room, and does not see them any
        more: what they wait there is `ring_delay`, of which no AQM knows. None: one, in service.
    bql : bool, default False
        Whether byte queue limits, as Linux has them, keep the ring as short as the wire allows.
    bql_min, bql_max : float or str, optional
        Within which their limit stays (bytes), as ``limit_min`` and ``limit_max`` of Linux.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, as a rate without one, or a word that it does not know.
    DomainError
        If a number is outside its range.
    ScenarioError
        If there is a `loss_burst` without `loss`, or below what such a loss has at the least; or
        a token bucket that sends packets together or has a ring; or limits of a ring without one.

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
    loss: Parameter = quantity(0.0, "fraction", high=_MOST_LOSS, closed=True)
    loss_burst: OptionalParameter = quantity(None, "packets", low=1.0, closed=True, optional=True)
    aggregate: OptionalParameter = quantity(None, "packets", low=1.0, closed=True, optional=True)
    aggregate_time: OptionalParameter = quantity(None, "time", usual=LONG_WAIT, optional=True)
    ring: OptionalParameter = quantity(None, "packets", low=1.0, closed=True, optional=True)
    bql: bool = choice(False, (True, False))
    bql_min: OptionalParameter = quantity(None, "size", optional=True)
    bql_max: OptionalParameter = quantity(None, "size", optional=True)

    def __post_init__(self) -> None:
        held = _seconds(self.buffer)
        if held is not None:
            object.__setattr__(self, "buffer", None)  # until the capacity is a number
        super().__post_init__()
        if held is not None:
            object.__setattr__(self, "buffer", _packets(held, self.capacity, self.packet_size))
            super().__post_init__()
        if self.loss_burst is not None:
            self._check_bursts(self.loss_burst)
        if self.aggregates and self.kind != "wire":
            raise ScenarioError(
                f'Link kind = "{self.kind}" lets each packet go by itself, and aggregate or'
                ' aggregate_time sends several as one: give kind = "wire", or leave both out.'
            )
        self._check_ring()

    @property
    def aggregates(self) -> bool:
        """Whether it may send several packets as one."""
        return self.aggregate_time is not None or not (
            self.aggregate is None or np.all(np.equal(self.aggregate, 1.0))
        )

    def _check_ring(self) -> None:
        """Refuse a ring where there can be none, and limits of one that is not there."""
        if self.ring is not None and (self.kind != "wire" or self.aggregates):
            raise ScenarioError(
                f"Link ring = {show_value(self.ring)} lies before a wire that sends packets one by"
                ' one: give kind = "wire" without aggregate and aggregate_time. A shaper above a'
                " ring is a node of its own, before this one."
            )
        if self.bql and self.ring is None:
            raise ScenarioError(
                "Link bql = True limits the bytes of a ring, and there is none: give ring, such as"
                " 256 packets, or leave bql out."
            )
        for name in ("bql_min", "bql_max"):
            if getattr(self, name) is not None and not self.bql:
                raise ScenarioError(
                    f"Link {name} = {show_value(getattr(self, name))} bounds byte queue limits,"
                    " and bql = False has none: give bql = True, or leave it out."
                )
        least, most = self.bql_min, self.bql_max
        if least is None or most is None or is_traced(least) or is_traced(most):
            return
        if np.any(np.less(most, least)):
            raise ScenarioError(
                f"Link bql_max = {show_value(most)} is below bql_min = {show_value(least)}: give"
                " bql_max >= bql_min."
            )

    def _check_bursts(self, burst: Number) -> None:
        if is_traced(self.loss) or is_traced(burst):
            return
        if np.any(np.equal(self.loss, 0.0)):
            raise ScenarioError(
                f"Link loss_burst = {show_value(burst)} is how many packets are lost in a row, and"
                " loss = 0 loses none: give loss, or leave loss_burst out."
            )
        least = np.max(self.loss / (1.0 - self.loss) / burst)
        if least > 1.0:
            raise ScenarioError(
                f"Link loss_burst = {show_value(burst)} is so short that losses could not be"
                f" {show_value(self.loss)} of all: give {float(least * np.max(burst)):.3g} or more,"
                " or less loss."
            )


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
