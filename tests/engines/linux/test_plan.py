"""A scenario as orders for the guest: what it is told, and every refusal before."""

from __future__ import annotations

import dataclasses
import struct

import pytest

import pi2_fluid as pf
from pi2_fluid.engines.linux.laws import congestion_of, qdisc_of
from pi2_fluid.engines.linux.plan import make_plan, not_modelled

LINK = pf.Link("10Mbit/s", kind="htb", buffer=1000)
FLOWS = pf.Flows(pf.Reno(), 5, "100ms", start_jitter="1s")
SCENE = pf.Scenario("10s", LINK, pf.Pie(arithmetic="fixed"), FLOWS)
RED = pf.Red(min=8, max=40, gentle=False, weight=2**-9)


def lines(scenario: pf.Scenario, word: str, seed: int = 1) -> list[list[str]]:
    found = [line.split() for line in make_plan(scenario, seed).splitlines()]
    return [words for words in found if words[0] == word]


def changed(**fields: object) -> pf.Scenario:
    return dataclasses.replace(SCENE, **fields)


# --- qdiscs, byte for byte: struct nlattr of each option, in the order of the kernel's list ------


@pytest.mark.parametrize(
    ("law", "kind", "options"),
    [
        # 15 ms in us; 1000 packets; the timer of 14 jiffies fires after 15; 2/16 and 20/16 Hz
        (
            pf.Pie(alpha=0.125, beta=1.25, ecn=True),
            "pie",
            (
                "3c000280 08000100983a0000 08000200e8030000 08000300b0360000 0800040002000000"
                " 0800050014000000 0800060001000000 0800080000000000"
            ),
        ),
        # 41/256 and 819/256 Hz; step 1 ms; k 2; overload drops; at dequeue; C keeps 10 %
        (
            pf.DualPi2(),
            "dualpi2",
            (
                "64000280 08000100e8030000 08000200ffffff7f 08000300983a0000 08000400803e0000"
                " 0800050029000000 0800060033030000 05000c0000000000"
                " 08000800e8030000 0800090000000000"
                " 05000a0002000000 05000b0001000000 05000d000a000000"
            ),
        ),
        # 80/256 and 800/256 Hz; at enqueue; coupled by 1
        (
            pf.Pi2(),
            "dualpi2",
            (
                "4c000280 08000100e8030000 08000200ffffff7f 08000300204e0000 08000400007d0000"
                " 0800050050000000 0800060020030000 05000c0001000000"
                " 05000a0001000000 05000b0001000000"
            ),
        ),
        (
            pf.CoDel(),
            "codel",
            "24000280 0800010088130000 08000200e8030000 08000300a0860100 0800040000000000",
        ),
        # the kernel's defaults: 1024 queues, a quantum of 1500 bytes, 64 packets, 32 MiB
        (
            pf.FqCodel(),
            "fq_codel",
            (
                "44000280 0800010088130000 08000200e8030000 08000300a0860100 0800040001000000"
                " 0800050000040000 08000600dc050000 0800080040000000 0800090000000002"
            ),
        ),
        (
            pf.FqCodel(
                ecn=False,
                flows=7,
                quantum=300,
                drop_batch=8,
                memory_limit=99,
                ce_threshold="1ms",
                ce_threshold_selector="ect1",
            ),
            "fq_codel",
            (
                "5c000280 0800010088130000 08000200e8030000 08000300a0860100 0800040000000000"
                " 0800050007000000 080006002c010000 0800080008000000 0800090063000000"
                " 08000700e8030000 05000a0001000000 05000b0003000000"
            ),
        ),
        # a timer that is asked for 15 ms fires every 16 ms
        (
            pf.FqPie(update_interval="16ms"),
            "fq_pie",
            (
                "54000280 08000100e8030000 0800020000040000 08000300983a0000 08000400983a0000"
                " 0800050002000000 0800060014000000 08000700dc050000 080009000a000000"
                " 08000a0000000000 08000c0000000000"
            ),
        ),
        (pf.TailDrop(), "pfifo", "08000200e8030000"),
        # struct tc_red_qopt: 1.5e6, 12000 and 60000 bytes, Wlog 9; max_p 0.1 of 2^32; no flag of 4
        (
            RED,
            "red",
            (
                f"30010280 1400010060e31600e02e000060ea0000091f0000 04010200{'00' * 256}"
                " 0800030099999919 0c00040000000000 0f000000"
            ),
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, pf.Pie | pf.Red) else None,
)
def test_a_qdisc_is_told_what_the_law_says(law, kind, options) -> None:
    queue = qdisc_of(law, LINK)
    assert queue.kind == kind
    assert queue.options.hex() == options.replace(" ", "")


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        ({}, 0),
        ({"ecn": True}, 1),
        ({"ecn": True, "harddrop": True}, 3),
        ({"ecn": True, "nodrop": True}, 9),
        ({"ecn": True, "harddrop": True, "nodrop": True}, 11),
    ],
)
def test_red_is_told_what_to_mark_and_what_to_drop(words: dict[str, bool], flags: int) -> None:
    law = dataclasses.replace(RED, **words)
    flags = bytes([flags, 0, 0, 0, 15, 0, 0, 0])
    assert qdisc_of(law, LINK).options[-8:] == flags


def test_a_step_without_an_average_is_red_by_2_to_the_0() -> None:
    law = pf.Red(min=65, max=65, weight=1, gentle=False, ecn=True)
    limit, low, high, shift = struct.unpack("<3IB", qdisc_of(law, LINK).options[8:21])
    assert (low, high, shift) == (97_500, 97_500, 0)
    assert limit == 1500 * LINK.buffer


@pytest.mark.parametrize(
    ("interval", "asked"), [("32ms", 31_000), ("64ms", 63_000), ("72ms", 64_000), ("1.001ms", 0)]
)
def test_pie_is_asked_for_the_interval_that_comes_out(interval, asked) -> None:
    law = pf.Pie(update_interval=interval)
    if not asked:
        with pytest.raises(pf.DomainError, match=r"= 0\.001001 is none of the times"):
            qdisc_of(law, LINK)
        return
    assert int.from_bytes(qdisc_of(law, LINK).options[24:28], "little") == asked


def test_congestion_controls_have_the_kernels_names() -> None:
    assert [congestion_of(one()) for one in (pf.Reno, pf.Cubic, pf.Dctcp)] == [
        *("reno", "cubic", "dctcp")
    ]


# --- the orders -----------------------------------------------------------------------------


def test_flows_start_within_their_jitter_by_seed_and_stay_to_the_end() -> None:
    flows = lines(SCENE, "flow")
    assert [words[1] for words in flows] == ["0"] * 5
    starts = [float(words[2]) for words in flows]
    assert all(0.0 <= start <= 1.0 for start in starts)
    assert len(set(starts)) == 5
    assert all(float(words[3]) > 10.0 for words in flows)
    assert flows == lines(SCENE, "flow")
    assert flows != lines(SCENE, "flow", seed=2)


def test_chance_belongs_to_the_traffic_and_not_to_the_queue() -> None:
    """Scenarios are independent samples; queues under the same traffic are compared in pairs."""
    flows = lines(SCENE, "flow")
    assert lines(dataclasses.replace(SCENE, aqm=pf.CoDel()), "flow") == flows
    faster = dataclasses.replace(SCENE.link, capacity="11Mbit/s")
    assert not set(map(tuple, lines(dataclasses.replace(SCENE, link=faster), "flow"))) & set(
        map(tuple, flows)
    )


def test_counts_that_change_are_flows_that_start_and_stop() -> None:
    still = dataclasses.replace(FLOWS, start_jitter=0.0)
    changes = [pf.Change("4s", counts={"reno": 2}), pf.Change("6s", counts={"reno": 3})]
    flows = lines(changed(flows=still, changes=changes), "flow")
    times = sorted((float(words[2]), min(float(words[3]), 10.0)) for words in flows)
    assert times == [(0.0, 4.0)] * 3 + [(0.0, 10.0)] * 2 + [(6.0, 10.0)]


def test_a_change_of_capacity_is_a_class_of_another_rate() -> None:
    (order,) = lines(changed(changes=pf.Change("4s", capacity="20Mbit/s")), "at")
    assert order[:6] == ["at", "4.0", "nl", "1", "r_d", "40"]
    assert order[6] == str(0x400)  # NLM_F_CREATE
    assert (2_500_000).to_bytes(4, "little").hex() in order[7]


def test_each_round_trip_has_a_band_that_its_classes_name() -> None:
    flows = [
        pf.Flows(pf.Reno(), 1, "100ms"),
        pf.Flows(pf.Cubic(), 1, "20ms", ecn=True),
        pf.Flows(pf.Cbr(rate="6Mbit/s"), 1),
        pf.Flows(pf.Dctcp(), 1, "100ms"),
    ]
    classes = lines(changed(flows=flows), "class")
    assert [words[1:4] for words in classes] == [
        ["reno", "0", str(0x10003)],
        ["cubic", "1", str(0x10002)],
        ["reno", "0", str(0x10001)],
        ["dctcp", "1", str(0x10003)],
    ]
    assert [words[4:] for words in classes][2] == ["0.002", "1458", "1", "-1"]


def test_datagrams_have_their_size_their_bursts_and_their_field() -> None:
    video = pf.Flows(pf.Cbr(rate="3Mbit/s", burst="12500B"), ecn="ect1")
    voip = pf.Flows(pf.Cbr(rate="80kbit/s"), packet_size="200B", ecn="ect0")
    scene = changed(flows=[video, voip], aqm=pf.DualPi2())
    classes = lines(scene, "class")
    # 8 full packets and 500 B, of which 42 are headers; every 1/30 s
    assert [words[2] for words in classes] == ["1", "2"]
    assert [words[4:] for words in classes] == [
        [repr(1e5 / 3e6), "1458", "8", "458"],
        ["0.02", "158", "1", "-1"],
    ]
    assert not [words for words in lines(scene, "nl") if words[3] == "44"]


def test_a_dual_queue_is_shown_ect1_of_scalable_senders() -> None:
    flows = [pf.Flows(pf.Cubic(), 1, "20ms"), pf.Flows(pf.Dctcp(), 1, "20ms")]
    scene = changed(flows=flows, aqm=pf.DualPi2())
    filters = [words for words in lines(scene, "nl") if words[3] == "44"]
    assert [words[1:3] for words in filters] == [["1", "r_s"]]
    assert "06001300" + (5001).to_bytes(2, "big").hex() in filters[0][5]
    single = [words for words in lines(changed(flows=flows), "nl") if words[3] == "44"]
    assert single == []


def test_so_is_a_step_for_l4s_alone() -> None:
    flows = [pf.Flows(pf.Cubic(), 1, "20ms"), pf.Flows(pf.Dctcp(), 1, "20ms")]
    for selector, count in (("any", 0), ("ect1", 1)):
        step = pf.FqCodel(ce_threshold="1ms", ce_threshold_selector=selector)
        scene = changed(flows=flows, aqm=step)
        assert len([words for words in lines(scene, "nl") if words[3] == "44"]) == count


def test_what_linux_does_otherwise_is_listed() -> None:
    assert not_modelled(SCENE) == ["link.ack_jitter"]
    other = changed(
        link=pf.Link("10Mbit/s", "40000 packets", kind="htb", ack_jitter=0.0),
        aqm=pf.Pie(first_update="15ms", quirks=False),
        flows=pf.Flows(pf.Cbr(rate="1Mbit/s"), 1),
    )
    assert not_modelled(other) == [
        *("aqm.arithmetic", "aqm.quirks", "aqm.first_update", "flows.sender.thinned")
    ]


# --- refusals -------------------------------------------------------------------------------


def reno(**fields: object) -> pf.Flows:
    return dataclasses.replace(FLOWS, **fields)


def of(sender: pf.Sender, **fields: object) -> dict[str, pf.Flows]:
    return {"flows": pf.Flows(sender, 1, "100ms", **fields)}


def link(**fields: object) -> dict[str, pf.Link]:
    return {"link": dataclasses.replace(LINK, **fields)}


@pytest.mark.parametrize(
    ("other", "error", "reason"),
    [
        # laws
        ({"aqm": pf.Pi()}, pf.UnsupportedError, "Pi has no qdisc in Linux: give one of Pie, Pi2"),
        ({"aqm": pf.CoupledPi2()}, pf.UnsupportedError, "CoupledPi2 has no qdisc in Linux"),
        (of(pf.CReno()), pf.UnsupportedError, "CReno has no congestion control in Linux"),
        (of(pf.Scalable()), pf.UnsupportedError, "Scalable has no congestion control in Linux"),
        # fields that decide what a law does
        ({"aqm": pf.Pie(variant="rfc8033")}, pf.UnsupportedError, "Pie variant = 'rfc8033' is not"),
        ({"aqm": pf.Pie(table="hpsr13")}, pf.UnsupportedError, "Pie gain_table = 'hpsr13' is not"),
        ({"aqm": pf.Pie(cap=False)}, pf.UnsupportedError, "Pie caps = False is not in Linux"),
        ({"aqm": pf.Pie(boost250=False)}, pf.UnsupportedError, "Pie boosts = False is not"),
        ({"aqm": pf.Pie(decay=False)}, pf.UnsupportedError, "Pie idle_decay = 1.0 is not"),
        ({"aqm": pf.Pie(burst="1s")}, pf.UnsupportedError, "Pie burst = 1.0 is not in Linux"),
        ({"aqm": pf.Pie(half_target=False)}, pf.UnsupportedError, "Pie half_target = False is not"),
        ({"aqm": pf.Pie(derandomize=False)}, pf.UnsupportedError, "Pie derandomize = False is not"),
        ({"aqm": pf.Pie(mark_limit=1.0)}, pf.UnsupportedError, "Pie mark_limit = 1.0 is not"),
        ({"aqm": pf.Pie(drop_at="dequeue")}, pf.UnsupportedError, "Pie drop_at = 'dequeue' is not"),
        ({"aqm": pf.Pi2(variant="ns3")}, pf.UnsupportedError, "Pi2 variant = 'ns3' is not in"),
        ({"aqm": pf.DualPi2(ramp="400us")}, pf.UnsupportedError, "DualPi2 ramp = 0.0004 is not in"),
        ({"aqm": pf.DualPi2(variant="rfc9332")}, pf.UnsupportedError, "variant = 'rfc9332' is not"),
        (
            {"aqm": dataclasses.replace(RED, gentle=True)},
            pf.UnsupportedError,
            "Red gentle = True is",
        ),
        ({"aqm": dataclasses.replace(RED, adaptive=True)}, pf.UnsupportedError, "Red adaptive = T"),
        ({"aqm": dataclasses.replace(RED, idle_decay=True)}, pf.UnsupportedError, "Red idle_decay"),
        ({"aqm": dataclasses.replace(RED, spacing="wait")}, pf.UnsupportedError, "Red spacing = '"),
        (of(pf.Reno(decrease=0.3)), pf.UnsupportedError, "Reno decrease = 0.3 is not in Linux"),
        (of(pf.Reno(growth="per_ack")), pf.UnsupportedError, "Reno growth = 'per_ack' is not"),
        (of(pf.Cubic(variant="linux3.18")), pf.UnsupportedError, "Cubic variant = 'linux3.18'"),
        (of(pf.Cubic(c=0.5)), pf.UnsupportedError, "Cubic c = 0.5 is not in Linux"),
        (of(pf.Cubic(decrease=0.5)), pf.UnsupportedError, "Cubic decrease = 0.5 is not in Linux"),
        (of(pf.Cubic(hystart=False)), pf.UnsupportedError, "Cubic hystart = False is not in"),
        (of(pf.Dctcp(gain=0.25)), pf.UnsupportedError, "Dctcp gain = 0.25 is not in Linux"),
        (of(pf.Prague(gain=0.5)), pf.UnsupportedError, "Prague gain = 0.5 is not in Linux"),
        (of(pf.Prague(target_rtt="5ms")), pf.UnsupportedError, "target_rtt = 0.005 is not in"),
        (of(pf.Dctcp(variant="rfc8257")), pf.UnsupportedError, "Dctcp variant = 'rfc8257' is not"),
        # what the kernel counts in
        ({"aqm": pf.Pie(alpha=0.15)}, pf.DomainError, "Pie alpha = 0.15 is off the kernel's grid"),
        ({"aqm": pf.Pi2(alpha=0.006)}, pf.DomainError, "alpha = 0.006 is off the kernel's grid of"),
        ({"aqm": pf.Pi2(beta=0.0)}, pf.DomainError, "Pi2 beta = 0.0 is off the kernel's grid"),
        ({"aqm": pf.Pi2(target=1.5e-7)}, pf.DomainError, "target = 1.5e-07 is no whole number of"),
        ({"aqm": pf.CoDel(interval="5s")}, pf.DomainError, "CoDel interval = 5.0 is no whole"),
        ({"aqm": pf.Pie(update_interval="65ms")}, pf.DomainError, "interval = 0.065 is none of"),
        ({"aqm": pf.DualPi2(k=2.5)}, pf.DomainError, "DualPi2 k = 2.5 is none of 1, 2 ... 255"),
        ({"aqm": pf.DualPi2(c_protection=0.125)}, pf.DomainError, "c_protection = 0.125 is no"),
        ({"aqm": pf.DualPi2(min_step_packets=1.5)}, pf.DomainError, "min_step_packets = 1.5 is no"),
        ({"aqm": dataclasses.replace(RED, weight=0.002)}, pf.DomainError, "weight = 0.002 is none"),
        ({"aqm": dataclasses.replace(RED, weight=2**-20)}, pf.DomainError, "beyond the 31 bits"),
        # links and paths
        (link(kind="wire"), pf.UnsupportedError, 'kind = "wire" is not in Linux'),
        (link(delay_on="split"), pf.UnsupportedError, 'delay_on = "split" is not what the guest'),
        (link(packet_size="60B"), pf.DomainError, "packet_size = 60 is no whole number in"),
        (link(buffer=10.5), pf.DomainError, "Link buffer = 10.5 is no whole number"),
        (link(capacity="1Tbit/s"), pf.DomainError, r"capacity = 1e\+12 bit/s is outside"),
        (
            {"flows": [pf.Flows(pf.Reno(), 1, 0.01 * n) for n in range(1, 18)]},
            pf.UnsupportedError,
            "17 different base_rtt, more than the 16",
        ),
        # flows
        ({"flows": reno(count=2.5)}, pf.DomainError, "count = 2.5 is no whole number in"),
        ({"flows": reno(count=5000)}, pf.DomainError, "count = 5000 is no whole number in"),
        ({"flows": [reno(count=3000)] * 2}, pf.DomainError, "6000 flows, more than the 4096"),
        (
            {"flows": [reno(name=f"f{n}") for n in range(65)]},
            pf.DomainError,
            "65 classes of flows, more than the 64",
        ),
        ({"flows": reno(initial_window=4)}, pf.UnsupportedError, "initial_window = 4.0 is not"),
        ({"flows": reno(slow_start=False)}, pf.UnsupportedError, "slow_start = False is not what"),
        ({"flows": reno(delayed_ack=False)}, pf.UnsupportedError, "delayed_ack = False is not"),
        ({"flows": reno(push_every=9)}, pf.UnsupportedError, "push_every = 9.0 is not"),
        (of(pf.Dctcp(), ecn=False), pf.UnsupportedError, "ecn = False asks for Dctcp without"),
        (of(pf.Reno(), ecn="ect1"), pf.UnsupportedError, "ecn = 'ect1' is not what Linux's reno"),
        (of(pf.Reno(), packet_size=600), pf.UnsupportedError, "packet_size = 600.0 B is not for R"),
        (of(pf.Cbr(rate=1e6), packet_size=41), pf.DomainError, "packet_size = 41 is no whole numb"),
        (of(pf.Cbr(rate=1e6, burst=1510)), pf.DomainError, "burst = 1510.0 B leaves 10 B for its"),
        *(
            (of(pf.Cbr(rate=1e6, **more)), pf.UnsupportedError, f"{name} = {value} is not what the")
            for more, name, value in (
                ({"burst": 9000, "peak": 2e6}, "peak", "2000000.0"),
                ({"spacing": "poisson"}, "spacing", "'poisson'"),
                ({"on": 1, "off": 2}, "off", "2.0"),
            )
        ),
        (
            {"aqm": pf.Pi2(), "flows": reno(ecn=True)},
            pf.UnsupportedError,
            "Pi2 ecn = False drops what",
        ),
        # the schedule
        ({"duration": 5000.0}, pf.DomainError, "duration = 5000 s is longer than the 4000 s"),
        (
            {"changes": pf.Change("1s", counts={"reno": 2.5})},
            pf.DomainError,
            r"counts\['reno'\] = 2.5 is no whole number",
        ),
        ({"changes": pf.Change("1s", capacity=1e12)}, pf.DomainError, r"1e\+12 bit/s is outside"),
        (
            {"changes": [pf.Change(0.01 * n, capacity=1e7) for n in range(257)]},
            pf.DomainError,
            "257 changes, more than the 256",
        ),
    ],
)
def test_what_linux_cannot_do_is_refused_by_name(other, error, reason) -> None:
    with pytest.raises(error, match=reason) as raised:
        make_plan(changed(**other), 1)
    assert str(raised.value).count("\n") == 0
    assert ": give " in str(raised.value) or ": leave " in str(raised.value)


def test_several_links_are_refused() -> None:
    nodes = [pf.Node(name, LINK, pf.Pie()) for name in ("a", "b")]
    network = pf.Network(nodes, pf.Flows(pf.Reno(), 1, "100ms", route=("a", "b")))
    with pytest.raises(pf.UnsupportedError, match="2 links, and the guest's router has one"):
        make_plan(pf.Scenario("10s", network=network), 1)


def test_a_law_of_ones_own_is_another_law() -> None:
    class Own(pf.Pie):
        pass

    class Mine(pf.Reno):
        pass

    with pytest.raises(pf.UnsupportedError, match="Own has no qdisc"):
        make_plan(changed(aqm=Own()), 1)
    with pytest.raises(pf.UnsupportedError, match="Mine has no congestion control"):
        make_plan(changed(flows=pf.Flows(Mine(), 1, "100ms")), 1)


def test_a_queue_of_linux_is_planned_as_its_refusal_says_to_write_it() -> None:
    """Whoever writes kind = "cake" over a wire is told both words, which then run."""
    text = pf.Scenario("10s", pf.Link("10Mbit/s"), pf.Pi2(), FLOWS).to_toml()
    wrong = text.replace('kind = "pi2"', 'kind = "cake"')
    with pytest.raises(pf.QuantityError, match='give kind = "qdisc", name = "cake"') as told:
        pf.Scenario.from_toml(wrong)
    assert 'kind = "htb"' in str(told.value)
    queue = text[text.index("[aqm]") :].partition("\n[")[0]
    right = text.replace(queue, '[aqm]\nkind = "qdisc"\nname = "cake"\n')
    with pytest.raises(pf.UnsupportedError, match=r'give kind = "htb" below \[link\]'):
        make_plan(pf.Scenario.from_toml(right).as_run, 1)
    right = right.replace("[link]\n", '[link]\nkind = "htb"\n')
    assert lines(pf.Scenario.from_toml(right).as_run, "run")
