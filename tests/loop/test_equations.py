"""The closed forms (29)-(37) against the linearised laws, and blocks with N and C spelt out."""

from __future__ import annotations

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.loop import equations
from pi2_fluid.loop.controllers import update_slopes
from pi2_fluid.loop.linearization import linearize, rate_slopes
from pi2_fluid.loop.response import loop_response

pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")

PAIRS = [
    (pf.Reno, pf.Pi),
    (pf.Reno, pf.Pie),
    (pf.Reno, pf.Pi2),
    (pf.Reno, pf.CoupledPi2),
    (pf.CReno, pf.Pi),
    (pf.CReno, pf.Pie),
    (pf.CReno, pf.Pi2),
    (pf.CReno, pf.CoupledPi2),
    (pf.Scalable, pf.Pi),
    (pf.Scalable, pf.Pie),
    (pf.Scalable, pf.CoupledPi2),
]
# p = 1, every table edge, and one rounding to either side of an edge
SPECIAL = [1.0, *(10.0**-k for k in range(1, 7)), np.nextafter(0.01, 0), np.nextafter(0.01, 1)]


def random_loops(rng, sender, aqm, size=300, **fields):
    p = np.concatenate([SPECIAL, 10 ** rng.uniform(-8, 0, size - len(SPECIAL))])
    queue = aqm(
        alpha=10 ** rng.uniform(-4, 1, size),
        beta=10 ** rng.uniform(-4, 2, size),
        update_interval=10 ** rng.uniform(-3, 0.5, size),
        **fields,
    )
    rtt = 10 ** rng.uniform(-3.5, 0.5, size)
    return sender(), queue, rtt, p


@pytest.mark.parametrize(("sender", "aqm"), PAIRS)
@pytest.mark.parametrize("terms", ["frozen", "exact"])
def test_linearised_law_is_the_closed_form(rng, sender, aqm, terms):
    law, queue, rtt, p = random_loops(rng, sender, aqm)
    point = pf.equilibrium_of(law, queue, rtt, p=p)
    linear = linearize([law], queue, point, terms)
    form = equations.closed_form(law, queue, point)
    s = (rng.normal(size=p.size) + 1j * 10 ** rng.uniform(-3, 2.5, p.size)) / rtt
    ours, paper = loop_response(linear, s), equations.loop_response(s, form, terms)
    # asked: 1e-9; rounding in e^{-sR} and in 1 + e limits it to about 1e-12
    np.testing.assert_allclose(ours, paper, rtol=2e-11)


@pytest.mark.parametrize("table", ["rfc8033", "rfc8034", "hpsr13", "ietf_early", "sqrt2p", "none"])
def test_pie_tables_on_their_edges(rng, table):
    law, queue, rtt, p = random_loops(rng, pf.Reno, pf.Pie, table=table)
    loop = pf.Loop(law, queue, rtt=rtt, p=p)
    s = 1j / rtt
    np.testing.assert_allclose(loop(s), equations.loop_response(s, loop.form), rtol=1e-12)


def test_every_other_pair_has_no_closed_form():
    point = pf.equilibrium_of(pf.Scalable(), pf.Pi2(), rtt=0.1, p=0.1)
    assert equations.closed_form(pf.Scalable(), pf.Pi2(), point) is None

    class MyReno(pf.Reno):
        pass

    assert equations.closed_form(MyReno(), pf.Pi2(), point) is None


def test_blocks_with_capacity_and_flows(rng):
    """Equations (20)-(28) with N, C, W0, q in packets, none of the normalisations of (31)-(37)."""
    for _ in range(20):
        N, C = rng.integers(1, 100), 10 ** rng.uniform(2, 4)
        base, target = 10 ** rng.uniform(-2, -0.5), 0.02
        alpha, beta, T = 0.3125, 3.125, 0.032
        R = base + target
        W0 = R * C / N
        if np.sqrt(2) > W0:
            continue
        point = pf.equilibrium(pf.Flows(pf.Reno(), N, base), pf.Pi2(), C * 12000)
        assert point.window[0] == pytest.approx(W0, rel=1e-12)  # (19)
        s = 1j * 10 ** rng.uniform(-2, 2, 10)
        e = np.exp(-s * R)
        tcp = -np.sqrt(2) * C / N * e / (s + N / (R**2 * C) * (1 + e))  # (21)
        queue = (N / R) / (s + 1 / R)  # (28), packets
        pi = ((beta + alpha / 2) / C * s + alpha / (T * C)) / s  # (29), corrected
        loop = pf.Loop(pf.Flows(pf.Reno(), N, base), pf.Pi2(), capacity=C * 12000)
        np.testing.assert_allclose(loop(s), -tcp * queue * pi, rtol=1e-11)


def test_pi2_is_pi_times_its_own_slope(rng):
    """L under PI2 at p' is 2 p' times L under PI at p = p'^2 with the same gains."""
    p_prime = 10 ** rng.uniform(-4, 0, 50)
    s = 1j * 10 ** rng.uniform(-1, 2, 50)
    gains = {"alpha": 0.2, "beta": 2.0, "update_interval": 0.03}
    square = pf.Loop(pf.Reno(), pf.Pi2(**gains), rtt=0.1, p_prime=p_prime)
    plain = pf.Loop(pf.Reno(), pf.Pi(**gains), rtt=0.1, p_prime=p_prime)
    np.testing.assert_allclose(square(s), 2 * p_prime * plain(s), rtol=1e-12)


def test_scalable_under_the_coupled_queue_is_scalable_under_pi_with_k_times_the_gains():
    coupled = pf.CoupledPi2(alpha=0.3125, beta=3.125, k=2.0)
    plain = pf.Pi(alpha=0.625, beta=6.25)
    p = np.logspace(-3, 0, 7)
    s = 3j
    np.testing.assert_allclose(
        pf.Loop(pf.Scalable(), coupled, rtt=0.1, p=p)(s),
        pf.Loop(pf.Scalable(), plain, rtt=0.1, p=p)(s),
        rtol=1e-13,
    )


def test_equation_29_is_the_tustin_image_of_the_update(rng):
    """The polynomials that the linearised update gives, against beta + alpha/2 + alpha/(sT)."""
    from pi2_fluid.loop.response import controller_polynomials

    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1)
    s = rng.normal(size=20) + 1j * 10 ** rng.uniform(-9, 3, 20)
    top, bottom = controller_polynomials(loop.linear.controller, s)
    np.testing.assert_allclose(top / bottom, equations.pi_response(s, loop.form), rtol=1e-13)


@pytest.mark.slow
def test_slopes_of_laws_under_jit_vmap_and_grad(jax):
    """The pure functions below the linearisation: -2/(R W0) of (20), and its derivative."""
    R, p = 0.1, 0.02

    def decay(decrease):
        law = pf.Reno(decrease=decrease)
        window = (decrease * p) ** -0.5
        rate, _ = rate_slopes(law, (window,), p, R)
        return rate[0][0] + rate[1][0]  # -2 / (R W0) = -2 sqrt(b p) / R

    def gain(alpha):
        update, _ = update_slopes(pf.Pi2(alpha=alpha), (0.1, 0.02), 0.02, 1000.0)
        return update[2][0]  # alpha + beta

    with jax.enable_x64(True):
        b = np.array([0.3, 0.5, 0.7])
        expected = -2 * np.sqrt(b * p) / R
        np.testing.assert_allclose(jax.vmap(decay)(b), expected, rtol=1e-13)
        np.testing.assert_allclose(
            jax.jit(jax.vmap(jax.grad(decay)))(b), expected / (2 * b), rtol=1e-12
        )
        assert float(jax.jit(gain)(0.3)) == pytest.approx(0.3 + 3.125)
        assert float(jax.grad(gain)(0.3)) == 1.0
