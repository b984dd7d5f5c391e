"""The smallest value of a function of one number between two ends.

By R. P. Brent's method (Algorithms for Minimization without Derivatives, 1973, chapter 5): a
parabola through the three best points where it may be trusted, else a golden section. SciPy's
bounded `minimize_scalar` takes the same steps; here it costs a function call to begin with, and no
import of 0.3 s.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

_GOLDEN: Final = 0.5 * (3.0 - math.sqrt(5.0))
_SHARPEST: Final = math.sqrt(2.2e-16)  # of |x|: a minimum is flat below
_MOST_STEPS: Final = 500


def smallest_between(
    function: Callable[[float], float], low: float, high: float, *, tolerance: float
) -> tuple[float, float]:
    """Return where a function is smallest between two ends, and what it is there.

    Of several minima it finds one, and never asks at the ends themselves.

    Parameters
    ----------
    function : callable
    low, high : float
        The ends, finite.
    tolerance : float
        How near the place is to be, in addition to 1.5e-8 of itself.

    Examples
    --------
    >>> x, value = smallest_between(lambda x: (x - 2.0) ** 2 + 1.0, 0.0, 5.0, tolerance=1e-9)
    >>> print(f"{x:.6f} {value:.6f}")
    2.000000 1.000000
    """
    best = second = third = low + _GOLDEN * (high - low)
    f_best = f_second = f_third = function(best)
    step = before = 0.0  # the last one, and the one before it
    for _ in range(1, _MOST_STEPS):
        middle = 0.5 * (low + high)
        least = _SHARPEST * abs(best) + tolerance / 3.0
        if abs(best - middle) <= 2.0 * least - 0.5 * (high - low):
            break
        golden = True
        if abs(before) > least:
            r = (best - second) * (f_best - f_third)
            q = (best - third) * (f_best - f_second)
            p = (best - third) * q - (best - second) * r
            q = 2.0 * (q - r)
            p, q = (-p if q > 0.0 else p), abs(q)
            halved, before = 0.5 * q * before, step
            if abs(p) < abs(halved) and q * (low - best) < p < q * (high - best):
                golden, step = False, p / q + 0.0  # to the right where it is 0
                if best + step - low < 2.0 * least or high - best - step < 2.0 * least:
                    step = math.copysign(least, middle - best)
        if golden:
            before = (low if best >= middle else high) - best
            step = _GOLDEN * before
        x = best + math.copysign(max(abs(step), least), step)
        f = function(x)
        if f <= f_best:
            low, high = (best, high) if x >= best else (low, best)
            third, f_third = second, f_second
            second, f_second = best, f_best
            best, f_best = x, f
            continue
        low, high = (x, high) if x < best else (low, x)
        if f <= f_second or second == best:
            third, f_third = second, f_second
            second, f_second = x, f
        elif f <= f_third or third in (best, second):
            third, f_third = x, f
    return best, f_best
