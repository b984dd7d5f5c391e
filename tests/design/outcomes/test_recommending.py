"""`tune` with traffic, on families so small that a race takes a second."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.design.outcomes import running
from pi2_fluid.design.outcomes.recommending import TuningInterrupted
from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError

QUEUE = pf.presets.linux_dualpi2()


def cell(*flows, rate="4Mbit/s", duration="18s", queue=QUEUE):
    return pf.Scenario(duration, pf.Link(rate, kind="htb"), queue, flows)


def small():
    long = pf.Flows(pf.Reno(), 3, "20ms", "long", start_jitter="1s")
    joining = pf.Flows(pf.Reno(), 3, "20ms", "joining", start="12s")
    pages = pf.Transfers(pf.Cubic(), 4, "20ms", "pages", size=pf.Fixed(10), idle="500ms")
    return {"joining": cell(long, joining), "pages": cell(long, pages)}


@pytest.fixture(scope="module")
def best():
    return pf.tune(traffic=small(), seeds=4)


@pytest.mark.slow
def test_the_answer_is_a_queue_that_tc_can_be_asked_for(best):
    line = best.to_tc(dev="eth0")
    (read,) = pf.qdisc.parse(line, hz=1000)
    assert read.aqm == best.aqm
    assert best.to_qdisc().aqm == best.aqm
    assert (best.alpha, best.target) == (best.aqm.alpha, best.aqm.target)
    assert best.update_interval == 0.016


@pytest.mark.slow
def test_outcomes_compare_every_candidate_with_three_others(best):
    found = best.outcomes
    assert found["change"].dims == ("candidate", "versus", "measure", "cell")
    assert found["versus"].to_numpy().tolist() == ["default", "textbook", "now"]
    assert found["cell"].to_numpy().tolist() == ["joining", "pages", "all"]
    base = next(x for x in found["candidate"].to_numpy() if x == "41/819")
    own = found.sel(candidate=base, versus="now")
    ratios = own["compared"].to_numpy() == "ratio"
    there = ~np.isnan(own["change"].to_numpy())
    np.testing.assert_array_equal(own["change"].to_numpy()[ratios][there[ratios]], 1.0)
    np.testing.assert_array_equal(own["change"].to_numpy()[~ratios][there[~ratios]], 0.0)
    inside = (found["low"] <= found["change"]) & (found["change"] <= found["high"])
    assert bool((inside | np.isnan(found["change"])).all())
    # Levels are the measures themselves: a delay near the target.
    assert 0.01 < float(found["level"].sel(candidate=base, measure="p99", cell="pages")) < 0.06


@pytest.mark.slow
def test_what_was_asked_for_is_kept_in_mind(best):
    roles = " ".join(str(role) for role in best.outcomes["role"].to_numpy())
    assert all(word in roles for word in ("base", "default", "textbook", "chosen"))
    others = best.outcomes["role"].to_numpy() == ""
    assert float(best.outcomes["gain_margin_db"][others].min()) >= 0.0
    assert best.runs == int(best.outcomes["seeds"].sum()) * 2
    textbook = pf.tune("35ms", aqm=best.default)  # 20 ms and the target
    assert best.textbook.beta == pytest.approx(textbook.beta, rel=0.01)


@pytest.mark.slow
def test_margins_are_those_of_the_windows_that_occur(best):
    at = best.margins["longest"]
    assert at.rtt == pytest.approx(0.035)
    assert at.window == pytest.approx(4e6 * 0.035 / 12e3 / 3)
    assert at.cell in small()
    assert best.margins["typical"] == at  # there is one path
    assert 0.035 < best.rtt_6db < best.rtt_0db


@pytest.mark.slow
def test_equal_arguments_give_equal_bytes_whoever_runs_the_cells(best):
    with ThreadPoolExecutor(2) as pool:
        again = pf.tune(traffic=small(), seeds=4, client=pool)
    assert json.dumps(again.to_dict()) == json.dumps(best.to_dict())


@pytest.mark.slow
def test_text_and_pictures_say_the_verdict(best):
    assert best.verdict in str(best)
    assert best.to_tc() in str(best)
    table = pf.to_latex(best)
    for line in best.summary().splitlines():
        for change in re.findall(r"[+-]([\d.]+ ± [\d.]+)", line):
            mean, half = (float(part) for part in change.split(" ± "))
            said = [(float(m), float(h)) for m, h in re.findall(r"([\d.]+) \\pm ([\d.]+)", table)]
            near = 0.06 if half < 9.4 else 0.6  # two digits of the interval
            found = [abs(m - mean) < near and abs(h - half) < near for m, h in said]
            assert any(found) or half == 0.0
    assert best.verdict in best._repr_html_()
    assert "no cell has an event after which less is offered" in str(best)
    assert len(best.plot_front()) >= 4  # two panels, of the others and of those with a role
    row = best.rows()[0]
    assert set(row["changes"]["p99"]) == {"joining", "pages", "all"}
    assert set(row["changes"]["p99_after"]) == {"joining", "all"}
    json.loads(json.dumps(best.to_dict()))


@pytest.mark.slow
def test_progress_is_told_in_runs():
    told = []
    best = pf.tune(traffic=small(), seeds=8, seconds="1ms", progress=lambda *x: told.append(x))
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert told[-1][0] == best.runs
    assert best.cut_short
    assert best.stopped == "0.001 s had passed"


@pytest.mark.slow
def test_what_was_measured_is_there_after_ctrl_c(monkeypatch):
    calls = []

    def interrupted(job):
        calls.append(job)
        if len(calls) == 9:  # of the fifth candidate
            raise KeyboardInterrupt
        return measured(job)

    measured = running.run_job
    monkeypatch.setattr(running, "run_job", interrupted)
    with pytest.raises(TuningInterrupted) as caught:
        pf.tune(traffic=small(), seeds=4)
    found = caught.value.recommendation
    assert found.outcomes.sizes["candidate"] == 4
    assert found.stopped == "it was interrupted"
    assert found.cut_short
    assert found.runs == 32


@pytest.mark.slow
def test_ctrl_c_before_anything_is_known_is_ctrl_c(monkeypatch):
    def interrupted(job):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "run_job", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        pf.tune(traffic=small(), seeds=4)
    assert not isinstance(caught.value, TuningInterrupted)


@pytest.mark.slow
def test_confirming_in_packets_with_other_seeds_finds_the_same(best):
    found = best.confirm(pf.Packets(seeds=range(1000, 1006)))
    assert found["z"].dims == ("measure", "cell")
    assert found.attrs["left_out"] == ""
    # Of 10 numbers of 4 and 6 seeds; their errors are uncertain themselves.
    assert 0.3 < found.attrs["rms_z"] < 2.5
    one = best.confirm(pf.Packets(seeds=3), cells=("pages",))
    assert one["cell"].to_numpy().tolist() == ["pages"]


@pytest.mark.slow
def test_confirming_refuses_what_cannot_confirm(best):
    with pytest.raises(QuantityError, match="engine = 3 is no engine"):
        best.confirm(3)
    with pytest.raises(QuantityError, match="names 'page', which the family has not: give 'pages'"):
        best.confirm(pf.Packets(), cells=("page",))
    with pytest.raises(UnsupportedError, match="can run no cell of this traffic: pages: "):
        best.confirm(pf.Fluid(), cells=("pages",))
    with pytest.raises(UnsupportedError, match="counts no delays of packets"):
        best.confirm(pf.Fluid(), cells=("joining",))


# --- other queues -----------------------------------------------------------------------------


@pytest.mark.slow
def test_scenarios_are_compared_with_their_own_queues():
    own = pf.DualPi2(alpha=20 / 256, beta=1000 / 256, target="20ms")
    family = {"one": cell(pf.Flows(pf.Reno(), 3, "20ms"), queue=own, duration="14s")}
    found = pf.tune(traffic=family, seeds=4)
    base = found.outcomes.isel(candidate=0)
    assert str(base["candidate"].item()) == "20/1000, target 20 ms"
    assert "base" in str(base["role"].item())
    assert found.base.target == 0.02
    assert found.default.target == 0.015  # of the kind as it comes


@pytest.mark.slow
def test_cells_may_have_queues_of_several_kinds():
    flows = pf.Flows(pf.Reno(), 3, "20ms")
    family = {
        "tail": cell(flows, queue=pf.TailDrop(), duration="14s"),
        "dual": cell(flows, duration="14s"),
    }
    found = pf.tune(traffic=family, seeds=4)
    assert found.base is None
    assert str(found.outcomes["candidate"][0].item()) == "own"
    if found.kept:
        assert found.alpha is None
        with pytest.raises(UnsupportedError, match="keep what each cell has"):
            found.to_tc()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["coupled", "pie"])
def test_other_kinds_of_queue_are_chosen_from(kind):
    family = {"one": cell(pf.Flows(pf.Reno(), 3, "20ms"), duration="14s")}
    found = pf.tune(traffic=family, aqm=kind, seeds=4)
    assert type(found.aqm) is type(found.default)
    assert found.outcomes.sizes["candidate"] > 5
    if kind == "pie":
        (read,) = pf.qdisc.parse(found.to_tc(), hz=1000)
        assert read.aqm == found.aqm
    else:
        with pytest.raises(UnsupportedError, match="the kernel has no"):
            found.to_tc()


@pytest.mark.slow
def test_a_free_target_is_chosen_from_several():
    family = {"one": cell(pf.Flows(pf.Reno(), 3, "20ms"), duration="14s")}
    found = pf.tune(traffic=family, target="free", seeds=4, value="delay")
    assert len(np.unique(found.outcomes["target"])) == 4
    assert "target 10 ms" in " ".join(found.outcomes["candidate"].to_numpy())


@pytest.mark.slow
def test_a_target_that_is_given_is_that_of_the_default_too():
    family = {"one": cell(pf.Flows(pf.Reno(), 3, "20ms"), duration="14s")}
    found = pf.tune(traffic=family, target="10ms", seeds=4)
    assert set(found.outcomes["target"].to_numpy()) == {0.01}
    assert found.base == found.default


# --- refusals ---------------------------------------------------------------------------------


def test_a_cell_that_cannot_be_run_is_named():
    own = small()
    own["pages"] = cell(*own["pages"].flows, queue=pf.Pi2(variant="hpe"))
    words = "cell 'pages' cannot be run packet by packet: Pi2 v"
    with pytest.raises(UnsupportedError, match=words):
        pf.tune(traffic=own)


@pytest.mark.parametrize(
    ("error", "words", "arguments"),
    [
        (QuantityError, 'value = "calm" is unknown|value', {"value": "calm"}),
        (DomainError, "seeds = 3 tell no difference from chance: give 4 or more", {"seeds": 3}),
        (DomainError, "loss = -1", {"loss": -1}),
        (QuantityError, "base = 3 is no queue: give what runs now", {"base": 3}),
        (QuantityError, "objective = 'gain' goes with a largest r", {"objective": "gain"}),
        (QuantityError, "max_rtt = '100ms' goes with a largest r", {"max_rtt": "100ms"}),
        (UnsupportedError, 'give aqm="pie"', {"aqm": "fq_pie"}),
    ],
)
def test_arguments_are_refused_in_a_sentence(error, words, arguments):
    with pytest.raises(error, match=words):
        pf.tune(traffic=small(), **arguments)


def test_what_goes_with_traffic_is_refused_without():
    with pytest.raises(QuantityError, match="value = 'rate' goes with traffic, which is not given"):
        pf.tune("100ms", value="rate")


# --- both signs -------------------------------------------------------------------------------


@pytest.mark.slow
def test_many_long_flows_take_more_gain():
    many = [
        pf.Flows(pf.Cubic(), 8, "15ms", "long", start_jitter="1s"),
        pf.Flows(pf.Cubic(), 8, "15ms", "joining", start="12s", start_jitter=0.1),
    ]
    best = pf.tune(traffic={"many": cell(*many, rate="6Mbit/s")}, seeds=8)
    assert not best.kept
    assert best.beta >= 1450 / 256 * 0.99  # what the kernel makes of 1450 parts
    assert best.of("p99_after")[0] < 0.85


@pytest.mark.slow
def test_few_long_flows_beside_bursts_do_not():
    bursts = [
        pf.Flows(pf.Cubic(), 1, "40ms", f"s{k}", start=7.5 + 0.6 * k, stop=7.75 + 0.6 * k)
        for k in range(17)
    ]
    few = cell(pf.Flows(pf.Cubic(), 1, "40ms", "long"), *bursts, rate="15Mbit/s")
    best = pf.tune(traffic={"few": few}, seeds=12)
    assert best.beta <= 1000 / 256


@pytest.mark.slow
def test_traffic_without_long_flows_has_no_textbook_and_no_margins():
    pages = pf.Transfers(pf.Cubic(), 4, "20ms", "pages", size=pf.Fixed(20), idle="500ms")
    best = pf.tune(traffic={"pages": cell(pages)}, seeds=4)
    assert best.textbook is None
    assert best.margins == {}
    assert np.isnan(best.rtt_6db)
    assert best.outcomes["versus"].to_numpy().tolist() == ["default", "now"]
    assert best.to_dict()["rtt_6db"] is None


@pytest.mark.slow
def test_what_has_no_gains_can_be_what_runs_now():
    answer = pf.tune(traffic=small(), base=pf.TailDrop(), aqm="dualpi2", seeds=4)
    assert answer.base == pf.TailDrop()
    assert {row["candidate"] for row in answer.rows() if "base" in row["role"]} == {"taildrop"}
    assert "taildrop" in answer.summary()


@pytest.mark.slow
def test_a_queue_that_differs_in_other_numbers_has_a_name_of_its_own():
    answer = pf.tune(traffic=small(), base=replace(QUEUE, k=3.0), seeds=4)
    names = [row["candidate"] for row in answer.rows()]
    assert len(set(names)) == len(names)
    assert "41/819 (now)" in names


def test_a_run_whose_histograms_are_too_coarse_is_refused():
    long = pf.Flows(pf.Reno(), 3, "20ms", "long")
    with pytest.raises(DomainError, match=r"lasts 120 s.*give it 100 s or less"):
        pf.tune(traffic=cell(long, duration="120s"), seeds=4)


def test_no_cell_is_called_as_the_mean_over_all():
    with pytest.raises(pf.ScenarioError, match="cell 1 is called 'all'"):
        pf.Traffic({"all": cell(pf.Flows(pf.Reno(), 3, "20ms"))})


def test_a_cell_without_events_has_no_change_after_them():
    """NaN is no number to print: nothing happens there, or there is one run and no interval."""
    from pi2_fluid.design.outcomes.wording import change_in_words

    nan = float("nan")
    assert change_in_words("p99_after", [nan, nan, nan]) == "-"
    assert change_in_words("p99", [1.05, nan, nan]) == "+5.0"
    assert change_in_words("rate", [0.01, nan, nan]) == "+1.00"
