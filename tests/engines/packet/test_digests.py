"""What fifteen scenarios count, to the last packet: nothing in the simulator drifts unseen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import write_digests

import pi2_fluid as pf

ROOT = Path(__file__).resolve().parents[3]


SCENARIOS = write_digests.scenarios()
STORED = json.loads(write_digests.FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_packets_count(name) -> None:
    """Counts are whole, and the same on every machine: see docs/packets.md, "Time, chance"."""
    assert write_digests.digest(SCENARIOS[name]) == STORED[name], (
        "packets do something else than before: if that is meant, CONTRIBUTING.md says what to do"
    )


def test_every_kind_of_sender_and_queue_is_among_them() -> None:
    """And what only some scenarios disturb: marks, timeouts, steps, jitter, both kinds of link."""
    assert set(STORED) == set(SCENARIOS)
    assert len(SCENARIOS) == 15
    aqms = {type(scenario.aqm) for scenario in SCENARIOS.values()}
    assert aqms == {
        pf.Pi, pf.Pie, pf.Pi2, pf.CoupledPi2, pf.DualPi2, pf.CoDel, pf.Red, pf.TailDrop,
        pf.Price, pf.Rem, pf.Avq,
    }  # fmt: skip
    flows = [flow for scenario in SCENARIOS.values() for flow in scenario.flows]
    senders = {type(flow.sender) for flow in flows}
    assert senders == {
        pf.Reno, pf.CReno, pf.Cubic, pf.Dctcp, pf.Prague, pf.Scalable, pf.Cbr, pf.Paganini,
    }  # fmt: skip
    assert {flow.delayed_ack for flow in flows} == {True, False}
    assert any(flow.finite for flow in flows)
    assert {scenario.link.kind for scenario in SCENARIOS.values()} == {"wire", "htb"}
    assert any(scenario.changes for scenario in SCENARIOS.values())
    assert any(flow.start_jitter > 0.0 for flow in flows)
    for counted in ("drops", "marks", "retransmissions", "timeouts"):
        assert sum(numbers[counted] > 0 for numbers in STORED.values()) >= 2
