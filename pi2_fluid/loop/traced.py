"""Margins of any loop of one queue as a function that JAX can compile, map and differentiate.

Where flows and queue rest and where |L| = 1 or the phase is -180 degrees is what `Loop` finds. From
there two steps of Newton's method, whose equations are those of the laws, change nothing but carry
the derivatives of the implicit functions, the first step the first ones, the second the second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from pi2_fluid.errors import DomainError, UnsupportedError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.sender import Sender
from pi2_fluid.laws.traceable import call_traceable
from pi2_fluid.loop.controllers import drift_slopes, encode_slopes, update_slopes
from pi2_fluid.loop.linearization import rate_slopes
from pi2_fluid.loop.transfer import Loop
from pi2_fluid.loop.updates import NEARLY_ALL
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.rest import has_ticks
from pi2_fluid.records.record import Record
from pi2_fluid.units import validate_quantity

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Number, Quantity

__all__ = ["traced_margins"]

#: A number or an array of JAX, or of NumPy where nothing is traced.
Traced: TypeAlias = Any

#: Pairs of aliases of a sampled loop. What is left out falls as the square of their number: a part
#: of 1e-8 and less of a derivative. The margins themselves are those of the whole sum.
_ALIASES: Final = 2000
_DIMENSIONS: Final = {
    "rtt": "time",
    "p": "fraction",
    "p_prime": "fraction",
    "capacity": "rate",
    "packet_size": "size",
}


def traced_margins(
    flows: Sender | Flows | Sequence[Flows],
    aqm: Aqm,
    *,
    rtt: Quantity | None = None,
    p: Quantity | None = None,
    p_prime: Quantity | None = None,
    capacity: Quantity | None = None,
    packet_size: Quantity | None = None,
    update: str = "continuous",
    rtt_terms: str = "frozen",
) -> tuple[Any, Any, Any, Any]:
    """Return the margins of `Loop` as a pure function of its numbers, and of those of its laws.

    It works under `jax.jit`, `jax.vmap`, `jax.grad` and `jax.hessian`, forwards and backwards, for
    senders and queues of every kind, your own included. 64-bit must be enabled there.

    Parameters
    ----------
    flows, aqm, rtt, p, p_prime, capacity, packet_size, update, rtt_terms
        As for `Loop`. Any number may be one that JAX traces.

    Returns
    -------
    tuple
        (gain_margin_db, phase_margin_deg, w_gc, w_pc), as `margins_of`. A margin that there is not
        is inf, its crossover NaN; neither moves.

    Raises
    ------
    DomainError
        If JAX computes in single precision.
    UnsupportedError
        If the queue has two bands or acts on what arrives, or nothing is signalled to the flows:
        for these use differences of ``Loop(...).margins()``.

    Examples
    --------
    >>> import jax
    >>> import pi2_fluid as pf
    >>> def gain_margin(alpha):
    ...     queue = pf.Pi2(alpha=alpha)
    ...     return pf.loop.traced_margins(pf.Cubic(), queue, rtt="100ms", p=0.01)[0]
    >>> with jax.enable_x64(True):
    ...     print(f"{jax.grad(gain_margin)(0.3125):.3f} dB/Hz")
    -21.073 dB/Hz
    """
    import jax
    from jax import numpy as jnp

    if jnp.zeros(()).dtype != np.float64:
        raise DomainError(
            "JAX computes in float32 here, half of the digits: enable 64 bits, e.g. by"
            " `with jax.enable_x64(True):` around the call."
        )
    given = {"rtt": rtt, "p": p, "p_prime": p_prime, "capacity": capacity}
    given["packet_size"] = packet_size
    numbers = {
        name: validate_quantity(value, _DIMENSIONS[name], name)
        for name, value in given.items()
        if value is not None
    }
    classes = flows if isinstance(flows, (Sender, Flows)) else tuple(flows)
    _require_kind(aqm)
    tree = (classes, aqm, numbers)
    leaves, shape_of_tree = jax.tree.flatten(tree)
    leaves = [jnp.asarray(leaf, float) for leaf in leaves]
    tree = jax.tree.unflatten(shape_of_tree, leaves)
    case = _Case(tree[0], tree[1], tree[2], update, rtt_terms)

    def ask(*values: Traced) -> FloatArray:
        plain = jax.tree.unflatten(shape_of_tree, [float(value) for value in values])
        return _ask(_Case(plain[0], plain[1], plain[2], update, rtt_terms))

    fixed = [jax.lax.stop_gradient(leaf) for leaf in leaves]
    if any(isinstance(leaf, jax.core.Tracer) for leaf in fixed):
        form: Traced = jax.ShapeDtypeStruct
        answer = form((4 + _count(classes, aqm),), np.float64)
        told = jax.pure_callback(ask, answer, *fixed, vmap_method="sequential")
    else:
        told = jnp.asarray(ask(*fixed))
    return _margins(case, told)


class _Case(NamedTuple):
    """What a loop is made of, with numbers of JAX."""

    flows: Traced
    aqm: Aqm
    numbers: dict[str, Any]
    update: str
    rtt_terms: str


class _Class(NamedTuple):
    """A class of flows at rest."""

    sender: Sender
    x: tuple[Any, ...]
    p: Traced
    rtt: Traced
    weight: Traced
    """Of `pi2_fluid.loop.link.Coupling`."""


class _AtRest(NamedTuple):
    u: Traced
    state: tuple[Any, ...]
    delay: Traced
    capacity: Traced
    """Packets per second."""
    classes: list[_Class]


def _require_kind(aqm: Aqm) -> None:
    if aqm.bands == 1 and aqm.acts_on == "queue":
        return
    what = "has two queues" if aqm.bands == 2 else "acts on what arrives"
    raise UnsupportedError(
        f"{type(aqm).__name__} {what}, and JAX differentiates margins of one queue that acts on its"
        " own delay or length: take differences of Loop(...).margins()."
    )


def _senders(flows: Traced) -> tuple[Sender, ...]:
    if isinstance(flows, Sender):
        return (flows,)
    return tuple(flow.sender for flow in ((flows,) if isinstance(flows, Flows) else flows))


def _solves_rest(law: Sender | Aqm) -> bool:
    """Return whether a law has no closed form of where it rests."""
    return type(law).at_rest is (Sender if isinstance(law, Sender) else Aqm).at_rest


def _count(flows: Traced, aqm: Aqm) -> int:
    """Return of how many numbers an operating point is solved for."""
    count = 1 + sum(len(law.states) for law in _senders(flows) if _solves_rest(law))
    return count + (len(aqm.initial()) + 1 if _solves_rest(aqm) else 0)


def _ask(case: _Case) -> FloatArray:
    """Return the margins of a loop of plain numbers, their crossovers, and where it rests."""
    flows = _validated(case.flows)
    how = {"update": case.update, "rtt_terms": case.rtt_terms}
    loop = Loop(flows, _validated(case.aqm), **case.numbers, **how)
    if not np.any(np.asarray(loop.operating_point.p)):
        raise UnsupportedError(
            "nothing is signalled to these flows, which rest by their delay, and JAX differentiates"
            " margins of flows that heed signals: take differences of Loop(...).margins()."
        )
    margins, point = loop.margins(), loop.operating_point
    rest = [point.controller]
    for sender, state in zip(loop.senders, point.states, strict=True):
        if _solves_rest(sender):
            rest += list(state) if isinstance(state, tuple) else [state]
    if _solves_rest(loop.aqm):
        state, delay = loop.aqm.at_rest(point.controller, point.capacity)
        rest += [*state, delay]
    told = [margins.gain_margin_db, margins.phase_margin_deg]
    told += [margins.gain_crossover, margins.phase_crossover]
    return np.array([*told, *rest], dtype=float)


def _validated(value: Traced) -> Traced:
    """Return records anew, so that they check numbers that JAX has put into them."""
    if isinstance(value, tuple):
        return tuple(map(_validated, value))
    if not isinstance(value, Record):
        return value
    given = {field.name: _validated(getattr(value, field.name)) for field in fields(value)}
    return type(value)(**given)


def _margins(case: _Case, told: Traced) -> tuple[Any, Any, Any, Any]:
    import jax
    from jax import numpy as jnp

    kept = told[:4]
    numbers = _refined(lambda z: _equations(case, z)[1], told[4:])
    response = _response(case, _equations(case, numbers)[0])

    def level(w: Traced) -> Traced:
        return jnp.log(jnp.abs(response(w)))

    def turned(w: Traced) -> Traced:
        return jnp.imag(response(w)) / jnp.abs(jax.lax.stop_gradient(response(w)))

    safe = jnp.where(jnp.isfinite(kept[2:]), kept[2:], 1.0)
    w_gc, w_pc = _root(level, safe[0]), _root(turned, safe[1])
    if case.update == "sampled":  # which may be where its frequencies end
        interval: Traced = case.aqm.update_interval
        end = jnp.pi / interval
        w_pc = jnp.where(safe[1] >= NEARLY_ALL * end, end, w_pc)
    at = response(w_gc)
    found = [
        -20.0 / jnp.log(10.0) * level(w_pc),
        jnp.degrees(jnp.angle(at / jax.lax.stop_gradient(at))),
        w_gc,
        w_pc,
    ]
    exists = jnp.isfinite(jnp.array([kept[3], kept[2], kept[2], kept[3]]))
    # The value is that of the search; what is added is 0, and has the derivatives.
    gm, pm, gc, pc = (
        jnp.where(there, value + (x - jax.lax.stop_gradient(x)), value)
        for there, value, x in zip(exists, kept, found, strict=True)
    )
    return gm, pm, gc, pc


def _refined(equations: Callable[[Any], Any], numbers: Traced) -> Traced:
    import jax
    from jax import numpy as jnp

    for _ in range(2):
        numbers = numbers - jnp.linalg.solve(jax.jacfwd(equations)(numbers), equations(numbers))
    return numbers


def _root(function: Callable[[Any], Any], w: Traced) -> Traced:
    import jax
    from jax import numpy as jnp

    for _ in range(2):
        value, slope = jax.jvp(function, (w,), (jnp.ones_like(w),))
        w = w - value / slope
    return w


def _equations(case: _Case, numbers: Traced) -> tuple[_AtRest, Any]:
    """Return where a loop rests by the numbers that are solved for, and what is to be 0 there."""
    from jax import numpy as jnp

    aqm, given = case.aqm, case.numbers
    u, left = numbers[0], list(numbers[1:])
    residuals: list[Any] = []

    def state_of(sender: Sender, p: Traced, rtt: Traced) -> tuple[Any, ...]:
        if not _solves_rest(sender):
            return call_traceable(sender, "at_rest", rtt, p)
        x = tuple(left.pop(0) for _ in sender.states)
        residuals.extend(value * rtt for value in call_traceable(
            sender, "rate", *x, *x, p, rtt, rtt))  # fmt: skip
        return x

    (load,) = call_traceable(aqm, "load_at", u)
    signals = dict(zip(("classic", "scalable"), call_traceable(aqm, "encode", u), strict=True))
    if isinstance(case.flows, Sender):
        sender = case.flows
        assert sender.signal is not None
        p, rtt = given.get("p"), given["rtt"]
        if p is None:
            p = given["p_prime"] ** (2.0 if sender.signal == "classic" else 1.0)
        x = state_of(sender, p, rtt)
        (rate,) = call_traceable(sender, "sending_rate_under", *x, p, rtt)
        capacity = rate / load
        state, delay = _queue(aqm, u, capacity, left, residuals)
        residuals.insert(0, signals[sender.signal] - p)
        classes = [_Class(sender, x, p, rtt, 1.0 / capacity)]
        return _AtRest(u, state, delay, capacity, classes), jnp.stack(residuals)
    size = given.get("packet_size", 1500.0)
    capacity = given["capacity"] / (8.0 * size)
    queue: list[Any] = []
    solved = left[len(left) - len(aqm.initial()) - 1 :]
    state, delay = _queue(aqm, u, capacity, solved, queue)
    offered, classes = 0.0, []
    for flow in (case.flows,) if isinstance(case.flows, Flows) else case.flows:
        sender = flow.sender.on_link(size)
        p, rtt = signals.get(sender.signal or "", 0.0 * u), flow.base_rtt + delay
        x = state_of(sender, p, rtt)
        (rate,) = call_traceable(sender, "sending_rate_under", *x, p, rtt)
        offered = offered + flow.count * rate
        classes.append(_Class(sender, x, p, rtt, flow.count / capacity))
    residuals = [offered / (capacity * load) - 1.0, *residuals, *queue]
    return _AtRest(u, state, delay, capacity, classes), jnp.stack(residuals)


def _queue(
    aqm: Aqm, u: Traced, capacity: Traced, left: list[Any], residuals: list[Any]
) -> tuple[tuple[Any, ...], Any]:
    """Return the state and the delay of a queue whose controller rests at u."""
    if not _solves_rest(aqm):
        *state, delay = call_traceable(aqm, "at_rest", u, capacity)
        return tuple(state), delay
    *state, delay = left
    interval: Traced = aqm.update_interval
    seen = (delay, delay * capacity, capacity, capacity, 0.0)
    after = call_traceable(aqm, "update", *state, *seen, interval)
    residuals += [new - old for new, old in zip(after, state, strict=True)]
    residuals += [value - u for value in call_traceable(aqm, "controller", *state)]
    return tuple(state), delay


def _response(case: _Case, rest: _AtRest) -> Callable[[Any], Any]:
    """Return L(jw) as a function of w."""
    import jax
    from jax import numpy as jnp

    aqm, update = case.aqm, case.update
    T: Traced = aqm.update_interval
    ticks = has_ticks(aqm, 1.0)
    function = update_slopes if ticks else drift_slopes
    moved, picked = function(aqm, rest.state, rest.delay, rest.capacity)
    size = len(rest.state)
    matrix = jnp.array([[moved[j][i] for j in range(size)] for i in range(size)])
    driven, shown = jnp.array(moved[size]), jnp.array(picked)
    signals = dict(zip(("classic", "scalable"), encode_slopes(aqm, rest.u), strict=True))
    plants = [_plant(cls, signals, case.rtt_terms) for cls in rest.classes]
    one = jnp.eye(size)

    def controller(s: Traced) -> Traced:
        if not ticks:
            return shown @ jnp.linalg.solve(s * one - matrix, driven + 0.0 * s)
        x = s * T / 2.0
        y = jnp.exp(-s * T) if update == "sampled" else (1.0 - x) / (1.0 + x)
        return shown @ jnp.linalg.solve(one - matrix * y, driven + 0.0 * s)

    def plant(s: Traced) -> Traced:
        parts = [each(s) for each in plants]
        return sum(drive for drive, _ in parts) / (s - sum(feedback for _, feedback in parts))

    def response(w: Traced) -> Traced:
        s = 1j * w
        if update == "continuous":
            return controller(s) * plant(s)
        if update == "delayed":
            return controller(s) * plant(s) * jnp.exp(-s * T / 2.0)
        aliases = s + 2j * jnp.pi * jnp.arange(-_ALIASES - 1, _ALIASES + 1) / T
        total = jnp.sum(jax.vmap(plant)(aliases) / aliases) / T
        return controller(s) * (1.0 - jnp.exp(-s * T)) * total

    return response


def _plant(
    cls: _Class, signals: dict[str, Number], rtt_terms: str
) -> Callable[[Any], tuple[Any, Any]]:
    """Return what a class makes of s: its drive and feedback, as in `pi2_fluid.loop.response`."""
    from jax import numpy as jnp

    sender, size = cls.sender, len(cls.x)
    slopes, sending = rate_slopes(sender, cls.x, cls.p, cls.rtt)
    columns = [jnp.array(column) for column in slopes]
    now, before = jnp.stack(columns[:size], axis=-1), jnp.stack(columns[size : 2 * size], axis=-1)
    exact = 1.0 if rtt_terms == "exact" or sender.signal is None else 0.0
    signal = columns[2 * size] * (signals[sender.signal] if sender.signal else 0.0)
    by_rtt, by_rtt_before = exact * columns[2 * size + 1], exact * columns[2 * size + 2]
    shown, at_once = jnp.array(sending[:size]), sending[size]

    def respond(s: Traced) -> tuple[Any, Any]:
        late = jnp.exp(-s * cls.rtt)
        right = jnp.stack([signal + 0.0 * s, by_rtt + by_rtt_before * late], axis=-1)
        heard, delayed = shown @ jnp.linalg.solve(s * jnp.eye(size) - now - before * late, right)
        return -cls.weight * heard * late, cls.weight * (at_once + delayed)

    return respond
