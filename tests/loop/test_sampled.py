"""The exact sampled loop: alias sums, an independent simulation, and where (29) misleads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.loop.crossovers import find_crossings
from pi2_fluid.loop.ends import gain_bound
from pi2_fluid.loop.roots import count_unstable
from pi2_fluid.loop.sampled import alias_sums_of, sampled_response
from pi2_fluid.loop.state_space import LinearLoop
from pi2_fluid.loop.transient import sampled_step

pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")


@pytest.mark.parametrize("ratio", [0.05, 0.32, 1.0, 3.2, 10.0])
@pytest.mark.parametrize("terms", ["frozen", "exact"])
@pytest.mark.parametrize("sender", [pf.Reno(), pf.Scalable()])
def test_alias_sum_has_converged(ratio, terms, sender):
    rtt = 0.032 / ratio
    loop = pf.Loop(sender, pf.CoupledPi2(), rtt=rtt, p=0.05, update="sampled", rtt_terms=terms)
    w = np.geomspace(1e-5, np.pi / 0.032, 15)
    many = sampled_response(loop.linear, 1j * w, aliases=3000)
    # what is left falls like (aliases)^-5: with the default 32, 2e-8 at pi/T and far less below
    np.testing.assert_allclose(loop(1j * w), many, rtol=2e-8)
    np.testing.assert_allclose(loop(1j * w[:-2]), many[:-2], rtol=1e-9)


def test_alias_sum_against_the_sum_as_it_is_defined():
    """No expansion, no closed tail: 20 000 aliases of the plain formula."""
    alpha, beta, T, R, p = 0.3125, 3.125, 0.032, 0.1, 0.1
    w = np.array([0.5, 4.9, 30.0, 90.0])
    k = np.arange(-20000, 20001)[:, None]
    s = 1j * (w + 2 * np.pi * k / T)
    e = np.exp(-s * R)
    mu = p / np.sqrt(2)
    plant = np.sqrt(2) * R * e / ((1 + s * R) * (s * R + mu * (1 + e)))
    held = (1 - np.exp(-s * T)) / s
    y = np.exp(-1j * w * T)
    direct = (alpha + beta * (1 - y)) / (1 - y) * np.sum(plant * held, axis=0) / T
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt=R, p_prime=p, update="sampled")
    np.testing.assert_allclose(loop(1j * w), direct, rtol=2e-8)


@pytest.mark.parametrize("terms", ["frozen", "exact"])
@pytest.mark.parametrize("ratio", [0.05, 1.0, 7.3])
def test_compiled_sums_are_those_of_the_arrays(ratio, terms):
    """Classes of one state and of four, one of them with a lead, at complex frequencies, too."""
    T = 0.032
    flows = [
        pf.Flows(pf.Reno(), 20, T / ratio),
        pf.Flows(pf.Scalable(), 3, 2.7 * T / ratio),
        pf.Flows(pf.Cubic(), 3, 1.3 * T / ratio),
        pf.Flows(pf.Cbr(rate="1Mbit/s", thinned=False), 2, "50ms"),
    ]
    aqm = pf.CoupledPi2(target="5ms", update_interval=T)
    loop = pf.Loop(flows, aqm, capacity="100Mbit/s", update="sampled", rtt_terms=terms).linear
    ahead = replace(loop.classes[1], lead=0.3 * T, e0=0.0, e1=0.0, r=0.0)
    loop = LinearLoop((*loop.classes, ahead), loop.controller, ())
    s = np.geomspace(1e-4, 1.0, 40) * np.exp(1j * np.linspace(0.3, np.pi / 2, 40)) * np.pi / T
    alone = LinearLoop(loop.classes, loop.controller, (1,))
    assert alias_sums_of(loop) is not None
    assert alias_sums_of(alone) is None
    # where terms cancel, both lose as many digits as they do
    np.testing.assert_allclose(
        sampled_response(loop, s), sampled_response(alone, s[:, None])[:, 0], rtol=1e-12
    )


def test_compiled_sums_refuse_what_they_do_not_know():
    none = np.zeros(0)
    with pytest.raises(ValueError, match=r"a class of flows lacks 'own', .*'felt'"):
        _core.AliasSums([{}], [], 0.1, 32)
    with pytest.raises(ValueError, match="an echo knows no 'late', and lacks 'delay'"):
        _core.AliasSums([], [{"late": 1.0, "order2": 0.0, "order3": 0.0, "order4": 0.0}], 0.1, 32)
    with pytest.raises(ValueError, match="interval must be positive"):
        _core.AliasSums([], [], 0.0, 32)
    with pytest.raises(ValueError, match="count is outside"):
        _core.AliasSums([], [], 0.1, -1)
    columns = dict.fromkeys(["rtt", "mu", "one", "varies", "kappa", "near"], np.ones(3))
    with pytest.raises(ValueError, match="a row for each loop"):
        _core.design_alias_sums(**columns, interval=0.1, count=6, w=np.ones((2, 5)))
    with pytest.raises(ValueError, match="of one length"):
        _core.design_alias_sums(**columns | {"mu": none}, interval=0.1, count=6, w=np.ones((3, 5)))


def test_the_fastest_class_says_how_many_aliases_are_summed():
    """A hundred round trips of one class in an update, and half of one of the other's."""
    flows = [pf.Flows(pf.Reno(), 5, "1ms"), pf.Flows(pf.Reno(), 50, "200ms")]
    aqm = pf.Pi2(target="0.2ms", update_interval="100ms")
    linear = pf.Loop(flows, aqm, capacity="400Mbit/s", update="sampled").linear
    s = 1j * np.array([0.05, 0.3, 0.9]) * np.pi / 0.1
    many = sampled_response(linear, s, aliases=20_000)
    np.testing.assert_allclose(sampled_response(linear, s), many, rtol=1e-9)


def growth_per_period(loop, gain):
    """Spectral radius of the loop over one update, on a grid of T/16: no transform anywhere."""
    linear = loop.linear
    (cls,) = linear.classes
    T, R = float(linear.controller.interval), float(cls.rtt)
    steps = 16
    h = T / steps
    delay = round(R / h)
    assert delay * h == pytest.approx(R)
    a0, a1, e0, e1 = (float(x) for x in (cls.a0, cls.a1, cls.e0, cls.e1))
    b = float(cls.b) * gain
    c, r, weight = float(cls.c), float(cls.r), float(cls.weight)
    alpha, beta = 0.3125, 3.125
    # state: x and d now and over one delay, the signals of that time, previous d, u
    n = delay + 1
    size = 3 * n + 2

    def period(z):
        x, d, u = list(z[:n]), list(z[n : 2 * n]), list(z[2 * n : 3 * n])
        before, held = z[3 * n], z[3 * n + 1]
        held = held + alpha * d[-1] + beta * (d[-1] - before)
        before = d[-1]
        u[-1] = held
        for _ in range(steps):
            # trapezoidal rule on x' = a0 x + a1 x_R + b u_R + e0 d + e1 d_R, d' = w (c x + r d)
            xr, dr = (x[0], x[1]), (d[0], d[1])
            drive = h * (a1 * sum(xr) / 2 + b * u[0] + e1 * sum(dr) / 2)
            matrix = np.array(
                [[1 - h * a0 / 2, -h * e0 / 2], [-h * weight * c / 2, 1 - h * weight * r / 2]]
            )
            right = np.array(
                [
                    x[-1] * (1 + h * a0 / 2) + d[-1] * h * e0 / 2 + drive,
                    x[-1] * h * weight * c / 2 + d[-1] * (1 + h * weight * r / 2),
                ]
            )
            new = np.linalg.solve(matrix, right)
            x, d, u = [*x[1:], new[0]], [*d[1:], new[1]], [*u[1:], held]
        return np.array([*x, *d, *u, before, held])

    monodromy = np.array([period(column) for column in np.eye(size)]).T
    return np.max(np.abs(np.linalg.eigvals(monodromy)))


@pytest.mark.parametrize(
    ("sender", "p", "terms"), [(pf.Reno(), 0.01, "frozen"), (pf.Scalable(), 0.1, "exact")]
)
def test_critical_gain_against_the_time_domain(sender, p, terms):
    """The gain at which a direct simulation of one period neither grows nor decays."""
    aqm = pf.Pi2() if sender.signal == "classic" else pf.Pi(alpha=0.3125, beta=3.125)
    loop = pf.Loop(sender, aqm, rtt=0.1, p=p, update="sampled", rtt_terms=terms)
    expected = loop.margins().gain_margin
    found = brentq(
        lambda g: growth_per_period(loop, g) - 1, 0.8 * expected, 1.2 * expected, xtol=1e-6
    )
    # trapezoidal steps of T/16 = R/50: second order, a relative error of a few 1e-4
    assert found == pytest.approx(expected, rel=1e-3)


def test_discovery_the_advertised_gains_leave_a_tenth_of_a_decibel():
    """x2.5 leaves 2.0 dB in the paper's model and 0.1 dB in the sampled model."""
    paper = pf.loop.low_load(pf.Reno(), pf.presets.pi2_paper(), 0.1)
    kernel = pf.loop.low_load(pf.Reno(), pf.presets.pi2_paper(), 0.1, "sampled")
    assert paper.gain_margin_db == pytest.approx(1.99395, abs=1e-4)
    assert kernel.gain_margin_db == pytest.approx(0.10271, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "sender", "aqm"),
    [
        ("region_worst_paper_pi2_cont", pf.Reno(), pf.Pi2()),
        ("region_worst_paper_pi2_sampled", pf.Reno(), pf.Pi2()),
        ("region_worst_rfc9332_sampled", pf.Reno(), pf.presets.rfc9332(0.1)),
        ("region_worst_linux_dualpi2_default_sampled", pf.Reno(), pf.presets.linux_dualpi2()),
        ("region_worst_paper_scal_sampled", pf.Scalable(), pf.Pi(alpha=0.625, beta=6.25)),
    ],
)
def test_low_load_limits(known, name, sender, aqm):
    expected = known[name]["expected"]
    update = "continuous" if name.endswith("cont") else "sampled"
    margins = pf.loop.low_load(sender, aqm, 0.1, update)
    assert margins.gain_margin_db == pytest.approx(expected["gm_db"], abs=1e-6)
    assert margins.phase_margin_deg == pytest.approx(expected["pm_deg"], abs=1e-6)
    assert margins.modulus_margin == pytest.approx(expected["modulus_margin"], rel=1e-6)


@pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
@pytest.mark.parametrize("sender", [pf.Reno(), pf.CReno(), pf.Scalable()])
def test_low_load_is_the_limit_of_a_small_load(sender, update):
    aqm = pf.CoupledPi2(alpha=0.15, beta=3.0, update_interval=0.016)
    limit = pf.loop.low_load(sender, aqm, 0.1, update)
    p_prime = 1e-7
    near = pf.Loop(sender, aqm, rtt=0.1, p_prime=p_prime, update=update).margins()
    assert near.gain_margin_db == pytest.approx(limit.gain_margin_db, abs=2e-5)
    assert near.phase_margin_deg == pytest.approx(limit.phase_margin_deg, abs=2e-5)


@pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
def test_existence_condition(update):
    """Just below rtt_limit a small enough gain is stable at low load; just above, none is."""
    limit = pf.loop.rtt_limit(0.3125, 3.125, 0.032, update)
    assert limit == pytest.approx({"continuous": 0.168}.get(update, 0.160))
    for factor, stable in ((0.97, True), (1.03, False)):
        # shrink both gains by the same factor: the ratio, and so the limit, stays
        aqm = pf.Pi2(alpha=0.3125e-4, beta=3.125e-4)
        margins = pf.loop.low_load(pf.Reno(), aqm, factor * limit, update)
        assert (margins.gain_margin_db > 0) == stable
        assert (margins.phase_margin_deg > 0) == stable
    assert margins.gain_margin_db == -np.inf
    assert margins.phase_crossover == 0.0


@pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
@pytest.mark.parametrize("rtt", [0.1, 0.2])
@pytest.mark.parametrize(
    ("sender", "aqm"),
    [
        (pf.Reno(), pf.Pi()),
        (pf.CReno(), pf.Pie(update_interval=0.032)),
        (pf.Reno(), pf.Pie(table="sqrt2p", update_interval=0.032)),
        (pf.Scalable(), pf.Pie(table="sqrt2p", update_interval=0.032)),
        (pf.Scalable(), pf.Pie(update_interval=0.032)),
    ],
)
def test_low_load_where_the_gain_has_no_limit(sender, aqm, rtt, update):
    """Unbounded and vanishing gains: what the loop itself tends to, at p = 1e-16."""
    limit = pf.loop.low_load(sender, aqm, rtt, update)
    near = pf.Loop(sender, aqm, rtt=rtt, p=1e-16, update=update).margins()
    assert limit.verdict == near.verdict

    def tends(value, end, atol, far):
        """To an infinite end: beyond `far` on its side; to a finite one: close to it."""
        return value * np.sign(end) > far if np.isinf(end) else abs(value - end) < atol

    assert tends(near.gain_margin_db, limit.gain_margin_db, 1e-3, 40)
    assert tends(near.phase_margin_deg, limit.phase_margin_deg, 0.02, 300)
    assert tends(near.gain_crossover, limit.gain_crossover, 0.02, 50)
    assert tends(near.phase_crossover, limit.phase_crossover, 0.02, 50)
    if np.isfinite(limit.delay_margin):
        assert near.delay_margin == pytest.approx(limit.delay_margin, rel=0.02)


def test_plain_pi_has_no_stable_low_load():
    margins = pf.loop.low_load(pf.Reno(), pf.Pi(), 0.1)
    assert margins.gain_margin_db == margins.phase_margin_deg == -np.inf
    assert margins.verdict == "unstable"
    with pytest.raises(pf.UnsupportedError):
        pf.loop.low_load(pf.Scalable(), pf.Pi2(), 0.1)


def test_boundary_in_closed_form(known):
    """At load mu(v) the phase crossover is at v and the gain margin K(v): no root was searched."""
    from pi2_fluid.loop.analytic import solve_margins

    for name, answer in known.items():
        if not name.startswith("boundary"):
            continue
        x, expected = answer["inputs"], answer["expected"]
        plant = "reno" if x["plant"] == "reno_p2" else "scalable"
        m = np.sqrt(2) if plant == "reno" else 0.5
        k = 1 + x["theta_delay"] / 2
        gm, _, _, w_pc = solve_margins(plant, m, expected["mu"], x["a"], x["c"], 1.0, k)
        assert w_pc == pytest.approx(x["v"], rel=1e-10)
        assert 10 ** (gm / 20) == pytest.approx(expected["gain_margin_linear"], rel=1e-10)


def test_delayed_model_is_close_where_it_claims_to_be():
    """Within 0.121 dB of the exact loop for T/R <= 0.5, and on the safe side."""
    loads = np.array([0.001, 0.01, 0.1, 0.6])
    for rtt in (0.064, 0.1, 0.2):
        args = {"rtt": rtt, "p_prime": loads}
        half = pf.Loop(pf.Reno(), pf.Pi2(), update="delayed", **args).margins().gain_margin_db
        exact = pf.Loop(pf.Reno(), pf.Pi2(), update="sampled", **args).margins().gain_margin_db
        assert np.all(half <= exact + 1e-9)
        assert np.all(exact - half < 0.121)


@pytest.mark.slow
@pytest.mark.parametrize("update", ["continuous", "sampled"])
def test_bound_of_the_gain_holds(rng, update):
    """|L| never exceeds the bound that ends the search for crossovers."""
    for _ in range(40):
        rtt = 10 ** rng.uniform(-2, 0)
        interval = rtt * 10 ** rng.uniform(-2, 0)
        flows = [
            pf.Flows(pf.Reno(), rng.uniform(1, 20), rtt),
            pf.Flows(pf.Scalable(), rng.uniform(1, 20), rtt * rng.uniform(0.2, 1)),
        ]
        aqm = pf.CoupledPi2(alpha=0.3, beta=3.0, update_interval=interval, target=0.005)
        terms = str(rng.choice(["frozen", "exact"]))
        loop = pf.Loop(flows, aqm, capacity="200Mbit/s", update=update, rtt_terms=terms)
        end = np.pi / interval
        v = np.geomspace(1.0 / rtt, end, 300)
        gain = np.abs(loop(1j * v))
        for start in (0, 100, 200):
            bound = gain_bound(loop.linear, update, v[start])
            assert gain[start:].max() <= bound
    assert np.isfinite(bound)


@pytest.mark.slow
def test_ending_the_search_early_loses_nothing(monkeypatch):
    """A long round trip and a short interval: the range up to pi/T is cut where |L_d| is small."""
    aqm = pf.Pi2(alpha=0.003, beta=1.5, update_interval=0.001)
    loop = pf.Loop(pf.Reno(), aqm, rtt=1.0, p=0.01, update="sampled")
    short = find_crossings(loop.linear, "sampled")
    assert short.w[-1] < 0.5 * np.pi / 0.001
    count = count_unstable(loop.linear, "sampled")
    monkeypatch.setattr("pi2_fluid.loop.crossovers._SMALL_GRID", np.inf)
    monkeypatch.setattr("pi2_fluid.loop.roots.fading_end", lambda *_: np.pi / 0.001)
    full = find_crossings(loop.linear, "sampled")
    assert full.w[-1] == pytest.approx(np.pi / 0.001, rel=2e-6)
    assert count_unstable(loop.linear, "sampled") == count == loop.nyquist_count() == 2
    np.testing.assert_allclose(short.gain, full.gain, rtol=1e-12)
    found = np.array(full.phase)[: len(short.phase)]
    np.testing.assert_allclose(short.phase, found, rtol=1e-9)
    assert max(crossing.gain for crossing in full.phase) == pytest.approx(short.phase[0].gain)


def test_counts_of_unstable_sampled_loops_whose_range_is_cut():
    for factor, unstable in ((0.9, 0), (1.1, 2)):
        base = pf.Loop(
            pf.Reno(), pf.Pi2(alpha=0.003, beta=1.5, update_interval=0.001), rtt=1.0, p=0.01,
            update="sampled",
        )  # fmt: skip
        gain = factor * base.margins().gain_margin
        aqm = pf.Pi2(alpha=0.003 * gain, beta=1.5 * gain, update_interval=0.001)
        loop = pf.Loop(pf.Reno(), aqm, rtt=1.0, p=0.01, update="sampled")
        assert loop.nyquist_count() == unstable


# --- the step response ----------------------------------------------------------------------


def recursion(loop, interval, count):
    """y = l * (1 - y), update by update: no transform of the closed loop, stable or not.

    l is the response of the open loop, which has a pole at z = 1 and none outside: from its
    values on a circle a little outside, at four times as many points as are used, so that the
    wrap-around is damped by e^-30 and rounding grows by e^7.5.
    """
    size = 4 * max(count, 128)
    radius = 30.0 / size
    s = (radius + 2j * np.pi * np.arange(size) / size) / interval
    pulses = np.fft.ifft(loop(s)).real[:count] * np.exp(radius * np.arange(count))
    y = np.zeros(count)
    for n in range(count):
        error = 1.0 - y[:n]
        # pulses[0] = 0: the queue answers a round trip later
        y[n] = (pulses[1 : n + 1][::-1] @ error) if n else 0.0
    return y


@pytest.mark.parametrize(
    ("alpha", "interval", "rtt", "p_prime", "stable"),
    [
        (0.05, 0.016, 0.1, 0.05, True),
        (0.3, 0.016, 0.1, 1e-3, False),  # grows slowly
        (0.1, 0.016, 0.4, 0.05, False),
        (0.1, 0.064, 0.4, 1e-4, False),
        (1.0, 0.016, 0.4, 1e-3, False),  # grows quickly
    ],
)
def test_step_response_is_that_of_a_recursion(alpha, interval, rtt, p_prime, stable):
    aqm = pf.Pi2(alpha=alpha, beta=20 * alpha, update_interval=interval)
    loop = pf.Loop(pf.Reno(), aqm, rtt=rtt, p_prime=p_prime, update="sampled")
    assert (loop.margins().verdict == "stable") is stable
    found = sampled_step(loop.linear, 600, farthest=20.0)
    assert (found.size == 601) is stable
    expected = recursion(loop, interval, found.size)
    # 1e-9 of a response that has grown to 20
    np.testing.assert_allclose(found, expected, atol=2e-8)


def test_it_ends_before_what_it_is_told_not_to_follow():
    law = pf.Pi2(alpha=1.0, beta=10.0)
    loop = pf.Loop(pf.Reno(), law, rtt=0.3, p_prime=0.01, update="sampled")
    short, long = (sampled_step(loop.linear, 400, farthest=end) for end in (5.0, 50.0))
    assert short.size < long.size
    assert np.abs(short).max() <= 5.0 < np.abs(long).max() <= 50.0
    np.testing.assert_allclose(long[: short.size], short, atol=1e-9)


def test_step_of_an_unstable_loop_does_not_depend_on_how_far_it_is_asked_for():
    law = pf.Pi2(alpha=0.3, beta=6.0, update_interval="16ms")
    loop = pf.Loop(pf.Reno(), law, rtt=0.1, p_prime=1e-3, update="sampled")
    assert loop.margins().verdict == "unstable"
    t = 0.016 * np.arange(300)
    early, late = loop.step(t), loop.step(np.append(t, 48.0))[:-1]
    np.testing.assert_allclose(early, late, atol=1e-6 * np.abs(early).max())
    np.testing.assert_allclose(early, recursion(loop, 0.016, 300), atol=1e-6 * np.abs(early).max())
    assert early[0] == pytest.approx(0.0, abs=1e-8)
