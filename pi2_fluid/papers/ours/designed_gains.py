"""Designed gains beside deployed ones: what they buy, and what they cost, in packets and Linux."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, Rows
from pi2_fluid.papers.runs import spread
from pi2_fluid.plot import COLORS
from pi2_fluid.results.runs import uninterrupted
from pi2_fluid.results.steps import SETTLED_MEAN, SETTLED_STAY, peak_of, settling_of

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

TARGET: Final = 0.015  # s, of every queue
PATHS: Final = (0.010, 0.020, 0.030, 0.050, 0.075, 0.100, 0.140, 0.200)  # s
#: Those that the kernel was measured on.
KERNEL_PATHS: Final = (0.030, 0.100, 0.200)
#: What the kernel did, run by run; `tools/measure_gains.py` writes it.
KERNEL: Final = Path(__file__).with_name("designed_gains.csv")
#: Time over which the delay is averaged (s).
BIN: Final = 0.02
_BUFFER: Final = 2000  # packets, which are never reached
_STEP: Final = 30.0  # s, when the load triples
_DURATION: Final = 45.0  # s
#: What is measured of each run: the first four in the second half of the time before the step.
MEASURES: Final = ("delay_s", "p99_s", "swing_s", "utilization", "peak_s", "settling_s")
#: Those that are drawn: what is written above, factor, and ends of the axis that are fixed.
_SHOWN: Final[dict[str, tuple[str, float, dict[str, Any]]]] = {
    "swing_s": ("standard deviation of delay [ms]", 1e3, {"bottom": 0}),
    "utilization": ("utilisation [%]", 1e2, {"top": 100.4}),
    "peak_s": ("peak after the step [ms]", 1e3, {"bottom": 0}),
    "settling_s": ("settling after the step [s]", 1.0, {"bottom": 0, "top": 15.6}),
}


class Load(NamedTuple):
    """Flows before the step, of which there are three times as many after it, and their link."""

    flows: int
    capacity: str


class Gains(NamedTuple):
    """Gains as tc is told them: parts of 1/256 Hz, and the time between updates (s)."""

    title: str
    alpha: int
    beta: int
    interval: float

    @property
    def aqm(self) -> pf.DualPi2:
        """The queue, with Linux's defaults otherwise."""
        return pf.DualPi2(
            alpha=self.alpha / 256,
            beta=self.beta / 256,
            target=TARGET,
            update_interval=self.interval,
            c_protection=0.1,
            variant="linux6.18",
        )


#: The round-trip times that the designs reach to (ms).
FIRST, SECOND = 100.0, 215.0
LOADS: Final = {"few": Load(3, "10Mbit/s"), "many": Load(20, "20Mbit/s")}
#: By a short name. The designs are what `pf.tune` finds, in the kernel's whole parts.
GAINS: Final = {
    "linux": Gains("Linux's defaults", 41, 819, 0.016),
    "paper": Gains("PI2 paper", 80, 800, 0.032),
    "tune_100ms": Gains(f"design for {FIRST:g} ms", 12, 643, 0.016),
    "tune_215ms": Gains(f"design for {SECOND:g} ms", 5, 299, 0.035),
}
_STYLE: Final[dict[str, dict[str, Any]]] = {
    "linux": {"color": COLORS[0], "linestyle": "-", "marker": "o"},
    "paper": {"color": COLORS[3], "linestyle": ":", "marker": "s"},
    "tune_100ms": {"color": COLORS[1], "linestyle": "--", "marker": "^"},
    "tune_215ms": {"color": COLORS[2], "linestyle": "-.", "marker": "D"},
}
#: The longest path (s) of the design for 100 ms, its target included.
_FIRST_ENDS: Final = 1e-3 * FIRST - TARGET
#: How far points that lie on the same path are drawn apart.
_APART: Final = 1.055


def scenario(gains: str, load: str, path: float) -> pf.Scenario:
    """Return Reno flows on a path (s) under DualPI2, joined by twice as many at the step."""
    flows, capacity = LOADS[load]
    return pf.Scenario(
        _DURATION,
        pf.Link(capacity, kind="htb", buffer=_BUFFER),
        GAINS[gains].aqm,
        [
            pf.Flows(pf.Reno(), flows, path, "first", start_jitter="1s"),
            pf.Flows(pf.Reno(), 2 * flows, path, "joining", start=_STEP, start_jitter="0.1s"),
        ],
    )


def kernel_cells() -> list[tuple[str, str, float]]:
    """Return gains, load and path (s) of what the kernel was measured in."""
    return [
        (gains, load, path)
        for load in LOADS
        for path in KERNEL_PATHS
        for gains in GAINS
        if (gains, load) != ("paper", "few")
    ]


def measure_runs(runs: xarray.Dataset) -> dict[str, FloatArray]:
    """Return what came out of each run of a `scenario`, by `MEASURES`."""
    delay = runs.queue_delay.sel(band="C").to_numpy()
    time = runs.time.to_numpy()
    settled = (time > _STEP / 2) & (time <= _STEP)
    used = runs.throughput.sum("flows").to_numpy()[:, settled].mean(axis=1)
    capacity = float(pf.Scenario.from_toml(runs.attrs["scenario"]).link.capacity)
    found: dict[str, Any] = {
        "delay_s": delay[:, settled].mean(axis=1),
        "p99_s": np.quantile(delay[:, settled], 0.99, axis=1),
        "swing_s": delay[:, settled].std(axis=1),
        "utilization": used / capacity,
        "peak_s": peak_of(delay, time, _STEP, _DURATION),
        "settling_s": np.array([settling_of(one, time, _STEP, _DURATION, TARGET) for one in delay]),
    }
    return found


def measure_packets(gains: str, load: str, path: float, seeds: int) -> dict[str, FloatArray]:
    """Return what came out of each run packet by packet."""
    runs = pf.packet.simulate(scenario(gains, load, path), seeds=seeds, bin=BIN)
    return measure_runs(uninterrupted(runs))


@cache
def kernel_runs() -> dict[tuple[str, str, float], dict[str, FloatArray]]:
    """Return what came out of each run in the kernel, by gains, load and path (s)."""
    found: dict[tuple[str, str, float], list[dict[str, str]]] = {}
    with KERNEL.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            key = row["gains"], row["load"], float(row["path_s"])
            found.setdefault(key, []).append(row)
    return {
        key: {name: np.array([float(row[name]) for row in rows]) for name in MEASURES}
        for key, rows in found.items()
    }


@cache
def kernel_release() -> str:
    """Return which kernel it was: "7.2.13"."""
    with KERNEL.open(encoding="utf-8") as file:
        return file.readline().partition("of Linux ")[2].split()[0]


def _curve(gains: str, load: str, found: dict[float, dict[str, FloatArray]]) -> dict[str, Any]:
    """Return one line, or its points, as columns: median and range over the runs."""
    row: dict[str, Any] = {
        "gains": gains,
        "load": load,
        "seeds": len(next(iter(found.values()))["delay_s"]),
        "path_s": np.array(list(found)),
    }
    for name in MEASURES:
        stem, unit = _split(name)
        runs = np.array([each[name] for each in found.values()])
        row |= spread(stem, runs, unit, axis=1)
    return row


def _measure(case: Case) -> Measured:
    lines = [
        _curve(
            gains,
            load,
            {path: measure_packets(gains, load, path, case.seeds) for path in PATHS},
        )
        for load in LOADS
        for gains in GAINS
    ]
    points = []
    for load in LOADS:
        for gains in GAINS:
            there = {
                path: found
                for (g, k, path), found in kernel_runs().items()
                if (g, k) == (gains, load)
            }
            if there:
                points.append(_curve(gains, load, there))
    return Measured({"": lines, "kernel": points})


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    lines, points = measured.tables[""], measured.tables["kernel"]
    axes: Any = figure.subplots(len(LOADS), len(_SHOWN), sharex=True)
    for line, load in zip(axes, LOADS, strict=True):
        for ax, name in zip(line, _SHOWN, strict=True):
            _draw_measure(ax, name, [row for row in lines if row["load"] == load])
            _draw_points(ax, name, [row for row in points if row["load"] == load])
    for ax in axes[-1]:
        ax.set_xlabel("path without queue [ms]")
    for line, (flows, capacity) in zip(axes, LOADS.values(), strict=True):
        rate = capacity.replace("Mbit", " Mbit")
        line[0].set_ylabel(f"{flows} flows, then {3 * flows}, on {rate}", fontweight="bold")
    axes[0][1].legend(loc="lower left", fontsize=8.5, handlelength=3.2)
    return Caption(
        "Designed gains fill long paths better, and pay with higher peaks and slower settling",
        note=(
            f"Reno under DualPI2 with a target of {1e3 * TARGET:g} ms. Lines: packets, median of"
            f" {lines[0]['seeds']} seeds. Points: Linux {kernel_release()}, median and range of"
            f" {points[0]['seeds']}.\nLeft two: the last {_STEP / 2:g} s before the load triples."
            " Settling: until means over"
            f" {SETTLED_MEAN:g} s stay within half the target of it for {SETTLED_STAY:g} s;"
            f" {_DURATION - _STEP:g} s: not at all. Grey: where the design for {FIRST:g} ms ends."
        ),
    )


def _draw_measure(ax: Axes, name: str, rows: Rows) -> None:
    title, factor, _ = _SHOWN[name]
    stem, unit = _split(name)
    for row in rows:
        style = {key: value for key, value in _STYLE[row["gains"]].items() if key != "marker"}
        ax.plot(
            1e3 * row["path_s"], factor * row[f"{stem}{unit}"], **style,
            label=GAINS[row["gains"]].title,
        )  # fmt: skip
    ax.axvline(1e3 * _FIRST_ENDS, color="0.6", linewidth=0.8)
    ax.set(xscale="log", xlim=(9, 240))
    ax.set_xticks([10, 20, 50, 100, 200], ["10", "20", "50", "100", "200"])
    ax.minorticks_off()
    ax.grid(visible=True)
    ax.set_title(title, fontsize=9.5)


def _draw_points(ax: Axes, name: str, rows: Rows) -> None:
    _, factor, ends = _SHOWN[name]
    stem, unit = _split(name)
    for row in rows:
        place = list(GAINS).index(row["gains"]) - (len(GAINS) - 1) / 2
        low, middle, high = (factor * row[f"{stem}{part}{unit}"] for part in ("_low", "", "_high"))
        style = _STYLE[row["gains"]]
        ax.errorbar(
            1e3 * row["path_s"] * _APART**place, middle, (middle - low, high - middle),
            color=style["color"], marker=style["marker"], linestyle="none", markersize=4.2,
            elinewidth=0.9, markerfacecolor="white", zorder=3,
        )  # fmt: skip
    ax.set_ylim(**ends)


def _split(name: str) -> tuple[str, str]:
    """Return a measure's name without its unit, and that."""
    return (name[:-2], "_s") if name.endswith("_s") else (name, "")


RECIPE: Final = Recipe(
    caption=(
        "Deviation, utilisation, peak and settling time of deployed and designed gains over the"
        " path, in packets and in the Linux kernel"
    ),
    kind="packets",
    measure=_measure,
    pages={"": Page(_draw, (11.2, 6.2))},
    seeds=20,
    decisions=(
        (
            "Classic traffic runs alone under dualpi2, with a target of 15 ms and Linux's other"
            " defaults: 3 Reno flows on 10 Mbit/s, or 20 on 20 Mbit/s. They start within a second."
            " After 30 s twice as many join within 0.1 s, and 15 s are left to settle. All means"
            " are over 20 ms."
        ),
        (
            "Gains are as the kernel takes them. Linux has alpha 41/256 Hz, beta 819/256 Hz and T"
            " = 16 ms. The PI2 paper has 80/256, 800/256 and 32 ms; the kernel ran these with many"
            ' flows only. pf.tune("100ms", aqm="dualpi2") gives 12/256, 643/256 and 16 ms.'
            ' pf.tune("215ms", aqm="dualpi2"), for a path of 200 ms and the target, gives 5/256,'
            " 299/256 and 35 ms; its alpha is a fifth below the design, since parts are whole. RFC"
            " 9332's rule for 100 ms (0.15 and 3 Hz at 15 ms) rounds to Linux's gains, and is left"
            " out."
        ),
        (
            "Deviation and utilisation are of the last 15 s before the step. On 200 ms the design"
            " for 215 ms has then not yet settled after its start, which overshoots."
        ),
        (
            "A run has settled when its mean over 1 s stays within half the target of the target"
            " for 3 s. On long paths few flows leave the link idle, and few runs settle."
        ),
        (
            "In the kernel's 21 cells, packets differ from it by chance alone. The difference of"
            " means over its standard error, with 20 seeds each, has a root mean square of 0.8 to"
            " 1.2 by measure, and 3.3 at most. For settling times it is 1.3, and 4.1 at most: some"
            " are short, and others are cut off at 15 s."
        ),
        (
            "The kernel's runs are stored, of receivers with buffers of 4 MB; with Linux's own"
            " they differ by chance alone. `tools/measure_gains.py` measures the kernel again, in"
            " twenty minutes of CPU time."
        ),
    ),
)
