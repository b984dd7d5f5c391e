"""Runs of several seeds: what was counted packet by packet, as rates, means and shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from pi2_fluid import _core
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.network.schedule import NS, flow_lives, mean_capacity, to_ns
from pi2_fluid.results.dataset import (
    QUANTILES,
    Column,
    Columns,
    class_coords,
    shared_variables,
)
from pi2_fluid.results.delays import delay_quantiles, mean_of, used_buckets
from pi2_fluid.results.layout import Layout, layout_of

if TYPE_CHECKING:
    import xarray
    from numpy.typing import NDArray

    from pi2_fluid.values import FloatArray, IntArray

#: A result of runs, as a Dataset or as plain arrays.
R = TypeVar("R", "xarray.Dataset", Columns)

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
    "what": ("1", "what happened: 0 enqueue, 1 dequeue, 2 drop, 3 mark, 4 lost"),
    "band": ("1", "queue: 0 the only one or C, 1 L"),
    "ecn": ("1", "ECN field: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE"),
    "cause": ("1", "of a drop or mark: 2 law, 3 full, 4 overload, 5 law's mark, 6 step's mark"),
    "link": ("1", "number of the link"),
}


def runs_dataset(
    scenario: Scenario,
    outcomes: Mapping[int, Mapping[str, Any]],
    length: int,
    bands: Sequence[int],
    attrs: Mapping[str, str | float],
) -> xarray.Dataset:
    """Return the Dataset of the finished seeds, of the arguments of `runs_columns`."""
    return runs_columns(scenario, outcomes, length, bands, attrs).to_dataset()


def runs_columns(
    scenario: Scenario,
    outcomes: Mapping[int, Mapping[str, Any]],
    length: int,
    bands: Sequence[int],
    attrs: Mapping[str, str | float],
) -> Columns:
    """Return what was counted of the finished seeds, in SI units.

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
    layout = layout_of(scenario, bands)
    ends = _ends(scenario, length)
    widths = np.diff(ends, prepend=0) / NS
    edges = _core.packet_delay_edges()
    delays = _stack_delays(runs)
    used = delays.shape[-1]
    delays = layout.of_histograms(delays)
    variables = {
        **_of_bins(scenario, layout, runs, ends),
        **_of_blocks(layout, delays, _stack(runs, "segments")),
        **_of_rings(scenario, layout, runs),
        **_of_run(scenario, layout, runs, delays, edges),
        **_of_transfers(scenario, runs),
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
        **_finite_coords(scenario),
        "quantile": Column(("quantile",), np.array(QUANTILES), "1", "level of the quantile"),
        "cause": Column(("cause",), np.array(_causes(scenario)), "1", "what became of the packet"),
    }
    said = {**attrs, "seed": ", ".join(map(str, outcomes))}
    return Columns(variables, coords, said)


def _causes(scenario: Scenario) -> tuple[str, ...]:
    """Return what may become of packets; where links lose some, those are counted, too."""
    loses = any(node.link.loss > 0.0 for node in scenario.network.nodes)
    return (*CAUSES, "lost") if loses else CAUSES


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


def _finite_coords(scenario: Scenario) -> dict[str, Column]:
    """Return which classes have flows that end, if any has."""
    finite = np.array([flow.finite for flow in scenario.flows], dtype=int)
    told = Column(("flows",), finite, "1", "1 if the flows of the class end")
    return {"finite": told} if finite.any() else {}


# Variables


def _of_bins(
    scenario: Scenario, layout: Layout, runs: list[Mapping[str, Any]], ends: IntArray
) -> dict[str, Column]:
    packet, widths = float(scenario.packet_size), np.diff(ends, prepend=0) / NS
    capacity = mean_capacity(scenario, ends)
    serving = mean_capacity(scenario, ends, while_serving=True)
    bins = {name: layout.of_links(rows) for name, rows in _stack(runs, "bins").items()}
    queues = {name: layout.of_queues(rows) for name, rows in _stack(runs, "bands").items()}
    legs, classes = _stack(runs, "legs"), _stack(runs, "classes")
    mean, square = queues["bytes"], queues["square"]
    signalled = legs["drops"] + legs["marks"]
    # What is dropped on its way out may have come in an earlier bin.
    p = mean_of(signalled, np.maximum(legs["arrivals"], signalled))
    throughput = legs["bits"] / widths[:, None]
    shared = {
        "queue_delay": 8.0 * mean / serving[..., None],
        "queue": mean / packet,
        "controller": bins["controller"],
        "p": layout.on_routes(p),
        "window": classes["window"],
        "throughput": layout.at_ends(throughput),
        "capacity": capacity,
        "link_p": layout.at_links(p),
        "link_throughput": layout.at_links(throughput),
    }
    spread = np.sqrt(np.maximum(square - mean**2, 0.0)) / packet
    sojourn = legs["sojourn"] / NS
    of_queues = (*_BIN, *layout.queue_dims)
    of_classes = (*_BIN, *layout.class_dims)
    probability = layout.by_signal(bins["classic"], bins["scalable"])
    through = _last_mean(layout.by_queue(sojourn), layout.by_queue(legs["departures"]))
    waited = layout.at_links(_last_mean(sojourn, legs["departures"]))
    counted = {name: layout.at_links(rows) for name, rows in legs.items()}
    return {
        **shared_variables(scenario, _BIN, shared),
        "queue_sd": Column(
            of_queues,
            spread if layout.dual else spread[..., 0],
            "packets",
            "standard deviation of the backlog within the bin",
        ),
        "sojourn": Column(of_queues, through, "s", "mean time in the queue"),
        "class_sojourn": Column(of_classes, waited, "s", "mean time in the queue of the class"),
        "arrivals": Column(
            of_classes, counted["arrivals"], "packets", "packets that came to the queue"
        ),
        "departures": Column(
            of_classes, counted["departures"], "packets", "packets that entered service"
        ),
        "drops": Column(
            of_classes, counted["drops"], "packets", "packets lost, for whatever cause"
        ),
        "marks": Column(of_classes, counted["marks"], "packets", "packets marked"),
        "active_flows": Column(
            _CLASS, classes["flows"], "1", "mean number of flows that are there"
        ),
        "p_aqm": Column(
            of_classes, probability, "1", "probability that the queue's law signals a packet"
        ),
    }


def _of_rings(
    scenario: Scenario, layout: Layout, runs: list[Mapping[str, Any]]
) -> dict[str, Column]:
    """Return what waits in the rings below the queues, if there is any."""
    links = [node.link for node in scenario.network.nodes]
    if all(link.ring is None for link in links):
        return {}
    bins = {name: layout.of_links(rows) for name, rows in _stack(runs, "bins").items()}
    entered = bins["ring_entered"]
    dims = (*_BIN, "link") if layout.routed else _BIN
    columns = {
        "ring_delay": Column(
            dims,
            _last_mean(bins["ring_waited"] / NS, entered),
            "s",
            "mean time in the ring below the queue",
        ),
        "ring_queue": Column(
            dims,
            bins["ring_bytes"] / float(scenario.packet_size),
            "packets",
            "mean backlog of the ring, behind the packet in service",
        ),
        "ring_departures": Column(
            dims, entered, "packets", "packets that went from the ring into service"
        ),
    }
    if any(link.bql for link in links):
        limit = Column(dims, bins["ring_limit"], "B", "byte queue limit, at the end of the bin")
        columns["ring_limit"] = limit
    return columns


def _of_blocks(layout: Layout, delays: NDArray[Any], segments: NDArray[Any]) -> dict[str, Column]:
    return {
        "delay_histogram": Column(
            ("seed", "block", *layout.histogram_dims, "delay"),
            delays,
            "packets",
            "packets that left, by delay",
        ),
        "flow_segments": Column(
            ("seed", "block", "flow"), segments, "segments", "segments of the flow that left"
        ),
    }


def _of_run(
    scenario: Scenario,
    layout: Layout,
    runs: list[Mapping[str, Any]],
    delays: NDArray[Any],
    edges: FloatArray,
) -> dict[str, Column]:
    totals = _stack(runs, "totals")
    bits = _seeds_first([run["legs"]["bits"] for run in runs])
    counts = layout.queues_of(delays.sum(axis=1, dtype=np.int64))
    used = counts.shape[-1]
    levels = delay_quantiles(counts, edges[:used], edges[1 : used + 1], QUANTILES)
    dims = ("seed", "flows")
    causes = [layout.at_links(totals[cause]) for cause in _causes(scenario)]
    return {
        "delay_quantile": Column(
            ("seed", "quantile", *layout.queue_dims),
            np.moveaxis(levels, -1, 1),
            "s",
            "delay quantile of what left, in the whole run",
        ),
        "count": Column(
            ("seed", *layout.class_dims, "cause"),
            np.stack(causes, axis=-1),
            "packets",
            "packets by what became of them, in the whole run",
        ),
        "retransmissions": Column(
            dims, totals["retransmissions"], "segments", "segments sent again, in the whole run"
        ),
        "timeouts": Column(
            dims, totals["timeouts"], "1", "retransmission timeouts, in the whole run"
        ),
        "rate": Column(
            dims,
            layout.at_ends(bits.sum(axis=1)) / float(scenario.duration),
            "bit/s",
            "rate at which the class left the link, or the last, over the whole run",
        ),
    }


def _of_transfers(scenario: Scenario, runs: list[Mapping[str, Any]]) -> dict[str, Column]:
    """Return when transfers began and how long they took, as many as of the run with most.

    What is beyond those of other runs has the size 0 and the flow and class -1.
    """
    if not any(flow.finite for flow in scenario.flows):
        return {}
    owner = flow_lives(scenario).owner
    counts = [run["transfers"]["size"].size for run in runs]
    shape = (len(runs), max(counts))
    begun, took = np.full(shape, np.nan), np.full(shape, np.nan)
    size, flow, class_ = np.zeros(shape, int), np.full(shape, -1), np.full(shape, -1)
    for row, (count, run) in enumerate(zip(counts, runs, strict=True)):
        told = run["transfers"]
        begun[row, :count] = told["begun"] / NS
        took[row, :count] = np.where(told["took"] < 0, np.nan, told["took"] / NS)
        size[row, :count], flow[row, :count] = told["size"], told["flow"]
        class_[row, :count] = owner[told["flow"]]
    each = ("seed", "transfer")
    return {
        "transfer_count": Column(("seed",), np.array(counts), "1", "transfers that began"),
        "transfer_start": Column(each, begun, "s", "when the transfer began"),
        "transfer_time": Column(
            each, took, "s", "from the start to the last acknowledgement, NaN: it was not finished"
        ),
        "transfer_size": Column(each, size, "segments", "size of the transfer"),
        "transfer_flow": Column(each, flow, "1", "number of its flow"),
        "transfer_class": Column(each, class_, "1", "index of its class"),
        "turned_away": Column(
            ("seed", "flows"),
            _stack(runs, "totals")["turned_away"],
            "1",
            "transfers that came while as many as allowed were under way",
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
        return {key: _seeds_first([run[name][key] for run in runs]) for key in first}
    return _seeds_first([run[name] for run in runs])


def _seeds_first(each: list[NDArray[Any]]) -> NDArray[Any]:
    """Return what `numpy.stack` does, which takes ten times as long for one array."""
    return np.ascontiguousarray(each[0])[None] if len(each) == 1 else np.stack(each)


def _stack_delays(runs: list[Mapping[str, Any]]) -> NDArray[Any]:
    """Return the histograms of all runs, with the seeds first, up to the last bucket in use.

    Each run has buckets up to its own longest delay, or some more.
    """
    each = [run["delays"] for run in runs]
    used = max(used_buckets(delays) for delays in each)
    found = np.zeros((len(each), *each[0].shape[:-1], used), dtype=each[0].dtype)
    for row, delays in zip(found, each, strict=True):
        own = delays[..., :used]
        row[..., : own.shape[-1]] = own
    return found


def _last_mean(total: NDArray[Any], count: NDArray[Any]) -> FloatArray:
    """Return total / count; where nothing was counted, what it was before, 0 at first.

    The second dim is time.
    """
    counted = count > 0
    if counted.all():
        return np.asarray(total / count)
    where = np.arange(count.shape[1]).reshape(1, -1, *[1] * (count.ndim - 2))
    last = np.maximum.accumulate(np.where(counted, where, 0), axis=1)
    return np.take_along_axis(mean_of(total, count), last, axis=1)


def one_run(runs: xarray.Dataset, place: int) -> xarray.Dataset:
    """Return one of the seeds of a result of runs, as if it had been simulated alone.

    What is as long as the longest of all seeds (delays, transfers, events) is as long as its own.
    """
    one = runs.isel(seed=[place])
    ends = {"delay": used_buckets(one["delay_histogram"].to_numpy())}
    for dim in ("transfer", "event"):
        if dim in one.dims:
            ends[dim] = int(one[f"{dim}_count"][0])
    if ends.get("event") == 0:
        one = one.drop_dims("event").drop_vars("event_count")
        del ends["event"]
    own = one.isel({dim: slice(end) for dim, end in ends.items()})
    # Copied, because sums may round by how their terms lie in memory.
    return own.copy(deep=True).assign_attrs(seed=str(int(one["seed"][0])))


def uninterrupted(runs: R) -> R:
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
