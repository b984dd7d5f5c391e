"""The last stage of a scenario: what is there when nothing is scheduled any more, and its rest."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pi2_fluid.comparison.agreement.places import classic_of
from pi2_fluid.engines.fluid.fluid import Fluid
from pi2_fluid.errors import DomainError, SolverError, UnsupportedError, quietly
from pi2_fluid.network.bottlenecks import NetworkPoint
from pi2_fluid.network.equilibrium import OperatingPoint, equilibrium
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.network import Network, Node
from pi2_fluid.network.routes import places_of
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

_PUSH: Final = 1.02  # of the queue at rest: small, so that nothing is clipped
_TOLERANCE: Final = 1e-6


class LastStage(NamedTuple):
    """What a scenario ends with."""

    begin: float
    """Seconds."""
    nodes: tuple[Node, ...]
    """Links, as they are then, with their queues."""
    flows: tuple[Flows, ...]
    """The classes that send, as if they always had."""


def last_stage(scenario: Scenario) -> LastStage:
    """Return when the schedule is over, and what is there from then on.

    Examples
    --------
    >>> from pi2_fluid.network.catalogue import named_scenario
    >>> stage = last_stage(named_scenario("pi2_fig13_pi2"))
    >>> stage.begin, [float(flow.count) for flow in stage.flows]
    (205.0, [10.0])
    """
    end = float(scenario.duration)
    instants = [0.0, *(float(change.at) for change in scenario.changes)]
    instants += [float(flow.start) + float(flow.start_jitter) for flow in scenario.flows]
    instants += [float(flow.stop) for flow in scenario.flows if flow.stop is not None]
    nodes = {node.name: node for node in scenario.as_run.network.nodes}
    counts = {
        name: float(flow.count)
        for name, flow in zip(scenario.class_names, scenario.flows, strict=True)
    }
    for change in scenario.changes:
        if change.capacity is not None:
            name = change.link or scenario.node_names[0]
            link = dataclasses.replace(nodes[name].link, capacity=float(change.capacity))
            nodes[name] = dataclasses.replace(nodes[name], link=link)
        counts |= {name: float(count) for name, count in (change.counts or {}).items()}
    there = tuple(
        dataclasses.replace(flow, count=counts[name], start=0.0, stop=None, start_jitter=0.0)
        for name, flow in zip(scenario.class_names, scenario.flows, strict=True)
        if counts[name] > 0.0 and (flow.stop is None or float(flow.stop) >= end)
    )
    return LastStage(max(at for at in instants if at < end), tuple(nodes.values()), there)


def loop_rtts(scenario: Scenario) -> list[float]:
    """Return the round trips (s) of the classes that obey signals, with their queues' targets."""
    targets = [float(node.aqm.target_delay or 0.0) for node in scenario.network.nodes]
    routes = places_of(scenario.node_names, scenario.flows)
    rtts = [
        float(flow.base_rtt) + sum(targets[place] for place in route)
        for flow, route in zip(scenario.flows, routes, strict=True)
        if flow.sender.signal is not None
    ]
    return rtts or [max(*targets, 0.1)]


def answers_to_pushes(
    scenario: Scenario, fluid: Fluid, step: float, length: float
) -> FloatArray | None:
    """Return the (Classic) queues' delays (s) after a small push of each queue at the last rest.

    They have the shape (pushes, links, time), every `step` for `length` (s). None if the last stage
    has no state of rest that the queues are free to keep.
    """
    stage = last_stage(scenario)
    if not stage.flows:
        return None
    network = Network(stage.nodes, stage.flows, scenario.network.combine)
    pushed = Scenario(length, network=network)
    with quietly():
        try:
            rest = equilibrium(network)
        except (DomainError, UnsupportedError, SolverError):
            return None
        if {"clamped", "protection"} & set(rest.broken):
            return None
        engine = dataclasses.replace(fluid, sample=step, tolerance=None)
        engine = engine.with_tolerance(_TOLERANCE)
        begun = _pushed_one_by_one(rest)
        runs = [dataclasses.replace(engine, initial=each).run(pushed) for each in begun]
    if isinstance(rest, NetworkPoint):
        classic = [classic_of(run["queue_delay"]) for run in runs]
        delays = [delay.transpose("link", "time").to_numpy() for delay in classic]
    else:
        delays = [classic_of(run["queue_delay"]).to_numpy()[None] for run in runs]
    return np.stack(delays)


def _pushed_one_by_one(
    rest: OperatingPoint | NetworkPoint,
) -> list[OperatingPoint | NetworkPoint]:
    """Return the rest with a little more in one queue at a time, of those that have one."""
    if isinstance(rest, OperatingPoint):
        return [dataclasses.replace(rest, queue=_PUSH * float(rest.queue))]
    queue, names = rest.queue, rest.queue.link.to_numpy()
    waiting = names[queue.to_numpy() > 0.0]
    return [
        dataclasses.replace(rest, queue=queue * np.where(names == name, _PUSH, 1.0))
        for name in (waiting if len(waiting) else names[:1])
    ]
