"""Install a wheel as a user would and run the README with it: python tools/try_wheel.py [WHEEL].

A fresh environment of the Python that runs this, in which pip may take wheels alone: nothing is
compiled, of this package or of what it needs, and its programs see no compiler on their PATH. First
it has no more than routers are told to install; then pip adds what that lacks.
Without WHEEL it is built here, with the compiler of this machine. With --installed the README is
run with what the Python that runs this has installed, as cibuildwheel asks.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
#: What `tc -s qdisc show` says of a stable queue, for machines without tc or such a queue.
SHOWN: Final = """\
qdisc pie 8001: root refcnt 2 limit 1000p target 15ms tupdate 50ms alpha 1 beta 18
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
  prob 0 delay 0us
  pkts_in 0 overlimit 0 dropped 0 maxq 0 ecn_mark 0
"""
#: What runs with no more than a router has.
ON_ROUTERS: Final = (
    "pi2-fluid --help",
    "pi2-fluid margins --rtt 100ms --p-prime 0.1",
    "tc -s qdisc show | pi2-fluid check -",
    "pi2-fluid tune --max-rtt 100ms",
    "pi2-fluid tune --traffic few.toml --seconds 1ms",
)
FEW: Final = """\
duration = "9s"
link.capacity = "4Mbit/s"
aqm.kind = "dualpi2"
flows = [
    {sender = "reno", count = 4, base_rtt = "20ms"},
    {name = "more", sender = "reno", base_rtt = "20ms", start = "5s"},
]
"""
#: Beside what the README shows, a trajectory of a scenario that the package carries.
MORE: Final = ("pi2-fluid --version", "pi2-fluid simulate pi2_fig11a_pi2 --after 20s")


def readme() -> tuple[str, list[str]]:
    """Return the Python in the README, and what it says at the shell to this package."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = "".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    typed = re.findall(r"^\$ (pi2-fluid .+)$", text, re.MULTILINE)
    quoted = re.findall(r"`((?:tc [^`|]+\| )?pi2-fluid [^`]+)`", text)
    # Races in packets take long; those with what a router installs are shorter. And devices and
    # measurements of the reader's own are not here.
    left_out = ("--traffic", "watch eth0", "run.flent.gz", "ping.txt")
    return code, [line for line in [*typed, *quoted] if not any(map(line.__contains__, left_out))]


def light() -> list[str]:
    """Return what the page says that routers install beside this package, without its own."""
    page = (ROOT / "docs/installing.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^pip install (.+)\npip install --no-deps pi2-fluid$", page, re.MULTILINE)
    return shlex.split(line)


def build() -> Path:
    """Return a wheel for this Python, built outside of pip with what is compiled already."""
    made = ROOT / "build/try"
    shutil.rmtree(made, ignore_errors=True)
    told = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", made, ROOT]
    done = subprocess.run(command, env=told, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    (wheel,) = made.glob("*.whl")
    return wheel


def environment(folder: Path) -> Path:
    """Return the Python of a fresh environment."""
    venv.create(folder, with_pip=False)
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def install(python: Path, *what: str | Path) -> None:
    """Install something in an environment; nothing is compiled for it."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "--disable-pip-version-check",
        "install",
    ]
    # Of all that it brings little is run here, which is compiled to bytecode then.
    options = ["--quiet", "--no-compile", "--only-binary", ":all:"]
    subprocess.run([*pip, *options, *what], check=True)


def programs(python: Path) -> dict[str, str]:
    """Return surroundings with the programs of an environment, and no compiler."""
    kept = {
        name: os.environ[name]
        for name in ("SYSTEMROOT", "TEMP", "TMPDIR", "HOME")
        if name in os.environ
    }
    return kept | {"PATH": str(python.parent), "CC": "no-compiler", "CXX": "no-compiler"}


def try_readme(python: Path, elsewhere: Path) -> None:
    """Run what the README shows, from a folder that is not the repository's."""
    shown, lines = readme()
    told = programs(python)
    where = "from pi2_fluid import _core; print(_core.__file__)"
    for code in (where, shown):
        print(f"$ python -c '{code.strip().splitlines()[0]} ...'", flush=True)
        subprocess.run([python, "-c", code], cwd=elsewhere, env=told, check=True)
    try_lines(python, elsewhere, [*lines, *MORE])


def try_lines(python: Path, elsewhere: Path, lines: Sequence[str]) -> None:
    """Run lines of a shell that ask this package, from a folder that is not the repository's."""
    variables = programs(python)
    for line in lines:
        print(f"$ {line}", flush=True)
        asked, piped, last = line.partition(" | ")
        words = shlex.split(last if piped else asked, comments=True)
        if piped:
            assert asked.startswith("tc "), f"there is nothing to answer {asked!r} with"
        program = shutil.which(words[0], path=variables["PATH"])
        assert program, f"{words[0]} was not installed"
        shown = SHOWN if piped else None
        subprocess.run(
            [program, *words[1:]], cwd=elsewhere, env=variables, input=shown, text=True, check=True
        )


def main(asked: list[str]) -> None:
    """Try a wheel that is given, or one that is built here, or what is installed."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="pi2_fluid.") as scratch:
        elsewhere = Path(scratch) / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "few.toml").write_text(FEW, encoding="utf-8")
        if asked == ["--installed"]:
            try_readme(Path(sys.executable), elsewhere)
            return
        wheel = Path(asked[0]).resolve() if asked else build()
        built = time.monotonic() - started
        python = environment(Path(scratch) / "venv")
        install(python, *light())
        install(python, "--no-deps", wheel)
        try_lines(python, elsewhere, ON_ROUTERS)
        routers = time.monotonic() - started - built
        install(python, wheel)
        installed = time.monotonic() - started - built - routers
        try_readme(python, elsewhere)
        ran = time.monotonic() - started - built - routers - installed
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB")
    print(
        f"built in {built:.0f} s, tried as on a router in {routers:.0f} s, installed whole in"
        f" {installed:.0f} s, tried in {ran:.0f} s"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
