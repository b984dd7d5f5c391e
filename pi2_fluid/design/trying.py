"""Gains tried one by one in a whole region, where the curves that bound single loops mislead.

The phase of Cubic dips and recovers, so that one loop allows gains below a dip and gains beyond it,
and its curve (`gains`) is one side of what it allows. The optimum over such curves may fall short
in the region however many loops are added, or leave more than was asked for. Here the margins of
the region itself decide: of some beta the largest alpha that holds, and of these the largest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

#: Of the beta to begin with.
_BETAS: Final = (1.0, 0.5, 0.25, 0.125)
#: Where none of these has an alpha, of both gains.
_LOWER: Final = tuple(4.0**-power for power in range(2, 8))
#: From the best on, as far as alpha grows.
_PACES: Final = (2.0, 2.0**0.5, 2.0**0.25)
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
    low = high = 0.0
    best = beta
    for part in _BETAS:
        # Once some alpha holds, another beta has to be better, which one look tells.
        tried = _largest(holds, low or alpha, part * beta, 0 if low else _DOWN)
        if tried[0] > low:
            (low, high), best = tried, part * beta
    for part in _LOWER:
        if low > 0.0:
            break
        (low, high), best = _largest(holds, part * alpha, part * beta, _DOWN), part * beta
    if low == 0.0:
        return None
    for pace in _PACES:
        for step in (pace, 1.0 / pace):
            while (tried := _largest(holds, low, step * best, 0))[0] > low:
                (low, high), best = tried, step * best
    low, _ = _halved(holds, low, high, best, _MORE_HALVINGS)
    return low, best


def _largest(holds: Holds, alpha: float, beta: float, down: int) -> tuple[float, float]:
    """Return the largest alpha that holds with a beta, and one that does not; 0 if there is none.

    Looked for `down` steps below `alpha` at most.
    """
    if holds(alpha, beta):
        low, high = alpha, alpha * _STEP
        for _ in range(_UP):
            if not holds(high, beta):
                break
            low, high = high, high * _STEP
        return _halved(holds, low, high, beta, _HALVINGS)
    for step in range(down):
        high = alpha / _STEP**step
        if holds(high / _STEP, beta):
            return _halved(holds, high / _STEP, high, beta, _HALVINGS)
    return 0.0, 0.0


def _halved(
    holds: Holds, low: float, high: float, beta: float, halvings: int
) -> tuple[float, float]:
    for _ in range(halvings):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if holds(middle, beta) else (low, middle)
    return low, high
