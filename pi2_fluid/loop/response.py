"""L(s) of a linearised loop, and the entire function whose zeros are the closed loop's modes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from pi2_fluid.loop.state_space import LinearClass, LinearController, LinearLoop

__all__ = [
    "characteristic",
    "characteristic_degree",
    "controller_polynomials",
    "held_polynomials",
    "integrators",
    "loop_response",
    "open_characteristic",
    "plant_response",
    "tustin_image",
]


def loop_response(loop: LinearLoop, s: Any, *, half_sample: bool = False) -> Any:
    """Return L(s), so that 1 + L = 0 is the characteristic equation.

    Parameters
    ----------
    loop : LinearLoop
        Of any shape; it broadcasts against `s`.
    s : complex or array
        Complex frequency in rad/s, not 0.
    half_sample : bool
        Multiply by e^{-sT/2}, the mean delay of a signal held for T.
    """
    numerator, denominator = controller_polynomials(loop.controller, s)
    extra = np.exp(-s * loop.controller.interval / 2) if half_sample else 1.0
    return numerator / denominator * plant_response(loop, s) * extra


def integrators(loop: LinearLoop) -> int:
    """Return the number of poles of L at s = 0; its phase starts at -90 degrees times it."""
    slowest = max(float(cls.rtt) for cls in loop.classes)
    angle = float(np.angle(loop_response(loop, np.array([1e-30j / slowest]))[0]))
    return round((-angle if angle < np.pi / 2 else 2 * np.pi - angle) / (np.pi / 2))


def plant_response(loop: LinearLoop, s: Any) -> Any:
    """Return G(s): from the controller's variable to minus the queue delay."""
    drive, feedback = _plant_parts(loop, s)
    return drive / (s - feedback)


def controller_polynomials(controller: LinearController, s: Any) -> tuple[Any, Any]:
    """Return numerator and denominator, polynomials in s, of the update's bilinear (Tustin) image.

    The controller's y = z^-1 becomes (1 - x)/(1 + x), x = sT/2; both are multiplied by (1 + x)^d.
    """
    x = s * controller.interval / 2
    top, bottom = tustin_image(controller)
    return _evaluate(top, x), _evaluate(bottom, x)


def held_polynomials(controller: LinearController, s: Any) -> tuple[Any, Any]:
    """Return numerator and denominator of the update D(y) itself, at y = e^{-sT}."""
    step = -np.expm1(-s * controller.interval)  # 1 - y, exact at low frequency
    basis = _held_basis(max(len(controller.numerator), len(controller.denominator)) - 1)
    top = _recombine(controller.numerator, basis)
    bottom = _recombine(controller.denominator, basis)
    return _evaluate(top, step), _evaluate(bottom, step)


def tustin_image(controller: LinearController) -> tuple[list[Any], list[Any]]:
    """Return the coefficients of both polynomials in rising powers of x = sT/2.

    Sums of the coefficients, so that the integrator's 1 - y becomes 2x without cancellation.
    """
    basis = _tustin_basis(max(len(controller.numerator), len(controller.denominator)) - 1)
    return _recombine(controller.numerator, basis), _recombine(controller.denominator, basis)


@cache
def _tustin_basis(degree: int) -> tuple[tuple[float, ...], ...]:
    """Coefficients, rising, of (1 - x)^j (1 + x)^(degree - j)."""
    minus, plus = Polynomial([1.0, -1.0]), Polynomial([1.0, 1.0])
    return tuple(tuple((minus**j * plus ** (degree - j)).coef) for j in range(degree + 1))


@cache
def _held_basis(degree: int) -> tuple[tuple[float, ...], ...]:
    """Coefficients, rising, of y^j = (1 - x)^j in powers of x = 1 - y."""
    return tuple(tuple((Polynomial([1.0, -1.0]) ** j).coef) for j in range(degree + 1))


def _recombine(coefficients: tuple[Any, ...], basis: tuple[tuple[float, ...], ...]) -> list[Any]:
    size = max(len(polynomial) for polynomial in basis)
    out: list[Any] = [0.0] * size
    for value, polynomial in zip(coefficients, basis, strict=False):
        for power, factor in enumerate(polynomial):
            out[power] = out[power] + value * factor
    return out


def _evaluate(coefficients: list[Any], x: Any) -> Any:
    total: Any = coefficients[-1] + 0.0 * x
    for value in reversed(coefficients[:-1]):
        total = total * x + value
    return total


def characteristic(loop: LinearLoop, s: Any, *, half_sample: bool = False) -> Any:
    """Return the characteristic function: entire in s, its zeros are the closed loop's modes.

    Normalised so that it behaves as s^n for large s, n = `characteristic_degree`.
    """
    numerator, denominator = controller_polynomials(loop.controller, s)
    drive, feedback = _plant_parts(loop, s)
    extra = np.exp(-s * loop.controller.interval / 2) if half_sample else 1.0
    closed = denominator * (s - feedback) + numerator * drive * extra
    return closed * _sender_determinants(loop, s) / _leading(loop.controller)


def open_characteristic(loop: LinearLoop, s: Any) -> Any:
    """Return the characteristic function of senders and queue alone, without the controller."""
    _, feedback = _plant_parts(loop, s)
    return (s - feedback) * _sender_determinants(loop, s)


def characteristic_degree(loop: LinearLoop) -> tuple[int, int]:
    """Return the degrees of `characteristic` and `open_characteristic`."""
    open_degree = 1 + sum(cls.size for cls in loop.classes)
    controller = max(len(loop.controller.numerator), len(loop.controller.denominator)) - 1
    return open_degree + controller, open_degree


def _leading(controller: LinearController) -> Any:
    """The coefficient of the highest power of s in the controller's denominator."""
    bottom = tustin_image(controller)[1]
    return bottom[-1] * (controller.interval / 2) ** (len(bottom) - 1)


def _plant_parts(loop: LinearLoop, s: Any) -> tuple[Any, Any]:
    """Return (drive, feedback): the queue obeys s d = -drive u + feedback d."""
    drive, feedback = 0.0, 0.0
    for cls in loop.classes:
        e = np.exp(-s * cls.rtt)
        from_u, from_delay = _respond(cls, s, e)
        drive = drive - cls.weight * from_u * e
        feedback = feedback + cls.weight * (cls.r + from_delay)
    return drive, feedback


def _respond(cls: LinearClass, s: Any, e: Any) -> tuple[Any, Any]:
    """Return c Phi b and c Phi (e0 + e1 e) with Phi = (s - A0 - A1 e)^-1."""
    if cls.size == 1:
        gain = cls.c / (s - cls.a0 - cls.a1 * e)
        return gain * cls.b, gain * (cls.e0 + cls.e1 * e)
    s, e = np.asarray(s)[..., None, None], np.asarray(e)[..., None]
    right = np.stack(np.broadcast_arrays(cls.b + 0 * e, cls.e0 + cls.e1 * e), axis=-1)
    solved = np.linalg.solve(s * np.eye(cls.size) - cls.a0 - cls.a1 * e[..., None], right)
    out = np.einsum("...i,...ij->...j", np.broadcast_to(cls.c, solved.shape[:-1]), solved)
    return out[..., 0], out[..., 1]


def _sender_determinants(loop: LinearLoop, s: Any) -> Any:
    product: Any = 1.0
    for cls in loop.classes:
        e = np.exp(-s * cls.rtt)
        if cls.size == 1:
            product = product * (s - cls.a0 - cls.a1 * e)
        else:
            full, delayed = np.asarray(s)[..., None, None], np.asarray(e)[..., None, None]
            product = product * np.linalg.det(full * np.eye(cls.size) - cls.a0 - cls.a1 * delayed)
    return product
