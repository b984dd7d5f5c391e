"""The table of a measurement beside engines: numbers, what lies outside and why, and curves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.comparison.agreement.agreement import Comparison, Run, tabulate
from pi2_fluid.comparison.agreement.senders import RunFacts
from pi2_fluid.comparison.measurement.causes import Apart, Facts, name_causes
from pi2_fluid.comparison.measurement.curves import curves_of
from pi2_fluid.comparison.measurement.observing import (
    Observed,
    Value,
    observe_measured,
    observe_run,
    values_of,
)
from pi2_fluid.comparison.measurement.probes import waits_at
from pi2_fluid.measured.flows_said import lost_directions
from pi2_fluid.results.dataset import Column, make_dataset
from pi2_fluid.results.schema import RUNS, TRAJECTORY, schema_of

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.comparison.measurement.running import Beside
    from pi2_fluid.values import FloatArray

#: What the measurement is called beside the engines.
MEASURED: Final = "measured"
_SLACK: Final = 0.01  # of what a queue or a sender makes: less than a clock or a counter tells
_FLUID: Final = 0.1  # by which a trajectory, which has no range, may be off
_DIMS: Final = ("engine", "name")


def tabulate_beside(beside: Beside) -> xarray.Dataset:
    """Return the table, as `pi2_fluid.compare` describes it."""
    described, begin, end = beside.described, beside.begin, beside.end
    path = min(float(flow.base_rtt) for flow in described.scenario.flows)
    first = beside.runs[0].result.sel(time=slice(begin, end))
    capacity = float(first["capacity"].mean())
    seen = [observe_measured(beside.data, described, begin, end)]
    seen += [observe_run(run.result, beside.data, described, begin, end) for run in beside.runs]
    numbers = [values_of(one, capacity, described.goodput, path) for one in seen]
    names = [name for name in numbers[0] if all(name in one for one in numbers)]
    value, low, high = (
        np.array([[float(of(one[name].seeds)) for name in names] for one in numbers])
        for of in (np.median, np.min, np.max)
    )
    outside = np.zeros(value.shape, dtype=bool)
    why = np.full(value.shape, "", dtype=object)
    for k, run in enumerate(beside.runs, 1):
        facts = _facts(beside, run, seen[0], seen[k])
        for place, name in enumerate(names):
            apart = Apart(name, value[0, place], low[k, place], high[k, place])
            trajectory = schema_of(run.result) is TRAJECTORY
            outside[k, place] = apart.gap > _room(numbers[0][name], trajectory=trajectory)
            if outside[k, place]:
                why[k, place] = name_causes(facts, apart)
    variables = {
        "value": Column(_DIMS, value, "unit", "value, of several seeds the median"),
        "low": Column(_DIMS, low, "unit", "smallest of the seeds"),
        "high": Column(_DIMS, high, "unit", "largest of the seeds"),
        "relative": Column(_DIMS, _relative(value), "1", "value / measured - 1"),
        "outside": Column(
            _DIMS, outside, "1", "whether what was measured lies outside of the range of the seeds"
        ),
        "why": Column(_DIMS, why, "1", "likely causes"),
    }
    curves, along = curves_of(beside)
    coords = _coords(beside) | {
        "name": _words("name", names, "what is compared"),
        "unit": _words("name", [numbers[0][name].units for name in names], "its unit"),
    }
    attrs: dict[str, str | float] = {
        "compared": "measurement",
        "engine": ", ".join(run.label for run in beside.runs),
        "scenario": beside.runs[0].result.attrs["scenario"],
        "title": described.scenario.name,
        "format": str(beside.data.attrs["format"]),
        "said": json.dumps(dict(described.said)),
        "assumed": json.dumps(dict(described.assumed)),
        "after": begin,
        "until": end,
        "interrupted": int(beside.interrupted),
    }
    return make_dataset(variables | curves, coords | along, attrs)


def _room(value: Value, *, trajectory: bool) -> float:
    """Return how far outside of the range a measured number may lie without being called so."""
    made = abs(float(value.seeds[0]) - value.base)
    return value.printed + (_FLUID if trajectory else _SLACK) * made


def _relative(values: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = values / values[0] - 1.0
    return np.where(values == values[0], 0.0, ratio)


def _facts(beside: Beside, run: Run, measured: Observed, modelled: Observed) -> Facts:
    described, begin, end = beside.described, beside.begin, beside.end
    about = json.loads(beside.data.attrs["about"])
    _, alone = waits_at(run.result, described.scenario, np.array([begin]))
    starts = max(float(flow.start) for flow in described.scenario.flows)
    return Facts(
        described=described,
        seeds=int(run.result.sizes.get("seed", 1)),
        begins=max(0.0, begin - starts),
        lasts=end - begin,
        samples=min((row.size for row in measured.probes.values()), default=0),
        both_ways=bool(lost_directions(beside.data, about)),
        alone=alone,
        constants=_constants(run, measured, modelled),
        engines=_between(beside, run),
    )


def _constants(run: Run, measured: Observed, modelled: Observed) -> RunFacts | None:
    """Return what is constant under a window law, if both have windows and signals of one flow."""
    found = []
    for seen in (measured, modelled):
        signals = sum(float(np.median(part)) for part in seen.shares.values())
        if len(seen.windows) != 1 or signals <= 0.0:
            return None
        (window,) = seen.windows.values()
        found.append(float(np.median(window)) * signals**0.5)
    return RunFacts((MEASURED, run.label), (0.0, 0.0), (("W sqrt(p)", found[0], found[1]),))


def _between(beside: Beside, run: Run) -> tuple[tuple[str, str], ...]:
    """Return why `agreement` says that a fluid is not as packets, by the name of the number."""
    if schema_of(run.result) is not TRAJECTORY:
        return ()
    packets = next((one for one in beside.runs if schema_of(one.result) is RUNS), None)
    if packets is None:
        return ()
    pair = Comparison(beside.described.scenario, (packets, run), beside.begin)
    table = tabulate(pair).sel(engine=run.label)
    told = zip(table["name"].to_numpy(), table["why"].to_numpy(), strict=True)
    return tuple((str(name), str(why)) for name, why in told if why)


def _coords(beside: Beside) -> dict[str, Column]:
    said = [run.result.attrs for run in beside.runs]
    labels = [MEASURED, *(run.label for run in beside.runs)]
    options = [str(beside.data.attrs["format"]), *(repr(run.engine) for run in beside.runs)]
    missing = ["", *(str(one["not_modelled"]) for one in said)]
    return {
        "engine": _words("engine", labels, "what was measured, and what was run"),
        "options": _words("engine", options, "the format of the file, and the engines"),
        "seeds": _words("engine", ["", *(str(one.get("seed", "")) for one in said)], "seeds"),
        "not_modelled": _words("engine", missing, "what an engine cannot feel"),
    }


def _words(dim: str, values: list[str], text: str) -> Column:
    return Column((dim,), np.array(values, dtype=object), "1", text)
