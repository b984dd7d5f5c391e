"""The PI controller of the queue delay that PI, PIE, PI2 and the coupled queues share.

Below the class: its numbers as the packet kernel takes them, and what integers must refuse. Their
names are those of native/packet/queues/pi_controller.h.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from pi2_fluid.errors import DomainError, UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.kernel.gains import parts_behind
from pi2_fluid.laws.kernel.units import DUALPI2_GAIN, MICROSECONDS, told_to_tc, unit_of
from pi2_fluid.laws.packet_limits import require_single, require_time
from pi2_fluid.laws.seen import Seen
from pi2_fluid.ops import Number, maximum, minimum
from pi2_fluid.records.record import (
    OptionalParameter,
    Parameter,
    choice,
    quantity,
    solve_again,
)
from pi2_fluid.units import LONG_WAIT

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Line

_LARGEST_GAIN: Final = 1e5  # Hz, of alpha and beta
_REAL, _DUALPI2, _2016 = range(3)
_HEAD, _RATE, _LENGTH = range(3)
_LATE_TIMER: Final = 0.5  # s: when Linux's PIE, and the PI2 of 2016, first update
_IDLE_DECAY: Final = 0.98
#: Variants whose delay is the backlog over an estimated rate, and whose idle p' decays.
_ESTIMATING: Final = ("pi2-2016", "ns3")
_ROUNDING: Final = 0.01
_PER_HERTZ_2016: Final = 16  # of a gain on k p', in the tc of 2016


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class PiFamily(Aqm):
    """u += gain_factor(u) (alpha (delay - target) + beta (delay - delay_before)), each interval.

    The state is (u, delay at the last update). Subclasses say how `u` is encoded, and PIE how the
    gains are scaled.

    Parameters
    ----------
    alpha, beta : float
        Gains in Hz: change of `u` per second of delay error, and per second of delay change, at
        each update. alpha > 0 and beta >= 0.
    target : float or str
        Queue delay aimed at (s).
    update_interval : float or str
        Time between updates (s): the effective one, without rounding to a kernel's clock.
    arithmetic : {"real", "fixed"}
        Whether a packet simulation computes in real numbers, or in the integers of the kernel that
        the variant stands for. Those hold gains in multiples of 1/16 or 1/256 Hz.
    quirks : bool, default True
        Whether those integers overflow where the kernel's do; otherwise they stay within their
        bounds. Without meaning for real numbers.
    first_update : float or str, optional
        When the first update comes (s); None: after `update_interval`, but after 0.5 s in the
        variants of Linux whose timer waits for that.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range, as alpha = 0 is: without it
        the delay never settles at its target.

    Notes
    -----
    The last three are for packets only.

    Source: PI2 paper (CoNEXT'16), equation (4); Hollot, Misra, Towsley, Gong (INFOCOM 2001).

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import pi2_fluid as pf
    >>> @dataclass(frozen=True, eq=False, kw_only=True)
    ... class Cubed(pf.PiFamily):  # p = u^3
    ...     def encode(self, u):
    ...         return pf.Signal(u**3, u**3)
    ...     def decode(self, p, signal):
    ...         return pf.ops.cbrt(p)
    >>> margins = pf.Loop(pf.Reno(), Cubed(), rtt="100ms", p=0.01).margins()
    >>> print(f"{margins.gain_margin_db:.2f} dB")
    15.81 dB
    """

    designable: ClassVar = True
    rests_among_links: ClassVar = True
    packets_only: ClassVar[tuple[str, ...]] = ("arithmetic", "quirks", "first_update")

    alpha: Parameter = quantity(0.125, "frequency", closed=True, tc="alpha", kernel=DUALPI2_GAIN)
    beta: Parameter = quantity(1.25, "frequency", closed=True, tc="beta", kernel=DUALPI2_GAIN)
    target: Parameter = quantity("20ms", "time", usual=LONG_WAIT, tc="target", kernel=MICROSECONDS)
    update_interval: Parameter = quantity(
        "32ms", "time", usual=LONG_WAIT, tc="tupdate", kernel=MICROSECONDS
    )
    arithmetic: str = choice("real", ("real", "fixed"))
    quirks: bool = choice(True, (True, False))
    first_update: OptionalParameter = quantity(
        None, "time", usual=LONG_WAIT, closed=True, optional=True
    )

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        solve_again(cls, PiFamily, {"gain_edges": ("gain_factor",)})

    def __post_init__(self) -> None:
        super().__post_init__()
        if _any_zero(self.alpha):
            raise DomainError(
                f"{type(self).__name__} alpha = 0.0 leaves the delay without integral control, so"
                " that it never settles at its target: give alpha in (0, inf) Hz."
            )

    def initial(self) -> tuple[Number, ...]:
        """Return (u, delay before) of an idle queue: both 0."""
        return (0.0, 0.0)

    def gain_factor(self, u: Number) -> Number:
        """Return the factor on both gains at controller value `u`."""
        return 1.0

    @property
    def gain_edges(self) -> tuple[float, ...] | None:
        """The values of `u` at which `gain_factor` steps, constant in between; None: it is a curve.

        Proofs over a region go from edge to edge. A subclass with a factor of its own says so, or
        it is taken for a curve.
        """
        return () if type(self).gain_factor is PiFamily.gain_factor else None

    def heard_factor(self, p: Number) -> Number:
        """Return the factor on both gains in what packets see of a "linear" encoder, at that `p`.

        `gain_factor` of p, unless packets see a part of u.
        """
        return self.gain_factor(p)

    @property
    def heard_edges(self) -> tuple[float, ...] | None:
        """Where `heard_factor` steps, in what packets see: `gain_edges`, unless it is not u."""
        return self.gain_edges

    def update(self, state: tuple[Number, ...], seen: Seen, dt: Number) -> tuple[Number, ...]:
        """Return (u, delay) after one update; `dt` does not enter (the gains are per update)."""
        u, before = state
        delay = seen.queue_delay
        step = self.alpha * (delay - self.target) + self.beta * (delay - before)
        return (u + self.gain_factor(u) * step, delay)

    def flow(
        self, state: tuple[Number, ...], seen: Seen, d_queue_delay: Number
    ) -> tuple[Number, ...]:
        """Return d(u, delay)/dt of the bilinear image: equation (29)."""
        u, _ = state
        integral = self.alpha / self.update_interval * (seen.queue_delay - self.target)
        proportional = (self.beta + self.alpha / 2) * d_queue_delay
        return (self.gain_factor(u) * (integral + proportional), d_queue_delay)

    def saturate(self, state: tuple[Number, ...]) -> tuple[Number, ...]:
        """Return the state with `u` kept in [0, limit]."""
        return (minimum(maximum(state[0], 0.0), self.limit), state[1])

    @property
    def limit(self) -> Number:
        """The largest value of the controller's variable."""
        return 1.0

    @property
    def clips_at(self) -> Number:
        """`limit`."""
        return self.limit

    def packet_parameters(self, link: Line) -> dict[str, Any]:
        """Return the numbers of the disciplines "pi", "pi2" and "coupled"."""
        return controller_parameters(self)

    def update_parameters(self, link: Line) -> tuple[str, dict[str, Any]]:
        """Return the discipline whose controller updates as this law's, and its numbers."""
        return str(self.discipline), self.packet_parameters(link)

    @property
    def measures(self) -> str:
        """The head's waiting; the backlog in the variants that count packets or estimate a rate."""
        counted = getattr(self, "per_packet", None) is not None
        estimated = getattr(self, "variant", "plain") in _ESTIMATING
        return "backlog" if counted or estimated else "head"

    def in_one_queue(self) -> PiFamily:
        """Return the controller with one queue for all packets: itself, if it has one."""
        return self

    def at_rest(self, u: Number, capacity: Number) -> tuple[tuple[Number, ...], Number]:
        """Return the state at rest, (u, target), and the queue delay: the target, at any load."""
        return (u, self.target), self.target


#: What tc calls the numbers of the loop, and what they are.
LOOP_WORDS: Final = told_to_tc(PiFamily)


def _any_zero(value: Number) -> bool:
    return isinstance(value, (float, np.ndarray)) and bool(np.any(np.asarray(value) == 0.0))


def controller_numbers(law: PiFamily) -> dict[str, Any]:
    """Return what every law of the family is configured by."""
    names = ("alpha", "beta", "target", "update_interval", "limit")
    return {name: getattr(law, name) for name in names}


def controller_parameters(law: Any) -> dict[str, Any]:
    """Return what configures the queue disciplines "pi", "pi2" and "coupled".

    Parameters
    ----------
    law : Pi, Pi2, CoupledPi2 or DualPi2
        Of the last only the controller counts.

    Returns
    -------
    dict of str to float
        As native/packet/queues/pi_controller.h says: the law's own numbers; k; arithmetic, 0 real,
        1 integers of sch_dualpi2, 2 of sch_pi2; delay_from, 0 head, 1 rate, 2 length; decay, the
        factor on an idle queue.

    Raises
    ------
    UnsupportedError
        If a field holds an array, or the variant is HPE's, which updates with packets instead of a
        timer.
    DomainError
        If a time or a gain is beyond what packets, or the kernel's integers, can count.
    """
    require_single(law)
    variant = getattr(law, "variant", "plain")
    if variant == "hpe":
        raise UnsupportedError(
            f'{type(law).__name__} variant = "hpe" updates whenever packets come, which the packet'
            ' simulator does not: give variant = "plain" or "pi2-2016", or use the fluid.'
        )
    of_2016 = variant == "pi2-2016"
    k = float(getattr(law, "k", 2.0))
    require_computable(law)
    arithmetic = _REAL
    if law.arithmetic == "fixed" and variant == "ns3":
        raise UnsupportedError(
            f'{type(law).__name__} variant = "ns3" has no integers: give arithmetic = "real", or'
            ' variant = "plain" or "pi2-2016".'
        )
    if law.arithmetic == "fixed":
        arithmetic = _2016 if of_2016 else _DUALPI2
        if of_2016:
            require_integer_gains(law, _PER_HERTZ_2016 * k)
        if of_2016 and (k != round(k) or k < 1.0):
            raise DomainError(
                f"{type(law).__name__} k = {show_value(law.k)} is none of 1, 2, 3 ..., by which"
                ' the integers of 2016 divide: give one of them, or arithmetic = "real".'
            )
    length = getattr(law, "per_packet", None)
    delay = _LENGTH if length is not None else _RATE if variant in _ESTIMATING else _HEAD
    numbers = controller_numbers(law) | {"k": k, "arithmetic": arithmetic, "quirks": law.quirks}
    if arithmetic == _DUALPI2:
        numbers |= dualpi2_gains(law)
    return numbers | {
        "first_update": first_update_of(law, late=of_2016),
        "delay_from": delay,
        "per_packet": length or 0.0,
        "decay": _IDLE_DECAY if variant in _ESTIMATING else 1.0,
        "ecn": getattr(law, "ecn", False),
        "at_dequeue": law.drop_at == "dequeue",
    }


def first_update_of(law: PiFamily, *, late: bool) -> Number:
    """Return when (s) the controller first updates; a late one leaves the queue half a second."""
    if law.first_update is not None:
        return law.first_update
    return _LATE_TIMER if late else law.update_interval


def require_computable(law: PiFamily) -> None:
    """Refuse times and gains that no queue discipline of the family can compute with."""
    name = type(law).__name__
    for field in ("target", "update_interval", "first_update", "burst", "per_packet"):
        value = getattr(law, field, None)
        may_vanish = field in {"first_update", "burst"}
        if value is not None and not (may_vanish and value == 0.0):
            require_time(f"{name} {field}", value, closed=True)
    for field in ("alpha", "beta"):
        value = getattr(law, field)
        if value > _LARGEST_GAIN:
            raise DomainError(
                f"{name} {field} = {show_value(value)} is above the {_LARGEST_GAIN:g} Hz that a"
                " queue of packets computes with: lower it."
            )


def dualpi2_gains(law: PiFamily) -> dict[str, float]:
    """Return alpha and beta (Hz) as the integers of sch_dualpi2 keep them.

    A gain of a law that `qdisc` has read or installed is one of those already, and stays. Others
    are taken for gains asked for: the nearest 1/256 Hz, of which the kernel cuts off.

    Raises
    ------
    DomainError
        As `require_integer_gains`.
    """
    kept = {}
    for field in ("alpha", "beta"):
        value: Any = getattr(law, field)
        unit = unit_of(law, field)
        parts = parts_behind(value)
        if parts is None:
            _require_near(law, field, unit.per_si)
            parts = unit.nearest(value)
        kept[field] = unit.act(parts)
    return kept


def require_integer_gains(law: PiFamily, per_hertz: float | None = None) -> None:
    """Refuse gains that the kernel's integers miss by more than 1 %, or that tc does not take.

    Parameters
    ----------
    law : PiFamily
    per_hertz : float, optional
        How many of the integers are 1 Hz, where that is not what the fields declare; tc has no
        bound then.
    """
    for field in ("alpha", "beta"):
        if per_hertz is None:
            unit = unit_of(law, field)
            _require_near(law, field, unit.per_si, unit.act(unit.high))
        else:
            _require_near(law, field, per_hertz)


def _require_near(law: PiFamily, field: str, per_hz: float, most: float = _LARGEST_GAIN) -> None:
    value = float(getattr(law, field))
    nearest = round(value * per_hz) / per_hz
    if abs(nearest - value) > _ROUNDING * value or value > most:
        raise DomainError(
            f"{type(law).__name__} {field} = {value!r} is none of the gains that the kernel's"
            f" integers hold: give a multiple of 1/{per_hz:g} Hz up to {most:g} Hz, such as"
            f' {max(1.0 / per_hz, min(nearest, most))!r}, or arithmetic = "real".'
        )
