"""The kernels that guests can boot: what is in the cache, and which one to take."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pi2_fluid.engines.linux.building.configuration import congestion_controls_of, qdiscs_of
from pi2_fluid.engines.linux.building.sources import version_of
from pi2_fluid.engines.linux.caching import cache_folder
from pi2_fluid.engines.linux.guests import seed_library
from pi2_fluid.errors import QuantityError, UnsupportedError, show_value

#: The environment variable that names a kernel's folder.
VARIABLE: Final = "PI2_FLUID_KERNEL"

_REMEDY: Final = "build one by pi2-fluid linux build"


@dataclass(frozen=True)
class Kernel:
    """A kernel that guests can boot."""

    folder: Path
    release: str
    """The kernel's own version: "7.2.13"."""
    version: tuple[int, int]
    """Its first two numbers: (7, 2)."""
    qdiscs: tuple[str, ...]
    """The queue disciplines it has, as tc calls them."""
    congestion_controls: tuple[str, ...]
    """The congestion controls it has, as TCP_CONGESTION calls them."""
    configuration: str
    """The SHA-256 of its .config."""
    source: str
    """What it was made of: the package's file or the tree, and its SHA-256."""
    manifest: dict[str, Any]
    """All that is known of how it was made."""

    @property
    def image(self) -> Path:
        """The kernel itself, which runs as a program."""
        return self.folder / "uml"

    @property
    def seed_library(self) -> Path:
        """The library that gives it random numbers by a seed; compiled when first asked for.

        Raises
        ------
        BuildError
            If there is no compiler.
        """
        return seed_library()


def kernels_folder() -> Path:
    """Return the folder that has a folder for each kernel; it need not exist."""
    return cache_folder() / "kernels"


def list_kernels() -> list[Kernel]:
    """Return the kernels of the cache, the newest version first.

    Of one version the one that was built last is first.
    """
    found = [
        read_kernel(path.parent)
        for path in sorted(kernels_folder().glob("*/manifest.json"))
        if (path.parent / "uml").is_file()
    ]
    return sorted(found, key=_by_version, reverse=True)


def _by_version(kernel: Kernel) -> tuple[list[int], str]:
    return [int(n) for n in re.findall(r"\d+", kernel.release)], kernel.manifest["built"]


def find_kernel(which: str | Path | None = None) -> Kernel:
    """Return a kernel that guests can boot.

    Parameters
    ----------
    which : str, Path or None
        A version ("7.2" or "7.2.13"), or a folder. None: the folder that the environment variable
        PI2_FLUID_KERNEL names, or else the newest of the cache.

    Raises
    ------
    UnsupportedError
        If there is none, with how to build one.
    QuantityError
        If a text is neither a version nor a path.
    """
    named = os.environ.get(VARIABLE)
    if which is None and named:
        return _of_folder(Path(named), VARIABLE)
    if isinstance(which, Path):
        return _of_folder(which, "kernel")
    if which is not None and not re.fullmatch(r"\d+\.\d+(\.\d+)?", which):
        if os.sep in which or Path(which).is_dir():
            return _of_folder(Path(which), "kernel")
        raise QuantityError(
            f"kernel = {show_value(which)} is neither a version nor a folder: give 7.2, or a path"
            " with a / in it."
        )
    there = list_kernels()
    for kernel in there:
        if which is None or f"{kernel.release}.".startswith(f"{which}."):
            return kernel
    if which is None or not there:
        raise UnsupportedError(f"there is no kernel in {kernels_folder()}: {_REMEDY}.")
    known = ", ".join(dict.fromkeys(kernel.release for kernel in there))
    raise UnsupportedError(
        f"there is no Linux {which} in {kernels_folder()}, but {known}: give one of these, or"
        f" {_REMEDY} --version {which}."
    )


def _of_folder(folder: Path, name: str) -> Kernel:
    if not (folder / "manifest.json").is_file() or not (folder / "uml").is_file():
        raise UnsupportedError(
            f"{name} = {str(folder)!r} is no folder with a kernel, which has uml, config"
            f" and manifest.json: give another, or {_REMEDY}."
        )
    return read_kernel(folder)


def read_kernel(folder: Path) -> Kernel:
    """Return the kernel of a folder that has one.

    Raises
    ------
    UnsupportedError
        If its manifest cannot be read.
    """
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        config = (folder / "config").read_text(encoding="utf-8")
        return Kernel(
            folder,
            manifest["release"],
            version_of(manifest["release"]),
            qdiscs_of(config),
            congestion_controls_of(config),
            manifest["configuration"],
            f"{manifest['source']['name']} (SHA-256 {manifest['source']['sha256']})",
            manifest,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnsupportedError(
            f"the kernel in {folder} is not whole, as its config or manifest.json cannot be read"
            f" ({error}): delete the folder, and {_REMEDY}."
        ) from error
