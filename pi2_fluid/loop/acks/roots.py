"""Is a loop by acknowledgements stable? Its modes counted on a contour, and found as roots.

In one queue senders and queue have no mode on the right of the axis and none on it that the delay
shows: Re s >= 0 makes |e| <= 1 and Re 1/(1 - e) >= 1/2, so that the sum of phi/(1 - e) is never 0.
What is counted is the loop of the delay, 1 + L, not what classes exchange among themselves unseen.

But where harmonics of several round-trip times lie close to one another, it is as small as 1/2,
and what is left of their exchange in the delay is hardly damped: closed, a loop far from its
margins may feed it, by some 1e-3/s. And L4S packets that are served first have poles on the axis,
at 2 pi j k/R. The loop ends below either: its modes are those in the half strip |Im s| < reach,
counted along the axis and then, at the reach, to the right. Beyond it are echoes
(`pi2_fluid.loop.acks.echoes`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.ascending import ascending
from pi2_fluid.errors import SolverError
from pi2_fluid.loop.acks.pencil import eigenvalues
from pi2_fluid.loop.acks.plant import AckClass, AckLoop, state_matrix
from pi2_fluid.loop.corners import slowest_corner
from pi2_fluid.loop.crossovers import find_crossings
from pi2_fluid.loop.ends import fading_end
from pi2_fluid.loop.open_loop import controller_settles, settles_alone
from pi2_fluid.loop.response import controller_order, controller_polynomials, held_polynomials
from pi2_fluid.loop.roots import (
    count_right,
    count_turns,
    count_unstable,
    distinct,
    polish,
    rightmost_roots,
)
from pi2_fluid.loop.tracking import base_grid, track
from pi2_fluid.loop.updates import highest_frequency, longest_delay, respond

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, ComplexArray, FloatArray

_NODES: Final = (24, 48, 96)
_MOST_STATES: Final = (
    10  # with five variables a class more, times 96 nodes: eigenvalues take seconds
)
_UNDECIDED: Final = -1
_LEAST_MEAN: Final = 0.25  # -sin(v)/v, the real part of -P on the axis, is below this everywhere
_SLOW: Final = 1e-6  # of the slowest scale: where the contour begins
_FAR: Final = 40.0  # to the right, in units of the delays that fade there


def without_echoes(loop: AckLoop) -> AckLoop:
    """Return a loop up to its reach; of one class in one queue, all of it."""
    return replace(loop, echoing=not (loop.dual or loop.exchanges))


@count_unstable.register(AckLoop)
def _count_of_acks(loop: AckLoop, update: str) -> int:
    loop = without_echoes(loop)
    open_loop = sum(count_unstable_windows(cls, loop.bunch) for cls in _countable(loop).classes)
    if _exchanges_unseen(loop):
        return open_loop + _entered(loop, update)
    sampled = update == "sampled"
    longest, top = longest_delay(loop, update), highest_frequency(loop, update)
    slowest = float(slowest_corner(loop))
    scale = 1.0 / longest
    degree = controller_order(loop.controller)

    def denominator(s: ComplexArray) -> ComplexArray:
        if sampled:
            return held_polynomials(loop.controller, s)[1]
        _, bottom, unit = loop.controller.continuous_image
        leading = float(bottom[-1] * unit ** (len(bottom) - 1))
        value: ComplexArray = controller_polynomials(loop.controller, s)[1]
        return value / leading / (s + scale) ** degree

    def curve(s: ComplexArray) -> ComplexArray:
        return denominator(s) * (1.0 + respond(loop, s, update))

    low = _SLOW * min(slowest, scale)
    if loop.reach < top:
        turns: int | None = count_in_strip(
            curve, low, loop.reach, longest, loop.landmarks(loop.reach)
        )
    elif sampled:
        high = min(fading_end(loop, update, 0.5), top)
        grid = base_grid(low, high, min(0.4 * scale, top / 8))
        grid = ascending(grid, loop.landmarks(high))
        tail = np.linspace(high, float(top), 1000)
        turns = count_turns(lambda w: curve(1j * w), grid, lambda w: denominator(1j * w), tail)
    else:
        turns = count_right(lambda w: curve(1j * w), degree, longest, slowest, loop.landmarks)
    return _UNDECIDED if turns is None or turns == _UNDECIDED else open_loop + turns


def count_in_strip(
    curve: Callable[[ComplexArray], ComplexArray],
    low: float,
    reach: float,
    longest: float,
    landmarks: FloatArray,
) -> int | None:
    """Zeros with 0 < Re s and |Im s| < reach of a curve that tends to a positive number there.

    Landmarks are frequencies (rad/s) near which it may turn once within a narrow range.
    """
    grid = ascending(base_grid(low, reach, 0.4 / longest), landmarks[landmarks > low])
    _, axis = track(lambda w: curve(1j * w), grid)
    far = np.geomspace(1e-6 * reach, _FAR * max(reach, 1.0 / longest), 200)
    _, across = track(lambda x: curve(x + 1j * reach), far)
    path = np.concatenate([axis, across])
    if not np.all(np.abs(path) > 0.0):
        return None
    change = float(np.sum(np.angle(path[1:] / path[:-1])))
    start, end = (float(np.angle(value)) / np.pi for value in (path[0], path[-1]))
    count = -change / np.pi + (end - round(end)) - (start - round(start))
    return round(count) if abs(count - round(count)) < 1e-6 else None


def _exchanges_unseen(loop: AckLoop) -> bool:
    """Return whether several classes follow acknowledgements.

    Whoever has more of these grows by more: packets gather in bursts, by 1/W a round trip, modes
    without end beside the axis that are not seen in the delay. No contour leads past them.
    """
    followers = [cls for cls in loop.classes if cls.follows_acks and not cls.paced]
    alone = sum(cls.waits for cls in loop.classes) <= 1 and all(cls.waits for cls in followers)
    return bool(followers) and not alone


def _countable(loop: AckLoop) -> AckLoop:
    """The loop itself, or of several classes that follow acknowledgements the frozen one.

    Without the modes that are not seen both have nearly the same.
    """
    if not _exchanges_unseen(loop):
        return loop
    frozen = [
        replace(cls, growth_by_acks=0.0 * cls.growth_by_acks, cut_by_acks=0.0 * cls.cut_by_acks)
        for cls in loop.classes
    ]
    return replace(loop, classes=tuple(frozen))


def _entered(loop: AckLoop, update: str) -> int:
    """Return how many modes have come over the axis on the way from no gain to the loop's own.

    Each comes, or goes, where L is below -1 on the real axis.
    """
    return sum(each.enters for each in find_crossings(loop, update).phase if each.gain > 1.0)


@settles_alone.register(AckLoop)
def _of_acks(loop: AckLoop) -> BoolArray:
    """Senders and queue do; their windows, of one loop, are counted, which costs little."""
    known: Any = controller_settles(loop.controller)
    for cls in loop.classes:
        alone = fades(cls) if loop.shape else count_unstable_windows(cls, loop.bunch) == 0
        known = known & alone
    return np.broadcast_to(known, loop.shape)


def fades(cls: AckClass) -> Any:
    """Return whether a window of one state falls back to its rest for certain.

    It solves with s - A + P c. To the right of the axis |P| <= 1, and Re P > -1/4 unless all of a
    cut is late.
    """
    if cls.size > 1 or cls.pauses is not None:
        return np.bool_(False)
    cut = cls.cut_by_state[..., 0]
    held_up = np.where((cut >= 0.0) & (not cls.late), _LEAST_MEAN, 1.0) * np.abs(cut)
    return cls.growth_by_state[..., 0, 0] <= -held_up


def count_unstable_windows(cls: AckClass, bunch: float) -> int:
    """Modes on the right of a window law by itself: zeros of det(s - A + P e0 c)."""
    if fades(cls):
        return 0
    growth, cut = cls.growth_by_state, cls.cut_by_state
    longest = float(cls.rtt)
    scale = 1.0 / longest
    first = np.zeros((cls.size, 1))
    first[0] = 1.0

    def curve(w: FloatArray) -> ComplexArray:
        s = 1j * w
        matrix = state_matrix(cls, s, np.exp(-s * longest), bunch)
        result: ComplexArray = np.linalg.det(matrix) / (s + scale) ** cls.size
        return result

    rates = np.abs(np.linalg.eigvals(growth - first * cut))
    return count_right(curve, cls.size, longest, float(np.min(rates[rates > 0.0])))


@slowest_corner.register(AckLoop)
def _slowest_of_acks(loop: AckLoop) -> FloatArray:
    rates: list[Any] = [1.0 / cls.rtt for cls in loop.classes]
    for cls in loop.classes:
        if cls.size == 1:
            rates.append(np.abs(cls.growth_by_state[..., 0, 0] - cls.cut_by_state[..., 0]))
            continue
        first = np.zeros((cls.size, 1))
        first[0] = 1.0
        moves = np.linalg.eigvals(cls.growth_by_state - first * cls.cut_by_state[..., None, :])
        rates += list(np.moveaxis(np.abs(moves), -1, 0))
    rates += list(loop.controller.rates)
    least: Any = np.inf
    for rate in rates:
        least = np.minimum(least, np.where(rate > 0.0, rate, np.inf))
    return np.asarray(least)


@rightmost_roots.register(AckLoop)
def _roots_of_acks(loop: AckLoop, update: str, n: int) -> ComplexArray:
    """The same by acknowledgements: eigenvalues of the delay system, polished by Newton's method.

    Those below its reach: from there on they are without end. Of several classes with exact terms
    those that are counted, of the frozen form.
    """
    loop = _countable(without_echoes(loop))
    if sum(cls.size for cls in loop.classes) > _MOST_STATES:
        raise SolverError(
            f"the loop has {len(loop.classes)} classes, too many (above {_MOST_STATES} states) for"
            " its roots by acknowledgements to be computed: merge classes, or use nyquist_count()"
            " and margins(), which take any number."
        )
    half = update == "delayed"
    below = loop.reach
    unstable = count_unstable(loop, update)
    scale = 1.0 / max(float(cls.rtt) for cls in loop.classes)

    def function(s: ComplexArray) -> ComplexArray:
        """The controller's denominator times 1 + L."""
        return controller_polynomials(loop.controller, s)[1] * (1.0 + respond(loop, s, update))

    upper = np.array([])
    right = 0
    for nodes in _NODES:
        guesses = eigenvalues(loop, half, nodes)
        guesses = guesses[(guesses.imag >= -1e-9) & (guesses.imag < below)]
        guesses = guesses[np.argsort(-guesses.real)][: 4 * n + 2 * max(unstable, 0) + 12]
        roots = distinct(polish(function, guesses, scale, settled=1e-9))
        upper = roots[(roots.imag >= 0.0) & (roots.imag < below)]
        right = sum(1 + (root.imag > 0.0) for root in upper if root.real > 0.0)
        if upper.size >= n and unstable in {right, _UNDECIDED}:
            return upper[:n]
    raise SolverError(
        f"the rightmost roots could not be resolved: {right} found in the right half plane,"
        f" {unstable} counted; the round-trip times of the classes may lie too far apart."
    )
