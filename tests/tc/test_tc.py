"""Queues as tc shows them: what was asked for, what the kernel runs, and the way back."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from refusals import assert_sentence, refused

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.tc.installing import install, install_max_rtt, to_tc
from pi2_fluid.tc.parsing import Found, parse
from pi2_fluid.tc.showing import show, show_json

patient = settings(deadline=None, max_examples=200)
thorough = settings(deadline=None, max_examples=500)

TEXT = (Path(__file__).parents[1] / "data" / "tc_show.txt").read_text(encoding="utf-8")


def outputs_of(block: str) -> dict[str, str]:
    parts = re.split(r"^--- (.*)\n", block, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


#: What was asked -> tc's command -> what it printed.
SHOWN = {
    title: outputs_of(block)
    for title, _, block in (
        part.partition("\n") for part in re.split(r"^### ", TEXT, flags=re.MULTILINE)[1:]
    )
}
PAPER = {"alpha": 0.3125, "beta": 3.125, "target": "20ms", "update_interval": "32ms"}
MTU = 1486  # of the device

#: The same requests in the words of this package.
REQUESTS = {
    "add: pie": lambda: install(pf.presets.linux_pie(), "pie", mtu=MTU),
    "add: pie target 20ms tupdate 32ms alpha 2 beta 20 ecn": lambda: install(
        pf.Pie(target="20ms", update_interval="32ms", ecn=True), "pie", mtu=MTU
    ),
    "add: fq_pie": lambda: install(pf.presets.linux_pie(), "fq_pie", mtu=MTU),
    "add: dualpi2": lambda: install(pf.presets.linux_dualpi2(), "dualpi2", mtu=MTU),
    "add: dualpi2 typical_rtt 20ms max_rtt 200ms": lambda: install_max_rtt(
        "200ms", "20ms", mtu=MTU
    ),
    "add: dualpi2 max_rtt 300ms": lambda: install_max_rtt("300ms", mtu=MTU),
    "add: dualpi2 max_rtt 50ms": lambda: install_max_rtt("50ms", mtu=MTU),
    "add: dualpi2 max_rtt 100ms": lambda: install_max_rtt("100ms", mtu=MTU),
    "add: dualpi2 target 20ms tupdate 32ms alpha 0.3125 beta 3.125": lambda: install(
        pf.DualPi2(**PAPER), "dualpi2", mtu=MTU
    ),
    "add: dualpi2 target 15ms tupdate 16ms alpha 0.16 beta 3.2 coupling_factor 2": lambda: install(
        pf.DualPi2(), "dualpi2", mtu=MTU
    ),
    "add: dualpi2 alpha 300": lambda: install(
        pf.DualPi2(alpha=300.0, beta=819 / 256), "dualpi2", mtu=MTU
    ),
    # tc takes a target of 0 for none
    "add: dualpi2 target 0": lambda: install(pf.presets.linux_dualpi2(), "dualpi2", mtu=MTU),
}
FOREIGN = [title for title in SHOWN if title not in REQUESTS and not title.startswith("htb")]
OURS = [
    (title, command) for title in SHOWN if title not in FOREIGN for command in SHOWN[title]
]  # fmt: skip
PLAIN = "tc  qdisc show dev r_d"
PIE = SHOWN["add: pie"][PLAIN]
DUALPI2 = SHOWN["add: dualpi2"][PLAIN]


def read_or_refused(text: str, hz: int = 1000) -> Found | None:
    """What is read, or None if it was refused as it should be."""
    try:
        return parse(text, hz=hz)
    except (pf.QuantityError, pf.DomainError) as refused:
        said = refused
    assert_sentence(str(said))
    return None


# --- what a kernel has printed --------------------------------------------------------------


def test_the_file_has_what_it_is_read_for():
    assert len(SHOWN) == 18
    assert len(FOREIGN) == 5
    assert set(REQUESTS) < set(SHOWN)


@pytest.mark.parametrize(("title", "command"), OURS)
def test_every_output_with_one_of_ours_is_read(title, command):
    (queue,) = parse(SHOWN[title][command])
    assert queue.kind in title
    assert queue.parent == ("parent 1:1" if "htb" in title else "root").removeprefix("parent ")
    assert (queue.statistics is not None) == ("-s" in command)
    assert queue.dev == ("r_d" if "all devices" in command else None)


@pytest.mark.parametrize("title", FOREIGN)
def test_others_get_one_sentence(title):
    for output in [*SHOWN[title].values(), 'Illegal "beta"\n', "", "Error: Exclusivity flag on"]:
        with refused(pf.QuantityError, match="there is no pie, fq_pie or dualpi2"):
            parse(output)


def test_foreign_queues_are_listed():
    found = parse(SHOWN["htb parent with dualpi2 child and clsact"]["tc qdisc show (all devices)"])
    assert [queue.handle for queue in found] == ["10:"]
    assert found.foreign == [
        "noqueue 0: dev lo",
        "noqueue 0: dev r_s",
        "htb 1: dev r_d",
        "clsact ffff: dev r_d",
    ]


@pytest.mark.parametrize("title", REQUESTS)
def test_asking_and_installing_shows_what_the_kernel_showed(title):
    queue = REQUESTS[title]()
    printed = SHOWN[title][PLAIN].strip("\n").replace("8001: root refcnt 2", "0: root")
    assert show(queue) == printed
    (entry,) = json.loads(SHOWN[title]["tc -j qdisc show dev r_d"])
    assert show_json(queue)["options"] == entry["options"]


@pytest.mark.parametrize("title", REQUESTS)
def test_what_is_shown_leads_back_to_what_is_installed(title):
    queue = REQUESTS[title]()
    (exact,) = parse(SHOWN[title]["tc -j qdisc show dev r_d"])
    assert exact.aqm == queue.aqm
    assert exact.shown == queue.shown
    # text has three digits of a time, and six decimals of a gain
    (rough,) = parse(SHOWN[title][PLAIN])
    assert (rough.aqm.alpha, rough.aqm.beta) == (exact.aqm.alpha, exact.aqm.beta)
    assert rough.aqm.target == pytest.approx(exact.aqm.target, rel=5e-3)
    assert rough.aqm.update_interval == pytest.approx(exact.aqm.update_interval, rel=5e-3)
    assert show(rough).split("root ")[1] == show(exact).split("root ")[1]


@pytest.mark.parametrize("title", SHOWN)
def test_text_and_json_agree_on_statistics(title):
    if title in FOREIGN:
        return
    text = parse(SHOWN[title]["tc -s -d qdisc show dev r_d"])[0].statistics
    exact = parse(SHOWN[title]["tc -j -s -d qdisc show dev r_d"])[0].statistics
    assert text == exact


def test_statistics_are_in_si():
    output = SHOWN["add: dualpi2"]["tc -s -d qdisc show dev r_d"]
    for old, new in [
        ("Sent 0 bytes 0 pkt", "Sent 1500 bytes 3 pkt"),
        ("dropped 0", "dropped 7"),
        ("backlog 0b 0p", "rate 8bit 1pps backlog 3Kb 2p"),
        ("prob 0.000000 delay_c 0us", "prob 0.250000 delay_c 15000us"),
    ]:
        assert old in output
        output = output.replace(old, new)
    found = parse(output)[0].statistics
    wanted = {"bytes": 1500, "packets": 3, "drops": 7, "backlog": 3072, "qlen": 2, "prob": 0.25}
    wanted |= {"delay_c": 0.015, "delay_l": 0.0, "credit": -120000, "memory_limit": 30000000}
    assert {name: found[name] for name in wanted} == wanted


# --- the kernel's arithmetic ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("alpha", "beta", "acts"),
    [
        (0.3125, 3.125, (0.309228, 3.121386)),
        (41 / 256, 819 / 256, (0.160071, 3.197783)),
        (0.16, 3.2, (0.152795, 3.197783)),
    ],
)
def test_gains_of_dualpi2(alpha, beta, acts):
    queue = install(pf.DualPi2(alpha=alpha, beta=beta), "dualpi2")
    assert (queue.aqm.alpha, queue.aqm.beta) == pytest.approx(acts, abs=5e-7)
    assert queue.rounding["alpha"] == pytest.approx(acts[0] / alpha - 1, abs=1e-5)
    # what tc shows is a step below what the kernel was given
    assert 256 * queue.shown["alpha"] == math.floor(256 * alpha) - 1
    # and what the kernel's own update makes of a change of the delay
    step = pf.packet.replay(
        pf.DualPi2(alpha=math.floor(256 * alpha) / 256, beta=819 / 256, arithmetic="fixed"),
        queue_delay=[0.115, 0.115],
    )
    moved = float(step.controller[1] - step.controller[0])
    assert moved == pytest.approx(0.1 * queue.aqm.alpha, rel=1e-6)


@pytest.mark.parametrize(
    ("asked", "hz", "shown", "effective"),
    [
        ("32ms", 1000, 0.032, 0.033),
        ("30ms", 250, 0.032, 0.036),
        ("15ms", 1000, 0.015, 0.016),
        ("15ms", 250, 0.016, 0.020),
        ("15ms", 100, 0.020, 0.030),
        ("15ms", 300, 0.016666, 6 / 300),
        ("100ms", 1000, 0.1, 0.104),  # the second level of the wheel has slots of 8 jiffies
    ],
)
def test_update_interval_of_pie(asked, hz, shown, effective):
    for kind in ("pie", "fq_pie"):
        queue = install(pf.Pie(update_interval=asked), kind, hz=hz)
        assert queue.shown["tupdate"] == shown
        assert queue.aqm.update_interval == pytest.approx(effective, rel=1e-12)
        asked_for = queue.asked["tupdate"]
        assert queue.rounding["T"] == pytest.approx(effective / asked_for - 1, rel=1e-9)
        assert parse(show(queue), hz=hz)[0].aqm == queue.aqm


def test_many_flows_of_fq_pie_are_updated_in_rounds():
    line = SHOWN["add: fq_pie"][PLAIN].replace("flows 1024", "flows 65536")
    assert parse(line)[0].aqm.update_interval == pytest.approx(0.016 + 31 / 1000)


def test_a_tupdate_of_another_hz_is_refused():
    with pytest.raises(pf.QuantityError, match=r"tupdate of pie 8001: = 15ms .* hz = 250"):
        parse(PIE, hz=250)


@pytest.mark.parametrize("us", [1, 7, 8, 9, 4999, 15000, 16667, 1234567])
def test_target_of_pie_is_in_ticks_of_64_ns(us):
    queue = install(pf.Pie(target=us / 1e6), "pie")
    assert queue.aqm.target == us * 1000 // 64 * 64 / 1e9
    if queue.shown["target"]:
        again = parse(json.dumps(show_json(queue)))[0]
        assert again.shown == queue.shown
        # 8us and 9us are both shown as 8us
        assert 0 <= queue.aqm.target - again.aqm.target < 1e-6


@pytest.mark.parametrize(
    ("longest", "typical", "parts", "shown"),
    [
        ("200ms", "20ms", (12, 384), (0.020, 0.042969, 1.496094)),
        ("300ms", None, (14, 256), (0.050, 0.050781, 0.996094)),
    ],
)
def test_max_rtt_as_in_the_kernels_own_tests(longest, typical, parts, shown):
    """tools/testing/selftests/tc-testing, dualpi2.json, 2130 and 90c1."""
    queue = install_max_rtt(longest, typical)
    told = (queue.shown["tupdate"], queue.shown["alpha"], queue.shown["beta"])
    assert told == pytest.approx(shown, abs=5e-7)
    assert 256 * told[1] + 1 == parts[0]
    assert 256 * told[2] + 1 == parts[1]


def test_max_rtt_and_its_preset_agree():
    for longest in ("10ms", "20ms", "50ms", "100ms", "150ms", "200ms", "300ms"):
        rule = install_max_rtt(longest)
        preset = install(pf.presets.tc_max_rtt(longest), "dualpi2")
        assert rule.aqm == preset.aqm
        # but the rule knows what was cut off
        assert rule.rounding["alpha"] <= preset.rounding["alpha"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("100ms", "200ms"), "typical_rtt = '200ms' is above max_rtt"),
        (("4.29s",), "max_rtt = '4.29s' makes alpha"),
        (("100us", "1us"), None),
        ((0,), "max_rtt"),
        ((math.nan,), "max_rtt"),
        (("5",), "max_rtt"),
    ],
)
def test_max_rtt_refused(arguments, said):
    if said is None:
        assert install_max_rtt(*arguments).aqm.beta > 2000
        return
    with refused((pf.QuantityError, pf.DomainError), match=said):
        install_max_rtt(*arguments)


# --- the line to paste ----------------------------------------------------------------------


def test_lines():
    assert to_tc(pf.presets.linux_pie(), "fq_pie", dev="eth0") == (
        "tc qdisc replace dev eth0 root fq_pie target 15ms tupdate 15ms alpha 2 beta 20"
    )
    assert to_tc(pf.DualPi2(k=3, step="2ms", drop_overload=False), "dualpi2") == (
        "tc qdisc replace dev DEV root dualpi2 target 15ms tupdate 16ms alpha 0.16 beta 3.2"
        " step_thresh 2ms coupling_factor 3 overflow"
    )
    assert to_tc(pf.presets.pi2_paper(), "dualpi2") == (
        "tc qdisc replace dev DEV root dualpi2 target 20ms tupdate 32ms alpha 0.3125 beta 3.125"
        " drop_enqueue"
    )
    # tc has no word for where PIE stops marking, and the kernel stops at 10 %
    assert to_tc(pf.Pie(ecn=True, mark_limit=1), "pie") == to_tc(pf.Pie(ecn=True), "pie")
    assert install(pf.Pie(ecn=True, mark_limit=1), "pie").aqm.mark_limit == 0.1
    # the update interval of a law is the effective one
    assert "tupdate 32ms" in to_tc(pf.Pie(update_interval="33ms"), "pie", hz=1000)
    assert "tupdate 32ms" in to_tc(pf.Pie(update_interval="36ms"), "pie", hz=250)


def read_as_tc(line: str) -> dict[str, int]:
    """What tc puts into netlink: microseconds, and gains in 1/16 or, as floats, in 1/256 Hz."""
    words = line.split()[6:]
    kind, options = words[0], {}
    for name, text in zip(words[1::2], words[2::2], strict=False):
        if name in {"target", "tupdate"}:
            number, unit = re.fullmatch(r"([0-9]+)(us|ms)", text).groups()
            options[name] = int(number) * (1000 if unit == "ms" else 1)
        elif name in {"alpha", "beta"}:
            scale = np.float32(256 if kind == "dualpi2" else 1)
            options[name] = int(np.float32(text) * scale)
    return options


# Above 65536 Hz single precision, in which tc prints them, no longer tells 1/256 Hz apart.
gains = st.floats(1 / 256, 65535) | st.integers(1, 2**23).map(lambda parts: parts / 256)
# Between 0.9995 s and 1 s tc prints 1e+03ms.
times = (
    st.floats(1e-5, 0.999) | st.floats(1.0, 4.0) | st.integers(10, 999000).map(lambda us: us / 1e6)
)


@pytest.mark.slow
@thorough
@given(alpha=gains, beta=gains, target=times, interval=times, k=st.integers(1, 255))
@example(alpha=0.1 * 0.015 / 0.01, beta=0.3 / 0.1, target=0.1 / 6, interval=0.016, k=2)
def test_dualpi2_round_trip(alpha, beta, target, interval, k):
    law = pf.DualPi2(alpha=alpha, beta=beta, target=target, update_interval=interval, k=k)
    queue = install(law, "dualpi2")
    asked = read_as_tc(to_tc(law, "dualpi2"))
    # one step of netlink, one of the kernel's own, and single precision
    for name in ("alpha", "beta"):
        step = 1 / 256 + 1e9 / (64 * (2**32 - 1)) + 1e-7 * getattr(law, name)
        assert -step < getattr(queue.aqm, name) - getattr(law, name) <= 1e-7 * getattr(law, name)
        assert 256 * queue.shown[name] == asked[name] - 1
    for name in ("target", "update_interval"):
        assert -1e-6 < getattr(queue.aqm, name) - getattr(law, name) < 1e-8
    assert asked["target"] == round(1e6 * queue.aqm.target)
    exact = parse(json.dumps(show_json(queue)))[0]
    if max(alpha, beta) < 1000:  # six digits tell 1/256 Hz apart
        assert exact.aqm == queue.aqm
        assert exact.shown == queue.shown
    text = parse(show(queue))[0]
    assert (text.aqm.alpha, text.aqm.beta) == (queue.aqm.alpha, queue.aqm.beta)
    assert show(text) == show(queue)
    assert exact.aqm.k == k


@pytest.mark.slow
@thorough
@given(
    alpha=st.floats(0.04, 2.0),
    beta=st.floats(0.04, 2.0),
    target=times,
    interval=times,
    hz=st.sampled_from([100, 250, 300, 1000]),
    kind=st.sampled_from(["pie", "fq_pie"]),
)
def test_pie_round_trip(alpha, beta, target, interval, hz, kind):
    law = pf.Pie(alpha=alpha, beta=beta, target=target, update_interval=interval)
    queue = install(law, kind, hz=hz)
    asked = read_as_tc(to_tc(law, kind))
    for name in ("alpha", "beta"):
        assert abs(getattr(queue.aqm, name) - getattr(law, name)) <= 1 / 32
        assert 16 * getattr(queue.aqm, name) == asked[name]
    assert -1.1e-6 < queue.aqm.target - target < 1e-8
    # rounded up to a jiffy, and late by one or by a slot of the wheel
    late = queue.aqm.update_interval - math.floor(1e6 * interval + 1e-3) / 1e6
    assert 1 / hz - 1e-9 <= late < 2 / hz + interval / 7
    if interval >= 2 / hz and (asked_late := to_tc(law, kind, hz=hz)):
        again = pf.Pie(update_interval=read_as_tc(asked_late)["tupdate"] / 1e6)
        miss = install(again, kind, hz=hz).aqm.update_interval - interval
        assert abs(miss) <= 0.5 / hz + interval / 14 + 1e-6
    exact = parse(json.dumps(show_json(queue)), hz=hz)[0]
    assert exact.aqm.update_interval == queue.aqm.update_interval
    assert (exact.aqm.alpha, exact.aqm.beta) == (queue.aqm.alpha, queue.aqm.beta)
    assert 0 <= queue.aqm.target - exact.aqm.target < 1e-6  # 8us and 9us are both shown as 8us
    assert exact.shown == queue.shown
    text = parse(show(queue), hz=hz)[0]
    assert show(text) == show(queue)


@pytest.mark.parametrize(
    ("law", "kind", "error", "said"),
    [
        (pf.Pie(alpha=5 / 16, beta=50 / 16), "pie", pf.DomainError, "beta = 3.125 is 50/16 Hz"),
        (pf.Pie(alpha=0.03), "pie", pf.DomainError, "alpha = 0.03 is 0/16 Hz"),
        (pf.DualPi2(alpha=0.003), "dualpi2", pf.DomainError, "alpha = 0.003 is 0/256 Hz"),
        (pf.DualPi2(beta=1e9), "dualpi2", pf.DomainError, "beta = 1000000000.0 is"),
        (pf.DualPi2(k=1.5), "dualpi2", pf.DomainError, "k = 1.5 is no whole number"),
        (pf.DualPi2(target=5), "dualpi2", pf.DomainError, "target = 5.0 is outside"),
        (pf.Pie(target="100ns"), "pie", pf.DomainError, "target = 1e-07 is outside"),
        (pf.Pie(table="none"), "pie", pf.UnsupportedError, 'table = "none"'),
        (pf.presets.docsis_pie(), "pie", pf.UnsupportedError, 'table = "rfc8034"'),
        (pf.Pi(), "pie", pf.UnsupportedError, "pie cannot run Pi"),
        (pf.DualPi2(), "fq_pie", pf.UnsupportedError, "fq_pie cannot run DualPi2"),
        (pf.Pie(), "dualpi2", pf.UnsupportedError, "dualpi2 cannot run Pie"),
        (pf.Pie(alpha=np.array([0.1, 0.2])), "pie", pf.QuantityError, "Pie alpha is an array"),
        (pf.Pie(), "sfb", pf.QuantityError, "kind = 'sfb' is unknown"),
    ],
)
def test_what_tc_would_refuse_or_misread(law, kind, error, said):
    for function in (install, to_tc):
        with refused(error, match=re.escape(said)):
            function(law, kind)


@pytest.mark.parametrize("hz", [0, -1, 250.0, "250", True, 10**9, None])
def test_bad_hz(hz):
    for call in (lambda: parse(PIE, hz=hz), lambda: install(pf.Pie(), "pie", hz=hz)):
        with pytest.raises(pf.QuantityError, match="hz = "):
            call()


def test_bad_mtu():
    with pytest.raises(pf.QuantityError, match="mtu = 0"):
        install(pf.Pie(), "fq_pie", mtu=0)


# --- text that is not tc's ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("alpha 2 ", "alpha 2x ", "alpha of pie 8001: = '2x'"),
        ("alpha 2 ", "alpha 2.5 ", "alpha of pie 8001: = '2.5'"),
        ("alpha 2 ", "alpha -2 ", "alpha of pie 8001: = '-2'"),
        ("alpha 2 ", "alpha ٢ ", "alpha of pie 8001: = '٢'"),
        ("alpha 2 ", "alpha 99999999999 ", "alpha of pie 8001: = '99999999999'"),
        ("alpha 2 ", "", "alpha of pie 8001: is missing"),
        ("alpha 2 ", "alpha 2 alpha 3 ", "alpha of pie 8001: is there twice"),
        ("alpha 2 ", "alpha 0 ", "alpha = 0.0"),
        ("target 15ms", "target 15", "target of pie 8001: = '15' has no unit"),
        ("target 15ms", "target 15parsecs", "target of pie 8001: = '15parsecs'"),
        ("target 15ms", "target -15ms", "target of pie 8001: = '-15ms'"),
        ("target 15ms", "target 0us", "target = 0.0"),
        ("target 15ms", "target 9999s", "target of pie 8001: = '9999s'"),
        ("tupdate 15ms", "tupdate 0us", "update_interval = 0.0"),
        ("tupdate 15ms", "tupdate 15.5ms", "tupdate of pie 8001: = 15.5ms"),
        ("limit 1000p", "limit 1000", "limit of pie 8001: = '1000'"),
        ("beta 20", "beta 20 entropy", "'entropy' of pie 8001: is not known"),
        ("beta 20", "beta", "beta of pie 8001: = ''"),
        ("8001:", "", "the handle"),
        ("limit", "[Unknown qdisc, optlen=60] limit", "tc is older than this queue"),
    ],
)
def test_bad_words(old, new, said):
    assert old in PIE
    with refused((pf.QuantityError, pf.DomainError), match=re.escape(said)):
        parse(PIE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("alpha 0.156250", "alpha 0.16", "alpha of dualpi2 8001: = 0.16 is no multiple of 1/256"),
        ("step_thresh 1ms", "step_thresh 5p", "step_thresh of dualpi2 8001: = '5p' counts packets"),
        ("coupling_factor 2", "coupling_factor 0", "k = 0.0"),
        ("classic_protection 10%", "classic_protection 101%", "c_protection = 1.01"),
        ("classic_protection 10%", "classic_protection 10", "classic_protection of dualpi2"),
        ("drop_on_overload", "", "overflow or drop_on_overload of dualpi2 8001: is missing"),
        ("memlimit 30000000B", "memlimit 30MB", "memlimit of dualpi2 8001: = '30MB'"),
    ],
)
def test_bad_words_of_dualpi2(old, new, said):
    assert old in DUALPI2
    with refused((pf.QuantityError, pf.DomainError), match=re.escape(said)):
        parse(DUALPI2.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"alpha":2', '"alpha":"2"', "alpha of pie 8001: = '2'"),
        ('"alpha":2', '"alpha":2.5', "alpha of pie 8001: = 2.5"),
        ('"alpha":2', '"alpha":true', "alpha of pie 8001: = True"),
        ('"alpha":2', '"alpha":-2', "alpha of pie 8001: = -2"),
        ('"alpha":2', '"alpha":null', "alpha of pie 8001: = None"),
        ('"alpha":2,', "", "alpha of pie 8001: is missing"),
        ('"alpha":2', '"gamma":2', "'gamma' of pie 8001: is not known"),
        ('"alpha":2', '"alpha":' + "9" * 5000, "the JSON cannot be read"),
        ('"alpha":2', '"ecn":"yes","alpha":2', "ecn of pie 8001: = 'yes'"),
        ('"options"', '"choices"', "the options of pie 8001: are missing"),
        ('"prob":0', '"prob":NaN', "prob of pie 8001: = nan"),
        ('"prob":0', '"prob":"x"', "prob of pie 8001: = 'x'"),
        (
            '"prob":0',
            '"prob":7',
            "prob of pie 8001: = 7 is no probability: tc prints a number from",
        ),
        ('"8001:"', "8001", "the handle 8001 of pie"),
        ("}]", "}", "the JSON cannot be read"),
    ],
)
def test_bad_json(old, new, said):
    output = SHOWN["add: pie"]["tc -j -s -d qdisc show dev r_d"]
    assert old in output
    with refused(pf.QuantityError, match=re.escape(said)):
        parse(output.replace(old, new))


@pytest.mark.parametrize(
    "text", ["", " ", "[]", "{}", "[[[]]]", "[" * 10**5, "null", "qdisc", 5, None]
)
def test_nothing_of_ours(text):
    with refused(pf.QuantityError):
        parse(text)


def test_bad_statistics():
    output = SHOWN["add: pie"]["tc -s -d qdisc show dev r_d"]
    for old, new, said in [
        ("Sent 0 bytes", "Sent x bytes", "bytes of pie 8001: = 'x'"),
        ("prob 0 ", "prob zero ", "prob of pie 8001: = 'zero'"),
        ("prob 0 ", "prob 7 ", "prob of pie 8001: = 7.0 is no probability: tc prints a number"),
        ("pkts_in 0 overlimit", "pkts_in overlimit", "the statistics 'pkts_in overlimit"),
        ("backlog 0b", "backlog 0furlongs", "backlog of pie 8001: = '0furlongs'"),
    ]:
        assert old in output
        with refused(pf.QuantityError, match=re.escape(said)):
            parse(output.replace(old, new))


def test_a_queue_that_is_deleted_is_none():
    with pytest.raises(pf.QuantityError, match="there is no"):
        parse("deleted " + PIE)
    assert len(parse("deleted " + PIE + PIE)) == 1


@pytest.mark.parametrize(("title", "command"), OURS)
def test_cut_off_anywhere_it_is_refused_or_the_same(title, command):
    output = SHOWN[title][command]
    law = parse(output)[0].aqm
    for end in range(len(output)):
        found = read_or_refused(output[:end])
        if found is not None and found[0].aqm != law:
            # Of pie the last number, or what follows it, may be gone without a trace.
            assert found[0].kind != "dualpi2"
            assert "-j" not in command
            assert output[:end].rstrip().endswith(("beta 2", "beta 20"))


pieces = st.sampled_from(
    [output for outputs in SHOWN.values() for output in outputs.values()]
) | st.text(max_size=40)


@st.composite
def damaged(draw):
    text = "".join(draw(st.lists(pieces, max_size=3)))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(text)))
        end = start + draw(st.integers(0, 12))
        put = draw(
            st.text(max_size=4) | st.sampled_from(["-", "9" * 30, " ", "\n", "qdisc pie 1: "])
        )
        text = text[:start] + put + text[end:]
    return text


@pytest.mark.slow
@thorough
@given(damaged(), st.sampled_from([100, 250, 300, 1000]))
def test_damaged_text_is_read_or_refused_in_one_sentence(text, hz):
    found = read_or_refused(text, hz)
    if found is None:
        return
    assert found
    for queue in found:
        # What was read is what would be shown.
        again = parse(show(queue), hz=hz)[0]
        assert again.aqm.alpha == queue.aqm.alpha
        assert show(again) == show(queue)


NUMBERS = st.text(max_size=6) | st.from_regex(r"[0-9.eE+\-]{1,8}(us|ms|s|p|B|%|)", fullmatch=True)


@pytest.mark.slow
@thorough
@given(st.sampled_from(re.findall(r"(\w+) \d\S*", DUALPI2.split("refcnt 2")[1])), NUMBERS)
def test_a_mangled_number_is_an_error_that_names_it_or_what_it_says(word, text):
    line = re.sub(rf" {word} \S+", lambda _: f" {word} {text}", DUALPI2)
    found = read_or_refused(line)
    if found is None:
        return
    (queue,) = found
    (text,) = text.split()
    said = float(re.match(r"[0-9.eE+\-]+(?<![eE])", text)[0])
    unit = re.sub(r"^[0-9.eE+\-]+", "", text)
    said *= {"us": 1e-6, "ms": 1e-3, "%": 1e-2, "µs": 1e-6, "ns": 1e-9}.get(unit, 1.0)
    if unit in {"min", "h"}:
        return
    # A gain is read as the 1/256 Hz that has the six digits of it that `tc -j` prints.
    digits = 5.1e-6 if word in {"alpha", "beta"} else 1e-9
    assert queue.shown[word] == pytest.approx(said, rel=digits, abs=1e-6)


# --- the margin that it costs ---------------------------------------------------------------


def test_margin_lost():
    queue = install(pf.DualPi2(**PAPER), "dualpi2")
    loops = [
        pf.Loop(pf.Reno(), law, rtt="100ms", p_prime=0.1, update="sampled").margins().gain_margin_db
        for law in (pf.DualPi2(**PAPER), queue.aqm)
    ]
    lost = pf.margin_lost_db(queue, pf.Reno(), "100ms", 0.1)
    assert isinstance(lost, float)
    assert lost == pytest.approx(loops[0] - loops[1], abs=1e-9)
    assert -0.1 < lost < 0  # slower gains: more margin
    # PIE's late timer makes its integral part slower, and the loop later
    late = install(pf.presets.linux_pie(), "pie", hz=100)
    many = pf.margin_lost_db(late, pf.Reno(), np.array([0.04, 0.05, 0.1]), 0.1)
    assert many.shape == (3,)
    assert np.isfinite(many).all()
    # Scalable senders have the controller's loop, too
    assert math.isfinite(pf.margin_lost_db(queue, pf.Scalable(), "100ms", 0.1))


def test_no_margin_is_lost_where_nothing_is_rounded():
    line = "qdisc pie 1: root limit 1000p target 15ms tupdate 15ms alpha 2 beta 20"
    (queue,) = parse(line)
    exact = pf.qdisc.Qdisc(
        kind="pie",
        asked=queue.asked | {"tupdate": queue.aqm.update_interval},
        shown=queue.shown,
        aqm=queue.aqm,
        rounding=queue.rounding,
    )
    assert pf.margin_lost_db(exact, pf.Reno(), "100ms", 0.1) == 0.0
    with pytest.raises(pf.QuantityError, match="is no Qdisc"):
        pf.margin_lost_db(line, pf.Reno(), "100ms", 0.1)


# --- from the kernel's integers to the packets ------------------------------------------------


PARTS = range(1, 2000)  # 1/256 Hz


def dualpi2_step(alpha: int, beta: int, delays_ns: list[int], target_ns: int) -> list[int]:
    """p' in 2^-32 after each update, in the integers of sch_dualpi2 (6.18), written again."""
    scaled = [((parts * (2**32 - 1)) >> 2) // 10**9 for parts in (alpha, beta)]
    p, before, found = 0, 0, []
    for delay in delays_ns:
        delta = scaled[0] * (delay - target_ns) + scaled[1] * (delay - before)
        p, before = max(p + (delta >> 6 if delta > 0 else -(-delta >> 6)), 0), delay
        found.append(p)
    return found


FLOWS = [pf.Flows(pf.Reno(), 1, "20ms")]


@pytest.fixture(scope="module")
def running():
    """The queues with gains of n/256 and (2000 - n)/256 Hz: all of them, in both places."""
    return {
        parts: install(pf.DualPi2(alpha=parts / 256, beta=(2000 - parts) / 256), "dualpi2")
        for parts in PARTS
    }


def through_toml(law):
    scenario = pf.Scenario(duration=1, link=pf.Link("1Mbit/s"), aqm=law, flows=FLOWS)
    return pf.Scenario.from_toml(scenario.to_toml()).aqm


@pytest.mark.slow
def test_every_gain_of_dualpi2_arrives_in_the_packets(running):
    """All 1,999 gains, as asked for, as installed and as shown, through the queue of packets."""
    delays = [20_000_000, 35_000_000, 30_000_000]
    text = "\n".join(show(queue) for queue in running.values())
    entries = [show_json(queue) for parts, queue in running.items() if parts % 8 == 0]
    doors = {
        "as asked for": {parts: pf.DualPi2(**asked_of(running[parts])) for parts in PARTS},
        "install": {parts: queue.aqm for parts, queue in running.items()},
        "tc": dict(zip(PARTS, (queue.aqm for queue in parse(text)), strict=True)),
        "tc -j": dict(
            zip(PARTS[7::8], (queue.aqm for queue in parse(json.dumps(entries))), strict=True)
        ),
        "install again": {n: install(running[n].aqm, "dualpi2").aqm for n in PARTS[::8]},
        "TOML": {n: through_toml(running[n].aqm) for n in PARTS[::32]},
    }
    for door, laws in doors.items():
        wrong = []
        for parts, law in laws.items():
            found = np.empty(len(delays), np.int64)
            fixed = dataclasses.replace(law, arithmetic="fixed")
            numbers = fixed.packet_parameters(pf.Link("10Mbit/s"))
            _core.replay_dualpi2_updates(numbers, np.array(delays, np.int64), found)
            if found.tolist() != dualpi2_step(parts, 2000 - parts, delays, 15_000_000):
                wrong.append(parts)
        assert wrong == [], door


def asked_of(queue):
    return {name: queue.asked[name] for name in ("alpha", "beta")}


@pytest.mark.slow
def test_asking_for_what_runs_asks_for_what_was_asked(running):
    """The line of tc for a law that was read: a step of 1/256 Hz would be lost each time."""
    for parts in (1, 8, 29, 41, 80, 819, 1999):
        asked = read_as_tc(to_tc(running[parts].aqm, "dualpi2"))
        assert (asked["alpha"], asked["beta"]) == (parts, 2000 - parts)


@pytest.mark.slow
def test_replay_takes_the_gains_of_a_kernel(running):
    """The controller alone, and the one queue of it, which used to be refused as no 1/256 Hz."""
    delays = [20_000_000, 35_000_000, 30_000_000]
    for parts in (1, 8, 29, 41, 80, 819, 1999):
        law = running[parts].aqm
        for one in (law, law.in_one_queue()):
            fixed = dataclasses.replace(one, arithmetic="fixed")
            found = pf.packet.replay(fixed, queue_delay=np.array(delays) / 1e9)
            expected = dualpi2_step(parts, 2000 - parts, delays, 15_000_000)
            assert found.state.values.tolist() == expected


def test_a_simulation_runs_with_the_gain_that_was_asked_for():
    def controller(law):
        scenario = pf.Scenario(
            duration="4s",
            link=pf.Link("10Mbit/s"),
            aqm=dataclasses.replace(law, arithmetic="fixed"),
            flows=[pf.Flows(pf.Reno(), 2, "20ms")],
        )
        return pf.packet.simulate(scenario, seeds=[1]).p_prime.values

    asked = pf.DualPi2(alpha=8 / 256, beta=1.0)
    running = install(asked, "dualpi2").aqm
    np.testing.assert_array_equal(controller(running), controller(asked))
    less = dataclasses.replace(asked, alpha=7 / 256)
    assert (controller(less) != controller(asked)).any()


@pytest.mark.parametrize("kind", ["pie", "fq_pie"])
def test_every_gain_of_pie_arrives_in_the_packets(kind):
    """All n/16 Hz that tc takes, as alpha and as beta: the first step in the integers of sch_pie.

    At p = 0 the gains are divided by 2^4 for 1/16 Hz and by 2^11 for the table.
    """
    unit, delay = (2**56 - 1) // 15_625_000, 41_000_000  # whole ticks of 64 ns
    for alpha in range(1, 33):
        beta = 33 - alpha
        asked = install(pf.Pie(alpha=alpha / 16, beta=beta / 16), kind)
        for running in (asked.aqm, parse(show(asked))[0].aqm, through_toml(asked.aqm)):
            law = dataclasses.replace(running, arithmetic="fixed")
            found = pf.packet.replay(law, queue_delay=[delay / 1e9]).state.item()
            gains = [(parts * unit) >> 15 for parts in (alpha, beta)]
            assert found == gains[0] * (delay - 15_000_000) // 64 + gains[1] * delay // 64


@pytest.mark.parametrize("law", [pf.DualPi2, pf.CoupledPi2, pf.Pi2, pf.Pi])
def test_gains_that_no_kernel_holds_are_refused_alike(law):
    """By replay and by simulation, of one queue and of two: 12.3 parts are 2.4 % from 12."""
    one = law(alpha=12.3 / 256, beta=1.0, arithmetic="fixed")
    scenario = pf.Scenario(duration=1, link=pf.Link("1Mbit/s"), aqm=one, flows=FLOWS)
    for call in (
        lambda: pf.packet.replay(one, queue_delay=[0.02]),
        lambda: pf.packet.simulate(scenario, seeds=[1]),
    ):
        with refused(pf.DomainError, match=r"give a multiple of 1/256 Hz"):
            call()
