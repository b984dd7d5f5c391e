"""Where a trajectory leaves what its laws describe: small windows, and signals that cannot rise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pi2_fluid.engines.fluid.trace import Trace
from pi2_fluid.errors import show_value, warn_of
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pi2_fluid.values import BoolArray, FloatArray

_ROUNDING: Final = 1e-9
# Below this time (s), and this part of that in which a class sends, it is a dip, such as after slow
# start.
_SHORT: Final = 1.0
_LASTING: Final = 0.5
# A mean p at which no Classic window rests at two segments, however long it takes to fall there.
_CLASSIC: Final = 0.9
_SMALL: Final = "small windows"
_FULL: Final = "p = 1"


class _Stretch(NamedTuple):
    """How long something holds of a class, and when for the first time."""

    what: str
    name: str
    lasted: float
    of: float
    first: float
    at_end: bool
    least: float
    bound: float

    @property
    def lasts(self) -> bool:
        return self.lasted > _SHORT and (self.at_end or self.lasted > _LASTING * self.of)

    def note(self) -> str:
        least = f" ({self.least:.3g} segments at the least)" if self.what == _SMALL else ""
        return (
            f"{self.what}: {self.name} for {self.lasted:.3g} of {self.of:.3g} s, from"
            f" {self.first:.4g} s on{least}"
        )

    def sentence(self) -> str:
        when = f"for {self.lasted:.3g} of {self.of:.3g} s, from {self.first:.4g} s on"
        if self.what == _SMALL:
            return (
                f"the windows of {show_value(self.name)} are below {self.bound:g} segments {when}"
                f" ({self.least:.3g} at the least), where timeouts rule, which this law does not"
                " know, so that this is no state of a network: lower the load, use TimeoutReno, or"
                " simulate packets."
            )
        return (
            f"p = 1 for {show_value(self.name)} {when}: the flows offer more than the link carries"
            " even then, so that this is no state of a network: raise the capacity, lower the load,"
            " use TimeoutReno, or simulate packets."
        )


def check_trajectory(scenario: Scenario, trace: Trace) -> str:
    """Return where a trajectory is beyond its laws, "" if nowhere; warn of what lasts.

    Small windows are those below the least that a law describes, 2 segments as a rule, once they
    have fallen so low. It lasts if it makes up more than a second, and half of the time in which
    the class sends or its end.

    Parameters
    ----------
    scenario : Scenario
        What was simulated.
    trace : Trace
        Its samples.

    Returns
    -------
    str
        ``small windows: reno for 19.5 of 20 s, from 0.41 s on (1.41 segments at the least); p = 1:
        reno for ...``.
    """
    found = list(_stretches(scenario, trace))
    for stretch in found:
        if stretch.lasts:
            warn_of(stretch.sentence())
    return "; ".join(stretch.note() for stretch in found)


def _stretches(scenario: Scenario, trace: Trace) -> Iterator[_Stretch]:
    widths = np.diff(trace.time, append=trace.time[-1])
    for i, (flow, name) in enumerate(zip(scenario.flows, scenario.class_names, strict=True)):
        if flow.sender.constant_rate is not None:
            continue
        window, p = trace.window[:, i], trace.p[:, i]
        bound = flow.sender.smallest_window
        small = window < min(bound, float(flow.initial_window)) * (1.0 - _ROUNDING)
        full = p >= 1.0 - _ROUNDING
        if not (small.any() or full.any()):  # mostly: when it sends is looked up for others alone
            continue
        sends = _sends(scenario, flow, name, trace.time)
        for what, holds in ((_SMALL, small & sends), (_FULL, full & sends)):
            if not holds.any():
                continue
            last = np.flatnonzero(sends)[-1]
            yield _Stretch(
                what,
                name,
                float(widths[holds].sum()),
                float(widths[sends].sum()),
                float(trace.time[np.argmax(holds)]),
                bool(holds[last]),
                float(window[holds].min()),
                bound,
            )


def _sends(scenario: Scenario, flow: Flows, name: str, time: FloatArray) -> BoolArray:
    """Return at which times a class sends."""
    stop = np.inf if flow.stop is None else float(flow.stop)
    sends = (time >= float(flow.start)) & (time < stop)
    for change in scenario.changes:
        count = (change.counts or {}).get(name)
        if count is not None:
            later = time >= float(change.at)
            sends = (
                np.where(later, (time < stop) & (time >= float(flow.start)), sends)
                if count > 0.0
                else sends & ~later
            )
    return sends


def check_runs(
    scenario: Scenario, window: FloatArray, p: FloatArray, runs: NDArray[np.intp]
) -> str:
    """Return in which runs of a batch the means are beyond the laws, "" if in none; warn of it.

    Parameters
    ----------
    scenario : Scenario
        What the runs have in common.
    window, p : array
        Mean window (segments) and signal probability of each run and class; 0 of classes that do
        not send.
    runs : array of int
        Which runs these are.
    """
    notes = []
    for i, (flow, name) in enumerate(zip(scenario.flows, scenario.class_names, strict=True)):
        if flow.sender.constant_rate is not None or not flow.sender.smallest_window:
            continue
        sends, bound = window[:, i] > 0.0, flow.sender.smallest_window
        most = _CLASSIC if flow.sender.signal == "classic" else 1.0
        small = window[:, i] < bound * (1.0 - _ROUNDING)
        beyond = sends & (small | (p[:, i] >= most * (1.0 - _ROUNDING)))
        if not beyond.any():
            continue
        first = int(np.argmax(beyond))
        note = (
            f"{name} in {int(beyond.sum())} of {len(runs)} runs, first in run {int(runs[first])},"
            f" where the mean window is {window[first, i]:.3g} segments at a mean p of"
            f" {p[first, i]:.3g}"
        )
        notes.append(f"{_SMALL}: {note}")
        warn_of(
            f"windows are so small that timeouts rule, which this law does not know: {note}. Lower"
            " the load, use TimeoutReno, or simulate packets."
        )
    return "; ".join(notes)
