"""The table of several queues: means over seeds, and what one does otherwise than the first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.comparison.queues.numbers import numbers_in
from pi2_fluid.intervals import Interval, interval_of
from pi2_fluid.results.dataset import Column, make_dataset

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.comparison.agreement.numbers import Number
    from pi2_fluid.comparison.queues.running import QueueComparison, QueueRun
    from pi2_fluid.values import FloatArray

_DIMS: Final = ("queue", "name")
_ROUNDING: Final = 1e-12  # of a value: what is the same is computed from other sums


def tabulate_queues(comparison: QueueComparison) -> xarray.Dataset:
    """Return the table of several queues, as `compare` describes it."""
    runs = comparison.runs
    numbers = [numbers_in(run, comparison.after) for run in runs]
    known: dict[str, Number] = {}
    for of_run in numbers:
        known |= {name: number for name, number in of_run.items() if name not in known}
    seeds = sorted({seed for run in runs for seed in _seeds(run)})
    columns = seeds or [0]  # of a fluid, which has none
    by_seed = np.array(
        [
            [_by_seed(of_run.get(name), _seeds(run), columns) for name in known]
            for run, of_run in zip(runs, numbers, strict=True)
        ]
    )
    certain = [not _seeds(run) for run in runs]
    means = [
        [_interval(values, certain=sure) for values in rows]
        for rows, sure in zip(by_seed, certain, strict=True)
    ]
    with np.errstate(invalid="ignore"):  # of infinite settling times
        less_first = by_seed - by_seed[0]
    apart = [
        [_interval(values, certain=sure and certain[0]) for values in rows]
        for rows, sure in zip(less_first, certain, strict=True)
    ]
    variables = {
        **_columns(means, ("value", "low", "high"), "mean over the seeds"),
        **_columns(
            apart,
            ("difference", "difference_low", "difference_high"),
            "mean difference from the first queue, seed by seed",
        ),
        "differs": Column(
            _DIMS,
            np.array(
                [
                    [_is_apart(*pair) for pair in zip(rows, of_queue, strict=True)]
                    for rows, of_queue in zip(apart, means, strict=True)
                ]
            ),
            "1",
            "whether the interval of the difference leaves out 0",
        ),
        "each": Column(
            (*_DIMS, "seed"), by_seed, "unit", "value in each seed, NaN where it was not run"
        ),
    }
    coords = {
        "queue": _words("queue", [run.label for run in runs], "queue"),
        **_about(runs),
        "name": _words("name", list(known), "what is compared"),
        "unit": _words("name", [number.units for number in known.values()], "its unit"),
        "seed": Column(("seed",), np.array(columns, dtype=np.int64), "1", "seed of the run"),
    }
    if len(comparison.scenario.node_names) > 1:
        links = [number.link for number in known.values()]
        coords["link"] = _words("name", links, "of which link it is; empty of a class")
    attrs: dict[str, str | float] = {
        "scenario": runs[0].result.attrs["scenario"],
        "after": comparison.after,
        "until": float(comparison.scenario.duration),
        "interrupted": int(comparison.interrupted),
        "left_out": ", ".join(comparison.left_out),
    }
    return make_dataset(variables, coords, attrs)


def _seeds(run: QueueRun) -> list[int]:
    if "seed" not in run.result.dims:
        return []
    return [int(seed) for seed in run.result["seed"].to_numpy()]


def _by_seed(number: Number | None, own: list[int], columns: list[int]) -> FloatArray:
    """Return the values of a number by seed; of an engine without the same in all."""
    if number is None:
        return np.full(len(columns), math.nan)
    if not own:
        return np.full(len(columns), float(number.seeds[0]))
    values = dict(zip(own, number.seeds, strict=True))
    return np.array([float(values.get(seed, math.nan)) for seed in columns])


def _interval(values: FloatArray, *, certain: bool) -> Interval:
    """Return the mean of the values that there are; what chance does not move has no width."""
    present = values[~np.isnan(values)]
    if not present.size:
        return Interval(math.nan, math.nan)
    return Interval(float(present[0]), 0.0) if certain else interval_of(present)


def _is_apart(difference: Interval, value: Interval) -> bool:
    return abs(difference.mean) > difference.half + _ROUNDING * abs(value.mean)


def _columns(
    rows: list[list[Interval]], names: tuple[str, str, str], text: str
) -> dict[str, Column]:
    """Return means and the ends of their intervals."""
    mean, half = np.moveaxis(np.array(rows), -1, 0)
    told = (
        text,
        *(f"{end} end of the interval of 95 % of the {text}" for end in ("lower", "upper")),
    )
    return {
        name: Column(_DIMS, values, "unit", words)
        for name, values, words in zip(names, (mean, mean - half, mean + half), told, strict=True)
    }


def _about(runs: tuple[QueueRun, ...]) -> dict[str, Column]:
    """Return what is to be known of each queue."""
    laws = [", ".join(repr(node.aqm) for node in run.scenario.network.nodes) for run in runs]
    said = [run.result.attrs for run in runs]
    return {
        "law": _words("queue", laws, "the queue, as Python writes it"),
        "engine": _words("queue", [str(attrs["engine"]) for attrs in said], "what ran it"),
        "options": _words("queue", [repr(run.engine) for run in runs], "the engine"),
        "seeds": _words(
            "queue", [str(attrs.get("seed", "")) for attrs in said], "seeds of its runs"
        ),
        "not_modelled": _words(
            "queue", [str(attrs["not_modelled"]) for attrs in said], "what the engine leaves out"
        ),
    }


def _words(dim: str, values: list[str], text: str) -> Column:
    return Column((dim,), np.array(values, dtype=object), "1", text)
