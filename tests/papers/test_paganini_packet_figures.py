"""Figures 5 and 10 of Paganini and others in packets, on an eighth of the link."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.papers.gallery import figure
from pi2_fluid.papers.paganini import joining
from pi2_fluid.papers.paganini.fig05 import farthest
from pi2_fluid.papers.recipe import Case
from pi2_fluid.papers.stated import stated

pytestmark = pytest.mark.slow
PART = 8


def smaller(name: str) -> pf.Scenario:
    """The same windows, an eighth of the flows: more noise, less to compute."""
    scenario = pf.named_scenario(name)
    link = replace(scenario.link, capacity=scenario.link.capacity / PART)
    flows = [replace(flow, count=flow.count / PART) for flow in scenario.flows]
    return replace(scenario, link=link, flows=flows)


@pytest.mark.parametrize("number", [5, 10])
def test_all_that_is_stated_is_found_and_drawn_from_finite_numbers(number: int) -> None:
    recipe = figure("paganini", number).recipe
    case = Case({name: smaller(name) for name in recipe.scenarios()}, 1, {}, quick=True)
    measured = recipe.measure(case)
    assert set(measured.found) == {row.key for row in stated(f"paganini:{number}")}
    assert all(np.shape(values) == (1,) for values in measured.found.values())
    (link,) = measured.tables["link"]
    for values in link.values():
        assert values.shape == (5000,)
        assert np.isfinite(values).all()
    assert np.all(link["price_least_s"] <= link["price_s"])
    assert np.all(link["queue_most_packets"] >= link["queue_packets"])
    for row in measured.tables[""]:
        assert np.isfinite(row["rate_segments_s"]).all()
        late = row["time_s"] > 95
        assert row["rate_segments_s"][late] == pytest.approx(237_500 / 512, rel=0.4)
        assert row["rate_fluid_segments_s"][late] == pytest.approx(237_500 / 512, rel=0.01)
    if number == 5:
        assert measured.found["growth"] == pytest.approx(1.0, abs=0.02)
        assert measured.found["price_grows"] == pytest.approx(2.0, abs=0.1)
    else:
        assert measured.found["most"] / measured.found["least"] == pytest.approx(15.0, rel=0.2)


def test_how_unevenly_a_flow_sends() -> None:
    """By hand: 1 and 3 are 2 on average, one away; of the other flow, of another class, nothing."""
    import xarray as xr

    sent = [[50, 50], [1, 9], [3, 50]]
    dataset = xr.Dataset(
        {"flow_segments": (("block", "flow"), np.array(sent)), "flow_class": ("flow", [0, 1])},
        {"block": [1.0, 2.0, 3.0], "block_start": ("block", [0.0, 1.0, 2.0])},
    )
    assert joining.unevenness(dataset, 1.0, 3.0) == 0.5


def test_the_farthest_ratio_counts_both_ways() -> None:
    assert farthest([1.2, 0.8, 1.1]) == 0.8
    assert farthest([1.2, 0.9]) == 1.2


def test_what_stages_say() -> None:
    scenario = smaller("paganini_fig05")
    found = joining.settled(scenario, joining.run_packets(scenario, 1).isel(seed=0))
    assert [stage.flows for stage in found] == [4, 8, 16, 32, 64]
    for number, stage in enumerate(found):
        assert stage.used == pytest.approx(0.95, abs=0.003)
        assert len(stage.rates) == number + 1
        assert np.mean(stage.rates) == pytest.approx(1.0, abs=0.02)
        assert 0.85 < stage.price / stage.rest < 1.0
        assert stage.marked == pytest.approx(1.0 - 100.0**-stage.price, rel=0.05)
        assert stage.queue < 20.0


def test_a_segment_per_acknowledgement_makes_the_burst() -> None:
    """Without that limit on the rise, much less waits after 256 flows have joined."""
    named = smaller("paganini_fig05")
    most = {}
    for limit in (1.0, 1e3):
        flows = [
            replace(flow, sender=replace(flow.sender, max_increment=limit), start=start)
            for flow, start in zip(named.flows, (0.0, 0.0, 0.0, 0.0, 15.0), strict=True)
        ]
        scenario = replace(named, flows=flows, duration="20s")
        data = pf.simulate(scenario, pf.Packets(seeds=1, bin="20ms")).isel(seed=0)
        most[limit] = PART * float(data.queue.sel(time=slice(14, None)).max())
    assert most[1.0] > 4000.0
    assert most[1e3] < 0.6 * most[1.0]


def test_both_ways_the_queue_is_as_short() -> None:
    """Acknowledgements of 66 bytes wait with data of 1000, and the price counts their bytes."""
    named = smaller("paganini_fig05")
    nodes = [pf.Node(name, named.link, named.aqm) for name in ("there", "here")]
    flows = [
        replace(flow, name=f"{flow.name} {way[0]}", route=way[0], back=way[1])
        for way in (("there", "here"), ("here", "there"))
        for flow in named.flows[:2]
    ]
    scenario = pf.Scenario("32s", network=pf.Network(nodes, flows))
    data = pf.simulate(scenario, pf.Packets(seeds=1, bin="20ms")).isel(seed=0)
    late = data.sel(time=slice(24, None)).mean("time")
    capacity = float(named.link.capacity)
    link = late.link_throughput.sum("flows") / capacity
    assert link.values == pytest.approx(np.full(2, 0.95), abs=0.004)
    for part in (late.throughput[:2], late.throughput[2:]):
        assert float(part.sum()) / capacity == pytest.approx(0.95 / (1 + 66 / 1000), abs=0.004)
    assert float(late.queue.max()) < 10.0
