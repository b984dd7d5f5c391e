"""Who searches for the crossovers of loops: compiled code, or its readable twin."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pi2_fluid.loop.compiled import CompiledLoops, Tell, compile_loops
from pi2_fluid.loop.crossovers import Crossings, find_crossings, smallest_distance
from pi2_fluid.loop.margins import SearchedMargins, margins_from_crossings
from pi2_fluid.loop.open_loop import settles_alone
from pi2_fluid.loop.roots import count_unstable
from pi2_fluid.loop.state_space import AnyLoop

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, FloatArray

_Index: TypeAlias = "tuple[int, ...]"


class Search:
    """An array of loops, or one, whose crossovers are searched for.

    Parameters
    ----------
    loop : AnyLoop
    update : {"continuous", "delayed", "sampled"}
    element : callable
        One loop of the array, by its index.
    """

    def __init__(self, loop: AnyLoop, update: str, element: Callable[[_Index], AnyLoop]) -> None:
        self._loop = loop
        self.update = update
        self._element = element
        self._last: tuple[_Index, Crossings] | None = None

    @property
    def loop(self) -> AnyLoop:
        """The array of loops, or the one."""
        return self._loop

    def crossings(self, index: _Index = ()) -> Crossings:
        """Return those of one loop, as the twin finds them."""
        if self._last is None or self._last[0] != index:
            self._last = index, find_crossings(self._element(index), self.update)
        return self._last[1]

    def margins(
        self, chosen: BoolArray, progress: Callable[[int, int], None] | None = None
    ) -> FloatArray:
        """Return the numbers of `SearchedMargins` as rows.

        Parameters
        ----------
        chosen : numpy.ndarray of bool
            Of the loop's shape: whose margins are wanted; they come back in rows.
        progress : callable, optional
            Called as ``progress(done, total)`` after each.
        """

        def twin(index: _Index) -> tuple[float, ...]:
            one = self._element(index)
            return searched_margins(one, self.update, self.crossings(index))

        height = len(SearchedMargins._fields)
        return self._ask(chosen, CompiledLoops.margins, twin, height, progress)

    def distances(self, chosen: BoolArray) -> FloatArray:
        """Return the smallest |1 + L| of chosen loops, in a row."""

        def twin(index: _Index) -> tuple[float, ...]:
            found = smallest_distance(self._element(index), self.update, self.crossings(index))
            return (found,)

        return self._ask(chosen, CompiledLoops.distances, twin, 1).ravel()

    def counts(self, chosen: BoolArray) -> FloatArray:
        """Return how many closed-loop modes of them grow, in a row; -1 on the boundary."""

        def twin(index: _Index) -> tuple[float, ...]:
            return (count_unstable(self._element(index), self.update),)

        return self._ask(chosen, CompiledLoops.counts, twin, 1).ravel()

    def _ways(self) -> Iterable[Callable[[BoolArray], CompiledLoops | None]]:
        """From chosen loops to compiled ones: in what order they are asked."""
        yield lambda chosen: compile_loops(self.loop, self.update, chosen)

    def _ask(
        self,
        chosen: BoolArray,
        ask: Callable[[CompiledLoops, Tell], FloatArray],
        twin: Callable[[_Index], tuple[float, ...]],
        height: int,
        progress: Callable[[int, int], None] | None = None,
    ) -> FloatArray:
        """What compiled code answers, and of loops that it cannot follow, the twin."""
        one = chosen.shape == () and bool(chosen)  # as a rule, and NumPy takes longer to say so
        indices: list[_Index] = (
            [()] if one else [tuple(index) for index in np.argwhere(chosen).tolist()]
        )
        done = 0

        def tell(found: int) -> None:
            nonlocal done
            for _ in range(found):
                done += 1
                if progress is not None:
                    progress(done, len(indices))

        rows = np.full((height, len(indices)), np.nan)
        for compile_them in self._ways() if indices else ():
            missing = np.isnan(rows[0])
            if not missing.any():
                break
            left = np.zeros_like(chosen)
            left[chosen] = missing
            compiled = compile_them(left)
            if compiled is not None:
                rows[:, missing] = ask(compiled, tell)
        for place in np.flatnonzero(np.isnan(rows[0])).tolist():
            rows[:, place] = twin(indices[place])
            tell(1)
        return rows


def searched_margins(
    loop: AnyLoop, update: str, crossings: Crossings, count: int | None = None
) -> SearchedMargins:
    """Return the margins of a scalar loop.

    Parameters
    ----------
    loop : AnyLoop
    update : {"continuous", "delayed", "sampled"}
    crossings : Crossings
        Its crossovers. Where |L| > 1 at one of them, those are looked for, too, that matter as the
        gain is raised.
    count : int, optional
        How many modes grow, -1 on the boundary, where it is known.
    """

    def unstable() -> int:
        return count_unstable(loop, update) if count is None else count

    if any(phase.gain >= 1.0 for phase in crossings.phase):
        crossings = find_crossings(loop, update, quiet=True)
    return margins_from_crossings(crossings, unstable, settles=bool(settles_alone(loop)))


def search_of(loop: AnyLoop, update: str) -> Search:
    """Return the search of loops as they are."""
    return Search(loop, update, loop.element)
