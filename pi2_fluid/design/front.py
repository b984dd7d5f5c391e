"""The front of all designs: how much integral gain each phase margin leaves at most."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from pi2_fluid.design.alternatives import integral_gain, typical_load
from pi2_fluid.design.gains import Asked, largest_alpha, make_ceiling
from pi2_fluid.design.region import Region
from pi2_fluid.laws.aqms.pi_family import PiFamily

_PHASES: Final = np.array([0.5, 1, 2, 4, 7, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60])


def trade_off(region: Region, aqm: PiFamily, update: str) -> tuple[Any, Any]:
    """Return phase margins (deg) and the largest integral gain (1/s^2) that each leaves.

    Over the largest RTT of the region at the ends of its load, at the queue's update interval, by
    the closed form, whatever the gain margin.
    """
    plants, load = region.corners(aqm), typical_load(region)
    found = []
    for phase in _PHASES:
        ceiling, highest, _ = make_ceiling(
            plants, Asked(0.0, float(phase)), float(aqm.update_interval), update
        )
        found.append(0.0 if ceiling is None else largest_alpha(ceiling, highest)[0])
    alphas = np.array(found)
    strength = integral_gain(replace(aqm, alpha=1.0), region.senders[0], load)
    return _PHASES[alphas > 0.0], alphas[alphas > 0.0] * strength
