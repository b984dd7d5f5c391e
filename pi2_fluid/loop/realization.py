"""The loop in state space, with a Pade approximation only where a delay has no finite state.

One round trip ago lies between the controller and a class (its drive) and, in most window laws,
between the class and itself (its answer to its own window then, and to the queue delay). Of each
class, all that acts one round trip late is gathered first, then delayed at once, by as many copies
of one approximation as there are independent signals in it.

Of a sampled loop the drive is held between updates, and a delayed step is a step: it needs no
approximation, only the updates of one round trip. What a law answers to itself remains. A law that
does not is exact, to rounding.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.errors import DomainError, UnsupportedError
from pi2_fluid.loop.delay_system import controller_matrices, delay_system
from pi2_fluid.loop.state_space import LinearLoop

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

_HIGHEST_ORDER: Final = 40
_MOST_UPDATES: Final = 1000  # in a round trip: a matrix whose eigenvalues take seconds
_INDEPENDENT: Final = 1e-12  # of the largest singular value: below lies rounding

_Matrices = tuple[Any, Any, Any, Any]


def realize(loop: LinearLoop, update: str, order: int) -> _Matrices:
    """Return (A, B, C, D) of L, D = 0: of dx/dt, or from update to update of a sampled loop.

    Parameters
    ----------
    loop : LinearLoop
        A scalar loop.
    update : {"continuous", "delayed", "sampled"}
    order : int
        Of each Pade approximation, 1 to 40.

    Raises
    ------
    DomainError
        If the order is outside its range.
    UnsupportedError
        Of a sampled loop, if a round trip takes more than 1,000 updates.
    """
    if not 1 <= order <= _HIGHEST_ORDER:
        raise DomainError(f"order = {order} is outside [1, {_HIGHEST_ORDER}]: give e.g. 5.")
    if update == "sampled":
        return _sampled(loop, order)
    A, B, _ = _plant(loop, order, held=False)
    B = B.sum(axis=1, keepdims=True)
    C = np.zeros((1, A.shape[0]))
    C[0, delay_system(loop).present.shape[0] - 1] = -1.0
    plant: _Matrices = (A, B, C, np.zeros((1, 1)))
    a, b, c, d = controller_matrices(loop.controller)
    own: _Matrices = (a, b[:, None], c[None, :], np.array([[d]]))
    if update == "delayed":
        own = _series(own, _delay(float(loop.controller.interval) / 2, order, 1))
    return _series(own, plant)


def allpass(delay: float, order: int) -> tuple[Any, Any, Any, float]:
    """Return the diagonal Pade approximation of e^{-s delay} as (A, b, c, d), whatever its order.

    Its denominator is a Bessel polynomial, and those have a three-term recurrence: the inverse of A
    is tridiagonal, skew but for -1/2 in its corner, so that A + A' = -c c' (all frequencies pass).
    """
    j = np.arange(1, order)
    skew = np.diag(0.5 / np.sqrt(4.0 * j**2 - 1.0), 1)
    inverse = skew - skew.T
    inverse[0, 0] = -0.5
    A = np.linalg.inv(inverse)
    sign, root = (-1.0) ** order, math.sqrt(delay)
    return A / delay, -sign * A[:, 0] / root, A[:, 0] / root, sign


def _delay(delay: float, order: int, count: int) -> _Matrices:
    """So many signals, each through its own approximation."""
    A, b, c, d = allpass(delay, order)
    each = np.eye(count)
    return np.kron(each, A), np.kron(each, b[:, None]), np.kron(each, c[None, :]), d * each


def _series(first: _Matrices, then: _Matrices) -> _Matrices:
    from scipy.linalg import block_diag

    A1, B1, C1, D1 = first
    A2, B2, C2, D2 = then
    A = block_diag(A1, A2)
    A[A1.shape[0] :, : A1.shape[0]] = B2 @ C1
    return A, np.vstack([B1, B2 @ D1]), np.hstack([D2 @ C1, C2]), D2 @ D1


def _plant(loop: LinearLoop, order: int, *, held: bool) -> tuple[Any, Any, list[float]]:
    """Senders and queue: dz/dt = A z + B u, a column of B and a delay for each class.

    If `held`, the drive comes in delayed already, and only what a class answers to itself passes an
    approximation.
    """
    plant = delay_system(loop)
    size = plant.present.shape[0]
    A, columns = plant.present, []
    for part in plant.delayed:
        drive = np.zeros(size) if held else part.drive
        late = np.column_stack([part.matrix, drive])
        left, singular, right = np.linalg.svd(late)
        count = int(np.sum(singular > _INDEPENDENT * max(singular[0], 1e-300)))
        into, signals = left[:, :count] * singular[:count], right[:count]
        a, b, c, d = _delay(part.delay, order, count)
        old = A.shape[0]
        grown = np.zeros((old + a.shape[0],) * 2)
        grown[:old, :old] = A
        grown[:size, :size] += into @ d @ signals[:, :size]
        grown[:size, old:] = into @ c
        grown[old:, :size] = b @ signals[:, :size]
        grown[old:, old:] = a
        A = grown
        columns.append((old, into @ d @ signals[:, size], b @ signals[:, size]))
    B = np.zeros((A.shape[0], len(columns)))
    for index, (start, at_once, later) in enumerate(columns):
        B[:size, index] = plant.delayed[index].drive if held else at_once
        B[start : start + later.size, index] = later
    return A, B, [part.delay for part in plant.delayed]


def _sampled(loop: LinearLoop, order: int) -> _Matrices:
    """State: the plant, then the delays and the controller's outputs at the last updates.

    u[k] = sum of n_j d[k-j] - sum of a_j u[k-j], and the plant feels u[k-m+1] and u[k-m] for the
    part of the interval that each arrives in.
    """
    from scipy.linalg import expm  # 0.2 s to import

    T = float(loop.controller.interval)
    A, B, delays = _plant(loop, order, held=True)
    size, queue = A.shape[0], delay_system(loop).present.shape[0] - 1
    top = np.array([float(value) for value in loop.controller.numerator])
    bottom = np.array([float(value) for value in loop.controller.denominator])
    top, bottom = top / bottom[0], bottom / bottom[0]
    late = [math.floor(delay / T) for delay in delays]
    if max(late) > _MOST_UPDATES:
        raise UnsupportedError(
            f"a round trip of this loop takes {max(late)} updates, and each is a state (at most"
            f' {_MOST_UPDATES} here): use kind="frd", or update="delayed".'
        )
    past_d = size + np.arange(len(top) - 1)
    past_u = size + past_d.size + np.arange(max(len(bottom) - 1, max(late) + 1))
    total = size + past_d.size + past_u.size
    output = np.zeros(total + 1)  # u[k] from the state and d[k], which comes last
    output[past_d], output[total] = top[1:], top[0]
    output[past_u[: len(bottom) - 1]] = -bottom[1:]

    step = np.zeros((total, total + 1))
    step[:size, :size] = expm(A * T)
    for drive, delay, whole in zip(B.T, delays, late, strict=True):
        new = _integral(A, drive, min((whole + 1) * T - delay, T))  # while u[k - whole] arrives
        step[:size, past_u[whole]] += _integral(A, drive, T) - new
        if whole:
            step[:size, past_u[whole - 1]] += new
        else:
            step[:size] += np.outer(new, output)
    for past, newest in ((past_d, np.eye(total + 1)[total]), (past_u, output)):
        step[past[1:], past[:-1]] = 1.0
        step[past[:1]] = newest
    C = np.zeros((1, total))
    C[0, queue] = -1.0
    return step[:, :total], step[:, total:], C, np.zeros((1, 1))


def _integral(A: FloatArray, b: FloatArray, t: float) -> FloatArray:
    """Return what a constant input leaves after a time: the integral of e^{As} b from 0 to t."""
    from scipy.linalg import expm

    size = A.shape[0]
    both = np.zeros((size + 1, size + 1))
    both[:size, :size], both[:size, size] = A * t, b * t
    return expm(both)[:size, size]
