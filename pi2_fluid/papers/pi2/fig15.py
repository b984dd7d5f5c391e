"""Figure 15 of the PI2 paper packet by packet: how Classic and Scalable flows share a link."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.plot import COLORS, page_style, save_figure, write_caption
from pi2_fluid.results.runs import uninterrupted

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

    from pi2_fluid.values import FloatArray

__all__ = ["CAPACITIES", "RTTS", "curves", "draw", "is_settled"]

#: Mbit/s and ms, as in the paper.
CAPACITIES: Final = (4, 12, 40, 120)
RTTS: Final = (5, 10, 20, 50, 100)
_SEEDS: Final = 6
_SLOW: Final = 20.0  # cycles of growing by half a window that a run is long
_SHORTEST, _LONGEST = 90.0, 360.0  # s
_START: Final = 1 / 3  # of the run is left out
_APART: Final = 1.25  # ratio of the two halves, from which a run is called unsettled


class _Series(NamedTuple):
    label: str
    aqm: Any
    scalable: Any
    style: dict[str, Any]


def _series() -> dict[str, _Series]:
    rfc = pf.Dctcp(variant="rfc8257")
    pie = pf.Pie(
        target="20ms",
        update_interval="32ms",
        variant="linux4.14",
        burst="100ms",
        rate_estimator=True,
        ecn=True,
    )
    return {
        "pie": _Series("PIE with ECN", pie, rfc, {"color": COLORS[2], "marker": "s"}),
        "coupled": _Series(
            "coupled PI + PI2", pf.CoupledPi2(), rfc, {"color": COLORS[1], "marker": "o"}
        ),
        "coupled_linux": _Series(
            "coupled, DCTCP in Linux's integers",
            pf.CoupledPi2(),
            pf.Dctcp(),
            {"color": COLORS[6], "marker": "D"},
        ),
        "dualpi2": _Series("DualPI2", pf.DualPi2(), rfc, {"color": COLORS[3], "marker": "^"}),
    }


_CLASSIC: Final = {"cubic": "Cubic", "reno": "Reno"}


def curves() -> list[dict[str, Any]]:
    """Return the plotted numbers: per pair of senders, queue and capacity columns over the RTT."""
    return [
        _curve(classic, line, series, capacity)
        for classic in _CLASSIC
        for line, series in _series().items()
        for capacity in CAPACITIES
    ]


def _curve(classic: str, line: str, series: _Series, capacity: int) -> dict[str, Any]:
    sender = pf.Reno() if classic == "reno" else pf.Cubic(variant="linux3.18")
    points = [_point(sender, series, 1e6 * capacity, 1e-3 * rtt) for rtt in RTTS]
    return {
        "classic": classic,
        "line": line,
        "capacity_bit_s": 1e6 * capacity,
        "base_rtt_s": 1e-3 * np.array(RTTS),
        **{key: np.array([point[key] for point in points]) for key in points[0]},
    }


def _point(sender: pf.Sender, series: _Series, capacity: float, rtt: float) -> dict[str, float]:
    flows = [
        pf.Flows(sender, 1, rtt, name="classic"),
        pf.Flows(series.scalable, 1, rtt, name="scalable"),
    ]
    # Half of what the link and the queue hold, regained by one segment in every round trip.
    whole = rtt + float(series.aqm.target)
    cycle = 0.25 * capacity * whole / 12e3 * whole
    duration = round(min(max(_SLOW * cycle, _SHORTEST), _LONGEST))
    scenario = pf.Scenario(float(duration), pf.Link(capacity), series.aqm, flows)
    runs = uninterrupted(pf.packet.simulate(scenario, seeds=_SEEDS, bin=1.0))
    begin = _START * duration
    middle = 0.5 * (begin + duration)
    whole_run, early, late = (
        _ratios(runs, *span) for span in ((begin, duration), (begin, middle), (middle, duration))
    )
    return {
        "duration_s": float(duration),
        "ratio": float(np.median(whole_run)),
        "ratio_low": float(whole_run.min()),
        "ratio_high": float(whole_run.max()),
        "ratio_fluid": _at_rest(flows, series.aqm, capacity),
        "settled": float(is_settled(early, late)),
    }


def _ratios(runs: xarray.Dataset, begin: float, end: float) -> FloatArray:
    rates = runs["throughput"].sel(time=slice(begin + 1.0, end)).mean("time").to_numpy()
    result: FloatArray = rates[:, 0] / np.maximum(rates[:, 1], 1.0)
    return result


def is_settled(early: FloatArray, late: FloatArray) -> bool:
    """Whether the medians of two halves of runs are alike: within a factor 1.25."""
    return bool(abs(np.log(np.median(late) / np.median(early))) < np.log(_APART))


def _at_rest(flows: Sequence[pf.Flows], aqm: pf.Aqm, capacity: float) -> float:
    """Return the ratio of the rates at the fluid's rest, 0 if it has none."""
    with warnings.catch_warnings(action="ignore", category=pf.AssumptionWarning):
        try:
            rest = pf.equilibrium(flows, aqm, capacity)
        except pf.DomainError:  # more than the link carries, however much is signalled
            return 0.0
    return float(rest.rate[0] / rest.rate[1])


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    from matplotlib.figure import Figure

    rows = curves()
    found = {
        line: np.concatenate(
            [row["ratio"] for row in rows if (row["classic"], row["line"]) == ("cubic", line)]
        )
        for line in _series()
    }
    with page_style():
        figure = Figure(figsize=(10.0, 7.0))
        axes = figure.subplots(2, 1, sharex=True)
        for ax, (classic, name) in zip(axes, _CLASSIC.items(), strict=True):
            _draw_balance(ax, name, [row for row in rows if row["classic"] == classic])
        _label_axes(axes)
        write_caption(
            figure,
            f"Coupled, Cubic has {found['coupled'].min():.2f} to {found['coupled'].max():.2f} of"
            f" DCTCP's rate at every capacity and RTT; under PIE {found['pie'].min():.2f} to"
            f" {found['pie'].max():.2f}",
            note=_note(rows),
            source="PI2 paper, Figure 15",
        )
        return save_figure(figure, out / "pi2_fig15", rows)


def _note(rows: Sequence[Mapping[str, Any]]) -> str:
    open_ = sum(int((row["settled"] == 0.0).sum()) for row in rows)
    total = sum(len(row["settled"]) for row in rows)
    return (
        f"One flow of each; runs of {_SHORTEST:g} to {_LONGEST:g} s without their first third,"
        f" median and range of {_SEEDS} seeds. Hollow: the medians of the two halves of the run"
        f" still differ by a factor of {_APART:g} or more ({open_} of {total}). Dashes: the fluid"
        " at rest.\n"
        "Light diamonds: since 2015 Linux lets DCTCP's alpha drop from 1/64 to 0, where it stays"
        " until a quarter of a window is marked. From windows of some 50 segments on it hardly"
        " falls, and the balance is lost. In the real numbers of RFC 8257 it holds.\n"
        "DualPI2: the Classic flow alone has a queue of 15 ms in its round trip, so the L4S flow is"
        " faster at short RTTs even where windows are alike. At 4 and 12 Mbit/s a packet takes 3"
        " and 1 ms of the link, its step is 1 ms: every L4S packet that waits is marked, and"
        " Classic traffic wins. Where windows are large the fluid is too kind to Cubic and Reno:"
        " with two flows p' swings with their sawteeth, and to many signals in one round trip DCTCP"
        " answers once."
    )


def _draw_balance(ax: Axes, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    lines = list(_series().items())
    for k, (line, series) in enumerate(lines):
        for row in [row for row in rows if row["line"] == line]:
            at = len(RTTS) * CAPACITIES.index(round(1e-6 * row["capacity_bit_s"]))
            x = at + np.arange(len(RTTS)) + 0.17 * (k - 0.5 * (len(lines) - 1))
            below, above = row["ratio"] - row["ratio_low"], row["ratio_high"] - row["ratio"]
            ax.errorbar(
                x, row["ratio"], [below, above], fmt="none", ecolor=series.style["color"],
                elinewidth=1.2, zorder=2,
            )  # fmt: skip
            for settled in (1.0, 0.0):
                mine = row["settled"] == settled
                ax.plot(
                    x[mine], row["ratio"][mine], linestyle="", markersize=4.5, zorder=3,
                    markerfacecolor=series.style["color"] if settled else "white", **series.style,
                )  # fmt: skip
            rest = row["ratio_fluid"] > 0.0
            ax.hlines(
                row["ratio_fluid"][rest], x[rest] - 0.09, x[rest] + 0.09, color="black",
                linewidth=1.0, zorder=4,
            )  # fmt: skip
    ax.axhline(1.0, color="0.4", linewidth=0.8, zorder=1)
    ax.set(yscale="log", ylim=(0.02, 40.0))
    ax.set_ylabel(f"{name} / DCTCP\nrate of a flow")
    ax.grid(visible=True, axis="y")


def _label_axes(axes: Sequence[Axes]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    for ax in axes:
        ax.yaxis.set_major_locator(FixedLocator([0.03, 0.1, 0.3, 1, 3, 10, 30]))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        for k, capacity in enumerate(CAPACITIES):
            at = len(RTTS) * k
            if k:
                ax.axvline(at - 0.5, color="0.7", linewidth=0.8)
            ax.annotate(
                f"{capacity} Mbit/s", (at - 0.4, 1.0), (2, -3), va="top", fontsize=9,
                xycoords=("data", "axes fraction"), textcoords="offset points",
            )  # fmt: skip
        ax.set_xlim(-0.5, len(RTTS) * len(CAPACITIES) - 0.5)
    axes[-1].set_xticks(range(len(RTTS) * len(CAPACITIES)), [f"{rtt}" for rtt in RTTS] * 4)
    axes[-1].set_xlabel("RTT of the path [ms]")
    for series in _series().values():
        axes[0].plot([], [], linestyle="", label=series.label, **series.style)
    axes[0].plot([], [], color="black", linewidth=1.0, label="fluid at rest")
    axes[0].legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=5, fontsize=8)
