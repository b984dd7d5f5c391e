"""What a design survives besides other RTTs and loads: a wrong T, and updates early or late.

A queue whose updates come at another interval T' than the one its alpha was chosen for has another
integral gain, alpha/T'. An update that comes early or late by up to delta, in any pattern, leaves a
loop stable if |L/(1 + L)| < 1/(w delta) at every frequency: the small-gain condition of a varying
delay, sufficient and not necessary. Of a sampled loop it is read as if that were continuous.

Source: the small-gain theorem with |1 - e^{-jw delta}| <= w delta.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.design.linear_plants import SomePlants
from pi2_fluid.design.region import Region, scan
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.loop.zeros import zero_between

if TYPE_CHECKING:
    from pi2_fluid.values import Curve, FloatArray

_SPAN: Final = 10.0  # times T, where the search for other intervals ends
_STEPS: Final = 12
_INSIDE: Final = 1e-4
_DIGITS: Final = 5e-8  # of such an interval
_POINTS: Final = 60  # frequencies
_NEAR: Final = 9  # and around the smallest of each loop
_CLOSER: Final = 7
_LOWEST: Final = 0.01  # of wR: there |L| is large and w small


def interval_range(region: Region, aqm: PiFamily, update: str) -> tuple[float, float]:
    """Return the shortest and longest T' (s) at which every loop of a region is stable.

    With alpha and beta as they are, from T on in both directions: 0 where all are stable down to
    T/10, inf where all are up to 10 T. Of a design that is unstable at its own T both are T.
    """
    interval = float(aqm.update_interval)
    if _margin(region.plants(aqm), aqm, interval, update) <= 0.0:
        return interval, interval
    found = []
    for end in (interval / _SPAN, interval * _SPAN):
        plants = region.corners(aqm)
        last = _last(plants, aqm, end, update)
        # The corners are the worst of the region, as far as is known; the whole grid is asked.
        inside = end if last is None else last + _INSIDE * (interval - last)
        if _margin(region.plants(aqm), aqm, inside, update) <= 0.0:
            last = _last(region.plants(aqm), aqm, end, update)
        found.append(last)
    return (0.0 if found[0] is None else found[0]), (math.inf if found[1] is None else found[1])


def _margin(plants: SomePlants, aqm: PiFamily, interval: float, update: str) -> float:
    found = scan(plants, float(aqm.alpha), float(aqm.beta), interval, update)
    return float(np.clip(np.min(found.gain_margin_db), -1.0, 1.0))


def _last(plants: SomePlants, aqm: PiFamily, end: float, update: str) -> float | None:
    """The interval nearest to the queue's own, towards `end`, at which a loop turns unstable."""
    good = float(aqm.update_interval)

    def margin(part: float) -> float:
        return _margin(plants, aqm, part * good, update)

    left = margin(1.0)
    for other in np.geomspace(good, end, _STEPS)[1:].tolist():
        ends = left, margin(other / good)
        if ends[1] <= 0.0:
            return good * zero_between(margin, 1.0, other / good, tolerance=_DIGITS, ends=ends)
        good, left = other, ends[1]
    return None


def jitter_margin(region: Region, aqm: PiFamily, update: str) -> float:
    """Return by how much (s) updates may come early or late, in any pattern, in a whole region.

    The smallest |1 + L|/(w |L|) over the loops of the region's grid; 0 if one is unstable.
    """
    plants = region.plants(aqm)
    gains = float(aqm.alpha), float(aqm.beta), float(aqm.update_interval)
    if np.min(scan(plants, *gains, update).gain_margin_db) <= 0.0:
        return 0.0
    top = np.pi / gains[2] if update == "sampled" else 100.0 / region.min_rtt
    ends = math.log(_LOWEST / region.max_rtt), math.log(top)
    each = (_least_room(part.at(*gains, update), len(part), *ends) for part in plants.parts)
    return min(each)


def _least_room(at: Curve, count: int, low: float, high: float) -> float:
    """Return the smallest |1 + L|/(w |L|) of some loops, of ln w between two ends."""
    x = np.linspace(low, high, _POINTS)

    def room(where: FloatArray) -> FloatArray:
        values = at(where)
        result: FloatArray = np.abs(1.0 + values) / (np.exp(where) * np.abs(values))
        return result

    # Near zero margin |1 + L| dips sharply: every loop's smallest is looked at closer and closer.
    step = x[1] - x[0]
    where = np.broadcast_to(x, (count, x.size))
    for _ in range(_CLOSER):
        values = room(where)
        best = np.take_along_axis(where, np.argmin(values, axis=1)[:, None], axis=1)
        where = np.minimum(best + step * np.linspace(-1.0, 1.0, _NEAR), x[-1])
        step = 2.0 * step / (_NEAR - 1)
    return float(np.min(values))
