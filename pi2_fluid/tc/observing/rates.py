"""Rates as tc prints them, or is asked for them, and the classes that have one.

Source: tc(8), the units of rates; tc-htb(8).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

#: The queues that let no more through than a rate, and the word that has it.
SHAPERS: Final = {"tbf": "rate", "cake": "bandwidth", "netem": "rate", "nsstbl": "rate"}
_RATE: Final = re.compile(r"([0-9]*\.?[0-9]+)([a-z]*)")
_PREFIXES: Final = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_BINARY: Final = {f"{prefix}i": 2.0 ** (10 * n) for n, prefix in enumerate("kmgt", start=1)}
#: By the end of a unit, bits in what it counts.
_ENDS: Final = {"bit": 1.0, "bps": 8.0}
_UNITS: Final = {"": 1.0} | {
    f"{prefix}{end}": factor * bits
    for prefix, factor in (_PREFIXES | _BINARY).items()
    for end, bits in _ENDS.items()
}
_SIZE: Final = re.compile(r"([0-9]*\.?[0-9]+)(k|m|g|)b?(?:/[0-9]+)?")
_PARTS: Final = {"": 1.0, "k": 2.0**10, "m": 2.0**20, "g": 2.0**30}
#: The kinds whose classes have rates.
CLASSFUL: Final = frozenset({"htb", "hfsc", "cbq"})
#: What a class has beside its rates, and would lose by a line that leaves it out.
_KEPT: Final = ("prio", "quantum")
_BITS: Final = 8.0  # of a byte, in which JSON counts


class ShapedClass(NamedTuple):
    """A class of a shaper: where it hangs, and what it lets through.

    `rate` is the most (bit/s), `assured` what it has of its own. `burst` is what it sends at once
    (bytes) at the assured rate, `cburst` at the most; None where they are not said, as for a kernel
    that makes its own. `words` are the others that a line to change it repeats.
    """

    place: str
    parent: str
    rate: float | None
    kind: str = ""
    assured: float | None = None
    burst: float | None = None
    cburst: float | None = None
    words: tuple[str, ...] = ()


def as_rate(text: object) -> float | None:
    """Return a rate (bit/s); None of what is none, of 0 and of what is unlimited.

    Examples
    --------
    >>> as_rate("5500Kbit"), as_rate("1mbps"), as_rate(625000), as_rate("unlimited")
    (5500000.0, 8000000.0, 5000000.0, None)
    """
    if isinstance(text, int | float) and not isinstance(text, bool):
        return _BITS * text if text > 0 else None
    match = _RATE.fullmatch(text.lower()) if isinstance(text, str) else None
    if match is None or match[2] not in _UNITS:
        return None
    return float(match[1]) * _UNITS[match[2]] or None


def as_size(text: object) -> float | None:
    """Return a size in bytes, as tc prints it or reads it from its arguments; None of what is none.

    Examples
    --------
    >>> as_size("15k"), as_size("1599b/8"), as_size("32Mb"), as_size(1600), as_size("much")
    (15360.0, 1599.0, 33554432.0, 1600.0, None)
    """
    if isinstance(text, int) and not isinstance(text, bool):
        return float(text)
    match = _SIZE.fullmatch(text.lower()) if isinstance(text, str) else None
    return None if match is None else float(match[1]) * _PARTS[match[2]]


def place_of(text: str) -> str:
    """Return the name of a class or handle as tc prints it, however it was typed.

    Examples
    --------
    >>> place_of("0001:0"), place_of("1"), place_of("1:0A"), place_of("root")
    ('1:', '1:', '1:a', 'root')
    """
    major, colon, minor = text.lower().partition(":")
    if not colon and not re.fullmatch("[0-9a-f]+", major):
        return text
    return f"{major.lstrip('0') or '0' * bool(major)}:{minor.lstrip('0')}"


def class_of_words(words: Sequence[str], *, typed: bool) -> ShapedClass | None:
    """Return the class of a line, without the words `class` or `tc class add`; None without one."""
    said = dict(reversed(list(pairwise(words))))  # of words that come twice the first counts
    place = said.get("classid") if typed else words[1] if len(words) > 1 else None
    if place is None or ":" not in place:
        return None
    parent = place_of(said["parent"]) if "parent" in said else "root"
    kind = next((word for word in words if word in CLASSFUL), "")
    kept = [word for name in _KEPT if name in said for word in (name, said[name])]
    return ShapedClass(place_of(place), parent, *_rates(said, kind), tuple(kept))


def class_of_json(entry: Mapping[str, Any]) -> ShapedClass | None:
    """Return the class of an object that ``tc -j class show`` prints; None if it is none."""
    place, parent = entry.get("handle"), entry.get("parent")
    if not isinstance(entry.get("class"), str) or not isinstance(place, str):
        return None
    options = entry.get("options")
    said = {**entry, **(options if isinstance(options, dict) else {})}
    above = place_of(parent) if isinstance(parent, str) else "root"
    kind = str(entry["class"])
    kept = [f"{part}" for name in _KEPT if type(said.get(name)) is int
            for part in (name, said[name])]  # fmt: skip
    return ShapedClass(place_of(place), above, *_rates(said, kind), tuple(kept))


def _rates(
    said: Mapping[str, Any], kind: str
) -> tuple[float | None, str, float | None, float | None, float | None]:
    """Return the most, the kind, what is assured, and both bursts."""
    most = as_rate(said.get("ceil", said.get("rate")))
    burst, cburst = (as_size(said.get(name)) for name in ("burst", "cburst"))
    return most, kind, as_rate(said.get("rate")), burst, cburst
