"""Packet by packet: a scenario simulated in compiled code, and its algorithms step by step."""
