"""What is found, named and shaped as a Dataset has it."""

from __future__ import annotations

from typing import NamedTuple

from pi2_fluid.sweeping.axes import Grid
from pi2_fluid.sweeping.outcomes import Layout


class Shaped(NamedTuple):
    """A variable without its values."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    units: str
    long_name: str


def final_names(grid: Grid, layout: Layout) -> dict[str, str]:
    """Return what everything that was found is called beside the axes."""
    taken = {*grid.names, *grid.dims, "error", "done"}
    return {
        name: f"{name}_found" if name in taken else name for name in (*layout.slots, *layout.labels)
    }


def layout_columns(grid: Grid, layout: Layout) -> dict[str, Shaped]:
    """Return the variables of a sweep, by their final names."""
    names = final_names(grid, layout)
    return {
        names[name]: Shaped(
            (*grid.dims, *slot.dims), (*grid.shape, *slot.shape), slot.units, slot.long_name
        )
        for name, slot in layout.slots.items()
    }
