"""The scenarios that come with the package say what the papers say."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import printed_by

import pi2_fluid as pf
from pi2_fluid.network.catalogue import describe_scenario, find_network, named_text

FOLDER = Path(pf.__file__).parent / "network" / "scenarios"


def aqm_of(name: str) -> Any:
    return pf.named_scenario(name).aqm


#: What is compared with no other queue.
ALONE = {
    "paganini_fig05", "paganini_fig10", "paganini_fig12", "paganini_fig13", "parking_lot",
    "pie_fig01_taildrop",
}  # fmt: skip
#: What is compared, both ways over a link.
BOTH_WAYS = ("paganini_fig06", "paganini_fig07", "paganini_fig08", "paganini_fig09")
every_name = pytest.mark.parametrize("name", pf.scenario_names())


def counts_at(scenario: pf.Scenario, t: float) -> dict[str, float]:
    """Flows of each kind of sender at a time."""
    found: dict[str, float] = {}
    for flows in scenario.flows:
        if flows.start <= t and (flows.stop is None or t < flows.stop):
            kind = type(flows.sender).__name__
            found[kind] = found.get(kind, 0) + flows.count
    return found


def capacity_at(scenario: pf.Scenario, t: float) -> float:
    done = [c.capacity for c in scenario.changes if c.at <= t and c.capacity is not None]
    return [scenario.link.capacity, *done][-1]


class TestEveryScenario:
    @every_name
    def test_reads_and_round_trips(self, name):
        scenario = pf.named_scenario(name)
        assert pf.Scenario.from_toml(scenario.to_toml()) == scenario
        assert scenario == pf.Scenario.load(FOLDER / f"{name}.toml")
        assert scenario.name == name

    @every_name
    def test_is_described_in_its_first_line(self, name):
        line = describe_scenario(name)
        assert named_text(name).startswith(f"# {line}\n#\n# ")
        assert re.fullmatch(r"(PI2 paper|PIE paper|Thesis|Paganini paper|Ours)[^#]*[^.#]", line)
        assert len(line) <= 100

    @every_name
    def test_the_description_names_the_queue(self, name):
        label = {
            "Pi": "PI:",
            "Pie": "PIE:",
            "Pi2": "PI2:",
            "CoupledPi2": "coupled PI and PI2:",
            "Red": "RED:",
            "CoDel": "CoDel:",
            "TailDrop": "tail drop:",
            "Avq": "AVQ:",
            "Price": "price:",
        }[type(pf.named_scenario(name).network.nodes[0].aqm).__name__]
        if not name.startswith("pie_fig04"):  # that figure has one queue only
            assert f", {label}" in describe_scenario(name)

    def test_there_are_no_other_files(self):
        assert {path.stem for path in FOLDER.iterdir()} == set(pf.scenario_names())
        assert {path.suffix for path in FOLDER.iterdir()} == {".toml"}

    def test_those_that_a_paper_compares_differ_in_the_queue_alone(self):
        groups: dict[str, list[pf.Scenario]] = {}
        for name in pf.scenario_names():
            if name.startswith("pie_fig04") or name in {*ALONE, *BOTH_WAYS}:
                continue  # three loads of one queue
            groups.setdefault(name.rpartition("_")[0], []).append(pf.named_scenario(name))
        compared = [group for group in groups.values() if len(group) > 1]
        assert len(compared) == len(groups) == 24
        for group in compared:
            assert len({(s.link, s.flows, s.changes, s.duration) for s in group}) == 1
            assert len({s.aqm for s in group}) == len(group)

    def test_newreno_meets_several_queues_both_ways(self):
        networks = [pf.named_scenario(name).network for name in BOTH_WAYS]
        queues = [{node.aqm for node in network.nodes} for network in networks]
        assert {len(both) for both in queues} == {1}
        assert len(set.union(*queues)) == len(BOTH_WAYS)
        assert len({network.flows for network in networks}) == 1
        assert len({tuple(node.link for node in network.nodes) for network in networks}) == 1
        there, back = networks[0].flows[:5], networks[0].flows[5:]
        assert [flow.count for flow in there] == [flow.count for flow in back]
        assert all(flow.route == ("there",) and flow.back == ("back",) for flow in there)
        assert all(flow.route == ("back",) and flow.back == ("there",) for flow in back)

    def test_heavy_tails_meet_the_new_protocol_and_newreno(self):
        new, old = (pf.named_scenario(f"paganini_fig{number}").network for number in (12, 13))
        assert [node.link for node in new.nodes] == [node.link for node in old.nodes]
        for one, other in zip(new.flows, old.flows, strict=True):
            assert isinstance(one, pf.Transfers)
            assert one.size == pf.Pareto(1, 100)
            alike = dataclasses.replace(
                other, sender=one.sender, initial_window=1, slow_start=False, ecn=None
            )
            assert one == alike
        assert sum(flow.count for flow in new.flows) == 1024
        assert new.nodes[0].aqm == pf.named_scenario("paganini_fig05").aqm
        assert old.nodes[0].aqm == pf.named_scenario("paganini_fig06").network.nodes[0].aqm

    def test_a_parking_lot_has_a_bottleneck_on_every_link(self):
        scenario = pf.named_scenario("parking_lot")
        rest = pf.equilibrium(scenario.network)
        assert rest.bottleneck.all()
        assert scenario.network.routing_matrix.sum("flows").to_numpy().tolist() == [2, 2, 2]
        # The page on networks shows it, with a link more.
        assert rest.rate[0] < rest.rate[1:].min()


class TestPi2Paper:
    def test_figures(self):
        names = {
            name.partition("_")[2] for name in pf.scenario_names() if name.startswith("pi2_fig")
        }
        figures = {"fig06_pi", "fig06_pie", "fig06_pi2"}
        for figure in ("11a", "11b", "11c", "12", "13", "14a_5ms", "14a_20ms", "14b_5ms"):
            figures |= {f"fig{figure}_pie", f"fig{figure}_pi2"}
        figures |= {"fig11c_uncapped", "fig14b_5ms_uncapped"}
        assert names == figures

    @every_name
    def test_queues_of_table_1(self, name):
        if not name.startswith("pi2_"):
            return
        scenario = pf.named_scenario(name)
        aqm = aqm_of(name)
        target = 0.005 if "_5ms" in name else 0.02
        assert (aqm.target, aqm.update_interval) == (target, 0.032)
        gains = (0.125, 1.25) if isinstance(aqm, (pf.Pi, pf.Pie)) else (0.3125, 3.125)
        assert (aqm.alpha, aqm.beta) == gains
        if isinstance(aqm, pf.Pie):
            assert [aqm.gain_factor(p) for p in (1e-5, 0.05, 0.5)] == [
                1 / 8,
                1 / 2,
                1,
            ]  # three steps
            assert aqm.burst == 0.1
        if isinstance(aqm, pf.Pi2):
            of_2016 = pf.Pi2.from_tc2016(10, 100, target=target)
            uncapped = dataclasses.replace(of_2016, variant="plain")
            assert aqm == (uncapped if name.endswith("_uncapped") else of_2016)
            assert (of_2016.limit**2, uncapped.limit) == (0.25, 1.0)
        assert (scenario.link.buffer, scenario.link.packet_size) == (40000, 1500)

    @pytest.mark.parametrize("queue", ["pi", "pie", "pi2"])
    @pytest.mark.parametrize(("figure", "capacity", "rtt"), [("06", 1e8, 0.01), ("13", 1e7, 0.1)])
    def test_varying_intensity(self, figure, queue, capacity, rtt):
        if (figure, queue) == ("13", "pi"):
            return
        scenario = pf.named_scenario(f"pi2_fig{figure}_{queue}")
        loads = [counts_at(scenario, 5 + t) for t in (0, 49.9, 50, 100, 149.9, 150, 200, 249.9)]
        assert loads == [{"Reno": n} for n in (10, 10, 30, 50, 50, 30, 10, 10)]
        assert scenario.duration == 255
        assert scenario.link.capacity == capacity
        assert {flows.base_rtt for flows in scenario.flows} == {rtt}
        assert not scenario.changes, "flows join with windows of their own"

    @pytest.mark.parametrize(
        ("figure", "load"),
        {
            "11a": {"Reno": 5},
            "11b": {"Reno": 50},
            "11c": {"Reno": 5, "Cbr": 2},
            "14a_20ms": {"Reno": 20},
            "14a_5ms": {"Reno": 20},
            "14b_5ms": {"Reno": 5, "Cbr": 2},
        }.items(),
    )
    def test_mixes(self, figure, load):
        scenario = pf.named_scenario(f"pi2_fig{figure}_pi2")
        assert counts_at(scenario, 6) == load
        assert (scenario.link.capacity, scenario.flows[0].base_rtt) == (1e7, 0.1)
        assert {f.sender for f in scenario.flows} <= {pf.Reno(), pf.Cbr(rate=6e6, thinned=True)}

    def test_varying_capacity(self):
        scenario = pf.named_scenario("pi2_fig12_pi2")
        steps = [capacity_at(scenario, 5 + t) for t in (0, 49.9, 50, 99.9, 100, 149.9)]
        assert steps == [1e8, 1e8, 2e7, 2e7, 1e8, 1e8]
        assert scenario.duration == 155

    @every_name
    def test_flows_start_after_the_queue_and_not_all_at_once(self, name):
        """By our own decision, which the file owns up to, in every scenario of the paper."""
        if not name.startswith("pi2_"):
            return
        scenario = pf.named_scenario(name)
        text = re.sub(r"\n# ?", " ", named_text(name))
        assert "Our decision, not in the text: " in text
        assert "They do so 5 s after the queue is made, within one second" in text
        assert min(flows.start for flows in scenario.flows) == 5.0
        for flows in scenario.flows:
            assert (flows.start - 5.0) % 50.0 == 0.0
            assert flows.start_jitter == (0.0 if isinstance(flows.sender, pf.Cbr) else 1.0)
        if any(isinstance(flows.sender, pf.Cbr) for flows in scenario.flows):
            assert "UDP starts with the first of them" in text

    def test_coexistence(self):
        scenario = pf.named_scenario("pi2_coexistence_coupled")
        assert counts_at(scenario, 6) == {"Cubic": 1, "Dctcp": 1}
        assert aqm_of("pi2_coexistence_coupled").k == 2
        assert (scenario.link.capacity, scenario.flows[0].base_rtt) == (4e7, 0.01)
        for name in ("pi2_coexistence_coupled", "pi2_coexistence_pie"):
            senders = [flows.sender for flows in pf.named_scenario(name).flows]
            assert senders == [pf.Cubic(variant="linux3.18"), pf.Dctcp(variant="linux3.18")]
        assert aqm_of("pi2_coexistence_pie").mark_limit == 1.0

    @pytest.mark.parametrize(("figure", "flows", "capacity"), [("11b", 50, 1e7), ("13", 50, 1e7)])
    def test_the_delay_that_the_fluid_is_said_to_reach(self, figure, flows, capacity):
        """The files say 70 ms where the cap of 25 % holds the fluid Reno back."""
        text = re.sub(r"\n# ?", " ", named_text(f"pi2_fig{figure}_pi2"))
        assert "its delay rises to 70 ms" in text
        assert "needs p = 50 %" in text
        scenario = pf.named_scenario(f"pi2_fig{figure}_pi2")
        packets = capacity / (8 * scenario.link.packet_size)
        # At the target a window of 2 needs p = 1/2; at p = 1/4 it is sqrt(8), and R = N W / C.
        rtt = scenario.flows[0].base_rtt + aqm_of(f"pi2_fig{figure}_pi2").target
        assert pf.Reno().equilibrium(rtt, packets / flows) == pytest.approx(0.5)
        reached = flows * pf.Reno().at_rest(rtt, 0.25) / packets - scenario.flows[0].base_rtt
        assert reached == pytest.approx(0.07, abs=0.0005)


class TestPiePaper:
    @pytest.mark.parametrize(
        ("figure", "load"),
        {"04a": {"Reno": 5}, "04b": {"Reno": 50}, "04c": {"Reno": 5, "Cbr": 2}}.items(),
    )
    def test_simulations(self, figure, load):
        scenario = pf.named_scenario(f"pie_fig{figure}")
        assert counts_at(scenario, 1) == load
        assert scenario.flows[0].start_jitter == 1
        assert "as those of Figure 7 do" in re.sub(r"\n# ?", " ", named_text(f"pie_fig{figure}"))
        assert scenario.aqm == pf.Pie(
            target="20ms",
            update_interval="30ms",
            variant="hpsr13",
            burst="100ms",
            rate_estimator=True,
        )
        assert scenario.link.buffer * scenario.link.packet_size == 200e3

    @pytest.mark.parametrize("figure", ["07", "08"])
    def test_red(self, figure):
        scenario = pf.named_scenario(f"pie_fig{figure}_red")
        as_in_ns2 = {"gentle": True, "spacing": "wait"}
        assert scenario.aqm == pf.Red(min=400, max=1600, max_p=0.1, weight=0.002, **as_in_ns2)
        assert "as ns-2 does by default" in re.sub(r"\n# ?", " ", named_text(scenario.name))
        assert scenario.link.buffer * scenario.link.packet_size == 2e6

    def test_varying_capacity(self):
        scenario = pf.named_scenario("pie_fig07_pie")
        assert [capacity_at(scenario, t) for t in (0, 50, 100)] == [1e8, 2e7, 1e8]
        assert (scenario.flows[0].count, scenario.flows[0].start_jitter) == (100, 1)

    def test_varying_intensity(self):
        scenario = pf.named_scenario("pie_fig08_pie")
        loads = [counts_at(scenario, t)["Reno"] for t in (0, 50, 100, 150, 200)]
        assert loads == [10, 30, 50, 30, 10]

    @pytest.mark.parametrize(("part", "target"), [("a", 0.005), ("b", 0.02)])
    @pytest.mark.parametrize("figure", ["10", "11"])
    def test_codel(self, figure, part, target):
        codel = pf.named_scenario(f"pie_fig{figure}{part}_codel")
        assert codel.aqm == pf.CoDel(target=target, interval="100ms")
        assert aqm_of(f"pie_fig{figure}{part}_pie").target == target
        assert counts_at(codel, 1)["Reno"] == {"10": 20, "11": 5}[figure]
        assert (codel.link.kind, codel.link.delay_on) == ("htb", "forward")
        assert codel.flows[0].sender == pf.Reno(growth="per_ack")  # Linux 3.5

    @pytest.mark.parametrize("length", ["100ms", "200ms"])
    def test_bursts(self, length):
        bare, allowed = (
            pf.named_scenario(f"pie_fig06_{length}_{name}") for name in ("bare", "allowed")
        )
        (burst,) = bare.flows
        assert (burst.sender, burst.start) == (pf.Cbr(rate=25e6, thinned=True), 1.0)
        assert burst.stop - burst.start == pytest.approx(1e-3 * float(length[:-2]))
        assert (bare.aqm.burst, allowed.aqm.burst) == (0.0, 0.1)
        assert bare.link.buffer * bare.link.packet_size == 200e3

    def test_the_stand_in_for_a_measurement_says_so(self):
        scenario = pf.named_scenario("pie_fig01_taildrop")
        text = re.sub(r"\n# ?", " ", named_text(scenario.name))
        assert "A stand-in, not the paper's network" in text
        packets = scenario.link.capacity / (8 * scenario.link.packet_size)
        assert scenario.link.buffer / packets == pytest.approx(8.4)


class TestThesis:
    @pytest.mark.parametrize("queue", ["pie", "pi2"])
    def test_table_4_1(self, queue):
        for figure, load in (("2", {"Reno": 5}), ("5", {"Reno": 50}), ("8", {"Reno": 5, "Cbr": 2})):
            scenario = pf.named_scenario(f"thesis_fig4_{figure}_{queue}")
            assert counts_at(scenario, 50) == load
            assert counts_at(scenario, 99) == {}
            assert scenario.flows[0].base_rtt == 0.08  # 76 + 2 + 2 ms
            aqm = aqm_of(f"thesis_fig4_{figure}_{queue}")
            assert (aqm.target, aqm.update_interval) == (0.02, 0.03)
            assert scenario.link.buffer * scenario.link.packet_size == 200e3
            assert scenario.flows[0].sender == pf.Reno(growth="per_ack")
            if queue == "pi2":  # Appendix C: by an estimated rate, without a limit
                assert (aqm.variant, aqm.limit, aqm.measures) == ("ns3", 1.0, "backlog")

    def test_the_first_peak_of_figure_4_2(self):
        """The text has 160 ms with PIE, the full buffer, and less than 120 ms with PI2.

        So it is as ns-3's senders grow; per segment, PI2's is above it, too.
        """
        peaks = {}
        for queue, growth in (("pi2", "per_ack"), ("pie", "per_ack"), ("pi2", "per_segment")):
            scenario = pf.named_scenario(f"thesis_fig4_2_{queue}")
            (flows,) = scenario.flows
            flows = dataclasses.replace(flows, sender=pf.Reno(growth=growth))
            short = dataclasses.replace(scenario, flows=(flows,), duration=6.0)
            runs = pf.packet.simulate(short, seeds=12, bin="50ms")
            peaks[queue, growth] = runs.queue_delay.max("time").to_numpy()
        assert np.median(peaks["pi2", "per_ack"]) < 0.12
        assert np.median(peaks["pie", "per_ack"]) == pytest.approx(0.16, rel=0.01)
        assert (peaks["pi2", "per_ack"] < 0.14).all()
        assert (peaks["pie", "per_ack"] > 0.14).all()
        assert np.median(peaks["pi2", "per_segment"]) > 0.135


class TestUnknown:
    @pytest.mark.parametrize("ask", [pf.named_scenario, named_text, describe_scenario])
    def test_the_nearest_are_listed(self, ask):
        with pytest.raises(pf.QuantityError) as caught:
            ask("pi2_fig13_pi3")
        assert str(caught.value).startswith("scenario = 'pi2_fig13_pi3' is unknown: give 'pi2_fig")
        assert "'pi2_fig13_pi2'" in str(caught.value)
        with pytest.raises(pf.QuantityError, match="give 'paganini_fig13' or 'pi2_fig13_pi2' or"):
            ask("fig13")

    @pytest.mark.parametrize("name", ["", "zzz", None, 5, ["pi2_fig13_pi2"], "../units"])
    def test_unlike_any(self, name):
        others = len(pf.scenario_names()) - 6
        with pytest.raises(pf.QuantityError, match=rf"unknown: give one of .*, {others} more\.$"):
            pf.named_scenario(name)


def test_a_network_is_found_in_a_file_of_either_kind(tmp_path):
    scenario = pf.named_scenario("parking_lot")
    scenario.save(tmp_path / "scenario.toml")
    scenario.network.save(tmp_path / "network.toml")
    for given in ("parking_lot", str(tmp_path / "scenario.toml"), str(tmp_path / "network.toml")):
        assert find_network(given) == scenario.network
    path = tmp_path / "short.toml"
    path.write_text("[link]\n", encoding="utf-8")
    with pytest.raises(pf.QuantityError, match=r"short\.toml: \[link\] capacity is missing"):
        find_network(str(path))


def test_listing_loads_nothing_heavy():
    code = (
        "import sys; from pi2_fluid.network.catalogue import describe_scenario, scenario_names;"
        "print(len([describe_scenario(name) for name in scenario_names()]));"
        "print([m for m in ('jax', 'numpy', 'scipy') if m in sys.modules])"
    )
    assert printed_by(code).split("\n")[:2] == [str(len(pf.scenario_names())), "[]"]
