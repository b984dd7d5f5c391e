"""Any Aqm -> a ratio of polynomials: from the queue delay to the controller's variable.

Of a link without a queue, whose controller acts on what arrives, from that instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

import numpy as np

from pi2_fluid.errors import UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.derivatives import as_arrays, differentiate, numeric
from pi2_fluid.laws.seen import Seen
from pi2_fluid.laws.tapes import evaluate
from pi2_fluid.loop.polynomials import resolvent
from pi2_fluid.loop.state_space import LinearController
from pi2_fluid.network.rest import has_ticks
from pi2_fluid.ops import Number

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, FloatArray, Real

#: The slopes of each number that moves over what it depends on, and of the controller's variable.
StateSlopes: TypeAlias = tuple[tuple[tuple[Number, ...], ...], tuple[Number, ...]]

#: Coefficients of two polynomials, each in rising powers.
_Ratio: TypeAlias = "tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]"

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


class _Rest(NamedTuple):
    """Where a law is differentiated, as arrays."""

    state: tuple[FloatArray, ...]
    queue_delay: FloatArray
    packets: FloatArray
    arriving: FloatArray


def linearize_aqm(
    aqm: Aqm, point: QueueAtRest, shape: tuple[int, ...]
) -> tuple[dict[str, FloatArray], LinearController]:
    """Linearise a queue's controller and encoder where it rests.

    Parameters
    ----------
    aqm : Aqm
        The law.
    point : QueueAtRest
        Where it rests.
    shape : tuple of int
        Of the array of loops.

    Returns
    -------
    slopes : dict
        d(probability)/d(variable) of "classic" and "scalable" packets.
    controller : LinearController
        From the delay of the queue that drives it to its variable; of a law that acts on arrivals
        alone from what arrives, in packets per second, or in packets since the last update. Of a
        law that signals by itself, without its controller, the variable is what Scalable packets
        see.

    Raises
    ------
    UnsupportedError
        If it does not react, or to the arrival rate at an update, or rests on a jump.
    """
    if aqm.acts_on != "queue":
        return _linearize_arrivals(aqm, point, shape)
    if aqm.rests_apart and not has_ticks(aqm, point.controller):
        return _linearize_native(aqm, point, shape)
    slopes = _encoder(aqm, as_arrays([point.controller], shape)[0], shape)
    state, delays = aqm.at_rest(point.controller, point.capacity)[0], point.queue_delay
    pair = delays if isinstance(delays, tuple) else (delays,)
    _check_rest(aqm, state, point)
    values = as_arrays([*state, *pair, point.capacity], shape)
    size, ticks = len(state), has_ticks(aqm, point.controller)
    function, name = (update_slopes, "update") if ticks else (drift_slopes, "drift")
    delay = tuple(values[size:-1]) if aqm.bands == 2 else values[size]
    moved, picked = function(aqm, tuple(values[:size]), delay, values[-1])
    F, driven, arriving = _moves(moved, size, f"{type(aqm).__name__}.{name}", shape)
    # Of a dual queue's two delays one drives the controller.
    at_once, waiting = arriving * values[-1][..., None], np.sum(values[size:-1], axis=0)
    if np.any(np.abs(at_once) > _ROUNDING * np.abs(driven) * waiting[..., None]):
        raise UnsupportedError(
            f"{type(aqm).__name__} reacts to the arrival rate, for which no loop is built here:"
            " simulate it instead."
        )
    h = _row(picked, f"{type(aqm).__name__}.{name}", shape)
    _require_reaction(aqm, driven)
    if ticks:
        assert aqm.update_interval is not None
        numerator, denominator = _transfer(F, driven, h)
        interval = as_arrays([aqm.update_interval], shape)[0]
        return slopes, LinearController(_trim(numerator), _trim(denominator), interval)
    return slopes, LinearController(*_in_time(F, driven, h), None)


def encode_slopes(aqm: Aqm, u: Number) -> tuple[Number, Number]:
    """Differentiate what Classic and Scalable packets see over the controller's variable."""
    ((classic, scalable),) = differentiate(aqm, "encode", (u,))
    return classic, scalable


def update_slopes(
    aqm: Aqm,
    state: tuple[Number, ...],
    queue_delay: Number | tuple[Number, ...],
    packets: Number,
    arriving: Number | None = None,
) -> StateSlopes:
    """Differentiate a queue's update at rest: a pure function, as `rate_slopes`.

    Parameters
    ----------
    aqm : Aqm
        The law.
    state : tuple
        Its state.
    queue_delay : float, or pair of float
        Seconds; a dual queue has two.
    packets, arriving : float
        Packets per second that the link serves, and that arrive: as many if not given.

    Returns
    -------
    update : tuple of tuple
        [j][i] is d(new state_i) over the j-th of (state, queue delay, arrival rate); a dual queue
        has two delays.
    controller : tuple
        d(controller's variable) over the states.
    """
    return _state_slopes(aqm, "update", move_by_update, state, queue_delay, packets, arriving)


def drift_slopes(
    aqm: Aqm,
    state: tuple[Number, ...],
    queue_delay: Number | tuple[Number, ...],
    packets: Number,
    arriving: Number | None = None,
) -> StateSlopes:
    """Differentiate a queue's motion between updates at rest, as `update_slopes`."""
    return _state_slopes(aqm, "drift", move_by_drift, state, queue_delay, packets, arriving)


def flow_slopes(
    aqm: Aqm,
    state: tuple[Number, ...],
    queue_delay: Number | tuple[Number, ...],
    packets: Number,
    arriving: Number | None = None,
) -> StateSlopes:
    """Differentiate a queue's motion in continuous time at rest, as `update_slopes`."""
    return _state_slopes(aqm, "flow", _flow, state, queue_delay, packets, arriving)


def signal_slopes(
    aqm: Aqm, state: tuple[Number, ...], queue_delay: Number, packets: Number, arriving: Number
) -> tuple[tuple[Number, ...], ...]:
    """Differentiate what packets hear: [j] is (classic, scalable) over the j-th state, or arrivals.

    The last is what they hear at once of the arrival rate.
    """
    given, over = (*state, arriving, packets, queue_delay), range(len(state) + 1)
    return differentiate(aqm, "signals", given, over, _signals)


def _state_slopes(
    aqm: Aqm,
    name: str,
    function: Callable[..., tuple[Number, ...]],
    state: tuple[Number, ...],
    queue_delay: Number | tuple[Number, ...],
    packets: Number,
    arriving: Number | None = None,
) -> StateSlopes:
    pair = queue_delay if isinstance(queue_delay, tuple) else (queue_delay,)
    arrivals = packets if arriving is None else arriving
    rest = (*state, *pair, arrivals)
    slopes = differentiate(aqm, name, (*rest, packets), range(len(rest)), function)
    return slopes, picked_slopes(aqm, state)


def picked_slopes(aqm: Aqm, state: tuple[Number, ...]) -> tuple[Number, ...]:
    """Differentiate the controller's variable over the states."""
    return tuple(slope for (slope,) in differentiate(aqm, "controller", state))


def _watched(aqm: Aqm, args: tuple[Number, ...]) -> tuple[tuple[Number, ...], Seen]:
    """Return a state, and what is seen, from the state, the delays, what arrives, what leaves."""
    *rest, arriving, packets = args
    state, delays = tuple(rest[: -aqm.bands]), tuple(rest[-aqm.bands :])
    delay = delays if len(delays) > 1 else delays[0]
    return state, Seen(delay, sum(delays) * packets, arriving, packets)


def move_by_update(aqm: Aqm, *args: Number) -> tuple[Number, ...]:
    """Return the state after an update, from the state, the delays, what arrives, what leaves."""
    assert aqm.update_interval is not None, "what has no ticks has a drift alone"
    return tuple(aqm.update(*_watched(aqm, args), aqm.update_interval))


def move_by_drift(aqm: Aqm, *args: Number) -> tuple[Number, ...]:
    """Return how the state moves between updates, from the same."""
    return tuple(aqm.drift(*_watched(aqm, args)))


def _flow(aqm: Aqm, *args: Number) -> tuple[Number, ...]:
    state, seen = _watched(aqm, args)
    waits = aqm.acts_on == "both"
    return tuple(aqm.flow(state, seen, seen.arrival_rate / seen.capacity - 1.0 if waits else 0.0))


def _signals(aqm: Aqm, *args: Number) -> tuple[Number, ...]:
    """Return what packets hear, from the state, what arrives, what leaves, and the delay."""
    *rest, packets, delay = args
    state, seen = _watched(aqm, (*rest[:-1], delay, rest[-1], packets))
    return tuple(aqm.signals(state, seen))


def _linearize_native(
    aqm: Aqm, point: QueueAtRest, shape: tuple[int, ...]
) -> tuple[dict[str, FloatArray], LinearController]:
    """L4S traffic alone, marked by the L queue itself: a gain, without state."""
    what = f"{type(aqm).__name__}.signals"
    assert isinstance(point.queue_delay, tuple), "of two queues"
    classic, l4s = as_arrays(point.queue_delay, shape)
    zero = np.zeros(shape)
    slope = numeric(native_slope(aqm, zero, classic, l4s), shape, what)
    slopes = {"classic": zero, "scalable": np.ones(shape)}
    return slopes, LinearController((slope,), (np.ones(shape),), None)


def native_slope(aqm: Aqm, u: Number, classic: Number, l4s: Number) -> Number:
    """Differentiate what L4S packets see over the delay of their own queue."""
    ((slope,),) = differentiate(aqm, "signals", (l4s, u, classic), [0], _by_l4s_delay)
    return slope


def _by_l4s_delay(aqm: Aqm, l4s: Number, u: Number, classic: Number) -> Number:
    return aqm.signals((u, classic), Seen((classic, l4s), 0.0, 0.0, 0.0)).scalable


def _linearize_arrivals(
    aqm: Aqm, point: QueueAtRest, shape: tuple[int, ...]
) -> tuple[dict[str, FloatArray], LinearController]:
    """The same of a law that acts on what arrives, alone or beside its queue.

    While a queue waits, what arrives is C (1 + d') with d its delay, and in T seconds C T packets
    and as many as it grew by. So such a controller is from that delay, too.
    """
    name, waits = type(aqm).__name__, aqm.acts_on == "both"
    state, delay = aqm.at_rest(point.controller, point.capacity)[0], point.queue_delay
    assert not isinstance(delay, tuple), "of one queue"
    _check_rest(aqm, state, point)
    if waits and not np.all(np.asarray(delay) > 0.0):
        raise UnsupportedError(
            f"{name} rests at a queue delay of {show_value(delay)} s, and with an empty queue"
            " there is no linear loop: give it a target above 0."
        )
    arriving = aqm.load_at(point.controller) * point.capacity
    values = as_arrays([*state, delay, point.capacity, arriving], shape)
    rest = _Rest(tuple(values[: len(state)]), *values[len(state) :])
    slopes, h, at_once = _heard(aqm, rest, shape)
    if waits and np.any(at_once):
        raise UnsupportedError(
            f"{name} signals by its arrival rate at once while a queue waits, for which no loop is"
            " built here: simulate it instead."
        )
    if aqm.update_interval is None:
        return slopes, LinearController(*_flowing(aqm, rest, h, at_once, shape), None)
    counted, interval = _counted(aqm, rest, h, shape), as_arrays([aqm.update_interval], shape)[0]
    flowing = _flowing(aqm, rest, h, at_once, shape)
    return slopes, LinearController(*counted, interval, flowing)


def _flowing(
    aqm: Aqm, rest: _Rest, h: FloatArray, at_once: FloatArray, shape: tuple[int, ...]
) -> _Ratio:
    """Numerator and denominator in powers of s, in continuous time."""
    waits = aqm.acts_on == "both"
    slopes, _ = flow_slopes(aqm, *rest)
    F, by_delay, by_rate = _moves(slopes, len(rest.state), f"{type(aqm).__name__}.flow", shape)
    _require_one_kind(np.any(F, axis=-1) | (by_delay != 0.0) | (by_rate != 0.0))
    if not waits:
        _require_reaction(aqm, by_rate, at_once)
        return _in_time(F, by_rate, h, at_once)
    # Of C d' the state jumps with d, and what it has jumped by moves on.
    jump = rest.packets[..., None] * by_rate
    _require_reaction(aqm, by_delay, jump)
    return _in_time(F, by_delay + _times(F, jump), h, np.sum(h * jump, axis=-1))


def _counted(aqm: Aqm, rest: _Rest, h: FloatArray, shape: tuple[int, ...]) -> _Ratio:
    """Numerator and denominator in powers of z^-1, from update to update."""
    name, size = type(aqm).__name__, len(rest.state)
    still, waiting, counted = _moves(drift_slopes(aqm, *rest)[0], size, f"{name}.drift", shape)
    F, by_delay, by_rate = _moves(update_slopes(aqm, *rest)[0], size, f"{name}.update", shape)
    for what, more in (("drift", np.any(still) or np.any(waiting)), ("update", np.any(by_rate))):
        if more:
            raise UnsupportedError(
                f"{name} is taken for a law that counts what arrives between updates, and"
                f" {name}.{what} does more, for which no loop is built here: simulate it instead."
            )
    by_count = _times(F, counted)
    if aqm.acts_on == "arrivals":
        numerator, denominator = _transfer(F, by_count, h)
        return _trim(numerator), _trim(denominator)
    # Counted is what the queue grew by: C d now, less C d at the update before.
    grown = rest.packets[..., None] * by_count
    numerator, denominator = _transfer(F, by_delay + grown, h)
    before, _ = _transfer(F, grown, h)
    none = np.zeros(shape)
    pairs = zip([*numerator, none], [none, *before], strict=True)
    return _trim([now - then for now, then in pairs]), _trim(denominator)


def _times(F: FloatArray, g: FloatArray) -> FloatArray:
    result: FloatArray = np.einsum("...ij,...j->...i", F, g)
    return result


def _heard(
    aqm: Aqm, rest: _Rest, shape: tuple[int, ...]
) -> tuple[dict[str, FloatArray], FloatArray, FloatArray]:
    """Slopes of what packets hear over a variable, and of that over the states and the arrivals.

    The variable is the controller's, or of a law that signals by its arrival rate at once what
    Scalable packets see.
    """
    state, delay, packets, arriving = rest
    name = type(aqm).__name__
    if type(aqm).signals is Aqm.signals:
        picked = picked_slopes(aqm, state)
        slopes = _encoder(aqm, evaluate(aqm, "controller", *state)[0], shape)
        return slopes, _row(picked, f"{name}.controller", shape), np.zeros(shape)
    found = signal_slopes(aqm, state, delay, packets, arriving)
    classic, scalable = (_row(kind, f"{name}.signals", shape) for kind in zip(*found, strict=True))
    largest = np.argmax(np.abs(scalable), axis=-1)[..., None]
    top, bottom = (np.take_along_axis(x, largest, -1)[..., 0] for x in (classic, scalable))
    ratio = np.divide(top, bottom, out=np.zeros(shape), where=bottom != 0.0)
    apart = np.abs(classic - ratio[..., None] * scalable)
    if np.any(apart > _ROUNDING * np.max(np.abs(classic), axis=-1, keepdims=True)):
        raise UnsupportedError(
            f"{name} signals Classic and Scalable packets by its arrival rate each in a way of its"
            " own, for which no loop is built here: simulate it instead."
        )
    slopes = {"classic": ratio, "scalable": np.ones(shape)}
    return slopes, scalable[..., :-1], scalable[..., -1]


def _check_rest(aqm: Aqm, state: tuple[Number, ...], point: QueueAtRest) -> None:
    load, wanted = np.asarray(aqm.load_at(point.controller)), np.asarray(aqm.full_load)
    if np.any(load < wanted * (1.0 - _ROUNDING)):
        raise UnsupportedError(
            f"{type(aqm).__name__} rests at a bound of its own, at a load of"
            f" {float(np.min(load)):.3g} where it aims at {float(np.max(wanted)):.3g}, so that"
            " its controller does not act there, and no loop is built here: raise the load."
        )
    if aqm.rests_apart and np.any(np.asarray(point.controller) <= 0.0):
        raise UnsupportedError(
            f"in some elements of the arrays the controller of {type(aqm).__name__} rules, in"
            " others its L4S queue marks by itself, which are loops of two kinds: split the arrays."
        )
    u = np.asarray(point.controller)
    (shown,) = evaluate(aqm, "controller", *state)
    if np.any(np.abs(np.asarray(shown) - u) > _APART * (1e-3 + np.abs(u))):
        raise UnsupportedError(
            f"{type(aqm).__name__} rests on a jump of its signal at {float(np.max(u)):.3g}, between"
            " two values, and a step has no slope and no linear loop: change the load, or give its"
            " profile a slope there."
        )


def _require_reaction(aqm: Aqm, *responses: FloatArray) -> None:
    if not any(np.any(response) for response in responses):
        raise UnsupportedError(
            f"{type(aqm).__name__} does not react to the queue, so there is no loop: simulate it."
        )


def _require_one_kind(moves: BoolArray) -> None:
    if np.any(moves != moves.reshape(-1, moves.shape[-1])[0]):
        raise UnsupportedError(
            "in some elements of the arrays the controller averages what arrives, in others not,"
            " which are loops of two kinds: split the arrays."
        )


def _encoder(aqm: Aqm, u: Number, shape: tuple[int, ...]) -> dict[str, FloatArray]:
    what, slopes = f"{type(aqm).__name__}.encode", encode_slopes(aqm, u)
    classic, scalable = (numeric(slope, shape, what) for slope in slopes)
    return {"classic": classic, "scalable": scalable}


def _moves(
    moved: tuple[tuple[Number, ...], ...], size: int, what: str, shape: tuple[int, ...]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The states over themselves, a matrix, over the queue delays together, and what arrives."""
    columns = np.array([[numeric(entry, shape, what) for entry in column] for column in moved])
    # columns[j, i] is d(new state_i)/d(state_j): move both to the end as [i, j]
    F = np.moveaxis(columns[:size], (0, 1), (-1, -2))
    driven, arriving = columns[size:-1].sum(axis=0), columns[-1]
    return F, np.moveaxis(driven, 0, -1), np.moveaxis(arriving, 0, -1)


def _row(entries: Iterable[Number], what: str, shape: tuple[int, ...]) -> FloatArray:
    return np.stack([numeric(entry, shape, what) for entry in entries], axis=-1)


def _in_time(
    F: FloatArray, g: FloatArray, h: FloatArray, through: Real = 0.0
) -> tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]:
    """h (sI - F)^-1 g + through in powers of s, without what nothing moves: a parameter."""
    others = tuple(range(g.ndim - 1))
    moving = np.any(g, axis=others) | np.any(F, axis=(*others, F.ndim - 1))
    F, g, h = F[..., moving, :][..., moving], g[..., moving], h[..., moving]
    numerator, denominator = _transfer(F, g, h)
    if np.any(through):
        pairs = zip([np.zeros(()), *numerator], denominator, strict=True)
        numerator = [through * own + moved for moved, own in pairs]
    # With y = 1/s both sides are multiplied by s^n: the order of the coefficients turns round.
    return tuple(numerator[::-1]), tuple(denominator[::-1])


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
