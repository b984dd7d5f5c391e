"""Lines to paste into a shell."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from pi2_fluid.errors import DomainError, UnsupportedError

if TYPE_CHECKING:
    from pi2_fluid.design.design import Design

_WIDTH: Final = 80


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
    try:
        return design.to_tc()
    except (DomainError, UnsupportedError):
        return None


def why_no_line(design: Design) -> str:
    """Return why tc has no line for a design, "" if it has one."""
    try:
        design.to_tc()
    except (DomainError, UnsupportedError) as error:
        return str(error)
    return ""
