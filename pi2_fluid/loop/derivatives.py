"""Derivatives of laws at rest, by JAX, as checked NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from pi2_fluid.errors import DomainError, UnsupportedError

__all__ = ["as_arrays", "compiled", "jvp", "numeric"]


def jvp(function: Any, args: tuple[Any, ...], which: int) -> Any:
    """Derivative of an elementwise function with respect to one of its arguments."""
    tangents = tuple(
        jnp.ones_like(arg) if index == which else jnp.zeros_like(arg)
        for index, arg in enumerate(args)
    )
    _, out = jax.jvp(function, args, tangents)
    return out


def as_arrays(values: Any, shape: tuple[int, ...]) -> list[Any]:
    """Numbers as float64 arrays of one shape."""
    return [np.array(np.broadcast_to(np.asarray(value, float), shape)) for value in values]


def numeric(value: Any, shape: tuple[int, ...], what: str) -> Any:
    """Return a derivative as a finite array of `shape`.

    Raises
    ------
    DomainError
        If it is not finite.
    """
    array = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), shape))
    if not np.isfinite(array).all():
        raise DomainError(
            f"the derivative of {what} is not finite at this operating point: move p or rtt off it,"
            " or make the law smooth there."
        )
    return array


@cache
def _jit(function: Callable[..., Any]) -> Callable[..., Any]:
    return jax.jit(function)


def compiled(function: Callable[..., Any], what: str, *args: Any) -> Any:
    """Call a pure function of laws, compiled once for each kind of law and shape.

    A law that cannot be compiled (it branches on values, or holds odd fields) is called as it is.

    Raises
    ------
    UnsupportedError
        If JAX cannot differentiate it.
    """
    try:
        return _jit(function)(*args)
    except (jax.errors.JAXTypeError, TypeError):
        try:
            return function(*args)
        except (jax.errors.JAXTypeError, TypeError) as error:
            raise UnsupportedError(
                f"{what} cannot be differentiated: use only + - * / ** and pi2_fluid.ops in it"
                f" ({type(error).__name__})."
            ) from error
