"""Any Sender x any Aqm -> state matrices, by automatic differentiation of the laws themselves.

A class of flows becomes, for small deviations x of its state, u of the controller's variable and
d of the queue delay, with e the delay of one round-trip time,

    dx/dt = (A0 + A1 e) x + b e u + (e0 + e1 e) d,        rate y = c x + r d,

and the queue, d' = sum of weight * y over the classes, closes the loop together with the queue's
update, a linear map (F, g, h) from one tick to the next.

`rtt_terms="frozen"` drops e0 and e1, as the papers do when they hold R(t) constant in the window
law; ``"exact"`` keeps them. The motion of the *argument* t - R(t) contributes nothing at first
order, because all derivatives vanish at rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import jax
import numpy as np
from jax import numpy as jnp

from pi2_fluid.errors import DomainError, UnsupportedError
from pi2_fluid.loop.state_space import LinearClass, LinearController, LinearLoop
from pi2_fluid.model.aqm import Aqm, Seen
from pi2_fluid.model.operating_point import OperatingPoint
from pi2_fluid.model.record import named_arrays
from pi2_fluid.model.sender import Sender

__all__ = [
    "linearize",
    "loop_shape",
    "rate_slopes",
    "update_slopes",
]

RTT_TERMS: Final = ("frozen", "exact")


def linearize(
    senders: Sequence[Sender], aqm: Aqm, point: OperatingPoint, rtt_terms: str = "frozen"
) -> LinearLoop:
    """Linearise senders and queue at their operating point.

    Parameters
    ----------
    senders : sequence of Sender
        One per class.
    aqm : Aqm
        The queue.
    point : OperatingPoint
        Where to linearise; its ``states`` has one entry per class.
    rtt_terms : {"frozen", "exact"}
        Whether the window law's explicit dependence on R is dropped.

    Raises
    ------
    UnsupportedError
        If the law reacts to the arrival rate, or is not differentiable by JAX.
    """
    shape = loop_shape(senders, aqm, point)
    per_class = (_per_class(x) for x in (point.p, point.rtt, point.share, point.rate))
    with jax.enable_x64(True):
        slopes = _encoder_slopes(aqm, np.broadcast_to(point.controller, shape))
        classes = tuple(
            # count / capacity, which is share / rate
            _linearize_sender(sender, state, p, rtt, slopes, share / rate, rtt_terms, shape)
            for sender, state, p, rtt, share, rate in zip(
                senders, point.states, *per_class, strict=True
            )
        )
        controller = _linearize_aqm(aqm, point, shape)
    return LinearLoop(classes, controller, shape)


def loop_shape(senders: Sequence[Sender], aqm: Aqm, point: OperatingPoint) -> tuple[int, ...]:
    """Return the shape to which everything that a loop is built from broadcasts."""
    values = [*_per_class(point.rtt), *_per_class(point.p), point.controller, point.capacity]
    for record in (aqm, *senders):
        values += named_arrays(record).values()
    return np.broadcast_shapes(*(np.shape(value) for value in values))


def _per_class(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def rate_slopes(sender: Sender, x: tuple[Any, ...], p: Any, rtt: Any) -> tuple[Any, Any]:
    """Differentiate a window law at rest: a pure function, under jit, vmap and grad as well.

    Parameters
    ----------
    sender : Sender
        The law.
    x : tuple
        Its state at rest, one entry per state.
    p, rtt : float or array
        Signal probability and round-trip time (s); all arguments of one shape.

    Returns
    -------
    rate : tuple of tuple
        [j][i] is d(rate_i) over the j-th of (x, x delayed, p delayed, rtt, rtt delayed).
    sending : tuple
        d(sending rate) over the states and over rtt.
    """
    size = len(sender.states)

    def rate(*args: Any) -> tuple[Any, ...]:
        now, before, (signal, r, r_before) = args[:size], args[size : 2 * size], args[2 * size :]
        if size == 1:
            return (sender.rate(now[0], before[0], signal, r, r_before),)
        return tuple(sender.rate(now, before, signal, r, r_before))

    def sending(*args: Any) -> Any:
        return sender.sending_rate(args[0] if size == 1 else args[:-1], args[-1])

    args = (*x, *x, p, rtt, rtt)
    slopes = tuple(_jvp(rate, args, which) for which in range(len(args)))
    return slopes, tuple(_jvp(sending, (*x, rtt), which) for which in range(size + 1))


def update_slopes(
    aqm: Aqm, state: tuple[Any, ...], queue_delay: Any, packets: Any
) -> tuple[Any, Any]:
    """Differentiate a queue's update at rest: a pure function, as `rate_slopes`.

    Returns
    -------
    update : tuple of tuple
        [j][i] is d(new state_i) over the j-th of (state, queue delay, arrival rate).
    controller : tuple
        d(controller's variable) over the states.
    """
    size = len(state)

    def update(*args: Any) -> tuple[Any, ...]:
        seen = Seen(args[size], args[size] * packets, args[size + 1], packets)
        return tuple(aqm.update(tuple(args[:size]), seen, aqm.update_interval))

    args = (*state, queue_delay, packets)
    slopes = tuple(_jvp(update, args, which) for which in range(size + 2))
    picked = tuple(_jvp(lambda *s: aqm.controller(s), state, which) for which in range(size))
    return slopes, picked


def _jvp(function: Any, args: tuple[Any, ...], which: int) -> Any:
    """Derivative of an elementwise function with respect to one of its arguments."""
    tangents = tuple(
        jnp.ones_like(arg) if index == which else jnp.zeros_like(arg)
        for index, arg in enumerate(args)
    )
    _, out = jax.jvp(function, args, tangents)
    return out


def _numeric(value: Any, shape: tuple[int, ...], what: str) -> Any:
    array = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), shape))
    if not np.isfinite(array).all():
        raise DomainError(
            f"the derivative of {what} is not finite at this operating point: move p or rtt off it,"
            " or make the law smooth there."
        )
    return array


def encode_slopes(aqm: Aqm, u: Any) -> tuple[Any, Any]:
    """Differentiate what Classic and Scalable packets see over the controller's variable."""
    classic, scalable = _jvp(lambda value: tuple(aqm.encode(value)), (u,), 0)
    return classic, scalable


@cache
def _jit(function: Callable[..., Any]) -> Callable[..., Any]:
    return jax.jit(function)


def _compiled(function: Callable[..., Any], what: str, *args: Any) -> Any:
    """Call one of the pure functions above, compiled once for each kind of law and shape.

    A law that cannot be compiled (it branches on values, or holds odd fields) is called as it is.
    """
    try:
        return _jit(function)(*args)
    except (jax.errors.JAXTypeError, TypeError):
        try:
            return function(*args)
        except (jax.errors.JAXTypeError, TypeError) as error:
            raise UnsupportedError(
                f"{what} cannot be differentiated: use only + - * / ** and pi2_fluid.ops in it"
                f" ({type(error).__name__})."
            ) from error


def _encoder_slopes(aqm: Aqm, u: Any) -> dict[str, Any]:
    what = f"{type(aqm).__name__}.encode"
    slopes = _compiled(encode_slopes, what, aqm, u)
    return {
        signal: _numeric(slope, u.shape, what)
        for signal, slope in zip(("classic", "scalable"), slopes, strict=True)
    }


def _linearize_sender(
    sender: Sender,
    state: Any,
    p: Any,
    rtt: Any,
    slopes: dict[str, Any],
    weight: Any,
    rtt_terms: str,
    shape: tuple[int, ...],
) -> LinearClass:
    size = len(sender.states)
    values = state if isinstance(state, tuple) else (state,)
    fill = [np.array(np.broadcast_to(np.asarray(v, float), shape)) for v in (*values, p, rtt)]
    x, (p, rtt) = fill[:size], fill[size:]

    what = f"{type(sender).__name__}.rate"
    rate, sending = _compiled(rate_slopes, what, sender, tuple(x), p, rtt)
    columns = [[_numeric(entry, shape, what) for entry in column] for column in rate]
    out = [_numeric(entry, shape, what) for entry in sending]
    exact = 1.0 if rtt_terms == "exact" else 0.0
    slope = slopes[sender.signal] if sender.signal else np.zeros(shape)
    b = [entry * slope for entry in columns[2 * size]]
    e0 = [entry * exact for entry in columns[2 * size + 1]]
    e1 = [entry * exact for entry in columns[2 * size + 2]]
    weight = np.broadcast_to(np.asarray(weight, float), shape)
    if size == 1:
        a0, a1 = columns[0][0], columns[1][0]
        return LinearClass(a0, a1, b[0], e0[0], e1[0], out[0], out[1], weight, rtt, size)
    # columns[j][i] is d(rate_i)/d(x_j): move both to the end as [i, j]
    a0 = np.moveaxis(np.array(columns[:size]), (0, 1), (-1, -2))
    a1 = np.moveaxis(np.array(columns[size : 2 * size]), (0, 1), (-1, -2))
    bv, e0v, e1v, cv = (np.moveaxis(np.array(v), 0, -1) for v in (b, e0, e1, out[:size]))
    return LinearClass(a0, a1, bv, e0v, e1v, cv, out[size], weight, rtt, size)


def _linearize_aqm(aqm: Aqm, point: OperatingPoint, shape: tuple[int, ...]) -> LinearController:
    if aqm.bands != 1:
        raise UnsupportedError(
            f"{type(aqm).__name__} has {aqm.bands} queues, which no single loop describes:"
            " analyse its controller as CoupledPi2."
        )
    state, delay = aqm.at_rest(point.controller, point.capacity)
    dt = aqm.update_interval
    fill = [
        np.array(np.broadcast_to(np.asarray(v, float), shape))
        for v in (*state, delay, point.capacity)
    ]
    size = len(state)
    what = f"{type(aqm).__name__}.update"
    update, picked = _compiled(update_slopes, what, aqm, tuple(fill[:size]), *fill[-2:])
    columns = [[_numeric(entry, shape, what) for entry in column] for column in update]
    if any(np.any(entry != 0.0) for entry in columns[size + 1]):
        raise UnsupportedError(
            f"{type(aqm).__name__} reacts to the arrival rate, for which no loop is built here:"
            " simulate it instead."
        )
    F = np.moveaxis(np.array(columns[:size]), (0, 1), (-1, -2))
    g = np.moveaxis(np.array(columns[size]), 0, -1)
    h = np.moveaxis(np.array([_numeric(entry, shape, what) for entry in picked]), 0, -1)
    numerator, denominator = _ratio(F, g, h)
    return LinearController(numerator, denominator, np.broadcast_to(np.asarray(dt, float), shape))


def _ratio(F: Any, g: Any, h: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """h (I - F y)^-1 g as polynomials in y, by the Faddeev-LeVerrier recursion."""
    size = F.shape[-1]
    identity = np.eye(size)
    M = np.broadcast_to(identity, F.shape)  # adj(I - F y) = sum of M_j y^j
    numerator, denominator = [np.einsum("...i,...ij,...j->...", h, M, g)], [np.ones(F.shape[:-2])]
    for order in range(1, size + 1):
        FM = F @ M
        coefficient = -np.trace(FM, axis1=-2, axis2=-1) / order
        denominator.append(coefficient)
        M = FM + coefficient[..., None, None] * identity
        if order < size:
            numerator.append(np.einsum("...i,...ij,...j->...", h, M, g))
    return _trim(numerator), _trim(denominator)


def _trim(coefficients: list[Any]) -> tuple[Any, ...]:
    while len(coefficients) > 1 and not np.any(coefficients[-1]):
        coefficients.pop()
    return tuple(coefficients)
