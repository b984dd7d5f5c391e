"""Several engines: `pi2-fluid compare` runs a scenario in each, as a fluid and in packets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pi2_fluid.apps.cli import codes, completing, options
from pi2_fluid.apps.cli.declaring import TRAFFIC, Command
from pi2_fluid.apps.cli.engines import make_engines
from pi2_fluid.apps.cli.files import PICTURES, check_path, write_netcdf, write_table
from pi2_fluid.apps.cli.output import JsonFlag, Progress, make_console, make_grid, print_json
from pi2_fluid.apps.cli.runs import file_names, write_and_report
from pi2_fluid.apps.cli.scenarios import ScenarioArgument, load_scenario

if TYPE_CHECKING:
    import xarray
    from rich.table import Table

    from pi2_fluid.comparison.agreement.agreement import Comparison, Run

__all__ = ["COMMANDS", "compare"]

_WRITERS: Final = {".nc": write_netcdf, ".csv": write_table}
_USUAL: Final = ("fluid", "packet")
_TWO: Final = 2  # engines whose ranges fit on a line: those of more are in the file
# What people read: factor and unit, by the unit of the table.
_SHOWN: Final = {"s": (1e3, "ms"), "bit/s": (1e-6, "Mbit/s"), "1": (1.0, "")}
# Whose a number of a class is: of all its flows together, or of each.
_OF: Final = {"throughput": "Mbit/s all", "window": "segm. each"}
_SHARES: Final = ("utilization", "drop_fraction", "mark_fraction")
_MOST_ROWS: Final = 120  # of numbers; of more those in which engines differ


def compare(
    scenario: ScenarioArgument,
    engine: Annotated[
        list[str] | None,
        options.option(
            "NAME",
            "fluid, packet, ns3 or linux, once for each engine; with options as fluid:linear or"
            " packet:seeds=3. The others are compared with the first. Default: fluid and packet.",
            show_default=False,
            complete=completing.engines,
        ),
    ] = None,
    update: options.Update = None,
    linear: options.Linear = False,
    clock: options.Clock = None,
    tolerance: options.Tolerance = None,
    step: options.Step = None,
    seeds: options.Seeds = None,
    threads: options.Threads = None,
    after: options.After = None,
    plot: options.Plot = None,
    output: options.Output = None,
    as_json: JsonFlag = False,
) -> None:
    """Run a scenario in several engines, and say where they differ.

    The numbers begin after slow start: at 20 s, or a fifth of the run if that is less.
    """
    check_path(plot, PICTURES, "--plot")
    check_path(output, tuple(_WRITERS), "--output")
    given = {"update": update, "linear": linear or None, "tolerance": tolerance, "step": step}
    given |= {"clock": clock, "seeds": seeds, "threads": threads}
    engines = make_engines(engine or _USUAL, given)
    described, title = load_scenario(scenario)
    from pi2_fluid.comparison.agreement.agreement import run_all, tabulate

    with Progress("simulating") as progress:
        comparison = run_all(described, *engines, after=after, progress=progress)
    table = tabulate(comparison)

    def draw(path: Path) -> None:
        from pi2_fluid.apps.cli.comparing import draw_comparison

        draw_comparison(comparison, table, title, path)

    def report(files: Sequence[Path]) -> None:
        if as_json:
            _print_json(comparison, table, file_names(output, plot, files))
        else:
            _print_text(title, comparison, table, files)

    def write(path: Path) -> None:
        _WRITERS[path.suffix.lower()](table, path)

    write_and_report([(output, write), (plot, draw)], report)
    if comparison.interrupted:
        raise typer.Exit(codes.INTERRUPTED)


def _print_json(
    comparison: Comparison, table: xarray.Dataset, files: dict[str, str | None]
) -> None:
    names = [str(name) for name in table["name"].to_numpy()]
    labels = [run.label for run in comparison.runs]

    def engine(label: str) -> dict[str, Any]:
        mine = table.sel(engine=label)
        columns = {
            key: dict(zip(names, mine[key].to_numpy().tolist(), strict=True))
            for key in ("value", "low", "high")
        }
        words = {key: str(mine[key].item()) for key in ("options", "seeds", "not_modelled")}
        seeds = [int(seed) for seed in words["seeds"].split(", ") if seed]
        missing = words["not_modelled"].split(", ") if words["not_modelled"] else []
        return {"options": words["options"], "seeds": seeds, "not_modelled": missing, **columns}

    rows = [
        table.sel(engine=label, name=name)
        for label in labels
        for name in names
        if bool(table["disagreement"].sel(engine=label, name=name))
    ]
    print_json(
        {
            "scenario": comparison.scenario.name,
            "duration": float(comparison.scenario.duration),
            "after": comparison.after,
            "interrupted": comparison.interrupted,
            "engines": {label: engine(label) for label in labels},
            "disagreement": [
                {
                    "engine": str(row["engine"].item()),
                    "name": str(row["name"].item()),
                    "value": float(row["value"]),
                    "relative": float(row["relative"]),
                    "why": str(row["why"].item()),
                }
                for row in rows
            ],
            **files,
        }
    )


def _print_text(
    title: str, comparison: Comparison, table: xarray.Dataset, files: Sequence[Path]
) -> None:
    begin, end = table.attrs["after"], table.attrs["until"]
    unfinished = ", interrupted" if comparison.interrupted else ""
    ways = [_way(run, two=len(comparison.runs) <= _TWO) for run in comparison.runs]
    said = f"{', '.join(ways[:-1])} and {ways[-1]}" if len(ways) > 1 else ways[0]
    # What is no table is echoed, so that it is not broken into lines where nobody looks at them.
    typer.echo(f"{title}\n{said}{unfinished}, {begin:.4g} s to {end:.4g} s\n")
    _print_rows(comparison, table)
    first, *others = comparison.runs
    for run in others:
        why: dict[str, list[str]] = {}
        for name in table["name"].to_numpy():
            row = table.sel(engine=run.label, name=name)
            if row["disagreement"]:
                why.setdefault(str(row["why"].item()), []).append(str(name))
        if why:
            typer.echo(f"\n* {_beside(first, run)}:")
        for sentence, names in why.items():
            typer.echo(f"\n{', '.join(names)}:\n  {sentence}.")
    if files:
        typer.echo()
    for path in files:
        typer.echo(f"written: {path}")


def _print_rows(comparison: Comparison, table: xarray.Dataset) -> None:
    if table.sizes["name"] > _MOST_ROWS:
        apart = table["disagreement"].any("engine")
        links = len(comparison.scenario.node_names)
        typer.echo(
            f"{apart.size - int(apart.sum())} of {apart.size} numbers of {links} links agree within"
            " 10 %. The others:\n"
        )
        table = table.isel(name=apart.to_numpy())
    make_console().print(_grid(comparison, table))


def _way(run: Run, *, two: bool) -> str:
    """Say how an engine ran the scenario."""
    if "seed" not in run.result.dims:
        told = run.result.attrs
        how = [f"{told['update']} update"] if "update" in told else []
        how += ["by acknowledgements"] if told.get("clock") == "acks" else []
        return f"{run.label} ({', '.join(how)})" if how else run.label
    n = run.result.sizes["seed"]
    seeds = "1 seed" if n == 1 else f"median of {n} seeds" + " and their range" * two
    return f"{run.label} ({seeds})"


def _beside(first: Run, run: Run) -> str:
    if "seed" in run.result.dims and "seed" not in first.result.dims:
        return f"{first.label} is outside the range of the seeds of {run.label} by more than 10 %"
    return f"The ranges of {run.label} and of {first.label} are more than 10 % apart"


def _grid(comparison: Comparison, table: xarray.Dataset) -> Table:
    """Return the table: of each engine the value, of two the range of seeds, too; and ratios."""
    labels = [run.label for run in comparison.runs]
    two = len(labels) <= _TWO
    ranged = [two and run.result.sizes.get("seed", 1) > 1 for run in comparison.runs]
    sides: list[Any] = ["left"]
    head = [""]
    for label, has_range in zip(labels, ranged, strict=True):
        sides += ["right", "left"] if has_range else ["right"]
        head += [label, ""] if has_range else [label]
    sides += ["left", *["right", "left"] * (len(labels) - 1)]
    head += [""]
    head += ["ratio" if two else f"/ {labels[0]}", ""] * (len(labels) - 1)
    grid = make_grid(*sides)
    grid.add_row(*head)
    for name in table["name"].to_numpy():
        row = table.sel(name=name)
        factor, unit = _scale(row)
        cells = [str(name)]
        for k, has_range in enumerate(ranged):
            value, low, high = (
                f"{factor * float(row[key][k]):.4g}" for key in ("value", "low", "high")
            )
            cells.append(value)
            if has_range:
                cells.append("" if low == high else f"({low} to {high})")
        cells.append(unit)
        for k in range(1, len(labels)):
            relative = float(row["relative"][k])
            cells.append(f"{1.0 + relative:.3g}" if abs(relative) < 1e3 else "")
            cells.append("*" if row["disagreement"][k] else "")
        grid.add_row(*cells)
    return grid


def _scale(row: xarray.Dataset) -> tuple[float, str]:
    """Return by what to multiply a number, and the unit that it has then."""
    name = str(row["name"].item())
    factor, unit = _SHOWN.get(str(row["unit"].item()), (1.0, str(row["unit"].item())))
    if name.partition(".")[0] in _SHARES:
        factor, unit = 100.0, "%"
    return factor, _OF.get(name.partition(".")[0], unit)


COMMANDS: tuple[Command, ...] = (
    Command(
        compare,
        panel=TRAFFIC,
        examples=(
            "pi2-fluid compare pi2_fig11a_pi2",
            "pi2-fluid compare mine.toml --seeds 20 --plot mine.png",
            "pi2-fluid compare mine.toml --engine fluid --engine fluid:linear --engine packet",
            "pi2-fluid compare thesis_fig4_2_pie --engine packet --engine ns3:seeds=3",
            "pi2-fluid scenarios pi2_fig11b_pie | pi2-fluid compare - --json",
        ),
        json={
            "scenario": "its name",
            "duration": "s",
            "after": "s, where the numbers begin",
            "interrupted": "by Ctrl-C",
            "engines": "by name: options, seeds, not_modelled, and value (the median of the seeds),"
            " low and high, each numbers by name in SI units",
            "disagreement": "a list of {engine, name, value, relative, why}: the ranges of this"
            " engine and of the first are more than 10 % apart",
            "output": "the file written, or null",
            "plot": "the picture, or null",
        },
    ),
)
