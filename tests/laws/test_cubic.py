"""Cubic: rest in both regions, motion against a crowd of flows, loop, and the kernel's windows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pi2_fluid as pf
from pi2_fluid.laws.senders.cubic import Cubic
from pi2_fluid.laws.tapes import numbers_on_tape, tape_of
from pi2_fluid.loop.linearization import rate_slopes

patient = settings(deadline=None)  # a loaded machine is no reason to fail

laws = st.builds(
    Cubic,
    variant=st.sampled_from(["linux", "linux3.18"]),
    c=st.floats(0.04, 4.0),
    decrease=st.floats(0.05, 1.0),
)
rtts = st.floats(1e-4, 2.0)
probabilities = st.floats(1e-8, 1.0)
INCREASE = {"linux": 8 / 15, "linux3.18": 4 / 15}


def regions(law, rtt, p):
    """The windows of both regions: W^4 = c (1 - b/2)/b (R/p)^3, and additive increase."""
    factor = (1 - law.decrease / 2) / law.decrease
    cubic = (law.c * factor * (rtt / p) ** 3) ** 0.25
    return cubic, np.sqrt(INCREASE[law.variant] * factor / p)


def lag(law, x, rtt):
    """By how much the cubic grows more slowly than Reno's estimate: what the law compares."""
    rate = tape_of(law, "rate")
    numbers = numbers_on_tape(law, rate)
    return rate.differences()(*x, *x, 0.0, rtt, rtt, parameters=numbers)[0]


class TestRest:
    @patient
    @given(law=laws, rtt=rtts, p=probabilities)
    def test_is_a_state_of_rest(self, law, rtt, p):
        x = law.at_rest(rtt, p)
        drift = law.rate(x, x, p, rtt, rtt)
        losses = law.decrease * x[1] * x[0] / rtt * p  # what growth and decrease both are
        assert abs(drift[0]) < 1e-12 * losses
        assert abs(drift[1]) < 1e-12 * x[1] * x[0] / rtt * p
        assert abs(drift[2]) < 1e-12
        assert abs(drift[3]) < 1e-12 * x[2]

    @patient
    @given(law=laws, rtt=rtts, p=probabilities)
    def test_the_larger_window_is_the_one_at_rest(self, law, rtt, p):
        """In either region the growth that rules is the larger one, as in the law itself."""
        cubic, friendly = regions(law, rtt, p)
        x = law.at_rest(rtt, p)
        assert x[0] == pytest.approx(max(cubic, friendly), rel=1e-12)
        assert x[1] == pytest.approx(x[0] / (1 - law.decrease / 2), rel=1e-14)
        assert x[2] == pytest.approx(rtt / (x[0] * p), rel=1e-14)
        assert x[3] == pytest.approx(x[2] ** 2, rel=1e-14)
        if abs(cubic - friendly) > 1e-6 * friendly:
            assert (lag(law, x, rtt) < 0.0) == (cubic > friendly)

    @patient
    @given(law=laws, rtt=rtts, p=probabilities)
    def test_equilibrium_undoes_at_rest(self, law, rtt, p):
        rate = law.sending_rate(law.at_rest(rtt, p), rtt)
        assert law.equilibrium(rtt, rate) == pytest.approx(p, rel=1e-12)

    @pytest.mark.parametrize("p", [1e-6, 1e-4, 3e-3, 0.1])
    @pytest.mark.parametrize("rtt", [0.005, 0.1])
    def test_at_rest_is_what_the_solver_finds(self, rtt, p):
        law = Cubic()
        assert pf.Sender.at_rest(law, rtt, p) == pytest.approx(law.at_rest(rtt, p), rel=1e-9)

    def test_equilibrium_is_what_the_solver_finds(self):
        law = Cubic()
        for rate in (100.0, 10_000.0):
            p = law.equilibrium(0.1, rate)
            assert pf.Sender.equilibrium(law, 0.1, rate) == pytest.approx(p, rel=1e-9)

    def test_published_constants(self):
        # additive increase by 8/15 and decrease to 0.7: the classical constant
        assert Cubic().at_rest(0.01, 1e-4)[0] * 0.01 == pytest.approx(1.229, abs=5e-4)
        assert Cubic(variant="linux3.18").at_rest(0.01, 1e-4)[0] * 0.01 == pytest.approx(
            np.sqrt(4 / 15 * 1.7 / 0.6), rel=1e-12
        )
        assert Cubic().at_rest(1.0, 1e-6)[0] * 1e-6**0.75 == pytest.approx(1.032, abs=5e-4)
        # 2.1 % below what an exactly cubic epoch gives
        exact = (0.4 * (1 - 0.3 / 4) / 0.3) ** 0.25
        assert Cubic().at_rest(1.0, 1e-6)[0] * 1e-6**0.75 / exact == pytest.approx(0.979, abs=5e-4)
        # the switch: W R^1.5 is 1.229^3 / 1.032^2
        rtt = 0.05
        p = Cubic().equilibrium(rtt, 1.229**3 / 1.032**2 / rtt**2.5)
        cubic, friendly = regions(Cubic(), rtt, p)
        assert cubic == pytest.approx(friendly, rel=2e-3)

    def test_exactly_cubic_epochs(self):
        """The constants above, from one epoch of a periodic sawtooth by quadrature."""
        b, c, w_max = 0.3, 0.4, 1000.0
        K = np.cbrt(b * w_max / c)
        t = np.linspace(0.0, K, 100_001)
        window = w_max + c * (t - K) ** 3
        mean = np.trapezoid(window, t) / K
        assert mean == pytest.approx((1 - b / 4) * w_max, rel=1e-9)
        p, rtt = 0.1 / (K * mean), 0.1  # one signal in an epoch of K mean / R packets
        assert mean == pytest.approx((c * (1 - b / 4) / b) ** 0.25 * (rtt / p) ** 0.75, rel=1e-9)
        assert Cubic().at_rest(rtt, p)[0] / mean == pytest.approx(0.979, abs=5e-4)

    def test_arrays(self):
        law = Cubic(c=[0.2, 0.4, 0.8], decrease=[0.3, 0.3, 0.5])
        rtt, p = np.array([[0.01], [0.1]]), np.array([1e-5, 1e-3, 0.1])
        states = law.at_rest(rtt, p)
        for i, j in np.ndindex(2, 3):
            one = Cubic(c=[0.2, 0.4, 0.8][j], decrease=[0.3, 0.3, 0.5][j])
            expected = one.at_rest(float(rtt[i, 0]), float(p[j]))
            assert [float(state[i, j]) for state in states] == pytest.approx(expected, rel=1e-14)

    def test_in_a_mixture(self):
        flows = [pf.Flows(Cubic(), 4, "100ms"), pf.Flows(pf.Reno(), 4, "20ms")]
        point = pf.equilibrium(flows, pf.Pi2(), "100Mbit/s")
        assert 4 * sum(point.rate) == pytest.approx(1e8 / 12e3, rel=1e-10)
        assert point.states[0] == pytest.approx(Cubic().at_rest(0.12, point.p[0]), rel=1e-9)


class TestKernelWindows:
    """The kernel's own code under periodic signals: what the law leaves out, in numbers.

    It aims one round trip ahead, converges fast, mixes both regions within an epoch, and computes
    in integers at most once per clock tick.
    """

    @pytest.fixture(params=["linux", "linux3.18"])
    def ratios(self, request, table):
        """(kernel / law, kernel's window, cubic / friendly window) of every periodic row."""
        rows, law = table("cubic_windows.csv"), Cubic(variant=request.param)
        name = {"linux": "cubic", "linux3.18": "cubic3.18"}[request.param]
        keep = (rows["law"] == name) & (rows["process"] == "periodic")
        rtt, p, window = (rows[key][keep] for key in ("rtt", "p", "window"))
        cubic, friendly = regions(law, rtt, p)
        return window / law.at_rest(rtt, p)[0], window, cubic / friendly

    def test_friendly_region(self, ratios):
        ratio, window, region = ratios
        at = (region < 0.8) & (window > 64)
        assert at.sum() >= 6
        assert np.all((ratio[at] > 0.90) & (ratio[at] < 1.01))
        small = (region < 0.8) & (window > 10) & (window < 64)
        assert np.all((ratio[small] > 0.70) & (ratio[small] < 1.01))

    def test_cubic_region(self, ratios):
        ratio, _, region = ratios
        at = region > 2.0
        assert at.sum() >= 2
        assert np.all((ratio[at] > 1.08) & (ratio[at] < 1.14))

    def test_between_them(self, ratios):
        ratio, window, region = ratios
        at = (region > 0.8) & (region < 2.0) & (window > 10)
        assert at.sum() >= 4
        assert np.all((ratio[at] > 0.95) & (ratio[at] < 1.34))
        assert ratio[at].max() > 1.2  # so this is where the law is at its worst

    def test_independent_signals_change_little(self, table):
        """Why the law of periodic signals may stand for queues that draw lots."""
        rows = table("cubic_windows.csv")
        cubic, friendly = regions(Cubic(), rows["rtt"], rows["p"])
        at = (rows["law"] == "cubic") & (cubic > 1.15 * friendly) & (rows["p"] <= 1e-4)
        periodic, independent = (
            rows["window"][at & (rows["process"] == process)]
            for process in ("periodic", "bernoulli")
        )
        assert periodic.size == independent.size == 5
        np.testing.assert_allclose(independent, periodic, rtol=0.05)


def crowd(p_of, rtt, duration, flows=4000, dt=0.05, seed=1):
    """Mean window of Cubic flows with fast convergence, under signals drawn for each packet."""
    rng = np.random.default_rng(seed)
    c, b = 0.4, 0.3
    w_max = np.full(flows, 1000.0)
    since, K, origin = rng.uniform(0, 9, flows), np.full(flows, 9.0), w_max.copy()
    means = []
    for step in range(round(duration / dt)):
        since += dt
        window = np.maximum(origin + c * (since - K) ** 3, 2.0)
        means.append(window.mean())
        hit = rng.random(flows) < 1 - np.exp(-p_of(step * dt) * window / rtt * dt)
        before, after = window[hit], (1 - b) * window[hit]
        peak = np.where(before < w_max[hit], before * (1 - b / 2), before)
        w_max[hit], since[hit] = peak, 0.0
        K[hit], origin[hit] = np.cbrt(np.maximum(peak - after, 0) / c), np.maximum(peak, after)
    return np.array(means)


def follow(law, x, p, rtt, duration, dt=0.05):
    """The window of the law under a constant p from now on, without delay (Heun's method)."""
    window = []
    for _ in range(round(duration / dt)):
        window.append(x[0])
        k1 = law.rate(x, x, p, rtt, rtt)
        guess = tuple(v + dt * k for v, k in zip(x, k1, strict=True))
        k2 = law.rate(guess, guess, p, rtt, rtt)
        x = tuple(v + dt / 2 * (a + b) for v, a, b in zip(x, k1, k2, strict=True))
    return np.array(window)


class TestMotion:
    @pytest.mark.slow
    @pytest.mark.parametrize("p", [1e-4, 1e-5])
    @pytest.mark.parametrize("factor", [0.25, 0.7, 1.3, 4.0])
    def test_follows_a_crowd_of_flows(self, factor, p):
        """After a step of p, within 9 % of the step's size (rms) of flows signalled by lot."""
        rtt, change, duration = 0.1, 100.0, 60.0
        means = crowd(lambda t: p if t < change else factor * p, rtt, change + duration)
        before, after = np.split(means, [round(change / 0.05)])
        base = before[len(before) // 2 :].mean()
        law = Cubic()
        x = law.at_rest(rtt, p)
        mine = follow(law, x, factor * p, rtt, duration) / x[0]
        size = abs(factor**-0.75 - 1.0)
        assert np.sqrt(np.mean((after / base - mine) ** 2)) < 0.09 * size

    def test_friendly_region_is_additive_increase(self):
        """a per round trip, b W/(1 - b/2) per signal; the other states are idle."""
        law, rtt, p = Cubic(), 0.01, 1e-3
        for window in (20.0, 60.0):
            x = law.initial(window)
            now = (x[0], x[1], 0.1, 0.01)
            expected = 8 / 15 / rtt - 0.3 / 0.85 * window * 55.0 / rtt * p
            assert law.rate(now, (55.0, 1.0, 1.0, 1.0), p, rtt, rtt)[0] == pytest.approx(expected)

    def test_growth_without_signals(self):
        """From 10 segments, W reaches 1000 when one epoch of the true cubic does, within 15 %."""
        law, rtt = Cubic(), 1.0
        window = follow(law, law.initial(10.0), 0.0, rtt, 20.0, dt=0.01)
        w_max = 10 / 0.85
        K = np.cbrt(0.3 * w_max / 0.4)
        exact = K + np.cbrt((1000 - w_max) / 0.4)
        assert np.argmax(window > 1000) * 0.01 == pytest.approx(exact, rel=0.15)

    def test_epochs_and_peaks(self):
        law, rtt, p = Cubic(), 0.1, 1e-4
        signals = 300.0 / 0.2 * p
        x, x_delayed = (200.0, 250.0, 3.0, 5.0), (300.0, 1.0, 1.0, 1.0)
        _, peak, epoch, variance = law.rate(x, x_delayed, p, rtt, 0.2)
        assert peak == pytest.approx((200 / 0.85 - 250) * signals)
        assert epoch == pytest.approx(1 - 3.0 * signals)
        assert variance == pytest.approx((9.0 - 5.0) * signals)

    def test_moments_are_those_of_independent_signals(self):
        """Times since the last of signals that come at a rate which changes: s and v follow."""
        law, rng, dt = Cubic(), np.random.default_rng(5), 0.01
        times, x = np.zeros(20_000), (100.0, 120.0, 0.0, 0.0)
        for step in range(600):
            signals = 1.0 if step < 300 else 0.3
            slopes = law.rate(x, (100.0, 0, 0, 0), signals / 100.0, 1.0, 1.0)
            x = (100.0, 120.0, x[2] + dt * slopes[2], x[3] + dt * slopes[3])
            times = np.where(rng.random(times.size) < signals * dt, 0.0, times + dt)
        assert x[2] == pytest.approx(times.mean(), rel=0.03)
        assert x[3] == pytest.approx(times.var(), rel=0.05)
        assert x[3] < 0.8 * x[2] ** 2  # not yet at rest

    def test_begins_with_an_epoch(self):
        assert Cubic().initial(85.0) == pytest.approx((85.0, 100.0, 0.0, 0.0))
        left = Cubic().leave_slow_start((85.0, 3.0, 7.0, 9.0))
        assert left == pytest.approx((85.0, 100.0, 0.0, 0.0))

    def test_its_kink_is_where_its_two_windows_grow_alike(self):
        law, rtt = Cubic(), 0.1
        states = [(100.0, 120.0, s, 0.01) for s in np.linspace(0.0, 10.0, 1001)]
        rates = np.array([law.rate(x, (100.0, 0, 0, 0), 0.0, rtt, rtt)[0] for x in states])
        side = -np.array([lag(law, x, rtt) for x in states])
        np.testing.assert_allclose(rates[side < 0], 8 / 15 / rtt, rtol=1e-15)
        assert np.all(rates[side > 0] > 8 / 15 / rtt)
        assert np.count_nonzero(np.diff(np.sign(side))) == 2  # about s = K


class TestOneLawEverywhere:
    @pytest.mark.parametrize("law", [Cubic(), Cubic(variant="linux3.18", c=1.0)], ids=repr)
    def test_floats_numpy_and_jax_agree(self, law, rng, jax):
        low = [1, 1, 0, 0, 1, 0, 0.01, 0.01]
        high = [500, 500, 20, 400, 500, 1e-2, 0.3, 0.3]
        args = rng.uniform(low, high, size=(40, 8)).T

        def rate(w, m, s, v, wd, p, r, rd):
            return law.rate((w, m, s, v), (wd, m, s, v), p, r, rd)

        plain = np.array([rate(*map(float, column)) for column in args.T]).T
        with jax.enable_x64(True):
            traced = np.array(jax.jit(rate)(*args))
        signals = args[4] / args[7] * args[5]
        # rounding, relative to the largest of the terms
        scale = np.abs(plain) + law.c * (3 * args[2] ** 2 + args[3] + 200) + 2e3 * signals
        assert np.all(np.abs(np.array(rate(*args)) - plain) <= 1e-15 * scale)
        assert np.all(np.abs(traced - plain) <= 4e-15 * scale)

    @pytest.mark.parametrize("p", [0.1, 1e-3, 1e-4, 1e-6])  # two in each region
    def test_slopes_are_those_of_differences(self, p, jax):
        law, rtt = Cubic(), 0.1
        x = law.at_rest(rtt, p)
        at = np.array([*x, *x, p, rtt, rtt])

        def rate(v):
            return np.array(law.rate(tuple(v[:4]), tuple(v[4:8]), *v[8:]))

        with jax.enable_x64(True):
            slopes, _ = rate_slopes(law, tuple(map(np.float64, x)), np.float64(p), np.float64(rtt))
        sizes = np.array(x) / x[2]
        for j in range(11):
            step = 1e-5 * at[j]
            h = step * np.eye(11)[j]
            by_difference = (rate(at + h) - rate(at - h)) / (2 * step)
            apart = np.abs(np.array(slopes[j], float) - by_difference)
            assert np.all(apart <= 1e-8 * sizes / at[j])


class TestLoop:
    @pytest.mark.parametrize("p", [0.03, 1e-3, 1e-4, 1e-5, 1e-6])
    @pytest.mark.parametrize("update", ["continuous", "sampled"])
    def test_has_margins_in_both_regions(self, p, update):
        queue = pf.Pi2(alpha=0.1, beta=1.0)
        margins = pf.Loop(Cubic(), queue, rtt="50ms", p=p, update=update).margins()
        assert np.isfinite([margins.gain_margin_db, margins.phase_margin_deg]).all()
        assert margins.gain_margin_db > 0.0
        assert margins.phase_margin_deg > 0.0
        assert margins.verdict == "stable"

    @pytest.mark.parametrize("rtt", [0.04, 0.1])
    @pytest.mark.parametrize("rtt_terms", ["frozen", "exact"])
    def test_plant_by_hand(self, rtt, rtt_terms):
        """Relative deviations w, e, f of W, s, v, with l = 1/s signals per second at rest.

        h = w_d + p_d - r_d (r of R) is that of the signals, g = b/(1 - b/2) what one takes of W:
        e' = -l (e + h), f' = l (2 e - f), and w' = -l g (w + h) + l g (f or -r): the cubic's growth
        c v at s = K, or the friendly a/R.
        """
        law, g = Cubic(), 0.3 / 0.85
        for p in (1e-2, 1e-6):
            cubic, friendly = regions(law, rtt, p)
            lam, s = 1 / law.at_rest(rtt, p)[2], 1j * np.geomspace(0.01, 30.0, 7)
            loop = pf.Loop(law, pf.Pi2(), rtt=rtt, p=p, rtt_terms=rtt_terms)
            delayed = np.exp(-s * rtt)
            heard = g * lam * delayed
            if cubic > friendly:
                heard = heard * (1 + 2 * lam**2 / (s + lam) ** 2)
            own = s + g * lam
            over_p = -heard / (own + heard)
            over_r = 0.0
            if rtt_terms == "exact":
                growth = 0.0 if cubic > friendly else -g * lam
                over_r = (growth + heard) / (own + heard) / rtt
            # the delay d in seconds: d' = w - d/R, and p = u^2 makes p_d twice that of u
            control = 0.3125 / 0.032 / s + 3.125 + 0.3125 / 2
            expected = -control * 2 / np.sqrt(p) * over_p / (s + 1 / rtt - over_r)
            np.testing.assert_allclose(loop(s), expected, rtol=1e-9)

    @pytest.mark.slow
    def test_one_kink(self):
        """Margins are smooth in p on both sides of the switch, and finite there."""
        law, queue, rtt = Cubic(), pf.Pi2(alpha=0.1, beta=1.0), 0.1
        p = np.geomspace(1e-2, 1e-6, 41)
        cubic, friendly = regions(law, rtt, p)
        margins = pf.Loop(law, queue, rtt=rtt, p=p).margins()
        for at in (cubic > friendly, cubic < friendly):
            assert np.all(np.abs(np.diff(margins.gain_margin_db[at], n=2)) < 0.1)
            assert np.all(np.abs(np.diff(margins.phase_margin_deg[at], n=2)) < 1.0)
        # where both windows are equal: (c h (R/p)^3)^(1/4) = sqrt(a h/p) with h = (1 - b/2)/b
        switch = 0.4 * rtt**3 / ((8 / 15) ** 2 * (1 - 0.3 / 2) / 0.3)
        sides = [pf.Loop(law, queue, rtt=rtt, p=switch * (1 + d)).margins() for d in (1e-9, -1e-9)]
        lags = [lag(law, law.at_rest(rtt, switch * (1 + d)), rtt) for d in (1e-9, -1e-9)]
        assert lags[0] > 0.0 > lags[1]
        assert abs(sides[0].gain_margin_db - sides[1].gain_margin_db) < 1.0
        assert abs(sides[0].phase_margin_deg - sides[1].phase_margin_deg) < 5.0

    def test_no_mode_is_left_at_rest(self, jax):
        """The law's own modes all decay within a few epochs, in both regions."""
        for p in (1e-2, 1e-6):
            law, rtt = Cubic(), 0.1
            x = law.at_rest(rtt, p)
            with jax.enable_x64(True):
                slopes, _ = rate_slopes(
                    law, tuple(map(np.float64, x)), np.float64(p), np.float64(rtt)
                )
            columns = np.array(slopes[:8], float)
            modes = np.linalg.eigvals((columns[:4] + columns[4:]).T)
            assert np.all(modes.real < -0.3 / x[2])


class TestFields:
    @pytest.mark.parametrize(
        ("given_", "error", "text"),
        [
            ({"decrease": 0}, pf.DomainError, r"^Cubic decrease = 0 is outside \(0, 1\]"),
            ({"decrease": 1.1}, pf.DomainError, r"^Cubic decrease = 1\.1 is outside \(0, 1\]"),
            ({"c": 0}, pf.DomainError, r"^Cubic c = 0 is outside \(0, inf\)"),
            ({"c": "0.4s"}, pf.QuantityError, "^Cubic c = '0.4s'"),
            (
                {"variant": "bsd"},
                pf.QuantityError,
                "^Cubic variant = 'bsd' .* 'linux', 'linux3.18'",
            ),
            ({"hystart": 1}, pf.QuantityError, "^Cubic hystart = 1 is unknown"),
        ],
    )
    def test_refusals(self, given_, error, text):
        with pytest.raises(error, match=text):
            Cubic(**given_)

    def test_hystart_is_for_packets(self):
        args = ((200.0, 250.0, 3.0, 5.0), (300.0, 1.0, 1.0, 1.0), 1e-4, 0.1, 0.2)
        assert Cubic(hystart=False).rate(*args) == Cubic().rate(*args)
        assert Cubic(hystart=False) != Cubic()


@pytest.mark.parametrize("p", [1e-3, 1e-4, 1e-5])
def test_roots_in_spite_of_a_mode_that_the_rate_does_not_show(p):
    """w_max is hidden at rest in the cubic region: its mode is a root, and divides nothing by 0."""
    loop = pf.Loop(Cubic(), pf.Pi2(), rtt=0.1, p=p)
    roots = loop.roots(3)
    margins = loop.margins()
    assert np.all(np.isfinite(roots))
    assert (roots[0].real < 0) == (margins.gain_margin_db > 0) == (loop.nyquist_count() == 0)
