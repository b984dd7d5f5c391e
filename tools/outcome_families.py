"""Families of traffic that `pf.tune` by outcome is tried on, and was not made with.

Eight sets of cells: other rates, paths, senders and events than those of the package's words.
`SEEN` may be looked at while the method is worked on. `SET_ASIDE` was written down before anything
of it was fixed, and is for the last word alone: `make outcome` judges both, and says which is
which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.laws.sender import Sender

_FIRST, _BACK, _END = 20.0, 32.0, 44.0  # s: the event, the way back, the end
_QUEUE: Final = pf.presets.linux_dualpi2()

#: The cells of a family by name; made when they are asked for.
Family = Callable[[], dict[str, pf.Scenario]]


def _long(
    sender: Sender, count: int, rtt: float, name: str, *, ecn: bool | None = None
) -> pf.Flows:
    return pf.Flows(sender, count, rtt, name, start_jitter="1s", ecn=ecn)


def _joining(sender: Sender, count: int, rtt: float) -> pf.Flows:
    return pf.Flows(sender, count, rtt, "joining", start=_FIRST, start_jitter=0.1, stop=_BACK)


def _pages(rate: float, share: float, rtt: float, least: int = 8, shape: float = 1.3) -> pf.Flows:
    """Return transfers of Pareto sizes (segments) that offer a share of the link."""
    sizes = pf.Pareto(shape, least, cap=2000)
    arrivals = share * rate / (12e3 * float(sizes.mean))
    return pf.Transfers(pf.Cubic(), 200, rtt, "pages", size=sizes, arrivals=arrivals)


def _films(sources: int, segments: int, idle: float, rtt: float) -> pf.Flows:
    """Return on-off video: each source fetches a chunk, waits, and fetches the next."""
    return pf.Transfers(
        pf.Cubic(), sources, rtt, "film", size=pf.Fixed(segments), idle=idle, start_jitter="2s"
    )


def _udp(rate: float, rtt: float) -> pf.Flows:
    return pf.Flows(pf.Cbr(rate=rate), 1, rtt, "udp", start=_FIRST, stop=_BACK)


def _cell(rate: float, *flows: pf.Flows, factor: float = 1.0) -> pf.Scenario:
    """Return a link whose capacity is multiplied at the event, and comes back."""
    steps: Sequence[pf.Change] = ()
    if factor != 1.0:
        steps = [pf.Change(_FIRST, capacity=rate * factor), pf.Change(_BACK, capacity=rate)]
    link = pf.Link(rate, kind="htb", buffer="20000 packets")
    return pf.Scenario(_END, link, _QUEUE, flows, steps)


def _school() -> dict[str, pf.Scenario]:
    near, far = _long(pf.Cubic(), 16, 0.018, "near"), _long(pf.Cubic(), 8, 0.055, "far")
    ten, l4s = _long(pf.Cubic(), 10, 0.03, "long"), _long(pf.Prague(), 10, 0.03, "l4s")
    return {
        "class": _cell(80e6, near, far, _joining(pf.Cubic(), 24, 0.03)),
        "few_and_pages": _cell(80e6, _long(pf.Cubic(), 6, 0.03, "long"), _pages(80e6, 0.25, 0.03)),
        "bell": _cell(80e6, _long(pf.Cubic(), 20, 0.04, "long"), _udp(30e6, 0.04)),
        "cut": _cell(80e6, _long(pf.Cubic(), 12, 0.025, "long"), factor=0.3),
        "mixed": _cell(80e6, ten, l4s, _joining(pf.Cubic(), 10, 0.03)),
    }


def _upload() -> dict[str, pf.Scenario]:
    one, two = _long(pf.Cubic(), 1, 0.025, "up"), _long(pf.Cubic(), 2, 0.045, "up")
    return {
        "one": _cell(3e6, one, _joining(pf.Cubic(), 1, 0.025)),
        "one_and_posts": _cell(3e6, one, _pages(3e6, 0.25, 0.035, least=4)),
        "two": _cell(6e6, two, _joining(pf.Reno(), 2, 0.045)),
        "call": _cell(6e6, one, _udp(2e6, 0.02)),
        "backup": _cell(12e6, _long(pf.Cubic(), 3, 0.07, "up"), _pages(12e6, 0.2, 0.03)),
    }


def _cafe() -> dict[str, pf.Scenario]:
    two = _long(pf.Cubic(), 2, 0.035, "long")
    return {
        "walls": _cell(30e6, _long(pf.Cubic(), 4, 0.022, "long"), factor=0.25),
        "walls_and_pages": _cell(30e6, two, _pages(30e6, 0.3, 0.035), factor=0.4),
        "closer": _cell(12e6, _long(pf.Cubic(), 3, 0.04, "long"), factor=4.0),
        "l4s": _cell(24e6, two, _long(pf.Prague(), 1, 0.03, "l4s"), factor=0.3),
        "crowd": _cell(40e6, _long(pf.Cubic(), 8, 0.05, "long"), _joining(pf.Cubic(), 16, 0.05)),
    }


def _stream() -> dict[str, pf.Scenario]:
    one, far = _long(pf.Cubic(), 1, 0.025, "download"), _long(pf.Cubic(), 1, 0.06, "download")
    film, pages = _films(1, 1500, 4.0, 0.015), _pages(25e6, 0.15, 0.04)
    two = _long(pf.Cubic(), 2, 0.035, "download")
    return {
        "two_films": _cell(25e6, _films(2, 1200, 3.0, 0.02), one),
        "film_and_pages": _cell(25e6, film, pages, far),
        "joins": _cell(60e6, _films(3, 1500, 3.0, 0.02), one, _joining(pf.Cubic(), 2, 0.03)),
        "evening": _cell(60e6, _films(4, 2000, 3.0, 0.012), two, factor=0.5),
    }


def _branch() -> dict[str, pf.Scenario]:
    near, far = _long(pf.Cubic(), 7, 0.028, "near"), _long(pf.Reno(), 5, 0.075, "far")
    marked = _long(pf.Cubic(), 10, 0.045, "long", ecn=True)
    eight, l4s = _long(pf.Cubic(), 8, 0.015, "long"), _long(pf.Dctcp(), 6, 0.015, "l4s")
    return {
        "work": _cell(36e6, near, far, _joining(pf.Cubic(), 9, 0.04)),
        "backup": _cell(36e6, _long(pf.Cubic(), 9, 0.06, "long"), _udp(15e6, 0.06)),
        "few_and_pages": _cell(36e6, _long(pf.Cubic(), 5, 0.035, "long"), _pages(36e6, 0.3, 0.035)),
        "marked": _cell(36e6, marked, _joining(pf.Cubic(), 10, 0.045)),
        "dctcp": _cell(70e6, eight, l4s, _joining(pf.Cubic(), 8, 0.015)),
    }


def _island() -> dict[str, pf.Scenario]:
    many = _long(pf.Cubic(), 14, 0.19, "long")
    return {
        "few": _cell(15e6, _long(pf.Cubic(), 3, 0.17, "long"), _joining(pf.Cubic(), 3, 0.17)),
        "few_and_pages": _cell(15e6, _long(pf.Cubic(), 2, 0.16, "long"), _pages(15e6, 0.25, 0.16)),
        "many": _cell(30e6, many, _joining(pf.Cubic(), 14, 0.19)),
        "beam": _cell(30e6, _long(pf.Cubic(), 6, 0.14, "long"), factor=0.4),
    }


def _uplink() -> dict[str, pf.Scenario]:
    near, far = _long(pf.Cubic(), 18, 0.012, "near"), _long(pf.Cubic(), 18, 0.045, "far")
    reno, twenty = _long(pf.Reno(), 30, 0.065, "long"), _long(pf.Cubic(), 20, 0.03, "long")
    return {
        "many": _cell(120e6, near, far, _joining(pf.Cubic(), 36, 0.03)),
        "reno": _cell(120e6, reno, _joining(pf.Reno(), 30, 0.065)),
        "cut": _cell(120e6, _long(pf.Cubic(), 30, 0.035, "long"), factor=0.35),
        "many_and_pages": _cell(120e6, twenty, _pages(120e6, 0.2, 0.03)),
        "udp": _cell(120e6, _long(pf.Cubic(), 24, 0.025, "long"), _udp(60e6, 0.025)),
    }


def _reader() -> dict[str, pf.Scenario]:
    one, two = _long(pf.Cubic(), 1, 0.024, "download"), _long(pf.Cubic(), 2, 0.045, "download")
    near = _long(pf.Cubic(), 2, 0.03, "download")
    return {
        "one_and_pages": _cell(30e6, one, _pages(30e6, 0.3, 0.024)),
        "two_and_pages": _cell(15e6, two, _pages(15e6, 0.35, 0.045, shape=1.2)),
        "film": _cell(30e6, one, _films(2, 1500, 2.5, 0.02)),
        "large": _cell(90e6, near, _pages(90e6, 0.25, 0.025)),
        "joins": _cell(30e6, near, _joining(pf.Cubic(), 3, 0.03)),
    }


def _pulses(every: float, rtt: float) -> list[pf.Flows]:
    """Return short flows without sizes, which kernels run, too: each sends for a quarter second."""
    starts = np.arange(6.0, _BACK, every)
    return [
        pf.Flows(pf.Cubic(), 1, rtt, f"pulse{number}", start=at, stop=at + 0.25, start_jitter=0.05)
        for number, at in enumerate(map(float, starts))
    ]


def _kernel() -> dict[str, pf.Scenario]:
    """Return cells of both regimes for the real kernel, of which none has transfers."""
    one, two = _long(pf.Cubic(), 1, 0.036, "long"), _long(pf.Cubic(), 2, 0.028, "long")
    return {
        "four": _cell(12e6, _long(pf.Cubic(), 4, 0.04, "long"), _joining(pf.Cubic(), 8, 0.04)),
        "reno": _cell(12e6, _long(pf.Reno(), 6, 0.06, "long"), _joining(pf.Reno(), 6, 0.06)),
        "cut": _cell(24e6, _long(pf.Cubic(), 6, 0.025, "long"), factor=0.25),
        "one_and_pulses": _cell(16e6, one, *_pulses(0.8, 0.036)),
        "two_and_pulses": _cell(24e6, two, *_pulses(0.45, 0.028)),
        "three_and_pulses": _cell(30e6, _long(pf.Cubic(), 3, 0.04, "long"), *_pulses(0.5, 0.03)),
    }


#: Families that may be looked at while the method is worked on.
SEEN: Final[dict[str, Family]] = {
    "school": _school,
    "upload": _upload,
    "cafe": _cafe,
    "stream": _stream,
}
#: Families for the last word alone.
SET_ASIDE: Final[dict[str, Family]] = {
    "branch": _branch,
    "island": _island,
    "uplink": _uplink,
    "reader": _reader,
}
FAMILIES: Final = SEEN | SET_ASIDE
#: Cells for the real kernel: what is chosen against the default.
KERNEL: Final = _kernel
