"""Loops whose crossovers compiled code searches for: those by the rate clock.

`native/margins/` does what `crossovers`, `tracking` and `roots` do, which stay the readable twin:
they are tested against one another, and a loop that compiled code cannot follow is left to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from pi2_fluid import _core
from pi2_fluid.loop.corners import corners_of, hardly_damped, slowest_corner
from pi2_fluid.loop.expansion import Echo, echoes_of
from pi2_fluid.loop.open_loop import settles_alone
from pi2_fluid.loop.ratios import MOST_STATES, described
from pi2_fluid.loop.response import asymptote_of
from pi2_fluid.loop.sampled import alias_counts
from pi2_fluid.loop.state_space import AnyLoop, LinearClass, LinearLoop

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, FloatArray, IntArray, Real

#: Told how many loops more have been dealt with.
Tell: TypeAlias = Callable[[int], None]

_ORDERS: Final = (2, 3, 4)
_MOST_COEFFICIENTS: Final = 8
_AT_ONCE: Final = 500  # loops between two looks at whether one wants to stop


class CompiledLoops:
    """Loops in compiled code, as a row; what it cannot follow it answers with NaN."""

    def __init__(self, loops: _core.LinearLoops, size: int) -> None:
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


def compile_loops(
    loop: AnyLoop, update: str, chosen: BoolArray, simd: str | None = None
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
    if not isinstance(loop, LinearLoop) or not loop.classes:
        return None
    controller = loop.controller
    unit: Real = 1.0
    if update == "sampled":
        top, bottom = controller.in_steps
    else:
        top, bottom, unit = controller.continuous_image
    many = any(cls.size > MOST_STATES for cls in loop.classes)
    if many or len(bottom) > _MOST_COEFFICIENTS or len(top) > len(bottom):
        return None
    if not np.all(bottom[-1]):  # of lower degree in some loops
        return None

    def each(value: Real | IntArray) -> FloatArray:
        given: FloatArray = np.asarray(value, dtype=float)
        if loop.shape == ():  # what follows takes ten times as long
            return given.reshape(1)
        return np.ascontiguousarray(np.broadcast_to(given, loop.shape)[chosen])

    padding = [np.zeros(())] * (len(bottom) - len(top))
    ticks = controller.interval is not None
    echoes = echoes_of(loop) if update == "sampled" else []
    loops = _core.LinearLoops(
        [_class_columns(cls, each) for cls in loop.classes],
        [_echo_columns(echo, each) for echo in echoes],
        top=np.array([each(value) for value in [*top, *padding]]),
        bottom=np.array([each(value) for value in bottom]),
        unit=each(unit),
        interval=each(controller.interval if ticks else 0.0),
        slow=each(slowest_corner(loop)),
        integrators=each(_usual_integrators(loop)).astype(np.int64),
        settles=each(settles_alone(loop).astype(float)).astype(np.int64),
        aliases=each(alias_counts(loop) if update == "sampled" else 0).astype(np.int64),
        update=update,
        simd=simd,
    )
    return CompiledLoops(loops, int(np.count_nonzero(chosen)))


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


def _class_columns(cls: LinearClass, each: Callable[[Real], FloatArray]) -> dict[str, FloatArray]:
    polynomials, numbers = described(cls)
    return {
        **{name: np.array([each(term) for term in terms]) for name, terms in polynomials.items()},
        **{name: each(value) for name, value in numbers.items()},
    }


def _echo_columns(echo: Echo, each: Callable[[Real], FloatArray]) -> dict[str, FloatArray]:
    orders = {f"order{m}": each(echo.orders.get(m, 0.0)) for m in _ORDERS}
    return {"delay": each(echo.delay)} | orders
