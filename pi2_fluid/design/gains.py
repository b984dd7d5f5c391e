"""Gains that are optimal within margins: in closed form for one loop, by one dimension for several.

L = alpha A + beta B is linear in the gains. Hence "L passes through the point f at frequency w" is
two linear equations for alpha and beta, and each end of a margin, f = e^{j(phi - pi)} for a phase
margin phi, f = -10^{-g/20} for a gain margin g, draws a curve (alpha(w), beta(w)): the boundary of
what one loop allows. A modulus margin m has a circle instead, and the envelope of its curves: at
each w the |1 + alpha A + beta B| = m is quadratic in alpha.

Above each beta the loop allows alpha up to a ceiling. Several loops allow up to the lowest of their
ceilings, a function of beta alone, whose maximum is the largest integral gain alpha. That is the
smallest integral of the delay error after any step: the controller gives

    p'(end) - p'(begin) = (alpha/T) * integral of (delay - target),

whatever the path, while p' is not clamped (PI2 paper, CoNEXT'16, equation (4), summed).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import numpy as np

from pi2_fluid.loop.minima import smallest_between
from pi2_fluid.loop.updates import NEARLY_ALL
from pi2_fluid.loop.zeros import zero_between

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray

_POINTS: Final = 1400  # frequencies on a curve
_BETAS: Final = 300  # of a grid, refined around its best
_LOWEST: Final = 1e-6  # of w R: a table of PIE may make loops very slow
_HIGHEST: Final = 5.0
_FIRST_TURN: Final = 3.0  # of w R: beyond, the phase of a loop with dips has turned once more


@dataclass(frozen=True)
class Asked:
    """The margins asked for: dB, degrees, and the smallest |1 + L| (0: none)."""

    gain_db: float = 6.0
    phase_deg: float = 30.0
    modulus: float = 0.0


class OneLoop(Protocol):
    """One loop without its gains, by either clock; arrays have shape (1,)."""

    @property
    def rtt(self) -> FloatArray:
        """Round-trip time, queue included (s)."""

    @property
    def kappa(self) -> FloatArray:
        """Signals per round trip where Cubic's cubic rules, else 0."""

    def basis(
        self, w: FloatArray, interval: float, update: str
    ) -> tuple[ComplexArray, ComplexArray]:
        """Return (A, B) with L = alpha A + beta B, of shape (1, points)."""


class Loops(Protocol):
    """Several of them."""

    def __len__(self) -> int: ...

    def take(self, index: int) -> OneLoop:
        """Return one."""


#: The largest alpha (Hz) that is allowed with a beta (Hz); 0 or less if none is.
Ceiling: TypeAlias = "Callable[[FloatArray], FloatArray]"


def make_ceiling(
    plants: Loops, required: Asked, interval: float, update: str
) -> tuple[Ceiling | None, float, int]:
    """Return what all of some loops allow.

    Returns
    -------
    ceiling : Ceiling or None
        None if one of the loops allows nothing at all.
    highest : float
        The largest beta (Hz) at which it is positive.
    binding : int
        The index of the loop that allows nothing, or -1.
    """
    ceilings, highest = [], np.inf
    for index in range(len(plants)):
        found = _ceilings_of(plants.take(index), required, interval, update)
        for one in found:
            if one is None:
                return None, 0.0, index
            ceilings.append(one[0])
            highest = min(highest, one[1])

    def lowest(beta: FloatArray) -> FloatArray:
        result: FloatArray = np.min([one(beta) for one in ceilings], axis=0)
        return result

    return lowest, highest, -1


def largest_alpha(ceiling: Ceiling, highest: float) -> tuple[float, float]:
    """Return the (alpha, beta) of the largest alpha, or (0, 0) if none is positive."""
    betas = np.linspace(0.0, highest, _BETAS)
    values = ceiling(betas)
    best = int(np.argmax(values))
    if values[best] <= 0.0:
        return 0.0, 0.0
    beta, alpha = smallest_between(
        lambda beta: -float(ceiling(np.array([beta]))[0]),
        float(betas[max(best - 1, 0)]),
        float(betas[min(best + 1, _BETAS - 1)]),
        tolerance=1e-9 * highest,
    )
    return -alpha, beta


def largest_beta(ceiling: Ceiling, highest: float, alpha: float, beta: float) -> float:
    """Return the largest beta (Hz) that is allowed with `alpha`, from an allowed `beta` on."""

    def room(part: float) -> float:
        return float(ceiling(np.array([part * highest]))[0]) - alpha

    if room(1.0) >= 0.0:
        return highest
    return highest * zero_between(room, beta / highest, 1.0, tolerance=1e-12)


def largest_factor(ceiling: Ceiling, highest: float, alpha: float, beta: float) -> float:
    """Return the largest factor on both gains that is allowed, 0 if none is."""
    if beta == 0.0:
        return float(ceiling(np.array([0.0]))[0]) / alpha
    factors = np.linspace(0.0, highest / beta, 10 * _BETAS)[1:]
    room = ceiling(factors * beta) - factors * alpha
    allowed = np.flatnonzero(room >= 0.0)
    if allowed.size == 0:
        return 0.0
    last = int(allowed[-1])
    if last == factors.size - 1:
        return float(factors[-1])

    def at(factor: float) -> float:
        return float(ceiling(np.array([factor * beta]))[0]) - factor * alpha

    return zero_between(at, float(factors[last]), float(factors[last + 1]), tolerance=1e-14)


def _ceilings_of(plant: OneLoop, required: Asked, interval: float, update: str) -> list[Any]:
    """The ceilings of one loop, each with its largest beta; None where nothing is allowed."""
    dips = bool(plant.kappa[0] > 0.0)
    top = (_FIRST_TURN if dips else _HIGHEST) / float(plant.rtt[0])
    if update == "sampled":
        top = min(top, NEARLY_ALL * np.pi / interval)
    w = np.geomspace(_LOWEST / float(plant.rtt[0]), top, _POINTS)
    A, B = (side[0] for side in plant.basis(w, interval, update))
    by_phase = complex(np.exp(1j * (np.radians(required.phase_deg) - np.pi)))
    by_gain = complex(-(10.0 ** (-required.gain_db / 20.0)))
    ceilings = [_curve(A, B, by_phase, dips), _curve(A, B, by_gain, dips)]
    if required.modulus > 0.0:
        ceilings.append(_envelope(A, B, required.modulus, w))
    return ceilings


def _curve(
    A: ComplexArray, B: ComplexArray, point: complex, dips: bool
) -> tuple[Ceiling, float] | None:
    """Where L passes through a point: alpha A + beta B = point, first branch of positive gains.

    The phase of Cubic `dips` at low frequency, where |L| is large: a branch of gains far too small,
    which a loop survives that is beyond it. There the last one counts.
    """
    z, ratio = point / A, B / A
    beta = z.imag / ratio.imag
    alpha = z.real - beta * ratio.real
    good = (alpha > 0.0) & (beta >= 0.0)
    if not good.any():
        return None
    first = int(np.argmax(good))
    if dips:
        before = np.flatnonzero(~good[: good.size - int(np.argmax(good[::-1]))])
        first = int(before[-1]) + 1 if before.size else first
    elif (alpha[:first] <= 0.0).any():
        return None  # a later turn of the phase, not the curve that comes from low frequency
    ends = np.flatnonzero(~good[first:])
    last = first + int(ends[0]) if ends.size else good.size
    if last - first < 4:
        return None
    # The last point, of no alpha, belongs to the curve; beta rises along it.
    last = min(last + 1, good.size)
    x, y = beta[first:last], alpha[first:last]
    rising = np.concatenate([[True], x[1:] > np.maximum.accumulate(x)[:-1]])
    if np.count_nonzero(rising) < 4:
        return None
    between = _through_four(x[rising], y[rising])
    low, high = float(x[rising][0]), float(x[rising][-1])
    fades = first == 0  # two integrators: alpha falls like beta^2 below the lowest frequency

    def ceiling(of: FloatArray) -> FloatArray:
        of = np.asarray(of, float)
        inside = between(np.clip(of, low, high))
        scale = np.minimum(of / low, 1.0) ** 2 if fades else 1.0
        return np.where(of <= high, inside * scale, -1.0)

    positive = x[rising][y[rising] > 0.0]
    return ceiling, float(positive[-1])


def _through_four(x: FloatArray, y: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return the cubic through the four nearest points of a curve, where x rises.

    Of a curve so dense it is as near as a spline, without SciPy's, which takes 0.3 s to import.
    """
    first = np.diff(y) / np.diff(x)  # Newton's divided differences
    second = np.diff(first) / (x[2:] - x[:-2])
    third = np.diff(second) / (x[3:] - x[:-3])

    def at(of: FloatArray) -> FloatArray:
        i = np.clip(np.searchsorted(x, of) - 2, 0, x.size - 4)
        part = second[i] + (of - x[i + 2]) * third[i]
        result: FloatArray = y[i] + (of - x[i]) * (first[i] + (of - x[i + 1]) * part)
        return result

    return at


def _envelope(
    A: ComplexArray, B: ComplexArray, modulus: float, w: FloatArray
) -> tuple[Ceiling, float] | None:
    """The smallest alpha at which |1 + L| falls to the modulus at any frequency."""
    x = np.log(w)
    square = np.abs(A) ** 2

    def one(beta: float) -> float:
        rest = 1.0 + beta * B
        half = (rest * np.conj(A)).real / square
        room = (np.abs(rest) ** 2 - modulus**2) / square
        if np.any(room <= 0.0):
            return -1.0
        inside = half**2 - room
        near = np.where(
            (inside > 0.0) & (half < 0.0), -half - np.sqrt(np.maximum(inside, 0)), np.inf
        )
        best = int(np.argmin(near))
        if not np.isfinite(near[best]):
            return 1e300
        three = near[best - 1 : best + 2]
        if three.size == 3 and np.isfinite(three).all():
            fit = np.polyfit(x[best - 1 : best + 2] - x[best], three, 2)
            if fit[0] > 0.0:
                return float(fit[2] - fit[1] ** 2 / (4.0 * fit[0]))
        return float(near[best])

    def ceiling(of: FloatArray) -> FloatArray:
        return np.array([one(float(beta)) for beta in np.atleast_1d(of)])

    # |1 + beta B| falls to the modulus: the largest beta without integral control.
    low, high = 0.0, 1.0 / float(np.min(np.abs(B)))
    while high - low > 1e-9 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if one(middle) > 0.0 else (low, middle)
        if high < 1e-12:
            return None
    return ceiling, low
