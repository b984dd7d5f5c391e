"""Designs: `pi2-fluid tune`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pi2_fluid.cli.files import PICTURES, check_path
from pi2_fluid.cli.output import JsonFlag, Progress, make_console, make_grid, print_json
from pi2_fluid.cli.pasting import in_shell, line_of, word_on
from pi2_fluid.cli.senders import NAMES, read_senders
from pi2_fluid.model.registry import kind_of

if TYPE_CHECKING:
    from pi2_fluid.design.design import Design

__all__ = ["COMMANDS", "tune"]


def _option(metavar: str, text: str, panel: str, *names: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=panel)


def tune(
    max_rtt: Annotated[
        str | None,
        _option("TIME", "Largest round-trip time in the loop, target included: 100ms.", "Region"),
    ] = None,
    max_base_rtt: Annotated[
        str | None,
        _option("TIME", "Instead, the largest round-trip time of the path alone: 80ms.", "Region"),
    ] = None,
    min_rtt: Annotated[
        str | None,
        _option(
            "TIME",
            "The smallest, of the same kind. Default a twentieth, or the target if that is less.",
            "Region",
        ),
    ] = None,
    sender: Annotated[
        str,
        _option("NAMES", f"Who sends, with commas: {', '.join(NAMES)}.", "Region"),
    ] = "reno",
    max_window: Annotated[
        str | None,
        _option("SEGMENTS", "The largest window of a flow. Default any.", "Region"),
    ] = None,
    aqm: Annotated[
        str, _option("NAME", "Which queue: pi2, coupled, dualpi2, pie or pi.", "Queue")
    ] = "pi2",
    update_interval: Annotated[
        str | None,
        _option("TIME", "Time between updates. Default a sixth of the largest RTT.", "Queue"),
    ] = None,
    target: Annotated[
        str | None,
        _option(
            "TIME",
            "Queue delay aimed at. Default 20ms (pie, dualpi2: 15ms) or a sixth of the largest RTT,"
            " whichever is less.",
            "Queue",
        ),
    ] = None,
    gain_margin: Annotated[
        str, _option("DB", "Gain margin to be left everywhere.", "Margins")
    ] = "6",
    phase_margin: Annotated[
        str, _option("DEG", "Phase margin to be left everywhere.", "Margins")
    ] = "30",
    modulus_margin: Annotated[
        str, _option("NUMBER", "Smallest |1 + L| to be left, 0: any.", "Margins")
    ] = "0",
    objective: Annotated[
        str,
        _option(
            "NAME",
            "recovery: smallest delay error after a step; bandwidth: fastest, for a tenth more of"
            " it; gain: the queue's default gains times a factor.",
            "Margins",
        ),
    ] = "recovery",
    mode: Annotated[
        str, _option("NAME", "sampled (exact), delayed or continuous.", "Margins")
    ] = "sampled",
    verify: Annotated[
        str | None,
        _option(
            "NAME",
            "Also try steps of load and capacity at the corners of the region: fluid, or packets"
            " (some ten seconds for each sender).",
            "Output",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        _option("FILE", "Draw response against robustness, as .png, .svg or .pdf.", "Output"),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Find alpha, beta and T for a largest round-trip time, with margins at every RTT and load."""
    if plot is not None:
        check_path(plot, PICTURES, "--plot")
    who = read_senders(sender)

    from pi2_fluid.design.tuning import tune as find

    arguments: dict[str, Any] = {
        "gain_margin_db": gain_margin,
        "phase_margin_deg": phase_margin,
        "modulus_margin": modulus_margin,
        "max_window": max_window,
    }
    with Progress("verifying", "cases") as progress:
        design = find(
            max_rtt,
            max_base_rtt=max_base_rtt,
            min_rtt=min_rtt,
            senders=list(who.values()),
            aqm=aqm,
            update_interval=update_interval,
            target=target,
            mode=mode,
            objective=objective,
            verify=verify,
            progress=progress,
            **arguments,
        )
    if plot is not None:
        _draw(design, plot)
    if as_json:
        data = design.to_dict()
        alternatives = data.pop("alternatives")
        print_json({"design": data, "tc": line_of(design), "alternatives": alternatives})
    else:
        _print(design, who)


def _print(design: Design, who: Iterable[str]) -> None:
    console = make_console()
    words = [
        f"alpha {design.alpha:g} Hz",
        f"beta {design.beta:g} Hz",
        f"T {1e3 * design.update_interval:.4g} ms",
        f"target {1e3 * design.target:.4g} ms",
    ]
    words += [] if design.k is None else [f"k {design.k:g}"]
    console.print(f"{kind_of(design.aqm)}: {', '.join(words)}", style="bold")
    console.print(f"for {' and '.join(who)}, {design.span}\n")
    margins, worst = design.margins, design.worst
    load = "a vanishing load" if worst.p_prime == 0.0 else f"p' {worst.p_prime:.3g}"
    grid = make_grid("left", "left")
    grid.add_row(
        "margins left",
        f"{margins.gain_margin_db:.2f} dB, {margins.phase_margin_deg:.1f} deg, |1 + L|"
        f" {margins.modulus_margin:.2f}; {design.guarantee}, see below",
    )
    at = f"rtt {1e3 * worst.rtt:.4g} ms and {load} of {kind_of(worst.sender)}"
    grid.add_row("worst at", at)
    limit = f"{_limit(design.rtt_limit)} ms in the loop, at every load"
    if math.isinf(design.rtt_limit):
        limit = "any RTT, as far as tried: 20 times the largest"
    grid.add_row("stable up to", limit)
    grid.add_row("timing", _timing(design))
    grid.add_row(
        "response",
        f"bandwidth {design.bandwidth:.3g} rad/s, settles in {design.settling_time:.2g} s"
        f" at {1e3 * design.max_rtt:.4g} ms",
    )
    if design.installed is not None:
        runs = design.installed
        grid.add_row(
            "in Linux",
            f"alpha {runs.alpha:.4g}, beta {runs.beta:.4g}, T {1e3 * runs.update_interval:.4g} ms:"
            f" {runs.gain_margin_db:.2f} dB, {runs.phase_margin_deg:.1f} deg, {runs.guarantee}",
        )
    console.print(grid)
    console.print(f"\n{design.guarantee_text}\n")
    _print_alternatives(console, design)
    if design.verification is not None:
        _print_verification(console, design.verification)
    _print_line(console, design)


def _print_alternatives(console: Any, design: Design) -> None:
    from pi2_fluid.design.alternatives import LABELS

    grid = make_grid("left", *["right"] * 8)
    grid.add_row("", "alpha", "beta", "T", "gain", "phase", "|1+L|", "stable", "error")
    grid.add_row("", "Hz", "Hz", "ms", "dB", "deg", "", "to ms", "ms s")
    rows = design.rows()
    for row in rows:
        unstable = row["verdict_code"] < 0
        grid.add_row(
            LABELS[row["design"]].replace(" ", "\N{NO-BREAK SPACE}"),
            f"{row['alpha']:.4g}",
            f"{row['beta']:.4g}",
            f"{1e3 * row['update_interval']:.3g}",
            f"{row['gain_margin']:.2f}",
            f"{row['phase_margin']:.1f}",
            "unstable" if unstable else f"{row['modulus_margin']:.3f}",
            _limit(row["rtt_limit"]),
            "-" if unstable else f"{1e3 * row['delay_error']:.2f}",
            style="red" if unstable else "bold" if row["design"] == "tuned" else None,
        )
    console.print(grid)
    begin = rows[0]["load_from"]
    cut = any(row["design"] == "rfc8033" and row["load_from"] > begin for row in rows)
    console.print(
        "\nThe smallest margins in the same region; error: of the delay, integrated, after 10 %"
        " more load; less is faster, but rings where |1+L| is small."
        + (" PIE is judged from p = 1e-6 on." if cut else "")
    )


def _print_verification(console: Any, table: Any) -> None:
    """Print the worst of the steps at each corner."""
    packets = table.attrs["engine"] == "packets"
    console.print(
        f"\nSteps of load and capacity by 10 %, {'packet by packet' if packets else 'in the fluid'}"
        " (W: segments of a flow):"
    )
    grid = make_grid("left", *["right"] * 5, "left")
    if packets:
        grid.add_row("", "peak", "settles", "mean", "sd", "99 %", "")
        grid.add_row("", "ms", "s", "ms", "ms", "ms", "")
    else:
        grid.add_row("", "peak", "trough", "settles", "", "", "")
        grid.add_row("", "ms", "ms", "s", "", "", "")
    cases = zip(*(table[name].to_numpy() for name in ("case", "step")), strict=True)
    corners = [case.removesuffix(f" {step}") for case, step in cases]
    for corner in dict.fromkeys(corners):
        steps = table.isel(case=[index for index, name in enumerate(corners) if name == corner])
        cells = [corner.replace(" ", "\N{NO-BREAK SPACE}")]
        cells += _packet_cells(steps) if packets else _fluid_cells(steps)
        grid.add_row(*cells)
    console.print(grid)


def _fluid_cells(steps: Any) -> list[str]:
    words = [] if bool(steps["decays"].all()) else ["does not settle"]
    words += ["p' meets a bound"] if bool(steps["clamped"].any()) else []
    excursions = [f"{1e3 * float(steps[name].max()):.1f}" for name in ("peak", "trough")]
    return [*excursions, f"{float(steps['settling'].max()):.2g}", "", "", ", ".join(words)]


def _packet_cells(steps: Any) -> list[str]:
    why = [str(text) for text in steps["why"].to_numpy() if text]
    word = (
        "as theory has it"
        if bool(steps["within"].all())
        else "outside: " + "; ".join(dict.fromkeys(why))
    )
    delays = [
        f"{1e3 * float(steps['mean'].mean()):.1f}",
        *(f"{1e3 * float(steps[name].max()):.1f}" for name in ("sd", "p99")),
    ]
    peak = f"{1e3 * float(steps['peak'].max()):.1f}"
    return [peak, f"{float(steps['settling'].max()):.2g}", *delays, word]


def _print_line(console: Any, design: Design) -> None:
    line, word = line_of(design), word_on(design)
    console.print()
    if line is not None:
        console.print(in_shell(line), soft_wrap=True, style="bold")
    if word:
        console.print(word)


def _timing(design: Design) -> str:
    low, high = (1e3 * end for end in design.interval_range)
    least = f"{low:.3g}" if low > 0.0 else f"{100 * design.update_interval:.3g} or less"
    most = f"{high:.3g}" if math.isfinite(high) else f"{1e4 * design.update_interval:.3g} or more"
    return f"T from {least} to {most} ms; updates {1e3 * design.jitter_margin:.3g} ms off beat"


def _limit(seconds: float) -> str:
    return "any" if math.isinf(seconds) else f"{1e3 * seconds:.4g}"


def _draw(design: Design, path: Path) -> None:
    from matplotlib.figure import Figure

    from pi2_fluid.plot import page_style, save_picture, write_caption

    with page_style():
        figure = Figure(figsize=(7.5, 4.8))
        design.plot(figure.add_subplot())
        write_caption(
            figure,
            "Response against robustness: faster is up, safer is right",
            f"{design.span}, T = {1e3 * design.update_interval:.4g} ms for the curve",
            note=design.guarantee_text,
        )
        save_picture(figure, path)


COMMANDS: tuple[tuple[Any, str], ...] = (
    (
        tune,
        (
            "Examples:\n\n"
            "pi2-fluid tune --max-rtt 100ms\n\n"
            "pi2-fluid tune --max-base-rtt 80ms --aqm dualpi2 --sender reno,scalable\n\n"
            "pi2-fluid tune --max-rtt 50ms --phase-margin 45 --plot designs.png --json\n\n"
            "pi2-fluid tune --max-rtt 100ms --verify fluid\n\n"
            "JSON: design (an object with the fields of Design, SI units; a p_prime of 0 is the"
            " limit of no load), tc (the line that asks for it; null if there is none) and"
            " alternatives (a list, the design itself first). What is"
            ' infinite is the text "inf".\n\n'
            "The exit code is 0; 2 if the margins cannot be had."
        ),
    ),
)
