"""The steps of a linear trajectory, and values in between.

A step is a polynomial through Gauss's instants: of a step between two instants at which something
jumps it has the order 8, and the error at its ends is far smaller. Its highest coefficients say how
long the next one may be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from pi2_fluid.engines.fluid.linearised.elements import (
    HIGHEST,
    INTEGRALS,
    NODES,
    STAGES,
    WEIGHTS,
    weights_at,
)
from pi2_fluid.engines.fluid.linearised.equations import Equations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pi2_fluid.values import FloatArray, IntArray

#: From instants and all numbers then, to what is added to w by itself.
Pushed: TypeAlias = "Callable[[FloatArray, FloatArray], FloatArray]"

_LONG_AGO: Final = 1e7  # s
_ROUNDS: Final = 60
_SETTLED: Final = 1e-15
_ROOM: Final = 4096
_CHAIN: Final = 8  # of w that follow from one another at once, while some are pushed
#: s: instants so close are one
TOGETHER: Final = 1e-11


class Step(NamedTuple):
    """A step that may still be rejected."""

    values: FloatArray
    """Of z and w at Gauss's instants."""
    end: FloatArray
    """Of z at its end."""
    slopes: FloatArray
    error: float
    """Relative, of the polynomial; infinite if it was not found."""


class Past:
    """All numbers so far, as polynomials.

    Parameters
    ----------
    values : array, shape (numbers,)
        What they were before time 0.
    """

    def __init__(self, values: FloatArray) -> None:
        self.count = 1
        self.starts = np.zeros(_ROOM)
        self.widths = np.ones(_ROOM)
        self.values = np.zeros((_ROOM, STAGES, len(values)))
        self.starts[0], self.widths[0] = -_LONG_AGO, _LONG_AGO
        self.values[0] = values
        #: Number of what holds in each step, as the caller counts it.
        self.marks = np.zeros(_ROOM, int)

    def append(self, t: float, h: float, values: FloatArray, mark: int) -> None:
        """Add a step."""
        if self.count == len(self.starts):
            self.starts, self.widths = _twice(self.starts), _twice(self.widths)
            self.values, self.marks = _twice(self.values), _twice(self.marks)
        k = self.count
        self.starts[k], self.widths[k], self.values[k], self.marks[k] = t, h, values, mark
        self.count += 1

    def places(self, times: FloatArray) -> IntArray:
        """Return the step of each instant, the later one where two meet."""
        found: IntArray = np.searchsorted(self.starts[: self.count], times, side="right") - 1
        return found

    def at(self, times: FloatArray) -> FloatArray:
        """Return all numbers at some instants, shape (n, numbers)."""
        k = self.places(times)
        weights = weights_at((times - self.starts[k]) / self.widths[k])
        result: FloatArray = np.matmul(weights[:, None, :], self.values[k])[:, 0, :]
        return result

    @property
    def last(self) -> FloatArray:
        """All numbers at the end of the last step, without what has happened then."""
        result: FloatArray = weights_at(np.ones(1))[0] @ self.values[self.count - 1]
        return result

    def drop(self, before: float) -> None:
        """Forget steps that end before an instant."""
        first = max(0, int(self.places(np.array([before]))[0]))
        if first:
            left = self.count - first
            for array in (self.starts, self.widths, self.values, self.marks):
                array[:left] = array[first : self.count].copy()
            self.count = left


def take_step(
    past: Past,
    by: Equations,
    t: float,
    h: float,
    z: FloatArray,
    pushed: Pushed | None = None,
) -> Step:
    """Return a step of length `h` from `z` at `t`.

    Parameters
    ----------
    past : Past
        What has been.
    by : Equations
        Those of now.
    t, h : float
        Seconds.
    z : array, shape (states,)
        The state.
    pushed : callable, optional
        From Gauss's instants and all numbers there to what is added to w by itself.
    """
    n, times, sizes = by.states, t + h * NODES, by.sizes * by.scale(z)
    ago = times[None, :] - by.delays[:, None]
    read = past.at(ago.ravel()).reshape(len(by.delays), STAGES, -1)
    own = ago > t
    overlaps = bool(own.any())
    known = _flat(read * ~own[:, :, None] if overlaps else read, by) @ by.reads
    if overlaps:
        rows = zip(ago, own, strict=True)
        within = np.stack([weights_at((row - t) / h) * mine[:, None] for row, mine in rows])
    motion, at_once = h * by.motion.T, by.by_state.T
    more = known
    slopes = start = (known[:, :n] + by.drift) * h + z @ motion
    values = np.empty((STAGES, by.late.shape[1]))
    asks_again = overlaps or pushed is not None
    last = np.inf
    for _ in range(_ROUNDS):
        risen = INTEGRALS @ slopes
        if asks_again:
            values[:, :n] = z + risen
            values[:, n:] = more[:, n:] + by.outputs + values[:, :n] @ at_once
            more = known
            if overlaps:
                more = more + _flat(within @ values, by) @ by.reads
            if pushed is not None:
                more = more + pushed(times, values) @ by.pushes
            start = (more[:, :n] + by.drift) * h + z @ motion
        found = start + risen @ motion
        change = float((np.abs(found - slopes) / sizes).max())
        slopes = found
        if change <= _SETTLED or (change >= last and change <= 1e3 * _SETTLED):
            break
        last = change
    else:
        return Step(values, z, slopes, np.inf)
    values[:, :n] = z + INTEGRALS @ slopes
    values[:, n:] = more[:, n:] + by.outputs + values[:, :n] @ at_once
    high = np.abs(HIGHEST @ slopes) / sizes
    error = float((0.1 * high[0] + high[1]).max())
    return Step(values, z + WEIGHTS @ slopes, slopes / h, error)


def read_now(
    past: Past, by: Equations, t: float, z: FloatArray, pushed: Pushed | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return slopes and w just after `t`; see `take_step`.

    Where the past jumps, what comes after the jump is read.
    """
    n = by.states
    read = past.at(t - by.delays + TOGETHER)[:, None, :]
    known = _flat(read, by) @ by.reads
    more = known
    for _ in range(1 if pushed is None else _CHAIN):
        w = more[:, n:] + by.outputs + by.by_state @ z
        if pushed is not None:
            values = np.concatenate([z[None], w], axis=1)
            more = known + pushed(np.array([t]), values) @ by.pushes
    return more[0, :n] + by.drift + by.motion @ z, w[0]


def _twice(array: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([array, np.zeros_like(array)])


def _flat(read: FloatArray, by: Equations) -> FloatArray:
    """Return the columns that are read: delays by instants by numbers in, instants by columns."""
    flat = read.transpose(1, 0, 2).reshape(read.shape[1], -1)
    result: FloatArray = flat[:, by.columns]
    return result
