"""The compiled simulator: a scenario as numbers for the kernel, and one run of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any, Final

import numpy as np

from pi2_fluid import _core
from pi2_fluid.engines.packet.laws import congestion_of, discipline_of
from pi2_fluid.engines.packet.requirements import interval_of
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.changes import Change
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.link import Link
from pi2_fluid.network.network import Node
from pi2_fluid.network.routes import on_their_ways, places_back_of, places_of
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.network.schedule import NS, to_ns
from pi2_fluid.network.transfers import Transfers

#: The ECN field of packets, as the kernel numbers it.
NOT_ECT, ECT1, ECT0 = 0, 1, 2
_AS_IT_IS: Final = -1
_PUSH_OF_LINUX: Final = -1
_LONGEST: Final = _core.packet_limits()["LONGEST"]
_SEED: Final = 5  # its place in what `pack` returns
_EVENTS: Final = 200_000  # between two looks at the keyboard: some 20 ms


def run_packets(
    arguments: tuple[Any, ...],
    stopped: Callable[[], bool],
    report: Callable[[float], None],
) -> dict[str, Any] | None:
    """Run one seed and return what was counted, as `_core.PacketRun.outcome` does.

    Parameters
    ----------
    arguments : tuple
        As `pack` returns them.
    stopped : callable
        Whether to give up, asked every now and then; None is returned then.
    report : callable
        Told up to which time (s) the run has come.

    Raises
    ------
    MemoryError
        If there is no memory.
    """
    run, more = _core.PacketRun(*arguments), True
    while more:
        if stopped():
            return None
        more = advance(run, _EVENTS)
        report(run.time / NS)
    return run.outcome()


def advance(run: _core.PacketRun, events: int) -> bool:
    """Run so many more events, and return whether there are others.

    Raises
    ------
    MemoryError
        If there is no memory.
    """
    status = run.advance(events)
    if status == "no memory":
        raise MemoryError
    return status == "more"


def with_seed(arguments: tuple[Any, ...], seed: int) -> tuple[Any, ...]:
    """Return what `pack` returned, for another seed: nothing else of it differs."""
    return (*arguments[:_SEED], seed, *arguments[_SEED + 1 :])


def pack(
    scenario: Scenario,
    seed: int,
    bin: int,
    trace: int = 0,
    discipline: tuple[str, dict[str, float]] | None = None,
) -> tuple[Any, ...]:
    """Return the arguments of `_core.PacketRun` that describe a run.

    Parameters
    ----------
    scenario : Scenario
        One that `require_packets` has nothing against.
    seed : int
        Of all random numbers.
    bin : int
        ns.
    trace : int
        Events recorded at most.
    discipline : tuple of str and dict of str to float, optional
        A queue discipline of the kernel and its parameters, instead of the scenario's queue.
    """
    network = scenario.network
    size = int(scenario.packet_size)
    names = network.node_names
    queues = {node.name: node.aqm for node in network.nodes}
    flows = on_their_ways(network.flows, queues, size)
    routes = zip(places_of(names, flows), places_back_of(names, flows), strict=True)
    return (
        to_ns(scenario.duration),
        size,
        [_pack_link(node, float(scenario.duration), discipline) for node in network.nodes],
        [
            _pack_class(flow, *ways, scenario, size)
            for flow, ways in zip(flows, routes, strict=True)
        ],
        [_pack_change(change, scenario, names) for change in scenario.changes],
        seed,
        bin,
        trace,
        [detour for change in scenario.changes for detour in _pack_detours(change, scenario)],
    )


def ecn_field(flow: Flows) -> int:
    """Return the ECN field of what a class sends: whether, and as what, it may be marked.

    ECT(1) says that the sender is scalable, or claims to be: a dual queue sends it through L.
    """
    if not flow.ecn_capable:
        return NOT_ECT
    return ECT1 if flow.is_l4s else ECT0


def _pack_link(
    node: Node, duration: float, discipline: tuple[str, dict[str, float]] | None
) -> dict[str, Any]:
    link = node.link
    name, parameters = discipline_of(node.aqm, link) if discipline is None else discipline
    return {
        "capacity": float(link.capacity),
        "kind": link.kind,
        "delay_on": link.delay_on,
        "ack_jitter": to_ns(link.ack_jitter),
        "buffer": int(link.buffer),
        "loss": float(link.loss),
        "loss_burst": float(link.loss_burst or 0.0),
        **_pack_aggregates(link),
        **_pack_ring(link),
        "qdisc": name,
        "parameters": parameters,
        "pushes": np.empty(0) if discipline else node.aqm.pushes(duration),
    }


def _pack_class(
    flow: Flows, route: list[int], back: list[int], scenario: Scenario, size: int
) -> dict[str, Any]:
    sender: Any = flow.sender
    name: str | None = None
    parameters: dict[str, float] = {}
    source: dict[str, float] | None = None
    size = size if flow.packet_size is None else int(flow.packet_size)
    if sender.constant_rate is not None:
        source = _pack_source(sender, size)
    else:
        name, parameters = congestion_of(sender)
    hops = _pack_hops(flow, len(route), len(back))
    stop = None if flow.stop is None or flow.stop >= scenario.duration else to_ns(flow.stop)
    return {
        "congestion": name,
        "parameters": parameters,
        "packet_size": size,
        "source": source,
        "count": int(flow.count),
        "base_rtt": to_ns(flow.base_rtt),
        "start": to_ns(flow.start),
        "stop": stop,
        "start_jitter": to_ns(flow.start_jitter),
        "initial_window": int(flow.initial_window),
        "slow_start": flow.slow_start,
        "delayed_ack": flow.delayed_ack,
        "push_every": _PUSH_OF_LINUX if flow.push_every is None else int(flow.push_every),
        "paced": sender.at_once,
        "ecn": ecn_field(flow),
        **_pack_transfers(flow),
        "route": route,
        "hops": hops[: len(route)],
        "back": back,
        "back_hops": hops[len(route) :],
    }


def _pack_source(sender: Sender, size: int) -> dict[str, float]:
    """Return when packets of a constant rate come, in ns and bytes."""
    numbers = {name: float(value) for name, value in sender.packet_parameters().items()}
    burst = numbers["burst"] or size
    return {
        "interval": interval_of(numbers["rate"], burst),
        "burst": int(burst),
        "spacing": 8.0 * NS / numbers["peak"] if numbers["peak"] else 0.0,
        "poisson": bool(numbers["poisson"]),
        "sends": NS * numbers["sends"],
        "pause": NS * numbers["pause"],
    }


def _pack_transfers(flow: Flows) -> dict[str, Any]:
    """Return how large transfers are, and how long (ns) is between them."""
    if not isinstance(flow, Transfers) or flow.size is None:
        return {"sizes": None, "idle": 0.0, "gap": 0.0}
    return {
        "sizes": (flow.size.kind, flow.size.numbers()),
        "idle": NS * float(flow.idle or 0.0),
        "gap": 0.0 if flow.arrivals is None else NS / float(flow.arrivals),
    }


def _pack_hops(flow: Flows, there: int, back: int) -> list[int]:
    """Return hops in ns, there and back: how far each link is is rounded, so that all fit."""
    rtt = to_ns(flow.base_rtt)
    hops = [*(flow.hops or [0.0] * there), *(flow.back_hops or [0.0] * back)]
    places = [0, *(min(to_ns(place), rtt) for place in accumulate(map(float, hops)))]
    return [there - here for here, there in pairwise(places)]


def _pack_aggregates(link: Link) -> dict[str, int]:
    """Return how many packets are sent as one, and for how long (ns), at most."""
    if not link.aggregates:
        return {"aggregate": 1, "aggregate_time": 0}
    time = _LONGEST if link.aggregate_time is None else to_ns(link.aggregate_time)
    return {"aggregate": int(link.aggregate or link.buffer), "aggregate_time": time}


def _pack_ring(link: Link) -> dict[str, Any]:
    """Return how many packets a ring holds, 0 without, and the range of its limit of bytes."""
    if not link.bql:
        return {"ring": int(link.ring or 0), "bql": None}
    most = _LONGEST if link.bql_max is None else int(link.bql_max)
    return {"ring": int(link.ring or 0), "bql": [int(link.bql_min or 0), most]}


def _pack_detours(change: Change, scenario: Scenario) -> list[dict[str, int]]:
    names = scenario.class_names
    return [
        {"at": to_ns(change.at), "class": names.index(name), "base_rtt": to_ns(rtt)}
        for name, rtt in (change.base_rtt or {}).items()
    ]


def _pack_change(change: Change, scenario: Scenario, links: Sequence[str]) -> dict[str, Any]:
    counts = change.counts or {}
    return {
        "at": to_ns(change.at),
        "capacity": _AS_IT_IS if change.capacity is None else float(change.capacity),
        "link": 0 if change.link is None else links.index(change.link),
        "counts": [int(counts.get(name, _AS_IT_IS)) for name in scenario.class_names],
    }
