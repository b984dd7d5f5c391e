"""Packet by packet: what users call of that engine, and of its algorithms step by step."""

from pi2_fluid.engines.packet.packets import simulate
from pi2_fluid.engines.packet.replays.avq import replay_avq
from pi2_fluid.engines.packet.replays.codel import replay_codel
from pi2_fluid.engines.packet.replays.controller import replay
from pi2_fluid.engines.packet.replays.decisions import replay_drop
from pi2_fluid.engines.packet.replays.departures import replay_rate
from pi2_fluid.engines.packet.replays.dualpi2 import replay_dualpi2
from pi2_fluid.engines.packet.replays.red import replay_red
from pi2_fluid.engines.packet.replays.rem import replay_rem
from pi2_fluid.engines.packet.replays.senders import (
    replay_cubic,
    replay_dctcp,
    replay_paganini,
    replay_prague,
)
from pi2_fluid.engines.packet.replays.variants import variants

__all__ = [
    "replay",
    "replay_avq",
    "replay_codel",
    "replay_cubic",
    "replay_dctcp",
    "replay_drop",
    "replay_dualpi2",
    "replay_paganini",
    "replay_prague",
    "replay_rate",
    "replay_red",
    "replay_rem",
    "simulate",
    "variants",
]
