"""Lines as they were before a terminal, a mail or another system got hold of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["clean"]

#: What colours a terminal, moves its cursor, or names its window.
_CONTROL: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
_QUOTED: Final = re.compile(r"[ \t]*(?:>[ \t]?)+")


def clean(text: str) -> str:
    r"""Return the text with one line for each line that was meant.

    Colours go, and so do the marks of quoted mail and the other ends of lines; a line that a
    backslash continues is one.

    Examples
    --------
    >>> clean("> qdisc pie 1: root \r\n> > Sent \x1b[1m0\x1b[0m bytes\ntc \\\n -s")
    'qdisc pie 1: root \nSent 0 bytes\ntc   -s'
    """
    if "\x1b" in text:
        text = _CONTROL.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if ">" in text:
        text = "\n".join(_unquoted(text))
    return text.replace("\\\n", " ")


def _unquoted(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        mark = _QUOTED.match(line)
        yield line if mark is None else line[mark.end() :]
