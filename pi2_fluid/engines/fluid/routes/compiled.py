"""The compiled fluid over several links: a scenario as numbers for the kernel, and its rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid import _core
from pi2_fluid.engines.fluid.beginning import Beginning
from pi2_fluid.engines.fluid.compiled import explained, follow, limits_of, pack_class, pack_law
from pi2_fluid.engines.fluid.compiled import obstacle as obstacle_of_laws
from pi2_fluid.engines.fluid.integration import Accuracy
from pi2_fluid.engines.fluid.routes.layout import lay_out
from pi2_fluid.engines.fluid.routes.trace import by_band
from pi2_fluid.engines.fluid.trace import Trace
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.network.changes import Change
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.link import Link
from pi2_fluid.network.routes import on_their_ways, places_of
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

#: Steps between two looks at the keyboard, up to some 20 ms, were there one delay that a step adds
#: up: it adds at every hop of a route those of the hops beyond it.
_STEPS: Final = 150_000


def obstacle(scenario: Scenario, update: str) -> str:
    """Return what of a scenario the compiled engine does not know, "" if it knows everything."""
    if found := obstacle_of_laws(scenario, update):
        return found
    for flow, route in zip(scenario.flows, _routes(scenario), strict=True):
        thins = {aqm.thins for _, aqm in route}
        if flow.sender.thinned and len(thins) > 1:
            return "traffic that some links of its route thin and others do not"
    return ""


def run_compiled(
    scenario: Scenario,
    update: str,
    accuracy: Accuracy,
    samples: Sequence[float] | FloatArray,
    beginning: Beginning | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Trace:
    """Return what the compiled engine finds at each of the times `samples` (s, rising from 0).

    Parameters
    ----------
    scenario, update, accuracy, samples, beginning, progress
        As for `engines.fluid.compiled.run_compiled`.
    """
    run = _core.RoutesRun(*pack(scenario, update, accuracy, beginning))
    time = np.array(samples, dtype=float)
    n, links, classes = len(time), len(scenario.network.nodes), len(scenario.flows)
    places = places_of(scenario.network.node_names, scenario.flows)
    visits = [(link, i) for i, route in enumerate(places) for link in route]
    steps = max(1, _STEPS // sum(len(route) ** 2 for route in places))
    queues_of = lay_out(scenario.network).queues_of
    queues = sum(map(len, queues_of))
    shapes = (queues, queues, links, links, classes, len(visits), len(visits))
    rows = tuple(np.empty((n, size)) for size in shapes)
    queue, delay, controller, capacity, window, p, leaving = rows

    def advance(place: int) -> tuple[int, str]:
        return run.advance(time, place, steps, *rows)

    follow(advance, run, float(scenario.duration), progress, explained(run, accuracy))
    link_p, link_leaving = np.zeros((n, links, classes)), np.zeros((n, links, classes))
    for visit, (link, i) in enumerate(visits):
        link_p[:, link, i], link_leaving[:, link, i] = p[:, visit], leaving[:, visit]
    last = [route[-1] for route in places]
    one = links == 1
    return Trace(
        time=time,
        queue=queue if one else by_band(queues_of, queue),
        queue_delay=delay if one else by_band(queues_of, delay),
        controller=controller[:, 0] if one else controller,
        p=_met(link_p, scenario.network.combine),
        window=window,
        leaving=link_leaving[:, last, list(range(classes))],
        capacity=capacity[:, 0] if one else capacity,
        link_p=None if one else link_p,
        link_leaving=None if one else link_leaving,
    )


def _met(link_p: FloatArray, combine: str) -> FloatArray:
    """Return with what probability a packet is signalled on its way."""
    by_draws: FloatArray = 1.0 - np.prod(1.0 - link_p, axis=1)
    added: FloatArray = np.minimum(link_p.sum(axis=1), 1.0)
    return added if combine == "sum" else by_draws


def pack(
    scenario: Scenario, update: str, accuracy: Accuracy, beginning: Beginning | None = None
) -> tuple[Any, ...]:
    """Return the arguments of `_core.RoutesRun` that describe a run."""
    network, duration = scenario.network, float(scenario.duration)
    size = float(network.packet_size)
    queues = {node.name: node.aqm for node in network.nodes}
    flows = on_their_ways(scenario.flows, queues, size)
    states = beginning.senders if beginning else (None,) * len(flows)
    places = places_of(network.node_names, flows)
    nodes = [_pack_node(node.link, node.aqm, size, duration, update) for node in network.nodes]
    if beginning:
        states_of_laws, waiting = iter(beginning.controller), iter(beginning.queues)
        for node in nodes:
            node["queues"] = [next(waiting) for _ in node["queues"]]
            node["state"] = [next(states_of_laws) for _ in node["state"]]
    classes = [
        pack_class(flow, network.nodes[route[0]].aqm, size, x) | _pack_route(flow, route)
        for flow, route, x in zip(flows, places, states, strict=True)
    ]
    changes = [_pack_change(change, scenario, size) for change in scenario.changes]
    return (
        duration,
        nodes,
        classes,
        changes,
        update == "continuous",
        network.combine == "sum",
        beginning is not None,
        limits_of(accuracy),
    )


def _routes(scenario: Scenario) -> list[list[tuple[str, Aqm]]]:
    nodes = scenario.network.nodes
    places = places_of(scenario.network.node_names, scenario.flows)
    return [[(nodes[k].name, nodes[k].aqm) for k in route] for route in places]


def _pack_node(link: Link, aqm: Aqm, size: float, duration: float, update: str) -> dict[str, Any]:
    return {
        "capacity": float(link.capacity) / (8.0 * size),
        "buffer": float(link.buffer),
        **pack_law(aqm, continuous=update == "continuous"),
        "queues": [0.0] * aqm.bands,
        "state": [float(value) for value in aqm.pushed().initial()],
        "pushes": [float(value) for value in aqm.pushes(duration)],
    }


def _pack_route(flow: Flows, route: Sequence[int]) -> dict[str, Any]:
    hops = [float(hop) for hop in flow.hops] or [0.0] * len(route)
    return {"nodes": list(route), "hops": hops}


def _pack_change(change: Change, scenario: Scenario, size: float) -> dict[str, Any]:
    counts = change.counts or {}
    return {
        "at": float(change.at),
        "node": 0 if change.link is None else scenario.network.node_names.index(change.link),
        "capacity": math.nan if change.capacity is None else float(change.capacity) / (8.0 * size),
        "counts": [float(counts.get(name, math.nan)) for name in scenario.class_names],
    }
