"""What a queue delay does after each change of a scenario: its peak, where it rests, and when.

A change is an entry of the schedule, or flows that start or stop while others are there. What is
said of one is of the stretch from it to the next, or to the end of what is looked at.
"""

from __future__ import annotations

import itertools
import json
import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pi2_fluid.network.changes import Change
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.results.dataset import Column

if TYPE_CHECKING:
    import xarray as xr

    from pi2_fluid.values import FloatArray

#: How far from where it rests a delay counts as settled: this part of that, and no less than so
#: many seconds.
BAND: Final = 0.5
LEAST_BAND: Final = 1e-3
#: Part of a stretch, at its end, over which the mean is where the delay rests.
_LAST: Final = 0.25
#: Over which bins of packets are averaged before they are asked whether they have settled (s).
_SMOOTHED: Final = 1.0
_SAME: Final = 1e-9  # s, by which rounding may move an instant


class Settling(NamedTuple):
    """What a delay does in a stretch."""

    peak: float
    """The largest value (s)."""
    peak_at: float
    """When that was (s)."""
    rest: float
    """The mean over the last quarter of the stretch (s)."""
    settling: float
    """How long after the beginning of the stretch the delay has come to stay in a band around its
    rest (s): within half of that, at least 1 ms. 0: it never left; inf: it leaves in the last
    quarter."""


def settling_of(
    time: FloatArray,
    delay: FloatArray,
    begin: float,
    smoothed: float = 0.0,
) -> Settling:
    """Return the peak, the rest and the settling time of a delay after a change.

    Parameters
    ----------
    time : array (n,)
        When each value is of (s), rising; at least one.
    delay : array (n,)
        s.
    begin : float
        When the change was (s), no later than the first value.
    smoothed : float
        Each value is asked whether it has settled by the mean of those of the last so many seconds
        (s), itself included; 0: by itself.

    Examples
    --------
    >>> t = np.arange(0.0, 20.0, 0.01)
    >>> found = settling_of(t, 0.02 + 0.1 * np.exp(-t), 0.0)
    >>> f"{found.peak:.2f} {found.rest:.3f} {found.settling:.1f} {math.log(10):.1f}"
    '0.12 0.020 2.3 2.3'
    """
    last = time >= begin + (1.0 - _LAST) * (time[-1] - begin) - _SAME
    rest = float(delay[last].mean())
    asked = delay
    if smoothed > 0.0:
        first = np.searchsorted(time, time - smoothed + _SAME, side="left")
        sums = np.append(0.0, np.cumsum(delay))
        here = np.arange(len(time))
        asked = (sums[here + 1] - sums[first]) / (here + 1 - first)
    outside = np.abs(asked - rest) > max(BAND * rest, LEAST_BAND)
    top = int(np.argmax(delay))
    settling = 0.0
    if outside.any():
        left = int(np.flatnonzero(outside)[-1])
        settling = math.inf if last[left] else float(time[left + 1]) - begin
    return Settling(float(delay[top]), float(time[top]), rest, settling)


def changes_text(scenario: Scenario) -> str:
    """Return when a scenario changes and how, as text that results keep."""
    found = [(float(change.at), _said(change)) for change in scenario.changes]
    for flow, name in zip(scenario.flows, scenario.class_names, strict=True):
        if float(flow.start) > 0.0:
            found.append((float(flow.start), f"{name} starts"))
        if flow.stop is not None:
            found.append((float(flow.stop), f"{name} stops"))
    end = float(scenario.duration)
    together: dict[float, list[str]] = {}
    for at, what in sorted(found):
        if 0.0 < at < end:
            together.setdefault(at, []).append(what)
    return json.dumps([[at, ", ".join(what)] for at, what in together.items()])


def _said(change: Change) -> str:
    words = []
    if change.capacity is not None:
        of = f" of {change.link}" if change.link else ""
        words.append(f"capacity{of} {1e-6 * float(change.capacity):.4g} Mbit/s")
    words += [f"{float(count):g} {name}" for name, count in (change.counts or {}).items()]
    rtts = (change.base_rtt or {}).items()
    words += [f"base_rtt of {name} {1e3 * float(rtt):.4g} ms" for name, rtt in rtts]
    return ", ".join(words)


def changes_of(dataset: xr.Dataset, begin: float, end: float) -> list[tuple[float, str]]:
    """Return the changes of a result that lie in a stretch: when (s), and what."""
    told = json.loads(dataset.attrs.get("changes", "[]"))
    return [(float(at), str(what)) for at, what in told if begin <= at < end - _SAME]


def extremes(
    dataset: xr.Dataset, begin: float, end: float, *, binned: bool
) -> tuple[dict[str, Column], dict[str, Column]]:
    """Return the largest queue delay in a stretch, and what it does after each change there.

    The second mapping is of coordinates.

    Parameters
    ----------
    dataset : Dataset
        A result, of which values in the stretch there are.
    begin, end : float
        s.
    binned : bool
        Whether values are means over bins, which end at their time.
    """
    delay = dataset["queue_delay"].transpose("time", ...)
    time, values = dataset["time"].to_numpy(), delay.to_numpy()
    dims = tuple(str(dim) for dim in delay.dims[1:])
    starts = time - dataset["bin"].to_numpy() if binned else time
    slack = 1e-6 * float(dataset["bin"].min()) if binned else _SAME
    inside = (starts >= begin - slack) & (time <= end + slack)
    values, time, starts = values[inside], time[inside], starts[inside]
    top = values.argmax(axis=0)
    largest_of = {
        "queue_delay_max": Column(dims, values.max(axis=0), "s", "largest queue delay"),
        "queue_delay_max_at": Column(dims, time[top], "s", "when the queue delay was largest"),
    }
    changes = [at for at, _ in changes_of(dataset, begin, end)]
    stretches = []
    for at, until in itertools.pairwise([*changes, math.inf]):
        # A sample at the instant of the next change is of what follows it.
        before = time <= until + slack if binned else time < until - slack
        stretches.append((at, (starts >= at - slack) & before))
    stretches = [(at, part) for at, part in stretches if part.any()]
    if not stretches:
        return largest_of, {}
    columns = values.reshape(len(time), -1)
    smoothed = _SMOOTHED if binned else 0.0
    largest = np.array(
        [
            [settling_of(time[part], column[part], at, smoothed) for column in columns.T]
            for at, part in stretches
        ]
    ).reshape(len(stretches), *values.shape[1:], len(Settling._fields))
    order = ("change", *dims)
    for name, k, text in (
        ("change_peak", 0, "largest queue delay after the change"),
        ("change_peak_at", 1, "when the queue delay was largest after the change"),
        ("change_rest", 2, "mean queue delay in the last quarter of the time to the next change"),
        ("change_settling", 3, "time from the change until the queue delay stays near its rest"),
    ):
        largest_of[name] = Column(order, largest[..., k], "s", text)
    when = np.array([at for at, _ in stretches])
    return largest_of, {"change_at": Column(("change",), when, "s", "when the change was")}
