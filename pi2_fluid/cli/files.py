"""Files: a trajectory as netCDF or CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.errors import QuantityError

if TYPE_CHECKING:
    import xarray

__all__ = ["PICTURES", "WRITERS", "check_path", "write_csv", "write_netcdf"]

#: Endings of picture files.
PICTURES: Final = (".png", ".svg", ".pdf")
_SUFFIX: Final = {"s": "_s", "bit/s": "_bit_s", "packets": "_packets", "segments": "_segments"}


def check_path(path: Path, endings: tuple[str, ...], option: str) -> None:
    """Raise now what would otherwise be known only after a long run.

    Raises
    ------
    QuantityError
        If the file has another ending, which says what to write.
    FileNotFoundError
        If its folder does not exist.
    """
    if path.suffix.lower() not in endings:
        raise QuantityError(f"{option} {path} has no known ending: end it in {', '.join(endings)}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(2, "No such file or directory", str(path.parent))


def write_netcdf(dataset: xarray.Dataset, path: Path) -> None:
    """Write everything, units and provenance included, as netCDF4."""
    dataset.to_netcdf(path, engine="h5netcdf")


def write_csv(dataset: xarray.Dataset, path: Path) -> None:
    """Write one row per sample and one column per variable, class and queue.

    Columns are named as in the Dataset, with the unit, then the class or queue: ``time_s``,
    ``queue_delay_s``, ``controller``, ``window_segments.reno``.
    """
    columns: dict[str, Any] = {"time_s": dataset.time.to_numpy()}
    for name, variable in dataset.data_vars.items():
        column = f"{name}{_SUFFIX.get(variable.attrs['units'], '')}"
        values = variable.transpose("time", ...).to_numpy()
        if values.ndim == 1:
            columns[column] = values
            continue
        labels = dataset[variable.dims[1]].to_numpy()
        columns |= {f"{column}.{label}": values[:, k] for k, label in enumerate(labels)}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        # The shortest text that reads back as the same number.
        writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))


#: Ending -> how to write it.
WRITERS: Final[dict[str, Callable[[Any, Path], None]]] = {".nc": write_netcdf, ".csv": write_csv}
