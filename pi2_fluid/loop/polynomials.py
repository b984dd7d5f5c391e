"""Polynomials of matrices, and polynomials in y = z^-1 told in other variables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray

_FAR: Final = 1e-30  # of its largest coefficient: instead of a leading one that is 0


def polynomial_roots(rising: Sequence[FloatArray]) -> ComplexArray:
    """Return the roots of polynomials, the first axis; very far ones for powers that some lack.

    Parameters
    ----------
    rising : sequence of array
        Coefficients in rising powers.
    """
    falling = np.stack(np.broadcast_arrays(*rising[::-1]), axis=-1).astype(float)
    degree = falling.shape[-1] - 1
    leading, size = falling[..., 0], np.max(np.abs(falling), axis=-1)
    leading = np.where(leading == 0.0, np.where(size > 0.0, _FAR * size, 1.0), leading)
    companion = np.zeros((*falling.shape[:-1], degree, degree))
    companion[..., 1:, :-1] = np.eye(max(degree - 1, 0))
    companion[..., :1, :] = (-falling[..., 1:] / leading[..., None])[..., None, :]
    found: Any = np.linalg.eigvals(companion)
    result: ComplexArray = np.moveaxis(found, -1, 0)
    return result


def resolvent(matrix: FloatArray) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return the coefficients in rising powers of y of det(1 - F y) and of its adjugate.

    By the recursion of Faddeev and LeVerrier. In falling powers of s they are those of s - F.
    """
    size = matrix.shape[-1]
    one = np.eye(size)
    determinant: list[Any] = [np.ones(matrix.shape[:-2])]
    adjugate: list[Any] = [np.broadcast_to(one, matrix.shape)]
    for order in range(1, size + 1):
        moved = matrix @ adjugate[-1]
        determinant.append(-np.trace(moved, axis1=-2, axis2=-1) / order)
        if order < size:
            adjugate.append(moved + determinant[-1][..., None, None] * one)
    return determinant, adjugate


def tustin_image(*sides: Sequence[FloatArray]) -> tuple[list[FloatArray], ...]:
    """Return the coefficients, rising in x, for y = (1 - x)/(1 + x), times (1 + x)^d of all.

    Sums of the coefficients, so that an integrator's 1 - y becomes 2x without cancellation.
    """
    basis = _tustin_basis(max(map(len, sides)) - 1)
    return tuple(_recombine(side, basis) for side in sides)


def in_steps(*sides: Sequence[FloatArray]) -> tuple[list[FloatArray], ...]:
    """Return the coefficients, rising, in powers of 1 - y."""
    basis = _held_basis(max(map(len, sides)) - 1)
    return tuple(_recombine(side, basis) for side in sides)


@cache
def _tustin_basis(degree: int) -> tuple[tuple[float, ...], ...]:
    """Coefficients, rising, of (1 - x)^j (1 + x)^(degree - j)."""
    minus, plus = (1.0, -1.0), (1.0, 1.0)
    return tuple(_product([minus] * j + [plus] * (degree - j)) for j in range(degree + 1))


@cache
def _held_basis(degree: int) -> tuple[tuple[float, ...], ...]:
    """Coefficients, rising, of y^j = (1 - x)^j in powers of x = 1 - y."""
    return tuple(_product([(1.0, -1.0)] * j) for j in range(degree + 1))


def _product(factors: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """The coefficients, rising, of a product of polynomials."""
    found = np.array([1.0])
    for one in factors:
        found = np.convolve(found, one)
    return tuple(found.tolist())


def _recombine(
    coefficients: Sequence[FloatArray], basis: tuple[tuple[float, ...], ...]
) -> list[FloatArray]:
    size = max(len(polynomial) for polynomial in basis)
    out: list[Any] = [0.0] * size
    for value, polynomial in zip(coefficients, basis, strict=False):
        for power, factor in enumerate(polynomial):
            out[power] = out[power] + value * factor
    return out
