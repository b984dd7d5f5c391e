"""Queues as tc shows them, judged: known answers, remedies that hold, text that is not tc's."""

from __future__ import annotations

import io
import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import assert_sentence, refused

import pi2_fluid as pf
from pi2_fluid.apps.cli import run
from pi2_fluid.deployment.verdicts import Checked, Verdict
from pi2_fluid.tc.installing import install
from pi2_fluid.tc.parsing import parse
from pi2_fluid.tc.showing import show, show_json

patient = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])

DATA = Path(__file__).parents[1] / "data"
TEXT = (DATA / "tc_show.txt").read_text(encoding="utf-8")
ANSWERS = {
    row["name"]: row for row in json.loads((DATA / "tune_answers.json").read_text())["answers"]
}
#: (what was asked, tc's command, what it printed)
OUTPUTS = [
    (block.partition("\n")[0], command, printed)
    for block in re.split(r"^### ", TEXT, flags=re.MULTILINE)[1:]
    for command, printed in zip(
        *(iter(re.split(r"^--- (.*)\n", block, flags=re.MULTILINE)[1:]),) * 2, strict=True
    )
]
ALL = next(text for _, command, text in OUTPUTS if "all devices" in command)
LINUX = show(install(pf.presets.linux_dualpi2(), "dualpi2"))
PAPER = show(install(pf.presets.pi2_paper(), "dualpi2"))
PIE = show(install(pf.presets.linux_pie(), "pie"))
REFUSALS = (pf.QuantityError, pf.DomainError, pf.UnsupportedError)


def judged_or_refused(text: str, **how: object) -> Checked | None:
    """The verdicts, or None if the text was refused as it should be."""
    try:
        return pf.check(text, **how)
    except (pf.QuantityError, pf.DomainError) as refused:
        said = refused
    assert_sentence(str(said))
    return None


def only(text: str, **how: object) -> Verdict:
    (verdict,) = pf.check(text, **how)
    return verdict


# --- known answers --------------------------------------------------------------------------


@pytest.mark.slow
def test_linux_default(known):
    found = only(LINUX, rtt="100ms")
    name = "region_worst_linux_dualpi2_default_sampled"
    answer = known.get(name) or ANSWERS[name]
    asked, tol = answer["expected"], answer["tolerance"]
    assert found.verdict == "stable"
    whole = found.margins.gain_margin_db + found.margin_lost_db
    assert whole == pytest.approx(asked["gm_db"], abs=tol["gm_db"])
    # what is cut off makes the loop slower, which leaves it more
    assert asked["gm_db"] < found.margins.gain_margin_db < asked["gm_db"] + 0.01
    assert found.worst[:2] == (0.1, 0.0)
    assert found.worst.sender == pf.Reno()
    assert (found.rtt, found.min_rtt) == (0.1, 0.015)


@pytest.mark.slow
def test_gains_of_the_paper(known):
    found = only(PAPER)  # 100 ms by default
    name = "region_worst_paper_pi2_sampled"
    answer = known.get(name) or ANSWERS[name]
    whole = found.margins.gain_margin_db + found.margin_lost_db
    assert whole == pytest.approx(answer["expected"]["gm_db"], abs=answer["tolerance"]["gm_db"])
    assert whole == pytest.approx(0.103, abs=5e-4)
    assert found.margin_lost_db == pytest.approx(-0.129, abs=5e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "longest"),
    [
        (pf.presets.linux_dualpi2(), 0.10355),
        (pf.presets.pi2_paper(), 0.10118),
        (pf.presets.tc_max_rtt("50ms"), None),
    ],
)
def test_the_limit_is_where_the_loop_of_no_load_loses_its_margin(law, longest):
    queue = install(law, "dualpi2")
    found = only(json.dumps([show_json(queue)]), rtt="60ms")  # times to the last digit
    if longest is not None:
        assert found.stable_up_to == pytest.approx(longest, abs=5e-6)
    assert found.path_up_to == pytest.approx(found.stable_up_to - queue.aqm.target, rel=1e-12)
    for factor, sign in ((1 - 1e-6, 1.0), (1 + 1e-6, -1.0)):
        rtt = factor * found.stable_up_to
        margins = pf.loop.low_load(pf.Reno(), queue.aqm, rtt, "sampled")
        assert math.copysign(1.0, margins.gain_margin_db) == sign


@pytest.mark.slow
def test_default_of_rfc8033_as_linux_runs_it():
    """Each loop by itself, through `Loop`: all stable below the limit, and not all above it."""
    found = only(PIE, rtt="70ms")
    law = pf.Pie(update_interval="16ms")  # a jiffy late
    # the table's edges are of u, of which flows hear u/1.85: its signals are spread
    edges = np.array([1e-5, 1e-4, 1e-3, 1e-2, 1e-1]) / 1.85
    # up to u = 0.85, from where on no signal waits: windows of 2, and no loads that are judged
    last = 0.85 / 1.85 * (1 - 1e-8)
    p = np.unique(np.concatenate([edges, edges * (1 - 1e-8), np.geomspace(1e-6, last, 60)]))

    def worst(rtt):
        loop = pf.Loop(pf.Reno(), law, rtt=rtt, p=p, update="sampled")
        return float(np.min(loop.margins().gain_margin_db))

    assert found.verdict == "stable"
    assert found.margins.gain_margin_db == pytest.approx(worst(0.07), abs=1e-3)
    # A limit of existence, T beta/(2 alpha) = 80 ms, is not the first to bind.
    assert found.stable_up_to == pytest.approx(0.07524, abs=5e-6)
    assert worst(0.999 * found.stable_up_to) > 0.0 > worst(1.001 * found.stable_up_to)
    assert only(PIE, rtt="100ms").verdict == "unstable"


@pytest.mark.slow
def test_the_kernels_ticks_matter():
    slow = show(install(pf.presets.linux_pie(), "pie", hz=100))  # runs at 30 ms
    assert only(slow, hz=100).verdict == "stable"
    assert only(slow, hz=100).stable_up_to == pytest.approx(0.12680, abs=5e-6)
    with pytest.raises(pf.QuantityError, match="hz = 250"):
        pf.check(PIE, hz=250)


@pytest.mark.slow
def test_slower_path_is_unstable_and_so_is_the_whole():
    both = LINUX + "\n" + LINUX.replace("tupdate 16ms", "tupdate 5ms").replace("0:", "1:")
    found = pf.check(both, rtt="80ms")
    assert [one.verdict for one in found] == ["stable", "unstable"]
    assert found.verdict == "unstable"
    assert found[1].stable_up_to < 0.08


@pytest.mark.slow
def test_each_sender_counts():
    """A Scalable sender has half the gain of Reno at k = 2, twice at k = 8: m = k/2 < sqrt 2."""
    law = pf.DualPi2(k=8)
    reno = only(show(install(law, "dualpi2")))
    both = only(show(install(law, "dualpi2")), senders=(pf.Reno(), pf.Scalable()))
    assert (reno.verdict, both.verdict) == ("stable", "unstable")
    assert both.worst.sender == pf.Scalable()


@pytest.mark.slow
def test_modes():
    """The paper's continuous loop does not see what the interval costs: 1.994 dB, not 0.103."""
    found = only(PAPER, update="continuous")
    assert found.margins.gain_margin_db + found.margin_lost_db == pytest.approx(1.994, abs=1e-3)


# --- what was shown -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("title", "command", "printed"), OUTPUTS)
def test_every_output_of_a_kernel_is_judged_or_refused(title, command, printed):
    found = judged_or_refused(printed, hz=1000)
    ours = re.search(r"qdisc (pie|fq_pie|dualpi2)|\"kind\":\"(pie|fq_pie|dualpi2)", printed)
    assert (not found) == (ours is None)
    if found:
        assert [one.qdisc for one in found] == parse(printed)
        expected = {
            "alpha 300": "unstable",  # Hz
            "add: pie": "stable" if "tupdate 32ms" in title else "unstable",
            "add: fq_pie": "unstable",
            "max_rtt 50ms": "unstable",
            "target 20ms tupdate 32ms": "stable",
        }
        words = [verdict for part, verdict in expected.items() if part in title]
        assert found.verdict == (words[0] if words else "stable")


@pytest.mark.slow
def test_places_and_strangers():
    found = pf.check(ALL)
    assert found.foreign == parse(ALL).foreign
    remedy = found[0].remedy
    assert remedy.tc.startswith(
        "tc qdisc change dev r_d parent 1:1 dualpi2 target 15ms tupdate 16ms alpha 0.047998"
    )
    # with no device in the output, one of handle 0 is the kernel's default: tc makes a new one
    assert only(LINUX).remedy.tc.startswith("tc qdisc replace dev DEV root dualpi2 target")
    # and below a queue that has a handle
    child = only(LINUX.replace("root", "dev eth0 parent 1:1")).remedy.tc
    assert child.startswith("tc qdisc replace dev eth0 parent 1:1 dualpi2 target")
    below = LINUX.replace("root", "dev eth0 parent :3")
    refused = only(below).remedy
    assert refused.tc is None
    assert "tc qdisc replace dev eth0 root handle 1: mq" in refused.text


@pytest.mark.slow
def test_a_device_cannot_smuggle_commands():
    entry = show_json(install(pf.presets.linux_dualpi2(), "dualpi2")) | {"dev": "e; reboot"}
    assert "dev 'e; reboot' root" in only(json.dumps([entry])).remedy.tc


@pytest.mark.slow
def test_many_alike_are_judged_once(monkeypatch):
    from pi2_fluid.deployment import verdicts

    calls = []
    search = verdicts.find_remedy
    monkeypatch.setattr(
        verdicts, "find_remedy", lambda *given: calls.append(given) or search(*given)
    )
    lines = [LINUX.replace("0: root", f"{n}: dev eth0 parent 1:{n}") for n in range(1, 9)]
    found = pf.check("\n".join(lines))
    assert len({one.remedy.tc for one in found}) == 8
    assert len(calls) == 1


# --- remedies -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "kind", "rtt", "hz"),
    [
        (pf.presets.linux_dualpi2(), "dualpi2", "100ms", 1000),
        (pf.presets.linux_dualpi2(), "dualpi2", "400ms", 1000),
        (pf.presets.pi2_paper(), "dualpi2", "80ms", 1000),
        (pf.presets.linux_pie(), "pie", "100ms", 1000),
        (pf.presets.linux_pie(), "fq_pie", "60ms", 250),
        (pf.Pie(alpha=2.0, beta=2.0), "pie", "20ms", 1000),
    ],
)
def test_the_remedy_holds_once_it_is_installed(law, kind, rtt, hz):
    before = only(show(install(law, kind, hz=hz)), rtt=rtt, hz=hz)
    remedy = before.remedy
    assert remedy.margins.gain_margin_db >= 6.0
    assert remedy.margins.phase_margin_deg >= 29.95
    after = only(show(install(remedy.asked, kind, hz=hz)), rtt=rtt, hz=hz)
    assert after.qdisc.aqm.alpha == remedy.aqm.alpha
    assert after.qdisc.aqm.update_interval == pytest.approx(remedy.aqm.update_interval)
    assert after.margins.gain_margin_db == pytest.approx(remedy.margins.gain_margin_db, abs=1e-6)
    assert after.remedy.text == "nothing: 6 dB and 30 deg are left everywhere."
    assert after.remedy.tc is None
    # and the line asks for that: T as PIE's jiffies, gains in tc's words
    words = remedy.tc.split()
    asked = dict(zip(words[-8::2], words[-7::2], strict=True))
    scale = 1 if kind == "dualpi2" else 16
    assert float(asked["alpha"]) == pytest.approx(scale * remedy.asked.alpha)
    assert float(asked["beta"]) == pytest.approx(scale * remedy.asked.beta)
    assert float(asked["tupdate"].removesuffix("ms")) == pytest.approx(
        1e3 * remedy.asked.update_interval
    )
    assert asked["target"] == f"{1e3 * law.target:g}ms"


@pytest.mark.slow
def test_the_remedy_of_dualpi2_is_the_design(capsys):
    design = pf.tune("100ms", aqm="dualpi2", target="20ms", update_interval="32ms", min_rtt="20ms")
    assert only(PAPER).remedy.asked.alpha == design.alpha
    assert only(PAPER).remedy.asked.beta == design.beta


@pytest.mark.slow
def test_the_remedy_of_pie_is_the_best_of_all_that_tc_can_ask_for():
    """No pair of sixteenths at a shorter T leaves as much by both clocks."""
    from pi2_fluid.design.by_acks import worst_by_acks
    from pi2_fluid.design.region import Region, worst_margins

    remedy = only(PIE, rtt="100ms").remedy
    assert (16 * remedy.aqm.alpha, remedy.aqm.update_interval) == (1.0, pytest.approx(0.036))
    assert remedy.ack_margins.gain_margin_db >= 6.0
    region = Region((pf.Reno(),), 0.015, 0.1, ((1e-3, 1.0),))

    def keeps(beta):
        law = pf.Pie(alpha=1 / 16, beta=beta / 16, update_interval="35ms")
        found = worst_margins(region, law, "sampled").margins
        if found.gain_margin_db < 6.0 or found.phase_margin_deg < 30.0:
            return False
        return worst_by_acks(region, law, "sampled").worst.margins.gain_margin_db >= 6.0

    assert not any(keeps(beta) for beta in range(14, 40))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "how", "said"),
    [
        (PIE, {"rtt": "400ms"}, "no gains of pie leave 6 dB and 30 deg up to rtt = 0.4 s"),
        (LINUX, {"rtt": "10s"}, "less than dualpi2's step of 1/256 Hz"),
        (
            show(install(pf.DualPi2(k=8), "dualpi2")),
            {"senders": (pf.Reno(), pf.Scalable())},
            "try coupling_factor 2",
        ),
    ],
)
def test_where_no_gains_help_it_says_what_does(text, how, said):
    remedy = only(text, **how).remedy
    assert said in remedy.text
    assert remedy.text.endswith(".")
    assert remedy.tc is None


# --- what cannot be judged ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "error", "said"),
    [
        ({"rtt": "15ms"}, pf.DomainError, "the target 0.015 s of dualpi2 0: is not below rtt"),
        ({"rtt": "20ms", "min_rtt": "30ms"}, pf.DomainError, "min_rtt = 0.03 s of dualpi2 0:"),
        ({"min_rtt": "10us"}, pf.DomainError, "outside [0.00016, 0.1] s"),
        ({"rtt": "100"}, pf.QuantityError, "has no unit"),
        ({"rtt": np.array([0.1, 0.2])}, pf.QuantityError, "is an array: give one number"),
        ({"senders": ()}, pf.QuantityError, "are no senders"),
        ({"senders": (pf.Cbr(rate="1Mbit/s"),)}, pf.UnsupportedError, "hears no signals"),
        ({"update": "exact"}, pf.QuantityError, "update"),
        ({"hz": 0}, pf.QuantityError, "hz = 0"),
    ],
    ids=str,
)
def test_refusals(how, error, said):
    with refused(error, match=re.escape(said)):
        pf.check(LINUX, **how)


def test_an_interval_of_a_hundred_rtts_is_no_loop():
    slow = show(install(pf.DualPi2(update_interval="4s", target="1ms"), "dualpi2"))
    with pytest.raises(pf.DomainError, match=r"min_rtt = 0\.04 s of dualpi2"):
        pf.check(slow, rtt="20ms")


@pytest.fixture
def remembering(monkeypatch):
    """Judge what is read alike once: here the reading is tested."""
    from pi2_fluid.deployment import judging

    judge, known = judging._judge, {}

    def remember(qdisc, question, prove):
        key = (qdisc.kind, str(qdisc.aqm), *qdisc.asked.values(), str(question))
        if key not in known:
            known[key] = judge(qdisc, question, prove=prove)
        return known[key]

    monkeypatch.setattr(judging, "_judge", remember)


@pytest.mark.slow
def test_cut_off_anywhere_it_is_refused_or_the_same(remembering):
    ours, last = ALL.splitlines()[-2:]
    text = "\n".join([show(install(pf.presets.linux_pie(), "fq_pie")), ours, last])
    laws = {(one.qdisc.kind, one.qdisc.aqm.alpha): one for one in pf.check(text)}
    read = 0
    for end in range(len(text)):
        for one in judged_or_refused(text[:end], hz=1000) or ():
            read += 1
            whole = laws[one.qdisc.kind, one.qdisc.aqm.alpha]
            assert one.qdisc.aqm == whole.qdisc.aqm
            assert one.stable_up_to == whole.stable_up_to
    assert read > 30


SEVERAL = [
    line
    for _, command, printed in OUTPUTS
    if command == "tc -s -d qdisc show dev r_d"
    for line in printed.splitlines()
]


def named(queue):
    return queue.kind, queue.handle, queue.parent, queue.dev


@pytest.mark.slow
@patient
@given(st.lists(st.sampled_from(SEVERAL), max_size=12), st.data())
def test_shuffled_lines_and_doubled_words_are_judged_as_read_or_refused(lines, data):
    text = "\n".join(lines)
    if text and data.draw(st.booleans()):
        words = re.split(r"( |\n)", text)
        at = data.draw(st.integers(0, len(words) - 1))
        text = "".join([*words[: at + 1], " ", words[at], *words[at + 1 :]])
    found = judged_or_refused(text, hz=1000)
    if found is not None:
        if all(one.verdict is None for one in found.others):
            # A queue that is shown twice with its counters is one, as it was shown last.
            shown, mine = parse(text) if found else [], [one.qdisc for one in found]
            assert all(one in shown for one in mine)
            assert {named(one) for one in mine} == {named(one) for one in shown}
        assert all(one.verdict in {"stable", "unstable", "undecided"} for one in found)


@pytest.mark.slow
@settings(patient, max_examples=25)  # each is judged by both clocks
@given(
    alpha=st.integers(1, 2**20),
    beta=st.integers(1, 2**20),
    target=st.integers(100, 99_000),
    interval=st.integers(100, 4_000_000),
)
def test_any_queue_that_can_be_installed_gets_a_verdict(alpha, beta, target, interval):
    law = pf.DualPi2(
        alpha=alpha / 256, beta=beta / 256, target=target / 1e6, update_interval=interval / 1e6
    )
    queue = install(law, "dualpi2")
    found = judged_or_refused(json.dumps([show_json(queue)]))
    assert found is not None
    (one,) = found
    assert (one.verdict == "stable") == (one.least.gain_margin_db > 0.0)
    assert (one.stable_up_to >= one.rtt) == (one.verdict == "stable")
    assert not math.isnan(one.margin_lost_db)
    # The loop of no load is stable only below this, whatever the rest.
    if one.verdict == "stable":
        assert one.rtt < queue.aqm.update_interval * queue.aqm.beta / (2 * queue.aqm.alpha)


# --- the command ----------------------------------------------------------------------------


def call(capsys, *words: str, stdin: str | None = None, monkeypatch=None):
    if stdin is not None:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
    code = run(["check", *words])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.slow
def test_command_prints_one_screen(capsys, monkeypatch):
    code, out, _ = call(capsys, "-", stdin=ALL, monkeypatch=monkeypatch)
    assert code == 0
    assert out.startswith("dualpi2 10: dev r_d parent 1:1\n")
    for words in (
        "alpha 0.1601 Hz, beta 3.198 Hz, T 16 ms, target 15 ms",
        "STABLE, but at the edge, for any number of Reno flows with RTTs up to 100 ms (queue",
        "included). Smallest margin: 0.74 dB, by rates.",
        "103.5 ms: a path of 88.55 ms, and the queue",
        "0.74 dB, 1.7 deg by rates (proved)",
        "3.72 dB, 12.2 deg by acknowledgements (checked)",
        "100 ms, with few Reno flows of very large windows",
        "period would oscillate about once every 1.21 s",
        "10000 packets fill up below the target on links above 8 Gbit/s",
        "the line below leaves 8.01 dB and 31.7 deg by rates",
        "Margins are of the sampled model",
        "By rates: senders that pace. By acknowledgements: senders that do not pace.",
        "tc qdisc change dev r_d parent 1:1 dualpi2 target 15ms tupdate 16ms alpha \\\n",
        "L4S beside Classic",
        "Real traffic with windows of four segments has 3 to 4 dB less",
        "do not say how long packets wait",
        "it costs Beta is 0.78 times Linux's default",
        "Not judged: noqueue 0: dev lo",
    ):
        assert words in out or words in " ".join(out.split())  # a sentence may be folded
    assert "\x1b" not in out
    assert max(len(line) for line in out.splitlines()) <= 80
    assert len(out.splitlines()) <= 28


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "words", "code"),
    [
        (LINUX, (), 0),
        (LINUX, ("--rtt", "16ms"), 0),
        (LINUX, ("--rtt", "200ms"), 1),
        (LINUX, ("--rtt", "10ms"), 2),
        (LINUX, ("--hz", "2.5"), 2),
        (LINUX, ("--hz", "9999"), 2),
        (LINUX, ("--sender", "dctcp"), 2),
        (LINUX, ("--sender", "reno,scalable"), 0),
        (PIE, ("--hz", "250"), 2),
        ("", (), 2),
        ("qdisc fq_codel 0: root", (), 3),
    ],
)
def test_exit_codes(capsys, text, words, code):
    found, out, err = call(capsys, text, *words)
    assert found == code
    if code == 2:
        assert out == ""
        assert err.startswith("error: ")
        assert err.count("\n") == 1


def test_undecided_is_a_code_of_its_own(capsys, monkeypatch):
    import dataclasses

    from pi2_fluid.deployment import judging

    judge = judging._judge
    monkeypatch.setattr(
        judging,
        "_judge",
        lambda *given, prove: dataclasses.replace(judge(*given, prove=prove), verdict="undecided"),
    )
    assert call(capsys, LINUX, "--rtt", "20ms")[0] == 3


def test_without_text_it_says_what_is_missing(capsys):
    code, _, err = call(capsys)
    assert code == 2
    assert "or - for standard input" in err


@pytest.mark.slow
def test_input_that_is_no_text(capsys, monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(b"\xff\xfe qdisc"), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", stdin)
    assert run(["check", "-"]) == 2
    assert "standard input is no text" in capsys.readouterr().err


@pytest.mark.slow
def test_json(capsys, monkeypatch):
    code, out, _ = call(
        capsys, "-", "--json", "--rtt", "120ms", stdin=LINUX + "\n" + PIE, monkeypatch=monkeypatch
    )
    answer = json.loads(out)
    assert code == 1
    assert list(answer) == [
        "qdiscs", "verdict", "required", "foreign", "others", "path", "read", "waiting", "tree",
        "traffic"
    ]  # fmt: skip
    assert answer["path"] is None
    assert answer["verdict"] == "unstable"
    first, second = answer["qdiscs"]
    assert {"kind", "asked", "installed", "verdict", "rtt_limit", "worst"} <= set(first)
    found = pf.check(LINUX, rtt="120ms")[0]
    assert first["rtt_limit"] == found.stable_up_to
    assert first["installed"]["alpha"] == found.qdisc.aqm.alpha
    assert first["asked"] == found.qdisc.asked
    assert first["worst"]["gain_margin_db"] == found.margins.gain_margin_db
    assert first["ack_worst"]["gain_margin_db"] == found.ack_margins.gain_margin_db
    assert first["least"]["gain_clock"] == "rate"
    assert first["remedy"]["tc"] == found.remedy.tc
    assert second["worst"]["p_prime"] == pytest.approx(1e-3)
    assert "PIE is judged down to p = 1e-6" in second["note"]
    assert "in the sampled model" in str(found)


@pytest.mark.slow
def test_json_of_a_bare_infinity(capsys):
    """At 300 ms the loop of no load has no stable gain at all: T beta/(2 alpha) = 160 ms."""
    _, out, _ = call(capsys, LINUX, "--json", "--rtt", "300ms")
    assert json.loads(out)["qdiscs"][0]["worst"]["gain_margin_db"] == "-inf"


@pytest.mark.slow
def test_many_alike_make_one_block(capsys):
    lines = [PIE.replace("0: root", f"{n}: dev eth0 parent 1:{n}") for n in range(1, 8)]
    code, out, _ = call(capsys, "\n".join(lines), "--rtt", "70ms")
    assert code == 0
    assert out.count("runs with") == 1
    assert "and 3 alike" in out
    assert "$(printf '1:%x ' $(seq 1 7)); do" in out
    assert out.count("tc qdisc change dev eth0 parent $p pie") == 1
