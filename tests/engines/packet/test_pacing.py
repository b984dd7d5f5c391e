"""Paced senders: packets leave at window over smoothed round-trip time, 250 us at once at most."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf

BURST = 250e-6


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
    first = times[times < times[0] + 0.099]
    np.testing.assert_allclose(np.diff(first), 0.1 / 50, rtol=0.02)


def test_others_send_their_first_window_at_once():
    assert bursts(sent(pf.Reno(), window=50, slow_start=False))[0] == 50


def test_what_250_us_carry_leaves_at_once(paced_reno):
    times = sent(paced_reno, window=2000, slow_start=False)
    assert max(bursts(times[times < times[0] + 0.099])) == 5  # 2000/100 ms, times 250 us
    gaps = np.diff(np.unique(times[times < times[0] + 0.099]))
    np.testing.assert_allclose(gaps, BURST, rtol=0.02)


def test_early_slow_start_is_paced_at_twice_the_window(paced_reno):
    times = sent(paced_reno, window=10, slow_start=True)
    first = times[:10]
    np.testing.assert_allclose(np.diff(first), 0.1 / 20, rtol=0.02)


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
