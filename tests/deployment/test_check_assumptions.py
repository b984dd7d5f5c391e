"""What tc does not show is not assumed: ticks, kernels, buffers, and queues that are not judged."""

from __future__ import annotations

import io
import json
import pickle
import re
import sys

import pytest

import pi2_fluid as pf
from pi2_fluid.apps.cli import run
from pi2_fluid.deployment.verdicts import Checked
from pi2_fluid.tc.installing import install
from pi2_fluid.tc.parsing import parse
from pi2_fluid.tc.showing import show

LINUX = show(install(pf.presets.linux_dualpi2(), "dualpi2"))
#: Of the L4S team's tree: no memlimit and no min_qlen_step, options in another order.
L4S = (
    "qdisc dualpi2 1: dev eth0 root refcnt 2 limit 10000p target 15ms tupdate 16ms alpha 0.156250"
    " beta 3.195312 l4s_ect coupling_factor 2 drop_on_overload step_thresh 1ms drop_dequeue"
    " split_gso classic_protection 10% \n"
    " Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)\n"
    " backlog 0b 0p requeues 0\n"
    "prob 0.000000 delay_c 0us delay_l 0us\n"
    "pkts_in_c 0 pkts_in_l 0 maxq 0\n"
    "ecn_mark 0 step_marks 3\n"
    "credit 0 (L)\n"
)


def pie(tupdate: str = "20ms", more: str = "", handle: str = "8001:") -> str:
    return (
        f"qdisc pie {handle} dev eth0 root refcnt 2 limit 1000p target 15ms tupdate {tupdate}"
        f" alpha 2 beta 20 {more}"
    )


# What old tools print below a queue; as in the example of tc-pie(8).
OLD = (
    " Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)\n backlog 0b 0p requeues 0\n"
    "prob 0.000000 delay 0us avg_dq_rate 0\n"
    "pkts_in 0 overlimit 0 dropped 0 maxq 0 ecn_mark 0\n"
)
NEW = OLD.replace(" avg_dq_rate 0", "")


@pytest.fixture
def quick(monkeypatch):
    """Verdicts by the scan alone: what is looked at here is not the proof."""
    from pi2_fluid.deployment import judging

    judge = judging._judge
    monkeypatch.setattr(
        judging, "_judge", lambda qdisc, question, prove: judge(qdisc, question, prove=False)
    )


# --- CONFIG_HZ ------------------------------------------------------------------------------


@pytest.mark.parametrize("hz", [100, 250, 300, 1000])
@pytest.mark.parametrize("us", [15_000, 16_000, 20_000, 30_000, 33_000])
def test_the_kernel_that_showed_it_is_among_the_readings(hz, us):
    """Whatever was asked of whatever kernel: it is one of those, and all of them show the same."""
    from pi2_fluid.deployment.readings import common_hz, readings
    from pi2_fluid.tc.observing import observe

    queue = install(pf.Pie(update_interval=us / 1e6), "pie", hz=hz)
    (block,) = observe(show(queue)).blocks
    found = readings(block, None, None, common_hz([block]))
    assert hz in [one.hz for one in found]
    assert queue.aqm.update_interval in [one.aqm.update_interval for one in found]
    assert {show(one) for one in found} == {show(queue)}


@pytest.mark.slow
def test_an_unknown_hz_is_undecided_where_it_matters(quick):
    """20 ms are 2, 5, 6 or 20 ticks, and the timer is one of them late."""
    (found,) = pf.check(pie("20ms"))
    assert found.verdict == "undecided"
    assert "CONFIG_HZ" in found.reason
    assert {case.hz: case.verdict for case in found.cases} == {
        100: "stable",
        250: "stable",
        300: "stable",
        1000: "unstable",
    }
    for case in found.cases:
        assert case.update_interval == pytest.approx(0.02 + 1 / case.hz)
        (alone,) = pf.check(pie("20ms"), hz=case.hz)
        assert (alone.verdict, alone.stable_up_to) == (case.verdict, case.stable_up_to)
        assert alone.cases == ()
    assert found.remedy.tc is None
    assert "first give hz" in found.remedy.text


@pytest.mark.slow
def test_what_agrees_is_decided(quick):
    (found,) = pf.check(pie("20ms"), rtt="60ms")
    assert (found.verdict, found.reason, len(found.cases)) == ("stable", "", 4)
    assert found.stable_up_to == min(case.stable_up_to for case in found.cases)


@pytest.mark.slow
def test_15_ms_are_of_1000_ticks_and_so_is_what_is_beside_them(quick):
    assert pf.check(pie("15ms"), rtt="60ms")[0].cases == ()
    both = pf.check(pie("20ms") + "\n" + pie("15ms", handle="8002:"), rtt="60ms")
    assert [one.qdisc.hz for one in both] == [1000, 1000]
    assert [one.cases for one in both] == [(), ()]


@pytest.mark.slow
def test_an_interval_of_no_usual_hz():
    with pytest.raises(pf.QuantityError, match=r"15\.6ms is no whole number of ticks at any"):
        pf.check(pie("15.6ms"))
    assert pf.check(pie("15.6ms"), hz=64, rtt="60ms")[0].qdisc.hz == 64


# --- kernels --------------------------------------------------------------------------------


@pytest.mark.slow
def test_statistics_of_an_old_kernel(quick):
    """Up to 5.0 the table ends at 1 %; below, the loop of 60 ms has no margin at all."""
    (found,) = pf.check(pie("16ms") + "\n" + OLD, rtt="60ms", hz=250)
    assert {case.kernel: case.verdict for case in found.cases} == {
        "3.14 to 4.7": "unstable",
        "4.8 to 5.0": "unstable",
        "5.1 to 5.4": "stable",
    }
    assert [case.update_interval for case in found.cases] == pytest.approx([0.016, 0.02, 0.02])
    assert found.verdict == "undecided"
    assert "kernel" in found.reason
    assert "up to 7 %" in found.note


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "variant", "interval"),
    [
        ("4.4.0-210-generic", "linux4.14", 0.016),
        ("4.19", "linux4.14", 0.020),
        ("5.0.21", "linux4.14", 0.020),
        ("5.1", "linux6.18", 0.020),
        ("6.12.9+deb13-amd64", "linux6.18", 0.020),
    ],
)
def test_a_kernel_that_is_given_decides(quick, version, variant, interval):
    (found,) = pf.check(pie("16ms") + "\n" + OLD, rtt="60ms", hz=250, kernel=version)
    assert found.cases == ()
    assert found.qdisc.aqm.variant == variant
    assert found.qdisc.aqm.update_interval == pytest.approx(interval)
    law = pf.Pie(variant=variant, update_interval=interval)
    loop = pf.Loop(pf.Reno(), law, rtt="60ms", p=1e-5, update="sampled")
    assert (found.verdict == "unstable") == (loop.margins().gain_margin_db < 0.0)


def test_the_loss_of_old_integers():
    """Of all gains, against 2^32/15625000 per tick: at most 7 % below p = 10 %."""
    unit = (2**32 - 1) / 15_625_000
    lost = [
        1.0 - ((parts * int(unit)) >> shift) / (parts * unit / 2**shift)
        for parts in range(1, 33)
        for shift in (5, 7)
    ]
    assert 0.06 < max(lost) < 0.07


@pytest.mark.parametrize(("version", "error"), [("5", pf.QuantityError), ("3.2", pf.DomainError)])
def test_versions_that_are_none(version, error):
    with pytest.raises(error, match="kernel = "):
        pf.check(pie(), kernel=version)


@pytest.mark.slow
def test_newer_statistics_need_no_assumption(quick):
    assert (
        "Linux 5.1 or newer is assumed, without statistics"
        in pf.check(pie("15ms"), rtt="60ms")[0].note
    )
    (found,) = pf.check(pie("15ms") + "\n" + NEW, rtt="60ms")
    assert "no statistics" not in found.note
    (asked,) = pf.check(pie("15ms", "dq_rate_estimator") + "\n" + OLD, rtt="60ms")
    assert asked.cases == ()


# --- the L4S team's DualPI2 -----------------------------------------------------------------


def test_dualpi2_of_the_l4s_team():
    (ours,) = parse(LINUX)
    (theirs,) = parse(L4S)
    assert theirs.aqm == ours.aqm
    assert theirs.asked["memlimit"] is None
    assert theirs.shown["min_qlen_step"] is None
    assert theirs.statistics["step_mark"] == 3
    assert parse(show(theirs))[0].aqm == ours.aqm


@pytest.mark.parametrize("step", ["5p", "5pkt"])
def test_a_step_in_packets_is_judged_and_not_taken_for_a_time(quick, step):
    text = L4S.replace("step_thresh 1ms", f"step_thresh {step}")
    (found,) = pf.check(text)
    assert found.verdict == "stable"
    assert found.qdisc.asked["step_thresh"] is None
    assert "counts packets plays no part" in found.note
    with pytest.raises(pf.DomainError, match="counts packets"):
        parse(text)


# --- buffers and hardware -------------------------------------------------------------------


@pytest.mark.slow
def test_a_small_limit_is_not_called_stable(quick):
    """5 packets of 1514 B are 15 ms at 4.04 Mbit/s."""
    small = LINUX.replace("limit 10000p", "limit 5p")
    (found,) = pf.check(small)
    assert found.rate_held == pytest.approx(5 * 1514 * 8 / 0.015)
    assert (found.verdict, found.margins.verdict) == ("undecided", "stable")
    assert "4.04 Mbit/s" in found.reason
    assert pf.check(small, rate="4Mbit/s").verdict == "stable"
    assert pf.check(small, rate="4.1Mbit/s").verdict == "undecided"
    assert pf.check(LINUX, rate="8Gbit/s").verdict == "stable"
    (fast,) = pf.check(LINUX, rate="10Gbit/s")
    assert fast.verdict == "undecided"
    least = int(re.search(r"limit of (\d+) or more", fast.reason)[1])
    enough = LINUX.replace("limit 10000p", f"limit {least + 1}p").replace("30280000B", "99999999B")
    assert pf.check(enough, rate="10Gbit/s").verdict == "stable"


def test_memory_is_a_limit_too(quick):
    small = re.sub(r"memlimit \d+B", "memlimit 15140B", LINUX)
    (found,) = pf.check(small)
    assert found.verdict == "undecided"
    assert "limit of 5 packets" in found.reason


def test_hardware_is_not_judged(quick):
    found = pf.check(pie("15ms").replace("root", "root offloaded") + "\n" + LINUX)
    assert [one.qdisc.kind for one in found] == ["dualpi2"]
    assert [(one.kind, one.verdict) for one in found.others] == [("pie", "undecided")]
    assert "hardware" in found.others[0].text
    assert found.verdict == "undecided"


# --- one among others -----------------------------------------------------------------------

UNKNOWN = "qdisc dualpi2 9: dev eth1 root [Unknown qdisc, optlen=100] "
OTHERS = [
    UNKNOWN,
    pie("15ms", "entropy"),
    pie("15ms").replace("target 15ms", "target 200ms"),
    pie("15ms") + "\n prob zero delay 0us",
    "qdisc pie 7: root limit 5p",
]


@pytest.mark.parametrize("bad", OTHERS)
@pytest.mark.parametrize("first", [True, False])
def test_one_that_cannot_be_judged_hides_no_other(quick, bad, first):
    found = pf.check("\n".join([bad, LINUX] if first else [LINUX, bad]))
    assert [one.verdict for one in found] == ["stable"]
    assert [one.verdict for one in found.others] == ["undecided"]
    assert found.others[0].text.endswith(".")
    assert found.verdict == "undecided"
    with pytest.raises((pf.QuantityError, pf.DomainError)):
        pf.check(bad)


def test_unstable_is_worse_than_unread(quick):
    bad = LINUX.replace("tupdate 16ms", "tupdate 5ms")
    assert pf.check(bad + "\n" + UNKNOWN).verdict == "unstable"


@pytest.mark.parametrize("kind", ["codel", "fq_codel", "cake"])
def test_queues_without_a_loop_get_a_sentence(kind):
    found = pf.check(f"qdisc {kind} 8001: dev eth0 root refcnt 2 limit 1000p")
    (one,) = found.others
    assert (one.verdict, found.verdict) == (None, "undecided")
    assert "no linear loop" in one.text
    assert found.foreign == [f"{kind} 8001: dev eth0"]


RED = (
    "qdisc red 5: dev eth0 root refcnt 2 limit 400000b min 15000b max 45000b ewma 5"
    " probability 0.02 Scell_log 10"
)


def test_red_is_judged_by_its_own_loop():
    """Over 10 Mbit/s one flow swings and ten do not; each loop through `Loop`."""
    found = pf.check(RED, rate="10Mbit/s", max_base_rtt="85ms")
    (one,) = found.others
    assert (one.verdict, found.verdict) == ("unstable", "unstable")
    law = pf.Red(min=10, max=30, max_p=0.04, weight=1 / 32, gentle=False)
    margins = {
        n: pf.Loop(pf.Flows(pf.Reno(), n, "85ms"), law, capacity="10Mbit/s").margins()
        for n in (1, 2, 3, 5, 10)
    }
    assert f"{margins[1].gain_margin_db:.2f} dB, with 1 Reno flow" in one.text
    first = next(n for n, each in margins.items() if each.verdict == "stable")
    assert first > 1
    assert f"from {first} flows on it is stable" in one.text
    entry = {"kind": "red", "handle": "5:", "root": True}
    options = {"min": 15000, "max": 45000, "ewma": 5, "probability": 0.02}
    text = json.dumps([entry | {"options": options}])
    (same,) = pf.check(text, rate="10Mbit/s", max_base_rtt="85ms").others
    assert same.text == one.text


@pytest.mark.parametrize(
    ("text", "how", "said"),
    [
        (RED, {}, "depends on the rate"),
        (RED.split(" ewma", maxsplit=1)[0], {"rate": "10Mbit/s"}, "tc -d qdisc show"),
        (RED, {"rate": "1Mbit/s", "rtt": "100ms"}, "leaves no path"),
    ],
)
def test_red_without_what_it_takes(text, how, said):
    found = pf.check(text, **how)
    assert found.verdict == "undecided"
    assert said in found.others[0].text


@pytest.mark.slow
def test_verdicts_cross_to_another_process(quick):
    found = pf.check(pie("20ms") + "\n" + UNKNOWN, rtt="60ms")
    again = pickle.loads(pickle.dumps(found))
    assert isinstance(again, Checked)
    assert again.others == found.others
    assert again[0].cases == found[0].cases


# --- the command ----------------------------------------------------------------------------


def call(capsys, *words):
    code = run(["check", *words])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.slow
def test_a_file(capsys, tmp_path, quick):
    path = tmp_path / "mq.txt"
    path.write_text(LINUX)
    assert call(capsys, str(path))[:2] == call(capsys, LINUX)[:2]
    code, _, err = call(capsys, str(tmp_path / "no.txt"))
    assert code == 2
    assert "no.txt: No such file" in err


@pytest.mark.parametrize("content", [b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00", b"qdisc pie\xff", b"\0"])
def test_captures_and_binaries(capsys, tmp_path, monkeypatch, content):
    path = tmp_path / "x.pcap"
    path.write_bytes(content)
    code, out, err = call(capsys, str(path))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "is no text, but a capture" in err
    for errors in ("strict", "surrogateescape"):
        stdin = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", errors=errors)
        monkeypatch.setattr(sys, "stdin", stdin)
        assert call(capsys, "-")[0] == 2
    code, _, err = call(capsys, content.decode(errors="surrogateescape").replace("\0", "\udcff"))
    assert code == 2
    assert err.isprintable() or err.rstrip("\n").isprintable()


def test_classes_are_no_queues(capsys):
    code, _, err = call(capsys, "class htb 1:1 root rate 5Mbit ceil 5Mbit burst 1600b")
    assert code == 2
    assert "what `tc class show` prints" in err


@pytest.mark.slow
def test_children_of_mq_are_one_block_with_one_command(capsys, quick):
    text = "\n".join(
        LINUX.replace("root", f"dev eth0 parent 1:{number:x}") for number in range(1, 65)
    )
    code, out, _ = call(capsys, text)
    assert code == 0
    assert out.count("runs with") == 1
    assert "and 60 alike" in out
    assert out.count("tc qdisc") == 1
    assert "for p in $(printf '1:%x ' $(seq 1 64)); do\n" in out
    assert "parent $p dualpi2" in out


@pytest.mark.slow
def test_the_screen_says_which_readings_there_are(capsys, quick):
    code, out, _ = call(capsys, pie("20ms"))
    assert code == 3
    for words in (
        "HZ 100: T 30 ms, stable up to 126.8 ms",
        "HZ 1000: T 21 ms, unstable above 95.55 ms",
        "UNDECIDED: it depends on the kernel: give --hz",
    ):
        assert words in out
    assert max(map(len, out.splitlines())) <= 80
    code, out, _ = call(capsys, pie("20ms"), "--json")
    (one,) = json.loads(out)["qdiscs"]
    assert [case["hz"] for case in one["cases"]] == [100, 250, 300, 1000]
    assert (one["verdict"], one["model"]) == ("undecided", "sampled")
    assert call(capsys, pie("20ms"), "--hz", "100")[0] == 0


def test_the_path_instead_of_the_loop(quick):
    (path,) = pf.check(LINUX, max_base_rtt="85ms")
    (loop,) = pf.check(LINUX, rtt="100ms")
    assert (path.rtt, path.margins) == (pytest.approx(loop.rtt), loop.margins)
    (short,) = pf.check(LINUX, max_base_rtt="85ms", min_rtt="10ms")
    assert short.min_rtt == pytest.approx(0.025)
    with pytest.raises(pf.DomainError, match="are both given"):
        pf.check(LINUX, rtt="100ms", max_base_rtt="85ms")


@pytest.mark.slow
def test_extremes_are_said_in_words(capsys, quick):
    _, out, _ = call(capsys, LINUX, "--rtt", "300ms")
    assert "none: no smaller gain alone would make it stable" in out
    assert "(queue included): the delay oscillates. No smaller gain alone" in " ".join(out.split())
    assert "inf" not in out
