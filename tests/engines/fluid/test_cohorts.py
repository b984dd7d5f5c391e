"""Flows that start one after the other, each with its own window."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.engines.fluid.cohorts import split_starts


def late(count: float, rtt: str, jitter: str, **fields: Any) -> pf.Flows:
    return pf.Flows(fields.pop("sender", pf.Reno()), count, rtt, start_jitter=jitter, **fields)


@pytest.mark.parametrize("rounds", [1.0, 3.0, 8.0])
def test_slow_start_of_many_that_start_at_even_times(rounds):
    """Every window doubles once in a round trip since its own start: an integral in closed form.

    After the last start the mean of 2**age over ages from 0 to n round trips is
    (2**n - 1)/(n ln 2). Copies of the first flow would have 2**n, a hundred times as much for 10.
    """
    flows = late(40, "100ms", f"{0.1 * rounds}s", initial_window=10, start="1s")
    scenario = pf.Scenario(2.2, pf.Link("1Tbit/s", "40000 packets"), pf.Pi2(), flows)
    result = pf.fluid.simulate(scenario, sample=0.1)
    at = {"time": 1.0 + 0.1 * rounds + 0.1, "method": "nearest"}
    mean = 10 * 2 * (2**rounds - 1) / (rounds * math.log(2.0))
    # Ten ages at the middles of their tenths: the midpoint rule, by its error term and a bit.
    error = 1.1 * (rounds * math.log(2.0) / 10) ** 2 / 24
    assert float(result.window.sel(**at)[0]) == pytest.approx(mean, rel=error)
    rate = 40 * mean / 0.1 * 12000
    assert float(result.throughput.sel(**at)[0]) == pytest.approx(rate, rel=error)
    before = result.window.sel(time=slice(0, 0.95))
    assert (before == 10).all()
    assert float(result.throughput.sel(time=0.9, method="nearest")[0]) == 0.0


def test_a_class_is_the_sum_of_its_tenths():
    """The same flows, written down by hand as ten classes, with changes of load and capacity."""
    changes = [pf.Change(2.5, capacity="6Mbit/s"), pf.Change(3, counts={"web": 15})]
    steady = pf.Flows(pf.CReno(), 4, "50ms", name="steady")
    whole = pf.Scenario(
        5,
        pf.Link("10Mbit/s", "40000 packets"),
        pf.Pi2(),
        [late(5, "80ms", "1s", name="web"), steady],
        changes,
    )
    tenths = [pf.Flows(pf.Reno(), 0.5, "80ms", start=0.05 + 0.1 * k) for k in range(10)]
    names = ["reno", *(f"reno{k}" for k in range(2, 11))]
    joined = pf.Change(3, counts=dict.fromkeys(names, 1.5))
    parts = pf.Scenario(
        5, pf.Link("10Mbit/s", "40000 packets"), pf.Pi2(), [*tenths, steady], [changes[0], joined]
    )
    one, ten = (pf.fluid.simulate(s, sample=0.1, step=0.02) for s in (whole, parts))
    assert one.flows.to_numpy().tolist() == ["web", "steady"]
    for name in ("queue_delay", "controller"):
        np.testing.assert_allclose(one[name], ten[name], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.throughput[:, 0], ten.throughput[:, :10].sum("flows"), rtol=1e-9)
    np.testing.assert_allclose(one.throughput[:, 1], ten.throughput[:, 10], rtol=1e-9)
    np.testing.assert_allclose(one.p[:, 0], ten.p[:, 3], rtol=1e-9)
    later = slice(10, None)
    mean = ten.window[:, :10].mean("flows")
    np.testing.assert_allclose(one.window[later, 0], mean[later], rtol=1e-9)


@pytest.mark.parametrize(
    ("sender", "aqm"), [(pf.Scalable(), pf.CoupledPi2()), (pf.Reno(), pf.Pi2())]
)
@pytest.mark.parametrize("count", [5, 20, 80])
def test_a_start_up_overshoots_about_as_in_packets(sender, aqm, count):
    """0.8 to 3.5 times the median of four seeds, not at the end of the buffer of 4.8 s.

    A fluid has no loss that ends a flow's slow start within a round trip: it overshoots more.
    """
    flows = late(count, "20ms", "1s", sender=sender)
    scenario = pf.Scenario(5, pf.Link("100Mbit/s", "40000 packets"), aqm, flows)
    peak = float(pf.fluid.simulate(scenario, tolerance=1e-6).queue_delay.max())
    packets = pf.packet.simulate(scenario, seeds=4, bin="32ms").queue_delay.max("time")
    assert 0.8 < peak / float(packets.median()) < 3.5


def test_what_stays_whole():
    """Traffic without window, and flows that are there already."""
    udp = pf.Flows(pf.Cbr(rate="1Mbit/s"), 3, start_jitter="1s")
    scenario = pf.Scenario(
        5, pf.Link("10Mbit/s", "40000 packets"), pf.Pi2(), [udp, late(5, "50ms", "1s")]
    )
    split = split_starts(scenario)
    assert split.origin == (0, *[1] * 10)
    assert split.scenario.flows[0].start_jitter == 1.0
    assert sum(flow.count for flow in split.scenario.flows[1:]) == pytest.approx(5.0)
    there = pf.Scenario(5, pf.Link("10Mbit/s", "40000 packets"), pf.Pi2(), late(5, "50ms", "1s"))
    rest = pf.equilibrium(there.flows, there.aqm, "10Mbit/s")
    assert len(pf.fluid.simulate(there, initial=rest).flows) == 1


def test_many_classes_have_fewer_cohorts():
    flows = [late(2, f"{20 + k}ms", "1s") for k in range(30)]
    scenario = pf.Scenario(3, pf.Link("100Mbit/s", "40000 packets"), pf.Pi2(), flows)
    assert len(split_starts(scenario).scenario.flows) == 90
    assert pf.fluid.simulate(scenario, sample=0.5, tolerance=1e-4).sizes["flows"] == 30
