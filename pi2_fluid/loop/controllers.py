"""Any Aqm -> a ratio of polynomials: from the queue delay to the controller's variable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import numpy as np

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Aqm, Seen
from pi2_fluid.laws.derivatives import as_arrays, differentiate, numeric
from pi2_fluid.loop.polynomials import resolvent
from pi2_fluid.loop.state_space import LinearController
from pi2_fluid.network.rest import has_ticks
from pi2_fluid.ops import Number

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Real

__all__ = [
    "QueueAtRest",
    "drift_slopes",
    "encode_slopes",
    "linearize_aqm",
    "linearize_counting",
    "update_slopes",
]

#: The slopes of each number that moves over what it depends on, and of the controller's variable.
StateSlopes: TypeAlias = tuple[tuple[tuple[Number, ...], ...], tuple[Number, ...]]

# Where a law rests, its answer to more arrivals is 0 up to rounding, and its controller's variable
# what it was asked to be up to the accuracy of the solver.
_ROUNDING: Final = 1e-9
_APART: Final = 1e-6


class QueueAtRest(Protocol):
    """Where a queue rests: what of an `OperatingPoint` is its own."""

    @property
    def controller(self) -> Real:
        """Its own variable."""

    @property
    def queue_delay(self) -> Real | tuple[Real, Real]:
        """Seconds; of a dual queue a pair."""

    @property
    def capacity(self) -> Real:
        """Packets per second served."""


def linearize_aqm(
    aqm: Aqm, point: QueueAtRest, shape: tuple[int, ...]
) -> tuple[dict[str, FloatArray], LinearController]:
    """Linearise a queue's controller and encoder where it rests.

    Returns
    -------
    slopes : dict
        d(probability)/d(variable) of "classic" and "scalable" packets.
    controller : LinearController
        From the delay of the queue that drives it to its variable: as a polynomial in z^-1 if it
        ticks, in s if it acts on every packet. Of a dual queue that marks by itself, the variable
        is the L4S probability.

    Raises
    ------
    UnsupportedError
        If it does not react to the queue, or reacts to the arrival rate, or rests on a jump.
    """
    if aqm.rests_apart and not has_ticks(aqm, point.controller):
        return _linearize_native(aqm, point, shape)
    what = f"{type(aqm).__name__}.encode"
    classic, scalable = encode_slopes(aqm, as_arrays([point.controller], shape)[0])
    slopes = {
        "classic": numeric(classic, shape, what),
        "scalable": numeric(scalable, shape, what),
    }
    state, delays = aqm.at_rest(point.controller, point.capacity)[0], point.queue_delay
    pair = delays if isinstance(delays, tuple) else (delays,)
    _check_rest(aqm, state, point)
    values = as_arrays([*state, *pair, point.capacity], shape)
    if aqm.acts_on == "both" and aqm.update_interval is not None:
        return slopes, _of_queue_and_arrivals(aqm, values, shape)
    size, ticks = len(state), has_ticks(aqm, point.controller)
    function, name = (update_slopes, "update") if ticks else (drift_slopes, "drift")
    what = f"{type(aqm).__name__}.{name}"
    delay = tuple(values[size:-1]) if aqm.bands == 2 else values[size]
    moved, picked = function(aqm, tuple(values[:size]), delay, values[-1])
    columns = np.array([[numeric(entry, shape, what) for entry in column] for column in moved])
    # Of a dual queue's two delays one drives the controller.
    driven, arriving = columns[size:-1].sum(axis=0), columns[-1] * values[-1]
    if np.any(np.abs(arriving) > _ROUNDING * np.abs(driven) * sum(values[size:-1])):
        raise UnsupportedError(
            f"{type(aqm).__name__} reacts to the arrival rate, for which no loop is built here:"
            " simulate it instead."
        )
    # columns[j, i] is d(new state_i)/d(state_j): move both to the end as [i, j]
    F = np.moveaxis(columns[:size], (0, 1), (-1, -2))
    g = np.moveaxis(driven, 0, -1)
    h = np.moveaxis(np.array([numeric(entry, shape, what) for entry in picked]), 0, -1)
    if not np.any(g):
        raise UnsupportedError(
            f"{type(aqm).__name__} does not react to the queue, so there is no loop: simulate it."
        )
    if ticks:
        assert aqm.update_interval is not None
        return slopes, _ticking(F, g, h, as_arrays([aqm.update_interval], shape)[0])
    return slopes, _flowing(F, g, h)


def _of_queue_and_arrivals(
    aqm: Aqm, values: Sequence[Number], shape: tuple[int, ...]
) -> LinearController:
    """A law that counts what arrives, before a queue: what arrives too much is what that grows by.

    Between two updates, that is, the capacity times what the delay has risen by; in continuous time
    its derivative.
    """
    assert aqm.update_interval is not None, "what counts has updates"
    *state, delay, packets = values
    size, at = len(state), (tuple(state), delay, packets)

    def flow(state: tuple[Number, ...], seen: Seen) -> tuple[Number, ...]:
        return aqm.flow(state, seen, 0.0)

    def columns_of(name: str, slopes: StateSlopes) -> tuple[FloatArray, FloatArray, FloatArray]:
        what = f"{type(aqm).__name__}.{name}"
        moved = np.array([[numeric(entry, shape, what) for entry in side] for side in slopes[0]])
        matrix = np.moveaxis(moved[:size], (0, 1), (-1, -2))
        return matrix, np.moveaxis(moved[size], 0, -1), np.moveaxis(moved[-1], 0, -1)

    def unlike(what: str) -> UnsupportedError:
        name = type(aqm).__name__
        return UnsupportedError(
            f'{name} acts_on = "both" is for laws that do nothing between updates but count'
            f" packets, and {name}.{what} does more: simulate it instead."
        )

    moving, waiting, counted = columns_of("drift", drift_slopes(aqm, *at))
    if np.any(moving) or np.any(waiting):
        raise unlike("drift")
    slopes = update_slopes(aqm, *at)
    F, from_queue, at_once = columns_of("update", slopes)
    if np.any(at_once):
        raise unlike("update")
    what = f"{type(aqm).__name__}.controller"
    h = np.moveaxis(np.array([numeric(entry, shape, what) for entry in slopes[1]]), 0, -1)
    grown = np.asarray(packets)[..., None] * counted
    numerator, denominator = _transfer(F, from_queue, h)
    rises, _ = _transfer(F, np.einsum("...ij,...j->...i", F, grown), h)
    zero = np.zeros(shape)
    numerator = [
        now + rise - before
        for now, rise, before in zip(
            [*numerator, zero], [*rises, zero], [zero, *rises], strict=True
        )
    ]
    A, from_queue, arriving = columns_of("flow", _state_slopes(aqm, "flow", flow, *at))
    continuous = _rising(A, from_queue, np.asarray(packets)[..., None] * arriving, h)
    interval = as_arrays([aqm.update_interval], shape)[0]
    return LinearController(_trim(numerator), _trim(denominator), interval, continuous)


def _rising(
    F: FloatArray, g: FloatArray, rising: FloatArray, h: FloatArray
) -> tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]:
    """h (sI - F)^-1 (g + s rising) in rising powers of s, as `_flowing`.

    Raises
    ------
    UnsupportedError
        If in some elements of an array of loops other numbers stand still than in others.
    """
    held = ~(np.any(F, axis=-1) | (g != 0.0) | (rising != 0.0))
    if np.any(held != held.reshape(-1, held.shape[-1])[0]):
        raise UnsupportedError(
            "in some elements of the arrays the controller averages what arrives, in others not,"
            " which are loops of two kinds: split the arrays."
        )
    still, moved = _flowing(F, g, h, also=rising), _flowing(F, rising, h, also=g)
    zero = np.zeros_like(still.numerator[0])
    numerator = tuple(
        one + other
        for one, other in zip([*still.numerator, zero], [zero, *moved.numerator], strict=True)
    )
    return numerator, still.denominator


def linearize_counting(
    aqm: Aqm, point: QueueAtRest
) -> tuple[dict[str, FloatArray], LinearController, LinearController | None]:
    """Linearise a law that acts on what arrives, between updates, and its encoder, where it rests.

    Returns
    -------
    slopes : dict
        As of `linearize_aqm`.
    controller : LinearController
        From packets per second that arrive to its variable, in continuous time.
    update : LinearController, or None
        From packets that have arrived since the last update to its variable, in z^-1; None if it
        has no updates, or something else moves between them.
    """
    what = f"{type(aqm).__name__}.encode"
    classic, scalable = encode_slopes(aqm, as_arrays([point.controller], ())[0])
    slopes = {"classic": numeric(classic, (), what), "scalable": numeric(scalable, (), what)}
    state = aqm.at_rest(point.controller, point.capacity)[0]
    delay = point.queue_delay
    assert not isinstance(delay, tuple), "of one queue"
    values = as_arrays([*state, delay, point.capacity], ())
    size = len(state)
    at = tuple(values[:size]), values[size], values[-1]

    def flow(state: tuple[Number, ...], seen: Seen) -> tuple[Number, ...]:
        return aqm.flow(state, seen, 0.0)

    def columns_of(name: str, slopes: StateSlopes) -> tuple[FloatArray, FloatArray]:
        what = f"{type(aqm).__name__}.{name}"
        moved = np.array([[numeric(entry, (), what) for entry in column] for column in slopes[0]])
        return moved, np.array([numeric(entry, (), what) for entry in slopes[1]])

    moved, picked = columns_of("flow", _state_slopes(aqm, "flow", flow, *at))
    flowing = _flowing(moved[:size].T, moved[-1], picked)
    if aqm.update_interval is None:
        return slopes, flowing, None
    counted, _ = columns_of("drift", drift_slopes(aqm, *at))
    moved, picked = columns_of("update", update_slopes(aqm, *at))
    if np.any(counted[:-1]) or np.any(moved[size:]):
        return slopes, flowing, None
    F = moved[:size].T
    interval = as_arrays([aqm.update_interval], ())[0]
    return slopes, flowing, _ticking(F, F @ counted[-1], picked, interval)


def encode_slopes(aqm: Aqm, u: Number) -> tuple[Number, Number]:
    """Differentiate what Classic and Scalable packets see over the controller's variable."""
    ((classic, scalable),) = differentiate(
        aqm, "encode", lambda value: tuple(aqm.encode(value)), (u,)
    )
    return classic, scalable


def update_slopes(
    aqm: Aqm, state: tuple[Number, ...], queue_delay: Number | tuple[Number, ...], packets: Number
) -> StateSlopes:
    """Differentiate a queue's update at rest: a pure function, as `rate_slopes`.

    Returns
    -------
    update : tuple of tuple
        [j][i] is d(new state_i) over the j-th of (state, queue delay, arrival rate); a dual queue
        has two delays.
    controller : tuple
        d(controller's variable) over the states.
    """
    interval = aqm.update_interval
    assert interval is not None, "what has no ticks has a drift alone"

    def update(state: tuple[Number, ...], seen: Seen) -> tuple[Number, ...]:
        return aqm.update(state, seen, interval)

    return _state_slopes(aqm, "update", update, state, queue_delay, packets)


def drift_slopes(
    aqm: Aqm, state: tuple[Number, ...], queue_delay: Number | tuple[Number, ...], packets: Number
) -> StateSlopes:
    """Differentiate a queue's motion between updates at rest, as `update_slopes`."""
    return _state_slopes(aqm, "drift", aqm.drift, state, queue_delay, packets)


def _state_slopes(
    aqm: Aqm,
    name: str,
    function: Callable[[tuple[Number, ...], Seen], tuple[Number, ...]],
    state: tuple[Number, ...],
    queue_delay: Number | tuple[Number, ...],
    packets: Number,
) -> StateSlopes:
    size = len(state)
    pair = queue_delay if isinstance(queue_delay, tuple) else (queue_delay,)

    def moved(*args: Number) -> tuple[Number, ...]:
        delays = args[size:-1]
        delay = delays if len(delays) > 1 else delays[0]
        seen = Seen(delay, sum(delays) * packets, args[-1], packets)
        return tuple(function(tuple(args[:size]), seen))

    slopes = differentiate(aqm, name, moved, (*state, *pair, packets))
    return slopes, differentiate(aqm, "controller", lambda *s: aqm.controller(s), state)


def _linearize_native(
    aqm: Aqm, point: QueueAtRest, shape: tuple[int, ...]
) -> tuple[dict[str, FloatArray], LinearController]:
    """L4S traffic alone, marked by the L queue itself: a gain, without state."""
    what = f"{type(aqm).__name__}.signals"
    assert isinstance(point.queue_delay, tuple), "of two queues"
    classic, l4s = as_arrays(point.queue_delay, shape)
    zero = np.zeros(shape)
    slope = numeric(_native_slope(aqm, zero, classic, l4s), shape, what)
    slopes = {"classic": zero, "scalable": np.ones(shape)}
    return slopes, LinearController((slope,), (np.ones(shape),), None)


def _native_slope(aqm: Aqm, u: Number, classic: Number, l4s: Number) -> Number:
    def scalable(delay: Number) -> Number:
        return aqm.signals((u, classic), Seen((classic, delay), 0.0, 0.0, 0.0)).scalable

    result: Number = differentiate(aqm, "signals", scalable, (l4s,))[0]
    return result


def _check_rest(aqm: Aqm, state: tuple[Number, ...], point: QueueAtRest) -> None:
    if aqm.rests_apart and np.any(np.asarray(point.controller) <= 0.0):
        raise UnsupportedError(
            f"in some elements of the arrays the controller of {type(aqm).__name__} rules, in"
            " others its L4S queue marks by itself, which are loops of two kinds: split the arrays."
        )
    u = np.asarray(point.controller)
    if np.any(np.abs(np.asarray(aqm.controller(state)) - u) > _APART * (1e-3 + np.abs(u))):
        raise UnsupportedError(
            f"{type(aqm).__name__} rests on a jump of its signal at {float(np.max(u)):.3g}, between"
            " two values, where there is no linear loop: change the load, or make it gentle."
        )


def _ticking(F: FloatArray, g: FloatArray, h: FloatArray, interval: FloatArray) -> LinearController:
    numerator, denominator = _transfer(F, g, h)
    return LinearController(_trim(numerator), _trim(denominator), interval)


def _flowing(
    F: FloatArray, g: FloatArray, h: FloatArray, also: FloatArray | None = None
) -> LinearController:
    """h (sI - F)^-1 g, without the states that nothing moves, nor `also`: they are parameters."""
    others = tuple(range(g.ndim - 1))
    driven = g if also is None else (g != 0.0) | (also != 0.0)
    moving = np.any(driven, axis=others) | np.any(F, axis=(*others, F.ndim - 1))
    F, g, h = F[..., moving, :][..., moving], g[..., moving], h[..., moving]
    numerator, denominator = _transfer(F, g, h)
    # With y = 1/s both sides are multiplied by s^n: the order of the coefficients turns round.
    return LinearController(tuple(numerator[::-1]), tuple(denominator[::-1]), None)


def _transfer(
    F: FloatArray, g: FloatArray, h: FloatArray
) -> tuple[list[FloatArray], list[FloatArray]]:
    """h (I - F y)^-1 g as polynomials in y."""
    denominator, adjugate = resolvent(_told_once(F))
    return [np.einsum("...i,...ij,...j->...", h, M, g) for M in adjugate], denominator


def _told_once(F: FloatArray) -> FloatArray:
    """The matrices of an array of loops, one alone where they are all the same."""
    first = F.reshape(-1, *F.shape[-2:])[:1]
    same = F.ndim > 2 and F.size > 0 and bool(np.all(first == F))
    return first.reshape((1,) * (F.ndim - 2) + F.shape[-2:]) if same else F


def _trim(coefficients: list[FloatArray]) -> tuple[FloatArray, ...]:
    while len(coefficients) > 1 and not np.any(coefficients[-1]):
        coefficients.pop()
    return tuple(coefficients)
