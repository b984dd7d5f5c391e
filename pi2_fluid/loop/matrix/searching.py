"""Who says where a network's loop crosses over, and how many of its modes grow.

Compiled code first (`compiled`), then its readable twin; by acknowledgements the twin alone.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from pi2_fluid.loop.answers import BOUNDARY
from pi2_fluid.loop.crossovers import Crossings
from pi2_fluid.loop.margins import SearchedMargins, margins_from_crossings
from pi2_fluid.loop.matrix.acks.answers import (
    count_by_acks,
    find_crossings_by_acks,
    respond_by_acks,
)
from pi2_fluid.loop.matrix.acks.response import loop_bound
from pi2_fluid.loop.matrix.bounds import response_bound
from pi2_fluid.loop.matrix.compiled import CompiledMatrix, compile_matrix
from pi2_fluid.loop.matrix.counting import count_modes, count_sampled_modes, longest_delay
from pi2_fluid.loop.matrix.margins import find_matrix_crossings, smallest_singular_value
from pi2_fluid.loop.matrix.response import matrix_response
from pi2_fluid.loop.matrix.sampled import require_followable, sampled_matrix

if TYPE_CHECKING:
    from pi2_fluid.loop.matrix.acks.system import AckMatrixLoop
    from pi2_fluid.loop.matrix.system import MatrixLoop
    from pi2_fluid.values import ComplexArray, FloatArray

_Numbers = TypeVar("_Numbers", "ComplexArray", "FloatArray")


class SearchedNetwork:
    """A network's loop that is searched for what its margins are made of."""

    update: str
    clock: str
    links: tuple[str, ...]
    closed: tuple[str, ...]
    _signalling: tuple[str, ...]

    if TYPE_CHECKING:  # of `NetworkLoop`

        @property
        def linear(self) -> MatrixLoop:
            """The matrices of the loop."""

        @property
        def linear_acks(self) -> AckMatrixLoop:
            """The same by acknowledgements."""

    @property
    def engine(self) -> str:
        """What finds its margins: "compiled" code, or "python".

        By both the same. What compiled code has no place for, such as loops by acknowledgements,
        goes the other way.
        """
        return "python" if self._compiled is None else "compiled"

    def _matrices(self, s: ComplexArray) -> ComplexArray:
        """L at each s, reduced to the open links."""
        if self.clock == "acks":
            full = respond_by_acks(self.linear_acks, s, self.update)
        elif self.update == "sampled":
            full = sampled_matrix(self.linear, s)
        else:
            full = matrix_response(self.linear, s, half_sample=self.update == "delayed")
        if not self.closed:
            return full
        oo, oc, co, cc = self._blocks(full)
        result: ComplexArray = oo - oc @ np.linalg.solve(np.eye(len(self.closed)) + cc, co)
        return result

    def _blocks(self, full: _Numbers) -> list[_Numbers]:
        """The parts of matrices, open or closed links' rows and columns: oo, oc, co, cc."""
        o, c = ([self._signalling.index(n) for n in names] for names in (self.links, self.closed))
        kept = [full[..., rows, :] for rows in (o, c)]
        return [rows[..., columns] for rows in kept for columns in (o, c)]

    def _on_axis(self, w: FloatArray) -> ComplexArray:
        return self._matrices(1j * w)

    @cached_property
    def _compiled(self) -> CompiledMatrix | None:
        if self.clock == "acks":
            return None
        open = [self._signalling.index(name) for name in self.links]
        return compile_matrix(self.linear, self.update, open)

    def _only(self, w: FloatArray) -> ComplexArray:
        """The only entry of L(jw)."""
        return self._on_axis(np.ravel(w))[:, 0, 0].reshape(np.shape(w))

    def _bound(self, w: float) -> float:
        """An upper bound of the eigenvalues from w on."""
        if self.clock == "acks":
            return loop_bound(self.linear_acks, w)
        bound = response_bound(self.linear, w)
        if not np.isfinite(bound).all():
            return np.inf
        if self.closed:
            oo, oc, co, cc = self._blocks(bound)
            if np.max(np.abs(np.linalg.eigvals(cc))) >= 1.0:
                return np.inf
            bound = oo + oc @ np.linalg.solve(np.eye(len(self.closed)) - cc, co)
        return float(np.max(np.abs(np.linalg.eigvals(bound))))

    @cached_property
    def _crossings(self) -> Crossings:
        return self._find_crossings()

    def _find_crossings(self, *, quiet: bool = False) -> Crossings:
        if self.clock == "acks":
            return find_crossings_by_acks(
                self.linear_acks, self._on_axis, self.update, self._bound, quiet=quiet
            )
        if self._compiled is not None:
            found = self._compiled.crossings(quiet=quiet)
            if found is not None:
                return found
        if self.update == "sampled":
            require_followable(self.linear)
        end = np.pi / self.linear.intervals[0] if self.update == "sampled" else np.inf
        turning = 1.0 / longest_delay(self.linear, self.update)
        return find_matrix_crossings(self._on_axis, turning, end, self._bound, quiet=quiet)

    @property
    def _curve(self) -> Crossings:
        """The crossings of the only locus, with this as a curve."""
        found = self._crossings
        return Crossings(found.gain, found.phase, found.w, found.values[:, 0])

    @cached_property
    def _margins(self) -> SearchedMargins:
        crossings = self._crossings
        ends = self.update == "sampled" and self.clock == "rate"  # where all have been found
        if not ends and any(phase.gain >= 1.0 for phase in crossings.phase):
            crossings = self._find_crossings(quiet=True)
        return margins_from_crossings(crossings, lambda: self._count)

    @cached_property
    def _count(self) -> int:
        if self.clock == "acks":
            return count_by_acks(self.linear_acks, self.update)
        found = None if self._compiled is None else self._compiled.count()
        if found is not None:
            return found
        if self.update == "sampled":
            require_followable(self.linear)
            return count_sampled_modes(self.linear)
        return count_modes(self.linear, self.update)

    @cached_property
    def _smallest(self) -> float:
        compiled = self._compiled
        found = None if compiled is None else compiled.nearest(self._crossings.w)
        if found is not None:
            return found
        ends = self.clock == "acks" and np.isfinite(self.linear_acks.reach)
        fades = self.update != "sampled" and not ends
        return smallest_singular_value(self._on_axis, self._crossings, fades=fades)

    def _verdict(self) -> int:
        if self._count < 0 or self._smallest < BOUNDARY:
            return 0
        return 1 if self._count == 0 else -1
