"""Stability proved for every mixture of senders and round-trip times that share one queue.

Classes that see the same p' share one queue in any numbers: with phi_i their shares of the link,
which sum to one, the characteristic function is a mean of those of the classes alone,

    sum of phi_i F_i(s),    F_i = s + 1/R_i + C(s) e^{-sR_i} / E_i(s),
    C = (alpha/T + (beta + alpha/2) s) e^{-sT/2} / s,

    E_i = omega_i s R_i/2 + p' (1 + e^{-sR_i})/2    (Reno, omega = 1/sqrt(decrease)), or
    E_i = omega_i s R_i + p' e^{-sR_i}              (Scalable, omega = 1/(k per_mark)),

all at one p', where R is held constant in the window law; where it is not, F_i has in addition

    eta p' (1 - e^{-sR_i}) / (R_i E_i),     eta = 1/2 (Reno), 1 (Scalable).

Both are proved. If at every frequency and every p' the values F_i(jw) of all classes lie in one
open half-plane through 0, no mean of them is 0, and every mixture is as stable as one class alone.
The half-planes are found over boxes of (w, p'), with a disc around F_i over the box and each of
many cells of R; boxes whose angles spread over 180 degrees or more are cut. At low frequency the
term with C rules, whose angles spread over 90 degrees and a little; at high frequency s does.

The update interval counts as a delay of T/2.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid import _core
from pi2_fluid.ascending import ascending
from pi2_fluid.design.guarantees.certificate import has_steps
from pi2_fluid.design.guarantees.enclosure import Boxes
from pi2_fluid.design.plants import is_classic, joined, make_plants, plant_gain
from pi2_fluid.design.points import table_edges
from pi2_fluid.design.region import Region
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.gains import coupling_of
from pi2_fluid.loop.roots import count_unstable
from pi2_fluid.records.record import declares

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray

_MOST_BOXES: Final = 12_000
# Cells of R, tried in turn, and how many boxes each try may take. Where few cells do, they do soon;
# where they do not, more of them are done before they are.
_TRIES: Final = (
    (24, 2_000),
    (64, 2_000),
    (256, _MOST_BOXES),
    (24, _MOST_BOXES),
    (64, _MOST_BOXES),
)
_BLOCK: Final = 64  # boxes at once: times cells and senders
_ROUNDING: Final = 1e-9
_LARGEST: Final = 30.0  # rho; beyond, the box is cut
_PHASE: Final = 0.3  # largest wR at the lowest frequency


@dataclass(frozen=True)
class Cells:
    """Classes: of each the middle and half-width of its R, omega and its kind; shape (classes,)."""

    rtt: Any
    half: Any
    omega: Any
    scalable: Any


def any_mixture_is_stable(region: Region, aqm: PiFamily) -> bool:
    """Return whether any mixture of the senders and RTTs of a region is proved to be stable.

    False if it cannot be proved, or if the laws are not of one form: Reno, CReno and Scalable
    under PI2 or a coupled queue, k p' <= 1; Reno and CReno under PI and PIE.
    """
    encoder = declares(aqm, "encoder")
    coupled = encoder == "coupled"
    if not (coupled or all(is_classic(sender) for sender in region.senders)):
        return False
    if encoder is None or not has_steps(aqm):
        return False
    low, high = mixed_load(region, aqm)
    if not _one_is_stable(region, aqm, (low, high)):
        return False
    parts: list[tuple[tuple[float, float], float | None]] = [((low, high), None)]
    if encoder == "linear":
        edges = ascending([low, *table_edges(aqm, "classic", low, high), high])
        parts = [(ends, _factor(aqm, *ends)) for ends in itertools.pairwise(edges)]
    return all(
        any(_proved(region, aqm, one_try, ends, factor, exact) for one_try in _TRIES)
        for ends, factor in parts
        for exact in (False, True)
    )


def mixed_load(region: Region, aqm: PiFamily) -> tuple[float, float]:
    """Return the range of the controller's p' in which mixtures are looked at.

    That of all senders together; with a Scalable one it ends where each of its packets is marked.
    """
    k = float(coupling_of(aqm))
    ends = [
        (low, high) if is_classic(sender) else (low / k, high / k)
        for sender, (low, high) in zip(region.senders, region.hull, strict=True)
    ]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    return low, high if all(is_classic(one) for one in region.senders) else min(high, 1.0 / k)


def _one_is_stable(region: Region, aqm: PiFamily, load: tuple[float, float]) -> bool:
    # In every cell of PIE's table: the boxes do not connect one with the next.
    gains = float(aqm.alpha), float(aqm.beta), float(aqm.update_interval)
    sender = region.senders[0]
    ends = ascending([load[0], *table_edges(aqm, sender.signal, *load), load[1]])
    middles = (ends[1:] + ends[:-1]) / 2.0 if ends.size > 1 else ends
    if not is_classic(sender):
        middles = middles * float(coupling_of(aqm))  # its own p'
    plants = make_plants((sender,), aqm, region.max_rtt, [middles])
    loops = joined([plants, replace(plants, exact=True)]).linear(*gains)
    return all(
        count_unstable(loops.element((index, 0)), "delayed") == 0
        for index in range(2 * middles.size)
    )


def _factor(aqm: PiFamily, begin: float, end: float) -> float:
    """PIE's factor between two edges, halved: times 1/p' it turns dp'/p' into dp."""
    return float(aqm.heard_factor(np.float64(((begin + end) / 2.0) ** 2))) / 2.0


def cells_of(region: Region, aqm: PiFamily, count: int) -> Cells:
    """Return every sender of a region in `count` cells of R."""
    k = float(coupling_of(aqm))
    ends = np.geomspace(region.min_rtt, region.max_rtt, count + 1)
    rtt, half = (ends[1:] + ends[:-1]) / 2.0, (ends[1:] - ends[:-1]) / 2.0
    kinds = [not is_classic(sender) for sender in region.senders]
    # 1/window is omega^-1 times the sender's own p', which for Scalable flows is k p'.
    slopes = [plant_gain(sender, aqm, np.array([1.0]))[1][0] for sender in region.senders]
    omega = [
        1.0 / (slope * (k if kind else 1.0)) for slope, kind in zip(slopes, kinds, strict=True)
    ]
    return Cells(
        np.tile(rtt, len(omega)),
        np.tile(half, len(omega)),
        np.repeat(omega, count),
        np.repeat(kinds, count),
    )


def _proved(
    region: Region,
    aqm: PiFamily,
    one_try: tuple[int, int],
    load: tuple[float, float],
    factor: float | None,
    exact: bool,
) -> bool:
    count, most_boxes = one_try
    cells = cells_of(region, aqm, count)
    w = frequencies_of(cells, aqm, load, factor, exact)
    if w is None:
        return False
    sides = [np.geomspace(*w, 1 + int(np.ceil(np.log2(w[1] / w[0])))), np.linspace(*load, 5)]
    middles = np.meshgrid(*((side[1:] + side[:-1]) / 2.0 for side in sides), indexing="ij")
    halves = np.meshgrid(*((side[1:] - side[:-1]) / 2.0 for side in sides), indexing="ij")
    boxes = Boxes(np.stack([x.ravel() for x in middles]), np.stack([x.ravel() for x in halves]))
    found = count_boxes(boxes, cells, aqm, factor, exact, most_boxes)
    return found is not None


def count_boxes(
    boxes: Boxes, cells: Cells, aqm: PiFamily, factor: float | None, exact: bool, most: int
) -> int | None:
    """Cut boxes until all F_i of each lie in a half-plane, and return how many were looked at.

    None where so many as `most` do not do.
    """
    law = {
        "interval": float(aqm.update_interval),
        "integral": float(aqm.alpha / aqm.update_interval),
        "gain": float(aqm.beta) + float(aqm.alpha) / 2.0,
        "factor": 0.0 if factor is None else factor,
        "rounding": _ROUNDING,
        "largest": _LARGEST,
    }
    rows = [cells.rtt, cells.half, cells.omega, cells.scalable]
    done = _core.mixture_boxes(
        law=law, exact=exact, cells=np.array(rows, float), boxes=boxes.rows, most=most
    )
    return done if done <= most else None


def count_boxes_in_python(
    boxes: Boxes, cells: Cells, aqm: PiFamily, factor: float | None, exact: bool, most: int
) -> int | None:
    """Return the same by `angles_of`: the readable twin of what is compiled."""
    done = 0
    while len(boxes):
        done += len(boxes)
        if done > most:
            return None
        parts = [
            angles_of(boxes.take(slice(start, start + _BLOCK)), cells, aqm, factor, exact)
            for start in range(0, len(boxes), _BLOCK)
        ]
        spread, widest = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        left = np.flatnonzero(~(spread < np.pi))
        boxes = boxes.take(left).halves(widest[left])
    return done


def angles_of(
    boxes: Boxes, cells: Cells, aqm: PiFamily, factor: float | None, exact: bool
) -> tuple[Any, Any]:
    """Return the spread of the angles of all F_i over each box (rad), and the wider of its sides.

    The spread is infinite where a disc reaches 0.
    """
    w, load = (x[:, None] for x in boxes.centre)
    dw, dload = (x[:, None] for x in boxes.half)
    value, by_w, radius = discs_of(w, dw, load, dload, cells, aqm, factor, exact)
    size = np.abs(value)
    # Angles are counted from that of the sum, so that none of them is near the cut at 180 degrees.
    whole = np.sum(value / size, axis=1, keepdims=True)
    angle = np.angle(value * np.conj(whole))
    with np.errstate(invalid="ignore"):
        reach = np.where(radius < size, np.arcsin(np.minimum(radius / size, 1.0)), np.inf)
    spread = np.max(angle + reach, axis=1) - np.min(angle - reach, axis=1)
    spread = np.where(np.max(np.abs(angle) + reach, axis=1) < np.pi, spread, np.inf)
    worst = np.argmax(np.where(np.isfinite(reach), reach, 10.0), axis=1)
    part = np.take_along_axis(by_w, worst[:, None], axis=1)[:, 0]
    return spread, np.where(part > 0.5, 0, 1)


def discs_of(
    w: FloatArray,
    dw: FloatArray,
    load: FloatArray,
    dload: FloatArray,
    cells: Cells,
    aqm: PiFamily,
    factor: float | None,
    exact: bool,
) -> tuple[ComplexArray, FloatArray, FloatArray]:
    """Return F_i at the centres, how much of the radius the frequency adds, and the radius."""
    interval, integral = float(aqm.update_interval), float(aqm.alpha / aqm.update_interval)
    gain = float(aqm.beta) + float(aqm.alpha) / 2.0
    rtt, dr = cells.rtt, cells.half
    v, dv = w * rtt, dw * (rtt + dr) + w * dr
    late = np.exp(-1j * v)
    half = np.where(cells.scalable, 1.0, 0.5)
    of_classic = np.where(cells.scalable, 0.0, 1.0)
    e = half * (1j * v * cells.omega + load * (of_classic + late))
    e_slope = half * (1j * cells.omega - 1j * load * late)
    top = load + dload
    # |e'| <= half (omega + p'), |e''| <= half p', |de/dp'| <= 1.
    steep = half * (cells.omega + top)
    least = np.maximum(
        np.abs(e) - steep * dv - dload, half * np.maximum(v - dv, 0.0) * (cells.omega - top)
    )
    f = integral + 1j * gain * w
    least_f = np.abs(f) - gain * dw
    low = np.maximum(w - dw, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        # ln of the last term by v (through e^{-jv}/E) and by w (through C).
        by_v = np.abs(-1j - e_slope / e) + (half * top / least + (steep / least) ** 2) * dv
        by_v = by_v + (half / least + steep / least**2) * dload
        by_c = np.abs(1j * gain / f - 1.0 / w - 0.5j * interval)
        by_c = by_c + ((gain / least_f) ** 2 + 1.0 / low**2) * dw
        by_p = np.abs(half * (of_classic + late) / e) + (half / least + steep / least**2) * dv
        by_p = by_p + dload / least**2
        scale = 1.0 if factor is None else factor / load
        if factor is not None:
            by_p = by_p + 1.0 / np.maximum(load - dload, 0.0)
        from_w, from_r, from_p = by_c * dw + by_v * dw * (rtt + dr), by_v * w * dr, by_p * dload
        rho = from_w + from_r + from_p
        last = scale * f * np.exp(-0.5j * w * interval) / (1j * w) * late / e
        grown = np.abs(last) * np.expm1(np.minimum(rho, _LARGEST))
    value = 1j * w + 1.0 / rtt + last
    radius = dw + dr / (rtt * (rtt - dr)) + grown + _ROUNDING * (np.abs(last) + w + 1.0 / rtt)
    if exact:
        value = value + half * load * (1.0 - late) / (rtt * e)
        # Its slopes, each at its largest: |1 - e^{-jv}| <= v and 2, |de/dp'| <= 1.
        most = np.minimum(v + dv, 2.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = top * (1.0 + most * steep / least) * dv + most * (1.0 + top / least) * dload
            moved = (moved + top * most * dr / rtt) * half / (least * (rtt - dr))
        radius = radius + moved
    good = (least > 0.0) & (least_f > 0.0) & (low > 0.0) & (rho < _LARGEST)
    return value, from_w / np.maximum(from_w + from_p, 1e-300), np.where(good, radius, np.inf)


def frequencies_of(
    cells: Cells, aqm: PiFamily, load: tuple[float, float], factor: float | None, exact: bool
) -> tuple[float, float] | None:
    """Return ends outside of which all F_i lie in a half-plane; None if there are none."""
    integral = float(aqm.alpha / aqm.update_interval)
    gain = float(aqm.beta) + float(aqm.alpha) / 2.0
    low_rtt = float(np.min(cells.rtt - cells.half))
    high_rtt = float(np.max(cells.rtt + cells.half))
    room = float(np.min(cells.omega)) - load[1]
    if room <= 0.0:
        return None
    smallest = 1.0 if factor is None else factor / load[1]
    largest = 1.0 if factor is None else factor / load[0]
    # Where R is seen to vary: eta p' |1 - e^{-jv}|/(R |E|), as Im E >= eta wR (omega - p').
    extra = load[1] / room if exact else 0.0
    # Low: of the last term |C|/|E| > 2 |s + 1/R + that|, which turns F_i by less than 30 degrees,
    # and 1/E and e^{-jv} together by at most 90 degrees and wR.
    w_low = _PHASE / high_rtt
    e_high = float(np.max(cells.omega))
    while smallest * integral / w_low / (w_low * high_rtt * e_high + load[1]) < 2.0 * (
        w_low + (1.0 + extra) / low_rtt
    ):
        w_low /= 1.5
    # High: Im F_i >= w - |C|/|E| - 2 p'/(w R^2 (omega - p')) > 0, as Im E >= wR (omega - p')/2.
    w_high = 1.0 / low_rtt
    while (
        largest * (integral / w_high + gain) / (w_high * low_rtt * room / 2.0)
        + 2.0 * extra / (w_high * low_rtt**2)
        >= w_high
    ):
        w_high *= 1.5
    return w_low, w_high
