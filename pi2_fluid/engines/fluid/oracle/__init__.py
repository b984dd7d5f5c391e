"""The fluid in readable Python: any laws, over one link or several, to hold the compiled core to.

`plant.py` has the equations, `integration.py` solves them. One link is a network of one node.

Import from `pi2_fluid`; ``import pi2_fluid.engines.fluid.oracle`` costs nothing.
"""
