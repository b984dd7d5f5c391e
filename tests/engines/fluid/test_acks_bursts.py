"""Bursts that gather by acknowledgements, which neither queues nor margins show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf


@pytest.mark.slow
def test_bursts_gather_by_a_part_of_a_window_a_round_trip() -> None:
    """Classes exchange packets between ln(1 + 1/W)/R of the slowest and the fastest, unseen."""
    link = pf.Link("20Mbit/s", 40_000)
    nodes = [pf.Node(name, link, pf.Pi2(drop_at="dequeue", ecn=True)) for name in ("a", "b")]
    paths = {"40ms": ("a", "b"), "30ms": ("a",), "60ms": ("b",)}
    flows = [pf.Flows(pf.Reno(), 8, path, path, ecn=True, route=paths[path]) for path in paths]
    network = pf.Network(nodes, flows)
    rest = pf.equilibrium(network)
    start: dict[str, Any] = {"window": (np.array(rest.window) * [1.0 + 1e-4, 1.0, 1.0]).tolist()}
    for name in ("queue", "controller"):
        start[name] = dict(zip("ab", map(float, getattr(rest, name)), strict=True))

    def growth(step: str) -> tuple[float, float]:
        run = pf.fluid.simulate(
            pf.Scenario("4s", network=network), clock="acks", initial=start, step=step, sample="2ms"
        )
        away = run.throughput.transpose("time", "flows").to_numpy() - np.array(rest.rate) * 8 * 12e3
        sizes = [np.abs(away[500 * t : 500 * (t + 1)]).max() for t in (1, 3)]
        delay = run.queue_delay.to_numpy()[1500:]
        return float(np.log(sizes[1] / sizes[0]) / 2.0), float(np.ptp(delay, axis=0).max())

    (rate, delay), (finer, _) = growth("0.5ms"), growth("0.25ms")
    each = np.log1p(1.0 / np.array(rest.window)) / np.array(rest.rtt)
    assert each.min() < rate < each.max()
    assert rate == pytest.approx(finer, rel=0.02)
    assert delay < 1e-3
    for terms in ("frozen", "exact"):
        margins = pf.Loop(network, clock="acks", update="sampled", rtt_terms=terms).margins()
        assert margins.gain_margin_db > 6.0
        assert margins.verdict == "stable"
