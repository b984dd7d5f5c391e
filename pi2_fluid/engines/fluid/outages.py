"""Outages: a link that serves nothing, which in the equations serves next to nothing.

Their round-trip time is base_rtt + q/C: at capacity 0 it has no end, nobody hears anything, and who
waits for acknowledgements does not send. So all whose way leads over the link pause, with windows
that stand still, until it comes back. What is left of it, one bit in a second, is for those whose
rate is constant: their packets fill the buffer. By acknowledgements nobody needs to be paused.
"""

from __future__ import annotations

from itertools import groupby
from typing import Final

import numpy as np

from pi2_fluid.engines.fluid.trace import Trace
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.network.changes import Change
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.scenario import Scenario

#: bit/s that a link serves during an outage.
_LEFT: Final = 1.0


def has_outages(scenario: Scenario) -> bool:
    """Return whether a capacity becomes 0 (in any run, if they vary)."""
    rates = (change.capacity for change in scenario.changes if change.capacity is not None)
    return any(np.any(np.equal(rate, 0.0)) for rate in rates)


def refuse_outages(scenario: Scenario, what: str) -> None:
    """Raise UnsupportedError if a capacity becomes 0; `what` has no answer then."""
    if has_outages(scenario):
        raise UnsupportedError(
            f"Change capacity = 0 is an outage, in which {what}: simulate it by rates without"
            " linear, or packet by packet, or give a capacity above 0."
        )


def without_outages(scenario: Scenario, *, paused: bool = True) -> Scenario:
    """Return the scenario as the equations run it: with what is left of a link where it is out.

    `paused`: those who wait for acknowledgements pause meanwhile.
    """
    if not has_outages(scenario):
        return scenario
    changes: list[Change] = []
    names, out = scenario.class_names, set[str]()
    only = scenario.node_names[0]
    wanted = {n: float(flow.count) for n, flow in zip(names, scenario.flows, strict=True)}
    sent = dict(wanted)
    for at, each in groupby(scenario.changes, key=lambda change: float(change.at)):
        counts: dict[str, float] = {}
        for change in each:
            counts |= {name: float(count) for name, count in (change.counts or {}).items()}
            if change.capacity is not None:
                out -= {change.link or only}
                out |= {change.link or only} if change.capacity == 0.0 else set()
                rate = float(change.capacity) or _LEFT
                changes.append(Change(at=at, capacity=rate, link=change.link))
        wanted |= counts
        if paused:
            over = {n for n, f in zip(names, scenario.flows, strict=True) if _waits(f, out, only)}
            going = {n: 0.0 if n in over else count for n, count in wanted.items()}
            stopped = {
                n
                for n, f in zip(names, scenario.flows, strict=True)
                if f.stop is not None and at >= f.stop
            }
            counts = {n: c for n, c in going.items() if c != sent[n] and n not in stopped}
            sent |= counts
        if counts:
            changes.append(Change(at=at, counts=counts))
    return scenario.with_classes(scenario.flows, changes)


def _waits(flow: Flows, out: set[str], only: str) -> bool:
    """Return whether a class waits for acknowledgements over links that are out."""
    ways = {*(flow.route or (only,)), *(flow.back or ())}
    return flow.sender.constant_rate is None and not out.isdisjoint(ways)


def report_outages(trace: Trace, scenario: Scenario) -> Trace:
    """Return a trace with capacity 0 where a link was out.

    Its queue delay is that of its backlog at the capacity of before, as packets report it. By
    acknowledgements a trace has how long the head has waited, which says nothing of that.
    """
    if not has_outages(scenario):
        return trace
    left = _LEFT / (8.0 * float(scenario.packet_size))
    capacity = trace.capacity.reshape(len(trace.time), -1)
    out = capacity <= left * (1.0 + 1e-9)
    usual = np.array([float(node.link.capacity) for node in scenario.network.nodes])
    usual /= 8.0 * float(scenario.packet_size)
    place = np.maximum.accumulate(np.where(out, -1, np.arange(len(out))[:, np.newaxis]), axis=0)
    before = np.where(place < 0, usual, np.take_along_axis(capacity, np.maximum(place, 0), axis=0))
    if trace.queue_delay.ndim == 3:
        out, before = out[..., np.newaxis], before[..., np.newaxis]
    delay = np.where(out, trace.queue / before, trace.queue_delay)
    shown = np.where(out.reshape(capacity.shape), 0.0, capacity).reshape(trace.capacity.shape)
    return trace._replace(queue_delay=delay, capacity=shown)
