"""Which loops of a region are looked at: its round-trip times with the loads possible at each.

Loads are a range, or those of whole numbers of flows that share a link. A loop jumps at the edges
of PIE's table, and kinks where a sender's law does: of each jump both sides are
points of the grid, at every round-trip time; and where flows are counted, of each number of them
also the round-trip times at which its load meets a jump.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np

from pi2_fluid.ascending import ascending
from pi2_fluid.laws.aqms.pie import just_below
from pi2_fluid.laws.tapes import numbers_on_tape, tape_of
from pi2_fluid.laws.trace import TraceError

if TYPE_CHECKING:
    from pi2_fluid.laws.aqms.pi_family import PiFamily
    from pi2_fluid.laws.sender import Sender
    from pi2_fluid.network.long_flows import LongFlows
    from pi2_fluid.values import FloatArray, Real

_LOWEST: Final = 1e-3  # p' of the first grid point above a load that begins at 0
_SIDE: Final = 1e-9  # of the load of a kink, its distance from the points on its sides
_ACROSS: Final = 1e-7  # of a round-trip time at which a number of flows meets a jump
_NONE: Final = 1e-9  # p', below which no kink is looked for
_CELLS: Final = 48  # in which one is
_LINES: Final = 12  # numbers of flows that are followed along the round-trip time
_ALONG: Final = 25
_FIT: Final = 1e-9  # of a number of flows, by which rounding may miss a whole one


#: Of a load, or its logarithm, and what goes with it.
_Two: TypeAlias = "Callable[[FloatArray, FloatArray], FloatArray]"


class Region(Protocol):
    """What the grid is of: senders, and their loads at each round-trip time."""

    @property
    def senders(self) -> tuple[Sender, ...]:
        """Who sends."""

    @property
    def min_rtt(self) -> float:
        """The smallest round-trip time (s), queue included."""

    @property
    def max_rtt(self) -> float:
        """The largest."""

    @property
    def load(self) -> tuple[tuple[float, float], ...]:
        """Of each sender the range of p' that was asked for."""

    @property
    def long_flows(self) -> LongFlows:
        """The flows whose loads they are."""

    def ends(self, number: int, rtt: Real) -> tuple[Any, Any]:
        """The least and the largest p' of a sender by round-trip time; swapped where none is."""

    def rtts(self, number: int) -> FloatArray:
        """The round-trip times of the grid of a sender."""


class Points(NamedTuple):
    """Round-trip times (s) and loads, both of shape (n,)."""

    rtt: FloatArray
    p_prime: FloatArray


def grid(region: Region, aqm: PiFamily, number: int, rtts: Real, points: int) -> Points:
    """Return the grid of one sender: at each round-trip time (s) some `points` loads, and jumps."""
    at = np.atleast_1d(np.asarray(rtts, float))
    return _together(
        Points(np.full(loads.shape, rtt), loads)
        for rtt, loads in zip(at, _loads_by_rtt(region, aqm, number, at, points), strict=True)
    )


def loads_at(region: Region, aqm: PiFamily, number: int, rtt: float, points: int) -> FloatArray:
    """Return the loads of the grid at a round-trip time (s), rising."""
    return _loads_by_rtt(region, aqm, number, np.array([rtt]), points)[0]


def _loads_by_rtt(
    region: Region, aqm: PiFamily, number: int, rtts: FloatArray, points: int
) -> list[FloatArray]:
    sender = region.senders[number]
    low, high = region.ends(number, rtts)
    kinks = _kinks(sender, rtts, low, high)
    loads = []
    for index, rtt in enumerate(rtts.tolist()):
        begin, end = float(low[index]), float(high[index])
        jumps = np.concatenate([_both_sides(aqm, sender.signal, begin, end), kinks[index]])
        if region.long_flows.rate is not None:
            counts = _counts(region, number, rtt, points, jumps)
            loads.append(np.sort(region.long_flows.load(sender, counts, rtt)))
        elif begin > end:
            loads.append(np.array([]))
        else:
            loads.append(_between(begin, end, jumps, points))
    return loads


def _between(low: float, high: float, jumps: FloatArray, points: int) -> FloatArray:
    first = [low] if low > 0.0 else [0.0, min(_LOWEST, high / 10.0)]
    even = np.geomspace(first[-1], high, points) if high > first[-1] else np.array(first[-1:])
    return ascending(np.concatenate([first, even[1:], jumps[jumps > low]]))


def _counts(region: Region, number: int, rtt: float, points: int, jumps: FloatArray) -> FloatArray:
    """Numbers of flows that can be at a round-trip time, those about jumps of the loop included."""
    few, most = _fewest_and_most(region, number, rtt)
    if few > most:
        return np.array([])
    even = np.round(np.geomspace(few, most, points))
    near = region.long_flows.count(region.senders[number], jumps, rtt)
    counts = ascending(np.concatenate([even, np.floor(near), np.ceil(near)]))
    result: FloatArray = counts[(counts >= few) & (counts <= most)]
    return result


def _fewest_and_most(region: Region, number: int, rtt: float) -> tuple[int, int]:
    low, high = region.ends(number, rtt)
    if low > high:
        return 1, 0
    ends = region.long_flows.count(region.senders[number], np.array([low, high]), rtt)
    return math.ceil(float(ends[0]) * (1.0 - _FIT)), math.floor(float(ends[1]) * (1.0 + _FIT))


def finer(
    region: Region,
    aqm: PiFamily,
    number: int,
    rtts: FloatArray,
    points: int,
    at: tuple[float, float],
) -> Points:
    """Return a finer grid between the neighbours of one point of a grid, (rtt, p')."""
    rtt, load = at
    near = around(rtts, rtt)
    base = loads_at(region, aqm, number, rtt, points)
    sender = region.senders[number]
    if region.long_flows.rate is not None:
        return _together(_finer_counts(region, aqm, number, near, base, at))
    loads = around(base, load)
    low, high = region.ends(number, near)
    kinks = _kinks(sender, near, low, high)
    table = _both_sides(aqm, sender.signal, float(loads[0]), float(loads[-1]))
    parts = []
    for index, one in enumerate(near.tolist()):
        if low[index] > high[index]:
            continue
        inside = np.clip(np.concatenate([loads, table]), low[index], high[index])
        all_of_them = ascending(np.concatenate([inside, kinks[index]]))
        parts.append(Points(np.full(all_of_them.shape, one), all_of_them))
    return _together(parts)


def _finer_counts(
    region: Region,
    aqm: PiFamily,
    number: int,
    near: FloatArray,
    base: FloatArray,
    at: tuple[float, float],
) -> Iterator[Points]:
    """The numbers of flows between those next to the one at a point, at round-trip times near."""
    sender, long_flows = region.senders[number], region.long_flows
    shown = np.round(long_flows.count(sender, np.append(base, at[1]), at[0]))
    between = around(ascending(shown), float(shown[-1]))
    counts = ascending(np.round(between))
    for rtt in near.tolist():
        few, most = _fewest_and_most(region, number, rtt)
        ours = counts[(counts >= few) & (counts <= most)]
        yield Points(np.full(ours.shape, rtt), long_flows.load(sender, ours, rtt))
    rtts = jump_rtts(region, aqm, number, (float(near[0]), float(near[-1])), counts)
    yield from _on_lines(region, number, *rtts)


def crossings(region: Region, aqm: PiFamily, number: int) -> Points:
    """Return the loops of whole numbers of flows at round-trip times where they meet a jump.

    None where flows are not counted: there jumps are points of the grid.
    """
    if region.long_flows.rate is None:
        return Points(np.array([]), np.array([]))
    ends = float(region.rtts(number)[0]), region.max_rtt
    return _together(_on_lines(region, number, *jump_rtts(region, aqm, number, ends)))


def _on_lines(
    region: Region, number: int, rtts: FloatArray, counts: FloatArray
) -> Iterator[Points]:
    if rtts.size:
        both = np.concatenate([rtts * (1.0 - _ACROSS), rtts * (1.0 + _ACROSS)])
        loads = region.long_flows.load(region.senders[number], np.tile(counts, 2), both)
        low, high = region.ends(number, both)
        inside = (loads >= low) & (loads <= high)
        inside &= (both >= region.min_rtt) & (both <= region.max_rtt)
        yield Points(both[inside], loads[inside])


def jump_rtts(
    region: Region,
    aqm: PiFamily,
    number: int,
    ends: tuple[float, float],
    counts: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return round-trip times (s) at which numbers of flows meet a jump, and those numbers.

    Of these `counts`, or of some that are between the fewest and the most anywhere.
    """
    sender, long_flows = region.senders[number], region.long_flows
    along = np.geomspace(*ends, _ALONG)
    none = np.array([])
    if long_flows.rate is None or ends[0] >= ends[1]:
        return none, none
    if counts is None:
        both = [_fewest_and_most(region, number, rtt) for rtt in along.tolist()]
        both = [pair for pair in both if pair[0] <= pair[1]]
        if not both:
            return none, none
        few, most = min(pair[0] for pair in both), max(pair[1] for pair in both)
        counts = ascending(np.round(np.geomspace(few, most, _LINES)))
    edges = table_edges(aqm, sender.signal, *region.load[number])
    curves = [_above(edge) for edge in edges.tolist()]
    curves += _compared(sender)
    rtts, met = [], []
    for curve in curves:

        def f(x: FloatArray, n: FloatArray, curve: _Two = curve) -> FloatArray:
            rtt = np.exp(x)
            result: FloatArray = curve(long_flows.load(sender, n, rtt), rtt)
            return result

        where, which = _sign_changes(f, np.log(along)[None, :], counts[:, None])
        rtts.append(np.exp(where))
        met.append(counts[which])
    return (np.concatenate(rtts), np.concatenate(met)) if rtts else (none, none)


def _kinks(sender: Sender, rtts: FloatArray, low: FloatArray, high: FloatArray) -> list[FloatArray]:
    """Of each round-trip time the loads on both sides of each kink of a sender's law at rest."""
    parts: list[list[float]] = [[] for _ in rtts]
    begin = np.maximum(low, _NONE)
    for curve in _compared(sender) if np.any(begin < high) else []:
        steps = np.linspace(0.0, 1.0, _CELLS)
        wide = np.log(np.maximum(high, begin) / begin)[:, None]
        x = np.log(begin)[:, None] + wide * steps

        def f(x: FloatArray, rtt: FloatArray, curve: _Two = curve) -> FloatArray:
            result: FloatArray = curve(np.exp(x), rtt)
            return result

        where, which = _sign_changes(f, x, rtts[:, None])
        for load, index in zip(np.exp(where).tolist(), which.tolist(), strict=True):
            parts[index] += [load * (1.0 - _SIDE), load * (1.0 + _SIDE)]
    return [
        np.array([p for p in part if low[index] < p < high[index]])
        for index, part in enumerate(parts)
    ]


def _compared(sender: Sender) -> list[_Two]:
    """What a law's rate compares at rest, the difference of each, as functions of (p', rtt).

    It changes its sign at the law's kinks. Of a law that no tape can hold none are known.
    """
    try:
        rate = tape_of(sender, "rate")
    except TraceError:
        return []
    differences, numbers = rate.differences(), numbers_on_tape(sender, rate)
    classic = sender.signal == "classic"

    def difference(number: int, p_prime: FloatArray, rtt: FloatArray) -> FloatArray:
        p = p_prime**2 if classic else p_prime
        state = sender.at_rest(rtt, p)
        x = state if isinstance(state, tuple) else (state,)
        return np.asarray(differences(*x, *x, p, rtt, rtt, parameters=numbers)[number], float)

    return [partial(difference, number) for number in range(rate.sides)]


def _above(edge: float) -> _Two:
    return lambda p_prime, _: p_prime - edge


def _sign_changes(f: _Two, x: FloatArray, rows: FloatArray) -> tuple[FloatArray, Any]:
    """Return where f(x, row) changes its sign along the rows, and in which row."""
    values = np.broadcast_to(f(x, rows), np.broadcast_shapes(np.shape(x), np.shape(rows)))
    row, cell = np.nonzero(values[:, :-1] * values[:, 1:] < 0.0)
    wide = np.broadcast_to(x, values.shape)
    if not row.size:
        return np.array([]), row
    from scipy.optimize import elementwise  # 0.3 s to import, and most laws have no kinks

    ends = wide[row, cell], wide[row, cell + 1]
    return np.asarray(elementwise.find_root(f, ends, args=(rows[row, 0],)).x), row


def table_edges(aqm: PiFamily, signal: str | None, low: float, high: float) -> FloatArray:
    """Return the p' between two ends at which the gains step, as by PIE's table."""
    p = np.array(getattr(aqm, "heard_edges", aqm.gain_edges) or ())
    edges = np.sqrt(p) if signal == "classic" else p
    return edges[(edges > low) & (edges < high)]


def _both_sides(aqm: PiFamily, signal: str | None, low: float, high: float) -> FloatArray:
    """The edges of the table from both sides: the upper one is the worse."""
    edges = table_edges(aqm, signal, low, high)
    p = edges**2 if signal == "classic" else edges
    below = just_below(p) * (1.0 - 1e-9)
    return np.concatenate([edges, np.sqrt(below) if signal == "classic" else below])


def around(grid: FloatArray, at: float) -> FloatArray:
    """Return a finer grid between the neighbours of a point of a grid."""
    index = int(np.argmin(np.abs(grid - at)))
    low, high = grid[max(index - 1, 0)], grid[min(index + 1, grid.size - 1)]
    return ascending(np.concatenate([np.linspace(low, high, 9), [at]]))


def _together(parts: Iterable[Points]) -> Points:
    each = list(parts)
    if not each:
        return Points(np.array([]), np.array([]))
    return Points(*(np.concatenate(side) for side in zip(*each, strict=True)))
