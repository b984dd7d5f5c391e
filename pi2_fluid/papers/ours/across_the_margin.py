"""Across the margin: what happens as the gain of a loop passes its gain margin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, Rows
from pi2_fluid.papers.words import quantity_text
from pi2_fluid.plot import COLORS, label_curve, mark_unstable

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

# With round trips of 100 ms, queue included: p' is 5.7 %, W 25 segments.
FLOWS: Final = pf.Flows(pf.Reno(), 10, "80ms", slow_start=False)
CAPACITY: Final = 30e6
RTT: Final = 0.100
#: Gain margins (dB) of the trajectories shown, and what they do.
SERIES: Final = {
    6.0: "settles",
    3.0: "oscillates, then settles",
    1.0: "oscillates for long",
    0.0: "the edge",
    -1.0: "oscillates",
    -3.0: "oscillates",
}
_SETTLED: Final = (
    6.0, 3.0, 2.0, 1.0, 0.5,
    -0.05, -0.1, -0.2, -0.3, -0.45, -0.6, -0.7, -0.8, -1.0, -1.5, -2.0, -3.0, -4.5, -6.0,
)  # fmt: skip
_EDGE: Final = 0.0  # dB
_INTERVAL: Final = float(pf.Pi2().update_interval)
_DISPLACED: Final = 0.010  # s of delay, from which trajectories begin
_LENGTH: Final = 10.0  # s shown
_WATCHED: Final = 20.0  # s at the end of a run, over which extremes are taken
_TOLERANCE: Final = 1e-6
_STYLE: Final[dict[str, dict[str, Any]]] = {
    "continuous": {"color": COLORS[2], "linestyle": (0, (4, 1.5)), "marker": "s"},
    "sampled": {"color": COLORS[1], "linestyle": "-", "marker": "o"},
}


def scale_gains(margin_db: float, update: str) -> pf.Pi2:
    """Return PI2 with both gains scaled so that its loop has this gain margin."""
    aqm = pf.Pi2()
    loop = pf.Loop(FLOWS, aqm, capacity=CAPACITY, update=update, rtt_terms="exact")
    factor = 10 ** ((float(loop.margins().gain_margin_db) - margin_db) / 20)
    return pf.Pi2(alpha=aqm.alpha * factor, beta=aqm.beta * factor)


def follow(
    margin_db: float, update: str, displaced: float, duration: float, sample: str
) -> xarray.Dataset:
    """Return the trajectory from the operating point and `displaced` seconds of queue delay."""
    aqm = scale_gains(margin_db, update)
    point = pf.equilibrium(FLOWS, aqm, CAPACITY)
    return pf.fluid.simulate(
        pf.Scenario(duration, pf.Link(CAPACITY, 40_000), aqm, FLOWS),
        update=update,
        sample=sample,
        tolerance=_TOLERANCE,
        initial={
            "window": point.window,
            "queue": point.queue + displaced * point.capacity,
            "controller": point.controller,
        },
    )


def curves() -> list[dict[str, Any]]:
    """Return the trajectories of the sampled loop shown, one mapping of columns per margin."""
    rows = []
    for margin in SERIES:
        run = follow(margin, "sampled", _DISPLACED, _LENGTH, "10ms")
        rows.append(
            {
                "line": f"{margin:+g} dB",
                "gain_margin_db": margin,
                "time_s": run.time.to_numpy(),
                "queue_delay_s": run.queue_delay.to_numpy(),
                "controller": run.controller.to_numpy(),
                "window_segments": run.window.to_numpy()[:, 0],
            }
        )
    return rows


def extremes(update: str) -> dict[str, Any]:
    """Return between which delays each loop moves in the end, as columns.

    Runs near the onset are long, since there an oscillation grows or decays slowly.
    """
    found = []
    for margin in _SETTLED:
        displaced = 0.005 * min(1.0, abs(margin) ** 0.5)
        run = follow(margin, update, displaced, max(80.0, 16.0 / abs(margin)), "4ms")
        end = run.sel(time=slice(float(run.time[-1]) - _WATCHED, None))
        values = (end.queue_delay.min(), end.queue_delay.max(), end.controller.min())
        found.append([float(value) for value in values])
    low, high, smallest = np.array(found).T
    return {
        "line": update,
        "gain_margin_db": np.array(_SETTLED),
        "lowest_delay_s": low,
        "highest_delay_s": high,
        "lowest_controller": smallest,
    }


def onset(row: Mapping[str, Any]) -> float:
    """Return peak-to-peak^2 / -(gain margin) nearest to the onset, in s^2/dB.

    Near a supercritical Hopf bifurcation the square of the range grows in proportion to the gain's
    excess.
    """
    margin = np.asarray(row["gain_margin_db"])
    nearest = int(np.argmax(np.where(margin < 0.0, margin, -np.inf)))
    width = float(row["highest_delay_s"][nearest] - row["lowest_delay_s"][nearest])
    return width**2 / -float(margin[nearest])


def _measure(_: Case) -> Measured:
    return Measured({"": curves(), "extremes": [extremes(update) for update in _STYLE]})


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    series, settled = measured.tables[""], measured.tables["extremes"]
    # Two grids side by side, so that neither makes room for the labels of the other.
    halves = figure.add_gridspec(1, 2, width_ratios=(1.15, 1))
    axes: Any = halves[0].subgridspec(len(series), 1).subplots(sharex=True)
    for ax, row in zip(axes, series, strict=True):
        _draw_series(ax, row)
    axes[-1].set_xlabel("time [s]")
    places: Any = halves[1].subgridspec(2, 1, height_ratios=(2, 1)).subplots()
    figure.supylabel("queue delay [ms]", fontsize=10)
    _draw_fork(places[0], settled)
    _draw_onset(places[1], settled)
    clipped = settled[1]["gain_margin_db"][settled[1]["lowest_controller"] <= 0.0].max()
    return Caption(
        "With a negative gain margin the delay of the model no longer settles: it oscillates",
        note=(
            f"PI2 with scaled gains, {FLOWS.count:g} Reno flows, R = {1e3 * RTT:g} ms,"
            f" {quantity_text(CAPACITY, 'rate')}, T = {quantity_text(_INTERVAL, 'time')}."
            f" Left: the sampled model, {quantity_text(_DISPLACED, 'time')} of delay added at the"
            " operating point. Right: the delay in the end.\n"
            f"From {_EDGE:g} dB on the square of its range follows a straight line, here that"
            f" through the first point. At {_signed(clipped)} dB p′ touches 0, and beyond it grows"
            " no more."
        ),
    )


def _draw_series(ax: Axes, row: Mapping[str, Any]) -> None:
    margin = row["gain_margin_db"]
    ax.axhline(20.0, color="0.7", linewidth=0.7)
    ax.plot(row["time_s"], 1e3 * row["queue_delay_s"], color=_color(margin), linewidth=1.5)
    ax.set(ylim=(0, 40), xlim=(0, _LENGTH), yticks=(0, 20, 40))
    ax.annotate(
        f"{_signed(margin)} dB: {SERIES[margin]}", (1, 1), (-2, -1), ha="right", va="top",
        color=_color(margin), xycoords="axes fraction", textcoords="offset points",
        fontweight="bold",
    )  # fmt: skip


def _draw_fork(ax: Axes, settled: Rows) -> None:
    ax.set(ylim=(-6.6, 6.6), xlim=(5, 35), ylabel="gain margin [dB]")
    ax.set_xlabel("queue delay in the end, lowest and highest [ms]")
    ax.grid(visible=True)
    mark_unstable(ax)
    for row in settled:
        margin = row["gain_margin_db"]
        stable = margin > 0.0
        # The branches leave from the onset, which no run hits.
        y = np.concatenate([margin[stable], [0.0], margin[~stable]])
        runs = [k for k in range(len(y)) if y[k] != 0.0]
        for key in ("lowest_delay_s", "highest_delay_s"):
            x = 1e3 * row[key]
            x = np.concatenate([x[stable], [20.0], x[~stable]])
            ax.plot(x, y, markersize=3.0, markevery=runs, **_STYLE[row["line"]])
    shown = settled[1]["gain_margin_db"]
    for margin in SERIES:
        for key in ("lowest_delay_s", "highest_delay_s"):
            delay = settled[1][key][shown == margin] if margin else [0.020]
            ring: dict[str, Any] = {
                "markerfacecolor": "none",
                "markersize": 9,
                "markeredgecolor": _color(margin),
            }
            ax.plot([1e3 * delay[0]], [margin], marker="o", markeredgewidth=1.6, **ring, zorder=5)
    for row, place in zip(settled, ("left", "right"), strict=True):
        delay = float(np.interp(4.0, -shown, 1e3 * row["highest_delay_s"]))
        label_curve(ax, (delay, -4.0), row["line"], _STYLE[row["line"]]["color"], place)


def _draw_onset(ax: Axes, settled: Rows) -> None:
    ax.set(xlim=(0.1, -1.0), ylim=(0, 4), xlabel="gain margin [dB]", ylabel="range² [10⁻⁴ s²]")
    ax.grid(visible=True)
    ax.axvspan(0.0, -1.0, color="#B22222", alpha=0.09, linewidth=0, zorder=0)
    for row, place in zip(settled, ("right", "left"), strict=True):
        margin, style = row["gain_margin_db"], _STYLE[row["line"]]
        unstable = margin < 0.0
        width = (row["highest_delay_s"] - row["lowest_delay_s"])[unstable]
        ax.plot(margin[unstable], 1e4 * width**2, markersize=3.5, **style)
        slope = 1e4 * onset(row)
        ax.plot([0.0, -0.8], [0.0, 0.8 * slope], color="0.15", linestyle=":", linewidth=1.2)
        text = f"{slope:.2f} per dB"
        label_curve(ax, (-0.45, 0.45 * slope), text, style["color"], place, fontsize=8)


def _color(margin: float) -> str:
    return COLORS[1] if margin > 0.0 else "#8B1A1A" if margin < 0.0 else "0.25"


def _signed(margin: float) -> str:
    return f"{margin:+g}".replace("-", "\N{MINUS SIGN}") if margin else "0"


RECIPE: Final = Recipe(
    caption="Delay of PI2 with gains on both sides of the gain margin",
    kind="fluid",
    measure=_measure,
    pages={"": Page(_draw, (9.4, 6.8))},
    seeds=1,
    decisions=(
        (
            "Each margin is of the linear loop of the same model, continuous or sampled, with"
            " exact round-trip times."
        ),
    ),
)
