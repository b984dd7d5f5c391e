"""Zeros of functions between ends where their signs differ, a few of them at once.

By Chandrupatla's method (Advances in Engineering Software 28 (1997), 145-149): inverse quadratic
interpolation through the last three points where these say that it may be trusted, else bisection.
SciPy has it, too, for arrays; of a few zeros its account of them costs several times what a loop's
response does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pi2_fluid.values import FloatArray

_MOST_STEPS: Final = 2000  # bisections alone need fewer


class _Bracket:
    """Two ends about a zero, the last point first, and the point before them."""

    def __init__(self, low: float, high: float, f_low: float, f_high: float) -> None:
        self.last, self.f_last = low, f_low
        self.end, self.f_end = high, f_high
        self.part = 0.5  # of the way from the last point to the other end

    @property
    def next(self) -> float:
        return self.last + self.part * (self.end - self.last)

    @property
    def best(self) -> float:
        return self.last if abs(self.f_last) < abs(self.f_end) else self.end

    def narrow(self, x: float, f: float, tolerance: float) -> bool:
        """Take f(x), x being `next`; return whether the ends are near enough to one another."""
        if (f > 0.0) == (self.f_last > 0.0) and f != 0.0:
            before, f_before = self.last, self.f_last
        else:
            before, f_before = self.end, self.f_end
            self.end, self.f_end = self.last, self.f_last
        self.last, self.f_last = x, f
        width = abs(self.end - x)
        enough = tolerance * (1.0 + abs(self.best))
        if f == 0.0 or width < enough:
            return True
        self.part = self._interpolated(before, f_before)
        edge = 0.5 * enough / width
        self.part = min(max(self.part, edge), 1.0 - edge)
        return False

    def _interpolated(self, before: float, f_before: float) -> float:
        """Where a quadratic in f through three points is 0; the middle where it may not be."""
        f, f_end = self.f_last, self.f_end
        if f_before in (f, f_end):
            return 0.5
        xi = (self.last - self.end) / (before - self.end)
        phi = (f - f_end) / (f_before - f_end)
        if not 1.0 - math.sqrt(1.0 - xi) < phi < math.sqrt(xi):
            return 0.5
        alpha = (before - self.last) / (self.end - self.last)
        first = f / (f - f_end) * f_before / (f_before - f_end)
        return first - alpha * f / (f_before - f) * f_end / (f_end - f_before)


def zeros_between(
    function: Callable[[FloatArray, NDArray[np.intp]], FloatArray],
    low: FloatArray,
    high: FloatArray,
    f_low: FloatArray,
    f_high: FloatArray,
    *,
    tolerance: float,
) -> list[float]:
    """Return a zero between each pair of ends.

    Parameters
    ----------
    function : callable
        Of points, one of some pairs each, and the numbers of these pairs.
    low, high, f_low, f_high : array
        The ends, finite, and the function there: of two signs, and not 0.
    tolerance : float
        How near ends are when they are near enough, over one more than the distance of their zero
        from 0.

    Examples
    --------
    >>> square, zero, two = np.array([2.0, 3.0]), np.zeros(2), 2.0 * np.ones(2)
    >>> found = zeros_between(
    ...     lambda x, n: x * x - square[n], zero, two, -square, 4.0 - square, tolerance=1e-15
    ... )
    >>> [f"{x:.12f}" for x in found]
    ['1.414213562373', '1.732050807569']
    """
    ends = zip(low.tolist(), high.tolist(), f_low.tolist(), f_high.tolist(), strict=True)
    brackets = [_Bracket(*each) for each in ends]
    left = list(range(len(brackets)))
    for _ in range(_MOST_STEPS):
        if not left:
            break
        x = [brackets[number].next for number in left]
        values = function(np.array(x), np.array(left)).tolist()
        left = [
            number
            for number, at, f in zip(left, x, values, strict=True)
            if not brackets[number].narrow(at, f, tolerance)
        ]
    return [bracket.best for bracket in brackets]


def zero_between(
    function: Callable[[float], float],
    low: float,
    high: float,
    *,
    tolerance: float,
    ends: tuple[float, float] | None = None,
) -> float:
    """Return a zero of a function of one number between ends where its signs differ.

    Parameters
    ----------
    function : callable
    low, high : float
        The ends, finite. Where the signs there do not differ, as by a rounding error, the end
        whose value is nearer to 0 is returned.
    tolerance : float
        As `zeros_between` has it.
    ends : pair of float, optional
        The function at the ends, where it is known.

    Examples
    --------
    >>> print(f"{zero_between(lambda x: x * x - 2.0, 0.0, 2.0, tolerance=1e-15):.12f}")
    1.414213562373
    """
    f_low, f_high = ends or (function(low), function(high))
    if not f_low * f_high < 0.0:
        return low if abs(f_low) <= abs(f_high) else high
    bracket = _Bracket(low, high, f_low, f_high)
    for _ in range(_MOST_STEPS):
        x = bracket.next
        if bracket.narrow(x, function(x), tolerance):
            break
    return bracket.best
