"""Lines that ask tc for a queue: read as tc reads them, refused where tc or the kernel refuses."""

from __future__ import annotations

import re
import shlex
from collections import Counter

import pytest
from refusals import refused
from tc_oracle import (
    BEFORE,
    DELIBERATE,
    KINDS,
    Answer,
    ask,
    can_ask,
    disagreements,
    draw,
    kept_answers,
    known,
)

import pi2_fluid as pf
from pi2_fluid.tc.block import Block
from pi2_fluid.tc.observing import observe
from pi2_fluid.tc.red import red_as_shown

KEPT = kept_answers()
ROWS = [(version, answer) for version, answers in KEPT.items() for answer in answers]


def asked(words: str) -> Block:
    (block,) = observe(f"{BEFORE} {words}").blocks
    return block


def trouble(words: str) -> str:
    return str(asked(words).trouble or "")


def read(words: str) -> dict[str, float]:
    block = asked(words)
    assert block.trouble is None, block.trouble
    return block.options if block.ours else block.words


# --- a tc's own answers ---------------------------------------------------------------------


@pytest.mark.parametrize("version", KEPT)
def test_recorded_lines_are_read_as_tc_read_them(version):
    assert disagreements(KEPT[version]) == []


def test_the_rows_cover_every_kind_and_both_answers():
    found = Counter((answer.line[0], answer.sent) for _, answer in ROWS)
    assert {kind for kind, _ in found} == set(KINDS)
    assert all(found[kind, sent] >= 9 for kind in KINDS for sent in (True, False))
    assert sum(bool(answer.numbers) for _, answer in ROWS) >= 150


def test_every_reason_to_refuse_what_tc_sends_is_needed():
    refusals = [trouble(shlex.join(answer.line)) for _, answer in ROWS if answer.sent]
    refusals += [trouble("cake overhead ''")]
    refusals += [trouble(f"red limit 100k avpkt 1k probability {text}") for text in ("1", "2%")]
    for pattern in DELIBERATE:
        assert any(re.search(pattern, text) for text in refusals), pattern


def test_a_disagreement_is_seen():
    wrong = [
        Answer(("pie", "alpha", "3"), sent=False, numbers=None),
        Answer(("pie", "alpha", "+"), sent=True, numbers=None),
        Answer(("pie", "alpha", "010"), sent=True, numbers={"alpha": 10}),
    ]
    assert len(disagreements(wrong)) == 3


@pytest.mark.slow
@pytest.mark.skipif(not can_ask(), reason="no tc here, or no namespace to ask it in")
def test_drawn_lines_are_read_as_this_tc_reads_them():
    """Other lines each time the grammar changes, as they are drawn of its words."""
    assert disagreements(ask(draw(known(KINDS), 500, seed=3))) == []


# --- what was found so ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "option", "number"),
    [
        ("pie alpha +3", "alpha", 3),
        ("pie alpha ' 7'", "alpha", 7),
        ("pie target 0x10", "target", 16),
        ("pie target +5ms", "target", 5000),
        ("pie target 4294s", "target", 4294 * 10**6),
        ("fq_pie quantum 0x200", "quantum", 512),
        ("fq_pie flows 65536", "flows", 65536),
        ("fq_pie ecn_prob 99", "ecn_prob", 99),
        ("dualpi2 memlimit +3", "memlimit", 3),
        ("dualpi2 memlimit 010", "memlimit", 10),  # which is decimal here
        ("dualpi2 classic_protection 0", "classic_protection", 0),
        ("dualpi2 classic_protection 100", "classic_protection", 100),
        ("dualpi2 alpha 0x1", "alpha", 256),
        ("codel target 5ms", "target", 5000),
        ("fq_codel ce_threshold_selector 1/3", "ce_threshold_selector", 259),
        ("cake bandwidth 5mbit rtt 30ms", "bandwidth", 625_000),
        ("cake overhead -4", "overhead", -4),
    ],
)
def test_what_tc_reads_is_read(words, option, number):
    assert read(words)[option] == number


def test_pie_keeps_longer_times_than_dualpi2():
    law = pf.Pie(target="10s", update_interval="5s")
    assert pf.qdisc.parse(pf.qdisc.to_tc(law, "pie"))[0].aqm.target == 10.0
    with refused(pf.DomainError, match="outside the 1us to 4.29s that"):
        pf.qdisc.to_tc(pf.DualPi2(target="10s"), "dualpi2")
    with refused(pf.DomainError, match="outside the 1us to 4294.96s that"):
        pf.qdisc.to_tc(pf.Pie(target="5000s"), "pie")


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_any_protection_of_classic_packets_comes_back(share):
    line = pf.qdisc.to_tc(pf.DualPi2(c_protection=share), "dualpi2")
    (queue,) = pf.qdisc.parse(line)
    (shown,) = pf.qdisc.parse(pf.qdisc.show(queue))
    assert queue.aqm.c_protection == shown.aqm.c_protection == share


def test_a_step_in_packets_has_all_suffixes_of_tc():
    for text in ("3p", "3pkt", "3pkts", "3packet", "3packets", "+3p"):
        assert asked(f"dualpi2 step_thresh {text}").step_packets == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("fq_pie ecn_prob 100", r"give a whole number in \[1, 99\]"),
        ("fq_pie flows 65537", r"give a whole number in \[1, 65536\]"),
        ("fq_pie quantum 2mb", "give 1 to 1048576 bytes"),
        ("fq_codel flows 70000", r"give a whole number in \[1, 65536\]"),
        ("dualpi2 coupling_factor 0", r"give a whole number in \[1, 255\]"),
        ("pie target 5000s", "beyond the 4294s that tc counts, of which tc makes 705s on x86"),
        ("pie target inf", "makes 0, which asks for nothing, on x86"),
        ("pie target nan", "is no number, of which tc makes 0, which asks for nothing"),
        ("dualpi2 alpha nan", "and what tc makes of it depends on the processor"),
        ("pie target -1", "is negative, and tc refuses it"),
        (
            "dualpi2 typical_rtt 0",
            "typical_rtt of .*: 0 in whole microseconds, which tc takes as not given",
        ),
        ("codel flows 5", "'flows' is no word of tc for codel"),
        ("cake lan internet", "has lan and internet, of which tc takes one"),
        ("cake bandwidth 5", None),
        ("red limit 1000", "limit or avpkt of red dev lo is missing or 0"),
        ("red limit 100k avpkt 1k min 10k max 30k burst 1", "give at least 10 packets"),
        ("red limit 100k avpkt 1k min 30k max 10k burst 50", "is below min"),
        ("red limit 100k avpkt 1k probability 1", r"is outside \(0, 1\), and tc refuses it"),
        ("red limit 100k avpkt 1k probability 2%", "is 2 for tc, which ignores what follows"),
        ("red limit 100k avpkt 1k probability 1e-7", "too small over"),
        ("red limit 100k avpkt 1k qevent other block 1", "write it as early_drop block 10"),
    ],
)
def test_what_tc_or_the_kernel_refuses_or_changes_is_refused(words, said):
    if said is None:
        assert trouble(words) == ""
        return
    with refused((pf.QuantityError, pf.DomainError), match=said):
        raise asked(words).trouble


@pytest.mark.slow
def test_a_refused_line_of_another_kind_is_said_by_check():
    line = "tc qdisc replace dev eth0 root fq_codel flows 70000"
    found = pf.check(f"{line}\ntc qdisc replace dev eth1 root pie")
    (other,) = found.others
    assert other.verdict == "undecided"
    assert "flows of fq_codel dev eth0 = '70000' is outside" in other.text


def test_a_red_without_a_burst_has_that_of_its_thresholds():
    """(2 min + max) / (3 avpkt), by tc-red(8); it decides how slowly RED averages."""
    base = {"limit": 400_000, "avpkt": 1000, "min": 30_000, "max": 90_000}
    assert red_as_shown(base, None, "red") == red_as_shown(base | {"burst": 50}, None, "red")
    shifts = [red_as_shown(base | {"burst": n}, None, "red")["ewma"] for n in (40, 50, 200)]
    assert shifts == sorted(shifts)
    assert shifts[0] < shifts[-1]
