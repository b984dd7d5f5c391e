"""What Tab completes: commands, options and names, in the shells that ask for it."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

import pi2_fluid as pf
from pi2_fluid.apps.cli import completing, run
from pi2_fluid.apps.cli.shell import ROOMS
from pi2_fluid.engines.simulating import ENGINES
from pi2_fluid.papers.claims import PAPERS
from pi2_fluid.papers.registry import find_figures

VISIBLE = [name for name in ROOMS if name != "figures"]


def asked_by(shell: str, line: str, monkeypatch, capsys) -> str:
    """What is printed for a line whose last word is being written, as each shell asks."""
    *before, last = line.split(" ")
    monkeypatch.setenv("_PI2_FLUID_COMPLETE", f"complete_{shell}")
    if shell == "bash":
        monkeypatch.setenv("COMP_WORDS", "\n".join([*before, last]))
        monkeypatch.setenv("COMP_CWORD", str(len(before)))
    else:
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    assert run([]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("pi2-fluid ", VISIBLE),
        ("pi2-fluid sc", ["scenarios", "schema"]),
        ("pi2-fluid sweep --st", ["--store"]),
        ("pi2-fluid linux b", ["build"]),
        ("pi2-fluid simulate pi2_fig12", ["pi2_fig12_pi2", "pi2_fig12_pie"]),
        ("pi2-fluid simulate - --engine ", list(completing.ENGINES)),
        ("pi2-fluid compare - --clock a", ["acks"]),
        ("pi2-fluid figure thesis_fig4_1", ["thesis_fig4_10", "thesis_fig4_11"]),
        ("pi2-fluid figure pi2_fig04 ours", ["ours"]),
        ("pi2-fluid claims --paper t", ["thesis"]),
        ("pi2-fluid traffic ", list(pf.traffic_names())),
        ("pi2-fluid tune --traffic ho", ["home"]),
        ("pi2-fluid margins --aqm linux_", ["linux_pie", "linux_dualpi2"]),
        ("pi2-fluid tune --aqm fq", ["fq_pie"]),
        ("pi2-fluid check - --sender re", ["reno"]),
        ("pi2-fluid simulate mine.t", []),  # files are the shell's own
        ("pi2-fluid simulate - --plot ", []),
    ],
)
def test_words_are_completed(line, offered, monkeypatch, capsys) -> None:
    assert asked_by("bash", line, monkeypatch, capsys).split() == offered


def test_other_shells_show_what_each_is(monkeypatch, capsys) -> None:
    line = "pi2-fluid sch"
    assert "schema\tPrint the JSON Schema" in asked_by("fish", line, monkeypatch, capsys)
    assert '"schema":"Print the JSON Schema' in asked_by("zsh", line, monkeypatch, capsys)
    assert asked_by("zsh", "pi2-fluid simulate mine.t", monkeypatch, capsys) == "_files\n"


def test_fish_completes_files_where_there_is_no_name(monkeypatch) -> None:
    monkeypatch.setenv("_PI2_FLUID_COMPLETE", "complete_fish")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "is-args")
    for line, code in (("pi2-fluid simulate pi2", 0), ("pi2-fluid simulate mine.t", 1)):
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
        assert run([]) == code


def test_names_are_those_that_commands_take() -> None:
    assert set(ENGINES) == set(completing.ENGINES)
    assert set(completing.papers()) == set(PAPERS)
    for name in completing.figures():
        assert find_figures(name)


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", ".bash_completions/pi2-fluid.sh"),
        ("zsh", ".zfunc/_pi2-fluid"),
        ("fish", ".config/fish/completions/pi2-fluid.fish"),
    ],
)
def test_the_script_is_shown_and_installed(shell, file, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    # Otherwise the shell that runs the tests is found, and takes no name.
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    assert run(["--show-completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"_PI2_FLUID_COMPLETE=complete_{shell}" in script
    assert run(["--install-completion", shell]) == 0
    assert (tmp_path / file).read_text().strip() == script.strip()


@pytest.mark.slow
def test_bash_completes(tmp_path, monkeypatch, capsys) -> None:
    """The whole way: the script in a bash, which calls the program."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    program = tmp_path / "pi2-fluid"
    call = f"{sys.executable} -c 'from pi2_fluid.apps.cli import main; main()'"
    program.write_text(f'#!/bin/sh\nexec {call} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    run(["--show-completion", "bash"])
    script = f"""
{capsys.readouterr().out}
COMP_WORDS=(pi2-fluid scenarios pi2_fig12_pi2)
COMP_CWORD=2
_pi2_fluid_completion {program}
echo "${{COMPREPLY[@]}}"
"""
    done = subprocess.run([bash, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout.split() == ["pi2_fig12_pi2"]


@pytest.mark.slow
@pytest.mark.parametrize("line", ["pi2-fluid ", "pi2-fluid figure p", "pi2-fluid simulate p"])
def test_completion_loads_nothing_heavy(line) -> None:
    code = f"""
import os, sys
os.environ |= {{"_PI2_FLUID_COMPLETE": "complete_bash", "COMP_WORDS": {line!r}}}
os.environ["COMP_CWORD"] = "{line.count(" ")}"
from pi2_fluid.apps.cli import run
assert run([]) == 0
heavy = {{"jax", "matplotlib", "numpy", "pandas", "scipy", "xarray"}}
print(sorted(heavy & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout
    assert done.stderr == "[]\n"
