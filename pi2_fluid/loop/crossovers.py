"""The safe path: every crossover of any loop, found on its followed curve, not on a fixed grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from pi2_fluid.ascending import ascending
from pi2_fluid.loop.corners import landmarks_of, slowest_corner
from pi2_fluid.loop.ends import fading_end, far_end, gain_bound, high_limit, low_end
from pi2_fluid.loop.minima import smallest_between
from pi2_fluid.loop.response import Asymptote, asymptote_of
from pi2_fluid.loop.state_space import AnyLoop
from pi2_fluid.loop.tracking import base_grid, track
from pi2_fluid.loop.updates import NEARLY_ALL, highest_frequency, longest_delay, respond
from pi2_fluid.loop.zeros import zeros_between

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, ComplexArray, Curve, FloatArray

_TURN: Final = 2 * np.pi
_SMALL_GRID: Final = 1000
_NEAR: Final = 0.4  # as close as neighbours on the followed curve
#: Of ln w, and of the level that is crossed there.
_Level: TypeAlias = "Callable[[FloatArray, FloatArray], FloatArray]"
_TOLERANCE: Final = 1e-15  # of ln w
_NEARLY_1: Final = 1e-6  # so near to 1 no smaller |1 + L| is looked for


class GainCrossing(NamedTuple):
    """A frequency at which |L| = 1."""

    w: float
    phase_margin_deg: float


class PhaseCrossing(NamedTuple):
    """A frequency at which L is real and negative."""

    w: float
    gain: float
    enters: int
    """How many closed-loop modes begin to grow as the gain rises beyond 1/gain, or, if negative,
    cease to: a pair where the phase falls, one alone at either end of the frequencies."""


@dataclass(frozen=True)
class Crossings:
    """All crossovers in rising frequency, and the followed curve they were found on.

    Of a matrix those of all its eigenvalues, and these as columns.
    """

    gain: tuple[GainCrossing, ...]
    phase: tuple[PhaseCrossing, ...]
    w: FloatArray
    values: ComplexArray


def find_crossings(loop: AnyLoop, update: str, *, quiet: bool = False) -> Crossings:
    """Find every crossover of a scalar loop that matters for its margins.

    Parameters
    ----------
    loop : AnyLoop
        Of shape ().
    update : {"continuous", "delayed", "sampled"}
    quiet : bool
        Also those phase crossovers that matter where |L| > 1 at others, but the gain is raised.

    Notes
    -----
    The curve is followed from where its phase has reached its low-frequency asymptote up to where a
    bound of |L| proves that no gain crossover, and no phase crossover with a larger gain (below
    1, if `quiet`) can follow, or to where the loop ends.

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
    asymptote = asymptote_of(loop)
    low = low_end(response, min(turning, top / 8), asymptote, float(slowest_corner(loop)))
    spacing = min(0.4 * turning, top / 8)
    high = top
    if (
        top == symmetric and top / spacing > _SMALL_GRID
    ):  # else the whole range costs less than finding a shorter one
        high = min(top, max(fading_end(loop, update, 1.0), 8 * low))
    while True:
        grid = ascending(base_grid(low, high, spacing), landmarks_of(loop, high))
        w, values = track(response, grid)
        reached = high == symmetric
        angle = float(asymptote.angle)
        crossings = crossings_on(response, w, values, angle, end, reached=reached)
        gains = [each.gain for each in crossings.phase if not quiet or each.gain < 1.0]
        best = max(gains, default=0.0)
        endless = high_limit(loop, update) > 0.0 and high > far_end(loop, update)
        if high == top or best > gain_bound(loop, update, high) or endless:
            return _with_ends(loop, update, asymptote, crossings)
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
        PhaseCrossing(root, float(abs(response(np.array([root]))[0])), 2 * falls)
        for root, falls in _phase_roots(response, w, phase, end, mirrored=reached)
    ]
    if reached and values[-1].real < 0.0:
        falls = 1 if values[-1].imag < 0.0 else -1
        phases.append(PhaseCrossing(end, float(abs(values[-1].real)), falls))
    return Crossings(tuple(gains), tuple(phases), w, values)


def _with_ends(loop: AnyLoop, update: str, asymptote: Asymptote, crossings: Crossings) -> Crossings:
    """Crossings with those at 0, where no integrator is, and at infinity, where L does not fade."""
    phases = list(crossings.phase)
    if asymptote.order == 0 and asymptote.value < 0.0:
        falls = 1 if crossings.values[0].imag > 0.0 else -1
        phases.insert(0, PhaseCrossing(0.0, -float(asymptote.value), falls))
    limit = high_limit(loop, update)
    if limit > 0.0:  # behind a delay it turns for ever
        phases.append(PhaseCrossing(np.inf, limit, 2))
    return replace(crossings, phase=tuple(phases))


def smallest_distance(loop: AnyLoop, update: str, crossings: Crossings) -> float:
    """Return the modulus margin, min over w of |1 + L|: the inverse of the peak sensitivity.

    Beyond the crossovers of a loop that is not stable its curve may come nearer to -1 than it has:
    it is followed as far as that takes.
    """

    def response(w: FloatArray) -> ComplexArray:
        return respond(loop, 1j * w, update)

    def distance(value: ComplexArray) -> FloatArray:
        away: FloatArray = np.abs(1.0 + value)
        return away

    found, _ = smallest_on_curve(response, crossings, distance)
    asymptote, limit = asymptote_of(loop), high_limit(loop, update)
    found = min(found, 1.0 - limit)
    if asymptote.order == 0:
        found = min(found, abs(1.0 + float(asymptote.value)))
    w, turning = float(crossings.w[-1]), 1.0 / longest_delay(loop, update)
    top = min(NEARLY_ALL * highest_frequency(loop, update), loop.reach)
    while w < top and max(gain_bound(loop, update, w), limit) > max(1.0 - found, _NEARLY_1):
        high = min(top, 2 * w + _TURN * turning)
        more = track(response, base_grid(w, high, 0.4 * turning))
        found = min(found, smallest_on_curve(response, Crossings((), (), *more), distance)[0])
        w = high
        if limit > 0.0 and w > far_end(loop, update):
            break
    return found


def smallest_on_curve(
    response: Curve, crossings: Crossings, function: Callable[[ComplexArray], FloatArray]
) -> tuple[float, float]:
    """Return the smallest of a positive function of L on the followed curve, and its frequency.

    The function is to move by less than half of 1 + itself where L moves by less than 0.4 of L.
    """
    sizes = function(crossings.values)
    x = np.log(crossings.w)
    padded = np.concatenate([[np.inf], sizes, [np.inf]])
    lowest = (sizes <= padded[:-2]) & (sizes <= padded[2:])
    # As neighbours do, a minimum hides no deeper than this.
    lowest &= sizes < np.min(sizes) + 0.5 * (1.0 + np.min(sizes))

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


def _gain_roots(
    response: Curve, w: FloatArray, log_gain: FloatArray, *, mirrored: bool
) -> list[float]:
    def at(x: FloatArray, _level: FloatArray) -> FloatArray:
        return np.log(np.abs(response(np.exp(x))))

    near = np.abs(log_gain) < _NEAR
    found = _roots(at, np.log(w), log_gain, np.zeros(w.shape), near, mirrored=mirrored)
    return [root for root, _ in found]


def _phase_roots(
    response: Curve, w: FloatArray, phase: FloatArray, end: float, *, mirrored: bool
) -> list[tuple[float, int]]:
    """Where the phase is an odd multiple of 180 degrees, pi/T apart, and as what `_roots` says.

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
) -> list[tuple[float, int]]:
    """Roots of f on its followed grid: sign changes, and pairs hidden between two grid points.

    Each with 1 where f falls, -1 where it rises, 0 where it only touches.

    Neighbours differ by less than 0.4, so a sign change between points whose nearest levels differ
    is the middle between two levels, not a root, and a pair hides where f is `near` zero only.
    """
    hidden_x, hidden_f, hidden_level = _touching(at, x, f, level, near, mirrored=mirrored)
    order = np.argsort(np.concatenate([x, hidden_x]), kind="stable")
    x = np.concatenate([x, hidden_x])[order]
    f = np.concatenate([f, hidden_f])[order]
    level = np.concatenate([level, hidden_level])[order]
    cell = np.flatnonzero((f[:-1] * f[1:] < 0.0) & (level[:-1] == level[1:]))
    roots: list[tuple[float, int]] = []
    for place in np.flatnonzero(f == 0.0).tolist():
        before, after = np.sign(f[max(place - 1, 0)]), np.sign(f[min(place + 1, f.size - 1)])
        roots.append((x[place], int(before - after) // 2))
    if cell.size:
        # The ends are evaluated anew: a crossing within rounding of a grid point may vanish.
        low, high, where = x[cell], x[cell + 1], level[cell]
        f_low, f_high = at(low, where), at(high, where)
        real = f_low * f_high < 0.0
        where = where[real]
        zeros = zeros_between(
            lambda x, number: at(x, where[number]),
            *(end[real] for end in (low, high, f_low, f_high)),
            tolerance=_TOLERANCE,
        )
        roots += zip(zeros, np.sign(f_low[real]).astype(int).tolist(), strict=True)
    return [(float(np.exp(root)), falls) for root, falls in sorted(roots)]


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
