"""Paced senders: packets leave at window over smoothed round-trip time, 250 us at once at most.

Of packets of 1500 bytes 1448 count, so that the pace is 3.6 % faster; who was late makes up for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf

BURST = 250e-6
FASTER = 1500 / 1448


@pytest.fixture
def paced_reno(monkeypatch) -> pf.Reno:
    """Reno, which sends as evenly as Prague."""
    monkeypatch.setattr(pf.Reno, "paced", True)
    return pf.Reno()


def sent(sender: pf.Sender, *, window: float, slow_start: bool, link: str = "10Gbit/s") -> Any:
    """When one flow's new segments were sent (s), over 100 ms that are never short."""
    flow = pf.Flows(sender, 1, "100ms", initial_window=window, slow_start=slow_start, ecn=True)
    scenario = pf.Scenario("1s", pf.Link(link), pf.TailDrop(), flow)
    run = pf.packet.simulate(scenario, seeds=1, trace=20_000)
    what, size = run.event_what.values[0], run.event_bytes.values[0]
    return run.event_time.values[0][(what == 0) & (size == 1500)] / 1e9


def bursts(times: Any) -> list[int]:
    """How many segments left at once, one after the other."""
    return [int(n) for n in np.unique(times, return_counts=True)[1]]


def test_a_window_is_spread_over_its_round_trip(paced_reno):
    times = sent(paced_reno, window=50, slow_start=False)
    assert max(bursts(times)) == 1
    gaps = np.diff(times[times < times[0] + 0.095])
    np.testing.assert_allclose(gaps[1:], 0.1 / 50 / FASTER, rtol=0.001)
    assert gaps[0] == pytest.approx(gaps[1] / 2, rel=0.001)  # it begins as late as can be


def test_others_send_their_first_window_at_once():
    assert bursts(sent(pf.Reno(), window=50, slow_start=False))[0] == 50


def test_what_250_us_carry_leaves_at_once(paced_reno):
    times = sent(paced_reno, window=2000, slow_start=False)
    assert max(bursts(times[times < times[0] + 0.095])) == 5  # 2000/100 ms, times 250 us
    gaps = np.diff(np.unique(times[times < times[0] + 0.095]))
    np.testing.assert_allclose(gaps[1:], BURST / FASTER, rtol=0.001)


def test_early_slow_start_is_paced_at_twice_the_window(paced_reno):
    times = sent(paced_reno, window=10, slow_start=True)
    gaps = np.diff(times[:10])
    np.testing.assert_allclose(gaps[1:], 0.1 / 20 / FASTER, rtol=0.001)


def test_prague_of_the_draft_sends_pairs_unless_told_otherwise():
    for sender, most in (
        (pf.Prague(version="draft"), 2),
        (pf.Prague(version="draft", pairs=False), 1),
        (pf.Prague(version="2024"), 1),
        (pf.Prague(version="2024", pairs=True), 2),
    ):
        assert set(bursts(sent(sender, window=20, slow_start=False))[:8]) == {most}


def test_room_for_one_waits_for_a_second():
    """21 segments are ten pairs: the last one leaves with the first that is acknowledged."""
    times = sent(pf.Prague(pairs=True), window=21, slow_start=False)
    assert set(bursts(times)[:40]) == {2}
    assert np.count_nonzero(times < times[0] + 0.0999) == 20


def test_gaps_of_single_packets_are_those_of_a_public_capture():
    """Prague alone, 50 Mbit/s, 20 ms, a packet is 242 us: 121 us (34 %), 240 (25 %), 365 (33 %).

    That is half a packet after who was late, and what acknowledgements of two segments leave; by
    window over round trip alone, 5 to 95 % of them are 236 to 254 us.

    Source: the sender's packets of L4STeam's ect1-tests, whose gaps are correlated by -0.75.
    """
    flow = pf.Flows(pf.Prague(version="draft", pairs=False), 1, "20ms")
    link = pf.Link("50Mbit/s", packet_size="1514B", kind="htb")
    scenario = pf.Scenario("30s", link, pf.DualPi2(), flow)
    run = pf.packet.simulate(scenario, seeds=1, trace=500_000)
    what, size = run.event_what.values[0], run.event_bytes.values[0]
    times = run.event_time.values[0][(what == 0) & (size == 1514)] / 1e9
    gaps = np.diff(times[times > 20.0])
    near = [np.mean(abs(gaps - gap) < 15e-6) for gap in (121e-6, 240e-6, 365e-6)]
    assert near == pytest.approx([0.34, 0.25, 0.33], abs=0.06)
    assert np.corrcoef(gaps[:-1], gaps[1:])[0, 1] < -0.7


def test_the_window_still_limits():
    """No more than a window in a round trip, however fast the pace."""
    times = sent(pf.Prague(), window=20, slow_start=False)
    assert np.count_nonzero(times < times[0] + 0.0999) <= 20


@pytest.mark.slow
def test_pacing_spares_the_queue(monkeypatch):
    """The same sender over the same path, clocked by acknowledgements, fills a shallow L queue."""
    waits = {}
    for paced in (True, False):
        monkeypatch.setattr(pf.Prague, "paced", paced)
        flows = pf.Flows(pf.Prague(), 4, "20ms", start_jitter="1s")
        scenario = pf.Scenario("20s", pf.Link("100Mbit/s"), pf.DualPi2(), flows)
        run = pf.packet.simulate(scenario, seeds=2).sel(time=slice(5, None), band="L")
        waits[paced] = float(run.sojourn.mean())
    assert waits[True] < waits[False]


@pytest.mark.slow
def test_losses_of_paced_flows_are_repaired(paced_reno):
    """Under tail drop of few packets: all that was sent is accounted for, and the link is used."""
    flows = pf.Flows(paced_reno, 3, "20ms", start_jitter="100ms")
    scenario = pf.Scenario("20s", pf.Link("20Mbit/s", buffer=20), pf.TailDrop(), flows)
    run = pf.packet.simulate(scenario, seeds=3)
    assert float(run.throughput.sel(time=slice(5, None)).sum("flows").mean()) > 0.9 * 20e6
    count = run["count"].sum(("seed", "flows"))
    parts = [name for name in count.cause.values if name.startswith(("deliv", "drop"))]
    left = count.sel(cause=["queued", "in_flight"]).sum()
    assert int(count.sel(cause="sent")) == int(count.sel(cause=parts).sum() + left)
    assert int(count.sel(cause="drop_full")) > 100
