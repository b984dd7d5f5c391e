"""What runs a law packet by packet: its queue discipline, or its congestion control."""

from __future__ import annotations

from typing import Any

from pi2_fluid.errors import QuantityError, UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.opaque import require_equations
from pi2_fluid.laws.packet_limits import require_single
from pi2_fluid.laws.registry import AQMS, SENDERS, aqm_class, sender_class
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.link import Link, with_buffer
from pi2_fluid.records.record import declares


def discipline_of(law: Aqm, link: Link) -> tuple[str, dict[str, float]]:
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
    >>> from pi2_fluid.laws.aqms.taildrop import TailDrop
    >>> discipline_of(TailDrop(), Link("10Mbit/s"))
    ('taildrop', {})
    """
    require_equations(law)
    if declares(law, "discipline") is None:
        classes = map(aqm_class, AQMS)
        known = ", ".join(each.__name__ for each in classes if each.discipline is not None)
        raise UnsupportedError(
            f"{type(law).__name__} has no queue discipline for packets: give one of {known}, or use"
            " the fluid."
        )
    require_single(law)
    return str(law.discipline), _floats(law.packet_parameters(with_buffer(link)))


def congestion_of(sender: Sender) -> tuple[str, dict[str, float]]:
    """Return the name and the parameters of the congestion control that runs a sender.

    Raises
    ------
    UnsupportedError
        If the law has no congestion control (a subclass is another law), or a number that Linux's
        integers, where they are asked for, do not have.

    Examples
    --------
    >>> from pi2_fluid.laws.senders.creno import CReno
    >>> congestion_of(CReno())
    ('reno', {'decrease': 0.3, 'per_ack': 0.0})
    """
    require_equations(sender)
    name = declares(sender, "congestion")
    if name is None:
        classes = map(sender_class, SENDERS)
        known = ", ".join(each.__name__ for each in classes if each.congestion is not None)
        raise UnsupportedError(
            f"{type(sender).__name__} is a window law without a congestion control for packets: use"
            f" one of {known}, or fluid.simulate, which takes any law."
        )
    return name, _floats(sender.packet_parameters())


def require_discipline(law: object, name: str, link: object) -> None:
    """Refuse a law that another queue discipline runs, and a link that is none."""
    if not isinstance(law, Aqm) or law.discipline != name:
        runs = next(each.__name__ for each in map(aqm_class, AQMS) if each.discipline == name)
        raise QuantityError(
            f"law = {show_value(law)} is no {runs}, which is what is replayed: give one."
        )
    if not isinstance(link, Link):
        raise QuantityError(
            f"link = {show_value(link)} is no Link, whose packet_size counts here: give one."
        )


def require_congestion(sender: Sender, name: str) -> dict[str, float]:
    """Return the parameters of a sender, unless another congestion control runs it."""
    runs_it, parameters = congestion_of(sender)
    if runs_it != name:
        runs = next(each.__name__ for each in map(sender_class, SENDERS) if each.congestion == name)
        raise QuantityError(
            f"sender = {type(sender).__name__} is not {runs}, which is what is replayed: give"
            f" {runs}()."
        )
    return parameters


def _floats(numbers: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in numbers.items()}
