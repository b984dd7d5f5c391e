"""Pictures of comparisons: several engines in the same axes, and what differs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

    from pi2_fluid.comparison.agreement.agreement import Comparison, Run
    from pi2_fluid.comparison.agreement.places import Place
    from pi2_fluid.values import FloatArray

_POINTS: Final = 300  # of a curve over time
_NAMED: Final = (
    *("delay_mean", "delay_p95", "delay_p99", "drop_fraction", "mark_fraction", "utilization"),
    *("controller", "frequency"),
)
_MOST_LINKS: Final = 4  # in one picture
_NOTED: Final = ("delay_mean", "delay_p99", "drop_fraction", "mark_fraction")  # of several links
_INKS: Final = ("black", "0.4", "0.6")  # of curves without seeds


class _Pen(NamedTuple):
    """How the curves of one engine are drawn: bands of seeds in colour, single runs in dashes."""

    draw: Any
    colors: tuple[str, str]
    """Of the only or the Classic queue, and of the other."""


def draw_comparison(comparison: Comparison, table: xarray.Dataset, title: str, path: Path) -> None:
    """Save delay and controller over time, and the distribution of the delay, of each link.

    Parameters
    ----------
    comparison : pi2_fluid.comparison.agreement.agreement.Comparison
        All results.
    table : xarray.Dataset
        What `compare` makes of them.
    title : str
        Above the picture.
    path : Path
        Its ending says which kind of picture.
    """
    from matplotlib.figure import Figure

    from pi2_fluid.comparison.agreement.places import places_in
    from pi2_fluid.plot import page_style, save_picture, write_caption

    pens, places = _pens(comparison), places_in(comparison.scenario)
    shown = _shown(places, table)
    with page_style():
        figure = Figure(figsize=(9.0, 5.8 if len(places) == 1 else 2.6 + 2.0 * len(shown)))
        if len(places) == 1:
            grid = figure.add_gridspec(2, 2, width_ratios=[1.9, 1.0])
            delay = figure.add_subplot(grid[0, 0])
            lower = figure.add_subplot(grid[1, 0], sharex=delay)
            rows = [(delay, lower, figure.add_subplot(grid[:, 1]))]
        else:
            axes = figure.subplots(len(shown), 3, squeeze=False, width_ratios=[1.4, 1.4, 1.0])
            rows = [(row[0], row[1], row[2]) for row in axes]
        for (delay, lower, share), place in zip(rows, shown, strict=True):
            _draw_delays(delay, share, comparison, pens, place)
            _draw_signals(lower, comparison, pens, place)
            for ax in (delay, lower):
                ax.set_xlim(0.0, float(comparison.scenario.duration))
            delay.axvspan(0.0, comparison.after, color="0.5", alpha=0.08, linewidth=0)
        if len(places) > 1:
            _title_rows(rows, shown)
        write_caption(figure, title, note=_note(comparison, table, len(shown) < len(places)))
        save_picture(figure, path)


def _shown(places: list[Place], table: xarray.Dataset) -> list[Place]:
    """Return the links to be drawn: of many those whose delay is the longest in some engine."""
    if len(places) <= _MOST_LINKS:
        return places
    delay = [float(table["value"].sel(name=f"delay_mean{one.suffix}").max()) for one in places]
    longest = sorted(range(len(places)), key=lambda k: -delay[k])[:_MOST_LINKS]
    return [places[k] for k in sorted(longest)]


def _title_rows(rows: list[tuple[Axes, Axes, Axes]], shown: list[Place]) -> None:
    """Name the links, and say once what their columns share."""
    for row, place in zip(rows, shown, strict=True):
        row[0].set_title(place.name)
        if row is not rows[-1]:
            for ax in row:
                ax.set_xlabel("")
            row[0].set_xticklabels([])
        if row is not rows[0]:
            row[0].legend_ = None  # the first row's is that of all
        row[0].set_ylabel("queue delay [ms]")
        row[2].set_ylabel("below [%]")
    rows[-1][0].set_xlabel("time [s]")


def _pens(comparison: Comparison) -> list[_Pen]:
    from pi2_fluid.plot import COLORS, draw_fluid, draw_runs

    pens, seeded, single = [], 0, 0
    for run in comparison.runs:
        if "seed" in run.result.dims:
            first = (1 + 2 * seeded, 2 + 2 * seeded)
            colors = tuple(COLORS[k % len(COLORS)] for k in first)
            pens.append(_Pen(draw_runs, (colors[0], colors[1])))
            seeded += 1
        else:
            inks = tuple(_INKS[(single + k) % len(_INKS)] for k in range(2))
            pens.append(_Pen(draw_fluid, (inks[0], inks[1])))
            single += 1
    return pens


def _backwards(comparison: Comparison, pens: list[_Pen]) -> list[tuple[Run, _Pen]]:
    """Return all runs, those drawn first that others are to be seen on."""
    return sorted(
        zip(comparison.runs, pens, strict=True), key=lambda one: "seed" not in one[0].result.dims
    )


def _draw_delays(
    over_time: Axes, distribution: Axes, comparison: Comparison, pens: list[_Pen], place: Place
) -> None:
    from pi2_fluid.comparison.agreement.curves import delay_distribution, stretch_means
    from pi2_fluid.comparison.agreement.places import at_place
    from pi2_fluid.plot import scale_root
    from pi2_fluid.results.schema import schema_of

    width = float(comparison.scenario.duration) / _POINTS
    dual = place.node.aqm.bands == 2
    for band in range(2) if dual else (None,):
        for run, pen in _backwards(comparison, pens):
            color, result = pen.colors[band or 0], at_place(run.result, place)
            queue = f" {result['band'].to_numpy()[band]}" if dual else ""
            mine = result if band is None else result.isel(band=band)
            # What serves a queue of two is less than the link: there the time spent in it counts.
            name = schema_of(result).waited if dual else "queue_delay"
            time, delay = stretch_means(mine, name, width)
            pen.draw(over_time, time, 1e3 * delay, color, f"{run.label}{queue}")
            if not band and run is _first_fluid(comparison):
                _draw_chance(over_time, comparison, place, time, delay, color)
            x, below = delay_distribution(result, comparison.after, band)
            pen.draw(distribution, 1e3 * x, 100.0 * below, color)
    over_time.set(ylabel="queue delay [ms]\n(square-root scale)")
    scale_root(over_time, max(1.0, over_time.get_ylim()[1]))
    over_time.legend(loc="upper right", ncols=2, fontsize=8)
    distribution.set(xlabel="queue delay [ms]", ylabel="part of packets below [%]", ylim=(0, 101))
    distribution.set_xlim(0.0, _end_of_delays(comparison, place))
    for ax in (over_time, distribution):
        ax.grid(visible=True)


def _first_fluid(comparison: Comparison) -> Run | None:
    return next((run for run in comparison.runs if "seed" not in run.result.dims), None)


def _draw_chance(
    ax: Axes, comparison: Comparison, place: Place, time: FloatArray, delay: FloatArray, color: str
) -> None:
    """Draw what chance adds to a fluid, as a ribbon about its delay, which has none."""
    from pi2_fluid.loop.chance_along import delay_sd_along, ribbon
    from pi2_fluid.plot import draw_ribbon

    width = float(comparison.scenario.duration) / _POINTS
    sd = delay_sd_along(comparison.scenario, time, width).get(place.node.name)
    if sd is not None:
        target = float(getattr(place.node.aqm, "target", 0.0))
        draw_ribbon(ax, time, *ribbon(delay, sd, target), color)


def _end_of_delays(comparison: Comparison, place: Place) -> float:
    from pi2_fluid.comparison.agreement.places import at_place
    from pi2_fluid.results import summarize

    summaries = (summarize(run.result, comparison.after) for run in comparison.runs)
    longest = (at_place(each, place)["delay_p99"].max() for each in summaries)
    return 1.3e3 * max(1e-6, *map(float, longest))


def _draw_signals(ax: Axes, comparison: Comparison, pens: list[_Pen], place: Place) -> None:
    from pi2_fluid.comparison.agreement.curves import stretch_means
    from pi2_fluid.comparison.agreement.places import at_place
    from pi2_fluid.laws.gains import has_gains
    from pi2_fluid.plot import COLORS

    width = float(comparison.scenario.duration) / _POINTS
    aims = has_gains(place.node.aqm)
    for index in [None] if aims else place.classes:
        for run, pen in _backwards(comparison, pens):
            result = at_place(run.result, place)
            result = result if index is None else result.isel(flows=index)
            time, values = stretch_means(result, "controller" if aims else "p", width)
            color = pen.colors[0]
            if index and "seed" in result.dims:
                color = COLORS[1 + index % (len(COLORS) - 1)]
            pen.draw(ax, time, 100.0 * values, color)
    ax.set(xlabel="time [s]", ylabel="controller [%]" if aims else "signalled [%]")
    ax.set_ylim(bottom=0.0)
    ax.grid(visible=True)


def _note(comparison: Comparison, table: xarray.Dataset, some: bool) -> str:
    stretch = f"from {comparison.after:g} s on (shaded: before)"
    links = len(comparison.scenario.node_names)
    lines = [f"{_ways(comparison)}. Numbers and distribution {stretch}."]
    if some:
        lines[0] += f" Of {links} links those with the longest delays."
    drawn: tuple[str, ...] = _NAMED
    if links > 1:
        ofs = table["name"].to_numpy()
        drawn = tuple(str(name) for name in ofs if str(name).partition(".")[0] in _NOTED)
    first, *others = comparison.runs
    for run in others:
        said: dict[str, list[str]] = {}
        for name in drawn:
            if name in table["name"] and table["disagreement"].sel(engine=run.label, name=name):
                row = table.sel(name=name)
                why = str(row["why"].sel(engine=run.label).item())
                said.setdefault(why, []).append(f"{name} {_values(row, first, run)}")
        agreed = [f"The {first.label} and {run.label} are within 10 % in all that is drawn."]
        whose = f"{run.label}: " if len(others) > 1 else ""
        lines += [f"{whose}{', '.join(names)}: {why}." for why, names in said.items()] or agreed
    return "\n".join(lines)


def _ways(comparison: Comparison) -> str:
    ways = []
    for run in comparison.runs:
        n = run.result.sizes.get("seed")
        if n is None:
            update = run.result.attrs.get("update")
            ways.append(f"{run.label}: dashed" + (f", {update} update" if update else ""))
        else:
            ways.append(f"{run.label}: median and range of {n} seed{'s' * (n > 1)}")
    text = "; ".join(ways)
    return text[0].upper() + text[1:]


def _values(row: xarray.Dataset, first: Run, run: Run) -> str:
    factor, unit = (1e3, " ms") if str(row["unit"].item()) == "s" else (1.0, "")
    mine, other = (
        factor * float(row["value"].sel(engine=label)) for label in (run.label, first.label)
    )
    return f"{mine:.3g} ({first.label} {other:.3g}){unit}"
