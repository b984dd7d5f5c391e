"""The schedule, flow by flow: who is there when, and what the link serves meanwhile.

Flows are numbered by class, and in each class in the order in which they are called. Those called
last go first, and one that has gone does not come back: whoever is called later is another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid import _core
from pi2_fluid.network.changes import Change
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, IntArray, Number

#: ns in a second.
NS: Final = 1e9
#: Rows of a run at most where nobody asks for a number of them.
MOST_BINS: Final = 100_000
_BIN: Final = 0.1  # s


class Lives(NamedTuple):
    """Of each flow: the index of its class, and when it is called and sent away (ns)."""

    owner: Any
    start: Any
    stop: Any


def to_ns(seconds: Number) -> int:
    """Return a time in whole nanoseconds."""
    return round(float(seconds) * NS)


def usual_bin(duration: Number) -> float:
    """Return the bin (s) of a run of this duration (s), unless another is asked for.

    Examples
    --------
    >>> usual_bin(100.0), usual_bin(1e6)
    (0.1, 10.0)
    """
    return max(_BIN, float(duration) / MOST_BINS)


def flow_counts(scenario: Scenario) -> list[int]:
    """Return how many flows each class has in the whole run, one after the other."""
    return [called for called, _ in class_steps(scenario)]


def class_steps(scenario: Scenario) -> list[tuple[int, list[tuple[int, int]]]]:
    """Return of each class its flows in all, and when (ns) it is told how many are to be there."""
    return [
        _steps(scenario, flow, name)
        for flow, name in zip(scenario.flows, scenario.class_names, strict=True)
    ]


def flow_lives(scenario: Scenario) -> Lives:
    """Return who is there when; start_jitter, which is drawn for each seed, comes on top."""
    totals, end = flow_counts(scenario), to_ns(scenario.duration)
    owner = np.repeat(np.arange(len(totals)), totals)
    start, stop = np.zeros(owner.size, dtype=np.int64), np.full(owner.size, end, dtype=np.int64)
    used = 0
    for _, steps in class_steps(scenario):
        present: list[int] = []
        for at, wanted in steps:
            gone, present = present[wanted:], present[:wanted]
            called = range(used, used + wanted - len(present))
            stop[gone] = at
            start[called.start : called.stop] = at
            present += called
            used = called.stop
    return Lives(owner, start, stop)


def mean_capacity(scenario: Scenario, ends: IntArray, *, while_serving: bool = False) -> FloatArray:
    """Return the mean capacity (bit/s) of each bin, given by its end (ns).

    Of several links it has the shape (bins, links). `while_serving`: during an outage, a link has
    the capacity of before.
    """
    nodes = scenario.network.nodes
    changes: dict[str, list[Change]] = {node.name: [] for node in nodes}
    for change in scenario.changes:
        if change.capacity is not None:
            changes[change.link or nodes[0].name].append(change)
    means = [
        _mean_rate(node.link.capacity, changes[node.name], ends, while_serving) for node in nodes
    ]
    return means[0] if len(nodes) == 1 else np.stack(means, axis=-1)


def _mean_rate(
    capacity: Number, changes: Sequence[Change], ends: IntArray, while_serving: bool
) -> FloatArray:
    """Return the mean of a capacity (bit/s) over each bin."""
    if not changes:
        return np.full(ends.shape, float(capacity))
    at = np.array([0, *(to_ns(change.at) for change in changes)], dtype=np.int64)
    rate = np.array([capacity, *(change.capacity for change in changes)], dtype=float)
    if while_serving:
        rate = rate[np.maximum.accumulate(np.where(rate > 0.0, np.arange(rate.size), 0))]
    starts = np.append(0, ends[:-1])
    first = np.searchsorted(at, starts, side="right")
    last = np.searchsorted(at, ends, side="left")
    knots = np.append(at, ends[-1]).astype(float)
    served = np.append(0.0, np.cumsum(rate * np.diff(knots)))
    mean = (np.interp(ends, knots, served) - np.interp(starts, knots, served)) / (ends - starts)
    # Where nothing changes, the rate itself, without rounding.
    return np.where(last > first, mean, rate[first - 1])


def _steps(scenario: Scenario, flow: Flows, name: str) -> tuple[int, list[tuple[int, int]]]:
    stop = None if flow.stop is None or flow.stop >= scenario.duration else to_ns(flow.stop)
    counted = [
        (to_ns(change.at), int((change.counts or {})[name]))
        for change in scenario.changes
        if name in (change.counts or {})
    ]
    return _core.packet_class_steps(to_ns(flow.start), stop, int(flow.count), counted)
