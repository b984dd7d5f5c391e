"""What needs no JAX does not load it, and records are its pytrees whenever it comes."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run(code: str) -> str:
    """Run code in a Python of its own: here JAX is long loaded."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


USE = """
with jax.enable_x64(True):
    slopes = jax.jit(jax.grad(lambda s: s.aqm.alpha * s.changes[0].counts["web"]))(scenario)
assert slopes.aqm.alpha == 7.0, slopes
assert slopes.changes[0].counts["web"] == scenario.aqm.alpha, slopes
assert jax.tree.leaves(Own(gain=3.0)) == [3.0]
"""
MADE = """
import dataclasses
import pi2_fluid as pf
scenario = pf.Scenario("10s", pf.Link("10Mbit/s"), pf.Pi2(),
                       pf.Flows(pf.Reno(), 5, "50ms", name="web"),
                       pf.Change(at="5s", counts={"web": 7}))
@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Own(pf.Reno):
    gain: float = 1.0
    decrease: str = "none"
    def __post_init__(self):
        pass
"""


@pytest.mark.parametrize(
    "code",
    [
        f"import jax\n{MADE}{USE}",
        f"{MADE}import jax{USE}",
        f"{MADE}from jax import numpy\nimport jax{USE}",
        # Whoever only asks where JAX is has not loaded it yet.
        f"import importlib.util\n{MADE}importlib.util.find_spec('jax')\nimport jax{USE}",
    ],
    ids=["jax first", "jax last", "a module of jax last", "jax looked for, then imported"],
)
def test_records_are_pytrees_whenever_jax_is_imported(code: str) -> None:
    run(code)
