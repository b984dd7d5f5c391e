"""What a network's loop by acknowledgements answers: crossovers, and how many modes grow.

Two things may grow: what classes exchange among themselves, the zeros of det(I + B), which of one
queue never do (`pi2_fluid.loop.acks.roots`) but of several may; and what controllers make of it,
the zeros of det(I + L). Both are counted along a line just to the right of the axis, on which
I + B has poles at the harmonics of the round trips, and then to the right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.errors import SolverError
from pi2_fluid.loop.acks.roots import count_unstable_windows
from pi2_fluid.loop.crossovers import Crossings
from pi2_fluid.loop.matrix.acks.response import (
    exchange_determinant,
    loop_bound,
    matrix_response,
)
from pi2_fluid.loop.matrix.acks.sampled import sampled_matrix
from pi2_fluid.loop.matrix.acks.system import AckMatrixLoop
from pi2_fluid.loop.matrix.eigenloci import Matrices
from pi2_fluid.loop.matrix.margins import find_matrix_crossings
from pi2_fluid.loop.tracking import base_grid, track

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi2_fluid.values import ComplexArray, FloatArray

#: Of 1 over the longest round trip: what grows faster is counted; of bursts by the second.
_ASIDE: Final = 1e-9
_ASIDE_OF_BURSTS: Final = 1e-3
_SLOW: Final = 1e-3  # of that, where the line begins: the curve is all but real there
_FAR: Final = 40.0  # to the right, in units of the delays that fade there
_ACROSS: Final = 200


def respond_by_acks(loop: AckMatrixLoop, s: ComplexArray, update: str) -> ComplexArray:
    """Return L(s), or L_d at z = e^{sT} with update="sampled"; a matrix for each s."""
    if update == "sampled":
        return sampled_matrix(loop, s)
    return matrix_response(loop, s, half_sample=update == "delayed")


def end_of(loop: AckMatrixLoop, update: str) -> float:
    """Return the frequency (rad/s) at which the loop ends: its reach, or pi/T; inf as for one."""
    top = np.pi / loop.intervals[0] if update == "sampled" else np.inf
    return float(min(loop.reach, top))


def find_crossings_by_acks(
    loop: AckMatrixLoop,
    response: Matrices,
    update: str,
    bound: Callable[[float], float],
    *,
    quiet: bool = False,
) -> Crossings:
    """Return `find_matrix_crossings` up to where the loop ends.

    Parameters
    ----------
    loop : AckMatrixLoop
    response : callable
        L(jw), perhaps of some links alone, the others closed.
    update : {"continuous", "delayed", "sampled"}
    bound : callable
        An upper bound of |L| from a frequency on, of a loop without end.
    quiet : bool
        As in `find_crossings`.
    """
    extra = max(loop.intervals) / 2 if update == "delayed" else 0.0
    turning = 1.0 / (float(np.max(loop.rtt)) + extra)
    end, marks = end_of(loop, update), None if np.isinf(loop.reach) else loop.landmarks
    return find_matrix_crossings(response, turning, end, bound, quiet=quiet, landmarks=marks)


def count_by_acks(loop: AckMatrixLoop, update: str) -> int:
    """Return how many modes grow, however slowly, as of one queue.

    But for bursts: windows that follow acknowledgements let packets gather in them, beside the
    axis, which no queue shows. So of these loops what is exchanged is counted of the frozen loop,
    where it grows by more than a thousandth in the longest round trip. No contour leads past
    several of them: then what comes over the axis on the way from no gain to the loop's own is.

    Parameters
    ----------
    loop : AckMatrixLoop
    update : {"continuous", "delayed", "sampled"}
    """
    alone = loop.frozen()
    end = end_of(loop, update)
    if np.isinf(end):
        end = _fading(loop)
    open_loop = sum(count_unstable_windows(cls, loop.bunch) for cls in alone.classes)
    aside = _ASIDE_OF_BURSTS if loop.follows_acks else _ASIDE
    open_loop += _count(alone, lambda s: exchange_determinant(alone, s), end, aside)
    if loop.follows_acks:

        def on_axis(w: FloatArray) -> ComplexArray:
            return respond_by_acks(loop, 1j * w, update)

        found = find_crossings_by_acks(loop, on_axis, update, lambda w: loop_bound(loop, w))
        return open_loop + sum(each.enters for each in found.phase if each.gain > 1.0)

    def closed(s: ComplexArray) -> ComplexArray:
        values = respond_by_acks(loop, s, update)
        result: ComplexArray = np.linalg.det(np.eye(values.shape[-1]) + values)
        return result

    return open_loop + _count(loop, closed, end, aside)


def _fading(loop: AckMatrixLoop) -> float:
    """Return a frequency (rad/s) from which on |L| < 1/2 for certain."""
    w = 1.0 / float(np.min(loop.rtt))
    for _ in range(200):
        if loop_bound(loop, w) < 0.5:
            return w
        w *= 1.5
    raise SolverError("the loop's gain does not fall with frequency: check the laws.")


def _count(
    loop: AckMatrixLoop, curve: Callable[[ComplexArray], ComplexArray], end: float, beside: float
) -> int:
    """Return the zeros to the right of a line beside the axis, below a frequency (rad/s).

    The curve is real on the real axis, has no poles there, and tends to 1 on the right.
    """
    longest = float(np.max(loop.rtt))
    aside = beside / longest
    low = _SLOW * aside
    grid = base_grid(low, end, 0.4 / longest)
    grid = np.union1d(grid, loop.landmarks(low, end))
    _, axis = track(lambda w: curve(aside + 1j * w), grid)
    far = np.geomspace(1e-3 * aside, _FAR * max(end, 1.0 / longest), _ACROSS)
    _, across = track(lambda x: curve(aside + x + 1j * end), far)
    path = np.concatenate([axis, across])
    change = float(np.sum(np.angle(path[1:] / path[:-1])))
    start, last = (float(np.angle(value)) / np.pi for value in (path[0], path[-1]))
    return round(-change / np.pi + (last - round(last)) - (start - round(start)))
