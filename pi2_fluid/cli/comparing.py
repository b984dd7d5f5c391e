"""Pictures of comparisons: a fluid and packets in the same axes, and what differs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import xarray

__all__ = ["draw_both"]

_POINTS: Final = 300  # of a curve over time
_NAMED: Final = (
    *("delay_mean", "delay_p95", "delay_p99", "drop_fraction", "mark_fraction", "utilization"),
    *("controller", "frequency"),
)


def draw_both(both: Any, table: xarray.Dataset, title: str, path: Path) -> None:
    """Save delay and controller over time, and the distribution of the delay.

    Parameters
    ----------
    both : pi2_fluid.design.comparison.agreement.Both
        Both results.
    table : xarray.Dataset
        What `compare` makes of them.
    title : str
        Above the picture.
    path : Path
        Its ending says which kind of picture.
    """
    from matplotlib.figure import Figure

    from pi2_fluid.plot import page_style, save_picture, write_caption

    with page_style():
        figure = Figure(figsize=(9.0, 5.8))
        grid = figure.add_gridspec(2, 2, width_ratios=[1.9, 1.0])
        delay = figure.add_subplot(grid[0, 0])
        lower = figure.add_subplot(grid[1, 0], sharex=delay)
        share = figure.add_subplot(grid[:, 1])
        _draw_delays(delay, share, both)
        _draw_signals(lower, both)
        delay.axvspan(0.0, both.after, color="0.5", alpha=0.08, linewidth=0)
        delay.set_xlim(0.0, float(both.scenario.duration))
        write_caption(figure, title, note=_note(both, table))
        save_picture(figure, path)


def _draw_delays(over_time: Any, distribution: Any, both: Any) -> None:
    from pi2_fluid.design.comparison.curves import delay_distribution, stretch_means
    from pi2_fluid.plot import COLORS, draw_fluid, draw_runs, scale_root

    width = float(both.scenario.duration) / _POINTS
    dual = "band" in both.fluid.dims
    for band in range(2) if dual else (None,):
        color = COLORS[1 if not band else 2]
        queue = f" {both.fluid['band'].to_numpy()[band]}" if dual else ""
        curves = [
            run if band is None else run.isel(band=band) for run in (both.fluid, both.packets)
        ]
        fluid = stretch_means(curves[0], "queue_delay", width)
        # What serves a queue of two is less than the link: there the time spent in it counts.
        packets = stretch_means(curves[1], "sojourn" if dual else "queue_delay", width)
        draw_runs(over_time, packets[0], 1e3 * packets[1], color, f"packets{queue}")
        draw_fluid(
            over_time, fluid[0], 1e3 * fluid[1], "black" if not band else "0.4", f"fluid{queue}"
        )
        x, below = delay_distribution(both.packets, both.after, band)
        draw_runs(distribution, 1e3 * x, 100.0 * below, color)
        x, below = delay_distribution(both.fluid, both.after, band)
        draw_fluid(distribution, 1e3 * x, 100.0 * below, "black" if not band else "0.4")
    over_time.set(ylabel="queue delay [ms]\n(square-root scale)")
    scale_root(over_time, max(1.0, over_time.get_ylim()[1]))
    over_time.legend(loc="upper right", ncols=2, fontsize=8)
    distribution.set(xlabel="queue delay [ms]", ylabel="part of packets below [%]", ylim=(0, 101))
    distribution.set_xlim(0.0, _end_of_delays(both))
    for ax in (over_time, distribution):
        ax.grid(visible=True)


def _end_of_delays(both: Any) -> float:
    from pi2_fluid.result import summarize

    runs = (both.fluid, both.packets)
    return 1.3e3 * max(float(summarize(run, both.after)["delay_p99"].max()) for run in runs)


def _draw_signals(ax: Any, both: Any) -> None:
    from pi2_fluid.design.comparison.curves import stretch_means
    from pi2_fluid.model.aqms.pi_family import PiFamily
    from pi2_fluid.plot import COLORS, draw_fluid, draw_runs

    width = float(both.scenario.duration) / _POINTS
    aims = isinstance(both.scenario.aqm, PiFamily)
    classes = [None] if aims else range(both.fluid.sizes["flows"])
    for index in classes:
        runs = [
            run if index is None else run.isel(flows=index) for run in (both.fluid, both.packets)
        ]
        name = "controller" if index is None else "p"
        fluid, packets = (stretch_means(run, name, width) for run in runs)
        color = COLORS[1 + (index or 0) % (len(COLORS) - 1)]
        draw_runs(ax, packets[0], 100.0 * packets[1], color)
        draw_fluid(ax, fluid[0], 100.0 * fluid[1], "black")
    ax.set(xlabel="time [s]", ylabel="controller [%]" if aims else "signalled [%]")
    ax.set_ylim(bottom=0.0)
    ax.grid(visible=True)


def _note(both: Any, table: xarray.Dataset) -> str:
    n = both.packets.sizes["seed"]
    first = (
        f"Packets: median and range of {n} seed{'s' * (n > 1)}; dashed: the fluid,"
        f" {both.controller} controller. Numbers and distribution from {both.after:g} s on"
        " (shaded: before)."
    )
    said: dict[str, list[str]] = {}
    for name in _NAMED:
        if name in table["name"] and bool(table["disagreement"].sel(name=name)):
            row = table.sel(name=name)
            said.setdefault(str(row["why"].item()), []).append(f"{name} {_values(row)}")
    lines = [f"{', '.join(names)}: {why}." for why, names in said.items()]
    agreed = ["The fluid is within 10 % of the seeds' range in all that is drawn."]
    return "\n".join([first, *(lines or agreed)])


def _values(row: Any) -> str:
    factor, unit = (1e3, " ms") if str(row["unit"].item()) == "s" else (1.0, "")
    return f"{factor * float(row['packet']):.3g} (fluid {factor * float(row['fluid']):.3g}){unit}"
