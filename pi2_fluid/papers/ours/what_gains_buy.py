"""What gains buy: delay after a disturbance against rate, with long flows and with short ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.errors import DomainError
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, Rows
from pi2_fluid.plot import COLORS, label_curve
from pi2_fluid.results.runs import uninterrupted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

_INTERVAL: Final = 0.016  # s, Linux's time between updates
_BUFFER: Final = 20_000  # packets, which are never reached
_SEGMENT: Final = 12e3  # bits
_PARTS: Final = 256  # of 1 Hz: what tc counts gains in
#: Begin of what is watched, and the step of load (s).
_SETTLED, _STEP = 8.0, 20.0
_BIN: Final = 0.2  # s; two share a histogram of delays, and all times here are whole pairs
_LEVEL: Final = 0.95  # of an interval
#: Part of the link that short flows would fill.
_SHORT: Final = 0.3
_AT_ONCE: Final = 400  # short flows under way, of which there are never so many


class Queue(NamedTuple):
    """DualPI2's gains as tc is told them, in whole parts of 1/256 Hz, and its target (s)."""

    alpha: int
    beta: int
    target: float = 0.015

    @property
    def aqm(self) -> pf.DualPi2:
        """The queue, with Linux's defaults otherwise."""
        return pf.DualPi2(
            alpha=self.alpha / _PARTS,
            beta=self.beta / _PARTS,
            target=self.target,
            update_interval=_INTERVAL,
            c_protection=0.1,
            variant="linux6.18",
        )

    @property
    def label(self) -> str:
        """What a picture calls it."""
        if self.target != BASE.target:
            return f"target {1e3 * self.target:g} ms"
        return f"{self.alpha}/{self.beta}"


class Regime(NamedTuple):
    """What sets of traffic of a kind are called, and how they are watched."""

    title: str
    duration: float
    """How long runs are (s)."""
    begin: float
    """From when on delays are watched (s)."""


class Cell(NamedTuple):
    """Long Cubic or Reno flows on a link, and the short ones beside them."""

    regime: str
    capacity: float
    """In bit/s."""
    flows: tuple[tuple[int, float], ...]
    """Numbers of long flows and their paths (s)."""
    sender: type[pf.Sender] = pf.Cubic
    joining: float = 0.0
    """As many times the long flows join at the step; 0 is no step."""
    size: pf.Pareto | pf.Fixed | None = None
    """Of short flows (segments)."""


#: Linux's defaults.
BASE: Final = Queue(41, 819)
#: Lines of the picture: what is changed along them, from one end to the other.
LINES: Final[dict[str, tuple[Queue, ...]]] = {
    "gains": (Queue(12, 643), BASE, Queue(41, 1200), Queue(41, 1800)),
    "targets": (Queue(41, 819, 0.020), BASE, Queue(41, 819, 0.012), Queue(41, 819, 0.010)),
}
QUEUES: Final = tuple(dict.fromkeys(queue for line in LINES.values() for queue in line))
REGIMES: Final = {
    "many": Regime("Many long flows, joined by more", 28.0, _STEP),
    "few": Regime("Short flows beside few long ones", 36.0, _SETTLED),
}
_PAGES: Final = pf.Pareto(1.3, 8, cap=2000)
CELLS: Final = {
    "10M_10reno_50ms": Cell("many", 10e6, ((10, 0.05),), pf.Reno, joining=2),
    "20M_10cubic_30ms": Cell("many", 20e6, ((10, 0.03),), joining=2),
    "20M_20reno_100ms": Cell("many", 20e6, ((20, 0.1),), pf.Reno, joining=2),
    "50M_10cubic_10_80ms": Cell("many", 50e6, ((4, 0.01), (3, 0.03), (3, 0.08)), joining=1),
    "50M_16cubic_60ms": Cell("many", 50e6, ((16, 0.06),), joining=1),
    "100M_30cubic_30ms": Cell("many", 100e6, ((30, 0.03),), joining=1),
    "20M_1cubic_30ms_pages": Cell("few", 20e6, ((1, 0.03),), size=_PAGES),
    "20M_2cubic_30ms_pages": Cell("few", 20e6, ((2, 0.03),), size=_PAGES),
    "50M_2cubic_30ms_pages": Cell("few", 50e6, ((2, 0.03),), size=_PAGES),
    "100M_4cubic_30ms_pages": Cell("few", 100e6, ((4, 0.03),), size=_PAGES),
    "20M_2cubic_30ms_pieces": Cell("few", 20e6, ((2, 0.03),), size=pf.Fixed(100)),
    "50M_2cubic_30ms_pieces": Cell("few", 50e6, ((2, 0.03),), size=pf.Fixed(200)),
}
_STYLE: Final[dict[str, dict[str, Any]]] = {
    "gains": {"color": COLORS[1], "linestyle": "-", "marker": "o"},
    "targets": {"color": COLORS[2], "linestyle": "--", "marker": "s"},
}

#: On which side of a line its points are named.
_SIDE: Final = {"gains": "left", "targets": "right"}


def scenario(cell: Cell, queue: Queue) -> pf.Scenario:
    """Return the long flows of a cell, with those that join them or the short ones beside them."""
    flows: list[pf.Flows | pf.Transfers] = []
    for k, (count, path) in enumerate(cell.flows):
        long = pf.Flows(cell.sender(), count, path, f"long{k}", start_jitter="1s")
        flows.append(long)
        if cell.joining:
            more = round(cell.joining * count)
            joining = pf.Flows(
                cell.sender(), more, path, f"joining{k}", start=_STEP, start_jitter="0.1s"
            )
            flows.append(joining)
    if cell.size is not None:
        short = pf.Transfers(
            cell.sender(),
            _AT_ONCE,
            cell.flows[0][1],
            "short",
            size=cell.size,
            arrivals=_SHORT * cell.capacity / (_SEGMENT * cell.size.mean),
        )
        flows.append(short)
    link = pf.Link(cell.capacity, kind="htb", buffer=_BUFFER)
    return pf.Scenario(REGIMES[cell.regime].duration, link, queue.aqm, flows)


def window_of(cell: Cell) -> float:
    """Return the window that the long flows have alone (segments), at Linux's target."""
    count = sum(many for many, _ in cell.flows)
    rtt = sum(many * path for many, path in cell.flows) / count + BASE.target
    return cell.capacity / _SEGMENT * rtt / count


def measure_cell(cell: Cell, queue: Queue, seeds: int) -> dict[str, FloatArray]:
    """Return of each run how much of the link is used, and percentiles of the delay (s).

    ``delay_s`` is watched after the step, or beside short flows throughout; ``steady_s`` before the
    step.
    """
    runs = uninterrupted(pf.packet.simulate(scenario(cell, queue), seeds=seeds, bin=_BIN))
    after = pf.summarize(runs, after=REGIMES[cell.regime].begin)
    whole = pf.summarize(runs, after=_SETTLED)
    steady = pf.summarize(runs, after=_SETTLED, until=_STEP)
    return {
        "delay_s": after.delay_p99.to_numpy(),
        "steady_s": steady.delay_p99.to_numpy(),
        "utilization": whole.utilization.to_numpy(),
    }


def interval_of(name: str, values: FloatArray, unit: str = "") -> dict[str, float]:
    """Return the mean of runs and where that of all runs is, by Student's t, as columns."""
    from scipy.stats import t as student

    mean, count = float(values.mean()), values.size
    half = float(student.ppf(0.5 + 0.5 * _LEVEL, count - 1) * values.std(ddof=1) / count**0.5)
    return {
        f"{name}{unit}": mean,
        f"{name}_low{unit}": mean - half,
        f"{name}_high{unit}": mean + half,
    }


def _against(runs: dict[str, FloatArray], base: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """Return of each run what is other than with the base's, which met the same random numbers."""
    return {
        "delay": np.log(runs["delay_s"] / base["delay_s"]),
        "steady": np.log(runs["steady_s"] / base["steady_s"]),
        "rate": 100.0 * (runs["utilization"] - base["utilization"]),
    }


def _row(queue: Queue, found: dict[str, FloatArray]) -> dict[str, Any]:
    """Return ratios of delays and differences of rates, with intervals, as columns."""
    logs = interval_of("delay_ratio", found["delay"]) | interval_of("steady_ratio", found["steady"])
    return {
        "alpha_256": queue.alpha,
        "beta_256": queue.beta,
        "target_s": queue.target,
        "seeds": found["rate"].size,
        **{name: float(np.exp(value)) for name, value in logs.items()},
        **interval_of("rate", found["rate"], "_points"),
    }


def _measure(case: Case) -> Measured:
    if case.seeds < 2:
        raise DomainError(
            f"seeds = {case.seeds} leaves no interval, which this figure draws: give 2 or more."
        )
    cells: list[dict[str, Any]] = []
    means: list[dict[str, Any]] = []
    for regime in REGIMES:
        measures: dict[Queue, list[dict[str, FloatArray]]] = {queue: [] for queue in QUEUES}
        for name, cell in CELLS.items():
            if cell.regime != regime:
                continue
            runs = {queue: measure_cell(cell, queue, case.seeds) for queue in QUEUES}
            for queue in QUEUES:
                each = _against(runs[queue], runs[BASE])
                measures[queue].append(each)
                cells.append(
                    {"regime": regime, "cell": name, "window_segments": window_of(cell)}
                    | {f"base_{key}": float(runs[BASE][key].mean()) for key in runs[BASE]}
                    | _row(queue, each)
                )
        for queue, parts in measures.items():
            mean = {key: np.mean([part[key] for part in parts], axis=0) for key in parts[0]}
            means.append({"regime": regime, "cells": len(parts)} | _row(queue, mean))
    return Measured({"": means, "cells": cells})


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    rows, cells = measured.tables[""], measured.tables["cells"]
    axes: Any = figure.subplots(1, len(REGIMES), sharey=True)
    for ax, regime in zip(axes, REGIMES, strict=True):
        there = [row for row in rows if row["regime"] == regime]
        _draw_regime(ax, there)
        windows = [row["window_segments"] for row in cells if row["regime"] == regime]
        span = f"W = {min(windows):.0f} to {max(windows):.0f}"
        ax.set_title(f"{REGIMES[regime].title}, {span}", fontsize=10)
        ax.set_xlabel("rate against Linux's defaults [points of the capacity]")
    axes[0].set_ylabel("99th percentile of the delay, against the same")
    axes[1].legend(loc="lower right", fontsize=9, handlelength=3.2)
    first, after_step = rows[0], REGIMES["many"].duration - _STEP
    return Caption(
        "A higher beta costs no rate among many long flows, and much of it beside short ones",
        note=(
            f"DualPI2 packet by packet, {first['cells']} sets of traffic each, {first['seeds']}"
            f" seeds, {100 * _LEVEL:g} % intervals. Left: delay in the {after_step:g} s after more"
            " flows join, rate before and after.\nRight: both throughout; short flows would fill"
            f" {100 * _SHORT:g} % of the link. The axes of rate differ. Pairs are alpha/beta in"
            f" 1/{_PARTS} Hz; targets {1e3 * BASE.target:g} ms unless said."
        ),
    )


def _draw_regime(ax: Axes, rows: Rows) -> None:
    by_queue = {Queue(row["alpha_256"], row["beta_256"], row["target_s"]): row for row in rows}
    ax.axhline(1.0, color="0.8", linewidth=0.8, zorder=0)
    ax.axvline(0.0, color="0.8", linewidth=0.8, zorder=0)
    for name, line in LINES.items():
        style, shown = _STYLE[name], [by_queue[queue] for queue in line]
        x, left, right = (
            np.array([row[f"rate{part}_points"] for row in shown]) for part in ("", "_low", "_high")
        )
        y, low, high = (
            np.array([row[f"delay_ratio{part}"] for row in shown]) for part in ("", "_low", "_high")
        )
        ax.errorbar(
            x, y, (y - low, high - y), (x - left, right - x), **style, markersize=4.5,
            linewidth=1.3, elinewidth=0.9, label=f"other {name}",
        )  # fmt: skip
        for queue, place in zip(line, zip(x, y, strict=True), strict=True):
            if queue != BASE:
                label_curve(ax, place, queue.label, style["color"], _SIDE[name], fontsize=8.5)
    label_curve(ax, (0.0, 1.0), f"Linux {BASE.label}", COLORS[0], fontsize=8.5)
    ax.margins(x=0.12)
    ax.grid(visible=True)


RECIPE: Final = Recipe(
    caption=(
        "Delay after a disturbance against rate under DualPI2, with other gains or targets, for"
        " many long flows and for short flows beside few long ones"
    ),
    kind="packets",
    measure=_measure,
    pages={"": Page(_draw, (10.4, 5.2))},
    seeds=20,
    decisions=(
        (
            "DualPI2 is that of Linux 6.18, with T = 16 ms. Pairs are alpha and beta in parts of"
            ' 1/256 Hz: 41/819 is Linux\'s default, and pf.tune("100ms", aqm="dualpi2") designs'
            " 12/643. 41/1200 and 41/1800 have 1.5 and 2.2 times the default beta. The other line"
            " keeps the default gains, with targets of 20, 12 and 10 ms. A lower target also buys"
            " delay for rate, so other gains are worth something only where they do better."
        ),
        (
            "Many long flows are 10 to 30 Cubic or Reno flows on 10 to 100 Mbit/s and paths of 10"
            " to 100 ms. At 20 s as many more join within 0.1 s, or twice as many. The delay is of"
            " packets that leave in the next 8 s, the rate of 8 to 28 s."
        ),
        (
            "Short flows are Cubic flows at random times beside 1, 2 or 4 long Cubic flows, on 20"
            " to 100 Mbit/s and paths of 30 ms. They have 8 segments and more, like pages (Pareto,"
            " shape 1.3, cut at 2000), or 100 or 200 each, like pieces of video. Delay and rate"
            " are of 8 to 36 s. We chose these sets of traffic; nobody measured them on a link."
        ),
        (
            "Under every queue the same seed has the same random numbers. For each seed the"
            " logarithms of ratios and the differences of rate are averaged over the six sets of"
            " traffic. The intervals, by Student's t, are of this average over seeds. The file of"
            " cells has the numbers of each set."
        ),
        (
            "W is the window of long flows alone: capacity times mean round-trip time, with the"
            " target of 15 ms, over their number before more join."
        ),
    ),
)
