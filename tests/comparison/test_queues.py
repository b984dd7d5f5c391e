"""Several queues under one traffic: the table of `compare`, and who runs what."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from cached_kernel import why_no_kernel
from scipy import stats

import pi2_fluid as pf
from pi2_fluid.comparison.agreement.numbers import Number
from pi2_fluid.comparison.queues.running import (
    QueueComparison,
    QueueRun,
    run_queues,
    usual_engines,
)
from pi2_fluid.comparison.queues.table import tabulate_queues
from pi2_fluid.errors import QuantityError, ScenarioError, UnsupportedError
from pi2_fluid.network.network import Network, Node

LINK = pf.Link("10Mbit/s", "200 packets")
FLOWS = [
    pf.Flows(pf.Cubic(), 2, "30ms", start_jitter="500ms"),
    pf.Flows(pf.Cbr(bitrate="200kbit/s"), 1, "20ms", name="voice"),
]
BASE = pf.Scenario("6s", LINK, pf.Pie(), FLOWS, pf.Change("4s", capacity="6Mbit/s"))
SEEDS = [1, 2, 3, 4]


def under(*laws: pf.Aqm) -> list[pf.Scenario]:
    return [dataclasses.replace(BASE, aqm=law) for law in laws]


@pytest.fixture(scope="module")
def table() -> Any:
    return pf.compare(under(pf.Pie(), pf.TailDrop()), pf.Packets(seeds=SEEDS), after="1s")


def summaries(law: pf.Aqm) -> Any:
    (scenario,) = under(law)
    return pf.summarize(pf.simulate(scenario, pf.Packets(seeds=SEEDS, bin="5ms")), "1s")


def test_numbers_are_those_of_summarize(table) -> None:
    for law, label in ((pf.Pie(), "pie"), (pf.TailDrop(), "taildrop")):
        told, row = summaries(law), table.sel(queue=label)
        each = row["each"]
        names = ("delay_mean", "delay_p99", "queue_delay_max", "utilization", "drop_fraction")
        for name in names:
            np.testing.assert_array_equal(each.sel(name=name), told[name])
        for name in ("change_peak", "change_settling"):
            np.testing.assert_array_equal(each.sel(name=f"{name}.4s"), told[name][0])
        whole = told["throughput"].sum("flows")
        for of in ("cubic", "voice"):
            rate = told["throughput"].sel(flows=of)
            np.testing.assert_array_equal(each.sel(name=f"throughput.{of}"), rate)
            np.testing.assert_allclose(each.sel(name=f"share.{of}"), rate / whole, rtol=1e-15)
            met = told["delay_mean_of"].sel(flows=of)
            np.testing.assert_array_equal(each.sel(name=f"delay_mean_of.{of}"), met)


def test_intervals_are_student_s_and_differences_are_of_pairs(table) -> None:
    """The referee is SciPy's t-test of one sample, and of pairs."""
    for name in ("delay_mean", "drop_fraction", "delay_p99_of.voice"):
        pair = table.sel(name=name)
        one, two = (pair["each"].sel(queue=label).to_numpy() for label in ("pie", "taildrop"))
        alone = stats.ttest_1samp(two, 0.0).confidence_interval(0.95)
        row = pair.sel(queue="taildrop")
        found = [float(row[key]) for key in ("value", "low", "high")]
        np.testing.assert_allclose(found, [two.mean(), alone.low, alone.high], rtol=1e-9)
        paired = stats.ttest_rel(two, one).confidence_interval(0.95)
        found = [float(row[f"difference{end}"]) for end in ("_low", "_high")]
        np.testing.assert_allclose(found, [paired.low, paired.high], rtol=1e-9)
        assert bool(row["differs"]) == (stats.ttest_rel(two, one).pvalue < 0.05)
    first = table.sel(queue="pie")
    assert not first["differs"].any()
    assert (first["difference"].dropna("name") == 0.0).all()


def test_a_class_s_percentile_is_that_of_its_packets() -> None:
    """The referee is the time that each packet waited, from a trace of events."""
    (scenario, other) = under(pf.Pie(), pf.Pi2())
    told = pf.compare([scenario, other], pf.Packets(seeds=[7], bin="100ms"), after="1s")
    runs = pf.simulate(scenario, pf.Packets(seeds=[7], trace=2_000_000))
    left = (runs["event_what"][0] == 1) & (runs["event_time"][0] > 1e9)
    for of, flows in (("cubic", (0, 1)), ("voice", (2,))):
        mine = left & runs["event_flow"][0].isin(flows)
        waited = 1e-9 * runs["event_waited"][0].to_numpy()[mine.to_numpy()]
        level = float(told["value"].sel(queue="pie", name=f"delay_p99_of.{of}"))
        # Buckets are 1.6 % wide, and a rank falls between two packets.
        low, high = np.quantile(waited, np.minimum(0.99 + np.array([-1.5, 1.5]) / waited.size, 1.0))
        assert 0.984 * low < level < 1.016 * high


def test_what_differs_is_told_from_chance(table) -> None:
    late = table.sel(queue="taildrop")
    assert bool(late["differs"].sel(name="delay_mean"))
    assert float(late["difference_low"].sel(name="delay_mean")) > 0.05
    assert table.attrs["left_out"] == ""
    assert table["engine"].values.tolist() == ["packet", "packet"]
    assert table["seeds"].values.tolist() == ["1, 2, 3, 4"] * 2


def test_only_seeds_of_both_make_pairs() -> None:
    """Of one queue the seeds 1 to 3 were finished, of the other 2 to 4 were asked for."""
    one, two = under(pf.Pie(), pf.TailDrop())
    runs = [
        QueueRun(label, scenario, engine, engine.run(scenario))
        for label, scenario, engine in (
            ("pie", one, pf.Packets(seeds=[1, 2, 3], bin="20ms")),
            ("drop", two, pf.Packets(seeds=[2, 3, 4], bin="20ms")),
        )
    ]
    told = tabulate_queues(QueueComparison(tuple(runs), 1.0)).sel(name="delay_mean")
    each = told["each"]
    assert np.isnan(each.sel(queue="pie", seed=4))
    assert np.isnan(each.sel(queue="drop", seed=1))
    pairs = (each.sel(queue="drop") - each.sel(queue="pie")).sel(seed=[2, 3])
    assert float(told["difference"].sel(queue="drop")) == pytest.approx(float(pairs.mean()))
    assert float(told["value"].sel(queue="pie")) == pytest.approx(
        float(each.sel(queue="pie", seed=[1, 2, 3]).mean())
    )


def test_one_seed_has_no_interval_and_decides_nothing() -> None:
    told = pf.compare(under(pf.Pie(), pf.TailDrop()), pf.Packets(seeds=1))
    assert np.isnan(told["low"]).all()
    assert not told["differs"].any()


def test_a_fluid_has_no_chance() -> None:
    told = pf.compare(under(pf.Pi2(), pf.Pi2(target="40ms")), pf.Fluid(update="continuous"))
    assert told["queue"].values.tolist() == [repr(pf.Pi2()), repr(pf.Pi2(target="40ms"))]
    known = told.sel(name="delay_mean")
    assert known["low"].values.tolist() == known["value"].values.tolist()
    assert bool(known["differs"][1])
    assert float(known["difference"][1]) > 0.005


def test_who_never_settles_is_infinite_and_decides_nothing(monkeypatch) -> None:
    settled = {"pie": [math.inf, 1.5], "pi2": [2.5, math.inf], "codel": [0.5, 1.5]}
    monkeypatch.setattr(
        "pi2_fluid.comparison.queues.table.numbers_in",
        lambda run, _: {"change_settling.4s": Number("s", np.array(settled[run.label]))},
    )
    told = pf.compare(under(pf.Pie(), pf.Pi2(), pf.CoDel()), pf.Packets(seeds=2))
    assert told["value"].values.ravel().tolist() == [math.inf, math.inf, 1.0]
    assert np.isnan(told["high"].values.ravel()).tolist() == [True, True, False]
    # Of PI2's pairs one is infinite either way, which is no number; of CoDel's one of two.
    assert np.isnan(told["difference"].sel(queue="pi2").item())
    assert told["difference"].sel(queue="codel").item() == -math.inf
    assert not told["differs"].any()


def test_links_have_their_own_rows() -> None:
    nodes = [Node(name, pf.Link("10Mbit/s", "100 packets"), pf.Pie()) for name in "ab"]
    flows = pf.Flows(pf.Reno(), 2, "30ms", route=("a", "b"))
    one = pf.Scenario("3s", network=Network(nodes, flows), name="pie")
    other = [dataclasses.replace(node, aqm=pf.Pi2()) for node in nodes]
    two = pf.Scenario("3s", network=Network(other, flows), name="pi2")
    told = pf.compare([one, two], pf.Packets(seeds=2))
    assert told["queue"].values.tolist() == ["pie", "pi2"]
    assert {"delay_p99.a", "delay_p99.b", "utilization.b"} <= set(told["name"].values.tolist())
    assert told["link"].sel(name="delay_p99.b").item() == "b"


# --- who runs it ----------------------------------------------------------------------------


class Kernel(pf.Packets):
    """Packets under the kernel's name, which run what only it has as if it were PIE."""

    name = "linux"

    def require(self, scenario: pf.Scenario) -> None:
        if float(scenario.duration) > 7.0:
            raise UnsupportedError("there is no kernel here.")

    def run(self, scenario: pf.Scenario, progress: Any = None) -> Any:
        runs = super().run(dataclasses.replace(scenario, aqm=pf.Pie()), progress)
        return runs.assign_attrs(engine="linux")


def test_packets_run_what_they_have_and_the_next_engine_the_rest() -> None:
    scenarios = under(pf.Pie(), pf.linux.Qdisc("cake"))
    told = pf.compare(scenarios, pf.Packets(seeds=2), Kernel(seeds=2))
    assert told["engine"].values.tolist() == ["packet", "linux"]
    assert told["queue"].values.tolist() == ["pie", "Qdisc('cake')"]
    # The same law and the same seeds: nothing differs, and not by rounding either.
    assert (told["difference"].dropna("name") == 0.0).all()
    alone = pf.compare(under(pf.Pie(), pf.Pi2()), Kernel(seeds=2))
    assert alone["engine"].values.tolist() == ["linux", "linux"]


def test_what_no_engine_runs_is_refused_before_any_begins(monkeypatch) -> None:
    monkeypatch.setattr(pf.Packets, "run", lambda *_: pytest.fail("it has begun"))
    long = [
        dataclasses.replace(one, duration="8s") for one in under(pf.Pie(), pf.linux.Qdisc("fq"))
    ]
    with pytest.raises(
        UnsupportedError,
        match=r"^no engine runs Qdisc\('fq'\); in packet: .*; in linux: there is no kernel here\.$",
    ):
        pf.compare(long, pf.Packets(), Kernel())
    with pytest.raises(UnsupportedError, match=r"^Qdisc\('fq'\) is the kernel's own"):
        pf.compare(long, pf.Packets())


def test_all_have_ten_seeds_unless_told() -> None:
    assert [engine.seeds for engine in usual_engines()] == [10, 10]


@pytest.mark.slow
@pytest.mark.skipif(bool(why_no_kernel()), reason=why_no_kernel())
def test_a_flow_below_its_share_hardly_waits_in_the_kernel_s_queues_of_flows() -> None:
    link = pf.Link("10Mbit/s", "200 packets", kind="htb")
    scenarios = [
        dataclasses.replace(BASE, aqm=law, link=link) for law in (pf.Pie(), pf.linux.Qdisc("cake"))
    ]
    told = pf.compare(scenarios, pf.Packets(seeds=2), pf.Linux(seeds=2))
    assert told["engine"].values.tolist() == ["packet", "linux"]
    voice = told["value"].sel(name="delay_mean_of.voice")
    assert float(voice[1]) < 0.002 < 0.005 < float(voice[0])


@pytest.mark.parametrize(
    ("scenarios", "error", "reason"),
    [
        ([BASE], QuantityError, "1 scenarios leave nothing to compare"),
        ([], QuantityError, "0 scenarios leave nothing"),
        ([BASE, BASE], QuantityError, "two scenarios have the queue Pie"),
        ([BASE, dataclasses.replace(BASE, duration="5s")], ScenarioError, "duration = 5.0, and"),
        ([BASE, dataclasses.replace(BASE, flows=FLOWS[0])], ScenarioError, "scenario 2 has flows"),
        ([BASE, dataclasses.replace(BASE, changes=())], ScenarioError, "has changes"),
        (
            [BASE, dataclasses.replace(BASE, link=pf.Link("9Mbit/s"))],
            ScenarioError,
            "has links = ",
        ),
    ],
)
def test_what_is_not_one_traffic_is_refused(scenarios, error, reason) -> None:
    with pytest.raises(error, match=reason):
        pf.compare(scenarios)


def test_buffers_and_emulation_belong_to_the_queue() -> None:
    """A short and a long buffer behind tail drop, under names."""
    short = dataclasses.replace(BASE, aqm=pf.TailDrop(), link=pf.Link("10Mbit/s", "20ms"), name="s")
    long = dataclasses.replace(short, link=pf.Link("10Mbit/s", "200ms", kind="htb"), name="l")
    told = pf.compare([long, short], pf.Packets(seeds=3)).sel(queue="s")
    assert bool(told["differs"].sel(name="delay_p99"))
    assert float(told["difference"].sel(name="delay_p99")) < -0.1


# --- Ctrl-C ---------------------------------------------------------------------------------


def interrupted_after(count: int, monkeypatch) -> None:
    """Let the runs after some be interrupted before a seed of theirs is finished."""
    plain, calls = pf.Packets.run, []

    def run(self: pf.Packets, scenario: pf.Scenario, progress: Any = None) -> Any:
        calls.append(scenario)
        if len(calls) > count:
            raise KeyboardInterrupt
        return plain(self, scenario, progress)

    monkeypatch.setattr(pf.Packets, "run", run)


def test_an_interrupt_leaves_what_was_finished(monkeypatch) -> None:
    interrupted_after(2, monkeypatch)
    told = pf.compare(under(pf.Pie(), pf.Pi2(), pf.CoDel()), pf.Packets(seeds=2))
    assert told["queue"].values.tolist() == ["pie", "pi2"]
    assert told.attrs["interrupted"] == 1
    assert told.attrs["left_out"] == "codel"


def test_an_interrupt_before_anything_is_one(monkeypatch) -> None:
    interrupted_after(0, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        pf.compare(under(pf.Pie(), pf.Pi2()), pf.Packets(seeds=2))


def test_progress_is_of_all_queues_together() -> None:
    seen: list[tuple[float, float]] = []
    run_queues(under(pf.Pie(), pf.Pi2()), pf.Packets(seeds=2), progress=lambda *at: seen.append(at))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (24.0, 24.0)
    assert {total for _, total in seen} == {24.0}


# --- LaTeX ----------------------------------------------------------------------------------


def test_it_is_a_table_for_a_paper(table) -> None:
    text = pf.to_latex(table.sel(name=["delay_mean", "utilization"]))
    assert r"quantity & pie & taildrop & unit \\" in text
    assert r"\pm" in text
