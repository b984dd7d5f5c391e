"""What tc makes of the words for RED, and what runs by what it shows.

The words: the weight of its average from a burst, and all defaults.

A burst of `burst` packets of `avpkt` bytes that comes to an idle queue is to lift the average just
to `min`: after L packets it is L + 1 + ((1 - w)^(L + 1) - 1)/w packets (Floyd and Jacobson, section
VI), and tc takes the largest w = 2^-n that keeps it there.

Source: tc-red(8); Floyd and Jacobson (1993); `tools/tc_oracle.py` asks a tc.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from pi2_fluid.errors import DomainError, QuantityError
from pi2_fluid.laws.aqms.red import Red
from pi2_fluid.tc.numbers import as_fraction, as_whole

_MAX_P: Final = 0.02  # of tc where no probability is given: tc-red(8)
_WORD: Final = 2**32
_SHIFTS: Final = 32
_SPAN: Final = 3  # of max over min, where only one of them is given
_FLAGS: Final = ("ecn", "harddrop", "nodrop")
_ADAPTIVE: Final = ("adaptive", "adaptative")


def red_as_shown(
    options: Mapping[str, int], probability: float | None, name: str
) -> dict[str, object]:
    """Return the words with which ``tc -d qdisc show`` would print what a line asks for.

    Parameters
    ----------
    options : mapping
        What the line names: sizes in bytes, packets, words as 1.
    probability : float or None
        Without, tc's own, 0.02.
    name : str
        What to call it.

    Raises
    ------
    QuantityError
        If limit or avpkt is missing, or 0.
    DomainError
        If tc or the kernel refuses it, or if it would run with another probability.

    Examples
    --------
    >>> red_as_shown({"limit": 100_000, "avpkt": 1000, "burst": 20, "ecn": 1}, None, "red")
    {'limit': 100000, 'min': 8333, 'max': 25000, 'ecn': True, 'ewma': 5, 'probability': 0.02}
    """
    limit, avpkt = (options.get(word, 0) for word in ("limit", "avpkt"))
    if not limit or not avpkt:
        raise QuantityError(
            f"limit or avpkt of {name} is missing or 0, without which tc refuses it: give both."
        )
    low = options.get("min", 0)
    high = options.get("max", 0) or (_SPAN * low if low else limit // 4)
    low = low or high // _SPAN
    burst = options.get("burst", 0) or (2 * low + high) // (3 * avpkt)
    shift = _shift(low, burst, avpkt, name)
    if high < low:
        raise DomainError(f"max = {high} bytes of {name} is below min = {low}: give max from min.")
    if max(high.bit_length(), low.bit_length()) + shift >= _SHIFTS:
        raise DomainError(
            f"max = {high} bytes of {name}, averaged by 2^-{shift}, is beyond the 32 bits of the"
            " kernel: give a smaller max or burst."
        )
    largest = _MAX_P if probability is None else probability
    if not 0.0 < largest < 1.0:
        raise DomainError(
            f"probability = {largest:g} of {name} is outside (0, 1), and tc refuses it or takes"
            " only its part behind the point: give one between."
        )
    if high > low and largest / (high - low) * 2.0 ** (_SHIFTS - 1) <= 1.0:
        raise DomainError(
            f"probability = {largest:g} of {name} is too small over {high - low} bytes from min to"
            " max, and tc refuses it: give a larger one."
        )
    flags = {word: True for word in _FLAGS if options.get(word)}
    adaptive = any(options.get(word) for word in _ADAPTIVE)
    return {
        "limit": limit,
        "min": low,
        "max": high,
        **flags,
        **({"adaptive": True} if adaptive else {}),
        "ewma": shift,
        "probability": largest,
    }


def red_as_run(shown: Mapping[str, object], packet_size: float = 1500.0, name: str = "red") -> Red:
    """Return the RED that runs where ``tc -d qdisc show`` prints these words, for packets.

    Parameters
    ----------
    shown : mapping
        Words and what follows each, as text or, from JSON, as numbers; those alone as True.
    packet_size : float
        Bytes of a full packet of the link, in which thresholds are counted.
    name : str
        What to call it.

    Raises
    ------
    QuantityError
        If min, max, ewma or probability is missing, as without ``-d``, or cannot be read.
    DomainError
        If one of them is outside its range.

    Examples
    --------
    >>> red = red_as_run({"min": 12500, "max": "62500b", "ecn": True, "nodrop": True,
    ...                   "ewma": 2, "probability": 0.1})
    >>> round(red.max, 2), red.weight, red.ecn, red.nodrop, red.arithmetic
    (41.67, 0.25, True, True, 'fixed')
    """
    if missing := {"min", "max", "ewma", "probability"} - shown.keys():
        raise QuantityError(
            f"{', '.join(sorted(missing))} of {name} is not shown: give the output of"
            " `tc -d qdisc show`."
        )
    low, high = (shown_bytes(shown, word, name) for word in ("min", "max"))
    has = {word: shown.get(word, False) is not False for word in (*_FLAGS, *_ADAPTIVE)}
    return Red(
        min=f"{low}B",
        max=f"{high}B",
        packet_size=packet_size,
        max_p=as_fraction(str(shown["probability"]), f"probability of {name}"),
        weight=2.0 ** -as_whole(str(shown["ewma"]), f"ewma of {name}"),
        gentle=False,
        adaptive=any(has[word] for word in _ADAPTIVE),
        arithmetic="fixed",
        ecn=has["ecn"],
        harddrop=has["harddrop"],
        nodrop=has["nodrop"],
    )


def shown_bytes(shown: Mapping[str, object], word: str, name: str = "red") -> int:
    """Return a size that tc prints as text, or as a number in JSON.

    Raises
    ------
    QuantityError
        If it cannot be read.
    """
    size = shown[word]
    return as_whole(f"{size}b" if type(size) is int else str(size), f"{word} of {name}", "size")


def _shift(low: int, burst: int, avpkt: int, name: str) -> int:
    """Return n of the weight 2^-n.

    Raises
    ------
    DomainError
        If there is none.
    """
    wanted = burst + 1.0 - low / avpkt
    if wanted < 1.0:
        raise DomainError(
            f"burst = {burst} of {name} is too small for min = {low} bytes, and tc refuses it: give"
            f" at least {math.ceil(low / avpkt)} packets."
        )
    for shift in range(1, _SHIFTS):
        weight = 2.0**-shift
        if wanted <= (1.0 - (1.0 - weight) ** burst) / weight:
            return shift
    raise DomainError(
        f"burst = {burst} of {name} fits no weight for min = {low} bytes, and tc refuses it: give"
        " another burst, such as (2 min + max)/(3 avpkt)."
    )
