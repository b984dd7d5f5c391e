"""The safe path: every crossover of any loop, found on its followed curve, not on a fixed grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from pi2_fluid.errors import SolverError
from pi2_fluid.loop.minima import smallest_between
from pi2_fluid.loop.response import controller_polynomials, held_polynomials, integrators
from pi2_fluid.loop.state_space import AnyLoop, LinearLoop
from pi2_fluid.loop.tracking import base_grid, track
from pi2_fluid.loop.updates import NEARLY_ALL, highest_frequency, longest_delay, respond
from pi2_fluid.loop.zeros import zeros_between

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, ComplexArray, Curve, FloatArray

__all__ = [
    "Crossings",
    "GainCrossing",
    "PhaseCrossing",
    "crossings_on",
    "fading_end",
    "find_crossings",
    "gain_bound",
    "plant_bound",
    "smallest_distance",
    "smallest_on_curve",
]

_LOWEST: Final = 1e-25  # rad/s per rad/s of the loop's slowest scale: where the search gives up
_TURN: Final = 2 * np.pi
_SMALL_GRID: Final = 1000
_NEAR: Final = 0.4  # as close as neighbours on the followed curve
#: Of ln w, and of the level that is crossed there.
_Level: TypeAlias = "Callable[[FloatArray, FloatArray], FloatArray]"
_TOLERANCE: Final = 1e-15  # of ln w


class GainCrossing(NamedTuple):
    """A frequency at which |L| = 1."""

    w: float
    phase_margin_deg: float


class PhaseCrossing(NamedTuple):
    """A frequency at which L is real and negative."""

    w: float
    gain: float


@dataclass(frozen=True)
class Crossings:
    """All crossovers in rising frequency, and the followed curve they were found on.

    Of a matrix those of all its eigenvalues, and these as columns.
    """

    gain: tuple[GainCrossing, ...]
    phase: tuple[PhaseCrossing, ...]
    w: FloatArray
    values: ComplexArray


def find_crossings(loop: AnyLoop, update: str) -> Crossings:
    """Find every crossover of a scalar loop that matters for its margins.

    Parameters
    ----------
    loop : AnyLoop
        Of shape ().
    update : {"continuous", "delayed", "sampled"}

    Notes
    -----
    The curve is followed from where its phase has reached its low-frequency asymptote up to where a
    bound of |L| proves that no gain crossover, and no phase crossover with a smaller gain margin,
    can follow, or to where the loop ends.

    Raises
    ------
    SolverError
        If the curve has no low-frequency asymptote or turns too often to be followed.
    """

    def response(w: FloatArray) -> ComplexArray:
        return respond(loop, 1j * w, update)

    end, turning = highest_frequency(loop, update), 1.0 / longest_delay(loop, update)
    symmetric = NEARLY_ALL * end  # as far as a sampled loop goes
    top = min(symmetric, loop.reach)
    asymptote = -np.pi / 2 * float(integrators(loop))
    low = _low_end(response, min(turning, top / 8), asymptote)
    spacing = min(0.4 * turning, top / 8)
    high = top
    if (
        top == symmetric and top / spacing > _SMALL_GRID
    ):  # else the whole range costs less than finding a shorter one
        high = min(top, max(fading_end(loop, update, 1.0), 8 * low))
    while True:
        grid = np.union1d(base_grid(low, high, spacing), loop.landmarks(high))
        w, values = track(response, grid)
        reached = high == symmetric
        crossings = crossings_on(response, w, values, asymptote, end, reached=reached)
        best = max((crossing.gain for crossing in crossings.phase), default=0.0)
        if high == top or best > gain_bound(loop, update, high):
            return crossings
        high = min(top, 2 * high + _TURN * turning)


def crossings_on(
    response: Curve,
    w: FloatArray,
    values: ComplexArray,
    asymptote: float,
    end: float,
    *,
    reached: bool,
) -> Crossings:
    """Return all crossovers on a followed curve.

    Parameters
    ----------
    response : callable
        The curve.
    w, values : numpy.ndarray
        Where it was followed, and what it is there.
    asymptote : float
        Its phase as w -> 0 (rad).
    end : float
        Where the frequencies of a sampled loop end, pi/T, where L is real; else inf.
    reached : bool
        Whether the curve was followed to there. About pi/T |L| is even and the phase odd, up to
        full turns.
    """
    phase: FloatArray = np.unwrap(np.angle(values))
    phase += _TURN * np.round((asymptote - phase[0]) / _TURN)
    log_gain = np.log(np.abs(values))
    gains = [
        GainCrossing(root, 180.0 + float(np.degrees(_phase_at(response, root, w, phase))))
        for root in _gain_roots(response, w, log_gain, mirrored=reached)
    ]
    phases = [
        PhaseCrossing(root, float(abs(response(np.array([root]))[0])))
        for root in _phase_roots(response, w, phase, end, mirrored=reached)
    ]
    if reached and values[-1].real < 0.0:
        phases.append(PhaseCrossing(end, float(abs(values[-1].real))))
    return Crossings(tuple(gains), tuple(phases), w, values)


def smallest_distance(loop: AnyLoop, update: str, crossings: Crossings) -> float:
    """Return the modulus margin, min over w of |1 + L|: the inverse of the peak sensitivity."""

    def response(w: FloatArray) -> ComplexArray:
        return respond(loop, 1j * w, update)

    found, _ = smallest_on_curve(response, crossings, lambda value: np.abs(1.0 + value))
    return min(found, 1.0)


def smallest_on_curve(
    response: Curve, crossings: Crossings, function: Callable[[ComplexArray], FloatArray]
) -> tuple[float, float]:
    """Return the smallest of a positive function of L on the followed curve, and its frequency.

    The function is to move by less than 0.5 where L moves by less than 0.4 of itself.
    """
    sizes = function(crossings.values)
    x = np.log(crossings.w)
    padded = np.concatenate([[np.inf], sizes, [np.inf]])
    lowest = (sizes <= padded[:-2]) & (sizes <= padded[2:])
    # As neighbours do, a minimum hides no deeper than this.
    lowest &= sizes < np.min(sizes) + 0.5

    def at(log_w: float) -> float:
        return float(function(response(np.exp([log_w])))[0])

    first = int(np.argmin(sizes))
    best, where = float(sizes[first]), float(crossings.w[first])
    for index in np.flatnonzero(lowest):
        ends = float(x[max(int(index) - 1, 0)]), float(x[min(int(index) + 1, x.size - 1)])
        lowest_at, found = smallest_between(at, *ends, tolerance=1e-12)
        if found < best:
            best, where = found, float(np.exp(lowest_at))
    return best, where


def _low_end(response: Curve, start: float, asymptote: float) -> float:
    """A frequency below which L has its asymptotic phase and, with an integrator, a gain > 1."""
    w = start / 100
    while w > start * _LOWEST:
        value = response(np.array([w]))[0]
        settled = abs(np.angle(value * np.exp(-1j * asymptote))) < 0.02
        if settled and (abs(value) > 2.0 or asymptote == 0.0):
            return w
        w /= 4.0
    raise SolverError(
        "the loop has no low-frequency asymptote that could be reached: its slowest time constant"
        " is too long compared with its round-trip time."
    )


def fading_end(loop: AnyLoop, update: str, level: float) -> float:
    """Return a frequency above which |L| < level for certain; pi/T if there is none below."""
    top = highest_frequency(loop, update)
    w = 1.0 / min(float(cls.rtt) for cls in loop.classes)
    for _ in range(200):
        if w >= top:
            return top
        if gain_bound(loop, update, w) < level:
            return w
        w *= 1.5
    raise SolverError("the loop's gain does not fall with frequency: check the laws.")


def gain_bound(loop: AnyLoop, update: str, w: float) -> float:
    """Return an upper bound of |L(jv)| over all v >= w (infinite while w is too low for it).

    For a sampled loop, over w <= v <= pi/T: a bound of |G(jx)| that falls at least like x^-2 makes
    the aliases add at most 2 (1 + 3^-3 + 5^-3 + ...) < 2.11 times the direct term. If it falls
    like x^-1, as with a lead, they add at most 2 (1 + 3^-2 + 5^-2 + ...) = pi^2/4 times.
    """
    plant, falls = plant_bound(loop, w)
    if not np.isfinite(plant):
        return np.inf
    if update != "sampled":
        numerator, denominator = controller_polynomials(
            loop.controller, 1j * np.geomspace(w, 1e6 * w, 200)
        )
        return 1.05 * float(np.max(np.abs(numerator / denominator))) * plant
    s = 1j * np.linspace(w, highest_frequency(loop, update), 200)
    T = float(loop.controller.interval)
    numerator, denominator = held_polynomials(loop.controller, s)
    held = 1.05 * float(np.max(np.abs(numerator / denominator * np.expm1(-s * T)))) / T
    aliases = 2.11 if falls == 2 else np.pi**2 / 4
    return held * (1.0 + aliases) * plant / w


@singledispatch
def plant_bound(loop: AnyLoop, w: float) -> tuple[float, int]:
    """Return an upper bound of |G(jv)| over v >= w, and the power of 1/v with which it falls."""
    raise NotImplementedError(type(loop).__name__)


@plant_bound.register(LinearLoop)
def _of_rates(loop: LinearLoop, w: float) -> tuple[float, int]:
    falls = 2 if all(cls.lead is None for cls in loop.classes) else 1
    drive, feedback = 0.0, 0.0
    for cls in loop.classes:
        rest = w - float(np.linalg.norm(np.atleast_2d(cls.a0), 2))
        rest -= float(np.linalg.norm(np.atleast_2d(cls.a1), 2))
        if rest <= 0.0:
            return np.inf, falls
        gain = abs(float(cls.weight)) * float(np.linalg.norm(np.atleast_1d(cls.c))) / rest
        ahead = 0.0 if cls.lead is None else abs(float(cls.lead)) * w
        drive += gain * (1.0 + ahead) * float(np.linalg.norm(np.atleast_1d(cls.b)))
        coupling = np.linalg.norm(np.atleast_1d(cls.e0)) + np.linalg.norm(np.atleast_1d(cls.e1))
        feedback += abs(float(cls.weight * cls.r)) + gain * float(coupling)
    return (drive / (w - feedback) if w > feedback else np.inf), falls


def _gain_roots(
    response: Curve, w: FloatArray, log_gain: FloatArray, *, mirrored: bool
) -> list[float]:
    def at(x: FloatArray, _level: FloatArray) -> FloatArray:
        return np.log(np.abs(response(np.exp(x))))

    near = np.abs(log_gain) < _NEAR
    return _roots(at, np.log(w), log_gain, np.zeros(w.shape), near, mirrored=mirrored)


def _phase_roots(
    response: Curve, w: FloatArray, phase: FloatArray, end: float, *, mirrored: bool
) -> list[float]:
    """Where the phase is an odd multiple of 180 degrees, pi/T apart.

    There it is one by symmetry: the distance from it is divided by cos(wT/2), which vanishes there
    with it, and what is left is smooth, and passes through zero at every other crossing.
    """

    def odd(w: FloatArray) -> FloatArray:
        return np.cos(np.pi / 2 * w / end)

    def at(x: FloatArray, level: FloatArray) -> FloatArray:
        w = np.exp(x)
        result: FloatArray = np.angle(response(w) * np.exp(-1j * level)) / odd(w)
        return result

    # The odd multiple of 180 degrees nearest to each point, and the distance from it.
    level = np.pi + _TURN * np.round((phase - np.pi) / _TURN)
    near = np.abs(phase - level) < _NEAR
    return _roots(at, np.log(w), (phase - level) / odd(w), level, near, mirrored=mirrored)


def _roots(
    at: _Level, x: FloatArray, f: FloatArray, level: FloatArray, near: BoolArray, *, mirrored: bool
) -> list[float]:
    """Roots of f on its followed grid: sign changes, and pairs hidden between two grid points.

    Neighbours differ by less than 0.4, so a sign change between points whose nearest levels differ
    is the middle between two levels, not a root, and a pair hides where f is `near` zero only.
    """
    hidden_x, hidden_f, hidden_level = _touching(at, x, f, level, near, mirrored=mirrored)
    order = np.argsort(np.concatenate([x, hidden_x]), kind="stable")
    x = np.concatenate([x, hidden_x])[order]
    f = np.concatenate([f, hidden_f])[order]
    level = np.concatenate([level, hidden_level])[order]
    cell = np.flatnonzero((f[:-1] * f[1:] < 0.0) & (level[:-1] == level[1:]))
    roots = list(x[f == 0.0])
    if cell.size:
        # The ends are evaluated anew: a crossing within rounding of a grid point may vanish.
        low, high, where = x[cell], x[cell + 1], level[cell]
        f_low, f_high = at(low, where), at(high, where)
        real = f_low * f_high < 0.0
        where = where[real]
        roots += zeros_between(
            lambda x, number: at(x, where[number]),
            *(end[real] for end in (low, high, f_low, f_high)),
            tolerance=_TOLERANCE,
        )
    return sorted(float(np.exp(root)) for root in roots)


def _touching(
    at: _Level, x: FloatArray, f: FloatArray, level: FloatArray, near: BoolArray, *, mirrored: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Extrema of f beyond zero between grid points that are all on the same side of it.

    Of a curve that is `mirrored` at its end the last point has a neighbour on its right, too.
    """
    if mirrored:
        x, f = np.append(x, x[-1]), np.append(f, f[-2])
    inner, same = np.abs(f[1:-1]), (f[1:-1] * f[:-2] > 0) & (f[1:-1] * f[2:] > 0)
    turning = same & (inner < np.abs(f[:-2])) & (inner <= np.abs(f[2:]))
    turning &= near[1 : f.size - 1]
    found_x, found_f, found_level = [], [], []
    for index in np.flatnonzero(turning) + 1:
        sign, here = np.sign(f[index]), level[index]

        def above(v: float, sign: FloatArray = sign, here: FloatArray = here) -> float:
            return float(sign * at(np.array([v]), here)[0])

        ends = float(x[index - 1]), float(x[index + 1])
        where, least = smallest_between(above, *ends, tolerance=1e-12)
        if least <= 0.0:
            found_x.append(where)
            found_f.append(float(sign * least))
            found_level.append(float(here))
    return np.array(found_x), np.array(found_f), np.array(found_level)


def _phase_at(response: Curve, root: float, w: FloatArray, phase: FloatArray) -> float:
    near = phase[min(int(np.searchsorted(w, root)), w.size - 1)]
    angle = float(np.angle(response(np.array([root]))[0]))
    return angle + _TURN * round((float(near) - angle) / _TURN)
