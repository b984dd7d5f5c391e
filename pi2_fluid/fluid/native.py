"""The compiled engine: a scenario as numbers for the kernel, and its rows as a `Trace`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from pi2_fluid import _core
from pi2_fluid.errors import SolverError
from pi2_fluid.fluid.beginning import Beginning
from pi2_fluid.fluid.integration import Accuracy
from pi2_fluid.fluid.trace import Trace
from pi2_fluid.model.aqm import Aqm
from pi2_fluid.model.aqms.pie import Pie
from pi2_fluid.model.flows import Flows
from pi2_fluid.model.scenario import Change, Scenario
from pi2_fluid.model.sender import Sender

__all__ = ["aqm_parameters", "obstacle", "pack", "run_native", "sender_parameters"]

_SIGNALS: Final = {"classic": 0, "scalable": 1, None: 2}
#: Gain tables of PIE, in the order of their numbers in the kernel.
_TABLES: Final = ("none", "rfc8033", "rfc8034", "hpsr13", "ietf_early", "sqrt2p")
_STEPS: Final = 100_000  # between two looks at the keyboard: some 20 ms
_FAILURES: Final = {
    "stuck": (
        "the trajectory took {steps} steps to t = {t:g} s and came no further: shorten the"
        " duration, raise base_rtt, or give a longer step."
    ),
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


def obstacle(scenario: Scenario, controller: str) -> str:
    """Return what of a scenario the compiled engine does not know, "" if it knows everything."""
    for law in (scenario.aqm, *(flow.sender for flow in scenario.flows)):
        # A subclass is another law, even where it inherits the name.
        if vars(type(law)).get("kernel") is None:
            return type(law).__name__
    if scenario.aqm.bands == 2 and controller == "continuous":
        return f'{type(scenario.aqm).__name__} with controller="continuous"'
    return ""


def run_native(
    scenario: Scenario,
    controller: str,
    accuracy: Accuracy,
    samples: Sequence[float],
    beginning: Beginning | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Trace:
    """Return what the compiled engine finds at each of the times `samples` (s, rising from 0).

    Parameters
    ----------
    scenario, controller, accuracy, samples, beginning
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
    run = _core.FluidRun(*pack(scenario, controller, accuracy, beginning))
    place, status, duration = 0, "more", float(scenario.duration)
    while status == "more":
        place, status = run.advance(time, place, _STEPS, *trace[1:])
        if progress is not None:
            progress(min(run.time, duration), duration)
    if status == "no memory":
        raise MemoryError
    if status != "done":
        raise SolverError(_FAILURES[status].format(steps=run.steps, t=run.time))
    return trace


def pack(
    scenario: Scenario,
    controller: str,
    accuracy: Accuracy,
    beginning: Beginning | None = None,
) -> tuple[Any, ...]:
    """Return the arguments of `_core.FluidRun` that describe a run."""
    aqm, bits = scenario.aqm, 8.0 * float(scenario.link.packet_size)
    interval = math.inf if aqm.update_interval is None else float(aqm.update_interval)
    link = [
        float(scenario.duration),
        float(scenario.link.capacity) / bits,
        float(scenario.link.buffer),
        interval,
    ]
    states = beginning.senders if beginning else (None,) * len(scenario.flows)
    size = scenario.link.packet_size
    return (
        link,
        controller == "continuous",
        list(map(float, accuracy[:3])),
        aqm.kernel,
        aqm_parameters(aqm),
        [_pack_class(flow, aqm, size, x) for flow, x in zip(scenario.flows, states, strict=True)],
        _pack_changes(scenario, bits) if scenario.changes else [],
        (list(beginning.queues), list(beginning.controller)) if beginning else None,
    )


def _pack_class(
    flow: Flows, aqm: Aqm, packet_size: float, x: Sequence[float] | None
) -> tuple[Any, ...]:
    sender = flow.sender.on_link(packet_size)
    if x is None:
        begin = sender.initial(float(flow.initial_window))
        x = begin if isinstance(begin, tuple) else (begin,)
    stop = math.inf if flow.stop is None else float(flow.stop)
    return (
        sender.kernel,
        _SIGNALS[sender.signal],
        bool(sender.thinned and aqm.thins),
        bool(flow.slow_start and sender.signal is not None),
        [
            float(flow.count),
            float(flow.base_rtt),
            float(flow.start),
            stop,
            float(flow.start_jitter),
        ],
        sender_parameters(sender),
        [float(value) for value in x],
    )


def _pack_changes(scenario: Scenario, bits: float) -> list[tuple[float, float, list[float]]]:
    """Return when each change comes, the new capacity and the new counts; NaN: as it was."""
    names = scenario.class_names

    def counts(change: Change) -> list[float]:
        new = change.counts or {}
        return [float(new.get(name, math.nan)) for name in names]

    return [
        (
            float(change.at),
            math.nan if change.capacity is None else float(change.capacity) / bits,
            counts(change),
        )
        for change in scenario.changes
    ]


# Laws as numbers, in the order of the structs in the kernel


def sender_parameters(sender: Sender) -> list[float]:
    """Return the parameters of a window law as the kernel takes them."""
    law: Any = sender
    match sender.kernel:
        case "reno":
            numbers = [law.decrease]
        case "scalable":
            numbers = [law.per_mark]
        case "dctcp":
            numbers = [law.gain]
        case "cubic":
            numbers = [law.increase, law.c, law.decrease]
        case "timeoutreno":
            numbers = [law.decrease, law.min_rto]
        case _:
            numbers = [law.sending_rate(0.0, 1.0)]
    return [float(number) for number in numbers]


def aqm_parameters(aqm: Aqm) -> list[float]:
    """Return the parameters of a queue law as the kernel takes them."""
    law: Any = aqm
    match aqm.kernel:
        case "taildrop":
            numbers = []
        case "red":
            span = [law.min, law.max, law.max_p, law.weight]
            interval = math.inf if law.update_interval is None else law.update_interval
            numbers = [*span, law.gentle, law.adaptive, interval]
        case "pie":
            numbers = [*_pi(law), *_pie(law)]
        case "coupled":
            numbers = [*_pi(law), law.k]
        case "dualpi2":
            own = [law.k, law.step, law.ramp or 0.0, law.c_protection]
            numbers = [*_pi(law), *own, law.variant == "rfc9332"]
        case _:
            numbers = _pi(law)
    return [float(number) for number in numbers]


def _pi(law: Any) -> list[float]:
    return [law.alpha, law.beta, law.target, law.update_interval, law.limit]


def _pie(law: Pie) -> list[float]:
    table = _TABLES.index(law.gain_table)
    burst = -1.0 if law.burst is None else law.burst
    return [table, law.caps, law.boosts, law.idle_decay, burst]
