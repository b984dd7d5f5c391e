"""What a configuration of OpenWrt's SQM makes: a queue below htb, and one for what comes in.

Source: what luci-app-sqm and openwrt.org say of the options of /etc/config/sqm; queues that SQM's
scripts have made, as tc shows them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pi2_fluid.tc.observing.observation import Observation
from pi2_fluid.tc.observing.rates import ShapedClass
from pi2_fluid.tc.proposals import read_proposal

_SECTION: Final = re.compile(r"\s*config\s+queue\b.*")
_OPTION: Final = re.compile(r"\s*option\s+(\w+)\s+(['\"]?)(.*?)\2\s*")
#: As `uci show sqm` and `uci set` have it.
_SHOWN: Final = re.compile(r".*?\bsqm\.([^.=\s]+)\.(\w+)=(['\"]?)(.*?)\3\s*")
_LIMIT: Final = "1001"  # packets
_TARGET: Final = "5ms"
_CAKE: Final = "cake"
#: That take limit, target and ecn.
_WITH_LIMIT: Final = {"pie", "codel", "fq_codel", "fq_pie"}
_MADE: Final = (
    "SQM's scripts are taken to set a limit of 1001 packets and a target of 5 ms, which they may"
    " raise on slow lines. Where qdisc_really_really_advanced is 1, ilimit, elimit, itarget and"
    " etarget say otherwise."
)


def read_sqm(text: str) -> Iterator[Observation]:
    r"""Yield what each queue of a configuration of SQM makes, by device; nothing of other texts.

    Examples
    --------
    >>> config = "config queue\n option interface 'wan'\n option upload '5500'\n"
    >>> (seen,) = read_sqm(config + " option qdisc 'pie'")
    >>> seen.dev, seen.blocks[-1].kind, seen.rate_above(seen.blocks[-1])
    ('wan', 'pie', 5500000.0)
    """
    for options in _sections(text):
        kind = options.get("qdisc")
        if kind is None:
            continue
        interface = options.get("interface")
        ways = (("upload", interface, "e"), ("download", f"ifb4{interface}", "i"))
        for way, dev, letter in ways:
            rate = options.get(way, "0")
            if rate.isdecimal() and int(rate):
                yield _made(kind, dev if interface else None, int(rate), options, letter)


def _sections(text: str) -> list[dict[str, str]]:
    sections: list[dict[str, str]] = []
    if "config queue" not in text and "sqm." not in text:
        return sections
    shown: dict[str, dict[str, str]] = {}
    open_section = False
    for line in text.splitlines():
        if _SECTION.fullmatch(line):
            sections.append({})
            open_section = True
        elif line.lstrip().startswith("config "):
            open_section = False
        elif open_section and (option := _OPTION.fullmatch(line)):
            sections[-1][option[1]] = option[3]
        elif option := _SHOWN.fullmatch(line):
            shown.setdefault(option[1], {})[option[2]] = option[4]
    return [*sections, *shown.values()]


def _made(kind: str, dev: str | None, rate: int, options: dict[str, str], way: str) -> Observation:
    """Return what is made of one direction; `rate` is in kbit/s."""
    place = ["dev", dev] if dev else []
    seen = Observation(dev=dev, source="configuration")
    if kind == _CAKE:
        seen.blocks.append(read_proposal([*place, "root", kind, "bandwidth", f"{rate}kbit"]))
        return seen
    root = read_proposal([*place, "root", "handle", "1:", "htb", "default", "10"])
    line = [*place, "parent", "1:10", "handle", "110:", kind]
    advanced = options.get("qdisc_advanced") == "1"
    if kind in _WITH_LIMIT:
        dangerous = advanced and options.get("qdisc_really_really_advanced") == "1"
        limit = options.get(f"{way}limit", "") if dangerous else ""
        target = options.get(f"{way}target", "") if dangerous else ""
        line += ["limit", limit or _LIMIT]
        line += ["target", target if target not in {"", "auto", "default"} else _TARGET]
        asked = options.get({"e": "egress_ecn", "i": "ingress_ecn"}[way]) if advanced else None
        line.append("ecn" if (asked or {"e": "NOECN", "i": "ECN"}[way]) == "ECN" else "noecn")
    leaf = read_proposal(line)
    leaf.remarks = (_MADE,)
    seen.blocks += [root, leaf]
    seen.classes["1:10"] = ShapedClass("1:10", "1:", 1e3 * rate)
    return seen
