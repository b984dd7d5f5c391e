"""Figures 5 and 10 of Paganini and others in packets: their files, on an eighth of the link."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.papers.paganini import fig05_packets, fig10, joining

pytestmark = pytest.mark.slow
PART = 8


@pytest.fixture(autouse=True)
def smaller(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The same windows, an eighth of the flows: more noise, less to compute."""
    named = pf.named_scenario

    def scaled(name: str) -> pf.Scenario:
        scenario = named(name)
        link = replace(scenario.link, capacity=scenario.link.capacity / PART)
        flows = [replace(flow, count=flow.count / PART) for flow in scenario.flows]
        return replace(scenario, link=link, flows=flows)

    cached = (joining.run, joining.run_fluid)
    for each in cached:
        each.cache_clear()
    monkeypatch.setattr(pf, "named_scenario", scaled)
    yield
    for each in cached:
        each.cache_clear()


def test_pictures_and_numbers(tmp_path: Path) -> None:
    for module, name in ((fig05_packets, "paganini_fig05_packets"), (fig10, "paganini_fig10")):
        files = module.draw(tmp_path)
        assert {path.name for path in files} == {
            f"{name}.{ending}" for ending in ("png", "svg", "pdf", "csv")
        }
        with (tmp_path / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 5 * 5000
        assert np.isfinite([float(row["price_s"]) for row in rows]).all()


def test_what_stages_say() -> None:
    found = joining.stages("paganini_fig05")
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
    named = pf.named_scenario("paganini_fig05")
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
    named = pf.named_scenario("paganini_fig05")
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
