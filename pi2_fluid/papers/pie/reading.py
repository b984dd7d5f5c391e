"""The loop of the PIE paper, equation (9), in the ways in which it can be read.

The equation as printed has a gain kappa twice what its own first line gives, (1 + e)/2 replaced by
1 (e being the delay term), and, in the first line, the delay twice. Its figures are not available
with their numbers, so every claim that depends on these choices is computed under all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.pi2.scene import load_where

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Real

INTERVAL: Final = 0.030
LONGEST_RTT: Final = 0.100
#: beta / alpha, the same in all of the paper's pairs of gains.
RATIO: Final = 10.0

Gain = Literal["derived", "printed", "doubled"]
#: kappa p: as derived from (5) to (8), as printed below (9), and twice that.
KAPPA: Final[dict[Gain, float]] = {"derived": 0.5, "printed": 1.0, "doubled": 2.0}

#: The same two as titles.
TITLES: Final[dict[Gain, str]] = {
    "derived": "κ = αR/(2pT), as (5) to (8) give it",
    "printed": "κ = αR/(pT), as printed below (9)",
}
#: What e stands for, in the notes of figures.
DELAY: Final = "e = exp(−jωR)"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One way to read equation (9).

    Attributes
    ----------
    gain : {"derived", "printed", "doubled"}
        kappa, see `KAPPA`.
    kept : bool
        Whether the denominator keeps (1 + e)/2; else 1, as printed.
    delays : {0, 1, 2}
        How many times e^{-sR} multiplies the loop.
    """

    gain: Gain = "derived"
    kept: bool = True
    delays: int = 1

    def __str__(self) -> str:
        denominator = "(1+e)/2 kept" if self.kept else "(1+e)/2 taken as 1"
        return f"kappa {self.gain}, {denominator}, {('no', 'one', 'two')[self.delays]} delay"


def phase_margin(
    reading: Reading,
    p: Real,
    alpha: Real,
    rtt: Real,
    ratio: Real = RATIO,
    interval: float = INTERVAL,
) -> tuple[FloatArray, FloatArray]:
    """Return (phase margin in deg, gain crossover in rad/s); arguments broadcast.

    beta is `ratio` times alpha, `interval` that between updates (s).
    """
    p, alpha, rtt, ratio = np.broadcast_arrays(p, alpha, rtt, ratio)
    kappa = KAPPA[reading.gain] / p
    pole = np.sqrt(2.0 * p) / rtt
    if reading.kept:
        found = pf.loop.margins_of(kappa, pole, "reno", alpha, ratio * alpha, interval, rtt)
        margin, w = np.asarray(found[1]), np.asarray(found[2])
    else:
        zero = 1.0 / (interval * (ratio + 0.5))
        w = _crossover(kappa * alpha * rtt / interval, zero, pole, 1.0 / rtt)
        lag = np.arctan(w / pole) + np.arctan(w * rtt) - np.arctan(w / zero)
        margin = 90.0 - np.degrees(lag + w * rtt)
    # The delay has no gain, so leaving it out or doubling it only turns the phase.
    return margin - np.degrees(w * rtt) * (reading.delays - 1), w


@np.vectorize
def _crossover(gain: float, zero: float, first: float, second: float) -> float:
    """Return w with |gain (jw/zero + 1) / ((jw/first + 1)(jw/second + 1) jw)| = 1.

    In u = w^2 a cubic whose coefficients change sign once, so it has one positive root.
    """
    a, b = first**-2, second**-2
    roots = np.roots([a * b, a + b, 1.0 - (gain / zero) ** 2, -(gain**2)])
    return float(np.sqrt(roots.real[np.abs(roots.imag) <= 1e-9 * np.abs(roots)].max()))


def gain_margin(p: Real, alpha: Real, rtt: Real) -> FloatArray:
    """Return the gain margin in dB of the loop as derived, with (1+e)/2 kept and one delay."""
    kappa, pole = KAPPA["derived"] / p, np.sqrt(2.0 * p) / rtt
    found = pf.loop.margins_of(kappa, pole, "reno", alpha, RATIO * alpha, INTERVAL, rtt)
    return np.asarray(found[0])


class Fit(NamedTuple):
    """A load at which a reading has a given phase margin, and what it has at half the RTT."""

    reading: Reading
    alpha: float
    p: float
    times: int
    margin: float

    def __str__(self) -> str:
        load = "the same p" if self.times == 1 else f"{self.times} p"
        whole, half = (f"{1e3 * rtt:g} ms" for rtt in (LONGEST_RTT, LONGEST_RTT / 2))
        return (
            f"{self.margin:.1f} deg at {half} ({self.reading}, alpha = {self.alpha:g}, p ="
            f" {self.p:.3g} at {whole} and {load} at {half})"
        )


def fits(
    readings: Iterable[Reading],
    alphas: Iterable[float],
    wanted: float,
    rtt: float = LONGEST_RTT,
    interval: float = INTERVAL,
) -> list[Fit]:
    """Return every load with the wanted phase margin, and the margin at half the RTT.

    There the load may be the same, or that of the same flows (4 p), or between (2 p).
    """
    grid = np.geomspace(1e-6, 0.999, 121)
    found = []
    for reading, alpha in product(readings, alphas):
        excess = partial(_excess, reading, alpha, wanted, rtt, interval)
        values = excess(grid)
        for i in np.flatnonzero(values[:-1] * values[1:] < 0.0):
            p = load_where(excess, grid[i], grid[i + 1])
            for times in (1, 2, 4):
                if times * p < 1.0:
                    half = phase_margin(reading, times * p, alpha, rtt / 2, RATIO, interval)
                    found.append(Fit(reading, alpha, p, times, float(half[0])))
    return found


def nearest(found: Iterable[Fit], margin: float) -> Fit:
    """Return the fit that comes nearest to a phase margin at 50 ms."""
    return min(found, key=lambda fit: abs(fit.margin - margin))


def _excess(
    reading: Reading, alpha: float, wanted: float, rtt: float, interval: float, p: Real
) -> FloatArray:
    return phase_margin(reading, p, alpha, rtt, RATIO, interval)[0] - wanted
