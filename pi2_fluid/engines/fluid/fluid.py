"""The fluid as an engine: from a scenario to its trajectory, as a Dataset."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

import numpy as np

from pi2_fluid.engines.engine import Engine
from pi2_fluid.engines.fluid import compiled
from pi2_fluid.engines.fluid.accuracy import Accuracy
from pi2_fluid.engines.fluid.acks.compiled import obstacle as acks_obstacle
from pi2_fluid.engines.fluid.acks.compiled import run_compiled as run_compiled_acks
from pi2_fluid.engines.fluid.acks.integration import Integrator
from pi2_fluid.engines.fluid.acks.parts import Parts, split_counts
from pi2_fluid.engines.fluid.acks.refusals import beyond_packets, require_clocked
from pi2_fluid.engines.fluid.acks.reporting import trace_nodes
from pi2_fluid.engines.fluid.beginning import begin, begin_links
from pi2_fluid.engines.fluid.blame import named_by_oracle
from pi2_fluid.engines.fluid.cohorts import Cohorts, split_starts
from pi2_fluid.engines.fluid.linearised.network import LinearNetwork
from pi2_fluid.engines.fluid.linearised.reporting import trace_linear
from pi2_fluid.engines.fluid.oracle.integration import Run
from pi2_fluid.engines.fluid.oracle.plant import Plant
from pi2_fluid.engines.fluid.oracle.rows import trace_rows
from pi2_fluid.engines.fluid.outages import refuse_outages, report_outages, without_outages
from pi2_fluid.engines.fluid.refusals import (
    UPDATES,
    not_modelled,
    require_flow,
    require_hops_in_rings,
    require_one_band,
    require_rates_of_states,
    require_round_trips,
    require_tangents,
)
from pi2_fluid.engines.fluid.timeline import Schedule, shortest_interval
from pi2_fluid.engines.fluid.trace import Trace
from pi2_fluid.engines.fluid.validity import check_trajectory
from pi2_fluid.errors import QuantityError, UnsupportedError, renamed, show_value
from pi2_fluid.laws.sender import CLOCKS
from pi2_fluid.missing import require
from pi2_fluid.network.bottlenecks import NetworkPoint
from pi2_fluid.network.equilibrium import OperatingPoint
from pi2_fluid.network.scenario import Scenario, require_scenario
from pi2_fluid.network.schedule import MOST_BINS
from pi2_fluid.records.record import require_untraced
from pi2_fluid.results.schema import TRAJECTORY, provenance
from pi2_fluid.results.trajectories import trajectory_dataset
from pi2_fluid.units import validate_choice, validate_number

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.values import FloatArray

ENGINES: Final = ("auto", "c", "python")
_TOLERANCE: Final = 1e-10
_SAMPLE: Final = 0.01  # s, of a queue that never ticks
_MOST_SAMPLES: Final = 10_000_000
#: What to do about an option that has no meaning by acknowledgements.
_BY_ACKS: Final = {
    "linear": 'ask pf.Loop(..., clock="acks") for the linear answer',
    "update": 'simulate the sampled controller, update="sampled"',
    "tolerance": "give a step, as steps do not adapt",
}


class _AckTask(NamedTuple):
    """A scenario, to be run by acknowledgements."""

    cohorts: Cohorts
    parts: Parts
    integrator: Integrator
    compiled: bool
    times: Any


class _Task(NamedTuple):
    """A scenario, made ready."""

    cohorts: Cohorts
    plant: Plant | LinearNetwork
    compiled: bool
    times: Any
    accuracy: Accuracy


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Fluid(Engine):
    """The fluid: delay-differential equations of mean windows and queues, solved in time.

    Parameters
    ----------
    update : {"sampled", "continuous"}
        Whether the queue updates every `update_interval` and holds its signal in between, as
        kernels do, or moves by its continuous image, equation (29) of the PI2 paper.
    linear : bool
        Simulate the laws linearised around the operating point of each stage of the schedule,
        without bounds: what the loop's margins speak of. Delays are constant then: steps are of
        order 8, and `step` is the longest that they may be.
    tolerance : float, optional
        Relative error allowed in each step, default 1e-10.
    step : float or str, optional
        Fixed longest step (s), instead of steps that adapt to a tolerance. Order 4. Shorter ones
        are taken only where one of that length would be off by a tenth of the state, as where
        signals empty windows at a rate that it cannot follow: else that would grow without bound.
    sample : float or str, optional
        Time between two rows (s). Default: the update interval, or 10 ms if there is none; of what
        would have more than ten million rows, a hundred-thousandth of the run.
    initial : OperatingPoint or mapping, optional
        State before time 0, which is otherwise an empty queue, windows of `initial_window`, and
        no signals: where `equilibrium` says the scenario rests, or any of ``window`` (one number
        for each class), ``queue`` (packets) and ``controller``, with signals as they follow from
        these; of several links ``queue`` and ``controller`` by the names of nodes. Slow start is
        over then.
    engine : {"auto", "c", "python"}
        "c" for the laws of this package, "python" for any law; "auto" takes the faster.
    clock : {"rate", "acks"}
        What sends packets: the rate window / round-trip time, as in the papers' equations, or
        acknowledgements, as in senders that do not pace: one packet for each, and what the window
        grows by. "acks" is for sampled queues, with steps that do not adapt: a
        thirty-second of the shortest path, at most 1.25 ms, unless `step` says otherwise. Order 2.

    Raises
    ------
    QuantityError, DomainError
        If an option is not as it should be.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> result = pf.simulate("pi2_fig11a_pi2", pf.Fluid(tolerance=1e-8))
    >>> result.attrs["engine"], f"{float(result.queue_delay[-1]):.3f} s"
    ('fluid', '0.020 s')
    """

    update: str = "sampled"
    linear: bool = False
    tolerance: float | str | None = None
    step: float | str | None = None
    sample: float | str | None = None
    initial: OperatingPoint | NetworkPoint | Mapping[str, Any] | None = None
    engine: str = "auto"
    clock: str = "rate"

    name: ClassVar[str] = "fluid"
    medium: ClassVar[str] = "a fluid"

    def __post_init__(self) -> None:
        validate_choice(self.update, UPDATES, "update")
        validate_choice(self.linear, (False, True), "linear")
        validate_choice(self.engine, ENGINES, "engine")
        validate_choice(self.clock, CLOCKS, "clock")
        if self.step is not None and self.tolerance is not None:
            raise QuantityError(
                f"step = {show_value(self.step)} and tolerance = {self.tolerance!r} are both given:"
                " the step is fixed, or it adapts to a tolerance; give one."
            )
        for name in ("step", "sample"):
            if getattr(self, name) is not None:
                value = validate_number(getattr(self, name), "time", name)
                object.__setattr__(self, name, value)
        if self.tolerance is not None:
            value = validate_number(
                self.tolerance, "number", "tolerance", low=1e-13, high=1e-2, closed=True
            )
            object.__setattr__(self, "tolerance", value)

    def require(self, scenario: Scenario) -> None:
        """Refuse what has no fluid form, or none that is compiled if that was asked for."""
        if self.clock == "acks":
            self._prepare_acks(scenario)
        else:
            self._prepare(scenario)

    def with_rows(self, step: float) -> Self:
        """Return this engine with rows every `step` (s), unless its `sample` is set."""
        return self if self.sample is not None else dataclasses.replace(self, sample=step)

    def with_tolerance(self, tolerance: float) -> Self:
        """Return this engine with that tolerance, unless it has one or steps that do not adapt."""
        if self.step is not None or self.tolerance is not None or self.clock == "acks":
            return self
        return dataclasses.replace(self, tolerance=tolerance)

    def way(self, result: xarray.Dataset) -> str:
        """Return how the queue updated, and whether the laws were linearised."""
        linear = ", linearised" if result.attrs["linear"] else ""
        clock = ", by acknowledgements" if result.attrs.get("clock") == "acks" else ""
        return f"as a fluid, {result.attrs['update']} update{linear}{clock}"

    def remarks(self, result: xarray.Dataset) -> dict[str, Any]:
        """Return how it was computed, and where it is beyond its laws."""
        return {
            "update": result.attrs["update"],
            "linear": bool(result.attrs["linear"]),
            "compiled": bool(result.attrs["compiled"]),
            "beyond_the_laws": result.attrs["beyond_the_laws"],
            **{name: result.attrs[name] for name in ("clock",) if name in result.attrs},
        }

    def run(
        self, scenario: Scenario, progress: Callable[[float, float], None] | None = None
    ) -> xarray.Dataset:
        """Return the trajectory, as `fluid.simulate` describes it."""
        require("xarray")
        if self.clock == "acks":
            return self._run_acks(scenario, progress)
        task = self._prepare(scenario)
        cohorts, update = task.cohorts, self.update
        if task.compiled:
            trace = named_by_oracle(
                lambda: _run_compiled(task, update, progress),
                lambda: _run_python(task, update, progress),
                scenario,
            )
        else:
            trace = _run_python(task, update, progress)
        trace = report_outages(cohorts.merge(trace), scenario)
        attrs: dict[str, str | float] = {
            **provenance(scenario, self.name, TRAJECTORY, not_modelled(scenario)),
            "compiled": int(task.compiled),
            "update": update,
            "linear": int(self.linear),
            "beyond_the_laws": "" if self.linear else check_trajectory(scenario, trace),
        }
        return trajectory_dataset(trace, scenario, attrs)

    def _run_acks(
        self, scenario: Scenario, progress: Callable[[float, float], None] | None
    ) -> xarray.Dataset:
        task = self._prepare_acks(scenario)
        trace = _follow_acks(task, scenario, progress)
        trace = task.parts.merge(trace)
        trace = report_outages(task.cohorts.merge(trace), scenario)
        attrs: dict[str, str | float] = {
            **provenance(scenario, self.name, TRAJECTORY, beyond_packets(scenario)),
            "compiled": int(task.compiled),
            "update": self.update,
            "linear": 0,
            "clock": self.clock,
            "beyond_the_laws": check_trajectory(scenario, trace),
        }
        return trajectory_dataset(trace, scenario, attrs)

    def _prepare_acks(self, scenario: Scenario) -> _AckTask:
        for name, alone in (("linear", False), ("update", "sampled"), ("tolerance", None)):
            if getattr(self, name) != alone:
                raise UnsupportedError(
                    f"{name} = {getattr(self, name)!r} is for the rate clock:"
                    f' {_BY_ACKS[name]}, or use clock="rate".'
                )
        require_scenario(scenario)
        require_untraced("simulate", "pf.fluid.gradient", scenario)
        scenario = without_outages(scenario.as_run, paused=False)
        require_round_trips(scenario)
        require_clocked(scenario)
        step = None if self.step is None else float(self.step)
        times, several = self._times(scenario), len(scenario.network.nodes) > 1
        beginning = None
        if self.initial is not None:
            beginning = (begin_links if several else begin)(scenario, self.initial)
        cohorts = split_starts(scenario, beginning)
        parts = split_counts(cohorts.scenario, cohorts.beginning)
        compiled = self._compiles(acks_obstacle(scenario))
        integrator = Integrator(parts.scenario, step, parts.beginning, parts.copied)
        return _AckTask(cohorts, parts, integrator, compiled, times)

    def _prepare(self, scenario: Scenario) -> _Task:
        require_scenario(scenario)
        require_untraced("simulate", "pf.fluid.gradient", scenario)
        if self.linear:
            refuse_outages(scenario, "nothing rests that could be linearised")
        scenario = without_outages(scenario.as_run)
        require_round_trips(scenario)
        times, accuracy = self._times(scenario), self._accuracy(scenario)
        if self.update == "continuous":
            require_flow(scenario)
        if self.linear:
            require_rates_of_states(scenario)
            require_tangents(scenario.network)
        require_one_band(scenario, linear=self.linear)
        links = len(scenario.network.nodes)
        beginning = None
        if self.initial is not None:
            beginning = (begin_links if links > 1 else begin)(scenario, self.initial)
        if self.linear:
            # It has neither windows that start nor slow start: counts grow as they are.
            whole = Cohorts(scenario, tuple(range(len(scenario.flows))), beginning)
            network = LinearNetwork(scenario, self.update, beginning)
            return _Task(whole, network, self._compiles("linear=True"), times, accuracy)
        cohorts = split_starts(scenario, beginning)
        # A law says here whether it has a fluid form at all.
        plant = Plant(cohorts.scenario, self.update, cohorts.beginning)
        compiles = self._compiles(compiled.obstacle(cohorts.scenario, self.update))
        if not compiles:
            require_hops_in_rings(scenario.network)
        return _Task(cohorts, plant, compiles, times, accuracy)

    def _compiles(self, obstacle: str) -> bool:
        """Return whether the compiled engine runs it, unless something is an obstacle to that."""
        if self.engine == "c" and obstacle:
            raise UnsupportedError(
                f'{obstacle} is not in the compiled engine: use engine="python" or "auto".'
            )
        return self.engine != "python" and not obstacle

    def _times(self, scenario: Scenario) -> FloatArray:
        duration, sample = float(scenario.duration), self.sample
        if sample is None:
            sample = min(shortest_interval(scenario) or _SAMPLE, duration)
            if duration / sample > _MOST_SAMPLES:  # which nobody has asked for
                sample = duration / MOST_BINS
        step = validate_number(sample, "time", "sample", high=duration)
        count = int(np.floor(duration / step * (1.0 + 1e-12)))
        if count > _MOST_SAMPLES:
            raise QuantityError(
                f"sample = {step:g} s asks for {count} rows, more than {_MOST_SAMPLES}: give a"
                " longer sample."
            )
        return np.arange(count + 1, dtype=float) * step

    def _accuracy(self, scenario: Scenario) -> Accuracy:
        if self.step is not None:
            return Accuracy(float(self.step), 0.0)
        tolerance = _TOLERANCE if self.tolerance is None else self.tolerance
        return Accuracy(float(scenario.duration), float(tolerance))


def _follow_acks(
    task: _AckTask, scenario: Scenario, progress: Callable[[float, float], None] | None
) -> Trace:
    run = task.integrator
    if task.compiled:
        return named_by_oracle(
            lambda: run_compiled_acks(run, task.times, progress),
            lambda: run.run(progress),
            scenario,
        )
    run.run(progress)
    return trace_nodes(run, task.times)


def _run_compiled(
    task: _Task, update: str, progress: Callable[[float, float], None] | None
) -> Trace:
    cohorts = task.cohorts
    return compiled.run_compiled(
        cohorts.scenario, update, task.accuracy, task.times, cohorts.beginning, progress
    )


def _run_python(task: _Task, update: str, progress: Callable[[float, float], None] | None) -> Trace:
    scenario = task.cohorts.scenario
    schedule = Schedule(scenario, ticks=update == "sampled")
    rows, duration, reported = [], float(scenario.duration), -1
    if isinstance(task.plant, LinearNetwork):
        return trace_linear(task.plant, schedule, task.accuracy, task.times, progress)
    run = Run(task.plant, schedule, task.accuracy)
    for row in run.follow(task.times.tolist()):
        rows.append(row)
        part = int(100 * row.t / duration)
        if progress is not None and part > reported:
            progress(row.t, duration)
            reported = part
    return trace_rows(task.plant, rows)


@renamed(controller="update")
def simulate(
    scenario: Scenario,
    *,
    update: str = "sampled",
    linear: bool = False,
    sample: float | str | None = None,
    engine: str = "auto",
    initial: OperatingPoint | NetworkPoint | Mapping[str, Any] | None = None,
    step: float | str | None = None,
    tolerance: float | None = None,
    clock: str = "rate",
    progress: Callable[[float, float], None] | None = None,
) -> xarray.Dataset:
    """Return the trajectory of a scenario: windows, queue, probability and throughput over time.

    Parameters
    ----------
    scenario : Scenario
        Link, queue, flows and schedule, all of them numbers (for arrays there is `batch`).
    update, linear, sample, engine, initial, step, tolerance, clock
        As in `Fluid`.
    progress : callable, optional
        Called as ``progress(done, duration)``, in seconds of the trajectory.

    Returns
    -------
    xarray.Dataset
        Dims ``time``, ``flows`` and, for a dual queue, ``band``: ``queue_delay`` (s), ``queue``
        (packets), ``controller``, ``p``, ``p_prime``, ``window`` (segments), ``throughput`` and
        ``capacity`` (bit/s), and where traffic of a constant rate is thinned, ``offered`` (bit/s),
        what is sent of it. Rows hold what is true just after all that happens at their time.
        ``attrs["not_modelled"]`` lists what of the scenario has no meaning in a fluid,
        ``attrs["beyond_the_laws"]`` which windows fell below what their law describes (2 segments),
        or whom p = 1 could not slow down, from when on and for how long.

    Warns
    -----
    AssumptionWarning
        If either of these makes up more than a second, and half of the time in which the class
        sends or its end.

    Raises
    ------
    ScenarioError, QuantityError, DomainError
        If the scenario or an argument is not as it should be.
    UnsupportedError
        If a law has no fluid form, or none in the engine asked for.
    SolverError
        If the trajectory needs too many steps.

    Notes
    -----
    Delay-differential equations with a state-dependent delay R(t) = base_rtt + q/C, solved by an
    event-aligned Runge-Kutta method of order 4: ticks, jumps of load and capacity, clips, and the
    delayed images of all of these are step boundaries. With ``clock="acks"`` packets are counted
    instead, by a method of order 2 whose steps end where slow start, a silence or a backlog ends.

    Source: PI2 paper (CoNEXT'16), equations (15) to (22) with their delays kept; Misra, Gong,
    Towsley (SIGCOMM 2000).

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> scenario = pf.Scenario(
    ...     duration="20s", link=pf.Link("10Mbit/s"), aqm=pf.Pi2(),
    ...     flows=[pf.Flows(pf.Reno(), 10, "100ms")],
    ... )
    >>> result = pf.fluid.simulate(scenario)
    >>> print(f"{float(result.queue_delay[-1]):.4f} s")
    0.0200 s
    """
    fluid = Fluid(
        update=update,
        linear=linear,
        sample=sample,
        engine=engine,
        initial=initial,
        step=step,
        tolerance=tolerance,
        clock=clock,
    )
    return fluid.run(scenario, progress)
