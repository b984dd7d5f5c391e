"""What a guest's log says, counted in bins as packets are counted: the input of `runs_dataset`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid import _core
from pi2_fluid.engines.linux.reader import QUEUED, Log, controller, fates, sojourns
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.network.schedule import NS, to_ns
from pi2_fluid.results.delays import bins_per_histogram, mean_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pi2_fluid.values import FloatArray, IntArray, Number

_CONTROL: Final = 200  # bytes: what is shorter opens connections, or ends them
_ECT0, _CE = 2, 3
_AT_DEQUEUE: Final = ("codel", "fq_codel")  # qdiscs that drop there, whatever law they stand for


class _Packets(NamedTuple):
    """Packets of data, in the order of the log; times in ns."""

    came: IntArray
    went: IntArray
    """When each left, or was dropped; the end of the run for those that still wait then."""
    left: NDArray[np.bool_]
    dropped: NDArray[np.bool_]
    marked: NDArray[np.bool_]
    flow: IntArray
    owner: IntArray
    """The class of its flow."""
    band: IntArray
    bytes: IntArray


def count_log(
    log: Log,
    scenario: Scenario,
    kind: str,
    times: Sequence[tuple[int, float, float]],
    length: int,
) -> dict[str, Any]:
    """Return what a run counted, with the names and shapes of `_core.PacketRun.outcome`.

    Parameters
    ----------
    log : Log
        Of one run.
    scenario : Scenario
        What was run, on one link.
    kind : str
        Of the queue's qdisc.
    times : sequence of tuple
        Of each flow its class, and when it came and went (s).
    length : int
        Of a bin (ns).

    Notes
    -----
    Packets that the kernel drops are counted when they came if the law drops at enqueue, otherwise
    when the next packet of their queue left. A full queue's are told from the law's by how many
    waited when they came; of packets that were marked in L, those that waited beyond the law's step
    are the step's.
    """
    duration, classes = to_ns(scenario.duration), len(scenario.flows)
    ends = np.minimum(np.arange(1, -(-duration // length) + 1) * length, duration)
    owners = np.array([owner for owner, _, _ in times])
    # What opens and ends connections waits, too, but is not counted.
    everything = _packets(log, scenario, kind, owners, duration)
    counts = everything.bytes >= _CONTROL
    data = _only(everything, counts)
    full = _found_it_full(everything, int(scenario.link.buffer))[counts]
    per_block = bins_per_histogram(ends.size, classes)
    return {
        "bins": _law(log, scenario.aqm, kind, ends),
        "bands": _backlog(log, everything, scenario.aqm.bands, ends),
        "legs": _rows(data, classes, ends),
        "classes": _windows(log, times, classes, ends),
        "totals": _totals(log, data, full, scenario, owners),
        "delays": _delays(data, classes, ends, per_block),
        "segments": _segments(data, len(times), ends, per_block),
        "block": per_block,
    }


def _packets(log: Log, scenario: Scenario, kind: str, owners: IntArray, duration: int) -> _Packets:
    rows, law = log.packets, scenario.aqm
    came = rows["t"].astype(np.int64) * 1000
    flow = rows["flow"].astype(np.int64)
    owner = owners[flow]
    band = _l4s(rows["ecn_in"], scenario, owner) if law.bands > 1 else np.zeros_like(flow)
    line = flow if law.queues_flows else band  # in which packets keep their order
    fate = fates(rows, line)
    left, dropped = fate < QUEUED, fate > QUEUED
    went = np.where(left, came + sojourns(rows), duration)
    if kind in _AT_DEQUEUE or law.signals_at == "dequeue":
        for one in np.unique(line):
            lost, kept = dropped & (line == one), left & (line == one)
            went[lost] = _next_departure(came[kept], went[kept], came[lost], duration)
    else:
        went[dropped] = came[dropped]
    # The last reading of the taps may be a little late.
    left, dropped, went = (
        left & (went < duration),
        dropped & (went < duration),
        went.clip(max=duration),
    )
    marked = left & (fate == _CE) & (rows["ecn_in"] != _CE)
    size = rows["bytes"].astype(np.int64)
    found_packets = _Packets(came, went, left, dropped, marked, flow, owner, band, size)
    return _only(found_packets, came < duration)


def _l4s(ecn: NDArray[np.uint8], scenario: Scenario, owner: IntArray) -> IntArray:
    """Return which packets a dual queue takes for L4S: ECT(1) and CE.

    The router makes ECT(1) of the ECT(0) of scalable senders, behind the tap.
    """
    scalable = np.array([int(flow.is_l4s) for flow in scenario.flows])
    return np.where(ecn == _ECT0, scalable[owner], ecn & 1).astype(np.int64)


def _next_departure(
    came: IntArray, went: IntArray, lost: IntArray, duration: int
) -> NDArray[np.int64]:
    """Return when the first packet left that came after each of those that were lost."""
    order = np.argsort(came, kind="stable")
    later = np.searchsorted(came[order], lost, side="left")
    return np.append(went[order], duration)[later]


def _only(packets: _Packets, which: NDArray[np.bool_]) -> _Packets:
    columns: Any = [column[which] for column in packets]
    return _Packets(*columns)


def _bin_of(times: NDArray[Any], ends: IntArray) -> IntArray:
    """Return in which bin each time lies; beyond the last one, how many there are."""
    return np.searchsorted(ends, times, side="right")


def _table(
    bins: IntArray, columns: IntArray, shape: tuple[int, int], weights: NDArray[Any] | None = None
) -> FloatArray:
    """Return how many (or how much) is in each bin and column; what is beyond is left out."""
    inside = bins < shape[0]
    index = bins[inside] * shape[1] + columns[inside]
    heavy = None if weights is None else weights[inside].astype(float)
    counted = np.bincount(index, heavy, minlength=shape[0] * shape[1])
    return counted.reshape(shape).astype(float)


def _rows(data: _Packets, classes: int, ends: IntArray) -> dict[str, FloatArray]:
    shape = (ends.size, classes)
    arrived, gone = _bin_of(data.came, ends), _bin_of(data.went, ends)

    def of(which: NDArray[np.bool_], weights: NDArray[Any] | None = None) -> FloatArray:
        heavy = None if weights is None else weights[which]
        return _table(gone[which], data.owner[which], shape, heavy)

    return {
        "arrivals": _table(arrived, data.owner, shape),
        "departures": of(data.left),
        "bits": of(data.left, 8 * data.bytes),
        "drops": of(data.dropped),
        "marks": of(data.marked),
        "sojourn": of(data.left, data.went - data.came),
    }


# The queue


def _law(log: Log, law: Aqm, kind: str, ends: IntArray) -> dict[str, FloatArray]:
    """Return the law's variable at the end of each bin, and with what it signals then."""
    if law.overflows:
        none = np.zeros((ends.size, 1))
        return {"controller": none, "classic": none, "scalable": none}
    read = np.searchsorted(log.queue["t"] * NS, ends + 1000.0) - 1
    u = controller(kind, log.queue)[np.maximum(read, 0)][:, None]
    if np.isnan(u).all():
        return {"controller": u, "classic": u, "scalable": u}
    signal = law.encode(u)
    return {"controller": u, "classic": _array(signal.classic), "scalable": _array(signal.scalable)}


def _array(values: Number) -> FloatArray:
    found: FloatArray = np.minimum(np.asarray(values, dtype=float), 1.0)
    return found


def _backlog(log: Log, packets: _Packets, bands: int, ends: IntArray) -> dict[str, FloatArray]:
    """Return the mean backlog of each band (bytes) and its mean square.

    The kernel counts both bands of a dual queue together: of these it is what the taps saw come and
    not go. Of one band it is what the kernel said each time it was asked.
    """
    if bands > 1:
        found = [_levels(_only(packets, packets.band == band), ends) for band in range(bands)]
        mean, square = (np.stack(rows, axis=1) for rows in zip(*found, strict=True))
        return {"bytes": mean, "square": square}
    backlog = log.queue["bytes_waiting"].astype(float)
    # What is read at the end of a bin belongs to it.
    bins = _bin_of(log.queue["t"] * NS - 1000.0, ends)
    shape, column = (ends.size, 1), np.zeros(bins.size, dtype=np.int64)
    count = _table(bins, column, shape)
    return {
        "bytes": mean_of(_table(bins, column, shape, backlog), count),
        "square": mean_of(_table(bins, column, shape, backlog**2), count),
    }


def _levels(packets: _Packets, ends: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and mean square over each bin of the bytes that have come and not gone."""
    times = np.concatenate([packets.came, packets.went])
    order = np.argsort(times, kind="stable")
    times = np.concatenate([[0], times[order]])
    level = np.cumsum(np.concatenate([[0], np.append(packets.bytes, -packets.bytes)[order]]))
    edges = np.concatenate([[0], ends])
    at = np.searchsorted(times, edges, side="right") - 1

    def mean(height: FloatArray) -> FloatArray:
        area = np.concatenate([[0.0], np.cumsum(height[:-1] * np.diff(times))])
        found: FloatArray = np.diff(area[at] + height[at] * (edges - times[at])) / np.diff(edges)
        return found

    return mean(level.astype(float)), mean(level.astype(float) ** 2)


# Flows


def _windows(
    log: Log, times: Sequence[tuple[int, float, float]], classes: int, ends: IntArray
) -> dict[str, FloatArray]:
    """Return the mean number of flows of each class that are there, and the mean window they say.

    A bin in which none of them said anything has that of the one before.
    """
    shape = (ends.size, classes)
    starts = np.concatenate([[0], ends[:-1]])
    flows = np.zeros(shape)
    for owner, begins, goes in times:
        inside = np.minimum(ends, goes * NS) - np.maximum(starts, begins * NS)
        flows[:, owner] += np.maximum(inside, 0.0) / (ends - starts)
    owners = np.array([owner for owner, _, _ in times])
    said = log.flows
    bins, column = _bin_of(said["t"] * NS - 1e5, ends), owners[said["flow"].astype(np.int64)]
    count = _table(bins, column, shape)
    mean = mean_of(_table(bins, column, shape, said["window"]), count)
    told = np.maximum.accumulate(np.where(count > 0, np.arange(ends.size)[:, None], 0), axis=0)
    window = np.where(flows > 0.0, np.take_along_axis(mean, told, axis=0), 0.0)
    return {"window": window, "flows": flows}


def _segments(data: _Packets, flows: int, ends: IntArray, per_block: int) -> NDArray[np.int64]:
    gone = _bin_of(data.went[data.left], ends)
    block = np.where(gone < ends.size, gone // per_block, ends.size)
    shape = (-(-ends.size // per_block), flows)
    return _table(block, data.flow[data.left], shape).astype(np.int64)


# The run


def _delays(data: _Packets, classes: int, ends: IntArray, per_block: int) -> NDArray[np.uint32]:
    edges = np.round(np.asarray(_core.packet_delay_edges()) * NS)
    left = _only(data, data.left & (data.went < ends[-1]))
    block = _bin_of(left.went, ends) // per_block
    bucket = np.searchsorted(edges, left.went - left.came, side="right") - 1
    buckets = edges.size - 1
    row = block * classes + left.owner
    shape = (-(-ends.size // per_block), classes, buckets)
    counted = np.bincount(row * buckets + bucket, minlength=int(np.prod(shape)))
    return counted.reshape(shape).astype(np.uint32)


def _totals(
    log: Log, data: _Packets, full: NDArray[np.bool_], scenario: Scenario, owners: IntArray
) -> dict[str, NDArray[np.int64]]:
    classes = len(scenario.flows)

    def of(which: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(data.owner[which], minlength=classes).astype(np.int64)

    step = float(scenario.aqm.marking_step) * NS
    stepped = data.marked & (data.band == 1) & (data.went - data.came > step)
    last = {int(row["flow"]): row for row in log.flows}

    def said(field: str) -> NDArray[np.int64]:
        numbers = [float(row[field]) for row in last.values()]
        return np.bincount(owners[list(last)], numbers, minlength=classes).astype(np.int64)

    waiting = ~data.left & ~data.dropped
    nothing = np.zeros(classes, dtype=np.int64)
    return {
        "retransmissions": said("retransmissions") if last else nothing,
        "timeouts": said("timeouts") if last else nothing,
        "sent": of(np.ones_like(data.left)),
        "delivered": of(data.left),
        "drop_aqm": of(data.dropped & ~full),
        "drop_full": of(full),
        "drop_overload": nothing,
        "mark_aqm": of(data.marked & ~stepped),
        "mark_step": of(stepped),
        "queued": of(waiting),
        "in_flight": nothing,
    }


def _found_it_full(packets: _Packets, limit: int) -> NDArray[np.bool_]:
    """Return which packets were dropped when as many as the queue holds were waiting."""
    kept = ~packets.dropped | (packets.went > packets.came)
    # Of packets that come at once the first ones find room.
    inside = np.searchsorted(np.sort(packets.came[kept]), packets.came, side="right")
    inside -= np.searchsorted(np.sort(packets.went[kept]), packets.came, side="right")
    return packets.dropped & (inside >= limit)
