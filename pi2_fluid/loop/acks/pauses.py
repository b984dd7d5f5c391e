"""Flows that pause: for one round trip after a reduction they neither grow nor hear signals.

Of each flow a part f = 1 - (reductions in the last round trip) is open, and reduces at the rate f m
at which it hears signals, M = m R in a round trip at rest. With u the relative deviation of m, rho
that of reductions, psi that of f, and P(s) the mean over a round trip,

    rho = psi + u,    psi = -M P rho:    rho = u / (1 + M P).

A window that grows by whole segments grows where, since the pause, as many acknowledgements as it
has segments have come, or as many since it last grew, and no signal among them: with z the rate of
such growth and n that of reductions, z(t) = (n(t - 2R) + z(t - R)) times the part that heard
nothing over that time, q = e^{-M} at rest. So the relative deviation of z is, with w that of the
window, which is how much there is to count,

    gamma = [ (1 - q) e^2 rho - M (P u + w) ] / (1 - q e),        e = e^{-sR}.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.loop.state_space import element_of

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray

_TRAILING: Final = {"growth": 1}
_LEAST_SINC: Final = 0.2173  # -sin(v)/v is below this everywhere


class Paused(NamedTuple):
    """What pauses do to a window law, over its state, the signal that is heard, or acks."""

    window: Any
    """Segments per second that are grown less for each segment of the window."""
    opened: Any
    """Relative deviation of what comes to flows that do not pause, over one of what comes."""
    counted: Any
    """Segments per second grown more, over a relative deviation of what comes, per ..."""
    heard: Any
    """... and over one of the signals alone, beside it."""


@dataclass(frozen=True)
class Pauses:
    """Of one class, at rest.

    Attributes
    ----------
    marks : numpy.ndarray, shape (...)
        Signals per flow and round trip, M.
    signal : shape (...)
        Relative deviation of them over the controller's variable.
    growth, cut : shape (..., n) and (...)
        Responses of the law to more acknowledgements and signals alike, relative to those at rest.
    counted : shape (...)
        Segments per second grown by counting; 0 where growth is the law's.
    window : shape (...)
        Segments.
    """

    marks: FloatArray
    signal: FloatArray
    growth: FloatArray
    cut: FloatArray
    counted: FloatArray
    window: FloatArray

    @property
    def clear(self) -> FloatArray:
        """The part of flows that hear nothing in a round trip, q."""
        result: FloatArray = np.exp(-self.marks)
        return result

    def respond(self, e: ComplexArray, mean: ComplexArray) -> Paused:
        """Return the responses where a round trip's delay is `e`, and its mean is `mean`."""
        M, q = self.marks, self.clear
        rho = 1.0 / (1.0 + M * mean)
        each = self.counted / (1.0 - q * e)
        return Paused(
            each * M / self.window,
            -M * mean * rho,
            each * (1.0 - q) * e * e * rho,
            -each * M * mean,
        )

    def bound(self, v: float, bunch: float) -> tuple[float, float]:
        """Return bounds of |rho| and of what is counted, per signal, on the axis beyond w R = v.

        Of packets that lie evenly Re P = sin(v)/v, of a burst cos(v/2)^2, which is not negative.
        """
        M, q = float(self.marks), float(self.clear)
        behind = M * (1.0 - bunch) * min(_LEAST_SINC, 1.0 / v)
        if behind >= 1.0:
            return np.inf, np.inf
        rho, mean = 1.0 / (1.0 - behind), (1.0 - bunch) * 2.0 / v + bunch
        each = float(self.counted) / (1.0 - q)
        return rho, each * ((1.0 - q) * rho + M * mean)

    def element(self, shape: tuple[int, ...], index: tuple[int, ...]) -> Pauses:
        """Return those of the scalar loop at one index."""
        picked: dict[str, Any] = {
            name: element_of(value, shape, index, _TRAILING.get(name, 0))
            for name, value in vars(self).items()
        }
        return replace(self, **picked)
