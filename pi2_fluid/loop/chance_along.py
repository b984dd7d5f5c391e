"""What chance adds along a schedule: at each instant as if nothing changed any more."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.errors import DomainError, ScenarioError, SolverError, UnsupportedError, quietly
from pi2_fluid.loop.along import stages_of
from pi2_fluid.loop.matrix.network_loop import NetworkLoop
from pi2_fluid.loop.transfer import Loop

if TYPE_CHECKING:
    from pi2_fluid.network.flows import Flows
    from pi2_fluid.network.scenario import Scenario
    from pi2_fluid.values import FloatArray

#: Of a schedule: more have no ribbon, since each takes some 10 ms.
_MOST_STAGES: Final = 40
#: A fluid is at rest where its delay is as near the target as this many standard deviations, or as
#: this part of the target.
_SIGMAS: Final = 2.0
_PART: Final = 0.5


def delay_sd_along(
    scenario: Scenario, time: FloatArray, bin: float | None = None
) -> dict[str, FloatArray]:
    """Return the standard deviation of queue delays by chance (s) over time, link by link.

    Parameters
    ----------
    scenario : Scenario
    time : numpy.ndarray
        Seconds, rising.
    bin : float, optional
        As of `Loop.delay_sd`.

    Returns
    -------
    dict of str to numpy.ndarray
        By acknowledgements where there is such a loop, else by rates; of a dual queue, of Classic
        packets. NaN where nothing rests, or one of both loops is unstable. Without links of which
        nothing is known; of a network whose schedule changes nothing is.
    """
    stages = list(stages_of(scenario)) if len(scenario.network.nodes) == 1 else []
    if stages and len(stages) <= _MOST_STAGES:
        at = [stage.at for stage in stages]
        known: dict[tuple[float, tuple[float, ...]], float] = {}
        for stage in stages:
            key = stage.capacity, stage.counts
            if key not in known:
                known[key] = _of_stage(scenario, *key, bin)
        sds = np.array([known[stage.capacity, stage.counts] for stage in stages])
        found = sds[np.clip(np.searchsorted(at, time, side="right") - 1, 0, None)]
        name = scenario.network.node_names[0]
        return {name: found} if np.isfinite(found).any() else {}
    if stages or scenario.changes or any(flow.stop is not None for flow in scenario.flows):
        return {}
    return _of_network(scenario, time, bin)


def ribbon(delay: FloatArray, sd: FloatArray, target: float) -> tuple[FloatArray, FloatArray]:
    """Return the ends of a ribbon about a fluid's delay, NaN where it is not near its rest.

    The noise is that of the loop at rest: it says nothing of a fluid that is on its way there.
    """
    near = np.abs(delay - target) <= np.maximum(_SIGMAS * sd, _PART * target)
    width = np.where(near, sd, np.nan)
    return np.maximum(delay - width, 0.0), delay + width


def _of_stage(
    scenario: Scenario, capacity: float, counts: tuple[float, ...], bin: float | None
) -> float:
    flows = [
        dataclasses.replace(flow, count=count, start=0.0, stop=None, start_jitter=0.0)
        for flow, count in zip(scenario.flows, counts, strict=True)
        if count > 0.0
    ]
    if not flows or not capacity:
        return np.nan
    found = [_by_clock(scenario, flows, capacity, bin, clock) for clock in ("acks", "rate")]
    known = [sd for sd in found if sd is not None]
    # Of a fluid by rates that cycles the noise about a rest says nothing.
    return known[0] if known and np.isfinite(known).all() else np.nan


def _by_clock(
    scenario: Scenario, flows: list[Flows], capacity: float, bin: float | None, clock: str
) -> float | None:
    try:
        with quietly():
            loop = Loop(
                flows,
                scenario.aqm,
                capacity=capacity,
                packet_size=scenario.packet_size,
                update="sampled",
                clock=clock,
            )
            return float(np.asarray(loop.delay_sd(bin, cuts="varied")))
    except (DomainError, SolverError, UnsupportedError):
        return None


def _of_network(scenario: Scenario, time: FloatArray, bin: float | None) -> dict[str, FloatArray]:
    try:
        with quietly():
            found = NetworkLoop(scenario.network, update="sampled").delay_sd(bin, cuts="varied")
    except (DomainError, ScenarioError, SolverError, UnsupportedError):
        return {}
    names = found.link.to_numpy()
    return {
        str(name): np.full(len(time), float(sd))
        for name, sd in zip(names, found.to_numpy(), strict=True)
        if np.isfinite(sd) and sd > 0.0
    }
