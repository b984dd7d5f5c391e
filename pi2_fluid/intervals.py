"""Intervals: what the mean of many runs may be, by what the runs that were made say."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_HALF_LEVEL: Final = 0.975  # of a two-sided interval of 95 %


class Interval(NamedTuple):
    """A mean, and how far its interval of 95 % reaches to either side."""

    mean: float
    half: float
    """NaN where there is none: of a single run, or of infinite values."""


def interval_of(values: ArrayLike) -> Interval:
    """Return the mean of some runs, and its interval of 95 % by Student's t.

    Parameters
    ----------
    values : array (runs,)
        One value of each run; at least one.

    Examples
    --------
    >>> found = interval_of([1.0, 2.0, 3.0])
    >>> print(f"{found.mean:.1f} ± {found.half:.2f}")
    2.0 ± 2.48
    >>> interval_of([7.0])
    Interval(mean=7.0, half=nan)
    """
    numbers = np.asarray(values, dtype=float)
    with np.errstate(invalid="ignore"):  # of infinities that differ there is no mean
        mean = float(np.mean(numbers))
    if numbers.size < 2 or not np.all(np.isfinite(numbers)):
        return Interval(mean, math.nan)
    from scipy.special import stdtrit

    spread = float(np.std(numbers, ddof=1)) / math.sqrt(numbers.size)
    return Interval(mean, float(stdtrit(numbers.size - 1, _HALF_LEVEL)) * spread)
