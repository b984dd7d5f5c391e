"""The one way a result becomes an `xarray.Dataset`: named dims, units on everything, provenance."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

__all__ = ["Column", "make_dataset"]


class Column(NamedTuple):
    """One variable or coordinate: its dims, values, units and long name."""

    dims: tuple[str, ...]
    values: Any
    units: str
    long_name: str


def make_dataset(
    variables: Mapping[str, Column], coords: Mapping[str, Column], attrs: Mapping[str, str | float]
) -> xr.Dataset:
    """Build a Dataset whose every variable and coordinate has ``units`` and ``long_name``.

    Parameters
    ----------
    variables, coords : mapping of name to Column
        SI units.
    attrs : mapping
        Provenance: text and numbers only, so that netCDF and Zarr keep them. The package version
        and the time of creation are added.
    """

    def entry(column: Column) -> Any:
        values = np.asarray(column.values)
        if values.dtype.kind == "U":
            values = values.astype(object)
        return (column.dims, values, {"units": column.units, "long_name": column.long_name})

    return xr.Dataset(
        {name: entry(column) for name, column in variables.items()},
        {name: entry(column) for name, column in coords.items()},
        {
            **attrs,
            "package_version": version("pi2-fluid"),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    )
