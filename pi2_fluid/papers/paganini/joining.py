"""Long flows that join a fast link, as fluid and packets: Figures 5 and 10 of Paganini (2002)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.words import quantity_text

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.papers.recipe import Rows
    from pi2_fluid.values import FloatArray

#: How long it takes until the flows double, and how long the utilization is averaged (s).
STAGE: Final = 20.0
BIN: Final = 0.02
#: Of trajectories, sampled as often.
FLUID: Final = pf.Fluid(sample=BIN, tolerance=1e-6)
_SETTLED: Final = 10.0  # s of a stage before its means
#: Which part of the flows is drawn, without the slowest and the fastest.
MIDDLE: Final = 0.9
_MOST: Final = (0.5 - 0.5 * MIDDLE, 0.5 + 0.5 * MIDDLE)


class Stage(NamedTuple):
    """The last 10 s of a stage, in means unless said."""

    flows: int
    price: float
    rest: float
    """Price of the equilibrium."""
    wander: float
    """Standard deviation of the price."""
    marked: float
    """Probability of a mark."""
    rates: tuple[float, ...]
    """Of the classes, over the rate of the equilibrium."""
    used: float
    """Part of the capacity."""
    queue: float


@cache
def run_packets(scenario: pf.Scenario, seeds: int) -> xarray.Dataset:
    """Return runs of a scenario, in rows of 20 ms."""
    return pf.simulate(scenario, pf.Packets(seeds=seeds, bin=BIN))


@cache
def run_fluid(scenario: pf.Scenario) -> xarray.Dataset:
    """Return the trajectory of a scenario, sampled as often."""
    return pf.simulate(scenario, FLUID)


def run(name: str) -> xarray.Dataset:
    """Return one run of a scenario of the package."""
    return run_packets(pf.named_scenario(name), 1).isel(seed=0)


def rests(scenario: pf.Scenario) -> list[pf.OperatingPoint]:
    """Return where the flows of each stage rest."""
    flows, link = scenario.flows, scenario.link
    return [
        pf.equilibrium(flows[:number], scenario.aqm, link.capacity, link.packet_size)
        for number in range(1, len(flows) + 1)
    ]


def stages(name: str) -> list[Stage]:
    """Return how one run of a scenario of the package settles in each stage."""
    return settled(pf.named_scenario(name), run(name))


def settled(scenario: pf.Scenario, dataset: xarray.Dataset) -> list[Stage]:
    """Return how the packets of one run settle in each stage."""
    counts = [int(flow.count) for flow in scenario.flows]
    settled_stages = []
    for number, rest in enumerate(rests(scenario)):
        begin = STAGE * number + _SETTLED
        part = dataset.sel(time=slice(begin + 0.5 * BIN, STAGE * (number + 1) + 0.5 * BIN))
        means = part[["throughput", "queue", "p_aqm"]].mean("time")
        sent = means.throughput.to_numpy()
        each = sent[: number + 1] / counts[: number + 1] / (8.0 * scenario.link.packet_size)
        settled_stages.append(
            Stage(
                flows=sum(counts[: number + 1]),
                price=float(part.controller.mean()),
                rest=float(rest.controller),
                wander=float(part.controller.std()),
                marked=float(means.p_aqm[0]),
                rates=tuple(float(rate) for rate in each / np.array(rest.rate)),
                used=float(sent.sum() / scenario.link.capacity),
                queue=float(means.queue),
            )
        )
    return settled_stages


def unevenness(dataset: xarray.Dataset, begin: float, end: float) -> float:
    """Return by how much a flow of the first class sends unevenly between two times of one run.

    The standard deviation of what it sends second by second, over its mean; the median of the
    flows.
    """
    there = (dataset.block_start.to_numpy() >= begin - 1e-9) & (dataset.block.to_numpy() <= end)
    sent = dataset.flow_segments.to_numpy()[there][:, dataset.flow_class.to_numpy() == 0]
    return float(np.median(sent.std(axis=0) / sent.mean(axis=0)))


# --- what is plotted ------------------------------------------------------------------------


def tables(scenario: pf.Scenario, seeds: int) -> dict[str, Rows]:
    """Return the rates of classes second by second, what the link shows, and its stages."""
    packets, fluid = run_packets(scenario, seeds), run_fluid(scenario)
    return {
        "": _rates(scenario, packets, fluid),
        "link": [_link(scenario, packets, fluid)],
        "stages": _stages(scenario, packets),
    }


def _rates(
    scenario: pf.Scenario, packets: xarray.Dataset, fluid: xarray.Dataset
) -> list[dict[str, Any]]:
    begins, ends = packets.block_start.to_numpy(), packets.block.to_numpy()
    seconds, owner = 0.5 * (begins + ends), packets.flow_class.to_numpy()
    sent = packets.flow_segments.transpose("block", "seed", "flow").to_numpy()
    rates = sent / (ends - begins)[:, None, None]
    bits = 8.0 * float(scenario.link.packet_size)
    rows = []
    for number, (flows, name) in enumerate(
        zip(scenario.flows, packets.flows.to_numpy(), strict=True)
    ):
        present = seconds > float(flows.start)
        mine = rates[present][..., owner == number]
        low, high = np.quantile(mine, _MOST, axis=(1, 2))
        trajectory = fluid.throughput.sel(flows=name).to_numpy() / (bits * float(flows.count))
        rows.append(
            {
                # What the scenario calls them, as long as that is still their path.
                "flows": quantity_text(float(flows.base_rtt), "time"),
                "time_s": seconds[present],
                "rate_segments_s": np.median(mine.mean(axis=2), axis=1),
                "rate_p5_segments_s": low,
                "rate_p95_segments_s": high,
                "rate_fluid_segments_s": np.interp(seconds[present], fluid.time, trajectory),
            }
        )
    return rows


def _link(
    scenario: pf.Scenario, packets: xarray.Dataset, fluid: xarray.Dataset
) -> dict[str, FloatArray]:
    row = {"time_s": packets.time.to_numpy()}
    for name, unit in (("price", "_s"), ("queue", "_packets"), ("utilization", "")):
        runs = _shown(packets, name, scenario).transpose("seed", "time").to_numpy()
        fluids = _shown(fluid, name, scenario).to_numpy()
        row[f"{name}{unit}"] = np.median(runs, axis=0)
        row[f"{name}_least{unit}"], row[f"{name}_most{unit}"] = runs.min(axis=0), runs.max(axis=0)
        row[f"{name}_fluid{unit}"] = np.interp(row["time_s"], fluid.time, fluids)
    return row


def _shown(data: xarray.Dataset, name: str, scenario: pf.Scenario) -> xarray.DataArray:
    if name == "utilization":
        used: xarray.DataArray = data.throughput.sum("flows") / float(scenario.link.capacity)
        return used
    other: xarray.DataArray = data.controller if name == "price" else data.queue
    return other


def _stages(scenario: pf.Scenario, packets: xarray.Dataset) -> list[dict[str, Any]]:
    every = [settled(scenario, packets.isel(seed=k)) for k in range(packets.sizes["seed"])]
    return [
        {
            "flows": runs[0].flows,
            "begin_s": float(flows.start),
            "rest_price_s": runs[0].rest,
            "rest_rate_segments_s": float(np.max(rest.rate)),
            "price_s": np.median([each.price for each in runs]),
            "wander_s": np.median([each.wander for each in runs]),
            "marked": np.median([each.marked for each in runs]),
            "utilization": np.median([each.used for each in runs]),
            "queue_packets": np.median([each.queue for each in runs]),
            "rate_shortest": np.median([each.rates[0] for each in runs]),
            "rate_longest": np.median([each.rates[-1] for each in runs]),
        }
        for runs, flows, rest in zip(
            zip(*every, strict=True), scenario.flows, rests(scenario), strict=True
        )
    ]
