"""Queues without a controller to analyse: a plain buffer, and CoDel."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.laws.aqms.codel import CoDel
from pi2_fluid.laws.aqms.taildrop import TailDrop
from pi2_fluid.laws.senders.cubic import Cubic


def seen(arrival_rate, overflow, delay=0.1):
    return pf.Seen(delay, np.nan, arrival_rate, np.nan, overflow)


LOOPS = {
    "loop": lambda aqm: pf.Loop(pf.Reno(), aqm, rtt="100ms", p=0.01),
    "loop-of-flows": lambda aqm: pf.Loop(pf.Flows(Cubic(), 10, "80ms"), aqm, capacity="12Mbit/s"),
    "equilibrium": lambda aqm: pf.equilibrium(pf.Flows(pf.Reno(), 10, "80ms"), aqm, "12Mbit/s"),
    "equilibrium-of-arrays": lambda aqm: pf.equilibrium(
        pf.Flows(pf.Reno(), [5, 10], "80ms"), aqm, "12Mbit/s"
    ),
    "equilibrium_of": lambda aqm: pf.equilibrium_of(pf.Scalable(), aqm, rtt="100ms", p=0.01),
}


class TestTailDrop:
    def test_signals_what_is_lost(self):
        queue = TailDrop()
        state = queue.initial()
        assert queue.signals(state, seen(1200.0, 0.0)) == (0.0, 0.0)
        assert queue.signals(state, seen(1200.0, 200.0)) == pytest.approx((1 / 6, 1 / 6))
        assert queue.signals(state, seen(1200.0, 1200.0)) == (1.0, 1.0)

    def test_nothing_arrives_nothing_is_lost(self, jax):
        assert TailDrop().signals((0.0,), seen(0.0, 0.0)) == (0.0, 0.0)
        rates, lost = np.array([0.0, 1000.0, 2000.0]), np.array([0.0, 0.0, 500.0])
        assert TailDrop().signals((0.0,), seen(rates, lost)).classic.tolist() == [0, 0, 0.25]
        with jax.enable_x64(True):
            traced = jax.jit(lambda a, o: TailDrop().signals((0.0,), seen(a, o)))(rates, lost)
            slope = jax.grad(lambda o: TailDrop().signals((0.0,), seen(0.0, o)).classic)(0.0)
        assert traced.scalable.tolist() == [0, 0, 0.25]
        assert float(slope) == 0.0

    def test_never_moves(self):
        queue = TailDrop()
        state = queue.initial()
        assert len(state) == 1
        assert queue.update_interval is None
        assert queue.controller(state) == 0.0
        assert queue.update(state, seen(1e3, 1e2), 0.1) == state
        assert queue.saturate(state) == state
        for motion in (queue.drift(state, seen(1e3, 1e2)), queue.flow(state, seen(1e3, 1e2), 1.0)):
            assert motion == (0.0,)

    @pytest.mark.parametrize("call", LOOPS.values(), ids=LOOPS)
    def test_has_no_operating_point(self, call):
        with pytest.raises(pf.UnsupportedError, match=r"^TailDrop only loses .* has no controller"):
            call(TailDrop())


class TestCoDel:
    @pytest.mark.parametrize("call", LOOPS.values(), ids=LOOPS)
    def test_has_no_loop(self, call):
        with pytest.raises(pf.UnsupportedError, match=r"^CoDel decides packet by packet"):
            call(CoDel())

    @pytest.mark.parametrize(
        "call",
        [
            lambda queue: queue.initial(),
            lambda queue: queue.update((0.0,), seen(1.0, 0.0), 0.1),
            lambda queue: queue.saturate((0.0,)),
            lambda queue: queue.controller((0.0,)),
            lambda queue: queue.encode(0.1),
            lambda queue: queue.decode(0.1, "classic"),
            lambda queue: queue.signals((0.0,), seen(1.0, 0.0)),
            lambda queue: queue.drift((0.0,), seen(1.0, 0.0)),
            lambda queue: queue.flow((0.0,), seen(1.0, 0.0), 0.0),
            lambda queue: queue.at_rest(0.1, 1000.0),
        ],
    )
    def test_refuses_every_door(self, call):
        with refused(
            pf.UnsupportedError, "packet-level simulation", match="time since its last drop"
        ):
            call(CoDel())

    @pytest.mark.parametrize("law", [CoDel, pf.FqCodel, pf.FqPie])
    def test_no_door_of_the_contract_is_left_open(self, law):
        public = {
            name for name in vars(pf.Aqm) if callable(getattr(pf.Aqm, name)) and name[0] != "_"
        }
        # One queue it is, nobody pushes it, any link will do, and it can mark: that asks nothing of
        # its law.
        below = law.__mro__[: law.__mro__.index(pf.Aqm)]
        own = {name for cls in below for name in vars(cls)}
        assert public - {"check_link", "in_one_queue", "pushed", "pushes", "with_marks"} <= own

    def test_fields(self):
        assert (CoDel().target, CoDel().interval) == (0.005, 0.1)
        assert CoDel(target="10ms", interval="200ms") == CoDel(target=0.01, interval=0.2)
        with pytest.raises(pf.QuantityError, match=r"^CoDel target = '5' has no unit"):
            CoDel(target="5")
        with pytest.raises(pf.DomainError, match=r"^CoDel interval = 0 is outside"):
            CoDel(interval=0)


@pytest.mark.parametrize("queue", [TailDrop(), CoDel(), CoDel(target="1ms")], ids=repr)
def test_is_a_record(queue, jax):
    assert queue.update_interval is None
    assert "update_interval" not in repr(queue)
    assert dataclasses.replace(queue) == queue
    leaves, structure = jax.tree.flatten(queue)
    assert jax.tree.unflatten(structure, leaves) == queue
    assert hash(dataclasses.replace(queue)) == hash(queue)
    with pytest.raises(TypeError, match="update_interval"):
        type(queue)(update_interval=0.1)
