"""Configurations are judged as what they make: the queue that tc or ipfw shows once it runs."""

from __future__ import annotations

import pytest
from refusals import assert_sentence, refused

import pi2_fluid as pf
from pi2_fluid.tc.dummynet import shapers_of
from pi2_fluid.tc.dummynet_lines import configured_shapers
from pi2_fluid.tc.observing import observe

# --- systemd-networkd -----------------------------------------------------------------------

NETWORKD = """
[Match]
Name=eth0

[Network]
DHCP=yes

[FlowQueuePIE]
Parent=root
PacketLimit=200000
"""


TWO_FILES = """
[Match]
Name=a
[PIE]
[Match]
Name=b
[FairQueueingControlledDelay]
TargetSec=6ms
ECN=yes
[CAKE]
Parent=1:2
Bandwidth=40M
"""


def queues(text: str) -> list[tuple]:
    return [(one.dev, one.parent, one.kind, one.options, one.words) for one in observe(text).blocks]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (NETWORKD, ["dev eth0 root fq_pie limit 200000"]),
        (NETWORKD.replace("FlowQueuePIE", "PIE"), ["dev eth0 root pie limit 200000"]),
        (NETWORKD.partition("Parent")[0], ["dev eth0 root fq_pie"]),
        ("[PIE]\nParent=2:30\nHandle=a", ["parent 2:30 handle a: pie"]),
        (
            TWO_FILES,
            [
                "dev a root pie",
                "dev b root fq_codel target 6ms ecn",
                "dev b parent 1:2 cake bandwidth 40mbit",
            ],
        ),
    ],
)
def test_a_file_of_networkd_is_the_line_that_makes_the_same(text, lines):
    assert queues(text) == queues("\n".join(f"tc qdisc add {line}" for line in lines))
    assert {one.source for one in observe(text).observations} == {"configuration"}


def test_rates_of_networkd_stand_above():
    text = (
        "[Match]\nName=eth0\n[HierarchyTokenBucket]\nHandle=1\nDefaultClass=10\n"
        "[HierarchyTokenBucketClass]\nParent=1:\nClassId=1:10\nRate=5500K\n[PIE]\nParent=1:10\n"
    )
    reading = observe(text)
    assert reading.rate_above(reading.blocks[-1]) == 5.5e6


# --- OpenWrt --------------------------------------------------------------------------------

SQM = """
config queue 'eth0'
        option download '85000'
        option interface 'eth0'
        option upload '5500'
        option qdisc 'pie'
        option script 'simplest.qos'
        option itarget '16ms'
        option etarget '18ms'
        option ilimit '300'
"""
DANGEROUS = "        option qdisc_advanced '1'\n        option qdisc_really_really_advanced '1'\n"


@pytest.mark.parametrize(
    ("text", "up", "down"),
    [
        (SQM, "limit 1001 target 5ms noecn", "limit 1001 target 5ms ecn"),
        (SQM + DANGEROUS, "limit 1001 target 18ms noecn", "limit 300 target 16ms ecn"),
        (
            SQM + DANGEROUS + " option egress_ecn 'ECN'\n option ingress_ecn 'NOECN'\n",
            "limit 1001 target 18ms ecn",
            "limit 300 target 16ms noecn",
        ),
    ],
)
def test_sqm_makes_one_queue_for_each_direction(text, up, down):
    lines = [
        "dev eth0 root handle 1: htb default 10",
        f"dev eth0 parent 1:10 handle 110: pie {up}",
        "dev ifb4eth0 root handle 1: htb default 10",
        f"dev ifb4eth0 parent 1:10 handle 110: pie {down}",
    ]
    assert queues(text) == queues("\n".join(f"tc qdisc add {line}" for line in lines))
    reading = observe(text)
    rates = [reading.rate_above(block) for block in reading.blocks if block.kind == "pie"]
    assert rates == [5.5e6, 85e6]


def test_what_uci_shows_is_the_same_as_its_file():
    options = [line.split(None, 2)[1:] for line in SQM.splitlines() if "option" in line]
    shown = "\n".join(["sqm.eth0=queue", *(f"sqm.eth0.{name}={value}" for name, value in options)])
    assert queues(shown) == queues(SQM)
    assert queues("\n".join(f"uci set {line}" for line in shown.splitlines())) == queues(SQM)


def test_a_direction_without_a_rate_is_not_shaped():
    assert {dev for dev, *_ in queues(SQM.replace("'85000'", "'0'"))} == {"eth0"}


def test_cake_of_sqm_has_its_rate():
    text = SQM.replace("'pie'", "'cake'")
    reading = observe(text)
    assert [(one.kind, reading.rate_above(one)) for one in reading.blocks] == [
        ("cake", 5.5e6),
        ("cake", 85e6),
    ]


# --- FreeBSD --------------------------------------------------------------------------------

IPFW = """
ipfw pipe 1 config bw 10Mbit/s
ipfw sched 1 config pipe 1 type fq_pie target 5ms tupdate 15ms alpha 0.125 beta 1.25 ecn
ipfw queue 1 config sched 1
"""
SHOWN = (
    "00001:  10.000 Mbit/s    0 ms burst 0 \n"
    " sched 1 type FQ_PIE flags 0x0 0 buckets 0 active\n"
    "  FQ_PIE target 5ms tupdate 15ms alpha 0.125 beta 1.25 max_burst 150ms max_ecnth 0.1"
    " quantum 1514 limit 10240 flows 1024 ECN CapDrop TS Derand\n"
)
PIPE = (
    "00002:  20.000 Mbit/s    0 ms burst 0 \n"
    "q131074  {size} 0 flows (1 buckets) sched 65538 weight 0 lmax 0 pri 0  AQM type PIE"
    " target 15ms tupdate 15ms alpha 0.125 beta 1.25 max_burst 150ms max_ecnth 0.1 {flags}\n"
    " sched 65538 type FIFO flags 0x0 0 buckets 0 active\n"
)


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (IPFW, SHOWN),
        (IPFW.replace("ipfw ", "/sbin/ipfw -q "), SHOWN),
        (IPFW.replace("ipfw ", "dnctl "), SHOWN),
        (IPFW.replace(" tupdate", " # tupdate"), SHOWN.replace("ECN", "NoECN")),
        (
            "${cmd} pipe 2 config bw 20Mbit/s pie",
            PIPE.format(size="50 sl.", flags="NoECN CapDrop DRE Derand"),
        ),
        (
            "ipfw pipe 2 config bw 2500KByte/s queue 100 pie ts nodrand nocapdrop onoff ecn",
            PIPE.format(size="100 sl.", flags="ECN NoCapDrop OnOff TS NoDerand"),
        ),
        (
            "ipfw pipe 2 config bw 20Mb queue 64KB pie",
            PIPE.format(size="64 KB", flags="NoECN CapDrop DRE Derand"),
        ),
    ],
)  # fmt: skip
def test_lines_for_ipfw_are_what_it_prints_of_what_they_make(lines, shown):
    (made,), (runs,) = configured_shapers(lines), shapers_of(shown)
    assert (made.name, made.kind, made.rate) == (runs.name, runs.kind, runs.rate)
    assert made.qdisc.aqm == runs.qdisc.aqm
    assert made.qdisc.asked == runs.qdisc.asked
    assert made.qdisc.proposed


def test_a_queue_hangs_at_its_scheduler_and_that_at_its_pipe():
    lines = "ipfw pipe 7 config bw 3Mbit/s\nipfw sched 4 config pipe 7\n"
    (one,) = configured_shapers(lines + "ipfw queue 5 config sched 4 weight 10 pie target 20ms\n")
    assert (one.name, one.rate, one.qdisc.aqm.target) == ("PIE queue 5", 3e6, 0.02)
    (one,) = configured_shapers("ipfw sched 3 config type fq_codel\nipfw pipe 3 config bw 1Gbit/s")
    assert (one.name, one.kind, one.rate) == ("FQ_CODEL sched 3", "FQ_CODEL", 1e9)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("pie target 15", "'15' cannot be read: give a time with its unit"),
        ("pie alpha x", "'x' is no number that ipfw takes"),
        ("pie alpha 8", "up to 7"),
        ("pie targt 15ms", "'targt' of PIE pipe 1 is no word of ipfw for pie"),
        ("queue many pie", "queue of PIE pipe 1 = 'many' is no size"),
        ("fq_pie target", "'' cannot be read"),
    ],
)
def test_lines_for_ipfw_that_it_refuses(words, said):
    with refused((pf.QuantityError, pf.DomainError), said):
        pf.check(f"ipfw pipe 1 config bw 1Mbit/s {words}")


# --- metrics --------------------------------------------------------------------------------

METRICS = """
# HELP node_qdisc_backlog Number of bytes currently in queue to be sent.
# TYPE node_qdisc_backlog gauge
node_qdisc_backlog{device="wan0",kind="pie"} 60616
node_qdisc_drops_total{device="wan0",kind="pie"} 26
node_qdisc_packets_total{device="lan0",kind="fq_codel"} 1.5e+06 1764270000
"""


def test_metrics_name_queues_and_not_their_options():
    with refused(pf.QuantityError, "these metrics name pie on wan0, and none of its options"):
        pf.check(METRICS.replace("lan0", "wan0").replace("fq_codel", "pie"))
    found = pf.check(METRICS)
    assert [other.kind for other in found.others] == ["pie", "fq_codel"]
    assert_sentence(found.others[0].text, "tc -s qdisc show dev wan0")
    assert "none was marked or dropped" in found.others[1].observed[0]


# --- where it is changed --------------------------------------------------------------------


@pytest.mark.slow
def test_the_line_that_changes_a_queue_is_for_its_namespace():
    line = "ip netns exec lab tc qdisc add dev v0 parent 1:1 handle 2: dualpi2"
    (found,) = pf.check(line, rtt="200ms")
    assert found.qdisc.namespace == "lab"
    assert found.remedy.tc.startswith("tc -n lab qdisc replace dev v0 parent 1:1 handle 2: dualpi2")
    # which is read back as a line for the same queue
    (again,) = pf.qdisc.parse(found.remedy.tc)
    assert (again.namespace, again.dev, again.parent) == ("lab", "v0", "1:1")
