"""The guest's log: one of a real run, read.

Recorded from Linux 7.2.13 in virtual time: 1.2 s at 4 Mbit/s, a buffer of 30 packets under PIE that
marks, two flows of Reno with ECN over 20 ms and one of Cubic without over 40 ms, seed 1.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.engines.linux.reader import (
    DROPPED,
    FLOW,
    PACKET,
    QUEUE,
    QUEUED,
    controller,
    fates,
    read_log,
)

STORED = Path(__file__).parents[2] / "data" / "linux_log"
CE = 3


@pytest.fixture(scope="module")
def log():
    return read_log(STORED)


def test_records_have_the_sizes_that_the_guest_writes() -> None:
    assert (PACKET.itemsize, QUEUE.itemsize, FLOW.itemsize) == (16, 112, 32)


def test_packets_and_the_kernels_own_counters_agree(log) -> None:
    """The taps beside the queue and the qdisc count independently of one another."""
    fate = fates(log.packets, np.zeros(len(log.packets), int))
    last = log.queue[-1]
    assert int((fate == DROPPED).sum()) == last["drops"] == 62
    assert int((fate == QUEUED).sum()) == last["packets_waiting"] == 15
    left = log.packets[fate < QUEUED]
    arp, bytes_of_arp = 1, 42  # which the qdisc counts and taps for IP leave out
    assert len(left) == last["packets"] - arp
    assert int(left["bytes"].sum()) == last["bytes"] - bytes_of_arp
    waiting = log.packets[fate == QUEUED]
    assert int(waiting["bytes"].sum()) == last["bytes_waiting"]


def test_what_is_marked_could_be_marked(log) -> None:
    packets = log.packets
    marked = (packets["ecn_out"] == CE) & (packets["ecn_in"] != CE)
    assert marked.any()
    assert set(packets["flow"][marked]) <= {0, 1}  # the flows that ask for ECN
    assert set(packets["ecn_in"][packets["flow"] == 2]) == {0}


def test_the_queue_is_read_every_2_ms_and_delays_are_its_backlog(log) -> None:
    assert np.diff(log.queue["t"]) == pytest.approx(0.002, abs=1e-6)
    # Of 3 ms each: 29 packets before the last one that finds room, and what is left of a slot.
    assert 29 * 3e-3 < log.packets["sojourn"].max() * 1e-9 <= 30 * 3e-3
    assert log.queue["packets_waiting"].max() == 30


def test_pie_computes_from_half_a_second_on_every_15_ms(log) -> None:
    p = controller("pie", log.queue)
    changes = log.queue["t"][1:][np.diff(p) != 0.0]
    assert 0.5 <= changes[0] <= 0.52
    assert np.diff(changes) == pytest.approx(0.015, abs=0.0021)  # as the counters are read
    assert 0.0 < p[-1] < 1.0


def test_of_dualpi2_the_first_word_is_its_probability(log) -> None:
    own = np.zeros(1, QUEUE)
    own["own"][0, :8] = [0, 0, 0, 64, 255, 255, 255, 255]
    assert controller("dualpi2", own) == [0.25]
    assert np.isnan(controller("codel", log.queue)).all()


def test_a_late_packet_is_dropped_only_if_its_own_band_went_on() -> None:
    packets = np.zeros(4, PACKET)
    packets["t"] = [10, 20, 30, 40]
    packets["ecn_out"] = [QUEUED, 1, QUEUED, QUEUED]
    assert fates(packets, np.array([0, 0, 0, 0])).tolist() == [DROPPED, 1, QUEUED, QUEUED]
    assert fates(packets, np.array([1, 0, 1, 0])).tolist() == [QUEUED, 1, QUEUED, QUEUED]


def test_flows_say_what_they_have_sent(log) -> None:
    assert set(log.flows["flow"]) == {0, 1, 2}
    for flow in range(3):
        own = log.flows[log.flows["flow"] == flow]
        assert (np.diff(own["acknowledged"].astype(np.int64)) >= 0).all()
        connected = own["srtt"] > 0
        assert connected[1:].all()
        assert (own["srtt"][connected] >= (20_000, 20_000, 40_000)[flow]).all()
    delivered = int(log.flows["acknowledged"][-3:].sum())
    assert 0 < delivered <= int(log.queue["bytes"][-1])


def test_a_log_that_ends_too_early_is_refused(tmp_path) -> None:
    with pytest.raises(pf.SolverError, match=r"the guest left no out\.pkt"):
        read_log(tmp_path)
    for file in STORED.iterdir():
        shutil.copy(file, tmp_path)
    cut = tmp_path / "out.q"
    cut.write_bytes(cut.read_bytes()[:-1])
    with pytest.raises(pf.SolverError, match=r"out\.q has 67311 bytes, and its records 112 each"):
        read_log(tmp_path)
