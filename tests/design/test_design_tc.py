"""Designs on their way to tc and ns-3, and what a kernel makes of them."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import re

import numpy as np
import pytest
from ack_plants import make_ack_plants
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from shell import answered, printed, strict_json

import pi2_fluid as pf
from pi2_fluid.apps.cli import run
from pi2_fluid.apps.cli.pasting import in_shell
from pi2_fluid.design.by_acks import worst_by_acks
from pi2_fluid.design.gains import Asked, make_ceiling
from pi2_fluid.design.plants import make_plants
from pi2_fluid.design.points import loads_at
from pi2_fluid.design.region import LOADS, Region, exact_margins, scan, worst_margins
from pi2_fluid.design.stepping import Steps

thorough = settings(deadline=None, max_examples=300)


@pytest.fixture(scope="module")
def dual():
    return pf.tune("100ms", aqm="dualpi2")


@pytest.fixture(scope="module")
def pie():
    """With a T at which its alpha is just above a sixteenth."""
    return pf.tune("100ms", aqm="pie", update_interval="36ms")


def like(design, **changes):
    """The same design with other gains and times."""
    return dataclasses.replace(design, aqm=dataclasses.replace(design.aqm, **changes), **changes)


def words_of(line):
    """The options of a line as a mapping, times in us."""
    words = line.split()[7:]
    found = dict(zip(words[::2], words[1::2], strict=False))
    for name in ("target", "tupdate"):
        number, unit = re.fullmatch(r"(\d+)(us|ms)", found[name]).groups()
        found[name] = int(number) * {"us": 1, "ms": 1000}[unit]
    return found


# --- dualpi2 --------------------------------------------------------------------------------


@pytest.mark.slow
def test_line_of_dualpi2(dual):
    assert dual.to_tc("dualpi2", dev="eth0") == (
        "tc qdisc replace dev eth0 root dualpi2 target 15ms tupdate 16ms alpha 0.047998 beta 2.5146"
    )


@pytest.mark.slow
def test_a_design_arrives_in_the_packets(dual):
    """12/256 and 643/256 Hz are what tc asks for; the first update in the kernel's integers."""
    law = dataclasses.replace(dual.to_qdisc("dualpi2").aqm, arithmetic="fixed")
    alpha, beta = (((parts * (2**32 - 1)) >> 2) // 10**9 for parts in (12, 643))
    found = pf.packet.replay(law, queue_delay=[0.03]).state.item()
    assert found == (alpha * 15_000_000 + beta * 30_000_000) >> 6


@pytest.mark.slow
@pytest.mark.parametrize(("aqm", "more"), [("pi2", " drop_enqueue"), ("coupled", " drop_enqueue")])
def test_designs_of_one_queue_can_be_asked_as_dualpi2(aqm, more):
    design = pf.tune("100ms", aqm=aqm, target="15ms")
    line = design.to_tc("dualpi2")
    assert line.endswith(f"tupdate 16ms alpha 0.047998 beta 2.5146{more}")
    assert isinstance(design.to_qdisc("dualpi2").aqm, pf.DualPi2)


def cut_as_sch_dualpi2_does(gain):
    """What Linux 6.18 acts with: cut to 1/256 Hz by tc, then to 1/64 of 2^-32 per ns."""
    parts = math.floor(float(np.float32(gain)) * 256)
    kept = (parts * (2**32 - 1) // 4) // 10**9
    return kept * 1e9 / (64 * (2**32 - 1))


@pytest.mark.slow
@thorough
@given(
    # From tune at 1.2 s to tune at 1 ms; alpha has a few 1/256 Hz at least.
    alpha=st.floats(0.004, 30.0),
    beta=st.floats(0.1, 300.0),
    target=st.integers(100, 50_000),
    interval=st.integers(100, 300_000),
)
def test_dualpi2_and_back(alpha, beta, target, interval, dual):
    design = like(dual, alpha=alpha, beta=beta, target=target / 1e6, update_interval=interval / 1e6)
    queue = design.to_qdisc("dualpi2")
    asked = words_of(design.to_tc("dualpi2"))
    assert (asked["target"], asked["tupdate"]) == (target, interval)
    for name in ("alpha", "beta"):
        wanted, found = getattr(design, name), getattr(queue.aqm, name)
        assert found == pytest.approx(cut_as_sch_dualpi2_does(wanted), rel=1e-14)
        assert int(np.float32(asked[name]) * np.float32(256)) == math.floor(
            float(np.float32(wanted)) * 256
        )
        # A step of tc, and one of the kernel; never up, but for single precision.
        steps = 1 / 256 + 1e9 / (64 * (2**32 - 1))
        assert -steps - 1e-7 * wanted < found - wanted <= 1e-7 * wanted
    # What the kernel would show leads back to what it runs: -j to the last digit.
    exact = pf.qdisc.parse(json.dumps([pf.qdisc.show_json(queue)]))[0]
    assert exact.aqm == queue.aqm
    text = pf.qdisc.parse(pf.qdisc.show(queue))[0]
    assert (text.aqm.alpha, text.aqm.beta) == (queue.aqm.alpha, queue.aqm.beta)


@pytest.mark.slow
def test_the_margins_asked_for_are_kept_by_dualpi2(dual):
    """Of the gain nothing is lost, as all is cut; of the phase what 0.2 % of beta may cost."""
    for design in (dual, pf.tune("60ms", aqm="dualpi2", objective="bandwidth")):
        region = Region(design.senders, design.min_rtt, design.max_rtt, design.load)
        found = worst_margins(region, design.to_qdisc("dualpi2").aqm, "sampled").margins
        assert found.gain_margin_db > design.margins.gain_margin_db
        assert found.phase_margin_deg > design.margins.phase_margin_deg


# --- pie ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_line_of_pie(pie):
    # one jiffy less, as the timer is late by one
    assert pie.to_tc(dev="eth0") == (
        "tc qdisc replace dev eth0 root pie target 15ms tupdate 35ms alpha 1 beta 26"
    )
    assert "tupdate 32ms" in pie.to_tc("fq_pie", hz=250)
    queue = pie.to_qdisc("fq_pie")
    assert queue.aqm.update_interval == pytest.approx(0.036, rel=1e-12)
    assert queue.asked["tupdate"] == 0.035


def timer(count):
    """Jiffies until a timer fires that re-arms itself for `count`, as the wheel of 4.8 has it."""
    for level in range(9):
        slot = 8**level
        if count <= 63 * slot:
            return (count // slot + 1) * slot
    raise AssertionError


@pytest.fixture(scope="module", params=[100, 1000])
def by_default(request):
    return pf.tune("100ms", aqm="fq_pie", hz=request.param)


@pytest.mark.slow
def test_a_design_of_pie_is_what_runs(by_default):
    """The gains and the T on the screen are those that come of the line, tick by tick."""
    design, asked = by_default, words_of(by_default.to_tc())
    ticks = timer(-(-asked["tupdate"] * design.hz // 1_000_000))
    assert ticks / design.hz == pytest.approx(design.update_interval, rel=1e-12)
    assert (int(asked["alpha"]), int(asked["beta"])) == (16 * design.alpha, 16 * design.beta)
    assert " fq_pie " in design.to_tc()
    assert design.installed.update_interval == pytest.approx(design.update_interval, rel=1e-12)
    assert design.least.gain_margin_db > 6.0
    assert design.least.phase_margin_deg > 30.0


@pytest.mark.slow
def test_no_shorter_interval_would_do_for_pie(by_default):
    """At the tick before, no beta of tc leaves both margins with the smallest alpha."""
    region = Region(by_default.senders, by_default.min_rtt, 0.1, by_default.load)
    acks = make_ack_plants(
        region, by_default.aqm, 0, 0.1, loads_at(region, by_default.aqm, 0, 0.1, LOADS)
    )
    before = by_default.update_interval - 1 / by_default.hz
    for steps in range(8, 33):
        law = dataclasses.replace(
            by_default.aqm, alpha=1 / 16, beta=steps / 16, update_interval=before
        )
        found = scan(region.plants(law), 1 / 16, steps / 16, before, "sampled")
        if before < 0.1 / 6:  # the timer of 100 ticks holds nothing from there to this T
            break
        other = scan(acks, 1 / 16, steps / 16, before, "sampled")
        both = min(found.gain_margin_db.min(), other.gain_margin_db.min())
        assert both < 6.0 or found.phase_margin_deg.min() < 30.0


@pytest.mark.parametrize("hz", [100, 250, 300, 1000])
def test_intervals_are_those_that_the_timer_holds(hz):
    found = Steps("pie", hz).intervals(0.03, 0.2)
    held = {timer(count) for count in range(1, hz)}
    assert found == [n / hz for n in sorted(held) if 0.03 * hz - 1e-9 <= n <= 0.2 * hz + 1e-9]


@functools.cache
def pairs_that_tc_takes(rtt, interval):
    """Return the loops, and of each alpha that keeps 6 dB and 30 degrees every beta that does.

    In sixteenths. The scan decides, except within a thousandth of what is asked, which is a hundred
    times its error: there, the search for all crossovers does. Loads end below p = 0.85/1.85, from
    where on no signal of PIE's waits, and the gain leaps.
    """
    plants = make_plants((pf.Reno(),), pf.Pie(), rtt, [np.array([0.001, 0.1, 0.67])])

    def keeps(alpha, beta):
        found = scan(plants, alpha, beta, interval, "sampled")
        left = min(found.gain_margin_db.min() / 6.0, found.phase_margin_deg.min() / 30.0)
        if abs(left - 1.0) > 1e-3:
            return left > 1.0
        each = [
            exact_margins(plants.take(i), alpha, beta, interval, "sampled")
            for i in range(len(plants))
        ]
        return all(m.gain_margin_db >= 6.0 and m.phase_margin_deg >= 30.0 for m in each)

    allowed = {}
    for a in range(1, 9):
        if betas := [b for b in range(1, 33) if keeps(a / 16, b / 16)]:
            allowed[a] = betas
    return plants, allowed


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["recovery", "bandwidth"])
@pytest.mark.parametrize(("rtt", "interval"), [(0.06, 0.032), (0.04, 0.012)])
def test_whole_steps_are_the_best_of_all(rtt, interval, objective):
    """Every pair of gains that tc takes, one by one."""
    plants, allowed = pairs_that_tc_takes(rtt, interval)
    ceiling, _, _ = make_ceiling(plants, Asked(6.0, 30.0), interval, "sampled")
    alpha, beta = Steps("pie", 1000).gains(ceiling, objective, pf.Pie())
    most = max(allowed)
    if objective == "recovery":
        assert 16 * alpha == most
        assert 16 * beta in allowed[most]
    else:
        enough = [b for a, betas in allowed.items() if a >= 0.9 * most for b in betas]
        assert 16 * beta == max(enough)
        assert 16 * beta in allowed[round(16 * alpha)]


@pytest.mark.slow
def test_long_paths_have_an_interval_at_which_dualpi2_has_its_alpha():
    """A sixth of two seconds has an alpha below 1/256 Hz; RFC 9332 has T up to a third."""
    design = pf.tune("2s", aqm="dualpi2")
    assert 2 / 6 < design.update_interval < 2 / 3
    assert design.installed.alpha == cut_as_sch_dualpi2_does(design.alpha)
    assert design.installed.alpha >= 0.75 * design.alpha
    assert "tupdate " in design.to_tc()


@pytest.mark.slow
def test_of_no_kernel_gains_are_what_they_are():
    design = pf.tune("100ms", aqm="pie", hz=None)
    assert design.update_interval == 0.016
    assert 0.0 < 16 * design.alpha < 0.75


@pytest.mark.slow
@thorough
@given(
    alpha=st.floats(1 / 16, 2.0),
    beta=st.floats(0.25, 2.0),
    target=st.integers(1, 50),
    jiffies=st.integers(2, 63),
    hz=st.sampled_from([100, 250, 1000]),
    objective=st.sampled_from(["recovery", "bandwidth"]),
)
def test_pie_and_back(alpha, beta, target, jiffies, hz, objective, pie):
    design = dataclasses.replace(
        like(pie, alpha=alpha, beta=beta, target=target / 1e3, update_interval=jiffies / hz),
        objective=objective,
    )
    least = math.floor(16 * alpha * (1 + 1e-12))
    if least < 0.75 * 16 * alpha * (1 - 1e-9):
        for call in (design.to_tc, design.to_qdisc):
            with refused(pf.DomainError, match=r"alpha = .* at most a quarter off"):
                call("pie")
        return
    queue = design.to_qdisc("pie", hz=hz)
    asked = words_of(design.to_tc("pie", hz=hz))
    assert (int(asked["alpha"]), int(asked["beta"])) == (
        16 * queue.aqm.alpha,
        16 * queue.aqm.beta,
    )
    # alpha down, by less than a step; beta to the nearest, or down where less of it is safe
    assert 16 * queue.aqm.alpha == least
    off = 16 * (queue.aqm.beta - beta)
    assert abs(off) <= 0.5 if objective == "recovery" else -1 < off <= 1e-10
    # the kernel's period is the design's
    assert queue.aqm.update_interval == pytest.approx(jiffies / hz, rel=1e-12)
    assert asked["tupdate"] == pytest.approx(1e6 * (jiffies - 1) / hz, abs=1)
    exact = pf.qdisc.parse(json.dumps([pf.qdisc.show_json(queue)]), hz=hz)[0]
    assert exact.aqm == queue.aqm


@pytest.mark.slow
def test_the_margins_asked_for_are_kept_by_pie(pie):
    region = Region(pie.senders, pie.min_rtt, pie.max_rtt, pie.load)
    law = pie.to_qdisc("pie").aqm
    for found in (
        worst_margins(region, law, "sampled"),
        worst_by_acks(region, law, "sampled").worst,
    ):
        assert found.margins.gain_margin_db > 6.0
        assert found.margins.phase_margin_deg > 30.0


@pytest.mark.slow
def test_the_advice_of_a_refusal_works():
    """alpha grows with T: the T that the message names makes it a sixteenth."""
    design = pf.tune("100ms", aqm="pie", update_interval="30ms")
    with pytest.raises(pf.DomainError, match=r"sixteenths of 1 Hz") as caught:
        design.to_tc()
    longer = re.search(r'update_interval="(\d+ms)"', str(caught.value))[1]
    again = pf.tune("100ms", aqm="pie", update_interval=longer)
    assert again.alpha == 1 / 16
    assert " alpha 1 " in again.to_tc()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"alpha": 0.03, "beta": 1.0}, "alpha = 0.03 Hz is 0.48 sixteenths of 1 Hz"),
        ({"alpha": 0.12, "beta": 1.0}, "alpha = 0.12 Hz is 1.92 sixteenths"),
        ({"alpha": 0.125, "beta": 7.0}, "tune with a longer max_rtt"),
        ({"alpha": 0.125, "beta": 0.02}, "beta = 0.02 Hz is 0.32 sixteenths"),
        ({"alpha": 3.0, "beta": 1.0}, "alpha = 3 Hz is 48 sixteenths"),
    ],
)
def test_what_pie_cannot_have(pie, changes, said):
    with refused(pf.DomainError, "dualpi2", match=re.escape(said)):
        like(pie, **changes).to_tc("pie")


@pytest.mark.slow
def test_what_the_kernel_has_not(dual, pie):
    for design, kind, error in [
        (dual, "pie", pf.UnsupportedError),
        (pie, "dualpi2", pf.UnsupportedError),
        (pf.tune("100ms", aqm="pi", max_window=100), "pie", pf.UnsupportedError),
        (dual, "red", pf.QuantityError),
        (pie, "red", pf.QuantityError),
        (like(dual, alpha=0.003), "dualpi2", pf.DomainError),
    ]:
        for call in (design.to_tc, design.to_qdisc):
            with refused(error):
                call(kind)
    with pytest.raises(pf.QuantityError, match="hz = 0"):
        pie.to_qdisc("pie", hz=0)


# --- ns-3 -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_attributes_of_ns3(pie, dual):
    assert pie.to_ns3() == {
        "A": repr(pie.alpha),
        "B": repr(pie.beta),
        "QueueDelayReference": "15ms",
        "Tupdate": "36ms",
        "UseDerandomization": "true",
    }
    fine = like(pie, target=0.0033, update_interval=1.6e-7)
    assert fine.to_ns3()["QueueDelayReference"] == "3300us"
    assert fine.to_ns3()["Tupdate"] == "160ns"
    with refused(pf.UnsupportedError, match="neither PI2 nor DualPI2"):
        dual.to_ns3()
    other = dataclasses.replace(pie, aqm=dataclasses.replace(pie.aqm, table="none"))
    with pytest.raises(pf.UnsupportedError, match='table = "none"'):
        other.to_ns3()


# --- the command ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "ends"),
    [
        (["--aqm", "dualpi2", "--k", "3"], "beta 2.5146 coupling_factor 3"),
        (["--aqm", "pie", "--update-interval", "47ms", "--hz", "250"], "tupdate 44ms alpha 1 beta"),
    ],
)
def test_tune_ends_with_the_line(capsys, words, ends):
    out = printed(capsys, ["tune", "--max-rtt", "100ms", *words])
    assert ends in " ".join(out[-400:].split()).replace(" \\ ", " ")
    found = answered(capsys, ["tune", "--max-rtt", "100ms", *words, "--json"])
    assert found["tc"] in out.replace(" \\\n    ", " ")
    assert found["why_no_tc"] is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--aqm", "pi", "--max-window", "100"], "no queue with the law of Pi"),
        (["--aqm", "docsis_pie"], "is not what Linux scales its gains by"),
        (["--aqm", "coupled", "--k", "1.5"], "--k 1.5 is no whole number"),
    ],
)
def test_what_has_no_line_says_so_in_one_sentence(capsys, words, why):
    """The design is printed, and the exit code says that there is nothing to paste."""
    assert run(["tune", "--max-rtt", "100ms", *words]) == 5
    out = capsys.readouterr()
    assert "tc qdisc" not in out.out
    assert "margins left" in out.out
    assert why in out.err
    assert out.err.count("\n") == 1
    assert not re.search(r'="|_', out.err)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")
@pytest.mark.parametrize(
    ("words", "gain"),
    [
        (["--max-rtt", "100ms", "--update-interval", "30ms"], 6.0),
        (["--max-base-rtt", "300ms"], 4.0),
    ],
)
def test_where_tc_has_no_line_the_nearest_is_shown_with_what_it_leaves(capsys, words, gain):
    """Its margins are those of the loop that runs, found loop by loop, and not by the search."""
    assert run(["tune", "--aqm", "pie", *words]) == 5
    out = capsys.readouterr()
    line = out.out.rpartition("\n\n")[2].replace("\\\n", "")
    assert line.startswith("tc qdisc replace dev DEV root pie target 15ms tupdate ")
    assert "no line for tc: alpha = " in out.err
    (queue,) = pf.qdisc.parse(line, hz=1000)
    longest = 0.1 if words[0] == "--max-rtt" else 0.315
    rtts = np.linspace(0.015, longest, 9)[:, None]
    loads = np.union1d(np.geomspace(1e-6, 0.45, 61), queue.aqm.heard_edges[:-1])
    rates, acks = (
        pf.Loop(pf.Reno(), queue.aqm, rtt=rtts, p=loads, update="sampled", clock=clock).margins()
        for clock in ("rate", "acks")
    )
    least = min(float(np.min(one.gain_margin_db)) for one in (rates, acks))
    told = float(re.search(r"margins left +([\d.]+) dB[^\n]*\nstable up to", out.out)[1])
    assert told >= gain
    assert told - 0.01 <= least <= told + 0.35  # the grid is coarser than the search's


@pytest.mark.slow
def test_json_has_the_nearest_line(capsys):
    words = ["tune", "--aqm", "pie", "--max-rtt", "100ms", "--update-interval", "30ms", "--json"]
    assert run(words) == 5
    answer = strict_json(capsys.readouterr().out)
    assert answer["tc"] is None
    assert answer["nearest"]["tc"].endswith("pie target 15ms tupdate 35ms alpha 1 beta 26")
    assert answer["nearest"]["least"]["gain_margin_db"] >= 6.0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")
def test_where_no_line_is_stable_everywhere_the_nearest_goes_as_far_as_it_can() -> None:
    """Loop by loop: what was asked for up to half of where it ends, and nothing beyond the end."""
    nearest = pf.tune("2s", aqm="pie").nearest
    ends = float(nearest.rtt_limit)
    assert 0.25 < ends < 0.5  # 6 dB for 0.3 s and more need less than a sixteenth of 1 Hz
    (queue,) = pf.qdisc.parse(nearest.to_tc(), hz=1000)
    loads = np.geomspace(1e-6, 1.0, 121)

    def least(rtt: float) -> float:
        loop = pf.Loop(pf.Reno(), queue.aqm, rtt=rtt, p=loads, update="sampled")
        return float(np.min(loop.margins().gain_margin_db))

    assert least(ends / 2.0) >= 6.0
    assert least(0.98 * ends) > 0.0 > least(1.02 * ends)


def test_no_line_is_looked_for_where_tc_has_no_such_queue() -> None:
    assert pf.tune("100ms", aqm="pi", max_window=30, k=None).nearest is None


@given(st.lists(st.text("abc-.", min_size=1, max_size=20), min_size=1, max_size=20).map(" ".join))
def test_a_shell_reads_one_command(line):
    pasted = in_shell(line)
    assert pasted.replace(" \\\n    ", " ") == line
    assert all(len(part) <= 80 for part in pasted.splitlines())


@pytest.mark.slow
def test_a_preset_is_designed_with_its_own_target_and_interval() -> None:
    """And a rule of a largest round-trip time is made for that of the design."""
    design = pf.tune("100ms", aqm="docsis_pie")
    own = dataclasses.replace(pf.presets.docsis_pie(), alpha=design.alpha, beta=design.beta)
    assert design.aqm == own
    assert design.least.gain_margin_db >= 5.99
    rule = pf.tune("60ms", aqm="tc_max_rtt")
    assert rule.update_interval == rule.target == pytest.approx(0.01)
