"""Margins of a loop by both clocks: found, and as commands say them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.apps.cli.chance import (
    Chance,
    caution_of,
    chance_of,
    in_json,
    said_of_chance,
)
from pi2_fluid.apps.cli.output import make_grid
from pi2_fluid.apps.cli.requiring import said_of_required
from pi2_fluid.design.clocks import BY_CLOCK, Least, clocks_text, least_among
from pi2_fluid.errors import AssumptionWarning, DomainError, SolverError, UnsupportedError

if TYPE_CHECKING:
    from rich.console import Console

    from pi2_fluid.loop import Loop, Margins
    from pi2_fluid.loop.matrix.network_loop import NetworkLoop

_SAID: Final = (
    "gain_margin_db",
    "lower_gain_margin_db",
    "phase_margin_deg",
    "gain_crossover",
    "phase_crossover",
    "oscillation_period",
    "delay_margin",
    "modulus_margin",
    "verdict",
)
_WORST_FIRST: Final = ("unstable", "undecided", "stable")
#: Rows of the table: what, of which number, times what, in which unit, and what that is.
_ROWS: Final = (
    ("gain margin", "gain_margin_db", 1.0, "dB", "the gain may grow by this"),
    ("phase margin", "phase_margin_deg", 1.0, "deg", "the phase may lag by this"),
    ("delay margin", "delay_margin", 1e3, "ms", "signals may lag by this"),
    ("modulus margin", "modulus_margin", 1.0, "", "smallest {}"),
    ("phase crossover", "phase_crossover", 1.0, "rad/s", "where the gain margin is"),
    ("gain crossover", "gain_crossover", 1.0, "rad/s", "where the phase margin is"),
    (
        "oscillation period",
        "oscillation_period",
        1.0,
        "s",
        "at the gain margin",
    ),
)
_MODELS: Final = {
    "sampled": "sampled: the queue updates every T, as in a kernel",
    "delayed": "delayed: the update interval T is taken as a delay of T/2",
    "continuous": "continuous: the queue acts without an update interval",
}
_RTT_TERMS: Final = {
    "frozen": "round-trip times held constant in the window law, as in the papers",
    "exact": "round-trip times vary with the queue",
}


@dataclass(frozen=True)
class BothClocks:
    """One loop by rates and by acknowledgements, or by one of them; the smaller margin counts."""

    loops: dict[str, Loop | NetworkLoop]
    """By "rate" and "acks"."""
    why_no_acks: str = ""

    @property
    def first(self) -> Loop | NetworkLoop:
        """One of the loops, for what is the same in both."""
        return next(iter(self.loops.values()))

    @cached_property
    def margins(self) -> dict[str, Margins]:
        """The margins by each clock."""
        return {clock: loop.margins() for clock, loop in self.loops.items()}

    @cached_property
    def chance(self) -> dict[str, Chance | None]:
        """What chance adds to the delay, by each clock; None where that is not derived."""
        return {clock: chance_of(loop) for clock, loop in self.loops.items()}

    @property
    def least(self) -> Least:
        """The smaller margins, and the clock of each."""
        return least_among(
            {
                clock: (float(one.gain_margin_db), float(one.phase_margin_deg))
                for clock, one in self.margins.items()
            }
        )

    @property
    def verdict(self) -> str:
        """The worse of the verdicts."""
        return min((str(one.verdict) for one in self.margins.values()), key=_WORST_FIRST.index)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        each = {
            clock: {**said_of(one), **in_json(self.chance[clock])}
            for clock, one in self.margins.items()
        }
        return {
            "verdict": self.verdict,
            "least": self.least._asdict(),
            "margins": each.get("rate"),
            "ack_margins": each.get("acks"),
            "why_no_acks": self.why_no_acks or None,
        }


def find_margins(
    make: Callable[..., Loop | NetworkLoop],
    update: str | None,
    clock: str | None,
    bunch: float,
) -> BothClocks:
    """Return a loop by both clocks, or by the one that was asked for.

    Parameters
    ----------
    make : callable
        Returns the loop, of ``update``, ``clock`` and ``bunch``.
    update : str or None
        None: sampled, and continuous where the loop has no update interval to be sampled with.
    clock : {"rate", "acks"} or None
        None: both, or by rates alone where there is no loop by acknowledgements.
    bunch : float
        Of the loop by acknowledgements.

    Raises
    ------
    DomainError, ScenarioError, SolverError, UnsupportedError
        As `Loop`.
    """
    bunched = ("acks",) if clock is None else (clock,)

    def made(clock: str, update: str) -> Loop | NetworkLoop:
        return make(update=update, clock=clock, bunch=bunch if clock in bunched else 0.0)

    first = clock or "rate"
    # What is assumed is said once, of the loop that is made first.
    try:
        loop = made(first, update or "sampled")
    except UnsupportedError:
        if update is not None:
            raise
        with warnings.catch_warnings(action="ignore", category=AssumptionWarning):
            loop = made(first, "continuous")
    if clock is not None:
        return BothClocks({clock: loop})
    with warnings.catch_warnings(action="ignore", category=AssumptionWarning):
        try:
            acks = made("acks", loop.update)
            acks.margins()
        except (DomainError, SolverError, UnsupportedError) as error:
            why = str(error).rpartition(": ")[0] or str(error)  # nothing is to be done about it
            return BothClocks({"rate": loop}, f"{why.rstrip('.')}.")
    return BothClocks({"rate": loop, "acks": acks})


def said_of(margins: Margins) -> dict[str, Any]:
    """Return what JSON says of the margins of a loop."""
    return {**{name: getattr(margins, name) for name in _SAID}, "remark": margins.remark}


def how_often(period: float, gain_margin_db: float) -> str:
    """Return in words how often a loop oscillates, or would with more gain.

    Parameters
    ----------
    period : float
        Of the oscillation (s).
    gain_margin_db : float
        What is left before it does.

    Examples
    --------
    >>> how_often(0.9512, 4.7)
    'would oscillate about once every 0.951 s (1.05 Hz)'
    >>> how_often(0.0312, -0.1)
    'oscillates about once every 31.2 ms (32.1 Hz)'
    """
    verb = "oscillates" if gain_margin_db < 0.0 else "would oscillate"
    text = f"{period:.3g} s" if period >= 0.1 else f"{1e3 * period:.3g} ms"
    return f"{verb} about once every {text} ({1.0 / period:.3g} Hz)"


def first_line(found: BothClocks) -> str:
    """Return the verdict and one margin, the smaller of the clocks."""
    margin, verdict = found.least.gain_margin_db, found.verdict.upper()
    if margin == math.inf:
        return f"{verdict} at any gain"
    if margin == -math.inf:
        return f"{verdict}: no smaller gain would make it stable"
    return f"{verdict}: gain margin {margin:.3g} dB"


def print_margins(
    console: Console,
    clocks: BothClocks,
    of: Mapping[str, str],
    required: float | None,
    smallest: str = "|1 + L|",
) -> None:
    """Print the verdict and one margin first, then of what, then the table, then the model.

    Parameters
    ----------
    console : Console
    clocks : BothClocks
    of : mapping
        Rows that say what is judged.
    required : float or None
        The gain margin (dB) that there is to be.
    smallest : str
        What the modulus margin is the smallest of.
    """
    console.print(first_line(clocks), style="bold")
    if required is not None:
        console.print(said_of_required(clocks.least.gain_margin_db, required), style="bold")
    what = make_grid("left", "left")
    for name, text in of.items():
        what.add_row(name, text)
    console.print(what)
    console.print()
    by_clock = clocks.margins
    table = make_grid("left", *["right"] * len(by_clock), "left")
    table.add_row("", *(BY_CLOCK[clock] for clock in by_clock), "")
    for name, key, factor, unit, text in _ROWS:
        values = [factor * float(getattr(one, key)) for one in by_clock.values()]
        cells = ["unknown" if math.isnan(v) else f"{v:.4g} {unit}".rstrip() for v in values]
        table.add_row(name, *cells, text.format(smallest))
    table.add_row("verdict", *(str(one.verdict) for one in by_clock.values()), "")
    if cells := said_of_chance(list(clocks.chance.values())):
        table.add_row("delay by chance", *cells, "its standard deviation")
    console.print(table)
    console.print()
    if line := caution_of(list(clocks.chance.values())):
        console.print(line)
    for clock, one in by_clock.items():
        if one.remark:
            console.print(f"{BY_CLOCK[clock]}: {one.remark}.")
        if one.caution:
            console.print(f"caution: {one.caution}")
    loop = clocks.first
    console.print(f"Model: {_MODELS[loop.update]}; {_RTT_TERMS[loop.rtt_terms]}.")
    console.print(clocks_text(by_clock))
    if clocks.why_no_acks:
        console.print(f"Not judged by acknowledgements: {clocks.why_no_acks}")
