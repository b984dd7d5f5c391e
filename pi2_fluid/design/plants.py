"""Many loops at once: senders under a PI controller, at round-trip times and loads of a region.

For Reno and Scalable senders, with sigma = sR and mu = 1/(window),

    L = m (a + c sigma) e^{-sigma} / (sigma (1 + sigma) (sigma + mu h)),     h = 1 + e^{-sigma}, or
                                                                                 e^{-sigma},

where R is held constant in the window law; where it is not, h has (1 - e^{-sigma})/(1 + sigma) in
addition. a = alpha R^2/T, c = (beta + alpha/2) R, so that a loop is its (R, m, mu) and h, and L is
linear in alpha and beta: L = alpha A + beta B with A and B that do not depend on the gains. Sampled
exactly, B/A = 1 - e^{-jwT}; for the continuous twin B/A = s/(1/T + s/2). mu = 0, the limit of a
vanishing load, is a regular point.

Cubic grows like Reno where its estimate of Reno rules. Where its cubic does, the growth answers to
signals through the time since the last one, with kappa signals per round trip:

    L = m (a + c sigma) e^{-sigma} Q / (sigma (1 + sigma) (sigma + mu (1 + Q e^{-sigma}))),
    Q = 1 + 2 kappa^2/(sigma + kappa)^2,

mu = b/(1 - b/2) kappa with its `decrease` b. At rest its cubic is at its inflection, so that of the
four states of the law the window at the last signal drops out; Q is what the mean and the variance
of the time since then do. m grows without bound as p' -> 0.

Source: PI2 paper (CoNEXT'16), equations (15)-(37), in dimensionless form (docs/theory.md); for
Cubic the equations of `Cubic`, linearised.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

import numpy as np

from pi2_fluid import _core
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.gains import acts_as_pi
from pi2_fluid.laws.opaque import require_equations
from pi2_fluid.laws.sender import Sender
from pi2_fluid.loop.state_space import LinearClass, LinearController, LinearLoop
from pi2_fluid.loop.updates import respond
from pi2_fluid.records.record import declares

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pi2_fluid.values import BoolArray, ComplexArray, Curve, FloatArray, Real

_FELT: Final = 0.01  # 1/window, above which a varying R is felt
_SOME_LOAD: Final = 0.01  # p', at which it is asked whether there is a loop
_FEWEST_ALIASES: Final = 6  # pairs about pi/T: the rest falls like k^-5


@dataclass(frozen=True, eq=False)
class Plants:
    """Senders and queue at n points of a region, without the gains; all arrays have shape (n,).

    Attributes
    ----------
    rtt : array
        Round-trip time, queue included (s).
    p_prime : array
        Load of the sender; 0 is the limit of a vanishing one.
    sender : array of int
        Which of the senders asked for.
    m, mu : array
        Gain of the plant, and 1/window.
    scalable : array of bool
        Whether h = e^{-sigma}.
    kappa : array
        Signals per round trip where Cubic's cubic rules; 0 where it does not, and for others.
    exact : array of bool
        Whether the window law sees R vary; one value for all, or one each.
    """

    rtt: FloatArray
    p_prime: FloatArray
    sender: NDArray[np.intp]
    m: FloatArray
    mu: FloatArray
    scalable: BoolArray
    kappa: Any = None
    exact: Any = False

    #: Whether they are linearised numerically, with points of another closed form.
    numeric: ClassVar[bool] = False
    #: What makes senders send.
    clock: ClassVar[str] = "rate"

    def __post_init__(self) -> None:
        shape = np.shape(self.rtt)
        if self.kappa is None:
            object.__setattr__(self, "kappa", np.zeros(shape))
        object.__setattr__(self, "exact", np.broadcast_to(np.asarray(self.exact, bool), shape))

    def __len__(self) -> int:
        return int(self.rtt.size)

    @property
    def parts(self) -> tuple[Plants, ...]:
        """These."""
        return (self,)

    @property
    def points(self) -> Plants:
        """These."""
        return self

    def take(self, index: NDArray[Any] | int) -> Plants:
        """Return the points at these indices."""
        index = np.atleast_1d(index)
        return Plants(*(getattr(self, one.name)[index] for one in fields(self)))

    def at(self, alpha: float, beta: float, interval: float, update: str) -> Curve:
        """Return L as a function of ln w, which has the shape (n, points) or (points,)."""
        if update == "sampled":
            return lambda x: self.sampled(alpha, beta, interval, np.exp(x))
        loop = self.linear(alpha, beta, interval)
        return lambda x: respond(loop, 1j * np.exp(x), update)

    def linear(self, alpha: float, beta: float, interval: float) -> LinearLoop:
        """Return the n loops of these gains, of shape (n, 1) so that frequencies come last."""
        rtt, m, mu = (np.asarray(x, float)[:, None] for x in (self.rtt, self.m, self.mu))
        one = np.ones_like(rtt)
        if np.any(self.kappa > 0.0):
            cls = self._cubic()
        else:
            late, varies = -mu / rtt, self._varies
            cls = LinearClass(
                a0=np.where(self.scalable[:, None], 0.0, late), a1=late, b=-m / rtt, e0=-varies,
                e1=varies, c=one, r=-one / rtt, weight=one, rtt=rtt, size=1,
            )  # fmt: skip
        gains = (np.full_like(one, alpha + beta), np.full_like(one, -beta))
        controller = LinearController(gains, (one, -one), np.full_like(one, interval))
        return LinearLoop((cls,), controller, rtt.shape)

    @property
    def _varies(self) -> FloatArray:
        """What a varying R adds to the window's rate (1/s^2)."""
        rtt, mu = np.asarray(self.rtt, float), np.asarray(self.mu, float)
        return np.where(self.exact, mu / rtt**2, 0.0)[:, None]

    def _cubic(self) -> LinearClass:
        """The states: the window, and with kappa the mean and variance of the time since a signal.

        All relative to their rest. Where there is no kappa the last two move, but nothing hears.
        """
        rtt, m, mu, kappa = (
            np.asarray(x, float)[:, None] for x in (self.rtt, self.m, self.mu, self.kappa)
        )
        heard = np.where(kappa > 0.0, mu, 0.0)
        rate = np.where(kappa > 0.0, kappa, 1.0)
        zero = np.zeros_like(rtt)
        now = np.where(self.scalable[:, None], 0.0, -mu)
        per_signal = np.divide(m, mu, out=zero.copy(), where=kappa > 0.0)
        rows = [[now, zero, heard], [zero, -rate, zero], [zero, 2.0 * rate, -rate]]
        echo = [[-mu, zero, zero], [-rate, zero, zero], [zero, zero, zero]]

        def stack(columns: Sequence[FloatArray]) -> FloatArray:
            result: FloatArray = np.stack(columns, axis=-1) / rtt[..., None]
            return result

        matrices = [np.stack([stack(row) for row in rows_], axis=-2) for rows_ in (rows, echo)]
        varies = np.stack([self._varies, zero, zero], axis=-1)
        return LinearClass(
            a0=matrices[0], a1=matrices[1], b=stack([-m, -rate * per_signal, zero]), e0=-varies,
            e1=varies, c=np.stack([zero + 1.0, zero, zero], axis=-1), r=-1.0 / rtt,
            weight=zero + 1.0, rtt=rtt, size=3,
        )  # fmt: skip

    def basis(
        self, w: FloatArray, interval: float, update: str
    ) -> tuple[ComplexArray, ComplexArray]:
        """Return (A, B) with L = alpha A + beta B, of shape (n, points)."""
        s = 1j * np.atleast_2d(np.asarray(w, float))
        if update == "sampled":
            first = self.sampled(1.0, 0.0, interval, s.imag)
            return first, -np.expm1(-s * interval) * first
        first = respond(self.linear(1.0, 0.0, interval), s, update)
        return first, s / (1.0 / interval + s / 2.0) * first

    def sampled(self, alpha: float, beta: float, interval: float, w: FloatArray) -> ComplexArray:
        """Return the sampled loops at frequencies `w` (rad/s), of shape (n, points) or (points,).

        As `loop.sampled_response` does it, for these loops alone: from the closed form, all of them
        at once, with leading terms so near to it that a few aliases are left to sum.
        """
        rtt, m = (np.asarray(y, float)[:, None] for y in (self.rtt, self.m))
        w = np.atleast_2d(np.asarray(w, float))
        names = ("rtt", "mu", "one", "varies", "kappa", "near")
        total = _core.design_alias_sums(
            **dict(zip(names, self.columns, strict=True)),
            interval=interval,
            count=self.alias_count(interval),
            w=np.ascontiguousarray(w),
        )
        gains = alpha - beta * np.expm1(-1j * w * interval)
        result: ComplexArray = gains * m * rtt**2 / interval * total
        return result

    @property
    def columns(self) -> FloatArray:
        """The loops as `pi2_design_loop` has them, a row for each of its numbers."""
        one = np.where(self.scalable, 0.0, 1.0)
        # The leading terms at large s are e^{-jv}/(jv + b)^3 - mu e^{-2jv}/(jv + b)^4: the b has
        # the next term, too, the one with mu is the echo in h.
        b = (1.0 + self.mu * one) / 3.0
        return np.array([self.rtt, self.mu, one, self.exact, self.kappa, b], dtype=float)

    def alias_count(self, interval: float) -> int:
        """How many aliases to sum on each side, of updates every `interval` (s)."""
        return _FEWEST_ALIASES + math.ceil(interval / float(np.min(self.rtt)))


def with_exact(plants: Plants) -> Plants:
    """Return loops and those of the same points in which the window law sees R vary.

    Where windows are large the phase margin loses less than 0.1 degrees, and nothing is added; nor
    where Cubic's cubic rules, of which only the loop of a constant R has a closed form here.
    """
    felt = np.flatnonzero((plants.mu > _FELT) & (plants.kappa == 0.0))
    return joined([plants, replace(plants.take(felt), exact=True)]) if felt.size else plants


def joined(parts: Sequence[Plants]) -> Plants:
    """Return the points of all."""
    names = [one.name for one in fields(Plants)]
    return Plants(*(np.concatenate([getattr(part, x) for part in parts]) for x in names))


def make_plants(
    senders: Sequence[Sender], aqm: PiFamily, rtt: Real, load: Sequence[ArrayLike]
) -> Plants:
    """Return every combination of sender, round-trip time and load.

    Parameters
    ----------
    senders : sequence of Sender
    aqm : PiFamily
        How the controller's variable is encoded, and scaled; its alpha and beta do not enter.
    rtt : array
        Round-trip times, queue included (s).
    load : sequence of array
        Of each sender, values of its p'; 0 is the limit of a vanishing load.
    """
    parts = []
    for number, (sender, loads) in enumerate(zip(senders, load, strict=True)):
        r, p = (x.ravel() for x in np.meshgrid(np.atleast_1d(rtt), np.atleast_1d(loads)))
        parts.append(make_points(sender, aqm, r, p, number))
    return joined(parts)


def make_points(
    sender: Sender, aqm: PiFamily, rtt: FloatArray, load: FloatArray, number: int = 0
) -> Plants:
    """Return the loops of one sender, the one of that number, at pairs of RTT (s) and load."""
    m, mu = plant_gain(sender, aqm, load, rtt)
    scalable = np.full(rtt.shape, plant_of(sender) == "scalable")
    kappa = _cubic_signals(sender, load, rtt) if plant_of(sender) == "cubic" else None
    return Plants(rtt, load, np.full(rtt.shape, number), m, mu, scalable, kappa)


def plant_gain(
    sender: Sender, aqm: PiFamily, p_prime: FloatArray, rtt: Real | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return (m, mu) of a sender under a queue; PIE's factor on the gains is part of m.

    Only Cubic's depend on the round-trip time.

    Raises
    ------
    UnsupportedError
        For pairs without a closed form.
    """
    p_prime = np.asarray(p_prime, float)
    law: Any = sender
    plant, square = plant_of(sender), declares(aqm, "encoder") == "square"
    if plant == "scalable" and not square:
        per_mark = float(law.per_mark)
        return per_mark * _slope(sender, aqm, p_prime), per_mark * p_prime
    if plant == "reno":
        root = np.sqrt(float(law.increase) * float(law.decrease))
        return 2.0 * root * _slope(sender, aqm, p_prime), root * p_prime
    if plant == "cubic" and rtt is not None:
        lost = float(law.decrease) / (1.0 - float(law.decrease) / 2.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            mu = lost * _signals(sender, p_prime, np.asarray(rtt))
            return 2.0 * mu / p_prime * _slope(sender, aqm, p_prime), mu
    raise _unsupported(sender, aqm)


def plant_of(sender: Sender) -> str | None:
    """Return the shape of a sender's plant; None for a law of one's own, whatever its parent."""
    shape: str | None = declares(sender, "plant")
    return shape


def is_classic(sender: Sender) -> bool:
    """Return whether a sender has the closed form of Reno."""
    return plant_of(sender) == "reno"


def has_theorems(sender: Sender, aqm: PiFamily) -> bool:
    """Return whether a pair is one that the proofs over a region are written for.

    Cubic, and laws that are not of this package, have none: their margins are checked on a grid.
    """
    return declares(aqm, "encoder") is not None and plant_of(sender) in ("reno", "scalable")


def _signals(sender: Sender, p_prime: FloatArray, rtt: FloatArray) -> FloatArray:
    """Return how many signals a flow of Cubic hears in a round trip."""
    return np.asarray(sender.at_rest(rtt, p_prime**2)[0]) * p_prime**2


def _cubic_signals(sender: Sender, p_prime: FloatArray, rtt: FloatArray) -> FloatArray:
    """Return the same where its cubic rules, and 0 where its estimate of Reno does."""
    law = cast(Any, sender)
    return np.where(p_prime**2 < law.turning_point(rtt), _signals(sender, p_prime, rtt), 0.0)


def _slope(sender: Sender, aqm: PiFamily, p_prime: FloatArray) -> FloatArray:
    """Return d(p')/d(controller's variable), as the sender has its p', times PIE's factor."""
    classic = sender.signal == "classic"
    p = p_prime**2 if classic else p_prime
    encoder, law = declares(aqm, "encoder"), cast(Any, aqm)
    if encoder == "coupled":
        return (1.0 if classic else float(law.k)) * np.ones_like(p_prime)
    if encoder == "square":
        return np.ones_like(p_prime)
    slope = _heard(aqm, p) if encoder == "linear" else _own_slope(sender, aqm, p)
    with np.errstate(divide="ignore", invalid="ignore"):
        return slope / (2.0 * p_prime) if classic else slope


def _own_slope(sender: Sender, aqm: PiFamily, p: FloatArray) -> FloatArray:
    """Return d(p)/d(controller's variable) of a law that is not of this package."""
    from pi2_fluid.laws.derivatives import numeric
    from pi2_fluid.loop.controllers import encode_slopes  # not needed otherwise

    _require_pi(aqm)
    u = np.broadcast_to(np.asarray(aqm.decode(p, str(sender.signal)), float), np.shape(p)).copy()
    what = f"{type(aqm).__name__}.encode"
    slopes = encode_slopes(aqm, u)
    return numeric(slopes[0 if sender.signal == "classic" else 1], u.shape, what) * _scale(aqm, u)


def _require_pi(aqm: PiFamily) -> None:
    """Refuse a queue that has alpha and beta, and does something else with them."""
    if not acts_as_pi(aqm):
        raise UnsupportedError(
            f"{type(aqm).__name__} has an update of its own, which is no PI controller of one"
            " delay, and tune finds the alpha and beta of such a controller: try gains with"
            " Loop(...).margins()."
        )


def require_loop(sender: Sender, aqm: PiFamily) -> None:
    """Refuse a pair of which there is no loop to design.

    Raises
    ------
    UnsupportedError
        Naming the law.
    """
    if plant_of(sender) is not None:
        plant_gain(sender, aqm, np.array([_SOME_LOAD]), 1.0)
        return
    require_equations(sender)
    if sender.signal is None:
        raise UnsupportedError(
            f"{type(sender).__name__} hears no signals (its signal is None), so that no gains of a"
            ' queue act on it: give senders whose signal is "classic" or "scalable".'
        )
    if sender.signal == "scalable" and declares(aqm, "encoder") == "square":
        raise _unsupported(sender, aqm)
    if declares(aqm, "encoder") is None:
        _require_pi(aqm)


def _heard(aqm: PiFamily, p: FloatArray) -> FloatArray:
    return np.asarray(aqm.heard_factor(p), float) * np.ones_like(p)


def _scale(aqm: PiFamily, u: FloatArray) -> FloatArray:
    return np.asarray(aqm.gain_factor(u), float) * np.ones_like(u)


def _unsupported(sender: Sender, aqm: PiFamily) -> UnsupportedError:
    require_equations(sender)
    name, queue = type(sender).__name__, type(aqm).__name__
    if sender.signal == "scalable" and declares(aqm, "encoder") == "square":
        return UnsupportedError(
            f"{name} is Scalable, and {queue} squares its p', which is for Classic senders: use"
            ' aqm="coupled" or aqm="dualpi2".'
        )
    instead = f"{sender.instead}, or try gains with Loop(...).margins()"
    return UnsupportedError(f"{name} under {queue} has no closed form to design with: {instead}.")
