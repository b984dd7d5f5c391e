"""Figure 5 of Paganini and others (2002): long flows that join a fast link, fluid and packets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.paganini import newreno
from pi2_fluid.papers.paganini.joining import (
    FLUID,
    STAGE,
    Stage,
    rests,
    run_fluid,
    run_packets,
    settled,
    tables,
    unevenness,
)
from pi2_fluid.papers.paganini.joining_page import KEY, SIZE, draw_page
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped
from pi2_fluid.plot import COLORS

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

SCENARIO: Final = "paganini_fig05"
#: When the number of flows doubles (s).
STAGES: Final = tuple(number * STAGE for number in range(5))
#: Of the links and flows of Figure 6, with whose flows those of this figure are compared.
_PART: Final = 1 / 8
_BEGUN: Final = 10.0  # s, after which the link is full
_FAST: Final = 1000.0  # times the capacity, so that nothing waits
_GROWING: Final = (0.5, 2.0)  # s, while prices are small


def run() -> xarray.Dataset:
    """Return the trajectory, sampled every 20 ms."""
    return run_fluid(pf.named_scenario(SCENARIO))


@cache
def run_with_constant_delays(scenario: pf.Scenario | None = None) -> xarray.Dataset:
    """Return the same with a link so fast that nothing waits, as in the paper's equations."""
    scenario = scenario or pf.named_scenario(SCENARIO)
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
    return rests(pf.named_scenario(SCENARIO))


def backlog(dataset: xarray.Dataset, link: pf.Link | None = None) -> FloatArray:
    """Return what would wait (packets) if delays did not grow: arrivals above the capacity."""
    link = link or pf.named_scenario(SCENARIO).link
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


# --- the figure -----------------------------------------------------------------------------


def farthest(ratios: Sequence[float]) -> float:
    """Return the ratio that is farthest from 1, up or down."""
    return max(ratios, key=lambda ratio: abs(math.log(ratio)))


def estimation_noise(marked: float, window: float) -> float:
    """Return the standard deviation of the share of marks among so many packets."""
    return math.sqrt(marked * (1.0 - marked) / window)


def _of_one(scenario: pf.Scenario, packets: xarray.Dataset) -> dict[str, float]:
    """Return what the statements are judged by, in one run."""
    stages: list[Stage] = settled(scenario, packets)
    sender: Any = scenario.flows[0].sender
    time, queue = packets.time.to_numpy(), packets.queue.to_numpy()
    used = packets.throughput.sum("flows").to_numpy() / scenario.link.capacity
    growing = slice(*_GROWING)
    window = packets.window.isel(flows=0).sel(time=growing)
    slope = float(np.polyfit(window.time.to_numpy(), window.to_numpy(), 1)[0])
    return {
        "rates": farthest([rate for stage in stages for rate in stage.rates]),
        "prices": farthest([stage.price / stage.rest for stage in stages]),
        "windows": stages[0].used / stages[-1].used,
        "noise": 100.0 * estimation_noise(stages[-1].marked, sender.window),
        "shares": stages[-1].rates[0] / stages[-1].rates[-1],
        "queue": float(np.median(queue)),
        "overshoot": float(time[queue.argmax()] > scenario.flows[-1].start),
        "used": 100.0 * float(used[time > _BEGUN].min()),
        "growth": slope / (sender.beta * sender.k),
        "price_grows": min(b.price / a.price for a, b in pairwise(stages)),
        "smooth": unevenness(packets, 0.5 * STAGE, STAGE),
    }


def _measure(case: Case) -> Measured:
    scenario = case.scenarios[SCENARIO]
    packets = run_packets(scenario, case.seeds)
    runs = [_of_one(scenario, packets.isel(seed=k)) for k in range(case.seeds)]
    found = {key: np.array([each[key] for each in runs]) for key in runs[0]}
    other = newreno.runs(pf.named_scenario("paganini_fig06"), _PART, case.seeds)
    found["smooth"] /= [each.uneven for each in other]
    fluid = run_fluid(scenario)
    held = backlog(run_with_constant_delays(scenario), scenario.link)
    burst = {
        "time_s": fluid.time.to_numpy(),
        "queue_packets": fluid.queue.to_numpy(),
        "queue_constant_delays_packets": held,
    }
    return Measured({**tables(scenario, case.seeds), "burst": [burst]}, found)


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    draw_page(figure, measured, case, stated_queue=20.0)
    each = measured.tables["stages"]
    still = max(stage["queue_packets"] for stage in each)
    low = [100.0 * (1.0 - stage["price_s"] / stage["rest_price_s"]) for stage in each]
    (link,) = measured.tables["link"]
    return Caption(
        "Equal rates whatever the path, 95 %, and a short queue but for one burst",
        note=(
            f"{KEY}.\n"
            f"Prices settle {min(low):.0f} to {max(low):.0f} % below the fluid's; {still:.0f}"
            f" packets or less wait once settled, {link['queue_packets'].max():.0f} after"
            f" {case.scenarios[SCENARIO].flows[-1].count:g} flows have joined,"
            f" {link['queue_fluid_packets'].max():.0f} in the fluid."
        ),
    )


def _draw_burst(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    (row,), (link,) = measured.tables["burst"], measured.tables["link"]
    ax: Any = figure.subplots()
    ax.plot(link["time_s"], link["queue_packets"], color=COLORS[1], label="packets")
    ax.plot(
        row["time_s"], row["queue_constant_delays_packets"], color=COLORS[2], linestyle="--",
        label="fluid, delays held",
    )  # fmt: skip
    ax.plot(row["time_s"], row["queue_packets"], color=COLORS[0], linestyle="-.", label="fluid")
    ax.set(xlabel="time [s]", ylabel="queue [packets]", xlim=(STAGES[-1], STAGES[-1] + 5.0))
    ax.set_ylim(0.0)
    ax.legend(loc="upper right")
    ax.grid(visible=True)
    return Caption(
        "The burst when 256 flows join is in the equations; packets have more",
        note=(
            "Windows may rise by one segment per acknowledgement only"
            + case.as_printed(
                ": over 200 ms those of packets fall behind for 2 s, and then come together"
            )
            + ".\nDelays held: round-trip times do not"
            " grow with the queue, as in the paper's equations."
        ),
    )


RECIPE: Final = Recipe(
    caption="The new protocol with 32 to 512 long flows: rates, price, queue and utilization",
    shows="The new protocol with long flows that join: rates, price, queue and utilization",
    kind="fluid and packets",
    measure=_measure,
    pages={"": Page(_draw, SIZE), "burst": Page(_draw_burst, (9.0, 4.6))},
    scenarios=shipped(SCENARIO),
    decisions=(
        "We run one of the paper's two ways. Queue and utilization are the same both ways.",
        "Groups join in the order of their paths, the shortest first, each within 100 ms.",
        "Rates, prices and utilization of a stage are of its last 10 s.",
        (
            '"Smooth" compares what a flow sends in each of the last 10 s with 32 flows. NewReno'
            " runs under RED on an eighth of the links of Figure 6."
        ),
        (
            "Windows begin with one segment and without slow start; growth is read from"
            f" {_GROWING[0]:g} to {_GROWING[1]:g} s."
        ),
        f'"Always" is every mean over 20 ms from {_BEGUN:g} s on.',
    ),
    why={
        "rates": "At the operating point x = K/q for every path. The rest is noise of short"
        " windows.",
        "prices": "A window that noise moves sends less than its mean, and prices read from few"
        " marks are too high on average. So a lower price fills the link.",
        "smooth": "No window is halved: one mark of 31 moves it a little.",
        "noise": "The number comes from the link's share of marks, among the last 31.",
        "queue": "Ours is shorter. Paced packets hardly wait at 95 %. With acknowledgements in the"
        " queue, both ways, 4 to 6 packets wait, too. What else was in the paper's queue is open.",
        "overshoot": "A window may rise by a segment per acknowledgement. Those over 200 ms fall"
        " behind for 2 s, and then arrive together.",
        "used": "The price settles only where arrivals are 95 %. The use is least when flows join.",
        "growth": "With q = 0, equations (19) and (20) are w' = beta K.",
        "price_grows": "At the operating point the price is N K/c.",
        "": "The packets are of the whole scenario.",
    },
)
