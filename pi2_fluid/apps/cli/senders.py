"""Senders by their names at the shell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pi2_fluid.apps.cli.parameters import kinds_with
from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.laws.registry import SENDERS, sender_class

if TYPE_CHECKING:
    from pi2_fluid.laws.sender import Sender

_WHOLE: Final = re.compile(r"[0-9]{1,9}")
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


def read_flows(text: str | None, option: str = "--flows") -> tuple[int, int | None]:
    """Return the fewest and the most flows of an option, None for as many as fit.

    Raises
    ------
    QuantityError
        If it is neither a whole number nor two with a colon.

    Examples
    --------
    >>> read_flows("1:20"), read_flows("4"), read_flows("3:"), read_flows(None)
    ((1, 20), (4, 4), (3, None), (1, None))
    """
    few, colon, most = (text or "1:").strip().partition(":")
    ends = [few, most] if colon and most.strip() else [few]
    if not all(_WHOLE.fullmatch(end.strip()) for end in ends):
        raise QuantityError(
            f"{option} {show_value(text)} is no number of flows: give how many, or the fewest and"
            " the most, as 1:20."
        )
    numbers = [int(end) for end in ends]
    if min(numbers) < 1:
        raise QuantityError(
            f"{option} {show_value(text)} has no flows: give 1 or more, or the fewest and the most,"
            " as 1:20."
        )
    if len(numbers) == 2:
        return numbers[0], numbers[1]
    return numbers[0], None if colon else numbers[0]
