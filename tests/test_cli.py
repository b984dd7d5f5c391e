"""The shell's door: exit codes, JSON, sentences, help."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import warnings
from typing import Any

import pytest

import pi2_fluid as pf
import pi2_fluid.loop.transfer
import pi2_fluid.paper.claims
import pi2_fluid.paper.figures
from pi2_fluid.cli import run
from pi2_fluid.paper.claims import Claim

LOAD = ["margins", "--rtt", "100ms", "--p-prime", "0.1"]
MARGIN_KEYS = [
    "inputs",
    "gain_margin_db",
    "phase_margin_deg",
    "gain_crossover",
    "phase_crossover",
    "delay_margin",
    "modulus_margin",
    "verdict",
]


def strict_json(text: str) -> Any:
    def refuse(literal: str) -> None:
        raise AssertionError(f"{literal} is no JSON")

    return json.loads(text, parse_constant=refuse)


def in_shell(*arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
    program = f"{code}\nfrom pi2_fluid.cli import main\nmain()"
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
    assert run([*LOAD, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    answer = strict_json(out)
    assert list(answer) == MARGIN_KEYS
    margins = pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1).margins()
    for name in MARGIN_KEYS[1:]:
        assert answer[name] == getattr(margins, name)
    assert answer["inputs"] == {
        "sender": "reno",
        "aqm": "pi2",
        "alpha": 0.3125,
        "beta": 3.125,
        "update_interval": 0.032,
        "target": 0.02,
        "table": None,
        "k": None,
        "rtt": 0.1,
        "p": pytest.approx(0.01),
        "p_prime": 0.1,
        "mode": "continuous",
        "rtt_terms": "frozen",
    }


def test_every_option_reaches_the_library(capsys) -> None:
    words = (
        "margins --sender creno --aqm coupled --alpha 0.2 --beta 2.5Hz --update-interval 16ms"
        " --target 15ms --k 1.5 --rtt 0.05s --p 0.04 --mode sampled --rtt-terms exact --json"
    )
    code = run(words.split())
    answer = strict_json(capsys.readouterr().out)
    queue = pf.CoupledPi2(alpha=0.2, beta=2.5, update_interval=0.016, target=0.015, k=1.5)
    loop = pf.Loop(pf.CReno(), queue, rtt=0.05, p=0.04, mode="sampled", rtt_terms="exact")
    assert answer["gain_margin_db"] == loop.margins().gain_margin_db
    assert code == {"stable": 0, "unstable": 1}[loop.margins().verdict]
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
    assert (
        answer["gain_margin_db"]
        == pf.Loop(pf.Reno(), pie, rtt=0.1, p=1e-5).margins().gain_margin_db
    )


def test_margins_as_text(capsys) -> None:
    assert run(LOAD) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert re.search(r"gain margin +4\.704 +dB +at 7\.313 rad/s", out)
    assert re.search(r"phase margin +20\.03 +deg +at 4\.988 rad/s", out)
    assert re.search(r"delay margin +70\.09 +ms", out)
    assert re.search(r"verdict +stable", out)
    assert "alpha 0.3125 Hz" in out
    assert "T 32 ms" in out


def test_an_unstable_loop_is_code_1() -> None:
    done = in_shell("margins", "--aqm", "pie", "--rtt", "100ms", "--p", "1e-6", "--json")
    assert done.returncode == 1
    assert strict_json(done.stdout)["verdict"] == "unstable"


def test_a_loop_on_its_boundary_is_code_3(capsys) -> None:
    edge = 10 ** (pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1).margins().gain_margin_db / 20)
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
            _modulus=lambda: 0.5,
            _verdict=lambda: 1,
        )

    monkeypatch.setattr(pf.Loop, "margins", margins)
    assert run([*LOAD, "--json"]) == 0
    answer = strict_json(capsys.readouterr().out)
    assert (answer["gain_margin_db"], answer["phase_margin_deg"]) == ("inf", "-inf")
    assert answer["phase_crossover"] == "inf"
    assert run(LOAD) == 0
    assert re.search(r"gain margin +inf +dB", capsys.readouterr().out)


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
    ("", "--rtt is missing: give the round-trip time, e.g. --rtt 100ms"),
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
    ("--rtt 100ms --p 0.1 --aqm foo", "one of pi, pie, pi2, coupled"),
    ("--rtt 100ms --p 0.1 --aqm pie --table foo", "'rfc8033', 'rfc8034', 'hpsr13', 'ietf_early'"),
    ("--rtt 100ms --p 0.1 --mode foo", "'continuous', 'delayed', 'sampled'"),
    ("--rtt 100ms --p 0.1 --rtt-terms foo", "'frozen', 'exact'"),
    ("--rtt 100ms --p 0.1 --k 2", "--k does not apply to --aqm pi2"),
    ("--rtt 100ms --p 0.1 --table none", "--table does not apply to --aqm pi2"),
    ("--rtt 100ms --p 0.1 --aqm coupled --table none", "use --aqm pie"),
    ("--rtt 100ms --p 0.1 --aqm pie --k 2", "use --aqm coupled"),
    ("--rtt 100ms --p 0.1 --gain 2", "No such option"),
    ("--rtt", "requires an argument"),
]


@pytest.mark.parametrize(("words", "reason"), BAD)
def test_bad_input_is_one_sentence_and_code_2(capsys, words, reason) -> None:
    assert (
        run(["margins", *words.split(), "--json"] if words != "--rtt" else ["margins", "--rtt"])
        == 2
    )
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.endswith(".\n")
    assert err.count("\n") == 1
    assert reason in err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("figures 6", "figure '6' is unknown: give any of 4, 5, 7"),
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


def test_a_folder_that_cannot_be_made_is_bad_input(tmp_path, capsys) -> None:
    (tmp_path / "file").touch()
    assert run(["figures", "5", "--out", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith(f"error: cannot use {tmp_path / 'file'}: ")


# --- other endings --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (pf.SolverError("it did not converge."), 4, "error: it did not converge.\n"),
        (pf.UnsupportedError("not here."), 2, "error: not here.\n"),
        (ModuleNotFoundError("x", name="zarr"), 4, "error: the package zarr is missing"),
        (ModuleNotFoundError("x", name="pi2_fluid._core"), 70, "error: internal: ModuleNotFound"),
        (ZeroDivisionError("two\nlines"), 70, "error: internal: ZeroDivisionError: two lines"),
        (KeyboardInterrupt(), 130, ""),
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


# --- figures and claims ---------------------------------------------------------------------


def test_figures_as_json_and_as_text(tmp_path, capsys) -> None:
    assert run(["figures", "5", "--out", str(tmp_path), "--json"]) == 0
    out, err = capsys.readouterr()
    names = [str(tmp_path / f"pi2_fig05{suffix}") for suffix in (".png", ".svg", ".pdf", ".csv")]
    assert strict_json(out) == {"figures": [{"name": "pi2_fig05", "files": names}]}
    assert err == "drawing pi2_fig05 ...\n"
    assert run(["figures", "5", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == names


@pytest.mark.parametrize(
    ("words", "names"),
    [([], "all"), (["all"], ["all"]), (["4", "7"], ["4", "7"])],
)
def test_the_figures_asked_for_are_drawn(monkeypatch, words, names) -> None:
    asked = []

    def figures(*given: Any, progress: Any) -> list[Any]:
        asked.append(given)
        return []

    monkeypatch.setattr(pi2_fluid.paper.figures, "figures", figures)
    assert run(["figures", *words]) == 0
    assert asked[0][0] == names
    assert str(asked[0][1]) == "figures"


@pytest.fixture
def two_claims(monkeypatch) -> list[str | None]:
    asked: list[str | None] = []

    def claims(paper: str | None = None) -> list[Claim]:
        asked.append(paper)
        return [
            Claim(id="a-1", source="A, 1", text="Up [x].", computed="1", verdict=verdict, why="So.")
            for verdict in ("reproduced", "not_reproduced")
        ]

    monkeypatch.setattr(pi2_fluid.paper.claims, "claims", claims)
    return asked


def test_claims_as_json(two_claims, capsys) -> None:
    assert run(["claims", "--paper", "pie", "--json"]) == 0
    records = strict_json(capsys.readouterr().out)["claims"]
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
    assert out.rstrip().endswith("1 reproduced, 1 not reproduced")
    assert err == "computing the claims ...\n"


# --- help -----------------------------------------------------------------------------------


def words_of_help(capsys, *arguments: str) -> str:
    assert run([*arguments, "-h"]) == 0
    plain = re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", " ", capsys.readouterr().out)
    return re.sub(r"\s+", " ", plain)


def test_help_names_units_choices_examples_and_codes(capsys) -> None:
    text = words_of_help(capsys, "margins")
    for wanted in ("HZ", "TIME", "100ms", "in Hz", "rad/s", "(0, 1]", "pi, pie, pi2, coupled"):
        assert wanted in text, wanted
    assert "pi2-fluid margins --rtt 100ms --p-prime 0.1" in text
    assert '"inf"' in text
    assert "1 unstable" in words_of_help(capsys)
    assert "pi2-fluid figures 4 7" in words_of_help(capsys, "figures")
    assert "pi2, pie, paganini or thesis" in words_of_help(capsys, "claims")


def test_help_states_the_defaults_that_hold(capsys) -> None:
    text = words_of_help(capsys, "margins")
    pi2, pie = pf.Pi2(), pf.Pie()
    assert pf.CoupledPi2().alpha == pi2.alpha
    assert pf.Pi().alpha == pie.alpha
    assert pf.Pi().update_interval == pf.CoupledPi2().update_interval == pi2.update_interval
    assert f"Default {pi2.alpha}, for pi and pie {pie.alpha}." in text
    assert f"Default {pi2.beta}, for pi and pie {pie.beta}." in text
    for name in ("update_interval", "target"):
        ours, theirs = 1e3 * getattr(pi2, name), 1e3 * getattr(pie, name)
        assert f"Default {ours:g}ms, for pie {theirs:g}ms." in text


def test_without_a_command_there_is_help(capsys) -> None:
    assert run([]) == 2
    assert "Commands" in capsys.readouterr().out


def test_version(capsys) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"pi2-fluid {pf.__version__}\n"


@pytest.mark.parametrize("words", [["-h"], ["margins", "-h"], ["figures", "-h"], ["claims", "-h"]])
def test_help_loads_nothing_heavy(words) -> None:
    heavy = ["control", "jax", "matplotlib", "numpy", "pandas", "scipy", "xarray"]
    check = f"""
import atexit, sys
atexit.register(lambda: print(sorted(set({heavy!r}) & set(sys.modules)), file=sys.stderr))"""
    done = in_shell(*words, code=check)
    assert done.returncode == 0
    assert done.stderr == "[]\n"
