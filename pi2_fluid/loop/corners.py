"""Where a loop's response bends: its poles and zeros, as they are at low frequency.

Delays are taken to first order there, e^{-sR} = 1, so that what has none is exact. Below the
slowest corner L is its asymptote; one that is hardly damped may bend the response in less than the
distance of two frequencies of a grid, and is a landmark of it.
"""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.ascending import ascending
from pi2_fluid.loop.polynomials import polynomial_roots
from pi2_fluid.loop.ratios import MOST_STATES, ratios_of
from pi2_fluid.loop.state_space import AnyLoop, LinearClass, LinearLoop

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, ComplexArray, FloatArray

_DAMPED: Final = 0.2  # of the imaginary part: from there on a grid shows what a corner does
_UNDAMPED: Final = 1e-9
_AROUND: Final = np.array([-4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0])  # times its real part


def corners_of(loop: LinearLoop) -> ComplexArray:
    """Return poles and zeros of an array of loops (rad/s), the first axis.

    Zeros of several classes together are not among them.
    """
    controller = loop.controller
    top, bottom, unit = controller.continuous_image
    found = [polynomial_roots(side) / unit for side in (top, bottom)]
    coupled = any(np.any(cls.e0) or np.any(cls.e1) for cls in loop.classes)
    if coupled or any(cls.size > 1 for cls in loop.classes):
        poles: Any = np.linalg.eigvals(_still_matrix(loop))
        found.append(np.moveaxis(poles, -1, 0))
    else:
        own = [np.asarray(cls.a0 + cls.a1, complex)[None] for cls in loop.classes]
        queue = sum(np.asarray(cls.weight * cls.r, complex) for cls in loop.classes)
        found += [*own, np.asarray(queue)[None]]
    for cls in loop.classes:
        if cls.size > 1:
            found.append(_class_zeros(cls))
        if cls.lead is not None:
            lead: Any = np.where(cls.lead == 0.0, np.inf, cls.lead)
            found.append(np.asarray(-1.0 / lead, complex)[None])
    shape = np.broadcast_shapes(*(part.shape[1:] for part in found))
    return np.concatenate([np.broadcast_to(part, (len(part), *shape)) for part in found])


def hardly_damped(corners: ComplexArray) -> BoolArray:
    """Return which corners turn a response within a narrow range of frequencies."""
    result: BoolArray = np.abs(corners.real) < _DAMPED * np.abs(corners.imag)
    return result


@singledispatch
def slowest_corner(loop: AnyLoop) -> FloatArray:
    """Return the slowest corner of each loop but those at 0 (rad/s); no delay is slower."""
    raise NotImplementedError(type(loop).__name__)


@slowest_corner.register(LinearLoop)
def _slowest_of_rates(loop: LinearLoop) -> FloatArray:
    sizes = np.abs(corners_of(loop))
    rates = [np.asarray(1.0 / cls.rtt) for cls in loop.classes]
    least = np.min(np.where(sizes == 0.0, np.inf, sizes), axis=0)
    result: FloatArray = np.min(np.broadcast_arrays(least, *rates), axis=0)
    return result


@singledispatch
def landmarks_of(loop: AnyLoop, high: float) -> FloatArray:
    """Return frequencies (rad/s) up to one that a grid must not miss, of a scalar loop."""
    raise NotImplementedError(type(loop).__name__)


@landmarks_of.register(LinearLoop)
def _around_resonances(loop: LinearLoop, high: float) -> FloatArray:
    """Those around what is hardly damped."""
    corners = corners_of(loop)
    damped = np.abs(corners.real) > _UNDAMPED * np.abs(corners.imag)  # else L has no value there
    sharp = corners[hardly_damped(corners) & (corners.imag > 0.0) & damped]
    places = (sharp.imag[:, None] + np.abs(sharp.real)[:, None] * _AROUND).ravel()
    found: FloatArray = ascending(places)
    return found[(found > 0.0) & (found < high)]


def _still_matrix(loop: LinearLoop) -> FloatArray:
    """Of senders and queue, whose delay is the last state, with all delays left out."""
    size = sum(cls.size for cls in loop.classes) + 1
    matrix = np.zeros((*loop.shape, size, size))
    start = 0
    for cls in loop.classes:
        own = slice(start, start + cls.size)
        square, vector = loop.shape + (cls.size,) * 2, (*loop.shape, cls.size)
        within = np.broadcast_to(_last(cls.a0 + cls.a1, 2 * (cls.size == 1)), square)
        felt = np.broadcast_to(_last(cls.e0 + cls.e1, cls.size == 1), vector)
        weight = np.broadcast_to(cls.weight, loop.shape)[..., None]
        shown = weight * _last(cls.c, cls.size == 1)
        matrix[..., own, own], matrix[..., own, -1] = within, felt
        matrix[..., -1, own] += shown
        matrix[..., -1, -1] += (weight * _last(cls.r, 1))[..., 0]
        if cls.lead is not None:
            ahead = shown * np.broadcast_to(cls.lead, loop.shape)[..., None]
            matrix[..., -1, own] += (ahead[..., None, :] @ within)[..., 0, :]
            matrix[..., -1, -1] += np.sum(ahead * felt, axis=-1)
        start += cls.size
    return matrix


def _last(value: FloatArray, axes: int) -> FloatArray:
    """An array with so many axes of one more at its end."""
    value = np.asarray(value)
    return value.reshape(value.shape + (1,) * axes)


def _class_zeros(cls: LinearClass) -> ComplexArray:
    """Zeros of the way from the controller's variable to the rate, of a class of several states."""
    n = cls.size
    if n <= MOST_STATES:
        signal = np.stack(np.broadcast_arrays(*ratios_of(cls).signal), axis=-1)
        by_power = signal.reshape(*signal.shape[:-1], n + 1, n + 1).sum(axis=-1)
        return polynomial_roots([by_power[..., power] for power in range(n)])
    from scipy.linalg import eigvals

    system, unit = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    system[:n, :n], system[:n, n], system[n, :n] = cls.a0 + cls.a1, cls.b, cls.c
    unit[:n, :n] = np.eye(n)
    found: ComplexArray = eigvals(system, unit)
    return found[np.isfinite(found)]
