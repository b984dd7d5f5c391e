"""A queue as ns-3 is told of it: attributes of its queue discs, by name."""

from __future__ import annotations

from typing import Final

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.model.aqms.pi_family import PiFamily
from pi2_fluid.model.aqms.pie import Pie
from pi2_fluid.model.record import require_scalars

__all__ = ["ns3_attributes"]

_TABLE: Final = "rfc8033"


def ns3_attributes(aqm: PiFamily) -> dict[str, str]:
    """Return the attributes of ns-3's PieQueueDisc, and of FqPieQueueDisc, as text.

    Raises
    ------
    UnsupportedError
        For any other queue than PIE with the table of RFC 8033.

    Notes
    -----
    Source: ns-3, src/traffic-control/model/pie-queue-disc.cc.

    Examples
    --------
    >>> from pi2_fluid.model.presets import linux_pie
    >>> ns3_attributes(linux_pie())["Tupdate"]
    '15ms'
    """
    if not isinstance(aqm, Pie):
        raise UnsupportedError(
            f"ns-3 has no {type(aqm).__name__}, neither PI2 nor DualPI2: give a design of"
            ' aqm="pie".'
        )
    if aqm.gain_table != _TABLE:
        raise UnsupportedError(
            f'Pie table = "{aqm.gain_table}" is not what ns-3 scales its gains by: give table ='
            f' "{_TABLE}".'
        )
    require_scalars(aqm)
    return {
        "A": repr(float(aqm.alpha)),
        "B": repr(float(aqm.beta)),
        "QueueDelayReference": _time(float(aqm.target)),
        "Tupdate": _time(float(aqm.update_interval)),
    }


def _time(seconds: float) -> str:
    """Return a time as ns-3 reads it: a whole number of the largest unit from ms down to ns."""
    ns = round(seconds * 1e9)
    for unit, size in (("ms", 10**6), ("us", 10**3)):
        if ns % size == 0:
            return f"{ns // size}{unit}"
    return f"{ns}ns"
