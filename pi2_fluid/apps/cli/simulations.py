"""Results over time: `pi2-fluid simulate`, and what it prints of a trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pi2_fluid.apps.cli import codes, completing, options
from pi2_fluid.apps.cli.changing import add_largest, buffer_note, print_delays
from pi2_fluid.apps.cli.declaring import TRAFFIC, Command
from pi2_fluid.apps.cli.engines import make_engines
from pi2_fluid.apps.cli.files import PICTURES, WRITERS, check_path
from pi2_fluid.apps.cli.output import JsonFlag, make_console, make_grid, print_json
from pi2_fluid.apps.cli.packets import print_runs, runs_as_json
from pi2_fluid.apps.cli.runs import check_after, file_names, plain, write_and_report
from pi2_fluid.apps.cli.scenarios import ScenarioArgument, load_scenario
from pi2_fluid.progress import Progress

if TYPE_CHECKING:
    import xarray
    from rich.table import Table

    from pi2_fluid.engines.engine import Engine
    from pi2_fluid.network.scenario import Scenario


def simulate(
    scenario: ScenarioArgument,
    engine: Annotated[
        str,
        options.option(
            "NAME",
            "What runs it. fluid: differential equations; packet: every packet, for several seeds;"
            " ns3: ns-3, where it is installed; linux: a Linux kernel (see pi2-fluid linux build).",
            complete=completing.engines,
        ),
    ] = "fluid",
    update: options.Update = None,
    linear: options.Linear = False,
    clock: options.Clock = None,
    tolerance: options.Tolerance = None,
    step: options.Step = None,
    sample: options.Sample = None,
    seeds: options.Seeds = None,
    bin: options.Bin = None,
    threads: options.Threads = None,
    after: options.After = "0s",
    plot: options.Plot = None,
    output: options.Output = None,
    as_json: JsonFlag = False,
) -> None:
    """Run traffic through a queue: delay, throughput, drops over time."""
    check_path(plot, PICTURES, "--plot")
    check_path(output, tuple(WRITERS), "--output")
    given = {"update": update, "linear": linear or None, "tolerance": tolerance, "step": step}
    given |= {"clock": clock, "sample": sample, "seeds": seeds, "bin": bin, "threads": threads}
    (chosen,) = make_engines([engine], given)
    described, title = load_scenario(scenario)
    begin = "0s" if after is None else after
    check_after(begin, float(described.duration))

    from pi2_fluid.results import summarize
    from pi2_fluid.results.schema import schema_of
    from pi2_fluid.results.settling import changes_of

    with Progress("simulating") as progress:
        dataset = chosen.run(described, progress)
    summary = summarize(dataset, begin)
    binned = schema_of(dataset).binned

    def draw(path: Path) -> None:
        from pi2_fluid.apps.cli.drawing import draw_result

        shown = dataset.sel(time=slice(summary.attrs["after"], None))
        fluid = None if binned else described
        draw_result(shown, title, _target(described), path, fluid)

    def report(files: Sequence[Path]) -> None:
        if not as_json:
            show = print_runs if binned else _print_trajectory
            show(f"{title}\n{chosen.way(dataset)}", dataset, summary)
            _print_end(chosen, dataset, files, buffer_note(described, summary))
            return
        missing = dataset.attrs["not_modelled"]
        print_json(
            {
                "scenario": described.name,
                "duration": float(described.duration),
                "engine": dataset.attrs["engine"],
                "interrupted": bool(dataset.attrs["interrupted"]),
                "after": summary.attrs["after"],
                "changes": [
                    {"at": at, "what": what}
                    for at, what in changes_of(
                        dataset, summary.attrs["after"], summary.attrs["until"]
                    )
                ],
                **chosen.remarks(dataset),
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


def _target(scenario: Scenario) -> float | None:
    """Return the queue delay aimed at, if all links aim at the same one."""
    targets: set[Any] = {node.aqm.target_delay for node in scenario.network.nodes}
    return targets.pop() if len(targets) == 1 else None


def _trajectory_as_json(dataset: xarray.Dataset, summary: xarray.Dataset) -> dict[str, Any]:
    del dataset
    return {"summary": {name: plain(variable) for name, variable in summary.items()}}


def _print_trajectory(way: str, dataset: xarray.Dataset, summary: xarray.Dataset) -> None:
    # What is no table is echoed, so that it is not broken into lines where nobody looks at them.
    typer.echo(f"{way}, {summary.attrs['after']:.4g} s to {summary.attrs['until']:.4g} s\n")
    console = make_console()
    several = "link" in summary.dims
    for name in summary.link.to_numpy() if several else ():
        typer.echo(f"link {name}")
        print_delays(_delay_table, dataset, summary.sel(link=name))
    if not several:
        print_delays(_delay_table, dataset, summary)
    console.print(_class_table(dataset, summary))


def _print_end(
    engine: Engine, dataset: xarray.Dataset, files: Sequence[Path], buffers: str
) -> None:
    """Print what to know of a result of either kind beside its numbers."""
    missing = dataset.attrs["not_modelled"]
    remarks = engine.remarks(dataset)
    beyond, heavy = remarks.get("beyond_the_laws"), remarks.get("sizes_without_mean")
    lines = [f"not modelled in {engine.medium or engine.name}: {missing}"] if missing else []
    lines += [f"beyond the laws: {beyond}"] if beyond else []
    if heavy:
        lines.append(f"sizes without a mean, which a few transfers of each seed decide: {heavy}")
    lines += [buffers] if buffers else []
    lines += [f"written: {path}" for path in files]
    if lines:
        typer.echo("\n" + "\n".join(lines))


def _delay_table(summary: xarray.Dataset) -> Table:
    table = make_grid("left", "left", "right", "left")
    for label, name in (("mean", "delay_mean"), ("P95", "delay_p95"), ("P99", "delay_p99")):
        first = "queue delay" if label == "mean" else ""
        table.add_row(first, label, f"{1e3 * float(summary[name]):.4g}", "ms")
    add_largest(table, summary)
    if "band" in summary.dims:
        for band, value in plain(summary.queue_delay_mean).items():
            table.add_row("", f"mean in {band}", f"{1e3 * value:.4g}", "ms")
    for first, name in (("utilization", "utilization"), ("dropped", "drop_fraction")):
        table.add_row(first, "", f"{100 * float(summary[name]):.4g}", "%")
    if float(summary.mark_fraction) > 0.0:
        table.add_row("marked", "", f"{100 * float(summary.mark_fraction):.4g}", "%")
    return table


def _class_table(dataset: xarray.Dataset, summary: xarray.Dataset) -> Table:
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


COMMANDS: tuple[Command, ...] = (
    Command(
        simulate,
        panel=TRAFFIC,
        examples=(
            "pi2-fluid simulate pi2_fig11a_pie --after 20s",
            "pi2-fluid simulate mine.toml --plot mine.png -o mine.nc",
            "pi2-fluid simulate pi2_fig11a_pi2 --clock acks --after 20s",
            "pi2-fluid simulate pi2_fig11a_pie --engine packet --seeds 20 --after 20s",
            "pi2-fluid simulate thesis_fig4_2_pie --engine ns3 --seeds 3 --after 20s",
            "pi2-fluid scenarios pi2_fig12_pi2 | pi2-fluid simulate - --json",
        ),
        notes=(
            "Of each change of the scenario the table has the largest delay and when it was. Then"
            " the delay that it settles to, and after how long. It has settled when it stays within"
            " half of that delay, or 1 ms."
        ),
        json={
            "scenario": "its name",
            "duration": "s",
            "engine": "fluid, packet, ns3 or linux",
            "interrupted": "by Ctrl-C",
            "after": "s, where the numbers begin",
            "changes": "a list of {at (s), what}",
            "summary": "numbers in SI units; per class, queue or change, counted from 0, an object"
            " of its own; of packets the mean of the seeds",
            "update": "of the fluid: sampled or continuous",
            "linear": "of the fluid",
            "compiled": "of the fluid: whether C computed it",
            "clock": "of the fluid, where it is acks",
            "beyond_the_laws": "of the fluid: where a law left its range",
            "seeds": "of packets",
            "bin": "of packets: s",
            "smallest": "of packets: as summary, the smallest of the seeds",
            "largest": "of packets: as summary, the largest of the seeds",
            "ns3_version": "of ns3",
            "sizes_without_mean": "of transfers without a mean size",
            "not_modelled": "what the engine leaves out",
            "output": "the file written, or null",
            "plot": "the picture, or null",
        },
    ),
)
