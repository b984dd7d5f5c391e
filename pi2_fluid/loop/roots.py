"""Is the closed loop stable? Counted on the imaginary axis, and seen in its rightmost root."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pi2_fluid.ascending import ascending
from pi2_fluid.errors import SolverError
from pi2_fluid.loop.corners import landmarks_of, slowest_corner
from pi2_fluid.loop.delay_system import controller_matrices, delay_system
from pi2_fluid.loop.ends import fading_end, high_limit
from pi2_fluid.loop.response import (
    characteristic,
    characteristic_degree,
    held_polynomials,
    open_characteristic,
)
from pi2_fluid.loop.sampled import sampled_response
from pi2_fluid.loop.state_space import AnyLoop, LinearLoop
from pi2_fluid.loop.tracking import base_grid, track
from pi2_fluid.loop.updates import highest_frequency, longest_delay

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pi2_fluid.values import ComplexArray, Curve, FloatArray

_NODES: Final = (24, 48, 96, 192)  # Chebyshev nodes per delay interval, tried in turn
_UNDECIDED: Final = -1
_MOST_STATES: Final = 40  # times 192 nodes: a matrix whose eigenvalues take minutes
# Of a root and the loop's slowest scale: a step of Newton's method after which none is needed, and
# how far from a guess it is lost, ten times as far as its root may be.
_EXACT: Final = 1e-13
_LOST: Final = 2.0
_NEAR: Final = 0.3
_COSTLY: Final = 1e4  # rad of the longest delay, from which on a shorter way is taken
_PER_DECADE: Final = 24
_TAIL: Final = 1000  # frequencies
_FOLLOWED: Final = 1.5  # rad from one value to the next, which cannot be a full turn more or less
_FACTORS: Final = 8.0  # that may turn by 0.1 rad each, from one frequency of the grid to the next


@singledispatch
def count_unstable(loop: AnyLoop, update: str) -> int:
    """Return the number of closed-loop modes that grow, or -1 if the loop is on the boundary.

    Parameters
    ----------
    loop : AnyLoop
        A scalar loop.
    update : {"continuous", "delayed", "sampled"}
    """
    raise NotImplementedError(type(loop).__name__)


@count_unstable.register(LinearLoop)
def _count_of_rates(loop: LinearLoop, update: str) -> int:
    """The same by the rate clock.

    Continuous and delayed loops: the characteristic function f(s) = s^n + ..., free of poles, has
    as many zeros in the right half plane as its phase, followed along s = jw, falls short of
    n times 90 degrees, in units of 180 (Mikhailov's criterion for retarded delay systems; no
    open-loop poles need to be known). Sampled loops: the same on the unit circle, for the
    controller's denominator times 1 + L_d, plus the unstable modes of senders and queue.
    """
    slowest = longest_delay(loop, update)
    slow_rate = float(slowest_corner(loop))
    closed_degree, open_degree = characteristic_degree(loop)
    if update != "sampled":
        half, scale = update == "delayed", 1.0 / slowest

        def open_curve(w: FloatArray) -> ComplexArray:
            return characteristic(loop, 1j * w, scale=scale, closed=False)

        late = any(np.any(part) for cls in loop.classes for part in (cls.a1, cls.e0, cls.e1))
        level = 0.5 * (1.0 + high_limit(loop, update))
        return count_right(
            lambda w: characteristic(loop, 1j * w, half_sample=half, scale=scale),
            closed_degree,
            slowest,
            slow_rate,
            lambda high: landmarks_of(loop, high),
            near=max(_NEAR, level if level > 0.5 else 0.0),
            beyond=None if late else (open_curve, fading_end(loop, update, level)),
        )
    open_loop = count_right(
        lambda w: open_characteristic(loop, 1j * w, 1.0 / slowest),
        open_degree,
        slowest,
        slow_rate,
    )
    if open_loop == _UNDECIDED:
        return _UNDECIDED

    def denominator(w: FloatArray) -> ComplexArray:
        return held_polynomials(loop.controller, 1j * w)[1]

    def curve(w: FloatArray) -> ComplexArray:
        return denominator(w) * (1.0 + sampled_response(loop, 1j * w))

    nyquist = highest_frequency(loop, update)
    low = 1e-6 * min(slow_rate, nyquist)
    # Where |L_d| < 1/2 for certain, only the denominator turns: what it still turns is added.
    high = fading_end(loop, update, 0.5)
    grid = base_grid(low, high, min(0.4 / slowest, nyquist / 8))
    turns = count_turns(curve, grid, denominator, np.linspace(high, nyquist, _TAIL))
    return _UNDECIDED if turns is None else open_loop + turns


def count_right(
    curve: Curve,
    degree: int,
    longest: float,
    slowest: float,
    landmarks: Callable[[float], FloatArray] | None = None,
    *,
    near: float = _NEAR,
    beyond: tuple[Curve, float] | None = None,
) -> int:
    """Count the zeros on the right of a function on the axis that tends to 1; -1 on the boundary.

    Parameters
    ----------
    curve : callable
        Of frequencies (rad/s).
    degree : int
        Factors that may turn by themselves.
    longest, slowest : float
        The longest delay (s), the slowest rate (1/s).
    landmarks : callable, optional
        Frequencies that must not be missed, up to one.
    near : float
        How far from 1, at most, what is at high frequency may stay.
    beyond : pair, optional
        A curve without delays that this one is within 90 degrees of from a frequency on (rad/s):
        there it need not be followed turn by turn.
    """
    scale = 1.0 / longest
    high = 10.0 * scale
    while np.max(np.abs(curve(np.geomspace(high, 1e4 * high, 60)) - 1.0)) > near:
        high *= 3.0
        if high > 1e12 * scale:
            raise SolverError("the loop's laws do not fade at high frequency: check their rates.")
    rest, along = None, np.array([])
    if beyond is not None and high > _COSTLY * scale:
        rest, end = beyond
        end = min(max(end, 10.0 * scale), high)
        along, high = np.geomspace(end, high, 2 + int(_PER_DECADE * np.log10(high / end))), end
        if landmarks is not None:
            more = landmarks(float(along[-1]))
            along = ascending(along, more[more > end])
    # Every factor may turn between neighbours: with many of them they must be closer.
    finer = max(1.0, degree / _FACTORS)
    low = 1e-6 * min(slowest, scale)
    grid = base_grid(low, high, 0.4 * scale / finer, finer)
    if landmarks is not None:
        grid = ascending(grid, landmarks(high))
    turns = count_turns(curve, grid, rest, along)
    return _UNDECIDED if turns is None else turns


def count_turns(
    curve: Curve, grid: FloatArray, rest: Curve | None = None, along: FloatArray | None = None
) -> int | None:
    """Return the zeros to the right of a contour: -(phase change)/pi of its half, None on a zero.

    From the last frequency of the grid on, `along` others from there, the curve turns as `rest`
    does, and the quotient of the two stays within 90 degrees of the positive axis.
    """
    _, values = track(curve, grid)
    change, last = _turned(values), values[-1]
    if rest is not None and along is not None and along[0] < along[-1]:
        _, tail = track(rest, along)
        change = change + np.sum(np.angle(tail[1:] / tail[:-1])) - np.angle(last / tail[0])
        last = tail[-1]
    count = float(_as_count(change, values[0], last))
    return None if np.isnan(count) else round(count)


def turns_along(values: ComplexArray) -> FloatArray:
    """Return the same of curves that were followed, the first axis; NaN where one turns too far.

    That is by more than 1.5 rad from one value to the next, or on a zero.
    """
    return _as_count(_turned(values), values[0], values[-1])


def _turned(values: ComplexArray) -> FloatArray:
    """By how much the phase of curves has changed along the first axis (rad); NaN as above."""
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.angle(values[1:] / values[:-1])
        followed = np.all(np.abs(steps) <= _FOLLOWED, axis=0)
    result: FloatArray = np.where(followed, np.sum(steps, axis=0), np.nan)
    return result


def _as_count(change: FloatArray, first: ComplexArray, last: ComplexArray) -> FloatArray:
    """A change of phase in zeros; NaN if there is none.

    Both ends are real, up to the small rest of the range: their angle is rounded to 0 or 180
    degrees.
    """
    start, stop = (np.angle(value) / np.pi for value in (first, last))
    count = (stop - np.round(stop)) - (start - np.round(start)) - change / np.pi
    result: FloatArray = np.where(np.abs(count - np.round(count)) < 1e-6, np.round(count), np.nan)
    return result


@singledispatch
def rightmost_roots(loop: AnyLoop, update: str, n: int) -> ComplexArray:
    """Return the `n` rightmost roots of 1 + L(s) = 0 (rad/s), each complex pair once."""
    raise NotImplementedError(type(loop).__name__)


@rightmost_roots.register(LinearLoop)
def _roots_of_rates(loop: LinearLoop, update: str, n: int) -> ComplexArray:
    """The same by the rate clock.

    Eigenvalues of the delay system's generator on Chebyshev nodes, polished by Newton's method on
    the characteristic function; the number of roots in the right half plane must agree with
    `count_unstable` (or, for wildly unstable loops, the rightmost roots with those on half as many
    nodes).

    Raises
    ------
    SolverError
        If it does not, with up to 192 nodes, or there are more than 40 states.
    """
    half = update == "delayed"
    return resolved_roots(
        _closed_system(loop, half),
        lambda s: characteristic(loop, s, half_sample=half),
        count_unstable(loop, update),
        n,
    )


class ClosedSystem(NamedTuple):
    """A closed loop: d/dt (z + sum of N_i z(t - d_i)) = M0 z + sum of M_i z(t - d_i)."""

    present: FloatArray
    """M0."""
    delayed: list[tuple[float, FloatArray]]
    """Every d_i with its M_i."""
    neutral: list[tuple[float, FloatArray]]
    """Every d_i with its N_i; none, as a rule."""


def resolved_roots(
    system: ClosedSystem,
    function: Callable[[ComplexArray], ComplexArray],
    unstable: int,
    n: int,
) -> ComplexArray:
    """Return the `n` rightmost roots of a closed loop, as `rightmost_roots` does.

    Parameters
    ----------
    system : ClosedSystem
        The loop, whose generator gives first guesses.
    function : callable
        Its characteristic function, entire.
    unstable : int
        How many roots were counted in the right half plane; -1 if some are on the axis.
    n : int

    Raises
    ------
    SolverError
        If others are found there, or there are too many states.
    """
    states = len(system.present)
    if states > _MOST_STATES:
        raise SolverError(
            f"the loop has {states} states, too many (above {_MOST_STATES}) for its roots to be"
            " computed: merge classes, or use nyquist_count() and margins(), which take any number."
        )
    scale = 1.0 / max(delay for delay, _ in system.delayed)
    before = np.array([])
    for nodes in _NODES:
        guesses = _generator_eigenvalues(system, nodes)
        guesses = guesses[np.argsort(-guesses.real)][: 4 * n + 2 * max(unstable, 0) + 12]
        roots = distinct(polish(function, guesses, scale))
        upper = roots[roots.imag >= 0.0]
        right = sum(1 + (root.imag > 0.0) for root in upper if root.real > 0.0)
        if upper.size >= n and (unstable in {right, _UNDECIDED}):
            return upper[:n]
        # Dozens of unstable roots need not all be resolved for the rightmost ones to be right.
        enough = unstable > 8 and min(upper.size, before.size) >= n
        if enough and np.allclose(upper[:n], before[:n], rtol=1e-9, atol=0.0):
            return upper[:n]
        before = upper
    raise SolverError(
        f"the rightmost roots could not be resolved: {right} found in the right half plane,"
        f" {unstable} counted; the round-trip times of the classes may lie too far apart."
    )


def polish(
    function: Callable[[ComplexArray], ComplexArray],
    s: ComplexArray,
    scale: float,
    *,
    settled: float = 1e-10,
) -> ComplexArray:
    """Return the zeros of an analytic function near guesses, by Newton's method on all at once.

    Those that do not converge, to a last step of less than `settled`, relative, are dropped.
    """
    polished, step, start = s.astype(complex), np.full(s.shape, np.inf, complex), s
    left = np.arange(s.size)
    with np.errstate(all="ignore"):
        for _ in range(40):
            at = polished[left]
            size = np.abs(at) + scale
            h = 1e-5 * size
            value, ahead, behind = function(np.stack([at, at + h, at - h]))
            step[left] = 2 * h * value / (ahead - behind)
            polished[left] -= step[left]
            far = np.abs(polished[left] - start[left]) > _LOST * (np.abs(start[left]) + scale)
            left = left[(np.abs(step[left]) > _EXACT * size) & ~far]
            if not left.size:
                break
        good = np.abs(step) < settled * (np.abs(polished) + scale)
        # A guess that wandered far was no root of the discretised system's trusted part.
        good &= np.abs(polished - start) < 0.2 * (np.abs(start) + scale)
    kept: ComplexArray = polished[good & np.isfinite(polished)]
    return kept


def distinct(roots: ComplexArray) -> ComplexArray:
    """Return roots from the right to the left, each once."""
    roots = np.where(np.abs(roots.imag) < 1e-9 * np.abs(roots), roots.real + 0j, roots)
    roots = roots[np.argsort(-roots.real, kind="stable")]
    kept: list[complex] = []
    for root in roots:
        if all(abs(root - other) > 1e-7 * abs(root) for other in kept):
            kept.append(complex(root))
    return np.array(kept, dtype=complex)


def _generator_eigenvalues(system: ClosedSystem, nodes: int) -> ComplexArray:
    """The eigenvalues of z -> z' on Chebyshev nodes, where z' now is what the system says."""
    size = len(system.present)
    longest = max(delay for delay, _ in system.delayed)
    k = np.arange(nodes + 1)
    theta = (np.cos(np.pi * k / nodes) - 1.0) * longest / 2  # from 0 down to -longest
    generator = np.kron(differentiation(theta), np.eye(size))
    generator[:size] = 0.0
    generator[:size, :size] = system.present
    for delay, matrix in system.delayed:
        generator[:size] += np.kron(interpolation(theta, -delay), matrix)
    kept = with_pasts(size, nodes, [matrix for _, matrix in (*system.delayed, *system.neutral)])
    if system.neutral:
        moved = np.eye(len(generator))
        for delay, matrix in system.neutral:
            moved[:size] += np.kron(interpolation(theta, -delay), matrix)
        generator = np.linalg.solve(moved[kept], generator[kept])
    else:
        generator = generator[kept]
    result: ComplexArray = np.linalg.eigvals(generator).astype(complex, copy=False)
    return result


def with_pasts(
    size: int, nodes: int, late: list[FloatArray]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows and columns of a generator without pasts that nothing looks at.

    Of variables that no matrix of a delay takes the past moves nothing: its modes are none of the
    system's, and to leave them out costs less than to find them.
    """
    felt = np.flatnonzero(np.any([np.any(matrix != 0.0, axis=0) for matrix in late], axis=0))
    past = size * np.arange(1, nodes + 1)[:, None] + felt
    kept = np.concatenate([np.arange(size), past.ravel()])
    rows, columns = np.ix_(kept, kept)
    return rows, columns


def _closed_system(loop: LinearLoop, half: bool) -> ClosedSystem:
    """Matrices of z = (senders, queue delay, controller)."""
    plant = delay_system(loop)
    A, B, C, D = controller_matrices(loop.controller)
    size = plant.present.shape[0]
    total = size + A.shape[0]
    present = np.zeros((total, total))
    present[:size, :size] = plant.present
    present[size:, size - 1] = B
    present[size:, size:] = A
    extra = float(loop.controller.interval) / 2 if half else 0.0
    delayed = []
    for part in plant.delayed:
        now, signal = np.zeros_like(present), np.zeros_like(present)
        now[:size, :size] = part.matrix
        signal[:size, size - 1] = part.drive * D
        signal[:size, size:] = np.outer(part.drive, C)
        delayed += [(part.delay, now), (part.delay + extra, signal)]
    return ClosedSystem(present, delayed, [])


def differentiation(x: FloatArray) -> FloatArray:
    """Return the Chebyshev differentiation matrix on the nodes `x` (barycentric form)."""
    n = x.size - 1
    weight = np.ones(n + 1)
    weight[[0, -1]] = 2.0
    weight *= (-1.0) ** np.arange(n + 1)
    difference = x[:, None] - x[None, :] + np.eye(n + 1)
    matrix = np.outer(weight, 1 / weight) / difference
    return matrix - np.diag(matrix.sum(axis=1))


def interpolation(x: FloatArray, at: float) -> FloatArray:
    """Return the row that interpolates values on the Chebyshev nodes `x` at one point."""
    exact = np.isclose(x, at, rtol=1e-14, atol=0.0)
    if exact.any():
        return exact.astype(float)[None, :]
    weight = (-1.0) ** np.arange(x.size)
    weight[[0, -1]] /= 2
    row = weight / (at - x)
    result: FloatArray = (row / row.sum())[None, :]
    return result
