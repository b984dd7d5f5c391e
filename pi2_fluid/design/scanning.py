"""The margins of many sampled loops by what is compiled, where there is such: `region.scan`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid import _core
from pi2_fluid.loop.acks.plant import AckLoop
from pi2_fluid.loop.analytic import MU_LIMIT
from pi2_fluid.loop.limits import rtt_limit

if TYPE_CHECKING:
    from pi2_fluid.design.linear_plants import LinearPlants
    from pi2_fluid.design.plants import Plants
    from pi2_fluid.values import FloatArray


def compiled_scan(
    plants: Plants | LinearPlants, alpha: float, beta: float, interval: float
) -> FloatArray | None:
    """Return gain margins (dB), phase margins (deg) and the least |1 + L| of n loops, as rows.

    None of loops that compiled code does not know: by rates without a closed form, or by
    acknowledgements with pauses.
    """
    design = {
        "alpha": alpha,
        "beta": beta,
        "interval": interval,
        "mu_reno": MU_LIMIT["reno"],
        "mu_scalable": MU_LIMIT["scalable"],
        "limit": _limit(plants.points, alpha, beta, interval),
    }
    if plants.numeric:
        return _of_acks(plants, design)  # type: ignore[arg-type]  # these are LinearPlants
    points = plants.points
    scale = points.m * points.rtt**2 / interval
    found: FloatArray = _core.scan_designs(
        design=design,
        loops=_rows(points, scale),
        points=points.columns,
        count=points.alias_count(interval),
    )
    return found


def _limit(points: Plants, alpha: float, beta: float, interval: float) -> float:
    """The round-trip time (s) from which on the limit of no load has no margin, if one is here."""
    if np.all(points.mu > 0.0):
        return math.inf
    return float(rtt_limit(alpha, beta, interval, "sampled"))


def _rows(points: Plants, scale: FloatArray) -> FloatArray:
    return np.array(
        [points.rtt, points.m, points.mu, points.kappa, points.scalable, scale], dtype=float
    )


def _of_acks(plants: LinearPlants, design: dict[str, Any]) -> FloatArray | None:
    loop = plants.loop
    if not isinstance(loop, AckLoop):
        return None
    now, before = loop.controller.numerator
    over = loop.controller.denominator
    if len(over) != 2 or not (np.all(over[0] == 1.0) and np.all(over[1] == -1.0)):
        return None  # no sum of what was added
    sums = plants.ack_sums(design["interval"])
    if sums is None:
        return None
    scale = np.broadcast_to(np.asarray(now + before, float), (len(plants), 1))[:, 0]
    found: FloatArray = sums.scan(design=design, loops=_rows(plants.points, scale))
    return found
