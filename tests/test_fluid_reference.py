"""The nine reference trajectories: two solvers that share no code agreed on them to 5e-11.

tests/data/fluid_<name>.csv holds q, the controller's variable and the windows, fluid_<name>.toml
the scenario. They cover start-up, steps of load and capacity, clips of the controller, an empty and
a full queue, a limit cycle, several classes and round-trip times, and unresponsive traffic.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import pi2_fluid as pf

DATA = Path(__file__).parent / "data"
# name: [controller, time between rows]
REFERENCES = json.loads((DATA / "fluid_references.json").read_text(encoding="utf-8"))


def error(name, table, **how):
    """Largest errors of queue (packets), controller and windows over all rows."""
    controller, sample = REFERENCES[name]
    scenario = pf.Scenario.load(DATA / f"fluid_{name}.toml")
    result = pf.fluid.simulate(scenario, update=controller, sample=sample, **how)
    truth = table(f"fluid_{name}.csv")
    # the rows past the end of the run that a table may have are not compared
    rows = min(len(result.time), len(truth["t"]))
    assert rows >= len(truth["t"]) - 1
    np.testing.assert_allclose(result.time[:rows], truth["t"][:rows], atol=1e-9)
    windows = [key for key in truth if key.startswith("W_")]
    found = result.window.to_numpy()[:rows, : len(windows)]
    return (
        np.abs(result.queue.to_numpy()[:rows] - truth["q"][:rows]).max(),
        np.abs(result.controller.to_numpy()[:rows] - truth["p_prime"][:rows]).max(),
        np.abs(found - np.stack([truth[key] for key in windows], axis=1)[:rows]).max(),
    )


@pytest.mark.parametrize("name", REFERENCES)
def test_default_accuracy(name, table):
    """1e-6 packets of queues of 20 to 380; a limit cycle keeps phase errors, hence 1e-5."""
    q, u, w = error(name, table)
    most = 1e-5 if name == "reno_pi_cycle" else 1e-6
    assert q < most
    assert u < most / 100
    assert w < most


@pytest.mark.parametrize("name", REFERENCES)
def test_fixed_step(name, table):
    """1 ms, all events aligned."""
    assert error(name, table, step="1ms")[0] < (1e-5 if name == "reno_pi_cycle" else 1e-6)


@pytest.mark.parametrize("name", ["reno_pi2_n5", "cstep", "two_rtt"])
def test_the_python_engine_alone(name, table):
    assert error(name, table, engine="python", step="2ms")[0] < 2e-6
