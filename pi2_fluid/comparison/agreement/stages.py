"""The last stage of a scenario: what is there when nothing is scheduled any more, and its rest."""

from __future__ import annotations

import dataclasses
import warnings
from typing import TYPE_CHECKING, Final, NamedTuple

from pi2_fluid.engines.fluid.fluid import Fluid
from pi2_fluid.errors import AssumptionWarning, DomainError, SolverError, UnsupportedError
from pi2_fluid.network.equilibrium import equilibrium
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

__all__ = ["LastStage", "answer_to_push", "last_stage", "loop_rtts"]

_PUSH: Final = 1.02  # of the queue at rest: small, so that nothing is clipped
_TOLERANCE: Final = 1e-6


class LastStage(NamedTuple):
    """What a scenario ends with."""

    begin: float
    """Seconds."""
    flows: tuple[Flows, ...]
    """The classes that send, as if they always had."""
    capacity: float
    """bit/s."""


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
    capacity = float(scenario.link.capacity)
    counts = {
        name: float(flow.count)
        for name, flow in zip(scenario.class_names, scenario.flows, strict=True)
    }
    for change in scenario.changes:
        capacity = capacity if change.capacity is None else float(change.capacity)
        counts |= {name: float(count) for name, count in (change.counts or {}).items()}
    there = tuple(
        dataclasses.replace(flow, count=counts[name], start=0.0, stop=None, start_jitter=0.0)
        for name, flow in zip(scenario.class_names, scenario.flows, strict=True)
        if counts[name] > 0.0 and (flow.stop is None or float(flow.stop) >= end)
    )
    return LastStage(max(at for at in instants if at < end), there, capacity)


def loop_rtts(scenario: Scenario) -> list[float]:
    """Return the round trips (s) of the classes that obey signals, with the queue's target."""
    target = float(getattr(scenario.aqm, "target", 0.0) or 0.0)
    rtts = [
        float(flow.base_rtt) + target for flow in scenario.flows if flow.sender.signal is not None
    ]
    return rtts or [max(target, 0.1)]


def answer_to_push(
    scenario: Scenario, fluid: Fluid, step: float, length: float
) -> FloatArray | None:
    """Return the Classic queue's delay (s, every `step`) after a small push at the last rest.

    It is followed for `length` (s). None if the last stage has no state of rest that the queue is
    free to keep.
    """
    stage = last_stage(scenario)
    with warnings.catch_warnings(action="ignore", category=AssumptionWarning):
        try:
            rest = equilibrium(stage.flows, scenario.aqm, stage.capacity, scenario.link.packet_size)
        except (DomainError, UnsupportedError, SolverError):
            return None
        if {"clamped", "protection"} & set(rest.broken):
            return None
        pushed = dataclasses.replace(
            scenario,
            duration=length,
            link=dataclasses.replace(scenario.link, capacity=stage.capacity),
            flows=stage.flows,
            changes=(),
        )
        begun = dataclasses.replace(rest, queue=_PUSH * float(rest.queue))
        engine = dataclasses.replace(fluid, initial=begun, sample=step, tolerance=None)
        run = engine.with_tolerance(_TOLERANCE).run(pushed)
    delay = run["queue_delay"]
    return (delay.isel(band=0) if "band" in delay.dims else delay).to_numpy()
