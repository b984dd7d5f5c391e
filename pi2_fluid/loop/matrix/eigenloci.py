"""Eigenvalues of L(jw) followed over frequency, each as a curve of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from pi2_fluid.errors import SolverError

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, ComplexArray, Curve, FloatArray, IntArray

#: A matrix for each of several frequencies (rad/s).
Matrices: TypeAlias = "Callable[[FloatArray], ComplexArray]"

_STEP: Final = 0.4  # largest |ln(e/e')| between neighbours
_ROUNDS: Final = 60
_MOST_POINTS: Final = 200_000
_NEAR: Final = 0.5  # of a level whose crossings are looked for
_FAR: Final = 1e9  # instead of the distance from an eigenvalue that is 0


def follow(response: Matrices, grid: FloatArray) -> tuple[FloatArray, ComplexArray]:
    """Return a refined grid, and the eigenvalues there as columns, each followed from the first.

    Neighbours are matched by minimal assignment on |ln(e/e')|^2, and differ by less than 0.4 in
    phase and in ln|e|. Where loci that are close to one another are close to the unit circle or to
    the negative axis, cells are halved until it is clear which is which: two that were taken for
    each other could cross in opposite directions, unseen.
    """
    w, values = grid, np.linalg.eigvals(response(grid))
    for _ in range(_ROUNDS):
        order, steps, mixed = match(values[:-1], values[1:])
        wide = (np.max(steps, axis=1) > _STEP) | mixed
        wide &= np.diff(w) > 1e-12 * w[1:]
        if not wide.any():
            return w, _as_columns(values, order)
        if w.size > _MOST_POINTS:
            break
        middle = np.sqrt(w[:-1][wide] * w[1:][wide])
        at = np.flatnonzero(wide) + 1
        w = np.insert(w, at, middle)
        values = np.insert(values, at, np.linalg.eigvals(response(middle)), axis=0)
    raise SolverError(
        f"the eigenvalues of the loop could not be followed within {_MOST_POINTS} points: change a"
        " capacity or a count a little."
    )


def match(left: ComplexArray, right: ComplexArray) -> tuple[IntArray, FloatArray, BoolArray]:
    """Match rows of eigenvalues: which on the right each on the left becomes, and how far it goes.

    Returns
    -------
    order : numpy.ndarray of int, shape (n, L)
    steps : shape (n, L)
        |ln(e/e')|.
    mixed : numpy.ndarray of bool, shape (n,)
        Whether two that are near a level could as well be each other.
    """
    far = _distances(left, right)
    order = _assigned(far)
    steps = np.take_along_axis(far, order[:, :, None], axis=2)[:, :, 0]
    count = left.shape[1]
    mixed = np.zeros(len(left), dtype=bool)
    if count > 1:
        after = np.take_along_axis(right, order, axis=1)
        near = _near_level(left) | _near_level(after)
        apart, apart_after = _distances(left, left), _distances(after, after)
        # Of two that stay together it does not matter which is which.
        pair = np.maximum(steps[:, :, None], steps[:, None, :])
        moves = np.maximum(apart, apart_after) > 0.25 * pair
        close = np.minimum(apart, apart_after) < 2.0 * pair
        both = near[:, :, None] & near[:, None, :] & ~np.eye(count, dtype=bool)
        mixed |= np.any(both & moves & close, axis=(1, 2))
    return order, steps, mixed


def loci_near(response: Matrices, w: FloatArray, loci: ComplexArray) -> list[Curve]:
    """Return each locus as a curve: the eigenvalues matched to where all were followed."""
    x, size, phase = np.log(w), np.log(np.abs(loci)), np.unwrap(np.angle(loci), axis=0)

    def at(frequency: FloatArray, locus: int) -> ComplexArray:
        place = np.log(frequency).ravel()
        values = np.linalg.eigvals(response(np.ravel(frequency)))
        guess = np.exp(
            np.array(
                [
                    np.interp(place, x, size[:, k]) + 1j * np.interp(place, x, phase[:, k])
                    for k in range(loci.shape[1])
                ]
            ).T
        )
        order = _assigned(_distances(guess, values))
        found = np.take_along_axis(values, order, axis=1)[:, locus]
        result: ComplexArray = found.reshape(np.shape(frequency))
        return result

    return [partial(at, locus=locus) for locus in range(loci.shape[1])]


def _assigned(far: FloatArray) -> IntArray:
    """Which on the right each on the left is, row by row: the least sum of squared distances.

    Squares tell two apart that have gone the same way, side by side; distances may not.
    """
    order: IntArray = np.argmin(far, axis=2)
    unclear = np.any(np.sort(order, axis=1) != np.arange(far.shape[1]), axis=1)
    if unclear.any():
        from scipy.optimize import linear_sum_assignment

        for row in np.flatnonzero(unclear):
            order[row] = linear_sum_assignment(far[row] ** 2)[1]
    return order


def _distances(left: ComplexArray, right: ComplexArray) -> FloatArray:
    """|ln(e/e')| of every pair, (n, left, right)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.abs(np.log(left[:, :, None] / right[:, None, :]))
    result: FloatArray = np.where(np.isfinite(far), far, _FAR)
    return result


def _near_level(values: ComplexArray) -> BoolArray:
    """Whether a value is near the unit circle or the negative axis."""
    with np.errstate(divide="ignore"):
        on_circle = np.abs(np.log(np.abs(values))) < _NEAR
    result: BoolArray = on_circle | (np.abs(np.angle(-values)) < _NEAR)
    return result


def _as_columns(values: ComplexArray, order: IntArray) -> ComplexArray:
    columns = np.empty_like(values)
    place = np.argsort(-np.abs(values[0]))
    columns[0] = values[0][place]
    for row, following in enumerate(order, start=1):
        place = following[place]
        columns[row] = values[row][place]
    return columns
