"""Where a window law comes to rest, of which nothing is known but how it moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.errors import SolverError

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

# The windows (segments) between which a law's operating point is searched. The upper end is far
# above any network's, because a mixture is solved from signals as weak as 1e-30.
WINDOW_RANGE: Final = (1e-9, 1e40)
# How many windows are tried, and up to which, where a law does not grow below and fall above.
_TRIED: Final = 1000
_LARGEST: Final = 1e307
# Relaxation of laws with several states: steps (in round trips) beyond which 1/step has no effect,
# when it has settled, and the relative change that gives the slopes.
_NEWTON: Final = 1e40
_SETTLED: Final = 1e-12
_NUDGE: Final = 1e-7
_ZERO: Final = 1e-12  # below this a state has settled in absolute terms
_VANISHED: Final = 1e-100  # segments, of a window that falls whatever it is
_MOST_STEPS: Final = 200


def search_rest(name: str, drift: Callable[..., FloatArray], numbers: Sequence[float]) -> float:
    """Return the rest of a law that does not just grow from the least window and fall at most.

    Its drift is a function of the logarithm of the window and of `numbers`, the round-trip time,
    p and what else it depends on. 0, if it falls at all windows; else the largest from below which
    it grows and from above which it falls.
    """
    from scipy.optimize import elementwise

    log_w = np.linspace(np.log(WINDOW_RANGE[0]), np.log(_LARGEST), _TRIED)
    with np.errstate(all="ignore"):  # powers of such windows may be inf
        moves = drift(log_w, *(np.full(log_w.shape, number) for number in numbers))
        if np.all(moves < 0.0):
            return 0.0
        turns = np.flatnonzero((moves[:-1] > 0.0) & (moves[1:] <= 0.0))
        if len(turns):
            bracket = tuple(log_w[turns[-1] : turns[-1] + 2])
            return float(np.exp(elementwise.find_root(drift, bracket, args=tuple(numbers)).x))
    grows = " and grows at all of them" if np.all(moves > 0.0) else ""
    raise SolverError(
        f"{name} is at rest at no window between {WINDOW_RANGE[0]:g} and"
        f" {_LARGEST:g} segments{grows}, for p = {numbers[1]:g}, rtt = {numbers[0]:g} s: check"
        " its rate()."
    )


def relax(drift: Callable[[FloatArray], FloatArray], start: FloatArray) -> FloatArray | None:
    """Return the states at which a law rests, its window first; None if they are not found."""
    state = _settle(drift, start)
    return _without_window(drift, start) if state is None else state


def _settle(drift: Callable[[FloatArray], FloatArray], x: FloatArray) -> FloatArray | None:
    """Return where x' = drift(x) comes to rest with a positive x[0], None if it does not.

    Implicit Euler steps that grow a hundredfold: they begin as the law's own motion, which finds
    the way when the states differ by many orders of magnitude, and end as Newton's method.
    """
    step, identity = 1.0, np.eye(x.size)
    for _ in range(_MOST_STEPS):
        now = drift(x)
        nudges = np.diag(_NUDGE * np.where(x == 0.0, 1.0, np.abs(x)))
        slopes = np.array([(drift(x + h) - now) / np.max(h) for h in nudges]).T
        try:
            change = np.linalg.solve(identity / step - slopes, now)
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(change).all() or x[0] + change[0] <= 0.0:
            step /= 1000.0
            continue
        x = x + change
        if x[0] < _VANISHED:
            return None
        if step > _NEWTON and np.all(np.abs(change) <= _SETTLED * np.maximum(np.abs(x), _ZERO)):
            return x
        step *= 100.0
    return None


def _without_window(drift: Callable[[FloatArray], FloatArray], x: FloatArray) -> FloatArray | None:
    """Return the rest of a law whose window falls even where it is all but 0; None of others.

    The other states rest where they do while the window is held there.
    """
    least = WINDOW_RANGE[0]

    def held(x: FloatArray) -> FloatArray:
        moves = drift(np.array([least, *x[1:]]))
        return np.array([least - x[0], *moves[1:]])

    rest = _settle(held, np.array([least, *x[1:]]))
    if rest is None or not drift(rest)[0] < 0.0:
        return None
    return np.array([0.0, *rest[1:]])
