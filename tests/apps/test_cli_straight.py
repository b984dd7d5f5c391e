"""Command lines read without the shell's library beside the same read by it."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import shlex
import subprocess
import sys

import pytest
import typer

from pi2_fluid.apps.cli import checks, shell, watching
from pi2_fluid.apps.cli.declaring import Command
from pi2_fluid.apps.cli.straight import plain

CHECK = checks.COMMANDS[0]
WATCH = watching.COMMANDS[0]
LINE = "'tc qdisc replace dev eth0 root dualpi2'"


def by_library(command: Command, words: list[str]) -> dict[str, object]:
    """What the command is called with by the library."""
    given: dict[str, object] = {}

    @functools.wraps(command.run)
    def run(**kwargs: object) -> None:
        given.update(kwargs)

    app = typer.Typer()
    app.callback()(lambda: None)
    shell._add(app, dataclasses.replace(command, run=run), None)
    app([command.name, *words], standalone_mode=False)
    return given


@pytest.mark.parametrize(
    "line",
    [
        LINE,
        "-",
        f"{LINE} --rtt 100ms",
        f"--rtt 100ms {LINE} --json --sender reno,scalable",
        f"{LINE} --rtt 10ms --rtt 20ms",
        f"{LINE} --traffic home --traffic file.toml",
        "--aqm docsis_pie --hz 250 --kernel ''",
        "''",
        "",
        f"{LINE} --flows 1:20 --rate 5.5Mbit/s --max-base-rtt 92ms --require 6dB",
    ],
)
def test_a_plain_line_gives_what_the_library_makes_of_it(line):
    words = shlex.split(line)
    assert plain(CHECK, words) == by_library(CHECK, words)


@pytest.mark.parametrize("example", [*CHECK.examples, *WATCH.examples])
def test_examples_in_the_help_are_read_alike(example):
    *_, line = example.split("pi2-fluid ")
    name, *words = shlex.split(re.split(" [>|] ", line)[0], comments=True)
    command = {"check": CHECK, "watch": WATCH}[name]
    found = plain(command, words)
    assert found is not None
    assert found == by_library(command, words)


@pytest.mark.parametrize(
    "line",
    [
        "--help",
        "-h",
        "--help-json",
        "--rtt=100ms -",
        "- --rtt",
        "- --rtt --json",
        "- another",
        "- --unknown 3",
        "-- -",
        "- --rt 100ms",
        "- --rtt -5ms",
    ],
)
def test_what_is_not_plain_is_left_to_the_library(line):
    assert plain(CHECK, shlex.split(line)) is None


def test_a_command_whose_values_are_converted_is_left_to_the_library():
    simulate = next(one for one in shell.declared(["simulate"]) if isinstance(one, Command))
    assert plain(simulate, ["file.toml"]) is None


@pytest.mark.slow
def test_a_plain_line_imports_no_validation():
    """Neither pydantic, which the library reads values with, nor SciPy, xarray and pint."""
    code = (
        "import sys\nfrom pi2_fluid.apps.cli import run\n"
        f"code = run(['check', {shlex.split(LINE)[0]!r}])\n"
        "heavy = {'pydantic', 'scipy', 'xarray', 'pandas', 'pint', 'jax', 'matplotlib'}\n"
        "print(code, sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "0 []"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="pipes of a POSIX shell")
def test_a_pipe_that_closes_early_is_no_verdict():
    code = "from pi2_fluid.apps.cli import main; main()"
    line = f"{shlex.quote(sys.executable)} -c {shlex.quote(code)} check --aqm pi2"
    found = subprocess.run(
        ["bash", "-c", f"{line} | true; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() in (["141"], ["0"])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--rate", "10MB"], "--rate 10MB has the unit 'MB'"),
        (["--rtt", "100kg"], "--rtt 100kg has the unit 'kg'"),
        (["--flows", "0:5", "--rate", "1Mbit/s"], "--flows '0:5' has no flows"),
        (["--flows", "3:"], "--flows 3: bounds no load"),
        (["--traffic", "nowhere"], "--traffic nowhere is no word"),
        (["--traffic", "home", "--traffic", "home"], "--traffic home is given twice"),
        (["--rtt"], "see pi2-fluid check -h"),
    ],
)
def test_mistakes_are_named_by_their_options(words, sentence, capsys):
    assert shell.run(["check", *shlex.split(LINE), *words]) == 2
    assert sentence in capsys.readouterr().err
