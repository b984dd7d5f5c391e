"""`read`: a file of any format that is known, as one Dataset."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.errors import QuantityError, show_value, suggest
from pi2_fluid.measured.source import Source

if TYPE_CHECKING:
    import xarray as xr

    from pi2_fluid.measured.dataset import Measurement

#: The formats, in the order in which they are tried: those with a mark of their own come first.
#: Each is a file of this folder, with ``recognises(source)`` and ``measurement(source)``.
FORMATS: Final = (
    "flent",
    "irtt",
    "iperf3",
    "qdelay",
    "iperf3_text",
    "fping",
    "ping",
    "cake_autorate",
    "ss",
    "tc_log",
    "metrics",
    "mahimahi",
    "ns3",
    "csv",
)


def read(path_or_text: str | Path, format: str | None = None) -> xr.Dataset:
    """Read a measurement, as samples at their own times.

    A flow is called as its file calls it, with the sender where the file says it: "TCP upload::1
    (prague)", "stream 5 (cubic)". Series that a tool made from others, as sums, are left out. What
    is odd about the numbers stands in the attribute ``warnings``, a sentence a line; what the file
    says of the experiment in ``about``, as JSON.

    Parameters
    ----------
    path_or_text : str or Path
        A file, compressed by gzip or xz or not, or the text itself.
    format : str, optional
        One of `FORMATS`. Default: what the file looks like.

    Returns
    -------
    xarray.Dataset
        See `pi2_fluid.measured.dataset.Measurement.to_dataset`.

    Raises
    ------
    QuantityError
        If the format is unknown, the file is not of it, or is cut: one sentence says which.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> data = read("64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=20.5 ms")
    >>> float(data.delay[0, 0])
    0.0205
    """
    if not isinstance(path_or_text, str | Path):
        raise QuantityError(
            f"path_or_text = {show_value(path_or_text)} is no file and no text: give a path."
        )
    return measurement_of(Source(path_or_text), format).to_dataset()


def measurement_of(source: Source, name: str | None = None) -> Measurement:
    """Return what a source holds, see `read`."""
    if name is not None and name not in FORMATS:
        raise QuantityError(f"format = {name!r} is unknown: {suggest(name, FORMATS)}.")
    for each in FORMATS if name is None else (name,):
        reader = _reader(each)
        if name is not None or reader.recognises(source):
            measurement: Measurement = reader.measurement(source)
            return measurement
    raise QuantityError(
        f"{source.said} is of no format that is known, {', '.join(FORMATS)}: give what such a tool"
        ' wrote, or a CSV file that begins with a line such as "time (s),delay ping (ms)".'
    )


def _reader(name: str) -> Any:
    return import_module(f"pi2_fluid.measured.{name}")
