"""Sources of kernels as folders: what is needed of one, what may stand in one, its copy, its hash.

A source of somebody else's is written below one folder and nowhere else. So names go down only, and
links stay within, wherever they are followed from: ".." stands at their beginning alone and no more
often than there are folders above, and nothing is ever put below a link.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from pi2_fluid.errors import UnsupportedError, show_value

#: The patterns of what is left out.
UNNEEDED: Final = Path(__file__).parents[1] / "guest" / "unneeded"
#: What make leaves where it has built, and takes for its own.
BUILT: Final = (".config", "include/config", "include/generated")
#: The longest file that is taken for a source, in bytes: Linux 7.2 without compression is 1.6e9.
MOST_BYTES: Final = 8_000_000_000

_ALWAYS: Final = re.compile(r"(Kconfig|Makefile|Kbuild)[^/]*")
# What Linux allows, in bytes, less what the folder itself may have.
_LONGEST_NAME: Final = 255
_LONGEST_PATH: Final = 2000
_DEEPEST: Final = 100  # folders

#: Called as ``progress(done, total)``.
Progress = Callable[[float, float], None]


def is_needed(path: str) -> bool:
    """Return whether a file of a source is needed, by its path in it.

    Examples
    --------
    >>> is_needed("net/sched/sch_pie.c"), is_needed("drivers/gpu/drm/drm_file.c")
    (True, False)
    >>> is_needed("drivers/gpu/drm/Kconfig"), is_needed("drivers/net/veth.c")
    (True, True)
    """
    if _ALWAYS.fullmatch(path.rpartition("/")[2]):
        return True
    fits = [stays for pattern, stays in _patterns() if pattern.match(path)]
    return not fits or fits[-1]


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], bool], ...]:
    lines = UNNEEDED.read_text(encoding="utf-8").splitlines()
    said = [line for line in lines if line and not line.startswith("#")]
    return tuple(
        (re.compile(fnmatch.translate(line.removeprefix("!"))), line.startswith("!"))
        for line in said
    )


def built_in(path: str) -> bool:
    """Return whether a file is one that make leaves where it has built, by its path in a source.

    Examples
    --------
    >>> built_in("include/generated/autoconf.h"), built_in("include/linux/list.h")
    (True, False)
    """
    return any(path == name or path.startswith(f"{name}/") for name in BUILT)


def wrong_name(path: str) -> str:
    """Return in words what is wrong with a path in a source; "" if nothing is.

    Examples
    --------
    >>> wrong_name("net/sched/sch_pie.c")
    ''
    >>> wrong_name("net/../../x")
    "the name 'net/../../x', which leads out of it"
    """
    parts = path.split("/")
    if path.startswith("/") or ".." in parts:
        return f"the name {show_value(path)}, which leads out of it"
    lengths = [len(os.fsencode(part)) for part in (*parts, path)]
    too_long = lengths[-1] > _LONGEST_PATH or max(lengths[:-1]) > _LONGEST_NAME
    if "\0" in path or too_long or len(parts) > _DEEPEST:
        return f"the name {show_value(path)}, which no file can have"
    return ""


def wrong_link(path: str, target: str) -> str:
    """Return in words what is wrong with a link in a source; "" if nothing is.

    Parameters
    ----------
    path : str
        Where it is, a path in which nothing is wrong.
    target : str
        What it says.

    Examples
    --------
    >>> wrong_link("scripts/dtc/arm", "../../arch/arm/dts")
    ''
    >>> wrong_link("scripts/dtc/arm", "../../../arch")
    "the link 'scripts/dtc/arm' to '../../../arch', which leads out of it"
    """
    above = len([part for part in path.split("/")[:-1] if part not in {"", "."}])
    parts = [part for part in target.split("/") if part not in {"", "."}]
    leading = next((i for i, part in enumerate(parts) if part != ".."), len(parts))
    if target.startswith("/") or leading > above:
        return f"the link {show_value(path)} to {show_value(target)}, which leads out of it"
    if not target or wrong_name("/".join(parts[leading:])):
        return f"the link {show_value(path)} to {show_value(target)}, which is no path"
    return ""


def _files_of(tree: Path) -> Iterator[str]:
    """Yield what is needed of a tree, by paths in it, in order.

    Raises
    ------
    UnsupportedError
        If it has what is neither file nor folder nor a link within it.
    """
    for place, folders, files in os.walk(tree):
        folders[:] = sorted(name for name in folders if name != ".git")
        here = Path(place).relative_to(tree)
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        for name in sorted([*files, *links]):
            inside = (here / name).as_posix()
            if is_needed(inside):
                _require_plain(tree, inside)
                yield inside


def _require_plain(tree: Path, inside: str) -> None:
    place = tree / inside
    mode = place.lstat().st_mode
    if stat.S_ISLNK(mode):
        wrong = wrong_link(inside, str(place.readlink()))
    else:
        wrong = "" if stat.S_ISREG(mode) else f"{show_value(inside)}, which is no file"
    if wrong:
        raise UnsupportedError(f"{tree} has {wrong}: take it away, or give another source.")


def copy_tree(tree: Path, folder: Path, progress: Progress) -> None:
    """Copy what is needed of a source into a folder, which is made.

    Parameters
    ----------
    tree, folder : Path
    progress : callable
        Called as ``progress(done, total)``, in files.

    Raises
    ------
    UnsupportedError
        If somebody has built in the tree: make would take those files for its own. If it has what
        is neither file nor folder nor a link within it.
    """
    for name in BUILT:
        if (tree / name).exists():
            raise UnsupportedError(
                f"{tree} has been built in, as {name} is there: clean it by make mrproper, or give"
                " another source."
            )
    names = list(_files_of(tree))
    for i, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(tree / name, folder / name, follow_symlinks=False)
        progress(i + 1, len(names))


def sha256_of_file(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits.

    Raises
    ------
    UnsupportedError
        If it is no file (a device may have no end), or longer than any source.
    """
    found = path.stat()  # before it is opened, as a pipe would wait for somebody to write
    if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
        what = f"has {found.st_size} bytes" if stat.S_ISREG(found.st_mode) else "is no file"
        raise UnsupportedError(
            f"{path} {what}: give a file of up to {MOST_BYTES} bytes, or a folder."
        )
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_of_tree(tree: Path) -> str:
    """Return the SHA-256 over paths and contents of what is needed of a source.

    Raises
    ------
    UnsupportedError
        If it is no folder, or has what is neither file nor folder nor a link within it.
    """
    if not tree.is_dir():
        raise UnsupportedError(f"{show_value(str(tree))} is no folder: give a kernel's source.")
    whole = hashlib.sha256()
    for name in _files_of(tree):
        place = tree / name
        content = str(place.readlink()) if place.is_symlink() else sha256_of_file(place)
        whole.update(os.fsencode(name) + b"\0" + os.fsencode(content) + b"\0")
    return whole.hexdigest()
