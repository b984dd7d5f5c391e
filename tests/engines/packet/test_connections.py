"""A SYN that is lost: when it is sent again, with what window the flow begins, and without ECN."""

from __future__ import annotations

import numpy as np
import pytest

import pi2_fluid as pf

RTT, BIN = 0.05, 0.01


def run(jam_until: float, *, sender: pf.Sender | None = None, ecn: bool | None = True):
    """Return a run of a flow that comes at 1 s into a queue that datagrams keep full until then."""
    flows = [
        pf.Flows(sender or pf.Reno(), 1, RTT, start="1s", ecn=ecn),
        pf.Flows(pf.Cbr(rate="977Mbit/s"), 1, RTT, start="3.3ms", stop=jam_until),
    ]
    link = pf.Link("10Mbit/s", buffer="60 packets")
    scenario = pf.Scenario("9s", link, pf.CoDel(ecn=True), flows)
    return pf.packet.simulate(scenario, seeds=1, bin=BIN).isel(seed=0)


def begins(result) -> tuple[float, float]:
    """Return when the flow is connected (s), and its window then."""
    window = result.window.isel(flows=0).to_numpy()
    first = np.nonzero(window)[0][0]
    return float(result.time.to_numpy()[first]), float(window[first + 1])


@pytest.mark.parametrize(
    ("jam_until", "again", "window"),
    [(0.5, 1.0, 10), (1.5, 2.0, 10), (2.5, 3.0, 1), (5.5, 6.0, 1), (6.5, 8.0, 1)],
)
def test_when_and_how_a_flow_begins(jam_until: float, again: float, window: int) -> None:
    """Five waits of 1 s, and then one of 2 s; after more than one loss a window of one segment.

    Linux: net.ipv4.tcp_syn_linear_timeouts = 4; RFC 5681, section 3.1, and tcp_init_transfer.
    """
    at, first = begins(run(jam_until))
    late = 0.025 * (again - 1.0)  # by the timer wheel
    assert at == pytest.approx(again + late + RTT + BIN, abs=0.03)
    assert first == window


@pytest.mark.parametrize(("jam_until", "marked"), [(0.5, True), (1.5, False)])
def test_a_flow_whose_syn_was_lost_goes_without_ecn(jam_until: float, marked: bool) -> None:
    """RFC 3168, section 6.1.1.1; sysctl net.ipv4.tcp_ecn_fallback."""
    result = run(jam_until)
    count = result["count"].isel(flows=0).to_series()
    assert (count["mark_aqm"] > 0) == marked
    assert marked or count["drop_aqm"] > 0


def test_a_syn_that_was_only_late_changes_nothing() -> None:
    flow = pf.Flows(pf.Reno(), 1, "2.5s", ecn=True)
    scenario = pf.Scenario("30s", pf.Link("1Mbit/s"), pf.CoDel(ecn=True), flow)
    result = pf.packet.simulate(scenario, seeds=1, bin=BIN).isel(seed=0)
    assert begins(result) == (pytest.approx(2.5, abs=0.02), 10.0)
    assert int(result.timeouts.sum()) == 2
    assert result["count"].isel(flows=0).to_series()["mark_aqm"] > 0


def test_dctcp_without_ecn_is_reno() -> None:
    """Linux: a connection whose SYN was lost is one without ECN, and on those DCTCP is Reno."""
    dctcp, reno = run(1.5, sender=pf.Dctcp(), ecn=None), run(1.5)
    assert begins(dctcp)[0] > 2.0
    for name in ("window", "departures", "drops", "marks"):
        np.testing.assert_array_equal(dctcp[name], reno[name])
    assert (dctcp.window != run(0.5, sender=pf.Dctcp(), ecn=None).window).any()


def test_whose_syn_was_lost_goes_through_the_classic_queue() -> None:
    """The SYN itself may be marked, and is sent again through the L4S queue."""
    flows = [
        pf.Flows(pf.Prague(), 1, RTT, start="1s"),
        pf.Flows(pf.Cbr(rate="977Mbit/s"), 1, RTT, start="3.3ms", stop=1.5),
    ]
    link = pf.Link("10Mbit/s", buffer="60 packets")
    scenario = pf.Scenario("9s", link, pf.DualPi2(), flows)
    result = pf.packet.simulate(scenario, seeds=1, bin=BIN, trace=400_000).isel(seed=0)
    mine = (result.event_flow == 0) & (result.event_what == 1)
    bands = result.event_band.to_numpy()[mine.to_numpy()]
    assert bands[0] == 1
    assert bands[1:].size > 500
    assert (bands[1:] == 0).all()


def test_senders_that_linux_has_not_insist_on_ecn() -> None:
    """Without it they would be other senders."""
    result = run(1.5, sender=pf.Scalable(), ecn=None)
    assert begins(result)[0] > 2.0
    assert result["count"].isel(flows=0).to_series()["mark_aqm"] > 0


@pytest.mark.parametrize(("sender", "field"), [(pf.Dctcp(), 1), (pf.Reno(), 0)])
def test_the_syn_of_a_scalable_sender_can_be_marked(sender: pf.Sender, field: int) -> None:
    """Linux: tcp_ca_needs_ecn; RFC 8311, section 4.3."""
    flow = pf.Flows(sender, 1, RTT, ecn=True)
    scenario = pf.Scenario("1s", pf.Link("10Mbit/s"), pf.CoDel(ecn=True), flow)
    packets = pf.packet.simulate(scenario, seeds=1, trace=1)
    assert packets.event_ecn.values.flat[0] == field
