"""Lines for tc, judged before they run: as the queue that they would make."""

from __future__ import annotations

import io
import json
import sys

import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.apps.cli import run
from pi2_fluid.tc.parsing import parse
from pi2_fluid.tc.showing import show

LINE = "tc qdisc replace dev eth0 root dualpi2 max_rtt 50ms limit 2000 any_ect"


@pytest.fixture
def quick(monkeypatch):
    """Verdicts by the scan alone: what is looked at here is not the proof."""
    from pi2_fluid.deployment import judging

    judge = judging._judge
    monkeypatch.setattr(
        judging, "_judge", lambda qdisc, question, prove: judge(qdisc, question, prove=False)
    )


@pytest.mark.slow
@pytest.mark.parametrize("rtt", ["40ms", "100ms"])
def test_the_verdict_is_that_of_the_queue_once_it_runs(quick, rtt):
    (proposed,) = pf.check(LINE, rtt=rtt)
    (running,) = pf.check(show(parse(LINE)[0]), rtt=rtt)
    assert proposed.verdict == running.verdict == ("stable" if rtt == "40ms" else "unstable")
    # text shows three digits of 8.333 ms
    assert proposed.stable_up_to == pytest.approx(running.stable_up_to, rel=1e-3)
    assert proposed.margins.gain_margin_db == pytest.approx(
        running.margins.gain_margin_db, abs=0.01
    )
    assert (proposed.qdisc.proposed, running.qdisc.proposed) == (True, False)
    assert "judged as if tc had run its line" in proposed.note
    assert "judged as if" not in running.note


@pytest.mark.slow
def test_the_remedy_is_the_whole_line_with_other_gains(quick):
    remedy = pf.check(LINE)[0].remedy
    assert remedy.tc.startswith("tc qdisc replace dev eth0 root dualpi2 target 8333us tupdate ")
    assert remedy.tc.endswith(" limit 2000 any_ect")
    (again,) = pf.check(remedy.tc)
    assert again.verdict == "stable"
    assert not again.at_the_edge
    assert again.remedy.text.startswith("nothing:")
    assert again.qdisc.aqm == remedy.aqm
    assert "does not name" not in again.note


@pytest.mark.slow
def test_pie_is_judged_for_each_kernel_that_may_get_the_line(quick):
    line = "tc qdisc add dev eth0 parent 1:1 handle 10: pie tupdate 20ms"
    (found,) = pf.check(line)
    assert found.verdict == "undecided"
    assert [case.hz for case in found.cases] == [100, 250, 300, 1000]
    assert "does not name alpha, beta, target" in found.note
    (one,) = pf.check(line, hz=100)
    assert one.verdict == "stable"


def test_what_cannot_be_proposed_gets_one_sentence():
    with refused(pf.QuantityError, match="'targt' is no word of tc for dualpi2: give 'target'"):
        pf.check("tc qdisc add dev eth0 root dualpi2 targt 5ms")
    with refused(pf.QuantityError, match="names no queue"):
        pf.check("tc qdisc add dev eth0 root")
    for words, said in {"pi2 limit 100000": "propose dualpi2", "cake": "no linear"}.items():
        (other,) = pf.check(f"tc qdisc add dev eth0 root {words}").others
        assert said in other.text
    for words, said in {
        "red limit 100000": "limit or avpkt of red dev eth0 is missing",
        "cake limit 100000": "'limit' is no word of tc for cake",
    }.items():
        with refused(pf.QuantityError, match=said):
            pf.check(f"tc qdisc add dev eth0 root {words}")


def test_a_red_that_is_proposed_is_judged_as_one_that_runs():
    """By tc's own arithmetic: a burst of 55 packets for min 30 kB is a weight of 2^-5."""
    words = "limit 400000 min 30000 max 90000"
    line = f"tc qdisc add dev eth0 root red {words} avpkt 1000 burst 55"
    shown = (
        f"qdisc red 8001: dev eth0 root {words.replace('000 ', '000b ')}b ewma 5 probability 0.02"
    )
    (proposed,) = pf.check(line, rate="10Mbit/s").others
    (running,) = pf.check(shown, rate="10Mbit/s").others
    assert (proposed.verdict, proposed.text) == (running.verdict, running.text)
    (unknown,) = pf.check(line).others
    assert "depends on the rate of the link" in unknown.text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("min 30000b max 30000b ewma 5", "its min is its max, and a step has no slope"),
        ("min 30000b max 90000b ewma 0", "ewma 0 takes no average"),
    ],
)
def test_a_red_without_a_slope_or_an_average_has_the_true_reason(words, said):
    shown = f"qdisc red 1: dev eth0 root limit 400000b {words} probability 0.02"
    (other,) = pf.check(shown, rate="10Mbit/s").others
    assert other.verdict == "undecided"
    assert said in other.text


@pytest.mark.parametrize("share", [0, 100])
def test_a_dualpi2_that_serves_one_queue_first_is_judged(share):
    (proposed,) = pf.check(f"{LINE} classic_protection {share}", rtt="40ms")
    (usual,) = pf.check(LINE, rtt="40ms")
    assert proposed.qdisc.aqm.c_protection == share / 100
    assert proposed.margins == usual.margins
    (running,) = pf.check(pf.qdisc.show(proposed.qdisc), rtt="40ms")
    assert running.qdisc.asked["classic_protection"] == share / 100


@pytest.mark.slow
def test_at_the_shell(quick, capsys, monkeypatch, tmp_path):
    assert run(["check", LINE, "--rtt", "40ms"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("proposed: dualpi2 dev eth0 root\n  verdict")
    assert "\n  would run with" in printed
    monkeypatch.setattr(sys, "stdin", io.StringIO(LINE))
    assert run(["check", "-", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)["qdiscs"][0]
    assert (told["proposed"], told["handle"]) == (True, None)
    script = tmp_path / "queues.sh"
    script.write_text(f"#!/bin/sh\n{LINE}\ntc qdisc add dev eth1 root pie tupdate 20ms\n")
    assert run(["check", str(script), "--rtt", "40ms"]) == 0
    assert "asks for" in capsys.readouterr().out
