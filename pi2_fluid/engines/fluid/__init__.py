"""Trajectories: the delay-differential equations of a scenario, solved in time.

`simulate` follows one scenario accurately, `gradient` differentiates what comes out, `batch` runs
thousands side by side. The equations are in `plant`, the method in `integration`; both are readable
Python, for any law, and what the compiled kernel is held to. `lanes` has the method of `batch`.
"""

from pi2_fluid.engines.fluid.batches.batching import batch
from pi2_fluid.engines.fluid.fluid import simulate
from pi2_fluid.engines.fluid.gradients import gradient

__all__ = ["batch", "gradient", "simulate"]
