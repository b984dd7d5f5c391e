"""Discs that contain a loop over whole boxes of frequency, round-trip time and load.

With v = wR, mu = 1/(window), F the controller and w_k = w + 2 pi k/T, every loop of a region is

    L = R^2 m F(w) sum over k of G(w_k R, mu),   G(v, mu) = e^{-jv} / (jv (1 + jv) (jv + mu h(jv))),

h = 1 + e^{-jv} or e^{-jv}, and (1 - e^{-jv})/(1 + jv) in addition where the window law sees R vary;
the continuous loop has k = 0 alone and the sampled one every k.
Over a box |w - w_c| <= dw, |R - R_c| <= dR, |mu - mu_c| <= dmu each term P_k lies within

    |P_k(c)| (e^rho - 1),   rho = S_w dw + S_R dR + S_mu dmu,

of its value at the centre, where S_x bounds |d ln P_k / dx| over the box: its value at the centre,
and what the second derivatives add on the way to the corners, in closed form. Aliases beyond the
ones summed fall like |k|^-3; the integral of that is added.

Source: the elementary bounds of h and its derivatives (`ECHO`) and |jv + mu h| >= v (1 - mu);
docs/proofs.md derives them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pi2_fluid.values import BoolArray, ComplexArray, FloatArray, Real

_ROUNDING: Final = 1e-9  # of all terms: rounding errors are some 1e-14 of them
_REACH: Final = 10.0  # v up to which aliases are enclosed one by one
_FEWEST: Final = 3  # aliases on each side
_LARGEST: Final = 30.0  # rho; beyond, the box is cut
_ALL_ALIASES: Final = 14.0 * 1.2020569031595943  # zeta(3)
#: Bounds of |h|, |h'| and |h''|, by whether the sender is scalable and R is seen to vary.
ECHO: Final = {
    (False, False): (2.0, 1.0, 1.0),
    (True, False): (1.0, 1.0, 1.0),
    (False, True): (4.0 / 3.0**0.5, 0.75 * 3.0**0.5, 2.0 + 4.0 / 27.0**0.5),
    (True, True): (2.0**0.5, 0.75 * 3.0**0.5, 2.0 + 4.0 / 27.0**0.5),
}


@dataclass(frozen=True)
class Family:
    """Loops of one sender under given gains, at every round-trip time and load.

    Parameters
    ----------
    scalable : bool
        Whether h = e^{-jv}.
    m : float
        Gain of the plant, or that times mu where `falling`.
    falling : bool
        Whether the gain falls like 1/mu: a controller of p itself under Reno.
    alpha, beta, interval : float
        Gains (Hz) and update interval (s).
    update : {"continuous", "delayed", "sampled"}
    exact : bool
        Whether the window law sees R vary.
    """

    scalable: bool
    m: float
    falling: bool
    alpha: float
    beta: float
    interval: float
    update: str
    exact: bool = False


@dataclass(frozen=True)
class Boxes:
    """Centres and half-widths of n boxes, arrays of shape (3, n): w (rad/s), R (s), mu."""

    centre: FloatArray
    half: FloatArray

    def __len__(self) -> int:
        return int(self.centre.shape[1])

    @property
    def rows(self) -> FloatArray:
        """Centres and half-widths one below the other."""
        # Columns that `take` picked lie one behind the other, which compiled code does not read.
        return np.ascontiguousarray(np.concatenate([self.centre, self.half]))

    def take(self, which: NDArray[Any] | slice) -> Boxes:
        """Return some of them."""
        return Boxes(self.centre[:, which], self.half[:, which])

    def halves(self, axis: NDArray[np.intp]) -> Boxes:
        """Return both halves of each, cut across the axis named for each."""
        column = np.arange(len(self))
        half = self.half.copy()
        half[axis, column] /= 2.0
        step = np.zeros_like(half)
        step[axis, column] = half[axis, column]
        return Boxes(
            np.concatenate([self.centre - step, self.centre + step], axis=1),
            np.concatenate([half, half], axis=1),
        )


@dataclass(frozen=True)
class Discs:
    """Centres and radii, shape (n,), and the axis that adds most to each radius."""

    centre: ComplexArray
    radius: FloatArray
    widest: NDArray[np.intp]


def alias_count(interval: float, min_rtt: float, update: str) -> int:
    """Return how many aliases on each side to enclose one by one."""
    if update != "sampled":
        return 0
    return int(np.ceil(_REACH * interval / (2.0 * np.pi * min_rtt))) + _FEWEST


class Terms(NamedTuple):
    """The terms P_k of L over boxes; arrays of shape (2 `aliases` + 1, n), k rising.

    Attributes
    ----------
    value : array
        At the centres.
    to_w, to_r, to_mu : array
        What |d ln P_k| over w, R and mu is at most, anywhere in the box.
    good : array of bool
        Whether these bounds hold: the box keeps clear of v = 0 and of the zeros of P_k.
    rest : array
        Of shape (n,): what all terms that are left out are at most together.
    """

    value: Any
    to_w: Any
    to_r: Any
    to_mu: Any
    good: Any
    rest: Any


def terms(family: Family, boxes: Boxes, aliases: int) -> Terms:
    """Return the terms of L with |k| <= `aliases`, and bounds of their slopes over each box."""
    w, rtt, mu = boxes.centre
    dw, dr, dmu = boxes.half
    f, slope, bend, least, most = controller_bounds(family, w, dw)
    turn = 2.0 * np.pi / family.interval
    k = np.arange(-aliases, aliases + 1)[:, None]
    w_k = w + k * turn
    v = w_k * rtt
    dv = reach(w_k, dw, rtt, dr)
    g = PlantBounds(family, v, dv, mu, dmu)

    # Where a bound has no value, infinity times a side of 0 is none either.
    with np.errstate(divide="ignore", invalid="ignore"):
        to_w = np.abs(slope + rtt * g.by_v) + bend * dw + dr * np.abs(g.by_v)
        to_w = to_w + (rtt + dr) * (g.by_vv * dv + g.by_vm * dmu)
        to_r = np.abs(2.0 / rtt + w_k * g.by_v) + dw * np.abs(g.by_v)
        # Of ln R^2 the slope changes against that of 1/v in G, whose bound is more than both.
        to_r = to_r + (np.abs(w_k) + dw) * (g.by_vv * dv + g.by_vm * dmu)
        own = -1.0 / mu if family.falling else np.zeros_like(mu)
        to_mu = np.abs(own + g.by_m) + g.by_vm * dv + g.by_mm * dmu
        if family.falling:
            to_mu = to_mu + dmu / (mu * np.maximum(mu - dmu, 0.0))

    m = family.m / mu if family.falling else family.m
    rest = left_out(family, boxes, most, aliases)
    return Terms(m * rtt**2 * f * g.value, to_w, to_r, to_mu, (least > 0.0) & g.good, rest)


def enclose(family: Family, boxes: Boxes, aliases: int) -> Discs:
    """Return a disc for each box that contains every L of it.

    The radius is infinite where the box is too large for the bounds.
    """
    re, im, radius, widest, _ = proof_of(family, aliases).enclose(boxes.rows)
    return Discs(re + 1j * im, radius, widest.astype(np.intp))


def proof_of(
    family: Family,
    aliases: int,
    *,
    near: float = 1.0,
    phase: float = 0.0,
    modulus: float = 0.0,
    far: float = np.inf,
) -> _core.Proof:
    """Return the compiled proof about loops of a family.

    Parameters
    ----------
    family : Family
    aliases : int
        Enclosed one by one, on each side.
    near, phase, modulus : float
        What is forbidden: the segment from -1 to -`near`, the arc up to `phase` (rad), and the disc
        of this radius around -1.
    far : float
        |L| that is out of reach of all these.
    """
    echo, steepest, curved = ECHO[family.scalable, family.exact]
    return _core.Proof(
        {
            "scalable": family.scalable,
            "falling": family.falling,
            "exact": family.exact,
            "update": family.update,
            "m": family.m,
            "alpha": family.alpha,
            "beta": family.beta,
            "interval": family.interval,
            "echo": echo,
            "steepest": steepest,
            "bend": curved,
            "far": far,
            "rounding": _ROUNDING,
            "largest": _LARGEST,
            "aliases": aliases,
            "near": near,
            "phase": phase,
            "modulus": modulus,
        }
    )


def enclose_in_python(family: Family, boxes: Boxes, aliases: int) -> Discs:
    """Return the same by `terms`: the readable twin of what is compiled."""
    found = terms(family, boxes, aliases)
    dw, dr, dmu = boxes.half
    with np.errstate(invalid="ignore"):
        parts = np.stack([found.to_w * dw, found.to_r * dr, found.to_mu * dmu])
        rho = np.sum(parts, axis=0)
    bounded = rho < _LARGEST
    rho = np.where(bounded, rho, _LARGEST)
    size = np.abs(found.value)
    radius = np.sum(size * np.expm1(rho), axis=0) + _ROUNDING * np.sum(size, axis=0) + found.rest
    good = found.good.all(axis=0) & bounded.all(axis=0)
    return _discs(boxes, np.sum(found.value, axis=0), radius, good, parts[:, aliases])


def _discs(
    boxes: Boxes, centre: ComplexArray, radius: FloatArray, good: BoolArray, parts: FloatArray
) -> Discs:
    """Put discs together from what w, R and mu add to the term k = 0."""
    w, rtt, mu = boxes.centre
    dw, dr, dmu = boxes.half
    # Where a bound has no value yet, the box is cut across its relatively largest side.
    share = np.stack([dw / w, dr / rtt, dmu / np.maximum(mu + dmu, 1e-300) / 4.0])
    return Discs(
        centre,
        np.where(good, radius, np.inf),
        np.where(good, np.argmax(parts, axis=0), np.argmax(share, axis=0)),
    )


def left_out(family: Family, boxes: Boxes, most: FloatArray, aliases: int) -> FloatArray:
    """Return what all terms that are left out are at most together; `most` bounds |F|."""
    rtt, mu = boxes.centre[1:]
    dr, dmu = boxes.half[1:]
    if family.update != "sampled":
        return np.zeros_like(rtt)
    # R^2 times the tail falls with R.
    with np.errstate(divide="ignore", invalid="ignore"):
        m_high = family.m / np.maximum(mu - dmu, 0.0) if family.falling else family.m
        least_rtt = np.maximum(rtt - dr, 0.0)
        echo = ECHO[family.scalable, family.exact][0]
        beyond = tail(2.0 * np.pi / family.interval * least_rtt, mu + dmu, echo, aliases)
        result: FloatArray = m_high * least_rtt**2 * most * beyond
    return result


def reach(w: FloatArray, dw: FloatArray, rtt: FloatArray, dr: FloatArray) -> FloatArray:
    """Return how far wR comes within a box from its value at the centre."""
    return rtt * dw + np.abs(w) * dr + dw * dr


def tail(c: Real, mu: Real, h: float, aliases: int) -> Real:
    """Return a bound of the sum of |G| over the aliases with |k| > `aliases`.

    |v_k| >= c (|k| - 1/2) with c = 2 pi R/T, and |G| <= 1/(v^3 (1 - q)), q the smaller of mu and
    h mu/v. The sum over k >= 1 of 2/(k - 1/2)^3 is 14 zeta(3); from k = n + 1 on it is below the
    integral from n of 2/x^3, as the function is convex.
    """
    with np.errstate(divide="ignore"):
        if aliases == 0:
            return _ALL_ALIASES / (c**3 * (1.0 - mu))
        q = np.minimum(h * mu / np.maximum(c * aliases, np.finfo(float).tiny), mu)
        return 1.0 / (c**3 * aliases**2 * (1.0 - q))


def controller_bounds(
    family: Family, w: FloatArray, dw: FloatArray
) -> tuple[ComplexArray, ComplexArray, FloatArray, FloatArray, FloatArray]:
    """Return F at the centre, F'/F, a bound of its change per w, and the least and largest |F|."""
    alpha, beta, interval = family.alpha, family.beta, family.interval
    f: ComplexArray
    first: ComplexArray | complex
    if family.update == "sampled":
        late: ComplexArray = np.exp(-1j * w * interval)
        f = (alpha + beta * (1.0 - late)) / interval
        first, steep, curved = 1j * beta * late, beta, beta * interval
        extra: complex = 0.0
    else:
        gain = beta + alpha / 2.0
        f = alpha / interval + 1j * gain * w
        first, steep, curved = 1j * gain, gain, 0.0
        extra = -0.5j * interval if family.update == "delayed" else 0.0
    least = np.abs(f) - steep * dw
    with np.errstate(divide="ignore", invalid="ignore"):
        bend = np.where(least > 0.0, curved / least + (steep / least) ** 2, np.inf)
    shifted: ComplexArray = f * np.exp(extra * w)
    return shifted, first / f + extra, bend, least, np.abs(f) + steep * dw


class PlantBounds:
    """G at the centres, its logarithmic derivatives there, and bounds of their changes."""

    def __init__(
        self, family: Family, v: FloatArray, dv: FloatArray, mu: FloatArray, dmu: FloatArray
    ) -> None:
        late = np.exp(-1j * v)
        pole = 1.0 + 1j * v
        h = late if family.scalable else 1.0 + late
        h_slope = -1j * late
        if family.exact:
            h = h + (1.0 - late) / pole
            h_slope = h_slope + 1j * late / pole - 1j * (1.0 - late) / pole**2
        #: The bound of |h|.
        self.echo, steepest, bend = ECHO[family.scalable, family.exact]
        high = mu + dmu
        d = 1j * v + mu * h
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            self.value = late / (1j * v * pole * d)
            self.by_v = -1j - 1.0 / v - 1j / pole - (1j + mu * h_slope) / d
            self.by_m = -h / d
            low = np.maximum(np.abs(v) - dv, 0.0)
            # Two lower bounds of |jv + mu h| over the box.
            self.least = np.maximum(
                np.abs(d) - (1.0 + high * steepest) * dv - self.echo * dmu, low * (1.0 - high)
            )
            steep = (1.0 + high * steepest) / self.least
            self.by_vv = 1.0 / low**2 + 1.0 / (1.0 + low**2) + high * bend / self.least + steep**2
            self.by_vm = steepest / self.least + steep * self.echo / self.least
            self.by_mm = (self.echo / self.least) ** 2
        self.good = (low > 0.0) & (self.least > 0.0)
