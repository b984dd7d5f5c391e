"""What the first answer costs: CPU time of a fresh Python, beside that of `import numpy`.

    python bench/startup.py [repetitions]

CPU seconds (user and system) of processes that take turns, one core each; the median counts. Byte
code is written, as where a package is installed. A second table has the shell's commands beside
what each cannot do without, the shell's library and that for its numbers, as the package alone
brings them: without dask, which xarray loads where it finds it. With dask is a row of its own.
"""

from __future__ import annotations

import os
import statistics
import sys
from typing import Final

from record import Row, record

SCENARIO: Final = "pi2_fig12_pi2"
SIMULATE: Final = f"pf.fluid.simulate(pf.named_scenario({SCENARIO!r}))"
MARGINS: Final = "pf.Loop(pf.Reno(), pf.Pi2(), rtt=.1, p_prime=.1"
SHELL: Final = "import sys; from pi2_fluid.apps.cli import main; sys.argv = {}; main()"
PYTHON: Final = {
    "import numpy": "import numpy",
    "import scipy.optimize": "import scipy.optimize",
    "import numpy, typer": "import numpy, typer",
    "import xarray, typer": "import xarray, typer",
    "import scipy.optimize, typer": "import scipy.optimize, typer",
    "pf.Reno()": "import pi2_fluid as pf; pf.Reno()",
    "pf.Loop(...).margins(), closed form": f"import pi2_fluid as pf; {MARGINS}).margins()",
    "the same, sampled": f"import pi2_fluid as pf; {MARGINS}, update='sampled').margins()",
    "pf.fluid.simulate": f"import pi2_fluid as pf; {SIMULATE}",
}
COMMANDS: Final = (
    ("--help",),
    ("margins", "--rtt", "100ms", "--p-prime", "0.1"),
    ("simulate", SCENARIO),
    ("tune", "--max-rtt", "100ms"),
)
#: What a command cannot do without.
PEERS: Final = {
    "margins": "import numpy, typer",
    "simulate": "import xarray, typer",
    "tune": "import scipy.optimize, typer",
}
#: Before anything else: as if it were not installed.
NO_DASK: Final = "import sys; sys.modules['dask'] = None; "


def cpu_of(code: str) -> float:
    """Return the CPU seconds of a fresh Python that runs `code` in silence."""
    pid = os.fork()
    if pid == 0:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.execv(sys.executable, [sys.executable, "-c", code])
    _, status, used = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"failed: {code}")
    return used.ru_utime + used.ru_stime


def told(shell: dict[str, tuple[str, ...]]) -> set[str]:
    """Return what the second table compares."""
    return set(PEERS.values()) | {name for name, (word, *_) in shell.items() if word in PEERS}


def without(name: str) -> str:
    """Return what a row is called that has no dask."""
    return f"{name}, without dask"


def main() -> None:
    """Print the table."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    shell = {f"pi2-fluid {' '.join(words)}": words for words in COMMANDS}
    jobs = PYTHON | {name: SHELL.format(["pi2-fluid", *words]) for name, words in shell.items()}
    bare = {without(name): NO_DASK + code for name, code in jobs.items() if name in told(shell)}
    jobs |= bare
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for turn in range(repetitions + 1):
        for name, code in jobs.items():
            used = cpu_of(code)
            if turn:  # the first one writes the byte code
                times[name].append(used)
    numpy = statistics.median(times["import numpy"])
    rows = []
    print(f"{'':60}{'CPU s':>8}{'of numpy':>10}{'scatter':>9}")
    for name, found in times.items():
        middle = statistics.median(found)
        scatter = (max(found) - min(found)) / middle
        print(f"{name:60}{middle:8.3f}{middle / numpy:10.1f}{scatter:9.0%}")
        rows.append(Row(name, middle / numpy))
    record("startup", rows, better="smaller")
    rows = []
    print()
    for name, (command, *_) in shell.items():
        if command not in PEERS:
            continue
        for of in (without, str):
            peer = PEERS[command]
            found, least = (statistics.median(times[of(job)]) for job in (name, peer))
            print(f"{of(name):60}{found / least:8.2f} times {peer}")
            rows.append(Row(of(f"pi2-fluid {command}, {peer}"), found / least))
    record("startup and peers", rows, better="smaller")


if __name__ == "__main__":
    main()
