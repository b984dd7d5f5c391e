"""`join`: what several tools recorded of the same time, as one measurement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.dataset import Measurement, Quantity, samples_of
from pi2_fluid.measured.reading import read
from pi2_fluid.measured.scenario import require_measured

if TYPE_CHECKING:
    import xarray as xr


def join(*parts: xr.Dataset | str | Path) -> xr.Dataset:
    """Put together what several tools recorded at the same time, as ping beside iperf3 and tc.

    Parameters
    ----------
    *parts : Dataset, str or Path
        Measurements, or files of them. Their times must be dates, so that they fit together.

    Returns
    -------
    xarray.Dataset
        As `pf.measured.read` returns it, of all parts. What has the same name in two of them is
        called after its place, as "ping (2)". Of what they say of the experiment the first counts.

    Raises
    ------
    QuantityError
        If there is no part, one has times that are no dates, or two have no time in common.
    OSError
        If a file cannot be opened.

    Examples
    --------
    >>> ping = read("[1700000000.0] 64 bytes from 10.0.0.1: icmp_seq=1 time=20.5 ms")
    >>> both = join(ping, ping)
    >>> both.delay.probe.values.tolist(), both.attrs["format"]
    (['ping 10.0.0.1', 'ping 10.0.0.1 (2)'], 'ping, ping')
    """
    read_parts = [
        read(part) if isinstance(part, str | Path) else require_measured(part, "join")
        for part in parts
    ]
    if not read_parts:
        raise QuantityError("there is nothing to join: give measurements, or files of them.")
    if len(read_parts) == 1:
        return read_parts[0]
    _require_dates(parts, read_parts)
    joined = Measurement(
        format=", ".join(str(data.attrs["format"]) for data in read_parts),
        tool=", ".join(str(data.attrs["tool"]) for data in read_parts),
        clock="unix",
    )
    taken: set[tuple[str, str]] = set()
    for place, data in enumerate(read_parts, 1):
        called = _names(data, taken, place)
        taken |= {(dim, name) for (dim, _), name in called.items()}
        for name, column in data.data_vars.items():
            if name == "lost":
                continue
            dim = str(column.dims[1])
            quantity = Quantity(dim, str(column.attrs["units"]), str(column.attrs["long_name"]))
            for label in data[dim].to_numpy():
                times, values = samples_of(data, str(name), str(label))
                joined.add(
                    str(name),
                    called[dim, str(label)],
                    times + float(data.attrs["start"]),
                    values,
                    quantity=quantity,
                )
        joined.about = _merged(joined.about, json.loads(str(data.attrs["about"])), called)
        for sentence in str(data.attrs["warnings"]).splitlines():
            joined.warn(sentence)
    return joined.to_dataset()


def _require_dates(parts: tuple[object, ...], read_parts: list[xr.Dataset]) -> None:
    spans: list[tuple[float, float, str]] = []
    for given, data in zip(parts, read_parts, strict=True):
        told = str(given) if isinstance(given, str | Path) else str(data.attrs["format"])
        if data.attrs["clock"] != "unix":
            raise QuantityError(
                f"the times of {told} are no dates, so that nothing says when it was beside the"
                " others: record dates (ping -D, iperf3 -J, date before each output of tc)."
            )
        start = float(data.attrs["start"])
        spans.append((start, start + float(data["time"].max()), told))
    last = max(spans)
    ends_first = min(spans, key=lambda span: span[1])
    if last[0] > ends_first[1]:
        raise QuantityError(
            f"{last[2]} begins {last[0] - ends_first[1]:.3g} s after {ends_first[2]} has ended:"
            " give what was recorded at the same time."
        )


def _names(data: xr.Dataset, taken: set[tuple[str, str]], place: int) -> dict[tuple[str, str], str]:
    """Return what each flow, probe, band or link is called among all parts."""
    found: dict[tuple[str, str], str] = {}
    for dim in data.dims:
        if dim == "time":
            continue
        for label in map(str, data[dim].to_numpy()):
            there = (str(dim), label) in taken
            found[str(dim), label] = f"{label} ({place})" if there else label
    return found


def _merged(
    first: dict[str, Any], other: dict[str, Any], called: dict[tuple[str, str], str]
) -> dict[str, Any]:
    """Return what is said of the experiment, of flows by their new names."""
    for key in ("senders", "directions"):
        if isinstance(other.get(key), dict):
            named = {called.get(("flows", label), label): v for label, v in other[key].items()}
            first = first | {key: {**named, **first.get(key, {})}}
    return {**other, **first}
