"""By which factors a loop's gain may change until a mode begins to grow, or the last one ceases to.

At a phase crossing the gain |L| makes a mode of the closed loop sit on the boundary as the loop is
multiplied by 1/|L|: it enters or leaves there as the gain rises. From the modes that grow as it is
follow those that grow at every other gain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from pi2_fluid.loop.crossovers import PhaseCrossing


class StableGains(NamedTuple):
    """The factors, either way, at which a verdict changes.

    Of a stable loop it is stable between them. Of one that is not it is stable just below the
    `upper`, which is less than 1, and just above the `lower`, which is more.
    """

    upper: float
    """The smallest that makes a stable loop unstable, inf if none does; of another loop the one
    below which no other crossing makes it unstable and stable again, 0 if none makes it stable."""
    w: float
    """The crossing (rad/s) of that; inf without."""
    lower: float
    """The largest below 1 that makes a stable loop unstable, 0 if none does; the smallest above 1
    that makes another stable, inf if none does."""


def stable_gains(crossings: Sequence[PhaseCrossing], unstable: int) -> StableGains:
    """Return by which factors the gain of a loop may change.

    Parameters
    ----------
    crossings : sequence of PhaseCrossing
        All that count.
    unstable : int
        How many of its modes grow; -1 on the boundary, of which one crossing is there.

    Examples
    --------
    >>> crossings = [PhaseCrossing(1.0, 20.0, -2), PhaseCrossing(5.0, 0.25, 2)]
    >>> stable_gains(crossings, 0)
    StableGains(upper=4.0, w=5.0, lower=0.05)
    >>> stable_gains([PhaseCrossing(1.0, 5.0, 2)], 2)
    StableGains(upper=0.2, w=1.0, lower=inf)
    >>> stable_gains([PhaseCrossing(0.0, 0.1, -1)], 1)
    StableGains(upper=0.0, w=inf, lower=10.0)
    """
    places = sorted((1.0 / each.gain, each.w, each.enters) for each in crossings)
    above = [place for place in places if place[0] > 1.0]
    below = [place for place in reversed(places) if place[0] <= 1.0]
    if unstable < 0:
        nearest = min(places, key=lambda place: abs(math.log(place[0])), default=(1.0, math.inf, 0))
        rest = [place for place in below if place is not nearest]
        return StableGains(*nearest[:2], rest[0][0] if rest else 0.0)
    if unstable == 0:
        upper, w = above[0][:2] if above else (math.inf, math.inf)
        return StableGains(upper, w, below[0][0] if below else 0.0)
    upper, w, lower, modes = 0.0, math.inf, math.inf, unstable
    for factor, at, enters in below:
        modes -= enters
        if modes == 0:  # the last one, from which down it stays so, as far as any gain does
            upper, w = factor, at
    modes = unstable
    for factor, _, enters in above:
        modes += enters
        if modes == 0:
            lower = factor
            break
    return StableGains(upper, w, lower)
