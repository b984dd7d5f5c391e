"""A link with a price: what it counts, how it marks, and where it rests."""

from __future__ import annotations

import math

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.laws.aqms.price import Price


def seen(arriving: float, capacity: float) -> pf.Seen:
    return pf.Seen(0.0, 0.0, arriving, capacity)


class TestLaw:
    def test_the_price_is_the_delay_of_a_virtual_queue(self) -> None:
        law = Price(utilization=0.8)
        # 1500/s where 800/s are wanted: 700 wait after a second, for 700/800 s
        assert law.flow((0.3, 0.0), seen(1500.0, 1000.0), 0.0) == (0.875, 0.0)
        assert law.flow((0.3, 0.0), seen(800.0, 1000.0), 9.0) == (0.0, 0.0)

    def test_an_update_counts_packets(self) -> None:
        """Figure 4: (aveInput / virtCap - 1) updInterval, and the count begins again."""
        law = Price(utilization=0.8, update_interval="10ms")
        price, count = 0.25, 0.0
        arriving = [1500.0, 0.0, 300.0]
        for rate in arriving:
            for _ in range(10):
                count += law.drift((price, count), seen(rate, 1000.0))[1] * 1e-3
            before = price
            price, count = law.update((price, count), seen(rate, 1000.0), 0.01)
            assert price == pytest.approx(before + (rate / 800.0 - 1.0) * 0.01, rel=1e-13)
            assert count == 0.0

    def test_the_price_is_never_negative_and_has_no_upper_clip(self) -> None:
        assert Price().saturate((-1e-3, 7.0)) == (0.0, 7.0)
        assert Price().saturate((40.0, 7.0)) == (40.0, 7.0)

    @pytest.mark.parametrize(
        ("phi", "low", "high"), [(10, 0.022, 1.3), (100, 0.011, 0.65), (1000, 0.007, 0.43)]
    )
    def test_marks_of_5_to_95_percent(self, phi: float, low: float, high: float) -> None:
        """The paper's table in section IV-A."""
        law = Price(phi=phi)
        assert law.decode(0.05, "classic") == pytest.approx(low, abs=5e-4)
        assert law.decode(0.95, "scalable") == pytest.approx(high, abs=5e-3)

    def test_independent_marks_add_prices_up(self) -> None:
        law = Price(phi=7.0)
        prices = [1e-9, 0.02, 0.4]
        unmarked = math.prod(1.0 - law.encode(u).scalable for u in prices)
        assert unmarked == pytest.approx(1.0 - law.encode(sum(prices)).classic, rel=1e-14)

    @pytest.mark.parametrize("u", [1e-15, 1e-6, 0.3, 1.0, 2.5])
    def test_a_price_is_read_back(self, u: float) -> None:
        law = Price()
        p = law.encode(u)
        assert p.classic == p.scalable
        # 1 - p is rounded to the digits of 1
        assert law.decode(p.classic, "classic") == pytest.approx(u, rel=1e-15 / (1.0 - p.classic))

    def test_beyond_the_highest_price_everything_is_marked(self) -> None:
        law = Price()
        assert law.decode(1.0, "scalable") == law.highest == pytest.approx(7.5, abs=0.01)
        assert 1.0 - law.encode(law.highest).classic == pytest.approx(1e-15, rel=0.2)

    def test_it_rests_without_a_queue(self) -> None:
        assert Price().at_rest(0.2, 1000.0) == ((0.2, 0.0), 0.0)
        assert Price(utilization=0.9).full_load == 0.9

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"phi": 1.0}, "phi = 1.0 is outside (1, inf)"),
            ({"phi": 0.5}, "phi = 0.5"),
            ({"utilization": 0.0}, "utilization = 0.0"),
            ({"utilization": 1.01}, "utilization = 1.01"),
            ({"update_interval": 0.0}, "update_interval = 0.0"),
        ],
    )
    def test_what_it_refuses(self, given: dict[str, float], said: str) -> None:
        with refused(pf.DomainError, said):
            Price(**given)


class TestOneLink:
    def test_reno_rests_below_the_capacity_without_a_queue(self) -> None:
        point = pf.equilibrium(pf.Flows(pf.Reno(), 10, "80ms"), Price(), "12Mbit/s")
        assert point.queue_delay == 0.0
        assert point.window[0] == pytest.approx(0.95 * 1000.0 * 0.08 / 10, rel=1e-12)
        assert point.p[0] == pytest.approx(2.0 / point.window[0] ** 2, rel=1e-12)
        assert point.share[0] == pytest.approx(0.95, rel=1e-12)
        assert point.capacity == 1000.0
        assert point.broken == ()

    def test_a_price_above_1_is_no_clamped_controller(self) -> None:
        flows = pf.Flows(pf.Paganini(k=3000.0), 1, "80ms")
        point = pf.equilibrium(flows, Price(), "12Mbit/s")
        assert point.controller == pytest.approx(3000.0 / 950.0, rel=1e-9)
        assert point.broken == ()

    def test_where_even_that_does_not_help(self) -> None:
        flows = pf.Flows(pf.Paganini(k=1e5), 1, "80ms")
        with refused(pf.DomainError, "even at p = 1"):
            pf.equilibrium(flows, Price(), "12Mbit/s")

    def test_arrays_of_links(self) -> None:
        flows = pf.Flows(pf.Paganini(), np.array([32.0, 64.0]), "40ms")
        law = Price(utilization=np.array([0.95, 0.5]))
        point = pf.equilibrium(flows, law, "2Gbit/s", packet_size="1000B")
        expected = np.array([32.0, 64.0]) * 50.0 / (250_000 * np.array([0.95, 0.5]))
        assert point.controller == pytest.approx(expected, rel=1e-12)

    def test_loops_say_that_they_do_not_know_it_yet(self) -> None:
        with refused(pf.UnsupportedError, "Price acts on what arrives"):
            pf.Loop(pf.Reno(), Price(), rtt="100ms", p=0.02)

    @pytest.mark.slow
    def test_reno_finds_its_rest_in_time(self) -> None:
        """The fluid in Python counts packets between updates, and keeps the link 95 % full."""
        flows = pf.Flows(pf.Reno(), 10, "80ms", initial_window=7, slow_start=False)
        scenario = pf.Scenario(10, pf.Link("12Mbit/s"), Price(phi=1.2), flows)
        point = pf.equilibrium(flows, Price(phi=1.2), "12Mbit/s")
        for update in ("sampled", "continuous"):
            result = pf.fluid.simulate(scenario, update=update, initial=point, tolerance=1e-8)
            last = result.isel(time=-1)
            assert float(last.controller) == pytest.approx(point.controller, rel=1e-2), update
            assert float(last.queue) == 0.0
            assert float(last.throughput[0]) == pytest.approx(0.95 * 12e6, rel=5e-3)
