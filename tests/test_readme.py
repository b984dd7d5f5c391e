"""What the README and the pages it leads to show runs as shown, and says what comes out."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import pi2_fluid as pf
from pi2_fluid.apps import cli

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
AT_THE_SHELL = (ROOT / "docs/shell.md").read_text(encoding="utf-8")
SAMPLING = (ROOT / "docs/sampling.md").read_text(encoding="utf-8")
SHELL = [
    line.split("#")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", README + AT_THE_SHELL, re.DOTALL)
    for line in block.splitlines()
]


def test_the_readme_is_short():
    assert len(CODE.sub("", README).split()) < 700


@pytest.mark.parametrize("line", [line for line in SHELL if line.startswith("pi2-fluid margins")])
def test_shell(line, capsys):
    assert cli.run(shlex.split(line)[1:]) == 0
    assert "gain margin" in capsys.readouterr().out


@pytest.mark.slow
def test_the_screen_of_tune(capsys):
    (block,) = re.findall(r"```text\n\$ (pi2-fluid tune .*?)```", AT_THE_SHELL, re.DOTALL)
    command, _, screen = block.partition("\n")
    assert cli.run(shlex.split(command)[1:]) == 0
    printed = capsys.readouterr().out.replace("\N{NO-BREAK SPACE}", " ")
    assert [line.rstrip() for line in printed.splitlines()] == screen.splitlines()


def test_every_make_target_exists():
    makefile = (Path(__file__).parents[1] / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", "\n".join(SHELL), re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_the_discovery_is_as_told():
    continuous, sampled = (
        pf.loop.low_load(pf.Reno(), pf.presets.pi2_paper(), 0.1, update).gain_margin_db
        for update in ("continuous", "sampled")
    )
    assert f"{continuous:.1f} dB in the paper's\nmodel" in SAMPLING
    assert f"**{sampled:.1f} dB** in the sampled model" in SAMPLING
