"""The past as it is read: at any instant, also inside the step that is being taken.

What leaves a queue that has just begun to grow has entered it a moment ago, so that its entry lies
inside the step, and so may what is heard where a step is longer than a delay. There the step is
read as it came out of the trial before; see `Trials`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pi2_fluid.engines.fluid.oracle.history import BEGINNING, History, Reader, Segment, Stretch
from pi2_fluid.engines.fluid.oracle.state import Mode


class Past:
    """Segments, readers of them, and what is known of the step that is being taken."""

    def __init__(self, history: History, readers: Sequence[Reader]) -> None:
        self.history, self.readers = history, readers
        self.ahead = history.segments[0]
        #: Whether the step in the making can be read.
        self.readable = True
        #: Until when it was read, by each reader that did so.
        self.depths: dict[int, float] = {}

    def begin_pass(self) -> None:
        """Forget how far the step in the making was read."""
        self.depths.clear()

    @property
    def overlaps(self) -> bool:
        """Whether the step in the making was read."""
        return bool(self.depths)

    def stand(self, t: float, y: list[float], mode: Mode) -> None:
        """Begin a step at `t`, of which nothing is known yet."""
        still = [0.0] * len(y)
        self.ahead = Segment(BEGINNING, t, y, y, still, still, mode)

    def stretch(self, reader: int) -> Stretch:
        """Return the smooth piece of the past that a reader is in; the last one has no end yet."""
        mine = self.readers[reader]
        last = mine.place + 1 == len(mine.times)
        high = math.inf if last else mine.times[mine.place + 1]
        return Stretch(mine.times[mine.place], high, open=last)

    def find(self, reader: int, t: float, places: Sequence[int]) -> tuple[float, Segment]:
        """Return what a reader finds at `t`, with the `places` of then: an instant and its segment.

        Beyond a breakpoint there is another branch: this one goes on; see `Segment.nearest`.
        """
        mine, place = self.readers[reader], places[reader]
        inside, first, last = max(t, mine.times[place]), mine.indices[place], len(self.history) - 1
        if place + 1 < len(mine.times):
            inside, last = min(inside, mine.times[place + 1]), mine.indices[place + 1] - 1
        now = self.history.segments[-1].end
        if self.readable and (inside > now or first > last):
            if inside > now:
                self.depths[reader] = max(inside, self.depths.get(reader, inside))
            return inside, self.ahead
        inside, first = min(inside, now), min(first, last)
        segment = self.history.find(inside, first, last)
        return segment.nearest(t), segment

    def is_past(self, segment: Segment) -> bool:
        """Return whether a segment is no longer in the making."""
        return segment is not self.ahead
