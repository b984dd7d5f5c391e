"""`write_flent`: a measurement as a data file of Flent, whichever tool it is of."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.dataset import VARIABLES
from pi2_fluid.measured.fields import part
from pi2_fluid.measured.flent_about import CAPACITY, COUNTERS, GROWING, OURS
from pi2_fluid.saving import save_bytes

if TYPE_CHECKING:
    import xarray as xr

    from pi2_fluid.values import FloatArray

_VERSION: Final = 4
#: Seconds between what Flent draws, and how many of them at most.
_STEP: Final = 0.2
_MOST: Final = 20_000
#: Fields of samples by variable, and what one of them is in SI units.
_FIELDS: Final = {
    "flows": {
        "throughput": ("val", 1e6),
        "interval": ("dur", 1.0),
        "tcp_rtt": ("tcp_rtt", 1e-3),
        "window": ("tcp_cwnd", 1.0),
        "delivery_rate": ("tcp_delivery_rate", 1e6),
    },
    "probe": {
        "delay": ("val", 1e-3),
        "delay_up": ("owd_up", 1e-3),
        "delay_down": ("owd_down", 1e-3),
    },
    "link": {"capacity": ("val", 1e6)},
}
_UNITS: Final = {"flows": "Mbits/s", "probe": "ms", "band": "misc", "link": "Mbits/s"}
_CALLED: Final = {ours: theirs for theirs, ours in COUNTERS.items()}


def write_flent(dataset: xr.Dataset, path: str | Path) -> None:
    """Write a measurement as a data file of Flent's version 4, which Flent opens and draws.

    `pi2_fluid.measured.read` reads it back as it was, up to the last bits of numbers; ``format``
    is then "flent". What Flent has no place for (attributes, units of counters) is beside its own
    metadata.

    Parameters
    ----------
    dataset : Dataset
        As `pi2_fluid.measured.read` returns it.
    path : str or Path
        Where to; by convention a name that ends in ``.flent.gz``. It is compressed if the name
        ends in ``.gz``.

    Raises
    ------
    QuantityError
        If the Dataset has no samples, or is none of a measurement.
    OSError, WriteError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pi2_fluid.measured.reading import read
    >>> data = read("[10.0] 64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=20.5 ms")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_flent(data, folder + "/ping.flent.gz")
    ...     read(folder + "/ping.flent.gz").delay.values.tolist()
    [[0.0205]]
    """
    if (
        "time" not in getattr(dataset, "coords", ())
        or not dataset.sizes.get("time")
        or "about" not in dataset.attrs
    ):
        raise QuantityError(
            "dataset is no measurement with samples: give what pf.measured.read returned."
        )
    times = float(dataset.attrs.get("start", 0.0)) + dataset["time"].to_numpy()
    about = json.loads(dataset.attrs["about"])
    series = {name: rows for name, _, rows in _series(dataset, about, times)}
    text = json.dumps(
        {
            "version": _VERSION,
            "metadata": _metadata(dataset, about, times, Path(path).name),
            "raw_values": series,
            **_drawn(series, float(times[0]), float(times[-1])),
        },
        sort_keys=True,
        allow_nan=False,
    )
    compressed = str(path).endswith(".gz")
    save_bytes(path, gzip.compress(text.encode(), mtime=0) if compressed else text.encode())


def _series(
    dataset: xr.Dataset, about: dict[str, Any], times: FloatArray
) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """Yield the series, the dim they are of, and their samples."""
    for dim in _UNITS:
        if dim not in dataset.coords:
            continue
        names = [str(name) for name, column in dataset.data_vars.items() if dim in column.dims]
        names = [name for name in names if name != "lost"]
        for label in map(str, dataset[dim].values):
            one = dataset.sel({dim: label})
            columns = {}
            for name in names:
                called = _CALLED.get(name, name) if dim == "band" else name
                field, unit = _FIELDS.get(dim, {}).get(name, (called, 1.0))
                values = one[name].to_numpy() / unit
                columns[field] = _added(values) if field in GROWING else values
            lost = one["lost"].to_numpy() if dim == "probe" and "lost" in one else None
            yield _name(dim, label, about), dim, _rows(times, columns, lost)


def _name(dim: str, label: str, about: dict[str, Any]) -> str:
    if dim == "flows":
        sender = part(about, "senders").get(label)
        return label.removesuffix(f" ({sender})") if sender else label
    return {"band": "qdisc_stats_", "link": CAPACITY}.get(dim, "") + label


def _added(values: FloatArray) -> FloatArray:
    """Return what each sample added to the one before it."""
    added = values.copy()
    known = np.flatnonzero(np.isfinite(values))
    added[known[1:]] = np.diff(values[known])
    return added


def _rows(
    times: FloatArray, columns: dict[str, FloatArray], lost: np.ndarray | None
) -> list[dict[str, Any]]:
    rows = []
    for index, time in enumerate(times.tolist()):
        row: dict[str, Any] = {
            field: float(values[index])
            for field, values in columns.items()
            if math.isfinite(values[index])
        }
        if lost is not None and lost[index]:
            row["lost"] = True
        if row:
            rows.append({"t": time, **row})
    return rows


def _metadata(
    dataset: xr.Dataset, about: dict[str, Any], times: FloatArray, name: str
) -> dict[str, Any]:
    begin = datetime.fromtimestamp(float(times[0]), tz=UTC).replace(tzinfo=None).isoformat() + "Z"
    length = max(1, math.ceil(float(times[-1] - times[0])))
    directions = set(part(about, "directions").values())
    test = "rrul_be" if len(directions) > 1 else "tcp_ndown" if "down" in directions else "tcp_nup"
    counters = {
        str(name): [column.attrs.get("units", "1"), column.attrs.get("long_name", "")]
        for name, column in dataset.data_vars.items()
        if "band" in column.dims and name not in VARIABLES
    }
    return {
        "NAME": test if "flows" in dataset.dims else "ping",
        "TITLE": about.get("title", ""),
        "HOST": "unknown",
        "HOSTS": ["unknown"],
        "LOCAL_HOST": "unknown",
        "TIME": begin,
        "T0": begin,
        "LENGTH": length,
        "TOTAL_LENGTH": length,
        "STEP_SIZE": _step(length),
        "NOTE": None,
        "IP_VERSION": 4,
        "DATA_FILENAME": name,
        "FLENT_VERSION": f"pi2-fluid {dataset.attrs.get('package_version', '')}".strip(),
        "TEST_PARAMETERS": {},
        "FAILED_RUNNERS": 0,
        "EGRESS_INFO": {
            "tc_stats_pre": [about["tc_before"]] if "tc_before" in about else [],
            "tc_stats_post": [about["tc_after"]] if "tc_after" in about else [],
        },
        "REMOTE_METADATA": {},
        "SERIES_META": {
            name: _meta(name, dim, about, rows, count)
            for count, (name, dim, rows) in enumerate(_series(dataset, about, times))
        },
        OURS: {
            "about": about,
            "units": counters,
            **{key: dataset.attrs.get(key, "") for key in ("format", "tool", "clock", "warnings")},
        },
    }


def _meta(
    name: str, dim: str, about: dict[str, Any], rows: list[dict[str, Any]], count: int
) -> dict[str, Any]:
    meta: dict[str, Any] = {"UNITS": _UNITS[dim], "IDX": count}
    values = [row["val"] for row in rows if "val" in row]
    if values:
        meta["MEAN_VALUE"] = float(np.mean(values))
    if dim == "flows":
        senders = {
            _name("flows", label, about): sender for label, sender in part(about, "senders").items()
        }
        if name in senders:
            meta["CONG_CONTROL"] = senders[name]
        if "segment" in about:
            meta["TCP_MSS"] = about["segment"]
    return meta


def _step(length: float) -> float:
    return max(_STEP, length / _MOST)


def _drawn(series: dict[str, list[dict[str, Any]]], begin: float, end: float) -> dict[str, Any]:
    """Return what Flent draws: samples interpolated on a grid, none outside of them."""
    grid = np.arange(0.0, end - begin + 1e-9, _step(max(1, math.ceil(end - begin))))
    results = {}
    for name, rows in series.items():
        for field in {key for row in rows for key in row} - {"t", "lost", "dur"}:
            kept = [(row["t"] - begin, row[field]) for row in rows if field in row]
            times, values = (np.array(column) for column in zip(*kept, strict=True))
            drawn = np.interp(grid, times, values)
            within = (grid >= times[0]) & (grid <= times[-1])
            results[name if field == "val" else f"{name}::{field}"] = [
                float(value) if inside else None
                for value, inside in zip(drawn, within, strict=True)
            ]
    return {"x_values": grid.tolist(), "results": results}
