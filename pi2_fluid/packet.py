"""Packet by packet: what users call of the packet engine, and its algorithms step by step."""

from pi2_fluid.engines.packet import (
    replay,
    replay_codel,
    replay_cubic,
    replay_dctcp,
    replay_drop,
    replay_dualpi2,
    replay_rate,
    replay_red,
    simulate,
    variants,
)

__all__ = [
    "replay",
    "replay_codel",
    "replay_cubic",
    "replay_dctcp",
    "replay_drop",
    "replay_dualpi2",
    "replay_rate",
    "replay_red",
    "simulate",
    "variants",
]
