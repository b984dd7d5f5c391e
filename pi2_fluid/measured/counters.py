"""Counters of queues at many instants, kept as numbers alone, and what is odd about them.

Logs of a day have a hundred megabytes of text: readers hand over what each output says, and forget
the text.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.measured.dataset import VARIABLES, Measurement, Quantity
from pi2_fluid.tc.statistics import MOMENTARY

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

_NAN: Final = math.nan
_DAY: Final = 86_400.0
_WRAP: Final = 2.0**32
#: What counts up, and falls only if its queue is made anew or the number wraps.
_RISING: Final = frozenset(
    {"bytes", "packets", "drops", "overlimits", "requeues", "ecn_mark", "pkts_in", "dropped"}
    | {"overlimit", "step_mark", "drop_overlimit", "drop_overmemory", "new_flow_count", "ce_mark"}
    | {"ack_drops", "lended", "borrowed", "marked", "early", "pdrop", "overmemory", "giants"}
) - set(MOMENTARY)
_BYTES: Final = ("bytes", "backlog", "memory_used", "memory_limit", "max_memory_used")
_WAITS: Final = ("_delay", "ldelay", "target", "_interval", "drop_next")
_RATES: Final = ("_rate", "capacity_estimate")


def _called(name: str) -> str:
    """Return what a counter is called where tc's name is that of something else."""
    known = VARIABLES.get(name)
    return name if known is None or known.dim == "band" else f"queue_{name}"


def _quantity(name: str) -> Quantity:
    if name in _BYTES:
        return Quantity("band", "B", f"{name}, as tc counts it")
    if name.endswith(_WAITS):
        return Quantity("band", "s", "how long packets wait, as tc shows it")
    if name.endswith(_RATES):
        return Quantity("band", "bit/s", f"{name}, as tc shows it")
    return Quantity("band", "1", f"{name}, as tc counts it")


@dataclass
class _Band:
    """The samples of one band: `values` are as long as `times`, NaN where one was not shown."""

    device: str
    times: array[float] = field(default_factory=lambda: array("d"))
    values: dict[str, array[float]] = field(default_factory=dict)
    fell: dict[str, int] = field(default_factory=dict)
    first_fall: tuple[str, float, bool] | None = None

    def add(self, time: float, counts: Mapping[str, float]) -> None:
        before = len(self.times)
        for name, value in counts.items():
            column = self.values.get(name)
            if column is None:
                column = self.values[name] = array("d", [_NAN]) * before
            last = column[-1] if before else _NAN
            if name in _RISING and value < last:
                self.fell[name] = self.fell.get(name, 0) + 1
                if self.first_fall is None:
                    # 32 bits are full: the last one was near the end, and this is near the begin
                    wrapped = last > 0.75 * _WRAP and last < _WRAP and value < 0.25 * _WRAP
                    self.first_fall = name, time, wrapped
            column.append(value)
        self.times.append(time)
        if len(counts) < len(self.values):
            for column in self.values.values():
                if len(column) == before:
                    column.append(_NAN)


class Bands:
    """What queues, classes and their bands counted, instant by instant.

    Examples
    --------
    >>> bands = Bands()
    >>> bands.add("lan0", "lan0 pie 1:", 10.0, {"packets": 5, "delay": 0.015})
    >>> bands.add("lan0", "lan0 pie 1:", 11.0, {"packets": 2, "delay": 0.010})
    >>> measurement = Measurement("tc_log")
    >>> bands.hand_to(measurement)
    >>> measurement.to_dataset().queue_delay.values.tolist()
    [[0.015], [0.01]]
    >>> measurement.warnings[0][:48]
    'packets of lan0 pie 1: falls 1 time, first 1 s a'
    """

    def __init__(self) -> None:
        self._bands: dict[str, _Band] = {}

    def add(self, device: str, label: str, time: float | None, counts: Mapping[str, float]) -> None:
        """Add what a band of a device has counted up to a time (s; None: not said)."""
        if counts:
            band = self._bands.get(label)
            if band is None:
                band = self._bands[label] = _Band(device)
            band.add(_NAN if time is None else time, counts)

    @property
    def empty(self) -> bool:
        """Whether nothing was counted."""
        return not self._bands

    def hand_to(self, measurement: Measurement) -> None:
        """Put all samples into a measurement, and say what is odd about them.

        Samples without times are numbered: their "time" is 0, 1, 2 ... and the warnings say so.
        """
        timed = {label: _continued(np.array(one.times)) for label, one in self._bands.items()}
        numbered = not any(_has_times(times) for times in timed.values())
        if numbered:
            measurement.clock = "relative"
            measurement.about["time"] = "number of the sample"
            measurement.warn(
                "The log has no times: samples are numbered from 0, and time is that number, not"
                " seconds. Rates cannot be told."
            )
        else:
            known = [times[np.isfinite(times)] for times in timed.values()]
            latest = max(float(times.max()) for times in known if times.size)
            measurement.clock = "unix" if latest > 2.0 * _DAY else "relative"
        start = min((np.nanmin(t) for t in timed.values() if np.isfinite(t).any()), default=0.0)
        for label, band in self._bands.items():
            times = np.arange(len(band.times), dtype=float) if numbered else timed[label]
            _on_times(times, label, measurement)
            for name in list(band.values):
                values = np.frombuffer(band.values.pop(name))
                kept = np.isfinite(times) & np.isfinite(values)
                called = _called(name)
                measurement.add(
                    called, label, times[kept], values[kept], quantity=_quantity(called)
                )
            if band.fell:
                measurement.warn(_on_falls(label, band, 0.0 if numbered else float(start)))
        self._bands = {}


def _has_times(times: FloatArray) -> bool:
    """Say whether samples have times of their own: one at the top of a log is of none of them."""
    known = times[np.isfinite(times)]
    return bool(known.size) and (times.size == 1 or bool(known.min() < known.max()))


def _continued(times: FloatArray) -> FloatArray:
    """Return times that go on over midnight, where they have no date."""
    if not times.size or not np.nanmax(times, initial=0.0) < _DAY + 1.0:
        return times
    passed = np.concatenate([[0.0], np.cumsum(np.diff(times) < -_DAY / 2)])
    return times + _DAY * passed


def _on_times(times: FloatArray, label: str, measurement: Measurement) -> None:
    """Say what is odd about the times of a band."""
    known = times[np.isfinite(times)]
    if known.size < times.size:
        missing = times.size - known.size
        measurement.warn(f"{missing} outputs of {label} stand before the first time: left out.")
    steps = np.diff(known)
    if (steps < 0).any():
        measurement.warn(
            f"The times of {label} go back: a clock was set, or logs were joined. Samples are in"
            " the order of their times."
        )
    if same := int((steps == 0).sum()):
        measurement.warn(
            f"{same} outputs of {label} have the time of the one before: rates between them cannot"
            " be told."
        )


def _on_falls(label: str, band: _Band, start: float) -> str:
    assert band.first_fall is not None
    name, time, wrapped = band.first_fall
    count = band.fell[name]
    when = "" if math.isnan(time) else f", first {time - start:.4g} s after the first sample"
    why = (
        "The counter has 32 bits and began again."
        if wrapped
        else "The queue was made anew, or its counters were reset."
    )
    others = [other for other in band.fell if other != name]
    more = f" So do {', '.join(others)}." if others else ""
    return (
        f"{name} of {label} falls {count} time{'s' * (count > 1)}{when}. {why}{more} A difference"
        " across it says nothing."
    )
