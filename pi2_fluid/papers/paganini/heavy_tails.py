"""Figures 12 and 13 of Paganini and others (2002), claims 55 to 60: transfers with heavy tails.

512 on-off sources each way send transfers of Pareto sizes: mice, which are over before they are
controlled, and elephants, which carry most of what is sent. Everything is read on one way of two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.claim import Claim, decide
from pi2_fluid.papers.paganini.fig11 import COUNT, MICE, TOTAL, summed
from pi2_fluid.plot import COLORS, page_style, save_figure, write_caption

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

    from pi2_fluid.values import FloatArray, IntArray

__all__ = ["CLAIMS", "SETTINGS", "Run", "draw_figure", "run"]

#: What is run: the scenario, and thresholds of RED in place of its own.
SETTINGS: Final[dict[str, tuple[str, tuple[float, float] | None]]] = {
    "new protocol": ("paganini_fig12", None),
    "NewReno/RED": ("paganini_fig13", None),
    "thresholds 5, 20": ("paganini_fig13", (5.0, 20.0)),
}
#: Seconds of a drawn run, and of one on which claims are computed.
DRAWN: Final = 100.0
CLAIMED: Final = 40.0
#: When runs are settled (s).
AFTER: Final = 10.0
_BIN: Final = 0.02  # s, over which the paper averages the utilization of the new protocol
_MEAN: Final = 2.0  # s, and that of others
_DRAWN_BIN: Final = 0.1  # s, over which the queue is drawn
#: Segments of an elephant, and how long it has had to find its rate (s).
ELEPHANT: Final = 10_000
SETTLED: Final = 5.0
#: Packets, beyond which the queue overshoots.
OVERSHOOT: Final = 200.0
#: Segments from which each range of sizes reaches, whose times are drawn.
_SIZES: Final = np.array([100, 180, 320, 560, 1000, 1800, 3200, 5600, 10_000, 32_000])
_FEW: Final = 5  # transfers: fewer have no quantile, and no shares


@dataclass(frozen=True)
class Run:
    """What one way of the link shows. Queues in packets, times in s."""

    time: FloatArray
    """Ends of bins of 20 ms."""
    utilization: FloatArray
    queue: FloatArray
    used: float
    """Mean utilization once it is settled."""
    waiting: float
    """Mean queue."""
    rates: tuple[FloatArray, ...]
    """Of the elephants of each path in every block of bins, over their mean of all paths then."""
    jain: float
    """Jain's index of the rates of all elephants in a block, in the mean."""
    transfers: int
    """That began, both ways."""
    sizes: IntArray
    """Of transfers that began in the first half of the run (segments)."""
    took: FloatArray
    """Of the same; inf: they were not finished."""


@cache
def run(setting: str, duration: float = DRAWN) -> Run:
    """Return what a setting shows over so many seconds: a key of `SETTINGS`."""
    name, thresholds = SETTINGS[setting]
    whole = pf.named_scenario(name).network
    nodes = whole.nodes
    if thresholds is not None:
        low, high = thresholds
        nodes = tuple(
            replace(node, aqm=replace(node.aqm, min=low, max=high))  # type: ignore[call-arg]
            for node in nodes
        )
    scenario = pf.Scenario(duration, network=replace(whole, nodes=nodes))
    runs = pf.simulate(scenario, pf.Packets(seeds=1, bin=_BIN)).isel(seed=0)
    there = runs.sel(link="there")
    used = (there.link_throughput.sum("flows") / there.capacity).to_numpy()
    time, queue = runs.time.to_numpy(), there.queue.to_numpy()
    late = time > AFTER
    rates, jain = _elephants(runs)
    took, early = runs.transfer_time.to_numpy(), runs.transfer_start.to_numpy() <= 0.5 * duration
    return Run(
        time,
        used,
        queue,
        float(used[late].mean()),
        float(queue[late].mean()),
        rates,
        jain,
        int(runs.transfer_count),
        runs.transfer_size.to_numpy()[early],
        np.where(np.isnan(took), np.inf, took)[early],
    )


def paths() -> list[float]:
    """Return the round-trip times (s) of one way, in the order of classes."""
    flows = pf.named_scenario("paganini_fig12").network.flows
    return [float(flow.base_rtt) for flow in flows if flow.route == ("there",)]


def _elephants(runs: xarray.Dataset) -> tuple[tuple[FloatArray, ...], float]:
    """Return the rates of the elephants of each path in all blocks, and how even they are."""
    size, begun = runs.transfer_size.to_numpy(), runs.transfer_start.to_numpy()
    took, flow = runs.transfer_time.to_numpy(), runs.transfer_flow.to_numpy()
    class_ = runs.transfer_class.to_numpy()
    over = np.where(np.isfinite(took), begun + took, np.inf)
    segments = runs.flow_segments.to_numpy()
    rates: list[list[float]] = [[] for _ in paths()]
    even = []
    blocks = zip(runs.block_start.to_numpy(), runs.block.to_numpy(), segments, strict=True)
    for start, end, sent in blocks:
        there = (size >= ELEPHANT) & (begun + SETTLED <= start) & (over >= end)
        there &= class_ < len(rates)
        if np.count_nonzero(there) < _FEW:
            continue
        each = sent[flow[there]] / np.mean(sent[flow[there]])
        for path, rate in zip(class_[there], each, strict=True):
            rates[path].append(float(rate))
        even.append(1.0 / float(np.mean(each**2)))
    return tuple(np.array(path) for path in rates), float(np.mean(even))


# --- the figures ----------------------------------------------------------------------------


def draw_figure(figure: int, settings: tuple[str, ...], message: str, out: Path) -> list[Path]:
    """Draw one of the figures into the folder `out` and return the files written.

    The first of the settings is the figure's own; elephants and times are shown of all of them.
    """
    from matplotlib.figure import Figure

    shown = {name: run(name) for name in settings}
    with page_style():
        picture = Figure(figsize=(9.4, 6.6))
        axes: Any = picture.subplots(2, 2)
        own = settings[:1] if figure == 12 else settings[:2]
        for name in own:
            _draw_over_time(axes[0][0], axes[0][1], name, shown[name])
        _finish_over_time(axes[0][0], axes[0][1])
        _draw_rates(axes[1][0], shown)
        _draw_times(axes[1][1], shown)
        for ax in axes.flat:
            ax.grid(visible=True)
        own_run = shown[settings[0]]
        write_caption(
            picture,
            message,
            note=(
                "One run of 100 s at full size, one way of two; sizes have no mean, so that another"
                f" seed is another story. {own_run.transfers} transfers began."
                f" {_told(shown)}\n"
                f"Queue: means over {_DRAWN_BIN:g} s; utilization: {_MEAN:g} s. Bars: transfers of"
                f" {ELEPHANT} packets and more, {SETTLED:g} s after they began: mean and standard"
                " deviation of their rates, over the mean rate of all such at the time.\n"
                "Times from the SYN to the last acknowledgement: medians, and 95 % (dotted), of"
                " all paths, of transfers that began in the first half."
            ),
            source=f"Paganini et al. (2002), Figure {figure}",
        )
        rows = [
            {
                "line": name,
                "time_s": shown[name].time,
                "utilization": shown[name].utilization,
                "queue_packets": shown[name].queue,
            }
            for name in own
        ]
        return save_figure(
            picture,
            out / f"paganini_fig{figure:02d}",
            rows,
            elephants=_rate_rows(shown),
            times=[_time_row(name, each) for name, each in shown.items()],
        )


def _told(shown: dict[str, Run]) -> str:
    """Say what is used, and what waits."""
    return " ".join(
        f"{name}: {100 * each.used:.1f} % used, {each.waiting:.0f} packets wait."
        for name, each in shown.items()
    )


def _style(name: str) -> dict[str, Any]:
    place = list(SETTINGS).index(name)
    return {"color": COLORS[place], "linestyle": ("-", "-", "--")[place]}


def _means(values: FloatArray, width: float) -> FloatArray:
    each = round(width / _BIN)
    count = len(values) // each
    found: FloatArray = values[: count * each].reshape(count, each).mean(axis=1)
    return found


def _draw_over_time(queue: Axes, used: Axes, name: str, found: Run) -> None:
    style = _style(name)
    waiting = np.maximum(_means(found.queue, _DRAWN_BIN), 1.0)
    queue.plot(_means(found.time, _DRAWN_BIN), waiting, linewidth=0.7, label=name, **style)
    middle = _means(found.time, _MEAN)
    used.plot(middle, 100.0 * _means(found.utilization, _MEAN), label=name, **style)


def _finish_over_time(queue: Axes, used: Axes) -> None:
    queue.set_yscale("log")
    queue.set(xlabel="time [s]", ylabel="queue [packets]", xlim=(0, DRAWN))
    queue.set_ylim(1.0, 5000.0)
    used.axhline(95.0, color="0.5", linewidth=0.8, linestyle=":")
    used.set(xlabel="time [s]", ylabel="utilization [%]", xlim=(0, DRAWN), ylim=(0, 105))
    if len(queue.get_lines()) > 1:
        queue.legend(loc="upper right", ncols=2, fontsize=8)
        used.legend(loc="upper right", bbox_to_anchor=(1.0, 0.62), fontsize=8)


def _draw_rates(ax: Axes, shown: dict[str, Run]) -> None:
    places = np.arange(len(paths()))
    for k, (name, each) in enumerate(shown.items()):
        mean = np.array([path.mean() if path.size else np.nan for path in each.rates])
        spread = np.array([path.std() if path.size else np.nan for path in each.rates])
        ax.errorbar(
            places + 0.16 * (k - 0.5 * (len(shown) - 1)), mean, spread, fmt="o", markersize=4,
            capsize=3, color=_style(name)["color"], label=f"{name}: Jain's index {each.jain:.2f}",
        )  # fmt: skip
    ax.set_xticks(places, [f"{1e3 * path:g}" for path in paths()])
    ax.set(xlabel="path [ms]", ylabel="rate of an elephant, relative")
    ax.set_ylim(0.0, 6.5)
    ax.axhline(1.0, color="0.5", linewidth=0.8, linestyle=":")
    ax.legend(loc="upper right", fontsize=8)


def _rate_rows(shown: dict[str, Run]) -> list[dict[str, Any]]:
    return [
        {
            "line": name,
            "path_s": np.array(paths()),
            "relative_rate": [path.mean() if path.size else np.nan for path in each.rates],
            "relative_rate_sd": [path.std() if path.size else np.nan for path in each.rates],
        }
        for name, each in shown.items()
    ]


def _time_row(name: str, found: Run) -> dict[str, Any]:
    """Return median and 95 % of the times of each range of sizes, at the geometric mean of it."""
    within = np.searchsorted(_SIZES, found.sizes, side="right") - 1
    kept = [k for k in range(len(_SIZES)) if np.count_nonzero(within == k) >= _FEW]
    of_each = [found.took[within == k] for k in kept]
    return {
        "line": name,
        "size_segments": np.array(
            [float(np.exp(np.log(found.sizes[within == k]).mean())) for k in kept]
        ),
        "begun": np.array([took.size for took in of_each]),
        "median_s": np.array([_quantile(took, 0.5) for took in of_each]),
        "p95_s": np.array([_quantile(took, 0.95) for took in of_each]),
    }


def _quantile(took: FloatArray, level: float) -> float:
    """Return the least time within which so many are finished, inf if they are not."""
    return float(np.sort(took)[math.ceil(level * took.size) - 1])


def _draw_times(ax: Axes, shown: dict[str, Run]) -> None:
    for name, each in shown.items():
        row, style = _time_row(name, each), _style(name)
        ax.loglog(row["size_segments"], row["median_s"], label=name, **style)
        ax.loglog(row["size_segments"], row["p95_s"], color=style["color"], linestyle=":")
    ax.set(xlabel="size [packets]", ylabel="time it takes [s]", ylim=(1, 100))
    ticks = [1, 2, 5, 10, 20, 50, 100]
    ax.set_yticks(ticks, map(str, ticks))
    ax.minorticks_off()
    ax.legend(loc="upper left", fontsize=8)


# --- the claims -----------------------------------------------------------------------------


def _mice() -> Claim:
    samples = [summed(seed) for seed in range(1, 201)]
    small = np.array([each.small for each in samples])
    carried, total = (np.array(column) for column in zip(*(
        (each.carried, each.total) for each in samples), strict=True))  # fmt: skip
    low, high = np.quantile(carried, [0.1, 0.9])
    fewer, more = np.quantile(total, [0.1, 0.9])
    alike = carried[np.abs(total / TOTAL - 1.0) < 0.05]
    return Claim(
        id="paganini-55",
        source="Paganini et al., section V-B, Figure 11",
        text=(
            "More than 90 % of the flows have fewer than 1000 packets, and contribute only around"
            " 25 % of them."
        ),
        computed=(
            f"In 200 samples of {COUNT} sizes, {100 * small.min():.1f} to {100 * small.max():.1f} %"
            f" are below {MICE}, and carry {100 * np.median(carried):.0f} % (median;"
            f" {100 * low:.0f} to {100 * high:.0f} % in 8 of 10) of {np.median(total):.2g}"
            f" ({fewer:.2g} to {more:.2g}) packets. Those of about {TOTAL:.3g} packets, as in the"
            f" paper: {100 * alike.mean():.0f} %."
        ),
        verdict=decide(
            abs(float(np.median(small)) - 0.9) < 0.005, low < 0.25 < high, matches_quarter(alike)
        ),
        why=(
            "Exactly 90 % are, of a Pareto distribution of shape 1, which has no mean: a few"
            " sizes decide the sum. The paper's sample is one of many small sums."
        ),
    )


def matches_quarter(carried: FloatArray) -> bool:
    """Return whether about a quarter is carried, in the mean: between a fifth and 30 %."""
    return bool(0.2 < carried.mean() < 0.3)


def _full() -> Claim:
    found = run("new protocol", CLAIMED)
    return Claim(
        id="paganini-56",
        source="Paganini et al., section V-B, Figure 12",
        text="With heavy-tailed traffic the new protocol still keeps high utilization.",
        computed=f"{100 * found.used:.1f} % from {AFTER:g} to {CLAIMED:g} s, both ways loaded.",
        verdict=decide(abs(found.used - 0.95) < 0.02),
        why="Within 2 points of the 95 % that it aims at counts.",
    )


def _small_queue() -> Claim:
    found = run("new protocol", CLAIMED)
    above = float(np.mean(found.queue[found.time > AFTER] > OVERSHOOT))
    return Claim(
        id="paganini-57",
        source="Paganini et al., section V-B, Figure 12",
        text="The queue is small as with long flows; there are only a few overshoots.",
        computed=(
            f"{found.waiting:.0f} packets in the mean, {np.median(found.queue):.0f} in the median;"
            f" above {OVERSHOOT:g} for {100 * above:.1f} % of the time."
        ),
        verdict=decide(found.waiting < 50.0, above < 0.05),
        why="Less than 50 packets, 0.4 ms, is small, and 5 % of the time is seldom.",
    )


def _fair() -> Claim:
    ours, other = (run(name, CLAIMED) for name in ("new protocol", "NewReno/RED"))
    apart = [path.mean() for path in other.rates if path.size]
    return Claim(
        id="paganini-58",
        source="Paganini et al., section V-B, Figure 12",
        text="The elephants share the bandwidth fairly.",
        computed=(
            f"Jain's index of the rates of transfers of {ELEPHANT} packets and more is"
            f" {ours.jain:.2f}, and {other.jain:.2f} with NewReno/RED, where those over the"
            f" shortest path have {apart[0] / apart[-1]:.1f} times the rate of those over the"
            " longest."
        ),
        verdict=decide(ours.jain > 0.9, ours.jain > other.jain),
        why=f"Of those that began {SETTLED:g} s before; 0.9 and more counts.",
    )


def _delay_for_utilization() -> Claim:
    ours, other = (run(name, CLAIMED) for name in ("new protocol", "NewReno/RED"))
    return Claim(
        id="paganini-59",
        source="Paganini et al., section V-B, Figure 13",
        text=(
            "NewReno/RED needs a high queueing delay for high utilization, and has less than 80 %."
        ),
        computed=(
            f"{other.waiting:.0f} packets wait in the mean,"
            f" {other.waiting / ours.waiting:.1f} times as many as with the new protocol, and"
            f" {100 * other.used:.1f} % are used."
        ),
        verdict=decide(other.waiting > 2.0 * ours.waiting, other.used < 0.8),
        why="Twice the queue would count; the 80 % are said of the other queues.",
    )


def _small_thresholds() -> Claim:
    found = run("thresholds 5, 20", CLAIMED)
    return Claim(
        id="paganini-60",
        source="Paganini et al., section V-B",
        text="With RED's thresholds at 5 and 20 the utilization falls to less than 50 %.",
        computed=(
            f"{100 * found.used:.1f} % are used, and {found.waiting:.1f} packets wait in the mean."
        ),
        verdict=decide(found.used < 0.5),
        why="Marks end slow start early, and windows grow by one segment per round trip.",
    )


CLAIMS: Final = (
    _mice, _full, _small_queue, _fair, _delay_for_utilization, _small_thresholds
)  # fmt: skip
