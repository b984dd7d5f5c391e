"""Roots of 1/L + K = 0 followed from gain factor to gain factor, all of them together.

Newton's method finds each where its own motion predicts it. Where two meet on the real axis their
mean and the square of their distance, which pass such a point smoothly, predict what becomes of
them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, ComplexArray, FloatArray

_SHORTEST: Final = 1e-9  # of ln K
_NEAR: Final = 0.3  # of the distance to the nearest other root, that a prediction may miss by
_MEETING: Final = 0.5  # of the square of a distance, by which it changes where two roots meet
_SETTLED: Final = 1e-11
_STEP: Final = 1e-7  # of derivatives
#: Per ln K and scale: a root that gain hardly moves any more has come to a zero of L.
_STILL: Final = 1e-5
_NEWTON: Final = 12


class Plane(NamedTuple):
    """Where the roots are: s, or of a sampled loop z = e^{sT}."""

    inverse: Callable[[Any], Any]
    """1/L at its points."""
    scale: float
    """What is near 0 there."""
    growth: Callable[[Any], Any]
    """Positive where a mode grows."""
    floor: float
    """Of growth: a root with less is not followed any further."""
    interval: float | None
    """T of a sampled loop (s)."""


class LostRootError(Exception):
    """A root meets one which is not followed."""


def follow(plane: Plane, roots: ComplexArray, factors: FloatArray) -> ComplexArray:
    """Return roots over factors, both of each pair.

    Parameters
    ----------
    plane : Plane
    roots : array
        At the first of the factors, each pair once.
    factors : array
        Rising or falling.

    Returns
    -------
    numpy.ndarray, shape (roots, factors)
        NaN from where on a root is below the plane's floor, or stands at a zero of L.

    Raises
    ------
    LostRootError
        If one meets another which is not among them.
    """
    upper = roots[roots.imag > 0.0]
    x = np.concatenate([roots[roots.imag == 0.0], upper, upper.conj()])
    followed_roots = np.full((x.size, factors.size), complex(np.nan, np.nan))
    followed, logs = np.arange(x.size), np.log(factors)
    followed_roots[:, 0] = x
    for k in range(1, factors.size):
        at, end = float(logs[k - 1]), float(logs[k])
        step = end - at
        while at != end:
            goes_on = is_followed(plane, x, float(np.exp(at)))
            followed, x = followed[goes_on], x[goes_on]
            last = abs(end - at) <= abs(step)
            moved = _moved(plane, x, at, end - at if last else step)
            if moved is not None:
                at, x, step = end if last else at + step, moved, 2.0 * step
            elif abs(step) < _SHORTEST:
                raise LostRootError
            else:
                step = min(step, end - at, key=abs) / 2.0
        followed_roots[followed, k] = x
    return followed_roots


def _moved(plane: Plane, x: ComplexArray, at: float, step: float) -> ComplexArray | None:
    """Roots a step of ln K ahead; None if that is too far for a prediction of them to hold."""
    if not x.size:
        return x
    guess = _predicted(plane, x, float(np.exp(at)), step)
    new = roots_near(plane, guess, float(np.exp(at + step)))
    if new is None:
        return None
    apart = np.abs(new[:, None] - new[None, :]) + np.where(np.eye(new.size), np.inf, 0.0)
    room = np.minimum(np.min(apart, axis=1), np.abs(new) + plane.scale)
    return new if np.all(np.abs(new - guess) <= _NEAR * room) else None


def _slope(plane: Plane, x: ComplexArray) -> tuple[ComplexArray, ComplexArray]:
    """1/L, and its derivative; real where the point is."""
    h = _STEP * (np.abs(x) + plane.scale)
    value, ahead, behind = plane.inverse(np.stack([x, x + h, x - h]))
    slope = (ahead - behind) / (2.0 * h)
    real = x.imag == 0.0
    return np.where(real, value.real + 0j, value), np.where(real, slope.real + 0j, slope)


def _predicted(plane: Plane, x: ComplexArray, factor: float, step: float) -> ComplexArray:
    """Return where roots will be, a step of ln K ahead."""
    motion = step * _motion(plane, x, factor)
    guess = x + motion
    for i, j in _neighbours(x):
        half = (x[i] - x[j]) / 2.0
        square, change = (half * half).real, (half * (motion[i] - motion[j])).real
        if abs(change) > _MEETING * abs(square):
            mean = ((x[i] + x[j]) / 2.0 + (motion[i] + motion[j]) / 2.0).real
            apart = np.sqrt(complex(square + change))
            guess[i], guess[j] = mean + apart, mean - apart
    return guess


def is_followed(plane: Plane, x: ComplexArray, factor: float) -> BoolArray:
    """Return which roots at a factor are above the floor and moved by gain."""
    moves = np.abs(_motion(plane, x, factor)) > _STILL * (np.abs(x) + plane.scale)
    result: BoolArray = moves & (plane.growth(x) > plane.floor)
    return result


def _motion(plane: Plane, x: ComplexArray, factor: float) -> ComplexArray:
    """How roots at a factor move, per ln K."""
    with np.errstate(all="ignore"):
        result: ComplexArray = -factor / _slope(plane, x)[1]
    return result


def _neighbours(x: ComplexArray) -> list[tuple[int, int]]:
    """Pairs of conjugates, and of real roots next to one another; no root is in two."""
    pairs = [
        (i, int(np.argmin(np.abs(x - x[i].conj())))) for i in np.flatnonzero(x.imag > 0.0).tolist()
    ]
    real = np.flatnonzero(x.imag == 0.0)
    real = real[np.argsort(-x[real].real)]
    taken: set[int] = set()
    for k in np.argsort(-np.diff(x[real].real)).tolist():
        if not taken & {k, k + 1}:
            taken |= {k, k + 1}
            pairs.append((int(real[k]), int(real[k + 1])))
    return pairs


def roots_near(plane: Plane, guess: ComplexArray, factor: float) -> ComplexArray | None:
    """Return the roots near guesses, in their order; None if some are not found.

    Parameters
    ----------
    plane : Plane
    guess : array
        With both of each pair: the lower one is the mirror image of the upper.
    factor : float
    """
    new, lower = guess.copy(), np.flatnonzero(guess.imag < 0.0)
    mates = [int(np.argmin(np.abs(guess - guess[k].conj()))) for k in lower]
    rest = np.flatnonzero(guess.imag >= 0.0)
    with np.errstate(all="ignore"):
        for _ in range(_NEWTON):
            value, slope = _slope(plane, new[rest])
            step = (value + factor) / slope
            if not np.all(np.isfinite(step)):
                return None
            new[rest] = new[rest] - step
            if np.all(np.abs(step) < _SETTLED * (np.abs(new[rest]) + plane.scale)):
                new[lower] = new[mates].conj()
                return new if np.all(new[rest].imag >= 0.0) else None
    return None
