"""Lines that ask tc for a queue: read as tc reads them, which a kernel has confirmed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import assert_sentence, refused

import pi2_fluid as pf
from pi2_fluid.tc.parsing import parse
from pi2_fluid.tc.showing import show, show_json

TEXT = (Path(__file__).parents[1] / "data" / "tc_show.txt").read_text(encoding="utf-8")
#: What was asked of tc, its status, what it said, and what `tc -j` printed then.
ASKED = [
    (title, code, said, json.loads(printed)[0])
    for title, code, said, printed in (
        (
            re.search(r"add: (.*)", block)[1],
            re.search(r"^rc (\d)", block, re.MULTILINE)[1],
            block.partition("\n")[2].partition("rc ")[0],
            re.search(r"--- tc -j qdisc show dev r_d\n(.*)", block)[1],
        )
        for block in re.split(r"^### ", TEXT, flags=re.MULTILINE)[1:]
        if block.startswith("add: ")
    )
]
OURS = [row for row in ASKED if row[0].split()[0] in {"pie", "fq_pie", "dualpi2"}]
#: What depends on the MTU, 1486 of that device.
OF_THE_DEVICE = {"quantum", "memory-limit"}
SOME = (
    "add replace change dev eth0 root parent 1: handle pie dualpi2 fq_pie target 5ms alpha 2 0.1"
    " beta max_rtt 100ms limit 10 ecn '\" 0 -s estimator x"
)
WORDS = SOME.split()


def propose(words: str, verb: str = "replace") -> pf.qdisc.Qdisc:
    (queue,) = parse(f"tc qdisc {verb} dev eth0 root {words}")
    return queue


# --- what a kernel made of such lines -------------------------------------------------------


def test_the_file_has_accepted_and_refused_lines():
    assert {code for _, code, _, _ in OURS} == {"0", "1"}
    assert sum("max_rtt" in title for title, *_ in OURS) >= 4


@pytest.mark.parametrize(
    ("title", "code", "said", "shown"), OURS, ids=lambda value: str(value)[:40]
)
def test_a_line_makes_what_tc_and_kernel_made_of_it(title, code, said, shown):
    if code != "0":
        word = re.search(r'Illegal "(\w+)"', said)[1]
        with refused(pf.QuantityError, match=f"{word} of {title.split()[0]} dev eth0 = "):
            propose(title, "add")
        return
    queue = propose(title, "add")
    ours = show_json(queue)["options"]
    assert ours.keys() == shown["options"].keys()
    differing = {key for key in ours if ours[key] != shown["options"][key]}
    assert differing <= OF_THE_DEVICE
    if "max_rtt" in title:  # tc says what it makes of round-trip times
        told = dict(re.findall(r"(alpha|beta)=([0-9.]+)", said))
        for name, value in told.items():
            assert f"{queue.asked[name]:.6f}" == value


@pytest.mark.parametrize(
    ("words", "word", "asked"),
    [
        ("pie target 20000", "target", 0.02),  # a bare time is in microseconds
        ("pie target 0.5s", "target", 0.5),
        ("pie target 20MSECS", "target", 0.02),
        ("pie target 1.9us", "target", 1e-6),  # cut off
        ("pie target 0", "target", 0.015),  # not asked for
        ("pie limit 0x64", "limit", 100),
        ("pie alpha 010", "alpha", 0.5),  # octal
        ("pie ecn noecn", "ecn", False),
        ("fq_pie quantum 1.5k", "quantum", 1536),
        ("fq_pie memory_limit 8mb", "memory_limit", 8 << 20),
        ("fq_pie memory_limit 8mbit", "memory_limit", 1 << 20),
        ("dualpi2 alpha 0.16", "alpha", 0.16),
        ("dualpi2 alpha .5e-1", "alpha", 0.05),
        ("dualpi2 classic_protection 25", "classic_protection", 0.25),
        ("dualpi2 limit 100", "memlimit", 100 * 2 * 1514),  # which follows
        ("dualpi2 limit 100 memlimit 5000", "memlimit", 5000),
        ("dualpi2 any_ect", "any_ect", True),
        ("dualpi2 overflow drop_enqueue no_split_gso", "drop_on_overload", False),
        ("dualpi2 typical_rtt 20ms", "beta", 2.5),  # the largest is six times that: 0.3 / 120 ms
        ("dualpi2 max_rtt 120ms alpha 7", "beta", 2.5),  # tc ignores alpha then
    ],
)
def test_units_of_tc(words, word, asked):
    assert propose(words).asked[word] == pytest.approx(asked, rel=1e-7)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("pie targt 20ms", "'targt' is no word of tc for pie: give 'target'."),
        ("pie max_rtt 100ms", "'max_rtt' is no word of tc for pie"),
        ("pie target 20 ms", "'ms' is no word of tc for pie"),
        ("pie target 20m", "target of pie dev eth0 = '20m' is no text that tc reads"),
        ("pie target -1ms", "is negative, and tc refuses it"),
        ("pie target 5000s", "beyond the 4294s"),
        ("pie limit 1000p", "no whole number, which tc asks for"),
        ("pie limit 09", "no whole number"),
        ("pie beta", "beta of pie dev eth0 has no value"),
        ("dualpi2 limit 0x10", "no whole number"),
        ("dualpi2 alpha 0", "outside what tc and the kernel take: give 1/256 to"),
        ("dualpi2 classic_protection 101%", "give 0% to 100%"),
        ("dualpi2 coupling_factor 256", r"give a whole number in \[1, 255\]"),
        ("dualpi2 max_rtt 100ms typical_rtt 200ms", "typical_rtt = 200ms is above max_rtt = 100ms"),
        ("dualpi2 max_rtt 60s", "makes alpha"),
        ("dualpi2 max_rtt 0", "takes as not given"),
        ("dualpi2 max_rtt 1e9s", "beyond the 4294s"),
        ("dualpi2 alpha 1e99", "outside what tc and the kernel take"),
        ("", "names no queue"),
    ],
)
def test_what_tc_refuses_gets_one_sentence(words, said):
    with refused((pf.QuantityError, pf.DomainError), match=said):
        propose(words)


@given(words=st.lists(st.sampled_from(WORDS), max_size=12))
@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_any_line_is_read_or_refused_in_a_sentence(words):
    try:
        parse("tc qdisc " + " ".join(words))
    except (pf.QuantityError, pf.DomainError) as error:
        assert_sentence(str(error))


# --- where it stands ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("tc qdisc add dev eth0 root pie", ("eth0", "root", None)),
        ("sudo tc -s qdisc change dev e parent 1:2 handle 10 pie", ("e", "1:2", "10:")),
        ("$ /sbin/tc qdisc replace root handle 1: dev 'w 0' pie", ("w 0", "root", "1:")),
        ("tc qdisc link estimator 1s 4s dev e root pie", ("e", "root", None)),
        ("tc qdisc replace dev e \\\n  root \\\n pie limit 10", ("e", "root", None)),
    ],
)
def test_places(line, place):
    (queue,) = parse(line)
    assert (queue.dev, queue.parent, queue.handle) == place
    assert queue.proposed
    assert "proposed" in queue.name or queue.handle in queue.name


def test_a_proposal_stands_among_queues_that_run():
    shown = show(propose("pie")).replace("0: dev", "8001: dev")
    script = f"# now\n{shown}\n Sent 5 bytes 1 pkt (dropped 0, overlimits 0 requeues 0)\n"
    script += "tc qdisc del dev eth0 root\ntc qdisc add dev eth0 root fq_codel\n"
    script += "tc qdisc replace dev eth0 root dualpi2"
    found = parse(script)
    assert [(one.kind, one.proposed) for one in found] == [("pie", False), ("dualpi2", True)]
    assert found[0].statistics["packets"] == 1
    assert found.foreign == ["fq_codel dev eth0"]
