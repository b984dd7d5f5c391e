"""What a data file of Flent says of the test: who sent, over what, through which queue."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from pi2_fluid.errors import DomainError, QuantityError
from pi2_fluid.measured.dataset import Measurement, Quantity
from pi2_fluid.measured.fields import number, part, text_of
from pi2_fluid.units import parse_quantity

#: Where `pi2_fluid.measured.write_flent` keeps what Flent has no place for.
OURS: Final = "PI2_FLUID"
#: What Flent calls a counter that tc calls otherwise.
COUNTERS: Final = {
    "sent_bytes": "bytes",
    "sent_pkts": "packets",
    "dropped": "drops",
    "backlog_bytes": "backlog",
    "backlog_pkts": "qlen",
    "dropped_pie": "dropped",
    "overlimit_pie": "overlimit",
}
#: Counters that version 4 keeps as what was added since the sample before.
GROWING: Final = ("dropped", "ecn_mark")
#: How series are called that are the capacity of a link.
CAPACITY: Final = "capacity_"

#: Words of titles: "qdisc:dualpi2 bandwidth:50Mbit rtt:20ms".
_WORD: Final = re.compile(r"(?:^|\s)(\w+?)[:=](\S+)")
_RATES: Final = ("rate", "bandwidth", "bw")
#: Kinds that shape or manage a queue, and not only hand on what comes.
_QUEUES: Final = re.compile(
    r"qdisc (?:tbf|htb|hfsc|cake|netem|dualpi2|pie|fq_pie|codel|fq_codel|red)\b"
)
_OPTION: Final = re.compile(r" -K (\w+)")


def moment(*texts: object) -> float | None:
    """Return the first time (s since 1970) that one of some texts says with its zone.

    Examples
    --------
    >>> moment(None, "2020-04-25T11:42:33.5Z"), moment("2015-07-12T20:11:55.302351")
    (1587814953.5, None)
    """
    for text in map(text_of, texts):
        with suppress(ValueError):
            if text.endswith("Z"):
                return datetime.fromisoformat(text[:-1]).replace(tzinfo=UTC).timestamp()
    return None


def sender_of(name: str, meta: dict[str, Any], about: dict[str, Any], direction: str) -> str:
    """Return the congestion control of a flow, "" where nothing says it.

    The series' own CONG_CONTROL says it; else what netperf was asked for, the title's "cc:", or,
    of uploads, what was set on this machine.
    """
    if said := text_of(meta.get("CONG_CONTROL")):
        return said.partition(",")[0]
    if asked := _OPTION.search(text_of(meta.get("COMMAND"))):
        return asked[1]
    if name.startswith("TCP"):
        if titled := _words(about).get("cc"):
            return titled
        if direction == "up":
            return text_of(part(about, "SYSCTLS").get("net.ipv4.tcp_congestion_control"))
    return ""


def about_of(about: dict[str, Any]) -> dict[str, Any]:
    """Return what `Measurement.about` has of the metadata."""
    words = _words(about)
    described: dict[str, Any] = {
        "title": text_of(about.get("TITLE")),
        "start": moment(about.get("T0"), about.get("TIME")),
        "duration": number(about.get("LENGTH")),
        "rate": next((_rate(words[word]) for word in _RATES if word in words), None),
        "rtt": _quantity(words.get("rtt", ""), "time"),
        "ecn": _ecn(words, about),
        "kernel": text_of(about.get("KERNEL_RELEASE")),
    }
    queues = {name: texts for name, texts in _queues(about) if texts["before"] or texts["after"]}
    main = max(queues, key=lambda name: _weight(queues[name]), default=None)
    if main is not None and _weight(queues[main]) > 0:
        described |= {
            "tc_before": queues[main]["before"],
            "tc_after": queues[main]["after"],
            "queue_at": main,
        }
    described["qdisc"] = (
        words.get("qdisc") or described.get("tc_before") or described.get("tc_after")
    )
    return {
        key: value
        for key, value in described.items()
        if value not in (None, "") and not (isinstance(value, float) and math.isnan(value))
    }


def units_of(about: dict[str, Any]) -> dict[str, Quantity]:
    """Return what counters are that `pi2_fluid.measured.write_flent` wrote."""
    return {
        name: Quantity("band", text_of(units[0]), text_of(units[1]))
        for name, units in part(about, OURS, "units").items()
        if isinstance(units, list) and len(units) == 2
    }


def kept_of(about: dict[str, Any], read: Measurement) -> None:
    """Take up what `pi2_fluid.measured.write_flent` kept of a measurement of other tools."""
    kept = part(about, OURS)
    if not kept:
        return
    read.tool = text_of(kept.get("tool")) or read.tool
    for clock in ("unix", "monotonic", "relative"):
        if kept.get("clock") == clock:
            read.clock = clock
    read.about = dict(part(kept, "about"))
    for sentence in text_of(kept.get("warnings")).splitlines():
        read.warn(sentence)


def _words(about: dict[str, Any]) -> dict[str, str]:
    return dict(_WORD.findall(text_of(about.get("TITLE"))))


def _quantity(text: str, dimension: str) -> float | None:
    with suppress(QuantityError, DomainError):
        found = parse_quantity(text, dimension, dimension)
        return found if found > 0.0 else None
    return None


def _rate(text: str) -> float | None:
    """Return the rate of both directions; None where they differ, for nothing says which is which.

    Examples
    --------
    >>> _rate("10Mbit/10Mbit"), _rate("100Mbit/10Mbit"), _rate("50Mbit")
    (10000000.0, None, 50000000.0)
    """
    rates = {_quantity(each, "rate") for each in re.split(r"/(?!s\b)", text)}
    return rates.pop() if len(rates) == 1 else None


def _ecn(words: dict[str, str], about: dict[str, Any]) -> bool | None:
    if "ecn" in words:
        return words["ecn"] not in ("noecn", "0", "off", "no")
    setting = number(part(about, "SYSCTLS").get("net.ipv4.tcp_ecn"))
    return None if math.isnan(setting) else setting in (1.0, 3.0)


def _queues(about: dict[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield what tc said of each device on the way, before and after."""
    hosts = {text_of(about.get("LOCAL_HOST")) or "here": about} | {
        name: part(about, "REMOTE_METADATA", name) for name in part(about, "REMOTE_METADATA")
    }
    for host, said in hosts.items():
        for way in ("EGRESS_INFO", "INGRESS_INFO"):
            device = part(said, way)
            yield (
                f"{host} {text_of(device.get('iface')) or way}",
                {
                    "before": _joined(device.get("tc_stats_pre")),
                    "after": _joined(device.get("tc_stats_post")),
                },
            )


def _joined(texts: object) -> str:
    """Return what Flent cut into one text for each queue, as tc printed it."""
    if isinstance(texts, list):
        return "\n".join(text for text in texts if isinstance(text, str))
    return text_of(texts)


def _weight(texts: dict[str, str]) -> int:
    """Return how many queues that shape or manage stand in a text."""
    return len(_QUEUES.findall(texts["before"] or texts["after"]))
