"""Margins proved over a whole region: branch and bound with discs around the loop.

Frequency, round-trip time and load are cut into boxes until for each of them a disc that contains
L over the box (`enclosure`) misses what margins forbid: the segment from -1 to -10^{-g/20} for a
gain margin of g dB, the arc e^{j(x - pi)}, 0 <= x <= phi, for a phase margin phi, the disc around
-1 for a modulus margin. Below the lowest frequency |L| > 4, above the highest it is small, both by
elementary bounds. Loops of a connected region that never meet -1 have as many unstable modes as
any one of them; one is counted. Then every loop of the region is stable, and stays so with the gain
raised by g, and with the phase lowered by phi.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.ascending import ascending
from pi2_fluid.design.gains import Asked
from pi2_fluid.design.guarantees.enclosure import Boxes, Family, alias_count, proof_of, tail
from pi2_fluid.design.plants import Plants, has_theorems, make_plants
from pi2_fluid.design.points import table_edges
from pi2_fluid.design.region import Region, exact_margins, scan
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.loop.roots import count_unstable
from pi2_fluid.records.record import declares

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Real

_FAR: Final = 4.0  # |L| that is out of reach of everything forbidden
#: Of one sender in one cell of PIE's table: boxes, and terms enclosed, some microseconds each.
_MOST_BOXES: Final = 500_000
_MOST_TERMS: Final = 2_000_000
_MOST_ALIASES: Final = 60  # each costs: T above some 36 times the smallest RTT is left to grids
_RATIO: Final = 2.0  # of the ends of the boxes to begin with
_SURE: Final = 1e-6  # dB, deg, 1: the sums over all aliases are right to nine digits
_ROUNDING: Final = 1e-12  # relative: a box that touches the edge counts as inside
_SLICES: Final = 33  # round-trip times at which a loop of a cell is looked for
_TRIED: Final = 8  # rounds after which the box nearest to what is forbidden is looked at alone


@dataclass(frozen=True)
class Certificate:
    """What branch and bound found.

    Attributes
    ----------
    outcome : {"proved", "refuted", "undecided"}
    boxes : int
        How many were enclosed.
    counterexample : Plants or None
        One loop that has less, where refuted.
    """

    outcome: str
    boxes: int
    counterexample: Plants | None = None


@dataclass(frozen=True)
class _Cell:
    """A connected part of a region: one sender, and one cell of PIE's table."""

    family: Family
    sender: int
    slope: float  # mu over p'
    mu: tuple[float, float]


def certify(region: Region, aqm: PiFamily, asked: Asked, update: str) -> Certificate:
    """Prove or refute that every loop of a region has the margins asked for.

    Parameters
    ----------
    region : Region
        Each sender on its own, at every round-trip time and every load between the ends.
    aqm : PiFamily
        The queue, with its gains.
    asked : Asked
        The margins: to be a little below what is there, as the cost grows near it.
    update : {"continuous", "delayed", "sampled"}
    """
    if not (has_steps(aqm) and all(has_theorems(sender, aqm) for sender in region.senders)):
        return Certificate("undecided", 0)
    boxes = 0
    for cell in _cells(region, aqm, update):
        found = _certify_cell(cell, region, asked)
        boxes += found.boxes
        if found.outcome != "proved":
            return Certificate(found.outcome, boxes, found.counterexample)
    return Certificate("proved", boxes)


def has_steps(aqm: PiFamily) -> bool:
    """Return whether the gains are constant between the steps of a table, or everywhere."""
    return aqm.gain_edges is not None


def _cells(region: Region, aqm: PiFamily, update: str) -> Iterator[_Cell]:
    gains = float(aqm.alpha), float(aqm.beta), float(aqm.update_interval)
    for number, (sender, (low, high)) in enumerate(zip(region.senders, region.hull, strict=True)):
        ends = ascending([low, *table_edges(aqm, sender.signal, low, high), high])
        pairs = list(itertools.pairwise(ends)) or [(low, high)]
        for begin, end in pairs:
            middle = make_plants((sender,), aqm, region.max_rtt, [np.array([(begin + end) / 2.0])])
            slope = float(middle.mu[0]) / ((begin + end) / 2.0)
            scalable = bool(middle.scalable[0])
            falling = declares(aqm, "encoder") == "linear" and not scalable
            m = float(middle.m[0]) * (float(middle.mu[0]) if falling else 1.0)
            for exact in (False, True):
                family = Family(scalable, m, falling, *gains, update, exact)
                yield _Cell(family, number, slope, (slope * begin, slope * end))


def _certify_cell(cell: _Cell, region: Region, asked: Asked) -> Certificate:
    family, rtts = cell.family, (region.min_rtt, region.max_rtt)
    somewhere = _somewhere(cell, region)
    if somewhere is None:
        return Certificate("undecided", 0)
    loop = somewhere.linear(family.alpha, family.beta, family.interval).element((0, 0))
    if count_unstable(loop, family.update) != 0:
        return _short(region, somewhere, 0)
    aliases = alias_count(family.interval, region.min_rtt, family.update)
    if aliases > _MOST_ALIASES or cell.mu[1] >= 1.0:
        return Certificate("undecided", 0)
    proof = proof_of(
        family,
        aliases,
        near=10.0 ** (-asked.gain_db / 20.0),
        phase=math.radians(asked.phase_deg),
        modulus=asked.modulus,
        far=_FAR,
    )
    boxes = _first_boxes(frequency_ends(family, rtts, cell.mu, asked), rtts, cell.mu)
    # Which boxes hold a load that flows of whole numbers can have is asked between two rounds.
    together = 1 if region.long_flows.bounds else _TRIED
    count, terms, rounds = 0, 0.0, 0
    while len(boxes := _possible(cell, region, boxes)):
        rows, discs, count, terms, spent = proof.rounds(
            boxes.rows, together, count, _MOST_BOXES, terms, _MOST_TERMS
        )
        if spent:
            return Certificate("undecided", count)
        rounds += together
        boxes, (*_, widest, away) = Boxes(rows[:3], rows[3:]), discs
        if rounds % _TRIED == 0 and len(boxes):
            suspect = _middle(cell, region, boxes, int(np.argmin(away)))
            seems = bool(np.min(away) < 0.0)  # without what is beyond the aliases enclosed
            if suspect is not None and (
                (seems or _seems_short(suspect, family, asked))
                and _is_short(suspect, family, asked)
            ):
                return _short(region, suspect, count)
        boxes = boxes.halves(widest.astype(np.intp))
    return Certificate("proved", count)


def _short(region: Region, loop: Plants, boxes: int) -> Certificate:
    """A loop that has less than was asked for refutes it, unless its load is no flows' own.

    Where flows are counted, the loads between those of whole numbers of them are proved, too; what
    such a load has less of is no answer.
    """
    if region.long_flows.rate is not None:
        return Certificate("undecided", boxes)
    return Certificate("refuted", boxes, loop)


def _possible(cell: _Cell, region: Region, boxes: Boxes) -> Boxes:
    """Return the boxes that hold a load which the long flows can have, its ends falling with R."""
    if not region.long_flows.bounds or not len(boxes):
        return boxes
    _, rtt, mu = boxes.centre
    _, dr, dmu = boxes.half
    low, _ = region.ends(cell.sender, rtt + dr)
    _, high = region.ends(cell.sender, rtt - dr)
    kept = (mu + dmu >= cell.slope * low * (1.0 - _ROUNDING)) & (
        mu - dmu <= cell.slope * high * (1.0 + _ROUNDING)
    )
    return boxes.take(np.flatnonzero(kept))


def _inside(cell: _Cell, region: Region, rtt: float, mu: float) -> float | None:
    """Return the 1/window nearest to one that the long flows can have at a round-trip time."""
    low, high = (cell.slope * float(end) for end in region.ends(cell.sender, rtt))
    low, high = max(low, cell.mu[0]), min(high, cell.mu[1])
    return min(max(mu, low), high) if low <= high else None


def _somewhere(cell: _Cell, region: Region) -> Plants | None:
    """Return a loop of a cell, the one in its middle at the longest RTT that has one."""
    for rtt in np.geomspace(region.max_rtt, region.min_rtt, _SLICES).tolist():
        mu = _inside(cell, region, rtt, sum(cell.mu) / 2.0)
        if mu is not None:
            return _plant(cell, rtt, mu)
    return None


def frequency_ends(
    family: Family, rtts: tuple[float, float], mus: tuple[float, float], asked: Asked
) -> tuple[float, float]:
    """Return ends outside of which |L| is out of reach of what is forbidden, or too small for it.

    Low: |F| >= alpha/T, |jv (1 + jv) (jv + mu h)| <= v sqrt(1 + v^2) (v (1 + mu) + 2 mu), as h adds
    to 2 at most |1 - e^{-jv}| <= v where R is seen to vary, so that

        |L| >= m alpha R / (T w sqrt(1 + w^2 R^2) (w R (1 + mu) + 2 mu)) - (the aliases).

    R/(w R (1 + mu) + 2 mu) rises with R, the root falls: each is taken where it is worst. It falls
    with w. The aliases: R^2 times their tail falls with R. High: |jv + mu h| >= v (1 - mu).
    """
    m_high = family.m / mus[0] if family.falling else family.m
    low_rtt, high_rtt = rtts
    gain = family.beta + family.alpha / 2.0
    weak = min(0.25, 10.0 ** (-asked.gain_db / 20.0) / 2.0, (1.0 - asked.modulus) / 2.0)
    low = 1.0 / high_rtt
    while least_size(family, low, rtts, mus) < _FAR:
        low /= 1.5
    if family.update == "sampled":
        return low, np.pi / family.interval

    def largest(w: float) -> float:
        size = family.alpha / family.interval + gain * w
        return float(m_high * size / (w**3 * low_rtt * (1.0 - mus[1])))

    high = 1.0 / low_rtt
    while largest(high) > weak:
        high *= 1.5
    return low, high


def least_size(family: Family, w: Real, rtts: tuple[Real, Real], mus: tuple[Real, Real]) -> Real:
    """Return a lower bound of |L| at w and below, over ranges of R and mu; see `frequency_ends`."""
    m_low = family.m / mus[1] if family.falling else family.m
    aliases: Real = 0.0
    if family.update == "sampled":
        with np.errstate(divide="ignore"):
            m_high = family.m / mus[0] if family.falling else family.m
            most = (family.alpha + 2.0 * family.beta) / family.interval  # of |F|
            turn = 2.0 * np.pi / family.interval
            aliases = m_high * rtts[0] ** 2 * most * tail(turn * rtts[0], mus[1], 2.0, 0)
    echo = mus[1] * w * rtts[0] if family.exact else 0.0
    damped = (w * rtts[0] + echo + 2.0 * mus[1]) * np.sqrt(1.0 + (w * rtts[1]) ** 2)
    return m_low * family.alpha / family.interval * rtts[0] / (w * damped) - aliases


def _first_boxes(
    w: tuple[float, float], rtts: tuple[float, float], mus: tuple[float, float]
) -> Boxes:
    sides = [_cuts(*w), _cuts(*rtts), np.array(mus) if mus[0] == 0.0 else _cuts(*mus)]
    middles = [(side[1:] + side[:-1]) / 2.0 for side in sides]
    halves = [(side[1:] - side[:-1]) / 2.0 for side in sides]
    return Boxes(
        np.stack([x.ravel() for x in np.meshgrid(*middles, indexing="ij")]),
        np.stack([x.ravel() for x in np.meshgrid(*halves, indexing="ij")]),
    )


def _cuts(low: float, high: float) -> FloatArray:
    count = max(1, int(np.ceil(np.log(high / low) / np.log(_RATIO))))
    return np.geomspace(low, high, count + 1)


def _plant(cell: _Cell, rtt: float, mu: float) -> Plants:
    family = cell.family
    m = family.m / mu if family.falling else family.m
    values = (rtt, mu / cell.slope, cell.sender, m, mu, family.scalable, 0.0, family.exact)
    return Plants(*(np.array([value]) for value in values))


def _middle(cell: _Cell, region: Region, boxes: Boxes, index: int) -> Plants | None:
    _, rtt, mu = (float(x) for x in boxes.centre[:, index])
    possible = _inside(cell, region, rtt, mu)
    return None if possible is None else _plant(cell, rtt, possible)


def _seems_short(plant: Plants, family: Family, asked: Asked) -> bool:
    found = scan(plant, family.alpha, family.beta, family.interval, family.update)
    return bool(found.gain_margin_db < asked.gain_db or found.phase_margin_deg < asked.phase_deg)


def _is_short(plant: Plants, family: Family, asked: Asked) -> bool:
    """Whether a loop certainly has less than was asked for: with all of its aliases."""
    found = exact_margins(plant, family.alpha, family.beta, family.interval, family.update)
    return bool(
        found.gain_margin_db < asked.gain_db - _SURE
        or found.phase_margin_deg < asked.phase_deg - _SURE
        or found.modulus_margin < asked.modulus - _SURE
    )
