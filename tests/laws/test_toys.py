"""Two toys, as users write them, wherever a law can be: they branch, and have plain fields."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.laws.tapes import tape_of
from pi2_fluid.records.record import map_leaves


@dataclass(frozen=True, eq=False, kw_only=True)
class Toy(pf.Sender):
    """AIMD, more gently where its window is small."""

    signal: ClassVar = "classic"
    more: float = 2.0
    decrease: float = 0.3
    low: float = 10.0

    def cut(self, w):
        return self.decrease if w > self.low else self.decrease * w / self.low

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        return self.more / rtt - self.cut(w) * w * w_delayed / rtt_delayed * p_delayed

    def acked(self, w, acks, marks, rtt):
        return self.more * acks / w, self.cut(w) * w * marks


@dataclass(frozen=True, eq=False, kw_only=True)
class Ramp(pf.Aqm):
    """Signals as an average of the delay says, which decays faster while nothing waits."""

    low: float = 0.005
    high: float = 0.2
    most: float = 0.1
    weight: float = 0.1
    idle: float = 0.5

    def speed(self, seen):
        return self.weight if seen.queue_delay > 0.0 else self.idle

    def initial(self):
        return (0.0,)

    def update(self, state, seen, dt):
        return (state[0] + self.speed(seen) * (seen.queue_delay - state[0]),)

    def flow(self, state, seen, d_queue_delay):
        return (self.speed(seen) * (seen.queue_delay - state[0]) / self.update_interval,)

    def controller(self, state):
        above = state[0] - self.low
        return self.most * above / (self.high - self.low) if above > 0.0 else 0.0

    def encode(self, u):
        return pf.Signal(u, u)


PAIRS = [(Toy(), pf.Pi2()), (pf.Reno(), Ramp()), (Toy(), Ramp())]
pairs = pytest.mark.parametrize(("sender", "aqm"), PAIRS, ids=["sender", "queue", "both"])


def scenario(sender, aqm, duration="4s"):
    return pf.Scenario(duration, pf.Link("20Mbit/s"), aqm, pf.Flows(sender, 5, "80ms"))


def test_plain_fields_are_numbers_of_the_tape():
    """So that one tape serves all of a class, and a formula has their names."""
    tape = tape_of(Toy(), "rate")
    assert tape.parameters == ("law.more", "law.decrease", "law.low")
    assert tape_of(Toy(more=3.0), "rate") is tape
    assert r"\text{more}" in Toy().formula()
    assert r"\text{most}" in Ramp().formula()


@pairs
@pytest.mark.parametrize("how", [{}, {"clock": "acks"}], ids=["rate", "acks"])
def test_an_array_of_loops_is_each_of_them(sender, aqm, how):
    """Of windows on both sides of the branch."""
    load, rtt = np.array([0.05, 0.2, 0.4]), np.array([0.15, 0.2, 0.9])
    many = pf.Loop(sender, aqm, rtt=rtt, p_prime=load, update="sampled", **how).margins()
    for place, (one_load, one_rtt) in enumerate(zip(load, rtt, strict=True)):
        one = pf.Loop(sender, aqm, rtt=one_rtt, p_prime=one_load, update="sampled", **how)
        assert many.gain_margin_db[place] == pytest.approx(one.margins().gain_margin_db, rel=1e-9)


def test_its_numbers_may_be_arrays():
    loops = pf.Loop(Toy(decrease=np.array([0.3, 0.4])), pf.Pi2(), rtt=0.1, p_prime=0.5)
    each = [pf.Loop(Toy(decrease=b), pf.Pi2(), rtt=0.1, p_prime=0.5) for b in (0.3, 0.4)]
    found, known = loops.margins(), [loop.margins() for loop in each]
    np.testing.assert_allclose(found.gain_margin_db, [m.gain_margin_db for m in known], rtol=1e-9)


@pairs
def test_routes_and_acks_run_compiled(sender, aqm):
    links = [pf.Node("a", pf.Link("20Mbit/s"), aqm), pf.Node("b", pf.Link("25Mbit/s"), aqm)]
    flows = [
        pf.Flows(sender, 5, "80ms", route=("a", "b")),
        pf.Flows(pf.Reno(), 2, "40ms", route=("b",)),
    ]
    over_two = pf.Scenario("2s", network=pf.Network(links, flows))
    assert pf.fluid.simulate(over_two).attrs["compiled"]
    assert pf.fluid.simulate(scenario(sender, aqm, "2s"), clock="acks").attrs["compiled"]


@pytest.mark.slow
def test_a_batch_by_jax_is_that_by_c():
    pytest.importorskip("jax")
    over = {"link.capacity": ["10Mbit/s", "20Mbit/s"]}
    by = [pf.fluid.batch(scenario(Toy(), Ramp()), over, engine=engine) for engine in ("c", "jax")]
    np.testing.assert_allclose(by[1].queue_delay_mean, by[0].queue_delay_mean, rtol=1e-8)


@pytest.mark.slow
def test_tune_branches_with_a_sender():
    """The margins that it promises are those of the loops in its region, one by one."""
    design = pf.tune("100ms", senders=(Toy(),))
    aqm = pf.Pi2(alpha=design.alpha, beta=design.beta, update_interval=design.update_interval)
    for p_prime in (1e-3, 0.05, 0.3):
        for clock in ("rate", "acks"):
            loop = pf.Loop(Toy(), aqm, rtt="100ms", p_prime=p_prime, update="sampled", clock=clock)
            assert loop.margins().gain_margin_db > design.least.gain_margin_db - 1e-6


def test_sweeps_go_over_its_numbers():
    over = {"flows.0.sender.more": [1.0, 2.0]}
    result = pf.sweep(scenario(Toy(), pf.Pi2(), "2s"), over, engine=pf.Fluid())
    one = pf.sweep(scenario(replace(Toy(), more=1.0), pf.Pi2(), "2s"), {"aqm.target": [0.02]})
    assert float(result.delay_mean[0]) == pytest.approx(float(one.delay_mean[0]), rel=1e-12)


def test_batches_go_over_its_numbers():
    made, over = scenario(Toy(), pf.Pi2()), {"flows.0.sender.more": [1.0, 2.0]}
    runs = pf.fluid.batch(made, over, engine="c")
    (one,) = pf.fluid.batch(made, {"aqm.target": [0.02]}, engine="c").queue_delay_mean
    assert float(runs.queue_delay_mean[1]) == pytest.approx(float(one), rel=1e-12)
    assert float(runs.queue_delay_mean[0]) < float(one)


@pytest.mark.slow
def test_lanes_are_differentiable(jax):
    """Forwards, through ticks, jumps that move with the number, and branches.

    Against differences of order 4 of the same steps, and against trajectories of exact events.
    """
    from pi2_fluid.engines.fluid.lanes import jitted
    from pi2_fluid.engines.fluid.lanes.device import this_device
    from pi2_fluid.engines.fluid.lanes.timetable import tabulate
    from pi2_fluid.engines.fluid.lanes.variation import vary

    path, at = "flows.0.sender.more", np.array([2.0])
    flows = pf.Flows(Toy(), 10, "100ms", initial_window=1, slow_start=False)
    made = pf.Scenario("8s", pf.Link("10Mbit/s"), pf.Pi2(), flows)
    table = tabulate(vary(made, {path: at}), continuous=False, step=0.008, after=0.0, sample=None)

    def mean(more):
        sender = map_leaves(lambda leaf, place: more if place == ".more" else leaf, Toy())
        varied = table._replace(senders=(sender,))
        shape = jitted.shape_of(varied, 256, this_device())
        plan = jitted.plan_of(varied, shape.nodes)
        found = jitted.run_shape(shape, 0, jitted.given_of(varied), plan)
        return found["delay"][0] / (2.0 * float(table.last[0]))

    with jax.enable_x64(True):
        x = jax.numpy.asarray(at)
        _, slope = jax.jvp(mean, (x,), (jax.numpy.ones(1),))
        e = 1e-4 * x
        near, far = (mean(x + n * e) - mean(x - n * e) for n in (1, 2))
        quotient = (8.0 * near - far) / (12.0 * e[0])
    assert float(slope) == pytest.approx(float(quotient), rel=1e-6)
    known = pf.fluid.gradient(made, lambda run: float(run.queue_delay.mean()), path, sample="1ms")
    assert float(slope) == pytest.approx(known[path], rel=3e-3)
