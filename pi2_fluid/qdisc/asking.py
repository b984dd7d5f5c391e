"""A law in the words and units of tc: what is asked for, and what tc would refuse or misread."""

from __future__ import annotations

import math
from typing import Any, Final

from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError, show_value
from pi2_fluid.model.aqm import Aqm
from pi2_fluid.model.aqms.coupled import CoupledFamily
from pi2_fluid.model.aqms.pie import Pie
from pi2_fluid.model.kernel_gains import parts_behind
from pi2_fluid.model.record import require_scalars
from pi2_fluid.model.registry import laws_of_tc
from pi2_fluid.qdisc import kernel
from pi2_fluid.qdisc.generations import NEWEST, Generation
from pi2_fluid.qdisc.options import FACTORS, KINDS, LARGEST_PIE, Number, defaults
from pi2_fluid.units import validate_choice, validate_number

__all__ = ["as_words", "earlier", "microseconds", "request", "require_mtu"]

_LARGEST_PARTS: Final = 2**31 - 1  # 1/256 Hz, by the kernel
_LONGEST: Final = 2**32 // 1000  # us: times are kept in 32 bits of ns
_FORGIVEN: Final = 1e-3  # us that a binary number may fall short of the decimal one


def request(
    aqm: Aqm, kind: str, mtu: int, generation: Generation = NEWEST
) -> tuple[dict[str, int], dict[str, Any]]:
    """Return all options in tc's units, and those of the loop in SI as the law has them.

    Raises
    ------
    QuantityError, DomainError, UnsupportedError
        As `pi2_fluid.qdisc.install`.
    """
    validate_choice(kind, KINDS, "kind")
    require_mtu(mtu)
    laws = laws_of_tc(kind)
    if not isinstance(aqm, laws):
        names = ", ".join(law.__name__ for law in laws)
        raise UnsupportedError(
            f"{kind} cannot run {type(aqm).__name__}: give one of {names}, or another kind."
        )
    require_scalars(aqm)
    units = defaults(kind, mtu)
    units |= {
        "target": microseconds(aqm.target, "target"),
        "tupdate": microseconds(aqm.update_interval, "update_interval"),
    }
    units |= _pie(aqm, generation) if isinstance(aqm, Pie) else _dualpi2(aqm)
    asked = {"alpha": aqm.alpha, "beta": aqm.beta}
    return units, asked | {"target": aqm.target, "tupdate": aqm.update_interval}


def require_mtu(mtu: Any) -> None:
    """Refuse what is no device's MTU.

    Raises
    ------
    QuantityError
        If it is no whole number of bytes that a device can have.
    """
    if type(mtu) is not int or not 68 <= mtu <= 65535:
        raise QuantityError(
            f"mtu = {show_value(mtu)} is no whole number in [68, 65535]: give the device's, such as"
            " 1500."
        )


def microseconds(value: Any, name: str) -> int:
    """Return a time as tc passes it on, cut to whole microseconds.

    Raises
    ------
    QuantityError
        If it is no time.
    DomainError
        If it is cut to nothing, which tc takes for nothing asked, or is beyond 4.29 s.
    """
    given = validate_number(value, "time", name)
    us = math.floor(given * 1e6 + _FORGIVEN)
    if not 1 <= us < _LONGEST:
        raise DomainError(
            f"{name} = {show_value(value)} is outside the 1us to 4.29s that tc and kernel can"
            " exchange: give a time in between."
        )
    return us


def as_words(option: Number, value: int, given: float | None) -> str:
    """Return the text with which tc reads `value` of an option's units; `given` stood behind it."""
    if option.unit == "time":
        return f"{value // 1000}ms" if value % 1000 == 0 else f"{value}us"
    if option.unit == "hertz":
        exact = value / FACTORS["hertz"]
        given = exact if given is None else given
        texts = (f"{given:.9g}", repr(float(given)), f"{exact:.9g}", repr(exact))
        return next(text for text in texts if _cut(float(text)) == value)
    return f"{value}%" if option.unit == "percent" else str(value)


def earlier(units: dict[str, int], hz: int) -> int:
    """Return what tupdate (us) to ask for so that PIE's late timer comes closest to it."""
    wanted = units["tupdate"]

    def miss(count: int) -> float:
        return abs(kernel.timer_period(count) * 1e6 / hz - wanted)

    count = kernel.jiffies(wanted, hz)
    lowest = max(1, count - count // 4 - 2)  # a slot of the wheel is at most 1/8 of what it holds
    best = min(range(count, lowest - 1, -1), key=miss)
    return kernel.jiffies_to_us(best, hz)


def _pie(aqm: Pie, generation: Generation) -> dict[str, int]:
    table = Pie(variant=generation.variant).gain_table
    if aqm.gain_table != table:
        which = "" if generation is NEWEST else f" {generation}"
        raise UnsupportedError(
            f'Pie table = "{aqm.gain_table}" is not what Linux{which} scales its gains by: give'
            f' table = "{table}".'
        )
    units = {"ecn": int(aqm.ecn), "dq_rate_estimator": int(aqm.rate_estimator)}
    for name in ("alpha", "beta"):
        gain = getattr(aqm, name)
        parts = round(gain * FACTORS["sixteenths"])
        if not 1 <= parts <= LARGEST_PIE:
            raise DomainError(
                f"Pie {name} = {show_value(gain)} is {parts}/16 Hz to tc, which takes 1/16 to"
                f" {LARGEST_PIE}/16: give {name} in [0.0625, 2] Hz."
            )
        units[name] = parts
    return units


def _dualpi2(aqm: Any) -> dict[str, int]:
    units = {"drop_enqueue": int(aqm.drop_at == "enqueue")}
    for name in ("alpha", "beta"):
        gain = getattr(aqm, name)
        parts = _parts(gain)
        if not 1 <= parts <= _LARGEST_PARTS:
            raise DomainError(
                f"{type(aqm).__name__} {name} = {show_value(gain)} is {parts}/256 Hz to tc, and the"
                f" kernel takes 1/256 to 2^31/256: give {name} in [0.00390625, 8388607] Hz."
            )
        units[name] = parts
    if aqm.bands == 1:
        units["drop_on_overload"] = int(aqm.variant == "plain")  # the others keep p' below 1/k
    if isinstance(aqm, CoupledFamily):
        units["coupling_factor"] = _whole(float(aqm.k), "k", 255)
    if aqm.bands == 2:
        units["drop_on_overload"] = int(aqm.drop_overload)
        units["step_thresh"] = microseconds(aqm.step, "step")
        units["min_qlen_step"] = _whole(aqm.min_step_packets, "min_step_packets", 2**32 - 1, low=0)
        units["classic_protection"] = _whole(100 * aqm.c_protection, "100 c_protection", 99)
    return units


def _parts(gain: float) -> int:
    """Return the 1/256 Hz to ask for: of a gain that a kernel runs with, those that make it."""
    behind = parts_behind(gain)
    return _cut(gain) if behind is None else behind


def _cut(gain: float) -> int:
    """Return a gain as tc passes it on: in single precision, then cut to 1/256 Hz."""
    return int(kernel.single(min(gain, float(2**24))) * FACTORS["hertz"])


def _whole(value: float, name: str, high: int, low: int = 1) -> int:
    whole = round(value)
    if abs(value - whole) > 1e-9 * max(1.0, value) or not low <= whole <= high:
        raise DomainError(
            f"DualPi2 {name} = {show_value(value)} is no whole number in [{low}, {high}], which tc"
            " asks for: give one."
        )
    return whole
