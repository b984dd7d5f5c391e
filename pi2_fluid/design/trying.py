"""Gains tried one by one in a whole region, where the curves that bound single loops mislead.

The phase of Cubic dips and recovers, so that one loop allows gains below a dip and gains beyond it,
and its curve (`gains`) is one side of what it allows. The optimum over such curves may fall short
in the region however many loops are added, or leave more than was asked for. Here the margins of
the region itself decide: of some beta the largest alpha that holds, and of these the largest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

__all__ = ["largest_that_holds"]

#: Of the beta to begin with.
_BETAS: Final = (1.0, 0.5, 0.25, 0.125)
_STEP: Final = 4.0
_DOWN: Final = 8  # steps of alpha until there is none
_UP: Final = 6
_HALVINGS: Final = 3
_MORE_HALVINGS: Final = 6  # of the best: 0.03 % of alpha

#: Whether alpha and beta (Hz) leave the margins asked for in the whole region.
Holds = Callable[[float, float], bool]


def largest_that_holds(holds: Holds, alpha: float, beta: float) -> tuple[float, float] | None:
    """Return the largest alpha (Hz) that is found, and its beta; None if there is none.

    Examples
    --------
    >>> found = largest_that_holds(lambda a, b: a < 0.01 and b < 0.3, 0.5, 1.0)
    >>> print(f"{found[0]:.4f} {found[1]:g}")
    0.0100 0.25
    """
    found = [(*_largest(holds, alpha, part * beta, _HALVINGS), part * beta) for part in _BETAS]
    low, high, best = max(found)
    if low == 0.0:
        return None
    low, _ = _halved(holds, low, high, best, _MORE_HALVINGS)
    return low, best


def _largest(holds: Holds, alpha: float, beta: float, halvings: int) -> tuple[float, float]:
    """Return the largest alpha that holds with a beta, 0 if none, and one that does not."""
    if holds(alpha, beta):
        low, high = alpha, alpha * _STEP
        for _ in range(_UP):
            if not holds(high, beta):
                break
            low, high = high, high * _STEP
    else:
        low, high = alpha / _STEP, alpha
        for _ in range(_DOWN):
            if holds(low, beta):
                break
            low, high = low / _STEP, low
        else:
            return 0.0, 0.0
    return _halved(holds, low, high, beta, halvings)


def _halved(
    holds: Holds, low: float, high: float, beta: float, halvings: int
) -> tuple[float, float]:
    for _ in range(halvings):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if holds(middle, beta) else (low, middle)
    return low, high
