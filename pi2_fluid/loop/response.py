"""L(s) of a linearised loop, and the entire function whose zeros are the closed loop's modes."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.loop.state_space import AnyLoop, LinearClass, LinearController, LinearLoop

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray, IntArray

_LOW: Final = 1e-30  # times 1/R: below every corner
_STEP: Final = 100.0


def loop_response(loop: AnyLoop, s: ComplexArray, *, half_sample: bool = False) -> ComplexArray:
    """Return L(s), so that 1 + L = 0 is the characteristic equation.

    Parameters
    ----------
    loop : AnyLoop
        Of any shape; it broadcasts against `s`.
    s : complex or array
        Complex frequency in rad/s, not 0.
    half_sample : bool
        Multiply by e^{-sT/2}, the mean delay of a signal held for T. Only if the controller ticks.
    """
    numerator, denominator = controller_polynomials(loop.controller, s)
    extra = np.exp(-s * loop.controller.interval / 2) if half_sample else 1.0
    return numerator / denominator * plant_response(loop, s) * extra


class Asymptote(NamedTuple):
    """What L is at low frequency: a real number over s^order."""

    order: IntArray
    """Poles at 0, less zeros there."""
    value: FloatArray
    """That number."""
    angle: FloatArray
    """The phase of L(jw) as w -> 0 (rad): -90 degrees for each pole, and half a turn less if the
    number is negative."""


def asymptote_of(loop: AnyLoop) -> Asymptote:
    """Return what L is at low frequency, of an array of loops."""
    low = _LOW / np.max(np.broadcast_arrays(*(cls.rtt for cls in loop.classes)), axis=0)
    first, second = (loop_response(loop, 1j * w) for w in (low, _STEP * low))
    order = np.round(-np.log(np.abs(second) / np.abs(first)) / np.log(_STEP))
    value: Any = np.real(first * np.exp(0.5j * np.pi * order)) * low**order
    angle: FloatArray = -0.5 * np.pi * order - np.pi * (value < 0.0)
    return Asymptote(order.astype(np.int64), value, angle)


def integrators(loop: AnyLoop) -> IntArray:
    """Return the number of poles of L at s = 0."""
    return asymptote_of(loop).order


@singledispatch
def plant_response(loop: AnyLoop, s: ComplexArray) -> ComplexArray:
    """Return G(s): from the controller's variable to minus the queue delay."""
    raise NotImplementedError(type(loop).__name__)


@plant_response.register(LinearLoop)
def _of_rates(loop: LinearLoop, s: ComplexArray) -> ComplexArray:
    drives, feedback = _plant_parts(loop, s)
    result: ComplexArray = sum(drives, 0.0) / (s - feedback)
    return result


@singledispatch
def class_responses(loop: AnyLoop, s: ComplexArray) -> list[ComplexArray]:
    """Return G(s) class by class: from what each hears alone to minus the queue delay.

    Parameters
    ----------
    loop : AnyLoop
        Of any shape; it broadcasts against `s`.
    s : complex or array
        rad/s, not 0.

    Returns
    -------
    list of numpy.ndarray
        One for each of the loop's classes; their sum is `plant_response`.
    """
    raise NotImplementedError(type(loop).__name__)


@class_responses.register(LinearLoop)
def _of_each_rate(loop: LinearLoop, s: ComplexArray) -> list[ComplexArray]:
    drives, feedback = _plant_parts(loop, s)
    return [drive / (s - feedback) for drive in drives]


def controller_polynomials(
    controller: LinearController, s: ComplexArray
) -> tuple[ComplexArray, ComplexArray]:
    """Return numerator and denominator of the controller in continuous time: polynomials in s.

    Of an update, its bilinear (Tustin) image: y = z^-1 becomes (1 - x)/(1 + x), x = sT/2, and both
    are multiplied by (1 + x)^d.
    """
    top, bottom, unit = controller.continuous_image
    return _evaluate(top, s * unit), _evaluate(bottom, s * unit)


def held_polynomials(
    controller: LinearController, s: ComplexArray
) -> tuple[ComplexArray, ComplexArray]:
    """Return numerator and denominator of the update D(y) itself, at y = e^{-sT}."""
    step = -np.expm1(-s * controller.interval)  # 1 - y, exact at low frequency
    top, bottom = controller.in_steps
    return _evaluate(top, step), _evaluate(bottom, step)


def _evaluate(coefficients: list[FloatArray], x: ComplexArray) -> ComplexArray:
    total: Any = coefficients[-1] + 0.0 * x
    for value in reversed(coefficients[:-1]):
        total = total * x + value
    result: ComplexArray = total
    return result


def characteristic(
    loop: LinearLoop,
    s: ComplexArray,
    *,
    half_sample: bool = False,
    scale: float | None = None,
    closed: bool = True,
) -> ComplexArray:
    """Return the characteristic function: entire in s, its zeros are the closed loop's modes.

    Normalised so that it behaves as s^n for large s, n = `characteristic_degree`; with a `scale`,
    over (s + scale)^n, factor by factor: of many classes the powers alone would overflow; and over
    the size of their own determinants. If not `closed`, the open loop's poles instead.
    """
    numerator, denominator = controller_polynomials(loop.controller, s)
    drive, plant = _entire_parts(loop, s, scale)
    found = denominator * plant
    if closed:
        extra = np.exp(-s * loop.controller.interval / 2) if half_sample else 1.0
        found = found + numerator * drive * extra
    found = found / leading_coefficient(loop.controller)
    return (
        found if scale is None else found / (s + scale) ** (1 + controller_order(loop.controller))
    )


def open_characteristic(loop: LinearLoop, s: ComplexArray, scale: float) -> ComplexArray:
    """Return the same of senders and queue alone, without the controller."""
    return _entire_parts(loop, s, scale)[1] / (s + scale)


def characteristic_degree(loop: LinearLoop) -> tuple[int, int]:
    """Return the degrees of `characteristic` and `open_characteristic`."""
    open_degree = 1 + sum(cls.size for cls in loop.classes)
    return open_degree + controller_order(loop.controller), open_degree


def controller_order(controller: LinearController) -> int:
    """Return the number of poles of a controller in continuous time."""
    return len(controller.continuous_image[1]) - 1


def leading_coefficient(controller: LinearController) -> FloatArray:
    """Return the coefficient of the highest power of s in the controller's denominator."""
    _, bottom, unit = controller.continuous_image
    return bottom[-1] * unit ** (len(bottom) - 1)


def _plant_parts(loop: LinearLoop, s: ComplexArray) -> tuple[list[ComplexArray], ComplexArray]:
    """Return (drives, feedback): the queue obeys s d = -(sum of drives) u + feedback d."""
    drives: list[ComplexArray] = []
    feedback: Any = 0.0
    for cls in loop.classes:
        e = np.exp(-s * cls.rtt)
        from_u, from_delay = class_response(cls, s, e)
        ahead = 1.0 if cls.lead is None else 1.0 + cls.lead * s
        drives.append(-cls.weight * ahead * from_u * e)
        feedback = feedback + cls.weight * (cls.r + from_delay)
    return drives, feedback


def class_response(
    cls: LinearClass, s: ComplexArray, e: ComplexArray
) -> tuple[ComplexArray, ComplexArray]:
    """Return c Phi b and c Phi (e0 + e1 e) with Phi = (s - A0 - A1 e)^-1 and e = e^{-s rtt}."""
    if cls.size == 1:
        gain = cls.c / (s - cls.a0 - cls.a1 * e)
        return gain * cls.b, gain * (cls.e0 + cls.e1 * e)
    s, e = np.asarray(s)[..., None, None], np.asarray(e)[..., None]
    right = np.stack(np.broadcast_arrays(cls.b + 0 * e, cls.e0 + cls.e1 * e), axis=-1)
    solved = np.linalg.solve(s * np.eye(cls.size) - cls.a0 - cls.a1 * e[..., None], right)
    out = np.einsum("...i,...ij->...j", np.broadcast_to(cls.c, solved.shape[:-1]), solved)
    return out[..., 0], out[..., 1]


def _entire_parts(
    loop: LinearLoop, s: ComplexArray, scale: float | None
) -> tuple[ComplexArray, ComplexArray]:
    """Return drive and s - feedback, both times the senders' determinants, without a division.

    With a `scale` each determinant, of degree n, is over (s + scale)^n and of size 1, if it is not
    0: of what winds, no size matters, and that of many would underflow.

    A mode that a class keeps to itself (the controller does not move it, or the rate does not show
    it) is a zero of its determinant that cancels: dividing there would be 0/0.
    """
    plant = s + 0.0 * s
    drive: Any = 0.0
    product: Any = 1.0
    for cls in loop.classes:
        e = np.exp(-s * cls.rtt)
        from_u, from_delay, determinant = _numerators(cls, s, e)
        if scale is not None:
            unit = (s + scale) ** cls.size
            size = np.abs(determinant / unit)
            unit = unit * np.where(size > 0.0, size, 1.0)
            from_u, from_delay, determinant = from_u / unit, from_delay / unit, determinant / unit
        ahead = 1.0 if cls.lead is None else 1.0 + cls.lead * s
        drive = drive * determinant - cls.weight * ahead * from_u * e * product
        plant = plant * determinant
        plant = plant - cls.weight * (cls.r * determinant + from_delay) * product
        product = product * determinant
    return drive, plant


def _numerators(
    cls: LinearClass, s: ComplexArray, e: ComplexArray
) -> tuple[ComplexArray, ComplexArray, ComplexArray]:
    """Return c adj(M) b, c adj(M) (e0 + e1 e) and det M, with M = s - A0 - A1 e."""
    if cls.size == 1:
        from_u: Any = cls.c * cls.b
        return from_u, cls.c * (cls.e0 + cls.e1 * e), s - cls.a0 - cls.a1 * e
    n, matrix = cls.size, _own_matrix(cls, s, e)
    delayed = np.asarray(e)[..., None, None]
    bordered = np.zeros((2, *matrix.shape[:-2], n + 1, n + 1), dtype=complex)
    bordered[..., :n, :n], bordered[..., n, :n] = matrix, cls.c
    bordered[0, ..., :n, n] = cls.b
    bordered[1, ..., :n, n] = cls.e0 + cls.e1 * delayed[..., 0]
    from_u, from_delay = -np.linalg.det(bordered)
    return from_u, from_delay, np.linalg.det(matrix)


def class_determinant(cls: LinearClass, s: ComplexArray, e: ComplexArray) -> ComplexArray:
    """Return det(s - A0 - A1 e), of degree n: what a class would do by itself."""
    if cls.size == 1:
        return s - cls.a0 - cls.a1 * e
    result: ComplexArray = np.linalg.det(_own_matrix(cls, s, e))
    return result


def _own_matrix(cls: LinearClass, s: ComplexArray, e: ComplexArray) -> ComplexArray:
    full, delayed = np.asarray(s)[..., None, None], np.asarray(e)[..., None, None]
    result: ComplexArray = full * np.eye(cls.size) - cls.a0 - cls.a1 * delayed
    return result
