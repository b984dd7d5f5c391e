"""What `diagnose` is given, as one measurement."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.errors import QuantityError, show_value, suggest
from pi2_fluid.measured.dataset import Measurement, Quantity
from pi2_fluid.measured.joining import join
from pi2_fluid.measured.reading import read
from pi2_fluid.measured.scenario import require_measured

if TYPE_CHECKING:
    import xarray as xr

    from pi2_fluid.values import FloatArray

#: What a series may be called, and what it is.
_SERIES: Final = ("delay", "throughput", "queue_delay", "tcp_rtt")


def measured_of(series: object) -> xr.Dataset:
    """Return what was given as a measurement.

    Raises
    ------
    QuantityError
        If it is none of what `pi2_fluid.diagnose` takes.
    """
    if isinstance(series, list | tuple) and all(map(_is_whole, series)):
        return join(*series)
    if isinstance(series, str | Path):
        return read(series)
    if hasattr(series, "data_vars"):
        return require_measured(series, "series")
    given = series if isinstance(series, Mapping) else {"delay": series}
    if not given:
        raise QuantityError(f"there is no series: give {suggest('', _SERIES)}.")
    measurement = Measurement("series", clock="relative")
    for name, values in given.items():
        if name not in _SERIES:
            raise QuantityError(f"series {name!r} is unknown: give {suggest(str(name), _SERIES)}.")
        times, numbers = _columns(values, str(name))
        wait = Quantity("band", "s", "how long packets wait")
        quantity = wait if name == "queue_delay" else None
        measurement.add(str(name), "ping" if name == "delay" else "all", times, numbers,
                        quantity=quantity)  # fmt: skip
    return measurement.to_dataset()


def _is_whole(part: object) -> bool:
    """Whether something is a measurement of its own, or the file of one."""
    return isinstance(part, str | Path) or hasattr(part, "data_vars")


def _columns(values: object, name: str) -> tuple[FloatArray, FloatArray]:
    """Return times (s) and values of a DataArray or a Series of one dimension."""
    found: object = None
    if hasattr(values, "dims") and getattr(values, "ndim", 0) == 1:
        found = values[values.dims[0]].to_numpy(), values.to_numpy()  # type: ignore[index, attr-defined]
    elif hasattr(values, "iloc") and getattr(values, "ndim", 0) == 1:
        found = values.index.to_numpy(), values.to_numpy()  # type: ignore[attr-defined]
    if not isinstance(found, tuple):
        raise QuantityError(
            f"series {name} = {show_value(values)} has no times: give a file, a measurement, or an"
            " xarray DataArray or a pandas Series of one dimension, whose index is time in seconds."
        )
    times, numbers = found
    if np.issubdtype(times.dtype, np.datetime64) or np.issubdtype(times.dtype, np.timedelta64):
        times = (times - times[0]) / np.timedelta64(1, "s")
    return np.asarray(times, dtype=float), np.asarray(numbers, dtype=float)
