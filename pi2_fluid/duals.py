"""Dual numbers: a law called with them returns its exact derivatives next to its value.

A dual number is a value and its slopes over a few arguments, and every operation follows the rules
of differentiation (forward accumulation; Griewank and Walther, "Evaluating Derivatives", 2008,
section 3.1). That covers ``+ - * / **`` and what is in `pi2_fluid.ops`, which is all that a law may
use. Whatever else meets a dual number raises TypeError or AttributeError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, TypeGuard, overload

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from pi2_fluid.values import BoolArray, FloatArray, Number, Real, Truth

__all__ = [
    "Dual",
    "cbrt",
    "exp",
    "expm1",
    "log",
    "log1p",
    "maximum",
    "minimum",
    "slopes",
    "sqrt",
    "where",
]

#: What an operation with a dual number takes on its other side.
Operand: TypeAlias = "Dual | Real"


class Dual:
    """A value and its slopes: float64, with one more axis in front of the slopes.

    Compared and asked for its truth, it is its value.
    """

    __slots__ = ("slopes", "value")
    __array_ufunc__ = None  # an array on the left leaves the operation to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Real, slopes: FloatArray) -> None:
        self.value, self.slopes = value, slopes

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("a dual number is no array")

    def __float__(self) -> NoReturn:
        raise TypeError("a dual number is no float")

    __int__ = __float__

    def __repr__(self) -> str:
        return f"Dual({self.value}, {self.slopes})"

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slopes)

    def __pos__(self) -> Dual:
        return self

    def __abs__(self) -> Dual:
        value: Any = abs(self.value)  # mypy knows no abs of a union
        return Dual(value, self.slopes * np.sign(self.value))

    def __add__(self, other: Operand) -> Dual:
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.slopes + other.slopes)
        if _is_plain(other):
            return Dual(self.value + other, self.slopes)
        return NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Dual:
        if isinstance(other, Dual):
            return Dual(self.value - other.value, self.slopes - other.slopes)
        if _is_plain(other):
            return Dual(self.value - other, self.slopes)
        return NotImplemented

    def __rsub__(self, other: Any) -> Dual:
        flipped: Dual = -self + other
        return flipped

    def __mul__(self, other: Operand) -> Dual:
        if isinstance(other, Dual):
            slopes = self.slopes * other.value + self.value * other.slopes
            return Dual(self.value * other.value, slopes)
        if _is_plain(other):
            return Dual(self.value * other, self.slopes * other)
        return NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Dual:
        if isinstance(other, Dual):
            value = self.value / other.value
            return Dual(value, (self.slopes - value * other.slopes) / other.value)
        if _is_plain(other):
            return Dual(self.value / other, self.slopes / other)
        return NotImplemented

    def __rtruediv__(self, other: Any) -> Dual:
        if not _is_plain(other):
            return NotImplemented
        value = other / self.value
        return Dual(value, -value / self.value * self.slopes)

    def __pow__(self, other: Operand) -> Dual:
        if isinstance(other, Dual):
            value = self.value**other.value
            by_base = other.value * self.value ** (other.value - 1.0)
            by_power = _log_of_base(self.value) * value
            return Dual(value, by_base * self.slopes + by_power * other.slopes)
        if not _is_plain(other):
            return NotImplemented
        # A power of 0 is constant at 0 as well.
        rest = np.where(np.equal(other, 0.0), 1.0, np.subtract(other, 1.0))
        return Dual(self.value**other, other * self.value**rest * self.slopes)

    def __rpow__(self, other: Any) -> Dual:
        if not _is_plain(other):
            return NotImplemented
        value = other**self.value
        return Dual(value, _log_of_base(other) * value * self.slopes)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __lt__(self, other: object) -> bool | BoolArray:
        return self.value < _value(other)

    def __le__(self, other: object) -> bool | BoolArray:
        return self.value <= _value(other)

    def __gt__(self, other: object) -> bool | BoolArray:
        return self.value > _value(other)

    def __ge__(self, other: object) -> bool | BoolArray:
        return self.value >= _value(other)

    def __eq__(self, other: object) -> bool | BoolArray:  # type: ignore[override]
        return self.value == _value(other)

    def __ne__(self, other: object) -> bool | BoolArray:  # type: ignore[override]
        return self.value != _value(other)


def _elementary(function: np.ufunc, slope: Callable[[Real, Real], Real]) -> Callable[[Dual], Dual]:
    """Return a function of a dual number, from the slope at x where it has the value y."""

    def of(x: Dual) -> Dual:
        value = function(x.value)
        return Dual(value, slope(x.value, value) * x.slopes)

    return of


exp: Final = _elementary(np.exp, lambda _, y: y)
expm1: Final = _elementary(np.expm1, lambda _, y: 1.0 + y)
log: Final = _elementary(np.log, lambda x, _: 1.0 / x)
log1p: Final = _elementary(np.log1p, lambda x, _: 1.0 / (1.0 + x))
sqrt: Final = _elementary(np.sqrt, lambda _, y: 0.5 / y)
cbrt: Final = _elementary(np.cbrt, lambda _, y: 1.0 / (3.0 * y * y))


def where(condition: Truth, if_true: Operand, if_false: Operand) -> Dual:
    """Elementwise choice."""
    value = np.where(condition, _value(if_true), _value(if_false))[()]
    return Dual(value, np.where(condition, _slopes(if_true), _slopes(if_false)))


def minimum(a: Operand, b: Operand) -> Dual:
    """Elementwise smaller value; where both are the same, with the mean of their slopes."""
    return _either(np.minimum, np.less, a, b)


def maximum(a: Operand, b: Operand) -> Dual:
    """Elementwise larger value; where both are the same, with the mean of their slopes."""
    return _either(np.maximum, np.greater, a, b)


def _either(choose: np.ufunc, first: np.ufunc, a: Operand, b: Operand) -> Dual:
    x, y, dx, dy = _value(a), _value(b), _slopes(a), _slopes(b)
    slopes = np.where(first(x, y), dx, np.where(first(y, x), dy, 0.5 * (dx + dy)))
    return Dual(choose(x, y), slopes)


@overload
def slopes(
    function: Callable[..., Number], args: Sequence[ArrayLike], shape: tuple[int, ...]
) -> tuple[FloatArray, ...]: ...
@overload
def slopes(
    function: Callable[..., tuple[Number, ...]], args: Sequence[ArrayLike], shape: tuple[int, ...]
) -> tuple[tuple[FloatArray, ...], ...]: ...
def slopes(
    function: Callable[..., Number | tuple[Number, ...]],
    args: Sequence[ArrayLike],
    shape: tuple[int, ...],
) -> tuple[FloatArray, ...] | tuple[tuple[FloatArray, ...], ...]:
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


def _is_plain(x: object) -> TypeGuard[Real]:
    return isinstance(x, (float, int, np.ndarray, np.generic))


def _value(x: object) -> Real:
    if isinstance(x, Dual):
        return x.value
    if _is_plain(x):
        return x
    raise TypeError(f"{type(x).__name__} meets a dual number")


def _slopes(x: object) -> Real:
    _value(x)
    return x.slopes if isinstance(x, Dual) else 0.0


def _log_of_base(x: Real) -> Real:
    # 0 to any power is constant, but for the power 0.
    return np.log(np.where(np.equal(x, 0.0), 1.0, x))
