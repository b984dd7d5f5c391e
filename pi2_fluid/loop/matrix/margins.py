"""Uniform margins of a matrix loop: of all links scaled, turned or delayed together."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from pi2_fluid.errors import SolverError
from pi2_fluid.loop.crossovers import Crossings, GainCrossing, PhaseCrossing, crossings_on
from pi2_fluid.loop.matrix.eigenloci import Matrices, follow, loci_near, match
from pi2_fluid.loop.tracking import base_grid

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, ComplexArray, FloatArray, IntArray

#: Of a crossover: its frequency, what is left there, and what `PhaseCrossing` says of modes.
Place: TypeAlias = "tuple[float, float, int]"
_QUARTER: Final = 4.0  # from one to the next of so many low frequencies
_QUARTERS: Final = 60
_RESOLVED: Final = 1e11  # of the smallest eigenvalue, what the largest may be
_SETTLED: Final = 0.02  # of ln e, from what it tends to
_REAL: Final = 1e-3
_POLISHING: Final = 2
_ROUNDS: Final = 6
_CONVERGED: Final = 1e-9  # by a step: the next would be the square of it
_APART: Final = 1e-6
_NEAR: Final = 0.4
_TURN: Final = 2 * np.pi
_SMALL: Final = 1e-5
_ALMOST: Final = 0.9  # of 1, which is all there is
_OCTAVES: Final = 6
_PARTS: Final = 12  # of each bracket,
_NARROWINGS: Final = 10  # so often


def find_matrix_crossings(
    response: Matrices,
    turning: float,
    end: float,
    bound: Callable[[float], float],
    *,
    quiet: bool = False,
    landmarks: Callable[[float, float], FloatArray] | None = None,
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
    quiet : bool
        As in `find_crossings`.
    landmarks : callable, optional
        Frequencies between two others that must not be stepped over.

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
        grid = base_grid(low, high, spacing)
        if landmarks is not None:
            grid = np.union1d(grid, landmarks(low, high))
        w, loci = follow(response, grid)
        crossings = _crossings_between(response, w, loci, end)
        if crossings is None:
            crossings = _crossings_one_by_one(response, w, loci, end)
        gains = [each.gain for each in crossings.phase if not quiet or each.gain < 1.0]
        best = max(gains, default=0.0)
        if np.isfinite(end) or best > bound(high):
            return crossings
        high = 2 * high + 2 * np.pi * turning


def _crossings_between(
    response: Matrices, w: FloatArray, loci: ComplexArray, end: float
) -> Crossings | None:
    """All crossovers at once, by Newton's method on the determinant from between grid points.

    None where that is not safe: where loci come close to a level between points without crossing
    it, or steps do not lead to one crossing each, as where loci coincide.
    """
    x = np.log(w)
    size, angle = np.log(np.abs(loci)), np.unwrap(np.angle(loci), axis=0)
    angle += _TURN * np.round((-np.pi / 2 - angle[0]) / _TURN)
    level = np.pi + _TURN * np.round((angle - np.pi) / _TURN)
    # Loci that are real at pi/T are there at an angle's level, or between two, by symmetry alone.
    away, sampled = angle - level, bool(np.isfinite(end))
    odd = np.cos(np.pi / 2 * w / end)[:, None] if sampled else 1.0
    cells: list[IntArray] = []
    falls: list[IntArray] = []
    starts: list[FloatArray] = []
    for f, distance, other, same in (
        (size, size, np.pi + angle, np.zeros_like(size)),
        (away / odd, away, -size, level),
    ):
        if np.any(f == 0.0) or np.any(_nearly_crosses(f, distance, mirrored=sampled)):
            return None
        cell, locus = np.nonzero((f[:-1] * f[1:] < 0.0) & (same[:-1] == same[1:]))
        part = f[cell, locus] / (f[cell, locus] - f[cell + 1, locus])
        ends = (x[cell], x[cell + 1]), (other[cell, locus], other[cell + 1, locus])
        starts.append(np.array([(1.0 - part) * left + part * right for left, right in ends]))
        cells.append(cell)
        falls.append(2 * np.sign(f[cell, locus]).astype(int))
    kinds = np.repeat([0, 1], [cell.size for cell in cells])
    cell = np.concatenate(cells)
    turn = np.where(kinds == 0, -1j, 1.0)
    places, moved = _newton(response, np.hstack(starts), turn, _ROUNDS)
    outside = (places[0] < x[cell]) | (places[0] > x[cell + 1])
    pairs = np.hypot(*(row[:, None] - row for row in places)) + np.eye(cell.size)
    pairs[kinds[:, None] != kinds] = 1.0
    if np.any(outside) or np.any(moved > _CONVERGED) or np.any(pairs < _APART):
        return None
    columns = np.exp(places[0]), places[1], np.concatenate(falls)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    gains, phases = sorted(rows[: cells[0].size]), sorted(rows[cells[0].size :])
    if sampled:
        phases += _phases_at_end(loci[-1], end)
    return crossings_of(gains, phases, w, loci)


def _phases_at_end(values: ComplexArray, end: float) -> list[Place]:
    """The phase crossovers at pi/T: of loci that are real and negative there."""
    return [
        (end, -math.log(-value.real), 1 if value.imag < 0.0 else -1)
        for value in values.tolist()
        if value.real < 0.0 and abs(value.imag) < _REAL * abs(value)
    ]


def _nearly_crosses(f: FloatArray, distance: FloatArray, *, mirrored: bool) -> BoolArray:
    """Where a followed value is next to 0, on one side of it, and turns back.

    Between three points it may go on as far as from one to the next, eight times what a parabola
    does. Of a curve that is `mirrored` at its end the last one has a neighbour on its right, too.
    """
    if mirrored:
        f, distance = np.vstack([f, f[-2]]), np.vstack([distance, distance[-2]])
    inner = np.abs(f[1:-1])
    turns = (inner < np.abs(f[:-2])) & (inner <= np.abs(f[2:]))
    steps = np.abs(np.diff(f, axis=0))
    turns &= (np.abs(distance[1:-1]) < _NEAR) & (inner < np.maximum(steps[:-1], steps[1:]))
    result: BoolArray = turns & (f[1:-1] * f[:-2] > 0.0) & (f[1:-1] * f[2:] > 0.0)
    return result


def _crossings_one_by_one(
    response: Matrices, w: FloatArray, loci: ComplexArray, end: float
) -> Crossings:
    """All crossovers, each bracketed on its own locus as those of a scalar loop, then polished."""
    found = [
        crossings_on(
            curve,
            w,
            locus,
            -np.pi / 2,
            end,
            reached=np.isfinite(end) and abs(locus[-1].imag) < _REAL * abs(locus[-1]),
        )
        for curve, locus in zip(loci_near(response, w, loci), loci.T, strict=True)
    ]
    gains = [(one.w, np.radians(one.phase_margin_deg), 0) for each in found for one in each.gain]
    phases = [(one.w, -np.log(one.gain), one.enters) for each in found for one in each.phase]
    polished = _polished(response, gains, -1j, end), _polished(response, phases, 1.0, end)
    return crossings_of(*polished, w, loci)


def crossings_of(
    gains: list[Place],
    phases: list[Place],
    w: FloatArray,
    loci: ComplexArray,
) -> Crossings:
    """Crossovers by their frequencies and what is left there: an angle, the logarithm of a gain."""
    return Crossings(
        tuple(GainCrossing(at, float(np.degrees(angle))) for at, angle, _ in gains),
        tuple(PhaseCrossing(at, float(np.exp(-more)), enters) for at, more, enters in phases),
        w,
        loci,
    )


def smallest_singular_value(response: Matrices, crossings: Crossings, *, fades: bool) -> float:
    """Return the minimum over w of the smallest singular value of I + L, 1 at most.

    Another disturbance of every link, of one relative size, needs this much at least.

    Parameters
    ----------
    response : callable
        L(jw), a matrix for each frequency.
    crossings : Crossings
        What was found on it.
    fades : bool
        Whether frequencies go on beyond those of the crossovers, with L ever smaller.
    """
    one = np.eye(crossings.values.shape[-1])

    def at(place: FloatArray) -> FloatArray:
        values: Any = np.linalg.svd(response(np.exp(place).ravel()) + one, compute_uv=False)
        return np.reshape(values[:, -1], place.shape)

    w = crossings.w
    sizes = at(np.log(w))
    # Beyond the last crossover that counts L may still be large: of a loop that is not stable, or
    # of one whose L is no multiple of a unitary matrix.
    for _ in range(_OCTAVES if fades else 0):
        step = float(np.max(np.diff(w)))
        more = w[-1] + step * np.arange(1, 2 + math.ceil(w[-1] / step))
        largest = float(np.max(np.linalg.norm(response(more), 2, axis=(-2, -1))))
        w, sizes = np.concatenate([w, more]), np.concatenate([sizes, at(np.log(more))])
        if largest < 1.0 - min(float(np.min(sizes)), _ALMOST):
            break
    x = np.log(w)
    padded = np.concatenate([[np.inf], sizes, [np.inf]])
    lowest = (sizes <= padded[:-2]) & (sizes <= padded[2:])
    lowest &= sizes < np.min(sizes) + 0.5 * (1.0 + np.min(sizes))  # as in `smallest_on_curve`
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
    """A frequency below which each eigenvalue stays as it is, or is large and falls as 1/w.

    As 1/w^2 where nothing but signals holds a queue: packets that take the link from others that
    wait, in more dual queues than there are classes of these, do not feel how long.
    """
    w = np.asarray(start / 100.0 / _QUARTER ** np.arange(_QUARTERS), float)
    values = np.linalg.eigvals(response(w))
    order, _, _ = match(values[:-1], values[1:])
    before = values[:-1]
    grows = np.log(np.take_along_axis(values[1:], order, axis=1) / before)
    flat = np.abs(grows) < _SETTLED
    falls = np.min([np.abs(grows - n * np.log(_QUARTER)) for n in (1, 2)], axis=0)
    falling = (falls < _SETTLED) & (np.abs(before) > 2.0)
    settled = np.all(flat | falling, axis=1)
    # Further down the small ones are what rounding makes of them.
    sizes = np.abs(values[1:])
    settled |= np.max(sizes, axis=1) > _RESOLVED * np.min(sizes, axis=1)
    # what is flat between two corners is not yet what it stays at
    settled = np.logical_and.accumulate(settled[::-1])[::-1]
    if not settled.any():
        raise SolverError(
            f"the eigenvalues of the loop do not settle down to {float(w[-1]):.3g} rad/s: check the"
            " rates of its laws."
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


def _polished(response: Matrices, found: list[Place], turn: complex, end: float) -> list[Place]:
    """Newton's method from what eigenvalues have shown; a step that is not small is not taken.

    Two crossings are then one, where the determinant has no slope.
    """
    if not found:
        return []
    found = sorted(found)
    start = np.array([place[:2] for place in found]).T
    start[0] = np.log(start[0])
    places, moved = _newton(response, start, turn, _POLISHING, largest=_SMALL)
    # At the end of a sampled loop L is real, and stays where it is.
    kept = (moved >= _SMALL) | (start[0] > np.log(end * (1.0 - 2e-6)))
    x, y = np.where(kept, start, places)
    enters = [place[2] for place in found]
    return list(zip(np.exp(x).tolist(), y.tolist(), enters, strict=True))


def _newton(
    response: Matrices,
    start: FloatArray,
    turn: complex | ComplexArray,
    rounds: int,
    largest: float = 0.5,
) -> tuple[FloatArray, FloatArray]:
    """Newton's method on det(I + e^(turn y) L(jw)) for x = ln w and y, columns of starts at once.

    The determinant does not know the labels of eigenvalues.

    Returns
    -------
    places : numpy.ndarray, shape (2, n)
    moved : shape (n,)
        How far the last step went; inf if one was larger than the `largest`.
    """
    x, y = start
    count = x.size
    moved = np.zeros(count)
    lost = np.zeros(count, dtype=bool)
    shifts = np.repeat([0.0, _SMALL, -_SMALL], count)
    for _ in range(rounds if count else 0):
        matrices = response(np.exp(np.tile(x, 3) + shifts))
        here, ahead, behind = matrices[:count], matrices[count : 2 * count], matrices[2 * count :]
        by_x = (_determinant(ahead, turn * y) - _determinant(behind, turn * y)) / (2 * _SMALL)
        beyond, before = (_determinant(here, turn * (y + h)) for h in (_SMALL, -_SMALL))
        by_y = (beyond - before) / (2 * _SMALL)
        value = _determinant(here, turn * y)
        area = by_x.real * by_y.imag - by_x.imag * by_y.real
        with np.errstate(divide="ignore", invalid="ignore"):
            in_x = (value.imag * by_y.real - value.real * by_y.imag) / area
            in_y = (value.real * by_x.imag - value.imag * by_x.real) / area
        moved = np.hypot(in_x, in_y)
        lost |= ~(moved < largest)
        x, y = np.where(lost, x, x + in_x), np.where(lost, y, y + in_y)
        if np.all(lost | (moved < _CONVERGED)):
            break
    return np.array([x, y]), np.where(lost, np.inf, moved)


def _determinant(matrices: ComplexArray, exponent: ComplexArray) -> ComplexArray:
    """det(I + e^exponent L)."""
    scaled = np.exp(exponent)[:, None, None] * matrices
    result: ComplexArray = np.linalg.det(np.eye(matrices.shape[-1]) + scaled)
    return result
