"""Runs of several seeds: what was counted packet by packet, as rates, means and shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from pi2_fluid import _core
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.network.schedule import NS, flow_lives, mean_capacity, to_ns
from pi2_fluid.results.dataset import (
    BANDS,
    QUANTILES,
    Column,
    class_coords,
    make_dataset,
    shared_variables,
)
from pi2_fluid.results.delays import delay_quantiles, mean_of

if TYPE_CHECKING:
    import xarray
    from numpy.typing import NDArray

    from pi2_fluid.values import FloatArray, IntArray

__all__ = ["CAUSES", "runs_dataset", "uninterrupted"]

#: Arrays by the names of the kernel.
_Columns: TypeAlias = "Mapping[str, NDArray[Any]]"


#: What became of packets, by the names of the counts.
CAUSES: Final = (
    "sent",
    "delivered",
    "drop_aqm",
    "drop_full",
    "drop_overload",
    "mark_aqm",
    "mark_step",
    "queued",
    "in_flight",
)
_BIN: Final = ("seed", "time")
_CLASS: Final = ("seed", "time", "flows")
# What is recorded of an event: units and meaning, by the names of the kernel's columns.
_EVENT: Final = {
    "time": ("ns", "when it happened"),
    "waited": ("ns", "time that the packet had spent in the queue"),
    "flow": ("1", "number of the flow"),
    "segment": ("1", "number of the segment within its flow"),
    "bytes": ("B", "size of the packet"),
    "what": ("1", "what happened: 0 enqueue, 1 dequeue, 2 drop, 3 mark"),
    "band": ("1", "queue: 0 the only one or C, 1 L"),
    "ecn": ("1", "ECN field: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE"),
    "cause": ("1", "of a drop or mark: 2 law, 3 full, 4 overload, 5 law's mark, 6 step's mark"),
}


def runs_dataset(
    scenario: Scenario,
    outcomes: Mapping[int, Mapping[str, Any]],
    length: int,
    bands: Sequence[int],
    attrs: Mapping[str, str | float],
) -> xarray.Dataset:
    """Return the Dataset of the finished seeds.

    Parameters
    ----------
    scenario : Scenario
        What was simulated.
    outcomes : mapping of int to mapping
        Of each seed what `_core.PacketRun.outcome` returns: what was counted in each bin, block
        and run. One may have no ``trace``.
    length : int
        Of a bin (ns).
    bands : sequence of int
        Through which queue each class goes.
    attrs : mapping
        Provenance; the seeds are added.
    """
    runs = list(outcomes.values())
    bins, queues, legs, classes, totals = (
        _stack(runs, name) for name in ("bins", "bands", "legs", "classes", "totals")
    )
    bins = {name: rows[..., 0] for name, rows in bins.items()}  # of the only link,
    classes |= legs  # which all classes cross
    delays, segments = _stack(runs, "delays"), _stack(runs, "segments")
    ends = _ends(scenario, length)
    widths = np.diff(ends, prepend=0) / NS
    edges = _core.packet_delay_edges()
    used = _used(delays)
    delays = delays[..., :used]
    variables = {
        **_of_bins(scenario, bands, bins, queues, classes, ends),
        **_of_blocks(delays, segments),
        **_of_run(scenario, bands, classes, totals, delays, edges),
        **_of_events(runs),
    }
    coords = {
        "seed": Column(("seed",), np.array(list(outcomes), dtype=np.int64), "1", "seed of the run"),
        "time": Column(("time",), ends / NS, "s", "time, at the end of the bin"),
        "bin": Column(("time",), widths, "s", "length of the bin"),
        **class_coords(scenario, bands),
        **_block_coords(ends, runs[0]["block"]),
        "delay": Column(("delay",), edges[:used], "s", "delay from which the bucket reaches"),
        "delay_end": Column(("delay",), edges[1 : used + 1], "s", "delay to which it reaches"),
        **_flow_coords(scenario),
        "quantile": Column(("quantile",), np.array(QUANTILES), "1", "level of the quantile"),
        "cause": Column(("cause",), np.array(CAUSES), "1", "what became of the packet"),
    }
    said = {**attrs, "seed": ", ".join(map(str, outcomes))}
    return make_dataset(variables, coords, said)


# Coordinates


def _ends(scenario: Scenario, length: int) -> IntArray:
    """Return the end of each bin (ns)."""
    duration = to_ns(scenario.duration)
    return np.minimum(np.arange(1, -(-duration // length) + 1, dtype=np.int64) * length, duration)


def _block_coords(ends: IntArray, block: int) -> dict[str, Column]:
    stops = np.append(ends[block - 1 : -1 : block], ends[-1]) / NS
    starts = np.append(0.0, stops[:-1])
    return {
        "block": Column(("block",), stops, "s", "time, at the end of the block of bins"),
        "block_start": Column(("block",), starts, "s", "time, at the start of the block of bins"),
    }


def _flow_coords(scenario: Scenario) -> dict[str, Column]:
    lives = flow_lives(scenario)
    return {
        "flow": Column(("flow",), np.arange(lives.owner.size), "1", "number of the flow"),
        "flow_class": Column(("flow",), lives.owner, "1", "index of the flow's class"),
        "flow_start": Column(
            ("flow",), lives.start / NS, "s", "when the flow comes, or soon after"
        ),
        "flow_stop": Column(("flow",), lives.stop / NS, "s", "when the flow goes"),
    }


def _used(delays: NDArray[Any]) -> int:
    """Return how many buckets there are up to the last that holds anything, one at least."""
    held = np.flatnonzero(delays.any(axis=tuple(range(delays.ndim - 1))))
    return int(held[-1]) + 1 if held.size else 1


# Variables


def _of_bins(
    scenario: Scenario,
    bands: Sequence[int],
    bins: _Columns,
    queues: _Columns,
    classes: _Columns,
    ends: IntArray,
) -> dict[str, Column]:
    packet, widths = float(scenario.link.packet_size), np.diff(ends, prepend=0) / NS
    capacity = mean_capacity(scenario, ends)
    mean, square = queues["bytes"], queues["square"]
    arrivals, drops, marks = classes["arrivals"], classes["drops"], classes["marks"]
    signalled = drops + marks
    # What is dropped on its way out may have come in an earlier bin.
    p = mean_of(signalled, np.maximum(arrivals, signalled))
    shared = {
        "queue_delay": 8.0 * mean / capacity[:, None],
        "queue": mean / packet,
        "controller": bins["controller"],
        "p": p,
        "window": classes["window"],
        "throughput": classes["bits"] / widths[:, None],
        "capacity": capacity,
    }
    spread = np.sqrt(np.maximum(square - mean**2, 0.0)) / packet
    sojourn, departures = classes["sojourn"] / NS, classes["departures"]
    probability = np.stack([bins["classic"], bins["scalable"]], axis=-1)[..., list(bands)]
    queue_dims: tuple[str, ...] = _BIN
    if scenario.aqm.bands == 2:
        queue_dims = (*_BIN, "band")
        through = _by_band(sojourn, bands), _by_band(departures, bands)
    else:
        spread = spread[..., 0]
        through = sojourn.sum(axis=-1), departures.sum(axis=-1)
    return {
        **shared_variables(scenario, _BIN, shared),
        "queue_sd": Column(
            queue_dims, spread, "packets", "standard deviation of the backlog within the bin"
        ),
        "sojourn": Column(queue_dims, _last_mean(*through), "s", "mean time in the queue"),
        "class_sojourn": Column(
            _CLASS, _last_mean(sojourn, departures), "s", "mean time in the queue of the class"
        ),
        "arrivals": Column(_CLASS, arrivals, "packets", "packets that came to the queue"),
        "departures": Column(_CLASS, departures, "packets", "packets that entered service"),
        "drops": Column(_CLASS, drops, "packets", "packets lost, for whatever cause"),
        "marks": Column(_CLASS, marks, "packets", "packets marked"),
        "active_flows": Column(
            _CLASS, classes["flows"], "1", "mean number of flows that are there"
        ),
        "p_aqm": Column(
            _CLASS, probability, "1", "probability that the queue's law signals a packet"
        ),
    }


def _of_blocks(delays: NDArray[Any], segments: NDArray[Any]) -> dict[str, Column]:
    return {
        "delay_histogram": Column(
            ("seed", "block", "flows", "delay"), delays, "packets", "packets that left, by delay"
        ),
        "flow_segments": Column(
            ("seed", "block", "flow"), segments, "segments", "segments of the flow that left"
        ),
    }


def _of_run(
    scenario: Scenario,
    bands: Sequence[int],
    classes: _Columns,
    totals: _Columns,
    delays: NDArray[Any],
    edges: FloatArray,
) -> dict[str, Column]:
    counts = delays.sum(axis=1, dtype=np.int64)
    used = counts.shape[-1]
    dims: tuple[str, ...] = ("seed", "quantile")
    if scenario.aqm.bands == 2:
        dims = (*dims, "band")
        counts = np.moveaxis(_by_band(np.moveaxis(counts, 1, -1), bands), -1, 1)
    else:
        counts = counts.sum(axis=1)
    levels = delay_quantiles(counts, edges[:used], edges[1 : used + 1], QUANTILES)
    each = ("seed", "flows")
    return {
        "delay_quantile": Column(
            dims, np.moveaxis(levels, -1, 1), "s", "delay quantile of what left, in the whole run"
        ),
        "count": Column(
            ("seed", "flows", "cause"),
            np.stack([totals[cause] for cause in CAUSES], axis=-1),
            "packets",
            "packets by what became of them, in the whole run",
        ),
        "retransmissions": Column(
            each, totals["retransmissions"], "segments", "segments sent again, in the whole run"
        ),
        "timeouts": Column(
            each, totals["timeouts"], "1", "retransmission timeouts, in the whole run"
        ),
        "rate": Column(
            each,
            classes["bits"].sum(axis=1) / float(scenario.duration),
            "bit/s",
            "rate at which the class left the link, over the whole run",
        ),
    }


def _of_events(runs: list[Mapping[str, Any]]) -> dict[str, Column]:
    """Return the traces, as long as the longest: the rest of the others is 0."""
    if not any("trace" in run and run["trace"]["time"].size for run in runs):
        return {}
    lengths = [run["trace"]["time"].size for run in runs]
    table = {"event_count": Column(("seed",), np.array(lengths), "1", "events that were recorded")}
    for name, (units, text) in _EVENT.items():
        values = np.zeros((len(runs), max(lengths)), dtype=runs[0]["trace"][name].dtype)
        for row, run in zip(values, runs, strict=True):
            row[: run["trace"][name].size] = run["trace"][name]
        table[f"event_{name}"] = Column(("seed", "event"), values, units, text)
    return table


# Arrays


def _stack(runs: list[Mapping[str, Any]], name: str) -> Any:
    """Return what all runs have under a name, with the seeds first."""
    first = runs[0][name]
    if isinstance(first, Mapping):
        return {key: np.stack([run[name][key] for run in runs]) for key in first}
    return np.stack([run[name] for run in runs])


def _by_band(values: NDArray[Any], bands: Sequence[int]) -> NDArray[Any]:
    """Return the sums over the classes (the last dim) of each band."""
    belongs = np.array(bands)[:, None] == np.arange(len(BANDS))
    result: NDArray[Any] = values @ belongs.astype(values.dtype)
    return result


def _last_mean(total: NDArray[Any], count: NDArray[Any]) -> FloatArray:
    """Return total / count; where nothing was counted, what it was before, 0 at first.

    The second dim is time.
    """
    where = np.arange(count.shape[1]).reshape(1, -1, *[1] * (count.ndim - 2))
    last = np.maximum.accumulate(np.where(count > 0, where, 0), axis=1)
    return np.take_along_axis(mean_of(total, count), last, axis=1)


def uninterrupted(runs: xarray.Dataset) -> xarray.Dataset:
    """Return a result of runs as it is, if every seed was finished.

    A figure or a verdict of fewer seeds would be another one.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C came meanwhile, of which `packet.simulate` makes a result of fewer seeds.
    """
    if runs.attrs["interrupted"]:
        raise KeyboardInterrupt
    return runs
