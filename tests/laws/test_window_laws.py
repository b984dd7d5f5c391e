"""Window laws as papers print them: rest, loop and trajectory, each against its closed form.

Of N flows over a path of B seconds on a link of C packets per second under PI2, with W = C R/N at
rest: the delay d obeys (s + 1/R) d = x/W of a deviation x of each window, as y = w/R is sent. A law
w' = f(w, w(t - R), p(t - R), R, R(t - R)) has the slopes f_1 ... f_5 at rest, e = exp(-s R), and

    (s - f_1 - f_2 e) x = f_3 e p + (f_4 + f_5 e) d,
    L(s) = -K(s) 2 u f_3 e / (W (s - f_1 - f_2 e) (s + 1/R) - (f_4 + f_5 e)),

K = alpha/(T s) + beta + alpha/2 of the controller, whose u is squared; without f_4 and f_5 where
R(t) is frozen in the window law.

Most laws grow by g/R and are cut in proportion to w(t - R) p(t - R)/R(t - R), by as much at rest.
So f_2 = -g/(W R), f_3 = -g/(p R) and f_5 = g/R^2 of all of these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import pi2_fluid as pf
from tests.shared.retarded import Controller, Queue, integrate

BASE = 0.08


@dataclass(frozen=True, eq=False, kw_only=True)
class Binomial(pf.Sender):
    """Bansal, Balakrishnan, *Binomial congestion control algorithms*, INFOCOM 2001, equation (2).

    w + a/w^k in a round trip, w - b w^l at a loss. k = 0, l = 1 is AIMD, with a = 1 and b = 1/2 the
    Reno of Misra, Gong, Towsley (SIGCOMM 2000), with others GAIMD (Yang, Lam, ICNP 2000); k = 1,
    l = 0 is IIAD, k = l = 1/2 SQRT. MulTCP of n (Crowcroft, Oechslin, CCR 28(3), 1998) is a = n,
    b = 1/(2 n).
    """

    signal: ClassVar = "classic"
    k: float = 0.0
    l: float = 1.0  # noqa: E741  the paper's
    a: float = 1.0
    b: float = 0.5

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        cut = self.b * w**self.l * w_delayed / rtt_delayed * p_delayed
        return self.a / w**self.k / rtt - cut

    def load(self, w, rtt):
        return self.a / (self.b * w ** (self.k + self.l + 1))

    def slopes(self, w, p, rtt):
        g = self.a / w**self.k
        own = -(self.k + self.l) * g / (w * rtt)
        return own, -g / (w * rtt), -g / (p * rtt), -g / rtt**2, g / rtt**2


class LowReno(pf.Sender):
    """Low, *A duality model of TCP and queue management algorithms*, IEEE/ACM ToN 11(4), 2003.

    TCP Reno of section III: acknowledgements that are not marked add 1/w, those that are cut w/2.
    """

    signal: ClassVar = "classic"

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        acks = w_delayed / rtt_delayed
        return (1 - p_delayed) * acks / w - 0.5 * w * acks * p_delayed

    def load(self, w, rtt):
        return 2 / (2 + w * w)

    def slopes(self, w, p, rtt):
        return -2 * (1 - p) / (rtt * w), 0.0, -1 / (p * rtt), 0.0, 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class KellyScalable(pf.Sender):
    """Kelly, *Scalable TCP*, CCR 33(2), 2003: a for each unmarked acknowledgement, b w a loss."""

    signal: ClassVar = "classic"
    a: float = 0.01
    b: float = 0.125

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        acks = w_delayed / rtt_delayed
        return self.a * acks * (1 - p_delayed) - self.b * w * acks * p_delayed

    def load(self, w, rtt):
        return self.a / (self.a + self.b * w)

    def slopes(self, w, p, rtt):
        return -self.a * (1 - p) / rtt, 0.0, -w * self.a / (p * rtt), 0.0, 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class KellyMaullooTan(pf.Sender):
    """Kelly, Maulloo, Tan, JORS 49(3), 1998, the primal algorithm: x' = kappa (m - x mu).

    With the delay of Johari and Tan (IEEE/ACM ToN 9(6), 2001) in x mu, and w = x R.
    """

    signal: ClassVar = "scalable"
    kappa: float = 0.2
    m: float = 5.0

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        return self.kappa * rtt * (self.m - w_delayed / rtt_delayed * p_delayed)

    def load(self, w, rtt):
        return self.m * rtt / w

    def slopes(self, w, p, rtt):
        return 0.0, -self.kappa * p, -self.kappa * w, 0.0, self.kappa * self.m


@dataclass(frozen=True, eq=False, kw_only=True)
class Primal(pf.Sender):
    """Srikant, *The Mathematics of Internet Congestion Control*, 2004: x' = k(x) (U'(x) - q).

    With U(x) = -m/(R^2 x), of the least potential delay, and k(x) = kappa x.
    """

    signal: ClassVar = "scalable"
    kappa: float = 1.0
    m: float = 2.0

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        return self.kappa * w * (self.m / w**2 - p_delayed)

    def load(self, w, rtt):
        return self.m / w**2

    def slopes(self, w, p, rtt):
        return -2 * self.kappa * p, 0.0, -self.kappa * w, 0.0, 0.0


class HighSpeed(pf.Sender):
    """RFC 3649, section 5: a(w) and b(w) of the response function p = 0.078/w^1.2."""

    signal: ClassVar = "classic"
    _span = np.log(83000 / 38)

    def _cut(self, w):
        return 0.5 - 0.4 * pf.ops.log(w / 38) / self._span

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        cut = self._cut(w)
        more = 0.156 * w**0.8 * cut / (2 - cut)
        return more / rtt - cut * w * w_delayed / rtt_delayed * p_delayed

    def load(self, w, rtt):
        return 0.156 / (2 - self._cut(w)) / w**1.2

    def slopes(self, w, p, rtt):
        cut, cut_by = self._cut(w), -0.4 / (w * self._span)
        g = 0.156 * w**0.8 * cut / (2 - cut)
        g_by = 0.8 * g / w + 0.156 * w**0.8 * 2 / (2 - cut) ** 2 * cut_by
        own = (g_by - cut_by * w * w * p - cut * w * p) / rtt
        return own, -g / (w * rtt), -g / (p * rtt), -g / rtt**2, g / rtt**2


@dataclass(frozen=True, eq=False, kw_only=True)
class Illinois(pf.Sender):
    """Liu, Basar, Srikant, *TCP-Illinois*, Performance Evaluation 65(6), 2008: section 2.

    More by k1/(k2 + d) in a round trip and less by (k3 + k4 d) w at a loss, d the queue delay.
    """

    signal: ClassVar = "classic"
    base: float = BASE
    k1: float = 0.05
    k2: float = 0.005
    k3: float = 0.1
    k4: float = 5.0

    def _both(self, rtt):
        return self.k1 / (self.k2 + rtt - self.base), self.k3 + self.k4 * (rtt - self.base)

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        more, less = self._both(rtt)
        return more / rtt - less * w * w_delayed / rtt_delayed * p_delayed

    def load(self, w, rtt):
        more, less = self._both(rtt)
        return more / less / w**2

    def slopes(self, w, p, rtt):
        g, less = self._both(rtt)
        by_delay = -g / (self.k2 + rtt - self.base) - self.k4 * g / less
        own = -g / (w * rtt)
        return own, own, -g / (p * rtt), by_delay / rtt - g / rtt**2, g / rtt**2


@dataclass(frozen=True, eq=False, kw_only=True)
class Westwood(pf.Sender):
    """Grieco, Mascolo, *Performance evaluation of New Reno, Vegas, Westwood+*, CCR 34(2), 2004.

    A loss leaves what was under way without the queue, (w/R) B: it cuts w (1 - B/R).
    """

    signal: ClassVar = "classic"
    base: float = BASE

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        return 1 / rtt - w * (1 - self.base / rtt) * w_delayed / rtt_delayed * p_delayed

    def load(self, w, rtt):
        return 1 / (w * w * (1 - self.base / rtt))

    def slopes(self, w, p, rtt):
        by_delay = -self.base / (rtt**2 * (rtt - self.base))
        own = -1 / (w * rtt)
        return own, own, -1 / (p * rtt), by_delay - 1 / rtt**2, 1 / rtt**2


LAWS: dict[str, Any] = {
    "Misra, Gong, Towsley": Binomial(),
    "GAIMD": Binomial(a=0.31, b=0.125),
    "IIAD": Binomial(k=1.0, l=0.0, a=3.0, b=0.7),
    "SQRT": Binomial(k=0.5, l=0.5, a=2.0, b=0.6),
    "MulTCP": Binomial(a=4.0, b=0.125),
    "Low": LowReno(),
    "Kelly's Scalable": KellyScalable(),
    "Kelly, Maulloo, Tan": KellyMaullooTan(),
    "Srikant": Primal(),
    "HighSpeed": HighSpeed(),
    "Illinois": Illinois(),
    "Westwood": Westwood(),
}
EACH: Any = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
CAPACITY, COUNT, RTT = 1000.0, 10.0, 0.1  # packets/s, flows, s: W = 10 at PI2's 20 ms
WINDOW = CAPACITY * RTT / COUNT
AQM = pf.Pi2()


def flows_of(law: Any) -> pf.Flows:
    return pf.Flows(law, COUNT, BASE, name="flows", slow_start=False)


def formula(law: Any, window: float, rtt: float, *, exact: bool) -> Callable[[Any], Any]:
    """Return L of one class under PI2 at a load."""
    p = law.load(window, rtt)
    own, late, by_p, now, before = law.slopes(window, p, rtt)
    if not exact:
        now = before = 0.0

    def loop(s):
        e = np.exp(-s * rtt)
        k = AQM.alpha / (AQM.update_interval * s) + AQM.beta + AQM.alpha / 2
        plant = window * (s - own - late * e) * (s + 1 / rtt) - (now + before * e)
        return -k * 2 * np.sqrt(p) * by_p * e / plant

    return loop


class TestRest:
    @EACH
    @pytest.mark.parametrize("window", [0.5, 3.0, 40.0, 1e4])
    def test_at_a_load(self, law, window):
        p = float(law.load(window, RTT))
        if 0.0 < p < 1.0:
            assert law.at_rest(RTT, p) == pytest.approx(window, rel=1e-11)
            assert law.equilibrium(RTT, window / RTT) == pytest.approx(p, rel=1e-11)

    @EACH
    @pytest.mark.parametrize("aqm", [pf.Pi(), pf.Pi2(), pf.CoupledPi2()], ids=["pi", "pi2", "k"])
    def test_of_flows(self, law, aqm):
        point = pf.equilibrium(flows_of(law), aqm, "12Mbit/s")
        assert point.window[0] == pytest.approx(WINDOW, rel=1e-12)
        assert point.p[0] == pytest.approx(law.load(WINDOW, RTT), rel=1e-11)
        assert point.queue_delay == 0.02


class TestLoop:
    @EACH
    @pytest.mark.parametrize("terms", ["frozen", "exact"])
    def test_it_is_its_closed_form(self, law, terms):
        expected = formula(law, WINDOW, RTT, exact=terms == "exact")
        s = 1j * np.geomspace(1e-3, 1e3, 60) / RTT
        loop = pf.Loop(flows_of(law), AQM, capacity="12Mbit/s", rtt_terms=terms)
        np.testing.assert_allclose(loop(s), expected(s), rtol=1e-10)
        at_load = pf.Loop(law, AQM, rtt=RTT, p=law.load(WINDOW, RTT), rtt_terms=terms)
        np.testing.assert_allclose(at_load(s), expected(s), rtol=1e-10)

    @EACH
    def test_margins_are_those_of_the_closed_form(self, law):
        margins = pf.Loop(flows_of(law), AQM, capacity="12Mbit/s").margins()
        expected = formula(law, WINDOW, RTT, exact=False)
        at = expected(1j * margins.phase_crossover)
        assert at.imag == pytest.approx(0.0, abs=1e-9 * abs(at))
        assert margins.gain_margin == pytest.approx(-1.0 / at.real, rel=1e-9)
        at = expected(1j * margins.gain_crossover)
        assert abs(at) == pytest.approx(1.0, rel=1e-9)
        angle = float(np.degrees(np.angle(-at)))
        assert margins.phase_margin_deg % 360.0 == pytest.approx(angle % 360.0, abs=1e-6)


class TestTrajectory:
    @EACH
    @pytest.mark.slow
    def test_it_goes_the_way_that_another_integrator_goes(self, law):
        h, steps = 1e-3, 1000
        p = float(law.load(WINDOW, RTT))
        start = (1.1 * WINDOW, CAPACITY * (RTT - BASE), np.sqrt(p))
        scenario = pf.Scenario(f"{steps * h}s", pf.Link("12Mbit/s"), AQM, flows_of(law))
        run = pf.fluid.simulate(
            scenario,
            update="continuous",
            sample=100 * h,
            tolerance=1e-9,
            initial={"window": [start[0]], "queue": start[1], "controller": start[2]},
        )
        controller = Controller(
            AQM.alpha / AQM.update_interval, AQM.beta + AQM.alpha / 2, AQM.target, lambda u: u * u
        )
        expected = integrate(
            lambda w, then, p, now, before: float(law.rate(w, then, p, now, before)),
            Queue(CAPACITY, BASE, COUNT),
            start,
            steps,
            h,
            controller,
        )[::100]
        # Where the past begins to move slopes jump, inside one of its fixed steps: h^2 of theirs.
        np.testing.assert_allclose(run.window[:, 0], expected[:, 0], rtol=2e-6)
        np.testing.assert_allclose(run.queue, expected[:, 1], rtol=2e-5)
        np.testing.assert_allclose(run.controller, expected[:, 2], rtol=2e-5)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["Low", "HighSpeed", "Illinois"])
    def test_it_comes_to_rest(self, name):
        law = LAWS[name]
        run = pf.fluid.simulate(pf.Scenario("15s", pf.Link("12Mbit/s"), AQM, flows_of(law)))
        assert float(run.window[-1, 0]) == pytest.approx(WINDOW, rel=1e-4)
        assert float(run.p[-1, 0]) == pytest.approx(law.load(WINDOW, RTT), rel=1e-3)
