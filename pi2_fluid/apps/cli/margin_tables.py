"""Margins of a loop, as commands say them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.apps.cli.output import make_grid

if TYPE_CHECKING:
    from rich.table import Table

    from pi2_fluid.loop import Margins

__all__ = ["how_often", "margin_table", "said_of"]

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


def margin_table(said: Mapping[str, Any], update: str, smallest: str) -> Table:
    """Return a table of what was said.

    Parameters
    ----------
    said : mapping
        As `said_of` returns it.
    update : str
        Of which model it is.
    smallest : str
        What the modulus margin is the smallest of.
    """
    table = make_grid("left", "right", "left")
    at_phase, at_gain = (
        f"at {said[name]:.4g} rad/s" for name in ("phase_crossover", "gain_crossover")
    )
    for name, value, unit in (
        ("gain margin", said["gain_margin_db"], f"dB   {at_phase}"),
        ("phase margin", said["phase_margin_deg"], f"deg  {at_gain}"),
        ("delay margin", 1e3 * said["delay_margin"], "ms"),
        ("modulus margin", said["modulus_margin"], f"     smallest {smallest}"),
    ):
        table.add_row(name, f"{value:.4g}", unit)
    if math.isfinite(period := said["oscillation_period"]):
        table.add_row("period", "", how_often(period, said["gain_margin_db"]))
    table.add_row("verdict", str(said["verdict"]), f"in the {update} model")
    if said["remark"]:
        table.add_row("gain", "", said["remark"])
    return table
