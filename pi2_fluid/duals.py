"""Dual numbers: a law called with them returns its exact derivatives next to its value.

A dual number is a value and its slopes over a few arguments, and every operation follows the rules
of differentiation (forward accumulation; Griewank and Walther, "Evaluating Derivatives", 2008,
section 3.1). That covers ``+ - * / **`` and what is in `pi2_fluid.ops`, which is all that a law may
use. Whatever else meets a dual number raises TypeError or AttributeError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

__all__ = ["Dual", "cbrt", "exp", "log", "maximum", "minimum", "slopes", "sqrt", "where"]

_PLAIN: Final = (float, int, np.ndarray, np.generic)


class Dual:
    """A value and its slopes: float64, with one more axis in front of the slopes.

    Compared and asked for its truth, it is its value.
    """

    __slots__ = ("slopes", "value")
    __array_ufunc__ = None  # an array on the left leaves the operation to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, slopes: Any) -> None:
        self.value, self.slopes = value, slopes

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a dual number is no array")

    def __repr__(self) -> str:
        return f"Dual({self.value}, {self.slopes})"

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slopes)

    def __pos__(self) -> Dual:
        return self

    def __abs__(self) -> Dual:
        return Dual(abs(self.value), np.sign(self.value) * self.slopes)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.slopes + other.slopes)
        if isinstance(other, _PLAIN):
            return Dual(self.value + other, self.slopes)
        return NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Dual):
            return Dual(self.value - other.value, self.slopes - other.slopes)
        if isinstance(other, _PLAIN):
            return Dual(self.value - other, self.slopes)
        return NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Dual):
            slopes = self.slopes * other.value + self.value * other.slopes
            return Dual(self.value * other.value, slopes)
        if isinstance(other, _PLAIN):
            return Dual(self.value * other, self.slopes * other)
        return NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Dual):
            value = self.value / other.value
            return Dual(value, (self.slopes - value * other.slopes) / other.value)
        if isinstance(other, _PLAIN):
            return Dual(self.value / other, self.slopes / other)
        return NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        if not isinstance(other, _PLAIN):
            return NotImplemented
        value = other / self.value
        return Dual(value, -value / self.value * self.slopes)

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, Dual):
            value = self.value**other.value
            by_base = other.value * self.value ** (other.value - 1.0)
            by_power = _log_of_base(self.value) * value
            return Dual(value, by_base * self.slopes + by_power * other.slopes)
        if not isinstance(other, _PLAIN):
            return NotImplemented
        # A power of 0 is constant at 0 as well.
        rest = np.where(np.equal(other, 0.0), 1.0, np.subtract(other, 1.0))
        return Dual(self.value**other, other * self.value**rest * self.slopes)

    def __rpow__(self, other: Any) -> Any:
        if not isinstance(other, _PLAIN):
            return NotImplemented
        value = other**self.value
        return Dual(value, _log_of_base(other) * value * self.slopes)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __lt__(self, other: Any) -> Any:
        return self.value < _value(other)

    def __le__(self, other: Any) -> Any:
        return self.value <= _value(other)

    def __gt__(self, other: Any) -> Any:
        return self.value > _value(other)

    def __ge__(self, other: Any) -> Any:
        return self.value >= _value(other)

    def __eq__(self, other: Any) -> Any:
        return self.value == _value(other)

    def __ne__(self, other: Any) -> Any:
        return self.value != _value(other)


def _elementary(function: Any, slope: Callable[[Any, Any], Any]) -> Callable[[Dual], Dual]:
    """Return a function of a dual number, from the slope at x where it has the value y."""

    def of(x: Dual) -> Dual:
        value = function(x.value)
        return Dual(value, slope(x.value, value) * x.slopes)

    return of


exp: Final = _elementary(np.exp, lambda _, y: y)
log: Final = _elementary(np.log, lambda x, _: 1.0 / x)
sqrt: Final = _elementary(np.sqrt, lambda _, y: 0.5 / y)
cbrt: Final = _elementary(np.cbrt, lambda _, y: 1.0 / (3.0 * y * y))


def where(condition: Any, if_true: Any, if_false: Any) -> Dual:
    """Elementwise choice."""
    value = np.where(condition, _value(if_true), _value(if_false))[()]
    return Dual(value, np.where(condition, _slopes(if_true), _slopes(if_false)))


def minimum(a: Any, b: Any) -> Dual:
    """Elementwise smaller value; where both are the same, with the mean of their slopes."""
    return _either(np.minimum, np.less, a, b)


def maximum(a: Any, b: Any) -> Dual:
    """Elementwise larger value; where both are the same, with the mean of their slopes."""
    return _either(np.maximum, np.greater, a, b)


def _either(choose: Any, first: Any, a: Any, b: Any) -> Dual:
    x, y, dx, dy = _value(a), _value(b), _slopes(a), _slopes(b)
    slopes = np.where(first(x, y), dx, np.where(first(y, x), dy, 0.5 * (dx + dy)))
    return Dual(choose(x, y), slopes)


def slopes(function: Callable[..., Any], args: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    """Differentiate an elementwise function of numbers, each broadcast to `shape`.

    Returns
    -------
    tuple
        [j] is the derivative over args[j], of `shape`; a tuple of them if the function returns a
        tuple.
    """
    seeds = np.eye(len(args)).reshape((len(args), len(args), *(1,) * len(shape)))
    values = (np.broadcast_to(np.asarray(arg, float), shape)[()] for arg in args)
    with np.errstate(all="ignore"):  # of branches that are not taken
        found = function(
            *(
                Dual(v, np.broadcast_to(s, (len(args), *shape)))
                for v, s in zip(values, seeds, strict=True)
            )
        )
    if not isinstance(found, tuple):
        return tuple(np.broadcast_to(_slopes(found), (len(args), *shape)))
    rows = [np.broadcast_to(_slopes(value), (len(args), *shape)) for value in found]
    return tuple(tuple(row[j] for row in rows) for j in range(len(args)))


def _value(x: Any) -> Any:
    if isinstance(x, Dual):
        return x.value
    if isinstance(x, _PLAIN):
        return x
    raise TypeError(f"{type(x).__name__} meets a dual number")


def _slopes(x: Any) -> Any:
    _value(x)
    return x.slopes if isinstance(x, Dual) else 0.0


def _log_of_base(x: Any) -> Any:
    # 0 to any power is constant, but for the power 0.
    return np.log(np.where(np.equal(x, 0.0), 1.0, x))
