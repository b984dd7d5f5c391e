"""Figures 6 to 9 of Paganini and others, and what a part of a link must keep."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.papers.gallery import figure
from pi2_fluid.papers.paganini import newreno, newreno_page
from pi2_fluid.papers.stated import stated

ROOT = Path(__file__).parents[2]
SMALL = 1 / 32


def both_of(number: int) -> pf.Scenario:
    return pf.named_scenario(f"paganini_fig{number:02d}")


# --- a part of the links --------------------------------------------------------------------


@pytest.mark.parametrize("number", [6, 7, 9])  # of 8 the loop says little
def test_a_part_is_the_same_loop(number: int) -> None:
    """In the mean: windows, delays and gains are those of the whole, with fewer packets."""
    whole, half = (
        newreno.one_way(newreno.scaled(both_of(number), part)).network for part in (1.0, 0.5)
    )
    rest, of_half = pf.equilibrium(whole), pf.equilibrium(half)
    assert of_half.queue == pytest.approx(0.5 * rest.queue, rel=1e-9)
    assert of_half.window == pytest.approx(rest.window, rel=1e-9)
    frequency = 2j * np.pi * np.geomspace(0.01, 3.0, 20)
    loop, of_part = (pf.Loop(network, rtt_terms="exact")(frequency) for network in (whole, half))
    # A step of the average leaves 1 - weight: of twice the weight a little more than twice as much.
    np.testing.assert_allclose(of_part, loop, rtol=2e-3)


def test_pi_acts_on_the_length_of_the_queue_whatever_the_part() -> None:
    aqm: Any = newreno.scaled(both_of(9), 0.25).network.nodes[0].aqm
    link = newreno.scaled(both_of(9), 0.25).network.nodes[0].link
    assert aqm.per_packet == pytest.approx(8 * link.packet_size / link.capacity)
    assert aqm.target == both_of(9).network.nodes[0].aqm.target  # type: ignore[attr-defined]


def test_a_part_of_a_virtual_queue_is_as_long() -> None:
    network = newreno.scaled(both_of(8), 0.25).network
    virtual: Any = network.nodes[0].aqm
    whole: Any = both_of(8).network.nodes[0].aqm
    assert virtual.holds_at_most == 0.25 * whole.holds_at_most == 1250
    assert network.nodes[0].link.capacity == 5e8


def test_no_other_queue_is_scaled() -> None:
    nodes = [pf.Node("a", pf.Link("1Gbit/s"), pf.CoDel())]
    other = pf.Scenario("1s", network=pf.Network(nodes, pf.Flows(pf.Reno(), 2, "40ms")))
    with pytest.raises(pf.UnsupportedError, match="CoDel is no queue whose share"):
        newreno.scaled(other, 0.5)


def test_one_way_has_the_flows_of_one_way() -> None:
    alone = newreno.one_way(both_of(6))
    assert [flow.count for flow in alone.flows] == [32, 32, 64, 128, 256]
    assert all(flow.back is None for flow in alone.flows)
    assert alone.link == both_of(6).network.nodes[0].link


# --- what is drawn --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("number", newreno.QUEUES)
def test_all_that_is_stated_is_found(number: int, monkeypatch) -> None:
    monkeypatch.setattr(newreno_page, "CLAIMED", SMALL)
    made = figure("paganini", number, quick=True)
    assert set(made.measured.found) == {row.key for row in stated(made.name)}
    both, alone = made.measured.tables["stages"]
    assert (both["line"], alone["line"]) == ("both ways", "one way")
    assert both["part"] == SMALL
    used = made.measured.tables[""][0]["utilization"]
    assert used.shape == (100,)
    assert np.all(used <= 1.0)


@pytest.mark.slow
def test_means_are_of_the_second_halves_of_the_stages() -> None:
    found = newreno.run(9, SMALL)
    for k, (used, waiting) in enumerate(zip(found.used, found.waiting, strict=True)):
        late = (found.time > 40 * k + 20) & (found.time < 40 * k + 40)
        assert np.count_nonzero(late) == 10
        assert found.utilization[late].mean() == pytest.approx(used, rel=1e-9)
        assert found.queue[late].mean() == pytest.approx(waiting, rel=1e-9)


@pytest.mark.slow
def test_what_claims_say_of_whole_links() -> None:
    """Of the first stage, which is a fifth of the run and a thirtieth of its packets."""
    both = both_of(9)
    first = [flow for flow in both.flows if flow.start == 0.0]
    scenario = pf.Scenario("40s", network=pf.Network(both.network.nodes, first))
    runs = pf.simulate(scenario, pf.Packets(seeds=1)).isel(seed=0, link=0)
    used = (runs.link_throughput.sum("flows") / runs.capacity).sel(time=slice(20.05, 40))
    assert float(used.mean()) == pytest.approx(newreno.WHOLE_PI, abs=0.04)
    assert "under PI about 70 %" in newreno._low_at_low_load().why


def test_thresholds_are_those_of_both_ways() -> None:
    other = newreno.with_thresholds(both_of(6), (5.0, 20.0))
    assert [(node.aqm.min, node.aqm.max) for node in other.network.nodes] == [(5, 20)] * 2  # type: ignore[attr-defined]
    assert other.network.flows == both_of(6).network.flows


@pytest.mark.slow
def test_the_page_says_of_whole_links_what_parts_say_of_queues() -> None:
    """Its table, near what an eighth of the links has: the queue, which scales, within a half."""
    page = (ROOT / "docs" / "paganini.md").read_text(encoding="utf-8")
    for number, name in newreno.QUEUES.items():
        (row,) = re.findall(rf"^\| {name} \|(.*)\|$", page, re.MULTILINE)
        used, queue, *_ = ([float(number) for number in cell.split()] for cell in row.split("|"))
        part = newreno.run(number, newreno.CLAIMED)
        # Fewer flows leave as much idle, or more. Each of the two numbers is of one run, and under
        # AVQ runs of four flows differ by 0.012 (standard deviation of six seeds).
        assert used[0] / 100 > part.used[0] - 2 * 0.012
        assert queue[-1] == pytest.approx(part.waiting[-1], rel=0.6)
        assert queue[-1] > 1.5 * queue[0]
        assert queue[-1] == max(queue) or name == "AVQ"  # of which the page says so
