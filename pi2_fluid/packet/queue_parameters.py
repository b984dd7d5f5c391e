"""DualPI2, RED and CoDel as numbers for their queue disciplines in the kernel.

Each list follows the enumeration at the top of the discipline's file, kernel/packet/qdisc_*.c.
What only a queue of packets must refuse, such as half a packet, is refused here.
"""

from __future__ import annotations

import math
from typing import Any, Final

from pi2_fluid.errors import DomainError, UnsupportedError, show_value
from pi2_fluid.model.aqm import Aqm
from pi2_fluid.model.aqms.codel import CoDel
from pi2_fluid.model.aqms.dualpi2 import DualPi2
from pi2_fluid.model.aqms.red import Red
from pi2_fluid.model.scenario import Link

__all__ = ["codel_parameters", "dualpi2_parameters", "red_parameters"]

#: Distances between the signals of RED, in the order of their numbers in the kernel.
_SPACINGS: Final = ("uniform", "wait", "none")
_ROUNDING: Final = 1e-9
_SMALLEST_WEIGHT: Final = 2.0**-31
_MOST_BYTES: Final = 1e9
_LONGEST: Final = 1e3  # s
_LARGEST_PACKET: Final = 65535  # bytes: sizes have 16 bits


def dualpi2_parameters(law: DualPi2, link: Link) -> list[float]:
    """Return the parameters of the queue discipline "dualpi2".

    Parameters
    ----------
    law : DualPi2
        With single numbers, not arrays.
    link : Link
        Its packet_size must be whole; it reaches the discipline with the queue.

    Returns
    -------
    list of float
        alpha, beta (Hz), target, update_interval (s), largest p', k, step, ramp (s; 0: none),
        c_protection, whether C alone drives the controller, drop_overload, whether packets are
        judged on arrival, min_step_packets, fixed, quirks, first_update (s).

    Raises
    ------
    DomainError
        If packet_size is no whole number of bytes, c_protection none of percent, min_step_packets
        none of packets, an interval too long, or k none of 1, 2 ... 255 with
        ``arithmetic="fixed"``.
    UnsupportedError
        If a field holds an array.
    """
    _require_single(law)
    _require_whole_packets(link)
    first = law.update_interval if law.first_update is None else law.first_update
    _require_whole(
        100.0 * law.c_protection,
        f"DualPi2 c_protection = {show_value(law.c_protection)} is no whole number of percent,"
        " which the queue discipline counts in: give one of 0.01, 0.02 ... 0.99.",
    )
    _require_whole(
        law.min_step_packets,
        f"DualPi2 min_step_packets = {show_value(law.min_step_packets)} is no whole number of"
        " packets: give one, such as 2.",
    )
    if law.arithmetic == "fixed" and law.k not in range(1, 256):
        raise DomainError(
            f"DualPi2 k = {show_value(law.k)} is none of 1, 2 ... 255, which Linux can couple by:"
            ' give one of them, or arithmetic = "real".'
        )
    for name, value in (("target", law.target), ("step", law.step), ("first_update", first)):
        _require_short(f"DualPi2 {name}", value)
    _require_short("DualPi2 update_interval", law.update_interval)
    for name, value in (("alpha", law.alpha), ("beta", law.beta), ("k", law.k)):
        _require_below(f"DualPi2 {name}", value, 1e6)
    controller = [law.alpha, law.beta, law.target, law.update_interval, law.limit]
    bands = [law.k, law.step, law.ramp or 0.0, law.c_protection, law.variant == "rfc9332"]
    packets = [law.drop_overload, law.drop_at == "enqueue", law.min_step_packets]
    numbers = [*controller, *bands, *packets, law.arithmetic == "fixed", law.quirks, first]
    return [float(number) for number in numbers]


def red_parameters(law: Red, link: Link) -> list[float]:
    """Return the parameters of the queue discipline "red".

    Parameters
    ----------
    law : Red
        With single numbers, not arrays.
    link : Link
        Its packet_size turns thresholds into bytes.

    Returns
    -------
    list of float
        min, max (packets), max_p, weight, gentle, adaptive, update_interval (s; inf: none), ecn,
        fixed, idle_decay, spacing (0 uniform, 1 wait, 2 none).

    Raises
    ------
    DomainError
        If packet_size is no whole number of bytes, the thresholds are beyond 1e9 bytes, or Linux's
        integers, which ``arithmetic="fixed"`` asks for, do not know gentle, the spacing or the
        weight, or the thresholds fall together.
    UnsupportedError
        If a field holds an array.
    """
    _require_single(law)
    _require_whole_packets(link)
    high = float(law.max * link.packet_size)
    if not high < _MOST_BYTES:
        raise DomainError(
            f"Red max = {show_value(law.max)} packets of {link.packet_size:g} bytes is beyond the"
            f" {_MOST_BYTES:g} bytes that its average is kept for: give a smaller max."
        )
    if law.arithmetic == "fixed":
        _require_integers(law, link)
    interval: Any = math.inf
    if law.update_interval is not None:
        interval = law.update_interval
        _require_short("Red update_interval", interval)
    profile = [law.min, law.max, law.max_p, law.weight, law.gentle, law.adaptive, interval]
    rules = [law.ecn, law.arithmetic == "fixed", law.idle_decay, _SPACINGS.index(law.spacing)]
    return [float(number) for number in (*profile, *rules)]


def _require_integers(law: Red, link: Link) -> None:
    """Refuse what Linux's integers cannot express."""
    if law.gentle:
        raise DomainError(
            'Red gentle = True is unknown to Linux, whose integers arithmetic = "fixed" asks for:'
            " give gentle = False."
        )
    if law.spacing != "uniform":
        raise DomainError(
            f"Red spacing = {law.spacing!r} is unknown to Linux, whose integers"
            ' arithmetic = "fixed" asks for: give spacing = "uniform".'
        )
    if math.frexp(law.weight)[0] != 0.5 or law.weight < _SMALLEST_WEIGHT:
        raise DomainError(
            f"Red weight = {show_value(law.weight)} is none of 1/2, 1/4, 1/8 ... 2**-31, which"
            ' arithmetic = "fixed" averages by: give one of them, such as 2**-9.'
        )
    if (law.max - law.min) * link.packet_size < 1.0:
        raise DomainError(
            f"Red max = {show_value(law.max)} is less than a byte above min ="
            f' {show_value(law.min)}, and arithmetic = "fixed" counts in bytes: give a larger max.'
        )


def codel_parameters(law: CoDel, link: Link) -> list[float]:
    """Return the parameters of the queue discipline "codel".

    Parameters
    ----------
    law : CoDel
        With single numbers, not arrays.
    link : Link
        Its packet_size must be whole; it reaches the discipline with the queue.

    Returns
    -------
    list of float
        target, interval (s), ecn, fixed.

    Raises
    ------
    DomainError
        If packet_size is no whole number of bytes, the interval shorter than 10 us, or target or
        interval longer than 1000 s.
    UnsupportedError
        If a field holds an array.
    """
    _require_single(law)
    _require_whole_packets(link)
    if law.interval < 1e-5:
        raise DomainError(
            f"CoDel interval = {show_value(law.interval)} is shorter than 10 us, of which too few"
            " of the clock's units make one: give an interval of 10us or more."
        )
    _require_short("CoDel target", law.target)
    _require_short("CoDel interval", law.interval)
    return [
        float(number) for number in (law.target, law.interval, law.ecn, law.arithmetic == "fixed")
    ]


def _require_single(law: Aqm) -> None:
    for name, value in vars(law).items():
        if getattr(value, "ndim", 0):
            raise UnsupportedError(
                f"{type(law).__name__} {name} is an array of shape {value.shape}, and a queue of"
                " packets is a single one: give one number, and make one run for each."
            )


def _require_whole_packets(link: Link) -> None:
    size = link.packet_size
    if not 1.0 <= size <= _LARGEST_PACKET or size != round(size):
        raise DomainError(
            f"Link packet_size = {show_value(size)} is none of 1, 2 ... {_LARGEST_PACKET} bytes,"
            ' which a queue of packets counts in: give a size such as "1500B".'
        )


def _require_whole(value: Any, sentence: str) -> None:
    if abs(value - round(value)) > _ROUNDING:
        raise DomainError(sentence)


def _require_below(name: str, value: Any, most: float) -> None:
    if value >= most:
        raise DomainError(
            f"{name} = {show_value(value)} is beyond what a queue of packets computes with: give"
            f" less than {most:g}."
        )


def _require_short(name: str, value: Any) -> None:
    if not 1e-9 <= value < _LONGEST:
        raise DomainError(
            f"{name} = {show_value(value)} is outside [1e-09, {_LONGEST:g}) s, where the clock of"
            ' a queue of packets counts: give a time such as "15ms".'
        )
