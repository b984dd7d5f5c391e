"""Packet by packet: a scenario simulated in compiled code, and its algorithms step by step."""

from pi2_fluid.packet.codel_replay import replay_codel
from pi2_fluid.packet.controller_replay import replay
from pi2_fluid.packet.decision_replay import replay_drop
from pi2_fluid.packet.departure_replay import replay_rate
from pi2_fluid.packet.dualpi2_replay import replay_dualpi2
from pi2_fluid.packet.engine import simulate
from pi2_fluid.packet.known_variants import variants
from pi2_fluid.packet.red_replay import replay_red
from pi2_fluid.packet.sender_replay import replay_cubic, replay_dctcp

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
