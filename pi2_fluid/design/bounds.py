"""Which bound binds: the margin of which nothing is left to spare, or what tc can ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from pi2_fluid.design.clocks import BY_CLOCK

if TYPE_CHECKING:
    from pi2_fluid.design.gains import Asked
    from pi2_fluid.loop.margins import Margins

#: What binds where no margin does: gains are whole sixteenths of 1 Hz.
STEPS: Final = "steps of tc"
#: dB, deg and 1 that may be left of what binds: gains are rounded.
_LEFT: Final = {"gain margin": 0.05, "phase margin": 0.05, "modulus margin": 0.002}
_MORE: Final = 1.01  # a gain so little larger says which margin it costs


def spares(asked: Asked, each: Mapping[str, Margins]) -> dict[str, float]:
    """Return what is left of each margin by each clock, 1 for the most that one which binds has."""
    found: dict[str, float] = {}
    for clock, margins in each.items():
        left = {
            "gain margin": float(margins.gain_margin_db) - asked.gain_db,
            "phase margin": float(margins.phase_margin_deg) - asked.phase_deg,
        }
        if asked.modulus > 0.0:
            left["modulus margin"] = float(margins.modulus_margin) - asked.modulus
        found |= {f"{name} {BY_CLOCK[clock]}": left[name] / _LEFT[name] for name in left}
    return found


def is_bound(asked: Asked, each: Mapping[str, Margins]) -> bool:
    """Say whether some margin is as small as was asked for."""
    return min(spares(asked, each).values()) < 1.0


def bound_by(
    required: Asked,
    margins: Mapping[str, Margins],
    more: Callable[[float, float], Mapping[str, Margins]],
    *,
    whole: bool,
) -> str:
    """Return which margin binds, by which clock, in words; `STEPS`, or "" if none of these does.

    Parameters
    ----------
    asked : Asked
        What was asked for.
    margins : mapping of str to Margins
        The smallest margins of a design, by clock.
    more : callable
        The same with alpha and beta times its arguments. Asked for where none is near: a margin may
        fall at once, where a crossover comes or goes.
    whole : bool
        Whether gains are in whole steps of tc.
    """
    if is_bound(required, margins):
        return _least(spares(required, margins))
    if whole:
        return STEPS
    for factors in ((_MORE, 1.0), (1.0, _MORE)):
        left = spares(required, more(*factors))
        if min(left.values()) < 0.0:
            return _least(left)
    return ""


def _least(left: Mapping[str, float]) -> str:
    return min(left, key=lambda name: left[name])
