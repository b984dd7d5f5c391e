"""What numbers are, as types: a float, an array, what a law computes with, what a caller may give.

For annotations: nothing here does anything. Arrays are NumPy's; xarray, where it is named, is not
imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import timedelta
    from decimal import Decimal
    from fractions import Fraction

    import numpy as np
    import xarray
    from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = "NDArray[np.float64]"
ComplexArray: TypeAlias = "NDArray[np.complexfloating[Any, Any]]"
IntArray: TypeAlias = "NDArray[np.int64]"
BoolArray: TypeAlias = "NDArray[np.bool_]"

#: One real number, or an array of them.
Real: TypeAlias = "float | FloatArray"

#: One complex number, or an array of them.
Complex: TypeAlias = "complex | NDArray[np.inexact[Any]]"

#: A response over real frequencies (rad/s).
Curve: TypeAlias = "Callable[[FloatArray], ComplexArray]"

#: What is asked of loops and operating points: one number, an array, or one with named dimensions.
Values: TypeAlias = "float | FloatArray | xarray.DataArray"

#: The same of complex numbers.
ComplexValues: TypeAlias = "complex | ComplexArray | xarray.DataArray"

#: What a caller may give for a number with a unit: SI, text such as "10ms", or arrays of these.
Quantity: TypeAlias = "ArrayLike | _Exact | Sequence[_Exact]"
_Exact: TypeAlias = "timedelta | Fraction | Decimal"


class Truths(Protocol):
    """What a comparison of arrays gives: a truth value for each element."""

    def __and__(self, other: Any, /) -> Truths: ...
    def __rand__(self, other: Any, /) -> Truths: ...
    def __or__(self, other: Any, /) -> Truths: ...
    def __ror__(self, other: Any, /) -> Truths: ...
    def __invert__(self) -> Truths: ...
    def __array__(self) -> NDArray[Any]: ...


class Elementwise(Protocol):
    """What laws compute with beside floats: arrays of NumPy, JAX and xarray, and symbols.

    The other operand is Any because each kind accepts others: what they have in common is what
    comes back.
    """

    def __neg__(self) -> Elementwise: ...
    def __abs__(self) -> Elementwise: ...
    def __add__(self, other: Any, /) -> Elementwise: ...
    def __radd__(self, other: Any, /) -> Elementwise: ...
    def __sub__(self, other: Any, /) -> Elementwise: ...
    def __rsub__(self, other: Any, /) -> Elementwise: ...
    def __mul__(self, other: Any, /) -> Elementwise: ...
    def __rmul__(self, other: Any, /) -> Elementwise: ...
    def __truediv__(self, other: Any, /) -> Elementwise: ...
    def __rtruediv__(self, other: Any, /) -> Elementwise: ...
    def __pow__(self, other: Any, /) -> Elementwise: ...
    def __rpow__(self, other: Any, /) -> Elementwise: ...
    def __lt__(self, other: Any, /) -> Truth: ...
    def __le__(self, other: Any, /) -> Truth: ...
    def __gt__(self, other: Any, /) -> Truth: ...
    def __ge__(self, other: Any, /) -> Truth: ...
    def __array__(self) -> NDArray[Any]: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...


#: Whether it is so: of one number, or of each element.
Truth: TypeAlias = "bool | Truths"

#: What laws compute with, by ``+ - * / **`` and `pi2_fluid.ops`: they do not care which it is.
Number: TypeAlias = "float | Elementwise"
