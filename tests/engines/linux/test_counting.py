"""A log, counted: that of a real run against the kernel's own counters, and made ones by hand."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.engines.linux.counting import count_log
from pi2_fluid.engines.linux.reader import DROPPED, FLOW, PACKET, QUEUE, QUEUED, Log, read_log

STORED = Path(__file__).parents[2] / "data" / "linux_log"
LINK = pf.Link("4Mbit/s", "30 packets", kind="htb")
FLOWS = (
    pf.Flows(pf.Reno(), 2, "20ms", ecn=True, start_jitter="100ms"),
    pf.Flows(pf.Cubic(), 1, "40ms", start_jitter="100ms"),
)
# The run was a little longer than 1.2 s.
SCENE = pf.Scenario("1.3s", LINK, pf.Pie(arithmetic="fixed", ecn=True), FLOWS)
TIMES = [(0, 0.0, 2.4), (0, 0.0, 2.4), (1, 0.0, 2.4)]
BIN = 100_000_000
ECT1, ECT0, CE = 1, 2, 3


@pytest.fixture(scope="module")
def log() -> Log:
    return read_log(STORED)


@pytest.fixture(scope="module")
def counted(log):
    return count_log(log, SCENE, "pie", TIMES, BIN)


def packets(*rows: tuple[int, int, int, int, int]) -> np.ndarray:
    """Return packets of 1500 bytes: us, flow, ECN bits there and behind, us in the queue."""
    made = np.zeros(len(rows), PACKET)
    for row, (t, flow, before, behind, waited) in zip(made, rows, strict=True):
        row["t"], row["flow"], row["ecn_in"], row["ecn_out"] = t, flow, before, behind
        row["sojourn_high"], row["sojourn"] = divmod(1000 * waited, 2**32)
        row["bytes"] = 1500
    return made


def count(scenario: pf.Scenario, kind: str, rows: np.ndarray, length: int = 10_000_000):
    queue = np.zeros(20, QUEUE)
    queue["t"] = 0.002 * np.arange(1, 21)
    times = [(k, 0.0, 1.0) for k in range(len(scenario.flows))]
    return count_log(Log(rows, queue, np.zeros(0, FLOW)), scenario, kind, times, length)


def small(aqm: pf.Aqm, **fields: object) -> pf.Scenario:
    flows = (pf.Flows(pf.Cubic(), 1, "10ms"), pf.Flows(pf.Dctcp(), 1, "10ms"))
    return pf.Scenario("40ms", dataclasses.replace(LINK, **fields), aqm, flows)


# --- a real run --------------------------------------------------------------------------------


def test_what_is_counted_is_what_the_qdisc_counts(log, counted) -> None:
    last, totals = log.queue[-1], counted["totals"]
    drops = totals["drop_aqm"] + totals["drop_full"]
    assert drops.sum() == last["drops"] == counted["legs"]["drops"].sum()
    # Of its 16 own counters of 32 bits: what PIE dropped, and what found the queue full.
    own = last["own"][:40].view("<u4")
    assert totals["drop_full"].sum() == own[7]
    assert drops.sum() == own[6]  # of either cause
    assert totals["mark_aqm"].sum() == own[9]
    control = log.packets[log.packets["bytes"] < 200]
    assert totals["sent"].sum() == len(log.packets) - len(control)
    assert (totals["sent"] == totals["delivered"] + drops + totals["queued"]).all()


def test_rows_add_up_to_the_totals(counted) -> None:
    legs, totals = counted["legs"], counted["totals"]
    assert (legs["arrivals"].sum(axis=0) == totals["sent"]).all()
    assert (legs["departures"].sum(axis=0) == totals["delivered"]).all()
    assert (legs["marks"].sum(axis=0) == totals["mark_aqm"]).all()
    assert counted["delays"].sum() == counted["segments"].sum() == totals["delivered"].sum()
    assert counted["block"] == 1


def test_the_kernels_backlog_is_what_the_taps_saw(log, counted) -> None:
    """Both ways to know it, over bins of 50 readings: within half a packet."""
    from pi2_fluid.engines.linux.counting import _levels, _packets

    ends = np.arange(1, 14) * BIN
    owners = np.array([owner for owner, _, _ in TIMES])
    seen, _ = _levels(_packets(log, SCENE, "pie", owners, 1_300_000_000), ends)
    assert counted["bands"]["bytes"][:12, 0] == pytest.approx(seen[:12], abs=750.0)
    assert counted["bands"]["bytes"].max() > 20_000.0


def test_it_makes_a_dataset_like_that_of_other_engines(counted) -> None:
    from pi2_fluid.results.runs import runs_dataset
    from pi2_fluid.results.schema import RUNS, provenance

    runs = runs_dataset(SCENE, {7: counted}, BIN, [0, 0], provenance(SCENE, "linux", RUNS, []))
    simulated = pf.simulate(SCENE, pf.Packets(seeds=[7]))
    assert set(runs.data_vars) == set(simulated.data_vars)
    for name, variable in runs.data_vars.items():
        assert variable.dims == simulated[name].dims
    # Three flows in slow start against a full link, in either: a few tenths apart.
    assert float(runs.throughput.sum("flows").mean()) == pytest.approx(
        float(simulated.throughput.sum("flows").mean()), rel=0.1
    )


# --- made by hand ------------------------------------------------------------------------------


def test_a_packet_is_counted_when_it_comes_and_when_it_goes() -> None:
    found = count(small(pf.TailDrop()), "pfifo", packets((9_000, 0, 0, 0, 12_000)))
    assert found["legs"]["arrivals"][:, 0].tolist() == [1, 0, 0, 0]
    assert found["legs"]["departures"][:, 0].tolist() == [0, 0, 1, 0]
    assert found["legs"]["sojourn"][2, 0] == 12e6
    assert found["legs"]["bits"][2, 0] == 12_000


def test_delays_of_many_seconds_are_not_cut() -> None:
    long = dataclasses.replace(small(pf.TailDrop()), duration="20s")
    found = count(long, "pfifo", packets((0, 0, 0, 0, 9_000_000)), 10**10)
    assert found["legs"]["sojourn"][0, 0] == 9e9


def test_a_packet_that_came_with_ce_was_not_marked_here() -> None:
    rows = packets((1_000, 0, ECT0, CE, 500), (2_000, 0, CE, CE, 500), (3_000, 1, CE, CE, 500))
    found = count(small(pf.Pie(ecn=True)), "pie", rows)
    assert found["legs"]["marks"].sum(axis=0).tolist() == [1, 0]
    assert found["totals"]["mark_aqm"].tolist() == [1, 0]
    assert found["legs"]["departures"].sum(axis=0).tolist() == [2, 1]


def test_what_is_dropped_at_dequeue_waits_until_the_next_one_leaves() -> None:
    rows = packets((1_000, 0, 0, DROPPED, 0), (2_000, 0, 0, 0, 20_000), (30_000, 0, 0, QUEUED, 0))
    late = count(small(pf.DualPi2(drop_at="dequeue")), "dualpi2", rows)
    assert late["legs"]["drops"][:, 0].tolist() == [0, 0, 1, 0]
    soon = count(small(pf.DualPi2(drop_at="enqueue")), "dualpi2", rows)
    assert soon["legs"]["drops"][:, 0].tolist() == [1, 0, 0, 0]
    codel = count(small(pf.CoDel()), "codel", rows)
    assert codel["legs"]["drops"][:, 0].tolist() == [0, 0, 1, 0]
    assert late["totals"]["queued"].tolist() == [1, 0]


def test_bands_are_told_by_what_the_router_makes_of_the_ecn_bits() -> None:
    """ECT(0) of DCTCP is rewritten behind the tap; its packets that are sent again have none."""
    rows = packets(
        (0, 0, ECT0, ECT0, 10_000), (0, 1, ECT0, ECT1, 20_000), (0, 1, 0, 0, 40_000)
    )  # fmt: skip
    found = count(small(pf.DualPi2()), "dualpi2", rows)
    assert found["bands"]["bytes"].tolist() == [
        [3000, 1500], [1500, 1500], [1500, 0], [1500, 0],
    ]  # fmt: skip
    assert found["bands"]["square"][0].tolist() == [3000**2, 1500**2]


def test_marks_of_the_step_are_those_that_waited_longer() -> None:
    rows = packets((0, 1, ECT0, CE, 999), (0, 1, ECT0, CE, 1_001), (0, 0, ECT0, CE, 5_000))
    totals = count(small(pf.DualPi2(step="1ms")), "dualpi2", rows)["totals"]
    assert totals["mark_aqm"].tolist() == [1, 1]
    assert totals["mark_step"].tolist() == [0, 1]


def test_drops_of_a_full_queue_are_told_from_those_of_the_law() -> None:
    waiting = [(k, 0, 0, 0, 30_000) for k in range(30)]
    rows = packets((0, 0, 0, DROPPED, 0), *waiting, (50, 0, 0, DROPPED, 0))
    totals = count(small(pf.Pie()), "pie", rows)["totals"]
    assert totals["drop_aqm"].tolist() == [1, 0]
    assert totals["drop_full"].tolist() == [1, 0]


def test_windows_are_of_those_who_are_there_and_last_until_the_next_word() -> None:
    said = np.zeros(3, FLOW)
    said["t"], said["flow"], said["window"] = [0.02, 0.02, 0.04], [0, 1, 1], [10, 20, 30]
    queue = np.zeros(1, QUEUE)
    scene = dataclasses.replace(small(pf.TailDrop()), flows=pf.Flows(pf.Reno(), 2, "10ms"))
    times = [(0, 0.0, 0.025), (0, 0.0, 1.0)]
    found = count_log(Log(packets(), queue, said), scene, "pfifo", times, 10_000_000)["classes"]
    assert found["window"][:, 0].tolist() == [0, 15, 15, 30]
    assert found["flows"][:, 0] == pytest.approx([2.0, 2.0, 1.5, 1.0])


def test_the_laws_variable_is_that_at_the_end_of_the_bin() -> None:
    queue = np.zeros(20, QUEUE)
    queue["t"] = 0.002 * np.arange(1, 21)
    queue["own"][:, 3] = np.arange(1, 21)  # of p' the upper byte
    log = Log(packets(), queue, np.zeros(0, FLOW))
    found = count_log(log, small(pf.DualPi2()), "dualpi2", [(0, 0.0, 1.0), (1, 0.0, 1.0)], 10**7)
    u = np.array([5, 10, 15, 20]) / 256.0
    assert found["bins"]["controller"][:, 0] == pytest.approx(u)
    assert found["bins"]["classic"][:, 0] == pytest.approx(u**2)
    assert found["bins"]["scalable"][:, 0] == pytest.approx(2.0 * u)
