"""Packets from Python: what is refused at the door, seeds, threads, interrupts, what is packed."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.engines.packet import compiled, packets, requirements
from pi2_fluid.network.schedule import MOST_BINS, flow_counts, flow_lives, mean_capacity, usual_bin

LINK = pf.Link("10Mbit/s", buffer="100 packets")


def scenario(**changes: Any) -> pf.Scenario:
    fields: dict[str, Any] = {
        "duration": "5s",
        "link": LINK,
        "aqm": pf.TailDrop(),
        "flows": [pf.Flows(pf.Reno(), 5, "100ms")],
    }
    return pf.Scenario(**{**fields, **changes})


def reno(**fields: Any) -> pf.Flows:
    return pf.Flows(**{"sender": pf.Reno(), "count": 2, "base_rtt": "50ms", **fields})


# --- the door -------------------------------------------------------------------------------


def assert_refused(call: Any, *said: str) -> None:
    with refused((ValueError, TypeError), *said, match=r"\b(give|use)\b") as caught:
        call()
    assert type(caught.value).__module__ == "pi2_fluid.errors", repr(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"seeds": 0}, "seeds = 0"),
        ({"seeds": -3}, "seeds = -3"),
        ({"seeds": True}, "seeds = True"),
        ({"seeds": 2.0}, "seeds = 2.0"),
        ({"seeds": "5"}, "seeds = '5'"),
        ({"seeds": 10**30}, "seeds = 1000"),
        ({"seeds": []}, "is empty"),
        ({"seeds": [1, 2, 1]}, "twice"),
        ({"seeds": [1, -2]}, "-2"),
        ({"seeds": [1, 2**63]}, "[0, 2^63)"),
        ({"seeds": [1.5]}, "1.5"),
        ({"seeds": [None]}, "None"),
        ({"seeds": {1, 2}}, "no seeds"),
        ({"seeds": np.ones((2, 2), int)}, "no seeds"),
        ({"seeds": 1_000_000}, "GB"),
        ({"bin": 0}, "bin = 0"),
        ({"bin": "10"}, "no unit"),
        ({"bin": [0.1, 0.2]}, "bin = [0.1, 0.2]"),
        ({"bin": 1e-10}, "bin"),
        ({"bin": "1ns"}, "GB"),
        ({"bin": float("nan")}, "nan"),
        ({"threads": 0}, "threads = 0"),
        ({"threads": 1.5}, "threads = 1.5"),
        ({"trace": 0}, "trace = 0"),
        ({"trace": 10**9}, "trace = 1000000000"),
        ({"trace": "all"}, "trace = 'all'"),
    ],
)
def test_arguments_that_are_refused(options, said) -> None:
    assert_refused(lambda: pf.packet.simulate(scenario(), **options), said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"flows": reno(count=2.5)}, "count = 2.5"),
        ({"flows": reno(count=2_000_000)}, "count = 2000000"),
        ({"flows": [reno(count=600_000), reno(count=600_000)]}, "1200000 flows"),
        ({"flows": reno(initial_window=0.5)}, "initial_window = 0.5"),
        ({"flows": reno(push_every=2.5)}, "push_every = 2.5"),
        ({"flows": reno(base_rtt="1000000000s")}, "base_rtt = 1e+09"),
        ({"flows": pf.Flows(pf.Cbr(rate=1e15))}, "rate = 1e+15"),
        ({"flows": pf.Flows(pf.Cbr(rate="1e-9bit/s"))}, "rate = 1e-09"),
        ({"link": pf.Link(1e15)}, "Link capacity = 1e+15"),
        ({"link": pf.Link("1e-9bit/s")}, "Link capacity = 1e-09"),
        ({"link": pf.Link("10Mbit/s", buffer=10.5)}, "buffer = 10.5"),
        ({"link": pf.Link("10Mbit/s", buffer=1e10)}, "buffer = 10000000000"),
        ({"link": pf.Link("10Mbit/s", packet_size=63)}, "packet_size = 63"),
        ({"link": pf.Link("10Mbit/s", packet_size=70000)}, "packet_size = 70000"),
        ({"link": pf.Link("10Mbit/s", packet_size=1500.5)}, "packet_size = 1500.5"),
        ({"link": pf.Link("10Mbit/s", ack_jitter="10s")}, "ack_jitter = 10"),
        ({"duration": 1e9}, "duration = 1e+09"),
        ({"duration": 1e-10}, "duration = 1e-10"),
        ({"aqm": pf.Pi2(update_interval=1e-10)}, "Pi2 update_interval = 1e-10"),
        ({"changes": pf.Change("1s", counts={"reno": 0.5})}, "counts['reno'] = 0.5"),
        ({"changes": pf.Change("1s", capacity=1e15)}, "capacity = 1e+15"),
    ],
)
def test_scenarios_that_are_refused(changes, said) -> None:
    assert_refused(lambda: pf.packet.simulate(scenario(**changes)), said)


def test_laws_of_ones_own_are_refused() -> None:
    class Mine(pf.Reno):
        pass

    class Queue(pf.TailDrop):
        pass

    with pytest.raises(pf.UnsupportedError, match="Mine is a law of one's own"):
        pf.packet.simulate(scenario(flows=reno(sender=Mine())))
    with pytest.raises(pf.UnsupportedError, match="Queue is a law of one's own"):
        pf.packet.simulate(scenario(aqm=Queue()))
    with pytest.raises(pf.ScenarioError, match="no Scenario"):
        pf.packet.simulate("scenario")  # type: ignore[arg-type]


def test_the_edges_of_the_door_are_open() -> None:
    small = scenario(
        duration="100ms",
        link=pf.Link("10Mbit/s", buffer=1, packet_size=64, ack_jitter=0),
        flows=[reno(base_rtt=0, initial_window=1), pf.Flows(pf.Cbr(rate="1kbit/s"))],
    )
    runs = pf.packet.simulate(small, seeds=[0, 2**63 - 1], bin="1s", threads=99, trace=5)
    assert runs.sizes["time"] == 1
    assert runs.seed.values.tolist() == [0, 2**63 - 1]
    assert float(runs.time[-1]) == 0.1
    slow = scenario(link=pf.Link("1bit/s", buffer=2))
    assert float(pf.packet.simulate(slow, seeds=1).rate.sum()) <= 1.0 + 1e-9
    fast = scenario(duration="1ms", link=pf.Link(1e12))
    pf.packet.simulate(fast, seeds=1, bin="1ms")


# --- seeds and threads ----------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bytes_whatever_the_threads() -> None:
    one = pf.packet.simulate(scenario(), seeds=4, threads=1, trace=100)
    many = pf.packet.simulate(scenario(), seeds=4, threads=4, trace=100)
    xr.testing.assert_identical(one.drop_attrs(), many.drop_attrs())
    alone = pf.packet.simulate(scenario(), seeds=[3])
    assert (alone["class_sojourn"].values == one["class_sojourn"].sel(seed=[3]).values).all()
    assert alone.attrs["seed"] == "3"


def test_seeds_come_in_the_order_given() -> None:
    runs = pf.packet.simulate(scenario(), seeds=np.array([9, 2, 5]))
    assert runs.seed.values.tolist() == [9, 2, 5]
    assert runs.attrs["seed"] == "9, 2, 5"
    assert pf.packet.simulate(scenario(), seeds=range(3)).seed.values.tolist() == [0, 1, 2]


def test_progress_reaches_the_end() -> None:
    seen: list[tuple[float, float]] = []
    pf.packet.simulate(scenario(), seeds=3, progress=lambda *now: seen.append(now))
    assert seen[-1] == (15.0, 15.0)
    assert all(done <= total == 15.0 for done, total in seen)


def short() -> pf.Scenario:
    return pf.Scenario("0.1s", pf.Link("10Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 5, "20ms"))


def test_short_runs_need_no_threads(monkeypatch) -> None:
    monkeypatch.setattr(compiled, "run_packets", None)
    seen: list[tuple[float, float]] = []
    runs = pf.packet.simulate(short(), seeds=[4, 2], progress=lambda *now: seen.append(now))
    assert seen == [(0.2, 0.2)]
    assert runs.seed.values.tolist() == [4, 2]
    assert runs.attrs["interrupted"] == 0


def test_short_runs_have_the_numbers_of_threads(monkeypatch) -> None:
    here = pf.packet.simulate(short(), seeds=3)
    monkeypatch.setattr(packets, "_FEW", 1)
    there = pf.packet.simulate(short(), seeds=3)
    del here.attrs["created"], there.attrs["created"]
    assert here.identical(there)


def test_an_interrupt_of_short_runs_leaves_what_is_finished() -> None:
    runs = pf.packet.simulate(short(), seeds=2, progress=interrupt)
    assert runs.seed.values.tolist() == [1, 2]
    assert runs.attrs["interrupted"] == 1


def waits_for_the_end(monkeypatch: pytest.MonkeyPatch, seeds: set[int]) -> list[int]:
    """Runs of these seeds go on until they are told to stop; the list holds who was."""
    real, stopped = compiled.run_packets, []

    def run(arguments: tuple[Any, ...], ended: Any, report: Any) -> Any:
        if arguments[5] not in seeds:
            return real(arguments, ended, report)
        while not ended():
            time.sleep(0.01)
        stopped.append(arguments[5])
        return None

    monkeypatch.setattr(compiled, "run_packets", run)
    return stopped


def interrupt(*_: float) -> None:
    raise KeyboardInterrupt


def test_an_interrupt_leaves_the_seeds_that_are_finished(monkeypatch) -> None:
    stopped = waits_for_the_end(monkeypatch, {3, 4})
    runs = pf.packet.simulate(scenario(), seeds=[1, 3, 2, 4, 5], threads=5, progress=interrupt)
    assert runs.seed.values.tolist() == [1, 2, 5]
    assert runs.attrs["interrupted"] == 1
    assert runs.attrs["seed"] == "1, 2, 5"
    assert sorted(stopped) == [3, 4]
    assert pf.summarize(runs).sizes["seed"] == 3


def test_an_interrupt_before_the_first_seed_is_one(monkeypatch) -> None:
    waits_for_the_end(monkeypatch, {1, 2, 3})
    with pytest.raises(KeyboardInterrupt):
        pf.packet.simulate(scenario(), seeds=3, threads=2, progress=interrupt)


def test_what_fails_in_one_seed_ends_all(monkeypatch) -> None:
    stopped = waits_for_the_end(monkeypatch, {2})
    waiting = compiled.run_packets

    def run(arguments: tuple[Any, ...], *rest: Any) -> Any:
        if arguments[5] == 3:
            raise MemoryError
        return waiting(arguments, *rest)

    monkeypatch.setattr(compiled, "run_packets", run)
    with pytest.raises(MemoryError):
        pf.packet.simulate(scenario(), seeds=3, threads=3)
    assert stopped == [2]


def test_no_memory_in_the_kernel_is_an_error_here(monkeypatch) -> None:
    class Run:
        time = 0

        def __init__(self, *_: Any) -> None: ...

        def advance(self, events: int) -> str:
            return "no memory"

    monkeypatch.setattr(_core, "PacketRun", Run)
    with pytest.raises(MemoryError):
        pf.packet.simulate(scenario(), seeds=1)


@pytest.mark.slow
def test_ctrl_c_ends_a_long_run() -> None:
    code = """
import signal, sys
import pi2_fluid as pf
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
scenario = pf.Scenario("10000s", pf.Link("100Mbit/s"), pf.TailDrop(), [pf.Flows(pf.Reno(), 9, 0.1)])
def progress(done, total):
    print("running", flush=True)
try:
    pf.packet.simulate(scenario, seeds=2, bin="10s", progress=progress)
except KeyboardInterrupt:
    sys.exit(7)
"""
    run = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "running\n"
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)  # the whole run would take minutes
    assert run.returncode == 7


# --- what is packed -------------------------------------------------------------------------


def test_pack_speaks_of_every_field() -> None:
    described = scenario(
        duration="10s",
        link=pf.Link(
            "8Mbit/s", 50, packet_size=1000, kind="htb", delay_on="split", ack_jitter="3us"
        ),
        flows=[
            reno(start="1s", stop="4s", start_jitter="500ms", delayed_ack=False, slow_start=False),
            pf.Flows(pf.Cbr(rate="2Mbit/s"), 3, stop="10s"),
        ],
        changes=[
            pf.Change("7s", capacity="4Mbit/s"),
            pf.Change("2s", counts={"cbr": 1}, capacity="5Mbit/s"),
        ],
    )
    duration, size, (link,), classes, changes, seed, length, trace, detours = compiled.pack(
        described, 4, 10**8, 7, ("lottery", {"p": 0.1, "mark": 1.0})
    )
    assert (duration, size) == (10**10, 1000)
    assert link.pop("pushes").size == 0
    assert link == {
        "capacity": 8e6,
        "kind": "htb",
        "delay_on": "split",
        "ack_jitter": 3000,
        "buffer": 50,
        "loss": 0.0,
        "loss_burst": 0.0,
        "aggregate": 1,
        "aggregate_time": 0,
        "ring": 0,
        "bql": None,
        "qdisc": "lottery",
        "parameters": {"p": 0.1, "mark": 1.0},
    }
    own = {"base_rtt": 5 * 10**7, "start": 10**9, "stop": 4 * 10**9, "start_jitter": 5 * 10**8}
    assert classes[0] == own | {
        "congestion": "reno",
        "parameters": {"decrease": 0.5, "per_ack": 0.0},
        "packet_size": 1000,
        "source": None,
        "count": 2,
        "initial_window": 10,
        "slow_start": False,
        "delayed_ack": False,
        "push_every": -1,
        "paced": False,
        "ecn": compiled.NOT_ECT,
        **NO_TRANSFERS,
        "route": [0],
        "hops": [0],
        "back": [],
        "back_hops": [],
    }
    assert classes[1] == CLASS | {"source": SOURCE | {"interval": 4e6}, "count": 3}
    assert changes == [change(2 * 10**9, 5e6, -1, 1), change(7 * 10**9, 4e6, -1, -1)]
    assert (seed, length, trace, detours) == (4, 10**8, 7, [])


@pytest.mark.parametrize(
    ("sender", "ecn", "field"),
    [
        (pf.Reno(), None, compiled.NOT_ECT),
        (pf.Reno(), True, compiled.ECT0),
        (pf.Cubic(), False, compiled.NOT_ECT),
        (pf.Scalable(), None, compiled.ECT1),
        (pf.Dctcp(), True, compiled.ECT1),
        (pf.Dctcp(), False, compiled.NOT_ECT),
        (pf.Cbr(rate="1Mbit/s"), None, compiled.NOT_ECT),
    ],
)
def test_the_ecn_field_follows_from_sender_and_class(sender, ecn, field) -> None:
    assert compiled.ecn_field(pf.Flows(sender, base_rtt="10ms", ecn=ecn)) == field


def test_flows_that_come_later_are_new_ones() -> None:
    described = scenario(
        duration="10s",
        flows=[reno(name="a", start="2s"), reno(name="b", count=3, stop="9s")],
        changes=[
            pf.Change("1s", counts={"a": 4}),  # before it begins
            pf.Change("3s", counts={"b": 1}),
            pf.Change("5s", counts={"a": 6, "b": 2}),
        ],
    )
    assert flow_counts(described) == [6, 4]
    lives = flow_lives(described)
    assert lives.owner.tolist() == [0] * 6 + [1] * 4
    assert (lives.start / 1e9).tolist() == [2, 2, 2, 2, 5, 5, 0, 0, 0, 5]
    assert (lives.stop / 1e9).tolist() == [10] * 6 + [9, 3, 3, 9]
    runs = pf.packet.simulate(described, seeds=1)
    assert runs.sizes["flow"] == 10
    assert (runs["flow_segments"].sum(("seed", "block")) > 0).all()
    active = runs["active_flows"].isel(seed=0).sel(time=[1.0, 2.9, 4.0, 9.9]).to_numpy()
    assert active[:, 0].tolist() == [0.0, 4.0, 4.0, 6.0]
    assert active[:, 1].tolist() == [3.0, 3.0, 1.0, 0.0]
    # The kernel keeps the lives that Python wrote down, seen in the blocks of 0.1 s in which
    # segments arrived: none before the start, and the first as soon as it may; the last within what
    # the buffer holds after the stop.
    sent = runs["flow_segments"].isel(seed=0).to_numpy() > 0
    first = runs["block_start"].to_numpy()[sent.argmax(axis=0)]
    last = runs["block"].to_numpy()[len(sent) - 1 - sent[::-1].argmax(axis=0)]
    late = first - lives.start / 1e9
    assert late.min() > -1e-9
    assert late.max() < 0.2
    np.testing.assert_allclose(last, lives.stop / 1e9, atol=0.3)


def test_the_capacity_of_a_bin_is_its_mean() -> None:
    described = scenario(
        changes=[
            pf.Change("1s", capacity="3Mbit/s"),
            pf.Change("2.5s", capacity="5Mbit/s"),
            pf.Change("2.75s", capacity="9Mbit/s"),
        ]
    )
    ends = np.array([1, 2, 3, 4, 5]) * 10**9
    np.testing.assert_allclose(
        mean_capacity(described, ends), np.array([10, 3, 5.0, 9, 9]) * 1e6, rtol=1e-15
    )
    assert mean_capacity(scenario(), ends).tolist() == [1e7] * 5


def test_a_change_at_the_end_of_a_bin_leaves_its_capacity_as_it_is():
    """To the last bit, for the new capacity holds from that instant on, in the next bin only."""
    ends = np.arange(1, 8, dtype=np.int64) * 10**8 + 7
    for rate in np.random.default_rng(5).uniform(1e6, 1e9, 100):
        changes = [pf.Change(float(ends[4]) / 1e9, capacity=3e6)]
        described = scenario(link=pf.Link(float(rate)), changes=changes, duration=2.0)
        assert mean_capacity(described, ends).tolist() == [rate] * 5 + [3e6] * 2


# --- the kernel's own door ------------------------------------------------------------------

NO_TRANSFERS: Any = {"sizes": None, "idle": 0.0, "gap": 0.0}
SOURCE: Any = {
    "interval": 1e6,
    "burst": 1000,
    "spacing": 0.0,
    "poisson": False,
    "sends": 0.0,
    "pause": 0.0,
}
ARGUMENTS = (
    10**9,
    1500,
    [
        {
            "capacity": 1e7,
            "kind": "wire",
            "delay_on": "return",
            "ack_jitter": 1000,
            "buffer": 100,
            "qdisc": "lottery",
            "parameters": {"p": 0.01, "mark": 0.0},
            "pushes": np.empty(0),
            "loss": 0.0,
            "loss_burst": 0.0,
            "aggregate": 1,
            "aggregate_time": 0,
            "ring": 0,
            "bql": None,
        }
    ],
    [
        {
            "congestion": None,
            "parameters": {},
            "packet_size": 1000,
            "source": SOURCE,
            "count": 1,
            "base_rtt": 0,
            "start": 0,
            "stop": None,
            "start_jitter": 0,
            "initial_window": 10,
            "slow_start": True,
            "delayed_ack": True,
            "push_every": -1,
            "paced": False,
            "ecn": 0,
            **NO_TRANSFERS,
            "route": [0],
            "hops": [0],
            "back": [],
            "back_hops": [],
        }
    ],
    [{"at": 5 * 10**8, "capacity": -1.0, "link": 0, "counts": [2]}],
    1,
    10**8,
    10,
    [],
)
DETOUR = {"at": 5, "class": 0, "base_rtt": 7}
LINK_OF_RUN: Any = ARGUMENTS[2][0]  # type: ignore[index]
CLASS: Any = ARGUMENTS[3][0]  # type: ignore[index]
SENDING = CLASS | {
    "source": None,
    "congestion": "reno",
    "parameters": {"decrease": 0.5, "per_ack": 0.0},
}


def changed(items: Any, place: int, value: Any) -> Any:
    return (*items[:place], value, *items[place + 1 :])


def change(at: int, capacity: float, *counts: int) -> dict[str, Any]:
    return {"at": at, "capacity": capacity, "link": 0, "counts": list(counts)}


def test_the_kernel_takes_good_numbers() -> None:
    run = _core.PacketRun(*ARGUMENTS)
    while run.advance(1000) == "more":
        assert 0 <= run.time <= 10**9
    assert run.time == 10**9
    found = run.outcome()
    assert found["bins"]["capacity"].shape == (10, 1)
    assert found["segments"].shape == (10, 2)
    assert found["totals"]["sent"].dtype == np.int64
    edges = _core.packet_delay_edges()
    assert (np.diff(edges) > 0).all()
    blocks, legs, buckets = found["delays"].shape
    assert (blocks, legs) == (10, 1)
    assert found["delays"].sum() == found["legs"]["departures"].sum() > 0
    # an octave of buckets is there if something was counted in it
    assert buckets < edges.size - 1
    assert found["delays"][..., -64:].any()
    # what a request for too much memory is refused by
    assert edges.size - 1 == requirements._HISTOGRAM_BYTES // 4
    np.testing.assert_allclose(edges[:65], np.arange(65) * 1e-6, rtol=1e-12)


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        *((0, x, "duration") for x in (0, 2**51 + 1, 2**70, 1.5)),
        *((1, x, "packet_size") for x in (63, 65536)),
        *((2, [LINK_OF_RUN | {k: x}], f"link 0 {k}") for k, x in [
            ("capacity", 0.0), ("capacity", float("nan")), ("capacity", float("inf")),
            ("capacity", -1.0), ("capacity", 1e-12), ("kind", "token"), ("delay_on", "forwards"),
            ("ack_jitter", -1), ("ack_jitter", 2**40), ("buffer", 0), ("buffer", 10**10),
            ("pushes", "none"), ("loss", 1.0), ("loss", -0.1), ("loss", float("nan")),
            ("aggregate", 0), ("aggregate_time", -1), ("ring", -1), ("bql", [0, 3000]),
        ]),
        (2, [LINK_OF_RUN | {"ring": 9, "bql": [5, 3]}], "link 0 bql"),
        (2, [LINK_OF_RUN | {"ring": 9, "bql": [5]}], "link 0 bql"),
        (2, [LINK_OF_RUN | {"ring": 9, "kind": "htb"}], "link 0 ring"),
        (2, [LINK_OF_RUN | {"ring": 9, "aggregate": 4}], "link 0 ring"),
        (2, [LINK_OF_RUN | {"loss": 0.9, "loss_burst": 2.0}], "link 0 loss and loss_burst"),
        (2, [LINK_OF_RUN | {"loss": 0.1, "loss_burst": 0.5}], "link 0 loss and loss_burst"),
        (2, [], "0 links"),
        (2, [LINK_OF_RUN, (1, 2)], "link 1 is no dict"),
        (2, [{k: x for k, x in LINK_OF_RUN.items() if k != "kind"}], "link 0 lacks 'kind'"),
        (2, [LINK_OF_RUN | {"qdisc": "none"}], "'none' is not a queue discipline"),
        *((2, [LINK_OF_RUN, LINK_OF_RUN | {"parameters": x}], said) for x, said in [
            ({"p": 0.1}, "lottery lacks 'mark'"),
            ({"p": 0.1, "mark": 0.0, "k": 2.0}, "lottery knows no 'k'"),
            ({"p": 0.1, "marks": 0.0}, "lottery knows no 'marks', and lacks 'mark'"),
            ({"p": float("nan"), "mark": 0.0}, "lottery p is not a number"),
            ({"p": 2.0, "mark": 0.0}, "lottery cannot have these parameters"),
        ]),
        (2, [LINK_OF_RUN | {"pushes": np.ones(1)}], "lottery takes no pushes"),
        (3, [], "0 classes"),
        *((3, [CLASS | {k: x}], said) for k, x, said in [
            ("congestion", "none", "'none' is not a congestion control"),
            ("congestion", "reno", "reno lacks 'decrease'"),
            *((k, x, f"class 0 {k}") for k, x in [
                ("count", -1), ("count", 10**7), ("packet_size", 1501), ("packet_size", 63),
                ("base_rtt", -1), ("start", 2**60), ("stop", -1), ("start_jitter", -1),
                ("initial_window", 0), ("push_every", -2), ("ecn", 3), ("slow_start", "no"),
            ]),
            *(("source", SOURCE | {k: x}, f"class 0 source {said}") for k, x, said in [
                ("interval", 0.5, "interval"), ("interval", float("nan"), "interval"),
                ("burst", 0, "burst"), ("burst", 2**30 + 1, "burst"), ("poisson", "no", "poisson"),
                ("spacing", -1.0, "spacing"), ("spacing", 2.0**44, "spacing"),
                ("pause", -1.0, "pause"), ("pause", 1e9, "sends for less than a thousandth"),
            ]),
            ("route", [], "class 0 route has no link"),
            ("back", [0], "class 0 has 1 links and 0 hops"),
            ("route", [1], "class 0 route has link 1, which is not there"),
            ("hops", [0, 0], "class 0 has 1 links and 2 hops"),
            ("hops", [-1], "class 0 hops are below 0"),
            ("hops", [1], "class 0 hops are below 0, or more than base_rtt"),
        ]),
        (3, [{k: x for k, x in CLASS.items() if k != "ecn"}], "class 0 lacks 'ecn'"),
        (3, [CLASS, CLASS | {"rtt": 5}], "class 1 knows no 'rtt'"),
        (3, [CLASS, CLASS | {"route": [0, 0], "hops": [0, 0]}], "class 1 route has link 0 twice"),
        (3, [CLASS | {"back": [0], "back_hops": [0]}], "class 0 route has link 0 twice"),
        (4, [change(10**10, 0.0, 1)], "change 0 at"),
        (4, [change(5, 0.0, 1), change(4, 0.0, 1)], "change 1 at"),
        (3, [CLASS | {"sizes": ("fixed", [3.0])}], "class 0 is a source that nobody answers"),
        (3, [SENDING | {"sizes": ("normal", [3.0])}], "class 0 sizes = 'normal' is unknown"),
        (3, [SENDING | {"sizes": ("pareto", [3.0])}], "sizes pareto takes 3 numbers, not 1"),
        (3, [SENDING | {"sizes": ("fixed", [])}], "sizes fixed takes 1 numbers, not 0"),
        (3, [SENDING | {"sizes": ("empirical", [])}], "class 0 sizes are 0 numbers"),
        (3, [SENDING | {"sizes": ("empirical", [2.0, 0.0])}], "class 0 sizes have a number"),
        (3, [SENDING | {"sizes": ("fixed", [float("nan")])}], "class 0 sizes have a number"),
        (3, [SENDING | {"sizes": 3.0}], "class 0 sizes is of another type"),
        (3, [SENDING | {"idle": -1.0}], "class 0 idle is no mean time"),
        (3, [SENDING | {"idle": float("inf")}], "class 0 idle is no mean time"),
        (3, [SENDING | {"gap": 0.5}], "class 0 gap is no mean time"),
        (4, [change(5, -2.0, 1)], "change 0 capacity"),
        (4, [change(5, 0.0, 1, 1)], "2 counts instead of 1"),
        (4, [change(5, 0.0, -2)], "count = -2"),
        (4, [change(5, 0.0, 0), change(6, 0.0, 10**6)], "1000001 flows"),
        (4, [change(5, 0.0, 1) | {"link": 1}], "change 0 link"),
        (4, [{"at": 5, "capacity": -1.0, "link": 0}], "change 0 lacks 'counts'"),
        *((8, [DETOUR | {k: x}], f"detour 0 {k}") for k, x in [
            ("at", -1), ("class", 1), ("base_rtt", -1),
        ]),
        (5, -1, "seed"),
        (5, 2**64, "seed"),
        (6, 0, "bin"),
        (6, 10**9 + 1, "bin"),
        (7, -1, "trace"),
        (7, "all", "trace"),
    ],
)  # fmt: skip
def test_the_kernel_refuses_what_it_cannot_compute_with(place, value, said) -> None:
    with refused(ValueError, match=re.escape(said)):
        _core.PacketRun(*changed(ARGUMENTS, place, value))


def test_a_run_belongs_to_one_thread() -> None:
    arguments = compiled.pack(scenario(duration="1000s"), 1, 10**10)
    run = _core.PacketRun(*arguments)
    worker = threading.Thread(target=run.advance, args=(3_000_000,))
    worker.start()
    refusals = []
    while worker.is_alive() and not refusals:
        try:
            run.outcome()
        except RuntimeError as error:
            refusals.append(str(error))
    worker.join()
    assert refusals == ["this run is being computed by another thread."]
    assert run.time > 0
    assert run.outcome()["packets"] > 0


@given(st.floats(1e-3, 1e9))
def test_default_bins_are_as_ever_up_to_a_length_and_then_bounded(duration: float) -> None:
    length = usual_bin(duration)
    assert length == 0.1 or duration > 1e4
    assert duration / length <= MOST_BINS * (1.0 + 1e-12)


@pytest.mark.slow
def test_a_run_of_days_has_a_bounded_number_of_rows() -> None:
    flows = pf.Flows(pf.Reno(), 1, "100ms")
    scenario = pf.Scenario(1e6, pf.Link("10kbit/s", buffer="40 packets"), pf.Pi2(), flows)
    runs = pf.packet.simulate(scenario, seeds=1)
    assert runs.sizes["time"] == MOST_BINS
    assert runs.attrs["usual_bin"] == "10 s, of which 100000 are the run"
    assert runs.nbytes < 5e7
    assert float(runs.bin.max()) == 10.0
    assert float(runs.throughput.mean()) > 9e3
    assert pf.Fluid()._times(scenario).size == MOST_BINS + 1
