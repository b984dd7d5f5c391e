"""What runs in and under a guest's kernel, compiled from this package's sources when first used."""

from __future__ import annotations

import secrets
import shutil
import subprocess
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from pi2_fluid.engines.linux.caching import cache_folder
from pi2_fluid.errors import BuildError

SOURCES: Final = Path(__file__).parent / "guest"

_COMPILERS: Final = ("cc", "gcc", "clang")
_PROGRAM: Final = ("init.c", "machine.c", "netlink.c", "flows.c", "taps.c", "counters.c")


def guest_program() -> Path:
    """Return the guest's first process, a static program, which is compiled when first asked for.

    Raises
    ------
    BuildError
        If there is no compiler of C, or it cannot link statically.
    """
    return _compiled("init", _PROGRAM, "-O2", "-static")


def seed_library() -> Path:
    """Return the library that makes a kernel's random numbers depend on a seed alone.

    To be named in LD_PRELOAD; it is compiled when first asked for.

    Raises
    ------
    BuildError
        If there is no compiler of C.
    """
    return _compiled("seed", ("seed.c",), "-O2", "-shared", "-fPIC")


def _compiled(name: str, sources: tuple[str, ...], *options: str) -> Path:
    compiler = next((path for path in map(shutil.which, _COMPILERS) if path), None)
    if compiler is None:
        raise BuildError(
            "guests need a compiler of C once, and there is none: install one (Debian, Ubuntu:"
            " apt-get install gcc libc6-dev)."
        )
    files = [SOURCES / source for source in sources]
    read = [path.read_bytes() for path in (*files, SOURCES / "guest.h")]
    made_by = subprocess.run([compiler, "--version"], capture_output=True, check=False).stdout
    key = sha256(b"\0".join([*read, made_by, " ".join(options).encode()]))
    place = cache_folder() / "guests" / f"{name}-{key.hexdigest()[:16]}"
    if place.is_file():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    # Beside, and renamed when it is whole: two may be at it at once.
    beside = place.with_name(f".{secrets.token_hex(8)}.part")
    try:
        done = subprocess.run(
            [compiler, *options, "-o", str(beside), *map(str, files)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            first = next((x for x in done.stderr.splitlines() if "error" in x.lower()), "no word")
            raise BuildError(
                f"{Path(compiler).name} did not compile the guest's {name} ({first.strip()}):"
                " install the C library's headers and static library (Debian, Ubuntu: apt-get"
                " install libc6-dev)."
            )
        beside.replace(place)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
    return place
