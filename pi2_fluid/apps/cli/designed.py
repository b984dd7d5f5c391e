"""Designs, as a screen of text and as a picture."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.apps.cli.output import make_console, make_grid
from pi2_fluid.apps.cli.pasting import in_shell, line_of
from pi2_fluid.design.clocks import said as of_both
from pi2_fluid.laws.registry import kind_of

if TYPE_CHECKING:
    import xarray
    from rich.console import Console
    from rich.table import Table

    from pi2_fluid.design.design import Design, Installed

_WIDEST: Final = 8


def print_design(design: Design, who: Iterable[str], name: str | None = None) -> None:
    """Print a design; `who` names the senders, `name` the queue that was asked for."""
    console = make_console()
    words = [
        f"alpha {design.alpha:g} Hz",
        f"beta {design.beta:g} Hz",
        f"T {1e3 * design.update_interval:.4g} ms",
        f"target {1e3 * design.target:.4g} ms",
    ]
    words += [] if design.k is None else [f"k {design.k:g}"]
    console.print(f"{name or kind_of(design.aqm)}: {', '.join(words)}", style="bold")
    console.print(f"for {' and '.join(who)}, {design.span}\n")
    grid = make_grid("left", "left")
    grid.add_row("margins left", f"{of_both(design.least, 1)}; at 0 it oscillates")
    if design.bound:
        grid.add_row("limited by", f"the {design.bound}")
    grid.add_row("least at", _place(design))
    _add_limits(grid, design)
    grid.add_row("another T", _timing(design))
    if design.installed is not None:
        grid.add_row("in Linux", _in_linux(design, design.installed))
    console.print(grid)
    said = (design.guarantee_text, _PACKETS, design.note)
    console.print(f"\n{' '.join(filter(None, said))}\n")
    if design.cost_text:
        console.print(f"What it costs: {design.cost_text} For other traffic use --traffic.\n")
    _print_alternatives(console, design)
    if design.verification is not None:
        _print_verification(console, design.verification)
    line = line_of(design)
    if line is not None:
        console.print()
        console.print(in_shell(line), soft_wrap=True, style="bold")


def print_nearest(design: Design) -> None:
    """Print the nearest line of tc, where there is none for what was asked, and what it leaves."""
    console = make_console()
    console.print("\nThe nearest line that tc has:\n")
    grid = make_grid("left", "left")
    stable = design.margins.verdict_code > 0
    text = f"{of_both(design.least, 1)}{'' if stable else ': not stable everywhere'}"
    grid.add_row("margins left", text)
    _add_limits(grid, design)
    console.print(grid)
    console.print()
    console.print(in_shell(design.to_tc()), soft_wrap=True, style="bold")


def _add_limits(grid: Table, design: Design) -> None:
    limit = f"{_limit(design.rtt_limit)} ms"
    if math.isinf(design.rtt_limit):
        limit = "20 times the largest one, and more"
    grid.add_row("stable up to", f"a round-trip time of {limit}, at every load")
    if math.isfinite(design.settling_time):
        settles = f"{design.settling_time:.2g} s after a change, at {1e3 * design.max_rtt:.4g} ms"
        grid.add_row("delay settles", settles)


#: What margins are not.
_PACKETS: Final = "Packets have 3 to 4 dB less where windows are of four segments."
#: What columns of alternatives are.
_LEGEND: Final = (
    ("gain, phase", "margins by rates"),
    ("acks", "gain margin by acknowledgements"),
    ("|1+L|", "distance from instability, 1 at most"),
    ("stable", "up to this round-trip time"),
    ("error", "delay above target times time, after 10 % more load; - if unstable"),
)


def _place(design: Design) -> str:
    """Return where the gain margin is least, by what people know: round trip, window, rate."""
    acks = design.ack_worst if design.least.gain_clock == "acks" else None
    worst = design.worst if acks is None else acks
    where = f"{1e3 * worst.rtt:.4g} ms round trip"
    if worst.p_prime == 0.0:
        return f"{where}, few fast {kind_of(worst.sender)} flows (very large windows)"
    p = worst.p_prime ** (2 if worst.sender.signal == "classic" else 1)
    window: Any = worst.sender.at_rest(worst.rtt, p)
    segments = float(window[0] if isinstance(window, tuple) else window)
    return (
        f"{where}, {segments:.3g} segments per {kind_of(worst.sender)} flow (p {p:.3g}, p'"
        f" {worst.p_prime:.3g})"
    )


def _in_linux(design: Design, runs: Installed) -> str:
    margins = f"{of_both(runs.least, 1)}"
    gains = f"alpha {runs.alpha:.4g}, beta {runs.beta:.4g}, T {1e3 * runs.update_interval:.4g} ms"
    if runs.kind != "dualpi2":
        gains += f" at CONFIG_HZ {design.hz} (its timer is a tick late)"
    return f"{gains}: {margins}"


def _print_alternatives(console: Console, design: Design) -> None:
    from pi2_fluid.design.alternatives import LABELS

    grid = make_grid("left", *["right"] * 9)
    grid.add_row("", "alpha", "beta", "T", "gain", "phase", "acks", "|1+L|", "stable", "error")
    grid.add_row("", "Hz", "Hz", "ms", "dB", "deg", "dB", "", "to ms", "ms s")
    rows = design.rows()
    for row in rows:
        unstable = row["verdict_code"] < 0
        grid.add_row(
            LABELS[row["design"]].replace(" ", "\N{NO-BREAK SPACE}"),
            _short(row["alpha"]),
            _short(row["beta"]),
            _short(1e3 * row["update_interval"], "3g"),
            _short(row["gain_margin_db"], "2f"),
            _short(row["phase_margin"], "1f"),
            "-"
            if math.isnan(row["ack_gain_margin_db"])
            else _short(row["ack_gain_margin_db"], "2f"),
            "none" if unstable else _short(row["modulus_margin"], "3f"),
            _limit(row["rtt_limit"]),
            "-" if unstable else _short(row["delay_error"], "2f", 1e3),
            style="red" if unstable else "bold" if row["design"] == "tuned" else None,
        )
    console.print(grid)
    begin = rows[0]["load_from"]
    cut = any(row["design"] == "rfc8033" and row["load_from"] > begin for row in rows)
    console.print()
    legend = make_grid("left", "left")
    for column, text in _LEGEND:
        legend.add_row(column, text)
    console.print(legend)
    if cut:
        console.print("PIE is judged from p = 1e-6 on, where a Reno flow has 1400 segments.")


def _print_verification(console: Console, table: xarray.Dataset) -> None:
    """Print the worst of the steps at each corner."""
    packets = table.attrs["read_as"] == "runs"
    place = {"fluid": "in the fluid", "packet": "packet by packet"}.get(
        table.attrs["engine"], f"in {table.attrs['options']}"
    )
    console.print(f"\nSteps of load and capacity by 10 %, {place} (W: segments of a flow):")
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


def _fluid_cells(steps: xarray.Dataset) -> list[str]:
    words = [] if bool(steps["decays"].all()) else ["does not settle"]
    words += ["p' meets a bound"] if bool(steps["clamped"].any()) else []
    excursions = [f"{1e3 * float(steps[name].max()):.1f}" for name in ("peak", "trough")]
    return [*excursions, f"{float(steps['settling'].max()):.2g}", "", "", ", ".join(words)]


def _packet_cells(steps: xarray.Dataset) -> list[str]:
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


def _timing(design: Design) -> str:
    low, high = design.interval_range
    least = _ms(low) if low > 0.0 else f"{_ms(design.update_interval / 10.0)} or less"
    most = _ms(high) if math.isfinite(high) else f"{_ms(10.0 * design.update_interval)} or more"
    late = _ms(design.jitter_margin)
    return f"stable from {least} to {most}, or updated {late} late"


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms" if seconds < 1.0 else f"{seconds:.3g} s"


def _limit(seconds: float) -> str:
    return "any" if math.isinf(seconds) else _short(1e3 * seconds)


def _short(value: float, form: str = "4g", factor: float = 1.0) -> str:
    """Return a number in at most eight characters, however large or small."""
    text = f"{factor * value:.{form}}"
    return text if len(text) <= _WIDEST else f"{factor * value:.2g}"


def draw_design(design: Design, path: Path) -> None:
    """Draw response against robustness into a file."""
    from matplotlib.figure import Figure

    from pi2_fluid.plot import page_style, save_picture, write_caption

    with page_style():
        figure = Figure(figsize=(7.5, 4.8))
        design.plot(figure.add_subplot())
        write_caption(
            figure,
            "Response against robustness: faster is up, safer is right",
            f"{design.span}, T = {1e3 * design.update_interval:.4g} ms for the curve, by rates",
            note=f"{design.guarantee_text}\n{_PACKETS}",
        )
        save_picture(figure, path)
