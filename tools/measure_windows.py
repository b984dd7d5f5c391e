"""Measure what gains cost beside short flows, over the window of the long ones: docs/outcomes.md.

    python tools/measure_windows.py [--seeds 16]

Short Cubic flows of 100 segments come at random times and would fill 30 % of the link; beside them
run long Cubic flows, whose number sets their window W = C (R + target)/N. Prints by how many points
of the capacity each queue's rate differs from that of Linux's defaults, with 95 % intervals over
seeds that met the same random numbers. It takes half a minute of CPU time.
"""

from __future__ import annotations

import argparse
from typing import Final

import pi2_fluid as pf
from pi2_fluid.papers.ours.what_gains_buy import (
    BASE,
    Cell,
    Queue,
    interval_of,
    measure_cell,
    window_of,
)

_PATH: Final = 0.03  # s
_SIZE: Final = pf.Fixed(100)
#: Capacities (bit/s), and numbers of long flows on them.
LINKS: Final = {20e6: (1, 2, 4, 8), 100e6: (4, 8, 16, 32)}
QUEUES: Final = (Queue(12, 643), Queue(41, 1200), Queue(41, 1800))


def cells() -> list[Cell]:
    """Return the sets of traffic, from large windows to small ones."""
    found = [
        Cell("few", capacity, ((count, _PATH),), size=_SIZE)
        for capacity, counts in LINKS.items()
        for count in counts
    ]
    return sorted(found, key=window_of, reverse=True)


def label_of(cell: Cell) -> str:
    """Return window and link of a set, as the first cells of its row."""
    count = cell.flows[0][0]
    return f"{window_of(cell):.0f} | {1e-6 * cell.capacity:g} Mbit/s, {count}"


def row_of(cell: Cell, seeds: int) -> str:
    """Return a row of the table."""
    base = measure_cell(cell, BASE, seeds)["utilization"]
    said = [label_of(cell), f"{100 * base.mean():.1f}"]
    for queue in QUEUES:
        other = measure_cell(cell, queue, seeds)["utilization"]
        found = interval_of("rate", 100.0 * (other - base))
        half = found["rate_high"] - found["rate"]
        said.append(f"{found['rate']:+.1f} ± {half:.1f}")
    return f"| {' | '.join(said)} |".replace("-", "\N{MINUS SIGN}")


def main(seeds: int) -> None:
    """Print the table."""
    names = " | ".join(queue.label for queue in QUEUES)
    print(f"| W | link, long flows | {BASE.label}: rate, % | {names} |")
    for cell in cells():
        print(row_of(cell, seeds), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=16)
    main(parser.parse_args().seeds)
