"""Files: a result as netCDF, Zarr or CSV."""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.errors import QuantityError
from pi2_fluid.missing import require
from pi2_fluid.saving import require_writable, save_bytes, save_folder, save_text

if TYPE_CHECKING:
    import xarray
    from numpy.typing import NDArray

#: Endings of picture files.
PICTURES: Final = (".png", ".svg", ".pdf")
#: What files with an ending are written by.
_WRITTEN_BY: Final = {
    **dict.fromkeys(PICTURES, "matplotlib"),
    ".nc": "h5netcdf",
    ".zarr": "zarr",
}
_SUFFIX: Final = {
    "s": "_s",
    "bit/s": "_bit_s",
    "packets": "_packets",
    "segments": "_segments",
    "B": "_bytes",
}
# One of these is at the root of every Zarr store.
_IN_A_STORE: Final = (".zgroup", ".zarray", "zarr.json")
# What a row may be of, from the outside in.
_ROWS: Final = ("seed", "time", "step")


def check_path(path: Path | None, endings: tuple[str, ...], option: str) -> None:
    """Raise now what would otherwise be known only after a long run; None: no file is asked for.

    Raises
    ------
    QuantityError
        If the file has another ending, which says what to write.
    FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError
        If its folder does not exist, it is a folder itself (which a Zarr store may be), or there is
        no permission.
    ModuleNotFoundError
        If the package that writes such files is not installed.
    """
    if path is None:
        return
    ending = path.suffix.lower()
    if ending not in endings:
        raise QuantityError(f"{option} {path} has no known ending: end it in {', '.join(endings)}.")
    require_writable(path, folder=ending == ".zarr")
    if ending in _WRITTEN_BY:
        require(_WRITTEN_BY[ending])


def write_netcdf(dataset: xarray.Dataset, path: Path) -> None:
    """Write everything, units and provenance included, as netCDF4.

    The file is made in memory, which already holds the result and takes about as much again: the
    library for HDF5 cannot be left safely when it fails to write to a disk.
    """
    import h5netcdf
    from xarray.backends import H5NetCDFStore

    made = io.BytesIO()
    store: Any = H5NetCDFStore(h5netcdf.File(made, "w"), mode="w")
    try:
        dataset.dump_to_store(store)
    finally:
        store.close()
    # Not its buffer, which an error may hold: Python 3.12.1 crashes where it collects one.
    save_bytes(path, made.getvalue())


def _write_zarr(dataset: xarray.Dataset, path: Path) -> None:
    """Write everything as a Zarr store, in the format that every reader of Zarr knows.

    Zarr makes it in memory: into files it writes from several threads, and those that have not
    heard of a full disk yet would write on where everything has been removed.
    """
    from zarr.storage import MemoryStore  # says that zarr is missing before anything is written

    made: dict[str, Any] = {}
    dataset.to_zarr(MemoryStore(made), zarr_format=2, consolidated=True)

    save_folder(
        path,
        {name: content.to_bytes() for name, content in made.items()},
        belongs=lambda folder: any((folder / name).is_file() for name in _IN_A_STORE),
    )


def write_table(table: xarray.Dataset, path: Path) -> None:
    """Write a table as CSV: one row per label of its dim."""
    save_text(path, table.to_dataframe().to_csv(lineterminator="\n"))


def _write_csv(dataset: xarray.Dataset, path: Path) -> None:
    """Write one row per sample and one column per variable, class, link and queue.

    Of packets that is a row per seed and bin. Columns are named as in the Dataset, with the unit,
    then the class or queue: ``seed``, ``time_s``, ``queue_delay_s``, ``window_segments.reno``, or
    ``drops_packets.a.reno`` of a link and a class. What is not of single samples, such as a
    histogram, is left out.
    """
    import numpy as np

    rows = [dim for dim in _ROWS if dim in dataset.dims]
    grid = np.meshgrid(*(dataset[dim].to_numpy() for dim in rows), indexing="ij")
    columns: dict[str, Any] = {
        dim + _SUFFIX.get(dataset[dim].attrs.get("units", ""), ""): values.ravel()
        for dim, values in zip(rows, grid, strict=True)
    }
    for name, variable in dataset.data_vars.items():
        if rows[-1] not in variable.dims:
            continue
        column = f"{name}{_SUFFIX.get(variable.attrs['units'], '')}"
        labels = [dim for dim in variable.dims if dim not in rows]
        values = _spread(variable, dataset, rows, labels)
        if not labels:
            columns[column] = values[:, 0]
            continue
        places = itertools.product(*(dataset[dim].to_numpy() for dim in labels))
        columns |= {
            ".".join((column, *map(str, place))): values[:, k] for k, place in enumerate(places)
        }
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(columns)
    # The shortest text that reads back as the same number.
    writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
    save_text(path, made.getvalue())


def _spread(
    variable: xarray.DataArray, dataset: xarray.Dataset, rows: list[str], labels: list[Any]
) -> NDArray[Any]:
    """Return the values as (rows, labels), repeated along the dims of rows that it lacks."""
    missing = {dim: dataset.sizes[dim] for dim in rows if dim not in variable.dims}
    values = variable.expand_dims(missing).transpose(*rows, *labels).to_numpy()
    return values.reshape(math.prod(dataset.sizes[dim] for dim in rows), -1)


#: Ending -> how to write it.
WRITERS: Final[dict[str, Callable[[Any, Path], None]]] = {
    ".nc": write_netcdf,
    ".csv": _write_csv,
    ".zarr": _write_zarr,
}
