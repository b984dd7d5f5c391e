"""What a run falls into: events, what is steady, and what comes after."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pi2_fluid as pf

QUEUE = pf.presets.linux_dualpi2()
LINK = pf.Link("20Mbit/s")
LONG = pf.Flows(pf.Cubic(), 2, "30ms", "long", start_jitter="1s")


def cell(
    *flows: pf.Flows, changes: Any = (), duration: float = 44.0, link: pf.Link = LINK
) -> pf.Cell:
    return pf.Cell(pf.Scenario(duration, link, QUEUE, [LONG, *flows], changes, "cell"))


def joining(start: float, stop: float | None = None, **fields: Any) -> pf.Flows:
    return pf.Flows(
        **{"sender": pf.Cubic(), "count": 3, "base_rtt": "30ms"} | fields, start=start, stop=stop
    )


def times(cell: pf.Cell) -> list[float]:
    return [event.at for event in cell.events]


class TestEvents:
    def test_without_any_the_whole_is_steady(self) -> None:
        one = cell()
        assert (one.events, one.steady, one.after) == ((), (8.0, 44.0), ())

    def test_flows_that_come_and_go_are_two(self) -> None:
        one = cell(joining(20.0, 32.0))
        assert one.events == ((20.0, False), (32.0, True))
        assert one.steady == (8.0, 20.0)
        assert one.after == ((20.0, 28.0), (32.0, 40.0))

    def test_flows_of_less_than_5_s_are_none(self) -> None:
        assert times(cell(joining(20.0, 24.9))) == []
        assert times(cell(joining(20.0, 25.0))) == [20.0, 25.0]

    def test_transfers_are_none(self) -> None:
        web = pf.Transfers(
            pf.Cubic(), 5, "30ms", "web", start=20.0, stop=32.0, size=pf.Fixed(9), idle="1s"
        )
        one = cell(web)
        assert (one.events, one.short_classes) == ((), ("web",))

    def test_sources_of_transfers_that_the_schedule_changes_are_one(self) -> None:
        web = pf.Transfers(pf.Cubic(), 5, "30ms", "web", size=pf.Fixed(9), idle="1s")
        one = cell(web, changes=pf.Change(20.0, counts={"web": 2}))
        assert one.events == ((20.0, True),)

    def test_capacity_down_and_up(self) -> None:
        steps = [pf.Change(20.0, capacity="5Mbit/s"), pf.Change(32.0, capacity="20Mbit/s")]
        assert cell(changes=steps).events == ((20.0, False), (32.0, True))

    def test_what_changes_nothing_is_none(self) -> None:
        assert cell(changes=pf.Change(20.0, capacity="20Mbit/s", counts={"long": 2})).events == ()

    def test_flows_for_flows_are_an_event_at_which_nothing_falls(self) -> None:
        others = [dataclasses.replace(LONG, name="first", stop=20.0, count=3), joining(20.0)]
        assert cell(*others).events == ((20.0, False),)

    def test_fewer_flows_on_a_slower_link_do_not_offer_less(self) -> None:
        change = pf.Change(20.0, capacity="5Mbit/s", counts={"long": 1})
        assert cell(changes=change).events == ((20.0, False),)

    def test_what_is_switched_within_1_s_is_one(self) -> None:
        assert times(cell(joining(20.0), joining(20.9), joining(21.1))) == [20.0, 21.1]

    def test_a_train_of_packets_is_two(self) -> None:
        """Half a second of every two, as trains of UDP are."""
        train = [
            pf.Change(start + late, counts={"udp": number})
            for start in (20, 22, 24, 26, 28, 30)
            for late, number in ((0.0, 1), (0.5, 0))
            if (start, late) != (20, 0.0)
        ]
        udp = pf.Flows(pf.Cbr(rate="12Mbit/s"), 1, "30ms", "udp", start=20.0)
        one = cell(udp, changes=train)
        assert one.events == ((20.0, False), (30.5, True))
        assert (one.long_classes, one.short_classes) == (("long",), ())
        assert one.after == ((20.0, 28.0), (30.5, 38.5))

    def test_a_long_train_is_looked_at_for_8_s(self) -> None:
        train = [pf.Change(at, capacity=(20e6, 10e6)[at // 4 % 2]) for at in range(12, 41, 4)]
        assert times(cell(changes=train)) == [12.0, 40.0]

    def test_the_first_8_s_belong_to_the_beginning(self) -> None:
        one = cell(joining(5.0, 32.0))
        assert one.events == ((32.0, True),)
        assert one.steady == (13.0, 32.0)

    def test_what_stops_at_the_end_is_none(self) -> None:
        assert times(cell(joining(20.0, 44.0), joining(20.0, 90.0))) == [20.0]

    def test_spans_of_less_than_1_s_are_not_looked_at(self) -> None:
        one = cell(joining(8.5), changes=pf.Change(43.5, capacity="5Mbit/s"))
        assert times(one) == [8.5, 43.5]
        assert (one.steady, one.after) == (None, ((8.5, 16.5),))

    def test_one_event_ends_what_comes_after_the_other(self) -> None:
        assert cell(joining(20.0, 26.0)).after == ((20.0, 26.0), (26.0, 34.0))


class TestLongAndShort:
    def test_pulses_are_short_flows(self) -> None:
        pulses = [joining(6.0 + k, 6.25 + k, count=1, name=f"pulse{k}") for k in range(30)]
        one = cell(*pulses)
        assert (one.long_classes, len(one.short_classes), one.events) == (("long",), 30, ())
        assert one.long_flows == (2, 2)
        assert one.short_beside(2)
        assert not one.short_beside(3)

    def test_a_class_that_pauses_counts_by_its_longest_spell(self) -> None:
        on_off = [
            pf.Change(at, counts={"video": number % 2}) for number, at in enumerate(range(2, 40, 4))
        ]
        video = pf.Flows(pf.Cubic(), 1, "30ms", "video", stop=40.0)
        assert cell(video, changes=on_off).short_classes == ("video",)

    def test_packets_that_obey_nothing_are_neither(self) -> None:
        udp = pf.Flows(pf.Cbr(rate="8Mbit/s"), 1, "30ms", "udp")
        one = cell(udp)
        assert (one.long_classes, one.short_classes) == (("long",), ())

    def test_short_flows_must_be_there_together_with_the_long_ones(self) -> None:
        web = pf.Transfers(
            pf.Cubic(), 5, "30ms", "web", start=20.0, stop=32.0, size=pf.Fixed(9), idle="1s"
        )
        one = cell(joining(20.0, 32.0), web)
        assert (one.short_beside(5), one.short_beside(2)) == (True, False)


class TestWindows:
    def test_one_round_trip_time(self) -> None:
        """W = C (R + target)/N: 20 Mbit/s are 1666.7 segments/s; 30 + 15 ms; 2, then 5 flows."""
        fewest, most = cell(joining(20.0, 32.0)).windows or (0.0, 0.0)
        assert (fewest, most) == pytest.approx((15.0, 37.5), rel=1e-12)

    def test_mixed_round_trip_times_fill_the_link(self) -> None:
        far = pf.Flows(pf.Cubic(), 3, "85ms")
        low, high = cell(far).windows or (0.0, 0.0)
        assert low == high
        assert 2 * low / 0.045 + 3 * low / 0.1 == pytest.approx(20e6 / 12e3, rel=1e-12)

    def test_what_obeys_nothing_is_taken_off(self) -> None:
        udp = pf.Flows(pf.Cbr(rate="8Mbit/s"), 1, "30ms", "udp", start=20.0, stop=32.0)
        assert cell(udp).windows == pytest.approx((22.5, 37.5), rel=1e-12)

    def test_a_slower_link(self) -> None:
        one = cell(changes=pf.Change(20.0, capacity="5Mbit/s"))
        assert one.windows == pytest.approx((9.375, 37.5), rel=1e-12)

    def test_none_without_long_flows(self) -> None:
        web = pf.Transfers(pf.Cubic(), 5, "30ms", size=pf.Fixed(9), idle="1s")
        one = pf.Cell(pf.Scenario(44.0, LINK, QUEUE, web, name="web"))
        assert (one.windows, one.long_flows) == (None, (0, 0))

    def test_a_queue_without_a_target(self) -> None:
        one = dataclasses.replace(cell().scenario, aqm=pf.TailDrop())
        assert pf.Cell(one).windows == pytest.approx((25.0, 25.0), rel=1e-12)


TIME = st.integers(0, 430).map(lambda tenths: tenths / 10)


def test_what_changes_no_number_of_flows_does_not_make_their_time_shorter() -> None:
    # From 8 to 9.1 s there are two: the other change sets what is so, and the link does not count.
    steps = [pf.Change(5.0, counts={"long": 2}), pf.Change(8.2, counts={"long": 2})]
    for changes in (steps, [steps[0], pf.Change(8.2, capacity="10Mbit/s")]):
        one = cell(joining(9.1), changes=changes)
        assert one.long_flows == (2, 5)
    assert cell(joining(9.1), changes=steps).windows == cell(joining(9.1)).windows


@st.composite
def courses(draw: st.DrawFn) -> pf.Cell:
    """Cells with some of all that happens."""
    flows, changes = [], []
    for number in range(draw(st.integers(0, 5))):
        start = draw(TIME)
        stop = draw(st.none() | st.integers(1, 300).map(lambda more, a=start: a + more / 10))
        sender = draw(st.sampled_from([pf.Cubic(), pf.Cbr(rate="1Mbit/s")]))
        flows.append(joining(start, stop, sender=sender, name=f"class{number}"))
    for at in draw(st.sets(TIME.filter(bool), max_size=12)):
        told: dict[str, Any] = {}
        if draw(st.booleans()):
            told["capacity"] = draw(st.sampled_from([5e6, 10e6, 20e6]))
        if draw(st.booleans()) or not told:
            told["counts"] = {"long": draw(st.integers(0, 4))}
        changes.append(pf.Change(at, **told))
    return cell(*flows, changes=changes)


@pytest.mark.slow  # 0.3 to 1 s of CPU each
class TestAlways:
    @settings(max_examples=25, deadline=None)
    @given(courses())
    def test_what_is_looked_at_never_overlaps_and_lies_in_the_run(self, one: pf.Cell) -> None:
        spans = sorted([*([one.steady] if one.steady else []), *one.after])
        assert all(start >= 8.0 and end <= 44.0 for start, end in spans)
        assert all(end - start >= 1.0 for start, end in spans)
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
        assert all(end - start <= 8.0 + 1e-12 for start, end in one.after)

    @settings(max_examples=25, deadline=None)
    @given(courses())
    def test_events_lie_1_s_apart_and_in_no_span_but_at_its_beginning(self, one: pf.Cell) -> None:
        at = times(one)
        assert all(b - a > 1.0 for a, b in itertools.pairwise(at))
        for start, end in [*([one.steady] if one.steady else []), *one.after]:
            assert not any(start < time < end for time in at)
        assert all(start in at for start, _ in one.after)

    @settings(max_examples=15, deadline=None)
    @given(courses(), st.permutations(range(6)))
    def test_the_order_of_classes_does_not_matter(self, one: pf.Cell, order: list[int]) -> None:
        flows = one.scenario.flows
        again = [flows[i] for i in order if i < len(flows)]
        other = pf.Cell(dataclasses.replace(one.scenario, flows=again))
        assert (other.events, other.long_flows) == (one.events, one.long_flows)

    @settings(max_examples=15, deadline=None)
    @given(courses())
    def test_packets_count_the_same_long_flows(self, one: pf.Cell) -> None:
        """Another way to the same: the life of each flow, one by one."""
        from pi2_fluid.network.schedule import NS, flow_lives

        lives = flow_lives(one.scenario)
        names = [one.scenario.class_names[i] for i in lives.owner]
        instants = [t / 4 for t in range(32, 176)]
        there = [
            sum(
                name in one.long_classes and start <= t * NS < stop
                for name, start, stop in zip(names, lives.start, lives.stop, strict=True)
            )
            for t in instants
        ]
        # Whatever is there for more than a second is met by four instants in a row.
        lasting = [
            a for a, *rest in zip(*(there[k:] for k in range(5)), strict=False) if set(rest) == {a}
        ]
        low, high = one.long_flows
        assert all(low <= count <= high for count in lasting if count)
