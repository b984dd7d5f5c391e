"""Queue disciplines and congestion controls of the kernel's own, which nothing else runs."""

from __future__ import annotations

import dataclasses
import pickle
import re
from typing import Any

import pytest

import pi2_fluid as pf
from pi2_fluid.engines.linux.laws import congestion_of, qdisc_of
from pi2_fluid.engines.linux.opaque import holds
from pi2_fluid.engines.linux.plan import make_plan, not_modelled
from pi2_fluid.records.paths import dimension_at, read_path, replace_path

LINK = pf.Link("10Mbit/s", kind="htb", buffer=1000, ack_jitter=0.0)
CAKE = pf.linux.Qdisc("cake", rtt="50ms", isolation="dual-srchost")
BBR = pf.linux.Congestion("bbr")


def scene(aqm: pf.Aqm = CAKE, sender: pf.Sender = BBR, **fields: Any) -> pf.Scenario:
    return pf.Scenario("10s", LINK, aqm, pf.Flows(sender, 2, "50ms", **fields))


# --- what they are --------------------------------------------------------------------------


def test_options_are_in_si_and_in_one_order() -> None:
    one = pf.linux.Qdisc("fq_codel", flows=16, target="5ms", ecn=None)
    assert repr(one) == "Qdisc('fq_codel', target=0.005, flows=16.0)"
    assert one == pf.linux.Qdisc("fq_codel", target=0.005, flows="16")
    assert hash(one) == hash(pf.linux.Qdisc("fq_codel", target=0.005, flows="16"))
    assert one != pf.linux.Qdisc("fq_pie", target=0.005, flows=16)
    assert pickle.loads(pickle.dumps(one)) == one
    assert dict(one.options) == {"target": 0.005, "flows": 16.0}


def test_replace_changes_one_option_and_leaves_the_others() -> None:
    other = dataclasses.replace(CAKE, rtt="100ms")
    assert other == pf.linux.Qdisc("cake", rtt="100ms", isolation="dual-srchost")
    assert dataclasses.replace(other, rtt=None).options == (("isolation", "dual-srchost"),)


def test_in_text_options_stand_beside_the_name() -> None:
    text = scene().to_toml()
    assert '[aqm]\nkind = "qdisc"\nname = "cake"\nrtt = "50ms"\nisolation = "dual-srchost"' in text
    assert 'sender = "congestion"\ncontrol = "bbr"' in text
    assert pf.Scenario.from_toml(text) == scene()
    nodes = [pf.Node(name, LINK, law) for name, law in (("a", CAKE), ("b", pf.Pie()))]
    network = pf.Network(nodes, pf.Flows(BBR, 1, "50ms", route=("a", "b")))
    assert pf.Network.from_toml(network.to_toml()) == network


def test_paths_lead_to_options() -> None:
    assert read_path(scene(), "aqm.rtt") == 0.05
    assert dimension_at(scene(), "aqm.rtt") == "time"
    assert replace_path(scene(), "aqm.rtt", "20ms").aqm == dataclasses.replace(CAKE, rtt="20ms")
    shaped = replace_path(scene(), "aqm.bandwidth", 8e6)
    assert dict(shaped.aqm.options)["bandwidth"] == 8e6
    with pytest.raises(pf.ScenarioError, match="'rt', which Qdisc does not have: give 'rtt'"):
        read_path(scene(), "aqm.rt")


def test_flows_without_a_name_are_called_after_their_congestion_control() -> None:
    flows = [pf.Flows(BBR, 1, "50ms"), pf.Flows(pf.Cubic(), 1, "50ms"), pf.Flows(BBR, 1, "20ms")]
    assert dataclasses.replace(scene(), flows=flows).class_names == ("bbr", "cubic", "bbr2")


# --- what the kernel is told ----------------------------------------------------------------


def test_the_kernel_is_told_them() -> None:
    plan = make_plan(scene(ecn=True), 1).splitlines()
    (qdisc,) = (line for line in plan if b"cake\0".hex() in line)
    assert qdisc.endswith(qdisc_of(CAKE, LINK).options.hex())
    assert [line.split()[1:3] for line in plan if line.startswith("class")] == [["bbr", "1"]]


def test_prague_is_that_of_kernels_that_have_it() -> None:
    assert congestion_of(pf.Prague()) == "prague"


@pytest.mark.parametrize(
    ("law", "most"),
    [
        (pf.linux.Qdisc("fq_codel"), 1000),
        (pf.linux.Qdisc("sfq", depth=10, flows=4), 40),
        (pf.linux.Qdisc("sfq"), 1000),
        (CAKE, None),
    ],
)
def test_a_buffer_that_is_not_the_links_is_listed(law: Any, most: int | None) -> None:
    assert holds(law, LINK) == most
    assert not_modelled(scene(law)) == ([] if most == 1000 else ["link.buffer"])


def test_a_subclass_is_another_law() -> None:
    class Mine(pf.linux.Qdisc):
        pass

    class Own(pf.linux.Congestion):
        pass

    with pytest.raises(pf.UnsupportedError, match="Mine has no qdisc in Linux"):
        qdisc_of(Mine("cake"), LINK)
    with pytest.raises(pf.UnsupportedError, match="Own has no congestion control in Linux"):
        congestion_of(Own("bbr"))


# --- refusals -------------------------------------------------------------------------------

Q, D, S = pf.QuantityError, pf.DomainError, pf.ScenarioError


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        ({}, Q, "Qdisc name = None is missing: give one of 'fq_codel', 'fq_pie', 'cake', 'fq'"),
        ({"name": "codle"}, Q, "Qdisc name = 'codle' is unknown: give one of 'fq_codel'"),
        ({"name": ["cake"]}, Q, "Qdisc name = ['cake'] is unknown: give one of"),
        ({"name": "cake", "rttt": 1}, S, "Qdisc rttt is unknown for name = 'cake': give 'rtt'."),
        (
            {"name": "cake", "target": 1},
            S,
            "Qdisc target is unknown for name = 'cake': give one of",
        ),
        (
            {"name": "fq", "limit": 99},
            S,
            "Qdisc limit = 99 is for the link, which says how many packets its queue holds: give L",
        ),
        ({"name": "fq_codel", "target": "5 parsecs"}, Q, "Qdisc target = '5 parsecs' has the unit"),
        ({"name": "fq_codel", "target": [0.1]}, Q, "Qdisc target = [0.1] is an array: give one"),
        ({"name": "fq_codel", "flows": 0}, D, "Qdisc flows = 0 is outside [1, 65536]: give"),
        ({"name": "fq_codel", "flows": 1.5}, D, "Qdisc flows = 1.5 is none of the whole numbers"),
        ({"name": "fq_codel", "interval": "1.5us"}, D, "'1.5us' is none of the whole microseconds"),
        ({"name": "fq_codel", "ecn": 1}, Q, "Qdisc ecn = 1 is unknown: give one of False, True."),
        ({"name": "cake", "isolation": "host"}, Q, "Qdisc isolation = 'host' is unknown: give one"),
        ({"name": "cake", "ack_filter": "yes"}, Q, "Qdisc ack_filter = 'yes' is unknown: give"),
        (
            {"name": "cake", "bandwidth": 9},
            D,
            "bandwidth = 9 is none of the whole bytes per",
        ),
        ({"name": "fq", "buckets": 1000}, D, "Qdisc buckets = 1000 is none of the powers of 2"),
        (
            {"name": "fq", "timer_slack": "5s"},
            D,
            "Qdisc timer_slack = '5s' is outside [0, 4.29",
        ),
        ({"name": "sfq", "divisor": 3}, D, "Qdisc divisor = 3 is none of the powers of 2 that"),
        ({"name": "sfq", "perturb": "1.5s"}, D, "perturb = '1.5s' is none of the whole seconds"),
    ],
)
def test_an_option_that_is_none_is_refused(given: Any, error: Any, sentence: str) -> None:
    with pytest.raises(error, match=re.escape(sentence)):
        pf.linux.Qdisc(**given)


@pytest.mark.parametrize(
    ("old", "new", "error", "sentence"),
    [
        ('name = "cake"\n', "", Q, "[aqm] name is missing: give one of 'fq_codel'"),
        ('name = "cake"', 'name = "cak"', Q, "[aqm] name = 'cak' is unknown: give one of"),
        ("\nrtt =", "\nrt =", S, "[aqm] rt is unknown for name = 'cake': give 'rtt'."),
        (
            '\nrtt = "50ms"',
            "\nlimit = 9",
            S,
            "[aqm] limit = 9 is for the link, which says how many",
        ),
        ('\nrtt = "50ms"', "\nrtt = [1, 2]", Q, "[aqm] rtt = [1, 2] is an array: give one number."),
        ('\nrtt = "50ms"', "\nwash = 1", Q, "[aqm] wash = 1 is unknown: give one of False, True."),
        ('control = "bbr"\n', "", Q, "[[flows]] 1: control is missing: give what the kernel calls"),
        ('"bbr"', '"b b r"', Q, "[[flows]] 1: control = 'b b r' is no name of one: give up to 15"),
    ],
)
def test_text_that_says_otherwise_is_refused(old: str, new: str, error: Any, sentence: str) -> None:
    text = scene().to_toml()
    assert text.count(old) == 1
    with pytest.raises(error, match=re.escape(sentence)):
        pf.Scenario.from_toml(text.replace(old, new))


@pytest.mark.parametrize("control", ["", "a" * 16, "bbr\n", 3, None, ["bbr"]])
def test_a_congestion_control_has_a_name(control: Any) -> None:
    with pytest.raises(pf.QuantityError, match=r"^Congestion control = .*: give "):
        pf.linux.Congestion(control)


LAWS = {"qdisc": (CAKE, pf.Reno()), "congestion": (pf.Pi2(), BBR)}
ASKED: dict[str, Any] = {
    "fluid": lambda law, sender: pf.simulate(scene(law, sender), pf.Fluid()),
    "acks": lambda law, sender: pf.simulate(scene(law, sender), pf.Fluid(clock="acks")),
    "linear": lambda law, sender: pf.simulate(scene(law, sender), pf.Fluid(linear=True)),
    "batch": lambda law, sender: pf.fluid.batch(scene(law, sender), {}),
    "packets": lambda law, sender: pf.simulate(scene(law, sender), pf.Packets()),
    "loop": lambda law, sender: pf.Loop(sender, law, rtt="100ms", p=0.01),
    "loop by acks": lambda law, sender: pf.Loop(sender, law, rtt="100ms", p=0.01, clock="acks"),
    "flows": lambda law, sender: pf.Loop(scene(law, sender).network),
    "links": lambda law, sender: pf.equilibrium(links(law, sender)),
    "rest": lambda law, sender: pf.equilibrium_of(sender, law, rtt=0.1, p=0.1),
    "tune": lambda law, sender: pf.tune("100ms", aqm=law, senders=(sender,)),
    "compare": lambda law, sender: pf.compare(scene(law, sender)),
}


def links(law: pf.Aqm, sender: pf.Sender) -> pf.Network:
    nodes = [pf.Node(name, LINK, law) for name in ("a", "b")]
    return pf.Network(nodes, pf.Flows(sender, 1, "50ms", route=("a", "b")))


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("asked", ASKED)
def test_everything_else_refuses_them_and_names_the_engine(kind: str, asked: str) -> None:
    law, sender = LAWS[kind]
    own, other = (law, "Pi2()") if kind == "qdisc" else (sender, "Cubic()")
    with pytest.raises(pf.UnsupportedError) as raised:
        ASKED[asked](law, sender)
    assert str(raised.value) == (
        f"{own!r} is the kernel's own, without equations here: run it with the engine Linux(), or"
        f" give a law that has some, such as {other}."
    )


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("engine", [pf.Fluid(), pf.Packets(), pf.Ns3()], ids=lambda e: e.name)
def test_engines_say_so_beforehand(kind: str, engine: pf.Engine) -> None:
    law, sender = LAWS[kind]
    law = pf.Pie() if kind == "congestion" else law
    assert "run it with the engine Linux()" in engine.obstacle(scene(law, sender))
