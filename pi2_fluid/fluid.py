"""Trajectories: what users call of the fluid engine.

`simulate` follows one scenario accurately, `gradient` differentiates a number of what comes out,
`sensitivities` all of it, `batch` runs thousands side by side.
"""

from pi2_fluid.engines.fluid.batches.batching import batch
from pi2_fluid.engines.fluid.batches.sensitivities import sensitivities
from pi2_fluid.engines.fluid.fluid import simulate
from pi2_fluid.engines.fluid.gradients import gradient

__all__ = ["batch", "gradient", "sensitivities", "simulate"]
