"""One scenario in two engines: the table, its oscillations and its causes."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.comparison.agreement.agreement import run_all, tabulate
from pi2_fluid.comparison.agreement.causes import UNKNOWN, Facts, FlowFacts, name_causes
from pi2_fluid.comparison.agreement.curves import delay_distribution, stretch_means
from pi2_fluid.comparison.agreement.oscillation import CALM, read_oscillation
from pi2_fluid.comparison.agreement.senders import RunFacts, name_run_causes
from pi2_fluid.comparison.agreement.stages import answers_to_pushes, last_stage


def many(rtt: str = "80ms", aqm: Any = None, **options: Any) -> pf.Scenario:
    flows = pf.Flows(pf.Reno(), 60, rtt)
    return pf.Scenario("80s", pf.Link("120Mbit/s"), aqm or pf.Pi2(), flows, **options)


@pytest.fixture(scope="module")
def crowd() -> Any:
    return compare(many(), 4)


@pytest.fixture(scope="module")
def light() -> Any:
    return compare(pf.named_scenario("pi2_fig11a_pi2"), 4)


def compare(scenario: Any, seeds: Any, **options: Any) -> Any:
    return pf.compare(scenario, pf.Fluid(), pf.Packets(seeds=seeds), **options)


def value(table: Any, name: str, engine: str = "packet", column: str = "value") -> float:
    return float(table[column].sel(name=name, engine=engine))


def why(table: Any, name: str) -> str:
    return str(table["why"].sel(name=name, engine="packet").item())


def apart(table: Any, name: str) -> bool:
    return bool(table["disagreement"].sel(name=name, engine="packet"))


# --- known answers --------------------------------------------------------------------------


@pytest.mark.slow
def test_many_flows_are_at_the_target_in_both(crowd) -> None:
    for name in ("delay_mean", "queue_delay_mean", "delay_p50"):
        assert value(crowd, name, "fluid") == pytest.approx(0.020, rel=1e-3)
        assert value(crowd, name) == pytest.approx(0.020, rel=0.03)
        assert not apart(crowd, name)
    assert value(crowd, "utilization") == pytest.approx(1.0, abs=0.002)
    assert value(crowd, "throughput.reno") == pytest.approx(120e6, rel=0.002)


@pytest.mark.slow
def test_the_constant_of_reno_is_that_of_each_engine(crowd) -> None:
    fluid, packet = (
        value(crowd, "window.reno", key) * math.sqrt(value(crowd, "drop_fraction", key))
        for key in ("fluid", "packet")
    )
    assert fluid == pytest.approx(math.sqrt(2), rel=1e-3)
    # 1.22 of a regular sawtooth, 1.31 of independent losses.
    assert 1.2 < packet < 1.3
    for name in ("drop_fraction", "controller"):
        assert apart(crowd, name)
        assert f"is {packet:.2f} in packets, 1.41 by its law" in why(crowd, name)


@pytest.mark.slow
def test_frequency_and_damping_are_those_of_the_rightmost_root() -> None:
    crowd = compare(many(), 16)  # one run's frequency scatters by 5 %
    flows = pf.Flows(pf.Reno(), 60, "80ms")
    loop = pf.Loop(flows, pf.Pi2(), capacity="120Mbit/s", update="delayed", rtt_terms="exact")
    root = complex(loop.roots())
    assert value(crowd, "frequency", "fluid") == pytest.approx(root.imag, rel=0.1)
    assert value(crowd, "damping", "fluid") == pytest.approx(-root.real / abs(root), rel=0.2)
    assert value(crowd, "frequency") == pytest.approx(value(crowd, "frequency", "fluid"), rel=0.05)


@pytest.mark.slow
def test_near_the_margin_both_ring_at_the_same_frequency() -> None:
    table = compare(many("100ms"), 4)
    for key in ("fluid", "packet"):
        assert value(table, "frequency", key) == pytest.approx(4.85, rel=0.05)
        assert value(table, "damping", key) < 0.09


@pytest.mark.slow
def test_a_limit_cycle_has_its_frequency_in_both_and_no_damping_in_the_fluid() -> None:
    table = compare(many("80ms", pf.Pi2(alpha=0.7, beta=7.0)), 4)
    frequency = value(table, "frequency", "fluid")
    assert value(table, "damping", "fluid") < 0.01
    assert value(table, "damping") < 0.1
    # Packets have a smaller p, hence another loop: their cycle is 3 to 12 % faster.
    assert 1.0 < value(table, "frequency") / frequency < 1.12
    assert "repeats exactly" in why(table, "damping")


def ratio_of_swings(flows: int, capacity: float, path: str, excess: float) -> float:
    """How much less the delay moves with 16 times the flows on 16 times the link.

    Of chance it is 4, of a loop that swings by itself 1; gains are `excess` dB beyond the limit.
    """
    alone = pf.Flows(pf.Reno(), flows, path, ecn=True)
    aqm = pf.Pi2(ecn=True)
    loop = pf.Loop(alone, aqm, capacity=capacity, update="sampled", rtt_terms="exact")
    factor = 10 ** ((float(loop.margins().gain_margin_db) + excess) / 20)
    aqm = dataclasses.replace(aqm, alpha=aqm.alpha * factor, beta=aqm.beta * factor)
    swings = []
    for times in (1, 16):
        many = pf.Flows(pf.Reno(), flows * times, path, ecn=True)
        scenario = pf.Scenario(50.0, pf.Link(capacity * times), aqm, many)
        delay = pf.packet.simulate(scenario, seeds=1).queue_delay
        swings.append(float(delay.sel(time=slice(20, None)).std()))
    return swings[0] / swings[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flows", "capacity", "path", "settles", "swings"),
    [(50, 50e6, "30ms", -6.0, -2.0), (100, 200e6, "80ms", -3.0, 0.0)],
    ids=["4 segments", "17 segments"],
)
def test_where_packets_begin_to_swing(
    flows: int, capacity: float, path: str, settles: float, swings: float
) -> None:
    """By chance below the sampled limit; by itself a little under it where windows are small."""
    assert ratio_of_swings(flows, capacity, path, settles) > 3.0
    assert ratio_of_swings(flows, capacity, path, swings) < 1.3


# --- the table --------------------------------------------------------------------------------


@pytest.mark.slow
def test_schema(crowd) -> None:
    assert crowd.sizes == {"engine": 2, "name": 17}
    assert list(crowd) == ["value", "low", "high", "relative", "disagreement", "why"]
    assert crowd["options"].values.tolist() == ["Fluid()", "Packets(seeds=4)"]
    for variable in crowd.variables.values():
        assert variable.attrs["units"]
        assert variable.attrs["long_name"]
    units = dict(zip(crowd["name"].values, crowd["unit"].values, strict=True))
    assert units["delay_p99"] == "s"
    assert units["frequency"] == "rad/s"
    assert units["throughput.reno"] == "bit/s"
    assert (crowd["low"] <= crowd["value"]).all()
    assert (crowd["value"] <= crowd["high"]).all()
    assert crowd.attrs["after"] == 16.0  # a fifth of 80 s
    assert crowd["seeds"].values.tolist() == ["", "1, 2, 3, 4"]
    assert "link.kind" in crowd["not_modelled"].sel(engine="fluid").item()
    assert not crowd["not_modelled"].sel(engine="packet").item()


def test_disagreement_and_why_go_together(light) -> None:
    fluid, packet = (light.sel(engine=name) for name in ("fluid", "packet"))
    outside = (fluid["value"] < 0.9 * packet["low"]) | (fluid["value"] > 1.1 * packet["high"])
    assert (packet["disagreement"] == outside).all()
    assert [bool(text) for text in packet["why"].values] == outside.values.tolist()
    assert not fluid["disagreement"].any()
    assert not "".join(fluid["why"].values)
    assert UNKNOWN not in packet["why"].values


def test_relative_is_never_nan(light) -> None:
    assert value(light, "mark_fraction", column="relative") == 0.0
    expected = value(light, "delay_mean") / value(light, "delay_mean", "fluid") - 1.0
    assert value(light, "delay_mean", column="relative") == pytest.approx(expected)
    assert not np.isnan(light["relative"]).any()


@pytest.mark.slow
def test_the_table_survives_netcdf(crowd, tmp_path) -> None:
    import xarray as xr

    crowd.to_netcdf(tmp_path / "t.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "t.nc", engine="h5netcdf") as again:
        xr.testing.assert_identical(again.load(), crowd)


def test_seeds_and_threads_are_those_of_packets() -> None:
    scenario = dataclasses.replace(many(), duration=10.0)
    table = pf.compare(scenario, pf.Fluid(), pf.Packets(seeds=[7, 3], threads=1), after="4s")
    assert table["seeds"].sel(engine="packet").item() == "7, 3"
    runs = pf.summarize(pf.packet.simulate(scenario, seeds=[7, 3], bin="10ms"), "4s")
    assert value(table, "delay_mean") == pytest.approx(float(runs.delay_mean.median()), rel=1e-12)


def test_a_dual_queue_has_two_delays() -> None:
    flows = [pf.Flows(pf.Reno(), 5, "20ms"), pf.Flows(pf.Dctcp(), 5, "20ms")]
    table = compare(pf.Scenario("20s", pf.Link("40Mbit/s"), pf.DualPi2(), flows), 2)
    assert value(table, "queue_delay_mean.L") < value(table, "queue_delay_mean.C")
    assert {"window.reno", "window.dctcp"} <= set(table["name"].values)


# --- causes -----------------------------------------------------------------------------------


def test_few_flows_show_their_sawteeth_and_clip_the_controller(light) -> None:
    assert value(light, "delay_mean") < 0.0185
    for name in ("delay_mean", "delay_p05"):
        assert "and does not control, for 0 %" in why(light, name)
        assert "half a window of reno is" in why(light, name)


def test_timeouts_and_the_cap_are_named_at_50_flows() -> None:
    table = compare(pf.named_scenario("pi2_fig11b_pi2"), 3)
    assert value(table, "drop_fraction", "fluid") == pytest.approx(0.25, rel=1e-6)
    assert value(table, "drop_fraction") == pytest.approx(0.155, rel=0.04)
    assert "timeouts rule TCP" in why(table, "drop_fraction")
    assert "for 100 % of the time in the fluid" in why(table, "delay_mean")


def test_overload_is_named() -> None:
    table = compare(pf.named_scenario("pi2_fig11c_pie"), 3)
    assert "offers 1.2 times the capacity" in why(table, "throughput.reno")
    assert "window.cbr" not in table["name"].values


def test_pie_asks_for_as_many_times_what_it_drops_in_both() -> None:
    """1.85 times, by the spacing alone; packets are spared while few wait besides."""
    flows = pf.Flows(pf.Reno(), 20, "60ms")
    table = compare(pf.Scenario("60s", pf.Link("40Mbit/s"), pf.Pie(target="20ms"), flows), 3)
    spare = value(table, "controller") / value(table, "drop_fraction")
    assert 1.8 < spare < 2.0
    assert "times what it drops" not in why(table, "controller")
    of_fluid = [value(table, name, "fluid") for name in ("controller", "drop_fraction")]
    assert of_fluid[0] / of_fluid[1] == pytest.approx(1.85, rel=0.01)


@pytest.mark.slow
def test_integers_of_dctcp_are_named() -> None:
    linux, rfc = (
        compare(
            pf.Scenario(
                "60s",
                pf.Link("120Mbit/s"),
                pf.CoupledPi2(),
                [
                    pf.Flows(pf.Reno(), 1, "20ms"),
                    pf.Flows(pf.Dctcp(variant=variant), 1, "20ms"),
                ],
            ),
            3,
        )
        for variant in ("linux", "rfc8257")
    )
    assert "Linux's integers" in why(linux, "window.dctcp")
    assert "Linux's integers" not in "".join(rfc["why"].values.ravel())


@pytest.mark.slow
def test_prices_that_are_guessed_are_named() -> None:
    """No sawteeth there, and no queue that follows p: noise that the sources make of marks."""
    flows = pf.Flows(pf.Paganini(), 32, "40ms", initial_window=1, delayed_ack=False)
    link = pf.Link("200Mbit/s", 10_000, "1000B")
    table = compare(pf.Scenario("10s", link, pf.Price(), flows), 2)
    for name in ("mark_fraction", "window.paganini"):
        assert "guesses its price from few marks" in why(table, name)
    assert "keeps packets moving" in why(table, "delay_mean")
    assert "saw" not in "".join(table["why"].values.ravel())


def test_what_has_no_known_cause_says_so() -> None:
    flow = FlowFacts("reno", True, 20.0, 0.004, 20.1, "", "")
    facts = Facts(
        flows=(flow,), backlog=100.0, slot=1e-4, step=math.inf, unresponsive=0.0,
        clamped=(0.0, 0.0), spread=(0.01, 0.01), late_starts=False, spare=1.0, aims=True,
        damping=0.5,
    )  # fmt: skip
    assert name_causes(facts, "delay_mean") == UNKNOWN
    late = facts._replace(late_starts=True)
    assert "leaves slow start together" in name_causes(late, "delay_p99")
    dual = facts._replace(slot=3e-3, step=1e-3)
    assert "one packet takes 3 ms" in name_causes(dual, "mark_fraction")
    dctcp = facts._replace(flows=(flow._replace(name="dctcp", averaged="lasts"),))
    assert "averaged law of dctcp" in name_causes(dctcp, "damping")
    assert name_causes(dctcp, "delay_mean") == UNKNOWN
    price = facts._replace(flows=(flow._replace(name="it", guesses=True, unsent=0.08),))
    assert "sends 8 % less than its mean window" in name_causes(price, "mark_fraction")
    assert name_causes(price._replace(backlog=1.0), "delay_mean") == UNKNOWN
    red = facts._replace(flows=(flow._replace(window=17.0),), aims=False)
    assert "delay of this queue follows its p" in name_causes(red, "delay_mean")


# --- oscillations -----------------------------------------------------------------------------


@pytest.mark.parametrize("damping", [0.0, 0.02, 0.1, 0.2])
def test_the_damping_of_a_decay(damping) -> None:
    t = np.arange(0.0, 40.0, 0.02)
    found = read_oscillation(1.0 + np.exp(-damping * 5.0 * t) * np.cos(5.0 * t), 0.02, 8.0)
    assert found.frequency == pytest.approx(5.0, rel=0.1)
    assert found.damping == pytest.approx(damping, abs=0.04)


def test_noise_through_a_resonance_is_read_as_the_resonance(rng) -> None:
    # x'' + 2 zeta w x' + w^2 x = white noise, in small steps.
    w, zeta, step = 5.0, 0.05, 0.01
    x = v = 0.0
    seen = []
    for kick in rng.normal(size=40_000):
        v += step * (-2 * zeta * w * v - w * w * x) + math.sqrt(step) * kick
        x += step * v
        seen.append(x)
    found = read_oscillation(np.array(seen[::2]), 2 * step, 20.0)
    assert found.frequency == pytest.approx(w, rel=0.03)
    assert found.damping == pytest.approx(zeta, rel=0.4)


@pytest.mark.parametrize("signal", [np.full(500, 0.02), np.exp(-np.arange(500) / 50.0)])
def test_what_does_not_swing_is_calm(signal) -> None:
    assert read_oscillation(signal, 0.01, 0.2) == CALM


def test_the_last_stage_follows_the_schedule() -> None:
    stage = last_stage(pf.named_scenario("pi2_fig12_pi2"))
    assert (stage.begin, stage.nodes[0].link.capacity) == (105.0, 1e8)
    changed = many(changes=[pf.Change("30s", counts={"reno": 10}), pf.Change("40s", "60Mbit/s")])
    stage = last_stage(changed)
    (link,) = (node.link for node in stage.nodes)
    assert (stage.begin, link.capacity, stage.flows[0].count) == (40.0, 6e7, 10.0)


def test_a_queue_at_its_limit_is_not_pushed() -> None:
    assert answers_to_pushes(pf.named_scenario("pi2_fig11b_pi2"), pf.Fluid(), 0.01, 10.0) is None


# --- curves -----------------------------------------------------------------------------------


def test_means_and_distributions_of_both() -> None:
    both = run_all(dataclasses.replace(many(), duration=10.0), pf.Fluid(), pf.Packets(seeds=2))
    for run, runs in zip([one.result for one in both.runs], ((), (2,)), strict=True):
        time, delay = stretch_means(run, "queue_delay", 1.0)
        assert time == pytest.approx(np.arange(10) + 0.5, abs=0.02)
        assert delay.shape == (*runs, 10)
        at, below = delay_distribution(run, 2.0)
        assert below.shape == (*runs, len(at))
        assert below[..., -1] == pytest.approx(1.0)
        assert (np.diff(below) >= 0.0).all()
    assert list(tabulate(both)["name"].values[:2]) == ["delay_mean", "delay_sd"]


# --- errors -----------------------------------------------------------------------------------


def test_what_has_no_fluid_or_no_packets_is_refused_in_one_sentence() -> None:
    with pytest.raises(pf.UnsupportedError, match="CoDel decides packet by packet"):
        compare(many(aqm=pf.CoDel()), 1)

    class Own(pf.Reno):
        pass

    flows = pf.Flows(Own(), 5, "50ms")
    with pytest.raises(pf.UnsupportedError, match="law of one's own"):
        compare(pf.Scenario("9s", pf.Link("9Mbit/s"), pf.Pi2(), flows), 1)


@pytest.mark.parametrize("after", ["-1s", "3s", "90s"])
def test_statistics_begin_within_the_run(after, monkeypatch) -> None:
    monkeypatch.setattr(pf.Fluid, "run", lambda *_: pytest.fail("it ran"))
    monkeypatch.setattr(pf.Packets, "run", lambda *_: pytest.fail("it ran"))
    with pytest.raises(pf.DomainError, match="after"):
        compare(dataclasses.replace(many(), duration=3.0), 1, after=after)


def test_what_is_no_engine_or_twice_the_same_is_refused() -> None:
    scenario = dataclasses.replace(many(), duration=3.0)
    with pytest.raises(pf.QuantityError, match=r"engine = 4 is no engine: give one .* Fluid\(\)"):
        pf.compare(scenario, 4)  # type: ignore[arg-type]
    with pytest.raises(pf.QuantityError, match=r"Fluid\(linear=True\) is given twice"):
        pf.compare(scenario, pf.Fluid(linear=True), pf.Packets(), pf.Fluid(linear=True))


def test_a_scenario_may_be_a_name() -> None:
    with pytest.raises(pf.ScenarioError):
        pf.compare(4)  # type: ignore[arg-type]
    with pytest.raises(pf.QuantityError, match="pi2_fig11a_pi is no file, and scenario ="):
        pf.compare("pi2_fig11a_pi")


# --- any number of engines --------------------------------------------------------------------


@pytest.mark.slow
def test_engines_of_one_name_are_told_apart_and_compared_with_the_first() -> None:
    engines = pf.Packets(seeds=2), pf.Fluid(), pf.Fluid(linear=True), pf.Packets(seeds=[1, 2])
    scenario = dataclasses.replace(many(), duration=10.0)
    table = pf.compare(scenario, *engines)
    names = ["packet(seeds=2)", "fluid", "fluid(linear=True)", "packet(seeds=(1, 2))"]
    assert table["engine"].values.tolist() == names
    same = table.sel(engine=names[-1])
    assert (same["value"] == table["value"][0]).all()
    assert not same["disagreement"].any()
    pair = pf.compare(scenario, pf.Fluid(), pf.Packets(seeds=2))
    np.testing.assert_array_equal(table["value"][:2], pair["value"][::-1])
    some = table["value"][0].values > 0.0
    ratio = (table["value"][1] / table["value"][0]).values[some]
    np.testing.assert_allclose(table["relative"][1].values[some], ratio - 1.0)


def test_causes_are_those_of_fluid_and_packets_whichever_comes_first(light) -> None:
    engines = pf.Packets(seeds=4), pf.Fluid()
    turned = pf.compare("pi2_fig11a_pi2", *engines)
    mine, theirs = turned.sel(engine="fluid"), light.sel(engine="packet")
    both = (mine["disagreement"] & theirs["disagreement"]).values
    assert both.sum() > 5
    assert (mine["why"].values == theirs["why"].values)[both].all()


@pytest.mark.slow
def test_two_fluids_differ_without_a_cause() -> None:
    short = dataclasses.replace(many(), duration=10.0)
    table = pf.compare(short, pf.Fluid(), pf.Fluid(linear=True))
    assert "only where an engine simulates packets" in str(
        table["why"].sel(name="delay_sd")[1].item()
    )


def test_nothing_runs_if_one_engine_cannot(monkeypatch) -> None:
    def run(*_: Any) -> None:
        raise AssertionError("it ran")

    monkeypatch.setattr(pf.Packets, "run", run)
    with pytest.raises(pf.UnsupportedError, match="two queues"):
        pf.compare(many(aqm=pf.DualPi2()), pf.Packets(), pf.Fluid(update="continuous"))


# --- two simulators of packets --------------------------------------------------------------


def test_two_simulators_differ_by_what_their_senders_do() -> None:
    few = RunFacts(("packet", "ns3"), (1e-5, 2e-3), (("W sqrt(p) of reno", 1.25, 1.6),))
    why = name_run_causes(few, "drop_fraction")
    assert why.startswith("W sqrt(p) of reno is 1.25 in packet and 1.60 in ns3")
    assert "of 1000 packets 0.01 in packet and 2 in ns3 end in a timeout" in why
    assert name_run_causes(few, "delay_sd").startswith("of 1000 packets")
    alike = RunFacts(("packet", "ns3"), (1e-3, 1.5e-3), (("W p of dctcp", 2.0, 1.95),))
    assert name_run_causes(alike, "window.dctcp") == UNKNOWN


def test_packets_with_other_seeds_have_no_cause() -> None:
    one, two = (pf.Packets(seeds=[seed]) for seed in (1, 2))
    scenario = pf.Scenario(
        "10s", pf.Link("10Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 3, "50ms", start_jitter="1s")
    )
    table = pf.compare(scenario, one, two, after="4s")
    apart = table["disagreement"].values
    assert (table["why"].values[~apart] == "").all()
    assert (table["why"].values[apart] != "").all()
