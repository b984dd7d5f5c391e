"""The tools that a kernel is compiled with, and how they are run."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from pi2_fluid.errors import BuildError, UnsupportedError
from pi2_fluid.saving import save_text

#: Programs that the kernel's makefiles call, and the package of Debian's that each comes with.
TOOLS: Final[Mapping[str, str]] = {
    "gcc": "gcc",
    "ld": "binutils",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
}
#: Where and when a kernel is built is in its name, and that in its random numbers.
_ALWAYS_THE_SAME: Final[Mapping[str, str]] = {
    "KBUILD_BUILD_USER": "pi2_fluid",
    "KBUILD_BUILD_HOST": "pi2_fluid",
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_VERSION": "1",
    "LC_ALL": "C",
}
_FROM_OUTSIDE: Final = ("PATH", "HOME", "TMPDIR", "LANG")
_LAST_LINES: Final = 40
_HELLO: Final = "#include <stdio.h>\nint main(void) { return 0; }\n"


def require_machine() -> None:
    """Refuse machines that User-Mode Linux does not run on.

    Raises
    ------
    UnsupportedError
        With what this one is.
    """
    system, machine = platform.system(), platform.machine()
    if (system, machine) != ("Linux", "x86_64"):
        raise UnsupportedError(
            f"User-Mode Linux runs under Linux on x86_64, and this is {system} on {machine}: use a"
            " virtual machine, or another engine, e.g. Packets()."
        )


def require_tools() -> None:
    """Refuse to start without a tool that will be called.

    Raises
    ------
    BuildError
        With all that are missing.
    """
    missing = [name for name in TOOLS if shutil.which(name) is None]
    if missing:
        packages = " ".join(dict.fromkeys(TOOLS[name] for name in missing))
        raise BuildError(
            f"a kernel cannot be built without {', '.join(missing)}: install"
            f" {'them' if len(missing) > 1 else 'it'} (Debian, Ubuntu: apt-get install {packages})."
        )
    done = subprocess.run(
        ["gcc", "-x", "c", "-", "-o", os.devnull],
        input=_HELLO,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BuildError(
            "gcc compiles no program here, as without the headers of the C library: install them"
            " (Debian, Ubuntu: apt-get install libc6-dev)."
        )


def compiler_of() -> str:
    """Return the first line that the compiler says of itself."""
    done = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True)
    return done.stdout.partition("\n")[0]


def make(tree: Path, *words: str, told: Callable[[str], None] = lambda _: None) -> None:
    """Run make for User-Mode Linux in a source; what is made already is kept.

    Parameters
    ----------
    tree : Path
    *words : str
        What to make, and options.
    told : callable
        Called with each line that make prints.

    Raises
    ------
    BuildError
        With the first error of the compiler, and the file that has all it said.
    """
    environment = {name: os.environ[name] for name in _FROM_OUTSIDE if name in os.environ}
    output = []
    with subprocess.Popen(
        ["make", "ARCH=um", *words],
        cwd=tree,
        env={**environment, **_ALWAYS_THE_SAME},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                output.append(line)
                told(line.strip())
        except KeyboardInterrupt:
            # A terminal has interrupted make, too, which deletes what it had begun to write.
            process.terminate()
            raise
    if process.returncode:
        log = tree.parent / "make.log"
        save_text(log, "".join(output))
        errors = [line for line in output if re.search(r"error:|Error \d|\*\*\*", line)]
        first = (errors or output[-1:] or ["no word"])[0].strip()
        raise BuildError(
            f"make {' '.join(words)} ended with {process.returncode} ({first}): see {log}, and give"
            " another version, or report it."
        )


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))
