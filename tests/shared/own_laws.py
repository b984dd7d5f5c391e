"""Laws as users would write them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pi2_fluid as pf


@dataclass(frozen=True, eq=False, kw_only=True)
class HalfPerMark(pf.Sender):
    """Half a segment less per mark: `Scalable` as a user would write it."""

    signal: ClassVar = "scalable"

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        return 1 / rtt - 0.5 * w_delayed / rtt_delayed * p_delayed


@dataclass(frozen=True, eq=False, kw_only=True)
class Smoothed(pf.Sender):
    """A scalable law with an average of the marks as a second state, as DCTCP keeps one."""

    signal: ClassVar = "scalable"
    states: ClassVar = ("window", "marks")
    gain: float = 1 / 16

    def initial(self, window):
        return (window, 0.1)

    def rate(self, x, x_delayed, p_delayed, rtt, rtt_delayed):
        return (
            1 / rtt - 0.5 * x_delayed[0] / rtt_delayed * x[1],
            self.gain / rtt * (p_delayed - x[1]),
        )
