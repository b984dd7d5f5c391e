"""What several tools recorded of the same time: ping, iperf3 and tc beside each other.

The files were made on Linux 6.18 by the commands of docs/measured.md: Cubic through htb 20mbit and
pfifo 100, 12 s, with ``date +%s.%N; tc -s qdisc show dev b1`` twice a second.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.measured.dataset import Measurement, samples_of

TOGETHER = Path(__file__).parents[1] / "data" / "measured_together"
PING, TC, IPERF = (TOGETHER / name for name in ("ping.txt", "tc.log", "iperf3.json"))


def test_samples_keep_their_dates() -> None:
    joined = pf.measured.join(PING, TC, IPERF)
    assert joined.attrs["format"] == "ping, tc_log, iperf3"
    for file, variable in ((PING, "delay"), (TC, "bytes"), (IPERF, "throughput")):
        alone = pf.measured.read(file)
        label = str(alone[alone[variable].dims[1]].to_numpy()[-1])
        times, values = samples_of(alone, variable, label)
        moved, same = samples_of(joined, variable, label)
        start = alone.attrs["start"] - joined.attrs["start"]
        np.testing.assert_allclose(moved, times + start, atol=1e-6)
        np.testing.assert_array_equal(same, values)
    assert json.loads(joined.attrs["about"])["senders"] == {"stream 5 (cubic)": "cubic"}


def test_what_bears_one_name_is_told_apart() -> None:
    joined = pf.measured.join(PING, PING)
    assert [str(probe) for probe in joined.probe.to_numpy()] == [
        "ping 10.77.2.2",
        "ping 10.77.2.2 (2)",
    ]
    first, second = joined.delay.to_numpy().T
    np.testing.assert_array_equal(first, second)


def test_one_alone_is_itself() -> None:
    assert pf.measured.join(PING).equals(pf.measured.read(PING))


def test_times_that_are_no_dates_do_not_fit() -> None:
    loose = Measurement("mine")
    loose.add("delay", "a", [0.0, 1.0], [0.01, 0.02])
    with pytest.raises(pf.QuantityError, match="times of mine are no dates"):
        pf.measured.join(PING, loose.to_dataset())


def test_another_day_does_not_fit() -> None:
    later = Measurement("mine", clock="unix")
    later.add("delay", "a", [2e9, 2e9 + 1.0], [0.01, 0.02])
    with pytest.raises(pf.QuantityError, match=r"mine begins .* s after .*ping.txt has ended"):
        pf.measured.join(PING, later.to_dataset())
    with pytest.raises(pf.QuantityError, match="nothing to join"):
        pf.measured.join()


def test_tc_says_at_its_end_what_the_queue_was_set_to() -> None:
    said = json.loads(pf.measured.read(TC).attrs["about"])["tc_after"]
    assert said.count("qdisc pfifo 2: parent 1:1 limit 100p") > 1
    assert len(said) <= 16_384
    described = pf.scenario_of(pf.measured.join(IPERF, PING, TC), capacity="20Mbit/s")
    assert described.scenario.link.buffer == 100.0
    assert isinstance(described.scenario.aqm, pf.TailDrop)
    assert "buffer" in described.said


def test_a_backlog_over_what_is_sent_is_a_delay() -> None:
    """The referee is ping: the path takes 0.06 ms, so that all it takes is this queue."""
    (queue,) = [one for one in pf.diagnose([PING, TC, IPERF]) if one.kind == "queue"]
    assert queue.told
    assert queue.text == "The delay is in this queue: 53.4 ms of 53.9 ms above the path."


@pytest.mark.slow
def test_packets_have_the_queue_of_linux() -> None:
    """Goodput and round trips of ping within 1 %, one packet time of 0.6 ms at most."""
    joined = pf.measured.join(IPERF, PING, TC)
    described = pf.scenario_of(joined, capacity="20Mbit/s")
    table = pf.compare(described, pf.Packets(seeds=4), joined)
    off = table.relative.sel(engine="packet")
    for name in ("throughput.stream 5 (cubic)", "delay_mean", "delay_p50", "delay_p95"):
        assert abs(float(off.sel(name=name))) < 0.012, name
