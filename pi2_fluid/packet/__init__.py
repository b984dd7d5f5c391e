"""Packet by packet: queues, senders and the link between them, in a compiled kernel."""

from pi2_fluid.packet.replay_pi import replay, replay_drop, replay_rate, variants
from pi2_fluid.packet.replay_queues import (
    replay_codel,
    replay_dualpi2,
    replay_red,
)
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
    "variants",
]
