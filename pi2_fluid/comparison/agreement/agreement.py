"""One scenario in several engines, and where they agree: what `compare` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.comparison.agreement.causes import UNLISTED, Facts, gather_facts, name_causes
from pi2_fluid.comparison.agreement.numbers import Number, begin_of, numbers_of, round_step
from pi2_fluid.comparison.agreement.oscillation import Oscillation, read_oscillation
from pi2_fluid.comparison.agreement.places import Place, at_place, classic_of, places_in
from pi2_fluid.comparison.agreement.senders import RunFacts, gather_run_facts, name_run_causes
from pi2_fluid.comparison.agreement.stages import (
    answers_to_pushes,
    last_stage,
    loop_rtts,
)
from pi2_fluid.engines.engine import Engine
from pi2_fluid.engines.fluid.fluid import Fluid
from pi2_fluid.engines.packet.packets import Packets
from pi2_fluid.engines.simulating import require_engine
from pi2_fluid.errors import QuantityError
from pi2_fluid.laws.gains import has_gains
from pi2_fluid.network.catalogue import find_scenario
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.results import summarize
from pi2_fluid.results.dataset import Column, make_dataset
from pi2_fluid.results.schema import RUNS, TRAJECTORY, row_length, schema_of

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.values import FloatArray

_START: Final = 0.2  # of a stage
_SLACK: Final = 0.1  # by how much the ranges of two engines may lie apart
_TOLERANCE: Final = 1e-6  # of a trajectory, if none is given: far below what packets tell
_PER_RTT: Final = 8.0  # samples
_PERIODS: Final = 5.0  # that the longest period looked for fits into the stretch
_CYCLE: Final = 0.01  # swing, as part of the mean, from which a fluid is not at rest
_MOST_PUSHED: Final = 10  # links, each of which is pushed in a run of all
_SUMMARY: Final = (
    *("delay_mean", "delay_sd", "delay_p05", "delay_p25", "delay_p50", "delay_p75", "delay_p95"),
    *("delay_p99", "queue_delay_mean", "utilization", "drop_fraction", "mark_fraction"),
)


class Run(NamedTuple):
    """What one engine made of the scenario."""

    label: str
    """What this engine is called beside the others."""
    engine: Engine
    result: xarray.Dataset


class Comparison(NamedTuple):
    """One scenario, run by several engines, with rows of the same length unless they say more."""

    scenario: Scenario
    runs: tuple[Run, ...]
    """The first is what the others are compared with."""
    after: float
    """Where statistics begin (s)."""

    @property
    def interrupted(self) -> bool:
        """Whether some engine has not run to its end."""
        return any(bool(run.result.attrs["interrupted"]) for run in self.runs)


#: What causes are checked against: of an engine and the first, by link if one is a fluid.
_Facts = Mapping[str, Facts] | RunFacts | None


def run_all(
    scenario: Scenario | str | Path,
    *engines: Engine,
    after: float | str | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Comparison:
    """Run a scenario in all engines, as `compare` describes it, and return their results."""
    described = find_scenario(scenario)
    chosen = engines or (Fluid(), Packets())
    labels = _labels(chosen)
    for engine in chosen:
        engine.require(described)  # refused before any has run
    begin, step = begin_of(described, after), _step(described)
    runs = [
        Run(
            label,
            engine,
            engine.with_rows(step).with_tolerance(_TOLERANCE).run(described, progress),
        )
        for label, engine in zip(labels, chosen, strict=True)
    ]
    return Comparison(described, tuple(runs), begin)


def tabulate(comparison: Comparison) -> xarray.Dataset:
    """Return the table of several results, as `compare` describes it."""
    after, stretch = comparison.after, slice(comparison.after, None)
    summaries = [summarize(run.result, after) for run in comparison.runs]
    numbers = [
        _numbers(comparison, run, summary)
        for run, summary in zip(comparison.runs, summaries, strict=True)
    ]
    facts = [
        _facts(comparison, [(run, summaries[k], numbers[k]) for k, run in pair], stretch)
        for pair in ([(0, comparison.runs[0]), one] for one in enumerate(comparison.runs))
    ]
    return _table(comparison, numbers, facts, max(s.attrs["until"] for s in summaries))


def _labels(engines: tuple[Engine, ...]) -> list[str]:
    """Return what engines are called beside each other, refusing two of the same."""
    for engine in engines:
        require_engine(engine)
    names = [engine.name for engine in engines]
    labels = []
    for engine in engines:
        options = repr(engine).removeprefix(type(engine).__name__).removesuffix("()")
        label = engine.name + options * (names.count(engine.name) > 1)
        if label in labels:
            raise QuantityError(
                f"engine = {engine!r} is given twice, whose results would be the same: give each"
                " once."
            )
        labels.append(label)
    return labels


def _step(scenario: Scenario) -> float:
    """Return the time between samples (s): a round one, a few in every round trip."""
    return round_step(min(loop_rtts(scenario)) / _PER_RTT, float(scenario.duration))


# The numbers of one run


def _numbers(comparison: Comparison, run: Run, summary: xarray.Dataset) -> dict[str, Number]:
    scenario = comparison.scenario
    places = places_in(scenario)
    swings = _swings(comparison, run, places) if len(places) <= _MOST_PUSHED else {}
    numbers: dict[str, Number] = {}
    for place in places:
        mine = _numbers_at(comparison, run, summary, place)
        if place.name in swings:
            these = swings[place.name]
            mine["frequency"] = Number("rad/s", np.array([one.frequency for one in these]))
            mine["damping"] = Number("1", np.array([one.damping for one in these]))
        for name, number in mine.items():
            first, dot, band = name.partition(".")
            label = f"{first}{place.suffix}{dot}{band}"
            numbers[label] = number._replace(link=place.name)
    for short, name in (("throughput", "throughput"), ("window", "window_mean")):
        labelled = numbers_of(short, summary[name], "flows")
        for flow, label in zip(scenario.flows, labelled, strict=True):
            if short == "throughput" or flow.sender.signal is not None:
                numbers[label] = labelled[label]
    return numbers


def _numbers_at(
    comparison: Comparison, run: Run, summary: xarray.Dataset, place: Place
) -> dict[str, Number]:
    """Return the numbers of one link under the names that those of the only one have."""
    late, schema = slice(comparison.after, None), schema_of(run.result)
    result, here = at_place(run.result, place), at_place(summary, place)
    numbers: dict[str, Number] = {}
    for name in _SUMMARY:
        numbers |= numbers_of(name, here[name], "band")
    if "band" in here.dims and schema.binned:
        # Packets count the backlog at the rate of the link; what serves a queue of two is less.
        spent = result[schema.waited].sel(time=late).mean("time")
        mine = here["queue_delay_mean"].copy(data=spent.transpose("seed", "band"))
        numbers |= numbers_of("queue_delay_mean", mine, "band")
    spread = numbers["delay_sd"]
    if not schema.binned and spread.seeds[0] < _TOLERANCE * numbers["delay_mean"].seeds[0]:
        # Of a fluid at rest, what is left is the solver's.
        numbers["delay_sd"] = spread._replace(seeds=np.zeros(1))
    if has_gains(place.node.aqm):
        u = result["controller"].sel(time=late).mean("time")
        numbers["controller"] = Number("1", np.atleast_1d(u.to_numpy()))
    return numbers


def _swings(comparison: Comparison, run: Run, places: list[Place]) -> dict[str, list[Oscillation]]:
    """Return the oscillation of each link in the last stage, of each seed if there are several."""
    scenario, step = comparison.scenario, row_length(run.result)
    begin = last_stage(scenario).begin
    begin = max(comparison.after, begin + _START * (float(scenario.duration) - begin))
    late = run.result.sel(time=slice(begin, None))
    delays = {
        place.name: np.atleast_2d(classic_of(at_place(late, place)["queue_delay"]).to_numpy())
        for place in places
    }
    length = step * late.sizes["time"]
    if isinstance(run.engine, Fluid) and not any(_cycles(delay[0]) for delay in delays.values()):
        answers = answers_to_pushes(scenario, run.engine, step, length)
        if answers is not None:
            return {
                place.name: [read_oscillation(answers[:, k], step, length / _PERIODS)]
                for k, place in enumerate(places)
            }
    return {
        name: [read_oscillation(delay, step, length / _PERIODS) for delay in mine]
        for name, mine in delays.items()
    }


def _cycles(delay: FloatArray) -> bool:
    """Whether a delay keeps on swinging: neither at rest nor on its way there."""
    first, _, last = (np.asarray(part) for part in np.array_split(delay, 3))
    swing = float(last.std())
    return swing > _CYCLE * float(delay.mean()) and swing > 0.5 * float(first.std())


# The table


def _facts(comparison: Comparison, pair: list[Any], stretch: slice) -> _Facts:
    """Return what the causes are checked against; None of two trajectories."""
    by_kind = {schema_of(run.result): (run, summary, numbers) for run, summary, numbers in pair}
    if set(by_kind) == {RUNS}:
        (first, of_first, _), (other, of_other, _) = pair
        return gather_run_facts(
            comparison.scenario,
            (first.label, other.label),
            (first.result, other.result),
            (of_first.median("seed"), of_other.median("seed")),
        )
    if set(by_kind) != {TRAJECTORY, RUNS}:
        return None
    fluid, _, of_fluid = by_kind[TRAJECTORY]
    packets, of_packets, _ = by_kind[RUNS]
    means = of_packets.median("seed")
    facts = {}
    for place in places_in(comparison.scenario):
        damping = of_fluid.get(f"damping{place.suffix}")
        facts[place.name] = gather_facts(
            comparison.scenario,
            place,
            fluid.result.sel(time=stretch),
            packets.result.sel(time=stretch),
            means,
            comparison.after,
            1.0 if damping is None else float(damping.seeds[0]),
        )
    return facts


def _table(
    comparison: Comparison,
    numbers: list[dict[str, Number]],
    facts: list[_Facts],
    until: float,
) -> xarray.Dataset:
    runs, names = comparison.runs, list(numbers[0])
    value, low, high = (
        np.array([[float(of(one.seeds)) for one in mine.values()] for mine in numbers])
        for of in (np.median, np.min, np.max)
    )
    apart = (high[0] < (1.0 - _SLACK) * low) | (low[0] > (1.0 + _SLACK) * high)
    bearing = _bearing(comparison.scenario, numbers[0])
    why = [
        [
            _why(fact, name, bearing[name]) if off else ""
            for name, off in zip(names, each, strict=True)
        ]
        for fact, each in zip(facts, apart, strict=True)
    ]
    dims, own = ("engine", "name"), "unit"
    variables = {
        "value": Column(dims, value, own, "value, of several seeds the median"),
        "low": Column(dims, low, own, "smallest of the seeds"),
        "high": Column(dims, high, own, "largest of the seeds"),
        "relative": Column(dims, _relative(value), "1", "value / that of the first engine - 1"),
        "disagreement": Column(
            dims, apart, "1", "whether the range is more than 10 % from that of the first engine"
        ),
        "why": Column(dims, np.array(why, dtype=object), "1", "causes of the disagreement"),
    }
    coords = _coords(runs) | {
        "name": _words("name", names, "what is compared"),
        "unit": _words("name", [one.units for one in numbers[0].values()], "its unit"),
    }
    if len(comparison.scenario.node_names) > 1:
        links = [one.link for one in numbers[0].values()]
        coords["link"] = _words("name", links, "of which link it is; empty of a class")
    attrs: dict[str, str | float] = {
        "engine": ", ".join(run.label for run in runs),
        "scenario": runs[0].result.attrs["scenario"],
        "after": comparison.after,
        "until": float(until),
        "interrupted": int(comparison.interrupted),
    }
    return make_dataset(variables, coords, attrs)


def _coords(runs: tuple[Run, ...]) -> dict[str, Column]:
    said = [run.result.attrs for run in runs]
    return {
        "engine": _words("engine", [run.label for run in runs], "what was run"),
        "options": _words("engine", [repr(run.engine) for run in runs], "the engine"),
        "seeds": _words("engine", [str(one.get("seed", "")) for one in said], "seeds of its runs"),
        "not_modelled": _words(
            "engine", [str(one["not_modelled"]) for one in said], "what it cannot feel"
        ),
    }


def _words(dim: str, values: list[str], text: str) -> Column:
    return Column((dim,), np.array(values, dtype=object), "1", text)


def _bearing(scenario: Scenario, numbers: dict[str, Number]) -> dict[str, list[str]]:
    """Return the links that bear on each number: of a class all that it crosses, also back."""
    names = [place.name for place in places_in(scenario)]
    ways = {
        name: [*(flow.route or names), *(flow.back or ())]
        for name, flow in zip(scenario.class_names, scenario.flows, strict=True)
    }
    return {
        name: [one.link] if one.link else ways.get(name.partition(".")[2], names)
        for name, one in numbers.items()
    }


def _why(facts: _Facts, name: str, links: list[str]) -> str:
    if facts is None:
        return UNLISTED
    if isinstance(facts, RunFacts):
        return name_run_causes(facts, name)
    return name_causes({link: facts[link] for link in links}, name)


def _relative(values: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = values / values[0] - 1.0
    return np.where(values == values[0], 0.0, ratio)
