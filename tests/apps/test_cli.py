"""The shell's door: exit codes, JSON, sentences, help."""

from __future__ import annotations

import csv
import errno
import io
import json
import math
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import write_options
import write_shell
from shell import answered, assert_bad_input, printed, strict_json

import pi2_fluid as pf
import pi2_fluid.loop.transfer
import pi2_fluid.papers.claims
import pi2_fluid.papers.figures
from pi2_fluid.apps.cli import codes, run
from pi2_fluid.apps.cli.declaring import JUDGE, MEASURE, PAPERS, TRAFFIC
from pi2_fluid.apps.cli.parameters import kinds_with
from pi2_fluid.apps.cli.shell import ROOMS, declared
from pi2_fluid.laws.registry import SENDERS, queues_with
from pi2_fluid.papers.claims import Claim
from pi2_fluid.papers.registry import FIGURES
from pi2_fluid.progress import Progress

LOAD = ["margins", "--rtt", "100ms", "--p-prime", "0.1"]
KEYS = ["inputs", "verdict", "least", "margins", "ack_margins", "why_no_acks", "required"]
MARGIN_KEYS = [
    "gain_margin_db",
    "lower_gain_margin_db",
    "phase_margin_deg",
    "gain_crossover",
    "phase_crossover",
    "oscillation_period",
    "delay_margin",
    "modulus_margin",
    "verdict",
    "remark",
]


def in_shell(*arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
    program = f"{code}\nfrom pi2_fluid.apps.cli import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=120
    )


@pytest.fixture
def broken_margins(monkeypatch):
    def install(error: BaseException) -> None:
        def fail(self: Any) -> None:
            raise error

        monkeypatch.setattr(pf.Loop, "margins", fail)

    return install


# --- margins --------------------------------------------------------------------------------


def test_margins_as_json(capsys) -> None:
    """Both clocks, sampled: the model of check and tune."""
    assert run([*LOAD, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    answer = strict_json(out)
    assert list(answer) == KEYS
    both = {
        key: pf.Loop(
            pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1, update="sampled", clock=clock
        ).margins()
        for key, clock in (("margins", "rate"), ("ack_margins", "acks"))
    }
    for key, margins in both.items():
        assert list(answer[key]) == [*MARGIN_KEYS, "delay_sd", "signal_spread"]
        assert answer[key]["delay_sd"] is None  # of a load by itself, of which no flows are said
        for name in MARGIN_KEYS:
            value = getattr(margins, name)
            assert answer[key][name] == ("-inf" if value == -float("inf") else value)
    rates, acks = both.values()
    assert rates.gain_margin_db < acks.gain_margin_db
    assert answer["least"] == {
        "gain_margin_db": rates.gain_margin_db,
        "gain_clock": "rate",
        "phase_margin_deg": rates.phase_margin_deg,
        "phase_clock": "rate",
    }
    assert (answer["verdict"], answer["why_no_acks"], answer["required"]) == ("stable", None, None)
    assert answer["inputs"] == {
        "sender": "reno",
        "aqm": "pi2",
        "alpha": 0.3125,
        "beta": 3.125,
        "update_interval": 0.032,
        "target": 0.02,
        "table": None,
        "k": None,
        "flows": None,
        "rate": None,
        "path": None,
        "rtt": 0.1,
        "p": pytest.approx(0.01),
        "p_prime": 0.1,
        "window": pytest.approx(math.sqrt(2 / 0.01)),
        "update": "sampled",
        "rtt_terms": "frozen",
        "clocks": ["rate", "acks"],
        "bunch": 0.0,
    }


def test_margins_by_one_clock(capsys) -> None:
    words = "margins --rtt 100ms --p-prime 0.1 --clock acks --bunch 0.5"
    assert run([*words.split(), "--json"]) == 0
    answer = strict_json(capsys.readouterr().out)
    model: dict[str, Any] = {"update": "sampled", "clock": "acks", "bunch": 0.5}
    margins = pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1, **model).margins()
    assert answer["ack_margins"]["gain_margin_db"] == margins.gain_margin_db
    assert answer["least"]["gain_clock"] == "acks"
    assert answer["margins"] is None
    assert (answer["inputs"]["clocks"], answer["inputs"]["bunch"]) == (["acks"], 0.5)
    assert run(words.split()) == 0
    out = capsys.readouterr().out
    assert "by acknowledgements" in out
    assert "by rates" not in out


def test_a_sender_without_a_loop_by_acks_is_told_of(capsys) -> None:
    words = ["margins", "--sender", "dctcp", "--aqm", "coupled", "--rtt", "100ms", "--p", "0.1"]
    assert run(words) == 1
    told = 'Not judged by acknowledgements: Dctcp law = "rate" does not say what one'
    assert told in " ".join(capsys.readouterr().out.split())
    assert run([*words, "--json"]) == 1
    answer = strict_json(capsys.readouterr().out)
    assert answer["ack_margins"] is None
    assert answer["why_no_acks"].startswith("Dctcp law")


def test_every_option_reaches_the_library(capsys) -> None:
    words = (
        "margins --sender creno --aqm coupled --alpha 0.2 --beta 2.5Hz --update-interval 16ms"
        " --target 15ms --k 1.5 --rtt 0.05s --p 0.04 --update delayed --rtt-terms exact --json"
    )
    code = run(words.split())
    answer = strict_json(capsys.readouterr().out)
    queue = pf.CoupledPi2(alpha=0.2, beta=2.5, update_interval=0.016, target=0.015, k=1.5)
    for key, clock in (("margins", "rate"), ("ack_margins", "acks")):
        model = {"update": "delayed", "rtt_terms": "exact", "clock": clock}
        margins = pf.Loop(pf.CReno(), queue, rtt=0.05, p=0.04, **model).margins()
        assert answer[key]["gain_margin_db"] == margins.gain_margin_db
    assert code == {"stable": 0, "unstable": 1}[answer["verdict"]]
    for name in ("alpha", "beta", "update_interval", "target", "k"):
        assert answer["inputs"][name] == getattr(queue, name)


def test_the_table_of_pie_can_be_chosen_and_is_named(capsys) -> None:
    words = ["margins", "--aqm", "pie", "--rtt", "100ms", "--p", "0.00001", "--json"]
    run(words)
    assert strict_json(capsys.readouterr().out)["inputs"]["table"] == "rfc8033"
    run([*words, "--table", "hpsr13"])
    answer = strict_json(capsys.readouterr().out)
    pie = pf.Pie(table="hpsr13")
    assert answer["inputs"]["table"] == "hpsr13"
    loop = pf.Loop(pf.Reno(), pie, rtt=0.1, p=1e-5, update="sampled")
    assert answer["margins"]["gain_margin_db"] == loop.margins().gain_margin_db


def test_margins_as_text(capsys) -> None:
    """The verdict and one margin, the smaller of the clocks, are the first line."""
    assert run(LOAD) == 0
    out, err = capsys.readouterr()
    assert err == ""
    first = out.splitlines()[0]
    assert re.fullmatch(r"STABLE: gain margin 3\.46 dB", first)
    assert re.search(r"by rates +by acknowledgements", out)
    assert re.search(r"gain margin +3\.461 dB +3\.485 dB", out)
    assert re.search(r"phase margin +[\d.]+ deg +[\d.]+ deg", out)
    assert re.search(r"verdict +stable +stable", out)
    assert "alpha 0.3125 Hz, beta 3.125 Hz, T 32 ms, target 20 ms" in out
    assert "Model: sampled: the queue updates every T, as in a kernel" in " ".join(out.split())
    assert "By rates: senders that pace" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.slow
def test_an_unstable_loop_is_code_1() -> None:
    done = in_shell("margins", "--aqm", "pie", "--rtt", "100ms", "--p", "1e-6", "--json")
    assert done.returncode == 1
    assert strict_json(done.stdout)["verdict"] == "unstable"


def test_a_loop_on_its_boundary_is_code_3(capsys) -> None:
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1, update="sampled")
    edge = 10 ** (loop.margins().gain_margin_db / 20)
    gains = ["--alpha", repr(0.3125 * edge), "--beta", repr(3.125 * edge)]
    assert run([*LOAD, *gains, "--json"]) == 3
    assert strict_json(capsys.readouterr().out)["verdict"] == "undecided"


def test_infinities_are_words_in_json(capsys, monkeypatch) -> None:
    def margins(self: Any) -> pf.Margins:
        return pf.Margins(
            gain_margin_db=math.inf,
            phase_margin_deg=-math.inf,
            gain_crossover=1.0,
            phase_crossover=math.inf,
            delay_margin=-0.1,
            update="continuous",
            _modulus=lambda: 0.5,
            _verdict=lambda: 1,
        )

    monkeypatch.setattr(pf.Loop, "margins", margins)
    answer = answered(capsys, [*LOAD, "--json"])["margins"]
    assert (answer["gain_margin_db"], answer["phase_margin_deg"]) == ("inf", "-inf")
    assert answer["phase_crossover"] == "inf"
    out = printed(capsys, LOAD)
    assert out.startswith("STABLE at any gain\n")
    assert re.search(r"gain margin +inf +dB", out)


def test_a_broken_assumption_is_a_line_on_stderr(capsys) -> None:
    with warnings.catch_warnings():
        assert run(["margins", "--rtt", "100ms", "--p", "0.9", "--json"]) == 0
    out, err = capsys.readouterr()
    strict_json(out)
    assert err.startswith("warning: the window is 1.49 segments")
    assert err.count("\n") == 1


# --- bad input ------------------------------------------------------------------------------

BAD = [
    # what is typed after `margins`, and what the sentence must say
    ("", "--flows and --rate and --path missing: give all three of"),
    ("--flows 10 --path 40ms", "--rate missing: give all three of --flows, --rate and --path"),
    ("--flows 10 --rate 20Mbit/s --path 40ms --p 0.1", "--flows and --p are both given"),
    ("--flows ten --rate 20Mbit/s --path 40ms", "--flows ten is not one number"),
    ("--flows 10 --rate 20 --path 40ms", "--rate 20 has no unit"),
    ("--flows 10 --rate 20Mbit/s --path 40", "--path 40 has no unit"),
    ("--flows 9000 --rate 1Mbit/s --path 1ms", "the flows offer"),
    ("--p 0.1", "--rtt is missing: give the round-trip time, e.g. --rtt 100ms"),
    ("--rtt 100ms --p 0.1 --require much", "--require 'much' is no gain margin"),
    ("--rtt 100ms --p 0.1 --aqm docsis_pie:colour=1", "has no number colour"),
    ("--rtt 100ms --p 0.1 --aqm tc_max_rtt", "max_rtt is missing for tc_max_rtt"),
    ("--rtt 100ms --p 0.1 --aqm tc_max_rtt:max_rtt", "has no value for max_rtt"),
    ("--rtt 100ms", "exactly one of --p and --p-prime"),
    ("--rtt 100ms --p 0.1 --p-prime 0.1", "exactly one of --p and --p-prime"),
    ("--rtt 0.1 --p 0.1", 'no unit: give a time such as "100ms"'),
    ("--rtt 100Mbit/s --p 0.1", "time"),
    ("--rtt 0s --p 0.1", "(0, inf)"),
    ("--rtt -1ms --p 0.1", "(0, inf)"),
    ("--rtt 9**9**9s --p 0.1", "time"),
    ("--rtt 100ms --p 0", "(0, 1]"),
    ("--rtt 100ms --p 1.5", "(0, 1]"),
    ("--rtt 100ms --p nan", "'nan'"),
    ("--rtt 100ms --p inf", "'inf'"),
    ("--rtt 100ms --p 0.1 --alpha 0", "integral"),
    ("--rtt 100ms --p 0.1 --alpha -1", "-1"),
    ("--rtt 100ms --p 0.1 --beta 3ms", "3ms"),
    ("--rtt 100ms --p 0.1 --update-interval 0.032", "no unit"),
    ("--rtt 100ms --p 0.1 --target 20", "no unit"),
    ("--rtt 100ms --p 0.1 --sender foo", "one of reno, creno, scalable"),
    ("--rtt 100ms --p 0.1 --sender cbr", f"one of {', '.join(kinds_with('loop', SENDERS))}."),
    ("--rtt 100ms --p 0.1 --aqm foo", f"one of {', '.join(queues_with('loop'))}."),
    ("--rtt 100ms --p 0.1 --aqm docsis", "'docsis' is unknown: give docsis_pie."),
    ("--rtt 100ms --p 0.1 --sender dctcp --aqm dualpi2", "give a ramp"),
    ("--rtt 100ms --p 0.1 --aqm pie --table foo", "'rfc8033', 'rfc8034', 'hpsr13', 'ietf_early'"),
    ("--rtt 100ms --p 0.1 --update foo", "'continuous', 'delayed', 'sampled'"),
    ("--rtt 100ms --p 0.1 --rtt-terms foo", "'frozen', 'exact'"),
    ("--rtt 100ms --p 0.1 --clock foo", "'rate', 'acks'"),
    ("--rtt 100ms --p 0.1 --clock rate --bunch 0.5", "rate clock"),
    ("--rtt 100ms --p 0.1 --k 2", "--k does not apply to --aqm pi2"),
    ("--rtt 100ms --p 0.1 --table none", "--table does not apply to --aqm pi2"),
    ("--rtt 100ms --p 0.1 --aqm coupled --table none", "use --aqm pie"),
    ("--rtt 100ms --p 0.1 --aqm pie --k 2", "use --aqm coupled"),
    ("--rtt 100ms --p 0.1 --gain 2", "No such option"),
    ("--rtt", "requires an argument"),
]


@pytest.mark.parametrize(("words", "reason"), BAD)
def test_bad_input_is_one_sentence_and_code_2(capsys, words, reason) -> None:
    words = [words] if words == "--rtt" else [*words.split(), "--json"]
    assert_bad_input(capsys, ["margins", *words], reason)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("figures 99", "there is no figure '99': give"),
        ("claims --paper foo", "pi2, pie, paganini, thesis"),
        ("nonsense", "No such command"),
        ("--nonsense", "No such option"),
    ],
)
def test_other_commands_refuse_in_the_same_way(capsys, words, reason) -> None:
    assert run(words.split()) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("error: ")
    assert reason in lines[-1]


@pytest.mark.parametrize(
    "words",
    [
        "tune --max-rtt 100 ms",
        "simulate pi2_fig12_pi2 --after 100 ms",
        "margins --p-prime 0.1 --rtt 100 ms",
        "check --rtt 100 ms queues.txt",
    ],
)
def test_a_space_before_a_unit_is_named(capsys, words) -> None:
    assert_bad_input(capsys, words.split(), "100 ms is two words to a shell: write 100ms.")


def test_a_folder_that_cannot_be_made_is_bad_input(tmp_path, capsys) -> None:
    (tmp_path / "file").touch()
    assert run(["figure", "pi2:5", "pi2:7", "--out", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith(f"error: cannot use {tmp_path / 'file'}: ")


# --- other endings --------------------------------------------------------------------------

BROKEN_OFF = ImportError("numpy has not been loaded", name="numpy")
BROKEN_OFF.__cause__ = KeyboardInterrupt()


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (pf.SolverError("it did not converge."), 4, "error: it did not converge.\n"),
        (pf.UnsupportedError("not here."), 2, "error: not here.\n"),
        (ModuleNotFoundError("x", name="zarr"), 4, "error: the package zarr is missing"),
        (ModuleNotFoundError("x", name="pi2_fluid._core"), 70, "error: internal: ModuleNotFound"),
        (ZeroDivisionError("two\nlines"), 70, "error: internal: ZeroDivisionError: two lines"),
        (KeyboardInterrupt(), 130, "error: interrupted.\n"),
        (BROKEN_OFF, 130, "error: interrupted.\n"),
    ],
)
def test_every_ending_has_its_code(capsys, broken_margins, error, code, said) -> None:
    broken_margins(error)
    assert run(LOAD) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(said)
    assert err.count("\n") <= 1
    assert "Traceback" not in err


def test_an_internal_error_can_be_seen_in_full(monkeypatch, broken_margins) -> None:
    broken_margins(ZeroDivisionError("seen"))
    monkeypatch.setenv("PI2_FLUID_DEBUG", "1")
    with pytest.raises(ZeroDivisionError, match="seen"):
        run(LOAD)


def test_laws_with_several_states_and_two_queues(capsys) -> None:
    words = "margins --sender cubic --aqm dualpi2 --k 3 --rtt 100ms --p 0.01 --json"
    answer = answered(capsys, words.split())
    loop = pf.Loop(pf.Cubic(), pf.DualPi2(k=3.0), rtt=0.1, p=0.01, update="sampled")
    assert answer["margins"]["gain_margin_db"] == loop.margins().gain_margin_db
    assert answer["inputs"]["k"] == 3.0


# --- simulate ---------------------------------------------------------------------------------

SCENARIO = """
duration = "4s"
name = "small"
link.capacity = "12Mbit/s"
[aqm]
kind = "coupled"
[[flows]]
sender = "reno"
count = 4
base_rtt = "40ms"
[[flows]]
sender = "scalable"
name = "l4s, new"
base_rtt = "40ms"
"""
COARSE = ["--tolerance", "1e-3"]


@pytest.fixture
def small(tmp_path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(("buffer", "said"), [("40000 packets", True), ("500ms", False)])
def test_a_queue_in_a_buffer_that_no_device_has_is_said(capsys, tmp_path, buffer, said) -> None:
    path = tmp_path / "long.toml"
    text = SCENARIO.replace("12Mbit/s", "2Mbit/s").replace('"coupled"', '"taildrop"')
    text = text.replace("[aqm]", f'link.buffer = "{buffer}"\n[aqm]')
    path.write_text(text, encoding="utf-8")
    answer = printed(capsys, ["simulate", str(path), *COARSE])
    assert ("long buffer: packets waited up to" in answer) is said
    assert ("holds 40000, or 240 s; give" in answer) is said


def same_run(**options: Any) -> Any:
    return pf.fluid.simulate(pf.Scenario.from_toml(SCENARIO), tolerance=1e-3, **options)


def test_margins_say_how_often_a_loop_oscillates(capsys) -> None:
    words = ["margins", "--rtt", "100ms", "--p-prime", "0.1"]
    answer = answered(capsys, [*words, "--json"])
    periods = [answer[key]["oscillation_period"] for key in ("margins", "ack_margins")]
    for period, key in zip(periods, ("margins", "ack_margins"), strict=True):
        assert period == pytest.approx(2 * math.pi / answer[key]["phase_crossover"], rel=1e-12)
    said = rf"^oscillation period +{periods[0]:.4g} s +{periods[1]:.4g} s"
    assert re.search(said, printed(capsys, words), re.MULTILINE)


@pytest.mark.parametrize(("hz", "verb"), [("250", "would oscillate"), ("1000", "oscillates")])
def test_check_says_how_often_a_queue_oscillates(hz, verb, capsys) -> None:
    """Where the smaller gain margin of both clocks is, and by that clock."""
    line = "qdisc pie 8001: dev eth0 root limit 1000p target 15ms tupdate 12ms alpha 2 beta 20"
    words = ["check", line, "--hz", hz, "--rtt", "63ms"]
    run([*words, "--json"])
    (one,) = strict_json(capsys.readouterr().out)["qdiscs"]
    clock = "worst" if one["least"]["gain_clock"] == "rate" else "ack_worst"
    period = one[clock]["oscillation_period"]
    run(words)
    out = " ".join(capsys.readouterr().out.split())
    where = "the delay" if verb == "oscillates" else "period"
    assert f"{where} {verb} about once every {period:.3g} s ({1 / period:.3g} Hz)" in out


def test_simulate_as_json(small, capsys) -> None:
    assert run(["simulate", small, *COARSE, "--after", "2s", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    answer = strict_json(out)
    assert list(answer) == [
        "scenario", "duration", "engine", "interrupted", "after", "changes", "update", "linear",
        "compiled", "beyond_the_laws", "summary", "not_modelled", "output", "plot",
    ]  # fmt: skip
    summary = pf.summarize(same_run(), "2s")
    assert list(answer["summary"]) == list(summary.data_vars)
    assert answer["summary"]["delay_p99"] == float(summary.delay_p99)
    assert answer["summary"]["throughput"] == {
        "reno": float(summary.throughput[0]),
        "l4s, new": float(summary.throughput[1]),
    }
    assert (answer["scenario"], answer["duration"], answer["after"]) == ("small", 4.0, 2.0)
    assert (answer["update"], answer["linear"]) == ("sampled", False)
    assert "link.kind" in answer["not_modelled"]
    assert answer["output"] is answer["plot"] is None


FALLS = """
duration = "30s"
link = {capacity = "50Mbit/s"}
aqm = {kind = "pi2"}
flows = [{sender = "reno", count = 10, base_rtt = "50ms"}]
changes = [{at = "10s", capacity = "10Mbit/s"}, {at = "20s", counts = {reno = 11}}]
"""


@pytest.mark.parametrize("engine", ["fluid", "packet"])
def test_simulate_says_what_changes_do(engine, tmp_path, capsys) -> None:
    """A capacity that falls shows in no mean: the peak is five times the P95, for a second."""
    (tmp_path / "falls.toml").write_text(FALLS)
    words = ["simulate", str(tmp_path / "falls.toml"), "--engine", engine, "--after", "5s"]
    words += [*(["--seeds", "2"] if engine == "packet" else [])]
    assert run([*words, "--json"]) == 0
    answer = strict_json(capsys.readouterr().out)
    assert answer["changes"] == [
        {"at": 10.0, "what": "capacity 10 Mbit/s"},
        {"at": 20.0, "what": "11 reno"},
    ]
    summary = answer["summary"]
    peak, at, settling = (summary[f"change_{x}"]["0"] for x in ("peak", "peak_at", "settling"))
    assert peak > 3 * summary["delay_p95"]
    assert 0.2 < settling < 5.0
    assert run(words) == 0
    out = capsys.readouterr().out
    of = " mean of 100 ms" if engine == "packet" else ""
    assert re.search(rf"largest{of} +[\d.]+ +ms +at 10\.\d* s", out)
    assert re.search(
        rf"10 s +capacity 10 Mbit/s +{1e3 * peak:.4g} ms +{at:.4g} s +[\d.]+ ms +{settling:.3g} s",
        out,
    )
    assert re.search(r"20 s +11 reno +[\d.]+ ms", out)
    assert ("medians of the seeds" in out) == (engine == "packet")


def test_simulate_as_text(small, capsys) -> None:
    assert run(["simulate", small, *COARSE, "--after", "2s"]) == 0
    out, err = capsys.readouterr()
    summary = pf.summarize(same_run(), "2s")
    assert err == ""
    assert out.startswith("small\nas a fluid, sampled update, 2 s to 4 s\n")
    mean, p99 = (f"{1e3 * float(summary[name]):.4g}" for name in ("delay_mean", "delay_p99"))
    assert re.search(rf"queue delay +mean +{mean} +ms", out)
    assert re.search(rf"P99 +{p99} +ms", out)
    assert re.search(r"utilization +[\d.]+ +%", out)
    assert re.search(r"\nmarked +[\d.]+ +%", out)
    assert re.search(r"l4s, new +[\d.]+ Mbit/s +[\d.]+ segments +[\d.]+ %", out)
    assert "\nnot modelled in a fluid: link.kind, " in out


def test_every_option_of_simulate_reaches_the_library(small, monkeypatch, capsys) -> None:
    asked = []
    real = pf.Fluid.run

    def run_it(engine: pf.Fluid, scenario: Any, progress: Any) -> Any:
        assert callable(progress)
        asked.append(engine)
        return real(pf.Fluid(), scenario)

    monkeypatch.setattr(pf.Fluid, "run", run_it)
    words = "--update continuous --linear --sample 50ms"
    assert run(["simulate", small, *words.split(), "--step", "2ms"]) == 0
    assert run(["simulate", small, *words.split(), "--tolerance", "1e-4"]) == 0
    assert run(["simulate", small, "--clock", "acks"]) == 0
    rest: dict[str, Any] = {"update": "continuous", "linear": True, "sample": 0.05}
    two = [pf.Fluid(step=0.002, **rest), pf.Fluid(tolerance=1e-4, **rest)]
    assert asked == [*two, pf.Fluid(clock="acks")]


def test_simulate_by_the_ack_clock(small, capsys) -> None:
    assert run(["simulate", small, "--clock", "acks", "--step", "5ms", "--json"]) == 0
    answer = strict_json(capsys.readouterr().out)
    scenario = pf.Scenario.from_toml(SCENARIO)
    summary = pf.summarize(pf.fluid.simulate(scenario, clock="acks", step="5ms"))
    assert answer["clock"] == "acks"
    assert answer["summary"]["delay_p99"] == float(summary.delay_p99)
    assert run(["simulate", small, "--clock", "acks", "--tolerance", "1e-4"]) == 2
    assert "tolerance = 0.0001 is for the rate clock" in capsys.readouterr().err


def test_netcdf_holds_what_simulate_returns(small, tmp_path, capsys) -> None:
    import xarray

    path = tmp_path / "run.nc"
    assert run(["simulate", small, *COARSE, "-o", str(path), "--json"]) == 0
    assert strict_json(capsys.readouterr().out)["output"] == str(path)
    with xarray.open_dataset(path, engine="h5netcdf", decode_times=False) as found:
        found.load()
    expected = same_run()
    for name, variable in expected.variables.items():
        assert (found[name].to_numpy() == variable.to_numpy()).all()
        assert found[name].attrs["units"] == variable.attrs["units"]
    assert pf.Scenario.from_toml(found.attrs["scenario"]) == pf.Scenario.from_toml(SCENARIO)


@pytest.mark.parametrize("kind", ["coupled", "dualpi2"])
def test_csv_holds_what_simulate_returns(tmp_path, capsys, kind) -> None:
    text = SCENARIO.replace("coupled", kind)
    (tmp_path / "a.toml").write_text(text, encoding="utf-8")
    path = tmp_path / "run.csv"
    assert run(["simulate", str(tmp_path / "a.toml"), *COARSE, "-o", str(path)]) == 0
    assert f"written: {path}\n" in capsys.readouterr().out
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    expected = pf.fluid.simulate(pf.Scenario.from_toml(text), tolerance=1e-3)
    bands = [""] if kind == "coupled" else [".C", ".L"]
    classes = [".reno", ".l4s, new"]
    columns = ["time_s"]
    for name, unit, labels in (
        ("queue_delay", "_s", bands),
        ("queue", "_packets", bands),
        ("controller", "", [""]),
        ("p", "", classes),
        ("p_prime", "", classes),
        ("window", "_segments", classes),
        ("throughput", "_bit_s", classes),
        ("capacity", "_bit_s", [""]),
    ):
        values = expected[name].to_numpy().reshape(len(expected.time), -1)
        for k, label in enumerate(labels):
            columns.append(f"{name}{unit}{label}")
            assert [float(row[columns[-1]]) for row in rows] == values[:, k].tolist()
    assert list(rows[0]) == columns


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
@pytest.mark.parametrize("kind", ["coupled", "dualpi2", "taildrop"])
def test_simulate_draws(tmp_path, capsys, kind, ending) -> None:
    path = tmp_path / f"run.{ending}"
    (tmp_path / "a.toml").write_text(SCENARIO.replace("coupled", kind), encoding="utf-8")
    words = ["simulate", str(tmp_path / "a.toml"), *COARSE, "--after", "1s", "--plot", str(path)]
    assert answered(capsys, [*words, "--json"])["plot"] == str(path)
    assert path.read_bytes()[:4] in {b"\x89PNG", b"<?xm", b"%PDF"}


def test_a_scenario_comes_from_a_file_a_pipe_or_by_name(small, tmp_path, monkeypatch, capsys):
    answers = []
    (tmp_path / "pi2_fig11a_pie").write_text(SCENARIO, encoding="utf-8")
    for words, data in (
        ([small], b""),
        (["-"], SCENARIO.encode()),
        (["pi2_fig11a_pie", "--sample", "1s"], b""),
    ):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        answers.append(answered(capsys, ["simulate", *words, *COARSE, "--json"]))
    assert [answer["scenario"] for answer in answers] == ["small", "small", "pi2_fig11a_pie"]
    assert answers[0]["summary"] == answers[1]["summary"]
    # A file wins over a name.
    monkeypatch.chdir(tmp_path)
    assert run(["simulate", "pi2_fig11a_pie", *COARSE, "--json"]) == 0
    assert strict_json(capsys.readouterr().out)["scenario"] == "small"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("", "Missing argument"),
        ("pi2_fig11a", "no file, and scenario = 'pi2_fig11a' is unknown: give 'pi2_fig11a_pi2' or"),
        ("nothing.toml", "cannot use nothing.toml: No such file"),
        ("pie_fig10a_codel", "CoDel"),
        ("FILE -o x.txt", "--output x.txt has no known ending: end it in .nc, .csv"),
        ("FILE --plot x.jpg", "--plot x.jpg has no known ending: end it in .png, .svg, .pdf"),
        ("FILE -o no/where/x.nc", "cannot use no/where: No such file or directory"),
        ("FILE --update slow", "'sampled', 'continuous'"),
        ("FILE --step 1ms --tolerance 1e-6", "give one"),
        ("FILE --sample 5", "no unit"),
        ("FILE --tolerance loose", "not one number"),
        ("FILE --tolerance 1e-3 --after 3.999s", "give a longer stretch"),
        ("FILE --after 5", "no unit"),
    ],
)
def test_what_simulate_cannot_do_is_one_sentence_and_code_2(small, capsys, words, reason) -> None:
    assert_bad_input(capsys, ["simulate", *words.replace("FILE", small).split()], reason)


@pytest.mark.parametrize("engine", ["fluid", "packet"])
@pytest.mark.parametrize("after", ["4s", "1h"])
def test_an_end_before_the_beginning_is_refused_before_the_run(
    small, monkeypatch, capsys, engine, after
) -> None:
    def run_it(*_: Any, **__: Any) -> None:
        raise AssertionError("it ran")

    monkeypatch.setattr({"fluid": pf.Fluid, "packet": pf.Packets}[engine], "run", run_it)
    assert run(["simulate", small, "--engine", engine, "--after", after]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "leaves nothing of a scenario of 4 s: give an earlier time." in err


@pytest.mark.parametrize("engine", ["fluid", "packet"])
@pytest.mark.parametrize("as_json", [False, True])
def test_a_summary_survives_a_full_disk(
    small, tmp_path, monkeypatch, capsys, engine, as_json
) -> None:
    """The picture is there, too: one file that cannot be written does not take the other along."""

    def full(_: Any, path: Any) -> None:
        raise pf.WriteError(errno.ENOSPC, f"{path} is not written: no space left on device.")

    monkeypatch.setattr("pi2_fluid.plot.save_picture", full)
    words = ["simulate", small, "--engine", engine, *(COARSE if engine == "fluid" else ())]
    words += ["-o", str(tmp_path / "a.csv"), "--plot", str(tmp_path / "a.png")]
    assert run([*words, *(["--json"] if as_json else [])]) == 4
    out, err = capsys.readouterr()
    assert err.count("a.png is not written: no space left on device") == 1
    if as_json:
        found = json.loads(out)
        assert found["summary"]["delay_mean"] > 0.0
        assert found["output"] == str(tmp_path / "a.csv")
        assert found["plot"] is None
    else:
        assert "queue delay" in out
        assert f"written: {tmp_path / 'a.csv'}" in out
        assert "a.png" not in out


def test_files_that_cannot_be_written_are_refused_before_the_run(small, monkeypatch) -> None:
    def run_it(*_: Any, **__: Any) -> None:
        raise AssertionError("it ran")

    monkeypatch.setattr(pf.Fluid, "run", run_it)
    assert run(["simulate", small, "-o", "no/where/x.nc"]) == 2
    assert run(["simulate", small, "--plot", "x.bmp"]) == 2


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        (Terminal(), "\rsimulating 1 of 9 s ...\x1b[K\rsimulating 5 of 9 s ...\x1b[K\r\x1b[K"),
        (io.StringIO(), "simulating 9 s ...\n"),
    ],
)
def test_progress_is_shown_after_two_seconds(monkeypatch, stream, said) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("sys.stderr", stream)
    with Progress("simulating") as progress:
        progress(0.5, 9.0)
        assert stream.getvalue() == ""
        now[0] = 2.5
        progress(1.0, 9.0)
        progress(5.0, 9.0)
    assert stream.getvalue() == said


def test_an_interrupted_run_is_code_130_and_leaves_no_file(small, tmp_path, monkeypatch, capsys):
    def run_it(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pf.Fluid, "run", run_it)
    assert run(["simulate", small, "-o", str(tmp_path / "x.nc")]) == 130
    assert capsys.readouterr() == ("", "error: interrupted.\n")
    assert not (tmp_path / "x.nc").exists()


# --- scenarios --------------------------------------------------------------------------------


def test_scenarios_are_listed(capsys) -> None:
    lines = printed(capsys, ["scenarios"]).splitlines()
    assert [line.split()[0] for line in lines] == list(pf.scenario_names())
    assert "pi2_fig11a_pie           PI2 paper (CoNEXT'16), Figure 11a, PIE: 5 Reno flows" in lines
    records = answered(capsys, ["scenarios", "--json"])["scenarios"]
    assert [list(record) for record in records] == [["name", "description"]] * len(lines)
    assert records[-1]["name"] == pf.scenario_names()[-1]


def test_a_scenario_is_printed_as_toml(capsys) -> None:
    text = printed(capsys, ["scenarios", "pi2_fig12_pi2"])
    assert pf.Scenario.from_toml(text) == pf.named_scenario("pi2_fig12_pi2")
    assert answered(capsys, ["scenarios", "pi2_fig12_pi2", "--json"])["toml"] == text
    assert run(["scenarios", "pi2_fig12"]) == 2
    assert "'pi2_fig12_pi2' or 'pi2_fig12_pie'" in capsys.readouterr().err


# --- figures and claims ---------------------------------------------------------------------


@pytest.mark.slow
def test_figures_as_json_and_as_text(tmp_path, capsys) -> None:
    words = ["figure", "pi2:5", "pi2:table1", "--out", str(tmp_path)]
    assert run([*words, "--json"]) == 0
    out, err = capsys.readouterr()
    names = [str(tmp_path / f"pi2_fig05{suffix}") for suffix in (".png", ".svg", ".pdf", ".csv")]
    table = str(tmp_path / "pi2_table1.csv")
    assert strict_json(out) == {
        "figures": [
            {"name": "pi2_fig05", "files": names},
            {"name": "pi2_table1", "files": [table]},
        ],
        "interrupted": False,
    }
    assert err == "pi2:5 (1 of 2) ...\npi2:table1 (2 of 2) ...\n"
    assert printed(capsys, words).split() == [*names, table]


PIES = [name for name in FIGURES if name.startswith("pie:")]


@pytest.mark.parametrize(
    ("words", "names", "given"),
    [
        (["figure", "all", "--quick"], list(FIGURES), {"seeds": None, "quick": True}),
        (["figure", "pi2:4", "pie"], ["pi2:4", *PIES], {"seeds": None, "quick": False}),
        (["figure", "pie", "--seeds", "3"], PIES, {"seeds": 3, "quick": False}),
        (["figures", "all"], ["all"], {"seeds": None, "quick": True}),
        (["figures", "pi2:4", "--full"], ["pi2:4"], {"seeds": None, "quick": False}),
    ],
)
def test_the_figures_asked_for_are_drawn(monkeypatch, capsys, words, names, given) -> None:
    asked = []

    def each(names: list[str], out: Path, *, progress: Any, **given: Any) -> Iterator[Any]:
        asked.append((names, str(out), given))
        return iter(())

    monkeypatch.setattr(pi2_fluid.papers.figures, "each_figure", each)
    assert run(words) == 0
    assert asked == [(names, "figures", given)]
    is_renamed = "warning: `figures` is now `figure`" in capsys.readouterr().err
    assert is_renamed == (words[0] == "figures")


def test_figures_that_are_drawn_survive_an_interruption(monkeypatch, capsys) -> None:
    def each(*_: Any, **given: Any) -> Iterator[Any]:
        yield pi2_fluid.papers.figures.Figure("pi2_fig05", (Path("a.png"),))
        raise KeyboardInterrupt

    monkeypatch.setattr(pi2_fluid.papers.figures, "each_figure", each)
    assert run(["figure", "all", "--json"]) == 130
    out, err = capsys.readouterr()
    assert strict_json(out) == {
        "figures": [{"name": "pi2_fig05", "files": ["a.png"]}],
        "interrupted": True,
    }
    assert "the same command makes the others" in err


def test_figures_without_names_are_listed_with_their_verdicts(capsys) -> None:
    rows = answered(capsys, ["figure", "--json"])["figures"]
    assert answered(capsys, ["figures", "--json"])["figures"] == rows
    assert [row["figure"] for row in rows] == list(FIGURES)
    fig14 = next(row for row in rows if row["figure"] == "pie:14")
    assert (fig14["kind"], fig14["file"]) == ("loop", "pie_fig14")
    assert fig14["verdict"] == "1 only under an assumption of ours, 1 not reproduced"
    text = " ".join(printed(capsys, ["figure"]).split())
    assert "pie:14 loop" in text


@pytest.mark.slow
def test_a_figure_with_its_verdicts(tmp_path, capsys) -> None:
    record = answered(capsys, ["figure", "pie:14", "--out", str(tmp_path), "--json"])
    assert (record["figure"], record["seeds"], record["quick"]) == ("pie:14", 1, False)
    first, second = record["verdicts"]
    assert (first["key"], first["stated"], first["verdict"]) == ("margin_100ms", "29.5", "depends")
    assert first["condition"] == "we fit the load to it"
    assert second["verdict"] == "not_reproduced"
    assert second["found"] == pytest.approx([85.0933], abs=1e-3)
    assert all(Path(path).is_file() for path in record["files"])
    text = printed(capsys, ["figure", "pie:14", "--out", str(tmp_path)])
    assert re.search(r"phase margin at 50 ms +105.0 deg +85.1 deg +not reproduced", text)


@pytest.mark.slow
def test_a_check_draws_nothing_and_leaves_with_1_where_a_verdict_changed(
    tmp_path, monkeypatch, capsys
) -> None:
    words = ["figure", "pie:14", "--check", "--out", str(tmp_path / "none")]
    assert run(words) == 0
    monkeypatch.setattr(pi2_fluid.papers.record, "recorded_verdicts", lambda _: {})
    assert run(words) == 1
    assert "margin_50ms: not reproduced, recorded is nothing" in capsys.readouterr().out
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["pie:99"], "no figure 'pie:99'"),
        (["pie:14", "--set", "rtt"], "--set 'rtt' sets nothing"),
        (["pie:14", "--set", "x=1", "--check"], "no setting 'x'"),
        (["pie:14", "--seeds", "0"], "--seeds '0' is no number of runs"),
        (["12"], "several papers have a figure '12': give pi2:12 or paganini:12"),
        (["pie", "--check"], "--check is about one figure"),
        (["pie:14", "pie:13", "--set", "rtt=50ms"], "--set is about one figure"),
    ],
)
def test_a_figure_asked_for_wrongly(words, said, capsys) -> None:
    assert run(["figure", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.fixture
def two_claims(monkeypatch) -> list[str | None]:
    asked: list[str | None] = []

    def claims(paper: str | None = None) -> list[Claim]:
        asked.append(paper)
        return [
            Claim(id="a-1", source="A, 1", text="Up [x].", computed="1", verdict=verdict, why="So.")
            for verdict in ("reproduced", "not_reproduced")
        ]

    monkeypatch.setattr(pi2_fluid.papers.claims, "each_claim", claims)
    return asked


def test_claims_as_json(two_claims, capsys) -> None:
    records = answered(capsys, ["claims", "--paper", "pie", "--json"])["claims"]
    assert two_claims == ["pie"]
    assert [list(record) for record in records] == [
        ["id", "source", "text", "computed", "verdict", "why"]
    ] * 2
    assert [record["verdict"] for record in records] == ["reproduced", "not_reproduced"]


def test_claims_as_text(two_claims, capsys) -> None:
    assert run(["claims"]) == 0
    out, err = capsys.readouterr()
    assert two_claims == [None]
    assert "Up [x]. (A, 1)" in out
    assert out.rstrip().endswith("2 claims: 1 reproduced, 1 not reproduced.")
    assert err == "computing the claims ...\n"


@pytest.mark.parametrize("finished", [0, 2])
def test_claims_that_are_computed_survive_an_interruption(monkeypatch, capsys, finished) -> None:
    def each(paper: str | None = None) -> Iterator[Claim]:
        for number in range(finished):
            yield Claim(
                id=f"a-{number}", source="A", text="x", computed="1", verdict="depends", why="So."
            )
        raise KeyboardInterrupt

    monkeypatch.setattr(pi2_fluid.papers.claims, "each_claim", each)
    assert run(["claims", "--json"]) == 130
    out, err = capsys.readouterr()
    assert "interrupted" in err
    assert "Traceback" not in err
    if finished:
        answer = strict_json(out)
        assert [record["id"] for record in answer["claims"]] == ["a-0", "a-1"]
        assert answer["interrupted"] is True
        assert run(["claims"]) == 130
        assert "2 only under an assumption of ours" in capsys.readouterr().out
    else:
        assert out == ""


# --- help -----------------------------------------------------------------------------------


def words_of_help(capsys, *arguments: str) -> str:
    plain = re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", " ", printed(capsys, [*arguments, "-h"]))
    return re.sub(r"\s+", " ", plain)


def test_help_names_units_choices_examples_and_codes(capsys) -> None:
    text = words_of_help(capsys, "margins")
    for wanted in ("HZ", "TIME", "100ms", "in Hz", "(0, 1]", "pi, pie, pi2, coupled"):
        assert wanted in text, wanted
    assert "pi2-fluid margins --flows 10 --rate 20Mbit/s --path 40ms" in text
    assert "1 unstable" in words_of_help(capsys, "check")
    assert "pi2-fluid figure pie thesis:4.2 --quick" in words_of_help(capsys, "figure")
    assert "name of one that comes with the package" in words_of_help(capsys, "simulate")
    assert "pi2, pie, paganini or thesis" in words_of_help(capsys, "claims")


def test_help_states_the_defaults_that_hold(capsys) -> None:
    text = words_of_help(capsys, "margins")
    pi2, pie = pf.Pi2(), pf.Pie()
    assert pf.CoupledPi2().alpha == pi2.alpha
    assert pf.Pi().alpha == pie.alpha
    assert pf.Pi().update_interval == pf.CoupledPi2().update_interval == pi2.update_interval
    dual = pf.DualPi2()
    assert pf.CoupledPi2().k == dual.k == 2.0
    for name in ("alpha", "beta"):
        values = [getattr(queue, name) for queue in (pi2, pie, dual)]
        assert "Default {}, for pi and pie {}, for dualpi2 {}.".format(*values) in text
    times = [f"{1e3 * queue.update_interval:g}ms" for queue in (pi2, pie, dual)]
    assert "Default {}, for pie {}, for dualpi2 {}.".format(*times) in text
    assert pie.target == dual.target
    times = [f"{1e3 * queue.target:g}ms" for queue in (pi2, pie)]
    assert "Default {}, for pie and dualpi2 {}.".format(*times) in text


def test_what_help_says_of_parameters_is_what_the_laws_declare() -> None:
    text = write_options.MODULE.read_text(encoding="utf-8")
    assert text == write_options.module(), "run tools/write_options.py"


@pytest.mark.parametrize("name", write_shell.PAGES)
def test_the_reference_has_what_the_shell_says(name) -> None:
    text = (write_shell.REFERENCE / name).read_text(encoding="utf-8")
    assert text == write_shell.PAGES[name](), "run tools/write_shell.py"


def test_every_exit_code_is_explained() -> None:
    numbers = {value for value in vars(codes).values() if isinstance(value, int)}
    assert set(codes.MEANINGS) == numbers
    page = (write_shell.REFERENCE / "exit_codes.md").read_text(encoding="utf-8")
    assert all(f"| {number} | {codes.MEANINGS[number][0]} |" in page for number in numbers)


def test_the_first_screen(capsys) -> None:
    """Four panels; each command in a line, in the order of ROOMS; what is told below is there."""
    lines = printed(capsys, ["-h"]).splitlines()
    titles = [line.strip("╭╮─ ") for line in lines if line.startswith("╭")]
    assert titles == [JUDGE, TRAFFIC, MEASURE, PAPERS]
    shown = [line.split()[1] for line in lines if line.startswith("│")]
    assert shown == [name for name in ROOMS if name != "figures"]
    assert len(lines) <= 34  # 18 commands, with the frames of four panels
    below = " ".join(lines[-4:])
    assert "--install-completion" in below
    assert "Exit codes" in below


def test_what_json_has_is_asked_of_the_command(capsys) -> None:
    text = printed(capsys, ["sweep", "--help-json"])
    for key, said in {one.name: one for one in declared(["sweep"])}["sweep"].json.items():
        assert re.search(rf"(?m)^{key} +{re.escape(said)}", text)


def test_without_a_command_there_is_help(capsys) -> None:
    assert run([]) == 2
    assert "Judge and set a queue" in capsys.readouterr().out


def test_version(capsys) -> None:
    assert printed(capsys, ["--version"]) == f"pi2-fluid {pf.__version__}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    ["", "margins", "figure", "claims", "simulate", "replay", "scenarios", "traffic", "validate"],
)
def test_help_loads_nothing_heavy(command) -> None:
    heavy = ["control", "jax", "matplotlib", "numpy", "pandas", "scipy", "xarray"]
    check = f"""
import atexit, sys
atexit.register(lambda: print(sorted(set({heavy!r}) & set(sys.modules)), file=sys.stderr))"""
    done = in_shell(*command.split(), "-h", code=check)
    assert done.returncode == 0
    assert done.stderr == "[]\n"
