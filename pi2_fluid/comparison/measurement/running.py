"""A measurement and the engines that run its scenario: over which stretch, with which rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from pi2_fluid.comparison.agreement.agreement import Run
from pi2_fluid.comparison.agreement.numbers import round_step
from pi2_fluid.engines.engine import Engine
from pi2_fluid.engines.packet.packets import Packets
from pi2_fluid.engines.simulating import require_engine
from pi2_fluid.errors import DomainError, QuantityError, ScenarioError, show_value
from pi2_fluid.measured.evenly import flow_labels, sent_by
from pi2_fluid.measured.scenario import Described, require_measured
from pi2_fluid.network.catalogue import find_scenario
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.units import validate_quantity

if TYPE_CHECKING:
    import xarray

_SEEDS: Final = 12
_START: Final = 0.2  # of the time in which all flows are there
_LONGEST_START: Final = 20.0  # s
_LEAST: Final = 0.2  # of the run, in which all flows have to be there together
_PER_RTT: Final = 8.0  # rows
_ROWS: Final = 250_000  # of all seeds together
_TOLERANCE: Final = 1e-6  # of the fluid: far below what is seen beside a measurement


class Beside(NamedTuple):
    """A measurement, and what engines made of its scenario."""

    data: xarray.Dataset
    described: Described
    runs: tuple[Run, ...]
    begin: float
    """Where the numbers begin (s, of the scenario)."""
    end: float

    @property
    def interrupted(self) -> bool:
        """Whether some engine has not run to its end."""
        return any(bool(run.result.attrs["interrupted"]) for run in self.runs)


def is_dataset(value: object) -> bool:
    """Say whether somebody gave data, of whatever kind, in the place of an engine."""
    return any(hasattr(value, name) for name in ("data_vars", "dims", "iloc"))


def usual_packets() -> tuple[Engine, ...]:
    """Return what runs a measurement's scenario where nobody says it."""
    return (Packets(seeds=_SEEDS),)


def run_beside(
    scenario: object,
    engines: Sequence[Engine],
    measured: Sequence[object],
    *,
    after: float | str | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Beside:
    """Run the scenario of a measurement, see `pi2_fluid.compare`."""
    data = require_measured(measured[0], "engine")
    if len(measured) > 1 or isinstance(scenario, list | tuple):
        raise QuantityError(
            f"{len(measured)} measurements are given beside {_counted(scenario)}: give one"
            " measurement, and one scenario."
        )
    described = scenario if isinstance(scenario, Described) else _as_given(scenario, data)
    modelled = described.scenario
    _require_same_flows(modelled, data)
    chosen = tuple(engines) or usual_packets()
    for engine in chosen:
        require_engine(engine)
        engine.require(modelled)
    begin, end = _stretch(modelled, after)
    most = max(_seeds(engine) for engine in chosen)
    paths = [float(flow.base_rtt) for flow in modelled.flows if float(flow.base_rtt) > 0.0]
    wanted = max(min(paths, default=0.02) / _PER_RTT, float(modelled.duration) * most / _ROWS)
    step = round_step(wanted, float(modelled.duration))
    runs = [
        Run(
            label,
            engine,
            engine.with_rows(step).with_tolerance(_TOLERANCE).run(modelled, progress),
        )
        for label, engine in zip(_labels(chosen), chosen, strict=True)
    ]
    return Beside(data, described, tuple(runs), begin, end)


def _labels(engines: Sequence[Engine]) -> list[str]:
    names = [engine.name for engine in engines]
    return [
        repr(engine) if names.count(name) > 1 else name
        for name, engine in zip(names, engines, strict=True)
    ]


def _seeds(engine: Engine) -> int:
    seeds: object = getattr(engine, "seeds", 1)
    if isinstance(seeds, Sequence):
        return len(seeds)
    return seeds if isinstance(seeds, int) else 1


def _counted(scenario: object) -> str:
    if isinstance(scenario, list | tuple):
        return f"{len(scenario)} scenarios"
    return "one scenario"


def _as_given(scenario: object, data: xarray.Dataset) -> Described:
    """Return a scenario that somebody wrote, with what of the measurement does not depend on it."""
    found = find_scenario(scenario)
    zero = min((0.0, *(sent_by(data, label).start for label in flow_labels(data))))
    size = float(found.packet_size)
    return Described(found, {}, {}, zero, (size - 66.0) / size if size > 66.0 else 1.0)


def _require_same_flows(scenario: Scenario, data: xarray.Dataset) -> None:
    """Refuse a scenario whose flows are not those of the measurement."""
    _ = scenario.link  # says so of several
    there = flow_labels(data)
    missing = [name for name in scenario.class_names if name not in there]
    if missing:
        raise ScenarioError(
            f"the scenario has a class {show_value(missing[0])}, and the measurement the flows"
            f" {', '.join(there) or 'of nobody'}: give classes the names of its flows, as"
            " pf.measured.scenario_of does."
        )


def _stretch(scenario: Scenario, after: float | str | None) -> tuple[float, float]:
    """Return from when to when the numbers are (s): all flows are there, and past slow start."""
    duration = float(scenario.duration)
    stops = [duration if flow.stop is None else float(flow.stop) for flow in scenario.flows]
    starts = [float(flow.start) for flow in scenario.flows]
    first, last = max(starts), min(*stops, duration)
    if last - first < _LEAST * duration:  # they are not there together
        first, last = min(starts), min(max(stops), duration)
    if after is None:
        return first + min(_LONGEST_START, _START * (last - first)), last
    begin = float(validate_quantity(after, "time", "after", high=duration, closed=True))
    if begin >= last:
        raise DomainError(
            f"after = {begin:g} s leaves nothing of flows that send until {last:g} s: give an"
            " earlier time."
        )
    return begin, last
