"""Verdicts at a rate: of flows that fit on the link, whole numbers of them, and no others."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from refusals import refused
from shell import answered, assert_bad_input, strict_json

import pi2_fluid as pf
from pi2_fluid.apps.cli import run
from pi2_fluid.comparison.verification.corners import corners_of

pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")

PIE = "qdisc pie 8001: dev eth0 root refcnt 2 limit 1000p target 15ms tupdate 16ms alpha 2 beta 20"
FIVE = "tc qdisc replace dev eth0 root pie target 5ms tupdate 15ms"
PACKET = 12000.0  # bits


def only(text, **how):
    (verdict,) = pf.check(text, **how)
    return verdict


def loop_of(verdict, *, clock, terms="frozen", rate=None):
    """The loop of the decisive flows, on their link: found by `Loop` from flows and capacity."""
    worst = verdict.ack_worst if clock == "acks" else verdict.worst
    count = float(verdict.long_flows.count(worst.sender, worst.p_prime, worst.rtt))
    assert count == pytest.approx(round(count), rel=1e-6)
    law = verdict.qdisc.aqm.in_one_queue()
    flows = pf.Flows(worst.sender, round(count), worst.rtt - float(law.target))
    return pf.Loop(
        flows, law, capacity=rate, clock=clock, rtt_terms=terms, update="sampled"
    ).margins()


def least_of_all(verdict, rate, counts, rtts):
    """The smallest gain margins by rates and by acknowledgements of a grid, loop by loop."""
    sender, law = verdict.worst.sender, verdict.qdisc.aqm.in_one_queue()
    rtt, count = (x.ravel() for x in np.meshgrid(rtts, np.asarray(counts, float)))
    p = np.asarray(sender.equilibrium(rtt, rate / PACKET / count))
    fits = p <= 1.0
    loads = {"rtt": rtt[fits], "p": p[fits], "update": "sampled"}
    each = [("rate", "frozen"), ("rate", "exact"), ("acks", "frozen")]
    found = [
        np.min(pf.Loop(sender, law, clock=clock, rtt_terms=terms, **loads).margins().gain_margin_db)
        for clock, terms in each
        if terms == "frozen" or not isinstance(sender, pf.Cubic)
    ]
    return float(min(found[:-1])), float(found[-1])


# --- known answers --------------------------------------------------------------------------


@pytest.mark.slow
def test_pie_on_two_megabits_is_stable_though_it_is_not_at_any_load():
    """1 to 12 Reno flows; the worst is one flow on the longest path."""
    anyone = only(PIE, hz=1000)
    assert (anyone.verdict, anyone.count) == ("unstable", None)
    assert anyone.window * PACKET / anyone.decisive.rtt > 100e6
    found = only(PIE, hz=1000, rate="2Mbit/s", flows=(1, 12))
    assert (found.verdict, found.count) == ("stable", 1.0)
    # The least of the loops of 1 to 12 flows at round trips of every 0.2 ms up to 99.9 ms: 0.85 dB.
    assert found.least.gain_margin_db == pytest.approx(0.816, abs=5e-3)
    assert found.ack_margins.gain_margin_db == pytest.approx(3.068, abs=0.1)
    assert found.worst.rtt == pytest.approx(0.1, rel=1e-5)
    rtts = np.linspace(0.0151, 0.1, 25)
    rates, acks = least_of_all(found, 2e6, range(1, 13), rtts)
    # The grid ends at the worst load, which two searches find to their last digits.
    assert found.margins.gain_margin_db <= rates + 1e-9
    assert found.ack_margins.gain_margin_db <= acks + 1e-9
    assert str(found).startswith(
        "pie 8001: up to 100 ms round trip, 1 to 12 flows on 2 Mbit/s: stable in the"
        " sampled model, at least 0.82 dB"
    )


@pytest.mark.slow
def test_pie_of_five_milliseconds_names_the_one_flow_that_swings():
    near = only(FIVE, hz=1000, rate="5.5Mbit/s", max_base_rtt="50ms")
    assert near.verdict == "stable"
    assert near.least.gain_margin_db == pytest.approx(13.825, abs=5e-3)
    assert near.count == 1.0
    # The worst load stands at the step of the table: flows hear 1 % / 1.85.
    assert near.worst.p_prime == pytest.approx(np.sqrt(0.01 / 1.85), rel=1e-5)
    far = only(FIVE, hz=1000, rate="5.5Mbit/s", max_base_rtt="92.6ms")
    assert (far.verdict, far.count) == ("unstable", 1.0)
    assert far.margins.gain_margin_db == pytest.approx(-2.285, abs=5e-3)
    assert far.ack_margins.gain_margin_db == pytest.approx(3.962, abs=5e-3)
    for verdict in (near, far):
        by_rates = loop_of(verdict, clock="rate", rate=5.5e6)
        assert verdict.margins.gain_margin_db == pytest.approx(by_rates.gain_margin_db, abs=1e-4)
        by_acks = loop_of(verdict, clock="acks", rate=5.5e6)
        assert verdict.ack_margins.gain_margin_db == pytest.approx(by_acks.gain_margin_db, abs=1e-4)
    # More flows are stable on the same paths.
    more = {"hz": 1000, "rate": "5.5Mbit/s", "max_base_rtt": "92ms"}
    assert only(FIVE, flows=2, **more).verdict == "stable"
    verdict = only(FIVE, flows=(2, 9), **more)
    assert (verdict.verdict, verdict.count) == ("stable", 2.0)


# --- the kind -------------------------------------------------------------------------------

SENDERS = {"reno": pf.Reno(), "cubic": pf.Cubic(), "scalable": pf.Scalable()}


def drawn(rng):
    """A queue as tc shows it, and what is asked of it."""
    kind = str(rng.choice(["pie", "dualpi2"]))
    who = str(rng.choice(["reno", "cubic"] if kind == "pie" else list(SENDERS)))
    target = float(rng.choice([2, 5, 15, 20]))
    if kind == "pie":
        words = f"target {target:g}ms tupdate {rng.choice([8, 16, 32])}ms"
        words += f" alpha {rng.integers(1, 9)} beta {rng.integers(4, 33)}"
    else:
        words = f"target {target:g}ms tupdate {rng.choice([8, 16, 32])}ms"
        words += f" alpha {rng.uniform(0.02, 0.3):.4f} beta {rng.uniform(0.5, 5.0):.4f}"
    rate = float(f"{10.0 ** rng.uniform(5.7, 8.3):.3g}")
    few = int(rng.choice([1, 1, 1, 2, 5]))
    most = few + int(rng.choice([0, 1, 4, 20, 200]))
    rtt = float(f"{rng.uniform(target + 10.0, 200.0):.3g}") / 1e3
    text = f"tc qdisc replace dev eth0 root {kind} {words}"
    return text, {"rate": rate, "flows": (few, most), "rtt": rtt, "senders": [SENDERS[who]]}


#: dB that a grid of other round-trip times may find less: its own points lie between those of the
#: verdict, which is refined around the worst alone.
FORGIVEN = 0.02


@pytest.mark.slow
def test_no_flow_is_faster_than_the_link_and_no_loop_that_fits_has_less():
    """Random queues, links and numbers of flows, against every loop of a grid, by `Loop`."""
    rng = np.random.default_rng(20261127)
    judged = 0
    for _ in range(8):
        text, asked = drawn(rng)
        found = judged_or_too_slow(text, asked)
        if found is None:
            continue
        judged += 1
        assert_rests_on_what_fits(found, asked, rng)
    assert judged > 4


def judged_or_too_slow(text, asked):
    """The verdict, or None where even the fewest flows do not fit on the link."""
    try:
        return only(text, hz=1000, **asked)
    except pf.DomainError as error:
        said = str(error)
    assert "cannot be held back" in said
    return None


def assert_rests_on_what_fits(found, asked, rng):
    rate, (few, most) = asked["rate"], asked["flows"]
    assert few <= found.count <= most
    assert found.count == round(found.count)
    assert found.window * PACKET / found.decisive.rtt <= rate * (1.0 + 1e-9)
    assert found.window * PACKET / found.decisive.rtt * found.count == pytest.approx(rate)
    terms = ["frozen"] if asked["senders"] == [pf.Cubic()] else ["frozen", "exact"]
    own = [loop_of(found, clock="rate", terms=one, rate=rate).gain_margin_db for one in terms]
    assert found.margins.gain_margin_db == pytest.approx(min(own), abs=2e-4)
    acks = loop_of(found, clock="acks", rate=rate)
    assert found.ack_margins.gain_margin_db == pytest.approx(acks.gain_margin_db, abs=2e-4)
    counts = np.unique(np.round(np.geomspace(few, most, 7)))
    rtts = rng.uniform(max(found.min_rtt, found.qdisc.aqm.target * 1.001), found.rtt, 8)
    by_rates, by_acks = least_of_all(found, rate, counts, rtts)
    assert by_rates >= found.margins.gain_margin_db - FORGIVEN
    assert by_acks >= found.ack_margins.gain_margin_db - FORGIVEN


@pytest.mark.slow
def test_flows_of_a_window_that_do_not_fill_the_link_are_no_load():
    """Four flows of 20 segments fill 10 Mbit/s up to 96 ms: beyond there is nothing to hold."""
    asked = {"hz": 1000, "rate": "10Mbit/s", "flows": 4, "max_window": 20}
    found = only(PIE, rtt="200ms", **asked)
    assert found.count == 4.0
    assert found.decisive.rtt <= 0.096 * (1.0 + 1e-9)
    assert found.window <= 20.0 * (1.0 + 1e-9)
    with refused(pf.DomainError, "give more flows"):
        only(PIE, rtt="200ms", min_rtt="100ms", **asked)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"flows": (1, 20)}, "flows = (1, 20) bounds no load without the rate of the link"),
        ({"rate": "100kbit/s", "flows": 20}, "20 Reno flows on 100 kbit/s cannot be held back"),
        ({"rate": "100kbit/s"}, "1 Reno flow on 100 kbit/s cannot be held back"),
        ({"max_window": 1.0}, "max_window = 1 segments needs p' = 1.41 of Reno"),
    ],
)
def test_what_no_flows_can_be_is_refused(how, said):
    with refused(pf.DomainError, said):
        pf.check(PIE, hz=1000, **how)


# --- what is said ---------------------------------------------------------------------------


@pytest.mark.slow
def test_at_the_shell(capsys):
    words = ["check", PIE, "--hz", "1000", "--rate", "2Mbit/s", "--flows", "1:12"]
    assert run(words) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "for 1 to 12 Reno flows on 2 Mbit/s" in out
    assert "with 1 Reno flow of 16.7 packets in flight (2 Mbit/s, p" in out
    assert "Flows share the link equally; its rate is the one given." in out
    assert "fill up below the target" not in out
    one = answered(capsys, [*words, "--json"])["qdiscs"][0]
    assert one["long_flows"] == {"rate": 2e6, "flows": [1, 12], "max_window": None}
    assert one["least"]["flows"] == 1.0
    assert run(["check", FIVE, "--hz", "1000", "--rate", "5.5Mbit/s", "--json"]) == 1
    (one,) = strict_json(capsys.readouterr().out)["qdiscs"]
    assert one["long_flows"]["flows"] == [1, None]
    for wrong in ("many", "0", "1:2:3", ":5", "20:1", "1.5"):
        assert_bad_input(capsys, ["check", PIE, "--rate", "2Mbit/s", "--flows", wrong])


@pytest.mark.slow
def test_the_pipe_of_freebsd_says_the_rate():
    """One flow of 5.5 Mbit/s: the pipe's rate bounds it, unless one is given."""
    text = (
        "00002: 5.500 Mbit/s    0 ms burst 0\n"
        "q131074  1000 sl. 0 flows (1 buckets) sched 65538 weight 0 lmax 0 pri 0  AQM type PIE"
        " target 5ms tupdate 15ms alpha 0.125 beta 1.25 max_burst 150ms max_ecnth 0.1 ECN CapDrop"
        " OnOff TS Derand\n"
        " sched 65538 type FIFO flags 0x0 0 buckets 0 active\n"
    )
    printed = only(text, rtt="60ms")
    assert (printed.long_flows.rate, printed.verdict) == (5.5e6, "stable")
    assert "its rate is that of its pipe or link" in printed.note
    given = only(text, rtt="60ms", rate="50Mbit/s")
    assert (given.long_flows.rate, given.verdict) == (50e6, "stable")
    assert given.least.phase_margin_deg < printed.least.phase_margin_deg - 10.0
    assert "its rate is the one given" in given.note


SHAPED = """\
$ tc qdisc show dev eth0
qdisc htb 1: root refcnt 2 r2q 10 default 0x10 direct_packets_stat 0 direct_qlen 1000
qdisc pie 110: parent 1:10 limit 1001p target 5ms tupdate 15ms alpha 2 beta 20 ecn
qdisc pie 111: parent 1:11 limit 1001p target 5ms tupdate 15ms alpha 2 beta 20 ecn
"""
CLASSES = """\
$ tc class show dev eth0
class htb 1:10 root leaf 110: prio 0 rate 5Mbit ceil 5500Kbit burst 1600b cburst 1600b
class htb 1:11 root leaf 111: prio 0 rate 1Mbit ceil 2Mbit burst 1600b cburst 1600b
"""


@pytest.mark.slow
def test_the_shaper_above_a_queue_says_the_rate():
    """htb says it with its classes alone; without them any load is judged."""
    bare = pf.check(SHAPED, hz=1000, rtt="60ms")
    assert [one.long_flows.bounds for one in bare] == [False, False]
    shaped = pf.check(SHAPED + CLASSES, hz=1000, rtt="60ms", flows=(1, 20))
    assert [one.long_flows.text for one in shaped] == [
        "1 to 20 flows on 5.5 Mbit/s",
        "1 to 20 flows on 2 Mbit/s",
    ]
    assert "its rate is that of the shaper above it in the text" in shaped[0].note
    assert shaped[0].least.gain_margin_db > bare[0].least.gain_margin_db
    given = pf.check(SHAPED + CLASSES, hz=1000, rtt="60ms", rate="1Mbit/s")
    assert [one.long_flows.rate for one in given] == [1e6, 1e6]
    assert "its rate is the one given" in given[0].note
    typed = "tc qdisc add dev d root handle 1: tbf rate 2mbit burst 5k latency 50ms\n"
    typed += "tc qdisc add dev d parent 1: handle 8: pie target 15ms tupdate 16ms alpha 2 beta 20"
    (found,) = pf.check(typed, hz=1000)
    assert (found.long_flows.rate, found.verdict) == (2e6, "stable")


@pytest.mark.slow
def test_without_a_rate_all_is_as_before():
    found = only(PIE, hz=1000)
    assert found.long_flows == type(found.long_flows)()
    assert "flows on" not in found.note
    assert "PIE is judged down to p = 1e-6" in found.note
    told = only(PIE, hz=1000, rate="2Mbit/s")
    assert "PIE is judged down to p = 1e-6" not in told.note
    assert "its rate is the one given" in told.note


@pytest.mark.slow
def test_a_remedy_is_for_the_flows_that_there_are():
    """At a rate more gain is left to give: the line for it is another, and holds there."""
    asked = {"rate": "5Mbit/s", "flows": (1, 20), "rtt": "200ms"}
    text = "tc qdisc replace dev eth0 root dualpi2 alpha 0.5 beta 5"
    anyone, told = only(text, rtt="200ms"), only(text, **asked)
    assert told.remedy.aqm.alpha > 1.05 * anyone.remedy.aqm.alpha
    again = only(told.remedy.tc.replace("DEV", "eth0"), **asked)
    assert again.remedy.text.startswith("nothing")
    assert again.least.gain_margin_db >= 5.99


# --- designs --------------------------------------------------------------------------------


@pytest.mark.slow
def test_designs_are_for_the_flows_that_there_are(capsys):
    anyone = pf.tune("100ms", aqm="dualpi2")
    told = pf.tune("100ms", aqm="dualpi2", rate="10Mbit/s", flows=(1, 10))
    assert told.alpha > 1.05 * anyone.alpha
    assert told.guarantee == "proved"
    assert "1 to 10 flows on 10 Mbit/s" in told.guarantee_text
    assert told.span.endswith("1 to 10 flows on 10 Mbit/s")
    again = pf.Design.from_dict(json.loads(json.dumps(told.to_dict())))
    assert again.long_flows == told.long_flows
    assert again.region.hull == told.region.hull
    line = ["tune", "--max-rtt", "100ms", "--aqm", "dualpi2", "--rate", "10Mbit/s"]
    shown = answered(capsys, [*line, "--flows", "1:10", "--json"])["design"]
    assert shown["alpha"] == told.alpha
    # The design keeps what it promises: the loops of all numbers of flows at once.
    rtts = np.linspace(told.min_rtt, told.max_rtt, 12)
    verdict = only(told.to_tc(dev="eth0"), rate="10Mbit/s", flows=(1, 10))
    rates, acks = least_of_all(verdict, 10e6, range(1, 11), rtts[rtts > told.target])
    assert min(rates, acks) >= 6.0


@pytest.mark.slow
def test_corners_of_a_design_are_flows_that_fit():
    region = dataclasses.replace(
        pf.tune("100ms", rate="10Mbit/s", flows=(2, 10)), min_rtt=0.05
    ).region
    windows = {(round(1e3 * one.rtt), round(one.window, 2)) for one in corners_of(region, pf.Pi2())}
    assert windows == {(50, 20.83), (50, 5.0), (100, 41.67), (100, 8.33)}
