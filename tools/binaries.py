"""What can be seen of a wheel without running it: its extension, as LIEF reads ELF, Mach-O and PE.

A loader refuses a library for the wrong machine, one that asks for a newer system, for other
libraries than the system's, or for names that Python does not have. All that stands in the file,
hence is asked here of wheels for machines that are not at hand; whether they compute is not.
"""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from abi3info import DATAS, FUNCTIONS

#: What an extension may load, beside what the system always has.
SYSTEMS: Final = {
    "linux": r"lib(c|m|pthread|dl|rt)\.so\.\d|ld-linux-[\w-]+\.so\.\d",
    "macosx": r"/usr/lib/libSystem\.B\.dylib|/usr/lib/libc\+\+\.1\.dylib",
    "win": r"python3\.dll|kernel32\.dll|ntdll\.dll|advapi32\.dll|api-ms-win-crt-[\w-]+\.dll",
}


@dataclass(frozen=True)
class Extension:
    """What a compiled extension says of itself; `oldest` is the system that it asks for.

    `remark` is on what a loader does not read, but other programs may.
    """

    machine: str
    oldest: tuple[int, ...]
    libraries: tuple[str, ...]
    wanted: frozenset[str]
    given: frozenset[str]
    remark: str = ""


def versions(names: list[str], prefix: str) -> tuple[int, ...]:
    """Return the newest of versions such as GLIBC_2.28, () of none."""
    found = [re.fullmatch(rf"{prefix}(\d+(?:\.\d+)*)", name) for name in names]
    return max((tuple(map(int, x[1].split("."))) for x in found if x), default=())


def read(data: bytes) -> Extension:
    """Return what an extension says of itself."""
    import lief

    lief.logging.disable()
    remark = ""
    binary: Any = lief.parse(data)
    if isinstance(binary, lief.ELF.Binary):
        asked = [
            name.name
            for library in binary.symbols_version_requirement
            for name in library.get_auxiliary_symbols()
        ]
        machine = str(binary.header.machine_type).rpartition(".")[2].lower()
        oldest = versions(asked, "GLIBC_")
        wanted = {x.name for x in binary.dynamic_symbols if not x.shndx}
        exported = {x.name for x in binary.exported_symbols}
        libraries = list(binary.libraries)
    elif isinstance(binary, lief.MachO.Binary):
        machine = str(binary.header.cpu_type).rpartition(".")[2].lower()
        told = binary.build_version if binary.has_build_version else binary.version_min
        oldest = tuple((told.minos if binary.has_build_version else told.version)[:2])
        wanted = {x.name.removeprefix("_") for x in binary.imported_symbols}
        exported = {x.name.removeprefix("_") for x in binary.exported_symbols}
        own = lief.MachO.LoadCommand.TYPE.ID_DYLIB
        libraries = [x.name for x in binary.libraries if x.command != own]
        table = binary.dynamic_symbol_command
        lost = table.nb_indirect_symbols - len(table.indirect_symbols)
        if lost:
            remark = (
                f"the linker left {lost} of {table.nb_indirect_symbols} indirect symbols unwritten"
            )
    else:
        assert isinstance(binary, lief.PE.Binary)
        machine = str(binary.header.machine).rpartition(".")[2].lower()
        oldest = ()
        wanted = {entry.name for library in binary.imports for entry in library.entries}
        exported = {x.name for x in binary.exported_functions}
        libraries = [library.name for library in binary.imports]
    return Extension(
        machine, oldest, tuple(libraries), frozenset(wanted), frozenset(exported), remark
    )


def stable_names(version: tuple[int, int]) -> set[str]:
    """Return the names of the stable ABI that a Python and all later ones have."""
    return {
        symbol.name
        for entries in (FUNCTIONS, DATAS)
        for symbol, entry in entries.items()
        if (entry.added.major, entry.added.minor) <= version
    }


def wrong(
    binary: Extension, tag: str, machine: str, newest: tuple[int, ...], stable: set[str] | None
) -> list[str]:
    """Return why a machine would not load an extension; the names of Python that it has, if few."""
    reasons = []
    if binary.machine != machine:
        reasons.append(f"it is for {binary.machine}, not {machine}")
    if binary.oldest > newest:
        asked, has = (".".join(map(str, version)) for version in (binary.oldest, newest))
        reasons.append(f"it asks for version {asked} of the system, not {has}")
    allowed = re.compile(SYSTEMS[re.split(r"[-_]", tag)[0]], re.IGNORECASE)
    reasons += [f"it loads {name}" for name in binary.libraries if not allowed.fullmatch(name)]
    if "PyInit__core" not in binary.given:
        reasons.append("Python could not begin it: it has no PyInit__core")
    if stable is not None:
        asked_of_python = {name for name in binary.wanted if re.match(r"_?Py[A-Z_]", name)}
        reasons += [f"{name} is not in the stable ABI" for name in sorted(asked_of_python - stable)]
    return reasons


def extension(wheel: Path) -> bytes:
    """Return the compiled extension of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (
            x for x in archive.namelist() if re.fullmatch(r"pi2_fluid/_core\.[\w.-]*(so|pyd)", x)
        )
        return archive.read(name)
