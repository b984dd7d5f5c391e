"""Lines as they were before a terminal, a mail or another system got hold of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

#: What colours a terminal, moves its cursor, or names its window.
_CONTROL: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
#: What a journal, grep -n or cat -n put before the lines of tc.
_LABEL: Final = re.compile(
    r"\s*(?:[\w.-]+ [\w./-]+(?:\[\d+\])?:|(?:[\w./-]+[:-])?\d{1,7}[:-]?)"
    r"(?=\s*(?:deleted|qdisc|class|Sent|backlog|prob|pkts_in|pkts_in_c|ecn_mark|credit|maxpacket"
    r"|new_flow_count|new_flows_len|memory_used|memory|marked)\b)"
)
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


def without_label(line: str) -> str:
    """Return a line without what a journal or grep have put before it.

    Examples
    --------
    >>> without_label("fw sh[12]: qdisc pie 1: root"), without_label("log.txt:7: Sent 5 bytes")
    (' qdisc pie 1: root', ' Sent 5 bytes')
    """
    label = _LABEL.match(line)
    return line if label is None else line[label.end() :]
