"""Where loops by the ack clock end, and which of their harmonics have an echo of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.loop.acks import find_echoes, without_echoes
from pi2_fluid.loop.crossovers import find_crossings

pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")

PART = 0.8  # of the lowest harmonic that is left out


def reach_of(flows, aqm):
    """The reach of a loop, and the round-trip times of its classes, queues included (s)."""
    loop = pf.Loop(flows, aqm, capacity="50Mbit/s", clock="acks")
    return without_echoes(loop.linear).reach, [float(cls.rtt) for cls in loop.linear.classes]


def test_in_one_queue_a_loop_ends_below_the_harmonic_of_the_shortest_path():
    """From there on its classes swing against one another, however long the others are."""
    flows = [pf.Flows(pf.Reno(), 5, base) for base in ("20ms", "60ms", "100ms")]
    reach, rtts = reach_of(flows, pf.Pi2())
    assert reach == pytest.approx(PART * 2.0 * np.pi / min(rtts))
    assert reach < PART * 2.0 * np.pi / 0.035


def test_in_two_queues_a_loop_ends_below_the_lowest_harmonic_of_the_l4s_flows():
    flows = [
        pf.Flows(pf.Reno(), 5, "30ms"),
        *(pf.Flows(pf.Scalable(), 5, base) for base in ("10ms", "60ms")),
    ]
    reach, rtts = reach_of(flows, pf.DualPi2())
    assert reach == pytest.approx(PART * 2.0 * np.pi / max(rtts[1:]))


def test_where_both_are_left_out_it_ends_below_the_lower_of_them():
    """L4S flows of 80 ms beside Classic flows of two short paths."""
    flows = [
        *(pf.Flows(pf.Reno(), 5, base) for base in ("10ms", "20ms")),
        pf.Flows(pf.Scalable(), 5, "80ms"),
    ]
    reach, rtts = reach_of(flows, pf.DualPi2())
    assert min(rtts[:2]) < 0.5 * rtts[2]
    assert reach == pytest.approx(PART * 2.0 * np.pi / rtts[2])


@pytest.mark.slow
@pytest.mark.parametrize("away", [3e-3, 3e-4])
def test_a_harmonic_near_a_multiple_of_the_update_frequency_has_an_echo_of_its_own(away):
    """Only where it is one, to rounding, can updates not tell it from the loop's own modes."""
    flows = [pf.Flows(pf.Reno(), 10, "80ms"), pf.Flows(pf.Scalable(), 10, "31ms")]
    capacity = {"capacity": "50Mbit/s", "clock": "acks"}
    rtt = float(pf.Loop(flows, pf.DualPi2(), **capacity).linear.classes[1].rtt)
    law = pf.DualPi2(update_interval=0.5 * rtt * (1.0 + away))
    loop = pf.Loop(flows, law, update="sampled", **capacity)
    ((first, second),) = find_echoes(loop.linear, "sampled", 2).T
    assert np.isfinite(first)
    assert second.imag == pytest.approx(4.0 * np.pi / rtt, rel=0.05)
    exact = pf.DualPi2(update_interval=0.5 * rtt)
    same = find_echoes(pf.Loop(flows, exact, update="sampled", **capacity).linear, "sampled", 2)
    assert np.isnan(same[1, 0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("counts", "paths", "capacity", "within", "left_out"),
    [
        ((32, 14), (107.39008, 35.519043), 574.95477e6, 0.645, -1.916),
        ((22, 72), (47.828027, 34.496878), 111.94645e6, 0.49, 1.53),
        ((10, 10), (36.6, 36.6), 50e6, 8.83, 8.82),
    ],
)
def test_what_echoes_that_fold_onto_the_crossover_cost(counts, paths, capacity, within, left_out):
    """The numbers of docs/theory_acks.md: gain margins with echoes and without, at one crossing."""
    classes = zip((pf.Reno(), pf.Scalable()), counts, paths, strict=True)
    flows = [pf.Flows(sender, count, 1e-3 * path) for sender, count, path in classes]
    law = pf.DualPi2(update_interval="12.09ms")
    loop = pf.Loop(flows, law, capacity=capacity, update="sampled", clock="acks").linear
    whole, part = (
        find_crossings(one, "sampled").phase
        for one in (replace(loop, echoing=True), without_echoes(loop))
    )
    first = max(part, key=lambda crossing: crossing.gain)
    nearest = min(whole, key=lambda crossing: abs(np.log(crossing.w / first.w)))
    assert -20.0 * np.log10(first.gain) == pytest.approx(left_out, abs=0.005)
    assert -20.0 * np.log10(nearest.gain) == pytest.approx(within, abs=0.005)
