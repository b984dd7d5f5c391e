"""Lines to paste into a shell."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from pi2_fluid.errors import DomainError, UnsupportedError
from pi2_fluid.model.registry import kind_of

if TYPE_CHECKING:
    from pi2_fluid.design.design import Design

__all__ = ["in_shell", "line_of", "word_on"]

_WIDTH: Final = 80
#: What tc calls the queue of a design; it has no plain PI.
_KINDS: Final = {"pi2": "dualpi2", "coupled": "dualpi2", "dualpi2": "dualpi2", "pie": "pie"}


def in_shell(line: str) -> str:
    """Return a command as a shell reads it, on as many lines as it takes to fit a screen.

    Examples
    --------
    >>> in_shell("tc qdisc show")
    'tc qdisc show'
    """
    if len(line) <= _WIDTH:
        return line
    parts = textwrap.wrap(
        line,
        _WIDTH - 2,
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return " \\\n".join(parts)


def line_of(design: Design) -> str | None:
    """Return the line that asks tc for a design; None if there is none."""
    kind = _KINDS.get(str(kind_of(design.aqm)))
    try:
        return None if kind is None else design.to_tc(kind)
    except (DomainError, UnsupportedError):
        return None


def word_on(design: Design) -> str:
    """Return what to know of the line, or why there is none."""
    name = str(kind_of(design.aqm))
    if name not in _KINDS:
        return f"tc has no line for {name}: use pi2, dualpi2 or pie."
    try:
        design.to_tc(_KINDS[name])
    except (DomainError, UnsupportedError) as error:
        return f"tc has no line for it: {error}"
    return "Its timer is a jiffy late, for which Design.to_tc has hz." if name == "pie" else ""
