"""CoDel as numbers for its queue discipline, in the order of kernel/packet/qdisc_codel.c."""

from __future__ import annotations

from pi2_fluid.errors import DomainError, show_value
from pi2_fluid.model.aqms.codel import CoDel
from pi2_fluid.model.scenario import Link
from pi2_fluid.packet.limits import require_single, require_time, require_whole_packets

__all__ = ["codel_parameters"]


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
        interval 1000 s or longer.
    UnsupportedError
        If a field holds an array.
    """
    require_single(law)
    require_whole_packets(link)
    if law.interval < 1e-5:
        raise DomainError(
            f"CoDel interval = {show_value(law.interval)} is shorter than 10 us, of which too few"
            " of the clock's units make one: give an interval of 10us or more."
        )
    require_time("CoDel target", law.target)
    require_time("CoDel interval", law.interval)
    return [
        float(number) for number in (law.target, law.interval, law.ecn, law.arithmetic == "fixed")
    ]
