"""Results as `xarray.Dataset`s: named dims, units on everything, provenance, and summaries.

What all engines report, and under which names, is in `dataset`; each has a file of its own.
"""

from pi2_fluid.results.dataset import BANDS, QUANTILES, Column, make_dataset
from pi2_fluid.results.summary import summarize
from pi2_fluid.results.trajectories import trajectory_dataset

__all__ = ["BANDS", "QUANTILES", "Column", "make_dataset", "summarize", "trajectory_dataset"]
