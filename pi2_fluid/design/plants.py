"""Many loops at once: senders under a PI controller, at round-trip times and loads of a region.

For Reno and Scalable senders with R held constant, with sigma = sR and mu = 1/(window),

    L = m (a + c sigma) e^{-sigma} / (sigma (1 + sigma) (sigma + mu h)),     h = 1 + e^{-sigma}, or
                                                                                 e^{-sigma},

a = alpha R^2/T, c = (beta + alpha/2) R, so that a loop is its (R, m, mu) and h, and L is linear in
alpha and beta: L = alpha A + beta B with A and B that do not depend on the gains. Sampled exactly,
B/A = 1 - e^{-jwT}; for the continuous twin B/A = s/(1/T + s/2). mu = 0, the limit of a vanishing
load, is a regular point.

Source: PI2 paper (CoNEXT'16), equations (15)-(37), in dimensionless form (docs/theory.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.loop.modes import respond
from pi2_fluid.loop.state_space import LinearClass, LinearController, LinearLoop
from pi2_fluid.model.aqms.coupled import CoupledFamily
from pi2_fluid.model.aqms.pi import Pi
from pi2_fluid.model.aqms.pi2 import Pi2
from pi2_fluid.model.aqms.pi_family import PiFamily
from pi2_fluid.model.aqms.pie import Pie
from pi2_fluid.model.sender import Sender
from pi2_fluid.model.senders.creno import CReno
from pi2_fluid.model.senders.cubic import Cubic
from pi2_fluid.model.senders.dctcp import Dctcp
from pi2_fluid.model.senders.reno import Reno
from pi2_fluid.model.senders.scalable import Scalable

__all__ = ["Plants", "is_classic", "join", "make_plants", "plant_gain"]

#: What comes closest to senders without a closed form.
_INSTEAD: Final[dict[type[Sender], str]] = {
    Cubic: "use CReno, its mode at short RTTs, which has less margin",
    Dctcp: "use Scalable for what it would be without its average over 16 round trips, which costs"
    " it tens of dB",
}


@dataclass(frozen=True)
class Plants:
    """Senders and queue at n points of a region, without the gains; all arrays have shape (n,).

    Attributes
    ----------
    rtt : array
        Round-trip time in the loop (s).
    p_prime : array
        Load of the sender; 0 is the limit of a vanishing one.
    sender : array of int
        Which of the senders asked for.
    m, mu : array
        Gain of the plant, and 1/window.
    scalable : array of bool
        Whether h = e^{-sigma}.
    """

    rtt: Any
    p_prime: Any
    sender: Any
    m: Any
    mu: Any
    scalable: Any

    def __len__(self) -> int:
        return int(self.rtt.size)

    def take(self, index: Any) -> Plants:
        """Return the points at these indices."""
        index = np.atleast_1d(index)
        return Plants(*(getattr(self, name)[index] for name in self.__dataclass_fields__))

    def linear(self, alpha: float, beta: float, interval: float) -> LinearLoop:
        """Return the n loops of these gains, of shape (n, 1) so that frequencies come last."""
        rtt, m, mu = (np.asarray(x, float)[:, None] for x in (self.rtt, self.m, self.mu))
        zero, one = np.zeros_like(rtt), np.ones_like(rtt)
        late = -mu / rtt
        cls = LinearClass(
            a0=np.where(self.scalable[:, None], 0.0, late), a1=late, b=-m / rtt, e0=zero, e1=zero,
            c=one, r=-one / rtt, weight=one, rtt=rtt, size=1,
        )  # fmt: skip
        gains = (np.full_like(one, alpha + beta), np.full_like(one, -beta))
        controller = LinearController(gains, (one, -one), np.full_like(one, interval))
        return LinearLoop((cls,), controller, rtt.shape)

    def basis(self, w: Any, interval: float, mode: str) -> tuple[Any, Any]:
        """Return (A, B) with L = alpha A + beta B, of shape (n, points)."""
        s = 1j * np.atleast_2d(np.asarray(w, float))
        first = respond(self.linear(1.0, 0.0, interval), s, mode)
        if mode == "sampled":
            return first, -np.expm1(-s * interval) * first
        return first, s / (1.0 / interval + s / 2.0) * first


def join(one: Plants, other: Plants) -> Plants:
    """Return the points of both."""
    names = one.__dataclass_fields__
    return Plants(*(np.concatenate([getattr(one, x), getattr(other, x)]) for x in names))


def make_plants(senders: Sequence[Sender], aqm: PiFamily, rtt: Any, load: Sequence[Any]) -> Plants:
    """Return every combination of sender, round-trip time and load.

    Parameters
    ----------
    senders : sequence of Sender
    aqm : PiFamily
        How the controller's variable is encoded, and scaled; its alpha and beta do not enter.
    rtt : array
        Round-trip times in the loop (s).
    load : sequence of array
        Of each sender, values of its p'; 0 is the limit of a vanishing load.
    """
    parts = []
    for number, (sender, loads) in enumerate(zip(senders, load, strict=True)):
        r, p = (x.ravel() for x in np.meshgrid(np.atleast_1d(rtt), np.atleast_1d(loads)))
        m, mu = plant_gain(sender, aqm, p)
        parts.append(
            Plants(r, p, np.full(r.shape, number), m, mu, np.full(r.shape, not is_classic(sender)))
        )
    out = parts[0]
    for part in parts[1:]:
        out = join(out, part)
    return out


def plant_gain(sender: Sender, aqm: PiFamily, p_prime: Any) -> tuple[Any, Any]:
    """Return (m, mu) of a sender under a queue; PIE's factor on the gains is part of m.

    Raises
    ------
    UnsupportedError
        For pairs without a closed form.
    """
    p_prime = np.asarray(p_prime, float)
    dual = isinstance(aqm, CoupledFamily)
    if is_classic(sender):
        root = np.sqrt(float(sender.decrease))  # type: ignore[attr-defined]
        m = np.full(p_prime.shape, 2.0 * root)
        if type(aqm) in (Pi, Pie):
            with np.errstate(divide="ignore"):
                m = m * _scale(aqm, p_prime**2) / (2.0 * p_prime)
        elif not (dual or type(aqm) is Pi2):
            raise _unsupported(sender, aqm)
        return m, root * p_prime
    if type(sender) is Scalable and (dual or type(aqm) in (Pi, Pie)):
        per_mark = float(sender.per_mark)
        k = float(aqm.k) if isinstance(aqm, CoupledFamily) else 1.0
        scale = 1.0 if dual else _scale(aqm, p_prime)
        return per_mark * k * scale * np.ones_like(p_prime), per_mark * p_prime
    raise _unsupported(sender, aqm)


def is_classic(sender: Sender) -> bool:
    """Return whether a sender has the closed form of Reno."""
    return type(sender) in (Reno, CReno)


def _scale(aqm: PiFamily, p: Any) -> Any:
    return np.asarray(aqm.tune(p), float) * np.ones_like(p)


def _unsupported(sender: Sender, aqm: PiFamily) -> UnsupportedError:
    name, queue = type(sender).__name__, type(aqm).__name__
    instead = _INSTEAD.get(type(sender), "use Reno, CReno or Scalable")
    if type(sender) is Scalable:
        instead = 'use aqm="coupled" or "dualpi2"'
    return UnsupportedError(
        f"{name} under {queue} has no closed form to design with: {instead}, or try gains with"
        " Loop(...).margins()."
    )
