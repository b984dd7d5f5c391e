"""Counters of tc in words: what they say, and what they leave unsaid."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import pi2_fluid as pf
from pi2_fluid.deployment.counters import Heard, heard_of, words_of

TEXT = (Path(__file__).parents[1] / "data" / "tc_show.txt").read_text(encoding="utf-8")
IDLE = {"packets": 9000, "drops": 0, "qlen": 0, "backlog": 0, "ecn_mark": 0}
PIE = IDLE | {"prob": 0.0, "delay": 0.0, "overlimit": 0, "dropped": 0, "maxq": 40}
DUAL = IDLE | {
    "prob": 0.0,
    "delay_c": 0.0,
    "pkts_in_c": 5000,
    "pkts_in_l": 4000,
    "maxq": 40,
    "overlimits": 0,
}


def said(kind: str, *snapshots: dict, **how: object) -> tuple[str, ...]:
    return words_of(heard_of(kind, snapshots, **how))


@pytest.mark.parametrize(
    ("kind", "counters", "how", "begins"),
    [
        ("pie", PIE | {"packets": 0, "maxq": 0}, {}, "no packet has left"),
        (
            "pie",
            PIE | {"maxq": 1},
            {},
            "not the bottleneck: none of 9000 packets sent has found more than 1",
        ),
        (
            "dualpi2",
            DUAL | {"maxq": 2},
            {},
            "not the bottleneck: none of 9000 packets sent has found more than 2",
        ),
        ("pie", PIE, {}, "not the bottleneck: of 9000 packets sent since it was made none"),
        ("fq_pie", IDLE, {}, "not the bottleneck: of 9000 packets"),
        ("fq_codel", IDLE, {}, "not the bottleneck: of 9000 packets"),
        ("pie", PIE | {"drops": 7, "ecn_mark": 9}, {}, "not the bottleneck now: nothing waits"),
        ("pie", PIE | {"prob": 0.6, "drops": 7, "ecn_mark": 1}, {}, "overloaded: p is 0.6"),
        ("pie", PIE | {"prob": 0.2, "drops": 7, "ecn_mark": 1}, {}, "p is 0.2: above 10 %"),
        ("dualpi2", DUAL | {"prob": 0.5, "drops": 7}, {}, "overloaded: p' is 0.5, where all"),
        ("dualpi2", DUAL | {"prob": 0.3, "drops": 7}, {"k": 4.0}, "overloaded: p' is 0.3"),
        (
            "pie",
            PIE | {"prob": 0.01, "drops": 7, "overlimit": 3, "ecn_mark": 1},
            {},
            "its buffer was full: 3 of 7 drops",
        ),
        ("fq_pie", IDLE | {"drops": 7, "overmemory": 7}, {}, "its buffer was full: 7 of 7"),
        ("red", IDLE | {"drops": 9, "pdrop": 4, "marked": 1}, {}, "its buffer was full: 4 of 9"),
        ("pie", PIE | {"prob": 0.01, "drops": 7}, {}, "no ECN-capable packet seen while p was"),
        ("codel", IDLE | {"drops": 7}, {}, "no ECN-capable packet seen: all 7 signals"),
        ("dualpi2", DUAL | {"prob": 0.1, "ecn_mark": 5, "pkts_in_l": 0}, {}, "no L4S packet"),
        ("dualpi2", DUAL | {"prob": 0.1, "ecn_mark": 5, "pkts_in_c": 0}, {}, "no Classic packet"),
    ],
)
def test_what_is_said_first(kind, counters, how, begins):
    assert said(kind, counters, **how)[0].startswith(begins)


@pytest.mark.parametrize(
    ("kind", "counters", "how"),
    [
        ("pie", PIE | {"prob": 0.05, "drops": 7, "ecn_mark": 9, "qlen": 12}, {}),
        # it marks nothing, as it was not asked to
        ("pie", PIE | {"prob": 0.05, "drops": 7, "qlen": 12}, {"marks": False}),
        ("dualpi2", DUAL | {"prob": 0.2, "drops": 7, "ecn_mark": 9, "qlen": 12}, {}),
        ("red", IDLE | {"drops": 7, "early": 7, "marked": 2, "overlimits": 9}, {}),
    ],
)
def test_a_queue_at_work_gets_no_comment(kind, counters, how):
    assert said(kind, counters, **how) == ()


def test_all_of_it_is_in_sentences():
    worst = PIE | {"prob": 0.9, "drops": 90, "overlimit": 3, "maxq": 900, "qlen": 800}
    found = said("pie", worst)
    assert [line.split(":")[0] for line in found] == [
        "overloaded",
        "its buffer was full",
        "no ECN-capable packet seen while p was below 10 %",
    ]
    assert all(line.endswith(".") for line in found)


@pytest.mark.parametrize(
    ("kind", "full"),
    [
        ("pie", {"overlimit": 7}),
        ("fq_pie", {"overlimit": 3, "overmemory": 4}),
        ("codel", {"drop_overlimit": 7}),
        ("fq_codel", {"drop_overlimit": 5, "drop_overmemory": 2}),
        ("red", {"pdrop": 7}),
    ],
)
def test_what_found_no_room_is_no_signal(kind, full):
    """Of 7 drops all were at the limit: nothing follows about ECN; of 11 drops 4 were signals."""
    busy = {"packets": 9000, "prob": 0.01, "qlen": 12}
    (only,) = said(kind, busy | full | {"drops": 7})
    assert only.startswith("its buffer was full: 7 of 7 drops since it was made were at the limit")
    found = said(kind, busy | full | {"drops": 11})
    assert found[0].startswith("its buffer was full: 7 of 11 drops")
    assert "all 4 signals since it was made were drops" in found[1]


def test_two_snapshots_say_what_happened_between():
    before = PIE | {"drops": 70, "overlimit": 30, "ecn_mark": 5, "prob": 0.2}
    after = before | {"packets": 9900}
    assert said("pie", before, after | {"prob": 0.0})[0].startswith("p is 0.2")  # at one of them
    calm = before | {"prob": 0.0}
    (only,) = said("pie", calm, calm | {"packets": 9900})
    assert only == (
        "not the bottleneck: of 900 packets sent between the snapshots none was marked or dropped."
    )
    assert said("pie", after, after)[0] == "no packet has left between the snapshots."
    # counters that fell are those of a queue that was made anew
    anew = PIE | {"packets": 10}
    assert "10 packets sent since it was made" in said("pie", before, anew)[0]


# --- CoDel's queues and others --------------------------------------------------------------

BUSY = IDLE | {"drops": 1400, "packets": 9016, "new_flow_count": 3979, "maxpacket": 1643}
TINS = IDLE | {
    "drops": 13,
    "tins": ("Tin 0",),
    "tin_target": (0.005,),
    "tin_interval": (0.1,),
    "tin_pk_delay": (4e-5,),
    "tin_av_delay": (4e-6,),
    "tin_pkts": (9013,),
    "tin_drops": (13,),
    "tin_marks": (2,),
    "tin_un_flows": (0,),
}
STANDING = TINS | {"tin_av_delay": (0.0154,), "tin_pk_delay": (0.0262,)}


@pytest.mark.parametrize(
    ("kind", "counters", "how", "found"),
    [
        # W = sqrt(3/(2p)), of Mathis et al. (1997), at p = 1400/10416 is 3.34
        ("fq_codel", BUSY, {}, "13 % of the packets that came .* some 3.3 packets"),
        ("fq_codel", BUSY, {}, r"44 % of the packets \(3979 of 9016\) found no other"),
        ("fq_codel", BUSY | {"new_flow_count": 9}, {}, "nearly all are of flows that keep"),
        ("fq_codel", IDLE | {"drops": 90, "ecn_mark": 4}, {}, "hardly any sender uses ECN: .* 4 p"),
        (
            "fq_codel",
            BUSY | {"maxpacket": 65226},
            {"options": {"quantum": 1514}, "rate": 10e6},
            "65226 bytes, 44 turns of its quantum, 52.2 ms at this rate: offloads",
        ),
        ("codel", IDLE | {"drops": 9, "ldelay": 0.02}, {"options": {"target": 0.005}}, "20 ms, ta"),
        ("cake", TINS, {}, "its queue is empty: .* 4 us on average and 40 us at peaks"),
        ("cake", TINS, {"options": {"bandwidth": 5e6}}, "its bandwidth, 5 Mbit/s, is more than"),
        ("cake", TINS, {"options": {"bandwidth": None}}, "it shapes nothing"),
        ("cake", STANDING, {}, "Tin 0: 9013 packets .* 15.4 ms on average .3.1 times the target"),
        ("cake", STANDING | {"tin_un_flows": (2,)}, {}, "Tin 0: 2 flows do not answer now"),
        ("cake", STANDING | {"tin_drops": (900,)}, {}, "Tin 0: overloaded: 10 %"),
        ("cake", TINS | {"memory_used": 95, "memory_limit": 100}, {}, "its memory was full"),
        (
            "cake",
            TINS | {"capacity_estimate": "10Mbit"},
            {"options": {"bandwidth": 5e6, "autorate": False}},
            "its capacity estimate, 10 Mbit/s, is no measurement",
        ),
        ("htb", IDLE | {"overlimits": 17}, {}, "it shapes: 17 times"),
        ("tbf", IDLE | {"overlimits": 0}, {}, "none had to wait for its rate"),
        ("netem", IDLE | {"drops": 3}, {}, "3 of 9003 packets were dropped"),
        ("fq", IDLE | {"throttled": 4, "flows_plimit": 2}, {}, "2 packets were .* flow_limit"),
        ("pfifo_fast", IDLE | {"drops": 3}, {}, "drops at its tail"),
    ],
)
def test_queues_without_a_loop_have_words_of_their_own(kind, counters, how, found):
    assert re.search(found, " ".join(said(kind, counters, **how)))


@pytest.mark.parametrize(
    ("kind", "counters", "how", "unsaid"),
    [
        ("fq_codel", BUSY | {"drops": 100}, {}, "overloaded"),  # 1 %
        ("fq_codel", IDLE | {"drops": 90, "ecn_mark": 40}, {}, "uses ECN"),
        ("fq_codel", BUSY, {}, "offloads"),
        ("cake", TINS | {"tin_backlog": (1514,)}, {}, "is empty"),
        ("cake", STANDING, {}, "is empty"),
        ("cake", TINS | {"tin_pkts": (0,)}, {}, "Tin 0:"),
        (
            "cake",
            TINS | {"capacity_estimate": "9Mbit"},
            {"options": {"bandwidth": 5e6, "autorate": True}},
            "no measurement",
        ),
    ],
)
def test_what_the_counters_do_not_show_is_not_said(kind, counters, how, unsaid):
    assert unsaid not in " ".join(said(kind, counters, **how))


def test_tins_are_counted_between_snapshots():
    """Counts of a tin are differences; delays are those shown last."""
    later = STANDING | {"packets": 9900, "tin_pkts": (9913,), "tin_drops": (14,), "drops": 14}
    text = " ".join(said("cake", TINS, later))
    assert "Tin 0: 900 packets between the snapshots, 1 drops, 0 marks; they wait 15.4 ms" in text


# --- in check -------------------------------------------------------------------------------


def block(dev: str = "wan0", packets: int = 8000, dropped: int = 0, qlen: int = 0) -> str:
    return (
        f"qdisc fq_codel 8001: dev {dev} root refcnt 2 limit 10240p flows 1024 quantum 1514 target"
        " 5ms interval 100ms memory_limit 32Mb ecn drop_batch 64 \n"
        f" Sent 1234567 bytes {packets} pkt (dropped {dropped}, overlimits 0 requeues 0) \n"
        f" backlog 0b {qlen}p requeues 0\n"
        "  maxpacket 1514 drop_overlimit 0 new_flow_count 41 ecn_mark 0\n"
        "  new_flows_len 0 old_flows_len 0\n"
    )


def test_queues_without_a_loop_have_counters_too():
    found = pf.check(block() + block("wan1", dropped=7))
    assert [one.observed[0].split(":")[0] for one in found.others] == [
        "not the bottleneck",
        "no ECN-capable packet seen",
    ]
    assert found.verdict == "undecided"
    assert "Two outputs" in found.note


def test_an_output_after_the_other_is_one_queue():
    found = pf.check(block(dropped=7) + block(packets=8800, dropped=7))
    (other,) = found.others
    assert other.observed == (
        "not the bottleneck: of 800 packets sent between the snapshots none was marked or dropped.",
    )
    assert found.note == ""


def test_default_queues_without_a_device_stay_apart():
    """`tc qdisc show dev eth0` prints no device: two such outputs may be of two devices."""
    nameless = block().replace(" dev wan0", "").replace("8001:", "0:")
    assert len(pf.check(nameless + nameless).others) == 2


@pytest.mark.parametrize("title", ["add: codel", "add: red limit", "add: fq_codel"])
def test_every_output_of_a_kernel_has_them(title):
    outputs = re.search(rf"^### {title}.*?(?=^### )", TEXT, re.MULTILINE | re.DOTALL)[0]
    text, exact = (
        outputs.partition(f"--- tc {flags} qdisc show dev r_d\n")[2].partition("---")[0]
        for flags in ("-s -d", "-j -s -d")
    )
    for shown in (text, exact):
        (other,) = pf.check(shown, rate="10Mbit/s").others
        assert other.observed == ("no packet has left since it was made.",)
    json.loads(exact)


@pytest.mark.slow
def test_counters_change_no_verdict(capsys):
    from pi2_fluid.apps.cli import run

    shown = pf.qdisc.show(pf.qdisc.install(pf.presets.linux_dualpi2(), "dualpi2"))
    counted = (
        shown
        + "\n Sent 5 bytes 8000 pkt (dropped 12, overlimits 0 requeues 0)\n backlog 0b 9p requeues"
        " 0\nprob 0.510000 delay_c 40000us delay_l 0us\npkts_in_c 8000 pkts_in_l 0 maxq 33\n"
        "ecn_mark 0 step_mark 0\n"
    )
    assert run(["check", counted]) == run(["check", shown]) == 0
    printed = capsys.readouterr().out
    assert printed.count("overloaded: p' is 0.51") == 1
    assert run(["check", counted, "--json"]) == 0
    observed = json.loads(capsys.readouterr().out)["qdiscs"][0]["observed"]
    assert observed[1].startswith("no L4S packet (ECT(1), or CE) seen since it was made, and what")


def test_what_is_not_shown_was_not_counted():
    """Of a queue whose statistics have no drops, none is made up."""
    heard = Heard(kind="pie", totals={"packets": 10}, now=[{}])
    assert (heard.sent, heard.dropped, heard.marked, heard.at_the_limit) == (10, 0, 0, 0)
    assert Heard(kind="pie", totals={"drops": 3}, now=[{}]).dropped == 3
