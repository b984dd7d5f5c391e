"""The loop of DualPI2: beside Classic traffic, where L4S adds a lead, and of L4S alone."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import ClassVar

import numpy as np
import own_laws
import pytest
from scipy.optimize import brentq

import pi2_fluid as pf
from pi2_fluid.laws.aqms.dualpi2 import DualPi2
from pi2_fluid.laws.senders.cbr import Cbr
from pi2_fluid.loop.ends import gain_bound
from pi2_fluid.loop.expansion import collect, expansion_of
from pi2_fluid.loop.response import plant_response
from pi2_fluid.loop.sampled import sampled_response

PACKET = 12000.0  # bits
# Random loops may have T > R or W < 2: all the same they are linear loops.
ASSUMED = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")


@pytest.fixture(scope="module")
def answers():
    text = (Path(__file__).parents[1] / "data" / "dualpi2_answers.json").read_text()
    return {answer["name"]: answer for answer in json.loads(text)["answers"]}


def beside(answer, **arguments):
    """N_C Reno and N_L Scalable flows at Linux's gains, as the known answers have them."""
    x = answer["inputs"]
    queue = DualPi2(
        alpha=x["alpha"], beta=x["beta"], update_interval=x["T"], target=x["tau0"], k=x["k"]
    )
    flows = [pf.Flows(pf.Reno(), x["NC"], x["TC"]), pf.Flows(pf.Scalable(), x["NL"], x["TL"])]
    return pf.Loop(flows, queue, capacity=x["C"] * PACKET, **arguments)


class TestLoopBesideClassic:
    """The Classic queue rules; L4S packets pass it and take its link."""

    @pytest.mark.parametrize("name", ["A1", "A2", "A4"])
    def test_known_rest(self, answers, name):
        """p' = (N_C omega_C/R_C + N_L (2/k)/R_L)/C; L4S packets wait for nothing."""
        answer = answers[f"dualpi2_coupled_{name}"]
        x, expected = answer["inputs"], answer["expected"]
        point = beside(answer).operating_point
        assert point.controller == pytest.approx(expected["p_prime"], rel=1e-11)
        assert point.window == pytest.approx((expected["W_classic"], expected["W_L"]), rel=1e-11)
        assert point.share[1] / point.share[0] == pytest.approx(expected["r"], rel=1e-11)
        assert point.queue_delay == (x["tau0"], 0.0)
        assert point.rtt == pytest.approx((x["TC"] + x["tau0"], x["TL"]))
        assert point.queue == pytest.approx(x["tau0"] * point.share[0] * x["C"], rel=1e-9)
        assert point.broken == ()

    @pytest.mark.parametrize("name", ["A1", "A2", "A4"])
    def test_known(self, answers, name):
        answer = answers[f"dualpi2_coupled_{name}"]
        expected = answer["expected"]
        loop = beside(answer, rtt_terms="exact")
        margins = loop.margins()
        assert margins.gain_margin_db == pytest.approx(expected["gm_exact"], abs=1e-8)
        assert margins.phase_margin_deg == pytest.approx(expected["pm_exact"], abs=1e-6)
        roots = loop.roots(12)
        assert np.min(np.abs(roots - complex(*expected["root"]))) < 1e-8
        np.testing.assert_allclose(loop(roots), -1.0, atol=1e-7)
        stable = margins.gain_margin_db > 0
        assert margins.verdict == ("stable" if stable else "unstable")
        assert loop.nyquist_count() == (0 if stable else 2)

    @ASSUMED
    @pytest.mark.parametrize("terms", ["frozen", "exact"])
    def test_formula(self, rng, terms):
        """Two Classic and two L4S classes: L4S rates count (1 + s tau0)-fold, and feel no delay."""
        for _ in range(5):
            flows = [
                pf.Flows(pf.Reno(), rng.uniform(1, 20), rng.uniform(0.01, 0.1)),
                pf.Flows(pf.CReno(), rng.uniform(1, 20), rng.uniform(0.01, 0.1)),
                pf.Flows(pf.Scalable(), rng.uniform(1, 20), rng.uniform(0.01, 0.1)),
                pf.Flows(pf.Scalable(per_mark=0.8), rng.uniform(1, 20), rng.uniform(0.01, 0.1)),
            ]
            k = rng.uniform(1, 3)
            queue = DualPi2(alpha=0.2, beta=2.5, update_interval=0.02, k=k, c_protection=0.02)
            loop = pf.Loop(flows, queue, capacity="120Mbit/s", rtt_terms=terms)
            u = loop.operating_point.controller
            s = rng.normal(size=8) + 1j * 10 ** rng.uniform(-1, 2, 8)
            mu = 1e4 * sum(loop.operating_point.share[:2])
            omegas = (2**0.5, 0.3**-0.5, 2 / k, 1.25 / k)
            drive, feedback = 0.0, 0.0
            for flow, omega in zip(flows, omegas, strict=True):
                classic = flow.sender.signal == "classic"
                R = flow.base_rtt + (0.015 if classic else 0.0)
                W, e = omega / u, np.exp(-s * R)
                r = flow.count * W / (R * mu)  # rate over that of the Classic queue
                if classic:
                    D = s * R * W / 2 + (1 + e) / 2
                    exact = (1 - e) / (2 * R * D) if terms == "exact" else 0.0
                    drive, feedback = drive + r * e / D, feedback + r / R + r * exact
                else:
                    drive = drive + r * (1 + 0.015 * s) * e / (s * R * W + e)
            expected = (0.2 / 0.02 + (2.5 + 0.1) * s) / (s * u) * drive / (s + feedback)
            np.testing.assert_allclose(loop(s), expected, rtol=1e-10)

    @pytest.mark.parametrize(
        "name", ["0.02_0.1", "0.05_0.02", "0.085_0.02"], ids=["20ms", "50ms", "85ms"]
    )
    def test_largest_stable_l4s_shares(self, answers, name):
        """94, 79 and 41 % of the link: beyond them Linux's default gains are too much."""
        answer = answers[f"dualpi2_critical_L_share_{name}"]
        x, share = answer["inputs"], answer["expected"]["L_share"]
        queue = DualPi2(
            alpha=x["alpha"], beta=x["beta"], update_interval=x["T"], target=x["tau0"], k=x["k"],
            c_protection=0.01,
        )  # fmt: skip
        R_l, u, packets = x["base_rtt"], x["p_prime"], 1e4
        R_c = R_l + x["tau0"]

        def margin(part):
            flows = [
                pf.Flows(pf.Reno(), (1 - part) * packets * R_c * u / math.sqrt(2), R_l),
                pf.Flows(pf.Scalable(), part * packets * R_l * u * x["k"] / 2, R_l),
            ]
            loop = pf.Loop(flows, queue, capacity=packets * PACKET, rtt_terms="exact")
            assert loop.operating_point.controller == pytest.approx(u, rel=1e-9)
            assert loop.operating_point.share[1] == pytest.approx(part, rel=1e-9)
            return loop.margins()

        assert margin(share).gain_margin_db == pytest.approx(0.0, abs=1e-7)
        assert margin(share - 1e-3).verdict == "stable"
        assert margin(share + 1e-3).verdict == "unstable"

    @pytest.mark.parametrize(
        ("name", "share", "dual_db", "single_db"),
        [
            ("A1", 55, (17.9, 15.4), (19.9, 18.7)),
            ("A2", 70, (3.4, 2.1), (11.8, 10.8)),
            ("A4", 88, (-11.1, -12.1), (5.5, 4.7)),
        ],
    )
    @pytest.mark.parametrize(("column", "update"), [(0, "continuous"), (1, "sampled")])
    def test_one_queue_is_kinder(self, answers, name, share, dual_db, single_db, column, update):
        """The table in docs/theory.md: the same flows behind two queues, and in one."""
        answer = answers[f"dualpi2_coupled_{name}"]
        x = answer["inputs"]
        dual = beside(answer, rtt_terms="exact", update=update)
        queue = pf.CoupledPi2(
            alpha=x["alpha"], beta=x["beta"], target=x["tau0"], update_interval=x["T"]
        )
        single = pf.Loop(
            dual.flows, queue, capacity=x["C"] * PACKET, rtt_terms="exact", update=update
        )
        assert 100 * dual.operating_point.share[1] == pytest.approx(share, abs=0.5)
        assert dual.margins().gain_margin_db == pytest.approx(dual_db[column], abs=0.05)
        assert single.margins().gain_margin_db == pytest.approx(single_db[column], abs=0.05)

    @pytest.mark.slow
    @ASSUMED
    @pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
    def test_signs_of_margins_roots_and_counts_agree(self, rng, update):
        counts_of = {True: 0, False: 0}
        while sum(counts_of.values()) < 30:
            packets, base = 10 ** rng.uniform(2.5, 4.5), 10 ** rng.uniform(-2.3, -0.7)
            flows = [
                pf.Flows(
                    pf.Reno() if index == 0 else rng.choice([pf.CReno(), pf.Scalable()]),
                    packets * base / 10 ** rng.uniform(0.7, 2.5),
                    base * 10 ** rng.uniform(-0.5, 0.5),
                )
                for index in range(rng.integers(2, 5))
            ]
            if rng.random() < 0.3:
                flows.append(
                    pf.Flows(Cbr(rate=packets * PACKET * rng.uniform(0.01, 0.3), thinned=False))
                )
            alpha = 10 ** rng.uniform(-2.5, 0.3)
            queue = DualPi2(
                alpha=alpha,
                beta=alpha * 10 ** rng.uniform(0, 1.7),
                update_interval=10 ** rng.uniform(-2.7, -1.2),
                target=10 ** rng.uniform(-2.5, -1.3),
                k=rng.uniform(0.5, 4),
                c_protection=0.005,
            )
            terms = str(rng.choice(["frozen", "exact"]))
            try:
                loop = pf.Loop(
                    flows, queue, capacity=packets * PACKET, update=update, rtt_terms=terms
                )
            except pf.DomainError:
                continue  # more load than any p can hold back
            margins, stable = loop.margins(), loop.nyquist_count() == 0
            assert (margins.gain_margin_db > 0) == stable
            if np.isfinite(margins.gain_crossover):  # a sampled |L| may stay above 1 up to pi/T
                assert (margins.phase_margin_deg > 0) == stable
            assert margins.verdict == ("stable" if stable else "unstable")
            if update != "sampled":
                assert (loop.roots().real < 0) == stable
            counts_of[stable] += 1
        assert min(counts_of.values()) > 3


class TestTheLeadInEveryTool:
    """What L4S traffic adds falls only like 1/s: aliases, kinks, roots and bounds must know."""

    @staticmethod
    def loop(base=0.05, update="sampled", terms="exact"):
        flows = [
            pf.Flows(pf.Reno(), 4, base),
            pf.Flows(pf.CReno(), 2, 2.3 * base),
            pf.Flows(pf.Scalable(), 10, base),
            pf.Flows(pf.Scalable(), 3, 1.7 * base),
        ]
        return pf.Loop(flows, DualPi2(), capacity="100Mbit/s", update=update, rtt_terms=terms)

    @pytest.mark.slow
    @ASSUMED
    @pytest.mark.parametrize("base", [0.005, 0.0159, 0.05, 0.3])
    @pytest.mark.parametrize("terms", ["frozen", "exact"])
    def test_alias_sum(self, base, terms):
        """Against the sum as it is defined, without expansion, over 400 001 aliases."""
        loop = self.loop(base, terms=terms)
        T, w = 0.016, np.array([0.01, 0.5, 4.0, 30.0, 100.0, 190.0, 196.3])
        total = 0.0
        for start in range(-200_000, 200_001, 20_000):
            k = np.arange(start, min(start + 20_000, 200_001))[:, None]
            s = 1j * (w + 2 * np.pi * k / T)
            total = total + np.sum(plant_response(loop.linear, s) / s, axis=0)
        y = np.exp(-1j * w * T)
        direct = (0.16 + 3.2 * (1 - y)) * total / T
        np.testing.assert_allclose(loop(1j * w), direct, rtol=5e-9)

    def test_alias_sum_where_a_round_trip_is_a_whole_number_of_intervals(self):
        """A kink falls on each sample: the plain sum converges like 1/K, this one as ever."""
        loop = self.loop(0.064)
        w = np.geomspace(0.01, 196.0, 9)
        many = sampled_response(loop.linear, 1j * w, aliases=3000)
        np.testing.assert_allclose(loop(1j * w), many, rtol=2e-8)
        near = self.loop(0.064 * (1 + 1e-9))
        np.testing.assert_allclose(loop(1j * w), near(1j * w), rtol=1e-6)

    @ASSUMED
    @pytest.mark.parametrize("many", [False, True], ids=["one state", "two states"])
    def test_expansion_at_large_s(self, many):
        """What it leaves out falls like s^-4, for matrices as for numbers."""
        flows = list(self.loop().flows)
        if many:
            flows[0] = pf.Flows(SmoothedClassic(), 20, 0.05)
            flows[2] = pf.Flows(Smoothed(), 10, 0.05)
        loop = pf.Loop(flows, DualPi2(), capacity="100Mbit/s", rtt_terms="exact")
        assert loop.operating_point.broken == ()
        left = []
        for size in (1e4, 1e5):
            s = 1.0 + 1j * size * np.linspace(1.0, 2.0, 50)
            series = sum(
                value * np.exp(-s * delay) / s**order
                for delay, orders in collect(expansion_of(loop.linear), loop.linear)
                for order, value in orders.items()
            )
            left.append(np.max(np.abs(plant_response(loop.linear, s) - series)))
        assert math.log10(left[0] / left[1]) == pytest.approx(4.0, abs=0.2)

    @pytest.mark.parametrize("update", ["continuous", "sampled"])
    def test_bound_of_the_gain(self, update):
        loop = self.loop(update=update)
        v = np.geomspace(20.0, 196.0, 300)
        gain = np.abs(loop(1j * v))
        bounds = [gain_bound(loop.linear, update, start) for start in v[:290:10]]
        assert np.isfinite(bounds[-1])
        for start, bound in zip(range(0, 290, 10), bounds, strict=True):
            assert gain[start:].max() <= bound

    @pytest.mark.parametrize("update", ["continuous", "delayed"])
    def test_roots_are_roots(self, update):
        loop = self.loop(update=update)
        roots = loop.roots(10)
        np.testing.assert_allclose(loop(roots), -1.0, atol=1e-6)

    def test_pade_and_python_control(self):
        loop = self.loop(update="continuous")
        w = np.geomspace(0.1, 30, 40)
        pade = loop.to_control("pade", order=7)
        np.testing.assert_allclose(pade(1j * w), loop(1j * w), rtol=1e-6)

    @pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
    def test_step_response_against_stepping_in_time(self, answers, update):
        """What the queue delay does after a step of what the loop follows, kinks included."""
        loop = beside(answers["dualpi2_coupled_A2"], update=update)
        times = np.array([0.04, 0.0505, 0.058, 0.07, 0.1, 0.115, 0.15, 0.3, 0.7])
        if update == "sampled":
            times = 0.016 * np.array([3, 4, 5, 7, 12, 40]) + 1e-6
        reached = stepped(answers["dualpi2_coupled_A2"], update, times)
        np.testing.assert_allclose(loop.step(times), reached, atol=2e-3 * np.abs(reached).max())
        assert np.abs(reached).max() > 1.0

    @pytest.mark.parametrize(("name", "sign"), [("A2", 1), ("A4", -1)])
    def test_critical_gain_against_the_time_domain(self, answers, name, sign):
        """The gain at which one update after the other neither grows nor decays."""
        answer = answers[f"dualpi2_coupled_{name}"]
        margin = beside(answer, update="sampled").margins().gain_margin
        assert np.sign(math.log(margin)) == sign
        found = brentq(
            lambda g: growth_per_period(answer, g) - 1, 0.9 * margin, 1.1 * margin, xtol=1e-7
        )
        assert found == pytest.approx(margin, rel=2e-4)  # second-order steps of 1 ms


class Smoothed(own_laws.Smoothed):
    def at_rest(self, rtt, p):
        return (2 / p, p)


class SmoothedClassic(Smoothed):
    signal: ClassVar = "classic"


class Deviations:
    """Reno and Scalable flows beside each other, frozen RTT, small deviations, in steps of `h`.

    x = (w_C, w_L, q): relative windows and the Classic queue; the delay is q over what L4S leaves,
    whose change moves it at once. Written out here, with no transform and no matrix of the package.
    """

    def __init__(self, answer, h):
        x, u = answer["inputs"], answer["expected"]["p_prime"]
        self.h, self.T, self.gains = h, x["T"], (x["alpha"], x["beta"])
        R_c, R_l, d0 = x["TC"] + x["tau0"], x["TL"], x["tau0"]
        W_c, W_l = math.sqrt(2) / u, 2 / (x["k"] * u)
        rate_c, rate_l = x["NC"] * W_c / R_c, x["NL"] * W_l / R_l
        self.delay = np.array([0.0, d0 * rate_l, 1.0]) / rate_c
        self.A = np.zeros((3, 3))
        self.A[0, 0] = -1 / (R_c * W_c)
        self.A[2] = np.array([rate_c, rate_l, 0.0]) - rate_c / R_c * self.delay
        self.late = (-1 / (R_c * W_c), -1 / (R_l * W_l))  # of the windows, one round trip ago
        self.signal = (-2 / (u * R_c * W_c), -1 / (u * R_l * W_l))  # of p', one round trip ago
        self.steps = (round(R_c / h), round(R_l / h))
        half = h / 2 * self.A
        self.now, self.back = np.eye(3) + half, np.linalg.inv(np.eye(3) - half)

    def advance(self, x, w_c, w_l, u_c, u_l):
        """One trapezoidal step; w and u at both ends of the delayed step."""
        drive = np.zeros_like(x)
        drive[0] = self.late[0] * sum(w_c) + self.signal[0] * sum(u_c)
        drive[1] = self.late[1] * sum(w_l) + self.signal[1] * sum(u_l)
        return self.back @ (self.now @ x + self.h / 2 * drive)


def stepped(answer, update, times):
    """The delay's deviation while the target's is 1, u by its definition."""
    h = 0.1e-3
    system = Deviations(answer, h)
    (alpha, beta), T = system.gains, system.T
    n, past = round(max(times) / h) + 2, max(system.steps) + round(T / h)
    x, u, d = np.zeros((n + past, 3)), np.zeros(n + past), np.zeros(n + past)
    extra = round(T / 2 / h) if update == "delayed" else 0
    integral, before, held = 0.0, 0.0, 0.0
    for i in range(past, n + past - 1):
        error = d[i] - 1.0
        if update == "sampled":
            if (i - past) % round(T / h) == 0:
                held, before = held + alpha * error + beta * (error - before), error
            u[i] = held
        else:
            integral += h * (error + (d[i - 1] - 1.0 if i > past else error)) / 2 * (i > past)
            u[i] = (beta + alpha / 2) * error + alpha / T * integral
        c, m = (i - step for step in system.steps)
        # a jump of u acts over the step that begins with it
        signals = [
            (
                u[j - extra],
                u[j - extra] if update == "sampled" or j - extra < past else u[j + 1 - extra],
            )
            for j in (c, m)
        ]
        x[i + 1] = system.advance(
            x[i], (x[c, 0], x[c + 1, 0]), (x[m, 1], x[m + 1, 1]), signals[0], signals[1]
        )
        d[i + 1] = system.delay @ x[i + 1]
    if update == "sampled":  # the value at the last update
        return np.array([d[past + round(T / h) * int(t / T)] for t in times])
    return np.interp(times, h * np.arange(-past, n), d)


def growth_per_period(answer, gain):
    """Spectral radius over one update of x, its past, past signals and the controller."""
    h = 1e-3
    system = Deviations(answer, h)
    (alpha, beta), (m_c, m_l) = system.gains, system.steps
    size = (m_c + 1) + (m_l + 1) + (m_c + 1) + 3
    z = np.eye(size)
    w_c, w_l, u = z[: m_c + 1], z[m_c + 1 : m_c + m_l + 2], z[m_c + m_l + 2 : -3]
    q, before, held = z[-3], z[-2], z[-1]
    delay = system.delay @ np.array([w_c[-1], w_l[-1], q])
    held = held + gain * (alpha * delay + beta * (delay - before))
    before = delay
    u = np.vstack([u[:-1], held])
    for _ in range(round(system.T / h)):
        late_l = u[-1 - m_l]
        x = system.advance(
            np.array([w_c[-1], w_l[-1], q]), w_c[:2], w_l[:2], (u[0], u[0]), (late_l, late_l)
        )
        w_c, w_l, q = np.vstack([w_c[1:], x[0]]), np.vstack([w_l[1:], x[1]]), x[2]
        u = np.vstack([u[1:], held])
    monodromy = np.vstack([w_c, w_l, u, q, before, held])
    return np.max(np.abs(np.linalg.eigvals(monodromy)))


def simulate(answer, duration, step):
    """Nonlinear fluid: two classes, the Classic queue served at C - y_L, continuous PI; Heun."""
    x, point = answer["inputs"], beside(answer).operating_point
    C, d0, u0 = x["C"], x["tau0"], point.controller
    count, past = int(duration / step), int(2 * point.rtt[0] / step)
    rest = (*point.window, point.queue, d0, u0)
    w_c, w_l, q, tau, u = (np.full(count + past + 2, value) for value in rest)
    q[past] *= 1 + 1e-4  # the disturbance
    gain, rate = x["beta"] + x["alpha"] / 2, x["alpha"] / x["T"]
    reno, scalable = pf.Reno(), pf.Scalable()
    integral = 0.0

    def late(history, position):
        whole = int(position)
        return history[whole] + (position - whole) * (history[whole + 1] - history[whole])

    def slopes(n, c, m, waiting):
        served = C - x["NL"] * m / x["TL"]
        delay = waiting / served
        now, where = x["TC"] + delay, n - (x["TC"] + delay) / step
        then, there = x["TC"] + late(tau, where), n - x["TL"] / step
        d_c = reno.rate(c, late(w_c, where), late(u, where) ** 2, now, then)
        d_l = scalable.rate(m, late(w_l, there), x["k"] * late(u, there), x["TL"], x["TL"])
        return delay, (d_c, d_l, x["NC"] * c / now - served)

    for n in range(past, past + count):
        here = (w_c[n], w_l[n], q[n])
        tau[n], a = slopes(n, *here)
        u[n] = u0 + gain * (tau[n] - d0) + rate * integral
        there = [value + step * d for value, d in zip(here, a, strict=True)]
        tau[n + 1], _ = slopes(n, *there)
        u[n + 1] = u0 + gain * (tau[n + 1] - d0) + rate * (integral + step * (tau[n] - d0))
        _, b = slopes(n + 1, *there)
        for history, value, d, c in zip((w_c, w_l, q), here, a, b, strict=True):
            history[n + 1] = value + step * (d + c) / 2
        tau[n + 1] = q[n + 1] / (C - x["NL"] * w_l[n + 1] / x["TL"])
        integral += step * (tau[n] + tau[n + 1] - 2 * d0) / 2
    return tau[past : past + count] - d0


@pytest.mark.parametrize("name", ["A2", "A4"])
def test_the_nonlinear_fluid_rings_as_the_rightmost_root_says(answers, name):
    """One decays, the other, with 88 % of L4S traffic, grows."""
    answer, step = answers[f"dualpi2_coupled_{name}"], 0.25e-3
    signal = simulate(answer, 1.6, step)
    y = signal[int(0.6 / step) :: 40]  # every 10 ms
    a, b = np.linalg.lstsq(np.stack([y[1:-1], -y[:-2]], axis=1), y[2:], rcond=None)[0]
    root = np.log(np.roots([1, -a, b])[0] + 0j) / (40 * step)
    expected = complex(*answer["expected"]["root"])
    assert abs(complex(root.real, abs(root.imag)) - expected) < 0.01 * abs(expected)


class TestLoopOfL4sAlone:
    """On its ramp the L queue is a proportional controller without memory, and without ticks."""

    @pytest.mark.parametrize("mu", ["1e-09", "0.02", "0.1", "0.5"])
    @pytest.mark.parametrize("terms", ["frozen", "exact"])
    def test_critical_ramps(self, answers, mu, terms):
        """R/ramp = 2 (1 + v^2) cos v at v sin v - cos v = 1/W, 2.27 for large windows."""
        answer = answers[f"ramp_critical_mu_{mu}"]
        critical = answer["expected"][f"R_over_range_{terms}"]
        rtt, p = 0.05, 2 * answer["inputs"]["mu"]
        loop = pf.Loop(
            pf.Scalable(), DualPi2(step=0.01, ramp=0.002, variant="rfc9332"), rtt=rtt, p=p,
            rtt_terms=terms,
        )  # fmt: skip
        margins = loop.margins()
        assert margins.gain_margin * rtt / 0.002 == pytest.approx(critical, rel=1e-9)
        crossing = answer["expected"][f"v_pc_{terms}"]
        assert margins.phase_crossover * rtt == pytest.approx(crossing, rel=1e-8)
        for factor, unstable in ((0.99, 2), (1.01, 0)):
            queue = DualPi2(step=0.02, ramp=factor * rtt / critical, variant="rfc9332")
            near = pf.Loop(pf.Scalable(), queue, rtt=rtt, p=p, rtt_terms=terms)
            assert near.nyquist_count() == unstable
            assert (near.roots().real > 0) == (unstable > 0)
            assert near.margins().verdict == ("unstable" if unstable else "stable")

    def test_internet_paths_are_too_long_for_the_default_ramp(self):
        """0.4 ms carries a linear loop up to 0.9 ms; over 10 ms it switches like a step."""
        queue = pf.presets.rfc9332()
        assert pf.Loop(pf.Scalable(), queue, rtt="10ms", p=0.02).margins().verdict == "unstable"
        short = dataclasses.replace(queue, step="0.5ms")
        assert pf.Loop(pf.Scalable(), short, rtt="0.88ms", p=0.02).margins().verdict == "stable"

    def test_the_queue_in_the_round_trip_leaves_a_path(self):
        with pytest.raises(pf.DomainError, match="leaves nothing for the path: raise rtt"):
            pf.Loop(pf.Scalable(), DualPi2(ramp="400us"), rtt="0.8ms", p=0.1)

    @pytest.mark.parametrize("update", ["delayed", "sampled"])
    def test_no_update_interval(self, update):
        with pytest.raises(pf.UnsupportedError, match="DualPi2 acts here on every packet"):
            pf.Loop(pf.Scalable(), DualPi2(ramp="400us"), rtt="10ms", p=0.1, update=update)

    def test_step_keeps_an_error(self):
        queue = DualPi2(step=0.02, ramp=0.04, variant="rfc9332")
        loop = pf.Loop(pf.Scalable(), queue, rtt=0.05, p=0.1)
        gain = abs(loop(1e-9j))
        # -d ln W/dp is 1/p, a relative change of W moves the delay by R, and the ramp p by 1/ramp
        assert gain == pytest.approx(0.05 / (0.1 * 0.04), rel=1e-6)
        assert loop.step(np.array(20.0)) == pytest.approx(gain / (1 + gain), rel=1e-6)
