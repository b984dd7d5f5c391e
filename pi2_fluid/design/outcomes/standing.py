"""What of its margins a queue keeps among the long flows of some traffic, by both clocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from scipy import optimize

from pi2_fluid.design.alternatives import within_reach
from pi2_fluid.design.by_acks import worst_by_acks
from pi2_fluid.design.outcomes.predicting import Spot, spots_of, unless_refused
from pi2_fluid.design.region import Region
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.senders.reno import Reno
from pi2_fluid.loop.margins import Margins
from pi2_fluid.network.cells import Cell
from pi2_fluid.network.long_flows import LongFlows

_SMALLEST: Final = 4.0  # segments: a window of fewer has hardly a loop
_LONGEST: Final = 5.0  # s
_TOLERANCE: Final = 1e-2  # of a round-trip time
_INSIDE: Final = 1.01  # of the target: acknowledgements take the rest of a round trip
_MOST: Final = 60.0  # dB


class Standing(NamedTuple):
    """Margins by rates and by acknowledgements of long flows as they are in a cell.

    Of those with a round-trip time of ``rtt`` (s, with the queue at its target), where their
    ``window`` (segments) is largest; None where they have no such loop.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> queue = pf.presets.linux_dualpi2()
    >>> two = pf.Scenario("20s", pf.Link("20Mbit/s"), queue, [pf.Flows(pf.Reno(), 2, "40ms")])
    >>> at = standing(pf.Traffic({"two": two}).cells, queue, 0.04)
    >>> print(f"{at.window:.0f} segments, {at.acks.gain_margin_db:.1f} dB by acknowledgements")
    46 segments, ... dB by acknowledgements
    """

    cell: str
    rtt: float
    window: float
    rates: Margins | None
    acks: Margins | None

    def to_dict(self) -> dict[str, Any]:
        """Return numbers: s, segments, dB and degrees."""
        found: dict[str, Any] = {"cell": self.cell, "rtt": self.rtt, "window": self.window}
        for name, margins in (("rates", self.rates), ("acks", self.acks)):
            found[name] = None if margins is None else {
                "gain_margin_db": float(margins.gain_margin_db),
                "phase_margin_deg": float(margins.phase_margin_deg),
            }  # fmt: skip
        return found


def standing(cells: Sequence[Cell], law: PiFamily, base_rtt: float) -> Standing | None:
    """Return the margins where long flows with a base round-trip time (s) have largest windows."""
    rtt = base_rtt + float(law.target)
    found: tuple[float, str, Spot] | None = None
    for cell in cells:
        for spot in spots_of(cell):
            there = any(math.isclose(float(flow.base_rtt), base_rtt) for flow in spot.flows)
            window = spot.window(float(law.target))
            if there and (found is None or window > found[0]):
                found = window, cell.name, spot
    if found is None:
        return None
    window, name, spot = found
    rates, acks = (unless_refused(partial(_margins, spot, law, x)) for x in ("rate", "acks"))
    return Standing(name, rtt, window, rates, acks)


def _margins(spot: Spot, law: PiFamily, clock: str) -> Margins:
    return spot.loop(law, clock).margins()


def rtt_that_keeps(law: PiFamily, window: float, gain_db: float) -> float:
    """Return up to which round-trip time (s) Reno leaves a gain margin by acknowledgements.

    With windows up to the largest. 0 where none does, inf beyond 5 s, NaN where there is no loop.
    """
    long_flows = LongFlows(max_window=max(window, _SMALLEST))

    def above(log_rtt: float) -> float:
        rtt = math.exp(log_rtt)
        region = within_reach(Region((Reno(),), rtt, rtt, ((0.0, 1.0),), long_flows), law)
        worst = worst_by_acks(region, law, "sampled").worst
        if worst is None:
            return math.nan
        return min(max(float(worst.margins.gain_margin_db), -_MOST), _MOST) - gain_db

    low, high = math.log(float(law.target) * _INSIDE), math.log(_LONGEST)
    ends = above(low), above(high)
    if math.isnan(ends[0]) or math.isnan(ends[1]):
        return math.nan
    if ends[0] < 0.0:
        return 0.0
    if ends[1] >= 0.0:
        return math.inf
    return math.exp(float(optimize.brentq(above, low, high, xtol=_TOLERANCE)))
