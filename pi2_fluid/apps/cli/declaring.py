"""What a command says of itself: its panel on the first screen, examples, JSON, and notes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

# Panels of the first screen, in the order in which `shell.ROOMS` first meets them.
JUDGE: Final = "Judge and set a queue"
TRAFFIC: Final = "Run traffic"
MEASURE: Final = "Measure"
PAPERS: Final = "Papers and tools"


@dataclass(frozen=True)
class Command:
    """A command of the shell."""

    run: Callable[..., None]
    """What it does; its arguments are its options, its docstring is its help."""
    examples: tuple[str, ...]
    """Command lines."""
    panel: str = PAPERS
    """Where the first screen has it."""
    json: Mapping[str, str] = field(default_factory=dict)
    """What `--json` prints: of each key what it means, with its unit; what one form alone
    has begins with "of", "with" or "without"."""
    notes: str = ""
    """What else help says, below the examples; paragraphs with an empty line between."""
    file: str = ""
    """A whole file that it reads."""
    hidden: bool = False
    """That the first screen leaves it out."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.run.__name__

    @property
    def help(self) -> str:
        """What help says above the options: paragraphs, each of one line."""
        paragraphs = inspect.cleandoc(self.run.__doc__ or "").split("\n\n")
        return "\n\n".join(" ".join(text.split()) for text in paragraphs)

    @property
    def epilog(self) -> str:
        """What help says below the options, as the shell's library wants it."""
        parts = ["\n  ".join(("Examples:", *self.examples))]
        if self.file:
            parts.append("\n  ".join(("A whole file:", *self.file.splitlines())))
        if self.notes:
            parts.append(self.notes)
        return "\n\n".join(parts).replace("[", r"\[")

    def each(self) -> Iterator[tuple[str, Command]]:
        """Yield itself by its name."""
        yield self.name, self


@dataclass(frozen=True)
class Group:
    """Commands below a word of their own."""

    name: str
    help: str
    """What all of them are for."""
    commands: tuple[Command, ...]
    panel: str = PAPERS

    def each(self) -> Iterator[tuple[str, Command]]:
        """Yield the commands by their names, behind the word."""
        for command in self.commands:
            yield f"{self.name} {command.name}", command
