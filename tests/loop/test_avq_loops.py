"""Loops of AVQ: what arrives now is signalled at once, and the virtual capacity follows it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf

# Computed from the published rules by a second implementation: loss, flows of Reno, packets per
# second, base RTT, alpha; elasticity of the loss, gain margin, rad/s, phase margin, rad/s, root.
KNOWN: list[tuple[Any, ...]] = [
    ("mm1k", 20, 1250.0, 0.1, 0.15, 17.423786384892107, 0.5290171129994165, 16.60213554635168,
     -75.56399949546754, 28.86012327282931, 4.2924668413553695 + 18.700378214256425j),
    ("overflow", 20, 1250.0, 0.1, 0.15, 17.7578125, 0.5190656033626083, 16.6021169454635,
     -78.29231173989545, 29.330727349783665, 4.424955171721881 + 18.756244048421525j),
    ("mm1k", 40, 1250.0, 0.1, 0.15, 3.6894531220926936, 1.203893447501697, 17.46695883153698,
     21.979369965959485, 14.755878605858106, -0.1247342977511368),
    ("mm1k", 100, 12500.0, 0.04, 0.5, 10.991352299796487, 0.6635370388962014, 42.00613590593091,
     -45.62657241354382, 59.57318646687912, 6.700288077515768 + 45.3638966754043j),
    ("overflow", 5, 1250.0, 0.1, 0.15, 299.125, 0.12670039120952867, 15.872677163869918,
     -608.3707482662047, 121.94091951040004, 15.20481148436752 + 21.863261211584938j),
]  # fmt: skip


def network(law: pf.Avq, count: float = 40, capacity: float = 1250.0, base: float = 0.1) -> Any:
    link = pf.Link(8000.0 * capacity, packet_size="1000B")
    return pf.Network(pf.Node("a", link, law), pf.Flows(pf.Reno(), count, base))


@pytest.mark.parametrize("case", KNOWN, ids=lambda case: f"{case[0]}-{case[1]}@{case[2]:g}")
def test_known_loops(case: tuple[Any, ...]) -> None:
    marking, count, capacity, base, alpha, elasticity, *expected, root = case
    law = pf.Avq(marking=marking, alpha=alpha)
    loop = pf.Loop(network(law, count, capacity, base))
    found = loop.margins()
    assert [
        10.0 ** (float(found.gain_margin_db) / 20.0),
        found.phase_crossover,
        found.phase_margin_deg,
        found.gain_crossover,
    ] == pytest.approx(expected, rel=1e-9)
    assert loop.roots() == pytest.approx(root, rel=1e-8)
    # (E/W) e^{-sR} (1 + alpha rho/s) / (s R + (1 + e^{-sR})/W)
    point = loop.operating_point
    window, rho = float(point.window[0]), law.load_of(float(point.p[0]))
    s = 1j * np.geomspace(0.01, 100.0, 9)
    late = np.exp(-s * base)
    plant = 1.0 / (s * base + (1.0 + late) / window)
    written = elasticity / window * late * (1.0 + alpha * rho / s) * plant
    assert loop(s)[:, 0, 0] == pytest.approx(written, rel=1e-9)


def test_at_the_largest_alpha_it_is_on_the_edge() -> None:
    loop = pf.Loop(network(pf.Avq(marking="overflow", buffer=20, alpha=3.7405338583571246)))
    assert float(loop.margins().gain_margin_db) == pytest.approx(0.0, abs=1e-9)


def test_the_curve_comes_nearest_beyond_the_crossovers_that_count() -> None:
    """Of an unstable loop, whose gain margin is found where |L| is 1.9."""
    found = pf.Loop(network(pf.Avq(), 20)).margins()
    w = np.linspace(1.0, 300.0, 30_000)
    distance = np.abs(1.0 + pf.Loop(network(pf.Avq(), 20))(1j * w)[:, 0, 0])
    assert w[np.argmin(distance)] == pytest.approx(77.935, rel=1e-3)
    assert found.modulus_margin == pytest.approx(np.min(distance), rel=1e-4)


def test_margins_say_what_they_leave_out() -> None:
    found = pf.Loop(network(pf.Avq())).margins()
    assert found.caution.endswith("packets decide")
    assert str(found).splitlines()[-1] == f"caution: {found.caution}"
    assert "packets decide" in found._repr_html_()
    link = pf.Link("10Mbit/s", packet_size="1000B")
    plain = pf.Network(pf.Node("a", link, pf.Price()), pf.Flows(pf.Reno(), 40, 0.1))
    assert pf.Loop(plain).margins().caution == ""


def test_what_has_no_loop_says_so() -> None:
    clamped = network(pf.Avq(buffer=20), 20, base=0.2)
    with (
        pytest.warns(pf.AssumptionWarning, match="rests at 0.909 of the capacity"),
        refused(pf.UnsupportedError, "Avq rests at a bound of its own, at a load of 0.909"),
    ):
        pf.Loop(clamped)
    sources = pf.Flows(pf.Paganini(k=5.0), 20, "100ms")
    node = pf.Node("a", pf.Link("10Mbit/s", packet_size="1000B"), pf.Avq())
    with refused(pf.UnsupportedError, "Paganini lets signals act on its rate at once, and Avq"):
        pf.Loop(pf.Network(node, sources)).margins()
    with refused(pf.UnsupportedError, "Avq acts here on every packet"):
        pf.Loop(network(pf.Avq()), update="sampled")
    with refused(pf.UnsupportedError, "Avq acts on what arrives, not on the queue", "a network"):
        pf.Loop(pf.Flows(pf.Reno(), 40, 0.1), pf.Avq(), capacity="10Mbit/s")
