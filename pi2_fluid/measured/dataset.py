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

    from pi2_fluid.values import BoolArray, FloatArray, IntArray

#: What times of a file are: since 1970, since the computer's start, or since the file's own begin.
Clock: TypeAlias = Literal["unix", "monotonic", "relative"]


class Quantity(NamedTuple):
    """What one variable of a measurement is."""

    dim: str
    """What its columns are: "flows", "probe", "band" or "link"."""
    units: str
    long_name: str


#: Every variable that a measurement can have. Counters of queues have the names that tc gives them.
VARIABLES: Final[Mapping[str, Quantity]] = {
    "throughput": Quantity("flows", "bit/s", "goodput of a flow over the interval that ends here"),
    "interval": Quantity("flows", "s", "interval of the throughput that ends here"),
    "delivery_rate": Quantity("flows", "bit/s", "delivery rate, as the sender measures it"),
    "tcp_rtt": Quantity("flows", "s", "round-trip time, as the sender smooths it"),
    "window": Quantity("flows", "packets", "congestion window"),
    "window_bytes": Quantity("flows", "B", "congestion window of unknown segments"),
    "retransmissions": Quantity("flows", "1", "segments sent again since the sample before"),
    "delay": Quantity("probe", "s", "round-trip time of a probe"),
    "delay_up": Quantity("probe", "s", "one-way delay to the server, above its least"),
    "delay_down": Quantity("probe", "s", "one-way delay from the server, above its least"),
    "queue_delay": Quantity("band", "s", "time that a packet waited in a queue"),
    "capacity": Quantity("link", "bit/s", "capacity of the link, from here on"),
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
    about : dict
        What the file says of the experiment, in SI units, as far as it does: ``title``, ``start``
        (s since 1970), ``duration`` (s), ``rate`` (bit/s), ``rtt`` (s), ``qdisc`` (what tc printed,
        or the name of a kind), ``tc_before`` and ``tc_after`` (what ``tc -s`` printed), ``senders``
        (the congestion control of each flow), ``directions`` ("up" or "down" of each flow),
        ``segment`` (bytes of payload), ``ecn`` (whether flows ask for it).
    warnings : list of str
        Sentences that who uses the numbers has to know.

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
            In the unit of the variable; NaN of a probe that was lost. Others that are no number
            are left out, with a warning; so are rates, windows and round trips below 0.
        quantity : Quantity, optional
            What a variable is that `VARIABLES` does not have. Default: a counter of a band.
        """
        known = VARIABLES.get(variable, quantity) or Quantity("band", "1", _COUNTER)
        when = np.asarray(times, dtype=float)
        what = np.asarray(values, dtype=float)
        lost = np.isnan(what) & (known.dim == "probe")
        usable = np.isfinite(when) & (np.isfinite(what) | lost)
        if when.size and not usable.all():
            self.warn(
                f"{np.count_nonzero(~usable)} of {when.size} samples of {variable} of {label!r}"
                " have no number, or no time, and are left out."
            )
        below = usable & (what < 0.0) & (variable in _NEVER_NEGATIVE)
        if below.any():
            self.warn(
                f"{np.count_nonzero(below)} of {when.size} samples of {variable} of {label!r} are"
                " below 0, which none can be, and are left out."
            )
            usable &= ~below
        order = np.flatnonzero(usable)[np.argsort(when[usable], kind="stable")]
        self._units[variable] = known
        self._columns[variable, label] = _Samples(when[order], what[order], lost[order])

    def warn(self, sentence: str) -> None:
        """Keep a sentence that who uses the numbers has to know; once each."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that something was added to."""
        return tuple(self._units)

    @property
    def empty(self) -> bool:
        """Whether there is no sample."""
        return not any(samples.times.size for samples in self._columns.values())

    def to_dataset(self) -> xr.Dataset:
        """Return the Dataset.

        Dims ``time`` and, as far as there are any, ``flows``, ``probe``, ``band`` and ``link``.
        ``time`` (s) has every instant of any sample, counted from the first, in rising order. An
        instant has as many rows as one flow or probe has samples at it, so that none is lost. A
        value is NaN where its flow, probe, band or link has no sample in that row, or where a
        probe was lost: then ``lost`` (time, probe) is True.

        Attributes: ``format``, ``tool``, ``clock``, ``start`` (s, by the clock: add it to
        ``time``), ``warnings`` (a sentence a line), ``about`` (JSON, see `Measurement`).
        """
        time, first = _rows_of([samples.times for samples in self._columns.values()])
        start = float(time[0]) if time.size else 0.0
        places = {
            key: first[np.searchsorted(time[first], samples.times)] + _repeats(samples.times)
            for key, samples in self._columns.items()
        }
        labels = {dim: self._labels(dim) for dim in _DIMS}
        variables: dict[str, Column] = {}
        for name, quantity in self._units.items():
            of_dim = labels[quantity.dim]
            table = np.full((time.size, len(of_dim)), np.nan)
            for (variable, label), samples in self._columns.items():
                if variable == name:
                    table[places[variable, label], of_dim.index(label)] = samples.values
            variables[name] = Column(
                ("time", quantity.dim), table, quantity.units, quantity.long_name
            )
        if labels["probe"]:
            variables["lost"] = self._lost(time.size, places, labels["probe"])
        coords = {"time": Column(("time",), time - start, "s", "time since the first sample")} | {
            dim: Column((dim,), np.array(names), "1", _DIMS[dim])
            for dim, names in labels.items()
            if names
        }
        about = {"start": start} | self.about if self.clock == "unix" and time.size else self.about
        attrs: dict[str, str | float] = {
            "format": self.format,
            "tool": self.tool,
            "clock": self.clock,
            "start": start,
            "warnings": "\n".join(self.warnings),
            "about": json.dumps(about, sort_keys=True),
        }
        return make_dataset(variables, coords, attrs)

    def _labels(self, dim: str) -> list[str]:
        return list(
            dict.fromkeys(
                label for variable, label in self._columns if self._units[variable].dim == dim
            )
        )

    def _lost(
        self, rows: int, places: Mapping[tuple[str, str], IntArray], probes: Sequence[str]
    ) -> Column:
        """Return which probes came back by no way that was measured."""
        lost = np.zeros((rows, len(probes)), dtype=bool)
        for (variable, label), samples in self._columns.items():
            tells = variable == "delay" or ("delay", label) not in self._columns
            if tells and self._units[variable].dim == "probe":
                lost[places[variable, label], probes.index(label)] |= samples.lost
        return Column(("time", "probe"), lost, "1", "whether a probe was lost")


def _repeats(times: FloatArray) -> IntArray:
    """Return how many of a rising row's elements before each are the same."""
    index = np.arange(times.size)
    begins = np.r_[True, times[1:] != times[:-1]][: times.size]
    return index - np.maximum.accumulate(np.where(begins, index, 0))


def _rows_of(rows: Sequence[FloatArray]) -> tuple[FloatArray, IntArray]:
    """Return every instant, as often as the row has it that has it most, and where each begins."""
    if not rows:
        return np.empty(0), np.empty(0, dtype=int)
    instants, which = np.unique(np.concatenate(rows), return_inverse=True)
    counts = np.ones(instants.size, dtype=int)
    np.maximum.at(counts, which, np.concatenate([_repeats(row) for row in rows]) + 1)
    return np.repeat(instants, counts), np.append(0, np.cumsum(counts)[:-1])[: instants.size]


#: One-way delays may be below 0 where the clocks of two machines differ; these may not.
_NEVER_NEGATIVE: Final = frozenset(VARIABLES) - {"delay_up", "delay_down"}
_DIMS: Final = {
    "flows": "a flow, with its sender where the file says it",
    "probe": "what measured delays",
    "band": "a queue, or a band or tin of one",
    "link": "a link, or a direction of one",
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
