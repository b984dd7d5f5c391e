"""RED as numbers for its queue discipline, in the order of kernel/packet/qdisc_red.c."""

from __future__ import annotations

import math
from typing import Any, Final

from pi2_fluid.errors import DomainError, show_value
from pi2_fluid.model.aqms.red import Red
from pi2_fluid.model.scenario import Link
from pi2_fluid.packet.limits import require_single, require_time, require_whole_packets

__all__ = ["red_parameters"]

#: Distances between the signals of RED, in the order of their numbers in the kernel.
_SPACINGS: Final = ("uniform", "wait", "none")
_SMALLEST_WEIGHT: Final = 2.0**-31
_MOST_BYTES: Final = 1e9


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
    require_single(law)
    require_whole_packets(link)
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
        require_time("Red update_interval", interval)
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
