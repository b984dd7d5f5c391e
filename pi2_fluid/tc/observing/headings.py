"""Headings over what tc printed that name its device: ``== wan0 ==``, ``dev eth0:``, ``[lan]``."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

_NAME: Final = r"[A-Za-z][\w.@-]{0,30}"
_HEADING: Final = re.compile(
    rf"\s*(?P<before>[=#*\[<-]+)?\s*(?P<of>(?i:dev|device|interface|iface|link)[ :=]\s*)?"
    rf"[`'\"]?(?P<name>{_NAME}?)[`'\"]?\s*(?P<after>[=#*\]>:-]+)?\s*"
)
#: What Linux, and those who name devices of testbeds, call them.
_USUAL: Final = re.compile(
    r"(?:lo|wan|lan)\d*|(?:br|virbr|docker|bond|team|vlan|veth|ifb|tun|tap|wg|ppp|pppoe|gre|sit|usb"
    r"|wwan|can|ib|dummy|macvlan|vnet|eth|enp|eno|ens|enx|wlan|wlp|wlx)[\w.-]*|\w+-eth\d+"
)
_LONGEST: Final = 120  # letters
_NAMED: Final = re.compile(r"\bdev ([\w.@-]+)")
_RULE: Final = re.compile(r"\s*([-=*_#~])\1{2,}\s*")


def named_devices(text: str) -> frozenset[str]:
    """Return the names that stand behind `dev` anywhere in a text."""
    return frozenset(_NAMED.findall(text))


def device_in_heading(line: str, known: Collection[str]) -> str | None:
    """Return the device that a heading names; None of other lines.

    Examples
    --------
    >>> [device_in_heading(line, ()) for line in ("=== wan0 ===", "dev mid.l:", "before:", "eth0")]
    ['wan0', 'mid.l', None, None]
    """
    match = _HEADING.fullmatch(line) if len(line) <= _LONGEST else None
    if match is None or not match["name"]:
        return None
    name = match["name"]
    if match["of"]:
        return name
    marked = match["before"] or match["after"]
    return name if marked and (name in known or _USUAL.fullmatch(name)) else None


def is_rule(line: str) -> bool:
    """Say whether a line only parts what is above from what is below it."""
    return _RULE.fullmatch(line) is not None
