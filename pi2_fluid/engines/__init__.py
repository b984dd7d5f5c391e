"""Engines as values: one door to all of them, and which there are."""

from pi2_fluid.engines.simulating import ENGINES, require_engine, simulate

__all__ = ["ENGINES", "require_engine", "simulate"]
