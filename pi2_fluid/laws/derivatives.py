"""Derivatives of laws: by dual numbers, and by JAX where dual numbers do not lead."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid import duals
from pi2_fluid.errors import DomainError, UnsupportedError
from pi2_fluid.ops import namespace
from pi2_fluid.records.record import Record, leaves, named_arrays

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pi2_fluid.values import FloatArray, Number

__all__ = ["as_arrays", "differentiate", "numeric"]


def differentiate(
    law: Record, method: str, function: Callable[..., Any], args: tuple[Any, ...]
) -> Any:
    """Differentiate an elementwise function of a law over each of its arguments.

    Under `jax.jit`, `jax.vmap` and `jax.grad`, of the law as well as of the arguments, JAX does it.
    So it does if the law uses more than ``+ - * / **`` and `pi2_fluid.ops`, such as `jax.numpy`.

    Parameters
    ----------
    law : Record
        Whose numbers `function` uses beside its arguments.
    method : str
        What of the law is differentiated, for messages.
    function : callable
        Returns one number, or a tuple of them.
    args : tuple
        Numbers, or arrays that broadcast with one another and with the arrays of the law.

    Returns
    -------
    tuple
        [j] is the derivative over args[j]: a tuple if the function returns one.

    Raises
    ------
    UnsupportedError
        If neither can.
    """
    if namespace(*args, *leaves(law)) is not np:
        return _by_jax(function, args)
    arrays = (*args, *named_arrays(law).values())
    shape = np.broadcast_shapes(*(np.shape(array) for array in arrays))
    try:
        return duals.slopes(function, args, shape)
    except (TypeError, AttributeError) as error:
        return _by_jax_alone(f"{type(law).__name__}.{method}", function, args, error)


def _by_jax(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    import jax
    from jax import numpy as jnp

    def slope(which: int) -> Number | tuple[Number, ...]:
        tangents = tuple(
            jnp.ones_like(arg) if index == which else jnp.zeros_like(arg)
            for index, arg in enumerate(args)
        )
        tangent: Number | tuple[Number, ...] = jax.jvp(function, args, tangents)[1]
        return tangent

    with jax.enable_x64(True):
        return tuple(slope(which) for which in range(len(args)))


def _by_jax_alone(
    what: str, function: Callable[..., Any], args: tuple[Any, ...], error: Exception
) -> Any:
    rule = f"{what} cannot be differentiated: use only + - * / ** and pi2_fluid.ops in it"
    try:
        import jax
    except ModuleNotFoundError:
        raise UnsupportedError(
            f"{rule}, or install JAX for other functions: pip install jax ({type(error).__name__})."
        ) from error
    try:
        return _by_jax(function, args)
    except (jax.errors.JAXTypeError, TypeError) as final:
        raise UnsupportedError(f"{rule} ({type(final).__name__}).") from final


def as_arrays(values: Iterable[ArrayLike], shape: tuple[int, ...]) -> list[FloatArray]:
    """Numbers as float64 arrays of one shape."""
    return [np.array(np.broadcast_to(np.asarray(value, float), shape)) for value in values]


def numeric(value: ArrayLike, shape: tuple[int, ...], what: str) -> FloatArray:
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
