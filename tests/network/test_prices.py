"""Where links rest that have a price, and networks of any links: RED, tail drop, sums of marks."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from price_networks import PACKET, known_network, price_links
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.laws.aqms.price import Price
from pi2_fluid.laws.senders.paganini import Paganini

ROOT = Path(__file__).parents[2]
KNOWN = json.loads((ROOT / "tests/data/price_rests.json").read_text(encoding="utf-8"))
pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")


def lot(rates: list[float], sender: Paganini, **own: Any) -> pf.Network:
    """A parking lot: one flow over all links, and one over each."""
    nodes = price_links(rates)
    ways = [[node.name for node in nodes], *([node.name] for node in nodes)]
    flows = [pf.Flows(sender, 1, 0.1, f"f{i}", route=way) for i, way in enumerate(ways)]
    return pf.Network(nodes, flows, **own)


@pytest.mark.parametrize("utilization", [1.0, 0.95])
@pytest.mark.parametrize("known", KNOWN, ids=[known["name"] for known in KNOWN])
def test_known_rests(known: dict[str, Any], utilization: float) -> None:
    network = known_network(known["network"], utilization)
    point = pf.equilibrium(network)
    for name, values in known["rest"].items():
        assert getattr(point, name).to_numpy() == pytest.approx(values, rel=1e-13), name
    assert point.bottleneck.all()
    assert point.unique
    assert point.load.to_numpy() == pytest.approx(utilization, rel=1e-12)
    assert not point.queue_delay.any()
    assert point.rtt.to_numpy().tolist() == known["network"]["base_rtt"]


class TestFairness:
    @pytest.mark.parametrize("count", [1, 2, 7])
    def test_proportional_a_flow_over_n_equal_links_has_an_nth(self, count: int) -> None:
        rates = pf.equilibrium(lot([1000.0] * max(count, 2), Paganini())).rate.to_numpy()
        n = max(count, 2)
        assert rates[1:] == pytest.approx(1000.0 * n / (n + 1), rel=1e-13)
        assert rates[0] == pytest.approx(rates[1] / n, rel=1e-13)

    @pytest.mark.parametrize("a", [0.5, 2.0, 4.0])
    def test_alpha_fair(self, a: float) -> None:
        """K x_long^-a = n K x_short^-a over n equal links."""
        rates = pf.equilibrium(lot([10.0] * 3, Paganini(fairness=a, k=0.1))).rate.to_numpy()
        assert rates[0] == pytest.approx(rates[1] * 3 ** (-1.0 / a), rel=1e-12)

    def test_max_min_is_the_limit(self) -> None:
        """The smallest link is shared equally, and the others give what is left."""
        network = lot([2.0, 5.0, 8.0], Paganini(fairness=50.0, k=1e-3))
        assert pf.equilibrium(network).rate.to_numpy() == pytest.approx([1, 1, 4, 7], rel=1e-12)

    def test_they_maximise_utility(self) -> None:
        """No exchange along the links' boundaries has a larger sum of k log x."""
        rates = pf.equilibrium(lot([1000.0, 700.0], Paganini())).rate.to_numpy()

        def utility(long: float) -> float:
            return math.log(long) + math.log(1000.0 - long) + math.log(700.0 - long)

        assert rates[1:] == pytest.approx([1000.0 - rates[0], 700.0 - rates[0]], rel=1e-12)
        assert utility(rates[0]) > max(utility(rates[0] * by) for by in (0.999, 1.001))


def by_gradients(network: pf.Network, capacity: float) -> np.ndarray:
    """Prices that integrate what arrives too much until they rest: none of Newton's method."""
    routing = network.routing_matrix.to_numpy()
    price = np.full(len(routing), 0.05)
    senders: Any = [flow.sender.on_link(1500.0) for flow in network.flows]
    rtts = [float(flow.base_rtt) for flow in network.flows]
    counts = np.array([float(flow.count) for flow in network.flows])
    for _ in range(40_000):
        p = [float(Price().encode(q).scalable) for q in price @ routing]
        rates = [
            float(s.sending_rate_under(s.at_rest(rtt, mark), mark, rtt))
            for s, rtt, mark in zip(senders, rtts, p, strict=True)
        ]
        excess = routing @ (counts * rates) / capacity - 1.0
        moved = np.maximum(price + 2e-3 * excess, 0.0)
        if np.max(np.abs(moved - price)) < 1e-15:
            break
        price = moved
    return price


@pytest.mark.slow
def test_a_second_method_agrees() -> None:
    nodes = price_links([1000.0, 1000.0, 1000.0], utilization=0.95)
    flows = [
        pf.Flows(Paganini(), 2, 0.1, route=["l0", "l1", "l2"]),
        pf.Flows(Paganini(k=5.0), 3, 0.05, "b", route="l0"),
        pf.Flows(pf.Reno(), 3, 0.2, "reno", route=["l1", "l0"]),
        pf.Flows(Paganini(static=True, max_rate=PACKET * 900.0), 1, 0.1, "static", route="l2"),
    ]
    network = pf.Network(nodes, flows)
    point = pf.equilibrium(network)
    assert point.price.to_numpy() == pytest.approx(by_gradients(network, 1000.0), abs=1e-11)
    assert point.bottleneck.to_numpy().tolist() == [True, False, True]


@pytest.mark.slow
def test_random_networks_are_full_where_they_have_a_price() -> None:
    rng = np.random.default_rng(1)
    for _ in range(6):
        n = int(rng.integers(2, 9))
        nodes = price_links(list(10.0 ** rng.uniform(3.5, 5.5, n)))
        laws = [Paganini(), Paganini(fairness=0.7, k=3.0), pf.Reno(), pf.Scalable()]
        flows = [
            pf.Flows(
                laws[rng.integers(4)],
                rng.uniform(0.3, 2.0),
                rng.uniform(0.02, 0.3),
                f"f{i}",
                route=[f"l{k}" for k in rng.permutation(n)[: rng.integers(1, n + 1)]],
            )
            for i in range(rng.integers(2, 20))
        ]
        point = pf.equilibrium(pf.Network(nodes, flows))
        load, price = point.load.to_numpy() / 0.95, point.price.to_numpy()
        assert np.all(load <= 1.0 + 1e-10)
        assert load[price > 0.0] == pytest.approx(1.0, rel=1e-10)
        assert np.all(price >= 0.0)
        assert point.bottleneck.to_numpy().tolist() == (price > 0.0).tolist()


@pytest.mark.slow
def test_many_links_of_which_one_matters() -> None:
    nodes = price_links([1000.0 if place == 77 else 1e5 for place in range(200)])
    flows = [
        pf.Flows(Paganini(k=0.5), 5, 0.02, f"f{place}", route=(f"l{place}", "l77"))
        for place in range(200)
        if place != 77
    ]
    begin = time.process_time()
    point = pf.equilibrium(pf.Network(nodes, flows))
    assert time.process_time() - begin < 20.0
    assert point.bottleneck.to_numpy().nonzero()[0].tolist() == [77]
    assert float(point.price[77]) == pytest.approx(199 * 5 * 0.5 / 1000.0, rel=1e-12)


class TestPrices:
    def test_a_price_may_exceed_1(self) -> None:
        point = pf.equilibrium(lot([10.0, 10.0], Paganini(k=10.0)))
        assert point.price.to_numpy() == pytest.approx(1.5, rel=1e-10)
        assert point.broken == ("window",)

    def test_equal_links_in_a_row_have_no_prices_of_their_own(self) -> None:
        nodes = price_links([1000.0, 1000.0])
        point = pf.equilibrium(pf.Network(nodes, pf.Flows(Paganini(), 2, 0.1, route=("l0", "l1"))))
        assert not point.unique
        assert point.bottleneck.all()
        assert float(point.rate[0]) == pytest.approx(500.0, rel=1e-13)
        assert float(point.price.sum()) == pytest.approx(0.1, rel=1e-13)

    def test_links_that_nobody_needs_or_crosses(self) -> None:
        nodes = price_links([1000.0, 5000.0, 10.0])
        point = pf.equilibrium(pf.Network(nodes, pf.Flows(Paganini(), 2, 0.1, route=("l0", "l1"))))
        assert point.bottleneck.to_numpy().tolist() == [True, False, False]
        assert point.price.to_numpy().tolist()[1:] == [0.0, 0.0]
        assert point.load.to_numpy() == pytest.approx([0.95, 0.19, 0.0], rel=1e-12)

    def test_static_flows_need_no_price(self) -> None:
        flows = pf.Flows(Paganini(static=True, max_rate="1Mbit/s"), 2, 0.1, route=("l0", "l1"))
        point = pf.equilibrium(pf.Network(price_links([1000.0, 1000.0]), flows))
        assert not point.bottleneck.any()
        assert float(point.rate[0]) == pytest.approx(1e6 / PACKET, rel=1e-15)

    def test_the_number_of_prices_on_the_route_is_no_matter_at_rest(self) -> None:
        own = pf.equilibrium(lot([1000.0, 700.0], Paganini()))
        told = pf.equilibrium(lot([1000.0, 700.0], Paganini(bottlenecks=9)))
        assert own.rate.to_numpy() == pytest.approx(told.rate.to_numpy(), rel=1e-13)
        assert own.states != told.states

    def test_other_bases_read_other_prices(self) -> None:
        """A sender whose phi is not that of the links reads prices in proportion."""
        network = pf.Network(
            price_links([1000.0, 2000.0], phi=10.0),
            pf.Flows(Paganini(phi=100.0), 1, 0.1, route=("l0", "l1")),
        )
        assert float(pf.equilibrium(network).price[0]) == pytest.approx(0.05 * 2.0, rel=1e-12)

    def test_constant_rates_take_their_part(self) -> None:
        network = lot([1000.0, 1000.0], Paganini())
        cbr = pf.Flows(pf.Cbr(rate=PACKET * 400.0, thinned=False), route="l1")
        point = pf.equilibrium(pf.Network(network.nodes, [*network.flows, cbr]))
        assert point.rate.to_numpy()[[0, 2]].sum() == pytest.approx(600.0, rel=1e-12)
        # Dropped by the price, they leave more: solved as queues are
        cbr = pf.Flows(pf.Cbr(rate=PACKET * 400.0), route="l1")
        point = pf.equilibrium(pf.Network(network.nodes, [*network.flows, cbr]))
        kept = 400.0 * (1.0 - float(point.link_p.sel(link="l1", signal="classic")))
        assert point.rate.to_numpy()[[0, 2]].sum() == pytest.approx(1000.0 - kept, rel=1e-9)

    @pytest.mark.parametrize(
        ("flows", "kind", "said"),
        [
            (pf.Flows(Paganini(k=1e6), 9, 0.1, route="l0"), pf.DomainError, "even at p = 1"),
            (
                pf.Flows(pf.Cbr(rate="1Mbit/s"), 1, route="l0"),
                pf.UnsupportedError,
                "no class of flows obeys",
            ),
            (pf.Flows(Paganini(), 1, 0.0, route="l0"), pf.ScenarioError, "no queue at rest"),
            (
                [
                    pf.Flows(Paganini(), 1, 0.1, route="l0"),
                    pf.Flows(pf.Cbr(rate=PACKET * 1001, thinned=False), 1, route="l1"),
                ],
                pf.DomainError,
                "over node 'l1' offer 1 times its capacity even at p = 1",
            ),
            (
                [
                    pf.Flows(Paganini(k=3000.0), 1, 0.1, route="l0"),
                    pf.Flows(Paganini(k=4000.0), 1, 0.1, "b", route="l1"),
                    pf.Flows(Paganini(k=1.0), 1, 0.1, "long", route=("l0", "l1")),
                ],
                pf.DomainError,
                "all but one in 1e9",
            ),
        ],
    )
    def test_what_has_no_rest(self, flows: Any, kind: Any, said: str) -> None:
        with refused(kind, said):
            pf.equilibrium(pf.Network(price_links([1000.0, 1000.0]), flows))


class TestSums:
    @pytest.mark.parametrize("aqm", [pf.Pi2(), Price()])
    def test_signals_are_summed(self, aqm: pf.Aqm) -> None:
        nodes = [pf.Node(name, pf.Link("12Mbit/s"), aqm) for name in ("a", "b")]
        flows = [
            pf.Flows(pf.Scalable(), 1, 0.1, route=("a", "b")),
            pf.Flows(pf.Scalable(), 1, 0.1, "short", route="a"),
            pf.Flows(pf.Scalable(), 1, 0.1, "other", route="b"),
        ]
        for combine in ("product", "sum"):
            point = pf.equilibrium(pf.Network(nodes, flows, combine))
            p = point.link_p.sel(signal="scalable").to_numpy()
            told = p.sum() - (p.prod() if combine == "product" else 0.0)
            assert float(point.p[0]) == pytest.approx(told, rel=1e-12)
            assert point.load.to_numpy() == pytest.approx(float(aqm.full_load), rel=1e-10)

    def test_packets_draw_at_every_link(self) -> None:
        nodes = [pf.Node(name, pf.Link("12Mbit/s"), pf.Pi2()) for name in ("a", "b")]
        flows = pf.Flows(pf.Reno(), 1, 0.1, route=("a", "b"))
        scenario = pf.Scenario(1, network=pf.Network(nodes, flows, "sum"))
        with refused(pf.UnsupportedError, "combine = 'sum'"):
            pf.packet.simulate(scenario)

    def test_as_text(self) -> None:
        network = lot([1000.0, 700.0], Paganini(), combine="sum")
        text = network.to_toml()
        assert text.startswith('combine = "sum"\n\n[[node]]')
        assert pf.Network.from_toml(text) == network
        scenario = pf.Scenario("10s", network=network)
        assert 'duration = "10s"\ncombine = "sum"\n' in scenario.to_toml()
        assert pf.Scenario.from_toml(scenario.to_toml()) == scenario
        plain = lot([1000.0, 700.0], Paganini())
        assert "combine" not in plain.to_toml()
        assert plain != network
        with refused(pf.QuantityError, "combine = 'both'"):
            lot([1000.0, 700.0], Paganini(), combine="both")
        with refused(pf.ScenarioError, "combine = ['sum'] is a list"):
            pf.Network.from_toml('combine = ["sum"]\n' + plain.to_toml())


class TestWithoutTarget:
    """RED and tail drop beside queues with a target."""

    def two(self, first: pf.Aqm, rate: str = "1Gbit/s", second: pf.Aqm | None = None) -> Any:
        a = pf.Node("a", pf.Link("12Mbit/s", 200), first)
        b = pf.Node("b", pf.Link(rate), second or pf.Pi2())
        flows = [
            pf.Flows(pf.Reno(), 5, "60ms", route=("a", "b")),
            pf.Flows(pf.Reno(), 3, "30ms", "short", route="a"),
        ]
        return pf.equilibrium(pf.Network([a, b], flows)), flows

    @pytest.mark.parametrize("adaptive", [False, True])
    def test_one_red_that_matters_is_one_red(self, adaptive: bool) -> None:
        red = pf.Red(min=5, max=15, adaptive=adaptive)
        point, flows = self.two(red)
        alone = pf.equilibrium(
            [pf.Flows(f.sender, f.count, f.base_rtt) for f in flows], red, "12Mbit/s"
        )
        assert float(point.controller[0]) == pytest.approx(alone.controller, rel=1e-11)
        assert float(point.queue_delay[0]) == pytest.approx(alone.queue_delay, rel=1e-11)
        assert point.window.to_numpy() == pytest.approx(alone.window, rel=1e-11)

    def test_red_below_its_profile_waits_without_signals(self) -> None:
        """Where the other link signals, its queue stays short of `min`."""
        red = pf.Red(min=100, max=300)
        point, _ = self.two(red, "5.6Mbit/s")
        assert point.bottleneck.all()
        assert point.load.to_numpy() == pytest.approx(1.0, rel=1e-11)
        point, _ = self.two(pf.Pi2(), "5.9Mbit/s", red)
        assert float(point.controller[1]) == 0.0
        assert 0.0 < float(point.queue[1]) < 100.0

    def test_tail_drop_loses_what_its_buffer_cannot_hold(self) -> None:
        point, _ = self.two(pf.TailDrop())
        p = float(point.controller[0])
        assert float(point.queue[0]) == pytest.approx(200.0)
        assert float(point.load[0]) == pytest.approx(1.0 / (1.0 - p), rel=1e-11)
        assert point.window.to_numpy() == pytest.approx(math.sqrt(2.0 / p), rel=1e-11)
        assert point.rtt.to_numpy() == pytest.approx([0.26, 0.23])

    def test_a_price_beside_a_queue(self) -> None:
        point, _ = self.two(Price(), "4Mbit/s")
        assert point.load.to_numpy() == pytest.approx([0.95, 1.0], rel=1e-11)
        assert math.isnan(float(point.price[1]))
        assert float(point.price[0]) == float(point.controller[0]) > 0.0
        assert point.queue_delay.to_numpy().tolist() == [0.0, 0.02]
