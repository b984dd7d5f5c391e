"""Trajectories: the delay-differential equations of a scenario, solved in time.

The equations are in `plant`, the method in `integration`; both are readable Python, for any law,
and what the compiled kernel is held to. `lanes` has the method of `batches`.
"""
