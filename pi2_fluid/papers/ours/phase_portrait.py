"""Phase portrait: where window and queue go under PI and under PI2, at low load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, Rows
from pi2_fluid.papers.words import quantity_text
from pi2_fluid.plot import COLORS, label_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

# 5 Reno flows on 10 Mbit/s with 100 ms of path: the load of Figure 11a.
FLOWS: Final = pf.Flows(pf.Reno(), 5, "100ms", slow_start=False)
CAPACITY: Final = 10e6
AQMS: Final = {"pi": pf.Pi(), "pi2": pf.Pi2()}
_NAMES: Final = {"pi": "PI", "pi2": "PI2"}
#: Name of a trajectory -> (window, queue) in which it begins, in units of those at rest.
_STARTS: Final = {"outer": (0.9, 0.15), "inner": (1.02, 1.0)}
_STYLE: Final[dict[str, dict[str, Any]]] = {
    "inner": {"color": COLORS[2], "linestyle": "-", "linewidth": 1.2},
    "outer": {"color": COLORS[1], "linestyle": "-", "linewidth": 1.2},
}
_DURATION: Final = 60.0  # s
_SHOWN: Final = 10.0  # s of each trajectory
_CYCLE: Final = 50.0  # s, from which what remains is drawn as the cycle
_TOLERANCE: Final = 1e-8


def curves() -> list[dict[str, Any]]:
    """Return the trajectories, one mapping of columns each."""
    rows = []
    for name, aqm in AQMS.items():
        point = pf.equilibrium(FLOWS, aqm, CAPACITY)
        scenario = pf.Scenario(_DURATION, pf.Link(CAPACITY, 40_000), aqm, FLOWS)
        for line, (window, queue) in _STARTS.items():
            run = pf.fluid.simulate(
                scenario,
                update="continuous",
                sample="10ms",
                tolerance=_TOLERANCE,
                initial={
                    "window": window * point.window[0],
                    "queue": queue * point.queue,
                    "controller": point.controller,
                },
            )
            rows.append(
                {
                    "line": line,
                    "aqm": name,
                    "time_s": run.time.to_numpy(),
                    "window_segments": run.window.to_numpy()[:, 0],
                    "queue_packets": run.queue.to_numpy(),
                    "queue_delay_s": run.queue_delay.to_numpy(),
                    "controller": run.controller.to_numpy(),
                }
            )
    return rows


def _measure(_: Case) -> Measured:
    rows, rests = curves(), []
    for name, aqm in AQMS.items():
        point = pf.equilibrium(FLOWS, aqm, CAPACITY)
        loop = pf.Loop(FLOWS, aqm, capacity=CAPACITY, rtt_terms="exact")
        rests.append(
            {
                "aqm": name,
                "window_segments": float(np.ravel(point.window)[0]),
                "queue_packets": float(point.queue),
                "packets_s": float(point.capacity),
                "gain_margin_db": float(loop.margins().gain_margin_db),
            }
        )
    cycle = {"aqm": "pi", "period_s": period(rows[0])}
    return Measured({"": rows, "rest": rests, "cycle": [cycle]})


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    rows, rests = measured.tables[""], measured.tables["rest"]
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    for ax, rest in zip(axes, rests, strict=True):
        _draw_plane(ax, rest, [row for row in rows if row["aqm"] == rest["aqm"]])
        margin = f"{rest['gain_margin_db']:+.1f} dB".replace("-", "\N{MINUS SIGN}")
        ax.set_title(f"{_NAMES[rest['aqm']]}: gain margin {margin}")
    axes[0].set_ylabel("queue [packets]")
    packets = rests[0]["packets_s"]
    delay = axes[1].secondary_yaxis(
        "right", functions=(lambda q: 1e3 * q / packets, lambda tau: tau * packets / 1e3)
    )
    delay.set_ylabel("queue delay [ms]")
    return Caption(
        "At low load window and queue oscillate under PI; under PI2 they settle",
        note=(
            f"{FLOWS.count:g} Reno flows on {quantity_text(CAPACITY, 'rate')} with"
            f" {quantity_text(float(FLOWS.base_rtt), 'time')} of path. Each trajectory begins at"
            " its dot, and stayed there before. PI's cycle has a period of"
            f" {measured.tables['cycle'][0]['period_s']:.3f} s.\n"
            "Trajectories may cross: the state of a loop with delay holds the last round trip, not"
            " only the two numbers shown."
        ),
    )


def _draw_plane(ax: Axes, rest: Mapping[str, Any], rows: Rows) -> None:
    ax.set(xlim=(17, 22.4), ylim=(-0.6, 27), xlabel="window of one flow [segments]")
    ax.grid(visible=True)
    _draw_balance(ax, rest["packets_s"])
    for row in rows:
        _draw_trajectory(ax, row)
    last = rows[0]["time_s"] >= _CYCLE
    x, y = rows[0]["window_segments"][last], rows[0]["queue_packets"][last]
    if np.ptp(x) > 0.01 * rest["window_segments"]:
        ax.plot(x, y, color="black", linewidth=2.4, zorder=4)
        label_curve(ax, (x.min(), y[x.argmin()]), "cycle", "black", "left", fontweight="bold")
    cross: dict[str, Any] = {"color": "black", "markersize": 14, "markeredgewidth": 2.0}
    ax.plot(rest["window_segments"], rest["queue_packets"], "+", **cross, zorder=5)


def _draw_balance(ax: Axes, packets: float) -> None:
    """Draw where the queue stands still: all windows together fill path and queue."""
    queue = np.array([0.0, 40.0])
    path = packets * float(FLOWS.base_rtt)
    ax.plot((path + queue) / FLOWS.count, queue, color="0.6", linewidth=1.0, zorder=0)
    for text, at, turn in (
        ("arrivals = capacity", ((path + 24.2) / FLOWS.count, 23.2), 46),
        ("queue grows", (21.6, 13.0), 0),
        ("queue drains", (18.0, 19.0), 0),
    ):
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8.5, "color": "0.4"}
        ax.annotate(text, at, rotation=turn, rotation_mode="anchor", **style)


def _draw_trajectory(ax: Axes, row: Mapping[str, Any]) -> None:
    line = row["line"]
    style, color = _STYLE[line], _STYLE[line]["color"]
    shown = row["time_s"] <= _SHOWN
    x, y = row["window_segments"][shown], row["queue_packets"][shown]
    ax.plot(x, y, **style)
    ax.plot(x[0], y[0], "o", color=color, markersize=5)
    if line == "outer":
        label_curve(ax, (x[0], y[0]), "start", color, "left", fontsize=8.5)
    for when in (0.3, 1.0) if line == "outer" else (0.5, 1.75):
        _draw_arrow(ax, row, when, color)


def _draw_arrow(ax: Axes, row: Mapping[str, Any], at: float, color: str) -> None:
    index = int(np.searchsorted(row["time_s"], at))
    tail, head = (
        (row["window_segments"][k], row["queue_packets"][k]) for k in (index - 1, index + 1)
    )
    style = {"arrowstyle": "-|>", "color": color, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", head, tail, arrowprops=style)


def period(row: Mapping[str, Any]) -> float:
    """Return the time between two rises of the queue through its target at the end (s)."""
    t, above = row["time_s"], row["queue_delay_s"] - 0.020
    k = np.flatnonzero((above[:-1] < 0.0) & (above[1:] >= 0.0))
    rises = t[k] - above[k] * (t[k + 1] - t[k]) / (above[k + 1] - above[k])
    late = rises[rises > 0.5 * _DURATION]
    return float((late[-1] - late[0]) / (len(late) - 1))


RECIPE: Final = Recipe(
    caption="Window against queue under PI and PI2, at the load of the PI2 paper's Figure 11a",
    kind="fluid",
    measure=_measure,
    pages={"": Page(_draw, (9.4, 5.4))},
    seeds=1,
    decisions=(
        (
            "Controllers are continuous, with a target of 20 ms. PI has alpha 0.125 and beta 1.25"
            " Hz on p, PI2 0.3125 and 3.125 Hz on p′."
        ),
        "In a part of PI's cycle p is 0. Both starts end in this cycle.",
    ),
)
