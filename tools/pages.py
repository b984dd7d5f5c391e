"""Follow the pages that readers type after, and store what comes: python tools/pages.py [FILE].

Of a page's blocks one with a title is saved under it, ``console`` is run by a shell, command after
command, and ``python`` in one interpreter; what Python prints stands in the ``text`` below it. A
line of ``...`` stands for any lines. Blocks of ``sh`` are for machines that are not here, and are
not run. `differences` says where a page is not what its reader gets; tests/test_pages.py asks it.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

from notebooks import text_differences
from pi2_fluid.saving import save_text

DOCS = Path(__file__).resolve().parents[1] / "docs"
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LEFT_OUT = "..."
END = "-- end of a command --"
PATIENCE = 300  # s for the commands of one block, on a slow and busy machine
#: As wide as the pages show it, and without the colours of a terminal.
SCREEN = {"COLUMNS": "80", "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "MPLBACKEND": "agg"}


@dataclass(frozen=True)
class Block:
    """A block of code of a page: what it is, what it is to be saved as, its text, and where."""

    kind: str
    title: str | None
    text: str
    start: int
    end: int


def pages() -> list[Path]:
    """Return the pages that are to be followed."""
    first = [DOCS.parent / "README.md", DOCS / "index.md"]
    return sorted([*first, *DOCS.glob("tutorials/*.md"), *DOCS.glob("howto/*.md")])


def blocks(text: str) -> list[Block]:
    """Return the blocks of a page in order."""
    found = BLOCK.finditer(text)
    return [Block(one[1], one[2], one[3], one.start(3), one.end(3)) for one in found]


def commands(text: str) -> list[tuple[str, str]]:
    r"""Return the commands of a console, and what stands below each.

    Examples
    --------
    >>> commands("$ echo a\na\n$ true\n")
    [('echo a', 'a\n'), ('true', '')]
    """
    found: list[tuple[str, str]] = []
    for piece in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = piece.splitlines(keepends=True)
        last = next(i for i, line in enumerate(lines) if not line.endswith("\\\n"))
        found.append(("".join(lines[: last + 1]).rstrip("\n"), "".join(lines[last + 1 :])))
    return found


def follow(text: str, folder: Path) -> Iterator[tuple[Block, str]]:
    """Do in a folder what a page says; yield each block that shows an output, as it is now."""
    found = blocks(text)
    space: dict[str, object] = {"__name__": "__main__"}
    with contextlib.chdir(folder), mpl.rc_context():
        for block, after in zip(found, [*found[1:], None], strict=True):
            if block.title is not None:
                save_text(folder / block.title, block.text)
            elif block.kind == "console":
                yield block, _typed(commands(block.text), folder)
            elif block.kind == "python":
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(block.text, "the page", "exec"), space)
                shown = after is not None and after.kind == "text" and after.title is None
                if after is not None and shown:
                    yield after, _shortened(after.text, printed.getvalue())
                elif printed.getvalue():
                    raise ValueError(f"no text block shows what this prints: {block.text}")


def _typed(session: list[tuple[str, str]], folder: Path) -> str:
    """Return a console as it is after its commands, in one shell."""
    lines = ["exec 2>&1"]
    for command, _ in session:
        lines += [command, f"kept=$?; echo '{END}'; (exit $kept)"]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)],
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        cwd=folder,
        env=os.environ | SCREEN | {"PATH": path},
        timeout=PATIENCE,
        check=False,
    )
    printed = done.stdout.split(f"{END}\n")[:-1]
    return "".join(
        f"$ {command}\n{_shortened(shown, output)}"
        for (command, shown), output in zip(session, printed, strict=True)
    )


def _shortened(stored: str, fresh: str) -> str:
    """Return an output without trailing blanks, and with what the page leaves out left out."""
    now = [line.replace("\N{NO-BREAK SPACE}", " ").rstrip() for line in fresh.splitlines()]
    while now and not now[-1]:
        now.pop()
    shown = stored.splitlines()
    if LEFT_OUT in shown:
        head = shown.index(LEFT_OUT)
        tail = len(shown) - head - 1
        if len(now) > head + tail:
            now = [*now[:head], LEFT_OUT, *now[len(now) - tail :]]
    return "".join(f"{line}\n" for line in now)


def differences(path: Path, folder: Path) -> list[str]:
    """Return a sentence for each output of a page that is not what its reader gets."""
    text = path.read_text(encoding="utf-8")
    return [
        f"{path.name}: {what}"
        for block, now in follow(text, folder)
        for what in text_differences(block.text, now)
    ]


def store(path: Path) -> None:
    """Follow a page, and store what comes where it is something else."""
    text = made = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        changes = [
            (block, now)
            for block, now in follow(text, Path(folder))
            if text_differences(block.text, now)
        ]
    for block, now in reversed(changes):
        made = made[: block.start] + now + made[block.end :]
    save_text(path, made)


if __name__ == "__main__":
    for path in [Path(name) for name in sys.argv[1:]] or pages():
        print(f"following {path.name} ...", flush=True)
        store(path)
