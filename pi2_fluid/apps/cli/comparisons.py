"""`pi2-fluid compare`: several queues under one traffic, or several engines on one scenario."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pi2_fluid.apps.cli import codes, completing, options
from pi2_fluid.apps.cli.beside import compare_measurement, is_measurement, require_all_there
from pi2_fluid.apps.cli.compared import Compared, Wanted
from pi2_fluid.apps.cli.declaring import TRAFFIC, Command
from pi2_fluid.apps.cli.files import PICTURES, check_path, write_netcdf, write_table
from pi2_fluid.apps.cli.one_traffic import read_traffic
from pi2_fluid.apps.cli.output import JsonFlag, make_console, make_grid, print_json
from pi2_fluid.apps.cli.queue_report import print_queues, queues_as_json
from pi2_fluid.apps.cli.runs import file_names, write_and_report
from pi2_fluid.apps.cli.scenarios import load_scenario
from pi2_fluid.errors import QuantityError
from pi2_fluid.progress import Progress

if TYPE_CHECKING:
    import xarray
    from rich.table import Table

    from pi2_fluid.comparison.agreement.agreement import Comparison, Run
    from pi2_fluid.engines.engine import Engine

_WRITERS: Final = {".nc": write_netcdf, ".csv": write_table}
_USUAL: Final = ("fluid", "packet")
_OF_QUEUES: Final = ("packet", "linux")
_TWO: Final = 2  # engines whose ranges fit on a line: those of more are in the file
# What people read: factor and unit, by the unit of the table.
_SHOWN: Final = {"s": (1e3, "ms"), "bit/s": (1e-6, "Mbit/s"), "1": (1.0, "")}
# Whose a number of a class is: of all its flows together, or of each.
_OF: Final = {"throughput": "Mbit/s all", "window": "segm. each"}
_SHARES: Final = ("utilization", "drop_fraction", "mark_fraction")
_MOST_ROWS: Final = 120  # of numbers; of more those in which engines differ


def compare(
    scenarios: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE | NAME | -]...",
            autocompletion=completing.scenarios,
            help="A scenario: a TOML file, - for standard input, or the name of one that comes with"
            " the package. Of several with the same traffic, the queues are compared. Or files that"
            " Flent, iperf3 or another tool measured, several if at the same time.",
        ),
    ] = None,
    aqm: Annotated[
        list[str] | None,
        options.option(
            "LIST",
            "Queues to put into the scenario, with commas between: pie,dualpi2,fq_codel. A kind, a"
            " preset, or a qdisc of the kernel; numbers behind a colon, as pie:target=20ms.",
            "Queues",
            show_default=False,
            complete=completing.queues,
        ),
    ] = None,
    flows: Annotated[
        str | None,
        options.option("NUMBER", "Instead of a scenario: how many flows share the link.", "Queues"),
    ] = None,
    rate: Annotated[
        str | None, options.option("RATE", "The rate of their link: 20Mbit/s.", "Queues")
    ] = None,
    path: Annotated[
        str | None,
        options.option("TIME", "Round-trip time of their path, without queue: 40ms.", "Queues"),
    ] = None,
    sender: Annotated[
        str | None,
        options.option(
            "NAME",
            "Who sends: reno, cubic, dctcp, prague. Default cubic.",
            "Queues",
            complete=completing.senders,
        ),
    ] = None,
    duration: Annotated[
        str | None, options.option("TIME", "How long. Default 60s.", "Queues")
    ] = None,
    engine: Annotated[
        list[str] | None,
        options.option(
            "NAME",
            "fluid, packet, ns3 or linux, once for each engine; with options as fluid:linear or"
            " packet:seeds=3. The others are compared with the first; of several queues, each runs"
            " in the first that can. Default: fluid and packet, of queues packet and linux.",
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
    """Compare queues, engines, or a measurement with its model.

    Several scenarios, or --aqm: which queue? One scenario alone: where do engines differ? A
    measurement: is it what packets make of what it says? --rate, --path and --aqm then tell what
    it leaves open.

    The numbers begin after slow start: at 20 s, or a fifth of the run if that is less.
    """
    check_path(plot, PICTURES, "--plot")
    check_path(output, tuple(_WRITERS), "--output")
    shared: dict[str, Any] = {"update": update, "linear": linear or None, "tolerance": tolerance}
    shared |= {"step": step, "clock": clock, "seeds": seeds, "threads": threads}
    traffic = {"count": flows, "capacity": rate, "base_rtt": path}
    traffic |= {"sender": sender, "duration": duration}
    files = scenarios or []
    wanted = Wanted(files, aqm or [], traffic, engine or [], shared, after)
    if files and all(map(is_measurement, files)):
        comparison = compare_measurement(wanted)
    elif aqm or len(files) > 1:
        require_all_there(files)
        comparison = _queues(wanted)
    elif files and not any(traffic.values()):
        comparison = _engines(files[0], wanted.engines(_USUAL), after)
    else:
        raise QuantityError(
            "there is nothing to compare: give a scenario, several of them, or --aqm"
            " pie,dualpi2 with a scenario or with --flows, --rate and --path."
        )

    def report(written: Sequence[Path]) -> None:
        if as_json:
            print_json({**comparison.as_json(), **file_names(output, plot, written)})
            return
        comparison.show()
        if written:
            typer.echo()
        for file in written:
            typer.echo(f"written: {file}")

    def write(file: Path) -> None:
        _WRITERS[file.suffix.lower()](comparison.table, file)

    write_and_report([(output, write), (plot, comparison.draw)], report)
    if comparison.interrupted:
        raise typer.Exit(codes.INTERRUPTED)


def _engines(file: str, engines: list[Engine], after: str | None) -> Compared:
    """Run one scenario in several engines."""
    described, title = load_scenario(file)
    from pi2_fluid.comparison.agreement.agreement import run_all, tabulate

    with Progress("simulating") as progress:
        comparison = run_all(described, *engines, after=after, progress=progress)
    table = tabulate(comparison)

    def draw(path: Path) -> None:
        from pi2_fluid.apps.cli.comparing import draw_comparison

        draw_comparison(comparison, table, title, path)

    return Compared(
        table,
        comparison.interrupted,
        lambda: _as_json(comparison, table),
        lambda: _print_text(title, comparison, table),
        draw,
    )


def _queues(wanted: Wanted) -> Compared:
    """Run one traffic through several queues."""
    from pi2_fluid.comparison.queues.running import USUAL_SEEDS, run_queues
    from pi2_fluid.comparison.queues.table import tabulate_queues

    engines = wanted.engines(_OF_QUEUES, str(USUAL_SEEDS))
    kernel = {one.name for one in engines} == {"linux"}
    traffic = read_traffic(wanted.files, wanted.aqm, wanted.traffic, kernel=kernel)
    with Progress("simulating", estimate=True) as progress:
        comparison = run_queues(
            traffic.scenarios,
            *engines,
            after=wanted.after,
            progress=progress,
            labels=traffic.labels,
        )
    table = tabulate_queues(comparison)

    def draw(path: Path) -> None:
        from pi2_fluid.apps.cli.queue_picture import draw_queues

        draw_queues(comparison, table, traffic.title, path)

    return Compared(
        table.drop_dims("seed"),  # a row for each queue and number is enough for a file
        comparison.interrupted,
        lambda: {"scenario": traffic.title, **queues_as_json(comparison, table)},
        lambda: print_queues(traffic.title, comparison, table, traffic.note),
        draw,
    )


def _as_json(comparison: Comparison, table: xarray.Dataset) -> dict[str, Any]:
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
    return {
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
    }


def _print_text(title: str, comparison: Comparison, table: xarray.Dataset) -> None:
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
            "pi2-fluid compare mine.toml --aqm pie,dualpi2,fq_codel --seeds 12 --plot queues.png",
            "pi2-fluid compare --aqm taildrop,pie,codel --flows 4 --rate 20Mbit/s --path 40ms",
            "pi2-fluid compare short_buffer.toml long_buffer.toml -o table.csv",
            "pi2-fluid compare pi2_fig11a_pi2",
            "pi2-fluid compare mine.toml --seeds 20 --plot mine.png",
            "pi2-fluid compare mine.toml --engine fluid --engine fluid:linear --engine packet",
            "pi2-fluid compare run.flent.gz --plot run.png",
            "pi2-fluid compare iperf3.json --rate 20Mbit/s --path 40ms --aqm fq_codel",
            "pi2-fluid compare thesis_fig4_2_pie --engine packet --engine ns3:seeds=3",
            "pi2-fluid scenarios pi2_fig11b_pie | pi2-fluid compare - --json",
        ),
        json={
            "scenario": "its name; of queues what the traffic is",
            "duration": "s",
            "after": "s, where the numbers begin",
            "interrupted": "by Ctrl-C",
            "engines": "of engines: by name options, seeds, not_modelled, and value (the median of"
            " the seeds), low and high, each numbers by name in SI units",
            "disagreement": "of engines: a list of {engine, name, value, relative, why}: the ranges"
            " of this engine and of the first are more than 10 % apart",
            "queues": "of queues: by name law, engine, options, seeds, not_modelled; value (the"
            " mean of the seeds), low and high (its interval of 95 %); difference (from the first"
            " queue, seed by seed), difference_low and difference_high; each numbers by name in SI"
            " units",
            "measurement": "of a measurement: its files",
            "format": "of a measurement: who wrote it",
            "said": "of a measurement: by part of the scenario what it says, a sentence each",
            "assumed": "of a measurement: by part of the scenario what is assumed, a sentence each",
            "until": "of a measurement: s, where the numbers end",
            "measured": "of a measurement: its numbers by name in SI units; engines then have"
            " relative, too: value / measured - 1",
            "outside": "of a measurement: a list of {engine, name, measured, low, high, relative,"
            " why}: what lies outside of the range of the seeds",
            "left_out": "of queues: a list of those that Ctrl-C came before",
            "output": "the file written, or null",
            "plot": "the picture, or null",
        },
    ),
)
