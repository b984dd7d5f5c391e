"""The root locus, beside margins, the argument principle, Pade's approximation and eigenvalues."""

from __future__ import annotations

from dataclasses import replace

import control
import matplotlib as mpl
import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf

mpl.use("Agg")
LAW = pf.Pi2()
AT = {"rtt": "100ms", "p_prime": 0.1}
LOOPS = {
    "continuous": pf.Loop(pf.Reno(), LAW, **AT),
    "delayed": pf.Loop(pf.Reno(), LAW, update="delayed", **AT),
    "sampled": pf.Loop(pf.Reno(), LAW, update="sampled", **AT),
    "acks": pf.Loop(pf.Reno(), LAW, clock="acks", **AT),
    "acks sampled": pf.Loop(pf.Reno(), LAW, clock="acks", update="sampled", **AT),
    "scalable": pf.Loop(pf.Scalable(), pf.Pi(alpha=0.6, beta=6.0), **AT),
    "conditionally stable": pf.Loop(pf.Cubic(), LAW, rtt="100ms", p_prime=0.01),
    "far from stable": pf.Loop(pf.Reno(), LAW, rtt="400ms", p_prime=0.001),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LOOPS)
def test_it_crosses_where_the_margins_are(name) -> None:
    """Roots followed in the plane, against crossovers found along the axis."""
    loop = LOOPS[name]
    locus, margins = loop.root_locus(), loop.margins()
    found = {each.enters: each for each in locus.crossings}
    assert found[True].factor == pytest.approx(margins.gain_margin, rel=1e-11)
    assert found[True].w == pytest.approx(margins.phase_crossover, rel=1e-10)
    assert (False in found) == np.isfinite(margins.lower_gain_margin_db)
    if False in found:
        assert found[False].factor == pytest.approx(margins.lower_gain_margin, rel=1e-9)
    K = np.broadcast_to(locus.factor, locus.root.shape)
    there = np.isfinite(locus.root)
    assert np.mean(there) > 0.4  # most chains come from far on the left
    np.testing.assert_allclose(K[there] * loop(locus.s[there]), -1.0, rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["continuous", "delayed", "sampled", "acks"])
def test_as_many_grow_as_turns_are_counted(name) -> None:
    """Two ways to the number of unstable modes, at gains either side of the margin and far off."""
    loop = LOOPS[name]
    factors = [0.05, 0.5, 1.4, 1.8, 4.0, 20.0]
    locus = loop.root_locus(factors)
    s = locus.s
    model = {"update": loop.update, "clock": loop.clock}
    for factor, roots in zip(factors, s.T, strict=True):
        law = replace(LAW, alpha=factor * LAW.alpha, beta=factor * LAW.beta)
        counted = pf.Loop(pf.Reno(), law, **AT, **model).nyquist_count()
        assert np.count_nonzero(roots[np.isfinite(roots)].real > 0.0) == counted


@pytest.mark.slow
def test_slow_roots_are_those_of_a_pade_approximation() -> None:
    loop = LOOPS["continuous"]
    factors = np.array([0.03, 0.3, 1.0, 3.0])
    locus, rational = loop.root_locus(factors), loop.to_control("pade", order=8)
    for factor, roots in zip(factors, locus.root.T, strict=True):
        poles = control.feedback(factor * rational, 1).poles()
        slow = roots[np.abs(roots) < 15.0]
        assert slow.size >= 3
        for root in slow:
            assert np.min(np.abs(poles - root)) < 1e-5 * (1.0 + abs(root))


@pytest.mark.slow
def test_roots_in_z_are_eigenvalues_from_update_to_update() -> None:
    """Of a state space with one approximation in it, of order 12: a window's answer to itself."""
    loop = LOOPS["sampled"]
    system = loop.to_control("ss", order=12)
    factors = np.array([0.3, 1.0, 1.6])
    locus = loop.root_locus(factors)
    for factor, roots in zip(factors, locus.root.T, strict=True):
        eigenvalues = np.linalg.eigvals(system.A - factor * system.B @ system.C)
        near = roots[np.abs(roots) > 0.7]
        assert near.size >= 3
        for root in near:
            assert np.min(np.abs(eigenvalues - root)) < 1e-6


def test_its_dataset_has_factors_and_units() -> None:
    table = LOOPS["continuous"].root_locus([0.5, 1.0, 2.0], n=2).dataset
    assert table.root.sel(factor=1.0).dims == ("branch",)
    np.testing.assert_array_equal(table.growth, table.root.real)
    assert table.root.attrs["units"] == "rad/s"
    assert table.crossing_factor.item() == pytest.approx(LOOPS["continuous"].margins().gain_margin)
    rightmost = table.root.sel(factor=1.0).to_numpy()
    assert np.min(np.abs(rightmost - LOOPS["continuous"].roots())) < 1e-9


def test_no_crossing_is_said() -> None:
    few = LOOPS["continuous"].root_locus([0.5, 1.0], n=2)
    assert str(few) == "No mode begins or ceases to grow at any gain factor from 0.5 to 1."


@pytest.mark.slow
@pytest.mark.parametrize("name", ["continuous", "sampled"])
def test_the_picture_says_where_it_crosses(name) -> None:
    import matplotlib.pyplot as plt

    locus = LOOPS[name].root_locus()
    _, ax = plt.subplots()
    assert locus.plot(ax)
    texts = [text.get_text() for text in ax.texts]
    assert any(text.startswith(f"gain times {locus.crossings[0].factor:.3g}") for text in texts)
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == [f"gain times {locus.factor[0]:.3g}", "gain as it is", "boundary of stability"]
    plt.close("all")


@pytest.mark.parametrize("factors", [[1.0], [0.0, 1.0], [1.0, np.inf], "ten"])
def test_what_is_no_range_of_factors(factors) -> None:
    with refused(pf.DomainError, "are no gain factors: give two or more numbers above 0"):
        LOOPS["continuous"].root_locus(factors)


def test_one_loop_and_some_roots() -> None:
    with refused(pf.UnsupportedError, "root_locus is for one loop"):
        pf.Loop(pf.Reno(), LAW, rtt=[0.1, 0.2], p_prime=0.1).root_locus()
    with refused(pf.DomainError, "n = 0 roots were asked for"):
        LOOPS["continuous"].root_locus(n=0)
