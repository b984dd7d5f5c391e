"""Queue laws as numbers for the queue disciplines of the packet kernel.

Each list follows the enumeration at the top of the discipline's file, kernel/packet/qdisc_*.c, or
of kernel/packet/pi_controller.h. What only packets, or only integers, must refuse is refused here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pi2_fluid.errors import DomainError, UnsupportedError, show_value
from pi2_fluid.model.aqm import Aqm
from pi2_fluid.model.aqms.codel import CoDel
from pi2_fluid.model.aqms.coupled import CoupledPi2
from pi2_fluid.model.aqms.dualpi2 import DualPi2
from pi2_fluid.model.aqms.pi import Pi
from pi2_fluid.model.aqms.pi2 import Pi2
from pi2_fluid.model.aqms.pi_family import PiFamily
from pi2_fluid.model.aqms.pie import Pie
from pi2_fluid.model.aqms.red import Red
from pi2_fluid.model.aqms.taildrop import TailDrop
from pi2_fluid.model.scenario import Link
from pi2_fluid.packet.queue_parameters import (
    codel_parameters,
    dualpi2_parameters,
    red_parameters,
)

__all__ = ["controller_parameters", "discipline_of", "pie_parameters"]

#: Gain tables of PIE, in the order of their numbers in the kernel; those that shifts can express.
_TABLES: Final = ("none", "rfc8033", "rfc8034", "hpsr13", "ietf_early", "sqrt2p")
_BY_SHIFTS: Final = {
    "linux6.18": ("rfc8033", "hpsr13", "ietf_early", "none"),
    "linux4.14": ("hpsr13", "ietf_early", "none"),
}
_ARITHMETIC: Final = {"linux6.18": 1, "linux4.14": 2}
_REAL, _DUALPI2, _2016 = range(3)
_HEAD, _RATE, _LENGTH = range(3)
#: Of each variant of PIE: burst allowance (s), bytes and weight of the rate estimator.
_BURST: Final = {"linux6.18": 0.15, "linux4.14": 0.1, "rfc8033": 0.15, "hpsr13": 0.1}
_CYCLE: Final = {"linux6.18": 16384, "linux4.14": 10000, "rfc8033": 16384, "hpsr13": 10000}
_WEIGHT: Final = {"rfc8033": 0.5}
_LINUX: Final = ("linux6.18", "linux4.14")
_MARK_LIMIT: Final = 0.1
_LATE_TIMER: Final = 0.5  # s: when Linux's PIE, and the PI2 of 2016, first update
_IDLE_DECAY: Final = 0.98
_SHORTEST, _LONGEST = 1e-9, 1e3  # s
_LARGEST_GAIN: Final = 1e5  # Hz
_LARGEST_TC: Final = 2.0  # Hz: tc pie takes alpha and beta up to 32 sixteenths
_ROUNDING: Final = 0.01


def discipline_of(aqm: Aqm, link: Link) -> tuple[str, list[float]]:
    """Return the name and the parameters of the queue discipline that runs a law.

    Parameters
    ----------
    aqm : Aqm
        With single numbers, not arrays.
    link : Link
        Whose packets it queues.

    Raises
    ------
    UnsupportedError
        If the law has no queue discipline (a subclass is another law), a field holds an array, or
        ``arithmetic="fixed"`` is asked of what no kernel computes in integers.
    DomainError
        If a time or a gain is beyond what packets, or the kernel's integers, can count.

    Examples
    --------
    >>> discipline_of(TailDrop(), Link("10Mbit/s"))
    ('taildrop', [])
    """
    law = type(aqm)
    if law not in _DISCIPLINES and law not in _BY_SIZE:
        known = ", ".join(each.__name__ for each in (*_DISCIPLINES, *_BY_SIZE))
        raise UnsupportedError(
            f"{law.__name__} has no queue discipline for packets: give one of {known}, or use the"
            " fluid."
        )
    _require_single(aqm)
    if law in _BY_SIZE:
        name, by_size = _BY_SIZE[law]
        return name, by_size(aqm, link)
    name, parameters = _DISCIPLINES[law]
    return name, parameters(aqm)


# PI, PI2, and the coupled queue


def controller_parameters(law: Any) -> list[float]:
    """Return the parameters of the queue disciplines "pi", "pi2" and "coupled".

    Parameters
    ----------
    law : Pi, Pi2, CoupledPi2 or DualPi2
        Of the last only the controller counts.

    Returns
    -------
    list of float
        alpha, beta (Hz), target, update_interval (s), largest p', k, first_update (s), arithmetic
        (0 real, 1 integers of sch_dualpi2, 2 of sch_pi2), quirks, delay (0 head, 1 rate, 2 length),
        per_packet (s), factor of the idle decay, ecn, whether packets are judged on departure.

    Raises
    ------
    UnsupportedError
        If the variant is HPE's, which updates with packets instead of a timer.
    DomainError
        As `discipline_of`.
    """
    variant = getattr(law, "variant", "plain")
    if variant == "hpe":
        raise UnsupportedError(
            f'{type(law).__name__} variant = "hpe" updates whenever packets come, which the packet'
            ' simulator does not: give variant = "plain" or "pi2-2016", or use the fluid.'
        )
    of_2016 = variant == "pi2-2016"
    k = float(getattr(law, "k", 2.0))
    _require_countable(law)
    arithmetic = _REAL
    if law.arithmetic == "fixed":
        arithmetic = _2016 if of_2016 else _DUALPI2
        _require_integer_gains(law, 16.0 * k if of_2016 else 256.0)
        if of_2016 and (k != round(k) or k < 1.0):
            raise DomainError(
                f"{type(law).__name__} k = {show_value(law.k)} is none of 1, 2, 3 ..., by which"
                ' the integers of 2016 divide: give one of them, or arithmetic = "real".'
            )
    length = getattr(law, "per_packet", None)
    delay = _LENGTH if length is not None else _RATE if of_2016 else _HEAD
    numbers = [law.alpha, law.beta, law.target, law.update_interval, law.limit, k]
    numbers += [_first_update(law, late=of_2016), arithmetic, law.quirks, delay, length or 0.0]
    numbers += [_IDLE_DECAY if of_2016 else 1.0]
    numbers += [getattr(law, "ecn", False), law.drop_at == "dequeue"]
    return [float(number) for number in numbers]


# PIE


def pie_parameters(law: Pie) -> list[float]:
    """Return the parameters of the queue discipline "pie".

    Returns
    -------
    list of float
        alpha, beta (Hz), target, update_interval (s), largest p, table, cap, boost, factor of the
        decay, burst (s) if it runs out at updates, otherwise -1; first_update (s), arithmetic (0
        real, 1 of 56 bits, 2 of 32 bits), quirks, burst (s), whether it runs out at updates,
        whether a backlog stops the decay, half_target (0 no, 1 latest delay, 2 last update's),
        derandomize, rate_estimator, bytes of its cycle, weight of its newest rate, ecn, largest p
        with marks, whether packets are judged on departure.

    Raises
    ------
    UnsupportedError
        If ``arithmetic="fixed"`` is asked of a variant or a table that no kernel has.
    DomainError
        As `discipline_of`.
    """
    variant, linux = law.variant, law.variant in _LINUX
    _require_countable(law)
    if law.arithmetic == "fixed":
        _require_kernel(law)
        _require_integer_gains(law, 16.0, _LARGEST_TC)
    burst = _BURST[variant] if law.burst is None else law.burst
    half = variant != "hpsr13" if law.half_target is None else law.half_target
    spread = variant == "linux6.18" if law.derandomize is None else law.derandomize
    numbers = [law.alpha, law.beta, law.target, law.update_interval, law.limit]
    numbers += [_TABLES.index(law.gain_table), law.caps, law.boosts, law.idle_decay]
    numbers += [-1.0 if linux else burst, _first_update(law, late=linux)]
    numbers += [_ARITHMETIC[variant] if law.arithmetic == "fixed" else 0, law.quirks]
    numbers += [burst, not linux, linux, (1 if linux else 2) if half else 0, spread]
    numbers += [law.rate_estimator, _CYCLE[variant], _WEIGHT.get(variant, 1 / 8)]
    numbers += [law.ecn, _MARK_LIMIT, law.drop_at == "dequeue"]
    return [float(number) for number in numbers]


def _require_kernel(law: Pie) -> None:
    if law.variant not in _BY_SHIFTS:
        raise UnsupportedError(
            f'Pie variant = "{law.variant}" is no kernel, so that arithmetic = "fixed" has no'
            f' meaning: give variant = "linux6.18" or "linux4.14", or arithmetic = "real".'
        )
    known = _BY_SHIFTS[law.variant]
    if law.gain_table not in known:
        raise UnsupportedError(
            f'Pie table = "{law.gain_table}" is more than the integers of {law.variant} can'
            f' express: give one of {", ".join(known)}, or arithmetic = "real".'
        )


# What all of them need


def _first_update(law: PiFamily, *, late: bool) -> Any:
    if law.first_update is not None:
        return law.first_update
    return _LATE_TIMER if late else law.update_interval


def _require_single(law: Aqm) -> None:
    for name, value in vars(law).items():
        if getattr(value, "ndim", 0):
            raise UnsupportedError(
                f"{type(law).__name__} {name} is an array of shape {value.shape}, and a queue of"
                " packets is a single one: give one number, and make one run for each."
            )


def _require_countable(law: Any) -> None:
    name = type(law).__name__
    times = ("target", "update_interval", "first_update", "burst", "per_packet")
    for field in times:
        value = getattr(law, field, None)
        may_vanish = field in {"first_update", "burst"}
        if value is None or (may_vanish and value == 0.0) or _SHORTEST <= value <= _LONGEST:
            continue
        raise DomainError(
            f"{name} {field} = {show_value(value)} is outside [{_SHORTEST:g}, {_LONGEST:g}] s,"
            ' which the clock of packets counts: give a time such as "15ms".'
        )
    for field in ("alpha", "beta"):
        value = getattr(law, field)
        if value > _LARGEST_GAIN:
            raise DomainError(
                f"{name} {field} = {show_value(value)} is above the {_LARGEST_GAIN:g} Hz that a"
                " queue of packets computes with: lower it."
            )


def _require_integer_gains(law: Any, per_hz: float, most: float = _LARGEST_GAIN) -> None:
    """Refuse gains that the kernel's integers miss by more than 1 %: `per_hz` of them are 1 Hz."""
    for field in ("alpha", "beta"):
        value = float(getattr(law, field))
        nearest = round(value * per_hz) / per_hz
        if abs(nearest - value) > _ROUNDING * value or value > most:
            raise DomainError(
                f"{type(law).__name__} {field} = {value!r} is none of the gains that the kernel's"
                f" integers hold: give a multiple of 1/{per_hz:g} Hz up to {most:g} Hz, such as"
                f' {max(1.0 / per_hz, min(nearest, most))!r}, or arithmetic = "real".'
            )


_DISCIPLINES: Final[dict[type[Aqm], tuple[str, Callable[[Any], list[float]]]]] = {
    Pi: ("pi", controller_parameters),
    Pi2: ("pi2", controller_parameters),
    CoupledPi2: ("coupled", controller_parameters),
    Pie: ("pie", pie_parameters),
    TailDrop: ("taildrop", lambda _: []),
}
#: Those that also depend on the size of packets.
_BY_SIZE: Final[dict[type[Aqm], tuple[str, Callable[[Any, Link], list[float]]]]] = {
    DualPi2: ("dualpi2", dualpi2_parameters),
    Red: ("red", red_parameters),
    CoDel: ("codel", codel_parameters),
}
