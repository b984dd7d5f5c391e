"""Any text in which tc's words stand: the same queues, none lost, none merged."""

from __future__ import annotations

import json
from itertools import groupby

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pastes import PIE, Output, Queue, outputs, printed, quoted, text_of
from refusals import assert_sentence, refused

import pi2_fluid as pf
from pi2_fluid.tc.observing import observe, series_of


@pytest.fixture
def quick(monkeypatch):
    """Verdicts by the scan alone: what is looked at here is not the proof."""
    from pi2_fluid.deployment import judging

    judge = judging._judge
    monkeypatch.setattr(
        judging, "_judge", lambda qdisc, question, prove: judge(qdisc, question, prove=False)
    )


patient = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])


def seen_in(text: str) -> list[Queue]:
    """Every queue at every instant, in the order of the text."""
    reading = observe(text)
    return [
        Queue(
            reading.where(block)[2],
            block.kind,
            block.handle,
            block.parent,
            block.statistics["packets"],
        )
        for block in reading.blocks
    ]


# --- the kind -------------------------------------------------------------------------------


@pytest.mark.slow
@patient
@given(
    found=outputs(),
    way=st.sampled_from(("plain", "plain", "mail", "windows", "colours", "indented")),
)
def test_any_mixture_of_outputs_gives_the_same_queues(found: list[Output], way: str):
    text = quoted(text_of(found), way)
    assert seen_in(text) == [queue for output in found for queue in output.queues]
    # each queue of each device is one series, with as many instants as there were outputs
    series = series_of(observe(text))
    got = sorted(
        (each.last.dev, each.last.kind, each.last.handle, each.last.parent, len(each.blocks))
        for each in series
    )
    key = lambda queue: queue[:4]  # noqa: E731
    every = sorted(queue for output in found for queue in output.queues)
    assert got == sorted((*place, len(list(group))) for place, group in groupby(every, key))


@pytest.mark.parametrize("way", ["journal", "numbered", "grep -n", "mail", "windows"])
def test_what_stands_before_each_line_is_taken_off(way):
    queues = [LAN, WAN, LAN._replace(packets=300_000)]
    text = "\n".join(line for queue in queues for line in printed(queue, named=True))
    assert seen_in(quoted(text, way)) == queues
    assert [len(each.blocks) for each in series_of(observe(quoted(text, way)))] == [2, 1]


@pytest.mark.slow
@patient
@given(found=outputs(), seed=st.randoms(use_true_random=False))
def test_lines_of_devices_that_name_themselves_may_be_mixed(found, seed):
    """Queues with their counters, shuffled: as of several devices in one output."""
    queues = [queue for output in found for queue in output.queues]
    queues = [queue._replace(packets=number) for number, queue in enumerate(queues)]
    seed.shuffle(queues)
    text = "\n".join(line for queue in queues for line in printed(queue, named=True))
    assert seen_in(text) == queues


# --- single cases ---------------------------------------------------------------------------

LAN = Queue("lan0", "pie", "1:", "root", 268034)
WAN = Queue("wan0", "pie", "1:", "root", 168034)


def session(*queues: Queue) -> str:
    return "".join(
        "\n".join([f"$ tc -s qdisc show dev {queue.dev}", *printed(queue, named=False), "", ""])
        for queue in queues
    )


@pytest.mark.parametrize("counted", [268034, 168034, 7])
def test_two_devices_with_one_handle_are_two_queues(counted):
    series = series_of(observe(session(WAN, LAN._replace(packets=counted))))
    assert [each.last.dev for each in series] == ["wan0", "lan0"]


@pytest.mark.slow
def test_a_verdict_names_the_device_that_the_text_around_it_names(quick):
    found = pf.check(session(WAN, LAN), hz=1000, rtt="50ms")
    assert [one.qdisc.dev for one in found] == ["wan0", "lan0"]
    assert [one.remedy.tc.split()[4] for one in found if one.remedy.tc] == ["wan0", "lan0"]
    assert found.form == "2 devices (wan0, lan0)"
    assert "Two outputs" in found.note


def test_outputs_that_name_no_device_are_both_judged():
    unnamed = "\n".join(printed(WAN, named=False))
    assert len(series_of(observe(f"{unnamed}\n{unnamed}"))) == 2
    assert observe(f"{unnamed}\n{unnamed}").form == "2 outputs that name no device"


def test_counters_that_fell_are_no_later_instant():
    assert len(series_of(observe(session(LAN, LAN._replace(packets=5))))) == 2
    assert len(series_of(observe(session(LAN, LAN._replace(packets=300000))))) == 1


def test_other_options_are_another_queue():
    text = session(LAN, LAN._replace(packets=300000)).replace("beta 20", "beta 18", 1)
    assert len(series_of(observe(text))) == 2


def test_machines_and_namespaces_tell_devices_apart():
    shown = "\n".join(["", *printed(WAN, named=False), ""])
    text = "".join(
        f"{before}qdisc show dev wan0{shown}"
        for before in ("a@fw:~$ tc ", "a@nas:~$ tc ", "$ tc -n lab ", "$ tc ")
    )
    reading = observe(text)
    assert [one.where for one in reading.observations] == [
        ("fw", None, "wan0"),
        ("nas", None, "wan0"),
        (None, "lab", "wan0"),
        (None, None, "wan0"),
    ]
    assert "wan0 of fw" in reading.form


def test_another_program_between_takes_the_device_away():
    text = session(WAN) + "$ cat other.txt\n" + "\n".join(printed(LAN, named=False))
    assert [one.dev for one in observe(text).observations] == ["wan0", None]


def test_json_inside_text_keeps_the_order_of_the_text():
    entry = json.dumps([pf.qdisc.show_json(pf.qdisc.install(pf.Pie(), "pie"))])
    text = "\n".join([*printed(WAN, named=True), entry, *printed(LAN, named=True)])
    assert [queue.handle for queue in pf.qdisc.parse(text)] == ["1:", "0:", "1:"]
    assert pf.qdisc.parse(text)[0].dev == "wan0"


# --- rates ----------------------------------------------------------------------------------

TREE = """
qdisc htb 1: {dev}root refcnt 2 r2q 10 default 0x10
qdisc pie 110: {dev}parent 1:10 {pie}
"""
CLASSES = """
class htb 1:1 root rate 9Mbit ceil 10Mbit burst 1600b cburst 1600b
 Sent 5 bytes 1 pkt (dropped 0, overlimits 0 requeues 0)
class htb 1:10 parent 1:1 leaf 110: prio 0 rate 5500Kbit ceil 12Mbit burst 1600b
"""


def pie_of(text: str) -> tuple:
    reading = observe(text)
    (block,) = (block for block in reading.blocks if block.kind == "pie")
    return reading.rate_above(block), block


OF_ETH0 = TREE.format(dev="dev eth0 ", pie=PIE)
UNNAMED = TREE.format(dev="", pie=PIE)
JSON = (
    '[{"kind":"tbf","handle":"2:","dev":"a","root":true,"options":{"rate":625000}},'
    '{"kind":"pie","handle":"3:","dev":"a","parent":"2:1","options":{"limit":1,"target":1500,'
    '"tupdate":16000,"alpha":2,"beta":20}}]'
)
TYPED = "tc class add dev eth0 parent 1: classid 1:10 htb rate 12mbit\n"
TBF = "tc qdisc add dev {dev} root handle 2: tbf rate {rate} burst 5k latency 9ms; "
BELOW = "tc qdisc add dev a parent 2: pie"


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        (OF_ETH0, None),
        (UNNAMED + CLASSES, 10e6),
        ("$ tc class show dev eth0" + CLASSES + "$ tc qdisc show" + OF_ETH0, 10e6),
        ("+ " + TYPED + "+ tc qdisc show dev eth0" + UNNAMED, 12e6),
        (f"qdisc tbf 2: dev a root rate 500Kbit\nqdisc pie 3: dev a parent 2:1 {PIE}", 5e5),
        (TBF.format(dev="a", rate="1mbps") + BELOW, 8e6),
        (TBF.format(dev="b", rate="1mbit") + BELOW, None),
        (JSON, 5e6),
    ],
)
def test_the_rate_above_a_queue(text, rate):
    assert pie_of(text)[0] == rate


def test_cake_has_its_own_rate():
    reading = observe("qdisc cake 8: dev eth1 root refcnt 2 bandwidth 5Mbit besteffort\n")
    assert reading.rate_above(reading.blocks[0]) == 5e6


def test_classes_of_one_of_two_devices_without_a_name_are_of_neither():
    text = 2 * TREE.format(dev="", pie=PIE) + CLASSES
    reading = observe(text)
    assert {reading.rate_above(block) for block in reading.blocks} == {None}
    text = 2 * (TREE.format(dev="", pie=PIE) + CLASSES)
    reading = observe(text)
    assert [reading.rate_above(block) for block in reading.blocks] == [None, 1e7, None, 1e7]


def test_rings_of_classes_end():
    text = (
        "tc class add dev a parent 1:2 classid 1:1 htb rate 3mbit\n"
        "tc class add dev a parent 1:1 classid 1:2 htb rate 2mbit\n"
        "tc qdisc add dev a parent 1:2 pie"
    )
    assert pie_of(text)[0] == 2e6


# --- what is said ---------------------------------------------------------------------------


def test_an_old_tc_is_the_reason():
    text = "qdisc noqueue 0: dev lo root refcnt 2\nqdisc fq_pie 8002: dev lan0 root refcnt 5\n"
    said = pf.check(text).others[1].text
    assert_sentence(said, "this tc is older than fq_pie, or the line is cut off")
    with refused(pf.QuantityError, "this tc is older than fq_pie"):
        pf.qdisc.parse(text)


def test_classes_go_to_the_one_named_device_that_has_their_shaper():
    """`tc qdisc show; tc class show dev wan0` names the device once."""
    queue = "qdisc htb 1: dev wan0 root refcnt 2 default 0x10\nqdisc pie 2: dev wan0 parent 1:10\n"
    classes = "class htb 1:10 root leaf 2: prio 0 rate 5Mbit ceil 6Mbit burst 15Kb cburst 1600b\n"
    reading = observe(queue + classes)
    assert reading.rate_above(reading.blocks[1]) == 6e6
    (shaped,) = reading.classes_of(reading.blocks[0]).values()
    assert (shaped.assured, shaped.burst, shaped.cburst) == (5e6, 15360.0, 1600.0)
    assert shaped.words == ("prio", "0")
    two = observe(queue + queue.replace("wan0", "lan0") + classes)
    assert {two.rate_above(block) for block in two.blocks} == {None}
