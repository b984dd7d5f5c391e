"""AVQ: what its virtual queue loses, where it rests, and how its fluid moves."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid import Avq
from pi2_fluid.laws.aqms.avq import _elasticity

B = 7


def seen(arriving: float, capacity: float = 1000.0) -> pf.Seen:
    return pf.Seen(0.0, 0.0, arriving, capacity)


class TestLoss:
    @pytest.mark.parametrize("load", [0.2, 0.99, 1.0, 1.01, 3.0])
    def test_by_chance_it_is_that_of_a_markov_chain(self, load: float) -> None:
        """Packets that come and leave at random: the share of time that the queue is full."""
        weights = load ** np.arange(B + 1)
        assert Avq(buffer=B).lost(load) == pytest.approx(weights[-1] / weights.sum(), rel=1e-12)

    def test_evenly_it_is_what_exceeds_the_capacity(self) -> None:
        law = Avq(marking="overflow")
        assert law.lost(0.9) == 0.0
        assert law.lost(1.25) == pytest.approx(0.2, rel=1e-14)

    @pytest.mark.parametrize("marking", ["mm1k", "overflow"])
    @pytest.mark.parametrize("p", [1e-12, 1e-4, 1 / 101, 0.3, 0.999])
    def test_the_load_is_read_back(self, marking: str, p: float) -> None:
        law = Avq(marking=marking)
        assert law.lost(law.load_of(p)) == pytest.approx(p, rel=1e-3 if p < 1e-9 else 1e-11)

    def test_long_queues_make_no_warning(self) -> None:
        law = Avq(buffer=1e6)
        loads = np.array([0.0, 1e-9, 0.5, 1.0, 2.0, 1e9])
        np.testing.assert_allclose(
            law.lost(loads), [0.0, 0.0, 0.0, 1 / (1e6 + 1), 0.5, 1.0], rtol=1e-6
        )
        assert law.load_of(np.array([1e-3, 0.5])) == pytest.approx([1.001, 2.0], rel=1e-2)

    @pytest.mark.parametrize("load", [0.9, 1.0, 1.056, 4.0])
    def test_elasticity(self, load: float) -> None:
        law, h = Avq(), 1e-6
        around = [np.log(law.lost(load * np.exp(step))) for step in (-h, h)]
        found = float(_elasticity(np.log(load), 100.0))
        assert found == pytest.approx((around[1] - around[0]) / (2 * h), rel=1e-5)


class TestLaw:
    def test_the_virtual_capacity_follows_what_arrives(self) -> None:
        law = Avq(alpha=0.3, utilization=0.9)
        # 0.3 (900 - 1100) per s^2, over 1000 per s
        assert law.drift((0.7,), seen(1100.0))[0] == pytest.approx(-0.06, rel=1e-12)
        assert law.saturate((1.2,)) == (1.0,)
        assert law.saturate((-0.1,)) == (0.0,)

    def test_signals_are_those_of_what_arrives_now(self) -> None:
        law = Avq()
        p = law.signals((0.8,), seen(840.0))
        assert p.classic == p.scalable == law.lost(1.05)
        assert law.controller((0.8,)) == law.lost(0.98 / 0.8)
        assert law.signals((0.8,), seen(0.0)).classic == 0.0

    def test_the_virtual_queue_is_a_part_of_the_buffer(self) -> None:
        assert Avq(buffer=50, buffer_fraction=0.5).holds_at_most == 25.0
        assert Avq(buffer=50, buffer_fraction=0.5).lost(0.9) == Avq(buffer=25).lost(0.9)

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"utilization": 1.01}, "utilization = 1.01"),
            ({"alpha": 0.0}, "alpha = 0.0"),
            ({"start": 0.0}, "start = 0.0"),
            ({"buffer": 0.0}, "buffer = 0.0"),
            ({"buffer_fraction": 0.0}, "buffer_fraction = 0.0"),
        ],
    )
    def test_what_it_refuses(self, given: dict[str, float], said: str) -> None:
        with refused(pf.DomainError, said):
            Avq(**given)


# Published rules worked out by a second implementation: flows, packets per second, base RTT; the
# window, p and rho at rest.
RESTS = [
    ("mm1k", 20, 1250.0, 0.1, 6.125, 0.053311120366513955, 1.0560726788750918),
    ("overflow", 20, 1250.0, 0.1, 6.125, 0.053311120366513955, 1.0563132424109107),
    ("mm1k", 100, 12500.0, 0.04, 4.9, 0.08329862557267803, 1.0908525887796872),
    ("overflow", 5, 1250.0, 0.1, 24.5, 0.003331945022907122, 1.0033430839949855),
]


class TestRest:
    @pytest.mark.parametrize("case", RESTS, ids=lambda case: f"{case[0]}-{case[1]}")
    def test_a_part_of_the_link_is_used_and_no_queue_waits(
        self, case: tuple[str, int, float, float, float, float, float]
    ) -> None:
        marking, count, capacity, base, window, p, load = case
        law, flows = Avq(marking=marking), pf.Flows(pf.Reno(), count, base)
        point = pf.equilibrium(flows, law, 8000.0 * capacity, packet_size="1000B")
        assert point.window[0] == pytest.approx(window, rel=1e-10)
        assert point.p[0] == point.controller == pytest.approx(p, rel=1e-10)
        assert law.at_rest(point.controller, capacity)[0][0] == pytest.approx(
            0.98 / load, rel=1e-10
        )
        assert (point.queue_delay, point.broken) == (0.0, ())
        assert point.share[0] == pytest.approx(0.98, rel=1e-10)

    def test_where_enough_is_lost_below_it_the_virtual_capacity_is_the_links(self) -> None:
        """With 20 packets, a load of 0.91 loses what these flows need: less than 0.98 arrives."""
        law, flows = Avq(buffer=20), pf.Flows(pf.Reno(), 20, "200ms")
        with pytest.warns(pf.AssumptionWarning, match=r"rests at 0\.909 of the capacity, below"):
            point = pf.equilibrium(flows, law, "10Mbit/s", packet_size="1000B")
        assert point.broken == ("clamped",)
        assert law.at_rest(point.controller, 1250.0)[0] == (1.0,)
        assert point.p[0] == pytest.approx(law.lost(point.share[0]), rel=1e-9)
        assert point.p[0] == pytest.approx(2.0 / point.window[0] ** 2, rel=1e-12)


LINK = pf.Link("10Mbit/s", "100 packets", "1000B")


def scenario(seconds: float, law: pf.Aqm, count: int = 40) -> pf.Scenario:
    flows = pf.Flows(pf.Reno(), count, "100ms", initial_window=3, slow_start=False)
    return pf.Scenario(seconds, LINK, law, flows)


class TestFluid:
    @pytest.mark.parametrize("marking", ["mm1k", "overflow"])
    def test_compiled_as_in_python(self, marking: str) -> None:
        run = scenario(0.8, Avq(marking=marking, alpha=2.0))
        one, other = (
            pf.fluid.simulate(run, tolerance=1e-8, engine=engine) for engine in ("c", "python")
        )
        np.testing.assert_allclose(one.controller, other.controller, rtol=1e-6)
        np.testing.assert_allclose(one.window, other.window, rtol=1e-6)
        assert float(one.queue.max()) < 100.0

    @pytest.mark.slow
    @pytest.mark.usefixtures("jax")
    def test_many_runs_side_by_side_stay_within_its_bounds(self) -> None:
        law = Avq(alpha=3.0, buffer=20)
        flows = pf.Flows(pf.Reno(), 20, "200ms", initial_window=8, slow_start=False)
        run = pf.Scenario(20.0, LINK, law, flows)
        counts = np.array([20.0, 21.0])
        found = pf.fluid.batch(run, {"flows.0.count": counts}, engine="jax")
        assert found.controller_min.values == pytest.approx([law.lost(0.98)] * 2, rel=1e-9)
        alone = pf.fluid.simulate(run)
        mean = float(found.controller_mean.values[0])
        assert mean == pytest.approx(float(alone.controller.mean()), rel=0.01)

    @pytest.mark.slow
    def test_it_comes_to_rest_and_stays_at_its_bound(self) -> None:
        law = Avq(alpha=3.0)
        last = pf.fluid.simulate(scenario(30.0, law)).isel(time=-1)
        point = pf.equilibrium(scenario(1.0, law).network)
        assert float(last.controller) == pytest.approx(point.controller, rel=1e-4)
        assert float(last.queue) == 0.0
        # a load that the bound holds off: Cv = C, and 91 % arrive
        law = Avq(alpha=3.0, buffer=20)
        flows = pf.Flows(pf.Reno(), 20, "200ms", initial_window=8, slow_start=False)
        run = pf.Scenario(60.0, LINK, law, flows)
        last = pf.fluid.simulate(run).isel(time=-1)
        assert float(last.controller) == pytest.approx(law.lost(0.98), rel=1e-12)
        assert float(last.throughput[0]) == pytest.approx(0.90857e7, rel=1e-3)
