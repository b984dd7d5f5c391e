"""docs/questions.md: what people search for is found, and what it says can be done."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

import pi2_fluid as pf
from pi2_fluid.apps.cli.shell import app_for

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/questions.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n)+)", PAGE, re.MULTILINE))
BUFFERBLOAT = "Is it bufferbloat, and would another queue help?"
QUESTIONS = {asked: said for asked, said in SECTIONS.items() if "### " not in said}
SHELL = [
    line.rpartition("| ")[2]
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
]


@pytest.mark.parametrize(
    "word",
    [
        "satellite",
        "Starlink",
        "LTE",
        "Wi-Fi",
        "DOCSIS",
        "cable",
        "OpenWrt",
        "cake",
        "fq_codel",
        "oscillate",
        "bufferbloat",
        "BBR",
        "root locus",
        "LaTeX",
        "checkpoint",
    ],
)
def test_a_word_that_people_search_for_is_in_a_question(word: str) -> None:
    assert [asked for asked in QUESTIONS if word.lower() in asked.lower()]


@pytest.mark.parametrize("asked", QUESTIONS)
def test_a_question_has_a_short_answer_something_to_do_and_a_way_on(asked: str) -> None:
    prose = re.sub(r"```.*?```", "", QUESTIONS[asked], flags=re.DOTALL)
    assert len(prose.split()) < 120
    assert "```" in QUESTIONS[asked]
    assert "](" in prose


@pytest.mark.parametrize("line", SHELL)
def test_its_commands_have_these_options(line: str) -> None:
    name, *words = shlex.split(line)
    assert name == "pi2-fluid"
    command = typer.main.get_command(app_for(words))
    while isinstance(command, typer.core.TyperGroup):
        name, *words = words
        command = command.commands[name]
    command.make_context(name, words)


@pytest.mark.slow
def test_an_aqm_shortens_the_delay_of_a_large_buffer() -> None:
    text = re.findall(r"```toml\n(.*?)```", SECTIONS[BUFFERBLOAT], re.DOTALL)[0]
    (said,) = re.findall(
        r"P99 is (\d+) ms in that buffer. Under DualPI2 it is (\d+) ms, and (\d+) % of the link",
        PAGE,
    )
    buffer, managed = (
        pf.summarize(
            pf.simulate(pf.Scenario.from_toml(text.replace("taildrop", kind)), pf.Packets()),
            after="10s",
        ).mean("seed")
        for kind in ("taildrop", "dualpi2")
    )
    measured = 1e3 * buffer.delay_p99, 1e3 * managed.delay_p99, 100 * managed.utilization
    assert [f"{float(value):.0f}" for value in measured] == list(said)
    assert float(buffer.utilization) > 0.995


def test_its_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "questions.md", "exec"), {})
    assert capsys.readouterr().out


def test_every_need_is_answered_or_not_and_says_where() -> None:
    rows = re.findall(r"^\| (.+) \| (.+) \| (.*)\|$", PAGE, re.MULTILINE)
    rows = [row for row in rows if row[1] != "here"]
    assert len(rows) > 20
    for asked, answer, where in rows:
        word = re.match(r"answered|partly(?=:)|not(?=:)", answer)
        assert word, asked
        assert (word[0] == "not") == ("](" not in where), asked
