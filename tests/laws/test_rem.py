"""REM: what its price adds up, how it signals, where it rests, and how its fluid moves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid import Rem

T = 2e-3


def seen(queue: float, arriving: float = 0.0, capacity: float = 1000.0) -> pf.Seen:
    return pf.Seen(queue / capacity, queue, arriving, capacity)


class TestLaw:
    def test_an_update_is_the_rule_of_ns2(self) -> None:
        law = Rem(gamma=0.01, weight=0.25)
        # average 0.75 x 6 + 0.25 x 10 = 7; 2 are served; 30 wait, 20 should
        price, average, count = law.update((0.5, 6.0, 10.0), seen(30.0), T)
        assert price == pytest.approx(0.5 + 0.01 * (7.0 + 0.1 * (30.0 - 20.0) - 2.0), rel=1e-14)
        assert (average, count) == (7.0, 0.0)

    def test_it_is_a_pi_controller_of_the_queue(self) -> None:
        """n - C T is what the queue grows by: per update alpha gamma on q - target, gamma on q'."""
        law, capacity = Rem(gamma=0.3, alpha=0.7, target=5), 1000.0
        pi = pf.Pi(
            alpha=0.7 * 0.3 * capacity, beta=0.3 * capacity, target=5 / capacity, update_interval=T
        )
        state, theirs, queue = law.initial(), (0.4, 8.0 / capacity), 8.0
        state = (0.4, *state[1:])
        for count in (9.0, 0.0, 2.0, 17.0):
            queue += count - capacity * T
            state = law.update((*state[:2], count), seen(queue), T)
            theirs = pi.update(theirs, seen(queue), T)
            assert state[0] == pytest.approx(theirs[0], rel=1e-12)

    def test_packets_are_counted_between_updates(self) -> None:
        assert Rem().drift((0.3, 2.0, 7.0), seen(4.0, 1500.0)) == (0.0, 0.0, 1500.0)

    @pytest.mark.parametrize("weight", [1.0, 0.2])
    def test_continuous_time_is_the_limit_of_its_updates(self, weight: float) -> None:
        """A queue that lies still and a constant rate, for 1 s, after an average has settled."""
        law = Rem(weight=weight)
        here = seen(50.0, 1300.0)
        state = (3.0, 1300.0 * T, 0.0)
        slope = law.flow(state, here, 9.0)
        for _ in range(round(1.0 / T)):
            state = law.update((*state[:2], 1300.0 * T), here, T)
        assert slope[0] == pytest.approx(state[0] - 3.0, rel=1e-12)
        assert slope[0] == pytest.approx(1e-3 * 300.0 + 1e-4 / T * 30.0, rel=1e-12)
        assert slope[1:] == pytest.approx((0.0, 0.0), abs=1e-9)

    def test_an_average_follows_as_fast_as_in_steps(self) -> None:
        law, here, state = Rem(weight=0.2), seen(20.0, 1300.0), (0.0, 2.0, 0.0)
        rate = law.flow(state, here, 0.0)[1] / (1300.0 * T - 2.0)
        assert math.exp(-rate * T) == pytest.approx(0.8, rel=1e-12)

    def test_the_price_is_never_negative_and_has_no_upper_clip(self) -> None:
        assert Rem().saturate((-1e-3, 2.0, 7.0)) == (0.0, 2.0, 7.0)
        assert Rem().saturate((1e6, 2.0, 7.0)) == (1e6, 2.0, 7.0)

    def test_signals_add_prices_up(self) -> None:
        law = Rem(phi=1.4)
        prices = [1e-9, 0.2, 4.0]
        let_through = math.prod(1.0 - law.encode(u).classic for u in prices)
        assert let_through == pytest.approx(1.0 - law.encode(sum(prices)).scalable, rel=1e-14)
        assert law.decode(law.encode(0.7).classic, "classic") == pytest.approx(0.7, rel=1e-14)
        assert 1.0 - law.encode(law.highest).classic == pytest.approx(1e-15, rel=0.2)

    @pytest.mark.parametrize(("ecn", "where"), [(False, "enqueue"), (True, "dequeue")])
    def test_where_packets_are_signalled(self, ecn: bool, where: str) -> None:
        assert Rem(ecn=ecn).signals_at == where

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"phi": 1.0}, "phi = 1.0 is outside (1, inf)"),
            ({"gamma": 0.0}, "gamma = 0.0"),
            ({"alpha": 0.0}, "alpha = 0.0"),
            ({"target": 0.0}, "target = 0.0"),
            ({"weight": 1.01}, "weight = 1.01"),
            ({"update_interval": 0.0}, "update_interval = 0.0"),
        ],
    )
    def test_what_it_refuses(self, given: dict[str, float], said: str) -> None:
        with refused(pf.DomainError, said):
            Rem(**given)


# Published rules worked out by a second implementation: flows, packets per second, price at rest.
RESTS = [
    (20, 1250.0, 57.18698828605384),
    (160, 8000.0, 125.10322390481036),
    (20, 8000.0, 1.8391547765473142),
]


class TestRest:
    @pytest.mark.parametrize(("count", "capacity", "price"), RESTS)
    def test_the_target_waits_at_any_load(self, count: int, capacity: float, price: float) -> None:
        flows = pf.Flows(pf.Reno(), count, "80ms")
        point = pf.equilibrium(flows, Rem(), 8000.0 * capacity, packet_size="1000B")
        assert point.controller == pytest.approx(price, rel=1e-12)
        assert point.queue == pytest.approx(20.0, rel=1e-14)
        assert point.share[0] == pytest.approx(1.0, rel=1e-12)
        assert point.broken == ()

    def test_one_flow_alone_must_leave_its_queue_room(self) -> None:
        with refused(pf.DomainError, "Rem rests at a queue delay of 0.2 s"):
            pf.equilibrium_of(pf.Reno(), Rem(), rtt="100ms", p=0.02)

    def test_its_target_is_no_delay(self) -> None:
        assert Rem().target_delay is None
        assert pf.Pi2().target_delay == 0.02
        assert pf.Red(min=5, max=15).target_delay is None


def scenario(aqm: pf.Aqm, seconds: float = 6.0) -> pf.Scenario:
    link = pf.Link("20Mbit/s", "2000 packets", "1000B")
    flows = pf.Flows(pf.Reno(), 40, "60ms", initial_window=5, slow_start=False)
    return pf.Scenario(seconds, link, aqm, flows)


class TestFluid:
    GAMMA = 0.02

    @pytest.mark.parametrize("update", ["continuous", "sampled"])
    def test_compiled_as_in_python(self, update: str) -> None:
        law = Rem(gamma=self.GAMMA, update_interval="20ms", weight=0.5)
        run = scenario(law, 1.0)
        one, other = (
            pf.fluid.simulate(run, update=update, tolerance=1e-8, engine=engine)
            for engine in ("c", "python")
        )
        np.testing.assert_allclose(one.controller, other.controller, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(one.queue, other.queue, rtol=1e-5, atol=1e-4)
        assert float(one.queue.max()) > 30.0

    @pytest.mark.slow
    @pytest.mark.parametrize("update", ["continuous", "sampled"])
    def test_it_comes_to_rest(self, update: str) -> None:
        law = Rem(gamma=self.GAMMA)
        run = scenario(law, 30.0)
        last = pf.fluid.simulate(run, update=update).isel(time=-1)
        point = pf.equilibrium(run.network)
        assert float(last.queue) == pytest.approx(20.0, rel=1e-3)
        assert float(last.controller) == pytest.approx(point.controller, rel=1e-3)
