"""Packets as an engine: from a scenario to what its packets do, for many seeds, as a Dataset."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

from pi2_fluid import _core
from pi2_fluid.engines.engine import Engine
from pi2_fluid.engines.packet import compiled
from pi2_fluid.engines.packet.reporting import described, packet_columns
from pi2_fluid.engines.packet.requirements import (
    bin_length,
    require_packets,
    require_room,
    sizes_of,
    trace_length,
)
from pi2_fluid.missing import require
from pi2_fluid.network.scenario import Scenario, require_scenario
from pi2_fluid.network.schedule import MOST_BINS, NS, flow_counts, to_ns, usual_bin
from pi2_fluid.results.dataset import Columns
from pi2_fluid.results.seeds import seed_list, thread_count
from pi2_fluid.units import validate_number

if TYPE_CHECKING:
    import xarray

_PATIENCE: Final = 0.1  # s between two reports of progress
_FEW: Final = 5_000  # events: half a millisecond, about what threads cost


class _Task(NamedTuple):
    """What a scenario asks of each seed."""

    seeds: list[int]
    workers: int
    bin: int
    """Nanoseconds."""
    arguments: Callable[[int], tuple[Any, ...]]
    """Of the kernel, for a seed."""


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Packets(Engine):
    """A packet simulator in compiled code, with one run for each seed.

    Parameters
    ----------
    seeds : int or sequence of int
        How many runs (their seeds are 1, 2, ...), or the seeds themselves, in [0, 2^63).
    bin : float or str, optional
        Time over which a row of the result is summed (s), default 100 ms, and beyond 10,000 s a
        hundred-thousandth of the run; the last one may be shorter. It is the coordinate ``bin``.
    threads : int, optional
        Runs side by side. Default: as many as there are cores. The numbers do not depend on it.
    trace : int, optional
        How many events of each seed to record one by one.

    Raises
    ------
    QuantityError, DomainError
        If an option is not as it should be.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> runs = pf.simulate("pi2_fig11a_pi2", pf.Packets(seeds=[5, 17]))
    >>> runs.attrs["engine"], runs.seed.values.tolist()
    ('packet', [5, 17])
    """

    seeds: int | Sequence[int] = 10
    bin: float | str | None = None
    threads: int | None = None
    trace: int | None = None

    name: ClassVar[str] = "packet"
    medium: ClassVar[str] = "packets"

    def __post_init__(self) -> None:
        numbers = seed_list(self.seeds)
        if not isinstance(self.seeds, int):
            object.__setattr__(self, "seeds", tuple(numbers))
        if self.bin is not None:
            object.__setattr__(self, "bin", validate_number(self.bin, "time", "bin"))
        thread_count(self.threads, len(numbers))
        trace_length(self.trace, len(numbers))

    def require(self, scenario: Scenario) -> None:
        """Refuse laws that no packets follow, and what does not fit into whole packets."""
        self._prepare(scenario, None)

    def way(self, result: xarray.Dataset) -> str:
        """Return that each packet was simulated."""
        del result
        return "packet by packet"

    def remarks(self, result: xarray.Dataset) -> dict[str, Any]:
        """Return which classes have sizes without a mean, if any has."""
        heavy = result.attrs.get("sizes_without_mean")
        return {"sizes_without_mean": heavy} if heavy else {}

    def with_rows(self, step: float) -> Self:
        """Return this engine with bins of `step` (s), unless its `bin` is set."""
        return self if self.bin is not None else dataclasses.replace(self, bin=step)

    def run(
        self, scenario: Scenario, progress: Callable[[float, float], None] | None = None
    ) -> xarray.Dataset:
        """Return one run for each seed, as `packet.simulate` describes them."""
        require("xarray")
        return described(self.count(scenario, progress), scenario).to_dataset()

    def count(
        self, scenario: Scenario, progress: Callable[[float, float], None] | None = None
    ) -> Columns:
        """Return what `run` does as plain arrays, which say nothing of where they come from."""
        return self._count(scenario, None, progress)

    def run_discipline(
        self,
        scenario: Scenario,
        discipline: tuple[str, dict[str, float]],
        progress: Callable[[float, float], None] | None = None,
    ) -> xarray.Dataset:
        """Return what `simulate_discipline` describes."""
        require("xarray")
        counted = self._count(scenario, discipline, progress)
        return described(counted, scenario).to_dataset()

    def _count(
        self,
        scenario: Scenario,
        discipline: tuple[str, dict[str, float]] | None,
        progress: Callable[[float, float], None] | None,
    ) -> Columns:
        task = self._prepare(scenario, discipline)
        duration = float(scenario.duration)
        found, interrupted = _run_all(task.arguments, task.seeds, task.workers, duration, progress)
        made = packet_columns(scenario, found, task.bin, interrupted)
        if self.bin is not None or float(scenario.duration) <= MOST_BINS * usual_bin(0.0):
            return made
        usual = {"usual_bin": f"{task.bin / NS:g} s, of which {MOST_BINS} are the run"}
        return dataclasses.replace(made, attrs={**made.attrs, **usual})

    def _prepare(
        self, scenario: Scenario, discipline: tuple[str, dict[str, float]] | None
    ) -> _Task:
        require_scenario(scenario)
        scenario = scenario.as_run
        require_packets(scenario)
        numbers = seed_list(self.seeds)
        usual = usual_bin(scenario.duration)
        length = bin_length(usual if self.bin is None else self.bin, scenario)
        events = trace_length(self.trace, len(numbers))
        flows = flow_counts(scenario)
        bins = -(-to_ns(scenario.duration) // length)
        require_room(sizes_of(scenario, bins, sum(flows)), len(numbers))

        # A law says here whether packets follow it.
        packed = compiled.pack(scenario, numbers[0], length, events, discipline)
        workers = thread_count(self.threads, len(numbers))
        return _Task(numbers, workers, length, partial(compiled.with_seed, packed))


def simulate(
    scenario: Scenario,
    *,
    seeds: int | Sequence[int] = 10,
    bin: float | str | None = None,
    threads: int | None = None,
    progress: Callable[[float, float], None] | None = None,
    trace: int | None = None,
) -> xarray.Dataset:
    """Return what the packets of a scenario do: one run for each seed.

    Parameters
    ----------
    scenario : Scenario
        Link, queue, flows and schedule; numbers of flows are whole.
    seeds, bin, threads, trace
        As in `Packets`.
    progress : callable, optional
        Called as ``progress(done, total)``, in seconds simulated, of all seeds together.

    Returns
    -------
    xarray.Dataset
        Dims ``seed``, ``time`` (the end of each bin), ``flows``, for a dual queue ``band`` and, of
        several links, ``link``.

        As from `fluid.simulate`, with ``seed`` in front: ``queue_delay`` (s; the mean backlog over
        the capacity), ``queue`` (packets; the mean), ``controller``, ``p`` (which part of the
        class's arrivals was marked or lost in the bin), ``p_prime``, ``window`` (segments; mean
        over time and the flows that there are), ``throughput`` and ``capacity`` (bit/s).

        Where a link has a ring: ``ring_delay`` (s), the mean time in it of those that went into
        service, ``ring_queue`` (packets), ``ring_departures`` and, with ``bql``, ``ring_limit``
        (B).
        Of each bin besides: ``queue_sd`` (packets), ``sojourn`` and ``class_sojourn`` (s; mean time
        in the queue of what leaves it, the last value where nothing does), ``arrivals``,
        ``departures``, ``drops`` and ``marks`` (packets), ``active_flows`` (with a window), and
        ``p_aqm``, the probability with which the queue's law signals packets of the class, before
        any threshold of its own band (NaN under CoDel, which has none).

        Of blocks of bins, at most a hundred, and fewer with more than 54 classes:
        ``delay_histogram`` (packets that left, by their delay in the queue) and ``flow_segments``
        (segments that left, of each single flow).

        Of the run: ``count`` (packets by ``cause``), ``rate`` (bit/s), ``retransmissions`` and
        ``timeouts`` per class, ``delay_quantile`` (s) by ``quantile``. With `trace` also variables
        over ``event``, with names that begin with ``event_``.

        With `Transfers`, of each ``transfer``, in the order in which they begin:
        ``transfer_start`` and ``transfer_time`` (s; NaN: it was not finished), ``transfer_size``
        (segments), ``transfer_flow`` and ``transfer_class``; there are ``transfer_count`` of them
        in a seed, and behind them rows of size 0. ``turned_away`` counts those that came while as
        many as allowed were under way. See `completions`.

        Of several links, what queues have has ``link`` behind ``time``, and what classes have at a
        queue has ``link`` and ``flows``, 0 where they do not cross it; ``throughput`` and ``rate``
        are of the last link of the class, ``p`` is the probability that one of its links signals,
        and each link has ``link_throughput`` and ``link_p``; ``delay_histogram`` has no classes.
        ``place`` says where on its route a class crosses a link, from 1 on, 0 if it does not.

        An interrupted simulation (Ctrl-C) has the seeds that were finished, and
        ``attrs["interrupted"]`` is 1.

    Raises
    ------
    ScenarioError, QuantityError, DomainError
        If the scenario or an argument is not as it should be, or the run or its result too large.
    UnsupportedError
        If the queue or a sender is a law of one's own, or of a kind that no packets follow, such as
        ``variant="hpe"``.
    MemoryError
        If there is no memory.

    Notes
    -----
    Times are whole nanoseconds and random numbers are counted, so that the same seed gives the same
    bytes on every machine.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> scenario = pf.Scenario(
    ...     duration="5s", link=pf.Link("10Mbit/s"), aqm=pf.Pi2(),
    ...     flows=[pf.Flows(pf.Reno(), 5, "100ms")],
    ... )
    >>> runs = pf.packet.simulate(scenario, seeds=2)
    >>> runs.throughput.dims, runs.seed.values.tolist()
    (('seed', 'time', 'flows'), [1, 2])
    """
    return Packets(seeds=seeds, bin=bin, threads=threads, trace=trace).run(scenario, progress)


def simulate_discipline(
    scenario: Scenario,
    discipline: tuple[str, dict[str, float]],
    *,
    seeds: int | Sequence[int] = 10,
    bin: float | str | None = None,
    threads: int | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> xarray.Dataset:
    """Return what `simulate` does, under a queue discipline of the kernel that no law describes.

    Parameters
    ----------
    scenario : Scenario
        Its queue must have one band, and is not asked otherwise.
    discipline : tuple of str and dict of str to float
        Its name and parameters: ``("lottery", {"p": p, "mark": 0.0})`` loses each packet with the
        probability p, with 1.0 it marks what can be marked.
    seeds, bin, threads, progress
        As `simulate`.
    """
    engine = Packets(seeds=seeds, bin=bin, threads=threads)
    return engine.run_discipline(scenario, discipline, progress)


def _run_all(
    arguments: Callable[[int], tuple[Any, ...]],
    seeds: list[int],
    threads: int,
    duration: float,
    progress: Callable[[float, float], None] | None,
) -> tuple[dict[int, dict[str, Any]], bool]:
    """Return the outcome of each seed that was finished, and whether it was interrupted."""
    outcomes: dict[int, dict[str, Any]] = {}
    total = duration * len(seeds)
    try:
        _run_short(arguments, seeds, outcomes)
        done = len(outcomes) == len(seeds)
        if done and progress is not None:
            progress(total, total)
    except KeyboardInterrupt:
        if not outcomes:
            raise
        return outcomes, True
    if done:
        return outcomes, False
    return _run_long(arguments, seeds, outcomes, threads, total, progress)


def _run_short(
    arguments: Callable[[int], tuple[Any, ...]],
    seeds: list[int],
    outcomes: dict[int, dict[str, Any]],
) -> None:
    """Run seeds here while they are so short that threads would cost more.

    The outcomes go into `outcomes`. The first that is longer is left, to begin anew in a thread.
    """
    for seed in seeds:
        run = _core.PacketRun(*arguments(seed))
        if compiled.advance(run, _FEW):
            return
        outcomes[seed] = run.outcome()


def _run_long(
    arguments: Callable[[int], tuple[Any, ...]],
    seeds: list[int],
    outcomes: dict[int, dict[str, Any]],
    threads: int,
    total: float,
    progress: Callable[[float, float], None] | None,
) -> tuple[dict[int, dict[str, Any]], bool]:
    """Return what `_run_all` does: the seeds that are not found yet side by side in threads."""
    stop = threading.Event()
    rest = seeds[len(outcomes) :]
    reached = dict.fromkeys(seeds, total / len(seeds)) | dict.fromkeys(rest, 0.0)

    def run(seed: int) -> dict[str, Any] | None:
        def report(time: float) -> None:
            reached[seed] = time

        return compiled.run_packets(arguments(seed), stop.is_set, report)

    pool = ThreadPoolExecutor(threads, "pi2_fluid.packet")
    futures = {seed: pool.submit(run, seed) for seed in rest}
    interrupted = False
    try:
        _await(futures.values(), reached, total, progress)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)
    # What failed says why here, unless somebody wanted it to end anyway.
    done = {
        seed: future.result()
        for seed, future in futures.items()
        if not future.cancelled() and not (interrupted and future.exception())
    }
    all_found = outcomes | {seed: outcome for seed, outcome in done.items() if outcome is not None}
    if not all_found:
        raise KeyboardInterrupt
    return all_found, interrupted


def _await(
    futures: Collection[Future[Any]],
    reached: dict[int, float],
    total: float,
    progress: Callable[[float, float], None] | None,
) -> None:
    """Wait until all are done or one has failed, here and not in a worker: Ctrl-C comes here."""
    pending: set[Future[Any]] = set(futures)
    while pending:
        done, pending = wait(pending, timeout=_PATIENCE, return_when=FIRST_EXCEPTION)
        if any(future.exception() for future in done):
            return
        if progress is not None:
            progress(min(sum(reached.values()), total), total)
