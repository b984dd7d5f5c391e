"""DualPI2 as numbers for its queue discipline, in the order of kernel/packet/qdisc_dualpi2.c."""

from __future__ import annotations

from typing import Final

from pi2_fluid.errors import DomainError, show_value
from pi2_fluid.model.aqms.dualpi2 import DualPi2
from pi2_fluid.model.scenario import Link
from pi2_fluid.packet.limits import (
    require_below,
    require_single,
    require_time,
    require_whole,
    require_whole_packets,
)
from pi2_fluid.packet.pi_parameters import dualpi2_gains, first_update_of

__all__ = ["dualpi2_parameters"]

_LARGEST: Final = 1e6  # Hz, and of k


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
        none of packets, an interval too long, or, with ``arithmetic="fixed"``, k none of 1, 2 ...
        255 or a gain that the kernel's integers miss by more than 1 %.
    UnsupportedError
        If a field holds an array.
    """
    require_single(law)
    require_whole_packets(link)
    first = first_update_of(law, late=False)
    require_whole(
        100.0 * law.c_protection,
        f"DualPi2 c_protection = {show_value(law.c_protection)} is no whole number of percent,"
        " which the queue discipline counts in: give one of 0.01, 0.02 ... 0.99.",
    )
    require_whole(
        law.min_step_packets,
        f"DualPi2 min_step_packets = {show_value(law.min_step_packets)} is no whole number of"
        " packets: give one, such as 2.",
    )
    if law.arithmetic == "fixed" and law.k not in range(1, 256):
        raise DomainError(
            f"DualPi2 k = {show_value(law.k)} is none of 1, 2 ... 255, which Linux can couple by:"
            ' give one of them, or arithmetic = "real".'
        )
    for name in ("target", "step", "update_interval"):
        require_time(f"DualPi2 {name}", getattr(law, name))
    require_time("DualPi2 first_update", first)
    for name in ("alpha", "beta", "k"):
        require_below(f"DualPi2 {name}", getattr(law, name), _LARGEST)
    gains = dualpi2_gains(law) if law.arithmetic == "fixed" else [law.alpha, law.beta]
    controller = [*gains, law.target, law.update_interval, law.limit]
    bands = [law.k, law.step, law.ramp or 0.0, law.c_protection, law.variant == "rfc9332"]
    packets = [law.drop_overload, law.drop_at == "enqueue", law.min_step_packets]
    numbers = [*controller, *bands, *packets, law.arithmetic == "fixed", law.quirks, first]
    return [float(number) for number in numbers]
