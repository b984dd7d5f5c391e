"""Paganini's source: what it sends, wants and rests at, and its two updates in steps."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.engines.packet.laws import congestion_of
from pi2_fluid.laws.aqms.price import Price
from pi2_fluid.laws.derivatives import differentiate
from pi2_fluid.laws.senders.paganini import Paganini

RTT = 0.12
PHI = 100.0


def marks(price: float) -> float:
    return float(Price(phi=PHI).encode(price).scalable)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Logarithmic(Paganini):
    """The same utility as its parent, said once more: solved for, instead of inverted."""

    def marginal_utility(self, rate: Any) -> Any:
        return self.k / rate


class TestLaw:
    def test_it_answers_at_once(self) -> None:
        assert Paganini().answers_at_once
        assert not pf.Reno().answers_at_once
        assert pf.Reno().sending_rate_under(8.0, 0.3, 0.1) == pf.Reno().sending_rate(8.0, 0.1)

    def test_equations_19_and_20(self) -> None:
        law, xi, q, x_m = Paganini(alpha=0.5, beta=0.8, k=30.0, bottlenecks=3), 1.3, 0.07, 5.0
        window = x_m * RTT * math.exp(xi)
        rate = x_m * math.exp(xi - 0.5 * q / (3 * RTT))
        assert law.sending_rate_under(window, marks(q), RTT) == pytest.approx(rate, rel=1e-13)
        slope = window * 0.8 * (30.0 / rate - q) / RTT
        assert law.rate(window, 9.0, marks(q), RTT, 1.0) == pytest.approx(slope, rel=1e-12)

    def test_equation_6(self) -> None:
        law = Paganini(static=True, max_rate="12Mbit/s", alpha=1.0).on_link(1500)
        rate = law.sending_rate_under(7.0, marks(0.1), RTT)
        assert rate == pytest.approx(1000.0 * math.exp(-0.1 / RTT), rel=1e-13)
        assert law.rate(7.0, 9.0, marks(0.1), RTT, 1.0) == 0.0
        assert law.equilibrium(RTT, rate) == pytest.approx(marks(0.1), rel=1e-13)
        assert law.at_rest(RTT, 0.3) == pytest.approx(1000.0 * RTT)

    @pytest.mark.parametrize("fairness", [0.5, 1.0, 2.0, 7.0])
    def test_at_rest_it_sends_what_it_wants(self, fairness: float) -> None:
        law = Paganini(fairness=fairness, k=0.2)
        for rate in (0.7, 11.0):
            p = law.equilibrium(RTT, rate)
            state = law.at_rest(RTT, p)
            assert law.sending_rate_under(state, p, RTT) == pytest.approx(rate, rel=1e-12)
            assert abs(law.rate(state, state, p, RTT, RTT)) < 1e-11 * state
            assert p == pytest.approx(marks(0.2 * rate**-fairness), rel=1e-12)

    def test_a_utility_of_ones_own(self) -> None:
        mine, known = Logarithmic(), Paganini()
        for p in (1e-6, 0.3, np.array([0.1, 0.2])):
            assert mine.at_rest(RTT, p) == pytest.approx(known.at_rest(RTT, p), rel=1e-13)
        assert mine.equilibrium(RTT, 100.0) == known.equilibrium(RTT, 100.0)
        flows = pf.Flows(mine, 10, RTT)
        assert pf.equilibrium(flows, Price(), "12Mbit/s").controller == pytest.approx(50 * 10 / 950)

    def test_what_costs_more_than_it_is_worth_is_not_sent(self) -> None:
        @dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
        class Soft(Paganini):
            def marginal_utility(self, rate: Any) -> Any:
                return self.k / (500.0 + rate)

        soft = Soft()
        assert soft.demand(0.05) == pytest.approx(500.0, rel=1e-12)
        assert np.all(soft.demand(np.array([0.1, 0.2, 10.0])) <= 1e-9)
        assert soft.demand(1e-300) >= 1e30

    def test_a_utility_that_does_not_fall(self) -> None:
        @dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
        class Greedy(Paganini):
            def marginal_utility(self, rate: Any) -> Any:
                return 1.0 + 0.0 * rate

        with refused(pf.DomainError, "Greedy has a marginal utility of"):
            Greedy().demand(0.1)

    @pytest.mark.parametrize("static", [False, True])
    def test_the_linearised_law_is_equation_13(self, static: bool) -> None:
        """dx/dq = -kappa (s + z) / (s + z kappa/nu); its gain at once is kappa, at rest nu."""
        alpha, beta, k, links, q = 0.37, 1.5, 50.0, 2, 0.1
        given: Any = {"static": True, "max_rate": "12Mbit/s"} if static else {}
        law = Paganini(alpha=alpha, beta=beta, k=k, bottlenecks=links, **given).on_link(1500)
        p = marks(q)
        state = law.at_rest(RTT, p)
        x = law.sending_rate_under(state, p, RTT)
        dp_dq = math.log(PHI) * (1.0 - p)
        by_now, by_then, (b,) = differentiate(law, "rate", (state, state, p, RTT, RTT), range(3))
        a = by_now[0] + by_then[0]
        (c,), (d,) = differentiate(law, "sending_rate_under", (state, p, RTT), [0, 1])
        kappa, nu, z = alpha * x / (links * RTT), x * x / k, beta * links / alpha
        for s in (0.3j, 2.0 + 4j, 50j):
            found = (c * b / (s - a) + d) * dp_dq
            wanted = -kappa if static else -kappa * (s + z) / (s + z * kappa / nu)
            assert found == pytest.approx(wanted, rel=1e-11)

    def test_it_counts_the_prices_on_its_route(self) -> None:
        law, queues = Paganini(), [Price(), pf.Pi2(), Price()]
        assert law.on_route(queues).bottlenecks == 2
        assert law.on_route([pf.Pi2()]) is law
        chosen = Paganini(bottlenecks=5)
        assert chosen.on_route(queues) is chosen
        assert pf.Reno().on_route(queues) == pf.Reno()


class TestSteps:
    """Both updates follow (19) and (20) as steps shrink, and rest where these do."""

    law = Paganini(bottlenecks=2)

    def price(self, t: float) -> float:
        return 0.1 + 0.05 * math.sin(3.0 * t)

    def exact(self, end: float) -> float:
        """W'/W = beta (k/x - q)/tau by small steps of order 4, then the rate at once."""
        law, n = self.law, 250
        h, log_w = end / n, math.log(4.0)

        def slope(t: float, log_w: float) -> float:
            w = math.exp(log_w)
            return float(law.rate(w, w, marks(self.price(t)), RTT, RTT)) / w

        for i in range(n):
            t = i * h
            k1 = slope(t, log_w)
            k2 = slope(t + h / 2, log_w + h / 2 * k1)
            k3 = slope(t + h / 2, log_w + h / 2 * k2)
            k4 = slope(t + h, log_w + h * k3)
            log_w += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        w = math.exp(log_w)
        return float(law.sending_rate_under(w, marks(self.price(end)), RTT)) * RTT

    def stepped(self, end: float, dt: float, by_state: bool) -> float:
        law, state, p = self.law, 4.0, marks(self.price(0.0))
        sent = float(law.sending_rate_under(state, p, RTT)) * RTT
        for i in range(1, round(end / dt) + 1):
            before, p = p, marks(self.price(i * dt))
            if by_state:
                state = float(law.next_state(state, sent, p, RTT, dt))
                sent = float(law.sending_rate_under(state, p, RTT)) * RTT
            else:
                sent = float(law.next_window(sent, p, before, RTT, dt))
        return sent

    @pytest.mark.parametrize("by_state", [True, False])
    def test_they_converge_with_order_1(self, by_state: bool) -> None:
        exact = self.exact(1.0)
        errors = [abs(self.stepped(1.0, dt, by_state) / exact - 1.0) for dt in (8e-3, 4e-3, 2e-3)]
        assert errors[0] < 0.04
        assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.1)
        assert errors[1] / errors[2] == pytest.approx(2.0, abs=0.1)

    def off(self, dt: float) -> tuple[float, float]:
        """How far off windows are that hear the prices of a fluid: Figure 5, its first flows.

        By the state, and without an exponential.
        """
        figure, law, rtt = pf.named_scenario("paganini_fig05"), Paganini(bottlenecks=1), 0.04
        first = dataclasses.replace(figure.flows[0], start_jitter=0.0)
        start = dataclasses.replace(figure, duration="5s", flows=first)
        engine = pf.Fluid(update="continuous", sample=dt, tolerance=1e-8)
        fluid = pf.simulate(start, engine)
        late = fluid.controller.shift(time=round(rtt / dt), fill_value=0.0)
        p = start.aqm.encode(late.to_numpy()).scalable.tolist()
        assert max(p) > 0.03, "prices should be heard"
        exact = fluid.window[:, 0].to_numpy().tolist()
        state = by_state = by_window = exact[0]
        most = [0.0, 0.0]
        for i in range(1, len(exact)):
            state = float(law.next_state(state, by_state, p[i], rtt, dt))
            by_state = float(law.sending_rate_under(state, p[i], rtt)) * rtt
            by_window = float(law.next_window(by_window, p[i], p[i - 1], rtt, dt))
            for k, w in enumerate((by_state, by_window)):
                most[k] = max(most[k], abs(w / exact[i] - 1.0))
        return most[0], most[1]

    def test_the_fluid_is_what_both_come_to(self) -> None:
        """With order 1, and as the page about the protocol says."""
        by_state, by_window = np.array([self.off(dt) for dt in (5e-3, 2.5e-3, 1.25e-3)]).T
        assert by_state == pytest.approx([0.082, 0.037, 0.018], abs=5e-4)
        assert by_state[1] / by_state[2] == pytest.approx(2.0, abs=0.1)
        assert by_window == pytest.approx([5.7e-4, 2.8e-4, 1.4e-4], abs=5e-6)
        assert by_window[:2] / by_window[1:] == pytest.approx(2.0, abs=2e-3)

    def test_they_rest_where_the_law_does(self) -> None:
        law, p, dt = self.law, marks(0.1), 0.005
        rest = law.demand(0.1) * RTT
        assert law.next_window(rest, p, p, RTT, dt) == pytest.approx(rest, rel=1e-13)
        state = law.at_rest(RTT, p)
        assert law.next_state(state, rest, p, RTT, dt) == pytest.approx(state, rel=1e-13)

    def test_as_printed_the_window_rests_higher(self) -> None:
        """(27) adds beta K dt after the division: its rest is high by 1 + beta q dt / tau."""
        law, q, dt, w = self.law, 0.1, 0.005, 1.0
        tmp = 1.0 + law.beta * dt / RTT * q
        for _ in range(20_000):
            w = w / tmp + law.beta * law.k * dt
        assert w == pytest.approx(law.k / q * RTT * tmp, rel=1e-9)

    def test_growth_without_a_price_is_linear(self) -> None:
        """beta k segments a second, whatever the round-trip time."""
        for rtt in (0.04, 0.2):
            w = 1.0
            for _ in range(200):
                w = float(self.law.next_window(w, 0.0, 0.0, rtt, 0.005))
            assert w == pytest.approx(1.0 + 1.5 * 50.0, rel=1e-12)


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        ({"static": True}, pf.DomainError, "max_rate = None is missing"),
        ({"max_rate": "1Mbit/s"}, pf.DomainError, "is for static = True"),
        ({"phi": 1.0}, pf.DomainError, "phi = 1.0 is outside (1, inf)"),
        ({"bottlenecks": 0}, pf.DomainError, "bottlenecks = 0"),
        ({"alpha": 0.0}, pf.DomainError, "alpha = 0.0"),
        ({"k": -1.0}, pf.DomainError, "k = -1.0"),
    ],
)
def test_what_it_refuses(given: dict[str, Any], kind: Any, said: str) -> None:
    with refused(kind, said):
        Paganini(**given)


def test_what_a_static_one_refuses() -> None:
    law = Paganini(static=True, max_rate="12Mbit/s")
    with refused(pf.ScenarioError, "without a packet size"):
        law.sending_rate_under(1.0, 0.1, RTT)
    with refused(pf.DomainError, "at no price"):
        law.on_link(1500).equilibrium(RTT, 1001.0)
    with refused(pf.ScenarioError, "is not the link's"):
        law.on_link(1500).on_link(1000)
    with refused(pf.UnsupportedError, "no largest one"):
        _ = Paganini().largest_rate


def test_who_cannot_let_signals_act_at_once_says_so() -> None:
    flows = pf.Flows(Paganini(), 10, "100ms")
    scenario = pf.Scenario(1, pf.Link("10Mbit/s"), pf.Pi2(), flows)
    for ask in (
        lambda: pf.fluid.simulate(scenario, linear=True),
        lambda: pf.Loop(flows, pf.Pi2(), capacity="10Mbit/s"),
    ):
        with refused(pf.UnsupportedError, "Paganini lets signals act on its rate at once"):
            ask()
    for other in (
        lambda: pf.fluid.simulate(scenario, clock="acks"),
        lambda: pf.fluid.batch(scenario, {"duration": [1.0, 2.0]}, engine="c"),
        lambda: pf.tune("100ms", senders=(Paganini(),)),
    ):
        with refused(pf.UnsupportedError, "Paganini"):
            other()


class TestPackets:
    def test_they_are_told_of_its_register_and_its_steps(self) -> None:
        law = Paganini(bottlenecks=2, window=7, interval="2ms", max_increment=0.5)
        name, found = congestion_of(law)
        assert name == "paganini"
        wanted = {"links": 2.0, "window": 7.0, "interval": 0.002, "max_increment": 0.5}
        assert wanted.items() <= found.items()
        assert found["by_window"] == 0.0
        assert congestion_of(Paganini(scheme="window"))[1]["by_window"] == 1.0
        static = Paganini(static=True, max_rate="12Mbit/s").on_link(1500)
        assert congestion_of(static)[1]["largest_rate"] == pytest.approx(1000.0)

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"window": 31.5}, "Paganini window = 31.5 is no whole number"),
            ({"window": 129}, "window = 129"),
            ({"interval": "2000s"}, "Paganini interval = 2000.0 is outside"),
            ({"max_decrement": 0.0}, "max_decrement = 0.0"),
        ],
    )
    def test_what_is_refused(self, given: dict[str, Any], said: str) -> None:
        with refused(pf.DomainError, said):
            congestion_of(Paganini(**given))

    def test_a_utility_of_ones_own_has_no_packets(self) -> None:
        scenario = pf.Scenario(1, pf.Link("10Mbit/s"), Price(), pf.Flows(Logarithmic(), 1, "100ms"))
        with refused(pf.UnsupportedError, "Logarithmic is a law of one's own"):
            pf.packet.simulate(scenario)

    def test_more_steps_than_a_run_has_time_for(self) -> None:
        flows = pf.Flows(Paganini(interval="100ns"), 2, "10ms")
        with refused(pf.DomainError, "Paganini interval = 1e-07 s makes 2e+09 updates"):
            pf.packet.simulate(pf.Scenario(100, pf.Link("10Mbit/s"), Price(), flows))
