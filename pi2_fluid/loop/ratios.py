"""What a class of flows answers as ratios of polynomials in s and e = e^{-sR}, for compiled code.

With M = s - A0 - A1 e its rate answers to the controller's variable of one round trip ago as
c adj(M) b / det M, and to the queue delay as r + c adj(M) (e0 + e1 e) / det M.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from pi2_fluid.loop.state_space import LinearClass

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Real

MOST_STATES: Final = 4

#: Coefficients by the powers of s and of e; those that are missing are 0.
_Polynomial: TypeAlias = "dict[tuple[int, int], FloatArray]"
_Matrix: TypeAlias = list[list[_Polynomial]]


class Ratios(NamedTuple):
    """Polynomials of a class of n states; entry i (n + 1) + j is the coefficient of s^i e^j."""

    own: list[FloatArray]
    """det M."""
    signal: list[FloatArray]
    """c adj(M) b."""
    delay: list[FloatArray]
    """c adj(M) (e0 + e1 e)."""


def described(cls: LinearClass) -> tuple[dict[str, list[FloatArray]], dict[str, Real]]:
    """Return all that compiled code asks of a class, by name: polynomials, and single numbers."""
    numbers: dict[str, Real] = {"r": cls.r, "weight": cls.weight, "rtt": cls.rtt, **norms_of(cls)}
    numbers["lead"] = 0.0 if cls.lead is None else cls.lead
    return ratios_of(cls)._asdict(), numbers


def ratios_of(cls: LinearClass) -> Ratios:
    """Return the polynomials of a class, whose numbers may be arrays."""
    n = cls.size
    a0, a1 = (_as_matrix(value, n) for value in (cls.a0, cls.a1))
    b, e0, e1, c = (_as_vector(value, n) for value in (cls.b, cls.e0, cls.e1, cls.c))
    one = np.ones(())
    matrix: _Matrix = [
        [
            _added({(1, 0): one} if i == j else {}, _entry(-a0[i][j], -a1[i][j]), 1.0)
            for j in range(n)
        ]
        for i in range(n)
    ]
    row = [_entry(value) for value in c]
    heard = [_entry(value) for value in b]
    felt = [_entry(now, before) for now, before in zip(e0, e1, strict=True)]
    return Ratios(
        _flat(_determinant(matrix), n),
        _flat(_through(matrix, row, heard), n),
        _flat(_through(matrix, row, felt), n),
    )


def norms_of(cls: LinearClass) -> dict[str, FloatArray]:
    """Return the norms by which the class's answer is bounded at high frequency.

    ``rates`` of A0 plus that of A1, ``heard`` of b, ``shown`` of c, ``felt`` of e0 plus that of e1.
    """
    if cls.size == 1:
        a0, a1, b, c, e0, e1 = (
            np.abs(value) for value in (cls.a0, cls.a1, cls.b, cls.c, cls.e0, cls.e1)
        )
    else:
        a0, a1 = (np.linalg.norm(value, 2, axis=(-2, -1)) for value in (cls.a0, cls.a1))
        b, c, e0, e1 = (np.linalg.norm(value, axis=-1) for value in (cls.b, cls.c, cls.e0, cls.e1))
    return {"rates": a0 + a1, "heard": b, "shown": c, "felt": e0 + e1}


def _as_matrix(value: FloatArray, n: int) -> list[list[FloatArray]]:
    if n == 1:
        return [[np.asarray(value)]]
    return [[value[..., i, j] for j in range(n)] for i in range(n)]


def _as_vector(value: FloatArray, n: int) -> list[FloatArray]:
    return [np.asarray(value)] if n == 1 else [value[..., i] for i in range(n)]


def _entry(*by_power_of_e: FloatArray) -> _Polynomial:
    return {(0, j): value for j, value in enumerate(by_power_of_e) if np.any(value)}


def _added(a: _Polynomial, b: _Polynomial, sign: float) -> _Polynomial:
    total = dict(a)
    for key, value in b.items():
        total[key] = total[key] + sign * value if key in total else sign * value
    return total


def _times(a: _Polynomial, b: _Polynomial) -> _Polynomial:
    product: _Polynomial = {}
    for (i, j), one in a.items():
        for (k, m), other in b.items():
            product = _added(product, {(i + k, j + m): one * other}, 1.0)
    return product


def _determinant(matrix: _Matrix) -> _Polynomial:
    """By minors: no division, and no powers that cancel."""
    if not matrix:
        return {(0, 0): np.ones(())}
    total: _Polynomial = {}
    for j, entry in enumerate(matrix[0]):
        if entry:
            minor = [row[:j] + row[j + 1 :] for row in matrix[1:]]
            total = _added(total, _times(entry, _determinant(minor)), (-1.0) ** j)
    return total


def _through(matrix: _Matrix, row: list[_Polynomial], column: list[_Polynomial]) -> _Polynomial:
    """Row times adjugate times column: minus the determinant with both as a border."""
    bordered = [[*line, entry] for line, entry in zip(matrix, column, strict=True)]
    return _added({}, _determinant([*bordered, [*row, {}]]), -1.0)


def _flat(polynomial: _Polynomial, n: int) -> list[FloatArray]:
    none = np.zeros(())
    return [polynomial.get((i, j), none) for i in range(n + 1) for j in range(n + 1)]
