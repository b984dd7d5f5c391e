"""Where several links rest: which of them are bottlenecks, and what each signals.

Every link has one coordinate, v from -1 to 1. Up to 0 the queue signals nothing and waits 1 + v
of the delay at which it begins to; above 0, v is the controller's variable over the highest that it
may have, and the delay is the target of a queue that has one, what the profile needs of RED, all
that the buffer holds of a tail drop. At rest a link is either full, or idle at v = -1, without a
queue. Where all links have a price, which has no queue, rest is a convex problem instead: see
`pi2_fluid.network.prices`.
"""

# ruff: noqa: RUF009 - each field of `NetworkPoint` has a descriptor of its own
from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np

from pi2_fluid.errors import DomainError, SolverError, UnsupportedError, show_value
from pi2_fluid.html import html_table
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.opaque import require_equations
from pi2_fluid.laws.registry import AQMS, aqm_class
from pi2_fluid.network.assumptions import check_assumptions
from pi2_fluid.network.flows import (
    Flows,
    refuse_finite,
    require_equal_packets,
    require_responsive,
)
from pi2_fluid.network.labels import Labels, Unlabelled, labelled, without_labels
from pi2_fluid.network.links import LEAST_SIGNAL, NO_SIGNAL, Links
from pi2_fluid.network.network import Network, Node
from pi2_fluid.network.packets_only import refuse_losses, refuse_rings
from pi2_fluid.network.prices import share_by_prices
from pi2_fluid.network.response import linear_form, plain, window_of
from pi2_fluid.network.rest import require_round_trip
from pi2_fluid.network.routes import on_their_ways
from pi2_fluid.records.record import map_leaves, require_untraced

if TYPE_CHECKING:
    import xarray
    from numpy.typing import ArrayLike

    from pi2_fluid.values import BoolArray, FloatArray

# Of log(y/C), where Newton has converged; and how far above C rounding may leave an idle link.
_CONVERGED: Final = 1e-11
_FULL: Final = 1e-9
_LACKING: Final = (1e-6, 1e-8, 1e-10)  # of the load: below 1, then below that of the fullest
#: From what arrives at links to their coordinates at rest.
SettleLinks: TypeAlias = "Callable[[Links], FloatArray | None]"
_SWEEPS: Final = (12, 38, 100, 200, 400, 800, 1600, 3200, 6400)


@dataclass(frozen=True, kw_only=True, eq=False)
class NetworkPoint:
    """The operating point of a network of several links, as xarray's DataArrays.

    Attributes
    ----------
    bottleneck : DataArray (link)
        Whether the link is full; others have no queue, and signal nothing.
    load : DataArray (link)
        What arrives over the capacity: 1 of a full queue, `utilization` of a full link with a
        price, more than 1 of a tail drop that loses the rest.
    controller : DataArray (link)
        The queue's own variable; 0 also of a full link that waits less than its target, since
        signals of other links hold its flows back. Of a tail drop, what part it loses.
    price : DataArray (link)
        The controller of links that have a price (s); NaN of others.
    link_p, link_p_prime : DataArray (link, signal)
        Probability that the link signals a packet of classic or scalable senders, and its linear
        form: sqrt(p) for classic ones, p for scalable ones.
    queue_delay : DataArray (link)
        Seconds; of a dual queue those of Classic packets.
    l4s_delay : DataArray (link)
        Seconds that L4S packets wait: of a single queue as long as all.
    queue : DataArray (link)
        Packets, in both queues of a dual one.
    capacity : DataArray (link)
        Packets per second served.
    p, p_prime : DataArray (flows)
        Probability that some link of the route signals a packet, by the network's `combine`, and
        its linear form.
    window : DataArray (flows)
        Segments; of a sender without window, what it sends in one round-trip time.
    rtt : DataArray (flows)
        Round-trip time, all queues of the route included (s).
    rate : DataArray (flows)
        Segments per second of one flow that enter the last queue of its route.
    share : DataArray (link, flows)
        Part of the link's capacity that the class uses.
    unique : bool
        Whether p', or the prices, of the bottlenecks are the only ones with these rates: their rows
        of the routing matrix are independent.
    broken : tuple of str
        Assumptions that do not hold, as of `OperatingPoint`.
    states : tuple
        The full state of each sender there, one entry per class.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> a = pf.Node("a", pf.Link("20Mbit/s"), pf.Pi2())
    >>> b = pf.Node("b", pf.Link("5Mbit/s"), pf.Pi2())
    >>> both, first = (pf.Flows(pf.Reno(), 10, "80ms", route=route) for route in (("a", "b"), "a"))
    >>> rest = pf.equilibrium(pf.Network([a, b], [both, first]))
    >>> rest.bottleneck.values
    array([ True,  True])
    >>> rest.share.sel(link="a").values.round(2)
    array([0.25, 0.75])
    """

    bottleneck: xarray.DataArray = labelled("link")
    load: xarray.DataArray = labelled("link")
    controller: xarray.DataArray = labelled("link")
    price: xarray.DataArray = labelled("link")
    link_p: xarray.DataArray = labelled("link", "signal")
    link_p_prime: xarray.DataArray = labelled("link", "signal")
    queue_delay: xarray.DataArray = labelled("link")
    l4s_delay: xarray.DataArray = labelled("link")
    queue: xarray.DataArray = labelled("link")
    capacity: xarray.DataArray = labelled("link")
    p: xarray.DataArray = labelled("flows")
    p_prime: xarray.DataArray = labelled("flows")
    window: xarray.DataArray = labelled("flows")
    rtt: xarray.DataArray = labelled("flows")
    rate: xarray.DataArray = labelled("flows")
    share: xarray.DataArray = labelled("link", "flows")
    unique: bool
    broken: tuple[str, ...]
    states: tuple[Any, ...]

    @property
    def signalling(self) -> xarray.DataArray:
        """Whether the link signals anything, by its controller or by its L4S queue alone."""
        return self.controller.copy(data=self.signals_at)

    @property
    def signals_at(self) -> BoolArray:
        """The same without names: (links,)."""
        by_itself = self.numbers("controller") > 0.0
        result: BoolArray = by_itself | np.any(self.numbers("link_p") > 0.0, axis=1)
        return result

    def numbers(self, name: str) -> np.ndarray[Any, Any]:
        """Return one of the arrays without the names of links and flows, as a NumPy array."""
        return without_labels(self, name)

    @property
    def waiting_delay(self) -> xarray.DataArray:
        """Seconds in the queue that waits, of the two of a dual one: the longer delay."""
        delay = self.queue_delay
        return delay.where(delay >= self.l4s_delay, self.l4s_delay)

    def rows(self) -> list[tuple[str, Any, str]]:
        """Return each quantity as its name, its value and its unit."""

        def each(array: xarray.DataArray) -> tuple[float, ...]:
            return tuple(map(float, array))

        links = [str(name) for name in self.load.link.to_numpy()]
        full = [name for name, is_full in zip(links, self.bottleneck, strict=True) if is_full]
        return [
            ("links", ", ".join(links), ""),
            ("bottlenecks", ", ".join(full), ""),
            ("load", each(self.load), ""),
            ("controller", each(self.controller), ""),
            ("p' is unique", "yes" if self.unique else "no: the rates are, not where signals", ""),
            ("queue delay", each(self.queue_delay), "s"),
            *(
                ()
                if self.l4s_delay.equals(self.queue_delay)
                else (("L4S queue delay", each(self.l4s_delay), "s"),)
            ),
            ("queue", each(self.queue), "packets"),
            ("classes", ", ".join(map(str, self.rate.flows.to_numpy())), ""),
            ("p", each(self.p), ""),
            ("p'", each(self.p_prime), ""),
            ("window", each(self.window), "segments"),
            ("round-trip time", each(self.rtt), "s"),
            ("rate of a flow", each(self.rate), "segments/s"),
            ("assumptions broken", ", ".join(self.broken) or "none", ""),
        ]

    def _repr_html_(self) -> str:
        return html_table("Operating point of a network", self.rows())


def network_equilibrium(network: Network, by: SettleLinks | None = None) -> NetworkPoint:
    """Return where a network of several nodes rests; see `equilibrium`.

    Parameters
    ----------
    network : Network
        Of any number of nodes.
    by : callable, optional
        Finds the coordinates of the links in another way, and returns None where it does not.

    Raises
    ------
    DomainError
        If flows fill a link even while it signals every packet.
    SolverError
        If no rest was found.
    UnsupportedError
        If no class obeys signals, a queue is one of one's own that is like none here, or a dual
        one that never rests, the links differ in their packet size, or something is an array.
    """
    refuse_losses(network, "operating points and loops do")
    refuse_rings(network, "operating points and loops do")
    require_equations(*network.laws)
    refuse_finite(network.flows)
    require_responsive(network.flows)
    _require_hearing(network.flows)
    require_untraced("the rest of several links", "a network of one node", network)
    map_leaves(_require_number, network)
    network = network.with_buffers()
    for node in network.nodes:
        _require_known(node)
    queues = {node.name: node.aqm for node in network.nodes}
    require_equal_packets(network.flows, list(queues.values()), network.packet_size)
    for flow in network.flows:
        require_round_trip(flow, [queues[name] for name in flow.route or list(queues)[:1]])
    flows = on_their_ways(network.flows, queues, network.packet_size)
    links = Links(network.nodes, flows, network.combine)
    if links.priced:
        return _described(network, links, _share(links))
    found = None if by is None else by(links)
    return _described(network, links, _solve(links) if found is None else found)


def only_bottleneck(network: Network, point: NetworkPoint | None = None) -> Network | None:
    """Return a network of one node that is the same as this one; None if there is none.

    It is there if one link of the network is full at rest, and nothing lies between the sources and
    it: the other links have no queue, and the flows that cross them alone have no part in what
    happens at this one. Where rates reach it late, by `hops`, one queue with the same round-trip
    times is not quite the same.

    Parameters
    ----------
    network : Network
        Of any number of nodes.
    point : NetworkPoint, optional
        Where it rests, if that is known.

    Raises
    ------
    DomainError, SolverError, UnsupportedError
        As `network_equilibrium`.
    """
    if len(network.nodes) == 1:
        return network
    full = np.flatnonzero((point or network_equilibrium(network)).numbers("bottleneck"))
    if len(full) != 1:
        return None
    node = network.nodes[full[0]]
    queues = {each.name: each.aqm for each in network.nodes}
    crossing = []
    for flow in network.flows:
        route = flow.route or ()
        if node.name in route:
            if any(hop > 0.0 for hop in flow.hops[: route.index(node.name) + 1]):
                return None
            sender = flow.sender.on_route([queues[name] for name in route])
            crossing.append(
                replace(flow, sender=sender, route=None, hops=(), back=None, back_hops=())
            )
    return Network(node, crossing)


def _share(links: Links) -> FloatArray:
    """Let prices share the links out."""
    args = (links.names, links.flows, links.routing, links.usable, links.combine)
    marks = share_by_prices(*args)
    laws = [law.aqm for law in links.laws]
    u = [float(aqm.decode(p, "scalable")) for aqm, p in zip(laws, marks, strict=True)]
    v = np.array(u) / links.highest
    full = np.abs(links.excess_at(v)) < _FULL
    return np.where((v > 0.0) | full, v, -1.0)


def _solve(links: Links) -> FloatArray:
    """Relax until it is clear which links are full, then finish by Newton's method."""
    v = np.where(links.routing.any(axis=1), 0.1, -1.0)
    beyond = links.excess_at(np.where(v > 0.0, 1.0, -1.0))
    _require_room(links, beyond > _CONVERGED, beyond)
    for sweeps in _SWEEPS:
        v = _relax(links, v, sweeps)
        found = _polish(links, v)
        if found is not None:
            return found
        excess = links.excess_at(v)
        if sweeps >= 400:
            _require_room(links, (v >= 1.0) & (excess > 1e-6), excess)
            # One that lacks next to nothing comes to rest too slowly: it may be idle, or just wait;
            # so may one that has next to nothing more of capacity than another.
            for least, rests_at in itertools.product(_LACKING, (-1.0, 0.0)):
                most = -least if least == _LACKING[0] else float(np.max(excess[v > 0.0])) - least
                lacks = (excess < most) & (v > rests_at)
                found = _polish(links, np.where(lacks, rests_at, v))
                if found is not None:
                    return found
    raise SolverError(
        f"no rest of the network was found: the loads are {np.exp(excess).round(6).tolist()} after"
        " the last try; change a capacity or a count a little."
    )


def _require_room(links: Links, overfull: BoolArray, excess: FloatArray) -> None:
    for name, is_over, by in zip(links.names, overfull, excess, strict=True):
        if is_over:
            raise DomainError(
                f"the flows over node {name!r} offer {float(np.exp(by)):.3g} times its capacity"
                " even at p = 1: raise the capacity or lower the counts."
            )


def _relax(links: Links, v: FloatArray, sweeps: int) -> FloatArray:
    """Move every link a little towards y = C, all at once, as their controllers do."""
    identity = np.eye(len(v), dtype=bool)
    # Where signals begin again, after they were found to be needless.
    begin = np.full(len(v), 1e-2)
    # A price waits for nothing.
    begins = np.maximum(links.begins, 1e-9)
    for _ in range(sweeps):
        # Beside v itself, v with the signals of one link at a time switched off.
        tried = np.column_stack([v, np.where(identity, np.minimum(v, 0.0)[:, None], v[:, None])])
        rates, rtts = links.arrivals(tried)
        excess = links.excess(rates, tried)
        # A queue delay takes about its part of the mean RTT from what arrives.
        total = np.maximum(rates[:, :, 0].sum(axis=1), NO_SIGNAL)
        mean_rtt = rates[:, :, 0] @ rtts[:, 0] / total
        off = np.diagonal(excess[:, 1:])
        step = 0.3 * np.clip(excess[:, 0], -2.0, 2.0)
        signals = v > 0.0
        needless = signals & (off < 0.0)
        begin = np.where(needless, 0.5 * np.minimum(v, begin), begin)
        waits = v + np.clip(step * mean_rtt / begins, -0.5, 0.5)
        waits = np.where(waits > 0.0, np.maximum(begin, LEAST_SIGNAL), np.maximum(waits, -1.0))
        marks = np.clip(v * np.exp(step), LEAST_SIGNAL, 1.0)
        v = np.where(needless, 0.0, np.where(signals, marks, waits))
    return v


def _polish(links: Links, v: FloatArray) -> FloatArray | None:
    """Newton's method on the full links, in log u or the delay; None if they do not stay so."""
    v = v.copy()
    full = np.flatnonzero(v > -1.0)
    signals = v[full] > 0.0
    size = len(full)
    last = np.inf
    for _ in range(60):
        # Steps of log u, or of v where nothing is signalled.
        h = np.where(signals, 1e-6, -1e-6)
        tried = np.repeat(v[:, None], size + 1, axis=1)
        moved = np.where(signals, v[full] * np.exp(h), v[full] + h)
        tried[full, 1 + np.arange(size)] = moved
        excess = links.excess_at(tried)
        residual = excess[full, 0]
        worst = float(np.max(np.abs(residual), initial=0.0))
        if worst < _CONVERGED and worst >= 0.5 * last:
            idle = np.setdiff1d(np.arange(len(v)), full)
            return v if np.all(excess[idle, 0] <= _CONVERGED) else None
        last = worst
        if not np.isfinite(worst):
            return None
        slopes = (excess[full, 1:] - residual[:, None]) / h
        step = np.clip(np.linalg.lstsq(slopes, -residual, rcond=1e-9)[0], -1.0, 1.0)
        v[full] = np.where(signals, v[full] * np.exp(step), v[full] + step)
        stays = np.where(
            signals, (v[full] > LEAST_SIGNAL) & (v[full] <= 1.0), np.abs(v[full] + 0.5) <= 0.5
        )
        if not np.all(stays):
            return None
    return None


def _described(network: Network, links: Links, v: FloatArray) -> NetworkPoint:
    rests = links.rests(v, least=0.0)
    responses = [links.response(index, rests) for index in range(len(links.flows))]
    p, rtt, states, sent = zip(*responses, strict=True)
    senders = [flow.sender for flow in links.flows]
    windows = list(map(window_of, senders, states, sent, rtt))
    rate = [links.along(index, rests, own)[1] for index, own in enumerate(sent)]
    full = v > -1.0
    u = np.array([float(rest.controller) for rest in rests])
    signals = np.array([[r.signal.classic, r.signal.scalable] for r in rests], float)
    both = np.array([np.broadcast_to(np.asarray(rest.queue_delay, float), 2) for rest in rests])
    shares = links.arrivals(v)[0] / links.capacity[:, None]
    in_l = np.array([law.dual * links.scalable(place) for place, law in enumerate(links.laws)])
    l4s_share = np.sum(shares * in_l, axis=1)
    parts = np.column_stack([np.where(l4s_share > 0.0, 1.0 - l4s_share, 1.0), l4s_share])
    broken: dict[str, None] = {}
    for place, law in enumerate(links.laws):
        if v[place] > 0.0 and law.restless is not None:
            raise law.restless
        mine = [i for i, route in enumerate(links.places) if place in route]
        if v[place] > 0.0:
            found = check_assumptions(
                law.aqm,
                u[place],
                [senders[i] for i in mine],
                [windows[i] for i in mine],
                [rtt[i] for i in mine],
                0.0 if law.alone else l4s_share[place],
            )
            broken |= dict.fromkeys(found)

    names = {"link": list(links.names), "flows": list(network.class_names)}
    names["signal"] = ["classic", "scalable"]

    labels = Labels(names)

    def named(values: object) -> xarray.DataArray:
        return cast("xarray.DataArray", Unlabelled(np.asarray(values), labels))

    responsive = [i for i, s in enumerate(senders) if s.signal is not None or s.thinned]
    rows = links.routing[full][:, responsive]
    return NetworkPoint(
        bottleneck=named(full),
        load=named(shares.sum(axis=1)),
        controller=named(u),
        price=named(np.where([law.prices for law in links.laws], u, np.nan)),
        link_p=named(signals),
        link_p_prime=named(np.column_stack([np.sqrt(signals[:, 0]), signals[:, 1]])),
        queue_delay=named(both[:, 0]),
        l4s_delay=named(both[:, 1]),
        queue=named(np.sum(parts * both, axis=1) * links.capacity),
        capacity=named(links.capacity),
        p=named(p),
        p_prime=named(list(map(linear_form, senders, p))),
        window=named(windows),
        rtt=named(rtt),
        rate=named(rate),
        share=named(shares),
        unique=bool(np.linalg.matrix_rank(rows) == len(rows)) if len(rows) else True,
        broken=tuple(broken),
        states=plain(tuple(states)),
    )


def _require_hearing(flows: Sequence[Flows]) -> None:
    for flow in flows:
        sender = flow.sender
        if sender.signal is None and sender.constant_rate is None:
            raise UnsupportedError(
                f"{type(sender).__name__} hears no signals, and the rest of several links is solved"
                " for by what they signal: give a network of one node, or simulate it."
            )


def _require_known(node: Node) -> None:
    aqm: Any = node.aqm
    kind = type(aqm).__name__
    if aqm.bands != 1 and not aqm.rests_apart:
        why = "has two queues of its own kind"
    elif not aqm.rests_among_links or type(aqm).at_rest is Aqm.at_rest:
        why = "is none of them, or updates otherwise"
    else:
        return
    laws = [law for law in map(aqm_class, AQMS) if law.rests_among_links]
    known = ", ".join(law.__name__ for law in laws)
    raise UnsupportedError(
        f"{kind} at node {show_value(node.name)} {why}, and the rest of several links is known of"
        " queues with a target, a profile, a price or nothing but a buffer: give one"
        f" of {known}, or a network of one node."
    )


def _require_number(leaf: ArrayLike, place: str) -> None:
    if np.ndim(leaf):
        raise UnsupportedError(
            f"Network {place.removeprefix('.')} has the shape {np.shape(leaf)}, and several nodes"
            " are solved for one network at a time: give one number, and call once for each."
        )
