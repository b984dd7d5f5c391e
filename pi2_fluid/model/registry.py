"""The laws that text can name: kinds of senders and queues, and the classes behind them.

A class is imported when its kind is asked for, so that listing the kinds costs nothing.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.errors import QuantityError, show_value

if TYPE_CHECKING:
    from pi2_fluid.model.aqm import Aqm
    from pi2_fluid.model.sender import Sender

__all__ = ["AQMS", "SENDERS", "aqm_class", "kind_of", "sender_class", "suggest"]

_LAWS: Final = "pi2_fluid.model"
#: Kind of sender -> "module:class".
SENDERS: Final = {
    "reno": f"{_LAWS}.senders.reno:Reno",
    "creno": f"{_LAWS}.senders.creno:CReno",
    "scalable": f"{_LAWS}.senders.scalable:Scalable",
    "dctcp": f"{_LAWS}.senders.dctcp:Dctcp",
    "cubic": f"{_LAWS}.senders.cubic:Cubic",
    "cbr": f"{_LAWS}.senders.cbr:Cbr",
    "timeoutreno": f"{_LAWS}.senders.timeoutreno:TimeoutReno",
}
#: Kind of queue -> "module:class".
AQMS: Final = {
    "pi": f"{_LAWS}.aqms.pi:Pi",
    "pie": f"{_LAWS}.aqms.pie:Pie",
    "pi2": f"{_LAWS}.aqms.pi2:Pi2",
    "coupled": f"{_LAWS}.aqms.coupled:CoupledPi2",
    "dualpi2": f"{_LAWS}.aqms.dualpi2:DualPi2",
    "red": f"{_LAWS}.aqms.red:Red",
    "codel": f"{_LAWS}.aqms.codel:CoDel",
    "taildrop": f"{_LAWS}.aqms.taildrop:TailDrop",
}
_KIND_OF: Final = {place: kind for kind, place in (SENDERS | AQMS).items()}


def sender_class(kind: Any, name: str = "sender") -> type[Sender]:
    """Return the class of senders of a kind.

    Parameters
    ----------
    kind : str
        One of `SENDERS`.
    name : str
        What the kind is called in messages.

    Raises
    ------
    QuantityError
        If there is no such kind, with the nearest ones.

    Examples
    --------
    >>> sender_class("creno")()
    CReno(decrease=0.3)
    """
    cls: type[Sender] = _load(kind, SENDERS, name)
    return cls


def aqm_class(kind: Any, name: str = "kind") -> type[Aqm]:
    """Return the class of queues of a kind, one of `AQMS`; otherwise as `sender_class`."""
    cls: type[Aqm] = _load(kind, AQMS, name)
    return cls


def kind_of(law: Sender | Aqm) -> str | None:
    """Return the kind of a sender or queue, None for a law that is not of this package.

    Examples
    --------
    >>> from pi2_fluid.model.aqms.coupled import CoupledPi2
    >>> kind_of(CoupledPi2())
    'coupled'
    """
    return _KIND_OF.get(f"{type(law).__module__}:{type(law).__qualname__}")


def suggest(word: Any, known: Collection[str], most: int = 16) -> str:
    """Return which of the known names to give instead of an unknown word, for messages.

    Those that contain the word or look like it; if there are none, all, but `most` at most.

    Examples
    --------
    >>> suggest("capcity", ["capacity", "buffer"])
    "'capacity'"
    >>> suggest("speed", ["capacity", "buffer"])
    "one of 'capacity', 'buffer'"
    """
    asked = word.lower() if isinstance(word, str) else ""
    close = [name for name in known if len(asked) > 1 and asked in name]
    close = close or difflib.get_close_matches(asked, known)
    names = [repr(name) for name in close or known]
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return ("one of " * (not close and len(names) > 1)) + (" or " if close else ", ").join(
        names[:most] + more
    )


def _load(kind: Any, kinds: dict[str, str], name: str) -> Any:
    # A list, which TOML may hold here, cannot be looked up.
    if not isinstance(kind, str) or kind not in kinds:
        raise QuantityError(f"{name} = {show_value(kind)} is unknown: give {suggest(kind, kinds)}.")
    module, _, cls = kinds[kind].partition(":")
    return getattr(import_module(module), cls)
