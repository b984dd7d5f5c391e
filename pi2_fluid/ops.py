"""Elementary functions for laws: the same call runs on floats, NumPy arrays and JAX arrays.

A sender or queue law written with ``+ - * / **`` and these functions can be evaluated, batched and
differentiated without being written twice.
"""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np

from pi2_fluid import duals

__all__ = ["Number", "cbrt", "exp", "log", "maximum", "minimum", "namespace", "sqrt", "where"]

#: A float, a NumPy array, a JAX array or a dual number: laws do not care which.
Number: TypeAlias = Any


def namespace(*values: Number) -> Any:
    """`jax.numpy` if any value is a JAX array, else `numpy`; never imports JAX by itself.

    Of dual numbers, with which laws are differentiated, it is `pi2_fluid.duals`.
    """
    jax = sys.modules.get("jax")
    for value in values:
        if isinstance(value, duals.Dual):
            return duals
        if jax is not None and isinstance(value, jax.Array):
            return jax.numpy
    return np


def where(condition: Number, if_true: Number, if_false: Number) -> Number:
    """Elementwise choice. Both branches are evaluated: keep both finite."""
    if isinstance(condition, (bool, np.bool_)):
        return if_true if condition else if_false
    library = namespace(condition, if_true, if_false)
    chosen = library.where(condition, if_true, if_false)
    return chosen[()] if library is np else chosen  # a NumPy scalar, not a 0-d array


def minimum(a: Number, b: Number) -> Number:
    """Elementwise smaller value. Its derivative at a tie is halved under autodiff: see `where`."""
    if isinstance(a, float) and isinstance(b, float):
        return a if a < b or a != a else b  # noqa: PLR0124  NaN is passed on, as NumPy does
    return namespace(a, b).minimum(a, b)


def maximum(a: Number, b: Number) -> Number:
    """Elementwise larger value. Its derivative at a tie is halved under autodiff: see `where`."""
    if isinstance(a, float) and isinstance(b, float):
        return a if a > b or a != a else b  # noqa: PLR0124
    return namespace(a, b).maximum(a, b)


def exp(x: Number) -> Number:
    """Exponential."""
    return namespace(x).exp(x)


def log(x: Number) -> Number:
    """Natural logarithm."""
    return namespace(x).log(x)


def sqrt(x: Number) -> Number:
    """Square root."""
    return namespace(x).sqrt(x)


def cbrt(x: Number) -> Number:
    """Cube root, real for negative arguments too."""
    return namespace(x).cbrt(x)
