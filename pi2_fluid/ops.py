"""Elementary functions for laws: the same call runs on floats, NumPy arrays and JAX arrays.

A sender or queue law written with ``+ - * / **`` and these functions can be evaluated, batched and
differentiated without being written twice.
"""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np

from pi2_fluid.values import Number, Truth

__all__ = [
    "Number",
    "cbrt",
    "exp",
    "expm1",
    "log",
    "log1p",
    "maximum",
    "minimum",
    "namespace",
    "sqrt",
    "where",
]


def namespace(*values: object) -> ModuleType:
    """Return `jax.numpy` if any value is a JAX array, else `numpy`; never imports JAX by itself.

    Of a kind of numbers that has functions of its own, such as the symbols of a trace, it is its
    `library`.

    Examples
    --------
    >>> import numpy as np
    >>> namespace(np.ones(3)).__name__
    'numpy'
    """
    jax = sys.modules.get("jax")
    for value in values:
        if isinstance(library := getattr(type(value), "library", None), ModuleType):
            return library
        if jax is not None and isinstance(value, jax.Array):
            jnp: ModuleType = jax.numpy
            return jnp
    return np


def where(condition: Truth, if_true: Number, if_false: Number) -> Number:
    """Elementwise choice. Both branches are evaluated: keep both finite.

    Examples
    --------
    >>> import numpy as np
    >>> where(np.array([1.0, 3.0]) > 2.0, 0.5, 0.0)
    array([0. , 0.5])
    """
    if isinstance(condition, (bool, np.bool_)):
        return if_true if condition else if_false
    library = namespace(condition, if_true, if_false)
    chosen = library.where(condition, if_true, if_false)
    result: Number = chosen[()] if library is np else chosen  # a NumPy scalar, not a 0-d array
    return result


def minimum(a: Number, b: Number) -> Number:
    """Elementwise smaller value. Its derivative at a tie is halved under autodiff: see `where`.

    Examples
    --------
    >>> minimum(0.0, -1.5)
    -1.5
    """
    if isinstance(a, float) and isinstance(b, float):
        return a if a < b or a != a else b  # noqa: PLR0124  NaN is passed on, as NumPy does
    result: Number = namespace(a, b).minimum(a, b)
    return result


def maximum(a: Number, b: Number) -> Number:
    """Elementwise larger value. Its derivative at a tie is halved under autodiff: see `where`.

    Examples
    --------
    >>> maximum(0.0, -1.5)
    0.0
    """
    if isinstance(a, float) and isinstance(b, float):
        return a if a > b or a != a else b  # noqa: PLR0124
    result: Number = namespace(a, b).maximum(a, b)
    return result


def exp(x: Number) -> Number:
    """Exponential.

    Examples
    --------
    >>> print(f"{exp(1.0):.6f}")
    2.718282
    """
    result: Number = namespace(x).exp(x)
    return result


def expm1(x: Number) -> Number:
    """Exponential less 1, to full precision near 0.

    Examples
    --------
    >>> print(f"{expm1(1e-12):.6e}")
    1.000000e-12
    """
    result: Number = namespace(x).expm1(x)
    return result


def log(x: Number) -> Number:
    """Natural logarithm.

    Examples
    --------
    >>> print(f"{log(10.0):.6f}")
    2.302585
    """
    result: Number = namespace(x).log(x)
    return result


def log1p(x: Number) -> Number:
    """Natural logarithm of 1 + x, to full precision near 0.

    Examples
    --------
    >>> print(f"{log1p(1e-12):.6e}")
    1.000000e-12
    """
    result: Number = namespace(x).log1p(x)
    return result


def sqrt(x: Number) -> Number:
    """Square root.

    Examples
    --------
    >>> print(sqrt(2.25))
    1.5
    """
    result: Number = namespace(x).sqrt(x)
    return result


def cbrt(x: Number) -> Number:
    """Cube root, real for negative arguments too.

    Examples
    --------
    >>> print(cbrt(-8.0))
    -2.0
    """
    result: Number = namespace(x).cbrt(x)
    return result
