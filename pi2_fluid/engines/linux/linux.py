"""Linux as an engine: from a scenario to what its packets do in the kernel itself, as a Dataset."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

from pi2_fluid.engines.engine import Engine
from pi2_fluid.engines.linux.boot import Machine, run_guests, start_command
from pi2_fluid.engines.linux.counting import count_log
from pi2_fluid.engines.linux.guests import guest_program
from pi2_fluid.engines.linux.hosts import host_machine, host_release, require_host
from pi2_fluid.engines.linux.kernels import Kernel, find_kernel
from pi2_fluid.engines.linux.laws import Told, congestion_of, qdisc_of
from pi2_fluid.engines.linux.plan import SHORTEST_BIN, flow_times, make_plan, not_modelled
from pi2_fluid.engines.linux.reader import Log
from pi2_fluid.errors import QuantityError, UnsupportedError, show_value
from pi2_fluid.missing import require
from pi2_fluid.network.outstanding import most_outstanding
from pi2_fluid.network.scenario import Scenario, require_scenario
from pi2_fluid.network.schedule import NS, to_ns, usual_bin
from pi2_fluid.results.runs import runs_dataset
from pi2_fluid.results.schema import RUNS, provenance
from pi2_fluid.results.seeds import seed_list, thread_count
from pi2_fluid.units import validate_choice, validate_number

if TYPE_CHECKING:
    import xarray

_LEAST_MEMORY: Final = 256  # MiB of a guest, beside what its packets take
_MOST_MEMORY: Final = 8192
_PACKET_MEMORY: Final = 8192  # bytes that a packet under way takes, with its copy and its record
_FLOW_MEMORY: Final = 2**19  # bytes of a flow's two sockets
_MIB: Final = 2**20


class _Task(NamedTuple):
    """What a scenario asks of each seed."""

    scenario: Scenario
    """With all its buffers."""
    kernel: Kernel | None
    """None: that of this machine."""
    plans: dict[int, str]
    bin: int
    """Nanoseconds."""
    memory: int
    """MiB."""


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Linux(Engine):
    """The Linux kernel itself, in virtual time, with its queue disciplines and its TCP.

    A kernel that runs as a program (User-Mode Linux), which ``pi2-fluid linux build`` has built
    from Debian's sources, boots once for each seed, without any right of root. In it work takes no
    time and timers fire exactly, so that a run is what the algorithms do, and the same seed gives
    the same bytes.

    It runs queues `Pie`, `Pi2`, `DualPi2`, `Red`, `CoDel`, `FqCodel`, `FqPie` and `TailDrop` with
    the numbers that the kernel can count, senders `Reno`, `Cubic`, `Dctcp` and `Cbr`, `Prague`
    where the kernel has it, and all changes of a scenario of one link with ``kind="htb"``.
    `pf.linux.Qdisc` and `pf.linux.Congestion` are what it has besides: cake, BBR and others.

    Parameters
    ----------
    seeds : int or sequence of int
        How many runs (their seeds are 1, 2, ...), or the seeds themselves, in [0, 2^63).
    bin : float or str, optional
        Time over which a row of the result is summed (s), default 100 ms (beyond
        10,000 s a hundred-thousandth of the run), 1 ms at least; the last
        one may be shorter.
    threads : int, optional
        Guests side by side. Default: as many as there are cores. The numbers do not depend on it.
    kernel : str or Path, optional
        Which one of those that have been built: its version, "7.2", or a folder. Default: the
        newest.
    host : bool, default False
        Whether to run on the kernel of this machine instead, in namespaces without any right, in
        real time: for plausibility only, since what else the machine does disturbs it and chance is
        not seeded. One run at a time, unless `threads` says otherwise.

    Raises
    ------
    QuantityError, DomainError
        If an option is not as it should be.

    Notes
    -----
    Results are runs, as `packet.simulate` describes them, with the same names, and
    ``attrs["kernel"]``. What differs:

    * Packets of data are seen by taps before and behind the queue, each with its flow, its ECN bits
      and its times. Those of less than 200 bytes, which open and end connections, are left out.
    * ``queue`` of one band is what the kernel counts, read every 2 ms, or five times in a bin; of a
      dual queue it is what the taps saw come and not go, since the kernel counts both bands as one.
    * ``controller`` is what the qdisc says: p of PIE, p' of PI2 and DualPI2; others keep theirs to
      themselves (NaN). ``window`` is what flows say of themselves twice in a bin, or ten times a
      second.
    * In ``count`` drops are the law's unless the queue was full, so that those of an overload
      count as its own; marks in L are the step's if the packet had waited for longer.

    A packet costs 30 to 50 us of CPU time, and a guest 90 to 140 MB of memory and a core.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> scenario = pf.named_scenario("pi2_fig11a_pie")
    >>> pf.Linux(seeds=3).obstacle(scenario)[:40]
    'Link kind = "wire" is not in Linux, wher'
    """

    seeds: int | Sequence[int] = 3
    bin: float | str | None = None
    threads: int | None = None
    kernel: str | Path | None = None
    host: bool = False

    name: ClassVar[str] = "linux"
    medium: ClassVar[str] = "the Linux kernel"

    def __post_init__(self) -> None:
        numbers = seed_list(self.seeds)
        if not isinstance(self.seeds, int):
            object.__setattr__(self, "seeds", tuple(numbers))
        if self.bin is not None:
            value = validate_number(self.bin, "time", "bin", low=SHORTEST_BIN, closed=True)
            object.__setattr__(self, "bin", value)
        thread_count(self.threads, len(numbers))
        validate_choice(self.host, (True, False), "host")
        if self.host and self.kernel is not None:
            raise QuantityError(
                f"host = True runs this machine's kernel, and kernel = {show_value(self.kernel)}"
                " another one: give one of both."
            )
        if isinstance(self.kernel, Path):
            object.__setattr__(self, "kernel", str(self.kernel))

    def require(self, scenario: Scenario) -> None:
        """Refuse what Linux has no law for, and to run where no kernel was built."""
        self._prepare(scenario)

    def way(self, result: xarray.Dataset) -> str:
        """Return which kernel it was."""
        return f"packet by packet in Linux {result.attrs['kernel']}"

    def remarks(self, result: xarray.Dataset) -> dict[str, Any]:
        """Return which kernel it was."""
        return {"kernel": result.attrs["kernel"]}

    def outside(self) -> dict[str, str]:
        """Return which kernel it is: what it was built of, and how; "" if there is none here."""
        if self.host:
            return {"kernel": host_release()}
        try:
            kernel = find_kernel(self.kernel)
        except UnsupportedError:  # workers elsewhere may have one
            return {"kernel": ""}
        edits = kernel.manifest.get("edits")
        return {"kernel": f"{kernel.release} {kernel.source} {kernel.configuration} {edits}"}

    def with_rows(self, step: float) -> Self:
        """Return this engine with bins of `step` (s), unless its `bin` is set."""
        return (
            self if self.bin is not None else dataclasses.replace(self, bin=max(step, SHORTEST_BIN))
        )

    def run(
        self, scenario: Scenario, progress: Callable[[float, float], None] | None = None
    ) -> xarray.Dataset:
        """Return one run for each seed."""
        return self._run(scenario, None, progress)

    def run_qdisc(
        self,
        scenario: Scenario,
        queue: Told,
        progress: Callable[[float, float], None] | None = None,
    ) -> xarray.Dataset:
        """Return what `run` does, under a qdisc that no law describes.

        Parameters
        ----------
        scenario : Scenario
            Its queue must have one band, and is not asked otherwise.
        queue : Told
            With its options, as bytes.
        progress : callable, optional
            As in `run`.
        """
        return self._run(scenario, queue, progress)

    def _run(
        self,
        scenario: Scenario,
        queue: Told | None,
        progress: Callable[[float, float], None] | None,
    ) -> xarray.Dataset:
        require("xarray")
        task = self._prepare(scenario, queue)
        kind = (queue or qdisc_of(scenario.aqm, task.scenario.link)).kind

        times = {seed: flow_times(task.scenario, seed) for seed in task.plans}

        def count(seed: int, log: Log) -> dict[str, Any]:
            return count_log(log, task.scenario, kind, times[seed], task.bin)

        alone = self.host and self.threads is None
        workers = 1 if alone else thread_count(self.threads, len(task.plans))
        machine = host_machine() if task.kernel is None else _guest(task.kernel, task.memory)
        duration = float(scenario.duration)
        found, interrupted = run_guests(machine, task.plans, workers, duration, count, progress)
        dual = scenario.aqm.bands > 1
        bands = [int(dual and flow.is_l4s) for flow in scenario.flows]
        attrs = provenance(
            scenario, self.name, RUNS, not_modelled(task.scenario), interrupted=interrupted
        )
        release = f"{host_release()}, host" if task.kernel is None else task.kernel.release
        return runs_dataset(scenario, found, task.bin, bands, {**attrs, "kernel": release})

    def _prepare(self, scenario: Scenario, queue: Told | None = None) -> _Task:
        require_scenario(scenario)
        scenario = scenario.as_run
        length = float(usual_bin(scenario.duration) if self.bin is None else self.bin)
        plans = {seed: make_plan(scenario, seed, length, queue) for seed in seed_list(self.seeds)}
        kernel = None if self.host else find_kernel(self.kernel)
        if kernel is None:
            require_host(next(iter(plans.values())))
        else:
            _require_laws(kernel, scenario)
        duration = to_ns(scenario.duration)
        bin_ = duration if length * NS >= duration else to_ns(length)
        return _Task(scenario, kernel, plans, bin_, _memory(scenario))


def _guest(kernel: Kernel, memory: int) -> Machine:
    command = start_command(kernel.image, memory)
    return Machine(command, guest_program(), kernel.seed_library, memory)


def _require_laws(kernel: Kernel, scenario: Scenario) -> None:
    """Refuse what this very kernel was built without, or is too old for."""
    queue = qdisc_of(scenario.aqm, scenario.link).kind
    senders = {congestion_of(f.sender) for f in scenario.flows if f.sender.constant_rate is None}
    for what, names, known in (
        ("qdisc", {queue} - {"pfifo"}, kernel.qdiscs),
        ("congestion control", senders, kernel.congestion_controls),
    ):
        for name in sorted(names - set(known)):
            raise UnsupportedError(
                f"Linux {kernel.release} has no {what} {name}: build one that has by pi2-fluid"
                " linux build, or give another law."
            )


def _memory(scenario: Scenario) -> int:
    """Return how much a guest may use (MiB): what waits, what is under way, and the sockets."""
    flows = sum(float(flow.count) for flow in scenario.flows)
    packets = 2.0 * most_outstanding(scenario) / float(scenario.packet_size)
    wanted = _LEAST_MEMORY + (packets * _PACKET_MEMORY + flows * _FLOW_MEMORY) / _MIB
    if wanted > _MOST_MEMORY:
        raise UnsupportedError(
            f"Scenario may have {packets:.3g} packets waiting and under way, for which a guest of"
            f" {_MOST_MEMORY} MiB has no room: give a smaller buffer, or use another engine, e.g."
            " Packets()."
        )
    return int(wanted)
