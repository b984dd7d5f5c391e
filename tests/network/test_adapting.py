"""Families made to measure: by rate, round-trip times, numbers of long flows, and share of L4S."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.errors import quietly

QUEUE = pf.presets.linux_dualpi2()
LONG = pf.Flows(pf.Cubic(), 2, "30ms", "long", start_jitter="1s")
every_word = pytest.mark.parametrize("word", pf.traffic_names())


def cell(*flows: pf.Flows, changes: Any = (), rate: str = "20Mbit/s", **link: Any) -> pf.Traffic:
    return pf.Traffic(pf.Scenario("44s", pf.Link(rate, **link), QUEUE, flows, changes, "cell"))


def flows_of(family: pf.Traffic, number: int = 0) -> dict[str, pf.Flows]:
    scenario = family.cells[number].scenario
    return dict(zip(scenario.class_names, scenario.flows, strict=True))


def joining(count: int, rtt: str = "30ms", **fields: Any) -> pf.Flows:
    given = {"name": "joining", "start": "20s", "stop": "32s"} | fields
    return pf.Flows(pf.Cubic(), count, rtt, **given)


@st.composite
def families(draw: st.DrawFn) -> pf.Traffic:
    """Cells whose classes come one after the other, and leave in the opposite order."""
    cells = {}
    for number in range(draw(st.integers(1, 4))):
        classes = draw(st.integers(1, 3))
        flows = [
            pf.Flows(
                draw(st.sampled_from([pf.Cubic(), pf.Reno(), pf.Prague()])),
                draw(st.integers(1, 12)),
                draw(st.integers(5, 200)) / 1e3,
                start=10.0 * late,
                stop=None if late == 0 else 90.0 - 10.0 * late,
            )
            for late in range(classes)
        ]
        rate = draw(st.sampled_from([5e6, 20e6, 100e6]))
        cells[f"cell{number}"] = pf.Scenario(100.0, pf.Link(rate), QUEUE, flows)
    return pf.Traffic(cells)


class TestRate:
    def test_all_that_does_not_answer_goes_in_proportion(self) -> None:
        web = pf.Transfers(pf.Cubic(), 200, "30ms", "web", size=pf.Fixed(9), arrivals=17)
        films = pf.Transfers(pf.Cubic(), 3, "30ms", "films", size=pf.Fixed(999), idle="3s")
        udp = pf.Flows(pf.Cbr(rate="8Mbit/s"), 2, name="udp")
        steps = [pf.Change("20s", capacity="4Mbit/s"), pf.Change("32s", capacity="20Mbit/s")]
        family = cell(LONG, web, films, udp, changes=steps, buffer="250ms")
        faster = pf.Traffic(family, rate="50Mbit/s")
        scenario, flows = faster.cells[0].scenario, flows_of(faster)
        assert scenario.link.capacity == 50e6
        assert 0 <= scenario.link.buffer - pf.Link("50Mbit/s", buffer="250ms").buffer <= 1
        assert [change.capacity for change in scenario.changes] == [10e6, 50e6]
        assert (flows["web"].arrivals, flows["web"].count) == (42.5, 500)  # type: ignore[attr-defined]
        assert (flows["films"], flows["long"]) == (films, LONG)
        assert flows["udp"].sender.constant_rate == 20e6
        assert faster.cells[0].events == family.cells[0].events

    def test_fewer_arrivals_keep_their_room(self) -> None:
        web = pf.Transfers(pf.Cubic(), 200, "30ms", "web", size=pf.Fixed(9), arrivals=17)
        assert flows_of(pf.Traffic(cell(web), rate="2Mbit/s"))["web"].count == 200

    @every_word
    def test_every_cell_has_it_and_loads_stay_what_they_are(self, word: str) -> None:
        family = pf.Traffic(word)
        faster = pf.Traffic(word, rate="33Mbit/s")
        for old, new in zip(family.cells, faster.cells, strict=True):
            assert new.scenario.link.capacity == 33e6
            assert (new.events, new.long_flows) == (old.events, old.long_flows)
            if old.windows and new.windows:
                times = 33e6 / float(old.scenario.link.capacity)
                for before, after in zip(old.windows, new.windows, strict=True):
                    assert after == pytest.approx(times * before, rel=1e-12)
        assert pf.Traffic(faster, rate="33Mbit/s") == faster

    def test_a_law_of_ones_own_has_its_own_rate(self) -> None:
        class Steady(pf.Sender):
            constant_rate = 1e6

            def rate(self, *_: Any) -> float:
                return 0.0

            def sending_rate(self, *_: Any) -> float:
                return 1e6 / 12e3

        family = cell(LONG, pf.Flows(Steady(), 1, "30ms"))
        with refused(pf.UnsupportedError, "cell 'cell' has a Steady, whose rate is its own"):
            pf.Traffic(family, rate="50Mbit/s")


class TestRoundTripTimes:
    def test_ends_go_to_ends_and_the_middle_by_logarithms(self) -> None:
        flows = [pf.Flows(pf.Cubic(), 1, rtt) for rtt in ("10ms", "40ms", "160ms")]
        made = flows_of(pf.Traffic(cell(*flows), rtt=("20ms", "45ms")))
        assert [flow.base_rtt for flow in made.values()] == [0.02, pytest.approx(0.03), 0.045]

    def test_short_flows_beyond_the_long_ones_go_to_the_ends(self) -> None:
        web = [
            pf.Transfers(pf.Cubic(), 9, rtt, size=pf.Fixed(9), idle="1s") for rtt in ("5ms", "1s")
        ]
        long = [pf.Flows(pf.Cubic(), 1, rtt) for rtt in ("10ms", "40ms")]
        made = flows_of(pf.Traffic(cell(*web, *long), rtt=("20ms", "50ms")))
        assert [flow.base_rtt for flow in made.values()] == [0.02, 0.05, 0.02, 0.05]

    def test_one_time_for_all(self) -> None:
        family = pf.Traffic("home", rtt="25ms")
        assert {family.shortest_rtt, family.typical_rtt, family.longest_rtt} == {0.025}

    def test_a_family_of_one_time_gets_the_geometric_middle(self) -> None:
        assert pf.Traffic(cell(LONG), rtt=("10ms", "40ms")).longest_rtt == pytest.approx(0.02)

    def test_senders_of_constant_rate_keep_theirs(self) -> None:
        udp = pf.Flows(pf.Cbr(rate="8Mbit/s"), name="udp")
        assert flows_of(pf.Traffic(cell(LONG, udp), rtt="10ms"))["udp"] == udp

    @pytest.mark.slow  # 0.3 to 1 s of CPU
    @settings(max_examples=12, deadline=None)
    @given(families(), st.integers(1, 100), st.integers(1, 20))
    def test_monotone_and_onto_and_once_is_enough(
        self, family: pf.Traffic, low: int, times: int
    ) -> None:
        asked = (low / 1e3, low * times / 1e3)
        made = pf.Traffic(family, rtt=asked)
        pairs = sorted(
            (float(old.base_rtt), float(new.base_rtt))
            for before, after in zip(family.cells, made.cells, strict=True)
            for old, new in zip(before.scenario.flows, after.scenario.flows, strict=True)
        )
        mapped = [new for _, new in pairs]
        assert mapped == sorted(mapped)
        if family.shortest_rtt < family.longest_rtt:
            assert (made.shortest_rtt, made.longest_rtt) == asked
            assert pf.Traffic(made, rtt=asked) == made


class TestLongFlows:
    def test_the_fewest_get_the_fewest_and_the_most_the_most(self) -> None:
        family = pf.Traffic(
            {
                "one": cell(pf.Flows(pf.Cubic(), 1, "30ms")).cells[0].scenario,
                "many": cell(pf.Flows(pf.Cubic(), 20, "30ms"), joining(60)).cells[0].scenario,
            }
        )
        made = pf.Traffic(family, long=(2, 16))
        assert [one.long_flows for one in made.cells] == [(2, 2), (8, 16)]

    def test_short_flows_stay(self) -> None:
        web = pf.Transfers(pf.Cubic(), 9, "30ms", "web", size=pf.Fixed(9), idle="1s")
        pulse = joining(3, name="pulse", stop="21s")
        udp = pf.Flows(pf.Cbr(rate="1Mbit/s"), 3, name="udp")
        made = flows_of(pf.Traffic(cell(LONG, web, pulse, udp), long=7))
        assert made == {"long": dataclasses.replace(LONG, count=7)} | {
            "web": web,
            "pulse": pulse,
            "udp": udp,
        }

    def test_who_leaves_makes_room_for_who_comes(self) -> None:
        """1 stays, 3 leave at 20 s, 3 others come at 32 s: 4, 1, 4 flows become 8, 2, 8."""
        leaving = joining(3, name="leaving", start="0s", stop="20s")
        coming = joining(3, name="coming", start="32s", stop=None)
        family = cell(pf.Flows(pf.Cubic(), 1, "30ms", "stays"), leaving, coming)
        made = pf.Traffic(family, long=(2, 8))
        assert [int(flow.count) for flow in flows_of(made).values()] == [2, 6, 6]
        assert made.cells[0].events == family.cells[0].events

    def test_the_schedule_goes_along(self) -> None:
        steps = [pf.Change("20s", counts={"long": 1}), pf.Change("32s", counts={"long": 0})]
        made = pf.Traffic(cell(LONG, changes=steps), long=(3, 6))
        assert made.cells[0].long_flows == (3, 6)
        assert [dict(change.counts or {}) for change in made.cells[0].scenario.changes] == [
            {"long": 3.0},
            {"long": 0.0},
        ]

    def test_what_comes_by_schedule_counts_as_what_is_there(self) -> None:
        steps = [pf.Change("20s", counts={"one": 8}), pf.Change("32s", counts={"one": 1})]
        one = pf.Flows(pf.Cubic(), 1, "30ms", "one")
        for asked in ((1, 16), (1, 4), (2, 4)):
            made = pf.Traffic(cell(one, changes=steps), long=asked)
            assert made.cells[0].long_flows == asked

    def test_every_class_keeps_a_flow_and_a_warning_says_where(self) -> None:
        with pytest.warns(pf.AssumptionWarning, match=r"more than 1 .* in 'cell', for each"):
            made = pf.Traffic(cell(LONG, joining(3)), long=1)
        assert made.cells[0].long_flows == (1, 2)
        assert len(made.cells[0].events) == 2

    def test_a_family_without_any_stays(self) -> None:
        web = pf.Transfers(pf.Cubic(), 9, "30ms", "web", size=pf.Fixed(9), idle="1s")
        assert pf.Traffic(cell(web), long=5) == cell(web)

    @pytest.mark.slow  # 0.3 to 1 s of CPU
    @settings(max_examples=12, deadline=None)
    @given(families(), st.integers(1, 10), st.integers(1, 10))
    def test_whole_numbers_in_order_and_onto_and_once_is_enough(
        self, family: pf.Traffic, few: int, times: int
    ) -> None:
        long_flows = (few + 2, (few + 2) * times)
        with quietly():  # where classes keep a flow each
            made = pf.Traffic(family, long=long_flows)
        counts = [flow.count for one in made.cells for flow in one.scenario.flows]
        assert all(count >= 1 and count == int(count) for count in counts)
        pairs = sorted(
            (at_once(before, t), at_once(after, t))
            for before, after in zip(family.cells, made.cells, strict=True)
            for t in (5.0, 15.0, 25.0)
        )
        own = (pairs[0][0], pairs[-1][0])
        for old, new in pairs:
            # By the formula, but that each class keeps a flow.
            part = math.log(old / own[0]) / math.log(own[1] / own[0]) if own[0] < own[1] else 0.5
            wanted = long_flows[0] * (long_flows[1] / long_flows[0]) ** part
            assert abs(new - wanted) <= 0.5 + 1e-9 or new > wanted
            assert long_flows[0] <= new <= long_flows[1] + 2
        if own[0] < own[1]:
            assert pairs[0][1] == long_flows[0]
        spans = [one.long_flows for one in made.cells]
        if (min(low for low, _ in spans), max(high for _, high in spans)) == long_flows:
            with quietly():
                assert pf.Traffic(made, long=long_flows) == made


def at_once(one: pf.Cell, t: float) -> int:
    end = float(one.scenario.duration)
    return sum(
        int(flow.count)
        for flow in one.scenario.flows
        if float(flow.start) <= t < (end if flow.stop is None else float(flow.stop))
    )


def l4s_flows(one: pf.Cell, t: float) -> int:
    kept = [flow for flow in one.scenario.flows if flow.sender.signal == "scalable"]
    return at_once(pf.Cell(dataclasses.replace(one.scenario, flows=kept)), t) if kept else 0


class TestL4s:
    def test_a_class_of_their_own(self) -> None:
        made = flows_of(pf.Traffic(cell(dataclasses.replace(LONG, ecn=True)), l4s=0.5))
        assert made == {
            "long": dataclasses.replace(LONG, count=1, ecn=True),
            "long_prague": dataclasses.replace(
                LONG, sender=pf.Prague(), count=1, name="long_prague"
            ),
        }

    def test_what_is_so_already_stays(self) -> None:
        family = cell(pf.Flows(pf.Dctcp(), 3, "10ms", "new"), pf.Flows(pf.Cubic(), 3, "10ms"))
        assert pf.Traffic(family, l4s=0.5) == family

    def test_none_makes_all_of_them_what_most_classic_ones_are(self) -> None:
        flows = [pf.Flows(pf.Prague(), 3, "9ms", "new"), pf.Flows(pf.Reno(), 1, "10ms", "old")]
        made = flows_of(pf.Traffic(cell(*flows), l4s=0.0))
        assert {name: flow.sender for name, flow in made.items()} == {
            "new_reno": pf.Reno(),
            "old": pf.Reno(),
        }
        alone = flows_of(pf.Traffic(cell(flows[0]), l4s=0))
        assert alone["new_cubic"].sender == pf.Cubic()

    def test_all_of_them_and_the_schedule(self) -> None:
        steps = [pf.Change("20s", counts={"long": 5}), pf.Change("32s", counts={"long": 2})]
        made = pf.Traffic(cell(LONG, changes=steps), l4s=1.0)
        (change, _) = made.cells[0].scenario.changes
        assert change.counts == {"long_prague": 5}
        half = pf.Traffic(cell(LONG, changes=steps), l4s=0.5)
        (change, _) = half.cells[0].scenario.changes
        assert change.counts == {"long": 3, "long_prague": 2}

    def test_names_that_are_taken(self) -> None:
        other = pf.Flows(pf.Cubic(), 1, "30ms", "long_prague")
        made = flows_of(pf.Traffic(cell(LONG, other), l4s=1))
        assert list(made) == ["long_prague2", "long_prague_prague"]

    def test_classes_without_a_name(self) -> None:
        flows = pf.Flows(pf.Cubic(), 4, "30ms")
        change = pf.Change("20s", counts={"cubic": 8})
        made = pf.Traffic(cell(flows, changes=change), l4s=0.25)
        assert {n: flow.count for n, flow in flows_of(made).items()} == {
            "cubic": 3,
            "cubic_prague": 1,
        }
        assert made.cells[0].scenario.changes[0].counts == {"cubic": 6, "cubic_prague": 2}

    @pytest.mark.slow  # 0.3 to 1 s of CPU
    @settings(max_examples=15, deadline=None)
    @given(families(), st.integers(0, 20))
    def test_that_share_of_whole_flows_and_no_flow_lost_and_once_is_enough(
        self, family: pf.Traffic, parts: int
    ) -> None:
        share = parts / 20
        made = pf.Traffic(family, l4s=share)
        for before, after in zip(family.cells, made.cells, strict=True):
            for t in (5.0, 15.0, 25.0):
                assert at_once(after, t) == at_once(before, t)
                assert abs(l4s_flows(after, t) - share * at_once(after, t)) <= 0.5 + 1e-9
            assert after.events == before.events
            assert after.windows == pytest.approx(before.windows, rel=1e-12)
        assert pf.Traffic(made, l4s=share) == made


class TestNumbers:
    def test_alone_they_are_about_any_link(self) -> None:
        family = pf.Traffic(rate="50Mbit/s")
        assert family == pf.Traffic("link", rate="50Mbit/s")
        assert family.name == "link"

    @pytest.mark.parametrize("long", [(1, 4), (1, 16), (4, 20)])
    def test_any_link_has_what_was_asked_for_and_no_more(self, long: tuple[int, int]) -> None:
        spans = [cell.long_flows for cell in pf.Traffic(long=long).cells]
        assert (min(low for low, _ in spans), max(high for _, high in spans)) == long

    def test_nothing_at_all_is_no_family(self) -> None:
        with refused(pf.ScenarioError, "traffic = None is no family"):
            pf.Traffic()

    @pytest.mark.slow  # 0.3 s of CPU each
    @every_word
    def test_all_at_once_leave_no_caveat_and_read_back(self, word: str) -> None:
        with quietly():
            made = pf.Traffic(word, rate="50Mbit/s", rtt=("10ms", "60ms"), long=(2, 9), l4s=0.4)
        assert made.caveats == ()
        assert pf.Traffic.from_toml(made.to_toml()) == made

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"rate": "0Mbit/s"}, "rate = '0Mbit/s' is outside (0, inf)"),
            ({"rate": "fast"}, "rate = 'fast'"),
            ({"rtt": ("80ms", "10ms")}, "rtt = ('80ms', '10ms') ends before it begins: swap"),
            ({"rtt": ("8ms", "10ms", "1s")}, "neither a time nor two"),
            ({"rtt": "-1ms"}, "rtt = '-1ms' is outside (0, inf)"),
            ({"long": (4, 1)}, "long = (4, 1) ends before it begins: swap the two"),
            ({"long": (1, None)}, "long = (1, None) has no most"),
            ({"long": 2.5}, "long = 2.5: 2.5 is no whole number from 1 on"),
            ({"long": 0}, "long = 0: 0 is no whole number from 1 on"),
            ({"long": (1, 2, 3)}, "long = (1, 2, 3) is neither a number nor two"),
            ({"l4s": 1.5}, "l4s = 1.5 is outside [0, 1]"),
            ({"l4s": -0.1}, "l4s = -0.1 is outside [0, 1]"),
            ({"l4s": math.nan}, "l4s = nan"),
        ],
    )
    def test_refused(self, given: dict[str, Any], said: str) -> None:
        with refused((pf.QuantityError, pf.DomainError), said):
            pf.Traffic("link", **given)
