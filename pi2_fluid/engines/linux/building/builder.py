"""A guest's kernel from nothing: fetched, unpacked, edited, configured, compiled, kept.

    kernels/RELEASE-KEY/    uml, config, manifest.json: what guests boot
    downloads/              packages, as far as they have come
    building/KEY/tree/      a source with its edits, as far as make has come

all in `cache_folder()`; the last two go when the first is there. KEY is the hash of all that a
kernel is made of but the compiler.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any, Final, NamedTuple

from pi2_fluid.engines.linux.building.archives import unpack
from pi2_fluid.engines.linux.building.compiling import (
    compiler_of,
    cores,
    make,
    require_machine,
    require_tools,
)
from pi2_fluid.engines.linux.building.configuration import (
    FRAGMENT,
    merged,
    options_of,
    require_options,
)
from pi2_fluid.engines.linux.building.debian import MIRROR, find_package
from pi2_fluid.engines.linux.building.fetching import Package, fetch
from pi2_fluid.engines.linux.building.sources import EDITS, edit, release_of, require_usable
from pi2_fluid.engines.linux.building.trees import copy_tree, sha256_of_file, sha256_of_tree
from pi2_fluid.engines.linux.caching import cache_folder, locked
from pi2_fluid.engines.linux.kernels import Kernel, kernels_folder, read_kernel
from pi2_fluid.errors import QuantityError, WriteError
from pi2_fluid.saving import save_text

#: The environment variable that names another mirror of Debian's archive.
MIRROR_VARIABLE: Final = "PI2_FLUID_DEBIAN_MIRROR"
#: What a build asks of the disk while it runs (bytes): Linux 7.2 takes two thirds of it.
SPACE: Final = 1_000_000_000

#: Called with what is done, how far that is, how far it will go (0: not known), and the unit.
Told = Callable[[str, float, float, str], None]


class _Source(NamedTuple):
    """What a kernel is made of."""

    name: str
    sha256: str
    said: dict[str, Any]
    """What the manifest says of it besides."""
    bring: Callable[[Path], None]
    """Makes the tree."""


def build_kernel(
    version: str | None = None,
    source: Path | None = None,
    *,
    mirror: str | None = None,
    jobs: int | None = None,
    keep_source: bool = False,
    unchecked: bool = False,
    told: Told = lambda *_: None,
) -> Kernel:
    """Build a kernel for guests, unless the cache has it.

    What Ctrl-C or an error breaks off goes on where it was by the same call.

    Parameters
    ----------
    version : str or None
        "7.2" or "7.2.13". None: the newest of Debian's.
    source : Path or None
        Instead of what Debian has: a kernel's source, as a folder, a package of Debian's or a tar
        archive.
    mirror : str or None
        Where Debian's archive is. None: what the environment variable PI2_FLUID_DEBIAN_MIRROR says,
        or deb.debian.org.
    jobs : int or None
        How many files are compiled side by side. None: one for each core.
    keep_source : bool
        Whether to leave the package and the tree in the cache.
    unchecked : bool
        Whether to compile and run what comes from the mirror though nothing on this machine can
        tell whether it is Debian's, or though it may be out of date. What Debian has not signed,
        where that can be told, is refused all the same.
    told : callable
        See `Told`.

    Raises
    ------
    QuantityError
        If `version` is none, or given together with `source`.
    UnsupportedError
        If this machine runs no User-Mode Linux, or no guest can be made of the source.
    BuildError
        If a tool is missing, something cannot be fetched or compiled, or it is not what Debian has
        signed, or that cannot be told.
    WriteError
        If there is not enough room.
    """
    if version is not None and source is not None:
        raise QuantityError(
            f"version = {version!r} and source = {str(source)!r} are two sources: give one of them."
        )
    require_machine()
    require_tools()
    where = mirror or os.environ.get(MIRROR_VARIABLE) or MIRROR
    origin = (
        _given(source, told) if source else _of_debian(version, where, told, unchecked=unchecked)
    )
    key = _key_of(origin.sha256)
    there = sorted(kernels_folder().glob(f"*-{key}/manifest.json"))
    if there:
        return read_kernel(there[0].parent)
    _require_space(key)
    begun, spent = time.monotonic(), _cpu_seconds()
    work = cache_folder() / "building"
    with locked(work, waiting=lambda: told("waiting for another build to end", 0, 0, "")):
        there = sorted(kernels_folder().glob(f"*-{key}/manifest.json"))
        if there:
            return read_kernel(there[0].parent)
        tree = work / key / "tree"
        resumed = tree.is_dir()
        if not resumed:
            _bring(origin, tree)
        _configure(tree)
        _compile(tree, jobs or cores(), told)
        cost = {
            "resumed": resumed,
            "wall_seconds": round(time.monotonic() - begun, 1),
            "cpu_seconds": round(_cpu_seconds() - spent, 1),
        }
        kernel = _keep(tree, origin, key, cost)
        if not keep_source:
            shutil.rmtree(work / key)
            shutil.rmtree(cache_folder() / "downloads", ignore_errors=True)
        return kernel


def _given(source: Path, report: Told) -> _Source:
    report(f"reading {source}", 0, 0, "")
    path = source.resolve()
    if path.is_dir():
        release_of(path)
        return _Source(
            str(path),
            sha256_of_tree(path),
            {"kind": "tree"},
            lambda tree: copy_tree(path, tree, lambda a, b: report("copying", a, b, "files")),
        )
    return _Source(
        path.name,
        sha256_of_file(path),
        {"kind": "archive"},
        lambda tree: unpack(path, tree, lambda a, b: report("unpacking", a / 1e6, b / 1e6, "MB")),
    )


def _of_debian(version: str | None, mirror: str, report: Told, *, unchecked: bool) -> _Source:
    package = find_package(
        version, mirror, lambda what: report(f"reading {what}", 0, 0, ""), unchecked=unchecked
    )

    def bring(tree: Path) -> None:
        path = fetch(
            package,
            cache_folder() / "downloads",
            lambda a, b: report("fetching", a / 1e6, b / 1e6, "MB"),
        )
        unpack(path, tree, lambda a, b: report("unpacking", a / 1e6, b / 1e6, "MB"))

    return _Source(package.file, package.sha256, _said_of(package), bring)


def _said_of(package: Package) -> dict[str, Any]:
    return {
        "kind": "package",
        "url": package.url,
        "suite": package.suite,
        "signature": package.signature,
    }


def _key_of(source: str) -> str:
    asked = options_of(FRAGMENT.read_text(encoding="utf-8"))
    parts = [source, *(f"{name}={asked[name]}" for name in sorted(asked))]
    parts += [text for change in EDITS for text in change[:3]]
    return sha256("\0".join(parts).encode()).hexdigest()[:12]


def _require_space(key: str) -> None:
    place = cache_folder()
    if (place / "building" / key / "tree").is_dir():
        return  # most of it is there
    above = next(folder for folder in [place, *place.parents] if folder.is_dir())
    free = shutil.disk_usage(above).free
    if free < SPACE:
        raise WriteError(
            errno.ENOSPC,
            f"{place} has {free / 1e9:.1f} GB free of {SPACE / 1e9:.1f} that a build needs while it"
            " runs: make room, or set XDG_CACHE_HOME to a folder on another disk.",
            str(place),
        )


def _bring(source: _Source, tree: Path) -> None:
    """Make the tree with its edits: whole, or not at all."""
    beside = tree.with_name("tree.part")
    shutil.rmtree(beside, ignore_errors=True)
    beside.parent.mkdir(parents=True, exist_ok=True)
    try:
        source.bring(beside)
        require_usable(beside)
        edit(beside)
        beside.rename(tree)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _configure(tree: Path) -> None:
    config = tree / ".config"
    if config.is_file():
        return  # by a build that was broken off; make has gone on from it
    beside = tree / ".config.part"
    make(tree, "defconfig", f"KCONFIG_CONFIG={beside.name}")
    fragment = FRAGMENT.read_text(encoding="utf-8")
    save_text(beside, merged(beside.read_text(encoding="utf-8"), fragment))
    make(tree, "olddefconfig", f"KCONFIG_CONFIG={beside.name}")
    require_options(beside.read_text(encoding="utf-8"), release_of(tree))
    beside.rename(config)


def _compile(tree: Path, jobs: int, told: Told) -> None:
    count = 0

    def counted(line: str) -> None:
        nonlocal count
        step, _, file = line.partition(" ")
        if step.isupper() and file:
            count += 1
            told("compiling", count, 0, "files")

    make(tree, f"-j{jobs}", "linux", told=counted)


def _keep(tree: Path, source: _Source, key: str, cost: dict[str, Any]) -> Kernel:
    """Put the kernel into the cache: whole, or not at all."""
    release = release_of(tree)
    config = (tree / ".config").read_text(encoding="utf-8")
    ready = tree.with_name("ready")
    shutil.rmtree(ready, ignore_errors=True)
    ready.mkdir()
    subprocess.run(["strip", "-o", str(ready / "uml"), str(tree / "linux")], check=True)
    save_text(ready / "config", config)
    wanted = options_of(FRAGMENT.read_text(encoding="utf-8"))
    found = options_of(config)
    manifest = {
        "release": release,
        "image": sha256_of_file(ready / "uml"),
        "configuration": sha256_of_file(ready / "config"),
        "source": {"name": source.name, "sha256": source.sha256, **source.said},
        "edits": [f"{change.file}: {change.purpose}" for change in EDITS],
        "without": sorted(k for k, v in wanted.items() if v == "y" and found.get(k) != "y"),
        "compiler": compiler_of(),
        "built": datetime.now(UTC).isoformat(timespec="seconds"),
        "built_by": f"pi2-fluid {installed_version('pi2-fluid')}",
        **cost,
    }
    save_text(ready / "manifest.json", json.dumps(manifest, indent=2) + "\n")
    place = kernels_folder() / f"{release}-{key}"
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(place, ignore_errors=True)
    ready.rename(place)
    return read_kernel(place)


def _cpu_seconds() -> float:
    """Return what this process and those that it waited for have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
