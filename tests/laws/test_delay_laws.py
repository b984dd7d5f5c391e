"""Delay-based laws as papers print them: rest, loop and trajectory, each against its closed form.

Of N flows over a path of B seconds on a link of C packets per second, with W = C R/N at rest and
R = B + q/C: the delay d obeys d' = (N/C) y - 1 with y = w/R, so that (s + 1/R) d = x/W of a
deviation x of each window. A law w' = f(w, w(t - R), R, R(t - R)) adds

    (s - f_1 - f_2 e) x = (f_3 + f_4 e) d,  e = exp(-s R),  f_i its slopes at rest,

and the loop, opened where windows hear of the delay, is

    L(s) = - (f_3 + f_4 e) / (W (s - f_1 - f_2 e) (s + 1/R)).

*FAST TCP* (Wei, Jin, Low, Hegde, IEEE/ACM ToN 14(6), 2006; with the round-trip time as it was heard
of in Wang, Wei, Low, INFOCOM 2005): w <- (1 - gamma) w + gamma (B/R w + alpha) once in a round
trip. At rest W q/(C R) = alpha: every flow keeps alpha packets waiting. The bracket vanishes there,
so f_1 = -gamma (1 - B/R)/R = -gamma alpha/(R W) and f_4 = -gamma B W/R^3.

*Vegas* (Low, Peterson, Wang, Journal of the ACM 49(2), 2002; its sign smoothed as by Choe and Low,
INFOCOM 2003): one segment more or less in a round trip as w q/(C R) is below or above alpha. With
z = eta (1 - w (1 - B/R)/alpha) and z/sqrt(1 + z^2) for its sign: f_1 = -eta/(R W), since
(1 - B/R)/alpha = 1/W, and f_3 = -eta W B/(alpha R^3).

*Swift* (Kumar et al., SIGCOMM 2020, algorithm 1) as a fluid of our derivation: additive increase a
in a round trip, and a window cut by the factor beta (delay - target)/delay once in each. The
increase goes on above the target, as it does among flows of which some see less delay than others;
Swift's own two branches jump at the target. At rest beta W (R - D) = a R, so that
R = D + a N/(beta C); f_1 = -a/(R W) and f_4 = -beta W D/R^3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import pi2_fluid as pf
from tests.shared.retarded import Queue, integrate

BASE = 0.05


@dataclass(frozen=True, eq=False, kw_only=True)
class Fast(pf.Sender):
    base: float = BASE
    alpha: float = 10.0
    gamma: float = 0.5

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        return self.gamma * (self.base / rtt_delayed * w + self.alpha - w) / rtt

    def rest(self, capacity, count):
        return self.base + count * self.alpha / capacity

    def slopes(self, window, rtt):
        own = -self.gamma * self.alpha / (rtt * window)
        return own, 0.0, -self.gamma * self.base * window / rtt**3


@dataclass(frozen=True, eq=False, kw_only=True)
class Vegas(pf.Sender):
    base: float = BASE
    alpha: float = 10.0
    eta: float = 4.0

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        z = self.eta * (1 - w * (1 - self.base / rtt) / self.alpha)
        return z / pf.ops.sqrt(1 + z * z) / rtt

    def rest(self, capacity, count):
        return self.base + count * self.alpha / capacity

    def slopes(self, window, rtt):
        at_once = -self.eta * window * self.base / (self.alpha * rtt**3)
        return -self.eta / (rtt * window), at_once, 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Swift(pf.Sender):
    target: float = 0.07
    increase: float = 1.0
    beta: float = 0.8

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        above = pf.ops.maximum(rtt_delayed - self.target, 0.0) / rtt_delayed
        return (self.increase - self.beta * w * above) / rtt

    def rest(self, capacity, count):
        return self.target + self.increase * count / (self.beta * capacity)

    def slopes(self, window, rtt):
        late = -self.beta * window * self.target / rtt**3
        return -self.increase / (rtt * window), 0.0, late


class Jumping(Swift):
    """Swift's own branches: more below the target, less above."""

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        less = -self.beta * w * (rtt_delayed - self.target) / rtt_delayed
        return pf.ops.where(rtt_delayed < self.target, self.increase, less) / rtt


class Signed(Vegas):
    """Vegas with the sign itself, on whose jump it rests."""

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        return pf.ops.where(w * (1 - self.base / rtt) < self.alpha, 1.0, -1.0) / rtt


class AveragingFast(Fast):
    """FAST of the average of what it has heard of the round-trip time."""

    states: ClassVar = ("window", "mean")

    def rate(self, x, x_delayed, p_delayed, rtt, rtt_delayed):
        window, mean = x
        return super().rate(window, 0.0, 0.0, rtt, mean), (rtt_delayed - mean) / (4 * rtt)

    def initial(self, window):
        return (window, self.base)


class HearingFast(Fast):
    """FAST that would heed signals if there were any."""

    signal: ClassVar = "classic"

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        heard = 0.5 * w * w_delayed / rtt_delayed * p_delayed
        return super().rate(w, w_delayed, 0.0, rtt, rtt_delayed) - heard


LAWS: Any = pytest.mark.parametrize(
    "law", [Fast(), Vegas(), Swift()], ids=lambda law: type(law).__name__
)
CAPACITY, COUNT = 1000.0, 4  # packets/s: 12 Mbit/s of 1500 bytes


def flows_of(law: Any, **more: Any) -> pf.Flows:
    return pf.Flows(law, COUNT, BASE, name="delay", **more)


def formula(law: Any, capacity: float = CAPACITY, count: float = COUNT) -> tuple[float, Any]:
    """Return the round-trip time at rest, and L."""
    rtt = law.rest(capacity, count)
    window = capacity * rtt / count
    own, now, late = law.slopes(window, rtt)

    def loop(s):
        e = np.exp(-s * rtt)
        return -(now + late * e) / (window * (s - own) * (s + 1 / rtt))

    return rtt, loop


def unheeded() -> list[Any]:
    below, above = pf.Pi2(target="1ms"), pf.Pi2(target="1s")
    return [pf.TailDrop(), below, above, pf.Red(min=5, max=500), pf.Rem(), pf.Avq()]


class TestRest:
    @LAWS
    @pytest.mark.parametrize("aqm", unheeded(), ids=lambda aqm: type(aqm).__name__)
    def test_windows_fill_the_link_at_their_own_delay(self, law, aqm):
        point = pf.equilibrium(flows_of(law), aqm, "12Mbit/s")
        rtt = law.rest(CAPACITY, COUNT)
        # The bracket of a law is small where it is 0, which costs a digit or two.
        assert point.rtt[0] == pytest.approx(rtt, rel=1e-12)
        assert point.window[0] == pytest.approx(CAPACITY * rtt / COUNT, rel=1e-12)
        assert point.queue == pytest.approx(CAPACITY * (rtt - BASE), rel=1e-11)
        assert (point.p[0], point.broken) == (0.0, ())

    def test_a_controller_that_nobody_heeds_is_at_a_bound_or_where_its_profile_has_the_delay(self):
        seen = [pf.equilibrium(flows_of(Fast()), aqm, "12Mbit/s").controller for aqm in unheeded()]
        assert seen[:3] == [0.0, 1.0, 0.0]  # no controller; above its target; below
        assert seen[3] == pytest.approx(0.1 * (40.0 - 5.0) / (500.0 - 5.0), rel=1e-12)

    def test_arrays(self):
        laws = Fast(alpha=np.array([5.0, 10.0]))
        point = pf.equilibrium(flows_of(laws), pf.TailDrop(), "12Mbit/s")
        np.testing.assert_allclose(point.queue, [20.0, 40.0], rtol=1e-11)

    def test_of_two_states(self):
        point = pf.equilibrium(flows_of(AveragingFast()), pf.TailDrop(), "12Mbit/s")
        assert point.queue == pytest.approx(40.0, rel=1e-10)
        assert point.states[0][1] == pytest.approx(0.09, rel=1e-10)
        loop = pf.Loop(flows_of(AveragingFast()), pf.TailDrop(), capacity="12Mbit/s")
        rtt, expected = formula(Fast())
        s = 1j * np.geomspace(1e-3, 1e2, 20) / rtt
        np.testing.assert_allclose(loop(s), expected(s) / (1 + 4 * rtt * s), rtol=1e-8)
        assert loop.margins().verdict == "stable"

    def test_beside_a_constant_rate(self):
        flows = [flows_of(Fast()), pf.Flows(pf.Cbr(rate="6Mbit/s", thinned=False))]
        point = pf.equilibrium(flows, pf.TailDrop(), "12Mbit/s")
        # alpha packets wait of each of FAST's, and as many of the other half
        assert point.queue == pytest.approx(80.0, rel=1e-11)
        assert point.share == pytest.approx((0.5, 0.5), rel=1e-12)

    def test_a_law_that_hears_rests_by_its_delay_below_a_target(self):
        for aqm in (pf.TailDrop(), pf.Pi2(target="200ms")):
            point = pf.equilibrium(flows_of(HearingFast()), aqm, "12Mbit/s")
            assert point.queue == pytest.approx(40.0, rel=1e-11)
            assert (point.controller, point.p[0]) == (0.0, 0.0)
        point = pf.equilibrium(flows_of(HearingFast()), pf.Pi2(target="20ms"), "12Mbit/s")
        assert point.queue_delay == 0.02
        assert point.p[0] > 0.0

    def test_beside_flows_that_hear_it_takes_what_its_delay_gives(self):
        flows = [flows_of(Fast()), pf.Flows(pf.Reno(), 4, BASE)]
        point = pf.equilibrium(flows, pf.Pi2(target="100ms"), "12Mbit/s")
        # W = alpha R/(R - B), of which 4 leave 1000 - 4 x 100 packets/s
        assert point.window[0] == pytest.approx(10.0 * 0.15 / 0.1, rel=1e-12)
        assert point.rate[1] == pytest.approx(150.0, rel=1e-12)

    def test_of_a_law_that_jumps_over_its_rest_there_is_none(self):
        # below the target it grows at every window, above it falls at every window
        with pytest.raises(pf.SolverError, match="grows at all of them"):
            pf.equilibrium(flows_of(Jumping()), pf.TailDrop(), "12Mbit/s")

    @pytest.mark.parametrize(
        ("act", "kind", "said"),
        [
            (
                lambda: pf.equilibrium_of(Fast(), pf.Pi2(), 0.1, p=0.1),
                pf.UnsupportedError,
                "no p is its load",
            ),
            (
                lambda: pf.equilibrium(flows_of(Fast()), pf.DualPi2(), "12Mbit/s"),
                pf.UnsupportedError,
                "has two queues",
            ),
            (
                lambda: pf.equilibrium(
                    [flows_of(Fast()), pf.Flows(pf.Scalable(), 4, BASE)], pf.DualPi2(), "12Mbit/s"
                ),
                pf.UnsupportedError,
                "by its delay alone, beside L4S",
            ),
            (
                lambda: pf.equilibrium(
                    [flows_of(Fast()), pf.Flows(pf.Reno(), 4, BASE)], pf.TailDrop(), "12Mbit/s"
                ),
                pf.UnsupportedError,
                "TailDrop only loses",
            ),
            (
                lambda: pf.equilibrium(
                    [flows_of(Fast()), pf.Flows(pf.Cbr(rate="13Mbit/s"))], pf.TailDrop(), "12Mbit/s"
                ),
                pf.DomainError,
                "however long they wait",
            ),
            (
                lambda: pf.equilibrium(one_link(30)),
                pf.DomainError,
                "keep 40 packets waiting at rest, and the buffer of 30",
            ),
            (
                lambda: pf.Loop(one_link(30)),
                pf.DomainError,
                "keep 40 packets waiting at rest, and the buffer of 30",
            ),
            (
                lambda: pf.equilibrium(two_links()),
                pf.UnsupportedError,
                "the rest of several links is solved for by what they signal",
            ),
            (
                lambda: pf.Flows(Fast(), 4),
                pf.ScenarioError,
                "base_rtt = None is missing",
            ),
        ],
    )
    def test_what_has_none_is_refused(self, act, kind, said):
        with pytest.raises(kind, match=said):
            act()


class TestLoop:
    @LAWS
    @pytest.mark.parametrize("aqm", [pf.TailDrop(), pf.Pi2(target="1s")], ids=["drop", "pi2"])
    def test_it_is_its_closed_form(self, law, aqm):
        loop = pf.Loop(flows_of(law), aqm, capacity="12Mbit/s")
        rtt, expected = formula(law)
        s = 1j * np.geomspace(1e-3, 1e3, 60) / rtt
        np.testing.assert_allclose(loop(s), expected(s), rtol=1e-11)

    @LAWS
    @pytest.mark.parametrize("capacity", [200.0, 1000.0, 2e4])
    def test_margins_are_those_of_the_closed_form(self, law, capacity):
        bits = 12000.0 * capacity
        margins = pf.Loop(flows_of(law), pf.TailDrop(), capacity=bits).margins()
        rtt, expected = formula(law, capacity)
        w = margins.gain_crossover
        if np.isfinite(w):
            assert abs(expected(1j * w)) == pytest.approx(1.0, rel=1e-10)
            angle = np.degrees(np.angle(-expected(1j * w)))
            assert margins.phase_margin_deg == pytest.approx(angle % 360.0, abs=1e-7)
        assert margins.verdict == "stable"
        if law.slopes(1.0, rtt)[2]:  # else no delay is in the loop, and L is never real
            at = expected(1j * margins.phase_crossover)
            assert abs(at.imag) <= 1e-9 * abs(at)
            assert margins.gain_margin == pytest.approx(-1.0 / at.real, rel=1e-9)
        else:
            assert margins.gain_margin_db == np.inf

    @pytest.mark.parametrize("times", [0.99, 1.01])
    def test_the_gain_margin_is_where_it_swings(self, times):
        plain = pf.Loop(flows_of(Swift()), pf.TailDrop(), capacity="12Mbit/s")
        by = times * plain.margins().gain_margin
        rtt, expected = formula(Swift())
        # Only the answer to the delay is multiplied: the same rest, the same own motion.
        law = Steeper(times=by)
        loop = pf.Loop(flows_of(law), pf.TailDrop(), capacity="12Mbit/s")
        s = 3j / rtt
        assert complex(loop(s)) == pytest.approx(by * expected(s), rel=1e-11)
        assert (loop.nyquist_count() > 0) == (times > 1.0)
        assert (loop.roots().real > 0.0) == (times > 1.0)

    def test_several_classes(self):
        flows = [flows_of(Fast()), pf.Flows(Fast(base=0.02, alpha=5.0), 2, 0.02)]
        loop = pf.Loop(flows, pf.TailDrop(), capacity="12Mbit/s")
        rest, s = loop.operating_point, 0.5 + 2j
        drive = feedback = 0.0
        for flow, window, rtt in zip(flows, rest.window, rest.rtt, strict=True):
            weight, (own, _, late) = flow.count / CAPACITY, flow.sender.slopes(window, rtt)
            drive += weight / rtt * late * np.exp(-s * rtt) / (s - own)
            feedback -= weight * window / rtt**2
        assert complex(loop(s)) == pytest.approx(-drive / (s - feedback), rel=1e-12)

    def test_a_loop_without_delay_is_searched_to_its_last_crossing(self):
        loop = pf.Loop(flows_of(Vegas()), pf.TailDrop(), capacity="12Mbit/s")
        rtt, _ = formula(Vegas())
        window = CAPACITY * rtt / COUNT
        own, now, _ = Vegas().slopes(window, rtt)
        poles = np.roots([1.0, 1 / rtt - own, -own / rtt - now / window])
        assert loop.roots() == pytest.approx(poles[np.argmax(poles.imag)], rel=1e-10)
        with pytest.raises(pf.DomainError, match="n = 5 roots were asked for of a loop without"):
            loop.roots(5)

    def test_beside_flows_that_hear_its_answer_to_the_delay_is_never_frozen(self):
        flows = [flows_of(Fast()), pf.Flows(pf.Cbr(rate="1Mbit/s", thinned=False))]
        hearing = pf.Flows(HearingFast(), 2, BASE)
        aqm = pf.Pi2(target="60ms")
        frozen, exact = (
            pf.Loop([*flows, hearing], aqm, capacity="12Mbit/s", rtt_terms=terms)
            for terms in ("frozen", "exact")
        )
        for one, other, same in zip(
            frozen.linear.classes, exact.linear.classes, (True, False), strict=True
        ):
            assert (one.e1 == other.e1) is np.bool_(same)

    @pytest.mark.parametrize(
        ("act", "said"),
        [
            (
                lambda: pf.Loop(flows_of(Signed()), pf.TailDrop(), capacity="12Mbit/s").margins(),
                "rests on a jump",
            ),
            (
                lambda: pf.Loop(flows_of(Fast()), pf.Pi2(), capacity="12Mbit/s", update="sampled"),
                "has no meaning",
            ),
            (
                lambda: pf.Loop(flows_of(Fast()), pf.Pi2(), capacity="12Mbit/s", clock="acks"),
                "is by rates",
            ),
            (
                lambda: pf.Loop(flows_of(Fast()), pf.TailDrop(), capacity="12Mbit/s").step(1.0),
                "is not built",
            ),
            pytest.param(
                lambda: pf.Loop(flows_of(Fast()), pf.TailDrop(), capacity="12Mbit/s").to_control(
                    "ss"
                ),
                "through the delay alone",
                marks=pytest.mark.slow,  # python-control is slow to import
            ),
            (
                lambda: pf.Loop(
                    [flows_of(Fast()), pf.Flows(pf.Reno(), 4, BASE)],
                    pf.Pi2(target="100ms"),
                    capacity="12Mbit/s",
                    clock="acks",
                ),
                "answers to its delay",
            ),
        ],
    )
    def test_what_there_is_none_of_is_refused(self, act, said):
        with pytest.raises(pf.UnsupportedError, match=said):
            act()


class TestTrajectory:
    @pytest.mark.slow
    @LAWS
    def test_it_comes_to_rest_from_an_empty_queue(self, law):
        scenario = pf.Scenario("20s", pf.Link("12Mbit/s", buffer=500), pf.TailDrop(), flows_of(law))
        run = pf.fluid.simulate(scenario, update="continuous")
        rtt = law.rest(CAPACITY, COUNT)
        assert float(run.window[-1, 0]) == pytest.approx(CAPACITY * rtt / COUNT, rel=1e-6)
        assert float(run.queue[-1]) == pytest.approx(CAPACITY * (rtt - BASE), rel=1e-5)
        assert "flows.slow_start" in run.attrs["not_modelled"]
        assert run.attrs["beyond_the_laws"] == ""

    @pytest.mark.slow
    @LAWS
    def test_it_goes_the_way_that_another_integrator_goes(self, law):
        rtt = law.rest(CAPACITY, COUNT)
        window, queue = 1.2 * CAPACITY * rtt / COUNT, CAPACITY * (rtt - BASE)
        h, steps = 1e-3, 1500
        scenario = pf.Scenario(
            f"{steps * h}s", pf.Link("12Mbit/s", buffer=500), pf.TailDrop(), flows_of(law)
        )
        run = pf.fluid.simulate(
            scenario,
            sample=100 * h,
            tolerance=1e-9,
            initial={"window": [window], "queue": queue},
        )
        expected = integrate(
            lambda w, then, p, now, before: float(law.rate(w, then, p, now, before)),
            Queue(CAPACITY, BASE, COUNT),
            (window, queue, 0.0),
            steps,
            h,
        )[::100]
        # Where the past begins to move slopes jump, inside one of its fixed steps: h^2 of theirs.
        np.testing.assert_allclose(run.window[:, 0], expected[:, 0], rtol=2e-6)
        np.testing.assert_allclose(run.queue, expected[:, 1], rtol=2e-6, atol=1e-5)

    @pytest.mark.slow
    def test_over_a_route_it_is_the_same_as_over_its_bottleneck(self):
        runs = [
            pf.fluid.simulate(pf.Scenario("3s", network=network), sample="100ms", tolerance=1e-8)
            for network in (one_link(500), two_links())
        ]
        np.testing.assert_allclose(runs[0].window, runs[1].window, rtol=1e-6)

    @pytest.mark.slow
    def test_in_a_batch_it_is_the_same(self, jax):
        link, aqm = pf.Link("12Mbit/s", buffer=500), pf.Pi2(target="1s")
        scenario = pf.Scenario("3s", link, aqm, flows_of(Fast()))
        alone = pf.fluid.simulate(scenario, sample="100ms")
        many = pf.fluid.batch(scenario, {"flows.0.count": [4, 5]}, sample="100ms", step="1ms")
        window = np.ravel(many.window.sel(run=0))
        # Its steps are of order 2, of 1 ms each: of a window that moves by a tenth in a round trip
        # of 50 ms some 1e-4.
        np.testing.assert_allclose(window, np.ravel(alone.window)[: len(window)], rtol=3e-4)
        with pytest.raises(pf.UnsupportedError, match="Fast"):
            pf.fluid.batch(scenario, {"flows.0.count": [4]}, engine="c")

    def test_the_compiled_engine_runs_windows_that_hear_nothing(self):
        class Deafened(pf.Reno):
            signal: ClassVar = None

        scenario = pf.Scenario("1s", pf.Link("12Mbit/s"), pf.Pi2(), pf.Flows(Deafened(), 1, "50ms"))
        run = pf.fluid.simulate(scenario, engine="c")
        python = pf.fluid.simulate(scenario, engine="python")
        np.testing.assert_allclose(run.window, python.window, rtol=1e-12)
        assert float(run.window[-1, 0]) > 15.0  # grows by one in a round trip, and hears nothing

    def test_the_linear_form_is_of_signals(self):
        scenario = pf.Scenario("1s", pf.Link("12Mbit/s"), pf.Pi2(), flows_of(Fast()))
        with pytest.raises(pf.UnsupportedError, match="none of these flows hears"):
            pf.fluid.simulate(scenario, linear=True, update="continuous")

    @pytest.mark.slow
    def test_by_acknowledgements_it_needs_to_say_what_one_does(self):
        class Acked(Fast):
            def acked(self, x, acks, marks, rtt):
                return self.gamma * (self.base / rtt * x + self.alpha - x) * acks / x, 0.0 * x

        link, aqm = pf.Link("12Mbit/s", buffer=500), pf.Pi2(target="1s")
        with pytest.raises(pf.UnsupportedError, match="does not say what one acknowledgement does"):
            pf.fluid.simulate(pf.Scenario("1s", link, aqm, flows_of(Fast())), clock="acks")
        run = pf.fluid.simulate(pf.Scenario("10s", link, aqm, flows_of(Acked())), clock="acks")
        assert float(run.queue[-1]) == pytest.approx(40.0, rel=1e-3)


@dataclass(frozen=True, eq=False, kw_only=True)
class Steeper(Swift):
    """Swift whose answer to the delay is so many times as steep at the same rest."""

    times: float = 1.0

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        rest = Swift().rest(CAPACITY, COUNT)
        more = self.times * self.target * (rtt_delayed - rest) / rest**2
        return (self.increase - self.beta * w * (1 - self.target / rest + more)) / rtt


def one_link(buffer: int) -> pf.Network:
    link = pf.Link("12Mbit/s", buffer=buffer)
    return pf.Network([pf.Node("a", link, pf.TailDrop())], [flows_of(Fast())])


def two_links() -> pf.Network:
    nodes = [
        pf.Node("a", pf.Link("12Mbit/s", buffer=500), pf.TailDrop()),
        pf.Node("b", pf.Link("100Mbit/s", buffer=500), pf.TailDrop()),
    ]
    return pf.Network(nodes, [flows_of(Fast(), route=("a", "b"))])
