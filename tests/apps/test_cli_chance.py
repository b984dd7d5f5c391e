"""What chance adds: in the printout of margins and check, and in their JSON."""

from __future__ import annotations

import pytest
from shell import answered, printed

import pi2_fluid as pf
from pi2_fluid.apps.cli.chance import plus_minus

LINK = ["margins", "--flows", "10", "--rate", "20Mbit/s", "--path", "40ms"]
NETWORK = """
[[node]]
name = "a"
capacity = "15Mbit/s"
aqm = { kind = "pi2" }
[[node]]
name = "b"
capacity = "12Mbit/s"
aqm = { kind = "pi2" }
[[flows]]
sender = "reno"
count = 6
base_rtt = "80ms"
route = ["a", "b"]
name = "both"
[[flows]]
sender = "reno"
count = 8
base_rtt = "60ms"
route = ["b"]
name = "last"
[[flows]]
sender = "reno"
count = 5
base_rtt = "40ms"
route = ["a"]
name = "first"
"""


def test_margins_say_what_chance_adds_by_both_clocks(capsys) -> None:
    answer = answered(capsys, [*LINK, "--json"])
    out = printed(capsys, LINK)
    for key, clock in (("margins", "rate"), ("ack_margins", "acks")):
        flows = pf.Flows(pf.Reno(), 10, "40ms")
        loop = pf.Loop(flows, pf.Pi2(), capacity="20Mbit/s", update="sampled", clock=clock)
        sd = loop.delay_sd("20ms", cuts="varied")
        assert answer[key]["delay_sd"] == pytest.approx(sd, rel=1e-9)
        assert answer[key]["signal_spread"] == pytest.approx(loop.signal_spread(), rel=1e-9)
        assert plus_minus(sd) in out
    assert "its standard deviation" in out
    assert "Chance drives" not in out  # rho is 0.1


def test_margins_say_where_chance_is_too_large_for_the_loop(capsys) -> None:
    few = ["margins", "--flows", "1", "--rate", "40Mbit/s", "--path", "80ms"]
    assert "Chance drives p' to 0 now and then" in printed(capsys, few)


def test_nothing_is_said_where_it_is_not_known(capsys) -> None:
    queue = ["margins", "--rtt", "100ms", "--p-prime", "0.1"]  # of how many flows is not said
    assert "by chance" not in printed(capsys, queue)
    answer = answered(capsys, [*queue, "--json"])
    assert answer["margins"]["delay_sd"] is None
    assert answer["margins"]["signal_spread"] is None


@pytest.mark.slow
def test_margins_of_a_network_say_it_link_by_link(capsys, tmp_path) -> None:
    path = tmp_path / "two.toml"
    path.write_text(NETWORK, encoding="utf-8")
    answer = answered(capsys, ["margins", str(path), "--json"])
    assert set(answer["margins"]["delay_sd"]) == {"a", "b"}
    out = printed(capsys, ["margins", str(path)])
    for sd in answer["margins"]["delay_sd"].values():
        assert plus_minus(sd) in out


@pytest.mark.slow
def test_check_says_it_at_the_rate_of_a_link(capsys) -> None:
    line = "tc qdisc replace dev eth0 root dualpi2 max_rtt 100ms"
    asked = ["check", line, "--rate", "40Mbit/s", "--flows", "2:20"]
    most, fewest = answered(capsys, [*asked, "--json"])["qdiscs"][0]["chance"]
    assert (most["flows"], fewest["flows"]) == (20, 2)
    assert most["delay_sd"] < fewest["delay_sd"]
    out = " ".join(printed(capsys, asked).split())
    assert f"{plus_minus(most['delay_sd'])} with 20 flows" in out
    assert "with 2 flows p' falls to 0 now and then" in out
    assert plus_minus(fewest["delay_sd"]) not in out  # which the linear loop does not know
    assert answered(capsys, ["check", line, "--json"])["qdiscs"][0]["chance"] == []
    assert "by chance" not in printed(capsys, ["check", line])
