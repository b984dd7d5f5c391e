"""Senders by their names at the shell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pi2_fluid.apps.cli.parameters import kinds_with
from pi2_fluid.errors import QuantityError
from pi2_fluid.laws.registry import SENDERS, sender_class

if TYPE_CHECKING:
    from pi2_fluid.laws.sender import Sender

__all__ = ["NAMES", "read_senders"]

#: Those that designs know.
NAMES: Final = kinds_with("design", SENDERS)


def read_senders(text: str) -> dict[str, Sender]:
    """Return the senders that a list of names with commas means, each once.

    Raises
    ------
    QuantityError
        If one is unknown.
    """
    names = dict.fromkeys(name.strip() for name in text.split(","))
    for name in names:
        if name not in NAMES:
            raise QuantityError(f"--sender {name!r} is unknown: give {', '.join(NAMES)}.")
    return {name: sender_class(name)() for name in names}
