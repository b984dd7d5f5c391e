"""Candidates run in every cell, packet by packet: here, or wherever a client sends them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from pi2_fluid.design.outcomes.measures import BIN, MEASURES, Stretch, measure
from pi2_fluid.design.outcomes.racing import Request, Tally
from pi2_fluid.engines.packet.packets import Packets
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.results.runs import uninterrupted

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

_PACKAGE: Final = "pi2-fluid"
#: Between the seeds of cells, so that cells are independent of one another.
_APART: Final = 2**32
#: Delays below (s) are all the same to people.
_SMALL: Final = 1e-4
_DELAYS: Final = ("p99", "p99_after", "mean_after")


class Promise(Protocol):
    """What a client returns of a task, as far as it is used here."""

    def result(self) -> FloatArray:
        """Return what the task returned, or raise what it raised."""

    def cancel(self) -> object:
        """Forget the task."""


class Client(Protocol):
    """A client of Dask or an executor of the standard library, as far as it is used here."""

    def submit(self, function: Callable[[Job], FloatArray], job: Job, /) -> Promise:
        """Begin a task."""


@dataclass(frozen=True)
class Job:
    """Runs of one scenario, and when what of them is looked at."""

    scenario: Scenario
    steady: Stretch | None
    after: tuple[Stretch, ...]
    seeds: tuple[int, ...]
    version: str


def run_job(job: Job) -> FloatArray:
    """Return every measure of every seed.

    Raises
    ------
    KeyboardInterrupt
        If it was interrupted.
    UnsupportedError
        If the worker has another version of this package.
    """
    if (here := version(_PACKAGE)) != job.version:
        raise UnsupportedError(
            f"a worker has pi2-fluid {here}, and the client {job.version}: install the same there."
        )
    runs = uninterrupted(Packets(seeds=job.seeds, bin=BIN).count(job.scenario))
    return measure(runs, job.scenario, job.steady, job.after)


class Runner:
    """What candidates are in each cell, and what was measured of them.

    Parameters
    ----------
    scenarios : sequence of sequence of Scenario
        Of each candidate its cells.
    spans : sequence of (steady, after)
        Of each cell.
    seeds : sequence of int
        In the order in which they are used; each cell adds a multiple of 2^32 to them.
    weight : float
        What all of the capacity is worth, in logarithms of delay.
    client : Client, optional
    progress : callable, optional
        Called with the number of runs that are done.
    """

    def __init__(
        self,
        scenarios: Sequence[Sequence[Scenario]],
        spans: Sequence[tuple[Stretch | None, tuple[Stretch, ...]]],
        seeds: Sequence[int],
        weight: float,
        client: Client | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.scenarios = scenarios
        self.spans = spans
        self.seeds = seeds
        self.weight = weight
        self.client = client
        self.progress = progress
        #: Of each candidate (cells, measures, seeds).
        self.measured: dict[int, FloatArray] = {}
        self.runs = 0

    def sample(self, requests: Sequence[Request]) -> Iterator[Tally]:
        """Yield the tallies of some requests, in their order."""
        jobs = [self._jobs(request) for request in requests]
        for request, answers in zip(requests, self._answers(jobs), strict=True):
            found = np.array(answers)
            known = self.measured.get(request.candidate)
            whole = found if known is None else np.concatenate([known, found], axis=-1)
            self.measured[request.candidate] = whole
            rate = found[:, _RATE]
            yield Tally(costs(found, self.weight), rate)

    def _jobs(self, request: Request) -> list[Job]:
        chosen = self.seeds[request.first : request.last]
        here = version(_PACKAGE)
        return [
            Job(scenario, *span, tuple(seed + cell * _APART for seed in chosen), here)
            for cell, (scenario, span) in enumerate(
                zip(self.scenarios[request.candidate], self.spans, strict=True)
            )
        ]

    def _answers(self, jobs: Sequence[Sequence[Job]]) -> Iterator[list[FloatArray]]:
        if self.client is None:
            for some in jobs:
                yield [self._counted(job, run_job(job)) for job in some]
            return
        submit = self.client.submit
        promised = [[(job, submit(run_job, job)) for job in some] for some in jobs]
        try:
            for pairs in promised:
                yield [self._counted(job, promise.result()) for job, promise in pairs]
        finally:
            for _, promise in (pair for pairs in promised for pair in pairs):
                promise.cancel()

    def _counted(self, job: Job, answer: FloatArray) -> FloatArray:
        self.runs += len(job.seeds)
        if self.progress is not None:
            self.progress(self.runs)
        return answer


_NAMES: Final = tuple(MEASURES)
_RATE: Final = _NAMES.index("rate_measured")
_COUNTED: Final = [_NAMES.index(name) for name in _DELAYS]


def costs(measured: FloatArray, weight: float) -> FloatArray:
    """Return the cost of every run: the mean log of the delays that people feel, less the rate.

    Parameters
    ----------
    measured : array (cells, measures, seeds)
        The 99th percentile steady and after events, and the mean after them, are counted alike;
        of a cell without events the first alone.
    weight : float
        What all of the capacity is worth: 5 says that a hundredth of it is worth 5 % of delay.

    Returns
    -------
    array (cells, seeds)
    """
    delays: Any = measured[:, _COUNTED]
    there = ~np.isnan(delays).all(axis=-1, keepdims=True)
    logs = np.log(np.maximum(np.nan_to_num(delays), _SMALL))
    mean = (logs * there).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    result: FloatArray = mean - weight * measured[:, _RATE]
    return result
