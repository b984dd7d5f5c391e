"""Options that several commands have: each is declared here once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pi2_fluid.errors import QuantityError, show_value

__all__ = [
    "AfterOption",
    "BinOption",
    "LinearFlag",
    "OutputOption",
    "PlotOption",
    "SampleOption",
    "SeedsOption",
    "StepOption",
    "ThreadsOption",
    "ToleranceOption",
    "UpdateOption",
    "read_seeds",
    "read_whole",
]

UpdateOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="sampled: the queue updates every update interval, as in a kernel; or continuous, as"
        " in the papers' equations. Default sampled; fluid only.",
        rich_help_panel="Fluid",
    ),
]
LinearFlag = Annotated[
    bool,
    typer.Option(
        "--linear",
        help="Linearise around the operating point, without bounds: what margins speak of;"
        " fluid only.",
        rich_help_panel="Fluid",
    ),
]
ToleranceOption = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="Relative error allowed in each step. Default 1e-10, to compare 1e-6; fluid only.",
        rich_help_panel="Fluid",
    ),
]
StepOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Instead of a tolerance: a fixed longest step, e.g. 1ms; fluid only.",
        rich_help_panel="Fluid",
    ),
]
SampleOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Time between two rows. Default: the update interval, or 10ms; fluid only.",
        rich_help_panel="Fluid",
    ),
]
SeedsOption = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER | LIST",
        help="How many runs, or their seeds: 5,17,23, or 7, for one. Default 10, of ns3 5;"
        " packet and ns3 only.",
        rich_help_panel="Packets",
    ),
]
BinOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Time over which a row is summed. Default 100ms; packet and ns3 only.",
        rich_help_panel="Packets",
    ),
]
ThreadsOption = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="Runs side by side. Default: one for each core; packet and ns3 only.",
        rich_help_panel="Packets",
    ),
]
AfterOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Leave what comes before out of the numbers, e.g. 20s.",
        show_default=False,
        rich_help_panel="Results",
    ),
]
PlotOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Draw it: .png, .svg or .pdf.", rich_help_panel="Results"),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write the numbers: .nc (netCDF4), with units and provenance; .csv (one row per"
        " sample or number, SI units); runs also as .zarr.",
        rich_help_panel="Results",
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
