"""Figure 6 of the PIE paper: what becomes of bursts, with and without an allowance for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped
from pi2_fluid.papers.words import buffer_text, quantity_text, seeds_text
from pi2_fluid.plot import COLORS
from pi2_fluid.results.runs import uninterrupted

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

_BURSTS: Final = ("100ms", "200ms")
_ALLOWED: Final = ("bare", "allowed")
_NAMES: Final = tuple(f"pie_fig06_{burst}_{allowed}" for burst in _BURSTS for allowed in _ALLOWED)
_STEP: Final = 0.01  # s
_SHOWN: Final = (0.97, 1.25)  # s
_MOST: Final = 24.0  # packets
_COLOR: Final = COLORS[2]
#: More than what happens to the 625 packets of the longer burst.
_EVENTS: Final = 4000
# Numbers of the kernel: an event that is a drop, and its causes.
_DROP: Final = 2
_CAUSES: Final = {"pie": 2, "full": 3}


@cache
def _runs(scenario: pf.Scenario, seeds: int) -> xarray.Dataset:
    return uninterrupted(pf.packet.simulate(scenario, seeds=seeds, bin=_STEP, trace=_EVENTS))


def drop_times(runs: xarray.Dataset, cause: str) -> list[FloatArray]:
    """Return when each run dropped packets (s), by "pie" or because the buffer was "full"."""
    found = []
    for k in range(runs.sizes["seed"]):
        each = slice(0, int(runs["event_count"][k]))
        event = {
            name: runs[f"event_{name}"][k, each].to_numpy() for name in ("time", "what", "cause")
        }
        dropped = (event["what"] == _DROP) & (event["cause"] == _CAUSES[cause])
        found.append(1e-9 * event["time"][dropped])
    return found


def _row(name: str, runs: xarray.Dataset) -> dict[str, Any]:
    _, burst, allowed = name.rsplit("_", 2)
    edges = np.append(0.0, runs["time"].to_numpy())
    counts = {
        cause: np.array([np.histogram(times, edges)[0] for times in drop_times(runs, cause)])
        for cause in _CAUSES
    }
    every = counts["pie"] + counts["full"]
    return {
        "burst": burst,
        "allowance": allowed,
        "seeds": runs.sizes["seed"],
        "time_s": edges[:-1],
        "drops_packets": every[0],
        "drops_low_packets": every.min(axis=0),
        "drops_high_packets": every.max(axis=0),
        "drops_full_packets": counts["full"][0],
    }


def _first(runs: xarray.Dataset) -> FloatArray:
    """Return when each run dropped its first packet, for whatever cause (s); NaN: none."""
    causes = zip(*(drop_times(runs, cause) for cause in _CAUSES), strict=True)
    return np.array([min((float(t[0]) for t in both if t.size), default=np.nan) for both in causes])


def _measure(case: Case) -> Measured:
    runs = {name: _runs(scenario, case.seeds) for name, scenario in case.scenarios.items()}
    first = {name: _first(run) for name, run in runs.items()}
    found = {
        "allowed": runs["pie_fig06_100ms_allowed"]["drops"].sum(("time", "flows")).to_numpy(),
        "first_drop": first["pie_fig06_200ms_allowed"],
        "at_once": np.maximum(first["pie_fig06_100ms_bare"], first["pie_fig06_200ms_bare"]),
    }
    return Measured({"": [_row(name, run) for name, run in runs.items()]}, found)


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    rows = measured.tables[""]
    axes: Any = figure.subplots(2, 2, sharex=True, sharey=True)
    for ax, row in zip(axes.T.flat, rows, strict=True):
        _draw_drops(ax, row, case.scenarios[f"pie_fig06_{row['burst']}_{row['allowance']}"])
    for ax in axes[-1]:
        ax.set_xlabel("simulation time [s]")
    for ax in axes[:, 0]:
        ax.set_ylabel(f"drops per {quantity_text(_STEP, 'time')} [packets]")
    axes[0, 0].legend(loc="upper right")
    return Caption(
        "An allowance of 100 ms lets 100 ms of the burst pass; what is dropped later is dropped"
        " mostly by the full buffer",
        note=f"{_traffic(list(case.scenarios.values()))}. Bars: one seed; whiskers: range of"
        f" {seeds_text(int(rows[0]['seeds']))}.",
    )


def _traffic(scenarios: Sequence[pf.Scenario]) -> str:
    """Return what is sent, and how long it takes to fill the buffer, if the bursts are so long."""
    scenario = scenarios[0]
    flow, link = scenario.flows[0], scenario.link
    sender: Any = flow.sender
    rate, capacity = float(sender.bitrate), float(link.capacity)
    said = (
        f"UDP at {quantity_text(rate, 'rate')} from {quantity_text(float(flow.start), 'time')} on"
        f" (grey) into {quantity_text(capacity, 'rate')} with {buffer_text(scenario)}"
    )
    fills = 8.0 * float(link.buffer) * float(link.packet_size or 0.0)
    longest = max(map(_burst, scenarios))
    if fills > (rate - capacity) * longest:
        return said
    return f"{said}, which {1e3 * fills / (rate - capacity):.0f} ms of the burst fill"


def _burst(scenario: pf.Scenario) -> float:
    """Return how long the burst is (s)."""
    flow, end = scenario.flows[0], float(scenario.duration)
    return min(float(flow.stop or end), end) - float(flow.start)


def _title(scenario: pf.Scenario) -> str:
    """Return how long the burst is, and what is allowed."""
    allowed = float(getattr(scenario.aqm, "burst", None) or 0.0)
    return f"burst of {quantity_text(_burst(scenario), 'time')}, " + (
        f"allowance of {quantity_text(allowed, 'time')}" if allowed else "no allowance"
    )


def _draw_drops(ax: Axes, row: Mapping[str, Any], scenario: pf.Scenario) -> None:
    width = 0.9 * _STEP
    shown = (row["time_s"] >= _SHOWN[0]) & (row["time_s"] < _SHOWN[1])
    middle, every, full, low, high = (
        row[name][shown]
        for name in (
            "time_s",
            "drops_packets",
            "drops_full_packets",
            "drops_low_packets",
            "drops_high_packets",
        )
    )
    middle = middle + _STEP / 2
    begin = float(scenario.flows[0].start)
    ax.axvspan(begin, begin + _burst(scenario), color="0.92", zorder=0)
    ax.bar(middle, every - full, width, color=_COLOR, label="dropped by PIE", zorder=2)
    ax.bar(
        middle, full, width, bottom=every - full, zorder=2, linewidth=0.6,
        facecolor="white", edgecolor="0.4", hatch="////", label="dropped by the full buffer",
    )  # fmt: skip
    some = high > 0
    ax.vlines(
        middle[some], low[some], high[some],
        color="black", linewidth=0.9, zorder=3,
    )  # fmt: skip
    ax.set_title(f"{_title(scenario)}: {every.sum():.0f} dropped", fontsize=9.5)
    ax.set(xlim=_SHOWN, ylim=(0.0, _MOST))
    ax.grid(visible=True, axis="y")


RECIPE: Final = Recipe(
    caption="Drops over time of UDP bursts of 100 and 200 ms, with and without a burst allowance",
    shows="Drops over time of UDP bursts, with and without a burst allowance",
    kind="packets",
    measure=_measure,
    pages={"": Page(_draw, (9.0, 5.8))},
    scenarios=shipped(*_NAMES),
    decisions=(
        "Only the burst is sent: the paper names no other traffic.",
        "Drops are counted per 10 ms, and the times of the first ones are judged.",
        (
            "A first drop counts whatever its cause. Of the two bursts without allowance the later"
            " one counts."
        ),
    ),
    why={
        "allowed": "PIE drops nothing within its allowance, and the buffer has room: 187 of 312"
        " packets wait at the end.",
        "first_drop": "The buffer is full at 1.107 s, as it would be without PIE. PIE itself drops"
        " first at 1.110 to 1.123 s.",
        "at_once": "PIE's p rises from 0 in steps of 30 ms, so it drops 52 to 92 ms after the"
        " burst begins. On the axis of the paper's figure that is at once.",
    },
)
