"""Discs that contain a loop over whole boxes of frequency, round-trip time and load.

With v = wR, mu = 1/(window), F the controller and w_k = w + 2 pi k/T, every loop of a region is

    L = R^2 m F(w) sum over k of G(w_k R, mu),   G(v, mu) = e^{-jv} / (jv (1 + jv) (jv + mu h(jv))),

h = 1 + e^{-jv} or e^{-jv}, where the continuous loop has k = 0 alone and the sampled one every k.
Over a box |w - w_c| <= dw, |R - R_c| <= dR, |mu - mu_c| <= dmu each term P_k lies within

    |P_k(c)| (e^rho - 1),   rho = S_w dw + S_R dR + S_mu dmu,

of its value at the centre, where S_x bounds |d ln P_k / dx| over the box: its value at the centre,
and what the second derivatives add on the way to the corners, in closed form. Aliases beyond the
ones summed fall like |k|^-3; the integral of that is added.

Source: the elementary bounds |h| <= 2 (or 1), |h'|, |h''| <= 1 and |jv + mu h| >= v (1 - mu).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

__all__ = ["Boxes", "Discs", "Family", "alias_count", "enclose", "tail"]

_ROUNDING: Final = 1e-9  # of all terms: rounding errors are some 1e-14 of them
_REACH: Final = 10.0  # v up to which aliases are enclosed one by one
_FEWEST: Final = 3  # aliases on each side
_LARGEST: Final = 30.0  # rho; beyond, the box is cut
_ALL_ALIASES: Final = 14.0 * 1.2020569031595943  # zeta(3)


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
    mode : {"continuous", "delayed", "sampled"}
    """

    scalable: bool
    m: float
    falling: bool
    alpha: float
    beta: float
    interval: float
    mode: str


@dataclass(frozen=True)
class Boxes:
    """Centres and half-widths of n boxes, arrays of shape (3, n): w (rad/s), R (s), mu."""

    centre: Any
    half: Any

    def __len__(self) -> int:
        return int(self.centre.shape[1])

    def take(self, which: Any) -> Boxes:
        """Return some of them."""
        return Boxes(self.centre[:, which], self.half[:, which])

    def halves(self, axis: Any) -> Boxes:
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

    centre: Any
    radius: Any
    widest: Any


def alias_count(interval: float, min_rtt: float, mode: str) -> int:
    """Return how many aliases on each side to enclose one by one."""
    if mode != "sampled":
        return 0
    return int(np.ceil(_REACH * interval / (2.0 * np.pi * min_rtt))) + _FEWEST


def enclose(family: Family, boxes: Boxes, aliases: int) -> Discs:
    """Return a disc for each box that contains every L of it.

    The radius is infinite where the box is too large for the bounds.
    """
    w, rtt, mu = boxes.centre
    dw, dr, dmu = boxes.half
    f, slope, bend, least, most = _controller(family, w, dw)
    turn = 2.0 * np.pi / family.interval
    k = np.arange(-aliases, aliases + 1)[:, None]
    w_k = w + k * turn
    v = w_k * rtt
    dv = rtt * dw + np.abs(w_k) * dr + dw * dr
    g = _Plant(family.scalable, v, dv, mu, dmu)

    high = mu + dmu
    to_w = np.abs(slope + rtt * g.by_v) + bend * dw + dr * np.abs(g.by_v)
    to_w = to_w + (rtt + dr) * (g.by_vv * dv + g.by_vm * dmu)
    to_r = np.abs(2.0 / rtt + w_k * g.by_v) + dw * np.abs(g.by_v)
    with np.errstate(divide="ignore", invalid="ignore"):
        to_r = to_r + 2.0 * dr / (rtt * np.maximum(rtt - dr, 0.0))
        to_r = to_r + (np.abs(w_k) + dw) * (g.by_vv * dv + g.by_vm * dmu)
        own = -1.0 / mu if family.falling else np.zeros_like(mu)
        to_mu = np.abs(own + g.by_m) + g.by_vm * dv + g.by_mm * dmu
        if family.falling:
            to_mu = to_mu + dmu / (mu * np.maximum(mu - dmu, 0.0))
        rho = to_w * dw + to_r * dr + to_mu * dmu
    bounded = rho < _LARGEST
    rho = np.where(bounded, rho, _LARGEST)

    m = family.m / mu if family.falling else family.m
    terms = m * rtt**2 * f * g.value
    size = np.abs(terms)
    radius = np.sum(size * np.expm1(rho), axis=0) + _ROUNDING * np.sum(size, axis=0)
    if family.mode == "sampled":
        with np.errstate(divide="ignore"):
            m_high = family.m / np.maximum(mu - dmu, 0.0) if family.falling else family.m
        rest = tail(turn * np.maximum(rtt - dr, 0.0), high, g.h_high, aliases)
        radius = radius + m_high * (rtt + dr) ** 2 * most * rest
    good = (least > 0.0) & g.good.all(axis=0) & bounded.all(axis=0)
    axis = np.argmax(np.stack([to_w[aliases] * dw, to_r[aliases] * dr, to_mu[aliases] * dmu]), 0)
    # Where a bound has no value yet, the box is cut across its relatively largest side.
    relative = np.argmax(np.stack([dw / w, dr / rtt, dmu / np.maximum(high, 1e-300) / 4.0]), axis=0)
    return Discs(
        np.sum(terms, axis=0), np.where(good, radius, np.inf), np.where(good, axis, relative)
    )


def tail(c: Any, mu: Any, h: float, aliases: int) -> Any:
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


def _controller(family: Family, w: Any, dw: Any) -> tuple[Any, Any, Any, Any, Any]:
    """F at the centre, F'/F, a bound of its change per w, and the least and largest |F|."""
    alpha, beta, interval = family.alpha, family.beta, family.interval
    if family.mode == "sampled":
        late = np.exp(-1j * w * interval)
        f = (alpha + beta * (1.0 - late)) / interval
        first, steep, curved = 1j * beta * late, beta, beta * interval
        extra: complex = 0.0
    else:
        gain = beta + alpha / 2.0
        f = alpha / interval + 1j * gain * w
        first, steep, curved = 1j * gain, gain, 0.0
        extra = -0.5j * interval if family.mode == "delayed" else 0.0
    least = np.abs(f) - steep * dw
    with np.errstate(divide="ignore", invalid="ignore"):
        bend = np.where(least > 0.0, curved / least + (steep / least) ** 2, np.inf)
    shifted = f * np.exp(extra * w)
    return shifted, first / f + extra, bend, least, np.abs(f) + steep * dw


class _Plant:
    """G at the centres, its logarithmic derivatives there, and bounds of their changes."""

    def __init__(self, scalable: bool, v: Any, dv: Any, mu: Any, dmu: Any) -> None:
        late = np.exp(-1j * v)
        h = late if scalable else 1.0 + late
        self.h_high = 1.0 if scalable else 2.0
        high = mu + dmu
        d = 1j * v + mu * h
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            self.value = late / (1j * v * (1.0 + 1j * v) * d)
            self.by_v = -1j - 1.0 / v - 1j / (1.0 + 1j * v) - (1j - 1j * mu * late) / d
            self.by_m = -h / d
            low = np.maximum(np.abs(v) - dv, 0.0)
            # Two lower bounds of |jv + mu h| over the box.
            least = np.maximum(
                np.abs(d) - (1.0 + high) * dv - self.h_high * dmu, low * (1.0 - high)
            )
            steep = (1.0 + high) / least
            self.by_vv = 1.0 / low**2 + 1.0 / (1.0 + low**2) + high / least + steep**2
            self.by_vm = 1.0 / least + steep * self.h_high / least
            self.by_mm = (self.h_high / least) ** 2
        self.good = (low > 0.0) & (least > 0.0)
