"""What tc can ask for: gains in whole steps, and update intervals that a kernel's timer holds.

PIE's gains are whole sixteenths of 1 Hz up to 2 Hz, and its timer holds whole jiffies, at least one
more than it is asked for; DualPI2's gains are cut to 256ths of 1 Hz. Where the best alpha is less
than a step, or would lose more than a quarter to it, a longer T has a larger one.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from pi2_fluid.design.gains import Ceiling
from pi2_fluid.errors import DomainError, UnsupportedError
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.kernel.units import DUALPI2_GAIN, PIE_GAIN
from pi2_fluid.tc import kernel
from pi2_fluid.tc.installing import install
from pi2_fluid.tc.parsing import require_hz

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

T = TypeVar("T")

_STEPS: Final = PIE_GAIN.per_si  # of PIE's gains in 1 Hz
_BETAS: Final = np.arange(1, PIE_GAIN.high + 1)  # those that tc takes, in steps
_DOWN: Final = 1e-4  # of the ceiling of alpha, an interpolation
_LOST: Final = 0.25  # of alpha: rounding off more makes it another design
_KEPT: Final = 0.9  # of the largest alpha, where the bandwidth is maximised

#: alpha and beta (Hz); None where nothing is allowed.
Gains = tuple[float, float] | None


@dataclass(frozen=True)
class Steps:
    """A kernel's queue: what tc calls it, and the ticks per second of the kernel."""

    kind: str
    hz: int

    @property
    def whole(self) -> bool:
        """Whether gains and T are those of PIE, so few that the design is made of them."""
        return self.kind != "dualpi2"

    @property
    def smallest(self) -> float:
        """The step of the gains (Hz)."""
        return 1.0 / (_STEPS if self.whole else DUALPI2_GAIN.per_si)

    @property
    def largest(self) -> float:
        """The largest gain (Hz)."""
        return PIE_GAIN.high / _STEPS if self.whole else math.inf

    def intervals(self, shortest: float, longest: float) -> list[float]:
        """Return update intervals (s) that can run, rising, from the first at or above `shortest`.

        Examples
        --------
        >>> Steps("pie", 250).intervals(0.017, 0.05)
        [0.02, 0.024, 0.028, 0.032, 0.036, 0.04, 0.044, 0.048]
        """
        if not self.whole:
            count = max(1, math.ceil(math.log(longest / shortest) / math.log(1.04)))
            return [float(f"{x:.2g}") for x in np.geomspace(shortest, longest, count + 1)]
        most = math.floor(longest * self.hz * (1.0 + 1e-9))
        periods = sorted({kernel.timer_period(count) for count in range(1, most)})
        least = shortest * self.hz * (1.0 - 1e-9)
        return [period / self.hz for period in periods if least <= period <= most]

    def keeps(self, law: PiFamily) -> bool:
        """Return whether the kernel runs a law with at most a quarter less of its alpha."""
        try:
            runs = install(law, self.kind, hz=self.hz).aqm
        except DomainError:
            return False
        return float(runs.alpha) >= (1.0 - _LOST) * float(law.alpha)

    def gains(self, ceiling: Ceiling, objective: str, law: PiFamily) -> Gains:
        """Return PIE's best gains in whole steps, at most a quarter short of what is allowed."""
        if objective == "gain":
            # Multiples of the gains that the law has, both of them whole.
            exact = _BETAS * float(law.alpha) / max(float(law.beta), 1e-300)
            whole = np.round(exact)
            near = np.abs(exact - whole) < 1e-9
            fits = np.flatnonzero(near & (whole >= 1) & (whole <= _whole_alphas(ceiling)))
            if not fits.size:
                return None
            return float(whole[fits[-1]]) / _STEPS, float(_BETAS[fits[-1]]) / _STEPS
        most = largest_in_steps(ceiling, 1.0 - _LOST)
        if most is None or objective != "bandwidth":
            return most
        alphas = _whole_alphas(ceiling)
        best = int(np.flatnonzero(alphas >= math.ceil(_KEPT * most[0] * _STEPS))[-1])
        return float(alphas[best]) / _STEPS, float(_BETAS[best]) / _STEPS


def largest_in_steps(ceiling: Ceiling, kept: float = 0.0) -> Gains:
    """Return PIE's largest alpha in whole steps, and the beta that allows most.

    None if that is less than a step, or than the part `kept` of what the margins allow.
    """
    allowed = _allowed(ceiling)
    best = int(np.argmax(allowed))
    alpha = min(math.floor(allowed[best]), PIE_GAIN.high)
    if alpha < max(1.0, min(kept * allowed[best], PIE_GAIN.high)):
        return None
    return alpha / _STEPS, float(_BETAS[best]) / _STEPS


def _allowed(ceiling: Ceiling) -> FloatArray:
    """Return the largest alpha with each beta, both in steps of PIE."""
    return ceiling(_BETAS / _STEPS) * _STEPS * (1.0 - _DOWN)


def _whole_alphas(ceiling: Ceiling) -> FloatArray:
    return np.clip(np.floor(_allowed(ceiling)), 0, PIE_GAIN.high)


def steps_of(law: PiFamily, kind: str | None, hz: int | None) -> Steps | None:
    """Return the steps of a kernel's queue; None without one, or if it cannot have such a law.

    Raises
    ------
    QuantityError
        If `hz` is no number of ticks per second.
    """
    if hz is None:
        return None
    require_hz(hz)
    if kind is None:
        return None
    try:
        install(replace(law, alpha=1.0, beta=1.0), kind, hz=hz)
    except (DomainError, UnsupportedError):
        return None
    return Steps(kind, hz)


def first_that_keeps(
    intervals: Sequence[T], gains_at: Callable[[T], Gains], least: Callable[[T], bool]
) -> tuple[T, tuple[float, float]] | None:
    """Return the first of some rising intervals that has gains, and these; None if there is none.

    The intervals are seconds, or jiffies. Below the first with at least one step of alpha, which
    `least` tells, none has gains, as alpha grows with T; above, a few may lose too much.
    """
    begin = bisect_left(intervals, True, key=least)
    for interval in intervals[begin:]:
        if (gains := gains_at(interval)) is not None:
            return interval, gains
    return None
