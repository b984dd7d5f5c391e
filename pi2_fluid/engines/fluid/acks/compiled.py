"""The compiled engine by acknowledgements: an integrator handed to the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid import _core
from pi2_fluid.engines.fluid.acks.integration import TOO_MANY_STEPS, Integrator
from pi2_fluid.engines.fluid.acks.links import Link
from pi2_fluid.engines.fluid.acks.passages import Passage
from pi2_fluid.engines.fluid.compiled import FAILURES, fill, unknown_law
from pi2_fluid.engines.fluid.trace import Trace
from pi2_fluid.laws.programs import queue_program, sender_program
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

_MOST_STEPS: Final = 20_000_000
_MOST_BYTES: Final = 2.0**30  # that the past may take, as by the rate clock
_STEPS: Final = 200_000  # of one class at one link, between two looks at the keyboard: some 20 ms


def obstacle(scenario: Scenario) -> str:
    """Return what of a scenario the compiled engine does not know, "" if it knows everything."""
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
    steps = max(1, _STEPS // sum(map(len, run.passages)))

    kernel = _core.AcksRun(*pack(run))

    def explain(status: str) -> str:
        sentence = TOO_MANY_STEPS if status == "stuck" else FAILURES[status]
        return sentence.format(most=_MOST_STEPS, step=run.step, steps=kernel.steps, t=kernel.time)

    return fill(kernel, run.scenario, samples, progress, steps, explain)


def pack(run: Integrator) -> tuple[Any, ...]:
    """Return the arguments of `_core.AcksRun` that describe an integrator at its beginning."""
    classes = len(run.sources)
    return (
        float(run.scenario.duration),
        [_pack_node(run, link) for link in run.links],
        [_pack_class(run, i) for i in range(classes)],
        run.changes,
        [place.number + classes * (place.kind == "link") for place in run.order],
        run.network.combine == "sum",
        -run.times[0],
        {"step": run.step, "most_steps": float(_MOST_STEPS), "most_bytes": _MOST_BYTES},
    )


def _pack_node(run: Integrator, link: Link) -> dict[str, Any]:
    aqm = link.aqm
    return {
        "capacity": link.capacity,
        "buffer": link.buffer,
        "aqm": queue_program(aqm, continuous=False),
        "update_interval": float(aqm.update_interval or 0.0),
        "state": list(link.state[: len(aqm.pushed().initial())]),
        "at_dequeue": link.at_dequeue,
        "head": aqm.measures == "head",
        "waited": link.delays[0],
        "pushes": [float(push) for push in aqm.pushes(float(run.scenario.duration))],
    }


def _pack_class(run: Integrator, i: int) -> dict[str, Any]:
    sender, source = run.senders[i], run.sources[i]
    # What sends at a constant rate has no window to begin with that of another.
    window = source.window
    copied = run.copied[i] if run.copied and window is not None else None
    return {
        "law": sender_program(sender),
        "state": _state(sender) if window is None else [window.now.size, *window.now.rest],
        "steady": window is None,
        "slow_start": window is not None and window.slow,
        "spreads": window is not None and window.spreads,
        "copied": -1 if copied is None else copied,
        "count": source.number,
        "base_rtt": source.path,
        "back": source.back,
        "round_trip": 0.0 if window is None else window.round_trip,
        "start": source.start,
        "stop": source.stop,
        "start_jitter": source.jitter,
        "before": source.before,
        "cutting": 0.0 if window is None else window.cutting,
        "visits": [
            _pack_visit(run, node, passage)
            for node, passage in zip(run.ways[i].links, run.passages[i], strict=True)
        ],
    }


def _pack_visit(run: Integrator, node: int, passage: Passage) -> dict[str, Any]:
    past = passage.past
    return {
        "node": node,
        "band": run.band(node, passage.owner),
        "signal": run.links[node].kinds[passage.owner],
        "thinned": passage.thinned,
        "hop": passage.lag,
        "rate": past.rate,
        "took": past.took,
        "waited": past.waited,
        "met": past.met,
        "p": past.p,
    }


def _state(sender: Sender) -> list[float]:
    """Return a state of a sender whose state has no effect."""
    state = sender.initial(1.0)
    return [float(value) for value in (state if isinstance(state, tuple) else (state,))]
