"""Queues of FreeBSD that run PIE, as ``ipfw sched show`` and its kin print them.

``dnctl`` prints the same, and so do OPNsense and pfSense in a shell.

Source: FreeBSD, sbin/ipfw/dummynet.c, sys/netpfil/ipfw/dn_aqm_pie.c, dn_aqm_pie.h and
dn_sched_fq_pie.c; ipfw(8).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from pi2_fluid.errors import DomainError, QuantityError, show_value
from pi2_fluid.laws.aqms.pie import Pie
from pi2_fluid.tc.generations import Generation
from pi2_fluid.tc.qdisc import Qdisc

#: What gains are counted in, and the largest (Hz).
PARTS_PER_HERTZ: Final = 8192
_LARGEST_GAIN: Final = 7
#: Bytes, of a full packet.
FRAME: Final = 1514

FREEBSD: Final = Generation("FreeBSD 11 and newer", (11, 0), "rfc8033", late=False, estimates=False)

_LINK: Final = re.compile(r"(\d{5,}):\s+(unlimited|([\d.]+) ([GMK]?)bit/s)")
_RATES: Final = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}
_FLOWSET: Final = re.compile(r"q(\d{5,})\s+(\d+) (sl\.|KB|B).* sched (\d+) ")
_SCHED: Final = re.compile(r"\s*sched (\d+) type (\S+) flags")
_LAW: Final = re.compile(r"(AQM type PIE|FQ_PIE|AQM CoDel|FQ_CODEL) (target .*)")
_LINKS: Final = 65536  # what is inside of schedulers and pipes is numbered from here on
_TIME: Final = re.compile(r"([\d.]+(?:e[+-]?\d+)?)(us|ms|fs|s|)")
# It prints seconds as "fs".
_TIMES: Final = {"us": 1e-6, "ms": 1e-3, "fs": 1.0, "s": 1.0}
_WITH_VALUE: Final = ("target", "tupdate", "alpha", "beta", "max_burst", "max_ecnth",
                      "quantum", "limit", "flows")  # fmt: skip
#: Words alone, by what they say.
_FLAGS: Final = {
    "ECN": ("ecn", True),
    "NoECN": ("ecn", False),
    "CapDrop": ("capdrop", True),
    "NoCapDrop": ("capdrop", False),
    "OnOff": ("onoff", True),
    "DRE": ("dre", True),
    "TS": ("dre", False),
    "Derand": ("derand", True),
    "NoDerand": ("derand", False),
}
_REMEDY: Final = "give the output of `ipfw sched show`, `ipfw queue show` or `ipfw pipe show`"


@dataclass(frozen=True, kw_only=True)
class Shaper:
    """A queue of dummynet with a law of its own.

    Parameters
    ----------
    name : str
        Its kind and number.
    qdisc : Qdisc or None
        What runs, with FreeBSD's words in `asked`; None of CoDel, and where there is `trouble`.
    rate : float or None
        Of its link (bit/s), where that is printed and limited.
    trouble : QuantityError or DomainError or None
        Why it cannot be read.
    times : dict of str to float
        Target and interval (s) of CoDel and FQ_CODEL, where they can be read.
    """

    name: str
    kind: str
    qdisc: Qdisc | None = None
    rate: float | None = None
    trouble: QuantityError | DomainError | None = None
    times: dict[str, float] = field(default_factory=dict)


def codel_times(words: Sequence[str]) -> dict[str, float]:
    """Return target and interval of CoDel (s), FreeBSD's own where they are not said.

    Nothing where they cannot be read.

    Examples
    --------
    >>> codel_times("target 15ms ecn".split())
    {'target': 0.015, 'interval': 0.1}
    """
    found = {"target": 0.005, "interval": 0.1}
    for word, text in pairwise(words):
        if word in found:
            match = _TIME.fullmatch(text)
            if match is None or match[2] not in _TIMES or not float(match[1]):
                return {}
            found[word] = float(match[1]) * _TIMES[match[2]]
    return found


def shapers_of(text: str) -> Iterator[Shaper]:
    """Yield the queues with PIE, FQ_PIE, CoDel and FQ_CODEL that ipfw or dnctl has printed.

    Examples
    --------
    >>> law = "target 15ms tupdate 15ms alpha 0.125 beta 1.25 max_burst 150ms max_ecnth 0.1"
    >>> shown = "00001:  20.000 Mbit/s    0 ms burst 0" + chr(10)
    >>> shown += "q00001  50 sl. 0 flows (1 buckets) sched 1 weight 0 lmax 0 pri 0  AQM type PIE "
    >>> shown += law + " NoECN CapDrop DRE Derand"
    >>> (one,) = shapers_of(shown)
    >>> one.name, one.rate, one.qdisc.aqm.alpha, one.qdisc.asked["limit"]
    ('PIE queue 1', 20000000.0, 0.125, 50.0)
    """
    rates: dict[int, float | None] = {}
    blocks: list[tuple[str, str, int, float | None, list[str]]] = []
    flowset: tuple[int, float, int] | None = None
    sched = 0
    for line in text.splitlines():
        if link := _LINK.match(line):
            known = link[3] is not None
            rates[int(link[1])] = float(link[3]) * _RATES[link[4]] if known else None
        if flow := _FLOWSET.match(line):
            flowset = int(flow[1]), _packets(int(flow[2]), flow[3]), int(flow[4])
        if scheduler := _SCHED.match(line):
            sched = int(scheduler[1])
        if law := _LAW.search(line):
            words = law[2].split()
            kind = law[1].removeprefix("AQM ").removeprefix("type ")
            if law[1].startswith("AQM") and flowset is not None:
                number, limit, above = flowset
                blocks.append((kind, _owner(number), above, limit, words))
            else:
                blocks.append((kind, f"sched {sched}", sched, None, words))
    for kind, name, above, size, words in blocks:
        yield _shaper(kind, name, rates.get(above % _LINKS), size, words)


def _owner(number: int) -> str:
    """Return whose a flowset is: of its own, or inside of a scheduler or a pipe."""
    inside, of = divmod(number, _LINKS)
    return f"{('queue', 'sched', 'pipe')[min(inside, 2)]} {of}"


def _packets(count: int, unit: str) -> float:
    """Return a queue's size as full packets."""
    return {"sl.": float(count), "KB": count * 1024 / FRAME, "B": count / FRAME}[unit]


def _shaper(
    kind: str, number: str, rate: float | None, limit: float | None, words: list[str]
) -> Shaper:
    name = f"{kind} {number}"
    if "PIE" not in kind:
        return Shaper(name=name, kind=kind, rate=rate, times=codel_times(words))
    try:
        asked = _read(words, name) | ({} if limit is None else {"limit": limit})
        return Shaper(name=name, kind=kind, qdisc=pie_of(kind, number, asked), rate=rate)
    except (QuantityError, DomainError) as error:
        return Shaper(name=name, kind=kind, rate=rate, trouble=error)


def _read(words: list[str], name: str) -> dict[str, Any]:
    """Return what is shown, in SI, by FreeBSD's words.

    Raises
    ------
    QuantityError
        If a word is not known, or has no value that can be read, or one of the loop is missing.
    """
    options: dict[str, Any] = {"onoff": False}
    rest = iter(words)
    for word in rest:
        if word in _FLAGS:
            flag, state = _FLAGS[word]
            options[flag] = state
        elif word in _WITH_VALUE:
            options[word] = _number(word, next(rest, ""), name)
        else:
            raise QuantityError(f"{show_value(word)} of {name} is not known: {_REMEDY}.")
    needed = (*_WITH_VALUE[:6], "ecn", "capdrop", "dre", "derand")
    missing = [word for word in needed if word not in options]
    if missing:
        raise QuantityError(
            f"{missing[0]} of {name} is missing, which ipfw prints always: {_REMEDY}, to its end."
        )
    return options


def _number(word: str, text: str, name: str) -> float:
    match = _TIME.fullmatch(text)
    timed = word in {"target", "tupdate", "max_burst"}
    # Of times ipfw prints a 0 alone without its unit.
    if match is None or (match[2] != "" and not timed) or match[1].count(".") > 1:
        value = -1.0
    elif timed:
        value = float(match[1]) * _TIMES.get(match[2], -1.0 if float(match[1]) else 0.0)
    else:
        value = float(match[1])
    if value < 0.0:
        raise QuantityError(f"{word} of {name} = {show_value(text)} cannot be read: {_REMEDY}.")
    return as_gain(value, word, name) if word in {"alpha", "beta"} else value


def as_gain(value: float, word: str, name: str) -> float:
    """Return a gain (Hz) as FreeBSD keeps it.

    Raises
    ------
    QuantityError
        If it keeps no such gain.
    """
    parts = round(value * PARTS_PER_HERTZ)
    # Six digits of a number that is whole parts.
    if abs(value * PARTS_PER_HERTZ - parts) > 0.05 or value > _LARGEST_GAIN:
        raise QuantityError(
            f"{word} of {name} = {value:g} is no multiple of 1/{PARTS_PER_HERTZ} Hz up to"
            f" {_LARGEST_GAIN}, as FreeBSD keeps it: {_REMEDY}."
        )
    return parts / PARTS_PER_HERTZ


def pie_of(kind: str, number: str, parameters: dict[str, Any]) -> Qdisc:
    """Return what runs.

    The table is that of RFC 8033; nothing is added above 250 ms; the timer is one of microseconds,
    so that T is `tupdate`.
    """
    aqm = Pie(
        alpha=parameters["alpha"],
        beta=parameters["beta"],
        target=parameters["target"],
        update_interval=parameters["tupdate"],
        variant="rfc8033",
        cap=parameters["capdrop"],
        burst=parameters["max_burst"],
        derandomize=parameters["derand"],
        rate_estimator=parameters["dre"],
        ecn=parameters["ecn"],
        mark_limit=parameters["max_ecnth"],
    )
    return Qdisc(
        kind=kind,
        handle=number,
        asked=parameters,
        shown=parameters,
        aqm=aqm,
        rounding=dict.fromkeys(("alpha", "beta", "T"), 0.0),
        kernel=FREEBSD,
    )
