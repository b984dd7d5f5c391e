"""Flow queues of tc's text as laws, and laws as lines: one is the way back of the other."""

from __future__ import annotations

import dataclasses
import json

import pytest

import pi2_fluid as pf

FQ_CODEL = (
    "qdisc fq_codel 8001: dev wan0 root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms"
    " interval 100ms memory_limit 32Mb ecn drop_batch 64"
)


def one(text: str) -> pf.qdisc.ShownQueue:
    (found,) = pf.qdisc.queues(text)
    return found


@pytest.mark.parametrize(
    "law",
    [
        pf.FqCodel(arithmetic="fixed", quantum=1514),
        pf.FqCodel(arithmetic="fixed", target="17700us", interval=0.1127, quantum=300, flows=64),
        pf.FqCodel(
            arithmetic="fixed",
            quantum=1514,
            ecn=False,
            memory_limit=4 << 20,
            drop_batch=8,
            ce_threshold="1ms",
            ce_threshold_selector="ect1",
        ),
        pf.FqCodel(arithmetic="fixed", quantum=1514, ce_threshold="2ms"),
        pf.CoDel(arithmetic="fixed", target="13ms", ecn=True),
    ],
)
def test_a_law_comes_back_from_its_line(law):
    kind = "fq_codel" if isinstance(law, pf.FqCodel) else "codel"
    found = one(pf.qdisc.to_tc(law, kind, dev="eth0"))
    assert found.kind == kind
    assert found.aqm == law


def test_fq_pie_comes_back_from_its_line():
    """Its timer is a tick late, so T is asked for and not what runs."""
    law = pf.FqPie(flows=32, quantum=300, mark_limit=0.2, target="5ms", ecn=True)
    line = pf.qdisc.to_tc(law, "fq_pie", dev="eth0")
    found = one(line).aqm
    assert "flows 32" in line
    assert "ecn_prob 20 " in line
    for name in ("flows", "quantum", "mark_limit", "target", "alpha", "beta", "ecn"):
        assert getattr(found, name) == getattr(law, name), name
    assert found.update_interval == pytest.approx(0.016)  # at 1000 ticks a second
    as_pie = pf.qdisc.parse(line)[0].aqm  # of which tc has no limit of marks
    assert found.inner == dataclasses.replace(as_pie, mark_limit=0.2)


def test_text_and_json_of_one_queue_are_one_law():
    """JSON has what the kernel counts, 4999 us of 5 ms; text three digits of that."""
    options = {"limit": 10240, "flows": 1024, "quantum": 1514, "target": 4999, "interval": 99999}
    options |= {"memory_limit": 32 << 20, "ecn": True, "drop_batch": 64}
    exact = {"kind": "fq_codel", "handle": "8001:", "dev": "wan0", "root": True, "options": options}
    asked = one("tc qdisc add dev wan0 root fq_codel")
    assert one(FQ_CODEL).aqm == one(json.dumps([exact])).aqm == asked.aqm
    assert one(FQ_CODEL).buffer == asked.buffer == 10240.0
    assert one(FQ_CODEL).aqm.target == 0.005


def test_what_is_not_named_is_the_kernels_default():
    assert one("tc qdisc add dev a root codel").aqm == pf.CoDel(arithmetic="fixed")
    assert one("tc qdisc add dev a root codel").buffer == 1000.0
    assert one("qdisc pfifo 0: root limit 30p").buffer == 30.0
    assert one(FQ_CODEL.replace(" ecn", "")).aqm.ecn is False


def test_the_rate_above_comes_along():
    shaped = "qdisc tbf 1: dev wan0 root refcnt 2 rate 5Mbit burst 5Kb lat 50ms\n"
    assert one(shaped + FQ_CODEL.replace("root", "parent 1:1")).rate == 5e6
    cake = one("tc qdisc add dev wan0 root cake bandwidth 20mbit rtt 30ms")
    assert cake.rate == 20e6
    assert cake.aqm == pf.linux.Qdisc("cake", rtt="30ms")
    assert cake.buffer is None


@pytest.mark.slow
def test_packets_run_what_was_read():
    read = one("tc qdisc add dev wan0 root fq_codel quantum 300 limit 200")
    link = pf.Link("10Mbit/s", buffer=read.buffer)
    scenario = pf.Scenario("4s", link, read.aqm, pf.Flows(pf.Cubic(), 2, "20ms"))
    assert float(pf.summarize(pf.packet.simulate(scenario, seeds=1)).utilization.mean()) > 0.5


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: pf.qdisc.queues("qdisc noqueue 0: dev lo root"), pf.QuantityError, "there is no"),
        (lambda: pf.qdisc.queues(5), pf.QuantityError, "is no text"),
        (
            lambda: pf.qdisc.queues("tc qdisc add dev a root fq_codel flows 70000"),
            pf.QuantityError,
            "flows of fq_codel dev a",
        ),
        (
            lambda: pf.qdisc.queues("tc qdisc add dev a root codel ce_threshold 1ms"),
            pf.DomainError,
            "ce_threshold",
        ),
        (
            lambda: pf.qdisc.queues("qdisc codel 1: dev a root target soon interval 100ms"),
            pf.QuantityError,
            "target of codel 1:",
        ),
        (lambda: pf.qdisc.to_tc(pf.CoDel(), "fq_codel"), pf.UnsupportedError, "give FqCodel"),
        (
            lambda: pf.qdisc.to_tc(pf.FqCodel(), "fq_pie"),
            pf.UnsupportedError,
            "fq_pie cannot run FqCodel",
        ),
        (lambda: pf.qdisc.to_tc(pf.FqPie(flows=1.5), "fq_pie"), pf.DomainError, "flows"),
        (lambda: pf.qdisc.to_tc(pf.CoDel(target="0.4us"), "codel"), pf.DomainError, "1us"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(call, error, said):
    with pytest.raises(error, match=said):
        call()
