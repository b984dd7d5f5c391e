"""`pi2-fluid check` of what people paste: what was read is said, and names are names."""

from __future__ import annotations

import re

import pytest
from pastes import Queue, printed
from shell import assert_bad_input, strict_json

from pi2_fluid.apps.cli import run

CODEL = Queue("wan0", "fq_codel", "0:", "root", 9000)
CAKE = "qdisc cake d5a2: parent 6:156 bandwidth unlimited diffserv4 triple-isolate\n"


def check(capsys, tmp_path, text: str, *words: str) -> tuple[int, str]:
    path = tmp_path / "paste.txt"
    path.write_text(text)
    return run(["check", str(path), *words]), " ".join(capsys.readouterr().out.split())


def test_a_handle_has_one_colon(capsys, tmp_path):
    unnamed = "\n".join(["qdisc mq 0: root", *printed(CODEL, named=False), CAKE])
    _, out = check(capsys, tmp_path, unnamed)
    assert "fq_codel 0: no verdict fq_codel drops by CoDel" in out
    assert "cake d5a2: parent 6:156 no verdict cake drops by CoDel" in out
    assert "::" not in out


def test_queues_without_a_verdict_come_with_a_command_that_compares_them(capsys, tmp_path):
    """With what is known of the traffic; the command that is printed runs."""
    text = "\n".join([*printed(CODEL, named=True), CAKE])
    _, out = check(capsys, tmp_path, text, "--rate", "5Mbit/s", "--max-base-rtt", "30ms")
    (command,) = re.findall(r"pi2-fluid (compare --aqm fq_codel,cake,pie,dualpi2 .* 30ms)", out)
    assert command.endswith("--flows 4 --rate 5Mbit/s --path 30ms")
    assert "cake runs in a real kernel, which `pi2-fluid linux build` builds once." in out
    short = command.replace(",cake", "").split()  # without what needs a kernel
    assert run([*short, "--duration", "2s", "--seeds", "2"]) == 0
    assert "difference from fq_codel" in capsys.readouterr().out
    assert "compare" not in check(capsys, tmp_path, "qdisc pie 1: root limit 1000p")[1]


def test_what_was_read_is_said_where_queues_do_not_say_it(capsys, tmp_path):
    lines = printed(CODEL, named=False)
    text = "\n".join(["$ tc -s qdisc show dev wan0", *lines, "$ tc -s qdisc show dev lan0", *lines])
    code, out = check(capsys, tmp_path, text)
    assert code == 3
    assert out.startswith("read: 2 devices (wan0, lan0) fq_codel 0: dev wan0 no verdict")
    run(["check", text, "--json"])
    assert strict_json(capsys.readouterr().out)["read"] == "2 devices (wan0, lan0)"
    _, out = check(capsys, tmp_path, "\n".join(printed(CODEL, named=True)))
    assert "read:" not in out


def test_queues_alike_are_named_once_where_they_are_silent(capsys, tmp_path):
    text = 3 * "qdisc noqueue 0: dev lo root refcnt 2\n" + CAKE
    _, out = check(capsys, tmp_path, text)
    assert out.count("noqueue 0: dev lo") == 1


def test_classes_before_queues_are_no_reason_to_refuse(capsys, tmp_path):
    text = "class htb 1:10 root leaf 8001: rate 5Mbit ceil 5Mbit\n" + CAKE
    assert check(capsys, tmp_path, text)[0] == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[Match]\nName=eth0\n[Network]\nDHCP=yes\n", "there is no pie, fq_pie or dualpi2 in"),
        ("[root@fw ~]# tc qdisc show\n[root@fw ~]# ", "there is no pie, fq_pie or dualpi2 in"),
        ('node_qdisc_backlog{device="a",kind="pie"} 6\n', "name pie on a, and none of its options"),
        ('[{"kind": "pie", "handle":', "the JSON cannot be read"),
        ("qdisc pie 1: dev eth0 root refcnt 2\n", "this tc is older than pie"),
    ],
)
def test_the_reason_is_the_true_one(capsys, tmp_path, text, said):
    path = tmp_path / "paste.txt"
    path.write_text(text)
    assert_bad_input(capsys, ["check", str(path)], said)


@pytest.mark.slow
def test_counters_of_queues_alike_are_told_apart(capsys, tmp_path):
    queues = [Queue("eth0", "pie", f"{n}:", f"1:{n}", packets) for n, packets in ((1, 9), (2, 0))]
    text = "\n".join(line for queue in queues for line in printed(queue, named=True))
    _, out = check(capsys, tmp_path, text, "--hz", "1000", "--rtt", "50ms")
    assert "at 1:1, not the bottleneck: of 9 packets" in out
    assert "at 1:2, no packet has left since it was made." in out


SQM = """qdisc htb 1: dev eth9 root refcnt 2 r2q 10 default 16 direct_packets_stat 4 direct_qlen 3
 Sent 11639000 bytes 9020 pkt (dropped 1400, overlimits 17000 requeues 0)
 backlog 8003b 6p requeues 0
qdisc fq_codel 110: dev eth9 parent 1:10 limit 1001p flows 1024 quantum 1526 target 17.7ms\
 interval 112.7ms memory_limit 32Mb
 Sent 11632000 bytes 9016 pkt (dropped 1400, overlimits 0 requeues 0)
 backlog 8003b 6p requeues 0
  maxpacket 1643 drop_overlimit 0 new_flow_count 3979 ecn_mark 0 memory_used 11202
""".replace("\\\n", "")


def test_a_thin_line_is_told_what_is_wrong(capsys, tmp_path):
    _, out = check(capsys, tmp_path, SQM, "--rate", "860kbit/s", "--max-base-rtt", "60ms")
    assert "overloaded: 13 % of the packets" in out
    assert "kept: target 17.7 ms is more than one packet takes at 860 kbit/s, 14.1 ms." in out
    assert "waiting: 6 packets (8003 bytes, 74.4 ms at 860 kbit/s) wait in fq_codel 110:" in out
    assert "tree:" not in out  # one below one: the blocks say as much
    assert "With --engine linux it is a real kernel" in out
    (command,) = re.findall(r"pi2-fluid (compare --aqm fq_codel:.* 60ms)", out)
    assert "fq_codel:target=17.7ms,interval=112.7ms,quantum=1526B,pie" in command
    assert run([*command.split(), "--duration", "4s", "--seeds", "2"]) == 0
    capsys.readouterr()


def test_hardware_queues_are_one_block_below_their_parent(capsys, tmp_path):
    child = "qdisc fq_codel 0: dev eth0 parent :{} limit 10240p flows 1024 quantum 1514 target 5ms"
    child += " interval 100ms memory_limit 32Mb ecn drop_batch 64"
    lines = ["qdisc mq 0: dev eth0 root", *(child.format(n) for n in (1, 2, 3, 4, 5, 6))]
    _, out = check(capsys, tmp_path, "\n".join(lines))
    assert out.count("no linear loop") == 1
    assert "fq_codel 0: dev eth0, 6 times: parent :1, :2, :3, :4 and 2 more" in out
    assert "tree: mq 0: dev eth0 6 times fq_codel 0: at :1 to :6" in out
    assert "only where the device itself is the slowest" in out


def test_rules_that_are_not_kept_come_with_a_line(capsys, tmp_path):
    text = "tc qdisc add dev eth0 parent 1:4 handle 40: netem delay 1000ms\n"
    _, out = check(capsys, tmp_path, text, "--rate", "20Mbit/s")
    assert "NOT KEPT: its limit of 1000 packets" in out
    assert "tc qdisc replace dev eth0 parent 1:4 handle 40: netem delay 1000ms limit 2000" in out
    run(["check", text, "--rate", "20Mbit/s", "--json"])
    answer = strict_json(capsys.readouterr().out)
    (other,) = answer["others"]
    assert other["rules"][0]["kept"] is False
    assert other["lines"] == [
        "tc qdisc replace dev eth0 parent 1:4 handle 40: netem delay 1000ms limit 2000"
    ]
    assert (answer["waiting"], answer["tree"]) == ("", [])
