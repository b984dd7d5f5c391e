"""Polynomials of one step: integrals and values of what is known at Gauss's instants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

STAGES: Final = 8
_x, _w = np.polynomial.legendre.leggauss(STAGES)
_LEGENDRE: Final = np.polynomial.legendre.legvander(_x, STAGES - 1)
_TO_LEGENDRE: Final = np.linalg.inv(_LEGENDRE)
_ORDERS: Final = np.arange(STAGES)

#: The instants, in parts of a step; none of them is an end, where the past may jump.
NODES: Final = 0.5 * (1.0 + _x)
#: Of the slopes at these instants: what they add up to until the end of a step of length 1.
WEIGHTS: Final = 0.5 * _w


def _integrals() -> FloatArray:
    """Return integrals until each of the instants."""
    upto = np.zeros((STAGES, STAGES))
    for k in range(STAGES):
        unit = np.zeros(k + 1)
        unit[k] = 1.0
        upto[:, k] = np.polynomial.legendre.legval(
            _x, np.polynomial.legendre.legint(unit, lbnd=-1.0)
        )
    result: FloatArray = 0.5 * upto @ _TO_LEGENDRE
    return result


#: Of the slopes: what they add up to until each of the instants.
INTEGRALS: Final[FloatArray] = _integrals()
#: The two highest Legendre coefficients.
HIGHEST: Final = _TO_LEGENDRE[-2:]


def weights_at(parts: FloatArray) -> FloatArray:
    """Return the weights of the values at Gauss's instants in those at some parts of a step.

    Parameters
    ----------
    parts : array, shape (n,)
        From 0 to 1, a little beyond at most.

    Returns
    -------
    array, shape (n, STAGES)
    """
    x = 2.0 * parts - 1.0
    rows = np.empty((STAGES, len(x)))
    rows[0], rows[1] = 1.0, x
    for k in range(2, STAGES):  # Bonnet's recursion
        rows[k] = ((2 * k - 1) * x * rows[k - 1] - (k - 1) * rows[k - 2]) / k
    result: FloatArray = rows.T @ _TO_LEGENDRE
    return result
