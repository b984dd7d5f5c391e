"""What links do to packets: lose them at random, send several as one; and paths that change."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.errors import DomainError, ScenarioError, UnsupportedError

if TYPE_CHECKING:
    import xarray as xr

    from pi2_fluid.values import FloatArray

pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")

DEQUEUED, LOST = 1, 4  # of events


def events(run: xr.Dataset, what: int, name: str) -> FloatArray:
    one = run.isel(seed=0)
    return one[f"event_{name}"].to_numpy()[(one.event_what == what).to_numpy()]


# --- random loss ------------------------------------------------------------------------------


@pytest.mark.parametrize(("loss", "burst"), [(0.02, None), (0.02, 6.0), (0.3, 2.0), (0.5, 2.0)])
def test_losses_have_the_share_and_the_length_that_gilbert_gives_them(
    loss: float, burst: float | None
) -> None:
    link = pf.Link("120Mbit/s", loss=loss, loss_burst=burst)
    flows = pf.Flows(pf.Cbr(bitrate="60Mbit/s"), 1, "20ms")
    run = pf.simulate(
        pf.Scenario("10s", link, pf.TailDrop(), flows), pf.Packets(seeds=1, trace=200_000)
    )
    counted = run["count"].isel(seed=0).sum("flows")
    n, lost = int(counted.sel(cause="sent")), np.sort(events(run, LOST, "segment").astype(int))
    assert lost.size == int(counted.sel(cause="lost"))
    # A chain of two states remembers 1 - a - b of one packet at the next: its sums vary by
    # (1 + memory)/(1 - memory) times what those of independent draws do (Kemeny and Snell).
    length = burst or 1.0 / (1.0 - loss)
    memory = 1.0 - 1.0 / length - loss / (length * (1.0 - loss))
    deviation = np.sqrt(loss * (1.0 - loss) * (1.0 + memory) / (1.0 - memory) / n)
    assert abs(lost.size / n - loss) < 4.0 * deviation
    bursts = np.split(lost, np.flatnonzero(np.diff(lost) > 1) + 1)
    lengths = np.array([len(each) for each in bursts])
    # Geometric: of that mean, and a standard deviation sqrt(B (B - 1)).
    room = 4.0 * np.sqrt(length * (length - 1.0) / lengths.size)
    assert abs(lengths.mean() - length) < room
    if burst is None:  # as long as chance makes them, and no longer
        share = np.mean(lengths > 1)
        assert abs(share - loss) < 4.0 * np.sqrt(loss * (1.0 - loss) / lengths.size)


@pytest.mark.slow
@pytest.mark.parametrize("loss", [0.01, 0.002])
def test_reno_under_random_loss_has_the_window_of_the_square_root_law(loss: float) -> None:
    # Without queue: 1.22/sqrt(p) where losses come evenly (Mathis, Semke, Mahdavi, Ott 1997),
    # 1.31/sqrt(p) where they come at random (Ott, Kemperman, Mathis 1996). At 1 % timeouts and
    # whole segments take a part of it.
    flows = pf.Flows(pf.Reno(), 4, "50ms", delayed_ack=False)
    scenario = pf.Scenario("300s", pf.Link("200Mbit/s", loss=loss), pf.TailDrop(), flows)
    run = pf.summarize(pf.simulate(scenario, pf.Packets(seeds=2)), after=20)
    window = float(run.window_mean.mean())
    assert 1.1 < window * np.sqrt(loss) < 1.4
    rate = float(run.throughput.mean()) / (4 * 12_000)  # segments a second of a flow
    assert rate == pytest.approx(window / 0.05, rel=0.05)


def test_lost_acknowledgements_are_forgotten() -> None:
    # As acknowledgements cross a link that loses a fifth, flows go on all the same.
    nodes = [
        pf.Node("down", pf.Link("12Mbit/s"), pf.Pi2()),
        pf.Node("up", pf.Link("1Mbit/s", loss=0.2, loss_burst=3), pf.TailDrop()),
    ]
    flows = pf.Flows(pf.Reno(), 3, "40ms", route="down", back="up")
    scenario = pf.Scenario("10s", network=pf.Network(nodes, flows))
    run = pf.simulate(scenario, pf.Packets(seeds=1))
    assert float(run["count"].sel(cause="lost", link="up").sum()) > 100
    assert float(run.throughput.sel(time=slice(5, None)).mean()) > 6e6


# --- several packets as one -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({}, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ({"aggregate": 4}, [0, 1, 1, 1, 1, 5, 5, 5, 5, 9]),
        ({"aggregate": 4, "aggregate_time": "3ms"}, [0, 1, 1, 1, 4, 4, 4, 7, 7, 7]),
        ({"aggregate_time": "5.5ms"}, [0, 1, 1, 1, 1, 1, 6, 6, 6, 6]),
        ({"aggregate_time": "1us"}, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ],
)
def test_a_first_window_leaves_in_aggregates(fields: dict[str, Any], wanted: list[int]) -> None:
    # Ten packets at once at a link that takes 1 ms for each: the first finds it idle.
    link = pf.Link("12Mbit/s", ack_jitter=0, **fields)
    flows = pf.Flows(pf.Reno(), 1, "300ms", slow_start=False)
    scenario = pf.Scenario("500ms", link, pf.TailDrop(), flows)
    run = pf.simulate(scenario, pf.Packets(seeds=1, trace=100))
    left = events(run, DEQUEUED, "time")
    first = left[left > 0.2e9][:10]
    np.testing.assert_allclose((first - first[0]) / 1e6, wanted, atol=1e-6)


def test_aggregates_carry_as_much_and_make_the_delay_of_one_of_them() -> None:
    def answered(**fields: Any) -> tuple[float, float]:
        flows = pf.Flows(pf.Reno(), 10, "20ms")
        link = pf.Link("24Mbit/s", **fields)
        run = pf.simulate(pf.Scenario("12s", link, pf.Pi2(), flows), pf.Packets(seeds=1))
        told = pf.summarize(run, after=4)
        return float(told.utilization.mean()), float(told.delay_mean.mean())

    alone, together = answered(), answered(aggregate=32)
    assert together[0] == pytest.approx(alone[0], abs=0.02)
    assert 0.5 * alone[1] < together[1] < 2.0 * alone[1]


# --- paths that change ------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["return", "forward", "split"])
def test_round_trips_are_those_of_the_new_path(where: str) -> None:
    # A transfer of one segment takes two round trips, and 1 ms of each packet of 1500 bytes.
    link = pf.Link("12Mbit/s", delay_on=where, ack_jitter=0)
    flows = [
        pf.Transfers(pf.Reno(), 1, "40ms", size=pf.Fixed(1), idle="50ms", name=name)
        for name in ("moved", "stays")
    ]
    change = pf.Change(10, base_rtt={"moved": "100ms"})
    run = pf.simulate(pf.Scenario("20s", link, pf.TailDrop(), flows, change), pf.Packets(seeds=1))
    one = run.isel(seed=0)
    for number, after in ((0, 0.2), (1, 0.08)):
        mine = (one.transfer_class == number).to_numpy()
        begun, took = one.transfer_start.to_numpy()[mine], one.transfer_time.to_numpy()[mine]
        assert np.median(took[begun < 9.5]) == pytest.approx(0.08, abs=3e-3)
        late = took[(begun > 10.5) & (took > 0.0)]
        assert np.median(late) == pytest.approx(after, abs=3e-3)


@pytest.mark.parametrize("where", ["return", "forward", "split"])
def test_a_shorter_path_overtakes_nothing(where: str) -> None:
    link = pf.Link("60Mbit/s", buffer="5000 packets", delay_on=where)
    flows = pf.Flows(pf.Reno(), 5, "100ms", initial_window=60, slow_start=False)
    changes = [
        pf.Change(2.0 + 0.3 * k, base_rtt={"reno": ("5ms", "100ms")[k % 2]}) for k in range(9)
    ]
    scenario = pf.Scenario("5s", link, pf.TailDrop(), flows, changes)
    run = pf.simulate(scenario, pf.Packets(seeds=1))
    # Whoever sees a gap in its segments sends one again.
    assert int(run["count"].sel(cause="drop_full").sum()) == 0
    assert int(run.retransmissions.sum()) == 0
    assert float(run.throughput.sel(time=slice(1, None)).sum("flows").min()) > 0.0


# --- all at once ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("number", range(12))
def test_no_packet_comes_from_nowhere_or_goes_astray(number: int) -> None:
    rng = np.random.default_rng(number)
    kind = ("wire", "htb")[number % 2]
    together = {} if kind == "htb" else {"aggregate": int(rng.integers(1, 40))}
    last = pf.Link(
        f"{rng.uniform(2, 20):.3f}Mbit/s",
        buffer=int(rng.integers(5, 200)),
        kind=kind,
        delay_on=("return", "forward", "split")[number % 3],
        loss=rng.uniform(0.001, 0.1),
        loss_burst=(None, 3.0)[number // 6],
        **together,
    )
    nodes = [
        pf.Node("first", pf.Link("15Mbit/s", loss=0.01), pf.Pi2()),
        pf.Node("last", last, pf.DualPi2()),
        pf.Node("back", pf.Link("2Mbit/s", loss=0.02), pf.TailDrop()),
    ]
    flows = [
        pf.Flows(pf.Cubic(), 2, "30ms", route=("first", "last"), hops=("5ms", "5ms"), back="back"),
        pf.Flows(pf.Prague(), 1, "20ms", route="last"),
        pf.Flows(pf.Cbr(bitrate="500kbit/s"), 1, "10ms", route=("first", "last")),
    ]
    changes = [
        pf.Change(1, capacity=0, link="last"),
        pf.Change(1.7, capacity="8Mbit/s", link="last"),
        pf.Change(2, base_rtt={"cubic": "120ms", "prague": "5ms"}),
        pf.Change(3, capacity=0, link="first"),
        pf.Change(3.1, capacity="9Mbit/s", base_rtt={"prague": "50ms"}, link="first"),
        pf.Change(4.2, capacity=0, link="last"),
    ]
    scenario = pf.Scenario("4.5s", network=pf.Network(nodes, flows), changes=changes)
    run = pf.simulate(scenario, pf.Packets(seeds=[number]))
    count = run["count"]
    marks = count.sel(cause=["mark_aqm", "mark_step"]).sum("cause")
    rest = count.sum("cause") - count.sel(cause="sent") - marks
    np.testing.assert_array_equal(rest, count.sel(cause="sent"))
    assert float(count.sel(cause="lost").sum()) > 0
    # The same numbers give the same bytes.
    np.testing.assert_array_equal(pf.simulate(scenario, pf.Packets(seeds=[number]))["count"], count)
    assert pf.Scenario.from_toml(scenario.to_toml()) == scenario


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"loss": 1}, r"loss = 1 is outside \[0, 0.99\]"),
        ({"loss": "-1%"}, r"loss = '-1%' is outside"),
        ({"loss_burst": 3}, "loss = 0 loses none"),
        ({"loss": 0.9, "loss_burst": 2}, "give 9 or more, or less loss"),
        ({"loss": 0.1, "loss_burst": 0.5}, r"loss_burst = 0.5 is outside \[1, inf\)"),
        ({"aggregate": 0.5}, r"aggregate = 0.5 is outside \[1, inf\)"),
        ({"aggregate": 2, "kind": "htb"}, 'give kind = "wire", or leave both out'),
        ({"aggregate_time": "4ms", "kind": "htb"}, 'give kind = "wire", or leave both out'),
    ],
)
def test_links_that_cannot_be(fields: dict[str, Any], said: str) -> None:
    with pytest.raises((DomainError, ScenarioError), match=said):
        pf.Link("10Mbit/s", **fields)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"base_rtt": {"cubic": "50ms"}}, "base_rtt 'cubic', which is no class of flows"),
        ({"base_rtt": {"reno": "5ms"}}, "is less than its hops together, 15ms: raise it"),
        ({"base_rtt": "50ms"}, 'base_rtt = .50ms. is no mapping: give e.g. {"reno": "80ms"}'),
        ({"base_rtt": {"reno": "-5ms"}}, "outside"),
        ({"base_rtt": {}}, "changes nothing: give capacity, counts of flows, or base_rtt"),
    ],
)
def test_paths_that_cannot_be(change: dict[str, Any], said: str) -> None:
    nodes = [pf.Node(name, pf.Link("10Mbit/s"), pf.Pi2()) for name in ("a", "b")]
    flows = pf.Flows(pf.Reno(), 1, "50ms", route=("a", "b"), hops=("5ms", "10ms"))
    with pytest.raises((DomainError, ScenarioError), match=said):
        pf.Scenario("9s", network=pf.Network(nodes, flows), changes=pf.Change(5, **change))


def test_who_does_not_know_losses_detours_or_aggregates_says_so() -> None:
    flows, queue = pf.Flows(pf.Reno(), 2, "40ms"), pf.Pie()
    detour = pf.Change(5, base_rtt={"reno": "80ms"})
    lossy = pf.Link("12Mbit/s", loss=0.01)
    packed = pf.Link("12Mbit/s", aggregate=8)
    cases = {
        "random loss": pf.Scenario("9s", lossy, queue, flows),
        "paths that change": pf.Scenario("9s", pf.Link("12Mbit/s"), queue, flows, detour),
        "together": pf.Scenario("9s", packed, queue, flows),
    }
    for (said, scenario), engine in product(cases.items(), (pf.Fluid(), pf.Ns3(), pf.Linux())):
        if said == "together" and isinstance(engine, pf.Fluid):
            run = pf.simulate(scenario, engine)
            assert "link.aggregate" in run.attrs["not_modelled"]
        else:
            with pytest.raises(UnsupportedError, match=said):
                pf.simulate(scenario, engine)
    with pytest.raises(UnsupportedError, match="random loss, which operating points and loops do"):
        pf.equilibrium(cases["random loss"].network)
    with pytest.raises(UnsupportedError, match="random loss, which operating points and loops do"):
        pf.Loop(cases["random loss"].network)
