"""The compiled engine: a scenario as numbers for the kernel, and its rows as a `Trace`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid import _core
from pi2_fluid.engines.fluid.beginning import Beginning
from pi2_fluid.engines.fluid.integration import Accuracy
from pi2_fluid.engines.fluid.trace import Trace
from pi2_fluid.errors import SolverError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.programs import obstacle_of, queue_program, sender_program
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.changes import Change
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

_STEPS: Final = 100_000  # between two looks at the keyboard: some 20 ms
#: What the kernel's errors are, but for one that needs more words.
FAILURES: Final = {
    "lost image": (
        "the delayed image of an event was not found near t = {t:g} s: give a shorter step, or"
        " another tolerance."
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
    if unknown := unknown_law(scenario, continuous=update == "continuous"):
        return unknown
    for aqm in (node.aqm for node in scenario.network.nodes):
        flows = aqm.bands == 1 and type(aqm).flow is not Aqm.flow
        if update == "continuous" and not flows and aqm.update_interval is not None:
            return f'{type(aqm).__name__} with update="continuous"'
    return ""


def unknown_law(scenario: Scenario, *, continuous: bool = False) -> str:
    """Return the first law of a scenario that the kernel cannot run, and why; "" if it can."""
    queues = [node.aqm for node in scenario.network.nodes]
    size = scenario.packet_size
    laws: list[Aqm | Sender] = [*queues, *(f.sender.on_link(size) for f in scenario.flows)]
    for law in laws:
        if why := obstacle_of(law, continuous=continuous):
            return why
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
    scenario, update, accuracy, samples, beginning
        As for `Run` and `Plant`; `obstacle` must be "" of the first two.
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
    return fill(run, scenario, samples, progress, _STEPS, explained(run, accuracy))


def explained(run: _core.FluidRun | _core.RoutesRun, accuracy: Accuracy) -> Callable[[str], str]:
    """Return what says in a sentence why a trajectory of the kernel ended."""

    def explain(status: str) -> str:
        if status == "stuck":
            return accuracy.explain_end(run.steps, run.time)
        return FAILURES[status].format(steps=run.steps, t=run.time)

    return explain


def fill(
    run: _core.FluidRun | _core.AcksRun,
    scenario: Scenario,
    samples: Sequence[float] | FloatArray,
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

    def advance(place: int) -> tuple[int, str]:
        return run.advance(time, place, steps, *trace[1:8])

    follow(advance, run, float(scenario.duration), progress, explain)
    return trace


def follow(
    advance: Callable[[int], tuple[int, str]],
    run: _core.FluidRun | _core.RoutesRun | _core.AcksRun,
    duration: float,
    progress: Callable[[float, float], None] | None,
    explain: Callable[[str], str],
) -> None:
    """Go on with a trajectory of the kernel until all its rows are filled.

    Parameters
    ----------
    advance : callable
        Fills rows from one on, and returns which is next, and why it has stopped.
    run, progress, explain
        As for `fill`.
    duration : float
        Seconds.
    """
    place, status = 0, "more"
    while status == "more":
        place, status = advance(place)
        if progress is not None:
            progress(min(run.time, duration), duration)
    if status == "no memory":
        raise MemoryError
    if status != "done":
        raise SolverError(explain(status))


def pack(
    scenario: Scenario,
    update: str,
    accuracy: Accuracy,
    beginning: Beginning | None = None,
) -> tuple[Any, ...]:
    """Return the arguments of `_core.FluidRun` that describe a run."""
    aqm, bits = scenario.aqm, 8.0 * float(scenario.link.packet_size)
    continuous = update == "continuous"
    law = pack_law(aqm, continuous=continuous)
    link = {
        "duration": float(scenario.duration),
        "capacity": float(scenario.link.capacity) / bits,
        "buffer": float(scenario.link.buffer),
        "update_interval": law["update_interval"],
    }
    states = beginning.senders if beginning else (None,) * len(scenario.flows)
    size = float(scenario.link.packet_size)
    return (
        link,
        continuous,
        limits_of(accuracy),
        law["aqm"],
        [pack_class(flow, aqm, size, x) for flow, x in zip(scenario.flows, states, strict=True)],
        _pack_changes(scenario, bits) if scenario.changes else [],
        (list(beginning.queues), list(beginning.controller)) if beginning else None,
        aqm.pushes(float(scenario.duration)),
    )


def limits_of(accuracy: Accuracy) -> dict[str, float]:
    """Return how long steps may be, by name."""
    return dict(zip(("step", "tolerance", "most_steps"), map(float, accuracy[:3]), strict=True))


def pack_law(aqm: Aqm, *, continuous: bool) -> dict[str, Any]:
    """Return a queue law, and how often it acts."""
    interval = math.inf if aqm.update_interval is None else float(aqm.update_interval)
    return {"aqm": queue_program(aqm, continuous=continuous), "update_interval": interval}


def pack_class(
    flow: Flows, aqm: Aqm, packet_size: float, x: Sequence[float] | None
) -> dict[str, Any]:
    """Return what describes a class under a queue, with the states `x` or those of new flows."""
    sender = flow.sender.on_link(packet_size)
    if x is None:
        begin = sender.initial(float(flow.initial_window))
        x = begin if isinstance(begin, tuple) else (begin,)
    stop = math.inf if flow.stop is None else float(flow.stop)
    return {
        "law": sender_program(sender),
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
