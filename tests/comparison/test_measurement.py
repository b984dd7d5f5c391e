"""A measurement beside engines: by measurements that are made of packets, whose truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from measured_runs import measure, two_flows

import pi2_fluid as pf
from pi2_fluid.comparison.measurement.causes import Apart, Facts, name_causes
from pi2_fluid.comparison.measurement.probes import waits_at
from pi2_fluid.measured.dataset import Measurement

pytestmark = pytest.mark.slow

SEEDS = pf.Packets(seeds=12)


@pytest.fixture(scope="module")
def scenario() -> pf.Scenario:
    return two_flows()


@pytest.fixture(scope="module")
def measured(scenario: pf.Scenario) -> Any:
    return measure(scenario)


@pytest.fixture(scope="module")
def table(measured: Any) -> Any:
    return pf.compare(pf.scenario_of(measured), SEEDS, measured)


def test_the_scenario_is_that_which_was_measured(scenario: pf.Scenario, measured: Any) -> None:
    found = pf.scenario_of(measured).scenario
    assert found.aqm.target == scenario.aqm.target
    assert found.link.capacity == scenario.link.capacity
    assert [float(flow.start) for flow in found.flows] == [1.0, 2.0]


def test_most_of_what_packets_measured_lies_in_the_range_of_packets(table: Any) -> None:
    # One more run of the same lies outside of twelve in 2 of 13 cases: of 10 numbers 1.5, and
    # more than 5 in less than one case of a hundred if they were independent.
    outside = table.outside.sel(engine="packet")
    assert int(outside.sum()) <= 5, table.name[outside.to_numpy()].values


def test_numbers_are_means_of_what_was_measured(measured: Any, table: Any) -> None:
    inside = (measured.time > table.attrs["after"]) & (measured.time <= table.attrs["until"])
    by_hand = float(measured.throughput.sel(flows="one")[inside.to_numpy()].mean())
    mine = float(table.value.sel(engine="measured", name="throughput.one"))
    assert mine == pytest.approx(by_hand, rel=0.02)  # half a sample at both ends
    pings = measured.delay.sel(probe="ping")[inside.to_numpy()].dropna("time").to_numpy()
    median = float(table.value.sel(engine="measured", name="delay_p50"))
    assert median == pytest.approx(float(np.median(pings)), abs=2e-4)


def test_shares_and_ratio_follow_from_the_rates(table: Any) -> None:
    value = table.value.sel(engine="measured")
    one, two = (float(value.sel(name=f"throughput.{flow}")) for flow in ("one", "two"))
    assert float(value.sel(name="share.one")) == pytest.approx(one / (one + two))
    assert float(value.sel(name="rate_ratio")) == pytest.approx(one / two)


def test_another_queue_lies_outside_and_is_named(measured: Any) -> None:
    wrong = pf.scenario_of(measured, aqm=pf.Pie(target="60ms"))
    table = pf.compare(wrong, SEEDS, measured)
    row = table.sel(engine="packet", name="delay_mean")
    assert bool(row.outside)
    assert float(row.relative) > 0.5
    assert str(row.why.item())


def test_a_queue_that_is_assumed_is_the_cause(scenario: pf.Scenario) -> None:
    data = measure(scenario, title="20Mbit 20ms")
    table = pf.compare(pf.scenario_of(data), pf.Packets(seeds=4), data)
    row = table.sel(engine="packet", name="delay_mean")
    assert bool(row.outside)
    assert "assumed (queue): nothing says which: tail drop" in str(row.why.item())


def test_fluid_and_packets_beside_it(measured: Any) -> None:
    table = pf.compare(pf.scenario_of(measured), pf.Packets(seeds=4), pf.Fluid(), measured)
    assert table.engine.values.tolist() == ["measured", "packet", "fluid"]
    assert table.seeds.values.tolist()[2] == ""
    same = table.low.sel(engine="fluid") == table.high.sel(engine="fluid")
    assert bool(same.all())


def test_a_scenario_of_ones_own_is_run_as_it_is(scenario: pf.Scenario, measured: Any) -> None:
    table = pf.compare(scenario, pf.Packets(seeds=2), measured)
    assert "throughput.one" in table.name.values


def test_no_engine_means_packets_of_twelve_seeds(measured: Any) -> None:
    table = pf.compare(pf.scenario_of(measured), measured)
    assert len(str(table.seeds.sel(engine="packet").item()).split(",")) == 12


def test_other_names_are_refused(measured: Any) -> None:
    other = two_flows(flows=[pf.Flows(pf.Cubic(), 1, "20ms", name="three")])
    with pytest.raises(pf.ScenarioError, match=r"class 'three'.*one, two"):
        pf.compare(other, measured)


@pytest.mark.parametrize("kind", ["array", "frame", "result"])
def test_data_that_are_no_measurement_are_refused(
    kind: str, scenario: pf.Scenario, measured: Any
) -> None:
    data = {
        "array": lambda: measured.throughput,
        "frame": measured.throughput.to_pandas,
        "result": lambda: pf.simulate(scenario, pf.Packets(seeds=1)),
    }[kind]()
    with pytest.raises(pf.QuantityError, match="is no measurement: give what"):
        pf.compare(scenario, pf.Packets(seeds=1), data)


def test_two_measurements_or_scenarios_are_refused(scenario: pf.Scenario, measured: Any) -> None:
    with pytest.raises(pf.QuantityError, match="2 measurements are given beside one scenario"):
        pf.compare(scenario, measured, measured)
    with pytest.raises(pf.QuantityError, match="beside 2 scenarios"):
        pf.compare([scenario, scenario], measured)


def test_after_where_nobody_sends_is_refused(measured: Any) -> None:
    with pytest.raises(pf.DomainError, match="leaves nothing"):
        pf.compare(pf.scenario_of(measured), measured, after="30s")


def test_a_probe_meets_the_queue_that_packets_meet(scenario: pf.Scenario) -> None:
    # By another way: the mean of what packets themselves waited, weighted by time.
    run = pf.Packets(seeds=3).with_rows(0.005).run(scenario)
    at = np.linspace(10.0, 30.0, 4001)
    waits, alone = waits_at(run, scenario, at)
    sojourn = run.sojourn.sel(time=slice(10.0, 30.0)).mean("time").to_numpy()
    assert not alone
    np.testing.assert_allclose(waits.mean(axis=1), sojourn, rtol=0.05)


def test_a_probe_among_queues_of_flows_waits_for_one_packet() -> None:
    scenario = two_flows(aqm=pf.FqCodel())
    run = pf.Packets(seeds=2).with_rows(0.005).run(scenario)
    waits, alone = waits_at(run, scenario, np.linspace(10.0, 30.0, 2001))
    slot = 8 * 1514 / 20e6
    assert alone
    assert waits.max() <= slot + 8 * 98 / 20e6
    # Half a packet in the mean, on a link that is busy.
    assert waits.mean() == pytest.approx(0.5 * slot + 8 * 98 / 20e6, rel=0.1)


def test_a_ping_beside_l4s_alone_meets_no_queue() -> None:
    flows = [pf.Flows(pf.Prague(), 1, "20ms", name="one")]
    scenario = two_flows(aqm=pf.presets.linux_dualpi2(), flows=flows)
    run = pf.Packets(seeds=1).with_rows(0.005).run(scenario)
    _, alone = waits_at(run, scenario, np.array([20.0]))
    assert alone


def test_prague_in_a_classic_queue_names_the_detector() -> None:
    flows = [
        pf.Flows(pf.Cubic(), 1, "20ms", name="one", ecn=True),
        pf.Flows(pf.Prague(), 1, "20ms", name="two"),
    ]
    described = _described(two_flows(aqm=pf.Pie(ecn=True), flows=flows))
    why = name_causes(_facts(described), Apart("throughput.one", 10e6, 2e6, 3e6))
    assert "prague_ecn_fallback" in why


def test_few_answers_are_named_for_the_last_percent() -> None:
    facts = _facts(_described(two_flows()))._replace(samples=100)
    why = name_causes(facts, Apart("delay_p99", 0.09, 0.03, 0.04))
    assert "of 100 answers of ping 1 decide" in why
    assert "decide" not in name_causes(facts, Apart("delay_p50", 0.09, 0.03, 0.04))


def test_both_directions_are_named_for_ping() -> None:
    facts = _facts(_described(two_flows()))._replace(both_ways=True)
    assert "both directions" in name_causes(facts, Apart("delay_p50", 0.09, 0.03, 0.04))


def test_what_no_cause_explains_says_so() -> None:
    facts = _facts(_described(two_flows()))
    why = name_causes(facts, Apart("delay_p50", 0.09, 0.03, 0.04))
    assert why == "no cause that we know of holds here: look closer"


def _described(scenario: pf.Scenario) -> Any:
    from pi2_fluid.measured.scenario import Described

    return Described(scenario, {}, {})


def _facts(described: Any) -> Facts:
    return Facts(described, 12, 50.0, 50.0, 1000, both_ways=False, alone=False)


def test_marks_and_drops_are_counted_between_the_two_times(scenario: pf.Scenario) -> None:
    data = measure(scenario)
    measurement = Measurement("mine", about={})
    times = data.time.to_numpy()
    for name in ("one", "two"):
        own = data.throughput.sel(flows=name).to_numpy()
        there = np.isfinite(own)
        measurement.add("throughput", name, times[there], own[there])
    for name, each in (("packets", 1000.0), ("ecn_mark", 10.0), ("drops", 20.0)):
        measurement.add(name, "eth0 pie 1:", times, each * np.arange(times.size))
    counted = measurement.to_dataset()
    described = pf.scenario_of(counted, capacity="20Mbit/s", base_rtt="20ms", aqm="pie")
    table = pf.compare(described, pf.Packets(seeds=2), counted)
    value = table.value.sel(engine="measured")
    assert float(value.sel(name="mark_fraction")) == pytest.approx(0.01)
    assert float(value.sel(name="drop_fraction")) == pytest.approx(20 / 1020)
    assert float(table.value.sel(engine="packet", name="drop_fraction")) > 0.0


def test_the_picture_has_lines_and_bands(table: Any, tmp_path: Path) -> None:
    path = tmp_path / "beside.png"
    figure = pf.plot_comparison(table, path)
    assert path.stat().st_size > 10_000
    upper, lower, share = figure.axes
    names = [text.get_text() for text in upper.get_legend().get_texts()]
    assert names == ["one, packet", "one, measured", "two, packet", "two, measured"]
    assert len(lower.collections) >= 1
    assert share.get_xlabel() == "round trip [ms]"


def test_other_tables_and_paths_are_refused(table: Any, tmp_path: Path) -> None:
    with pytest.raises(pf.QuantityError, match="is no comparison with a measurement"):
        pf.plot_comparison(table.drop_attrs())
    with pytest.raises(pf.QuantityError, match="is of no kind that is drawn"):
        pf.plot_comparison(table, tmp_path / "beside.bmp")
