"""Margins of loops that the papers never had: conditionally stable, unstable when open, slow."""

from __future__ import annotations

import numpy as np
import pytest
from rational_loops import margins_of, rational_loop

import pi2_fluid as pf
from pi2_fluid.loop.margins import Margins, known
from pi2_fluid.loop.searching import search_of

INSTANT = 1e-9  # s: no delay, to what is compared

# Seven poles, one of them on the right; "example21" of python-control's
# control/tests/margin_test.py, after Bavafi-Toosi, A Note on the Gain and Phase Margin Concepts,
# J. Control and Systems Engineering 3(1), 2015.
EXAMPLE_21 = (
    0.002 * np.poly([-0.02, -0.05, -5.0, -10.0]),
    np.poly([0.0005, -0.0001, -0.01, -0.2, -1.0, -100.0, -100.0]),
)


def decibels(ratio):
    return 20.0 * np.log10(ratio)


def shown(found, **more):
    """Margins as users meet them."""
    code = {0.0: 1, -1.0: 0}.get(found.unstable, -1)
    return Margins(
        gain_margin_db=found.gain_margin_db, phase_margin_deg=found.phase_margin_deg,
        gain_crossover=found.gain_crossover, phase_crossover=found.phase_crossover,
        delay_margin=found.delay_margin, update="continuous", _modulus=known(0.5),
        _verdict=known(code), _lower=found.lower_gain_margin_db, **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("gain", "upper", "lower"),
    [(1e3, 22.798, 0.17929), (5e3, 4.5596, 0.035859), (2e4, 1.1399, 0.0089647)],
)
def test_a_conditionally_stable_loop_has_a_margin_either_way(gain, upper, lower):
    """Of its five crossings the nearest above and the nearest below: MATLAB's, python-control's.

    To a thousandth, as these are stated.
    """
    numerator, denominator = EXAMPLE_21
    found = margins_of(rational_loop(gain * numerator, denominator, INSTANT))
    assert found.unstable == 0
    assert found.gain_margin_db == pytest.approx(decibels(upper), abs=0.01)
    assert found.lower_gain_margin_db == pytest.approx(decibels(lower), abs=0.01)
    assert found.phase_crossover == pytest.approx(0.4385, abs=1e-4)
    margins = shown(found)
    assert margins.lower_gain_margin == pytest.approx(lower, rel=1e-3)
    assert "stable conditionally" in str(margins)


def test_of_an_unstable_loop_the_gain_that_would_make_it_stable_is_said():
    """It is with 179.3 to 22,798 times the gain, and again with 1.595e7 to 7.248e8 times."""
    numerator, denominator = EXAMPLE_21
    low, high = (
        margins_of(rational_loop(gain * numerator, denominator, INSTANT)) for gain in (1.0, 1e6)
    )
    assert low.unstable == 2
    assert low.gain_margin_db == -np.inf
    assert low.lower_gain_margin_db == pytest.approx(decibels(179.2931), abs=0.01)
    assert high.unstable == 2
    assert high.gain_margin_db == pytest.approx(decibels(22.798e-3), abs=0.01)
    assert high.lower_gain_margin_db == pytest.approx(decibels(15.946), abs=0.01)
    assert shown(low).remark == "stable with a gain that is 45.08 dB higher"
    assert shown(high).remark == "stable with a gain that is 24.05 dB higher, too"


def test_no_gain_makes_some_loops_stable():
    """1/s^2 and a delay."""
    found = margins_of(rational_loop([1.0], [1.0, 0.0, 0.0], 0.1))
    assert (found.unstable, found.gain_margin_db) == (2, -np.inf)
    assert found.lower_gain_margin_db == np.inf
    assert shown(found).remark == "no gain makes it stable"


def test_an_unstable_open_loop_may_lose_its_stability_at_frequency_0():
    """3(s + 2)/((s - 1)(s + 1)(s + 5)), of python-control's issue 784: -6/5 at frequency 0."""
    found = margins_of(rational_loop([3.0, 6.0], np.poly([1.0, -1.0, -5.0]), 1e-6))
    assert found.unstable == 0
    assert found.lower_gain_margin_db == pytest.approx(decibels(5.0 / 6.0), abs=1e-9)


@pytest.mark.parametrize("delay", [50e-9, 1e-6])
@pytest.mark.parametrize("far", [1e3, 1e4, 1e5])
def test_a_phase_a_full_turn_away_is_not_that_of_frequency_0(delay, far):
    """.01(10 - s)/((s + 1)(s + 2)), as python-control has it, and a lag far above: -360 degrees.

    Between the lag and the delay L looks as it does at frequency 0. Without lag and delay the
    margin is 300; with the lag it is Routh's, and the delay takes a few millionths.
    """
    lag = 1.0 / far
    lagging = np.polymul([1.0, 3.0, 2.0], [lag, 1.0])
    found = margins_of(rational_loop([-0.01, 0.1], lagging, delay, pole=far))
    by_routh = ((1.0 + 3.0 * lag) * (3.0 + 2.0 * lag) - 2.0 * lag) / (0.01 + 0.13 * lag)
    assert by_routh == pytest.approx(300.0, rel=0.02)
    assert 10 ** (found.gain_margin_db / 20.0) == pytest.approx(by_routh, rel=2e-5)


def test_where_the_gain_is_small_a_long_delay_need_not_be_followed():
    """e^-s/(s + 1), as it is and with lags a million times as fast."""
    plain = margins_of(rational_loop([1.0], [1.0, 1.0], 1.0))
    lagging = np.polymul([1.0, 1.0], np.polymul([1e-7, 1.0], [1e-7, 1.0]))
    found = margins_of(rational_loop([1.0], lagging, 1.0, pole=1e7))
    assert plain.gain_margin_db == pytest.approx(7.0892, abs=1e-4)
    assert found.gain_margin_db == pytest.approx(plain.gain_margin_db, abs=1e-5)
    assert found.unstable == plain.unstable == 0


def test_a_loop_that_does_not_fade_below_1_is_refused_for_that_reason():
    with pytest.raises(pf.SolverError, match=r"tends to 1\.5, with which behind a delay"):
        margins_of(rational_loop([1.5, 1.0], [1.0, 1.0], 0.1))


class TestModulusMargin:
    def test_beyond_the_crossovers_of_an_unstable_loop(self):
        """Its curve passes nearer to -1 after its gain has fallen below 1 for good."""
        aqm = pf.Pi2(alpha=0.919, beta=13.28, update_interval=4.39e-3, target=3.147e-3)
        loop = pf.Loop(pf.Reno(), aqm, rtt=0.11175, p_prime=0.00698, update="delayed")
        w = np.geomspace(0.1, 1e3, 200_000)
        expected = float(np.min(np.abs(1.0 + loop(1j * w))))
        assert expected < 0.94
        assert loop.margins().modulus_margin == pytest.approx(expected, abs=1e-6)

    @pytest.mark.slow
    @pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")
    @pytest.mark.parametrize("update", ["continuous", "delayed"])
    def test_of_random_loops_is_the_minimum_on_a_dense_grid(self, rng, update):
        size = 240
        alpha = 10 ** rng.uniform(-2.0, 0.5, size)
        aqm = pf.Pi2(
            alpha=alpha,
            beta=alpha * 10 ** rng.uniform(0.0, 1.5, size),
            update_interval=10 ** rng.uniform(-2.5, -1.0, size),
        )
        rtt = 10 ** rng.uniform(-2.0, -0.5, size)
        loop = pf.Loop(
            pf.Reno(), aqm, rtt=rtt, p_prime=10 ** rng.uniform(-3.0, 0.0, size), update=update
        )
        margins = loop.margins()
        assert np.sum(np.equal(margins.verdict, "unstable")) > 60
        w = np.concatenate([np.geomspace(1e-3, 1.0, 300), np.arange(1.0, 300.0, 0.02)])
        near = np.argmin(np.abs(1.0 + loop(1j * w[:, None] / rtt)), axis=0)
        closer = w[near] + np.linspace(-0.02, 0.02, 2001)[:, None]
        dense = np.min(np.abs(1.0 + loop(1j * closer / rtt)), axis=0)
        # a step of the closer grid, 2e-5, by what L turns in it where |1 + L| is nearly 0
        assert np.all(margins.modulus_margin <= dense + 1e-12)
        np.testing.assert_allclose(margins.modulus_margin, np.minimum(dense, 1.0), atol=4e-5)


def test_arrays_say_both_margins():
    """Of closed forms one crossing alone, of loops that are searched what the search finds."""
    loads = np.array([0.01, 0.1])
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=loads)
    np.testing.assert_array_equal(loop.margins().lower_gain_margin_db, -np.inf)
    np.testing.assert_array_equal(loop.margins().lower_gain_margin, 0.0)
    searched = search_of(loop.linear, "continuous").margins(np.ones(2, dtype=bool))
    np.testing.assert_array_equal(searched[5], -np.inf)
    louder = pf.Loop(pf.Reno(), pf.Pi2(alpha=3.0, beta=30.0), rtt="100ms", p_prime=loads)
    np.testing.assert_array_equal(louder.margins().lower_gain_margin, np.inf)
