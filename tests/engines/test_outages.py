"""Links that serve nothing for a while, and capacities of hundreds of steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.errors import DomainError, UnsupportedError

if TYPE_CHECKING:
    import xarray as xr

    from pi2_fluid.values import FloatArray

pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")

OUT, BACK = 2.0, 3.5  # s
DEQUEUED = 1  # of events
OUTAGE = [pf.Change(OUT, capacity=0), pf.Change(BACK, capacity="12Mbit/s")]


def cbr(kind: str, changes: Sequence[pf.Change]) -> pf.Scenario:
    """A packet each 2 ms over a link that takes 1 ms for it."""
    link = pf.Link("12Mbit/s", buffer="10000 packets", kind=kind)
    flows = pf.Flows(pf.Cbr(bitrate="6Mbit/s"), 1, "20ms")
    return pf.Scenario("8s", link, pf.TailDrop(), flows, changes)


def departures(run: xr.Dataset) -> tuple[FloatArray, FloatArray]:
    """When packets entered service, and how long each had waited."""
    one = run.isel(seed=0)
    left = (one.event_what == DEQUEUED).to_numpy()
    return 1e-9 * one.event_time.to_numpy()[left], 1e-9 * one.event_waited.to_numpy()[left]


@pytest.mark.parametrize("kind", ["wire", "htb"])
def test_a_packet_waits_as_long_as_the_link_is_out(kind: str) -> None:
    run = pf.simulate(cbr(kind, OUTAGE), pf.Packets(seeds=1, trace=20_000))
    at, waited = departures(run)
    # In closed form: the k-th packet after the beginning of the outage waits what is left of it,
    # and 1 ms for each of those before it, less the 2 ms by which it came later.
    k = np.arange(1, 500)
    entered = OUT + 2e-3 * k
    wanted = np.maximum(BACK - OUT - 1e-3 * k, 0.0)
    found = np.interp(entered, at - waited, waited)
    np.testing.assert_allclose(found, wanted, atol=2.1e-3)  # one in service, one in store
    assert not ((at > OUT + 2e-3) & (at < BACK - 1e-9)).any()


def test_a_packet_in_service_goes_on_where_it_was_and_an_idle_link_begins_at_once() -> None:
    # Out 0.4 ms after the packet of 2 s entered service: 0.6 ms are left when it comes back.
    changes = [pf.Change(2.0004, capacity=0), pf.Change(2.5, capacity="12Mbit/s")]
    run = pf.simulate(cbr("wire", changes), pf.Packets(seeds=1, trace=20_000))
    at, _ = departures(run)
    assert at[at > 2.0004][0] == pytest.approx(2.5006, abs=2e-9)
    # Again out while it is out, and back for nothing.
    twice = [pf.Change(2.0004, capacity=0), pf.Change(2.2, capacity=0), changes[1]]
    again = pf.simulate(cbr("wire", twice), pf.Packets(seeds=1, trace=20_000))
    assert float(again.throughput.sum()) == float(run.throughput.sum())


@pytest.mark.slow
def test_results_of_an_outage_have_numbers_everywhere() -> None:
    flows = [pf.Flows(pf.Reno(), 3, "40ms"), pf.Flows(pf.Prague(), 1, "20ms")]
    link = pf.Link("12Mbit/s", buffer="200 packets")
    scenario = pf.Scenario("8s", link, pf.DualPi2(), flows, OUTAGE)
    for engine in (pf.Packets(seeds=2), pf.Fluid()):
        run = pf.simulate(scenario, engine)
        assert all(
            np.isfinite(run[name].to_numpy()).all() for name in run if run[name].dtype == float
        )
        out = run.sel(time=slice(OUT + 0.2, BACK - 0.2))
        assert float(out.capacity.max()) == 0.0
        assert float(out.throughput.max()) <= 1.0
        assert float(out.queue_delay.max()) < 200 * 1e-3
        rest = pf.summarize(run, after=OUT + 0.2, until=BACK - 0.2)
        assert float(rest.utilization.max()) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["c", "python"])
def test_windows_of_the_fluid_stand_still_in_an_outage(engine: str) -> None:
    scenario = pf.Scenario(
        "6s", pf.Link("12Mbit/s"), pf.TailDrop(), pf.Flows(pf.Reno(), 5, "40ms"), OUTAGE
    )
    run = pf.simulate(scenario, pf.Fluid(engine=engine, tolerance=1e-8))
    there = run.sel(time=slice(OUT + 0.01, BACK - 0.01))
    for name in ("window", "queue"):
        still = there[name].to_numpy()
        assert np.ptp(still, axis=0).max() < 1e-4 * still.max()


def test_the_constant_rate_of_the_fluid_fills_the_buffer_and_drains_in_closed_form() -> None:
    scenario = cbr("wire", OUTAGE)
    queue = pf.simulate(scenario, pf.Fluid(tolerance=1e-9, sample="10ms")).queue
    arrived, served = 500.0, 1000.0  # packets a second
    t = queue.time.to_numpy()
    most = arrived * (BACK - OUT)
    wanted = np.interp(t, [OUT, BACK, BACK + most / (served - arrived)], [0.0, most, 0.0])
    np.testing.assert_allclose(queue, wanted, atol=1e-3 * (BACK - OUT))  # one bit a second leaves
    packets = pf.simulate(scenario, pf.Packets(seeds=1, bin="10ms")).queue.isel(seed=0)
    middle = np.interp(packets.time - 5e-3, t, wanted)
    np.testing.assert_allclose(packets, middle, atol=1.6)


@pytest.mark.parametrize(("clock", "links"), [("rate", "ab"), ("acks", "a")])
def test_an_outage_is_the_limit_of_ever_less_capacity(clock: str, links: str) -> None:
    def window(rate: float) -> float:
        nodes = [pf.Node(name, pf.Link("12Mbit/s"), pf.TailDrop()) for name in links]
        if clock == "acks":
            nodes = [pf.Node("a", pf.Link("12Mbit/s"), pf.Pi2())]
        flows = pf.Flows(pf.Reno(), 5, "40ms", route=tuple(links))
        changes = [pf.Change(2, capacity=rate, link=links[-1])]
        changes.append(pf.Change(3, capacity="12Mbit/s", link=links[-1]))
        scenario = pf.Scenario("5s", network=pf.Network(nodes, flows), changes=changes)
        return float(pf.simulate(scenario, pf.Fluid(clock=clock)).window[-1, 0])

    off = [abs(window(rate) / window(0.0) - 1.0) for rate in (3e5, 3e3)]
    assert off[1] < 0.01
    assert off[1] < off[0]


@pytest.mark.parametrize("links", ["a", "ab"])
@pytest.mark.parametrize("clock", ["rate", "acks"])
def test_delays_of_a_link_that_is_out_are_of_its_backlog(clock: str, links: str) -> None:
    nodes = [pf.Node(name, pf.Link("1Mbit/s"), pf.Pi2()) for name in links]
    network = pf.Network(nodes, pf.Flows(pf.Reno(), 5, "50ms", route=tuple(links)))
    out = pf.Scenario("0.4s", network=network, changes=pf.Change(0.1, 0.0, link="a"))
    found = pf.simulate(out, pf.Fluid(clock=clock)).isel(time=-1)
    queue, delay = (float(found[name].values.flat[0]) for name in ("queue", "queue_delay"))
    assert queue > 5.0
    assert delay == pytest.approx(queue * 12e3 / 1e6, rel=1e-6)


@pytest.mark.slow
def test_hundreds_of_steps_down_to_a_crawl_are_solved_as_both_bodies_solve_them() -> None:
    # At 10 kbit/s a queue takes a minute: the delayed instant moves a thousand times as fast as
    # time, and is found no nearer than the rounding of the time allows.
    rates = np.random.default_rng(0).uniform(-5e6, 25e6, 40)
    trace = pf.CapacityTrace(0.1 * np.arange(40), np.maximum(rates, 1e4))
    scenario = pf.Scenario(
        "4s", pf.Link("20Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 5, "50ms"), trace.changes("4s")
    )
    found = pf.simulate(scenario, pf.Fluid(tolerance=1e-8))
    python = pf.simulate(scenario, pf.Fluid(tolerance=1e-8, engine="python"))
    np.testing.assert_allclose(python.window, found.window, rtol=1e-3)


def test_who_has_no_outages_says_so() -> None:
    scenario = cbr("htb", OUTAGE)
    with pytest.raises(UnsupportedError, match="nothing rests that could be linearised"):
        pf.simulate(scenario, pf.Fluid(linear=True))
    with pytest.raises(UnsupportedError, match='a link without capacity is not in engine = "c"'):
        pf.fluid.batch(
            pf.Scenario(
                "8s", pf.Link("12Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 2, "40ms"), OUTAGE
            ),
            {"aqm.target": [0.01, 0.02]},
            engine="c",
        )
    with pytest.raises(DomainError, match=r"= 0 bit/s is outside"):
        pf.simulate(scenario, pf.Ns3(seeds=1))
