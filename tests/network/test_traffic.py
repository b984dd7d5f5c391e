"""Families of traffic: read, written, combined, and what of them is refused."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.network.catalogue import traffic_text

QUEUE = pf.presets.linux_dualpi2()
LINK = pf.Link("20Mbit/s", kind="htb", buffer="1s")
LONG = pf.Flows(pf.Cubic(), 2, "30ms", "long", start_jitter="1s")
JOINING = pf.Flows(pf.Cubic(), 3, "60ms", "joining", start="20s", stop="32s")
WEB = pf.Transfers(pf.Cubic(), 9, "15ms", "web", size=pf.Pareto(1.3, 8, cap=2000), idle="2s")

FAMILY = """
title = "Mine"

[[cells]]
name = "video"
why = "One download beside a film."
source = "A paper, Table 2"
duration = "44s"

[cells.link]
capacity = "20Mbit/s"

[[cells.flows]]
sender = "cubic"
base_rtt = "40ms"

[[cells.changes]]
at = "20s"
capacity = "5Mbit/s"

[[cells]]
name = "other"
duration = "44s"
link.capacity = "20Mbit/s"
aqm.kind = "pie"
aqm.alpha = 0.125
aqm.beta = 1.25
aqm.update_interval = "15ms"
aqm.target = "15ms"

[[cells.flows]]
sender = "reno"
base_rtt = "40ms"
"""


def scenario(*flows: pf.Flows, name: str = "", aqm: pf.Aqm = QUEUE) -> pf.Scenario:
    return pf.Scenario("44s", LINK, aqm, flows or LONG, name=name)


every_word = pytest.mark.parametrize("word", pf.traffic_names())


class TestWords:
    @every_word
    def test_reads_and_round_trips(self, word: str) -> None:
        family = pf.Traffic(word)
        assert (family.name, family.title != "", family.note != "") == (word, True, True)
        assert pf.Traffic.from_toml(family.to_toml()) == family

    @every_word
    def test_is_behind_linux_default(self, word: str) -> None:
        assert {cell.scenario.aqm for cell in pf.Traffic(word).cells} == {QUEUE}

    @every_word
    def test_says_of_each_cell_why_and_who_measured_it(self, word: str) -> None:
        cells = tomllib.loads(traffic_text(word))["cells"]
        assert len(cells) >= 5
        assert all(cell["why"] and isinstance(cell["source"], str) for cell in cells)

    @every_word
    def test_has_short_flows_beside_its_fewest_long_ones_and_a_falling_load(
        self, word: str
    ) -> None:
        assert pf.Traffic(word).caveats == ()

    @every_word
    def test_most_of_it_is_steady_and_after_an_event(self, word: str) -> None:
        cells = pf.Traffic(word).cells
        assert all(cell.steady is not None for cell in cells)
        assert sum(bool(cell.after) for cell in cells) >= len(cells) / 2

    @pytest.mark.slow  # 0.3 s of CPU each
    @every_word
    def test_packets_run_it(self, word: str) -> None:
        """The first 2 s of a cell: that they take what it consists of."""
        for cell in pf.Traffic(word).cells:
            brief = dataclasses.replace(
                cell.scenario,
                duration=2.0,
                flows=[
                    dataclasses.replace(flow, stop=None)
                    for flow in cell.scenario.flows
                    if flow.start + flow.start_jitter < 2.0
                ],
                changes=(),
            )
            runs = pf.simulate(brief, pf.Packets(seeds=1, threads=1))
            assert float(runs.throughput.sum("flows").max()) > 0.0


class TestGiven:
    def test_scenarios(self) -> None:
        family = pf.Traffic([scenario(), scenario(LONG, WEB, name="web")])
        assert [cell.name for cell in family.cells] == ["cell1", "web"]
        assert family.cells[0].scenario == scenario(name="cell1")
        assert (family.name, family.title, family.note) == ("", "", "")

    def test_one_scenario(self) -> None:
        assert pf.Traffic(scenario(name="mine")).cells == (pf.Cell(scenario(name="mine")),)

    def test_the_base_is_what_each_is_behind(self) -> None:
        family = pf.Traffic([scenario(aqm=pf.Pi2()), scenario()])
        assert [cell.scenario.aqm for cell in family.cells] == [pf.Pi2(), QUEUE]

    def test_a_mapping_names_them(self) -> None:
        family = pf.Traffic({"a": scenario(name="x"), "b": scenario(name="x")})
        assert [cell.name for cell in family.cells] == ["a", "b"]

    def test_files(self, tmp_path: Path) -> None:
        path, other = tmp_path / "mine.toml", tmp_path / "evening.toml"
        path.write_text(FAMILY)
        scenario().save(other)
        family = pf.Traffic([path, str(other)])
        assert [cell.name for cell in family.cells] == ["video", "other", "evening"]
        assert pf.Traffic(path) == pf.Traffic.load(path) == pf.Traffic.from_toml(FAMILY)

    def test_words_and_scenarios_of_the_package(self) -> None:
        family = pf.Traffic(["home", "pi2_fig11a_pie"])
        assert family.cells == (*pf.Traffic("home").cells, *pf.Traffic("pi2_fig11a_pie").cells)

    def test_a_family_again(self) -> None:
        home = pf.Traffic("home")
        assert pf.Traffic(home) == home
        assert pf.Traffic(home, name="mine") == dataclasses.replace(home, name="mine")

    def test_a_folder_is_no_file(self, tmp_path: Path, monkeypatch: Any) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "home").mkdir()
        assert pf.Traffic("home").name == "home"


class TestText:
    def test_what_stands_there(self) -> None:
        family = pf.Traffic.from_toml(FAMILY)
        video, other = family.cells
        assert (family.title, family.note) == ("Mine", "")
        assert (video.why, video.source) == ("One download beside a film.", "A paper, Table 2")
        assert (other.why, other.source) == ("", "")
        assert video.scenario.aqm == QUEUE
        assert other.scenario.aqm == pf.presets.linux_pie()
        assert video.events == ((20.0, False),)

    def test_round_trips_with_quotes_and_lines(self) -> None:
        cell = pf.Cell(scenario(LONG, WEB, JOINING, name='a "b"'), "Two\nlines", 'A "paper"')
        family = pf.Traffic(cell, name="x", title="[[cells]]", note="a = 1\n")
        assert pf.Traffic.from_toml(family.to_toml()) == family

    def test_saves(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        pf.Traffic("link").save(path)
        assert pf.Traffic(path) == pf.Traffic("link")

    def test_a_law_of_ones_own_has_no_text(self) -> None:
        class Mine(pf.Pi2):
            pass

        family = pf.Traffic(scenario(aqm=Mine()))
        with refused(pf.UnsupportedError, "Mine is a law of your own"):
            family.to_toml()

    def test_shows_itself_in_a_notebook(self) -> None:
        html = pf.Traffic.from_toml(FAMILY)._repr_html_()
        assert "Mine" in html
        assert "One download beside a film." in html


class TestWithAqm:
    def test_changes_the_queue_alone(self) -> None:
        family = pf.Traffic.from_toml(FAMILY)
        behind = family.with_aqm(pf.Pi2())
        assert {cell.scenario.aqm for cell in behind.cells} == {pf.Pi2()}
        for ours, theirs in zip(behind.cells, family.cells, strict=True):
            assert ours.with_aqm(theirs.scenario.aqm) == theirs
        assert (behind.title, behind.name, behind.note) == ("Mine", "", "")

    def test_events_stay(self) -> None:
        family = pf.Traffic("link")
        behind = family.with_aqm(pf.presets.linux_pie())
        assert [c.events for c in behind.cells] == [c.events for c in family.cells]


class TestRoundTripTimes:
    def test_of_long_flows(self) -> None:
        family = pf.Traffic([scenario(), scenario(LONG, WEB, JOINING)])
        assert (family.shortest_rtt, family.longest_rtt) == (0.03, 0.06)

    def test_every_cell_counts_alike(self) -> None:
        """30 of 31 flows have 60 ms, in one cell of three."""
        many = pf.Flows(pf.Cubic(), 30, "60ms")
        family = pf.Traffic([scenario(), scenario(), scenario(many)])
        assert family.typical_rtt == 0.03

    def test_flows_of_a_cell_count_by_their_number(self) -> None:
        assert pf.Traffic(scenario(LONG, JOINING)).typical_rtt == 0.06

    def test_of_short_flows_where_there_are_no_long_ones(self) -> None:
        family = pf.Traffic(scenario(WEB))
        assert (family.shortest_rtt, family.typical_rtt) == (0.015, 0.015)

    def test_of_nothing_that_obeys(self) -> None:
        family = pf.Traffic(scenario(pf.Flows(pf.Cbr(rate="1Mbit/s"))))
        with refused(pf.ScenarioError, "no cell has flows that obey signals"):
            _ = family.longest_rtt


class TestCaveats:
    def test_none(self) -> None:
        assert pf.Traffic(scenario(LONG, JOINING, WEB)).caveats == ()

    def test_short_flows_beside_more_long_ones_do_not_count(self) -> None:
        one = pf.Flows(pf.Cubic(), 1, "30ms")
        (caveat,) = pf.Traffic([scenario(one), scenario(LONG, JOINING, WEB)]).caveats
        assert caveat.startswith("no cell has short flows beside its fewest long ones (1)")

    def test_a_load_that_only_rises(self) -> None:
        rising = dataclasses.replace(JOINING, stop=None)
        (caveat,) = pf.Traffic(scenario(LONG, rising, WEB)).caveats
        assert caveat.startswith("no cell has an event after which less is offered")

    def test_no_long_flows(self) -> None:
        caveat, _ = pf.Traffic(scenario(WEB)).caveats
        assert caveat.startswith("no cell has long flows")


class TestRefused:
    def test_an_unknown_word_lists_the_words(self) -> None:
        with refused(pf.QuantityError, "traffic = 'homes'", *map(repr, pf.traffic_names())):
            pf.Traffic("homes")

    @pytest.mark.parametrize("given", [[], {}, ()])
    def test_no_cell(self, given: Any) -> None:
        with refused(pf.ScenarioError, "traffic has no cell", "'home'"):
            pf.Traffic(given)

    @pytest.mark.parametrize("given", [None, 3, [3]])
    def test_what_is_no_family(self, given: Any) -> None:
        with refused(pf.ScenarioError, "is no family", "'home'"):
            pf.Traffic(given)

    def test_a_mapping_of_something_else(self) -> None:
        with refused(pf.ScenarioError, "scenario = 3 is no Scenario"):
            pf.Traffic({"a": 3})  # type: ignore[dict-item]

    def test_two_cells_of_one_name(self) -> None:
        with refused(pf.ScenarioError, "cells 1 and 2 are both called 'a'"):
            pf.Traffic([scenario(name="a"), scenario(name="a")])

    @pytest.mark.parametrize("given", [("home", "home"), ["home", "office", "home"]])
    def test_a_word_given_twice(self, given: Any) -> None:
        with refused(pf.QuantityError, "traffic = 'home' is given twice: give it once"):
            pf.Traffic(given)

    def test_several_nodes(self) -> None:
        nodes = [pf.Node(name, LINK, QUEUE) for name in ("a", "b")]
        flows = pf.Flows(pf.Cubic(), 2, "30ms", route=("a", "b"))
        two = pf.Scenario("44s", network=pf.Network(nodes, flows), name="two")
        with refused(pf.UnsupportedError, "cell 'two': its 2 nodes"):
            pf.Traffic([scenario(), two])

    def test_parts_of_flows(self) -> None:
        half = scenario(pf.Flows(pf.Cubic(), 2.5, "30ms"), name="half")
        with refused(pf.ScenarioError, "cell 'half': flows 1 count = 2.5 is no whole number"):
            pf.Traffic(half)
        change = pf.Change("20s", counts={"long": 1.5})
        later = dataclasses.replace(scenario(name="later"), changes=change)
        with refused(pf.ScenarioError, "cell 'later': change at 20 s counts 'long' = 1.5"):
            pf.Traffic(later)

    def test_a_run_that_is_over_too_soon(self) -> None:
        brief = dataclasses.replace(scenario(name="brief"), duration=8.5)
        with refused(pf.ScenarioError, "cell 'brief': duration = 8.5 s is over"):
            pf.Traffic(brief)

    def test_no_queue(self) -> None:
        with refused(pf.ScenarioError, "cell 'cell1': Scenario aqm = 3 is no Aqm"):
            pf.Traffic(scenario()).with_aqm(3)  # type: ignore[arg-type]

    @pytest.mark.parametrize("field", ["name", "title", "note"])
    def test_no_text(self, field: str) -> None:
        with refused(pf.ScenarioError, f"Traffic {field} = 3 is no text"):
            pf.Traffic(scenario(), **{field: 3})  # type: ignore[arg-type]
        for word in ("why", "source"):
            with refused(pf.ScenarioError, f"Cell {word} = 3 is no text"):
                pf.Cell(scenario(), **{word: 3})  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("old", "new", "said"),
        [
            ('"20Mbit/s"', '"20Mbyte/s"', "[[cells]] 1 ('video'): [cells.link] capacity ="),
            ('sender = "reno"', 'sender = "renoo"', "[[cells]] 2 ('other'): [[cells.flows]] 1:"),
            ('"pie"', '"pier"', "[[cells]] 2 ('other'): [cells.aqm] kind = 'pier' is unknown"),
            ('at = "20s"', 'at = "50s"', "[[cells]] 1 ('video'): [[cells.changes]] at"),
            ('duration = "44s"\n\n', "", "[[cells]] 1 ('video'): duration is missing"),
            ("why =", "because =", "[[cells]] 1 ('video'): because is unknown"),
            ("why =", "wh =", "[[cells]] 1 ('video'): wh is unknown: give 'why'"),
            ('"A paper, Table 2"', "3", "[[cells]] 1 ('video'): source = 3 is no text"),
            ('name = "other"', "", "[[cells]] 2: name is missing"),
            ('name = "other"', "name = 3", "[[cells]] 2 (3): name = 3 is no text"),
            ('"Mine"', "3", "title = 3 is no text"),
            ("title =", "titles =", "titles is unknown: give 'title'"),
            ("[[cells]]", "[cells]", "no TOML"),
        ],
    )
    def test_in_text(self, old: str, new: str, said: str, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_text(FAMILY.replace(old, new, 1))
        for read in (pf.Traffic.load, pf.Traffic):
            with refused((pf.QuantityError, pf.ScenarioError), f"{path}: ", said):
                read(path)

    def test_in_text_without_cells(self) -> None:
        with refused(pf.ScenarioError, "traffic has no cell"):
            pf.Traffic.from_toml('title = "Mine"')
