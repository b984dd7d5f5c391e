"""PI, PI2 and the coupled queue as numbers for the kernel, and what the rest of the family shares.

The names are those of native/packet/queues/pi_controller.h. What only integers must refuse is
refused here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.errors import DomainError, UnsupportedError, show_value
from pi2_fluid.model.kernel_gains import parts_behind
from pi2_fluid.model.kernel_units import unit_of
from pi2_fluid.model.packet_limits import require_single, require_time

if TYPE_CHECKING:
    from pi2_fluid.model.aqms.pi_family import PiFamily
    from pi2_fluid.values import Number

__all__ = [
    "controller_numbers",
    "controller_parameters",
    "dualpi2_gains",
    "first_update_of",
    "require_computable",
    "require_integer_gains",
]

_LARGEST_GAIN: Final = 1e5  # Hz, of alpha and beta
_REAL, _DUALPI2, _2016 = range(3)
_HEAD, _RATE, _LENGTH = range(3)
_LATE_TIMER: Final = 0.5  # s: when Linux's PIE, and the PI2 of 2016, first update
_IDLE_DECAY: Final = 0.98
_ROUNDING: Final = 0.01
_PER_HERTZ_2016: Final = 16  # of a gain on k p', in the tc of 2016


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
    delay = _LENGTH if length is not None else _RATE if of_2016 else _HEAD
    numbers = controller_numbers(law) | {"k": k, "arithmetic": arithmetic, "quirks": law.quirks}
    if arithmetic == _DUALPI2:
        numbers |= dualpi2_gains(law)
    return numbers | {
        "first_update": first_update_of(law, late=of_2016),
        "delay_from": delay,
        "per_packet": length or 0.0,
        "decay": _IDLE_DECAY if of_2016 else 1.0,
        "ecn": getattr(law, "ecn", False),
        "at_dequeue": law.drop_at == "dequeue",
    }


# What all of the family need


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
