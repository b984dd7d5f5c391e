"""The margins of gains in a region by acknowledgements: on a grid, not proved.

Each sender alone in one queue, as for the rate clock, and with the end of the queue at which this
one signals and what it measures (`Aqm.signals_at`, `Aqm.measures`). A loop which falls short bounds
the gains as those of the rate clock do (`gains`).
A round-trip time is at least the target here: acknowledgements take the rest of it. What the limit
of a vanishing load is by rates is a load of one in a million: there the windows have 10^6 segments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pi2_fluid.design.clocks import SENDERS_OF, rounded_down
from pi2_fluid.design.linear_plants import NO_LOAD, LinearPlants, make_linear_plants, unit_of
from pi2_fluid.design.points import crossings, finer, grid
from pi2_fluid.design.region import (
    FEW_LOADS,
    HIGHEST_LIMIT,
    Region,
    last_stable,
    least_by_rtt,
    limits_also,
    scan,
    smallest_of,
    starts_below,
)
from pi2_fluid.design.remembering import remembered
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.sender import Sender
from pi2_fluid.loop.margins import Margins, known
from pi2_fluid.loop.searching import search_of

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Real

_RTTS: Final = 9
_LOADS: Final = 7
_INSIDE: Final = 1.0 + 1e-9  # of the target: rounding leaves something for the path


@dataclass(frozen=True, eq=False)
class AckWorst:
    """The smallest margins in a region by acknowledgements.

    Attributes
    ----------
    margins : Margins
        Each the smallest, whichever loop it is of.
    rtt, p_prime, sender
        The loop of the smallest gain margin; a load of 0 for one in a million.
    shortest : float
        Round-trip time (s) from which on loops were looked at.
    count : int
        How many were evaluated.
    plants : tuple of LinearPlants
        Those that were searched for all of their crossovers, each one loop.
    """

    margins: Margins
    rtt: float
    p_prime: float
    sender: Sender
    shortest: float
    count: int
    plants: tuple[LinearPlants, ...]

    @property
    def place(self) -> tuple[float, float, Sender]:
        """Where the gain margin is smallest: RTT (s), load and sender."""
        return self.rtt, self.p_prime, self.sender


class ByAcks(NamedTuple):
    """The worst by acknowledgements, and a sentence on it; None and why where there is none."""

    worst: AckWorst | None
    text: str


@remembered
def worst_by_acks(region: Region, aqm: PiFamily, update: str) -> ByAcks:
    """Return the worst margins of a queue's gains in a region by acknowledgements."""
    gains = float(aqm.alpha), float(aqm.beta), float(aqm.update_interval)
    region, count = _from_target(region, aqm), 0
    picked: list[LinearPlants] = []
    if region.min_rtt > region.max_rtt:
        text = f"the target, {float(aqm.target):g} s, is not below {region.max_rtt:g} s."
        return ByAcks(None, f"Not judged by acknowledgements: {text}")
    try:
        for number in range(len(region.senders)):
            rtts = region.rtts(number, _RTTS)
            some_of = grid(region, aqm, number, rtts, _LOADS), crossings(region, aqm, number)
            for some in some_of:
                if not some.rtt.size:
                    continue
                whole = _at_points(region, aqm, number, *some)
                count += len(whole)
                for index in _smallest(whole, *gains, update):
                    at = float(whole.rtt[index]), float(whole.points.p_prime[index])
                    near = finer(region, aqm, number, rtts, _LOADS, at)
                    closer = _at_points(region, aqm, number, *near)
                    count += len(closer)
                    picked += [closer.take(i) for i in _smallest(closer, *gains, update)]
    except UnsupportedError as error:
        return ByAcks(None, f"Not judged by acknowledgements: {error}")
    each = [_exact(plant, *gains, update) for plant in picked]
    margins, index = smallest_of(each, update)
    points = picked[index].points
    load = float(points.p_prime[0])
    worst = AckWorst(
        margins=margins,
        rtt=float(points.rtt[0]),
        p_prime=0.0 if load <= NO_LOAD else load,
        sender=region.senders[int(points.sender[0])],
        shortest=region.min_rtt,
        count=count,
        plants=tuple(picked),
    )
    return ByAcks(worst, _words(region, worst))


@remembered
def stable_up_to_by_acks(region: Region, aqm: PiFamily, update: str) -> float:
    """Return `stable_up_to` by acknowledgements, from the target on; inf where there is no loop."""
    gains = float(aqm.alpha), float(aqm.beta), float(aqm.update_interval)

    region = _from_target(region, aqm)

    def smallest(rtt: Real) -> FloatArray:
        least = np.full(np.shape(np.atleast_1d(rtt)), np.inf)
        for number in range(len(region.senders)):
            some = grid(region, aqm, number, rtt, FEW_LOADS)
            if some.rtt.size:
                plants = _at_points(region, aqm, number, *some)
                found = scan(plants, *gains, update).gain_margin_db
                least = np.minimum(least, least_by_rtt(plants.rtt, found, rtt))
        return least

    try:
        return last_stable(region.min_rtt, HIGHEST_LIMIT * region.max_rtt, smallest,
                           also=limits_also(region, aqm))  # fmt: skip
    except UnsupportedError:
        return math.inf


def _from_target(region: Region, aqm: PiFamily) -> Region:
    """Return a region from the target on: acknowledgements take the rest of a round trip."""
    low = max(region.min_rtt, float(aqm.target) * _INSIDE)
    if low == region.min_rtt:
        return region
    shorter: Region = region.kept.setdefault(low, replace(region, min_rtt=low))
    return shorter


def _at_points(
    region: Region, aqm: PiFamily, number: int, rtt: FloatArray, load: FloatArray
) -> LinearPlants:
    pairs = sorted(set(zip(rtt.tolist(), np.maximum(load, NO_LOAD).tolist(), strict=True)))
    both = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    return make_linear_plants(region, unit_of(aqm), number, both, "acks")


def _smallest(
    plants: LinearPlants, alpha: float, beta: float, interval: float, update: str
) -> list[int]:
    """Which loops of a row have the smallest margins."""
    found = scan(plants, alpha, beta, interval, update)
    names = ("gain_margin_db", "phase_margin_deg", "modulus_margin")
    return list(dict.fromkeys(int(np.argmin(getattr(found, name))) for name in names))


def _exact(plant: LinearPlants, alpha: float, beta: float, interval: float, update: str) -> Margins:
    """Return the margins of one loop, searched for all of its crossovers."""
    loop = plant.linear(alpha, beta, interval)
    search, this = search_of(loop, update), np.array(True)
    gm, pm, w_gc, w_pc, delay, *_ = search.margins(this).ravel().tolist()
    count = int(search.counts(this)[0])
    if plant.p_prime[0] <= NO_LOAD and starts_below(plant, loop, update):
        gm, w_pc = -math.inf, 0.0
    return Margins(
        gain_margin_db=gm,
        phase_margin_deg=pm,
        gain_crossover=w_gc,
        phase_crossover=w_pc,
        delay_margin=delay,
        update=update,
        _modulus=known(float(search.distances(this)[0])),
        _verdict=known({0: 1, -1: 0}.get(count, -1)),
    )


def _words(region: Region, worst: AckWorst) -> str:
    found = worst.margins
    return (
        f"Checked by acknowledgements ({SENDERS_OF['acks']}), at {worst.count} points from"
        f" {1e3 * worst.shortest:.4g} to {1e3 * region.max_rtt:.4g} ms: at least"
        f" {rounded_down(float(found.gain_margin_db), 2)} dB,"
        f" {rounded_down(float(found.phase_margin_deg), 1)} deg and |1+L| of"
        f" {rounded_down(float(found.modulus_margin), 3)}."
    )
