"""L(jw) of flows and a queue at rest, as JAX differentiates it: what `Loop` computes with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.derivatives import differentiate
from pi2_fluid.loop.controllers import (
    drift_slopes,
    encode_slopes,
    flow_slopes,
    native_slope,
    picked_slopes,
    signal_slopes,
    update_slopes,
)
from pi2_fluid.loop.elimination import solved
from pi2_fluid.loop.linearization import rate_slopes
from pi2_fluid.loop.traced_rest import AtRest, Case, ClassAtRest, Kind, Traced
from pi2_fluid.network.rest import has_ticks

if TYPE_CHECKING:
    from pi2_fluid.values import Number

_Response: TypeAlias = "Callable[[Traced], Traced]"

#: Pairs of aliases of a sampled loop. What is left out falls as the square of their number: a part
#: of 1e-8 and less of a derivative. The margins themselves are those of the whole sum.
_ALIASES: Final = 2000


class _Controller(NamedTuple):
    """From what it acts on to the variable that flows hear of."""

    flowing: _Response
    """Of s, in continuous time."""
    held: _Response
    """Of y = e^(-sT), from update to update."""
    slopes: dict[str, Any]
    """What Classic and Scalable packets see, over that variable."""


class _Plant(NamedTuple):
    """What a class makes of s: what it sends less by signals, and more by the delay."""

    respond: Callable[[Traced], tuple[Any, Any]]
    delay: Traced
    at_once: Traced
    """At large s the first is this over s times e^(-s delay), and terms that fall faster."""


def traced_response(case: Case, rest: AtRest) -> _Response:
    """Return L(jw) as a function of w (rad/s), of one frequency."""
    from jax import numpy as jnp

    kind, update = case.kind, case.update
    T: Traced = case.aqm.update_interval
    controller = _controller(case, rest)
    plants = [_plant(case, cls, controller.slopes) for cls in rest.classes]
    counts = case.aqm.acts_on == "arrivals"

    def plant(s: Traced) -> Traced:
        parts = [each.respond(s) for each in plants]
        feedback = sum(cls.weight * by for cls, (_, by) in zip(rest.classes, parts, strict=True))
        if kind is Kind.DELAY:
            return -feedback / (s - _at_once_by_delay(rest))
        drive = sum(cls.weight * by for cls, (by, _) in zip(rest.classes, parts, strict=True))
        return -drive * rest.capacity if counts else -drive / (s - feedback)

    def response(w: Traced) -> Traced:
        s = 1j * w
        if update != "sampled":
            late = jnp.exp(-s * T / 2.0) if update == "delayed" else 1.0
            return controller.flowing(s) * plant(s) * late
        y, k = jnp.exp(-s * T), jnp.arange(-_ALIASES - 1, _ALIASES + 1)
        aliases = s + 2j * jnp.pi * k / T
        falls = aliases**2 if counts else aliases
        # What falls as 1/s^2 is summed in closed form, so that the rest fades faster.
        unit = rest.capacity if counts else 1.0
        total = jnp.sum(_each(plant, aliases) / falls) / T
        for cls, each in zip(rest.classes, plants, strict=True):
            size = -unit * cls.weight * each.at_once
            terms = size * jnp.exp(-aliases * each.delay) / (aliases + 1.0 / T) ** 2
            total = total - jnp.sum(terms) / T + size * T * _held_sum(each.delay / T, y)
        return controller.held(y) * (1.0 - y) * ((1.0 - y) if counts else 1.0) * total

    return response


def _each(function: _Response, s: Traced) -> Traced:
    import jax

    return jax.vmap(function)(s)


def _held_sum(delay: Traced, y: Traced) -> Traced:
    """Return the first of `pi2_fluid.loop.sampled.held_sums`."""
    import jax
    from jax import numpy as jnp

    first = jnp.ceil(jax.lax.stop_gradient(delay))
    d, q = first - delay, jnp.exp(-1.0) * y
    return jnp.exp(-d) * y**first * (d / (1.0 - q) + q / (1.0 - q) ** 2)


def _at_once_by_delay(rest: AtRest) -> Traced:
    """Return by how much a longer round trip slows down what is sent, of all classes."""
    parts = []
    for cls in rest.classes:
        _, sending = rate_slopes(cls.sender, cls.x, cls.p, cls.rtt)
        parts.append(cls.weight * sending[len(cls.x)])
    return sum(parts)


def _plant(case: Case, cls: ClassAtRest, signals: dict[str, Any]) -> _Plant:
    """Return the response of a class, as in `pi2_fluid.loop.response`."""
    from jax import numpy as jnp

    sender, size = cls.sender, len(cls.x)
    slopes, sending = rate_slopes(sender, cls.x, cls.p, cls.rtt)
    columns = [jnp.array(column) for column in slopes]
    now, before = jnp.stack(columns[:size], axis=-1), jnp.stack(columns[size : 2 * size], axis=-1)
    held = case.rtt_terms == "frozen" and case.kind is not Kind.DELAY
    exact = not held or (sender.signal is None and case.kind is not Kind.AT_ONCE)
    feels = 1.0 if cls.feels else 0.0
    heard = signals[sender.signal] if sender.signal and case.kind is not Kind.DELAY else 0.0
    signal = columns[2 * size] * heard
    by_rtt, by_rtt_before = (feels * exact * column for column in columns[2 * size + 1 :])
    shown = jnp.array(sending[:size])
    delayed = 0.0 if case.kind is Kind.DELAY else feels * sending[size]
    fed: Any = 0.0
    if sender.answers_at_once:
        fed = heard * _feed_through(cls)

    def respond(s: Traced) -> tuple[Any, Any]:
        late = jnp.exp(-s * cls.rtt)
        right = jnp.stack([signal + 0.0 * s, by_rtt + by_rtt_before * late], axis=-1)
        moved = solved(s * jnp.eye(size) - now - before * late, right)
        by_signal, by_delay = shown @ moved
        return (by_signal + fed) * (1.0 + cls.lead * s) * late, delayed + by_delay

    return _Plant(respond, cls.rtt, fed + cls.lead * (shown @ signal))


def _feed_through(cls: ClassAtRest) -> Traced:
    """Return the response of the sending rate to the signal itself."""
    where, size = (*cls.x, cls.p, cls.rtt), len(cls.x)
    ((slope,),) = differentiate(cls.sender, "sending_rate_under", where, [size])
    return slope


def _controller(case: Case, rest: AtRest) -> _Controller:
    from jax import numpy as jnp

    aqm = case.aqm
    if case.kind is Kind.DELAY:
        return _Controller(lambda s: 1.0 + 0.0 * s, _none, {})
    if aqm.acts_on != "queue":
        return _by_arrivals(aqm, rest)
    slopes = dict(zip(("classic", "scalable"), encode_slopes(aqm, rest.u), strict=True))
    found = _by_queue(aqm, rest)._replace(slopes=slopes)
    if case.kind is not Kind.L4S_ALONE:
        return found
    # Numbers decide whether the controller rules, or the L queue marks by itself, as a gain.
    rules, coupled = rest.u > 0.0, jnp.asarray(slopes["scalable"])
    own: Traced = native_slope(aqm, 0.0 * rest.u, *rest.delays)
    return _Controller(
        lambda s: jnp.where(rules, found.flowing(s), own),
        found.held,  # without updates Loop has refused
        {"scalable": jnp.where(rules, coupled, 1.0)},
    )


def _none(y: Traced) -> Traced:
    raise AssertionError(f"Loop refuses updates of what has none, at {y}")


def _ratio(matrix: Traced, driven: Traced, shown: Traced, *, held: bool) -> _Response:
    """Return h (s - F)^-1 g, or h (1 - F y)^-1 g of what is held from update to update."""
    from jax import numpy as jnp

    one = jnp.eye(matrix.shape[0])

    def respond(x: Traced) -> Traced:
        left = one - matrix * x if held else x * one - matrix
        return shown @ solved(left, driven + 0.0 * x)

    return respond


def _moves(slopes: tuple[tuple[Number, ...], ...], size: int) -> tuple[Traced, Traced, Traced]:
    """Return the states over themselves, over all queue delays together, and over what arrives."""
    from jax import numpy as jnp

    matrix = jnp.array([[slopes[j][i] for j in range(size)] for i in range(size)])
    driven = sum((jnp.array(column) for column in slopes[size:-1]), jnp.zeros(size))
    return matrix, driven, jnp.array(slopes[-1])


def _by_queue(aqm: Aqm, rest: AtRest) -> _Controller:
    """From the queue delay that drives it, in ticks or between them."""
    from jax import numpy as jnp

    ticks, size = has_ticks(aqm, 1.0), len(rest.state)
    function = update_slopes if ticks else drift_slopes
    delays = rest.delays if len(rest.delays) > 1 else rest.delays[0]
    moved, picked = function(aqm, rest.state, delays, rest.capacity)
    matrix, driven, _ = _moves(moved, size)
    respond = _ratio(matrix, driven, jnp.array(picked), held=ticks)
    if not ticks:
        return _Controller(respond, _none, {})
    T: Traced = aqm.update_interval

    def tustin(s: Traced) -> Traced:
        x = s * T / 2.0
        return respond((1.0 - x) / (1.0 + x))

    return _Controller(tustin, respond, {})


def _by_arrivals(aqm: Aqm, rest: AtRest) -> _Controller:
    """From what arrives, alone or beside the queue: as in `pi2_fluid.loop.controllers`."""
    size, waits, packets = len(rest.state), aqm.acts_on == "both", rest.capacity
    where = (aqm, rest.state, rest.delays[0], packets, rest.load * packets)
    slopes, shown, at_once = _heard(*where, u=rest.u)
    flow, by_delay, by_rate = _moves(flow_slopes(*where)[0], size)
    if waits:  # what arrives is C (1 + d'), and of C d' the state jumps with d
        jump = packets * by_rate
        own = _ratio(flow, by_delay + flow @ jump, shown, held=False)
        through = shown @ jump
    else:
        own, through = _ratio(flow, by_rate, shown, held=False), at_once

    def flowing(s: Traced) -> Traced:
        return own(s) + through

    if aqm.update_interval is None:
        return _Controller(flowing, _none, slopes)
    counted = _moves(drift_slopes(*where)[0], size)[2]
    matrix, by_delay, _ = _moves(update_slopes(*where)[0], size)
    by_count = matrix @ counted
    if not waits:
        return _Controller(flowing, _ratio(matrix, by_count, shown, held=True), slopes)
    # Counted is what the queue grew by: C d now, less C d at the update before.
    now = _ratio(matrix, by_delay + packets * by_count, shown, held=True)
    before = _ratio(matrix, packets * by_count, shown, held=True)
    return _Controller(flowing, lambda y: now(y) - y * before(y), slopes)


def _heard(
    aqm: Aqm, state: tuple[Any, ...], delay: Traced, packets: Traced, arriving: Traced, *, u: Traced
) -> tuple[dict[str, Any], Traced, Traced]:
    """Return slopes of what packets hear over a variable, and of that over states and arrivals."""
    from jax import numpy as jnp

    if type(aqm).signals is Aqm.signals:
        slopes = dict(zip(("classic", "scalable"), encode_slopes(aqm, u), strict=True))
        return slopes, jnp.array(picked_slopes(aqm, state)), 0.0
    found = signal_slopes(aqm, state, delay, packets, arriving)
    classic, scalable = (jnp.array(kind) for kind in zip(*found, strict=True))
    ratio = classic @ scalable / (scalable @ scalable)  # Loop refuses others than multiples
    return {"classic": ratio, "scalable": 1.0}, scalable[:-1], scalable[-1]
