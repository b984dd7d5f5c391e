"""Which instants a step may not reach across: jumps, and what is read of them later.

What jumps at an instant is known by derivative: a jump of the n-th derivative of what is read makes
one of the n-th of what follows at once, and of the n + 1-st of what has slopes. So each delay has
images of a jump, with the size of what jumps there. Those that move no state by a part of the
tolerance are left to the polynomials.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pi2_fluid.engines.fluid.linearised.equations import Equations
from pi2_fluid.engines.fluid.linearised.steps import TOGETHER

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

ORDERS: Final = 5  # of derivatives, from 0 on
#: What part of a jump's own motion Gauss's instants misread, of each derivative of slopes.
_MISREAD: Final = np.array([0.2, 0.01, 1e-3, 1e-4, 1e-5, 1e-6])
_FACTORIALS: Final = np.array([1.0, 1.0, 2.0, 6.0, 24.0, 120.0])
NEGLIGIBLE: Final = 0.3  # of the tolerance


class Image(NamedTuple):
    """An instant at which something jumps, and by how much."""

    at: float
    number: int
    """In the order in which they were found."""
    jumps: FloatArray
    """Of slopes and of w, derivative by derivative, shape (size, ORDERS)."""
    must: bool
    """Whether something jumps that no derivative says."""


class Kinks:
    """The instants to come, and those that have been, as far back as is read.

    Parameters
    ----------
    tolerance : float
        Relative error allowed in each step.
    """

    def __init__(self, tolerance: float) -> None:
        self.least = NEGLIGIBLE * tolerance
        #: By how much more than in the sizes of states an effect may be; see `Equations.scale`.
        self.scale = 1.0
        self._heap: list[Image] = []
        self._past: list[tuple[float, FloatArray]] = []
        self._number = 0

    def next_after(self) -> float:
        """Return the next instant at which something jumps."""
        return self._heap[0].at if self._heap else np.inf

    def must_end(self, at: float) -> None:
        """Let a step end at an instant."""
        self._push(at, np.zeros((0, ORDERS)), must=True)

    def take(self, t: float) -> tuple[FloatArray | None, bool]:
        """Return what jumps at `t`, None if nothing does, and whether more does than that."""
        found: FloatArray | None = None
        must = False
        while self._heap and self._heap[0].at <= t + TOGETHER:
            image = heapq.heappop(self._heap)
            must = must or image.must
            if len(image.jumps):
                found = image.jumps if found is None else found + image.jumps
        return found, must

    def spread(
        self,
        t: float,
        given: FloatArray,
        incoming: FloatArray | None,
        by: Equations,
        h: float,
        seen: tuple[FloatArray, FloatArray] | None = None,
    ) -> None:
        """Note what jumps at `t`, and its images.

        Parameters
        ----------
        t : float
            Now.
        given : array, shape (states,)
            Jumps of the states themselves.
        incoming : array, optional
            As of an image.
        by : Equations
            Those from now on.
        h : float
            How long steps are.
        seen : pair of arrays, optional
            By how much slopes and w are seen to jump, where the equations have become others.
        """
        n, size = by.states, by.late.shape[1]
        jumps = np.zeros((size, ORDERS))
        jumps[:n, 0] = given
        comes = np.zeros((size, ORDERS)) if incoming is None else incoming
        for k in range(ORDERS):
            jumps[n:, k] = comes[n:, k] + by.by_state @ jumps[:n, k]
            if k + 1 < ORDERS:
                jumps[:n, k + 1] = comes[:n, k] + by.motion @ jumps[:n, k]
            if k == 0 and seen is not None:
                jumps[:n, 1], jumps[n:, 0] = seen
        self._past.append((t, jumps))
        self._imagine(t, jumps, by, h, t)

    def turn(self, t: float, by: Equations, h: float) -> None:
        """Find the images of all that has been anew, since other delays hold from `t` on."""
        deepest = float(by.delays.max())
        self._heap = [image for image in self._heap if image.must]
        heapq.heapify(self._heap)
        self._past = [(at, jumps) for at, jumps in self._past if at > t - deepest]
        for at, jumps in self._past:
            self._imagine(at, jumps, by, h, t)

    def forget(self, before: float) -> None:
        """Drop what nobody reads any more."""
        if len(self._past) > 4096:
            self._past = [(at, jumps) for at, jumps in self._past if at >= before]

    def _imagine(self, at: float, jumps: FloatArray, by: Equations, h: float, after: float) -> None:
        n = by.states
        found = by.images @ jumps  # delays, numbers, orders
        moved = h ** np.arange(1, ORDERS + 1) * (_MISREAD / _FACTORIALS)[:ORDERS]
        effect = np.abs(found) @ moved
        effect[:, :n] /= by.sizes
        effect[:, n:] *= by.weights[n:]
        felt = effect.max(axis=1) > self.least * self.scale
        for k in np.flatnonzero(felt):
            when = at + float(by.delays[k])
            if when > after + TOGETHER:
                self._push(when, found[k], must=False)

    def _push(self, at: float, jumps: FloatArray, *, must: bool) -> None:
        self._number += 1
        heapq.heappush(self._heap, Image(at, self._number, jumps, must))
