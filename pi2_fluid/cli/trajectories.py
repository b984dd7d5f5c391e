"""Trajectories: `pi2-fluid simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from pi2_fluid.cli.files import PICTURES, WRITERS, check_path
from pi2_fluid.cli.output import JsonFlag, Progress, make_console, make_grid, print_json
from pi2_fluid.cli.scenarios import load_scenario

if TYPE_CHECKING:
    import xarray

__all__ = ["COMMANDS", "simulate"]


def simulate(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="FILE | NAME | -",
            help="A scenario as TOML: a file, standard input, or, where no such file exists, the"
            " name of one that comes with the package (see pi2-fluid scenarios).",
        ),
    ],
    controller: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="sampled: updated every update interval, as in a kernel; or continuous, as in"
            " the papers' equations.",
            rich_help_panel="Model",
        ),
    ] = "sampled",
    linear: Annotated[
        bool,
        typer.Option(
            "--linear",
            help="Linearise around the operating point, without bounds: what margins speak of.",
            rich_help_panel="Model",
        ),
    ] = False,
    tolerance: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Relative error allowed in each step. Default 1e-10.",
            rich_help_panel="Accuracy",
        ),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Instead of a tolerance: a fixed longest step, e.g. 1ms.",
            rich_help_panel="Accuracy",
        ),
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time between two rows. Default: the update interval, or 10ms.",
            rich_help_panel="Results",
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
            help="Write the trajectory: .nc (netCDF4, with units and provenance) or .csv (one row"
            " per sample, SI units).",
            rich_help_panel="Results",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Follow a scenario in time, as a fluid, and summarise delay, throughput and signals."""
    if plot is not None:
        check_path(plot, PICTURES, "--plot")
    if output is not None:
        check_path(output, tuple(WRITERS), "--output")
    described, title = load_scenario(scenario)

    from pi2_fluid.fluid.engine import simulate as simulate_fluid
    from pi2_fluid.result import summarize

    with Progress("simulating") as progress:
        dataset = simulate_fluid(
            described,
            controller=controller,
            linear=linear,
            sample=sample,
            step=step,
            tolerance=cast("float | None", tolerance),  # text, which the library reads
            progress=progress,
        )
    summary = summarize(dataset, after)
    if output is not None:
        WRITERS[output.suffix.lower()](dataset, output)
    if plot is not None:
        shown = dataset.sel(time=slice(summary.attrs["after"], None))
        _draw(shown, title, getattr(described.aqm, "target", None), plot)
    if as_json:
        _print_json(described, dataset, summary, output, plot)
    else:
        _print_text(title, dataset, summary, [path for path in (output, plot) if path is not None])


def _print_json(
    scenario: Any,
    dataset: xarray.Dataset,
    summary: xarray.Dataset,
    output: Path | None,
    plot: Path | None,
) -> None:
    print_json(
        {
            "scenario": scenario.name,
            "duration": float(scenario.duration),
            "controller": dataset.attrs["controller"],
            "linear": bool(dataset.attrs["linear"]),
            "engine": dataset.attrs["engine"],
            "after": summary.attrs["after"],
            "summary": {name: _plain(variable) for name, variable in summary.items()},
            "not_modelled": dataset.attrs["not_modelled"].split(", "),
            "output": None if output is None else str(output),
            "plot": None if plot is None else str(plot),
        }
    )


def _plain(variable: Any) -> Any:
    if variable.ndim == 0:
        return float(variable)
    labels = variable[variable.dims[0]].to_numpy()
    return {str(label): float(value) for label, value in zip(labels, variable, strict=True)}


def _print_text(
    title: str, dataset: xarray.Dataset, summary: xarray.Dataset, files: list[Path]
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
    for path in files:
        typer.echo(f"written: {path}")


def _delay_table(summary: xarray.Dataset) -> Any:
    table = make_grid("left", "left", "right", "left")
    for label, name in (("mean", "delay_mean"), ("P95", "delay_p95"), ("P99", "delay_p99")):
        first = "queue delay" if label == "mean" else ""
        table.add_row(first, label, f"{1e3 * float(summary[name]):.4g}", "ms")
    if "band" in summary.dims:
        for band, value in _plain(summary.queue_delay_mean).items():
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
    for name in summary.flows.to_numpy():
        mine = summary.sel(flows=name)
        table.add_row(
            str(name),
            f"{1e-6 * float(mine.throughput):.4g} Mbit/s",
            f"{float(mine.window_mean):.4g} segments",
            f"{100 * float(stretch.sel(flows=name).mean()):.4g} %",
        )
    return table


def _draw(dataset: xarray.Dataset, title: str, target: Any, path: Path) -> None:
    from matplotlib.figure import Figure

    from pi2_fluid.plot import draw_trajectory, page_style

    u = dataset.controller.to_numpy()
    bands = dataset.queue_delay.to_numpy().reshape(u.size, -1)
    names = [f"queue {band}" for band in dataset.band.to_numpy()] if bands.shape[1] > 1 else [""]
    classes = [str(name) for name in dataset.flows.to_numpy()]
    probability = {"controller": u} | _who_sees_what(dataset, classes, u)
    with page_style():
        figure = Figure(figsize=(8.0, 6.4))
        draw_trajectory(
            figure.subplots(3, 1, sharex=True),
            dataset.time.to_numpy(),
            dict(zip(names, bands.T, strict=True)),
            dict(zip(classes, dataset.throughput.to_numpy().T, strict=True)),
            dataset.capacity.to_numpy(),
            probability,
            target,
        )
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
        figure.savefig(path)


def _who_sees_what(dataset: xarray.Dataset, classes: list[str], u: Any) -> dict[str, Any]:
    """Return each signal probability that is not the controller's variable, with all who see it."""
    who: dict[bytes, list[str]] = {}
    values = dict(zip(classes, dataset.p.to_numpy().T, strict=True))
    for name, seen in values.items():
        if seen.any() and (seen != u).any():
            who.setdefault(seen.tobytes(), []).append(name)
    return {f"seen by {', '.join(names)}": values[names[0]] for names in who.values()}


COMMANDS: tuple[tuple[Any, str], ...] = (
    (
        simulate,
        (
            "Examples:\n\n"
            "pi2-fluid simulate pi2_fig11a_pie --after 20s\n\n"
            "pi2-fluid simulate mine.toml --plot mine.png -o mine.nc\n\n"
            "pi2-fluid scenarios pi2_fig12_pi2 | pi2-fluid simulate - --json\n\n"
            "JSON: scenario, duration, controller, linear, engine, after, summary (an object, SI"
            " units; per class or queue an object of its own), not_modelled, output, plot."
        ),
    ),
)
