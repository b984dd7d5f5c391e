"""Bring docs/reference/shell.md up to date with what `--help` says: python tools/write_shell.py."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from pi2_fluid.apps.cli import codes
from pi2_fluid.apps.cli.shell import app_for
from pi2_fluid.saving import save_text

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "shell.md"
HEAD = """# Commands of the shell

What `pi2-fluid COMMAND -h` says, command by command. [Work at the shell](../shell.md) shows them
at work.
"""
#: Options of the same meaning everywhere, which are said once.
COMMON = ("as_json", "help")
#: What the text below a command introduces as code, and in which language.
INTRODUCED = {"Examples:": "sh", "A whole FILE:": "toml"}


def plain(text: str) -> str:
    """Return a sentence of help as Markdown on one line: long options and variables as code."""
    text = " ".join(text.replace(r"\[", "[").split()).replace("*", r"\*").replace("<", "&lt;")
    return re.sub(r"(?<![\w`-])(--[a-z][a-z0-9-]*|[$][A-Z_0-9]+)", r"`\1`", text)


def called(parameter: Any) -> str:
    """Return how a parameter is given: its options, and what follows them."""
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    names = ", ".join(parameter.opts + parameter.secondary_opts)
    takes = "" if parameter.is_flag else f" {parameter.metavar or parameter.type.name.upper()}"
    return f"`{names}{takes}`"


def described(parameter: Any) -> str:
    """Return an entry of a list: how a parameter is given, what it is, and its default."""
    said = plain(parameter.help or "")
    default = parameter.default
    flag = getattr(parameter, "is_flag", False)
    if parameter.show_default and not flag and isinstance(default, (str, int, float)):
        said = f"{said} Default `{default}`."
    return f"* {called(parameter)}: {said}"


def usage(name: str, command: Any) -> str:
    """Return how a command is called."""
    words = [f"pi2-fluid {name} [OPTIONS]"]
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            word = parameter.metavar or parameter.name.upper()
            words.append(word if parameter.required or word.startswith("[") else f"[{word}]")
    return " ".join(words)


def lines(name: str, command: Any) -> Iterator[str]:
    """Yield the blocks of one command."""
    yield f"## {name}"
    yield plain(command.help or "")
    yield f"```text\n{usage(name, command)}\n```"
    panels: dict[str, list[str]] = {}
    for parameter in command.params:
        if parameter.name not in COMMON:
            panel = getattr(parameter, "rich_help_panel", None) or ""
            panels.setdefault(panel, []).append(described(parameter))
    for panel, entries in panels.items():
        if panel:
            yield f"**{panel}**"
        yield "\n".join(entries)
    yield from below(command.epilog or "")


def below(text: str) -> Iterator[str]:
    """Yield the blocks of what stands below the options: examples, JSON, and more sentences."""
    paragraphs = [one.replace(r"\[", "[") for one in text.split("\n\n")]
    while paragraphs:
        said = paragraphs.pop(0)
        if said in INTRODUCED:
            shown = []
            while (
                paragraphs and paragraphs[0] not in INTRODUCED and not paragraphs[0].endswith(".")
            ):
                shown.append(paragraphs.pop(0))
            code = textwrap.dedent("\n".join(shown))
            yield f"**{said.rstrip(':')}**\n\n```{INTRODUCED[said]}\n{code}\n```"
        elif said.startswith("  "):
            yield f"* {plain(said)}"
        else:
            yield re.sub(r"^JSON:", "**JSON**:", plain(said))


def commands(shell: Any) -> Iterator[tuple[str, Any]]:
    """Yield all commands by what they are called, also those below a word of their own."""
    for name, one in shell.commands.items():
        below_it = dict(commands(one)) if hasattr(one, "commands") else {}
        yield from {f"{name} {word}": it for word, it in below_it.items()}.items() or [(name, one)]


def page() -> str:
    """Return the page of today."""
    shell: Any = typer.main.get_command(app_for([]))
    blocks = [block for name, one in commands(shell) for block in lines(name, one)]
    common = (
        "Every command has `-h`, `--help`, too; most have `--json`, by which they print one JSON"
        " object, in SI units, instead of text."
    )
    return "\n\n".join([HEAD.rstrip(), common, plain(codes.EXPLAINED), *blocks]) + "\n"


if __name__ == "__main__":
    save_text(PAGE, page())
