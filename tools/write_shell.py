"""Bring what `--help` and codes.py say into docs/reference: python tools/write_shell.py.

Three pages: the commands, what `--json` prints, and exit codes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import typer

from pi2_fluid.apps.cli import codes
from pi2_fluid.apps.cli.declaring import Command
from pi2_fluid.apps.cli.shell import ROOMS, app_for, declared
from pi2_fluid.saving import save_text

REFERENCE: Final = Path(__file__).resolve().parents[1] / "docs" / "reference"
#: Options of the same meaning everywhere, which are said once.
COMMON: Final = ("as_json", "help_json", "help")
SHELL: Final = """# Commands of the shell

What `pi2-fluid COMMAND -h` says, command by command. [Work at the shell](../shell.md) shows them
at work.

Every command has `-h`, `--help`, too. Most have `--json`, by which they print one
[JSON object](json.md) in SI units instead of text. They end with an [exit code](exit_codes.md)."""
JSON: Final = """# JSON of the shell

`pi2-fluid COMMAND --json` prints one object, and `pi2-fluid COMMAND --help-json` what is in it: the
list below. Numbers are in SI units: s, bit/s, Hz, rad/s, bytes; windows in segments. What is
infinite, as a margin without a crossover, is the text `"inf"` or `"-inf"`. What is not a number is
`null`."""
CODES: Final = """# Exit codes

What `pi2-fluid` leaves to the shell that called it, as in `pi2-fluid check queues.txt || ...`.

| code | means | |
|---|---|---|"""


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
            word = word if parameter.required or word.startswith("[") else f"[{word}]"
            words.append(word if parameter.nargs == 1 or "..." in word else f"{word}...")
    return " ".join(words)


def blocks(name: str, declaration: Command, command: Any, printed: dict[str, str]) -> Iterator[str]:
    """Yield the blocks of one command, whose entries are `printed` by commands before, or now."""
    yield f"### {name}"
    yield plain(command.help or "")
    yield f"```text\n{usage(name, command)}\n```"
    panels: dict[str, list[str]] = {}
    again: dict[str, list[str]] = {}
    for parameter in command.params:
        if parameter.name in COMMON:
            continue
        entry = described(parameter)
        if (before := printed.setdefault(entry, name)) != name:
            again.setdefault(before, []).append(called(parameter))
            continue
        panel = getattr(parameter, "rich_help_panel", None) or ""
        panels.setdefault(panel, []).append(entry)
    for panel, entries in panels.items():
        if panel:
            yield f"**{panel}**"
        yield "\n".join(entries)
    for before, entries in again.items():
        yield f"As [{before}](#{before.replace(' ', '-')}) has them: {', '.join(entries)}."
    yield "**Examples**\n\n```sh\n" + "\n".join(declaration.examples) + "\n```"
    if declaration.file:
        yield f"**A whole file**\n\n```toml\n{declaration.file}\n```"
    for note in filter(None, declaration.notes.split("\n\n")):
        yield f"* {plain(note)}" if note.startswith("  ") else plain(note)


def commands() -> dict[str, list[tuple[str, Command, Any]]]:
    """Return the commands of each panel: names, what they declare, and what the library made."""
    shell: Any = typer.main.get_command(app_for([]))
    there = {one.name: one for one in declared([])}
    panels: dict[str, list[tuple[str, Command, Any]]] = {}
    for word in ROOMS:
        one = there[word]
        if isinstance(one, Command) and one.hidden:
            continue
        for name, command in one.each():
            made = shell
            for part in name.split():
                made = made.commands[part]
            panels.setdefault(one.panel, []).append((name, command, made))
    return panels


def shell_page() -> str:
    """Return the page of the commands."""
    parts = [SHELL]
    told: dict[str, str] = {}
    for panel, there in commands().items():
        parts.append(f"## {panel}")
        parts += [block for one in there for block in blocks(*one, told)]
    return "\n\n".join(parts) + "\n"


def json_page() -> str:
    """Return the page of what commands print as JSON."""
    parts = [JSON]
    for name, command, _ in (one for there in commands().values() for one in there):
        if command.json:
            parts += [f"## {name}", table(command.json)]
    return "\n\n".join(parts) + "\n"


def table(keys: Mapping[str, str]) -> str:
    """Return keys and what they mean as a table."""
    rows = (f"| `{key}` | {plain(text).replace('|', '&#124;')} |" for key, text in keys.items())
    return "\n".join(["| key | |", "|---|---|", *rows])


def codes_page() -> str:
    """Return the page of the exit codes."""
    rows = (f"| {code} | {means} | {more} |" for code, (means, more) in codes.MEANINGS.items())
    return "\n".join([CODES, *rows]) + "\n"


#: What this writes.
PAGES: Final = {"shell.md": shell_page, "json.md": json_page, "exit_codes.md": codes_page}


if __name__ == "__main__":
    for name, page in PAGES.items():
        save_text(REFERENCE / name, page())
