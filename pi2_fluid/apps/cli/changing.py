"""What a queue delay does after each change, as `pi2-fluid simulate` prints it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pi2_fluid.apps.cli.output import make_grid

if TYPE_CHECKING:
    import xarray
    from rich.table import Table

__all__ = ["add_largest", "change_table"]


def add_largest(table: Table, summary: xarray.Dataset) -> None:
    """Add a row with the largest queue delay, and when that was; of several seeds the largest."""
    values = summary.queue_delay_max.to_numpy().ravel()
    top = int(values.argmax())
    at = float(summary.queue_delay_max_at.to_numpy().ravel()[top])
    when = ("ms", f"at {at:.4g} s") if len(table.columns) > 4 else (f"ms at {at:.4g} s",)
    table.add_row("", "largest", f"{1e3 * float(values[top]):.4g}", *when)


def change_table(dataset: xarray.Dataset, summary: xarray.Dataset) -> Table | None:
    """Return a row for each change in the stretch of a summary; None if there is none.

    Of several seeds the means, of two bands the worse one.
    """
    from pi2_fluid.results.settling import changes_of

    if "change" not in summary.dims:
        return None
    told = dict(changes_of(dataset, summary.attrs["after"], summary.attrs["until"]))
    if "band" in summary.dims:
        summary = summary.max("band")
    table = make_grid("left", "left", *["right"] * 3)
    table.add_row("at", "change", "peak", "rest", "settled after")
    for k, at in enumerate(summary.change_at.to_numpy()):
        mine = summary.isel(change=k)
        peak, rest, settling = (
            float(mine[f"change_{name}"].mean()) for name in ("peak", "rest", "settling")
        )
        table.add_row(
            f"{at:.4g} s",
            told[float(at)],
            f"{1e3 * peak:.4g} ms",
            f"{1e3 * rest:.4g} ms",
            f"{settling:.3g} s" if math.isfinite(settling) else "not until the next",
        )
    return table
