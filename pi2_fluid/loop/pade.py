"""The loop as a rational transfer function, each delay replaced by a Pade approximation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.polynomial import Polynomial

from pi2_fluid.errors import DomainError, UnsupportedError
from pi2_fluid.loop.state_space import LinearLoop

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pi2_fluid.values import FloatArray


def pade_transfer_function(loop: LinearLoop, update: str, order: int) -> Any:
    """Return a `control.TransferFunction` close to the loop at low and medium frequency.

    Parameters
    ----------
    loop : LinearLoop
        A scalar loop.
    update : {"continuous", "delayed"}
    order : int
        Of each Pade approximation, 1 to 12 (python-control's fails above about 15).

    Raises
    ------
    UnsupportedError
        For sampled loops and for senders with several states.
    """
    import control

    if update == "sampled":
        raise UnsupportedError(
            'a sampled loop is not rational in s: use kind="ss" or "frd", or update="delayed".'
        )
    if any(cls.size > 1 for cls in loop.classes):
        raise UnsupportedError(
            'senders with several states have no polynomials here: use kind="ss" or "frd".'
        )
    if not 1 <= order <= 12:
        raise DomainError(f"order = {order} is outside [1, 12]: give e.g. 5.")
    # Time in units of the longest round trip keeps the coefficients near 1.
    unit = max(float(cls.rtt) for cls in loop.classes)
    s = Polynomial([0.0, 1.0 / unit])
    drive, feedback, common = Polynomial([0.0]), Polynomial([0.0]), Polynomial([1.0])
    constant = 0.0
    for cls in loop.classes:
        top, bottom = (_rising(x) for x in control.pade(float(cls.rtt) / unit, order))
        own = (s - float(cls.a0)) * bottom - float(cls.a1) * top
        weight = float(cls.weight) * float(cls.c)
        # sums of fractions over a common denominator, class by class
        ahead = 1.0 + (0.0 if cls.lead is None else float(cls.lead)) * s
        drive = drive * own - weight * float(cls.b) * ahead * top * common
        feedback = feedback * own + weight * (float(cls.e0) * bottom + float(cls.e1) * top) * common
        common = common * own
        constant += float(cls.weight * cls.r)
    top_c, bottom_c, own_unit = loop.controller.continuous_image
    x = s * float(own_unit)
    numerator = Polynomial([float(value) for value in top_c])(x) * drive
    denominator = Polynomial([float(value) for value in bottom_c])(x)
    denominator = denominator * ((s - constant) * common - feedback)
    if update == "delayed":
        half = float(loop.controller.interval) / (2 * unit)
        top, bottom = (_rising(x) for x in control.pade(half, order))
        numerator, denominator = numerator * top, denominator * bottom
    return control.TransferFunction(_falling(numerator, unit), _falling(denominator, unit))


def _rising(coefficients: ArrayLike) -> Polynomial:
    return Polynomial(np.asarray(coefficients, dtype=float)[::-1])


def _falling(polynomial: Polynomial, unit: float) -> FloatArray:
    """Coefficients for `control`, highest power first, in seconds again."""
    coefficients = np.asarray(polynomial.coef, dtype=float)
    coefficients = coefficients * unit ** np.arange(coefficients.size)
    result: FloatArray = coefficients[::-1]
    return result
