"""How much memory many classes take, measured in a process of its own."""

from __future__ import annotations

import pytest
from programs import printed_by

pytest.importorskip("resource")

# The classes have all different paths, so that nothing of the past is shared.
PROGRAM = """
import resource, sys, warnings
import xarray
import pi2_fluid as pf
import pi2_fluid.engines.fluid.fluid, pi2_fluid.engines.packet.packets

def peak():
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

engine, count, duration = sys.argv[1], int(sys.argv[2]), sys.argv[3]
flows = [pf.Flows(pf.Reno(), 1, 0.01 + 0.1 * i / count, name=f"f{i}") for i in range(count)]
scenario = pf.Scenario(duration, pf.Link(1e6 * count), pf.Pi2(), flows)
warnings.simplefilter("ignore", pf.AssumptionWarning)
before = peak()
if engine == "fluid":
    result = pf.fluid.simulate(scenario)
else:
    result = pf.packet.simulate(scenario, seeds=1)
assert result.sizes["flows"] == count
print(peak() - before)
"""
MOST = 300e6


def memory(engine, count, duration):
    return float(printed_by(PROGRAM, engine, str(count), duration))


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "count"), [("fluid", 300), ("packet", 1000)])
def test_a_minute_of_many_classes(engine, count):
    """Today some 170 and 190 MB; it was a SolverError after 1 GB, and 1.5 GB."""
    assert memory(engine, count, "60s") < MOST


@pytest.mark.slow
def test_some_seconds_of_many_classes():
    """100 classes in the fluid, of which 20 s took 528 MiB; 2 s are as much as 20 now."""
    assert memory("fluid", 100, "2s") < 150e6
