"""Loops by acknowledgements at every combination of round-trip time and load."""

from __future__ import annotations

import numpy as np

from pi2_fluid.design.by_acks import unit_of
from pi2_fluid.design.linear_plants import make_linear_plants


def make_ack_plants(region, aqm, number, rtt, load):
    """Those of one sender of a region, in seconds and p'; the gains of `aqm` do not enter."""
    rtts, loads = np.meshgrid(np.atleast_1d(np.asarray(rtt, float)), np.atleast_1d(load))
    both = tuple(rtts.ravel().tolist()), tuple(loads.ravel().tolist())
    return make_linear_plants(region, unit_of(aqm), number, both, "acks")
