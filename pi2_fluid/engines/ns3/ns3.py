"""ns-3 as an engine: from a scenario to what ns-3's packets do, for several seeds, as a Dataset."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from pi2_fluid.engines.engine import Engine
from pi2_fluid.engines.ns3.process import require_installed, run_seeds
from pi2_fluid.engines.ns3.task import Task, make_task, not_modelled
from pi2_fluid.missing import require
from pi2_fluid.network.scenario import Scenario, require_scenario
from pi2_fluid.network.schedule import NS, to_ns, usual_bin
from pi2_fluid.results.runs import runs_dataset
from pi2_fluid.results.schema import RUNS, provenance
from pi2_fluid.results.seeds import seed_list, thread_count
from pi2_fluid.units import validate_number

if TYPE_CHECKING:
    import xarray

_SHORTEST: Final = 1e-9  # s


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Ns3(Engine):
    """The packet simulator ns-3, from its wheel on PyPI, in processes of its own.

    It runs queues `Pie`, `Red`, `CoDel` and `TailDrop`, senders `Reno`, `Cubic`, `Dctcp` and `Cbr`,
    any number of classes, and all changes of a scenario. ns-3 has no PI, PI2, coupled or dual
    queue, and no law of one's own. Several links are in a row, along which routes lead.

    Parameters
    ----------
    seeds : int or sequence of int
        How many runs (their seeds are 1, 2, ...), or the seeds themselves, in [0, 2^63): the
        numbers of runs of ns-3's generator, whose own seed is 1.
    bin : float or str, optional
        Time over which a row of the result is summed (s), default 100 ms (beyond
        10,000 s a hundred-thousandth of the run); the last one may be
        shorter.
    threads : int, optional
        Processes side by side. Default: as many as there are cores. The numbers do not depend on
        it.

    Raises
    ------
    QuantityError, DomainError
        If an option is not as it should be.

    Notes
    -----
    Results are runs, as `packet.simulate` describes them, with the same names, but counted at
    ns-3's queue disc, and with ``attrs["ns3_version"]``. ``controller`` and ``p_aqm`` are the law's
    own variables at the end of a bin (of PIE its drop probability, of RED the profile of its
    average; under CoDel the square root of its count while it drops, and NaN). ``window`` is the
    congestion window, without what fast recovery adds. ``timeouts`` counts timeouts in a row once.

    Where ns-3 differs from Linux, and from `Packets`:

    * The device below the queue disc holds one packet beside the one in transmission, so that a
      packet has left the queue one packet's time before service begins: queue delays are shorter
      by that, and round trips as long.
    * Half of the round trip lies before the queue and half after it, without jitter, and a
      flow begins with a handshake. Frames are 2 bytes longer than packets; the link is as much
      faster, so that a full packet takes the time that it should.
    * Of links in a row, the wires between them are as long back as there, and what is left of a
      path lies at its sender; acknowledgements meet no queue. ``hops`` must be the same for all
      classes from one link to the next.
    * TCP finds losses by three later packets, not by their times (RACK), and has no tail loss
      probes, so that more losses end in a timeout. Fast recovery of 3.44 leaves windows larger than
      Linux's does: the same queue delay takes up to 1.6 times the drops.
    * Where Linux adds 200 ms to the smoothed round trip, the smallest timeout is the path's
      `base_rtt` and 200 ms. Acknowledgements are delayed by 40 ms at most, as in Linux.
    * PIE is RFC 8033 in real numbers. Its first update comes at time 0, it has no step for delays
      above 250 ms, and an idle queue's p decays by 0.98. RED counts in packets, and CoDel in
      Linux's integers. What a law asks for otherwise is listed in ``attrs["not_modelled"]``.
    * Chance is in PIE's and RED's lots and in `start_jitter` alone: seeds under CoDel or tail drop
      are alike where flows start at once.

    ns-3 needs some 3 s to start, and two hundred times as long as `Packets`; with windows of
    thousands of segments, each acknowledgement of which it searches for losses, minutes for a
    second. A wheel that does not match, or a simulation that ns-3 aborts, raises `SolverError` with
    the reason that it gave.

    Source: ns-3.44, https://www.nsnam.org; the wheel is under GPL-2.0.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> scenario = pf.named_scenario("pi2_fig11a_pi2")
    >>> pf.Ns3().obstacle(scenario)[:30]
    'Pi2 has no queue disc in ns-3:'
    """

    seeds: int | Sequence[int] = 5
    bin: float | str | None = None
    threads: int | None = None

    name: ClassVar[str] = "ns3"
    medium: ClassVar[str] = "ns-3"

    def __post_init__(self) -> None:
        numbers = seed_list(self.seeds)
        if not isinstance(self.seeds, int):
            object.__setattr__(self, "seeds", tuple(numbers))
        if self.bin is not None:
            value = validate_number(self.bin, "time", "bin", low=_SHORTEST, closed=True)
            object.__setattr__(self, "bin", value)
        thread_count(self.threads, len(numbers))

    def require(self, scenario: Scenario) -> None:
        """Refuse what ns-3 has no law for, and to run where it is not installed."""
        self._prepare(scenario)

    def way(self, result: xarray.Dataset) -> str:
        """Return which ns-3 it was."""
        return f"packet by packet in ns-3 {result.attrs['ns3_version']}".rstrip()

    def remarks(self, result: xarray.Dataset) -> dict[str, Any]:
        """Return which ns-3 it was."""
        return {"ns3_version": result.attrs["ns3_version"]}

    def outside(self) -> dict[str, str]:
        """Return which ns-3 is installed."""
        return {"ns3": _version()}

    def with_rows(self, step: float) -> Self:
        """Return this engine with bins of `step` (s), unless its `bin` is set."""
        return self if self.bin is not None else dataclasses.replace(self, bin=step)

    def run(
        self, scenario: Scenario, progress: Callable[[float, float], None] | None = None
    ) -> xarray.Dataset:
        """Return one run for each seed."""
        require("xarray")
        task = self._prepare(scenario)
        seeds = seed_list(self.seeds)
        workers = thread_count(self.threads, len(seeds))
        found, interrupted = run_seeds(task, seeds, workers, progress)
        attrs = provenance(
            scenario, self.name, RUNS, not_modelled(scenario.as_run), interrupted=interrupted
        )
        bands = [0] * len(scenario.flows)
        said = {**attrs, "ns3_version": _version()}
        return runs_dataset(scenario, found, task.request["bin"], bands, said)

    def _prepare(self, scenario: Scenario) -> Task:
        require_scenario(scenario)
        scenario = scenario.as_run
        length = float(usual_bin(scenario.duration) if self.bin is None else self.bin)
        duration = to_ns(scenario.duration)
        task = make_task(scenario, duration if length * NS >= duration else to_ns(length))
        require_installed()
        return task


def _version() -> str:
    try:
        return version("ns3")
    except PackageNotFoundError:  # built by hand
        return ""
