"""The compiled engine: a scenario as numbers for the kernel, and its rows as a `Trace`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from pi2_fluid import _core
from pi2_fluid.engines.fluid.beginning import Beginning
from pi2_fluid.engines.fluid.integration import Accuracy
from pi2_fluid.engines.fluid.trace import Trace
from pi2_fluid.errors import SolverError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.network.changes import Change
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.records.record import declares

__all__ = ["FAILURES", "fill", "floats", "obstacle", "pack", "run_compiled", "unknown_law"]

_STEPS: Final = 100_000  # between two looks at the keyboard: some 20 ms
#: What the kernel's errors are, but for one that needs more words.
FAILURES: Final = {
    "lost image": (
        "the delayed image of an event was not found near t = {t:g} s: give another step."
    ),
    "not finite": (
        "the trajectory is no longer finite at t = {t:g} s after {steps} steps: give a shorter"
        " step, or a scenario of less extreme numbers."
    ),
    "too old": (
        "the delay at t = {t:g} s reaches further back than the past that fits into memory: give a"
        " smaller buffer, or a longer step."
    ),
}


def obstacle(scenario: Scenario, update: str) -> str:
    """Return what of a scenario the compiled engine does not know, "" if it knows everything."""
    if unknown := unknown_law(scenario):
        return unknown
    flows = scenario.aqm.bands == 1 and type(scenario.aqm).flow is not Aqm.flow
    if update == "continuous" and not flows and scenario.aqm.update_interval is not None:
        return f'{type(scenario.aqm).__name__} with update="continuous"'
    return ""


def unknown_law(scenario: Scenario) -> str:
    """Return the first law of a scenario that is not in the kernel, "" if all are."""
    for law in (scenario.aqm, *(flow.sender for flow in scenario.flows)):
        if declares(law, "kernel") is None:
            return type(law).__name__
    return ""


def run_compiled(
    scenario: Scenario,
    update: str,
    accuracy: Accuracy,
    samples: Sequence[float],
    beginning: Beginning | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Trace:
    """Return what the compiled engine finds at each of the times `samples` (s, rising from 0).

    Parameters
    ----------
    scenario, update, accuracy, samples, beginning
        As for `integrate` and `Plant`; `obstacle` must be "" of the first two.
    progress : callable, optional
        Called as ``progress(done, duration)``, in seconds of the trajectory.

    Raises
    ------
    SolverError
        If the steps become too small or too many, or the state is no longer finite.
    MemoryError
        If there is no memory.
    """
    run = _core.FluidRun(*pack(scenario, update, accuracy, beginning))

    def explain(status: str) -> str:
        if status == "stuck":
            return accuracy.explain_end(run.steps, run.time)
        return FAILURES[status].format(steps=run.steps, t=run.time)

    return fill(run, scenario, samples, progress, _STEPS, explain)


def fill(
    run: _core.FluidRun | _core.AcksRun,
    scenario: Scenario,
    samples: Sequence[float],
    progress: Callable[[float, float], None] | None,
    steps: int,
    explain: Callable[[str], str],
) -> Trace:
    """Return what a trajectory of the kernel is at each sample.

    Parameters
    ----------
    run : FluidRun or AcksRun
        At its beginning.
    scenario, samples, progress
        As for `run_compiled`.
    steps : int
        Steps between two looks at the keyboard.
    explain : callable
        Returns what an error of the kernel is in a sentence.
    """
    time = np.array(samples, dtype=float)
    n, bands, classes = len(time), scenario.aqm.bands, len(scenario.flows)
    trace = Trace(
        time=time,
        queue=np.empty((n, bands)),
        queue_delay=np.empty((n, bands)),
        controller=np.empty(n),
        p=np.empty((n, classes)),
        window=np.empty((n, classes)),
        leaving=np.empty((n, classes)),
        capacity=np.empty(n),
    )
    place, status, duration = 0, "more", float(scenario.duration)
    while status == "more":
        place, status = run.advance(time, place, steps, *trace[1:8])
        if progress is not None:
            progress(min(run.time, duration), duration)
    if status == "no memory":
        raise MemoryError
    if status != "done":
        raise SolverError(explain(status))
    return trace


def pack(
    scenario: Scenario,
    update: str,
    accuracy: Accuracy,
    beginning: Beginning | None = None,
) -> tuple[Any, ...]:
    """Return the arguments of `_core.FluidRun` that describe a run."""
    aqm, bits = scenario.aqm, 8.0 * float(scenario.link.packet_size)
    interval = math.inf if aqm.update_interval is None else float(aqm.update_interval)
    link = {
        "duration": float(scenario.duration),
        "capacity": float(scenario.link.capacity) / bits,
        "buffer": float(scenario.link.buffer),
        "update_interval": interval,
    }
    limits = dict(zip(("step", "tolerance", "most_steps"), map(float, accuracy[:3]), strict=True))
    states = beginning.senders if beginning else (None,) * len(scenario.flows)
    size = float(scenario.link.packet_size)
    return (
        link,
        update == "continuous",
        limits,
        aqm.kernel,
        floats(aqm.fluid_parameters()),
        [_pack_class(flow, aqm, size, x) for flow, x in zip(scenario.flows, states, strict=True)],
        _pack_changes(scenario, bits) if scenario.changes else [],
        (list(beginning.queues), list(beginning.controller)) if beginning else None,
        aqm.pushes(float(scenario.duration)),
    )


def _pack_class(
    flow: Flows, aqm: Aqm, packet_size: float, x: Sequence[float] | None
) -> dict[str, Any]:
    sender = flow.sender.on_link(packet_size)
    if x is None:
        begin = sender.initial(float(flow.initial_window))
        x = begin if isinstance(begin, tuple) else (begin,)
    stop = math.inf if flow.stop is None else float(flow.stop)
    return {
        "law": sender.kernel,
        "parameters": floats(sender.fluid_parameters()),
        "state": [float(value) for value in x],
        "signal": sender.signal,
        "thinned": bool(sender.thinned and aqm.thins),
        "slow_start": bool(flow.slow_start and sender.signal is not None),
        "count": float(flow.count),
        "base_rtt": float(flow.base_rtt),
        "start": float(flow.start),
        "stop": stop,
        "start_jitter": float(flow.start_jitter),
    }


def _pack_changes(scenario: Scenario, bits: float) -> list[dict[str, Any]]:
    """Return when each change comes, the new capacity and the new counts; NaN: as it was."""
    names = scenario.class_names

    def counts(change: Change) -> list[float]:
        new = change.counts or {}
        return [float(new.get(name, math.nan)) for name in names]

    return [
        {
            "at": float(change.at),
            "capacity": math.nan if change.capacity is None else float(change.capacity) / bits,
            "counts": counts(change),
        }
        for change in scenario.changes
    ]


def floats(numbers: dict[str, Any]) -> dict[str, float]:
    """Return parameters as the kernel takes them."""
    return {name: float(value) for name, value in numbers.items()}
