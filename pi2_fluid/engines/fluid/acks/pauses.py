"""Flows that pause after a reduction: how many do, and what the others grow by counting.

Of a flow's reductions n, signals heard H, acknowledgements K and segments grown Z, all until t, a
part f = 1 - (n(t) - n(t - R)) of the flows is open, and n' = f H'. A window that grows by whole
segments grows where as many acknowledgements as it has segments have come without a signal, since
a pause that ended or since it last grew: Z' (t) = q (n'(t - 2R) + Z'(t - R)), with q = e^{-M} the
part that heard none and M the signals in a window of acknowledgements.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pi2_fluid.engines.fluid.acks.counts import Cursor, Grid, Place


class Counted(NamedTuple):
    """What a flow has counted until the end of a step."""

    reduced: float
    heard: float
    acked: float
    grown: float


class Pauses:
    """The pauses of one class.

    Parameters
    ----------
    acks, marks : float
        Per flow and second in the past, which goes on as it is; without marks, flows count their
        acknowledgements at any phase.
    round_trip : float
        How long a pause lasts (s).
    times : Grid
        The instants of steps.
    """

    def __init__(self, acks: float, marks: float, round_trip: float, times: Grid) -> None:
        self.times, self.round_trip = times, round_trip
        expected = marks * round_trip
        reduces = marks / (1.0 + expected)
        grows = reduces / math.expm1(expected) if expected > 0.0 else 1.0 / round_trip
        self.counts = [Counted(*(x * t for x in (reduces, marks, acks, grows))) for t in times]
        self.ago, self.longer_ago = Cursor(times), Cursor(times)

    def open(self, t: float, dt: float, marks: float) -> float:
        """Return the part of the flows that is open in a step which ends at `t`, at its middle."""
        now = self.counts[-1]
        before, then = (self._at(self.ago, at).reduced for at in (t - dt, t))
        # What is reduced in this step counts half.
        return max(0.0, 1.0 - now.reduced + 0.5 * (before + then)) / (1.0 + 0.5 * marks)

    def count(
        self, t: float, dt: float, window: float, acks: float, marks: float, part: float
    ) -> Counted:
        """Return what is counted after a step, of whose flows a part was open."""
        now = self.counts[-1]
        heard, acked = now.heard + marks, now.acked + acks
        before, then = (self._at(self.ago, at) for at in (t - dt, t))
        came = acked + now.acked - then.acked - before.acked
        told = (heard + now.heard - then.heard - before.heard) / came if came > 0.0 else 0.0
        pause = self.round_trip
        ended, ends = (self._at(self.longer_ago, at - pause).reduced for at in (t - dt, t))
        starts = ends - ended + then.grown - before.grown
        grown = now.grown + math.exp(-told * window) * starts
        return Counted(now.reduced + part * marks, heard, acked, grown)

    def wait(self, dt: float) -> Counted:
        """Return what is counted after a step of slow start: growth is not."""
        now = self.counts[-1]
        return now._replace(grown=now.grown + dt / self.round_trip)

    def _at(self, cursor: Cursor, t: float) -> Counted:
        place = cursor.place(t - self.round_trip)
        return Counted(*(self._count(i, place) for i in range(len(Counted._fields))))

    def _count(self, i: int, place: Place) -> float:
        cell, part = place
        before = self.counts[cell][i]
        return before + part * (self.counts[cell + 1][i] - before)
