"""What a measurement says of rate, path, queue and flows, and what is assumed instead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.measured.changes_said import changes_of
from pi2_fluid.measured.dataset import Measurement
from pi2_fluid.measured.evenly import sent_by
from pi2_fluid.measured.queue_said import queue_of_kind, queue_of_text

DATA = Path(__file__).parents[1] / "data" / "measured"

TC = """
qdisc htb 1: root refcnt 2 r2q 10 default 0x1 direct_packets_stat 0 direct_qlen 1000
 Sent 900 bytes 9 pkt (dropped 0, overlimits 0 requeues 0)
qdisc pie 8058: parent 1:1 limit 700p target 20.0ms tupdate 16.0ms alpha 2 beta 20 ecn
 Sent 900 bytes 9 pkt (dropped 0, overlimits 0 requeues 0)
class htb 1:1 root leaf 8058: prio 0 quantum 200000 rate 8Mbit ceil 8Mbit burst 1600b cburst 1600b
"""


def measured(flows: dict[str, list[float]] | None = None, **about: Any) -> Any:
    measurement = Measurement("mine", about=about)
    for name, rates in (flows or {"a": [7e6] * 10}).items():
        measurement.add("throughput", name, np.arange(1.0, 1.0 + len(rates)), rates)
    return measurement.to_dataset()


def test_a_title_says_rate_path_and_queue() -> None:
    described = pf.scenario_of(measured(title="net:ns qdisc:dualpi2 bandwidth:50Mbit rtt:80ms"))
    scenario = described.scenario
    assert scenario.link.capacity == 50e6
    assert scenario.flows[0].base_rtt == 0.08
    assert scenario.aqm == pf.presets.linux_dualpi2()
    assert "numbers of the queue" in described.assumed
    assert "rate" not in described.assumed


def test_what_the_reader_says_goes_before_the_title() -> None:
    described = pf.scenario_of(measured(title="50Mbit 80ms", rate=10e6, rtt=0.03, qdisc="codel"))
    assert described.scenario.link.capacity == 10e6
    assert described.scenario.flows[0].base_rtt == 0.03
    assert isinstance(described.scenario.aqm, pf.CoDel)


def test_tc_says_queue_rate_and_buffer() -> None:
    described = pf.scenario_of(measured(tc_after=TC))
    assert described.scenario.link.capacity == 8e6
    assert described.scenario.link.buffer == 700.0
    assert described.scenario.aqm == pf.qdisc.parse(TC)[0].aqm
    assert "shaper" in described.said


def test_what_is_given_goes_before_all() -> None:
    described = pf.scenario_of(
        measured(tc_after=TC), capacity="5Mbit/s", base_rtt="7ms", aqm=pf.TailDrop()
    )
    assert described.scenario.link.capacity == 5e6
    assert described.scenario.flows[0].base_rtt == 0.007
    assert isinstance(described.scenario.aqm, pf.TailDrop)
    assert {"rate", "path", "queue"} <= set(described.said)


def test_what_nothing_says_is_assumed_and_named() -> None:
    described = pf.scenario_of(measured())
    assert {"rate", "path", "queue", "senders", "buffer"} <= set(described.assumed)
    assert isinstance(described.scenario.flows[0].sender, pf.Cubic)
    # The rate that was reached is goodput: the wire has more.
    assert described.scenario.link.capacity == pytest.approx(7e6 * 1514 / 1448)
    assert "Assumed:" in str(described)


def test_the_least_round_trip_is_the_path() -> None:
    measurement = Measurement("mine")
    measurement.add("throughput", "a", [1.0, 2.0], [7e6, 7e6])
    measurement.add("delay", "ping", [0.5, 1.0, 1.5], [0.034, 0.031, np.nan])
    described = pf.scenario_of(measurement.to_dataset())
    assert described.scenario.flows[0].base_rtt == 0.031
    assert "ping" in described.assumed["path"]


def test_flows_start_and_stop_where_they_are_seen() -> None:
    measurement = Measurement("mine", about={"rtt": 0.02, "rate": 1e7})
    measurement.add("delay", "ping", np.arange(0.0, 20.0), [0.02] * 20)
    measurement.add("throughput", "a", np.arange(3.0, 11.0), [5e6] * 8)
    (flow,) = pf.scenario_of(measurement.to_dataset()).scenario.flows
    assert (flow.start, flow.stop) == (2.0, 10.0)


def test_a_file_that_begins_with_a_sample_begins_before_it() -> None:
    described = pf.scenario_of(measured(rate=1e7, rtt=0.02))
    assert described.zero == -1.0
    assert described.scenario.flows[0].start == 0.0
    assert described.scenario.duration == 10.0


@pytest.mark.parametrize(
    ("control", "kind"),
    [("prague", pf.Prague), ("dctcp", pf.Dctcp), ("reno", pf.Reno), ("bbr", pf.linux.Congestion)],
)
def test_senders_by_their_names(control: str, kind: type) -> None:
    described = pf.scenario_of(measured(senders={"a": control}, rate=1e7, rtt=0.02))
    assert isinstance(described.scenario.flows[0].sender, kind)


def test_udp_sends_at_the_rate_that_it_had() -> None:
    described = pf.scenario_of(measured(senders={"a": "udp"}, rate=1e7, rtt=0.02))
    assert described.scenario.flows[0].sender.constant_rate == pytest.approx(7e6 * 1514 / 1448)


def test_of_two_directions_the_larger_one_is_run() -> None:
    data = measured(
        {"a": [7e6] * 5, "b": [3e6] * 5}, directions={"a": "up", "b": "down"}, rate=1e7, rtt=0.02
    )
    described = pf.scenario_of(data)
    assert described.scenario.class_names == ("a",)
    assert "without b" in described.assumed["directions"]


def test_a_title_with_two_rates_has_changes() -> None:
    rates = [9.5e6] * 10 + [4.7e6] * 10 + [9.5e6] * 10
    described = pf.scenario_of(measured({"a": rates}, title="10Mbit 5Mbit 20ms"))
    assert [(change.at, change.capacity) for change in described.scenario.changes] == [
        (10.0, 5e6),
        (20.0, 10e6),
    ]


def test_slow_start_is_no_change_of_the_rate() -> None:
    rates = [1e6, 4e6] + [9.5e6] * 20
    data = measured({"a": rates})
    assert changes_of(data, "10Mbit 5Mbit", 10e6, 1.0, 0.0) == []


@pytest.mark.parametrize(
    "data", [None, 3, "run.flent.gz", np.zeros(3)], ids=["none", "number", "text", "array"]
)
def test_what_is_no_measurement_is_refused(data: Any) -> None:
    with pytest.raises(pf.QuantityError, match=r"is no measurement: give what pf\.measured\.read"):
        pf.scenario_of(data)


def test_a_measurement_without_flows_is_refused() -> None:
    measurement = Measurement("ping")
    measurement.add("delay", "ping", [0.0], [0.02])
    with pytest.raises(pf.QuantityError, match="nothing says who sends"):
        pf.scenario_of(measurement.to_dataset())


def test_a_queue_that_is_none_is_refused() -> None:
    with pytest.raises(pf.QuantityError, match="is no queue"):
        pf.scenario_of(measured(), aqm=3)  # type: ignore[arg-type]
    with pytest.raises(pf.QuantityError, match="has no law here"):
        queue_of_kind("hfsc")


def test_of_several_queues_the_busiest_counts() -> None:
    other = TC.replace("8058:", "8057:").replace("900 bytes", "5 bytes").replace("700p", "9p")
    text = "+ tc -s qdisc show dev a\n" + TC + "\n+ tc -s qdisc show dev b\n" + other
    said = queue_of_text(text)
    assert said is not None
    assert said.buffer == 700.0


def test_netem_of_both_ways_is_the_path() -> None:
    netem = "qdisc netem 1: root limit 1000 delay 10.0ms"
    lines = [f"+ tc qdisc show dev {dev}\n{netem}" for dev in "ab"]
    said = queue_of_text("\n".join([TC, *lines, lines[0]]))
    assert said is not None
    assert said.delay == pytest.approx(0.02)


def test_means_over_any_stretch_keep_what_was_sent() -> None:
    # Samples at uneven times: their integral is what no grid may lose.
    times = np.cumsum([0.2, 0.3, 0.1, 0.4, 0.2, 0.25])
    rates = np.array([3e6, 5e6, 1e6, 2e6, 9e6, 4e6])
    measurement = Measurement("mine")
    measurement.add("throughput", "a", times, rates)
    sent = sent_by(measurement.to_dataset(), "a")
    edges = np.linspace(sent.start, sent.stop, 14)
    total = float(np.sum(sent.rates(edges) * np.diff(edges)))
    own = np.concatenate([[np.median(np.diff(times))], np.diff(times)])
    assert total == pytest.approx(float(np.sum(rates * own)), rel=1e-12)


def test_paths_that_nothing_tells_apart_are_assumed_alike() -> None:
    data = measured({"a (cubic)": [3e6] * 5, "b (reno)": [4e6] * 5}, rate=1e7, rtt=0.02)
    described = pf.scenario_of(data)
    assert "paths" in described.assumed
    # Readers put the sender behind the label where Flent has it.
    kinds = [type(flow.sender) for flow in described.scenario.flows]
    assert kinds == [pf.Cubic, pf.Reno]
    assert "senders" not in described.assumed


@pytest.mark.parametrize(
    ("kernel", "pushes", "version"),
    [("5.4.0-rc3-prague", 0.0, "draft"), ("6.18.44", None, None), ("", None, None)],
)
def test_the_kernel_says_how_receivers_acknowledge(
    kernel: str, pushes: float | None, version: str | None
) -> None:
    """Linux answers PSH since 6.6, and Prague of the L4S team's 5.x trees is the draft's."""
    described = pf.scenario_of(measured(senders={"a": "prague"}, rate=1e7, rtt=0.02, kernel=kernel))
    flows = described.scenario.flows[0]
    assert flows.push_every == pushes
    assert isinstance(flows.sender, pf.Prague)
    assert flows.sender.version == (version or pf.Prague().version)
    assert ("kernel" in described.said) == (pushes == 0.0)


def test_flent_says_its_kernel() -> None:
    read = pf.measured.read(DATA / "flent_two.flent.gz")
    assert json.loads(read.attrs["about"])["kernel"] == "6.18.44"
