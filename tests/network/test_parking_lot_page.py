"""The page on the parking lot: its examples print what it says."""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import fsolve

import pi2_fluid as pf

PAGE = (Path(__file__).parents[2] / "docs" / "parking_lot.md").read_text(encoding="utf-8")
PROSE = " ".join(PAGE.split())


@pytest.mark.slow
def test_the_examples_print_what_stands_below_them() -> None:
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 3
    space = {"pf": pf}
    for code, printed in blocks:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(code, space)
        assert out.getvalue() == printed


def test_utilities_give_nearly_the_same_rates() -> None:
    network = pf.named_scenario("parking_lot").network
    rest, routing = pf.equilibrium(network), network.routing_matrix.to_numpy()
    count = np.array([flow.count for flow in network.flows])
    capacity = np.array([node.link.capacity / 12e3 for node in network.nodes])

    def rates(log_price: np.ndarray) -> np.ndarray:
        return np.sqrt(2.0 / (routing.T @ np.exp(log_price))) / rest.rtt.to_numpy()

    price = fsolve(lambda x: np.log(routing @ (count * rates(x)) / capacity), np.log([0.01] * 3))
    one, *others = (f"{rate:.1f}" for rate in rates(price))
    assert f"would give {one}, {', '.join(others[:-1])} and {others[-1]}" in PROSE


def test_first_in_first_out_is_not_pure_delay() -> None:
    network = pf.named_scenario("parking_lot").network
    fifo, delay = (
        pf.Loop(network, rtt_terms="exact", transport=transport).margins().gain_margin
        for transport in ("fifo", "delay")
    )
    assert f"gain margin of {fifo:.3f} so, and of {delay:.3f} with" in PROSE


@pytest.mark.slow
def test_packets_part_from_the_fluid_by_what_the_page_says() -> None:
    """Without drops, too, and with four times as many of everything: the long class has less."""
    scenario = pf.named_scenario("parking_lot")
    constants, shares = {}, {}
    for ecn, times in ((False, 1), (True, 1), (False, 4)):
        nodes = [
            replace(
                node,
                link=replace(node.link, capacity=times * node.link.capacity),
                aqm=pf.Pi2(alpha=node.aqm.alpha, beta=node.aqm.beta, ecn=ecn),  # type: ignore[attr-defined]
            )
            for node in scenario.network.nodes
        ]
        flows = [replace(flow, ecn=ecn, count=times * flow.count) for flow in scenario.flows]
        network = pf.Network(nodes, flows)
        runs = pf.simulate(pf.Scenario("60s", network=network), pf.Packets(seeds=4))
        found = pf.summarize(runs, after="12s").mean("seed")
        rate = (found.throughput / 12e3 / runs.flow_count).to_numpy()
        p = found.drop_fraction_of + found.mark_fraction_of
        p = (1.0 - (1.0 - p.where(found.place > 0, 0.0)).prod("link")).to_numpy()
        waits = found.delay_mean_of.where(found.place > 0, 0.0).sum("link").to_numpy()
        rtt = np.array([flow.base_rtt for flow in flows]) + waits
        constants[ecn, times] = found.window_mean.to_numpy() * p**0.5, rate * rtt * p**0.5
        shares[ecn, times] = rate / pf.equilibrium(network).rate.to_numpy()
    windows, rates = constants[False, 1]
    assert f"is {windows[0]:.2f} (long) to {windows.max():.2f} (over c)" in PROSE
    assert f"is {rates[0]:.2f} for the long class" in PROSE
    assert f"{rates[1:].min():.2f} to {rates.max():.2f} for the others" in PROSE
    long = {case: share[0] for case, share in shares.items()}
    assert long[True, 1] == pytest.approx(long[False, 1], abs=0.01)
    assert f"it has {100 * (1 - long[False, 4]):.0f} % less still" in PROSE


@pytest.mark.slow
def test_renos_constant_falls_with_its_window_in_one_queue_too() -> None:
    said = []
    for window in (7.7, 14.0, 28.0):
        flows = pf.Flows(pf.Reno(), 40, "80ms", ecn=True)
        link = pf.Link(40 * window / 0.1 * 12e3, 40_000)
        scenario = pf.Scenario("60s", link, pf.Pi2(ecn=True), flows)
        found = pf.summarize(pf.simulate(scenario, pf.Packets(seeds=3)), after="12s").mean("seed")
        rate = float(found.throughput.item()) / 12e3 / 40
        number = rate * (0.08 + float(found.delay_mean)) * float(found.mark_fraction) ** 0.5
        said.append(f"{number:.2f} at {found.window_mean.item():.0f}")
    one, two, three = said
    assert f"with marks {one} segments, {two}, {three}" in PROSE
