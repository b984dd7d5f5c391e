"""ns-3 as an engine: what it refuses, its child process, and, where it is installed, its runs."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import printed_by
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.engines.ns3 import process
from pi2_fluid.engines.ns3.laws import congestion_of, queue_disc_of
from pi2_fluid.engines.ns3.task import make_task, not_modelled

LINK = pf.Link("10Mbit/s", "40000 packets", ack_jitter="0s", delay_on="split")
PIE = pf.Pie(target="20ms", update_interval="32ms", variant="rfc8033")
FLOWS = pf.Flows(pf.Reno(), 5, "60ms", push_every=0)
SCENE = pf.Scenario("4s", LINK, PIE, FLOWS)
BIN = 100_000_000  # ns

needs_ns3 = pytest.mark.skipif(
    importlib.util.find_spec("ns3") is None, reason="the wheel of ns-3 is not installed"
)


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setattr("pi2_fluid.engines.ns3.ns3.require_installed", lambda: None)


# --- what it says beforehand ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "error", "reason"),
    [
        ({"aqm": pf.Pi2()}, pf.UnsupportedError, "Pi2 has no queue disc in ns-3: give one of Pie"),
        ({"aqm": pf.DualPi2()}, pf.UnsupportedError, "DualPi2 has no queue disc"),
        ({"aqm": pf.Pie(table="hpsr13")}, pf.UnsupportedError, 'table = "hpsr13" is not what ns-3'),
        ({"aqm": pf.Pie(drop_at="dequeue")}, pf.UnsupportedError, 'drop_at = "dequeue" is not in'),
        (
            {"aqm": pf.Red(min=5, max=15, spacing="none")},
            pf.UnsupportedError,
            'spacing = "none" is not in ns-3',
        ),
        (
            {"aqm": pf.Red(min=5, max=15, ecn=True, nodrop=True)},
            pf.UnsupportedError,
            "nodrop = True is not in ns-3",
        ),
        (
            {"aqm": pf.Red(min=5, max=15, ecn=True, mark_min=2, mark_max=4)},
            pf.UnsupportedError,
            "mark_min = 2.0 is not in ns-3",
        ),
        ({"link": pf.Link("10Mbit/s", ring=9)}, pf.UnsupportedError, "holds packets below"),
        (
            {"flows": pf.Flows(pf.CReno(), 5, "60ms")},
            pf.UnsupportedError,
            "CReno has no congestion",
        ),
        (
            {"flows": pf.Flows(pf.Reno(decrease=0.3), 5, "60ms")},
            pf.UnsupportedError,
            "Reno decrease = 0.3 is not in ns-3",
        ),
        (
            {"flows": pf.Flows(pf.Cubic(variant="linux3.18"), 5, "60ms")},
            pf.UnsupportedError,
            'Cubic variant = "linux3.18"',
        ),
        (
            {"flows": pf.Flows(pf.Dctcp(), 5, "60ms", ecn=False)},
            pf.UnsupportedError,
            "ecn = False asks for Dctcp without marks",
        ),
        ({"flows": pf.Flows(pf.Reno(), 2.5, "60ms")}, pf.DomainError, "count = 2.5 is no whole"),
        ({"flows": pf.Flows(pf.Reno(), 60_000, "60ms")}, pf.DomainError, "count = 60000 is no"),
        (
            {"link": pf.Link("10Mbit/s", "40000 packets", packet_size="60B")},
            pf.DomainError,
            "packet_size = 60 is",
        ),
        (
            {"link": pf.Link("1Tbit/s", "40000 packets")},
            pf.DomainError,
            r"capacity = 1e\+12 bit/s is outside",
        ),
        (
            {"changes": pf.Change("1s", counts={"reno": 2.5})},
            pf.DomainError,
            r"counts\['reno'\] = 2.5 is no whole number",
        ),
    ],
)
def test_what_ns3_cannot_do_is_refused(other, error, reason, monkeypatch) -> None:
    monkeypatch.setattr("pi2_fluid.engines.ns3.ns3.run_seeds", None)  # nothing is started
    scenario = dataclasses.replace(SCENE, **other)
    with pytest.raises(error, match=reason) as raised:
        pf.Ns3().run(scenario)
    assert str(raised.value) == pf.Ns3().obstacle(scenario)
    assert str(raised.value).count("\n") == 0


def test_a_law_of_ones_own_is_refused() -> None:
    class Own(pf.Pie):
        pass

    class Mine(pf.Reno):
        pass

    assert "Own has no queue disc in ns-3" in pf.Ns3().obstacle(
        dataclasses.replace(SCENE, aqm=Own())
    )
    assert "Mine has no congestion control in ns-3" in pf.Ns3().obstacle(
        dataclasses.replace(SCENE, flows=pf.Flows(Mine(), 5, "60ms"))
    )


def test_where_the_wheel_is_missing_one_sentence_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setattr(process, "find_spec", lambda _: None)
    monkeypatch.setattr("pi2_fluid.engines.ns3.ns3.run_seeds", None)
    reason = pf.Ns3().obstacle(SCENE)
    assert reason.startswith("ns-3 is not installed")
    assert 'pip install "pi2-fluid[ns3]"' in reason
    with pytest.raises(pf.UnsupportedError, match="not installed"):
        pf.compare(SCENE, pf.Packets(seeds=1), pf.Ns3())


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: pf.Ns3(seeds=0), "seeds = 0"),
        (lambda: pf.Ns3(bin="5"), "bin = '5'"),
        (lambda: pf.Ns3(bin="0.1ns"), "bin = '0.1ns'"),
        (lambda: pf.Ns3(threads=0), "threads = 0"),
    ],
)
def test_options_are_checked(make, reason) -> None:
    with pytest.raises((pf.QuantityError, pf.DomainError), match=reason):
        make()


# --- laws -----------------------------------------------------------------------------------


def test_reno_in_the_words_of_ns3() -> None:
    assert congestion_of(pf.Reno()).type == "TcpLinuxReno"
    assert congestion_of(pf.Reno(growth="per_ack")).type == "TcpNewReno"


def test_pie_in_the_words_of_ns3() -> None:
    disc = queue_disc_of(dataclasses.replace(PIE, ecn=True, cap=False, burst="80ms"), LINK)
    assert disc.type == "PieQueueDisc"
    assert disc.attributes == {
        "MaxSize": "40000p", "A": "0.125", "B": "1.25", "QueueDelayReference": "20ms",
        "Tupdate": "32ms", "MaxBurstAllowance": "80ms", "UseCapDropAdjustment": "false",
        "UseDerandomization": "false", "UseDequeueRateEstimator": "false",
        "DequeueThreshold": "16384", "UseEcn": "true", "MarkEcnThreshold": "0.1",
    }  # fmt: skip
    assert not disc.not_modelled
    always = queue_disc_of(dataclasses.replace(PIE, ecn=True, mark_limit=1), LINK)
    assert always.attributes["MarkEcnThreshold"] == "1.0"
    linux = queue_disc_of(pf.Pie(arithmetic="fixed"), LINK)
    assert linux.attributes["UseDerandomization"] == "true"
    assert linux.not_modelled == ("arithmetic", "boost250", "decay", "half_target")


def test_red_codel_and_tail_drop_in_the_words_of_ns3() -> None:
    red = queue_disc_of(pf.Red(min=5, max=15, max_p=0.02, adaptive=True, spacing="wait"), LINK)
    assert red.attributes["LInterm"] == "50.0"
    assert red.attributes["Wait"] == "true"
    assert red.attributes["UseHardDrop"] == "false"
    assert red.attributes["LinkBandwidth"] == "1bps"
    assert red.attributes["Interval"] == "500ms"
    decaying = queue_disc_of(pf.Red(min=5, max=15, idle_decay=True), LINK)
    assert decaying.attributes["LinkBandwidth"] == "10000000bps"
    assert "Interval" not in decaying.attributes
    codel = queue_disc_of(pf.CoDel(target="3300us", arithmetic="fixed"), LINK)
    assert (codel.attributes["Target"], codel.attributes["Interval"]) == ("3300us", "100ms")
    assert not codel.not_modelled
    assert queue_disc_of(pf.TailDrop(), LINK).type == "FifoQueueDisc"


def test_senders_in_the_words_of_ns3() -> None:
    assert congestion_of(pf.Reno())[:2] == ("TcpLinuxReno", {})
    assert congestion_of(pf.Cubic(hystart=False)).attributes["HyStart"] == "false"
    dctcp = congestion_of(pf.Dctcp(gain=1 / 32))
    assert dctcp.attributes["DctcpShiftG"] == "0.03125"
    assert dctcp.not_modelled == ("variant",)


def test_what_ns3_does_otherwise_is_listed() -> None:
    assert not_modelled(SCENE) == []
    flows = [pf.Flows(pf.Dctcp(), 5, "60ms"), pf.Flows(pf.Cbr(rate="1Mbit/s"))]
    other = pf.Scenario("4s", pf.Link("10Mbit/s", "40000 packets", kind="htb"), pf.CoDel(), flows)
    assert not_modelled(other) == [
        "link.kind", "link.delay_on", "link.ack_jitter", "aqm.arithmetic", "flows.push_every",
        "flows.sender.variant", "flows.sender.thinned",
    ]  # fmt: skip


# --- the child process, with a stand-in -----------------------------------------------------

STAND_IN = """
import array, json, os, pathlib, sys, time
asked = json.load(sys.stdin)
mode, lengths = sys.argv[1], json.loads(sys.argv[2])
def say(**words):
    print(json.dumps(words), flush=True)
print("a line of ns-3's own", flush=True)
for seed in asked["seeds"]:
    say(seed=seed, time=0.0)
    say(seed=seed, time=2.0)
    if mode == "hang" and seed == asked["seeds"][-1]:
        if os.fork() == 0:
            pathlib.Path(sys.argv[3]).write_text(str(os.getpid()))
        time.sleep(600)
    if mode == "crash" and seed == asked["seeds"][-1]:
        print("NS_ASSERT failed, cond = false", file=sys.stderr)
        say(seed=seed, ended=-11)
        time.sleep(600)
    if mode == "exit":
        print("No module named 'cppyy'", file=sys.stderr)
        sys.exit(3)
    with open(pathlib.Path(asked["folder"], str(seed)), "wb") as file:
        for kind, n in lengths:
            array.array(kind, [seed] * n).tofile(file)
    say(seed=seed, done=True)
"""


@pytest.fixture
def stand_in(monkeypatch, tmp_path, installed) -> Any:
    script, left = tmp_path / "child.py", tmp_path / "pid"
    script.write_text(STAND_IN)
    lengths = [
        ("I" if name in {"delays", "segments"} else "d", int(np.prod(shape)))
        for name, shape in make_task(SCENE, BIN).shapes.items()
    ]

    def use(mode: str) -> Path:
        command = (sys.executable, str(script), mode, json.dumps(lengths), str(left))
        monkeypatch.setattr(process, "COMMAND", command)
        return left

    return use


def test_counts_become_runs_and_progress_is_told(stand_in) -> None:
    stand_in("")
    told: list[tuple[float, float]] = []
    runs = pf.simulate(SCENE, pf.Ns3(seeds=[7, 3]), lambda *part: told.append(part))
    assert runs.attrs["engine"] == "ns3"
    assert runs.seed.values.tolist() == [7, 3]
    assert runs.controller.values.tolist() == [[7.0] * 40, [3.0] * 40]
    assert runs.window.dims == ("seed", "time", "flows")
    assert told == [(done, 8.0) for done in (0.0, 0.0, 2.0, 4.0, 4.0, 6.0, 8.0)]
    assert pf.summarize(runs).sizes["seed"] == 2


def test_an_interrupt_ends_the_child_and_all_its_own_and_keeps_what_is_finished(stand_in) -> None:
    left = stand_in("hang")

    def interrupt(done: float, _: float) -> None:
        if done == 6.0:
            while not left.exists():
                time.sleep(0.01)
            raise KeyboardInterrupt

    runs = pf.simulate(SCENE, pf.Ns3(seeds=2), interrupt)
    assert runs.attrs["interrupted"] == 1
    assert runs.seed.values.tolist() == [1]
    pid = int(left.read_text())
    for _ in range(500):
        if not _runs(pid):
            break
        time.sleep(0.01)
    assert not _runs(pid)
    with pytest.raises(KeyboardInterrupt):
        pf.simulate(SCENE, pf.Ns3(seeds=[5]), lambda done, _: _raise() if done == 2.0 else None)


def _raise() -> None:
    raise KeyboardInterrupt


def _runs(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    if status.parent.parent.joinpath("self").exists():
        return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("crash", "ns-3 ended with signal SIGSEGV in seed 2, and said last: NS_ASSERT failed"),
        ("exit", "ns-3 ended with exit status 3 in its start, and said last: No module named"),
    ],
)
def test_a_child_that_crashes_is_one_sentence(stand_in, mode, reason) -> None:
    stand_in(mode)
    with refused(pf.SolverError, match=reason):
        pf.simulate(SCENE, pf.Ns3(seeds=2))


@pytest.mark.slow
def test_importing_the_engine_loads_nothing_of_ns3() -> None:
    code = "import sys, pi2_fluid as pf; pf.Ns3(); print({'ns', 'ns3', 'cppyy'} & set(sys.modules))"
    assert printed_by(code) == "set()\n"


# --- ns-3 itself ----------------------------------------------------------------------------

MIXED = pf.Scenario(
    "12s",
    LINK,
    dataclasses.replace(PIE, ecn=True),
    [
        pf.Flows(pf.Reno(), 4, "60ms", start_jitter="0.5s"),
        pf.Flows(pf.Cubic(), 2, "30ms", delayed_ack=False, slow_start=False),
        pf.Flows(pf.Dctcp(), 2, "40ms"),
        pf.Flows(pf.Cbr(rate="500kbit/s"), start="2s", stop="8s"),
    ],
    [pf.Change("6s", capacity="5Mbit/s"), pf.Change("9s", counts={"reno": 2})],
)


@needs_ns3
def test_the_books_balance_and_the_schedule_is_followed() -> None:
    runs = pf.simulate(MIXED, pf.Ns3(seeds=[4], bin="100ms"))
    count = {str(name): runs["count"].sel(cause=name) for name in runs.cause.values}
    ended = ("delivered", "drop_aqm", "drop_full", "queued", "in_flight")
    assert (count["sent"] == sum(count[name] for name in ended)).all()
    assert float(count["in_flight"].min()) >= 0.0
    assert (runs.arrivals.sum("time") == count["sent"]).all()
    assert (runs.delay_histogram.sum(["block", "delay"]) == runs.departures.sum("time")).all()
    assert (runs.flow_segments.sum() == runs.departures.sum()).all()
    there = runs.active_flows.isel(seed=0).sel(time=[5.0, 8.5, 11.0]).values
    assert there.tolist() == [[4, 2, 2, 1], [4, 2, 2, 0], [2, 2, 2, 0]]
    late = runs.sel(time=slice(10.05, None)).isel(seed=0)
    assert float(late.throughput.sum("flows").max()) <= 5e6 * (1 + 1502 * 8 / 5e5)
    assert float(late.throughput.sum("flows").mean()) > 0.9 * 5e6
    sending = runs.throughput.isel(seed=0, flows=3)
    assert float(sending.sel(time=slice(3.0, 5.0)).mean()) == pytest.approx(5e5, rel=0.1)
    assert float(sending.sel(time=slice(9.0, None)).max()) == 0.0
    assert float(runs.marks.isel(flows=2).sum()) > 0.0
    assert float(runs.marks.isel(flows=0).sum()) == 0.0
    assert 0.0 < float(runs.controller.max()) <= 1.0


@needs_ns3
def test_mean_delay_and_utilization_are_those_of_packets() -> None:
    flows = pf.Flows(pf.Reno(), 20, "100ms", start_jitter="1s")
    scenario = pf.Scenario("30s", LINK, PIE, flows)
    table = pf.compare(scenario, pf.Packets(seeds=2), pf.Ns3(seeds=2), after="10s")
    for name in ("delay_mean", "utilization", "throughput.reno"):
        relative = float(table["relative"].sel(engine="ns3", name=name))
        assert abs(relative) < 0.1, name


# --- links in a row -------------------------------------------------------------------------


def in_a_row(queue: Any = PIE, duration: str = "30s", **long: Any) -> pf.Scenario:
    """Two links, a class over both and one on each, whose paths are as long there as back."""
    nodes = [
        pf.Node(name, pf.Link(rate, ack_jitter="0s", delay_on="split", buffer=500), queue)
        for name, rate in (("a", "15Mbit/s"), ("b", "12Mbit/s"))
    ]
    given: dict[str, Any] = {"route": ("a", "b"), "hops": ("30ms", "10ms")} | long
    jitter: dict[str, Any] = {"start_jitter": "1s"}
    flows = [
        pf.Flows(pf.Reno(), 6, "80ms", "long", **given, **jitter),
        pf.Flows(pf.Reno(), 5, "40ms", "over a", route="a", **jitter),
        pf.Flows(pf.Reno(), 8, "60ms", "over b", route="b", **jitter),
    ]
    return pf.Scenario(duration, network=pf.Network(nodes, flows))


def test_a_row_of_links_is_asked_for() -> None:
    asked = make_task(in_a_row(), BIN)
    assert [link["delay"] for link in asked.request["links"]] == [10_000_000, 0]
    found = [
        [told[name] for name in ("first", "last", "leg", "access")]
        for told in asked.request["classes"]
    ]
    # Wires are as long back as there: also the one behind a, which its own class crosses.
    assert found == [[0, 1, 0, 30_000_000], [0, 0, 2, 10_000_000], [1, 1, 3, 30_000_000]]
    assert asked.shapes["legs"] == (300, 4, 6)
    assert asked.shapes["classes"] == (300, 3, 2)
    assert "flows.hops" not in not_modelled(in_a_row())
    assert "flows.hops" in not_modelled(in_a_row(hops=("5ms", "10ms")))


@pytest.mark.parametrize(
    ("long", "said"),
    [
        ({"route": ("b", "a")}, "leaves the row of links that ns-3 is asked for, 'a', 'b'"),
        (
            {"hops": ("5ms", "40ms")},
            "base_rtt = 0.04 s is shorter than the wires behind its links",
        ),
        ({"route": "a", "hops": "5ms", "back": "b"}, "acknowledgements meet no queue"),
    ],
)
def test_what_is_no_row_is_refused(long, said) -> None:
    with refused(pf.UnsupportedError, said, "Packets()"):
        make_task(in_a_row(**long), BIN)


def test_links_that_are_near_for_some_and_far_for_others_are_no_row() -> None:
    scenario = in_a_row()
    other = pf.Flows(pf.Reno(), 1, "80ms", "other", route=("a", "b"))
    network = pf.Network(scenario.network.nodes, [*scenario.flows, other])
    with refused(pf.UnsupportedError, "at another distance than other classes", "'a' and 'b'"):
        make_task(pf.Scenario("9s", network=network), BIN)


@needs_ns3
@pytest.mark.slow
def test_delays_over_two_links_are_those_of_packets() -> None:
    """Under PIE, which holds them; the books of every class balance at every link."""
    ours, theirs = (
        pf.simulate(in_a_row(), engine) for engine in (pf.Packets(seeds=4), pf.Ns3(seeds=2))
    )
    count = {str(name): theirs["count"].sel(cause=name) for name in theirs.cause.values}
    ended = ("delivered", "drop_aqm", "drop_full", "queued", "in_flight")
    assert (count["sent"] == sum(count[name] for name in ended)).all()
    assert (count["sent"].where(theirs.place == 0, 0) == 0).all()
    on_the_hop = count["delivered"].sel(link="a", flows="long") - count["sent"].sel(
        link="b", flows="long"
    )
    assert ((on_the_hop >= 0) & (on_the_hop < 50)).all()
    found, expected = (pf.summarize(runs, after="10s").mean("seed") for runs in (theirs, ours))
    # The device of ns-3 holds one packet below its queue, which has left it that much sooner.
    slots = [12e3 / 15e6, 12e3 / 12e6]
    np.testing.assert_allclose(found.delay_mean + slots, expected.delay_mean, rtol=0.08)
    np.testing.assert_allclose(found.utilization, expected.utilization, rtol=0.01)
    np.testing.assert_allclose(found.throughput, expected.throughput, rtol=0.06)
