"""What needs no JAX does not load it, and records are its pytrees whenever it comes.

`pytest --without-jax` runs all other tests in the same way.
"""

from __future__ import annotations

import pytest
from programs import printed_by

NO_JAX = """
import sys
class NoJax:
    def find_spec(self, name, path=None, target=None):
        if name == "jax":
            raise ModuleNotFoundError("No module named 'jax'", name=name)
sys.meta_path.insert(0, NoJax())
import pi2_fluid as pf
"""


def test_the_first_margins_load_numpy_alone() -> None:
    loaded = printed_by(
        "import sys, pi2_fluid as pf\n"
        "pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1).margins()\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & "
        "{'control', 'jax', 'matplotlib', 'numpy', 'pandas', 'scipy', 'typer', 'xarray'}))"
    )
    assert loaded.strip() == "['numpy']"


@pytest.mark.slow
def test_loops_engines_and_checks_run_without_jax() -> None:
    """Every shipped law in a loop, mixtures, the step response, trajectories, packets, checks."""
    printed_by(
        f"""{NO_JAX}
classic = [pf.Reno(), pf.CReno(), pf.Cubic(), pf.Dctcp(), pf.Scalable()]
for aqm in (pf.Pi(), pf.Pie(), pf.Pi2(), pf.CoupledPi2(), pf.Red(min=5, max=50)):
    for sender in classic:
        for update in ("continuous", "sampled") if aqm.update_interval else ("continuous",):
            assert pf.Loop(sender, aqm, rtt=0.1, p=0.01, update=update).margins()
mixed = pf.Loop([pf.Flows(pf.Cubic(), 5, "50ms"), pf.Flows(pf.Dctcp(), 5, "20ms")],
                pf.DualPi2(), capacity="40Mbit/s")
assert abs(mixed.margins().phase_margin_deg) < 180.0
assert mixed.step([0.1, 0.2]).size == 2
scenario = pf.Scenario("1s", pf.Link("10Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 5, "50ms"))
for linear in (False, True):
    assert pf.fluid.simulate(scenario, linear=linear).queue_delay.size > 1
assert pf.fluid.batch(scenario, {{"aqm.alpha": [0.1, 0.2]}}, engine="c").queue_delay_mean.size == 2
assert pf.packet.simulate(scenario, seeds=1).attrs
assert pf.check(pf.qdisc.show(pf.qdisc.install(pf.DualPi2(), "dualpi2")))
assert pf.Scenario.from_toml(scenario.to_toml()) == scenario
"""
    )


@pytest.mark.slow
def test_what_needs_jax_says_so_in_one_sentence() -> None:
    told = printed_by(
        f"""{NO_JAX}
import dataclasses
from typing import ClassVar
@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Bends(pf.Reno):
    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        return pf.ops.namespace(w).tanh(w) / rtt - 0.5 * w * w_delayed / rtt_delayed * p_delayed
scenario = pf.Scenario("1s", pf.Link("10Mbit/s"), pf.Pi2(),
                       pf.Flows(pf.Reno(), 5, "50ms", slow_start=False))
for ask in (lambda: pf.Loop(Bends(), pf.Pi2(), rtt=0.1, p=0.01).linear,
            lambda: pf.fluid.batch(scenario, {{"aqm.alpha": [0.1, 0.2]}}, engine="jax")):
    try:
        ask()
    except pf.UnsupportedError as error:
        print(error)
"""
    )
    first, second = told.splitlines()
    assert first == (
        "Bends.rate cannot be differentiated: use only + - * / ** and pi2_fluid.ops in it, or"
        " install JAX for other functions: pip install jax (AttributeError)."
    )
    assert second == (
        'engine = "jax" needs JAX, which is not installed: pip install jax, or use engine="c".'
    )


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


@pytest.mark.slow
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
    printed_by(code)
