"""What the fast path rests on, proved by the machine: |L| falls strictly, the phase crosses once.

Both statements are derived in docs/proofs.md ("Why there is one crossover of each kind").
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from pi2_fluid.loop.analytic import MU_LIMIT, solve_margins

iv = mpmath.iv


def growth(plant, v, mu):
    """d/dv [(1 + v^2) |jv + mu h|^2] / v in interval arithmetic; positive means |L| falls."""
    sine, cosine = iv.sin(v), iv.cos(v)
    # sin(v)/v by its decreasing envelope on [0, pi], where v may touch 0
    if v.b < mpmath.pi:
        rounding = 1e-15  # mpmath rounds these ends to the nearest number, not outward
        sinc = iv.mpf([sine_over(v.b) - rounding, sine_over(v.a) + rounding])
    else:
        sinc = sine / v
    square = v * v - 2 * mu * v * sine
    slope = 2 - 2 * mu * (sinc + cosine)  # its derivative over v
    if plant == "reno":
        square += 2 * mu * mu * (1 + cosine)
        slope -= 2 * mu * mu * sinc
    else:
        square += mu * mu
    return 2 * square + (1 + v * v) * slope


def sine_over(v):
    return mpmath.sin(v) / v if v > 0 else mpmath.mpf(1)


@pytest.mark.parametrize("plant", ["reno", "scalable"])
def test_gain_falls_strictly_for_every_load(plant):
    """Branch and bound over (v, mu) in [0, 3.5] x [0, mu_max]: every box is proved positive."""
    mu_max = MU_LIMIT[plant]
    boxes = [(0.0, 3.5, 0.0, mu_max)]
    proved = 0
    while boxes:
        v0, v1, m0, m1 = boxes.pop()
        if growth(plant, iv.mpf([v0, v1]), iv.mpf([m0, m1])).a > 0:
            proved += 1
            continue
        assert v1 - v0 > 1e-3, f"no proof near v = {v0}, mu = {m0}"
        if (v1 - v0) / 3.5 > (m1 - m0) / mu_max:
            middle = (v0 + v1) / 2
            boxes += [(v0, middle, m0, m1), (middle, v1, m0, m1)]
        else:
            middle = (m0 + m1) / 2
            boxes += [(v0, v1, m0, middle), (v0, v1, middle, m1)]
    assert proved > 10


@pytest.mark.parametrize("plant", ["reno", "scalable"])
def test_gain_falls_strictly_beyond(plant):
    """For v >= 3.5 with |sin|, |cos| <= 1: an elementary bound, increasing in v."""
    mu, v = MU_LIMIT[plant], np.linspace(3.5, 100, 10000)
    double = 2.0 if plant == "reno" else 0.0
    bound = 2 * (v**2 - 2 * mu * v) + (1 + v**2) * (2 - 2 * mu * (1 + 1 / v) - double * mu**2 / v)
    assert bound[0] > 0
    assert np.all(np.diff(bound) > 0)


def test_the_statement_fails_beyond_its_range():
    """The proof is not vacuous: with mu far above its limit |L| is not monotone."""
    v = np.linspace(0.01, 6, 2000)
    mu = 2.5
    square = v**2 - 2 * mu * v * np.sin(v) + 2 * mu**2 * (1 + np.cos(v))
    assert np.any(np.diff((1 + v**2) * square) < 0)


@pytest.mark.parametrize("plant", ["reno", "scalable"])
def test_phase_crosses_once(plant):
    """mu(v), the load whose phase crossover is at v, passes every load in the range just once.

    Proved by hand in docs/proofs.md; this dense scan would catch a slip in that proof.
    """
    end = np.pi if plant == "reno" else np.pi / 2
    v = np.linspace(1e-4, end * (1 - 1e-9), 20000)
    for r in np.geomspace(1e-3, 1e4, 120):
        slope = v * (1 - r) / (1 + r * v**2)  # tan of atan v - atan(rv)
        half = np.tan(v / 2)
        if plant == "reno":
            mu = v / 2 * ((slope + half) / (1 - slope * half) + half)
            pole = np.flatnonzero(1 - slope * half <= 0)
            mu = mu[: pole[0]] if pole.size else mu
        else:
            mu = v * (np.sin(v) + slope * np.cos(v))
        positive = np.flatnonzero(mu > 0)[0]
        above = np.flatnonzero(mu > MU_LIMIT[plant])[0]
        assert np.all(mu[:positive] <= 0)
        assert np.all(np.diff(mu[positive : above + 1]) > 0)
        assert np.all(mu[above:] > MU_LIMIT[plant])


@pytest.mark.parametrize(
    ("plant", "a", "c", "k", "v", "mu", "gain"),
    [
        ("reno", 0.1, 0.33, 1.0, 0.9, 0.188895301753, 2.21850228046),
        ("scalable", 0.2, 0.66, 1.0, 0.8, 0.244337226139, 2.34981800171),
        ("reno", 0.05, 0.25, 1.15, 1.0, 0.304189720635, 3.44878789698),
    ],
)
def test_boundary_in_closed_form(plant, a, c, k, v, mu, gain):
    """Where mK = M v cos(v/2)/cos(psi + v/2) says so, the loop has its phase crossover."""
    m = np.sqrt(2.0) if plant == "reno" else 0.5
    found = solve_margins(plant, m, mu, a, c, 1.0, k)
    assert found[3] == pytest.approx(v, rel=1e-10)
    assert 10.0 ** (found[0] / 20.0) == pytest.approx(gain, rel=1e-10)
