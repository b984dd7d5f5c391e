"""Flows with few segments by acknowledgements: a chain of windows, and what it makes of margins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.loop.acks.chain import Chain, Rules, mean_field, reduction_spread
from pi2_fluid.loop.lines import crossed_on

AT_ONCE = Rules(pauses=False, whole=False, counts=False)


def network(window: float, queue: Any = None, **fields: Any) -> pf.Network:
    """20 flows with ECN over 50 ms, with so many segments at a target of 20 ms."""
    flows = pf.Flows(**{"sender": pf.Reno(), "count": 20, "base_rtt": "50ms", "ecn": True} | fields)
    link = pf.Link(20 * window / 0.07 * 12e3, buffer=5000)
    return pf.Network(pf.Node("a", link, queue or pf.Pi2(ecn=True, drop_at="dequeue")), flows)


# The chain


@pytest.mark.slow
def test_its_shares_are_those_of_a_simulated_flow(rng) -> None:
    """Another method: one flow, jump by jump, from the rates of the chain alone."""
    chain = Chain(5.0, Rules())
    rates = (chain._free + chain.p * chain._heard).tocsr()
    state, time, spent = 0, 0.0, np.zeros(len(chain.windows))
    for _ in range(30_000):
        row = slice(rates.indptr[state], rates.indptr[state + 1])
        out = np.where(rates.indices[row] == state, 0.0, rates.data[row])
        stay = rng.exponential(1.0 / out.sum())
        spent[state] += stay
        time += stay
        state = int(rng.choice(rates.indices[row], p=out / out.sum()))
    assert spent @ chain.windows / time == pytest.approx(5.0, rel=0.04)


@pytest.mark.slow
def test_windows_that_scatter_have_the_constant_of_the_literature() -> None:
    """1.3098 of signals at random: Ott, Kemperman and Mathis (1996), in the limit of many segments.

    Of few segments it is less, since windows below 1 are not cut.
    """
    constants = [Chain(window, AT_ONCE).p ** 0.5 * window for window in (5.0, 20.0, 80.0)]
    assert np.all(np.diff(constants) > 0.0)
    assert constants[-1] == pytest.approx(1.3098, rel=2e-3)


def test_what_answers_slowly_answers_as_the_law_at_rest() -> None:
    """The slope of the mean window over p, by two chains beside each other."""
    chain = Chain(8.0, Rules())
    h = 1e-3
    up, down = (chain.shares(chain.p * (1 + sign * h)) @ chain.windows for sign in (1.0, -1.0))
    slope = (up - down) / (2 * h * chain.window)
    found = complex(chain.answer(np.array([1e-4]))[0])
    assert found.real == pytest.approx(slope, rel=1e-4)
    assert abs(found.imag) < 1e-3


def test_one_mean_window_is_the_limit_at_high_frequencies() -> None:
    """What is cut is p times the mean square, whatever the windows: 1/(s R W) of the mean."""
    angles = np.array([3.0])  # but not so high that whole steps of windows show
    window = 20.0
    answer = Chain(window, AT_ONCE).answer(angles)
    assert abs(answer[0]) * angles[0] * window == pytest.approx(1.0, rel=0.03)
    assert np.angle(answer[0]) == pytest.approx(np.pi / 2, abs=0.1)
    spread = reduction_spread(np.array([1e-6, 2.0]))
    np.testing.assert_allclose(spread, [1.0, np.exp(-1j) * np.sin(1.0)], rtol=1e-5, atol=1e-6)
    assert mean_field(window, np.array([1e-9]))[0] == pytest.approx(-0.5, abs=1e-6)


# The loop


@pytest.mark.slow
def test_without_any_part_it_is_the_loop_by_acknowledgements() -> None:
    one = network(8.0)
    found = pf.loop.by_segments(one, leave_out=["scatter", "delayed_acks", "bunches"])
    loop = pf.Loop(one, clock="acks", update="sampled")
    margins = loop.margins()
    assert float(found.gain_margin_db) == pytest.approx(margins.gain_margin_db, abs=1e-3)
    assert float(found.phase_margin_deg) == pytest.approx(margins.phase_margin_deg, abs=0.01)
    np.testing.assert_allclose(found.loop, loop(1j * found.omega.to_numpy()), rtol=1e-12)
    assert float(found.p_prime) == pytest.approx(2**0.5 / 8.0, rel=1e-9)


@pytest.mark.slow
def test_many_segments_leave_what_scatters_alone() -> None:
    """Every other part fades as 1/W."""
    lost = []
    for window in (10.0, 40.0):
        whole, scatter = (
            pf.loop.by_segments(network(window), leave_out=out)
            for out in (["bunches"], ["bunches", "delayed_acks", "pauses"])
        )
        lost.append(float(scatter.phase_margin_deg - whole.phase_margin_deg))
    assert 0.0 < lost[1] < 0.25 * lost[0]


@pytest.mark.slow
def test_delayed_acknowledgements_are_half_a_segment() -> None:
    one = network(5.0)
    assert float(pf.loop.by_segments(one).window) == pytest.approx(5.5, rel=1e-9)
    other = network(5.0, delayed_ack=False)
    for name in ("loop", "p_prime", "phase_margin_deg"):
        left_out = pf.loop.by_segments(one, leave_out=["delayed_acks"])
        np.testing.assert_allclose(left_out[name], pf.loop.by_segments(other)[name], rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("queue", [pf.CoupledPi2(), pf.Pie(table="rfc8033"), pf.Pi()])
def test_other_queues_and_given_frequencies(queue: pf.PiFamily) -> None:
    omega = [2.0, 5.0]
    found = pf.loop.by_segments(network(8.0, queue), omega)
    assert found.omega.to_numpy().tolist() == omega
    wide = pf.loop.by_segments(network(8.0, queue), [1.0, 2.0, 5.0, 9.0])
    np.testing.assert_allclose(found.loop, wide.loop.sel(omega=omega), rtol=1e-9)
    assert float(found.gain_margin_db) == pytest.approx(wide.gain_margin_db.item(), abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("delayed_ack", [True, False])
def test_packets_have_this_loop(delayed_ack: bool) -> None:
    """Five segments a flow, where `Loop` is 20 degrees off, and p' by a quarter."""
    one = network(5.0, delayed_ack=delayed_ack)
    node = one.nodes[0]
    scenario = pf.Scenario("60s", node.link, node.aqm, one.flows)
    measured = pf.measure_loop(scenario, pf.Packets(seeds=3), times=16)
    found = pf.loop.by_segments(one)
    assert float(measured.p_prime) == pytest.approx(float(found.p_prime), rel=0.015)
    chance = 3.0 * float(measured.phase_margin_se)
    error = float(found.phase_margin_deg - measured.phase_margin_deg)
    assert abs(error) < 5.0 + chance < 16.0
    chance = 3.0 * float(measured.gain_margin_se)
    assert abs(float(found.gain_margin_db - measured.gain_margin_db)) < 0.7 + chance < 2.5


def test_margins_on_a_grid() -> None:
    """K e^(-sD)/s: |L| = 1 at K, and -180 degrees at pi/(2 D)."""
    gain, late = 4.0, 0.1
    x = np.linspace(np.log(1.0), np.log(40.0), 4000)
    omega = np.exp(x)
    found = crossed_on(x, np.log(gain / omega), -np.pi / 2 - omega * late)
    assert found.gain_crossover == pytest.approx(gain, rel=1e-5)
    assert found.phase_crossover == pytest.approx(np.pi / 2 / late, rel=1e-5)
    assert found.phase_margin_deg == pytest.approx(90.0 - np.rad2deg(gain * late), abs=1e-3)
    assert found.gain_margin_db == pytest.approx(20 * np.log10(np.pi / 2 / late / gain), abs=1e-3)


# What is refused


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"network": "a"}, "network = 'a' is none"),
        ({"network": network(8.0, pf.CoDel())}, "CoDel has no PI controller before one queue"),
        ({"network": network(8.0, pf.DualPi2())}, "DualPi2 has no PI controller before one queue"),
        ({"network": network(8.0, sender=pf.Cubic())}, r"one class of Reno\(\)"),
        ({"network": network(8.0, sender=pf.Reno(decrease=0.3))}, r"one class of Reno\(\)"),
        ({"network": network(8.0, sender=pf.Reno(growth="per_ack"))}, r"one class of Reno\(\)"),
        ({"network": network(2.0)}, r"windows of 2\.5 segments"),
        ({"network": network(300.0)}, "where 3 to 100 can be counted"),
        ({"leave_out": "scatter"}, "leave_out = 'scatter' is no list"),
        ({"leave_out": ["bunch"]}, "leave_out has 'bunch', which is no part"),
        ({"frequencies": [3.0, 2.0]}, "no rising row of numbers"),
    ],
)
def test_what_cannot_be_asked(given: dict[str, Any], message: str) -> None:
    with refused((pf.QuantityError, pf.DomainError, pf.UnsupportedError), match=message):
        pf.loop.by_segments(**{"network": network(8.0)} | given)


def test_arrays_are_refused() -> None:
    one = network(8.0)
    several = replace(one, flows=(replace(one.flows[0], count=np.array([10.0, 20.0])),))
    with refused(pf.UnsupportedError, match=r"arrays of \(2,\)"):
        pf.loop.by_segments(several)


def test_two_classes_are_refused() -> None:
    one = network(8.0)
    two = replace(one, flows=(one.flows[0], replace(one.flows[0], name="more")))
    with refused(pf.UnsupportedError, match="one class of Reno"):
        pf.loop.by_segments(two)
