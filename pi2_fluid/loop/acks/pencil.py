"""The closed loop by acknowledgements as a delay system, and its modes on Chebyshev nodes.

The equations of `pi2_fluid.loop.acks.plant` in time, without a transform: window laws are ordinary
equations, what is sent an algebraic one with a delay, dA(t) = dA(t - R) - theta(t - b) + R w(t), so
that modes are those of a pencil, E z' = sum of M_i z(t - delay_i) with a singular E. It shares no
formula with L(s): roots that both have are roots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.loop.acks.pauses import Pauses
from pi2_fluid.loop.acks.plant import SMOOTHING, AckClass, AckLoop
from pi2_fluid.loop.delay_system import controller_matrices
from pi2_fluid.loop.roots import differentiation, interpolation, with_pasts

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray

_FARTHEST: Final = 1e9  # rad/s: beyond lie the infinite eigenvalues of algebraic equations


class _System:
    """E z' = sum over delays of M z(t - delay), a row for each variable."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, int, float | None, float]] = []
        self._numbers: Iterator[int] = count()

    def new(self) -> int:
        """Return a variable, which has the row of the same number."""
        return next(self._numbers)

    def moves(self, row: int, variable: int, factor: float = 1.0) -> None:
        """Add factor times a variable's derivative to the left of a row."""
        self._rows.append((row, variable, None, factor))

    def adds(
        self, row: int, terms: Mapping[int, float], factor: float = 1.0, late: float = 0.0
    ) -> None:
        """Add factor times variables as they were `late` seconds ago to the right of a row."""
        self._rows += [(row, variable, late, factor * value) for variable, value in terms.items()]

    def matrices(self) -> tuple[FloatArray, dict[float, FloatArray]]:
        """Return E and the matrix of each delay."""
        size = self.new()
        E = np.zeros((size, size))
        delayed: dict[float, FloatArray] = {0.0: np.zeros((size, size))}
        for row, variable, late, value in self._rows:
            matrix = E if late is None else delayed.setdefault(late, np.zeros((size, size)))
            matrix[row, variable] += value
        return E, delayed


def eigenvalues(loop: AckLoop, half: bool, nodes: int) -> ComplexArray:
    """Return modes of a scalar closed loop (rad/s), the first of which are right to many digits.

    Parameters
    ----------
    loop : AckLoop
        Not sampled.
    half : bool
        Whether the controller's variable is late by half an update interval.
    nodes : int
        Of the longest delay.
    """
    E, delayed = closed_equations(loop, half).matrices()
    size = E.shape[0]
    longest = max(delayed)
    k = np.arange(nodes + 1)
    theta = (np.cos(np.pi * k / nodes) - 1.0) * longest / 2  # from 0 down to -longest
    A = np.kron(differentiation(theta), np.eye(size))
    B = np.eye(A.shape[0])
    A[:size], B[:size, :size] = 0.0, E
    for delay, matrix in delayed.items():
        A[:size] += np.kron(interpolation(theta, -delay), matrix)
    kept = with_pasts(size, nodes, [matrix for delay, matrix in delayed.items() if delay > 0.0])
    A, B = A[kept], B[kept]
    shift = 1.0 / longest  # where no mode is, as a rule; infinite ones become 0
    inverse = np.linalg.eigvals(np.linalg.solve(A - shift * B, B)).astype(complex, copy=False)
    finite = inverse[np.abs(inverse) > 1.0 / _FARTHEST]
    result: ComplexArray = shift + 1.0 / finite
    # Round trips are averaged by an integrator, a mode at 0 that is none of the loop's.
    return result[np.abs(result) > 1e-6 / longest]


def closed_equations(loop: AckLoop, half: bool) -> _System:
    """Return the equations of the closed loop; `half` as in `eigenvalues`."""
    system = _System()
    theta, delay, ahead, u = (system.new() for _ in range(4))
    extra = float(loop.controller.interval) / 2 if half else 0.0
    system.adds(theta, {theta: -1.0, ahead: 1.0})
    system.adds(ahead, {ahead: -1.0})
    system.adds(delay, {delay: -1.0})
    if loop.measures == "head":
        system.adds(delay, {theta: 1.0})
    else:
        system.adds(delay, {ahead: 1.0})
        system.moves(delay, ahead, -float(loop.queue_delay))
    for cls in loop.classes:
        sent = _add_class(system, cls, loop.bunch, theta, u, extra)
        if cls.waits:
            system.adds(theta, {sent: float(cls.share)}, late=float(loop.queue_delay))
            if loop.measures != "head":
                system.adds(delay, {sent: float(cls.share)})
        else:
            system.adds(ahead, {sent: float(cls.share)})
    A, B, C, D = controller_matrices(loop.controller)
    states = [system.new() for _ in B]
    for row, state in enumerate(states):
        system.moves(state, state)
        system.adds(state, dict(zip(states, A[row], strict=True)) | {delay: B[row]})
    system.adds(u, dict(zip(states, C, strict=True)) | {delay: D, u: -1.0})
    return system


def _add_class(
    system: _System, cls: AckClass, bunch: float, theta: int, u: int, extra: float
) -> int:
    """Add the equations of a class; what it has sent, in seconds, is the variable returned."""
    R, b, W = float(cls.rtt), float(cls.base_rtt), float(cls.window)
    heard = float(cls.heard) + extra
    x = [system.new() for _ in range(cls.size)]
    cut, spread, sent, acks, beyond = (system.new() for _ in range(5))
    system.adds(cut, dict(zip(x, cls.cut_by_state, strict=True)) | {cut: -1.0})
    system.adds(cut, {acks: float(cls.cut_by_acks)})
    system.adds(cut, {u: float(cls.cut_by_signal)}, late=heard)
    for i, state in enumerate(x):
        system.moves(state, state)
        system.adds(state, dict(zip(x, cls.growth_by_state[i], strict=True)))
        system.adds(state, {acks: float(cls.growth_by_acks[i])})
        system.adds(state, {u: float(cls.growth_by_signal[i])}, late=heard)
    if cls.prr:  # `spread` is the mean of the cut over the last round trip
        system.moves(spread, spread)
        system.adds(spread, {cut: 1.0 / R})
        system.adds(spread, {cut: -1.0 / R}, late=R)
        system.adds(x[0], {spread: bunch - 1.0, cut: -bunch / 2.0})
        system.adds(x[0], {cut: -bunch / 2.0}, late=R)
    else:
        system.adds(spread, {spread: 1.0})
        system.adds(x[0], {cut: -1.0}, late=R if cls.late else 0.0)
    if cls.pauses is not None:
        _add_pauses(system, cls.pauses, R, bunch, (x, cut, acks, u), heard, cls.follows_acks)
    if cls.paced:
        system.moves(sent, sent)
        system.adds(sent, {x[0]: 1.0 / W})
        if cls.waits:
            smooth = system.new()
            system.moves(smooth, smooth)
            system.adds(smooth, {theta: 1.0, smooth: -1.0}, 1.0 / (SMOOTHING * R))
            system.adds(sent, {smooth: -1.0 / R}, late=b)
    else:
        system.adds(sent, {sent: -1.0, x[0]: R / W})
        system.adds(sent, {sent: 1.0}, late=R)
        if cls.waits:
            system.adds(sent, {theta: -1.0}, late=b)
    # What came back beyond the rest, and the rate at which it does.
    system.adds(beyond, {beyond: -1.0})
    system.adds(beyond, {sent: 1.0}, late=R)
    if cls.waits:
        system.adds(beyond, {theta: -1.0}, late=b)
    system.adds(acks, {acks: 1.0})
    system.moves(acks, beyond)
    return sent


def _add_pauses(
    system: _System,
    pauses: Pauses,
    R: float,
    bunch: float,
    variables: tuple[list[int], int, int, int],
    heard: float,
    follows: bool,
) -> None:
    """Add what a class's state and cut have of its pauses."""
    x, cut, acks, u = variables
    M, q = float(pauses.marks), float(pauses.clear)
    signal, reduced, open_, gamma = (system.new() for _ in range(4))
    system.adds(signal, {signal: -1.0})
    system.adds(signal, {u: float(pauses.signal)}, late=heard)
    system.adds(reduced, {reduced: -1.0, open_: 1.0, signal: 1.0})
    if follows:
        system.adds(reduced, {acks: 1.0})
    system.adds(open_, {open_: -1.0})
    _add_mean(system, open_, reduced, R, bunch, -M)
    for state, answer in zip(x, pauses.growth, strict=True):
        system.adds(state, {open_: float(answer)})
    system.adds(cut, {open_: float(pauses.cut)})
    system.adds(gamma, {gamma: -1.0, x[0]: -M / float(pauses.window)})
    system.adds(gamma, {gamma: q}, late=R)
    system.adds(gamma, {reduced: 1.0 - q}, late=2.0 * R)
    _add_mean(system, gamma, signal, R, bunch, -M)
    system.adds(x[0], {gamma: float(pauses.counted)})


def _add_mean(
    system: _System, row: int, variable: int, R: float, bunch: float, factor: float
) -> None:
    """Add factor times the mean of a variable over a round trip to the right of a row."""
    mean = system.new()
    system.moves(mean, mean)
    system.adds(mean, {variable: 1.0 / R})
    system.adds(mean, {variable: -1.0 / R}, late=R)
    system.adds(row, {mean: (1.0 - bunch) * factor, variable: 0.5 * bunch * factor})
    system.adds(row, {variable: 0.5 * bunch * factor}, late=R)
