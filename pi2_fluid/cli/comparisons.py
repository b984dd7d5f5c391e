"""Two engines: `pi2-fluid compare` runs a scenario as a fluid and in packets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pi2_fluid.cli import codes
from pi2_fluid.cli.files import PICTURES, check_path, write_netcdf, write_table
from pi2_fluid.cli.output import JsonFlag, Progress, make_console, make_grid, print_json
from pi2_fluid.cli.packets import read_seeds, read_whole
from pi2_fluid.cli.runs import file_names, write_and_report
from pi2_fluid.cli.scenarios import ScenarioArgument, load_scenario

if TYPE_CHECKING:
    import xarray

__all__ = ["COMMANDS", "compare"]

_TABLES: Final = (".nc", ".csv")
# What people read: factor and unit, by the unit of the table.
_SHOWN: Final = {"s": (1e3, "ms"), "bit/s": (1e-6, "Mbit/s"), "1": (1.0, "")}
# Whose a number of a class is: of all its flows together, or of each.
_OF: Final = {"throughput": "Mbit/s all", "window": "segm. each"}
_SHARES: Final = ("utilization", "drop_fraction", "mark_fraction")


def compare(
    scenario: ScenarioArgument,
    seeds: Annotated[
        str,
        typer.Option(
            metavar="NUMBER | LIST",
            help="How many runs of packets, or their seeds: 5,17,23, or 7, for one.",
            rich_help_panel="Model",
        ),
    ] = "10",
    controller: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Of the fluid: sampled, as in a kernel; or continuous, as in the papers.",
            rich_help_panel="Model",
        ),
    ] = "sampled",
    threads: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Runs side by side. Default: as many as there are cores.",
            rich_help_panel="Model",
        ),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Leave what comes before out. Default: 20s, when slow start is over, or a fifth of"
            " the run if that is less.",
            rich_help_panel="Results",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw both, with what differs and why: .png, .svg or .pdf.",
            rich_help_panel="Results",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the table: .nc (netCDF4) or .csv (one row per number, SI units).",
            rich_help_panel="Results",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Run a scenario as a fluid and in packets, and say where the two differ, and why."""
    if plot is not None:
        check_path(plot, PICTURES, "--plot")
    if output is not None:
        check_path(output, _TABLES, "--output")
    described, title = load_scenario(scenario)
    from pi2_fluid.design.comparison.agreement import run_both, tabulate

    with Progress("simulating") as progress:
        both = run_both(
            described,
            read_seeds(seeds),
            after=after,
            controller=controller,
            threads=None if threads is None else read_whole(threads, "--threads", "threads"),
            progress=progress,
        )
    table = tabulate(both)

    def draw(path: Path) -> None:
        from pi2_fluid.cli.comparing import draw_both

        draw_both(both, table, title, path)

    def report(files: Sequence[Path]) -> None:
        if as_json:
            _print_json(both, table, file_names(output, plot, files))
        else:
            _print_text(title, both, table, files)

    writers: dict[Path, Callable[[Path], None]] = {}
    if output is not None:
        writers[output] = partial(_write, table)
    if plot is not None:
        writers[plot] = draw
    write_and_report(writers, report)
    if both.packets.attrs["interrupted"]:
        raise typer.Exit(codes.INTERRUPTED)


def _write(table: xarray.Dataset, path: Path) -> None:
    if path.suffix.lower() == ".nc":
        write_netcdf(table, path)
    else:
        write_table(table, path)


def _print_json(both: Any, table: xarray.Dataset, files: dict[str, str | None]) -> None:
    names = [str(name) for name in table["name"].to_numpy()]

    def column(key: str) -> dict[str, float]:
        return dict(zip(names, table[key].to_numpy().tolist(), strict=True))

    rows = [table.sel(name=name) for name in names if bool(table["disagreement"].sel(name=name))]
    print_json(
        {
            "scenario": both.scenario.name,
            "duration": float(both.scenario.duration),
            "seeds": both.packets["seed"].to_numpy().tolist(),
            "controller": both.controller,
            "after": both.after,
            "interrupted": bool(both.packets.attrs["interrupted"]),
            "fluid": column("fluid"),
            "packet": column("packet"),
            "packet_low": column("packet_low"),
            "packet_high": column("packet_high"),
            "disagreement": [
                {
                    "name": str(row["name"].item()),
                    "fluid": float(row["fluid"]),
                    "packet": float(row["packet"]),
                    "relative": float(row["relative"]),
                    "why": str(row["why"].item()),
                }
                for row in rows
            ],
            "not_modelled": table.attrs["not_modelled"].split(", "),
            **files,
        }
    )


def _print_text(title: str, both: Any, table: xarray.Dataset, files: Sequence[Path]) -> None:
    n = both.packets.sizes["seed"]
    seeds = "1 seed" if n == 1 else f"median of {n} seeds and their range"
    unfinished = ", interrupted" if both.packets.attrs["interrupted"] else ""
    begin, end = table.attrs["after"], table.attrs["until"]
    # What is no table is echoed, so that it is not broken into lines where nobody looks at them.
    typer.echo(
        f"{title}\nas a fluid, {both.controller} controller, and packet by packet, {seeds}"
        f"{unfinished}, {begin:.4g} s to {end:.4g} s\n"
    )
    grid = make_grid("left", "right", "right", "left", "left", "right", "left")
    grid.add_row("", "fluid", "packets", "", "", "ratio", "")
    why: dict[str, list[str]] = {}
    for name in table["name"].to_numpy():
        row = table.sel(name=name)
        apart = bool(row["disagreement"])
        grid.add_row(str(name), *_cells(row), "*" if apart else "")
        if apart:
            why.setdefault(str(row["why"].item()), []).append(str(name))
    make_console().print(grid)
    if why:
        typer.echo("\n* The fluid is outside the range of the seeds by more than 10 %:")
    for sentence, names in why.items():
        typer.echo(f"\n{', '.join(names)}:\n  {sentence}.")
    if files:
        typer.echo()
    for path in files:
        typer.echo(f"written: {path}")


def _cells(row: Any) -> list[str]:
    factor, unit = _SHOWN.get(str(row["unit"].item()), (1.0, str(row["unit"].item())))
    if str(row["name"].item()) in _SHARES:
        factor, unit = 100.0, "%"
    unit = _OF.get(str(row["name"].item()).partition(".")[0], unit)
    fluid, packet, low, high = (
        f"{factor * float(row[key]):.4g}"
        for key in ("fluid", "packet", "packet_low", "packet_high")
    )
    relative = float(row["relative"])
    ratio = f"{1.0 + relative:.3g}" if abs(relative) < 1e3 else ""
    return [fluid, packet, "" if low == high else f"({low} to {high})", unit, ratio]


COMMANDS: tuple[tuple[Any, str], ...] = (
    (
        compare,
        (
            "Examples:\n\n"
            "pi2-fluid compare pi2_fig11a_pi2\n\n"
            "pi2-fluid compare mine.toml --seeds 20 --plot mine.png\n\n"
            "pi2-fluid scenarios pi2_fig11b_pie | pi2-fluid compare - --json\n\n"
            "JSON: scenario, duration, seeds, controller, after, interrupted, fluid, packet (the"
            " median of the seeds), packet_low, packet_high (objects, by name, SI units),"
            " disagreement (a list of {name, fluid, packet, relative, why}: the fluid is outside"
            " the seeds' range by more than 10 %), not_modelled, output, plot."
        ),
    ),
)
