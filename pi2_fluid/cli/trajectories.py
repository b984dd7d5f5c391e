"""Results over time: `pi2-fluid simulate`, and what it prints of a trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pi2_fluid.cli import codes
from pi2_fluid.cli.engines import make_engines
from pi2_fluid.cli.files import PICTURES, WRITERS, check_path
from pi2_fluid.cli.options import (
    AfterOption,
    BinOption,
    LinearFlag,
    OutputOption,
    PlotOption,
    SampleOption,
    SeedsOption,
    StepOption,
    ThreadsOption,
    ToleranceOption,
    UpdateOption,
)
from pi2_fluid.cli.output import JsonFlag, Progress, make_console, make_grid, print_json
from pi2_fluid.cli.packets import print_runs, runs_as_json
from pi2_fluid.cli.runs import check_after, file_names, plain, write_and_report
from pi2_fluid.cli.scenarios import ScenarioArgument, load_scenario

if TYPE_CHECKING:
    import xarray

__all__ = ["COMMANDS", "simulate"]


def simulate(
    scenario: ScenarioArgument,
    engine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="fluid: the differential equations; or packet: every packet, for several seeds.",
        ),
    ] = "fluid",
    update: UpdateOption = None,
    linear: LinearFlag = False,
    tolerance: ToleranceOption = None,
    step: StepOption = None,
    sample: SampleOption = None,
    seeds: SeedsOption = None,
    bin: BinOption = None,
    threads: ThreadsOption = None,
    after: AfterOption = "0s",
    plot: PlotOption = None,
    output: OutputOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Follow a scenario in time, and summarise delay, throughput and signals."""
    if plot is not None:
        check_path(plot, PICTURES, "--plot")
    if output is not None:
        check_path(output, tuple(WRITERS), "--output")
    options = {"update": update, "linear": linear or None, "tolerance": tolerance, "step": step}
    options |= {"sample": sample, "seeds": seeds, "bin": bin, "threads": threads}
    (chosen,) = make_engines([engine], options)
    described, title = load_scenario(scenario)
    begin = "0s" if after is None else after
    check_after(begin, float(described.duration))

    from pi2_fluid.result import summarize
    from pi2_fluid.result.schema import schema_of

    with Progress("simulating") as progress:
        dataset = chosen.run(described, progress)
    summary = summarize(dataset, begin)
    binned = schema_of(dataset).binned

    def draw(path: Path) -> None:
        from pi2_fluid.cli.drawing import draw_result

        shown = dataset.sel(time=slice(summary.attrs["after"], None))
        draw_result(shown, title, getattr(described.aqm, "target", None), path)

    def report(files: Sequence[Path]) -> None:
        if not as_json:
            (print_runs if binned else _print_trajectory)(title, dataset, summary, files)
            return
        missing = dataset.attrs["not_modelled"]
        print_json(
            {
                "scenario": described.name,
                "duration": float(described.duration),
                "engine": dataset.attrs["engine"],
                "interrupted": bool(dataset.attrs["interrupted"]),
                "after": summary.attrs["after"],
                **(runs_as_json if binned else _trajectory_as_json)(dataset, summary),
                "not_modelled": missing.split(", ") if missing else [],
                **file_names(output, plot, files),
            }
        )

    def write(path: Path) -> None:
        WRITERS[path.suffix.lower()](dataset, path)

    write_and_report([(output, write), (plot, draw)], report)
    if dataset.attrs["interrupted"]:
        raise typer.Exit(codes.INTERRUPTED)


def _trajectory_as_json(dataset: xarray.Dataset, summary: xarray.Dataset) -> dict[str, Any]:
    return {
        "update": dataset.attrs["update"],
        "linear": bool(dataset.attrs["linear"]),
        "compiled": bool(dataset.attrs["compiled"]),
        "summary": {name: plain(variable) for name, variable in summary.items()},
        "beyond_the_laws": dataset.attrs["beyond_the_laws"],
    }


def _print_trajectory(
    title: str, dataset: xarray.Dataset, summary: xarray.Dataset, files: Sequence[Path]
) -> None:
    begin, end = summary.attrs["after"], summary.attrs["until"]
    linear = ", linearised" if dataset.attrs["linear"] else ""
    # What is no table is echoed, so that it is not broken into lines where nobody looks at them.
    typer.echo(
        f"{title}\nas a fluid, {dataset.attrs['update']} update{linear},"
        f" {begin:.4g} s to {end:.4g} s\n"
    )
    console = make_console()
    console.print(_delay_table(summary))
    typer.echo()
    console.print(_class_table(dataset, summary))
    typer.echo(f"\nnot modelled in a fluid: {dataset.attrs['not_modelled']}")
    if dataset.attrs["beyond_the_laws"]:
        typer.echo(f"beyond the laws: {dataset.attrs['beyond_the_laws']}")
    for path in files:
        typer.echo(f"written: {path}")


def _delay_table(summary: xarray.Dataset) -> Any:
    table = make_grid("left", "left", "right", "left")
    for label, name in (("mean", "delay_mean"), ("P95", "delay_p95"), ("P99", "delay_p99")):
        first = "queue delay" if label == "mean" else ""
        table.add_row(first, label, f"{1e3 * float(summary[name]):.4g}", "ms")
    if "band" in summary.dims:
        for band, value in plain(summary.queue_delay_mean).items():
            table.add_row("", f"mean in {band}", f"{1e3 * value:.4g}", "ms")
    for first, name in (("utilization", "utilization"), ("dropped", "drop_fraction")):
        table.add_row(first, "", f"{100 * float(summary[name]):.4g}", "%")
    if float(summary.mark_fraction) > 0.0:
        table.add_row("marked", "", f"{100 * float(summary.mark_fraction):.4g}", "%")
    return table


def _class_table(dataset: xarray.Dataset, summary: xarray.Dataset) -> Any:
    stretch = dataset.p.sel(time=slice(summary.attrs["after"], summary.attrs["until"]))
    table = make_grid("left", *["right"] * 3)
    table.add_row("flows", "throughput", "window", "signalled")
    table.add_row("", "of all", "per flow", "of packets")
    for name in summary.flows.to_numpy():
        mine = summary.sel(flows=name)
        table.add_row(
            str(name),
            f"{1e-6 * float(mine.throughput):.4g} Mbit/s",
            f"{float(mine.window_mean):.4g} segments",
            f"{100 * float(stretch.sel(flows=name).mean()):.4g} %",
        )
    return table


COMMANDS: tuple[tuple[Any, str], ...] = (
    (
        simulate,
        (
            "Examples:\n\n"
            "pi2-fluid simulate pi2_fig11a_pie --after 20s\n\n"
            "pi2-fluid simulate mine.toml --plot mine.png -o mine.nc\n\n"
            "pi2-fluid simulate pi2_fig11a_pie --engine packet --seeds 20 --after 20s\n\n"
            "pi2-fluid scenarios pi2_fig12_pi2 | pi2-fluid simulate - --json\n\n"
            "JSON: scenario, duration, engine, interrupted, after, summary (an object, SI units;"
            " per class or queue an object of its own), not_modelled, output, plot. Of a fluid"
            " update, linear, compiled, beyond_the_laws, too; of packets seeds, bin, smallest and"
            " largest, the range of the seeds, while summary is their mean."
        ),
    ),
)
