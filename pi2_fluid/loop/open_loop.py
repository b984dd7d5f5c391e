"""What senders, queue and controller do with the loop open."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid.loop.state_space import AnyLoop, LinearController, LinearLoop

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray


@singledispatch
def settles_alone(loop: AnyLoop) -> BoolArray:
    """Return which of an array of loops are known to have no mode that grows with the loop open.

    An integrator of the controller stays; one of a sender or the queue beside it is a mode that may
    grow, however small the gain.

    Of laws of one state, by what they are told: one that answers to itself a round trip ago by
    less than to itself now, or that comes back within a quarter of a turn, fades. Of others it is
    not known, and asked by counting.
    """
    return np.zeros(loop.shape, dtype=bool)


def controller_settles(controller: LinearController) -> Any:
    """Return whether a controller ticks, with no mode that grows but one integrator."""
    if controller.interval is None or len(controller.denominator) > 2:
        return np.bool_(False)
    bottom = controller.denominator
    return np.abs(bottom[-1]) <= np.abs(bottom[0])


@settles_alone.register(LinearLoop)
def _of_rates(loop: LinearLoop) -> BoolArray:
    known: Any = controller_settles(loop.controller)
    for cls in loop.classes:
        if cls.size > 1 or np.any(cls.e0) or np.any(cls.e1):
            return np.zeros(loop.shape, dtype=bool)
        stays = cls.a0 + np.abs(cls.a1) < 0.0
        returns = (cls.a0 <= 0.0) & (cls.a1 < 0.0) & (-cls.a1 * cls.rtt < 0.5 * np.pi)
        known = known & (stays | returns) & (cls.weight * cls.r < 0.0)
    return np.broadcast_to(known, loop.shape)
