"""`Loop.to_control("ss")`: the loop with finitely many states, against the loop itself."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import control
import numpy as np
import pytest

import pi2_fluid as pf

W = np.geomspace(0.1, 60.0, 20)


def random_loop(rng: Any, update: str, *, law: Any) -> pf.Loop:
    alpha = 10 ** rng.uniform(-2, 0.5)
    T = 10 ** rng.uniform(-2.2, -1)
    with warnings.catch_warnings(action="ignore", category=pf.AssumptionWarning):
        return pf.Loop(
            law,
            pf.CoupledPi2(alpha=alpha, beta=10 * alpha, update_interval=T),
            rtt=10 ** rng.uniform(-2.3, -0.7),
            p_prime=10 ** rng.uniform(-2, -0.2),
            update=update,
            rtt_terms=str(rng.choice(["frozen", "exact"])),
        )


def difference(loop: pf.Loop, w: Any, **options: Any) -> float:
    """The largest, in parts of L."""
    system = loop.to_control("ss", **options)
    s = np.exp(1j * w * system.dt) if system.dt else 1j * w
    return float(np.max(np.abs(system(s) / loop(1j * w) - 1.0)))


def growing(system: Any) -> int:
    """Closed-loop modes that grow."""
    found = control.feedback(system, 1).poles()
    return int(np.sum(np.abs(found) > 1.0 if system.dt else found.real > 0.0))


def mixture(update: str) -> pf.Loop:
    """Three round-trip times, and laws with one, two and three states."""
    flows = [
        pf.Flows(pf.Reno(), 5, "20ms"),
        pf.Flows(pf.Dctcp(), 5, "80ms"),
        pf.Flows(pf.Cubic(), 5, "50ms"),
    ]
    return pf.Loop(flows, pf.CoupledPi2(), capacity="50Mbit/s", update=update, rtt_terms="exact")


def dual(update: str) -> pf.Loop:
    """L4S flows beside Classic ones, which take the link from the queue at once."""
    flows = [pf.Flows(pf.Reno(), 5, "20ms"), pf.Flows(pf.Dctcp(), 2, "30ms")]
    return pf.Loop(flows, pf.DualPi2(), capacity="50Mbit/s", update=update, rtt_terms="exact")


@pytest.mark.parametrize("build", [mixture, dual])
@pytest.mark.parametrize("update", ["continuous", "delayed"])
def test_it_is_the_loop(build, update):
    """At order 20 the Pade approximation is off by less than 1e-15 up to 60 rad/s."""
    loop = build(update)
    assert difference(loop, W, order=20) < 1e-12
    assert loop.to_control("ss").name == "_".join(
        type(part).__name__ for part in (*loop.senders, loop.aqm)
    )


def test_it_is_the_transfer_function_of_the_same_order():
    """The same approximation twice: as polynomials of python-control, and as matrices."""
    for order in (1, 2, 5, 8):
        loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1, update="delayed")
        s = 1j * W
        found = loop.to_control("ss", order=order)(s)
        np.testing.assert_allclose(found, loop.to_control("pade", order=order)(s), rtol=1e-10)


def test_a_queue_that_acts_on_every_packet():
    loop = pf.Loop(pf.Reno(), pf.Red(min=5, max=50, max_p=0.1), rtt=0.1, p=0.01)
    assert difference(loop, W, order=20) < 1e-12


@pytest.mark.parametrize("build", [mixture, dual])
def test_a_sampled_loop_converges(build):
    """As order^-3 and faster, no more: what is approximated has kinks, one round trip apart."""
    loop = build("sampled")
    w = W[W < 50.0]
    for order, error in ((5, 1e-4), (10, 1e-5), (20, 1e-6)):
        assert difference(loop, w, order=order) < error


@dataclass(frozen=True, eq=False)
class Present(pf.Sender):
    """A window that answers to marks one round trip ago, and to itself only now."""

    signal = "scalable"

    def rate(self, W, W_delayed, p, R, R_delayed):  # type: ignore[no-untyped-def]
        return 1.0 / R - p * W / (2.0 * R)


@pytest.mark.parametrize("rounds", [0.3, 1.0, 1.7, 3.0, 6.4])
def test_a_law_without_an_answer_to_itself_is_exact(rounds):
    """The alias sum on one side, matrix exponentials and shifted updates on the other."""
    T = 0.02
    law = pf.Pi(alpha=0.05, beta=0.5, update_interval=T)
    with warnings.catch_warnings(action="ignore", category=pf.AssumptionWarning):
        loop = pf.Loop(Present(), law, rtt=rounds * T, p=0.05, update="sampled")
    system = loop.to_control("ss", order=1)
    assert difference(loop, np.geomspace(0.1, 150.0, 30), order=1) < 1e-8
    assert system.nstates == 2 + 1 + int(rounds) + 1  # the delay before, and the updates in a round
    gm, pm, _, _ = control.margin(control.frd(system, np.geomspace(0.1, 157.0, 4000)))
    margins = loop.margins()
    # A spline between the frequencies.
    assert 20 * np.log10(gm) == pytest.approx(margins.gain_margin_db, abs=1e-7)
    assert pm == pytest.approx(margins.phase_margin_deg, abs=1e-6)


@pytest.mark.parametrize(
    ("update", "order", "db", "degrees"),
    [
        # Polynomials: at these orders their rounding is what is left.
        ("continuous", 8, 1e-9, 1e-9),
        ("delayed", 8, 1e-9, 1e-9),
        # Kinks: as the order goes from 5 to 40, a hundredth. The last is of a spline, too.
        ("sampled", 5, 2e-6, 6e-6),
        ("sampled", 20, 2e-7, 4e-7),
        ("sampled", 40, 2e-8, 4e-8),
    ],
)
def test_margins_of_control(update, order, db, degrees):
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1, update=update)
    margins = loop.margins()
    system = loop.to_control("ss", order=order)
    if update == "sampled":  # of which python-control does not trust its polynomials either
        system = control.frd(system, np.geomspace(1.0, 98.0, 2000))
    gm, pm, wcg, wcp = control.margin(system)
    assert 20 * np.log10(gm) == pytest.approx(margins.gain_margin_db, abs=db)
    assert pm == pytest.approx(margins.phase_margin_deg, abs=degrees)
    assert wcg == pytest.approx(margins.phase_crossover, rel=1e-6)
    assert wcp == pytest.approx(margins.gain_crossover, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
def test_its_growing_modes_are_those_counted(update):
    """Eigenvalues of a matrix on one side, turns of a curve on the other."""
    rng = np.random.default_rng(7)
    counts = []
    for law in (pf.Reno(), pf.CReno(), pf.Scalable(), pf.Cubic(), pf.Dctcp()) * 3:
        loop = random_loop(rng, update, law=law)
        count = loop.nyquist_count()
        assert growing(loop.to_control("ss", order=10)) == count
        counts.append(count)
    assert {0, 2} <= set(counts)


def test_its_step_response():
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1, update="sampled")
    found = control.step_response(control.feedback(loop.to_control("ss", order=10), 1), T=3.2)
    # The value at an update, looked at just after it.
    np.testing.assert_allclose(found.outputs, loop.step(found.time + 1e-9), atol=3e-6)


def test_what_is_refused():
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1)
    for order in (0, 41):
        with pytest.raises(pf.DomainError, match="outside"):
            loop.to_control("ss", order=order)
    often = pf.Pi2(update_interval="50us")
    with pytest.raises(pf.UnsupportedError, match="takes 2000 updates"):
        pf.Loop(pf.Reno(), often, rtt=0.1, p_prime=0.1, update="sampled").to_control("ss")
    with pytest.raises(pf.UnsupportedError, match="one loop"):
        pf.Loop(pf.Reno(), pf.Pi2(), rtt=[0.1, 0.2], p_prime=0.1).to_control("ss")
