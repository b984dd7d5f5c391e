"""Paganini's source over links with a price, in packets: what it sends, and where it rests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf

PACKET = "1000B"
LINK = pf.Link("200Mbit/s", 100_000, PACKET, ack_jitter=0.0)  # 25,000 packets/s


def flows(count: int, rtt: str, sender: pf.Paganini, **more: Any) -> pf.Flows:
    settings: dict[str, Any] = {"initial_window": 1, "delayed_ack": False, "start_jitter": "100ms"}
    return pf.Flows(sender, count, rtt, **(settings | more))


def run(*classes: pf.Flows, duration: float, link: pf.Link = LINK, **price: Any) -> Any:
    scenario = pf.Scenario(duration, link, pf.Price(**price), classes)
    return pf.packet.simulate(scenario, seeds=1, bin="20ms").isel(seed=0)


def sent(sender: pf.Paganini, duration: float = 1.0, **more: Any) -> Any:
    """When one flow's segments were sent (s), over 100 ms that never wait."""
    link = pf.Link("1Gbit/s", packet_size=PACKET)
    flow = flows(1, "100ms", sender, start_jitter=0, **more)
    traced = pf.packet.simulate(
        pf.Scenario(duration, link, pf.TailDrop(), flow), seeds=1, trace=20_000
    )
    what, size = traced.event_what.values[0], traced.event_bytes.values[0]
    return traced.event_time.values[0][(what == 0) & (size == 1000)] / 1e9


def test_packets_leave_one_at_a_time_a_window_in_each_round_trip() -> None:
    times = sent(pf.Paganini(static=True, max_rate="8Mbit/s"), initial_window=3)
    assert np.diff(times[:3]) == pytest.approx(0.1 / 3, rel=1e-3)
    late = np.diff(times[times > 0.9])  # 1000 segments/s, of which a window is whole
    assert late == pytest.approx(1e-3, rel=0.01)


@pytest.mark.parametrize("slow_start", [True, False])
def test_without_a_price_windows_grow_by_beta_k(slow_start: bool) -> None:
    """By 75 segments a second, with no slow start, once a segment for each has caught up."""
    times = sent(pf.Paganini(), 3.0, slow_start=slow_start)
    half = np.count_nonzero((times > 2.0) & (times < 2.5))
    assert half == pytest.approx(0.5 / 0.1 * (1 + 75 * (2.25 - 0.1)), rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["exponential", "window"])
def test_32_flows_rest_where_the_fluid_does(scheme: str) -> None:
    """Within what noise makes of it: the utilization is met, the price is up to 15 % off."""
    classes = flows(32, "200ms", pf.Paganini(scheme=scheme))
    data = run(classes, duration=14.0).sel(time=slice(8, None))
    rest = pf.equilibrium(classes, pf.Price(), "200Mbit/s", PACKET)
    assert float(data.throughput.mean() / 200e6) == pytest.approx(0.95, abs=0.003)
    assert float(data.controller.mean()) == pytest.approx(rest.controller, rel=0.15)
    assert float(data.controller.std()) < 0.1 * rest.controller
    assert float(data.queue.mean()) < 15.0


@pytest.mark.slow
def test_over_short_paths_the_update_by_windows_takes_noise_for_growth() -> None:
    """1/(1 + x) is more above 1 than below: with alpha/tau = 9.25/s, price and queue run away."""
    price = {}
    for scheme in ("exponential", "window"):
        classes = flows(32, "40ms", pf.Paganini(scheme=scheme))
        data = run(classes, duration=14.0).sel(time=slice(6, None)).mean("time")
        rest = pf.equilibrium(classes, pf.Price(), "200Mbit/s", PACKET)
        assert float(data.throughput.sum() / 200e6) == pytest.approx(0.95, abs=0.005)
        price[scheme] = float(data.controller) / rest.controller
    assert 0.85 < price["exponential"] < 1.0
    assert price["window"] > 2.5


@pytest.mark.slow
def test_rates_do_not_depend_on_the_path() -> None:
    """Nor on how far the windows are apart: within 5 %."""
    sender = pf.Paganini()
    classes = [flows(32, rtt, sender, name=rtt) for rtt in ("40ms", "120ms", "200ms")]
    data = run(*classes, duration=24.0).sel(time=slice(12, None)).mean("time")
    assert float(data.throughput.sum() / 200e6) == pytest.approx(0.95, abs=0.003)
    each = data.throughput / data.throughput.mean()
    assert each.values == pytest.approx(np.ones(3), abs=0.05)


@pytest.mark.slow
def test_limits_of_a_tenth_make_the_price_swing() -> None:
    """A lag of their own: price and queue wander more, as the slower window lets them."""
    spread = {}
    for step in (1.0, 0.1):
        sender = pf.Paganini(max_increment=step, max_decrement=step)
        data = run(flows(64, "200ms", sender), duration=40.0).sel(time=slice(20, None))
        spread[step] = float(data.controller.std()), float(data.queue.std())
    assert spread[0.1][0] > 2.0 * spread[1.0][0]


@pytest.mark.slow
def test_other_utilities() -> None:
    """With fairness 2, x = sqrt(k/q): where two links are crossed, less than by half."""
    sender = pf.Paganini(fairness=2.0, k=4e3)
    data = run(flows(32, "40ms", sender), duration=12.0).sel(time=slice(6, None)).mean("time")
    rest = pf.equilibrium(flows(32, "40ms", sender), pf.Price(), "200Mbit/s", PACKET)
    assert float(data.throughput.sum() / 200e6) == pytest.approx(0.95, abs=0.003)
    assert 0.85 < float(data.controller) / rest.controller < 1.02


@pytest.mark.slow
def test_a_static_source_sends_by_the_price_alone() -> None:
    """Less than its law, as it is limited by a noisy window: and nothing raises that in time."""
    law = pf.Paganini(static=True, max_rate="8Mbit/s").on_link(1000.0)
    data = run(flows(32, "200ms", law), duration=12.0).sel(time=slice(6, None)).mean("time")
    assert float(data.throughput.sum() / 200e6) == pytest.approx(0.95, abs=0.005)
    wanted = law.sending_rate_under(1.0, pf.Price().encode(float(data.controller)).scalable, 0.2)
    assert 1.0 < wanted / float(data.throughput.sum() / 32 / 8000) < 1.15


@pytest.mark.slow
def test_losses_halve_windows_and_are_repaired() -> None:
    """Tail drop of few packets: nothing but losses holds the windows back."""
    scenario = pf.Scenario(
        "20s", pf.Link("20Mbit/s", 20, PACKET), pf.TailDrop(), flows(3, "20ms", pf.Paganini())
    )
    data = pf.packet.simulate(scenario, seeds=2)
    assert float(data.throughput.sel(time=slice(5, None)).sum("flows").mean()) > 0.8 * 20e6
    count = data["count"].sum(("seed", "flows"))
    parts = [name for name in count.cause.values if name.startswith(("deliv", "drop"))]
    left = count.sel(cause=["queued", "in_flight"]).sum()
    assert int(count.sel(cause="sent")) == int(count.sel(cause=parts).sum() + left)
    assert int(count.sel(cause="drop_full")) > 20


def test_a_new_transfer_begins_with_nothing_known() -> None:
    """Its segments leave as those of the first one did."""
    settings: dict[str, Any] = {"initial_window": 1, "delayed_ack": False}
    flow = pf.Transfers(pf.Paganini(), 1, "100ms", size=pf.Fixed(60), idle="200ms", **settings)
    scenario = pf.Scenario("6s", pf.Link("1Gbit/s", packet_size=PACKET), pf.Price(), flow)
    traced = pf.packet.simulate(scenario, seeds=1, trace=5000)
    what, size = traced.event_what.values[0], traced.event_bytes.values[0]
    times = traced.event_time.values[0][(what == 0) & (size == 1000)] / 1e9
    first, second = times[:60], times[60:120]
    assert second - second[0] == pytest.approx(first - first[0], rel=1e-3)


def test_same_seed_same_packets() -> None:
    one, two = (run(flows(4, "20ms", pf.Paganini()), duration=1.0) for _ in range(2))
    np.testing.assert_array_equal(one.flow_segments, two.flow_segments)
    assert int(one.flow_segments.sum()) > 1000


@pytest.mark.slow
def test_marks_of_several_links_add_prices_up() -> None:
    """A parking lot: rates within 3 % of the equilibrium, as the page on the protocol says."""
    capacities = {"a": 20_000, "b": 16_000, "c": 12_000}  # packets/s
    nodes = [
        pf.Node(name, pf.Link(8e3 * each, 100_000, PACKET, ack_jitter=0.0), pf.Price())
        for name, each in capacities.items()
    ]
    sender = pf.Paganini(beta=1.0, k=100.0)
    more: dict[str, Any] = {"initial_window": 1, "delayed_ack": False, "start_jitter": "500ms"}
    network = pf.Network(
        nodes,
        [
            pf.Flows(
                sender, 10, "100ms", "all", route=tuple("abc"), hops=("5ms", "5ms", "10ms"), **more
            ),
            pf.Flows(sender, 10, "40ms", "on a", route="a", hops="5ms", **more),
            pf.Flows(sender, 10, "80ms", "on b", route="b", hops="10ms", **more),
            pf.Flows(sender, 10, "60ms", "on c", route="c", hops="10ms", **more),
        ],
    )
    rest = pf.equilibrium(network)
    runs = pf.packet.simulate(pf.Scenario("60s", network=network), seeds=1).isel(seed=0)
    late = runs.sel(time=slice(30, None)).mean("time")
    rates = late.throughput.to_numpy() / 10 / 8000.0
    assert rates == pytest.approx(np.array(rest.rate), rel=0.03)
    used = late.link_throughput.sum("flows").to_numpy() / 8000.0 / list(capacities.values())
    assert used == pytest.approx(np.full(3, 0.95), abs=0.003)
    below = 1.0 - late.controller.to_numpy() / np.array(rest.price)
    page = (Path(__file__).parents[3] / "docs" / "paganini.md").read_text(encoding="utf-8")
    for row, found in (("packets", rates), ("equilibrium", np.array(rest.rate))):
        assert f"| {row} | {' | '.join(f'{rate:.1f}' for rate in found)} |" in page
    assert f"Prices are {100 * below.min():.0f} to {100 * below.max():.0f} % below" in page
