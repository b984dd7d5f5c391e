"""What is read off simulated packets, as it was read off the kernel's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.engines.packet.packets import simulate_discipline
from pi2_fluid.referee.cells import AFTER, Cell
from pi2_fluid.results.delays import delay_quantiles
from pi2_fluid.results.runs import uninterrupted

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.values import FloatArray

#: The group of what is said of the link and its queue, not of flows.
LINK: Final = ""
LEVELS: Final = (0.25, 0.5, 0.75, 0.95, 0.99)
#: Seconds of rounding.
_LITTLE: Final = 1e-6


def run(cell: Cell, seeds: int | Sequence[int], threads: int | None) -> xarray.Dataset:
    """Return the Dataset of a cell's runs."""
    if cell.signal is None:
        runs = pf.packet.simulate(cell.scenario, seeds=seeds, bin=cell.bin, threads=threads)
        return uninterrupted(runs)
    marked = any(flow.ecn for flow in cell.scenario.flows)
    lottery = ("lottery", {"p": cell.signal, "mark": float(marked)})
    runs = simulate_discipline(cell.scenario, lottery, seeds=seeds, bin=cell.bin, threads=threads)
    return uninterrupted(runs)


def measure(
    runs: xarray.Dataset, after: float = AFTER, *, tapped: bool = True
) -> dict[str, dict[str, Any]]:
    """Return by group of flows, and for the link (""), each statistic as an array over the seeds.

    Parameters
    ----------
    runs : xarray.Dataset
        As from `packet.simulate`.
    after : float
        Where statistics begin (s).
    tapped : bool
        Whether rates count as the kernel's were: by packets that both came and left within the
        statistics, which leaves out what waits at their beginning.

    Notes
    -----
    ``delay_sd`` is the standard deviation of the backlog over the capacity, as sampled in the
    kernel every 10 ms. Two queues are taken as uncorrelated within a bin.
    """
    summary = pf.summarize(runs, after=after)
    names = [str(name) for name in runs.flows.to_numpy()]
    rates = summary.throughput.to_numpy()
    if tapped:
        rates = rates - _waiting(runs, after) / (float(runs.time[-1]) - after)
    capacity = float(runs.capacity[-1])
    link = {
        "utilization": rates.sum(axis=1) / capacity,
        "delay_sd": _backlog_sd(runs, after),
        "controller": runs.controller.sel(time=slice(after + _LITTLE, None))
        .mean("time")
        .to_numpy(),
    }
    return {LINK: link} | {
        name: _of_flows(runs, summary, index, rates[:, index]) for index, name in enumerate(names)
    }


def _of_flows(
    runs: xarray.Dataset, summary: xarray.Dataset, index: int, rates: FloatArray
) -> dict[str, Any]:
    of_class = summary.isel(flows=index)
    blocks = runs.block_start.to_numpy() >= summary.attrs["quantiles_after"] - _LITTLE
    counts = runs.delay_histogram.isel(flows=index).to_numpy()[:, blocks].sum(axis=1, dtype=float)
    edges = runs.delay.to_numpy(), runs.delay_end.to_numpy()
    levels = delay_quantiles(counts, *edges, np.array(LEVELS))
    window = of_class.window_mean.to_numpy()
    drops, marks = of_class.drop_fraction_of.to_numpy(), of_class.mark_fraction_of.to_numpy()
    return {
        "delay_mean": of_class.delay_mean_of.to_numpy(),
        **{f"delay_p{round(100 * level)}": levels[:, k] for k, level in enumerate(LEVELS)},
        "drop_fraction": drops,
        "mark_fraction": marks,
        "window": window,
        "rate": rates,
        "timeouts": of_class.timeouts.to_numpy().astype(float),
    }


def _waiting(runs: xarray.Dataset, at: float) -> FloatArray:
    """Return the bits of each class that wait in the queue at the end of a bin, by seed."""
    before = runs.sel(time=slice(None, at + _LITTLE))
    packets = (before.arrivals - before.drops - before.departures).sum("time").to_numpy()
    result: FloatArray = 8.0 * _packet_size(runs) * packets
    return result


def _packet_size(runs: xarray.Dataset) -> float:
    return float(pf.Scenario.from_toml(runs.attrs["scenario"]).link.packet_size)


def _backlog_sd(runs: xarray.Dataset, after: float) -> FloatArray:
    """Return the standard deviation of the whole backlog over the capacity, by seed (s)."""
    part = runs.sel(time=slice(after + _LITTLE, None))
    slot = 8.0 * _packet_size(runs) / float(part.capacity[-1])
    means, within = part.queue, part.queue_sd**2
    if "band" in part.dims:
        means, within = means.sum("band"), within.sum("band")
    result: FloatArray = slot * np.sqrt((means.var("time") + within.mean("time")).to_numpy())
    return result
