"""What gains cost and buy beside Linux's defaults, as far as packets have been asked.

Margins say nothing of it. A smaller beta, or a smaller alpha/T of PIE, answers a disturbance more
slowly; a larger beta takes rate from long flows that share a link with short ones. The numbers are
those of the figure `ours:what_gains_buy` and, of PIE, of docs/qdisc.md.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from pi2_fluid.laws import presets
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.aqms.pie import Pie

__all__ = ["cost_of"]


class _Seen(NamedTuple):
    """Of gains that many times the default's: changes in % and points, each with its interval."""

    times: float
    among_many: tuple[int, int, int]  # p99 after a disturbance
    beside_short: tuple[int, int, int]  # p99
    rate: tuple[float, float, float]  # beside short flows
    suits: str


_LESS: Final = _Seen(
    *(643 / 819, (22, 21, 23), (9, 7, 10), (2.2, 1.9, 2.6)),
    "there, and for long paths",
)
_MORE: Final = _Seen(
    *(1200 / 819, (-13, -14, -11), (-13, -14, -12), (-3.0, -3.4, -2.6)),
    "for links that many long flows share",
)
#: Linux's PIE with 1/18 at 50 ms against 2/20 at 15 ms.
_LESS_OF_PIE: Final = _Seen(
    *(0.15, (7, 6, 9), (55, 42, 69), (3.2, 2.7, 3.7)),
    "there, for rate alone",
)
_SAME: Final = 0.03  # of a gain, which no measure tells apart


def cost_of(aqm: PiFamily) -> str:
    """Return what gains cost and buy beside Linux's defaults, "" where nothing is known.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> cost_of(pf.DualPi2(alpha=0.047, beta=2.51))[:64]
    "Beta is 0.78 times Linux's default: the queue reacts more slowly"
    >>> cost_of(pf.presets.linux_dualpi2())
    ''
    """
    if isinstance(aqm, Pie):
        ratio = _integral(aqm) / _integral(presets.linux_pie())
        return "" if ratio >= 1.0 - _SAME else _said("Alpha/T", ratio, _LESS_OF_PIE)
    ratio = float(aqm.beta) / float(presets.linux_dualpi2().beta)
    if abs(ratio - 1.0) <= _SAME:
        return ""
    return _said("Beta", ratio, _LESS if ratio < 1.0 else _MORE)


def _integral(aqm: PiFamily) -> float:
    return float(aqm.alpha) / float(aqm.update_interval)


def _said(gain: str, ratio: float, seen: _Seen) -> str:
    low, high = sorted(abs(points) for points in seen.rate[1:])
    more = "more" if seen.rate[0] > 0.0 else "less"
    return (
        f"{gain} is {ratio:.2g} times Linux's default: the queue reacts more"
        f" {'slowly' if ratio < 1.0 else 'quickly'}. In packets, at {seen.times:.2g} times, P99 of"
        f" the delay after a disturbance is {_percent(seen.among_many)} among many long flows."
        " Where short flows meet few long ones with large windows, it is"
        f" {_percent(seen.beside_short)}, and the link carries {abs(seen.rate[0])} % of its"
        f" capacity {more} ({low} to {high}). Good {seen.suits}."
    )


def _percent(change: tuple[int, int, int]) -> str:
    low, high = sorted(abs(percent) for percent in change[1:])
    return f"{abs(change[0])} % {'higher' if change[0] > 0 else 'lower'} ({low} to {high})"
