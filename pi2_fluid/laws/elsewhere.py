"""Laws as somebody else has them: each engine's own table, by the kinds of the registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.registry import AQMS, aqm_class, kind_of, sender_class

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.laws.sender import Sender

T = TypeVar("T")


def stands_for(law: Aqm | Sender, table: Mapping[str, T], what: str, also: str = "") -> T:
    """Return what stands for a law in a table by kinds; a subclass is another law.

    Parameters
    ----------
    law : Aqm or Sender
    table : mapping
        Of some queues, or of some senders, by their kinds.
    what : str
        What the table has of them, and where, such as "qdisc in Linux".
    also : str, optional
        Who needs none, such as " or Cbr".

    Raises
    ------
    UnsupportedError
        If the table has none, with the names of those that it has.

    Examples
    --------
    >>> from pi2_fluid.laws.aqms.taildrop import TailDrop
    >>> stands_for(TailDrop(), {"taildrop": "pfifo"}, "qdisc in Linux")
    'pfifo'
    """
    kind = kind_of(law)
    if kind is not None and kind in table:
        return table[kind]
    names = [(aqm_class if known in AQMS else sender_class)(known).__name__ for known in table]
    raise UnsupportedError(
        f"{type(law).__name__} has no {what}: give one of {', '.join(names)}{also}, or use another"
        " engine, e.g. Packets()."
    )
