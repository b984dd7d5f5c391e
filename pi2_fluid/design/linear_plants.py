"""Loops of a region that are linearised numerically: by acknowledgements, and of laws without form.

L is linear in alpha and beta here as in `plants`, whatever the equations of sender and encoder: the
controller is a factor of it, and its gains are two numbers. So a loop that is linearised once, with
alpha = beta = 1 Hz, is the loop of any gains (`gains`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

import numpy as np

from pi2_fluid.design.plants import Plants, joined, make_points, plant_of
from pi2_fluid.design.remembering import remembered
from pi2_fluid.errors import quietly
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.loop.acks import AckLoop
from pi2_fluid.loop.acks.sampled import compiled_sums
from pi2_fluid.loop.sampled import alias_sums, held_response
from pi2_fluid.loop.state_space import LinearController, LinearLoop
from pi2_fluid.loop.transfer import Loop
from pi2_fluid.loop.updates import respond

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pi2_fluid._core import AckSums, AliasSums
    from pi2_fluid.design.points import Region
    from pi2_fluid.values import ComplexArray, Curve, FloatArray, Real

#: p' in the place of the limit of a vanishing load: there the windows have 10^6 segments.
NO_LOAD: Final = 1e-6
_LOWEST: Final = 1e-6  # of w R
_POINTS: Final = 200
_RISE: Final = 1e-3  # rad between two of these frequencies: far above rounding
_LEAST_GAIN: Final = 1e-12  # m of a twin, of a law that hardly hears anything


@dataclass(frozen=True, eq=False)
class LinearPlants:
    """Loops of one sender without their gains, and where to look for their crossovers.

    Attributes
    ----------
    points : Plants
        n of them: those of a closed form at the same points, or of Reno with as large a window and
        as large a gain at w = 1/R.
    loop : LinearLoop or AckLoop
        Of shape (n, 1), or () for one; with alpha = beta = 1 Hz.
    clock : {"rate", "acks"}
    """

    points: Plants
    loop: LinearLoop | AckLoop
    clock: str
    _kept: dict[float, list[AliasSums | None]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    _held: dict[float, AckSums | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_kept": {}, "_held": {}}

    #: Whether `points` are another's.
    numeric: ClassVar[bool] = True

    def __len__(self) -> int:
        return len(self.points)

    @property
    def parts(self) -> tuple[LinearPlants, ...]:
        """These."""
        return (self,)

    @property
    def rtt(self) -> FloatArray:
        """Round-trip times, queue included (s)."""
        return self.points.rtt

    @property
    def p_prime(self) -> FloatArray:
        """Loads."""
        return self.points.p_prime

    @property
    def sender(self) -> NDArray[np.intp]:
        """Which of the senders asked for."""
        return self.points.sender

    @property
    def kappa(self) -> FloatArray:
        """Signals per round trip where the phase may dip at low frequencies, else 0."""
        result: FloatArray = self.points.kappa
        return result

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Whether the window law sees R vary."""
        result: NDArray[np.bool_] = self.points.exact
        return result

    def take(self, index: int) -> LinearPlants:
        """Return one point."""
        one = self.loop if not self.loop.shape else self.loop.element((index, 0))
        return LinearPlants(self.points.take(index), one, self.clock)

    def linear(self, alpha: float, beta: float, interval: Real) -> LinearLoop | AckLoop:
        """Return the loops of these gains."""
        now, before = self.loop.controller.numerator
        factor = now + before  # PIE's, and whatever else scales alpha and beta
        gains = ((alpha + beta) * factor, -beta * factor)
        T = np.full_like(factor, interval)
        controller = LinearController(gains, self.loop.controller.denominator, T)
        return replace(self.loop, controller=controller)

    def at(self, alpha: float, beta: float, interval: float, update: str) -> Curve:
        """Return L as a function of ln w."""
        loop = self.linear(alpha, beta, interval)
        sums = self._sums(interval) if update == "sampled" else None
        if sums is None:
            return lambda x: respond(loop, 1j * np.exp(x), update)

        def values(x: FloatArray) -> ComplexArray:
            s = 1j * np.exp(np.broadcast_to(x, (len(sums), np.shape(x)[-1])))
            total = np.stack([one.at(row) for one, row in zip(sums, s, strict=True)])
            return held_response(loop.controller, s, total)

        return values

    def _sums(self, interval: float) -> list[AliasSums] | None:
        """The sums over aliases of each of several loops, which no gains enter, compiled."""
        if interval not in self._kept:
            each: list[AliasSums | None] = [None]
            if self.loop.shape and isinstance(self.loop, LinearLoop):
                loop = self.linear(1.0, 0.0, interval)
                ones = [loop.element((index, 0)) for index in range(len(self))]
                each = [alias_sums(one) for one in ones if isinstance(one, LinearLoop)]
            self._kept[interval] = each
        kept = [one for one in self._kept[interval] if one is not None]
        return kept if len(kept) == len(self) else None

    def ack_sums(self, interval: float) -> AckSums | None:
        """Return the sums over aliases by acknowledgements, which no gains enter, compiled."""
        if interval not in self._held:
            loop = self.linear(1.0, 0.0, interval)
            self._held[interval] = compiled_sums(loop) if isinstance(loop, AckLoop) else None
        return self._held[interval]

    def basis(
        self, w: FloatArray, interval: float, update: str
    ) -> tuple[ComplexArray, ComplexArray]:
        """Return (A, B) with L = alpha A + beta B, of shape (n, points)."""
        s = 1j * np.atleast_2d(np.asarray(w, float))
        first = respond(self.linear(1.0, 0.0, interval), s, update)
        if update == "sampled":
            return first, -np.expm1(-s * interval) * first
        return first, s / (1.0 / interval + s / 2.0) * first


@dataclass(frozen=True, eq=False)
class SeveralPlants:
    """Loops of several kinds, as one sequence."""

    parts: tuple[Plants | LinearPlants, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def take(self, index: int) -> Plants | LinearPlants:
        """Return one of them."""
        for part in self.parts:
            if index < len(part):
                return part.take(index)
            index -= len(part)
        raise IndexError(index)

    @property
    def kappa(self) -> FloatArray:
        """Of each, as `LinearPlants` has it."""
        return np.concatenate([part.kappa for part in self.parts])


#: Round-trip times (s), and as many p'.
Pairs: TypeAlias = tuple[tuple[float, ...], tuple[float, ...]]
#: Loops of a region by one clock.
SomePlants: TypeAlias = Plants | LinearPlants | SeveralPlants


def join(parts: Sequence[SomePlants]) -> SomePlants:
    """Return the points of all, those of closed forms first and together."""
    each = [one for part in parts for one in part.parts]
    closed = [one for one in each if isinstance(one, Plants)]
    others = [one for one in each if isinstance(one, LinearPlants)]
    several = (*((joined(closed),) if closed else ()), *others)
    return several[0] if len(several) == 1 else SeveralPlants(several)


def unit_of(aqm: PiFamily) -> PiFamily:
    """Return the controller with one queue and gains of 1 Hz, for all that differ in these."""
    unit: PiFamily = replace(aqm.in_one_queue(), alpha=1.0, beta=1.0)
    return unit


@remembered
def make_linear_plants(
    region: Region,
    aqm: PiFamily,
    number: int,
    pairs: Pairs,
    clock: str,
    exact: bool = False,
) -> LinearPlants:
    """Return the loops of one sender of a region, the one of that number, at pairs of RTT and load.

    Parameters
    ----------
    region : Region
    aqm : PiFamily
        With one queue and gains of 1 Hz: see `unit_of`.
    number : int
    pairs : pair of tuple of float
        Round-trip times (s), queue included, and as many p', 0 for the limit of a vanishing one.
    clock : {"rate", "acks"}
    exact : bool
        Whether the window law sees R vary.

    Raises
    ------
    UnsupportedError
        If sender and queue have no such loop.
    """
    sender = region.senders[number]
    rtt, loads = np.array(pairs[0]), np.maximum(np.array(pairs[1]), NO_LOAD)
    # Of the linearisation the clips and timeouts are said, and T beside R, all of which are known.
    with quietly():
        loops = Loop(
            sender,
            aqm,
            rtt=rtt[:, None],
            p_prime=loads[:, None],
            clock=clock,
            rtt_terms="exact" if exact else "frozen",
        )
        loop = loops.linear
    assert isinstance(loop, (LinearLoop, AckLoop))
    if plant_of(sender) is not None:
        points = make_points(sender, aqm, rtt, loads, number)
        return LinearPlants(points, loop, clock)
    rest = loops.operating_point.window, loops.operating_point.p
    window, p = (np.broadcast_to(side, loop.shape)[:, 0] for side in rest)
    twin = Plants(
        rtt=rtt,
        p_prime=loads,
        sender=np.full(window.shape, number),
        m=np.ones(window.shape),
        mu=1.0 / window,
        scalable=np.zeros(window.shape, bool),
        exact=exact,
    )
    plants = LinearPlants(twin, loop, clock)
    dips = np.where(_dips(plants), window * p, 0.0)
    return replace(plants, points=replace(twin, m=_gain(plants), kappa=dips))


def _dips(plants: LinearPlants) -> NDArray[np.bool_]:
    """Say of which loops the phase rises somewhere at low frequencies, as that of Cubic does."""
    rtt = plants.rtt[:, None]
    s = 1j * np.geomspace(_LOWEST, 1.0, _POINTS) / rtt
    phase = np.unwrap(np.angle(respond(plants.linear(1.0, 0.0, rtt), s, "continuous")))
    result: NDArray[np.bool_] = np.any(np.diff(phase) > _RISE, axis=1)
    return result


def _gain(plants: LinearPlants) -> FloatArray:
    """Return the m of loops of Reno that are as large at w = 1/R, with T = R and beta = 0."""
    rtt, mu = plants.rtt[:, None], plants.points.mu[:, None]
    here = np.abs(respond(plants.linear(1.0, 0.0, rtt), np.asarray(1j / rtt), "continuous"))
    twin = rtt * abs(1.0 + 0.5j) / np.abs((1.0 + 1j) * (1j + mu * (1.0 + np.exp(-1j))))
    result: FloatArray = np.maximum((here / twin)[:, 0], _LEAST_GAIN)
    return result
