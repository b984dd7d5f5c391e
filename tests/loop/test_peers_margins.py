"""Loops of the margin tests of python-control and of ControlSystems.jl, as numbers.

Of python-control control/tests/margin_test.py, of ControlSystems.jl
lib/ControlSystemsBase/test/test_analysis.jl: the systems, and what is stated of them there to the
digits that are compared. Neither has a delay but where one is given.
"""

from __future__ import annotations

import numpy as np
import pytest
from rational_loops import distance_of, held_loop, margins_of, rational_loop

INSTANT = 1e-9  # s

# numerator, denominator; gain margin, phase margin, |1 + L|, their frequencies; inf: none
PYTHON_CONTROL = {
    "third order": ([1.0], [1.0, 2.0, 3.0, 4.0], (2.0, np.inf, 0.4170, 1.7321, np.inf)),
    "two resonances": (
        8.75 * np.array([4.0, 0.4, 1.0]),
        np.polymul(np.polymul([100.0, 1.0], [1.0, 0.22, 1.0]), [0.01, 0.008, 1.0]),
        (2.2716, 97.5941, 0.5591, 10.0053, 0.0850),
    ),
    "zero on the right": (
        [-0.01, 0.1], [1.0, 3.0, 2.0], (300.0, np.inf, 0.9917, 5.6569, np.inf),
    ),
    "type 0": ([2.0], [1.0, 3.0, 3.0, 1.0], (4.0, 67.6058, None, 1.7322, 0.7663)),
    "disk margin": ([25.0], [1.0, 10.0, 10.0, 10.0], (3.6, None, None, None, None)),
}  # fmt: skip


@pytest.mark.parametrize("name", PYTHON_CONTROL)
def test_of_python_control(name):
    numerator, denominator, (gm, pm, modulus, w_pc, w_gc) = PYTHON_CONTROL[name]
    loop = rational_loop(numerator, denominator, INSTANT)
    found = margins_of(loop)
    assert found.unstable == 0
    assert 10 ** (found.gain_margin_db / 20.0) == pytest.approx(gm, rel=1e-4)
    for value, expected in (
        (found.phase_margin_deg, pm),
        (distance_of(loop), modulus),
        (found.phase_crossover, w_pc),
        (found.gain_crossover, w_gc),
    ):
        if expected is not None:
            # as many digits as are stated there
            assert value == pytest.approx(expected, rel=2e-3)


# A and b, c of the plant before one more pole, delay 0, interval; the same, by its own hold
HELD = {
    "gh-465": (
        [[-3.0, -2.0], [1.0, 0.0]], [1.0, 0.0], [0.0, 2.0], 0.0, 1e-2,
        (2.955761, 32.398492, 0.429535, 1.403725, 0.749367),
    ),
    "2/(s + 1)^3": (
        [[-2.0, -1.0], [1.0, 0.0]], [1.0, 0.0], [0.0, 2.0], 1.0, 0.1,
        (3.4927, 65.4212, 0.5763, 1.6283, 0.76625),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HELD)
def test_of_python_control_sampled(name):
    *system, pole, interval, (gm, pm, modulus, w_pc, w_gc) = HELD[name]
    loop = held_loop(*system, pole, 1e-12, interval)
    found = margins_of(loop, "sampled")
    assert found.unstable == 0
    stated = (gm, pm, modulus, w_pc, w_gc)
    ours = (
        10 ** (found.gain_margin_db / 20.0), found.phase_margin_deg,
        distance_of(loop, "sampled"), found.phase_crossover, found.gain_crossover,
    )  # fmt: skip
    np.testing.assert_allclose(ours, stated, rtol=1e-4)


class TestOfControlSystems:
    def test_an_integrator_and_a_lag(self):
        found = margins_of(rational_loop([1.0], [1.0, 1.0, 0.0], INSTANT))
        assert found.gain_crossover == pytest.approx(0.7871132039227572, abs=2e-3)  # on their grid
        assert found.gain_crossover == pytest.approx(np.sqrt((np.sqrt(5.0) - 1.0) / 2.0))
        assert found.gain_margin_db > 100.0

    def test_a_gain_below_1_bears_any_delay(self):
        assert margins_of(rational_loop([0.1], [1.0, 1.0], INSTANT)).delay_margin == np.inf

    def test_three_lags_too_loud(self):
        """50/(5 s^3 + 10.25 s^2 + 6.25 s + 1): a phase margin of -35.1 degrees."""
        found = margins_of(rational_loop([50.0], [5.0, 10.25, 6.25, 1.0], INSTANT))
        assert found.unstable == 2
        assert found.phase_margin_deg == pytest.approx(-35.1, abs=0.35)
        assert found.lower_gain_margin_db == np.inf

    def test_a_resonance_behind_a_second(self):
        """Their issue 941: at the crossing it states L is real, and -1 over the margin."""
        top = np.polymul(0.25 * np.array([30.0, 0.6]), [0.04, 0.0001, 1.1])
        bottom = np.polymul([1.0, 0.03, 254.9], [1.0, 1.0, 0.25])
        found = margins_of(rational_loop(top, bottom, 1.0))
        s = 1j * found.phase_crossover
        value = np.polyval(top, s) / np.polyval(bottom, s) * np.exp(-s)
        assert value.imag == pytest.approx(0.0, abs=1e-9)
        assert -20.0 * np.log10(-value.real) == pytest.approx(found.gain_margin_db, abs=1e-9)
        w = np.linspace(0.01, 60.0, 600_001)
        L = np.polyval(top, 1j * w) / np.polyval(bottom, 1j * w) * np.exp(-1j * w)
        real = np.flatnonzero((L[1:].imag * L[:-1].imag < 0.0) & (L[1:].real < 0.0))
        factors = -1.0 / L[real].real
        margin = 10 ** (found.gain_margin_db / 20.0)
        near = factors[factors > 1.0] if found.unstable == 0 else factors[factors < 1.0]
        assert np.min(np.abs(near / margin - 1.0)) < 1e-2
