"""How a queue's controller moves in lanes: at ticks, and between them."""

from __future__ import annotations

from typing import NamedTuple

from pi2_fluid.engines.fluid.oracle.equations import is_bounded
from pi2_fluid.laws.aqm import Aqm


class Motion(NamedTuple):
    """How the controller moves: at ticks, and in between by its drift or its flow."""

    ticks: bool
    drifts: bool
    flows: bool
    follows: bool
    """Whether signals change between two nodes."""


def motion_of(aqm: Aqm, *, continuous: bool) -> Motion:
    """Return how a law moves under a kind of controller."""
    own = type(aqm)
    flows = is_bounded(aqm) if aqm.update_interval is None else continuous
    drifts = not flows and (own.drift is not Aqm.drift or aqm.update_interval is None)
    return Motion(
        ticks=not continuous and aqm.update_interval is not None,
        drifts=drifts,
        flows=flows,
        follows=flows or drifts or own.signals is not Aqm.signals,
    )
