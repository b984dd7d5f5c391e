"""Packets against bad input: every door answers, or says in one sentence what to give instead."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from refusals import refused
from shell import assert_bad_input

import pi2_fluid as pf
from pi2_fluid.apps.cli.shell import run

pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")


def flows(**fields: Any) -> pf.Flows:
    return pf.Flows(**{"sender": pf.Reno(), "count": 2, "base_rtt": "20ms", **fields})


def scenario(**fields: Any) -> pf.Scenario:
    link = pf.Link("10Mbit/s", buffer="100 packets")
    return pf.Scenario(
        **{"duration": "200ms", "link": link, "aqm": pf.Pi2(), "flows": flows(), **fields}
    )


def simulate(**fields: Any) -> Any:
    return pf.packet.simulate(scenario(**fields), seeds=1)


def assert_answered(runs: Any) -> None:
    """Everything is finite, and no packet is lost from the books."""
    for results in (runs, pf.summarize(runs)):
        for name, variable in results.variables.items():
            assert variable.dtype.kind != "f" or np.isfinite(variable).all(), name
    count = runs["count"].sum(("seed", "flows"))
    went = ["delivered", "drop_aqm", "drop_full", "drop_overload", "queued", "in_flight"]
    assert int(count.sel(cause="sent")) == int(count.sel(cause=went).sum())


def assert_refused(call: Any, *said: str) -> None:
    remedy = r"\b(give|use|leave|pass|build)\b"
    with refused((ValueError, TypeError), *said, match=remedy) as caught:
        call()
    assert type(caught.value).__module__ == "pi2_fluid.errors", repr(caught.value)
    assert len(str(caught.value)) < 400


# --- what is odd, but has an answer ---------------------------------------------------------

DCTCP = {"sender": pf.Dctcp()}
ANSWERED: dict[str, dict[str, Any]] = {
    "1 bit/s": {"link": pf.Link("1bit/s")},
    "1 Tbit/s": {"link": pf.Link("1Tbit/s"), "duration": "1ms"},
    "one packet of room": {"link": pf.Link("10Mbit/s", buffer=1)},
    "one packet of room, htb": {"link": pf.Link("10Mbit/s", buffer=1, kind="htb")},
    "large packets": {"link": pf.Link("10Mbit/s", packet_size=65535)},
    "a million flows": {"flows": flows(count=1e6), "duration": "10ms"},
    "a run of 1 ns": {"duration": "1ns"},
    "a run of 1 ns, pie": {"duration": "1ns", "aqm": pf.Pie()},
    "updates every ns": {"duration": "1ms", "aqm": pf.Pi2(update_interval="1ns")},
    "dual updates every ns": {"duration": "1ms", "aqm": pf.DualPi2(update_interval="1ns")},
    "updates after 5 s": {"duration": "11s", "aqm": pf.Pi2(update_interval="5s")},
    "pie after 5 s": {
        "duration": "11s",
        "aqm": pf.Pie(update_interval="5s", arithmetic="fixed"),
    },
    "dual after 5 s": {
        "duration": "11s",
        "aqm": pf.DualPi2(update_interval="5s", arithmetic="fixed"),
    },
    "no path": {"flows": flows(base_rtt=0)},
    "no path, no jitter": {
        "flows": flows(base_rtt=0),
        "link": pf.Link("10Mbit/s", buffer=9, ack_jitter=0),
    },
    "a path of days": {"flows": flows(base_rtt="100h")},
    "large first windows": {"flows": flows(initial_window=1e5)},
    "constant bit rate": {"flows": pf.Flows(pf.Cbr(rate="5Mbit/s"))},
    "overload": {"flows": pf.Flows(pf.Cbr(rate="50Mbit/s"), 2), "aqm": pf.DualPi2()},
    "1 bit/s of constant bit rate": {"flows": pf.Flows(pf.Cbr(rate="1bit/s"))},
    "scalable, no ECN": {"flows": flows(**DCTCP, ecn=False), "aqm": pf.CoupledPi2()},
    "scalable, no ECN, dual": {"flows": flows(**DCTCP, ecn=False), "aqm": pf.DualPi2()},
    "only L4S": {"flows": flows(**DCTCP), "aqm": pf.DualPi2()},
    "to 1 bit/s": {"changes": pf.Change("0.1s", capacity="1bit/s")},
    "to 1 bit/s and back": {
        "changes": [pf.Change("0.1s", capacity="1bit/s"), pf.Change("0.15s", capacity="10Mbit/s")]
    },
    "to no flows": {"changes": pf.Change("0.1s", counts={"reno": 0})},
    "at once": {"changes": pf.Change(0, counts={"reno": 1}, capacity="1Mbit/s")},
    "a million change": {"changes": pf.Change("0.19s", counts={"reno": 999_000})},
    "gains at the limit": {"aqm": pf.Pie(alpha=1e5, beta=1e5)},
    "an endless drop": {"flows": flows(sender=pf.Reno(decrease=1))},
    "many per mark": {
        "flows": flows(sender=pf.Scalable(per_mark=1e9)),
        "aqm": pf.CoupledPi2(k=1e9),
    },
    "a steep cubic": {"flows": flows(sender=pf.Cubic(c=1e9, decrease=0.999999))},
}


@pytest.mark.slow
@pytest.mark.parametrize("fields", ANSWERED.values(), ids=ANSWERED)
def test_what_is_odd_is_simulated(fields) -> None:
    assert_answered(simulate(**fields))


# --- what is refused ------------------------------------------------------------------------


class MyReno(pf.Reno):
    pass


class MyPi2(pf.Pi2):
    pass


# A call that may fail at any stage: the objects are made inside.
REFUSED: dict[str, tuple[Any, str]] = {
    "no flows": (lambda: simulate(flows=[]), "flows = () is empty"),
    "a count of 0": (lambda: simulate(flows=flows(count=0)), "count = 0"),
    "a count in parts": (lambda: simulate(flows=flows(count=2.5)), "count = 2.5"),
    "a change in parts": (
        lambda: simulate(changes=pf.Change("0.1s", counts={"reno": 2.5})),
        "counts['reno'] = 2.5",
    ),
    "no room": (lambda: simulate(link=pf.Link(1e7, buffer=0)), "buffer = 0"),
    "room for a part of a packet": (
        lambda: simulate(link=pf.Link(1e7, buffer="500B")),
        "buffer = '500B'",
    ),
    "a window of a half": (lambda: simulate(flows=flows(initial_window=0.5)), "window = 0.5"),
    "a window of 1e9": (lambda: simulate(flows=flows(initial_window=1e9)), "window = 1000000000"),
    "more first windows than memory": (
        lambda: simulate(flows=flows(initial_window=1e6, count=1000)),
        "initial_window of 1e+09 packets together",
    ),
    "an hour of updates every ns": (
        lambda: simulate(duration="1h", aqm=pf.Pi2(update_interval="1ns")),
        "makes 3.6e+12 updates",
    ),
    "an interval of ages": (lambda: simulate(aqm=pf.Pi2(update_interval=1e9)), "1e+09 s"),
    "an array": (lambda: simulate(aqm=pf.Pi2(alpha=[0.1, 0.2])), "aqm.alpha has the shape (2,)"),
    "an array of one": (lambda: simulate(flows=flows(base_rtt=[0.1])), "base_rtt has the shape"),
    "a sender of one's own": (lambda: simulate(flows=flows(sender=MyReno())), "MyReno"),
    "a queue of one's own": (lambda: simulate(aqm=MyPi2()), "MyPi2"),
    "nothing": (lambda: pf.packet.simulate(None), "scenario = None"),  # type: ignore[arg-type]
    **{
        f"{name} = {value}": (lambda name=name, value=value: simulate(**{name: value}), str(value))
        for name in ("duration",)
        for value in (math.nan, math.inf, -1, 0)
    },
    **{
        f"seeds = {seeds!r}": (
            lambda seeds=seeds: pf.packet.simulate(scenario(), seeds=seeds),
            "seeds = ",
        )
        for seeds in ([math.nan], math.nan, None, ["1"], [1.0], np.array([]), b"12", {1: 2})
    },
    **{
        f"bin = {bin}": (lambda bin=bin: pf.packet.simulate(scenario(), bin=bin), "bin")
        for bin in (math.inf, -1, True, np.array([0.1]), "3 packets")
    },
    **{
        f"trace = {trace}": (
            lambda trace=trace: pf.packet.simulate(scenario(), trace=trace),
            f"trace = {trace}",
        )
        for trace in (-1, 1.0, True, math.nan)
    },
    "threads = nan": (lambda: pf.packet.simulate(scenario(), threads=math.nan), "threads = nan"),  # type: ignore[arg-type]
    "CoDel as a fluid": (
        lambda: pf.compare(scenario(aqm=pf.CoDel(target="5ms", interval="100ms"))),
        "CoDel",
    ),
    "a law of one's own, compared": (lambda: pf.compare(scenario(aqm=MyPi2())), "MyPi2"),
    "half a flow, compared": (lambda: pf.compare(scenario(flows=flows(count=0.5))), "count = 0.5"),
    "a comparison of 1 ns": (lambda: pf.compare(scenario(duration="1ns")), "duration = 1e-09 s"),
    "no comparison": (lambda: pf.compare(scenario(), pf.Packets(seeds=0)), "seeds = 0"),
    **{
        f"validate {seeds!r}": (lambda seeds=seeds: pf.validate(None, seeds=seeds), "no number of")
        for seeds in (0, 2.5, math.nan, "3", None, True, 10**9)
    },
}


@pytest.mark.parametrize(("call", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused(call, said) -> None:
    assert_refused(call, said)


# --- replays --------------------------------------------------------------------------------

REPLAYS: dict[str, dict[str, Any]] = {
    "replay": {"variant": "linux6.18", "queue_delay": [0.1, 0.2], "backlog": [1, 2]},
    "replay_drop": {
        "variant": "linux6.18",
        "p": [0.1, 0.2],
        "rnd": [1, 2],
        "queue_delay": [0.1, 0.2],
        "backlog": [3000, 9000],
        "accu_prob": [0.1, 0.1],
    },
    "replay_rate": {"now_ns": [0, 1000], "pkt_bytes": [1500, 1500], "backlog_bytes": [5000, 4000]},
    "replay_dualpi2": {
        "t_us": [0, 10],
        "op": ["E", "D"],
        "bytes": [1500, 0],
        "ecn": [0, 0],
        "rolls": [1, 2],
        "p_base": 0.1,
        "law": pf.DualPi2(),
        "link": pf.Link("10Mbit/s"),
    },
    "replay_codel": {
        "t_us": [0, 10],
        "op": ["E", "D"],
        "bytes": [1500, 0],
        "ecn": [0, 0],
        "law": pf.CoDel(),
        "link": pf.Link("10Mbit/s"),
    },
    "replay_red": {
        "law": pf.Red(min=5, max=15),
        "backlog_bytes": [0, 1999],
        "rnd": [0, 0],
        "link": pf.Link("10Mbit/s"),
    },
    "replay_avq": {
        "time": [0.0, 0.1],
        "bytes": [1000, 40],
        "law": pf.Avq(),
        "link": pf.Link("10Mbit/s"),
    },
    "replay_rem": {
        "arrivals": [4, 5],
        "backlog": [2, 3],
        "law": pf.Rem(),
        "link": pf.Link("10Mbit/s"),
    },
    "replay_cubic": {"rtt_ms": [20.0, 20.0], "W": [64, 64], "t_s": [0.1, 0.5]},
    "replay_dctcp": {"delivered": [10, 10], "ce": [1, 2], "alpha_before": [1024, 1024]},
    "replay_prague": {"ce": [0, 1], "rtt": 0.01},
    "replay_paganini": {"ce": [0, 1], "rtt": [0.01, 0.01], "time": [0.1, 0.2], "lost": [0, 1]},
}
COLUMNS = [
    pytest.param(function, name, id=f"{function}-{name}")
    for function, arguments in REPLAYS.items()
    for name in arguments
]
BAD_COLUMNS: list[Any] = [
    math.nan,
    math.inf,
    -1,
    [-1, 1],
    [math.nan, 1],
    [math.inf, 1],
    [[1, 2], [3, 4]],
    [],
    [1, 2, 3, 4, 5],
    "x",
    ["x", "y"],
    [None, 1],
    {},
    b"a",
    10**400,
    [10**400, 1],
    1e300,
    object(),
    1j,
]


# As many as are drawn; NaN: the sum goes on.
FINE = {"rolls": ("[]", "[1, 2, 3, 4, 5]"), "accu_prob": ("nan", "[nan, 1]", "[None, 1]")}


@pytest.mark.parametrize("function", REPLAYS)
def test_replays_take_good_columns(function) -> None:
    getattr(pf.packet, function)(**REPLAYS[function])


@pytest.mark.parametrize(("function", "name"), COLUMNS)
def test_replays_refuse_bad_columns(function, name) -> None:
    for value in BAD_COLUMNS:
        if repr(value) in FINE.get(name, ()):
            continue
        arguments = {**REPLAYS[function], name: value}
        assert_refused(lambda arguments=arguments: getattr(pf.packet, function)(**arguments))


# --- the shell ------------------------------------------------------------------------------

LOGS: dict[str, tuple[bytes, str]] = {
    "semicolons": (b"queue_delay;backlog\n0.01;1500\n", "but 'queue_delay;backlog'"),
    "tabs": (b"queue_delay\tbacklog\n0.01\t1500\n", "separated by commas"),
    "decimal commas": (b"queue_delay\n0,01\n", "line 2 has more than 1 field"),
    "a column too many": (b"queue_delay,backlog\n0.01,1500,3\n", "more than 2 fields"),
    "a column twice": (b"queue_delay,queue_delay\n0.01,5\n", "queue_delay twice"),
    "no header": (b"0.01\n0.02\n", "but '0.01'"),
    "UTF-16": ("queue_delay\n0.01\n".encode("utf-16"), "is no CSV text"),
    "a NUL": (b"queue_delay\n0.01\0\n", "line 2 queue_delay"),
    "an open quote": (b'"queue_delay\n0.01\n', "no column queue_delay"),
    "a delay of an age": (b"queue_delay\n1e9\n", "is outside [0, 60]"),
}


@pytest.mark.parametrize(("text", "said"), LOGS.values(), ids=LOGS)
def test_broken_logs_are_refused(tmp_path, capsys, text, said) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(text)
    assert_bad_input(capsys, ["replay", "--variant", "linux6.18", str(path)], said)


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbfqueue_delay\r\n0.01\r\n20 ms\r\n",
        b"backlog, queue_delay,\n3kB,0.01,\n\n1500,20ms\n",
    ],
)
def test_logs_of_other_systems_are_read(tmp_path, capsys, text) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(text)
    assert run(["replay", "--variant", "linux6.18", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [["0", "10"], ["1", "20"]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("validate --seeds 0", "--seeds '0' is no number of runs: give 2 or more"),
        ("validate --seeds few", "--seeds 'few' is no number of runs"),
        ("validate --seeds 2 --out taken", "taken: File exists"),
        ("simulate pi2_fig12_pi2 -o folder.nc", "folder.nc: Is a directory"),
        ("compare pi2_fig12_pi2 --plot folder.png", "folder.png: Is a directory"),
        ("compare pie_fig10a_codel", "CoDel"),
        ("compare pi2_fig12_pi2 --threads 1.5", "--threads '1.5'"),
        ("simulate pi2_fig12_pi2 --engine packet --threads 1.5", "--threads '1.5'"),
        ("replay --variant linux7 log.csv", "give one of 'linux6.18'"),
    ],
)
def test_commands_that_cannot_be(tmp_path, monkeypatch, capsys, words, said) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("", encoding="utf-8")
    (tmp_path / "log.csv").write_text("queue_delay\n0.1\n", encoding="utf-8")
    for ending in ("nc", "png"):
        (tmp_path / f"folder.{ending}").mkdir()
    assert_bad_input(capsys, words.split(), said)


def test_a_pipe_that_is_closed_is_no_verdict(monkeypatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("typer.echo", refuse)
    assert run(["scenarios"]) == 141


@pytest.mark.parametrize("words", ["validate --seeds 2 --out x", "figures pi2:14 --out x"])
def test_an_interrupt_is_no_verdict_of_fewer_seeds(tmp_path, monkeypatch, capsys, words) -> None:
    small = pf.packet.simulate(scenario(), seeds=1).assign_attrs(interrupted=1)
    monkeypatch.setattr("pi2_fluid.packet.simulate", lambda *_, **__: small)
    monkeypatch.chdir(tmp_path)
    assert run(words.split()) == 130
    assert "interrupted" in capsys.readouterr().err
