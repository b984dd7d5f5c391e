"""Which law is at fault, in what state, when the equations cannot be followed any further."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.engines.fluid.oracle.history import Segment
from pi2_fluid.engines.fluid.oracle.plant import Plant
from pi2_fluid.engines.fluid.oracle.state import Heard, Mode, View
from pi2_fluid.engines.fluid.trace import Trace
from pi2_fluid.errors import DomainError, QuantityError, ScenarioError, SolverError
from pi2_fluid.laws.aqm import Aqm, Signal
from pi2_fluid.laws.registry import kind_of
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    from pi2_fluid.values import Number

#: What arithmetic raises on plain floats where NumPy would return infinity or NaN.
LAW_ERRORS: Final = (ArithmeticError, ValueError)
#: Of those, what says itself what is wrong.
OUR_ERRORS: Final = (DomainError, QuantityError, ScenarioError)
_ROUNDING: Final = 1e-9


def require_probability(aqm: Aqm, t: float, state: Sequence[float], signals: Signal) -> None:
    """Refuse signals that are no probabilities, once a step has led to them."""
    for kind, p in zip(signals._fields, signals, strict=True):
        if not -_ROUNDING <= p <= 1.0 + _ROUNDING:
            u = float(aqm.controller(tuple(state)))
            raise DomainError(
                f"{type(aqm).__name__} signals {kind} packets with p = {float(p):.6g} at"
                f" t = {t:.6g} s, outside [0, 1], where its controller is at {u:.6g}: keep that"
                " within bounds in saturate(state), or clip p in encode(u)."
            )


def named_by_oracle(
    run_compiled: Callable[[], Trace], run_python: Callable[[], object], scenario: Scenario
) -> Trace:
    """Return what a compiled run gives; where laws of one's own fail in it, Python says which.

    The kernel knows no names of methods: where it ends, or signals what is no probability, the
    same run in Python raises the error that names the law and its state.

    Parameters
    ----------
    run_compiled, run_python : callable
        The same run by both engines.
    scenario : Scenario
        Whose laws they run.
    """
    laws: list[Aqm | Sender] = [node.aqm for node in scenario.network.nodes]
    laws += [flow.sender for flow in scenario.flows]
    if all(kind_of(law) is not None for law in laws):
        return run_compiled()
    try:
        trace = run_compiled()
    except SolverError:
        run_python()
        raise
    signals = trace.p if trace.link_p is None else trace.link_p
    if signals.min() < -_ROUNDING or signals.max() > 1.0 + _ROUNDING:
        run_python()
    return trace


def blame_failure(
    plant: Plant,
    t: float,
    y: Sequence[float],
    mode: Mode,
    past: Callable[[View], Sequence[Heard | None]],
    error: Exception | None,
) -> SolverError:
    """Return the error that names the law which fails, or returns no number, and its state.

    Parameters
    ----------
    plant, t, y, mode
        Where it happened.
    past : callable
        What each class hears, given a view.
    error : Exception or None
        What was raised, None if nothing was.
    """
    what = _failure(error)

    def fails(law: Callable[[], Any]) -> bool:
        try:
            return not _finite(law())
        except LAW_ERRORS:
            return True

    def silent(law: Aqm, state: tuple[float, ...]) -> bool:
        return fails(lambda: law.encode(law.controller(state)))

    queues = [(law, tuple(y[where])) for law, where in plant.laws]
    law, state = next((queue for queue in queues if silent(*queue)), queues[0])
    found = f"{type(law).__name__} {what} in the state {_numbers(state)}"
    if not silent(law, state):
        for i in range(len(plant.senders)):
            mine = _failing_sender(plant, t, y, mode, past, i, fails) if mode.active[i] else ""
            if mine:
                found = mine.format(what)
                break
    return _law_error(found, t)


def blame_acked(
    sender: Sender, t: float, x: Number | tuple[Number, ...], rtt: float, error: Exception | None
) -> SolverError:
    """Return the error that names `acked` of a law which fails, or returns no number, and where."""
    name = type(sender).__name__
    return _law_error(f"{name}.acked {_failure(error)} at {_state(x)}, R = {rtt:.6g} s", t)


def _failure(error: Exception | None) -> str:
    return f"raises {type(error).__name__} ({error})" if error else "returns no finite number"


def _law_error(found: str, t: float) -> SolverError:
    return SolverError(f"{found}, t = {t:.6g} s: define the law there, or give a shorter step.")


def _failing_sender(
    plant: Plant,
    t: float,
    y: Sequence[float],
    mode: Mode,
    past: Callable[[View], Sequence[Heard | None]],
    i: int,
    fails: Callable[[Callable[[], Any]], bool],
) -> str:
    """Return which method of class `i` fails and where, "{}" for how; "" if none does."""
    sender, x = plant.senders[i], plant.x(y, i)
    name, rtt = type(sender).__name__, plant.rtt(y, mode, i)
    if fails(lambda: sender.sending_rate(x, rtt)):
        return f"{name}.sending_rate {{}} at {_state(x)}, R = {rtt:.6g} s"
    if not plant.listens[i]:
        return ""
    try:
        view = plant.observe(t, y, mode)
        heard = past(view)[i]
        assert heard is not None, "it listens"
        x_then, p, rtt_then = heard
    except LAW_ERRORS:  # of another class, or of the queue
        return ""
    if fails(lambda: sender.rate(x, x_then, p, view.rtt[i], rtt_then)):
        return f"{name}.rate {{}} at {_state(x)}, p = {p:.6g}, R = {view.rtt[i]:.6g} s"
    return ""


def blame_kink(plant: Plant, step: Segment, view: View) -> SolverError:
    """Return the error that names the law whose slope jumps where steps vanish."""
    jumps = [abs(b - a) / (abs(y) + 1.0) for a, b, y in zip(step.f0, step.f1, step.y1, strict=True)]
    queues = [max(jumps[where], default=0.0) for _, where in plant.laws]
    steepest = max(queues)
    which = queues.index(steepest)
    law, where = f"{type(plant.laws[which][0]).__name__}.drift or flow", ""
    for i, sender in enumerate(plant.senders):
        mine = max(jumps[plant.windows[i]])
        if step.mode.active[i] and plant.listens[i] and mine > steepest:
            steepest, law = mine, f"{type(sender).__name__}.rate"
            where = f" at {_state(plant.x(step.y1, i))}, p = {plant.met(view, i):.6g}"
            which = len(plant.laws) + i
    stays, remedy = (
        (f"the trajectory stays where {law} jumps", "make the law continuous there")
        if plant.compared[which] is not None  # steps end where it compares
        else (
            f"{law} has a kink or a jump",
            "make it smooth, or use only + - * / **, if and pi2_fluid.ops, where solvers find it",
        )
    )
    return SolverError(
        f"{stays}{where}, t = {step.end:.6g} s, so that steps vanish"
        f" ({step.end - step.start:.2g} s): {remedy}."
    )


def _state(x: Number | tuple[Number, ...]) -> str:
    values = x if isinstance(x, tuple) else (x,)
    rest = "".join(f", {v:.6g}" for v in values[1:])
    return f"W = {values[0]:.6g}{rest}"


def _numbers(values: Sequence[float]) -> str:
    return "(" + ", ".join(f"{v:.6g}" for v in values) + ")"


def _finite(value: Number | tuple[Number, ...]) -> bool:
    values = value if isinstance(value, tuple) else (value,)
    return all(math.isfinite(v) for v in values)
