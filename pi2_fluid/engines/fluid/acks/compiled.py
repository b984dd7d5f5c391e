"""The compiled engine by acknowledgements: an integrator handed to the kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid import _core
from pi2_fluid.engines.fluid.acks.integration import TOO_MANY_STEPS, Integrator
from pi2_fluid.engines.fluid.acks.streams import Stream
from pi2_fluid.engines.fluid.compiled import FAILURES, fill, unknown_law
from pi2_fluid.engines.fluid.trace import Trace
from pi2_fluid.laws.programs import queue_program, sender_program
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

_MOST_STEPS: Final = 20_000_000
_MOST_BYTES: Final = 2.0**30  # that the past may take, as by the rate clock
_STEPS: Final = 200_000  # of one class, between two looks at the keyboard: some 20 ms


def obstacle(scenario: Scenario) -> str:
    """Return what of a scenario the compiled engine does not know, "" if it knows everything."""
    if len(scenario.network.nodes) > 1:
        return 'several links with clock="acks"'
    if unknown := unknown_law(scenario):
        return unknown
    for flow in scenario.flows:
        sender = flow.sender
        if sender.signal is None and sender.constant_rate is None:
            return f"{type(sender).__name__}, a window without signals,"
        if sender.pauses or sender.counts:
            return f"{type(sender).__name__}, whose flows pause after a reduction,"
        if sender.constant_rate is None and not sender_program(sender).has_ack_clock:
            return f'{type(sender).__name__} with clock="acks"'
    return ""


def run_compiled(
    run: Integrator,
    samples: Sequence[float] | FloatArray,
    progress: Callable[[float, float], None] | None = None,
) -> Trace:
    """Return what the compiled engine finds at each of the times `samples` (s, rising from 0).

    Parameters
    ----------
    run : Integrator
        At its beginning, of a scenario of which `obstacle` is "".
    samples : sequence of float
        Times of the rows (s).
    progress : callable, optional
        Called as ``progress(done, duration)``, in seconds of the trajectory.

    Raises
    ------
    SolverError
        If the steps become too many, or packets wait too long for their past to be kept.
    MemoryError
        If there is no memory.
    """
    steps = max(1, _STEPS // len(run.streams))

    kernel = _core.AcksRun(*pack(run))

    def explain(status: str) -> str:
        sentence = TOO_MANY_STEPS if status == "stuck" else FAILURES[status]
        return sentence.format(most=_MOST_STEPS, step=run.step, steps=kernel.steps, t=kernel.time)

    return fill(kernel, run.scenario, samples, progress, steps, explain)


def pack(run: Integrator) -> tuple[Any, ...]:
    """Return the arguments of `_core.AcksRun` that describe an integrator at its beginning."""
    scenario, aqm = run.scenario, run.scenario.aqm
    copied = run.copied or (None,) * len(run.streams)
    return (
        {
            "duration": float(scenario.duration),
            "capacity": run.capacity,
            "buffer": run.buffer,
            "update_interval": float(aqm.update_interval or math.inf),
        },
        {"step": run.step, "most_steps": float(_MOST_STEPS), "most_bytes": _MOST_BYTES},
        queue_program(aqm, continuous=False),
        {
            "state": list(run.state[: len(aqm.pushed().initial())]),
            "at_dequeue": run.at_dequeue,
            "head": aqm.measures == "head",
            "past": -run.times[0],
            "waited": run.waited,
        },
        [
            _pack_class(run, i, stream, -1 if other is None else other)
            for i, (stream, other) in enumerate(zip(run.streams, copied, strict=True))
        ],
        [
            (float(change.at), float(change.capacity) / run.bits)
            for change in scenario.changes
            if change.capacity is not None
        ],
        aqm.pushes(float(scenario.duration)),
    )


def _pack_class(run: Integrator, i: int, stream: Stream, copied: int) -> dict[str, Any]:
    sender, window = run.senders[i], stream.window
    return {
        "law": sender_program(sender),
        "state": _state(sender) if window is None else [window.now.size, *window.now.rest],
        "steady": window is None,
        "signal": run.kinds[i],
        "band": run.band[i],
        "thinned": bool(sender.thinned and run.aqm.thins),
        "slow_start": window is not None and window.slow,
        "spreads": window is not None and window.spreads,
        "copied": copied,
        "count": stream.number,
        "base_rtt": stream.path,
        "round_trip": 0.0 if window is None else window.round_trip,
        "start": stream.start,
        "stop": stream.stop,
        "start_jitter": stream.jitter,
        "before": stream.before,
        "cutting": 0.0 if window is None else window.cutting,
    }


def _state(sender: Sender) -> list[float]:
    """Return a state of a sender whose state has no effect."""
    state = sender.initial(1.0)
    return [float(value) for value in (state if isinstance(state, tuple) else (state,))]
