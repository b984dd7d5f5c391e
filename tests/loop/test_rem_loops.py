"""Loops of REM: those of a PI controller of the queue, with another encoder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf

# Computed from the published rules by a second implementation: flows of Reno, packets per second,
# base RTT, gamma; gain margin, rad/s, phase margin, rad/s, rightmost root. Round-trip times exact.
KNOWN: list[tuple[Any, ...]] = [
    (20, 1250.0, 0.08, 0.001, 147.6314228499275, 4.337231091811676, 88.65676652488774,
     0.05096783275372456, -0.05222110424047792),
    (160, 8000.0, 0.08, 0.001, 78.98171952205307, 6.0782408510982, 87.76524990872552,
     0.12377703368589421, -0.12900060785269332),
    (20, 8000.0, 0.08, 0.001, 0.8132364557948051, 2.2376229726381403, -3.7391743987177586,
     2.4888521040208973, 0.0748834220985128 + 2.4640647284145096j),
    (50, 2500.0, 0.1, 0.01, 7.367862703169078, 4.0126854775341085, 65.83566606538162,
     0.8800519987943882, -1.2540472807408358 + 1.0593405325214256j),
]  # fmt: skip

C, GAMMA, T = 2500.0, 0.01, 4e-3
LINK: dict[str, Any] = {"capacity": 8000.0 * C, "packet_size": "1000B"}
FLOWS = pf.Flows(pf.Reno(), 50, "80ms")
REM = pf.Rem(gamma=GAMMA, update_interval=T, target=30)
PI = pf.Pi(alpha=0.1 * GAMMA * C, beta=GAMMA * C, target=30 / C, update_interval=T)
S = 1j * np.geomspace(0.1, 300.0, 9)


@pytest.mark.parametrize("case", KNOWN, ids=lambda case: f"{case[0]}@{case[1]:g}")
def test_known_loops(case: tuple[Any, ...]) -> None:
    count, capacity, base, gamma, *expected, root = case
    flows = pf.Flows(pf.Reno(), count, base)
    rate = 8000.0 * capacity
    loop = pf.Loop(flows, pf.Rem(gamma=gamma), capacity=rate, packet_size=1000, rtt_terms="exact")
    found = loop.margins()
    assert [
        10.0 ** (float(found.gain_margin_db) / 20.0),
        found.phase_crossover,
        found.phase_margin_deg,
        found.gain_crossover,
    ] == pytest.approx(expected, rel=1e-9)
    assert loop.roots(1) == pytest.approx(root, rel=1e-8)
    assert (loop.nyquist_count() == 0) == (expected[0] > 1.0)


def slope(loop: pf.Loop) -> float:
    """Of the encoder, ln(phi) (1 - p)."""
    return float(np.log(1.001) * (1.0 - loop.operating_point.p[0]))


@pytest.mark.parametrize("clock", ["rate", "acks"])
def test_its_updates_are_those_of_pi(clock: str) -> None:
    """Packets per second times seconds, not the age of the head, are what it counts in."""
    pi = pf.Pi(alpha=PI.alpha, beta=PI.beta, target=PI.target, update_interval=T, per_packet=1 / C)
    rem, other = (pf.Loop(FLOWS, law, update="sampled", clock=clock, **LINK) for law in (REM, pi))
    assert rem(S) == pytest.approx(slope(rem) * other(S), rel=1e-10)


def test_in_continuous_time_it_is_its_law_as_written() -> None:
    """Not the bilinear image of its updates, whose gain on changes is alpha gamma / 2 larger."""
    other = pf.Pi(alpha=PI.alpha, beta=PI.beta - PI.alpha / 2, target=PI.target, update_interval=T)
    rem = pf.Loop(FLOWS, REM, **LINK)
    assert rem(S) == pytest.approx(slope(rem) * pf.Loop(FLOWS, other, **LINK)(S), rel=1e-10)
    late = pf.Loop(FLOWS, REM, update="delayed", **LINK)
    assert late(S) == pytest.approx(rem(S) * np.exp(-S * T / 2), rel=1e-12)


@pytest.mark.parametrize("update", ["continuous", "sampled"])
def test_an_average_filters_what_arrives_alone(update: str) -> None:
    w = 0.3
    law = pf.Rem(gamma=GAMMA, update_interval=T, target=30, weight=w)
    loop, plain = (pf.Loop(FLOWS, each, update=update, **LINK) for each in (law, REM))
    if update == "sampled":
        y = np.exp(-S * T)
        kept, grows = w / (1.0 - (1.0 - w) * y), 1.0 - y
    else:
        rate = -np.log(1.0 - w) / T
        kept, grows = rate / (S + rate), S * T
    expected = plain(S) * (kept * grows + 0.1) / (grows + 0.1)
    assert loop(S) == pytest.approx(expected, rel=1e-10)
    assert loop.margins().verdict == "stable"
    assert loop.nyquist_count() == 0


def test_arrays_are_their_elements() -> None:
    counts, weights = np.array([20.0, 50.0, 100.0]), np.array([0.7, 0.5, 0.2])
    for update in ("continuous", "sampled"):
        several = pf.Loop(
            pf.Flows(pf.Reno(), counts, "80ms"), pf.Rem(weight=weights), update=update, **LINK
        )
        found = several.margins().gain_margin_db
        for number, weight, margin in zip(counts, weights, found, strict=True):
            flows = pf.Flows(pf.Reno(), float(number), "80ms")
            one = pf.Loop(flows, pf.Rem(weight=float(weight)), update=update, **LINK)
            assert one.margins().gain_margin_db == pytest.approx(margin, rel=1e-9)
    with refused(pf.UnsupportedError, "loops of two kinds: split the arrays"):
        pf.Loop(FLOWS, pf.Rem(weight=np.array([1.0, 0.5])), **LINK).margins()


def test_over_two_links() -> None:
    """The matrix of REM is that of PI with each column's encoder."""
    rates = {"a": 2500.0, "b": 2000.0}

    def network(laws: dict[str, pf.Aqm]) -> pf.Network:
        nodes = [
            pf.Node(name, pf.Link(8000.0 * rates[name], packet_size="1000B"), laws[name])
            for name in rates
        ]
        flows = [
            pf.Flows(pf.Reno(), 20, "80ms", route=("a", "b"), hops=("5ms", "10ms")),
            pf.Flows(pf.Reno(), 20, "40ms", route="a"),
            pf.Flows(pf.Reno(), 10, "40ms", route="b"),
        ]
        return pf.Network(nodes, flows)

    rems = network(dict.fromkeys(rates, REM))
    pis = network(
        {
            name: pf.Pi(alpha=0.1 * GAMMA * c, beta=GAMMA * c, target=30 / c, update_interval=T)
            for name, c in rates.items()
        }
    )
    point = pf.equilibrium(rems)
    assert point.queue.values == pytest.approx([30.0, 30.0], rel=1e-12)
    slopes = np.log(1.001) * (1.0 - point.link_p.values[:, 0])
    rem, pi = (pf.Loop(each, update="sampled") for each in (rems, pis))
    assert rem(S[4:5]) == pytest.approx(pi(S[4:5]) * slopes, rel=1e-9)


def test_what_does_more_than_count_has_no_loop() -> None:
    class Leaks(pf.Rem):
        def drift(self, state: Any, seen: Any) -> Any:
            return (-state[0], *super().drift(state, seen)[1:])

    class Peeks(pf.Rem):
        def update(self, state: Any, seen: Any, dt: Any) -> Any:
            price, *rest = super().update(state, seen, dt)
            return (price + 1e-3 * seen.arrival_rate, *rest)

        at_rest = pf.Rem.at_rest

        def flow(self, state: Any, seen: Any, d_queue_delay: Any) -> Any:
            return super().flow(state, seen, d_queue_delay)

    for law, said in ((Leaks(), "Leaks.drift does more"), (Peeks(), "Peeks.update does more")):
        with refused(pf.UnsupportedError, said):
            pf.Loop(FLOWS, law, **LINK).margins()
