"""`Measurement`: what a file of a measurement says, gathered, and made one Dataset."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from pi2_fluid.results.dataset import Column, make_dataset

if TYPE_CHECKING:
    import xarray as xr

    from pi2_fluid.values import BoolArray, FloatArray

__all__ = ["VARIABLES", "Clock", "Measurement", "Quantity", "rises", "samples_of"]

#: What times of a file are: since 1970, since the computer's start, or since the file's own begin.
Clock: TypeAlias = Literal["unix", "monotonic", "relative"]


class Quantity(NamedTuple):
    """What one variable of a measurement is."""

    dim: str
    """What its columns are: "flows", "probe" or "band"."""
    units: str
    long_name: str


#: Every variable that a measurement can have. Counters of queues have the names that tc gives them.
VARIABLES: Final[Mapping[str, Quantity]] = {
    "throughput": Quantity("flows", "bit/s", "goodput of a flow"),
    "tcp_rtt": Quantity("flows", "s", "round-trip time, as the sender smooths it"),
    "window": Quantity("flows", "packets", "congestion window"),
    "retransmissions": Quantity("flows", "1", "segments sent again since the sample before"),
    "delay": Quantity("probe", "s", "round-trip time of a probe"),
    "delay_up": Quantity("probe", "s", "one-way delay to the server, above its least"),
    "delay_down": Quantity("probe", "s", "one-way delay from the server, above its least"),
}
_COUNTER: Final = "counter of a queue, as tc names it"


class _Samples(NamedTuple):
    times: FloatArray
    values: FloatArray
    lost: BoolArray


@dataclass
class Measurement:
    """A measurement while it is read: samples at their own times, and what is known of them.

    Parameters
    ----------
    format : str
        What kind of file it is of.
    tool : str
        The program that wrote it, with its version where the file says it.
    clock : {"unix", "monotonic", "relative"}
        What its times count from.

    Examples
    --------
    >>> measurement = Measurement("ping", clock="unix")
    >>> measurement.add("delay", "ping", [10.0, 10.2, 10.4], [0.02, np.nan, 0.03])
    >>> data = measurement.to_dataset()
    >>> data.delay.dims, data.time.values.round(1).tolist(), data.lost.values.ravel().tolist()
    (('time', 'probe'), [0.0, 0.2, 0.4], [False, True, False])
    """

    format: str
    tool: str = ""
    clock: Clock = "relative"
    about: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    _columns: dict[tuple[str, str], _Samples] = field(default_factory=dict, repr=False)
    _units: dict[str, Quantity] = field(default_factory=dict, repr=False)

    def add(
        self,
        variable: str,
        label: str,
        times: Sequence[float] | FloatArray,
        values: Sequence[float] | FloatArray,
        *,
        quantity: Quantity | None = None,
    ) -> None:
        """Add the samples of one flow, probe or band.

        Parameters
        ----------
        variable : str
            One of `VARIABLES`; a counter has any other name.
        label : str
            The flow, the probe or the band.
        times : sequence of float, shape (n,)
            When each was (s), by `clock`.
        values : sequence of float, shape (n,)
            In the unit of the variable; NaN of a probe that was lost.
        quantity : Quantity, optional
            What a variable is that `VARIABLES` does not have. Default: a counter of a band.
        """
        known = VARIABLES.get(variable, quantity) or Quantity("band", "1", _COUNTER)
        when = np.asarray(times, dtype=float)
        what = np.asarray(values, dtype=float)
        order = np.argsort(when, kind="stable")
        self._units[variable] = known
        self._columns[variable, label] = _Samples(when[order], what[order], np.isnan(what[order]))

    def warn(self, sentence: str) -> None:
        """Keep a sentence that who uses the numbers has to know; once each."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    @property
    def empty(self) -> bool:
        """Whether nothing was added."""
        return not self._columns

    def to_dataset(self) -> xr.Dataset:
        """Return the Dataset.

        Dims ``time`` and, as far as there are any, ``flows``, ``probe`` and ``band``. ``time`` (s)
        has every instant of any sample, counted from the first. A value is NaN where its flow,
        probe or band has no sample at that time, or where a probe was lost: then ``lost``
        (time, probe) is True.
        """
        instants = [samples.times for samples in self._columns.values()]
        time = np.unique(np.concatenate(instants)) if instants else np.empty(0)
        start = float(time[0]) if time.size else 0.0
        labels = {dim: self._labels(dim) for dim in ("flows", "probe", "band")}
        variables: dict[str, Column] = {}
        for name, quantity in self._units.items():
            table = np.full((time.size, len(labels[quantity.dim])), np.nan)
            for (variable, label), samples in self._columns.items():
                if variable == name:
                    rows = np.searchsorted(time, samples.times)
                    table[rows, labels[quantity.dim].index(label)] = samples.values
            variables[name] = Column(
                ("time", quantity.dim), table, quantity.units, quantity.long_name
            )
        if labels["probe"]:
            variables["lost"] = self._lost(time, labels["probe"])
        coords = {"time": Column(("time",), time - start, "s", "time since the first sample")} | {
            dim: Column((dim,), np.array(names), "1", _DIMS[dim])
            for dim, names in labels.items()
            if names
        }
        attrs: dict[str, str | float] = {
            "format": self.format,
            "tool": self.tool,
            "clock": self.clock,
            "start": start,
            "warnings": "\n".join(self.warnings),
            "about": json.dumps(self.about, sort_keys=True),
        }
        return make_dataset(variables, coords, attrs)

    def _labels(self, dim: str) -> list[str]:
        return list(
            dict.fromkeys(
                label for variable, label in self._columns if self._units[variable].dim == dim
            )
        )

    def _lost(self, time: FloatArray, probes: Sequence[str]) -> Column:
        lost = np.zeros((time.size, len(probes)), dtype=bool)
        for (variable, label), samples in self._columns.items():
            if variable == "delay":
                rows = np.searchsorted(time, samples.times)
                lost[rows, list(probes).index(label)] |= samples.lost
        return Column(("time", "probe"), lost, "1", "whether a probe was lost")


_DIMS: Final = {
    "flows": "a flow, with its sender where the file says it",
    "probe": "what measured delays",
    "band": "a queue, or a band or tin of one",
}


def samples_of(data: xr.Dataset, variable: str, label: str) -> tuple[FloatArray, FloatArray]:
    """Return the samples of one flow, probe or band: times (s) and values, lost probes as NaN.

    Parameters
    ----------
    data : Dataset
        As `pi2_fluid.measured.read` returns it.
    variable, label : str

    Examples
    --------
    >>> measurement = Measurement("ping")
    >>> measurement.add("delay", "a", [0.0, 2.0], [0.02, np.nan])
    >>> measurement.add("delay", "b", [1.0], [0.03])
    >>> samples_of(measurement.to_dataset(), "delay", "a")
    (array([0., 2.]), array([0.02,  nan]))
    """
    column = data[variable]
    dim = str(column.dims[1])
    values = column.sel({dim: label}).to_numpy()
    kept = ~np.isnan(values)
    if dim == "probe" and "lost" in data:
        kept |= data["lost"].sel({dim: label}).to_numpy()
    return data["time"].to_numpy()[kept], values[kept]


def rises(values: Iterable[float]) -> FloatArray:
    """Return one-way delays above their least: all that the clocks of two machines allow.

    Examples
    --------
    >>> rises([5.25, 5.5, np.nan]).tolist()
    [0.0, 0.25, nan]
    """
    row = np.asarray(list(values), dtype=float)
    return row - np.nanmin(row) if np.isfinite(row).any() else row
