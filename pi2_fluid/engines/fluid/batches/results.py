"""Results of a batch: the engines' sums become means with units, in one Dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid.engines.fluid.lanes.timetable import Timetable
from pi2_fluid.engines.fluid.lanes.variation import Variation
from pi2_fluid.engines.fluid.refusals import not_modelled
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.results import Column, make_dataset
from pi2_fluid.results.schema import scenario_text

if TYPE_CHECKING:
    import xarray
    from numpy.typing import NDArray

    from pi2_fluid.values import FloatArray


def batch_dataset(
    scenario: Scenario,
    varied: Variation,
    table: Timetable,
    sums: Mapping[str, FloatArray],
    runs: NDArray[np.intp],
    times: FloatArray | None,
    attrs: Mapping[str, str | float],
) -> xarray.Dataset:
    """Return the Dataset of the finished `runs`.

    Parameters
    ----------
    scenario, varied : Scenario, Variation
        What was asked for.
    table : Timetable
        The finished runs.
    sums : mapping of str to array
        What the engine returned, in the order of `runs`: sums over steps of twice the mean
        ``delay`` and ``controller`` of a step, thrice that of their squares, and so on.
    runs : array of int
        Which runs these are.
    times : array or None
        Of the samples (s).
    attrs : mapping
        Provenance.
    """
    variables = _statistics(table, sums, varied, runs)
    coords = {
        "run": Column(("run",), runs, "1", "index of the run"),
        "flows": Column(("flows",), np.array(scenario.class_names), "1", "class of flows"),
    }
    for key, axis in varied.axes.items():
        coords[key] = Column(
            ("run",), np.asarray(axis.values)[runs], axis.units, f"{key} of the scenario"
        )
    if times is not None:
        coords["time"] = Column(("time",), times, "s", "time")
        variables |= _traces(sums)
    known = {
        "not_modelled": ", ".join(not_modelled(scenario)),
        "scenario": scenario_text(scenario),
    }
    return make_dataset(variables, coords, {**attrs, **known})


def _statistics(
    table: Timetable, sums: Mapping[str, FloatArray], varied: Variation, runs: NDArray[np.intp]
) -> dict[str, Column]:
    steps = (table.last - table.first).astype(float)
    sends = _overlap(table, table.start, table.stop)
    packet = 8.0 * np.broadcast_to(varied.scenario.link.packet_size, (varied.runs,))[runs]
    columns = {}
    for name, units, text in (
        ("queue_delay", "s", "queue delay"),
        ("controller", "1", "controller's own variable"),
    ):
        key = name.removeprefix("queue_")
        mean = sums[key] / (2.0 * steps)
        variance = sums[f"{key}_square"] / (3.0 * steps) - mean**2
        for what, value, of in (
            ("mean", mean, f"mean {text} over time"),
            ("sd", np.sqrt(np.maximum(variance, 0.0)), f"standard deviation of the {text}"),
            ("min", sums[f"{key}_min"], f"smallest {text}"),
            ("max", sums[f"{key}_max"], f"largest {text}"),
        ):
            columns[f"{name}_{what}"] = Column(("run",), value, units, of)
    utilization = sums["served"] / (table.h * _offered(table))
    overflow = sums["lost"] / (steps * table.h)
    columns |= {
        "utilization": Column(("run",), utilization, "1", "part of the capacity used"),
        "overflow": Column(("run",), overflow, "packets/s", "lost because the buffer is full"),
        "step": Column(("run",), table.h, "s", "length of a step"),
    }
    while_sending = "while the class sends"
    for name, value, units, of in (
        ("throughput", sums["sent"] * packet / (steps * table.h), "bit/s", "mean throughput"),
        (
            "window_mean",
            _per(sums["window"], 2.0 * sends),
            "segments",
            f"mean window of a flow {while_sending}",
        ),
        (
            "window_min",
            np.where(sends > 0, sums["window_min"], 0.0),
            "segments",
            f"smallest window of a flow {while_sending}",
        ),
        (
            "p_mean",
            _per(sums["signal"], 2.0 * sends),
            "1",
            f"mean probability that a packet is signalled {while_sending}",
        ),
    ):
        columns[name] = Column(("run", "flows"), value.T, units, of)
    return columns


def _per(total: FloatArray, count: FloatArray) -> FloatArray:
    return np.where(count > 0.0, total / np.where(count > 0.0, count, 1.0), 0.0)


def _overlap(table: Timetable, begin: NDArray[np.int32], end: NDArray[np.int32]) -> FloatArray:
    """Steps that count, of those from node `begin` to node `end`."""
    result: FloatArray = np.maximum(
        np.minimum(end, table.last) - np.maximum(begin, table.first), 0
    ).astype(float)
    return result


def _offered(table: Timetable) -> FloatArray:
    """Sum over the steps that count of the capacity (packets/s)."""
    zero = np.zeros_like(table.last)[None]
    begin = np.concatenate([zero, table.event])
    end = np.concatenate([table.event, table.last[None]])
    result: FloatArray = (table.capacity * _overlap(table, begin, end)).sum(axis=0)
    return result


def _traces(sums: Mapping[str, Any]) -> dict[str, Column]:
    one, each = ("run", "time"), ("run", "time", "flows")
    table = {
        "queue_delay": ("sample_delay", one, "s", "queueing delay"),
        "queue": ("sample_queue", one, "packets", "backlog"),
        "controller": ("sample_controller", one, "1", "the controller's own variable"),
        "window": ("sample_window", each, "segments", "window of one flow"),
        "p": ("sample_p", each, "1", "probability that a packet is signalled"),
    }
    # From (time, [flows,] run) to (run, time, [flows]).
    return {
        name: Column(dims, np.moveaxis(sums[key], -1, 0), units, text)
        for name, (key, dims, units, text) in table.items()
    }
