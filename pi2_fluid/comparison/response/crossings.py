"""Margins of a loop that is known at a few lines, with jackknife standard errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy.stats import t as student

from pi2_fluid.loop.lines import Crossed, crossed_on

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray

_DEGREE: Final = 3  # of the polynomials in ln omega
_BEYOND: Final = 1.2  # how far, as a ratio, these are read outside of the lines
_GRID: Final = 4000
_LEVEL: Final = 0.95  # one-sided, of an interval that covers 90 %


class Estimate(NamedTuple):
    """What all records say, the standard error of it, and how far a 90 % interval reaches."""

    value: Any
    error: FloatArray
    reach: FloatArray


def crossed(omega: FloatArray, loop: ComplexArray, error: FloatArray | None = None) -> Crossed:
    """Return the margins of a loop at some lines, ln L between them a cubic in ln omega.

    Parameters
    ----------
    omega : array (k,)
        rad/s, rising.
    loop : array (k,)
        L(j omega).
    error : array (k,), optional
        Standard errors of L, whose relative sizes weigh the lines.
    """
    x = np.log(omega)
    weight = np.ones(len(omega)) if error is None else abs(loop) / error
    angle = np.unwrap(np.angle(loop))
    # at the lowest line an integrator is behind by 90 to 180 degrees, and more at the next ones
    angle -= 2.0 * np.pi * np.ceil((angle[0] - 0.5 * np.pi) / (2.0 * np.pi))
    degree = min(_DEGREE, len(omega) - 1)
    middle = x.mean()
    size = np.polynomial.Polynomial.fit(x - middle, np.log(abs(loop)), degree, w=weight)
    phase = np.polynomial.Polynomial.fit(x - middle, angle, degree, w=weight)
    grid = np.linspace(x[0] - np.log(_BEYOND), x[-1] + np.log(_BEYOND), _GRID)
    return crossed_on(grid, size(grid - middle), phase(grid - middle))


def jackknife(records: int, of: Callable[[FloatArray], Any]) -> Estimate:
    """Return what a function says of all records, with its error from leaving out one at a time.

    Parameters
    ----------
    records : int
        How many there are; a single one has no error, which is NaN.
    of : callable
        From the weight of each record, 1 or 0, to an array of numbers, real or complex.
    """
    whole = of(np.ones(records))
    if records < 2:
        nothing = np.full(np.shape(whole), np.nan)
        return Estimate(whole, nothing, nothing)
    each = np.array([of(1.0 - np.eye(records)[left_out]) for left_out in range(records)])
    spread = np.sum(abs(each - each.mean(axis=0)) ** 2, axis=0)
    error = np.sqrt((records - 1) / records * spread)
    return Estimate(whole, error, float(student.ppf(_LEVEL, records - 1)) * error)
