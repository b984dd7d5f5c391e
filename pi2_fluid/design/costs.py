"""What gains cost and buy beside Linux's defaults, as far as packets have been asked.

Margins say nothing of it. A smaller beta, or a smaller alpha/T of PIE, answers a disturbance more
slowly; a larger beta takes rate from long flows that share a link with short ones. Where alpha/T
and beta go opposite ways, nothing is known. The numbers are those of the figure
`ours:what_gains_buy` and, of PIE, of docs/qdisc.md.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from pi2_fluid.laws import presets
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.registry import tc_queues


class _Seen(NamedTuple):
    """Of gains that many times the default's: changes in % and points, each with its interval."""

    times: float
    among_many: tuple[int, int, int]  # p99 after a disturbance
    beside_short: tuple[int, int, int]  # p99
    rate: tuple[float, float, float]  # beside short flows
    suits: str


_LESS: Final = _Seen(
    *(643 / 819, (21, 19, 22), (11, 9, 13), (1.8, 1.5, 2.0)),
    "there, and for long paths",
)
_MORE: Final = _Seen(
    *(1200 / 819, (-14, -15, -13), (-11, -12, -10), (-3.4, -3.7, -3.0)),
    "for links that many long flows share",
)
#: Linux's PIE with 1/18 at 50 ms against 2/20 at 15 ms.
_LESS_OF_PIE: Final = _Seen(
    *(0.15, (6, 4, 8), (50, 36, 65), (3.0, 2.2, 3.8)),
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
    >>> print(cost_of(pf.Pie(alpha=1 / 16, beta=2.0, update_interval="32ms")))
    Alpha/T is 0.23 times Linux's default, and beta 1.6 times: not measured in packets.
    >>> cost_of(pf.presets.linux_dualpi2())
    ''
    """
    if not (queues := tc_queues(aqm)):
        return ""
    of_pie = "pie" in queues
    default = presets.linux_pie() if of_pie else presets.linux_dualpi2()
    integral, beta = _integral(aqm) / _integral(default), float(aqm.beta) / float(default.beta)
    slower, weaker = _side(integral), _side(beta)
    if slower * weaker < 0:
        return (
            f"Alpha/T is {integral:.2g} times Linux's default, and beta {beta:.2g} times: not"
            " measured in packets."
        )
    if of_pie:
        return _said("Alpha/T", integral, _LESS_OF_PIE) if slower < 0 else ""
    return _said("Beta", beta, _LESS if weaker < 0 else _MORE) if weaker else ""


def _integral(aqm: PiFamily) -> float:
    return float(aqm.alpha) / float(aqm.update_interval)


def _side(ratio: float) -> int:
    return 0 if abs(ratio - 1.0) <= _SAME else 1 if ratio > 1.0 else -1


def _said(gain: str, ratio: float, seen: _Seen) -> str:
    low, high = sorted(abs(points) for points in seen.rate[1:])
    more = "more" if seen.rate[0] > 0.0 else "less"
    where = f"In packets, at {seen.times:.2g} times,"
    if not math.isclose(ratio, seen.times, rel_tol=_SAME):
        where = f"Packets were measured at {seen.times:.2g} times. There"
    return (
        f"{gain} is {ratio:.2g} times Linux's default: the queue reacts more"
        f" {'slowly' if ratio < 1.0 else 'quickly'}. {where} P99 of the delay after a disturbance"
        f" is {_percent(seen.among_many)} among many long flows. Where short flows meet few long"
        f" ones with large windows, it is {_percent(seen.beside_short)}, and the link carries"
        f" {abs(seen.rate[0])} % of its capacity {more} ({low} to {high}). Good {seen.suits}."
    )


def _percent(change: tuple[int, int, int]) -> str:
    low, high = sorted(abs(percent) for percent in change[1:])
    return f"{abs(change[0])} % {'higher' if change[0] > 0 else 'lower'} ({low} to {high})"
