"""What is reported of one instant: the state, and what leaves the bottleneck just then."""

from __future__ import annotations

from typing import NamedTuple

from pi2_fluid.engines.fluid.oracle.history import BEGINNING, History
from pi2_fluid.engines.fluid.oracle.plant import Plant
from pi2_fluid.engines.fluid.oracle.state import Mode, View


class Row(NamedTuple):
    """What is reported of one instant."""

    t: float
    y: list[float]
    mode: Mode
    view: View
    leaving: list[float]
    """Packets per second of each class that leave the bottleneck."""


class Reporter:
    """Reports of one trajectory, asked for in the order of time."""

    def __init__(self, plant: Plant, history: History) -> None:
        self.plant, self.history = plant, history
        self.departures = [0] * plant.bands

    def report(self, t: float, y: list[float], mode: Mode) -> Row:
        """Return what there is to know about one instant of the last step."""
        y = self.plant.within_bounds(y)
        view = self.plant.observe(t, y, mode)
        leaving = [0.0] * len(view.rates)
        for k in range(self.plant.bands):
            rates = (
                view.rates if y[k] <= 0.0 else self._entered(k, y[self.plant.arrived + k] - y[k])
            )
            mine = [r if b == k else 0.0 for r, b in zip(rates, self.plant.band, strict=True)]
            total = sum(mine)
            for i, rate in enumerate(mine):
                leaving[i] += view.served[k] * rate / total if total > 0.0 else 0.0
        return Row(t, y, mode, view, leaving)

    def _entered(self, k: int, served: float) -> tuple[float, ...]:
        """Return the rates at which the classes sent what leaves now: first in, first out."""
        place, segments = self.plant.arrived + k, self.history.segments
        index = self.departures[k]
        while index < len(segments) - 1 and segments[index].y1[place] < served:
            index += 1
        self.departures[k] = index
        segment = segments[index]
        if segment.start == BEGINNING:  # it was there at time 0
            return self.plant.observe(0.0, segment.y0, segment.mode).rates
        entered = segment.when(place, served)
        return self.plant.observe(entered, segment.values(entered), segment.mode).rates
