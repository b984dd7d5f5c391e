"""`plot_comparison`: a measurement's lines over the range of what engines make of its scenario."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.errors import QuantityError, show_value

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_IN_A_ROW: Final = 70  # letters of names that one row of a legend takes
_MOST_FLOWS: Final = 4  # drawn; those with the most goodput
_MOST_CAUSES: Final = 3  # written below the picture


def plot_comparison(table: xarray.Dataset, path: str | Path | None = None) -> Figure:
    """Draw a measurement beside engines: goodput and round trips over time, and their distribution.

    Lines are what was measured, bands the range of the seeds, with a thin line at their median.

    Parameters
    ----------
    table : xarray.Dataset
        What `compare` returns of a measurement.
    path : str or Path, optional
        Where to save it: a .png, .svg or .pdf. Default: it is not saved.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    QuantityError
        If `table` is no comparison with a measurement, or the path is of no known kind.
    WriteError
        If the file cannot be written.

    Examples
    --------
    >>> import numpy as np
    >>> import pi2_fluid as pf
    >>> from pi2_fluid.measured.dataset import Measurement
    >>> measurement = Measurement("mine", about={"title": "10Mbit 20ms pie"})
    >>> measurement.add("throughput", "a", np.arange(1.0, 11.0), [9.4e6] * 10)
    >>> measured = measurement.to_dataset()
    >>> scenario = pf.scenario_of(measured)
    >>> figure = pf.plot_comparison(pf.compare(scenario, pf.Packets(seeds=2), measured))
    >>> [ax.get_ylabel() for ax in figure.axes]
    ['goodput [Mbit/s]']
    """
    from matplotlib.figure import Figure

    from pi2_fluid.plot import page_style, save_picture, write_caption

    if getattr(table, "attrs", {}).get("compared") != "measurement":
        raise QuantityError(
            f"table = {show_value(table)} is no comparison with a measurement: give what"
            " pf.compare(scenario, pf.Packets(), measured) returns."
        )
    file = None if path is None else Path(path)
    if file is not None and file.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise QuantityError(
            f"path = {show_value(str(path))} is of no kind that is drawn: give a .png, .svg or"
            " .pdf."
        )
    probes = [str(probe) for probe in table["probe"].to_numpy()] if "probe" in table else []
    with page_style():
        figure = Figure(figsize=(9.0, 5.6 if probes else 3.4), layout="constrained")
        if probes:
            grid = figure.add_gridspec(2, 2, width_ratios=[2.2, 1.0])
            upper, lower = figure.add_subplot(grid[0, :]), figure.add_subplot(grid[1, 0])
            _draw_over_time(upper, table, "curve_throughput", "flows", _largest(table), 1e-6)
            _draw_over_time(lower, table, "curve_delay", "probe", probes, 1e3)
            lower.sharex(upper)
            _draw_distribution(figure.add_subplot(grid[1, 1]), table, probes)
            lower.set(ylabel="round trip [ms]", xlabel="time [s]")
        else:
            upper = figure.add_subplot()
            _draw_over_time(upper, table, "curve_throughput", "flows", _largest(table), 1e-6)
            upper.set_xlabel("time [s]")
        upper.set_ylabel("goodput [Mbit/s]")
        upper.set_ylim(bottom=0.0)
        title = str(table.attrs["title"]) or "A measurement beside its model"
        write_caption(figure, title, note=_note(table))
        if file is not None:
            save_picture(figure, file)
    return figure


def _largest(table: xarray.Dataset) -> list[str]:
    """Return the flows with the most goodput, in their order."""
    labels = [str(label) for label in table["flows"].to_numpy()]
    most = table["curve_throughput"].isel(engine=0).sum("when").to_numpy()
    kept = sorted(range(len(labels)), key=lambda k: -most[k])[:_MOST_FLOWS]
    return [labels[k] for k in sorted(kept)]


def _draw_over_time(
    ax: Axes, table: xarray.Dataset, name: str, dim: str, labels: list[str], factor: float
) -> None:
    from pi2_fluid.plot import COLORS, draw_measured, draw_range

    when = table["when"].to_numpy()
    engines = [str(engine) for engine in table["engine"].to_numpy()]
    several = len(labels) > 1
    for place, label in enumerate(labels):
        called = f"{label}, " if several else ""
        for k, engine in enumerate(engines[1:]):
            color = COLORS[1 + (place + k * len(labels)) % (len(COLORS) - 1)]
            chosen = {"engine": engine, dim: label}
            low, middle, high = (
                factor * table[f"{name}{end}"].sel(chosen).to_numpy()
                for end in ("_low", "", "_high")
            )
            draw_range(ax, when, low, middle, high, color, f"{called}{engine}")
        measured = factor * table[name].sel({"engine": engines[0], dim: label}).to_numpy()
        draw_measured(ax, when, measured, place, f"{called}measured")
    begin, end = float(table.attrs["after"]), float(table.attrs["until"])
    width = float(when[1] - when[0])
    ax.set_xlim(when[0] - 0.5 * width, when[-1] + 0.5 * width)
    for first, last in ((ax.get_xlim()[0], begin), (end, ax.get_xlim()[1])):
        ax.axvspan(first, last, color="0.5", alpha=0.08, linewidth=0)
    ax.grid(visible=True)
    letters = sum(len(label) for label in ax.get_legend_handles_labels()[1])
    ax.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4 if letters <= _IN_A_ROW else 2,
        fontsize=8, borderaxespad=0.1,
        handlelength=2.4, columnspacing=1.2,
    )  # fmt: skip


def _draw_distribution(ax: Axes, table: xarray.Dataset, probes: list[str]) -> None:
    from pi2_fluid.plot import COLORS, draw_measured

    level = 100.0 * table["level"].to_numpy()
    engines = [str(engine) for engine in table["engine"].to_numpy()]
    for place, probe in enumerate(probes):
        for k, engine in enumerate(engines[1:]):
            color = COLORS[1 + (place + k * len(probes)) % (len(COLORS) - 1)]
            low, middle, high = (
                1e3 * table[f"quantile_delay{end}"].sel(engine=engine, probe=probe).to_numpy()
                for end in ("_low", "", "_high")
            )
            ax.fill_betweenx(level, low, high, color=color, alpha=0.25, linewidth=0, zorder=2)
            ax.plot(middle, level, color=color, linewidth=0.8, zorder=3)
        measured = table["quantile_delay"].sel(engine=engines[0], probe=probe)
        draw_measured(ax, 1e3 * measured.to_numpy(), level, place)
    # The last percent has the worst of all: it would make the rest a wall.
    highest = max(
        float(table[f"quantile_delay{end}"].sel(level=0.99, method="nearest").max())
        for end in ("", "_high")
    )
    lowest = float(table["quantile_delay_low"].min())
    ax.set_xlim(1e3 * lowest - 0.05e3 * (highest - lowest), 1e3 * highest * 1.02)
    ax.set(xlabel="round trip [ms]", ylabel="answers below [%]", ylim=(0, 101))
    ax.grid(visible=True)


def outside_by_cause(table: xarray.Dataset, engine: str) -> dict[str, list[str]]:
    """Return the names of what lies outside of an engine's range, by their causes."""
    mine = table.sel(engine=engine)
    found: dict[str, list[str]] = {}
    for name in table["name"].to_numpy():
        row: Any = mine.sel(name=name)
        if bool(row["outside"]):
            found.setdefault(str(row["why"].item()), []).append(str(name))
    return found


def _note(table: xarray.Dataset) -> str:
    begin, end = float(table.attrs["after"]), float(table.attrs["until"])
    seeds = [len(str(text).split(",")) for text in table["seeds"].to_numpy()[1:]]
    names = [str(engine) for engine in table["engine"].to_numpy()[1:]]
    ways = [
        f"{name}: median and range of {count} seed{'s' * (count > 1)}"
        for name, count in zip(names, seeds, strict=True)
    ]
    lines = [f"{'; '.join(ways)}. Numbers are of {begin:.3g} s to {end:.3g} s (not shaded)."]
    count = table.sizes["name"]
    for name in names:
        causes = outside_by_cause(table, name)
        apart = sum(map(len, causes.values()))
        lines.append(f"{count - apart} of {count} numbers lie in the range of {name}. Others:")
        if not causes:
            lines[-1] = f"All {count} numbers lie in the range of {name}."
        most = sorted(causes.items(), key=lambda one: -len(one[1]))[:_MOST_CAUSES]
        lines += [f"{', '.join(those)}: {why}." for why, those in most]
    return "\n".join(lines)
