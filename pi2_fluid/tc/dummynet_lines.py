"""Lines that configure dummynet, ``ipfw sched 1 config ...`` or ``dnctl``, as what they make.

What a line does not name is FreeBSD's default.

Source: ipfw(8); FreeBSD, sbin/ipfw/dummynet.c, sys/netpfil/ipfw/dn_aqm_pie.c and
dn_sched_fq_pie.c, the defaults.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from pi2_fluid.errors import DomainError, QuantityError, show_value
from pi2_fluid.tc.dummynet import FRAME, Shaper, as_gain, codel_times, pie_of

_LINE: Final = re.compile(r"\b(pipe|queue|sched)\s+(\d+)\s+config\b([^#;\n]*)")
_RATE: Final = re.compile(r"([0-9.]+)([kKmMgG]?)(b|B)\w*(?:/s)?")
_TIMES: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_TIME: Final = re.compile(r"([0-9]*\.?[0-9]+)(us|ms|s)")
_SIZE: Final = re.compile(r"([0-9]+)([kKmM]?)([bB]\w*)?")
_PREFIXES: Final = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}
_GAINS: Final = ("alpha", "beta")
_MOMENTS: Final = ("target", "tupdate", "max_burst")
_COUNTS: Final = ("max_ecnth", "limit", "flows", "quantum")
_FLAGS: Final = {
    word: (name, bool(state))
    for name, words in {
        "ecn": ("noecn", "ecn"),
        "capdrop": ("nocapdrop", "capdrop"),
        "derand": ("nodrand", "drand"),
        "onoff": ("noonoff", "onoff"),
        "dre": ("ts", "dre"),
    }.items()
    for state, word in enumerate(words)
}
_PIE: Final[dict[str, Any]] = {
    "target": 0.015,
    "tupdate": 0.015,
    "alpha": 0.125,
    "beta": 1.25,
    "max_burst": 0.15,
    "max_ecnth": 0.1,
    "ecn": False,
    "capdrop": True,
    "derand": True,
    "onoff": False,
}
_OF_KIND: Final[dict[str, dict[str, Any]]] = {
    "pie": {"dre": True, "limit": 50.0},
    "fq_pie": {"dre": False, "limit": 10240.0, "flows": 1024.0, "quantum": 1514.0},
}
_CALLED: Final = {"pie": "PIE", "fq_pie": "FQ_PIE", "codel": "CoDel", "fq_codel": "FQ_CODEL"}
_SPEAKING: Final = ("bw", "pipe", "sched", "queue", "type", "delay", "weight")


def configured_shapers(text: str) -> Iterator[Shaper]:
    """Yield the queues with PIE, FQ_PIE, CoDel and FQ_CODEL that lines for ipfw or dnctl make.

    Examples
    --------
    >>> lines = "ipfw pipe 1 config bw 10Mbit/s" + chr(10)
    >>> lines += "ipfw sched 1 config pipe 1 type fq_pie target 5ms ecn" + chr(10)
    >>> (one,) = configured_shapers(lines)
    >>> one.name, one.rate, one.qdisc.aqm.target, one.qdisc.proposed
    ('FQ_PIE sched 1', 10000000.0, 0.005, True)
    """
    if "config" not in text:
        return
    lines = [(line[1], int(line[2]), line[3].split()) for line in _LINE.finditer(text)]
    said = {(what, number): _said(words) for what, number, words in lines}
    for what, number, words in lines:
        kind = next((word for word in words if word in _CALLED), None)
        if kind is None:
            continue
        place = f"{what} {number}"
        name = f"{_CALLED[kind]} {place}"
        rate = _rate_of(what, number, said)
        if kind not in _OF_KIND:
            times = codel_times(words[words.index(kind) + 1 :])
            yield Shaper(name=name, kind=_CALLED[kind], rate=rate, times=times)
            continue
        try:
            asked = _PIE | _OF_KIND[kind] | _read(kind, words, name)
            qdisc = replace(pie_of(_CALLED[kind], place, asked), proposed=True)
            yield Shaper(name=name, kind=_CALLED[kind], qdisc=qdisc, rate=rate)
        except (QuantityError, DomainError) as error:
            yield Shaper(name=name, kind=_CALLED[kind], rate=rate, trouble=error)


def _said(words: list[str]) -> dict[str, str]:
    """Return what a line says of rates, and of what hangs where."""
    return {word: value for word, value in pairwise(words) if word in {"bw", "pipe", "sched"}}


def _rate_of(what: str, number: int, said: dict[tuple[str, int], dict[str, str]]) -> float | None:
    """Return the rate (bit/s) of the pipe that something hangs at; None if it is not said."""
    for _ in range(3):  # a queue hangs at a sched, and that at a pipe
        own = said.get((what, number), {})
        if what == "pipe":
            match = _RATE.match(own.get("bw", ""))
            if match is None:
                return None
            bits = 8.0 if match[3] == "B" else 1.0
            return float(match[1]) * _PREFIXES[match[2].lower()] * bits or None
        above = next((each for each in ("sched", "pipe") if own.get(each, "").isdecimal()), None)
        if above is None:
            above, own = "pipe", {"pipe": str(number)}  # a sched has the pipe of its number
        what, number = above, int(own[above])
    return None


def _read(kind: str, words: list[str], name: str) -> dict[str, Any]:
    """Return what a line asks for, in SI, by FreeBSD's words.

    Raises
    ------
    QuantityError
        If a word behind the kind is not known, or has no value that can be read.
    """
    options: dict[str, Any] = {}
    before = words[: words.index(kind)]
    if kind == "pie" and "queue" in before[:-1]:
        options["limit"] = _size(before[before.index("queue") + 1], name)
    rest = iter(words[words.index(kind) + 1 :])
    for word in rest:
        if word in _FLAGS:
            flag, state = _FLAGS[word]
            options[flag] = state
        elif word in _GAINS:
            options[word] = as_gain(_number(word, next(rest, ""), name), word, name)
        elif word in _COUNTS:
            options[word] = _number(word, next(rest, ""), name)
        elif word in _MOMENTS:
            text = next(rest, "")
            time = _TIME.fullmatch(text)
            if time is None:
                raise QuantityError(
                    f"{word} of {name} = {show_value(text)} cannot be read: give a time with its"
                    " unit, such as 15ms."
                )
            options[word] = float(time[1]) * _TIMES[time[2]]
        elif word in _SPEAKING:
            value = next(rest, "")
            if word == "queue" and kind == "pie":
                options["limit"] = _size(value, name)
        else:
            raise QuantityError(
                f"{show_value(word)} of {name} is no word of ipfw for {kind}: give those of"
                " ipfw(8), such as target, tupdate, alpha, beta."
            )
    return options


def _number(word: str, text: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < 1e9:
        raise QuantityError(
            f"{word} of {name} = {show_value(text)} is no number that ipfw takes: give one such as"
            " 0.125."
        )
    return value


def _size(text: str, name: str) -> float:
    """Return a queue's size as full packets."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise QuantityError(
            f"queue of {name} = {show_value(text)} is no size: give slots such as 50, or 100KB."
        )
    count = float(match[1]) * {"": 1, "k": 1024, "m": 1024 * 1024}[match[2].lower()]
    return count / FRAME if match[2] or match[3] else count
