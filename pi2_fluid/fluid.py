"""Trajectories: what users call of the fluid engine."""

from pi2_fluid.engines.fluid import (
    batch,
    gradient,
    simulate,
)

__all__ = [
    "batch",
    "gradient",
    "simulate",
]
