"""Queues by what people feel: `pi2-fluid tune --traffic`, its screen, its picture and its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from pi2_fluid.apps.cli import codes
from pi2_fluid.apps.cli.engines import make_engines
from pi2_fluid.apps.cli.options import read_seeds
from pi2_fluid.apps.cli.output import make_console, make_grid, print_json
from pi2_fluid.apps.cli.pasting import in_shell
from pi2_fluid.apps.cli.requiring import read_margin
from pi2_fluid.apps.cli.wording import in_words_of_shell
from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError, show_value
from pi2_fluid.progress import Progress

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.design.outcomes.recommendation import Recommendation
    from pi2_fluid.network.traffic import Traffic
    from pi2_fluid.tc.qdisc import Qdisc

#: What Python's `tune` calls its arguments -> what the shell does.
OPTIONS: Final = {
    name: f"--{name.replace('_', '-')}"
    for name in ("aqm", "k", "hz", "target", "update_interval", "value", "loss", "seeds", "seconds")
} | {"floor_db": "--floor", "base": "--base", "engine": "--confirm"}
_CONFIRMED: Final = ("p99", "p99_after", "rate_measured")
_FEWEST: Final = 3  # seeds of an engine, of which there is an interval


def recommend_at_shell(
    traffic: Traffic,
    wishes: Mapping[str, Any],
    *,
    hz: int,
    floor: str,
    seeds: str,
    base: str | None,
    confirm: str | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Find the queue that is better for the people who send, and say so."""
    engine = None if confirm is None else make_engines([confirm], {}, "--confirm")[0]
    runs_now = None if base is None else read_base(base, hz)

    from pi2_fluid.design.outcomes.recommending import TuningInterrupted
    from pi2_fluid.design.tuning import tune

    interrupted = False
    with Progress("racing", "runs at most") as progress, in_words_of_shell(OPTIONS):
        try:
            best = tune(
                traffic=traffic,
                hz=hz,
                floor_db=read_margin(floor, "--floor"),
                seeds=read_seeds(seeds),
                base=runs_now,
                progress=progress,
                **wishes,
            )
        except TuningInterrupted as interruption:
            best, interrupted = interruption.recommendation, True
    confirmed = None
    if engine is not None and not interrupted:
        with Progress("confirming", "runs of a cell") as progress, in_words_of_shell(OPTIONS):
            confirmed = best.confirm(engine, progress=progress)
    if plot is not None:
        _draw(best, plot)
    if as_json:
        beside = None if confirmed is None else _plain(confirmed)
        print_json({"recommendation": best.to_dict(), "confirmation": beside})
    else:
        print_recommendation(best)
        if confirmed is not None:
            _print_confirmed(confirmed)
    if interrupted:
        typer.echo("interrupted: the table has what was known by then", err=True)
        raise typer.Exit(codes.INTERRUPTED)
    if not best.kept and (why := _why_no_line(best)):
        typer.echo(f"no line for tc: {why}", err=True)
        raise typer.Exit(codes.NO_LINE)


def read_base(text: str, hz: int) -> Qdisc:
    """Return the one queue that a line for tc, or what tc shows, is of.

    Raises
    ------
    QuantityError
        If it is none, or of several.
    """
    from pi2_fluid.tc.parsing import parse

    queues = parse(text, hz=hz)
    if len(queues) != 1:
        raise QuantityError(
            f"--base {show_value(text)} has {len(queues)} queues with a loop: give the line of one,"
            ' as "tc qdisc replace dev eth0 root dualpi2".'
        )
    return queues[0]


def print_recommendation(best: Recommendation) -> None:
    """Print the answer, the line, the outcomes and the margins."""
    from pi2_fluid.design.outcomes.wording import notes_of, outcomes_of

    console = make_console()
    console.print(best.verdict, style="bold")
    if not _why_no_line(best):
        console.print(in_shell(best.to_tc()), soft_wrap=True, style="bold")
    console.print()
    for line in outcomes_of(best):
        console.print(line, soft_wrap=True)
    console.print()
    for note in notes_of(best):
        console.print(note)


def _why_no_line(best: Recommendation) -> str:
    try:
        best.to_tc()
    except (DomainError, UnsupportedError) as error:
        return str(error)
    return ""


def _print_confirmed(runs: xarray.Dataset) -> None:
    """Print by cell what the engine says beside what packets say."""
    from pi2_fluid.design.outcomes.wording import change_in_words

    console = make_console()
    console.print(f"\n{runs.attrs['candidate']} against what runs now, in {runs.attrs['engine']}"
                  " and (in packets):")  # fmt: skip
    grid = make_grid("left", *["right"] * len(_CONFIRMED))
    grid.add_row("", "p99, %", "p99 after, %", "rate, points")
    for cell in runs["cell"].to_numpy():
        row = [str(cell)]
        for name in _CONFIRMED:
            at = runs.sel(cell=cell, measure=name)
            own = [float(at[end]) for end in ("change", "low", "high")]
            packets = change_in_words(name, [float(at["packets"])] * 3).partition(" ")[0]
            said = f"{change_in_words(name, own)} ({packets})"
            row.append("-" if said == "- (-)" else said)  # nothing of that kind happens there
        grid.add_row(*row)
    console.print(grid)
    apart = f"They differ by {float(runs.attrs['rms_z']):.2f} standard errors (root mean square)."
    left_out = runs.attrs["left_out"]
    console.print(f"{apart} Left out: {left_out}." if left_out else apart)


def _plain(found: xarray.Dataset) -> dict[str, Any]:
    names = [str(name) for name in found["measure"].to_numpy()]
    cells = [str(name) for name in found["cell"].to_numpy()]
    return {
        **found.attrs,
        "measures": {
            measure: {
                cell: {
                    str(name): float(found[name].sel(measure=measure, cell=cell))
                    for name in found.data_vars
                }
                for cell in cells
            }
            for measure in names
        },
    }


def _draw(best: Recommendation, path: Path) -> None:
    from matplotlib.figure import Figure

    from pi2_fluid.plot import page_style, save_picture, write_caption

    with page_style():
        figure = Figure(figsize=(9.0, 4.4))
        left, right = figure.subplots(1, 2)
        best.plot_front((left, right))
        title = best.traffic.title or best.traffic.name or "this traffic"
        write_caption(figure, f"Delay against rate: {title}", best.verdict)
        save_picture(figure, path)
