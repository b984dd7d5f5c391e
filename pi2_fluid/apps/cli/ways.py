"""Which of its two ways `pi2-fluid tune` is asked to go: by traffic, or by margins."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import typer

from pi2_fluid.errors import QuantityError

#: Options that say who sends; those that go with them; and those that go with a largest RTT.
_WHO: Final = ("traffic", "rtt", "long", "l4s")
_BESIDE_WHO: Final = ("more", "value", "loss", "floor", "seeds", "seconds", "base", "confirm")
_OF_MARGINS: Final = (
    *("max_rtt", "max_base_rtt", "min_rtt", "sender", "flows", "max_window", "load", "objective"),
    *("gain_margin", "phase_margin", "modulus_margin", "update", "verify"),
)


def is_by_traffic(context: typer.Context) -> bool:
    """Say which of the two ways is asked for, and refuse options of the other."""
    options = [
        name
        for name in context.params
        if (source := context.get_parameter_source(name)) and source.name == "COMMANDLINE"
    ]
    if by_traffic := any(name in _WHO for name in options):
        _refuse(options, _OF_MARGINS, "goes with a largest round-trip time, not with traffic")
    else:
        if not {"max_rtt", "max_base_rtt"} & set(options):
            raise QuantityError(
                "say who sends, as --traffic home or --rate 20Mbit/s --rtt 10ms..80ms --long 1:4,"
                " for what people feel; or, for margins, give --max-rtt, with the queue's delay, or"
                " --max-base-rtt, without it."
            )
        _refuse(options, _BESIDE_WHO, "goes with traffic, which is not given")
    return by_traffic


def _refuse(given: Collection[str], others: Collection[str], why: str) -> None:
    for name in given:
        if name in others:
            shown = "a file" if name == "more" else f"--{name.replace('_', '-')}"
            raise QuantityError(f"{shown} {why}: leave it out.")
