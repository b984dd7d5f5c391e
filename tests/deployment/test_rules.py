"""Rules of thumb: CoDel's, the bursts of shapers, the limit of netem; and where packets wait."""

from __future__ import annotations

import pytest

import pi2_fluid as pf
from pi2_fluid.deployment.rules import Rule


def rules_of(text: str, **how: object) -> dict[str, Rule]:
    return {rule.name: rule for other in pf.check(text, **how).others for rule in other.rules}


def kept(text: str, **how: object) -> list[bool | None]:
    return [rule.kept for rule in rules_of(text, **how).values()]


LINE = "tc qdisc add dev dsl0 root {} target {} interval {}"


@pytest.mark.parametrize(
    ("target", "interval", "rate", "rtt", "expected"),
    [
        ("5ms", "100ms", "10Mbit/s", "100ms", [True, True, True]),
        ("5ms", "100ms", None, None, [None, None, True]),
        # a packet of 1514 bytes takes 24.2 ms at 500 kbit/s
        ("5ms", "100ms", "500kbit/s", "100ms", [False, True, True]),
        ("24ms", "240ms", "505kbit/s", "200ms", [True, True, True]),
        # RFC 8289, 4.3: an interval of 100 ms is excellent from 10 to 300 ms
        ("5ms", "100ms", "10Mbit/s", "300ms", [True, True, True]),
        ("5ms", "100ms", "10Mbit/s", "400ms", [True, False, True]),
        ("5ms", "100ms", "10Mbit/s", "12ms", [True, True, True]),
        ("5ms", "100ms", "10Mbit/s", "8ms", [True, False, True]),
        ("1ms", "100ms", "100Mbit/s", "100ms", [True, True, False]),
        ("20ms", "100ms", "100Mbit/s", "100ms", [True, True, False]),
        # above 10 %, which one packet makes so on a thin line, and nobody knows without a rate
        ("17.7ms", "112.7ms", "860kbit/s", "100ms", [True, True, True]),
        ("17.7ms", "112.7ms", None, "100ms", [None, True, None]),
    ],
)
@pytest.mark.parametrize("kind", ["codel", "fq_codel"])
def test_codels_rules(kind, target, interval, rate, rtt, expected):
    assert kept(LINE.format(kind, target, interval), rate=rate, rtt=rtt) == expected


@pytest.mark.parametrize("rate", ["100kbit/s", "700kbit/s", "2Mbit/s", "50Mbit/s", "1Gbit/s"])
@pytest.mark.parametrize("rtt", ["5ms", "40ms", "100ms", "300ms"])
@pytest.mark.parametrize("numbers", [("5ms", "100ms"), ("1ms", "5ms"), ("40ms", "50ms")])
def test_the_line_that_is_given_keeps_all_rules(rate, rtt, numbers):
    """What is printed is judged like what was pasted; on thin lines with the target in the path."""
    text = LINE.format("fq_codel", *numbers) + " quantum 300 noecn"
    (other,) = pf.check(text, rate=rate, rtt=rtt).others
    if all(rule.kept for rule in other.rules):
        assert other.lines == ()
        return
    (line,) = other.lines
    assert line.startswith("tc qdisc replace dev dsl0 root fq_codel target ")
    assert line.endswith("quantum 300 noecn")
    (again,) = pf.check(line, rate=rate, rtt=rtt).others
    slow = 8 * 1514 / pf.Link(rate).capacity
    late = [one for one in again.rules if not one.kept]
    if slow * 3 > float(rtt[:-2]) / 1e3:  # a packet is a third of the path: no interval suits both
        late = [one for one in late if not one.name.startswith("interval")]
    assert late == []


def test_a_running_queue_is_changed_where_it_is():
    shown = "qdisc fq_codel 110: dev eth9 parent 1:10 limit 1001p flows 1024 quantum 300"
    shown += " target 1ms interval 100ms memory_limit 32Mb ecn drop_batch 64"
    (other,) = pf.check(shown, rtt="100ms", rate="10Mbit/s").others
    line = "tc qdisc change dev eth9 parent 1:10 handle 110: fq_codel target 5ms interval 100ms"
    assert other.lines == (line,)
    below = shown.replace("110:", "0:").replace("1:10", ":3")  # tc cannot change that
    assert pf.check(below, rtt="100ms", rate="10Mbit/s").others[0].lines == ()


def test_cake_minds_the_packet_by_itself():
    line = "tc qdisc add dev dsl0 root cake bandwidth 500kbit rtt {}"
    assert kept(line.format("100ms"), rtt="100ms") == [True]
    assert kept(line.format("10ms"), rtt="100ms") == [False]
    (other,) = pf.check(line.format("10ms"), rtt="100ms").others
    assert other.lines == ("tc qdisc change dev dsl0 root cake rtt 100ms",)
    assert other.word == "cake:rtt=10ms"
    assert kept("tc qdisc add dev dsl0 root cake", rate="500kbit/s", rtt="100ms") == [False, True]


def test_a_network_processor_has_codels_numbers():
    text = "qdisc nsstbl 1: dev eth0 root refcnt 2 buffer/maxburst 4554b rate 37Mbit mtu 1518b\n"
    text += "qdisc nssfq_codel 10: dev eth0 parent 1: target 3.5ms limit 304p interval 50ms"
    assert kept(text, rtt="200ms") == [True, False, True]
    assert "network processor" in pf.check(text).others[1].text


# --- shapers and netem ----------------------------------------------------------------------

HTB = "qdisc htb 1: dev wan root refcnt 2 r2q 10 default 0x10 direct_packets_stat 0\n"
CLASS = "class htb 1:10 {} leaf 10: prio 1 rate {} ceil {} burst {} cburst {}\n"


@pytest.mark.parametrize(
    ("rate", "burst", "expected"),
    [
        ("900Mbit", "5000b", False),  # 44 us: a router got 65 % of its rate so
        ("900Mbit", "112500b", True),
        ("900Mbit", "64Kb/1", True),
        ("10Mbit", "1600b", True),
    ],
)
def test_a_burst_lasts_as_long_as_the_kernel_is_late(rate, burst, expected):
    (other,) = pf.check(HTB + CLASS.format("root", rate, rate, burst, burst)).others
    (rule,) = other.rules
    assert rule.kept is expected
    assert bool(other.lines) is not expected


def test_the_line_for_a_class_repeats_what_it_has():
    text = HTB + CLASS.format("parent 1:1", "900Mbit", "900Mbit", "5000b", "5000b")
    (line,) = pf.check(text).others[0].lines
    assert line == (
        "tc class change dev wan parent 1:1 classid 1:10 htb rate 900000kbit ceil 900000kbit burst"
        " 112500 cburst 112500 prio 1"
    )
    typed = HTB + line.replace("change", "add")
    assert all(rule.kept for rule in pf.check(typed).others[0].rules)


def test_a_class_within_its_parent_and_a_default():
    wide = CLASS.replace("1:10", "1:1").format("root", "10Mbit", "10Mbit", "15Kb", "15Kb")
    inner = CLASS.format("parent 1:1", "20Mbit", "20Mbit", "15Kb", "15Kb")
    found = rules_of(HTB + wide + inner)
    assert found["rate within its parent's"].kept is False
    found = rules_of(HTB.replace("default 0x10", "default 0").replace("stat 0", "stat 7"))
    assert found["a default class"].kept is False
    assert "7 packets did" in found["a default class"].text
    found = rules_of(HTB.replace("0x10", "0x30") + inner)
    assert found["a default class"].kept is None


def test_tbf_has_a_burst_too():
    tbf = "qdisc tbf 1: dev wan root refcnt 2 rate {} burst 5Kb lat 50ms"
    assert kept(tbf.format("5Mbit")) == [True]
    assert kept(tbf.format("900Mbit")) == [False]


@pytest.mark.parametrize(
    ("words", "rate", "expected", "limit"),
    [
        ("delay 1000ms", "20Mbit/s", False, 2000),  # 1651 packets under way
        ("delay 1000ms limit 3000", "20Mbit/s", True, None),
        ("delay 1000ms", None, None, None),
        ("delay 100ms 50ms", "100Mbit/s", False, 1500),  # with jitter: 1238
        ("delay 10ms", "100Mbit/s", True, None),
        ("delay 500000 rate 50mbit", None, False, 2500),  # a bare number is microseconds
    ],
)
def test_netem_holds_what_is_under_way(words, rate, expected, limit):
    line = f"tc qdisc add dev eth0 root netem {words}"
    (other,) = pf.check(line, rate=rate).others
    (rule,) = other.rules
    assert rule.kept is expected
    if limit is None:
        assert other.lines == ()
    else:
        assert other.lines[0].endswith(f"limit {limit}")
        assert all(one.kept for one in pf.check(other.lines[0], rate=rate).others[0].rules)


def test_netem_as_json():
    options = '"limit": 1000, "delay": {"delay": 1.0, "jitter": 0.0, "correlation": 0.0}'
    text = f'[{{"kind": "netem", "handle": "1:", "root": true, "options": {{{options}}}}}]'
    (other,) = pf.check(text, rate="20Mbit/s").others
    assert other.rules[0].kept is False
    assert other.lines == ()  # its words are not known in their order
    assert pf.check("tc qdisc add dev eth0 root netem loss 1%").others[0].rules == ()


# --- where packets wait ---------------------------------------------------------------------


def shown(kind: str, handle: str, place: str, packets: int, dev: str = "wan0") -> str:
    return (
        f"qdisc {kind} {handle} dev {dev} {place} refcnt 2\n"
        f" Sent 12345 bytes 1000 pkt (dropped 0, overlimits 0 requeues 0)\n"
        f" backlog {1500 * packets}b {packets}p requeues 0\n"
    )


TREE = shown("htb", "1:", "root", 7) + shown("pfifo", "2:", "parent 1:10", 6)
TREE += shown("pfifo", "3:", "parent 1:20", 1)


def test_the_queue_that_holds_the_backlog_is_named():
    found = pf.check(TREE)
    assert found.waiting == (
        "6 packets (9000 bytes) wait in pfifo 2: dev wan0 parent 1:10; 1 packet (1500 bytes) waits"
        " in pfifo 3: dev wan0 parent 1:20."
    )
    assert found.tree == (
        "htb 1: dev wan0",
        "  pfifo 2: dev wan0 at 1:10",
        "  pfifo 3: dev wan0 at 1:20",
    )
    assert "7.2 ms at 10 Mbit/s" in pf.check(TREE, rate="10Mbit/s").waiting


def test_nothing_waits_is_said_too():
    empty = shown("pfifo", "1:", "root", 0)
    assert pf.check(empty).waiting.startswith("nothing waits in any queue that is shown, at this")
    assert "any of 2 instants" in pf.check(empty + empty).waiting
    assert pf.check("qdisc pfifo 1: dev wan0 root refcnt 2").waiting == ""


def test_handles_of_two_devices_are_two_trees():
    other = shown("htb", "1:", "root", 0, "lan0") + shown("pfifo", "2:", "parent 1:10", 0, "lan0")
    tree = pf.check(TREE + other).tree
    assert [line for line in tree if not line.startswith(" ")] == [
        "htb 1: dev wan0",
        "htb 1: dev lan0",
    ]
    assert sum("lan0" in line for line in tree) == 2


def test_thousands_of_queues_are_one_tree():
    """A shaper for subscribers has a queue for each: looked up, not compared with one another."""
    lines = [shown("htb", "1:", "root", 3)]
    lines += [shown("cake", f"{n:x}:", f"parent 1:{n:x}", int(n == 77)) for n in range(2, 1500)]
    found = pf.check("".join(lines))
    assert len(found.tree) == 1499
    assert found.waiting == "1 packet (1500 bytes) waits in cake 4d: dev wan0 parent 1:4d."
