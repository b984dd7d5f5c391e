"""Margins of a loop, as commands say them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.apps.cli.output import make_grid

if TYPE_CHECKING:
    from rich.table import Table

    from pi2_fluid.loop import Margins

__all__ = ["margin_table", "said_of", "swing"]

_SAID: Final = (
    "gain_margin_db",
    "lower_gain_margin_db",
    "phase_margin_deg",
    "gain_crossover",
    "phase_crossover",
    "swing_period",
    "delay_margin",
    "modulus_margin",
    "verdict",
)


def said_of(margins: Margins) -> dict[str, Any]:
    """Return what JSON says of the margins of a loop."""
    return {**{name: getattr(margins, name) for name in _SAID}, "remark": margins.remark}


def swing(period: float) -> str:
    """Return in words how often a loop swings, by the time that one takes (s).

    Examples
    --------
    >>> swing(0.9512), swing(0.0312)
    ('about once every 0.951 s (1.05 Hz)', 'about once every 31.2 ms (32.1 Hz)')
    """
    text = f"{period:.3g} s" if period >= 0.1 else f"{1e3 * period:.3g} ms"
    return f"about once every {text} ({1.0 / period:.3g} Hz)"


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
    if math.isfinite(period := said["swing_period"]):
        name = "would swing" if said["gain_margin_db"] >= 0.0 else "swings"
        table.add_row(name, "", swing(period))
    table.add_row("verdict", str(said["verdict"]), f"in the {update} model")
    if said["remark"]:
        table.add_row("gain", "", said["remark"])
    return table
