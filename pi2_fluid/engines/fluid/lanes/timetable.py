"""Timetable: the runs of a batch as plain arrays, with everything that happens put on nodes.

All runs take equal steps, each its own length h, and node k lies at k h. A tick of the controller
is always a node. Changes, starts and stops are moved to the nearest node, at most h/2 away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.engines.fluid.lanes.variation import Variation
from pi2_fluid.errors import DomainError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.link import with_buffer
from pi2_fluid.records.record import map_leaves

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pi2_fluid.network.scenario import Scenario
    from pi2_fluid.values import FloatArray

if TYPE_CHECKING:
    Int32Array = NDArray[np.int32]
    _Rows = Callable[[Iterable[ArrayLike]], FloatArray]
    _Nodes = Callable[[ArrayLike], Int32Array]

#: A node that is never reached.
NEVER: Final = 2**31 - 1
_MOST_STEPS: Final = 10**8
_ROUNDING: Final = 1e-9  # relative: an interval of 32 ms has four steps of 8 ms, not five


class Timetable(NamedTuple):
    """What an engine needs to know of `n` runs of m classes. Arrays end in a dim of length n."""

    aqm: Aqm
    """Fields are numbers, or arrays of shape (n,)."""
    senders: tuple[Sender, ...]
    """As `aqm`; on the link, so that they count in packets."""
    group: tuple[int, ...]
    """Of each class: which row of `base_rtt`."""
    slow_start: tuple[bool, ...]
    continuous: bool
    h: FloatArray
    """Length of a step (s)."""
    ticks: Int32Array
    """Steps from one update of the controller to the next; 0 if it never ticks."""
    first: Int32Array
    """Statistics begin at this node."""
    last: Int32Array
    """Number of steps."""
    buffer: FloatArray
    """Packets."""
    base_rtt: FloatArray
    """Seconds, one row for each group of classes."""
    window: FloatArray
    """Initial windows (segments), shape (m, n)."""
    start: Int32Array
    """Node at which the class starts, shape (m, n)."""
    stop: Int32Array
    """Node at which it stops, or `NEVER`, shape (m, n)."""
    ramp: FloatArray
    """Steps over which its flows start, one after the other, shape (m, n)."""
    event: Int32Array
    """Nodes at which counts or capacity change, rising, shape (e, n)."""
    capacity: FloatArray
    """Packets per second before the first event and after each, shape (e + 1, n)."""
    count: Any
    """Flows, shape (e + 1, m, n)."""
    sample: Int32Array
    """Nodes to report, rising, shape (s, n)."""


def tabulate(
    varied: Variation, *, continuous: bool, step: float, after: ArrayLike, sample: FloatArray | None
) -> Timetable:
    """Lay out the runs of a batch in steps of at most `step` and of the shortest path's RTT.

    Parameters
    ----------
    varied : Variation
        The runs.
    continuous : bool
        Whether the controller moves between ticks instead.
    step : float
        Longest step (s).
    after : float
        When statistics begin (s).
    sample : array or None
        Times to report (s).

    Raises
    ------
    DomainError
        If a run would take more than 1e8 steps.
    """
    scenario, n = varied.scenario, varied.runs

    def rows(values: Iterable[ArrayLike]) -> FloatArray:
        return np.array([np.broadcast_to(np.asarray(v, float), (n,)) for v in values])

    def row(value: ArrayLike) -> FloatArray:
        one: FloatArray = rows([value])[0]
        return one

    flows, link = scenario.flows, scenario.link
    heard = [row(flow.base_rtt) for flow in flows if flow.sender.constant_rate is None]
    h, ticks = _steps(row(scenario.duration), scenario.aqm, np.minimum.reduce([row(step), *heard]))

    def nodes(value: ArrayLike) -> Int32Array:
        nearest: Int32Array = np.minimum(np.rint(row(value) / h), NEVER).astype(np.int32)
        return nearest

    last = np.maximum(nodes(scenario.duration), 1)
    base_rtt, group = _group([row(flow.base_rtt) for flow in flows])
    event, capacity, count = _schedule(scenario, rows, nodes)
    rates = [change.capacity for change in scenario.changes if change.capacity is not None]
    return Timetable(
        aqm=scenario.aqm,
        senders=tuple(flow.sender.on_link(link.packet_size) for flow in flows),
        group=group,
        slow_start=tuple(bool(f.slow_start and f.sender.signal is not None) for f in flows),
        continuous=continuous,
        h=h,
        ticks=ticks,
        first=np.minimum(nodes(after), last - 1).astype(np.int32),
        last=last.astype(np.int32),
        buffer=row(with_buffer(link, rates).buffer),
        base_rtt=base_rtt,
        window=rows([flow.initial_window for flow in flows]),
        start=np.array([nodes(flow.start) for flow in flows]),
        stop=np.array(
            [np.full(n, NEVER, np.int32) if f.stop is None else nodes(f.stop) for f in flows]
        ),
        ramp=rows([flow.start_jitter for flow in flows]) / h,
        event=event,
        capacity=capacity,
        count=count,
        sample=np.array([nodes(t) for t in sample], np.int32).reshape(-1, n)
        if sample is not None
        else np.empty((0, n), np.int32),
    )


def _steps(duration: FloatArray, aqm: Aqm, longest: FloatArray) -> tuple[FloatArray, Int32Array]:
    """Return the length of the steps, and how many fit into an update interval (0: no ticks)."""
    interval = aqm.update_interval
    whole = duration if interval is None else np.broadcast_to(interval, duration.shape)
    parts = np.ceil(whole / longest * (1.0 - _ROUNDING))
    h = whole / parts
    if (duration / h > _MOST_STEPS).any():
        run = int(np.argmax(duration / h))
        raise DomainError(
            f"run {run} would take {duration[run] / h[run]:.2g} steps, more than {_MOST_STEPS:.0g},"
            " for a step is no longer than the update interval and the shortest base_rtt: shorten"
            " the duration, or raise these."
        )
    return h, np.where(interval is None, 0, parts).astype(np.int32)


def _group(base_rtt: list[FloatArray]) -> tuple[FloatArray, tuple[int, ...]]:
    """Return the different base RTTs, and which one each class has: they read the same past."""
    groups: list[Any] = []
    place = []
    for values in base_rtt:
        same = [j for j, known in enumerate(groups) if np.array_equal(known, values)]
        place.append(same[0] if same else len(groups))
        if not same:
            groups.append(values)
    return np.array(groups), tuple(place)


def _schedule(
    scenario: Scenario,
    rows: _Rows,
    nodes: _Nodes,
) -> tuple[Int32Array, FloatArray, FloatArray]:
    """Return when capacity or counts change, in each run's own order, and to what."""
    names, bits = scenario.class_names, 8.0 * np.asarray(scenario.link.packet_size)
    capacity = [rows([scenario.link.capacity / bits])[0]]
    count = [rows([flow.count for flow in scenario.flows])]
    changes = scenario.changes
    if not changes:
        n = capacity[0].size
        return np.empty((0, n), np.int32), np.array(capacity), np.array(count)
    at = rows([change.at for change in changes])
    order = np.argsort(at, axis=0, kind="stable")
    new_capacity = rows([np.nan if c.capacity is None else c.capacity / bits for c in changes])
    new_count = np.array(
        [rows([(c.counts or {}).get(name, np.nan) for name in names]) for c in changes]
    )
    for turn in range(len(changes)):
        which = order[turn]
        own = np.take_along_axis(new_capacity, which[None], 0)[0]
        capacity.append(np.where(np.isnan(own), capacity[-1], own))
        own = np.take_along_axis(new_count, which[None, None], 0)[0]
        count.append(np.where(np.isnan(own), count[-1], own))
    event = np.array([nodes(t) for t in np.take_along_axis(at, order, 0)])
    return event, np.array(capacity), np.array(count)


def take_runs(table: Timetable, runs: slice | Sequence[int] | NDArray[np.intp]) -> Timetable:
    """Return the table of some of the runs, whose indices may repeat."""

    def take(leaf: Any, _: str = "") -> Any:
        return leaf[..., runs] if np.ndim(leaf) else leaf

    arrays = {
        field: take(value)
        for field, value in table._asdict().items()
        if field not in {"aqm", "senders", "group", "slow_start", "continuous"}
    }
    aqm, senders = map_leaves(take, (table.aqm, table.senders))
    return table._replace(aqm=aqm, senders=senders, **arrays)
