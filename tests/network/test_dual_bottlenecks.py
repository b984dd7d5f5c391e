"""Where networks of dual queues rest: as one dual queue, and as the fluid ends."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from networks import two_dual_links
from refusals import refused

import pi2_fluid as pf

CLASSES = [pf.Flows(pf.Reno(), 5, "40ms"), pf.Flows(pf.Scalable(), 3, "20ms")]


def routed(flows: list[pf.Flows], *route: str) -> list[pf.Flows]:
    return [dataclasses.replace(each, route=route) for each in flows]


def wide_and_narrow(queue: pf.DualPi2, flows: list[pf.Flows]) -> pf.Network:
    nodes = [
        pf.Node("wide", pf.Link("300Mbit/s"), pf.DualPi2()),
        pf.Node("b", pf.Link("30Mbit/s"), queue),
    ]
    return pf.Network(nodes, routed(flows, "wide", "b"))


ALONE = [pf.Flows(pf.Scalable(), 3, "20ms"), pf.Flows(pf.Cbr(rate="1Mbit/s", thinned=False))]


@pytest.mark.parametrize(
    ("queue", "flows"),
    [
        (pf.DualPi2(), CLASSES),
        (pf.DualPi2(), CLASSES[:1]),
        (pf.DualPi2(ramp="400us"), ALONE),
        # its own marking would let L4S packets wait for longer than the target
        (pf.DualPi2(step="20ms"), ALONE),
    ],
    ids=["both", "Classic", "L4S", "L4S at the target"],
)
def test_one_dual_queue_that_matters_is_that_queue(queue, flows) -> None:
    alone = pf.equilibrium(flows, queue, "30Mbit/s")
    point = pf.equilibrium(wide_and_narrow(queue, flows))
    assert point.bottleneck.to_numpy().tolist() == [False, True]
    assert point.signalling.to_numpy().tolist() == [False, True]
    at = point.controller.sel(link="b"), point.queue_delay.sel(link="b"), point.queue.sel(link="b")
    controller, delay, packets = map(float, at)
    assert controller == pytest.approx(alone.controller, rel=1e-10)
    l4s_delay = float(point.l4s_delay.sel(link="b"))
    assert (delay, l4s_delay) == pytest.approx(alone.queue_delay, rel=1e-10)
    assert packets == pytest.approx(alone.queue, rel=1e-10)
    for name in ("p", "window", "rtt", "rate"):
        assert getattr(point, name).to_numpy() == pytest.approx(getattr(alone, name), rel=1e-10)
    assert float(point.waiting_delay.sel(link="b")) == max(delay, l4s_delay)
    assert not point.l4s_delay.sel(link="wide")


@pytest.mark.slow
def test_two_dual_links_rest_where_the_fluid_ends() -> None:
    """Solved in time, by other code: L4S flows through both links, and through one."""
    network = two_dual_links()
    point = pf.equilibrium(network)
    assert point.bottleneck.all()
    assert point.broken == ()
    assert {name: unit for name, _, unit in point.rows()}["L4S queue delay"] == "s"
    scenario = pf.Scenario("14s", network=network)
    end = pf.fluid.simulate(scenario, update="sampled", tolerance=1e-6).isel(time=-1)
    # what is left of the slowest mode, 1.4/s: e^-20
    assert end.window.to_numpy() == pytest.approx(point.window.to_numpy(), rel=1e-7)
    assert end.controller.to_numpy() == pytest.approx(point.controller.to_numpy(), rel=1e-7)
    waits = np.column_stack([point.queue_delay, point.l4s_delay])
    assert end.queue_delay.to_numpy() == pytest.approx(waits, abs=1e-9)
    backlog = end.queue.sum("band").to_numpy()
    assert backlog == pytest.approx(point.queue.to_numpy(), rel=1e-7)
    stays = pf.fluid.simulate(dataclasses.replace(scenario, duration="500ms"), initial=point)
    assert np.ptp(stays.window.to_numpy(), axis=0) == pytest.approx(0.0, abs=1e-9)


def test_l4s_flows_at_a_rest_of_their_own_wait_in_their_queue() -> None:
    """Begun where the ramp holds them, the fluid stays there."""
    network = wide_and_narrow(pf.DualPi2(ramp="400us"), ALONE[:1])
    point = pf.equilibrium(network)
    run = pf.fluid.simulate(pf.Scenario("300ms", network=network), initial=point)
    waits = run.queue_delay.sel(link="b", band="L").to_numpy()
    assert waits == pytest.approx(float(point.l4s_delay.sel(link="b")), rel=1e-6)


def test_a_step_that_is_never_reached_is_no_reason_to_refuse() -> None:
    """L4S traffic alone at a link that is not full, or not there at all."""
    point = pf.equilibrium(wide_and_narrow(pf.DualPi2(ramp="400us"), ALONE[:1]))
    assert not point.bottleneck.sel(link="wide")
    with refused(pf.UnsupportedError, "marks L4S traffic alone by a step"):
        pf.equilibrium(wide_and_narrow(pf.DualPi2(), ALONE[:1]))


def test_protected_traffic_is_said_to_be_so() -> None:
    """L4S flows would take 95 % of a link that keeps 10 % for Classic packets."""
    flows = [pf.Flows(pf.Reno(), 1, "200ms"), pf.Flows(pf.Scalable(), 8, "20ms")]
    nodes = [pf.Node(name, pf.Link("30Mbit/s"), pf.DualPi2()) for name in "ab"]
    both = [*routed(flows, "a"), *routed(flows, "b")]
    with pytest.warns(pf.AssumptionWarning, match="more than c_protection leaves it"):
        point = pf.equilibrium(pf.Network(nodes, both))
    assert point.broken == ("protection",)
