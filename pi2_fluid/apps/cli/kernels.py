"""Kernels for guests: `pi2-fluid linux build`, `pi2-fluid linux info`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pi2_fluid.apps.cli import codes
from pi2_fluid.apps.cli.declaring import Command, Group
from pi2_fluid.apps.cli.options import option, read_whole
from pi2_fluid.apps.cli.output import JsonFlag, make_console, make_grid, print_json
from pi2_fluid.progress import Line

if TYPE_CHECKING:
    from pi2_fluid.engines.linux.kernels import Kernel

_EVERY: Final = 0.1  # s between two lines
_STAYING: Final = 60.0  # s between two that stay


class _Shown:
    """What a build does, a line for each of its parts."""

    def __init__(self) -> None:
        self.line, self.part, self.at, self.begun = Line(), "", 0.0, 0.0

    def end(self) -> None:
        """Take the line away."""
        self.line.__exit__(None, None, None)

    def __call__(self, step: str, done: float, total: float, unit: str) -> None:
        now = time.monotonic()
        if step != self.part:
            self.end()
            self.line, self.part, self.begun = Line(), step, now
        elif now - self.at < _EVERY:
            return
        self.at = now
        if total:
            self.line.show(f"{step} {done:.0f} of {total:.0f} {unit}", f"{step} {total:.0f} {unit}")
        elif done:
            now_done = f"{step}, {done:.0f} {unit} in {now - self.begun:.0f} s"
            self.line.show(now_done, f"{step}, seven minutes of one core or so", _STAYING)
        else:
            self.line.show(step, step)


def build(
    version: Annotated[
        str | None,
        option("VERSION", "7.2 or 7.2.13, from 6.17 on. Default: the newest of Debian's."),
    ] = None,
    source: Annotated[
        Path | None,
        option(
            "PATH",
            "A kernel's source of your own: a folder, a package linux-source-X.Y, or a tar"
            " archive.",
        ),
    ] = None,
    mirror: Annotated[
        str | None,
        option(
            "URL",
            "Debian's archive. Default: $PI2_FLUID_DEBIAN_MIRROR, or"
            " https://deb.debian.org/debian.",
        ),
    ] = None,
    jobs: Annotated[
        str | None,
        option(
            "NUMBER",
            "Files compiled side by side. Default: one for each core.",
            None,
            "-j",
            "--jobs",
        ),
    ] = None,
    keep_source: Annotated[
        bool,
        option(None, "Keep package and source in the cache, 0.6 GB.", None, "--keep-source"),
    ] = False,
    unchecked: Annotated[
        bool,
        option(
            None,
            "Go on though nothing here can check Debian's signature, or its list is out of date.",
            None,
            "--unchecked",
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Build a Linux kernel that runs as a program.

    Any user can: it fetches a source package that Debian has signed, and compiles what guests need.
    After Ctrl-C the same command goes on.
    """
    from pi2_fluid.engines.linux.building.builder import build_kernel

    wanted = None if jobs is None else read_whole(jobs, "--jobs", "files")
    shown = _Shown()
    try:
        kernel = build_kernel(
            version,
            source,
            mirror=mirror,
            jobs=wanted,
            keep_source=keep_source,
            unchecked=unchecked,
            told=shown,
        )
    except KeyboardInterrupt:
        shown.end()
        typer.echo("What is done is kept: the same command goes on.", err=True)
        raise typer.Exit(codes.INTERRUPTED) from None
    finally:
        shown.end()
    if as_json:
        print_json(_record(kernel))
    else:
        _print([kernel])


def info(as_json: JsonFlag = False) -> None:
    """List the kernels that were built, and what each has."""
    from pi2_fluid.engines.linux.kernels import find_kernel, list_kernels

    there = list_kernels()
    if as_json:
        print_json({"kernels": [_record(kernel) for kernel in there]})
    elif there:
        _print(there)
    else:
        find_kernel()  # says that there is none, and what to do


def _record(kernel: Kernel) -> dict[str, Any]:
    return {
        "release": kernel.release,
        "folder": str(kernel.folder),
        "bytes": _size(kernel),
        "qdiscs": list(kernel.qdiscs),
        "congestion_controls": list(kernel.congestion_controls),
        "manifest": kernel.manifest,
    }


def _size(kernel: Kernel) -> int:
    return sum(path.stat().st_size for path in kernel.folder.iterdir())


def _print(kernels: list[Kernel]) -> None:
    console = make_console()
    for kernel in kernels:
        made = kernel.manifest
        grid = make_grid("left", "left")
        rows = {
            "queues": ", ".join(kernel.qdiscs),
            "senders": ", ".join(kernel.congestion_controls),
            "not in it": ", ".join(made["without"]) or "nothing that was asked for",
            "made of": kernel.source,
            "signature": made["source"].get("signature", "not checked: not fetched from Debian"),
            "made by": f"{made['compiler']}, {made['built']}, in {made['wall_seconds']:.0f} s",
            "where": f"{kernel.folder}, {_size(kernel) / 1e6:.1f} MB",
        }
        for name, text in rows.items():
            grid.add_row(f"  {name}", text)
        console.print(f"Linux {kernel.release}")
        console.print(grid)


COMMANDS: tuple[Group, ...] = (
    Group(
        "linux",
        "Build the Linux kernel that --engine linux runs scenarios in.",
        (
            Command(
                build,
                examples=(
                    "pi2-fluid linux build",
                    "pi2-fluid linux build --version 7.2 --keep-source",
                    "pi2-fluid linux build --source ~/linux-7.2",
                ),
                json={
                    "release": "its version",
                    "folder": "where it is",
                    "bytes": "its size",
                    "qdiscs": "queue disciplines that it has",
                    "congestion_controls": "senders that it has",
                    "manifest": "what it was made of, and how",
                },
                notes=(
                    "It needs gcc, make, flex, bison, bc, gpgv and debian-archive-keyring, and 1 GB"
                    " of disk while it runs. The kernel takes 6 MB. One that is in the cache is not"
                    " built again."
                ),
            ),
            Command(
                info,
                examples=("pi2-fluid linux info", "pi2-fluid linux info --json"),
                json={
                    "kernels": "a list of what `linux build` says of one, the newest first",
                },
            ),
        ),
    ),
)
