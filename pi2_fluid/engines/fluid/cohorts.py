"""Cohorts: flows that start one after the other have different windows, so one window is too few.

A class of the fluid has one window. Were its flows to start over a second as copies of the first
ones, the last would begin with a window that had doubled ten times. So such a class is solved as
several, its cohorts: parts of equal size that start one after the other, each with its initial
window, and each leaves slow start by itself. The results are those of the class again.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.engines.fluid.beginning import Beginning
from pi2_fluid.engines.fluid.trace import Trace
from pi2_fluid.network.changes import Change
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

_PARTS: Final = 10  # of a class: twenty move the highest peak of the papers' scenarios by 0.3 %
_MOST: Final = 100  # cohorts of all classes together, if two of each are not more


class Cohorts(NamedTuple):
    """A scenario whose flows start at once in each class, and where its classes come from."""

    scenario: Scenario
    origin: tuple[int, ...]
    """Of each class here: which class it is a part of."""
    beginning: Beginning | None

    def merge(self, trace: Trace) -> Trace:
        """Return the samples of the cohorts as those of the classes they are parts of.

        A class's window is the mean over its flows that have started.
        """
        if len(set(self.origin)) == len(self.origin):
            return trace
        starts = np.array([float(flow.start) for flow in self.scenario.flows])
        begun = (trace.time[:, None] >= starts).astype(float)
        origin = np.array(self.origin)
        first = np.flatnonzero(np.diff(origin, prepend=-1))
        # Before a class has started, its window is the one that it is going to start with.
        begun[:, first] = 1.0

        def total(values: FloatArray) -> FloatArray:
            result: FloatArray = np.add.reduceat(values, first, axis=-1)
            return result

        merged = trace._replace(
            p=trace.p[:, first],
            window=total(begun * trace.window) / total(begun),
            leaving=total(trace.leaving),
        )
        if trace.link_p is None or trace.link_leaving is None:
            return merged
        return merged._replace(
            link_p=trace.link_p[..., first], link_leaving=total(trace.link_leaving)
        )


def split_starts(scenario: Scenario, beginning: Beginning | None = None) -> Cohorts:
    """Return a scenario with every class that starts over time split into cohorts.

    Traffic without a window stays whole, for its count can grow as it is; and so do flows that are
    there at time 0, with the windows of `beginning`.
    """
    late = [_splits(flow, beginning) for flow in scenario.flows]
    parts = max(2, min(_PARTS, _MOST // max(1, sum(late))))
    sizes = [parts if splits else 1 for splits in late]
    if not any(late):
        return Cohorts(scenario, tuple(range(len(sizes))), beginning)
    names = scenario.class_names
    flows = [
        part
        for flow, name, size in zip(scenario.flows, names, sizes, strict=True)
        for part in _parts(flow, name, size)
    ]
    size_of = dict(zip(names, sizes, strict=True))
    changes = [_split_change(change, size_of) for change in scenario.changes]
    origin = tuple(i for i, size in enumerate(sizes) for _ in range(size))
    if beginning is not None:
        beginning = beginning._replace(senders=tuple(beginning.senders[i] for i in origin))
    split = scenario.with_classes(flows, changes)
    return Cohorts(split, origin, beginning)


def _splits(flow: Flows, beginning: Beginning | None) -> bool:
    there = beginning is not None and flow.start == 0.0
    return bool(flow.start_jitter > 0.0) and flow.sender.constant_rate is None and not there


def _parts(flow: Flows, name: str, size: int) -> list[Flows]:
    if size == 1:
        return [dataclasses.replace(flow, name=name)]
    return [
        dataclasses.replace(
            flow,
            name=_name(name, k),
            count=flow.count / size,
            start=flow.start + (k + 0.5) / size * flow.start_jitter,
            start_jitter=0.0,
        )
        for k in range(size)
    ]


def _split_change(change: Change, sizes: dict[str, int]) -> Change:
    if change.counts is None:
        return change
    counts: dict[str, Any] = {}
    for name, count in change.counts.items():
        size = sizes[name]
        counts |= {_name(name, k): count / size for k in range(size)} if size > 1 else {name: count}
    return dataclasses.replace(change, counts=counts)


def _name(name: str, k: int) -> str:
    return f"{name}\N{NULL}{k}"  # no label of anybody's own has this in it
