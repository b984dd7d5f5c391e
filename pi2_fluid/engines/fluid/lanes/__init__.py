"""Many runs of one scenario, side by side: one lane each, all at the same step.

The method is in `stepping` (with `past`, `windows` and `controller`), for any law; `engine` runs it
with JAX, `compiled` in C.
"""
