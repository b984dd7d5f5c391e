"""Flows with few segments by acknowledgements: a chain of windows, and what it makes of margins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.loop.acks.chain import Chain, Law, Rules, reduction_spread
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


@pytest.mark.parametrize("decrease", [0.2, 0.3, 0.5])
def test_what_a_signal_takes_is_what_is_grown(decrease: float) -> None:
    """At rest one segment a round trip balances p times what the mean square loses."""
    law = Law(decrease=decrease, increase=0.7)
    chain = Chain(20.0, AT_ONCE, law)
    square = float(chain.shares(chain.p) @ chain.windows**2)
    assert chain.p * decrease * square == pytest.approx(0.7, rel=0.03)  # rounded to quarters


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
    assert pf.loop.by_segments(one).window.to_numpy() == pytest.approx([5.5], rel=1e-9)
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


def dual(classic: pf.Flows, *others: pf.Flows) -> pf.Network:
    """A dual queue."""
    link = pf.Link("30Mbit/s", buffer=5000)
    return pf.Network(pf.Node("a", link, pf.DualPi2()), (classic, *others))


@pytest.mark.slow
def test_two_halves_of_a_class_are_one_class() -> None:
    one = network(8.0)
    half = replace(one.flows[0], count=10)
    two = replace(one, flows=(half, replace(half, name="more")))
    whole, halves = pf.loop.by_segments(one), pf.loop.by_segments(two)
    np.testing.assert_allclose(halves.loop, whole.loop, rtol=1e-6)
    np.testing.assert_allclose(halves.window, 2 * [float(whole.window[0])], rtol=1e-6)


@pytest.mark.slow
def test_several_paths_fill_the_link() -> None:
    """Windows over round-trip times add up to what the link takes, at one p'."""
    one = network(8.0)
    paths = ("20ms", "100ms")
    flows = tuple(replace(one.flows[0], count=10, base_rtt=path, name=path) for path in paths)
    found = pf.loop.by_segments(replace(one, flows=flows))
    assert found.flow.to_numpy().tolist() == list(paths)
    windows = found.window.to_numpy()
    rates = 10 * (windows - 0.5) / np.array([0.04, 0.12])  # half a segment waits for its pair
    assert rates.sum() * 12e3 == pytest.approx(float(one.nodes[0].link.capacity), rel=1e-6)
    assert windows[0] == pytest.approx(windows[1], rel=1e-3)  # at the same p, whatever the path


@pytest.mark.slow
def test_a_dual_queue_without_l4s_is_one_queue() -> None:
    reno = pf.Flows(pf.Reno(), 20, "50ms", ecn=True)
    one = dual(reno)
    queue = pf.DualPi2().in_one_queue()
    single = replace(one, nodes=(replace(one.nodes[0], aqm=queue),))
    found, other = pf.loop.by_segments(one), pf.loop.by_segments(single)
    np.testing.assert_allclose(found.loop, other.loop, rtol=1e-6)


@pytest.mark.slow
def test_what_counts_nothing_answers_as_it_does_by_acknowledgements() -> None:
    reno = pf.Flows(pf.Reno(), 10, "50ms", ecn=True)
    one = dual(reno, pf.Flows(pf.Scalable(), 10, "50ms"))
    found = pf.loop.by_segments(one, leave_out=["scatter", "delayed_acks", "bunches"])
    margins = pf.Loop(one, clock="acks", update="sampled").margins()
    assert float(found.gain_margin_db) == pytest.approx(margins.gain_margin_db, abs=1e-3)
    assert float(found.phase_margin_deg) == pytest.approx(margins.phase_margin_deg, abs=0.01)
    beside = dual(reno, pf.Flows(pf.Dctcp(), 10, "50ms"))
    renewal = dual(reno, pf.Flows(pf.Dctcp(law="renewal"), 10, "50ms"))
    a, b = (pf.loop.by_segments(each).loop.to_numpy() for each in (beside, renewal))
    np.testing.assert_array_equal(a, b)


@pytest.mark.slow
def test_losses_leave_less_gain_at_high_frequencies() -> None:
    """As packets have it: the gain margin is 2 dB larger where a queue drops."""
    marks = network(6.0)
    drops = network(6.0, pf.Pi2(drop_at="dequeue"), ecn=False)
    without = pf.loop.by_segments(drops, leave_out=["recovery"])
    np.testing.assert_allclose(without.loop, pf.loop.by_segments(marks).loop, rtol=1e-9)
    more = pf.loop.by_segments(drops).gain_margin_db - without.gain_margin_db
    assert 1.0 < float(more) < 3.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["drops", "creno", "cubic", "dual"])
def test_packets_of_other_kinds_have_this_loop(kind: str) -> None:
    """Where `Loop` is 2 dB or 15 degrees off."""
    if kind == "drops":
        one = network(6.0, pf.Pi2(), ecn=False)
    elif kind == "creno":
        one = network(8.0, sender=pf.CReno())
    elif kind == "cubic":
        one = network(8.0, sender=pf.Cubic(), base_rtt="80ms")
    else:
        one = dual(pf.Flows(pf.Reno(), 24, "50ms"))
    node = one.nodes[0]
    scenario = pf.Scenario("60s", node.link, node.aqm, one.flows)
    measured = pf.measure_loop(scenario, pf.Packets(seeds=3), times=16)
    found = pf.loop.by_segments(one)
    chance = 3.0 * float(measured.phase_margin_se)
    error = float(found.phase_margin_deg - measured.phase_margin_deg)
    assert abs(error) < 6.0 + chance < 20.0
    chance = 3.0 * float(measured.gain_margin_se)
    assert abs(float(found.gain_margin_db - measured.gain_margin_db)) < 1.0 + chance < 3.5


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


def narrow(buffer: int) -> pf.Network:
    """A link that holds fewer packets than rest in it."""
    one = network(8.0)
    node = one.nodes[0]
    return replace(one, nodes=(replace(node, link=replace(node.link, buffer=buffer)),))


def steep(times: float, interval: str = "16ms") -> pf.Network:
    """The usual gains so many times."""
    gains = {"alpha": 0.3125 * times, "beta": 3.125 * times, "update_interval": interval}
    return network(8.0, pf.Pi2(drop_at="dequeue", ecn=True, **gains))  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_little_beyond_the_boundary_it_has_margins() -> None:
    """Twice the gain takes 6 dB, also from a margin of less."""
    margins = [float(pf.loop.by_segments(steep(times)).gain_margin_db) for times in (2.0, 4.0)]
    assert margins[0] > 0.0 > margins[1]
    assert margins[0] - margins[1] == pytest.approx(20.0 * np.log10(2.0), abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("times", "interval"), [(16.0, "16ms"), (128.0, "16ms"), (1.0, "10us")])
def test_far_beyond_the_boundary_it_says_so(times: float, interval: str) -> None:
    with refused(pf.DomainError, "far beyond its boundary, at a gain margin of about -"):
        pf.loop.by_segments(steep(times, interval))


@pytest.mark.slow
def test_a_scenario_is_its_network_at_the_beginning() -> None:
    one = network(8.0)
    node, late = one.nodes[0], replace(one.flows[0], count=4, name="late", start="5s")
    flows = (one.flows[0], late)
    change = pf.Change("10s", capacity="5Mbit/s")
    scenario = pf.Scenario("20s", node.link, node.aqm, flows, change)
    whole = pf.loop.by_segments(replace(one, flows=flows))
    np.testing.assert_array_equal(pf.loop.by_segments(scenario).loop, whole.loop)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"network": "a"}, "network = 'a' is none"),
        ({"network": network(8.0, pf.CoDel())}, "CoDel has no PI controller"),
        ({"network": network(8.0, sender=pf.Scalable())}, r"Reno\(\), CReno\(\) or Cubic\(\)"),
        (
            {"network": network(8.0, sender=pf.Reno(growth="per_ack"))},
            r"Reno\(\), CReno\(\) or Cubic\(\)",
        ),
        ({"network": network(2.0)}, r"windows of 2\.5 segments"),
        ({"network": network(300.0)}, "where 3 to 100 can be counted"),
        ({"leave_out": "scatter"}, "leave_out = 'scatter' is no list"),
        ({"leave_out": ["bunch"]}, "leave_out has 'bunch', which is no part"),
        ({"network": narrow(3)}, "packets waiting at rest, and the buffer of 3 is full before"),
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
