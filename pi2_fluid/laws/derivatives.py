"""Derivatives of laws: by their tapes, and by JAX where a law does what no tape has."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid.errors import DomainError, UnsupportedError
from pi2_fluid.laws.tape import Tape
from pi2_fluid.laws.tapes import function_of, numbers_on_tape, tape_by
from pi2_fluid.laws.trace import TraceError, flat
from pi2_fluid.laws.traceable import by_jax
from pi2_fluid.ops import namespace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.laws.sender import Sender
    from pi2_fluid.values import FloatArray, Number


def differentiate(
    law: Sender | Aqm,
    method: str,
    args: Sequence[Any],
    over: Iterable[int] | None = None,
    function: Callable[..., Any] | None = None,
) -> tuple[tuple[Number, ...], ...]:
    """Differentiate a function of a law over its arguments, elementwise.

    A law that uses more than ``+ - * / **`` and `pi2_fluid.ops`, such as `jax.numpy`, is
    differentiated by JAX.

    Parameters
    ----------
    law : Sender or Aqm
        Any law, own ones too.
    method : str
        A key of `SENDER_FUNCTIONS` or `QUEUE_FUNCTIONS`.
    args : sequence
        Its arguments: numbers, or arrays that broadcast with one another and with the arrays of the
        law. Those that JAX traces may be among them, and in the law.
    over : iterable of int, optional
        Over which of them. All if not given.
    function : callable, optional
        What is differentiated instead, called with the law and the arguments. The same object at
        each call, for what it does with laws of a class is kept.

    Returns
    -------
    tuple of tuple
        [j][i] is the derivative of the i-th number that comes out over the j-th of those arguments,
        of a shape that broadcasts with theirs.

    Raises
    ------
    UnsupportedError
        If neither can.
    """
    over = tuple(range(len(args)) if over is None else over)
    function = function or function_of(law, method)
    try:
        tape = tape_by(law, function, _names(len(args)), method)
    except TraceError as error:
        return _by_jax_alone(law, method, function, args, over, error)
    numbers = numbers_on_tape(law, tape)
    slopes = _slopes(tape, over)
    if namespace(*args, *numbers) is np:
        every = slopes(*map(_plain, args), parameters=numbers)
        if not all(map(_is_finite, every)):
            function(law, *args)  # which may refuse its numbers in words of its own
    else:
        import jax

        with jax.enable_x64(True):
            every = by_jax(slopes)(*args, *numbers)
    size = len(tape.outputs)
    return tuple(every[place * size : (place + 1) * size] for place in range(len(over)))


@lru_cache(maxsize=64)
def _names(count: int) -> tuple[str, ...]:
    return tuple(f"x{place}" for place in range(count))


@lru_cache(maxsize=1024)
def _slopes(tape: Tape, over: tuple[int, ...]) -> Tape:
    return tape.slopes([tape.inputs[place] for place in over])


def _plain(value: Any) -> Any:
    """Return a single number as a float, with which Python computes faster than with an array."""
    return float(value) if np.ndim(value) == 0 else value


def _is_finite(value: Any) -> bool:
    return math.isfinite(value) if isinstance(value, float) else bool(np.isfinite(value).all())


def _by_jax_alone(
    law: Sender | Aqm,
    method: str,
    function: Callable[..., Any],
    args: Sequence[Any],
    over: Sequence[int],
    error: TraceError,
) -> tuple[tuple[Number, ...], ...]:
    what = f"{type(law).__name__}.{method}"
    rule = f"{what} cannot be differentiated: use only + - * / ** and pi2_fluid.ops in it"
    try:
        import jax
        from jax import numpy as jnp
    except ModuleNotFoundError:
        why = type(error.__cause__).__name__
        raise UnsupportedError(
            f"{rule}, or install JAX for other functions: pip install jax ({why})."
        ) from error

    def several(*values: Number) -> tuple[object, ...]:
        return tuple(flat(function(law, *values)))

    def slope(which: int) -> tuple[Number, ...]:
        tangents = tuple(
            jnp.ones_like(arg) if index == which else jnp.zeros_like(arg)
            for index, arg in enumerate(args)
        )
        tangent: tuple[Number, ...] = jax.jvp(several, tuple(args), tangents)[1]
        return tangent

    try:
        with jax.enable_x64(True):
            return tuple(slope(which) for which in over)
    except (jax.errors.JAXTypeError, TypeError) as final:
        raise UnsupportedError(f"{rule} ({type(final).__name__}).") from final


def as_arrays(values: Iterable[ArrayLike], shape: tuple[int, ...]) -> list[FloatArray]:
    """Numbers as float64 arrays of one shape."""
    if shape == ():  # of which to broadcast takes ten times as long
        return [np.array(value, float).reshape(()) for value in values]
    return [np.array(np.broadcast_to(np.asarray(value, float), shape)) for value in values]


def numeric(value: ArrayLike, shape: tuple[int, ...], what: str) -> FloatArray:
    """Return a derivative as a finite array of `shape`.

    Raises
    ------
    DomainError
        If it is not finite.
    """
    alone: object = value
    if shape == () and isinstance(alone, float) and math.isfinite(alone):
        return np.array(alone, dtype=np.float64)  # in a tenth of the time
    array = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), shape))
    if not np.isfinite(array).all():
        raise DomainError(
            f"the derivative of {what} is not finite at this operating point: move p or rtt off it,"
            " or make the law smooth there."
        )
    return array
