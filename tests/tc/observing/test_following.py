"""Logs read line by line say what they say as a whole, and what is cut says so."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pastes import Output, as_object, outputs, quoted, text_of, trees_of

from pi2_fluid.errors import DomainError, QuantityError
from pi2_fluid.tc.observing import observe
from pi2_fluid.tc.observing.counting import counts_of_entry, counts_of_lines
from pi2_fluid.tc.observing.following import Follower, follow

PFIFO = '{"kind":"pfifo","handle":"1:","dev":"lan0","root":true,"packets":%d}'


def packets(text: str, follower: Follower | None = None) -> list[object]:
    found = follow(text.splitlines(keepends=True), follower)
    return [one.shown[0].counts()[""].get("packets") for one in found]


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(outputs(), st.sampled_from(["", "mail", "windows", "colours", "indented"]))
def test_line_by_line_is_as_the_whole(found: list[Output], way: str) -> None:
    """`observe` has the text at once, and cuts it by other code."""
    text = quoted(text_of(found), way)
    whole = [
        (one.where, one.time, [(block.kind, block.handle) for block in one.blocks])
        for one in observe(text).observations
        if one.source == "printed"
    ]
    lines = [
        (
            one.where,
            one.time,
            [(each.kind, each.handle) for each in one.shown if not each.is_class],
        )
        for one in follow(text.splitlines(keepends=True))
    ]
    assert sorted(map(repr, (one for one in lines if one[2]))) == sorted(map(repr, whole))


@pytest.mark.parametrize(
    "form",
    [
        "{0}\n{1}\n",
        "{0}{1}",
        "1764270000 {0}\n1764270001 {1}\n",
        "[{0},{1}]",
        "[\n{0},\n{1}\n]\n",
        '{{"time":1764270000,"qdiscs":{0}}}\n{{"time":1764270001,"qdiscs":{1}}}\n',
        '[{{"time":1764270000,"qdiscs":{0}}},\n{{"time":1764270001,"qdiscs":{1}}}]\n',
        '{{\n"time":1764270000,\n"qdiscs":{0}\n}}\n{{"time":1764270001,"qdiscs":{1}}}\n',
        "Sat Nov 28 12:00:00 UTC 2026\n{0}\nSat Nov 28 12:00:01 UTC 2026\n{1}\n",
        "$ tc -s -j qdisc show\n{0}\n$ tc -s -j qdisc show\n{1}\n",
        '[{{"kind":"pfifo","han\n{0}\n{1}\n',
        "{0}\n{1}\n[",
    ],
)
def test_forms_of_json(form: str) -> None:
    text = form.format(f"[{PFIFO % 5}]", f"[{PFIFO % 9}]")
    assert packets(text) == [5, 9]


def test_pretty_json_is_read() -> None:
    objects = [json.loads(PFIFO % 5)]
    text = "".join(json.dumps(objects, indent=4) + "\n" for _ in range(3))
    assert packets(text) == [5, 5, 5]


@pytest.mark.parametrize("end", ['[{"kind":"pfifo","handle', "[\n{", '{\n"time": 7, "qdiscs": ['])
def test_a_cut_end_is_said(end: str) -> None:
    follower = Follower()
    assert packets(f"[{PFIFO % 5}]\n{end}", follower) == [5]
    assert follower.warnings == ["the last output is cut off: it is left out."]


def test_a_cut_in_between_loses_one_output_alone() -> None:
    follower = Follower()
    text = f"[{PFIFO % 5}]\n[{(PFIFO % 6)[:30]}\n[{PFIFO % 7}]\n[{(PFIFO % 8)[:20]}\n"
    assert packets(text + "qdisc pfifo 1: dev lan0 root\n Sent 9 bytes 9 pkt\n", follower)[:2] == [
        5,
        7,
    ]
    assert follower.warnings == [
        "an output was cut off, and the next stands behind it: it is left out."
    ]


def test_an_output_comes_as_soon_as_nothing_follows() -> None:
    follower = Follower()
    assert list(follower.feed(f"[{PFIFO % 5}]\n")) == []
    (one,) = follower.pause()
    assert one.device == "lan0"
    assert list(follower.feed('[{"kind":\n')) == []
    assert list(follower.pause()) == []  # it is not whole
    assert list(follower.end()) == []


def test_classes_belong_to_the_output_before() -> None:
    text = (
        "Time: 1764270000\n"
        "qdisc htb 1: root refcnt 2 r2q 10 default 0x10\n Sent 9 bytes 1 pkt (dropped 0, overlimits"
        " 7 requeues 0)\n backlog 0b 0p requeues 0\n"
        "class htb 1:10 parent 1:1 leaf 110: prio 0 rate 1Mbit ceil 5Mbit burst 1600b\n"
        " Sent 9 bytes 1 pkt (dropped 3, overlimits 0 requeues 0)\n backlog 1500b 1p requeues 0\n"
        " lended: 1 borrowed: 2 giants: 0\n tokens: -200 ctokens: 40\n"
        "filter parent 1: protocol ip\n  police 0x1 rate 1Mbit burst 10\n"
    )
    (one,) = follow(text.splitlines())
    htb, shaped = one.shown
    assert htb.counts()[""]["overlimits"] == 7
    assert (shaped.name, shaped.rate, shaped.parent) == ("class htb 1:10", 5e6, "1:1")
    assert shaped.counts()[""] == {
        "bytes": 9,
        "packets": 1,
        "drops": 3,
        "overlimits": 0,
        "requeues": 0,
        "backlog": 1500,
        "qlen": 1,
        "lended": 1,
        "borrowed": 2,
        "giants": 0,
        "tokens": -200,
        "ctokens": 40,
    }


@settings(deadline=None, max_examples=20)
@given(trees_of("wan0"))
def test_places_are_told_apart(tree: tuple[object, ...]) -> None:
    text = json.dumps([as_object(queue, named=True) for queue in tree])  # type: ignore[arg-type]
    (one,) = follow([text])
    assert len({each.name for each in one.shown}) == len(tree)


CAKE = """\
 Sent 5000 bytes 50 pkt (dropped 2, overlimits 9 requeues 0)
 backlog 1514b 1p requeues 0
 memory used: 26Kb of 4Mb
 capacity estimate: 20Mbit
 min/max network layer size:           46 /    1500

                   Bulk  Best Effort        Voice
  thresh       1250Kbit       20Mbit        5Mbit
  target         14.5ms          5ms        1.5us
  av_delay          0us       12.5ms          0us
  pkts                0           49            1
  marks               0            3            0
"""


def test_the_table_of_cake_and_its_json_say_the_same() -> None:
    read = counts_of_lines("cake", [line.split() for line in CAKE.splitlines() if line.split()])
    tins = [
        {"threshold_rate": 156250, "target_us": 14500, "avg_delay_us": 0, "sent_packets": 0},
        {"threshold_rate": 2500000, "target_us": 5000, "avg_delay_us": 12500, "sent_packets": 49},
        {"threshold_rate": 625000, "target_us": 1.5, "avg_delay_us": 0, "sent_packets": 1},
    ]
    for tin, marks in zip(tins, (0, 3, 0), strict=True):
        tin["ecn_mark"] = marks
    common = {"bytes": 5000, "packets": 50, "drops": 2, "overlimits": 9, "requeues": 0}
    told = counts_of_entry(
        {"kind": "cake", "options": {"diffserv": "diffserv3"}, **common, "tins": tins}
        | {"backlog": 1514, "qlen": 1, "memory_used": 26624, "memory_limit": 4194304}
        | {"capacity_estimate": 2500000}
    )
    assert read.keys() == told.keys() == {"", "tin Bulk", "tin Best Effort", "tin Voice"}
    for band, counts in told.items():
        shown = {name: read[band].get(name) for name in counts}
        shown["capacity_estimate"] = shown.get("capacity_estimate") or counts.get(
            "capacity_estimate"
        )
        assert {k: v for k, v in shown.items() if v is not None} == pytest.approx(counts)


def test_one_tin_and_eight_are_named_by_number() -> None:
    for count in (1, 8):
        heading = [word for n in range(count) for word in ("Tin", str(n))]
        read = counts_of_lines("cake", [heading, ["pkts", *map(str, range(count))]])
        assert [band for band in read if band] == [f"tin {n}" for n in range(count)]


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(outputs(), st.data())
def test_damaged_logs_are_read_or_refused_in_a_sentence(
    found: list[Output], data: st.DataObject
) -> None:
    text = text_of(found)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        to = at + data.draw(st.integers(0, 30))
        put = data.draw(st.sampled_from(["", "[", "{", "]", '"', "9" * 400, "-", "\n", "NaN", "é"]))
        text = text[:at] + put + text[to:]
    for one in follow(text.splitlines(keepends=True)):
        for shown in one.shown:
            try:
                counts = shown.counts()
            except (QuantityError, DomainError):
                continue
            numbers = [value for band in counts.values() for value in band.values()]
            assert all(abs(value) <= 2**64 for value in numbers)


@pytest.mark.parametrize("value", [10**400, float("nan"), float("inf"), "5", None, [5], True])
def test_what_is_no_number_of_tc_is_left_out(value: object) -> None:
    assert counts_of_entry({"kind": "pfifo", "packets": value, "drops": 3}) == {"": {"drops": 3}}
    assert counts_of_lines("htb", [["lended:", str(value) * 9, "borrowed:", "3"]])[""][
        "borrowed"
    ] == (3)
