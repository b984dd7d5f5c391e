"""Elementary functions for laws: the same call runs on floats, NumPy arrays and JAX arrays.

A sender or queue law written with ``+ - * / **`` and these functions can be evaluated, batched and
differentiated without being written twice.
"""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np

from pi2_fluid import duals
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
    """`jax.numpy` if any value is a JAX array, else `numpy`; never imports JAX by itself.

    Of dual numbers, with which laws are differentiated, it is `pi2_fluid.duals`.
    """
    jax = sys.modules.get("jax")
    for value in values:
        if isinstance(value, duals.Dual):
            return duals
        if jax is not None and isinstance(value, jax.Array):
            jnp: ModuleType = jax.numpy
            return jnp
    return np


def where(condition: Truth, if_true: Number, if_false: Number) -> Number:
    """Elementwise choice. Both branches are evaluated: keep both finite."""
    if isinstance(condition, (bool, np.bool_)):
        return if_true if condition else if_false
    library = namespace(condition, if_true, if_false)
    chosen = library.where(condition, if_true, if_false)
    result: Number = chosen[()] if library is np else chosen  # a NumPy scalar, not a 0-d array
    return result


def minimum(a: Number, b: Number) -> Number:
    """Elementwise smaller value. Its derivative at a tie is halved under autodiff: see `where`."""
    if isinstance(a, float) and isinstance(b, float):
        return a if a < b or a != a else b  # noqa: PLR0124  NaN is passed on, as NumPy does
    result: Number = namespace(a, b).minimum(a, b)
    return result


def maximum(a: Number, b: Number) -> Number:
    """Elementwise larger value. Its derivative at a tie is halved under autodiff: see `where`."""
    if isinstance(a, float) and isinstance(b, float):
        return a if a > b or a != a else b  # noqa: PLR0124
    result: Number = namespace(a, b).maximum(a, b)
    return result


def exp(x: Number) -> Number:
    """Exponential."""
    result: Number = namespace(x).exp(x)
    return result


def expm1(x: Number) -> Number:
    """Exponential less 1, to full precision near 0."""
    result: Number = namespace(x).expm1(x)
    return result


def log(x: Number) -> Number:
    """Natural logarithm."""
    result: Number = namespace(x).log(x)
    return result


def log1p(x: Number) -> Number:
    """Natural logarithm of 1 + x, to full precision near 0."""
    result: Number = namespace(x).log1p(x)
    return result


def sqrt(x: Number) -> Number:
    """Square root."""
    result: Number = namespace(x).sqrt(x)
    return result


def cbrt(x: Number) -> Number:
    """Cube root, real for negative arguments too."""
    result: Number = namespace(x).cbrt(x)
    return result
