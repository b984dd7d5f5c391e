"""What a whole design costs, and how many loops that is.

    python bench/designs.py [--rounds 5]

Reno and Scalable under DualPI2, RTT 5 to 100 ms in the loop, every load, exactly sampled: gains,
the same judgement of five alternatives, a proof over the region for the gains as designed and as
installed, and what timing they survive. CPU time of one pinned process, medians over rounds. The
peer is python-control, which has no loop with a delay inside its denominator: the margins of as
many loops as the design evaluates, each from 200 frequencies, timed on a few and scaled.
"""

# ruff: noqa: E402 - the thread counts below must be set before the libraries that read them load
from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import control
import numpy as np
from record import Row, record

import pi2_fluid as pf
from pi2_fluid.design import region
from pi2_fluid.design.guarantees import certificate, tolerances
from pi2_fluid.design.remembering import forget
from pi2_fluid.errors import AssumptionWarning

SENDERS = (pf.Reno(), pf.Scalable())
PEER_LOOPS = 20


def design() -> pf.Design:
    """Return the design that is timed, found anew."""
    forget()
    return pf.tune("100ms", min_rtt="5ms", senders=SENDERS, aqm="dualpi2")


def counted(run: Callable[[], Any]) -> tuple[int, int]:
    """Return how many loops a run evaluates, and how many boxes it encloses."""
    loops = boxes = 0
    scan, enclose = region.scan, certificate.enclose

    def count_loops(plants: Any, *rest: Any) -> Any:
        nonlocal loops
        loops += len(plants)
        return scan(plants, *rest)

    def count_boxes(family: Any, some: Any, aliases: int) -> Any:
        nonlocal boxes
        boxes += len(some)
        return enclose(family, some, aliases)

    region.scan = tolerances.scan = count_loops
    certificate.enclose = count_boxes
    try:
        run()
    finally:
        region.scan = tolerances.scan = scan
        certificate.enclose = enclose
    return loops, boxes


def peer() -> float:
    """Return the CPU seconds of one loop's margins in python-control, from its frequency data."""
    loop = pf.Loop(pf.Reno(), pf.CoupledPi2(), rtt="100ms", p_prime=0.1, update="sampled")
    w = np.geomspace(0.1, np.pi / 0.032, 200)
    begun = time.process_time()
    for _ in range(PEER_LOOPS):
        control.stability_margins(control.FRD(loop(1j * w), w, smooth=True))
    return (time.process_time() - begun) / PEER_LOOPS


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    warnings.simplefilter("ignore", AssumptionWarning)
    print(f"pi2_fluid {pf.__version__}, Python {platform.python_version()}, {platform.machine()}")
    found = design()  # imports, and whatever else happens once
    loops, boxes = counted(design)
    here, there = [], []
    for _ in range(arguments.rounds):
        begun = time.process_time()
        design()
        here.append(time.process_time() - begun)
        there.append(peer())
    cost, each = statistics.median(here), statistics.median(there)
    print(f"a design, {found.guarantee}: {cost:.2f} s (from {min(here):.2f})")
    print(f"  loops evaluated {loops:,}, pieces of the region examined {boxes:,}")
    print(
        f"  python-control, the loops alone: {loops * each:.0f} s, {loops * each / cost:.0f} times"
    )
    # Not for as many loops: a design that needs fewer of them is no worse.
    row = Row("a design, in loops of python-control", cost / each)
    record("designs", [row], better="smaller")


if __name__ == "__main__":
    main()
