"""Follow a complex curve closely enough that no turn is missed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.errors import SolverError

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, Curve, FloatArray

_STEP: Final = 0.4  # largest change of phase (rad) or of ln|f| between neighbours
_PER_DECADE: Final = 24
_ROUNDS: Final = 60  # halvings: enough to close in on a zero down to the narrowest cell
_MOST_POINTS: Final = 2_000_000


def base_grid(low: float, high: float, spacing: float, finer: float = 1.0) -> FloatArray:
    """Return frequencies from `low` to `high`, logarithmic but never more than `spacing` apart.

    With `finer` times the usual number of points per decade.
    """
    points = max(2, int(np.ceil(finer * _PER_DECADE * np.log10(high / low))) + 1)
    grid = np.geomspace(low, high, points)
    grid[0], grid[-1] = low, high
    wide = np.flatnonzero(np.diff(grid) > spacing)
    if wide.size:
        start = grid[wide[0]]
        count = int(np.ceil((high - start) / spacing))
        if count > _MOST_POINTS:
            raise SolverError(
                f"up to {high:.3g} rad/s, below which its gain is not known to be small, the loop"
                f" may turn {count * _STEP / (2 * np.pi):.3g} times, too often to follow: lower the"
                " gains, the fastest rates of its laws or the round-trip time."
            )
        grid = np.concatenate([grid[: wide[0]], np.linspace(start, high, count + 1)])
    return grid


def track(function: Curve, grid: FloatArray) -> tuple[FloatArray, ComplexArray]:
    """Refine `grid` until neighbours differ by less than 0.4 in phase and in ln|f|.

    Returns
    -------
    w, values : numpy.ndarray
        The refined frequencies and the curve there. Cells next to a zero of the curve stay wider
        once they are narrower than 1e-12 relative.
    """
    w, values = grid, function(grid)
    for _ in range(_ROUNDS):
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.abs(np.log(values[1:] / values[:-1]))  # sqrt(dln^2 + dphase^2)
        wide = (step > _STEP) | ~np.isfinite(step)
        wide &= np.diff(w) > 1e-12 * w[1:]
        if not wide.any():
            return w, values
        if w.size > _MOST_POINTS:
            break
        middle = np.sqrt(w[:-1][wide] * w[1:][wide])
        at = np.flatnonzero(wide) + 1
        w = np.insert(w, at, middle)
        values = np.insert(values, at, function(middle))
    raise SolverError(
        f"the loop's curve could not be followed within {_MOST_POINTS} points: move p or rtt a"
        " little."
    )
