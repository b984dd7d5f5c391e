"""Queue laws as the queue disciplines that run packet by packet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.model.aqm import Aqm
from pi2_fluid.model.aqms.codel import CoDel
from pi2_fluid.model.aqms.coupled import CoupledPi2
from pi2_fluid.model.aqms.dualpi2 import DualPi2
from pi2_fluid.model.aqms.pi import Pi
from pi2_fluid.model.aqms.pi2 import Pi2
from pi2_fluid.model.aqms.pie import Pie
from pi2_fluid.model.aqms.red import Red
from pi2_fluid.model.aqms.taildrop import TailDrop
from pi2_fluid.model.scenario import Link
from pi2_fluid.packet.codel_parameters import codel_parameters
from pi2_fluid.packet.dualpi2_parameters import dualpi2_parameters
from pi2_fluid.packet.pi_parameters import controller_parameters
from pi2_fluid.packet.pie_parameters import pie_parameters
from pi2_fluid.packet.red_parameters import red_parameters

__all__ = ["discipline_of"]

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


def discipline_of(law: Aqm, link: Link) -> tuple[str, list[float]]:
    """Return the name and the parameters of the queue discipline that runs a law.

    Parameters
    ----------
    law : Aqm
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
    kind = type(law)
    if kind not in _DISCIPLINES and kind not in _BY_SIZE:
        known = ", ".join(each.__name__ for each in (*_DISCIPLINES, *_BY_SIZE))
        raise UnsupportedError(
            f"{kind.__name__} has no queue discipline for packets: give one of {known}, or use the"
            " fluid."
        )
    if kind in _BY_SIZE:
        name, by_size = _BY_SIZE[kind]
        return name, by_size(law, link)
    name, parameters = _DISCIPLINES[kind]
    return name, parameters(law)
