"""What a queue does after a step of the load: how high the delay rises, and how long it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

_HALF: Final = 0.5  # of the target: how far from it counts as settled
#: Over what a settled delay is a mean, and how long it stays (s).
SETTLED_MEAN, SETTLED_STAY = 1.0, 3.0


def peak_of(delay: FloatArray, time: FloatArray, begin: float, end: float) -> FloatArray:
    """Return the highest delay between two instants, of each run (the first dim)."""
    result: FloatArray = delay[:, (time > begin) & (time <= end)].max(axis=1)
    return result


def settling_of(
    delay: FloatArray, time: FloatArray, begin: float, end: float, target: float
) -> float:
    """Return when (s after `begin`) the mean over 1 s has come to stay near the target for 3 s.

    Parameters
    ----------
    delay, time : array
        Of one run, in even steps; the end of each bin.
    begin, end : float
        The stretch; its length is returned if the delay does not settle within it.
    """
    step = float(time[1] - time[0])
    inside = (time > begin + step / 2) & (time <= end + step / 2)
    width = round(SETTLED_MEAN / step)
    means = np.convolve(delay[inside], np.full(width, 1.0 / width), "valid")
    near = np.abs(means - target) <= _HALF * target
    need = round(SETTLED_STAY / step)
    stays = np.convolve(near, np.ones(need), "valid") >= need - 0.5
    return float(np.argmax(stays)) * step if stays.any() else end - begin
