"""Long flows that join a fast link, as fluid and packets: Figures 5 and 10 of Paganini (2002)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.comparison.agreement.curves import stretch_means
from pi2_fluid.plot import COLORS, page_style, save_figure, write_caption

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

    from pi2_fluid.values import FloatArray

__all__ = [
    "BIN",
    "FLUID",
    "STAGE",
    "STYLES",
    "Stage",
    "draw_run",
    "rests",
    "run",
    "run_fluid",
    "stages",
]

#: How long it takes until the flows double, and how long the utilization is averaged (s).
STAGE: Final = 20.0
BIN: Final = 0.02
#: Of trajectories, sampled as often.
FLUID: Final = pf.Fluid(sample=BIN, tolerance=1e-6)
#: Of the five paths.
STYLES: Final = ("-", "--", "-.", ":", (0, (5, 1)))
_SETTLED: Final = 10.0  # s of a stage before its means


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
def run(name: str) -> xarray.Dataset:
    """Return one run of a scenario of the package, in rows of 20 ms."""
    return pf.simulate(pf.named_scenario(name), pf.Packets(seeds=1, bin=BIN)).isel(seed=0)


@cache
def run_fluid(name: str) -> xarray.Dataset:
    """Return the trajectory of that scenario, sampled as often."""
    return pf.simulate(pf.named_scenario(name), FLUID)


def rests(name: str) -> list[pf.OperatingPoint]:
    """Return where the flows of each stage rest."""
    scenario = pf.named_scenario(name)
    flows, link = scenario.flows, scenario.link
    return [
        pf.equilibrium(flows[:number], scenario.aqm, link.capacity, link.packet_size)
        for number in range(1, len(flows) + 1)
    ]


def stages(name: str) -> list[Stage]:
    """Return how the packets of a scenario settle in each stage."""
    scenario, dataset = pf.named_scenario(name), run(name)
    counts = [int(flow.count) for flow in scenario.flows]
    found = []
    for number, rest in enumerate(rests(name)):
        begin = STAGE * number + _SETTLED
        part = dataset.sel(time=slice(begin + 0.5 * BIN, STAGE * (number + 1) + 0.5 * BIN))
        means = part[["throughput", "queue", "p_aqm"]].mean("time")
        sent = means.throughput.to_numpy()
        each = sent[: number + 1] / counts[: number + 1] / (8.0 * scenario.link.packet_size)
        found.append(
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
    return found


def draw_run(name: str, title: str, note: str, source: str, out: Path) -> list[Path]:
    """Draw rates, price, queue and utilization to files that begin with `out`; return those."""
    from matplotlib.figure import Figure

    dataset, fluid = run(name), run_fluid(name)
    time, used = dataset.time.to_numpy(), dataset.throughput.sum("flows") / dataset.capacity
    with page_style():
        figure = Figure(figsize=(9.4, 6.6))
        axes: Any = figure.subplots(2, 2, sharex=True)
        _draw_rates(axes[0][0], name)
        _draw_prices(axes[0][1], name)
        queue = axes[1][0]
        queue.semilogy(time, np.maximum(dataset.queue, 0.1), color=COLORS[1], linewidth=0.8,
                       label="packets")  # fmt: skip
        queue.semilogy(
            fluid.time, fluid.queue.where(fluid.queue > 0.1), color=COLORS[0], linestyle="--",
            label="fluid, where there is any",
        )  # fmt: skip
        queue.set(ylabel="queue over 20 ms [packets]", xlabel="time [s]", ylim=(0.1, 2e4))
        queue.legend(loc="upper left")
        _draw_utilization(axes[1][1], dataset.assign(used=used))
        for ax in axes.flat:
            ax.grid(visible=True)
        write_caption(figure, title, note=note, source=source)
        return save_figure(figure, out, _columns(dataset, used.to_numpy()))


def _columns(dataset: xarray.Dataset, used: FloatArray) -> list[dict[str, Any]]:
    shared = {
        "time_s": dataset.time.to_numpy(),
        "price_s": dataset.controller.to_numpy(),
        "queue_packets": dataset.queue.to_numpy(),
        "utilization": used,
    }
    return [
        {
            "flows": str(flows),
            "throughput_bit_s": dataset.throughput.sel(flows=flows).to_numpy(),
            "window_segments": dataset.window.sel(flows=flows).to_numpy(),
            **shared,
        }
        for flows in dataset.flows.to_numpy()
    ]


def _draw_rates(ax: Axes, name: str) -> None:
    """Draw the mean flow of each class second by second, and between which 90 % of them are."""
    dataset = run(name)
    begins, ends = dataset.block_start.to_numpy(), dataset.block.to_numpy()
    seconds, owner = 0.5 * (begins + ends), dataset.flow_class.to_numpy()
    rates = dataset.flow_segments.to_numpy() / (ends - begins)[:, None]
    for number, flows in enumerate(dataset.flows.to_numpy()):
        there = seconds > STAGE * number
        mine = rates[there][:, owner == number]
        color = COLORS[number % len(COLORS)]
        ax.fill_between(
            seconds[there], *np.quantile(mine, (0.05, 0.95), axis=1), color=color, alpha=0.25,
            linewidth=0.0,
        )  # fmt: skip
        ax.semilogy(
            seconds[there], mine.mean(axis=1), color=color, linestyle=STYLES[number],
            label=f"path {flows}",
        )  # fmt: skip
    for number, rest in enumerate(rests(name)):
        begin = STAGE * number
        ax.hlines(rest.rate[0], begin, begin + STAGE, color="0.5", linewidth=0.8, linestyle="--")
    ax.set(ylabel="rate of one flow [segments/s]", ylim=(50, 2e4))
    ax.legend(loc="upper right", ncols=2)


def _draw_prices(ax: Axes, name: str) -> None:
    dataset, fluid = run(name), run_fluid(name)
    ax.plot(dataset.time, 1e3 * dataset.controller, color=COLORS[1], linewidth=0.8, label="packets")
    ax.plot(fluid.time, 1e3 * fluid.controller, color=COLORS[0], linestyle="--", label="fluid")
    for number, stage in enumerate(stages(name)):
        percent = 100.0 * stage.marked
        ax.annotate(
            f"{percent:.0f} %" if percent > 10.0 else f"{percent:.1f} %",
            (STAGE * (number + 1) - 1.0, 1e3 * stage.rest), (0, 4),
            textcoords="offset points", ha="right", va="bottom", fontsize=8,
        )  # fmt: skip
    ax.set(ylabel="price [ms]", ylim=(0, 130))
    ax.legend(loc="upper left")


def _draw_utilization(ax: Axes, dataset: xarray.Dataset) -> None:
    time = dataset.time.to_numpy()
    seconds, means = stretch_means(dataset, "used", 1.0)
    ax.plot(time, 100.0 * dataset.used, color=COLORS[6], linewidth=0.6, label="over 20 ms")
    ax.plot(seconds, 100.0 * means, color=COLORS[0], label="over 1 s")
    ax.axhline(95.0, color="0.5", linewidth=0.8, linestyle="--")
    ax.set(ylabel="utilization [%]", xlabel="time [s]", ylim=(70, 105), xlim=(0, time[-1]))
    ax.legend(loc="lower right")
