"""Margins along a schedule: at each instant those of a loop by hand."""

from __future__ import annotations

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.errors import QuantityError, ScenarioError, UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")

FLOWS = [
    pf.Flows(pf.Reno(), 5, "80ms"),
    pf.Flows(pf.Reno(), 10, "60ms", start="10s", stop="35s", name="later"),
]


def scenario(**fields: object) -> pf.Scenario:
    changes = [
        pf.Change(5, capacity="40Mbit/s"),
        pf.Change(20, counts={"later": 2}),
        pf.Change(25, capacity=0),
        pf.Change(30, capacity="5kbit/s"),
        pf.Change(32, capacity="80Mbit/s"),
        pf.Change(37, counts={"reno": 0}),
    ]
    parts = {"duration": "40s", "link": pf.Link("10Mbit/s"), "aqm": pf.Pi2(), "flows": FLOWS}
    return pf.Scenario(**(parts | {"changes": changes} | fields))  # type: ignore[arg-type]


@pytest.mark.parametrize("update", ["sampled", "continuous"])
def test_each_stretch_has_the_margins_of_its_own_loop(update: str) -> None:
    along = pf.margins_along(scenario(), update=update)
    there = {0: (10e6, 5, 0), 5: (40e6, 5, 0), 10: (40e6, 5, 10), 20: (40e6, 5, 2)}
    there |= {32: (80e6, 5, 2), 35: (80e6, 5, 0)}
    without = [25, 30, 37]  # an outage, too little for twelve flows, and nobody
    assert along.time.values.tolist() == sorted([*there, *without])
    wanted = np.full((9, 3), np.nan)
    for row, at in enumerate(along.time.values):
        if at in there:
            capacity, *counts = there[at]
            pairs = zip(counts, ("80ms", "60ms"), strict=True)
            flows = [pf.Flows(pf.Reno(), n, rtt) for n, rtt in pairs if n]
            found = pf.Loop(flows, pf.Pi2(), capacity=capacity, update=update).margins()
            wanted[row] = found.gain_margin_db, found.phase_margin_deg, found.delay_margin
    names = ("gain_margin_db", "phase_margin_deg", "delay_margin")
    np.testing.assert_allclose(np.stack([along[n] for n in names], axis=-1), wanted, rtol=1e-9)
    np.testing.assert_array_equal(along.at_rest, ~np.isnan(wanted[:, 0]))
    lasted = np.diff(np.append(along.time, 40.0))
    np.testing.assert_array_equal(along.duration, lasted)
    rests = along.at_rest.values == 1
    assert float(along.part_at_rest) == pytest.approx(lasted[rests].sum() / 40.0)
    below = lasted[rests & (wanted[:, 0] < 3.0)].sum() / lasted[rests].sum()
    assert 0.0 < below < 1.0
    assert float(along.part_below) == pytest.approx(below)
    assert float(pf.margins_along(scenario(), update=update, least_db=99).part_below) == 1.0


@pytest.mark.slow
def test_a_trace_of_hundreds_of_steps_is_as_many_loops() -> None:
    rates = np.random.default_rng(3).uniform(1e6, 3e7, 300)
    trace = pf.CapacityTrace(0.1 * np.arange(300), rates)
    flows = [pf.Flows(pf.Cubic(), 2, "40ms"), pf.Flows(pf.Prague(), 2, "20ms")]
    along = pf.margins_along(scenario(aqm=pf.DualPi2(), flows=flows, changes=trace.changes("40s")))
    for row in (0, 7, 150, 299):
        one = pf.Loop(flows, pf.DualPi2(), capacity=rates[row], update="sampled").margins()
        assert float(along.gain_margin_db[row]) == pytest.approx(float(one.gain_margin_db))
    assert float(along.duration[-1]) == pytest.approx(40.0 - 29.9)


def test_without_flows_that_obey_signals_there_is_no_loop() -> None:
    flows = pf.Flows(pf.Cbr(bitrate="1Mbit/s"), 1)
    along = pf.margins_along(scenario(flows=flows, changes=()))
    assert (float(along.part_at_rest), float(along.part_below)) == (0.0, 0.0)


def test_what_has_no_margins_along_it_is_refused() -> None:
    with pytest.raises(ScenarioError, match="is no Scenario"):
        pf.margins_along(3)  # type: ignore[arg-type]
    with pytest.raises(QuantityError, match="update"):
        pf.margins_along(scenario(), update="often")
    with pytest.raises(UnsupportedError, match="random loss, which loops do not know"):
        pf.margins_along(scenario(link=pf.Link("10Mbit/s", loss=0.01)))
    with pytest.raises(UnsupportedError, match="loops do not know paths that change"):
        pf.margins_along(scenario(changes=pf.Change(5, base_rtt={"reno": "80ms"})))
    nodes = [pf.Node(name, pf.Link("10Mbit/s"), pf.Pi2()) for name in ("a", "b")]
    network = pf.Network(nodes, pf.Flows(pf.Reno(), 5, "50ms", route=("a", "b")))
    with pytest.raises(UnsupportedError, match="margins along a schedule are of one"):
        pf.margins_along(pf.Scenario("9s", network=network))
