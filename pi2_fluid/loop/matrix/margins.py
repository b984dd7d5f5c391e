"""Uniform margins of a matrix loop: of all links scaled, turned or delayed together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.errors import SolverError
from pi2_fluid.loop.crossovers import Crossings, GainCrossing, PhaseCrossing, crossings_on
from pi2_fluid.loop.matrix.eigenloci import Matrices, follow, locus_near, match
from pi2_fluid.loop.tracking import base_grid

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray

__all__ = ["find_matrix_crossings", "smallest_singular_value"]

_QUARTERS: Final = 60  # of the lowest frequency tried, each the last over 4
_SETTLED: Final = 0.02  # change of w e, where it settles
_REAL: Final = 1e-3
_POLISHING: Final = 2
_SMALL: Final = 1e-5
_PARTS: Final = 12  # of each bracket,
_NARROWINGS: Final = 8  # so often


def find_matrix_crossings(
    response: Matrices,
    turning: float,
    end: float,
    bound: Callable[[float], float],
) -> Crossings:
    """Return every crossover that matters for the margins of a matrix loop.

    Parameters
    ----------
    response : callable
        L(jw), a matrix for each frequency.
    turning : float
        1 over the longest delay (1/s).
    end : float
        Where the frequencies of a sampled loop end, pi/T; else inf.
    bound : callable
        An upper bound of the eigenvalues from a frequency on.

    Returns
    -------
    Crossings
        Of all eigenvalues, which are the columns of `values`; found on these, and polished on the
        determinant.
    """
    low = _low_end(response, min(turning, end / 8))
    spacing = min(0.4 * turning, end / 8)
    high = end * (1.0 - 1e-6)
    if np.isinf(end):
        high = max(_fading(bound, turning), 8 * low)
    while True:
        w, loci = follow(response, base_grid(low, high, spacing))
        found = [
            crossings_on(
                locus_near(response, w, locus),
                w,
                locus,
                -np.pi / 2,
                end,
                reached=np.isfinite(end) and abs(locus[-1].imag) < _REAL * abs(locus[-1]),
            )
            for locus in loci.T
        ]
        gains = [(one.w, np.radians(one.phase_margin_deg)) for each in found for one in each.gain]
        phases = [(one.w, -np.log(one.gain)) for each in found for one in each.phase]
        crossings = Crossings(
            tuple(
                GainCrossing(w_gc, float(np.degrees(angle)))
                for w_gc, angle in _polished(response, gains, -1j, end)
            ),
            tuple(
                PhaseCrossing(w_pc, float(np.exp(-more)))
                for w_pc, more in _polished(response, phases, 1.0, end)
            ),
            w,
            loci,
        )
        best = max((phase.gain for phase in crossings.phase), default=0.0)
        if np.isfinite(end) or best > bound(high):
            return crossings
        high = 2 * high + 2 * np.pi * turning


def smallest_singular_value(response: Matrices, crossings: Crossings) -> float:
    """Return the minimum over w of the smallest singular value of I + L, 1 at most.

    Another disturbance of every link, of one relative size, needs this much at least.
    """
    x = np.log(crossings.w)

    def at(place: FloatArray) -> FloatArray:
        matrices = response(np.exp(place).ravel())
        values: Any = np.linalg.svd(matrices + np.eye(matrices.shape[-1]), compute_uv=False)
        return np.reshape(values[:, -1], place.shape)

    sizes = at(x)
    padded = np.concatenate([[np.inf], sizes, [np.inf]])
    lowest = (sizes <= padded[:-2]) & (sizes <= padded[2:]) & (sizes < np.min(sizes) + 0.5)
    middle = np.flatnonzero(lowest)
    low, high = x[np.maximum(middle - 1, 0)], x[np.minimum(middle + 1, x.size - 1)]
    rows = np.arange(len(middle))
    for _ in range(_NARROWINGS):
        places = np.linspace(low, high, _PARTS + 1, axis=1)
        sizes = at(places)
        best = np.argmin(sizes, axis=1)
        low = places[rows, np.maximum(best - 1, 0)]
        high = places[rows, np.minimum(best + 1, _PARTS)]
    return min(float(np.min(sizes)), 1.0)


def _low_end(response: Matrices, start: float) -> float:
    """A frequency below which the eigenvalues fall as 1/w and are large."""
    w = np.asarray(start / 100.0 / 4.0 ** np.arange(_QUARTERS), float)
    values: ComplexArray = np.linalg.eigvals(response(w)) * w[:, None]
    _, steps, _ = match(values[:-1], values[1:])
    settled = np.all(steps < _SETTLED, axis=1) & np.all(np.abs(values[:-1]) > 2 * w[:-1, None], 1)
    if not settled.any():
        raise SolverError(
            "the loop has no low-frequency asymptote that could be reached: its slowest time"
            " constant is too long compared with its round-trip time."
        )
    return float(w[np.argmax(settled)])


def _fading(bound: Callable[[float], float], turning: float) -> float:
    """A frequency above which every eigenvalue is below 1 for certain."""
    w = turning
    for _ in range(200):
        if bound(w) < 1.0:
            return w
        w *= 1.5
    raise SolverError("the loop's gain does not fall with frequency: check the laws.")


def _polished(
    response: Matrices, found: list[tuple[float, float]], turn: complex, end: float
) -> list[tuple[float, float]]:
    """Newton's method on det(I + e^(turn y) L(jw)) for w and y, from what eigenvalues have shown.

    The determinant does not know the labels of eigenvalues. A step that is not small is not taken:
    two crossings are then one, where the determinant has no slope.
    """
    if not found:
        return []
    w, y = np.array(sorted(found)).T

    def determinant(matrices: ComplexArray, y: FloatArray) -> ComplexArray:
        scaled = np.exp(turn * y)[:, None, None] * matrices
        result: ComplexArray = np.linalg.det(np.eye(matrices.shape[-1]) + scaled)
        return result

    for _ in range(_POLISHING):
        here, ahead, behind = (response(w * np.exp(h)) for h in (0.0, _SMALL, -_SMALL))
        by_w = (determinant(ahead, y) - determinant(behind, y)) / (2 * _SMALL)
        by_y = (determinant(here, y + _SMALL) - determinant(here, y - _SMALL)) / (2 * _SMALL)
        value = determinant(here, y)
        area = by_w.real * by_y.imag - by_w.imag * by_y.real
        with np.errstate(divide="ignore", invalid="ignore"):
            in_w = (value.imag * by_y.real - value.real * by_y.imag) / area
            in_y = (value.real * by_w.imag - value.imag * by_w.real) / area
        taken = (np.hypot(in_w, in_y) < _SMALL) & (w < end * (1.0 - 2e-6))
        w, y = np.where(taken, w * np.exp(in_w), w), np.where(taken, y + in_y, y)
    return list(zip(w.tolist(), y.tolist(), strict=True))
