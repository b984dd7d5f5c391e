"""A kernel's source, unpacked: which release it is, whether it will do, what is changed in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from pi2_fluid.errors import BuildError, UnsupportedError
from pi2_fluid.saving import save_bytes

#: The first Linux with sch_dualpi2.
OLDEST: Final = (6, 17)


class Edit(NamedTuple):
    """A change to one file of a source."""

    file: str
    pattern: str
    """A regular expression that fits once."""
    replacement: str
    purpose: str


EDITS: Final = (
    Edit(
        "arch/um/Kconfig",
        r"(?m)^(config HZ\n(?:[ \t]+.*\n)*?[ \t]+default )100$",
        r"\g<1>1000",
        "timers in jiffies, such as PIE's, in steps of 1 ms",
    ),
    # In virtual time every other input is the same in each run.
    Edit(
        "drivers/char/random.c",
        r"(?m)^(static void _mix_pool_bytes\([^)]*\)\n\{\n)",
        "\\g<1>\tif (crng_ready())\n\t\treturn;\n",
        "no entropy mixed in once the generator is ready: runs repeat to the byte",
    ),
)


def release_of(tree: Path) -> str:
    """Return the release that a source says it is, e.g. "7.2.13".

    Raises
    ------
    UnsupportedError
        If it is no kernel's source.
    """
    said: dict[str, str] = dict(
        re.findall(
            r"(?m)^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION) *= *(\S*)$", _text(tree / "Makefile")
        )
    )
    numbers = [said.get("VERSION", ""), said.get("PATCHLEVEL", ""), said.get("SUBLEVEL") or "0"]
    release = ".".join(numbers) + said.get("EXTRAVERSION", "")
    # The kernel's folder will be called so.
    if not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,4}){2}[\w.+~-]{0,64}", release, re.ASCII):
        raise UnsupportedError(
            f"{tree} is no kernel's source, as its Makefile names no version: give the folder that"
            " Kconfig and arch are in, or a package linux-source-X.Y of Debian's."
        )
    return release


def _text(path: Path) -> str:
    """Return a file's text, "" if there is none; what is no UTF-8 stays as it is."""
    return path.read_text("utf-8", "surrogateescape") if path.is_file() else ""


def version_of(release: str) -> tuple[int, int]:
    """Return the first two numbers of a release.

    Examples
    --------
    >>> version_of("7.2.13"), version_of("6.18-rc3")
    ((7, 2), (6, 18))
    """
    first, second = re.findall(r"\d+", release)[:2]
    return int(first), int(second)


def require_usable(tree: Path) -> None:
    """Refuse a source that no guest can be made of.

    Raises
    ------
    UnsupportedError
        If it is older than 6.17, or its User-Mode Linux has no virtual time.
    """
    release = release_of(tree)
    if version_of(release) < OLDEST:
        raise UnsupportedError(
            f"Linux {release} is older than 6.17, the first with DualPI2: give a source of 6.17 or"
            " later, e.g. pi2-fluid linux build."
        )
    kconfig = tree / "arch" / "um" / "Kconfig"
    if "UML_TIME_TRAVEL_SUPPORT" not in _text(kconfig):
        raise UnsupportedError(
            f"the source of Linux {release} has no User-Mode Linux with time travel, in which"
            " guests run: give one with UML_TIME_TRAVEL_SUPPORT in arch/um/Kconfig."
        )


def edit(tree: Path) -> None:
    """Make the changes to an unpacked source.

    Raises
    ------
    BuildError
        If one does not fit any more.
    """
    for change in EDITS:
        path = tree / change.file
        text, count = re.subn(change.pattern, change.replacement, _text(path))
        if count != 1:
            raise BuildError(
                f"Linux {release_of(tree)} has changed {change.file} so that it cannot be edited"
                f" ({change.purpose}): give another version, e.g. --version 7.2, or report it."
            )
        save_bytes(path, text.encode("utf-8", "surrogateescape"))
