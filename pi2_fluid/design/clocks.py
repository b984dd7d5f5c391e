"""Margins by two clocks: which is the smaller, and what to call them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from pi2_fluid.loop.margins import Margins

#: A stable loop with less gain margin (dB) is at the edge: packets have as much less than the model
#: where windows are of four segments (docs/packets.md).
EDGE_DB: Final = 3.0
#: In sentences.
BY_CLOCK: Final = {"rate": "by rates", "acks": "by acknowledgements"}

#: Whose clock it is.
SENDERS_OF: Final = {
    "rate": "senders that pace",
    "acks": "senders that do not pace",
}


def clocks_text(clocks: Iterable[str] = tuple(BY_CLOCK)) -> str:
    """Return whose the clocks are, and which margin counts.

    Examples
    --------
    >>> print(clocks_text())
    By rates: senders that pace. By acknowledgements: senders that do not pace. The smaller margin
    counts.
    """
    each = [f"{BY_CLOCK[clock].capitalize()}: {SENDERS_OF[clock]}." for clock in clocks]
    return " ".join([*each, *["The smaller margin counts."] * (len(each) > 1)])


class Least(NamedTuple):
    """The smaller gain margin (dB) and phase margin (deg) of two clocks, and whose each is."""

    gain_margin_db: float
    gain_clock: str
    phase_margin_deg: float
    phase_clock: str


def least_of(rates: Margins, acks: Margins | None) -> Least:
    """Return the smaller of each; those by rates where there are no others.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> loops = [
    ...     pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1, clock=clock)
    ...     for clock in ("rate", "acks")
    ... ]
    >>> print(said(least_of(*(loop.margins() for loop in loops))))
    4.45 dB by acknowledgements and 20.03 deg by rates
    """
    each = {"rate": rates} if acks is None else {"rate": rates, "acks": acks}
    return least_among(
        {
            clock: (float(one.gain_margin_db), float(one.phase_margin_deg))
            for clock, one in each.items()
        }
    )


def least_among(each: Mapping[str, tuple[float, float]]) -> Least:
    """Return the smaller gain margin (dB) and phase margin (deg) of some clocks."""
    by_gain = min(each, key=lambda clock: each[clock][0])
    by_phase = min(each, key=lambda clock: each[clock][1])
    return Least(each[by_gain][0], by_gain, each[by_phase][1], by_phase)


def said(least: Least, digits: int = 2) -> str:
    """Return both margins in words, with the clock of each."""
    gain, phase = f"{least.gain_margin_db:.2f} dB", f"{least.phase_margin_deg:.{digits}f} deg"
    if least.gain_clock == least.phase_clock:
        return f"{gain} and {phase} {BY_CLOCK[least.gain_clock]}"
    return f"{gain} {BY_CLOCK[least.gain_clock]} and {phase} {BY_CLOCK[least.phase_clock]}"


def rounded_down(value: float, digits: int) -> str:
    """Return a number rounded down, so that the claim that there is so much holds."""
    if not math.isfinite(value):
        return f"{value:g}"
    scale: Any = 10**digits
    return f"{math.floor(value * scale) / scale:.{digits}f}"
