"""A queue as ns-3 is told of it: attributes of its queue discs, by name."""

from __future__ import annotations

from pi2_fluid.engines.ns3.laws import pie_gains
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.aqms.pie import Pie
from pi2_fluid.records.record import require_scalars

__all__ = ["ns3_attributes"]


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
    >>> from pi2_fluid.laws.presets import linux_pie
    >>> ns3_attributes(linux_pie())["Tupdate"]
    '15ms'
    """
    if not isinstance(aqm, Pie):
        raise UnsupportedError(
            f"ns-3 has no {type(aqm).__name__}, neither PI2 nor DualPI2: give a design of"
            ' aqm="pie".'
        )
    require_scalars(aqm)
    return pie_gains(aqm)
