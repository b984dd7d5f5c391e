"""The past of a trajectory: smooth pieces, and the instants at which it is not smooth.

A delay-differential equation reads its own past. Between two steps the past is a cubic through the
values and slopes at both ends (Hermite), which is as accurate as the steps are. At some instants
the past has a jump or a kink (a breakpoint), and no cubic may reach across one: a group of classes
therefore always reads between two neighbouring breakpoints, and its delayed time passes from one
such stretch to the next only where a step ends.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Any, Final, NamedTuple

BEGINNING: Final = -math.inf
_HALVES: Final = 60  # of a step leave less than rounding
_SAME: Final = 1e-15  # of a step


class Segment(NamedTuple):
    """One step: values and slopes at both ends, and the discrete state in between."""

    start: float
    end: float
    y0: list[float]
    y1: list[float]
    f0: list[float]
    f1: list[float]
    mode: Any

    def weights(self, t: float) -> tuple[float, float, float, float]:
        """Return the weights of y0, y1, f0 and f1 in the value at time `t`."""
        if self.start == BEGINNING:
            return 1.0, 0.0, 0.0, 0.0
        h = self.end - self.start
        a = (t - self.start) / h
        b = 1.0 - a
        return b * b * (1.0 + 2.0 * a), a * a * (3.0 - 2.0 * a), a * b * b * h, -a * a * b * h

    def nearest(self, t: float) -> float:
        """Return `t`, or the nearest instant at which its cubics may be asked.

        A stage of a step that ends at a breakpoint's image may look a little further than the step
        does. Beyond the breakpoint there is another branch: this one goes on, but no longer than
        the segment itself is, for its cubic says nothing of what comes then.
        """
        reach = self.end - self.start
        return min(max(t, self.start - reach), self.end + reach)

    def value(self, weights: tuple[float, float, float, float], j: int) -> float:
        """Return component `j` with the weights of one instant."""
        a, b, c, d = weights
        return a * self.y0[j] + b * self.y1[j] + c * self.f0[j] + d * self.f1[j]

    def values(self, t: float) -> list[float]:
        """Return all components at time `t`."""
        a, b, c, d = self.weights(t)
        ends = zip(self.y0, self.y1, self.f0, self.f1, strict=True)
        return [a * y0 + b * y1 + c * f0 + d * f1 for y0, y1, f0, f1 in ends]

    def continued(self, end: float, slopes: list[float]) -> Segment:
        """Return its cubics as they go on until another end, from `slopes` at the present one."""
        h, s = self.end - self.start, end - self.end
        values, rates = [], []
        for y0, y1, f0, f1, f in zip(self.y0, self.y1, self.f0, self.f1, slopes, strict=True):
            rise = (y1 - y0) / h
            cube = (f0 + f1 - 2.0 * rise) / (h * h)
            square = (3.0 * rise - 2.0 * f0 - f1) / h + 3.0 * h * cube
            values.append((y1 + f * s) + (s * s) * (square + cube * s))
            rates.append(f + s * (2.0 * square + 3.0 * cube * s))
        return Segment(self.end, end, self.y1, values, slopes, rates, self.mode)

    def when(self, j: int, value: float) -> float:
        """Return when component `j`, which rises from below to above it, has a value.

        Newton's steps on the cubic, and halves of what is left where they lead out of it.
        """
        h, first, rise = self.end - self.start, self.y0[j], self.y1[j] - self.y0[j]
        slope, end_slope = h * self.f0[j], h * self.f1[j]
        square, cube = 3.0 * rise - 2.0 * slope - end_slope, slope + end_slope - 2.0 * rise
        low, high, x = 0.0, 1.0, 0.5
        for _ in range(_HALVES):
            off = ((cube * x + square) * x + slope) * x + (first - value)
            if off < 0.0:
                low = x
            else:
                high = x
            steep = (3.0 * cube * x + 2.0 * square) * x + slope
            then = x - off / steep if steep > 0.0 else low
            if not low < then < high:
                then = 0.5 * (low + high)
            x, step = then, abs(then - x)
            if step <= _SAME:
                break
        return self.start + h * x


class Stretch(NamedTuple):
    """A smooth piece of the past: between which instants."""

    low: float
    high: float
    open: bool
    """Whether no step can reach its end."""


class History:
    """All segments so far. The first one is the time before 0."""

    def __init__(self, y: list[float], mode: Any) -> None:
        still = [0.0] * len(y)
        self.segments = [Segment(BEGINNING, 0.0, y, y, still, still, mode)]
        self.starts = [BEGINNING]

    def append(self, segment: Segment) -> None:
        """Add the step just taken."""
        self.segments.append(segment)
        self.starts.append(segment.start)

    def find(self, t: float, first: int, last: int) -> Segment:
        """Return the segment of indices `first`..`last` that holds time `t`."""
        return self.segments[bisect_right(self.starts, t, first + 1, last + 1) - 1]

    def __len__(self) -> int:
        return len(self.segments)


class Reader:
    """Where one group of classes reads the past: its breakpoints, and the current stretch."""

    def __init__(self) -> None:
        # time, index of the segment that begins there, order of the lowest derivative that jumps
        self.times = [BEGINNING, 0.0]
        self.indices = [0, 1]
        self.orders = [0, 0]
        self.place = 0

    def mark(self, t: float, index: int, order: int, close: float) -> None:
        """Note that the past has a breakpoint at `t`, where segment `index` begins.

        Breakpoints that are closer than their images are located are one: between two such, the
        delayed time could not tell where it is.
        """
        if t - self.times[-1] <= close:
            self.indices[-1] = index
            self.orders[-1] = min(order, self.orders[-1])
        else:
            self.times.append(t)
            self.indices.append(index)
            self.orders.append(order)

    def seek(self, t: float) -> None:
        """Go to the stretch that holds time `t`, after the delay has jumped."""
        self.place = bisect_right(self.times, t) - 1
