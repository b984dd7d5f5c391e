"""What people have measured, read into one schema, whichever tool wrote it.

>>> import pi2_fluid as pf
>>> data = pf.measured.read("[1700000000.0] 64 bytes from 10.0.0.1: icmp_seq=1 time=20.5 ms")
>>> data.delay.values.tolist(), data.attrs["format"]
([[0.0205]], 'ping')
"""

from pi2_fluid.measured.flent_writing import write_flent
from pi2_fluid.measured.joining import join
from pi2_fluid.measured.reading import read

__all__ = ["join", "read", "write_flent"]
