"""Where a function of one number is 0: without SciPy, whose import takes longer than the rest."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

_EPS: Final = 2.0**-52
_MOST: Final = 200  # halving alone is through with any two numbers of this size after some 60


def root_between(function: Callable[[float], float], low: float, high: float) -> float | None:
    """Return where a function changes its sign between two numbers, to the last bits.

    By inverse quadratic interpolation where that is safe, by halving elsewhere.

    Parameters
    ----------
    function : callable
        Continuous between the two.
    low, high : float

    Returns
    -------
    float or None
        None where the signs at both ends are the same, or something is no number.

    Notes
    -----
    T. R. Chandrupatla, Advances in Engineering Software 28 (1997), 145-149.

    Examples
    --------
    >>> f"{root_between(lambda x: x * x - 2.0, 0.0, 2.0):.12f}"
    '1.414213562373'
    """
    a, b = high, low
    fa, fb = function(a), function(b)
    if fa == 0.0 or fb == 0.0:
        return a if fa == 0.0 else b
    if math.isnan(fa) or math.isnan(fb) or (fa > 0.0) == (fb > 0.0):
        return None
    c, fc = a, fa
    share = 0.5
    for _ in range(_MOST):
        x = a + share * (b - a)
        fx = function(x)
        if math.isnan(fx):
            return None
        if (fx > 0.0) == (fa > 0.0):
            c, fc = a, fa
        else:
            c, fc, b, fb = b, fb, a, fa
        a, fa = x, fx
        best, least = (a, fa) if abs(fa) < abs(fb) else (b, fb)
        nearest = 2.0 * _EPS * abs(best) / abs(b - a) if b != a else math.inf
        if least == 0.0 or nearest > 0.5:
            return best
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        share = 0.5
        if phi**2 < xi and (1.0 - phi) ** 2 < 1.0 - xi:
            share = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (
                fc - fb
            )
        share = min(max(share, nearest), 1.0 - nearest)
    return best
