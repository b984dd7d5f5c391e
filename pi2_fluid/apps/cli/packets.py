"""Runs of several seeds: what `pi2-fluid simulate` prints of them."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import typer

from pi2_fluid.apps.cli.changing import add_largest, print_delays
from pi2_fluid.apps.cli.output import make_console, make_grid
from pi2_fluid.apps.cli.runs import plain

if TYPE_CHECKING:
    import xarray
    from rich.table import Table

_OF_PACKETS: Final = ("drop_fraction_of", "mark_fraction_of")


def runs_as_json(dataset: xarray.Dataset, summary: xarray.Dataset) -> dict[str, Any]:
    """Return what JSON says of runs beside what it says of every result."""
    return {
        "seeds": dataset.seed.to_numpy().tolist(),
        "bin": float(dataset["bin"].max()),
        "summary": _each(summary.mean("seed")),
        "smallest": _each(summary.min("seed")),
        "largest": _each(summary.max("seed")),
    }


def _each(summary: xarray.Dataset) -> dict[str, Any]:
    return {str(name): plain(variable) for name, variable in summary.items()}


def print_runs(way: str, dataset: xarray.Dataset, summary: xarray.Dataset) -> None:
    """Print the summary of all seeds, below how they were made."""
    begin, end, n = summary.attrs["after"], summary.attrs["until"], dataset.sizes["seed"]
    seeds = "1 seed" if n == 1 else f"means of {n} seeds and their range"
    unfinished = ", interrupted" if dataset.attrs["interrupted"] else ""
    # What is no table is echoed, so that it is not broken into lines where nobody looks at them.
    typer.echo(f"{way}, {seeds}{unfinished}, {begin:.4g} s to {end:.4g} s\n")
    console = make_console()
    several = "link" in summary.dims
    table = partial(_delay_table, width=float(dataset["bin"].max()))
    for link in summary.link.to_numpy() if several else ():
        typer.echo(f"link {link}")
        print_delays(table, dataset, summary.sel(link=link))
    if several:
        summary = _on_routes(summary)
    else:
        print_delays(table, dataset, summary)
    console.print(_class_table(summary))
    if "finished" in summary:
        typer.echo()
        console.print(_completion_table(summary))
        away = dataset.turned_away.sum("seed")
        for name in away.flows.to_numpy()[away.to_numpy() > 0]:
            typer.echo(f"\nturned away of {name}: {int(away.sel(flows=name))} transfers")


def _on_routes(summary: xarray.Dataset) -> xarray.Dataset:
    """Return what classes meet on their routes: all queues, and a signal of any of them."""
    there = summary[[*_OF_PACKETS, "delay_mean_of"]].where(summary.place > 0, 0.0)
    met = {name: 1 - (1 - there[name]).prod("link") for name in _OF_PACKETS}
    return summary.assign(met | {"delay_mean_of": there.delay_mean_of.sum("link")})


def _delay_table(summary: xarray.Dataset, width: float) -> Table:
    table = make_grid("left", "left", "right", "left", "left")

    def add(first: str, second: str, values: xarray.DataArray, factor: float, unit: str) -> None:
        table.add_row(first, second, _mean(values, factor), unit, _range(values, factor))

    add("queue delay", "mean", summary.delay_mean, 1e3, "ms")
    for label, name in (("P50", "delay_p50"), ("P95", "delay_p95"), ("P99", "delay_p99")):
        add("", label, summary[name], 1e3, "ms")
    add_largest(table, summary, width)
    if "band" in summary.dims:
        for band in summary.band.to_numpy():
            mine = summary.sel(band=band)
            for level in (0.5, 0.99):
                values = mine["delay_quantile"].sel(quantile=level)
                add("", f"P{round(100 * level)} of {band}", values, 1e3, "ms")
    if "ring_delay_mean" in summary:
        add("ring delay", "mean", summary.ring_delay_mean, 1e3, "ms")
    add("utilization", "", summary.utilization, 100.0, "%")
    add("dropped", "", summary.drop_fraction, 100.0, "%")
    if float(summary.mark_fraction.max()) > 0.0:
        add("marked", "", summary.mark_fraction, 100.0, "%")
    if "link" not in summary.coords:
        add("Jain's index", "", summary.jain, 1.0, "")
    return table


def _class_table(summary: xarray.Dataset) -> Table:
    table = make_grid("left", "right", "left", *["right"] * 4)
    table.add_row("flows", "Mbit/s", "", "window", "delay [ms]", "dropped", "marked")
    table.add_row("", "of all", "", "per flow", "per packet", "of packets", "of packets")
    for name in summary.flows.to_numpy():
        mine = summary.sel(flows=name)
        table.add_row(
            str(name),
            _mean(mine.throughput, 1e-6),
            _range(mine.throughput, 1e-6),
            _mean(mine.window_mean),
            _mean(mine.delay_mean_of, 1e3),
            f"{_mean(mine.drop_fraction_of, 100.0)} %",
            f"{_mean(mine.mark_fraction_of, 100.0)} %",
        )
    return table


def _completion_table(summary: xarray.Dataset) -> Table:
    """Return how long transfers took, of all sizes and of each range in which there are any."""
    table = make_grid("left", "left", *["right"] * 5)
    table.add_row("transfers", "segments", "finished", "mean [s]", "P50", "P95", "P99")
    for name in summary.flows.to_numpy():
        of_class = summary.sel(flows=name)
        if not int(of_class.finished.sum()) and not int(of_class.unfinished.sum()):
            continue
        _add_completions(table, str(name), "all", of_class.finished, of_class.completion_mean,
                         of_class.completion_quantile)  # fmt: skip
        for size, end in zip(
            of_class["size"].to_numpy(), of_class.size_end.to_numpy(), strict=True
        ):
            these = of_class.sel(size=size)
            if int(these.finished_of.sum()):
                told = f"{size:g} to {end - 1:g}" if end < math.inf else f"from {size:g}"
                _add_completions(table, "", told, these.finished_of, these.completion_mean_of,
                                 these.completion_quantile_of)  # fmt: skip
        table.add_row("", "under way", _mean(of_class.unfinished), "", "", "", "")
    return table


def _add_completions(
    table: Table,
    first: str,
    sizes: str,
    finished: xarray.DataArray,
    mean: xarray.DataArray,
    levels: xarray.DataArray,
) -> None:
    quantiles = [_mean(levels.sel(quantile=level)) for level in (0.5, 0.95, 0.99)]
    table.add_row(first, sizes, _mean(finished), _mean(mean), *quantiles)


def _mean(values: xarray.DataArray, factor: float = 1.0) -> str:
    return f"{factor * float(values.mean()):.4g}"


def _range(values: xarray.DataArray, factor: float = 1.0) -> str:
    if values.size == 1:
        return ""
    return f"({factor * float(values.min()):.4g} to {factor * float(values.max()):.4g})"
