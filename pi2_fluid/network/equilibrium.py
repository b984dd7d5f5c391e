"""Where flows and queue settle: the operating point around which a loop is linearised."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, overload

import numpy as np

from pi2_fluid.errors import (
    DomainError,
    ScenarioError,
    UnsupportedError,
    show_value,
)
from pi2_fluid.html import html_table, show_number
from pi2_fluid.latex import LatexTable, quantities
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.opaque import require_equations
from pi2_fluid.laws.sender import Sender, rate_under
from pi2_fluid.network.assumptions import check_assumptions
from pi2_fluid.network.bottlenecks import NetworkPoint, network_equilibrium
from pi2_fluid.network.filling import fill
from pi2_fluid.network.flows import (
    Flows,
    refuse_finite,
    require_equal_packets,
    require_responsive,
)
from pi2_fluid.network.link import Link, with_buffer
from pi2_fluid.network.network import Network
from pi2_fluid.network.packets_only import refuse_losses, refuse_rings
from pi2_fluid.network.response import linear_form, plain, respond, window_of
from pi2_fluid.network.rest import Rest, l4s_is_alone, own_delay, require_round_trip, rest_at
from pi2_fluid.records.labels import align_labels, relabel
from pi2_fluid.records.record import named_arrays
from pi2_fluid.units import LONG_PATH, SLOW_LINK, broadcast_shape, validate_quantity

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.values import Number, Quantity


@dataclass(frozen=True, kw_only=True)
class OperatingPoint:
    """The operating point, where flows and queue settle.

    From `equilibrium_of` the per-class values are numbers (or arrays of the loop's shape); from
    `equilibrium` they are tuples in the order of the flows.

    Attributes
    ----------
    controller : float
        The queue's own variable, the one alpha and beta act on.
    queue_delay : float, or pair of float
        Seconds; of a dual queue (Classic, L4S).
    queue : float
        Packets, in both queues if there are two (per flow, from `equilibrium_of`).
    broken : tuple of str
        Assumptions that do not hold: "window" (W < 2), "update_interval" (T > rtt), "clamped",
        "protection" (L4S traffic would need more of the link than a dual queue leaves it).
    p : float or tuple
        Probability that a packet of the class is signalled.
    p_prime : float or tuple
        Its linear form: sqrt(p) for a classic sender, p for a scalable one.
    window : float or tuple
        Segments; of a sender without window, what it sends in one round-trip time.
    rtt : float or tuple
        Round-trip time, queue included (s).
    rate : float or tuple
        Segments per second of one flow that enter the queue: of thinned traffic what is not
        dropped.
    share : float or tuple
        Part of the capacity that the class uses.
    capacity : float
        Packets per second served (one flow's rate, from `equilibrium_of`).
    states : tuple
        The full state of each sender there, one entry per class.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> rest = pf.equilibrium(pf.Flows(pf.Reno(), 10, "80ms"), pf.Pi2(), "10Mbit/s")
    >>> print(f"p' = {rest.controller:.3f}, {rest.window[0]:.2f} segments, {rest.rtt[0]:.3f} s")
    p' = 0.170, 8.33 segments, 0.100 s
    """

    controller: Any
    queue_delay: Any
    queue: Any
    broken: tuple[str, ...]
    p: Any
    p_prime: Any
    window: Any
    rtt: Any
    rate: Any
    share: Any
    capacity: Any
    states: tuple[Any, ...]

    def labelled(self, labels: xarray.DataArray | None) -> OperatingPoint:
        """Return the same with xarray's names and coordinates; itself if `labels` is None."""
        if labels is None:
            return self
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        del named["broken"]
        return replace(self, **{name: relabel(labels, value) for name, value in named.items()})

    def rows(self) -> list[tuple[str, Any, str]]:
        """Return each quantity as its name, its value and its unit."""
        return [
            ("controller", self.controller, ""),
            ("queue delay", self.queue_delay, "s"),
            ("queue", self.queue, "packets"),
            ("p", self.p, ""),
            ("p'", self.p_prime, ""),
            ("window", self.window, "segments"),
            ("round-trip time", self.rtt, "s"),
            ("rate of a flow", self.rate, "segments/s"),
            ("share", self.share, ""),
            ("capacity", self.capacity, "packets/s"),
            ("assumptions broken", ", ".join(self.broken) or "none", ""),
        ]

    def _repr_html_(self) -> str:
        return html_table("Operating point", self.rows())

    def latex_table(self) -> LatexTable:
        """Return the quantities of one operating point, as `to_latex` writes them."""
        return quantities(
            (name, value if isinstance(value, str) else show_number(value), unit)
            if isinstance(value, str) or np.ndim(value)
            else (name, float(value), unit)
            for name, value, unit in self.rows()
        )


class Settled(NamedTuple):
    """Where a queue rests, and what each class of flows does there, in their order."""

    rest: Rest
    p: tuple[Any, ...]
    rtts: tuple[Any, ...]
    states: tuple[Any, ...]
    rates: tuple[Any, ...]


#: From flows, a queue, packets per second and the shape of all arrays to where they rest; None: it
#: was not found.
Settle: TypeAlias = "Callable[[tuple[Flows, ...], Aqm, Number, tuple[int, ...]], Settled | None]"


def equilibrium_of(
    sender: Sender,
    aqm: Aqm,
    rtt: Quantity,
    p: Quantity | None = None,
    p_prime: Quantity | None = None,
) -> OperatingPoint:
    """Return the operating point of one class at a given load.

    Parameters
    ----------
    sender : Sender
        The window law; it must obey signals.
    aqm : Aqm
        The queue.
    rtt : float, array or str
        Round-trip time, queue included (s).
    p, p_prime : float or array
        The load: exactly one of the signal probability of this class and its linear form,
        in (0, 1].

    Raises
    ------
    QuantityError, DomainError
        If both or neither of p and p_prime are given, or one is outside (0, 1]; if labels of
        arrays contradict each other.
    UnsupportedError
        If the sender ignores signals, so that it has no such load, or the queue never rests (a dual
        queue that marks L4S traffic alone by a step).

    Notes
    -----
    Arrays with labels (xarray's DataArrays) broadcast by the names of their dimensions, and results
    keep them. A queue that counts packets (RED) rests at a delay that depends on the capacity: here
    it serves this one flow, on a link of its own.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> point = pf.equilibrium_of(pf.Reno(), pf.Pi2(), rtt="100ms", p=0.02)
    >>> round(point.window, 9), round(point.p_prime, 6), round(point.rate, 6)
    (10.0, 0.141421, 100.0)
    """
    _require(sender, Sender, "sender", "Reno()")
    _require(aqm, Aqm, "aqm", "Pi2()")
    loads: dict[str, Quantity | None] = {"rtt": rtt, "p": p, "p_prime": p_prime}
    loads, (sender, aqm), labels = align_labels(loads, (sender, aqm))
    if sender.signal is None:
        raise UnsupportedError(
            f"{type(sender).__name__} ignores congestion signals, so that no p is its load: give"
            " Flows and a capacity, beside others if its rate is constant."
        )
    if (p is None) == (p_prime is None):
        said = "neither" if p is None else "both"
        raise DomainError(
            f"p = {show_value(p)} and p_prime = {show_value(p_prime)}, {said} of them given: the"
            " load is exactly one, in (0, 1]."
        )
    rtt = validate_quantity(loads["rtt"], "time", "rtt", usual=LONG_PATH)
    p, p_prime = loads["p"], loads["p_prime"]
    load = "p" if p_prime is None else "p_prime"
    if p is None:
        p_prime = validate_quantity(p_prime, "fraction", "p_prime", high=1.0)
        p = p_prime * p_prime if sender.signal == "classic" else p_prime
    else:
        p = validate_quantity(p, "fraction", "p", high=1.0)
        p_prime = np.sqrt(p)[()] if sender.signal == "classic" else p
    broadcast_shape({"rtt": rtt, load: p} | named_arrays(sender) | named_arrays(aqm))
    alone = aqm.bands == 2 and sender.signal == "scalable"
    state = sender.at_rest(rtt, p)
    rate = rate_under(sender, state, p, rtt)
    rest = rest_at(aqm, p if alone else aqm.decode(p, sender.signal), rate, alone=alone)
    delay, window = own_delay(rest.queue_delay, sender), window_of(sender, state, rate, rtt)
    _require_path(aqm, rest, delay, rtt)
    return OperatingPoint(
        controller=plain(rest.controller),
        queue_delay=plain(rest.queue_delay),
        queue=plain(rate * delay),
        broken=check_assumptions(aqm, rest.controller, [sender], [window], [rtt]),
        p=plain(p),
        p_prime=plain(p_prime),
        window=plain(window),
        rtt=plain(rtt),
        rate=plain(rate),
        share=plain(aqm.load_at(rest.controller)),
        capacity=plain(rate / aqm.load_at(rest.controller)),
        states=(plain(state),),
    ).labelled(labels)


@overload
def equilibrium(flows: Network) -> OperatingPoint | NetworkPoint: ...
@overload
def equilibrium(
    flows: Flows | Sequence[Flows],
    aqm: Aqm | None = None,
    capacity: Quantity | None = None,
    packet_size: Quantity = "1500B",
) -> OperatingPoint: ...
def equilibrium(
    flows: Flows | Sequence[Flows] | Network,
    aqm: Aqm | None = None,
    capacity: Quantity | None = None,
    packet_size: Quantity = "1500B",
) -> OperatingPoint | NetworkPoint:
    """Return the operating point of classes of flows that share a queue, or cross several.

    Parameters
    ----------
    flows : Flows, sequence of Flows, or Network
        The classes; a network says all the rest, too.
    aqm : Aqm
        The queue.
    capacity : float, array or str
        Link capacity (bit/s).
    packet_size : float or str, default "1500B"
        Size of a packet, which is one segment (bytes).

    Raises
    ------
    DomainError
        If no controller value in (0, 1], and of flows that rest by their delay no delay, makes the
        flows fill the capacity exactly; if these fill a network's buffer before.
    ScenarioError
        If something is missing, or given beside a network.
    SolverError
        If no rest was found of a network of several nodes.
    UnsupportedError
        If the queue never rests: a dual queue that marks L4S traffic alone by a step; of several
        nodes, if a queue is one of one's own that is like none here, or something is an array.

    Notes
    -----
    Solved for the one controller value at which the rates sum to the capacity; every class sees it
    through its own encoder and round-trip time. Flows that rest without signals, by their delay,
    rest at the delay at which their rates do: if none hears any, if the queue gives none
    (`TailDrop`), or where they wait less than a queue with a target signals at; p is 0 there, and
    the controller of a queue that nobody heeds is at its lowest or highest. Arrays with labels
    (xarray's DataArrays) broadcast by the names of their dimensions, and results keep them. In a
    dual queue beside Classic traffic, the L4S queue is empty and the Classic one rests at the
    target.

    A network of several nodes has one controller value for each link, and returns a `NetworkPoint`
    with the dimensions `link` and `flows`. At the operating point a full link has its target as
    delay (RED what its profile needs, tail drop what its buffer holds, a `Price` none). Other links
    are no bottleneck and have no queue. Signals of several links combine as the network says. A
    full link has less delay than its target, and signals nothing, where its own delay is enough
    beside what other links signal. Where all links have a price, the operating point shares out the
    flows' utilities best: a convex problem, solved through its dual.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> point = pf.equilibrium(pf.Flows(pf.Reno(), 10, "80ms"), pf.Pi2(), "12Mbit/s")
    >>> round(point.window[0], 9), round(point.controller, 9)
    (10.0, 0.141421356)
    """
    if isinstance(flows, Network) and len(flows.nodes) > 1:
        refuse_beside(aqm, capacity, packet_size)
        return network_equilibrium(flows)
    link = flows.node.link if isinstance(flows, Network) else None
    flows, aqm, capacity, packet_size = taken_apart(flows, aqm, capacity, packet_size)
    return settle_flows(flows, aqm, capacity, packet_size, link)


def settle_flows(
    flows: tuple[Flows, ...],
    aqm: Aqm,
    capacity: Quantity,
    packet_size: Quantity,
    link: Link | None = None,
    *,
    by: Settle | None = None,
) -> OperatingPoint:
    """Return the operating point of classes in one queue, as `equilibrium`.

    Parameters
    ----------
    flows, aqm, capacity, packet_size
        As of `equilibrium`.
    link : Link, optional
        Whose buffer must hold what waits where nothing is signalled.
    by : callable, optional
        What is asked first where they rest.
    """
    given = {"capacity": capacity, "packet_size": packet_size}
    given, (aqm, *several), labels = align_labels(given, (aqm, *flows))
    flows, (capacity, packet_size) = tuple(several), given.values()
    capacity = validate_quantity(capacity, "rate", "capacity", usual_from=SLOW_LINK)
    packet_size = validate_quantity(packet_size, "size", "packet_size")
    require_equal_packets(flows, [aqm], packet_size)
    flows = tuple(_on_link(flow, packet_size) for flow in flows)
    for flow in flows:
        require_round_trip(flow, [aqm])
    shape = _shape_of(flows, aqm, {"capacity": capacity, "packet_size": packet_size})
    packets = capacity / (8.0 * packet_size)
    alone = l4s_is_alone(flows, aqm, packets)

    settled = None if by is None or alone else by(flows, aqm, packets, shape)
    if settled is None:
        rest = fill(flows, aqm, packets, shape, alone=alone)
        settled = Settled(rest, *respond(flows, aqm, rest))
    rest, p, rtts, states, rates = settled
    p_prime = tuple(linear_form(flow.sender, mine) for flow, mine in zip(flows, p, strict=True))
    senders = [flow.sender for flow in flows]
    windows = list(map(window_of, senders, states, rates, rtts))
    shares = [f.count * rate / packets for f, rate in zip(flows, rates, strict=True)]
    if aqm.bands == 1:
        queue, l4s_share = packets * rest.queue_delay, 0.0
        if link is not None and not np.any(np.asarray(p)):
            require_room(queue, link)
    else:
        both = list(zip(senders, shares, strict=True))
        queue = packets * sum(share * own_delay(rest.queue_delay, s) for s, share in both)
        l4s_share = sum(share for s, share in both if s.signal == "scalable" and not alone)
    return OperatingPoint(
        controller=plain(rest.controller),
        queue_delay=plain(rest.queue_delay),
        queue=plain(queue),
        broken=check_assumptions(aqm, rest.controller, senders, windows, list(rtts), l4s_share),
        p=plain(p),
        p_prime=plain(p_prime),
        window=plain(tuple(windows)),
        rtt=plain(rtts),
        rate=plain(rates),
        share=plain(tuple(shares)),
        capacity=packets,
        states=plain(states),
    ).labelled(labels)


def _on_link(flow: Flows, packet_size: Number) -> Flows:
    sender = flow.sender.on_link(packet_size)
    return flow if sender is flow.sender else replace(flow, sender=sender)


def taken_apart(
    flows: object, aqm: Aqm | None, capacity: Quantity | None, packet_size: Quantity
) -> tuple[tuple[Flows, ...], Aqm, Quantity, Quantity]:
    """Return the flows, the queue, the capacity and the packet size: those of a network, if it is.

    Raises
    ------
    ScenarioError
        If something is given beside a network, or is missing.
    UnsupportedError
        If a link loses packets at random.
    """
    if not isinstance(flows, Network):
        classes = as_flows(flows)
        if not isinstance(aqm, Aqm):
            raise ScenarioError(f"aqm = {show_value(aqm)} is no Aqm: give e.g. Pi2().")
        if capacity is None:
            raise ScenarioError('capacity is missing: give the link\'s, e.g. "10Mbit/s".')
        return classes, aqm, capacity, packet_size
    refuse_beside(aqm, capacity, packet_size)
    refuse_losses(flows, "operating points and loops do")
    refuse_rings(flows, "operating points and loops do")
    link = flows.node.link
    return as_flows(flows.flows), flows.node.aqm, link.capacity, link.packet_size


def require_room(queue: Number, link: Link) -> None:
    """Refuse flows that no signal holds back, and that need more of a buffer than there is.

    Raises
    ------
    DomainError
        Saying how much.
    """
    buffer = np.asarray(with_buffer(link).buffer)
    if np.any(np.asarray(queue) > buffer * (1.0 + 1e-9)):
        raise DomainError(
            f"the flows keep {float(np.max(queue)):.4g} packets waiting at rest, and the buffer of"
            f" {float(np.min(buffer)):.4g} is full before: raise it, or lower the counts."
        )


def refuse_beside(aqm: Aqm | None, capacity: Quantity | None, packet_size: Quantity) -> None:
    """Refuse what is given beside a network.

    Raises
    ------
    ScenarioError
        Naming what was given.
    """
    beside = {"aqm": aqm, "capacity": capacity, "packet_size": packet_size}
    for name, value in beside.items():
        default = "1500B" if name == "packet_size" else None
        if value is not default and value != default:
            raise ScenarioError(
                f"{name} = {show_value(value)} is given beside a network, which has its own: leave"
                " it out."
            )


def as_flows(flows: object) -> tuple[Flows, ...]:
    """Return a tuple of classes from one class or a sequence of them."""
    several = (flows,) if isinstance(flows, Flows) else flows
    classes = tuple(several) if isinstance(several, Iterable) else ()
    if not classes or not all(isinstance(flow, Flows) for flow in classes):
        raise ScenarioError(
            f"flows = {show_value(flows)} is not one Flows or a sequence of them: give e.g."
            ' Flows(Reno(), count=10, base_rtt="80ms").'
        )
    for flow in classes:
        if flow.route is not None and len(flow.route) > 1:
            raise ScenarioError(
                f"Flows route = {show_value(flow.route)} crosses several nodes, and here one queue"
                " is given: give a Network of them all, or leave route out."
            )
    require_equations(*(flows.sender for flows in classes))
    refuse_finite(classes)
    require_responsive(classes)
    return classes


def _shape_of(flows: tuple[Flows, ...], aqm: Aqm, numbers: dict[str, Any]) -> tuple[int, ...]:
    named = numbers | named_arrays(aqm)
    for index, flow in enumerate(flows):
        named |= {f"{name} (class {index})": value for name, value in named_arrays(flow).items()}
    return broadcast_shape(named)


def _require_path(aqm: Aqm, rest: Rest, delay: Number, rtt: Number) -> None:
    """A queue that aims at no delay of its own must leave room for the path in `rtt`."""
    aims = aqm.target_delay is not None and np.all(np.asarray(rest.controller) > 0.0)
    if not aims and np.any(np.asarray(delay) >= np.asarray(rtt)):
        raise DomainError(
            f"{type(aqm).__name__} rests at a queue delay of {float(np.max(delay)):.3g} s with one"
            f" flow on a link of its own, and rtt = {float(np.min(rtt)):.3g} s leaves nothing for"
            " the path: raise rtt, or give Flows and a capacity."
        )


def _require(value: object, kind: type, name: str, example: str) -> None:
    if not isinstance(value, kind):
        raise ScenarioError(
            f"{name} = {show_value(value)} is no {kind.__name__}: give e.g. {example}."
        )
