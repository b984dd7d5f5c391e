"""A law in the words and units of tc: what is asked for, and what tc would refuse or misread."""

from __future__ import annotations

from typing import Any, cast

from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.aqms.pi_family import LOOP_WORDS
from pi2_fluid.laws.aqms.pie import Pie
from pi2_fluid.laws.kernel.units import DUALPI2_GAIN, MICROSECONDS, PIE_GAIN, Told, told_to_tc
from pi2_fluid.laws.registry import laws_of_tc, tc_queues
from pi2_fluid.records.record import require_scalars
from pi2_fluid.records.unit import Unit
from pi2_fluid.tc import kernel
from pi2_fluid.tc.generations import NEWEST, Generation
from pi2_fluid.tc.options import KINDS, Number, defaults
from pi2_fluid.units import validate_choice, validate_number


def request(
    aqm: Aqm, kind: str, mtu: int, generation: Generation = NEWEST
) -> tuple[dict[str, int], dict[str, Any]]:
    """Return all options in tc's units, and those of the loop in SI as the law has them.

    Raises
    ------
    QuantityError, DomainError, UnsupportedError
        As `pi2_fluid.tc.install`.
    """
    validate_choice(kind, KINDS, "kind")
    require_mtu(mtu)
    if kind not in tc_queues(aqm):
        names = ", ".join(law.__name__ for law in laws_of_tc(kind))
        raise UnsupportedError(
            f"{kind} cannot run {type(aqm).__name__}: give one of {names}, or another kind."
        )
    require_scalars(aqm)
    if kind != "dualpi2":
        _require_table(cast("Pie", aqm), generation)
    units = defaults(kind, mtu)
    told = told_to_tc(aqm)
    units |= {word: _whole(aqm, one) for word, one in told.items() if word in units}
    if aqm.bands == 1 and "drop_on_overload" in units:
        # One queue keeps p' below 1/k, or lets it rise.
        units["drop_on_overload"] = int(float(aqm.clips_at) >= 1.0)
    return units, {word: getattr(aqm, one.name) for word, one in LOOP_WORDS.items()}


def require_mtu(mtu: object) -> None:
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


def microseconds(value: object, name: str, unit: Unit = MICROSECONDS) -> int:
    """Return a time as tc passes it on, cut to whole microseconds; `unit` is the kernel's.

    Raises
    ------
    QuantityError
        If it is no time.
    DomainError
        If it is cut to nothing, which tc takes for nothing asked, or is beyond what the kernel
        keeps: 4.29 s of DualPI2, 4294.96 s of PIE.
    """
    us = unit.ask(validate_number(value, "time", name))
    if us is None or us not in unit.numbers:
        raise DomainError(
            f"{name} = {show_value(value)} is outside the 1us to {unit.high // 10**4 / 100:g}s that"
            " tc and kernel can exchange: give a time in between."
        )
    return us


def as_words(option: Number, value: int, given: float | None) -> str:
    """Return the text with which tc reads `value` of an option's units; `given` stood behind it."""
    unit = option.unit
    if unit.name == "time":
        return f"{value // 1000}ms" if value % 1000 == 0 else f"{value}us"
    if unit is DUALPI2_GAIN:
        exact = value / unit.per_si
        given = exact if given is None else given
        texts = (f"{given:.9g}", repr(float(given)), f"{exact:.9g}", repr(exact))
        return next(text for text in texts if DUALPI2_GAIN.cut(float(text)) == value)
    return f"{value}%" if unit.name == "percent" else str(value)


def earlier(units: dict[str, int], hz: int) -> int:
    """Return what tupdate (us) to ask for so that PIE's late timer comes closest to it."""
    wanted = units["tupdate"]

    def miss(count: int) -> float:
        return abs(kernel.timer_period(count) * 1e6 / hz - wanted)

    count = kernel.jiffies(wanted, hz)
    lowest = max(1, count - count // 4 - 2)  # a slot of the wheel is at most 1/8 of what it holds
    best = min(range(count, lowest - 1, -1), key=miss)
    return kernel.jiffies_to_us(best, hz)


def _require_table(aqm: Pie, generation: Generation) -> None:
    table = Pie(variant=generation.variant).gain_table
    if aqm.gain_table != table:
        which = "" if generation is NEWEST else f" {generation}"
        raise UnsupportedError(
            f'Pie table = "{aqm.gain_table}" is not what Linux{which} scales its gains by: give'
            f' table = "{table}".'
        )


def _whole(aqm: Aqm, told: Told) -> int:
    """Return what to ask for a parameter, in what tc and kernel count it in."""
    unit, name, value = told.unit, told.name, getattr(aqm, told.name)
    if unit.name == "time":
        return microseconds(value, name, unit)
    asked = unit.ask(value)
    if asked is not None and asked in unit.numbers:
        return asked
    low, high, per = unit.low, unit.high, unit.per_si
    if unit in {PIE_GAIN, DUALPI2_GAIN}:
        raise DomainError(
            f"{type(aqm).__name__} {name} = {show_value(value)} is {asked}/{per} Hz to tc, which"
            f" takes {low}/{per} to {high}/{per}: give {name} in [{low / per!r}, {high // per}] Hz."
        )
    whole = name if per == 1 else f"{per} {name}"
    raise DomainError(
        f"{type(aqm).__name__} {whole} = {show_value(per * value)} is no whole number in [{low},"
        f" {high}], which tc asks for: give one."
    )
