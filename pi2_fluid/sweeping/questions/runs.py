"""Runs of a scenario, and what is kept of each."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import xarray as xr

from pi2_fluid.engines.engine import Engine
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.records.paths import dimension_at, replace_path
from pi2_fluid.results.completions import completions
from pi2_fluid.results.runs import one_run, uninterrupted
from pi2_fluid.results.schema import scenario_text
from pi2_fluid.results.summary import summarize
from pi2_fluid.sweeping.axes import SEED
from pi2_fluid.sweeping.outcomes import Outcome, attempt, outcome_of
from pi2_fluid.sweeping.questions.question import Piece, Question, rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: So many seeds share what a call costs; more would only need more memory.
_TOGETHER: Final = 32
#: What computes each seed by itself, so that others beside it change nothing.
_SEEDWISE: Final = (completions, summarize)


@dataclass(frozen=True)
class Runs(Question):
    """A scenario, run by an engine, and what is kept of it."""

    scenario: Scenario
    engine: Engine
    reduce: Callable[[xr.Dataset], xr.Dataset]
    seeds: tuple[int, ...] = ()

    kind: ClassVar[str] = "scenario"

    def dimension(self, name: str) -> str:
        """Return the dimension of a number of the scenario."""
        return dimension_at(self.scenario, name)

    def ask(
        self, columns: Mapping[str, NDArray[Any]], seeds: Sequence[int], count: int
    ) -> Iterator[Piece]:
        """Yield what each point has.

        Seeds of one scenario go together, and yet each has what it has alone. Where one is refused,
        they are halved.
        """
        rows = rows_of(columns)
        made = functools.lru_cache(1)(self._scenario_at)
        waiting = _alike(rows, most=_TOGETHER if seeds else 1)[::-1]
        while waiting:
            where = waiting.pop()
            chosen = seeds[where]
            scenario = functools.partial(made, tuple(rows[where.start].items()))
            found = attempt(functools.partial(self._run, scenario, chosen))
            if not isinstance(found, Exception):
                for place, what in self._reduced(found, len(chosen)):
                    yield slice(where.start + place.start, where.start + place.stop), what
            elif where.stop - where.start > 1:
                middle = (where.start + where.stop) // 2
                waiting += [slice(middle, where.stop), slice(where.start, middle)]
            else:
                yield where, found

    def _scenario_at(self, values: tuple[tuple[str, Any], ...]) -> Scenario:
        """Return the scenario of a point, whose text is made once for all of its seeds."""
        scenario = self.scenario
        for name, value in values:
            scenario = replace_path(scenario, name, value)
        return scenario

    def _run(self, scenario: Callable[[], Scenario], seeds: Sequence[int]) -> xr.Dataset:
        engine: Any = self.engine
        if not seeds:
            return self.engine.run(scenario())
        engine = dataclasses.replace(engine, seeds=tuple(seeds), threads=1)
        runs: xr.Dataset = engine.run(scenario())
        return uninterrupted(runs)

    def _reduced(self, found: xr.Dataset, seeds: int) -> Iterator[Piece]:
        """Yield what is kept of a result, seed by seed where they might not be independent."""
        if seeds > 1 and _is_seedwise(self.reduce):
            outcome = attempt(lambda: outcome_of(self.reduce(found), SEED))
            if not isinstance(outcome, Exception):
                yield slice(0, seeds), outcome
                return
        for place in range(max(1, seeds)):
            one = one_run(found, place) if seeds > 1 else found
            yield slice(place, place + 1), attempt(functools.partial(self._keep, one))

    def _keep(self, run: xr.Dataset) -> tuple[Outcome, frozenset[str]]:
        kept: Any = self.reduce(run)
        if isinstance(kept, xr.Dataset) and SEED in kept.dims:
            kept = kept.isel({SEED: 0}, drop=True)
        return outcome_of(kept)

    def bare(self) -> Runs:
        """Return the question without seeds, of which there may be many."""
        if not self.seeds:
            return self
        engine: Any = self.engine
        return dataclasses.replace(self, engine=dataclasses.replace(engine, seeds=1), seeds=())

    def describe(self) -> dict[str, str]:
        """Return the scenario as TOML, the engine and the function."""
        return {
            "scenario": scenario_text(self.scenario),
            "engine": repr(self._engine()),
            "reduce": _described(self.reduce),
        }

    def parts(self) -> dict[str, object]:
        """Return the scenario, the engine with what it runs, and the function."""
        engine = self._engine(), self.engine.outside()
        return {"base": self.scenario, "engine": engine, "reduce": self.reduce}

    def _engine(self) -> Engine:
        """Return the engine without what changes no result."""
        if not self.seeds:
            return self.engine
        engine: Any = self.engine
        cleared: Engine = dataclasses.replace(engine, seeds=self.seeds, threads=None)
        return cleared


def _described(function: Callable[..., object]) -> str:
    """Return a function as text: its name and its arguments."""
    if isinstance(function, functools.partial):
        given = ", ".join(
            [*map(repr, function.args), *(f"{k}={v!r}" for k, v in function.keywords.items())]
        )
        return f"{_described(function.func)}({given})"
    return f"{function.__module__}.{getattr(function, '__qualname__', type(function).__name__)}"


def _alike(rows: Sequence[Mapping[str, Any]], most: int) -> list[slice]:
    """Return which neighbours are the same, but no more than `most` together."""
    found: list[slice] = []
    start = 0
    for place in range(1, len(rows) + 1):
        if place == len(rows) or place - start == most or rows[place] != rows[start]:
            found.append(slice(start, place))
            start = place
    return found


def _is_seedwise(function: Callable[..., object]) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return function in _SEEDWISE
