"""Loops whose crossovers compiled code searches for.

`native/margins/search` does what `crossovers`, `tracking` and `roots` do, which stay the readable
twin: they are tested against one another, and a loop that compiled code cannot follow is left to
them. Loops by the rate clock are here, those by acknowledgements in `pi2_fluid.loop.acks.searched`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypedDict

import numpy as np

from pi2_fluid import _core
from pi2_fluid.loop.corners import corners_of, hardly_damped, slowest_corner
from pi2_fluid.loop.expansion import Echo, echoes_of
from pi2_fluid.loop.open_loop import settles_alone
from pi2_fluid.loop.ratios import MOST_STATES, described
from pi2_fluid.loop.response import asymptote_of
from pi2_fluid.loop.sampled import alias_counts
from pi2_fluid.loop.state_space import AnyLoop, LinearClass, LinearController, LinearLoop

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, FloatArray, IntArray, Real

#: Told how many loops more have been dealt with.
Tell: TypeAlias = Callable[[int], None]
#: From what all loops have, or one of each, to a column of those that are chosen.
Each: TypeAlias = "Callable[[Real | IntArray], FloatArray]"

_ORDERS: Final = (2, 3, 4)
_MOST_COEFFICIENTS: Final = 8
_AT_ONCE: Final = 500  # loops between two looks at whether one wants to stop


class Searched(Protocol):
    """Loops in a row whose crossovers compiled code searches for, as `_core.LinearLoops` does."""

    def margins(self, first: int, last: int) -> FloatArray:
        """Return the numbers of `SearchedMargins` of those from first to last - 1, as rows."""

    def nearest(self, first: int, last: int) -> FloatArray:
        """Return their smallest |1 + L|, one row."""

    def unstable(self, first: int, last: int) -> FloatArray:
        """Return how many of their closed-loop modes grow, one row."""


class CompiledLoops:
    """Loops in compiled code, as a row; what it cannot follow it answers with NaN."""

    def __init__(self, loops: Searched, size: int) -> None:
        self._loops = loops
        self._size = size

    def margins(self, tell: Tell) -> FloatArray:
        """Return gain and phase margin, gain and phase crossover, delay margin, as rows."""
        return self._in_parts(self._loops.margins, tell)

    def distances(self, tell: Tell) -> FloatArray:
        """Return the smallest |1 + L|, one row."""
        return self._in_parts(self._loops.nearest, tell)

    def counts(self, tell: Tell) -> FloatArray:
        """Return the number of closed-loop modes that grow, -1 on the boundary, one row."""
        return self._in_parts(self._loops.unstable, tell)

    def _in_parts(self, function: Callable[[int, int], FloatArray], tell: Tell) -> FloatArray:
        parts = []
        for first in range(0, self._size, _AT_ONCE):
            parts.append(function(first, min(first + _AT_ONCE, self._size)))
            tell(int(np.count_nonzero(~np.isnan(parts[-1][0]))))
        return np.concatenate(parts, axis=1)


class ControllerColumns(TypedDict):
    """The numbers of controllers as compiled code takes them, a column of each loop."""

    top: FloatArray
    bottom: FloatArray
    unit: FloatArray
    interval: FloatArray


@singledispatch
def compile_loops(
    loop: AnyLoop,  # noqa: ARG001  of no kind that compiled code knows
    update: str,  # noqa: ARG001
    chosen: BoolArray,  # noqa: ARG001
    simd: str | None = None,  # noqa: ARG001
) -> CompiledLoops | None:
    """Return chosen ones of an array of loops in compiled code, None if they have no place there.

    Parameters
    ----------
    loop : AnyLoop
    update : {"continuous", "delayed", "sampled"}
    chosen : numpy.ndarray of bool
        Of the loop's shape.
    simd : str, optional
        The instruction set; the fastest if not given.
    """
    return None


@compile_loops.register(LinearLoop)
def _compile_rates(
    loop: LinearLoop, update: str, chosen: BoolArray, simd: str | None = None
) -> CompiledLoops | None:
    if not loop.classes or any(cls.size > MOST_STATES for cls in loop.classes):
        return None
    each = columns_of(loop.shape, chosen)
    controllers = controller_columns(loop.controller, update, each)
    if controllers is None:
        return None
    echoes = echoes_of(loop) if update == "sampled" else []
    loops = _core.LinearLoops(
        [_class_columns(cls, each) for cls in loop.classes],
        [_echo_columns(echo, each) for echo in echoes],
        **controllers,
        slow=each(slowest_corner(loop)),
        integrators=each(_usual_integrators(loop)).astype(np.int64),
        settles=each(settles_alone(loop).astype(float)).astype(np.int64),
        aliases=each(alias_counts(loop) if update == "sampled" else 0).astype(np.int64),
        update=update,
        simd=simd,
    )
    return CompiledLoops(loops, int(np.count_nonzero(chosen)))


def columns_of(shape: tuple[int, ...], chosen: BoolArray) -> Each:
    """Return what makes columns, of the loops that are chosen, of what an array of loops has."""

    def each(value: Real | IntArray) -> FloatArray:
        given: FloatArray = np.asarray(value, dtype=float)
        if shape == ():  # what follows takes ten times as long
            return given.reshape(1)
        return np.ascontiguousarray(np.broadcast_to(given, shape)[chosen])

    return each


def controller_columns(
    controller: LinearController, update: str, each: Each
) -> ControllerColumns | None:
    """Return the numbers of the controllers of loops; None if they have no place there."""
    unit: Real = 1.0
    if update == "sampled":
        top, bottom = controller.in_steps
    else:
        top, bottom, unit = controller.continuous_image
    if len(bottom) > _MOST_COEFFICIENTS or len(top) > len(bottom):
        return None
    if not np.all(bottom[-1]):  # of lower degree in some loops
        return None
    padding = [np.zeros(())] * (len(bottom) - len(top))
    ticks = controller.interval is not None
    return {
        "top": np.array([each(value) for value in [*top, *padding]]),
        "bottom": np.array([each(value) for value in bottom]),
        "unit": each(unit),
        "interval": each(controller.interval if ticks else 0.0),
    }


def _usual_integrators(loop: LinearLoop) -> IntArray:
    """The number of poles at 0, of loops that compiled code follows.

    -1 where L begins negative or at 0, -2 where it bends back and forth in a narrow range, so that
    unstable modes are not counted, either.
    """
    asymptote, corners = asymptote_of(loop), corners_of(loop)
    sharp = np.sum(hardly_damped(corners) & (corners.imag > 0.0), axis=0)
    usual = (asymptote.order >= 0) & (asymptote.value > 0.0)
    result: IntArray = np.where(sharp > 1, -2, np.where(usual, asymptote.order, -1))
    return result


def _class_columns(cls: LinearClass, each: Each) -> dict[str, FloatArray]:
    polynomials, numbers = described(cls)
    return {
        **{name: np.array([each(term) for term in terms]) for name, terms in polynomials.items()},
        **{name: each(value) for name, value in numbers.items()},
    }


def _echo_columns(echo: Echo, each: Each) -> dict[str, FloatArray]:
    orders = {f"order{m}": each(echo.orders.get(m, 0.0)) for m in _ORDERS}
    return {"delay": each(echo.delay)} | orders
