"""What a queue delay does after each change, as `pi2-fluid simulate` prints it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import typer

from pi2_fluid.apps.cli.output import make_console, make_grid

if TYPE_CHECKING:
    from collections.abc import Callable

    import xarray
    from rich.table import Table

    from pi2_fluid.network.scenario import Scenario

_LONG = 1.0  # s, a buffer that hardly any device has


def add_largest(table: Table, summary: xarray.Dataset, width: float = 0.0) -> None:
    """Add a row with the largest queue delay, and when that was; of several seeds the largest.

    Parameters
    ----------
    table : Table
    summary : Dataset
    width : float
        Over which the delay is averaged (s), so that the largest may be below a percentile of
        packets; 0 where it is not.
    """
    values = summary.queue_delay_max.to_numpy().ravel()
    top = int(values.argmax())
    when = f"at {float(summary.queue_delay_max_at.to_numpy().ravel()[top]):.4g} s"
    if summary.sizes.get("seed", 1) > 1:
        when += ", of all seeds"
    name = f"largest mean of {1e3 * width:.4g} ms" if width else "largest"
    units = ("ms", when) if len(table.columns) > 4 else (f"ms {when}",)
    table.add_row("", name, f"{1e3 * float(values[top]):.4g}", *units)


def buffer_note(scenario: Scenario, summary: xarray.Dataset) -> str:
    """Return that packets waited in a buffer longer than devices have; "" if they did not."""
    names = scenario.node_names
    for place, node in enumerate(scenario.as_run.network.nodes):
        link, several = node.link, "link" in summary.dims
        mine = summary.queue_delay_max.isel(link=place) if several else summary.queue_delay_max
        longest, packets = float(mine.max()), float(link.buffer)
        holds = packets * 8.0 * float(link.packet_size) / float(link.capacity)
        if longest > _LONG and holds > _LONG:
            where = f" of {names[place]}" if several else ""
            return (
                f"long buffer{where}: packets waited up to {longest:.3g} s in one that holds"
                f" {packets:.6g}, or {holds:.3g} s; give what the device has, e.g. buffer ="
                ' "250ms"'
            )
    return ""


def print_delays(
    table: Callable[[xarray.Dataset], Table], dataset: xarray.Dataset, summary: xarray.Dataset
) -> None:
    """Print the `table` of a summary, and below it what the delay does after each change."""
    console = make_console()
    console.print(table(summary))
    typer.echo()
    changes = _change_table(dataset, summary)
    if changes is not None:
        if summary.sizes.get("seed", 1) > 1:
            typer.echo("after each change, medians of the seeds")
        console.print(changes)
        typer.echo()


def _change_table(dataset: xarray.Dataset, summary: xarray.Dataset) -> Table | None:
    """Return a row for each change in the stretch of a summary; None if there is none.

    Of several seeds the medians, of two bands the one whose delay is larger.
    """
    from pi2_fluid.results.settling import changes_of

    if "change" not in summary.dims:
        return None
    texts = dict(changes_of(dataset, summary.attrs["after"], summary.attrs["until"]))
    if "band" in summary.dims:
        seeds = [dim for dim in summary.change_peak.dims if dim == "seed"]
        summary = summary.isel(band=int(summary.change_peak.mean([*seeds, "change"]).argmax()))
    table = make_grid("left", "left", *["right"] * 4)
    table.add_row("at", "change", "largest", "at", "settles to", "after")
    for k, at in enumerate(summary.change_at.to_numpy()):
        mine = summary.isel(change=k)
        peak, when, rest, settling = (
            float(mine[f"change_{name}"].median())
            for name in ("peak", "peak_at", "rest", "settling")
        )
        table.add_row(
            f"{at:.4g} s",
            texts[float(at)],
            f"{1e3 * peak:.4g} ms",
            f"{when:.4g} s",
            f"{1e3 * rest:.4g} ms",
            f"{settling:.3g} s" if math.isfinite(settling) else "not settled",
        )
    return table
