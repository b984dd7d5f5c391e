"""The verdict: signs of the margins, counted unstable modes and rightmost roots say the same."""

from __future__ import annotations

import numpy as np
import pytest

import pi2_fluid as pf

pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")

CASES = [
    (pf.Reno(), pf.Pi2, "frozen"),
    (pf.Reno(), pf.Pi2, "exact"),
    (pf.CReno(), pf.Pi, "frozen"),
    (pf.Reno(), pf.Pi, "exact"),
    (pf.Scalable(), pf.Pi, "frozen"),
    (pf.Scalable(), pf.CoupledPi2, "exact"),
]
PER_CASE = 350  # 6 x 350 = 2100 loops


def random_loop(rng, sender, law, terms, mode, size):
    """Gains over four decades, but no wilder than a dozen or so unstable modes."""
    rtt = 10 ** rng.uniform(-2.5, 0, size)
    interval = rtt * 10 ** rng.uniform(-2, 0.3, size)
    p_prime = 10 ** rng.uniform(-3, 0, size)
    p = p_prime**2 if sender.signal == "classic" else p_prime
    # around the stability boundary of PI2 (a about 0.1, c about 0.35), within a factor of 30
    scale = 2 * p_prime if law is pf.Pi and sender.signal == "classic" else 1.0
    alpha = scale * 0.1 * interval / rtt**2 * 10 ** rng.uniform(-1.5, 1.5, size)
    beta = scale * 0.35 / rtt * 10 ** rng.uniform(-1.5, 1.5, size)
    aqm = law(alpha=alpha, beta=beta, update_interval=interval)
    return pf.Loop(sender, aqm, rtt=rtt, p=p, mode=mode, rtt_terms=terms)


@pytest.mark.parametrize(("sender", "law", "terms"), CASES)
def test_signs_of_margins_roots_and_counts_agree(rng, sender, law, terms):
    loop = random_loop(rng, sender, law, terms, "continuous", PER_CASE)
    margins = loop.margins()
    sign = np.sign(margins.gain_margin_db)
    assert np.array_equal(sign, np.sign(margins.phase_margin_deg))
    assert np.array_equal(sign, -np.sign(loop.roots().real))
    assert np.array_equal(sign > 0, loop.nyquist_count() == 0)
    assert np.array_equal(sign, margins.verdict_code)
    assert 0.2 < np.mean(sign > 0) < 0.9  # both kinds were there


@pytest.mark.parametrize(("sender", "law", "terms"), CASES[::2])
def test_delayed_loops_agree(rng, sender, law, terms):
    loop = random_loop(rng, sender, law, terms, "delayed", 100)
    sign = np.sign(loop.margins().gain_margin_db)
    assert np.array_equal(sign, -np.sign(loop.roots().real))
    assert np.array_equal(sign > 0, loop.nyquist_count() == 0)


@pytest.mark.parametrize(("sender", "law", "terms"), CASES[::2])
def test_sampled_loops_agree(rng, sender, law, terms):
    loop = random_loop(rng, sender, law, terms, "sampled", 60)
    margins = loop.margins()
    sign = np.sign(margins.gain_margin_db)
    assert np.array_equal(sign > 0, loop.nyquist_count() == 0)
    crossed = np.isfinite(margins.gain_crossover)
    assert np.array_equal(sign[crossed], np.sign(margins.phase_margin_deg[crossed]))


@pytest.mark.parametrize("line", ["reno pie", "reno pi2", "scal pi"])
@pytest.mark.parametrize("terms", ["frozen", "exact"])
def test_roots_of_figure_7(table, line, terms):
    columns = table("margins_fig7_variants.csv")
    chosen = columns["line"] == line
    sender = pf.Scalable() if line == "scal pi" else pf.Reno()
    aqm = {
        "reno pie": pf.Pie(update_interval=0.032),
        "reno pi2": pf.Pi2(),
        "scal pi": pf.Pi(alpha=0.625, beta=6.25),
    }[line]
    roots = pf.Loop(
        sender, aqm, rtt=0.1, p_prime=columns["p_prime"][chosen], rtt_terms=terms
    ).roots()
    suffix = "frozen" if terms == "frozen" else "exactR"
    expected = columns[f"root_re_{suffix}"] + 1j * np.abs(columns[f"root_im_{suffix}"])
    np.testing.assert_allclose(roots, expected[chosen], atol=2e-9)


def test_known_critical_points():
    """Growth and frequency of small oscillations, exact and frozen round-trip time."""
    flows = pf.Flows(pf.Reno(), 20, "80ms")
    aqm = pf.Pi2(alpha=0.5, beta=5.0)
    exact = pf.Loop(flows, aqm, capacity=1250 * 12000, rtt_terms="exact").roots()
    frozen = pf.Loop(flows, aqm, capacity=1250 * 12000).roots()
    # roots to five digits; a direct simulation itself gave -1.4985 + 7.768j
    assert exact == pytest.approx(-1.4970 + 7.7364j, abs=1e-4)
    assert frozen == pytest.approx(-0.8376 + 7.8356j, abs=1e-4)


def test_count_on_the_boundary_is_undecided():
    base = pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1)
    gm = base.margins().gain_margin
    aqm = pf.Pi2(alpha=0.3125 * gm, beta=3.125 * gm)
    exact = pf.Loop(pf.Reno(), aqm, rtt=0.1, p_prime=0.1)
    assert exact.margins().verdict == "undecided"
    for factor, unstable in ((0.999, 0), (1.001, 2)):
        near = pf.Pi2(alpha=0.3125 * gm * factor, beta=3.125 * gm * factor)
        assert pf.Loop(pf.Reno(), near, rtt=0.1, p_prime=0.1).nyquist_count() == unstable


def test_roots_listed_from_the_right_and_satisfy_the_equation():
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1, rtt_terms="exact")
    roots = loop.roots(6)
    assert roots.shape == (6,)
    assert np.all(np.diff(roots.real) <= 1e-9)
    np.testing.assert_allclose(loop(roots), -1.0, atol=1e-8)
    with pytest.raises(pf.UnsupportedError):
        pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1, mode="sampled").roots()
