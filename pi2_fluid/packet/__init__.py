"""Packets: a scenario simulated packet by packet, in compiled code, for many seeds side by side."""

from pi2_fluid.packet.engine import simulate

__all__ = ["simulate"]
