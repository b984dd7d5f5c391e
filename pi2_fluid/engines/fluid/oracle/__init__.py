"""The fluid over several links: what leaves one arrives at the next, in the order in which it came.

Import from `pi2_fluid`; ``import pi2_fluid.engines.fluid.oracle`` costs nothing.
"""
