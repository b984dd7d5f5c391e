"""Packet by packet: a scenario simulated in compiled code, and its algorithms step by step."""

from pi2_fluid.packet.engine import simulate
from pi2_fluid.packet.replay_pi import replay, replay_drop, replay_rate, variants
from pi2_fluid.packet.replay_queues import replay_codel, replay_dualpi2, replay_red
from pi2_fluid.packet.replay_senders import replay_cubic, replay_dctcp

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
