"""Queues on one path, judged together: what each alone does not show."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.apps.cli import run
from pi2_fluid.apps.cli.checked import print_checked

QUEUE = pf.qdisc.install(pf.presets.linux_dualpi2(), "dualpi2")
PIE = pf.qdisc.install(replace(pf.presets.linux_pie(), update_interval=0.03), "pie")


def shown(**queues: pf.qdisc.Qdisc) -> str:
    return "".join(pf.qdisc.show(replace(one, dev=dev)) + "\n" for dev, one in queues.items())


TWO = shown(wan0=QUEUE, wlan0=QUEUE)


def home(through: int, wired: int = 1, local: int = 1) -> pf.Network:
    """Flows through both queues, and some that cross one of them."""
    return pf.Network(
        [
            pf.Node("wan0", pf.Link("50Mbit/s"), pf.Pi2()),
            pf.Node("wlan0", pf.Link("45Mbit/s"), pf.Pi2()),
        ],
        [
            pf.Flows(pf.Reno(), through, "60ms", "through", route=("wan0", "wlan0")),
            pf.Flows(pf.Reno(), wired, "40ms", "wired", route="wan0"),
            pf.Flows(pf.Reno(), local, "60ms", "local", route="wlan0"),
        ],
    )


@pytest.fixture(scope="module")
def found() -> pf.Checked:
    return pf.check(TWO, network=home(8))


@pytest.mark.slow
def test_two_queues_that_are_stable_alone_are_not_together(found) -> None:
    assert [one.verdict for one in found] == ["stable", "stable"]
    # 60 ms and both targets of 15 ms: what each is judged up to.
    assert [one.rtt for one in found] == pytest.approx([0.090, 0.090])
    assert found.path.bottlenecks == ("wan0", "wlan0")
    assert found.path.verdict == found.verdict == "unstable"
    assert found.path.margins.gain_margin_db < 0.0


@pytest.mark.slow
def test_together_they_are_the_loop_of_the_network_with_what_is_installed(found) -> None:
    law = QUEUE.aqm.in_one_queue()
    network = home(8)
    nodes = [replace(node, aqm=law) for node in network.nodes]
    loops = [
        pf.Loop(pf.Network(nodes, network.flows), update="sampled", rtt_terms=terms)
        for terms in ("frozen", "exact")
    ]
    wanted = min(float(loop.margins().gain_margin_db) for loop in loops)
    assert found.path.margins.gain_margin_db == pytest.approx(wanted, rel=1e-12)
    (one,) = (loop for loop in loops if loop.margins().gain_margin_db == wanted)
    alone = one.close("wan0").margins().gain_margin_db
    assert found.path.each["wlan0"].gain_margin_db == pytest.approx(alone, rel=1e-12)


@pytest.mark.slow
def test_gains_times_the_factor_leave_what_tune_leaves(found) -> None:
    factor = found.path.factor
    law = QUEUE.aqm.in_one_queue()
    slower = replace(law, alpha=factor * law.alpha, beta=factor * law.beta)
    network = home(8)
    nodes = [replace(node, aqm=slower) for node in network.nodes]
    for terms in ("frozen", "exact"):
        loop = pf.Loop(pf.Network(nodes, network.flows), update="sampled", rtt_terms=terms)
        assert loop.margins().gain_margin_db >= 5.99
    assert factor < 10 ** (found.path.margins.gain_margin_db / 20)


@pytest.mark.slow
def test_queues_of_different_intervals_are_seen_delayed() -> None:
    network = home(2, wired=4, local=4)
    path = pf.check(shown(wan0=PIE, wlan0=QUEUE), network=network, hz=100).path
    assert path.margins.update == "delayed"
    assert any("T/2" in note for note in path.notes)
    # PIE's timer fires a tick late, and ticks of 10 ms are whole.
    assert path.network.nodes[0].aqm.update_interval == pytest.approx(0.04)


def test_a_node_that_is_not_shown_keeps_its_queue() -> None:
    path = pf.check(shown(wlan0=QUEUE), network=home(2, 4, 4)).path
    assert path.shown == ("wlan0",)
    assert path.network.nodes[0].aqm == pf.Pi2()


@pytest.mark.slow
def test_a_bottleneck_of_another_kind_keeps_its_gains() -> None:
    """REM has no such alpha and beta, nor a target in seconds."""
    network = home(8)
    rem = replace(network.nodes[1], aqm=pf.Rem())
    network = replace(network, nodes=(network.nodes[0], rem))
    found = pf.check(shown(wan0=QUEUE), network=network, update="continuous")
    assert [one.rtt for one in found] == pytest.approx([0.075])
    assert found.path.bottlenecks == ("wan0", "wlan0")
    assert found.path.factor is None, "REM alone leaves less than 6 dB"


def test_without_a_network_there_is_no_path() -> None:
    assert pf.check(shown(wan0=QUEUE)).path is None


@pytest.mark.parametrize(
    ("text", "how", "said"),
    [
        (TWO, {"network": "home.toml"}, "no Network"),
        (TWO, {"network": home(8), "rtt": "100ms"}, "beside a network"),
        (TWO + TWO, {"network": home(8)}, "several queues"),
        (shown(eth0=QUEUE), {"network": home(8)}, "call nodes like devices"),
        (
            shown(wan0=pf.qdisc.install(pf.presets.linux_pie(), "fq_pie")),
            {"network": home(8)},
            "a queue of its own",
        ),
    ],
)
def test_what_is_no_path_is_refused(text, how, said) -> None:
    with refused((pf.ScenarioError, pf.DomainError, pf.UnsupportedError), said):
        pf.check(text, **how)


@pytest.mark.slow
def test_the_screen_says_what_they_are_together(found, capsys) -> None:
    print_checked(found, "reno", {})
    out = " ".join(capsys.readouterr().out.split())
    assert "together: wan0, wlan0" in out
    assert "UNSTABLE by rates, in the sampled model" in out
    assert "at wlan0 while the others stay" in out
    assert f"multiply alpha and beta of all by {found.path.factor:.3g}" in out


def test_the_shell_reads_the_network_from_a_file(tmp_path, capsys) -> None:
    text, network = tmp_path / "shown.txt", tmp_path / "home.toml"
    enough = pf.qdisc.install(pf.DualPi2(alpha=0.02, beta=1.0), "dualpi2")
    text.write_text(shown(wlan0=enough), encoding="utf-8")
    home(2, 4, 4).save(network)
    run(["check", str(text), "--network", str(network), "--json"])
    path = json.loads(capsys.readouterr().out)["path"]
    assert path["shown"] == ["wlan0"]
    assert set(path["each"]) == set(path["bottlenecks"])
