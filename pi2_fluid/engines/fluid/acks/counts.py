"""What has passed a place until an instant, in packets: lists over one growing grid of instants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Grid(list[float]):
    """Rising instants (s), the first two of which bound the past."""

    def __init__(self, past: float) -> None:
        super().__init__([-past, 0.0])
        #: 1 over the length of the cell that ends at each.
        self.per_second = [0.0, 1.0 / past]

    def grow(self, t: float, per_second: float) -> None:
        """Add an instant, and 1 over how long it is after the last one."""
        self.append(t)
        self.per_second.append(per_second)

    def take_back(self) -> None:
        """Forget the last instant."""
        self.pop()
        self.per_second.pop()


class Place(NamedTuple):
    """Where an instant lies: in the cell that begins with this node, this part into it."""

    cell: int
    part: float


class Cursor:
    """Finds values in a list that grows and never falls; fast where they are asked for in order."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values, self.cell = values, 0

    def place(self, value: float) -> Place:
        """Return where the list reaches a value, of a plateau its end."""
        values, cell = self.values, self.cell
        last = len(values) - 2
        while cell < last and values[cell + 1] <= value:
            cell += 1
        while cell > 0 and values[cell] > value:  # a step that was taken back had looked further
            cell -= 1
        self.cell = cell
        if isinstance(values, Grid):
            return Place(cell, (value - values[cell]) * values.per_second[cell + 1])
        width = values[cell + 1] - values[cell]
        return Place(cell, (value - values[cell]) / width if width > 0.0 else 1.0)


def count_at(counts: Sequence[float], place: Place) -> float:
    """Return a count between two nodes, linear there."""
    before = counts[place.cell]
    return before + place.part * (counts[place.cell + 1] - before)


def integral_at(
    times: Sequence[float], counts: Sequence[float], integral: Sequence[float], place: Place
) -> float:
    """Return the integral of a count over time, which is quadratic where the count is linear."""
    cell = place.cell
    since = place.part * (times[cell + 1] - times[cell])
    return integral[cell] + 0.5 * since * (counts[cell] + count_at(counts, place))
