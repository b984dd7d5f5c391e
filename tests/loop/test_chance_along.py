"""What chance adds along a schedule, and the ribbon that pictures draw of it."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import pi2_fluid as pf
from pi2_fluid.loop.chance_along import delay_sd_along, ribbon
from pi2_fluid.plot import draw_trajectory

FLOWS = [pf.Flows(pf.Reno(), 10, "40ms", "reno"), pf.Flows(pf.Reno(), 5, "20ms", "more", start=20)]
TIME = np.array([0.0, 10.0, 19.0, 20.0, 29.0, 30.0, 39.0, 45.0])


def scenario(**changes: object) -> pf.Scenario:
    later = [pf.Change("30s", capacity="80Mbit/s"), pf.Change("40s", capacity=0)]
    link = pf.Link("40Mbit/s", 4_000)
    return pf.Scenario("50s", link, changes.get("aqm", pf.Pi2()), FLOWS, later)


@pytest.mark.slow
def test_each_stage_has_the_noise_of_its_own_loop() -> None:
    """By acknowledgements, with cuts that vary; nothing where nothing is served."""
    (found,) = delay_sd_along(scenario(), TIME, 0.02).values()

    def of(rate: str, flows: list[pf.Flows]) -> float:
        alone = [pf.Flows(f.sender, f.count, f.base_rtt, f.name) for f in flows]
        model = {"capacity": rate, "update": "sampled", "clock": "acks"}
        return float(pf.Loop(alone, pf.Pi2(), **model).delay_sd("20ms", cuts="varied"))

    first, both, faster = of("40Mbit/s", FLOWS[:1]), of("40Mbit/s", FLOWS), of("80Mbit/s", FLOWS)
    expected = [first, first, first, both, both, faster, faster]
    assert found[:-1] == pytest.approx(expected, rel=1e-6)
    assert np.isnan(found[-1])


def test_nothing_is_said_of_what_is_not_derived() -> None:
    assert delay_sd_along(scenario(aqm=pf.Red(min=5, max=50)), TIME) == {}


@pytest.mark.slow
def test_a_network_has_a_ribbon_for_each_queue() -> None:
    nodes = [pf.Node(n, pf.Link(r, 4_000), pf.Pi2()) for n, r in (("a", 15e6), ("b", 12e6))]
    flows = [
        pf.Flows(pf.Reno(), 6, "80ms", "both", route=("a", "b")),
        pf.Flows(pf.Reno(), 8, "60ms", "last", route="b"),
        pf.Flows(pf.Reno(), 5, "40ms", "first", route="a"),
    ]
    network = pf.Network(nodes, flows)
    found = delay_sd_along(pf.Scenario("20s", network=network), TIME)
    expected = pf.Loop(network, update="sampled").delay_sd(cuts="varied")
    assert set(found) == {"a", "b"}
    for link, sd in found.items():
        assert sd == pytest.approx(np.full(TIME.size, float(expected.sel(link=link))))


def test_a_ribbon_lies_about_the_rest_alone_and_not_below_0() -> None:
    delay = np.array([0.3, 0.02, 0.021, 0.0, 0.002])
    low, high = ribbon(delay, np.array([0.004, 0.004, np.nan, 0.004, 0.01]), 0.02)
    np.testing.assert_allclose(low, [np.nan, 0.016, np.nan, np.nan, 0.0])
    np.testing.assert_allclose(high, [np.nan, 0.024, np.nan, np.nan, 0.012])


def test_it_is_drawn_and_named_once() -> None:
    figure = Figure()
    axes = figure.subplots(3, 1)
    time, line = np.linspace(0.0, 1.0, 5), np.full(5, 0.02)
    curves = {"a": line, "b": line}
    ends = dict.fromkeys(curves, (line - 0.004, line + 0.004))
    draw_trajectory(axes, time, curves, {"x": 1e6 * line}, 1e6 * line, {"u": line}, None, ends)
    ribbons = axes[0].collections
    assert len(ribbons) == 2
    assert axes[0].get_legend_handles_labels()[1].count("± by chance") == 1
    heights = ribbons[0].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((16.0, 24.0))
