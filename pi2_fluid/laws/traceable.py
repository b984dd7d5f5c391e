"""Functions of a law that JAX can compile, map and differentiate as often as one likes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pi2_fluid.laws.tape import Tape
from pi2_fluid.laws.tapes import function_of, numbers_on_tape, tape_by
from pi2_fluid.laws.trace import TraceError, flat

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.laws.sender import Sender
    from pi2_fluid.values import Number


def call_traceable(
    law: Sender | Aqm, method: str, *args: Number, function: Callable[..., Any] | None = None
) -> tuple[Any, ...]:
    """Return what a law does with numbers of JAX, which may be in the law as well.

    Parameters
    ----------
    law, method, args, function
        As for `differentiate`.

    Returns
    -------
    tuple
        The numbers, without nesting.
    """
    function = function or function_of(law, method)
    try:
        tape = tape_by(law, function, tuple(f"x{place}" for place in range(len(args))), method)
    except TraceError:
        return tuple(flat(function(law, *args)))  # as a law does that uses jax.numpy
    return by_jax(tape)(*args, *numbers_on_tape(law, tape))


@lru_cache(maxsize=1024)
def by_jax(tape: Tape) -> Callable[..., tuple[Any, ...]]:
    """Return a tape as a function of JAX, of inputs and parameters.

    Its derivative is the tape of its slopes, where `where` chooses between slopes. JAX by itself
    multiplies the slope of what is not chosen by 0, and infinity times 0 is not 0: backwards there
    would be NaN wherever a branch that is not taken divides by 0.
    """
    import jax

    names = (*tape.inputs, *tape.parameters)
    size = len(tape.outputs)

    @jax.custom_jvp
    def evaluate(*values: Number) -> tuple[Any, ...]:
        count = len(tape.inputs)
        results = tape(*values[:count], parameters=values[count:])
        return tuple(jax.numpy.asarray(value, float) for value in results)

    @evaluate.defjvp
    def _(
        primals: tuple[Number, ...], tangents: tuple[Number, ...]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        slopes = by_jax(tape.slopes(names))(*primals)
        moves = [
            sum(
                slopes[place * size + which] * tangent
                for place, tangent in enumerate(tangents)
                if tape.depends(which, [names[place]])  # else of another shape than the result
            )
            for which in range(size)
        ]
        results = evaluate(*primals)
        shaped = [
            jax.numpy.broadcast_to(jax.numpy.asarray(move, float), value.shape)
            for move, value in zip(moves, results, strict=True)
        ]
        return results, tuple(shaped)

    function: Callable[..., tuple[Any, ...]] = evaluate
    return function
