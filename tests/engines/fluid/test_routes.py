"""The fluid over several links: against numbers of others, one link, and what must be true."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.engines.fluid.beginning import Beginning, begin_links
from pi2_fluid.engines.fluid.oracle.integration import Accuracy, Run
from pi2_fluid.engines.fluid.oracle.plant import Plant
from pi2_fluid.engines.fluid.oracle.state import EMPTY
from pi2_fluid.engines.fluid.timeline import Schedule
from pi2_fluid.records.paths import replace_path

DATA: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "data" / "network_trajectories.json").read_text(encoding="utf-8")
)
KNOWN, PRICES = DATA["cases"], DATA["prices"]
QUEUES = {"pi2": pf.Pi2, "coupled": pf.CoupledPi2}
SENDERS = {"reno": pf.Reno(), "scalable": pf.Scalable(), "creno": pf.CReno()}
PACKET = 1500


def scenario_of(name: str, duration: float) -> pf.Scenario:
    case = KNOWN[name]
    nodes = []
    for label, link in zip("abc", case["links"], strict=False):
        gains = {key: link[key] for key in ("alpha", "beta", "update_interval", "target")}
        aqm = QUEUES[link["queue"]](**gains)
        nodes.append(pf.Node(label, pf.Link(8 * PACKET * link["capacity"], "40000 packets"), aqm))
    flows = [
        pf.Flows(
            SENDERS[each["sender"]],
            each["count"],
            each["base_rtt"],
            f"c{i}",
            route=each["route"],
            hops=each["hops"],
            initial_window=each["window"],
            slow_start=False,
        )
        for i, each in enumerate(case["classes"])
    ]
    # There flows count from when they are called, here once their packets arrive at the link.
    changes = [
        pf.Change(at - case["classes"][i]["hops"][0], counts={f"c{i}": count})
        for at, i, count in case["changes"]
    ]
    return pf.Scenario(duration, network=pf.Network(nodes, flows), changes=changes)


def follow(
    scenario: pf.Scenario,
    update: str,
    times: Any,
    accuracy: Accuracy,
    beginning: Beginning | None = None,
) -> tuple[Any, Any]:
    plant = Plant(scenario, update, beginning)
    run = Run(plant, Schedule(scenario, ticks=update == "sampled"), accuracy)
    return run, list(run.follow(list(times)))


#: Until when, and how well: queues (packets), controllers and windows.
CASES = {
    "two_links": (3.0, (1e-6, 1e-8, 1e-6)),
    "parking3": (2.5, (1e-6, 1e-8, 1e-6)),
    "coupled2": (2.0, (1e-6, 1e-8, 1e-6)),
    "two_links_low_load": (9.0, (1e-6, 1e-8, 1e-6)),
    # those are solved to 1e-5, and with ticks in steps of 5 us
    "two_links_nchange": (3.4, (1e-5, 1e-7, 1e-6)),
    "two_links_sampled": (1.504, (1e-4, 1e-6, 1e-5)),
}


@pytest.mark.parametrize(
    ("name", "end", "within"),
    [
        ("two_links", 0.5, (1e-5, 1e-7, 1e-5)),
        *(pytest.param(name, *case, marks=pytest.mark.slow) for name, case in CASES.items()),
    ],
)
def test_it_agrees_with_others(name: str, end: float, within: tuple[float, ...]) -> None:
    rows = [row for row in KNOWN[name]["rows"] if row[0] <= end]
    assert len(rows) >= 3
    scenario = scenario_of(name, end + 1e-3)
    update = "sampled" if KNOWN[name]["sampled"] else "continuous"
    accuracy = Accuracy(end, 1e-10 if end > 0.5 else 1e-8)
    run, found = follow(scenario, update, [row[0] for row in rows], accuracy)
    plant = run.plant
    for row, (_, *known) in zip(found, rows, strict=True):
        left = known
        got = [row.y[: plant.bands], [row.y[where.start] for _, where in plant.laws]]
        got.append([row.y[where.start] for where in plant.windows])
        for values, bound in zip(got, within, strict=True):
            wanted, left = left[: len(values)], left[len(values) :]
            assert values == pytest.approx(wanted, abs=bound)


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("parking_static", 0.3),
        pytest.param("parking_static", 2.0, marks=pytest.mark.slow),
        pytest.param("parking_static_hot", 1.5, marks=pytest.mark.slow),
        pytest.param("chain_log", 2.9, marks=pytest.mark.slow),
    ],
)
def test_prices_agree_with_others(name: str, end: float) -> None:
    case, phi = PRICES[name], 2.718281828459045
    low = 0.02  # so little of the capacity is asked for that no queue ever waits
    bits = 8 * PACKET
    nodes = [
        pf.Node(
            label, pf.Link(bits * target / low, "40000 packets"), pf.Price(phi=phi, utilization=low)
        )
        for label, target in zip("abc", case["target"], strict=False)
    ]
    flows = []
    for each in case["classes"]:
        rate, rtt = each["rate"], each["base_rtt"]
        if "beta" in case:
            law = pf.Paganini(alpha=case["alpha"], beta=case["beta"], k=case["k"], phi=phi)
        else:
            law = pf.Paganini(alpha=case["alpha"], static=True, max_rate=bits * rate, phi=phi)
        way = {"route": each["route"], "hops": each["hops"], "slow_start": False}
        flows.append(pf.Flows(law, each["count"], rtt, initial_window=rate * rtt, **way))
    scenario = pf.Scenario(end + 1e-3, network=pf.Network(nodes, flows))
    beginning = None
    if case["started"]:
        prices = dict(zip("abc", case["prices"], strict=False))
        beginning = begin_links(scenario, {"controller": prices})
    rows = [row for row in case["rows"] if row[0] <= end]
    assert len(rows) >= 2
    run, found = follow(
        scenario, "continuous", [row[0] for row in rows], Accuracy(end, 1e-9), beginning
    )
    links = len(nodes)
    for row, (_, *known) in zip(found, rows, strict=True):
        assert max(row.y[:links]) == 0.0
        got = [row.y[where.start] for _, where in run.plant.laws]
        assert got == pytest.approx(known[:links], abs=2e-9)
        rates = [sum(row.view.rates[s] for s in mine) for mine in run.plant.layout.arriving]
        assert rates == pytest.approx(known[links:], rel=1e-7, abs=1e-5)


def parking_lot(*hops: str) -> pf.Network:
    rates = {"a": "12Mbit/s", "b": "10Mbit/s", "c": "8Mbit/s"}
    aqm = pf.Pi2(alpha=1.0, beta=8.0, target=0.03)
    long = pf.Flows(
        pf.Reno(), 14, "300ms", "long", route=tuple(rates), hops=hops, initial_window=20
    )
    short = pf.Flows(pf.Reno(), 3, "200ms", "short", route="b", initial_window=40)
    return pf.Network(
        [pf.Node(name, pf.Link(rate, "40000 packets"), aqm) for name, rate in rates.items()],
        [dataclasses.replace(each, slow_start=False) for each in (long, short)],
    )


@pytest.mark.slow
def test_it_is_of_order_four_through_jumps_that_travel() -> None:
    # what a serves and who is at b jump; b and c feel the one, c the other, hops and queues later
    changes = [pf.Change(0.35, "6Mbit/s", link="a"), pf.Change(0.4, counts={"short": 4})]
    network = parking_lot("20ms", "30ms", "40ms")
    scenario = pf.Scenario(0.43, network=network, changes=changes)
    ends = []
    for step in (0.002, 0.0005, 0.00025):  # jumps of third derivatives go unseen in longer ones
        _, rows = follow(scenario, "continuous", [0.43], Accuracy(step, 0.0))
        ends.append(np.array(rows[-1].y))
    assert min(rows[-1].y[:2]) > 10.0
    errors = [float(np.max(np.abs(end - ends[-1]) / (1 + np.abs(ends[-1])))) for end in ends[:-1]]
    assert 0.5 * np.log2(errors[0] / errors[1]) > 3.5, errors


def test_a_jump_reaches_the_next_link_a_queue_and_a_hop_later() -> None:
    nodes = [
        pf.Node(n, pf.Link(rate, "40000 packets"), pf.Pi2())
        for n, rate in (("a", "6Mbit/s"), ("b", "9Mbit/s"))
    ]
    flows = [
        pf.Flows(pf.Reno(), 5, "200ms", "long", route=("a", "b"), hops=("10ms", "20ms")),
        pf.Flows(pf.Reno(), 5, "200ms", "short", route="a", hops="10ms"),
    ]
    change = pf.Change(0.1, counts={"short": 10})
    scenario = pf.Scenario(0.3, network=pf.Network(nodes, flows), changes=change)
    times = [float(t) for t in np.arange(0.09, 0.3, 2e-4)]
    run, rows = follow(scenario, "continuous", times, Accuracy(0.3, 1e-6))
    rates = np.array([row.view.rates for row in rows])
    jumps = [times[int(np.argmax(np.abs(np.diff(rates[:, s]))))] for s in (2, 1)]
    # they have sent at 0.1 s, are at a 10 ms later, and leave it when what was before them has left
    assert jumps[0] == pytest.approx(0.11, abs=2.1e-4)
    rises = [row for row in rows if row.t >= 0.11]
    waited = next(r.t for r in rises if r.y[run.plant.entered[0]] >= 0.11) - 0.11
    assert waited == pytest.approx(rises[0].view.tau[0], abs=2.1e-4)
    assert jumps[1] == pytest.approx(0.11 + waited + 0.02, abs=4.1e-4)


def test_what_has_entered_leaves() -> None:
    """By the time of entry, as a state, and by counting what arrived: both say what leaves now."""
    changes = [pf.Change(0.25, "6Mbit/s", link="a"), pf.Change(0.3, counts={"short": 4})]
    scenario = pf.Scenario(0.45, network=parking_lot("20ms", "30ms", "0ms"), changes=changes)
    times = [float(t) for t in np.arange(0.2, 0.45, 0.01)]
    run, rows = follow(scenario, "sampled", times, Accuracy(0.45, 1e-9))
    plant = run.plant
    paces = len(plant.layout.carriers)
    for row in rows:
        carried = [s for link in plant.layout.carriers for s in plant.layout.arriving[link]]
        leaving = row.view.passing[paces:]
        assert [row.leaving[s] for s in carried] == pytest.approx(leaving, rel=1e-5)
        for link in plant.layout.carriers:
            if row.mode.bound[link] != EMPTY:
                served = row.y[plant.arrived + link] - row.y[link]
                entered = row.y[plant.entered[link]]
                segment = next(x for x in run.history.segments[1:] if x.end >= entered)
                assert segment.values(entered)[plant.arrived + link] == pytest.approx(
                    served, rel=1e-5
                )
    # without a hop between them, all that leaves b is at c at once
    assert all(row.view.rates[2] == pytest.approx(row.view.passing[paces + 1]) for row in rows)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")
def test_each_class_brings_to_the_next_link_what_it_took_from_the_last() -> None:
    nodes = [pf.Node(n, pf.Link(rate, 80), pf.Pi2()) for n, rate in (("a", 8e6), ("b", 3e6))]
    flows = [
        pf.Flows(pf.Reno(), 4, "60ms", "long", route=("a", "b"), hops=("5ms", "10ms")),
        pf.Flows(pf.Cubic(), 3, "40ms", "short", route="a", stop=0.8, start_jitter=0.1),
    ]
    pauses = [pf.Change(0.5, counts={"long": 0}), pf.Change(0.504, counts={"long": 5})]
    scenario = pf.Scenario(1.0, network=pf.Network(nodes, flows), changes=pauses)
    found = pf.simulate(scenario, pf.Fluid(tolerance=1e-6, sample=1e-3, engine="python"))
    rate = found.link_throughput.to_numpy() / (8 * PACKET)
    gone = np.cumsum(rate, axis=0) * 1e-3
    waiting = found.queue.to_numpy()
    # of b: what has left a up to one hop ago has left b, or waits there
    late = round(0.01 / 1e-3)
    assert waiting[:, 1].max() > 20.0
    behind = gone[:-late, 0, 0] - gone[late:, 1, 0] - waiting[late:, 1]
    assert waiting.max(axis=0)[1] < 80.0  # nothing was refused
    assert np.abs(behind).max() < 1.5  # of 500 packets: jumps inside a sample


def test_a_ring_runs() -> None:
    routes = (("a", "b"), ("b", "c"), ("c", "a"))
    nodes = [pf.Node(name, pf.Link("12Mbit/s", "40000 packets"), pf.Pi2()) for name in "abc"]
    flows = [
        pf.Flows(pf.Reno(), 4, "60ms", f"{route}", route=route, hops=("4ms", "6ms"))
        for route in routes
    ]
    ring = pf.Scenario(0.2, network=pf.Network(nodes, flows))
    found = pf.simulate(ring, pf.Fluid(tolerance=1e-5, engine="python"))
    assert float(found.queue_delay.max()) > 0.05
    for name, dim in (("window", "flows"), ("queue", "link")):  # all are alike
        values = found[name].to_numpy()
        assert values == pytest.approx(np.broadcast_to(values[:, :1], values.shape), rel=1e-9), dim
    still = dataclasses.replace(
        ring.network, flows=[dataclasses.replace(f, hops=()) for f in flows]
    )
    with refused(pf.UnsupportedError, "around a ring of the links 'a', 'b', 'c' in no time"):
        pf.simulate(dataclasses.replace(ring, network=still), pf.Fluid(engine="python"))


TWO = pf.Scenario(
    "0.5s",
    network=pf.Network(
        [
            pf.Node("a", pf.Link("15Mbit/s", "40000 packets"), pf.Pi2()),
            pf.Node("b", pf.Link("9Mbit/s", "40000 packets"), pf.Pie()),
        ],
        [
            pf.Flows(pf.Reno(), 6, "80ms", route=("a", "b"), hops=("5ms", "10ms")),
            pf.Flows(pf.Cbr(rate="4Mbit/s"), route="b", start="0.1s"),
            pf.Flows(pf.Cubic(), 2, "40ms", route="a", start="0.2s"),
        ],
    ),
    changes=pf.Change("0.4s", "8Mbit/s", link="a"),
)


def test_results_have_the_names_of_links_and_classes(tmp_path: Path) -> None:
    reported: list[float] = []
    dataset = pf.simulate(TWO, pf.Fluid(tolerance=1e-4), lambda done, _: reported.append(done))
    assert (
        dataset.queue_delay.dims
        == dataset.controller.dims
        == dataset.capacity.dims
        == ("time", "link")
    )
    assert dataset.p.dims == dataset.throughput.dims == ("time", "flows")
    assert dataset.link_p.dims == dataset.link_throughput.dims == ("time", "link", "flows")
    assert dataset.link.to_numpy().tolist() == ["a", "b"]
    assert dataset.capacity.to_numpy()[[0, -1]].tolist() == [[15e6, 9e6], [8e6, 9e6]]
    assert dataset.attrs["compiled"] == 1
    assert "room that drops leave downstream" in dataset.attrs["not_modelled"]
    assert reported[-1] == pytest.approx(0.5, abs=0.03)
    # who does not cross a link leaves nothing there, and is signalled nothing
    off = (
        dataset.link_throughput.sel(link="a", flows="cbr"),
        dataset.link_p.sel(link="b", flows="cubic"),
    )
    assert not any(each.any() for each in off)
    both = 1 - (1 - dataset.link_p).prod("link")
    assert dataset.p.to_numpy() == pytest.approx(both.to_numpy(), abs=1e-14)
    last = dataset.link_throughput.sel(link="b", flows="reno")
    assert last.to_numpy() == pytest.approx(dataset.throughput.sel(flows="reno").to_numpy())
    summary = pf.summarize(dataset, after="0.2s")
    assert summary.delay_mean.dims == summary.utilization.dims == ("link",)
    assert summary.throughput.dims == summary.window_mean.dims == ("flows",)
    # by sums over links, of those that cross them
    shares = dataset.link_throughput.sel(time=slice(0.2, None)).sum("flows").mean("time")
    assert summary.utilization.to_numpy() == pytest.approx(
        (shares / dataset.capacity.sel(time=slice(0.2, None)).mean("time")).to_numpy(), rel=0.02
    )
    dataset.to_netcdf(tmp_path / "two.nc", engine="scipy")


@pytest.mark.parametrize("combine", ["product", "sum"])
def test_it_stays_where_it_rests(combine: str) -> None:
    scenario = scenario_of("coupled2", 0.2)
    network = dataclasses.replace(scenario.network, combine=combine)
    scenario = dataclasses.replace(scenario, network=network)
    rest = pf.equilibrium(network)
    how = pf.Fluid(update="continuous", initial=rest, tolerance=1e-6, engine="python")
    found = pf.simulate(scenario, how)
    for name in ("queue", "controller", "window", "throughput", "p"):
        values = found[name].to_numpy()
        assert values == pytest.approx(np.broadcast_to(values[0], values.shape), rel=1e-11), name
    assert found.window[0].to_numpy() == pytest.approx(rest.window.to_numpy())
    given = {"window": list(rest.window.to_numpy()), "queue": {"a": float(rest.queue[0])}}
    other = pf.simulate(scenario, dataclasses.replace(how, initial=given))
    assert other.queue[0].to_numpy() == pytest.approx([float(rest.queue[0]), 0.0])
    assert other.window[0].to_numpy() == pytest.approx(found.window[0].to_numpy())


def test_what_a_full_buffer_cannot_hold_goes_no_further() -> None:
    """Neither of a constant rate nor of flows that answer: the next link has room for others."""
    nodes = [
        pf.Node("a", pf.Link("15Mbit/s", 80), pf.TailDrop()),
        pf.Node("b", pf.Link("9Mbit/s", "40000 packets"), pf.Pi2()),
    ]
    flows = [
        pf.Flows(pf.Reno(), 6, "80ms", route=("a", "b"), hops=("5ms", "10ms")),
        pf.Flows(pf.Cbr(rate="3Mbit/s"), 1, "40ms", route=("a", "b")),
        pf.Flows(pf.Reno(), 5, "40ms", "at a", route="a"),
        pf.Flows(pf.Dctcp(), 5, "40ms", route="b"),
    ]
    network = pf.Network(nodes, flows)
    rest = pf.equilibrium(network)
    lost, p = rest.controller.to_numpy()
    assert lost > 0.005
    assert rest.load.to_numpy() == pytest.approx([1.0 / (1.0 - lost), 1.0], rel=1e-11)
    assert float(rest.rate[1]) == pytest.approx(250.0 * (1.0 - lost) * (1.0 - p**2), rel=1e-12)
    how = pf.Fluid(update="continuous", initial=rest, tolerance=1e-6)
    found = pf.simulate(pf.Scenario("0.04s", network=network), how)
    for name in ("queue", "window", "throughput", "link_throughput", "p"):
        values = found[name].to_numpy()
        assert values == pytest.approx(np.broadcast_to(values[0], values.shape), rel=1e-11), name
    rates = found.throughput[0].to_numpy() / (8.0 * PACKET) / [6, 1, 5, 5]
    assert rates == pytest.approx(rest.rate.to_numpy(), rel=1e-11)


def test_links_that_need_not_signal_begin_at_rest_too() -> None:
    """AVQ at all of its capacity; and a buffer is full whatever rounding says of its delay."""
    nodes = [
        pf.Node("a", pf.Link("16Mbit/s", "40000 packets"), pf.Avq()),
        pf.Node("b", pf.Link("5.186Mbit/s", 240), pf.TailDrop()),
    ]
    flows = [
        pf.Flows(pf.Reno(), 4, "54ms", route=("b", "a"), hops=("4ms", "3ms")),
        pf.Flows(pf.Cbr(rate="0.7Mbit/s"), 4, "48ms", route="a", hops="4ms"),
    ]
    network = pf.Network(nodes, flows)
    rest = pf.equilibrium(network)
    assert rest.bottleneck.to_numpy().tolist() == [False, True]
    how = pf.Fluid(update="continuous", initial=rest, tolerance=1e-6)
    found = pf.simulate(pf.Scenario("0.04s", network=network), how)
    for name in ("queue", "window", "throughput", "p"):
        values = found[name].to_numpy()
        assert values == pytest.approx(np.broadcast_to(values[0], values.shape), rel=1e-11), name
    rates = found.throughput[0].to_numpy() / (8.0 * PACKET) / 4.0
    assert rates == pytest.approx(rest.rate.to_numpy(), rel=1e-11)


def test_what_is_not_given_is_as_the_queues_on_the_way_rest() -> None:
    """DCTCP's estimate, of marks at both links, and prices above 1."""
    dctcp, paganini = pf.Dctcp(), pf.Paganini()
    nodes = [
        pf.Node("a", pf.Link("9Mbit/s", "40000 packets"), pf.CoupledPi2()),
        pf.Node("b", pf.Link("8Mbit/s", "40000 packets"), pf.Pi2()),
        pf.Node("c", pf.Link("2Mbit/s", "40000 packets"), pf.Price()),
    ]
    flows = [
        pf.Flows(dctcp, 6, "80ms", route=("a", "b")),
        pf.Flows(dctcp, 3, "40ms", "at a", route="a"),
        pf.Flows(dctcp, 3, "40ms", "at b", route="b"),
        pf.Flows(paganini, 8, "0.4s", route="c"),
    ]
    scenario = pf.Scenario("0.1s", network=pf.Network(nodes, flows))
    rest = pf.equilibrium(scenario.network)
    assert float(rest.controller[2]) > 1.0
    names = rest.queue.link.to_numpy().tolist()
    windows = [state[0] if isinstance(state, tuple) else state for state in rest.states]
    given = begin_links(
        scenario,
        {
            "window": windows,
            "queue": dict(zip(names, rest.queue.to_numpy(), strict=True)),
            "controller": dict(zip(names, rest.controller.to_numpy(), strict=True)),
        },
    )
    for found, wanted in zip(given, begin_links(scenario, rest), strict=True):
        for one, other in zip(found, wanted, strict=True):
            assert one == pytest.approx(other, rel=1e-12)
    assert rest.states[0][1] == pytest.approx(float(rest.p[0]))
    assert float(rest.p[0]) > max(rest.p[1], rest.p[2])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")
def test_prices_of_one_link_come_to_rest() -> None:
    flows = pf.Flows(pf.Paganini(), 8, "40ms", initial_window=2)
    one = pf.Scenario("8s", pf.Link("24Mbit/s", "40000 packets"), pf.Price(), flows)
    how = pf.Fluid(update="continuous", tolerance=1e-5, engine="python")
    found = pf.simulate(one, how)
    rest = pf.equilibrium(one.network)
    assert found.queue_delay.dims == found.controller.dims == ("time",)
    assert float(found.window[-1, 0]) == pytest.approx(rest.window[0], rel=1e-4)
    assert float(found.controller[-1]) == pytest.approx(rest.controller, rel=1e-4)


@pytest.mark.slow
def test_gradients_go_along_paths_of_the_network() -> None:
    path, scenario = "network.nodes.b.link.capacity", scenario_of("two_links", 0.5)

    def queued(found: Any) -> float:
        return float(found.queue.sum("link")[-1])

    slope = pf.fluid.gradient(scenario, queued, path)[path]
    ends = [pf.simulate(replace_path(scenario, path, rate)) for rate in (11.999e6, 12.001e6)]
    assert slope == pytest.approx((queued(ends[1]) - queued(ends[0])) / 2e3, rel=1e-3)
    assert slope < 0.0


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        (pf.Fluid(linear=True, engine="c"), "linear=True is not in the compiled engine"),
        (pf.Fluid(initial={"queue": 5}), "initial queue = 5 is no mapping: give a number by the"),
        (pf.Fluid(initial={"queue": {"c": 5}}), "initial queue has 'c', which is no node"),
        (pf.Fluid(initial=5), "initial = 5 is no rest of several links and no mapping"),
        (
            pf.Fluid(initial={"queue": {"b": 41000}}),
            "initial queue 'b' = 41000 packets is more than the buffer of 40000 holds",
        ),
        (
            pf.Fluid(initial={"controller": {"b": 1.5}}),
            "initial controller 'b' = 1.5 is outside [0, 1]",
        ),
        (
            pf.Fluid(initial={"window": [3]}),
            "initial window has 1 numbers where the scenario",
        ),
    ],
)
def test_what_it_does_not_do_is_said(engine: pf.Engine, said: str) -> None:
    with refused((pf.UnsupportedError, pf.ScenarioError, pf.DomainError), said):
        engine.require(TWO)


def test_dual_queues_of_rates_that_answer_at_once_are_refused() -> None:
    flows = pf.Flows(pf.Paganini(), 5, "80ms")
    one = pf.Scenario(1.0, pf.Link("9Mbit/s", "40000 packets"), pf.DualPi2(), flows)
    with refused(pf.UnsupportedError, "DualPi2 has two queues", "use CoupledPi2, or other senders"):
        pf.Fluid().require(one)


def test_linear_dual_queues_of_ones_own_are_refused() -> None:
    @dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
    class Mine(pf.DualPi2):
        rests_apart: ClassVar = False

    nodes = (TWO.network.nodes[0], pf.Node("b", pf.Link("9Mbit/s", "40000 packets"), Mine()))
    network = dataclasses.replace(TWO.network, nodes=nodes)
    with refused(pf.UnsupportedError, "node 'b' has two queues (Mine)", "use linear=False"):
        pf.Fluid(linear=True).require(dataclasses.replace(TWO, network=network))
