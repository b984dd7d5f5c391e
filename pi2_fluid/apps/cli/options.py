"""Options that several commands have: each is declared here once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pi2_fluid.errors import QuantityError, show_value

__all__ = [
    "After",
    "Bin",
    "Clock",
    "Linear",
    "Output",
    "Plot",
    "Sample",
    "Seeds",
    "Step",
    "Threads",
    "Tolerance",
    "Update",
    "option",
    "read_seeds",
    "read_whole",
]


def option(
    metavar: str | None,
    text: str,
    panel: str | None = None,
    *names: str,
    show_default: bool = True,
) -> Any:
    """Declare an option: what its value is called, what it does, below which heading of the help.

    Its names are made of the argument's, unless others are given.
    """
    return typer.Option(
        *names, metavar=metavar, help=text, rich_help_panel=panel, show_default=show_default
    )


Update = Annotated[
    str | None,
    option(
        "NAME",
        "sampled: the queue updates every update interval, as in a kernel; or continuous, as"
        " in the papers' equations. Default sampled; fluid only.",
        "Fluid",
    ),
]
Linear = Annotated[
    bool,
    option(
        None,
        "Linearise around the operating point, without bounds: what margins speak of; fluid only.",
        "Fluid",
        "--linear",
    ),
]
Clock = Annotated[
    str | None,
    option(
        "NAME",
        "What sends packets. rate: the window per round-trip time, as in the papers' equations; or"
        " acks: acknowledgements, as in senders that do not pace. Default rate; fluid only.",
        "Fluid",
    ),
]
Tolerance = Annotated[
    str | None,
    option(
        "NUMBER",
        "Relative error allowed in each step. Default 1e-10, to compare 1e-6; fluid only.",
        "Fluid",
    ),
]
Step = Annotated[
    str | None,
    option("TIME", "Instead of a tolerance: a fixed longest step, e.g. 1ms; fluid only.", "Fluid"),
]
Sample = Annotated[
    str | None,
    option(
        "TIME", "Time between two rows. Default: the update interval, or 10ms; fluid only.", "Fluid"
    ),
]
Seeds = Annotated[
    str | None,
    option(
        "NUMBER | LIST",
        "How many runs, or their seeds: 5,17,23, or 7, for one. Default 10, of ns3 5, of linux 3;"
        " not for fluid.",
        "Packets",
    ),
]
Bin = Annotated[
    str | None,
    option("TIME", "Time over which a row is summed. Default 100ms; not for fluid.", "Packets"),
]
Threads = Annotated[
    str | None,
    option("NUMBER", "Runs side by side. Default: one for each core; not for fluid.", "Packets"),
]
After = Annotated[
    str | None,
    option(
        "TIME",
        "Leave what comes before out of the numbers, e.g. 20s.",
        "Results",
        show_default=False,
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
        "Write the numbers: .nc (netCDF4), with units and provenance; .csv (one row per"
        " sample or number, SI units); runs also as .zarr.",
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
