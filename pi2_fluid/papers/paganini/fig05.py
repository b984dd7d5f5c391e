"""Figure 5 of Paganini and others (2002): long flows that join a fast link, as a fluid."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.paganini.joining import FLUID, STAGE, STYLES, rests, run_fluid
from pi2_fluid.plot import COLORS, page_style, save_figure, write_caption

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

    from pi2_fluid.values import FloatArray

__all__ = [
    "SCENARIO",
    "STAGES",
    "backlog",
    "draw",
    "equilibria",
    "rates",
    "run",
    "run_with_constant_delays",
]

SCENARIO: Final = "paganini_fig05"
#: When the number of flows doubles (s).
STAGES: Final = tuple(number * STAGE for number in range(5))
_FAST: Final = 1000.0  # times the capacity, so that nothing waits


def run() -> xarray.Dataset:
    """Return the trajectory, sampled every 20 ms."""
    return run_fluid(SCENARIO)


@cache
def run_with_constant_delays() -> xarray.Dataset:
    """Return the same with a link so fast that nothing waits, as in the paper's equations."""
    scenario = pf.named_scenario(SCENARIO)
    link, price = scenario.link, scenario.aqm
    assert isinstance(price, pf.Price)
    fast = replace(
        scenario,
        link=replace(link, capacity=_FAST * link.capacity),
        aqm=replace(price, utilization=price.utilization / _FAST),
    )
    return pf.simulate(fast, FLUID)


def equilibria() -> list[pf.OperatingPoint]:
    """Return where the flows of each stage rest."""
    return rests(SCENARIO)


def backlog(dataset: xarray.Dataset) -> FloatArray:
    """Return what would wait (packets) if delays did not grow: arrivals above the capacity."""
    link = pf.named_scenario(SCENARIO).link
    arriving = dataset.throughput.sum("flows").to_numpy() / (8.0 * link.packet_size)
    above = arriving - link.capacity / (8.0 * link.packet_size)
    steps = 0.5 * (above[1:] + above[:-1]) * np.diff(dataset.time.to_numpy())
    waits = np.zeros(arriving.size)
    for k, step in enumerate(steps):
        waits[k + 1] = max(waits[k] + step, 0.0)
    return waits


def rates(dataset: xarray.Dataset) -> xarray.DataArray:
    """Return the rate of one flow of each class (segments/s)."""
    size = float(pf.named_scenario(SCENARIO).link.packet_size)
    found: xarray.DataArray = dataset.throughput / (8.0 * size * dataset.flow_count)
    return found


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    from matplotlib.figure import Figure

    dataset, held = run(), backlog(run_with_constant_delays())
    time, there = dataset.time.to_numpy(), equilibria()
    link = pf.named_scenario(SCENARIO).link
    used = dataset.throughput.sum("flows").to_numpy() / float(link.capacity)
    each = rates(dataset)
    with page_style():
        figure = Figure(figsize=(9.4, 6.6))
        axes: Any = figure.subplots(2, 2, sharex=True)
        _draw_rates(axes[0][0], each, there)
        _draw_prices(axes[0][1], dataset, there)
        queue = axes[1][0]
        queue.plot(time, dataset.queue, color=COLORS[0], label="as it is: delays grow")
        queue.plot(time, held, color=COLORS[2], linestyle="--", label="with constant delays")
        queue.set(ylabel="queue [packets]", xlabel="time [s]", ylim=(0, 2500))
        queue.legend(loc="upper left")
        axes[1][1].plot(time, 100.0 * used, color=COLORS[0])
        axes[1][1].axhline(95.0, color="0.5", linewidth=0.8, linestyle="--")
        axes[1][1].set(
            ylabel="utilization [%]", xlabel="time [s]", ylim=(0, 105), xlim=(0, time[-1])
        )
        for ax in axes.flat:
            ax.grid(visible=True)
        write_caption(
            figure,
            "32 to 512 flows of five paths: equal rates, an empty queue, 95 %",
            note=(
                "The fluid of Figure 5's scenario, sampled every 20 ms; one way of the paper's two."
                " The number of flows doubles every 20 s. Dashed: where each stage rests.\n"
                f"Queue at 80 s: {float(dataset.queue.max()):.0f} packets, and {held.max():.0f} if"
                " round-trip times did not grow with it, as in the paper's equations; its"
                " simulation shows a burst there, too,\nand around 20 packets elsewhere, which are"
                " the noise of packets that a fluid has not."
            ),
            source="Paganini et al. (2002), Figure 5",
        )
        columns = [
            {
                "flows": str(name),
                "time_s": time,
                "rate_segments_s": each.sel(flows=name).to_numpy(),
                "price_s": dataset.controller.to_numpy(),
                "queue_packets": dataset.queue.to_numpy(),
                "queue_constant_delays_packets": held,
                "utilization": used,
            }
            for name in dataset.flows.to_numpy()
        ]
        return save_figure(figure, out / "paganini_fig05", columns)


def _draw_rates(ax: Axes, each: xarray.DataArray, there: list[pf.OperatingPoint]) -> None:
    for number, name in enumerate(each.flows.to_numpy()):
        line = each.sel(flows=name)
        shown = line.where(line.time >= STAGES[number])
        ax.semilogy(
            each.time, shown.where(shown > 1.0), label=f"path {name}",
            color=COLORS[number % len(COLORS)], linestyle=STYLES[number],
        )  # fmt: skip
    for start, rest in zip(STAGES, there, strict=True):
        ax.hlines(rest.rate[0], start, start + STAGE, color="0.5", linewidth=0.8, linestyle="--")
    ax.set(ylabel="rate of one flow [segments/s]", ylim=(50, 2e4))
    ax.legend(loc="upper right", ncols=2)


def _draw_prices(ax: Axes, dataset: xarray.Dataset, there: list[pf.OperatingPoint]) -> None:
    ax.plot(dataset.time, 1e3 * dataset.controller, color=COLORS[0])
    for start, rest in zip(STAGES, there, strict=True):
        price = 1e3 * float(rest.controller)
        ax.hlines(price, start, start + STAGE, color="0.5", linewidth=0.8, linestyle="--")
        marked = 100.0 * float(rest.p[0])
        ax.annotate(
            f"{marked:.0f} % marked", (start + 19.0, price), (0, 3), textcoords="offset points",
            ha="right", va="bottom", fontsize=8,
        )  # fmt: skip
    ax.set(ylabel="price [ms]", ylim=(0, 125))
