"""FreeBSD's PIE, judged: the loop of the same law, at the rate of its pipe."""

from __future__ import annotations

import json

import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.apps.cli import run

FQ = """\
00001: 100.000 Mbit/s    0 ms burst 0
q65537  50 sl. 0 flows (1 buckets) sched 1 weight 0 lmax 0 pri 0 droptail
 sched 1 type FQ_PIE flags 0x0 0 buckets 0 active
  FQ_PIE target 15ms tupdate 15ms alpha 0.125 beta 1.25 max_burst 150ms max_ecnth 0.1 quantum 1514\
 limit 10240 flows 1024 NoECN CapDrop TS Derand
   Children flowsets: 1
"""
PIPE = """\
00002: 100.000 Mbit/s    0 ms burst 0
q131074  50 sl. 0 flows (1 buckets) sched 65538 weight 0 lmax 0 pri 0  AQM type PIE target 15ms\
 tupdate 15ms alpha 0.125 beta 1.25 max_burst 150ms max_ecnth 0.1 ECN CapDrop OnOff DRE Derand
 sched 65538 type FIFO flags 0x0 0 buckets 0 active
"""
CODEL = " sched 3 type FQ_CODEL flags 0x0 0 buckets 1 active\n FQ_CODEL target 5ms interval 100ms\
 quantum 1514 limit 10240 flows 1024 NoECN\n"


@pytest.fixture
def quick(monkeypatch):
    """Verdicts by the scan alone: what is looked at here is not the proof."""
    from pi2_fluid.deployment import judging

    judge = judging._judge
    monkeypatch.setattr(
        judging, "_judge", lambda qdisc, question, prove: judge(qdisc, question, prove=False)
    )


@pytest.mark.slow
def test_the_loop_is_that_of_rfc_8033(quick):
    """T is 15 ms, where Linux runs 16: the same numbers go as far as 71.0 ms, not 75.2.

    On a link without a rate, as all loads are judged; at 100 Mbit/s one flow goes as far as 71.3.
    Its signals are spread, too ("Derand").
    """
    (found,) = pf.check(FQ)
    assert found.stable_up_to == pytest.approx(0.07127, abs=5e-6)
    for factor, stable in ((0.999, True), (1.001, False)):
        path = factor * found.stable_up_to - found.qdisc.aqm.target
        one = pf.Loop(
            pf.Flows(pf.Reno(), 1, path), pf.Pie(), capacity="100Mbit/s", update="sampled"
        )
        assert bool(one.margins().gain_margin_db > 0.0) == stable
    (found,) = pf.check(FQ.replace("100.000 Mbit/s", "unlimited"))
    assert found.verdict == "unstable"
    assert found.stable_up_to == pytest.approx(0.07104, abs=5e-6)
    assert pf.check(FQ.replace("100.000 Mbit/s", "unlimited"), rtt="71ms")[0].verdict == "stable"
    # at the table's edge u = 1e-5, of which flows hear u/1.85
    for factor, stable in ((0.999, "stable"), (1.001, "unstable")):
        rtt = factor * found.stable_up_to
        edge = pf.Loop(pf.Reno(), pf.Pie(), rtt=rtt, p=1e-5 / 1.85, update="sampled")
        assert edge.margins().verdict == stable
    assert "forgets p" in found.note
    assert "Linux 5.1" not in found.note


@pytest.mark.slow
def test_the_rate_of_the_pipe_says_whether_its_slots_are_enough(quick):
    (found,) = pf.check(PIPE, rtt="60ms")
    assert found.verdict == "undecided"  # 50 packets are 6 ms at 100 Mbit/s
    assert "this one has 100 Mbit/s" in found.reason
    assert "limit of 124 or more" in found.reason
    assert pf.check(PIPE, rtt="60ms", rate="20Mbit/s")[0].verdict == "stable"
    for said in ("DRE", "OnOff"):
        assert said in found.note


@pytest.mark.slow
def test_the_remedy_holds_and_names_all_that_config_would_forget(quick):
    remedy = pf.check(FQ)[0].remedy
    words = remedy.text.partition("fq_pie ")[2].rstrip(".").split()
    assert words[-4:] == ["noecn", "capdrop", "ts", "derand"]
    assert remedy.tc is None
    value = dict(zip(words[:-4:2], words[1:-4:2], strict=True))
    named = "target tupdate alpha beta max_burst max_ecnth quantum limit flows"
    assert " ".join(value) == named
    # as ipfw cuts them
    alpha, beta = (int(8192 * float(value[name])) / 8192 for name in ("alpha", "beta"))
    assert (alpha, beta) == (remedy.aqm.alpha, remedy.aqm.beta)
    mended = FQ.replace("alpha 0.125 beta 1.25", f"alpha {alpha:g} beta {beta:g}")
    (after,) = pf.check(mended)
    assert after.verdict == "stable"
    assert after.remedy.text.startswith("nothing")


@pytest.mark.slow
def test_at_the_shell_among_others(quick, capsys, tmp_path):
    file = tmp_path / "sched.txt"
    file.write_text(CODEL + FQ)
    assert run(["check", str(file), "--rtt", "60ms"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("FQ_PIE sched 1\n  verdict  ")
    assert "\n  runs with  " in printed
    assert "FQ_CODEL sched 3 no verdict fq_codel drops by CoDel" in " ".join(printed.split())
    assert "rounding" not in printed
    assert run(["check", str(file), "--rtt", "60ms", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["qdiscs"][0]
    assert (told["kind"], told["handle"], told["kernel"]) == (
        "FQ_PIE",
        "sched 1",
        "FreeBSD 11 and newer",
    )


def test_what_cannot_be_read_is_refused_or_named():
    with refused(pf.QuantityError, match="'Derandom' of PIE pipe 2 is not known"):
        pf.check(PIPE.replace("Derand", "Derandom"))
    found = pf.check(CODEL)
    assert found.verdict == "undecided"
    assert not found


def test_codels_rules_hold_for_freebsd_too():
    lines = "ipfw pipe 1 config bw 500Kbit/s\nipfw sched 1 config pipe 1 type fq_codel{}"
    (other,) = pf.check(lines.format(""), rtt="100ms").others
    assert [rule.kept for rule in other.rules] == [False, True, True]  # of its 5 and 100 ms
    assert "at 500 kbit/s, 24.2 ms" in other.rules[0].text
    (other,) = pf.check(lines.format(" target 30ms interval 130ms"), rtt="100ms").others
    assert all(rule.kept for rule in other.rules)
    assert pf.check(lines.format(" target soon")).others[0].rules == ()
