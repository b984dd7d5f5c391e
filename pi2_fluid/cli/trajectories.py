"""Results over time: `pi2-fluid simulate`, and what it prints of a fluid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pi2_fluid.cli.files import PICTURES, WRITERS, check_path
from pi2_fluid.cli.output import JsonFlag, Progress, make_console, make_grid, print_json
from pi2_fluid.cli.packets import simulate_packets
from pi2_fluid.cli.runs import Wanted, plain
from pi2_fluid.cli.scenarios import ScenarioArgument, load_scenario
from pi2_fluid.errors import QuantityError

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
            rich_help_panel="Model",
        ),
    ] = "fluid",
    controller: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="sampled: updated every update interval, as in a kernel; or continuous, as in"
            " the papers' equations. Default sampled; fluid only.",
            rich_help_panel="Model",
        ),
    ] = None,
    linear: Annotated[
        bool,
        typer.Option(
            "--linear",
            help="Linearise around the operating point, without bounds: what margins speak of;"
            " fluid only.",
            rich_help_panel="Model",
        ),
    ] = False,
    tolerance: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Relative error allowed in each step. Default 1e-10; fluid only.",
            rich_help_panel="Accuracy",
        ),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Instead of a tolerance: a fixed longest step, e.g. 1ms; fluid only.",
            rich_help_panel="Accuracy",
        ),
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time between two rows. Default: the update interval, or 10ms; fluid only.",
            rich_help_panel="Results",
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER | LIST",
            help="How many runs, or their seeds: 5,17,23, or 7, for one. Default 10; packet only.",
            rich_help_panel="Packets",
        ),
    ] = None,
    bin: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time over which a row is summed. Default 100ms; packet only.",
            rich_help_panel="Packets",
        ),
    ] = None,
    threads: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Runs side by side. Default: one for each core; packet only.",
            rich_help_panel="Packets",
        ),
    ] = None,
    after: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Leave what comes before out of the summary and the picture, e.g. 20s.",
            rich_help_panel="Results",
        ),
    ] = "0s",
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw delay, throughput and probability: .png, .svg or .pdf.",
            rich_help_panel="Results",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the trajectory: .nc (netCDF4) or .zarr, with units and provenance; or .csv"
            " (one row per sample, SI units).",
            rich_help_panel="Results",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Follow a scenario in time, and summarise delay, throughput and signals."""
    if plot is not None:
        check_path(plot, PICTURES, "--plot")
    if output is not None:
        check_path(output, tuple(WRITERS), "--output")
    for_fluid = {
        "controller": controller,
        "linear": linear or None,
        "tolerance": tolerance,
        "step": step,
        "sample": sample,
    }
    for_packets = {"seeds": seeds, "bin": bin, "threads": threads}
    options = _options_of(engine, {"fluid": for_fluid, "packet": for_packets})
    described, title = load_scenario(scenario)
    wanted = Wanted(described, title, after, plot, output, as_json)
    wanted.check_after()
    if engine == "packet":
        simulate_packets(wanted, options)
    else:
        _simulate_fluid(wanted, options)


def _options_of(engine: str, options: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the options that were given, all of which must be of that engine."""
    from pi2_fluid.units import validate_choice

    validate_choice(engine, tuple(options), "--engine")
    for other, its in options.items():
        for name, value in its.items():
            if other != engine and value is not None:
                raise QuantityError(
                    f"--{name} has no meaning for --engine {engine}: leave it out, or use --engine"
                    f" {other}."
                )
    return {name: value for name, value in options[engine].items() if value is not None}


def _simulate_fluid(wanted: Wanted, options: Mapping[str, Any]) -> None:
    from pi2_fluid.fluid.engine import simulate as simulate_fluid
    from pi2_fluid.result import summarize

    with Progress("simulating") as progress:
        dataset = simulate_fluid(wanted.scenario, **options, progress=progress)
    summary = summarize(dataset, wanted.after)

    def report(files: Sequence[Path]) -> None:
        if wanted.as_json:
            _print_json(wanted, dataset, summary, files)
        else:
            _print_text(wanted.title, dataset, summary, files)

    wanted.write(dataset, summary, report)


def _print_json(
    wanted: Wanted, dataset: xarray.Dataset, summary: xarray.Dataset, files: Sequence[Path]
) -> None:
    print_json(
        {
            "scenario": wanted.scenario.name,
            "duration": float(wanted.scenario.duration),
            "controller": dataset.attrs["controller"],
            "linear": bool(dataset.attrs["linear"]),
            "engine": dataset.attrs["engine"],
            "after": summary.attrs["after"],
            "summary": {name: plain(variable) for name, variable in summary.items()},
            "not_modelled": dataset.attrs["not_modelled"].split(", "),
            "beyond_the_laws": dataset.attrs["beyond_the_laws"],
            **wanted.names(files),
        }
    )


def _print_text(
    title: str, dataset: xarray.Dataset, summary: xarray.Dataset, files: Sequence[Path]
) -> None:
    begin, end = summary.attrs["after"], summary.attrs["until"]
    linear = ", linearised" if dataset.attrs["linear"] else ""
    # What is no table is echoed, so that it is not broken into lines where nobody looks at them.
    typer.echo(
        f"{title}\nas a fluid, {dataset.attrs['controller']} controller{linear},"
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
            "JSON: scenario, duration, controller, linear, engine, after, summary (an object, SI"
            " units; per class or queue an object of its own), not_modelled, beyond_the_laws,"
            " output, plot. Of packets: seeds, bin, interrupted instead of controller, linear and"
            " beyond_the_laws; summary is the mean"
            " over the seeds, smallest and largest their range."
        ),
    ),
)
