"""Plotted numbers as a Dataset: what the CSV files hold, with units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.papers.recipe import Rows

if TYPE_CHECKING:
    import xarray

# What a column's name ends in, the longest first -> its unit.
_UNITS: Final = {
    "_rad_s": "rad/s",
    "_bit_s": "bit/s",
    "_segments_s": "segments/s",
    "_packets": "packets",
    "_deg": "deg",
    "_db": "dB",
    "_hz": "Hz",
    "_ms": "ms",
    "_s": "s",
}


def to_dataset(tables: Mapping[str, Rows]) -> xarray.Dataset:
    """Return tables as one Dataset: a variable per column, along one dimension per table.

    Examples
    --------
    >>> data = to_dataset({"": [{"line": "a", "rtt_s": np.array([0.1, 0.2])}]})
    >>> data.rtt_s.dims, data.rtt_s.attrs["units"], data.line.values.tolist()
    (('row',), 's', ['a', 'a'])
    """
    import xarray as xr

    variables: dict[str, Any] = {}
    for table, rows in tables.items():
        if not rows:
            continue
        parts = [dict(zip(row, np.broadcast_arrays(*row.values()), strict=True)) for row in rows]
        for column in rows[0]:
            values = np.concatenate([part[column].ravel() for part in parts])
            attrs = {"units": unit} if (unit := _unit(column)) else {}
            name = f"{table}_{column}" if table else column
            variables[name] = (table or "row", values, attrs)
    return xr.Dataset(variables)


def _unit(column: str) -> str:
    return next((unit for end, unit in _UNITS.items() if column.endswith(end)), "")
