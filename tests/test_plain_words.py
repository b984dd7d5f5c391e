"""The rules of plain words, as far as a machine can ask for them; CONTRIBUTING.md has them.

Whatever command is added is asked here, too: that it has its panel, a sentence that says what it
answers, examples that parse, and help without long sentences and without second words for a thing.
"""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from pi2_fluid.apps.cli import codes, declaring
from pi2_fluid.apps.cli.declaring import Command
from pi2_fluid.apps.cli.shell import app_for, declared

#: Of the first screen: what is left of 80 columns beside the names of commands.
LONGEST_SUMMARY = 65
LONGEST_SENTENCE = 30
#: Words that stand for a thing that the table of CONTRIBUTING.md calls otherwise.
OTHER_WORDS = re.compile(
    r"\b(swings?|swinging|swung|ringing|hunts|hunting|calms?|calmly|(?:come|came)s? to rest"
    r"|coming to rest)\b",
    re.IGNORECASE,
)
ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

COMMANDS = dict(pair for one in declared([]) for pair in one.each())
PANELS = {value for name, value in vars(declaring).items() if name.isupper()}


@functools.cache
def made(name: str = "") -> Any:
    """What the shell's library makes of a command, or of all."""
    one: Any = made() if name else typer.main.get_command(app_for([]))
    for word in name.split():
        one = one.commands[word]
    return one


def texts(name: str) -> Iterator[str]:
    """All that help says of a command in sentences."""
    yield from made(name).help.split("\n\n")
    yield from (parameter.help or "" for parameter in made(name).params)
    yield from COMMANDS[name].notes.split("\n\n")
    for text in COMMANDS[name].json.values():
        yield from text.split("; ")


def sentences(text: str) -> list[str]:
    """Split after a full stop; what is in a list stands for itself."""
    text = " ".join(text.split())
    return [part for part in re.split(r"(?<=[.!?]\)) |(?<=[.!?]) ", text) if part]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_what_it_answers_in_a_line(name: str) -> None:
    summary = COMMANDS[name].help.partition("\n")[0]
    assert len(sentences(summary)) == 1
    assert summary.endswith(".")
    assert len(summary) <= LONGEST_SUMMARY, f"{summary!r} has {len(summary)} characters"


def test_a_command_is_in_a_panel() -> None:
    for one in declared([]):
        assert one.panel in PANELS
        if not isinstance(one, Command):
            assert len(one.help) <= LONGEST_SUMMARY


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_parse(name: str) -> None:
    """Each calls the command, with options that it has and as many words as it takes."""
    command, lines = made(name), COMMANDS[name].examples
    assert lines
    for line in lines:
        calls: list[list[str]] = [[]]
        for word in shlex.split(re.sub(r"(?<=\s)([|<>;])(?=\s)", r" '\1' ", line)):
            if word in {"|", ";"} or word.endswith(";"):
                calls.append([])
            else:
                calls[-1].append(word)
        mine = [
            call for call in calls if call[: 1 + len(name.split())] == ["pi2-fluid", *name.split()]
        ]
        assert mine or COMMANDS[name].hidden, line
        for call in mine:
            ends = [k for k, word in enumerate(call) if word in {"<", ">"}]
            arguments = call[1 + len(name.split()) : min(ends, default=len(call))]
            command.make_context(name, arguments)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_no_long_sentence(name: str) -> None:
    long = [
        one
        for text in texts(name)
        for one in sentences(text)
        if len(one.split()) > LONGEST_SENTENCE
    ]
    assert not long, long


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_one_word_for_a_thing(name: str) -> None:
    said = [text for text in texts(name) if OTHER_WORDS.search(text)]
    assert not said, said


def test_exit_codes_are_explained_in_short_sentences() -> None:
    for means, more in codes.MEANINGS.values():
        assert len(means.split()) <= 5
        assert all(len(one.split()) <= LONGEST_SENTENCE for one in sentences(more))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_have_one_word_for_a_thing(page: Path) -> None:
    """But for names in code, and the list of words that are not to be used."""
    text = re.sub(r"`[^`\n]*`|\((?:not|no more) [^)]*\)", "", page.read_text(encoding="utf-8"))
    found = [line for line in text.splitlines() if OTHER_WORDS.search(line)]
    assert not found, found
