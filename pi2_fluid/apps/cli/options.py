"""Options that several commands have: each is declared here once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from pi2_fluid.apps.cli.completing import one_of
from pi2_fluid.errors import QuantityError, show_value


def option(
    metavar: str | None,
    text: str,
    panel: str | None = None,
    *names: str,
    show_default: bool = True,
    complete: Callable[[], list[str]] | None = None,
) -> Any:
    """Declare an option: what its value is called, what it does, below which heading of the help.

    Its names are made of the argument's, unless others are given. `complete` returns what Tab
    offers as its value; where there is none, that is files.
    """
    return typer.Option(
        *names,
        metavar=metavar,
        help=text,
        rich_help_panel=panel,
        show_default=show_default,
        autocompletion=complete,
    )


#: Headings of options that one kind of engine alone has.
_FLUID: Final = "Fluid only"
_PACKETS: Final = "Packets, ns-3 and Linux only"

Update = Annotated[
    str | None,
    option(
        "NAME",
        "When the queue updates. sampled: every update interval, as in a kernel; continuous:"
        " always, as in the papers. Default sampled.",
        _FLUID,
        complete=one_of("sampled", "continuous"),
    ),
]
Linear = Annotated[
    bool,
    option(
        None,
        "Linearise around the operating point: the model that margins are of.",
        _FLUID,
        "--linear",
    ),
]
Clock = Annotated[
    str | None,
    option(
        "NAME",
        "When flows send. rate: a window per round-trip time, as in the papers; acks: when an"
        " acknowledgement comes, as senders that do not pace. Default rate.",
        _FLUID,
        complete=one_of("rate", "acks"),
    ),
]
Tolerance = Annotated[
    str | None,
    option("NUMBER", "Relative error of a step. Default 1e-10, to compare 1e-6.", _FLUID),
]
Step = Annotated[
    str | None, option("TIME", "Instead of a tolerance: a fixed longest step, as 1ms.", _FLUID)
]
Sample = Annotated[
    str | None,
    option("TIME", "Time between two rows. Default: the update interval, or 10ms.", _FLUID),
]
Seeds = Annotated[
    str | None,
    option(
        "NUMBER | LIST",
        "How many runs, or their seeds: 5,17,23 (7, of one). Default 10, of ns3 5, of linux 3.",
        _PACKETS,
    ),
]
Bin = Annotated[
    str | None, option("TIME", "Time that a row is summed over. Default 100ms.", _PACKETS)
]
Threads = Annotated[
    str | None, option("NUMBER", "Runs side by side. Default: one for each core.", _PACKETS)
]
After = Annotated[
    str | None,
    option(
        "TIME", "Leave out of the numbers what comes before, as 20s.", "Results", show_default=False
    ),
]
Plot = Annotated[
    Path | None,
    option("FILE", "Draw it: .png, .svg or .pdf.", "Results"),
]
Output = Annotated[
    Path | None,
    option(
        "FILE",
        "Write the numbers. .nc: netCDF4, with units and provenance; .csv: SI units, a row per"
        " sample or number; .zarr: runs alone.",
        "Results",
        "-o",
        "--output",
    ),
]


def read_seeds(text: str) -> int | list[int]:
    """Return how many seeds, or which ones if there is a comma."""
    try:
        if "," not in text:
            return int(text)
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise QuantityError(
            f"--seeds {show_value(text)} are no seeds: give how many, e.g. 10, or a list, e.g."
            " 5,17,23."
        ) from None


def read_whole(text: str, option: str, of: str, low: int = 1) -> int:
    """Return a whole number, which is `low` at least."""
    try:
        number = int(text)
    except ValueError:
        number = low - 1
    if number < low:
        raise QuantityError(
            f"{option} {show_value(text)} is no number of {of}: give {low} or more."
        )
    return number


def read_hz(text: str) -> int:
    """Return the CONFIG_HZ of a kernel; whether there is such a one is asked where it is used.

    Raises
    ------
    QuantityError
        If it is no whole number.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise QuantityError(
            f"--hz {show_value(text)} is no whole number: give the kernel's CONFIG_HZ, as 250."
        )
    return int(text)
