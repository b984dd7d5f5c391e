"""Margins of a loop that is known on a grid of frequencies, without its formula."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

#: A phase crossover is searched from this part of the gain crossover on: far below, where L is
#: large, its phase may come near -180 degrees without any meaning for stability.
_FROM: Final = 0.6


class Crossed(NamedTuple):
    """What a loop keeps: dB, degrees, and rad/s where; NaN where it does not cross."""

    gain_margin_db: float
    phase_margin_deg: float
    phase_crossover: float
    gain_crossover: float


def crossed_on(x: FloatArray, log_gain: FloatArray, phase: FloatArray) -> Crossed:
    """Return the margins at the last gain crossover, and the first phase crossover from there on.

    Parameters
    ----------
    x : array (n,)
        ln omega, rising.
    log_gain, phase : array (n,)
        ln |L|, and the continuous phase of L (rad), -pi/2 of an integrator.
    """
    at = _falls_through(x, log_gain, 0.0)
    if at.size == 0:
        return Crossed(*(np.nan,) * 4)
    gain_at = at[-1]
    behind = _falls_through(x, phase, -np.pi)
    behind = behind[behind > gain_at + np.log(_FROM)]
    margin = where = np.nan
    if behind.size:
        margin = -20.0 / np.log(10.0) * np.interp(behind[0], x, log_gain)
        where = np.exp(behind[0])
    angle = np.rad2deg(np.pi + np.interp(gain_at, x, phase))
    return Crossed(float(margin), float(angle), float(where), float(np.exp(gain_at)))


def _falls_through(x: FloatArray, values: FloatArray, level: float) -> FloatArray:
    """Return where values on a grid come down through a level."""
    before = np.flatnonzero((values[:-1] > level) & (values[1:] <= level))
    part = (values[before] - level) / (values[before] - values[before + 1])
    found: FloatArray = x[before] + part * (x[before + 1] - x[before])
    return found
