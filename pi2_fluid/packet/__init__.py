"""Packet by packet: queues, senders and the link between them, in a compiled kernel."""

from pi2_fluid.packet.replay_pi import replay, replay_drop, replay_rate, variants

__all__ = ["replay", "replay_drop", "replay_rate", "variants"]
