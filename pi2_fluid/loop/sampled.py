"""The exact loop of a queue that updates every T seconds and holds its signal in between.

With y = e^{-sT}, D(y) the queue's update and G(s) senders and queue,

    L_d = D(y) (1 - y) (1/T) sum over all integers k of  G(s_k) / s_k,    s_k = s + 2 pi j k / T.

No approximation is made: the aliases are summed directly for |k| <= K, and beyond that through the
expansion of G(s)/s at large s, whose terms e^{-sR}/(s + 1/T)^m, m = 2, 3, 4, have the sampled sum

    sum over n >= R/T of  (nT - R)^{m-1}/(m-1)!  e^{-(nT - R)/T}  y^n

in closed form. What is left falls like k^-5, so a few dozen aliases give eight digits and more. The
terms begin with m = 3, or with m = 2 if a class has a lead: it moves the delay at once.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid import _core
from pi2_fluid.loop.expansion import Echo, echoes_of
from pi2_fluid.loop.ratios import MOST_STATES, described
from pi2_fluid.loop.response import held_polynomials, plant_response
from pi2_fluid.loop.state_space import AnyLoop, LinearController, LinearLoop, once, told_once

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pi2_fluid.values import Complex, ComplexArray, FloatArray, IntArray, Real

# Pairs of aliases summed directly: at least _ALIASES, and enough for the highest one to lie
# _REACH times above the fastest pole of the loop, where the expansion holds.
_ALIASES: Final = 32
_REACH: Final = 40.0
_MOST_ALIASES: Final = 4000
_BLOCK: Final = 2**18  # complex numbers evaluated at once, 4 MiB


def sampled_response(loop: AnyLoop, s: Complex, aliases: int | None = None) -> ComplexArray:
    """Return L_d at z = e^{sT}.

    Parameters
    ----------
    loop : AnyLoop
        Of any shape; it broadcasts against `s`. Its controller must tick.
    s : complex or array
        On the imaginary axis 0 < w <= pi/T covers the unit circle.
    aliases : int, optional
        Pairs of aliases summed directly; chosen from the loop's fastest pole if not given. They
        are paired about pi/T, where what is summed is then real as the whole is.
    """
    at = np.asarray(s, dtype=np.complex128)
    below = at.imag < 0.0
    if below.any():  # at the mirror image of s the mirror image
        mirrored = sampled_response(loop, np.where(below, np.conj(at), at), aliases)
        return np.where(below, np.conj(mirrored), mirrored)[()]
    return held_response(loop.controller, at, alias_sum(told_once(loop), at, aliases))


def held_response(
    controller: LinearController, s: ComplexArray, total: ComplexArray
) -> ComplexArray:
    """Return L_d from (1/T) sum over k of G(s_k)/s_k, which `alias_sum` gives."""
    numerator, denominator = held_polynomials(controller, s)
    held = -np.expm1(-s * controller.interval)
    result: ComplexArray = (numerator / denominator * held * total)[()]
    return result


@singledispatch
def alias_sum(loop: AnyLoop, s: ComplexArray, aliases: int | None) -> ComplexArray:
    """Return (1/T) sum over k of G(s_k)/s_k, where the imaginary part of s is positive."""
    raise NotImplementedError(type(loop).__name__)


@alias_sum.register(LinearLoop)
def _of_rates(loop: LinearLoop, s: ComplexArray, aliases: int | None) -> ComplexArray:
    sums = alias_sums_of(loop) if aliases is None else alias_sums(loop, aliases)
    if sums is None:
        return _sum_all(loop, s, aliases)
    flat: NDArray[np.complex128] = s.astype(np.complex128, copy=False).ravel()
    return sums.at(flat).reshape(s.shape)


def alias_sums(loop: LinearLoop, aliases: int | None = None) -> _core.AliasSums | None:
    """Return the compiled sums over aliases of one loop."""
    if loop.shape or any(cls.size > MOST_STATES for cls in loop.classes):
        return None
    classes = []
    for cls in loop.classes:
        polynomials, numbers = described(cls)
        classes.append(
            {name: [float(value) for value in terms] for name, terms in polynomials.items()}
            | {name: float(value) for name, value in numbers.items()}
        )
    echoes = [
        {"delay": float(delay)} | {f"order{m}": float(orders.get(m, 0.0)) for m in (2, 3, 4)}
        for delay, orders in echoes_of(loop)
    ]
    count = _alias_count(loop) if aliases is None else aliases
    return _core.AliasSums(classes, echoes, float(loop.controller.interval), count)


@once
def alias_sums_of(loop: LinearLoop) -> _core.AliasSums | None:
    """Return `alias_sums` of a loop with as many aliases as it needs, made once."""
    return alias_sums(loop)


def _sum_all(loop: LinearLoop, s: ComplexArray, aliases: int | None) -> ComplexArray:
    """Return (1/T) sum over k of G(s_k)/s_k, of any loops; the compiled sums give the same."""
    T, echoes = loop.controller.interval, echoes_of(loop)
    count = _alias_count(loop) if aliases is None else aliases
    total = np.zeros(np.broadcast_shapes(s.shape, loop.shape), dtype=complex)
    block = max(1, _BLOCK // max(1, total.size))
    for start in range(-count - 1, count + 1, block):
        k = np.arange(start, min(start + block, count + 1))
        k = k.reshape(k.shape + (1,) * total.ndim)
        s_k = s + 2j * np.pi * k / T
        rest = plant_response(loop, s_k) / s_k - _evaluate(echoes, s_k, 1.0 / T)
        total = total + np.sum(rest, axis=0)
    result: ComplexArray = total / T + _sum(echoes, T, np.exp(-s * T))
    return result


def alias_counts(loop: LinearLoop) -> IntArray:
    """Return how many pairs of aliases each loop of an array needs."""
    T = np.asarray(loop.controller.interval)
    rates = [1.0 / cls.rtt for cls in loop.classes]
    for cls in loop.classes:
        own = np.abs(cls.a0) + np.abs(cls.a1)
        # In whatever unit each state is: the row sums of the best scaling are the largest root.
        rates.append(own if cls.size == 1 else np.max(np.abs(np.linalg.eigvals(own)), axis=-1))
    count = np.ceil(_REACH * np.max(np.broadcast_arrays(*rates), axis=0) * T / (2 * np.pi))
    result: IntArray = np.clip(count, _ALIASES, _MOST_ALIASES).astype(np.int64)
    return result


def _alias_count(loop: LinearLoop) -> int:
    return int(np.max(alias_counts(loop)))


def _evaluate(echoes: list[Echo], s: ComplexArray, rate: FloatArray) -> ComplexArray:
    inverse = 1.0 / (s + rate)
    total: Any = 0.0
    for delay, orders in echoes:
        lowest = min(orders)
        bracket: Complex = 0.0
        for order in range(max(orders), lowest - 1, -1):  # Horner's rule
            bracket = bracket * inverse + orders.get(order, 0.0)
        for _ in range(lowest):  # NumPy's ** of complex numbers is ten times as slow
            bracket = bracket * inverse
        total = total + bracket * np.exp(-s * delay)
    result: ComplexArray = total
    return result


def _sum(echoes: list[Echo], T: FloatArray, y: ComplexArray) -> ComplexArray:
    """The echoes, sampled: their sum over all aliases, over T."""
    total: Any = 0.0
    for delay, orders in echoes:
        sums = held_sums(delay / T, y)
        for order, value in orders.items():
            total = total + value * T ** (order - 1) / math.factorial(order - 1) * sums[order - 2]
    result: ComplexArray = total
    return result


def held_sums(delay: Real, y: Complex) -> tuple[ComplexArray, ComplexArray, ComplexArray]:
    """Return the sums over n >= delay of (n - delay)^m e^{-(n - delay)} y^n, m = 1 to 3.

    With the delay R/T and y = e^{-sT} they are (m!/T^{m+1}) times the sum over all k of
    e^{-s_k R}/(s_k + 1/T)^{m+1}, s_k = s + 2 pi j k/T.
    """
    first = np.ceil(delay)
    d = first - delay
    q = np.exp(-1.0) * y
    one = 1.0 / (1.0 - q)
    two = q * one**2
    three = q * (1 + q) * one**3
    four = q * (1 + 4 * q + q * q) * one**4
    scale = np.exp(-d) * y**first
    line = d * one + two
    square = d**2 * one + 2 * d * two + three
    cube = d**3 * one + 3 * d**2 * two + 3 * d * three + four
    return scale * line, scale * square, scale * cube
