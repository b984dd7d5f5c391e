"""Measure designed and deployed gains in the Linux kernel: what `ours:designed_gains` draws.

    python tools/measure_gains.py [--seeds 20] [--block 4] [--threads 2] [--out runs.csv]

Needs a kernel that `pi2-fluid linux build` has built. Every cell is measured with the first few
seeds, then with the next, and each is written at once, so that Ctrl-C keeps what there is and the
same command goes on. A run takes about three seconds of CPU time, all of them twenty minutes.
Without `--out` it is the table that comes with the package, whose first lines say kernel, date and
seeds.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Sequence
from pathlib import Path

import pi2_fluid as pf
from pi2_fluid.engines.linux.kernels import find_kernel
from pi2_fluid.papers.ours import designed_gains as ours
from pi2_fluid.saving import save_text

Key = tuple[str, str, float, int]


def read_runs(path: Path) -> dict[Key, list[str]]:
    """Return the rows of a table by gains, flows, path and seed; none if there is none."""
    if not path.is_file():
        return {}
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    rows = [line.split(",") for line in lines[1:]]
    return {(row[0], row[1], float(row[2]), int(row[3])): row for row in rows}


def write_runs(path: Path, rows: dict[Key, list[str]], release: str) -> None:
    """Write the table: what it is, the names of its columns, a row for each run."""
    today = datetime.datetime.now(datetime.UTC).date()
    seeds = len({key[3] for key in rows})
    lines = [
        f"# Measured with the DualPI2 and the TCP of Linux {release} (User-Mode Linux in virtual",
        f"# time) on {today}, {seeds} seeds: python tools/measure_gains.py --seeds {seeds}.",
        "# A row is a run of pi2_fluid.papers.ours.designed_gains.scenario; SI units.",
        ",".join(("gains", "load", "path_s", "seed", *ours.MEASURES)),
    ]
    order = list(ours.GAINS)
    lines += [",".join(rows[key]) for key in sorted(rows, key=lambda k: (order.index(k[0]), *k))]
    save_text(path, "\n".join(lines) + "\n")


def measure(path: Path, seeds: Sequence[int], block: int, threads: int) -> None:
    """Measure what a table does not have."""
    release = find_kernel(None).release
    rows = read_runs(path)
    for first in range(0, len(seeds), block):
        for cell in ours.kernel_cells():
            missing = [s for s in seeds[first : first + block] if (*cell, s) not in rows]
            if not missing:
                continue
            engine = pf.Linux(seeds=missing, bin=ours.BIN, threads=threads)
            runs = pf.simulate(ours.scenario(*cell), engine)
            found = ours.measure_runs(runs)
            for place, seed in enumerate(runs.seed.to_numpy().tolist()):
                numbers = [f"{found[name][place]:.6g}" for name in ours.MEASURES]
                rows[*cell, seed] = [*map(str, cell), str(seed), *numbers]
            write_runs(path, rows, release)
            print(*cell, missing, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--block", type=int, default=4, help="seeds of a cell, one after the other")
    parser.add_argument("--threads", type=int, default=2, help="guests side by side")
    parser.add_argument("--out", type=Path, default=ours.KERNEL)
    asked = parser.parse_args()
    measure(asked.out, range(1, asked.seeds + 1), asked.block, asked.threads)
